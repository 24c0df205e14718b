"""Regularized least squares over any kernel, by an eigendecomposition or by conjugate gradients."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix
from treelet.learn.base import Rows, checked_groups, checked_outputs
from treelet.learn.fits import atomic_fit, one_fit
from treelet.learn.least_squares import LeastSquares, Problem, Spectrum, features
from treelet.learn.persist import register


@register
class RLS(RegressorMixin, LeastSquares):  # type: ignore[misc]  # scikit-learn has no types
    r"""Regularized least squares over any kernel (kernel ridge regression).

    .. math:: \min_f \; \sum_i (y_i - f(x_i))^2 + \lambda \|f\|^2, \quad (K + \lambda I) a = y

    One eigendecomposition of the kernel matrix gives exact leave-one-out and leave-group-out
    predictions for any number of regularization strengths. There is no intercept: use
    ``kernel + 1``, or center `y`.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        Default: ``SubsetTree().normalized()``. With ``"precomputed"``, X is a kernel matrix.
    alpha : float, default 1.0
        Regularization strength :math:`\lambda`, in (0, inf).
    alphas : sequence of numbers, optional
        Candidates for `alpha`. The fit chooses the one with the smallest squared error of
        leave-group-out predictions if `fit` is called with `groups`, otherwise of leave-one-out
        predictions.
    basis : int or sequence of int, optional
        Approximation for many examples (subset of regressors, Nyström approximation). The function
        is a combination of `basis` randomly drawn examples, or of the examples in these rows, and
        is fitted to all examples. Default: all examples.
    random_state : int or RandomState, optional
        Seed for the random choice of `basis`. Nothing else is random.
    memory : int or str, default "2GiB"
        Memory limit for the fit, which takes 32 n^2 bytes for n examples, or 40 n b bytes with a
        basis of b examples. The largest group of q examples takes another 40 q^2 bytes. None means
        no limit.
    n_jobs : int, default 1
        Number of threads for the matrix and predictions. -1 uses one thread per core. Results do
        not depend on `n_jobs`.
    solver : {"auto", "eigen", "cg"}, default "auto"
        ``"eigen"`` computes the eigendecomposition. ``"cg"`` uses conjugate gradients, about
        ten to a hundred products with the matrix, which is never stored.
        It does not support `alphas`, `basis`, `groups`, leave-one-out predictions, `path`,
        `with_alpha` and `held_out`. ``"auto"`` chooses ``"cg"`` if ``"eigen"`` exceeds `memory`,
        unless `alphas`, `basis` or `groups` are given.
    tol : float, default 1e-6
        Stopping tolerance of ``"cg"``, in (0, 1): the residual norm divided by the norm of `y`.
    max_iter : int, default 1000
        Maximum number of iterations of ``"cg"``. A `ConvergenceWarning` is issued if it is reached.

    Attributes
    ----------
    alpha_ : float
        The regularization strength of the fit.
    loo_predictions_ : ndarray of shape (n_examples,) or (n_examples, n_outputs)
        For each training example, the prediction of the model fitted without it. The basis stays
        the same.
    leave_group_out_predictions_ : ndarray
        For each training example, the prediction of the model fitted without its group. Exists only
        if `fit` was called with `groups`.
    path_ : RLSPath
        Errors and predictions for each of `alphas`, if these were given.
    smallest_eigenvalue_ : float
        Smallest eigenvalue of the kernel matrix, or of its block for the basis.
    support_ : ndarray of int
        Indices of the training examples with a nonzero coefficient.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        Their coefficients.
    model_ : CompressedModel
        The model that computes predictions.
    solver_ : {"eigen", "cg"}
        The solver of the fit.
    n_iter_ : int
        Number of iterations of ``"cg"``.
    residual_ : float
        Relative residual of ``"cg"``, as for `tol`.

    Notes
    -----
    Conjugate gradients multiply the matrix with vectors by way of merged rows, where the kernel
    allows it (`treelet.matrices.operator`). The preconditioner consists of features of up to 1,000
    examples, chosen by randomly pivoted Cholesky, within half of `memory`. It reduces the
    iterations to about a quarter. Several outputs take as many products with the matrix as one.
    If r is `residual_`, the norm of the error of the coefficients is at most
    :math:`r \|y\| / \lambda`, and the norm of the error of the predictions for the training examples
    is at most :math:`r \|y\|`.

    The estimator keeps the decomposition, 8 n^2 bytes, for `path`, `with_alpha` and `held_out`.
    Copies, pickles and model files do not contain it.

    If the kernel matrix has negative eigenvalues, there is no minimum. A warning is issued and
    these directions are dropped. Leave-one-out predictions are those of the matrix without them.

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
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    @atomic_fit()
    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit the regressor to examples and their target values.

        Parameters
        ----------
        X : collection of examples
            Any form that the kernel accepts. With ``kernel="precomputed"``, the square kernel
            matrix of the examples.
        y : array-like of shape (n_examples,) or (n_examples, n_outputs)
            The target values. Predictions have the same number of dimensions.
        groups : array-like, optional
            The group of each example, such as its sentence, document or fold, for
            `leave_group_out_predictions_`. The coefficients do not depend on the groups, except
            through the choice among `alphas`.

        Returns
        -------
        RLS
            The fitted estimator.
        """
        self._check_parameters()
        kernel, data = self._kernel_and_data(X)
        values, single = checked_outputs(y, len(data))
        held = None if groups is None else checked_groups(groups, len(data), "groups")
        if self._by_products(len(data), held):
            self._fit_by_products(kernel, data, values, single)
        else:
            self._fit(kernel, data, values, held, single)
        self._remember(kernel, data, values)
        return self

    def _problem(self, K: Matrix, y: Matrix, groups: list[Rows] | None, basis: Rows | None) -> Problem:
        if basis is None:
            return Problem(Spectrum.of(K, self._name), y, groups)
        return Problem(Spectrum.of_features(*features(K, basis, self._name)), y, groups)

    @one_fit
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted value, or one row of values, of each example.

        Parameters
        ----------
        X : collection of examples
            As in `fit`. With ``kernel="precomputed"``, a matrix of examples x training examples.

        Returns
        -------
        ndarray of shape (len(X),) or (len(X), n_outputs)
        """
        values = self._values(X)
        return values[:, 0] if (self.flat_ if self._is_cg else self.loo_predictions_.ndim == 1) else values
