"""The lexicon of a grammar: the possible symbols of each word, and their probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from treelet.checks import some_of
from treelet.errors import ParameterError
from treelet.parsing.checks import sums
from treelet.parsing.unknown import GUESS, LOWER, SMOOTHED, SMOOTHED_GUESS, UnknownWords

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

    __slots__ = ("_cache", "_labels", "_tokens", "_unknown", "tags", "words")

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
        self._tokens: dict[str, float] = {}  # number of tokens of each label
        for symbol, total in unknown.totals.items() if unknown is not None else ():
            self._tokens[labels[symbol]] = self._tokens.get(labels[symbol], 0.0) + total * self.tags[symbol]
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
        smooth = self._unknown.smoothing > 0
        if count > max(self._unknown.min_count, SMOOTHED * smooth):
            return self._smoothed(seen)
        share = self._unknown.tags(word, first)
        guess = {
            symbol: share[label] * (self.tags[symbol] / self._tokens[label])
            for symbol in self._unknown.totals
            if (label := self._labels[symbol]) in share
        }
        if count:
            weight = SMOOTHED_GUESS if smooth else GUESS
            scale = count / (count + weight)
            return self._smoothed(
                {s: (seen.get(s, 0.0) + weight * guess.get(s, 0.0)) * scale for s in {**seen, **guess}}
            )
        lower: Mapping[str, float] = self.words.get(word.lower(), {}) if first else {}
        if lower:
            once = LOWER / self._count(lower)
            return self._smoothed(
                {s: once * lower.get(s, 0.0) + (1 - LOWER) * guess.get(s, 0.0) for s in {**lower, **guess}}
            )
        return guess

    def _smoothed(self, chances: Mapping[str, float]) -> Mapping[str, float]:
        """Smooth P(symbol | label, word) of annotated symbols with P(symbol | label).

        The expected counts of a word with each label stay the same.
        """
        if self._unknown is None or not (k := self._unknown.smoothing):
            return chances
        totals = self._unknown.totals
        counts: dict[str, float] = {}  # expected count of the word with each label
        for symbol, p in chances.items():
            label = self._labels[symbol]
            counts[label] = counts.get(label, 0.0) + p * totals[symbol]
        return {
            symbol: min(1.0, (chances.get(symbol, 0.0) + k * self.tags[symbol] / self._tokens[label]) * (n / (n + k)))
            for symbol in totals
            if (n := counts.get(label := self._labels[symbol], 0.0))
        }

    def _count(self, symbols: Mapping[str, float]) -> int:
        """Return how often a word occurs in the treebank, from its probabilities: at least once if it has symbols."""
        totals = self._unknown.totals if self._unknown else {}
        return max(bool(symbols), round(math.fsum(p * totals[symbol] for symbol, p in symbols.items())))
