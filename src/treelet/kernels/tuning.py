"""Parameters that can be learnt: their logarithms, bounds, and the gradient of the matrix by them.

The names are those that scikit-learn's Gaussian processes call, so that ``GaussianProcessClassifier(kernel=SubsetTree())``
tunes ``lam`` by itself. What they must leave alone is fixed as theirs are: ``SubsetTree(lam=0.4, lam_bounds="fixed")``, or
for any part of a kernel ``kernel.set_params(k1__factor_bounds="fixed")``.
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

from treelet.errors import ParameterError

Matrix = NDArray[np.float64]
Bounds = tuple[float, float] | str
"""Between which values a parameter may be chosen; or ``"fixed"``: it is left alone."""
DECAYS: Bounds = (1e-3, 1)
FACTORS: Bounds = (1e-5, 1e5)
WIDTHS: Bounds = (1e-3, 1e5)


class Hyperparameter(NamedTuple):
    """What a Gaussian process wants to know of a parameter."""

    name: str
    value_type: str
    bounds: Bounds
    n_elements: int
    fixed: bool


def from_sklearn(kernel: object) -> bool:
    """Whether it is a kernel of scikit-learn's own, which knows how to be added to and multiplied by ours."""
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
    """The part of a kernel that optimisers see."""

    _tunable: ClassVar[tuple[str, ...]] = ()
    """Own positive real parameters that can be learnt; a parameter ``lam`` has its bounds in another, ``lam_bounds``."""

    requires_vector_input = False

    _registered: ClassVar[bool] = False
    """Whether scikit-learn's Gaussian processes take our kernels for theirs."""

    @property  # type: ignore[misc]  # nobody sets it
    def __class__(self) -> type[Self]:
        """The type, which isinstance() reads from here.

        Gaussian processes accept subclasses of scikit-learn's kernels only, and ours must not import scikit-learn. They are
        registered as such when isinstance() is first called after scikit-learn's kernels were loaded. Registration cannot
        come earlier, since a kernel may be older than that module, nor later, since isinstance() is the first call that
        a Gaussian process makes.
        """
        if not Tunable._registered:
            theirs = getattr(sys.modules.get("sklearn.gaussian_process.kernels"), "Kernel", None)
            if theirs is not None:
                theirs.register(Tunable)
                Tunable._registered = True
        return type(self)

    @abstractmethod
    def __call__(self, X: Any) -> Any:
        """The matrix of X with itself."""

    @abstractmethod
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""

    def is_stationary(self) -> bool:
        """False: values depend on more than a difference."""
        return False

    def _tunables(self, prefix: str = "") -> Iterator[tuple[Tunable, str, Hyperparameter]]:
        """Owner, own name, and what is said of it: own ones first, then those of inner kernels in their order."""
        for name in self._tunable:
            bounds = getattr(self, f"{name}_bounds")
            yield self, name, Hyperparameter(prefix + name, "numeric", bounds, 1, isinstance(bounds, str))
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, Tunable):
                yield from value._tunables(f"{prefix}{name}__")

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """All parameters that can be learnt, and those that are fixed."""
        return [about for _, _, about in self._tunables()]

    def _free(self) -> list[tuple[Tunable, str, Hyperparameter]]:
        """Those that are not fixed."""
        return [place for place in self._tunables() if not place[2].fixed]

    @property
    def n_dims(self) -> int:
        """How many parameters can be learnt."""
        return len(self._free())

    @property
    def bounds(self) -> Matrix:
        """Bounds of `theta`."""
        result: Matrix = np.log(np.array([about.bounds for _, _, about in self._free()], float).reshape(-1, 2))
        return result

    @property
    def theta(self) -> Matrix:
        """The logarithms of the parameters that can be learnt and are not fixed."""
        return np.array([np.log(float(getattr(owner, name))) for owner, name, _ in self._free()])

    @theta.setter
    def theta(self, values: Any) -> None:
        places = self._free()
        if len(places) != len(values):
            raise ParameterError(f"{self!r} has {len(places)} parameters to learn, got {len(values)} values")
        limits = [cast("tuple[float, float]", about.bounds) for _, _, about in places]
        new = [float(np.clip(np.exp(value), *limit)) for value, limit in zip(values, limits, strict=True)]
        owners, names = [owner for owner, _, _ in places], [name for _, name, _ in places]
        deque(map(setattr, owners, names, new), maxlen=0)  # one call: an interrupt cannot leave half of them set

    def _check_bounds_params(self) -> None:
        """Gaussian processes call this when they are done: say which parameters ended at a bound."""
        at_bound = np.isclose(self.theta[:, None], self.bounds)
        names = [h.name for (_, _, h), sides in zip(self._free(), at_bound, strict=True) if sides.any()]
        if names:
            warnings.warn(f"the best value of {', '.join(names)} lies at a bound of what was tried", stacklevel=2)

    def clone_with_theta(self, theta: Any) -> Self:
        """A copy with other values of the parameters that can be learnt."""
        copy = self._copy()
        copy.theta = theta
        return copy

    def _copy(self) -> Self:
        params = {k: v._copy() if isinstance(v, Tunable) else v for k, v in self.get_params(deep=False).items()}
        return type(self)(**params)

    def gradient(self, X: Any) -> tuple[Matrix, NDArray[np.float64]]:
        """The matrix of X with itself, and its derivatives by `theta`: n x n x parameters.

        Derivatives are exact (the algorithm is run on dual numbers), and by the logarithms of the parameters.

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
        """The matrix, and one matrix of derivatives a parameter in the order of `hyperparameters`."""
