"""The options of the commands: how they are declared, those that several commands share, and checks of their values.

A command is a function with the decorator `command`. Parameters before ``*`` are arguments, the others are options. The
signature has the types, the defaults and the names that users see, such as ``"--output -o OUT"``; the section "Parameters" of
the docstring has the help. Options without help there are shared ones, which `_shared` declares. Three parameters stand for
groups of shared options:

- ``reading`` for ``--format``, ``--encoding``, ``--skip-bad``, ``--exclude``, ``--label-column``, ``--tree-column`` and
  ``--option``; the command receives a `Reading`.
- ``base_kernel`` for ``--kernel``, ``--lam``, ``--mu``, ``--max-depth``, ``--leaves``, ``--window``, ``--theta`` and
  ``--match``; the command receives a kernel.
- ``threads`` for ``--jobs``, ``--device`` and ``--device-memory``; the command receives the number of threads. The device
  is a setting of the context, like ``--progress``.

A parameter that names files is marked with `READ` or `WRITTEN`, so that no output overwrites an input.

The help of a command has two parts: the options that ``command(main="output kernel ...")`` names, and "Advanced options".
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from treelet.errors import FileError, ParameterError, TreeletWarning

if TYPE_CHECKING:
    from treelet.edits.distance import EditMeasure
    from treelet.kernels import Kernel

# --- checks of values -------------------------------------------------------------------------------------------------


def wrong_value(option: str, wanted: str, value: object) -> ParameterError:
    """Return the error for an option with a wrong value, in the same form as `treelet.checks.wrong`."""
    return ParameterError(f"{option} must be {wanted}. Got {value!r} instead.")


def one_of(option: str, value: str, choices: Sequence[str]) -> str:
    """Return the choice that equals the value, ignoring case. If there is none, the error suggests the closest one."""
    known = {choice.lower(): choice for choice in choices}
    if value.lower() in known:
        return known[value.lower()]
    from treelet.checks import in_words, suggestion

    raise ParameterError(f"{wrong_value(option, in_words(map(repr, choices)), value)}{suggestion(value, choices)}")


def items(option: str, text: str) -> list[str]:
    """Return the values of a text that are separated by commas."""
    values = [item.strip() for item in text.split(",")]
    if not all(values):
        raise wrong_value(option, "values separated by commas", text)
    return values


def numbers(option: str, text: str, *, repeated: bool = False) -> list[float]:
    """Return the numbers of a text that are separated by commas, without duplicates unless `repeated`."""
    ranges = {"--lam": (0, 1), "--mu": (0, 1), "--C": (0, math.inf), "--alpha": (0, math.inf)}
    least, most = ranges.get(option, (-math.inf, math.inf))
    interval = "" if least else f"number in (0, {most}{')' if most == math.inf else ']'}"
    whole = option in ("--window", "--epochs")
    wanted = (
        f"a {interval or ('whole number of at least 1' if whole else 'finite number')}, or several separated by commas"
    )
    try:
        values: list[float] = [int(item) if whole else float(item) for item in items(option, text)]
    except ValueError:
        raise wrong_value(option, wanted, text) from None
    if not all(math.isfinite(value) and least < value <= most and not (whole and value < 1) for value in values):
        raise wrong_value(option, wanted, text)
    return values if repeated else list(dict.fromkeys(values))


def at_least(least: int) -> Callable[[typer.CallbackParam, int | None], int | None]:
    """Return the check of an option whose value is a whole number of at least `least`."""

    def check(param: typer.CallbackParam, value: int | None) -> int | None:
        if value is not None and value < least:
            raise wrong_value(_shown_name(param), f"a whole number of at least {least}", value)
        return value

    return check


def file_name(param: typer.CallbackParam, value: str | None) -> str | None:
    """Check an option that cannot be standard output."""
    if value == "-":
        raise ParameterError(f"{_shown_name(param)} cannot be standard output (-). Pass a file name.")
    return value


def among(*choices: str) -> Any:
    """Return an option that completes one of the choices in a shell: ``treelet gram trees.mrg --kernel <TAB>``."""
    return typer.Option(autocompletion=lambda incomplete: [name for name in choices if name.startswith(incomplete)])


def _shown_name(parameter: Any) -> str:
    """Return the name that users know: the long form of an option, or the placeholder of an argument."""
    long = [str(name) for name in parameter.opts if name.startswith("--")]
    return long[0] if long else str(parameter.metavar or parameter.opts[0])


def _memory_size(param: typer.CallbackParam, value: str | None) -> str | None:
    """Refuse a small number of bytes without a unit: most likely it is a number of gigabytes."""
    if value is not None and value.strip().isdecimal() and 0 < int(value) < 1 << 20:
        from treelet.checks import plural

        number = value.strip()
        raise ParameterError(
            f"{_shown_name(param)} {number} is a limit of {plural(int(number), 'byte')}. Did you mean {number}GiB? "
            f"Write {number}B if you mean bytes."
        )
    return value


def _kernel_name(ctx: typer.Context, value: str) -> str:
    if value.isdecimal() and any(parameter.name == "k" for parameter in ctx.command.params):  # -k is not short for --k
        from treelet.checks import in_words

        error = wrong_value("--kernel", in_words(map(repr, KERNELS)), value)
        raise ParameterError(f"{error} Did you mean '--k {value}'?")
    return value


def _seed(value: int) -> int:
    if not 0 <= value < 2**32:
        raise wrong_value("--seed", "a whole number from 0 to 2^32 - 1", value)
    return value


def _measure(value: str) -> str:
    return one_of("--measure", value, _MEASURES)


def _formats(incomplete: str) -> list[str]:
    """Complete the name of a format, including formats that other packages have registered."""
    from treelet.formats.base import FORMATS

    return [name for name in sorted(FORMATS) if name.startswith(incomplete)]


def check_device() -> None:
    """Raise an error if the device of the context cannot be used. Commands call this function before they read any file."""
    from treelet.matrices.executors import executor_for
    from treelet.resources import Resources

    executor_for(Resources.of())


# --- shared options ---------------------------------------------------------------------------------------------------

READ, WRITTEN = ("read",), ("written",)
"""Marks of parameters that name, or may name, input or output files.

An output folder is marked with the names of the files that are written there: ``WRITTEN + ("report.*",)``.
"""
_MEASURES = ("kernel", "edit", "edit-distance")
KERNELS = {
    "st": ("Subtree", ("lam",)),
    "sst": ("SubsetTree", ("lam", "max_depth", "leaves")),
    "pt": ("PartialTree", ("lam", "mu", "leaves")),
    "forest": ("ForestKernel", ("lam", "leaves")),
    "tagging": ("Tagging", ("lam",)),
    "locality": ("Locality", ("window", "theta", "match")),
}
_MATCHES = ("position", "exact", "count")
PARENTS: dict[str, bool | str] = {"off": False, "phrases": True, "tags": "tags"}
SPLITS = ("penn",)


def _shared(
    *,
    measure: Annotated[str, "NAME", among(*_MEASURES), _measure] = "kernel",
    kernel: Annotated[str, "--kernel -k NAME", among(*KERNELS), _kernel_name] = "sst",
    lam: Annotated[float | None, "NUMBER"] = None,
    mu: Annotated[float | None, "NUMBER"] = None,
    max_depth: Annotated[int | None, "N"] = None,
    leaves: Annotated[bool | None, "--leaves/--no-leaves"] = None,
    window: Annotated[int | None, "N", at_least(1)] = None,
    theta: Annotated[float | None, "NUMBER"] = None,
    match: Annotated[str | None, "NAME", among(*_MATCHES)] = None,
    normalize: Annotated[bool, "--normalize/--no-normalize"] = True,
    n_jobs: Annotated[int, "--jobs -j N"] = 1,
    device: Annotated[str, "cpu|cuda", among("cpu", "cuda")] = "cpu",
    device_memory: Annotated[str | None, "SIZE", _memory_size] = None,
    memory: Annotated[str | None, "SIZE", _memory_size] = None,
    progress: Annotated[bool, "--progress/--no-progress"] = True,
    random_state: Annotated[int, "--seed N", _seed] = 0,
    json: bool = False,
    format: Annotated[str | None, "FORMAT", typer.Option(autocompletion=_formats)] = None,
    encoding: Annotated[str, "NAME"] = "utf-8",
    skip_bad: bool = False,
    exclude: Annotated[list[str] | None, "PATTERN"] = None,
    label_column: Annotated[str | None, "COLUMN"] = None,
    tree_column: Annotated[str | None, "COLUMN"] = None,
    option: Annotated[list[str] | None, "NAME=VALUE"] = None,
    labels: Annotated[str | None, "FILE", READ] = None,
    column: Annotated[str | None, "NAME"] = None,
    drop_empty: bool = False,
    drop_function_tags: bool = False,
    split: Annotated[str | None, "NAME", among(*SPLITS)] = None,
    smoothing: Annotated[float | None, "NUMBER"] = None,
) -> None:
    """Declare the options that several commands share.

    Parameters
    ----------
    measure
        How to compare two trees: kernel (shared fragments), edit (edit similarity) or edit-distance. The edit
        distance is the least number of nodes to insert, delete or rename. The edit similarity is 1 - distance /
        number of nodes of the larger tree. Options of the kernel apply to kernel only.
    kernel
        st (subtrees), sst (subset trees) or pt (partial trees); forest (for the forests of treelet parse --forest),
        tagging (for tagged sentences, the/D dog/N) or locality (for dependency parses).
    lam
        Decay in (0, 1]. st, sst, forest: factor per production. pt: factor per skipped child. tagging: factor per
        tag. 1 disables the decay. [default: 1 for st, 0.4 for the others]
    mu
        Decay per node, in (0, 1]; pt only. 1 disables the decay. [default: 0.4]
    max_depth
        Maximum depth of a fragment, in productions; sst only. [default: no limit]
    leaves
        Also count single words as fragments. A word that two trees share counts even if its tag differs between
        them; sst, pt and forest only. [default: on for pt, off for the others]
    window
        Number of positions in a window, at least 1; locality only. 1 counts equal features without their neighbors.
        [default: 3]
    theta
        Tolerance for differences in position, at least 0; locality with --match position only. [default: 0.5]
    match
        How the pairs of equal features in two windows count: position (by the difference of their positions), exact
        (pairs at equal positions) or count (all pairs); locality only. [default: position]
    normalize
        Normalize the kernel: K(x,y) / sqrt(K(x,x) K(y,y)). Normalized values are at most 1 and never overflow.
        [default: --normalize]
    n_jobs
        Number of threads; -1 for one per core.
    device
        Where to compute: cpu, or cuda for a GPU. Run treelet doctor to check for a usable GPU.
    device_memory
        GPU memory limit, e.g. 10GiB; for --device cuda. [default: all free GPU memory]
    memory
        Memory limit of the computation, without the trees themselves, e.g. 512MiB. [default: 1GiB]
    progress
        Show progress on standard error: a bar in a terminal, lines otherwise. [default: --progress]
    random_state
        Random seed, at least 0. Equal seeds give equal results.
    json
        Print the result as JSON on standard output.
    format
        Input format, e.g. brackets, lines, tsv or conllu. [default: detected from the file name, then from the
        content]
    encoding
        Encoding of the input. Output is always UTF-8.
    skip_bad
        Skip malformed trees and report how many were skipped.
    exclude
        Files or folders to leave out of the folders that are read, e.g. tests or '*_pb2.py'. Can be repeated.
    label_column
        Column of the tsv or csv file that contains the labels: a number counted from 0, or a name in the header
        line.
    tree_column
        Column of the tsv or csv file that contains the trees: a number counted from 0, or a name in the header
        line.
    option
        Option of the input format, e.g. drop_empty=true or root=TOP. See docs/formats.md for the options of each
        format. Can be repeated.
    labels
        File with the label of each example, one per line, or label<TAB>query for rankers. For files without labels,
        such as the forests of treelet parse --forest. [default: the labels in the files]
    column
        Name of the tree to use if the rows have several trees, as in KeLP files.
    drop_empty
        Remove -NONE- elements.
    drop_function_tags
        Remove function tags, e.g. NP-SBJ-1 becomes NP.
    split
        Distinguish further kinds of Penn Treebank labels in a grammar that is read from trees: penn. Use it with
        --parent tags, --markov 2 and --smoothing 1. [default: none]
    smoothing
        Pseudo-count for words with annotated tags, at least 0, in a grammar that is read from trees. [default: 0]
    """


_KERNEL_OPTIONS = ("kernel", "lam", "mu", "max_depth", "leaves", "window", "theta", "match")
READING_OPTIONS = ("format", "encoding", "skip_bad", "exclude", "label_column", "tree_column", "option")
_RARE = {
    *_KERNEL_OPTIONS[2:], *READING_OPTIONS[1:], "column", "device", "device_memory", "memory", "progress", "random_state",
}  # fmt: skip
"""The options that a command without a list of main options shows as advanced ones."""


def edit_measure(ctx: typer.Context, measure: str, *kernel_only: str) -> EditMeasure | None:
    """Return the measure for ``--measure edit`` or ``edit-distance``; None for ``--measure kernel``.

    Options that describe a kernel raise an error if they are passed with an edit measure. `kernel_only` names such options
    of the command beyond those of the kernel.
    """
    if measure == "kernel":
        return None
    passed = []
    for parameter in ctx.command.params:
        source = (
            ctx.get_parameter_source(parameter.name) if parameter.name in (*_KERNEL_OPTIONS, *kernel_only) else None
        )
        if source is not None and source.name != "DEFAULT":
            negative = ctx.params[parameter.name] is False
            passed.append(parameter.secondary_opts[0] if negative else _shown_name(parameter))
    if passed:
        from treelet.checks import in_words

        plural = len(passed) > 1
        raise ParameterError(
            f"{in_words(passed, 'and')} {'apply' if plural else 'applies'} to --measure kernel only. "
            f"Remove {'these options' if plural else 'this option'}, or remove --measure {measure}."
        )
    from treelet.edits import EditDistance

    return EditDistance() if measure == "edit-distance" else EditDistance().similarity()


def kernel_from_options(
    kernel: str = "sst",
    *,
    normalize: bool = False,
    **parameters: Any,
) -> Kernel:
    """Return the kernel that the options of a command describe. Omitted options have the defaults of the kernel."""
    name = one_of("--kernel", kernel, tuple(KERNELS))
    class_name, known = KERNELS[name]
    parameters = {key: value for key, value in parameters.items() if value is not None}
    for key in parameters:
        if key not in known:
            from treelet.checks import in_words

            suitable = in_words(other for other, (_, parameter_names) in KERNELS.items() if key in parameter_names)
            option = f"--{key.replace('_', '-')}"
            raise ParameterError(
                f"{option} does not apply to --kernel {name}. Use --kernel {suitable}, or remove {option}."
            )
    if "match" in parameters:
        parameters["match"] = one_of("--match", parameters["match"], _MATCHES)
        if "theta" in parameters and parameters["match"] != "position":
            raise ParameterError(f"--theta does not apply to --match {parameters['match']}. Remove --theta.")
    from treelet import kernels

    base_kernel: Kernel = getattr(kernels, class_name)(**parameters)
    return base_kernel.normalized() if normalize else base_kernel


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


def _reading(
    format: str | None,
    encoding: str,
    skip_bad: bool,
    exclude: list[str] | None,
    option: list[str] | None,
    **columns: str | None,
) -> Reading:
    from treelet.formats.base import OptionText

    options = {}
    for text in option or ():
        name, sign, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not sign or not name.isidentifier() or name in ("encoding", "on_error", "labels", "format", "exclude"):
            raise wrong_value("--option", "NAME=VALUE, with an option of the format, such as root=TOP", text)
        options[name] = OptionText(value)
    options |= {name: OptionText(column) for name, column in columns.items() if column is not None}
    return Reading(format, encoding, "skip" if skip_bad else "raise", options, tuple(exclude or ()))


_GROUPS: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "reading": (READING_OPTIONS, _reading),
    "base_kernel": (_KERNEL_OPTIONS, kernel_from_options),
    "threads": (("n_jobs", "device", "device_memory"), lambda n_jobs, **settings: n_jobs),
}
"""The parameters that stand for groups of options, with the function that makes their value."""


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


# --- the declaration of a command -------------------------------------------------------------------------------------

COMMANDS: dict[str, Callable[..., None]] = {}
"""The commands of the modules that have been imported, by name, such as ``"gram"`` and ``"index create"``."""


def command(
    *, main: str = "", exclusive: Sequence[tuple[str, str]] = (), needs: Mapping[str, str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command, with a name such as ``_gram`` or ``_index_create``.

    Parameters
    ----------
    main : str, optional
        The names of the options that the help lists first, separated by spaces. Default: all but those in `_RARE`.
    exclusive : sequence of pairs of str
        Parameters that cannot be combined.
    needs : dict, optional
        For parameters that apply only together with one of some others, the names of the others, separated by spaces.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        about, helps = _split_docstring(function)
        signature = inspect.signature(function)
        parameters, hints = [], get_type_hints(function, include_extras=True)
        shared, shared_hints = inspect.signature(_shared).parameters, get_type_hints(_shared, include_extras=True)
        groups = {name: group for name, group in _GROUPS.items() if name in signature.parameters}
        for parameter in signature.parameters.values():
            for name in groups[parameter.name][0] if parameter.name in groups else (parameter.name,):
                own = shared[name] if parameter.name in groups else parameter
                hint = hints.get(name)
                if name in shared_hints and not hasattr(hint, "__metadata__"):
                    hint = shared_hints[name]
                annotation = _declared(own, hint, helps.get(name) or _split_docstring(_shared)[1].get(name, ""))
                if hint is not typer.Context and (name not in main.split() if main else name in _RARE):
                    annotation.__metadata__[0].rich_help_panel = "Advanced options"
                parameters.append(own.replace(annotation=annotation))

        @functools.wraps(function)
        def call(**values: Any) -> None:
            _check_files(parameters, values)
            _check_combinations(parameters, values, exclusive, needs or {})
            settings = {
                name: value for name, value in values.items() if name in ("device", "device_memory", "progress")
            }
            made = {
                group: make(**{name: values.pop(name) for name in names}) for group, (names, make) in groups.items()
            }
            with _context(settings):
                function(**values, **made)

        call.__doc__ = about
        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
        COMMANDS[function.__name__.strip("_").replace("_", " ")] = call
        return call

    return decorate


@functools.cache
def _split_docstring(function: Callable[..., None]) -> tuple[str, dict[str, str]]:
    """Return the docstring of a command without its section "Parameters", and the help of each parameter there."""
    about, _, section = (inspect.getdoc(function) or "").partition("\n\nParameters\n----------\n")
    entries = re.findall(r"^(\w+)\n((?: .*\n?)+)", section, re.MULTILINE)
    helps = {name: " ".join(words.split()).replace(" [default:", "  [default:") for name, words in entries}
    return about, helps


def _declared(parameter: inspect.Parameter, hint: Any, words: str) -> Any:
    """Return the annotation of a parameter for typer: ``Annotated[str, "--output -o OUT", WRITTEN]`` becomes an option."""
    if hint is typer.Context:
        return hint
    marks = getattr(hint, "__metadata__", ())
    kind = hint.__origin__ if marks else hint
    info = next((copy(mark) for mark in marks if hasattr(mark, "param_decls")), typer.Option())
    if parameter.kind is not parameter.KEYWORD_ONLY:
        info = typer.Argument()
    spelled = next((mark for mark in marks if isinstance(mark, str)), "").split()
    names = [word for word in spelled if word.startswith("-")]
    if not names and kind is bool:
        names = [f"--{parameter.name.replace('_', '-')}"]  # typer would add --no-...
    info.param_decls = names if parameter.kind is parameter.KEYWORD_ONLY else ()
    info.metavar = " ".join(spelled[len(names) :]) or None
    info.help, info.show_default = words, "[default:" not in words
    info.callback = next((mark for mark in marks if inspect.isfunction(mark)), None)
    return Annotated[kind, info, *(mark for mark in marks if isinstance(mark, tuple))]


def _context(settings: dict[str, Any]) -> Any:
    """Return the context of a command, with the settings that are options of the command."""
    if not settings:
        return nullcontext()
    from treelet.resources import config_context  # imports NumPy, which takes longer than some commands

    return config_context(**settings)


def _shown(parameter: inspect.Parameter) -> str:
    """Return the name of a parameter that users know, as `_shown_name`."""
    info = parameter.annotation.__metadata__[0]
    if parameter.kind is not parameter.KEYWORD_ONLY:
        return str(info.metavar)
    return next((str(name) for name in info.param_decls), f"--{parameter.name.replace('_', '-')}")


def _check_combinations(
    parameters: Sequence[inspect.Parameter],
    values: dict[str, Any],
    exclusive: Sequence[tuple[str, str]],
    needs: Mapping[str, str],
) -> None:
    """Raise an error for options that cannot be combined, and for options without the option that they belong to."""
    known = {parameter.name: parameter for parameter in parameters}
    passed = {
        name for name, value in values.items() if not (value is None or value is False or value == known[name].default)
    }
    for first, second in exclusive:
        if {first, second} <= passed:
            raise ParameterError(
                f"{_shown(known[first])} and {_shown(known[second])} exclude each other. Remove one of them."
            )
    for name, others in needs.items():
        if name in passed and passed.isdisjoint(others.split()):
            option, needed = _shown(known[name]), " or ".join(_shown(known[other]) for other in others.split())
            # An option that is passed may exclude the missing one, as --grammar does --treebank.
            pairs = [*exclusive, *((second, first) for first, second in exclusive)]
            instead = [_shown(known[second]) for first, second in pairs if first in others.split() and second in passed]
            if instead:
                raise ParameterError(f"{option} applies to {needed}, not to {instead[0]}. Remove {option}.")
            verb = "applies to" if needed.startswith("-") else "needs"
            raise ParameterError(
                f"{option} {verb} {needed}{' only' * needed.startswith('-')}. Add {needed}, or remove {option}."
            )


# --- protection of files ----------------------------------------------------------------------------------------------


def _check_files(parameters: Sequence[inspect.Parameter], values: dict[str, Any]) -> None:
    """Raise an error if an output is also an input or another output, or standard input is used twice. Links are followed."""
    read: list[tuple[str, str, Path, list[str]]] = []
    written: list[tuple[str, str, Path, list[str]]] = []
    from_stdin: list[str] = []
    for parameter in parameters:
        for kind, *names in getattr(parameter.annotation, "__metadata__", ())[1:]:
            value = values[parameter.name]
            texts = [str(item) for item in (value if isinstance(value, list | tuple) else [value]) if item is not None]
            files = [(_shown(parameter), text, Path(text.removeprefix("@")), names) for text in texts if text != "-"]
            (read if kind == "read" else written).extend(files)
            from_stdin += [_shown(parameter).removesuffix("...")] * (kind == "read" and "-" in texts)
    if len(from_stdin) > 1:
        raise ParameterError(
            f"{from_stdin[0]} and {from_stdin[1]} are both standard input (-). Pass a file name for one of them."
        )
    for number, (output, text, path, names) in enumerate(written):
        for source, _, file, _ in read:
            if _writes(path, names, file):
                raise ParameterError(
                    f"{text}: {output} would overwrite {source}, which is an input. Choose another name."
                )
        for other, _, file, others in written[:number]:
            if _writes(path, names, file) or _writes(file, others, path):
                raise ParameterError(f"{text}: {other} and {output} are the same file. Choose another name.")
    for standard, stream, files in (("input", sys.stdin, written), ("output", sys.stdout, read)):
        for shown, text, path, _ in files:
            try:
                is_stream = path.is_file() and os.path.samefile(path, stream.fileno())
            except (AttributeError, OSError, ValueError):  # the stream has no file, or the path is a tree, say
                continue
            if is_stream:
                raise ParameterError(f"{text}: {shown} is also standard {standard}. Choose another name.")


def _writes(path: Path, names: Sequence[str], other: Path) -> bool:
    """Whether writing a file, or files with these names into a folder, would overwrite the other file."""
    if not names:
        return _same(path, other)
    inside = [path / other.name, *(path.iterdir() if path.is_dir() else ())]  # links in the folder are followed
    return any(_same(file, other) for file in inside if any(fnmatch(file.name, name) for name in names))


def _same(first: Path, second: Path) -> bool:
    """Whether two names lead to the same file or folder, which need not exist. Devices and pipes cannot be overwritten."""
    try:
        if first.exists():
            return (first.is_file() or first.is_dir()) and first.samefile(second)
        return first.resolve() == second.resolve()
    except (OSError, ValueError, RuntimeError):  # not a valid file name, for example a tree
        return False


@contextmanager
def naming_output(temporary: Path, output: str) -> Iterator[None]:
    """Name the output file, not the temporary file that is written first, in errors."""
    try:
        yield
    except FileError as error:
        raise FileError(str(error).replace(str(temporary), output)) from error
