"""Linear functions of a model: a class, an output, or the difference of two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from treelet import _core
from treelet.checks import some_of, suggestion
from treelet.errors import InputTypeError, ParameterError
from treelet.kernels.fragments.weighting import LISTED, is_listed
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.fits import snapshot
from treelet.learn.model import CompressedModel, warn_if_missing, warn_if_unrelated
from treelet.learn.persist import task_of
from treelet.learn.terms import GraphTerm, Term, node_weights
from treelet.printable import shortened

_SHOWN = 10  # maximum number of classes in a message


@dataclass(frozen=True)
class LinearOutput:
    """A weighted sum of a model's outputs.

    Attributes
    ----------
    model : CompressedModel
    mix : ndarray of shape (outputs,)
        Weight of each output in the sum.
    intercept : float
    output : object
        The class, the two classes, or the index of the output.
    is_class : bool
        Whether `output` is a class or a pair of classes.
    """

    model: CompressedModel
    mix: Vector
    intercept: float
    output: Any
    is_class: bool = True

    @property
    def listed(self) -> list[GraphTerm]:
        """Terms whose fragments can be listed."""
        return [term for term in self.model.terms if _is_listed(term)]  # type: ignore[misc]

    @property
    def others(self) -> list[Term]:
        """All other terms."""
        return [term for term in self.model.terms if not _is_listed(term)]


def _is_listed(term: Term) -> bool:
    return isinstance(term, GraphTerm) and is_listed(term.kernel_term.inner.kernel)


def weights_of(term: GraphTerm, mixes: Matrix) -> _core.NodeWeights:
    """Return the weights of a term's distinct subtrees, one row per weighted sum of outputs."""
    roots = term.at_roots
    rows = sp.csr_array((roots.weight, roots.node, roots.start), shape=(len(roots), len(term.graph)))
    mixed = sp.csr_array(sp.csr_array(mixes) @ rows)
    mixed.eliminate_zeros()
    return _core.NodeWeights.spread(*term.graph.columns, node_weights(mixed))


def resolve_output(
    model: Any, output: Any = None, X: Any = None, values: Matrix | None = None, *, of: str = "explain"
) -> LinearOutput:
    """Return the linear function of a model that `output` names.

    Parameters
    ----------
    model : fitted estimator or CompressedModel
    output : object, optional
        A class, or the index of an output. A tuple of two classes means the difference of their
        functions. Default: the predicted class of the first example; without an example, the second
        of two classes.
    X, values : optional
        Examples in the kernel's form and the values of `CompressedModel.score` for them.
    of : str, default "explain"
        Name of the function that got the arguments, for messages.
    """
    model = final_estimator(model)
    compressed = compressed_model(model, of)
    if compressed.terms and not any(map(_is_listed, compressed.terms)):
        raise InputTypeError(
            f"The fragments of {compressed.kernel!r} cannot be listed. Use one of the kernels {LISTED}, or a sum, "
            "multiple or normalized form of these, also on columns."
        )
    intercepts = getattr(model, "intercept_", np.zeros(compressed.outputs))
    if (classes := getattr(model, "classes_", None)) is None:
        label = _index(compressed.outputs, output, of)
        mix = np.eye(compressed.outputs)[label]
        return LinearOutput(compressed, mix, float(mix @ intercepts), label, is_class=False)
    names = classes.tolist()
    if output is None and values is not None:
        warn_if_missing(compressed.kernel, X[:1], values[:1])
        warn_if_unrelated(compressed, X[:1], values[:1])
        output = model.labels(model.decisions(values + intercepts)).tolist()[0]
    mixes = class_mixes(model)
    if isinstance(output, tuple) and len(output) == 2 and output not in names:
        first, second = (_label(names, label, of) for label in output)
        output, mix = (first, second), mixes[names.index(first)] - mixes[names.index(second)]
    else:
        output = _label(names, output, of)
        mix = mixes[names.index(output)]
    return LinearOutput(compressed, mix, float(mix @ intercepts), output)


def final_estimator(model: Any) -> Any:
    """Return the best estimator of a fitted search, or the last step of a pipeline that transforms nothing.

    Other models are returned unchanged. The result is a snapshot, whose attributes belong to the same fit. The classes of scikit-learn are recognized without importing them.
    """
    kind = type(model).__name__
    if hasattr(model, "best_estimator_"):
        return final_estimator(model.best_estimator_)
    if hasattr(model, "estimator") and hasattr(model, "refit"):
        raise InputTypeError(f"This {kind} has no best_estimator_. Call its fit method first, with refit=True.")
    if hasattr(model, "named_steps"):
        *before, (_, last) = model.steps
        if task_of(last) is not None and any(step not in (None, "passthrough") for _, step in before):
            raise InputTypeError(
                f"This {kind} transforms its examples before the last step. Pass the last step, pipeline[-1], with "
                "examples that are transformed by pipeline[:-1]."
            )
        return final_estimator(last)
    return snapshot(model)


def compressed_model(model: Any, of: str = "explain") -> CompressedModel:
    """Return the compressed model of a fitted estimator. `of` is the name of the public function, for messages.

    Raises scikit-learn's NotFittedError for an unfitted estimator, and InputTypeError with a reason if
    there is no compressed model.
    """
    if isinstance(model, CompressedModel):
        return model
    kind = type(model).__name__
    inner = getattr(model, "model_", None)
    if inner is None:
        if task_of(model) is not None:
            from sklearn.exceptions import NotFittedError  # imported late, because scikit-learn is slow to import

            raise NotFittedError(f"This {kind} is not fitted. Call its fit method first.")
        raise not_explainable(model, of)
    if not isinstance(inner, CompressedModel):
        why = "was fitted to a precomputed kernel matrix, which contains no trees. Fit it with a kernel."
        if getattr(inner, "kernel", None) is not None:
            why = "predicts by votes of many weight vectors. Fit it with prediction='averaged'."
        raise InputTypeError(f"This {kind} cannot be explained, because it {why}")
    return inner


def not_explainable(model: Any, of: str) -> InputTypeError:
    """Return the error for an object without a score to explain. `of` is the name of the public function."""
    return InputTypeError(
        f"The 'model' parameter of {of} must be a fitted classifier, regressor or ranker of treelet, such as KernelSVC. "
        f"Got {shortened(model)} instead."
    )


def class_mixes(classifier: Any) -> Matrix:
    """Return the weight of each binary classifier for each class: 1 for it, -1 against it, or 0."""
    count = len(classifier.classes_)
    return np.array([[-1.0], [1.0]]) if count == 2 else np.eye(count)


def _label(names: list[Any], output: Any, of: str) -> Any:
    if output is None:
        if len(names) == 2:
            return names[1]
        raise ParameterError(
            f"The model has {len(names):,} classes. Choose one of them, for example output={names[0]!r}."
        )
    if output not in names:
        raise _wrong_output(
            f"one of the classes {some_of(names, _SHOWN)}", output, of, suggestion(str(output), map(str, names))
        )
    return output


def _index(outputs: int, output: Any, of: str) -> int:
    if output is None and outputs == 1:
        return 0
    if isinstance(output, bool) or not isinstance(output, int | np.integer) or not 0 <= output < outputs:
        raise _wrong_output(f"the index of an output, from 0 to {outputs - 1}", output, of)
    return int(output)


def _wrong_output(wanted: str, output: Any, of: str, hint: str = "") -> ParameterError:
    # Not by `checks.wrong`: the option --output of the command line has another meaning.
    return ParameterError(f"The 'output' parameter of {of} must be {wanted}. Got {output!r} instead.{hint}")
