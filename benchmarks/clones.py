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
from benchmarks.clone_tools import (
    JSCPD,
    LARGE,
    LENIENT_PYSCN,
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
from benchmarks.common import Results, stored_results
from experiments import writing
from treelet.tasks import find_clones

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
        found: list[dict[str, Any]] = json.loads(known.read_text(encoding="utf-8"))
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
        path.write_text(text, encoding="utf-8")
    (target / "code" / "copies").mkdir()
    for number, (kind, share) in enumerate(plan()):
        copy = None
        while copy is None:
            if not chosen:
                raise SystemExit(f"There are too few functions in {language}.")
            original = chosen.pop()
            copy = mutated(original, kind, share, donors, rng)
        file = f"copies/copy{number:03}{SUFFIXES[language]}"
        (target / "code" / file).write_text(copy.file_text(), encoding="utf-8")
        rows.append({
            "kind": kind, "share": share, "original": f"packages/{original.file}", "lines": [original.line, original.end_line],
            "copy": file, "copy_lines": [copy.line, copy.end_line],
        })  # fmt: skip
    known.write_text(json.dumps(rows, indent=1), encoding="utf-8")
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


LABELS = Path(__file__).with_name("clone_labels.json")
BY_NAME = {package.name: package for package in PACKAGES["python"]}
SIZES, REPEATS, LIMIT = (1000, 10_000, 50_000), 3, 180


# --- recall and precision -------------------------------------------------------------------------------------------


def covered(ranges: list[Range], first: int, last: int) -> float:
    """Return the share of the lines first .. last that are in at least one range."""
    lines = {line for each in ranges for line in range(max(each.first, first), min(each.last, last) + 1)}
    return len(lines) / (last - first + 1)


def is_found(row: Results, groups: list[list[Range]]) -> bool:
    """Return whether the groups of one copy contain at least half of the lines of the copy and of the original."""
    original = [each for group in groups for each in group if each.file == row["original"]]
    copy = [each for group in groups for each in group if each.file == row["copy"]]
    return covered(original, *row["lines"]) >= 0.5 and covered(copy, *row["copy_lines"]) >= 0.5


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


def truth(folder: Path) -> Results:
    found: Results = {"languages": {}, "rows": []}
    for language in PACKAGES:
        rows = build(language, folder)
        target = folder / "truth" / language / "code"
        found["languages"][language] = {
            "copies": len(rows),
            "files": sum(path.is_file() for path in (target / "packages").rglob("*")),
            "packages": [package.title for package in PACKAGES[language]],
        }
        for name in TOOLS:
            if name.startswith("pyscn") and language != "python":
                continue
            result = run(name, target, folder, language)
            groups = by_copy(result, name.startswith("jscpd"))
            hits = [any(is_found(row, some) for some in groups.get(row["copy"], ())) for row in rows]
            counts: defaultdict[tuple[str, float], list[int]] = defaultdict(lambda: [0, 0])
            for row, hit in zip(rows, hits, strict=True):
                count = counts[row["kind"], row["share"]]
                count[0] += hit
                count[1] += 1
            pairs = natural(result)
            found["rows"].append({
                "language": language, "tool": name, "finished": result.finished,
                "recall": [{"kind": kind, "share": share, "found": hit, "of": of} for (kind, share), (hit, of) in counts.items()],
                "natural": len(pairs), "foreign": sum(map(is_foreign, pairs)), "seconds": result.seconds,
            })  # fmt: skip
            sample = sorted(pairs)
            random.Random(SEED).shuffle(sample)
            (folder / "output" / f"natural-{language}-{name.replace(', ', '-')}.json").write_text(
                json.dumps(sample[:200]), encoding="utf-8"
            )
            print(language, name, result.finished, f"{sum(hits)} of {len(hits)},", len(pairs), "natural", flush=True)
    return found


# --- halves of the packages -----------------------------------------------------------------------------------------

LEAST_LINES, LEAST_SIMILARITY = (8, 10), (0.5, 0.55, 0.6, 0.65, 0.7)


def halves(folder: Path) -> list[Results]:
    """Compare settings on two halves of the packages of each language. The defaults were chosen on the first half of Python."""
    rows = []
    for language in PACKAGES:
        known = build(language, folder)
        target = folder / "truth" / language / "code"
        bank = tl.read_code(str(target), language=language, identifiers="anonymous")
        assert bank.places is not None
        places = [(os.path.relpath(place.file, target), place.line) for place in bank.places]
        number = {place: at for at, place in reversed(list(enumerate(places)))}
        wanted = np.array(
            [(number[row["original"], row["lines"][0]], number[row["copy"], row["copy_lines"][0]]) for row in known]
        )
        package = np.array([name.split("/")[1] if name.startswith("packages/") else "" for name, _ in places])
        sizes = Counter(name for name in package.tolist() if name)
        lines, outer = np.asarray(bank.places.code_lines()), bank.places.outer()
        graph = tl.nearest(tl.StatementOverlap(), bank, threshold=min(LEAST_SIMILARITY), graph=True)
        values = np.asarray(graph[wanted[:, 0], wanted[:, 1]]).ravel()
        pairs = sparse.triu(graph, 1).tocoo()
        apart = (outer[pairs.row] != pairs.col) & (outer[pairs.col] != pairs.row)
        by_size = sorted(sizes, key=lambda name: (-sizes[name], name))
        for half in (0, 1):
            chosen = by_size[half::2]
            here, own = np.isin(package, chosen), np.isin(package[wanted[:, 0]], chosen)
            for least, similarity in product(LEAST_LINES, LEAST_SIMILARITY):
                long = lines >= least
                found = (values >= similarity - 1e-9) & long[wanted].all(axis=1)
                near = (pairs.data >= similarity - 1e-9) & apart
                for side in (pairs.row, pairs.col):
                    near &= here[side] & long[side]
                foreign = near & (package[pairs.row] != package[pairs.col])
                rows.append({
                    "language": language, "half": "AB"[half], "packages": chosen, "min_lines": least, "similarity": similarity,
                    "recall": float(found[own].mean()), "natural": int(near.sum()), "foreign": int(foreign.sum()),
                })  # fmt: skip
        print(language, rows[-1], flush=True)
    return rows


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


def scale(folder: Path) -> Results:
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


def families(folder: Path) -> Results:
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

PARTS: dict[str, Callable[[Path], Any]] = {"truth": truth, "halves": halves, "scale": scale, "families": families}  # fmt: skip


# --- Page -----------------------------------------------------------------------------------------------------------

TITLES = {"python": "Python", "javascript": "JavaScript", "c": "C"}
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
        read={tool: read_pairs(labels, None, tool) for tool in TOOLS},
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
        lenient_pyscn=LENIENT_PYSCN.strip(),
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


def read_pairs(labels: Results, language: str | None, tool: str) -> tuple[int, int]:
    """Return how many pairs of a sample were real, and the size of the sample."""
    read = [pair for pair in labels["pairs"] if pair["tool"] == tool and language in (None, pair["language"])]
    return sum(pair["real"] for pair in read), len(read)


def value_range(rows: list[Results], key: str, digits: int = 1, divisor: float = 1) -> str:
    """Format the smallest and the largest value of several runs."""
    values = [row[key] / divisor for row in rows]
    low, high = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
    return low if low == high else f"{low}–{high}"


def draw(results: Results, folder: Path) -> None:
    with writing.saved_figure(folder / "clones.png", figsize=(12, 4), columns=3) as (_, axes):
        for axis, (language, title) in zip(axes, TITLES.items(), strict=True):
            for tool in TOOLS:
                found = row_of(results, language, tool)
                if not found:
                    continue
                program, _, setting = tool.partition(", ")
                style = {"": "o-", "0.8": "v:", "0.5": "s--", "type 3": "v:", "lenient": "s--"}[setting]
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clones")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--corpora", type=Path, default=Path(tempfile.gettempdir(), "clones-corpora"))
    parser.add_argument("--page", action="store_true", help="write only the page, from the results and the labels")
    options = parser.parse_args()
    folder = options.corpora.resolve()
    (folder / "output").mkdir(parents=True, exist_ok=True)
    name = "clones"
    for part in [] if options.page else options.parts or PARTS:
        measured_part = PARTS[part](folder)
        results = stored_results(name)
        results[part] = measured_part
        results["cores"] = len(os.sched_getaffinity(0))
        results["made_by"] = made = writing.provenance("python -m benchmarks.clones")
        results.setdefault("commits", {})[part] = made["commit"]  # parts can be measured again one by one
        writing.write_results(writing.RESULTS, name, results, "")
    results = writing.read_results(name, writing.RESULTS)
    if PARTS.keys() <= results.keys():
        labels = json.loads(LABELS.read_text(encoding="utf-8"))
        draw(results, writing.RESULTS)
        writing.write_results(writing.RESULTS, name, results, page(results, labels))


if __name__ == "__main__":
    main()
