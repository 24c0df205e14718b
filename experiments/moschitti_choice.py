"""Choice of settings in the experiment of Moschitti, by cross-validation over documents that are not used for testing.

Rows of the same kind have the same steps and grids. First the form of tree is chosen, then the
parameters of the kernel (all combinations), then C. The grid of C is extended as long as its best
value is at an edge. The settings of the paper are included; only their C is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from sklearn.model_selection import PredefinedSplit

from experiments.documents import balanced_folds
from experiments.moschitti_data import FORMS
from experiments.running import Say
from treelet.kernels import Kernel, Linear, On, PartialTree, SubsetTree, Subtree
from treelet.learn import KernelSVC
from treelet.learn.selection import Selection, Trial, select
from treelet.structures import Table

FLAT: dict[str, Kernel] = {
    "linear": On("features", Linear().normalized()),
    "linear with pairs": On("pairs", Linear().normalized()),
}
CLASSES = {"ST": Subtree, "SST": SubsetTree, "PT": PartialTree}
PAPER: dict[str, dict[str, Any]] = {"ST": {"lam": 1.0}, "SST": {"lam": 0.4}, "PT": {"lam": 0.8, "mu": 0.4}}
"""The best values in the paper."""
DECAYS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
GRIDS: dict[str, dict[str, Sequence[Any]]] = {
    "ST": {"lam": DECAYS},
    "SST": {"lam": DECAYS, "leaves": (False, True)},
    "PT": {"lam": DECAYS, "mu": DECAYS},
}
MIXED = {
    "linear + SST": ("linear", "SST"),
    "linear + PT": ("linear", "PT"),
    "linear + linear × SST": ("linear", "SST"),
    "linear with pairs + SST": ("linear with pairs", "SST"),
}
SHARES = (0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 0.98, 0.99, 0.995)
"""Weights of the features in a mixture."""
COSTS = (1.0, 3.0, 10.0, 30.0)
"""C; its grid is made wider where it must be."""
TREE_COST, MIXED_COST = 3.0, 10.0  # while other things are chosen
FIRST_SHARE = 0.7


class Chosen(NamedTuple):
    """A row of the table: its kernel and C, its accuracy in cross-validation, and what lies at the edge of its grid."""

    kernel: Kernel
    C: float
    cross_validation: float | None
    at_edge: list[str]


class Choice(NamedTuple):
    """All rows, all that was tried, and for each kernel on pruned trees what each decay gave, example by example."""

    rows: dict[str, Chosen]
    tried: list[dict[str, Any]]
    decays: dict[str, list[tuple[dict[str, Any], Trial]]]


def tree_kernel(kind: str, form: str, parameters: Mapping[str, Any]) -> Kernel:
    """A normalized tree kernel on one form of trees."""
    return On(form, CLASSES[kind](**parameters).normalized())


def mixture(name: str, trees: Kernel, share: float) -> Kernel:
    """Flat features and trees together; `share` is the weight of the features."""
    flat = FLAT[MIXED[name][0]]
    return share * flat + round(1 - share, 3) * (flat * trees if "×" in name else trees)


def paper_rows() -> dict[str, Kernel]:
    """The paper's settings: the tree that holds predicate and argument, pruned, with and without marks, and its decays.

    Its text does not say how features and trees were weighed: alike, here.
    """
    rows = {f"{kind}, paper": tree_kernel(kind, "pruned", PAPER[kind]) for kind in CLASSES}
    rows["linear + SST, paper"] = 0.5 * FLAT["linear"] + 0.5 * rows["SST, paper"]
    return rows | {f"{kind}, paper, no marks": tree_kernel(kind, "unmarked", PAPER[kind]) for kind in CLASSES}


ROWS = [*FLAT, *CLASSES, *MIXED, *paper_rows()]
"""The kernels, in the order of the table."""


def at_edge(grid: Mapping[str, Sequence[Any]], values: Mapping[str, Any]) -> list[str]:
    """Return the parameters at an edge of their grid. The limit 1, and one of two values, are not edges.

    >>> at_edge({"lam": (0.1, 0.5, 1.0), "share": (0.1, 0.5)}, {"lam": 1.0, "share": 0.1})
    []
    >>> at_edge({"lam": (0.1, 0.5, 1.0), "share": (0.1, 0.5, 0.9)}, {"lam": 0.1, "share": 0.9})
    ['lam', 'share']
    """
    return [
        name
        for name, scale in grid.items()
        if len(scale) > 2 and values[name] in (min(scale), max(scale)) and values[name] != 1.0
    ]


class Chooser:
    """Cross-validates kernels on one table, and keeps what it tried."""

    def __init__(self, X: Table, y: Any, docs: Sequence[str], *, folds: int, n_jobs: int, say: Say) -> None:
        self.X, self.y, self.n_jobs, self.say = X, y, n_jobs, say
        fold = balanced_folds(docs, dict.fromkeys(docs), folds)
        self.cv = PredefinedSplit([fold[name] for name in docs])
        self.tried: list[dict[str, Any]] = []

    def trials(self, kernels: Sequence[Kernel], C: Sequence[float]) -> list[Trial]:
        """All of them."""
        found = select(
            kernels,
            self.X,
            self.y,
            estimator=KernelSVC(n_jobs=self.n_jobs),
            grid={"C": C},
            cv=self.cv,
            report=self._told,
        )
        return found.trials

    def best(self, kernels: Sequence[Kernel], C: Sequence[float]) -> tuple[int, Trial]:
        """Return the best kernel and its trial; on a tie, the first."""
        trial = Selection(self.trials(kernels, C)).best
        return next(k for k, kernel in enumerate(kernels) if kernel is trial.kernel), trial

    def costed(self, kernel: Kernel, edges: Sequence[str] = (), costs: Sequence[float] = COSTS) -> Chosen:
        """A kernel with its best C, which is not at the edge of those tried."""
        trials = self.trials([kernel], costs)
        while True:
            best = Selection(trials).best
            tried = sorted(trial.parameters["C"] for trial in trials)
            at = best.parameters["C"]
            if len(costs) == 1 or tried[0] < at < tried[-1] or not 1e-3 < at < 1e4:
                return Chosen(kernel, at, 100 * best.score, list(edges))
            trials += self.trials([kernel], [round(at / 3, 4) if at == tried[0] else round(at * 3, 4)])

    def _told(self, trial: Trial) -> None:
        self.say(f"    {trial.kernel!r}, C={trial.parameters['C']:g}: {100 * trial.score:.2f}")
        self.tried.append({"kernel": repr(trial.kernel), **trial.parameters, "accuracy": 100 * trial.score})


def combinations(kind: str) -> list[dict[str, Any]]:
    """All parameters of a tree kernel."""
    grid = GRIDS[kind]
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def chosen_trees(kind: str, chooser: Chooser, forms: Sequence[str]) -> tuple[str, dict[str, Any], list[str]]:
    """A form of tree, then the kernel's parameters; and which of these lie at an edge."""
    form = forms[chooser.best([tree_kernel(kind, form, PAPER[kind]) for form in forms], [TREE_COST])[0]]
    settings = combinations(kind)
    parameters = settings[chooser.best([tree_kernel(kind, form, s) for s in settings], [TREE_COST])[0]]
    return form, parameters, at_edge(GRIDS[kind], parameters)


def chosen_mixture(
    name: str, parameters: Mapping[str, Any], chooser: Chooser, forms: Sequence[str]
) -> tuple[Kernel, list[str]]:
    """A form of tree, then the weight of the features; the tree kernel's parameters are those of the trees alone."""
    trees = [tree_kernel(MIXED[name][1], form, parameters) for form in forms]
    form, _ = chooser.best([mixture(name, kernel, FIRST_SHARE) for kernel in trees], [MIXED_COST])
    mixtures = [mixture(name, trees[form], share) for share in SHARES]
    number, _ = chooser.best(mixtures, [MIXED_COST])
    return mixtures[number], at_edge({"share": SHARES}, {"share": SHARES[number]})


def choose(chooser: Chooser, *, forms: Sequence[str] = tuple(FORMS)) -> Choice:
    """A kernel and C for each row."""
    rows = {name: chooser.costed(kernel) for name, kernel in FLAT.items()}
    parameters = {}
    for kind in CLASSES:
        form, parameters[kind], edges = chosen_trees(kind, chooser, forms)
        rows[kind] = chooser.costed(tree_kernel(kind, form, parameters[kind]), edges)
    for name, (_, kind) in MIXED.items():
        rows[name] = chooser.costed(*chosen_mixture(name, parameters[kind], chooser, forms))
    rows |= {name: chooser.costed(kernel) for name, kernel in paper_rows().items()}
    decays = {}
    for kind in CLASSES:
        settings = [s for s in combinations(kind) if not s.get("leaves")]
        decays[kind] = list(
            zip(settings, chooser.trials([tree_kernel(kind, "pruned", s) for s in settings], [TREE_COST]), strict=True)
        )
    return Choice(rows, chooser.tried, decays)


def unchosen() -> Choice:
    """Every row with its first values, for a quick run."""
    kernels = FLAT | {kind: tree_kernel(kind, "pruned", PAPER[kind]) for kind in CLASSES}
    kernels |= {name: mixture(name, kernels[kind], FIRST_SHARE) for name, (_, kind) in MIXED.items()}
    rows = {name: Chosen(kernel, TREE_COST, None, []) for name, kernel in (kernels | paper_rows()).items()}
    return Choice(rows, [], {})
