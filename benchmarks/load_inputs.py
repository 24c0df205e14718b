"""Trees and sentences that were never there before: real ones with words that nobody has seen."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import treelet as tl
from experiments.data import questions
from treelet.errors import FileError

WORD = re.compile(r"(?<=[^\s()] )[^\s()]+(?=\))")


@dataclass
class Examples:
    """Trees with classes, and others made of them without an end."""

    name: str
    trees: tl.Treebank
    labels: list[str]
    _number: Iterator[int] = field(default_factory=itertools.count, repr=False)
    _random: random.Random = field(default_factory=lambda: random.Random(0), repr=False)

    def __post_init__(self) -> None:
        self._texts = [str(tree) for tree in self.trees]
        self._said = [" ".join(tree.words()) for tree in tl.datasets.flights(2000, 1)]

    def tree(self) -> str:
        """One of the trees with a word of its own, and another one that others have at that place."""
        text = self._random.choice(self._texts)
        places = list(WORD.finditer(text))
        at = self._random.choice(places).span()
        other = self._random.choice(WORD.findall(self._random.choice(self._texts)))
        return f"{text[: at[0]]}{other}{next(self._number)}{text[at[1] :]}"

    def bank(self, n: int) -> tl.Treebank:
        return tl.Treebank([self.tree() for _ in range(n)])

    def sentence(self) -> str:
        """A travel question with one word that nobody has seen."""
        words = self._random.choice(self._said).split()
        words[self._random.randrange(len(words))] += str(next(self._number))
        return " ".join(words)


def examples() -> Examples:
    """The TREC questions where they are; else travel questions by their first word."""
    try:
        trees, labels = questions()
        return Examples("TREC questions", trees, labels)
    except FileError:
        trees = tl.datasets.flights(4000)
        return Examples("generated travel questions", trees, [tree.words()[0] for tree in trees])
