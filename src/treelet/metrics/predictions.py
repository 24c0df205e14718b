"""Figures of predictions: classes, values and rankings. All results are plain objects that JSON can represent."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from treelet.metrics.ranking import mean_kendall_tau
from treelet.metrics.relations import Score

_Z = 1.959963984540054  # 95 % of a normal distribution lie within this many standard deviations
_FIELDS = ("precision", "recall", "f1")


def _wilson(right: int, n: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a proportion by E. B. Wilson (1927), which is also valid near 0 and 1."""
    share, wide = right / n, _Z * _Z / n
    middle = (share + wide / 2) / (1 + wide)
    half = _Z / (1 + wide) * math.sqrt(share * (1 - share) / n + wide / (4 * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def class_figures(truth: list[str], guessed: list[str], known: list[str]) -> dict[str, Any]:
    """Return accuracy, figures per class, averages and the confusion matrix.

    The classes are those that occur among the true or the predicted labels. A label that is unknown to the
    model counts like any other; it is never predicted.
    """
    occurring = set(truth) | set(guessed)
    names = [name for name in known if name in occurring] + sorted(set(truth) - set(known))
    index_of = {name: number for number, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)), np.int64)
    np.add.at(matrix, ([index_of[label] for label in truth], [index_of[label] for label in guessed]), 1)
    counts = zip(np.diag(matrix).tolist(), matrix.sum(axis=0).tolist(), matrix.sum(axis=1).tolist(), strict=True)
    by_class = {name: {**_figures(*count), "support": count[2]} for name, count in zip(names, counts, strict=True)}
    right = int(np.trace(matrix))
    return {
        "examples": len(truth),
        "correct": right,
        "accuracy": right / len(truth),
        "interval": _wilson(right, len(truth)),
        "classes": by_class,
        "macro": {field: float(np.mean([figures[field] for figures in by_class.values()])) for field in _FIELDS},
        "micro": _figures(right, len(truth), len(truth)),
        "unknown": dict(sorted(Counter(label for label in truth if label not in set(known)).items())),
        "confusion": {"labels": names, "matrix": matrix.tolist()},
    }


def _figures(right: int, guessed: int, true: int) -> dict[str, float]:
    score = Score(right, guessed, true)
    return {field: getattr(score, field) / 100 for field in _FIELDS}


def value_figures(truth: Sequence[float], guessed: Sequence[float]) -> dict[str, Any]:
    """Return measures of the errors of predicted values. The correlation is 0 if the values of one side are constant."""
    a, b = np.asarray(truth, float) - np.mean(truth), np.asarray(guessed, float) - np.mean(guessed)
    size = float(np.sqrt((a @ a) * (b @ b)))
    wrong = np.asarray(guessed) - np.asarray(truth)
    spread = float(np.var(truth))
    return {
        "examples": len(truth),
        "rmse": float(np.sqrt(np.mean(wrong**2))),
        "mean_absolute_error": float(np.mean(np.abs(wrong))),
        "correlation": float(a @ b) / size if size > 0 else 0.0,
        "r2": 1 - float(np.mean(wrong**2)) / spread if spread > 0 else None,
    }


def order_figures(truth: Sequence[float], scores: Sequence[float], queries: Sequence[str]) -> dict[str, Any]:
    """Return measures of how well scores rank the candidates of each query."""
    rows: dict[str, list[int]] = {}
    for row, query in enumerate(queries):
        rows.setdefault(query, []).append(row)
    good, predicted = np.asarray(truth), np.asarray(scores)
    numbers = np.empty(len(queries), np.intp)
    for number, members in enumerate(rows.values()):
        numbers[members] = number
    tops = [good[members][predicted[members].argmax()] == good[members].max() for members in rows.values()]
    return {
        "examples": len(truth),
        "queries": len(rows),
        "tau": float(mean_kendall_tau(predicted, good, numbers)),
        "best_first": float(np.mean(tops)),
    }
