"""Cuts for semantic role labeling: the part of a tree or forest that links a predicate and an argument."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treelet.cuts.copying import Copy, RootCollector, sub_forest
from treelet.cuts.forest_index import ForestIndex, NodeLike, as_forest_index
from treelet.cuts.tree_index import AnyTree, TreeIndex, as_tree_index
from treelet.errors import TreeError
from treelet.structures import Forest, Tree
from treelet.structures.forest import Ways
from treelet.structures.spans import Span

ARGUMENT, PREDICATE = "-ARG", "-P"


# --- trees ------------------------------------------------------------------------------------------------------


def argument_tree(tree: AnyTree, predicate: int, span: Span, *, pruned: bool = True, mark: bool = True) -> Tree:
    """Cut out the smallest part of a tree that contains a predicate and one of its arguments.

    This is the PAF structure of Moschitti (2004, 2006). Its root is the lowest common ancestor of the
    predicate and the argument.

    Parameters
    ----------
    tree : Tree, str or TreeIndex
        The tree. An index saves time if the tree has many arguments.
    predicate : int
        Position of the predicate in the sentence, counted from 0.
    span : (int, int)
        First word of the argument and the word after its last word. If several nodes have exactly
        this span, the topmost node is the argument.
    pruned : bool, default True
        Keep only the paths to the predicate and to the argument, and everything below the argument.
        If False, keep the complete subtree.
    mark : bool, default True
        Append ``-ARG`` to the label of the argument, and ``-P`` to the label above the predicate.

    Returns
    -------
    Tree

    Raises
    ------
    TreeError
        If the span is not a constituent.

    Examples
    --------
    >>> from treelet.cuts import argument_tree
    >>> tree = "(S (NP (N Mary)) (VP (V brought) (NP (D a) (N cat)) (PP (P to) (NP (N school)))))"
    >>> print(argument_tree(tree, 1, (0, 1)))
    (S (NP-ARG (N Mary)) (VP (V-P brought)))
    >>> print(argument_tree(tree, 1, (2, 4)))
    (VP (V-P brought) (NP-ARG (D a) (N cat)))
    >>> print(argument_tree(tree, 1, (2, 4), pruned=False, mark=False))
    (VP (V brought) (NP (D a) (N cat)) (PP (P to) (NP (N school))))
    """
    index, word, argument = _as_instance(tree, predicate, span)
    up, down = index.path(word, argument)
    top = up[-1]
    keep = {*up, *down, *range(argument, index.after[argument])} if pruned else None
    return index.rebuilt(top, keep=keep, rename=_marks(index, word, argument, top) if mark else None)


def path_tree(tree: AnyTree, predicate: int, span: Span, *, mark: bool = True) -> Tree:
    """Cut out the path between a predicate and an argument, for the hybrid kernel of Che et al. (2006).

    The path leads from the predicate up to the lowest common ancestor and down to the argument. The
    words of the argument are not included; see `constituent_tree` for the other half of the kernel.

    Parameters
    ----------
    tree, predicate, span, mark
        As in `argument_tree`.

    Returns
    -------
    Tree

    Examples
    --------
    >>> from treelet.cuts import path_tree
    >>> print(path_tree("(S (NP (N Mary)) (VP (V brought) (NP (D a) (N cat))))", 1, (0, 1)))
    (S NP-ARG (VP (V-P brought)))
    """
    index, word, argument = _as_instance(tree, predicate, span)
    up, down = index.path(word, argument)
    return index.rebuilt(up[-1], keep={*up, *down}, rename=_marks(index, word, argument, up[-1]) if mark else None)


def constituent_tree(tree: AnyTree, predicate: int, span: Span) -> Tree:
    """Cut out the subtree of an argument, for the hybrid kernel of Che et al. (2006).

    Parameters
    ----------
    tree, predicate, span
        As in `argument_tree`. The predicate does not affect the result. The parameter exists because
        `argument_tree` and `path_tree` have it, too.

    Returns
    -------
    Tree

    Examples
    --------
    >>> from treelet.cuts import constituent_tree
    >>> print(constituent_tree("(S (NP (N Mary)) (VP (V brought) (NP (D a) (N cat))))", 1, (2, 4)))
    (NP (D a) (N cat))
    """
    index, _, argument = _as_instance(tree, predicate, span)
    return index.nodes[argument]


def _marks(index: TreeIndex, word: int, argument: int, top: int) -> dict[int, str]:
    marks = {argument: index.label(argument) + ARGUMENT}
    tag = index.parent[word]
    if tag >= top:
        marks[tag] = marks.get(tag, index.label(tag)) + PREDICATE
    return marks


def _as_instance(tree: AnyTree, predicate: int, span: Span) -> tuple[TreeIndex, int, int]:
    """Return the index of a tree, the node of the predicate's word, and the node of the argument."""
    index = as_tree_index(tree)
    index.check_word(predicate, "predicate")
    index.tag(predicate)  # raises an error if the tree is a single word
    return index, index.word(predicate), index.node_of(span)


# --- forests ----------------------------------------------------------------------------------------------------


def path_forest(forest: Forest | ForestIndex, predicate: int, node: NodeLike, *, mark: bool = True) -> Forest:
    """Cut out the paths from a predicate to an argument, in all trees of a forest that contain the argument.

    A path leads from the predicate up to the lowest common ancestor and down to the argument, and
    contains no other nodes. If the argument contains the predicate, the argument is the root.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    predicate : int
        Position of the predicate in the sentence, counted from 0.
    node : (begin, end), (label, begin, end) or int
        The argument: a span, a label and a span, or the number of a node in ``forest.nodes``. If
        several nodes of a tree match, the topmost one is the argument. A `Candidate` is accepted, too.
    mark : bool, default True
        Append ``-ARG`` to the label of the argument, and ``-P`` to the label above the predicate.

    Returns
    -------
    Forest
        The paths, with their probabilities given that a tree contains the argument. The argument
        keeps its span, and the predicate is placed next to it.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import path_forest
    >>> trees = ["(S (NP (N Mary)) (VP (V saw) (NP (D a) (N cat))))", "(S (NP (N Mary)) (V saw) (NP (D a) (N cat)))"]
    >>> forest = Forest.from_trees([(trees[0], 3), (trees[1], 1)])
    >>> for tree, p in path_forest(forest, 1, ("NP", 2, 4)).trees():
    ...     print(round(p, 2), tree)
    0.75 (VP (V-P saw) NP-ARG)
    0.25 (S (V-P saw) NP-ARG)
    """
    return _linked(as_forest_index(forest), predicate, node, mark, whole=False)


def argument_forest(forest: Forest | ForestIndex, predicate: int, node: NodeLike, *, mark: bool = True) -> Forest:
    """Cut out the paths from a predicate to an argument, with the complete argument, in all trees of a forest.

    Parameters
    ----------
    forest, predicate, node, mark
        As in `path_forest`.

    Returns
    -------
    Forest
        The paths and the argument, with their probabilities given that a tree contains the argument.
        The words of the argument keep their positions, and the predicate is placed next to them.

    References
    ----------
    Moschitti (2004), A study on convolution kernels for shallow semantic parsing.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import argument_forest
    >>> forest = Forest.from_trees([("(S (N John) (VP (V saw) (NP (D a) (N man)) (PP (P in) (N town))))", 1)])
    >>> print(argument_forest(forest, 1, (2, 4)).best()[0])
    (VP (V-P saw) (NP-ARG (D a) (N man)))
    """
    return _linked(as_forest_index(forest), predicate, node, mark, whole=True)


def constituent_forest(forest: Forest | ForestIndex, node: NodeLike) -> Forest:
    """Cut out the part of a forest below an argument.

    Parameters
    ----------
    forest, node
        As in `path_forest`. If `node` is a span, the result may have several roots with different
        labels.

    Returns
    -------
    Forest

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import constituent_forest
    >>> forest = Forest.from_trees([("(S (V saw) (NP (D a) (N man)))", 1), ("(S (V saw) (X (D a) (N man)))", 1)])
    >>> print(constituent_forest(forest, ("NP", 1, 3)).best()[0])
    (NP (D a) (N man))
    >>> constituent_forest(forest, (1, 3)).count_trees()
    2
    """
    return sub_forest(forest, node)


def _linked(index: ForestIndex, predicate: int, node: NodeLike, mark: bool, *, whole: bool) -> Forest:
    word = index.word_at(predicate)
    matches, span = index.matching(node)
    copy = Copy(index, word if mark else None, PREDICATE)
    if span[0] <= word < span[1]:
        roots = _path_within(copy, word, matches, span, mark, whole)
    else:
        roots = _path_between(copy, word, matches, span, mark, whole)
    if not roots:
        raise TreeError(
            f"The node {node!r:.80} has a probability of almost 0, or no node contains both it and word {word}."
        )
    return copy.draft.forest(roots)


def _path_within(copy: Copy, word: int, numbers: list[int], span: Span, mark: bool, whole: bool) -> Ways:
    """Copy the paths of an argument that contains the predicate. Return the roots."""
    index, draft = copy.index, copy.draft
    below = (index.begin >= span[0]) & (index.end <= span[1]) & (index.inner | index.word)
    if whole:
        copy.add(np.flatnonzero(below), span)
    else:
        copy.add(np.flatnonzero(below & index.holding(word)), span, place=span)
    roots: Ways = {}
    for number, weight in index.topmost(numbers, span).items():
        label = index.labels[number]
        for variant, share in copy.variants(number):
            tag = draft.nodes[variant][0][len(label) :]
            top = draft.labeled(variant, label + ARGUMENT + tag) if mark else variant
            roots[top,] = roots.get((top,), 0.0) + weight * share
    return {root: weight for root, weight in roots.items() if weight > 0}


def _path_between(copy: Copy, word: int, numbers: list[int], span: Span, mark: bool, whole: bool) -> Ways:
    """Copy the paths of an argument that does not contain the predicate. Return the roots."""
    index, draft, labels, spans = copy.index, copy.draft, copy.index.labels, copy.index.spans
    beside = (span[0] - 1, span[0]) if word < span[0] else (span[1], span[1] + 1)
    apart = (index.end <= span[0]) | (index.begin >= span[1])
    copy.add(np.flatnonzero(index.holding(word) & apart), beside, place=beside)
    if whole:
        copy.add(np.flatnonzero((index.begin >= span[0]) & (index.end <= span[1])), span)
    down: dict[int, int] = {}
    for number in numbers:
        label = labels[number] + ARGUMENT if mark else labels[number]
        down[number] = draft.labeled(copy.node_of[number], label) if whole else draft.node(label, span, {})
    reach = index.reach(numbers, span)
    roots = RootCollector()
    for number in sorted(reach):
        if spans[number][0] <= word < spans[number][1]:
            for tails, chance in index.ways[number]:
                label = labels[number] + PREDICATE if mark and copy.is_tag(tails) else labels[number]
                for kept, weight in _branches(copy, word, tails, down, reach):
                    roots.add(label, kept, index.shares[number] * chance * weight)
        elif number not in down:
            ways: Ways = {}
            for tails, chance in index.ways[number]:
                for below in tails:
                    if below in reach:
                        ways[down[below],] = ways.get((down[below],), 0.0) + chance * reach[below]
            down[number] = draft.node(labels[number], span, ways)
    return roots.made(draft, (min(beside[0], span[0]), max(beside[1], span[1])))


def _branches(
    copy: Copy, word: int, tails: tuple[int, ...], down: dict[int, int], reach: dict[int, float]
) -> Iterator[tuple[tuple[int, int], float]]:
    """Iterate over pairs of tails of an edge, in their order: one contains the predicate, the other the argument."""
    spans = copy.index.spans
    for below in tails:
        begin, end = spans[below]
        if below in reach and not begin <= word < end:
            holder = next(tail for tail in tails if spans[tail][0] <= word < spans[tail][1])
            for variant, weight in copy.variants(holder):
                pair = (variant, down[below]) if word < begin else (down[below], variant)
                yield pair, weight * reach[below]
