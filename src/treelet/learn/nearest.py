"""Nearest neighbors, with what was made of the collection kept."""

from __future__ import annotations

from itertools import pairwise
from threading import Lock
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_integer, check_one_of
from treelet.gram import parse_memory
from treelet.gram.nearest import Index
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Pairwise
from treelet.learn.base import KernelEstimator, atomic_fit
from treelet.learn.encoding import register

Mode = Literal["distance", "similarity", "connectivity"]
MODES = ("distance", "similarity", "connectivity")
_making = Lock()  # threads that ask at once get one index


@register
class Nearest(TransformerMixin, KernelEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The nearest neighbors of examples in a collection, exactly; what was made of the collection is kept.

    A query then costs what the query does: milliseconds among tens of thousands of trees. As the first step of a pipeline it gives the
    graph of distances that scikit-learn's neighbors, DBSCAN and t-SNE take with ``metric="precomputed"``, as scikit-learn's own
    ``KNeighborsTransformer`` does for arrays.

    Parameters
    ----------
    kernel : Kernel, optional
        By default ``SubsetTree().normalized()``. Normalized, as a rule: else large examples are near to everything.
    n_neighbors : int
        How many neighbors, where a method is not told otherwise.
    memory : int or str, optional
        How much the index may take, such as ``"1GiB"``. Where that is not enough it is made anew for each question, block by
        block. By default it takes what it takes: some two KB a tree.
    n_jobs : int
        Threads; -1 for one a core. Results do not depend on it.
    device : "cpu" or "cuda"
        ``"cuda"``: compute kernel values on a GPU, as `treelet.gram` does. A file of a model does not remember it.
    device_memory : int or str, optional
        How much of the GPU's memory may be taken, such as ``"10GiB"``; by default, what is free.
    progress : bool
        Show a progress bar.

    Attributes
    ----------
    X_fit_ : collection
        The examples that are looked in, as the kernel coerces them.
    kernel_ : Kernel
        A copy of the kernel as it was when fitted.

    Notes
    -----
    Several threads may ask at once. Neighbors are chosen by their kernel values, in graphs of distances by their distances;
    for normalized kernels that is the same. The index is not written to files and pickles, but made again.

    See Also
    --------
    treelet.nearest : the same once, without keeping anything.

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

    _fitted: ClassVar[tuple[str, ...]] = ("X_fit_", "kernel_")
    _fitted_private: ClassVar[tuple[str, ...]] = ("_indexes",)

    def __init__(
        self,
        kernel: Kernel | None = None,
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
        """Take in the examples that are looked in, and make the index over them."""
        self._check_parameters()
        kernel = self._own_kernel()
        self.X_fit_, self.kernel_ = self._kept_examples(kernel, X), kernel
        self._index(kernel).prepare()
        return self

    def kneighbors(self, Q: Any | None = None, n_neighbors: int | None = None) -> tuple[Matrix, NDArray[np.int64]]:
        """The examples with the largest kernel values.

        Parameters
        ----------
        Q : collection, optional
            Whose neighbors. By default those of the fitted examples, each but itself.
        n_neighbors : int, optional
            By default the estimator's.

        Returns
        -------
        values, indices : ndarrays of shape (len(Q), n_neighbors)
            The largest value first; among equals the smaller index.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        return self._index(self.kernel_).nearest(Q, k)

    def threshold_neighbors(
        self, threshold: float, Q: Any | None = None
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
        """All examples whose kernel value is at least `threshold`.

        Parameters
        ----------
        threshold : float
            For normalized kernels a number up to 1; with 1, all that are the same to the kernel.
        Q : collection, optional
            As for `kneighbors`.

        Returns
        -------
        values, indices : lists of arrays, one a query
            In the order of `kneighbors`.
        """
        check_is_fitted(self)
        values, indices, start = self._index(self.kernel_).above(Q, threshold)
        if Q is None:  # each but itself
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
        """Neighbors as a sparse matrix, queries x fitted examples, each row in order.

        Parameters
        ----------
        Q : collection, optional
            As for `kneighbors`. Without it the graph has its diagonal: each example is also its own neighbor.
        n_neighbors : int, optional
            By default the estimator's; with a threshold, all that reach it.
        threshold : float, optional
            Only neighbors with at least this value; if the values are distances, at most.
        mode : "distance", "similarity" or "connectivity"
            What it holds: distances in the kernel's space, as scikit-learn takes them; kernel values; or 1 for each neighbor by kernel
            value.

        Returns
        -------
        scipy.sparse.csr_matrix
        """
        check_is_fitted(self)
        check_one_of("mode", mode, MODES)
        if n_neighbors is None and threshold is None:
            n_neighbors = self.n_neighbors
        index = self._index(self.kernel_.distance() if mode == "distance" else self.kernel_)
        found = index.graph(Q, n_neighbors, threshold)
        if mode == "connectivity":
            found.data[:] = 1
        return found

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """The graph of the examples themselves, of whose values only half are computed."""
        self.fit(X, y)
        return self.kneighbors_graph(n_neighbors=min(self.n_neighbors, len(self.X_fit_) - 1))

    def transform(self, X: Any) -> Any:
        """The graph of distances from examples to the fitted ones.

        It has one neighbor more than `n_neighbors`, since a fitted example is its own: scikit-learn counts on it.
        """
        check_is_fitted(self)
        return self.kneighbors_graph(X, min(self.n_neighbors + 1, len(self.X_fit_)))

    def _index(self, kernel: Pairwise) -> Index:
        """What neighbors are asked of, under the kernel or its distance; both have one native index."""
        with _making:
            indexes = self.__dict__.setdefault("_indexes", {})
            resources = self._resources._replace(memory_limit=parse_memory(self.memory), progress=bool(self.progress))
            key = type(kernel), resources
            if key not in indexes:
                data = next((index.data for index in indexes.values()), self.X_fit_)
                always, name = self.memory is None, type(self).__name__
                indexes[key] = Index(kernel, data, resources, always_cached=always, name=name, count="n_neighbors")
            found: Index = indexes[key]
        return found

    def _check_parameters(self) -> None:
        self._check_resources()
        check_integer("n_neighbors", self.n_neighbors, of=self)
        parse_memory(self.memory)

    def __getstate__(self) -> Any:
        return {name: value for name, value in super().__getstate__().items() if name != "_indexes"}
