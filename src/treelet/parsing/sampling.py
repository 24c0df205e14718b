"""Drawing random trees from a grammar.

Rules cannot simply be drawn by their weights, for two reasons. The weights of rules with hidden
symbols are conditional from left to right, not from the top down. And a derivation may never end.
Instead, a rule is drawn with probability proportional to its weight times the total weights of the
trees of its tail, divided by the total weight of the trees of its head (Chi 1999). The probability
of a tree is then its own weight, divided by the total weight of all trees.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.errors import ParameterError
from treelet.formats.base import Columns
from treelet.formats.grammars import Word

if TYPE_CHECKING:
    from treelet.parsing.grammar import PCFG

ANY = 2**62  # number of words that stands for no limit
STEPS, SMALL, SETTLED, LARGE = 5000, 1e-13, 1e-5, 1e100
Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]


def totals(head: Numbers, weight: Vector, start: Numbers, tail: Numbers, n: int) -> Vector:
    """Return the total weight of the finite trees of each of n symbols.

    This is the least solution of Z(head) = Σ weight ∏ Z(tail). It is computed by fixed-point
    iteration from 0, which is slow only if derivations are close to being infinite. The result is
    infinity where the iteration does not converge. The tail of rule r begins at ``start[r]``; number
    n stands for any word.
    """
    estimate = np.zeros(n + 1)
    estimate[n] = 1
    for _ in range(STEPS):
        before = estimate
        estimate = np.append(
            np.bincount(head, weight * np.multiply.reduceat(before[tail], start[:-1]), minlength=n), 1.0
        )
        change = np.abs(estimate - before)
        if (change <= SMALL * estimate).all() or not estimate.max() < LARGE:
            break
    return np.where(change <= SETTLED * estimate, estimate, np.inf)


def sampler(grammar: PCFG) -> _core.Sampler:
    """Return the native sampler of a grammar."""
    names = [*grammar.labels, *sorted(grammar.hidden)]
    number = {symbol: index for index, symbol in enumerate(names)}
    rules = sorted(grammar.productions(), key=lambda rule: number[rule.head])
    head = np.array([number[rule.head] for rule in rules])
    start = _starts(len(rule.tail) for rule in rules)
    known = np.array([len(names) if isinstance(item, Word) else number[item] for rule in rules for item in rule.tail])
    weight = np.array([rule.probability for rule in rules])
    total = totals(head, weight, start, known, len(names))
    weight = weight * np.multiply.reduceat(total[known], start[:-1])
    at_start = np.array([p * total[number[symbol]] for symbol, p in grammar.start.items()])
    if not 0 < at_start.sum() < LARGE:
        raise ParameterError(
            "No tree can be drawn from this grammar: "
            + (
                "it has no finite tree. Add rules that lead from the start symbol to words."
                if at_start.sum() == 0
                else "the sum of the weights of its trees is infinite. Reduce the weights of recursive rules."
            )
        )
    # Symbols without a finite tree are never drawn. Nor are symbols with an infinite total, because
    # otherwise the total of the start symbols would be infinite. Both are left out.
    usable = np.flatnonzero((total[:-1] > 0) & (total[:-1] < LARGE))
    used = (weight > 0) & (weight < LARGE) & (total[head] < LARGE)
    index_of = np.full(len(names), -1)
    index_of[usable] = np.arange(len(usable))
    kept = [rule for rule, wanted in zip(rules, used, strict=True) if wanted]
    words = dict.fromkeys(item for rule in kept for item in rule.tail if isinstance(item, Word))
    numbers: dict[str, int] = {word: len(usable) + at for at, word in enumerate(words)}
    numbers |= {symbol: int(index_of[at]) for symbol, at in number.items()}
    begun = at_start > 0
    return _core.Sampler.of(
        [grammar.labels.get(names[symbol], "") for symbol in usable] + list(map(str, words)),
        len(usable),
        _starts(np.bincount(index_of[head[used]], minlength=len(usable)).tolist()),
        _starts(len(rule.tail) for rule in kept),
        np.array([numbers[item] for rule in kept for item in rule.tail], np.int32),
        weight[used],
        np.array([numbers[symbol] for symbol in grammar.start], np.int32)[begun],
        at_start[begun],
    )


def drawn(sampler: _core.Sampler, n: int, seed: int, max_words: int | None) -> Columns:
    """Draw n trees."""
    try:
        return Columns(*sampler.sample(n, seed, ANY if max_words is None else max_words))
    except ValueError as error:
        raise ParameterError(str(error)) from None


def _starts(lengths: Iterable[int]) -> Numbers:
    return np.concatenate([[0], np.cumsum(list(lengths))]).astype(np.int64)
