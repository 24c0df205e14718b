"""Long work: threads that can be interrupted, and how far it is, said in the way that fits where it runs."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from html import escape
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import wrong
from treelet.errors import NotEnoughMemoryError
from treelet.memory import available, in_bytes
from treelet.vocabulary import current, keyword

Advance = Callable[[int], None]
Item = TypeVar("Item")

PATIENCE = 10.0  # seconds without a word, where progress is told in lines
LONGEST_SILENCE = 60.0  # between two lines
BLINK = 0.25  # between two states of a notebook's line
LEAST_PART = 256  # items for which a thread is worth asking
THREAD = 16 << 20  # bytes that one takes before it does anything


def count_threads(n_jobs: int | None) -> int:
    """1 for None, one a core for -1, and so on as in joblib."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise wrong("n_jobs", f"{current().integer} other than 0 (-1: all cores)", n_jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def generator(random_state: Any) -> np.random.Generator:
    """Random numbers from what scikit-learn calls a random state: an int, a RandomState, a Generator, or None for others each time.

    >>> int(generator(0).integers(100)), int(generator(0).integers(100))
    (85, 85)
    """
    return (
        random_state if isinstance(random_state, np.random.Generator) else np.random.default_rng(seed_of(random_state))
    )


def seed_of(random_state: Any) -> int:
    """The int that a random state is, or one drawn from it."""
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and 0 <= random_state < 2**63:
        return int(random_state)
    raise wrong("random_state", "an int of at least 0, a RandomState, a Generator or None", random_state)


def run(work: Callable[[Item], Any], items: Sequence[Item], threads: int, advance: Callable[[Any], None]) -> None:
    """Work on all items, in threads if there are several; `advance` gets each result. An error or an interrupt ends it."""
    if threads == 1 or len(items) <= 1:
        for item in items:
            advance(work(item))
        return
    check_room(threads)
    stop = _core.Stop()  # signals reach the main thread only; the others watch this
    with ThreadPoolExecutor(threads, "treelet", initializer=_core.watch, initargs=(stop,)) as pool:
        waiting = {pool.submit(work, item) for item in items}
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    advance(future.result())
        except BaseException:
            stop.set()
            for future in waiting:
                future.cancel()
            raise


def check_room(threads: int) -> None:
    """Refuse threads for which there is no memory: Python waits for ever for one that cannot begin."""
    if (free := available()) < threads * THREAD:
        raise NotEnoughMemoryError(
            f"there is no memory for {threads} threads: {in_bytes(free)} are free; {keyword('n_jobs', 1)} needs none"
        )


_sharing: ContextVar[int] = ContextVar("_sharing", default=1)


@contextmanager
def sharing(threads: int) -> Iterator[None]:
    """What is computed `in_parts` in here is shared out to so many threads."""
    before = _sharing.set(threads)
    try:
        yield
    finally:
        _sharing.reset(before)


def sharers() -> int:
    """How many threads share what is computed here."""
    return _sharing.get()


def in_parts(n: int, part: Callable[[int, int], NDArray[np.float64]]) -> NDArray[np.float64]:
    """``part(0, n)``, of which each number depends on its item alone; where threads share the work, from several parts."""
    threads = _sharing.get()
    if threads == 1 or n < 2 * LEAST_PART:
        return part(0, n)
    out, size = np.empty(n), max(LEAST_PART, -(-n // (8 * threads)))

    def work(begin: int) -> None:
        out[begin : begin + size] = part(begin, min(begin + size, n))

    run(work, range(0, n, size), threads, lambda done: None)
    return out


def one_blas_thread() -> AbstractContextManager[Any]:
    """In here BLAS starts no threads: ours do the work, and what it sums up is the same to the bit however many they are."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, "blas")
    return limits


# --- how far it is ------------------------------------------------------------------------------------------------


def tell(text: str) -> None:
    """A line on the standard error, now; lost where there is none."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


@contextmanager
def progress_bar(wanted: bool, what: str, total: int) -> Iterator[Advance]:
    """Say how far some work is, told of steps by the function it gives; nothing at all unless `wanted`.

    On a terminal a bar, in a notebook a line that changes. Elsewhere (a pipe, a log) lines on the standard error, the first
    after ten seconds, so that short work says nothing: ``grid: 120 of 400, 1 min 10 s gone, about 2 min 43 s left``.
    """
    if not wanted:
        yield lambda steps: None
        return
    state = _State(what, total)
    shown: AbstractContextManager[Advance]
    if (display := _notebook()) is not None:
        shown = _watched(state, _Cell(display), BLINK, BLINK)
    elif sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        shown = _bar(state)
    else:
        shown = _watched(state, lambda state: tell(state.text()), PATIENCE, LONGEST_SILENCE)
    with shown as advance:
        yield advance


class _State:
    """How far some work is."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done, self.begin = what, total, 0, time.monotonic()

    @property
    def gone(self) -> float:
        return time.monotonic() - self.begin

    def text(self) -> str:
        done = min(self.done, self.total)
        said = f"{self.what}: {done:,} of {self.total:,}, {duration(self.gone)}"
        if done == self.total:
            return said
        left = f", about {duration(self.gone * (self.total - done) / done)} left" if done else ""
        return f"{said} gone{left}"


def duration(seconds: float) -> str:
    """A time in words, as exact as one wants to know it.

    >>> duration(9.7), duration(70), duration(2 * 3600 + 300), duration(200_000)
    ('10 s', '1 min 10 s', '2 h 5 min', '2 d 7 h')
    """
    whole = round(seconds)
    for name, size, smaller, unit in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // unit} {smaller}"
    return f"{whole} s"


@contextmanager
def _watched(state: _State, say: Callable[[_State], None], first: float, longest: float) -> Iterator[Advance]:
    """Say the state at growing intervals, also during a long step; and at the end if something was said before."""
    lock, over = threading.Lock(), threading.Event()
    due, spoken = first, False

    def speak() -> None:
        nonlocal due, spoken
        with lock:
            if (gone := state.gone) >= due and state.done < state.total and not over.is_set():
                say(state)
                due, spoken = gone + min(longest, max(first, gone / 2)), True

    def watch() -> None:
        while not over.wait(max(0.05, due - state.gone)):
            speak()

    def advance(steps: int) -> None:
        state.done += steps
        speak()

    watcher = threading.Thread(target=watch, name="treelet progress", daemon=True)
    if watched := available() >= THREAD:  # else it is told between two steps only
        watcher.start()
    try:
        yield advance
    finally:
        with lock:
            over.set()
        if watched:
            watcher.join()
    if spoken or state.gone >= first:
        state.done = state.total
        say(state)


@contextmanager
def _bar(state: _State) -> Iterator[Advance]:
    """A bar on a terminal; it is gone when the work is done."""
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
        task = bar.add_task(state.what, total=state.total)
        yield lambda steps: bar.advance(task, steps)


def _notebook() -> Callable[..., Any] | None:
    """IPython's display, if this runs in a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    found: Callable[..., Any] = display
    return found


class _Cell:
    """A line below a notebook's cell that is written anew in its place. It needs no widgets."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self.display, self.handle = display, None

    def __call__(self, state: _State) -> None:
        text = state.text()
        bar = f'<progress value="{min(state.done, state.total)}" max="{state.total}"></progress>'
        data = {"text/plain": text, "text/html": f"<div>{bar} {escape(text)}</div>"}
        if self.handle is None:
            self.handle = self.display(data, raw=True, display_id=True)
        else:
            self.handle.update(data, raw=True)
