"""Packages whose names are loaded when they are first used; the names are listed once, in the package's stub."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def names_in_stub(file: str, suffix: str = ".pyi") -> dict[str, str]:
    """Each name that the stub beside a package's ``__init__.py`` imports, and the module it comes from."""
    stub = ast.parse(Path(file).with_suffix(suffix).read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def _elsewhere(package: str, homes: dict[str, str], name: str) -> str:
    """Where a name is instead: in a package inside this one, which is looked at and not imported."""
    if name.startswith("_"):  # what others ask every object for
        return ""
    folder = Path(__file__).parent.parent / package.replace(".", "/")
    for inner in sorted(inner for inner, home in homes.items() if home == package):
        file = folder / inner / "__init__.py"
        if file.exists() and name in names_in_stub(str(file), ".py"):
            return f": it is {package}.{inner}.{name}"
    return ""


def loader(package: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__``: a name from its home, or a package inside this one."""

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{_elsewhere(package, homes, name)}")
        home = homes[name]
        return import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)

    return load
