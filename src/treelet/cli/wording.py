"""The vocabulary of the command line: ``--jobs`` where Python says ``n_jobs=``.

A command's own parameters have Python's names, so that each name leads to its option:
``n_jobs: Annotated[int, typer.Option("--jobs")]``.
"""

from __future__ import annotations

from typing import Any

from treelet.vocabulary import Vocabulary


def shown_name(parameter: Any) -> str:
    """The name by which users know a parameter: the long option, or the argument's placeholder."""
    long = [str(name) for name in parameter.opts if name.startswith("--")]
    return long[0] if long else str(parameter.metavar or parameter.opts[0])


def options_of(command: Any) -> dict[str, str]:
    """The option of a command for each Python name."""
    options = {}
    for parameter in command.params:
        if parameter.opts[0].startswith("-"):
            names = [name.lstrip("-").replace("-", "_") for name in parameter.opts if name.startswith("--")]
            options.update(dict.fromkeys([*names, parameter.name], shown_name(parameter)))
    return options


class OptionVocabulary(Vocabulary):
    """The words of a command that is running. A parameter for which it has no option keeps Python's words."""

    integer = "a whole number"
    none_or = ""
    booleans = "true or false"
    random_state = "a whole number of at least 0"

    def __init__(self, ctx: Any) -> None:
        self.ctx, self.options = ctx, options_of(ctx.command)

    @property
    def normalized(self) -> str:  # type: ignore[override]
        if "no_normalize" in self.options:
            return "the normalized kernel (no --no-normalize)"
        return self.options.get("normalize", "a normalized kernel")

    def keyword(self, name: str, value: object, of: str) -> str:
        """``--memory``, ``--column tree`` or ``--probability``."""
        if name not in self.options:
            return super().keyword(name, value, of)
        return self.options[name] if value is None or value is True else f"{self.options[name]} {value}"

    def parameter(self, name: str, value: object, of: str) -> str:
        """The option of this name; where it has another value, the one that has this value; or a format's option."""
        named = self.options.get(name)
        alike = [
            shown_name(parameter)
            for parameter in self.ctx.command.params
            if isinstance(value, str) and self.ctx.params.get(parameter.name) == value
        ]
        if alike and named not in alike:
            named = alike[0]
        if named is not None:
            return named
        for option in ("option", "format"):
            if f"{name}=" in str(self.ctx.params.get(option)):
                return f"{name} in --{option}"
        return super().parameter(name, value, of)


def way_out(error: Exception, ctx: Any) -> str:
    """The end of a message about one wrong item of a file that was named: how to do without the item."""
    if not getattr(error, "one_of_many", False) or ctx.params.get("skip_bad", True):
        return ""
    values = [value if isinstance(value, list | tuple) else [value] for value in ctx.params.values()]
    files = ["<stdin>", *(str(value) for several in values for value in several)]
    named = getattr(error, "source", None) in files
    return f" ({options_of(ctx.command)['skip_bad']} leaves it out)" if named else ""
