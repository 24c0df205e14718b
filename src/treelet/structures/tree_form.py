"""The base class of banks that store other structures in the form of trees."""

from __future__ import annotations

from typing import Self, TypeVar

from treelet.structures.bank import Bank
from treelet.structures.treebank import Treebank

Item = TypeVar("Item")


class TreeFormBank(Bank[Item]):
    """A bank that stores its items as trees, so kernels, models and files for trees work with it."""

    __slots__ = ()

    def as_trees(self) -> Treebank:
        """Return the trees that represent the items, as kernels see them."""
        return Treebank.from_columns(self.columns)

    @classmethod
    def from_trees(cls, trees: Treebank) -> Self:
        """Return a bank of the items that the trees represent. Other trees raise TreeError."""
        cls._check(trees.compact().columns)
        return cls.from_columns(trees.columns)
