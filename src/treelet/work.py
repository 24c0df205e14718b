"""Long work: threads that can be interrupted, and progress bars."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from treelet import _core
from treelet.checks import wrong

Advance = Callable[[int], None]
Item = TypeVar("Item")


def count_threads(n_jobs: int | None) -> int:
    """1 for None, one a core for -1, and so on as in joblib."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise wrong("n_jobs", "an int other than 0 (-1: all cores)", n_jobs)
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


@contextmanager
def progress_bar(wanted: bool, what: str, total: int) -> Iterator[Advance]:
    """A bar on the standard error, told of steps by the function it gives; nothing at all unless `wanted`."""
    if not wanted:
        yield lambda steps: None
        return
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
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)
        bar.update(task, completed=total)
