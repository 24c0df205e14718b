"""Comparison of two corpora: a two-sample test, the fragments that differ most, and Vendi scores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from treelet.checks import check_boolean, check_integer, plural
from treelet.errors import InputTypeError, ParameterError, TreeletWarning
from treelet.fragments.model_fragments import top_fragments
from treelet.kernels import Kernel, SubsetTree
from treelet.kernels.algebra import Normalized
from treelet.kernels.fragments import has_fragments
from treelet.kernels.pairwise import Matrix, Pairwise, Vector
from treelet.kernels.terms import Roots
from treelet.learn.fragment_features import FragmentCounter, listed_parts
from treelet.learn.model import CompressedModel
from treelet.learn.outputs import resolve_output
from treelet.matrices.executors import ThreadExecutor, host_matrix
from treelet.matrices.stored import fingerprint
from treelet.matrices.tiles import Job, Plan, Tile, check_pairwise, plan_matrix
from treelet.printable import printable, shortened
from treelet.resources import PLAIN, Resources
from treelet.shown import Tabled
from treelet.structures import Tree, Treebank
from treelet.structures.bank import Bank
from treelet.structures.table import stacked
from treelet.work import generator, progress_bar, seed_of

# --- sums of kernel values over pairs within groups -------------------------------------------------------------------

_PLANNED = 8  # simultaneous tiles for any number of threads, so the sums are equal, bit for bit
_ROWS = 256  # rows per tile; with fewer rows, converting the groups takes longer than multiplying
_GROUPINGS = 256  # groupings per multiplication


def _pair_sums(
    kernel: Pairwise,
    X: Any,
    groups: NDArray[np.int8],
    resources: Resources = PLAIN,
) -> tuple[Vector, Vector, float]:
    r"""Return sums of kernel values over pairs of two different examples.

    Parameters
    ----------
    kernel : Kernel
        Kernel that compares the examples.
    X : collection
        n examples.
    groups : array of int8 of shape (n, groupings)
        One grouping per column: 1 if an example is in the group, else 0.
    resources : Resources
        At most 8 threads are used; the sums do not depend on their number. The groups and 2 KB per
        example and thread come on top of the memory limit.

    Returns
    -------
    within : ndarray of shape (groupings,)
        :math:`\sum_{i \ne j} z_i z_j K(x_i, x_j)` for each grouping z.
    touching : ndarray of shape (groupings,)
        :math:`\sum_{i \ne j} z_i K(x_i, x_j)`.
    total : float
        :math:`\sum_{i \ne j} K(x_i, x_j)`.

    Notes
    -----
    Each value is computed once and multiplied once per grouping. BLAS does these n²/2 · groupings
    multiplications.

    Examples
    --------
    >>> import numpy as np, treelet as tl
    >>> trees = ["(D a)", "(D a)", "(D the)"]
    >>> _pair_sums(tl.SubsetTree(lam=1), trees, np.array([[1, 1], [1, 0], [0, 1]], np.int8))
    (array([2., 0.]), array([2., 1.]), 2.0)
    """
    check_pairwise(kernel, "pair_sums")
    job = Job(kernel, kernel.coerce(X))
    resources = resources._replace(threads=min(_PLANNED, resources.threads))
    plan = plan_matrix(job, threads=_PLANNED, memory=resources.memory, buffers=1, strips=-(-len(job.X) // _ROWS))
    sums = _PairSums(plan, groups)
    with _one_blas_thread():
        ThreadExecutor(resources).compute_all(job, plan, sums)
    return 2 * sums.within, groups.T @ sums.rows, float(sums.rows.sum())


class _PairSums:
    """Adds tiles that are computed in parallel, always in the order of the plan."""

    def __init__(self, plan: Plan, groups: NDArray[np.int8]) -> None:
        self._groups, self.within, self.rows = groups, np.zeros(groups.shape[1]), np.zeros(len(groups))
        self._order = {tile: number for number, tile in enumerate(plan.tiles)}
        self._lock, self._next = Lock(), 0
        self._ready: dict[int, tuple[Tile, Vector, Vector, Vector]] = {}

    @contextmanager
    def tile(self, tile: Tile) -> Iterator[Matrix]:
        values = np.empty(tile.shape)
        yield values
        square = values[:, tile.rows.begin - tile.columns.begin :]
        square[...] = np.tril(square, -1)  # Only pairs below the diagonal, so each pair counts once.
        rows, columns = self._groups[tile.rows.slice], self._groups[tile.columns.slice]
        within = np.empty(self._groups.shape[1])
        for begin in range(0, len(within), _GROUPINGS):
            some = slice(begin, begin + _GROUPINGS)
            product = values @ columns[:, some].astype(np.float64)
            within[some] = np.einsum("ij,ij->j", product, rows[:, some].astype(np.float64))
        sums = tile, within, values.sum(axis=1), values.sum(axis=0)
        with self._lock:
            self._ready[self._order[tile]] = sums
            while self._next in self._ready:
                done, within, by_row, by_column = self._ready.pop(self._next)
                self.within += within
                self.rows[done.rows.slice] += by_row
                self.rows[done.columns.slice] += by_column
                self._next += 1


# --- the two-sample test ----------------------------------------------------------------------------------------------

_ROUNDING = 1e-11  # smaller differences, relative to the mean value, count as equal
Labels = NDArray[np.int8]


def _relabeled(first: int, second: int, times: int, rng: np.random.Generator, *, paired: bool) -> Labels:
    """Return labels of `first` + `second` examples, one labeling per column: 1 for the first sample.

    Column 0 contains the true labels. The other columns are random permutations. If `paired`, the
    labels are swapped within random pairs instead.
    """
    labels = np.zeros((1 + times, first + second), np.int8)
    labels[:, :first] = 1
    if paired:
        labels[1:, :first] = rng.integers(2, size=(times, first), dtype=np.int8)
        labels[1:, first:] = 1 - labels[1:, :first]
    else:
        rng.permuted(labels[1:], axis=1, out=labels[1:])
    return np.ascontiguousarray(labels.T)


def _discrepancy(kernel: Kernel, X: Any, labels: Labels, resources: Resources = PLAIN) -> tuple[float, float, float]:
    r"""Return two estimates of the squared maximum mean discrepancy of two samples, unbiased and biased, and the p-value.

    See Gretton et al. (2012), equations 3 and 5.

    .. math:: \mathrm{MMD}^2_u = \frac{1}{m(m-1)} \sum_{i \ne j} K(a_i, a_j) + \frac{1}{n(n-1)} \sum_{i \ne j} K(b_i, b_j) - \frac{2}{mn} \sum_{i, j} K(a_i, b_j)

    The biased estimate includes all pairs in the first two sums, with the denominators :math:`m^2`
    and :math:`n^2`.
    """
    within, touching, total = _pair_sums(kernel, X, labels, resources)
    m = int(labels[:, 0].sum())
    n = len(labels) - m
    between = touching - within
    others = total - touching - between
    values = within / (m * (m - 1)) + others / (n * (n - 1)) - 2 * between / (m * n)
    own = kernel.diag(X)
    first = labels[:, 0] == 1
    biased = (within[0] + own[first].sum()) / m**2 + (others[0] + own[~first].sum()) / n**2 - 2 * between[0] / (m * n)
    close = _ROUNDING * float(np.abs(within[0] / m**2) + np.abs(others[0] / n**2) + np.abs(between[0] / (m * n)))
    return float(values[0]), float(biased), _p_value(values[0], values[1:], close)


def _p_value(value: float, drawn: Vector, close: float = 0.0) -> float:
    """Return the p-value of a permutation test: (1 + draws with at least this value) / (1 + draws)."""
    return (1 + int(np.count_nonzero(drawn >= value - close))) / (1 + len(drawn))


# --- comparison of two corpora ----------------------------------------------------------------------------------------

_VARIETY = 2_000  # maximal number of examples for the Vendi score
_ALPHA = 0.05
LEAST = 2
_DRAWS = ("sample", "labels", "variety", "searches")
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
        result = "significant" if self.p_value < _ALPHA else "not significant"
        a, b = self.vendi
        return [
            f"A: {self.sizes[0]:,} trees, B: {self.sizes[1]:,}{', paired' if self.paired else ''}; {self.kernel!r}",
            f"MMD² {self.mmd2:.4g}, p {self.p_value:.4f} ({self.permutations:,} permutations{of}): {result} at level {_ALPHA}",
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
            text = printable(str(fragment.tree))
            text = text if len(text) <= 200 else f"{text[:196]} ..."
            lines.append(f"{fragment.z:>+7.2f}  {fragment.weight:>+9.2g}  {a:>13.1f}  {b:>6.1f}  {p}{text}")
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
    progress: bool | None = None,
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
    progress : bool, optional
        Show a progress bar on standard error. Default: as in `treelet.config_context`.

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
    test the significance of a fragment. Its `_p_value` refers to the largest z of a whole search, so
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
    rngs = {name: np.random.default_rng([seed, number]) for number, name in enumerate(_DRAWS)}
    # The corpora have a canonical order, so swapping A and B only changes signs.
    turned = fingerprint(B) < fingerprint(A)
    first, second = (B, A) if turned else (A, B)
    X, sizes = stacked(first, second), (len(first), len(second))
    X = X.ordered() if isinstance(X, Bank) else X
    own = kernel.diag(X)
    _warn_of_empty(own, sizes, turned)

    # The rows of both corpora that are compared: all, or a sample; of pairs, both examples
    samples = [
        np.arange(size) if most is None or size <= most else np.sort(rngs["sample"].permutation(size)[:most])
        for size in sizes
    ]
    rows = samples[0], sizes[0] + (samples[0] if paired else samples[1])
    labels = _relabeled(len(rows[0]), len(rows[1]), permutations, rngs["labels"], paired=paired)
    some = X if (len(rows[0]), len(rows[1])) == sizes else X[np.concatenate(rows)]
    mmd2, biased, p_value = _discrepancy(kernel, some, labels, resources)
    fragments: list[FragmentDifference] = []
    looked_at = 0
    if n and listed_parts(kernel):
        dealt = _relabeled(*sizes, searches, rngs["searches"], paired=paired)
        fragments, looked_at = differing_fragments(kernel, X, dealt, n, paired=paired, progress=progress)
    if turned:
        fragments = [
            fragment._replace(
                z=-fragment.z,
                weight=-fragment.weight,
                counts=fragment.counts[::-1],
                per_thousand=fragment.per_thousand[::-1],
            )
            for fragment in fragments
        ]
    vendi, vendi_size = _variety(kernel, X, own, sizes, rngs["variety"], n_jobs)
    pairs: list[tuple[Any, Any]] = [sizes, (len(rows[0]), len(rows[1])), vendi]
    if turned:
        pairs = [(b, a) for a, b in pairs]
    return CorpusDifference(
        sizes=pairs[0],
        mmd2=mmd2,
        mmd2_biased=biased,
        p_value=p_value,
        permutations=permutations,
        compared=pairs[1],
        fragments=fragments,
        looked_at=looked_at,
        vendi=pairs[2],
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


def _variety(
    kernel: Kernel, X: Any, own: Any, sizes: tuple[int, int], rng: np.random.Generator, n_jobs: int | None
) -> tuple[tuple[float, float], int]:
    """Return the Vendi scores of both corpora, from the same number of examples."""
    rows_seen = np.flatnonzero(own[: sizes[0]] > 0), sizes[0] + np.flatnonzero(own[sizes[0] :] > 0)
    size = min(_VARIETY, *map(len, rows_seen))
    if not size:
        return (float("nan"), float("nan")), 0
    first, second = (vendi_score(kernel, X[rows], sample=size, random_state=rng, n_jobs=n_jobs) for rows in rows_seen)
    return (first, second), size


# --- the diversity of a corpus ----------------------------------------------------------------------------------------

_MOST_SCORED = 5_000  # maximal number of examples without `sample`; the eigenvalues take half a minute


def vendi_score(
    kernel: Kernel, X: Any, *, sample: int | None = None, random_state: Any = 0, n_jobs: int | None = 1
) -> float:
    r"""Compute the Vendi score of a corpus: its effective number of different examples.

    The score is 1 if all examples are equal for the kernel, and n if no two of n examples have
    anything in common. See Friedman & Dieng (2023).

    Parameters
    ----------
    kernel : Kernel
        Kernel that compares the examples. It is normalized if necessary.
    X : collection of examples
        The corpus, with at least one example.
    sample : int, optional
        Maximal number of examples, drawn at random. Default: all examples. A sample has a lower
        score than the corpus, so compare only scores of the same number of examples.
    random_state : int, RandomState, Generator or None, default 0
        Seed of the sample.
    n_jobs : int, default 1
        Number of threads for the matrix. -1 uses one thread per core.

    Returns
    -------
    float
        The Vendi score.

    Raises
    ------
    ParameterError
        If X is empty, if an example has no fragments, or if X has more than 5,000 examples and
        `sample` is not given.

    Notes
    -----
    With :math:`\lambda_i` the eigenvalues of :math:`K / n`, which add up to 1, the score is
    :math:`\exp(-\sum_i \lambda_i \log \lambda_i)`. The computation is exact and takes the time of an
    eigendecomposition, which grows with n³.

    References
    ----------
    D. Friedman and A. B. Dieng. The Vendi Score: A Diversity Evaluation Metric for Machine Learning. Transactions on Machine Learning
    Research, 2023.

    Examples
    --------
    >>> import treelet as tl
    >>> from treelet.corpora import vendi_score
    >>> round(vendi_score(tl.SubsetTree(), ["(D a)", "(D a)", "(D the)", "(N cat)"]), 3)
    2.828
    """
    check_pairwise(kernel, "vendi_score", Kernel)
    check_integer("sample", sample, of="vendi_score", optional=True)
    X = kernel.coerce(X)
    if not len(X):
        raise ParameterError("X is empty: vendi_score needs at least one example.")
    if sample is not None and sample < len(X):
        X = X[np.sort(generator(random_state).permutation(len(X))[:sample])]
    elif sample is None and len(X) > _MOST_SCORED:
        raise ParameterError(
            f"X has {len(X):,} examples, too many for an eigendecomposition. Pass sample={_MOST_SCORED} to score a random sample, "
            "whose score is lower than that of all examples."
        )
    empty = np.flatnonzero(kernel.diag(X) == 0)
    if len(empty):
        raise ParameterError(
            f"{len(empty):,} of {len(X):,} examples have no fragments for the kernel (self-value 0). Remove them; the first one is "
            f"example {empty[0]}."
        )
    normalized = kernel if isinstance(kernel, Normalized) else kernel.normalized()
    K = host_matrix(normalized, normalized.coerce(X), resources=Resources.of(n_jobs, owner="vendi_score"))
    with _one_blas_thread():
        values = np.linalg.eigvalsh(K / len(K))
    values = values[values > 0]
    return float(np.exp(-np.sum(values * np.log(values))))


# --- the fragments by which two samples differ ------------------------------------------------------------------------

_LOOKED_AT = 2_000  # number of the heaviest fragments, which are then sorted
_SAME = 0.8  # two fragments are similar if this share of the trees with either contains both
_NEARLY = 0.9  # of similar fragments, the largest with this share of the best z is listed
_DIGITS = 9  # digits of a z-value that are not rounding errors


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
    progress: bool | None = None,
) -> tuple[list[FragmentDifference], int]:
    """Return the fragments by which the first sample differs from the second, and how many were examined.

    `labels` come from `_relabeled`. The search is repeated with each further column, for p-values. If `only_first`,
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
        result = [fragment._replace(p_value=_p_value(abs(fragment.z), drawn)) for fragment in result[0]], result[1]
    return result


class _Witness:
    """A model of witness functions, and its examples."""

    def __init__(self, model: CompressedModel, X: Any, paired: bool, only_first: bool) -> None:
        self.model, self.X, self.paired, self.only_first, self.roots = model, X, paired, only_first, Roots(X)

    def of(self, output: int, signs: Vector, n: int) -> tuple[list[FragmentDifference], int]:
        """Return the fragments of one witness function, and how many were examined."""
        linear = resolve_output(self.model, output)
        heaviest = top_fragments(self.model, _LOOKED_AT, output)
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
            z = self._standardized(
                values
                if logs is None
                else sp.diags_array(np.exp(np.where(np.isfinite(logs), -logs, -np.inf))) @ values,
                signs,
            )
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
            -round(abs(differences[at].z), _DIGITS),
            -abs(differences[at].weight),
            str(differences[at].tree),
        )

    left = sorted(range(len(differences)), key=lambda at: (-round(abs(differences[at].z), _DIGITS), *by_extent(at)))
    left = [at for at in left if round(abs(differences[at].z), _DIGITS) > 0]
    kept: list[FragmentDifference] = []
    while left and len(kept) < n:
        mask = np.zeros(size, bool)
        mask[held[left[0]]] = True
        both = [int(mask[held[at]].sum()) for at in left]
        whole = len(held[left[0]])
        same = [shared >= _SAME * (whole + len(held[at]) - shared) for at, shared in zip(left, both, strict=True)]
        least = _NEARLY * abs(differences[left[0]].z)
        group = [at for at, is_same in zip(left, same, strict=True) if is_same and abs(differences[at].z) >= least]
        kept.append(differences[min(group, key=by_extent)])
        left = [at for at, is_same in zip(left, same, strict=True) if not is_same]
    return sorted(kept, key=lambda difference: -round(abs(difference.z), _DIGITS))


def _one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread inside a ``with`` block.

    The threads of treelet do the work instead. The order of summation in BLAS, and thus every bit of
    the result, does not depend on their number.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, "blas")
    return limits
