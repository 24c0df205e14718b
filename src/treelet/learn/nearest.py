"""Nearest-neighbor search with an index that is kept between queries."""

from __future__ import annotations

from itertools import pairwise
from threading import Lock
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_integer, check_one_of, wrong
from treelet.gram import parse_memory
from treelet.gram.nearest import Index
from treelet.kernels.pairwise import Matrix, Pairwise
from treelet.learn.base import KernelEstimator, atomic_fit
from treelet.learn.encoding import register

Mode = Literal["distance", "similarity", "connectivity"]
MODES = ("distance", "similarity", "connectivity")
_index_lock = Lock()  # Concurrent queries share one index.


@register
class Nearest(TransformerMixin, KernelEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Exact nearest-neighbor search with an index that is kept in memory.

    A query takes milliseconds among tens of thousands of trees, because the index is not rebuilt.
    As the first step of a pipeline, this transformer returns the graph of distances that
    scikit-learn's neighbor estimators, DBSCAN and t-SNE accept with ``metric="precomputed"``.
    scikit-learn's ``KNeighborsTransformer`` does the same for arrays.

    Parameters
    ----------
    kernel : Kernel or distance, optional
        Default: ``SubsetTree().normalized()``. Use a normalized kernel; otherwise large examples
        are similar to everything. An `EditDistance`, its ``similarity()``, or the ``distance()`` of a
        kernel also work. With a distance, the smallest values come first.
    n_neighbors : int, default 10
        Number of neighbors, at least 1, for methods that are called without one.
    memory : int or str, optional
        Memory limit for the index, for example ``"1GiB"``. An index that does not fit is rebuilt
        for each query, block by block. Default: no limit. The index takes about 2 KB per tree.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core. Results do not depend on `n_jobs`.
    device : {"cpu", "cuda"}, default "cpu"
        Where to compute kernel values, as for `treelet.gram`. Model files do not store this
        setting.
    device_memory : int or str, optional
        Limit for GPU memory, for example ``"10GiB"``. Default: all free memory.
    progress : bool, default False
        Show a progress bar on standard error.

    Attributes
    ----------
    X_fit_ : collection of examples
        The fitted examples, in the form that the kernel computes with.
    kernel_ : Kernel
        A copy of the kernel, made by `fit`.

    See Also
    --------
    treelet.nearest : a single search, without an index.

    Notes
    -----
    Several threads may query at once. Neighbors are chosen by kernel value, and in graphs of
    distances by distance. For normalized kernels both choices are the same. The index is not stored
    in model files and pickles; it is rebuilt when needed.

    Examples
    --------
    >>> from treelet import Nearest, SubsetTree
    >>> trees = ["(S (NP (N Mary)) (VP (V ran)))", "(S (NP (N cats)) (VP (V sleep)))", "(S (VP (V go)))"]
    >>> search = Nearest(SubsetTree(lam=0.4).normalized(), n_neighbors=2).fit(trees)
    >>> values, indices = search.kneighbors(["(S (NP (N dogs)) (VP (V ran)))"])
    >>> indices.tolist(), values.round(2).tolist()
    ([[0, 1]], [[0.77, 0.55]])
    >>> values, indices = search.threshold_neighbors(0.3)
    >>> [numbers.tolist() for numbers in indices]
    [[1], [0], []]
    """

    _kernel_type: ClassVar[Any] = Pairwise
    _kernels = "a kernel, a distance or None"
    _fitted: ClassVar[tuple[str, ...]] = ("X_fit_", "kernel_")
    _fitted_private: ClassVar[tuple[str, ...]] = ("_indexes",)

    def __init__(
        self,
        kernel: Pairwise | None = None,
        n_neighbors: int = 10,
        *,
        memory: int | float | str | None = None,
        n_jobs: int | None = 1,
        device: str = "cpu",
        device_memory: int | float | str | None = None,
        progress: bool = False,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.memory = memory
        self.n_jobs = n_jobs
        self.device = device
        self.device_memory = device_memory
        self.progress = progress

    @atomic_fit()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the examples to search and build the index.

        Parameters
        ----------
        X : collection of examples
        y : ignored

        Returns
        -------
        Nearest
            The fitted estimator.
        """
        self._check_parameters()
        kernel = self._own_kernel()
        self.X_fit_, self.kernel_ = self._kept_examples(kernel, X), kernel
        self._index(kernel).prepare()
        return self

    def kneighbors(self, Q: Any | None = None, n_neighbors: int | None = None) -> tuple[Matrix, NDArray[np.int64]]:
        """Return the examples with the largest kernel values, or with the smallest distances.

        Parameters
        ----------
        Q : collection of examples, optional
            Queries. Default: the fitted examples, each without itself.
        n_neighbors : int, optional
            Number of neighbors. Default: `n_neighbors` of the estimator.

        Returns
        -------
        values, indices : ndarrays of shape (len(Q), n_neighbors)
            Kernel values in descending order, or distances in ascending order, and indices of the
            fitted examples. Among equal values the smaller index comes first.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        return self._index(self.kernel_).nearest(self._queries(Q), k)

    def threshold_neighbors(
        self, threshold: float, Q: Any | None = None
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
        """Return all examples whose kernel value is at least `threshold`, or whose distance is at most `threshold`.

        Parameters
        ----------
        threshold : float
            Smallest kernel value, or largest distance. For normalized kernels at most 1; 1 returns
            the examples that the kernel cannot distinguish from the query.
        Q : collection of examples, optional
            Queries. Default: the fitted examples, each without itself.

        Returns
        -------
        values, indices : lists of ndarrays, one per query
            Sorted as in `kneighbors`.
        """
        check_is_fitted(self)
        values, indices, start = self._index(self.kernel_).above(self._queries(Q), threshold)
        if Q is None:  # Remove each example from its own neighbors.
            row = np.repeat(np.arange(len(start) - 1), np.diff(start))
            others = indices != row
            values, indices = values[others], indices[others]
            start = np.concatenate([[0], np.cumsum(others)])[start]
        rows = [slice(begin, end) for begin, end in pairwise(start.tolist())]
        return [values[part] for part in rows], [indices[part] for part in rows]

    def kneighbors_graph(
        self,
        Q: Any | None = None,
        n_neighbors: int | None = None,
        *,
        threshold: float | None = None,
        mode: Mode = "distance",
    ) -> Any:
        """Return the neighbors as a sparse matrix of queries by fitted examples, with sorted rows.

        Parameters
        ----------
        Q : collection of examples, optional
            Queries. Default: the fitted examples. The graph then contains the diagonal: each
            example is also its own neighbor.
        n_neighbors : int, optional
            Number of neighbors. Default: `n_neighbors` of the estimator, or with a threshold all
            examples that reach it.
        threshold : float, optional
            Smallest kernel value of a neighbor; with ``mode="distance"``, the largest distance.
        mode : {"distance", "similarity", "connectivity"}, default "distance"
            Entries of the graph: distances in the feature space of the kernel, as scikit-learn
            expects them; kernel values; or 1 for each neighbor by kernel value.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (len(Q), len(X_fit_))
        """
        check_is_fitted(self)
        check_one_of("mode", mode, MODES)
        if n_neighbors is None and threshold is None:
            n_neighbors = self.n_neighbors
        if self.kernel_.is_distance and mode == "similarity":
            raise wrong("mode", "'distance' or 'connectivity' for a distance", mode, of=self)
        to_distance = mode == "distance" and not self.kernel_.is_distance
        index = self._index(self.kernel_.distance() if to_distance else self.kernel_)
        graph = index.graph(self._queries(Q), n_neighbors, threshold)
        if mode == "connectivity":
            graph.data[:] = 1
        return graph

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to X and return the graph of distances within X, computing only half of the values."""
        self.fit(X, y)
        return self.kneighbors_graph(n_neighbors=min(self.n_neighbors, len(self.X_fit_) - 1))

    def transform(self, X: Any) -> Any:
        """Return the graph of distances from X to the fitted examples.

        The graph has ``n_neighbors + 1`` neighbors per row, because a fitted example is its own
        neighbor. scikit-learn expects this.
        """
        check_is_fitted(self)
        return self.kneighbors_graph(X, min(self.n_neighbors + 1, len(self.X_fit_)))

    def _queries(self, Q: Any | None) -> Any:
        return None if Q is None else self._coerced(self.kernel_, Q)

    def _index(self, kernel: Pairwise) -> Index:
        """Return the index for the kernel or its distance. Both share one native index."""
        with _index_lock:
            indexes = self.__dict__.setdefault("_indexes", {})
            resources = self._resources._replace(
                memory_limit=parse_memory(self.memory, of=self), progress=bool(self.progress)
            )
            key = type(kernel), resources
            if key not in indexes:
                data = next((index.data for index in indexes.values()), self.X_fit_)
                always, name = self.memory is None, type(self).__name__
                indexes[key] = Index(kernel, data, resources, always_cached=always, name=name, count="n_neighbors")
            index: Index = indexes[key]
        return index

    def _check_parameters(self) -> None:
        self._check_resources()
        check_integer("n_neighbors", self.n_neighbors, of=self)
        parse_memory(self.memory, of=self)

    def __getstate__(self) -> Any:
        return {name: value for name, value in super().__getstate__().items() if name != "_indexes"}
