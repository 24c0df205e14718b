"""The resources of a computation: threads, memory, a device, a cluster, and whether to show progress."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

import numpy as np

from treelet.checks import check_boolean, wrong
from treelet.errors import ParameterError
from treelet.vocabulary import current, keyword

DEFAULT_MEMORY = 1 << 30
DEVICES = ("cpu", "cuda", "emulated")
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}

Bytes = int | float | str | None
"""An amount of memory as users write it: a number of bytes, or a string such as ``"1GiB"``."""


class Resources(NamedTuple):
    """Resources of a computation, validated once, where a public function or estimator receives its options.

    Everything below that edge takes this value instead of the single options.
    """

    threads: int = 1
    memory_limit: int | None = None
    """Bytes that were asked for with ``memory=``; None if the default applies."""
    device: str = "cpu"
    device_memory: int | None = None
    """Bytes of the device's memory that may be used; None for all that are free."""
    client: Any | None = None
    """The client of a Dask cluster, or None."""
    progress: bool = False

    @classmethod
    def of(
        cls,
        n_jobs: int | None = 1,
        memory: Bytes = None,
        device: str = "cpu",
        device_memory: Bytes = None,
        client: Any | None = None,
        progress: bool = False,
        *,
        owner: object = None,
    ) -> Resources:
        """Validate execution options. Errors name `owner`, the estimator or function that was given the options."""
        check_boolean("progress", progress, of=owner)
        if not isinstance(device, str) or device not in DEVICES:
            raise wrong("device", "'cpu' or 'cuda'", device, owner)
        device_limit = parse_memory(device_memory, "device_memory")
        if device == "cpu" and device_limit is not None:
            raise ParameterError(
                f"{keyword('device_memory')} is for {keyword('device', 'cuda')}; of the CPU's memory, {keyword('memory')} says "
                "how much may be taken"
            )
        if client is not None and device != "cpu":
            raise ParameterError(
                f"the workers of {keyword('client')} compute on their CPUs: give either {keyword('client')} or {keyword('device')}"
            )
        return cls(count_threads(n_jobs), parse_memory(memory), device, device_limit, client, bool(progress))

    @property
    def memory(self) -> int:
        """Bytes that the work may take besides the examples and the result."""
        return self.memory_limit or DEFAULT_MEMORY


PLAIN = Resources()
"""One thread, the default memory, no progress."""


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads, with joblib's convention: None is 1, -1 is one thread per core."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise wrong("n_jobs", f"{current().integer} other than 0 (-1: all cores)", n_jobs)
    if n_jobs > 0:
        return int(n_jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + int(n_jobs))


def parse_memory(memory: Bytes, name: str = "memory") -> int | None:
    """Return a number of bytes from a number or a string such as ``"1GiB"`` or ``"500 MB"``; None stays None.

    >>> parse_memory("1GiB")
    1073741824
    """
    if memory is None:
        return None
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", memory)
        value = float(match[1]) * _UNITS[match[2].lower()] if match and match[2].lower() in _UNITS else 0
    elif isinstance(memory, (int, float, np.integer)) and not isinstance(memory, bool):
        value = float(memory) if memory < 2**62 else 0
    else:
        value = 0
    if not 1 <= value < 2**62:
        raise wrong(name, "a positive number of bytes or a text like '1GiB'", memory)
    return int(value)
