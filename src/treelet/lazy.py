"""Packages whose names are loaded on first use. The names are listed once, in the stub of the package."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ABBREVIATIONS = {
    "st": "Subtree",
    "sst": "SubsetTree",
    "sstk": "SubsetTree",
    "stk": "SubsetTree",  # Moschitti's syntactic tree kernel
    "pt": "PartialTree",
    "ptk": "PartialTree",
    "svc": "KernelSVC",
    "svm": "KernelSVC",
    "svr": "KernelSVR",
    "ted": "EditDistance",
}
"""Abbreviations in papers, on the command line and in other libraries, in lower case."""


def names_in_stub(file: str, suffix: str = ".pyi") -> dict[str, str]:
    """Map each name imported by the stub next to a package's ``__init__.py`` to its module."""
    stub = ast.parse(Path(file).with_suffix(suffix).read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def _hint(package: str, homes: dict[str, str], name: str) -> str:
    """Return a sentence about an unknown name: its location in a subpackage, or a similar name.

    The subpackages are parsed, not imported.
    """
    # Tools look up private names in every module, and `from package import module` looks up the
    # module before importing it. Neither case should cost time.
    if name.startswith("_") or find_spec(f"{package}.{name}") is not None:
        return ""
    if (full := ABBREVIATIONS.get(name.lower())) in homes:
        return f" Did you mean {full!r}?"
    folder = Path(__file__).parent.parent / package.replace(".", "/")
    for inner in sorted(inner for inner, home in homes.items() if home == package):
        files = [file for suffix in (".pyi", ".py") if (file := folder / inner / f"__init__{suffix}").exists()]
        if files and name in names_in_stub(str(files[0]), files[0].suffix):
            return f" Use {package}.{inner}.{name}."
    from treelet.checks import suggestion  # not at the top, because it imports NumPy

    return suggestion(name, homes)


def loader(package: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package, which loads a name or a subpackage from its module."""

    def load(name: str) -> Any:
        if name not in homes:
            # With a name, but no object, Python does not append a second suggestion to a traceback.
            message = f"module {package!r} has no attribute {name!r}.{_hint(package, homes, name)}"
            raise AttributeError(message, name=name)
        home = homes[name]
        return import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)

    return load


def attach_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are listed in its stub.

    A name is imported when it is first used, and then becomes an attribute of the package.
    """
    homes = names_in_stub(file)
    load, names = loader(package, homes), sorted(homes)

    def get(name: str) -> Any:
        value = load(name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: names, names
