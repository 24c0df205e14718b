"""``treelet diff``: test whether two files of trees differ, and show the fragments that differ most."""

from __future__ import annotations

import json as json_format
from dataclasses import replace
from typing import Annotated, Any

from treelet.cli.inputs import contents_of, read_files
from treelet.cli.options import READ, Reading, at_least, command
from treelet.errors import ParameterError


@command(main="kernel lam normalize permutations top paired n_jobs format json")
def _diff(
    first: Annotated[str, "A", READ],
    second: Annotated[str, "B", READ],
    *,
    base_kernel: Any,
    normalize: bool = True,
    permutations: Annotated[int, "N"] = 1000,
    top: Annotated[int, "N", at_least(0)] = 20,
    searches: Annotated[int, "N"] = 0,
    paired: bool = False,
    most: Annotated[int, "N"] = 20000,
    column: str | None = None,
    format_a: Annotated[str | None, "FORMAT"] = None,
    format_b: Annotated[str | None, "FORMAT"] = None,
    column_a: Annotated[str | None, "NAME"] = None,
    column_b: Annotated[str | None, "NAME"] = None,
    random_state: int = 0,
    n_jobs: int = 1,
    memory: str | None = None,
    reading: Reading,
    progress: bool = True,
    json: bool = False,
) -> None:
    """Test whether two collections of trees differ significantly.

    The output is a p-value and a list of the fragments that differ most, with z-scores. A z-score is a difference divided by its standard deviation. The difference is the mean weight of a fragment in A minus its mean weight in B. The standard deviation is that of the same difference when the trees are assigned to A and B at random.
    A positive z-score means more weight in A.

    The files may have different formats, which are detected. If detection fails, pass --format-a and --format-b, with options of the
    format after a colon, e.g. --format-b tsv:tree_column=2.

    With --kernel forest, tagging or locality, the files contain forests, tagged sentences or dependency parses. Their fragments are not listed.

    Example: treelet diff wsj.mrg questions.mrg --jobs 2

    Parameters
    ----------
    first
        First file of trees. Use - for standard input.
    second
        Second file of trees. Use - for standard input.
    permutations
        Number of random permutations for the p-value of the whole comparison.
    top
        Number of fragments to show.
    searches
        Number of random permutations for the p-values of single fragments. Each permutation takes one or two
        seconds. 0 disables these p-values.
    paired
        Treat the i-th trees of A and B as a pair, e.g. two parses of the same sentence.
    most
        Maximum number of trees per file for the p-value. Larger files are sampled at random.
    format_a
        Format of A, if it differs from B. [default: --format]
    format_b
        Format of B, if it differs from A. [default: --format]
    column_a
        Tree column of A. [default: --column]
    column_b
        Tree column of B. [default: --column]
    """
    from treelet.corpora import diff
    from treelet.corpora.corpus_diff import LEAST
    from treelet.printable import printable

    files = [(first, format_a, column_a), (second, format_b, column_b)]
    banks = []
    for file, own_format, own_column in files:
        own = replace(reading, format=own_format or reading.format)
        banks.append(read_files([file], own, contents_of(base_kernel), column=own_column or column))
        if len(banks[-1]) < LEAST:
            count = "only 1 tree" if len(banks[-1]) else "no trees"
            shown = "<stdin>" if file == "-" else file
            raise ParameterError(
                f"{shown}: the file contains {count}. treelet diff needs at least {LEAST} trees per file."
            )
    difference = diff(
        banks[0],
        banks[1],
        base_kernel.normalized() if normalize else base_kernel,
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
