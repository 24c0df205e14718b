"""``treelet diff``: whether two files of trees differ by more than chance, and in what."""

from __future__ import annotations

import json as json_format
from typing import Annotated, Any

import typer

from treelet.cli.options import JobsOption, JsonOption, ProgressOption, SeedOption
from treelet.cli.overwriting import READ
from treelet.cli.reading import Reading, with_option_groups
from treelet.errors import ParameterError


@with_option_groups
def command(
    first: Annotated[str, typer.Argument(metavar="A", help="A file of trees; - is the standard input."), READ],
    second: Annotated[str, typer.Argument(metavar="B", help="The other."), READ],
    *,
    tree_kernel: Any,
    normalize: Annotated[
        bool, typer.Option("--normalize/--no-normalize", help="Whether all trees count alike, long and short ones.")
    ] = True,
    permutations: Annotated[
        int, typer.Option(metavar="N", help="How often trees are dealt out again, for the p-value.")
    ] = 1_000,
    top: Annotated[int, typer.Option(metavar="N", help="How many fragments to show.")] = 20,
    searches: Annotated[
        int, typer.Option(metavar="N", help="Searches among trees dealt out by lot, for a p-value of each fragment.")
    ] = 0,
    paired: Annotated[
        bool, typer.Option("--paired", help="Trees of A and B belong together one by one, as two parses of a sentence.")
    ] = False,
    most: Annotated[
        int, typer.Option(metavar="N", help="From larger files so many trees are drawn, for the p-value.")
    ] = 20_000,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which trees, where a file has several a row.")
    ] = None,
    random_state: SeedOption = 0,
    n_jobs: JobsOption = 1,
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help="What the work may take, such as 1GiB.")] = None,
    reading: Reading,
    progress: ProgressOption = True,
    json: JsonOption = False,
) -> None:
    """Show whether two files of trees differ, and in what.

    z is how far a fragment's weight is from what chance makes of it, in standard deviations: above 0 where A has more. Example: treelet diff wsj.mrg questions.mrg --jobs 2
    """
    if first == second == "-":
        raise ParameterError("only one of A and B can be the standard input")
    if top < 0:
        raise ParameterError(f"--top must be at least 0, got {top}")
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
