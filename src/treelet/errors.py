"""Everything treelet raises on purpose derives from `TreeletError`, and what it warns of from `TreeletWarning`."""

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
        place = ":".join(str(part) for part in (source, line, column) if part is not None)
        super().__init__(f"{place}: {message}")
        self.message, self.source, self.line, self.column = message, source, line, column

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.message, self.source, self.line, self.column)


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
