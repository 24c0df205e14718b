"""Checks of parameters, and the phrases that messages are made of.

All checks report a wrong value in the same way: "The 'x' parameter of Y must be ... Got ... instead." The owner Y, where one
is named, is an estimator or a kernel whose attribute the parameter is, or the name of a function.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.errors import ParameterError
from treelet.vocabulary import current


def wrong(name: str, wanted: str, value: object, of: object = None, *, optional: bool = False) -> ParameterError:
    """Return the error for a parameter whose value is not what is wanted; if `optional`, None is wanted too.

    >>> str(wrong("lam", "a number in (0, 1]", 2, of="SubsetTree"))
    "The 'lam' parameter of SubsetTree must be a number in (0, 1]. Got 2 instead."
    """
    owner = "" if of is None else of if isinstance(of, str) else type(of).__name__
    subject, none_or = current().parameter(name, value, owner), current().none_or if optional else ""
    return ParameterError(f"{subject} must be {none_or}{wanted}. Got {value!r} instead.")


# --- phrases ------------------------------------------------------------------------------------------------------


def plural(count: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "tree"), plural(1336, "tree"), plural(2, "query")
    ('1 tree', '1,336 trees', '2 queries')
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun[-1] == "y" and noun[-2] not in "aeiou" else f"{count:,} {noun}s"


def article(noun: str) -> str:
    """A noun, such as the name of a class, with "a" or "an".

    >>> article("int"), article("Tree"), article("SubsetTree"), article("Unit")
    ('an int', 'a Tree', 'a SubsetTree', 'a Unit')
    """
    an = noun[0].lower() in "aeiou" and not noun.lower().startswith(("uni", "use", "eu"))
    return f"{'an' if an else 'a'} {noun}"


def in_words(texts: Iterable[str]) -> str:
    """Texts as alternatives.

    >>> in_words(["'a'"]), in_words(["'a'", "'b'"]), in_words(["'a'", "'b'", "None"])
    ("'a'", "'a' or 'b'", "'a', 'b' or None")
    """
    *most, last = texts
    return f"{', '.join(most)} or {last}" if most else last


def some_of(names: Iterable[object], most: int = 20) -> str:
    """A list of names; of very many, the first ones and their number.

    >>> some_of(["a", "b"]), some_of(range(3000), 3)
    ("'a', 'b'", '0, 1, 2 and 2,997 more')
    """
    every = list(names)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(map(repr, every[:most])) + more


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a question that names the closest known name, with a space before; or nothing, if no name is close.

    >>> suggestion("lamda", ["lam", "max_depth"]), suggestion("SubTree", ["Subtree"]), suggestion("x", ["lam"])
    (" Did you mean 'lam'?", " Did you mean 'Subtree'?", '')
    """
    spelled = {choice.lower(): choice for choice in known}
    close = get_close_matches(name.lower(), spelled, 1)
    return f" Did you mean {spelled[close[0]]!r}?" if close else ""


# --- what a value is --------------------------------------------------------------------------------------------


def is_integer(value: Any, least: float = -math.inf, most: float = math.inf) -> bool:
    """Whether it is a whole number, and no bool, in an interval."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(least <= value <= most)


def is_number(value: Any, least: float = -math.inf, most: float = math.inf, *, infinite: bool = False) -> bool:
    """Whether it is a real number, and no bool, in an interval that includes its ends; finite, if it need not be more."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    try:
        return real and bool(least <= value <= most) and (infinite or not math.isinf(float(value)))
    except OverflowError:  # an int beyond all floats
        return False


def missing_places(values: Any, array: NDArray[Any]) -> list[int]:
    """Return where labels, numbers or group names are missing: None, NaN, NaT, pandas.NA or masked.

    Parameters
    ----------
    values : array-like
        As they were given: as soon as NumPy has made texts of a list, its NaN is the text ``"nan"``.
    array : ndarray
        What NumPy makes of them; places count through all of its dimensions.

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
    return [place for place, value in enumerate(array.ravel().tolist()) if _is_missing(value)]


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)  # noqa: PLR0124  # NaN and NaT differ from themselves
    except TypeError:  # pandas.NA neither is nor is not
        return True
    except ValueError:  # an array, which `array` should not have held
        return False


# --- what a parameter must be -----------------------------------------------------------------------------------


def check_integer(
    name: str, value: Any, least: int = 1, *, of: object = None, optional: bool = False, most: float = math.inf
) -> None:
    """An int of at least so much, and not absurdly large; or None."""
    if not (is_integer(value, least) and value < most) and not (optional and value is None):
        below = f" and less than {most}" if is_integer(value, least) else ""
        raise wrong(name, f"{current().integer} of at least {least}{below}", value, of, optional=optional)


def check_boolean(name: str, value: Any, *, of: object = None) -> None:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise wrong(name, current().booleans, value, of)


def check_one_of(name: str, value: Any, choices: Collection[Any], *, of: object = None) -> None:
    """One of a few."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise wrong(name, in_words(map(repr, choices)), value, of)


LEAST, MOST = 1e-100, 1e100
"""Between which the numbers lie that kernels are made with, but for 0: products of a few fit a float64, and keep their digits."""


def in_range(value: Any) -> bool:
    """Whether a kernel can be made with this number.

    >>> in_range(0), in_range(0.4), in_range(1e-155)
    (True, True, False)
    """
    return bool(value == 0 or LEAST <= abs(value) <= MOST)


def check_number(
    owner: object, name: str, low: float, high: float, *, low_included: bool = False, of_kernel: bool = False
) -> None:
    """The attribute must be a real number in an interval that includes `high`; a kernel's not absurdly small or large."""
    value = getattr(owner, getattr(owner, "_attributes", {}).get(name, name))
    if not is_number(value, low, high) or (value == low and not low_included):
        interval = f"{'[' if low_included else '('}{low:g}, {high:g}{')' if math.isinf(high) else ']'}"
        raise wrong(name, f"a number in {interval}", value, owner)
    if of_kernel and not in_range(value):
        side = f"at least {LEAST:g}" if abs(value) < LEAST else f"at most {MOST:g}"
        raise wrong(name, f"{'0, or ' if low_included else ''}{side}: beyond, values lose their digits", value, owner)


def check_tunable(owner: object, name: str, low: float, high: float, *, low_included: bool = False) -> None:
    """As `check_number`; and bounds for tuning must be ``"fixed"`` or two numbers within the same interval, above 0."""
    check_number(owner, name, low, high, low_included=low_included, of_kernel=True)
    bounds = getattr(owner, f"{name}_bounds")
    try:
        fits = bounds == "fixed" or (len(bounds) == 2 and LEAST <= bounds[0] <= bounds[1] <= min(high, MOST))
    except (TypeError, ValueError):
        fits = False
    if not fits:
        interval = f"(0, {high:g}{')' if math.isinf(high) else ']'}"
        raise wrong(f"{name}_bounds", f"'fixed' or two numbers in {interval}, the smaller one first", bounds, owner)
