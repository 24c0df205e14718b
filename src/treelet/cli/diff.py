"""``treelet diff``: test whether two files of trees differ, and show the fragments that differ most."""

from __future__ import annotations

import json as json_format
from dataclasses import replace
from typing import Annotated, Any

import typer

from treelet.cli.options import (
    COLUMN,
    MEMORY,
    JobsOption,
    JsonOption,
    NormalizeOption,
    ProgressOption,
    SeedOption,
    memory_size,
    wrong_value,
)
from treelet.cli.overwriting import READ
from treelet.cli.reading import Reading, with_option_groups
from treelet.errors import ParameterError


@with_option_groups
def command(
    first: Annotated[str, typer.Argument(metavar="A", help="First file of trees. Use - for standard input."), READ],
    second: Annotated[str, typer.Argument(metavar="B", help="Second file of trees. Use - for standard input."), READ],
    *,
    tree_kernel: Any,
    normalize: NormalizeOption = True,
    permutations: Annotated[
        int, typer.Option(metavar="N", help="Number of random permutations for the p-value of the whole comparison.")
    ] = 1_000,
    top: Annotated[int, typer.Option(metavar="N", help="Number of fragments to show.")] = 20,
    searches: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Number of random permutations for the p-values of single fragments. Each permutation takes one or two seconds. 0 disables these p-values.",
        ),
    ] = 0,
    paired: Annotated[
        bool,
        typer.Option(
            "--paired", help="Treat the i-th trees of A and B as a pair, e.g. two parses of the same sentence."
        ),
    ] = False,
    most: Annotated[
        int,
        typer.Option(
            metavar="N", help="Maximum number of trees per file for the p-value. Larger files are sampled at random."
        ),
    ] = 20_000,
    column: Annotated[str | None, typer.Option(metavar="NAME", help=COLUMN)] = None,
    format_a: Annotated[
        str | None,
        typer.Option("--format-a", metavar="FORMAT", help="Format of A, if it differs from B.  [default: --format]"),
    ] = None,
    format_b: Annotated[
        str | None,
        typer.Option("--format-b", metavar="FORMAT", help="Format of B, if it differs from A.  [default: --format]"),
    ] = None,
    column_a: Annotated[
        str | None, typer.Option("--column-a", metavar="NAME", help="Tree column of A.  [default: --column]")
    ] = None,
    column_b: Annotated[
        str | None, typer.Option("--column-b", metavar="NAME", help="Tree column of B.  [default: --column]")
    ] = None,
    random_state: SeedOption = 0,
    n_jobs: JobsOption = 1,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", callback=memory_size, help=f"{MEMORY}  [default: 1GiB]"),
    ] = None,
    reading: Reading,
    progress: ProgressOption = True,
    json: JsonOption = False,
) -> None:
    """Test whether two collections of trees differ significantly.

    The output is a p-value and a list of the fragments that differ most, with z-scores. A z-score is a difference divided by its standard deviation. The difference is the mean weight of a fragment in A minus its mean weight in B. The standard deviation is that of the same difference when the trees are assigned to A and B at random.
    A positive z-score means more weight in A.

    The files may have different formats, which are detected. If detection fails, pass --format-a and --format-b, with options of the
    format after a colon, e.g. --format-b tsv:tree_column=2.

    Example: treelet diff wsj.mrg questions.mrg --jobs 2
    """
    if first == second == "-":
        raise ParameterError("A and B are both standard input (-). Pass a file name for one of them.")
    if top < 0:
        raise wrong_value("--top", "a whole number of at least 0", top)
    from treelet.corpora import diff
    from treelet.corpora.corpus_diff import LEAST
    from treelet.printable import printable
    from treelet.structures import read_trees

    files = [(first, format_a, column_a), (second, format_b, column_b)]
    banks = []
    for file, own_format, own_column in files:
        options = replace(reading, format=own_format or reading.format).arguments(column=own_column or column)
        banks.append(read_trees(file, **options))
        if len(banks[-1]) < LEAST:
            count = "only 1 tree" if len(banks[-1]) else "no trees"
            shown = "<stdin>" if file == "-" else file
            raise ParameterError(
                f"{shown}: the file contains {count}. treelet diff needs at least {LEAST} trees per file."
            )
    difference = diff(
        banks[0],
        banks[1],
        tree_kernel.normalized() if normalize else tree_kernel,
        permutations=permutations,
        n=top,
        searches=searches,
        paired=paired,
        most=most,
        random_state=random_state,
        n_jobs=n_jobs,
        memory=memory,
    )
    if json:
        print(json_format.dumps({"files": [first, second], **difference.as_json()}))
        return
    print(f"A is {printable(first)}, B is {printable(second)}\n{difference}")
