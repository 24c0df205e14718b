"""A kernel taken apart into the terms of its sum, and the data that each of them works on."""

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
class ColumnKernel:
    """A kernel, and the names of the columns that lead to the data that it works on, the outermost first."""

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
class KernelTerm:
    """A term of a kernel that is a sum: ``factor * K(x, y) / prod sqrt(N(x, x) N(y, y))``, K `inner`, over the `roots` N."""

    factor: float
    inner: ColumnKernel
    roots: tuple[ColumnKernel, ...] = ()


def linear_parts(kernel: Kernel) -> list[KernelTerm]:
    """A kernel as a sum of terms: through sums, multiples, columns and normalisations, down to what is none of these.

    >>> from treelet import PartialTree, SubsetTree
    >>> [(kernel_term.factor, kernel_term.inner.kernel) for kernel_term in linear_parts(0.5 * (SubsetTree() + 2 * PartialTree()))]
    [(0.5, SubsetTree(lam=0.4)), (1.0, PartialTree(lam=0.4, mu=0.4))]
    """
    if isinstance(kernel, Sum):
        return [kernel_term for inner in kernel._parts() for kernel_term in linear_parts(inner)]
    if isinstance(kernel, Scale):
        return [
            replace(kernel_term, factor=kernel_term.factor * float(kernel.factor))
            for kernel_term in linear_parts(kernel.kernel)
        ]
    if isinstance(kernel, Normalized):
        inner = linear_parts(kernel.kernel)
        if any(collapses(kernel_term.inner.kernel) for kernel_term in inner):
            return [
                replace(kernel_term, roots=(*kernel_term.roots, ColumnKernel(kernel.kernel))) for kernel_term in inner
            ]
    if isinstance(kernel, On):
        return [_on_column(kernel.column, kernel_term) for kernel_term in linear_parts(kernel.kernel)]
    return [KernelTerm(1.0, ColumnKernel(kernel))]


def _on_column(column: Any, kernel_term: KernelTerm) -> KernelTerm:
    def below(inner: ColumnKernel) -> ColumnKernel:
        return replace(inner, path=(column, *inner.path))

    return replace(kernel_term, inner=below(kernel_term.inner), roots=tuple(below(root) for root in kernel_term.roots))


class Roots:
    """Logarithms of the roots of self-values, each kernel's computed once."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self._known: list[tuple[ColumnKernel, Vector]] = []

    def logs(self, roots: Sequence[ColumnKernel]) -> Vector | None:
        """The sum of log sqrt N(x, x) over the roots N; -inf where one of them is 0. None without roots."""
        total: Vector | None = None
        for root in roots:
            known = [values for column_kernel, values in self._known if column_kernel == root]
            values = known[0] if known else 0.5 * root.kernel.self_values(root.data(self.X), logs=True)
            if not known:
                self._known.append((root, values))
            total = values if total is None else total + values
        return total


def compact_examples(kernel: Kernel, data: Any) -> Any:
    """Examples as a model keeps them: only the columns that the kernel looks at, in its form; trees without others."""
    if isinstance(data, Bank):
        return data.compact()
    if isinstance(data, Bags):
        return Bags(compact_examples(kernel, data.members), data.start)
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
    return Table({name: compact_examples(kernel, column) for name, column in columns.items()})


def _kernels(kernel: Kernel) -> Iterator[Kernel]:
    """A kernel and those inside it, but not those on a column of a column."""
    yield kernel
    if not isinstance(kernel, On):
        for value in kernel.get_params(deep=False).values():
            if isinstance(value, Kernel):
                yield from _kernels(value)
