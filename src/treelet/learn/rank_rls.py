"""Least squares on the differences between candidates of the same group, over any kernel."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from treelet.errors import ParameterError
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.base import NO_QUALITY, Rows, checked_groups, checked_numbers, group_numbers
from treelet.learn.fits import atomic_fit
from treelet.learn.least_squares import Cube, LeastSquares, Problem, Spectrum, features, finite
from treelet.learn.persist import register
from treelet.learn.ranking import Ranker, nothing_to_learn


@register
class RankRLS(Ranker, LeastSquares):
    r"""Least-squares ranking: learn to order the candidates of each group.

    RankRLS minimizes the squared errors of the differences between any two candidates of a group,

    .. math:: \min_f \; \sum_q w_q \sum_{i < j \in q} \bigl((y_i - y_j) - (f(x_i) - f(x_j))\bigr)^2 + \lambda \|f\|^2

    The solution satisfies :math:`(L K + \lambda I) a = L y`, where the block of :math:`L` for group
    q is :math:`w_q (|q| I - 1 1^T)`.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        Default: ``SubsetTree().normalized()``. With ``"precomputed"``, X is a kernel matrix.
    alpha : float, default 1.0
        Regularization strength :math:`\lambda`, in (0, inf).
    alphas : sequence of numbers, optional
        Candidates for `alpha`. The fit chooses the one with the smallest squared error of
        differences within groups, in leave-group-out predictions.
    weights : {"pairs", "groups"}, default "pairs"
        ``"pairs"`` gives all pairs the same weight, :math:`w_q = 1`, as in the paper. ``"groups"``
        uses :math:`w_q = 1/|q|`, so the weight of a large group grows with the number of its
        candidates rather than of its pairs. If all groups have the same size q, the two differ only
        by a factor q of `alpha`.
    basis, random_state, memory, n_jobs, tol, max_iter
        As for `RLS`.
    solver : {"auto", "eigen", "cg"}, default "auto"
        As for `RLS`. ``"cg"`` does not support `alphas`, `basis` and held-out predictions.

    Attributes
    ----------
    alpha_ : float
        The regularization strength of the fit.
    leave_group_out_predictions_ : ndarray of shape (n_examples,)
        For each training example, the score by the model fitted without its group.
    loo_predictions_ : ndarray of shape (n_examples,)
        For each training example, the score by the model fitted without it, but with the other
        candidates of its group.
    path_ : RLSPath
        Errors and predictions for each of `alphas`, if these were given.
    smallest_eigenvalue_ : float
        Smallest eigenvalue of the matrix of differences, :math:`L^{1/2} K L^{1/2}`, without the
        directions in which all candidates of a group are equal. With a basis, of its block of the
        kernel matrix.
    support_, dual_coef_, model_, solver_, n_iter_, residual_
        As for `RLS`.

    Notes
    -----
    Each group is transformed to its mean and to directions of differences. Only the latter are
    decomposed: n rows minus one per group. Scores are comparable only within a group. Groups with a
    single candidate have no effect. Conjugate gradients solve the equations of the differences,
    with one product of the kernel matrix per iteration.

    References
    ----------
    Pahikkala et al., "Learning to rank with pairwise regularized least-squares", SIGIR workshop LR4IR 2007; and "An
    efficient algorithm for learning to rank from preference graphs", Machine Learning 75 (2009).

    Examples
    --------
    >>> from treelet.learn import RankRLS
    >>> parses = ["(VP (V saw) (NP (N her)) (PP (P with)))", "(VP (V saw) (NP (N her) (PP (P with))))"]
    >>> parses += ["(VP (V ate) (NP (N it)) (PP (P with)))", "(VP (V ate) (NP (N it) (PP (P with))))"]
    >>> ranker = RankRLS(alpha=0.1).fit(parses, y=[1.0, 0.5, 1.0, 0.5], qid=[1, 1, 2, 2])
    >>> ranker.rank(parses, qid=[1, 1, 2, 2]).tolist()
    [0, 2]
    >>> ranker.leave_group_out_predictions_.round(2).tolist()
    [0.15, -0.15, 0.15, -0.15]
    """

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        alpha: float = 1.0,
        *,
        alphas: Any = None,
        weights: str = "pairs",
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
        self.weights = weights
        self.basis = basis
        self.random_state = random_state
        self.memory = memory
        self.n_jobs = n_jobs
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    @atomic_fit()
    def fit(self, X: Any, y: Any, qid: Any = None) -> Self:
        """Fit the ranker to groups of candidates.

        Parameters
        ----------
        X : collection of examples
            Any form that the kernel accepts. With ``kernel="precomputed"``, the square kernel
            matrix of the examples.
        y : array-like of numbers
            The quality of each example.
        qid : array-like
            The group of each example: numbers or strings. Rows of a group need not be adjacent.

        Returns
        -------
        RankRLS
            The fitted estimator.
        """
        self._check_parameters()
        if self.weights not in ("pairs", "groups"):
            raise self._refuse("weights", "'pairs' or 'groups'")
        kernel, data = self._kernel_and_data(X)
        goodness, groups = (
            checked_numbers(y, len(data), NO_QUALITY),
            checked_groups(qid, len(data), of=type(self).__name__),
        )
        if not any(np.ptp(goodness[rows]) for rows in groups):
            raise nothing_to_learn(len(groups))
        if self.alphas is not None and sum(len(rows) > 1 for rows in groups) < 2:
            raise ParameterError(
                "The choice among alphas needs at least two groups with several candidates, because each group is "
                "predicted from the others. Pass alpha= instead."
            )
        if self._by_products(len(data), None):
            reflection = _GroupReflection(groups, len(data), self.weights == "pairs")
            self._fit_by_products(kernel, data, goodness[:, None], True, reflection.inward, reflection.outward)
        else:
            self._fit(kernel, data, goodness[:, None], groups, True)
        self._remember(kernel, data, goodness, group_numbers(groups, len(data)))
        return self

    def _problem(self, K: Matrix, y: Matrix, groups: list[Rows] | None, basis: Rows | None) -> Problem:
        reflection = _GroupReflection(groups or [], len(y), self.weights == "pairs")
        if basis is not None:
            phi, back, smallest = features(K, basis, self._name)
            phi = reflection(phi)
            spectrum = Spectrum.of_features(reflection.scale[:, None] * phi[reflection.rest], back, smallest)
            return _PairProblem(spectrum, phi[reflection.first] @ spectrum.axes, y, reflection)
        # The differences can be much smaller than the values that they are computed from.
        size = float(np.diag(K).max(initial=0) * reflection.scale.max(initial=0) ** 2)
        K = reflection(reflection(K).T)
        level = K[np.ix_(reflection.first, reflection.rest)] * reflection.scale
        K = K[np.ix_(reflection.rest, reflection.rest)] * reflection.scale
        K *= reflection.scale[:, None]
        spectrum = Spectrum.of(K, self._name, size)
        return _PairProblem(spectrum, (level @ spectrum.axes) * spectrum.kept, y, reflection)


class _GroupReflection:
    r"""A reflection of the rows of each group.

    The first row becomes the mean of the group times :math:`-\sqrt{|q|}`. The other rows contain
    the differences within the group. The reflection of a group is :math:`I - 2 v v^T / v^T v` with
    :math:`v = 1/\sqrt{|q|} + e_1`, which is its own inverse. If :math:`H` consists of its columns
    except for the first, and :math:`s` is their `scale`, then :math:`L = H s s H^T`.
    """

    def __init__(self, groups: list[Rows], n: int, every_pair: bool) -> None:
        self.groups, self.every_pair = groups, every_pair
        sizes = np.array([len(rows) for rows in groups])
        self.first = np.array([rows[0] for rows in groups], np.intp)
        self.rest = np.concatenate([rows[1:] for rows in groups])
        self.start = np.concatenate([[0], np.cumsum(sizes - 1)])
        self.scale = np.sqrt(np.repeat(sizes if every_pair else np.ones(len(sizes)), sizes - 1))
        self.pairs = float(np.sum((sizes if every_pair else 1) * (sizes - 1)) / 2)
        along = np.repeat(1 / np.sqrt(sizes), sizes)
        along[np.cumsum(sizes) - sizes] += 1
        along /= np.repeat(np.sqrt(1 + 1 / np.sqrt(sizes)), sizes)
        which = np.repeat(np.arange(len(groups)), sizes)
        self.along = sp.csr_array((along, (which, np.concatenate(groups))), shape=(len(groups), n))

    def __call__(self, X: Matrix) -> Matrix:
        turned: Matrix = self.along.T @ (self.along @ X)
        return np.subtract(X, turned, out=turned)

    def inward(self, X: Matrix) -> Matrix:
        """Return s H' X: the scaled differences of rows."""
        differences: Matrix = self.scale[:, None] * self(X)[self.rest]
        return differences

    def outward(self, differences: Matrix) -> Matrix:
        """Return H s X: rows from scaled differences."""
        whole = np.zeros((self.along.shape[1], differences.shape[1]))
        whole[self.rest] = self.scale[:, None] * differences
        return self(whole)


def _difference_columns(q: int) -> Matrix:
    """Return the columns of the reflection of a group of q candidates, except for the first."""
    along = np.full(q, 1 / np.sqrt(q))
    along[0] += 1
    columns: Matrix = np.eye(q)[:, 1:] - np.outer(along, along[1:] / (1 + 1 / np.sqrt(q)))
    return columns


class _PairProblem(Problem):
    r"""Least squares on reflected groups of candidates.

    The matrix is :math:`S = s H^T K H s`, the values are :math:`z = s H^T y`, and the coefficients
    are :math:`a = H s b`.

    Parameters
    ----------
    spectrum : Spectrum
        The decomposition of S.
    level : ndarray of shape (groups, rank)
        Map from directions of the spectrum to the first row of each group.
    y : ndarray of shape (examples, 1)
        The quality of each candidate.
    reflection : GroupReflection
        The reflection of the groups.
    """

    def __init__(self, spectrum: Spectrum, level: Matrix, y: Matrix, reflection: _GroupReflection) -> None:
        super().__init__(spectrum, y, reflection.groups)
        self.level, self.reflection = level, reflection
        self.reflected = reflection(y)
        self.z = reflection.inward(y)

    def coefficients(self, alpha: float) -> Matrix:
        inner = finite(self.spectrum.coefficients(self.z, alpha))
        return inner if self.spectrum.thin else self.reflection.outward(inner)

    def left_groups_out(self, alphas: Vector, groups: list[Rows]) -> Cube:
        reflection, solution = self.reflection, self.spectrum.solved(self.z, alphas)[:, :, 0]
        # the first reflected rows of all groups by the full fit, alphas x groups
        level = self.spectrum.mapped(self.level, self.z, alphas)[:, :, 0]
        ridge, found = self.spectrum.ridge(alphas), np.empty((len(self.y), len(alphas)))
        for numbers in self._queries(groups):
            where = np.concatenate([np.arange(reflection.start[k], reflection.start[k + 1]) for k in numbers])
            rows = self.spectrum.vectors[where]
            away = self.spectrum.solved_block(rows, alphas, ridge, solution[:, where, None])
            found[reflection.rest[where]] = (self.z[where] - away[:, :, 0].T) / reflection.scale[where, None]
            change = (ridge * (away[:, :, 0] @ rows)) @ self.level[numbers].T
            found[reflection.first[numbers]] = (level[:, numbers] - change).T
        return finite(reflection(found)).T[:, :, None]

    # Leaving one candidate out, in closed form.
    #
    # Take one group of q candidates. H has the q - 1 columns of the group's reflection that describe differences:
    #     H'H = I,  HH' = I - 11'/q = P,
    # and h is the row of H that belongs to the candidate left out, with h'h = (q - 1)/q. The group's block of L is
    # s^2 P = s^2 HH', with s^2 = q for pairs and 1 for groups.
    #
    # 1. P projects the candidate's unit vector onto Hh. Without that direction, P becomes the centering matrix of the other
    #    candidates, H(I - q/(q - 1) hh')H'. With the weights of a group of q - 1 candidates, the block L becomes
    #        L - HDH',  D = cI + d hh',  (c, d) = (1, q) for pairs and (0, q/(q - 1)) for groups.
    #
    # 2. The fit f satisfies lambda f = KL(y - f), the fit f* without the candidate lambda f* = K(L - HDH')(y - f*).
    #    The difference of both equations gives, with R = (lambda I + KL)^-1 K and the errors e = H'(f - y), e* = H'(f* - y),
    #        f* = f + RHD e*.
    #
    # 3. From S = sH'KHs and G = (S + lambda I)^-1 follows H'RH = (I - M)/s^2 = Z, with M = lambda G at the rows of the
    #    group, and e = -lambda Gz/s. So e* solves e* = e + Z D e*. With t = h'e*, and W = (I - cZ)^-1, that is
    #        e* = We + d t WZh,  t = h'We + d t h'WZh.
    #    For groups W = I. For pairs W = q((q - 1)I + M)^-1, from which WZ = W - I = (I - MW)/(q - 1) follows. In both cases
    #        t = h'We (q - 1) / (q h'MWh),
    #    a form that does not subtract nearly equal numbers.
    #
    # 4. The group's level (the first row of its reflection, -sqrt(q) times its mean) changes by a'D e*, where a is the first
    #    row of RH: by c a'We + d t (c a'WZh + a'h). The prediction of the candidate is its share of the level plus its
    #    own difference from the mean:
    #        f*_h = -(level + change)/sqrt(q) + h'H'f* = -(level + change)/sqrt(q) + t + h'H'y.
    #
    # Below, the first axis of arrays runs over the strengths lambda. The last axis runs over the candidates of a group,
    # because each of them is left out once: each column of H.T is one h.

    def left_one_out(self, alphas: Vector) -> Cube:
        """Return predictions for each candidate by the fit without it; the algebra is above."""
        reflection, solution = self.reflection, self.spectrum.solved(self.z, alphas)[:, :, 0]
        # the first reflected rows of all groups by the full fit, alphas x groups
        level = self.spectrum.mapped(self.level, self.z, alphas)[:, :, 0]
        ridge, predictions = self.spectrum.ridge(alphas), np.empty((len(alphas), len(self.y)))
        for number, members in enumerate(reflection.groups):
            where, q = slice(reflection.start[number], reflection.start[number + 1]), len(members)
            if q == 1:  # There are no pairs, so the fit without this candidate is the same.
                predictions[:, members[0]] = -level[:, number]
                continue
            H = _difference_columns(q)
            rows, s = self.spectrum.vectors[where], reflection.scale[where][0]
            M = alphas[:, None, None] * self.spectrum.block(rows, alphas, ridge)
            a = ((ridge * self.level[number]) @ rows.T) / s
            e = -alphas[:, None] * solution[:, where] / s
            if reflection.every_pair:
                c, d = 1.0, float(q)
                W = q * np.linalg.inv((q - 1) * np.eye(q - 1) + M)
                We, MW = (W @ e[:, :, None])[:, :, 0], M @ W
                MWh = MW @ H.T
                WZh = (H.T - MWh) / (q - 1)
            else:
                c, d = 0.0, q / (q - 1)
                We, MWh = e, M @ H.T
                WZh = H.T - MWh
            t = (We @ H.T) * (q - 1) / (q * np.einsum("hj,ajh->ah", H, MWh))
            change = c * (a * We).sum(axis=1, keepdims=True)
            change = change + d * t * (np.einsum("aj,ajh->ah", a, c * WZh) + a @ H.T)
            differences = H @ self.reflected[reflection.rest[where], 0]
            predictions[:, members] = -(level[:, [number]] + change) / np.sqrt(q) + t + differences
        return finite(predictions)[:, :, None]

    # Leaving two candidates of one group out, in closed form.
    #
    # As above, with two columns h = [h_1 h_2] and s = (1, 1)'. The block L becomes L - HDH' with
    #     D = cI + hCh',  (c, C) = (2, (q - 2)I + ss') for pairs and (0, I + ss'/(q - 2)) for groups,
    # and W = (I - cZ)^-1. So t = h'e* solves (I - h'WZhC) t = h'We. For pairs W = q((q - 2)I + 2M)^-1, from which
    # WZ = (I - MW)/(q - 2) follows. Because h'h = I - ss'/q, h'hC is (q - 2)I for pairs and I for groups, and in both cases
    #     X C t = r h'We,  X = h'MWh,  r = q - 2 for pairs and 1 for groups,
    # without differences of nearly equal numbers. The level changes by a'D e* = c a'We + (c a'WZh + a'h) C t.
    # A group of two has no pairs left, so it is left out as a whole.

    def left_pairs_out(self, alpha: float, first: Rows, second: Rows) -> tuple[Matrix, Matrix]:
        """Return scores for both candidates of each pair by the fit without both; the algebra is above."""
        reflection, strength = self.reflection, np.array([alpha])
        number = group_numbers(reflection.groups, len(self.y))
        apart = np.flatnonzero(number[first] != number[second])
        if len(apart):
            raise ParameterError(
                f"The candidates {first[apart[0]]} and {second[apart[0]]} of pair {apart[0]} belong to different queries. "
                "Each pair of RankRLS.leave_pair_out must belong to one query."
            )
        solution = self.spectrum.solved(self.z, strength)[0, :, 0]
        level = self.spectrum.mapped(self.level, self.z, strength)[0, :, 0]
        ridge, whole = self.spectrum.ridge(strength), self.left_groups_out(strength, reflection.groups)[0, :, 0]
        found = np.stack([whole[first], whole[second]])
        for group in np.unique(number[first]):
            members, where = reflection.groups[group], slice(reflection.start[group], reflection.start[group + 1])
            q, pairs = len(members), np.flatnonzero(number[first] == group)
            if q == 2:
                continue
            place = np.empty(len(self.y), np.intp)
            place[members] = np.arange(q)
            i, j = place[first[pairs]], place[second[pairs]]
            H = _difference_columns(q)
            rows, s = self.spectrum.vectors[where], reflection.scale[where][0]
            M = alpha * self.spectrum.block(rows, strength, ridge)[0]
            a, e = (ridge[0] * self.level[group]) @ rows.T / s, -alpha * solution[where] / s
            if reflection.every_pair:
                c, diagonal, other, r = 2.0, q - 1.0, 1.0, q - 2.0
                W = q * np.linalg.inv((q - 2) * np.eye(q - 1) + 2 * M)
                We, X = W @ e, H @ M @ W @ H.T
                aWZ = (a - a @ M @ W) @ H.T / (q - 2)
            else:
                c, diagonal, other, r = 0.0, 1 + 1 / (q - 2), 1 / (q - 2), 1.0
                We, X, aWZ = e, H @ M @ H.T, np.zeros(q)
            hWe, ah = H @ We, a @ H.T
            inverse = r / (X[i, i] * X[j, j] - X[i, j] * X[j, i])
            Ct = np.stack([X[j, j] * hWe[i] - X[i, j] * hWe[j], X[i, i] * hWe[j] - X[j, i] * hWe[i]]) * inverse
            t = (diagonal * Ct - other * Ct[::-1]) / (diagonal**2 - other**2)
            change = c * (a @ We) + ((c * aWZ + ah)[[i, j]] * Ct).sum(axis=0)
            differences = H @ self.reflected[reflection.rest[where], 0]
            found[:, pairs] = -(level[group] + change) / np.sqrt(q) + t + differences[[i, j]]
        finite(found)
        return found[0][:, None], found[1][:, None]

    def errors(self, loo: Cube, left_out: Cube | None) -> Vector:
        """Return the weighted mean squared error of differences within groups."""
        wrong = self.reflection((self.y - (loo if left_out is None else left_out))[:, :, 0].T)
        return np.asarray(
            np.square(self.reflection.scale[:, None] * wrong[self.reflection.rest]).sum(axis=0) / self.reflection.pairs
        )

    def _queries(self, groups: list[Rows]) -> list[Rows]:
        """Return the numbers of the queries in each group."""
        if groups is self.groups:
            return list(np.arange(len(groups))[:, None])
        query = group_numbers(self.reflection.groups, len(self.y))
        queries = [np.unique(query[rows]) for rows in groups]
        for rows, numbers in zip(groups, queries, strict=True):
            if sum(len(self.reflection.groups[number]) for number in numbers) != len(rows):
                raise ParameterError(
                    f"The group of example {rows[0]} contains only some of the candidates of a query. "
                    "Each group must contain whole queries."
                )
        return queries
