"""Functions of two examples, which are kernels or distances, and the evaluators that compute them.

The function defines the mathematics. `Pairwise.evaluator` binds it to data, and the evaluator fills
horizontal strips of the matrix from any thread. `treelet.gram` decides which strips are computed,
in which order and into which memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treelet.errors import KernelOverflowError
from treelet.kernels.parameter_names import with_suggestions
from treelet.resources import Resources
from treelet.vocabulary import current, keyword

if TYPE_CHECKING:
    from treelet.device.launching import Device
    from treelet.gram.cost import Cost

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


class Evaluator(ABC):
    """A kernel bound to rows and columns.

    Several threads may call `fill` at once. With `halves`, which requires rows and columns to be
    the same data, row ``i`` gets columns ``0..i``, and ``out`` has ``end`` columns. Values to the
    right of the diagonal are then undefined. A logarithmic evaluator writes log K (-inf for 0)
    instead of K.
    """

    n_rows: int
    n_columns: int

    @abstractmethod
    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        """Write rows ``begin..end`` of the matrix into ``out``."""

    def ready(self, threads: int = 1) -> Self:
        """Build the index now, before several threads call `fill`, instead of with the first strip."""
        inner = [self.inner] if hasattr(self, "inner") else []
        for evaluator in [*inner, *getattr(self, "parts", [])]:
            evaluator.ready(threads)
        return self

    def on(self, device: Device) -> Evaluator:
        """Return an evaluator for arrays of a device. The default computes on the CPU and copies."""
        return CopiedEvaluator(self, device)

    def copied_kernels(self) -> list[Any]:
        """Return the kernels whose values are computed on the CPU and copied to a device, except those that cost nothing."""
        inner = [self.inner] if hasattr(self, "inner") else getattr(self, "parts", [])
        return [kernel for evaluator in inner for kernel in evaluator.copied_kernels()]

    xp: Any = np
    """The array module of the arrays that are filled: NumPy, or CuPy on a device."""
    rounds: bool = False
    """Whether ``out`` may also be float32. Values are then rounded when they are written."""
    cheap: bool = False
    """Whether computing the values takes no longer than writing them."""
    first_column: int = 0
    """Number of the first column in error messages, if the columns are a block of a larger matrix."""


class CopiedEvaluator(Evaluator):
    """Computes values on the CPU and copies them to a device."""

    def __init__(self, inner: Evaluator, device: Device) -> None:
        self.inner, self.device, self.xp = inner, device, device.xp
        self.n_rows, self.n_columns = inner.n_rows, inner.n_columns

    def fill(self, begin: int, end: int, out: Any, halves: bool) -> None:
        values = np.zeros(out.shape)
        self.inner.fill(begin, end, values, halves)
        out[...] = self.device.array(values)

    def copied_kernels(self) -> list[Any]:
        return [] if self.inner.cheap else [getattr(self.inner, "kernel", self.inner)]


class Pairwise(ABC):
    """A function of two examples, from whose values `treelet.gram` builds matrices."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = with_suggestions(cls.__init__)  # type: ignore[method-assign]

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

    def prepare(self, X: Any, Y: Any | None, threads: int) -> None:  # noqa: B027  # most functions have nothing to prepare
        """Compute in several threads the self-values that `evaluator` will need; they are cached with the examples.

        The default does nothing: `evaluator` then computes them in one thread.
        """

    def with_cached_index(self, X: Any) -> Any:
        """Return coerced data with a cache for the index that they need as columns, for repeated use."""
        return self.coerce(X)

    def _inner(self) -> list[Any]:
        """Return the functions that this function is composed of."""
        params = (
            self.get_params(deep=False).values() if hasattr(self, "get_params") else [getattr(self, "kernel", None)]
        )
        return [value for value in params if isinstance(value, Pairwise)]

    def row_pairs(self, X: Any, Y: Any | None = None) -> Vector:
        """Estimate how many matching pairs of parts each row of the matrix compares.

        The estimate uses counts, before anything is computed. Without Y, only columns up to the
        diagonal count. A kernel without its own estimate costs as much as its inner kernels, or one
        pair per value.
        """
        inner = self._inner()
        if not inner:
            n, m = len(X), len(X if Y is None else Y)
            return np.arange(1.0, n + 1) if Y is None else np.full(n, float(m))
        parts = [kernel.row_pairs(X, Y) for kernel in inner]
        total: Vector = np.sum(parts, axis=0)
        return total

    def self_pairs(self, X: Any) -> Vector:
        """Estimate how many matching pairs of parts the comparison of each example with itself needs."""
        inner = self._inner()
        return np.sum([kernel.self_pairs(X) for kernel in inner], axis=0) if inner else np.ones(len(X))

    def _with_self_pairs(self, X: Any, Y: Any | None) -> Vector:
        """Estimate `row_pairs` for functions that also need the self-values of all examples."""
        rows = Pairwise.row_pairs(self, X, Y)
        for kernel in self._inner():
            rows = rows + kernel.self_pairs(X)
            if Y is not None and len(rows):
                rows = rows + kernel.self_pairs(Y).sum() / len(rows)
        return rows

    def cost(
        self, X: Any, Y: Any | None = None, *, n_jobs: int | None = 1, memory: int | float | str | None = None
    ) -> Cost:
        """Estimate the cost of the matrix of X with Y, without computing the matrix.

        Parameters
        ----------
        X : collection of examples
            Rows of the matrix.
        Y : collection of examples, optional
            Columns of the matrix. Default: X.
        n_jobs, memory
            As for `treelet.gram`. More threads need more memory.

        Returns
        -------
        Cost
            The attribute `pairs` is the number of matching pairs of parts that are compared.
            `bytes` is the maximum memory besides the examples and the result, and `result` is the
            size of the result in bytes.

        Notes
        -----
        Each row compares its distinct parts with the distinct parts of all columns. For the matrix
        of X with itself, these are the columns up to the row. The unit that is counted depends on
        the kernel:

        - SST and forests: nodes or hyperedges with the same production;
        - PT: nodes with the same label;
        - ST: equal subtrees;
        - tagging: equal tags;
        - locality: windows with the same middle;
        - subsequences: positions;
        - vectors: features.

        Matching pairs of children are added, and a depth limit multiplies the number by its levels.
        Many pairs take almost no time, because their value is constant. The number of pairs per
        second depends on the kernel and the machine. See docs/scale.md.

        Examples
        --------
        >>> from treelet import SubsetTree
        >>> cost = SubsetTree().cost(["(S (NP (D the) (N dog)) (VP (V barks)))", "(S (NP (D a) (N dog)) (VP (V barks)))"])
        >>> cost.pairs, cost.result
        (27, 32)
        >>> SubsetTree().cost(["(A " * 1000 + "x" + ")" * 1000]).pairs
        1994007
        """
        from treelet.gram.cost import cost_of  # imported late, because gram imports this package
        from treelet.gram.tiles import Job

        job = Job(self, self.coerce(X), None if Y is None else self.coerce(Y))
        return cost_of(job, Resources.of(n_jobs, memory, owner="cost"))


def overflow(kernel: Pairwise, row: int, column: int, dtype: DTypeLike = np.float64) -> Exception:
    """Return the error for a value that does not fit a float64 or a float32."""
    where = f"item {row} with itself" if row == column else f"items {row} and {column}"
    fact = f"The value of {kernel!r} for {where} is too large for a {np.dtype(dtype)}"
    if dtype != np.float64:
        return KernelOverflowError(f"{fact}. Use {keyword('dtype', 'float64')} or {current().normalized}.")
    return KernelOverflowError(
        f"{fact}: such values grow exponentially with the size of an item. "
        f"Use a smaller {keyword('lam')}, or {current().normalized}, which never overflows."
    )
