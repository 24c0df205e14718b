"""A tagged sequence: words, each with its tag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from treelet.errors import TreeError
from treelet.formats.tagged import parse_slashes, tag_problem, word_problem
from treelet.shown import Tabled


class Tagged(Tabled):
    """Words with their tags, one each: what a tagger says of a sentence.

    Immutable and hashable. Iterating gives (word, tag) pairs; it is no list, so that NumPy takes it for one value.

    Parameters
    ----------
    words : iterable of str
        At least one; not empty, without white space.
    tags : iterable of str
        As many; without slashes too.

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
                raise TreeError(f"{name} must be a list of strings, got the string {texts!r}: split it")
        words, tags = tuple(words), tuple(tags)
        if len(words) != len(tags):
            raise TreeError(f"a tagged sequence needs one tag a word, got {len(words)} words and {len(tags)} tags")
        if not words:
            raise TreeError("a tagged sequence needs at least one word; None stands for a missing one")
        for number, (word, tag) in enumerate(zip(words, tags, strict=True)):
            if problem := word_problem(word):
                raise TreeError(f"word {number}: a word is {problem}")
            if problem := tag_problem(tag):
                raise TreeError(f"tag {number}: a tag is {problem}")
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
        """The sequence that ``word/tag word/tag ...`` spells; the last slash of each separates.

        >>> Tagged.parse("1/2/CD of/IN").words
        ('1/2', 'of')
        """
        if not isinstance(text, str):
            raise TreeError(f"Tagged.parse takes a string, got {type(text).__name__}")
        return cls._trusted(*parse_slashes(text))

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
        raise AttributeError("a Tagged cannot be changed; make another")

    def __reduce__(self) -> tuple[Any, ...]:
        return Tagged, (self.words, self.tags)
