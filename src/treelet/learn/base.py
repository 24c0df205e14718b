"""What estimators that learn with a kernel have in common."""

from __future__ import annotations

import copy
import inspect
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from treelet.errors import ParameterError
from treelet.kernels import SubsetTree
from treelet.kernels.base import Kernel


def default_kernel() -> Kernel:
    """The kernel of an estimator that was given none: normalised subset trees."""
    return SubsetTree().normalized()


class KernelEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator with a ``kernel``, whose examples are whatever that kernel takes."""

    kernel: Kernel | str | None
    _fitted: ClassVar[tuple[str, ...]] = ()
    """Attributes that a fit sets, and a model file keeps."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also the kernel's: ``kernel__lam=0.4``."""
        if getattr(self, "kernel", None) is None and any(name.startswith("kernel__") for name in params):
            self.kernel = default_kernel()
        super().set_params(**params)
        return self

    def _own_kernel(self) -> Kernel:
        """A checked copy of the kernel: what is done to the parameters after a fit does not touch the fit."""
        kernel = default_kernel() if self.kernel is None else self.kernel
        if not isinstance(kernel, Kernel):
            raise ParameterError(
                f"The 'kernel' parameter of {type(self).__name__} must be a kernel or None. Got {kernel!r} instead."
            )
        kernel.validate()
        return copy.deepcopy(kernel)

    def _examples(self, kernel: Kernel, X: Any) -> Any:
        data = kernel.coerce(X)
        if len(data) == 0:
            raise ParameterError(f"{type(self).__name__} cannot be fitted to no examples: X is empty")
        return data

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.no_validation = True
        return tags

    # --- in a file ----------------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        check_is_fitted(self)
        params = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
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
        estimator._check_fitted_state()
        return estimator

    def _check_fitted_state(self) -> None:
        """Raise ValueError if what was loaded does not fit together."""


def _plain(value: Any) -> Any:
    """A parameter as it goes into a file: a random generator has no lasting value."""
    return None if hasattr(value, "random_sample") or hasattr(value, "integers") else value
