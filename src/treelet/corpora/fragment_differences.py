"""The fragments by which two samples differ.

The difference of the mean vectors of two samples is their witness (Gretton et al. 2012, section
2.3). A witness is a model, so the search for the heaviest fragments of a model finds its largest
entries. The fragments are then sorted by their significance under random labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from treelet.corpora.two_samples import Labels, p_value
from treelet.fragments.model_fragments import top_fragments
from treelet.kernels import Kernel
from treelet.kernels.fragments.weighting import has_fragments
from treelet.kernels.pairwise import Vector
from treelet.learn.fragment_selection import FragmentCounter
from treelet.learn.linear_output import resolve_output
from treelet.learn.model import CompressedModel
from treelet.learn.terms import Roots
from treelet.progress import progress_bar
from treelet.structures import Tree, Treebank

LOOKED_AT = 2_000  # number of the heaviest fragments, which are then sorted
SAME = 0.8  # two fragments are similar if this share of the trees with either contains both
NEARLY = 0.9  # of similar fragments, the largest with this share of the best z is listed
DIGITS = 9  # digits of a z-value that are not rounding errors


class FragmentDifference(NamedTuple):
    """A fragment that is more frequent in one of two corpora.

    Attributes
    ----------
    tree : Tree
        The fragment. A node without children is a word or a node that the fragment does not expand.
    z : float
        Weight divided by its standard deviation under random permutations of the trees. Positive if
        the fragment is more frequent in A.
    weight : float
        Entry of the fragment in the mean vector of A minus that of B; see `treelet.diff`.
    counts : (int, int)
        Number of trees of A and of B that contain the fragment.
    per_thousand : (float, float)
        Number of such trees per thousand trees of A and of B.
    p_value : float or None
        Probability that a search in randomly permuted corpora finds any fragment with so large a z.
        None unless ``searches`` is at least 1.
    kernel : Kernel
        Term of the kernel that the fragment belongs to.
    column : str, int, tuple or None
        Column of the fragment; None if the examples have no columns.
    """

    tree: Tree
    z: float
    weight: float
    counts: tuple[int, int]
    per_thousand: tuple[float, float]
    p_value: float | None
    kernel: Kernel
    column: Any = None


def differing_fragments(
    kernel: Kernel,
    X: Any,
    labels: Labels,
    n: int,
    *,
    paired: bool = False,
    only_first: bool = False,
    progress: bool = False,
) -> tuple[list[FragmentDifference], int]:
    """Return the fragments by which the first sample differs from the second, and how many were examined.

    `labels` come from `relabeled`. The search is repeated with each further column, for p-values. If `only_first`,
    only fragments that are more frequent in the first sample are returned.
    """
    sizes = labels.sum(axis=0, dtype=np.int64)
    signs = np.where(labels == 1, 1 / sizes, -1 / (len(labels) - sizes)).T
    model = CompressedModel.of(kernel, X, signs)
    witness = _Witness(model, X, paired, only_first)
    result, largest = witness.of(0, signs[0], n), []
    with progress_bar(progress, "searches", len(signs) - 1) as advance:
        for output in range(1, len(signs)):
            largest.append(max((abs(fragment.z) for fragment in witness.of(output, signs[output], 1)[0]), default=0.0))
            advance(1)
    drawn = np.array(largest)
    if len(drawn):
        result = [fragment._replace(p_value=p_value(abs(fragment.z), drawn)) for fragment in result[0]], result[1]
    return result


class _Witness:
    """A model of witness functions, and its examples."""

    def __init__(self, model: CompressedModel, X: Any, paired: bool, only_first: bool) -> None:
        self.model, self.X, self.paired, self.only_first, self.roots = model, X, paired, only_first, Roots(X)

    def of(self, output: int, signs: Vector, n: int) -> tuple[list[FragmentDifference], int]:
        """Return the fragments of one witness function, and how many were examined."""
        linear = resolve_output(self.model, output)
        heaviest = top_fragments(self.model, LOOKED_AT, output)
        differences, columns = [], []
        sizes = int((signs > 0).sum()), int((signs < 0).sum())
        for term in linear.listed:
            summand = term.kernel_term.inner
            # Fragments of sequences and forests are found, but cannot be counted in examples.
            if not has_fragments(summand.kernel):
                continue
            fragments = [
                entry for entry in heaviest if entry.kernel is summand.kernel and entry.column == summand.column
            ]
            counter = FragmentCounter(summand.kernel, Treebank([entry.tree for entry in fragments]))
            values = sp.csr_array(counter.rows(summand.data(self.X), None))
            logs = self.roots.logs(term.kernel_term.roots)
            z = self._standardized(values if logs is None else sp.diags_array(_inverse(logs)) @ values, signs)
            held = sp.csc_array(values > 0)
            holders = [(held.T @ (sign * signs > 0).astype(np.int64)).tolist() for sign in (1, -1)]
            for at, entry in enumerate(fragments):
                if self.only_first and z[at] <= 0:
                    continue
                counts = int(holders[0][at]), int(holders[1][at])
                rates = 1000 * counts[0] / sizes[0], 1000 * counts[1] / sizes[1]
                differences.append(
                    FragmentDifference(
                        entry.tree, float(z[at]), entry.weight, counts, rates, None, entry.kernel, entry.column
                    )
                )
                columns.append(held.indices[held.indptr[at] : held.indptr[at + 1]])
        return _without_repeats(differences, columns, n, len(signs)), len(heaviest)

    def _standardized(self, values: sp.csr_array, signs: Vector) -> Vector:
        """Return the entries of the witness divided by their standard deviations under random labels."""
        if self.paired:
            half = len(signs) // 2
            apart = np.sign(signs[:half])[:, None] * (sp.csr_array(values)[:half] - sp.csr_array(values)[half:])
            return _ratio(apart.sum(axis=0), np.sqrt((apart * apart).sum(axis=0)))
        n = len(signs)
        means = values.sum(axis=0) / n
        variance = (values * values).sum(axis=0) / n - means**2
        spread = np.sqrt(np.maximum(variance, 0) * n / (n - 1) * n / ((signs > 0).sum() * (signs < 0).sum()))
        return _ratio(values.T @ signs, spread)


def _inverse(logs: Vector) -> Vector:
    factors: Vector = np.exp(np.where(np.isfinite(logs), -logs, -np.inf))
    return factors


def _ratio(values: Any, spread: Any) -> Vector:
    values, spread = np.asarray(values).ravel(), np.asarray(spread).ravel()
    ratios: Vector = np.divide(values, spread, out=np.zeros(len(values)), where=spread > 0)
    return ratios


def _without_repeats(
    differences: list[FragmentDifference], held: list[Any], n: int, size: int
) -> list[FragmentDifference]:
    """Return the n most significant fragments, with one fragment per group that occurs in nearly the same trees.

    This is the largest fragment whose z is close to the best z of the group.
    """
    extent = [sum(1 for _ in difference.tree.nodes()) for difference in differences]

    def by_extent(at: int) -> tuple[Any, ...]:
        return (
            -extent[at],
            -round(abs(differences[at].z), DIGITS),
            -abs(differences[at].weight),
            str(differences[at].tree),
        )

    left = sorted(range(len(differences)), key=lambda at: (-round(abs(differences[at].z), DIGITS), *by_extent(at)))
    left = [at for at in left if round(abs(differences[at].z), DIGITS) > 0]
    kept: list[FragmentDifference] = []
    while left and len(kept) < n:
        mask = np.zeros(size, bool)
        mask[held[left[0]]] = True
        both = [int(mask[held[at]].sum()) for at in left]
        whole = len(held[left[0]])
        same = [shared >= SAME * (whole + len(held[at]) - shared) for at, shared in zip(left, both, strict=True)]
        least = NEARLY * abs(differences[left[0]].z)
        group = [at for at, is_same in zip(left, same, strict=True) if is_same and abs(differences[at].z) >= least]
        kept.append(differences[min(group, key=by_extent)])
        left = [at for at, is_same in zip(left, same, strict=True) if not is_same]
    return sorted(kept, key=lambda difference: -round(abs(difference.z), DIGITS))
