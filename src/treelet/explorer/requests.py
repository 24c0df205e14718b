"""Requests of the page: fields of a JSON object, none of which is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from treelet.checks import in_words, is_integer, is_number
from treelet.errors import FormatError, ParameterError, TreeletError
from treelet.kernels import PartialTree, SubsetTree, Subtree
from treelet.kernels.tree import TreeKernel
from treelet.structures import Tree

NODES = 5_000  # of a tree
LETTERS = 200_000  # of a text
KERNELS: dict[str, type[TreeKernel]] = {"st": Subtree, "sst": SubsetTree, "pt": PartialTree}


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
            fields = json.loads(text, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise RequestError("", f"the question is no JSON ({error})") from None
        if not isinstance(fields, dict):
            raise RequestError("", f"a question is a JSON object, got {type(fields).__name__}")
        return cls(fields)

    def text(self, field: str) -> str:
        value = self.fields.get(field)
        if not isinstance(value, str):
            raise RequestError(field, f"{field!r} must be a text, got {type(value).__name__}")
        if len(value) > LETTERS:
            raise RequestError(field, f"{len(value):,} letters are more than the {LETTERS:,} that are shown here")
        return value

    def tree(self, field: str) -> Tree:
        """Return the tree of a field in brackets; errors report the position."""
        text = self.text(field)
        if not text.strip():
            raise RequestError(field, "there is no tree yet: write one in brackets, (NP (D the) (N apple))", 1, 1)
        try:
            tree = Tree.parse(text)
        except FormatError as error:
            raise RequestError(field, error.message, error.line, error.column) from None
        size = sum(1 for _ in tree.nodes())
        if size > NODES:
            raise RequestError(field, f"a tree of {size:,} nodes: up to {NODES:,} are shown here; use treelet compare")
        return tree

    def integer(self, field: str, least: int, most: int, default: int) -> int:
        value = self.fields.get(field, default)
        if not is_integer(value, least, most):
            raise RequestError(field, f"{field!r} must be an int from {least} to {most}, got {value!r:.40}")
        return int(value)

    def number(self, field: str, least: float, most: float, default: float) -> float:
        value = self.fields.get(field, default)
        if not is_number(value, least, most):
            raise RequestError(field, f"{field!r} must be a number from {least:g} to {most:g}, got {value!r:.40}")
        return float(value)

    def flag(self, field: str) -> bool:
        value = self.fields.get(field, False)
        if not isinstance(value, bool):
            raise RequestError(field, f"{field!r} must be true or false, got {value!r:.40}")
        return value

    def kernel(self) -> TreeKernel:
        """Return the kernel of the fields "kernel", "lam", "mu", "depth" and "leaves"; parameters that it does not have are ignored."""
        name = self.fields.get("kernel", "sst")
        if not isinstance(name, str) or name not in KERNELS:
            raise RequestError("kernel", f"the kernel must be {in_words(list(KERNELS))}, got {name!r:.40}")
        chosen = KERNELS[name]
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


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
