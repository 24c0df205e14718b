"""treelet: learning from trees, by the pieces they share.

>>> import treelet as tl
>>> tl.SubsetTree(lam=1)(["(NP (D the) (N apple))", "(NP (D the) (N pear))"])
array([[6., 3.],
       [3., 6.]])

Names are loaded when they are first used, so that ``import treelet`` costs next to nothing. They are listed in
``__init__.pyi``, once for editors and for this module.
"""

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

__version__ = "0.1.0"


def _listed() -> dict[str, str]:
    """Each name of the stub beside this file, and the module it comes from."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_WHERE = _listed()
__all__ = sorted(name for name, home in _WHERE.items() if home != __name__) + ["__version__"]  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'treelet' has no attribute {name!r}")
    home = _WHERE[name]
    value = import_module(f"treelet.{name}") if home == __name__ else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


class _Door(ModuleType):
    """`treelet.gram` is a function, though a package has that name too.

    Python puts a package that it has imported into its parent. Here the function of that name goes there instead, so that
    ``tl.gram`` is the same whatever was imported before. ``from treelet.gram import ...`` reaches the package.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and _WHERE.get(name) == f"treelet.{name}":
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Door
