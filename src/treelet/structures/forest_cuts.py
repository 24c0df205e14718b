"""Parts of packed forests around words: what lies between two spans, and marks on the words of spans.

As in `treelet.structures.subforest`, each function is the image of a function on trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from treelet.errors import ParameterError, TreeError
from treelet.structures.forest import Forest
from treelet.structures.spans import Span
from treelet.structures.subforest import Copy, Draft, ForestIndex, Roots, Variants, Ways, as_index, choices
from treelet.structures.tree import check_label


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
    >>> from treelet.structures import enclosed_forest
    >>> trees = ["(S (A u) (X (B x) (Y (C y) (D z))))", "(S (A u) (X (Y (B x) (C y)) (D z)))"]
    >>> forest = Forest.from_trees([(3, trees[0]), (1, trees[1])])
    >>> for tree, p in enclosed_forest(forest, (1, 2), (2, 3), mark="tags").trees():
    ...     print(round(p, 2), tree)
    0.75 (X (E1-B x) (Y (E2-C y)))
    0.25 (Y (E1-B x) (E2-C y))
    """
    index = as_index(forest)
    one, two = index.span(first), index.span(second)
    entities = _entities((one, two), labels, mark)
    window = low, high = min(one[0], two[0]), max(one[1], two[1])
    copy = Copy(index)
    over = ~index.word & (index.begin <= low) & (index.end >= high)
    # All that meets the window and does not hold it is below the lowest node that does.
    copy.add(np.flatnonzero(~over & (index.end > low) & (index.begin < high)), window)
    higher = set(np.flatnonzero(over).tolist())
    found = Roots()
    for number in sorted(higher):
        label, share = index.labels[number], index.shares[number]
        for tails, chance in index.ways[number]:
            if label and higher.isdisjoint(tails):
                found.add(label, tuple([copy.one[below] for below in tails if below in copy.one]), share * chance)
    roots = found.made(copy.draft, window)
    if not roots:
        raise TreeError(f"no tree of the forest has a node over the words {low}-{high}")
    return copy.draft.forest(_marked(copy.draft, roots, entities, mark))


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
    >>> from treelet.structures import marked_forest
    >>> forest = Forest.from_trees([(1, "(S (NP (D the) (N man)) (V sleeps))")])
    >>> print(marked_forest(forest, [(0, 2)], ["E1"]).best()[0])
    (S (NP (E1 (D the) (N man))) (V sleeps))
    >>> print(marked_forest(forest, [(0, 2)], ["E1"], mark="tags").best()[0])
    (S (NP (E1-D the) (E1-N man)) (V sleeps))
    """
    index = as_index(forest)
    entities = _entities([index.span(span) for span in spans], labels, mark)
    copy = Copy(index)
    copy.add(np.flatnonzero(index.inner | index.word), index.root_span)
    roots: Ways = {}
    for number, weight in index.tops.items():
        roots[copy.one[number],] = roots.get((copy.one[number],), 0.0) + weight
    return copy.draft.forest(_marked(copy.draft, roots, entities, mark))


def _entities(spans: Sequence[Span], labels: Sequence[str], mark: str | None) -> list[tuple[int, int, str]]:
    if mark not in ("node", "tags", None):
        raise ParameterError(f"The 'mark' parameter must be 'node', 'tags' or None. Got {mark!r} instead.")
    if isinstance(labels, str) or len(labels) != len(spans):
        raise ParameterError(f"The 'labels' parameter must be {len(spans)} labels, one a span. Got {labels!r} instead.")
    return [(*span, check_label(label)) for span, label in zip(spans, labels, strict=True)]


def _marked(draft: Draft, roots: Ways, entities: list[tuple[int, int, str]], mark: str | None) -> Ways:
    """The roots of the same trees with marks; new nodes are added to the draft, and the old ones stay."""
    if mark == "tags":
        for begin, end, label in reversed(entities):
            roots = _with_tags(draft, roots, begin, end, label)
    elif mark == "node":
        for begin, end, label in sorted(
            entities, key=lambda entity: entity[0] - entity[1]
        ):  # a longer one is further up
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
