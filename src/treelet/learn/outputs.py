"""What a fitted model computes, without scikit-learn: predictions from a model file, and single linear functions.

A linear function of a model is a class, an output, or the difference of two classes. Explanations are about one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article, plural, some_of, suggestion
from treelet.errors import InputTypeError, ParameterError
from treelet.formats.files import PathLike
from treelet.kernels.fragments import LISTED, has_fragments
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.fits import snapshot
from treelet.learn.model import CompressedModel, GraphTerm, Term, warn_if_missing, warn_if_unrelated
from treelet.learn.persist import TASKS, check_intercepts, decoded_model, known_kernels
from treelet.printable import shortened

_SHOWN = 10  # maximum number of classes or labels in a message

# --- predictions ------------------------------------------------------------------------------------------------------


def task_of(model: Any, of: str | None = None) -> str | None:
    """Return ``"classify"``, ``"regress"`` or ``"rank"`` for an estimator, a subclass of one, or a `SavedPredictor`.

    Other objects have the task None. If `of` is the name of a public function, they raise InputTypeError instead.
    """
    names = (cls.__name__ for cls in type(model).__mro__)
    task = model.task if isinstance(model, SavedPredictor) else next((TASKS[n] for n in names if n in TASKS), None)
    if task is None and of is not None:
        raise InputTypeError(
            f"The 'model' parameter of {of} must be a fitted classifier, regressor or ranker of treelet, such as "
            f"KernelSVC. Got {shortened(model)} instead."
        )
    return task


def decided(classifier: Any, values: Matrix) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the scores and the class of each example from the values of the binary classifiers, with intercepts.

    For two classes, there is one score per example, that of the second class.
    """
    classes: NDArray[Any] = classifier.classes_
    if len(classes) == 2:
        scores = values.ravel()
        return scores, classes[(scores > 0).astype(np.intp)]
    return values, classes[values.argmax(axis=1)]


def check_classifier(classifier: Any) -> None:
    """Raise ValueError if the attributes of a classifier from a file are inconsistent."""
    classes = classifier.classes_
    k = len(classes) if isinstance(classes, np.ndarray) and classes.ndim == 1 else 0
    machines = 1 if k == 2 else k
    if getattr(classifier, "multi_class_", "ovr") != "ovr":
        raise ValueError("one-vs-one classifiers are no longer supported")
    if k < 2 or machines != classifier.model_.outputs:
        raise ValueError("classes and binary classifiers do not match")
    platt = getattr(classifier, "platt_", np.zeros((machines, 2)))
    if not isinstance(platt, np.ndarray) or platt.shape != (machines, 2) or not np.isfinite(platt).all():
        raise ValueError("the parameters of the probabilities do not match the classifiers")


def unseen_labels(labels: Iterable[Any], classes: Iterable[Any]) -> tuple[str, bool]:
    """Return a message about labels that did not occur in the training data, and whether that holds for all labels.

    The message is empty if there are no such labels.

    >>> unseen_labels(["a", "b", "b", "c"], ["a", "d"])[0]
    "3 of 4 examples have labels that do not occur in the training data, and count as errors: 'b' (2), 'c' (1)."
    """
    tally, known = Counter(labels), list(classes)
    counts = {label: tally[label] for label in sorted(tally.keys() - set(known), key=str)}
    number, examples = sum(counts.values()), tally.total()
    named = ", ".join(f"{label!r} ({count:,})" for label, count in list(counts.items())[:_SHOWN])
    named += f" and {len(counts) - _SHOWN:,} more" if len(counts) > _SHOWN else ""
    if counts and number == examples:
        return (
            f"None of the labels occur in the training data. Labels here: {named}; in the training data: "
            f"{some_of(known, _SHOWN)}."
        ), True
    one = number == 1
    return (
        f"{number:,} of {plural(examples, 'example')} {'has a label that does' if one else 'have labels that do'} not "
        f"occur in the training data, and {'counts as an error' if one else 'count as errors'}: {named}."
        if counts
        else ""
    ), False


class SavedPredictor:
    """A fitted estimator from a model file, for predictions only, without scikit-learn.

    Its `task` is ``"classify"``, ``"regress"`` or ``"rank"``.
    """

    def __init__(self, kind: str, fitted: dict[str, Any], n_jobs: int | None = 1) -> None:
        self.task, self.n_jobs = TASKS[kind], n_jobs
        self.__dict__ |= fitted
        self.intercept_ = fitted.get("intercept_", np.zeros(self.model_.outputs))
        check_intercepts(self.intercept_, self.model_.outputs)
        if self.task == "classify":
            check_classifier(self)

    model_: Any
    classes_: NDArray[Any]
    platt_: Matrix

    def _values(self, X: Any) -> Matrix:
        X = self.model_.kernel.coerce(X)  # An iterator can be read only once.
        values: Matrix = self.model_.score(X, n_jobs=self.n_jobs)
        warn_if_missing(self.model_.kernel, X, values)
        if self.task != "rank":  # For a ranker, 0 is an ordinary score.
            warn_if_unrelated(self.model_, X, values)
        values += self.intercept_
        return values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class, the value or the score of each example, or one row of values for several outputs."""
        values = self._values(X)
        if self.task == "classify":
            return decided(self, values)[1]
        return values[:, 0] if self.model_.outputs == 1 else values

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of a classifier, as `KernelSVC.decision_function` does."""
        if self.task != "classify":
            raise InputTypeError("The model is not a classifier, so it has no decision_function. Use predict.")
        return decided(self, self._values(X))[0]

    def predict_proba(self, X: Any) -> Matrix:
        """Return the probability of each class."""
        if not hasattr(self, "platt_"):
            raise InputTypeError("The model was trained without probabilities. Train it with probability=True.")
        # The parameters A and B of 1 / (1 + exp(A f + B)) for each binary classifier (Platt 1999).
        z = -(self._values(X) * self.platt_[:, 0] + self.platt_[:, 1])
        small = np.exp(-np.abs(z))
        first: Matrix = np.clip(np.where(z >= 0, 1, small) / (1 + small), 1e-7, 1 - 1e-7)
        if len(self.classes_) == 2:
            return np.column_stack([1 - first, first])
        first /= first.sum(axis=1, keepdims=True)  # No division by 0, because a sigmoid is never 0.
        return first


def load_predictor(path: PathLike, n_jobs: int | None = 1) -> SavedPredictor:
    """Read a model from a file for predictions only, without scikit-learn, whose import takes a second.

    Predictions use `n_jobs` threads, or the device of the context in which they are made.
    """

    def predictor(decoder: Any) -> SavedPredictor | str:
        """Return the predictor, or the reason why there is none."""
        model = decoder.header["model"]
        kind = model.get("object", next(iter(model)))
        if kind not in TASKS:
            return f"the file contains {article(kind)}, which cannot predict. Train one of {', '.join(TASKS)} instead."
        needed = ("model_", "intercept_", "classes_", "multi_class_", "platt_")
        fitted = {name: decoder.value(value) for name, value in model["state"]["fitted"]["dict"] if name in needed}
        if not isinstance(inner := fitted["model_"], CompressedModel) and inner.outputs:
            why = (
                "was fitted to a precomputed kernel matrix, so it cannot predict from examples. Train it with a kernel."
            )
            if getattr(inner, "kernel", None) is not None:
                why = "predicts by votes of many weight vectors, which need the groups. Train it with prediction='averaged', or with treelet rerank --weights average."
            return f"the model {why}"
        return SavedPredictor(kind, fitted, n_jobs)

    found = decoded_model(path, known_kernels(), predictor)
    if isinstance(found, str):
        raise InputTypeError(f"{path}: {found}")
    return found


# --- linear functions of a model --------------------------------------------------------------------------------------


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
    return isinstance(term, GraphTerm) and has_fragments(term.kernel_term.inner.kernel, of_trees=False)


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
            "multiple or normalized form of these, also on columns. The features of a product, or of Crossed, are pairs of "
            "fragments; for pairs of trees, On('a', kernel) + On('b', kernel) can be explained."
        )
    outputs, intercepts = compressed.outputs, getattr(model, "intercept_", np.zeros(compressed.outputs))
    if (classes := getattr(model, "classes_", None)) is None:
        if output is None and outputs == 1:
            output = 0
        if isinstance(output, bool) or not isinstance(output, int | np.integer) or not 0 <= output < outputs:
            raise _wrong_output(f"the index of an output, from 0 to {outputs - 1}", output, of)
        mix = np.eye(outputs)[int(output)]
        return LinearOutput(compressed, mix, float(mix @ intercepts), int(output), is_class=False)
    names = classes.tolist()
    if output is None and values is not None:
        warn_if_missing(compressed.kernel, X[:1], values[:1])
        warn_if_unrelated(compressed, X[:1], values[:1])
        output = decided(model, values + intercepts)[1].tolist()[0]
    # The weight of each binary classifier for each class: 1 for it, -1 against it, or 0.
    mixes = np.array([[-1.0], [1.0]]) if len(names) == 2 else np.eye(len(names))
    if isinstance(output, tuple) and len(output) == 2 and output not in names:
        first, second = (_label(names, label, of) for label in output)
        output, mix = (first, second), mixes[names.index(first)] - mixes[names.index(second)]
    else:
        output = _label(names, output, of)
        mix = mixes[names.index(output)]
    return LinearOutput(compressed, mix, float(mix @ intercepts), output)


def final_estimator(model: Any) -> Any:
    """Return the best estimator of a fitted search, or the last step of a pipeline that transforms nothing.

    Other models are returned unchanged. The result is a snapshot, whose attributes belong to the same fit. The classes
    of scikit-learn are recognized without importing them.
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
        task_of(model, of)  # raises an error for other objects
        from sklearn.exceptions import NotFittedError  # imported late, because scikit-learn is slow to import

        raise NotFittedError(f"This {kind} is not fitted. Call its fit method first.")
    if not isinstance(inner, CompressedModel):
        why = "was fitted to a precomputed kernel matrix, which contains no trees. Fit it with a kernel."
        if getattr(inner, "kernel", None) is not None:
            why = "predicts by votes of many weight vectors. Fit it with prediction='averaged'."
        raise InputTypeError(f"This {kind} cannot be explained, because it {why}")
    return inner


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


def _wrong_output(wanted: str, output: Any, of: str, hint: str = "") -> ParameterError:
    # Not by `checks.wrong`: the option --output of the command line has another meaning.
    return ParameterError(f"The 'output' parameter of {of} must be {wanted}. Got {output!r} instead.{hint}")
