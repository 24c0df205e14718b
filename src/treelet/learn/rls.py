"""Regularized least squares over any kernel, by one decomposition of the matrix or by conjugate gradients."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from treelet.checks import check_integer, check_one_of, is_number
from treelet.errors import ParameterError, UnavailableError
from treelet.gram import parse_memory
from treelet.gram.operator import Products
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.base import KernelLearner, atomic_fit
from treelet.learn.encoding import register
from treelet.learn.least_squares import NOT_BY_PRODUCTS, LeastSquares
from treelet.learn.rls_path import Problem, Spectrum, features, finite
from treelet.learn.targets import Rows, checked_groups, checked_outputs
from treelet.progress import progress_bar
from treelet.resources import DEFAULT_MEMORY

Times = Callable[[Matrix], Matrix]


class ConjugateSolution(NamedTuple):
    """What was found, and how well it solves the equations."""

    coefficients: Matrix
    """Examples x outputs."""
    iterations: int
    residual: float
    """The largest norm of what is left of an output's values, as a part of the values' own."""


def solve(
    times: Times,
    y: Matrix,
    alpha: float,
    features: Matrix,
    *,
    tol: float,
    max_iter: int,
    step: Callable[[int, float], None] = lambda iterations, residual: None,
) -> ConjugateSolution:
    """Solve for several outputs at once, by one product an iteration.

    Parameters
    ----------
    times : function
        The product of K with a matrix.
    y : ndarray of shape (examples, outputs)
    alpha : float
    features : ndarray of shape (examples, rank)
        Features whose products are near K: they make the equations easier, whatever they are (see `Preconditioner`).
    tol : float
        Until the residual is not larger.
    max_iter : int
        Products with K.
    step : function
        Told the iterations so far and the residual.
    """
    easier = Preconditioner(features, alpha)
    sizes = np.linalg.norm(y, axis=0)
    scale = np.where(sizes > 0, sizes, 1.0)
    a, left = np.zeros_like(y), y.copy()
    turned = easier(left)
    direction, length = turned.copy(), _products(left, turned)
    done, residual = 0, float((sizes / scale).max(initial=0))
    while residual > tol and done < max_iter:
        image = times(direction) + alpha * direction
        curvature = _products(direction, image)
        if (curvature < 0).any():
            raise ParameterError(
                "the kernel is not positive semi-definite on these examples, and conjugate gradients do not come to an end: "
                "solver='eigen' leaves the directions out in which it is not, a larger alpha= may outweigh them"
            )
        stride = _ratio(length, curvature)
        a += stride * direction
        left -= stride * image
        turned = easier(left)
        before, length = length, _products(left, turned)
        direction = turned + _ratio(length, before) * direction
        done, residual = done + 1, float((np.linalg.norm(left, axis=0) / scale).max())
        step(done, residual)
    return ConjugateSolution(finite(a), done, residual)


class Preconditioner:
    r"""Division by :math:`\Phi \Phi^T + \lambda I`, through the small matrix :math:`\Phi^T \Phi + \lambda I` (Woodbury)."""

    def __init__(self, features: Matrix, alpha: float) -> None:
        self.features, self.alpha = features, alpha
        inner = features.T @ features
        inner[np.diag_indices_from(inner)] += alpha
        self.factor = scipy.linalg.cho_factor(finite(inner), lower=True, overwrite_a=True)

    def __call__(self, values: Matrix) -> Matrix:
        inner = scipy.linalg.cho_solve(self.factor, self.features.T @ values)
        return np.asarray((values - self.features @ inner) / self.alpha)


def _products(a: Matrix, b: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->j", a, b))


def _ratio(above: Vector, below: Vector) -> Vector:
    """0 where an output is solved already."""
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below != 0))


RANK = 300
"""Of the features that make conjugate gradients faster: with twice as many the iterations fall by a fifth only."""
BY_EIGEN = ("loo_predictions_", "leave_group_out_predictions_", "path_", "smallest_eigenvalue_")


@register
class RLS(RegressorMixin, LeastSquares):  # type: ignore[misc]  # scikit-learn has no types
    r"""Regularized least squares over any kernel: kernel ridge regression, with all that one decomposition gives.

    .. math:: \min_f \; \sum_i (y_i - f(x_i))^2 + \lambda \|f\|^2, \quad (K + \lambda I) a = y

    There is no intercept: take ``kernel + 1``, or center `y`.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        By default ``SubsetTree().normalized()``. With ``"precomputed"`` X is a matrix of kernel values.
    alpha : float
        The strength of regularization, :math:`\lambda`.
    alphas : sequence of numbers, optional
        Choose among these instead: the one with the smallest squared error of leave-group-out predictions where `fit`
        gets `groups`, otherwise of leave-one-out predictions.
    basis : int or sequence of int, optional
        For many examples: the function is made up of so many of them, drawn at random, or of these rows, and fitted to
        all (subset of regressors; Nyström's approximation). By default of all.
    random_state : int or RandomState, optional
        For the draw of `basis`; nothing else is random.
    memory : int or str, optional
        How much a fit may take: 32 n^2 bytes for n examples, or 40 n b for a basis of b, and 40 q^2 for the largest
        group of q; None for as much as it takes.
    n_jobs : int
        Threads, for the matrix and the predictions; -1 for one a core. Results do not depend on it.
    device : "cpu" or "cuda"
        ``"cuda"``: compute kernel values on a GPU, as `treelet.gram` does. A file of a model does not remember it.
    device_memory : int or str, optional
        How much of the GPU's memory may be taken, such as ``"10GiB"``; by default, what is free.
    progress : bool
        Show a progress bar while the matrix is computed.
    solver : "auto", "eigen" or "cg"
        ``"eigen"`` decomposes the matrix, and all that is below follows. ``"cg"`` goes by conjugate gradients and never holds the
        matrix: it is computed again in each of some ten to a hundred iterations, and of `alphas`, `basis`, `groups`, leave-one-out
        predictions, `path`, `with_alpha` and `held_out` there is none. ``"auto"`` takes ``"cg"`` where ``"eigen"`` does not fit into
        `memory` and none of these is asked for.
    tol : float in (0, 1)
        Of ``"cg"``: until what is left of `y` is at most this part of it.
    max_iter : int
        Of ``"cg"``: after so many iterations it stops in any case, with a warning.

    Attributes
    ----------
    alpha_ : float
        The strength that was used.
    loo_predictions_ : ndarray of shape (examples,) or (examples, outputs)
        For each training example, the prediction of what is fitted without it. A basis stays as it is.
    leave_group_out_predictions_ : ndarray
        The same without its whole group; only if `fit` got `groups`.
    path_ : RLSPath
        Errors and predictions under each of `alphas`; only if there were some.
    smallest_eigenvalue_ : float
        Of the kernel's matrix, or of the basis's part of it.
    support_ : ndarray of int
        Training examples with a coefficient.
    dual_coef_ : ndarray of shape (outputs, support examples)
    model_ : CompressedModel
        What predictions are made with.
    fit_seconds_ : dict
        Where the time went: ``gram``, ``decompose``, ``solve``, ``compress``.
    solver_ : "eigen" or "cg"
        How it was fitted.
    n_iter_ : int
        Iterations, and by `residual_` how well the equations are solved; only of ``"cg"``.
    residual_ : float

    Notes
    -----
    Conjugate gradients are helped by Nyström features of 300 examples, which are near the matrix (a preconditioner): that takes a third to a sixth
    of the iterations. Several outputs are solved at once, at the price of one.

    The decomposition, 8 n^2 bytes, stays in memory with the estimator for `path`, `with_alpha` and `held_out`; copies,
    pickles and files do not have it.

    Where the kernel's matrix has negative eigenvalues there is no minimum. A warning says so, their directions are left
    out of the function, and leave-one-out predictions are those of the matrix without them.

    References
    ----------
    Rifkin & Lippert, "Notes on regularized least squares", MIT-CSAIL-TR-2007-025 (leave-one-out).
    Pahikkala, Boberg & Salakoski, "Fast n-fold cross-validation for regularized least-squares", SCAI 2006.
    Tsivtsivadze et al., "Locality-convolution kernel and its application to dependency parse ranking", IEA/AIE 2006.

    Examples
    --------
    >>> from treelet.learn import RLS
    >>> trees = ["(A x)", "(A (B x) (C y))", "(A (B y) (C y))", "(A (B y) (C x))"]
    >>> model = RLS(alpha=0.1).fit(trees, [0.0, 1.0, 3.0, 2.0])
    >>> model.predict(["(A (B y) (C y))"]).round(1).tolist()
    [2.7]
    >>> model.loo_predictions_.round(1).tolist()
    [0.0, 1.6, 1.3, 1.7]
    >>> model.path([0.01, 0.1, 1.0]).best_alpha
    0.01
    """

    _fitted: ClassVar[tuple[str, ...]] = (*LeastSquares._fitted, "solver_", "n_iter_", "residual_", "flat_")

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        alpha: float = 1.0,
        *,
        alphas: Any = None,
        basis: Any = None,
        random_state: Any = None,
        memory: int | float | str | None = "2GiB",
        n_jobs: int | None = 1,
        device: str = "cpu",
        device_memory: int | float | str | None = None,
        progress: bool = False,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.alphas = alphas
        self.basis = basis
        self.random_state = random_state
        self.memory = memory
        self.n_jobs = n_jobs
        self.device = device
        self.device_memory = device_memory
        self.progress = progress
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    @atomic_fit()
    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit to examples and their values.

        Parameters
        ----------
        X : collection
            Whatever the kernel takes; with ``kernel="precomputed"``, the matrix of the examples with themselves.
        y : array-like of shape (examples,) or (examples, outputs)
            The values; predictions have the same shape.
        groups : array-like, optional
            The group of each example (sentence, document, fold), for `leave_group_out_predictions_`. The fit itself does
            not depend on it.
        """
        self._check_parameters()
        kernel, data = self._kernel_and_data(X)
        values, single = checked_outputs(y, len(data))
        held = None if groups is None else checked_groups(groups, len(data), "groups")
        if self._by_products(len(data), held):
            self._fit_by_products(kernel, data, values, single)
        else:
            self._fit(kernel, data, values, held, single)
            self.solver_ = "eigen"
        self._remember(kernel, data, values)
        return self

    def _problem(self, K: Matrix, y: Matrix, groups: list[Rows] | None, basis: Rows | None) -> Problem:
        if basis is None:
            return Problem(Spectrum.of(K, self._name), y, groups)
        return Problem(Spectrum.of_features(*features(K, basis, self._name)), y, groups)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The value of each example, or its values.

        Parameters
        ----------
        X : collection
            As in `fit`; with ``kernel="precomputed"``, kernel values of examples x training examples.
        """
        values = self._values(X)
        return values[:, 0] if (self.flat_ if self._is_cg else self.loo_predictions_.ndim == 1) else values

    # --- by conjugate gradients ---------------------------------------------------------------------------------

    @property
    def _is_cg(self) -> bool:
        return self.__dict__.get("solver_") == "cg"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in BY_EIGEN and self._is_cg:
                raise UnavailableError(f"this RLS has no {name}, {NOT_BY_PRODUCTS}")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_one_of("solver", self.solver, ("auto", "eigen", "cg"), of=self)
        if not is_number(self.tol, 0, 1) or not 0 < self.tol < 1:
            raise self._refuse("tol", "a number in (0, 1)")
        check_integer("max_iter", self.max_iter, of=self)

    def _by_products(self, n: int, groups: list[Rows] | None) -> bool:
        """Whether conjugate gradients are to be taken."""
        asked = {"alphas": self.alphas, "basis": self.basis, "groups": groups}
        given = [name for name, value in asked.items() if value is not None]
        if self.solver == "cg" and given:
            raise ParameterError(f"{' and '.join(given)} of RLS: these need the decomposition, {NOT_BY_PRODUCTS}")
        budget = parse_memory(self.memory)
        return self.solver == "cg" or (
            self.solver == "auto" and not given and budget is not None and self._needed(n, None) > budget
        )

    def _fit_by_products(self, kernel: Kernel | None, data: Any, y: Matrix, single: bool) -> None:
        n, budget = len(data), parse_memory(self.memory) or DEFAULT_MEMORY
        started = time.perf_counter()
        rank = min(n, RANK, max(1, budget // (80 * n)))
        chosen = np.sort(np.random.default_rng(0).choice(n, rank, replace=False)).astype(np.intp)
        columns = data[:, chosen] if kernel is None else self._gram(kernel, data, data[chosen])
        near, _, _ = features(columns, chosen, self._name)
        made = time.perf_counter()
        times = (
            data.__matmul__
            if kernel is None
            else Products(kernel, data, None, self._resources._replace(memory_limit=budget)).times
        )
        with progress_bar(self.progress, "digits of the solution", 100) as advance:
            told = 0

            def step(done: int, residual: float) -> None:
                nonlocal told
                reached = min(100, int(100 * np.log(max(residual, self.tol)) / np.log(self.tol)))
                if reached > told:
                    advance(reached - told)
                    told = reached

            found = solve(times, y, float(self.alpha), near, tol=self.tol, max_iter=self.max_iter, step=step)
        if found.residual > self.tol:
            warnings.warn(
                f"RLS has not converged after {found.iterations:,} iterations: what is left of y is {found.residual:.1e} of it, not "
                f"{self.tol:.1e}. Give a larger max_iter=, or a larger alpha=",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.solver_, self.alpha_, self.flat_ = "cg", float(self.alpha), single
        self.n_iter_, self.residual_ = found.iterations, found.residual
        solved = time.perf_counter()
        used = np.flatnonzero(found.coefficients.any(axis=1))
        self._keep(kernel, data, used, found.coefficients[used].T)
        self.fit_seconds_ = {"gram": made - started, "solve": solved - made, "compress": time.perf_counter() - solved}

    def _check_fitted_state(self) -> None:
        if not self._is_cg:
            super()._check_fitted_state()
            return
        KernelLearner._check_fitted_state(self)
        if not isinstance(self.flat_, bool) or (self.flat_ and self.model_.outputs != 1):
            raise ValueError("the model has other outputs")
        if type(self.n_iter_) is not int or not all(
            isinstance(value, float) for value in (self.alpha_, self.residual_)
        ):
            raise ValueError("the iterations are no numbers")
