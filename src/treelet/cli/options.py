"""Options that several commands share, their completion in a shell, and the kernel that they describe."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treelet.errors import ParameterError

if TYPE_CHECKING:
    from treelet.kernels import Kernel


def among(*choices: str) -> Callable[[str], list[str]]:
    """Complete one of some words: ``treelet gram trees.mrg --kernel <TAB>``. File names are completed by the shell."""

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


KERNELS = {
    "st": ("Subtree", ("lam",)),
    "sst": ("SubsetTree", ("lam", "max_depth", "leaves")),
    "pt": ("PartialTree", ("lam", "mu", "leaves")),
}
OPTION_NAMES = {"lam": "--lam", "mu": "--mu", "max_depth": "--max-depth", "leaves": "--leaves"}

LAM = "Decay in (0, 1]: per production (st, sst) or per skipped child (pt). 1 disables the decay."
LAM_DEFAULT = "[default: 1 for st, 0.4 for sst and pt]"

KernelOption = Annotated[
    str,
    typer.Option(
        "--kernel",
        "-k",
        metavar="NAME",
        help="Tree kernel: st (subtrees), sst (subset trees) or pt (partial trees).",
        autocompletion=among(*KERNELS),
    ),
]
LamOption = Annotated[
    float | None,
    typer.Option(metavar="NUMBER", help=f"{LAM}  {LAM_DEFAULT}"),
]
MuOption = Annotated[
    float | None, typer.Option(metavar="NUMBER", help="Decay per tree level, in (0, 1]; pt only.  [default: 0.4]")
]
LamsOption = Annotated[
    str | None, typer.Option("--lam", metavar="LIST", help=f"{LAM} Separate several values with commas.  {LAM_DEFAULT}")
]
MusOption = Annotated[
    str | None,
    typer.Option(
        "--mu",
        metavar="LIST",
        help="Decay per tree level, in (0, 1]; pt only. Separate several values with commas.  [default: 0.4]",
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
        help="Count equal words as fragments of their own; sst and pt only.  [default: on for pt, off for sst]",
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
        metavar="SIZE", help="GPU memory limit, e.g. 10GiB; for --device cuda.  [default: all free GPU memory]"
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
    int, typer.Option("--seed", metavar="N", help="Random seed, at least 0. Equal seeds give equal results.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]


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


def check_device(computing: dict[str, Any]) -> None:
    """Raise an error if the device of the options cannot be used. Commands call this before they read anything."""
    from treelet.gram.executors import executor_for
    from treelet.resources import Resources

    executor_for(Resources.of(device=computing["device"], device_memory=computing["device_memory"]))


def one_of(option: str, value: str, choices: Sequence[str]) -> str:
    """Return the choice that was meant, in any case; otherwise raise an error that lists the choices and names the nearest."""
    known = {choice.lower(): choice for choice in choices}
    if value.lower() in known:
        return known[value.lower()]
    from treelet.checks import in_words

    near = get_close_matches(value.lower(), known, 1)
    hint = f" (did you mean {known[near[0]]}?)" if near else ""
    raise ParameterError(f"{option} must be {in_words(list(choices))}. Got {value!r} instead{hint}.")


def items(option: str, text: str) -> list[str]:
    """Values separated by commas."""
    values = [item.strip() for item in text.split(",")]
    if not all(values):
        raise ParameterError(f"{option} must be values separated by commas, got {text!r}")
    return values


def numbers(option: str, text: str, *, repeated: bool = False) -> list[float]:
    """Numbers separated by commas, each once unless they may be repeated."""
    try:
        values = [float(item) for item in items(option, text)]
    except ValueError:
        raise ParameterError(f"{option} must be numbers separated by commas, got {text!r}") from None
    if not all(map(math.isfinite, values)):
        raise ParameterError(f"{option} must be finite numbers, got {text!r}")
    return values if repeated else list(dict.fromkeys(values))


def kernel_from_options(
    kernel: str,
    *,
    lam: float | None = None,
    mu: float | None = None,
    max_depth: int | None = None,
    leaves: bool | None = None,
    normalize: bool = False,
) -> Kernel:
    """Return the kernel that the options of a command describe. Options that are not given have the kernel's defaults."""
    name = one_of("--kernel", kernel, tuple(KERNELS))
    class_name, known = KERNELS[name]
    parameters: dict[str, Any] = {"lam": lam, "mu": mu, "max_depth": max_depth, "leaves": leaves}
    parameters = {key: value for key, value in parameters.items() if value is not None}
    for key in parameters:
        if key not in known:
            homes = " or ".join(known_name for known_name, (_, theirs) in KERNELS.items() if key in theirs)
            raise ParameterError(f"{OPTION_NAMES[key]} is for the kernel {homes}, not for {name}")
    from treelet import kernels

    tree_kernel: Kernel = getattr(kernels, class_name)(**parameters)
    return tree_kernel.normalized() if normalize else tree_kernel
