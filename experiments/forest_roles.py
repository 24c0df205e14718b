"""Semantic roles with automatic parses (PropBank on the Wall Street Journal sample): best trees against forests.

Arguments are found and labelled in one step: each candidate constituent gets a role or none, from one machine a role.
Two parsers: our own grammar, whose forests hold every parse within a bound, and the 20 best of a better one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from experiments.differences import bootstrap_row, mcnemar_row
from experiments.forest_coverage import coverages
from experiments.forest_parsers import PARSES, Key, Parser, key_of, of_grammar, of_lists, some, split
from experiments.forest_trials import Labels, Matrix, best
from experiments.running import Say
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
from treelet.datasets.roles import propbank
from treelet.gram import gram
from treelet.kernels import Kernel, Linear, On
from treelet.learn import KernelSVC
from treelet.metrics import BracketCounts, Score, paired_bootstrap, parseval, role_scores
from treelet.structures import ForestBank, Table, Treebank
from treelet.structures.instances import RoleInstance
from treelet.structures.spans import Span
from treelet.tasks.role_kernels import hybrid

NONE = "none"
RARE = 10
OFFSETS = np.round(np.arange(-1.0, 1.01, 0.1), 1)
PAPER = {"tree": (76.02, 67.38, 71.44), "forest": (79.06, 69.12, 73.76)}
"""P, R and F1 of Zhang, Zhang & Li (2010) on CoNLL-2005: Wall Street Journal sections 02-05 for training, 23 for test."""
PAPER_UNMATCHED = {"tree": 9.78, "forest": 1.31, "forest, pruned": 3.1}
PAPER_RATIO = {"forest": 5.6, "forest, pruned": 1.31}


# --- candidates ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """One way to make examples and to learn from them."""

    forest: bool = False
    threshold: float = 0.05
    temperature: float = 1.0
    lam: float = 0.4
    theta: float = 0.5
    C: float = 3.0
    chance: float = 0.0

    def kernel(self) -> Kernel:
        """The hybrid kernel; with `chance`, the candidates' probabilities as well."""
        kernel = hybrid(self.theta, self.lam, forest=self.forest)
        return kernel + self.chance * On("chance", Linear()) if self.chance else kernel


@dataclass(frozen=True)
class Examples:
    """Candidates of some predicates: what a kernel sees of each, whose it is, its words and its role."""

    table: Table
    owners: list[int]
    spans: list[Span]
    chances: list[float]
    labels: Labels

    def __len__(self) -> int:
        return len(self.owners)

    def above(self, threshold: float) -> Examples:
        """Only the candidates whose probability is not below a threshold."""
        kept = np.flatnonzero(np.array(self.chances) >= threshold).tolist()
        return Examples(
            self.table[kept],
            [self.owners[k] for k in kept],
            [self.spans[k] for k in kept],
            [self.chances[k] for k in kept],
            self.labels[kept],
        )


def examples(
    part: Sequence[RoleInstance], parser: Parser, setting: Setting, *, keep: float | None = None, seed: int = 0
) -> Examples:
    """The candidates of each predicate; with `keep`, at random only so many without a role an argument."""
    columns: dict[str, list[Any]] = {"path": [], "constituent": []}
    owners: list[int] = []
    spans: list[Span] = []
    chances: list[float] = []
    names: list[str] = []
    rng = np.random.default_rng(seed)
    last: tuple[Key, Any] | None = None
    for number, one in enumerate(part):
        key = key_of(one)
        if last is None or last[0] != key:
            last = (
                key,
                ForestIndex(parser.pruned(key, setting.temperature)) if setting.forest else TreeIndex(parser.best(key)),
            )
        index = last[1]
        offered = _offered(index, one.predicate, setting)
        roles = {argument.span: argument.label for argument in reversed(one.arguments)}
        empty = [span for span in offered if span not in roles]
        if keep is not None:
            wanted = round(keep * max(1, sum(span in roles for span in offered)))
            empty = [empty[k] for k in sorted(rng.permutation(len(empty))[:wanted])]
        kept = set(empty)
        for span, chance in offered.items():
            if span in roles or span in kept:
                for column, value in zip(("path", "constituent"), _seen(index, one, span, parser.parts), strict=True):
                    columns[column].append(value)
                chances.append(chance)
                owners.append(number)
                spans.append(span)
                names.append(roles.get(span, NONE))
    bank = ForestBank if setting.forest else Treebank
    table = Table(
        {
            "path": bank(columns["path"]),
            "constituent": bank(columns["constituent"]),
            "chance": np.array(chances).reshape(-1, 1),
        }
    )
    return Examples(table, owners, spans, chances, np.array(names))


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


# --- learning -----------------------------------------------------------------------------------------------------


def answers(X: Examples, Y: Examples, setting: Setting, *, n_jobs: int) -> tuple[Labels, Matrix]:
    """What machines that were fitted to X say of Y; roles with fewer than ten examples are not learnt."""
    names, counts = np.unique(X.labels, return_counts=True)
    frequent = np.flatnonzero(np.isin(X.labels, [*names[counts >= RARE], NONE]))
    table = X.table[frequent]
    kernel = setting.kernel()
    K, across = gram(kernel, table, n_jobs=n_jobs), gram(kernel, Y.table, table, n_jobs=n_jobs)
    machine = KernelSVC("precomputed", C=setting.C, n_jobs=n_jobs).fit(K, X.labels[frequent])
    values = machine.decision_function(across)
    return machine.classes_, np.column_stack([-values, values]) if values.ndim == 1 else values


def decoded(
    Y: Examples, predicates: int, classes: Labels, values: Matrix, offset: float
) -> list[list[tuple[str, int, int]]]:
    """The arguments of each predicate: the surest first, and none that overlaps a surer one.

    A candidate has its best role if that is better than none by more than the offset.
    """
    none = int(np.flatnonzero(classes == NONE)[0])
    others = values.copy()
    others[:, none] = -np.inf
    role = others.argmax(axis=1)
    margin = others.max(axis=1) - values[:, none] - offset
    found: list[list[tuple[str, int, int]]] = [[] for _ in range(predicates)]
    for k in np.argsort(-margin, kind="stable").tolist():
        if margin[k] <= 0:
            break
        begin, end = Y.spans[k]
        taken = found[Y.owners[k]]
        if all(end <= b or begin >= e for _, b, e in taken):
            taken.append((str(classes[role[k]]), begin, end))
    return found


def gold(part: Sequence[RoleInstance]) -> list[list[tuple[str, int, int]]]:
    """The right arguments."""
    return [[(label, begin, end) for label, begin, end in one.arguments] for one in part]


def tuned(part: Sequence[RoleInstance], Y: Examples, classes: Labels, values: Matrix) -> tuple[float, Score]:
    """The offset with the best F1, and that score."""
    right = gold(part)
    tried = [(float(x), role_scores(right, decoded(Y, len(part), classes, values, float(x))).overall) for x in OFFSETS]
    return max(tried, key=lambda pair: pair[1].f1)


# --- the whole of it ----------------------------------------------------------------------------------------------

SIZES = {
    "quick": {"fit": 50, "dev": 30, "train": 80, "test": 40},
    "default": {"fit": 600, "dev": 500, "train": 2000, "test": 2000},
    "full": {"fit": 2000, "dev": 1500, "train": 10_000, "test": 2000},
}
"""Predicates at most: to fit to while choosing, to choose on, to fit to at last, and to test on."""
PROBABLE = "forest, probabilities"
CHANGES: dict[str, dict[str, tuple[float, ...]]] = {
    "tree": {"theta": (0.3, 0.7), "lam": (0.2,), "C": (1.0, 10.0)},
    "forest": {"threshold": (0.02, 0.1, 0.2), "temperature": (2.0, 4.0)},
    PROBABLE: {"chance": (1.0,), "temperature": (1.0, 2.0, 4.0, 8.0)},
}
"""What is changed, one thing after the other, each time from the best so far; each row starts from the one before."""
LOWEST = min(CHANGES["forest"]["threshold"])
START: Mapping[str, float] = {"lists": 0.05, "grammar": 0.1}
"""The probability below which a forest's candidates are left out at first."""
KEEP = 1.0  # candidates without a role, for each with one, in training


def roles(*, quick: bool, full: bool, n_jobs: int, seed: int, say: Say) -> dict[str, Any]:
    """Both parsers, with trees and with forests."""
    clock = time.process_time()
    sizes = SIZES["quick" if quick else "full" if full else "default"]
    instances = propbank("wsj", nbest=5 if quick else PARSES)
    parts = split(instances, seed)
    fit, dev = some(parts.fit, sizes["fit"], seed), some(parts.dev, sizes["dev"], seed)
    train, test = some(parts.fit + parts.dev, sizes["train"], seed), some(parts.test, sizes["test"], seed)
    say(f"roles: {len(train)} training and {len(test)} test predicates, choosing on {len(dev)} with {len(fit)} others")
    lists = of_lists(instances)
    grammar = of_grammar([*fit, *dev, *train], test, trees=400 if quick else None, n_jobs=n_jobs)
    say("  all sentences parsed")
    found = {}
    for parser in (lists, grammar):
        found[parser.name] = measured(parser, fit, dev, train, test, quick=quick, n_jobs=n_jobs, seed=seed, say=say)
    return {
        "sizes": {"fit": len(fit), "dev": len(dev), "train": len(train), "test": len(test)},
        "documents": {name: sorted({str(one.doc) for one in getattr(parts, name)}) for name in ("fit", "dev", "test")},
        "parsers": found,
        "paper": {"scores": PAPER, "unmatched": PAPER_UNMATCHED, "ratio": PAPER_RATIO},
        "cpu_seconds": time.process_time() - clock,
    }


def measured(
    parser: Parser,
    fit: Sequence[RoleInstance],
    dev: Sequence[RoleInstance],
    train: Sequence[RoleInstance],
    test: Sequence[RoleInstance],
    *,
    quick: bool,
    n_jobs: int,
    seed: int,
    say: Say,
) -> dict[str, Any]:
    """What one parser's trees and forests are good for."""
    sentences = {key_of(one): one.tree for one in test}
    quality = parseval(list(sentences.values()), [parser.best(key) for key in sentences])
    say(f"  {parser.name}: F1 of the best parses {quality.f1:.2f}")
    covered = coverages(dev, parser, (0.0, 0.02, 0.05, 0.1, 0.2))
    search = Search(parser, fit, dev, n_jobs=n_jobs, seed=seed, say=say)
    rows, answered = [], {}
    setting = Setting(threshold=START[parser.name])
    for name, changes in CHANGES.items():
        start = replace(setting, forest=name != "tree", chance=0.3 if name == PROBABLE else 0.0)
        choice = search.best_of(name, start, {} if quick else changes)
        setting = Setting(**choice["setting"])
        X, Y = examples(train, parser, setting, keep=KEEP, seed=seed), examples(test, parser, setting)
        classes, values = answers(X, Y, setting, n_jobs=n_jobs)
        answered[name] = decoded(Y, len(test), classes, values, choice["offset"])
        result = role_scores(gold(test), answered[name])
        rows.append(
            {
                "name": name,
                "setting": asdict(setting),
                "kernel": repr(setting.kernel()),
                "offset": choice["offset"],
                "dev": choice["f1"],
                "examples": len(X),
                "candidates": len(Y),
                "precision": result.precision,
                "recall": result.recall,
                "f1": result.f1,
                "unlabelled": result.unlabelled.f1,
            }
        )
        say(f"  {parser.name}, {name}: P {result.precision:.2f} R {result.recall:.2f} F1 {result.f1:.2f}")
    return {
        "parse_f1": quality.f1,
        "coverage": covered,
        "steps": search.steps,
        "rows": rows,
        "tests": {name: compared(test, answered[name], answered["tree"], seed) for name in ("forest", PROBABLE)},
    }


class Search:
    """Settings that are tried on the documents for that, one change after the other."""

    def __init__(
        self,
        parser: Parser,
        fit: Sequence[RoleInstance],
        dev: Sequence[RoleInstance],
        *,
        n_jobs: int,
        seed: int,
        say: Say,
    ) -> None:
        self.parser, self.fit, self.dev = parser, fit, dev
        self.n_jobs, self.seed, self.say = n_jobs, seed, say
        self.steps: dict[str, list[dict[str, Any]]] = {}
        self._fitted: dict[tuple[bool, float, float], Examples] = {}
        self._offered: dict[tuple[bool, float], Examples] = {}

    def best_of(self, name: str, start: Setting, changes: Mapping[str, Sequence[float]]) -> dict[str, Any]:
        """The best step from a start, each change being made to the best before it."""
        steps = self.steps.setdefault(name, [])
        steps.append(self._step(name, start, "start"))
        for what, values in changes.items():
            base = Setting(**best(steps)["setting"])
            for value in values:
                if getattr(base, what) != value:
                    steps.append(self._step(name, Setting(**asdict(base) | {what: value}), f"{what} {value:g}"))
        return best(steps)

    def _step(self, name: str, setting: Setting, change: str) -> dict[str, Any]:
        kind = (setting.forest, setting.temperature)
        if kind not in self._offered:
            low = replace(setting, threshold=min(LOWEST, setting.threshold))
            self._offered[kind] = examples(self.dev, self.parser, low)
        if (*kind, setting.threshold) not in self._fitted:
            made = examples(self.fit, self.parser, setting, keep=KEEP, seed=self.seed)
            self._fitted[*kind, setting.threshold] = made
        X, Y = self._fitted[*kind, setting.threshold], self._offered[kind].above(setting.threshold)
        classes, values = answers(X, Y, setting, n_jobs=self.n_jobs)
        offset, score = tuned(self.dev, Y, classes, values)
        self.say(f"    {self.parser.name}, {name}, {change}: F1 {score.f1:.2f}")
        return {
            "change": change,
            "setting": asdict(setting),
            "offset": offset,
            "precision": score.precision,
            "recall": score.recall,
            "f1": score.f1,
        }


def compared(
    test: Sequence[RoleInstance],
    a: Sequence[Sequence[tuple[str, int, int]]],
    b: Sequence[Sequence[tuple[str, int, int]]],
    seed: int,
) -> dict[str, Any]:
    """Forest (a) against tree (b): sentences are drawn anew for P, R and F1; McNemar's test is over right arguments."""
    right = gold(test)
    sentences = {key: number for number, key in enumerate(dict.fromkeys(key_of(one) for one in test))}
    of = [sentences[key_of(one)] for one in test]
    sides = []
    for answer in (a, b):
        table = np.zeros((3, len(sentences)), int)
        for place, wanted, found in zip(of, right, answer, strict=True):
            table[:, place] += len(set(wanted) & set(found)), len(set(wanted)), len(set(found))
        sides.append(BracketCounts(*table))
    found_a, found_b = (
        [argument in found for w, found in zip(right, s, strict=True) for argument in w] for s in (a, b)
    )
    result = mcnemar_row("forest", found_a, "tree", found_b)
    for measure in ("precision", "recall", "f1"):
        result[measure] = bootstrap_row(paired_bootstrap(sides[0], sides[1], measure, random_state=seed))
    return result
