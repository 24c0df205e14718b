"""``treelet convert``: convert files from one format to another."""

from __future__ import annotations

import sys
from typing import Annotated

from treelet.cli.options import READ, WRITTEN, Reading, command
from treelet.errors import ParameterError


@command()
def _convert(
    source: Annotated[str, "IN", READ],
    target: Annotated[str, "OUT", WRITTEN],
    *,
    from_: Annotated[str | None, "--from FORMAT"] = None,
    to: Annotated[str | None, "FORMAT"] = None,
    drop: Annotated[list[str] | None, "KIND"] = None,
    drop_empty: bool = False,
    drop_function_tags: bool = False,
    root: Annotated[str | None, "LABEL"] = None,
    reading: Reading,
) -> None:
    """Convert a file of trees to another format.

    Output formats and suffixes: brackets (.mrg, .ptb, .trees, .brackets), lines (.txt), tsv (.tsv, .tab), csv (.csv), svmlight_tk (.dat, .svm, .svmlight), kelp (.klp, .kelp).

    A further suffix .gz, .xz or .bz2 means a compressed file.

    The command fails if the output format cannot store all data of IN. Use --drop to discard such data.

    Example: treelet convert train.tsv train.klp

    Parameters
    ----------
    source
        File to read. Use - for standard input.
    target
        File to write. Use - for standard output.
    from_
        Input format, the same as --format.
    to
        Output format. [default: from the suffix of OUT; brackets if OUT is - or has no suffix]
    drop
        Data to discard if the output format cannot store it: labels, vectors, strings (text columns) or trees (all
        tree columns but the first). Can be repeated.
    root
        Label for roots that have none.
    """
    from treelet.checks import plural
    from treelet.formats import find_target, read_document, write_document

    if from_ is not None and reading.format not in (None, from_):
        raise ParameterError(
            f"--from {from_} and --format {reading.format} name different formats. Pass one of the two options."
        )
    writing = find_target(to, target)
    options = reading.arguments(drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root)
    document = read_document(source, **{**options, "format": reading.format or from_})
    write_document(document, target, writing.name, drop=drop or ())
    trees = sum(int((columns.roots >= 0).sum()) for columns in document.trees.values())
    counts = f"{plural(len(document), 'example')}, {plural(trees, 'tree')}"
    print(f"{counts}: {document.format} -> {writing.name}", file=sys.stderr)
