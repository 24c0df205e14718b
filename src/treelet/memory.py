"""How much memory there is, and the refusal of what needs more: said once, for all that may need much."""

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
    """Bytes that can be taken now: what the machine has free, or a group of processes or this one may still take.

    Looked up four times a second at most.
    """
    return _looked_up(int(4 * time.monotonic()))


@lru_cache(1)
def _looked_up(when: int) -> int:
    found = [sys.maxsize]
    with suppress(OSError, ValueError, StopIteration), open("/proc/meminfo", encoding="ascii") as lines:
        found.append(1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")))
    if len(found) == 1:  # no Linux
        found.append(_elsewhere())
    with suppress(OSError, ValueError):  # ValueError: "max"
        most = int((_GROUP / "memory.max").read_text())
        found.append(max(0, most - int((_GROUP / "memory.current").read_text()) + _file_pages()))
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            found.append(max(0, soft - taken))
    return min(found)


def _elsewhere() -> int:
    """What is free on systems other than Linux; where only the machine's memory is known (macOS), all of it."""
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
    """Of a group's memory, what only mirrors files and is given back when it is needed."""
    names = ("inactive_file ", "active_file ")
    lines = (_GROUP / "memory.stat").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(names))


def check_memory(needed: int, what: str, advice: str) -> None:
    """Raise `NotEnoughMemoryError` if so many bytes are not to be had."""
    if needed <= SMALL or needed <= (free := available()):
        return
    raise NotEnoughMemoryError(
        f"{what} takes about {in_bytes(needed)}, more than the {in_bytes(free)} that are free: {advice}"
    )


def in_bytes(number: float) -> str:
    """So many bytes, in words.

    >>> in_bytes(0), in_bytes(2048), in_bytes(3.4 * 2**30)
    ('0 bytes', '2.0 KiB', '3.4 GiB')
    """
    for size, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{int(number)} bytes"
