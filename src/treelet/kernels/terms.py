"""The terms of a kernel: a sum of kernels on columns, each with the kernels by whose self-values it is normalized.

Compressed models, products without the matrix, and fragments all work on these terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from treelet.kernels.algebra import Normalized, Scale, Sum
from treelet.kernels.base import Kernel
from treelet.kernels.on import On
from treelet.kernels.pairwise import Vector
from treelet.kernels.store import StoreKernel
from treelet.kernels.vector import Linear
from treelet.structures.table import Table


def collapses(kernel: Kernel) -> bool:
    """Return whether examples can be merged into one weighted graph of distinct parts for this kernel."""
    return isinstance(kernel, StoreKernel) and kernel.collapses


@dataclass(frozen=True)
class ColumnKernel:
    """A kernel with the path of column names to its data, the outermost first."""

    kernel: Kernel
    path: tuple[Any, ...] = ()

    @property
    def column(self) -> Any:
        """The name of the column, a tuple of several names, or None without a path."""
        return None if not self.path else self.path[0] if len(self.path) == 1 else self.path

    def below(self, column: Any) -> ColumnKernel:
        """Return the same kernel on a column of a column."""
        return replace(self, path=(column, *self.path))

    def data(self, X: Any) -> Any:
        """Return the data in the kernel's form. A `Table` caches the result."""
        if not self.path:
            return self.kernel.coerce(X)
        *outer, name = self.path
        for column in outer:
            X = Table.from_any(X).column(column if isinstance(column, str | int) else tuple(column))
        return On(name, self.kernel)._part(X)


@dataclass(frozen=True)
class KernelTerm:
    """A summand of a kernel: ``factor * K(x, y) / prod sqrt(N(x, x) N(y, y))``.

    K is the kernel `inner`, and the product runs over the kernels N in `roots`.
    """

    factor: float
    inner: ColumnKernel
    roots: tuple[ColumnKernel, ...] = ()


def linear_parts(kernel: Kernel, *, vectors: bool = False) -> list[KernelTerm]:
    """Split a kernel into the terms of a sum.

    Sums, multiples, columns and normalizations are expanded. All other kernels are terms.

    Parameters
    ----------
    kernel : Kernel
    vectors : bool, default False
        Also expand a normalization around `Linear` alone. Models keep it as one term.

    Returns
    -------
    list of KernelTerm

    Examples
    --------
    >>> from treelet import PartialTree, SubsetTree
    >>> [(kernel_term.factor, kernel_term.inner.kernel) for kernel_term in linear_parts(0.5 * (SubsetTree() + 2 * PartialTree()))]
    [(0.5, SubsetTree(lam=0.4)), (1.0, PartialTree(lam=0.4, mu=0.4))]
    """
    if isinstance(kernel, Sum):
        return [kernel_term for inner in kernel._parts() for kernel_term in linear_parts(inner, vectors=vectors)]
    if isinstance(kernel, Scale):
        return [
            replace(kernel_term, factor=kernel_term.factor * float(kernel.factor))
            for kernel_term in linear_parts(kernel.kernel, vectors=vectors)
        ]
    if isinstance(kernel, Normalized):
        inner = linear_parts(kernel.kernel, vectors=vectors)
        kernels = [kernel_term.inner.kernel for kernel_term in inner]
        if any(collapses(part) or (vectors and isinstance(part, Linear)) for part in kernels):
            return [
                replace(kernel_term, roots=(*kernel_term.roots, ColumnKernel(kernel.kernel))) for kernel_term in inner
            ]
    if isinstance(kernel, On):
        return [
            replace(
                kernel_term,
                inner=kernel_term.inner.below(kernel.column),
                roots=tuple(root.below(kernel.column) for root in kernel_term.roots),
            )
            for kernel_term in linear_parts(kernel.kernel, vectors=vectors)
        ]
    return [KernelTerm(1.0, ColumnKernel(kernel))]


class Roots:
    """Cache of the logarithms of square roots of self-values, per kernel."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self._known: list[tuple[ColumnKernel, Vector]] = []

    def logs(self, roots: Sequence[ColumnKernel]) -> Vector | None:
        """Return the sum of log sqrt N(x, x) over the roots N, -inf if one is 0.

        None if there are no roots.
        """
        total: Vector | None = None
        for root in roots:
            known = [values for column_kernel, values in self._known if column_kernel == root]
            values = known[0] if known else 0.5 * root.kernel.self_values(root.data(self.X), logs=True)
            if not known:
                self._known.append((root, values))
            total = values if total is None else total + values
        return total
