"""Kernels of one pair of trees after another, timed in a C++ program (`pair_kernels.cpp`) that is compiled when it is needed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.recursions import nodes_of
from treelet.errors import ParameterError
from treelet.kernels import PartialTree, SubsetTree, Subtree
from treelet.structures import Tree

Kernel = Subtree | SubsetTree | PartialTree
Floats = NDArray[np.float64]
SOURCE = Path(__file__).with_suffix(".cpp")
COMPILER = "c++"
OPTIONS = ("-std=c++20", "-O3", "-march=native")
METHODS = ("fast", "labels", "sorting", "naive")
"""Pairs of nodes with one production (PT: one label); pairs with one label; the first with lists sorted anew each time; all pairs."""


class Timed(NamedTuple):
    """Results of the program: values, pairs of nodes per pair of trees, and times."""

    values: Floats
    worked_on: float
    times: Floats


def compiled(folder: Path) -> Path:
    """The program, built in a folder."""
    if shutil.which(COMPILER) is None:
        raise ParameterError(
            f"The C++ compiler {COMPILER} was not found. Install it: this experiment compiles a program for pairs of trees."
        )
    program = folder / "pair_kernels"
    subprocess.run([COMPILER, *OPTIONS, "-o", program, SOURCE], check=True)
    return program


def packed(trees: Sequence[Tree]) -> bytes:
    """Trees as the program reads them; equal labels and equal productions have equal numbers."""
    labels: dict[str, int] = {}
    productions: dict[tuple[str, ...] | None, int] = {None: -1}
    numbers = [len(trees)]
    for tree in trees:
        nodes = nodes_of(tree)
        numbers.append(len(nodes.labels))
        numbers += [labels.setdefault(label, len(labels)) for label in nodes.labels]
        numbers += [productions.setdefault(production, len(productions)) for production in nodes.productions]
        numbers += np.cumsum([0, *map(len, nodes.children)]).tolist()
        numbers += [child for below in nodes.children for child in below]
    return np.array(numbers, np.int32).tobytes()


def timed(program: Path, kernel: Kernel, trees: Sequence[Tree], method: str, *, repeats: int, blocks: int = 0) -> Timed:
    """Run the program.

    With `blocks`, all pairs are computed, and times are microseconds a pair, repeats x rows x blocks of columns. Without,
    each pair once (the other half of the values is filled in), and times are totals in CPU seconds, one per repeat.
    """
    source, target = program.with_suffix(".trees"), program.with_suffix(".values")
    source.write_bytes(packed(trees))
    name = {Subtree: "st", SubsetTree: "sst", PartialTree: "pt"}[type(kernel)]
    mu: Any = getattr(kernel, "mu", 1.0)
    given = [name, method, repr(float(kernel.lam)), repr(float(mu)), str(repeats), str(blocks)]
    subprocess.run([program, source, target, *given], check=True)
    found = np.fromfile(target)
    n = len(trees)
    values, times = found[1 : 1 + n * n].reshape(n, n), found[1 + n * n :]
    if not blocks:
        return Timed(np.tril(values) + np.tril(values, -1).T, float(found[0]), times)
    return Timed(values, float(found[0]), times.reshape(repeats, n, blocks))
