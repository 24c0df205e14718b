"""The vocabulary of the command line: ``--jobs`` instead of ``n_jobs=``.

The parameters of a command have the names of the Python API, so the option of each name can be looked up:
``n_jobs: Annotated[int, typer.Option("--jobs")]``.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import Any

from treelet.printable import shortened
from treelet.vocabulary import Vocabulary, current

_TREES = ("FILE...", "BANK...", "TREES", "TREES...", "TREE", "TREE1", "TREE2", "QUERY", "A", "B")
"""Placeholders of arguments and options that are trees or files of trees."""
_LIKE_A_NAME = re.compile(r"[/\\*]|\.\w+$")


def shown_name(parameter: Any) -> str:
    """Return the name that users know: the long form of an option, or the placeholder of an argument."""
    long = [str(name) for name in parameter.opts if name.startswith("--")]
    return long[0] if long else str(parameter.metavar or parameter.opts[0])


def _options_of(command: Any) -> dict[str, str]:
    """Return the option of a command for each Python name."""
    options = {}
    for parameter in command.params:
        if parameter.opts[0].startswith("-"):
            names = [name.lstrip("-").replace("-", "_") for name in parameter.opts if name.startswith("--")]
            options.update(dict.fromkeys([*names, parameter.name], shown_name(parameter)))
    return options


class OptionVocabulary(Vocabulary):
    """The words of a running command. Parameters that have no option keep their Python form."""

    integer = "a whole number"
    none_or = ""
    booleans = "true or false"
    random_state = "a whole number of at least 0"

    def __init__(self, ctx: Any) -> None:
        self.ctx, self.options = ctx, _options_of(ctx.command)

    @property
    def normalized(self) -> str:  # type: ignore[override]
        return self.options.get("normalize", "a normalized kernel")

    def keyword(self, name: str, value: object, of: str) -> str:
        """Return the option, with its value if there is one: ``--memory``, ``--column tree`` or ``--probability``."""
        if name not in self.options:
            return super().keyword(name, value, of)
        return self.options[name] if value is None or value is True else f"{self.options[name]} {value}"

    def parameter(self, name: str, value: object, of: str) -> str:
        """Return the option that has the wrong value.

        Usually, the option has the same name. If the option of that name has another value, return the option with this value.
        Options of a format are written as ``rows in --option``.
        """
        named = self.options.get(name)
        with_this_value = [
            shown_name(parameter)
            for parameter in self.ctx.command.params
            if isinstance(value, str) and self.ctx.params.get(parameter.name) == value
        ]
        if with_this_value and named not in with_this_value:
            named = with_this_value[0]
        if named is not None:
            return named
        for option in ("option", "format"):
            if f"{name}=" in str(self.ctx.params.get(option)):
                return f"{name} in --{option}"
        return super().parameter(name, value, of)


def passed_options(*names: str) -> list[str]:
    """Return the options of the running command that the user has passed, among the parameters with these names."""
    vocabulary = current()
    if not isinstance(vocabulary, OptionVocabulary):
        return []
    ctx = vocabulary.ctx
    return [
        parameter.secondary_opts[0] if ctx.params[parameter.name] is False else shown_name(parameter)
        for parameter in ctx.command.params
        if parameter.name in names and ctx.get_parameter_source(parameter.name).name != "DEFAULT"
    ]


def with_remedy(message: str, error: Exception, ctx: Any) -> str:
    """Return the message of an error. If one item of a named file is malformed, ``--skip-bad`` is added as the remedy."""
    if (parsing := _parse_the_sentence(message, ctx)) and type(error).__name__ == "FileError":
        return parsing
    if type(error).__name__ == "TreesInsteadOfModelError":
        return message.replace("Read it with treelet.read_trees.", _order_of_arguments(ctx))
    if not getattr(error, "one_of_many", False) or ctx.params.get("skip_bad", True):
        return message
    values = [value if isinstance(value, list | tuple) else [value] for value in ctx.params.values()]
    files = ["<stdin>", *(str(value) for several in values for value in several)]
    if getattr(error, "source", None) not in files:
        return message
    return f"{message.removesuffix('.')}. Pass {_options_of(ctx.command)['skip_bad']} to skip such items."


def _parse_the_sentence(message: str, ctx: Any) -> str | None:
    """Return the message for a sentence in the place of a file, or None if the error is about something else."""
    for parameter in ctx.command.params:
        values = ctx.params.get(parameter.name)
        for value in values if isinstance(values, list | tuple) else [values]:
            if (
                parameter.metavar not in (*_TREES, "SENTENCES")
                or not isinstance(value, str)
                or " " not in value.strip()
            ):
                continue
            if (
                message.startswith((value, shortened(value)))
                and not _LIKE_A_NAME.search(value)
                and not os.path.exists(value)
            ):
                if parameter.metavar == "SENTENCES":
                    return f"{value!r} is a sentence, not a file of sentences. Pass it with --text."
                fact = f"{value!r} is a sentence, neither a tree in brackets nor a file"
                return f"{fact}. Parse it first: treelet parse --grammar FILE --text {shlex.quote(value)}."
    return None


def _order_of_arguments(ctx: Any) -> str:
    """Return the remedy for a file of trees in the place of a model. If another argument is a model, swap the two."""
    arguments = [parameter for parameter in ctx.command.params if parameter.param_type_name == "argument"]
    values = [str(value) for parameter in arguments if (value := ctx.params.get(parameter.name)) is not None]
    models = [value for value in values if value.endswith(".treelet")]
    if not models:
        return "Pass a model written by treelet train first."
    others = [value for value in values if value not in models]
    return f"Pass the model first: {' '.join([ctx.command_path, *models, *others])}."
