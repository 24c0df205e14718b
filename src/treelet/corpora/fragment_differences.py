"""The fragments by which two samples differ.

The mean of the one sample's vectors less that of the other's is the witness of their difference (Gretton et al. 2012, section 2.3). It is a
model like any other, so that the search for a model's heaviest fragments finds its largest entries. These are then put in the order of
what chance would make of them.
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

LOOKED_AT = 2_000  # the heaviest fragments, which are then put in order
SAME = 0.8  # of the trees with one of two fragments have both: they are one find
NEARLY = 0.9  # of the largest z among such, for which a larger fragment is shown
DIGITS = 9  # of a z-value, beyond which it is rounding


class FragmentDifference(NamedTuple):
    """A fragment that one of two corpora has more of.

    Attributes
    ----------
    tree : Tree
        The fragment. A node without children is a word, or a node that the fragment does not expand.
    z : float
        How far its weight is from 0, in standard deviations of what it would be if trees were dealt out to the corpora by lot. Positive
        where A has more.
    weight : float
        Its entry of the mean vector of A less that of B, see `treelet.diff`.
    counts : (int, int)
        How many trees of A, and of B, have it.
    per_thousand : (float, float)
        How many of a thousand trees of each.
    p_value : float or None
        How often the whole search finds so large a z, whatever the fragment, where trees are dealt out by lot; None unless
        ``searches`` asked for it.
    kernel : Kernel
        The summand of the kernel that sees it.
    column : str, int, tuple or None
        The column that it is in, where examples have several; None where they are trees.
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
    kernel: Kernel, X: Any, labels: Labels, n: int, *, paired: bool = False, progress: bool = False
) -> tuple[list[FragmentDifference], int]:
    """Return the fragments by which the first sample differs from the second, and how many were examined.

    `labels` are those of `relabeled`: those of the first column, and for each further one the whole search is done again, for p-values.
    """
    sizes = labels.sum(axis=0, dtype=np.int64)
    signs = np.where(labels == 1, 1 / sizes, -1 / (len(labels) - sizes)).T
    model = CompressedModel.of(kernel, X, signs)
    witness = _Witness(model, X, paired)
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
    """A model of witness functions, and the examples it was made from."""

    def __init__(self, model: CompressedModel, X: Any, paired: bool) -> None:
        self.model, self.X, self.paired, self.roots = model, X, paired, Roots(X)

    def of(self, output: int, signs: Vector, n: int) -> tuple[list[FragmentDifference], int]:
        """Return the fragments of one witness function, and how many were examined."""
        linear = resolve_output(self.model, output)
        heaviest = top_fragments(self.model, LOOKED_AT, output)
        differences, columns = [], []
        sizes = int((signs > 0).sum()), int((signs < 0).sum())
        for term in linear.listed:
            summand = term.kernel_term.inner
            if not has_fragments(
                summand.kernel
            ):  # those of sequences and forests are found, but not counted in examples
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
    """Keep one of the fragments that occur in nearly the same trees: the largest of those whose z is nearly the largest.

    So long until there are n, and these by their z.
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
