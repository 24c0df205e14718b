"""``treelet doctor``: list installed versions, or print the card of a model."""

from __future__ import annotations

import json as json_format
import os
import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Annotated, Any

import typer

from treelet.cli.options import READ, command
from treelet.printable import printable, readable_number

_HINTS = {"Link Grammar": "apt install link-grammar"}

_SHOWN = 30  # classes in a model card


@command()
def _doctor(
    model: Annotated[str | None, "MODEL", READ] = None,
    *,
    json: bool = False,
) -> None:
    """List what is installed, or print the card of a model.

    Without MODEL, the command lists the versions of packages, the machine, the native core and the GPU. The exit code is 1 if the native core cannot be loaded.

    With MODEL, the command prints the model card: kernel, labels, sizes, metrics, treelet version and a fingerprint of the training examples.

    Example: treelet doctor m.treelet

    Parameters
    ----------
    model
        Model file whose card is printed.
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
    print(json_format.dumps(report) if json else _text(report))
    if "missing" in report["core"]:
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
        from treelet.parsing import link_grammar_version
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
    return "\n".join(lines)
