"""The available memory, and the error for computations that need more.

`psutil.virtual_memory` would replace only a third of this module: it ignores the memory limit of a
control group (such as a container) and the limit set by ``ulimit -v``.
"""

from __future__ import annotations

import math
import os
import sys
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from treelet.errors import NotEnoughMemoryError

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
        most = int((_GROUP / "memory.max").read_text())
        limits.append(max(0, most - int((_GROUP / "memory.current").read_text()) + _file_pages()))
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
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
    lines = (_GROUP / "memory.stat").read_text().splitlines()
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
