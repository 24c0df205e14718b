"""Large matrices: 20,000 real trees into float32 in memory, and 40,000 to disk under a budget, killed three times and gone on with.

Needs the staged corpora (docs/data.md) and 13 GB of disk. Writes docs/results/stored.json and a section of docs/results/speed.md.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import treelet as tl
from benchmarks.common import memory_mb, publish_section, staged
from experiments import writing

KERNEL = tl.SubsetTree(lam=0.4)
IN_MEMORY, ON_DISK, BUDGET = 20_000, 40_000, "1GiB"
KILLS = 3
CHUNK = 1 << 24


def sample(n: int) -> tl.Treebank:
    """Trees of all staged corpora, in their order."""
    bank = staged()
    return bank[np.sort(np.random.default_rng(0).permutation(len(bank))[:n])]


def child(n: int, out: str | None) -> dict[str, Any]:
    """One matrix in this process: CPU and wall time of the call, peak memory of the process, and how large the examples are."""
    bank = sample(n)
    bank.weights()
    before = int(memory_mb("VmRSS") * 2**20)
    cpu, wall = time.process_time(), time.perf_counter()
    if out is None:
        tl.gram(KERNEL, bank, dtype="float32")
    else:
        tl.gram(KERNEL, bank, dtype="float32", out=out, memory=BUDGET, resume=True)
    return {
        "n": n,
        "cpu_s": time.process_time() - cpu,
        "wall_s": time.perf_counter() - wall,
        "peak": int(memory_mb() * 2**20),
        "before": before,
        "system_s": resource.getrusage(resource.RUSAGE_SELF).ru_stime,
    }


def start(n: int, out: Path | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.stored", "child", str(n), *([] if out is None else [str(out)])]
    return subprocess.Popen(command, cwd=writing.ROOT, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    text, _ = process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"A child process ended with exit code {process.returncode}.")
    found: dict[str, Any] = json.loads(text)
    pairs = found["n"] * (found["n"] + 1) / 2e6
    return found | {"cpu_per_million": found["cpu_s"] / pairs, "wall_per_million": found["wall_s"] / pairs}


def killed(out: Path, seconds: float) -> dict[str, Any]:
    """A run that is ended at a random moment, and what it had done by then."""
    process = start(ON_DISK, out)
    part = Path(f"{out}.part.json")
    while not part.exists() and process.poll() is None:  # from when on there is something to lose
        time.sleep(0.05)
    after = random.uniform(0.05, 0.5) * seconds
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    manifest = json.loads(part.read_text(encoding="utf-8"))
    tiles = sum(len(block["rows"]) for block in manifest["plan"]["blocks"])
    return {"after_s": after, "tiles": len(manifest["done"]), "of": tiles, "mirrored": len(manifest["mirrored"])}


def same(first: Path, second: Path) -> bool:
    """Return whether two files are equal, byte by byte."""
    if first.stat().st_size != second.stat().st_size:
        return False
    with first.open("rb") as one, second.open("rb") as two:
        while content := one.read(CHUNK):
            if content != two.read(CHUNK):
                return False
    return True


def measured() -> dict[str, Any]:
    memory = finished(start(IN_MEMORY))
    with tempfile.TemporaryDirectory(dir=writing.ROOT / "build") as folder:
        whole, out = Path(folder) / "whole.npy", Path(folder) / "K.npy"
        disk = finished(start(ON_DISK, whole))
        kills = [killed(out, disk["wall_s"]) for _ in range(KILLS)]
        last = finished(start(ON_DISK, out))
        return {
            "memory": memory,
            "disk": disk,
            "kills": kills,
            "last": last,
            "same": same(whole, out),
            "bytes": out.stat().st_size,
        }


def section(found: dict[str, Any], made: dict[str, Any]) -> str:
    disk, last = found["disk"], found["last"]
    rows = [
        (what, f"{r['n']:,}", f"{r['cpu_s']:.1f}", f"{r['wall_s']:.1f}", f"{r['cpu_per_million']:.4f}", f"{r['peak'] / 2**30:.2f}")
        for what, r in (("in memory", found["memory"]), (f"to disk, `memory=\"{BUDGET}\"`", disk), ("last of the resumed runs", last))
    ]  # fmt: skip
    kills = "; ".join(f"after {k['after_s']:.0f} s, {k['tiles']} of {k['of']} tiles done" for k in found["kills"])
    return writing.page(
        [
            "## Matrices in memory and on disk",
            writing.created(made),
            f"The kernel is `{KERNEL!r}`, on trees of all corpora, with float32 results and one thread. CPU times are those of "
            "the whole call, including the index, system time and the mirrored half. A matrix has n (n + 1) / 2 pairs. The peak memory is that of the process, "
            f"including the examples ({disk['before'] / 2**30:.2f} GiB before the call), but without pages of mapped files.",
            writing.table(
                ("result", "trees", "CPU, s", "wall clock, s", "CPU s per million pairs", "peak, GiB"), rows, right=range(1, 6)
            ),
            f"A run was killed (SIGKILL) {len(found['kills'])} times at random moments: {kills}. After it was resumed and completed, the file of {found['bytes']:,} bytes is "
            f"{'identical to' if found['same'] else 'NOT identical to'} that of an uninterrupted run.",
        ]
    )  # fmt: skip


def main() -> None:
    if sys.argv[1:2] == ["child"]:
        print(json.dumps(child(int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)))
        return
    found = measured()
    made = writing.provenance("python -m benchmarks.stored")
    publish_section("stored", found | {"made_by": made}, section(found, made))


if __name__ == "__main__":
    main()
