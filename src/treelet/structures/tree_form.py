"""Banks of what is no tree but is held as trees."""

from __future__ import annotations

from typing import Self, TypeVar

from treelet.structures.bank import Bank
from treelet.structures.treebank import Treebank

Item = TypeVar("Item")


class TreeFormBank(Bank[Item]):
    """A bank whose items are trees within: so kernels, models and files are those of trees."""

    __slots__ = ()

    def as_trees(self) -> Treebank:
        """The items in the form of trees that the kernels see."""
        return Treebank.from_columns(self.columns)

    @classmethod
    def from_trees(cls, trees: Treebank) -> Self:
        """A bank of trees in that form; TreeError if they are not."""
        cls._check(trees.compact().columns)
        return cls.from_columns(trees.columns)
