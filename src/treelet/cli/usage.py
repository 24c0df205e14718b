"""Messages about wrong usage: an unknown command or option, a missing argument, a value of the wrong type.

Typer finds such mistakes before a command runs. Its errors are recognized by their class names and attributes, because they
are classes of typer itself or, in older versions, of click.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from treelet.cli.wording import shown_name

TYPES = {"integer": "a whole number", "int": "a whole number", "bool": "true or false", "number": "a number"}
TYPES |= {"boolean": "true or false", "float": "a number"}
EXAMPLES = {
    "train": "For example: treelet train train.tsv -o model.treelet",
    "gram": "For example: treelet gram trees.mrg -o K.npy",
}
"""Examples of the commands that have a required option, which the usage line does not show."""
VALUES = {("train", "--output"): "model.treelet"}
"""Example values of required options."""
LONGEST = 60  # characters of a description in a message


def is_usage_error(error: BaseException) -> bool:
    """Whether the command was called in a wrong way. A call without arguments prints the help and is not an error."""
    return hasattr(error, "format_message") and type(error).__name__ != "NoArgsIsHelpError"


def usage_message(error: Any, ctx: Any, args: Sequence[str]) -> str:
    """Return the message for an error in the arguments of a command: the fact, the value and a remedy."""
    from treelet.checks import some_of, suggestion

    kind, command = type(error).__name__, ctx.command_path
    if kind == "NoSuchOption":
        return _unknown_option(error.option_name, ctx, args)
    if kind == "MissingParameter" and error.param is not None:
        name = shown_name(error.param)
        if error.param.param_type_name == "argument":
            example = EXAMPLES.get(ctx.info_name)
            return f"The argument {name}{_described(error.param)} is missing. {example or _usage(ctx)}"
        value = VALUES.get((ctx.info_name, name))
        remedy = f"Add it, for example {name} {value}." if value else f"Add {name} {error.param.metavar}."
        return f"The option {name} is missing. {remedy}"
    if kind == "BadOptionUsage":
        name = error.option_name
        if "not take" in error.format_message():
            return f"{name} does not take a value. Write only {name}."
        metavars = [parameter.metavar for parameter in ctx.command.params if name in parameter.opts]
        return f"{name} needs a value. Write {' '.join([name, *filter(None, metavars)])}."
    if kind == "BadParameter" and error.param is not None:
        return _wrong_type(error, args)
    if extra := re.search(r"unexpected extra argument\S* \((.*)\)", error.format_message(), re.DOTALL):
        unexpected = [argument for argument in args if argument in extra[1]]
        count = next(n for n in range(len(unexpected) + 1) if " ".join(unexpected[n:]) in extra[1])
        unexpected = unexpected[count:] or [extra[1]]
        fact = f"Unexpected argument{'s' if len(unexpected) > 1 else ''} {some_of(unexpected, 3)}."
        if all(re.fullmatch(r"[\d.]+", argument) for argument in unexpected):
            return f"{fact} Separate several values of an option with commas, for example --lam 0.2,0.4. {_usage(ctx)}"
        return f"{fact} Put quotes around a tree or a name that contains spaces. {_usage(ctx)}"
    if hasattr(ctx.command, "commands") and args:
        known = suggestion(args[0], ctx.command.commands)
        return f"{args[0]!r} is not a command of {command}.{known} Run {command} --help for the list of commands."
    return str(error.format_message())


def _unknown_option(name: str, ctx: Any, args: Sequence[str]) -> str:
    from treelet.checks import suggestion

    if not name.startswith("--"):  # of -lam, only -l is reported
        name = next((arg.partition("=")[0] for arg in args if arg.startswith(name)), name)
    known = [option for parameter in ctx.command.params for option in _options(parameter)]
    fact, root = f"{name!r} is not an option of {ctx.command_path}.", ctx.find_root()
    if root is not ctx and any(name in _options(parameter) for parameter in root.command.params):
        return f"{fact} Write {name} before the command: {root.info_name} {name} {ctx.info_name}."
    return f"{fact}{suggestion(name, known)} Run {ctx.command_path} --help for the list of options."


def _options(parameter: Any) -> list[str]:
    return [name for name in [*parameter.opts, *parameter.secondary_opts] if name.startswith("-")]


def _wrong_type(error: Any, args: Sequence[str]) -> str:
    from treelet.cli.options import wrong_value

    name, message = shown_name(error.param), error.format_message()
    wanted = next((TYPES[word] for word in re.findall(r"\w+", error.message) if word in TYPES), None)
    value = _value(error.param, args)
    if wanted is None or value is None:
        return f"{name}: {message}"
    return str(wrong_value(name, wanted, value))


def _value(parameter: Any, args: Sequence[str]) -> str | None:
    """Return the last value that the arguments have for an option, as it was written."""
    value = None
    for number, arg in enumerate(args):
        for option in _options(parameter):
            if arg == option and number + 1 < len(args):
                value = args[number + 1]
            elif arg.startswith(f"{option}=") and option.startswith("--"):
                value = arg.partition("=")[2]
            elif len(option) == 2 and arg.startswith(option) and arg != option:
                value = arg[2:].removeprefix("=")
    return value


def _usage(ctx: Any) -> str:
    """Return the usage line. It ends a message, without a period, so it can be copied."""
    return " ".join(ctx.get_usage().split())


def _described(parameter: Any) -> str:
    """Return the first sentence of a parameter's help in parentheses, or an empty string if it is long."""
    sentence = (getattr(parameter, "help", None) or "").split(". ")[0].split("  [")[0].removesuffix(".")
    sentence = sentence.removesuffix(", in the same form")  # as the argument before it
    return f" ({sentence[0].lower()}{sentence[1:]})" if 0 < len(sentence) <= LONGEST else ""
