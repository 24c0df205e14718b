"""A perceptron's weight vectors that vote (Freund & Schapire 1999)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.gram.executors import host_matrix
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.encoding import register
from treelet.learn.precomputed import MatrixColumns, given_values
from treelet.learn.ranker import TIE
from treelet.learn.state import whole_numbers
from treelet.learn.summands import compact_examples
from treelet.learn.targets import Rows, checked_groups
from treelet.resources import PLAIN, Resources

VOTES = 1 << 22  # scores under all weight vectors that voting holds at once


@register
class VotingModel:
    """Weight vectors that vote, each as often as the comparisons it survived.

    A vector is the sum of the updates up to it, so that all of them are kept as the updates in order, and their scores
    are cumulated sums.

    Parameters
    ----------
    kernel : Kernel or None
        None for values that are given.
    examples : collection or MatrixColumns
        The support examples.
    updates : ndarray of shape (updates, 2)
        The example that was added, and the one that was taken away.
    survived : ndarray of shape (updates,)
        How many comparisons the vector after each update survived.
    """

    outputs = 1

    def __init__(
        self, kernel: Kernel | None, examples: Any, updates: NDArray[np.int64], survived: NDArray[np.int64]
    ) -> None:
        self.kernel, self.examples, self.updates, self.survived = kernel, examples, updates, survived

    @classmethod
    def of(
        cls,
        kernel: Kernel | None,
        data: Any,
        support: NDArray[np.int64],
        updates: NDArray[np.int64],
        survived: NDArray[np.int64],
    ) -> VotingModel:
        """The model of training examples, of which `support` are used, and updates that name them by their rows."""
        examples = MatrixColumns(len(data), support) if kernel is None else compact_examples(kernel, data[support])
        return cls(kernel, examples, np.searchsorted(support, updates), survived)

    def votes(self, X: Any, qid: Any, resources: Resources = PLAIN) -> Vector:
        """The share of votes that each example has in its group; candidates that tie share a vote."""
        X = given_values(X, self.examples.total) if self.kernel is None else self.kernel.coerce(X)
        groups = checked_groups(qid, len(X))
        shares = np.zeros(len(X))
        for block in group_blocks(range(len(groups)), groups, max(1, VOTES // max(1, len(self.examples)))):
            rows = np.concatenate([groups[number] for number in block])
            if self.kernel is None:
                values = X[np.ix_(rows, self.examples.columns)]
            else:
                values = host_matrix(self.kernel, X[rows], self.examples, resources)
            begin = 0
            for number in block:
                end = begin + len(groups[number])
                shares[groups[number]] = self._shares(values[begin:end])
                begin = end
        return shares

    def _shares(self, values: Matrix) -> Vector:
        """Votes for the candidates of one group, from their kernel values with the support examples."""
        shares, scores, size = np.zeros(len(values)), np.zeros(len(values)), 0.0
        step = max(1, VOTES // len(values))
        for begin in range(0, len(self.updates), step):
            added, taken = self.updates[begin : begin + step].T
            run = values[:, added] - values[:, taken]
            run[:, 0] += scores
            np.cumsum(run, axis=1, out=run)
            scores = run[:, -1].copy()
            sizes = np.maximum(np.maximum.accumulate(np.abs(run).max(axis=0)), size)
            size = float(sizes[-1])
            tied = run >= run.max(axis=0) - TIE * sizes
            shares += tied @ (self.survived[begin : begin + step] / tied.sum(axis=0))
        return np.asarray(shares / self.survived.sum(), dtype=np.float64)

    def _to_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("kernel", "examples", "updates", "survived")}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> VotingModel:
        kernel, examples = state["kernel"], state["examples"]
        updates, survived = whole_numbers(state["updates"], 2), whole_numbers(state["survived"], 1)
        if isinstance(kernel, Kernel):
            examples = kernel.coerce(examples)
        elif kernel is not None or not isinstance(examples, MatrixColumns):
            raise ValueError("votes need a kernel and support examples")
        if updates.shape != (len(survived), 2) or not len(survived) or updates.max() >= len(examples):
            raise ValueError("updates and support examples do not fit")
        if survived.min() < 1 or survived.max() > 1 << 53:
            raise ValueError("a vector survived its own making")
        return cls(kernel, examples, updates, survived)


def group_blocks(order: Any, groups: Sequence[Rows], width: int) -> list[list[int]]:
    """The numbers of groups, cut into runs of at most `width` rows, or of one group."""
    blocks: list[list[int]] = []
    rows = 0
    for number in order:
        size = len(groups[number])
        if not blocks or rows + size > width:
            blocks.append([])
            rows = 0
        blocks[-1].append(int(number))
        rows += size
    return blocks
