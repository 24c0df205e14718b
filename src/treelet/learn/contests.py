"""The comparisons of a voted perceptron, group by group, and its weight vectors that vote (Freund & Schapire 1999)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.gram.executors import host_matrix
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.encoding import register, whole_numbers
from treelet.learn.growing import Growing
from treelet.learn.matrices import MatrixColumns, given_values
from treelet.learn.ranking import TIE, beats, signed_sums
from treelet.learn.targets import Rows, checked_groups
from treelet.learn.terms import compact_examples
from treelet.progress import Advance
from treelet.resources import PLAIN, Resources
from treelet.structures.table import stacked

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


class History(NamedTuple):
    """What a perceptron went through.

    Attributes
    ----------
    updates : ndarray of shape (updates, 2)
        The row that was added, and the one that was taken away.
    steps : ndarray of shape (updates,)
        The number, from 1, of the comparison that led to each.
    comparisons : int
        How many there were in all.
    errors : list of int
        Updates in each epoch.
    """

    updates: NDArray[np.int64]
    steps: NDArray[np.int64]
    comparisons: int
    errors: list[int]

    @property
    def survived(self) -> NDArray[np.int64]:
        """For each weight vector after the first, 0: comparisons from the one that made it to the next update."""
        return np.diff(self.steps, append=self.comparisons + 1)

    @staticmethod
    def nothing() -> History:
        """Before the first comparison."""
        return History(np.empty((0, 2), np.int64), np.empty(0, np.int64), 0, [])

    def then(self, more: History, *, same_epoch: bool = False) -> History:
        """Both, one after the other; the steps of the second are counted on from the first already."""
        errors = self.errors + more.errors
        return History(
            np.concatenate([self.updates, more.updates]),
            np.concatenate([self.steps, more.steps]),
            more.comparisons,
            [sum(errors)] if same_epoch else errors,
        )


class StreamState(NamedTuple):
    """What a perceptron keeps of the parts of a file that it has been through.

    Attributes
    ----------
    kernel : Kernel
    examples : collection
        Those that are part of a weight vector, in the kernel's form; None if there are none yet.
    rows : ndarray of int
        Their numbers among all rows, ascending.
    history : History
        With these numbers.
    seen : int
        How many rows there were.
    """

    kernel: Kernel
    examples: Any
    rows: NDArray[np.int64]
    history: History
    seen: int

    def tell(self, function: Growing) -> None:
        """Let a function, whose first rows are these examples, grow by all that was learned from them."""
        added, taken = np.searchsorted(self.rows, self.history.updates).T
        weights = signed_sums(added, taken, np.ones(len(added)), len(self.rows))
        for begin in range(0, len(self.rows), min(function.width, max(1, len(self.rows)))):
            rows = np.arange(begin, min(begin + function.width, len(self.rows)))
            function.expect(rows)
            for row in rows[weights[rows] != 0].tolist():
                function.add(row, float(weights[row]))


def whole_groups(parts: Iterable[tuple[Any, Any, Any]]) -> Iterator[tuple[Any, list[Any], list[Any]]]:
    """Parts of a file in which groups are cut, cut between groups instead: for `VotedPerceptron.partial_fit`.

    Parameters
    ----------
    parts : iterable of (X, y, qid)
        Examples in order, those of a group one after the other; X as banks, tables, arrays or lists.

    Yields
    ------
    X, y, qid
        The same examples; what belongs to the last group of a part comes with the next one.

    Examples
    --------
    >>> from treelet.learn import whole_groups
    >>> parts = [(["(A a)", "(B b)", "(C c)"], [1, 0, 1], [1, 1, 2]), (["(D d)"], [0], [2])]
    >>> [X for X, y, qid in whole_groups(parts)]
    [['(A a)', '(B b)'], ['(C c)', '(D d)']]
    """
    held: tuple[Any, list[Any], list[Any]] | None = None
    for part, y, qid in parts:
        X, values, groups = part, list(y), list(qid)
        if held is not None:
            X, values, groups = stacked(held[0], part), held[1] + values, held[2] + groups
        cut = len(groups)
        while cut and groups[cut - 1] == groups[-1]:
            cut -= 1
        if cut:
            yield X[:cut], values[:cut], groups[:cut]
        held = X[cut:], values[cut:], groups[cut:]
    if held is not None and held[2]:
        yield held


def one_pass(function: Growing, contests: list[Rows], order: Any, comparisons: int, advance: Advance) -> History:
    """All contests in turn, after so many comparisons."""
    updates: list[tuple[int, int]] = []
    steps: list[int] = []
    for block in group_blocks(order, contests, function.width):
        function.expect(np.concatenate([contests[number] for number in block]))
        for number in block:
            rows = contests[number]
            for rival in compared(function, rows):
                updates.append((int(rows[0]), int(rows[rival])))
                steps.append(comparisons + rival)
            comparisons += len(rows) - 1
            advance(1)
    return History(np.array(updates, np.int64).reshape(-1, 2), np.array(steps, np.int64), comparisons, [len(steps)])


def contest(rows: Rows, goodness: Vector) -> Rows:
    """The correct candidate of a group, and after it those that are worse, in their order."""
    best = goodness.max()
    first = np.flatnonzero(goodness == best)[:1]
    chosen: Rows = rows[np.concatenate([first, np.flatnonzero(goodness < best)])]
    return chosen


def compared(function: Growing, rows: Rows) -> list[int]:
    """One group's turn (Collins & Duffy 2001, Fig. 3): the places of those that the first row did not beat.

    The function grows by each of them as soon as it is found. For the other candidates of the group that adds
    differences of two rows of the group's own matrix, so that the function itself is asked and changed once.
    """
    scores = function.scores(rows)
    lost: list[int] = []
    for rival in range(1, len(rows)):
        if not beats(scores[0], scores[rival]):
            if not lost:
                values = function.values(rows)
            scores += values[0] - values[rival]
            lost.append(rival)
    if lost:
        function.add(int(rows[0]), float(len(lost)))
        for rival in lost:
            function.add(int(rows[rival]), -1.0)
    return lost
