r"""What a kernel machine has learned, without the examples it was learned from.

A machine's score is a sum over its support examples, :math:`\sum_k \alpha_k K(T_k, x)`. For the tree kernels that sum
only needs to know how much weight each *distinct* subtree carries (Collins & Duffy 2001, section 5): the support trees
collapse into one weighted acyclic graph in which no subtree occurs twice, and scoring a tree costs the pairs that
match between it and the graph, however many trees went in.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treelet.errors import InputTypeError, KernelOverflowError, ParameterError, TreeletWarning
from treelet.gram.executors import Executor, executor_for
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.kernels.values import LARGE
from treelet.learn.encoding import array_bytes, packed_weights, register
from treelet.learn.terms import (
    ColumnKernel,
    ConstantTerm,
    Graph,
    GraphTerm,
    KernelTerm,
    Path,
    Roots,
    SupportSum,
    Term,
    linear_parts,
)
from treelet.progress import Advance, progress_bar
from treelet.resources import Resources
from treelet.vocabulary import current
from treelet.work import run

if TYPE_CHECKING:
    from treelet.device.launching import Device

ROOT_LARGE = LARGE / 2  # of the logarithm of a root
STEP = 200  # examples from one sign of progress to the next
PIECES = 10  # signs of progress of a device


def warn_of_strangers(kernel: Kernel, X: Any, values: Matrix) -> None:
    """Warn of examples whose values are all 0: a machine then says the same of each, whatever they are.

    Missing examples are not meant: of these there is nothing to say.
    """
    rows = np.flatnonzero(~values.any(axis=1))
    if len(rows):
        unknown = np.count_nonzero(kernel.self_values(kernel.coerce(X)[rows]))
        if unknown:
            warnings.warn(
                f"{unknown:,} of {len(values):,} examples share nothing with the model that would count, so that it says the same "
                "of each: are they of the kind that it was trained on, read in the same way?",
                TreeletWarning,
                stacklevel=5,
            )


@dataclass(frozen=True)
class ModelStats:
    """What went into a model, and what it takes.

    Attributes
    ----------
    support_examples : int
        Examples with a coefficient that is not 0.
    nodes : int
        Nodes of their trees, words included, written out one by one.
    distinct_subtrees : int
        What is left of them: subtrees of which none occurs twice, words included.
    model_bytes : int
        Bytes of the graph and its weights as `treelet.save` writes them, label texts included. The weights of whole
        trees are written, those of their subtrees follow.
    support_bytes : int
        Bytes of the support trees kept one by one: 4 a node for its label, 4 an edge, 8 a coefficient that is not 0,
        and the label texts once.
    kept_examples : int
        Support examples that had to be kept, for kernels that do not collapse.
    """

    support_examples: int
    nodes: int
    distinct_subtrees: int
    model_bytes: int
    support_bytes: int
    kept_examples: int

    @property
    def compression(self) -> float:
        """How many times smaller the model is than its support trees; 1 where there are none."""
        return self.support_bytes / self.model_bytes if self.model_bytes else 1.0

    def __str__(self) -> str:
        kept = f", {self.kept_examples:,} examples kept" if self.kept_examples else ""
        return (
            f"{self.support_examples:,} support examples, {self.nodes:,} nodes, {self.distinct_subtrees:,} distinct "
            f"subtrees, {self.model_bytes:,} bytes for {self.support_bytes:,} ({self.compression:.2f} times smaller){kept}"
        )


@register
class CompressedModel:
    r"""Linear functions in a kernel's space, :math:`f_o(x) = \sum_k \alpha_{ok} K(T_k, x)`, ready to be evaluated.

    Made by `CompressedModel.of`. The kernel is taken apart into its summands; those that are tree kernels, normalized
    or not, become weighted graphs of distinct subtrees, all others keep their support examples.

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
        """The model of support examples and their coefficients.

        Parameters
        ----------
        kernel : Kernel
            Copied: what happens to yours later does not matter.
        X : collection
            The support examples.
        coefficients : array or sparse matrix of shape (outputs, len(X))
            Examples whose coefficients are all 0 are left out.
        """
        if not isinstance(kernel, Kernel):
            raise InputTypeError(f"a model needs a kernel, got {type(kernel).__name__}")
        from treelet.learn.building import built

        kernel = copy.deepcopy(kernel)
        kernel.validate()
        outputs, terms, counts = built(kernel, kernel.coerce(X), coefficients)
        return cls(kernel, outputs, terms, **counts)

    def score(
        self,
        X: Any,
        *,
        n_jobs: int | None = 1,
        device: str = "cpu",
        device_memory: int | float | str | None = None,
        progress: bool = False,
    ) -> Matrix:
        """The values of all functions, ``len(X)`` x outputs.

        Costs the node pairs that match between each tree and the graph. The result does not depend on `n_jobs`, the
        number of threads, nor on whether progress is shown. With a `device`, as for `treelet.gram`, that computes the
        scores; what is made of the model there stays with it.
        """
        return self.score_with(X, Resources.of(n_jobs, None, device, device_memory, progress=progress))

    def score_with(self, X: Any, resources: Resources) -> Matrix:
        """Return the values of all functions like `score`, with validated resources."""
        executor = executor_for(resources)
        X = self.kernel.coerce(X)
        out = np.zeros((len(X), self.outputs))
        if not len(X):
            return out
        with progress_bar(resources.progress, "scores", len(X) * len(self.terms)) as advance, executor.limited():
            self._add_terms(X, out, executor, advance)
        return out

    def _add_terms(self, X: Any, out: Matrix, executor: Executor, advance: Advance) -> None:
        """Add the scores of all terms; examples are scored in pieces, for threads and for progress."""
        device = executor.device
        executor.warn_of_copies(kernel for term in self.terms for kernel in term.copied_kernels(device))
        threads = executor.resources.threads if device is None else 1
        pieces = 4 * threads if 1 < threads <= len(X) // 2 else 1
        if executor.resources.progress:
            pieces = max(pieces, len(X) // STEP if device is None else PIECES)
        roots = Roots(X)
        pieces = min(pieces, len(X))
        spans = list(pairwise(len(X) * number // pieces for number in range(pieces + 1)))
        joined: list[tuple[Graph, Path, Graph]] = []
        for term in self.terms:
            data = term.kernel_term.inner.data(X)
            if len(data) != len(X):
                raise ParameterError(f"a column has {len(data)} rows, the examples are {len(X)}")
            if isinstance(term, GraphTerm):
                graph, path = term.graph, term.kernel_term.inner.path
                known = [bank for other, way, bank in joined if other is graph and way == path]
                data = known[0] if known else graph.joined(data)[1]
                if not known:
                    joined.append((graph, path, data))
                data.weights()  # counted once, before threads share it
                term.ready(device)
            logs = roots.logs(term.kernel_term.roots)

            def work(span: tuple[int, int], term: Term = term, data: Any = data, logs: Vector | None = logs) -> int:
                begin, end = span
                whole = begin == 0 and end == len(X)
                here = None if logs is None else logs[begin:end]
                _add(term, data if whole else data[begin:end], here, begin, out[begin:end], device)
                return end - begin

            run(work, spans, threads, advance)

    def stats(self) -> ModelStats:
        """Support examples in, distinct subtrees out, bytes of both."""
        trees = [term for term in self.terms if isinstance(term, GraphTerm)]
        graphs = list({id(term.graph): term.graph for term in trees}.values())
        size = sum(array_bytes(graph.packed()) for graph in graphs)
        size += sum(array_bytes(packed_weights(term.at_roots, len(term.graph))) for term in trees)
        return ModelStats(
            support_examples=self.support,
            nodes=self.nodes,
            distinct_subtrees=sum(len(graph.columns.store) for graph in graphs),
            model_bytes=size,
            support_bytes=self.loose_bytes,
            kept_examples=max((len(term.examples) for term in self.terms if isinstance(term, SupportSum)), default=0),
        )

    def __repr__(self) -> str:
        return f"<CompressedModel of {self.kernel!r}: {self.outputs} outputs, {self.stats()}>"

    def _to_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fields}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> CompressedModel:
        kernel, outputs, terms = state["kernel"], state["outputs"], state["terms"]
        counts = {name: state[name] for name in ("support", "nodes", "loose_bytes")}
        if not isinstance(kernel, Kernel) or not all(isinstance(term, Term) for term in terms):
            raise ValueError("a model needs a kernel and terms")
        if not all(type(count) is int and count >= 0 for count in (outputs, *counts.values())):
            raise ValueError("a model's counts are not numbers")
        kernel_terms = [
            KernelTerm(1.0, ColumnKernel(kernel)),
            *(replace(kernel_term, factor=1.0) for kernel_term in linear_parts(kernel)),
        ]
        for term in terms:
            if term.kernel_term not in kernel_terms:  # it would look for its data where the kernel has none
                raise ValueError("a term is no part of the kernel")
            if isinstance(term, GraphTerm):
                found = term.outputs
            else:
                found = len(term.totals if isinstance(term, ConstantTerm) else term.coefficients)
            if found != outputs:
                raise ValueError(f"a term has {found} outputs, the model {outputs}")
        return cls(kernel, outputs, terms, **counts)


def _add(term: Term, data: Any, logs: Vector | None, first: int, out: Matrix, device: Device | None) -> None:
    r"""Add a term's scores of some examples to `out`; the first of them has the number `first` in messages.

    The term's kernel is :math:`K(t, x) / (r(t) r(x))`, where r is 1 or, for a normalized kernel, a root of self-values.
    The factors of the support examples :math:`t_k` are part of the term's coefficients :math:`c_k`, so that its score is

    .. math:: \exp(-\log r(x)) \; \sum_k c_k K(t_k, x)

    `logs` holds :math:`\log r(x)` per example, or is None where r is 1. There are three kinds of examples:

    * r(x) = 0, a logarithm of :math:`-\infty`: the score is 0, and nothing is added.
    * The sum and r(x) both fit a float64: plain arithmetic, which is fast and which a device can do.
    * The sum or r(x) alone would overflow, though the score need not: scaled arithmetic on the CPU, which keeps exponents
      apart. Which examples these are is known from `logs`, or when the plain sum turns out not to be finite. A term whose
      coefficients hold the factor exp(shift), since roots of its support examples are large, is always computed this way.
    """
    if logs is None:
        with np.errstate(over="ignore", invalid="ignore"):
            term.plain(data, out, device)
        _check_scores(term, out, np.arange(first, first + len(out)))
        return
    if not term.needs_scaling and (np.abs(logs) <= ROOT_LARGE).all():  # nearly always: all examples are plain
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
        raise _overflow(term, int(examples[bad[0]]))


def _overflow(term: Term, example: int) -> KernelOverflowError:
    return KernelOverflowError(
        f"the score of example {example} does not fit a float64: values of {term.kernel_term.inner.kernel!r} grow exponentially "
        f"with the size of the example. Train with a smaller lam, or with {current().normalized}, which stays right"
    )
