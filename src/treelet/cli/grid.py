"""The grid search of ``treelet train``: the settings to try, and the table of their scores.

The search itself is `treelet.learn.selection.select`, which computes one matrix per kernel regardless of the number of folds.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from treelet.cli.learning import METRICS, Metric
from treelet.cli.options import wrong_value
from treelet.progress import progress_bar

if TYPE_CHECKING:
    from treelet.kernels import Kernel
    from treelet.learn.base import KernelLearner
    from treelet.learn.selection import Trial

FOLDS = 5
PRICES = (0.1, 1.0, 10.0, 100.0)
DECAYS: dict[str, dict[str, Sequence[float]]] = {
    "st": {"lam": (0.2, 0.4, 0.6, 0.8, 1.0)},
    "sst": {"lam": (0.1, 0.2, 0.4, 0.6, 0.8)},
    "pt": {"lam": (0.1, 0.2, 0.4, 0.6, 0.8), "mu": (0.2, 0.4, 0.8)},
}


@dataclass(frozen=True)
class ScoredSetting:
    """A setting with its mean score and its score on the test part of each fold. Larger scores are better."""

    setting: dict[str, float]
    score: float
    by_fold: tuple[float, ...]


@dataclass(frozen=True)
class BoundaryValue:
    """A chosen value at the boundary of the values that were tried. A value beyond the boundary may be better."""

    name: str
    value: float
    largest: bool

    def __str__(self) -> str:
        side, more = ("largest", "larger") if self.largest else ("smallest", "smaller")
        if self.name == "C":
            further = [self.value * (10 if self.largest else 0.1), self.value * (100 if self.largest else 0.01)]
        else:
            further = [(self.value + 1) / 2, 1.0] if self.largest else [self.value / 2, self.value / 4]
        values = ",".join(f"{value:g}" for value in (self.value, *further))
        return f"{self.name}={self.value:g} is the {side} value tried; a {more} one may be better (try --{self.name} {values})"


@dataclass(frozen=True)
class Search:
    """The scores of all settings, and the settings whose kernel values overflow a float64."""

    rows: list[ScoredSetting]
    metric: str
    shown: Metric
    refused: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0
    total: int = 0

    @property
    def best_row(self) -> ScoredSetting:
        """The row with the largest score. Among equal scores, the first row wins, which has the smallest parameters."""
        return max(self.rows, key=lambda row: round(row.score, 12))

    @property
    def best(self) -> dict[str, float]:
        return self.best_row.setting

    @property
    def complete(self) -> bool:
        return len(self.rows) + len(self.refused) >= self.total

    def edges(self) -> list[BoundaryValue]:
        """Return the parameters whose best value is the largest or smallest one tried, and better than its neighbor."""
        edges = []
        for name, value in self.best.items():
            best_of: dict[float, float] = {}
            for row in self.rows:
                best_of[row.setting[name]] = max(row.score, best_of.get(row.setting[name], -np.inf))
            tried = sorted(best_of)
            bounded = name != "C" and value == 1
            for edge, following, largest in ((tried[-1], tried[-2:][0], True), (tried[0], tried[:2][-1], False)):
                if value == edge != following and best_of[edge] - best_of[following] > 1e-12:
                    edges += [] if largest and bounded else [BoundaryValue(name, value, largest)]
        return edges

    def as_dict(self) -> dict[str, Any]:
        scale = 0.01 if self.shown.percent else 1
        rows = [
            {
                **row.setting,
                self.metric: scale * self.shown.shown(row.score),
                "folds": [scale * self.shown.shown(score) for score in row.by_fold],
            }
            for row in self.rows
        ]
        return {
            "metric": self.metric,
            "folds": len(self.best_row.by_fold),
            "scores": rows,
            "overflow": self.refused,
            "best": self.best,
            "edges": [str(edge) for edge in self.edges()],
            "complete": self.complete,
        }

    def measured(self) -> dict[str, Any]:
        """Return the score of the chosen setting and how it was measured, for the model card."""
        row, scale = self.best_row, 0.01 if self.shown.percent else 1
        where = f"{len(row.by_fold)}-fold cross-validation on the training examples"
        return {self.metric: round(scale * self.shown.shown(row.score), 12), "measured by": where}

    def figure(self, score: float) -> str:
        return f"{self.shown.shown(score):.{2 if self.shown.percent else 4}f}"

    def table(self) -> str:
        """Return the scores as a table with one row per kernel and one column per C. The chosen setting is marked."""
        names = [name for name in self.best if name != "C"]
        prices = sorted({row.setting["C"] for row in self.rows})
        lines = ["".join(f"{name:>6}" for name in names) + "".join(f"{f'C={price:g}':>9}" for price in prices)]
        cells = {tuple(row.setting.values()): row for row in self.rows}
        for key in dict.fromkeys(tuple(row.setting[name] for name in names) for row in self.rows):
            line = "".join(f"{value:>6g}" for value in key)
            for price in prices:
                row = cells.get((*key, price))
                shown = "" if row is None else self.figure(row.score)
                line += f"{shown:>8}" + ("*" if row is self.best_row else " ")
            lines.append(line.rstrip())
        for refused in self.refused:
            line = "".join(f"{value:>6g}" for value in refused.values())
            lines += [f"{line}  kernel values overflow float64"]
        best, scale = self.best_row, 100 if self.shown.percent else 1
        spread = scale * float(np.std(best.by_fold))
        chosen = ", ".join(f"{name}={value:g}" for name, value in self.best.items())
        head, *unit = self.shown.head.split(", percent")
        title = f"{head} in {len(best.by_fold)}-fold cross-validation on the training examples"
        digits = 2 if self.shown.percent else 4
        return "\n".join(
            [
                title + (", percent" if unit else ""),
                *lines,
                f"chosen: {chosen}, with {self.figure(best.score)} (standard deviation over folds {spread:.{digits}f})",
                *map(str, self.edges()),
            ]
        )


class Stopped(KeyboardInterrupt):
    """The search was interrupted. `search` has the results so far."""

    def __init__(self, search: Search) -> None:
        best = " ".join(f"--{name} {value:g}" for name, value in search.best.items())
        super().__init__(
            f"{len(search.rows)} of {search.total} settings were tried. The best so far is {best}. No model was written."
        )
        self.search = search


def search_grid(
    values: Mapping[str, Sequence[float]],
    *,
    task: str,
    metric: str,
    kernel_of: Callable[..., Kernel],
    machine: KernelLearner,
    data: Any,
    targets: Sequence[Any],
    queries: Sequence[str] | None,
    folds: int | None,
    seed: int,
    memory: str | None,
    progress: bool,
) -> Search:
    """Try all settings of a kernel's parameters and of C by cross-validation.

    `kernel_of` returns the kernel of a setting, and `machine` is an estimator with all other parameters. By default there
    are 5 folds, or fewer if there are fewer examples. Raises `Stopped` if the search is interrupted after at least one kernel.
    """
    from sklearn.base import clone

    from treelet.learn.selection import select

    begin = time.perf_counter()
    decays = {name: tried for name, tried in values.items() if name != "C"}
    settings = [dict(zip(decays, chosen, strict=True)) for chosen in product(*decays.values())]
    kernels = [kernel_of(**setting) for setting in settings]
    setting_of = {id(kernel): setting for kernel, setting in zip(kernels, settings, strict=True)}
    chosen = METRICS[task][metric]
    rows: list[ScoredSetting] = []
    total = len(settings) * len(values["C"])

    def report(trial: Trial) -> None:
        rows.append(ScoredSetting(setting_of[id(trial.kernel)] | trial.parameters, trial.score, trial.by_fold))

    def search(refused: Sequence[Any] = ()) -> Search:
        # A kernel whose values overflow counts once, not once per value of C.
        missed = [setting_of[id(kernel)] for kernel in refused]
        count = total - len(missed) * (len(values["C"]) - 1)
        return Search(rows, metric, chosen, missed, time.perf_counter() - begin, count)

    cv = _folds(task, folds, targets, seed)
    steps = len(settings) * (1 + (cv if isinstance(cv, int) else cv.get_n_splits()))
    try:
        with progress_bar(progress, "grid", steps) as advance:
            selection = select(
                kernels,
                data,
                targets,
                estimator=clone(machine).set_params(progress=False),
                grid={"C": list(values["C"])},
                qid=queries,
                cv=cv,
                scoring=None if chosen.scoring is None else chosen.scoring(),
                memory=memory,
                report=report,
                advance=advance,
            )
    except KeyboardInterrupt:
        if rows:
            raise Stopped(search()) from None
        raise KeyboardInterrupt("No setting was finished. No model was written.") from None
    return search(selection.refused)


def _folds(task: str, folds: int | None, targets: Sequence[Any], seed: int) -> Any:
    """Return the cross-validation splitter: stratified by class, random, or by whole queries."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if task == "rank":
        return FOLDS if folds is None else folds
    most = max(Counter(targets).values()) if task == "classify" else len(targets)
    if folds is not None and folds > max(2, most):
        limit = "the number of examples in the largest class" if task == "classify" else "the number of examples"
        raise wrong_value("--cv", f"at most {most:,}, {limit}", folds)
    splitter = StratifiedKFold if task == "classify" else KFold
    return splitter(max(2, min(folds or FOLDS, most)), shuffle=True, random_state=seed)
