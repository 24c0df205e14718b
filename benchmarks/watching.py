"""A process that is watched while it works: memory and CPU time, from Linux's /proc."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any, Self

import numpy as np

EVERY = 10.0  # seconds
BOUND_MB = 10.0  # by which memory may differ between the first and the last quarter and still be called flat


class Watched:
    """Resident memory every ten seconds, in a thread."""

    def __init__(self, process: int) -> None:
        self._folder = Path(f"/proc/{process}")
        self._begin, self._end = time.monotonic(), threading.Event()
        self.at: list[float] = []
        self.mb: list[float] = []

    def now(self) -> float:
        return time.monotonic() - self._begin

    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        fields = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def look(self) -> None:
        lines = (self._folder / "status").read_text().splitlines()
        self.mb.append(next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")))
        self.at.append(self.now())

    def __enter__(self) -> Self:
        def work() -> None:
            self.look()
            while not self._end.wait(EVERY):
                self.look()

        self._thread = threading.Thread(target=work)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()
        self.look()


def growth(watched: Watched, begin: float) -> dict[str, Any]:
    """Memory from a moment on: first and last quarter, and the slope of a line through all of it."""
    at, mb = np.array(watched.at), np.array(watched.mb)
    late = at >= begin
    at, mb = at[late], mb[late]
    quarter = max(1, len(mb) // 4)
    first, last = float(np.median(mb[:quarter])), float(np.median(mb[-quarter:]))
    slope = float(np.polyfit(at, mb, 1)[0]) if len(mb) > 2 else 0.0
    return {
        "memory": {"at_s": watched.at, "mb": watched.mb, "from_s": begin},
        "first_mb": first,
        "last_mb": last,
        "mb_a_minute": 60 * slope,
        "flat": last - first <= BOUND_MB,
    }
