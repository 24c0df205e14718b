"""The tasks of ``treelet train``: their targets (classes, numbers, or an order within queries) and their metrics."""

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
"""The metrics by task and name. The first metric of each task is the default."""

TASKS = tuple(METRICS)


# --- targets --------------------------------------------------------------------------------------------------------


def classes_of(examples: Examples) -> list[str]:
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
