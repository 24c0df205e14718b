"""Families: groups of examples that are similar to one of them."""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import check_integer, is_number, plural, wrong
from treelet.edits import EditDistance
from treelet.edits.distance import EditMeasure
from treelet.errors import TreeletWarning, user_level
from treelet.kernels import Kernel, SubsetTree
from treelet.kernels.pairwise import Pairwise, Vector
from treelet.matrices.nearest import ROUNDING, nearest
from treelet.printable import printable
from treelet.structures.bank import Bank
from treelet.structures.treebank import Treebank

if TYPE_CHECKING:
    from treelet.corpora.corpus_diff import FragmentDifference

Numbers = NDArray[np.int64]
_LISTED = 3  # pairs to name in a warning


@dataclass(frozen=True, repr=False)
class Family:
    """A group of similar examples; a result of `treelet.families`.

    Attributes
    ----------
    members : ndarray of int
        Indices of the members, in ascending order. There are at least two.
    medoid : int
        Index of the most central member. All other members reach the threshold with the medoid.
    values : ndarray of float
        Similarity (or distance) of each member and the medoid, in the order of `members`.
    """

    members: Numbers
    medoid: int
    values: Vector
    _X: Any = field(compare=False)
    _measure: Pairwise = field(compare=False)

    @property
    def similarity(self) -> tuple[float, float]:
        """Lowest and highest value between the medoid and another member. Distances for a distance."""
        others = self.values[self.members != self.medoid]
        return float(others.min()), float(others.max())

    def fragments(self, n: int = 10, kernel: Kernel | None = None) -> list[FragmentDifference]:
        """Return the fragments that are typical of the family: frequent in it, and rare in the other examples.

        Parameters
        ----------
        n : int, default 10
            Maximum number of fragments.
        kernel : Kernel, optional
            Kernel that defines the fragments. Default: the measure of the families if its fragments can
            be listed, otherwise ``SubsetTree().normalized()``.

        Returns
        -------
        list of FragmentDifference
            In descending order of `z`, as in `treelet.diff` of the family and all other examples; `counts`
            are the numbers of members and of other examples with the fragment. Empty if all examples
            belong to the family.
        """
        from treelet.corpora.corpus_diff import differing_fragments  # scikit-learn is needed only for fragments
        from treelet.learn.fragment_features import listed_parts

        check_integer("n", n, 0, of="fragments")
        if kernel is None:
            own = self._measure
            kernel = own if isinstance(own, Kernel) and listed_parts(own) else SubsetTree().normalized()
        X = kernel.coerce(self._X)
        labels = np.zeros((len(X), 1), np.int8)
        labels[self.members] = 1
        present = _present(X)
        if not n or labels[present].all():
            return []
        return differing_fragments(kernel, X[present], labels[present], n, only_first=True)[0]

    def __len__(self) -> int:
        return len(self.members)

    def __repr__(self) -> str:
        low, high = self.similarity
        what = "distance" if self._measure.is_distance else "similarity"
        return f"<Family: {len(self):,} members, medoid {self.medoid}, {what} {low:.2f} to {high:.2f}>"


def families(
    X: Any,
    threshold: float = 0.8,
    measure: Pairwise | None = None,
    *,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    device: str | None = None,
    device_memory: int | float | str | None = None,
    progress: bool | None = None,
) -> list[Family]:
    r"""Find families: groups of examples that are all similar to one of them, the medoid.

    Parameters
    ----------
    X : collection of examples
        Trees, or any examples that `measure` compares. Missing trees are in no family.
    threshold : float, default 0.8
        Smallest similarity, or largest distance, between the medoid of a family and each other member.
    measure : Kernel, EditDistance or similarity, optional
        Comparison of two examples. Kernels should be normalized. Default:
        ``EditDistance().similarity()``, with which 0.8 means that at most a fifth as many operations as
        nodes turn one tree into the other.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core.
    memory : int or str, optional
        Memory limit besides the examples and the pairs that are found. Default: 1 GiB.
    device : {"cpu", "cuda"}, optional
        Where to compute, as for `treelet.gram`. Default: as in `treelet.config_context`.
    device_memory : int or str, optional
        Limit for GPU memory. Default: as in `treelet.config_context`.
    progress : bool, optional
        Show a progress bar on standard error. Default: as in `treelet.config_context`.

    Returns
    -------
    list of Family
        The largest family first. Families with equally many members are ordered by their first member.
        Each example belongs to at most one family. Examples without a similar example belong to none.

    See Also
    --------
    treelet.nearest : all pairs that reach a threshold.
    treelet.tasks.find_clones : families of similar functions in source code.

    Notes
    -----
    Neighbors are examples that reach the threshold with each other; all such pairs are found. The example
    with the largest sum of similarities with its neighbors becomes the medoid of a family with all its
    neighbors. The members are removed, and the procedure is repeated with the others until no two
    neighbors are left. Among equal sums, the example with more neighbors is chosen, then the one with the
    smallest index. A distance d counts as the similarity 1 − d / (2 · threshold), and a negative
    similarity as 0. The procedure follows Butina (1999), who counts neighbors instead of adding their
    similarities.

    Two examples whose edit distance needs more memory than `memory` are skipped with a warning, as if they did not reach
    the threshold. Equal trees need none.

    Hence every member reaches the threshold with the medoid, and no other member has a larger sum of
    similarities with its neighbors in the family. Two members may have a lower similarity with each
    other. In connected components, by contrast, a chain of small steps can join examples that have
    nothing in common. The price is that an example on the border of two families belongs to the one that
    is found first, even if the medoid of the other is more similar. Two medoids may be similar to a
    common example, but never to each other.

    References
    ----------
    D. Butina. Unsupervised Data Base Clustering Based on Daylight's Fingerprint and Tanimoto Similarity. Journal of Chemical Information
    and Computer Sciences 39, 1999.

    Examples
    --------
    >>> import treelet as tl
    >>> trees = ["(S (NP (N Mary)) (VP (V ran)))", "(S (NP (N John)) (VP (V ran)))", "(S (VP (V go)))"]
    >>> trees += ["(S (NP (N Mary)) (VP (V sat)))", "(NP (D the) (N cat))"]
    >>> for family in tl.families(trees, threshold=0.8):
    ...     print(family, family.members)
    <Family: 3 members, medoid 0, similarity 0.86 to 0.86> [0 1 3]
    """
    measure = EditDistance().similarity() if measure is None else measure
    if not issubclass(type(measure), Pairwise):
        raise wrong("measure", "a kernel, an EditDistance or its similarity", measure, of="families", optional=True)
    if not is_number(threshold):
        raise wrong("threshold", "a number", threshold, of="families")
    X = measure.coerce(X)
    options: dict[str, Any] = {"n_jobs": n_jobs, "memory": memory, "device": device, "device_memory": device_memory}
    pairs = SimilarPairs(measure, X, None, threshold, progress=progress, **options)
    places = X.places if isinstance(X, Treebank) else None
    pairs.warn_of_skipped(pairs.skipped, lambda at: f"item {at}{'' if places is None else f' ({places[at]})'}")
    return [Family(members, medoid, values, X, measure) for medoid, members, values in pairs.groups()]


class SimilarPairs:
    """All pairs of examples that reach a threshold, in which equal trees count as one.

    Equal trees are compared once, so a thousand copies of a tree take no more time and memory than one.

    Parameters
    ----------
    measure : Pairwise
        Comparison of two examples.
    X : collection
        The examples, converted by ``measure.coerce``.
    Y : collection or None
        Only pairs of an example of X and an example of Y count. Indices of Y continue those of X.
    threshold : float
        Smallest similarity or largest distance.
    **options
        Options of `treelet.nearest`.

    Attributes
    ----------
    skipped : list of (int, int)
        Pairs that were not compared because their edit distance needs more memory than the limit, one for all copies.
    """

    def __init__(
        self,
        measure: Pairwise,
        X: Any,
        Y: Any | None,
        threshold: float,
        **options: Any,
    ) -> None:
        self._farthest = threshold if measure.is_distance else None
        self._across = Y is not None
        sides = [_Side(measure, side, threshold) for side in ([X] if Y is None else [X, Y])]
        self._own = np.concatenate([side.own for side in sides])
        shift = len(sides[0].own)
        self._number = np.concatenate([side.number + (side.number >= 0) * shift * n for n, side in enumerate(sides)])
        skipped: list[tuple[int, int]] = []
        if isinstance(measure, EditMeasure):
            measure = measure.skipping(skipped)
        # The rows, columns and values of all pairs of distinct examples that reach the threshold
        first, last = sides[0].examples, sides[-1].examples
        rows, columns, values = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        if len(first) and len(last):
            queries = first if self._across or len(first) == 1 else None
            graph: Any = nearest(measure, last, queries, threshold=threshold, graph=True, **options)
            rows = np.repeat(np.arange(len(first)), np.diff(graph.indptr))
            columns, values = graph.indices.astype(np.int64), graph.data
        copy = _Copies(self._number, len(self._own)).first.tolist()
        shifted = {(row, column + self._across * shift) for row, column in skipped}
        self.skipped = sorted({_ordered(copy[row], copy[column]) for row, column in shifted})
        if self._across:
            columns = columns + shift
            rows, columns, values = np.r_[rows, columns], np.r_[columns, rows], np.r_[values, values]
        else:
            other = rows != columns  # copies of an example are counted apart
            rows, columns, values = rows[other], columns[other], values[other]
        order = np.lexsort((columns, rows))
        self._columns, self._values = columns[order], values[order]
        self._start = np.searchsorted(rows[order], np.arange(len(self._own) + 1))

    def value(self, first: int, second: int) -> float | None:
        """Return the value of two examples, which are not equal, if they reach the threshold."""
        row, column = self._number[first], self._number[second]
        if row < 0 or column < 0:
            return None
        columns = self._columns[self._start[row] : self._start[row + 1]]
        at = int(np.searchsorted(columns, column))
        return float(self._values[self._start[row] + at]) if at < len(columns) and columns[at] == column else None

    def warn_of_skipped(self, skipped: Sequence[tuple[int, int]], name: Callable[[int], str]) -> None:
        """Warn about some of the skipped pairs. `name` returns the name of an example."""
        if not skipped:
            return
        listed = "; ".join(f"{name(one)} and {name(two)}" for one, two in skipped[:_LISTED])
        more = f"; and {len(skipped) - _LISTED:,} more" if len(skipped) > _LISTED else ""
        warnings.warn(
            f"Skipped {plural(len(skipped), 'pair')} whose edit distance needs too much memory: {printable(listed)}{more}. "
            f"Increase memory= to compare them.",
            TreeletWarning,
            stacklevel=user_level(),
        )

    def _closeness(self, values: Any) -> Any:
        """Return values as similarities that are not negative, so that sums decrease when neighbors are removed."""
        if self._farthest is None:
            return np.maximum(values, 0)
        return 1 - values / (2 * self._farthest) if self._farthest else np.ones_like(values)

    def groups(self, left_out: Any = ()) -> list[tuple[int, Numbers, Vector]]:
        """Group the examples, apart from those that are left out, as `families` describes.

        A group has a medoid, the indices of all members in ascending order, and the value of each member with the medoid.
        """
        known = self._number.copy()
        known[np.asarray(left_out, np.int64)] = -1
        copies_of = _Copies(known, len(self._own))
        copies = copies_of.counts
        free = copies > 0
        groups = []

        def neighbors(center: int) -> tuple[Any, Any]:
            columns = self._columns[self._start[center] : self._start[center + 1]]
            values = self._values[self._start[center] : self._start[center + 1]]
            still = free[columns]
            return columns[still], values[still]

        def key(center: int) -> tuple[float, int, int]:
            columns, values = neighbors(center)
            total = self._closeness(values) @ copies[columns]
            total += self._closeness(self._own[center]) * (copies[center] - 1)
            size = int(copies[center] + copies[columns].sum())
            # Sums that differ only by rounding are equal.
            return -float(f"{total:.12g}"), -size, int(copies_of.first[center])

        heap = [(*key(center), center) for center in np.flatnonzero(free).tolist()]
        heapq.heapify(heap)
        while heap:
            *before, center = heapq.heappop(heap)
            if not free[center] or before[1] == -1:
                continue
            now = key(center)
            if list(now) != before:  # neighbors have gone to another family
                heapq.heappush(heap, (*now, center))
                continue
            columns, values = neighbors(center)
            if self._across and not len(columns):
                continue
            every = np.append(columns, center)
            free[every] = False
            value = np.append(values, self._own[center])
            members = [copies_of.of(number) for number in every.tolist()]
            order = np.argsort(np.concatenate(members))
            values = np.repeat(value, [len(some) for some in members])[order]
            groups.append((int(copies_of.first[center]), np.concatenate(members)[order], values))
        return sorted(groups, key=lambda group: (-len(group[1]), group[1][0]))


class _Side:
    """The distinct examples of a collection.

    `number` has the number of each example among the distinct ones, or -1 for a missing example; `own` has the
    value of each distinct example with itself.
    """

    def __init__(self, measure: Pairwise, X: Any, threshold: float) -> None:
        present = _present(X)
        own = np.zeros(len(X)) if measure.is_distance else measure.diag(X)
        # Copies of an example that does not reach the threshold with itself do not reach it either.
        key = np.arange(len(X)) + (X.columns.roots.max(initial=0) + 1 if isinstance(X, Treebank) else 0)
        if isinstance(X, Treebank):
            sign = -1.0 if measure.is_distance else 1.0
            least = sign * threshold - ROUNDING * abs(threshold)
            key = np.where(sign * own >= least, X.columns.roots, key)
        _, first, number = np.unique(key[present], return_index=True, return_inverse=True)
        self.number = np.full(len(X), -1, np.int64)
        self.number[present] = number
        self.examples, self.own = X[present[first]], own[present[first]]


class _Copies:
    """The examples with each number, in ascending order."""

    def __init__(self, number: Numbers, n: int) -> None:
        self._order = np.argsort(number, kind="stable")
        self._start = np.searchsorted(number[self._order], np.arange(n + 1))
        self.counts = np.diff(self._start)
        self.first = np.append(self._order, -1)[self._start[:-1]]

    def of(self, number: int) -> Numbers:
        return self._order[self._start[number] : self._start[number + 1]]


def _ordered(first: int, second: int) -> tuple[int, int]:
    return (first, second) if first < second else (second, first)


def _present(X: Any) -> Numbers:
    """Return the indices of the examples that are not missing."""
    return np.flatnonzero(X.columns.roots >= 0) if isinstance(X, Bank) else np.arange(len(X))
