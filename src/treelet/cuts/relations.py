"""Cuts for relation extraction: the part of a tree or forest between two entities."""

from __future__ import annotations

import numpy as np

from treelet.cuts.copying import Copy, RootCollector
from treelet.cuts.forest_index import ForestIndex, as_forest_index
from treelet.cuts.marks import check_marks, mark_draft, mark_tree
from treelet.cuts.tree_index import AnyTree, TreeIndex, as_tree_index
from treelet.errors import TreeError
from treelet.structures import Forest, Tree
from treelet.structures.spans import Span

# --- trees ------------------------------------------------------------------------------------------------------


def path_enclosed_tree(
    tree: AnyTree,
    first: Span,
    second: Span,
    *,
    mark: str | None = "node",
    labels: tuple[str, str] = ("E1", "E2"),
) -> Tree:
    """Cut the path-enclosed tree of two entities out of a tree (PT or PET of Zhang et al. 2006).

    The result is the subtree of the lowest node that contains both entities, without the words before
    the entity that begins first and after the entity that ends last.

    Parameters
    ----------
    tree : Tree, str or TreeIndex
        The tree.
    first, second : (int, int)
        First word of each entity and the word after its last word. The entities may be in any order
        and may overlap.
    mark : {"node", "tags", None}, default "node"
        Marks on the entities. ``"node"`` adds a node above the words of each entity, directly below
        the lowest constituent that contains them. If the words are in several constituents, each
        part gets a node. ``"tags"`` puts the label before the tags of the entities' words, as in
        E1-NN. A word that shares its tag or has none gets a new node. None adds no marks.
    labels : (str, str), default ("E1", "E2")
        Labels of `first` and `second`, in this order. They may contain the types of the entities:
        ``("E1-PER", "E2-ORG")``.

    Returns
    -------
    Tree

    Examples
    --------
    >>> from treelet.cuts import path_enclosed_tree
    >>> tree = "(S (NP (N John)) (VP (V saw) (NP (D a) (N man) (PP (P in) (NP (D the) (N bank))))))"
    >>> print(path_enclosed_tree(tree, (3, 4), (6, 7)))
    (NP (E1 (N man)) (PP (P in) (NP (D the) (E2 (N bank)))))
    >>> print(path_enclosed_tree(tree, (3, 4), (0, 1), mark="tags"))
    (S (NP (E2-N John)) (VP (V saw) (NP (D a) (E1-N man))))
    """
    index = as_tree_index(tree)
    begin, end, root = around(index, first, second)
    inside = [n for n in range(root, index.after[root]) if index.start[n] < end and index.end[n] > begin]
    return mark_tree(index.rebuilt(root, keep=inside), (first, second), labels, mark=mark, offset=begin)


def minimal_complete_tree(
    tree: AnyTree,
    first: Span,
    second: Span,
    *,
    mark: str | None = "node",
    labels: tuple[str, str] = ("E1", "E2"),
) -> Tree:
    """Cut the minimal complete tree of two entities out of a tree (MCT of Zhang et al. 2006).

    The result is the complete subtree of the lowest node that contains both entities.

    Parameters and result are those of `path_enclosed_tree`.

    Examples
    --------
    >>> from treelet.cuts import minimal_complete_tree
    >>> tree = "(S (NP (N John)) (VP (V saw) (NP (D a) (N man) (PP (P in) (NP (D the) (N bank))))))"
    >>> print(minimal_complete_tree(tree, (3, 4), (6, 7)))
    (NP (D a) (E1 (N man)) (PP (P in) (NP (D the) (E2 (N bank)))))
    """
    index = as_tree_index(tree)
    _, _, root = around(index, first, second)
    return mark_tree(index.nodes[root], (first, second), labels, mark=mark, offset=index.start[root])


def around(index: TreeIndex, first: Span, second: Span) -> tuple[int, int, int]:
    """Return the first word of two spans, the word after both, and the lowest node that contains both."""
    (a, b), (c, d) = index.check_span(first), index.check_span(second)
    begin, end = min(a, c), max(b, d)
    return begin, end, index.covering((begin, end))


# --- forests ----------------------------------------------------------------------------------------------------


def enclosed_forest(
    forest: Forest | ForestIndex,
    first: Span,
    second: Span,
    *,
    mark: str | None = "node",
    labels: tuple[str, str] = ("E1", "E2"),
) -> Forest:
    """Cut the path-enclosed trees of two entities out of all trees of a forest.

    See `path_enclosed_tree` for the cut of one tree.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    first, second : (begin, end)
        First word of each entity and the word after its last word. The entities may be in any order
        and may overlap.
    mark : {"node", "tags", None}, default "node"
        Marks on the entities, see `marked_forest`.
    labels : (str, str), default ("E1", "E2")
        Labels of `first` and `second`, in this order.

    Returns
    -------
    Forest
        The path-enclosed trees. The probability of each is the sum of the probabilities of the trees
        that it comes from. Words keep their positions.

    Notes
    -----
    The lowest node that contains both entities may differ between trees. All such nodes have the same
    words after the cut, so nodes with the same label become one root. Roots with different labels are
    joined by a hidden root, which is not part of any tree. Kernels therefore see only the
    path-enclosed trees, without a production that all examples would share.

    Edges that become equal by the cut are merged, and their probabilities are added. Nodes are merged
    if they become equal including everything below them. Other nodes with the same label and span
    stay separate, because their children depend on their context. The same tree may therefore occur
    twice, with two probabilities that add up. Nodes that are left with one child are kept.

    References
    ----------
    Zhang, Zhang, Su & Zhou (2006), A composite kernel to extract relations between entities with both flat and
    structured features; Zhang, Zhang & Li (2010), section 4.2.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import enclosed_forest
    >>> trees = ["(S (A u) (X (B x) (Y (C y) (D z))))", "(S (A u) (X (Y (B x) (C y)) (D z)))"]
    >>> forest = Forest.from_trees([(trees[0], 3), (trees[1], 1)])
    >>> for tree, p in enclosed_forest(forest, (1, 2), (2, 3), mark="tags").trees():
    ...     print(round(p, 2), tree)
    0.75 (X (E1-B x) (Y (E2-C y)))
    0.25 (Y (E1-B x) (E2-C y))
    """
    index = as_forest_index(forest)
    span1, span2 = index.span(first), index.span(second)
    entities = check_marks((span1, span2), labels, mark)
    window = low, high = min(span1[0], span2[0]), max(span1[1], span2[1])
    copy = Copy(index)
    over = ~index.word & (index.begin <= low) & (index.end >= high)
    # A node that overlaps the window without containing it is below the lowest node that contains the window.
    copy.add(np.flatnonzero(~over & (index.end > low) & (index.begin < high)), window)
    higher = set(np.flatnonzero(over).tolist())
    collector = RootCollector()
    for number in sorted(higher):
        label, share = index.labels[number], index.shares[number]
        for tails, chance in index.ways[number]:
            if label and higher.isdisjoint(tails):
                collector.add(
                    label, tuple([copy.node_of[below] for below in tails if below in copy.node_of]), share * chance
                )
    roots = collector.made(copy.draft, window)
    if not roots:
        raise TreeError(f"No tree of the forest has a node that contains the span ({low}, {high}).")
    return copy.draft.forest(mark_draft(copy.draft, roots, entities, mark))
