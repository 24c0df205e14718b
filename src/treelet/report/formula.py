"""A kernel as a formula that people read: what it is made of, and how."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import escape

from treelet.kernels import Constant, Gaussian, Kernel, Normalized, On, PolynomialOf, Product, Scale, Sum

_PLACES = re.compile(r"(?:^|_)k\d+(?:_|$)|^$")  # names by place, as of k1 + k2

Named = tuple[str, Kernel]
"""How the names of a kernel's parameters begin, seen from the outermost one; and the kernel."""


def inner(kernel: Kernel) -> dict[str, Kernel]:
    """The kernels that a kernel is made of, by the names of its parameters."""
    return {name: value for name, value in kernel.get_params(deep=False).items() if isinstance(value, Kernel)}


def parts_of(kernel: Kernel) -> tuple[list[Named], list[Named]]:
    """The kernels of structures that a kernel is made of, left to right; and those that put them together."""
    leaves: list[Named] = []
    others: list[Named] = []
    stack: list[Named] = [("", kernel)]
    while stack:
        path, part = stack.pop()
        below = inner(part)
        (others if below or isinstance(part, Constant) else leaves).append((path, part))
        stack.extend((f"{path}{name}__", below[name]) for name in reversed(below))
    return leaves, others


def symbols_of(leaves: list[Named]) -> list[str]:
    """What stands for each kernel in a formula, in HTML: the name it was given, or a number; its kind where there is only one."""
    if len(leaves) == 1:
        return [type(leaves[0][1]).__name__]
    names = [short(path).removesuffix("__") for path, _ in leaves]
    given = [name if names.count(name) == 1 and not _PLACES.search(name) else "" for name in names]
    return [f"K<sub>{escape(name) or number}</sub>" for number, name in enumerate(given, 1)]


def short(name: str) -> str:
    """A parameter's name without the kernels around it, which pass it on.

    >>> short("syntax__kernel__kernel__lam"), short("kernel__lam")
    ('syntax__lam', 'lam')
    """
    return "__".join(part for part in name.split("__") if part != "kernel")


def parameters(parts: list[Named]) -> dict[int, dict[str, object]]:
    """The parameters of some parts, by the number of the part and the shortest name that `set_params` takes for it."""
    found = {
        number: {
            f"{path}{name}": value
            for name, value in kernel.get_params(deep=False).items()
            if not name.endswith("_bounds") and not isinstance(value, Kernel)
        }
        for number, (path, kernel) in enumerate(parts)
    }
    times = Counter(short(name) for values in found.values() for name in values)
    return {
        number: {short(name) if times[short(name)] == 1 else name: value for name, value in values.items()}
        for number, values in found.items()
    }


def written(kernel: Kernel) -> str:
    """The formula, in HTML.

    >>> from treelet import Linear, On, SubsetTree
    >>> written(0.5 * SubsetTree().normalized() + On("n", Linear() + 1))
    '0.5 · normalized K<sub>1</sub>(x, y) + K<sub>2</sub>(x.n, y.n) + 1'
    """
    return _written(kernel, iter(symbols_of(parts_of(kernel)[0])), "")


def _written(kernel: Kernel, symbols: Iterator[str], column: str) -> str:
    parts = list(inner(kernel).values())
    if isinstance(kernel, Constant):
        return f"{kernel.value:g}"
    if isinstance(kernel, Scale):
        return f"{kernel.factor:g} · {_tight(kernel.kernel, symbols, column)}"
    if isinstance(kernel, Sum):
        return " + ".join(_written(part, symbols, column) for part in parts)
    if isinstance(kernel, Product):
        return " · ".join(_tight(part, symbols, column, (Sum,)) for part in parts)
    if isinstance(kernel, Normalized):
        return f"normalized {_tight(kernel.kernel, symbols, column)}"
    if isinstance(kernel, Gaussian):
        return f"gaussian<sub>σ={kernel.sigma:g}</sub> {_tight(kernel.kernel, symbols, column)}"
    if isinstance(kernel, PolynomialOf):
        shift = f" + {kernel.coef0:g}" if kernel.coef0 else ""
        return f"({_written(kernel.kernel, symbols, column)}{shift})<sup>{kernel.degree}</sup>"
    if isinstance(kernel, On):
        return _written(kernel.kernel, symbols, f"{column}.{escape(str(kernel.column))}")
    if parts:
        return f"{type(kernel).__name__}[{', '.join(_written(part, symbols, column) for part in parts)}]"
    return f"{next(symbols)}(x{column}, y{column})"


def _tight(
    kernel: Kernel, symbols: Iterator[str], column: str, loose: tuple[type[Kernel], ...] = (Sum, Product, Scale)
) -> str:
    """As an operand that must not fall apart."""
    text = _written(kernel, symbols, column)
    while isinstance(kernel, On):
        kernel = kernel.kernel
    return f"({text})" if isinstance(kernel, loose) else text
