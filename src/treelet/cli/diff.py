"""``treelet diff``: test whether two files of trees differ, and show the fragments that differ most."""

from __future__ import annotations

import json as json_format
from typing import Annotated, Any

import typer

from treelet.cli.options import JobsOption, JsonOption, NormalizeOption, ProgressOption, SeedOption, wrong_value
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
        int, typer.Option(metavar="N", help="Number of random permutations for the p-value.")
    ] = 1_000,
    top: Annotated[int, typer.Option(metavar="N", help="Number of fragments to show.")] = 20,
    searches: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Number of searches on randomly mixed files, for a p-value per fragment. Each takes a second or two; 0 omits these p-values.",
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
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Tree column to use when rows contain several trees.")
    ] = None,
    random_state: SeedOption = 0,
    n_jobs: JobsOption = 1,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory limit for kernel values, e.g. 512MiB.  [default: 1GiB]")
    ] = None,
    reading: Reading,
    progress: ProgressOption = True,
    json: JsonOption = False,
) -> None:
    """Test whether two files of trees differ, and show how.

    The output is a p-value and a list of fragments with z-scores. A z-score is the difference in weight between A and B, in standard deviations expected by chance.
    A positive z-score means more weight in A.

    Example: treelet diff wsj.mrg questions.mrg --jobs 2
    """
    if first == second == "-":
        raise ParameterError("A and B are both standard input (-). Pass a file name for one of them.")
    if top < 0:
        raise wrong_value("--top", "a whole number of at least 0", top)
    from treelet.corpora import diff
    from treelet.printable import printable
    from treelet.structures import read_trees

    banks = [read_trees(file, **reading.arguments(column=column)) for file in (first, second)]
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
        progress=progress,
    )
    if json:
        print(json_format.dumps({"files": [first, second], **difference.as_json()}))
        return
    print(f"A is {printable(first)}, B is {printable(second)}\n{difference}")
