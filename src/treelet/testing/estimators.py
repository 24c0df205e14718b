"""The properties of every estimator, as one check. The checks of scikit-learn only support numeric arrays."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from treelet.errors import TreeletError
from treelet.learn import load, save
from treelet.learn.persist import CLASSES

_SCORES = ("decision_function", "predict_proba", "transform", "predict")


def check_estimator(estimator: Any, X: Any, y: Any = None) -> None:
    """Check the properties of an estimator on data.

    Parameters can be cloned, read and set. `fit` returns the estimator and can be repeated.
    Predictions do not depend on the container or the order of the examples, or on other examples.
    They are unchanged after cloning, pickling, saving and loading. Invalid data raise a
    `TreeletError`, and an unfitted estimator raises a `NotFittedError`.

    Parameters
    ----------
    estimator : estimator
        Unfitted estimator, which is cloned and not changed.
    X : sequence of examples
        At least six examples, in any form that the kernel of the estimator accepts.
    y : sequence, optional
        Classes or target values. Default: None, for estimators without targets.

    Raises
    ------
    AssertionError
        If the estimator violates a property, which the message names.

    Examples
    --------
    >>> from treelet import KernelSVC, SubsetTree
    >>> from treelet.testing import check_estimator
    >>> check_estimator(KernelSVC(SubsetTree()), ["(A x)", "(B x)", "(A y)", "(B y)", "(A z)", "(B z)"], [0, 1, 0, 1, 0, 1])
    """
    n = len(X)
    assert n >= 6, f"X has {n} examples, but check_estimator needs at least 6."
    _check_parameters(estimator)
    _check_unfitted(clone(estimator), X)
    fitted = clone(estimator)
    assert fitted.fit(X, y) is fitted, "fit does not return the estimator."
    assert _shown(fitted) == _shown(estimator), "fit changes the parameters of the estimator."
    expected = _outputs(fitted, X)
    assert expected, f"The estimator has none of the methods {', '.join(_SCORES)}."
    for name, values in expected.items():
        assert len(values) == n, f"{name} returns {len(values)} rows for {n} examples."

    _equal(_outputs(fitted.fit(X, y), X), expected, "A second fit changes the predictions")
    _equal(_outputs(clone(estimator).fit(X, y), X), expected, "The predictions of a fitted clone differ")
    _check_containers(fitted, X, expected)
    _check_errors(estimator, X, y)
    _equal(_outputs(pickle.loads(pickle.dumps(fitted)), X), expected, "Pickling changes the predictions", exact=True)
    if type(estimator).__name__ in CLASSES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.treelet"
            save(fitted, path)
            again = load(path)
        assert _shown(again) == _shown(estimator), "Saving and loading changes the parameters of the estimator."
        _equal(_outputs(again, X), expected, "Saving and loading changes the predictions", exact=True)


def _shown(estimator: Any) -> str:
    return repr(sorted(estimator.get_params().items(), key=lambda item: item[0]))


def _check_parameters(estimator: Any) -> None:
    copy = clone(estimator)
    assert type(copy) is type(estimator), "clone returns another type."
    assert _shown(copy) == _shown(estimator), "clone changes the parameters."
    params = estimator.get_params()
    for name, value in params.items():
        if hasattr(value, "get_params"):
            assert copy.get_params()[name] is not value, f"clone shares the object {name!r} with the original."
    assert copy.set_params(**copy.get_params(deep=False)) is copy, "set_params does not return the estimator."
    assert _shown(copy) == _shown(estimator), "set_params(**get_params(deep=False)) changes the parameters."
    flat = type(estimator)(**estimator.get_params(deep=False))
    assert _shown(flat) == _shown(estimator), "get_params does not rebuild the estimator."
    try:
        copy.set_params(no_such_parameter=1)
    except (ValueError, TreeletError):
        return
    raise AssertionError("set_params accepts an unknown parameter.")


def _check_unfitted(estimator: Any, X: Any) -> None:
    for name in _SCORES:
        if hasattr(estimator, name):
            try:
                getattr(estimator, name)(X)
            except NotFittedError:
                continue
            raise AssertionError(f"{name} of an unfitted estimator does not raise NotFittedError.")


def _check_containers(fitted: Any, X: Any, expected: dict[str, Any]) -> None:
    n = len(X)
    order = np.random.default_rng(0).permutation(n)
    if not hasattr(X, "shape"):
        items = np.empty(n, dtype=object)
        items[:] = list(X)
        _equal(_outputs(fitted, items), expected, "Predictions for an array of the examples differ")
        _equal(_outputs(fitted, tuple(X)), expected, "Predictions for a tuple of the examples differ")
    if fitted.kernel == "precomputed":
        data = np.asarray(X)
    else:
        data = (getattr(fitted, "kernel_", None) or fitted.model_.kernel).coerce(X)
    _equal(_outputs(fitted, data), expected, "Predictions for coerced examples differ")
    _equal(_outputs(fitted, data[order]), _taken(expected, order), "Predictions depend on the order of the examples")
    half = np.arange(n // 2)
    _equal(_outputs(fitted, data[: n // 2]), _taken(expected, half), "Predictions for a slice differ")
    _equal(
        _outputs(fitted, data[order[:1]]), _taken(expected, order[:1]), "The prediction for a single example differs"
    )
    _equal(_outputs(fitted, data[:0]), _taken(expected, half[:0]), "Predictions for zero examples are not empty")


def _check_errors(estimator: Any, X: Any, y: Any) -> None:
    cases: list[tuple[str, Any, Any]] = [("fit accepts zero examples.", _first(X, 0), None if y is None else y[:0])]
    if y is not None and hasattr(estimator, "predict"):
        cases.append(("fit accepts fewer values than examples.", X, y[:-1]))
        cases.append(("fit accepts a missing value.", X, [None, *y[1:]]))
    for message, examples, values in cases:
        try:
            clone(estimator).fit(examples, values)
        except TreeletError:
            continue
        raise AssertionError(message)


def _first(X: Any, n: int) -> Any:
    return X.iloc[:n] if hasattr(X, "iloc") else X[:n]


def _outputs(estimator: Any, X: Any) -> dict[str, Any]:
    outputs = {}
    for name in _SCORES:
        if hasattr(estimator, name):
            values = getattr(estimator, name)(X)
            outputs[name] = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    return outputs


def _taken(outputs: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: values[rows] for name, values in outputs.items()}


def _equal(actual: dict[str, Any], expected: dict[str, Any], message: str, exact: bool = False) -> None:
    for name, values in expected.items():
        assert actual[name].shape == values.shape, f"{message}: {name} has shape {actual[name].shape}."
        if exact or values.dtype.kind != "f":
            np.testing.assert_array_equal(actual[name], values, err_msg=f"{message} ({name}).")
        else:
            scale = np.abs(values).max(initial=0)
            np.testing.assert_allclose(actual[name], values, rtol=0, atol=1e-9 * scale, err_msg=f"{message} ({name}).")
