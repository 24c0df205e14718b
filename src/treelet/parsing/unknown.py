"""Model of unknown words: the probabilities of their tags, given their spelling.

A word has signatures from coarse to fine: a signature of all words; its case and hyphen, or the
shape of its number; then its last one, two and three letters. P(tag | signature) is estimated from
the rare words of a treebank, because unknown words resemble rare words. Each signature is smoothed
with the next coarser one, as in the taggers of Samuelsson (1993) and Brants (2000). P(word | tag)
follows by Bayes' rule, as in Klein & Manning (2003): an unknown word counts as a word that was seen
once, and this count is divided among its tags.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from treelet.checks import some_of
from treelet.errors import ParameterError

_OPEN = 0.01  # a tag is open to new words if at least this share of its tokens are rare words
_LEAN = 2.0  # pseudo-count of the coarser signature
GUESS = 0.2  # pseudo-count of the guessed tags of a rare word
_SMOOTHED = 5  # with smoothing, words that occur at most this often also get guessed tags
_SMOOTHED_GUESS = 0.5  # pseudo-count of the guessed tags with smoothing
_LOWER = 0.9  # weight of the lower-case word in the tags of an unknown first word of a sentence
_SUFFIX = 3  # letters
_MOST = 1e15  # limit of counts, below which sums stay finite and sufficiently exact

_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")


def _signatures(word: str, first: bool = False) -> list[str]:
    """Return the signatures of a word, from coarse to fine.

    >>> _signatures("unparsed")
    ['', 'a', 'a ~d', 'a ~ed', 'a ~sed']
    >>> _signatures("10-year"), _signatures("Fed", first=True)[:2]
    (['', '0', '0 0-a'], ['', '^Aa'])
    """
    if _DIGITS.search(word):
        return ["", "0", "0 " + _LETTERS.sub("a", _DIGITS.sub("0", word))[:16]]
    letters = "".join(_LETTERS.findall(word))
    if not letters:
        return ["", "."]
    if word.islower():
        kind = "a"
    elif letters.isupper():
        kind = "AA" if len(letters) > 1 else "A"
    else:
        kind = "Aa" if letters[0].isupper() else "aA"
    kind = "^" * (first and kind != "a") + kind + "-" * ("-" in word[1:-1])
    tail = word.lower()
    return ["", kind, *(f"{kind} ~{tail[-n:]}" for n in range(1, _SUFFIX + 1) if len(word) > n)]


class UnknownWords:
    """Model of unknown words: P(tag | signature), where a signature describes the spelling of a word.

    Usually created by `PCFG.from_treebank` or `HMM.from_tagged`.

    Parameters
    ----------
    min_count : int
        Words that occur at most this often are rare, at least 1. The model is estimated from rare
        words, and it contributes to the tags of rare words.
    totals : dict of str to float
        Number of occurrences of each symbol that has a single word below it.
    counts : dict of str to dict
        Number of rare words by signature and label: ``{signature: {label: count}}``.
    smoothing : float, default 0
        Pseudo-count, at least 0, that divides the occurrences of a word with a label among all
        annotated symbols of this label. If it is above 0, words that occur at most five times also get
        the tags that their spelling suggests.

    Attributes
    ----------
    min_count, totals, counts, smoothing
        The parameters.

    Examples
    --------
    >>> from treelet.parsing import UnknownWords
    >>> seen = [("N", "dogs", False, 1), ("N", "cats", False, 1), ("V", "sleeps", False, 1)]
    >>> model = UnknownWords.learn(seen, {"N": 2, "V": 1}, min_count=1)
    >>> {tag: round(p, 2) for tag, p in model.tags("birds").items()}
    {'N': 0.67, 'V': 0.33}
    """

    __slots__ = ("counts", "min_count", "smoothing", "totals")

    def __init__(
        self,
        min_count: int,
        totals: Mapping[str, float],
        counts: Mapping[str, Mapping[str, float]],
        smoothing: float = 0.0,
    ) -> None:
        self.min_count, self.totals, self.smoothing = min_count, dict(totals), float(smoothing)
        self.counts = {signature: dict(tags) for signature, tags in counts.items()}

    @classmethod
    def learn(
        cls,
        sightings: Iterable[tuple[str, str, bool, float]],
        totals: Mapping[str, float],
        min_count: int,
        smoothing: float = 0.0,
    ) -> UnknownWords:
        """Estimate the model from the words of a treebank.

        Parameters
        ----------
        sightings : iterable of (label, word, first, count)
            Words with their labels. `first` is True for the first word of a sentence.
        totals : dict of str to float
            Number of occurrences of each symbol that has a single word below it.
        min_count : int
            Words that occur at most this often are used. If there are none, all words are used.
        smoothing : float, default 0
            As in `UnknownWords`.
        """
        seen = list(sightings)
        times: dict[str, float] = {}
        tokens: dict[str, float] = {}
        for label, word, _, count in seen:
            times[word] = times.get(word, 0.0) + count
            tokens[label] = tokens.get(label, 0.0) + count
        rare = [item for item in seen if times[item[1]] <= min_count] or seen
        new: dict[str, float] = {}
        for label, _, _, count in rare:
            new[label] = new.get(label, 0.0) + count
        closed = {label for label, count in new.items() if count < _OPEN * tokens[label]}
        if len(closed) == len(new):
            closed = set()
        counts: dict[str, dict[str, float]] = {}
        for label, word, first, count in rare:
            if label not in closed:
                for signature in _signatures(word, first):
                    tags = counts.setdefault(signature, {})
                    tags[label] = tags.get(label, 0.0) + count
        return cls(min_count, totals, {key: dict(sorted(counts[key].items())) for key in sorted(counts)}, smoothing)

    def tags(self, word: str, first: bool = False) -> dict[str, float]:
        """Return P(label | signatures of the word), for every label that is open to new words."""
        guess: dict[str, float] = {}
        for signature in _signatures(word, first):
            counts = self.counts.get(signature)
            if counts is None:
                break
            total = sum(counts.values())
            if not guess:
                guess = {label: count / total for label, count in counts.items()}
            else:
                guess = {k: (counts.get(k, 0.0) + _LEAN * p) / (total + _LEAN) for k, p in guess.items()}
        return guess

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownWords) and self.document() == other.document()

    __hash__ = None  # type: ignore[assignment]  # compared by content

    def document(self) -> dict[str, Any]:
        """Return the model as a JSON-compatible dict, for files."""
        document = {"min_count": self.min_count, "totals": self.totals, "signatures": self.counts}
        # Grammars without smoothing have the same files as before there was smoothing.
        return document | {"smoothing": self.smoothing} if self.smoothing else document

    @classmethod
    def from_document(cls, document: object) -> UnknownWords:
        """Return the model that `document` describes, as `document()` returned it.

        Raises
        ------
        ParameterError
            If the document is malformed.
        """
        fields = {"min_count", "totals", "signatures"}
        if not isinstance(document, Mapping) or set(document) - {"smoothing"} != fields:
            raise ParameterError(
                "The model of unknown words must be an object with the fields 'min_count', 'totals' and 'signatures'."
            )
        smoothing = document.get("smoothing", 0.0)
        if type(smoothing) not in {int, float} or not 0 <= smoothing < _MOST:
            raise ParameterError(
                "The 'smoothing' of the model of unknown words must be a number of at least 0. "
                f"Got {smoothing!r:.40} instead."
            )
        if type(document["min_count"]) is not int or document["min_count"] < 1:
            raise ParameterError(
                "The 'min_count' of the model of unknown words must be an integer of at least 1. "
                f"Got {document['min_count']!r:.40} instead."
            )
        tables = document["signatures"]
        if not isinstance(tables, Mapping) or not all(map(_is_counts, [document["totals"], *tables.values()])):
            raise ParameterError(
                "In the model of unknown words, 'totals' and every signature must map labels to counts "
                f"above 0 and below {_MOST:g}."
            )
        for label, total in document["totals"].items():
            if total < 1:
                raise ParameterError(
                    f"The 'totals' of the model of unknown words must be at least 1. Got {total!r} for {label!r} instead."
                )
        for signature, table in tables.items():
            for label in sorted(set(table) - set(tables.get("", ()))):
                raise ParameterError(
                    f"In the model of unknown words, the signature {signature!r} has the label {label!r}, "
                    "which the signature '' of all words does not have."
                )
        return cls(document["min_count"], document["totals"], tables, smoothing)


def _is_counts(table: object) -> bool:
    return (
        isinstance(table, Mapping)
        and bool(table)
        and all(isinstance(key, str) for key in table)
        and all(type(count) in {int, float} and 0 < count < _MOST for count in table.values())
    )


# --- the lexicon of a grammar: the possible symbols of each word, and their probabilities -----------------------------


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

    __slots__ = ("_labels", "_tokens", "_unknown", "tags", "words")

    def __init__(
        self, words: Mapping[str, dict[str, float]], labels: Mapping[str, str], unknown: UnknownWords | None
    ) -> None:
        self.words = {word: MappingProxyType(symbols) for word, symbols in words.items()}
        by_symbol: dict[str, list[float]] = {}
        for chances in words.values():
            for symbol, p in chances.items():
                by_symbol.setdefault(symbol, []).append(p)
        self.tags = {symbol: math.fsum(values) for symbol, values in by_symbol.items()}
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

    def symbols(self, word: str, first: bool) -> list[tuple[str, float]]:
        """Return the possible symbols of a word with log P(word | symbol). `first`: it is the first of its sentence."""
        return [(symbol, math.log(p)) for symbol, p in self._chances(word, first).items() if p > 0]

    def _chances(self, word: str, first: bool) -> Mapping[str, float]:
        seen: Mapping[str, float] = self.words.get(word, {})
        if self._unknown is None:
            return seen
        count = self._count(seen)
        smooth = self._unknown.smoothing > 0
        if count > max(self._unknown.min_count, _SMOOTHED * smooth):
            return self._smoothed(seen)
        share = self._unknown.tags(word, first)
        guess = {
            symbol: share[label] * (self.tags[symbol] / self._tokens[label])
            for symbol in self._unknown.totals
            if (label := self._labels[symbol]) in share
        }
        if count:
            weight = _SMOOTHED_GUESS if smooth else GUESS
            scale = count / (count + weight)
            return self._smoothed(
                {s: (seen.get(s, 0.0) + weight * guess.get(s, 0.0)) * scale for s in {**seen, **guess}}
            )
        lower: Mapping[str, float] = self.words.get(word.lower(), {}) if first else {}
        if lower:
            once = _LOWER / self._count(lower)
            return self._smoothed(
                {s: once * lower.get(s, 0.0) + (1 - _LOWER) * guess.get(s, 0.0) for s in {**lower, **guess}}
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
