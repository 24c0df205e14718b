"""Explanations: what a model's score of an example is made of, and what weighs most in a model."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from treelet.kernels import Kernel
from treelet.structures import Tree

LINES = 10  # of an explanation that is printed


class FragmentShare(NamedTuple):
    """A fragment of a tree, and its share of the score.

    Attributes
    ----------
    tree : Tree
        The fragment. A node without children is a word, or a node that the fragment does not expand.
    share : float
        What it adds to the score.
    kernel : Kernel
        The summand of the model's kernel that sees it.
    column : str, int, tuple or None
        The column that it is in, where examples have several; None where they are trees.
    """

    tree: Tree
    share: float
    kernel: Kernel
    column: Any = None


class NodeShare(NamedTuple):
    """A node of a tree, and its share of the score: that of all fragments rooted there.

    Attributes
    ----------
    tree : Tree
        The node, with what is below it.
    share : float
    column : str, int, tuple or None
        As for `FragmentShare`.
    """

    tree: Tree
    share: float
    column: Any = None


class OtherShare(NamedTuple):
    """The share of a summand whose fragments cannot be listed, such as a vector kernel or a constant."""

    kernel: Kernel
    share: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """Where a score comes from.

    Attributes
    ----------
    output : object
        The class, or the number of the output, that the score is of.
    score : float
        The model's value, the intercept included. Of a pair, the difference.
    fragments : list of FragmentShare
        The largest absolute shares first.
    rest : float
        What is left: the score is the sum of the shares and this. The intercept, `others`, and all fragments that are not listed.
    intercept : float
        The model's intercept. Of a pair, 0.
    others : list of OtherShare
        The shares of summands without fragments.
    heat : list of NodeShare
        Every node's share, in pre-order; of a pair, the nodes of the first tree and then those of the second. The score is their sum, the
        intercept and `others`. Trees with more than 5,000 distinct subtrees are left out.
    complete : bool
        No fragment is missing: the rest is the intercept and `others`.
    exact : bool
        No fragment that is missing has a larger share.
    """

    output: Any
    score: float
    fragments: list[FragmentShare]
    intercept: float
    others: list[OtherShare]
    heat: list[NodeShare] = field(compare=False)
    complete: bool
    exact: bool

    @property
    def rest(self) -> float:
        return self.score - math.fsum(fragment.share for fragment in self.fragments)

    def __repr__(self) -> str:
        return (
            f"<Explanation of {self.output!r}: score {self.score:.6g}, {len(self.fragments):,} fragments with "
            f"{self.score - self.rest:.6g}, rest {self.rest:.6g}>"
        )

    def __str__(self) -> str:
        lines = [f"{self.score:+.4f}  score of {self.output!r}"]
        lines += [f"{one.share:+.4f}  {one.tree}" for one in self.fragments[:LINES]]
        left = self.score - math.fsum(one.share for one in self.fragments[:LINES])
        return "\n".join([*lines, f"{left:+.4f}  all else, intercept {self.intercept:+.4f}"])

    def _repr_html_(self) -> str:
        from treelet.explain.notebook import explanation_table

        return explanation_table(self)


class WeightedFragment(NamedTuple):
    """A fragment and what it weighs in a model.

    Attributes
    ----------
    tree : Tree
    weight : float
        Its coordinate of the model's weight vector, in the space of all fragments: see `top_fragments`.
    kernel : Kernel
        The summand of the model's kernel that sees it.
    column : str, int, tuple or None
        As for `FragmentShare`.
    """

    tree: Tree
    weight: float
    kernel: Kernel
    column: Any = None


class TopFragments(list[WeightedFragment]):
    """The heaviest fragments of a model, the largest absolute weight first.

    Attributes
    ----------
    output : object
        The class, or the number of the output, whose weights these are.
    complete : bool
        The model has no others.
    exact : bool
        It has none that are heavier.
    """

    def __init__(
        self, fragments: Iterable[WeightedFragment] = (), output: Any = None, complete: bool = True, exact: bool = True
    ) -> None:
        super().__init__(fragments)
        self.output, self.complete, self.exact = output, complete, exact

    def __str__(self) -> str:
        return "\n".join(f"{one.weight:+.4f}  {one.tree}" for one in self)

    def _repr_html_(self) -> str:
        from treelet.explain.notebook import weight_table

        return weight_table(self)
