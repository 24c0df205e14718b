"""A tagged sequence: words, each with its tag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from treelet.checks import article, plural
from treelet.errors import FormatError, InlineFormatError, TreeError
from treelet.formats.tagged import TaggedWords, parse_slashes, tag_problem, word_problem
from treelet.printable import shortened
from treelet.shown import Tabled


class Tagged(Tabled):
    """A tagged sequence: words with one tag per word.

    Tagged sequences are immutable and hashable. Iteration yields (word, tag) pairs. A sequence cannot
    be indexed, so NumPy treats it as a single value.

    Parameters
    ----------
    words : iterable of str
        At least one word. Words must not be empty or contain white space.
    tags : iterable of str
        One tag per word. Tags must not be empty or contain white space or slashes.

    Attributes
    ----------
    words, tags : tuple of str
        Words and tags.

    Examples
    --------
    >>> from treelet import Tagged
    >>> tagged = Tagged(["Lou", "Gerstner", "is"], ["SP", "CP", "N"])
    >>> print(tagged)
    Lou/SP Gerstner/CP is/N
    >>> tagged == Tagged.parse("Lou/SP Gerstner/CP is/N"), len(tagged), next(iter(tagged))
    (True, 3, ('Lou', 'SP'))
    """

    __slots__ = ("__weakref__", "tags", "words")

    words: tuple[str, ...]
    tags: tuple[str, ...]

    def __init__(self, words: Iterable[str], tags: Iterable[str]) -> None:
        for name, texts in (("words", words), ("tags", tags)):
            if isinstance(texts, str):
                raise TreeError(
                    f"The {name!r} of a tagged sequence must be a list of strings. "
                    f"Got the string {shortened(texts)} instead: split it."
                )
        words, tags = tuple(words), tuple(tags)
        if len(words) != len(tags):
            raise TreeError(
                "A tagged sequence needs one tag per word. "
                f"Got {plural(len(words), 'word')} and {plural(len(tags), 'tag')} instead."
            )
        if not words:
            raise TreeError("A tagged sequence needs at least one word. Use None for a missing sequence.")
        for number, (word, tag) in enumerate(zip(words, tags, strict=True)):
            if word_problem(word):
                raise TreeError(
                    f"word {number}: A word must be a non-empty string without white space. "
                    f"Got {shortened(word)} instead."
                )
            if tag_problem(tag):
                raise TreeError(
                    f"tag {number}: A tag must be a non-empty string without white space or slashes. "
                    f"Got {shortened(tag)} instead."
                )
        self._set(words, tags)

    def _set(self, words: tuple[str, ...], tags: tuple[str, ...]) -> None:
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "tags", tags)

    @classmethod
    def _trusted(cls, words: tuple[str, ...], tags: tuple[str, ...]) -> Tagged:
        tagged = cls.__new__(cls)
        tagged._set(words, tags)
        return tagged

    @classmethod
    def parse(cls, text: str) -> Tagged:
        """Read a sequence in the form ``word/tag word/tag``. The last slash separates the word from the tag.

        Examples
        --------
        >>> from treelet import Tagged
        >>> Tagged.parse("1/2/CD of/IN").words
        ('1/2', 'of')
        """
        if not isinstance(text, str):
            raise TreeError(
                f"Tagged.parse needs a string such as 'the/DT dog/NN'. Got {article(type(text).__name__)} instead."
            )
        return cls._trusted(*parse_inline(text))

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.words, self.tags, strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tagged):
            return NotImplemented
        return self.words == other.words and self.tags == other.tags

    def __hash__(self) -> int:
        return hash((self.words, self.tags))

    def __str__(self) -> str:
        return " ".join(f"{word}/{tag}" for word, tag in self)

    def __repr__(self) -> str:
        return f"Tagged.parse({str(self)!r})"

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name!r} cannot be set, because a Tagged is immutable. Make a new sequence instead.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Tagged, (self.words, self.tags)


def parse_inline(text: str, source: str = "") -> TaggedWords:
    """Read a sequence from a string that a user passed. `source` names the string in errors, for example "item 3"."""
    try:
        return parse_slashes(text, source)
    except FormatError as error:
        raise InlineFormatError(error.message, source, error.line, error.column) from None
