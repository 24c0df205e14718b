"""Messages in the words of the command that runs: ``--jobs``, where Python says ``n_jobs``.

Whatever lies below the commands speaks of Python's parameters. A command's own parameters have the same names, so that each
leads to its option: ``n_jobs: Annotated[int, typer.Option("--jobs")]``.
"""

from __future__ import annotations

import re
from typing import Any


def shown_name(parameter: Any) -> str:
    """What users call a parameter: the long option, or the argument's word."""
    long = [str(name) for name in parameter.opts if name.startswith("--")]
    return long[0] if long else str(parameter.metavar or parameter.opts[0])


def options_of(command: Any) -> dict[str, str]:
    """From Python's names to the options of a command."""
    found = {}
    for parameter in command.params:
        if parameter.opts[0].startswith("-"):
            names = [name.lstrip("-").replace("-", "_") for name in parameter.opts if name.startswith("--")]
            found.update(dict.fromkeys([*names, parameter.name], shown_name(parameter)))
    return found


def in_command_words(text: str, ctx: Any) -> str:
    """A message about parameters as one about options; names of files and other values that were given stay as they are."""
    options = options_of(ctx.command)
    if not options:
        return text
    given = sorted({value for value in _texts(ctx.params) if re.search("['=(]", value)}, key=len, reverse=True)
    for number, value in enumerate(given):
        text = text.replace(value, f"\0{number}\0")
    name = "|".join(sorted(map(re.escape, options), key=len, reverse=True))

    def option(match: re.Match[str]) -> str:
        found = match.groupdict()
        return " ".join(filter(None, (options[found["name"]], found.get("value"))))

    # The 'n_jobs' parameter of gram must be ... Got 0 instead.
    text = re.sub(
        r"The '(?P<name>\w+)' parameter(?: of [\w.]+)? must be (?P<rest>.*?)Got (?P<got>.*?) instead",
        lambda match: _told(match, options, ctx),
        text,
    )
    text = re.sub(r"(?<= must be )None or | or None(?=\. Got )", "", text)
    text = re.sub(r"(?<= must be )an int\b", "a whole number", text)
    # column='tree', encoding="latin-1", memory=, probability=True, read_trees(..., drop_empty=True); no SubsetTree(lam=0.4)
    value = r"""(?:(?P<quote>['"])(?P<value>[^'"]*)(?P=quote)|True\b|(?![\w'"\[({.]))"""
    text = re.sub(rf"[\w.]+\(\.\.\., (?P<name>{name})={value}\)", option, text)
    text = re.sub(rf"(?<![\w./-])(?<!\w\()(?P<name>{name})={value}", option, text)
    text = text.replace("kernel.normalized()", _normalised(options))
    for number, value in enumerate(given):
        text = text.replace(f"\0{number}\0", value)
    return text


def way_out(error: Exception, ctx: Any) -> str:
    """What a message ends with where one item of a file that was named is wrong: how to do without it."""
    if not getattr(error, "one_of_many", False) or ctx.params.get("skip_bad", True):
        return ""
    named = getattr(error, "source", None) in ["<stdin>", *_texts(ctx.params)]
    return f" ({options_of(ctx.command)['skip_bad']} leaves it out)" if named else ""


def _told(match: re.Match[str], options: dict[str, str], ctx: Any) -> str:
    """What is wrong with an option: the one of the parameter's name, or, where that has another value, the one with this text."""
    named = options.get(match["name"])
    alike = [
        shown_name(parameter)
        for parameter in ctx.command.params
        if isinstance(ctx.params.get(parameter.name), str) and repr(ctx.params[parameter.name]) == match["got"]
    ]
    if named is None and not alike:
        written = next(
            (f"--{name}" for name in ("option", "format") if f"{match['name']}=" in str(ctx.params.get(name))), None
        )
        if written is None:
            return match[0]
        wanted = match["rest"].replace("True or False", "true or false")
        return f"{match['name']} in {written} must be {wanted}Got {match['got']} instead"
    shown = named if named in alike or not alike else alike[0]
    return f"{shown} must be {match['rest']}Got {match['got']} instead"


def _normalised(options: dict[str, str]) -> str:
    if "no_normalize" in options:
        return "the normalised kernel (no --no-normalize)"
    return options.get("normalize", "a normalised kernel")


def _texts(values: dict[str, Any]) -> list[str]:
    """All texts that were given."""
    found = []
    for value in values.values():
        found += [str(item) for item in (value if isinstance(value, list | tuple) else [value]) if item is not None]
    return found
