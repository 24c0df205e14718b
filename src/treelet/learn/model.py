r"""Compressed models: the learned function without separate support vectors.

The score of a kernel machine is a sum over its support vectors, :math:`\sum_k \alpha_k K(T_k, x)`.
For tree kernels, this sum depends only on the total weight of each *distinct* subtree (Collins &
Duffy 2001, section 5). The support trees are merged into one weighted acyclic graph in which no
subtree occurs twice. The time to score a tree grows with the number of matching node pairs between
the tree and the graph, regardless of the number of support vectors.
"""

from __future__ import annotations

import copy
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import article, plural
from treelet.errors import InputTypeError, KernelOverflowError, ParameterError, TreeletWarning, user_level
from treelet.formats.base import Columns
from treelet.kernels.algebra import Constant
from treelet.kernels.bag import Bags
from treelet.kernels.base import Kernel
from treelet.kernels.crossed import Crossed
from treelet.kernels.on import On
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Pairwise, Vector
from treelet.kernels.store import StoreKernel
from treelet.kernels.terms import ColumnKernel, KernelTerm, Roots, collapses, linear_parts
from treelet.kernels.values import LARGE
from treelet.kernels.vector import Linear
from treelet.learn.persist import register
from treelet.matrices.executors import Executor, ThreadExecutor, executor_for
from treelet.matrices.tiles import Job
from treelet.printable import shortened
from treelet.resources import PLAIN, Resources
from treelet.structures.bank import Bank
from treelet.structures.table import Table
from treelet.structures.treebank import Treebank
from treelet.structures.vectors import Vectors
from treelet.work import Advance, progress_bar, run

if TYPE_CHECKING:
    from treelet.device.launching import Device

# --- the banks of examples --------------------------------------------------------------------------------------------


def banks_in(data: Any) -> Iterator[Bank[Any]]:
    """Yield the banks of examples that a kernel has coerced: of all columns of a table, and of bags."""
    if isinstance(data, Bank):
        yield data
    elif isinstance(data, Bags):
        yield from banks_in(data.members)
    elif isinstance(data, Table):
        for form in data.forms():
            yield from banks_in(form)


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
    if isinstance(kernel, Crossed):
        yield from kernel.sides()
    elif not isinstance(kernel, On):
        for value in kernel.get_params(deep=False).values():
            if isinstance(value, Kernel):
                yield from _kernels(value)


_BAND = 64  # width of a band of weights, in powers of 2
Graph = Bank[Any]
_Path = tuple[Any, ...]  # column names, the outermost first
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

    @abstractmethod
    def leveled(self) -> Term:
        """Return a term in which all support vectors have the same weight; a constant has none."""

    def copied_kernels(self, device: Device | None) -> list[Any]:
        """Return the kernels whose values the CPU computes and copies to the device."""
        return []

    def scaled(self, data: Any, log_roots: Vector, out: Matrix) -> None:
        """Add the scores divided by exp(`log_roots`) to ``out``, in arithmetic that does not overflow."""
        raw = np.zeros_like(out)
        self.plain(data, raw)
        out += raw * np.exp(-log_roots)[:, None]


@register
class _ConstantTerm(Term):
    """The term of a constant kernel: one number per output."""

    def __init__(self, kernel_term: KernelTerm, shift: float, needs_scaling: bool, totals: Vector) -> None:
        super().__init__(kernel_term, shift, needs_scaling)
        self.totals = totals

    def plain(self, data: Any, out: Matrix, device: Device | None = None) -> None:
        out += self.totals

    def leveled(self) -> Term:
        return _ConstantTerm(self.kernel_term, self.shift, self.needs_scaling, np.zeros_like(self.totals))

    def _to_state(self) -> dict[str, Any]:
        return {**_term_state(self), "totals": self.totals}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> _ConstantTerm:
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

    def leveled(self) -> Term:
        level = np.full_like(self.coefficients, np.abs(self.coefficients).max(initial=0) or 1.0)
        return SupportSum(self.kernel_term, self.shift, self.needs_scaling, self.examples, level)

    def copied_kernels(self, device: Device | None) -> list[Any]:
        if device is None:
            return []
        return self.kernel_term.inner.kernel.evaluator(self.examples[:8]).on(device).copied_kernels()

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

    def leveled(self) -> Term:
        n, level = len(self.graph), np.abs(self.at_roots.weight).max(initial=0) or 1.0
        node = np.tile(np.arange(n, dtype=np.int32), self.outputs)
        weights = _core.NodeWeights.of(np.arange(self.outputs + 1, dtype=np.int64) * n, node, np.full(len(node), level))
        return GraphTerm(self.kernel_term, self.shift, self.needs_scaling, self.graph, weights)

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
            self._plain = self._kernel.native(self.graph.columns.store, self._weights(), False)
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
            bound = self._kernel.native(self.graph.columns.store, _node_weights(rows), True)
            self._scaled = bound, bands * _BAND * math.log(2)
        return self._scaled

    def _weights(self) -> _core.NodeWeights:
        return _core.NodeWeights.spread(*self.graph.columns, self.at_roots)

    def mixed_weights(self, mixes: Matrix) -> _core.NodeWeights:
        """Return the weights of the distinct subtrees, one row per weighted sum of outputs in `mixes`."""
        import scipy.sparse as sp  # not at the top: predictions need no SciPy

        roots = self.at_roots
        rows = sp.csr_array((roots.weight, roots.node, roots.start), shape=(len(roots), len(self.graph)))
        mixed = sp.csr_array(sp.csr_array(mixes) @ rows)
        mixed.eliminate_zeros()
        return _core.NodeWeights.spread(*self.graph.columns, _node_weights(mixed))

    @property
    def _kernel(self) -> StoreKernel:
        return cast(StoreKernel, self.kernel_term.inner.kernel)

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
        return {**_term_state(self), "graph": self.graph, "at_roots": _packed_weights(self.at_roots, len(self.graph))}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> GraphTerm:
        kernel_term, shift, needs_scaling = _state_term(state)
        graph = state["graph"]
        kernel = kernel_term.inner.kernel
        if not collapses(kernel) or type(graph) is not cast(StoreKernel, kernel).bank:
            raise ValueError("a graph term needs a convolution kernel and a graph of matching type")
        at_roots = _unpacked_weights(state["at_roots"], len(graph))
        if len(graph) and graph.columns.roots.min() < 0:
            raise ValueError("a graph must not contain missing examples")
        return cls(kernel_term, shift, needs_scaling, graph, at_roots)


def _node_weights(rows: Any) -> _core.NodeWeights:
    """Convert a sparse matrix to the form of the native core."""
    rows = rows.tocsr()
    rows.sort_indices()  # Same order as in a file, so that sums are equal to the last bit.
    start, node = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
    return _core.NodeWeights.of(start, node, np.ascontiguousarray(rows.data, dtype=float))


# --- saving a term ----------------------------------------------------------------------------------------------------


def _term_state(term: Term) -> dict[str, Any]:
    place, *roots = ([inner.kernel, list(inner.path)] for inner in (term.kernel_term.inner, *term.kernel_term.roots))
    return {"place": place, "roots": roots, "shift": float(term.shift), "needs_scaling": term.needs_scaling}


def _state_term(state: dict[str, Any]) -> tuple[KernelTerm, float, bool]:
    def column_kernel(pair: Any) -> ColumnKernel:
        kernel, path = pair
        if not isinstance(kernel, Kernel) or not all(On.is_column(name) for name in path):
            raise ValueError("a term needs a kernel and a list of column names")
        return ColumnKernel(kernel, tuple(path))

    shift, needs_scaling = state["shift"], state["needs_scaling"]
    if not isinstance(shift, float) or not math.isfinite(shift) or not isinstance(needs_scaling, bool):
        raise ValueError("a term needs a finite shift")
    place, roots = column_kernel(state["place"]), tuple(map(column_kernel, state["roots"]))
    return KernelTerm(1.0, place, roots), shift, needs_scaling


def _floats(values: Any, dimensions: int) -> NDArray[np.float64]:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.ndim != dimensions or not np.isfinite(array).all():
        raise ValueError("the coefficients are not finite numbers of the expected shape")
    return array


# --- weights as small arrays ------------------------------------------------------------------------------------------


def _packed_weights(weights: _core.NodeWeights, columns: int) -> dict[str, NDArray[Any]]:
    """Return rows of weights as arrays, dense or sparse, whichever is smaller."""
    if 8 * len(weights) * columns <= 12 * len(weights.node):
        full = np.zeros((len(weights), columns))
        full[np.repeat(np.arange(len(weights)), np.diff(weights.start)), weights.node] = weights.weight
        return {"full": full}
    column = weights.node.astype(np.min_scalar_type(int(weights.node.max(initial=0))))
    return {"start": weights.start, "column": column, "weight": weights.weight}


def _unpacked_weights(state: Any, columns: int) -> _core.NodeWeights:
    """Restore the weights from the arrays of `_packed_weights`."""
    if "full" in state:
        full = state["full"]
        if full.dtype != np.float64 or full.ndim != 2 or full.shape[1] != columns:
            raise ValueError("weights and examples do not match")
        row, column = np.nonzero(full)
        start, weight = np.searchsorted(row, np.arange(len(full) + 1)), full[row, column]
    else:
        start, column, weight = state["start"], state["column"], state["weight"]
        if (
            column.dtype.kind != "u"
            or column.dtype.itemsize > 4
            or column.ndim != 1
            or start.dtype != np.int64
            or start.ndim != 1
            or weight.dtype != np.float64
            or weight.ndim != 1
            or not len(start)
        ):
            raise ValueError("weights have the wrong type")
        column = column.astype(np.int64)
        later = np.ones(len(column), bool)
        later[start[:-1][np.diff(start) > 0] % max(1, len(column))] = False  # the first entry of each row
        if column.max(initial=-1) >= columns or (np.diff(column)[later[1:]] <= 0).any():
            raise ValueError("weights are out of order, or belong to examples that do not exist")
    if not np.isfinite(weight).all():
        raise ValueError("weights are not finite")
    columns_32 = np.ascontiguousarray(column, np.int32)
    return _core.NodeWeights.of(np.ascontiguousarray(start, np.int64), columns_32, np.ascontiguousarray(weight))


# --- compressed models: the learned function without separate support vectors -----------------------------------------

ROOT_LARGE = LARGE / 2  # limit for the logarithm of a root
_STEP = 200  # examples between two updates of the progress bar
_PIECES = 10  # updates of the progress bar on a device


def warn_if_unrelated(model: CompressedModel, X: Any, values: Matrix) -> None:
    """Warn of examples whose values are all 0, because they all get the same prediction.

    Missing examples do not count here; see `warn_if_missing`.
    """
    rows = np.flatnonzero(~values.any(axis=1))
    if not len(rows):
        return
    examples = model.kernel.coerce(X)[rows]
    if rows_with_parts := np.count_nonzero(model.kernel.self_values(examples)):
        # Weights may cancel, so the fragments are those of a model in which all support vectors have the same weight.
        leveled = copy.copy(model)
        leveled.terms = [term.leveled() for term in model.terms]
        rows_with_parts -= np.count_nonzero(leveled.score(examples).any(axis=1))
    unrelated = max(0, rows_with_parts)
    if unrelated:
        noun = "tree" if isinstance(examples, Treebank) else "example"
        verb, same, came, was = "have", "they all get the same prediction", "they come", "were"
        if unrelated == 1:
            verb, same, came, was = "has", f"its prediction does not depend on the {noun}", "it comes", "was"
        warnings.warn(
            f"{unrelated:,} of {plural(len(values), 'example')} {verb} no fragment in common with the model, so {same}. "
            f"Check that {came} from the same parser as the training data and {was} read with the same options."
            f"{_compared_labels(model, examples)}",
            TreeletWarning,
            stacklevel=user_level(),
        )


def warn_if_missing(kernel: Kernel, X: Any, values: NDArray[Any]) -> None:
    """Warn of missing and empty trees, among examples whose values are all 0, because they all get the same prediction.

    Vectors of zeros and empty bags are ordinary examples.
    """
    rows = np.flatnonzero(~values.any(axis=1))
    if not len(rows) or isinstance(X, Bags) or next(banks_in(X), None) is None:
        return
    missing = len(rows) - np.count_nonzero(kernel.self_values(X[rows]))
    if missing:
        be, it = ("is", "it") if missing == 1 else ("are", "them")
        warnings.warn(
            f"{missing:,} of {plural(len(values), 'example')} {be} missing or empty, so the model knows nothing about {it}: "
            f"all such examples get the same prediction. Leave {it} out, or check how the examples were read.",
            TreeletWarning,
            stacklevel=user_level(),
        )


def _compared_labels(model: CompressedModel, examples: Any) -> str:
    """Return the most frequent labels of the model's trees and of other trees, if they differ, for a message."""

    def frequent_labels(bank: Treebank) -> list[str]:
        weights, store = bank.weights(), bank.columns.store
        inner = store.production[weights.node] >= 0  # nodes with children
        counts = np.bincount(store.label[weights.node[inner]], weights.weight[inner], len(store.labels))
        order = np.argsort(-counts, kind="stable")[:3]
        return [store.labels[number] for number in order if counts[number] > 0]

    def names(labels: list[str]) -> str:  # Labels may come from a stranger: long and unprintable ones are quoted.
        return ", ".join(label if label.isprintable() and len(label) <= 20 else shortened(label) for label in labels)

    for term in model.terms:
        if isinstance(term, GraphTerm) and isinstance(term.graph, Treebank):
            trained, here = (frequent_labels(bank) for bank in (term.graph, term.kernel_term.inner.data(examples)))
            if here and set(trained) != set(here):
                return f" Frequent node labels in training: {names(trained)}; here: {names(here)}."
    return ""


@dataclass(frozen=True)
class ModelStats:
    """Size of a model before and after compression.

    Attributes
    ----------
    support_examples : int
        Number of support vectors: examples with a nonzero coefficient.
    nodes : int
        Number of nodes of the support trees, including words and repeated subtrees.
    distinct_subtrees : int
        Number of distinct subtrees of the support trees, including words.
    model_bytes : int
        Size of the graph and its weights as written by `treelet.save`, including label strings.
        Only the weights of whole trees are written. The weights of their subtrees follow from them.
    support_bytes : int
        Size of the separate support trees: 4 bytes per node for its label, 4 per edge, 8 per
        nonzero coefficient, and every label string once.
    kept_examples : int
        Number of support vectors that are stored, for kernels that cannot be compressed.
    """

    support_examples: int
    nodes: int
    distinct_subtrees: int
    model_bytes: int
    support_bytes: int
    kept_examples: int

    @property
    def compression(self) -> float:
        """Size of the support trees divided by the size of the model; 1 if there are no trees."""
        return self.support_bytes / self.model_bytes if self.model_bytes else 1.0

    def __str__(self) -> str:
        kept = f", {plural(self.kept_examples, 'example')} stored" if self.kept_examples else ""
        return (
            f"{plural(self.support_examples, 'support vector')}, {plural(self.nodes, 'node')}, "
            f"{plural(self.distinct_subtrees, 'distinct subtree')}, {self.model_bytes:,} bytes instead of "
            f"{self.support_bytes:,} ({self.compression:.2f} times smaller){kept}"
        )


@register
class CompressedModel:
    r"""Linear functions in the feature space of a kernel, compressed for fast evaluation.

    A model has one function :math:`f_o(x) = \sum_k \alpha_{ok} K(T_k, x)` per output. It is created
    by fitted estimators (``model_``) and by `CompressedModel.of`. The kernel is split into its
    summands. Tree kernels, normalized or not, become weighted graphs of distinct subtrees. Other
    summands keep their support vectors.

    Attributes
    ----------
    kernel : Kernel
        The kernel of the model.
    outputs : int
        The number of functions.

    Examples
    --------
    >>> import numpy as np
    >>> from treelet import SubsetTree
    >>> from treelet.learn.model import CompressedModel
    >>> trees = ["(NP (D the) (N apple))", "(NP (D the) (N pear))"]
    >>> model = CompressedModel.of(SubsetTree(lam=1), trees, np.array([[1.0, -1.0]]))
    >>> model.score(["(NP (D an) (N apple))"])
    array([[2.]])
    """

    _fields: ClassVar[tuple[str, ...]] = ("kernel", "outputs", "terms", "support", "nodes", "loose_bytes")

    def __init__(
        self, kernel: Kernel, outputs: int, terms: Sequence[Term], *, support: int, nodes: int, loose_bytes: int
    ) -> None:
        self.kernel, self.outputs, self.terms = kernel, outputs, list(terms)
        self.support, self.nodes, self.loose_bytes = support, nodes, loose_bytes

    @classmethod
    def of(cls, kernel: Kernel, X: Any, coefficients: Any) -> CompressedModel:
        """Create a model from support vectors and their coefficients.

        Parameters
        ----------
        kernel : Kernel
            The kernel. The model uses a copy, so later changes have no effect.
        X : collection of examples
            The support vectors.
        coefficients : array or sparse matrix of shape (outputs, len(X))
            Finite coefficients. Examples with only zero coefficients are dropped.

        Returns
        -------
        CompressedModel
        """
        if not isinstance(kernel, Kernel):
            raise InputTypeError(
                f"CompressedModel.of needs a kernel as the first argument. Got {article(type(kernel).__name__)}."
            )

        kernel = copy.deepcopy(kernel)
        kernel.validate()
        outputs, terms, counts = _built(kernel, kernel.coerce(X), coefficients)
        return cls(kernel, outputs, terms, **counts)

    def score(
        self,
        X: Any,
        *,
        n_jobs: int | None = 1,
        device: str | None = None,
        device_memory: int | float | str | None = None,
        progress: bool | None = None,
    ) -> Matrix:
        """Compute the values of all functions.

        The time grows with the number of matching node pairs between each tree and the graph.

        Parameters
        ----------
        X : collection of examples
        n_jobs : int, default 1
            Number of threads. -1 uses one thread per core. Results do not depend on `n_jobs`.
        device : {"cpu", "cuda"}, optional
            Where to compute, as for `treelet.gram`. Data of the model on the device is cached.
            Default: as in `treelet.config_context`.
        device_memory : int or str, optional
            Limit for GPU memory, for example ``"10GiB"``. Default: as in `treelet.config_context`.
        progress : bool, optional
            Show a progress bar on standard error. Default: as in `treelet.config_context`.

        Returns
        -------
        ndarray of shape (len(X), outputs)
        """
        return self.score_with(X, Resources.of(n_jobs, None, device, device_memory, progress=progress, owner="score"))

    def score_with(self, X: Any, resources: Resources) -> Matrix:
        """Return the values of all functions like `score`, with validated resources."""
        executor = executor_for(resources)
        X = self.kernel.coerce(X)
        if resources.client is not None and len(X):
            return executor.host_matrix(Job(_Scores(self), X, np.arange(self.outputs)))
        return self._scored(X, executor)

    def _scored(self, X: Any, executor: Executor, first: int = 0) -> Matrix:
        """Return the values of all functions for examples whose numbers in messages begin with `first`."""
        out = np.zeros((len(X), self.outputs))
        if not len(X):
            return out
        shown = executor.resources.progress
        with progress_bar(shown, "scores", len(X) * len(self.terms)) as advance, executor.limited():
            self._add_terms(X, out, executor, advance, first)
        return out

    def _add_terms(self, X: Any, out: Matrix, executor: Executor, advance: Advance, first: int) -> None:
        """Add the scores of all terms. Examples are scored in pieces for threads and progress."""
        device = executor.device
        executor.warn_of_copies(kernel for term in self.terms for kernel in term.copied_kernels(device))
        threads = executor.resources.threads if device is None else 1
        pieces = 4 * threads if 1 < threads <= len(X) // 2 else 1
        if executor.resources.progress:
            pieces = max(pieces, len(X) // _STEP if device is None else _PIECES)
        roots = Roots(X)
        pieces = min(pieces, len(X))
        spans = list(pairwise(len(X) * number // pieces for number in range(pieces + 1)))
        joined: list[tuple[Graph, _Path, Graph]] = []
        for term in self.terms:
            data = term.kernel_term.inner.data(X)
            if len(data) != len(X):
                raise ParameterError(
                    f"A column has {plural(len(data), 'row')}, but X has {plural(len(X), 'example')}. "
                    "All columns must have the same length."
                )
            if isinstance(term, GraphTerm):
                graph, path = term.graph, term.kernel_term.inner.path
                known = [bank for other, way, bank in joined if other is graph and way == path]
                data = known[0] if known else graph.joined(data)[1]
                if not known:
                    joined.append((graph, path, data))
                data.weights()  # Compute the cached weights before several threads need them.
                term.ready(device)
            logs = roots.logs(term.kernel_term.roots)

            def work(span: tuple[int, int], term: Term = term, data: Any = data, logs: Vector | None = logs) -> int:
                begin, end = span
                whole = begin == 0 and end == len(X)
                here = None if logs is None else logs[begin:end]
                _add(term, data if whole else data[begin:end], here, first + begin, out[begin:end], device)
                return end - begin

            run(work, spans, threads, advance)

    def stats(self) -> ModelStats:
        """Return the size of the model before and after compression."""
        trees = [term for term in self.terms if isinstance(term, GraphTerm)]
        graphs = list({id(term.graph): term.graph for term in trees}.values())
        arrays = [graph.packed() for graph in graphs]
        arrays += [_packed_weights(term.at_roots, len(term.graph)) for term in trees]
        size = sum(array.nbytes for some in arrays for array in some.values())
        return ModelStats(
            support_examples=self.support,
            nodes=self.nodes,
            distinct_subtrees=sum(len(graph.columns.store) for graph in graphs),
            model_bytes=size,
            support_bytes=self.loose_bytes,
            kept_examples=max((len(term.examples) for term in self.terms if isinstance(term, SupportSum)), default=0),
        )

    def __repr__(self) -> str:
        return f"<CompressedModel of {self.kernel!r}: {plural(self.outputs, 'output')}, {self.stats()}>"

    def _to_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fields}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> CompressedModel:
        kernel, outputs, terms = state["kernel"], state["outputs"], state["terms"]
        counts = {name: state[name] for name in ("support", "nodes", "loose_bytes")}
        if not isinstance(kernel, Kernel) or not all(isinstance(term, Term) for term in terms):
            raise ValueError("a model needs a kernel and terms")
        if not all(type(count) is int and count >= 0 for count in (outputs, *counts.values())):
            raise ValueError("a count of the model is not a nonnegative integer")
        kernel_terms = [
            KernelTerm(1.0, ColumnKernel(kernel)),
            *(replace(kernel_term, factor=1.0) for kernel_term in linear_parts(kernel)),
        ]
        for term in terms:
            if term.kernel_term not in kernel_terms:  # Such a term would access data that the kernel does not define.
                raise ValueError("a term is not part of the kernel")
            if isinstance(term, GraphTerm):
                term_outputs = term.outputs
            else:
                term_outputs = len(term.totals if isinstance(term, _ConstantTerm) else term.coefficients)
            if term_outputs != outputs:
                raise ValueError(f"a term has {plural(term_outputs, 'output')}, but the model has {outputs}")
        return cls(kernel, outputs, terms, **counts)


class _Scores(Pairwise):
    """The functions of a model as a matrix of examples x outputs, whose tiles the workers of a cluster compute."""

    def __init__(self, model: CompressedModel) -> None:
        self.model = model

    def coerce(self, X: Any) -> Any:
        return X

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        return _ScoreEvaluator(self.model, X, Y)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        return Needs(0, 0)


class _ScoreEvaluator(Evaluator):
    def __init__(self, model: CompressedModel, X: Any, outputs: Any) -> None:
        self.model, self.X, self.outputs = model, X, outputs
        self.n_rows, self.n_columns = len(X), len(outputs)

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        out[...] = self.model._scored(self.X[begin:end], ThreadExecutor(PLAIN), begin)[:, self.outputs]


def _add(term: Term, data: Any, logs: Vector | None, first: int, out: Matrix, device: Device | None) -> None:
    r"""Add a term's scores of some examples to `out`; messages number the examples from `first`.

    The term's kernel is :math:`K(t, x) / (r(t) r(x))`, where r is 1 or, for a normalized kernel, a
    root of self-values. The term's coefficients :math:`c_k` include the factors of the support
    vectors :math:`t_k`, so the score is

    .. math:: \exp(-\log r(x)) \; \sum_k c_k K(t_k, x)

    `logs` contains :math:`\log r(x)` per example, or is None if r is 1. There are three cases:

    * r(x) = 0, a logarithm of :math:`-\infty`: the score is 0, and nothing is added.
    * The sum and r(x) both fit a float64: plain arithmetic, which is fast and also runs on a device.
    * The sum or r(x) alone would overflow, although the score may fit: scaled arithmetic on the
      CPU, with separate exponents. These examples are known from `logs`, or from a plain sum that
      is not finite. If the roots of a term's support vectors are large, its coefficients include
      the factor exp(shift), and the term is always computed in this way.
    """
    if logs is None:
        with np.errstate(over="ignore", invalid="ignore"):
            term.plain(data, out, device)
        _check_scores(term, out, np.arange(first, first + len(out)))
        return
    if not term.needs_scaling and (np.abs(logs) <= ROOT_LARGE).all():  # the common case: plain arithmetic for all
        scores = np.zeros(out.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            term.plain(data, scores, device)
            scores *= np.exp(-logs)[:, None]
        if np.isfinite(scores).all():
            out += scores
            return
    nonzero = np.isfinite(logs)
    scaled = nonzero & ((np.abs(logs) > ROOT_LARGE) | term.needs_scaling)
    rows = np.flatnonzero(nonzero & ~scaled)
    if len(rows):
        scores = np.zeros((len(rows), out.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            term.plain(data if len(rows) == len(logs) else data[rows], scores, device)
            scores *= np.exp(-logs[rows])[:, None]
        fits = np.isfinite(scores).all(axis=1)
        out[rows[fits]] += scores[fits]
        scaled[rows[~fits]] = True
    rows = np.flatnonzero(scaled)
    if len(rows):
        scores = np.zeros((len(rows), out.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            term.scaled(data if len(rows) == len(logs) else data[rows], logs[rows] + term.shift, scores)
        _check_scores(term, scores, first + rows)
        out[rows] += scores


def _check_scores(term: Term, scores: Matrix, examples: NDArray[np.intp]) -> None:
    """Raise KernelOverflowError, with the number of the example, if a score is not finite."""
    bad = np.flatnonzero(~np.isfinite(scores).all(axis=1))
    if len(bad):
        raise KernelOverflowError(
            f"The score of item {int(examples[bad[0]])} is too large for a float64: values of "
            f"{term.kernel_term.inner.kernel!r} grow exponentially with the size of an item. Train with a smaller lam, or "
            "with kernel.normalized(), which does not overflow."
        )


# --- building a model from support vectors and their coefficients -----------------------------------------------------

_SPREAD = 600.0  # Largest logarithm whose exponential fits a float64, with room for coefficients and counts.


def _built(kernel: Kernel, X: Any, coefficients: Any) -> tuple[int, list[Term], dict[str, int]]:
    """Return the number of outputs, the terms, and counts of the input."""
    import scipy.sparse as sp  # not at the top: predictions need no SciPy

    dense = None if sp.issparse(coefficients) else np.atleast_2d(coefficients)
    alpha = sp.csr_array(coefficients if dense is None else dense, dtype=float)
    if alpha.shape[1] != len(X):
        raise ParameterError(
            f"There are {plural(alpha.shape[1], 'coefficient')} per output for {plural(len(X), 'example')}. "
            "Pass one coefficient per example and output."
        )
    if not np.isfinite(alpha.data).all():
        raise ParameterError("The coefficients of a model must be finite numbers. Check for NaN and infinite values.")
    alpha.eliminate_zeros()
    support = np.unique(alpha.indices)
    X, alpha = X[support], alpha[:, support]
    builder = _Builder(X, alpha)
    terms = builder.terms(linear_parts(kernel))
    if terms is None:  # The self-values are too far apart for one graph.
        builder = _Builder(X, alpha)
        terms = [
            SupportSum(KernelTerm(1.0, ColumnKernel(kernel)), 0.0, False, compact_examples(kernel, X), alpha.toarray())
        ]
    counts = {"support": len(support), "nodes": builder.nodes, "loose_bytes": builder.loose_bytes}
    return int(alpha.shape[0]), terms, counts


class _Builder:
    """Builder of the terms of a model. The trees of one column share one graph."""

    def __init__(self, X: Any, alpha: Any) -> None:
        self.X, self.alpha, self.roots = X, alpha, Roots(X)
        self.nodes = self.loose_bytes = 0
        self._graphs: list[tuple[_Path, Graph, Any]] = []

    def terms(self, kernel_terms: Sequence[KernelTerm]) -> list[Term] | None:
        terms = []
        for kernel_term in kernel_terms:
            if kernel_term.factor == 0:
                continue
            term = self._term(kernel_term)
            if term is None:
                return None
            terms.append(term)
        return terms

    def _term(self, kernel_term: KernelTerm) -> Term | None:
        import scipy.sparse as sp  # not at the top: predictions need no SciPy

        shift, needs_scaling, factors = 0.0, False, np.full(len(self.X), kernel_term.factor)
        logs = self.roots.logs(kernel_term.roots)
        if logs is not None:
            finite = logs[np.isfinite(logs)]
            if len(finite) and np.abs(finite).max() > ROOT_LARGE:
                needs_scaling, shift = True, float(finite.max() + finite.min()) / 2
                if finite.max() - shift > _SPREAD:
                    return None
            factors *= np.exp(np.where(np.isfinite(logs), shift - logs, -np.inf))
        coefficients = self.alpha @ sp.diags_array(factors)
        rest = replace(kernel_term, factor=1.0)
        kernel = kernel_term.inner.kernel
        if isinstance(kernel, Constant):
            return _ConstantTerm(
                rest, shift, needs_scaling, float(kernel.value) * np.asarray(coefficients.sum(axis=1), float).ravel()
            )
        if not collapses(kernel):
            data = compact_examples(kernel, kernel_term.inner.data(self.X))
            if (
                isinstance(kernel, Linear) and len(data) > coefficients.shape[0]
            ):  # One summed vector per output suffices.
                sums = coefficients @ data.values
                if isinstance(data.values, np.ndarray):
                    sums = np.asarray(sums)
                else:  # Loaded indices are sorted too, so a model that is saved again gives the same file.
                    sums = sp.csr_array(sums)
                    sums.sort_indices()
                vectors = Vectors._of(sums, data.names)
                return SupportSum(rest, shift, needs_scaling, vectors, np.eye(len(vectors)))
            return SupportSum(rest, shift, needs_scaling, data, coefficients.toarray())
        graph, which = self._graph(kernel_term.inner)
        return GraphTerm(rest, shift, needs_scaling, graph, _node_weights(coefficients @ which))

    def _graph(self, inner: ColumnKernel) -> tuple[Graph, Any]:
        """Return the distinct trees of a column, and the incidence matrix of examples and trees."""
        import scipy.sparse as sp  # not at the top: predictions need no SciPy

        for path, graph, which in self._graphs:
            if path == inner.path and type(graph) is cast(StoreKernel, inner.kernel).bank:
                return graph, which
        bank: Graph = inner.data(self.X).compact()
        store, roots = bank.columns
        present = np.flatnonzero(roots >= 0)
        distinct, number = np.unique(roots[present], return_inverse=True)
        graph = type(bank).from_columns(Columns(store, distinct))
        which = sp.csr_array((np.ones(len(present)), (present, number)), shape=(len(bank), len(distinct)))
        nodes = int(bank.weights().weight.sum())
        texts = sum(len(text.encode("utf-8", "surrogatepass")) for text in store.labels)
        self.nodes += nodes
        self.loose_bytes += 4 * nodes + 4 * (nodes - len(present)) + 8 * self.alpha.nnz + texts
        self._graphs.append((inner.path, graph, which))
        return graph, which
