"""Nearest-neighbor search with an index that is kept between queries."""

from __future__ import annotations

from contextlib import AbstractContextManager
from itertools import pairwise
from threading import Lock, RLock
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_integer, check_one_of, wrong
from treelet.edits import EditSimilarity
from treelet.formats.files import PathLike
from treelet.kernels.pairwise import Matrix, Pairwise
from treelet.learn.base import KernelTransformer
from treelet.learn.collection import Collection, Ids, StoredPart
from treelet.learn.fits import atomic_fit, snapshot
from treelet.learn.index_files import IndexFiles
from treelet.learn.persist import register, whole_numbers
from treelet.matrices import parse_memory
from treelet.matrices.nearest import Index, Part
from treelet.resources import Resources

Mode = Literal["distance", "similarity", "connectivity"]
_index_lock = Lock()  # Concurrent queries share one index.


@register
class Nearest(KernelTransformer):
    """Exact nearest-neighbor search with an index that is kept, and that can grow and shrink.

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

    Attributes
    ----------
    X_fit_ : collection of examples
        The examples that are searched, in the form that the kernel computes with.
    ids_ : ndarray
        The id of each example: integers, or strings.
    kernel_ : Kernel
        A copy of the kernel, made by `fit`.

    See Also
    --------
    treelet.nearest : a single search, without an index.

    Notes
    -----
    Several threads may query at once, also while another thread changes the index: a query sees the
    index before or after a change. Neighbors are chosen by kernel value, and in graphs of distances
    by distance. For normalized kernels both choices are the same.

    After any changes, the neighbors and their values are the same, to the last bit, as those of a
    new object that is fitted to the same examples in the same order. On a GPU, values
    may differ by rounding.

    `treelet.save` writes the index to a folder, from which `treelet.load` can use it in place.
    Pickles contain the examples, and the index is rebuilt when needed.

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
    _fitted: ClassVar[tuple[str, ...]] = ("kernel_",)
    _fitted_private: ClassVar[tuple[str, ...]] = ("_collection", "_indexes")
    _collection: Collection
    _described: dict[str, Any]
    _settings: dict[str, Any] | None = None
    """How the command line reads the files of this index. The files of the index contain it."""
    _files: IndexFiles | None = None
    """The files of the index, if it was opened with `treelet.load` and a mode."""

    def __init__(
        self,
        kernel: Pairwise | None = None,
        n_neighbors: int = 10,
        *,
        memory: int | float | str | None = None,
        n_jobs: int | None = 1,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.memory = memory
        self.n_jobs = n_jobs

    # --- examples -----------------------------------------------------------------------------------------------

    @property
    def X_fit_(self) -> Any:  # noqa: N802  # the name of scikit-learn
        """The examples that are searched."""
        return self._fitted_collection().examples()

    @property
    def ids_(self) -> NDArray[Any]:
        """The id of each example in `X_fit_`."""
        return self._fitted_collection().ids()

    def _fitted_collection(self) -> Collection:
        try:
            return self._collection
        except AttributeError:
            raise AttributeError(f"This {type(self).__name__} is not fitted yet. Call fit first.") from None

    def fit(self, X: Any, y: Any = None, *, ids: Any = None) -> Self:
        """Store the examples to search and build the index. Earlier examples are forgotten.

        Parameters
        ----------
        X : collection of examples
        y : ignored
        ids : list of integers or strings, optional
            One id per example, each different. Queries then return ids. Default: 0, 1, 2, ...

        Returns
        -------
        Nearest
            The fitted estimator.
        """
        self._check_parameters()
        with self._changing():
            self._clean_files()
            return self._fit(X, ids)

    @atomic_fit()
    def _fit(self, X: Any, ids: Any) -> Self:
        kernel = self._own_kernel()
        data = self._kept_examples(kernel, X)
        new_ids, next_id = Collection().new_ids(ids, len(data), "fit")
        self.__dict__.update(self._written(Collection((StoredPart(Part(data), new_ids),), next_id), kernel))
        return self

    def partial_fit(self, X: Any, y: Any = None, *, ids: Any = None) -> Self:
        """Add examples to the index. The time depends on their number, not on the size of the index.

        Small parts of the index are merged from time to time, which takes longer.

        Parameters
        ----------
        X : collection of examples
        y : ignored
        ids : list of integers or strings, optional
            One id per example, different from all ids of the index. Required if the first examples
            had ids. Otherwise the examples are numbered on: an id is never used twice.

        Returns
        -------
        Nearest
            The fitted estimator.

        Examples
        --------
        >>> from treelet import Nearest
        >>> search = Nearest(n_neighbors=1).fit(["(A a)", "(B b)"], ids=["first", "second"])
        >>> search.partial_fit(["(C c)"], ids=["third"]).kneighbors(["(C c)"])[1].tolist()
        [['third']]
        >>> search.remove(["second"]).ids_.tolist()
        ['first', 'third']
        """
        with self._changing():  # Two threads must not both find it unfitted: the second fit would forget the first.
            if not hasattr(self, "_collection"):
                return self.fit(X, ids=ids)
            return self._exchange((), X, ids)

    def _exchange(self, removed: Any, X: Any, ids: Any) -> Self:
        """Remove examples and add others, in one step."""
        self._check_parameters()
        with self._changing():
            self._clean_files()
            collection, kernel = self._collection, self.kernel_
            if len(removed):
                collection = collection.removed(removed, "partial_fit")
            data = self._kept_examples(kernel, X)
            new_ids, next_id = collection.new_ids(ids, len(data), "partial_fit")
            self._replace(self._tidy(collection.added(StoredPart(Part(data), new_ids), next_id)), kernel)
        return self

    def remove(self, ids: Any) -> Self:
        """Remove examples from the index.

        Removed examples are only marked. If more than a fifth of a part of the index is removed,
        the part is rebuilt.

        Parameters
        ----------
        ids : list of integers or strings
            Ids of the examples, from `ids_`. If one of them is unknown, nothing is removed.

        Returns
        -------
        Nearest
            The fitted estimator.
        """
        check_is_fitted(self)
        with self._changing():
            self._clean_files()
            self._replace(self._tidy(self._collection.removed(ids, "remove")), self.kernel_)
        return self

    def compact(self) -> Self:
        """Rebuild the index from the examples that it contains now. Queries are then as fast as after `fit`.

        Returns
        -------
        Nearest
            The fitted estimator.
        """
        check_is_fitted(self)
        with self._changing():
            self._clean_files()
            collection = self._collection
            if collection.size and (len(collection.parts) > 1 or collection.parts[0].needs_rebuilding(self.kernel_)):
                self._replace(collection.merged(self.kernel_, slice(0, len(collection.parts))), self.kernel_)
        return self

    def _tidy(self, collection: Collection) -> Collection:
        """Return the collection after merging parts, if there are many."""
        while (parts := collection.crowded()) is not None:
            collection = collection.merged(self.kernel_, parts)
        return collection

    def _changing(self) -> AbstractContextManager[Any]:
        """Return a lock. Only one thread at a time may change the index; others wait."""
        if self._files is not None:
            self._files.check_writable()
        return self._changing_lock()

    def _clean_files(self) -> None:
        """Remove the files of earlier changes. This is the first step of a change, so that no step follows the last."""
        if self._files is not None:
            self._files.clean(self._collection)

    def _changing_lock(self) -> AbstractContextManager[Any]:
        with _index_lock:
            return self.__dict__.setdefault("_lock", RLock())  # type: ignore[no-any-return]

    def _replace(self, collection: Collection, kernel: Any) -> None:
        """Make a collection the content of this index: first in its files, if there are any, then in memory."""
        self._check_parameters()  # a manifest with invalid parameters could not be read again
        fitted = self._written(collection, kernel)
        fitted["_set_by_fit"] = self._set_by_fit | fitted.keys()
        self.__dict__ = self.__dict__ | fitted  # one assignment: queries see the old index or the new one

    def _written(self, collection: Collection, kernel: Any) -> dict[str, Any]:
        """Build the index of a collection, write it to the files if there are any, and return the new attributes."""
        fitted: dict[str, Any] = {"kernel_": kernel, "_collection": collection, "_indexes": {}}
        self._index(kernel, collection, fitted["_indexes"]).prepare()
        if self._files is not None:
            fitted["_collection"] = self._files.write(self, collection, kernel)
        return fitted

    # --- queries ------------------------------------------------------------------------------------------------

    def kneighbors(self, Q: Any | None = None, n_neighbors: int | None = None) -> tuple[Matrix, NDArray[Any]]:
        """Return the examples with the largest kernel values, or with the smallest distances.

        Parameters
        ----------
        Q : collection of examples, optional
            Queries. Default: the fitted examples, each without itself.
        n_neighbors : int, optional
            Number of neighbors. Default: `n_neighbors` of the estimator.

        Returns
        -------
        values, ids : ndarrays of shape (len(Q), n_neighbors)
            Kernel values in descending order, or distances in ascending order, and the ids of the
            examples: int64, or str objects if you passed strings. Without ids of your own, these are
            the numbers of the examples, counted from 0 in the order in which they were added. Among equal values the earlier example comes
            first.
        """
        collection, kernel, indexes = self._state()
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        values, numbers = self._index(kernel, collection, indexes).nearest(
            None if Q is None else self._coerced(kernel, Q), k
        )
        return values, collection.ids_at(numbers)

    def threshold_neighbors(
        self, threshold: float, Q: Any | None = None
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[Any]]]:
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
        values, ids : lists of ndarrays, one per query
            Sorted as in `kneighbors`.
        """
        collection, kernel, indexes = self._state()
        values, numbers, start = self._index(kernel, collection, indexes).above(
            None if Q is None else self._coerced(kernel, Q), threshold
        )
        if Q is None:  # Remove each example from its own neighbors.
            row = np.repeat(np.arange(len(start) - 1), np.diff(start))
            others = numbers != row
            values, numbers = values[others], numbers[others]
            start = np.concatenate([[0], np.cumsum(others)])[start]
        ids, rows = collection.ids_at(numbers), [slice(begin, end) for begin, end in pairwise(start.tolist())]
        return [values[part] for part in rows], [ids[part] for part in rows]

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
            Columns are positions in `X_fit_` and `ids_`, not ids.
        """
        collection, kernel, indexes = self._state()
        check_one_of("mode", mode, ("distance", "similarity", "connectivity"))
        if n_neighbors is None and threshold is None:
            n_neighbors = self.n_neighbors
        if kernel.is_distance and mode == "similarity":
            raise wrong("mode", "'distance' or 'connectivity' for a distance", mode, of=self)
        measure = kernel
        if mode == "distance" and not kernel.is_distance:
            measure = kernel.distance if isinstance(kernel, EditSimilarity) else kernel.distance()
        index = self._index(measure, collection, indexes)
        graph = index.graph(None if Q is None else self._coerced(kernel, Q), n_neighbors, threshold)
        if mode == "connectivity":
            graph.data[:] = 1
        return graph

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to X and return the graph of distances within X, computing only half of the values."""
        fitted = snapshot(self.fit(X, y, **fit_params))
        return fitted.kneighbors_graph(n_neighbors=min(fitted.n_neighbors, fitted._collection.size - 1))

    def transform(self, X: Any) -> Any:
        """Return the graph of distances from X to the fitted examples.

        The graph has ``n_neighbors + 1`` neighbors per row, because a fitted example is its own
        neighbor. scikit-learn expects this.
        """
        check_is_fitted(self)
        return self.kneighbors_graph(X, min(self.n_neighbors + 1, self._collection.size))

    def _state(self) -> tuple[Collection, Any, dict[Any, Index]]:
        """Return the examples, the kernel and the indexes, all of the same moment."""
        check_is_fitted(self)
        with _index_lock:
            now = self.__dict__
            return now["_collection"], now["kernel_"], now.setdefault("_indexes", {})

    def _index(self, kernel: Pairwise, collection: Collection, indexes: dict[Any, Index]) -> Index:
        """Return the index for a kernel or its distance. Both share the native indexes of the parts."""
        with _index_lock:
            resources = Resources.of(self.n_jobs, self.memory, owner=self)
            key = type(kernel), resources
            if key not in indexes:
                indexes[key] = Index(
                    kernel,
                    [stored.part for stored in collection.parts],
                    resources,
                    always_cached=self.memory is None,
                    reproducible=resources.device == "cpu",
                    name=type(self).__name__,
                    count="n_neighbors",
                )
            return indexes[key]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_neighbors", self.n_neighbors, of=self)
        parse_memory(self.memory, of=self)

    # --- files --------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close an index that was opened with ``treelet.load(file, mode="a")``, so that others can change it.

        Queries still work. The ``with`` statement closes an index by itself.
        """
        if self._files is not None:
            with self._changing_lock():
                self._files.close(getattr(self, "_collection", None))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write_index(self, path: PathLike) -> None:
        self._check_parameters()
        IndexFiles.save(self, path)

    def _to_state(self) -> dict[str, Any]:
        """Return the content of a manifest for parts that are on disk."""
        collection = self._collection
        parts = [
            {
                "name": stored.name,
                "examples": len(stored.data),
                "files": dict(stored.files or {}),
                "removed": stored.part.removed,
            }
            for stored in collection.parts
        ]
        return super()._to_state() | {"parts": parts, "next_id": collection.next_id, "settings": self._settings}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        fitted = dict(state["fitted"])
        examples = fitted.pop("X_fit_", None)  # files before version 0.2 contained the examples
        search: Self = super()._from_state(state | {"fitted": fitted})
        if examples is None:
            search._settings = state["settings"]
            search._described = {"parts": [_checked(part) for part in state["parts"]], "next_id": int(state["next_id"])}
            return search
        data = search._examples(search.kernel_, examples)
        ids = Ids.numbers(np.arange(len(data)))
        search._collection = Collection((StoredPart(Part(data), ids),), len(data))
        return search

    def __getstate__(self) -> Any:
        left_out = ("_indexes", "_lock", "_files")
        return {name: value for name, value in dict(super().__getstate__()).items() if name not in left_out}


def _checked(part: Any) -> dict[str, Any]:
    """Return the description of a part from a manifest. ValueError is raised if it is invalid."""
    name, removed = part["name"], part["removed"]
    if type(name) is not str or not name.isalnum() or type(part["examples"]) is not int:
        raise ValueError("a part of the index is described wrongly")
    files = {kind: (int(size), int(checksum)) for kind, (size, checksum) in part["files"].items()}
    return {"name": name, "examples": part["examples"], "files": files, "removed": whole_numbers(removed, 1)}
