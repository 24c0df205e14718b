"""Patterns of messages that several packages share.

Arguments are regular expressions, like the patterns for `pytest.raises(match=...)`.
"""

from __future__ import annotations

import re

# --- parameters ---------------------------------------------------------------------------------------------------

TRUE_OR_FALSE = "True or False"


def wrong_parameter(name: str, must_be: str = "", *, of: str = "", got: str = "") -> str:
    """A parameter has an invalid value. `must_be` describes the valid values."""
    owner = f" of {of}" if of else r"( of \S+( \([^)]*\))?)?"
    return f"'{name}' parameter{owner} must be {must_be}" + (f".*Got {got}" if got else "")


def wrong_parameter_text(name: str, must_be: str, got: str, *, of: str) -> str:
    """The whole message about a wrong parameter, as plain text."""
    return f"The '{name}' parameter of {of} must be {must_be}. Got {got} instead."


def at_least(number: int) -> str:
    return f"an int of at least {number}"


def at_most(neighbors: int, *, without_itself: bool = False) -> str:
    """The number of neighbors is limited. `without_itself`: an example is not its own neighbor."""
    if without_itself:
        others = "1 other" if neighbors == 1 else f"{neighbors} others"
        return f"at most {neighbors}, because each of the {neighbors + 1} examples has only {others}"
    return f"at most {neighbors}, the number of examples to search"


def number_in(interval: str) -> str:
    """For example `number_in("(0, 1]")`; the interval is plain text."""
    return f"a number in {re.escape(interval)}"


def one_of(*choices: str) -> str:
    """One of these strings. The last string may be a prefix."""
    quoted = [f"'{choice}'" for choice in choices]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


# --- files and packages -------------------------------------------------------------------------------------------

CUT_SHORT = "cut short"
NOT_UTF8 = "not UTF-8"


def cannot_be(done: str, name: str = "", reason: str = "") -> str:
    """A file cannot be opened, read or written. `reason` comes from the operating system."""
    return (f"{name}: " if name else "") + f"cannot be {done}" + (rf" \({reason}" if reason else "")


def does_not_exist(name: str = "") -> str:
    """A file to read does not exist."""
    return (f"{name}: " if name else "") + "the file does not exist. Check the name and the current folder."


def folder_does_not_exist(name: str = "") -> str:
    """A file cannot be written, because its folder does not exist."""
    return (f"{name}: " if name else "") + "cannot be written, because the folder .* does not exist. Create the folder"


def needs_package(package: str, *, what: str = "", extra: str = "") -> str:
    """An optional package is missing. `extra` is the extra of treelet that installs the package."""
    return f"{what}.*(needs?|requires?) {package}" + (rf".*pip install 'treelet\[{extra}\]'" if extra else "")


# --- values and memory --------------------------------------------------------------------------------------------


def value_of(first: int, second: int | None = None) -> str:
    """The reported kernel value: of one example with itself, or of two examples."""
    return f"item {first} with itself" if second is None else f"items {first} and {second}"


def more_than_memory(limit: str) -> str:
    """A step of an estimator needs more bytes than the `memory` parameter allows."""
    return f"more than the {limit}( bytes?)? of memory="


def more_than_memory_limit(limit: str) -> str:
    """The result of `gram` needs more bytes than the `memory` parameter allows."""
    return rf"more than the memory limit of {limit} bytes? \(memory=\)"


# --- examples -----------------------------------------------------------------------------------------------------

OWN_DESCENDANT = "its own descendant"


def needs_a_kernel(function: str, got: str) -> str:
    """The first argument must be a kernel."""
    return rf"The 'kernel' parameter of {function} must be a kernel( or a distance)?\. Got {got} instead"


def nothing_to_search(function: str, got: int) -> str:
    """There are too few examples to search for neighbors."""
    if got:
        return f"X has 1 example, but {function} needs at least 2 examples in X, or at least 1 example in X and queries"
    return rf"X is empty: {function} needs at least one example in X\."


PUT_IT_IN_A_LIST = "Put it in a list"
SPLIT_IT = "split it"
SMALLER_LAM = "smaller lam"


def at(source: str, line: int, problem: str, *, column: object = None) -> str:
    """A problem in a text, with its position."""
    return f"{source}:{line}:" + (f"{column}:" if column else "") + f" {problem}"


def left_out(count: str, of: str, first: str = "") -> str:
    """Malformed examples were skipped. `of` is the total with its noun; `first` is the first problem."""
    return f"{count} of {of} (was|were) skipped" + (f": {first}" if first else "")


def item_is(number: int, kind: str, problem: str = "") -> str:
    """An item of a collection has a type that cannot be used."""
    return rf"Item {number} is an? {kind}( \(.*\))?{problem}"


def tree_beyond_limit(number: int, problem: str, limit: dict[str, int]) -> str:
    """A tree of a file is larger than `max_nodes` or `max_depth` allows."""
    ((name, value),) = limit.items()
    return (
        f"^<stream>: tree {number}, counted from 0, has {problem}, more than {name}={value} allows. Increase the limit"
    )
