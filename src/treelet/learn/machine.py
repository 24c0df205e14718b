"""What support vector machines share: parameters of the solver, the matrix, and a model with intercepts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from treelet.checks import check_boolean, check_number
from treelet.errors import TreeletWarning
from treelet.gram import parse_memory
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix
from treelet.learn.base import KernelLearner
from treelet.learn.libsvm import DualSolution
from treelet.learn.model import CompressedModel, warn_of_strangers
from treelet.learn.state import check_intercepts
from treelet.vocabulary import keyword

FEW = 20  # examples, of which nothing can be said
LOOKED_AT = 200
ALONE = 0.05  # the cosine of an example with the one most like it


def warn_if_alone(K: Matrix) -> None:
    """Warn where hardly any example is like another one, as large trees are under a kernel that counts large fragments."""
    if len(K) < FEW or not K.diagonal().any():  # of which `KernelLearner` warns
        return
    rows = np.linspace(0, len(K) - 1, min(len(K), LOOKED_AT)).astype(int)
    sizes = np.sqrt(np.abs(np.diag(K)))
    sizes[sizes == 0] = np.inf  # what has nothing is like nothing
    cosines = np.abs(K[rows]) / sizes[rows][:, None] / sizes
    cosines[np.arange(len(rows)), rows] = 0
    if np.median(cosines.max(axis=1)) < ALONE:
        warnings.warn(
            "hardly any training example is like another: under this kernel half of them have no cosine of "
            f"{ALONE} or more with any, and the model can do little but remember them. Large trees need smaller "
            f"fragments: try a smaller {keyword('lam')}, a small {keyword('max_depth')}, or the kernel of subtrees",
            TreeletWarning,
            stacklevel=5,
        )


class KernelMachine(KernelLearner):
    """What `KernelSVC` and `KernelSVR` share."""

    C: float
    tol: float
    cache_size: float
    shrinking: bool
    max_iter: int
    memory: int | float | str | None

    _fitted: ClassVar[tuple[str, ...]] = (*KernelLearner._fitted, "intercept_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("C", "tol", "cache_size"):
            check_number(self, name, 0, np.inf)
        check_boolean("shrinking", self.shrinking, of=self)
        parse_memory(self.memory)
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < -1:
            raise self._refuse("max_iter", "an int, -1 for no bound")

    @property
    def _solver(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("C", "tol", "cache_size", "shrinking", "max_iter")}

    def _fit(self, kernel: Kernel | None, data: Any, solve: Callable[[Matrix], DualSolution]) -> Matrix:
        """Make the matrix, solve, keep the support examples' coefficients and collapse them into a model."""
        started = time.perf_counter()
        if kernel is not None:
            what = f"the matrix of {len(data):,} training examples"
            self._check_memory(what, 8 * len(data) ** 2)
        K = self._matrix(kernel, data)
        if kernel is not None:
            warn_if_alone(K)
        made = time.perf_counter()
        solution = solve(K)
        solved = time.perf_counter()
        support = np.unique(solution.alpha.indices)
        self.intercept_ = solution.intercept
        self._keep(kernel, data, support, solution.alpha[:, support].toarray())
        self.fit_seconds_ = {
            "gram": made - started,
            "solve": solved - made,
            "compress": time.perf_counter() - solved,
        }
        return K

    def _values(self, X: Any) -> Matrix:
        values = super()._values(X)
        if isinstance(self.model_, CompressedModel):
            warn_of_strangers(self.model_.kernel, X, values)
        return values + self.intercept_

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        check_intercepts(self.intercept_, self.model_.outputs)
