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

from treelet.cli.inputs import Examples, contents_of, read_examples
from treelet.cli.options import (
    KERNELS,
    READ,
    WRITTEN,
    Reading,
    among,
    at_least,
    check_device,
    command,
    file_name,
    kernel_from_options,
    naming_output,
    numbers,
    one_of,
    wrong_value,
)
from treelet.errors import ParameterError

if TYPE_CHECKING:
    from treelet.kernels import Kernel
    from treelet.learn.base import KernelLearner
    from treelet.learn.selection import Trial


_METRICS: dict[str, dict[str, tuple[str, int]]] = {
    "classify": {
        "accuracy": ("accuracy, percent", 100),
        "macro-f1": ("macro-averaged F1, percent", 100),
        "balanced-accuracy": ("balanced accuracy, percent", 100),
    },
    "regress": {
        "rmse": ("root mean squared error", -1),
        "correlation": ("Pearson's correlation", 1),
        "r2": ("R²", 1),
    },
    "rank": {"tau": ("Kendall's tau, mean over queries", 1)},
}
"""The metrics by task and name: the title of the table of results, and the factor of the printed figures.

Larger scores are always better, so the score of an error is negative. The first metric of each task is the default.
"""
_FOLDS = 5
_DECAYS: dict[str, dict[str, Sequence[float]]] = {
    "st": {"lam": (0.2, 0.4, 0.6, 0.8, 1.0)},
    "sst": {"lam": (0.1, 0.2, 0.4, 0.6, 0.8)},
    "pt": {"lam": (0.1, 0.2, 0.4, 0.6, 0.8), "mu": (0.2, 0.4, 0.8)},
    "forest": {"lam": (0.1, 0.2, 0.4, 0.6, 0.8)},
    "tagging": {"lam": (0.1, 0.2, 0.4, 0.6, 0.8)},
    "locality": {"window": (1, 3, 5)},
}
_LEARNERS: dict[str, tuple[str, float, Sequence[float], dict[str, str]]] = {
    "svm": ("C", 1.0, (0.1, 1.0, 10.0, 100.0), {"classify": "KernelSVC", "regress": "KernelSVR", "rank": "RankSVM"}),
    "rls": ("alpha", 1.0, (0.01, 0.1, 1.0, 10.0), {"regress": "RLS", "rank": "RankRLS"}),
    "perceptron": ("epochs", 1, (1, 2, 3, 5), {"rank": "VotedPerceptron"}),
}
"""The learners: the parameter to tune, its default and its grid, and the estimator of each task. The first is the default."""


@command(
    main="output kernel lam C task learner labels grid cv n_jobs json",
    exclusive=[("labels", "skip_bad")],
    needs={"normalize_vectors": "vectors"},
)
def _train(
    file: Annotated[list[str], "FILE...", READ],
    *,
    output: Annotated[str, "--output -o MODEL", file_name, WRITTEN],
    kernel: str = "sst",
    lam: Annotated[str | None, "LIST"] = None,
    mu: Annotated[str | None, "LIST"] = None,
    max_depth: int | None = None,
    leaves: bool | None = None,
    window: Annotated[str | None, "LIST"] = None,
    theta: Annotated[str | None, "LIST"] = None,
    match: str | None = None,
    normalize: bool = True,
    column: Annotated[list[str] | None, "NAME"] = None,
    vectors: Annotated[float | None, "WEIGHT"] = None,
    normalize_vectors: bool = False,
    C: Annotated[str | None, "--C -C LIST"] = None,
    task: Annotated[str | None, "TASK", among(*_METRICS)] = None,
    learner: Annotated[str, "NAME", among(*_LEARNERS)] = "svm",
    labels: str | None = None,
    alpha: Annotated[str | None, "LIST"] = None,
    epochs: Annotated[str | None, "LIST"] = None,
    class_weight: Annotated[str | None, "balanced", among("balanced")] = None,
    probability: bool = False,
    epsilon: Annotated[float | None, "NUMBER"] = None,
    qid: Annotated[str | None, "--query NAME"] = None,
    grid: bool = False,
    cv: Annotated[int | None, "N", at_least(2)] = None,
    scoring: Annotated[
        str | None, "--metric METRIC", among(*(name for known in _METRICS.values() for name in known))
    ] = None,
    memory: str | None = None,
    random_state: int = 0,
    threads: int,
    reading: Reading,
    progress: bool = True,
    json: bool = False,
) -> None:
    """Train a classifier, regressor or ranker on trees.

    The model is a support vector machine unless you pass --learner. Its kernel is normalized unless you pass --no-normalize.

    With --kernel forest, tagging or locality, FILE has forests, tagged sentences or dependency parses, one per line: label<TAB>example, or the example alone with its label in --labels.

    Pass several values to --lam or --C to choose the best combination by cross-validation, or pass --grid. Press Ctrl-C to stop the search
    and print the results so far; no model is written and the exit code is 130.

    For --task rank, the column qid names the sentence (group) of each candidate. In an SVM-Light-TK file, the line
    2 qid:1 |BT| (S (A a) (B b)) |ET| is a candidate with the label 2 for sentence 1. For tsv and csv, pass --option query_column=NAME.

    Example: treelet train train.tsv -o m.treelet --lam 0.2,0.4 --C 1,10

    Example: treelet train forests.jsonl --labels labels.txt --kernel forest -o m.treelet

    Parameters
    ----------
    file
        Files or folders of labeled trees, or of other examples for other kernels. Use - for standard input.
    output
        Where to save the model, e.g. m.treelet.
    lam
        Decay in (0, 1]. st, sst, forest: factor per production. pt: factor per skipped child. tagging: factor per
        tag. 1 disables the decay. Separate several values with commas. [default: 1 for st, 0.4 for the others]
    mu
        Decay per node, in (0, 1]; pt only. 1 disables the decay. Separate several values with commas. [default:
        0.4]
    window
        Number of positions in a window, at least 1; locality only. Separate several values with commas. [default: 3]
    theta
        Tolerance for differences in position, at least 0; locality with --match position only. Separate several
        values with commas. [default: 0.5]
    column
        Name of the tree to use if the rows have several trees, as in KeLP files. Can be repeated. [default: all
        trees of a row]
    vectors
        Weight of the feature vectors, above 0. WEIGHT times their inner product is added to the tree kernel.
        [default: feature vectors are not used]
    normalize_vectors
        Use the cosine of the feature vectors instead of the inner product; for --vectors.
    C
        Penalty per training error, above 0; svm only. Larger values fit the training data more closely. Separate
        several values with commas. [default: 1]
    task
        Task to learn: classify, regress (labels are numbers) or rank (labels are numbers; candidates of the same
        sentence are compared). [default: classify for svm, regress for rls, rank for perceptron]
    learner
        svm (support vector machine; all tasks), rls (regularized least squares; regress and rank) or perceptron
        (averaged perceptron; rank).
    alpha
        Regularization strength, above 0; rls only. Larger values fit the training data less closely. Separate
        several values with commas. [default: 1]
    epochs
        Number of passes over the training data, at least 1; perceptron only. Separate several values with commas.
        [default: 1]
    class_weight
        Give positive and negative examples of each binary classifier the same total weight, so errors in rare
        classes count more; classify only.
    probability
        Prepare the model for predict --probability by a cross-validation of its scores; classify only.
    epsilon
        Largest error without a penalty, at least 0; regress only. [default: 0.1]
    qid
        Column that names the sentence (group) of each candidate (for tsv and csv: --option query_column=NAME); rank
        only. [default: qid]
    grid
        Choose the parameters by cross-validation. Values that you pass replace the built-in ones: lam
        0.1,0.2,0.4,0.6,0.8 (st: 0.2,0.4,0.6,0.8,1), mu 0.2,0.4,0.8, window 1,3,5, C 0.1,1,10,100, alpha
        0.01,0.1,1,10, epochs 1,2,3,5.
    cv
        Cross-validate with N folds, at least 2. [default: 5 with --grid or several values, otherwise no
        cross-validation]
    scoring
        Score that decides which values are chosen: accuracy, macro-f1 or balanced-accuracy (classify); rmse,
        correlation or r2 (regress); tau (rank). [default: accuracy, rmse or tau, depending on --task]
    memory
        Memory limit of the training, without the examples themselves, e.g. 4GiB; svm and rls only. --grid and
        --probability also need a kernel matrix, of 8 bytes per pair of examples. [default: 1GiB for svm, 2GiB for rls]
    json
        Print a summary of the result as JSON on standard output.
    """
    learner = one_of("--learner", learner, tuple(_LEARNERS))
    tuned, _, _, estimators = _LEARNERS[learner]
    task = one_of("--task", task or next(iter(estimators)), tuple(_METRICS))
    _check_learner(learner, task, {"C": C, "alpha": alpha, "epochs": epochs}, memory)
    decays = {"lam": lam, "mu": mu, "window": window, "theta": theta}
    tried = _tried(kernel, decays, learner, {"C": C, "alpha": alpha, "epochs": epochs}[tuned], grid)
    kernel_options: dict[str, Any] = {"max_depth": max_depth, "leaves": leaves, "match": match, "normalize": normalize}
    for name, value in ((name, value) for name, values in tried.items() if name != tuned for value in values):
        kernel_from_options(kernel, **{**kernel_options, name: value})  # reports wrong values before any file is read
    base_kernel = kernel_from_options(kernel, **kernel_options)
    if vectors is not None and not 0 < vectors < math.inf:
        raise wrong_value("--vectors", "a finite number above 0", vectors)
    searching = grid or cv is not None or any(len(values) > 1 for values in tried.values())
    if scoring is not None and not searching:
        raise ParameterError(
            f"--metric needs cross-validation. Add --grid, --cv, or several values of --lam or --{tuned}."
        )
    metric = one_of("--metric", scoring or next(iter(_METRICS[task])), tuple(_METRICS[task]))
    machine_options = _machine_options(task, learner, class_weight, probability, epsilon, qid)
    begin = time.perf_counter()
    from treelet.formats.files import whole_file

    with whole_file(Path(output)) as temporary:
        from treelet import learn

        check_device()
        opened = time.perf_counter()
        contents = read_examples(file, reading, kernel=base_kernel, label_file=labels)
        targets: Any = contents.needed_labels() if task == "classify" else contents.values()
        queries = contents.queries(qid or "qid") if task == "rank" else None
        if task == "classify":
            _check_classes(contents.file, targets, probability)
        trees = _tree_columns(contents, column)
        data, bare = _data(contents, trees, vectors is not None)
        seconds = {"start": opened - begin, "read": time.perf_counter() - opened}

        def kernel_of(**chosen: float) -> Kernel:
            trees_kernel = kernel_from_options(kernel, **{**kernel_options, **chosen})
            whole = _combined(trees_kernel, [] if bare else trees, contents, vectors, normalize_vectors)
            return whole + 1 if estimators[task] == "RLS" else whole  # the constant stands for an intercept

        machine: Any = getattr(learn, estimators[task])(n_jobs=threads, **machine_options)
        unused = machine.get_params(deep=False)  # resources of the training are not saved
        resources = {"n_jobs": 1} | ({"memory": unused["memory"]} if "memory" in unused else {})
        if learner == "svm" or memory is not None:
            machine.set_params(memory=memory)
        chosen, search = {name: values[0] for name, values in tried.items()}, None
        if searching:
            search = _search(
                tried, kernel_of, machine, data, targets, queries, tuned=tuned,
                cv=_folds(task, cv, targets, random_state), task=task, metric=metric, memory=memory, json=json,
            )  # fmt: skip
            chosen, seconds["grid"] = dict(search.best[0]), search.seconds
        machine.set_params(**{tuned: chosen.pop(tuned)}, kernel=kernel_of(**chosen))
        started = time.perf_counter()
        machine.fit(data, targets, **({} if queries is None else {"qid": queries}))
        fitted = time.perf_counter()
        seconds["fit"] = fitted - started
        if probability:
            machine.platt_ = _calibrated(machine, data, targets, random_state)
            seconds["calibrate"] = time.perf_counter() - fitted
        machine.set_params(**resources)
        with naming_output(temporary, output):
            learn.save(machine, temporary, metrics=None if search is None else search.measured())
        size = temporary.stat().st_size
    seconds["total"] = time.perf_counter() - begin
    ignored = [f"feature vectors {', '.join(contents.vectors)}; add them with --vectors 1"] * (
        bool(contents.vectors) and vectors is None
    )
    if "qid" in contents.strings and task != "rank":
        ignored.append("queries qid; learn to rank within queries with --task rank")
    result = _result(task, contents, queries, machine) | {"seconds": seconds, "output": output, "bytes": size}
    result["grid"] = None if search is None else search.as_dict()
    if json:
        print(json_format.dumps(result))
        return
    if search is not None:
        print(f"{search.table()}\n")
    print("\n".join([_text(result, machine), *(f"not used  {note}" for note in ignored)]))


# --- options ------------------------------------------------------------------------------------------------------


def _check_learner(learner: str, task: str, parameters: Mapping[str, str | None], memory: str | None) -> None:
    """Raise an error if a learner does not fit the task, or an option does not fit the learner."""
    tuned, _, _, estimators = _LEARNERS[learner]
    if task not in estimators:
        suitable = " or ".join(name for name, (*_, known) in _LEARNERS.items() if task in known)
        raise ParameterError(
            f"--learner {learner} does not apply to --task {task}. Use --learner {suitable}, or --task "
            f"{' or '.join(estimators)}."
        )
    for name in (name for name, text in parameters.items() if text is not None and name != tuned):
        suitable = next(other for other, (known, *_) in _LEARNERS.items() if known == name)
        raise ParameterError(
            f"--{name} applies to --learner {suitable}, not to --learner {learner}. Use --{tuned}, or remove --{name}."
        )
    if memory is not None and learner == "perceptron":
        raise ParameterError("--memory does not apply to --learner perceptron. Remove --memory.")


def _tried(
    kernel: str, decays: Mapping[str, str | None], learner: str, price: str | None, grid: bool
) -> dict[str, list[float]]:
    """Return the values to try for each parameter. With ``--grid``, omitted parameters have the values of the grid.

    The last parameter is that of the learner.
    """
    name = one_of("--kernel", kernel, tuple(KERNELS))
    tuned, default, prices, _ = _LEARNERS[learner]
    options = {**decays, tuned: price}
    tried = {key: numbers(f"--{key}", text) for key, text in options.items() if text is not None}
    if grid:
        tried = {**{key: list(values) for key, values in _DECAYS[name].items()}, tuned: list(prices), **tried}
    last = tried.pop(tuned, [default])
    return {**tried, tuned: last}


def _machine_options(
    task: str,
    learner: str,
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
    if learner != "svm":
        if epsilon is not None:
            raise ParameterError(f"--epsilon applies to --learner svm, not to --learner {learner}. Remove --epsilon.")
        return {}
    if task == "classify":
        return {"class_weight": None if class_weight is None else one_of("--class-weight", class_weight, ("balanced",))}
    if task == "rank":
        return {"pairs": "all"}
    return {} if epsilon is None else {"epsilon": epsilon}


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


# --- data and kernel ----------------------------------------------------------------------------------------------


def _check_classes(file: str, labels: Sequence[str], probability: bool) -> None:
    """Raise an error if there are fewer than two classes, or too few examples of a class for probabilities."""
    if len(set(labels)) < 2:
        raise ParameterError(
            f"{file}: all {len(labels):,} examples have the label {labels[0]!r}. A classifier needs at least two classes."
        )
    if probability and (single := sorted(label for label, count in Counter(labels).items() if count < 2)):
        from treelet.checks import some_of

        raise ParameterError(
            f"{file}: --probability needs at least two examples per class for cross-validation. "
            f"{'These classes have' if len(single) > 1 else 'This class has'} only one: {some_of(single)}."
        )


def _tree_columns(contents: Examples, wanted: list[str] | None) -> list[str]:
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


def _data(contents: Examples, trees: list[str], with_vectors: bool) -> tuple[Any, bool]:
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


def _combined(kernel: Kernel, trees: list[str], contents: Examples, weight: float | None, cosine: bool) -> Kernel:
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


# --- the grid search: the settings to try, and the table of their scores ------------------------------------------


@dataclass(frozen=True)
class _Search:
    """The trials of a search, each with its setting, and the settings whose kernel values overflow a float64."""

    rows: list[tuple[dict[str, float], Trial]]
    task: str
    metric: str
    total: int
    refused: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0
    tuned: str = "C"

    @property
    def best(self) -> tuple[dict[str, float], Trial]:
        """The row with the largest score. Among equal scores, the first row wins, which has the smallest parameters."""
        return max(self.rows, key=lambda row: round(row[1].score, 12))

    def edges(self) -> list[str]:
        """Return notes on parameters whose best value is the largest or smallest one tried, and better than its neighbor.

        A value beyond this edge may be better.
        """
        edges = []
        for name, value in self.best[0].items():
            best_of: dict[float, float] = {}
            for setting, trial in self.rows:
                best_of[setting[name]] = max(trial.score, best_of.get(setting[name], -math.inf))
            tried = sorted(best_of)
            for edge, following, largest in ((tried[-1], tried[-2:][0], True), (tried[0], tried[:2][-1], False)):
                bounded = value == 1 and (name in ("lam", "mu") if largest else name in ("window", "epochs"))
                if value != edge or edge == following or best_of[edge] - best_of[following] <= 1e-12 or bounded:
                    continue
                if name in ("C", "alpha", "theta"):
                    further = [value * (10 if largest else 0.1), value * (100 if largest else 0.01)]
                elif name in ("window", "epochs"):
                    further = [value + 2, value + 4] if largest else [1]
                else:
                    further = [(value + 1) / 2, 1.0] if largest else [value / 2, value / 4]
                values = ",".join(f"{number:g}" for number in (value, *further))
                side, more = ("largest", "larger") if largest else ("smallest", "smaller")
                fact = f"{name}={value:g} is the {side} value tried"
                edges.append(f"{fact}; a {more} one may be better (try --{name} {values})")
        return edges

    def _figure(self, score: float) -> float:
        """Return a score in the unit of the metric, for programs: a fraction, even if the table has percentages."""
        factor = _METRICS[self.task][self.metric][1]
        return 0.01 * (factor * score) if factor == 100 else factor * score

    def as_dict(self) -> dict[str, Any]:
        rows = [
            {**setting, self.metric: self._figure(trial.score), "folds": list(map(self._figure, trial.by_fold))}
            for setting, trial in self.rows
        ]
        return {
            "metric": self.metric,
            "folds": len(self.best[1].by_fold),
            "scores": rows,
            "overflow": self.refused,
            "best": self.best[0],
            "edges": self.edges(),
            "complete": len(self.rows) + len(self.refused) >= self.total,
        }

    def measured(self) -> dict[str, Any]:
        """Return the score of the chosen setting and how it was measured, for the model card."""
        trial = self.best[1]
        where = f"{len(trial.by_fold)}-fold cross-validation on the training examples"
        return {self.metric: round(self._figure(trial.score), 12), "measured by": where}

    def table(self) -> str:
        """Return the scores as a table: one row per kernel, one column per C, alpha or epochs. The chosen one is marked."""
        head, factor = _METRICS[self.task][self.metric]
        digits = 2 if factor == 100 else 4
        chosen, best = self.best
        names = [name for name in chosen if name != self.tuned]
        widths = [max(6, len(name) + 2) for name in names]
        prices = sorted({setting[self.tuned] for setting, _ in self.rows})
        cells = {tuple(setting.values()): trial for setting, trial in self.rows}
        title, *unit = head.split(", percent")
        column = 9 if self.tuned == "C" else 12
        lines = [
            f"{title} in {len(best.by_fold)}-fold cross-validation on the training examples{', percent' if unit else ''}",
            "".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
            + "".join(f"{f'{self.tuned}={price:g}':>{column}}" for price in prices),
        ]
        for key in dict.fromkeys(tuple(setting[name] for name in names) for setting, _ in self.rows):
            line = "".join(f"{value:>{width}g}" for value, width in zip(key, widths, strict=True))
            for price in prices:
                trial = cells.get((*key, price))
                shown = "" if trial is None else f"{factor * trial.score:.{digits}f}"
                line += f"{shown:>{column - 1}}" + ("*" if trial is best else " ")
            lines.append(line.rstrip())
        lines += [
            "".join(f"{value:>{width}g}" for value, width in zip(refused.values(), widths, strict=True))
            + "  kernel values overflow float64"
            for refused in self.refused
        ]
        spread = abs(factor) * statistics.pstdev(best.by_fold)
        setting = ", ".join(f"{name}={value:g}" for name, value in chosen.items())
        score = f"{factor * best.score:.{digits}f} (standard deviation over folds {spread:.{digits}f})"
        return "\n".join([*lines, f"chosen: {setting}, with {score}", *self.edges()])


def _search(
    values: Mapping[str, Sequence[float]],
    kernel_of: Callable[..., Kernel],
    machine: KernelLearner,
    data: Any,
    targets: Sequence[Any],
    queries: Sequence[str] | None,
    *,
    tuned: str,
    cv: Any,
    task: str,
    metric: str,
    memory: str | None,
    json: bool,
) -> _Search:
    """Try all settings of a kernel's parameters and of the tuned parameter of the learner by cross-validation.

    `kernel_of` returns the kernel of a setting, and `machine` is an estimator with all other parameters. If the search is
    interrupted after at least one kernel, the results so far are printed.
    """
    from sklearn.metrics import f1_score

    from treelet.learn.selection import select
    from treelet.metrics.predictions import value_figures

    begin = time.perf_counter()
    decays = {name: tried for name, tried in values.items() if name != tuned}
    settings = [dict(zip(decays, chosen, strict=True)) for chosen in product(*decays.values())]
    kernels = [kernel_of(**setting) for setting in settings]
    setting_of = {id(kernel): setting for kernel, setting in zip(kernels, settings, strict=True)}
    rows: list[tuple[dict[str, float], Trial]] = []
    total = len(settings) * len(values[tuned])
    scoring: Any = {
        "accuracy": "accuracy",
        "balanced-accuracy": "balanced_accuracy",
        "macro-f1": lambda model, X, y: f1_score(y, model.predict(X), average="macro", zero_division=0),
        "rmse": "neg_root_mean_squared_error",
        "correlation": lambda model, X, y: value_figures(y, model.predict(X))["correlation"],
        "r2": "r2",
        "tau": None,  # the score of the estimator itself
    }[metric]
    try:
        selection = select(
            kernels,
            data,
            targets,
            estimator=machine,
            grid={tuned: list(values[tuned])},
            qid=queries,
            cv=cv,
            scoring=scoring,
            memory=memory,
            report=lambda trial: rows.append((setting_of[id(trial.kernel)] | trial.parameters, trial)),
        )
    except KeyboardInterrupt:
        if not rows:
            raise KeyboardInterrupt("No setting was finished. No model was written.") from None
        search = _Search(rows, task, metric, total, tuned=tuned)
        print(json_format.dumps({"grid": search.as_dict()}) if json else search.table(), flush=True)
        best = " ".join(f"--{name} {value:g}" for name, value in search.best[0].items())
        raise KeyboardInterrupt(
            f"{len(rows)} of {total} settings were tried. The best so far is {best}. No model was written."
        ) from None
    refused = [setting_of[id(kernel)] for kernel in selection.refused]
    # A kernel whose values overflow counts once, not once per value of the tuned parameter.
    total -= len(refused) * (len(values[tuned]) - 1)
    return _Search(rows, task, metric, total, refused, time.perf_counter() - begin, tuned)


# --- the result ---------------------------------------------------------------------------------------------------


def _result(task: str, contents: Examples, queries: list[str] | None, machine: Any) -> dict[str, Any]:
    """Return the data and the model, with the examples per class, or the range of the values and the number of queries."""
    labels, stats = contents.labels or [], machine.model_.stats()
    result: dict[str, Any] = {"file": contents.file, "task": task, "examples": len(contents)}
    if task == "classify":
        result["classes"] = dict(sorted(Counter(labels).items()))
    else:
        values = [float(label) for label in labels]
        result["values"] = {"least": min(values), "most": max(values)}
        result |= {} if queries is None else {"queries": len(set(queries))}
    parameters = ("C", "alpha", "epochs", "epsilon", "class_weight")
    return {
        **result,
        "kernel": repr(machine.kernel),
        **{name: getattr(machine, name) for name in parameters if hasattr(machine, name)},
        **({"probability": hasattr(machine, "platt_")} if task == "classify" else {}),
        "grid": None,
        "support_examples": stats.support_examples,
        "model": {**asdict(stats), "compression": stats.compression},
    }


def _text(result: dict[str, Any], machine: Any) -> str:
    """Return the result as lines for people."""
    if "classes" in result:
        named = [f"{label} {count:,}" for label, count in result["classes"].items()]
        more = f", and {len(named) - 20} more" if len(named) > 20 else ""
        learned = f"classes   {len(named)}: {', '.join(named[:20])}{more}"
    else:
        within = f", within {result['queries']:,} queries" if "queries" in result else ""
        learned = f"values    from {result['values']['least']:g} to {result['values']['most']:g}{within}"
    phrases = [type(machine).__name__]
    phrases += [f"{name}={getattr(machine, name):g}" for name, *_ in _LEARNERS.values() if hasattr(machine, name)]
    phrases += [f"epsilon={machine.epsilon:g}"] if hasattr(machine, "epsilon") else []
    phrases += ["balanced class weights"] if result.get("class_weight") == "balanced" else []
    phrases += ["with probabilities"] if result.get("probability") else []
    stats, seconds = machine.model_.stats(), result["seconds"]
    kept = f", {stats.kept_examples:,} examples stored uncompressed" if stats.kept_examples else ""
    model = f"{stats.distinct_subtrees:,} distinct parts of support examples: {stats.model_bytes:,} bytes"
    if contents_of(machine.kernel) == "trees":
        model = (
            f"{stats.nodes:,} nodes of support trees as {stats.distinct_subtrees:,} distinct subtrees: "
            f"{stats.model_bytes:,} bytes instead of {stats.support_bytes:,} ({stats.compression:.1f} times smaller)"
        )
    times = ", ".join(f"{name} {value:.2f}" for name, value in seconds.items() if name != "total")
    lines = [
        f"examples  {result['examples']:,} from {result['file']}",
        learned,
        f"kernel    {machine.kernel!r}",
        f"machine   {', '.join(phrases)}",
        f"support   {stats.support_examples:,} of {result['examples']:,} examples",
        f"model     {model}{kept}",
        f"seconds   {seconds['total']:.2f} ({times})",
        f"file      {result['output']}, {result['bytes']:,} bytes",
    ]
    return "\n".join(lines)
