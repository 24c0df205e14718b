"""Which symbols may stand over a word, and how probably they have it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from treelet.errors import ParameterError
from treelet.parsing.checks import sums
from treelet.parsing.unknown import GUESS, LOWER, UnknownWords

CACHED = 1 << 17  # words


class Lexicon:
    """Words with their symbols, as they were seen; those of rare and unknown words are guessed from their looks.

    Parameters
    ----------
    words : dict of dict
        P(word | symbol), by word and symbol.
    labels : dict of str to str
        Of symbols.
    unknown : UnknownWords, optional
        How to guess.

    Attributes
    ----------
    words : dict of mapping
    tags : dict of str to float
        P(a single word | symbol).
    """

    __slots__ = ("_cache", "_labels", "_unknown", "tags", "words")

    def __init__(
        self, words: Mapping[str, dict[str, float]], labels: Mapping[str, str], unknown: UnknownWords | None
    ) -> None:
        self.words = {word: MappingProxyType(symbols) for word, symbols in words.items()}
        self.tags = sums((symbol, word, p) for word, chances in words.items() for symbol, p in chances.items())
        if unknown is not None and set(unknown.totals) != set(self.tags):
            raise ParameterError("the model of unknown words does not have the symbols that stand over single words")
        self._labels, self._unknown = labels, unknown
        self._cache: dict[tuple[str, bool], list[tuple[str, float]]] = {}

    def symbols(self, word: str, first: bool) -> list[tuple[str, float]]:
        """The symbols that may stand over a word, with log P(word | symbol); `first`: it opens a sentence."""
        choices = self._cache.get((word, first))
        if choices is None:
            choices = [(symbol, math.log(p)) for symbol, p in self._chances(word, first).items() if p > 0]
            if len(self._cache) >= CACHED:
                self._cache.clear()
            self._cache[word, first] = choices
        return list(choices)

    def _chances(self, word: str, first: bool) -> Mapping[str, float]:
        seen: Mapping[str, float] = self.words.get(word, {})
        if self._unknown is None:
            return seen
        count = self._count(seen)
        if count > self._unknown.min_count:
            return seen
        tokens: dict[str, float] = {}  # of each label, over single words
        for symbol, total in self._unknown.totals.items():
            label = self._labels[symbol]
            tokens[label] = tokens.get(label, 0.0) + total * self.tags[symbol]
        share = self._unknown.tags(word, first)
        guess = {
            symbol: share[label] * (self.tags[symbol] / tokens[label])
            for symbol in self._unknown.totals
            if (label := self._labels[symbol]) in share
        }
        if count:
            scale = count / (count + GUESS)
            return {s: (seen.get(s, 0.0) + GUESS * guess.get(s, 0.0)) * scale for s in {**seen, **guess}}
        lower: Mapping[str, float] = self.words.get(word.lower(), {}) if first else {}
        if lower:
            once = LOWER / self._count(lower)
            return {s: once * lower.get(s, 0.0) + (1 - LOWER) * guess.get(s, 0.0) for s in {**lower, **guess}}
        return guess

    def _count(self, symbols: Mapping[str, float]) -> int:
        """How often the treebank has a word, from its probabilities; one that is there, once at least."""
        totals = self._unknown.totals if self._unknown else {}
        return max(bool(symbols), round(math.fsum(p * totals[symbol] for symbol, p in symbols.items())))
