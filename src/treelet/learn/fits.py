"""Fits that happen completely or not at all, and methods that read one fit.

An estimator keeps its fitted attributes in its ``__dict__``, which a fit replaces in one assignment.
Whoever holds the ``__dict__`` of a moment therefore holds the attributes of a single fit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

_LOG = logging.getLogger("treelet")
Method = TypeVar("Method", bound=Callable[..., Any])


def atomic_fit(*, forget: bool = True) -> Callable[[Method], Method]:
    """Decorate a fitting method to change the estimator completely or not at all.

    The method runs on a working copy of the estimator. At the very end, the attributes that the
    method set replace those of the earlier fit. The replacement is a single assignment, which no
    exception and no signal can interrupt. If the method fails or is interrupted at any line, the
    estimator keeps its earlier fit, or stays unfitted. Attributes that the new fit does not set,
    such as the probabilities of an earlier fit, disappear in the same assignment. Attributes that
    users or subclasses set themselves stay.

    The working copy is shallow. A method must therefore replace fitted attributes, never change
    them in place. Attributes in ``__slots__`` are not supported.

    Parameters
    ----------
    forget : bool, default True
        Start without the fitted attributes, as `fit` does. `partial_fit` continues from them and
        passes False.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
            start, began = time.monotonic(), snapshot(self)
            before = _attributes(began, _fitted_names(began) if forget else frozenset())
            working = object.__new__(type(self))
            working.__dict__ = dict(before)
            method(working, *args, **kwargs)
            after = vars(working)
            fitted = {name: after[name] for name in after if name not in before or after[name] is not before[name]}
            now = snapshot(self)
            gone = (_fitted_names(now) if forget else frozenset()) | (before.keys() - after.keys())
            fitted["_set_by_fit"] = frozenset(fitted) | (now._set_by_fit - gone)
            seconds, name = time.monotonic() - start, f"{type(self).__name__}.{method.__name__}"
            _LOG.log(logging.INFO if seconds >= 1 else logging.DEBUG, "%s in %.2f s", name, seconds)
            self.__dict__ = _attributes(now, gone) | fitted
            return self

        return cast("Method", fit)

    return decorate


def _fitted_names(estimator: Any) -> frozenset[str]:
    """Return the names of all attributes that a fit has set or may set."""
    names: frozenset[str] = estimator._set_by_fit.union(estimator._fitted, estimator._fitted_private)
    return names


def _attributes(estimator: Any, left_out: frozenset[str]) -> dict[str, Any]:
    # The copy is one step. Another thread may add an attribute during the loop.
    return {name: value for name, value in dict(vars(estimator)).items() if name not in left_out}


def snapshot(model: Any) -> Any:
    """Return an estimator that shares all attributes with this one until the next fit, and then keeps them.

    Code that reads several fitted attributes reads them from a snapshot, because another thread may
    fit the estimator meanwhile. Objects other than estimators are returned unchanged.
    """
    if not hasattr(model, "_set_by_fit"):
        return model
    view = object.__new__(type(model))
    view.__dict__ = model.__dict__
    return view


def one_fit(method: Method) -> Method:
    """Decorate a method that reads fitted attributes, so that all of them belong to the same fit."""

    @wraps(method)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(snapshot(self), *args, **kwargs)

    return cast("Method", read)
