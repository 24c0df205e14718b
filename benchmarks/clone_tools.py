"""Runs of treelet, pyscn and jscpd on a folder: what they report, and the time and memory of the process tree."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.clone_packages import JSCPD, PYSCN, tool

LENIENT_PYSCN = """[clones]
min_lines = 5
min_nodes = 10
max_edit_distance = 1000000
ignore_literals = true
ignore_identifiers = true
type1_threshold = 0.9
type2_threshold = 0.8
type3_threshold = 0.65
type4_threshold = 0.6
similarity_threshold = 0.6
enabled_clone_types = ["type1", "type2", "type3", "type4"]
max_results = 0
grouping_mode = "connected"
grouping_threshold = 0.6
lsh_similarity_threshold = 0.3
timeout_seconds = 3600
"""
LENIENT_JSCPD = "--mode weak --ignore-identifiers --ignore-literals --min-tokens 30 --min-lines 3 --max-gap-lines 5"
SIMILAR_JSCPD = " --similarity 0.7"  # only for JavaScript
TOOLS = {
    "treelet": "treelet clones FOLDER --json -j 2",
    "treelet, 0.7": "treelet clones FOLDER --json -j 2 --similarity 0.7",
    "treelet, 0.9": "treelet clones FOLDER --json -j 2 --similarity 0.9",
    "pyscn": "pyscn analyze FOLDER --select clones --json -o FILE",
    "pyscn, lenient": "pyscn analyze FOLDER --select clones --json -o FILE -c lenient.toml",
    "jscpd": "jscpd FOLDER --absolute --silent --reporters json -o FILE",
    "jscpd, lenient": f"jscpd FOLDER --absolute --silent --reporters json -o FILE {LENIENT_JSCPD}{SIMILAR_JSCPD}",
}
"""The commands, as a user would write them."""


class Range(NamedTuple):
    """Lines of a file, both included."""

    file: str
    first: int
    last: int


class Run(NamedTuple):
    """The result of one command. `groups` are the reported groups; in `pairs`, each pair was compared by the tool itself."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    finished: bool
    groups: list[list[Range]]
    pairs: list[tuple[Range, Range]]


def _tree_bytes(root: int) -> int:
    """Return the resident memory of a process and its descendants. Shared pages count several times."""
    children: dict[int, list[int]] = {}
    resident: dict[int, int] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(stat[1]), []).append(int(entry.name))
            resident[int(entry.name)] = int(stat[21]) * os.sysconf("SC_PAGE_SIZE")
    total, stack = 0, [root]
    while stack:
        process = stack.pop()
        total += resident.get(process, 0)
        stack += children.get(process, ())
    return total


def measured(command: list[str], output: Path | None = None, limit: float = 600) -> tuple[float, float, int, bool]:
    """Run a command. Return the wall-clock seconds, the CPU seconds, the peak memory, and whether it ended in time."""
    before = os.times()
    begin = time.monotonic()
    with open(output or os.devnull, "wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.DEVNULL, start_new_session=True)
        peak, finished = 0, True
        while process.poll() is None:
            peak = max(peak, _tree_bytes(process.pid))
            if time.monotonic() - begin > limit:
                os.killpg(process.pid, signal.SIGKILL)
                finished = False
                process.wait()
            time.sleep(0.05)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - begin, cpu, peak, finished and process.returncode in (0, 1)


def run(name: str, target: Path, folder: Path, language: str = "python", limit: float = 600) -> Run:
    """Run a tool of `TOOLS` on the folder `target`. Programs and outputs are in `folder`."""
    program = name.partition(",")[0]
    output = folder / "output" / f"{name.replace(', ', '-')}-{os.getpid()}"
    output.parent.mkdir(exist_ok=True)
    words = TOOLS[name].replace("FOLDER", str(target)).replace("FILE", str(output)).split()
    if program == "treelet":
        words = [str(Path(sys.executable).parent / "treelet"), *words[1:], "--no-progress"]
        figures = measured(words, output, limit)
        file = output
    elif program == "pyscn":
        config = folder / "output" / "lenient.toml"
        config.write_text(LENIENT_PYSCN)
        words = [str(tool(PYSCN, folder)), *words[1:]]
        figures = measured([str(config) if word == "lenient.toml" else word for word in words], None, limit)
        file = output
    else:
        if language != "javascript" and SIMILAR_JSCPD in TOOLS[name]:
            words = words[:-2]
        figures = measured([str(tool(JSCPD, folder)), *words[1:], "--format", language], None, limit)
        file = output / "jscpd-report.json"
    if not figures[-1] or not file.exists():
        return Run(*figures[:3], False, [], [])
    return Run(*figures, *READERS[program](json.loads(file.read_bytes()), str(target)))


def _relative(file: str, target: str) -> str:
    return os.path.relpath(os.path.join(os.getcwd(), file), target)


def _of_treelet(report: Any, target: str) -> tuple[list[list[Range]], list[tuple[Range, Range]]]:
    groups, pairs = [], []
    for family in report["families"]:
        members = [Range(_relative(m["file"], target), m["line"], m["end_line"]) for m in family["members"]]
        groups.append(members)
        medoid = members[family["medoid"]]
        pairs += [(medoid, member) for member in members if member is not medoid]
    return groups, pairs


def _of_pyscn(report: Any, target: str) -> tuple[list[list[Range]], list[tuple[Range, Range]]]:
    def place(clone: Any) -> Range:
        at = clone["location"]
        return Range(_relative(at["file_path"], target), at["start_line"], at["end_line"])

    found = report.get("clone") or report
    pairs = [(place(pair["clone1"]), place(pair["clone2"])) for pair in found.get("clone_pairs") or ()]
    groups = [[place(clone) for clone in group["clones"]] for group in found.get("clone_groups") or ()]
    return groups + [list(pair) for pair in pairs], pairs


def _of_jscpd(report: Any, target: str) -> tuple[list[list[Range]], list[tuple[Range, Range]]]:
    def place(side: Any) -> Range:
        return Range(_relative(side["name"], target), side["start"], side["end"])

    pairs = [(place(pair["firstFile"]), place(pair["secondFile"])) for pair in report["duplicates"]]
    return [list(pair) for pair in pairs], pairs


READERS = {"treelet": _of_treelet, "pyscn": _of_pyscn, "jscpd": _of_jscpd}
