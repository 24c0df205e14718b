"""treelet: learning from trees, by the pieces they share.

>>> import treelet as tl
>>> tl.SubsetTree(lam=1)(["(NP (D the) (N apple))", "(NP (D the) (N pear))"])
array([[6., 3.],
       [3., 6.]])

Names are loaded when they are first used, so that ``import treelet`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "treelet.errors": [
        "FileError",
        "FormatError",
        "InputTypeError",
        "KernelOverflowError",
        "ParameterError",
        "TreeError",
        "TreeletError",
    ],
    "treelet.structures": ["Tree", "Treebank", "as_treebank", "read_trees"],
    "treelet.kernels": [
        "Constant",
        "Kernel",
        "Normalized",
        "PartialTree",
        "Product",
        "Scale",
        "SubsetTree",
        "Subtree",
        "Sum",
    ],
}
_PACKAGES = ["formats", "gram", "kernels", "structures", "testing"]
_WHERE = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*_WHERE, *_PACKAGES, "__version__"]  # noqa: PLE0604  # all are names

if TYPE_CHECKING:
    from treelet import formats, gram, kernels, structures, testing
    from treelet.errors import (
        FileError,
        FormatError,
        InputTypeError,
        KernelOverflowError,
        ParameterError,
        TreeError,
        TreeletError,
    )
    from treelet.kernels import (
        Constant,
        Kernel,
        Normalized,
        PartialTree,
        Product,
        Scale,
        SubsetTree,
        Subtree,
        Sum,
    )
    from treelet.structures import Tree, Treebank, as_treebank, read_trees


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(import_module(_WHERE[name]), name)
    elif name in _PACKAGES:
        value = import_module(f"treelet.{name}")
    else:
        raise AttributeError(f"module 'treelet' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
