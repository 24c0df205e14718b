"""The words in messages that differ between Python and the command line.

Python code passes ``memory="1GiB"`` where a shell passes ``--memory 1GiB``. A message that names a
parameter therefore uses `keyword` or `treelet.checks.wrong` instead of the literal name. Both use
the current `Vocabulary`, which is Python's unless a command is running. The docstring of
`treelet.errors` explains how to write a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Vocabulary:
    """The words for Python. The command line overrides them."""

    integer = "an int"
    none_or = "None or "
    booleans = "True or False"
    random_state = "an int of at least 0, a RandomState, a Generator or None"
    normalized = "kernel.normalized()"

    def keyword(self, name: str, value: object, of: str) -> str:
        """Return a parameter with a value to pass, or only its name if `value` is None."""
        text = f"{name}={'' if value is None else repr(value)}"
        return f"{of}(..., {text})" if of else text

    def parameter(self, name: str, value: object, of: str) -> str:
        """Return a parameter as the subject of a sentence about its value."""
        return f"The {name!r} parameter{f' of {of}' if of else ''}"


_current: ContextVar[Vocabulary] = ContextVar("_current", default=Vocabulary())  # noqa: B039  # it has no state


def current() -> Vocabulary:
    """Return the vocabulary that messages use now."""
    return _current.get()


@contextmanager
def speaking(vocabulary: Vocabulary) -> Iterator[None]:
    """Use a vocabulary inside a ``with`` block, in this thread and in the threads of `treelet.work.run`."""
    before = _current.set(vocabulary)
    try:
        yield
    finally:
        _current.reset(before)


def keyword(name: str, value: object = None, *, of: str = "") -> str:
    """Name a parameter in a message, optionally with a value and with the function it belongs to.

    >>> keyword("memory"), keyword("column", "tree"), keyword("drop_empty", True, of="read_trees")
    ('memory=', "column='tree'", 'read_trees(..., drop_empty=True)')

    During ``treelet gram`` these would be ``--memory`` and ``--column tree``.
    """
    return current().keyword(name, value, of)
