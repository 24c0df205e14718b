"""Marks on the words of spans, in a tree and in all trees of a forest.

As everywhere in `treelet.cuts`, the forest's form is the image of the tree's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from treelet.checks import check_one_of, wrong
from treelet.cuts.copying import Copy, Variants, choices
from treelet.cuts.forest_index import ForestIndex, as_forest_index
from treelet.cuts.tree_index import Group, TreeIndex, siblings
from treelet.structures import Forest, Tree
from treelet.structures.draft import Draft, Ways
from treelet.structures.spans import Span
from treelet.structures.tree import check_label


def check_marks(spans: Sequence[Span], labels: Sequence[str], mark: str | None) -> list[Group]:
    """Spans with their marks, or an error."""
    check_one_of("mark", mark, ("node", "tags", None))
    if isinstance(labels, str) or len(labels) != len(spans):
        raise wrong("labels", f"{len(spans)} labels, one a span", labels)
    return [(*span, check_label(label)) for span, label in zip(spans, labels, strict=True)]


# --- in a tree --------------------------------------------------------------------------------------------------


def mark_tree(
    tree: Tree, spans: Sequence[Span], labels: Sequence[str], *, mark: str | None = "node", offset: int = 0
) -> Tree:
    """A tree with the words of some spans marked, as `marked_forest` marks those of all its trees.

    `offset` is the number of the tree's first word.
    """
    entities = [(begin - offset, end - offset, label) for begin, end, label in check_marks(spans, labels, mark)]
    if mark == "tags":
        return _tree_tags(TreeIndex(tree), entities)
    for begin, end, label in _longest_first(entities) if mark == "node" else ():
        tree = _tree_node(TreeIndex(tree), begin, end, label)
    return tree


def _longest_first(entities: list[Group]) -> list[Group]:
    return sorted(entities, key=lambda entity: entity[0] - entity[1])  # a longer one is further up


def _tree_tags(index: TreeIndex, entities: list[Group]) -> Tree:
    marks: dict[int, list[str]] = {}
    for begin, end, label in entities:
        for number in range(begin, end):
            marks.setdefault(number, []).append(label)
    rename: dict[int, str] = {}
    wrap: dict[int, list[Group]] = {}
    positions: dict[int, dict[int, int]] = {}  # of the children of a node, among these
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
    for run in siblings(index, _largest_inside(index, begin, end)):
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
    """The largest nodes all of whose words lie in a span, left to right; together they have all its words."""
    largest, word = [], begin
    while word < end:
        node = index.leaves[word]
        while (above := index.parent[node]) >= 0 and index.start[above] >= begin and index.end[above] <= end:
            node = above
        largest.append(node)
        word = index.end[node]
    return largest


# --- in all trees of a forest -----------------------------------------------------------------------------------


def marked_forest(
    forest: Forest | ForestIndex, spans: Sequence[Span], labels: Sequence[str], *, mark: str | None = "node"
) -> Forest:
    """The forest with the words of some spans marked.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    spans : list of (begin, end)
        Word positions; they may overlap.
    labels : list of str
        The marks, one a span.
    mark : {"node", "tags", None}
        ``"node"``: a new node above the words of a span, right below the lowest constituent around them; above each
        piece, where a tree has them in several constituents. ``"tags"``: the node right above each word gets the mark
        before its label, as in E1-NN; a word that has no such node for itself gets one. None: no marks.

    Notes
    -----
    A node to which a mark is put in some trees only becomes two nodes.

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
    entities = check_marks([index.span(span) for span in spans], labels, mark)
    copy = Copy(index)
    copy.add(np.flatnonzero(index.inner | index.word), index.root_span)
    roots: Ways = {}
    for number, weight in index.tops.items():
        roots[copy.node_of[number],] = roots.get((copy.node_of[number],), 0.0) + weight
    return Forest.from_columns(copy.draft.columns(mark_draft(copy.draft, roots, entities, mark)))


def mark_draft(draft: Draft, roots: Ways, entities: list[Group], mark: str | None) -> Ways:
    """The roots of the same trees with marks; new nodes are added to the draft, and the old ones stay."""
    if mark == "tags":
        for begin, end, label in reversed(entities):
            roots = _with_tags(draft, roots, begin, end, label)
    elif mark == "node":
        for begin, end, label in _longest_first(entities):
            roots = _with_node(draft, roots, begin, end, label)
    return roots


# A marked node replaces an old one. Where a node is marked in some trees only, or in two ways, several new nodes replace it.
# `Replacements` has for an old node the new ones, each with its probability given the old node. They are made in the order
# of the draft, children before parents, so that a node's children are always replaced before the node.
Replacements = dict[int, Variants]


def _replaced_roots(roots: Ways, replacements: Replacements) -> Ways:
    new: Ways = {}
    for (root,), weight in roots.items():
        for number, chance in replacements.get(root, [(root, 1.0)]):
            new[number,] = new.get((number,), 0.0) + weight * chance
    return new


def _replaced_tails(tails: tuple[int, ...], replacements: Replacements) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every way to replace the tails of an edge, with its probability."""
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
    replacements: Replacements = {}
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

    A node inside the span is marked itself (`_marked_inside`). A node that has other words, too, keeps its label, and its
    children are replaced. If an edge of it has several children to mark, then neighbors share one mark (`_marked_runs`).
    """
    replacements: Replacements = {}
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


def _marked_inside(draft: Draft, number: int, replacements: Replacements, mark: str) -> Variants:
    """The replacements of a node all of whose words are in the span.

    The mark goes down to the first node that branches, but not below the tag of a word. Where it goes depends on the expansion:

    - none, since the node is a word: above the word, ``(E1 man)``;
    - words only: above the node, ``(E1 (N man))``;
    - several children: between the node and its children, ``(NP (E1 (D the) (N man)))``;
    - one child that is not a word: the child has been replaced already, ``(NP (NP (E1 (D the) (N man))))``.

    A node of a forest may have expansions of all these forms. Those over words become one new node, the others another.
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
    draft: Draft, tails: tuple[int, ...], replacements: Replacements, begin: int, end: int, mark: str
) -> Iterator[Variants]:
    """The tails of an edge, where each run of neighbors inside the span becomes one node with the mark.

    A child alone is replaced as it would be anywhere: its mark may lie further down.
    """
    for inside, group in groupby(tails, lambda tail: begin <= draft.nodes[tail][1] and draft.nodes[tail][2] <= end):
        run = tuple(group)
        if inside and len(run) > 1:
            span = draft.nodes[run[0]][1], draft.nodes[run[-1]][2]
            yield [(draft.node(mark, span, {run: 1.0}), 1.0)]
        else:
            yield from (replacements.get(tail, [(tail, 1.0)]) for tail in run)
