"""Interruptible computations in threads, and random states."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, suppress
from contextvars import copy_context
from threading import Thread
from threading import enumerate as enumerate_threads
from typing import Any, TypeVar

import numpy as np

from treelet import _core
from treelet.checks import wrong
from treelet.errors import NotEnoughMemoryError
from treelet.memory import THREAD, available, in_bytes

Item = TypeVar("Item")

_PATIENCE = 0.1  # seconds between two checks for an interrupt
_INTERRUPTED = 130  # exit code
_WAITING = 0.1 if os.name == "nt" else None  # seconds. On Windows, Ctrl-C does not end a wait for threads.


def generator(random_state: Any) -> np.random.Generator:
    """Return a random generator for a random state as in scikit-learn.

    The random state is an int, a RandomState, a Generator, or None for different numbers each time.

    >>> int(generator(0).integers(100)), int(generator(0).integers(100))
    (85, 85)
    """
    return (
        random_state if isinstance(random_state, np.random.Generator) else np.random.default_rng(seed_of(random_state))
    )


def seed_of(random_state: Any) -> int:
    """Return a seed: the random state itself if it is an int, otherwise a number drawn from it."""
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and 0 <= random_state < 2**63:
        return int(random_state)
    raise wrong("random_state", "an int of at least 0, a RandomState, a Generator or None", random_state)


class _CannotStartError(NotEnoughMemoryError):
    """The system cannot start a thread, although there is enough memory."""

    def __init__(self) -> None:
        super().__init__(
            "The system cannot start a thread. Raise the limit on memory (ulimit -v) or processes (ulimit -u)."
        )


def start(thread: Thread) -> None:
    """Start a thread. Raise `NotEnoughMemoryError` if that is impossible; Python might wait forever for such a thread."""
    if (free := available()) < THREAD:
        raise NotEnoughMemoryError(
            f"Not enough memory to start 1 thread: only {in_bytes(free)} are free. Use n_jobs=1, which starts no threads."
        )
    try:
        thread.start()
    except RuntimeError:
        raise _CannotStartError from None


class _Pool(ThreadPoolExecutor):
    """A pool that continues with fewer threads if the system does not start more of them.

    The limits on processes and address space (``ulimit -u``, ``ulimit -v``) cannot be predicted.
    """

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:
            if not self._threads:
                raise _CannotStartError from None  # nothing has been done yet


def run(work: Callable[[Item], Any], items: Sequence[Item], threads: int, advance: Callable[[Any], None]) -> None:
    """Apply `work` to all items, in threads, and pass each result to `advance`.

    An error or an interrupt stops all threads. If there is not enough memory for the threads, fewer
    are started, or none.
    """
    if threads > 1 and len(items) > 1 and (threads := min(threads, available() // THREAD)) > 1:
        with suppress(_CannotStartError):
            _run_in_threads(work, items, threads, advance)
            return
    for item in items:
        advance(work(item))


def _run_in_threads(
    work: Callable[[Item], Any], items: Sequence[Item], threads: int, advance: Callable[[Any], None]
) -> None:
    stop = _core.Stop()  # signals reach only the main thread; the other threads poll this flag
    waiting: set[Future[Any]] = set()
    with _Pool(threads, "treelet", initializer=_core.watch, initargs=(stop,)) as pool:
        try:
            for item in items:
                waiting.add(pool.submit(copy_context().run, work, item))
            while waiting:
                done, waiting = wait(waiting, _WAITING, return_when=FIRST_COMPLETED)
                for future in done:
                    advance(future.result())
        except BaseException:
            stop.set()
            for future in waiting:
                future.cancel()
            raise


class _Unstoppable(Thread):
    """Work of `abandonable`. After a fork, Python counts it as ended in the child, where it does not run."""


def _left() -> list[_Unstoppable]:
    """Return the threads of work that was left behind and still runs."""
    threads = [thread for thread in enumerate_threads() if isinstance(thread, _Unstoppable)]
    for thread in threads:
        if thread.is_alive():
            thread.join(_PATIENCE)  # it may have returned its result and be about to end
    return [thread for thread in threads if thread.is_alive()]


def abandonable(work: Callable[[], Any]) -> Any:
    """Return the result of work that cannot be stopped, such as libsvm's. An interrupt leaves it behind.

    The work is done in a thread of its own, which ends with the process at the latest. The result of
    work that was left behind is lost.
    """
    future: Future[Any] = Future()

    def compute() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    if available() < THREAD:
        return work()
    try:
        _Unstoppable(target=copy_context().run, args=(compute,), name="treelet work", daemon=True).start()
    except RuntimeError:  # a limit on processes (ulimit -u)
        return work()
    while not wait([future], _PATIENCE).done:
        _core.check()  # signals reach only the main thread; the other threads poll a flag
    return future.result()


def leave(code: object) -> None:
    """End the process at once with an exit code, if work that was left behind is still running."""
    if _left():
        _LastStep.code = code if isinstance(code, int) else int(code is not None)
        atexit._run_exitfuncs()


class _LastStep:
    """Ends the process after all exit functions, if work that was left behind is still running.

    Python must not shut down meanwhile: if C++ code returns to Python then, the process crashes. An
    exit function of our own would run before those that were registered before treelet was imported.
    This object is its argument, which Python deletes when all exit functions have run.
    """

    code: int | None = None
    """The exit code, if it is known. Python does not tell it to exit functions."""

    def __del__(self) -> None:
        code = self.code
        try:
            if not _left():
                return
            _flush_files()  # also if we wait, because the process may be killed meanwhile
            if code is None and (error := getattr(sys, "last_type", None)) is not None:  # it ends the process
                code = _INTERRUPTED if issubclass(error, KeyboardInterrupt) else 1
            if code is None:
                with suppress(Exception):  # standard error may be closed
                    sys.stderr.write("treelet: Waiting for libsvm to end. Press Ctrl-C to exit at once.\n")
                    sys.stderr.flush()
            while code is None:
                if not _left():
                    return
        except KeyboardInterrupt:
            code = _INTERRUPTED
        os._exit(code)


atexit.register(lambda last: None, _LastStep())


def _flush_files() -> None:
    """Flush all open files, which `os._exit` does not."""
    for file in gc.get_objects():
        with suppress(Exception):  # closed files, full disks, and whatever the classes of others do
            if issubclass(type(file), io.IOBase):
                file.flush()
    for stream in (sys.stdout, sys.stderr):  # may be objects of other classes
        with suppress(Exception):
            stream.flush()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread inside a ``with`` block.

    The threads of treelet do the work instead. The order of summation in BLAS, and thus every bit of
    the result, does not depend on their number.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, "blas")
    return limits
