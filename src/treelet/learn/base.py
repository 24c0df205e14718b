"""Base classes of the estimators: the kernel or a precomputed matrix, fitting, and the model."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from treelet.checks import article, is_integer, missing_places, plural, some_of, suggestion, wrong
from treelet.errors import (
    DeviceMemoryError,
    InputTypeError,
    KernelOverflowError,
    NotEnoughMemoryError,
    ParameterError,
    TreeletWarning,
    TreeSizeError,
    user_level,
)
from treelet.formats.base import TreeLimits
from treelet.kernels import SubsetTree
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Pairwise, Vector
from treelet.kernels.parameters import unchanged_on_error
from treelet.lazy import ABBREVIATIONS
from treelet.learn.fits import one_fit, snapshot
from treelet.learn.model import CompressedModel, banks_in, compact_examples, warn_if_missing
from treelet.learn.persist import are_floats, fitted_kernel, known_kernels, register, training, whole_numbers
from treelet.matrices import parse_memory
from treelet.matrices.executors import host_matrix
from treelet.resources import Resources, count_threads
from treelet.shown import learnt

# --- checks of training targets ---------------------------------------------------------------------------------------

Rows = NDArray[np.intp]
USE_A_CLASSIFIER = " To predict classes, use KernelSVC."
NO_QUALITY = "y is missing: a ranker needs the quality of each example, as a number."


def checked_targets(
    y: Any, n: int, if_none: str = "y is missing: fit needs the class or value of each example.", name: str = "y"
) -> NDArray[Any]:
    """Return one label or number per example. No value may be missing, infinite or complex."""
    if y is None:
        raise ParameterError(if_none)
    labels = _one_dimension(y, n, name)
    missing = missing_places(y, labels)
    if missing:
        raise _unusable(missing, name, missing=True)
    if labels.dtype.kind == "c":
        raise ParameterError(
            f"{name} contains complex numbers ({labels.dtype}). Pass real numbers, for example the real parts."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise _unusable(np.flatnonzero(~np.isfinite(labels)), name, missing=False)
    if labels.dtype.kind == "O":
        kinds = {type(label) for label in labels.tolist()}
        if len(kinds) == 1 and kinds <= {str, int, bool, float}:
            labels = np.array(labels.tolist())
    return labels


def checked_numbers(
    y: Any,
    n: int,
    if_none: str = "y is missing: fit needs the value of each example.",
    name: str = "y",
    remedy: str = "",
) -> Vector:
    """Return one finite number per example. `remedy` is added to the error for values that are not numbers."""
    targets = checked_targets(y, n, if_none, name)
    try:
        if targets.dtype.kind in "mM":
            raise TypeError
        values = targets.astype(float)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name} must contain one number per example. Got {_first_other(targets, name)} instead.{remedy}"
        ) from None
    if not np.isfinite(values).all():
        raise _unusable(np.flatnonzero(~np.isfinite(values)), name, missing=False)
    return values


def _unusable(rows: Any, name: str, *, missing: bool) -> ParameterError:
    """Return the error for missing or infinite values at some rows."""
    fact = "missing (None or NaN; {} in total)" if missing else "infinite ({} in total)"
    count = plural(len(rows), "missing value" if missing else "infinite value")
    arrays = "X and y" if name == "y" else f"X, y and {name}"
    remedy = (
        f"the examples without a value from {arrays}."
        if missing
        else f"such examples from {arrays}, or clip their values."
    )
    return ParameterError(f"{name}[{rows[0]}] is {fact.format(count)}. Remove {remedy}")


def _first_other(targets: NDArray[Any], name: str) -> str:
    """Return the first value that is not a number, and its place, for a message."""
    for row, value in enumerate(targets.tolist()):
        try:
            if targets.dtype.kind not in "mM":
                float(value)
                continue
        except (TypeError, ValueError):
            pass
        shown = f"the string {value!r:.60}" if isinstance(value, str) else article(type(value).__name__)
        return f"{shown} for {name}[{row}]"
    return f"values of the type {targets.dtype}"


def checked_outputs(y: Any, n: int) -> tuple[Matrix, bool]:
    """Return finite values as examples x outputs, and whether `y` had only one dimension."""
    try:
        values = y if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
    except ValueError:
        raise ParameterError("y must contain the same number of values for every example.") from None
    if y is None or values.ndim != 2:
        return checked_numbers(y, n, remedy=USE_A_CLASSIFIER)[:, None], True
    if not values.shape[1]:
        raise ParameterError("y has no columns: pass at least one value per example.")
    return np.column_stack([checked_numbers(column, n, remedy=USE_A_CLASSIFIER) for column in values.T]), False


def checked_groups(groups: Any, n: int, name: str = "qid", *, of: str = "a ranker") -> list[Rows]:
    """Return the rows of each group in ascending order. `of` is the estimator, for messages.

    Groups come in order of first appearance.
    """
    if groups is None:
        if name == "qid":
            raise ParameterError(
                f"qid is missing: {of} needs to know which examples belong to the same sentence or query. "
                "Pass one group number per example, for example fit(X, y, qid=[0, 0, 1, 1])."
            )
        raise ParameterError(f"{name} is missing: pass the group of each example, for example [0, 0, 1, 1].")
    names = _one_dimension(groups, n, name)
    if missing := missing_places(groups, names):
        raise _unusable(missing, name, missing=True)
    codes, known = np.empty(n, np.intp), dict[Any, int]()
    for row, value in enumerate(names.tolist()):
        try:
            codes[row] = known.setdefault(value, len(known))
        except TypeError:
            raise ParameterError(
                f"{name} must contain numbers or strings. "
                f"Got {article(type(value).__name__)} for {name}[{row}] instead."
            ) from None
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=len(known)))[:-1]) if n else []


def group_numbers(groups: Sequence[Rows], n: int) -> Rows:
    """Return the group number of each example."""
    numbers = np.empty(n, np.intp)
    for number, rows in enumerate(groups):
        numbers[rows] = number
    return numbers


def _one_dimension(values: Any, n: int, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ParameterError(f"{name} must have one dimension, but its items have different lengths.") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        raise ParameterError(
            f"{name} must have one dimension. Got an array of shape {array.shape}."
            if array.ndim
            else f"{name} must have one dimension. Got the single value {values!r}."
        )
    if len(array) != n:
        raise ParameterError(
            f"X has {plural(n, 'example')}, but {name} has {plural(len(array), 'value')}. Pass one value per example."
        )
    return array


# --- precomputed kernel matrices --------------------------------------------------------------------------------------


def _given_square(X: Any) -> Matrix:
    """Return the precomputed square matrix of the training examples, after a check."""
    K = _given(X, None, "a square matrix of the training examples")
    size, step = max(K.max(initial=0), -K.min(initial=0)), 256
    for begin in range(0, len(K), step):  # Compare the upper with the lower triangle.
        rows = slice(begin, begin + step)
        apart = np.abs(K[rows, begin:] - K[begin:, rows].T) > 1e-8 * size
        if apart.any():
            row = begin + int(apart.any(axis=1).argmax())
            raise ParameterError(
                f"With kernel='precomputed', X must be symmetric, but row {row} differs from column {row}. "
                "Pass the matrix of the training examples with themselves."
            )
    if size > 0 and not K.diagonal().any():
        raise ParameterError(
            "With kernel='precomputed', X must contain kernel values, but the diagonal is 0, as for distances. "
            "Pass kernel(X) instead of kernel.distance()(X)."
        )
    return K


def _given(X: Any, columns: int | None, wanted: str) -> Matrix:
    """Return a precomputed matrix with this number of columns, or a square one, after a check."""
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            "With kernel='precomputed', X must be a matrix of numbers. To pass examples, use a kernel such as SubsetTree()."
        ) from None
    if values.ndim != 2 or values.shape[1] != (len(values) if columns is None else columns):
        raise ParameterError(f"With kernel='precomputed', X must be {wanted}. Got an array of shape {values.shape}.")
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(values.sum()))  # The sum needs no memory, unlike the full check below.
    if not finite and not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ParameterError(
            f"With kernel='precomputed', X must contain finite numbers. Got {values[row, column]} in row {row}, "
            f"column {column}."
        )
    return values


def _named_columns(X: Any) -> NDArray[Any] | None:
    """Return the column names of a DataFrame, strings or numbers, or None if there are none."""
    if not hasattr(X, "columns") or not hasattr(X, "iloc"):
        return None
    names = np.empty(len(X.columns), object)
    names[:] = list(X.columns)
    return names if _are_names(names) else None


def _are_names(names: NDArray[Any]) -> bool:
    return all(isinstance(name, str) or is_integer(name) for name in names.tolist())


@register
class MatrixColumns:
    """The positions of the support vectors among the training examples of a precomputed matrix.

    Parameters
    ----------
    total : int
        Number of training examples.
    columns : ndarray of int
        Indices of the support vectors.
    """

    def __init__(self, total: int, columns: NDArray[np.int64]) -> None:
        self.total, self.columns = total, columns

    def __len__(self) -> int:
        return len(self.columns)

    def values(self, X: Any) -> Matrix:
        """Return the columns of the support vectors in a matrix of examples x training examples, after a check."""
        wanted = f"a matrix of examples x {plural(self.total, 'training example')}"
        return _given(X, self.total, wanted)[:, self.columns]

    def _to_state(self) -> dict[str, Any]:
        return {"total": self.total, "columns": self.columns}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> MatrixColumns:
        total, columns = state["total"], whole_numbers(state["columns"], 1)
        if type(total) is not int or (len(columns) and columns.max() >= total):
            raise ValueError("a support vector is not one of the training examples")
        return cls(total, columns)


@register
class _MatrixModel:
    """Linear functions of precomputed kernel values: the counterpart of `CompressedModel`.

    Parameters
    ----------
    support : MatrixColumns
        The support vectors.
    coefficients : ndarray of shape (outputs, n_support)
        Their coefficients.
    """

    def __init__(self, support: MatrixColumns, coefficients: Matrix) -> None:
        self.support, self.coefficients, self.outputs = support, coefficients, len(coefficients)

    def score(self, X: Any) -> Matrix:
        """Return the values of all functions, ``len(X)`` x outputs."""
        columns = self.support.values(X)
        with np.errstate(over="ignore", invalid="ignore"):
            values: Matrix = columns @ self.coefficients.T
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(bad):
            raise KernelOverflowError(
                f"The score of row {bad[0]} is too large for a float64. Divide the kernel matrix by a constant."
            )
        return values

    def _to_state(self) -> dict[str, Any]:
        return {"support": self.support, "coefficients": self.coefficients}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> _MatrixModel:
        support, coefficients = state["support"], state["coefficients"]
        if not isinstance(support, MatrixColumns) or not are_floats(coefficients, 2):
            raise ValueError("a model of a precomputed matrix needs support vectors and coefficients")
        if coefficients.shape[1] != len(support):
            raise ValueError(f"there are {len(support)} support vectors, but {coefficients.shape[1]} coefficients")
        return cls(support, coefficients)


# --- base classes -----------------------------------------------------------------------------------------------------

_REMOVED = {"device", "device_memory", "progress"}  # settings of `treelet.config_context`
_REMOVED |= {"fit_seconds_", "multi_class", "multi_class_", "n_features", "probability", "random_state", "size"}
"""Names in older model files that are ignored where an estimator no longer has them."""


def _default_kernel() -> Kernel:
    """Return the default kernel of the estimators: normalized subset trees."""
    return SubsetTree().normalized()


@cache
def _keywords(init: Callable[..., Any]) -> frozenset[str] | None:
    """Return the names that a constructor accepts as keywords, or None if it accepts any name."""
    parameters = inspect.signature(init).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(parameter.name for parameter in parameters)


def _kernel_suggestion(kernel: Any, *others: str) -> str:
    """Return a suggestion for a wrong kernel: a kernel object or one of the `others`. It may be empty."""
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        return f" Did you mean {kernel.__name__}(), with parentheses?"
    if not isinstance(kernel, str):
        return ""
    if (name := ABBREVIATIONS.get(kernel.lower())) in known_kernels():
        return f" Did you mean {name}().normalized()?"  # as on the command line
    complete = {
        name: cls
        for name, cls in known_kernels().items()
        if issubclass(cls, Kernel) and all(p.default is not p.empty for p in inspect.signature(cls).parameters.values())
    }
    hint = suggestion(kernel, [*(f"{name}()" for name in complete), *others])
    return hint.replace("'", "") if "()" in hint else hint


class _KernelEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator with a ``kernel`` parameter. The kernel determines the accepted examples."""

    kernel: Pairwise | str | None
    n_jobs: int | None
    X_fit_: Any
    _kernels = "a kernel or None"
    """Allowed values of `kernel`, for messages."""

    _fitted: ClassVar[tuple[str, ...]] = ()
    """Attributes that a fit sets and a model file stores."""
    _fitted_private: ClassVar[tuple[str, ...]] = ()
    """Private attributes that are set by a fit, or later by a fitted estimator."""
    _limits: TreeLimits | None = None
    """Limits on the examples of all methods. They are not parameters: a model file does not store them."""
    _set_by_fit: frozenset[str] = frozenset()
    """Names of all attributes that the latest fits have set; see `atomic_fit`."""

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """Report an unknown keyword with a suggestion. The constructor itself is unchanged."""
        known = _keywords(cls.__init__)
        for name in params:
            if known is not None and name not in known:
                raise InputTypeError(cls._unknown_parameter(name, known - {"self"}, _default_kernel(), in_call=True))
        return cast("Self", super().__new__(cls))

    @classmethod
    def _unknown_parameter(cls, name: str, known: Iterable[str], kernel: Any, *, in_call: bool = False) -> str:
        fact = f"{cls.__name__} has no parameter {name!r}."
        if isinstance(kernel, Pairwise) and kernel._takes(name.partition("__")[0]):
            remedy = f"{cls.__name__}(SubsetTree({name}=...))" if in_call else f"kernel__{name}"
            return f"{fact} It is a parameter of the kernel: use {remedy}."
        return f"{fact}{suggestion(name, known) or f' The parameters are {some_of(sorted(known))}.'}"

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator and of its kernel.

        If any value is invalid, no parameter changes.

        Parameters
        ----------
        **params
            Values by name. Names such as ``kernel__lam`` set parameters of the kernel.

        Returns
        -------
        estimator
            The estimator itself.
        """
        kernel, own = _default_kernel() if self.kernel is None else self.kernel, self.get_params(deep=False)
        for name in params:
            first, _, rest = name.partition("__")
            if first not in own:
                raise ParameterError(self._unknown_parameter(name, own, kernel))
            inner = params.get("kernel", kernel)
            if first == "kernel" and rest and isinstance(inner, Pairwise):
                inner._check_name(rest, type(self).__name__, "kernel__")
        with unchanged_on_error(self, *params.values()):
            if self.kernel is None and any(name.startswith("kernel__") for name in params):
                self.kernel = kernel
            super().set_params(**params)
        return self

    def set_limits(self, *, max_nodes: int | None = None, max_depth: int | None = None) -> Self:
        """Refuse large examples, for services that accept untrusted trees.

        All methods that take examples then raise `treelet.errors.TreeSizeError` for a larger tree,
        before any kernel value is computed. The limits replace earlier ones. They are not
        parameters: pickle keeps them, but `save`, ``clone`` and `get_params` do not.

        Parameters
        ----------
        max_nodes : int, optional
            Largest number of nodes of a tree, words included. Default: no limit.
        max_depth : int, optional
            Largest number of edges from the root of a tree to its deepest word. Default: no limit.

        Returns
        -------
        estimator
            The estimator itself.

        See Also
        --------
        treelet.load : set the limits when a model is loaded.

        Examples
        --------
        >>> from treelet import KernelSVC
        >>> clf = KernelSVC().fit(["(A (B b))", "(C (D d))"], [0, 1]).set_limits(max_depth=2)
        >>> clf.predict(["(A (B (B b)))"])
        Traceback (most recent call last):
        ...
        treelet.errors.TreeSizeError: item 0: the tree has a depth of 3, more than max_depth=2 allows.
        """
        self._limits = TreeLimits.of(max_nodes, max_depth, self)
        return self

    def _coerced(self, kernel: Any, X: Any) -> Any:
        """Return examples in the kernel's form. Raise `TreeSizeError` if one exceeds the limits."""
        data = kernel.coerce(X)
        if self._limits is not None:
            for bank in banks_in(data):
                for row, problem in self._limits.problems(*bank.columns, bank.weights()):
                    raise TreeSizeError(f"the tree {problem}", f"item {row}")
        return data

    _kernel_type: ClassVar[Any] = Kernel
    """Class of the functions that the `kernel` parameter accepts."""

    def _own_kernel(self) -> Any:
        """Return a validated copy of the kernel, because the parameter may change after the fit."""
        kernel: Any = _default_kernel() if self.kernel is None else self.kernel
        if not isinstance(kernel, self._kernel_type):
            raise self._wrong_kernel()
        kernel.validate()
        return copy.deepcopy(kernel)

    def _examples(self, kernel: Kernel, X: Any) -> Any:
        data = self._coerced(kernel, X)
        if len(data) == 0:
            raise self._no_examples()
        return data

    def _kept_examples(self, kernel: Kernel, X: Any) -> Any:
        """Return a copy of the examples, reduced to the parts that the kernel uses."""
        examples = self._examples(kernel, X)
        # The indexing copies the examples, because the caller may change an array after the fit.
        return compact_examples(kernel, examples[np.arange(len(examples))])

    _smaller = "train on fewer examples"
    """The remedy if memory is too small, for messages."""

    @property
    def _resources(self) -> Resources:
        """Return the resources of this estimator in the context of the caller's thread."""
        return Resources.of(self.n_jobs, owner=self)

    def _gram(self, kernel: Kernel, X: Any, Y: Any = None) -> Matrix:
        """Return the kernel matrix of examples that are already in the kernel's form."""
        try:
            return host_matrix(kernel, X, Y, self._resources)
        except DeviceMemoryError:
            raise
        except NotEnoughMemoryError:  # The remedies in the message of `gram` do not apply here.
            n, m = len(X), len(X if Y is None else Y)
            raise NotEnoughMemoryError(
                f"The matrix of {n:,} x {m:,} kernel values takes {8 * n * m:,} bytes and does not fit in memory. "
                f"{self._smaller[0].upper()}{self._smaller[1:]}."
            ) from None

    _least_examples = "at least one example"
    """The smallest number of examples that a fit needs, for messages."""

    def _no_examples(self) -> ParameterError:
        return ParameterError(f"X is empty: {type(self).__name__} needs {self._least_examples}.")

    def _refuse(self, name: str, wanted: str) -> ParameterError:
        return wrong(name, wanted, getattr(self, name), of=self)

    def _wrong_kernel(self) -> ParameterError:
        others = ["precomputed"] if "'precomputed'" in self._kernels else []
        return ParameterError(f"{self._refuse('kernel', self._kernels)}{_kernel_suggestion(self.kernel, *others)}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.no_validation = True
        return tags

    # --- in a notebook ------------------------------------------------------------------------------------------

    # scikit-learn's diagram, with a summary of the fit below. Versions of scikit-learn differ in
    # which of these two methods they call.
    def _repr_html_inner(self) -> str:
        return f"{super()._repr_html_inner()}{learnt(snapshot(self))}"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        table = learnt(snapshot(self))
        return {kind: text + table if kind == "text/html" else text for kind, text in bundle.items()}

    # --- in a file ----------------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        check_is_fitted(self)
        params = dict(getattr(self, "_fitted_with", None) or self.get_params(deep=False))
        # A random generator is not stored.
        params = {
            name: None if hasattr(value, "random_sample") or hasattr(value, "integers") else value
            for name, value in params.items()
        }
        if params["kernel"] is not None:  # The parameter may have changed since the fit.
            params["kernel"] = fitted_kernel(self)
        return {"params": params, "fitted": {name: getattr(self, name) for name in self._fitted if hasattr(self, name)}}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        params, fitted = state["params"], state["fitted"]
        known = inspect.signature(cls).parameters.keys()
        if unknown := params.keys() - known - _REMOVED:
            raise ValueError(f"{cls.__name__} does not have the parameters {some_of(sorted(unknown))}")
        if unknown := fitted.keys() - set(cls._fitted) - _REMOVED:
            raise ValueError(f"{cls.__name__} does not have the attributes {some_of(sorted(unknown))}")
        estimator = cls(**{name: value for name, value in params.items() if name in known})
        for name, value in fitted.items():
            setattr(estimator, name, value)
        estimator._check_parameters()
        estimator._check_fitted_state()
        for name in fitted.keys() - set(cls._fitted):
            delattr(estimator, name)
        if isinstance(estimator, KernelLearner):
            estimator._fitted_with = estimator.get_params(deep=False)
        return estimator

    def _check_parameters(self) -> None:
        """Raise ParameterError if a parameter is invalid."""
        count_threads(self.n_jobs, of=self)

    def _check_fitted_state(self) -> None:
        """Raise ValueError if loaded attributes are inconsistent.

        Here: the kernel and the stored examples.
        """
        if not isinstance(getattr(self, "kernel_", None), self._kernel_type):
            raise ValueError("the kernel is missing")
        if "X_fit_" in self._fitted:
            self.X_fit_ = self._examples(self.kernel_, self.X_fit_)


class KernelTransformer(TransformerMixin, _KernelEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator with a method `transform`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "transform" in vars(cls):  # together with the names of the columns, which scikit-learn adds (set_output)
            cls.transform = one_fit(cls.transform)


class KernelLearner(_KernelEstimator):
    """An estimator that fits coefficients of training examples and merges these into a model.

    With ``kernel="precomputed"``, `fit` accepts the square kernel matrix of the training examples,
    and predictions accept a matrix of examples x training examples.
    """

    _kernels = "a kernel, 'precomputed' or None"
    _fitted: ClassVar[tuple[str, ...]] = ("support_", "dual_coef_", "model_", "feature_names_in_")
    _fitted_private: ClassVar[tuple[str, ...]] = ("_fitted_with",)
    _models: ClassVar[tuple[type, ...]] = (CompressedModel, _MatrixModel)

    def _kernel_and_data(self, X: Any) -> tuple[Kernel | None, Any]:
        """Return the kernel and the examples in its form, or None and the precomputed matrix."""
        if not isinstance(self.kernel, str):
            kernel = self._own_kernel()
            return kernel, self._examples(kernel, X)
        if self.kernel != "precomputed":
            raise self._wrong_kernel()
        K = _given_square(X)
        if not len(K):
            raise self._no_examples()
        if (names := _named_columns(X)) is not None:
            self.feature_names_in_ = names
        return None, K

    def _matrix(self, kernel: Kernel | None, data: Any, rows: Any = None) -> Matrix:
        """Return the square kernel matrix of the examples or of some rows.

        It may be the precomputed matrix.
        """
        K: Matrix
        if kernel is None:
            K = data if rows is None else data[np.ix_(rows, rows)]
            return K
        chosen = data if rows is None else data[rows]
        K = self._gram(kernel, chosen)
        self._warn_if_nothing_to_learn(K.diagonal())
        return K

    @staticmethod
    def _warn_if_nothing_to_learn(self_values: Vector) -> None:
        """Warn if the kernel is 0 for all training examples."""
        if not self_values.any():
            warnings.warn(
                f"There is nothing to learn: the kernel is 0 for all of {plural(len(self_values), 'example')}. "
                "Check that the examples are not all missing or empty.",
                TreeletWarning,
                stacklevel=user_level(),
            )

    def _check_columns(self, names: NDArray[Any] | None) -> None:
        """Raise ParameterError if the columns of a DataFrame are ordered differently than in the fit."""
        fitted = getattr(self, "feature_names_in_", None)
        if names is None or fitted is None or len(names) != len(fitted) or names.tolist() == fitted.tolist():
            return
        first = next(number for number, (name, other) in enumerate(zip(names, fitted, strict=True)) if name != other)
        if set(names) == set(fitted) or all(isinstance(name, str) for name in (*names, *fitted)):
            raise ParameterError(
                "With kernel='precomputed', the columns of X must have the same names and order as in the fit. Column "
                f"{first} is {names[first]!r} but was {fitted[first]!r}. Reorder them: X[model.feature_names_in_]."
            )

    def _check_memory(self, what: str, needed: int) -> None:
        """Raise ParameterError if a step needs more bytes than the `memory` parameter allows."""
        budget = parse_memory(self.memory)  # All callers have this parameter.
        if budget is not None and needed > budget:
            raise ParameterError(
                f"{what} takes {needed:,} bytes, more than the {budget:,} of memory=. "
                f"Increase memory=, or {self._smaller}."
            )

    def _keep(self, kernel: Kernel | None, data: Any, support: Any, coefficients: Any) -> None:
        """Store the coefficients, outputs x support vectors, and merge the support vectors into a model."""
        self.support_ = np.asarray(support, np.int64)
        self.dual_coef_ = np.ascontiguousarray(coefficients)
        self.model_: Any = (
            _MatrixModel(MatrixColumns(len(data), self.support_), self.dual_coef_)
            if kernel is None
            else CompressedModel.of(kernel, data[self.support_], self.dual_coef_)
        )

    def _remember(self, kernel: Kernel | None, data: Any, targets: Any, groups: Any = None) -> None:
        """Record the parameters and the training data for the model file and its card.

        A precomputed matrix contains no examples, so only the parameters are recorded.
        """
        self._fitted_with = self.get_params(deep=False)
        if kernel is not None:
            self.training_ = training(compact_examples(kernel, data), targets, groups, classes=is_classifier(self))

    def _values(self, X: Any) -> Matrix:
        """Return the values of the model's outputs, examples x outputs."""
        if not hasattr(self, "model_"):  # scikit-learn's own check takes as long as a small prediction.
            check_is_fitted(self)
        if isinstance(self.model_, _MatrixModel):
            self._check_columns(_named_columns(X))
            return self.model_.score(X)
        X = self._coerced(self.model_.kernel, X)  # An iterator can be read only once.
        values: Matrix = self.model_.score_with(X, self._resources)
        warn_if_missing(self.model_.kernel, X, values)
        return values

    def _check_fitted_state(self) -> None:
        if not isinstance(getattr(self, "model_", None), self._models):
            raise ValueError("the model is missing")
        whole_numbers(self.support_, 1)
        if not are_floats(self.dual_coef_, 2) or self.dual_coef_.shape != (self.model_.outputs, len(self.support_)):
            raise ValueError("coefficients, support vectors and outputs do not match")
        names: Any = getattr(self, "feature_names_in_", None)
        if names is not None:
            total = self.model_.support.total if isinstance(self.model_, _MatrixModel) else -1
            if not isinstance(names, np.ndarray) or names.shape != (total,) or not _are_names(names):
                raise ValueError("column names and training examples do not match")
