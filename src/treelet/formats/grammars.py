"""Grammars as files and other libraries have them: rules with probabilities; JSON; NLTK. The text format is in `grammar_text`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from treelet.errors import InputTypeError, ParameterError, TreeletError
from treelet.formats.json_files import checksum


class Word(str):
    """A word in a rule's tail: another thing than a symbol, also where both are spelled alike.

    Examples
    --------
    >>> from treelet.parsing import Word
    >>> Word(",") == ",", Word(",") == Word(",")
    (False, True)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"Word({str(self)!r})"


Tail = tuple[str, ...]


class Rule(NamedTuple):
    """``head -> tail`` with its probability; a `Word` in the tail is a word, any other string a symbol."""

    head: str
    tail: Tail
    probability: float

    def __str__(self) -> str:
        return f"{shown(self.head, self.tail)} [{self.probability!r}]"


def shown(head: str, tail: Tail) -> str:
    """A rule for messages, cut where it is long."""
    parts = [f'"{item!s}"' if isinstance(item, Word) else str(item) for item in tail[:9]]
    return " ".join([head, "->", *parts, *(["..."] if len(tail) > 9 else [])])


def is_lexical(tail: Tail) -> bool:
    """True for a single word."""
    return len(tail) == 1 and isinstance(tail[0], Word)


class GrammarParts(NamedTuple):
    """A grammar as files have it.

    Attributes
    ----------
    rules : list of Rule
    start : dict of str to float
        Where trees begin, with probabilities.
    labels : dict of str to str
        Of symbols that have another label than their name.
    hidden : list of str
        Symbols that are in no tree.
    unknown : object or None
        The model of unknown words, as JSON has it.
    fallback : bool
    """

    rules: list[Rule]
    start: dict[str, float]
    labels: dict[str, str]
    hidden: list[str]
    unknown: Any = None
    fallback: bool = False


def uniform(rules: Iterable[tuple[str, Tail]]) -> list[Rule]:
    """Rules without probabilities: those of a head are equally probable."""
    pairs = list(rules)
    number: dict[str, int] = {}
    for head, _ in pairs:
        number[head] = number.get(head, 0) + 1
    return [Rule(head, tail, 1 / number[head]) for head, tail in pairs]


# --- JSON: one object, checked when it is read -----------------------------------------------------------------------

VERSION = 1


def grammar_to_json(grammar: GrammarParts) -> str:
    """One line. In a tail, a word is a list with the word in it; rules of a single word are a lexicon."""
    lexicon: dict[str, dict[str, float]] = {}
    for head, tail, probability in grammar.rules:
        if is_lexical(tail):
            lexicon.setdefault(str(tail[0]), {})[head] = probability
    content: dict[str, Any] = {
        "treelet": "pcfg",
        "version": VERSION,
        "start": grammar.start,
        "rules": [
            [head, [[str(item)] if isinstance(item, Word) else item for item in tail], probability]
            for head, tail, probability in grammar.rules
            if not is_lexical(tail)
        ],
        "lexicon": lexicon,
        "labels": {symbol: label for symbol, label in grammar.labels.items() if symbol != label},
        "hidden": grammar.hidden,
        "unknown": grammar.unknown,
        "fallback": grammar.fallback,
    }
    content["checksum"] = checksum(content)
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def grammar_from_json(text: str | bytes) -> GrammarParts:
    """What `grammar_to_json` wrote; ParameterError if it makes no sense."""
    content = json.loads(text)
    if not isinstance(content, dict) or content.get("treelet") != "pcfg":
        raise ParameterError("this is no grammar of treelet's; grammars are written by PCFG.save")
    if content.get("version") != VERSION:
        raise ParameterError(
            f"the grammar has format {content.get('version')!r}, and this treelet reads format {VERSION}: upgrade treelet"
        )
    if (said := content.pop("checksum", None)) is not None and said != checksum(content):
        raise ParameterError(
            "the grammar was altered: its checksum does not fit. Copy or save it again; if it was altered on purpose, remove "
            '"checksum" from it'
        )
    for key, kind in (
        ("start", dict), ("rules", list), ("lexicon", dict), ("labels", dict), ("hidden", list), ("fallback", bool),
    ):  # fmt: skip
        if not isinstance(content.get(key), kind):
            raise ParameterError(f"{key!r} is missing or not what it should be")
    rules: list[Any] = []
    for rule in content["rules"]:
        if not isinstance(rule, list) or len(rule) != 3 or not isinstance(rule[1], list):
            raise ParameterError(f"a rule is [head, [tail], probability], got {str(rule)[:80]}")
        rules.append((rule[0], tuple(_tail_item(item) for item in rule[1]), rule[2]))
    for word, symbols in content["lexicon"].items():
        if not isinstance(symbols, dict) or not symbols:
            raise ParameterError(f"the word {word!r} must have symbols with probabilities")
        rules += [Rule(symbol, (Word(word),), probability) for symbol, probability in symbols.items()]
    if not all(isinstance(symbol, str) for symbol in content["hidden"]):
        raise ParameterError("the hidden symbols must be strings")
    return GrammarParts(
        rules, content["start"], content["labels"], content["hidden"], content.get("unknown"), content["fallback"]
    )


def _tail_item(item: object) -> str:
    if isinstance(item, list) and len(item) == 1 and isinstance(item[0], str):
        return Word(item[0])
    if isinstance(item, str):
        return item
    raise ParameterError(f"in a tail there is a symbol or a list with one word, got {str(item)[:80]}")


# --- NLTK ------------------------------------------------------------------------------------------------------------


def nltk_rules(grammar: Any) -> tuple[list[Rule], str]:
    """The rules of an ``nltk.PCFG`` or an ``nltk.CFG``, whose rules are equally probable a head; and the start symbol."""
    try:
        start, productions = str(grammar.start()), list(grammar.productions())
        read = [
            (str(rule.lhs()), tuple(Word(item) if isinstance(item, str) else str(item) for item in rule.rhs()), rule)
            for rule in productions
        ]
        weighted = [Rule(head, tail, rule.prob()) for head, tail, rule in read if callable(getattr(rule, "prob", None))]
    except (AttributeError, TypeError):
        raise InputTypeError(f"an nltk grammar is needed, got {type(grammar).__name__}") from None
    return weighted or uniform(dict.fromkeys((head, tail) for head, tail, _ in read)), start


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
