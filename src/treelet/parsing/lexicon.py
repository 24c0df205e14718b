"""The lexicon of a grammar: the possible symbols of each word, and their probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from treelet.checks import some_of
from treelet.errors import ParameterError
from treelet.parsing.checks import sums
from treelet.parsing.unknown import GUESS, LOWER, UnknownWords

CACHED = 1 << 17  # words


class Lexicon:
    """Maps words to symbols. The symbols of rare and unknown words are guessed from their spelling.

    Parameters
    ----------
    words : dict of dict
        P(word | symbol), by word and symbol.
    labels : dict of str to str
        Labels of the symbols.
    unknown : UnknownWords, optional
        Model of unknown words. By default, nothing is guessed.

    Attributes
    ----------
    words : dict of mapping
        The parameter, read-only.
    tags : dict of str to float
        Probability that a symbol is expanded to a single word.
    """

    __slots__ = ("_cache", "_labels", "_unknown", "tags", "words")

    def __init__(
        self, words: Mapping[str, dict[str, float]], labels: Mapping[str, str], unknown: UnknownWords | None
    ) -> None:
        self.words = {word: MappingProxyType(symbols) for word, symbols in words.items()}
        self.tags = sums((symbol, word, p) for word, chances in words.items() for symbol, p in chances.items())
        if unknown is not None and set(unknown.totals) != set(self.tags):
            differing = sorted(set(unknown.totals) ^ set(self.tags))
            raise ParameterError(
                "The 'totals' of the model of unknown words must have the same symbols as the rules with a single word. "
                f"Only one of the two has {some_of(differing, 5)}."
            )
        self._labels, self._unknown = labels, unknown
        self._cache: dict[tuple[str, bool], list[tuple[str, float]]] = {}

    def symbols(self, word: str, first: bool) -> list[tuple[str, float]]:
        """Return the possible symbols of a word with log P(word | symbol). `first`: it is the first of its sentence."""
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
        tokens: dict[str, float] = {}  # number of tokens of each label
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
        """Return how often a word occurs in the treebank, from its probabilities: at least once if it has symbols."""
        totals = self._unknown.totals if self._unknown else {}
        return max(bool(symbols), round(math.fsum(p * totals[symbol] for symbol, p in symbols.items())))
