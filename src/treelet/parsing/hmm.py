"""Hidden Markov models for part-of-speech tagging: the k best tag sequences of a sentence."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import check_integer, check_one_of, wrong
from treelet.errors import TreeError
from treelet.parsing.unknown import GUESS, UnknownWords
from treelet.structures.sequence import Tagged, TaggedBank

Table = NDArray[np.float64]
_EDGE = ""
"""Pseudo-tag before and after a sentence. Real tags are never empty."""


class HMM:
    """A part-of-speech tagger: a hidden Markov model of tags and words.

    P(tags, words) is the product of P(tag | previous one or two tags) and P(word | tag). Transition
    probabilities given zero, one and two previous tags are interpolated, with weights from deleted
    interpolation (Brants 2000). For rare and unknown words, P(word | tag) depends on their spelling;
    see `UnknownWords`. Create a model with `HMM.from_tagged`.

    Attributes
    ----------
    order : int
        Number of previous tags that a tag depends on, 1 or 2.
    tags : tuple of str
        All tags, sorted.
    words : dict of str to dict
        Counts in the training data: ``{word: {tag: count}}``.
    weights : tuple of float
        Interpolation weights of the transitions given zero, one and (with order 2) two previous tags.
    unknown : UnknownWords or None
        Model of unknown words.

    Examples
    --------
    >>> from treelet.parsing import HMM
    >>> hmm = HMM.from_tagged(["the/D dog/N barks/V", "the/D cat/N sleeps/V", "dogs/N bark/V"], order=1)
    >>> [(tagged, logp)] = hmm.tag(["the", "cat", "barks"])
    >>> print(tagged)
    the/D cat/N barks/V
    >>> len(hmm.tag(["the", "cow", "barks"], k=3))
    3
    """

    def __init__(
        self,
        order: int,
        transitions: Table,
        words: dict[str, dict[str, float]],
        tags: tuple[str, ...],
        weights: tuple[float, ...],
        unknown: UnknownWords | None,
    ) -> None:
        self.order, self.words, self.tags, self.weights, self.unknown = order, words, tags, weights, unknown
        self._log = transitions  # log P, indexed by [previous tags..., tag]; the last index is EDGE
        self._number = {tag: number for number, tag in enumerate(tags)}
        totals: Counter[str] = Counter()
        for counts in words.values():
            totals.update(counts)
        self._totals = totals

    @classmethod
    def from_tagged(cls, bank: Any, order: int = 2, *, unknown: str | None = "signature", min_count: int = 5) -> HMM:
        """Estimate a model from tagged sentences.

        Parameters
        ----------
        bank : TaggedBank or collection of tagged sentences
            Training data, for example ``["the/D dog/N barks/V"]``. Missing sentences (None) are ignored.
        order : {1, 2}, default 2
            Number of previous tags that a tag depends on.
        unknown : {"signature", None}, default "signature"
            How to tag unknown words: by their spelling, or not at all. With None, an unknown word raises
            an error.
        min_count : int, default 5
            Words that occur at most this often, at least 1, are rare. The model of unknown words is
            estimated from them.

        Returns
        -------
        HMM
        """
        if order not in (1, 2) or isinstance(order, bool):
            raise wrong("order", "1 or 2", order, of="HMM")
        check_one_of("unknown", unknown, ("signature", None), of="HMM")
        check_integer("min_count", min_count, of="HMM")
        sequences = [item for item in TaggedBank.of(bank) if item is not None]
        if not sequences:
            raise TreeError("The training data is empty: HMM.from_tagged needs at least one tagged sentence.")
        tags = tuple(sorted({tag for item in sequences for tag in item.tags}))
        words: dict[str, dict[str, float]] = {}
        sightings: Counter[tuple[str, str, bool]] = Counter()
        for item in sequences:
            for index, (word, tag) in enumerate(item):
                seen = words.setdefault(word, {})
                seen[tag] = seen.get(tag, 0) + 1
                sightings[tag, word, index == 0] += 1
        model = None
        if unknown is not None:
            totals: Counter[str] = Counter(tag for item in sequences for tag in item.tags)
            model = UnknownWords.learn(((*key, float(n)) for key, n in sightings.items()), totals, min_count)
        log, weights = _transitions(sequences, tags, order)
        return cls(order, log, words, tags, weights, model)

    def __repr__(self) -> str:
        return f"<HMM of order {self.order}: {len(self.tags)} tags, {len(self.words):,} words>"

    # --- tagging ------------------------------------------------------------------------------------------------

    def tag(self, words: Iterable[str], k: int = 1) -> list[tuple[Tagged, float]]:
        """Return the k most probable tag sequences of a sentence.

        Parameters
        ----------
        words : iterable of str
            Words of the sentence, at least one.
        k : int, default 1
            Maximum number of sequences, at least 1.

        Returns
        -------
        list of (Tagged, float)
            Tagged sentences with their log probabilities, best first. The search is exact: there are fewer
            than k only if no other sequence is possible under the model.
        """
        if isinstance(words, str):
            raise TreeError(
                f"A sentence must be a list of words. Got the single string {words!r:.60} instead: "
                "split it, for example with .split()."
            )
        sentence = tuple(words)
        if not sentence:
            raise TreeError("The sentence is empty: tagging needs at least one word.")
        Tagged(sentence, ["_"] * len(sentence))  # checks the words
        check_integer("k", k, of="HMM.tag")
        choices = [self._emissions(word, index == 0) for index, word in enumerate(sentence)]
        best = self._best_first(choices, int(k))
        return [
            (Tagged._trusted(sentence, tuple(self.tags[number] for number in numbers)), logp) for logp, numbers in best
        ]

    def _emissions(self, word: str, first: bool) -> tuple[NDArray[np.intp], Table]:
        """Return the possible tags of a word, and log P(word | tag)."""
        seen = self.words.get(word, {})
        count = sum(seen.values())
        share = dict(seen)
        if self.unknown is not None and count <= self.unknown.min_count:
            times = GUESS if seen else 1.0  # an unknown word counts as a word that was seen once
            for tag, p in self.unknown.tags(word, first).items():
                share[tag] = share.get(tag, 0.0) + times * p
        if not share:
            raise TreeError(
                f"The word {word!r} does not occur in the training data, and the model has no tags for unknown words. "
                "To tag unknown words, call HMM.from_tagged with unknown='signature'."
            )
        numbers = np.array([self._number[tag] for tag in share])
        return numbers, np.log([n / (self._totals[tag] + 1.0) for tag, n in share.items()])

    def _best_first(self, choices: list[tuple[NDArray[np.intp], Table]], k: int) -> list[tuple[float, tuple[int, ...]]]:
        """Return the k best paths, by A* search.

        The heuristic, the best score from each state to the end, is exact. Only prefixes of the k best
        paths are therefore expanded. The next-best alternative to a prefix is added to the heap when
        that prefix is removed from it.
        """
        n, edge = len(choices), np.array([len(self.tags)])
        at = [edge, edge, *(numbers for numbers, _ in choices), edge]  # at[i + 2]: the possible tags of word i
        steps: list[Table] = []  # best score to the end, indexed by [tag before the previous, previous tag, tag]
        for i in range(n, -1, -1):
            if self.order == 1:
                step = self._log[np.ix_(at[i + 1], at[i + 2])][None]
            else:
                step = self._log[np.ix_(at[i], at[i + 1], at[i + 2])]
            if i < n:
                step = step + choices[i][1] + steps[-1].max(axis=2)
            steps.append(step)
        steps.reverse()
        sorted_rows: dict[tuple[int, int, int], tuple[list[int], list[float]]] = {}

        def ahead(path: tuple[int, ...]) -> tuple[list[int], list[float]]:
            """Return the possible next tags after a path, best first, and their best scores to the end."""
            i = len(path)
            key = (i, path[-2] if self.order == 2 and i > 1 else 0, path[-1] if i > 0 else 0)
            if key not in sorted_rows:
                row = steps[i][key[1], key[2]]
                order = np.argsort(-row, kind="stable")
                sorted_rows[key] = order.tolist(), row[order].tolist()
            return sorted_rows[key]

        heap: list[tuple[float, tuple[int, ...], float, int]] = []

        def push(path: tuple[int, ...], before: float, rank: int) -> None:
            order, scores = ahead(path)
            if rank < len(order) and scores[rank] > -math.inf:
                heapq.heappush(heap, (-(before + scores[rank]), (*path, order[rank]), before, rank))

        best: list[tuple[float, tuple[int, ...]]] = []
        push((), 0.0, 0)
        while heap and len(best) < k:
            cost, path, before, rank = heapq.heappop(heap)
            push(path[:-1], before, rank + 1)
            if len(path) > n:
                # Sums of equally probable paths are rounded differently, which must not disturb the order.
                cost = max(cost, -best[-1][0]) if best else cost
                best.append((-cost, tuple(int(at[i + 2][p]) for i, p in enumerate(path[:-1]))))
            else:
                push(path, -cost - ahead(path)[1][0], 0)
        return best


def _transitions(sequences: list[Tagged], tags: tuple[str, ...], order: int) -> tuple[Table, tuple[float, ...]]:
    """Return log P(tag | previous tags), with EDGE as the last tag, and the weights of the orders (Brants 2000)."""
    number = {tag: k for k, tag in enumerate(tags)} | {_EDGE: len(tags)}
    n = len(number)
    edge = n - 1
    counts = np.zeros((n,) * (order + 1))
    for item in sequences:
        chain = [edge] * order + [number[tag] for tag in item.tags] + [edge]
        places = tuple(np.array(chain[k : len(chain) - order + k]) for k in range(order + 1))
        np.add.at(counts, places, 1)
    # Counts of each order, indexed by [tag], [previous, tag] and [before the previous, previous, tag].
    levels = [counts.sum(axis=tuple(range(order - k))) for k in range(order + 1)]
    weights = np.zeros(order + 1)
    for context_and_tag in np.argwhere(counts > 0):
        times = counts[tuple(context_and_tag)]
        shares = []
        for k, level in enumerate(levels):
            own = level[tuple(context_and_tag[order - k :])]
            context = level[tuple(context_and_tag[order - k : -1])].sum()
            shares.append((own - 1) / (context - 1) if context > 1 else 0.0)
        weights[int(np.argmax(shares[::-1]))] += times  # on a tie, the longest context
    weights = weights[::-1] / weights.sum()
    weights = 0.999 * weights + 0.001 * np.eye(order + 1)[0]  # makes every transition possible
    p = np.zeros_like(counts)
    for weight, level in zip(weights, levels, strict=True):
        context = level.sum(axis=-1, keepdims=True)
        p += weight * np.divide(level, context, out=np.zeros_like(level), where=context > 0)
    total = p.sum(axis=-1, keepdims=True)  # less than 1 for a context that does not occur in the data
    p = np.divide(p, total, out=np.zeros_like(p), where=total > 0)
    with np.errstate(divide="ignore"):
        return np.log(p), tuple(float(weight) for weight in weights)
