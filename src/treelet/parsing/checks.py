"""What a grammar's parts must be."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Iterable, Mapping, Sequence

from treelet.checks import wrong
from treelet.errors import ParameterError, TreeletWarning
from treelet.formats.brackets import label_problem
from treelet.formats.grammars import Rule, Tail, Word, is_lexical, shown

TOLERANCE = 1e-6


class GrammarWarning(TreeletWarning):
    """A grammar can be used, but is perhaps not what was meant."""


def _number(value: object, normalize: bool = False) -> float | None:
    """A probability, or with `normalize` any positive number; None if it is neither."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        number = float(value)
    except OverflowError:  # an int beyond all floats
        return None
    return number if 0 < number < math.inf and (normalize or number <= 1) else None


def checked_rule(rule: object, normalize: bool = False) -> Rule:
    if not isinstance(rule, (tuple, list)) or len(rule) != 3:
        raise ParameterError(f"a rule is (head, tail, probability), got {rule!r}")
    head, tail, probability = rule
    if isinstance(tail, str) or not isinstance(tail, Sequence):
        raise ParameterError(f"the tail of a rule is a tuple of strings, got {tail!r} in {rule!r}")
    items = tuple(tail)
    problem = label_problem(head) or next(filter(None, map(label_problem, items)), None)
    if problem:
        raise ParameterError(
            f"in the rule {rule!r} a symbol or word is {problem}; write brackets as -LRB- and -RRB- and join words by '_'"
        )
    if isinstance(head, Word):
        raise ParameterError(f"the rule {shown(head, items)} has a word as its head")
    if not items:
        raise ParameterError(f"the rule {head} -> has an empty tail; a symbol must be over something")
    number = _number(probability, normalize)
    if number is None:
        wanted = "a number above 0" if normalize else "in (0, 1]; to rescale weights, use normalize=True"
        raise ParameterError(
            f"the probability of the rule {shown(head, items)} must be {wanted}. Got {probability!r} instead."
        )
    return Rule(head, items, number)


def checked_start(start: object, normalize: bool = False) -> dict[str, float]:
    if isinstance(start, str):
        return {start: 1.0}
    if not isinstance(start, Mapping) or not start:
        raise wrong("start", "a symbol or a dict of probabilities", start, of="PCFG")
    chosen = {}
    for symbol, probability in start.items():
        number = _number(probability, normalize)
        if number is None or not isinstance(symbol, str):
            raise ParameterError(
                f"the start symbol {symbol!r} must have a probability in (0, 1]. Got {probability!r} instead."
            )
        chosen[symbol] = number
    return chosen


def checked_rules(
    rules: Iterable[object],
) -> tuple[list[Rule], dict[str, dict[str, float]], dict[str, None]]:
    kept: list[Rule] = []
    lexicon: dict[str, dict[str, float]] = {}
    heads: dict[str, None] = {}
    seen: set[tuple[str, Tail]] = set()
    for item in rules:
        rule = checked_rule(item)
        if rule[:2] in seen:
            raise ParameterError(f"the rule {shown(*rule[:2])} is there twice: give it once, with one probability")
        seen.add(rule[:2])
        heads[rule.head] = None
        if is_lexical(rule.tail):
            lexicon.setdefault(str(rule.tail[0]), {})[rule.head] = rule.probability
        else:
            kept.append(rule)
    return kept, lexicon, heads


def check_symbols(symbols: Mapping[str, None], labels: Mapping[str, str], hidden: frozenset[str]) -> None:
    for kind, named in (("labels", set(labels)), ("hidden", hidden)):
        for symbol in named - set(symbols):
            raise ParameterError(f"{symbol!r} is among the {kind} but in no rule")
    for symbol, label in labels.items():
        if symbol in hidden:
            raise ParameterError(f"{symbol!r} is hidden and has the label {label!r}: it can be one only")
        if problem := label_problem(label):
            raise ParameterError(f"the label of {symbol!r} is {problem}")


def check_hidden(
    hidden: frozenset[str], start: Iterable[str], rules: Iterable[Rule], lexicon: Mapping[str, Iterable[str]]
) -> None:
    """Hidden symbols stand where the parser can leave them out."""
    if not hidden:
        return
    wrong = [symbol for symbol in start if symbol in hidden]
    wrong += [symbol for symbols in lexicon.values() for symbol in symbols if symbol in hidden]
    for head, tail, _ in rules:
        if head in hidden and len(tail) != 2:
            wrong.append(head)
        wrong += [item for item in (tail[1:] if len(tail) == 2 else tail) if item in hidden]
    if wrong:
        raise ParameterError(
            f"the hidden symbol {wrong[0]!r} may only be the head of rules with two symbols on the right, or the first of two"
        )


def sums(rules: Iterable[tuple[str, object, float]]) -> dict[str, float]:
    by_head: dict[str, list[float]] = {}
    for head, _, probability in rules:
        by_head.setdefault(head, []).append(probability)
    return {head: math.fsum(values) for head, values in by_head.items()}


def worst(sums: Mapping[str, float]) -> tuple[str, float]:
    return max(sums.items(), key=lambda item: abs(item[1] - 1))


def warn_of_sums(rules: Iterable[Rule], start: Mapping[str, float]) -> None:
    symbol, total = worst({**sums(rules), "the start": math.fsum(start.values())})
    if abs(total - 1) > TOLERANCE:
        warnings.warn(
            f"the probabilities of {symbol!r} sum to {total:.6g}, not 1; scores are products of the numbers as given "
            "(PCFG.from_rules(..., normalize=True) rescales them)",
            GrammarWarning,
            stacklevel=3,
        )
