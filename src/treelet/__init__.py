"""treelet: machine learning on trees with tree kernels.

>>> import treelet as tl
>>> tl.SubsetTree(lam=1)(["(NP (D the) (N apple))", "(NP (D the) (N pear))"])
array([[6., 3.],
       [3., 6.]])

Names are loaded on first use, which keeps ``import treelet`` fast. The names are listed in
``__init__.pyi``, which both type checkers and this module read.
"""

from typing import Any

from treelet.lazy import loader, names_in_stub

__version__ = "0.2.0"


_WHERE = names_in_stub(__file__)
_load = loader(__name__, _WHERE)
__all__ = sorted(name for name, home in _WHERE.items() if home != __name__) + ["__version__"]  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    value = globals()[name] = _load(name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_WHERE})  # with the packages, which `from treelet import *` leaves out
