"""Base of `RLS` and `RankRLS`: an eigendecomposition for all strengths and held-out examples, or conjugate gradients."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_integer, check_number, check_one_of, is_number, plural, wrong
from treelet.errors import ParameterError, user_level
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.approximate import pivoted_cholesky
from treelet.learn.base import KernelLearner, Rows, checked_groups
from treelet.learn.fits import one_fit
from treelet.learn.persist import are_floats, register
from treelet.matrices import parse_memory
from treelet.matrices.operator import Products
from treelet.resources import Resources
from treelet.work import digits_reached, progress_bar

# --- least squares from one eigendecomposition ------------------------------------------------------------------------

Cube = NDArray[np.float64]  # alphas x examples x outputs
_AT_ONCE = 1 << 22  # maximum number of values per step, besides the decomposition
_ROUNDING = 8 * np.finfo(float).eps  # relative to the order of a matrix times its largest eigenvalue


@register
@dataclass(frozen=True)
class RLSPath:
    """Errors and held-out predictions for several regularization strengths.

    Returned by `RLS.path` and `RankRLS.path`.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        The strengths, in the order of the call.
    errors : ndarray of shape (n_alphas,)
        Mean squared error of the predictions for held-out examples: leave-group-out if there are
        groups, otherwise leave-one-out. For `RankRLS`, the error of differences within groups.
    loo_predictions : ndarray of shape (n_alphas, n_examples) or (n_alphas, n_examples, n_outputs)
        For each example, the prediction of the model fitted without it.
    leave_group_out_predictions : ndarray or None
        For each example, the prediction of the model fitted without its group. None if there are no
        groups.

    Examples
    --------
    >>> from treelet.learn import RLS
    >>> model = RLS().fit(["(A x)", "(A y)", "(A (B x) (C y))", "(A (B x) (C x))"], [0.0, 0.5, 2.0, 1.0])
    >>> path = model.path([0.1, 1.0, 10.0])
    >>> path.errors.round(3).tolist(), path.best_alpha
    ([0.59, 0.821, 1.206], 0.1)
    """

    alphas: Vector
    errors: Vector
    loo_predictions: NDArray[np.float64]
    leave_group_out_predictions: NDArray[np.float64] | None

    @property
    def best(self) -> int:
        """Position of the smallest error, the first one if several are equal."""
        return int(np.argmin(self.errors))

    @property
    def best_alpha(self) -> float:
        """The regularization strength with the smallest error."""
        return float(self.alphas[self.best])

    def _to_state(self) -> dict[str, Any]:
        shape = list(self.loo_predictions.shape)
        state = {"alphas": self.alphas, "errors": self.errors, "shape": shape}
        for name in ("loo_predictions", "leave_group_out_predictions"):
            value = getattr(self, name)
            state[name] = None if value is None else value.reshape(len(self.alphas), -1)
        return state

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> RLSPath:
        alphas, errors, shape = state["alphas"], state["errors"], state["shape"]
        loo, out = state["loo_predictions"], state["leave_group_out_predictions"]
        if not are_floats(alphas, 1) or not are_floats(errors, 1) or len(alphas) != len(errors) or not len(alphas):
            raise ValueError("a path needs strengths and errors")
        if not all(type(size) is int and size > 0 for size in shape) or len(shape) not in (2, 3):
            raise ValueError(f"a path cannot have the shape {shape!r}")
        for values in (loo, out):
            if values is not None and not are_floats(values, 2):
                raise ValueError("the predictions of a path are not finite numbers")
        if loo is None or shape[0] != len(alphas):
            raise ValueError("a path needs predictions")
        return cls(alphas, errors, loo.reshape(shape), None if out is None else out.reshape(shape))


class Spectrum:
    r"""Eigendecomposition of a matrix :math:`S`, with its ridge inverse :math:`G = (S + \lambda I)^{-1}`.

    Parameters
    ----------
    vectors : ndarray of shape (rows, rank)
        Eigenvectors. If `thin`, they are multiplied by the roots of their eigenvalues.
    values : ndarray of shape (rank,)
        Nonnegative eigenvalues. If `thin`, all other eigenvalues are 0.
    kept : ndarray of bool
        Directions that coefficients may use: those whose original eigenvalue was not negative.
    smallest : float
        The smallest original eigenvalue.
    axes : ndarray of shape (columns, rank), optional
        Map from features to these directions, if features were decomposed. Default: `vectors`.
    back : ndarray of shape (basis, rank), optional
        Map from these directions to coefficients of basis examples. If present, the decomposition
        is `thin`.
    """

    def __init__(
        self,
        vectors: Matrix,
        values: Vector,
        kept: NDArray[np.bool_],
        smallest: float,
        *,
        axes: Matrix | None = None,
        back: Matrix | None = None,
    ) -> None:
        self.vectors, self.values, self.kept, self.smallest = vectors, values, kept, smallest
        self.axes = vectors if axes is None else axes
        self.back, self.thin = back, back is not None

    @classmethod
    def of(cls, S: Matrix, name: str, size: float = 0.0) -> Spectrum:
        """Decompose a symmetric matrix, which is overwritten. Only one half of it is read.

        If the matrix was computed from larger values than it contains, `size` is the size of these
        values, which determines the rounding errors.
        """
        values, vectors = _decomposed(S)
        smallest, kept = _checked_signs(values, name, size)
        return cls(vectors, np.maximum(values, 0), kept, smallest)

    @classmethod
    def of_features(cls, features: Matrix, back: Matrix, smallest: float) -> Spectrum:
        """Decompose the matrix of inner products of rows that have few features."""
        values, turn = _decomposed(features.T @ features)
        kept = np.ones(len(values), bool)
        return cls(features @ turn, np.maximum(values, 0), kept, smallest, axes=turn, back=back @ turn)

    @property
    def largest(self) -> float:
        return float(self.values.max(initial=0))

    def ridge(self, alphas: Vector) -> Matrix:
        r"""Return :math:`1 / (\Lambda + \lambda)`, alphas x rank."""
        return 1 / (self.values + alphas[:, None])

    def mapped(self, A: Matrix, z: Matrix, alphas: Vector) -> Cube:
        r"""Return :math:`A (\Lambda + \lambda)^{-1} V^T z`, alphas x rows of A x outputs, by one product."""
        inner = self.ridge(alphas)[:, :, None] * (self.vectors.T @ z)
        k, r, outputs = inner.shape
        flat = A @ np.moveaxis(inner, 0, 1).reshape(r, k * outputs)
        return np.ascontiguousarray(np.moveaxis(flat.reshape(len(A), k, outputs), 1, 0))

    def solved(self, z: Matrix, alphas: Vector) -> Cube:
        """Return G z, alphas x rows x outputs."""
        outer = self.mapped(self.vectors, z, alphas)
        return (z - outer) / alphas[:, None, None] if self.thin else outer

    def coefficients(self, z: Matrix, alpha: float) -> Matrix:
        """Return the coefficients of rows, or of basis examples, x outputs."""
        inner = (self.kept * self.ridge(np.array([alpha]))[0])[:, None] * (self.vectors.T @ z)
        result: Matrix = (self.vectors if self.back is None else self.back) @ inner
        return result

    def diagonal(self, alphas: Vector) -> Matrix:
        """Return the diagonal of G, alphas x rows."""
        total, weights = np.zeros((len(alphas), len(self.vectors))), self.ridge(alphas)
        step = max(1, _AT_ONCE // max(1, len(self.vectors)))
        for begin in range(0, len(self.values), step):
            total += weights[:, begin : begin + step] @ np.square(self.vectors[:, begin : begin + step]).T
        return (1 - total) / alphas[:, None] if self.thin else total

    def block(self, rows: Matrix, alphas: Vector, weights: Matrix) -> Cube:
        """Return the block of G at some rows of `vectors`, alphas x rows x rows; `weights` come from `ridge`."""
        q = len(rows)
        if q * rows.size <= _AT_ONCE and q <= len(alphas):
            products = (rows[:, None] * rows).reshape(q * q, rows.shape[1])
            block = (weights @ products.T).reshape(len(alphas), q, q)
        else:
            block = np.array([(rows * weight) @ rows.T for weight in weights])
        return (np.eye(len(rows)) - block) / alphas[:, None, None] if self.thin else block

    def solved_block(self, rows: Matrix, alphas: Vector, weights: Matrix, b: Cube) -> Cube:
        """Solve the linear systems of `block` for b."""
        try:
            return np.asarray(np.linalg.solve(self.block(rows, alphas, weights), b), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise _too_weak() from None


def _decomposed(S: Matrix) -> tuple[Vector, Matrix]:
    """Return the eigenvalues, ascending, and the eigenvectors of a symmetric matrix, which is overwritten.

    LAPACK's divide and conquer ("evd") is as fast as "evr" here and works in place. Its vectors are
    orthogonal with a hundred times smaller rounding errors.
    """
    if not len(S):
        return np.zeros(0), np.zeros((0, 0))
    values, vectors = scipy.linalg.eigh(finite(S).T, driver="evd", overwrite_a=True, check_finite=False)
    return values, vectors


def _checked_signs(values: Vector, name: str, size: float = 0.0) -> tuple[float, NDArray[np.bool_]]:
    """Return the smallest eigenvalue, and a mask of the nonnegative ones up to rounding; warn of the others."""
    smallest, size = float(values.min(initial=np.inf)), max(size, float(np.abs(values).max(initial=0)))
    limit = -_ROUNDING * len(values) * size
    kept = values >= limit
    if not kept.all():
        warnings.warn(
            f"The kernel is not positive semi-definite on these examples: {int((~kept).sum()):,} of "
            f"{plural(len(values), 'eigenvalue')} are negative, down to {smallest:.3g} (the largest is "
            f"{float(values.max()):.3g}). {name} replaces negative eigenvalues by 0. With kernel.gaussian(sigma), fewer "
            "may be negative.",
            UserWarning,
            stacklevel=user_level(),
        )
    return smallest, kept


def _check_strength(alphas: Vector, spectrum: Spectrum, name: str) -> None:
    """Warn if the rounding errors of the matrix exceed the regularization strength."""
    limit = _ROUNDING * len(spectrum.values) * spectrum.largest
    if alphas.min() < limit:
        warnings.warn(
            f"alpha={alphas.min():.3g} of {name} is below the rounding errors of a matrix with eigenvalues up to "
            f"{spectrum.largest:.3g}, so predictions may be noise. Use an alpha of at least {limit:.1g}.",
            UserWarning,
            stacklevel=user_level(),
        )


def features(K: Matrix, basis: Rows, name: str) -> tuple[Matrix, Matrix, float]:
    r"""Return Nyström features from the kernel values with basis examples.

    The features are :math:`\Phi = K_{nb} U \Sigma^{-1/2}` with :math:`K_{bb} = U \Sigma U^T`. The
    other results are :math:`U \Sigma^{-1/2}` and the smallest eigenvalue of :math:`K_{bb}`.
    Directions with an eigenvalue of about 0 are dropped.
    """
    values, vectors = _decomposed(np.ascontiguousarray(K[basis]))
    smallest, _ = _checked_signs(values, name)
    long = values > _ROUNDING * len(values) * max(float(values.max()), 0.0)
    back = vectors[:, long] / np.sqrt(values[long])
    return K @ back, back, smallest


class Problem:
    """A decomposed matrix with target values: the data that does not depend on the regularization strength."""

    def __init__(self, spectrum: Spectrum, y: Matrix, groups: list[Rows] | None) -> None:
        self.spectrum, self.y, self.groups = spectrum, y, groups

    def coefficients(self, alpha: float) -> Matrix:
        """Return the coefficients of examples, or of basis examples, x outputs."""
        return finite(self.spectrum.coefficients(self.y, alpha))

    def left_one_out(self, alphas: Vector) -> Cube:
        """Return predictions for each example by the fit without it, alphas x examples x outputs."""
        spectrum = self.spectrum
        return finite(self.y - spectrum.solved(self.y, alphas) / spectrum.diagonal(alphas)[:, :, None])

    def left_groups_out(self, alphas: Vector, groups: list[Rows]) -> Cube:
        """Return predictions for the examples of each group by the fit without the group."""
        spectrum, solution = self.spectrum, self.spectrum.solved(self.y, alphas)
        ridge = spectrum.ridge(alphas)
        for rows in groups:
            solution[:, rows] = spectrum.solved_block(spectrum.vectors[rows], alphas, ridge, solution[:, rows])
        return finite(self.y - solution)

    def left_pairs_out(self, alpha: float, first: Rows, second: Rows) -> tuple[Matrix, Matrix]:
        """Return predictions for both examples of each pair by the fit without both, pairs x outputs each."""
        spectrum, strength = self.spectrum, np.array([alpha])
        own, away = spectrum.diagonal(strength)[0], spectrum.solved(self.y, strength)[0]
        weights, between = spectrum.ridge(strength)[0], np.empty(len(first))
        step = max(1, _AT_ONCE // max(1, len(spectrum.values)))
        for begin in range(0, len(first), step):
            some = slice(begin, begin + step)
            rows = spectrum.vectors[first[some]] * weights
            between[some] = np.einsum("ij,ij->i", rows, spectrum.vectors[second[some]])
        if spectrum.thin:
            between /= -alpha
        # The same as left_groups_out, with the inverse of a block of two rows.
        inverse = 1 / (own[first] * own[second] - between**2)
        changes = [
            inverse[:, None] * (own[j][:, None] * away[i] - between[:, None] * away[j])
            for i, j in ((first, second), (second, first))
        ]
        return finite(self.y[first] - changes[0]), finite(self.y[second] - changes[1])

    def errors(self, loo: Cube, left_out: Cube | None) -> Vector:
        """Return the error by which a strength is chosen, one number per strength."""
        return np.asarray(np.mean(np.square((loo if left_out is None else left_out) - self.y), axis=(1, 2)))


def _by_parts(work: Callable[[Vector], Cube], alphas: Vector, groups: list[Rows] | None) -> Cube:
    """Apply `work` to slices of the strengths that are small enough for the blocks of the largest group."""
    largest = max((len(rows) for rows in groups or []), default=1)
    step = max(1, _AT_ONCE // largest**2)
    return np.concatenate([work(alphas[begin : begin + step]) for begin in range(0, len(alphas), step)])


def _left_out(problem: Problem, alphas: Vector, groups: list[Rows]) -> Cube:
    """Return predictions for the examples of each group by the fit without the group."""
    return _by_parts(lambda part: problem.left_groups_out(part, groups), alphas, groups)


def _found_path(problem: Problem, alphas: Vector, single: bool) -> RLSPath:
    """Return errors and held-out predictions per strength."""
    with np.errstate(all="ignore"):  # The result is checked.
        loo, out = _by_parts(problem.left_one_out, alphas, problem.groups), None
        if problem.groups is not None:
            out = _left_out(problem, alphas, problem.groups)
        errors = problem.errors(loo, out)
    if single:
        loo, out = loo[:, :, 0], None if out is None else out[:, :, 0]
    return RLSPath(alphas, finite(errors), loo, out)


def finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(values).all():
        raise _too_weak()
    return values


def _too_weak() -> ParameterError:
    return ParameterError(
        "The fit does not result in finite numbers. Use a larger alpha, or scale y and the kernel to values around 1."
    )


def _checked_alphas(alphas: Any, of: str) -> Vector:
    """Return regularization strengths after a check; `of` names the estimator or method."""
    try:
        strengths = np.array(alphas, dtype=np.float64)
    except (TypeError, ValueError):
        strengths = np.zeros(0)
    if strengths.ndim != 1 or not len(strengths) or not np.isfinite(strengths).all() or strengths.min() <= 0:
        raise wrong("alphas", "a sequence of positive numbers", alphas, of=of)
    return strengths


def _checked_rows(name: str, value: Any, n: int, of: str) -> Rows:
    """Return row numbers after a check."""
    rows = np.asarray(value)
    if rows.ndim != 1 or (len(rows) and (rows.dtype.kind not in "iu" or not 0 <= rows.min() <= rows.max() < n)):
        raise wrong(name, f"a sequence of rows from 0 to {n - 1}", value, of=f"{of}.leave_pair_out")
    return rows.astype(np.intp)


# --- conjugate gradients -------------------------------------------------------------------------------------------------

_RANK = 1000  # features of the preconditioner of conjugate gradients at most

Linear = Callable[[Matrix], Matrix]


def _same(values: Matrix) -> Matrix:
    return values


def _solve(
    times: Linear,
    y: Matrix,
    alpha: float,
    features: Matrix,
    *,
    tol: float,
    max_iter: int,
    step: Callable[[float], None] = lambda residual: None,
) -> tuple[Matrix, int, float]:
    r"""Solve (K + alpha I) a = y for several outputs at once, with one matrix product per iteration.

    The preconditioner solves :math:`\Phi \Phi^T + \lambda I` by way of the small matrix
    :math:`\Phi^T \Phi + \lambda I` (Woodbury).

    Parameters
    ----------
    times : function
        Returns the product of K with a matrix.
    y : ndarray of shape (examples, outputs)
        Right-hand sides.
    alpha : float
        Regularization strength.
    features : ndarray of shape (examples, rank)
        Features :math:`\Phi` whose inner products approximate K, for the preconditioner. They affect the
        number of iterations but not the solution.
    tol : float
        Stop if the residual is at most `tol`.
    max_iter : int
        Maximum number of iterations.
    step : function
        Called with the residual after each iteration.

    Returns
    -------
    coefficients : ndarray of shape (examples, outputs)
    iterations : int
    residual : float
        Largest relative residual norm of any output.
    """
    inner = features.T @ features
    inner[np.diag_indices_from(inner)] += alpha
    factor = scipy.linalg.cho_factor(finite(inner), lower=True, overwrite_a=True)

    def easier(values: Matrix) -> Matrix:
        return np.asarray((values - features @ scipy.linalg.cho_solve(factor, features.T @ values)) / alpha)

    def products(a: Matrix, b: Matrix) -> Vector:
        return np.asarray(np.einsum("ij,ij->j", a, b))

    def ratio(above: Vector, below: Vector) -> Vector:  # 0 for outputs that are already solved
        return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below != 0))

    sizes = np.linalg.norm(y, axis=0)
    scale = np.where(sizes > 0, sizes, 1.0)
    a, left = np.zeros_like(y), y.copy()
    turned = easier(left)
    direction, length = turned.copy(), products(left, turned)
    done, residual = 0, float((sizes / scale).max(initial=0))
    while residual > tol and done < max_iter:
        image = times(direction) + alpha * direction
        curvature = products(direction, image)
        if (curvature < 0).any():
            raise ParameterError(
                "The kernel is not positive semi-definite on these examples, so conjugate gradients do not converge. "
                "Use solver='eigen', which drops directions with negative eigenvalues, or a larger alpha=."
            )
        stride = ratio(length, curvature)
        a += stride * direction
        left -= stride * image
        turned = easier(left)
        before, length = length, products(left, turned)
        direction = turned + ratio(length, before) * direction
        done, residual = done + 1, float((np.linalg.norm(left, axis=0) / scale).max())
        step(residual)
    return finite(a), done, residual


# --- base of `RLS` and `RankRLS` --------------------------------------------------------------------------------------

_EIGEN_ONLY = (
    "the eigendecomposition, which solver='cg' does not compute. "
    "Fit with solver='eigen', which needs 32 n^2 bytes for n examples."
)
"""The end of a message about a feature that conjugate gradients do not support."""


class LeastSquares(KernelLearner):
    """Base of `RLS` and `RankRLS`: the decomposition, the path, the basis and the model."""

    alpha: float
    alphas: Any
    basis: Any
    random_state: Any
    memory: int | float | str | None
    solver: str
    tol: float
    max_iter: int

    _fitted: ClassVar[tuple[str, ...]] = (
        *KernelLearner._fitted,
        "alpha_",
        "loo_predictions_",
        "leave_group_out_predictions_",
        "smallest_eigenvalue_",
        "path_",
        "solver_",
        "n_iter_",
        "residual_",
        "flat_",
    )
    _fitted_private: ClassVar[tuple[str, ...]] = (*KernelLearner._fitted_private, "_kept")
    _kept: tuple[Kernel | None, Any, Rows | None, Problem]

    # --- fitting ------------------------------------------------------------------------------------------------

    def _fit(self, kernel: Kernel | None, data: Any, y: Matrix, groups: list[Rows] | None, single: bool) -> Self:
        alphas = np.array([float(self.alpha)])
        if self.alphas is not None:
            alphas = _checked_alphas(self.alphas, self._name)
        basis = self._basis(len(data))
        K = self._columns(kernel, data, basis, max((len(rows) for rows in groups or []), default=1))
        problem = self._problem(K, y, groups, basis)
        del K
        _check_strength(alphas, problem.spectrum, self._name)
        path = _found_path(problem, alphas, single)
        coefficients = problem.coefficients(path.best_alpha)
        self._kept = kernel, data, basis, problem  # for other strengths and groups; model files do not contain it
        self.smallest_eigenvalue_ = problem.spectrum.smallest
        if self.alphas is not None:
            self.path_ = path
        self.alpha_ = path.best_alpha
        self.loo_predictions_ = path.loo_predictions[path.best].copy()
        if path.leave_group_out_predictions is not None:
            self.leave_group_out_predictions_ = path.leave_group_out_predictions[path.best].copy()
        self._make_model(coefficients)
        self.solver_ = "eigen"
        return self

    def _by_products(self, n: int, groups: list[Rows] | None) -> bool:
        """Return whether to use conjugate gradients."""
        optional = {"alphas": self.alphas, "basis": self.basis, "groups": groups}
        used = [name for name, value in optional.items() if value is not None]
        if self.solver == "cg" and used:
            verb = "needs" if len(used) == 1 else "need"
            raise ParameterError(f"{' and '.join(used)} of {self._name} {verb} {_EIGEN_ONLY}")
        budget = parse_memory(self.memory)
        return self.solver == "cg" or (
            self.solver == "auto" and not used and budget is not None and self._needed(n, None) > budget
        )

    def _fit_by_products(
        self, kernel: Kernel | None, data: Any, y: Matrix, single: bool, inward: Linear = _same, outward: Linear = _same
    ) -> None:
        """Fit by conjugate gradients, with the matrix `inward` K `outward`: functions that apply a matrix and its transpose."""
        n, budget = len(data), Resources.of(memory=self.memory).memory
        rank = min(n, _RANK, max(1, budget // (24 * n)))  # 12 bytes per feature and example while they are computed

        def between(rows: Rows, columns: Rows) -> Matrix:
            if kernel is None:
                return np.asarray(data[np.ix_(rows, columns)])
            return self._gram(kernel, data if len(rows) == n else data[rows], data[columns])

        diagonal = data.diagonal() if kernel is None else kernel.diag(data)
        _, near = pivoted_cholesky(np.maximum(diagonal, 0), between, rank, np.random.default_rng(0))
        times = (
            data.__matmul__
            if kernel is None
            else Products(kernel, data, None, self._resources._replace(memory_limit=budget // 2)).times
        )
        with progress_bar(self._resources.progress, "digits of the solution", 100) as advance:
            inner, iterations, residual = _solve(
                lambda vectors: inward(times(outward(vectors))),
                inward(y),
                float(self.alpha),
                inward(near),
                tol=self.tol,
                max_iter=self.max_iter,
                step=digits_reached(float(self.tol), advance),
            )
        if residual > self.tol:
            warnings.warn(
                f"{self._name} has not converged after {plural(iterations, 'iteration')}: the relative residual is "
                f"{residual:.1e}, but the tolerance is {self.tol:.1e}. Use a larger max_iter= or a larger alpha=.",
                ConvergenceWarning,
                stacklevel=user_level(),
            )
        self.solver_, self.alpha_, self.flat_ = "cg", float(self.alpha), single
        self.n_iter_, self.residual_ = iterations, residual
        coefficients = outward(inner)
        used = np.flatnonzero(coefficients.any(axis=1))
        self._keep(kernel, data, used, coefficients[used].T)

    @abstractmethod
    def _problem(self, K: Matrix, y: Matrix, groups: list[Rows] | None, basis: Rows | None) -> Problem:
        """Decompose the matrix, which is overwritten.

        With a basis, it has one column per basis example.
        """

    def _make_model(self, coefficients: Matrix) -> None:
        kernel, data, basis, _ = self._kept
        used = np.flatnonzero(coefficients.any(axis=1))
        self._keep(kernel, data, used if basis is None else basis[used], coefficients[used].T)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "alpha", 0, np.inf)
        parse_memory(self.memory, of=self)
        check_one_of("solver", self.solver, ("auto", "eigen", "cg"), of=self)
        if not is_number(self.tol, 0, 1) or not 0 < self.tol < 1:
            raise self._refuse("tol", "a number in (0, 1)")
        check_integer("max_iter", self.max_iter, of=self)

    def _basis(self, n: int) -> Rows | None:
        """Return the rows of the basis, ascending."""
        if self.basis is None:
            return None
        chosen = np.asarray(self.basis)
        if chosen.ndim == 0 and chosen.dtype.kind in "iu" and 1 <= chosen <= n:
            rows = check_random_state(self.random_state).choice(n, int(chosen), replace=False)
            return np.sort(rows).astype(np.intp)
        if chosen.ndim == 1 and chosen.dtype.kind in "iu" and len(chosen) and 0 <= chosen.min() <= chosen.max() < n:
            rows = np.unique(chosen).astype(np.intp)
            if len(rows) == len(chosen):
                return rows
        raise self._refuse("basis", f"None, an int from 1 to {n}, or a list of distinct rows from 0 to {n - 1}")

    _smaller = "use a smaller basis= of examples"

    @staticmethod
    def _needed(n: int, b: int | None, largest: int = 1) -> int:
        """Return the bytes that a fit needs for n examples, a basis of b examples, and the largest group."""
        return (32 * n * n if b is None else 8 * b * (5 * n + 4 * b)) + 40 * largest * largest

    def _columns(self, kernel: Kernel | None, data: Any, basis: Rows | None, largest: int) -> Matrix:
        """Return the matrix of the examples with themselves or with the basis.

        It may be overwritten.
        """
        needed = self._needed(len(data), None if basis is None else len(basis), largest)
        self._check_memory(f"A fit to {plural(len(data), 'example')}", needed)
        if kernel is None:
            return np.array(data if basis is None else data[:, basis], order="C")
        if basis is None:
            return self._matrix(kernel, data)
        return self._gram(kernel, data, data[basis])

    # --- after the fit ------------------------------------------------------------------------------------------

    @one_fit
    def path(self, alphas: Any) -> RLSPath:
        """Compare regularization strengths, without another decomposition.

        Parameters
        ----------
        alphas : sequence of numbers
            Positive regularization strengths.

        Returns
        -------
        RLSPath
            Errors and predictions for held-out examples per strength. Pass its `best_alpha` to
            `with_alpha`.
        """
        self._need_kept("path")
        alphas = _checked_alphas(alphas, f"{self._name}.path")
        _check_strength(alphas, self._kept[3].spectrum, self._name)
        return _found_path(self._kept[3], alphas, self.loo_predictions_.ndim == 1)

    @one_fit
    def with_alpha(self, alpha: float) -> Self:
        """Return a fitted copy with another regularization strength, without another decomposition.

        Parameters
        ----------
        alpha : float
            Regularization strength, in (0, inf).

        Returns
        -------
        estimator
            A new fitted estimator.
        """
        self._need_kept("with_alpha")
        other: Self = clone(self).set_params(alpha=alpha, alphas=None)
        check_number(other, "alpha", 0, np.inf)
        other._kept, other.smallest_eigenvalue_ = self._kept, self.smallest_eigenvalue_
        _check_strength(np.array([float(alpha)]), self._kept[3].spectrum, self._name)
        path = _found_path(self._kept[3], np.array([float(alpha)]), self.loo_predictions_.ndim == 1)
        other.alpha_, other.loo_predictions_ = float(alpha), path.loo_predictions[0]
        if path.leave_group_out_predictions is not None:
            other.leave_group_out_predictions_ = path.leave_group_out_predictions[0]
        coefficients = self._kept[3].coefficients(float(alpha))
        other._make_model(coefficients)
        return other

    @one_fit
    def held_out(self, groups: Any, alphas: Any = None) -> NDArray[np.float64]:
        """Return exact cross-validation predictions, without fitting again.

        Each training example is predicted by the model that is fitted without its group.

        Parameters
        ----------
        groups : array-like
            The group of each training example, for example its fold. For `RankRLS`, all candidates
            of a query must be in the same group.
        alphas : sequence of numbers, optional
            Regularization strengths. By default, only the strength of the fit is used, and the
            result has no axis for strengths.

        Returns
        -------
        ndarray of shape (n_examples,) or (n_alphas, n_examples)
            The predictions, with one more axis if there are several outputs.
        """
        self._need_kept("held_out")
        problem = self._kept[3]
        rows = checked_groups(groups, len(problem.y), "groups")
        strengths = np.array([self.alpha_]) if alphas is None else _checked_alphas(alphas, f"{self._name}.held_out")
        with np.errstate(all="ignore"):  # The result is checked.
            predictions = _left_out(problem, strengths, rows)
        predictions = predictions[:, :, 0] if self.loo_predictions_.ndim == 1 else predictions
        return predictions[0] if alphas is None else predictions

    @one_fit
    def leave_pair_out(self, first: Any, second: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return exact predictions for pairs of training examples by the model that is fitted without both.

        The share of pairs in which the better example has the larger prediction estimates the area
        under the ROC curve with less bias than other cross-validations (Airola et al. 2011). The
        closed form follows Pahikkala et al. (2008), "Exact and efficient leave-pair-out cross-validation
        for ranking RLS".

        Parameters
        ----------
        first, second : array-like of int
            The rows of the two examples of each pair. For `RankRLS`, both must be candidates of the
            same query, because scores are comparable only within a query.

        Returns
        -------
        pair of ndarrays of shape (n_pairs,) or (n_pairs, n_outputs)
            The predictions for the first and for the second example of each pair.

        Examples
        --------
        >>> from itertools import combinations
        >>> from treelet.learn import RLS
        >>> trees = ["(A x)", "(A (B x) (C y))", "(A (B y) (C y))", "(A (B y) (C x))"]
        >>> y = [0.0, 1.0, 3.0, 2.0]
        >>> worse, better = zip(*((i, j) if y[i] < y[j] else (j, i) for i, j in combinations(range(4), 2)))
        >>> low, high = RLS(alpha=0.1).fit(trees, y).leave_pair_out(worse, better)
        >>> int((low < high).sum()), len(low)  # pairs in the right order, and all pairs
        (6, 6)
        """
        self._need_kept("leave_pair_out")
        problem = self._kept[3]
        rows = [
            _checked_rows(name, value, len(problem.y), self._name)
            for name, value in (("first", first), ("second", second))
        ]
        if len(rows[0]) != len(rows[1]):
            raise ParameterError(
                f"'first' and 'second' of {self._name}.leave_pair_out must have the same length. "
                f"Got {len(rows[0])} and {len(rows[1])} instead."
            )
        if (rows[0] == rows[1]).any():
            same = int(np.flatnonzero(rows[0] == rows[1])[0])
            raise ParameterError(
                f"Pair {same} contains example {rows[0][same]} twice. A pair needs two different examples."
            )
        with np.errstate(all="ignore"):  # The result is checked.
            low, high = problem.left_pairs_out(self.alpha_, *rows)
        return (low[:, 0], high[:, 0]) if self.loo_predictions_.ndim == 1 else (low, high)

    def _need_kept(self, method: str) -> None:
        check_is_fitted(self)
        if getattr(self, "solver_", "eigen") == "cg":
            raise ParameterError(f"{method} needs {_EIGEN_ONLY}")
        if not hasattr(self, "_kept"):
            raise ParameterError(
                f"{method} needs the eigendecomposition, which copies, pickles and model files do not contain. "
                "Fit the estimator again."
            )

    def __getstate__(self) -> Any:
        return {name: value for name, value in dict(super().__getstate__()).items() if name != "_kept"}

    @property
    def _is_cg(self) -> bool:
        return self.__dict__.get("solver_") == "cg"

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        if self._is_cg:
            if not isinstance(self.flat_, bool) or (self.flat_ and self.model_.outputs != 1):
                raise ValueError("the model has the wrong number of outputs")
            if type(self.n_iter_) is not int or not all(
                isinstance(value, float) for value in (self.alpha_, self.residual_)
            ):
                raise ValueError("the number of iterations, the strength or the residual is not a number")
            return
        predictions = self.loo_predictions_
        if not isinstance(predictions, np.ndarray) or not are_floats(predictions, 1 + (predictions.ndim != 1)):
            raise ValueError("the leave-one-out predictions are missing")
        left_out = getattr(self, "leave_group_out_predictions_", predictions)
        if not are_floats(left_out, predictions.ndim) or left_out.shape != predictions.shape or not predictions.size:
            raise ValueError("the leave-group-out and leave-one-out predictions do not match")
        if self.model_.outputs != (1 if predictions.ndim == 1 else predictions.shape[1]):
            raise ValueError("the model has the wrong number of outputs")
        if not isinstance(getattr(self, "path_", None), RLSPath | None):
            raise ValueError("the path has the wrong type")
        for value in (self.alpha_, self.smallest_eigenvalue_):
            if not isinstance(value, float) or not np.isfinite(value):
                raise ValueError("the strength or the eigenvalue is not a finite number")
