"""``treelet doctor``: list installed versions and check kernel values against known results."""

from __future__ import annotations

import json as json_format
import os
import platform
import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Annotated, Any

import typer

from treelet.cli.options import JsonOption
from treelet.cli.overwriting import READ
from treelet.printable import printable, readable_number

_HINTS = {"Link Grammar": "apt install link-grammar"}

_SHOWN = 30  # classes in a model card
_APPLE = "(NP (D the) (N apple))"
_BANK = "(PP (IN in) (DT the) (NN bank))"
_CAT = "(VP (V brought) (NP (D a) (N cat)))"


def command(
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="Model file whose card is printed."), READ
    ] = None,
    *,
    json: JsonOption = False,
) -> None:
    """Check the installation, or print the card of a model.

    Without MODEL, the command lists versions and the GPU, and compares kernel values with known results. The exit code is 1 if any value is wrong.

    With MODEL, the command prints the model card: kernel, labels, sizes, metrics, treelet version and a fingerprint of the training examples.

    Example: treelet doctor m.treelet
    """
    if model is not None:
        from treelet.learn.persist import card

        model_card = card(model)
        print(json_format.dumps({"file": model, **model_card}) if json else _card_text(model, model_card))
        return
    report: dict[str, Any] = {
        "versions": _versions(),
        "machine": _machine(),
        "core": _core(),
        "gpu": _gpu(),
    }
    report["checks"] = _checks(report["gpu"]["usable"])
    print(json_format.dumps(report) if json else _text(report))
    if not all(check["ok"] for check in report["checks"]):
        raise typer.Exit(1)


def _versions() -> dict[str, str | None]:
    import treelet

    versions: dict[str, str | None] = {"treelet": treelet.__version__, "Python": platform.python_version()}
    for name in _packages():
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    versions["Link Grammar"] = _link_grammar()
    return versions


def _packages() -> list[str]:
    """Return the packages that treelet or one of its extras needs. CuPy is listed with the GPU instead."""
    try:
        lines = requires("treelet") or []
    except PackageNotFoundError:  # the sources are on the path, but the package is not installed
        lines = []
    names = [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in lines] + ["hypothesis"]
    return [name for name in dict.fromkeys(names) if name != "treelet" and not name.startswith("cupy")]


def _link_grammar() -> str | None:
    """Return the version of Link Grammar if it is installed with its English dictionary."""
    try:
        from treelet.parsing.link_parser import link_grammar_version
    except ImportError:  # the native core is missing, which is reported separately
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
    compiler = f"GCC {_core.compiler}" if _core.compiler[:1].isdigit() else _core.compiler  # others name themselves
    return {"compiler": compiler, "optimized": _core.optimized, "sanitized": _core.sanitized}


def _gpu() -> dict[str, Any]:
    """Return whether ``device="cuda"`` can be used, with the name of the GPU or the reason."""
    try:
        from treelet.device.launching import device_named
        from treelet.errors import TreeletError
    except ImportError as error:  # the native core is missing, which is reported separately
        return {"usable": False, "why": str(error)}
    try:
        return {"usable": True, "name": device_named("cuda").described()}
    except TreeletError as error:
        return {"usable": False, "why": re.split(r";|\.(?=\s|$)", str(error), maxsplit=1)[0]}


def _checks(on_gpu: bool) -> list[dict[str, Any]]:
    """Compare kernel values with values that were counted by hand."""
    known: list[tuple[str, int, Callable[[Any], float]]] = [
        ("fragments of [NP the apple] (SST)", 6, lambda kernels: _value(kernels.SubsetTree(lam=1), _APPLE)),
        ("fragments of [PP in the bank] (SST)", 11, lambda kernels: _value(kernels.SubsetTree(lam=1), _BANK)),
        ("fragments of [VP brought a cat] (SST)", 17, lambda kernels: _value(kernels.SubsetTree(lam=1), _CAT)),
        (
            "partial trees of [VP brought a cat] rooted at VP (PT)",
            30,
            lambda kernels: _rooted(kernels.PartialTree(lam=1, mu=1)),
        ),
        ("subtrees of [VP brought a cat] (ST)", 5, lambda kernels: _value(kernels.Subtree(), _CAT)),
    ]
    if on_gpu:
        known.append(
            (
                "fragments of [VP brought a cat] (SST), on the GPU",
                17,
                lambda kernels: _on_gpu(kernels.SubsetTree(lam=1), _CAT),
            )
        )
    results: list[dict[str, Any]] = []
    for name, expected, compute in known:
        try:
            from treelet import kernels

            value: float | str = compute(kernels)
        except Exception as error:  # any error is a finding about this installation
            value = f"{type(error).__name__}: {error}"
        results.append({"check": name, "expected": expected, "value": value, "ok": value == expected})
    return results


def _value(kernel: Any, tree: str) -> float:
    """Return K(tree, tree). Raise an error if the matrix and the logarithmic diagonal disagree."""
    import math

    value = float(kernel([tree])[0, 0])
    other = math.exp(float(kernel.self_values([tree], logs=True)[0]))
    if not math.isclose(value, other, rel_tol=1e-12):
        raise ArithmeticError(f"{value} in the matrix, {other} on the diagonal")
    return value


def _on_gpu(kernel: Any, tree: str) -> float:
    from treelet.matrices.executors import host_matrix
    from treelet.resources import Resources

    return float(host_matrix(kernel, kernel.coerce([tree]), resources=Resources(device="cuda"))[0, 0])


def _rooted(kernel: Any) -> float:
    """Return the number of partial trees that include the root.

    Since no label occurs twice, this is the number for the tree minus the numbers for its children.
    """
    return _value(kernel, _CAT) - _value(kernel, "(V brought)") - _value(kernel, "(NP (D a) (N cat))")


def _card_text(file: str, card: dict[str, Any]) -> str:
    """Return the card as lines of text. Control characters are escaped, because the file is not trusted."""
    training = card.get("training") or {}
    lines: list[tuple[str, Any]] = [("model", file), ("written by", f"treelet {card.get('treelet')}")]
    parameters = _named(card.get("parameters"), "{}={}")
    task = f" ({card['task']})" if card.get("task") else ""
    lines.append(("estimator", f"{card.get('estimator')}{task}{': ' + parameters if parameters else ''}"))
    lines.append(("kernel", card.get("kernel")))
    lines.append(("examples", training.get("examples")))
    lines.append(("fingerprint", training.get("fingerprint")))
    lines += [(name, _named(training.get(name), "{} {}")) for name in ("classes", "values")]
    lines += [("groups", training.get("groups")), ("sizes", _named(card.get("sizes"), "{} {}").replace("_", " "))]
    lines += [("metrics", _named(card.get("metrics"), "{} {}")), ("note", card.get("note"))]
    text = "\n".join(f"{name:<14}{value}" for name, value in lines if value not in (None, ""))
    return printable(text, keep="\n")


def _named(values: Any, form: str) -> str:
    texts = [form.format(name, _readable(value)) for name, value in values.items()] if isinstance(values, dict) else []
    return ", ".join(texts[:_SHOWN]) + (f", and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else "")


def _readable(value: Any) -> Any:
    return readable_number(value) if isinstance(value, float) else value


def _text(report: dict[str, Any]) -> str:
    lines = []
    width = max(map(len, report["versions"])) + 2
    for name, installed in report["versions"].items():
        hint = f": {_HINTS[name]}" if name in _HINTS else ""
        lines.append(f"{name:<{width}}{installed or 'not installed' + hint}")
    lines.append("")
    for section in ("machine", "core"):
        lines.extend(f"{name:<{width}}{value}" for name, value in report[section].items())
    gpu = report["gpu"]
    lines.append(f"{'GPU':<{width}}{gpu['name'] if gpu['usable'] else 'not usable: ' + gpu['why']}")
    lines.append("")
    for check in report["checks"]:
        verdict = "ok    " if check["ok"] else "FAILED"
        lines.append(f"{verdict}  {check['check']}: {_readable(check['value'])}, expected {check['expected']}")
    return "\n".join(lines)
