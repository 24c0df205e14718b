"""The errors and warnings of treelet. They derive from `TreeletError` and `TreeletWarning`.

How to write a message
----------------------
The same message is read by authors of Python code and by users of the command line, who write ``--memory 1GiB`` for
``memory="1GiB"``. A message therefore never spells the name of a parameter that a command has as an option. Instead:

- `treelet.checks.wrong` and the ``check_...`` functions report a parameter with a wrong value. They take its name.
- `treelet.vocabulary.keyword` names a parameter anywhere else: ``f"give more {keyword('memory')}"`` becomes "give more
  memory=" in Python and "give more --memory" in a command; ``keyword('column', 'tree')`` becomes ``column='tree'`` or
  ``--column tree``.
- The few other words that differ, such as "an int" and "a whole number", are attributes of
  `treelet.vocabulary.Vocabulary`: ``f"{current().integer} from 2 to {n}"``.

While a command runs, `treelet.cli.wording.OptionVocabulary` replaces Python's vocabulary. It finds an option by the name of the
command's parameter, which is the name that Python has for it. A message is thus spelled once, when it is built, and may be
combined with other messages afterwards. A parameter for which the command has no option keeps its Python form.

Counts, articles and lists are written with `plural`, `article`, `in_words` and `some_of` of `treelet.checks`.
"""

from __future__ import annotations


class TreeletError(Exception):
    """Base of all errors that treelet raises on purpose."""


class ParameterError(TreeletError, ValueError):
    """A parameter has a value that makes no sense."""


class InputTypeError(TreeletError, TypeError):
    """Something was given that cannot be used in this place."""


class UnavailableError(TreeletError, AttributeError):
    """A method that is only there if a parameter asks for it."""


class TreeError(TreeletError, ValueError):
    """A tree, or a collection of them, is not what it should be."""


class FormatError(TreeletError, ValueError):
    """A text does not follow its format.

    Attributes
    ----------
    source : str
        The file, or what stands for it.
    line, column : int or None
        Where, counted from 1.
    one_of_many : bool
        It is one item of a file (a tree, a row) that is wrong: ``on_error="skip"`` leaves it out.
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


class FileError(TreeletError, OSError):
    """A file cannot be read or written."""


class KernelOverflowError(TreeletError, ValueError, OverflowError):
    """A kernel value does not fit a float64."""


class NotEnoughMemoryError(TreeletError, MemoryError):
    """A result does not fit into the memory that there is."""


class CostError(TreeletError, ValueError):
    """A matrix costs more than the ``limit=`` that was given.

    Attributes
    ----------
    cost : Cost
        What it would cost.
    """

    def __init__(self, message: str, cost: object = None) -> None:
        super().__init__(message)
        self.cost = cost


class DeviceMemoryError(NotEnoughMemoryError):
    """The memory of a GPU, or what may be taken of it, is not enough."""


class ClusterError(TreeletError, RuntimeError):
    """The workers of a cluster cannot do what they are asked for."""


class TreeletWarning(UserWarning):
    """Base of all warnings that treelet gives: the result may not be what was meant. On the command line, one line."""


class UnseenLabelWarning(TreeletWarning):
    """Labels were never seen in training, so that examples with them can only count as errors."""
