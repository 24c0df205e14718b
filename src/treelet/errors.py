"""The errors and warnings of treelet, which derive from `TreeletError` and `TreeletWarning`.

How to write a message
----------------------
A message has three parts: the fact, the value or place, and the remedy unless it is obvious. Use
full sentences of at most 25 words. For example: "Item 3 of X is an int, but a tree is needed. Pass a
Tree or a bracketed string such as '(NP (D the))'."

Messages are written in Python's words: "The 'memory' parameter of gram must be ...", ``memory=`` or
``memory='1GiB'``. While a command runs, ``treelet.cli.main`` replaces these three forms by the option of the
command, such as ``--memory 1GiB``. Report a wrong value with `treelet.checks.wrong` or a ``check_...`` function.

Write counts, articles and lists with `plural`, `article`, `in_words` and `some_of` of
`treelet.checks`. Where a name is looked up among known names, append `treelet.checks.suggestion`.
"""

from __future__ import annotations

import sys


class TreeletError(Exception):
    """Base class of all errors that treelet raises deliberately."""


class ParameterError(TreeletError, ValueError):
    """A parameter has an invalid value."""


class InputTypeError(TreeletError, TypeError):
    """An argument or item has an unsupported type."""


class TreeError(TreeletError, ValueError):
    """A tree or a collection of trees is invalid."""


class FormatError(TreeletError, ValueError):
    """A text violates its format.

    Attributes
    ----------
    source : str
        Name of the file, or a placeholder such as ``"<text>"``.
    line, column : int or None
        Position of the problem, counted from 1.
    one_of_many : bool
        True if the problem concerns a single item of a file, such as a tree or a row. Then
        ``on_error="skip"`` skips the item.
    """

    one_of_many = False

    def __init__(
        self, message: str, source: str = "<text>", line: int | None = None, column: int | None = None
    ) -> None:
        location = self._location(source, line, column)
        super().__init__(f"{location}: {message}" if location else message)
        self.message, self.source, self.line, self.column = message, source, line, column

    @staticmethod
    def _location(source: str, line: int | None, column: int | None) -> str:
        return ":".join(str(item) for item in (source, line, column) if item is not None)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.message, self.source, self.line, self.column)


class InlineFormatError(FormatError):
    """A text that was passed as a string, not read from a file, does not follow its format.

    The location is "item 3, column 12" instead of "file:line:column". `source` may be empty.

    >>> print(InlineFormatError("unexpected ')'.", "item 3", 1, 12))
    item 3, column 12: unexpected ')'.
    """

    @staticmethod
    def _location(source: str, line: int | None, column: int | None) -> str:
        line_text = f"line {line}" if line is not None and line > 1 else ""
        column_text = "" if column is None else f"column {column}"
        return ", ".join(item for item in (source, line_text, column_text) if item)


class TreeSizeError(FormatError):
    """A tree is larger than ``max_nodes`` or deeper than ``max_depth`` allows.

    `source` is the name of a file, or "item 3" for an example that was passed to a model.
    """


class FileError(TreeletError, OSError):
    """A file cannot be read or written."""


class KernelOverflowError(TreeletError, ValueError, OverflowError):
    """A kernel value is too large for a float64, or for a solver."""


class NotEnoughMemoryError(TreeletError, MemoryError):
    """A computation needs more memory than is available."""


class DeviceMemoryError(NotEnoughMemoryError):
    """A computation needs more GPU memory than is available or allowed by ``device_memory``."""


class ClusterError(TreeletError, RuntimeError):
    """A computation on a cluster failed, for example because its workers died."""


class TreeletWarning(UserWarning):
    """Base class of all warnings of treelet. The command line prints a warning on one line."""


class UnseenLabelWarning(TreeletWarning):
    """Labels did not occur in the training data, so their examples always count as errors."""


def user_level() -> int:
    """Return the ``stacklevel`` of a warning, so that it shows the line outside of treelet and scikit-learn."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("treelet", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level
