"""Edit scripts by definition: conditions of a mapping, and the operations applied to a tree one by one."""

from __future__ import annotations

from dataclasses import dataclass, field

from treelet.edits import EditScript
from treelet.structures import Tree


@dataclass
class Node:
    """A node of a tree that is being edited."""

    label: str
    target: int | None = None
    """Position in the second tree, if the script maps or inserts the node."""
    children: list[Node] = field(default_factory=list)
    parent: Node | None = None

    def tree(self) -> Tree:
        return Tree(self.label, [child.tree() for child in self.children])


def copied(tree: Tree) -> tuple[Node, list[Node]]:
    """Return a copy of a tree below an extra root, and its nodes in pre-order."""
    top, nodes = Node("the extra root"), []
    stack = [(tree, top)]
    while stack:
        original, parent = stack.pop()
        node = Node(original.label, parent=parent)
        parent.children.append(node)
        nodes.append(node)
        stack.extend((child, node) for child in reversed(original.children))
    return top, nodes


def spans(tree: Tree) -> list[tuple[int, int]]:
    """Return the positions of each node and of its last descendant, in pre-order."""
    _, nodes = copied(tree)
    last = list(range(len(nodes)))
    numbers = {id(node): number for number, node in enumerate(nodes)}
    for number in reversed(range(len(nodes))):
        parent = numbers.get(id(nodes[number].parent))
        if parent is not None:
            last[parent] = max(last[parent], last[number])
    return list(enumerate(last))


def check_mapping(script: EditScript) -> None:
    """Check that the mapping is one-to-one, covers all nodes, and preserves ancestors and order."""
    for side, tree in (("source", script.source), ("target", script.target)):
        labels = [node.label for node in tree.nodes()]
        listed = [(getattr(o, side), getattr(o, f"{side}_label")) for o in script if getattr(o, side) is not None]
        assert sorted(listed) == list(enumerate(labels)), f"Each node of the {side} must have one operation."
    for operation in script:
        equal = operation.source_label == operation.target_label
        kind = "insert" if operation.source is None else "delete" if operation.target is None else None
        assert operation.kind == (kind or ("keep" if equal else "rename"))
    source, target = spans(script.source), spans(script.target)
    for number, (i, j) in enumerate(script.mapping):
        for p, q in script.mapping[:number]:
            relations = [
                (u < v, u > v, u <= v <= spanned[u][1], v <= u <= spanned[v][1])
                for spanned, u, v in ((source, i, p), (target, j, q))
            ]
            assert relations[0] == relations[1], f"({i}, {j}) and ({p}, {q}) are not in the same relation."


def replayed(script: EditScript) -> Tree:
    """Return the tree that results if the operations are applied to the first tree.

    Nodes are deleted, then renamed, then inserted, parents before children. A node is inserted below
    its parent, above those consecutive children of the parent that belong below it.
    """
    top, nodes = copied(script.source)
    placed: dict[int, Node] = {}  # nodes by their positions in the second tree
    for operation in script:
        if operation.kind == "delete":
            node = nodes[operation.source]
            siblings = node.parent.children
            place = next(k for k, sibling in enumerate(siblings) if sibling is node)
            for child in node.children:
                child.parent = node.parent
            siblings[place : place + 1] = node.children
        elif operation.kind != "insert":
            node = placed[operation.target] = nodes[operation.source]
            node.label, node.target = operation.target_label, operation.target
    positions = spans(script.target)
    for operation in sorted((o for o in script if o.kind == "insert"), key=lambda o: o.target):
        position, last = positions[operation.target]
        above = [p for p, end in positions[:position] if end >= last]
        parent = placed[above[-1]] if above else top
        adopted = [k for k, child in enumerate(parent.children) if position < child.target <= last]
        before = sum(child.target < position for child in parent.children)
        begin, end = (adopted[0], adopted[-1] + 1) if adopted else (before, before)
        assert begin == before, "An inserted node must adopt the children that follow its left siblings."
        assert end - begin == len(adopted), "An inserted node must adopt consecutive children."
        node = Node(operation.target_label, operation.target, parent.children[begin:end], parent)
        for child in node.children:
            child.parent = node
        parent.children[begin:end] = [node]
        placed[operation.target] = node
    assert len(top.children) == 1, "The result must have one root."
    return top.children[0].tree()
