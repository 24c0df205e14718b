"""``treelet check`` on successive releases of five projects: what it reports, and its time; and runs with a filled cache.

Run with ``python -m benchmarks.check --corpora FOLDER``; packages are fetched to this folder if they are missing. Writes
docs/results/check.md and .json. Each release becomes a commit, and every commit is checked against the one before it. What
was reported was read, and the verdicts are in check_labels.json.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.clone_tools import SUFFIXES, Package, measured, source_texts, standard_library
from benchmarks.common import OMITTED, Results, stored_results
from experiments import writing

LABELS = Path(__file__).with_name("check_labels.json")
RELEASES = {
    "click": (
        "2.0 2.1 2.2 2.3 2.4 2.5 2.6 3.0 3.1 3.2 3.3 4.0 4.1 5.0 5.1 6.0 6.1 6.2 6.3 6.4 6.6 6.7 7.0 7.1 7.1.1 7.1.2 "
        "8.0.0 8.0.1 8.0.2 8.0.3 8.0.4 8.1.0 8.1.1 8.1.2 8.1.3 8.1.4 8.1.5 8.1.6 8.1.7 8.1.8 8.2.0 8.2.1 8.3.0 8.3.1 "
        "8.3.2 8.3.3 8.4.0 8.4.1 8.4.2 8.5.0 8.5.1"
    ),
    "werkzeug": (
        "0.12.1 0.12.2 0.13 0.15.0 0.15.1 0.15.2 0.15.3 0.15.4 0.15.5 0.15.6 0.16.0 0.16.1 1.0.0 1.0.1 2.0.0 2.0.1 2.0.2 "
        "2.0.3 2.1.0 2.1.1 2.1.2 2.2.0 2.2.1 2.2.2 2.2.3 2.3.0 2.3.1 2.3.2 2.3.3 2.3.4 2.3.5 2.3.6 2.3.7 2.3.8 3.0.0 "
        "3.0.1 3.0.2 3.0.3 3.0.4 3.0.5 3.0.6 3.1.0 3.1.1 3.1.2 3.1.3 3.1.4 3.1.5 3.1.6 3.1.7 3.1.8 3.1.9"
    ),
    "requests": (
        "2.11.1 2.12.0 2.12.1 2.12.2 2.12.3 2.12.4 2.12.5 2.13.0 2.15.1 2.16.0 2.16.1 2.16.2 2.16.3 2.16.4 2.16.5 2.17.0 "
        "2.17.1 2.17.2 2.17.3 2.18.1 2.18.2 2.18.3 2.18.4 2.19.0 2.19.1 2.20.0 2.20.1 2.21.0 2.22.0 2.23.0 2.24.0 2.25.0 "
        "2.25.1 2.26.0 2.27.0 2.27.1 2.28.0 2.28.1 2.28.2 2.29.0 2.30.0 2.31.0 2.32.2 2.32.3 2.32.4 2.32.5 2.33.0 2.33.1 "
        "2.34.0 2.34.1 2.34.2"
    ),
    "mongoose": (
        "9.7.4 9.8.0 9.8.1 9.9.0 9.9.1 9.9.2 9.9.3 9.9.4 9.9.5 9.10.0 9.10.1 9.10.2 9.10.3 9.10.4 9.11.0 9.11.1 9.11.2 "
        "9.11.3 9.11.4 9.12.0 9.12.1"
    ),
    "psutil": (
        "5.8.0 5.9.0 5.9.1 5.9.2 5.9.3 5.9.4 5.9.5 5.9.6 5.9.7 5.9.8 6.0.0 6.1.0 6.1.1 7.0.0 7.1.0 7.1.1 7.1.2 7.1.3 "
        "7.2.0 7.2.1 7.2.2"
    ),
}
"""Successive releases. Wheels that contain files of older releases by mistake are left out, such as requests 2.18.0."""
LEFTOVERS = {"click/click/_optparse.py", "click/click/helpers.py"}
"""Such files in the wheels of click 2.0 to 2.5, which are read without them."""
SOURCES = {"mongoose": ("npm", "javascript", "lib"), "psutil": ("sdist", "c", "psutil")}
"""Kind of package, language and folder of projects that are not wheels of Python."""
REPEATS = 3
KINDS = {
    "copy": "a copy, or a second implementation of the same thing",
    "parallel": "parallel by design: siblings of an interface, wrappers of several functions",
    "no": "no relation beyond the form",
}
"""Verdicts on a finding."""


def git(folder: Path, *words: str) -> None:
    settings = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *settings, *words], check=True, capture_output=True)


def replaced(folder: Path, texts: dict[str, str]) -> None:
    """Make these texts the only files of a repository."""
    for path in folder.iterdir():
        if not path.name.startswith("."):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def checked(folder: Path, *words: str) -> Results:
    """Run a command of treelet in a folder. Return its report, and the time."""
    with tempfile.NamedTemporaryFile(suffix=".json") as output:
        code = f"import os, sys; os.chdir({str(folder)!r}); sys.argv = ['treelet', *{words!r}, '--json', '--no-progress']\n"
        code += "from treelet.cli.main import main; main()"
        wall, cpu, peak, finished = measured([sys.executable, "-c", code], Path(output.name))
        if not finished:
            raise SystemExit(f"{folder}: {' '.join(words)} failed.")
        report: Results = json.loads(Path(output.name).read_bytes())
    return {"wall_seconds": wall, "cpu_seconds": cpu, "peak_bytes": peak, "report": report}


def history(project: str, corpora: Path, folder: Path) -> Results:
    """Commit one release after the other, and check each."""
    git(folder, "init", "-q")
    kind, language, inside = SOURCES.get(project, ("wheel", "python", ""))
    versions, steps = RELEASES[project].split(), []
    for before, version in zip(["", *versions], versions, strict=False):
        texts = source_texts(Package(kind, project, version, "", inside), corpora, SUFFIXES[language])
        replaced(folder, {name: text for name, text in texts.items() if name not in LEFTOVERS})
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "--allow-empty", "-m", version)
        if not before:
            continue
        run = checked(folder, "check", "HEAD~1..HEAD")
        report = run.pop("report")
        findings = [
            {
                "new": bool(family["new_members"]), "similarity": family["members"][1]["similarity"],
                "existing": place(family["members"][0]), "own": place(family["members"][1]),
                "statements": family["members"][1]["statements"], "shared": family["members"][1]["shared_statements"],
            }
            for family in report["families"]
        ]  # fmt: skip
        counts = {name: report[name] for name in ("files", "functions", "changed_functions")}
        steps.append({"from": before, "to": version, **run, **counts, "findings": findings})
        print(project, version, counts, len(findings), f"{run['cpu_seconds']:.1f}", flush=True)
    return {"project": project, "steps": steps}


def place(member: Results) -> str:
    return f"{member['file']}:{member['line']} {member['name']}"


def cached(title: str, texts: dict[str, str], folder: Path) -> Results:
    """Run ``treelet clones`` without and with a filled cache, and ``treelet check`` after a change of one function."""
    replaced(folder, texts)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    times: dict[str, list[Results]] = {"first": [], "second": [], "check": []}
    for _ in range(REPEATS):
        shutil.rmtree(folder / ".treelet_cache", ignore_errors=True)
        for name in ("first", "second"):
            times[name].append(checked(folder, "clones", "."))
        file = folder / "stdlib" / "textwrap.py"
        text = file.read_text(encoding="utf-8")
        file.write_text(
            text.replace("def indent(", "def indent_lines(") + "\n\ndef more(a):\n    return a\n", encoding="utf-8"
        )
        times["check"].append(checked(folder, "check"))
        file.write_text(text, encoding="utf-8")
    report = times["first"][0]["report"]
    same = all(
        [(family["members"], family["saved_lines"]) for family in run["report"]["families"]]
        == [(family["members"], family["saved_lines"]) for family in report["families"]]
        for name in ("first", "second")
        for run in times[name]
    )
    size = sum(path.stat().st_size for path in (folder / ".treelet_cache").iterdir())
    functions = report["functions"] + report["short_functions"]
    for runs in times.values():
        for run in runs:
            del run["report"]
    print(
        title,
        functions,
        {name: [round(run["cpu_seconds"], 1) for run in runs] for name, runs in times.items()},
        flush=True,
    )
    return {"title": title, "files": report["files"], "functions": functions, "compared": report["functions"], "same": same,
            "cache_bytes": size, **times}  # fmt: skip


def page(results: Results) -> str:
    labels: Results = json.loads(LABELS.read_text(encoding="utf-8")) if LABELS.exists() else {}
    projects = [results["parts"][project] for project in RELEASES if project in results["parts"]]

    def verdict(project: str, step: Results, finding: Results) -> str:
        return str(labels.get(f"{project} {step['to']} {finding['own']}", "not read"))

    def steps(project: Results) -> Results:
        """Summarize the steps of a project."""
        found = [(step, finding) for step in project["steps"] for finding in step["findings"]]
        new = [(step, finding) for step, finding in found if finding["new"]]
        return {
            "runs": len(project["steps"]),
            "changed": sum(step["changed_functions"] for step in project["steps"]),
            "functions": max(step["functions"] for step in project["steps"]),
            "with": sum(any(finding["new"] for finding in step["findings"]) for step in project["steps"]),
            "new": len(new),
            "known": len(found) - len(new),
            "verdicts": Counter(verdict(project["project"], step, finding) for step, finding in new),
            "cpu": sorted(step["cpu_seconds"] for step in project["steps"]),
        }

    listed = [
        (project["project"], step, finding, verdict(project["project"], step, finding))
        for project in projects
        for step in project["steps"]
        for finding in step["findings"]
        if finding["new"]
    ]
    return writing.render(
        "check",
        results,
        created=writing.created(results["made_by"]),
        projects=[(project["project"], steps(project)) for project in projects],
        kinds=KINDS,
        listed=listed,
        middle=lambda runs, key: median(run[key] for run in runs),
        median=median,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", help=f"of {', '.join(RELEASES)} and caches; the others are kept. Default: all"
    )
    parser.add_argument("--corpora", type=Path, default=Path(tempfile.gettempdir()) / "treelet-corpora")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    options = parser.parse_args()
    for part in [] if options.page else options.parts or [*RELEASES, "caches"]:
        made_by = writing.provenance("python -m benchmarks.check")
        if part in RELEASES:
            with tempfile.TemporaryDirectory() as name:
                found: Any = history(part, options.corpora, Path(name))
        else:
            library, found = standard_library(), []
            own = {name: text for name, text in library.items() if not OMITTED & {*Path(name).parts}}
            with tempfile.TemporaryDirectory() as name:
                found.append(cached("without tests", own, Path(name)))
        results = stored_results("check")
        write({**results, "made_by": made_by, "parts": {**results.get("parts", {}), part: found}})
    if options.page:
        write(writing.read_results("check"))


def write(results: Results) -> None:
    results = {"parts": {}, **results}
    writing.write_results(writing.RESULTS, "check", results, page(results))


if __name__ == "__main__":
    main()
