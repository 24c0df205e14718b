"""The words in messages that depend on who reads them: an author of Python code, or a user of the command line.

Python code passes ``memory="1GiB"`` where a shell passes ``--memory 1GiB``. A message that names a parameter therefore calls
`keyword`, or is built by `treelet.checks.wrong`, instead of spelling the name itself. Both ask the current `Vocabulary`, which
is Python's unless a command is running. See the docstring of `treelet.errors` for how to write a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Vocabulary:
    """Python's words. The command line overrides them with its own."""

    integer = "an int"
    none_or = "None or "
    booleans = "True or False"
    random_state = "an int of at least 0, a RandomState, a Generator or None"
    normalized = "kernel.normalized()"

    def keyword(self, name: str, value: object, of: str) -> str:
        """A parameter with a value to give it, or only its name where `value` is None."""
        text = f"{name}={'' if value is None else repr(value)}"
        return f"{of}(..., {text})" if of else text

    def parameter(self, name: str, value: object, of: str) -> str:
        """A parameter as the subject of a sentence about the value it has."""
        return f"The {name!r} parameter{f' of {of}' if of else ''}"


_current: ContextVar[Vocabulary] = ContextVar("_current", default=Vocabulary())  # noqa: B039  # it has no state


def current() -> Vocabulary:
    """Return the vocabulary of the messages that are written now."""
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
