"""What every kernel has in common: parameters, algebra, and how it is evaluated.

A kernel says the mathematics. `Kernel.evaluator` binds it to data; the evaluator fills horizontal strips of the
matrix when asked, from any thread. Who asks, in which order and into which memory, is the business of `treelet.gram`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from treelet.errors import ParameterError
from treelet.kernels.tuning import WIDTHS, Bounds, Tunable
from treelet.shown import Tabled

if TYPE_CHECKING:
    from treelet.kernels.algebra import Product, Scale, Sum
    from treelet.kernels.wrapped import Gaussian, Normalized, PolynomialOf

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


class Needs(NamedTuple):
    """Bytes, at most: of an index over some columns, and of what one thread takes to make it or to work with it."""

    index: int  # type: ignore[assignment]  # a tuple has a method of that name
    thread: int


class Evaluator(ABC):
    """A kernel bound to rows and columns.

    `fill` may be called from several threads at once. By halves (only where rows and columns are the same data),
    row ``i`` gets columns ``0..i``, and ``out`` has ``end`` columns; what lies right of the diagonal is undefined.
    A logarithmic evaluator writes log K (-inf for 0) instead of K.
    """

    n_rows: int
    n_columns: int

    @abstractmethod
    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        """Write rows ``begin..end`` of the matrix into ``out``."""

    scratch = 0
    """Matrices of the strip's size that `fill` needs besides ``out``."""


class Kernel(Tunable, Tabled, ABC):
    """A positive semi-definite similarity.

    Kernels are called like functions, ``k(X)`` or ``k(X, Y)``, and combined with ``+``, ``*`` and numbers.
    Parameters follow scikit-learn: ``get_params``, ``set_params``, ``clone``, nested names with ``__``.
    """

    # --- parameters ---------------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Raise `ParameterError` if a parameter makes no sense."""

    _attributes: ClassVar[dict[str, str]] = {}
    """Where a parameter is kept whose name an attribute of all kernels has."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

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
        """Set parameters by name, also nested ones, and return the kernel."""
        known = self._parameter_names()
        nested: dict[str, dict[str, Any]] = {}
        before = self.get_params(deep=False)
        inside = {name: value.get_params() for name, value in before.items() if isinstance(value, Kernel)}
        try:
            for key, value in params.items():
                name, _, rest = key.partition("__")
                if name not in known and isinstance(before.get("kernel"), Kernel) and before["kernel"]._takes(name):
                    name, rest = "kernel", key  # a kernel around one kernel: k.normalized().set_params(lam=0.2)
                if name not in known:
                    raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {known}")
                if rest:
                    nested.setdefault(name, {})[rest] = value
                else:
                    self._set(name, value)
            for name, inner in nested.items():
                if not isinstance(getattr(self, name), Kernel):
                    raise ParameterError(f"{type(self).__name__}.{name} is no kernel, it has no parameters of its own")
                getattr(self, name).set_params(**inner)
            self.validate()
        except ParameterError:
            for name, value in before.items():
                self._set(name, value)
                if name in inside:
                    value.set_params(**inside[name])
            raise
        return self

    def _takes(self, name: str) -> bool:
        """Whether the parameter is this kernel's, or that of the one kernel it is around."""
        inner = getattr(self, "kernel", None)
        return name in self._parameter_names() or (isinstance(inner, Kernel) and inner._takes(name))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.get_params(deep=False) == other.get_params(deep=False)

    __hash__ = None  # type: ignore[assignment]  # parameters can change

    def __repr__(self) -> str:
        given = []
        signature = inspect.signature(type(self).__init__)
        for name, value in self.get_params(deep=False).items():
            if value != signature.parameters[name].default or name in self._always_shown:
                plain = value.item() if isinstance(value, np.generic) else value
                given.append(f"{name}={plain!r}")
        return f"{type(self).__name__}({', '.join(given)})"

    _always_shown: tuple[str, ...] = ()

    # --- values -------------------------------------------------------------------------------------------------

    @abstractmethod
    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        """Bind the kernel to data: rows X, columns Y (None: X again)."""

    @abstractmethod
    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        """K(x, x) for each x, inf where it does not fit a float64; or log K(x, x), -inf where it is 0."""

    @abstractmethod
    def coerce(self, X: Any) -> Any:
        """The data in the form that this kernel works on: something with a length that can be sliced."""

    def needs(self, X: Any, enough: int = 0) -> Needs:
        """The memory that an evaluator takes whose columns are X, estimated before it is made.

        Where it surely is below `enough`, a rough bound will do.
        """
        inner = [value for value in self.get_params(deep=False).values() if isinstance(value, Kernel)]
        parts = [kernel.needs(X, enough // len(inner)) for kernel in inner]
        return Needs(sum(part.index for part in parts), sum(part.thread for part in parts))

    def diag(self, X: Any) -> Vector:
        """K(x, x) for each x.

        Costs the matched pairs within each example, not a matrix.
        """
        values = self.self_values(self.coerce(X))
        large = np.flatnonzero(~np.isfinite(values))
        if len(large):
            raise overflow(self, int(large[0]), int(large[0]))
        return values.copy()

    @overload
    def __call__(
        self,
        X: Any,
        Y: Any | None = None,
        eval_gradient: Literal[False] = False,
        *,
        n_jobs: int | None = 1,
        progress: bool = False,
    ) -> Matrix: ...
    @overload
    def __call__(self, X: Any, Y: None = None, *, eval_gradient: Literal[True]) -> tuple[Matrix, Matrix]: ...
    def __call__(
        self,
        X: Any,
        Y: Any | None = None,
        eval_gradient: bool = False,
        *,
        n_jobs: int | None = 1,
        progress: bool = False,
    ) -> Matrix | tuple[Matrix, Matrix]:
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
        """
        if not isinstance(eval_gradient, (bool, np.bool_)):
            raise ParameterError("A kernel takes X and Y; n_jobs= and progress= go by their names.")
        if eval_gradient:
            if Y is not None:
                raise ParameterError("The gradient is only there for a matrix of X with itself: leave Y out.")
            return self.gradient(X)
        from treelet.gram import gram  # the one import to the right: a kernel is called like a function

        return gram(self, X, Y, n_jobs=n_jobs, progress=progress)

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
        from treelet.kernels.algebra import Sum, as_kernel

        return Sum(self, as_kernel(other))

    def __radd__(self, other: float) -> Kernel:
        if isinstance(other, int) and other == 0:  # where sum() starts
            return self
        from treelet.kernels.algebra import Sum, as_kernel

        return Sum(as_kernel(other), self)

    def __mul__(self, other: Kernel | float) -> Product | Scale:
        from treelet.kernels.algebra import Product, Scale

        return Product(self, other) if isinstance(other, Kernel) else Scale(other, self)

    def __rmul__(self, other: float) -> Scale:
        from treelet.kernels.algebra import Scale

        return Scale(other, self)


def overflow(kernel: Kernel, row: int, column: int) -> Exception:
    """The error for a value that does not fit a float64."""
    from treelet.errors import KernelOverflowError

    where = f"example {row} with itself" if row == column else f"examples {row} and {column}"
    return KernelOverflowError(
        f"the value of {kernel!r} for {where} does not fit a float64: self-values grow exponentially with the size of the example. "
        "Use a smaller lam=, or kernel.normalized(), which stays right"
    )
