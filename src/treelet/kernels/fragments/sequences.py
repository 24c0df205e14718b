"""Fragments of sequences and vectors, and the words and features of examples: small values with a readable text."""

from __future__ import annotations

from collections.abc import Hashable
from types import EllipsisType
from typing import NamedTuple

GAP = "\u00b7"  # a position of a window without an equal feature


class TagRun(NamedTuple):
    """A run of tags, each with its word or without: a fragment of `Tagging`.

    Attributes
    ----------
    tags : tuple of str
    words : tuple of str or None
        The word at each position; None if any word matches.

    Examples
    --------
    >>> print(TagRun(("SP", "CP", "N"), (None, "Gerstner", None)))
    SP Gerstner/CP N
    """

    tags: tuple[str, ...]
    words: tuple[str | None, ...]

    def __str__(self) -> str:
        pairs = zip(self.tags, self.words, strict=True)
        return " ".join(tag if word is None else f"{word}/{tag}" for tag, word in pairs)


class FeatureSubsequence(NamedTuple):
    """Features in a fixed order, possibly with other features between them: a fragment of `Subsequence`.

    Attributes
    ----------
    type : str
        Type of the sequence that contains the features; empty if an example has only one sequence.
    features : tuple

    Examples
    --------
    >>> print(FeatureSubsequence("link_type", ("Sp", "MVa")))
    link_type: Sp … MVa
    """

    type: str
    features: tuple[Hashable, ...]

    def __str__(self) -> str:
        return _typed(self.type, " \u2026 ".join(map(written, self.features)))


class Window(NamedTuple):
    """The features that a window shares with windows around the same middle: a fragment of `Locality`.

    Attributes
    ----------
    type : str
        As for `FeatureSubsequence`.
    features : tuple
        The features from the first to the last shared one; ``...`` stands for a feature that is not shared.
    middle : int
        Index of the window's middle in `features`.

    Examples
    --------
    >>> print(Window("word_tag", (("the", "d"), ..., ("dog", "n")), 2))
    word_tag: the/d · [dog/n]
    """

    type: str
    features: tuple[Hashable | EllipsisType, ...]
    middle: int

    def __str__(self) -> str:
        texts = [GAP if feature is ... else written(feature) for feature in self.features]
        texts[self.middle] = f"[{texts[self.middle]}]"
        return _typed(self.type, " ".join(texts))


class TaggedWord(NamedTuple):
    """A word of a sentence, with its position and its tag."""

    position: int
    word: str
    tag: str

    def __str__(self) -> str:
        return f"{self.word}/{self.tag}"


class Feature(NamedTuple):
    """A feature of an example that consists of sequences, with the type of its sequence and its position there."""

    type: str
    position: int
    feature: Hashable

    def __str__(self) -> str:
        return _typed(self.type, written(self.feature))


class VectorFeature(NamedTuple):
    """A feature of a vector: a fragment of `Linear`.

    Attributes
    ----------
    column : str, int, tuple or None
        Column of the vector; None if the examples have no columns.
    name : str, int or None
        Name of the feature, or its index in a vector without names. None if the column contains numbers.
    value : float or None
        Value of the feature in the explained example, for a pair the difference of the two values.
        None for a feature of a model.

    Examples
    --------
    >>> print(VectorFeature("words", "dog", 2.0))
    words[dog] = 2
    >>> print(VectorFeature("size", None), VectorFeature(None, 17))
    size feature 17
    """

    column: Hashable
    name: str | int | None
    value: float | None = None

    def __str__(self) -> str:
        column = "/".join(map(str, self.column)) if isinstance(self.column, tuple) else self.column
        if column is None:
            text = f"feature {self.name}" if isinstance(self.name, int) else str(self.name)
        else:
            text = str(column) if self.name is None else f"{column}[{self.name}]"
        return text if self.value is None else f"{text} = {self.value:g}"


def written(feature: Hashable) -> str:
    """Return a feature as text: the items of a tuple are separated by slashes, as a word and its tag.

    >>> written(("dogs", "n"))
    'dogs/n'
    """
    return "/".join(map(str, feature)) if isinstance(feature, tuple) else str(feature)


def _typed(kind: str, text: str) -> str:
    return f"{kind}: {text}" if kind else text
