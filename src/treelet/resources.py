"""The resources of a computation: threads, memory, device, cluster and progress display."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

import numpy as np

from treelet.checks import check_boolean, wrong
from treelet.errors import ParameterError

DEFAULT_MEMORY = 1 << 30
_DEVICES = ("cpu", "cuda", "emulated")
_DEVICES_IN_WORDS = "'cpu' or 'cuda'"
_GPU_NAMES = ("gpu", "cuda:0", "nvidia", "cupy")
"""Other names for a GPU, for suggestions."""
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}

Bytes = int | float | str | None
"""An amount of memory as users write it: a number of bytes, or a string such as ``"1GiB"``."""


class Resources(NamedTuple):
    """Resources of a computation.

    Public functions and estimators validate their options once, with `Resources.of`. Internal
    functions take a `Resources` value instead of the single options.
    """

    threads: int = 1
    memory_limit: int | None = None
    """Value of ``memory=`` in bytes; None if the default applies."""
    device: str = "cpu"
    device_memory: int | None = None
    """Limit for the memory of the device, in bytes; None for all of the free memory."""
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
        """Validate execution options. Errors name `owner`, the estimator or function that received them."""
        check_boolean("progress", progress, of=owner)
        if not isinstance(device, str) or device not in _DEVICES:
            hint = " Did you mean 'cuda'?" if isinstance(device, str) and device.lower() in _GPU_NAMES else ""
            raise ParameterError(f"{wrong('device', _DEVICES_IN_WORDS, device, owner)}{hint}")
        device_limit = parse_memory(device_memory, "device_memory", of=owner)
        if device == "cpu" and device_limit is not None:
            raise ParameterError("device_memory= requires device='cuda'. Use memory= to limit the memory of the CPU.")
        if client is not None and device != "cpu":
            raise ParameterError(
                f"client= and device={device!r} cannot be combined: the workers of a cluster compute on "
                f"their CPUs. Omit one of the two."
            )
        threads, limit = count_threads(n_jobs, of=owner), parse_memory(memory, of=owner)
        return cls(threads, limit, device, device_limit, client, bool(progress))

    @property
    def memory(self) -> int:
        """Memory limit in bytes, in addition to the examples and the result."""
        return self.memory_limit or DEFAULT_MEMORY


PLAIN = Resources()
"""One thread, the default memory limit, no progress display."""


def count_threads(n_jobs: int | None, *, of: object = None) -> int:
    """Return the number of threads. As in joblib, None means 1 and -1 means one thread per core."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise wrong("n_jobs", "an int other than 0 (-1 uses all cores)", n_jobs, of)
    if n_jobs > 0:
        return int(n_jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + int(n_jobs))


def parse_memory(memory: Bytes, name: str = "memory", *, of: object = None) -> int | None:
    """Return an amount of memory in bytes. None stays None.

    Strings such as ``"1GiB"`` and ``"500 MB"`` are allowed; the unit is case-insensitive.

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
        raise wrong(name, "a positive number of bytes or a string such as '1GiB'", memory, of)
    return int(value)
