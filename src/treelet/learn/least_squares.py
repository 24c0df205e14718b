"""Base of `RLS` and `RankRLS`: one eigendecomposition serves all strengths and all held-out examples."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_number, plural
from treelet.errors import ParameterError
from treelet.gram import parse_memory
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix
from treelet.learn.base import KernelLearner
from treelet.learn.encoding import are_floats
from treelet.learn.fits import one_fit
from treelet.learn.rls_path import Problem, RLSPath, check_strength, checked_alphas, found_path, left_out
from treelet.learn.targets import Rows, checked_groups

EIGEN_ONLY = (
    "the eigendecomposition, which solver='cg' does not compute. "
    "Fit with solver='eigen', which needs 32 n^2 bytes for n examples."
)
"""The end of a message about a feature that conjugate gradients do not support."""


class Fitted(NamedTuple):
    """Data that a fit keeps in memory for other strengths and groups.

    Model files do not contain it.
    """

    kernel: Kernel | None
    data: Any
    basis: Rows | None
    problem: Problem


class LeastSquares(KernelLearner):
    """Base of `RLS` and `RankRLS`: the decomposition, the path, the basis and the model."""

    alpha: float
    alphas: Any
    basis: Any
    random_state: Any
    memory: int | float | str | None

    _fitted: ClassVar[tuple[str, ...]] = (
        *KernelLearner._fitted,
        "alpha_",
        "loo_predictions_",
        "leave_group_out_predictions_",
        "smallest_eigenvalue_",
        "path_",
    )
    _fitted_private: ClassVar[tuple[str, ...]] = (*KernelLearner._fitted_private, "_kept")

    # --- fitting ------------------------------------------------------------------------------------------------

    def _fit(self, kernel: Kernel | None, data: Any, y: Matrix, groups: list[Rows] | None, single: bool) -> Self:
        alphas = np.array([float(self.alpha)])
        if self.alphas is not None:
            alphas = checked_alphas(self.alphas, self._name)
        basis = self._basis(len(data))
        started = time.perf_counter()
        K = self._columns(kernel, data, basis, max((len(rows) for rows in groups or []), default=1))
        computed = time.perf_counter()
        problem = self._problem(K, y, groups, basis)
        del K
        done = time.perf_counter()
        check_strength(alphas, problem.spectrum, self._name)
        path = found_path(problem, alphas, single)
        coefficients = problem.coefficients(path.best_alpha)
        self._kept = Fitted(kernel, data, basis, problem)
        self.smallest_eigenvalue_ = problem.spectrum.smallest
        if self.alphas is not None:
            self.path_ = path
        self.alpha_ = path.best_alpha
        self.loo_predictions_ = path.loo_predictions[path.best].copy()
        if path.leave_group_out_predictions is not None:
            self.leave_group_out_predictions_ = path.leave_group_out_predictions[path.best].copy()
        solved = time.perf_counter()
        self._make_model(coefficients)
        self.fit_seconds_ = {
            "gram": computed - started,
            "decompose": done - computed,
            "solve": solved - done,
            "compress": time.perf_counter() - solved,
        }
        return self

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
        alphas = checked_alphas(alphas, f"{self._name}.path")
        check_strength(alphas, self._kept.problem.spectrum, self._name)
        return found_path(self._kept.problem, alphas, self.loo_predictions_.ndim == 1)

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
        started = time.perf_counter()
        check_strength(np.array([float(alpha)]), self._kept.problem.spectrum, self._name)
        path = found_path(self._kept.problem, np.array([float(alpha)]), self.loo_predictions_.ndim == 1)
        other.alpha_, other.loo_predictions_ = float(alpha), path.loo_predictions[0]
        if path.leave_group_out_predictions is not None:
            other.leave_group_out_predictions_ = path.leave_group_out_predictions[0]
        coefficients = self._kept.problem.coefficients(float(alpha))
        solved = time.perf_counter()
        other._make_model(coefficients)
        other.fit_seconds_ = {"solve": solved - started, "compress": time.perf_counter() - solved}
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
        problem = self._kept.problem
        rows = checked_groups(groups, len(problem.y), "groups")
        strengths = np.array([self.alpha_]) if alphas is None else checked_alphas(alphas, f"{self._name}.held_out")
        with np.errstate(all="ignore"):  # The result is checked.
            predictions = left_out(problem, strengths, rows)
        predictions = predictions[:, :, 0] if self.loo_predictions_.ndim == 1 else predictions
        return predictions[0] if alphas is None else predictions

    def _need_kept(self, method: str) -> None:
        check_is_fitted(self)
        if getattr(self, "solver_", "eigen") == "cg":
            raise ParameterError(f"{method} needs {EIGEN_ONLY}")
        if not hasattr(self, "_kept"):
            raise ParameterError(
                f"{method} needs the eigendecomposition, which copies, pickles and model files do not contain. "
                "Fit the estimator again."
            )

    def __getstate__(self) -> Any:
        return {name: value for name, value in dict(super().__getstate__()).items() if name != "_kept"}

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
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
