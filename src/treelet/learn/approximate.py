"""Transformers to vectors: `Nystroem` uses landmarks, `KernelMatrix` all training examples."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_integer, check_one_of
from treelet.errors import TreeletWarning
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.base import KernelTransformer
from treelet.learn.fits import atomic_fit, one_fit, snapshot
from treelet.learn.model import compact_examples
from treelet.learn.persist import are_floats, register, whole_numbers
from treelet.progress import progress_bar
from treelet.structures.bank import Bank
from treelet.structures.table import Table
from treelet.work import generator

Rows = NDArray[np.intp]
_SAMPLINGS = ("uniform", "kmeans++", "leverage")
_TINY = 1e-300  # replaces 0 in divisors


class _Values(NamedTuple):
    """Access to kernel values of the examples among which landmarks are chosen."""

    diagonal: Vector
    between: Callable[[Rows, Rows], Matrix]
    """Rows x columns."""


def _landmarks(values: _Values, wanted: int, sampling: str, rng: np.random.Generator) -> Rows:
    """Return the rows of the landmarks, ascending.

    There are fewer than `wanted` if the others add nothing.
    """
    n = len(values.diagonal)
    if wanted >= n:
        return np.arange(n)
    if sampling == "uniform":
        chosen = rng.choice(n, wanted, replace=False)
    else:
        chosen = (_pivots if sampling == "kmeans++" else _by_leverage)(values, wanted, rng)
    return np.sort(chosen).astype(np.intp)


def _pivots(values: _Values, wanted: int, rng: np.random.Generator, at_once: int | None = None) -> Rows:
    """Choose landmarks by randomly pivoted Cholesky (Chen, Epperly, Tropp & Webber 2025).

    The probability of an example is proportional to its squared distance to the span of the earlier
    landmarks. Candidates are drawn in batches. Each is accepted with the ratio of its current
    distance to its distance at the time of the draw, which gives the same distribution (Epperly,
    Tropp & Webber 2024).
    """
    n = len(values.diagonal)
    everyone = np.arange(n)
    left = values.diagonal.astype(np.float64).copy()
    nothing = left.max(initial=0) * n * np.finfo(float).eps
    factor = np.empty((n, wanted))
    chosen: list[int] = []
    while len(chosen) < wanted and left.sum() > nothing:
        size = min(at_once or max(1, wanted // 10), wanted - len(chosen))
        drawn = rng.choice(n, size, p=left / left.sum())
        done = factor[:, : len(chosen)]
        residual = values.between(drawn, drawn) - done[drawn] @ done[drawn].T
        taken: list[int] = []
        for number, candidate in enumerate(drawn):
            if rng.random() * left[candidate] < residual[number, number] and residual[number, number] > nothing:
                column = residual[:, number].copy() / math.sqrt(residual[number, number])
                residual -= np.outer(column, column)
                taken.append(int(candidate))
        if not taken:
            # Distances that are only rounding error become 0. Otherwise such candidates would be drawn forever.
            distances = residual.diagonal()
            left[drawn] = np.where(distances > nothing, np.minimum(left[drawn], distances), 0)
            continue
        begin = len(chosen)
        columns = values.between(everyone, np.array(taken)) - done @ done[taken].T
        factor[:, begin : begin + len(taken)] = columns @ _inverse_root(columns[taken], keep=True)
        chosen += taken
        left = np.maximum(left - np.square(factor[:, begin : len(chosen)]).sum(axis=1), 0)
        left[taken] = 0
    return np.array(chosen, dtype=np.intp)


def _inverse_root(K: Matrix, *, keep: bool = False) -> Matrix:
    """Return a matrix W such that W W' is the pseudoinverse of K.

    Directions whose eigenvalue is only rounding error have no column in W. If `keep` is true, they
    have a column of zeros.
    """
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    nonzero = values > values.max(initial=0) * len(K) * np.finfo(float).eps * 10
    root: Matrix = np.where(nonzero, vectors / np.sqrt(np.where(nonzero, values, 1)), 0)
    return np.ascontiguousarray((root if keep else root[:, nonzero])[:, ::-1])


def _by_leverage(values: _Values, wanted: int, rng: np.random.Generator) -> Rows:
    """Choose landmarks with probabilities that grow with their ridge leverage scores.

    Scores are estimated from a sample of half the examples, whose scores are estimated from half of
    these, and so on (recursive sampling, Musco & Musco 2017).
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
        solved = np.linalg.solve(inner + np.diag(np.maximum(ridge / weight**2, _TINY)), between.T)
        scores = np.maximum(values.diagonal[rows] - (between * solved.T).sum(axis=1), 0) / ridge
        if size == n:
            break
        chance = np.minimum(1.0, more * scores)
        taken = np.flatnonzero(rng.random(size) < chance)
        if len(taken) == 0:
            taken = rng.choice(size, min(wanted, size), replace=False)
        sample, weight = rows[taken], 1 / np.sqrt(np.maximum(chance[taken], 1e-12))
    scores = np.minimum(scores, 1.0) + 1e-12  # No example has probability 0.
    chosen = rng.choice(n, wanted, replace=False, p=scores / scores.sum())
    return np.asarray(order[chosen], dtype=np.intp)


def _ridge(inner: Matrix, rank: int) -> float:
    """Return the trace of the error of the best approximation of that rank, divided by the rank."""
    eigenvalues = np.linalg.eigvalsh(inner)
    total = float(np.abs(eigenvalues).sum())
    return max(float(eigenvalues[: max(0, len(eigenvalues) - rank)].sum()) / rank, total * 1e-10, _TINY)


_BLOCK = 1 << 22  # maximum number of kernel values in memory during transform
_POOL = 1 << 27  # maximum size of the factor (examples x landmarks) while landmarks are chosen


class FeatureMap(ClassNamePrefixFeaturesOutMixin, KernelTransformer):  # type: ignore[misc]  # scikit-learn has no types
    """Base of transformers to vectors whose inner products approximate a kernel."""

    n_components_: int
    kernel_: Kernel
    transform: Callable[[Any], NDArray[Any]]

    @one_fit
    def blocks(self, X: Iterable[Any], size: int = 4096) -> Iterator[NDArray[Any]]:
        """Transform examples block by block, without all of them in memory.

        Parameters
        ----------
        X : iterable
            A collection, or an iterator of examples, or an iterator of banks such as `iter_trees`.
            Each bank is one block.
        size : int, default 4096
            Number of examples per block, unless X is an iterator of banks.

        Yields
        ------
        ndarray of shape (number of examples in the block, number of components)
            The result of `transform` for each block.

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
        data = self._coerced(self.kernel_, X)
        for begin in range(0, len(data), size):
            yield self.transform(data[begin : begin + size])

    @property
    def _n_features_out(self) -> int:
        """Number of columns, which scikit-learn needs for their names."""
        return self.n_components_


@register
class Nystroem(FeatureMap):
    r"""Approximate feature map of any kernel by the Nyström method.

    An example becomes the vector :math:`K_{LL}^{-1/2} K_{L}(x)`, where L are the landmarks, a
    sample of the training examples. The inner products of vectors are :math:`K_{XL} K_{LL}^{-1}
    K_{LX}`. They are exact between landmarks, and never too large for an example with itself. A
    linear model on these vectors approximates a kernel machine. Any kernel and its examples can be
    used, while scikit-learn's class of the same name accepts only arrays.

    Parameters
    ----------
    kernel : Kernel, optional
        Default: ``SubsetTree().normalized()``.
    n_components : int, default 100
        Maximum number of landmarks, at least 1. More landmarks give a better approximation.
    sampling : {"uniform", "kmeans++", "leverage"}, default "uniform"
        How to choose landmarks. ``"uniform"`` draws them at random. ``"kmeans++"`` draws them one
        after the other, with probabilities that grow with the squared distance to the span of the
        earlier landmarks in feature space (randomly pivoted Cholesky). ``"leverage"`` draws them by
        ridge leverage scores, estimated by recursive sampling. Both ``"kmeans++"`` and
        ``"leverage"`` compute as many kernel values as the transformation of all training examples.
    random_state : int, RandomState or Generator, optional
        Seed for the choice of landmarks.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core. Results do not depend on `n_jobs`.

    Attributes
    ----------
    components_ : collection of examples
        The landmarks, in the form that the kernel computes with.
    component_indices_ : ndarray of int
        Indices of the landmarks among the training examples.
    normalization_ : ndarray of shape (n_landmarks, number of components)
        The matrix :math:`K_{LL}^{-1/2}`.
    n_components_ : int
        Number of columns of the result. It is smaller than the number of landmarks if these are
        linearly dependent in feature space, up to rounding.
    kernel_ : Kernel
        A copy of the kernel, made by `fit`.

    See Also
    --------
    TreeSketch : random features of tree kernels, without landmarks.

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
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.sampling = sampling
        self.random_state = random_state
        self.n_jobs = n_jobs

    @atomic_fit()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the landmarks.

        Parameters
        ----------
        X : collection of examples
            Any form that the kernel accepts.
        y : ignored

        Returns
        -------
        Nystroem
            The fitted estimator.
        """
        self._check_parameters()
        kernel = self._own_kernel()
        data = self._examples(kernel, X)
        if len(data) < self.n_components:
            warnings.warn(
                f"n_components={self.n_components} exceeds the number of training examples, {len(data):,}, so all "
                "examples become landmarks.",
                TreeletWarning,
                stacklevel=3,
            )
        rng = generator(self.random_state)
        pool = np.arange(len(data))
        if self.sampling != "uniform" and len(data) > (most := max(2, _POOL // int(self.n_components))):
            pool = np.sort(rng.choice(len(data), most, replace=False))
        among = data if len(pool) == len(data) else data[pool]

        def between(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Matrix:
            everyone = len(rows) == len(pool) and bool((rows == np.arange(len(pool))).all())
            return self._gram(kernel, among if everyone else among[rows], among[columns])

        diagonal = kernel.diag(among) if self.sampling != "uniform" else np.ones(len(among))
        chosen = _landmarks(_Values(diagonal, between), int(self.n_components), self.sampling, rng)
        self.component_indices_ = pool[chosen].astype(np.int64)
        self.components_ = compact_examples(kernel, among[chosen])
        self.normalization_ = _inverse_root(self._gram(kernel, self.components_))
        self.n_components_ = self.normalization_.shape[1]
        self.kernel_ = kernel
        return self

    def _check_parameters(self) -> None:
        check_integer("n_components", self.n_components, of=self, most=2**31)
        check_one_of("sampling", self.sampling, _SAMPLINGS, of=self)
        super()._check_parameters()

    def transform(self, X: Any) -> Matrix:
        """Return one vector per example. Kernel values with the landmarks are computed block by block.

        Parameters
        ----------
        X : collection of examples

        Returns
        -------
        ndarray of shape (len(X), number of components)
        """
        check_is_fitted(self)
        data = self._coerced(self.kernel_, X)
        out = np.empty((len(data), self.n_components_))
        size = max(1, _BLOCK // max(1, len(self.components_)))
        with progress_bar(self._resources.progress, "examples", len(data)) as advance:
            for begin in range(0, len(data), size):
                rows = data[begin : begin + size]
                values = self._gram(self.kernel_, rows, self.components_)
                np.matmul(values, self.normalization_, out=out[begin : begin + size])
                advance(len(rows))
        return out

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        self.components_ = self._examples(self.kernel_, self.components_)
        n = len(self.components_)
        if whole_numbers(self.component_indices_, 1).shape != (n,) or not are_floats(self.normalization_, 2):
            raise ValueError("some landmarks are missing")
        if self.normalization_.shape != (n, self.n_components_):
            raise ValueError("landmarks and components do not match")


@register
class KernelMatrix(ClassNamePrefixFeaturesOutMixin, KernelTransformer):  # type: ignore[misc]  # scikit-learn has no types
    """Transformer to the kernel values with all training examples.

    Use this transformer as the first step of a pipeline, before any estimator of scikit-learn that
    supports ``kernel="precomputed"`` or ``affinity="precomputed"``. Cross-validation then splits
    the examples instead of the matrix, so no information about test examples leaks. The columns are
    named ``kernelmatrix0``, ``kernelmatrix1``, ..., one per training example
    (``get_feature_names_out``), also in a DataFrame (``set_output(transform="pandas")``).

    Parameters
    ----------
    kernel : Kernel, optional
        Default: ``SubsetTree().normalized()``.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core. Results do not depend on `n_jobs`.

    Attributes
    ----------
    X_fit_ : collection of examples
        The training examples, in the form that the kernel computes with.
    kernel_ : Kernel
        A copy of the kernel, made by `fit`.

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
    _smaller = "use fewer examples, or compute the matrix in a file with treelet.gram(..., out='K.npy')"

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_jobs: int | None = 1,
    ) -> None:
        self.kernel = kernel
        self.n_jobs = n_jobs

    @atomic_fit()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the training examples.

        Parameters
        ----------
        X : collection of examples
            Any form that the kernel accepts.
        y : ignored

        Returns
        -------
        KernelMatrix
            The fitted estimator.
        """
        self._check_parameters()
        kernel = self._own_kernel()
        self.X_fit_, self.kernel_ = self._kept_examples(kernel, X), kernel
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Matrix:
        """Fit to X and return the square kernel matrix of X, computing only half of the values."""
        fitted = snapshot(self.fit(X, y))
        return fitted._gram(fitted.kernel_, fitted.X_fit_)  # type: ignore[no-any-return]

    def transform(self, X: Any) -> Matrix:
        """Return the kernel matrix of X with the training examples.

        Parameters
        ----------
        X : collection of examples

        Returns
        -------
        ndarray of shape (len(X), len(X_fit_))
        """
        check_is_fitted(self)
        return self._gram(self.kernel_, self._coerced(self.kernel_, X), self.X_fit_)

    @property
    def _n_features_out(self) -> int:
        """Number of columns, which scikit-learn needs for their names."""
        return len(self.X_fit_)
