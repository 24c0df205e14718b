"""A kernel taken apart into summands, and the data that each of them works on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from treelet.kernels.algebra import Scale, Sum
from treelet.kernels.bag import Bags
from treelet.kernels.base import Kernel
from treelet.kernels.on import On
from treelet.kernels.pairwise import Vector
from treelet.kernels.store import StoreKernel
from treelet.kernels.wrapped import Normalized
from treelet.structures.bank import Bank
from treelet.structures.table import Table

Path = tuple[Any, ...]


def collapses(kernel: Kernel) -> bool:
    """Whether many examples become one weighted graph of their distinct parts under this kernel."""
    return isinstance(kernel, StoreKernel) and kernel.collapses


@dataclass(frozen=True)
class Place:
    """A kernel, and the names of the columns to go through to the data that it works on, the outermost first."""

    kernel: Kernel
    path: Path = ()

    @property
    def column(self) -> Any:
        """The name of the column, those of several as a tuple; None where there are none."""
        return None if not self.path else self.path[0] if len(self.path) == 1 else self.path

    def data(self, X: Any) -> Any:
        """The data in the form that the kernel works on; a Table keeps it, so that it is made once."""
        if not self.path:
            return self.kernel.coerce(X)
        *outer, name = self.path
        for column in outer:
            X = Table.from_any(X).column(column if isinstance(column, str | int) else tuple(column))
        return On(name, self.kernel)._part(X)


@dataclass(frozen=True)
class Part:
    """A summand of a kernel: ``factor * K(x, y) / prod sqrt(N(x, x) N(y, y))`` over the `roots` N."""

    factor: float
    place: Place
    roots: tuple[Place, ...] = ()


def linear_parts(kernel: Kernel) -> list[Part]:
    """A kernel as a sum of parts: through sums, multiples, columns and normalisations, down to what is none of these.

    >>> from treelet import PartialTree, SubsetTree
    >>> [(part.factor, part.place.kernel) for part in linear_parts(0.5 * (SubsetTree() + 2 * PartialTree()))]
    [(0.5, SubsetTree(lam=0.4)), (1.0, PartialTree(lam=0.4, mu=0.4))]
    """
    if isinstance(kernel, Sum):
        return [part for summand in kernel._parts() for part in linear_parts(summand)]
    if isinstance(kernel, Scale):
        return [replace(part, factor=part.factor * float(kernel.factor)) for part in linear_parts(kernel.kernel)]
    if isinstance(kernel, Normalized):
        inner = linear_parts(kernel.kernel)
        if any(collapses(part.place.kernel) for part in inner):
            return [replace(part, roots=(*part.roots, Place(kernel.kernel))) for part in inner]
    if isinstance(kernel, On):
        return [_on_column(kernel.column, part) for part in linear_parts(kernel.kernel)]
    return [Part(1.0, Place(kernel))]


def _on_column(column: Any, part: Part) -> Part:
    def below(place: Place) -> Place:
        return replace(place, path=(column, *place.path))

    return replace(part, place=below(part.place), roots=tuple(below(root) for root in part.roots))


class Roots:
    """Logarithms of the roots of self-values, each kernel's computed once."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self._known: list[tuple[Place, Vector]] = []

    def logs(self, roots: Sequence[Place]) -> Vector | None:
        """The sum of log sqrt N(x, x) over the roots N; -inf where one of them is 0. None without roots."""
        total: Vector | None = None
        for root in roots:
            found = [values for place, values in self._known if place == root]
            values = found[0] if found else 0.5 * root.kernel.self_values(root.data(self.X), logs=True)
            if not found:
                self._known.append((root, values))
            total = values if total is None else total + values
        return total


def kept(kernel: Kernel, data: Any) -> Any:
    """Examples as a model keeps them: only the columns that the kernel looks at, in its form; trees without others."""
    if isinstance(data, Bank):
        return data.compact()
    if isinstance(data, Bags):
        return Bags(kept(kernel, data.members), data.start)
    if not isinstance(data, Table):
        return data
    columns: dict[str | int, Any] = {}
    for inner in _kernels(kernel):
        if isinstance(inner, On):
            if len(inner.names) > 1:  # numbers, which take no more room as they were given
                columns |= {name: data.column(name) for name in inner.names}
                continue
            made, name = inner._part(data), inner.names[0]
            if columns.setdefault(name, made) is not made:  # two kernels need two forms
                columns[name] = data.column(name)
    return Table({name: kept(kernel, column) for name, column in columns.items()})


def _kernels(kernel: Kernel) -> Iterator[Kernel]:
    """A kernel and those inside it, but not those on a column of a column."""
    yield kernel
    if not isinstance(kernel, On):
        for value in kernel.get_params(deep=False).values():
            if isinstance(value, Kernel):
                yield from _kernels(value)
