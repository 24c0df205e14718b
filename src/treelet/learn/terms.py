"""A kernel as a sum of terms, and the terms of a model, which replace the support examples under each of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.kernels.base import Kernel
from treelet.kernels.on import is_column
from treelet.kernels.pairwise import Matrix, Vector
from treelet.kernels.store import StoreKernel
from treelet.learn.encoding import packed_weights, register, unpacked_weights
from treelet.structures.bank import Bank

if TYPE_CHECKING:
    from treelet.device.launching import Device
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from treelet.kernels.algebra import Scale, Sum
from treelet.kernels.bag import Bags
from treelet.kernels.on import On
from treelet.kernels.wrapped import Normalized
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
    """A kernel as a sum of terms: through sums, multiples, columns and normalizations, down to what is none of these.

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


BAND = 64  # powers of 2 in a band of weights
Graph = Bank[Any]
STRIP = 1 << 23  # cells of a kernel matrix that a sum over support examples holds at once


class Term(ABC):
    """The share of the scores of one term of the kernel: a weighted sum over what is left of the support examples.

    Where that term is normalized the weights are divided by the support examples' roots, and multiplied by exp(`shift`).
    It `needs_scaling` if those roots are too large for plain arithmetic.
    """

    def __init__(self, kernel_term: KernelTerm, shift: float, needs_scaling: bool) -> None:
        self.kernel_term, self.shift, self.needs_scaling = kernel_term, shift, needs_scaling

    @abstractmethod
    def plain(self, data: Any, out: Matrix, device: Device | None = None) -> None:
        """Add the scores to ``out``; values that do not fit a float64 become inf or NaN. A device may compute them."""

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
    """A constant kernel's share: one number an output."""

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
    """Any kernel's share: the support examples themselves, and their coefficients.

    Parameters
    ----------
    examples : collection
        As the term's kernel coerces them.
    coefficients : ndarray of shape (outputs, examples)
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
        height = max(1, STRIP // m)
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
            raise ValueError(f"{len(examples)} support examples, {coefficients.shape[1]} coefficients")
        return cls(kernel_term, shift, needs_scaling, examples, coefficients)


@register
class GraphTerm(Term):
    """A convolution kernel's share: one weighted graph of distinct parts (Collins & Duffy 2001, section 5).

    Parameters
    ----------
    graph : Bank
        The distinct support examples; equal parts are one node.
    at_roots : NodeWeights, output x example
        Their coefficients. A part's weight is that of the examples it is in, as often as it is.
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
        """Make now what is kept, before threads share it."""
        if self.needs_scaling:
            return
        if device is None or not self._kernel.can_be_on_device():
            self.native()
        else:
            self.on(device)

    def copied_kernels(self, device: Device | None) -> list[Any]:
        return [] if device is None or self._kernel.can_be_on_device() else [self._kernel]

    def on(self, device: Device) -> Any:
        """The kernel bound to the graph, on a device."""
        if device.name not in self._there:
            self._there[device.name] = self._kernel.on_device(device, self.graph.columns.store, self._weights())
        return self._there[device.name]

    def native(self) -> Any:
        """The kernel bound to the graph."""
        if self._plain is None:
            self._plain = self._bound(self._weights(), False)
        return self._plain

    def scaled_native(self) -> tuple[Any, Vector]:
        """The kernel bound to the graph in scaled arithmetic, and the logarithm of each band's unit.

        Results are logarithms, which have no sign, and weights of all sizes have to be near 1 to be scaled right: so
        the positive and the negative ones, and those of one size, are columns of their own.
        """
        if self._scaled is None:
            import scipy.sparse as sp

            weights = self._weights()
            start, node, weight = weights.start, weights.node, weights.weight
            band = np.frexp(weight)[1] // BAND
            bands, number = np.unique(band, return_inverse=True)
            output = np.repeat(np.arange(self.outputs), np.diff(start))
            row = (2 * number + (weight < 0)) * self.outputs + output
            shape = (2 * self.outputs * len(bands), len(self.graph.columns.store))
            rows = sp.csr_array((np.ldexp(np.abs(weight), -BAND * band), (row, node)), shape=shape)
            self._scaled = self._bound(node_weights(rows), True), bands * BAND * math.log(2)
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
            index, there = self.on(device), device.xp.zeros((len(data), self.outputs))
            index.rows(index.bind(data.columns.store, data.weights()), None, 0, len(data), there)
            out += device.to_host(there)
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
            raise ValueError("a graph term needs a kernel that collapses, and a graph of what it compares")
        at_roots = unpacked_weights(state["at_roots"], len(graph))
        if len(graph) and graph.columns.roots.min() < 0:
            raise ValueError("a graph has no missing examples")
        return cls(kernel_term, shift, needs_scaling, graph, at_roots)


def node_weights(rows: Any) -> _core.NodeWeights:
    """A sparse matrix as the native core takes it."""
    rows = rows.tocsr()
    rows.sort_indices()  # as a file will have them: sums come out the same to the last bit
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
            raise ValueError("a term needs a kernel, and names of columns")
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
        raise ValueError("coefficients are not finite numbers in the shape expected")
    return array
