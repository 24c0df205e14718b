"""What every kernel has in common: parameters, algebra, and how it is called."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from treelet.errors import ParameterError
from treelet.kernels.pairwise import Matrix, Needs, Pairwise, Vector, overflow
from treelet.kernels.tuning import WIDTHS, Bounds, Tunable, from_sklearn, unchanged_on_error
from treelet.shown import Tabled

if TYPE_CHECKING:
    from treelet.kernels.algebra import Product, Scale, Sum
    from treelet.kernels.distance import Distance
    from treelet.kernels.wrapped import Gaussian, Normalized, PolynomialOf


class Kernel(Tunable, Tabled, Pairwise):
    """A positive semi-definite similarity.

    Kernels are called like functions, ``k(X)`` or ``k(X, Y)``, and combined with ``+``, ``*`` and numbers.
    Parameters follow scikit-learn: ``get_params``, ``set_params``, ``clone``, nested names with ``__``. Threads may share a kernel
    as long as none of them sets its parameters.
    """

    # --- parameters ---------------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Raise `ParameterError` if a parameter makes no sense."""

    _attributes: ClassVar[dict[str, str]] = {}
    """Where a parameter is kept whose name an attribute of all kernels has."""

    def _parameter_names(self) -> list[str]:
        return list(_names_of(type(self)))

    @classmethod
    def _unknown(cls, names: Iterable[str]) -> list[str]:
        """Which of these can be no parameters of such a kernel."""
        return [name for name in names if name not in _names_of(cls)]

    def _set(self, name: str, value: Any) -> None:
        setattr(self, self._attributes.get(name, name), value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep``, those of inner kernels as ``outer__inner``."""
        params: dict[str, Any] = {}
        for name in self._parameter_names():
            value = params[name] = getattr(self, self._attributes.get(name, name))
            if deep and isinstance(value, Kernel):
                params.update({f"{name}__{key}": inner for key, inner in value.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, also nested ones, and return the kernel. If one is refused, none is changed."""
        known = self._parameter_names()
        nested: dict[str, dict[str, Any]] = {}
        before = self.get_params(deep=False)
        with unchanged_on_error(self, *params.values()):
            for key, value in params.items():
                name, _, rest = key.partition("__")
                if name not in known and isinstance(before.get("kernel"), Kernel) and before["kernel"]._takes(name):
                    name, rest = "kernel", key  # a kernel around one kernel: k.normalized().set_params(lam=0.2)
                if name not in known:
                    raise self._no_parameter(name, before)
                if rest:
                    nested.setdefault(name, {})[rest] = value
                else:
                    self._set(name, value)
            for name, inner in nested.items():
                if not isinstance(getattr(self, name), Kernel):
                    raise ParameterError(f"{type(self).__name__}.{name} is no kernel, it has no parameters of its own")
                getattr(self, name).set_params(**inner)
            self.validate()
        return self

    def _no_parameter(self, name: str, there: dict[str, Any]) -> ParameterError:
        inner = [key for key, value in there.items() if isinstance(value, Kernel) and value._takes(name)]
        hint = f". Say whose it is: {' or '.join(f'{key}__{name}' for key in inner)}" if inner else ""
        if name == "factor" and not inner:
            hint = ". It has a factor if it is made with one: 1.0 * kernel"
        more, around = [], there.get("kernel")
        while isinstance(around, Kernel):
            more += [own for own in around._parameter_names() if own not in more and own not in there]
            around = getattr(around, "kernel", None)
        within = f", and within it {more}" if more else ""
        return ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {list(there)}{within}{hint}")

    def _takes(self, name: str) -> bool:
        """Whether the parameter is this kernel's, or that of the one kernel it is around."""
        inner = getattr(self, "kernel", None)
        return name in self._parameter_names() or (isinstance(inner, Kernel) and inner._takes(name))

    def _identity(self) -> Hashable:
        """What tells this kernel, with its parameters as they are, from all others; a parameter of yours may be no key."""
        return type(self), tuple((name, _frozen(value)) for name, value in self.get_params(deep=False).items())

    def _key(self, logs: bool) -> Hashable | None:
        """Under what self-values are remembered; None if they cannot be."""
        try:
            key = self._identity(), logs
            hash(key)
        except TypeError:
            return None
        return key

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.get_params(deep=False) == other.get_params(deep=False)

    __hash__ = None  # type: ignore[assignment]  # parameters can change

    def __repr__(self) -> str:
        given = []
        defaults = inspect.signature(type(self).__init__).parameters
        for name, value in self.get_params(deep=False).items():
            if name not in defaults or value != defaults[name].default or name in self._always_shown:
                plain = value.item() if isinstance(value, np.generic) else value
                given.append(f"{name}={plain!r}")
        return f"{type(self).__name__}({', '.join(given)})"

    _always_shown: tuple[str, ...] = ()

    # --- values -------------------------------------------------------------------------------------------------

    @abstractmethod
    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        """K(x, x) for each x, inf where it does not fit a float64; or log K(x, x), -inf where it is 0."""

    def cache_self_values(self, X: Any, threads: int) -> None:
        """Compute self-values in several threads, if the examples cache them. The default does nothing."""

    def needs(self, X: Any, enough: int = 0) -> Needs:
        inner = [value for value in self.get_params(deep=False).values() if isinstance(value, Kernel)]
        parts = [kernel.needs(X, enough // len(inner)) for kernel in inner]
        scratch = max((part.scratch for part in parts), default=0)
        return Needs(sum(part.index for part in parts), sum(part.thread for part in parts), scratch)

    def diag(self, X: Any) -> Vector:
        """K(x, x) for each x.

        Costs the matched pairs within each example, not a matrix.
        """
        values = self.self_values(self.coerce(X))
        large = np.flatnonzero(~np.isfinite(values))
        if len(large):
            raise overflow(self, int(large[0]), int(large[0]))
        return values.copy()

    def __call__(
        self,
        X: Any,
        Y: Any | None = None,
        eval_gradient: bool = False,
        *,
        n_jobs: int | None = 1,
        progress: bool = False,
        out: Any = None,
        limit: Any = None,
    ) -> Matrix:
        """The matrix of kernel values, ``len(X)`` x ``len(Y)`` (Y: X if not given).

        Parameters
        ----------
        X, Y : collections
            Trees, for tree kernels: a Treebank, Trees, bracketed strings, nltk trees, an array of them.
        eval_gradient : bool
            Also give the derivatives by `theta`, as Gaussian processes ask for them; only without Y.
        n_jobs : int
            Threads; -1 for one a core. The result is the same whatever their number.
        progress : bool
            Show a progress bar.
        out : ndarray or str, optional
            Where the result goes, as for `treelet.gram`: an array of float64 or float32, or the name of a .npy file.
        limit : number, str or dict, optional
            Refuse what costs more pairs, or more bytes, as for `treelet.gram`; see `cost`.
        """
        if not isinstance(eval_gradient, (bool, np.bool_)):
            raise ParameterError("A kernel takes X and Y; n_jobs=, progress= and out= go by their names.")
        if eval_gradient:
            if Y is not None or out is not None:
                raise ParameterError(
                    "The gradient is only there for a new matrix of X with itself: leave Y out, and out= too."
                )
            return self.gradient(X)  # type: ignore[return-value]  # only Gaussian processes ask for a pair
        from treelet.gram.matrix import gram  # a kernel is called like a function, so this import goes to the right

        return gram(self, X, Y, n_jobs=n_jobs, progress=progress, out=out, limit=limit)

    def distance(self) -> Distance:
        """sqrt(K(x, x) - 2 K(x, y) + K(y, y)): how far two examples are apart in the kernel's space; called like a kernel."""
        from treelet.kernels.distance import Distance

        return Distance(self)

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        if self.hyperparameters:
            raise ParameterError(f"there is no gradient of {self!r} by its parameters")
        return self(X), []

    # --- algebra ------------------------------------------------------------------------------------------------

    def normalized(self) -> Normalized:
        """K(x, y) / sqrt(K(x, x) K(y, y)), 0 where a self-value is 0. Never overflows."""
        from treelet.kernels.wrapped import Normalized

        return Normalized(self)

    def gaussian(self, sigma: float, *, sigma_bounds: Bounds = WIDTHS) -> Gaussian:
        """exp(-(K(x, x) - 2 K(x, y) + K(y, y)) / sigma**2)."""
        from treelet.kernels.wrapped import Gaussian

        return Gaussian(self, sigma, sigma_bounds=sigma_bounds)

    def polynomial(self, degree: int, coef0: float = 0.0) -> PolynomialOf:
        """(K(x, y) + coef0) ** degree."""
        from treelet.kernels.wrapped import PolynomialOf

        return PolynomialOf(self, degree, coef0)

    def __add__(self, other: Kernel | float) -> Sum:
        if from_sklearn(other):
            return NotImplemented  # theirs adds ours
        from treelet.kernels.algebra import Sum, as_kernel

        return Sum(self, as_kernel(other))

    def __radd__(self, other: float) -> Kernel:
        if isinstance(other, int) and other == 0:  # where sum() starts
            return self
        from treelet.kernels.algebra import Sum, as_kernel

        return Sum(as_kernel(other), self)

    def __mul__(self, other: Kernel | float) -> Product | Scale:
        if from_sklearn(other):
            return NotImplemented
        from treelet.kernels.algebra import Product, Scale

        return Product(self, other) if isinstance(other, Kernel) else Scale(other, self)

    def __rmul__(self, other: float) -> Scale:
        from treelet.kernels.algebra import Scale

        return Scale(other, self)


class WrappedKernel(Kernel):
    """A kernel around one kernel, on the same data."""

    kernel: Kernel
    _uses_self_values: ClassVar[bool] = False
    """Whether an evaluator needs the self-values of the inner kernel."""

    def coerce(self, X: Any) -> Any:
        return self.kernel.coerce(X)

    def with_cached_index(self, X: Any) -> Any:
        return self.kernel.with_cached_index(X)

    def prepare(self, X: Any, Y: Any | None, threads: int) -> None:
        if self._uses_self_values:
            self.cache_self_values(X, threads)
            if Y is not None:
                self.cache_self_values(Y, threads)
        self.kernel.prepare(X, Y, threads)

    def cache_self_values(self, X: Any, threads: int) -> None:
        self.kernel.cache_self_values(X, threads)


@lru_cache(256)
def _names_of(kernel: type[Kernel]) -> tuple[str, ...]:
    """The parameters of a kernel, by their names; asked for by every matrix, however small."""
    return tuple(name for name in inspect.signature(kernel.__init__).parameters if name != "self")


PLAIN = (int, float, bool, str, type(None))


def _frozen(value: Any) -> Hashable:
    """A parameter as part of a key."""
    if type(value) in PLAIN:  # checks for abstract classes cost more than the rest of a small call
        return value  # type: ignore[no-any-return]
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    if isinstance(value, Kernel):
        return value._identity()
    if isinstance(value, Mapping):
        return frozenset((key, _frozen(item)) for key, item in value.items())
    return value  # type: ignore[no-any-return]


class Itself:
    """An object as a part of a key: the same one, not one that equals it."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)
