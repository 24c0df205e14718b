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
        for place in range(begin, end):
            marks.setdefault(place, []).append(label)
    rename: dict[int, str] = {}
    wrap: dict[int, list[Group]] = {}
    places: dict[int, dict[int, int]] = {}
    for place, names in marks.items():
        word = index.leaves[place]
        above = index.parent[word]
        if above < 0:
            return Tree("-".join(names), [index.tree])
        if len(index.nodes[above].children) == 1:
            rename[above] = "-".join([*names, index.label(above)])
        else:
            if above not in places:
                places[above] = {child: position for position, child in enumerate(index.children(above))}
            position = places[above][word]
            wrap.setdefault(above, []).append((position, position + 1, "-".join(names)))
    return index.rebuilt(rename=rename, wrap=wrap)


def _tree_node(index: TreeIndex, begin: int, end: int, label: str) -> Tree:
    wrap: dict[int, list[Group]] = {}
    for run in siblings(index, _largest_inside(index, begin, end)):
        pieces = run
        while len(pieces) == 1 and index.nodes[pieces[0]].children and not index.nodes[pieces[0]].is_preterminal:
            pieces = index.children(pieces[0])
        above = index.parent[pieces[0]]
        if above < 0:
            return Tree(label, [index.tree])
        position = index.children(above).index(pieces[0])
        wrap.setdefault(above, []).append((position, position + len(pieces), label))
    return index.rebuilt(wrap=wrap)


def _largest_inside(index: TreeIndex, begin: int, end: int) -> list[int]:
    """The largest nodes all of whose words lie in a span, left to right; together they have all its words."""
    found, place = [], begin
    while place < end:
        node = index.leaves[place]
        while (above := index.parent[node]) >= 0 and index.start[above] >= begin and index.end[above] <= end:
            node = above
        found.append(node)
        place = index.end[node]
    return found


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
        roots[copy.one[number],] = roots.get((copy.one[number],), 0.0) + weight
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


def _chosen(roots: Ways, made: dict[int, Variants]) -> Ways:
    new: Ways = {}
    for (root,), weight in roots.items():
        for number, chance in made.get(root, [(root, 1.0)]):
            new[number,] = new.get((number,), 0.0) + weight * chance
    return new


def _replaced(tails: tuple[int, ...], made: dict[int, Variants]) -> Iterator[tuple[tuple[int, ...], float]]:
    """The tails of an edge as they are now."""
    places = [place for place, below in enumerate(tails) if below in made]
    if len(places) > 1:
        yield from choices([made.get(below, [(below, 1.0)]) for below in tails])
    elif places:
        (place,) = places
        for number, chance in made[tails[place]]:
            yield (*tails[:place], number, *tails[place + 1 :]), chance
    else:
        yield tails, 1.0


def _with_tags(draft: Draft, roots: Ways, begin: int, end: int, mark: str) -> Ways:
    made: dict[int, Variants] = {}
    leaves: set[int] = set()
    for number in range(len(draft.nodes)):
        label, low, high = draft.nodes[number]
        if low >= end or high <= begin:
            continue
        if not draft.ways[number]:
            if begin <= low and high <= end:
                leaves.add(number)
                made[number] = [(draft.node(mark, (low, high), {(number,): 1.0}), 1.0)]
            continue
        parts: dict[str, Ways] = {label: {}, f"{mark}-{label}": {}}
        for tails, chance in draft.ways[number].items():
            if len(tails) == 1 and tails[0] in leaves:
                parts[f"{mark}-{label}"][tails] = chance
                continue
            new = parts[label]
            for kept, weight in _replaced(tails, made):
                new[kept] = new.get(kept, 0.0) + chance * weight
        made[number] = [
            (draft.node(name, (low, high), ways), sum(ways.values())) for name, ways in parts.items() if ways
        ]
    return _chosen(roots, made)


def _with_node(draft: Draft, roots: Ways, begin: int, end: int, mark: str) -> Ways:
    made: dict[int, Variants] = {}
    for number in range(len(draft.nodes)):
        label, low, high = draft.nodes[number]
        if low >= end or high <= begin:
            continue
        if begin <= low and high <= end:
            made[number] = _mark_inside(draft, number, made, mark)
            continue
        new: Ways = {}
        for tails, chance in draft.ways[number].items():
            several = sum(below in made for below in tails) > 1
            runs = list(_runs(draft, tails, made, begin, end, mark)) if several else []
            for kept, weight in choices(runs) if several else _replaced(tails, made):
                new[kept] = new.get(kept, 0.0) + chance * weight
        if new:
            made[number] = [(draft.node(label, (low, high), new), 1.0)]
    return _chosen(roots, made)


def _mark_inside(draft: Draft, number: int, made: dict[int, Variants], mark: str) -> Variants:
    """A node that has nothing but what is to be marked: the mark goes down to where it branches."""
    label, begin, end = draft.nodes[number]
    span = begin, end
    if not draft.ways[number]:
        return [(draft.node(mark, span, {(number,): 1.0}), 1.0)]
    over_words: Ways = {}
    branching: Ways = {}
    rest: Ways = {}
    for tails, chance in draft.ways[number].items():
        if not any(draft.ways[below] for below in tails):
            over_words[tails] = chance
        elif len(tails) > 1:
            branching[tails] = chance
        else:
            for below, weight in made[tails[0]]:
                rest[below,] = rest.get((below,), 0.0) + chance * weight
    if branching:
        rest[draft.node(mark, span, branching),] = sum(branching.values())
    found: Variants = []
    if rest:
        found.append((draft.node(label, span, rest), sum(rest.values())))
    if over_words:
        tag = draft.node(label, span, over_words)
        found.append((draft.node(mark, span, {(tag,): 1.0}), sum(over_words.values())))
    return found


def _runs(
    draft: Draft, tails: tuple[int, ...], made: dict[int, Variants], begin: int, end: int, mark: str
) -> Iterator[Variants]:
    """The tails of an edge, neighbours that are to be marked below one mark."""
    for inside, group in groupby(tails, lambda tail: begin <= draft.nodes[tail][1] and draft.nodes[tail][2] <= end):
        run = tuple(group)
        if inside and len(run) > 1:
            span = draft.nodes[run[0]][1], draft.nodes[run[-1]][2]
            yield [(draft.node(mark, span, {run: 1.0}), 1.0)]
        else:
            yield from (made.get(tail, [(tail, 1.0)]) for tail in run)
