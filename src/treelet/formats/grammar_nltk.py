"""Grammars of NLTK: taken by what they can do, and made."""

from __future__ import annotations

from typing import Any

from treelet.errors import InputTypeError, ParameterError, TreeletError
from treelet.formats.grammar_rules import GrammarParts, Rule, Word, uniform


def nltk_rules(grammar: Any) -> tuple[list[Rule], str]:
    """The rules of an ``nltk.PCFG`` or an ``nltk.CFG``, whose rules are equally probable a head; and the start symbol."""
    try:
        start, productions = str(grammar.start()), list(grammar.productions())
        read = [
            (str(rule.lhs()), tuple(Word(item) if isinstance(item, str) else str(item) for item in rule.rhs()), rule)
            for rule in productions
        ]
        given = [Rule(head, tail, rule.prob()) for head, tail, rule in read if callable(getattr(rule, "prob", None))]
    except (AttributeError, TypeError):
        raise InputTypeError(f"an nltk grammar is needed, got {type(grammar).__name__}") from None
    return given or uniform(dict.fromkeys((head, tail) for head, tail, _ in read)), start


def nltk_grammar(grammar: GrammarParts, symbol: str, total: float) -> Any:
    """An ``nltk.PCFG``; `symbol` is the one whose rules sum to the furthest from 1, and `total` that sum."""
    try:
        from nltk import grammar as nltk
    except ImportError:
        raise TreeletError("to_nltk needs the package nltk: pip install nltk") from None
    if len(grammar.start) != 1:
        raise ParameterError(
            f"an nltk grammar has one start symbol, this one {len(grammar.start)}: {list(grammar.start)}"
        )
    if not abs(total - 1) <= nltk.PCFG.EPSILON:
        raise ParameterError(
            f"an nltk grammar needs sums of 1, and the rules of {symbol!r} sum to {total:.6g}; rescale them (normalize=True), or estimate them without markov"
        )
    return nltk.PCFG(
        nltk.Nonterminal(next(iter(grammar.start))),
        [
            nltk.ProbabilisticProduction(
                nltk.Nonterminal(head),
                [str(item) if isinstance(item, Word) else nltk.Nonterminal(item) for item in tail],
                prob=probability,
            )
            for head, tail, probability in grammar.rules
        ],
    )
