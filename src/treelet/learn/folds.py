"""Folds of a cross-validation, and the parts of a ready matrix that each needs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import wrong
from treelet.errors import ParameterError
from treelet.kernels.pairwise import Matrix
from treelet.learn.targets import Rows
from treelet.vocabulary import keyword

Fold = tuple[Rows, Rows]


def folds_of(cv: Any, y: NDArray[Any], groups: Rows | None, *, classifier: bool) -> list[Fold]:
    """The rows to fit to and the rows to test on, fold by fold.

    Parameters
    ----------
    cv : int, splitter of scikit-learn, or iterable of (rows to fit to, rows to test on)
        A number asks for so many folds: stratified for classes, and with `groups` such that none is in two folds.
    y : ndarray
    groups : ndarray of int, optional
        The number of each example's group.
    classifier : bool
        Whether `y` holds classes.
    """
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold, check_cv

    if isinstance(cv, int | np.integer) and groups is not None:
        cv = (StratifiedGroupKFold if classifier else GroupKFold)(_number(cv))
    elif isinstance(cv, bool | int | np.integer):
        _number(cv)
    try:
        splitter = check_cv(cv, y, classifier=classifier)
        if isinstance(splitter, StratifiedKFold):
            _check_classes(y)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")  # fewer examples than folds is no harm
            folds = [
                (np.arange(len(y))[train], np.arange(len(y))[test])
                for train, test in splitter.split(np.zeros(len(y)), y, groups)
            ]
    except ParameterError:
        raise
    except (ValueError, TypeError, IndexError) as error:
        raise ParameterError(f"{keyword('cv')} does not split {len(y)} examples: {error}") from error
    for number, (train, test) in enumerate(folds):
        if not len(train) or not len(test):
            raise ParameterError(
                f"fold {number} of {keyword('cv')} has nothing to {'test on' if len(train) else 'fit to'}"
            )
        if len(np.intersect1d(train, test)):
            raise ParameterError(f"fold {number} of {keyword('cv')} tests on examples that it was fitted to")
    if not folds:
        raise ParameterError(f"{keyword('cv')} gives no folds")
    return folds


def check_whole(folds: Sequence[Fold], queries: Rows) -> None:
    """No query may be in both parts of a fold."""
    for number, (train, test) in enumerate(folds):
        if len(np.intersect1d(queries[train], queries[test])):
            raise ParameterError(
                f"fold {number} of {keyword('cv')} takes a query apart: candidates of one query must be in one fold. "
                f"Give {keyword('cv')} as a number, or a splitter that keeps groups"
            )


def _number(folds: Any) -> int:
    if isinstance(folds, bool) or folds < 2:
        raise wrong("cv", "at least 2 folds, a splitter or splits", folds)
    return int(folds)


def _check_classes(y: NDArray[Any]) -> None:
    classes, counts = np.unique(y, return_counts=True)
    if len(counts) and counts.min() < 2:
        raise ParameterError(
            "cross-validation needs two or more examples of each class, to learn from one and test on another; "
            f"{str(classes[counts.argmin()])!r} has one"
        )


def matrix_parts(K: Matrix, folds: Sequence[Fold]) -> Iterator[tuple[Rows, Rows, Matrix, Matrix]]:
    """For each fold: rows to fit to and to test on, kernel values of the first, and of the second with them."""
    for train, test in folds:
        yield train, test, K[np.ix_(train, train)], K[np.ix_(test, train)]


def rounds_of(folds: Sequence[Fold], n: int) -> list[list[int]] | None:
    """Numbers of folds, in runs that test each of n examples once; None where folds do not come in such runs."""
    found: list[list[int]] = [[]]
    seen = np.zeros(n, bool)
    for number, (_, test) in enumerate(folds):
        if seen[test].any():
            return None
        seen[test] = True
        found[-1].append(number)
        if seen.all():
            found.append([])
            seen[:] = False
    return None if seen.any() or not found[0] else found[:-1]
