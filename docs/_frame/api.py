"""Build the Python reference, one page per name. The names come from the packages, so no name can be forgotten."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import treelet
from _frame.docstrings import literal_blocks
from treelet.lazy import names_in_stub

PACKAGES = {  # in the order in which a user meets them: data, kernels, learning
    "formats": "File formats",
    "structures": "Structures",
    "cuts": "Cuts",
    "parsing": "Parsing",
    "kernels": "Kernels",
    "edits": "Edit distances",
    "matrices": "Matrices and neighbors",
    "learn": "Learning",
    "fragments": "Fragments and explanations",
    "drawing": "Drawing",
    "report": "Reports",
    "corpora": "Corpora",
    "metrics": "Metrics",
    "tasks": "Whole tasks",
    "datasets": "Data",
    "testing": "Checks for code of one's own",
    "resources": "Configuration",
    "errors": "Errors",
}
BESIDE = {  # modules that pages mention but that their packages do not import
    "drawing": ["web.pictures"],
    "report": ["page", "widget"],
    "learn": ["selection"],
}
AT_THE_TOP = names_in_stub(treelet.__file__)
VALUES = {  # descriptions of names without a docstring
    "treelet.formats.FORMATS": "Every format that is known, by its name: `register` adds to it.",
    "treelet.metrics.PLAIN": "Every constituent counts, with its label as it is.",
    "treelet.metrics.PARSEVAL": "The usual way of counting: no punctuation, no empty elements, function tags removed.",
}


def package(name: str) -> ModuleType:
    """Import a package or module of treelet."""
    return import_module(f"treelet.{name}")


@cache
def names_of(name: str) -> list[str]:
    """Return the names of a package: its ``__all__``, names that `treelet` exports from its modules, and its modules."""
    module = package(name)
    names = getattr(module, "__all__", None) or [
        key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    top = [one for one, home in AT_THE_TOP.items() if home.startswith(f"treelet.{name}.")]
    return sorted({*names, *top, *BESIDE.get(name, [])}, key=lambda one: (one.lower(), one))


def full_name(of: str, name: str) -> str:
    """Return the shortest import path of a name, from `treelet` itself if possible."""
    home = AT_THE_TOP.get(name, "")
    return f"treelet.{name}" if f"{home}.".startswith(f"treelet.{of}.") else f"treelet.{of}.{name}"


def value_of(of: str, name: str) -> Any:
    if name in BESIDE.get(of, []):
        return package(f"{of}.{name}")
    return getattr(treelet, name) if full_name(of, name) == f"treelet.{name}" else getattr(package(of), name)


def value_at(full: str) -> Any:
    return next((value_of(of, name) for of in PACKAGES for name in names_of(of) if full_name(of, name) == full), None)


def kind_of(value: Any) -> str:
    if isinstance(value, ModuleType):
        return "module"
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if callable(value) and inspect.isroutine(value) else "data"


HEADINGS = {
    "class": "Classes",
    "function": "Functions",
    "exception": "Errors and warnings",
    "data": "Values",
    "module": "Modules",
}


def summary(value: Any, kind: str, full: str = "") -> str:
    """Return the first paragraph of a docstring."""
    if kind == "data":
        return VALUES.get(full, "")
    lines = (inspect.getdoc(value) or "").split("\n\n", 1)[0]
    return " ".join(lines.split())


def pages() -> dict[str, str]:
    """Return all pages in reStructuredText, keyed by file name without suffix."""
    made = {"index": _index()}
    for of, title in PACKAGES.items():
        made[of] = _package(of, title)
        for name in names_of(of):
            made[full_name(of, name)] = _name(of, name)
    return made


@cache
def known_names() -> dict[str, str]:
    """Return the full name for each name that docstrings may use. Names exported by `treelet` take precedence."""
    found: dict[str, str] = {}
    for of in PACKAGES:
        for name in names_of(of):
            full = full_name(of, name)
            for short in (full, f"treelet.{of}.{name}", full.replace("treelet.", "tl.", 1)):
                found[short] = full
            if name not in found or full.count(".") < found[name].count("."):
                found[name] = full
    return found


def _heading(text: str, line: str = "=") -> list[str]:
    return [text, line * len(text), ""]


def _table(rows: list[tuple[str, str]]) -> list[str]:
    lines = [".. list-table::", "   :widths: 30 70", "   :class: names", ""]
    for name, text in rows:
        lines += [f"   * - {name}", f"     - {text}"]
    return [*lines, ""]


def _toctree(entries: list[str]) -> list[str]:
    return [".. toctree::", "   :hidden:", "", *(f"   {entry}" for entry in entries), ""]


def _reference(full: str, kind: str, text: str) -> str:
    return f":py:{'mod' if kind == 'module' else 'obj'}:`{text} <{full}>`"


def _index() -> str:
    lines = [
        *_heading("The API"),
        "Every public name with its docstring. ``import treelet as tl`` provides the names of the first tables. Import other names from",
        "their package: ``from treelet.structures import TaggedBank``.",
        "",
        *_heading("At the top", "-"),
    ]
    for of, title in PACKAGES.items():
        short = [name for name in names_of(of) if full_name(of, name) == f"treelet.{name}"]
        if short:
            lines += [f".. rubric:: {title}", "", *_rows(of, short)]
    packages = [(f":doc:`treelet.{of} <{of}>`", summary(package(of), "module")) for of in PACKAGES]
    lines += [*_heading("Packages", "-"), *_table(packages)]
    return "\n".join(lines + _toctree([f"treelet.{of} <{of}>" for of in PACKAGES])) + "\n"


def _rows(of: str, names: list[str]) -> list[str]:
    rows = []
    for name in names:
        value = value_of(of, name)
        kind = kind_of(value)
        full = full_name(of, name)
        rows.append(
            (
                _reference(full, kind, full.removeprefix(f"treelet.{of}.").replace("treelet.", "tl.")),
                summary(value, kind, full),
            )
        )
    return _table(rows)


def _package(of: str, title: str) -> str:
    module = package(of)
    names = names_of(of)
    lines = [*_heading(f"{title}: treelet.{of}"), *literal_blocks((inspect.getdoc(module) or "").splitlines()), ""]
    for kind, heading in HEADINGS.items():
        some = [name for name in names if kind_of(value_of(of, name)) == kind]
        if some:
            lines += [*_heading(heading, "-"), *_rows(of, some)]
    return "\n".join(lines + _toctree([f"{name} <{full_name(of, name)}>" for name in names])) + "\n"


def _name(of: str, name: str) -> str:
    full = full_name(of, name)
    kind = kind_of(value_of(of, name))
    lines = _heading(full)
    if kind == "module":
        return "\n".join([*lines, f".. automodule:: {full}", "   :members:", ""])
    lines += [f".. py:currentmodule:: {full.rpartition('.')[0]}", ""]
    if kind == "data":
        return "\n".join([*lines, f".. py:data:: {name}", "", f"   {VALUES[full]}", ""])
    lines += [f".. auto{kind}:: {name}"]
    if kind == "exception":
        lines += ["   :show-inheritance:"]
    elif kind == "class":
        value = value_of(of, name)
        base = public_base(value)
        if shown := members(value, base):
            lines += [f"   :members: {', '.join(shown)}"]
        if base:
            lines += [
                "",
                f"The class also has all members of :py:obj:`{base.__name__} <{known_names()[base.__name__]}>`.",
            ]
    return "\n".join([*lines, ""])


def members(value: type, base: type | None) -> list[str]:
    """Return the members to show for a class: members of treelet with a docstring, without those that a base class shows."""
    found: dict[str, Any] = {}
    for one in reversed([value] if base else value.__mro__):
        if one.__module__.startswith("treelet"):
            found |= vars(one)
    return [name for name, member in found.items() if _is_told(name, member)]


@cache
def place_of(name: str) -> str | None:
    """Return the target of a name in a docstring: a name or a member of a class. None if the name is not part of treelet."""
    known = known_names()
    if name in known:
        return known[name]
    owner, _, member = name.rpartition(".")
    if owner not in known:
        return None
    value = value_at(known[owner])
    while inspect.isclass(value):
        base = public_base(value)
        if member in members(value, base):
            return f"{known[value.__name__]}.{member}"
        value = base
    return known[owner]  # the page of the class describes the attribute


def _is_told(name: str, member: Any) -> bool:
    public = name == "__call__" or not name.startswith("_")
    public &= not (name.startswith("set_") and name.endswith("_request"))  # added by scikit-learn
    field = type(member).__name__ == "_tuplegetter"  # has only an automatic docstring
    return public and hasattr(member, "__get__") and not field and bool(member.__doc__)


def public_base(value: type) -> type | None:
    """Return the nearest base class that has a page. Inherited members are documented on that page."""
    known = known_names()
    return next(
        (base for base in value.__mro__[1:] if base.__name__ in known and base.__module__.startswith("treelet")), None
    )
