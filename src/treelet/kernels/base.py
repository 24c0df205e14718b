"""Base class of all kernels: self-values, algebra, and the call that computes a matrix."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treelet.errors import ParameterError
from treelet.kernels.pairwise import Matrix, Needs, Pairwise, Vector, overflow
from treelet.kernels.tuning import WIDTHS, Bounds, Tunable, from_sklearn
from treelet.shown import Tabled

if TYPE_CHECKING:
    from treelet.kernels.algebra import Product, Scale, Sum
    from treelet.kernels.wrapped import Distance, Gaussian, Normalized, PolynomialOf


class Kernel(Pairwise, Tunable, Tabled):
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
        inner = [value for value in self.get_params(deep=False).values() if isinstance(value, Kernel)]
        parts = [kernel.needs(X, enough // len(inner)) for kernel in inner]
        scratch = max((part.scratch for part in parts), default=0)
        return Needs(sum(part.index for part in parts), sum(part.thread for part in parts), scratch)

    def diag(self, X: Any) -> Vector:
        """Return the diagonal of the kernel matrix, K(x, x) for each x, without computing the matrix.

        Parameters
        ----------
        X : collection of examples

        Returns
        -------
        ndarray of shape (len(X),)

        Raises
        ------
        KernelOverflowError
            If a value does not fit a float64.

        Examples
        --------
        >>> from treelet import SubsetTree
        >>> SubsetTree(lam=1).diag(["(D the)", "(NP (D the) (N apple))"])
        array([1., 6.])
        """
        values = self.self_values(self.coerce(X))
        large = np.flatnonzero(~np.isfinite(values))
        if len(large):
            raise overflow(self, int(large[0]), int(large[0]))
        return values.copy()

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
        from treelet.kernels.wrapped import Distance

        return Distance(self)

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        if self.hyperparameters:
            raise ParameterError(f"{self!r} does not define a gradient with respect to its parameters.")
        return self(X), []

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
        from treelet.kernels.wrapped import Normalized

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
        from treelet.kernels.wrapped import Gaussian

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
        from treelet.kernels.wrapped import PolynomialOf

        return PolynomialOf(self, degree, coef0)

    def __add__(self, other: Kernel | float) -> Sum:
        if from_sklearn(other):
            return NotImplemented  # scikit-learn's kernel then adds ours
        from treelet.kernels.algebra import Sum, as_kernel

        return Sum(self, as_kernel(other))

    def __radd__(self, other: float) -> Kernel:
        if isinstance(other, int) and other == 0:  # the start value of sum()
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
    """A kernel that transforms the values of a single inner kernel, on the same data."""

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
