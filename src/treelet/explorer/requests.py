"""Requests of the page: the fields of a JSON object. Every field is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from treelet.checks import article, in_words, is_integer, is_number
from treelet.errors import FormatError, ParameterError, TreeletError
from treelet.kernels import PartialTree, SubsetTree, Subtree
from treelet.kernels.tree import TreeKernel
from treelet.structures import Tree

NODES = 5_000  # number of nodes of a tree
LETTERS = 200_000  # number of characters of a text
_KERNELS: dict[str, type[TreeKernel]] = {"st": Subtree, "sst": SubsetTree, "pt": PartialTree}


class RequestError(TreeletError, ValueError):
    """A field of a request is invalid, perhaps at a line and column of its text, counted from 1."""

    def __init__(self, field: str, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.field, self.line, self.column = field, line, column

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.field, str(self), self.line, self.column)


class Request:
    """The fields of a request, each checked when it is read."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields

    @classmethod
    def parse(cls, text: bytes) -> Request:
        """Parse the body of a request."""
        try:
            fields = json.loads(text, parse_constant=_not_a_number)
        except (ValueError, RecursionError) as error:
            raise RequestError("", f"The request is not valid JSON: {error}.") from None
        if not isinstance(fields, dict):
            raise RequestError("", f"The request must be a JSON object. Got {article(type(fields).__name__)} instead.")
        return cls(fields)

    def text(self, field: str) -> str:
        value = self.fields.get(field)
        if not isinstance(value, str):
            raise RequestError(
                field, f"The {field!r} field must be a string. Got {article(type(value).__name__)} instead."
            )
        if len(value) > LETTERS:
            raise RequestError(field, f"The text has {len(value):,} characters. The limit of this page is {LETTERS:,}.")
        return value

    def tree(self, field: str) -> Tree:
        """Return the tree in a field. Errors report the position in the text."""
        text = self.text(field)
        if not text.strip():
            raise RequestError(
                field, "There is no tree yet. Enter one in brackets, for example (NP (D the) (N apple))."
            )
        try:
            tree = Tree.parse(text)
        except FormatError as error:
            raise RequestError(field, error.message, error.line, error.column) from None
        size = sum(1 for _ in tree.nodes())
        if size > NODES:
            raise RequestError(
                field,
                f"The tree has {size:,} nodes. This page shows up to {NODES:,}; the command treelet compare takes more.",
            )
        return tree

    def integer(self, field: str, least: int, most: int, default: int) -> int:
        value = self.fields.get(field, default)
        if not is_integer(value, least, most):
            raise _wrong_field(field, f"an int from {least} to {most}", value)
        return int(value)

    def number(self, field: str, least: float, most: float, default: float) -> float:
        value = self.fields.get(field, default)
        if not is_number(value, least, most):
            raise _wrong_field(field, f"a number from {least:g} to {most:g}", value)
        return float(value)

    def flag(self, field: str) -> bool:
        value = self.fields.get(field, False)
        if not isinstance(value, bool):
            raise _wrong_field(field, "true or false", value)
        return value

    def kernel(self) -> TreeKernel:
        """Return the kernel of the fields "kernel", "lam", "mu", "depth" and "leaves".

        Fields for parameters that the kernel does not have are ignored.
        """
        name = self.fields.get("kernel", "sst")
        if not isinstance(name, str) or name not in _KERNELS:
            raise _wrong_field("kernel", in_words(map(repr, _KERNELS)), name)
        chosen = _KERNELS[name]
        names = {"lam": "lam", "mu": "mu", "max_depth": "depth", "leaves": "leaves"}
        known = chosen().get_params()
        parameters = {
            name: self.fields[field]
            for name, field in names.items()
            if name in known and self.fields.get(field) is not None
        }
        try:
            return chosen(**parameters)
        except ParameterError as error:
            raise RequestError("kernel", str(error)) from None


def _wrong_field(field: str, wanted: str, value: object) -> RequestError:
    """Return the error for a field with a wrong value."""
    return RequestError(field, f"The {field!r} field must be {wanted}. Got {value!r:.40} instead.")


def _not_a_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")
