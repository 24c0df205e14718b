"""Functions of two examples, which are kernels or distances, and the evaluators that compute them.

The function defines the mathematics. `Pairwise.evaluator` binds it to data, and the evaluator fills
horizontal strips of the matrix from any thread. `treelet.gram` decides which strips are computed,
in which order and into which memory.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treelet.errors import KernelOverflowError, ParameterError
from treelet.kernels.parameters import Parametrized
from treelet.structures.bank import Bank

if TYPE_CHECKING:
    from treelet.device.launching import Device

_ROWS = 256  # number of rows that `row_values` copies to a small store, whose size the time per row depends on
Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


class Needs(NamedTuple):
    """Upper bounds in bytes: an index over some columns, and the work of one thread with it."""

    index: int  # type: ignore[assignment]  # tuples have a method of this name
    thread: int
    scratch: int = 0
    """Number of additional float64 matrices of the size of a strip, per thread."""

    def with_scratch(self) -> Needs:
        """Return the same needs plus one more scratch matrix."""
        return self._replace(scratch=self.scratch + 1)


class CachedIndex(NamedTuple):
    """An index that a bank caches for a function, and how the index is converted to arrays and back."""

    keys: tuple[Hashable, ...]
    """Keys under which the bank caches the index."""
    make: Callable[[], Any]
    arrays: Callable[[Any], list[NDArray[Any]]]
    restored: Callable[[list[NDArray[Any]]], Any]


class Evaluator(ABC):
    """A kernel bound to rows and columns.

    Several threads may call `fill` at once. With `halves`, which requires rows and columns to be
    the same data, row ``i`` gets columns ``0..i``, and ``out`` has ``end`` columns. Values to the
    right of the diagonal are then undefined. A logarithmic evaluator writes log K (-inf for 0)
    instead of K.
    """

    n_rows: int
    n_columns: int
    parts: Sequence[Evaluator] = ()
    """The evaluators of inner kernels, whose values this evaluator uses."""

    @abstractmethod
    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        """Write rows ``begin..end`` of the matrix into ``out``."""

    def ready(self, threads: int = 1) -> Self:
        """Build the index now, before several threads call `fill`, instead of with the first strip."""
        for part in self.parts:
            part.ready(threads)
        return self

    def on(self, device: Device) -> Evaluator:
        """Return an evaluator for arrays of a device. The default computes on the CPU and copies."""
        return _CopiedEvaluator(self, device)

    def copied_kernels(self) -> list[Any]:
        """Return the kernels whose values are computed on the CPU and copied to a device, except those that cost nothing."""
        return [kernel for part in self.parts for kernel in part.copied_kernels()]

    xp: Any = np
    """The array module of the arrays that are filled: NumPy, or CuPy on a device."""
    rounds: bool = False
    """Whether ``out`` may also be float32. Values are then rounded when they are written."""
    cheap: bool = False
    """Whether computing the values takes no longer than writing them."""
    first_column: int = 0
    """Number of the first column in error messages, if the columns are a block of a larger matrix."""
    memory: float = math.inf
    """Memory limit of all threads, in bytes."""


class _CopiedEvaluator(Evaluator):
    """Computes values on the CPU and copies them to a device."""

    def __init__(self, inner: Evaluator, device: Device) -> None:
        self.parts, self.device, self.xp = [inner], device, device.xp
        self.n_rows, self.n_columns = inner.n_rows, inner.n_columns

    def fill(self, begin: int, end: int, out: Any, halves: bool) -> None:
        values = np.zeros(out.shape)
        self.parts[0].fill(begin, end, values, halves)
        out[...] = self.device.array(values)

    def copied_kernels(self) -> list[Any]:
        (inner,) = self.parts
        return [] if inner.cheap else [getattr(inner, "kernel", inner)]


class Pairwise(Parametrized):
    """A function of two examples, from whose values `treelet.gram` builds matrices.

    Parameters follow scikit-learn's conventions, as described for `Kernel`.
    """

    is_distance: ClassVar[bool] = False
    """Whether small values mean that two examples are similar."""
    is_exact: ClassVar[bool] = False
    """Whether the last bits of a value depend only on the two examples, not on the others of the same matrix."""

    @property
    def is_symmetric(self) -> bool:
        """Whether the order of the two examples does not matter. Half of the matrix of X with itself is then enough."""
        return True

    @abstractmethod
    def coerce(self, X: Any) -> Any:
        """Return the data in the form that this function computes with.

        The result has a length and can be sliced. Coerced data are used as they are, so coerce data
        once for repeated use.
        """

    @abstractmethod
    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        """Bind the function to data: rows X, columns Y (None: X again)."""

    @abstractmethod
    def needs(self, X: Any, enough: int = 0) -> Needs:
        """Estimate the memory of an evaluator with columns X before it is built.

        If the memory is certainly below `enough`, a rough bound is sufficient.
        """

    @property
    def searches(self) -> bool:
        """Whether only some values are wanted; see `for_search`. The work then depends on the rows more than on the values."""
        return False

    def for_search(self, threshold: float | None, best: int | None) -> Pairwise:
        """Return a function that may replace values that a search does not want by the worst value.

        Parameters
        ----------
        threshold : float, optional
            Only values that reach this threshold are wanted.
        best : int, optional
            Only this number of best values per row are wanted, and values that equal the last of them.
        """
        return self

    def reaching(self, X: Any, Q: Any | None, threshold: float) -> Iterator[tuple[Any, Any, Vector]] | None:
        """Return all pairs of a query and an example of X that reach a threshold, if there is a faster way than the matrix.

        Parameters
        ----------
        X, Q : collections of examples
            Coerced examples and queries. None: X again, with all pairs in both orders and those on the diagonal.
        threshold : float
            Smallest similarity, or largest distance.

        Returns
        -------
        iterator of (rows, columns, values), or None
            Pieces with the indices of queries and examples. None: compute the matrix.
        """
        return None

    def __call__(
        self,
        X: Any,
        Y: Any | None = None,
        *,
        n_jobs: int | None = 1,
        progress: bool | None = None,
        out: Any = None,
    ) -> Matrix:
        """Compute the matrix of X with Y, or of X with itself.

        Parameters
        ----------
        X : collection of examples
            Rows of the matrix.
        Y : collection of examples, optional
            Columns of the matrix. Default: X.
        n_jobs, progress, out
            As for `treelet.gram`.

        Returns
        -------
        ndarray of shape (len(X), len(Y))
        """
        from treelet.matrices.matrix import gram  # imported late, because gram imports this package

        return gram(self, X, Y, n_jobs=n_jobs, progress=progress, out=out)

    def diag(self, X: Any, Y: Any | None = None) -> Vector:
        """Return the diagonal of the matrix of X with Y, or of X with itself, without computing the matrix.

        With Y, this is the value of each example of X with the example of Y in the same row, for
        example of the two sides of each pair.

        Parameters
        ----------
        X : collection of examples
        Y : collection of examples, optional
            As many examples as X. Default: X.

        Returns
        -------
        ndarray of shape (len(X),)

        Raises
        ------
        KernelOverflowError
            If a value does not fit a float64.

        Examples
        --------
        >>> from treelet import EditDistance, SubsetTree
        >>> SubsetTree(lam=1).diag(["(D the)", "(NP (D the) (N apple))"])
        array([1., 6.])
        >>> EditDistance().similarity().diag(["(D the)", "(NP (D the) (N apple))"], ["(D the)", "(NP (N apple))"])
        array([1. , 0.6])
        """
        values = self.row_values(X, X if Y is None else Y)
        large = np.flatnonzero(~np.isfinite(values))
        if len(large):
            raise KernelOverflowError(
                f"The value of {self!r} in row {large[0]} is too large for a float64. Use a smaller lam=, or "
                "kernel.normalized(), which never overflows."
            )
        return values

    def row_values(self, X: Any, Y: Any, *, logs: bool = False) -> Vector:
        """Return the value of each example of X with the example of Y in the same row.

        Values that do not fit a float64 are inf. With `logs`, return their logarithms instead.
        """
        self.validate()
        X, Y = self.coerce(X), self.coerce(Y)
        if len(X) != len(Y):
            raise ParameterError(
                f"X has {len(X):,} examples and Y has {len(Y):,}. Row by row, both need the same number."
            )
        self.prepare(X, Y, threads=1)
        values = np.empty(len(X))
        for begin in range(0, len(X), _ROWS):
            rows, columns = (
                part.compact() if hasattr(part, "compact") else part
                for part in (X[begin : begin + _ROWS], Y[begin : begin + _ROWS])
            )
            if isinstance(rows, Bank):  # one store for both sides, so that a kernel prepares its labels once
                both = rows + columns
                rows, columns = both[: len(rows)], both[len(rows) :]
            for row in range(len(rows)):
                value = values[begin + row : begin + row + 1, None]
                try:
                    self.evaluator(rows[row : row + 1], columns[row : row + 1], logs=logs).fill(0, 1, value, False)
                except KernelOverflowError:
                    if logs:
                        raise
                    value[...] = np.inf
        return values

    def prepare(self, X: Any, Y: Any | None, threads: int) -> None:  # most functions have nothing to prepare
        """Compute in several threads the self-values that `evaluator` will need; they are cached with the examples.

        The default does nothing: `evaluator` then computes them in one thread.
        """

    def with_cached_index(self, X: Any) -> Any:
        """Return coerced data with a cache for the index that they need as columns, for repeated use."""
        return self.coerce(X)

    def cached_values(self) -> dict[str, Hashable]:
        """Return the keys under which a bank caches numbers per example for this function, by name."""
        return {}

    def cached_indexes(self, bank: Any) -> dict[str, CachedIndex]:
        """Return the indexes that a bank caches for this function and that can be stored as arrays, by name."""
        return {}

    def _inner(self) -> list[Any]:
        """Return the functions that this function is composed of."""
        return [value for value in self.get_params(deep=False).values() if isinstance(value, Pairwise)]


def named_pair(row: int, column: int) -> str:
    """Return the numbers of two examples, for an error message."""
    return f"item {row} with itself" if row == column else f"items {row} and {column}"


def overflow(kernel: Pairwise, row: int, column: int, dtype: DTypeLike = np.float64) -> Exception:
    """Return the error for a value that does not fit a float64 or a float32."""
    fact = f"The value of {kernel!r} for {named_pair(row, column)} is too large for a {np.dtype(dtype)}"
    if dtype != np.float64:
        return KernelOverflowError(f"{fact}. Use dtype='float64' or kernel.normalized().")
    return KernelOverflowError(
        f"{fact}: such values grow exponentially with the size of an item. "
        f"Use a smaller lam=, or kernel.normalized(), which never overflows."
    )
