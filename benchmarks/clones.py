"""Similar functions in source code: recall and precision beside pyscn and jscpd, time and memory, and families that were read.

Writes docs/results/clones.md, .json and .png. The parts can be run one by one: ``python -m benchmarks.clones scale``; the other
parts are kept. ``--corpora FOLDER`` names a folder for source packages and programs, which are fetched if they are missing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import treelet as tl
from benchmarks.clone_reading import LABELS, READ_TOOLS, RULE, agreement, interval
from benchmarks.clone_tools import (
    JSCPD,
    LARGE,
    PACKAGES,
    PYSCN,
    SUFFIXES,
    TOOLS,
    TYPE_3_PYSCN,
    Range,
    Run,
    run,
    source_texts,
    standard_library,
)
from benchmarks.code_mutations import OPERATIONS, Donors, Function, functions, mutated, parsed, tokens
from benchmarks.code_rewrites import REWRITES, rewritten
from benchmarks.common import Results, stored_results
from benchmarks.natural_copies import BANDS, BUNDLING, EQUAL, LIBRARIES, build_natural
from experiments import writing
from treelet.tasks import find_clones

SEED = 0
SHARES = (0.1, 0.2, 0.3, 0.4)
COUNTS = {"layout": 40, "renamed": 40, **dict.fromkeys(OPERATIONS, 16), "mixed": 16, "mixed, renamed": 24}
"""Copies per kind; for kinds with statements, per share."""
FEWER_COPIES = {"java": 2}
"""Languages whose packages have too few functions for all copies, and the part that is made."""
HARD_COUNT, HARD_SHARES = 24, (0.3, 0.5, 0.7, 0.9)
"""Rewritten copies per kind, and per share of statements that are edited inside; half as many if names are changed too."""
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


def _with_packages(language: str, folder: Path, target: Path) -> list[Function]:
    """Write the packages into a new folder, and return their functions that can be copied."""
    shutil.rmtree(target, ignore_errors=True)
    texts: dict[str, str] = {}
    for package in PACKAGES[language]:
        texts |= {n: t for n, t in source_texts(package, folder, SUFFIXES[language]).items() if not IGNORED.search(n)}
    for name, text in texts.items():
        path = target / "code" / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (target / "code" / "copies").mkdir()
    candidates = [function for name, text in texts.items() for function in functions(language, text, name)]
    print(language, len(texts), "files,", len(candidates), "candidates", flush=True)
    return candidates


def build(language: str, folder: Path, kind: str = "truth") -> list[dict[str, Any]]:
    """Write the packages and the copies into a folder, and return a description of each copy.

    The result is kept in ``truth.json`` of the folder, and read from there the next time. `kind` is "truth" or "hard".
    """
    target = folder / kind / language
    known = target / "truth.json"
    if not known.exists():
        candidates = _with_packages(language, folder, target)
        chosen, rng = without_alike(candidates), random.Random(SEED)
        rng.shuffle(chosen)
        make = _copies if kind == "truth" else _rewritten_copies
        rows = make(language, chosen, Donors.of(candidates), target / "code", rng)
        known.write_text(json.dumps(rows, indent=1), encoding="utf-8")
        print(language, kind, len(rows), "copies,", len(chosen), "left", flush=True)
    found: list[dict[str, Any]] = json.loads(known.read_text(encoding="utf-8"))
    return found


def _copies(language: str, chosen: list[Function], donors: Donors, code: Path, rng: random.Random) -> list[Results]:
    rows: list[Results] = []
    wanted = plan()
    if language in FEWER_COPIES:  # every second one
        wanted = wanted[:: FEWER_COPIES[language]]
    for number, (kind, share) in enumerate(wanted):
        copy = None
        while copy is None:
            if not chosen:
                raise SystemExit(f"There are too few functions in {language}.")
            original = chosen.pop()
            copy = mutated(original, kind, share, donors, rng)
        file = f"copies/copy{number:03}{SUFFIXES[language]}"
        (code / file).write_text(copy.file_text(), encoding="utf-8")
        rows.append({
            "kind": kind, "share": share, "originals": [[f"packages/{original.file}", original.line, original.end_line]],
            "copies": [[file, copy.line, copy.end_line]],
        })  # fmt: skip
    return rows


def _rewritten_copies(
    language: str, chosen: list[Function], donors: Donors, code: Path, rng: random.Random
) -> list[Results]:
    """Write the rewritten copies. Kinds that few functions allow come first; there are fewer copies if functions run out."""
    rows: list[Results] = []
    wanted = [(kind, 0.0, HARD_COUNT) for kind in reversed(REWRITES[2:])]
    wanted += [(kind, share, HARD_COUNT // (1 + at)) for at, kind in enumerate(REWRITES[:2]) for share in HARD_SHARES]
    for kind, share, count in wanted:
        made = 0
        for original in list(chosen):
            if original not in chosen:  # merged into another one
                continue
            copy = rewritten(original, kind, share, donors, chosen, rng)
            if copy is None:
                continue
            for each in copy[1]:
                chosen.remove(each)
            file = f"copies/copy{len(rows):03}{SUFFIXES[language]}"
            (code / file).write_text(copy[0].text, encoding="utf-8")
            rows.append({
                "kind": kind, "share": share,
                "originals": [[f"packages/{each.file}", each.line, each.end_line] for each in copy[1]],
                "copies": [[file, *part] for part in copy[0].parts],
            })  # fmt: skip
            made += 1
            if made == count:
                break
    return rows


BY_NAME = {package.name: package for package in PACKAGES["python"]}
SIZES, REPEATS, LIMIT = (1000, 10_000, 100_000), 3, 180


# --- recall and precision -------------------------------------------------------------------------------------------


def covered(ranges: list[Range], first: int, last: int) -> float:
    """Return the share of the lines first .. last that are in at least one range."""
    lines = {line for each in ranges for line in range(max(each.first, first), min(each.last, last) + 1)}
    return len(lines) / (last - first + 1)


def is_found(row: Results, groups: list[list[Range]]) -> bool:
    """Return whether the groups of one copy contain at least half of the lines of a copy and of an original."""

    def is_there(places: list[list[Any]]) -> bool:
        every = [each for group in groups for each in group]
        return any(covered([each for each in every if each.file == file], *lines) >= 0.5 for file, *lines in places)

    return is_there(row["originals"]) and is_there(row["copies"])


def by_copy(result: Run, together: bool) -> dict[str, list[list[list[Range]]]]:
    """Return the groups with a copy, by the file of the copy; `together` joins all groups, for fragments of functions."""
    found: defaultdict[str, list[list[list[Range]]]] = defaultdict(list)
    for group in result.groups:
        for file in {each.file for each in group if each.file.startswith("copies/")}:
            if together and found[file]:
                found[file][0].append(group)
            else:
                found[file].append([group])
    return found


def natural(result: Run) -> list[tuple[Range, Range]]:
    """Return the reported pairs without copies."""
    return [pair for pair in result.pairs if not any(each.file.startswith("copies/") for each in pair)]


def is_foreign(pair: tuple[Range, Range]) -> bool:
    """Return whether the parts of a pair are from different packages."""
    return pair[0].file.split("/")[1] != pair[1].file.split("/")[1]


def package_of(file: str) -> str:
    """Return the package of a file, or an empty text for a copy."""
    return file.split("/")[1] if file.startswith("packages/") else ""


class Functions:
    """All functions of a folder with packages and copies, as treelet reads them."""

    def __init__(self, language: str, target: Path, rows: list[Results]) -> None:
        self.bank = tl.read_code(str(target), language=language, identifiers="anonymous")
        assert self.bank.places is not None
        self.places = [
            Range(os.path.relpath(place.file, target), place.line, place.end_line) for place in self.bank.places
        ]
        self.package = np.array([package_of(place.file) for place in self.places])
        self.lines, self.outer = np.asarray(self.bank.places.code_lines()), self.bank.places.outer()
        by_file: defaultdict[str, list[int]] = defaultdict(list)
        for at, place in enumerate(self.places):
            by_file[place.file].append(at)

        def number(file: str, first: int, last: int) -> int:
            # The first line of a method may be that of an annotation.
            inside = [at for at in by_file[file] if first <= self.places[at].first and self.places[at].last <= last]
            return min(inside, key=lambda at: (self.places[at].first, -self.places[at].last), default=-1)

        self.wanted = [
            [(number(*original), number(*copy)) for original in row["originals"] for copy in row["copies"]] for row in rows
        ]  # fmt: skip
        sizes = Counter(name for name in self.package.tolist() if name)
        by_size = sorted(sizes, key=lambda name: (-sizes[name], name))
        self.half = {name: "AB"[at % 2] for at, name in enumerate(by_size)}

    def half_of(self, row: Results) -> str:
        """Return the half of the packages from which a copy is."""
        return self.half[package_of(row["originals"][0][0])]

    def in_half(self, half: str) -> NDArray[np.bool_]:
        """Return which functions are in a half, without copies."""
        return np.isin(self.package, [name for name, each in self.half.items() if each == half])

    def similar(self, graph: Any, half: str, least_lines: int = 10) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the values of the pairs in a half of the packages, and which of them are from different packages."""
        pairs = sparse.triu(graph, 1).tocoo()
        kept = (self.outer[pairs.row] != pairs.col) & (self.outer[pairs.col] != pairs.row)
        allowed = self.in_half(half) & (self.lines >= least_lines)
        kept &= allowed[pairs.row] & allowed[pairs.col]
        return pairs.data[kept], (self.package[pairs.row] != self.package[pairs.col])[kept]

    def values(self, graph: Any, least_lines: int = 10) -> NDArray[np.float64]:
        """Return the highest similarity of each copy with an original; 0 if both are too short."""
        return np.array(
            [
                max(
                    graph[a, b] if min(a, b) >= 0 and min(self.lines[a], self.lines[b]) >= least_lines else 0.0
                    for a, b in pairs
                )
                for pairs in self.wanted
            ]
        )


def _runs(folder: Path, language: str, kind: str, tools: list[str]) -> tuple[list[Results], Functions]:
    """Run tools on the packages and copies of a kind, and count what they find, in all and in both halves of the packages."""
    rows = build(language, folder, kind)
    target = folder / kind / language / "code"
    every = Functions(language, target, rows)
    found = []
    for name in tools:
        if name.startswith("pyscn") and language != "python":
            continue
        result = run(name, target, folder, language, limit=1800)
        groups = by_copy(result, name.startswith("jscpd"))
        hits = [any(is_found(row, some) for some in groups.get(row["copies"][0][0], ())) for row in rows]
        counts: defaultdict[tuple[str, float, str], list[int]] = defaultdict(lambda: [0, 0])
        for row, hit in zip(rows, hits, strict=True):
            count = counts[row["kind"], row["share"], every.half_of(row)]
            count[0] += hit
            count[1] += 1
        pairs = natural(result)
        in_half = {
            half: [pair for pair in pairs if all(every.half.get(package_of(each.file)) == half for each in pair)]
            for half in "AB"
        }
        found.append({
            "language": language, "tool": name, "finished": result.finished,
            "recall": [{"kind": kind, "share": share, "half": half, "found": hit, "of": of} for (kind, share, half), (hit, of) in counts.items()],
            "natural": len(pairs), "foreign": sum(map(is_foreign, pairs)),
            "halves": {half: {"natural": len(some), "foreign": sum(map(is_foreign, some))} for half, some in in_half.items()},
            "seconds": result.seconds,
        })  # fmt: skip
        (folder / "output" / f"{kind}-{language}-{name.replace(', ', '-')}.json").write_text(
            json.dumps({"language": language, "tool": name, "pairs": pairs, "hits": hits}), encoding="utf-8"
        )
        print(kind, language, name, result.finished, f"{sum(hits)} of {len(hits)},", len(pairs), "natural", flush=True)
    return found, every


def truth(folder: Path, languages: list[str]) -> Results:
    found: Results = {"languages": {}, "rows": []}
    for language in languages:
        rows, _ = _runs(folder, language, "truth", list(TOOLS))
        target = folder / "truth" / language / "code"
        found["languages"][language] = {
            "copies": len(build(language, folder)),
            "files": sum(path.is_file() for path in (target / "packages").rglob("*")),
            "packages": [package.title for package in PACKAGES[language]],
        }
        found["rows"] += rows
    return found


def level_of(pairs: NDArray[np.float64], count: int) -> float:
    """Return the lowest of the values of pairs that at most so many pairs reach, or 1."""
    levels = np.unique(pairs)
    allowed = levels[len(pairs) - np.searchsorted(np.sort(pairs), levels - 1e-9) <= count]
    return float(allowed[0]) if len(allowed) else 1.0


HARD_TOOLS = ["treelet", "pyscn", "pyscn, type 3", "jscpd", "jscpd, near-miss"]


def hard(folder: Path, languages: list[str]) -> Results:
    """Compare the tools on rewritten copies, and treelet at a threshold with as many other pairs as each of the tools."""
    found: Results = {"rows": [], "languages": {}}
    for language in languages:
        rows, every = _runs(folder, language, "hard", HARD_TOOLS)
        known = build(language, folder, "hard")
        found["languages"][language] = {"copies": dict(Counter(row["kind"] for row in known))}
        graph = tl.nearest(tl.StatementOverlap(), every.bank, threshold=0.1, graph=True).tocsr()
        values = every.values(graph)
        pairs, foreign = every.similar(graph, "B")
        of_half = np.array([every.half_of(row) == "B" for row in known])
        for row in rows:
            count = row["halves"]["B"]["natural"]
            level = level_of(pairs, count)
            hits = values >= level - 1e-9
            row["equal"] = {
                "similarity": level, "natural": int((pairs >= level - 1e-9).sum()), "foreign": int(foreign[pairs >= level - 1e-9].sum()),
                "recall": [
                    {"kind": kind, "half": "B", "found": int(hits[some].sum()), "of": int(some.sum())}
                    for kind in REWRITES
                    if (some := of_half & np.array([each["kind"] == kind for each in known])).any()
                ],
            }  # fmt: skip
            print(
                language, row["tool"], count, row["equal"]["similarity"], share_of(row["equal"]["recall"]), flush=True
            )
        found["rows"] += rows
    return found


# --- natural copies -------------------------------------------------------------------------------------------------


def natural_copies(folder: Path, languages: list[str]) -> Results:
    """Compare the tools on bundled libraries beside other releases, and treelet with as many other pairs as each tool.

    Other pairs are those that are not between a file of a library and the same file in another release.
    """
    found: Results = {"rows": [], "languages": {}}
    for language in (each for each in languages if each in BUNDLING):
        known, originals = build_natural(language, folder, IGNORED)
        target = folder / "natural" / language / "code"
        kinds = np.array([row["kind"] for row in known])
        found["languages"][language] = {
            "copies": dict(Counter(kinds.tolist())),
            "files": sum(path.is_file() for path in target.rglob("*")),
            "bundling": [package.title for package in BUNDLING[language]],
            "libraries": list(dict.fromkeys(package.title for package in LIBRARIES[language])),
        }
        every = Functions(language, target, known)
        unread = np.array([min(pair) < 0 for (pair,) in every.wanted])
        found["languages"][language]["unread"] = int((unread & (kinds != EQUAL)).sum())
        graph = tl.nearest(tl.StatementOverlap(), every.bank, threshold=0.1, graph=True).tocsr()
        values, pairs = every.values(graph), sparse.triu(graph, 1).tocoo()
        file = np.array([place.file for place in every.places])
        original = np.array([originals.get(name, name) for name in file.tolist()])
        a, b, long = pairs.row, pairs.col, every.lines >= 10
        is_other = (original[a] != original[b]) | ((file[a] == file[b]) & (every.outer[a] != b) & (every.outer[b] != a))
        other_values = pairs.data[is_other & long[a] & long[b]]
        for name in HARD_TOOLS:
            if name.startswith("pyscn") and language != "python":
                continue
            result = run(name, target, folder, language, limit=1800)
            groups = by_copy(result, together=False)
            hits = np.array([is_reported(row, groups, name.startswith("jscpd")) for row in known])
            other = [
                pair
                for pair in result.pairs
                if pair[0].file == pair[1].file or len({originals.get(each.file, each.file) for each in pair}) == 2
            ]
            level = level_of(other_values, len(other))
            row = {
                "language": language, "tool": name, "finished": result.finished, "seconds": result.seconds,
                "recall": _by_kind(kinds, hits), "pairs": len(result.pairs), "other": len(other),
                "equal": {"similarity": level, "recall": _by_kind(kinds, values >= level - 1e-9)},
            }  # fmt: skip
            found["rows"].append(row)
            print(row, flush=True)
    return found


def is_reported(row: Results, groups: dict[str, list[list[list[Range]]]], together: bool) -> bool:
    """Return whether groups that contain lines of a copy and of its original cover half of both; `together` joins groups."""

    def touches(group: list[Range], places: list[list[Any]]) -> bool:
        return any(
            each.file == file and each.first <= last and first <= each.last
            for each in group
            for file, first, last in places
        )

    of_copy = [group for (group,) in groups.get(row["copies"][0][0], ())]
    both = [group for group in of_copy if touches(group, row["copies"]) and touches(group, row["originals"])]
    return is_found(row, both) if together else any(is_found(row, [group]) for group in both)


def _by_kind(kinds: NDArray[np.str_], hits: NDArray[np.bool_]) -> list[Results]:
    return [
        {"kind": kind, "found": int(hits[kinds == kind].sum()), "of": int((kinds == kind).sum())}
        for kind in (EQUAL, *BANDS)
    ]


# --- halves of the packages -----------------------------------------------------------------------------------------

LEAST_LINES, LEAST_SIMILARITY = (8, 10), (0.5, 0.55, 0.6, 0.65, 0.7, 0.75)


def halves(folder: Path, languages: list[str]) -> Results:
    """Compare settings on two halves of the packages of each language. The defaults were chosen on the first half of Python."""
    rows = []
    for language in languages:
        known = build(language, folder)
        every = Functions(language, folder / "truth" / language / "code", known)
        graph = tl.nearest(tl.StatementOverlap(), every.bank, threshold=min(LEAST_SIMILARITY), graph=True).tocsr()
        own = np.array([every.half_of(row) for row in known])
        for half in "AB":
            for least, similarity in product(LEAST_LINES, LEAST_SIMILARITY):
                found = every.values(graph, least) >= similarity - 1e-9
                pairs, foreign = every.similar(graph, half, least)
                near = pairs >= similarity - 1e-9
                rows.append({
                    "language": language, "half": half, "packages": [name for name, each in every.half.items() if each == half],
                    "min_lines": least, "similarity": similarity, "recall": float(found[own == half].mean()),
                    "natural": int(near.sum()), "foreign": int((near & foreign).sum()),
                })  # fmt: skip
        print(language, rows[-1], flush=True)
    return {"rows": rows}


def long_enough(bank: tl.Treebank) -> NDArray[np.bool_]:
    """Return which functions `find_clones` compares by default."""
    assert bank.places is not None
    return np.asarray(bank.places.code_lines()) >= 10


# --- time and memory ------------------------------------------------------------------------------------------------


def scale_folders(folder: Path) -> list[tuple[int, Path]]:
    """Return folders with files that have so many functions to compare, written if they are missing.

    The larger folders contain the files of the smaller ones.
    """
    targets = [(count, folder / "scale" / str(count)) for count in SIZES]
    if not targets[-1][1].exists():
        texts = standard_library()
        for package in LARGE:
            texts |= source_texts(package, folder, ".py")
        files = sorted(texts)
        random.Random(SEED).shuffle(files)
        for number, file in enumerate(files):
            # Names that no tool leaves out by default.
            path = folder / "scale" / "all" / f"f{number:05}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[file], encoding="utf-8")
        bank = tl.read_code(str(folder / "scale" / "all"))
        counts = Counter(
            place.file for place, is_long in zip(bank.places or (), long_enough(bank), strict=True) if is_long
        )
        ends = np.cumsum([counts[file] for file in sorted(counts)])
        for count, target in targets:
            target.mkdir()
            for file in sorted(counts)[: int(np.searchsorted(ends, count)) + 1]:
                shutil.copy(file, target)
    return targets


def scale(folder: Path, _: list[str]) -> Results:
    rows = []
    for size, target in scale_folders(folder):
        for repeat in range(REPEATS if size == SIZES[0] else 1):
            for name in ("treelet", "pyscn", "jscpd"):
                load = os.getloadavg()[0]
                result = run(name, target, folder, limit=LIMIT if name != "treelet" else 3600)
                rows.append({
                    "functions": size, "tool": name, "repeat": repeat, "finished": result.finished, "seconds": result.seconds,
                    "cpu_seconds": result.cpu_seconds, "peak_bytes": result.peak_bytes, "load": load,
                    "pairs": len(result.pairs),
                })  # fmt: skip
                print(rows[-1], flush=True)
    lines = {
        size: sum(path.read_bytes().count(b"\n") for path in target.iterdir()) for size, target in scale_folders(folder)
    }
    files = {size: len(list(target.iterdir())) for size, target in scale_folders(folder)}
    return {"rows": rows, "lines": lines, "files": files, "limit": LIMIT}


# --- families -------------------------------------------------------------------------------------------------------


def families(folder: Path, _: list[str]) -> Results:
    """List the ten largest families of three collections. They were read; see clone_labels.json."""
    found: Results = {}
    for name in ("standard library", "django", "networkx"):
        target = folder / "families" / name.replace(" ", "-")
        if not target.exists():
            texts = standard_library() if name == "standard library" else source_texts(BY_NAME[name], folder, ".py")
            for file, text in texts.items():
                if not IGNORED.search(file):
                    path = target / file
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
        report_of = find_clones(str(target), languages="python", n_jobs=2)
        found[name] = {
            "functions": report_of.functions, "families": len(report_of.families), "saved_lines": report_of.saved_lines,
            "members": sum(len(family.members) for family in report_of.families),
            "largest": [
                {
                    "medoid": f"{os.path.relpath(medoid.file, target)}:{medoid.line} {medoid.name}", "members": len(family.members),
                    "similarity": family.similarity, "saved_lines": family.saved_lines, "lines": medoid.lines,
                    "files": len({member.file for member in family.members}),
                }
                for family in sorted(report_of.families, key=lambda family: -family.saved_lines)[:10]
                for medoid in [family.members[family.medoid]]
            ],
        }  # fmt: skip
        print(name, found[name], flush=True)
    return found


# --- the page -------------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[Path, list[str]], Results]] = {"truth": truth, "halves": halves, "hard": hard, "natural": natural_copies, "scale": scale, "families": families}  # fmt: skip


# --- Page -----------------------------------------------------------------------------------------------------------

TITLES = {"python": "Python", "javascript": "JavaScript", "c": "C", "java": "Java"}
COLORS = {"treelet": "tab:blue", "pyscn": "tab:orange", "jscpd": "tab:green"}


def page(results: Results, labels: Results) -> str:
    """Return the results as a Markdown page."""
    by_language = {
        title: [(tool, row) for tool in TOOLS if (row := row_of(results, language, tool))]
        for language, title in TITLES.items()
    }
    return writing.render(
        "clones",
        results,
        created=writing.created(results["made_by"]),
        earlier=[f"{part} at `{commit}`" for part, commit in results["commits"].items() if commit != results["made_by"]["commit"]],
        notes=labels["notes"],
        titles=TITLES,
        tools=TOOLS,
        kinds=COUNTS,
        shares=SHARES,
        recall={tool: share_of([r for row in results["truth"]["rows"] if row["tool"] == tool for r in row["recall"]]) for tool in TOOLS},
        share_of=share_of,
        by_language=by_language,
        read={tool: read_pairs(labels, None, tool) for tool in READ_TOOLS},
        rule=RULE,
        agreement=agreement(labels["pairs"]),
        pair_count=len(labels["pairs"]),
        held_out=[
            (title, tool, row, [r for r in row["recall"] if r["half"] == "B"])
            for language, title in TITLES.items()
            for tool in TOOLS
            if (row := row_of(results, language, tool))
        ],
        hard_rows=[
            (TITLES[row["language"]], row, [r for r in row["recall"] if r["half"] == "B"]) for row in results["hard"]["rows"]
        ],
        rewrites=REWRITES,
        bands=BANDS,
        equal=EQUAL,
        precision_rows=[
            (tool, title, row, read_pairs(labels, language, tool))
            for tool in TOOLS
            for language, title in TITLES.items()
            if (row := row_of(results, language, tool))
        ],
        large=[package.title for package in LARGE],
        repeats=len({row["repeat"] for row in results["scale"]["rows"]}),
        scale_rows=[
            (int(size), tool, runs)
            for size in results["scale"]["lines"]
            for tool in COLORS
            if (runs := [row for row in results["scale"]["rows"] if row["functions"] == int(size) and row["tool"] == tool])
        ],
        value_range=value_range,
        verdicts=labels["families"],
        pyscn=PYSCN,
        jscpd=JSCPD,
        type_3_pyscn=TYPE_3_PYSCN.strip(),
    )  # fmt: skip


def row_of(results: Results, language: str, tool: str) -> Results | None:
    """Return the results of a tool for a language, if it was run."""
    rows = [row for row in results["truth"]["rows"] if row["language"] == language and row["tool"] == tool]
    return rows[0] if rows else None


def share_of(rows: list[Results]) -> str:
    """Return the share of copies that were found, in percent."""
    found, of = sum(row["found"] for row in rows), sum(row["of"] for row in rows)
    return f"{100 * found / of:.0f} %" if of else ""


def read_pairs(labels: Results, language: str | None, tool: str) -> Results:
    """Return how many pairs of a sample are real: for both readers, for at least one, and the mean with its interval."""
    read = [pair["real"] for pair in labels["pairs"] if pair["tool"] == tool and language in (None, pair["language"])]
    if not read:
        return {}
    mean = sum(sum(real) / len(real) for real in read)
    low, high = interval(mean, len(read))
    return {
        "both": sum(map(all, read)), "either": sum(map(any, read)), "of": len(read),
        "mean": 100 * mean / len(read), "low": 100 * low, "high": 100 * high,
    }  # fmt: skip


def value_range(rows: list[Results], key: str, digits: int = 1, divisor: float = 1) -> str:
    """Format the smallest and the largest value of several runs."""
    values = [row[key] / divisor for row in rows]
    low, high = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
    return low if low == high else f"{low}–{high}"


def draw(results: Results, folder: Path) -> None:
    with writing.saved_figure(folder / "clones.png", figsize=(15, 4), columns=len(TITLES)) as (_, axes):
        for axis, (language, title) in zip(axes, TITLES.items(), strict=True):
            for tool in TOOLS:
                found = row_of(results, language, tool)
                if not found:
                    continue
                program, _, setting = tool.partition(", ")
                style = {"": "o-", "0.8": "v:", "0.5": "s--", "type 3": "v:", "near-miss": "s--"}[setting]
                values = []
                for share in SHARES:
                    some = [row for row in found["recall"] if row["share"] == share]
                    values.append(100 * sum(r["found"] for r in some) / sum(r["of"] for r in some))
                axis.plot(
                    [100 * share for share in SHARES], values, style, color=COLORS[program], label=tool, alpha=0.9
                )
            axis.set_title(title)
            axis.set_xlabel("changed statements, %")
            axis.set_xticks([100 * share for share in SHARES])
            axis.set_ylim(-3, 103)
            axis.grid(alpha=0.3)
        axes[0].set_ylabel("copies found, %")
        axes[-1].legend(*axes[0].get_legend_handles_labels(), fontsize=8, loc="upper left", bbox_to_anchor=(1.02, 1))
    with writing.saved_figure(folder / "clones-scale.png", figsize=(9, 4), columns=2) as (_, axes):
        for tool, color in COLORS.items():
            rows = [row for row in results["scale"]["rows"] if row["tool"] == tool and row["finished"]]
            sizes = sorted({row["functions"] for row in rows})
            for axis, key, factor in ((axes[0], "cpu_seconds", 1), (axes[1], "peak_bytes", 2**-20)):
                means = [[factor * row[key] for row in rows if row["functions"] == size] for size in sizes]
                axis.loglog(sizes, [sum(some) / len(some) for some in means], "o-", color=color, label=tool)
        for axis, title in zip(axes, ("CPU seconds", "peak memory, MiB"), strict=True):
            axis.set_xlabel("functions")
            axis.set_ylabel(title)
            axis.grid(alpha=0.3, which="both")
            axis.legend(fontsize=8)


def with_other_languages(new: Results, old: Results) -> Results:
    """Return the results of a part, with the earlier ones of the languages that were not measured again."""
    if not new.get("rows", True):  # the part has none of the languages
        return old
    if "rows" not in new or "language" not in new["rows"][0]:
        return new
    old = {"rows": old} if isinstance(old, list) else old  # the form of earlier results
    measured = {row["language"] for row in new["rows"]}
    rows = [*new["rows"], *(row for row in old.get("rows", ()) if row["language"] not in measured)]
    order = list(PACKAGES)
    return {
        **{key: {**old.get(key, {}), **value} for key, value in new.items() if key != "rows"},
        "rows": sorted(rows, key=lambda row: order.index(row["language"])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clones")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--corpora", type=Path, default=Path(tempfile.gettempdir(), "clones-corpora"))
    parser.add_argument(
        "--languages", nargs="*", choices=list(PACKAGES), help="measure only these, and keep the results of the others"
    )
    parser.add_argument("--page", action="store_true", help="write only the page, from the results and the labels")
    options = parser.parse_args()
    folder = options.corpora.resolve()
    (folder / "output").mkdir(parents=True, exist_ok=True)
    name = "clones"
    for part in [] if options.page else options.parts or PARTS:
        measured_part = PARTS[part](folder, options.languages or list(PACKAGES))
        results = stored_results(name)
        results[part] = with_other_languages(measured_part, results.get(part, {}))
        results["cores"] = len(os.sched_getaffinity(0))
        results["made_by"] = made = writing.provenance("python -m benchmarks.clones")
        results.setdefault("commits", {})[part] = made["commit"]  # parts can be measured again one by one
        writing.write_results(writing.RESULTS, name, results, "")
    results = writing.read_results(name, writing.RESULTS)
    if PARTS.keys() - results.keys() <= {"natural"}:
        labels = json.loads(LABELS.read_text(encoding="utf-8"))
        draw(results, writing.RESULTS)
        writing.write_results(writing.RESULTS, name, results, page(results, labels))


if __name__ == "__main__":
    main()
