"""Parameters chosen by cross-validation: one matrix a kernel, however many folds and prices there are."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treelet.errors import KernelOverflowError, ParameterError
from treelet.gram import gram
from treelet.gram.local import count_threads

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
Matrix = NDArray[np.float64]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Row:
    """What came out for one setting: its parameters and the accuracy on each fold's test part."""

    setting: dict[str, float]
    correct: int
    total: int
    by_fold: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        return self.correct / self.total


@dataclass(frozen=True)
class Search:
    """All settings that were tried, and those whose values did not fit."""

    rows: list[Row]
    refused: list[dict[str, float]]
    seconds: float

    @property
    def best_row(self) -> Row:
        """The most examples right; among equals the first: the smallest parameters."""
        return max(self.rows, key=lambda row: row.correct)

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
    begin = time.perf_counter()
    classes, codes = np.unique(np.array(labels), return_inverse=True)
    folds = _folds(classes, codes, seed)
    names = list(DECAYS[kernel])
    values = [DECAYS[kernel][name] if (given := fixed[name]) is None else (given,) for name in names]
    prices = PRICES if (given := fixed["C"]) is None else (given,)
    settings = [dict(zip(names, chosen, strict=True)) for chosen in product(*values)]
    data = made(**settings[0]).coerce(data)
    rows: list[Row] = []
    refused: list[dict[str, float]] = []
    last: KernelOverflowError | None = None
    with _bar(progress, len(settings) * (1 + len(folds))) as advance:
        for setting in settings:
            try:
                K = gram(made(**setting), data, n_jobs=machine.n_jobs)
            except KernelOverflowError as error:
                refused.append(setting)
                last = error
                advance(1 + len(folds))
                continue
            advance(1)
            right = _right(K, codes, folds, prices=prices, machine=machine, advance=advance)
            sizes = [len(test) for _, test in folds]
            for price, hits in zip(prices, right.T.tolist(), strict=True):
                by_fold = tuple(hit / size for hit, size in zip(hits, sizes, strict=True))
                rows.append(Row({**setting, "C": price}, sum(hits), len(codes), by_fold))
    if not rows:
        assert last is not None
        raise last
    return Search(rows, refused, time.perf_counter() - begin)


def _folds(classes: NDArray[Any], codes: NDArray[np.intp], seed: int) -> list[Fold]:
    from sklearn.model_selection import StratifiedKFold

    counts = np.bincount(codes)
    if counts.min() < 2:
        rare = classes[counts.argmin()]
        raise ParameterError(
            f"--grid needs two or more examples of each class, to learn from one and test on another; {str(rare)!r} has one"
        )
    splitter = StratifiedKFold(min(FOLDS, int(counts.max())), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer examples than folds is no harm
        return list(splitter.split(np.zeros(len(codes)), codes))


def _right(
    K: Matrix,
    codes: NDArray[np.intp],
    folds: list[Fold],
    *,
    prices: Sequence[float],
    machine: KernelSVC,
    advance: Callable[[int], None],
) -> NDArray[np.int64]:
    """How many test examples are right, folds x prices, from parts of one matrix."""

    def work(fold: Fold) -> list[int]:
        train, test = fold
        inside, across = K[np.ix_(train, train)], K[np.ix_(test, train)]
        known = [_predicted(inside, codes[train], across, price, machine) for price in prices]
        return [int(np.sum(guessed == codes[test])) for guessed in known]

    found = []
    with ThreadPoolExecutor(min(len(folds), count_threads(machine.n_jobs)), thread_name_prefix="treelet") as pool:
        for hits in pool.map(work, folds):
            found.append(hits)
            advance(1)
    return np.array(found)


def _predicted(
    inside: Matrix, y: NDArray[np.intp], across: Matrix, price: float, machine: KernelSVC
) -> NDArray[np.intp]:
    """What the machine that `KernelSVC` would fit says, on a matrix that is there already."""
    from sklearn import config_context
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC

    names = ("tol", "cache_size", "shrinking", "max_iter", "class_weight")
    solver = SVC(kernel="precomputed", C=price, **{name: getattr(machine, name) for name in names})
    if len(np.unique(y)) > 2:
        solver = OneVsRestClassifier(solver) if machine.multi_class == "ovr" else solver.set_params(break_ties=True)
    with config_context(assume_finite=True):
        guessed: NDArray[np.intp] = solver.fit(inside, y).predict(across)
    return guessed


@contextmanager
def _bar(wanted: bool, total: int) -> Iterator[Callable[[int], None]]:
    if not wanted:
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("grid", total=total)
        yield lambda steps: bar.advance(task, steps)
