r"""Least squares with a kernel from one decomposition: any strength of regularization, any examples held out.

With :math:`S = V \Lambda V^T` and :math:`G = (S + \lambda I)^{-1} = V (\Lambda + \lambda)^{-1} V^T`, the coefficients
are :math:`G z`, and the predictions for examples Q by what is fitted without them

.. math:: z_Q - (G_{QQ})^{-1} (G z)_Q

(Rifkin & Lippert 2007 for single examples; Pahikkala et al. 2006 for several). None needs another decomposition.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from treelet.errors import ParameterError
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.encoding import are_floats, register
from treelet.learn.targets import Rows

Cube = NDArray[np.float64]  # alphas x examples x outputs
AT_ONCE = 1 << 22  # numbers that a step holds beside the decomposition
ROUNDING = 8 * np.finfo(float).eps  # times the order of a matrix and its largest eigenvalue


@register
@dataclass(frozen=True)
class RLSPath:
    """What each strength of regularization gives, from one decomposition.

    Attributes
    ----------
    alphas : ndarray of shape (alphas,)
        In the order in which they were given.
    errors : ndarray of shape (alphas,)
        The mean squared error of predictions for held-out examples: leave-group-out where there are groups, otherwise
        leave-one-out. For `RankRLS`, of differences within groups.
    loo_predictions : ndarray of shape (alphas, examples) or (alphas, examples, outputs)
        For each example, by what is fitted without it.
    leave_group_out_predictions : ndarray, or None without groups
        For each example, by what is fitted without its group.
    """

    alphas: Vector
    errors: Vector
    loo_predictions: NDArray[np.float64]
    leave_group_out_predictions: NDArray[np.float64] | None

    @property
    def best(self) -> int:
        """The place of the smallest error, the first of those that tie."""
        return int(np.argmin(self.errors))

    @property
    def best_alpha(self) -> float:
        """The strength with the smallest error."""
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
            raise ValueError(f"a path has no shape {shape!r}")
        for values in (loo, out):
            if values is not None and not are_floats(values, 2):
                raise ValueError("a path's predictions are no numbers")
        if loo is None or shape[0] != len(alphas):
            raise ValueError("a path needs predictions")
        return cls(alphas, errors, loo.reshape(shape), None if out is None else out.reshape(shape))


class Spectrum:
    r"""A positive semi-definite matrix :math:`S`, decomposed, and its ridge inverse :math:`G = (S + \lambda I)^{-1}`.

    Parameters
    ----------
    vectors : ndarray of shape (rows, rank)
        Eigenvectors; if `thin`, times the root of their eigenvalues.
    values : ndarray of shape (rank,)
        Eigenvalues, none negative; if `thin`, all others are 0.
    kept : ndarray of bool
        Directions that coefficients may use: not those whose eigenvalue was negative.
    smallest : float
        The smallest eigenvalue, as it was.
    axes : ndarray of shape (columns, rank), optional
        From features to these directions, if features were decomposed; by default `vectors`.
    back : ndarray of shape (basis, rank), optional
        From these directions to coefficients of basis examples; then the decomposition is `thin`.
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
        """Decompose a symmetric matrix, which is overwritten; only one half of it is read.

        Rounding errors are those of values of this size, where it is made of larger ones than it has.
        """
        values, vectors = decomposed(S)
        smallest, kept = checked_signs(values, name, size)
        return cls(vectors, np.maximum(values, 0), kept, smallest)

    @classmethod
    def of_features(cls, features: Matrix, back: Matrix, smallest: float) -> Spectrum:
        """Decompose the products of rows of features, of which there are fewer than rows."""
        values, turn = decomposed(features.T @ features)
        kept = np.ones(len(values), bool)
        return cls(features @ turn, np.maximum(values, 0), kept, smallest, axes=turn, back=back @ turn)

    @property
    def largest(self) -> float:
        return float(self.values.max(initial=0))

    def ridge(self, alphas: Vector) -> Matrix:
        r""":math:`1 / (\Lambda + \lambda)`, alphas x rank."""
        return 1 / (self.values + alphas[:, None])

    def solved(self, z: Matrix, alphas: Vector) -> Cube:
        """G z, alphas x rows x outputs."""
        inner = self.ridge(alphas)[:, :, None] * (self.vectors.T @ z)
        outer = times(self.vectors, inner)
        return (z - outer) / alphas[:, None, None] if self.thin else outer

    def coefficients(self, z: Matrix, alpha: float) -> Matrix:
        """Coefficients of rows, or of basis examples, x outputs."""
        inner = (self.kept * self.ridge(np.array([alpha]))[0])[:, None] * (self.vectors.T @ z)
        found: Matrix = (self.vectors if self.back is None else self.back) @ inner
        return found

    def diagonal(self, alphas: Vector) -> Matrix:
        """The diagonal of G, alphas x rows."""
        total, weights = np.zeros((len(alphas), len(self.vectors))), self.ridge(alphas)
        step = max(1, AT_ONCE // max(1, len(self.vectors)))
        for begin in range(0, len(self.values), step):
            total += weights[:, begin : begin + step] @ np.square(self.vectors[:, begin : begin + step]).T
        return (1 - total) / alphas[:, None] if self.thin else total

    def block(self, rows: Matrix, alphas: Vector, weights: Matrix) -> Cube:
        """The part of G at some rows of `vectors`, alphas x rows x rows; `weights` are those of `ridge`."""
        q = len(rows)
        if q * rows.size <= AT_ONCE and q <= len(alphas):
            products = (rows[:, None] * rows).reshape(q * q, rows.shape[1])
            found = (weights @ products.T).reshape(len(alphas), q, q)
        else:
            found = np.array([(rows * weight) @ rows.T for weight in weights])
        return (np.eye(len(rows)) - found) / alphas[:, None, None] if self.thin else found


def decomposed(S: Matrix) -> tuple[Vector, Matrix]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix, which they overwrite.

    LAPACK's divide and conquer ("evd") is as fast as "evr" here, works in place, and its vectors are orthogonal to a
    hundred times fewer roundings.
    """
    if not len(S):
        return np.zeros(0), np.zeros((0, 0))
    values, vectors = scipy.linalg.eigh(finite(S).T, driver="evd", overwrite_a=True, check_finite=False)
    return values, vectors


def checked_signs(values: Vector, name: str, size: float = 0.0) -> tuple[float, NDArray[np.bool_]]:
    """The smallest eigenvalue, and which are not negative by more than rounding; a warning if some are."""
    smallest, size = float(values.min(initial=np.inf)), max(size, float(np.abs(values).max(initial=0)))
    limit = -ROUNDING * len(values) * size
    kept = values >= limit
    if not kept.all():
        warnings.warn(
            f"the kernel is not positive semi-definite on these examples: {int((~kept).sum())} of {len(values)} "
            f"eigenvalues are negative, down to {smallest:.3g} (the largest is {float(values.max()):.3g}). {name} leaves "
            "their directions out, and learns with the nearest matrix that has none; kernel.gaussian(sigma) may have "
            "fewer",
            UserWarning,
            stacklevel=7,  # where fit was called
        )
    return smallest, kept


def check_strength(alphas: Vector, spectrum: Spectrum, name: str, stacklevel: int = 3) -> None:
    """A warning where rounding errors of the matrix are larger than the regularization."""
    limit = ROUNDING * len(spectrum.values) * spectrum.largest
    if alphas.min() < limit:
        warnings.warn(
            f"alpha={alphas.min():.3g} of {name} is below the rounding errors of a matrix with eigenvalues up to "
            f"{spectrum.largest:.3g}: predictions may be noise. Give at least {limit:.1g}",
            UserWarning,
            stacklevel=stacklevel,
        )


def features(K: Matrix, basis: Rows, name: str) -> tuple[Matrix, Matrix, float]:
    r"""Nyström features :math:`\Phi = K_{nb} U \Sigma^{-1/2}` of values with basis examples, :math:`K_{bb} = U \Sigma U^T`.

    Also :math:`U \Sigma^{-1/2}`, and the smallest eigenvalue of :math:`K_{bb}`. Directions without length are left out.
    """
    values, vectors = decomposed(np.ascontiguousarray(K[basis]))
    smallest, _ = checked_signs(values, name)
    long = values > ROUNDING * len(values) * max(float(values.max()), 0.0)
    back = vectors[:, long] / np.sqrt(values[long])
    return K @ back, back, smallest


def held_out(spectrum: Spectrum, z: Matrix, alphas: Vector, groups: list[Rows] | None = None) -> Cube:
    """Predictions for the rows of each group (None: each row) by what is fitted to the other rows of z."""
    solution = spectrum.solved(z, alphas)
    if groups is None:
        solution /= spectrum.diagonal(alphas)[:, :, None]
    else:
        weights = spectrum.ridge(alphas)
        for rows in groups:
            solution[:, rows] = solve(spectrum.block(spectrum.vectors[rows], alphas, weights), solution[:, rows])
    return finite(z - solution)


class Problem:
    """Examples with values, decomposed: what does not depend on the strength of regularization."""

    def __init__(self, spectrum: Spectrum, y: Matrix, groups: list[Rows] | None) -> None:
        self.spectrum, self.y, self.groups = spectrum, y, groups

    def coefficients(self, alpha: float) -> Matrix:
        """Coefficients of examples, or of basis examples, x outputs."""
        return finite(self.spectrum.coefficients(self.y, alpha))

    def left_one_out(self, alphas: Vector) -> Cube:
        """Predictions for each example by what is fitted without it, alphas x examples x outputs."""
        return held_out(self.spectrum, self.y, alphas)

    def left_groups_out(self, alphas: Vector, groups: list[Rows]) -> Cube:
        """Predictions for the examples of each group by what is fitted without it."""
        return held_out(self.spectrum, self.y, alphas, groups)

    def errors(self, loo: Cube, left_out: Cube | None) -> Vector:
        """What the strength is chosen by, one number for each."""
        return np.asarray(np.mean(np.square((loo if left_out is None else left_out) - self.y), axis=(1, 2)))


def by_parts(work: Callable[[Vector], Cube], alphas: Vector, groups: list[Rows] | None) -> Cube:
    """What `work` makes of strengths, of so many at once that the blocks of the largest group fit."""
    largest = max((len(rows) for rows in groups or []), default=1)
    step = max(1, AT_ONCE // largest**2)
    return np.concatenate([work(alphas[begin : begin + step]) for begin in range(0, len(alphas), step)])


def left_out(problem: Problem, alphas: Vector, groups: list[Rows]) -> Cube:
    """Predictions for the examples of each group by what is fitted without it."""
    return by_parts(lambda part: problem.left_groups_out(part, groups), alphas, groups)


def found_path(problem: Problem, alphas: Vector, single: bool) -> RLSPath:
    """Errors and predictions under each strength."""
    with np.errstate(all="ignore"):  # what comes out is checked
        loo, out = by_parts(problem.left_one_out, alphas, problem.groups), None
        if problem.groups is not None:
            out = left_out(problem, alphas, problem.groups)
        errors = problem.errors(loo, out)
    if single:
        loo, out = loo[:, :, 0], None if out is None else out[:, :, 0]
    return RLSPath(alphas, finite(errors), loo, out)


def times(A: Matrix, inner: Cube) -> Cube:
    """A @ inner[k] for all k, as one product."""
    k, r, outputs = inner.shape
    flat = A @ np.moveaxis(inner, 0, 1).reshape(r, k * outputs)
    return np.ascontiguousarray(np.moveaxis(flat.reshape(len(A), k, outputs), 1, 0))


def solve(A: Cube, b: Cube) -> Cube:
    """np.linalg.solve, with an error that says what to do."""
    try:
        return np.asarray(np.linalg.solve(A, b), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise too_weak() from None


def finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(values).all():
        raise too_weak()
    return values


def too_weak() -> ParameterError:
    return ParameterError("the fit does not come out as finite numbers: give a larger alpha, or scale y and the kernel")


def checked_alphas(alphas: Any, name: str) -> Vector:
    """Strengths of regularization, positive."""
    try:
        found = np.array(alphas, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all() or found.min() <= 0:
        raise ParameterError(f"{name} must be a sequence of positive numbers. Got {alphas!r} instead.")
    return found
