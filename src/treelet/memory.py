"""The memory that is available, and the error for work that needs more.

`psutil.virtual_memory` would replace a third of this module: it knows neither the limit of a control group, such as a
container's, nor that of ``ulimit -v``.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from treelet.errors import NotEnoughMemoryError

SMALL = 1 << 28
"""Bytes that are taken without a question."""
THREAD = 16 << 20
"""Bytes that a thread takes before it does anything."""
_GROUP = Path("/sys/fs/cgroup")


def available() -> int:
    """Bytes that can be allocated now: the least of what the machine, the control group and the address space have left.

    The values are looked up four times per second at most.
    """
    return _looked_up(int(4 * time.monotonic()))


@lru_cache(1)
def _looked_up(quarter_second: int) -> int:
    limits = [sys.maxsize]
    with suppress(OSError, ValueError, StopIteration), open("/proc/meminfo", encoding="ascii") as lines:
        limits.append(1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")))
    if len(limits) == 1:  # no Linux
        limits.append(_elsewhere())
    with suppress(OSError, ValueError):  # ValueError: "max"
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
    """Free bytes on systems other than Linux, or all of the machine's memory where only that is known (macOS)."""
    if sys.platform == "win32":
        import ctypes

        # MEMORYSTATUSEX: two numbers of 32 bits, seven of 64; the second of these is what is free.
        status = (ctypes.c_uint64 * 8)(ctypes.sizeof(ctypes.c_uint64 * 8))
        if ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            return int(status[2])
        return sys.maxsize
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        with suppress(OSError, ValueError, AttributeError):
            return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
    return sys.maxsize


def _file_pages() -> int:
    """The part of a control group's memory that only caches files and is released when it is needed."""
    names = ("inactive_file ", "active_file ")
    lines = (_GROUP / "memory.stat").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(names))


def check_memory(needed: int, what: str, advice: str) -> None:
    """Raise `NotEnoughMemoryError` if fewer bytes than `needed` are available."""
    if needed <= SMALL or needed <= (free := available()):
        return
    raise NotEnoughMemoryError(
        f"{what} takes about {in_bytes(needed)}, more than the {in_bytes(free)} that are free: {advice}"
    )


def in_bytes(number: float) -> str:
    """A number of bytes with its unit.

    >>> in_bytes(0), in_bytes(2048), in_bytes(3.4 * 2**30)
    ('0 bytes', '2.0 KiB', '3.4 GiB')
    """
    for size, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{int(number)} bytes"
