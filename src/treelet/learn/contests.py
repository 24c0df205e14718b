"""The comparisons of a perceptron within groups, and voting weight vectors (Freund & Schapire 1999)."""

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
from treelet.learn.model import warn_if_missing
from treelet.learn.ranking import TIE, beats, signed_sums
from treelet.learn.targets import Rows, checked_groups
from treelet.learn.terms import compact_examples
from treelet.progress import Advance
from treelet.resources import PLAIN, Resources
from treelet.structures.table import stacked

VOTES = 1 << 22  # maximum number of scores under all weight vectors in memory


@register
class VotingModel:
    """Weight vectors that vote, each once per comparison that it survived.

    A weight vector is the sum of all updates up to it. Only the updates are stored, in order, and
    the scores of all vectors are computed as cumulative sums.

    Parameters
    ----------
    kernel : Kernel or None
        None for a precomputed matrix.
    examples : collection or MatrixColumns
        The support vectors.
    updates : ndarray of shape (n_updates, 2)
        The example that was added and the example that was subtracted, per update.
    survived : ndarray of shape (n_updates,)
        Number of comparisons that the vector after each update survived.
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
        """Create a model from training examples, the rows of the support vectors, and updates in terms of rows."""
        examples = MatrixColumns(len(data), support) if kernel is None else compact_examples(kernel, data[support])
        return cls(kernel, examples, np.searchsorted(support, updates), survived)

    def votes(self, X: Any, qid: Any, resources: Resources = PLAIN) -> Vector:
        """Return the share of votes of each example in its group.

        Candidates that tie share a vote.
        """
        X = given_values(X, self.examples.total) if self.kernel is None else self.kernel.coerce(X)
        groups = checked_groups(qid, len(X))
        shares, scored = np.zeros(len(X)), np.zeros((len(X), 1), bool)
        for block in group_blocks(range(len(groups)), groups, max(1, VOTES // max(1, len(self.examples)))):
            rows = np.concatenate([groups[number] for number in block])
            if self.kernel is None:
                values = X[np.ix_(rows, self.examples.columns)]
            else:
                values = host_matrix(self.kernel, X[rows], self.examples, resources)
                scored[rows, 0] = values.any(axis=1)
            begin = 0
            for number in block:
                end = begin + len(groups[number])
                shares[groups[number]] = self._shares(values[begin:end])
                begin = end
        if self.kernel is not None:
            warn_if_missing(self.kernel, X, scored)
        return shares

    def _shares(self, values: Matrix) -> Vector:
        """Return the shares of votes in one group from the kernel values with the support vectors."""
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
            raise ValueError("a voting model needs a kernel and support vectors")
        if updates.shape != (len(survived), 2) or not len(survived) or updates.max() >= len(examples):
            raise ValueError("updates and support vectors do not match")
        if survived.min() < 1 or survived.max() > 1 << 53:
            raise ValueError("a number of survived comparisons is out of range")
        return cls(kernel, examples, updates, survived)


def group_blocks(order: Any, groups: Sequence[Rows], width: int) -> list[list[int]]:
    """Divide the numbers of groups into blocks of at most `width` rows, or of a single group."""
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
    """The updates of a perceptron in order.

    Attributes
    ----------
    updates : ndarray of shape (n_updates, 2)
        The row that was added and the row that was subtracted, per update.
    steps : ndarray of shape (n_updates,)
        The number of the comparison that caused each update, counted from 1.
    comparisons : int
        Total number of comparisons.
    errors : list of int
        Number of updates per epoch.
    """

    updates: NDArray[np.int64]
    steps: NDArray[np.int64]
    comparisons: int
    errors: list[int]

    @property
    def survived(self) -> NDArray[np.int64]:
        """Number of comparisons from each update, which creates a weight vector, to the next update."""
        return np.diff(self.steps, append=self.comparisons + 1)

    @staticmethod
    def nothing() -> History:
        """Return the empty history."""
        return History(np.empty((0, 2), np.int64), np.empty(0, np.int64), 0, [])

    def then(self, more: History, *, same_epoch: bool = False) -> History:
        """Return this history followed by another, whose steps already continue the count of this one."""
        errors = self.errors + more.errors
        return History(
            np.concatenate([self.updates, more.updates]),
            np.concatenate([self.steps, more.steps]),
            more.comparisons,
            [sum(errors)] if same_epoch else errors,
        )


class StreamState(NamedTuple):
    """State of a perceptron between two calls of `partial_fit`.

    Attributes
    ----------
    kernel : Kernel
        The kernel of the first call.
    examples : collection
        Examples that are part of a weight vector, in the kernel's form; None if there are none yet.
    rows : ndarray of int
        Their numbers among all rows, ascending.
    history : History
        All updates, with these row numbers.
    seen : int
        Number of rows so far.
    """

    kernel: Kernel
    examples: Any
    rows: NDArray[np.int64]
    history: History
    seen: int

    def add_to(self, function: Growing) -> None:
        """Add all earlier updates to a function whose first rows are the stored examples."""
        added, taken = np.searchsorted(self.rows, self.history.updates).T
        weights = signed_sums(added, taken, np.ones(len(added)), len(self.rows))
        for begin in range(0, len(self.rows), min(function.width, max(1, len(self.rows)))):
            rows = np.arange(begin, min(begin + function.width, len(self.rows)))
            function.expect(rows)
            for row in rows[weights[rows] != 0].tolist():
                function.add(row, float(weights[row]))


def whole_groups(parts: Iterable[tuple[Any, Any, Any]]) -> Iterator[tuple[Any, list[Any], list[Any]]]:
    """Regroup the parts of a file so that no group is split, for `VotedPerceptron.partial_fit`.

    Parameters
    ----------
    parts : iterable of (X, y, qid)
        Examples in order, with adjacent candidates of a group. X can be a bank, a table, an array
        or a list.

    Yields
    ------
    X, y, qid
        The same examples. The last group of a part is moved to the next part.

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
    """Make one pass over the contests in the given order; `comparisons` counts the earlier comparisons."""
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
    """Return the row of the correct candidate of a group, followed by the rows of all worse candidates."""
    best = goodness.max()
    first = np.flatnonzero(goodness == best)[:1]
    chosen: Rows = rows[np.concatenate([first, np.flatnonzero(goodness < best)])]
    return chosen


def compared(function: Growing, rows: Rows) -> list[int]:
    """Compare the first row of a group with the others (Collins & Duffy 2001, Fig. 3).

    Returns the positions of the rows that the first row did not beat. Each such row updates the
    scores of the group at once. These updates are differences of two rows of the group's own
    matrix, so the function itself is evaluated and changed only once per group.
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
