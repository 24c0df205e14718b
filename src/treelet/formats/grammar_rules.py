"""What a grammar's file holds: rules of a head, a tail of symbols and words, and a probability; and what goes with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


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


class GrammarParts(NamedTuple):
    """A grammar as files have it.

    Attributes
    ----------
    rules : list of Rule
    start : dict of str to float
        Where trees begin, with probabilities.
    labels : dict of str to str
        Of symbols that have another label than their name.
    hidden : list of str
        Symbols that are in no tree.
    unknown : object or None
        The model of unknown words, as JSON has it.
    fallback : bool
    """

    rules: list[Rule]
    start: dict[str, float]
    labels: dict[str, str]
    hidden: list[str]
    unknown: Any = None
    fallback: bool = False


def uniform(rules: Iterable[tuple[str, Tail]]) -> list[Rule]:
    """Rules without probabilities: those of a head are equally probable."""
    given = list(rules)
    number: dict[str, int] = {}
    for head, _ in given:
        number[head] = number.get(head, 0) + 1
    return [Rule(head, tail, 1 / number[head]) for head, tail in given]
