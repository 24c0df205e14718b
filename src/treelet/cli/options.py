"""Options that several commands share, their completion in a shell, and checks of their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treelet.errors import ParameterError

if TYPE_CHECKING:
    from treelet.edits.distance import EditMeasure
    from treelet.kernels import Kernel


def among(*choices: str) -> Callable[[str], list[str]]:
    """Return a function that completes one of the choices in a shell: ``treelet gram trees.mrg --kernel <TAB>``."""

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def shown_name(parameter: Any) -> str:
    """Return the name that users know: the long form of an option, or the placeholder of an argument."""
    long = [str(name) for name in parameter.opts if name.startswith("--")]
    return long[0] if long else str(parameter.metavar or parameter.opts[0])


def _is_passed(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


_LEAST_MEMORY = 1 << 20
"""Smaller numbers of bytes without a unit are most likely gigabytes without their unit."""


def memory_size(param: typer.CallbackParam, value: str | None) -> str | None:
    """Check the value of a memory limit: a small number without a unit is refused."""
    if value is not None and value.strip().isdecimal() and 0 < int(value) < _LEAST_MEMORY:
        from treelet.checks import plural

        number = value.strip()
        raise ParameterError(
            f"{shown_name(param)} {number} is a limit of {plural(int(number), 'byte')}. Did you mean {number}GiB? "
            f"Write {number}B if you mean bytes."
        )
    return value


def _kernel(ctx: typer.Context, value: str) -> str:
    if value.isdecimal() and any(parameter.name == "k" for parameter in ctx.command.params):  # -k is not short for --k
        error = wrong_value("--kernel", "'st', 'sst' or 'pt'", value)
        raise ParameterError(f"{error} Did you mean '--k {value}'?")
    return value


def _seed(value: int) -> int:
    if not 0 <= value < 2**32:
        raise wrong_value("--seed", "a whole number from 0 to 2^32 - 1", value)
    return value


_MEASURES = ("kernel", "edit", "edit-distance")


def _measure(value: str) -> str:
    return one_of("--measure", value, _MEASURES)


KERNELS = {
    "st": ("Subtree", ("lam",)),
    "sst": ("SubsetTree", ("lam", "max_depth", "leaves")),
    "pt": ("PartialTree", ("lam", "mu", "leaves")),
}
_OPTION_NAMES = {"lam": "--lam", "mu": "--mu", "max_depth": "--max-depth", "leaves": "--leaves"}

_RANGES: dict[str, tuple[str, Callable[[float], bool]]] = {
    "--lam": ("(0, 1]", lambda value: 0 < value <= 1),
    "--mu": ("(0, 1]", lambda value: 0 < value <= 1),
    "--C": ("(0, inf)", lambda value: value > 0),
}
"""Intervals of options with several numbers, in words and as a test."""

_LAM = "Decay in (0, 1]. st, sst: factor per production. pt: factor per skipped child. 1 disables the decay."
_MU = "Decay per node, in (0, 1]; pt only. 1 disables the decay."
MEMORY = "Memory limit of the computation, without the trees themselves, e.g. 512MiB."
COLUMN = "Name of the tree to use if the rows have several trees, as in KeLP files."
QUERY = "Column that names the sentence (group) of each candidate (for tsv and csv: --option query_column=NAME)"
_LAM_DEFAULT = "[default: 1 for st, 0.4 for sst and pt]"

MeasureOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        callback=_measure,
        autocompletion=among(*_MEASURES),
        help="How to compare two trees: kernel (shared fragments), edit (edit similarity) or edit-distance. The edit distance is the least number of nodes to insert, delete or rename. The edit similarity is 1 - distance / number of nodes of the larger tree. Options of the kernel apply to kernel only.",
    ),
]
KernelOption = Annotated[
    str,
    typer.Option(
        "--kernel",
        "-k",
        metavar="NAME",
        callback=_kernel,
        help="Tree kernel: st (subtrees), sst (subset trees) or pt (partial trees).",
        autocompletion=among(*KERNELS),
    ),
]
LamOption = Annotated[
    float | None,
    typer.Option(metavar="NUMBER", help=f"{_LAM}  {_LAM_DEFAULT}"),
]
MuOption = Annotated[float | None, typer.Option(metavar="NUMBER", help=f"{_MU}  [default: 0.4]")]
LamsOption = Annotated[
    str | None,
    typer.Option("--lam", metavar="LIST", help=f"{_LAM} Separate several values with commas.  {_LAM_DEFAULT}"),
]
MusOption = Annotated[
    str | None,
    typer.Option(
        "--mu",
        metavar="LIST",
        help=f"{_MU} Separate several values with commas.  [default: 0.4]",
    ),
]
MaxDepthOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="Maximum depth of a fragment, in productions; sst only.  [default: no limit]"),
]
LeavesOption = Annotated[
    bool | None,
    typer.Option(
        "--leaves/--no-leaves",
        help="Also count single words as fragments. A word that two trees share counts even if its tag differs between them; sst and pt only.  [default: on for pt, off for sst]",
        show_default=False,
    ),
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Number of threads; -1 for one per core.")]
DeviceOption = Annotated[
    str,
    typer.Option(
        metavar="cpu|cuda",
        autocompletion=among("cpu", "cuda"),
        help="Where to compute: cpu, or cuda for a GPU. Run treelet doctor to check for a usable GPU.",
    ),
]
DeviceMemoryOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        callback=memory_size,
        help="GPU memory limit, e.g. 10GiB; for --device cuda.  [default: all free GPU memory]",
    ),
]
ProgressOption = Annotated[
    bool,
    typer.Option(
        "--progress/--no-progress",
        help="Show progress on standard error: a bar in a terminal, lines otherwise.  [default: --progress]",
        show_default=False,
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(
        "--seed", metavar="N", callback=_seed, help="Random seed, at least 0. Equal seeds give equal results."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
JsonSummaryOption = Annotated[
    bool, typer.Option("--json", help="Print a summary of the result as JSON on standard output.")
]
JsonOrSummaryOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the result as JSON on standard output. With --output, print a summary of the result as JSON.",
    ),
]


NormalizeOption = Annotated[
    bool,
    typer.Option(
        "--normalize/--no-normalize",
        help="Normalize the kernel: K(x,y) / sqrt(K(x,x) K(y,y)). Normalized values are at most 1 and never overflow.  [default: --normalize]",
        show_default=False,
    ),
]


KERNEL_OPTIONS: dict[str, tuple[Any, Any]] = {
    "kernel": (KernelOption, "sst"),
    "lam": (LamOption, None),
    "mu": (MuOption, None),
    "max_depth": (MaxDepthOption, None),
    "leaves": (LeavesOption, None),
}
COMPUTING_OPTIONS: dict[str, tuple[Any, Any]] = {
    "n_jobs": (JobsOption, 1),
    "device": (DeviceOption, "cpu"),
    "device_memory": (DeviceMemoryOption, None),
}


def check_device() -> None:
    """Raise an error if the device of the context cannot be used. Commands call this function before they read any file."""
    from treelet.matrices.executors import executor_for
    from treelet.resources import Resources

    executor_for(Resources.of())


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
    interval, valid = _RANGES.get(option, ("", lambda value: True))
    wanted = f"a {'number in ' + interval if interval else 'finite number'}, or several separated by commas"
    try:
        values = [float(item) for item in items(option, text)]
    except ValueError:
        raise wrong_value(option, wanted, text) from None
    if not all(math.isfinite(value) and valid(value) for value in values):
        raise wrong_value(option, wanted, text)
    return values if repeated else list(dict.fromkeys(values))


def edit_measure(ctx: typer.Context, measure: str, *kernel_only: str) -> EditMeasure | None:
    """Return the measure for ``--measure edit`` or ``edit-distance``; None for ``--measure kernel``.

    Options that describe a kernel raise an error if they are passed with an edit measure. `kernel_only` names such options
    of the command beyond `KERNEL_OPTIONS`.
    """
    if measure == "kernel":
        return None
    if passed := [
        parameter.secondary_opts[0] if ctx.params[parameter.name] is False else shown_name(parameter)
        for parameter in ctx.command.params
        if parameter.name in (*KERNEL_OPTIONS, *kernel_only) and _is_passed(ctx, parameter.name)
    ]:
        from treelet.checks import in_words

        plural = len(passed) > 1
        raise ParameterError(
            f"{in_words(passed, 'and')} {'apply' if plural else 'applies'} to --measure kernel only. "
            f"Remove {'these options' if plural else 'this option'}, or remove --measure {measure}."
        )
    from treelet.edits import EditDistance

    return EditDistance() if measure == "edit-distance" else EditDistance().similarity()


def kernel_from_options(
    kernel: str,
    *,
    lam: float | None = None,
    mu: float | None = None,
    max_depth: int | None = None,
    leaves: bool | None = None,
    normalize: bool = False,
) -> Kernel:
    """Return the kernel that the options of a command describe. Omitted options have the defaults of the kernel."""
    name = one_of("--kernel", kernel, tuple(KERNELS))
    class_name, known = KERNELS[name]
    parameters: dict[str, Any] = {"lam": lam, "mu": mu, "max_depth": max_depth, "leaves": leaves}
    parameters = {key: value for key, value in parameters.items() if value is not None}
    for key in parameters:
        if key not in known:
            suitable = " or ".join(other for other, (_, parameter_names) in KERNELS.items() if key in parameter_names)
            raise ParameterError(
                f"{_OPTION_NAMES[key]} does not apply to --kernel {name}. Use --kernel {suitable}, or remove {_OPTION_NAMES[key]}."
            )
    from treelet import kernels

    tree_kernel: Kernel = getattr(kernels, class_name)(**parameters)
    return tree_kernel.normalized() if normalize else tree_kernel
