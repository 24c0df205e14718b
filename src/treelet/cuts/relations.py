"""Relations between two entities: what of a tree, or of all trees of a forest, lies between them."""

from __future__ import annotations

import numpy as np

from treelet.cuts.copying import Copy, RootCollector
from treelet.cuts.forest_index import ForestIndex, as_forest_index
from treelet.cuts.marks import check_marks, mark_draft, mark_tree
from treelet.cuts.tree_index import AnyTree, TreeIndex, as_tree_index
from treelet.errors import TreeError
from treelet.structures import Forest, Tree
from treelet.structures.spans import Span

# --- of a tree --------------------------------------------------------------------------------------------------


def path_enclosed_tree(
    tree: AnyTree,
    first: Span,
    second: Span,
    *,
    mark: str | None = "node",
    labels: tuple[str, str] = ("E1", "E2"),
) -> Tree:
    """The part of a tree between two entities: PT or PET of Zhang et al. (2006).

    The subtree of the lowest node that holds both, without what lies left of the one that begins first and right of the
    one that ends last. Its words are exactly those from there to there.

    Parameters
    ----------
    tree : Tree, str or TreeIndex
    first, second : (int, int)
        Each entity's first word, and the first word behind it. They may stand in any order, and may overlap.
    mark : {"node", "tags", None}
        How the entities are shown. ``"node"``: a new node above each entity's words, right below the lowest constituent
        around them; above each piece, if they are pieces of several constituents. ``"tags"``: the tags of the entities'
        words get the label in front, as in E1-NN; a word that shares its tag or has none gets a new node.
    labels : (str, str)
        Of `first` and of `second`, whichever comes first in the sentence. They may hold the types of the entities:
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
    """The whole subtree of the lowest node that holds two entities: MCT of Zhang et al. (2006).

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
    """The first word of two spans, the first word behind both, and the lowest node that holds them."""
    (a, b), (c, d) = index.check_span(first), index.check_span(second)
    begin, end = min(a, c), max(b, d)
    return begin, end, index.covering((begin, end))


# --- of all trees of a forest -----------------------------------------------------------------------------------


def enclosed_forest(
    forest: Forest | ForestIndex,
    first: Span,
    second: Span,
    *,
    mark: str | None = "node",
    labels: tuple[str, str] = ("E1", "E2"),
) -> Forest:
    """What lies between two spans of words, they included: the path-enclosed trees of all trees.

    The path-enclosed tree of a tree is what is below the lowest node over both spans, without the words before the
    first and after the last of the two, and without the nodes that are left with no word.

    Parameters
    ----------
    forest : Forest or ForestIndex
        What it is a part of.
    first, second : (begin, end)
        Word positions of the two, in any order. They may overlap.
    mark : {"node", "tags", None}
        How the two are shown, see `marked_forest`.
    labels : (str, str)
        The marks of `first` and of `second`.

    Returns
    -------
    Forest
        Of path-enclosed trees, each with the summed probability of the trees that it comes from. Words keep their
        positions.

    Notes
    -----
    The lowest node over both may be another one in each tree. All have the same words once they are cut, so that those
    of one label are one root; roots with several labels are joined by a hidden root, a choice that is in no tree. So
    kernels see the path-enclosed trees and nothing else, no production that all examples would share.

    Where nodes are cut, edges that have become equal are one, with the sum of their probabilities, and so are nodes
    that have become equal with all that is below them. Other nodes stay apart though they now have one label and one
    span, since what is below them and around them goes together; a tree may therefore be there twice, with two
    probabilities that add up. A node that a cut leaves with one child stays.

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
    # All that meets the window and does not hold it is below the lowest node that does.
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
        raise TreeError(f"no tree of the forest has a node over the words {low}-{high}")
    return Forest.from_columns(copy.draft.columns(mark_draft(copy.draft, roots, entities, mark)))
