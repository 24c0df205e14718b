"""``treelet compare``: two trees, their kernel value and the fragments that make it up, or their edit distance."""

from __future__ import annotations

import json as json_format
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from treelet.cli.options import KERNEL_OPTIONS, JsonOption, kernel_from_options, wrong_value
from treelet.cli.overwriting import READ, WRITTEN
from treelet.cli.reading import Reading, with_option_groups
from treelet.errors import FileError, FormatError, ParameterError, TreeError
from treelet.printable import readable_number

if TYPE_CHECKING:
    from treelet.edits import EditOperation, EditScript
    from treelet.fragments import SharedFragments
    from treelet.structures import Tree, Treebank

_LARGEST_DRAWN = 300  # nodes
_TOP = 20  # fragments


@with_option_groups
def command(
    first: Annotated[
        str,
        typer.Argument(
            metavar="TREE1",
            help="Tree in brackets, or a file that contains one tree. Write @NAME for a file whose name begins with a bracket.",
        ),
        READ,
    ],
    second: Annotated[str, typer.Argument(metavar="TREE2", help="Second tree, in the same form."), READ],
    *,
    tree_kernel: Any,
    top: Annotated[
        int | None, typer.Option(metavar="N", help="Number of shared fragments to show.  [default: 20]")
    ] = None,
    edits: Annotated[
        bool,
        typer.Option(
            "--edits",
            help="Compare by edit distance instead: show the nodes to delete (-), insert (+) and rename (~) to turn TREE1 into TREE2.",
        ),
    ] = False,
    picture: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw both trees with their differences, to a file ending in .svg, .png, .pdf or .tex; for --edits.",
        ),
        WRITTEN,
    ] = None,
    reading: Reading,
    json: JsonOption = False,
) -> None:
    """Show how similar two trees are and which fragments they share.

    The output has the kernel value with and without normalization. Contributions of fragments add up to the value without normalization.

    With --edits, the output has the edit distance of the trees and their similarity, 1 - distance / number of nodes of the larger tree. Source code and markup are shown with lines and columns.

    Example: treelet compare "(NP (D the) (N apple))" "(NP (D the) (N pear))"
    """
    if edits:
        _check_edit_options(tree_kernel, top, picture)
        source, target = (_with_places(text, name, reading) for text, name in ((first, "TREE1"), (second, "TREE2")))
        _compare_edits(source, target, picture, json)
        return
    if picture is not None:
        raise ParameterError("--picture draws the result of --edits. Add --edits, or remove --picture.")
    top = _TOP if top is None else top
    if top < 0:
        raise wrong_value("--top", "a whole number of at least 0", top)
    trees = read_argument(first, "TREE1", reading), read_argument(second, "TREE2", reading)

    from treelet.fragments import shared_fragments
    from treelet.kernels.algebra import without_excess

    value = float(tree_kernel([trees[0]], [trees[1]])[0, 0])
    normalized = tree_kernel.normalized()
    cosine = float(without_excess(normalized, normalized([trees[0]], [trees[1]]))[0, 0])
    shared = shared_fragments(*trees, tree_kernel)
    if json:
        result: dict[str, Any] = {
            "kernel": repr(tree_kernel),
            "trees": [str(tree) for tree in trees],
            "value": value,
            "normalized": cosine,
            "fragments": [
                {"fragment": str(fragment.tree), "counts": fragment.counts, "contribution": fragment.contribution}
                for fragment in shared[:top]
            ],
            "found": len(shared),
            "complete": shared.complete,
            "sum": shared.total(),
        }
        print(json_format.dumps(result))
        return
    for number, tree in enumerate(trees, 1):
        print(f"tree {number}\n{_drawing(tree)}\n")
    print(f"kernel      {tree_kernel!r}\nvalue       {readable_number(value)}\nnormalized  {readable_number(cosine)}\n")
    print(_table(shared, top))


def _check_edit_options(tree_kernel: Any, top: int | None, picture: str | None) -> None:
    from treelet.drawing.drawing import check_kind

    default = kernel_from_options(**{name: value for name, (_, value) in KERNEL_OPTIONS.items()})
    if repr(tree_kernel) != repr(default) or top is not None:
        used = "--top applies" if top is not None else "The options of the kernel apply"
        raise ParameterError(f"{used} to shared fragments, not to --edits. Remove --edits, or the other option.")
    if picture is not None:
        check_kind(Path(picture).suffix, picture)


def _compare_edits(first: Any, second: Any, picture: str | None, json: bool) -> None:
    """Print the edit script of two trees, and draw it if a file is named."""
    from treelet.edits import edit_script

    script = edit_script(first, second)
    if picture is not None:
        from treelet.drawing import draw

        draw(script).save(picture)
        print(f"picture: {picture}", file=sys.stderr)
    if json:
        result = {
            "trees": [str(tree) for tree in (script.source, script.target)],
            "distance": script.cost,
            "similarity": script.similarity,
            "operations": [_fields(operation) for operation in script],
        }
        print(json_format.dumps(result))
        return
    kinds = {"keep": "kept", "rename": "renamed", "insert": "inserted", "delete": "deleted"}
    counts = ", ".join(f"{sum(o.kind == kind for o in script):,} {name}" for kind, name in kinds.items())
    print(
        f"distance    {readable_number(script.cost)}\nsimilarity  {readable_number(script.similarity)}\nnodes       {counts}\n"
    )
    print(_listed(script))


def _fields(operation: EditOperation) -> dict[str, Any]:
    from dataclasses import asdict

    places = (operation.source_place, operation.target_place)
    source, target = (None if place is None else place._asdict() for place in places)
    return {**asdict(operation), "source_place": source, "target_place": target}


def _listed(script: EditScript) -> str:
    """Return both trees side by side or, if they are large, the changes."""
    if not script.changes():
        return "the trees are equal"
    try:
        return script.pretty()
    except TreeError:
        return "\n".join(map(str, script.changes()))


def _with_places(text: str, argument: str, reading: Reading) -> Any:
    """Return the tree of an argument. Trees of source code and markup know the places of their nodes."""
    if not text.lstrip().startswith("("):
        from treelet.formats.reading import read_located

        name = text.removeprefix("@")
        try:
            trees = read_located(name, **reading.arguments())
        except FileError as error:
            raise_unreadable(text, error)
        if trees is not None:
            return _only(trees, name)
    return read_argument(text, argument, reading)


def _only(trees: Sequence[Any], name: str) -> Any:
    """Return the only tree of a file."""
    from treelet.checks import plural

    if len(trees) != 1 or trees[0] is None:
        raise TreeError(f"{name}: the file must contain exactly one tree. Got {plural(len(trees), 'tree')} instead.")
    return trees[0]


def read_argument(text: str, argument: str, reading: Reading) -> Tree:
    """Return the tree of an argument, which is a bracketed tree, ``@FILE``, or the name of a file."""
    from treelet.structures import Tree, read_trees

    if text.lstrip().startswith("("):
        try:
            return Tree.parse(text)
        except FormatError as error:
            raise type(error)(error.message, argument, error.line, error.column) from error
    name = text.removeprefix("@")
    try:
        bank = read_trees(name, **reading.arguments())
    except FileError as error:
        raise_unreadable(text, error)
    tree: Tree = _only(bank, name)
    return tree


def trees_in_brackets(texts: Sequence[str], argument: str, reading: Reading) -> Treebank | None:
    """Return the trees that an argument consists of, or None if it consists of files, ``-`` or ``@FILE``."""
    from treelet.structures import Treebank

    trees = [text for text in texts if text.lstrip().startswith("(") and not os.path.lexists(text)]
    if trees and len(trees) < len(texts):
        raise ParameterError(f"{argument} contains trees in brackets and file names. Pass trees only, or files only.")
    names = [argument if len(trees) == 1 else f"tree {number} of {argument}" for number in range(1, len(trees) + 1)]
    named = zip(trees, names, strict=True)
    return Treebank([read_argument(text, name, reading) for text, name in named]) if trees else None


def raise_unreadable(text: str, error: FileError) -> NoReturn:
    """Raise the error for an argument that is neither a bracketed tree nor a readable file."""
    from treelet.printable import shortened

    if text.startswith("@") or text == "-":
        raise error
    example = "'(NP (D the) (N apple))'"
    if isinstance(error.__cause__, FileNotFoundError):
        raise FileError(
            f"{shortened(text)} is neither a tree in brackets nor an existing file. "
            f"Write a tree such as {example}, or pass a file name."
        ) from error
    raise FileError(f"{error} Write a tree in brackets, for example {example}.") from error


def _drawing(tree: Tree) -> str:
    size = sum(1 for _ in tree.nodes())
    if size > _LARGEST_DRAWN:
        return f"({tree.label}, a tree of {size:,} nodes: too large to draw)"
    return tree.pretty()


def _table(shared: SharedFragments, top: int) -> str:
    if not shared:
        return "no fragments in common"
    lines = [f"contribution  {'in 1':>5}  {'in 2':>5}  fragment"]
    for tree, (count1, count2), contribution in shared[:top]:
        lines.append(f"{readable_number(contribution):>12}  {count1:>5}  {count2:>5}  {tree}")
    sums = []
    if len(shared) > top:
        rest = math.fsum(fragment.contribution for fragment in shared[top:])
        sums.append((rest, f"{len(shared) - top:,} more (increase --top to list them)"))
    count = f"{len(shared):,}"
    all_listed = f"all {count} shared fragments"
    some_listed = f"sum of these {count}; more fragments exist, but are not listed"
    sums.append((shared.total(), all_listed if shared.complete else some_listed))
    lines += [f"{readable_number(value):>12}  {'':>5}  {'':>5}  {meaning}" for value, meaning in sums]
    return "\n".join(lines)
