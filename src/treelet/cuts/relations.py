"""Cuts for relation extraction: the part of a tree or forest between two entities, and marks on the words of spans.

As everywhere in `treelet.cuts`, marking a forest has the same result as marking all of its trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np

from treelet.checks import check_one_of, plural, wrong
from treelet.cuts.copying import Copy, RootCollector, Variants, choices
from treelet.cuts.forest_index import ForestIndex, as_forest_index
from treelet.cuts.tree_index import AnyTree, Group, TreeIndex, as_tree_index
from treelet.errors import TreeError
from treelet.structures import Forest, Tree
from treelet.structures.forest import Draft, Ways
from treelet.structures.spans import Span
from treelet.structures.tree import check_label

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
    begin, end, root = _around(index, first, second)
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
    _, _, root = _around(index, first, second)
    return mark_tree(index.nodes[root], (first, second), labels, mark=mark, offset=index.start[root])


def _around(index: TreeIndex, first: Span, second: Span) -> tuple[int, int, int]:
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
    entities = _check_marks((span1, span2), labels, mark)
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
    return copy.draft.forest(_mark_draft(copy.draft, roots, entities, mark))


# --- marks on the words of spans ------------------------------------------------------------------------------------


def _check_marks(spans: Sequence[Span], labels: Sequence[str], mark: str | None) -> list[Group]:
    """Return the spans with their labels. Invalid parameters raise an error."""
    check_one_of("mark", mark, ("node", "tags", None))
    if isinstance(labels, str) or len(labels) != len(spans):
        raise wrong("labels", f"a list of {plural(len(spans), 'label')}, one per span", labels)
    return [(*span, check_label(label)) for span, label in zip(spans, labels, strict=True)]


def mark_tree(
    tree: Tree, spans: Sequence[Span], labels: Sequence[str], *, mark: str | None = "node", offset: int = 0
) -> Tree:
    """Mark the words of some spans in a tree. See `marked_forest` for spans, labels and marks.

    Parameters
    ----------
    tree : Tree
        The tree.
    spans, labels, mark
        As in `marked_forest`.
    offset : int, default 0
        Position of the first word of the tree, if the spans count from the beginning of a larger tree.

    Returns
    -------
    Tree

    Examples
    --------
    >>> from treelet import Tree
    >>> from treelet.cuts import mark_tree
    >>> print(mark_tree(Tree.parse("(S (NP (D the) (N man)) (V sleeps))"), [(0, 2)], ["E1"]))
    (S (NP (E1 (D the) (N man))) (V sleeps))
    """
    entities = [(begin - offset, end - offset, label) for begin, end, label in _check_marks(spans, labels, mark)]
    if mark == "tags":
        return _tree_tags(TreeIndex(tree), entities)
    for begin, end, label in _longest_first(entities) if mark == "node" else ():
        tree = _tree_node(TreeIndex(tree), begin, end, label)
    return tree


def _longest_first(entities: list[Group]) -> list[Group]:
    return sorted(entities, key=lambda entity: entity[0] - entity[1])  # the mark of a longer span is further up


def _tree_tags(index: TreeIndex, entities: list[Group]) -> Tree:
    marks: dict[int, list[str]] = {}
    for begin, end, label in entities:
        for number in range(begin, end):
            marks.setdefault(number, []).append(label)
    rename: dict[int, str] = {}
    wrap: dict[int, list[Group]] = {}
    positions: dict[int, dict[int, int]] = {}  # per node, the position of each child among its children
    for number, names in marks.items():
        word = index.leaves[number]
        above = index.parent[word]
        if above < 0:
            return Tree("-".join(names), [index.tree])
        if len(index.nodes[above].children) == 1:
            rename[above] = "-".join([*names, index.label(above)])
        else:
            if above not in positions:
                positions[above] = {child: position for position, child in enumerate(index.children(above))}
            position = positions[above][word]
            wrap.setdefault(above, []).append((position, position + 1, "-".join(names)))
    return index.rebuilt(rename=rename, wrap=wrap)


def _tree_node(index: TreeIndex, begin: int, end: int, label: str) -> Tree:
    wrap: dict[int, list[Group]] = {}
    for run in _siblings(index, _largest_inside(index, begin, end)):
        nodes = run
        while len(nodes) == 1 and index.nodes[nodes[0]].children and not index.nodes[nodes[0]].is_preterminal:
            nodes = index.children(nodes[0])
        above = index.parent[nodes[0]]
        if above < 0:
            return Tree(label, [index.tree])
        position = index.children(above).index(nodes[0])
        wrap.setdefault(above, []).append((position, position + len(nodes), label))
    return index.rebuilt(wrap=wrap)


def _largest_inside(index: TreeIndex, begin: int, end: int) -> list[int]:
    """Return the largest nodes that are within a span, from left to right. Together they contain all its words."""
    largest, word = [], begin
    while word < end:
        node = index.leaves[word]
        while (above := index.parent[node]) >= 0 and index.start[above] >= begin and index.end[above] <= end:
            node = above
        largest.append(node)
        word = index.end[node]
    return largest


def _siblings(index: TreeIndex, nodes: Sequence[int]) -> list[list[int]]:
    """Group ordered nodes into runs of neighbors with the same parent."""
    runs = [[node] for node in nodes[:1]]
    for left, right in pairwise(nodes):
        if index.parent[left] == index.parent[right] and index.after[left] == right:
            runs[-1].append(right)
        else:
            runs.append([right])
    return runs


def marked_forest(
    forest: Forest | ForestIndex, spans: Sequence[Span], labels: Sequence[str], *, mark: str | None = "node"
) -> Forest:
    """Mark the words of some spans in all trees of a forest.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    spans : list of (begin, end)
        First word of each span and the word after its last word. Spans may overlap.
    labels : list of str
        The marks, one per span.
    mark : {"node", "tags", None}, default "node"
        ``"node"`` adds a node above the words of a span, directly below the lowest constituent that
        contains them. If the words are in several constituents, each part gets a node. ``"tags"``
        puts the mark before the label of the node above each word, as in E1-NN. A word that is not
        the only child of its parent gets a new node. None adds no marks.

    Returns
    -------
    Forest

    Notes
    -----
    A node that is marked in some trees only becomes two nodes.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import marked_forest
    >>> forest = Forest.from_trees([("(S (NP (D the) (N man)) (V sleeps))", 1)])
    >>> print(marked_forest(forest, [(0, 2)], ["E1"]).best()[0])
    (S (NP (E1 (D the) (N man))) (V sleeps))
    >>> print(marked_forest(forest, [(0, 2)], ["E1"], mark="tags").best()[0])
    (S (NP (E1-D the) (E1-N man)) (V sleeps))
    """
    index = as_forest_index(forest)
    entities = _check_marks([index.span(span) for span in spans], labels, mark)
    copy = Copy(index)
    copy.add(np.flatnonzero(index.inner | index.word), index.root_span)
    roots: Ways = {}
    for number, weight in index.tops.items():
        roots[copy.node_of[number],] = roots.get((copy.node_of[number],), 0.0) + weight
    return copy.draft.forest(_mark_draft(copy.draft, roots, entities, mark))


def _mark_draft(draft: Draft, roots: Ways, entities: list[Group], mark: str | None) -> Ways:
    """Add marked nodes to a draft and return the roots of the marked trees. The old nodes stay in the draft."""
    if mark == "tags":
        for begin, end, label in reversed(entities):
            roots = _with_tags(draft, roots, begin, end, label)
    elif mark == "node":
        for begin, end, label in _longest_first(entities):
            roots = _with_node(draft, roots, begin, end, label)
    return roots


# A marked node replaces an old one. A node that is marked in some trees only, or in two ways, is replaced by several nodes.
# `_Replacements` maps an old node to the new ones, each with its probability given the old node. Nodes are replaced in the
# order of the draft, so the children of a node are always replaced before the node.
_Replacements = dict[int, Variants]


def _replaced_roots(roots: Ways, replacements: _Replacements) -> Ways:
    new: Ways = {}
    for (root,), weight in roots.items():
        for number, chance in replacements.get(root, [(root, 1.0)]):
            new[number,] = new.get((number,), 0.0) + weight * chance
    return new


def _replaced_tails(tails: tuple[int, ...], replacements: _Replacements) -> Iterator[tuple[tuple[int, ...], float]]:
    """Iterate over all ways to replace the tails of an edge, with their probabilities."""
    positions = [position for position, below in enumerate(tails) if below in replacements]
    if len(positions) > 1:
        yield from choices([replacements.get(below, [(below, 1.0)]) for below in tails])
    elif positions:
        (position,) = positions
        for number, chance in replacements[tails[position]]:
            yield (*tails[:position], number, *tails[position + 1 :]), chance
    else:
        yield tails, 1.0


def _with_tags(draft: Draft, roots: Ways, begin: int, end: int, mark: str) -> Ways:
    """Put the mark before the label of the node above each word of a span: ``(E1-N man)``."""
    replacements: _Replacements = {}
    words: set[int] = set()
    for number in range(len(draft.nodes)):
        label, low, high = draft.nodes[number]
        if low >= end or high <= begin:
            continue
        if not draft.ways[number]:
            if begin <= low and high <= end:
                words.add(number)
                replacements[number] = [(draft.node(mark, (low, high), {(number,): 1.0}), 1.0)]
            continue
        by_label: dict[str, Ways] = {label: {}, f"{mark}-{label}": {}}
        for tails, chance in draft.ways[number].items():
            if len(tails) == 1 and tails[0] in words:
                by_label[f"{mark}-{label}"][tails] = chance
                continue
            new = by_label[label]
            for new_tails, weight in _replaced_tails(tails, replacements):
                new[new_tails] = new.get(new_tails, 0.0) + chance * weight
        replacements[number] = [
            (draft.node(name, (low, high), ways), sum(ways.values())) for name, ways in by_label.items() if ways
        ]
    return _replaced_roots(roots, replacements)


def _with_node(draft: Draft, roots: Ways, begin: int, end: int, mark: str) -> Ways:
    """Put a node with the mark above the words of a span: ``(NP (E1 (D the) (N man)))``.

    A node inside the span is marked itself (`_marked_inside`). A node that also contains other words keeps its label, and
    its children are replaced. If an edge has several children to mark, neighbors share one mark (`_marked_runs`).
    """
    replacements: _Replacements = {}
    for number in range(len(draft.nodes)):
        label, low, high = draft.nodes[number]
        if low >= end or high <= begin:
            continue
        if begin <= low and high <= end:
            replacements[number] = _marked_inside(draft, number, replacements, mark)
            continue
        new: Ways = {}
        for tails, chance in draft.ways[number].items():
            if sum(below in replacements for below in tails) > 1:
                new_edges = choices(list(_marked_runs(draft, tails, replacements, begin, end, mark)))
            else:
                new_edges = _replaced_tails(tails, replacements)
            for new_tails, weight in new_edges:
                new[new_tails] = new.get(new_tails, 0.0) + chance * weight
        if new:
            replacements[number] = [(draft.node(label, (low, high), new), 1.0)]
    return _replaced_roots(roots, replacements)


def _marked_inside(draft: Draft, number: int, replacements: _Replacements, mark: str) -> Variants:
    """Return the replacements of a node that is inside the span.

    The mark is placed at the first branching node, but not below the tag of a word. Its position depends on the expansion:

    - no expansion, because the node is a word: above the word, ``(E1 man)``;
    - words only: above the node, ``(E1 (N man))``;
    - several children: between the node and its children, ``(NP (E1 (D the) (N man)))``;
    - one child that is not a word: the child is already replaced, ``(NP (NP (E1 (D the) (N man))))``.

    A node of a forest may have expansions of all these forms. Expansions to words become one new node, the others another.
    """
    label, begin, end = draft.nodes[number]
    span = begin, end
    if not draft.ways[number]:
        return [(draft.node(mark, span, {(number,): 1.0}), 1.0)]
    over_words: Ways = {}
    branching: Ways = {}
    mark_below: Ways = {}  # the expansions of the new node that keeps its label and has the mark below it
    for tails, chance in draft.ways[number].items():
        if not any(draft.ways[below] for below in tails):
            over_words[tails] = chance
        elif len(tails) > 1:
            branching[tails] = chance
        else:
            for below, weight in replacements[tails[0]]:
                mark_below[below,] = mark_below.get((below,), 0.0) + chance * weight
    if branching:
        mark_below[draft.node(mark, span, branching),] = sum(branching.values())
    variants: Variants = []
    if mark_below:
        variants.append((draft.node(label, span, mark_below), sum(mark_below.values())))
    if over_words:
        tag = draft.node(label, span, over_words)
        variants.append((draft.node(mark, span, {(tag,): 1.0}), sum(over_words.values())))
    return variants


def _marked_runs(
    draft: Draft, tails: tuple[int, ...], replacements: _Replacements, begin: int, end: int, mark: str
) -> Iterator[Variants]:
    """Iterate over the replacements of an edge's tails. Each run of neighbors inside the span becomes one marked node.

    A single child is replaced as usual, so its mark may be further down.
    """
    for inside, group in groupby(tails, lambda tail: begin <= draft.nodes[tail][1] and draft.nodes[tail][2] <= end):
        run = tuple(group)
        if inside and len(run) > 1:
            span = draft.nodes[run[0]][1], draft.nodes[run[-1]][2]
            yield [(draft.node(mark, span, {run: 1.0}), 1.0)]
        else:
            yield from (replacements.get(tail, [(tail, 1.0)]) for tail in run)
