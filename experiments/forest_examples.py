"""Candidates for arguments as examples: of the best tree or of a forest, learned from by one machine a role, and decoded."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.forest_parsers import Key, Parser, key_of
from treelet.cuts import (
    ForestIndex,
    TreeIndex,
    candidates,
    constituent_forest,
    constituent_tree,
    forest_candidates,
    path_forest,
    path_tree,
)
from treelet.errors import TreeletWarning
from treelet.kernels import Kernel, Linear, On
from treelet.learn import KernelSVC
from treelet.structures import ForestBank, Table, Treebank
from treelet.structures.instances import RoleInstance
from treelet.structures.spans import Span
from treelet.tasks import hybrid

Labels = NDArray[np.str_]
Matrix = NDArray[np.float64]
Rows = NDArray[np.intp]

NONE = "none"
RARE = 10
KEEP = 1.0  # candidates without a role, for each with one, in training


@dataclass(frozen=True)
class Setting:
    """One way to make examples and to learn from them."""

    forest: bool = False
    threshold: float = 0.1
    temperature: float = 1.0
    lam: float = 0.4
    theta: float = 0.5
    C: float = 3.0
    leaves: bool = False
    chance: float = 0.0

    def kernel(self) -> Kernel:
        """The hybrid kernel; with `chance`, the candidates' probabilities as well."""
        kernel = hybrid(self.theta, self.lam, forest=self.forest, leaves=self.leaves)
        return kernel + self.chance * On("chance", Linear()) if self.chance else kernel


@dataclass(frozen=True)
class Examples:
    """Candidates of some predicates: what a kernel sees of each, whose it is, its words, its probability and its role."""

    table: Table
    owners: Rows
    spans: list[Span]
    chances: Matrix
    labels: Labels

    def __len__(self) -> int:
        return len(self.owners)

    def rows(self, kept: Rows) -> Examples:
        """Some of them."""
        spans = [self.spans[k] for k in kept.tolist()]
        return Examples(self.table[kept.tolist()], self.owners[kept], spans, self.chances[kept], self.labels[kept])

    def above(self, threshold: float) -> Examples:
        """Those whose probability is not below a threshold."""
        return self.rows(np.flatnonzero(self.chances >= threshold))

    def only(self, spans: Sequence[set[Span]]) -> Rows:
        """Return the examples that contain given words, per predicate."""
        return np.flatnonzero([span in spans[one] for one, span in zip(self.owners.tolist(), self.spans, strict=True)])

    def by_predicate(self, predicates: int) -> list[set[Span]]:
        """The words of each predicate's candidates."""
        found: list[set[Span]] = [set() for _ in range(predicates)]
        for one, span in zip(self.owners.tolist(), self.spans, strict=True):
            found[one].add(span)
        return found

    def of(self, predicates: Sequence[int]) -> Examples:
        """Those of some predicates, which are numbered anew in this order."""
        place = {one: k for k, one in enumerate(predicates)}
        kept = self.rows(np.flatnonzero(np.isin(self.owners, list(place))))
        owners = np.array([place[one] for one in kept.owners.tolist()], np.intp)
        return Examples(kept.table, owners, kept.spans, kept.chances, kept.labels)

    def thinned(self, seed: int, keep: float = KEEP) -> Examples:
        """For training: of each predicate's candidates without a role at random only so many a candidate with one."""
        rng = np.random.default_rng(seed)
        kept: list[int] = []
        for own in np.split(np.arange(len(self)), np.flatnonzero(np.diff(self.owners)) + 1):
            empty = own[self.labels[own] == NONE]
            wanted = round(keep * max(1, len(own) - len(empty)))
            kept += own[self.labels[own] != NONE].tolist() + rng.permutation(empty)[:wanted].tolist()
        return self.rows(np.array(sorted(kept), np.intp))


def examples(part: Sequence[RoleInstance], parser: Parser, setting: Setting) -> Examples:
    """All candidates of each predicate."""
    columns: dict[str, list[Any]] = {"path": [], "constituent": []}
    owners: list[int] = []
    spans: list[Span] = []
    chances: list[float] = []
    names: list[str] = []
    last: tuple[Key, Any] | None = None
    for number, one in enumerate(part):
        key = key_of(one)
        if last is None or last[0] != key:
            last = (
                key,
                ForestIndex(parser.pruned(key, setting.temperature)) if setting.forest else TreeIndex(parser.best(key)),
            )
        index = last[1]
        roles = {argument.span: argument.label for argument in reversed(one.arguments)}
        for span, chance in _offered(index, one.predicate, setting).items():
            path, constituent = _seen(index, one, span, parser.parts)
            columns["path"].append(path)
            columns["constituent"].append(constituent)
            chances.append(chance)
            owners.append(number)
            spans.append(span)
            names.append(roles.get(span, NONE))
    bank = ForestBank if setting.forest else Treebank
    table = Table(
        {name: bank(column) for name, column in columns.items()} | {"chance": np.array(chances).reshape(-1, 1)}
    )
    return Examples(table, np.array(owners, np.intp), spans, np.array(chances), np.array(names))


def _offered(index: TreeIndex | ForestIndex, predicate: int, setting: Setting) -> dict[Span, float]:
    if isinstance(index, ForestIndex):
        found = forest_candidates(index, predicate, threshold=setting.threshold, by="span")
        return {each.span: each.probability for each in found}
    return {node.span: 1.0 for node in candidates(index, predicate)}


def _seen(index: TreeIndex | ForestIndex, one: RoleInstance, span: Span, parts: float | None) -> tuple[Any, Any]:
    if isinstance(index, TreeIndex):
        return path_tree(index, one.predicate, span), constituent_tree(index, one.predicate, span)
    path, below = path_forest(index, one.predicate, span), constituent_forest(index, span)
    return (path, below) if parts is None else (path.prune(parts), below.prune(parts))


def text(one: RoleInstance, span: Span) -> str:
    """For n-grams: the predicate, on which side the argument is, its words, and the word on each side.

    >>> print(text(RoleInstance(words=("Mary", "brought", "a", "cat", "."), predicate=1), (2, 4)))
    p_brought after l_brought a cat r_.
    """
    begin, end = span
    before = one.words[begin - 1] if begin else "^"
    after = one.words[end] if end < len(one.words) else "$"
    side = "before" if end <= one.predicate else "after"
    return " ".join([f"p_{one.words[one.predicate]}", side, f"l_{before}", *one.words[begin:end], f"r_{after}"])


# --- learning and decoding ----------------------------------------------------------------------------------------


def frequent(labels: Labels) -> Rows:
    """Examples of roles that are not too rare to be learned."""
    names, counts = np.unique(labels, return_counts=True)
    return np.flatnonzero(np.isin(labels, [*names[counts >= RARE], NONE]))


def answers(X: Examples, Y: Examples, setting: Setting, *, n_jobs: int) -> tuple[Labels, Matrix]:
    """Return the scores of Y by models fitted to X. Roles with fewer than ten examples are not learned."""
    learnt = X.rows(frequent(X.labels))
    machine = KernelSVC(setting.kernel(), C=setting.C, n_jobs=n_jobs).fit(learnt.table, learnt.labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TreeletWarning)  # a few candidates share nothing with what was learned from
        values = machine.decision_function(Y.table)
    return machine.classes_, np.column_stack([-values, values]) if values.ndim == 1 else values


@dataclass(frozen=True)
class Decoded:
    """The arguments that were found, the surest first: whose, role and words, by how much better than none, and whether right.

    Whether an argument is taken depends on surer ones only. So those for a larger margin are the first of these.
    """

    owners: Rows
    arguments: list[tuple[str, int, int]]
    margins: Matrix
    right: NDArray[np.bool_]
    spans_right: NDArray[np.bool_]
    wanted: Rows

    @classmethod
    def of(cls, part: Sequence[RoleInstance], Y: Examples, classes: Labels, values: Matrix, lowest: float) -> Decoded:
        """The surest first, and none that overlaps a surer one; with a role that is better than none by more than `lowest`."""
        none = int(np.flatnonzero(classes == NONE)[0])
        others = values.copy()
        others[:, none] = -np.inf
        role, margin = others.argmax(axis=1), others.max(axis=1) - values[:, none]
        gold = [{tuple(argument) for argument in one.arguments} for one in part]
        spans = [{argument.span for argument in one.arguments} for one in part]
        taken: list[list[Span]] = [[] for _ in part]
        kept: list[int] = []
        for k in np.argsort(-margin, kind="stable").tolist():
            if margin[k] <= lowest:
                break
            begin, end = Y.spans[k]
            if all(end <= b or begin >= e for b, e in taken[Y.owners[k]]):
                taken[Y.owners[k]].append((begin, end))
                kept.append(k)
        owners = Y.owners[kept]
        found = [(str(classes[role[k]]), *Y.spans[k]) for k in kept]
        right = np.array([each in gold[one] for one, each in zip(owners, found, strict=True)], bool)
        covered = np.array([Y.spans[k] in spans[one] for one, k in zip(owners, kept, strict=True)], bool)
        return cls(owners, found, margin[kept], right, covered, np.array([len(each) for each in gold], np.intp))

    def counts(self, margin: float) -> NDArray[np.int64]:
        """For each predicate: right, wanted and found arguments, at a margin."""
        kept, n = self.margins > margin, len(self.wanted)
        found = np.bincount(self.owners[kept], minlength=n)
        return np.column_stack([np.bincount(self.owners[kept & self.right], minlength=n), self.wanted, found])

    def f1(self, margin: float, *, labeled: bool = True) -> float:
        """Over all arguments, in per cent; without labels, whether the words are right."""
        kept = self.margins > margin
        right = np.count_nonzero(kept & (self.right if labeled else self.spans_right))
        return 200 * right / max(1, int(self.wanted.sum()) + int(kept.sum()))

    def hits(self, margin: float) -> set[tuple[Any, ...]]:
        """The right arguments that were found, with their predicates."""
        return {(int(self.owners[k]), *self.arguments[k]) for k in np.flatnonzero((self.margins > margin) & self.right)}
