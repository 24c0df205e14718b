"""``treelet doctor``: what is installed, and whether it computes what it should."""

from __future__ import annotations

import json as json_format
import os
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import typer

from treelet.cli.options import JsonOption

PACKAGES = ("numpy", "scipy", "scikit-learn", "typer", "rich", "pandas", "matplotlib", "nltk", "lxml", "hypothesis")

HINTS = {"Link Grammar": "apt install link-grammar"}

APPLE = "(NP (D the) (N apple))"
BANK = "(PP (IN in) (DT the) (NN bank))"
CAT = "(VP (V brought) (NP (D a) (N cat)))"


def command(json: JsonOption = False) -> None:
    """Say what is installed and check known values.

    The exit code is 1 if a kernel does not give the value it should.
    """
    report: dict[str, Any] = {
        "versions": _versions(),
        "machine": _machine(),
        "core": _core(),
        "data": _data(),
        "checks": _checks(),
    }
    print(json_format.dumps(report) if json else _text(report))
    if not all(check["ok"] for check in report["checks"]):
        raise typer.Exit(1)


def _versions() -> dict[str, str | None]:
    import treelet

    found: dict[str, str | None] = {"treelet": treelet.__version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    found["Link Grammar"] = _link_grammar()
    return found


def _link_grammar() -> str | None:
    """The version of the system's Link Grammar, if it is there and has its English dictionary."""
    try:
        from treelet.parsing.link_parser import link_grammar_version
    except ImportError:  # without the native core, which is told below
        return None
    return link_grammar_version()


def _machine() -> dict[str, Any]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"system": platform.platform(), "cores": os.cpu_count(), "usable cores": usable}


def _core() -> dict[str, Any]:
    try:
        from treelet import _core
    except ImportError as error:
        return {"missing": str(error)}
    return {"compiler": _core.compiler, "optimized": _core.optimized, "sanitized": _core.sanitized}


def _data() -> dict[str, Any]:
    from treelet.datasets.loaders import data_folder

    folder = data_folder()
    return {"TREELET_DATA": os.environ.get("TREELET_DATA") or None, "folder": str(folder), "there": folder.is_dir()}


def _checks() -> list[dict[str, Any]]:
    """Values that follow from the definitions by counting."""
    known: list[tuple[str, int, Callable[[Any], float]]] = [
        ("fragments of [NP the apple] (SST)", 6, lambda kernels: _value(kernels.SubsetTree(lam=1), APPLE)),
        ("fragments of [PP in the bank] (SST)", 11, lambda kernels: _value(kernels.SubsetTree(lam=1), BANK)),
        ("fragments of [VP brought a cat] (SST)", 17, lambda kernels: _value(kernels.SubsetTree(lam=1), CAT)),
        ("partial trees rooted at its VP (PT)", 30, lambda kernels: _rooted(kernels.PartialTree(lam=1, mu=1))),
        ("complete subtrees of it (ST)", 5, lambda kernels: _value(kernels.Subtree(), CAT)),
    ]
    results: list[dict[str, Any]] = []
    for name, expected, compute in known:
        try:
            from treelet import kernels

            value: float | str = compute(kernels)
        except Exception as error:  # whatever is wrong with this installation is what we are here to say
            value = f"{type(error).__name__}: {error}"
        results.append({"check": name, "expected": expected, "value": value, "ok": value == expected})
    return results


def _value(kernel: Any, tree: str) -> float:
    """K(tree, tree), if the whole matrix and the diagonal in logarithms agree on it."""
    import math

    value = float(kernel([tree])[0, 0])
    other = math.exp(float(kernel.self_values([tree], logs=True)[0]))
    if not math.isclose(value, other, rel_tol=1e-12):
        raise ArithmeticError(f"{value} in the matrix, {other} on the diagonal")
    return value


def _rooted(kernel: Any) -> float:
    """Partial trees with the whole root: those of the tree less those of its children, as no label occurs twice."""
    return _value(kernel, CAT) - _value(kernel, "(V brought)") - _value(kernel, "(NP (D a) (N cat))")


def _text(report: dict[str, Any]) -> str:
    lines = []
    for name, found in report["versions"].items():
        hint = f": {HINTS[name]}" if name in HINTS else ""
        lines.append(f"{name:<14}{found or 'not installed' + hint}")
    lines.append("")
    for part in ("machine", "core"):
        lines.extend(f"{name:<14}{value}" for name, value in report[part].items())
    data = report["data"]
    where = data["folder"] if data["there"] else f"{data['folder']} (no such folder: set TREELET_DATA to the corpora)"
    lines += [f"{'data':<14}{where}", ""]
    for check in report["checks"]:
        verdict = "ok    " if check["ok"] else "FAILED"
        lines.append(f"{verdict}  {check['check']}: {check['value']}, expected {check['expected']}")
    return "\n".join(lines)
