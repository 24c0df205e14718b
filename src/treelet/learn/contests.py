"""One group's candidates after the other: a perceptron's comparisons, and what comes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Vector
from treelet.learn.growing import Growing
from treelet.learn.ranker import beats, signed_sums
from treelet.learn.targets import Rows
from treelet.learn.voting import group_blocks
from treelet.progress import Advance
from treelet.structures.table import stacked


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
    trace : History
        With these numbers.
    seen : int
        How many rows there were.
    """

    kernel: Kernel
    examples: Any
    rows: NDArray[np.int64]
    trace: History
    seen: int

    def tell(self, function: Growing) -> None:
        """Let a function, whose first rows are these examples, grow by all that was learnt from them."""
        added, taken = np.searchsorted(self.rows, self.trace.updates).T
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
