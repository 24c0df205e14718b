"""Vectors in place of kernels: by landmarks (`Nystroem`), or kernel values with all training examples (`KernelMatrix`)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_integer, check_one_of
from treelet.errors import TreeletWarning
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.base import KernelEstimator, atomic_fit
from treelet.learn.encoding import are_floats, register, whole_numbers
from treelet.learn.terms import compact_examples
from treelet.progress import progress_bar
from treelet.structures.bank import Bank
from treelet.structures.table import Table
from treelet.work import generator

Rows = NDArray[np.intp]
SAMPLINGS = ("uniform", "kmeans++", "leverage")
TINY = 1e-300  # in place of 0, by which nothing can be divided


class Values(NamedTuple):
    """Kernel values of the examples among which landmarks are chosen."""

    diagonal: Vector
    between: Callable[[Rows, Rows], Matrix]
    """Rows x columns."""


def landmarks(values: Values, wanted: int, sampling: str, rng: np.random.Generator) -> Rows:
    """The rows of so many landmarks, ascending; fewer where the others add nothing."""
    n = len(values.diagonal)
    if wanted >= n:
        return np.arange(n)
    if sampling == "uniform":
        chosen = rng.choice(n, wanted, replace=False)
    else:
        chosen = (pivots if sampling == "kmeans++" else by_leverage)(values, wanted, rng)
    return np.sort(chosen).astype(np.intp)


def pivots(values: Values, wanted: int, rng: np.random.Generator, at_once: int | None = None) -> Rows:
    """Each next one with a probability that grows with its squared distance from all that those before it span.

    Randomly pivoted Cholesky (Chen, Epperly, Tropp & Webber 2025). Candidates are drawn some at a time and each is taken with the
    probability by which its distance has shrunk meanwhile, which gives the same distribution (Epperly, Tropp & Webber 2024).
    """
    n = len(values.diagonal)
    everyone = np.arange(n)
    left = values.diagonal.astype(np.float64).copy()
    nothing = left.max(initial=0) * n * np.finfo(float).eps
    factor = np.empty((n, wanted))
    found: list[int] = []
    while len(found) < wanted and left.sum() > nothing:
        size = min(at_once or max(1, wanted // 10), wanted - len(found))
        drawn = rng.choice(n, size, p=left / left.sum())
        done = factor[:, : len(found)]
        residual = values.between(drawn, drawn) - done[drawn] @ done[drawn].T
        taken: list[int] = []
        for place, candidate in enumerate(drawn):
            if rng.random() * left[candidate] < residual[place, place] and residual[place, place] > nothing:
                column = residual[:, place].copy() / math.sqrt(residual[place, place])
                residual -= np.outer(column, column)
                taken.append(int(candidate))
        if not taken:
            left[drawn] = np.minimum(left[drawn], np.maximum(residual.diagonal(), 0))
            continue
        begin = len(found)
        columns = values.between(everyone, np.array(taken)) - done @ done[taken].T
        factor[:, begin : begin + len(taken)] = columns @ inverse_root(columns[taken], keep=True)
        found += taken
        left = np.maximum(left - np.square(factor[:, begin : len(found)]).sum(axis=1), 0)
        left[taken] = 0
    return np.array(found, dtype=np.intp)


def inverse_root(K: Matrix, *, keep: bool = False) -> Matrix:
    """A matrix W with W W' the inverse of K, on all directions but those in which K is nothing but rounding.

    These have no column; or, to `keep` the number of columns, one of zeros.
    """
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    there = values > values.max(initial=0) * len(K) * np.finfo(float).eps * 10
    root: Matrix = np.where(there, vectors / np.sqrt(np.where(there, values, 1)), 0)
    return np.ascontiguousarray((root if keep else root[:, there])[:, ::-1])


def by_leverage(values: Values, wanted: int, rng: np.random.Generator) -> Rows:
    """Each with a probability that grows with its ridge leverage score: how badly the others would do without it.

    Scores are estimated from a sample of half the examples, theirs from half of these, and so on (recursive sampling, Musco &
    Musco 2017).
    """
    n = len(values.diagonal)
    more = math.log(max(wanted, 3))
    rank = max(1, math.ceil(wanted / (4 * more)))
    order = rng.permutation(n)
    sizes = [n]
    while sizes[-1] > 2 * wanted:
        sizes.append(math.ceil(sizes[-1] / 2))
    sample, weight = order[: min(wanted, sizes[-1])], np.ones(min(wanted, sizes[-1]))
    for size in reversed(sizes):
        rows = order[:size]
        between = values.between(rows, sample)
        inner = values.between(sample, sample)
        ridge = _ridge(inner * np.outer(weight, weight), rank)
        solved = np.linalg.solve(inner + np.diag(np.maximum(ridge / weight**2, TINY)), between.T)
        scores = np.maximum(values.diagonal[rows] - (between * solved.T).sum(axis=1), 0) / ridge
        if size == n:
            break
        chance = np.minimum(1.0, more * scores)
        taken = np.flatnonzero(rng.random(size) < chance)
        if len(taken) == 0:
            taken = rng.choice(size, min(wanted, size), replace=False)
        sample, weight = rows[taken], 1 / np.sqrt(np.maximum(chance[taken], 1e-12))
    scores = np.minimum(scores, 1.0) + 1e-12  # none is impossible
    chosen = rng.choice(n, wanted, replace=False, p=scores / scores.sum())
    return np.asarray(order[chosen], dtype=np.intp)


def _ridge(inner: Matrix, rank: int) -> float:
    """What is left of a matrix by its best approximation of some rank, shared out to that rank."""
    eigenvalues = np.linalg.eigvalsh(inner)
    total = float(np.abs(eigenvalues).sum())
    return max(float(eigenvalues[: max(0, len(eigenvalues) - rank)].sum()) / rank, total * 1e-10, TINY)


BLOCK = 1 << 22  # kernel values that are held at once
POOL = 1 << 27  # numbers of a factor over the examples among which landmarks are chosen


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A transformer to vectors whose inner products are near a kernel's values."""

    n_components_: int
    kernel_: Kernel
    transform: Callable[[Any], NDArray[Any]]

    def blocks(self, X: Iterable[Any], size: int = 4096) -> Iterator[NDArray[Any]]:
        """`transform`, block by block, of examples that need not be in memory all at once.

        Parameters
        ----------
        X : iterable
            A collection, or an iterator that reads examples as they are asked for; or reads banks of them, as `iter_trees` does,
            each of which is then a block.
        size : int
            Examples of a block, where X is not in blocks itself.

        Examples
        --------
        >>> from treelet import TreeSketch
        >>> trees = ["(NP (D a) (N dog))", "(VP (V sleep))", "(NP (D a) (N cat))"]
        >>> sketch = TreeSketch(n_components=256, random_state=0).fit(trees)
        >>> [block.shape for block in sketch.blocks(iter(trees), size=2)]
        [(2, 256), (1, 256)]
        """
        check_is_fitted(self)
        check_integer("size", size, of=f"{type(self).__name__}.blocks")
        if isinstance(X, Iterator):
            first = list(islice(X, 1))
            if first and isinstance(first[0], Bank | Table):
                yield from map(self.transform, chain(first, X))
                return
            examples = chain(first, X)
            while block := list(islice(examples, size)):
                yield self.transform(block)
            return
        data = self.kernel_.coerce(X)
        for begin in range(0, len(data), size):
            yield self.transform(data[begin : begin + size])

    @property
    def _n_features_out(self) -> int:
        """How many columns there are, for scikit-learn to name them."""
        return self.n_components_


@register
class Nystroem(FeatureMap):
    r"""Turns examples into vectors by their kernel values with some of the training examples, the landmarks.

    With :math:`K_{LL}` the values among landmarks, an example becomes :math:`K_{LL}^{-1/2} K_{L}(x)`, so that the inner products of vectors
    are :math:`K_{XL} K_{LL}^{-1} K_{LX}`: exact between landmarks, and never too large for an example with itself. Any kernel
    will do, on whatever it takes; scikit-learn's class of this name takes arrays only.

    Parameters
    ----------
    kernel : Kernel, optional
        By default ``SubsetTree().normalized()``.
    n_components : int
        How many landmarks, at most.
    sampling : {"uniform", "kmeans++", "leverage"}
        How they are chosen. ``"kmeans++"``: one after the other, with a probability that grows with the squared distance in the kernel's
        space, as in k-means++, but from all that the earlier ones span: randomly pivoted Cholesky. ``"leverage"``: by
        ridge leverage scores, estimated by recursive sampling. Both cost as many kernel values as the vectors of all training examples.
    random_state : int, RandomState or Generator, optional
        For the choice of landmarks.
    n_jobs : int
        Threads; -1 for one a core. The result does not depend on it.
    device : "cpu" or "cuda"
        ``"cuda"``: compute kernel values on a GPU, as `treelet.gram` does. A file of a model does not remember it.
    device_memory : int or str, optional
        How much of the GPU's memory may be taken, such as ``"10GiB"``; by default, what is free.
    progress : bool
        Show a progress bar.

    Attributes
    ----------
    components_ : collection
        The landmarks, as the kernel takes them.
    component_indices_ : ndarray of int
        Which training examples they are.
    normalization_ : ndarray of shape (landmarks, components)
        What kernel values with the landmarks are multiplied by.
    n_components_ : int
        How many numbers a vector has: directions in which landmarks differ by nothing but rounding are left out.
    kernel_ : Kernel
        A copy of the kernel as it was when fitted.

    References
    ----------
    Williams & Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.
    Chen, Epperly, Tropp & Webber, "Randomly pivoted Cholesky", Communications on Pure and Applied Mathematics 78 (2025).
    Musco & Musco, "Recursive sampling for the Nyström method", NIPS 2017.

    Examples
    --------
    >>> from treelet import Nystroem, SubsetTree
    >>> trees = ["(NP (D a) (N dog))", "(NP (D a) (N cat))", "(VP (V sleep))", "(VP (V eat))"]
    >>> vectors = Nystroem(SubsetTree().normalized(), n_components=3, random_state=0).fit_transform(trees)
    >>> vectors.shape
    (4, 3)
    """

    _fitted: ClassVar[tuple[str, ...]] = (
        "components_",
        "component_indices_",
        "normalization_",
        "n_components_",
        "kernel_",
    )

    def __init__(
        self,
        kernel: Kernel | None = None,
        n_components: int = 100,
        *,
        sampling: str = "uniform",
        random_state: Any = None,
        n_jobs: int | None = 1,
        device: str = "cpu",
        device_memory: int | float | str | None = None,
        progress: bool = False,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.sampling = sampling
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.device_memory = device_memory
        self.progress = progress

    @atomic_fit()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose landmarks."""
        self._check_parameters()
        kernel = self._own_kernel()
        data = self._examples(kernel, X)
        if len(data) < self.n_components:
            warnings.warn(
                f"n_components={self.n_components} landmarks are wanted of {len(data)} examples: all are taken",
                TreeletWarning,
                stacklevel=3,
            )
        rng = generator(self.random_state)
        pool = np.arange(len(data))
        if self.sampling != "uniform" and len(data) > (most := max(2, POOL // int(self.n_components))):
            pool = np.sort(rng.choice(len(data), most, replace=False))
        among = data if len(pool) == len(data) else data[pool]

        def between(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Matrix:
            everyone = len(rows) == len(pool) and bool((rows == np.arange(len(pool))).all())
            return self._gram(kernel, among if everyone else among[rows], among[columns])

        diagonal = kernel.diag(among) if self.sampling != "uniform" else np.ones(len(among))
        chosen = landmarks(Values(diagonal, between), int(self.n_components), self.sampling, rng)
        self.component_indices_ = pool[chosen].astype(np.int64)
        self.components_ = compact_examples(kernel, among[chosen])
        self.normalization_ = inverse_root(self._gram(kernel, self.components_))
        self.n_components_ = self.normalization_.shape[1]
        self.kernel_ = kernel
        return self

    def _check_parameters(self) -> None:
        check_integer("n_components", self.n_components, of=self, most=2**31)
        check_one_of("sampling", self.sampling, SAMPLINGS, of=self)
        self._check_resources()

    def transform(self, X: Any) -> Matrix:
        """One vector an example. Kernel values with the landmarks are made block by block."""
        check_is_fitted(self)
        data = self.kernel_.coerce(X)
        out = np.empty((len(data), self.n_components_))
        size = max(1, BLOCK // max(1, len(self.components_)))
        with progress_bar(self.progress, "examples", len(data)) as advance:
            for begin in range(0, len(data), size):
                rows = data[begin : begin + size]
                values = self._gram(self.kernel_, rows, self.components_, progress=False)
                np.matmul(values, self.normalization_, out=out[begin : begin + size])
                advance(len(rows))
        return out

    def _check_fitted_state(self) -> None:
        if not isinstance(getattr(self, "kernel_", None), Kernel):
            raise ValueError("the kernel is missing")
        self.components_ = self._examples(self.kernel_, self.components_)
        n = len(self.components_)
        if whole_numbers(self.component_indices_, 1).shape != (n,) or not are_floats(self.normalization_, 2):
            raise ValueError("the landmarks are not all there")
        if self.normalization_.shape != (n, self.n_components_):
            raise ValueError("landmarks and components do not fit")


@register
class KernelMatrix(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Turns examples into their kernel values with the training examples.

    As the first step of a pipeline it feeds whatever takes ``kernel="precomputed"`` or ``affinity="precomputed"``.
    Cross-validation then splits the examples themselves, not the matrix, so nothing about test rows leaks. Columns are
    called ``kernelmatrix0``, ``kernelmatrix1``, ... after the training examples (``get_feature_names_out``), also in a
    DataFrame (``set_output(transform="pandas")``).

    Parameters
    ----------
    kernel : Kernel, optional
        By default ``SubsetTree().normalized()``.
    n_jobs : int
        Threads; -1 for one a core. The result does not depend on it.
    device : "cpu" or "cuda"
        ``"cuda"``: compute kernel values on a GPU, as `treelet.gram` does. A file of a model does not remember it.
    device_memory : int or str, optional
        How much of the GPU's memory may be taken, such as ``"10GiB"``; by default, what is free.
    progress : bool
        Show a progress bar.

    Attributes
    ----------
    X_fit_ : collection
        The training examples, as the kernel coerces them.
    kernel_ : Kernel
        A copy of the kernel as it was when fitted.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from treelet import KernelMatrix, SubsetTree
    >>> model = make_pipeline(KernelMatrix(SubsetTree()), SVC(kernel="precomputed"))
    >>> model.fit(["(NP (D a) (N dog))", "(VP (V sleep))"], ["thing", "deed"]).predict(["(NP (D a) (N cat))"]).tolist()
    ['thing']
    """

    _fitted: ClassVar[tuple[str, ...]] = ("X_fit_", "kernel_")
    _smaller = "take fewer examples; treelet.gram(..., out='K.npy') makes such a matrix in a file"

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_jobs: int | None = 1,
        device: str = "cpu",
        device_memory: int | float | str | None = None,
        progress: bool = False,
    ) -> None:
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.device = device
        self.device_memory = device_memory
        self.progress = progress

    @atomic_fit()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the training examples."""
        self._check_resources()
        kernel = self._own_kernel()
        self.X_fit_, self.kernel_ = self._kept_examples(kernel, X), kernel
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Matrix:
        """The matrix of the training examples, of which only half is computed."""
        self.fit(X, y)
        return self._gram(self.kernel_, self.X_fit_)

    def transform(self, X: Any) -> Matrix:
        """The matrix of examples x training examples."""
        check_is_fitted(self)
        return self._gram(self.kernel_, self.kernel_.coerce(X), self.X_fit_)

    @property
    def _n_features_out(self) -> int:
        """How many columns there are, for scikit-learn to name them."""
        return len(self.X_fit_)

    def _check_fitted_state(self) -> None:
        if not isinstance(getattr(self, "kernel_", None), Kernel):
            raise ValueError("the kernel is missing")
        self.X_fit_ = self._examples(self.kernel_, self.X_fit_)
