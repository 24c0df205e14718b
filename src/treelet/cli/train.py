"""``treelet train``: a classifier from labelled trees, in a file."""

from __future__ import annotations

import json as json_format
import math
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treelet.cli import examples, files
from treelet.cli.options import (
    FormatOption,
    JobsOption,
    JsonOption,
    KernelOption,
    LamOption,
    MaxDepthOption,
    MuOption,
    NoLeavesOption,
    ProgressOption,
    SeedOption,
    kernel_from_options,
    one_of,
)
from treelet.cli.overwriting import READ, WRITTEN
from treelet.errors import ParameterError

if TYPE_CHECKING:
    from treelet.cli.grid import Search
    from treelet.kernels import Kernel
    from treelet.learn import KernelSVC

SHOWN = 20  # classes


def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Trees with labels; - is the standard input."), READ],
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="The model's file, such as m.treelet."), WRITTEN
    ],
    kernel: KernelOption = "sst",
    lam: LamOption = None,
    mu: MuOption = None,
    max_depth: MaxDepthOption = None,
    no_leaves: NoLeavesOption = False,
    no_normalize: Annotated[
        bool, typer.Option("--no-normalize", help="The plain kernel. By default K(x,y) / sqrt(K(x,x) K(y,y)).")
    ] = False,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Which trees, where an example has several; may be repeated. Default: all."),
    ] = None,
    vectors: Annotated[
        float | None, typer.Option(metavar="WEIGHT", help="Add WEIGHT times the inner product of feature vectors.")
    ] = None,
    normalize_vectors: Annotated[
        bool, typer.Option("--normalize-vectors", help="The cosine of feature vectors instead.")
    ] = False,
    C: Annotated[  # the name that all support vector machines have for it
        float | None, typer.Option("--C", "-C", metavar="NUMBER", help="The price of an error.  [default: 1]")
    ] = None,
    multi_class: Annotated[
        str, typer.Option(metavar="ovr|ovo", help="One machine a class, or one a pair of classes.")
    ] = "ovr",
    class_weight: Annotated[
        str | None, typer.Option(metavar="balanced", help="balanced: rare classes weigh as much as frequent ones.")
    ] = None,
    grid: Annotated[
        bool,
        typer.Option("--grid", help="Choose --lam, --mu and --C, as far as not given, by 5-fold cross-validation."),
    ] = False,
    random_state: SeedOption = 0,
    n_jobs: JobsOption = 1,
    format: FormatOption = None,
    progress: ProgressOption = True,
    json: JsonOption = False,
) -> None:
    """Train a classifier: a support vector machine with a tree kernel, normalised unless told otherwise.

    Example: treelet train train.tsv -o m.treelet --kernel sst --lam 0.4 --C 1
    """
    given = {"lam": lam, "mu": mu, "max_depth": max_depth, "no_leaves": no_leaves, "normalize": not no_normalize}
    kernel_from_options(kernel, **given)  # type: ignore[arg-type]  # complains before anything is read
    _check(
        C=C,
        vectors=vectors,
        normalize_vectors=normalize_vectors,
        seed=random_state,
    )
    multi_class = one_of("--multi-class", multi_class, ("ovr", "ovo"))
    class_weight = None if class_weight is None else one_of("--class-weight", class_weight, ("balanced",))
    if output == "-":
        raise ParameterError("a model cannot go to the standard output: name a file, such as -o m.treelet")
    begin = time.perf_counter()
    with files.whole_file(Path(output)) as temporary:
        from treelet.learn import KernelSVC, save

        reading = time.perf_counter()
        found = examples.read(file, format)
        labels = found.needed_labels()
        if len(set(labels)) < 2:
            raise ParameterError(
                f"{found.file}: all {len(found)} examples have the label {labels[0]!r}; a classifier needs two or more"
            )
        trees = _tree_columns(found, column)
        data, bare = _data(found, trees, vectors is not None)
        seconds = {"read": time.perf_counter() - reading}

        def made(**chosen: float) -> Kernel:
            trees_kernel = kernel_from_options(kernel, **{**given, **chosen})  # type: ignore[arg-type]
            return _combined(trees_kernel, [] if bare else trees, found, vectors, normalize_vectors)

        machine = KernelSVC(
            multi_class=multi_class,
            class_weight=class_weight,
            n_jobs=n_jobs,
            progress=progress,
            C=1.0 if C is None else C,
        )
        search = None
        if grid:
            from treelet.cli.grid import search_grid

            fixed = {"lam": lam, "mu": mu, "C": C}
            search = search_grid(
                kernel,
                fixed,
                made=made,
                machine=machine,
                data=data,
                labels=labels,
                seed=random_state,
                progress=progress,
            )
            machine.set_params(C=search.best["C"])
            seconds["grid"] = search.seconds
        chosen = {} if search is None else {name: value for name, value in search.best.items() if name != "C"}
        machine.set_params(kernel=made(**chosen)).fit(data, labels)
        machine.set_params(progress=False, n_jobs=1)  # a model does not remember how it was made
        seconds.update(machine.fit_seconds_)
        save(machine, temporary)
        size = temporary.stat().st_size
    seconds["total"] = time.perf_counter() - begin
    report = Report(found, machine, search, seconds, output, size, list(found.vectors) if vectors is None else [])
    print(json_format.dumps(report.as_dict()) if json else report.text())


def _check(
    *,
    C: float | None,
    vectors: float | None,
    normalize_vectors: bool,
    seed: int,
) -> None:
    for name, value in (("--C", C), ("--vectors", vectors)):
        if value is not None and not 0 < value < math.inf:
            raise ParameterError(f"{name} must be a number above 0, got {value}")
    if normalize_vectors and vectors is None:
        raise ParameterError("--normalize-vectors is for --vectors WEIGHT, which is missing")
    if not 0 <= seed < 2**32:
        raise ParameterError(f"--seed must be from 0 to 2^32 - 1, got {seed}")


# --- data and kernel ----------------------------------------------------------------------------------------------


def _tree_columns(found: examples.Examples, wanted: list[str] | None) -> list[str]:
    if not found.trees:
        raise ParameterError(f"{found.file}: there are no trees, only {found.columns()}; a tree kernel needs some")
    unknown = [name for name in wanted or [] if name not in found.trees]
    if unknown:
        raise ParameterError(f"{found.file}: there are no trees called {unknown[0]!r}; the file has {found.columns()}")
    return list(dict.fromkeys(wanted or found.trees))


def _data(found: examples.Examples, trees: list[str], with_vectors: bool) -> tuple[Any, bool]:
    """The columns to learn from; just the trees, without a name, if there is nothing to tell them from."""
    from treelet.structures import Table

    if with_vectors and not found.vectors:
        raise ParameterError(f"{found.file}: --vectors needs feature vectors; the file has {found.columns()}")
    if len(found.trees) == 1 and not with_vectors:
        return found.trees[trees[0]], True
    used: dict[str, Any] = {name: found.trees[name] for name in trees}
    return Table({**used, **(found.vectors if with_vectors else {})}), False


def _combined(kernel: Kernel, trees: list[str], found: examples.Examples, weight: float | None, cosine: bool) -> Kernel:
    """The sum of the kernel over all columns of trees and, weighted, the inner products of all vectors."""
    from treelet.kernels import Linear, On

    if not trees:
        return kernel
    whole: Kernel = On(trees[0], kernel)
    for name in trees[1:]:
        whole = whole + On(name, kernel)
    if weight is None:
        return whole
    for name in found.vectors:
        part: Kernel = On(name, Linear().normalized() if cosine else Linear())
        whole = whole + (part if weight == 1 else weight * part)
    return whole


# --- what it says -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """What was trained, and how long it took."""

    found: examples.Examples
    machine: KernelSVC
    search: Search | None
    seconds: dict[str, float]
    output: str
    size: int
    unused: list[str]

    @property
    def counts(self) -> dict[str, int]:
        return dict(sorted(Counter(self.found.labels or ()).items()))

    def as_dict(self) -> dict[str, Any]:
        stats = self.machine.model_.stats()
        return {
            "file": self.found.file,
            "examples": len(self.found),
            "classes": self.counts,
            "kernel": repr(self.machine.kernel),
            "C": self.machine.C,
            "multi_class": self.machine.multi_class,
            "class_weight": self.machine.class_weight,
            "grid": None if self.search is None else self.search.as_dict(),
            "support_examples": stats.support_examples,
            "model": {**asdict(stats), "compression": stats.compression},
            "seconds": self.seconds,
            "output": self.output,
            "bytes": self.size,
        }

    def text(self) -> str:
        machine, stats = self.machine, self.machine.model_.stats()
        named = [f"{label} {count:,}" for label, count in self.counts.items()]
        more = f", and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
        kept = f", {stats.kept_examples:,} examples kept as they are" if stats.kept_examples else ""
        times = ", ".join(f"{name} {value:.2f}" for name, value in self.seconds.items() if name != "total")
        lines = [] if self.search is None else [self.search.table(), ""]
        lines += [
            f"examples  {len(self.found):,} from {self.found.file}",
            f"classes   {len(named)}: {', '.join(named[:SHOWN])}{more}",
            f"kernel    {machine.kernel!r}",
            f"machine   C={machine.C:g}, {machine.multi_class}"
            + (", balanced classes" if machine.class_weight == "balanced" else ""),
            f"support   {stats.support_examples:,} of {len(self.found):,} examples",
            f"model     {stats.nodes:,} nodes of support trees as {stats.distinct_subtrees:,} distinct subtrees: "
            f"{stats.model_bytes:,} bytes for {stats.support_bytes:,} ({stats.compression:.1f} times smaller){kept}",
            f"seconds   {self.seconds['total']:.2f} ({times})",
            f"file      {self.output}, {self.size:,} bytes",
        ]
        if self.unused:
            lines.append(f"not used  the feature vectors {', '.join(self.unused)}: --vectors 1 adds them")
        return "\n".join(lines)
