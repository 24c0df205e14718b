"""A kernel with its examples, as they are sent to other processes and used there."""

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
    """A kernel, rows and columns, bound to each other once in every process that receives them.

    The values there are the same to the last bit: banks keep the numbers of their parts, by which sums are ordered, and
    share the stores that they shared. All copies in a process are one object.

    Parameters
    ----------
    kernel : Pairwise
        What compares.
    X, Y : collections
        In the kernel's form; without Y, X with itself.
    room : int
        Bytes for indexes over columns; the latest index is always kept.
    held : bool
        Whether a receiving process holds the shipment until `release` is called there, another shipment is held, or the
        shipment is unused for `IDLE` seconds (the client may be gone). Dask may otherwise take back copies that no task uses,
        and send them again.
    """

    def __init__(self, kernel: Pairwise, X: Any, Y: Any | None, room: int, held: bool = False) -> None:
        self._set(uuid.uuid4().hex, held, content=(kernel, X, Y, room))

    def _set(self, token: str, held: bool, *, packed: Buffer | None = None, content: Content | None = None) -> None:
        self.token, self._held, self._packed, self._content = token, held, packed, content
        self.used = time.monotonic()
        self._stop, self._stopped = _core.Stop(), False
        self._lock, self._evaluators = threading.Lock(), dict[Span, tuple[Evaluator, int]]()

    def packed(self) -> Buffer:
        """All that is sent."""
        with self._lock:
            if self._packed is None:
                stream = io.BytesIO()
                _Exactly(stream, protocol=5).dump(self._content)
                self._packed = stream.getvalue()
            return self._packed

    def __reduce__(self) -> tuple[Any, ...]:
        return arrived, (self.token, self._held, self.packed())

    def __sizeof__(self) -> int:  # by which Dask knows what it costs to send, and to keep
        return object.__sizeof__(self) + len(self.packed())

    @property
    def kernel(self) -> Pairwise:
        with self._lock:
            return self._unpacked()[0]

    def evaluator(self, columns: Span) -> Evaluator:
        """The kernel bound to all rows and some columns; the index of these is made once."""
        self.used = time.monotonic()
        with self._lock:
            if columns not in self._evaluators:
                kernel, X, Y, room = self._unpacked()
                needed = kernel.needs((X if Y is None else Y)[columns.slice], room).index
                while self._evaluators and needed + sum(size for _, size in self._evaluators.values()) > room:
                    del self._evaluators[next(iter(self._evaluators))]
                evaluator = bind(Job(kernel, X, Y), Block(columns, ())).ready()
                self._evaluators[columns] = evaluator, needed
            self._evaluators[columns] = self._evaluators.pop(columns)  # the latest comes last
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
        """Long work in this thread, which `stop` ends; nobody wants its result then."""
        _core.watch(self._stop)
        try:
            yield
        except RuntimeError:
            if not self._stopped:
                raise
        finally:
            _core.watch(_core.Stop())  # the thread is not ours

    def stop(self) -> None:
        """End what is under way; what was made of the examples goes, whoever still holds this, as tracebacks do."""
        self._stopped = True
        self._stop.set()
        self._content, self._evaluators = None, {}


_lock = threading.Lock()
_here: WeakValueDictionary[str, Shipment] = WeakValueDictionary()
_latest: Shipment | None = None  # of those that are held


def arrived(token: str, held: bool, packed: Buffer) -> Shipment:
    """What was sent, in this process, once."""
    global _latest  # noqa: PLW0603
    with _lock:
        found = _here.get(token)
        if found is None:
            found = _here[token] = Shipment.__new__(Shipment)
            found._set(token, held, packed=packed)
        if held and found is not _latest:
            _latest = found
            _watch(found, IDLE)
        return found


def _watch(shipment: Shipment, seconds: float) -> None:
    timer = threading.Timer(seconds, _release_if_idle, [shipment.token])
    timer.daemon = True
    timer.start()


def _release_if_idle(token: str) -> None:
    """Stop holding a shipment that is not used any more. Tasks that still use it keep their own reference."""
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
    """End this process's work on what has arrived under that token, if it has; it is gone then."""
    global _latest  # noqa: PLW0603
    with _lock:
        found = _here.get(token)
        if found is not None:
            found.stop()
        if found is _latest:
            _latest = None


class _Exactly(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles functions and classes of a session, too; and banks with their stores as they are, not only what they need of them."""

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
