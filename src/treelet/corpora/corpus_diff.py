"""Comparison of two corpora: a two-sample test, the fragments that differ most, and Vendi scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treelet.checks import check_boolean, check_integer, plural
from treelet.corpora.diversity import vendi_score
from treelet.corpora.fragment_differences import FragmentDifference, differing_fragments
from treelet.corpora.two_samples import discrepancy, relabeled
from treelet.errors import InputTypeError, ParameterError, TreeletWarning
from treelet.gram.matrix import ordered
from treelet.gram.stored.fingerprint import fingerprint
from treelet.kernels import Kernel, SubsetTree
from treelet.learn.fragment_selection import listed_parts
from treelet.printable import printable, shortened
from treelet.resources import Resources
from treelet.shown import Tabled
from treelet.structures.bank import Bank
from treelet.structures.table import stacked
from treelet.work import seed_of

VARIETY = 2_000  # maximal number of examples for the Vendi score
ALPHA = 0.05
LEAST = 2
LETTERS = 200  # maximal number of characters of a printed fragment
DRAWS = ("sample", "labels", "variety", "searches")
"""Independent streams of random numbers: more draws from one stream do not change the others."""


@dataclass(frozen=True, repr=False)
class CorpusDifference(Tabled):
    """The result of `treelet.diff`.

    Attributes
    ----------
    sizes : (int, int)
        Number of trees in A and in B.
    mmd2 : float
        Unbiased estimate of the squared maximum mean discrepancy. It is close to 0, or slightly
        negative, if both corpora have the same distribution.
    mmd2_biased : float
        Biased estimate, which includes the self-values. It is the squared norm of the witness and
        never negative.
    p_value : float
        Probability of a value of at least `mmd2` under random permutations.
    permutations : int
        Number of random permutations.
    compared : (int, int)
        Number of trees of A and of B used for these figures: all, or at most ``most``.
    fragments : list of FragmentDifference
        Fragments in descending order of absolute z.
    looked_at : int
        Number of fragments from which these were selected; 0 if the fragments of the kernel cannot
        be listed.
    vendi : (float, float)
        Vendi scores of A and of B: the effective number of different trees.
    vendi_size : int
        Number of trees per corpus used for the Vendi scores. It is the same for both corpora, so the
        scores are comparable.
    kernel : Kernel
        The kernel.
    paired : bool
        Whether the examples are paired.
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
        """Return the main results as lines of text."""
        sampled = self.compared != self.sizes
        of = f", {self.compared[0]:,} and {self.compared[1]:,} sampled trees" if sampled else ""
        result = "significant" if self.p_value < ALPHA else "not significant"
        a, b = self.vendi
        return [
            f"A: {self.sizes[0]:,} trees, B: {self.sizes[1]:,}{', paired' if self.paired else ''}; {self.kernel!r}",
            f"MMD² {self.mmd2:.4g}, p {self.p_value:.4f} ({self.permutations:,} permutations{of}): {result} at level {ALPHA}",
            f"Vendi scores {a:.1f} and {b:.1f}, from {self.vendi_size:,} trees each",
        ]

    def __str__(self) -> str:
        lines = [*self.summary(), ""]
        if not self.fragments:
            none = "No fragments: n is 0, or no fragment is more frequent in one of the corpora."
            reason = none if listed_parts(self.kernel) else "The fragments of this kernel cannot be listed."
            return "\n".join([*lines, reason])
        tested = any(fragment.p_value is not None for fragment in self.fragments)
        lines.append(f"{'z':>7}  {'weight':>9}  {'per 1,000: A':>13}  {'B':>6}  {'p      ' if tested else ''}fragment")
        for fragment in self.fragments:
            p = "" if fragment.p_value is None else f"{fragment.p_value:.4f} "
            a, b = fragment.per_thousand
            lines.append(
                f"{fragment.z:>+7.2f}  {fragment.weight:>+9.2g}  {a:>13.1f}  {b:>6.1f}  {p}{_line(str(fragment.tree))}"
            )
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Return the result as a dict of plain values, for `json.dumps`."""
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
    r"""Compare two corpora: test whether they differ, and list the fragments that differ most.

    Parameters
    ----------
    A, B : collections of examples
        At least two examples each, without missing ones. The examples of a corpus should be
        independent; with many duplicates, the p-value is too small.
    kernel : Kernel, optional
        Any kernel. Fragments are listed for `Subtree`, `SubsetTree` and `PartialTree`, combined by
        sums, multiples, `On` and ``.normalized()``. Default: ``SubsetTree().normalized()``, with
        which long sentences do not dominate.
    permutations : int, default 1000
        Number of random permutations for the p-value, at least 1.
    n : int, default 20
        Maximal number of fragments.
    searches : int, default 0
        Number of searches for fragments in randomly permuted corpora, for a p-value per fragment.
        Each search takes one or two seconds.
    paired : bool, default False
        Whether ``A[i]`` and ``B[i]`` belong together, for example as two parses of a sentence. The
        permutations then swap the examples of a pair.
    most : int or None, default 20000
        Maximal number of examples per corpus for the discrepancy and its p-value, whose cost grows
        quadratically. Larger corpora are sampled. Fragments are always searched in all examples.
    random_state : int, RandomState, Generator or None, default 0
        Seed of samples and permutations.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core. The result does not depend on it.
    memory : int or str, optional
        Memory limit for kernel values, for example ``"512MiB"``. Default: 1 GiB.
    progress : bool, default False
        Show a progress bar on standard error.

    Returns
    -------
    CorpusDifference
        Discrepancy, p-value, fragments and Vendi scores. Swapping A and B only changes signs.

    Notes
    -----
    The maximum mean discrepancy is the distance of the two mean vectors in the feature space of the
    kernel, :math:`\mathrm{MMD} = \lVert \mu_A - \mu_B \rVert`. Its square is estimated without bias
    from all pairs of examples. A permutation test (Gretton et al. 2012) compares the estimate with
    those of random labels: p = (1 + draws with at least this value) / (1 + draws). If both corpora
    have the same distribution, the probability of p ≤ α is at most α.

    :math:`\mu_A - \mu_B` has one entry per fragment, its weight. With a normalized subset-tree kernel

    .. math::

        w(f) = \lambda^{\mathrm{size}(f)/2} \left(
        \frac{1}{|A|} \sum_{T \in A} \frac{h_f(T)}{\lVert T \rVert}
        - \frac{1}{|B|} \sum_{T \in B} \frac{h_f(T)}{\lVert T \rVert} \right),

    where :math:`h_f(T)` is the number of occurrences of f in T. The squared weights add up to the
    biased MMD². Frequent fragments have larger weights than rare ones even by chance. Therefore the
    2,000 heaviest fragments are sorted by z, the weight divided by its standard deviation under
    random labels.

    Fragments that occur in nearly the same trees (at least 80 % of the trees with either contain
    both) are listed once. The listed one is the largest with at least 90 % of the best z. A
    construction therefore takes one line, instead of one line per part.

    Between two halves of one corpus, the largest of so many z is often above 3. Use `searches` to
    test the significance of a fragment. Its `p_value` refers to the largest z of a whole search, so
    it is valid for all fragments together.

    References
    ----------
    A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf and A. Smola. A Kernel Two-Sample Test. Journal of Machine Learning Research 13, 2012.

    Examples
    --------
    >>> import treelet as tl
    >>> A = ["(S (NP (N cats)) (VP (V sleep)))", "(S (NP (N dogs)) (VP (V sleep)))", "(S (NP (N dogs)) (VP (V bark)))"] * 5
    >>> B = ["(S (NP (D the) (N cats)) (VP (V sleep)))", "(S (NP (D the) (N dogs)) (VP (V bark)))"] * 5
    >>> difference = tl.diff(A, B, n=2)
    >>> difference.p_value < 0.01
    True
    >>> for fragment in difference.fragments:
    ...     print(f"{fragment.z:+.1f}", fragment.counts, fragment.tree)
    -4.9 (0, 10) (S (NP (D the) N) (VP V))
    +4.9 (15, 0) (S (NP N) (VP V))
    """
    for name, value, least in (("permutations", permutations, 1), ("n", n, 0), ("searches", searches, 0)):
        check_integer(name, value, least, of="diff")
    check_integer("most", most, LEAST, of="diff", optional=True)
    check_boolean("paired", paired, of="diff")
    kernel = SubsetTree().normalized() if kernel is None else kernel
    if not isinstance(kernel, Kernel):
        raise InputTypeError(
            "The 'kernel' parameter of diff must be a kernel, such as SubsetTree().normalized(). "
            f"Got {shortened(kernel)} instead."
        )
    kernel.validate()
    resources = Resources.of(n_jobs, memory, progress=progress, owner="diff")
    A, B = kernel.coerce(A), kernel.coerce(B)
    _check(A, B, paired)
    seed = seed_of(random_state)
    rngs = {name: np.random.default_rng([seed, number]) for number, name in enumerate(DRAWS)}
    # The corpora have a canonical order, so swapping A and B only changes signs.
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
            problem = f"{name} has one example" if len(corpus) else f"{name} is empty"
            raise ParameterError(f"{problem}: diff needs at least {LEAST} examples per corpus.")
        if isinstance(corpus, Bank) and len(missing := np.flatnonzero(corpus.columns.roots < 0)):
            raise ParameterError(
                f"{len(missing):,} of the {len(corpus):,} examples of {name} are missing (None). Remove them; the first one is "
                f"example {missing[0]}."
            )
    if paired and len(A) != len(B):
        raise ParameterError(
            f"A has {plural(len(A), 'example')} and B has {len(B):,}, but paired corpora must have the same number of examples."
        )


def _warn_of_empty(own: Any, sizes: tuple[int, int], turned: bool) -> None:
    import warnings

    for name, self_values in zip("BA" if turned else "AB", (own[: sizes[0]], own[sizes[0] :]), strict=True):
        if empty := int(np.count_nonzero(self_values == 0)):
            warnings.warn(
                f"{empty:,} of the {len(self_values):,} examples of {name} have no fragments for the kernel. They are similar to no "
                "other example, and the Vendi score excludes them.",
                TreeletWarning,
                stacklevel=3,
            )


def _drawn(sizes: tuple[int, int], most: int | None, rng: np.random.Generator, paired: bool) -> tuple[Any, Any]:
    """Return the sampled rows of both corpora."""
    rows = [
        np.arange(size) if most is None or size <= most else np.sort(rng.permutation(size)[:most]) for size in sizes
    ]
    return rows[0], sizes[0] + (rows[0] if paired else rows[1])


def _variety(
    kernel: Kernel, X: Any, own: Any, sizes: tuple[int, int], rng: np.random.Generator, n_jobs: int | None
) -> tuple[tuple[float, float], int]:
    """Return the Vendi scores of both corpora, from the same number of examples."""
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
