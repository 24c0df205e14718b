"""A kernel with its examples, sent to other processes."""

from __future__ import annotations

import io
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

import cloudpickle

from treelet import _core
from treelet.formats.base import Columns
from treelet.gram.plan import Block, Span
from treelet.gram.tiles import Job, bind
from treelet.kernels.pairwise import Evaluator, Pairwise
from treelet.structures.bank import Bank
from treelet.structures.packed import STORES, exact_arrays, exact_store, store_arrays, store_of

IDLE = 10.0
"""Seconds without use after which a process stops holding a shipment."""
Content = tuple[Pairwise, Any, Any | None, int]
Buffer = bytes | memoryview


class Shipment:
    """A kernel, rows and columns, which every receiving process binds to each other once.

    Values in all processes are equal, bit for bit: banks keep the numbers of their parts, which
    determine the order of sums, and continue to share stores. All copies in a process are one
    object.

    Parameters
    ----------
    kernel : Pairwise
        Kernel or distance.
    X, Y : collections
        Rows and columns, coerced by the kernel. Without Y, the columns are X.
    room : int
        Memory limit in bytes for indexes over columns. The latest index is always kept.
    held : bool
        Whether a receiving process keeps a reference to the shipment. Without a reference, Dask may
        delete copies that no task uses, and send them again. The process drops the reference when
        `release` is called, another shipment is held, or the shipment was not used for `IDLE`
        seconds (the client may have died).
    """

    def __init__(self, kernel: Pairwise, X: Any, Y: Any | None, room: int, held: bool = False) -> None:
        self._set(uuid.uuid4().hex, held, content=(kernel, X, Y, room))

    def _set(self, token: str, held: bool, *, packed: Buffer | None = None, content: Content | None = None) -> None:
        self.token, self._held, self._packed, self._content = token, held, packed, content
        self.used = time.monotonic()
        self._stop, self._stopped = _core.Stop(), False
        self._lock, self._evaluators = threading.Lock(), dict[Span, tuple[Evaluator, int]]()

    def packed(self) -> Buffer:
        """Return the pickled content."""
        with self._lock:
            if self._packed is None:
                stream = io.BytesIO()
                _Exactly(stream, protocol=5).dump(self._content)
                self._packed = stream.getvalue()
            return self._packed

    def __reduce__(self) -> tuple[Any, ...]:
        return arrived, (self.token, self._held, self.packed())

    def __sizeof__(self) -> int:  # Dask estimates the cost of transfer and storage from this
        return object.__sizeof__(self) + len(self.packed())

    @property
    def kernel(self) -> Pairwise:
        with self._lock:
            return self._unpacked()[0]

    def evaluator(self, columns: Span) -> Evaluator:
        """Return the kernel bound to all rows and some columns. The index of the columns is built once."""
        self.used = time.monotonic()
        with self._lock:
            if columns not in self._evaluators:
                kernel, X, Y, room = self._unpacked()
                needed = kernel.needs((X if Y is None else Y)[columns.slice], room).index
                while self._evaluators and needed + sum(size for _, size in self._evaluators.values()) > room:
                    del self._evaluators[next(iter(self._evaluators))]
                evaluator = bind(Job(kernel, X, Y), Block(columns, ())).ready()
                self._evaluators[columns] = evaluator, needed
            self._evaluators[columns] = self._evaluators.pop(columns)  # the most recently used evaluator comes last
            return self._evaluators[columns][0]

    def _unpacked(self) -> Content:
        if self._stopped:
            raise RuntimeError("stopped")
        if self._content is None:
            assert self._packed is not None
            self._content = cloudpickle.loads(self._packed)
        return self._content

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Let `stop` end long computations of this thread, whose results are then discarded."""
        _core.watch(self._stop)
        try:
            yield
        except RuntimeError:
            if not self._stopped:
                raise
        finally:
            _core.watch(_core.Stop())  # the thread belongs to Dask

    def stop(self) -> None:
        """Stop running computations and free the examples, even if tracebacks still refer to this object."""
        self._stopped = True
        self._stop.set()
        self._content, self._evaluators = None, {}


_lock = threading.Lock()
_here: WeakValueDictionary[str, Shipment] = WeakValueDictionary()
_latest: Shipment | None = None  # the shipment that this process holds


def arrived(token: str, held: bool, packed: Buffer) -> Shipment:
    """Return the shipment with a token, which exists once per process."""
    global _latest  # noqa: PLW0603
    with _lock:
        shipment = _here.get(token)
        if shipment is None:
            shipment = _here[token] = Shipment.__new__(Shipment)
            shipment._set(token, held, packed=packed)
        if held and shipment is not _latest:
            _latest = shipment
            _watch(shipment, IDLE)
        return shipment


def _watch(shipment: Shipment, seconds: float) -> None:
    timer = threading.Timer(seconds, _release_if_idle, [shipment.token])
    timer.daemon = True
    timer.start()


def _release_if_idle(token: str) -> None:
    """Drop the reference to an unused shipment. Tasks that still use the shipment have their own."""
    global _latest  # noqa: PLW0603
    with _lock:
        if _latest is None or _latest.token != token:
            return
        left = IDLE - (time.monotonic() - _latest.used)
        if left > 0:
            _watch(_latest, left)
        else:
            _latest = None


def release(token: str) -> None:
    """Stop the computations of this process for a token, and free the shipment if it has arrived."""
    global _latest  # noqa: PLW0603
    with _lock:
        shipment = _here.get(token)
        if shipment is not None:
            shipment.stop()
        if shipment is _latest:
            _latest = None


class _Exactly(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles banks with their complete stores, and functions and classes of an interactive session."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Bank):
            return _bank, (type(value), *value.columns)
        if isinstance(value, _core.Store):
            return exact_store, (exact_arrays(value),)
        if isinstance(value, STORES):
            return store_of, (store_arrays(value),)
        return super().reducer_override(value)


def _bank(kind: type[Bank[Any]], store: Any, roots: Any) -> Bank[Any]:
    return kind.from_columns(Columns(store, roots))
