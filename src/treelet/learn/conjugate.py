r"""Least squares by conjugate gradients: :math:`(K + \lambda I) a = y` from products with K alone, which is never there as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from treelet.errors import ParameterError
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.rls_path import finite

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
