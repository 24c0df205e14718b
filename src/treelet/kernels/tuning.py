"""Tunable parameters: their logarithms, their bounds, and the gradient of the matrix.

scikit-learn's Gaussian processes call these methods by name, so
``GaussianProcessClassifier(kernel=SubsetTree())`` tunes ``lam`` by itself. To fix a parameter, use
the same convention as scikit-learn's kernels: ``SubsetTree(lam=0.4, lam_bounds="fixed")``, or
``kernel.set_params(k1__factor_bounds="fixed")`` for any part of a kernel.
"""

from __future__ import annotations

import sys
import warnings
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from treelet.checks import plural, some_of
from treelet.errors import ParameterError

Matrix = NDArray[np.float64]
Bounds = tuple[float, float] | str
"""Range in which a parameter may be chosen, or ``"fixed"`` to keep the parameter as it is."""
DECAYS: Bounds = (1e-3, 1)
FACTORS: Bounds = (1e-5, 1e5)
WIDTHS: Bounds = (1e-3, 1e5)


class _Hyperparameter(NamedTuple):
    """The description of a parameter that a Gaussian process reads."""

    name: str
    value_type: str
    bounds: Bounds
    n_elements: int
    fixed: bool


def from_sklearn(kernel: object) -> bool:
    """Return whether the object is a kernel of scikit-learn, which can itself be combined with ours."""
    kernels = sys.modules.get("sklearn.gaussian_process.kernels")
    return kernels is not None and isinstance(kernel, kernels.Kernel) and not isinstance(kernel, Tunable)


@contextmanager
def unchanged_on_error(*owners: Any) -> Iterator[None]:
    """Undo all changes to the attributes of some objects, and of those nested in their parameters, if the block fails.

    The block may end by any exception, an interrupt included. All attributes are restored by one call that runs no
    Python code, so no signal is handled between two of them. Owners without parameters are ignored.
    """
    nested = (value for owner in owners if _has_parameters(owner) for value in (owner, *owner.get_params().values()))
    objects = list({id(value): value for value in nested if _has_parameters(value)}.values())
    before = [dict(vars(value)) for value in objects]
    try:
        yield
    except BaseException:
        deque(map(setattr, objects, repeat("__dict__"), before), maxlen=0)
        raise


def _has_parameters(value: Any) -> bool:
    return hasattr(value, "get_params") and hasattr(value, "__dict__") and not isinstance(value, type)


class Tunable:
    """The part of a kernel that optimizers use."""

    _tunable: ClassVar[tuple[str, ...]] = ()
    """Names of the kernel's own tunable parameters. The bounds of ``lam`` are in ``lam_bounds``."""

    requires_vector_input = False

    _registered: ClassVar[bool] = False
    """Whether our kernels are registered as scikit-learn kernels."""

    @property  # type: ignore[misc]  # nobody sets it
    def __class__(self) -> type[Self]:
        """The type, which isinstance() reads from here.

        Gaussian processes accept only subclasses of scikit-learn's kernels, and treelet's kernels must not import
        scikit-learn. treelet's kernels are therefore registered as subclasses when isinstance() is first called after
        scikit-learn's kernels were loaded. Registration cannot come earlier, because a kernel may be older than that
        module. It cannot come later, because isinstance() is the first call that a Gaussian process makes.
        """
        if not Tunable._registered:
            theirs = getattr(sys.modules.get("sklearn.gaussian_process.kernels"), "Kernel", None)
            if theirs is not None:
                theirs.register(Tunable)
                Tunable._registered = True
        return type(self)

    @abstractmethod
    def __call__(self, X: Any) -> Any:
        """Compute the matrix of X with itself."""

    @abstractmethod
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""

    def is_stationary(self) -> bool:
        """Return False: values depend on more than the difference of two examples."""
        return False

    def _tunables(self, prefix: str = "") -> Iterator[tuple[Tunable, str, _Hyperparameter]]:
        """Yield owner, attribute name and description of each tunable parameter.

        The kernel's own parameters come first, then those of its inner kernels in their order.
        """
        for name in self._tunable:
            bounds = getattr(self, f"{name}_bounds")
            yield self, name, _Hyperparameter(prefix + name, "numeric", bounds, 1, isinstance(bounds, str))
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, Tunable):
                yield from value._tunables(f"{prefix}{name}__")

    @property
    def hyperparameters(self) -> list[_Hyperparameter]:
        """All tunable parameters, including those that are fixed."""
        return [about for _, _, about in self._tunables()]

    def _free(self) -> list[tuple[Tunable, str, _Hyperparameter]]:
        """Return the tunable parameters that are not fixed."""
        return [place for place in self._tunables() if not place[2].fixed]

    @property
    def n_dims(self) -> int:
        """The number of tunable parameters that are not fixed."""
        return len(self._free())

    @property
    def bounds(self) -> Matrix:
        """The bounds of `theta`."""
        result: Matrix = np.log(np.array([about.bounds for _, _, about in self._free()], float).reshape(-1, 2))
        return result

    @property
    def theta(self) -> Matrix:
        """The logarithms of the tunable parameters that are not fixed."""
        return np.array([np.log(float(getattr(owner, name))) for owner, name, _ in self._free()])

    @theta.setter
    def theta(self, values: Any) -> None:
        places = self._free()
        if len(places) != len(values):
            raise ParameterError(
                f"theta of {self!r} must have {plural(len(places), 'value')}, one per tunable parameter. Got {len(values)}."
            )
        limits = [cast("tuple[float, float]", about.bounds) for _, _, about in places]
        new = [float(np.clip(np.exp(value), *limit)) for value, limit in zip(values, limits, strict=True)]
        owners, names = [owner for owner, _, _ in places], [name for _, name, _ in places]
        deque(map(setattr, owners, names, new), maxlen=0)  # one call: an interrupt cannot leave half of them set

    def _check_bounds_params(self) -> None:
        """Warn of parameters that ended at a bound. Gaussian processes call this at the end."""
        at_bound = np.isclose(self.theta[:, None], self.bounds)
        names = [h.name for (_, _, h), sides in zip(self._free(), at_bound, strict=True) if sides.any()]
        if names:
            ranges = [f"{name}_bounds" for name in names]
            warnings.warn(
                f"The best value of {some_of(names)} lies at a bound of its range. Widen the range in {some_of(ranges)}.",
                stacklevel=2,
            )

    def clone_with_theta(self, theta: Any) -> Self:
        """Return a copy with other values of the tunable parameters."""
        copy = self._copy()
        copy.theta = theta
        return copy

    def _copy(self) -> Self:
        params = {k: v._copy() if isinstance(v, Tunable) else v for k, v in self.get_params(deep=False).items()}
        return type(self)(**params)

    def gradient(self, X: Any) -> tuple[Matrix, NDArray[np.float64]]:
        """Compute the matrix of X with itself and its derivatives with respect to `theta`.

        Derivatives are exact, because the algorithm runs on dual numbers, and are taken with respect
        to the logarithms of the parameters.

        Parameters
        ----------
        X : collection of examples

        Returns
        -------
        K : ndarray of shape (len(X), len(X))
            The matrix.
        dK : ndarray of shape (len(X), len(X), n_dims)
            The derivatives, one matrix per parameter that is not fixed.

        Examples
        --------
        >>> from treelet import SubsetTree
        >>> K, dK = SubsetTree(lam=0.5).gradient(["(NP (D the) (N apple))"])
        >>> K.item(), dK.shape
        (2.125, (1, 1, 1))
        """
        every = list(self._tunables())
        if all(about.fixed for _, _, about in every):
            K: Matrix = self(X)
            return K, np.empty((*K.shape, 0))
        K, parts = self._gradient(X)
        parts = [part for part, (_, _, about) in zip(parts, every, strict=True) if not about.fixed]
        return K, np.stack(parts, axis=-1) if parts else np.empty((*K.shape, 0))

    @abstractmethod
    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        """Return the matrix, and its derivatives in the order of `hyperparameters`."""
