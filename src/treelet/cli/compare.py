"""``treelet compare``: two trees, their kernel value and the fragments that make it up."""

from __future__ import annotations

import json as json_format
import math
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from treelet.cli.options import JsonOption, wrong_value
from treelet.cli.overwriting import READ
from treelet.cli.reading import Reading, with_option_groups
from treelet.errors import FileError, FormatError, TreeError
from treelet.printable import readable_number

if TYPE_CHECKING:
    from treelet.fragments import SharedFragments
    from treelet.structures import Tree

LARGEST_DRAWN = 300  # nodes


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
    top: Annotated[int, typer.Option(metavar="N", help="Number of shared fragments to show.")] = 20,
    reading: Reading,
    json: JsonOption = False,
) -> None:
    """Show how similar two trees are and which fragments they share.

    The output has the kernel value with and without normalization. Contributions of fragments add up to the value without normalization.

    Example: treelet compare "(NP (D the) (N apple))" "(NP (D the) (N pear))"
    """
    if top < 0:
        raise wrong_value("--top", "a whole number of at least 0", top)
    trees = read_argument(first, "TREE1", reading), read_argument(second, "TREE2", reading)

    from treelet.fragments import shared_fragments
    from treelet.kernels.wrapped import without_excess

    value = float(tree_kernel([trees[0]], [trees[1]])[0, 0])
    cosine = float(without_excess(tree_kernel.normalized()([trees[0]], [trees[1]]))[0, 0])
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


def read_argument(text: str, argument: str, reading: Reading) -> Tree:
    """Return the tree of an argument, which is a bracketed tree, ``@FILE``, or the name of a file."""
    from treelet.checks import plural
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
    tree = bank[0] if len(bank) == 1 else None
    if tree is None:
        raise TreeError(f"{name}: the file must contain exactly one tree. Got {plural(len(bank), 'tree')} instead.")
    return tree


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
    if size > LARGEST_DRAWN:
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
