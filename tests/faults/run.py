"""What becomes of files when a run is killed, a disk is full, memory is short, or what was kept is damaged: `make faults`.

`python tests/faults/run.py [PART[:WORDS] ...]` runs the parts (all by default), or those of their cases whose names have these words, prints a line for each case and leaves its counts in build/faults/PART.json;
`python tests/faults/run.py --page` makes docs/results/faults.md of them. The exit code is 1 if anything was lost.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, chdir, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "faults"
sys.path[:0] = [str(HERE), str(ROOT / "tests"), str(ROOT)]

import fault_damage  # noqa: E402
import fault_kills  # noqa: E402
import fault_memory  # noqa: E402
import fault_streams  # noqa: E402
from fault_cases import Writer, command, material, writers  # noqa: E402
from fault_places import (  # noqa: E402
    PAGE,
    PLACES,
    Snapshot,
    Trial,
    can_mount,
    few_inodes,
    file_system,
    full,
    lay_old,
    lay_other,
    read_only,
    smaller_files,
    trial,
    undisturbed,
)

from experiments import writing  # noqa: E402

Row = tuple[str, Trial]
words = ""  # of the cases that are wanted
REAL, CHILDREN = 12, 24  # kills of a command: as a program of its own, and in a child of this one


# --- parts --------------------------------------------------------------------------------------------------------------


def kills() -> Iterator[Row]:
    """Commands and functions that are ended."""
    with material() as m, TemporaryDirectory() as name:
        yield from _named("tl.save over a file that is there", fault_kills.saves(m, 120))
        for resume in (True, False):
            said = f"gram(out='K.npy'{', resume=True' * resume})"
            yield from _named(said, fault_kills.matrices("K.npy", 45 if resume else 20, resume))
        for victim in fault_kills.commands(m, Path(name)):
            yield from _named(victim.writer.name, fault_kills.ended(victim, CHILDREN, real=False))


def _named(case: str, trials: Iterable[Trial]) -> Iterator[Row]:
    """A case, if it is wanted."""
    return ((case, found) for found in (trials if words in case else ()))


def programs() -> Iterator[Row]:
    """The same commands, from the start of the interpreter to its end."""
    with material() as m, TemporaryDirectory() as name:
        for victim in fault_kills.commands(m, Path(name)):
            yield from _named(f"{victim.writer.name}, a program", fault_kills.ended(victim, REAL))
        yield from _named("treelet explore, a program", fault_kills.explorers(m, REAL))
        if words in "a Dask client and its workers":
            yield from fault_kills.clusters(REAL)


def places() -> Iterator[Row]:
    """Places that cannot be written to."""
    with material() as m, ExitStack() as stack:
        mounting = can_mount()
        small = stack.enter_context(file_system(4 << 20)) if mounting else None
        sparse = stack.enter_context(file_system(4 << 20, 60)) if mounting else None
        for writer in writers(m):
            yield from _places(writer, undisturbed(writer), small, sparse)


def _places(writer: Writer, new: Snapshot, small: Path | None, sparse: Path | None) -> Iterator[Row]:
    def tried(fault: Callable[[Path], AbstractContextManager[object]], at: Path | None, old: bool) -> Trial:
        with TemporaryDirectory(prefix="treelet-faults-") as name:
            folder = (at or Path(name)) / "here"
            folder.mkdir()
            if old:
                lay_old(writer, folder)
            found = trial(writer, folder, fault(folder), new, folder)
            shutil.rmtree(folder)
            return found._replace(wrong=f"{writer.name}: {found.wrong}") if found.wrong else found

    size, pages = max(map(len, new.values())), sum(-(-len(content) // PAGE) for content in new.values())
    for old in (True, False):
        for limit in sorted({0, 1, size // 2, size - 1}):
            yield "files may not be so large", tried(lambda folder, limit=limit: smaller_files(limit), None, old)
        if small is not None and sparse is not None:
            for left in sorted({0, 1, pages // 2, pages - 1}):
                yield "a full disk", tried(lambda folder, left=left: full(folder, left * PAGE), small, old)
            for left in (0, 1, 2):
                yield "no room for more files", tried(lambda folder, left=left: few_inodes(folder, left), sparse, old)
            yield "a read-only file system", tried(lambda folder: read_only(small), small, old)
        elif os.geteuid():
            yield "a read-only folder", tried(read_only, None, old)
    for said, place in PLACES.items():
        with TemporaryDirectory(prefix="treelet-faults-") as name:
            found = trial(writer, Path(name), nullcontext(), new, place(Path(name)))
            yield said, found._replace(wrong=f"{writer.name}: {found.wrong}") if found.wrong else found
    with TemporaryDirectory(prefix="treelet-faults-") as name:
        lay_other(writer, Path(name))
        yield (
            "a folder in place of the file, or a file in place of the folder",
            trial(writer, Path(name), nullcontext(), new, Path(name)),
        )


def memory() -> Iterator[Row]:
    """Too little memory."""
    with material() as m, TemporaryDirectory() as name:
        for writer, line in fault_memory.commands(m, Path(name)):
            if words in f"treelet {line[0]}":
                with TemporaryDirectory() as first, chdir(first):
                    command(*line)  # what modules there are, this process has loaded
                yield from _named(f"treelet {line[0]}", fault_memory.trials(writer, line, 17))


def streams() -> Iterator[Row]:
    """Standard streams on a full device."""
    with material() as m:
        for line in fault_streams.commands(m):
            yield from fault_streams.trials(line)


def damage() -> Iterator[Row]:
    """What was kept, and comes back damaged."""
    with material() as m:
        for kept in fault_damage.all_kept(m):
            number = 40 if "experiment" in kept.name else 400 if "matrix" not in kept.name else 150
            yield from _named(kept.name, fault_damage.trials(kept, number))


PARTS: dict[str, tuple[Callable[[], Iterable[Row]], str]] = {
    "kills": (kills, "Signals to child processes"),
    "programs": (programs, "Signals to programs"),
    "places": (places, "Destinations that cannot be written"),
    "streams": (streams, "Standard streams on a full device"),
    "memory": (memory, "Too little memory"),
    "damage": (damage, "Damaged files"),
}


# --- counts -------------------------------------------------------------------------------------------------------------


def counted(name: str) -> dict[str, Any]:
    """Run a part: what became of each case, and what was wrong."""
    begin, cpu = time.monotonic(), time.process_time()
    cases: dict[str, Counter[str]] = {}
    wrong: list[str] = []
    for case, found in PARTS[name][0]():
        cases.setdefault(case, Counter())[found.outcome] += 1
        if found.wrong:
            wrong.append(f"{case}: {found.wrong}"[:1000])
            print(f"lost: {wrong[-1]}", flush=True)
    for case, outcomes in cases.items():
        print(json.dumps({"part": name, "case": case, "tried": outcomes.total(), **outcomes}), flush=True)
    seconds = {"seconds": time.monotonic() - begin, "cpu_seconds": time.process_time() - cpu}
    found = {"cases": {case: dict(outcomes) for case, outcomes in cases.items()}, "wrong": wrong, **seconds}
    return found | {"commit": writing.provenance("make faults")["commit"]}


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    made, parts = results["made_by"], results["parts"]
    tried = sum(sum(outcomes.values()) for part in parts.values() for outcomes in part["cases"].values())
    lost = sum(len(part["wrong"]) for part in parts.values())
    text = [
        "# Fault injection",
        f"{writing.created(made)} **{tried:,} faults; outputs that were lost, incomplete or silently wrong: {lost}.**",
        INTRODUCTION,
    ]
    for name, part in parts.items():
        outcomes = sorted({outcome for found in part["cases"].values() for outcome in found} - {"wrong"})
        rows = [
            [case, sum(found.values()), *(found.get(outcome, 0) for outcome in outcomes), found.get("wrong", 0)]
            for case, found in part["cases"].items()
        ]
        rows.append(["all", *(sum(row[k] for row in rows) for k in range(1, len(outcomes) + 3))])
        names = [COLUMNS.get(outcome, outcome) for outcome in outcomes]
        table = writing.table(["case", "tried", *names, "lost"], rows, range(1, len(outcomes) + 3))
        at = (
            f"This part was run at commit `{part['commit']}` and took {part['seconds']:.0f} s."
            if part["commit"] != made["commit"]
            else ""
        )
        text += [f"## {PARTS[name][1]}", EXPLAINED[name], at, table]
    if results["note"]:
        text.insert(3, results["note"])
    return writing.page([*text, FOUND])


COLUMNS = {
    "gone on with": "resumed",
    "had ended": "ended before the signal",
    "done again": "recomputed",
    "no matter": "not affected",
}
INTRODUCTION = (
    "After each fault, every output must be either the complete old file or the complete new file. An error is one line that names the file. Temporary files of killed runs "
    "are removed by a later run with the same output. Damaged files are refused or computed again. The column *lost* counts violations of these rules. "
    "The cases are in `tests/faults`; a small part of them belongs to every test run."
)
EXPLAINED = {
    "kills": "SIGKILL, SIGTERM and SIGINT were sent at random moments, half of them just after the start of the output, with an older output in place. The column *resumed* counts undisturbed runs "
    "after some of these. Their output must be equal to that of an uninterrupted run (matrices and saved models to the bit), without other files. "
    "The children are forks of one process, so they start the command without delay. Functions of the library are included.",
    "programs": "The same signals were sent to programs as users start them, also during the import of modules and the shutdown of the interpreter. In Dask clusters, clients and workers were killed.",
    "places": "The table has each output of the commands and each writing function of the library, with and without an old output. A full disk, and a disk without room for more files, are small "
    "file systems in memory with little space left: nothing, one page, half of the required space, or all but one page; 0, 1 or 2 files. If nothing can be mounted, limits of the file size are used instead. "
    "The column *done* counts cases in which there was enough space, or in which a missing folder for a report was created.",
    "streams": "With `/dev/full` as standard output, commands end with an error (exit code 2). As standard error, only the messages are lost.",
    "memory": "Child processes may allocate from 0.05 to 400 MiB more than at their start (`RLIMIT_AS`).",
    "damage": "Files had one to four flipped bits, a changed byte, a missing end, no content, a block of zeros, two swapped blocks or additional bytes, or they were missing. Each row includes one try with undamaged files. The columns are:\n\n"
    "- *refused*: treelet raised an error.\n"
    "- *recomputed*: there was a warning, and the values are correct.\n"
    "- *not affected*: the values are the same, because the damaged file or the damaged bytes are not needed.",
}
FOUND = """## Findings

The following errors were found in the first runs, and fixed:

- A full disk during `gram(resume=True)` was reported as an error of standard output, or as a plain `OSError` in Python. A manifest that could not be written left `K.npy.part.json.new`, or a matrix without a manifest.
- A PDF picture (`evaluate --picture`) on a full disk, and a path through a link to itself, caused internal errors. A file in place of a folder, and names that are too long, did not raise errors of treelet.
- Only a sample of the bytes of a complete matrix was compared before it was returned, so a flipped bit elsewhere was not noticed. Other damage was not noticed, either: of mirrored parts of an incomplete matrix and of swapped blocks within a tile. Now there is a CRC of each tile.
- A manifest marked as complete was accepted for any file of the same name. A run that was killed before it removed such a manifest left it in place.
- Grammars in JSON had no checksum, so a changed digit was another probability. Stored splits of experiments had no checksum, either. An empty `.gz` file was read as no trees.
- With very little memory, threads that could not start were waited for forever. A matrix that was written but could not be mapped was reported as an error.
- Standard error on a full device stopped `gram`, `parse` and `convert`.
- Compressed outputs (`.gz`) and pictures of confusion matrices had different bytes in each run.

Text files have no checksum: trees, tables and rules that people write are read as they are. A plain `.npy` matrix has a checksum only with `resume=True`, in its manifest.
"""


def write_page() -> None:
    parts = {
        name: json.loads((BUILD / f"{name}.json").read_text(encoding="utf-8"))
        for name in PARTS
        if (BUILD / f"{name}.json").exists()
    }
    note = BUILD / "note.txt"  # on what this run was, or was not
    said = note.read_text(encoding="utf-8").strip() if note.exists() else ""
    results = {"made_by": writing.provenance("make faults"), "note": said, "parts": parts}
    for path in writing.write_results(ROOT / "docs" / "results", "faults", results, page(results)):
        print(path)


def main(names: list[str]) -> int:
    global words
    if names == ["--page"]:
        write_page()
        return 0
    unshare = shutil.which("unshare")
    if (
        os.geteuid() == 0 and unshare and "TREELET_FAULTS" not in os.environ
    ):  # what is mounted is gone with this process
        os.environ["TREELET_FAULTS"] = "unshared"
        if os.system(f"{unshare} -m true 2>/dev/null") == 0:
            os.execv(unshare, [unshare, "-m", sys.executable, *sys.argv])
    random.seed(0)
    BUILD.mkdir(parents=True, exist_ok=True)
    lost = tried = 0
    for one in names or PARTS:
        name, _, words = one.partition(":")
        found, path = counted(name), BUILD / f"{name}.json"
        lost += len(found["wrong"])
        tried += sum(sum(outcomes.values()) for outcomes in found["cases"].values())
        if words and path.exists():
            before = json.loads(path.read_text(encoding="utf-8"))
            found["cases"] = before["cases"] | found["cases"]
            found["wrong"] += [one for one in before["wrong"] if words not in one]
            found |= {key: before[key] + found[key] for key in ("seconds", "cpu_seconds")}
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{tried:,} faults, {lost} lost")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
