"""What is asked of a model: one linear function, whatever the estimator makes of its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from treelet import _core
from treelet.errors import InputTypeError, ParameterError
from treelet.kernels.fragments.weighting import LISTED, is_listed
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.model import CompressedModel
from treelet.learn.terms import GraphTerm, Term, node_weights

SHOWN = 10  # classes, in a message


@dataclass(frozen=True)
class Asked:
    """A sum of a model's outputs.

    Attributes
    ----------
    model : CompressedModel
    mix : ndarray of shape (outputs,)
        How often each output is in the sum.
    intercept : float
    output : object
        The class, or the number of the output.
    """

    model: CompressedModel
    mix: Vector
    intercept: float
    output: Any

    @property
    def listed(self) -> list[GraphTerm]:
        """The terms whose fragments can be listed."""
        return [term for term in self.model.terms if _is_listed(term)]  # type: ignore[misc]

    @property
    def others(self) -> list[Term]:
        """All other terms."""
        return [term for term in self.model.terms if not _is_listed(term)]


def _is_listed(term: Term) -> bool:
    return isinstance(term, GraphTerm) and is_listed(term.kernel_term.inner.kernel)


def weights_of(term: GraphTerm, mixes: Matrix) -> _core.NodeWeights:
    """The weights of distinct subtrees for some sums of outputs, a row each."""
    roots = term.at_roots
    rows = sp.csr_array((roots.weight, roots.node, roots.start), shape=(len(roots), len(term.graph)))
    mixed = sp.csr_array(sp.csr_array(mixes) @ rows)
    mixed.eliminate_zeros()
    return _core.NodeWeights.spread(*term.graph.columns, node_weights(mixed))


def asked(model: Any, output: Any, examples: Sequence[Any] = ()) -> Asked:
    """The function of `output`: of a class, or the number of one of several outputs.

    Of two classes, in a tuple, the difference. Without `output`, the class that is predicted for the first example; of two classes, the second, if there is no example.
    """
    compressed = model if isinstance(model, CompressedModel) else _fitted(model)
    if compressed.terms and not any(map(_is_listed, compressed.terms)):
        raise InputTypeError(
            f"fragments are listed for models of {LISTED}, of their sums, multiples and normalised forms, also on columns; "
            f"not for {compressed.kernel!r}"
        )
    if (classes := getattr(model, "classes_", None)) is not None:
        names = classes.tolist()
        pair = isinstance(output, tuple) and len(output) == 2 and output not in names
        labels = [_label(model, names, one, examples) for one in (output if pair else [output])]
        mixes = [_mix(names.index(label), len(names), model.multi_class_) for label in labels]
        label, mix = (tuple(labels), mixes[0] - mixes[1]) if pair else (labels[0], mixes[0])
    else:
        label = _number(compressed.outputs, output)
        mix = np.eye(compressed.outputs)[label]
    intercepts = getattr(model, "intercept_", np.zeros(compressed.outputs))
    return Asked(compressed, mix, float(mix @ intercepts), label)


def _fitted(model: Any) -> CompressedModel:
    kind = type(model).__name__
    inner = getattr(model, "model_", None)
    if inner is None:
        hint = ": call its fit first" if hasattr(model, "fit") else ""
        raise InputTypeError(f"a fitted estimator or a CompressedModel is needed, got {kind}, which is neither{hint}")
    if not isinstance(inner, CompressedModel):
        why = "it was fitted to a matrix of kernel values, and knows no trees"
        if getattr(inner, "kernel", None) is not None:
            why = 'weight vectors that vote have no weights in common: fit it with prediction="averaged"'
        raise InputTypeError(f"this {kind} cannot be explained: {why}")
    return inner


def _label(model: Any, names: list[Any], output: Any, examples: Sequence[Any]) -> Any:
    if output is None:
        if len(examples):
            return model.predict(examples[:1]).tolist()[0]
        if len(names) == 2:
            return names[1]
        raise ParameterError(f"there are {len(names)} classes: say of which, for example output={names[0]!r}")
    if output not in names:
        few = ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
        raise ParameterError(f"the 'output' parameter must be one of the classes {few}. Got {output!r} instead.")
    return output


def _number(outputs: int, output: Any) -> int:
    if output is None and outputs == 1:
        return 0
    if isinstance(output, bool) or not isinstance(output, int | np.integer) or not 0 <= output < outputs:
        raise ParameterError(
            f"the 'output' parameter must be the number of an output, from 0 to {outputs - 1}. Got {output!r} instead."
        )
    return int(output)


def _mix(index: int, classes: int, multi_class: str) -> Vector:
    """Which machines speak for a class, and which against it."""
    if classes == 2:
        return np.array([1.0 if index else -1.0])
    if multi_class == "ovr":
        return np.array([float(i == index) for i in range(classes)])
    return np.array([float(i == index) - float(j == index) for i, j in combinations(range(classes), 2)])
