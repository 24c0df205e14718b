"""Comparison of two corpora: whether they differ by more than chance, in which fragments, and the diversity of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treelet.checks import check_boolean, check_integer
from treelet.corpora.diversity import vendi_score
from treelet.corpora.fragment_differences import FragmentDifference, differing_fragments
from treelet.corpora.two_samples import discrepancy, relabeled
from treelet.errors import InputTypeError, ParameterError, TreeletWarning
from treelet.gram.matrix import ordered
from treelet.gram.stored.fingerprint import fingerprint
from treelet.kernels import Kernel, SubsetTree
from treelet.learn.fragment_selection import listed_parts
from treelet.printable import printable
from treelet.resources import Resources
from treelet.shown import Tabled
from treelet.structures.bank import Bank
from treelet.structures.table import stacked
from treelet.work import seed_of

VARIETY = 2_000  # examples whose Vendi score is computed
ALPHA = 0.05
LEAST = 2
LETTERS = 200  # of a fragment, in a line
DRAWS = ("sample", "labels", "variety", "searches")
"""What is random: each has numbers of its own, so that asking for more of the one leaves the others as they are."""


@dataclass(frozen=True, repr=False)
class CorpusDifference(Tabled):
    """What `treelet.diff` finds.

    Attributes
    ----------
    sizes : (int, int)
        Trees of A and of B.
    mmd2 : float
        The squared maximum mean discrepancy, unbiased: about 0, or a little below, where the two are of one kind.
    mmd2_biased : float
        The same with each example also compared with itself: the squared length of the witness, never below 0.
    p_value : float
        How often chance makes as much of `mmd2`.
    permutations : int
        How many draws of chance that is from.
    compared : (int, int)
        How many trees of each these figures are from: all, unless there are more than ``most``.
    fragments : list of FragmentDifference
        What the corpora differ in, the largest absolute z first.
    looked_at : int
        How many fragments these were chosen from; 0 if the kernel's fragments cannot be listed.
    vendi : (float, float)
        The Vendi scores of A and of B: how many different trees there are in effect.
    vendi_size : int
        How many trees of each they are from: equally many, or they could not be compared.
    kernel : Kernel
    paired : bool
    """

    sizes: tuple[int, int]
    mmd2: float
    mmd2_biased: float
    p_value: float
    permutations: int
    compared: tuple[int, int]
    fragments: list[FragmentDifference]
    looked_at: int
    vendi: tuple[float, float]
    vendi_size: int
    kernel: Kernel
    paired: bool

    def __repr__(self) -> str:
        return (
            f"<CorpusDifference: {self.sizes[0]:,} and {self.sizes[1]:,} trees, MMD² {self.mmd2:.3g}, p {self.p_value:.3g}, "
            f"{len(self.fragments):,} fragments>"
        )

    def summary(self) -> list[str]:
        """The figures, in sentences."""
        some = self.compared != self.sizes
        of = f", from {self.compared[0]:,} and {self.compared[1]:,} of them" if some else ""
        by = "more than" if self.p_value < ALPHA else "no more than"
        a, b = self.vendi
        return [
            f"A: {self.sizes[0]:,} trees, B: {self.sizes[1]:,}{', in pairs' if self.paired else ''}; {self.kernel!r}",
            f"MMD² {self.mmd2:.4g}, p {self.p_value:.4f} ({self.permutations:,} permutations{of}): they differ by {by} chance would make",
            f"Vendi score {a:.1f} and {b:.1f}, of {self.vendi_size:,} trees each",
        ]

    def __str__(self) -> str:
        lines = [*self.summary(), ""]
        if not self.fragments:
            none = "no fragment was asked for, or there is none that one has more of than the other"
            why = none if listed_parts(self.kernel) else "the fragments of this kernel cannot be listed"
            return "\n".join([*lines, why])
        tested = any(fragment.p_value is not None for fragment in self.fragments)
        lines.append(
            f"{'z':>7}  {'weight':>9}  {'of 1,000 in A':>13}  {'in B':>6}  {'p      ' if tested else ''}fragment"
        )
        for fragment in self.fragments:
            p = "" if fragment.p_value is None else f"{fragment.p_value:.4f} "
            a, b = fragment.per_thousand
            lines.append(
                f"{fragment.z:>+7.2f}  {fragment.weight:>+9.2g}  {a:>13.1f}  {b:>6.1f}  {p}{_line(str(fragment.tree))}"
            )
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """All of it as plain values, ready for `json.dumps`."""
        return {
            "kernel": repr(self.kernel),
            "sizes": list(self.sizes),
            "paired": self.paired,
            "mmd2": self.mmd2,
            "mmd2_biased": self.mmd2_biased,
            "p_value": self.p_value,
            "permutations": self.permutations,
            "compared": list(self.compared),
            "vendi": list(self.vendi) if self.vendi_size else [None, None],  # JSON has no NaN
            "vendi_size": self.vendi_size,
            "looked_at": self.looked_at,
            "fragments": [
                {
                    "fragment": str(fragment.tree),
                    "z": fragment.z,
                    "weight": fragment.weight,
                    "counts": list(fragment.counts),
                    "per_thousand": list(fragment.per_thousand),
                    "p_value": fragment.p_value,
                    "kernel": repr(fragment.kernel),
                    "column": list(fragment.column) if isinstance(fragment.column, tuple) else fragment.column,
                }
                for fragment in self.fragments
            ],
        }


def _line(text: str) -> str:
    text = printable(text)
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 4]} ..."


def diff(
    A: Any,
    B: Any,
    kernel: Kernel | None = None,
    *,
    permutations: int = 1_000,
    n: int = 20,
    searches: int = 0,
    paired: bool = False,
    most: int | None = 20_000,
    random_state: Any = 0,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    progress: bool = False,
) -> CorpusDifference:
    r"""Compare two corpora: do they differ by more than chance, and in what?

    Parameters
    ----------
    A, B : collections
        Trees, or whatever the kernel compares; two of each at least, none missing. The examples of a corpus are taken to be drawn independently of each other: where
        one is there many times over, p is too small.
    kernel : Kernel, optional
        ``SubsetTree().normalized()`` if not given: each tree is a vector of length 1, so that long sentences do not dominate. Any kernel will do; fragments are
        listed for `Subtree`, `SubsetTree` and `PartialTree`, and what is made of these by sums, multiples, `On` and ``.normalized()``.
    permutations : int
        How often the trees are dealt out to the corpora again, for the p-value.
    n : int
        How many fragments to list at most.
    searches : int
        How often the whole search for fragments is done again with trees dealt out by lot, for a p-value of each fragment. It takes a second or two each.
    paired : bool
        The i-th example of A and the i-th of B belong together, as two parses of a sentence do: chance then changes them with each other.
    most : int or None
        From corpora with more than this, so many are drawn at random for the discrepancy and its p-value, whose cost grows with the square. Fragments are always
        looked for in all.
    random_state : int, RandomState, Generator or None
        The same int, the same result.
    n_jobs : int
        Threads. The result does not depend on it.
    memory : int or str, optional
        How much kernel values may take, such as ``"1GiB"`` (the default).
    progress : bool
        Show a progress bar on the standard error.

    Returns
    -------
    CorpusDifference
        With B and A changed, the same with other signs.

    Notes
    -----
    The maximum mean discrepancy is the distance of the two mean vectors in the kernel's space, :math:`\mathrm{MMD} = \lVert \mu_A - \mu_B \rVert`. Its square is estimated
    without bias from the values of all pairs, and compared with what it is where the labels are dealt out by lot (Gretton et al. 2012):
    p = (1 + draws with as much) / (1 + draws). No more than a share α of comparisons of two samples of one kind have p ≤ α.

    :math:`\mu_A - \mu_B` has an entry a fragment, its weight: with a normalized SST
    :math:`w(f) = \lambda^{\mathrm{size}(f)/2} (\frac{1}{|A|} \sum_{T \in A} \frac{h_f(T)}{\lVert T \rVert} - \frac{1}{|B|} \sum_{T \in B} \frac{h_f(T)}{\lVert T \rVert})`,
    with :math:`h_f(T)` how often T has it. The squared weights add up to the biased MMD². Common fragments weigh more
    than rare ones also by chance alone. So the 2,000 heaviest are ordered by z, the weight over its standard deviation if labels are dealt out by lot. Of
    fragments in nearly the same trees (at least 80 % of those that have either) one is listed, the largest with at least 90 % of the best z: a construction is one
    line, not all its parts.

    Between two halves of one corpus the largest of so many z is often above 3. `searches` says how far above chance a fragment is: its `p_value` is that of the largest z
    of a whole search, so it holds for all fragments together.

    References
    ----------
    A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf and A. Smola. A Kernel Two-Sample Test. Journal of Machine Learning Research 13, 2012.

    Examples
    --------
    >>> import treelet as tl
    >>> A = ["(S (NP (N cats)) (VP (V sleep)))", "(S (NP (N dogs)) (VP (V sleep)))", "(S (NP (N dogs)) (VP (V bark)))"] * 5
    >>> B = ["(S (NP (D the) (N cats)) (VP (V sleep)))", "(S (NP (D the) (N dogs)) (VP (V bark)))"] * 5
    >>> found = tl.diff(A, B, n=2)
    >>> found.p_value < 0.01
    True
    >>> for one in found.fragments:
    ...     print(f"{one.z:+.1f}", one.counts, one.tree)
    -4.9 (0, 10) (S (NP (D the) N) (VP V))
    +4.9 (15, 0) (S (NP N) (VP V))
    """
    for name, value, least in (("permutations", permutations, 1), ("n", n, 0), ("searches", searches, 0)):
        check_integer(name, value, least, of="diff")
    check_integer("most", most, LEAST, of="diff", optional=True)
    check_boolean("paired", paired, of="diff")
    kernel = SubsetTree().normalized() if kernel is None else kernel
    if not isinstance(kernel, Kernel):
        raise InputTypeError(f"diff needs a kernel, such as SubsetTree().normalized(), got {type(kernel).__name__}")
    kernel.validate()
    resources = Resources.of(n_jobs, memory, progress=progress)
    A, B = kernel.coerce(A), kernel.coerce(B)
    _check(A, B, paired)
    seed = seed_of(random_state)
    rngs = {what: np.random.default_rng([seed, number]) for number, what in enumerate(DRAWS)}
    # In an order of their own, so that which comes first changes signs only.
    turned = fingerprint(B) < fingerprint(A)
    first, second = (B, A) if turned else (A, B)
    X, sizes = ordered(stacked(first, second)), (len(first), len(second))
    own = kernel.diag(X)
    _warn_of_empty(own, sizes, turned)

    rows = _drawn(sizes, most, rngs["sample"], paired)
    labels = relabeled(len(rows[0]), len(rows[1]), permutations, rngs["labels"], paired=paired)
    some = X if (len(rows[0]), len(rows[1])) == sizes else X[np.concatenate(rows)]
    result = discrepancy(kernel, some, labels, resources)
    fragments: list[FragmentDifference] = []
    looked_at = 0
    if n and listed_parts(kernel):
        dealt = relabeled(*sizes, searches, rngs["searches"], paired=paired)
        fragments, looked_at = differing_fragments(kernel, X, dealt, n, paired=paired, progress=progress)
    vendi, vendi_size = _variety(kernel, X, own, sizes, rngs["variety"], n_jobs)
    return CorpusDifference(
        sizes=_in_order(sizes, turned),
        mmd2=result.mmd2,
        mmd2_biased=result.biased,
        p_value=result.p_value,
        permutations=permutations,
        compared=_in_order((len(rows[0]), len(rows[1])), turned),
        fragments=[_turned(fragment) for fragment in fragments] if turned else fragments,
        looked_at=looked_at,
        vendi=_in_order(vendi, turned),
        vendi_size=vendi_size,
        kernel=kernel,
        paired=paired,
    )


def _check(A: Any, B: Any, paired: bool) -> None:
    for name, corpus in (("A", A), ("B", B)):
        if len(corpus) < LEAST:
            problem = f"{name} has one" if len(corpus) else f"{name} is empty"
            raise ParameterError(f"two corpora are compared by at least {LEAST} examples of each; {problem}")
        if isinstance(corpus, Bank) and len(missing := np.flatnonzero(corpus.columns.roots < 0)):
            raise ParameterError(
                f"{len(missing):,} of the {len(corpus):,} examples of {name} are missing, the first is example {missing[0]}: leave them out"
            )
    if paired and len(A) != len(B):
        raise ParameterError(
            f"paired corpora must have equally many examples, in the same order. Got {len(A):,} and {len(B):,}."
        )


def _warn_of_empty(own: Any, sizes: tuple[int, int], turned: bool) -> None:
    import warnings

    for name, self_values in zip("BA" if turned else "AB", (own[: sizes[0]], own[sizes[0] :]), strict=True):
        if empty := int(np.count_nonzero(self_values == 0)):
            warnings.warn(
                f"{empty:,} of the {len(self_values):,} examples of {name} have nothing that the kernel sees: they are like no other, "
                "and left out of the Vendi score",
                TreeletWarning,
                stacklevel=3,
            )


def _drawn(sizes: tuple[int, int], most: int | None, rng: np.random.Generator, paired: bool) -> tuple[Any, Any]:
    """Return the rows of the first and of the second corpus that are compared."""
    rows = [
        np.arange(size) if most is None or size <= most else np.sort(rng.permutation(size)[:most]) for size in sizes
    ]
    return rows[0], sizes[0] + (rows[0] if paired else rows[1])


def _variety(
    kernel: Kernel, X: Any, own: Any, sizes: tuple[int, int], rng: np.random.Generator, n_jobs: int | None
) -> tuple[tuple[float, float], int]:
    """Return the Vendi scores of equally many examples of each corpus."""
    rows_seen = np.flatnonzero(own[: sizes[0]] > 0), sizes[0] + np.flatnonzero(own[sizes[0] :] > 0)
    size = min(VARIETY, *map(len, rows_seen))
    if not size:
        return (float("nan"), float("nan")), 0
    first, second = (vendi_score(kernel, X[rows], sample=size, random_state=rng, n_jobs=n_jobs) for rows in rows_seen)
    return (first, second), size


def _in_order(pair: tuple[Any, Any], turned: bool) -> tuple[Any, Any]:
    return pair[::-1] if turned else pair


def _turned(fragment: FragmentDifference) -> FragmentDifference:
    return fragment._replace(
        z=-fragment.z, weight=-fragment.weight, counts=fragment.counts[::-1], per_thousand=fragment.per_thousand[::-1]
    )
