"""``treelet compare``: two trees, their kernel value and the fragments that make it up, or their edit distance."""

from __future__ import annotations

import json as json_format
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from treelet.cli.inputs import contents_of, read_argument
from treelet.cli.options import READ, WRITTEN, Reading, at_least, command, kernel_from_options
from treelet.errors import ParameterError, TreeError
from treelet.printable import readable_number

if TYPE_CHECKING:
    from treelet.fragments import SharedFragments


@command(main="kernel lam top edits picture format json", needs={"picture": "edits"})
def _compare(
    first: Annotated[str, "TREE1", READ],
    second: Annotated[str, "TREE2", READ],
    *,
    base_kernel: Any,
    top: Annotated[int | None, "N", at_least(0)] = None,
    edits: bool = False,
    picture: Annotated[str | None, "FILE", WRITTEN] = None,
    reading: Reading,
    json: bool = False,
) -> None:
    """Show how similar two trees are and which fragments they share.

    The output has the kernel value with and without normalization. Contributions of fragments add up to the value without normalization.

    With --edits, the output has the edit distance of the trees and their similarity, 1 - distance / number of nodes of the larger tree. Source code and markup are shown with lines and columns.

    With --kernel forest, tagging or locality, TREE1 and TREE2 are forests, tagged sentences or dependency parses.

    Example: treelet compare "(NP (D the) (N apple))" "(NP (D the) (N pear))"

    Example: treelet compare "the/D dog/N" "a/D dog/N" --kernel tagging

    Parameters
    ----------
    first
        Tree in brackets, or a file that contains one tree. Write @NAME for a file whose name begins with a bracket.
    second
        Second tree, in the same form.
    top
        Number of shared fragments to show. [default: 20]
    edits
        Compare by edit distance instead: show the nodes to delete (-), insert (+) and rename (~) to turn TREE1 into
        TREE2.
    picture
        Draw both trees with their differences, to a file ending in .svg, .png, .pdf or .tex; for --edits.
    """
    if edits:
        if repr(base_kernel) != repr(kernel_from_options()) or top is not None:
            used = "--top applies" if top is not None else "The options of the kernel apply"
            raise ParameterError(f"{used} to shared fragments, not to --edits. Remove --edits, or the other option.")
        if picture is not None:
            from treelet.drawing.drawing import check_kind

            check_kind(Path(picture).suffix, picture)
        source = read_argument(first, "TREE1", reading, located=True)
        _compare_edits(source, read_argument(second, "TREE2", reading, located=True), picture, json)
        return
    top = 20 if top is None else top
    contents = contents_of(base_kernel)
    trees = [read_argument(text, f"TREE{n}", reading, contents=contents) for n, text in enumerate((first, second), 1)]

    from treelet.fragments import shared_fragments
    from treelet.kernels.algebra import without_excess

    value = float(base_kernel([trees[0]], [trees[1]])[0, 0])
    normalized = base_kernel.normalized()
    cosine = float(without_excess(normalized, normalized([trees[0]], [trees[1]]))[0, 0])
    shared = shared_fragments(trees[0], trees[1], base_kernel)
    if json:
        result: dict[str, Any] = {
            "kernel": repr(base_kernel),
            "trees": [tree.to_json() if hasattr(tree, "to_json") else str(tree) for tree in trees],
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
    noun = {"tagged": "sentence"}.get(contents, contents.removesuffix("s"))
    for number, tree in enumerate(trees, 1):
        print(f"{noun} {number}{_pretty(tree)}\n")
    print(f"kernel      {base_kernel!r}\nvalue       {readable_number(value)}\nnormalized  {readable_number(cosine)}\n")
    print(_table(shared, top))


def _pretty(item: Any) -> str:
    """Return an example as lines of text, after the end of a line. Of a forest, the best tree is shown."""
    from treelet.checks import plural
    from treelet.structures import Forest, Tree

    if isinstance(item, Forest):
        best = f"{_pretty(item.best()[0])}" if item else ""
        return f": {plural(item.count_trees(), 'tree')}{', the best one' if item.count_trees() > 1 else ''}{best}"
    if not isinstance(item, Tree):
        return f"\n{item}"
    size = sum(1 for _ in item.nodes())
    return f"\n{item.pretty()}" if size <= 300 else f"\n({item.label}, a tree of {size:,} nodes: too large to draw)"


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
            "operations": [
                {
                    **asdict(operation),
                    "source_place": operation.source_place and operation.source_place._asdict(),
                    "target_place": operation.target_place and operation.target_place._asdict(),
                }
                for operation in script
            ],
        }
        print(json_format.dumps(result))
        return
    kinds = {"keep": "kept", "rename": "renamed", "insert": "inserted", "delete": "deleted"}
    counts = ", ".join(f"{sum(o.kind == kind for o in script):,} {name}" for kind, name in kinds.items())
    print(
        f"distance    {readable_number(script.cost)}\nsimilarity  {readable_number(script.similarity)}\nnodes       {counts}\n"
    )
    try:  # both trees side by side or, if they are large, the changes
        print(script.pretty() if script.changes() else "the trees are equal")
    except TreeError:
        print("\n".join(map(str, script.changes())))


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
