"""Computations: threads that can be interrupted, random states, and the display of progress."""

from __future__ import annotations

import atexit
import gc
import io
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import copy_context
from html import escape
from threading import Thread
from threading import enumerate as enumerate_threads
from typing import Any, TypeVar

import numpy as np

from treelet import _core
from treelet.checks import wrong
from treelet.errors import NotEnoughMemoryError
from treelet.resources import THREAD, Resources, available, in_bytes

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


def digits_reached(tol: float, advance: Callable[[int], None]) -> Callable[[float], None]:
    """Return a function of the remaining error that advances a bar of 100 steps: all of them at `tol`, on a logarithmic scale."""
    shown = 0

    def step(error: float) -> None:
        nonlocal shown
        reached = int(100 * min(1.0, math.log(max(error, tol)) / math.log(tol))) if 0 < tol < 1 else 0
        advance(max(0, reached - shown))
        shown = max(shown, reached)

    return step


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


# --- progress: a bar on a terminal, lines in a log, or a line in a notebook --------------------------------------------

Advance = Callable[[int], None]

_LOG = logging.getLogger("treelet")
_LOG.addHandler(logging.NullHandler())  # the application decides what to show

_FIRST_LINE = 10.0  # seconds before the first line in a log
_LONGEST_SILENCE = 60.0  # maximal number of seconds between two lines in a log
_LEAST_SHARE = 0.05  # of the steps, before the time left is estimated
_BLINK = 0.25  # seconds between two updates in a notebook

_shown = threading.local()
"""Whether a bar of this thread is open, as the attribute `here`."""


def _tell(text: str) -> None:
    """Write a line to standard error and flush. Do nothing if standard error is missing or closed."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


@contextmanager
def progress_bar(wanted: bool | None, what: str, total: int) -> Iterator[Advance]:
    """Show the progress of a computation, if `wanted`; None means "as in the context" (`treelet.config_context`).

    A bar in a block of another bar is not shown: the other one counts larger steps.

    The context manager yields a function that takes the number of steps done since its last call. Several threads may
    call this function.

    A terminal shows a bar, which pulses until the first step is done. A notebook shows a line that
    is updated in place. Otherwise (a pipe, a log), lines are written to standard error:
    ``grid: 120 of 400, 1 min 10 s elapsed, about 2 min 43 s left``. The first line appears after ten
    seconds and the others at growing intervals, so a short computation prints nothing. The time left
    is estimated when a twentieth of the steps is done.
    """
    begin = time.monotonic()
    outermost, _shown.here = not getattr(_shown, "here", False), True
    try:
        with _display(outermost and Resources.of(progress=wanted).progress, what, total) as advance:
            yield advance
    finally:
        _shown.here = not outermost
    seconds = time.monotonic() - begin
    _LOG.log(logging.INFO if seconds >= 1 else logging.DEBUG, "%s: %d in %.2f s", what, total, seconds)


@contextmanager
def _display(wanted: bool, what: str, total: int) -> Iterator[Advance]:
    if not wanted:
        yield lambda steps: None
        return
    state = _Progress(what, total)
    display: AbstractContextManager[Advance]
    if (in_notebook := _notebook_display()) is not None:
        display = _repeated(state, _Cell(in_notebook), _BLINK, _BLINK)
    elif sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        display = _bar(state)
    else:
        display = _repeated(state, lambda state: _tell(state.text()), _FIRST_LINE, _LONGEST_SILENCE)
    with display as advance:
        yield advance


class _Progress:
    """The number of finished steps of a computation, and the time since its start."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done, self.begin = what, total, 0, time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.begin

    def text(self) -> str:
        done = min(self.done, self.total)
        text = f"{self.what}: {done:,} of {self.total:,}, {_duration(self.elapsed)}"
        if done == self.total:
            return text
        # The first steps include preparations, and a few slow ones among them would be taken for all.
        known = done >= _LEAST_SHARE * self.total
        left = f", about {_duration(self.elapsed * (self.total - done) / done)} left" if known else ""
        return f"{text} elapsed{left}"


def _duration(seconds: float) -> str:
    """Return a time in its two largest units.

    >>> _duration(9.7), _duration(70), _duration(2 * 3600 + 300), _duration(200_000)
    ('10 s', '1 min 10 s', '2 h 5 min', '2 d 7 h')
    """
    whole = round(seconds)
    for name, size, smaller, unit in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // unit} {smaller}"
    return f"{whole} s"


@contextmanager
def _repeated(state: _Progress, show: Callable[[_Progress], None], first: float, longest: float) -> Iterator[Advance]:
    """Show the state at growing intervals, even during a long step. Show the end if anything was shown."""
    lock, over = threading.Lock(), threading.Event()
    due, shown = first, False

    def show_if_due() -> None:
        nonlocal due, shown
        with lock:
            if (elapsed := state.elapsed) >= due and state.done < state.total and not over.is_set():
                show(state)
                due, shown = elapsed + min(longest, max(first, elapsed / 2)), True

    def watch() -> None:
        while not over.wait(max(0.05, due - state.elapsed)):
            show_if_due()

    def advance(steps: int) -> None:
        with lock:
            state.done += steps
        show_if_due()

    watcher = threading.Thread(target=watch, name="treelet progress", daemon=True)
    with suppress(NotEnoughMemoryError):  # without a thread, progress is shown only between two steps
        start(watcher)
    try:
        yield advance
    finally:
        with lock:
            over.set()
        if watcher.ident is not None:
            watcher.join()
    if shown or state.elapsed >= first:
        state.done = state.total
        show(state)


@contextmanager
def _bar(state: _Progress) -> Iterator[Advance]:
    """Show a bar on a terminal. The bar disappears when the computation ends."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(state.what, total=None)  # without a total, the bar pulses

        def advance(steps: int) -> None:
            bar.update(task, total=state.total, advance=steps)

        yield advance


def _notebook_display() -> Callable[..., Any] | None:
    """Return IPython's display function inside a notebook, otherwise None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    function: Callable[..., Any] = display
    return function


class _Cell:
    """A line below a notebook cell that is replaced at each call, without widgets."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self.display, self.handle = display, None

    def __call__(self, state: _Progress) -> None:
        text = state.text()
        # Without a value, the browser shows a pulsing bar.
        value = f' value="{min(state.done, state.total)}" max="{state.total}"' if state.done else ""
        bar = f"<progress{value}></progress>"
        data = {"text/plain": text, "text/html": f"<div>{bar} {escape(text)}</div>"}
        if self.handle is None:
            self.handle = self.display(data, raw=True, display_id=True)
        else:
            self.handle.update(data, raw=True)
