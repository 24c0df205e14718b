"""The terms of a kernel that is a sum, and the corresponding terms of a model."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.kernels.algebra import Normalized, Scale, Sum
from treelet.kernels.bag import Bags
from treelet.kernels.base import Kernel
from treelet.kernels.on import On, is_column
from treelet.kernels.pairwise import Matrix, Vector
from treelet.kernels.store import StoreKernel
from treelet.kernels.vector import Linear
from treelet.learn.encoding import packed_weights, register, unpacked_weights
from treelet.structures.bank import Bank
from treelet.structures.table import Table

if TYPE_CHECKING:
    from treelet.device.launching import Device

Path = tuple[Any, ...]


def collapses(kernel: Kernel) -> bool:
    """Return whether examples can be merged into one weighted graph of distinct parts for this kernel."""
    return isinstance(kernel, StoreKernel) and kernel.collapses


def banks_in(data: Any) -> Iterator[Bank[Any]]:
    """Yield the banks of examples that a kernel has coerced: of all columns of a table, and of bags."""
    if isinstance(data, Bank):
        yield data
    elif isinstance(data, Bags):
        yield from banks_in(data.members)
    elif isinstance(data, Table):
        for form in data.forms():
            yield from banks_in(form)


@dataclass(frozen=True)
class ColumnKernel:
    """A kernel with the path of column names to its data, the outermost first."""

    kernel: Kernel
    path: Path = ()

    @property
    def column(self) -> Any:
        """The name of the column, a tuple of several names, or None without a path."""
        return None if not self.path else self.path[0] if len(self.path) == 1 else self.path

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
        return [_on_column(kernel.column, kernel_term) for kernel_term in linear_parts(kernel.kernel, vectors=vectors)]
    return [KernelTerm(1.0, ColumnKernel(kernel))]


def _on_column(column: Any, kernel_term: KernelTerm) -> KernelTerm:
    def below(inner: ColumnKernel) -> ColumnKernel:
        return replace(inner, path=(column, *inner.path))

    return replace(kernel_term, inner=below(kernel_term.inner), roots=tuple(below(root) for root in kernel_term.roots))


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


def compact_examples(kernel: Any, data: Any) -> Any:
    """Return examples reduced to the columns that the kernel uses, in its form.

    Banks share no other trees.
    """
    return _compact([kernel], data)


def _compact(kernels: Sequence[Any], data: Any) -> Any:
    """Return examples reduced to the columns that at least one of the kernels uses."""
    if isinstance(data, Bank):
        return data.compact()
    if isinstance(data, Bags):
        return Bags(_compact(kernels, data.members), data.start)
    if not isinstance(data, Table):
        return data
    columns: dict[str | int, Any] = {}
    users: dict[str | int, list[Kernel]] = {}  # the kernels that compare the values of a column
    for inner in (inner for kernel in kernels for inner in _kernels(kernel)):
        if isinstance(inner, On):
            if len(inner.names) > 1:  # Several columns contain numbers, for which no smaller form exists.
                columns |= {name: data.column(name) for name in inner.names}
                continue
            column, name = inner._part(data), inner.names[0]
            users.setdefault(name, []).append(inner.kernel)
            if columns.setdefault(name, column) is not column:  # Two kernels need different forms.
                columns[name] = data.column(name)
    return Table({name: _compact(users.get(name, []), column) for name, column in columns.items()})


def _kernels(kernel: Kernel) -> Iterator[Kernel]:
    """Yield a kernel and the kernels inside it, except those on a column of a column."""
    yield kernel
    if not isinstance(kernel, On):
        for value in kernel.get_params(deep=False).values():
            if isinstance(value, Kernel):
                yield from _kernels(value)


_BAND = 64  # width of a band of weights, in powers of 2
Graph = Bank[Any]
_STRIP = 1 << 23  # maximum number of kernel values in memory in a sum over support vectors


class Term(ABC):
    """The contribution of one term of the kernel to the scores: a weighted sum over merged support vectors.

    If the term is normalized, the weights are divided by the roots of the support vectors and
    multiplied by exp(`shift`). The term `needs_scaling` if these roots are too large for plain
    arithmetic.
    """

    def __init__(self, kernel_term: KernelTerm, shift: float, needs_scaling: bool) -> None:
        self.kernel_term, self.shift, self.needs_scaling = kernel_term, shift, needs_scaling

    @abstractmethod
    def plain(self, data: Any, out: Matrix, device: Device | None = None) -> None:
        """Add the scores to ``out``, on a device if one is given.

        Values that do not fit become inf or NaN.
        """

    def copied_kernels(self, device: Device | None) -> list[Any]:
        """Return the kernels whose values the CPU computes and copies to the device."""
        return []

    def scaled(self, data: Any, log_roots: Vector, out: Matrix) -> None:
        """Add the scores divided by exp(`log_roots`) to ``out``, in arithmetic that does not overflow."""
        raw = np.zeros_like(out)
        self.plain(data, raw)
        out += raw * np.exp(-log_roots)[:, None]


@register
class ConstantTerm(Term):
    """The term of a constant kernel: one number per output."""

    def __init__(self, kernel_term: KernelTerm, shift: float, needs_scaling: bool, totals: Vector) -> None:
        super().__init__(kernel_term, shift, needs_scaling)
        self.totals = totals

    def plain(self, data: Any, out: Matrix, device: Device | None = None) -> None:
        out += self.totals

    def _to_state(self) -> dict[str, Any]:
        return {**_term_state(self), "totals": self.totals}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> ConstantTerm:
        return cls(*_state_term(state), _floats(state["totals"], 1))


@register
class SupportSum(Term):
    """The term of any other kernel: the support vectors and their coefficients.

    Parameters
    ----------
    examples : collection
        The support vectors, in the form of the term's kernel.
    coefficients : ndarray of shape (outputs, examples)
        Their coefficients.
    """

    def __init__(
        self, kernel_term: KernelTerm, shift: float, needs_scaling: bool, examples: Any, coefficients: Matrix
    ) -> None:
        super().__init__(kernel_term, shift, needs_scaling)
        self.examples, self.coefficients = examples, coefficients

    def plain(self, data: Any, out: Matrix, device: Device | None = None) -> None:
        if device is None:
            for begin, end, values in self._strips(data, logs=False):
                out[begin:end] += values @ self.coefficients.T
            return
        coefficients = device.array(self.coefficients)
        for begin, end, values in self._strips(data, False, device):
            out[begin:end] += device.to_host(values @ coefficients.T)

    def copied_kernels(self, device: Device | None) -> list[Any]:
        return (
            []
            if device is None
            else self.kernel_term.inner.kernel.evaluator(self.examples[:8]).on(device).copied_kernels()
        )

    def scaled(self, data: Any, log_roots: Vector, out: Matrix) -> None:
        if isinstance(self.kernel_term.inner.kernel, Linear):
            # The support vectors of Linear are summed to one vector, whose products may be negative.
            super().scaled(data, log_roots, out)
            return
        with np.errstate(divide="ignore"):
            size = np.log(np.abs(self.coefficients))
        sign = np.sign(self.coefficients)
        for begin, end, values in self._strips(data, logs=True):
            for output in range(len(sign)):
                terms = np.exp(values + size[output] - log_roots[begin:end, None])
                out[begin:end, output] += terms @ sign[output]

    def _strips(self, data: Any, logs: bool, device: Device | None = None) -> Any:
        n, m = len(data), len(self.examples)
        if n == 0 or m == 0:
            return
        evaluator = self.kernel_term.inner.kernel.evaluator(data, self.examples, logs=logs)
        if device is not None:
            evaluator = evaluator.on(device)
        height = max(1, _STRIP // m)
        for begin in range(0, n, height):
            end = min(n, begin + height)
            values = (np if device is None else device.xp).zeros((end - begin, m))
            evaluator.fill(begin, end, values, False)
            yield begin, end, values

    def _to_state(self) -> dict[str, Any]:
        return {**_term_state(self), "examples": self.examples, "coefficients": self.coefficients}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> SupportSum:
        kernel_term, shift, needs_scaling = _state_term(state)
        coefficients = _floats(state["coefficients"], 2)
        examples = kernel_term.inner.kernel.coerce(state["examples"])
        if len(examples) != coefficients.shape[1]:
            raise ValueError(f"there are {len(examples)} support vectors, but {coefficients.shape[1]} coefficients")
        return cls(kernel_term, shift, needs_scaling, examples, coefficients)


@register
class GraphTerm(Term):
    """The term of a convolution kernel: one weighted graph of distinct parts (Collins & Duffy 2001, section 5).

    Parameters
    ----------
    graph : Bank
        The distinct support vectors. Equal parts are one node.
    at_roots : NodeWeights, outputs x examples
        Their coefficients. The weight of a part is the sum of the coefficients of its occurrences.
    """

    def __init__(
        self, kernel_term: KernelTerm, shift: float, needs_scaling: bool, graph: Graph, at_roots: _core.NodeWeights
    ) -> None:
        super().__init__(kernel_term, shift, needs_scaling)
        self.graph, self.at_roots = graph, at_roots
        self._plain: Any = None
        self._scaled: tuple[Any, Vector] | None = None
        self._there: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        weights = self.at_roots
        arrays = weights.start, weights.node, weights.weight
        return {**self.__dict__, "at_roots": arrays, "_plain": None, "_scaled": None, "_there": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= {"_there": {}, **state, "at_roots": _core.NodeWeights.of(*state["at_roots"])}

    @property
    def outputs(self) -> int:
        return len(self.at_roots)

    def ready(self, device: Device | None) -> None:
        """Compute the cached data before several threads need it."""
        if self.needs_scaling:
            return
        if device is None or not self._kernel.can_be_on_device():
            self.native()
        else:
            self.on(device)

    def copied_kernels(self, device: Device | None) -> list[Any]:
        return [] if device is None or self._kernel.can_be_on_device() else [self._kernel]

    def on(self, device: Device) -> Any:
        """Return the kernel bound to the graph on a device."""
        if device.name not in self._there:
            self._there[device.name] = self._kernel.on_device(device, self.graph.columns.store, self._weights())
        return self._there[device.name]

    def native(self) -> Any:
        """Return the kernel bound to the graph."""
        if self._plain is None:
            self._plain = self._bound(self._weights(), False)
        return self._plain

    def scaled_native(self) -> tuple[Any, Vector]:
        """Return the kernel bound to the graph in scaled arithmetic, and the logarithm of the unit of each band.

        The results are logarithms, which have no sign, and scaling needs weights near 1. Weights
        are therefore divided into columns by sign and by magnitude.
        """
        if self._scaled is None:
            import scipy.sparse as sp

            weights = self._weights()
            start, node, weight = weights.start, weights.node, weights.weight
            band = np.frexp(weight)[1] // _BAND
            bands, number = np.unique(band, return_inverse=True)
            output = np.repeat(np.arange(self.outputs), np.diff(start))
            row = (2 * number + (weight < 0)) * self.outputs + output
            shape = (2 * self.outputs * len(bands), len(self.graph.columns.store))
            rows = sp.csr_array((np.ldexp(np.abs(weight), -_BAND * band), (row, node)), shape=shape)
            self._scaled = self._bound(node_weights(rows), True), bands * _BAND * math.log(2)
        return self._scaled

    def _weights(self) -> _core.NodeWeights:
        return _core.NodeWeights.spread(*self.graph.columns, self.at_roots)

    @property
    def _kernel(self) -> StoreKernel:
        return cast(StoreKernel, self.kernel_term.inner.kernel)

    def _bound(self, weights: _core.NodeWeights, scaled: bool) -> Any:
        return self._kernel.native(self.graph.columns.store, weights, scaled)

    def plain(self, data: Graph, out: Matrix, device: Device | None = None) -> None:
        if device is not None and self._kernel.can_be_on_device():
            index, on_device = self.on(device), device.xp.zeros((len(data), self.outputs))
            index.rows(index.bind(data.columns.store, data.weights()), None, 0, len(data), on_device)
            out += device.to_host(on_device)
            return
        values = np.empty((len(data), self.outputs))
        self.native().rows(data.columns.store, data.weights(), None, 0, len(data), values)
        out += values

    def scaled(self, data: Graph, log_roots: Vector, out: Matrix) -> None:
        native, units = self.scaled_native()
        values = np.empty((len(data), 2 * self.outputs * len(units)))
        native.rows(data.columns.store, data.weights(), None, 0, len(data), values)
        values += np.repeat(units, 2 * self.outputs) - log_roots[:, None]
        np.exp(values, out=values)
        both = values.reshape(len(data), len(units), 2, self.outputs).sum(axis=1)
        out += both[:, 0] - both[:, 1]

    def _to_state(self) -> dict[str, Any]:
        return {**_term_state(self), "graph": self.graph, "at_roots": packed_weights(self.at_roots, len(self.graph))}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> GraphTerm:
        kernel_term, shift, needs_scaling = _state_term(state)
        graph = state["graph"]
        kernel = kernel_term.inner.kernel
        if not collapses(kernel) or type(graph) is not cast(StoreKernel, kernel).bank:
            raise ValueError("a graph term needs a convolution kernel and a graph of matching type")
        at_roots = unpacked_weights(state["at_roots"], len(graph))
        if len(graph) and graph.columns.roots.min() < 0:
            raise ValueError("a graph must not contain missing examples")
        return cls(kernel_term, shift, needs_scaling, graph, at_roots)


def node_weights(rows: Any) -> _core.NodeWeights:
    """Convert a sparse matrix to the form of the native core."""
    rows = rows.tocsr()
    rows.sort_indices()  # Same order as in a file, so that sums are equal to the last bit.
    start, node = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
    return _core.NodeWeights.of(start, node, np.ascontiguousarray(rows.data, dtype=float))


# --- saving a term ------------------------------------------------------------------------------------------------


def _term_state(term: Term) -> dict[str, Any]:
    def pair(inner: ColumnKernel) -> list[Any]:
        return [inner.kernel, list(inner.path)]

    return {
        "place": pair(term.kernel_term.inner),
        "roots": [pair(root) for root in term.kernel_term.roots],
        "shift": float(term.shift),
        "needs_scaling": term.needs_scaling,
    }


def _state_term(state: dict[str, Any]) -> tuple[KernelTerm, float, bool]:
    def column_kernel(pair: Any) -> ColumnKernel:
        kernel, path = pair
        if not isinstance(kernel, Kernel) or not all(is_column(name) for name in path):
            raise ValueError("a term needs a kernel and a list of column names")
        return ColumnKernel(kernel, tuple(path))

    shift, needs_scaling = state["shift"], state["needs_scaling"]
    if not isinstance(shift, float) or not math.isfinite(shift) or not isinstance(needs_scaling, bool):
        raise ValueError("a term needs a finite shift")
    return (
        KernelTerm(1.0, column_kernel(state["place"]), tuple(map(column_kernel, state["roots"]))),
        shift,
        needs_scaling,
    )


def _floats(values: Any, dimensions: int) -> NDArray[np.float64]:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.ndim != dimensions or not np.isfinite(array).all():
        raise ValueError("the coefficients are not finite numbers of the expected shape")
    return array
