"""Fuzzes the readers with atheris, one target after the other: `make fuzz`, or `python tests/fuzz/run.py SECONDS [TARGET ...]`.

SECONDS are for all of them together. A finding does not end the run: its input is written to build/fuzz/findings/, one for each place
in the code that raises. What the fuzzer has learned stays in build/fuzz/corpus/, for the next run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import traceback
from hashlib import sha1
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "fuzz"
FINDINGS = BUILD / "findings"


def place_of(error: BaseException) -> str:
    """What is one finding: the error's class, and the last place of ours that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "treelet" in frame.filename]
    last = frames[-1] if frames else None
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}" if last else type(error).__name__


def fuzz_one(name: str, seconds: int) -> None:
    """In a process of its own: libFuzzer's loop does not return."""
    import atheris

    # Of an editable install atheris would watch nothing: modules must be found in their folder.
    sys.path.insert(0, str(HERE.parents[1] / "src"))
    sys.meta_path.sort(key=lambda finder: type(finder).__name__.startswith("ScikitBuild"))
    with atheris.instrument_imports(include=["treelet"]):
        from fuzz_readers import TARGETS, once

        target = TARGETS[name]
        for seed in target.seeds():  # treelet imports late: only what is imported here is watched
            once(target, seed)
    seen: dict[str, int] = {}

    def read(data: bytes) -> None:
        error = once(target, data)
        if error is not None:
            place = place_of(error)
            seen[place] = seen.get(place, 0) + 1
            if seen[place] == 1:
                stem = FINDINGS / f"{name.replace(' ', '-')}-{sha1(place.encode()).hexdigest()[:8]}"
                stem.with_suffix(".input").write_bytes(data)
                lines = "".join(traceback.format_exception(error))
                stem.with_suffix(".txt").write_text(f"{place}\n{str(error)[:2000]!a}\n{lines}", encoding="utf-8")

    folder = seeded(name, target)
    words = BUILD / f"{name.replace(' ', '-')}.dict"
    words.write_text(
        "".join(f'"{"".join(f"{chr(92)}x{byte:02x}" for byte in word)}"\n' for word in target.words), encoding="utf-8"
    )
    options = [f"-max_total_time={seconds}", f"-max_len={target.limit}", f"-dict={words}", "-timeout=60"]
    options += ["-rss_limit_mb=6000", f"-artifact_prefix={FINDINGS}/{name.replace(' ', '-')}-", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, str(folder)], read)
    atheris.Fuzz()


def seeded(name: str, target: Any) -> Path:
    from fuzz_readers import kept

    folder = BUILD / "corpus" / name.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    for data in (*target.seeds(), *kept(name)):
        (folder / sha1(data).hexdigest()).write_bytes(data)
    return folder


def main(seconds: int, names: list[str]) -> int:
    from fuzz_readers import TARGETS

    FINDINGS.mkdir(parents=True, exist_ok=True)
    before = {path.name for path in FINDINGS.iterdir()}
    chosen = names or list(TARGETS)
    each, total, failed = max(1, seconds // len(chosen)), 0, False
    for name in chosen:
        command = [sys.executable, __file__, "--one", name, str(each)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=os.environ)
        executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
        coverage = re.findall(r"cov: (\d+)", done.stderr)
        new = sorted({path.name for path in FINDINGS.iterdir()} - before)
        before |= set(new)
        runs = int(executed[1]) if executed else 0
        total += runs
        if done.returncode or not executed:
            failed = True
            (FINDINGS / f"{name.replace(' ', '-')}.log").write_text(done.stderr[-20_000:], encoding="utf-8")
        row = {"target": name, "runs": runs, "edges": int(coverage[-1]) if coverage else 0, "findings": new}
        print(json.dumps(row | {"status": done.returncode}), flush=True)
        failed = failed or bool(new)
    print(f"{total:,} inputs in {len(chosen)} targets; findings: {FINDINGS if failed else 'none'}")
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        fuzz_one(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
