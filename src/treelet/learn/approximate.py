"""Transformers to vectors: `Nystroem` uses landmarks, `KernelMatrix` all training examples, `TreeSketch` random features."""

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

from treelet import _core
from treelet.checks import check_boolean, check_integer, check_one_of, is_integer, plural, wrong
from treelet.errors import KernelOverflowError, NotEnoughMemoryError, TreeletWarning
from treelet.kernels import PartialTree, SubsetTree
from treelet.kernels.algebra import Normalized
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.base import KernelTransformer
from treelet.learn.fits import atomic_fit, one_fit, snapshot
from treelet.learn.model import compact_examples
from treelet.learn.persist import are_floats, register, whole_numbers
from treelet.resources import count_threads
from treelet.structures.bank import Bank
from treelet.structures.table import Table
from treelet.structures.treebank import Treebank
from treelet.work import generator, progress_bar, run, seed_of

Rows = NDArray[np.intp]
_SAMPLINGS = ("uniform", "kmeans++", "leverage")
_TINY = 1e-300  # replaces 0 in divisors


Between = Callable[[Rows, Rows], Matrix]  # the kernel values of rows x columns


def pivoted_cholesky(
    diagonal: Vector, between: Between, wanted: int, rng: np.random.Generator, at_once: int | None = None
) -> tuple[Rows, Matrix]:
    """Return landmarks and features by randomly pivoted Cholesky (Chen, Epperly, Tropp & Webber 2025).

    The inner products of the features, examples x landmarks, approximate the kernel matrix.

    The probability of an example is proportional to its squared distance to the span of the earlier
    landmarks. Candidates are drawn in batches. Each is accepted with the ratio of its current
    distance to its distance at the time of the draw, which gives the same distribution (Epperly,
    Tropp & Webber 2024).
    """
    n = len(diagonal)
    everyone = np.arange(n)
    left = diagonal.astype(np.float64).copy()
    nothing = left.max(initial=0) * n * np.finfo(float).eps
    factor = np.empty((n, wanted))
    chosen: list[int] = []
    while len(chosen) < wanted and left.sum() > nothing:
        size = min(at_once or max(1, wanted // 10), wanted - len(chosen))
        drawn = rng.choice(n, size, p=left / left.sum())
        done = factor[:, : len(chosen)]
        residual = between(drawn, drawn) - done[drawn] @ done[drawn].T
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
        columns = between(everyone, np.array(taken)) - done @ done[taken].T
        factor[:, begin : begin + len(taken)] = columns @ _inverse_root(columns[taken], keep=True)
        chosen += taken
        left = np.maximum(left - np.square(factor[:, begin : len(chosen)]).sum(axis=1), 0)
        left[taken] = 0
    return np.array(chosen, dtype=np.intp), factor[:, : len(chosen)]


def _inverse_root(K: Matrix, *, keep: bool = False) -> Matrix:
    """Return a matrix W such that W W' is the pseudoinverse of K.

    Directions whose eigenvalue is only rounding error have no column in W. If `keep` is true, they
    have a column of zeros.
    """
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    nonzero = values > values.max(initial=0) * len(K) * np.finfo(float).eps * 10
    root: Matrix = np.where(nonzero, vectors / np.sqrt(np.where(nonzero, values, 1)), 0)
    return np.ascontiguousarray((root if keep else root[:, nonzero])[:, ::-1])


def _by_leverage(diagonal: Vector, between: Between, wanted: int, rng: np.random.Generator) -> Rows:
    """Choose landmarks with probabilities that grow with their ridge leverage scores.

    Scores are estimated from a sample of half the examples, whose scores are estimated from half of
    these, and so on (recursive sampling, Musco & Musco 2017).
    """
    n = len(diagonal)
    more = math.log(max(wanted, 3))
    rank = max(1, math.ceil(wanted / (4 * more)))
    order = rng.permutation(n)
    sizes = [n]
    while sizes[-1] > 2 * wanted:
        sizes.append(math.ceil(sizes[-1] / 2))
    sample, weight = order[: min(wanted, sizes[-1])], np.ones(min(wanted, sizes[-1]))
    for size in reversed(sizes):
        rows = order[:size]
        across, inner = between(rows, sample), between(sample, sample)
        # The trace of the error of the best approximation of that rank, divided by the rank
        eigenvalues = np.linalg.eigvalsh(inner * np.outer(weight, weight))
        error = float(eigenvalues[: max(0, len(eigenvalues) - rank)].sum())
        ridge = max(error / rank, float(np.abs(eigenvalues).sum()) * 1e-10, _TINY)
        solved = np.linalg.solve(inner + np.diag(np.maximum(ridge / weight**2, _TINY)), across.T)
        scores = np.maximum(diagonal[rows] - (across * solved.T).sum(axis=1), 0) / ridge
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


_BLOCK = 1 << 22  # maximum number of kernel values in memory during transform
_POOL = 1 << 27  # maximum size of the factor (examples x landmarks) while landmarks are chosen


class _FeatureMap(ClassNamePrefixFeaturesOutMixin, KernelTransformer):  # type: ignore[misc]  # scikit-learn has no types
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
class Nystroem(_FeatureMap):
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
        if self.n_components >= len(pool):
            chosen = np.arange(len(pool))
        elif self.sampling == "uniform":
            chosen = np.sort(rng.choice(len(pool), int(self.n_components), replace=False))
        else:  # There are fewer landmarks if the others add nothing.
            wanted = int(self.n_components)
            if self.sampling == "kmeans++":
                chosen, _ = pivoted_cholesky(diagonal, between, wanted, rng)
            else:
                chosen = _by_leverage(diagonal, between, wanted, rng)
            chosen = np.sort(chosen).astype(np.intp)
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


# --- random features of tree kernels ----------------------------------------------------------------------------------

_ROWS = 256  # trees per task of a thread
_SMALLEST = 1e-6  # Smaller decays exceed the range of a float32.
Features = NDArray[Any]


@register
class TreeSketch(_FeatureMap):
    r"""Approximate feature map of a tree kernel by random features.

    Every fragment :math:`f` has a random vector :math:`\varphi(f)`. The vector of a tree is the sum
    of the vectors of its fragments, with their weights in the kernel. Fragments are not enumerated:
    the sum over all fragments at a node is computed from the sums of its children, and equal
    subtrees are processed once. A linear model on these vectors, such as ``LinearSVC`` or
    ``SGDClassifier``, approximates a kernel machine. Its cost grows with the number of trees
    instead of the number of pairs.

    The smallest fragments are single nodes, and nodes with one of their children. Those with the
    largest weight in the fitted trees have a coordinate of their own and are counted exactly. All
    other fragments share the remaining coordinates.

    Parameters
    ----------
    kernel : SubsetTree or PartialTree, optional
        The kernel, normalized or not. Normalization uses exact self-values. Default:
        ``SubsetTree().normalized()``.
    n_components : int, default 4096
        Number of columns of the result, at least 2. More columns give a better approximation.
    exact : int or "auto", default "auto"
        Number of columns that count one fragment exactly, from 0 to ``n_components - 2``.
        ``"auto"`` minimizes the expected error.
    min_trees : int or "auto", default "auto"
        Drop fragments that contain a node, or a child of a node, which occurs in fewer than
        `min_trees` of the fitted trees. See Notes. 1 keeps all fragments. ``"auto"`` is 2 if there
        are at least 100 fitted trees, and otherwise 1.
    random_state : int, RandomState or Generator, optional
        Seed for the vectors of the fragments. Nothing else is random.
    dtype : {"float32", "float64"}, default "float32"
        Type of the result. All computations use single precision, whose rounding errors are far
        below the error of the sketch.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core. Results do not depend on `n_jobs`, to the
        last bit.

    Attributes
    ----------
    kernel_ : Kernel
        A copy of the kernel, made by `fit`.
    n_components_, n_exact_ : int
        Number of columns, and how many of them count one fragment exactly.
    seed_ : int
        The seed of the random vectors.
    error_ : float
        The expected root mean squared error of a normalized kernel value, by the formula below.

    See Also
    --------
    Nystroem : approximate feature map of any kernel, with landmarks.

    Notes
    -----
    The mean of an inner product over seeds is the kernel value, except for a relative bias of order
    ``1 / n_components`` from fragments that contain the same production twice. The variance is
    about

    .. math:: \frac{R(x, x) R(y, y) + R(x, y)^2}{d - h}

    where R is the kernel without the h fragments that are counted exactly, and d is the number of
    components. See ``docs/approximate.md``.

    Rare fragments contribute much to the self-value of a tree, which increases the variance, but
    hardly anything to the kernel value of two trees. With ``min_trees=2``, the inner product of any
    two different fitted trees is unbiased and has a smaller error. The inner product of a tree with
    itself is too small. In new trees, fragments that are rare or absent in the fitted trees are
    ignored.

    The vectors of `transform` are for inner products. Do not compare them by cosine: without rare
    fragments they have different lengths, and dividing by the length lowers the correlation with
    the kernel, for example from 0.998 to 0.90. Vector databases that compare by cosine or by
    Euclidean distance need `unit_vectors`.

    Use `blocks` to transform an iterator over any number of trees.

    References
    ----------
    Zanzotto & Dell'Arciprete, "Distributed tree kernels", ICML 2012.
    Pham & Pagh, "Fast and scalable polynomial kernels via explicit feature maps", KDD 2013.
    Neyshabur & Srebro, "On symmetric and asymmetric LSHs for inner product search", ICML 2015.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from treelet import SubsetTree, TreeSketch
    >>> trees = ["(NP (D a) (N dog))", "(NP (D a) (N cat))", "(VP (V sleep))"]
    >>> vectors = TreeSketch(SubsetTree().normalized(), random_state=0).fit_transform(trees)
    >>> bool(abs(vectors @ vectors.T - SubsetTree().normalized()(trees)).max() < 0.05)
    True
    >>> model = make_pipeline(TreeSketch(random_state=0), LinearSVC()).fit(trees, ["thing", "thing", "deed"])
    >>> model.predict(["(NP (D the) (N cat))"]).tolist()
    ['thing']
    """

    _kernels = "a SubsetTree or PartialTree kernel, normalized or not, or None"
    _fitted: ClassVar[tuple[str, ...]] = (
        "kernel_",
        "seed_",
        "n_components_",
        "n_exact_",
        "error_",
        "keys_",
        "coordinates_",
        "only_known_",
    )

    def __init__(
        self,
        kernel: Kernel | None = None,
        n_components: int = 4096,
        *,
        exact: int | str = "auto",
        min_trees: int | str = "auto",
        random_state: Any = None,
        dtype: str = "float32",
        n_jobs: int | None = 1,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.exact = exact
        self.min_trees = min_trees
        self.random_state = random_state
        self.dtype = dtype
        self.n_jobs = n_jobs

    @atomic_fit()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the fragments to count exactly and the fragments to drop, and draw a seed.

        Parameters
        ----------
        X : collection of trees
            Any form that the kernel accepts.
        y : ignored

        Returns
        -------
        TreeSketch
            The fitted estimator.
        """
        self._check_parameters()
        kernel = self._own_kernel()
        try:
            sketched = _Sketched.of(kernel)
        except ValueError:
            raise self._wrong_kernel() from None
        sketched.check()
        bank = self._examples(kernel, X)
        self.kernel_, self.seed_, self.n_components_ = kernel, seed_of(self.random_state), int(self.n_components)
        least = (2 if len(bank) >= 100 else 1) if self.min_trees == "auto" else int(self.min_trees)
        self.only_known_ = least > 1
        keys, mass = sketched.parts(bank, least)
        left = self._left(sketched, bank, keys) if self.only_known_ else 1.0
        self.n_exact_, self.error_ = _best_split(mass, left, self.n_components, self.exact)
        known = len(keys) if self.only_known_ else self.n_exact_
        self.keys_ = keys[:known].copy()
        self.coordinates_ = np.where(np.arange(known) < self.n_exact_, np.arange(known), -1).astype(np.int32)
        return self

    def _check_parameters(self) -> None:
        check_integer("n_components", self.n_components, 2, of=self, most=2**31)
        if self.min_trees != "auto" and not is_integer(self.min_trees, 1):
            raise self._refuse("min_trees", "'auto' or an int of at least 1")
        if self.exact != "auto" and not is_integer(self.exact, 0, self.n_components - 2):
            raise self._refuse("exact", f"'auto' or an int from 0 to {self.n_components - 2} (n_components - 2)")
        check_one_of("dtype", self.dtype, ("float32", "float64"), of=self)
        count_threads(self.n_jobs, of=self)

    def _left(self, sketched: _Sketched, bank: Treebank, keys: NDArray[np.uint64]) -> float:
        """Estimate the mean self-value of normalized trees without rare fragments, by a small sketch of a sample."""
        some = bank[np.linspace(0, len(bank) - 1, min(512, len(bank))).astype(np.int64)]
        counted = np.arange(len(keys))
        counted[1024:] = -1  # these share the random features
        probe = sketched.native(256, self.seed_, keys, counted.astype(np.int32), True)
        vectors = np.empty((len(some), probe.width), np.float32)
        sketched.write(probe, some, sketched.logs(some), vectors)
        return float(np.square(vectors.astype(np.float64)).sum(axis=1).mean())

    def transform(self, X: Any) -> Features:
        """Return one vector per tree. The vector of a missing tree is zero.

        Parameters
        ----------
        X : collection of trees

        Returns
        -------
        ndarray of shape (len(X), n_components_)
        """
        check_is_fitted(self)
        return self._vectors(X, self.n_components_)

    @one_fit
    def unit_vectors(self, X: Any, *, queries: bool = False) -> Features:
        r"""Return one vector of length 1 per tree, for engines that compare by cosine or distance.

        The cosine of a stored vector and a query vector is the inner product of `transform`. Rank
        by cosine, by inner product or by Euclidean distance: the order is the same.

        Parameters
        ----------
        X : collection of trees
        queries : bool, default False
            False for the trees to store in an engine, True for the trees to search for. Compare
            stored vectors only with query vectors: the cosine of two stored vectors, or of two
            query vectors, is too large.

        Returns
        -------
        ndarray of shape (len(X), n_components_ + 2)
            The vectors of `transform` and two more columns. The missing length of a stored tree is
            in the first of them, and the missing length of a query in the second.

        Raises
        ------
        ParameterError
            If the kernel is not normalized.

        Notes
        -----
        Let s(x) be the vector of `transform`. A stored tree has the vector
        :math:`(s(x), \sqrt{1 - |s(x)|^2}, 0)`, and a query :math:`(s(y), 0, \sqrt{1 - |s(y)|^2})`.
        Both have length 1, and their inner product is :math:`s(x) \cdot s(y)`. If random errors
        make s(x) longer than 1, it is shortened to 1. A missing tree has the inner product 0 with
        every query. The cosine of a tree with itself is :math:`|s(x)|^2`, which is below 1 without
        rare fragments: compute exact kernel values of the trees that an engine returns. See
        ``docs/ten-million-trees.md``.

        Examples
        --------
        >>> from treelet import SubsetTree, TreeSketch
        >>> trees = ["(NP (D a) (N dog))", "(NP (D a) (N cat))", "(VP (V sleep))"]
        >>> sketch = TreeSketch(SubsetTree().normalized(), 1024, random_state=0).fit(trees)
        >>> cosines = sketch.unit_vectors(["(NP (D the) (N cat))"], queries=True) @ sketch.unit_vectors(trees).T
        >>> int(cosines.argmax())
        1
        """
        check_is_fitted(self)
        check_boolean("queries", queries, of="TreeSketch.unit_vectors")
        if not _Sketched.of(self.kernel_).normalized:
            raise wrong("kernel", "normalized for TreeSketch.unit_vectors", self.kernel_, of=self)
        return self._vectors(X, self.n_components_ + 2, self.n_components_ + bool(queries))

    def _vectors(self, X: Any, columns: int, missing: int | None = None) -> Features:
        """Return one vector per tree, with zeros after the columns of the sketch.

        With `missing`, the length that a vector lacks to 1 is in this column.
        """
        bank = self._coerced(self.kernel_, X)
        sketched, waves = _Sketched.of(self.kernel_), (self.n_components_ - self.n_exact_) // 2
        native = sketched.native(waves, self.seed_, self.keys_, self.coordinates_, self.only_known_)
        try:
            out = np.empty((len(bank), columns), self.dtype)
        except MemoryError:
            size = len(bank) * columns * np.dtype(self.dtype).itemsize
            raise NotEnoughMemoryError(
                f"The vectors of {plural(len(bank), 'tree')} take {size:,} bytes and do not fit in memory. Use a smaller "
                "n_components=, or transform block by block with TreeSketch.blocks."
            ) from None
        as_they_are = out.dtype == np.float32

        def work(begin: int) -> int:
            rows = slice(begin, begin + _ROWS)
            part = bank[rows]
            vectors = out[rows, : native.width] if as_they_are else np.empty((len(part), native.width), np.float32)
            logs = sketched.logs(part) if sketched.normalized else np.zeros(len(part))
            large = sketched.write(native, part, logs, vectors)
            if large is not None:
                raise KernelOverflowError(
                    f"The vector of tree {begin + large} is too large for a float32: self-values of {self.kernel_!r} grow "
                    "exponentially with the size of a tree. Use a smaller lam="
                    f"{'' if sketched.normalized else ', or kernel.normalized()'}."
                )
            if not as_they_are:
                out[rows, : native.width] = vectors
            out[rows, native.width :] = 0
            if missing is not None:
                squared = np.square(vectors, dtype=np.float64).sum(axis=1)
                out[rows, : native.width] /= np.sqrt(np.maximum(squared, 1.0))[:, None]
                out[rows, missing] = np.sqrt(np.maximum(1.0 - squared, 0.0))
            return len(part)

        resources = self._resources
        with progress_bar(resources.progress, "trees", len(bank)) as advance:
            run(work, range(0, len(bank), _ROWS), resources.threads, advance)
        return out

    def _check_fitted_state(self) -> None:
        _Sketched.of(getattr(self, "kernel_", None))
        keys, coordinates = self.keys_, self.coordinates_
        if not isinstance(keys, np.ndarray) or keys.dtype != np.uint64 or keys.ndim != 1:
            raise ValueError("the known fragments are missing")
        if not isinstance(coordinates, np.ndarray) or coordinates.dtype != np.int32 or coordinates.shape != keys.shape:
            raise ValueError("the coordinates of the known fragments are missing")
        exact = np.sort(coordinates[coordinates >= 0])
        if not is_integer(self.n_exact_, 0) or not np.array_equal(exact, np.arange(self.n_exact_)):
            raise ValueError("some exact coordinates are missing")
        if not is_integer(self.n_components_, self.n_exact_ + 2, 2**31) or not is_integer(self.seed_, 0, 2**63):
            raise ValueError("the size or the seed of the sketch is out of range")
        check_boolean("only_known_", self.only_known_)


class _Sketched(NamedTuple):
    """A kernel that can be sketched, in the form of the native core."""

    kernel: SubsetTree | PartialTree
    normalized: bool

    @staticmethod
    def of(kernel: object) -> _Sketched:
        """Wrap a kernel; raise ValueError if it cannot be sketched."""
        inner: object = kernel.kernel if isinstance(kernel, Normalized) else kernel
        if not isinstance(inner, (SubsetTree, PartialTree)) or type(inner) not in (SubsetTree, PartialTree):
            raise ValueError("the kernel cannot be sketched")
        return _Sketched(inner, inner is not kernel)

    @property
    def partial(self) -> bool:
        return isinstance(self.kernel, PartialTree)

    def check(self) -> None:
        """Raise ParameterError if the parameters of the kernel do not allow a sketch."""
        for name in ("lam", "mu"):
            if getattr(self.kernel, name, 1.0) < _SMALLEST:
                raise wrong(name, f"at least {_SMALLEST:g} for TreeSketch", getattr(self.kernel, name), of=self.kernel)
        if isinstance(self.kernel, PartialTree) and self.kernel.terminal_factor != 1:
            raise wrong("terminal_factor", "1 for TreeSketch", self.kernel.terminal_factor, of=self.kernel)

    def native(self, waves: int, seed: int, keys: Any, coordinates: Any, only_known: bool) -> Any:
        depth = min(getattr(self.kernel, "max_depth", None) or 0, 2**31 - 1)
        lam, mu = float(self.kernel.lam), float(getattr(self.kernel, "mu", 1.0))
        return _core.TreeSketch(
            self.partial, lam, mu, depth, bool(self.kernel.leaves), waves, seed, keys, coordinates, only_known
        )

    def logs(self, bank: Treebank) -> Vector:
        """Return the logarithms of exact self-values."""
        return self.kernel.self_values(bank, logs=True)

    def write(self, native: Any, bank: Treebank, logs: Vector, out: Features) -> int | None:
        """Write the vectors of trees to `out`; return the first tree whose vector overflows, or None."""
        store, roots = bank.columns
        large: int | None = native.rows(store, bank.weights(), roots, np.ascontiguousarray(logs), 0, len(bank), out)
        return large

    def parts(self, bank: Treebank, min_trees: int) -> tuple[NDArray[np.uint64], Vector]:
        """Return the keys of the smallest fragments, and their average shares of normalized self-values.

        These are single nodes and nodes with one child, in descending order of weight.
        """
        pairs = getattr(self.kernel, "max_depth", None) != 1
        counts = _core.PartCounts(self.partial, bool(self.kernel.leaves), pairs)
        for begin in range(0, len(bank), _ROWS):
            some = bank[begin : begin + _ROWS]
            logs = self.logs(some)
            finite = np.isfinite(logs)
            # 1 / exp(logs), or 0 for a tree without fragments
            counts.add(some.columns.store, some.weights(), np.where(finite, np.exp(-np.where(finite, logs, 0)), 0.0))
        native = self.native(1, 0, np.empty(0, np.uint64), np.empty(0, np.int32), False)
        weight = np.where(counts.pair == 1, native.pair_weight, native.single_weight)
        chosen = np.flatnonzero(counts.trees >= min_trees)
        mass = (counts.mass * weight**2)[chosen] / len(bank)
        order = np.lexsort((counts.key[chosen], -mass))
        return counts.key[chosen][order], mass[order]


def _best_split(mass: Vector, left: float, components: int, exact: int | str) -> tuple[int, float]:
    """Return how many fragments to count exactly, and the expected error.

    The remaining part R of the kernel has the variance R^2 / (components - exact).
    """
    most = min(len(mass), components - 2)
    rest = np.maximum(left - np.concatenate([[0.0], np.cumsum(mass[:most])]), 0.0)
    error = rest / np.sqrt(components - np.arange(most + 1))
    chosen = int(error.argmin()) if exact == "auto" else min(int(exact), most)
    if (components - chosen) % 2 and chosen < most:  # A random feature takes two columns, so their number must be even.
        chosen += 1
    return chosen, float(error[chosen])
