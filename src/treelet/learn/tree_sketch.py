"""Random features of trees, whose inner products approximate a tree kernel."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treelet import _core
from treelet.checks import check_boolean, check_integer, check_one_of, is_integer, plural, wrong
from treelet.errors import KernelOverflowError, NotEnoughMemoryError
from treelet.kernels import PartialTree, SubsetTree
from treelet.kernels.algebra import Normalized
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Vector
from treelet.learn.approximate import FeatureMap
from treelet.learn.fits import atomic_fit, one_fit
from treelet.learn.persist import register
from treelet.progress import progress_bar
from treelet.resources import count_threads
from treelet.structures.treebank import Treebank
from treelet.work import run, seed_of

_ROWS = 256  # trees per task of a thread
_MANY = 100  # number of fitted trees from which min_trees="auto" is 2
_SMALLEST = 1e-6  # Smaller decays exceed the range of a float32.
_PROBED = 512  # trees in the estimate of the share of the kernel that remains without rare fragments
_PROBE_WAVES = 256
_PROBE_EXACT = 1024
Features = NDArray[Any]


@register
class TreeSketch(FeatureMap):
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
        least = (2 if len(bank) >= _MANY else 1) if self.min_trees == "auto" else int(self.min_trees)
        self.only_known_ = least > 1
        parts = sketched.parts(bank, least)
        left = self._left(sketched, bank, parts) if self.only_known_ else 1.0
        self.n_exact_, self.error_ = _best_split(parts.mass, left, self.n_components, self.exact)
        known = len(parts.key) if self.only_known_ else self.n_exact_
        self.keys_ = parts.key[:known].copy()
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

    def _left(self, sketched: _Sketched, bank: Treebank, parts: _Parts) -> float:
        """Estimate the mean self-value of normalized trees without rare fragments, by a small sketch of a sample."""
        some = bank[np.linspace(0, len(bank) - 1, min(_PROBED, len(bank))).astype(np.int64)]
        counted = np.arange(len(parts.key))
        counted[_PROBE_EXACT:] = -1
        probe = sketched.native(_PROBE_WAVES, self.seed_, parts.key, counted.astype(np.int32), True)
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
        sketched, native = self._native()
        out = self._room(len(bank), columns)
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

    def _room(self, n: int, columns: int) -> Features:
        try:
            return np.empty((n, columns), self.dtype)
        except MemoryError:
            raise NotEnoughMemoryError(
                f"The vectors of {plural(n, 'tree')} take {n * columns * np.dtype(self.dtype).itemsize:,} bytes and do not "
                "fit in memory. Use a smaller n_components=, or transform block by block with TreeSketch.blocks."
            ) from None

    def _native(self) -> tuple[_Sketched, Any]:
        sketched = _Sketched.of(self.kernel_)
        waves = (self.n_components_ - self.n_exact_) // 2
        return sketched, sketched.native(waves, self.seed_, self.keys_, self.coordinates_, self.only_known_)

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

    def parts(self, bank: Treebank, min_trees: int) -> _Parts:
        """Return the smallest fragments, single nodes and nodes with one child, in descending order of weight."""
        pairs = getattr(self.kernel, "max_depth", None) != 1
        counts = _core.PartCounts(self.partial, bool(self.kernel.leaves), pairs)
        for begin in range(0, len(bank), _ROWS):
            some = bank[begin : begin + _ROWS]
            counts.add(some.columns.store, some.weights(), _inverse(self.logs(some)))
        native = self.native(1, 0, *_nothing_known(), False)
        weight = np.where(counts.pair == 1, native.pair_weight, native.single_weight)
        chosen = np.flatnonzero(counts.trees >= min_trees)
        mass = (counts.mass * weight**2)[chosen] / len(bank)
        order = np.lexsort((counts.key[chosen], -mass))
        return _Parts(counts.key[chosen][order], mass[order])


class _Parts(NamedTuple):
    """The smallest fragments, and their average shares of normalized self-values."""

    key: NDArray[np.uint64]
    mass: Vector


def _nothing_known() -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    return np.empty(0, np.uint64), np.empty(0, np.int32)


def _inverse(logs: Vector) -> Vector:
    """Return 1 / exp(logs), or 0 if the logarithm is -inf."""
    return np.where(np.isfinite(logs), np.exp(-np.where(np.isfinite(logs), logs, 0)), 0.0)


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
