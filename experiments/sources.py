"""Fingerprints of the source files behind each page, to find pages that are older than their code.

A change of comments, docstrings or blank lines is none. Changes that cannot alter a figure are listed with the reason in
``docs/results/changes.json`` (`explain`); any other makes the page stale, and a test fails until it is made again.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterable, Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from treelet.formats.files import open_target

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"
CHANGES = RESULTS / "changes.json"
GONE = "gone"
TELLING = re.compile(
    r"treelet\.(cli|explain|viz|shown)\b|.*_page$|experiments(\.(__main__|claims|index|report|running|sources))?$"
)
"""Modules that make no figure: they tell, draw or start."""
CPP = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)


def imported() -> dict[str, str]:
    """Each file of treelet and of the experiments that is imported now and can alter a figure, and its fingerprint."""
    names = [
        name for name in sys.modules if name.split(".")[0] in ("treelet", "experiments") and not TELLING.match(name)
    ]
    files = [Path(file) for name in names if (file := str(getattr(sys.modules[name], "__file__", ""))).endswith(".py")]
    files += [
        path.with_suffix(".cpp") for path in files if path.with_suffix(".cpp").exists()
    ]  # programs of experiments
    inside = {path.resolve().relative_to(ROOT).as_posix() for path in files if path.resolve().is_relative_to(ROOT)}
    return {path: fingerprint(ROOT / path) for path in sorted({*inside, *_native()})}


def digest() -> str:
    """One fingerprint of all code that can alter a figure, imported or not."""
    files = [ROOT / path for path in _native()]
    for top, package in ((ROOT / "src", "treelet"), (ROOT, "experiments")):
        found = (top / package).rglob("*.py")
        files += [p for p in found if not TELLING.match(".".join(p.relative_to(top).with_suffix("").parts))]
    return hashlib.sha256("".join(fingerprint(path) for path in sorted(files)).encode()).hexdigest()[:12]


def _native() -> list[str]:
    return [f"native/{path.name}" for path in (ROOT / "native").iterdir() if path.suffix in (".hpp", ".cpp", ".h")]


def fingerprint(path: Path) -> str:
    """Return a fingerprint of the code of a file, without comments, docstrings and blank lines."""
    if not path.exists():
        return GONE
    text = path.read_text(encoding="utf-8")
    bare = _bare_python(text) if path.suffix == ".py" else CPP.sub(lambda found: found[1] or " ", text)
    lines = [line.rstrip() for line in bare.splitlines()]
    return hashlib.sha256("\n".join(line for line in lines if line).encode()).hexdigest()[:12]


@lru_cache(512)
def _bare_python(text: str) -> str:
    r"""Python without comments and docstrings.

    >>> _bare_python('def f():  # what\n    "Says."\n    return "#"\n').split()
    ['def', 'f():', 'return', '"#"']
    """
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):  # fmt: skip
                _blank(lines, (first.lineno, first.col_offset), (first.end_lineno or 0, first.end_col_offset or 0))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.string in lines[token.start[0] - 1]:
            line = lines[token.start[0] - 1]
            lines[token.start[0] - 1] = line[: line.rindex(token.string)]
    return "\n".join(lines)


def _blank(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> None:
    """Take a docstring's lines out; what stands before it on its first line stays."""
    head = lines[start[0] - 1].encode()[: start[1]].decode()
    tail = lines[end[0] - 1].encode()[end[1] :].decode()
    for number in range(start[0] - 1, end[0]):
        lines[number] = ""
    lines[start[0] - 1] = head + tail


# --- pages ----------------------------------------------------------------------------------------------------------


def explained() -> list[dict[str, Any]]:
    """Changes that cannot alter a figure: their date, the reason, and each file's fingerprints before and after."""
    return json.loads(CHANGES.read_text(encoding="utf-8")) if CHANGES.exists() else []


def changed(shown: Mapping[str, str], changes: Iterable[Mapping[str, Any]] = ()) -> dict[str, tuple[str, str]]:
    """The files that are not as a page shows them, and not explained: their fingerprints then and now."""
    steps: dict[tuple[str, str], set[str]] = {}
    for change in changes:
        for path, (before, after) in change["files"].items():
            steps.setdefault((path, before), set()).add(after)
    found = {}
    for path, before in shown.items():
        now, reached, open_ends = fingerprint(ROOT / path), {before}, [before]
        while open_ends:
            for after in steps.get((path, open_ends.pop()), set()) - reached:
                reached.add(after)
                open_ends.append(after)
        if now not in reached:
            found[path] = (before, now)
    return found


def concerning(pages: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the explained changes since any of these pages was made, each with the names of the pages as ``pages``.

    Changes before a page was made do not concern it. They are needed no longer once all pages are newer.
    """
    changes = explained()
    steps: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for number, change in enumerate(changes):
        for path, (before, after) in change["files"].items():
            steps.setdefault((path, before), []).append((number, after))
    files: dict[int, set[str]] = {}
    names: dict[int, dict[str, None]] = {}
    for name, results in pages.items():
        open_ends = list(results["made_by"]["sources"].items())
        reached = set(open_ends)
        while open_ends:
            path, before = open_ends.pop()
            for number, after in steps.get((path, before), []):
                files.setdefault(number, set()).add(path)
                names.setdefault(number, {})[name] = None
                if (path, after) not in reached:
                    reached.add((path, after))
                    open_ends.append((path, after))
    return [
        change | {"files": {path: ends for path, ends in change["files"].items() if path in files[number]}, "pages": list(names[number])}
        for number, change in enumerate(changes)
        if number in files
    ]  # fmt: skip


def stale(pages: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, tuple[str, str]]]:
    """For each page that is older than the code it shows, the files that have changed without an explanation."""
    changes = explained()
    found = {name: changed(results["made_by"]["sources"], changes) for name, results in pages.items()}
    return {name: files for name, files in found.items() if files}


def explain(pages: Mapping[str, Mapping[str, Any]], why: str) -> list[str]:
    """Write down why the changes since the pages were made cannot alter a figure; the files that have changed.

    Changes that concern no page any longer are removed.
    """
    changes = [{key: change[key] for key in ("date", "why", "files")} for change in concerning(pages)]
    new: dict[tuple[str, str], str] = {
        (path, before): now for files in stale(pages).values() for path, (before, now) in files.items()
    }
    origins = sorted({before for _, before in new})
    for origin in origins:
        files = {path: [before, now] for (path, before), now in sorted(new.items()) if before == origin}
        changes.append({"date": date.today().isoformat(), "why": why, "files": files})
    merged = _merged(changes)
    with open_target(CHANGES) as stream:
        stream.write(json.dumps(merged, indent=1) + "\n")
    return sorted({path for path, _ in new})


def _merged(changes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries of one day and one reason as one, as long as no file is in it twice."""
    found: list[dict[str, Any]] = []
    for change in changes:
        for one in found:
            if (one["date"], one["why"]) == (change["date"], change["why"]) and not one["files"].keys() & change["files"].keys():  # fmt: skip
                one["files"] = dict(sorted((one["files"] | change["files"]).items()))
                break
        else:
            found.append(dict(change))
    return found
