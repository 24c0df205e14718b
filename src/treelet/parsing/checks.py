"""Checks of the parts of a grammar: rules, start symbols, labels and hidden symbols."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Iterable, Mapping, Sequence

from treelet.checks import suggestion, wrong
from treelet.errors import ParameterError, TreeletWarning
from treelet.formats.brackets import label_problem
from treelet.formats.grammars import Rule, Tail, Word, is_lexical, shown

TOLERANCE = 1e-6
NORMALIZE = " To rescale weights, pass normalize=True to PCFG.from_rules."


class GrammarWarning(TreeletWarning):
    """A grammar is usable, but it probably differs from the intended one."""


def _number(value: object, normalize: bool = False) -> float | None:
    """Return a probability, or with `normalize` any positive number, as a float; None if the value is neither."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        number = float(value)
    except OverflowError:  # an int that is too large for a float
        return None
    return number if 0 < number < math.inf and (normalize or number <= 1) else None


def checked_rule(rule: object, normalize: bool = False) -> Rule:
    """Return a rule as a `Rule`, or raise an error that shows the rule. `normalize` allows any positive weight."""
    if not isinstance(rule, (tuple, list)) or len(rule) != 3:
        raise ParameterError(f"A rule must be a tuple (head, tail, probability). Got {rule!r:.80} instead.")
    head, tail, probability = rule
    if isinstance(tail, str) or not isinstance(tail, Sequence):
        raise ParameterError(
            f"The tail of a rule must be a tuple of strings, such as ('NP', 'VP'). "
            f"Got {tail!r:.80} instead, in the rule {rule!r:.80}."
        )
    items = tuple(tail)
    problem = label_problem(head) or next(filter(None, map(label_problem, items)), None)
    if problem:
        raise ParameterError(
            f"A symbol or word of the rule {rule!r:.80} is {problem}. "
            "Write brackets as -LRB- and -RRB-, and join several words with '_'."
        )
    if isinstance(head, Word):
        raise ParameterError(
            f"The rule {shown(head, items)} has a word as its head. Only a symbol can be a head: pass a plain string."
        )
    if not items:
        raise ParameterError(
            f"The rule '{head} ->' has an empty tail. Add at least one symbol or word on the right-hand side."
        )
    number = _number(probability, normalize)
    if number is None:
        wanted, remedy = ("a number above 0", "") if normalize else ("a number in (0, 1]", NORMALIZE)
        raise ParameterError(
            f"The probability of the rule {shown(head, items)} must be {wanted}. Got {probability!r} instead.{remedy}"
        )
    return Rule(head, items, number)


def checked_start(start: object, normalize: bool = False) -> dict[str, float]:
    """Return the start symbols with their probabilities."""
    if isinstance(start, str):
        return {start: 1.0}
    if not isinstance(start, Mapping) or not start:
        raise wrong("start", "a symbol or a non-empty dict from symbols to probabilities", start, of="PCFG")
    chosen = {}
    for symbol, probability in start.items():
        number = _number(probability, normalize)
        if not isinstance(symbol, str):
            raise ParameterError(f"A start symbol must be a string. Got {symbol!r} instead.")
        if number is None:
            wanted, remedy = ("a number above 0", "") if normalize else ("a number in (0, 1]", NORMALIZE)
            raise ParameterError(
                f"The probability of the start symbol {symbol!r} must be {wanted}. Got {probability!r} instead.{remedy}"
            )
        chosen[symbol] = number
    return chosen


def checked_rules(
    rules: Iterable[object],
) -> tuple[list[Rule], dict[str, dict[str, float]], dict[str, None]]:
    """Return the rules with a symbol on the right, the lexicon (by word, then symbol), and the heads in order."""
    kept: list[Rule] = []
    lexicon: dict[str, dict[str, float]] = {}
    heads: dict[str, None] = {}
    seen: set[tuple[str, Tail]] = set()
    for item in rules:
        rule = checked_rule(item)
        if rule[:2] in seen:
            raise ParameterError(
                f"The rule {shown(*rule[:2])} occurs twice. Pass each rule once, with a single probability."
            )
        seen.add(rule[:2])
        heads[rule.head] = None
        if is_lexical(rule.tail):
            lexicon.setdefault(str(rule.tail[0]), {})[rule.head] = rule.probability
        else:
            kept.append(rule)
    return kept, lexicon, heads


def check_symbols(symbols: Mapping[str, None], labels: Mapping[str, str], hidden: frozenset[str]) -> None:
    """Check that labeled and hidden symbols occur in rules, and that no symbol is both labeled and hidden."""
    for name, named in (("labels", set(labels)), ("hidden", hidden)):
        for symbol in named - set(symbols):
            raise ParameterError(
                f"The symbol {symbol!r} in {name!r} does not occur in any rule.{suggestion(str(symbol), symbols)}"
            )
    for symbol, label in labels.items():
        if symbol in hidden:
            raise ParameterError(
                f"The symbol {symbol!r} is hidden, but it also has the label {label!r}. "
                "Remove the symbol from 'labels' or from 'hidden'."
            )
        if problem := label_problem(label):
            raise ParameterError(
                f"The label of the symbol {symbol!r} is {problem}. A label needs at least one character, "
                "and no white space or brackets."
            )


def check_hidden(
    hidden: frozenset[str], start: Iterable[str], rules: Iterable[Rule], lexicon: Mapping[str, Iterable[str]]
) -> None:
    """Check that hidden symbols occur only in positions from which the parser can remove them."""
    if not hidden:
        return
    misplaced = [symbol for symbol in start if symbol in hidden]
    misplaced += [symbol for symbols in lexicon.values() for symbol in symbols if symbol in hidden]
    for head, tail, _ in rules:
        if head in hidden and len(tail) != 2:
            misplaced.append(head)
        misplaced += [item for item in (tail[1:] if len(tail) == 2 else tail) if item in hidden]
    if misplaced:
        raise ParameterError(
            f"The hidden symbol {misplaced[0]!r} is used in a position where a parser cannot remove it. "
            "A hidden symbol may only head rules with two symbols on the right, or be the first of two."
        )


def sums(rules: Iterable[tuple[str, object, float]]) -> dict[str, float]:
    """Return the sum of the probabilities of each head."""
    by_head: dict[str, list[float]] = {}
    for head, _, probability in rules:
        by_head.setdefault(head, []).append(probability)
    return {head: math.fsum(values) for head, values in by_head.items()}


def worst(sums: Mapping[str, float]) -> tuple[str, float]:
    """Return the symbol whose sum is furthest from 1, and that sum."""
    return max(sums.items(), key=lambda item: abs(item[1] - 1))


def warn_of_sums(rules: Iterable[Rule], start: Mapping[str, float]) -> None:
    """Warn if the probabilities of a head, or those of the start symbols, do not sum to 1."""
    start_name = "the start symbols"
    symbol, total = worst({**sums(rules), start_name: math.fsum(start.values())})
    if abs(total - 1) > TOLERANCE:
        owner = start_name if symbol == start_name else f"the rules of {symbol!r}"
        warnings.warn(
            f"The probabilities of {owner} sum to {total:.6g} instead of 1. They are used unchanged, so scores are not "
            "probabilities. To rescale them, use PCFG.from_rules(..., normalize=True).",
            GrammarWarning,
            stacklevel=3,
        )
