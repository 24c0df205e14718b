"""Rules of a grammar: a head, a tail of symbols and words, a probability."""

from __future__ import annotations

from typing import NamedTuple


class Word(str):
    """A word in a rule's tail: another thing than a symbol, also where both are spelled alike.

    Examples
    --------
    >>> from treelet.parsing import Word
    >>> Word(",") == ",", Word(",") == Word(",")
    (False, True)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"Word({str(self)!r})"


Tail = tuple[str, ...]


class Rule(NamedTuple):
    """``head -> tail`` with its probability; a `Word` in the tail is a word, any other string a symbol."""

    head: str
    tail: Tail
    probability: float

    def __str__(self) -> str:
        return f"{shown(self.head, self.tail)} [{self.probability!r}]"


def shown(head: str, tail: Tail) -> str:
    """A rule for messages, cut where it is long."""
    parts = [f'"{item!s}"' if isinstance(item, Word) else str(item) for item in tail[:9]]
    return " ".join([head, "->", *parts, *(["..."] if len(tail) > 9 else [])])


def is_lexical(tail: Tail) -> bool:
    """True for a single word."""
    return len(tail) == 1 and isinstance(tail[0], Word)
