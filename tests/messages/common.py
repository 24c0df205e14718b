"""Patterns of messages that several packages share, written from the facts that a message must contain.

Arguments are regular expressions, as the patterns are that `pytest.raises(match=...)` takes.
"""

from __future__ import annotations

import re

# --- parameters ---------------------------------------------------------------------------------------------------

TRUE_OR_FALSE = "True or False"


def wrong_parameter(name: str, must_be: str = "", *, of: str = "", got: str = "") -> str:
    """A parameter has a value that is not allowed; `must_be` says which values are."""
    owner = f" of {of}" if of else r"( of \S+)?"
    return f"'{name}' parameter{owner} must be {must_be}" + (f".*Got {got}" if got else "")


def wrong_parameter_text(name: str, must_be: str, got: str, *, of: str) -> str:
    """The whole message about a wrong parameter, as plain text."""
    return f"The '{name}' parameter of {of} must be {must_be}. Got {got} instead."


def at_least(number: int) -> str:
    return f"an int of at least {number}"


def at_most(neighbors: int, *, without_itself: bool = False) -> str:
    """There are only so many neighbors; `without_itself`: an example is not its own neighbor."""
    return f"at most {neighbors}" + (".*each but itself" if without_itself else "")


def number_in(interval: str) -> str:
    """For example `number_in("(0, 1]")`; the interval is plain text."""
    return f"a number in {re.escape(interval)}"


def one_of(*choices: str) -> str:
    """One of these strings; the last one may be a beginning."""
    quoted = [f"'{choice}'" for choice in choices]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


# --- files and packages -------------------------------------------------------------------------------------------

CUT_SHORT = "cut short"
NOT_UTF8 = "not UTF-8"


def cannot_be(done: str, name: str = "", reason: str = "") -> str:
    """A file cannot be opened, read or written; `reason` is the operating system's."""
    return (f"{name}: " if name else "") + f"cannot be {done}" + (rf" \({reason}" if reason else "")


def needs_package(package: str, *, what: str = "", extra: str = "") -> str:
    """An optional package is missing; `extra` is the extra of treelet that installs it."""
    return f"{what}.*needs? {package}" + (rf": pip install 'treelet\[{extra}\]'" if extra else "")


# --- values and memory --------------------------------------------------------------------------------------------


def value_of(first: int, second: int | None = None) -> str:
    """The kernel value that is reported: of one example with itself, or of two examples."""
    return f"example {first} with itself" if second is None else f"examples {first} and {second}"


def more_than_memory(limit: str) -> str:
    """A matrix needs more bytes than the `memory` parameter allows."""
    return f"more than the {limit} of memory="


# --- examples -----------------------------------------------------------------------------------------------------

OWN_DESCENDANT = "its own descendant"


def needs_a_kernel(function: str, got: str) -> str:
    """The first argument must be a kernel."""
    return f"{function} needs a kernel first, got {got}"


def nothing_to_search(function: str, got: int) -> str:
    """There are too few examples to look for neighbors."""
    needed = "two examples or more, or Q" if got else "examples in X"
    return f"nothing to look in: {function} needs {needed}, got {got}"


PUT_IT_IN_A_LIST = "put it in a list"
SPLIT_IT = "split it"
SMALLER_LAM = "smaller lam"


def at(source: str, line: int, problem: str, *, column: object = None) -> str:
    """A problem in a text, with its place."""
    return f"{source}:{line}:" + (f"{column}:" if column else "") + f" {problem}"


def left_out(count: str, of: str, first: str = "") -> str:
    """Malformed examples were skipped; `of` says of how many what, `first` begins the list of their problems."""
    return f"{count} of {of} (was|were) skipped" + (f": {first}" if first else "")


def item_is(number: int, kind: str, problem: str = "") -> str:
    """An item of a collection has a type that cannot be used."""
    return f"[Ii]tem {number} is an? {kind}{problem}"
