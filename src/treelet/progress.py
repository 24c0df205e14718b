"""Progress display of long computations: a bar on a terminal, lines in a log, or a line in a notebook."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from html import escape
from typing import Any

from treelet.errors import NotEnoughMemoryError
from treelet.resources import Resources
from treelet.work import start

Advance = Callable[[int], None]

_LOG = logging.getLogger("treelet")
_LOG.addHandler(logging.NullHandler())  # the application decides what to show

_PATIENCE = 10.0  # seconds before the first line in a log
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
        display = _repeated(state, lambda state: _tell(state.text()), _PATIENCE, _LONGEST_SILENCE)
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
