"""Parameters chosen by cross-validation: one matrix a kernel, however many folds and prices there are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from treelet.work import progress_bar

if TYPE_CHECKING:
    from treelet.kernels import Kernel
    from treelet.learn import KernelSVC

FOLDS = 5
PRICES = (0.1, 1.0, 10.0, 100.0)
DECAYS: dict[str, dict[str, Sequence[float]]] = {
    "st": {"lam": (0.2, 0.4, 0.6, 0.8, 1.0)},
    "sst": {"lam": (0.1, 0.2, 0.4, 0.6, 0.8)},
    "pt": {"lam": (0.1, 0.2, 0.4, 0.6, 0.8), "mu": (0.2, 0.4, 0.8)},
}


@dataclass(frozen=True)
class Row:
    """What came out for one setting: its parameters and the accuracy on each fold's test part."""

    setting: dict[str, float]
    accuracy: float
    by_fold: tuple[float, ...]


@dataclass(frozen=True)
class Search:
    """All settings that were tried, and those whose values did not fit."""

    rows: list[Row]
    refused: list[dict[str, float]]
    seconds: float

    @property
    def best_row(self) -> Row:
        """The most examples right; among equals the first: the smallest parameters."""
        return max(self.rows, key=lambda row: round(row.accuracy, 12))

    @property
    def best(self) -> dict[str, float]:
        return self.best_row.setting

    def as_dict(self) -> dict[str, Any]:
        rows = [{**row.setting, "accuracy": row.accuracy, "folds": list(row.by_fold)} for row in self.rows]
        best = self.best_row
        return {"folds": len(best.by_fold), "scores": rows, "overflow": self.refused, "best": self.best}

    def table(self) -> str:
        """Kernels down, prices across, per cent of the examples right; the choice is marked."""
        names = [name for name in self.best if name != "C"]
        prices = sorted({row.setting["C"] for row in self.rows})
        lines = ["".join(f"{name:>6}" for name in names) + "".join(f"{f'C={price:g}':>9}" for price in prices)]
        cells = {tuple(row.setting.values()): row for row in self.rows}
        for key in dict.fromkeys(tuple(row.setting[name] for name in names) for row in self.rows):
            line = "".join(f"{value:>6g}" for value in key)
            for price in prices:
                row = cells[(*key, price)]
                line += f"{100 * row.accuracy:>8.2f}" + ("*" if row is self.best_row else " ")
            lines.append(line.rstrip())
        for refused in self.refused:
            line = "".join(f"{value:>6g}" for value in refused.values())
            lines += [f"{line}  values too large for a float64"]
        best, spread = self.best_row, 100 * float(np.std(self.best_row.by_fold))
        chosen = ", ".join(f"{name}={value:g}" for name, value in self.best.items())
        head = f"accuracy in {len(best.by_fold)}-fold cross-validation on the training examples, per cent"
        return "\n".join(
            [head, *lines, f"chosen: {chosen}, with {100 * best.accuracy:.2f} (folds differ by ±{spread:.2f})"]
        )


def search_grid(
    kernel: str,
    fixed: dict[str, float | None],
    *,
    made: Callable[..., Kernel],
    machine: KernelSVC,
    data: Any,
    labels: list[str],
    seed: int,
    progress: bool,
) -> Search:
    """Try all settings of a kernel's parameters that are not fixed, and of C.

    Parameters
    ----------
    kernel : str
        Its name on the command line.
    fixed : dict
        Values of lam, mu and C that are not to be searched; None for those that are.
    made : callable
        Makes the kernel of a setting.
    machine : KernelSVC
        Says the kind of machine, the class weights and the threads.
    data, labels
        The training examples.
    seed : int
        Of the folds.
    progress : bool
        Show a progress bar.
    """
    from sklearn.model_selection import StratifiedKFold

    from treelet.learn.selection import select

    begin = time.perf_counter()
    names = list(DECAYS[kernel])
    values = [DECAYS[kernel][name] if (given := fixed[name]) is None else (given,) for name in names]
    prices = PRICES if (given := fixed["C"]) is None else (given,)
    settings = [dict(zip(names, chosen, strict=True)) for chosen in product(*values)]
    kernels = [made(**setting) for setting in settings]
    folds = min(FOLDS, max(Counter(labels).values()))
    cv = StratifiedKFold(max(2, folds), shuffle=True, random_state=seed)
    with progress_bar(progress, "grid", len(settings) * (1 + folds)) as advance:
        found = select(kernels, data, labels, estimator=machine, grid={"C": prices}, cv=cv, advance=advance)
    setting_of = {id(made): setting for made, setting in zip(kernels, settings, strict=True)}
    rows = [Row(setting_of[id(t.kernel)] | t.parameters, t.score, t.by_fold) for t in found.trials]
    return Search(rows, [setting_of[id(refused)] for refused in found.refused], time.perf_counter() - begin)
