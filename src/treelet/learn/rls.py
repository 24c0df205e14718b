"""Regularised least squares over any kernel, with all leave-one-out predictions and strengths from one decomposition."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_number
from treelet.errors import ParameterError
from treelet.gram import parse_memory
from treelet.kernels.base import Kernel, Matrix
from treelet.learn.base import KernelLearner
from treelet.learn.encoding import register
from treelet.learn.rls_path import (
    Problem,
    RLSPath,
    Spectrum,
    check_strength,
    checked_alphas,
    features,
    found_path,
    left_out,
)
from treelet.learn.state import are_floats
from treelet.learn.targets import Rows, checked_groups, checked_outputs


class Fitted(NamedTuple):
    """What a fit keeps in memory for other strengths and other groups; no file has it."""

    kernel: Kernel | None
    data: Any
    basis: Rows | None
    problem: Problem


class LeastSquares(KernelLearner):
    """What `RLS` and `RankRLS` share: one decomposition, the path, the basis, the model."""

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

    # --- fitting ------------------------------------------------------------------------------------------------

    def _fit(self, kernel: Kernel | None, data: Any, y: Matrix, groups: list[Rows] | None, single: bool) -> Self:
        alphas = np.array([float(self.alpha)])
        if self.alphas is not None:
            alphas = checked_alphas(self.alphas, f"The 'alphas' parameter of {self._name}")
        basis = self._basis(len(data))
        started = time.perf_counter()
        K = self._columns(kernel, data, basis, max((len(rows) for rows in groups or []), default=1))
        made = time.perf_counter()
        problem = self._problem(K, y, groups, basis)
        del K
        done = time.perf_counter()
        check_strength(alphas, problem.spectrum, self._name, stacklevel=4)
        path = found_path(problem, alphas, single)
        coefficients = problem.coefficients(path.best_alpha)
        for name in self._fitted:
            self.__dict__.pop(name, None)
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
            "gram": made - started,
            "decompose": done - made,
            "solve": solved - done,
            "compress": time.perf_counter() - solved,
        }
        return self

    @abstractmethod
    def _problem(self, K: Matrix, y: Matrix, groups: list[Rows] | None, basis: Rows | None) -> Problem:
        """Decompose the matrix, which is overwritten; its columns are those of the basis."""

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
        parse_memory(self.memory)

    def _basis(self, n: int) -> Rows | None:
        """The rows of the basis, ascending."""
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
        raise self._refuse("basis", f"None, a number of examples from 1 to {n}, or distinct rows of them")

    _smaller = "give a smaller basis= of examples that make up the function"

    def _columns(self, kernel: Kernel | None, data: Any, basis: Rows | None, largest: int) -> Matrix:
        """Kernel values of the examples with themselves or with the basis, ours to overwrite."""
        n = len(data)
        needed = 32 * n * n if basis is None else 8 * len(basis) * (5 * n + 4 * len(basis))
        self._check_memory(f"a fit to {n:,} examples", needed + 40 * largest * largest)
        if kernel is None:
            return np.array(data if basis is None else data[:, basis], order="C")
        if basis is None:
            return self._matrix(kernel, data)
        return self._gram(kernel, data, data[basis])

    # --- after the fit ------------------------------------------------------------------------------------------

    def path(self, alphas: Any) -> RLSPath:
        """What other strengths of regularisation would give, from the decomposition of the fit.

        Parameters
        ----------
        alphas : sequence of numbers

        Returns
        -------
        RLSPath
            Errors and predictions for held-out examples under each; its `best_alpha` is for `with_alpha`.
        """
        self._need_kept("path")
        alphas = checked_alphas(alphas, "alphas")
        check_strength(alphas, self._kept.problem.spectrum, self._name)
        return found_path(self._kept.problem, alphas, self.loo_predictions_.ndim == 1)

    def with_alpha(self, alpha: float) -> Self:
        """A fitted copy with another strength of regularisation, from the decomposition of the fit."""
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

    def held_out(self, groups: Any, alphas: Any = None) -> NDArray[np.float64]:
        """Predictions for the training examples of each group by what is fitted without it: cross-validation, exactly.

        Parameters
        ----------
        groups : array-like
            The group of each training example, as the folds of a cross-validation. For `RankRLS`, candidates of one
            query are in one group.
        alphas : sequence of numbers, optional
            Strengths of regularisation; by default that of the fit, and the result has no axis for them.

        Returns
        -------
        ndarray of shape (examples,), or (alphas, examples); with one more axis for several outputs
        """
        self._need_kept("held_out")
        problem = self._kept.problem
        rows = checked_groups(groups, len(problem.y), "groups")
        strengths = np.array([self.alpha_]) if alphas is None else checked_alphas(alphas, "alphas")
        with np.errstate(all="ignore"):  # what comes out is checked
            found = left_out(problem, strengths, rows)
        found = found[:, :, 0] if self.loo_predictions_.ndim == 1 else found
        return found[0] if alphas is None else found

    def _need_kept(self, method: str) -> None:
        check_is_fitted(self)
        if not hasattr(self, "_kept"):
            raise ParameterError(
                f"{method} needs the decomposition, which copies, pickles and files do not keep: fit again"
            )

    def __getstate__(self) -> Any:
        return {name: value for name, value in super().__getstate__().items() if name != "_kept"}

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        predictions = self.loo_predictions_
        if not isinstance(predictions, np.ndarray) or not are_floats(predictions, 1 + (predictions.ndim != 1)):
            raise ValueError("the leave-one-out predictions are missing")
        left_out = getattr(self, "leave_group_out_predictions_", predictions)
        if not are_floats(left_out, predictions.ndim) or left_out.shape != predictions.shape or not predictions.size:
            raise ValueError("the leave-group-out predictions do not fit")
        if self.model_.outputs != (1 if predictions.ndim == 1 else predictions.shape[1]):
            raise ValueError("the model has other outputs")
        if not isinstance(getattr(self, "path_", None), RLSPath | None):
            raise ValueError("the path is not what it should be")
        for value in (self.alpha_, self.smallest_eigenvalue_):
            if not isinstance(value, float) or not np.isfinite(value):
                raise ValueError("the strength is no number")


@register
class RLS(RegressorMixin, LeastSquares):  # type: ignore[misc]  # scikit-learn has no types
    r"""Regularised least squares over any kernel: kernel ridge regression, with all that one decomposition gives.

    .. math:: \min_f \; \sum_i (y_i - f(x_i))^2 + \lambda \|f\|^2, \quad (K + \lambda I) a = y

    There is no intercept: take ``kernel + 1``, or centre `y`.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        By default ``SubsetTree().normalized()``. With ``"precomputed"`` X is a matrix of kernel values.
    alpha : float
        The strength of regularisation, :math:`\lambda`.
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
    progress : bool
        Show a progress bar while the matrix is computed.

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

    Notes
    -----
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
        progress: bool = False,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.alphas = alphas
        self.basis = basis
        self.random_state = random_state
        self.memory = memory
        self.n_jobs = n_jobs
        self.progress = progress

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
        self._fit(kernel, data, values, held, single)
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
        return values[:, 0] if self.loo_predictions_.ndim == 1 else values
