"""What a model learns, on the command line: classes, values, or an order within queries; and how good it is at that."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treelet.errors import ParameterError

if TYPE_CHECKING:
    from treelet.cli.examples import Examples


@dataclass(frozen=True)
class Metric:
    """A figure to choose by.

    Attributes
    ----------
    scoring : callable or None
        Gives what `treelet.learn.selection.select` takes, the larger the better; None for the estimator's own score.
    head : str
        What it is, above a table.
    percent, negated : bool
        Whether it is shown in percent; and whether it is an error, which is scored by its negative.
    """

    scoring: Callable[[], Any] | None
    head: str
    percent: bool = False
    negated: bool = False

    def shown(self, score: float) -> float:
        """The score as it is printed: a percentage, or an error as what it is."""
        return 100 * score if self.percent else -score if self.negated else score


def _macro_f1() -> Any:
    from sklearn.metrics import f1_score

    return lambda estimator, X, y: f1_score(y, estimator.predict(X), average="macro", zero_division=0)


def _correlation() -> Any:
    from treelet.metrics.predictions import pearson

    return lambda estimator, X, y: pearson(y, estimator.predict(X))


METRICS: dict[str, dict[str, Metric]] = {
    "classify": {
        "accuracy": Metric(lambda: "accuracy", "accuracy, percent", percent=True),
        "macro-f1": Metric(_macro_f1, "macro-averaged F1, percent", percent=True),
        "balanced-accuracy": Metric(lambda: "balanced_accuracy", "balanced accuracy, percent", percent=True),
    },
    "regress": {
        "rmse": Metric(lambda: "neg_root_mean_squared_error", "root mean squared error", negated=True),
        "correlation": Metric(_correlation, "Pearson's correlation"),
        "r2": Metric(lambda: "r2", "R²"),
    },
    "rank": {"tau": Metric(None, "Kendall's tau, mean over queries")},
}
"""By task and by name; the first of each is the one to choose by unless another is asked for."""

TASKS = tuple(METRICS)


# --- what is learned -----------------------------------------------------------------------------------------------


def classes_of(examples: Examples) -> list[str]:
    """The labels, if there are two or more different ones."""
    labels = examples.needed_labels()
    if len(set(labels)) < 2:
        raise ParameterError(
            f"{examples.file}: all {len(examples)} examples have the label {labels[0]!r}; a classifier needs two or more"
        )
    return labels


def values_of(examples: Examples) -> list[float]:
    """The labels as numbers."""
    values = []
    for number, label in enumerate(examples.needed_labels(), 1):
        try:
            values.append(float(label))
        except ValueError:
            values.append(math.nan)
        if not math.isfinite(values[-1]):
            raise ParameterError(
                f"{examples.file}: the label of example {number}, {label!r}, is not a number; use --task classify for labels that are names"
            )
    return values


def queries_of(examples: Examples, name: str) -> list[str]:
    """The query of each example, whose candidates are compared with each other only."""
    if name not in examples.strings:
        available = f"the file has the texts {', '.join(examples.strings)}" if examples.strings else "the file has none"
        raise ParameterError(
            f"{examples.file}: ranking needs the query of each example, a column of texts called {name!r} (--query names "
            f"another; SVM-Light-TK has qid:N, KeLP |BS:{name}|, for tables there is --option query_column=); {available}"
        )
    return examples.strings[name]
