r"""Exact kernel machines without the kernel matrix.

A machine is the minimum over b of

.. math:: \tfrac12 b^T K b - y^T b + \epsilon |b|_1, \quad \sum_i b_i = 0, \quad l_i \le b_i \le h_i

where the sum is free for machines without an intercept.

A block of the matrix, for the examples that matter now, is resident. Sequential minimal optimization
solves the problem on the block (`native/smo.hpp`). One product, from merged rows where the kernel allows
it, then updates the gradient :math:`G = K b - y` of all examples. Examples that violate the optimality
conditions enter the block, and examples that satisfy them comfortably leave it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Vector
from treelet.matrices.executors import executor_for
from treelet.matrices.operator import Products
from treelet.matrices.tiles import Job
from treelet.resources import Resources, empty

Rows = NDArray[np.int64]

_FIRST = 2000  # examples in the first block
_GROWTH = 1.0  # share of the block by which it may grow at once
_LEAST_GROWTH = 1000
_SLACK = 0.3  # distance from the margin, in units of the targets, beyond which an example may leave the block
_PATIENCE = 100  # rounds without progress before the solver gives up: rounding errors may exceed the tolerance
_NEAR = 0.1  # distance from the margin, in units of the targets, within which the gradient is computed again at the end
_ROUNDING = 1e-12  # relative precision beyond which steps on a block only change the last digits
_DIGITS = 1e-5  # tolerance, in units of the targets, from which on a block of float32 values is precise enough


class BoxProblem(NamedTuple):
    """The targets y, bounds and tube of a kernel machine; see the module."""

    y: Vector
    low: Vector
    high: Vector
    tube: float = 0.0
    unit: float = 1.0
    """Size of a typical difference between targets."""
    fixed_sum: bool = True
    """Whether the coefficients must sum to 0."""


class BoxSolution(NamedTuple):
    """The solution of a `BoxProblem`."""

    b: Vector
    intercept: float
    gap: float
    """Violation of the optimality conditions, as in libsvm."""
    objective: float
    steps: int
    rounds: int


class ImplicitMatrix(ABC):
    """A symmetric, positive semi-definite matrix that is not stored."""

    diagonal: Vector
    """Values of the diagonal, at least for the rows of blocks that were filled."""
    lists: Rows
    """A number per row. Rows with the same number enter the resident block together, because this costs less."""

    @abstractmethod
    def fill(self, rows: Rows, columns: Rows, out: NDArray[Any]) -> None:
        """Compute a block of the matrix."""

    @abstractmethod
    def combined(self, rows: Rows, weights: Vector, at: Rows | None = None) -> Vector:
        """Return the sum over some rows, multiplied by their weights, at some columns or at all."""

    def __len__(self) -> int:
        return len(self.lists)


class ExampleMatrix(ImplicitMatrix):
    """The kernel matrix of examples.

    Of the memory, three eighths are for products, or a quarter if two problems may be solved at once. Another eighth is for
    blocks and for products at some columns, per problem.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    data : collection
        Examples in the form of the kernel.
    resources : Resources
        Threads, memory and device of the computation.
    problems : int, default 1
        Number of problems over the matrix, of which two may be solved at once.
    """

    def __init__(self, kernel: Kernel, data: Any, resources: Resources, problems: int = 1) -> None:
        eighth = resources.memory // 8
        self.kernel, self.data, self.lists = kernel, data, np.arange(len(data))
        kernel.prepare(data, None, resources.threads)  # parts of the examples then have their self-values
        self.diagonal = kernel.self_values(data)
        share = eighth * (3 if problems == 1 else 2)
        self._products = Products(kernel, data, None, resources._replace(memory_limit=share))
        self._resources = resources._replace(memory_limit=eighth, progress=False)
        self._executor = executor_for(self._resources)

    def fill(self, rows: Rows, columns: Rows, out: NDArray[Any]) -> None:
        self._executor.fill(Job(self.kernel, self.data[rows], self.data[columns], out.dtype), out)

    def combined(self, rows: Rows, weights: Vector, at: Rows | None = None) -> Vector:
        products = self._products
        if at is not None:  # fewer columns have a smaller index
            products = Products(self.kernel, self.data, self.data[at], self._resources)
        return np.asarray(products.combined(rows, weights[None])[0])


class ActiveSetSolver:
    """Solves kernel machines over the same matrix. Several threads may solve different problems.

    Parameters
    ----------
    matrix : ImplicitMatrix
        The matrix K.
    memory : int
        Bytes for the resident block of each problem.
    """

    def __init__(self, matrix: ImplicitMatrix, memory: int) -> None:
        self.matrix, self.memory = matrix, memory

    def solve(
        self,
        problem: BoxProblem,
        tol: float,
        max_steps: int = -1,
        start: Vector | None = None,
        step: Callable[[float], None] = lambda gap: None,
    ) -> BoxSolution:
        """Solve a problem until the gap is below `tol`, or so many steps were taken.

        `start` is a solution of a similar problem. `step` is called after every round with the gap.
        """
        y, low, high, tube, unit, fixed_sum = problem
        left = np.iinfo(np.int64).max if max_steps < 0 else max_steps
        b, gradient = np.zeros(len(y)), -y
        if start is not None:
            b = _feasible(start, low, high) if fixed_sum else np.clip(start, low, high)
            gradient = self._gradient(b, y, None)
        block = _ResidentBlock(self.matrix, self.memory, np.dtype(np.float32 if tol >= _DIGITS * unit else np.float64))
        precision, taken, rounds, exact = max(0.1 * unit, tol / 2), 0, 0, True
        best, idle = np.inf, 0  # the least gap so far, and the rounds since then
        while True:
            up, down = _slopes(b, gradient, problem)
            least, most = float(up.min()), float(down.max())
            if not fixed_sum:
                least, most = min(least, 0.0), max(most, 0.0)
            gap = max(0.0, most - least)
            if rounds:
                step(gap)
            best, idle = (gap, 0) if gap < best else (best, idle + 1)
            if gap < tol or left <= 0 or idle > _PATIENCE:
                if exact or left <= 0 or idle > _PATIENCE:
                    break
                # Once more, without the rounding errors of all updates. These cannot matter far from the margin.
                near = np.flatnonzero(np.maximum(most - up, down - least) > -_NEAR * unit)
                gradient[near], exact = self._gradient(b, y, near), True
                continue
            free = (b > low) & (b < high) & ((b != 0) | (tube == 0))
            inside, center = block.members[free[block.members]], 0.0
            if fixed_sum:
                center = float(np.median((up[inside] + down[inside]) / 2)) if len(inside) else (least + most) / 2
            violation = np.maximum(center - up, down - center)
            waiting = block.renew(violation, free, (int(up.argmin()), int(down.argmax())), precision, _SLACK * unit)
            members = block.members
            if rounds:
                few = waiting <= len(members) // 20
                precision = tol / 2 if few else max(tol / 2, min(precision, 0.1 * gap))
            precision = max(precision, _ROUNDING * max(1.0, abs(least), abs(most)))
            here, slope = b[members], gradient[members]
            bounds = low[members], high[members], tube, fixed_sum
            steps, _ = _core.smo(block.values, self.matrix.diagonal[members], *bounds, here, slope, precision, left)
            taken, left, rounds, exact = taken + steps, left - steps, rounds + 1, False
            change = here - b[members]
            changed = np.flatnonzero(change)
            b[members] = here
            if len(changed):
                gradient += self.matrix.combined(members[changed], change[changed])
        objective = float(b @ (gradient - y)) / 2 + tube * float(np.abs(b).sum())
        intercept = -(least + most) / 2 if fixed_sum else 0.0
        return BoxSolution(b, intercept, gap, objective, taken, rounds)

    def _gradient(self, b: Vector, y: Vector, at: Rows | None) -> Vector:
        """Return the gradient at some examples or at all."""
        support = np.flatnonzero(b)
        return self.matrix.combined(support, b[support], at) - (y if at is None else y[at])


def _slopes(b: Vector, gradient: Vector, problem: BoxProblem) -> tuple[Vector, Vector]:
    """Return the slopes of the objective if b increases, and if it decreases; infinite where it may not."""
    tube = problem.tube
    up = np.where(b < problem.high, gradient + np.where(b >= 0, tube, -tube), np.inf)
    down = np.where(b > problem.low, gradient + np.where(b > 0, tube, -tube), -np.inf)
    return up, down


def _feasible(start: Vector, low: Vector, high: Vector) -> Vector:
    """Return a solution of another problem, moved into the bounds, with the sum 0."""
    b = np.clip(start, low, high)
    excess = float(b.sum())
    side = b > 0 if excess > 0 else b < 0
    total = float(b[side].sum())
    if total:
        b[side] *= 1 - excess / total  # towards 0, which is within the bounds
    return b


class _ResidentBlock:
    """The resident values of the kernel matrix. New examples follow the others; places of others are closed."""

    def __init__(self, matrix: ImplicitMatrix, memory: int, dtype: np.dtype[Any]) -> None:
        self._matrix = matrix
        self._capacity = min(len(matrix), max(64, math.isqrt(memory // dtype.itemsize)))
        self._values = empty((self._capacity, self._capacity), dtype)
        self.members: Rows = np.empty(0, np.int64)
        self._is_member = np.zeros(len(matrix), bool)
        self._random = np.random.default_rng(0)

    @property
    def values(self) -> NDArray[Any]:
        return self._values[: len(self.members), : len(self.members)]

    def renew(
        self, violation: Vector, free: NDArray[np.bool_], worst: tuple[int, int], precision: float, slack: float
    ) -> int:
        """Replace comfortable examples by others that violate the optimality conditions.

        Violations far below the precision to which the block is solved would not be mended. Returns the number of all
        examples outside the block with larger violations.
        """
        capacity, size = self._capacity, len(self.members)
        if size == 0:  # a sample, and the worst pair, without which there may be nothing to improve
            first, most = np.arange(len(violation)), _FIRST
            if free.any():  # a warm start
                first, most = np.flatnonzero(free | (violation > precision / 2)), max(_FIRST, capacity // 2)
            sample = self._sample(first, max(2, min(most, capacity) - 2))
            self._add(np.unique([*worst, *sample])[:capacity])
            return len(violation)
        outside = np.flatnonzero(~self._is_member & (violation > precision / 2))
        room = min(max(int(_GROWTH * size), _LEAST_GROWTH), len(outside), capacity // 2)
        inside = self.members
        idle = (violation[inside] < -slack) & ~free[inside]
        over = size - int(idle.sum()) + room - capacity
        leaving = inside[idle]
        if over > 0:  # also examples at their bounds that violate least, then others at random
            rest = inside[~idle]
            order = np.lexsort((self._random.random(len(rest)), violation[rest] * ~free[rest], free[rest]))
            leaving = np.concatenate([leaving, rest[order[:over]]])
        elif size + room <= 0.9 * capacity and len(leaving) <= 0.3 * size:
            leaving = leaving[:0]
        # A sample of them, because the largest violations are often those of wrong labels.
        added = self._sample(outside, room)
        pair = [row for row in dict.fromkeys(worst) if not self._is_member[row] and row not in added]
        if room or pair:
            added = np.concatenate([np.array(pair, np.int64), added])[: max(room, len(pair))]
        self._drop(leaving)
        added = added[: capacity - len(self.members)]
        self._add(added)
        return len(outside)

    def _sample(self, rows: Rows, size: int) -> Rows:
        """Return random rows, those of one list together."""
        keys = self._random.random(int(self._matrix.lists.max(initial=0)) + 1)[self._matrix.lists[rows]]
        return rows[np.argsort(keys, kind="stable")[:size]]

    def _drop(self, leaving: Rows) -> None:
        if not len(leaving):
            return
        self._is_member[leaving] = False
        kept = np.flatnonzero(self._is_member[self.members])
        first = int(np.flatnonzero(np.concatenate([kept, [-1]]) != np.arange(len(kept) + 1))[0])
        for place in range(len(kept)):  # rows move up, so no row is overwritten before it is read
            self._values[place, first : len(kept)] = self._values[kept[place], kept[first:]]
            if place >= first:
                self._values[place, :first] = self._values[kept[place], :first]
        self.members = self.members[kept]

    def _add(self, rows: Rows) -> None:
        if not len(rows):
            return
        begin = len(self.members)
        self.members = np.concatenate([self.members, rows])
        self._is_member[rows] = True
        end = len(self.members)
        self._matrix.fill(rows, self.members, self._values[begin:end, :end])
        _core.mirror(self._values, 0, begin, begin, end)
