"""Values that explanations consist of: the shares of a score, and the heaviest fragments of a model."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from treelet.kernels import Kernel
from treelet.shown import Tabled

LINES = 10  # of an explanation that is printed


class FragmentShare(NamedTuple):
    """A fragment of an example, and its share of the score.

    Attributes
    ----------
    tree : Tree, TagRun, FeatureSubsequence or Window
        The fragment. Of trees and forests, a tree: a node without children is a word, or a node that the fragment does not expand.
        Of `Tagging` a run of tags, of `Subsequence` features with others between them, of `Locality` what is equal in a window: these
        are small values that print as one would write them.
    share : float
        What it adds to the score.
    kernel : Kernel
        The summand of the model's kernel that sees it.
    column : str, int, tuple or None
        The column that it is in, where examples have several; None where they have none.
    """

    tree: Any
    share: float
    kernel: Kernel
    column: Any = None


class NodeShare(NamedTuple):
    """A place of an example, and its share of the score: that of all fragments rooted there.

    Attributes
    ----------
    tree : Tree, ForestNode, TaggedWord or Feature
        Of a tree, the node with what is below it. Of a forest, the node. Of a tagged sequence, the word: its runs are those that begin
        with it. Of sequences of features, the feature: its window, or the subsequences that begin with it. Of a dependency parse,
        the word, with what its features come to: those of a link belong to both its words, half to each.
    share : float
    column : str, int, tuple or None
        As for `FragmentShare`.
    """

    tree: Any
    share: float
    column: Any = None


class OtherShare(NamedTuple):
    """The share of a summand whose fragments cannot be listed, such as a vector kernel or a constant."""

    kernel: Kernel
    share: float


@dataclass(frozen=True, repr=False)
class Explanation(Tabled):
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
        Every node's share, in pre-order; of forests, in their own order, of sequences from the first place to the last. Of a pair, those
        of the first example and then those of the second. The score is their sum, the intercept and `others`. Examples with more than 5,000 distinct parts
        (sequences of features: 1,000) are left out.
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
        lines += [f"{fragment.share:+.4f}  {fragment.tree}" for fragment in self.fragments[:LINES]]
        left = self.score - math.fsum(fragment.share for fragment in self.fragments[:LINES])
        return "\n".join([*lines, f"{left:+.4f}  all else, intercept {self.intercept:+.4f}"])


class WeightedFragment(NamedTuple):
    """A fragment and what it weighs in a model.

    Attributes
    ----------
    tree : Tree, TagRun, FeatureSubsequence or Window
        As for `FragmentShare`; a window is whole.
    weight : float
        Its coordinate of the model's weight vector, in the space of all fragments: see `top_fragments`.
    kernel : Kernel
        The summand of the model's kernel that sees it.
    column : str, int, tuple or None
        As for `FragmentShare`.
    """

    tree: Any
    weight: float
    kernel: Kernel
    column: Any = None


class TopFragments(Tabled, list[WeightedFragment]):
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
        return "\n".join(f"{fragment.weight:+.4f}  {fragment.tree}" for fragment in self)
