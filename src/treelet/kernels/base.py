"""Base class of all kernels: self-values, algebra, tuning, and the call that computes a matrix."""

from __future__ import annotations

import sys
import warnings
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article, plural, some_of
from treelet.errors import InputTypeError, ParameterError
from treelet.kernels.pairwise import Matrix, Needs, Pairwise, Vector, overflow
from treelet.kernels.parameters import WIDTHS, Bounds
from treelet.shown import Tabled

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from treelet.kernels.algebra import Distance, Gaussian, Normalized, PolynomialOf, Product, Scale, Sum


class _Hyperparameter(NamedTuple):
    """The description of a parameter that a Gaussian process reads."""

    name: str
    value_type: str
    bounds: Bounds
    n_elements: int
    fixed: bool


class Kernel(Pairwise, Tabled):
    """Base class of all kernels: positive semi-definite similarities of two examples.

    Call a kernel like a function: ``k(X)`` or ``k(X, Y)`` returns a matrix. Combine kernels with
    ``+``, ``*`` and numbers. Parameters follow scikit-learn's conventions: `get_params`,
    `set_params`, ``clone``, and nested names with ``__``. Several threads may share a kernel as
    long as none of them sets its parameters.

    Examples
    --------
    >>> import treelet as tl
    >>> kernel = 0.5 * tl.SubsetTree(lam=0.4).normalized() + tl.Subtree()
    >>> kernel(["(D a)", "(D the)"])
    array([[1.5, 0. ],
           [0. , 1.5]])
    """

    _tunable: ClassVar[tuple[str, ...]] = ()
    """Names of the kernel's own tunable parameters. The bounds of ``lam`` are in ``lam_bounds``."""

    # --- values -------------------------------------------------------------------------------------------------

    @abstractmethod
    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        """Return K(x, x) for each x, with inf where the value does not fit a float64.

        With `logs`, return log K(x, x), with -inf where the value is 0.
        """

    def cache_self_values(self, X: Any, threads: int) -> None:
        """Compute self-values in several threads, if the examples cache them.

        The default does nothing.
        """

    def needs(self, X: Any, enough: int = 0) -> Needs:
        inner = self._inner()
        parts = [kernel.needs(X, enough // len(inner)) for kernel in inner]
        scratch = max((part.scratch for part in parts), default=0)
        return Needs(sum(part.index for part in parts), sum(part.thread for part in parts), scratch)

    def diag(self, X: Any, Y: Any | None = None) -> Vector:
        if Y is not None:
            return super().diag(X, Y)
        values = self.self_values(self.coerce(X))
        large = np.flatnonzero(~np.isfinite(values))
        if len(large):
            raise overflow(self, int(large[0]), int(large[0]))
        return values.copy()

    diag.__doc__ = Pairwise.diag.__doc__

    def __call__(  # scikit-learn passes the third argument by position
        self,
        X: Any,
        Y: Any | None = None,
        eval_gradient: bool = False,
        *,
        n_jobs: int | None = 1,
        progress: bool | None = None,
        out: Any = None,
    ) -> Matrix:
        """Compute the kernel matrix of X with Y, or of X with itself.

        Parameters
        ----------
        X : collection of examples
            Rows of the matrix. Tree kernels accept a `Treebank`, a list of `Tree` objects,
            bracketed strings or nltk trees, or an array of them.
        Y : collection of examples, optional
            Columns of the matrix. Default: X.
        eval_gradient : bool, default False
            Also return the derivatives with respect to `theta`, as Gaussian processes need them.
            Cannot be combined with Y or `out`.
        n_jobs : int, default 1
            Number of threads; -1 uses one thread per core. The result does not depend on `n_jobs`.
        progress : bool, optional
            Show a progress bar on standard error. Default: as in `treelet.config_context`.
        out : ndarray or path, optional
            Destination, as for `treelet.gram`: an array of float64 or float32, or the name of a
            ``.npy`` file.

        Returns
        -------
        ndarray of shape (len(X), len(Y))
            With `eval_gradient`, a pair: the matrix, and an array of shape
            ``(len(X), len(X), n_dims)``.

        Examples
        --------
        >>> from treelet import SubsetTree
        >>> SubsetTree(lam=1)(["(NP (D the) (N apple))"], ["(NP (D the) (N pear))", "(D the)"])
        array([[3., 1.]])
        """
        if not isinstance(eval_gradient, (bool, np.bool_)):
            raise ParameterError(
                "A kernel takes only X and Y by position. Pass other options by name, such as n_jobs=-1 or progress=True."
            )
        if eval_gradient:
            if Y is not None or out is not None:
                raise ParameterError(
                    "The gradient is available only for a new matrix of X with itself. Omit Y and out=."
                )
            return self.gradient(X)  # type: ignore[return-value]  # only Gaussian processes request the pair
        return super().__call__(X, Y, n_jobs=n_jobs, progress=progress, out=out)

    def distance(self) -> Distance:
        """Return the distance in the feature space of this kernel, which is called like a kernel.

        The distance of x and y is ``sqrt(K(x, x) - 2 K(x, y) + K(y, y))``; see `Distance`.

        Examples
        --------
        >>> from treelet import SubsetTree
        >>> SubsetTree(lam=1).distance()(["(NP (D a) (N dog))", "(NP (D a) (N cat))", "(D a)"]).round(3)
        array([[0.   , 2.449, 2.236],
               [2.449, 0.   , 2.236],
               [2.236, 2.236, 0.   ]])
        """
        from treelet.kernels.algebra import Distance

        return Distance(self)

    # --- algebra ------------------------------------------------------------------------------------------------

    def normalized(self) -> Normalized:
        """Return the normalized kernel, ``K(x, y) / sqrt(K(x, x) K(y, y))``.

        The value is 0 if K(x, x) or K(y, y) is 0. Normalized values never overflow, even where K
        does. See `Normalized`.

        Examples
        --------
        >>> from treelet import SubsetTree
        >>> SubsetTree(lam=1).normalized()(["(NP (D a) (N dog))", "(NP (D a) (N cat))"])
        array([[1. , 0.5],
               [0.5, 1. ]])
        """
        from treelet.kernels.algebra import Normalized

        return Normalized(self)

    def gaussian(self, sigma: float, *, sigma_bounds: Bounds = WIDTHS) -> Gaussian:
        """Return the Gaussian kernel ``exp(-(K(x, x) - 2 K(x, y) + K(y, y)) / sigma**2)``.

        Parameters
        ----------
        sigma : float
            Width, in (0, inf): the distance at which the value falls to 1/e.
        sigma_bounds : pair of numbers or "fixed", default (0.001, 100000)
            Range in which a Gaussian process may choose `sigma`.

        Examples
        --------
        >>> from treelet import SubsetTree
        >>> SubsetTree(lam=1).normalized().gaussian(sigma=1.0)(["(D a)", "(D the)"]).round(3)
        array([[1.   , 0.135],
               [0.135, 1.   ]])
        """
        from treelet.kernels.algebra import Gaussian

        return Gaussian(self, sigma, sigma_bounds=sigma_bounds)

    def polynomial(self, degree: int, coef0: float = 0.0) -> PolynomialOf:
        """Return the polynomial kernel ``(K(x, y) + coef0) ** degree``.

        Parameters
        ----------
        degree : int
            Number of features per product, at least 1.
        coef0 : float, default 0.0
            Weight of products of fewer features, in [0, inf).

        Examples
        --------
        >>> from treelet import SubsetTree
        >>> SubsetTree(lam=1).polynomial(degree=2)(["(NP (D a) (N dog))", "(D a)"])
        array([[36.,  1.],
               [ 1.,  1.]])
        """
        from treelet.kernels.algebra import PolynomialOf

        return PolynomialOf(self, degree, coef0)

    def __add__(self, other: Kernel | float) -> Sum:
        if _is_sklearn_kernel(other):
            return NotImplemented  # scikit-learn's kernel then adds ours
        from treelet.kernels.algebra import Sum

        return Sum(self, _as_kernel(other))

    def __radd__(self, other: float) -> Kernel:
        if isinstance(other, int) and other == 0:  # the start value of sum()
            return self
        from treelet.kernels.algebra import Sum

        return Sum(_as_kernel(other), self)

    def __mul__(self, other: Kernel | float) -> Product | Scale:
        if _is_sklearn_kernel(other):
            return NotImplemented
        from treelet.kernels.algebra import Product, Scale

        return Product(self, other) if isinstance(other, Kernel) else Scale(other, self)

    def __rmul__(self, other: float) -> Scale:
        from treelet.kernels.algebra import Scale

        return Scale(other, self)

    # --- tuning: the methods that scikit-learn's Gaussian processes call ----------------------------------------

    requires_vector_input = False

    def is_stationary(self) -> bool:
        """Return False: values depend on more than the difference of two examples."""
        return False

    def _tunables(self, prefix: str = "") -> Iterator[tuple[Kernel, str, _Hyperparameter]]:
        """Yield owner, attribute name and description of each tunable parameter.

        The kernel's own parameters come first, then those of its inner kernels in their order.
        """
        for name in self._tunable:
            bounds = getattr(self, f"{name}_bounds")
            yield self, name, _Hyperparameter(prefix + name, "numeric", bounds, 1, isinstance(bounds, str))
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, Kernel):
                yield from value._tunables(f"{prefix}{name}__")

    @property
    def hyperparameters(self) -> list[_Hyperparameter]:
        """All tunable parameters, including those that are fixed."""
        return [about for _, _, about in self._tunables()]

    def _free(self) -> list[tuple[Kernel, str, _Hyperparameter]]:
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
        params = {k: v._copy() if isinstance(v, Kernel) else v for k, v in self.get_params(deep=False).items()}
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

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        if self.hyperparameters:
            raise ParameterError(f"{self!r} does not define a gradient with respect to its parameters.")
        return self(X), []


def _as_kernel(value: object) -> Kernel:
    """Return the value if it is a kernel; return a number as a constant kernel."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        from treelet.kernels.algebra import Constant

        return Constant(value)  # type: ignore[arg-type]
    raise InputTypeError(
        f"A kernel can be combined only with a kernel or a number. Got {article(type(value).__name__)}."
    )


# --- kernels of scikit-learn --------------------------------------------------------------------------------------

_SKLEARN = "sklearn.gaussian_process.kernels"


def _is_sklearn_kernel(kernel: object) -> bool:
    """Return whether the object is a kernel of scikit-learn, which can itself be combined with ours."""
    theirs = sys.modules.get(_SKLEARN)
    return theirs is not None and isinstance(kernel, theirs.Kernel) and not isinstance(kernel, Kernel)


class _Registration(MetaPathFinder):
    """Registers `Kernel` as a subclass of scikit-learn's kernels when their module is imported.

    Gaussian processes accept only such subclasses, and treelet's kernels must not import scikit-learn.
    """

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != _SKLEARN:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_register(module: Any) -> None:
                run(module)
                module.Kernel.register(Kernel)

            spec.loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec


if _SKLEARN in sys.modules:
    sys.modules[_SKLEARN].Kernel.register(Kernel)
else:
    sys.meta_path.insert(0, _Registration())
