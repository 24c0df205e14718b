"""Options that several commands have, and the kernel that they describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from treelet.errors import ParameterError

if TYPE_CHECKING:
    from treelet.kernels import Kernel

KERNELS = {
    "st": ("Subtree", ("lam",)),
    "sst": ("SubsetTree", ("lam", "max_depth")),
    "pt": ("PartialTree", ("lam", "mu", "leaves")),
}
OPTION_NAMES = {"lam": "--lam", "mu": "--mu", "max_depth": "--max-depth", "leaves": "--no-leaves"}

KernelOption = Annotated[
    str, typer.Option("--kernel", "-k", metavar="NAME", help="st (subtrees), sst (subset trees) or pt (partial trees).")
]
LamOption = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER", help="Decay in (0, 1]; 1 counts fragments. By default 1 for st, 0.4 for sst and pt."
    ),
]
MuOption = Annotated[float | None, typer.Option(metavar="NUMBER", help="pt: decay a level, in (0, 1].  [default: 0.4]")]
MaxDepthOption = Annotated[int | None, typer.Option(metavar="N", help="sst: only fragments of at most this depth.")]
NoLeavesOption = Annotated[bool, typer.Option("--no-leaves", help="pt: equal words count for nothing on their own.")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT", help="Of the input: brackets, lines, tsv, ...  By default what its name, or it, looks like."
    ),
]
ProgressOption = Annotated[
    bool,
    typer.Option(
        "--progress/--no-progress",
        help="How far long work is, on the standard error: a bar on a terminal, lines elsewhere.  [default: --progress]",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on the standard output.")]


def kernel_from_options(
    name: str,
    *,
    lam: float | None = None,
    mu: float | None = None,
    max_depth: int | None = None,
    no_leaves: bool = False,
    normalize: bool = False,
) -> Kernel:
    """The kernel that the options of a command describe; what is not given has the kernel's own default.

    Raises
    ------
    ParameterError
        There is no such kernel, it has no such parameter, or the value makes no sense.
    """
    if name not in KERNELS:
        raise ParameterError(f"there is no kernel {name!r}: choose one of {', '.join(KERNELS)}")
    class_name, known = KERNELS[name]
    given: dict[str, Any] = {"lam": lam, "mu": mu, "max_depth": max_depth, "leaves": False if no_leaves else None}
    given = {key: value for key, value in given.items() if value is not None}
    for key in given:
        if key not in known:
            homes = " or ".join(kernel for kernel, (_, theirs) in KERNELS.items() if key in theirs)
            raise ParameterError(f"{OPTION_NAMES[key]} is for the kernel {homes}, not for {name}")
    from treelet import kernels

    kernel: Kernel = getattr(kernels, class_name)(**given)
    return kernel.normalized() if normalize else kernel
