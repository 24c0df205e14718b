"""``treelet convert``: from one file format to another."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treelet.cli.overwriting import READ, WRITTEN

if TYPE_CHECKING:
    from treelet.formats import Document

# What a format leaves out. Formats that are not here keep what they can.
LEFT_OUT = {
    "brackets": ("labels", "vectors", "strings", "trees"),
    "lines": ("labels", "vectors", "strings", "trees"),
    "tsv": ("vectors", "strings", "trees"),
    "svmlight_tk": ("strings",),
}


def command(
    source: Annotated[str, typer.Argument(metavar="IN", help="File to read; - is the standard input."), READ],
    target: Annotated[str, typer.Argument(metavar="OUT", help="File to write; - is the standard output."), WRITTEN],
    *,
    from_: Annotated[
        str | None,
        typer.Option("--from", "--format", metavar="FORMAT", help="By default what the name of IN, or IN, looks like."),
    ] = None,
    to: Annotated[str | None, typer.Option(metavar="FORMAT", help="By default what the name of OUT suggests.")] = None,
    drop_empty: Annotated[bool, typer.Option("--drop-empty", help="Leave out -NONE- elements.")] = False,
    drop_function_tags: Annotated[bool, typer.Option("--drop-function-tags", help="NP-SBJ-1 becomes NP.")] = False,
    root: Annotated[str | None, typer.Option(metavar="LABEL", help="For roots that have no label.")] = None,
    encoding: Annotated[str, typer.Option(metavar="NAME", help="Of IN; OUT is always UTF-8.")] = "utf-8",
) -> None:
    """Convert a file of trees to another format.

    Formats: brackets, lines, tsv, svmlight_tk, kelp. Names that end in .gz, .xz or .bz2 are (un)packed.
    """
    from treelet.formats import find_format, read_document, write_document

    writing = find_format(to, target)
    options: dict[str, Any] = {"drop_empty": drop_empty, "drop_function_tags": drop_function_tags, "root": root}
    document = read_document(
        source, from_, encoding=encoding, **{name: value for name, value in options.items() if value}
    )
    write_document(document, target, writing.name)
    trees = sum(int((columns.roots >= 0).sum()) for columns in document.trees.values())
    print(f"{len(document):,} examples, {trees:,} trees: {document.format} -> {writing.name}", file=sys.stderr)
    lost = _left_out(document, writing.name)
    if lost:
        print(f"{writing.name} has no place for: {', '.join(lost)}", file=sys.stderr)


def _left_out(document: Document, name: str) -> list[str]:
    without = LEFT_OUT.get(name, ())
    names = list(document.trees)
    lost = [f"the trees {', '.join(names[1:])}"] if "trees" in without and len(names) > 1 else []
    if "labels" in without and document.labels is not None:
        lost.append("labels")
    if "vectors" in without and document.vectors:
        lost.append("feature vectors")
    if "strings" in without and document.strings:
        lost.append("texts")
    return lost
