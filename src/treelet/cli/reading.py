"""Groups of options that many commands share, and the options for reading files. A group is one parameter of a command.

``@with_option_groups`` replaces these parameters of a command:

- ``reading`` by ``--format``, ``--encoding``, ``--skip-bad``, ``--exclude``, ``--label-column``, ``--tree-column`` and
  ``--option``; the command receives a `Reading`.
- ``tree_kernel`` by ``--kernel``, ``--lam``, ``--mu``, ``--max-depth`` and ``--leaves``; the command receives a kernel.
- ``threads`` by ``--jobs``, ``--device`` and ``--device-memory``; the command receives the number of threads. The device
  is a setting of the context, like ``--progress``: `treelet.cli.main` makes the context of every command.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, get_type_hints

import typer

from treelet.cli.options import COMPUTING_OPTIONS, KERNEL_OPTIONS, kernel_from_options, wrong_value
from treelet.errors import ParameterError, TreeletWarning


def _formats(incomplete: str) -> list[str]:
    """Complete the name of a format, including formats that other packages have registered."""
    from treelet.formats.base import FORMATS

    return [name for name in sorted(FORMATS) if name.startswith(incomplete)]


FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        autocompletion=_formats,
        metavar="FORMAT",
        help="Input format, e.g. brackets, lines, tsv or conllu.  [default: detected from the file name, then from the content]",
    ),
]
EncodingOption = Annotated[str, typer.Option(metavar="NAME", help="Encoding of the input. Output is always UTF-8.")]
SkipOption = Annotated[bool, typer.Option("--skip-bad", help="Skip malformed trees and report how many were skipped.")]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help="Files or folders to leave out of the folders that are read, e.g. tests or '*_pb2.py'. Can be repeated.",
    ),
]
LabelOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the tsv or csv file that contains the labels: a number counted from 0, or a name in the header line.",
    ),
]
TreeOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the tsv or csv file that contains the trees: a number counted from 0, or a name in the header line.",
    ),
]
OwnOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Option of the input format, e.g. drop_empty=true or root=TOP. See docs/formats.md for the options of each format. Can be repeated.",
    ),
]
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "format": (FormatOption, None),
    "encoding": (EncodingOption, "utf-8"),
    "skip_bad": (SkipOption, False),
    "exclude": (ExcludeOption, None),
    "label_column": (LabelOption, None),
    "tree_column": (TreeOption, None),
    "option": (OwnOption, None),
}


@dataclass(frozen=True)
class Reading:
    """The options for reading input files."""

    format: str | None = None
    encoding: str = "utf-8"
    on_error: str = "raise"
    options: dict[str, Any] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()

    def arguments(self, **more: Any) -> dict[str, Any]:
        """Return the arguments for `read_trees` or `read_document`, with further options of the command that are set."""
        own = {name: value for name, value in more.items() if value not in (None, False)}
        if twice := own.keys() & self.options.keys():
            name = min(twice)
            raise ParameterError(
                f"--option {name} and --{name.replace('_', '-')} set the same option. Pass one of them."
            )
        if self.exclude:
            own["exclude"] = self.exclude
        return {"format": self.format, "encoding": self.encoding, "on_error": self.on_error, **self.options, **own}

    def used_options(self) -> list[str]:
        """Return the names of the options that the user passed and that apply to files of trees only."""
        named = [("--format", self.format is not None), ("--skip-bad", self.on_error == "skip")]
        named += [("--exclude", bool(self.exclude))]
        named += [(f"--{name.replace('_', '-')}", True) for name in self.options if name in _OPTIONS]
        named += [("--option", True) for name in self.options if name not in _OPTIONS]
        return [name for name, used in named if used]


def shown_files(files: Sequence[str]) -> str:
    """Return the names of input files for messages.

    >>> shown_files(["-"]), shown_files(["a.tsv"]), shown_files(["a.tsv", "b.tsv", "c"])
    ('<stdin>', 'a.tsv', 'a.tsv and 2 more')
    """
    first = "<stdin>" if files[0] == "-" else files[0]
    return f"{first} and {len(files) - 1} more" if len(files) > 1 else first


def warn_if_empty(files: Sequence[str], n: int) -> None:
    """Warn about input files without trees. The program that wrote them may have failed."""
    if not n:
        contain = "the file contains" if len(files) == 1 else "the files contain"
        warnings.warn(f"{shown_files(files)}: {contain} no trees.", TreeletWarning, stacklevel=3)


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is in `_GROUPS` by the options of that group."""
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    parameters, annotations = [], {}
    for parameter in signature.parameters.values():
        new = {parameter.name: (hints[parameter.name], parameter.default)}
        options = _GROUPS[parameter.name][0] if parameter.name in _GROUPS else new
        for name, (annotation, default) in options.items():
            parameters.append(parameter.replace(name=name, annotation=annotation, default=default))
            annotations[name] = annotation
    groups = {name: group for name, group in _GROUPS.items() if name in signature.parameters}

    @functools.wraps(command)
    def with_groups(**values: Any) -> None:
        group_values = {
            group: make(**{name: values.pop(name) for name in options}) for group, (options, make) in groups.items()
        }
        command(**values, **group_values)

    with_groups.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {**annotations, "return": None}
    return with_groups


def _reading(
    format: str | None,
    encoding: str,
    skip_bad: bool,
    exclude: list[str] | None,
    label_column: str | None,
    tree_column: str | None,
    option: list[str] | None,
) -> Reading:
    from treelet.formats.base import OptionText

    options = dict(_own(text) for text in option or ())
    for name, column in (("label_column", label_column), ("tree_column", tree_column)):
        if column is not None:
            options[name] = OptionText(column)
    return Reading(format, encoding, "skip" if skip_bad else "raise", options, tuple(exclude or ()))


def _own(text: str) -> tuple[str, Any]:
    """Return the name and the value of an option of a format, which is written as NAME=VALUE."""
    from treelet.formats.base import OptionText

    name, sign, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not sign or not name.isidentifier() or name in ("encoding", "on_error", "labels", "format", "exclude"):
        raise wrong_value("--option", "NAME=VALUE, with an option of the format, such as root=TOP", text)
    return name, OptionText(value)


_GROUPS: dict[str, tuple[dict[str, tuple[Any, Any]], Callable[..., Any]]] = {
    "reading": (_OPTIONS, _reading),
    "tree_kernel": (KERNEL_OPTIONS, kernel_from_options),
    "threads": (COMPUTING_OPTIONS, lambda n_jobs, **settings: n_jobs),
}
