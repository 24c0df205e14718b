"""Long work in threads that can be interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from contextvars import copy_context
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import wrong
from treelet.errors import NotEnoughMemoryError
from treelet.memory import THREAD, available, in_bytes
from treelet.vocabulary import current, keyword

Item = TypeVar("Item")

LEAST_PART = 256  # items for which a thread is worth asking


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
    raise wrong("random_state", current().random_state, random_state)


def run(work: Callable[[Item], Any], items: Sequence[Item], threads: int, advance: Callable[[Any], None]) -> None:
    """Work on all items, in threads if there are several; `advance` gets each result. An error or an interrupt ends it."""
    if threads == 1 or len(items) <= 1:
        for item in items:
            advance(work(item))
        return
    check_room(threads)
    stop = _core.Stop()  # signals reach the main thread only; the others watch this
    with ThreadPoolExecutor(threads, "treelet", initializer=_core.watch, initargs=(stop,)) as pool:
        waiting = {pool.submit(copy_context().run, work, item) for item in items}  # messages need the context
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


def in_parts(n: int, part: Callable[[int, int], NDArray[np.float64]], threads: int) -> NDArray[np.float64]:
    """Return ``part(0, n)``, whose numbers each depend on one item alone, computed in several parts by several threads."""
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
