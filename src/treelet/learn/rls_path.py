r"""Least squares from one eigendecomposition, for any regularization strength and any held-out examples.

With :math:`S = V \Lambda V^T` and :math:`G = (S + \lambda I)^{-1} = V (\Lambda + \lambda)^{-1}
V^T`, the coefficients are :math:`G z`. The predictions for examples Q by the model that is fitted
without them are

.. math:: z_Q - (G_{QQ})^{-1} (G z)_Q

(Rifkin & Lippert 2007 for single examples; Pahikkala et al. 2006 for several). No other
decomposition is needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from treelet.checks import plural, wrong
from treelet.errors import ParameterError, user_level
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.encoding import are_floats, register
from treelet.learn.targets import Rows

Cube = NDArray[np.float64]  # alphas x examples x outputs
AT_ONCE = 1 << 22  # maximum number of values per step, besides the decomposition
ROUNDING = 8 * np.finfo(float).eps  # relative to the order of a matrix times its largest eigenvalue


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
        values, vectors = decomposed(S)
        smallest, kept = checked_signs(values, name, size)
        return cls(vectors, np.maximum(values, 0), kept, smallest)

    @classmethod
    def of_features(cls, features: Matrix, back: Matrix, smallest: float) -> Spectrum:
        """Decompose the matrix of inner products of rows that have few features."""
        values, turn = decomposed(features.T @ features)
        kept = np.ones(len(values), bool)
        return cls(features @ turn, np.maximum(values, 0), kept, smallest, axes=turn, back=back @ turn)

    @property
    def largest(self) -> float:
        return float(self.values.max(initial=0))

    def ridge(self, alphas: Vector) -> Matrix:
        r"""Return :math:`1 / (\Lambda + \lambda)`, alphas x rank."""
        return 1 / (self.values + alphas[:, None])

    def solved(self, z: Matrix, alphas: Vector) -> Cube:
        """Return G z, alphas x rows x outputs."""
        inner = self.ridge(alphas)[:, :, None] * (self.vectors.T @ z)
        outer = times(self.vectors, inner)
        return (z - outer) / alphas[:, None, None] if self.thin else outer

    def coefficients(self, z: Matrix, alpha: float) -> Matrix:
        """Return the coefficients of rows, or of basis examples, x outputs."""
        inner = (self.kept * self.ridge(np.array([alpha]))[0])[:, None] * (self.vectors.T @ z)
        result: Matrix = (self.vectors if self.back is None else self.back) @ inner
        return result

    def diagonal(self, alphas: Vector) -> Matrix:
        """Return the diagonal of G, alphas x rows."""
        total, weights = np.zeros((len(alphas), len(self.vectors))), self.ridge(alphas)
        step = max(1, AT_ONCE // max(1, len(self.vectors)))
        for begin in range(0, len(self.values), step):
            total += weights[:, begin : begin + step] @ np.square(self.vectors[:, begin : begin + step]).T
        return (1 - total) / alphas[:, None] if self.thin else total

    def block(self, rows: Matrix, alphas: Vector, weights: Matrix) -> Cube:
        """Return the block of G at some rows of `vectors`, alphas x rows x rows; `weights` come from `ridge`."""
        q = len(rows)
        if q * rows.size <= AT_ONCE and q <= len(alphas):
            products = (rows[:, None] * rows).reshape(q * q, rows.shape[1])
            block = (weights @ products.T).reshape(len(alphas), q, q)
        else:
            block = np.array([(rows * weight) @ rows.T for weight in weights])
        return (np.eye(len(rows)) - block) / alphas[:, None, None] if self.thin else block


def decomposed(S: Matrix) -> tuple[Vector, Matrix]:
    """Return the eigenvalues, ascending, and the eigenvectors of a symmetric matrix, which is overwritten.

    LAPACK's divide and conquer ("evd") is as fast as "evr" here and works in place. Its vectors are
    orthogonal with a hundred times smaller rounding errors.
    """
    if not len(S):
        return np.zeros(0), np.zeros((0, 0))
    values, vectors = scipy.linalg.eigh(finite(S).T, driver="evd", overwrite_a=True, check_finite=False)
    return values, vectors


def checked_signs(values: Vector, name: str, size: float = 0.0) -> tuple[float, NDArray[np.bool_]]:
    """Return the smallest eigenvalue, and a mask of the nonnegative ones up to rounding; warn of the others."""
    smallest, size = float(values.min(initial=np.inf)), max(size, float(np.abs(values).max(initial=0)))
    limit = -ROUNDING * len(values) * size
    kept = values >= limit
    if not kept.all():
        warnings.warn(
            f"The kernel is not positive semi-definite on these examples: {int((~kept).sum()):,} of "
            f"{plural(len(values), 'eigenvalue')} are negative, down to {smallest:.3g} (the largest is "
            f"{float(values.max()):.3g}). {name} replaces negative eigenvalues by 0. With kernel.gaussian(sigma), fewer "
            "may be negative.",
            UserWarning,
            stacklevel=7,  # the call of fit
        )
    return smallest, kept


def check_strength(alphas: Vector, spectrum: Spectrum, name: str) -> None:
    """Warn if the rounding errors of the matrix exceed the regularization strength."""
    limit = ROUNDING * len(spectrum.values) * spectrum.largest
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
    values, vectors = decomposed(np.ascontiguousarray(K[basis]))
    smallest, _ = checked_signs(values, name)
    long = values > ROUNDING * len(values) * max(float(values.max()), 0.0)
    back = vectors[:, long] / np.sqrt(values[long])
    return K @ back, back, smallest


def held_out(spectrum: Spectrum, z: Matrix, alphas: Vector, groups: list[Rows] | None = None) -> Cube:
    """Return predictions for the rows of each group, or for each row, by the fit to the other rows of z."""
    solution = spectrum.solved(z, alphas)
    if groups is None:
        solution /= spectrum.diagonal(alphas)[:, :, None]
    else:
        weights = spectrum.ridge(alphas)
        for rows in groups:
            solution[:, rows] = solve(spectrum.block(spectrum.vectors[rows], alphas, weights), solution[:, rows])
    return finite(z - solution)


class Problem:
    """A decomposed matrix with target values: the data that does not depend on the regularization strength."""

    def __init__(self, spectrum: Spectrum, y: Matrix, groups: list[Rows] | None) -> None:
        self.spectrum, self.y, self.groups = spectrum, y, groups

    def coefficients(self, alpha: float) -> Matrix:
        """Return the coefficients of examples, or of basis examples, x outputs."""
        return finite(self.spectrum.coefficients(self.y, alpha))

    def left_one_out(self, alphas: Vector) -> Cube:
        """Return predictions for each example by the fit without it, alphas x examples x outputs."""
        return held_out(self.spectrum, self.y, alphas)

    def left_groups_out(self, alphas: Vector, groups: list[Rows]) -> Cube:
        """Return predictions for the examples of each group by the fit without the group."""
        return held_out(self.spectrum, self.y, alphas, groups)

    def errors(self, loo: Cube, left_out: Cube | None) -> Vector:
        """Return the error by which a strength is chosen, one number per strength."""
        return np.asarray(np.mean(np.square((loo if left_out is None else left_out) - self.y), axis=(1, 2)))


def by_parts(work: Callable[[Vector], Cube], alphas: Vector, groups: list[Rows] | None) -> Cube:
    """Apply `work` to slices of the strengths that are small enough for the blocks of the largest group."""
    largest = max((len(rows) for rows in groups or []), default=1)
    step = max(1, AT_ONCE // largest**2)
    return np.concatenate([work(alphas[begin : begin + step]) for begin in range(0, len(alphas), step)])


def left_out(problem: Problem, alphas: Vector, groups: list[Rows]) -> Cube:
    """Return predictions for the examples of each group by the fit without the group."""
    return by_parts(lambda part: problem.left_groups_out(part, groups), alphas, groups)


def found_path(problem: Problem, alphas: Vector, single: bool) -> RLSPath:
    """Return errors and held-out predictions per strength."""
    with np.errstate(all="ignore"):  # The result is checked.
        loo, out = by_parts(problem.left_one_out, alphas, problem.groups), None
        if problem.groups is not None:
            out = left_out(problem, alphas, problem.groups)
        errors = problem.errors(loo, out)
    if single:
        loo, out = loo[:, :, 0], None if out is None else out[:, :, 0]
    return RLSPath(alphas, finite(errors), loo, out)


def times(A: Matrix, inner: Cube) -> Cube:
    """Return A @ inner[k] for all k, computed as one product."""
    k, r, outputs = inner.shape
    flat = A @ np.moveaxis(inner, 0, 1).reshape(r, k * outputs)
    return np.ascontiguousarray(np.moveaxis(flat.reshape(len(A), k, outputs), 1, 0))


def solve(A: Cube, b: Cube) -> Cube:
    """Solve linear systems like `np.linalg.solve`, with a helpful error message."""
    try:
        return np.asarray(np.linalg.solve(A, b), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise too_weak() from None


def finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(values).all():
        raise too_weak()
    return values


def too_weak() -> ParameterError:
    return ParameterError(
        "The fit does not result in finite numbers. Use a larger alpha, or scale y and the kernel to values around 1."
    )


def checked_alphas(alphas: Any, of: str) -> Vector:
    """Return regularization strengths after a check; `of` names the estimator or method."""
    try:
        strengths = np.array(alphas, dtype=np.float64)
    except (TypeError, ValueError):
        strengths = np.zeros(0)
    if strengths.ndim != 1 or not len(strengths) or not np.isfinite(strengths).all() or strengths.min() <= 0:
        raise wrong("alphas", "a sequence of positive numbers", alphas, of=of)
    return strengths
