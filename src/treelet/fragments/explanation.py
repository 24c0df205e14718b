"""Results of explanations: the shares of a score, and the heaviest fragments of a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from treelet.kernels import Kernel
from treelet.kernels.fragments import VectorFeature
from treelet.shown import Tabled

_LINES = 10  # number of fragments that are printed


class FragmentShare(NamedTuple):
    """A fragment of an example, and its share of the score.

    Attributes
    ----------
    tree : Tree, TagRun, FeatureSubsequence, Window or VectorFeature
        The fragment. For trees and forests, this is a tree; a node without children is a word or a
        node that the fragment does not expand. For `Tagging` it is a run of tags, for `Subsequence`
        a subsequence of features, and for `Locality` the equal features of two windows. For `Linear`
        it is a feature of a vector, with its `name` (or index) and its `value` in the example. All of
        them have a readable string form.
    share : float
        Contribution of the fragment to the score.
    kernel : Kernel
        Term of the model's kernel that the fragment belongs to.
    column : str, int, tuple or None
        Column of the fragment; None if the examples have no columns.
    """

    tree: Any
    share: float
    kernel: Kernel
    column: Any = None


class NodeShare(NamedTuple):
    """A node, word or feature of an example, and its share of the score.

    Attributes
    ----------
    tree : Tree, ForestNode, TaggedWord or Feature
        The node of a tree (with its subtree) or of a forest, the word of a tagged sequence or a
        dependency parse, or the feature of a sequence.
    share : float
        Sum of the shares of all fragments that start here: fragments rooted at the node, tag runs
        and subsequences that start with the word or feature, or the window of the feature. In a
        dependency parse, the features of a link count half for each of its two words.
    column : str, int, tuple or None
        Column of the node; None if the examples have no columns.
    """

    tree: Any
    share: float
    column: Any = None


class OtherShare(NamedTuple):
    """The share of a term whose fragments cannot be listed, such as `Polynomial` or a constant.

    Attributes
    ----------
    kernel : Kernel
        Term of the model's kernel.
    share : float
        Contribution of the term to the score.
    """

    kernel: Kernel
    share: float


@dataclass(frozen=True, repr=False)
class Explanation(Tabled):
    """Explanation of a score: the shares of fragments and of nodes.

    Attributes
    ----------
    output : object
        Class, pair of classes, or index of the output that is explained.
    score : float
        Score of the example, including the intercept. For a pair, the difference of the two scores.
    fragments : list of FragmentShare
        Fragments in descending order of their absolute shares.
    rest : float
        Score minus the shares of `fragments`: the intercept, `others`, and all unlisted fragments.
    intercept : float
        Intercept of the model; 0 for a pair.
    others : list of OtherShare
        Shares of terms without fragments.
    heat : list of NodeShare
        Share of each node: in pre-order for trees, from left to right for sequences, and in the
        order of `Forest.nodes` for forests. For a pair, the nodes of the second example follow those
        of the first. The score is the sum of these shares, the intercept, `others` and the shares of
        all features of `Linear`. Examples with more than 5,000 distinct subtrees, or 1,000 features,
        are omitted.
    complete : bool
        True if no fragment is missing, so `rest` consists of the intercept and `others`.
    exact : bool
        True if no unlisted fragment has a larger share.
    is_class : bool
        True if `output` is a class or a pair of classes, false if it is the index of an output.
    """

    output: Any
    score: float
    fragments: list[FragmentShare]
    intercept: float
    others: list[OtherShare]
    heat: list[NodeShare] = field(compare=False)
    complete: bool
    exact: bool
    is_class: bool = True

    @property
    def rest(self) -> float:
        return self.score - math.fsum(fragment.share for fragment in self.fragments)

    @property
    def sides(self) -> list[Any]:
        """Column of each fragment if trees come from several columns, such as the two sides of a pair; otherwise None."""
        return _sides(self.fragments)

    @property
    def score_name(self) -> str:
        """Name of the score, such as "score of 'human'" or "score of output 0"."""
        outputs = self.output if isinstance(self.output, tuple) else (self.output,)
        kind = "class" if self.is_class else "output"  # without the kind, "score of 0" reads like a score that is 0
        names = [repr(output) if isinstance(output, str) else f"{kind} {output!r}" for output in outputs]
        return " minus ".join(f"score of {name}" for name in names)

    def __repr__(self) -> str:
        return (
            f"<Explanation of {self.output!r}: score {self.score:.6g}, {len(self.fragments):,} fragments with "
            f"{self.score - self.rest:.6g}, rest {self.rest:.6g}>"
        )

    def __str__(self) -> str:
        lines = [f"{self.score:+z.4f}  {self.score_name}"]
        lines += [
            f"{fragment.share:+z.4f}  {_named(fragment.tree, side)}"
            for fragment, side in zip(self.fragments[:_LINES], self.sides, strict=False)
        ]
        left = self.score - math.fsum(fragment.share for fragment in self.fragments[:_LINES])
        return "\n".join([*lines, f"{left:+z.4f}  all else, intercept {self.intercept:+z.4f}"])


class WeightedFragment(NamedTuple):
    """A fragment and its weight in a model.

    Attributes
    ----------
    tree : Tree, TagRun, FeatureSubsequence, Window or VectorFeature
        The fragment, as in `FragmentShare`. A window is complete, and a feature has no value.
    weight : float
        Entry of the fragment in the weight vector of the model; see `top_fragments`.
    kernel : Kernel
        Term of the model's kernel that the fragment belongs to.
    column : str, int, tuple or None
        Column of the fragment; None if the examples have no columns.
    """

    tree: Any
    weight: float
    kernel: Kernel
    column: Any = None


class TopFragments(Tabled, list[WeightedFragment]):
    """The heaviest fragments of a model, in descending order of their absolute weights.

    Attributes
    ----------
    output : object
        Class or number of the output that the weights belong to.
    complete : bool
        True if the model has no other fragments.
    exact : bool
        True if no unlisted fragment is heavier.
    """

    def __init__(
        self, fragments: Iterable[WeightedFragment] = (), output: Any = None, complete: bool = True, exact: bool = True
    ) -> None:
        super().__init__(fragments)
        self.output, self.complete, self.exact = output, complete, exact

    def __str__(self) -> str:
        return "\n".join(
            f"{fragment.weight:+z.4f}  {_named(fragment.tree, side)}"
            for fragment, side in zip(self, _sides(self), strict=True)
        )


def _sides(fragments: Sequence[FragmentShare | WeightedFragment]) -> list[Any]:
    """Return the column of each fragment if the fragments come from several columns of trees, otherwise None.

    >>> from treelet import SubsetTree
    >>> _sides([FragmentShare("(N cat)", 1.0, SubsetTree(), "a"), FragmentShare("(N dog)", 1.0, SubsetTree(), "b")])
    ['a', 'b']
    """
    columns = [None if isinstance(fragment.tree, VectorFeature) else fragment.column for fragment in fragments]
    several = len({column for column in columns if column is not None}) > 1
    return columns if several else [None] * len(columns)


def _named(fragment: Any, side: Any) -> str:
    return str(fragment) if side is None else f"{side}: {fragment}"
