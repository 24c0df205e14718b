"""``treelet train``: train a classifier, regressor or ranker on labeled trees, and save the model."""

from __future__ import annotations

import json as json_format
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treelet.cli import examples
from treelet.cli.options import (
    COLUMN,
    KERNELS,
    QUERY,
    JsonSummaryOption,
    KernelOption,
    LamsOption,
    LeavesOption,
    MaxDepthOption,
    MusOption,
    NormalizeOption,
    ProgressOption,
    SeedOption,
    among,
    check_device,
    kernel_from_options,
    memory_size,
    numbers,
    one_of,
    wrong_value,
)
from treelet.cli.overwriting import READ, WRITTEN, naming_output
from treelet.cli.reading import Reading, with_option_groups
from treelet.errors import ParameterError

if TYPE_CHECKING:
    from treelet.cli.examples import Examples
    from treelet.kernels import Kernel
    from treelet.learn.base import KernelLearner
    from treelet.learn.selection import Trial


# --- the tasks of ``treelet train`` -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Metric:
    """A metric for choosing among settings.

    Attributes
    ----------
    scoring : callable or None
        Returns the `scoring` argument of `treelet.learn.selection.select`. None for the score of the estimator itself.
    head : str
        Title of the table of results.
    percent : bool
        Whether the metric is printed in percent.
    negated : bool
        Whether the metric is an error. The score is then the negative error, so larger scores are always better.
    """

    scoring: Callable[[], Any] | None
    head: str
    percent: bool = False
    negated: bool = False

    def shown(self, score: float) -> float:
        """Return the number to print for a score: a percentage, or the error itself if the score is negated."""
        return 100 * score if self.percent else -score if self.negated else score


def _macro_f1() -> Any:
    from sklearn.metrics import f1_score

    return lambda estimator, X, y: f1_score(y, estimator.predict(X), average="macro", zero_division=0)


def _correlation() -> Any:
    from treelet.metrics.predictions import pearson

    return lambda estimator, X, y: pearson(y, estimator.predict(X))


_METRICS: dict[str, dict[str, _Metric]] = {
    "classify": {
        "accuracy": _Metric(lambda: "accuracy", "accuracy, percent", percent=True),
        "macro-f1": _Metric(_macro_f1, "macro-averaged F1, percent", percent=True),
        "balanced-accuracy": _Metric(lambda: "balanced_accuracy", "balanced accuracy, percent", percent=True),
    },
    "regress": {
        "rmse": _Metric(lambda: "neg_root_mean_squared_error", "root mean squared error", negated=True),
        "correlation": _Metric(_correlation, "Pearson's correlation"),
        "r2": _Metric(lambda: "r2", "R²"),
    },
    "rank": {"tau": _Metric(None, "Kendall's tau, mean over queries")},
}
"""The metrics by task and name. The first metric of each task is the default."""

_TASKS = tuple(_METRICS)


# --- targets --------------------------------------------------------------------------------------------------------


def _classes_of(examples: Examples) -> list[str]:
    """Return the labels. Raise an error if there are fewer than two classes."""
    labels = examples.needed_labels()
    if len(set(labels)) < 2:
        raise ParameterError(
            f"{examples.file}: all {len(examples):,} examples have the label {labels[0]!r}. A classifier needs at least two classes."
        )
    return labels


def values_of(examples: Examples) -> list[float]:
    """Return the labels as numbers."""
    values = []
    for number, label in enumerate(examples.needed_labels(), 1):
        try:
            values.append(float(label))
        except ValueError:
            values.append(math.nan)
        if not math.isfinite(values[-1]):
            raise ParameterError(
                f"{examples.file}: the label of example {number}, {label!r}, is not a finite number. Use --task classify for labels that are names."
            )
    return values


def queries_of(examples: Examples, name: str) -> list[str]:
    """Return the query of each example. Only candidates of the same query are compared with each other."""
    if name not in examples.strings:
        from treelet.checks import some_of, suggestion

        available = (
            f"The file has {some_of(examples.strings)}." if examples.strings else "The file has no such columns."
        )
        raise ParameterError(
            f"{examples.file}: ranking needs a string column {name!r} with the query of each example. {available}"
            f"{suggestion(name, examples.strings)} Pass --query NAME, or --option query_column=NAME for tsv and csv."
        )
    return examples.strings[name]


# --- the grid search of ``treelet train``: the settings to try, and the table of their scores -------------------------

_FOLDS = 5
_PRICES = (0.1, 1.0, 10.0, 100.0)
_DECAYS: dict[str, dict[str, Sequence[float]]] = {
    "st": {"lam": (0.2, 0.4, 0.6, 0.8, 1.0)},
    "sst": {"lam": (0.1, 0.2, 0.4, 0.6, 0.8)},
    "pt": {"lam": (0.1, 0.2, 0.4, 0.6, 0.8), "mu": (0.2, 0.4, 0.8)},
}


@dataclass(frozen=True)
class _ScoredSetting:
    """A setting with its mean score and its score on the test part of each fold. Larger scores are better."""

    setting: dict[str, float]
    score: float
    by_fold: tuple[float, ...]


@dataclass(frozen=True)
class _BoundaryValue:
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
class _Search:
    """The scores of all settings, and the settings whose kernel values overflow a float64."""

    rows: list[_ScoredSetting]
    metric: str
    shown: _Metric
    refused: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0
    total: int = 0

    @property
    def best_row(self) -> _ScoredSetting:
        """The row with the largest score. Among equal scores, the first row wins, which has the smallest parameters."""
        return max(self.rows, key=lambda row: round(row.score, 12))

    @property
    def best(self) -> dict[str, float]:
        return self.best_row.setting

    @property
    def complete(self) -> bool:
        return len(self.rows) + len(self.refused) >= self.total

    def edges(self) -> list[_BoundaryValue]:
        """Return the parameters whose best value is the largest or smallest one tried, and better than its neighbor."""
        edges = []
        for name, value in self.best.items():
            best_of: dict[float, float] = {}
            for row in self.rows:
                best_of[row.setting[name]] = max(row.score, best_of.get(row.setting[name], -math.inf))
            tried = sorted(best_of)
            bounded = name != "C" and value == 1
            for edge, following, largest in ((tried[-1], tried[-2:][0], True), (tried[0], tried[:2][-1], False)):
                if value == edge != following and best_of[edge] - best_of[following] > 1e-12:
                    edges += [] if largest and bounded else [_BoundaryValue(name, value, largest)]
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
        spread = scale * statistics.pstdev(best.by_fold)
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


class _Stopped(KeyboardInterrupt):
    """The search was interrupted. `search` has the results so far."""

    def __init__(self, search: _Search) -> None:
        best = " ".join(f"--{name} {value:g}" for name, value in search.best.items())
        super().__init__(
            f"{len(search.rows)} of {search.total} settings were tried. The best so far is {best}. No model was written."
        )
        self.search = search


def _search_grid(
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
) -> _Search:
    """Try all settings of a kernel's parameters and of C by cross-validation.

    `kernel_of` returns the kernel of a setting, and `machine` is an estimator with all other parameters. By default there
    are 5 folds, or fewer if there are fewer examples. Raises `_Stopped` if the search is interrupted after at least one kernel.
    """
    from treelet.learn.selection import select

    begin = time.perf_counter()
    decays = {name: tried for name, tried in values.items() if name != "C"}
    settings = [dict(zip(decays, chosen, strict=True)) for chosen in product(*decays.values())]
    kernels = [kernel_of(**setting) for setting in settings]
    setting_of = {id(kernel): setting for kernel, setting in zip(kernels, settings, strict=True)}
    chosen = _METRICS[task][metric]
    rows: list[_ScoredSetting] = []
    total = len(settings) * len(values["C"])

    def report(trial: Trial) -> None:
        rows.append(_ScoredSetting(setting_of[id(trial.kernel)] | trial.parameters, trial.score, trial.by_fold))

    def search(refused: Sequence[Any] = ()) -> _Search:
        # A kernel whose values overflow counts once, not once per value of C.
        missed = [setting_of[id(kernel)] for kernel in refused]
        count = total - len(missed) * (len(values["C"]) - 1)
        return _Search(rows, metric, chosen, missed, time.perf_counter() - begin, count)

    cv = _folds(task, folds, targets, seed)
    try:
        selection = select(
            kernels,
            data,
            targets,
            estimator=machine,
            grid={"C": list(values["C"])},
            qid=queries,
            cv=cv,
            scoring=None if chosen.scoring is None else chosen.scoring(),
            memory=memory,
            report=report,
        )
    except KeyboardInterrupt:
        if rows:
            raise _Stopped(search()) from None
        raise KeyboardInterrupt("No setting was finished. No model was written.") from None
    return search(selection.refused)


def _folds(task: str, folds: int | None, targets: Sequence[Any], seed: int) -> Any:
    """Return the cross-validation splitter: stratified by class, random, or by whole queries."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if task == "rank":
        return _FOLDS if folds is None else folds
    most = max(Counter(targets).values()) if task == "classify" else len(targets)
    if folds is not None and folds > max(2, most):
        limit = "the number of examples in the largest class" if task == "classify" else "the number of examples"
        raise wrong_value("--cv", f"at most {most:,}, {limit}", folds)
    splitter = StratifiedKFold if task == "classify" else KFold
    return splitter(max(2, min(folds or _FOLDS, most)), shuffle=True, random_state=seed)


# --- ``treelet train`` ------------------------------------------------------------------------------------------------

_SHOWN = 20  # maximum number of classes to list
_PARAMETERS = "C", "epsilon", "class_weight"


@with_option_groups
def command(
    file: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files or folders of labeled trees. Use - for standard input."),
        READ,
    ],
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="Where to save the model, e.g. m.treelet."), WRITTEN
    ],
    kernel: KernelOption = "sst",
    lam: LamsOption = None,
    mu: MusOption = None,
    max_depth: MaxDepthOption = None,
    leaves: LeavesOption = None,
    normalize: NormalizeOption = True,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"{COLUMN} Can be repeated.  [default: all trees of a row]",
        ),
    ] = None,
    vectors: Annotated[
        float | None,
        typer.Option(
            metavar="WEIGHT",
            help="Weight of the feature vectors, above 0. WEIGHT times their inner product is added to the tree kernel.  [default: feature vectors are not used]",
        ),
    ] = None,
    normalize_vectors: Annotated[
        bool,
        typer.Option(
            "--normalize-vectors",
            help="Use the cosine of the feature vectors instead of the inner product; for --vectors.",
        ),
    ] = False,
    C: Annotated[  # the usual name of this parameter of support vector machines
        str | None,
        typer.Option(
            "--C",
            "-C",
            metavar="LIST",
            help="Penalty per training error, above 0. Larger values fit the training data more closely. Separate several values with commas.  [default: 1]",
        ),
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            metavar="TASK",
            autocompletion=among(*_TASKS),
            help="Task to learn: classify, regress (labels are numbers) or rank (labels are numbers; candidates of the same sentence are compared).",
        ),
    ] = "classify",
    class_weight: Annotated[
        str | None,
        typer.Option(
            metavar="balanced",
            autocompletion=among("balanced"),
            help="Give positive and negative examples of each binary classifier the same total weight, so errors in rare classes count more; classify only.",
        ),
    ] = None,
    probability: Annotated[
        bool,
        typer.Option(
            "--probability",
            help="Prepare the model for predict --probability by a cross-validation of its scores; classify only.",
        ),
    ] = False,
    epsilon: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="Largest error without a penalty, at least 0; regress only.  [default: 0.1]"
        ),
    ] = None,
    qid: Annotated[
        str | None, typer.Option("--query", metavar="NAME", help=f"{QUERY}; rank only.  [default: qid]")
    ] = None,
    grid: Annotated[
        bool,
        typer.Option(
            "--grid",
            help="Choose --lam, --mu and --C by cross-validation. Values that you pass replace the built-in ones: lam 0.1,0.2,0.4,0.6,0.8 (st: 0.2,0.4,0.6,0.8,1), mu 0.2,0.4,0.8, C 0.1,1,10,100.",
        ),
    ] = False,
    cv: Annotated[
        int | None,
        typer.Option(
            "--cv",
            metavar="N",
            help="Cross-validate with N folds, at least 2.  [default: 5 with --grid or several values, otherwise no cross-validation]",
        ),
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            autocompletion=among(*(name for known in _METRICS.values() for name in known)),
            help="Score that decides which values are chosen: accuracy, macro-f1 or balanced-accuracy (classify); rmse, correlation or r2 (regress); tau (rank).  [default: accuracy, rmse or tau, depending on --task]",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            callback=memory_size,
            help="Memory limit of the kernel matrix, e.g. 4GiB. The matrix takes 8 bytes per pair of examples.  [default: no limit]",
        ),
    ] = None,
    random_state: SeedOption = 0,
    threads: int,
    reading: Reading,
    progress: ProgressOption = True,
    json: JsonSummaryOption = False,
) -> None:
    """Train a classifier, regressor or ranker on trees.

    The model is a support vector machine. Its tree kernel is normalized unless you pass --no-normalize.

    Pass several values to --lam, --mu or --C to choose the best combination by cross-validation. Press Ctrl-C to stop the search
    and print the results so far; no model is written and the exit code is 130.

    For --task rank, the column qid names the sentence (group) of each candidate. In an SVM-Light-TK file, the line
    2 qid:1 |BT| (S (A a) (B b)) |ET| is a candidate with the label 2 for sentence 1. For tsv and csv, pass --option query_column=NAME.

    Example: treelet train train.tsv -o m.treelet --lam 0.2,0.4 --C 1,10
    """
    task = one_of("--task", task, _TASKS)
    tried = _tried(kernel, lam, mu, C, grid)
    kernel_options: dict[str, Any] = {"max_depth": max_depth, "leaves": leaves, "normalize": normalize}
    for name, value in ((name, value) for name, values in tried.items() if name != "C" for value in values):
        kernel_from_options(kernel, **{**kernel_options, name: value})  # reports wrong values before any file is read
    kernel_from_options(kernel, **kernel_options)
    _check(vectors, normalize_vectors, cv, output)
    searching = grid or cv is not None or any(len(values) > 1 for values in tried.values())
    metric = _metric(task, scoring, searching)
    machine_options = _machine_options(task, class_weight, probability, epsilon, qid)
    begin = time.perf_counter()
    from treelet.formats.files import whole_file

    with whole_file(Path(output)) as temporary:
        from treelet.learn import KernelSVC, KernelSVR, RankSVM, save

        check_device()
        opened = time.perf_counter()
        contents = examples.read(file, reading)
        targets: Any = _classes_of(contents) if task == "classify" else values_of(contents)
        queries = queries_of(contents, qid or "qid") if task == "rank" else None
        if probability:
            _check_calibration(contents.file, targets)
        trees = _tree_columns(contents, column)
        data, bare = _data(contents, trees, vectors is not None)
        seconds = {"start": opened - begin, "read": time.perf_counter() - opened}

        def kernel_of(**chosen: float) -> Kernel:
            trees_kernel = kernel_from_options(kernel, **{**kernel_options, **chosen})
            return _combined(trees_kernel, [] if bare else trees, contents, vectors, normalize_vectors)

        estimators: dict[str, type[Any]] = {"classify": KernelSVC, "regress": KernelSVR, "rank": RankSVM}
        machine = estimators[task](C=tried["C"][0], memory=memory, n_jobs=threads, **machine_options)
        chosen, search = {name: values[0] for name, values in tried.items()}, None
        if searching:
            search = _searched(
                tried, json, task=task, metric=metric, kernel_of=kernel_of, machine=machine, data=data, targets=targets,
                queries=queries, folds=cv, seed=random_state, memory=memory,
            )  # fmt: skip
            chosen, seconds["grid"] = dict(search.best), search.seconds
        machine.set_params(C=chosen.pop("C"), kernel=kernel_of(**chosen))
        started = time.perf_counter()
        machine.fit(data, targets, **({} if queries is None else {"qid": queries}))
        fitted = time.perf_counter()
        seconds["fit"] = fitted - started
        if probability:
            machine.platt_ = _calibrated(machine, data, targets, random_state)
            seconds["calibrate"] = time.perf_counter() - fitted
        machine.set_params(n_jobs=1, memory=None)  # resources of the training are not saved
        with naming_output(temporary, output):
            save(machine, temporary, metrics=None if search is None else search.measured())
        size = temporary.stat().st_size
    seconds["total"] = time.perf_counter() - begin
    report = _TrainingReport(
        task, contents, queries, machine, search, seconds, output, size, _unused(contents, vectors, task)
    )
    print(json_format.dumps(report.as_dict()) if json else report.text())


def _check_calibration(file: str, labels: Sequence[str]) -> None:
    single = sorted(label for label, count in Counter(labels).items() if count < 2)
    if single:
        from treelet.checks import some_of

        raise ParameterError(
            f"{file}: --probability needs at least two examples per class for cross-validation. "
            f"{'These classes have' if len(single) > 1 else 'This class has'} only one: {some_of(single)}."
        )


def _calibrated(machine: Any, data: Any, labels: Sequence[str], seed: int) -> Any:
    """Return the two parameters of the sigmoid of each binary classifier, fitted to cross-validated scores.

    All folds share one kernel matrix.
    """
    import numpy as np
    from sklearn.base import clone
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import StratifiedKFold

    from treelet.matrices.executors import host_matrix
    from treelet.resources import Resources

    K = host_matrix(machine.kernel, machine.kernel.coerce(data), resources=Resources.of(machine.n_jobs))
    folds = StratifiedKFold(min(_FOLDS, *Counter(labels).values()), shuffle=True, random_state=seed)
    inner = clone(machine).set_params(kernel="precomputed")
    fitted = CalibratedClassifierCV(inner, method="sigmoid", cv=folds, ensemble=False).fit(K, labels)
    return np.array([[sigmoid.a_, sigmoid.b_] for sigmoid in fitted.calibrated_classifiers_[0].calibrators])


def _unused(contents: examples.Examples, vectors: float | None, task: str) -> list[str]:
    """Return notes about columns of the file that were not used for training."""
    lines = []
    if contents.vectors and vectors is None:
        lines.append(f"feature vectors {', '.join(contents.vectors)}; add them with --vectors 1")
    if "qid" in contents.strings and task != "rank":
        lines.append("queries qid; learn to rank within queries with --task rank")
    return lines


# --- options ------------------------------------------------------------------------------------------------------


def _tried(kernel: str, lam: str | None, mu: str | None, C: str | None, grid: bool) -> dict[str, list[float]]:
    """Return the values to try for each parameter. With ``--grid``, omitted parameters have the values of the grid."""
    name = one_of("--kernel", kernel, tuple(KERNELS))
    options = {"lam": lam, "mu": mu, "C": C}
    tried = {key: numbers(f"--{key}", text) for key, text in options.items() if text is not None}
    if grid:
        tried = {**{key: list(values) for key, values in _DECAYS[name].items()}, "C": list(_PRICES), **tried}
    return {**tried, "C": tried.get("C", [1.0])}


def _metric(task: str, metric: str | None, searching: bool) -> str:
    if metric is None:
        return next(iter(_METRICS[task]))
    if not searching:
        raise ParameterError(
            "--metric needs cross-validation. Add --grid, --cv, or several values of --lam, --mu or --C."
        )
    return one_of("--metric", metric, tuple(_METRICS[task]))


def _machine_options(
    task: str,
    class_weight: str | None,
    probability: bool,
    epsilon: float | None,
    query: str | None,
) -> dict[str, Any]:
    """Return the parameters of the estimator that are specific to the task."""
    options_by_task: dict[str, dict[str, Any]] = {
        "classify": {"--class-weight": class_weight, "--probability": probability},
        "regress": {"--epsilon": epsilon is not None},
        "rank": {"--query": query},
    }
    for other_task, options in options_by_task.items():
        for name in (name for name, used in options.items() if used and other_task != task):
            raise ParameterError(f"{name} applies to --task {other_task}, not to --task {task}. Remove {name}.")
    if task == "classify":
        return {"class_weight": None if class_weight is None else one_of("--class-weight", class_weight, ("balanced",))}
    if task == "rank":
        return {"pairs": "all"}
    return {} if epsilon is None else {"epsilon": epsilon}


def _searched(tried: dict[str, list[float]], json: bool, **options: Any) -> _Search:
    """Run the grid search. If it is interrupted, print the results so far."""
    try:
        return _search_grid(tried, **options)
    except _Stopped as stopped:
        print(json_format.dumps({"grid": stopped.search.as_dict()}) if json else stopped.search.table(), flush=True)
        raise


def _check(vectors: float | None, normalize_vectors: bool, cv: int | None, output: str) -> None:
    if vectors is not None and not 0 < vectors < math.inf:
        raise wrong_value("--vectors", "a finite number above 0", vectors)
    if normalize_vectors and vectors is None:
        raise ParameterError("--normalize-vectors needs --vectors WEIGHT. Add --vectors 1.")
    if cv is not None and cv < 2:
        raise wrong_value("--cv", "a whole number of at least 2", cv)
    if output == "-":
        raise ParameterError("A model cannot be written to standard output. Pass a file name, such as -o m.treelet.")


# --- data and kernel ----------------------------------------------------------------------------------------------


def _tree_columns(contents: examples.Examples, wanted: list[str] | None) -> list[str]:
    if not contents.trees:
        raise ParameterError(f"{contents.file}: a tree kernel needs trees, but the file has only {contents.columns()}.")
    unknown = [name for name in wanted or [] if name not in contents.trees]
    if unknown:
        from treelet.checks import suggestion

        near = suggestion(unknown[0], contents.trees)
        raise ParameterError(
            f"{contents.file}: the file has no tree column {unknown[0]!r}, only {contents.columns()}.{near}"
        )
    return list(dict.fromkeys(wanted or contents.trees))


def _data(contents: examples.Examples, trees: list[str], with_vectors: bool) -> tuple[Any, bool]:
    """Return the columns to train on, and whether they are a single tree column without a name."""
    from treelet.structures import Table

    if with_vectors and not contents.vectors:
        raise ParameterError(
            f"{contents.file}: --vectors needs feature vectors. The file has only {contents.columns()}. Remove --vectors."
        )
    if len(contents.trees) == 1 and not with_vectors:
        return contents.trees[trees[0]], True
    used: dict[str, Any] = {name: contents.trees[name] for name in trees}
    return Table({**used, **(contents.vectors if with_vectors else {})}), False


def _combined(
    kernel: Kernel, trees: list[str], contents: examples.Examples, weight: float | None, cosine: bool
) -> Kernel:
    """Return the sum of the tree kernel over all tree columns and the weighted inner products of all vectors."""
    from treelet.kernels import Linear, On

    if not trees:
        return kernel
    whole: Kernel = On(trees[0], kernel)
    for name in trees[1:]:
        whole = whole + On(name, kernel)
    if weight is None:
        return whole
    for name in contents.vectors:
        term: Kernel = On(name, Linear().normalized() if cosine else Linear())
        whole = whole + (term if weight == 1 else weight * term)
    return whole


# --- report -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _TrainingReport:
    """The trained model, with its training data and the times of training."""

    task: str
    contents: examples.Examples
    queries: list[str] | None
    machine: Any
    search: _Search | None
    seconds: dict[str, float]
    output: str
    size: int
    unused: list[str]
    """Columns of the file that were not used, with the option that would use them."""

    def learned(self) -> dict[str, Any]:
        """Return the number of examples per class, or the range of the values and the number of queries."""
        labels = self.contents.labels or []
        if self.task == "classify":
            return {"classes": dict(sorted(Counter(labels).items()))}
        values = [float(label) for label in labels]
        summary: dict[str, Any] = {"values": {"least": min(values), "most": max(values)}}
        return summary if self.queries is None else {**summary, "queries": len(set(self.queries))}

    def learned_text(self) -> str:
        learned = self.learned()
        if "classes" in learned:
            named = [f"{label} {count:,}" for label, count in learned["classes"].items()]
            more = f", and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
            return f"classes   {len(named)}: {', '.join(named[:_SHOWN])}{more}"
        queries = f", within {learned['queries']:,} queries" if "queries" in learned else ""
        return f"values    from {learned['values']['least']:g} to {learned['values']['most']:g}{queries}"

    def machine_text(self) -> str:
        machine = self.machine
        phrases = [type(machine).__name__, f"C={machine.C:g}"]
        phrases += [f"epsilon={machine.epsilon:g}"] if hasattr(machine, "epsilon") else []
        phrases += ["balanced class weights"] if getattr(machine, "class_weight", None) == "balanced" else []
        phrases += ["with probabilities"] if hasattr(machine, "platt_") else []
        return f"machine   {', '.join(phrases)}"

    def as_dict(self) -> dict[str, Any]:
        stats = self.machine.model_.stats()
        return {
            "file": self.contents.file,
            "task": self.task,
            "examples": len(self.contents),
            **self.learned(),
            "kernel": repr(self.machine.kernel),
            **{name: getattr(self.machine, name) for name in _PARAMETERS if hasattr(self.machine, name)},
            **({"probability": hasattr(self.machine, "platt_")} if self.task == "classify" else {}),
            "grid": None if self.search is None else self.search.as_dict(),
            "support_examples": stats.support_examples,
            "model": {**asdict(stats), "compression": stats.compression},
            "seconds": self.seconds,
            "output": self.output,
            "bytes": self.size,
        }

    def text(self) -> str:
        machine, stats = self.machine, self.machine.model_.stats()
        kept = f", {stats.kept_examples:,} examples stored uncompressed" if stats.kept_examples else ""
        times = ", ".join(f"{name} {value:.2f}" for name, value in self.seconds.items() if name != "total")
        lines = [] if self.search is None else [self.search.table(), ""]
        lines += [
            f"examples  {len(self.contents):,} from {self.contents.file}",
            self.learned_text(),
            f"kernel    {machine.kernel!r}",
            self.machine_text(),
            f"support   {stats.support_examples:,} of {len(self.contents):,} examples",
            f"model     {stats.nodes:,} nodes of support trees as {stats.distinct_subtrees:,} distinct subtrees: "
            f"{stats.model_bytes:,} bytes instead of {stats.support_bytes:,} ({stats.compression:.1f} times smaller){kept}",
            f"seconds   {self.seconds['total']:.2f} ({times})",
            f"file      {self.output}, {self.size:,} bytes",
        ]
        return "\n".join([*lines, *(f"not used  {note}" for note in self.unused)])
