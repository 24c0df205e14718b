"""Kernels over the contents of a native store: trees, forests or sequences."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Hashable
from functools import partial
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.errors import KernelOverflowError
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import CachedIndex, Evaluator, Matrix, Needs, Vector, overflow
from treelet.resources import SMALL, check_memory
from treelet.structures.bank import Bank
from treelet.work import run

if TYPE_CHECKING:
    from treelet.device.launching import Device


_SMALLEST = 1e-280  # smallest sum that surely has all its digits


class StoreRows(NamedTuple):
    """Weighted sums of the parts in a store: for most examples, the count of each distinct part."""

    store: Any
    weights: _core.NodeWeights
    largest: NDArray[np.int32]
    """The largest part number in each row."""

    @staticmethod
    def of(bank: Bank[Any]) -> StoreRows:
        store, roots = bank.columns
        return StoreRows(store, bank.weights(), roots)

    @property
    def limit(self) -> NDArray[np.int32]:
        """The largest part number in all rows up to each row."""
        limit: NDArray[np.int32] = np.maximum.accumulate(self.largest) if len(self.largest) else self.largest
        return limit


class _StoreEvaluator(Evaluator):
    """A kernel over a store, bound to rows and columns through the native core.

    Parameters
    ----------
    kernel : StoreKernel
        Kernel that compares two parts.
    rows : StoreRows
        Rows over the store of the columns, or over a store that extends it.
    columns : StoreRows, optional
        Default: the rows.
    shown : Kernel, optional
        Kernel named in errors, if it differs from `kernel`.
    kept : Bank, optional
        The bank of the columns, if it caches the indexes that kernels build from it.
    """

    def __init__(
        self,
        kernel: StoreKernel,
        rows: StoreRows,
        columns: StoreRows | None,
        logs: bool,
        shown: Kernel | None = None,
        kept: Bank[Any] | None = None,
    ) -> None:
        self.kernel, self.rows, self.logs = shown or kernel, rows, logs
        self.columns, self.algorithm = columns or rows, kernel
        self.kept = None if kept is None or kept._indexes is None else kept
        self.n_rows, self.n_columns, self.rounds = len(rows.weights), len(self.columns.weights), not logs
        self._native, self._making = None, Lock()
        self._bound: tuple[Any, ...] = rows[:2]
        """The rows in the form that the index needs."""

    def native(self, threads: int = 1) -> Any:
        """Return the index of the columns, which the first call builds if there is memory for so many threads."""
        with self._making:
            if self._native is None:
                store, weights, _ = self.columns
                make = partial(self.algorithm.native, store, weights, self.logs, self.rows.store, threads)
                self._native = self._indexed(make, "cpu")
        return self._native

    def ready(self, threads: int = 1) -> Self:
        self.native(threads)
        return self

    def _indexed(self, make: Callable[[], Any], device: str) -> Any:
        """Return the index that the columns' bank caches, or a new one."""
        if self.kept is None:
            return make()
        key = self.algorithm.index_key(self.logs)
        return self.kept.indexed(None if key is None else (key, device), make)

    def on(self, device: Device) -> Evaluator:
        kernel = self.algorithm
        if self.logs:
            raise KernelOverflowError(
                f"Values of {kernel!r} do not fit a float64 for these examples, and device={device.name!r} computes "
                f"only in float64. Use device='cpu'."
            )
        if not kernel.can_be_on_device():
            return super().on(device)
        store, weights, _ = self.columns
        there = copy.copy(self)
        index = self._indexed(lambda: kernel.on_device(device, store, weights, self.rows.store), device.name)
        there._native, there.xp, there.rounds, there._bound = index, device.xp, False, (index.bind(*self.rows[:2]),)
        return there

    def fill(self, begin: int, end: int, out: NDArray[Any], halves: bool) -> None:
        limit = self.rows.limit if halves else None
        large = self.native().rows(*self._bound, limit, begin, end, out)
        if large is None or self.logs:
            return
        row, column = large
        if out.dtype != np.float64:  # the value may not even fit a float64
            self.fill(row, row + 1, np.empty((1, row + 1 if halves else self.n_columns)), halves)
        raise overflow(self.kernel, row, column + self.first_column, out.dtype)


class StoreKernel(Kernel):
    """A convolution kernel computed by the native core, over the distinct parts of the examples in a bank."""

    _algorithm: ClassVar[Any]
    bank: ClassVar[type[Bank[Any]]]
    """The class that holds the examples."""
    collapses: ClassVar[bool] = True
    """Whether a model can be one weighted graph of distinct parts that scores any later example."""

    @abstractmethod
    def _native_parameters(self, store: Any) -> tuple[Any, ...]:
        """Return the parameters of the native algorithm besides the examples."""

    def native(
        self, store: Any, weights: _core.NodeWeights, logs: bool, rows_store: Any = None, threads: int = 1
    ) -> Any:
        """Bind the native algorithm to columns, for use by several threads.

        Rows come from `rows_store` if they are in another store.
        """
        self._check_memory(store, weights, threads)
        return self._algorithm(store, weights, logs, *self._native_parameters(rows_store or store))

    _on_device: ClassVar[str] = ""
    """Name of the class in `treelet.device` that computes this kernel, which is loaded only if a device is used."""

    def can_be_on_device(self) -> bool:
        """Return whether a device can compute this kernel."""
        return bool(self._on_device)

    def on_device(self, device: Device, store: Any, weights: _core.NodeWeights, rows_store: Any = None) -> Any:
        """Bind the algorithm of a device, in the same way as `native`."""
        algorithm = getattr(import_module("treelet.device"), self._on_device)
        return algorithm(device, store, weights, *self._native_parameters(rows_store or store))

    def native_self_values(self, store: Any, weights: _core.NodeWeights, logs: bool) -> Vector:
        """Return the value of each row with itself."""
        if self._rough(store, weights) > SMALL and len(weights):
            lengths = np.diff(weights.start)
            largest = weights.take(np.array([lengths.argmax()]))  # rows are processed one by one
            self._check_memory(store, largest, 1)
        values: Vector = self._algorithm.self_values(store, weights, logs, *self._native_parameters(store))
        return values

    def coerce(self, X: Any) -> Any:
        return self.bank.of(X)

    def bound(
        self,
        rows: StoreRows,
        columns: StoreRows | None,
        logs: bool,
        shown: Kernel | None = None,
        kept: Bank[Any] | None = None,
    ) -> Evaluator:
        """Bind the kernel to rows and columns over a store; see `_StoreEvaluator`."""
        return _StoreEvaluator(self, rows, columns, logs, shown, kept)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        X = self.coerce(X)
        if Y is None:
            return self.bound(StoreRows.of(X), None, logs, kept=X)
        columns, rows = self.coerce(Y).joined(X)
        return self.bound(StoreRows.of(rows), StoreRows.of(columns), logs, kept=columns)

    def with_cached_index(self, X: Any) -> Any:
        return self.coerce(X).with_cached_index()

    def index_key(self, logs: bool) -> Hashable | None:
        """Return the key under which a bank caches its index.

        None means that the index also depends on the rows, or cannot be cached.
        """
        return self._key(logs)

    def cached_values(self) -> dict[str, Hashable]:
        if self.index_key(False) is None:  # the values may depend on more than the printed parameters
            return {}
        return {"self-values": self._key(False), "log self-values": self._key(True)}

    def cached_indexes(self, bank: Any) -> dict[str, CachedIndex]:
        key = self.index_key(False)
        if key is None or not isinstance(bank, self.bank) or not hasattr(self._algorithm, "from_arrays"):
            return {}
        store, weights = bank.columns.store, bank.weights()
        return {
            "index": CachedIndex(
                ((key, "cpu"),),
                lambda: self.native(store, weights, False),
                lambda native: native.arrays(),
                lambda arrays: self._algorithm.from_arrays(store, arrays, *self._native_parameters(store)),
            ),
            "needs": CachedIndex(
                ((key, "needs"),),
                lambda: self._estimate(store, weights),
                lambda needs: [np.array(needs[:2], np.int64)],
                lambda arrays: Needs(*arrays[0].tolist()),
            ),
        }

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        self.validate()
        return self._self_values(self.coerce(X), logs)

    def cache_self_values(self, X: Any, threads: int) -> None:
        self.validate()
        self._self_values(self.coerce(X), logs=False, threads=threads)

    def _self_values(self, bank: Bank[Any], logs: bool, threads: int = 1) -> Vector:
        """Return self-values, cached by the bank if the parameters of the kernel are hashable."""
        compute = partial(self._log_self_values if logs else self._plain_self_values, bank, threads)
        key = self._key(logs)
        values: Vector = compute() if key is None else bank.values(key, compute)
        return values

    def _plain_self_values(self, bank: Bank[Any], threads: int) -> Vector:
        store, weights = bank.columns.store, bank.weights()

        def part(begin: int, end: int) -> Vector:
            rows = weights if end - begin == len(bank) else weights.take(np.arange(begin, end))
            return self.native_self_values(store, rows, False)

        n = len(bank)
        if threads == 1 or n < 512:  # a thread is not worthwhile for a few trees
            return part(0, n)
        out, size = np.empty(n), max(256, -(-n // (8 * threads)))

        def work(begin: int) -> None:
            out[begin : begin + size] = part(begin, min(begin + size, n))

        run(work, range(0, n, size), threads, lambda done: None)
        return out

    def _log_self_values(self, bank: Bank[Any], threads: int) -> Vector:
        """Return logarithms of the self-values.

        Values that do not fit a float64, or lose digits in it, are computed in logarithms.
        """
        values = self._self_values(bank, False, threads).copy()
        odd = np.flatnonzero(~((values >= _SMALLEST) & np.isfinite(values)))
        with np.errstate(divide="ignore"):
            np.log(values, out=values)
        if len(odd):
            values[odd] = self.native_self_values(bank.columns.store, bank.weights().take(odd), True)
        return values

    def needs(self, X: Any, enough: int = 0) -> Needs:
        bank = self.coerce(X)
        store, weights, _ = StoreRows.of(bank)
        rough = self._rough(store, weights)
        if rough < enough:
            return Needs(rough, 0)
        key = self.index_key(False)
        needs: Needs = bank.indexed(key and (key, "needs"), lambda: self._estimate(store, weights))
        return needs

    def _estimate(self, store: Any, weights: _core.NodeWeights) -> Needs:
        return Needs(*self._algorithm.estimate(store, weights, *self._native_parameters(store)))

    def _check_memory(self, store: Any, weights: _core.NodeWeights, threads: int) -> None:
        """Raise an error if the index needs more memory than is available, before any is allocated."""
        if self._rough(store, weights) <= SMALL:
            return
        needs = self._estimate(store, weights)
        check_memory(
            needs.index + threads * needs.thread,
            repr(self),
            f"take smaller examples{self._less_memory()}, or fewer threads",
        )

    def _less_memory(self) -> str:
        """Return more ways to reduce the memory, for an error message."""
        return ""

    def _rough(self, store: Any, weights: _core.NodeWeights) -> int:
        """Return an upper bound for the bytes of an index and two threads, which is quick to compute."""
        plain: int = (1 << 27) + 128 * weights.entries + 1024 * (len(store) + store.child_count) + 2048 * len(weights)
        return plain + self._rough_more(store)

    def _rough_more(self, store: Any) -> int:
        """Return the bytes besides plain vectors and 1 KiB per distinct part and child."""
        return 0

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        self.validate()
        bank = self.coerce(X)
        store, weights = bank.columns.store, bank.weights()
        K, by_lam, by_mu = (np.empty((len(bank), len(bank))) for _ in range(3))
        parts = [by_lam, by_mu][: len(self._tunable)]
        if len(bank):
            large = self._algorithm.gradient(store, weights, weights, K, by_lam, by_mu, *self._native_parameters(store))
            if large is not None:
                raise overflow(self, *large)
        return K, parts
