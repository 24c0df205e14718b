"""Matrices of many kernels on one collection: what they have in common is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from treelet.errors import KernelOverflowError
from treelet.gram.executors import host_matrix
from treelet.kernels.algebra import Constant, Product, Scale, Sum
from treelet.kernels.base import Kernel
from treelet.kernels.on import On
from treelet.kernels.pairwise import Evaluator, Matrix, Vector
from treelet.kernels.values import to_logs
from treelet.kernels.wrapped import Gaussian, Normalized, PolynomialOf
from treelet.resources import PLAIN, Resources

CELLWISE = (Sum, Product, Scale, Normalized, Gaussian, PolynomialOf)
"""Kernels whose values follow from those of inner kernels, for the same examples."""


class ReadyEvaluator(Evaluator):
    """Copies rows of a matrix."""

    def __init__(self, K: Matrix, logs: bool) -> None:
        self.K, self.logs = K, logs
        self.n_rows = self.n_columns = len(K)

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        out[...] = self.K[begin:end, : out.shape[1]]
        if self.logs:
            to_logs(out)


class Ready(Kernel):
    """A kernel whose matrix is there; its examples are the rows."""

    def __init__(self, values: Matrix) -> None:
        self.values = values

    def coerce(self, X: Any) -> Any:
        return X

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        return ReadyEvaluator(self.values, logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        values = np.diag(self.values).copy()
        if logs:
            to_logs(values)
        return values


class SharedMatrices:
    """The matrices of several kernels, one after the other.

    What occurs in several kernels, and differs in what is wrapped around it or added to it only, is computed once, and kept until
    the last of them is done. The kernels themselves do the rest.

    Parameters
    ----------
    kernels : sequence of Kernel
    X : collection
    resources : Resources
        An explicit memory limit holds for the matrices that are kept; others are computed again. By default there is no limit.
        Kernels around a matrix that is kept are computed by threads.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> from treelet.learn.matrices import SharedMatrices
    >>> inner = SubsetTree(lam=1)
    >>> shared = SharedMatrices([inner, 2 * inner, inner.normalized()], ["(D a)", "(N (D a) (D b))"])
    >>> [round(float(K[0, 1]), 3) for K in shared]
    [1.0, 2.0, 0.408]
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        X: Any,
        resources: Resources = PLAIN,
    ) -> None:
        self.kernels, self.limit = list(kernels), resources.memory_limit
        self.resources = resources._replace(memory_limit=None)
        for kernel in self.kernels:
            X = kernel.coerce(X)
        self.X = X
        self._known: list[tuple[Kernel, Matrix | KernelOverflowError]] = []

    def __iter__(self) -> Iterator[Matrix | KernelOverflowError]:
        """A matrix a kernel; where its values do not fit a float64, the error that says so."""
        parts = [_parts(kernel) for kernel in self.kernels]
        for number, kernel in enumerate(self.kernels):
            later = [part for others in parts[number + 1 :] for part in others]
            try:
                yield self._matrix(kernel, parts[number], later)
            except KernelOverflowError as error:
                yield error
            self._known = [known for known in self._known if _among(known[0], later)]

    def _matrix(self, kernel: Kernel, parts: list[Kernel], later: list[Kernel]) -> Matrix:
        needed = [[*parts[place + 1 :], *later] for place in range(len(parts))]
        again = [
            self._look_up(part) is not None or _among(part, rest) for part, rest in zip(parts, needed, strict=True)
        ]
        if not any(again):
            return host_matrix(kernel, self.X, resources=self.resources)
        found = [self._computed(part, keep=_among(part, rest)) for part, rest in zip(parts, needed, strict=True)]
        fitting = [values for values in found if isinstance(values, np.ndarray)]
        if len(fitting) < len(found):
            return host_matrix(
                kernel, self.X, resources=self.resources
            )  # it may be that only parts of it are too large
        ready = iter(fitting)
        over_ready = _rebuilt(kernel, lambda part: Ready(next(ready)))
        if isinstance(over_ready, Ready):
            return over_ready.values
        return host_matrix(over_ready, np.arange(len(self.X)), resources=Resources(self.resources.threads))

    def _look_up(self, part: Kernel) -> Matrix | KernelOverflowError | None:
        return next((values for known, values in self._known if _same(known, part)), None)

    def _computed(self, part: Kernel, *, keep: bool) -> Matrix | KernelOverflowError:
        values = self._look_up(part)
        if values is None:
            try:
                values = host_matrix(part, self.X, resources=self.resources)
            except KernelOverflowError as error:
                values = error
            kept = sum(K.nbytes for _, K in self._known if isinstance(K, np.ndarray))
            if keep and (
                self.limit is None or not isinstance(values, np.ndarray) or kept + values.nbytes <= self.limit
            ):
                self._known.append((part, values))
        return values


def _rebuilt(kernel: Kernel, ready: Callable[[Kernel], Kernel], columns: tuple[Any, ...] = ()) -> Kernel:
    """The kernel with all that compares examples replaced; `ready` gets it together with the columns that it is on."""
    if isinstance(kernel, On):
        return _rebuilt(kernel.kernel, ready, (*columns, kernel.column))
    if isinstance(kernel, CELLWISE):
        params = kernel.get_params(deep=False)
        inner = {name: _rebuilt(part, ready, columns) for name, part in params.items() if isinstance(part, Kernel)}
        return type(kernel)(**{**params, **inner})
    if isinstance(kernel, Constant):
        return kernel
    for column in reversed(columns):
        kernel = On(column, kernel)
    return ready(kernel)


def _parts(kernel: Kernel) -> list[Kernel]:
    """What compares examples in a kernel, with its columns, from left to right."""
    found: list[Kernel] = []

    def noted(part: Kernel) -> Kernel:
        found.append(part)
        return part

    _rebuilt(kernel, noted)
    return found


def _among(kernel: Kernel, others: Sequence[Kernel]) -> bool:
    return any(_same(kernel, other) for other in others)


def _same(one: Kernel, other: Kernel) -> bool:
    try:
        return one == other
    except ValueError:  # arrays among the parameters
        return one is other
