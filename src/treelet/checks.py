"""Checks of parameters, and phrases for messages.

All checks report a wrong value in one form: "The 'x' parameter of Y must be .... Got ... instead."
The owner Y is optional: an estimator or kernel that has the parameter as an attribute, or the name
of a function.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treelet.errors import InputTypeError, ParameterError


def wrong(
    name: str, wanted: str, value: object, of: object = None, *, optional: bool = False, got: str | None = None
) -> ParameterError:
    """Return the error for a parameter with a wrong value.

    If `optional`, None is also valid. `got` describes a value whose `repr` would be too long.

    >>> str(wrong("lam", "a number in (0, 1]", 2, of="SubsetTree"))
    "The 'lam' parameter of SubsetTree must be a number in (0, 1]. Got 2 instead."
    """
    owner = of if isinstance(of, str) else getattr(of, "_name_in_messages", type(of).__name__) if of is not None else ""
    subject = f"The {name!r} parameter{f' of {owner}' if owner else ''}"
    if got is None:
        got = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
    return ParameterError(f"{subject} must be {'None or ' if optional else ''}{wanted}. Got {got} instead.")


# --- phrases ------------------------------------------------------------------------------------------------------


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, in the singular or plural.

    >>> plural(1, "tree"), plural(1336, "tree"), plural(2, "query")
    ('1 tree', '1,336 trees', '2 queries')
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun[-1] == "y" and noun[-2] not in "aeiou" else f"{count:,} {noun}s"


def article(noun: str) -> str:
    """Return a noun, such as the name of a class, with "a" or "an". The class of None has no article.

    >>> article("int"), article("Tree"), article("Unit"), article("ndarray"), article("NoneType")
    ('an int', 'a Tree', 'a Unit', 'an ndarray', 'None')
    """
    if noun == "NoneType":
        return "None"
    an = noun.lower().startswith(("a", "e", "i", "o", "u", "ndarray")) and not noun.lower().startswith(
        ("uni", "use", "eu")
    )
    return f"{'an' if an else 'a'} {noun}"


def in_words(texts: Iterable[str], word: str = "or") -> str:
    """Join alternatives with commas and "or", or items with another word.

    >>> in_words(["'a'"]), in_words(["'a'", "'b'"]), in_words(["'a'", "'b'", "None"]), in_words(["x", "y"], "and")
    ("'a'", "'a' or 'b'", "'a', 'b' or None", 'x and y')
    """
    *most, last = texts
    return f"{', '.join(most)} {word} {last}" if most else last


def some_of(names: Iterable[object], most: int = 20) -> str:
    """List names. A long list is cut after `most` names and ends with the number of the others.

    >>> some_of(["a", "b"]), some_of(range(3000), 3)
    ("'a', 'b'", '0, 1, 2 and 2,997 more')
    """
    every = list(names)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(map(repr, every[:most])) + more


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean ...?" with the closest known name, or "" if no name is close.

    Case is ignored. The leading space allows for appending the question to a sentence.

    >>> suggestion("lamda", ["lam", "max_depth"]), suggestion("SubTree", ["Subtree"]), suggestion("x", ["lam"])
    (" Did you mean 'lam'?", " Did you mean 'Subtree'?", '')
    """
    spelled = {choice.lower(): choice for choice in known}
    close = get_close_matches(name.lower(), spelled, 1)
    return f" Did you mean {spelled[close[0]]!r}?" if close else ""


# --- tests of values -----------------------------------------------------------------------------


def is_integer(value: Any, least: float = -math.inf, most: float = math.inf) -> bool:
    """Return whether the value is an integer, but not a bool, in a closed interval."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(least <= value <= most)


def is_number(value: Any, least: float = -math.inf, most: float = math.inf, *, infinite: bool = False) -> bool:
    """Return whether the value is a real number, but not a bool, in a closed interval.

    Infinite values are rejected unless `infinite` is true.
    """
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    try:
        return real and bool(least <= value <= most) and (infinite or not math.isinf(float(value)))
    except OverflowError:  # an int too large for a float
        return False


def missing_places(values: Any, array: NDArray[Any]) -> list[int]:
    """Return the indices of missing labels, numbers or group names.

    None, NaN, NaT, pandas.NA and masked values are missing.

    Parameters
    ----------
    values : array-like
        The values before conversion. The conversion matters because NumPy turns a NaN in a list
        of strings into the string ``"nan"``.
    array : ndarray
        The same values as an array. Indices refer to the flattened array.

    >>> labels = ["a", float("nan"), "b"]
    >>> missing_places(labels, np.asarray(labels))
    [1]
    """
    if isinstance(values, np.ma.MaskedArray):
        return np.flatnonzero(np.ma.getmaskarray(values)).tolist() or missing_places(values.data, array)
    if array.dtype.kind in "fc":
        return np.flatnonzero(np.isnan(array)).tolist()
    if array.dtype.kind in "mM":
        return np.flatnonzero(np.isnat(array)).tolist()
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        array = np.asarray(values, dtype=object)
    if array.dtype.kind != "O":
        return []
    return [index for index, value in enumerate(array.ravel().tolist()) if _is_missing(value)]


def numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a one-dimensional array of floats. Raise an error if a value is missing or not a number."""
    try:
        if np.asarray(values).dtype.kind in "cmM":
            raise TypeError
        missing = missing_places(values, np.asarray(values))
        array = np.asarray(values, dtype=np.float64) if not missing else np.asarray(values)
    except (TypeError, ValueError):
        raise InputTypeError(f"The {name!r} parameter must be an array of numbers.") from None
    if array.ndim != 1:
        raise ParameterError(
            f"The {name!r} parameter must be a one-dimensional array. Got an array of {plural(array.ndim, 'dimension')} instead."
        )
    if missing:
        raise ParameterError(f"The {name!r} parameter must contain numbers only. Item {missing[0]} is NaN or missing.")
    return array


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)  # noqa: PLR0124  # NaN and NaT differ from themselves
    except TypeError:  # the truth value of pandas.NA is undefined
        return True
    except ValueError:  # a nested array, which is not a missing value
        return False


def document_names(documents: Any, sentences: int) -> list[str]:
    """Return the names of documents, one per sentence, as strings in a list.

    >>> document_names(np.array([7, 7, 8]), 3)
    ['7', '7', '8']
    """
    if isinstance(documents, str | bytes) or not isinstance(documents, Iterable):
        raise wrong("documents", "a list with one name per sentence", documents)
    names = list(documents)  # by position: a Series would be indexed by label
    if len(names) != sentences:
        raise ParameterError(
            f"There are {plural(sentences, 'sentence')} but {plural(len(names), 'document name')}. "
            "Pass one name per sentence."
        )
    for number, name in enumerate(names):
        if _is_missing(name):
            raise ParameterError(f"Sentence {number} has no document name ({name}). Pass one name per sentence.")
    return [str(name) for name in names]


# --- checks of parameters ------------------------------------------------------------------------


def check_integer(
    name: str, value: Any, least: int = 1, *, of: object = None, optional: bool = False, most: float = math.inf
) -> None:
    """Require an int of at least `least` and less than `most`, or None if `optional`."""
    if not (is_integer(value, least) and value < most) and not (optional and value is None):
        below = f" and less than {most}" if is_integer(value, least) else ""
        raise wrong(name, f"an int of at least {least}{below}", value, of, optional=optional)


def check_boolean(name: str, value: Any, *, of: object = None) -> None:
    """Require True or False."""
    if not isinstance(value, bool | np.bool_):
        raise wrong(name, "True or False", value, of)


def check_one_of(name: str, value: Any, choices: Collection[Any], *, of: object = None) -> None:
    """Require one of the choices."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise wrong(name, in_words(map(repr, choices)), value, of)


LEAST, MOST = 1e-100, 1e100
"""Range of the nonzero parameters of kernels. Products of a few of them fit a float64 without loss of precision."""


def check_number(
    owner: object, name: str, low: float, high: float, *, low_included: bool = False, of_kernel: bool = False
) -> None:
    """Require that an attribute is a real number between `low` and `high`.

    The interval includes `high`. With `of_kernel`, it must also be 0 or between `LEAST` and `MOST`.
    """
    value = getattr(owner, name)
    if not is_number(value, low, high) or (value == low and not low_included):
        interval = f"{'[' if low_included else '('}{low:g}, {high:g}{')' if math.isinf(high) else ']'}"
        raise wrong(name, f"a number in {interval}", value, owner)
    if of_kernel and value != 0 and not LEAST <= abs(value) <= MOST:
        side = f"at least {LEAST:g}" if abs(value) < LEAST else f"at most {MOST:g}"
        zero_or = "0 or " if low_included else ""
        raise wrong(name, f"{zero_or}{side} to avoid a loss of precision", value, owner)


def check_tunable(owner: object, name: str, low: float, high: float, *, low_included: bool = False) -> None:
    """Check an attribute like `check_number`, and its bounds for tuning.

    The bounds must be ``"fixed"`` or two positive numbers in the same interval.
    """
    check_number(owner, name, low, high, low_included=low_included, of_kernel=True)
    bounds = getattr(owner, f"{name}_bounds")
    try:
        fits = bounds == "fixed" or (len(bounds) == 2 and LEAST <= bounds[0] <= bounds[1] <= min(high, MOST))
    except (TypeError, ValueError):
        fits = False
    if not fits:
        interval = f"(0, {high:g}{')' if math.isinf(high) else ']'}"
        raise wrong(f"{name}_bounds", f"'fixed' or two numbers in {interval}, the smaller one first", bounds, owner)
