"""What estimators that learn with a kernel have in common: the kernel, or a matrix of its values, and the model."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_boolean, wrong
from treelet.errors import DeviceMemoryError, NotEnoughMemoryError, ParameterError, TreeletWarning
from treelet.gram import parse_memory
from treelet.gram.executors import executor_for, host_matrix
from treelet.kernels import SubsetTree
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix
from treelet.kernels.tuning import unchanged_on_error
from treelet.learn.encoding import are_floats, whole_numbers
from treelet.learn.matrices import MatrixColumns, MatrixModel, check_columns, given_square, is_names, named_columns
from treelet.learn.model import CompressedModel
from treelet.learn.persist import fitted_kernel, fitted_parameters, training
from treelet.learn.terms import compact_examples
from treelet.resources import Resources
from treelet.shown import learnt
from treelet.vocabulary import keyword

EXECUTION = ("device", "device_memory")
"""Parameters that no file keeps: it may be read on a machine that has no such device."""


Fit = TypeVar("Fit", bound=Callable[..., Any])


def atomic_fit(*, forget: bool = True) -> Callable[[Fit], Fit]:
    """Decorate a method that fits, so that it changes the estimator completely or not at all.

    The method runs on a working copy of the estimator. At the very end, the attributes that the method set replace those of
    the earlier fit. That replacement is one assignment: no exception and no signal can come in between. If the method
    fails or is interrupted at any line, the estimator keeps its earlier fit, or remains not fitted. Attributes that
    the new fit does not set, such as the probabilities of an earlier fit, disappear in the same assignment. Attributes that
    users or subclasses set themselves stay.

    The working copy is shallow. A method must therefore replace fitted attributes, never change them in place. Attributes
    in ``__slots__`` are not supported.

    Parameters
    ----------
    forget : bool, default True
        Start without the fitted attributes, as `fit` does. `partial_fit` continues from them and passes False.
    """

    def decorate(method: Fit) -> Fit:
        @wraps(method)
        def fit(self: KernelEstimator, *args: Any, **kwargs: Any) -> Any:
            earlier = self._set_by_fit.union(self._fitted, self._fitted_private)
            before = {name: value for name, value in vars(self).items() if not forget or name not in earlier}
            working = object.__new__(type(self))
            working.__dict__ = dict(before)
            method(working, *args, **kwargs)
            after = vars(working)
            fitted = {name: after[name] for name in after if name not in before or after[name] is not before[name]}
            gone = (earlier if forget else frozenset()) | (before.keys() - after.keys())
            fitted["_set_by_fit"] = frozenset(fitted) | (self._set_by_fit - gone)
            self.__dict__ = {name: value for name, value in vars(self).items() if name not in gone} | fitted
            return self

        return cast("Fit", fit)

    return decorate


def default_kernel() -> Kernel:
    """The kernel of an estimator that was given none: normalized subset trees."""
    return SubsetTree().normalized()


class KernelEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator with a ``kernel``, whose examples are whatever that kernel takes."""

    kernel: Kernel | str | None
    n_jobs: int | None
    device: str = "cpu"
    device_memory: int | float | str | None = None
    progress: bool
    X_fit_: Any
    _kernels = "a kernel or None"
    """What `kernel` may be."""

    _fitted: ClassVar[tuple[str, ...]] = ()
    """Attributes that a fit sets, and a model file keeps."""
    _fitted_private: ClassVar[tuple[str, ...]] = ()
    """Private attributes that a fit sets, or a fitted estimator when it is used."""
    _set_by_fit: frozenset[str] = frozenset()
    """Names of all attributes that the latest fits have set; see `atomic_fit`."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also the kernel's: ``kernel__lam=0.4``. If one of them is refused, none is changed."""
        kernel, own = default_kernel() if self.kernel is None else self.kernel, self.get_params(deep=False)
        for name in params:
            first = name.partition("__")[0]
            if first not in own and isinstance(kernel, Kernel) and kernel._takes(first):
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}, its kernel has: kernel__{name}")
        with unchanged_on_error(self, *params.values()):
            if self.kernel is None and any(name.startswith("kernel__") for name in params):
                self.kernel = kernel
            super().set_params(**params)
        return self

    def _own_kernel(self) -> Kernel:
        """A checked copy of the kernel: what is done to the parameters after a fit does not touch the fit."""
        kernel = default_kernel() if self.kernel is None else self.kernel
        if isinstance(kernel, type) and issubclass(kernel, Kernel):
            raise self._refuse("kernel", f"{self._kernels}, such as {kernel.__name__}(), with brackets")
        if not isinstance(kernel, Kernel):
            raise self._refuse("kernel", self._kernels)
        kernel.validate()
        return copy.deepcopy(kernel)

    def _examples(self, kernel: Kernel, X: Any) -> Any:
        data = kernel.coerce(X)
        if len(data) == 0:
            raise self._no_examples()
        return data

    def _kept_examples(self, kernel: Kernel, X: Any) -> Any:
        """A copy of the examples with nothing that the kernel does not look at."""
        examples = self._examples(kernel, X)
        return compact_examples(
            kernel, examples[np.arange(len(examples))]
        )  # an array of the caller's may change after the fit

    _smaller = "train on fewer examples"
    """What to do where there is not enough memory."""

    @property
    def _resources(self) -> Resources:
        """The validated resources of this estimator, without progress."""
        return Resources.of(self.n_jobs, None, self.device, self.device_memory, owner=self)

    def _check_resources(self) -> None:
        """Check the execution options, and that the device exists, before anything is computed."""
        check_boolean("progress", self.progress, of=self)
        resources = self._resources
        if not isinstance(self.kernel, str):  # a precomputed matrix needs no device
            executor_for(resources)

    def _gram(self, kernel: Kernel, X: Any, Y: Any = None, *, progress: bool | None = None) -> Matrix:
        """Kernel values of examples in the kernel's form."""
        try:
            shown = self.progress if progress is None else progress
            return host_matrix(kernel, X, Y, self._resources._replace(progress=bool(shown)))
        except DeviceMemoryError:
            raise
        except NotEnoughMemoryError:  # gram's ways out are not an estimator's
            n, m = len(X), len(X if Y is None else Y)
            raise NotEnoughMemoryError(
                f"the matrix of {n:,} x {m:,} kernel values takes {8 * n * m:,} bytes, more than there is memory for: {self._smaller}"
            ) from None

    def _no_examples(self) -> ParameterError:
        return ParameterError(f"{type(self).__name__} cannot be fitted to no examples: X is empty")

    def _refuse(self, name: str, wanted: str) -> ParameterError:
        return wrong(name, wanted, getattr(self, name), of=self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.input_tags.pairwise = isinstance(self.kernel, str)
        tags.no_validation = True
        return tags

    # --- in a notebook ------------------------------------------------------------------------------------------

    # scikit-learn's diagram, and below it what was learned. By either way, since its versions differ in which they take.
    def _repr_html_inner(self) -> str:
        return f"{super()._repr_html_inner()}{learnt(self)}"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        return {kind: text + learnt(self) if kind == "text/html" else text for kind, text in bundle.items()}

    # --- in a file ----------------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        check_is_fitted(self)
        params = {name: _plain(value) for name, value in fitted_parameters(self).items() if name not in EXECUTION}
        if params["kernel"] is not None:  # what is done to it after a fit does not touch the fit, nor its file
            params["kernel"] = fitted_kernel(self)
        return {"params": params, "fitted": {name: getattr(self, name) for name in self._fitted if hasattr(self, name)}}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        params, fitted = state["params"], state["fitted"]
        if not params.keys() <= inspect.signature(cls).parameters.keys():
            raise ValueError(f"{cls.__name__} has no such parameters: {', '.join(params)}")
        if not fitted.keys() <= set(cls._fitted):
            raise ValueError(f"{cls.__name__} has no such attributes: {', '.join(fitted)}")
        estimator = cls(**params)
        for name, value in fitted.items():
            setattr(estimator, name, value)
        estimator._check_parameters()
        estimator._check_fitted_state()
        if isinstance(estimator, KernelLearner):
            estimator._fitted_with = estimator.get_params(deep=False)
        return estimator

    def _check_parameters(self) -> None:
        """ParameterError if a parameter makes no sense."""
        self._check_resources()

    def _check_fitted_state(self) -> None:
        """Raise ValueError if what was loaded does not fit together. Here: the kernel and the examples that are kept."""
        if not isinstance(getattr(self, "kernel_", None), Kernel):
            raise ValueError("the kernel is missing")
        if "X_fit_" in self._fitted:
            self.X_fit_ = self._examples(self.kernel_, self.X_fit_)


def _plain(value: Any) -> Any:
    """A parameter as it goes into a file: a random generator has no lasting value."""
    return None if hasattr(value, "random_sample") or hasattr(value, "integers") else value


class KernelLearner(KernelEstimator):
    """An estimator whose fit gives coefficients to training examples, which become a model.

    With ``kernel="precomputed"``, `fit` takes the matrix of the training examples with themselves, and predictions that of
    examples x training examples.
    """

    _kernels = "a kernel, 'precomputed' or None"
    _fitted: ClassVar[tuple[str, ...]] = ("support_", "dual_coef_", "model_", "fit_seconds_", "feature_names_in_")
    _fitted_private: ClassVar[tuple[str, ...]] = ("_fitted_with",)
    _models: ClassVar[tuple[type, ...]] = (CompressedModel, MatrixModel)

    def _kernel_and_data(self, X: Any) -> tuple[Kernel | None, Any]:
        """The kernel and the examples in its form; or None and the matrix that was given."""
        if not isinstance(self.kernel, str):
            kernel = self._own_kernel()
            return kernel, self._examples(kernel, X)
        if self.kernel != "precomputed":
            raise self._refuse("kernel", self._kernels)
        K = given_square(X)
        if not len(K):
            raise self._no_examples()
        if (names := named_columns(X)) is not None:
            self.feature_names_in_ = names
        return None, K

    def _matrix(self, kernel: Kernel | None, data: Any, rows: Any = None) -> Matrix:
        """Kernel values of the examples, or of some of them, with themselves; it may be the matrix that was given."""
        K: Matrix
        if kernel is None:
            K = data if rows is None else data[np.ix_(rows, rows)]
            return K
        chosen = data if rows is None else data[rows]
        K = self._gram(kernel, chosen)
        if not K.diagonal().any():
            warnings.warn(
                f"there is nothing to learn from: the kernel is 0 for all {len(chosen):,} examples. Are all of them missing?",
                TreeletWarning,
                stacklevel=5,
            )
        return K

    def _check_memory(self, what: str, needed: int) -> None:
        """`memory` is as for `gram`: a number of bytes, a text, or None for as much as it takes."""
        budget = parse_memory(self.memory)  # those that ask have one
        if budget is not None and needed > budget:
            raise ParameterError(
                f"{what} takes {needed:,} bytes, more than the {budget:,} of {keyword('memory')}: give more {keyword('memory')}, or {self._smaller}"
            )

    def _keep(self, kernel: Kernel | None, data: Any, support: Any, coefficients: Any) -> None:
        """Keep the support examples and their coefficients, outputs x support examples, and collapse them into a model."""
        self.support_ = np.asarray(support, np.int64)
        self.dual_coef_ = np.ascontiguousarray(coefficients)
        self.model_: Any = (
            MatrixModel(MatrixColumns(len(data), self.support_), self.dual_coef_)
            if kernel is None
            else CompressedModel.of(kernel, data[self.support_], self.dual_coef_)
        )

    def _remember(self, kernel: Kernel | None, data: Any, targets: Any, groups: Any = None) -> None:
        """Keep what it was fitted to and with, for the model's file and its card; a matrix says nothing of examples."""
        self._fitted_with = self.get_params(deep=False)
        if kernel is not None:
            self.training_ = training(compact_examples(kernel, data), targets, groups, classes=is_classifier(self))

    def _values(self, X: Any) -> Matrix:
        """Return the values of the model's outputs, examples x outputs."""
        if not hasattr(self, "model_"):  # scikit-learn's own check takes as long as a small prediction
            check_is_fitted(self)
        if isinstance(self.model_, MatrixModel):
            check_columns(X, getattr(self, "feature_names_in_", None))
        values: Matrix = self.model_.score_with(X, self._resources)
        return values

    def _check_fitted_state(self) -> None:
        if not isinstance(getattr(self, "model_", None), self._models):
            raise ValueError("the model is missing")
        whole_numbers(self.support_, 1)
        if not are_floats(self.dual_coef_, 2) or self.dual_coef_.shape != (self.model_.outputs, len(self.support_)):
            raise ValueError("coefficients, support examples and outputs do not fit")
        if not isinstance(self.fit_seconds_, dict):
            raise ValueError("the times are missing")
        names = getattr(self, "feature_names_in_", None)
        if names is not None and not (
            isinstance(self.model_, MatrixModel) and is_names(names, self.model_.support.total)
        ):
            raise ValueError("names and examples do not fit")
