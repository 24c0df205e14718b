"""Ground truth for clone detectors: functions of real packages, and copies of some of them with known changes."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from benchmarks.clone_packages import PACKAGES, SUFFIXES, source_texts
from benchmarks.code_mutations import OPERATIONS, Donors, Function, functions, mutated, parsed, tokens

SEED = 0
SHARES = (0.1, 0.2, 0.3, 0.4)
COUNTS = {"layout": 40, "renamed": 40, **dict.fromkeys(OPERATIONS, 16), "mixed": 16, "mixed, renamed": 24}
"""Copies per kind; for kinds with statements, per share."""
ALIKE = 0.5
IGNORED = re.compile(r"(^|/)(tests?|testing|migrations)(/|$)|(^|/)test_|_test\.")
"""Files that pyscn leaves out by default."""


def plan() -> list[tuple[str, float]]:
    """Return the kinds and shares of all copies."""
    wanted = []
    for kind, count in COUNTS.items():
        for share in (0.0,) if kind in ("layout", "renamed") else SHARES:
            wanted += [(kind, share)] * count
    return wanted


def _shingles(function: Function) -> set[tuple[str, ...]]:
    """Return the runs of four tokens, in which names and literals are alike."""
    some = [
        "x" if (re.match(r"[\w'\"`]", token) and not token.islower()) or len(token) > 8 else token
        for token in tokens(parsed(function.language, function.file_text()))
    ]
    return {tuple(some[at : at + 4]) for at in range(len(some) - 3)}  # fmt: skip


def without_alike(candidates: list[Function]) -> list[Function]:
    """Return the functions that share fewer than half of their runs of tokens with every other candidate (Jaccard)."""
    sets = [_shingles(function) for function in candidates]
    holders: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, some in enumerate(sets):
        for shingle in some:
            holders[shingle].append(number)
    kept = []
    for number, some in enumerate(sets):
        common = Counter(other for shingle in some if len(holders[shingle]) < 200 for other in holders[shingle])
        del common[number]
        alike = any(len(some & sets[other]) / len(some | sets[other]) >= ALIKE for other, _ in common.most_common(20))
        if not alike:
            kept.append(candidates[number])
    return kept


def build(language: str, folder: Path) -> list[dict[str, Any]]:
    """Write the packages and the copies into a folder, and return a description of each copy.

    The result is kept in ``truth.json`` of the folder, and read from there the next time.
    """
    target = folder / "truth" / language
    known = target / "truth.json"
    if known.exists():
        found: list[dict[str, Any]] = json.loads(known.read_text())
        return found
    shutil.rmtree(target, ignore_errors=True)
    texts: dict[str, str] = {}
    for package in PACKAGES[language]:
        texts |= {n: t for n, t in source_texts(package, folder, SUFFIXES[language]).items() if not IGNORED.search(n)}
    candidates = [function for name, text in texts.items() for function in functions(language, text, name)]
    donors = Donors.of(candidates)
    chosen = without_alike(candidates)
    rng = random.Random(SEED)
    rng.shuffle(chosen)
    rows: list[dict[str, Any]] = []
    for name, text in texts.items():
        path = target / "code" / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (target / "code" / "copies").mkdir()
    for number, (kind, share) in enumerate(plan()):
        copy = None
        while copy is None:
            if not chosen:
                raise SystemExit(f"There are too few functions in {language}.")
            original = chosen.pop()
            copy = mutated(original, kind, share, donors, rng)
        file = f"copies/copy{number:03}{SUFFIXES[language]}"
        (target / "code" / file).write_text(copy.file_text())
        rows.append({
            "kind": kind, "share": share, "original": f"packages/{original.file}", "lines": [original.line, original.end_line],
            "copy": file, "copy_lines": [copy.line, copy.end_line],
        })  # fmt: skip
    known.write_text(json.dumps(rows, indent=1))
    print(
        language,
        len(texts),
        "files,",
        len(candidates),
        "candidates,",
        len(rows),
        "copies,",
        len(chosen),
        "left",
        flush=True,
    )
    return rows
