"""Edit scripts: the operations that turn one tree into another at the least cost."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast, overload

from treelet import _core
from treelet.checks import plural, wrong
from treelet.cuts import TreeIndex
from treelet.edits.distance import EditDistance, check_sizes, tree_sizes
from treelet.errors import TreeError
from treelet.formats.adapters import Located
from treelet.formats.places import SourcePlace
from treelet.printable import printable
from treelet.shown import Drawn
from treelet.structures.tree import Tree
from treelet.structures.treebank import Treebank

_OPERATION = 400
"""Bytes per node for an operation and the labels of the node."""
_SIGNS = {"keep": " ", "rename": "~", "insert": "+", "delete": "-"}
"""Signs of the operations in text."""
LINES, LEVELS, WIDTH = 300, 60, 72  # limits of a script that is drawn as text; WIDTH is that of a column


@dataclass(frozen=True)
class EditOperation:
    """One operation of an edit script.

    Attributes
    ----------
    kind : {"keep", "rename", "insert", "delete"}
        Operation on a node.
    source, target : int or None
        Positions of the node in the first and in the second tree, in pre-order from 0. None if the
        tree does not have the node.
    source_label, target_label : str or None
        Labels of the node in both trees.
    cost : float
        Cost of the operation; 0 for "keep".
    source_place, target_place : Place or None
        Line of the node, if the tree knows it: a tree of `treelet.formats.python_trees`, or a slice with one tree of
        the bank that `treelet.read_code` returns.
    """

    kind: str
    source: int | None
    target: int | None
    source_label: str | None
    target_label: str | None
    cost: float
    source_place: Any = None
    target_place: Any = None

    def __str__(self) -> str:
        labels = [printable(label) for label in (self.source_label, self.target_label) if label is not None]
        places = [_line_and_column(place) for place in (self.source_place, self.target_place) if place is not None]
        at = f" at {' -> '.join(places)}" if places else ""
        return f"{self.kind} {' -> '.join(labels if self.kind == 'rename' else labels[:1])}{at}"


def _line_and_column(place: Any) -> str:
    """Return the begin of a place as text, such as ``3:5``, or ``line 3`` if the column is unknown."""
    first, second = place[:2]
    return f"line {first}" if second is None else f"{first}:{second}"


class EditScript(Drawn, Sequence[EditOperation]):
    """A cheapest sequence of operations that turns one tree into another.

    An edit script is a sequence of `EditOperation`. Printing it lists the operations that change
    something. Notebooks display both trees, as `treelet.draw` does.

    Attributes
    ----------
    source, target : Tree
        The two trees.
    cost : float
        Total cost of the operations, which is the edit distance.
    similarity : float
        1 − cost / max(sizes).
    """

    def __init__(self, source: Tree, target: Tree, operations: list[EditOperation], cost: float) -> None:
        self.source, self.target, self.cost = source, target, cost
        self._operations = operations

    @property
    def similarity(self) -> float:
        larger = max(
            sum(operation.source is not None for operation in self),
            sum(operation.target is not None for operation in self),
        )
        return 1 - self.cost / larger

    @property
    def mapping(self) -> list[tuple[int, int]]:
        """Pairs of positions of the nodes that are kept or renamed, in ascending order."""
        return [(o.source, o.target) for o in self if o.source is not None and o.target is not None]

    def summary(self) -> str:
        """Return the cost and the similarity as text. Only the similarity of equal trees is rounded to 1."""
        similarity = f"{self.similarity:.2f}"
        if similarity == "1.00" and self.cost:
            similarity = f"{min(self.similarity, 0.9999):.4f}"
        return f"cost {self.cost:g}, similarity {similarity}"

    def changes(self) -> list[EditOperation]:
        """Return the operations without those that keep a node."""
        return [operation for operation in self if operation.kind != "keep"]

    def unchanged(self) -> list[tuple[int, int, int]]:
        """Return the largest subtrees that are kept as a whole.

        Each is given by the positions of its roots in both trees and its number of nodes.

        Examples
        --------
        >>> import treelet as tl
        >>> tl.edit_script("(S (NP (N cats)) (VP (V ran)))", "(S (NP (N dogs)) (VP (V ran)))").unchanged()
        [(4, 4, 3)]
        """
        after = [TreeIndex(tree).after for tree in (self.source, self.target)]
        changed = [o.source for o in self if o.source is not None and o.kind != "keep"]
        subtrees: list[tuple[int, int, int]] = []
        end = 0  # of the last subtree
        for operation in self:
            source, target = operation.source, operation.target
            if source is None or target is None or operation.kind != "keep" or source < end:
                continue
            size = after[0][source] - source
            changed_within = bisect_left(changed, after[0][source]) - bisect_left(changed, source)
            if not changed_within and after[1][target] - target == size:
                subtrees.append((source, target, size))
                end = source + size
        return subtrees

    def pretty(self) -> str:
        """Draw both trees side by side, for a terminal.

        The first column marks renamed (``~``), deleted (``-``) and inserted (``+``) nodes. The next
        columns are the first and the second tree: one node per line, below its parent. A subtree that
        is kept as a whole is on one line. If the trees know the places of their nodes, changed nodes
        have their line and column.

        Raises
        ------
        TreeError
            If the drawing would have more than 300 lines or 60 levels. Print the script instead.

        Examples
        --------
        >>> import treelet as tl
        >>> print(tl.edit_script("(S (NP (N cats)) (VP (V ran)))", "(S (NP (N dogs)) (VP (V ran) away))").pretty())
          S             S
            NP            NP
              N             N
        ~       cats          dogs
            VP            VP
              (V ran)       (V ran)
        +                   away
        """
        indexes = [TreeIndex(tree) for tree in (self.source, self.target)]
        sizes = {source: size for source, _, size in self.unchanged()}
        rows: list[tuple[str, str, str]] = []
        end = 0  # of the last subtree that is kept as a whole
        for operation in self:
            source, target = operation.source, operation.target
            if source is not None and source < end:
                continue
            size = sizes.get(source, 0) if source is not None else 0
            end = source + size if source is not None and size else end
            depths = [
                index.depth[node] for index, node in zip(indexes, (source, target), strict=True) if node is not None
            ]
            if len(rows) == LINES or max(depths) >= LEVELS:
                raise TreeError(
                    f"The drawing would have more than {LINES:,} lines or {LEVELS:,} levels. Print the script instead."
                )
            places = (None, None) if operation.kind == "keep" else (operation.source_place, operation.target_place)
            left, right = (
                _cell(index, node, place, size > 1)
                for index, node, place in zip(indexes, (source, target), places, strict=True)
            )
            rows.append((_SIGNS[operation.kind], left, right))
        width = max(len(left) for _, left, _ in rows)
        return "\n".join(f"{sign} {left:{width}}   {right}".rstrip() for sign, left, right in rows)

    def __len__(self) -> int:
        return len(self._operations)

    @overload
    def __getitem__(self, index: int) -> EditOperation: ...
    @overload
    def __getitem__(self, index: slice) -> list[EditOperation]: ...
    def __getitem__(self, index: int | slice) -> EditOperation | list[EditOperation]:
        return self._operations[index]

    def __iter__(self) -> Iterator[EditOperation]:
        return iter(self._operations)

    def __str__(self) -> str:
        changes = self.changes()
        kept = len(self) - len(changes)
        return "\n".join([f"{self.summary()}, {kept:,} kept", *(f"  {operation}" for operation in changes)])

    def __repr__(self) -> str:
        counts = {kind: sum(o.kind == kind for o in self) for kind in ("keep", "rename", "insert", "delete")}
        listed = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        return f"<EditScript: cost {self.cost:g}; {listed}>"


def edit_script(a: Any, b: Any, distance: EditDistance | None = None) -> EditScript:
    """Return the operations that turn one tree into another at the least cost.

    Parameters
    ----------
    a, b : tree
        `Tree` objects, bracketed strings, any other form of a tree that a `Treebank` accepts, or a
        `Treebank` of one tree. A slice of `treelet.read_code`, such as ``bank[3:4]``, keeps the lines
        of the nodes.
    distance : EditDistance, optional
        Costs of the operations. Default: ``EditDistance()``, which has unit costs.

    Returns
    -------
    EditScript
        The operations in the order of the nodes: parents before children, from left to right.
        Inserted nodes come before the next node of the second tree that is kept or renamed.
        Their total `cost` is the distance. If several scripts have the least cost, the result is
        one of them, always the same one.

    Raises
    ------
    NotEnoughMemoryError
        If the trees are too large. The memory is proportional to the product of their sizes.

    Examples
    --------
    >>> import treelet as tl
    >>> script = tl.edit_script("(S (NP (N Mary)) (VP (V ran)))", "(S (NP (N John)) (VP (V ran) (ADV away)))")
    >>> print(script)
    cost 3, similarity 0.67, 6 kept
      rename Mary -> John
      insert ADV
      insert away
    >>> [(operation.kind, operation.source, operation.target) for operation in script.changes()]
    [('rename', 3, 3), ('insert', None, 7), ('insert', None, 8)]
    """
    chosen = EditDistance() if distance is None else distance
    if not isinstance(chosen, EditDistance):
        raise wrong("distance", "an EditDistance", distance, of="edit_script", optional=True)
    pair = [_single(tree, name) for tree, name in ((a, "a"), (b, "b"))]
    columns, rows = pair[1].joined(pair[0])
    chosen.validate()
    size, other_size = (float(tree_sizes(bank)[0][0]) for bank in (rows, columns))
    (store, (root,)), (_, (other,)) = rows.columns, columns.columns
    costs = chosen._costs()
    if root == other:
        check_sizes(size, other_size, 0, _OPERATION)
        mapping = {position: position for position in range(int(size))}
    else:
        check_sizes(size, other_size, costs.cell, _OPERATION)
        mapped = _core.edit_mapping(store, int(root), int(other), costs.native(rows, columns))
        mapping = dict(zip(*(positions.tolist() for positions in mapped), strict=True))
    trees = [cast("Tree", bank[0]) for bank in pair]
    labels = [[node.label for node in tree.nodes()] for tree in trees]
    places = [_places(item, len(own)) for item, own in zip((a, b), labels, strict=True)]
    operations = _operations(labels, places, mapping, costs.single)
    return EditScript(trees[0], trees[1], operations, math.fsum(operation.cost for operation in operations))


def _cell(index: TreeIndex, node: int | None, place: Any, whole: bool) -> str:
    """Return a node or its whole subtree as text, indented by its depth; nothing if the tree does not have the node."""
    if node is None:
        return ""
    indent, at = "  " * index.depth[node], "" if place is None else f" {_line_and_column(place)}"
    text = printable(str(index.nodes[node]) if whole else index.label(node))
    room = max(WIDTH - len(indent) - len(at), 12)
    return f"{indent}{text if len(text) <= room else text[: room - 1] + '…'}{at}"


def _single(tree: Any, name: str) -> Treebank:
    """Return a bank of one tree."""
    if isinstance(tree, Treebank) and len(tree) != 1:
        raise TreeError(
            f"edit_script compares two trees, but {name!r} is a bank of {plural(len(tree), 'tree')}. Pass one tree, such as bank[0:1]."
        )
    bank = tree if isinstance(tree, Treebank) else Treebank([tree])
    if bank.columns.roots[0] < 0:
        raise TreeError(f"The tree {name!r} is missing (None). edit_script needs two trees.")
    return bank


def _places(item: Any, count: int) -> list[Any]:
    """Return the places of the nodes in pre-order. None for trees without places."""
    if isinstance(item, Located):
        return [node.place for node in item.nodes()]
    lines = item.places.node_lines(0) if isinstance(item, Treebank) and item.places is not None else None
    if lines is None:
        return [None] * count
    file = item.places[0].file
    return [SourcePlace(file, line) for line in lines.tolist()]


def _operations(
    labels: list[list[str]],
    places: list[list[Any]],
    mapping: dict[int, int],
    cost_of: Callable[[str | None, str | None], float],
) -> list[EditOperation]:
    """Return the operations in the order of the nodes. The mapping preserves this order."""
    operations: list[EditOperation] = []
    cost_of = cache(cost_of)
    inserted = 0  # number of nodes of the target that have an operation

    def add(kind: str, source: int | None, target: int | None) -> None:
        own = [None, None] if source is None else [labels[0][source], places[0][source]]
        other = [None, None] if target is None else [labels[1][target], places[1][target]]
        cost = cost_of(own[0], other[0])
        operations.append(EditOperation(kind, source, target, own[0], other[0], cost, own[1], other[1]))

    def insert_up_to(end: int) -> None:
        nonlocal inserted
        for target in range(inserted, end):
            add("insert", None, target)
        inserted = end

    for source, label in enumerate(labels[0]):
        target = mapping.get(source)
        if target is None:
            add("delete", source, None)
            continue
        insert_up_to(target)
        add("keep" if labels[1][target] == label else "rename", source, target)
        inserted = target + 1
    insert_up_to(len(labels[1]))
    return operations
