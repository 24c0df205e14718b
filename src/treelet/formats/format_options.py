"""Options of a format, written after its name: ``python:each=function,docstrings=false``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from treelet.errors import ParameterError


class OptionText(str):
    """The text of an option's value. It is converted to the type of the option once the format is known."""

    __slots__ = ()


def split_options(name: str) -> tuple[str, dict[str, str]]:
    """Split the text of a format into its name and its options.

    >>> split_options("tsv"), split_options("python:each=function,ctx=true")
    (('tsv', {}), ('python', {'each': 'function', 'ctx': 'true'}))
    """
    if not isinstance(name, str) or ":" not in name:
        return name, {}
    name, _, rest = name.partition(":")
    options: dict[str, str] = {}
    for assignment in rest.split(","):
        option, equals, value = assignment.partition("=")
        if not (option and equals and value):
            raise ParameterError(
                f"Options of a format are written as {name}:option=value,option=value. Got {assignment!r} instead."
            )
        options[option.strip().replace("-", "_")] = value
    return name, options


def option_values(given: Mapping[str, str], known: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """Convert the texts of options to booleans, ints, lists of names (joined by ``+``), None or strings."""
    return {name: _value(text, known[name]) if name in known else text for name, text in given.items()}


def _value(text: str, parameter: inspect.Parameter) -> Any:
    kinds = str(parameter.annotation)
    if "bool" in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "None" in kinds and text.lower() == "none":
        return None
    if "int" in kinds and text.lstrip("+-").isdecimal():
        return int(text)
    return text.split("+") if "Collection" in kinds else text
