"""The resources of a computation: threads, memory, device, cluster and progress display.

`psutil.virtual_memory` would replace only a part of `available`: it ignores the memory limit of a
control group (such as a container) and the limit set by ``ulimit -v``.
"""

from __future__ import annotations

import math
import mmap
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treelet.checks import check_boolean, some_of, suggestion, wrong
from treelet.errors import NotEnoughMemoryError, ParameterError, TreeletError

__all__ = ["config_context", "get_config", "set_config"]  # of users; the other names are of treelet itself

_DEFAULT_MEMORY = 1 << 30
_DEVICES = ("cpu", "cuda", "emulated")
_DEVICES_IN_WORDS = "'cpu' or 'cuda'"
_GPU_NAMES = ("gpu", "cuda:0", "nvidia", "cupy")
"""Other names for a GPU, for suggestions."""
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}

_LARGE_ARRAY = 1 << 22  # bytes from which on NumPy asks for huge pages

Bytes = int | float | str | None
"""An amount of memory as users write it: a number of bytes, or a string such as ``"1GiB"``."""


class Resources(NamedTuple):
    """Resources of a computation.

    Public functions and estimators validate their options once, with `Resources.of`, which adds the
    settings of the context (`config_context`). Internal functions take a `Resources` value instead of
    the single options, and never read the context: they may run in other threads.
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
        device: str | None = None,
        device_memory: Bytes = None,
        client: Any | None = None,
        progress: bool | None = None,
        *,
        owner: object = None,
    ) -> Resources:
        """Validate execution options; None for one of the last four means "as in the context" (`config_context`).

        Errors name `owner`, the estimator or function that received the options. Call this method in the thread of the
        caller, because settings are local to a thread.
        """
        settings = _changed(_config.settings, device, device_memory, client, progress, owner)
        return settings._replace(threads=count_threads(n_jobs, of=owner), memory_limit=parse_memory(memory, of=owner))

    @property
    def memory(self) -> int:
        """Memory limit in bytes, in addition to the examples and the result."""
        return self.memory_limit or _DEFAULT_MEMORY


PLAIN = Resources()
"""One thread, the default memory limit, no progress display."""


def empty(shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return an array whose memory is taken only when it is written, in pages of the usual size.

    `numpy.empty` asks for huge pages. On some virtual machines these take five times as long to write for the first time,
    which is longer than the computation of a kernel matrix. They also take more memory if only a part of the array is used.
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    try:
        if size < _LARGE_ARRAY or not hasattr(mmap, "MAP_PRIVATE"):
            return np.empty(shape, dtype)
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        return np.frombuffer(memory, dtype).reshape(shape)
    except (
        MemoryError,
        ValueError,
        OSError,
        OverflowError,
    ):  # ValueError, OverflowError: more than any machine can address
        raise NotEnoughMemoryError(f"There is not enough memory for an array of {size:,} bytes.") from None


class _Config(threading.local):
    """The settings of each thread. A thread begins with the defaults."""

    settings = PLAIN


_config = _Config()


def get_config() -> dict[str, Any]:
    """Return the current settings of this thread.

    Returns
    -------
    dict
        The values of ``device``, ``device_memory`` (in bytes), ``client`` and ``progress``.

    See Also
    --------
    config_context : change the settings for a block of code.
    set_config : change the settings of this thread.

    Examples
    --------
    >>> import treelet as tl
    >>> tl.get_config()
    {'device': 'cpu', 'device_memory': None, 'client': None, 'progress': False}
    """
    device, device_memory, client, progress = _config.settings[2:]
    return {"device": device, "device_memory": device_memory, "client": client, "progress": progress}


def set_config(
    *,
    device: str | None = None,
    device_memory: Bytes = None,
    client: Any | None = None,
    progress: bool | None = None,
    **unknown: Any,
) -> None:
    """Change where the computations of this thread run, and whether they show their progress.

    Parameters
    ----------
    device, device_memory, client, progress
        As in `config_context`.

    See Also
    --------
    config_context : change the settings for a block of code.
    get_config : return the current settings.

    Examples
    --------
    >>> import treelet as tl
    >>> tl.set_config(progress=True)
    >>> tl.get_config()["progress"]
    True
    >>> tl.set_config(progress=False)
    """
    _refuse_unknown("set_config", unknown)
    _config.settings = _changed(_config.settings, device, device_memory, client, progress, "set_config")


@contextmanager
def config_context(
    *,
    device: str | None = None,
    device_memory: Bytes = None,
    client: Any | None = None,
    progress: bool | None = None,
    **unknown: Any,
) -> Iterator[None]:
    """Choose where computations run, and whether they show their progress, for a block of code.

    The settings apply to everything that the block computes: matrices, searches, and `fit` and
    `predict` of all estimators. Keywords of a function, such as ``gram(..., device="cpu")``, take
    precedence. As in scikit-learn, settings are local to the thread, a new thread begins with the
    defaults, contexts can be nested, and the end of the block restores the earlier settings.

    Parameters
    ----------
    device : {"cpu", "cuda"}, optional
        ``"cuda"`` computes on an NVIDIA GPU, for which CuPy must be installed. A device replaces the
        cluster of an outer context. Default: unchanged; at first ``"cpu"``.
    device_memory : int or str, optional
        Limit for GPU memory, for example ``"10GiB"``. Default: unchanged; at first all free memory.
    client : dask.distributed.Client, optional
        Compute on the workers of this client's cluster. A cluster replaces the GPU of an outer
        context, and ``device="cpu"`` ends its use. Default: unchanged; at first no cluster.
    progress : bool, optional
        Show a progress bar on standard error. Default: unchanged; at first False.
    **unknown
        Other names raise `treelet.errors.ParameterError`.

    See Also
    --------
    set_config : change the settings of this thread.
    get_config : return the current settings.

    Examples
    --------
    >>> import treelet as tl
    >>> with tl.config_context(progress=False):
    ...     clf = tl.KernelSVC().fit(["(NP (D a) (N dog))", "(VP (V sleep))"], ["thing", "deed"])
    >>> clf.predict(["(NP (D a) (N cat))"]).tolist()
    ['thing']

    With a GPU, or with a cluster::

        with tl.config_context(device="cuda", device_memory="10GiB"):
            clf.fit(X, y)
        with tl.config_context(client=dask.distributed.Client(address)):
            clf.fit(X, y)
    """
    _refuse_unknown("config_context", unknown)
    before = _config.settings
    _config.settings = _changed(before, device, device_memory, client, progress, "config_context")
    try:
        yield
    finally:
        _config.settings = before


def _refuse_unknown(function: str, names: dict[str, Any]) -> None:
    for name in names:
        known = list(Resources._fields[2:])
        remedy = suggestion(name, known) or f" The settings are {some_of(known)}."
        raise ParameterError(f"{function} has no setting {name!r}.{remedy}")


def _changed(
    settings: Resources,
    device: str | None,
    device_memory: Bytes,
    client: Any | None,
    progress: bool | None,
    owner: object,
) -> Resources:
    """Return settings with new values for those that are not None.

    A device replaces a client, and the reverse: only one of them can compute. The limit of a GPU ends with its use.
    """
    if progress is not None:
        check_boolean("progress", progress, of=owner)
        settings = settings._replace(progress=bool(progress))
    if device is None and device_memory is None and client is None:
        return settings
    if device is not None and (not isinstance(device, str) or device not in _DEVICES):
        hint = " Did you mean 'cuda'?" if isinstance(device, str) and device.lower() in _GPU_NAMES else ""
        raise ParameterError(f"{wrong('device', _DEVICES_IN_WORDS, device, owner)}{hint}")
    if client is not None and device not in (None, "cpu"):
        raise ParameterError(
            f"client= and device={device!r} cannot be combined: the workers of a cluster compute on "
            f"their CPUs. Omit one of the two."
        )
    if client is not None:
        _check_client(client, owner)
        settings = settings._replace(client=client, device="cpu", device_memory=None)
    elif device is not None:
        limit = settings.device_memory if device == settings.device else None
        settings = settings._replace(client=None, device=device, device_memory=limit)
    if device_memory is not None:
        limit = parse_memory(device_memory, "device_memory", of=owner)
        if settings.device == "cpu":
            raise ParameterError("device_memory= requires device='cuda'. Use memory= to limit the memory of the CPU.")
        settings = settings._replace(device_memory=limit)
    return settings


def _check_client(client: Any, owner: object) -> None:
    try:
        import distributed
    except ImportError as error:
        raise TreeletError(
            f"client= needs Dask, which cannot be imported ({error}). Install it with pip install 'treelet[dask]'."
        ) from None
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise wrong("client", "a dask.distributed.Client that is not asynchronous", client, of=owner)


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


# --- available memory -------------------------------------------------------------------------------------------------

SMALL = 1 << 28
"""Bytes that are allocated without a check."""
THREAD = 16 << 20
"""Bytes that a thread needs to start."""
_GROUP = Path("/sys/fs/cgroup")


def available(fresh: bool = False) -> int:
    """Return the number of bytes that can be allocated now.

    This is the minimum of the free bytes of the machine, the control group and the address space.
    Unless `fresh` is true, the values are read at most four times per second.
    """
    return _looked_up() if fresh else _recent(int(4 * time.monotonic()))


@lru_cache(1)
def _recent(quarter_second: int) -> int:
    return _looked_up()


def _looked_up() -> int:
    limits = [sys.maxsize]
    with suppress(OSError, ValueError, StopIteration), open("/proc/meminfo", encoding="ascii") as lines:
        limits.append(1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")))
    if len(limits) == 1:  # not Linux
        limits.append(_elsewhere())
    with suppress(OSError, ValueError):  # ValueError: the limit is "max"
        most = int((_GROUP / "memory.max").read_text(encoding="utf-8"))
        limits.append(max(0, most - int((_GROUP / "memory.current").read_text(encoding="utf-8")) + _file_pages()))
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            taken = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
            limits.append(max(0, soft - taken))
    return min(limits)


def _elsewhere() -> int:
    """Return the free bytes on systems other than Linux; on macOS, the total memory of the machine."""
    if sys.platform == "win32":
        import ctypes

        # MEMORYSTATUSEX: two 32-bit numbers, then seven 64-bit numbers. The second of the seven is the free memory.
        status = (ctypes.c_uint64 * 8)(ctypes.sizeof(ctypes.c_uint64 * 8))
        if ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            return int(status[2])
        return sys.maxsize
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        with suppress(OSError, ValueError, AttributeError):
            return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
    return sys.maxsize


def _file_pages() -> int:
    """Return the bytes of a control group that only cache files. The kernel releases them on demand."""
    names = ("inactive_file ", "active_file ")
    lines = (_GROUP / "memory.stat").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(names))


def check_memory(needed: int, what: str, advice: str, limit: float = math.inf) -> None:
    """Raise `NotEnoughMemoryError` if fewer than `needed` bytes are available, or more than a limit.

    `what` is the subject of the message, a noun phrase. `advice` is a sentence.
    """
    if needed <= limit and (needed <= SMALL or needed <= available()):
        return
    room = f"{in_bytes(available())} are free" if needed <= limit else f"{in_bytes(limit)} are allowed"
    subject, remedy = what[0].upper() + what[1:], advice[0].upper() + advice[1:].rstrip(".")
    raise NotEnoughMemoryError(f"{subject} needs about {in_bytes(needed)} of memory, but only {room}. {remedy}.")


def in_bytes(number: float) -> str:
    """Return a number of bytes with a unit.

    >>> in_bytes(0), in_bytes(2048), in_bytes(3.4 * 2**30)
    ('0 bytes', '2.0 KiB', '3.4 GiB')
    """
    for size, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{int(number)} bytes"
