"""Argument candidates: the constituents of a tree or forest that may be arguments of a predicate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from treelet.checks import check_one_of, is_number, wrong
from treelet.cuts.forest_index import ForestIndex, as_forest_index
from treelet.cuts.heads import CONJUNCTIONS, PUNCTUATION, category
from treelet.cuts.tree_index import AnyTree, SpanNode, TreeIndex, as_tree_index
from treelet.structures import Forest
from treelet.structures.spans import Span

# --- trees ------------------------------------------------------------------------------------------------------


def candidates(tree: AnyTree, predicate: int) -> list[SpanNode]:
    """Find the constituents that may be arguments of a predicate, with the pruning of Xue & Palmer (2004).

    The candidates are the sisters of all nodes on the path from the predicate to the root. The
    children of a PP among them are candidates, too. Constituents that are coordinated with a node on
    the path, and punctuation, are skipped.

    The children of a UCP are coordinated. Other children are coordinated if a sister is a CC or CONJP
    and their labels are similar: equal, or both tags of verbs, of nouns or of adjectives. The
    conjunction is then skipped as well.

    Parameters
    ----------
    tree : Tree, str or TreeIndex
        The tree.
    predicate : int
        Position of the predicate in the sentence, counted from 0.

    Returns
    -------
    list of SpanNode
        The candidates from left to right, longer ones first, with their `span`, `label` and `number`
        in the `TreeIndex`. No candidate contains the predicate.

    Examples
    --------
    >>> from treelet.cuts import all_candidates, candidates
    >>> tree = "(S (NP (N Mary)) (VP (V brought) (NP (D a) (N cat)) (PP (P to) (NP (N school)))))"
    >>> [(node.label, *node.span) for node in candidates(tree, 1)]
    [('NP', 0, 1), ('NP', 2, 4), ('PP', 4, 6), ('P', 4, 5), ('NP', 5, 6)]
    >>> len(all_candidates(tree, 1))
    7
    """
    index = as_tree_index(tree)
    index.check_word(predicate, "predicate")
    node = index.tag(predicate)
    nodes: list[int] = [] if index.nodes[node].is_preterminal else _others(index, node, index.word(predicate))
    for above in index.ancestors(node):
        for sister in _others(index, above, node):
            nodes.append(sister)
            if category(index.label(sister)) == "PP":
                nodes.extend(index.children(sister))
        node = above
    return _records(index, nodes)


def all_candidates(tree: AnyTree, predicate: int) -> list[SpanNode]:
    """Return all constituents that do not contain the predicate, except punctuation.

    If several constituents have the same span, the topmost one is returned. Parameters and result are
    those of `candidates`.
    """
    index = as_tree_index(tree)
    index.check_word(predicate, "predicate")
    nodes = [n for n in range(len(index)) if not index.start[n] <= predicate < index.end[n]]
    return _records(index, nodes)


def _records(index: TreeIndex, numbers: Iterable[int]) -> list[SpanNode]:
    spans: dict[Span, SpanNode] = {}
    for node in map(index.__getitem__, sorted(numbers)):
        if index.nodes[node.number].children and node.label not in PUNCTUATION:
            spans.setdefault(node.span, node)
    return sorted(spans.values(), key=lambda node: (node.start, -node.end))


def _others(index: TreeIndex, above: int, node: int) -> list[int]:
    return uncoordinated(index.label(above), node, index.children(above), index.label)


def uncoordinated(above: str, node: int, children: Sequence[int], label: Callable[[int], str]) -> list[int]:
    """Return the sisters of a node, without those that are coordinated with it and their conjunction.

    Nodes are given by number. `label` returns the label of a node, and `above` is the label of the parent.
    """
    sisters = [child for child in children if child != node]
    if category(above) == "UCP":
        return []
    joined = [sister for sister in sisters if category(label(sister)) in CONJUNCTIONS]
    if not joined:
        return sisters
    mine = kind_of(label(node))
    alike = {sister for sister in sisters if kind_of(label(sister)) == mine}
    passed = alike.union(joined) if alike else alike
    return [sister for sister in sisters if sister not in passed]


@lru_cache(maxsize=4096)
def kind_of(label: str) -> str:
    """Return VB, NN or JJ for the tag of a verb, noun or adjective, or else the label without function tags."""
    label = category(label)
    return next((kind for kind in ("VB", "NN", "JJ") if label.startswith(kind)), label)


# --- forests ----------------------------------------------------------------------------------------------------


class Candidate(NamedTuple):
    """An argument candidate: its label, its words, and the probability that it is a candidate in a tree."""

    label: str
    begin: int
    end: int
    probability: float

    @property
    def span(self) -> Span:
        """First word, and the word after the last word."""
        return self.begin, self.end


def forest_candidates(
    forest: Forest | ForestIndex, predicate: int, *, threshold: float = 0.0, by: str = "node"
) -> list[Candidate]:
    """Find the constituents that may be arguments of a predicate in any tree of a forest.

    This is the pruning of Xue & Palmer (2004), as in `candidates`, applied to all trees at once.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    predicate : int
        Position of the predicate in the sentence, counted from 0.
    threshold : float in [0, 1], default 0
        Candidates with a smaller probability are dropped. 0 keeps the candidates of all trees.
    by : {"node", "span"}, default "node"
        ``"node"`` returns one candidate per label and span. ``"span"`` returns one candidate per
        span, with its most probable label, as in Zhang, Zhang & Li (2010); such a candidate
        corresponds to a subforest with one or several roots.

    Returns
    -------
    list of Candidate
        The candidates from left to right, longer ones first, then by label. The probability is that
        of being a candidate; the node itself may occur in more trees.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import forest_candidates
    >>> near = "(S (NP (N He)) (VP (V saw) (NP (NP (D a) (N man)) (PP (P in) (NP (N town))))))"
    >>> far = "(S (NP (N He)) (VP (V saw) (NP (D a) (N man)) (PP (P in) (NP (N town)))))"
    >>> forest = Forest.from_trees([(near, 3), (far, 1)])
    >>> [(c.label, *c.span, round(c.probability, 2)) for c in forest_candidates(forest, 1)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('NP', 0, 1, 1.0), ('NP', 2, 6, 0.75), ('NP', 2, 4, 0.25), ('PP', 4, 6, 0.25), ('P', 4, 5, 0.25),
     ('NP', 5, 6, 0.25)]
    >>> len(forest_candidates(forest, 1, threshold=0.5))
    2
    """
    if not is_number(threshold, 0, 1):
        raise wrong("threshold", "a number from 0 to 1", threshold)
    check_one_of("by", by, ("node", "span"))
    index = as_forest_index(forest)
    word = index.word_at(predicate)
    labels, spans, ways = index.labels, index.spans, index.ways
    chances: dict[tuple[str, int, int], float] = {}

    def add(node: int, chance: float) -> None:
        if ways[node] and labels[node] not in PUNCTUATION:
            key = (labels[node], *spans[node])
            chances[key] = chances.get(key, 0.0) + chance

    for number in np.flatnonzero(index.inner & index.holding(word)).tolist():
        for tails, chance in ways[number]:
            here = index.shares[number] * chance
            if here == 0 or len(tails) == 1:
                continue
            holder = next(tail for tail in tails if spans[tail][0] <= word < spans[tail][1])
            for sister in uncoordinated(labels[number], holder, tails, labels.__getitem__):
                add(sister, here)
                if ways[holder] and category(labels[sister]) == "PP":
                    for below, weight in ways[sister]:
                        for child in below:
                            if spans[child] != spans[sister]:
                                add(child, here * weight)
    if by == "span":
        best: dict[Span, Candidate] = {}
        for (label, begin, end), value in sorted(chances.items(), key=lambda item: (-item[1], item[0])):
            old = best.get((begin, end))
            total = value if old is None else old.probability + value
            best[begin, end] = Candidate(label if old is None else old.label, begin, end, total)
        everything = list(best.values())
    else:
        everything = [Candidate(*key, value) for key, value in chances.items()]
    kept = [candidate._replace(probability=min(1.0, candidate.probability)) for candidate in everything]
    return sorted(
        (candidate for candidate in kept if candidate.probability >= threshold),
        key=lambda candidate: (candidate.begin, -candidate.end, candidate.label),
    )
