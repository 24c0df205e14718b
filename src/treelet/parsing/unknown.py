"""Words that a treebank does not know, by what they look like.

A word has signatures from coarse to fine: all words, its case and hyphen or the shape of its number, then its last one,
two and three letters. P(tag | signature) is counted over the rare words of a treebank, since the next new word is like
those that were new last, and each signature leans on the coarser one before it, as Samuelsson (1993) and Brants (2000)
do for taggers. P(word | tag) follows by Bayes' rule, as in Klein & Manning (2003): the word counts as one that was seen
once, shared among its tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from treelet.errors import ParameterError

OPEN = 0.01  # a tag is open to new words if at least this share of its tokens are rare words
LEAN = 2.0  # how many sightings the coarser signature counts for
GUESS = 0.2  # how many sightings the guess counts for where a word is rare
LOWER = 0.9  # how much of a sentence's first word is guessed from the same word in lower case
SUFFIX = 3
MOST = 1e15  # counts: sums of them stay exact enough, and finite

_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")


def signatures(word: str, first: bool = False) -> list[str]:
    """What a word looks like, from coarse to fine.

    >>> signatures("unparsed")
    ['', 'a', 'a ~d', 'a ~ed', 'a ~sed']
    >>> signatures("10-year"), signatures("Fed", first=True)[:2]
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
    return ["", kind, *(f"{kind} ~{tail[-n:]}" for n in range(1, SUFFIX + 1) if len(word) > n)]


class UnknownWords:
    """P(tag | what a word looks like).

    Attributes
    ----------
    min_count : int
        Words seen at most so often are rare: they are what is counted, and guessing has a say in their tags.
    totals : dict
        How often each symbol that stands over a single word occurs.
    counts : dict
        ``{signature: {label: how many rare words}}``.
    """

    __slots__ = ("counts", "min_count", "totals")

    def __init__(self, min_count: int, totals: Mapping[str, float], counts: Mapping[str, Mapping[str, float]]) -> None:
        self.min_count, self.totals = min_count, dict(totals)
        self.counts = {signature: dict(tags) for signature, tags in counts.items()}

    @classmethod
    def learn(
        cls, sightings: Iterable[tuple[str, str, bool, float]], totals: Mapping[str, float], min_count: int
    ) -> UnknownWords:
        """Count (label, word, whether first in its sentence, how often); where no word is rare, all are counted."""
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
        closed = {label for label, count in new.items() if count < OPEN * tokens[label]}
        if len(closed) == len(new):
            closed = set()
        counts: dict[str, dict[str, float]] = {}
        for label, word, first, count in rare:
            if label not in closed:
                for signature in signatures(word, first):
                    tags = counts.setdefault(signature, {})
                    tags[label] = tags.get(label, 0.0) + count
        return cls(min_count, totals, {key: dict(sorted(counts[key].items())) for key in sorted(counts)})

    def tags(self, word: str, first: bool = False) -> dict[str, float]:
        """P(label | signatures of the word), for every label that is open to new words."""
        guess: dict[str, float] = {}
        for signature in signatures(word, first):
            counts = self.counts.get(signature)
            if counts is None:
                break
            total = sum(counts.values())
            if not guess:
                guess = {label: count / total for label, count in counts.items()}
            else:
                guess = {k: (counts.get(k, 0.0) + LEAN * p) / (total + LEAN) for k, p in guess.items()}
        return guess

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownWords) and self.document() == other.document()

    __hash__ = None  # type: ignore[assignment]  # compared by content

    def document(self) -> dict[str, Any]:
        """What a file holds of it."""
        return {"min_count": self.min_count, "totals": self.totals, "signatures": self.counts}

    @classmethod
    def from_document(cls, document: object) -> UnknownWords:
        """The model that `document` describes; ParameterError if it makes no sense."""
        if not isinstance(document, Mapping) or set(document) != {"min_count", "totals", "signatures"}:
            raise ParameterError("the model of unknown words must have min_count, totals and signatures")
        if type(document["min_count"]) is not int or document["min_count"] < 1:
            raise ParameterError("the min_count of the model of unknown words must be a positive integer")
        tables = document["signatures"]
        if not isinstance(tables, Mapping) or not all(map(_is_counts, [document["totals"], *tables.values()])):
            raise ParameterError(f"the model of unknown words must hold counts above 0 and below {MOST:g}")
        if not all(total >= 1 for total in document["totals"].values()):
            raise ParameterError("the totals of the model of unknown words must be counts of at least 1")
        if any(set(table) - set(tables.get("", ())) for table in tables.values()):
            raise ParameterError("a signature of unknown words has a label that is not open to new words")
        return cls(document["min_count"], document["totals"], tables)


def _is_counts(table: object) -> bool:
    return (
        isinstance(table, Mapping)
        and bool(table)
        and all(isinstance(key, str) for key in table)
        and all(type(count) in {int, float} and 0 < count < MOST for count in table.values())
    )
