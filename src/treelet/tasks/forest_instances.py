"""Semantic roles and relations from packed forests: candidates, and what a kernel is to see of each.

What `treelet.tasks.roles` and `treelet.tasks.relations` take from one tree, these functions take from all trees of a
forest at once: a forest of one tree gives the same, and a larger one gives each result with the summed probability of
the trees that it comes from. Where many instances come from one forest, make its `ForestIndex` once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.structures import Forest, ForestBank, Table
from treelet.structures.forest_cuts import enclosed_forest, marked_forest
from treelet.structures.heads import PUNCTUATION, category
from treelet.structures.spans import Span
from treelet.structures.subforest import (
    Copy,
    ForestIndex,
    NodeLike,
    Roots,
    Ways,
    as_index,
    containing_forest,
    span_forest,
    sub_forest,
)
from treelet.tasks.roles import ARGUMENT, PREDICATE, uncoordinated

__all__ = [
    "Candidate",
    "ForestIndex",
    "argument_forest",
    "constituent_forest",
    "containing_forest",
    "enclosed_forest",
    "forest_candidates",
    "marked_forest",
    "nbest_forest",
    "path_forest",
    "relation_table",
    "role_table",
    "span_forest",
    "sub_forest",
]

A = TypeVar("A")
B = TypeVar("B")


# --- forests of instances ---------------------------------------------------------------------------------------


def path_forest(forest: Forest | ForestIndex, predicate: int, node: NodeLike, *, mark: bool = True) -> Forest:
    """The paths from a predicate to an argument, in all trees that have the argument.

    A path goes from the predicate's word up to the lowest node above both and down to the argument, which ends it. As a
    tree it has these nodes and no others. If the argument is above the predicate, it is the top.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    predicate : int
        The position of the predicate's word.
    node : (begin, end), (label, begin, end) or int
        The argument: any node over these words, or any with this label, of several in one tree the topmost; or a node
        by its number in ``forest.nodes``. A `Candidate` will do.
    mark : bool
        True to end the label of the argument in ``-ARG``, and the label right above the predicate's word in ``-P``.

    Returns
    -------
    Forest
        Of the paths, given that a tree has the argument. The argument keeps its span, and the predicate stands next to
        it.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.tasks.forest_instances import path_forest
    >>> trees = ["(S (NP (N Mary)) (VP (V saw) (NP (D a) (N cat))))", "(S (NP (N Mary)) (V saw) (NP (D a) (N cat)))"]
    >>> forest = Forest.from_trees([(3, trees[0]), (1, trees[1])])
    >>> for tree, p in path_forest(forest, 1, ("NP", 2, 4)).trees():
    ...     print(round(p, 2), tree)
    0.75 (VP (V-P saw) NP-ARG)
    0.25 (S (V-P saw) NP-ARG)
    """
    return _linked(as_index(forest), predicate, node, mark, whole=False)


def argument_forest(forest: Forest | ForestIndex, predicate: int, node: NodeLike, *, mark: bool = True) -> Forest:
    """The paths from a predicate to an argument with all that is below it, in all trees that have it.

    Parameters
    ----------
    forest, predicate, node, mark
        As in `path_forest`.

    Returns
    -------
    Forest
        Of paths and argument, given that a tree has the argument. Its words keep their positions, and the predicate
        stands next to them.

    References
    ----------
    Moschitti (2004), A study on convolution kernels for shallow semantic parsing.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.tasks.forest_instances import argument_forest
    >>> forest = Forest.from_trees([(1, "(S (N John) (VP (V saw) (NP (D a) (N man)) (PP (P in) (N town))))")])
    >>> print(argument_forest(forest, 1, (2, 4)).best()[0])
    (VP (V-P saw) (NP-ARG (D a) (N man)))
    """
    return _linked(as_index(forest), predicate, node, mark, whole=True)


def constituent_forest(forest: Forest | ForestIndex, node: NodeLike) -> Forest:
    """All that an argument may consist of: the part of the forest below it.

    Parameters
    ----------
    forest, node
        As in `path_forest`. With a span alone, its several possible labels are several roots.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.tasks.forest_instances import constituent_forest
    >>> forest = Forest.from_trees([(1, "(S (V saw) (NP (D a) (N man)))"), (1, "(S (V saw) (X (D a) (N man)))")])
    >>> print(constituent_forest(forest, ("NP", 1, 3)).best()[0])
    (NP (D a) (N man))
    >>> constituent_forest(forest, (1, 3)).count_trees()
    2
    """
    return sub_forest(forest, node)


def _linked(index: ForestIndex, predicate: int, node: NodeLike, mark: bool, *, whole: bool) -> Forest:
    word = index.word_at(predicate)
    found, span = index.matching(node)
    copy = Copy(index, word if mark else None, PREDICATE)
    if span[0] <= word < span[1]:
        roots = _path_within(copy, word, found, span, mark, whole)
    else:
        roots = _path_between(copy, word, found, span, mark, whole)
    if not roots:
        raise TreeError(f"the node {node!r} is too improbable, or no node is above it and the word {word}")
    return copy.draft.forest(roots)


def _holding(index: ForestIndex, word: int) -> NDArray[np.bool_]:
    holding: NDArray[np.bool_] = (index.begin <= word) & (index.end > word) & (index.inner | index.word)
    return holding


def _path_within(copy: Copy, word: int, found: list[int], span: Span, mark: bool, whole: bool) -> Ways:
    """The argument is above the predicate."""
    index, draft = copy.index, copy.draft
    below = (index.begin >= span[0]) & (index.end <= span[1]) & (index.inner | index.word)
    if whole:
        copy.add(np.flatnonzero(below), span)
    else:
        copy.add(np.flatnonzero(below & _holding(index, word)), span, place=span)
    roots: Ways = {}
    for number, weight in index.topmost(found, span).items():
        label = index.labels[number]
        for made, part in copy.variants(number):
            tag = draft.nodes[made][0][len(label) :]
            top = draft.labelled(made, label + ARGUMENT + tag) if mark else made
            roots[top,] = roots.get((top,), 0.0) + weight * part
    return {root: weight for root, weight in roots.items() if weight > 0}


def _path_between(copy: Copy, word: int, found: list[int], span: Span, mark: bool, whole: bool) -> Ways:
    """The argument is beside the predicate: one way down to each."""
    index, draft, labels, spans = copy.index, copy.draft, copy.index.labels, copy.index.spans
    beside = (span[0] - 1, span[0]) if word < span[0] else (span[1], span[1] + 1)
    apart = (index.end <= span[0]) | (index.begin >= span[1])
    copy.add(np.flatnonzero(_holding(index, word) & apart), beside, place=beside)
    if whole:
        copy.add(np.flatnonzero((index.begin >= span[0]) & (index.end <= span[1])), span)
    down: dict[int, int] = {}
    for number in found:
        label = labels[number] + ARGUMENT if mark else labels[number]
        down[number] = draft.labelled(copy.one[number], label) if whole else draft.node(label, span, {})
    reach = index.reach(found, span)
    roots = Roots()
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
    """Of an edge, the tail above the predicate and the one above the argument, if they are two; in their order."""
    spans = copy.index.spans
    for below in tails:
        begin, end = spans[below]
        if below in reach and not begin <= word < end:
            holder = next(tail for tail in tails if spans[tail][0] <= word < spans[tail][1])
            for made, weight in copy.variants(holder):
                pair = (made, down[below]) if word < begin else (down[below], made)
                yield pair, weight * reach[below]


# --- candidates -------------------------------------------------------------------------------------------------


class Candidate(NamedTuple):
    """A constituent that may be an argument: its label, its words, and how probably a tree has it as a candidate."""

    label: str
    begin: int
    end: int
    probability: float

    @property
    def span(self) -> Span:
        """First word, and first word behind."""
        return self.begin, self.end


def forest_candidates(
    forest: Forest | ForestIndex, predicate: int, *, threshold: float = 0.0, by: str = "node"
) -> list[Candidate]:
    """The constituents that may be arguments of a predicate, in any tree of a forest.

    The pruning of Xue & Palmer (2004) as `treelet.tasks.roles.candidates` does it, for all trees at once: sisters of
    the nodes above the predicate, and the children of a PP among them; nothing that is coordinated with such a node,
    and no punctuation.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    predicate : int
        The position of the predicate's word.
    threshold : float in [0, 1]
        Candidates with a smaller probability are left out. At 0 all of all trees are there.
    by : {"node", "span"}
        ``"node"``: labels and spans. ``"span"``: spans, each once with the label that is most probable, as Zhang, Zhang
        & Li (2010) have it: a sub-forest with one or several roots.

    Returns
    -------
    list of Candidate
        Left to right, longer ones first, then by label. The probability is that of being a candidate: a node may be in
        more trees than that.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.tasks.forest_instances import forest_candidates
    >>> near = "(S (NP (N He)) (VP (V saw) (NP (NP (D a) (N man)) (PP (P in) (NP (N town))))))"
    >>> far = "(S (NP (N He)) (VP (V saw) (NP (D a) (N man)) (PP (P in) (NP (N town)))))"
    >>> forest = Forest.from_trees([(3, near), (1, far)])
    >>> [(c.label, *c.span, round(c.probability, 2)) for c in forest_candidates(forest, 1)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('NP', 0, 1, 1.0), ('NP', 2, 6, 0.75), ('NP', 2, 4, 0.25), ('PP', 4, 6, 0.25), ('P', 4, 5, 0.25),
     ('NP', 5, 6, 0.25)]
    >>> len(forest_candidates(forest, 1, threshold=0.5))
    2
    """
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float, np.number)) or not 0 <= threshold <= 1:
        raise ParameterError(f"The 'threshold' parameter must be a number from 0 to 1. Got {threshold!r} instead.")
    if by not in ("node", "span"):
        raise ParameterError(f"The 'by' parameter must be 'node' or 'span'. Got {by!r} instead.")
    index = as_index(forest)
    word = index.word_at(predicate)
    labels, spans, ways = index.labels, index.spans, index.ways
    found: dict[tuple[str, int, int], float] = {}

    def add(node: int, chance: float) -> None:
        if ways[node] and labels[node] not in PUNCTUATION:
            key = (labels[node], *spans[node])
            found[key] = found.get(key, 0.0) + chance

    for number in np.flatnonzero(index.inner & _holding(index, word)).tolist():
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
        for (label, begin, end), value in sorted(found.items(), key=lambda item: (-item[1], item[0])):
            old = best.get((begin, end))
            total = value if old is None else old.probability + value
            best[begin, end] = Candidate(label if old is None else old.label, begin, end, total)
        everything = list(best.values())
    else:
        everything = [Candidate(*key, value) for key, value in found.items()]
    kept = [found._replace(probability=min(1.0, found.probability)) for found in everything]
    return sorted(
        (candidate for candidate in kept if candidate.probability >= threshold),
        key=lambda candidate: (candidate.begin, -candidate.end, candidate.label),
    )


# --- many of them -----------------------------------------------------------------------------------------------


def role_table(
    instances: Iterable[tuple[Forest | ForestIndex, int, NodeLike]], *, mark: bool = True, argument: bool = False
) -> Table:
    """Predicates and arguments as a Table with the columns ``"path"`` and ``"constituent"``, for `role_kernels.hybrid`.

    Parameters
    ----------
    instances : iterable of (forest, predicate, node)
        As `path_forest` takes them. The index of a forest is kept for the instances that follow it.
    mark : bool
        Whether argument and predicate are marked in paths.
    argument : bool
        Also a column ``"argument"``, of `argument_forest`.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.tasks.forest_instances import role_table
    >>> forest = Forest.from_trees([(1, "(S (N John) (VP (V saw) (N Mary)))")])
    >>> role_table([(forest, 1, (0, 1)), (forest, 1, (2, 3))])
    <Table: 2 rows of ['path', 'constituent']>
    """
    columns: dict[str, list[Forest]] = {"path": [], "constituent": []}
    if argument:
        columns["argument"] = []
    for index, predicate, node in _indexed(instances):
        columns["path"].append(path_forest(index, predicate, node, mark=mark))
        columns["constituent"].append(constituent_forest(index, node))
        if argument:
            columns["argument"].append(argument_forest(index, predicate, node, mark=mark))
    return Table({name: ForestBank(forests) for name, forests in columns.items()})


def relation_table(
    instances: Iterable[tuple[Forest | ForestIndex, Span, Span]],
    features: Sequence[object] | None = None,
    *,
    mark: str | None = "node",
    labels: tuple[str, str] = ("E1", "E2"),
) -> Table:
    """Pairs of entities as a Table with the columns ``"tree"`` and ``"features"``, for `role_kernels.composite`.

    Parameters
    ----------
    instances : iterable of (forest, first, second)
        As `enclosed_forest` takes them. The index of a forest is kept for the instances that follow it.
    features : list, optional
        A dict of numbers for each instance, as `treelet.tasks.relations.indicators` makes them; none: no such column.
    mark, labels
        As those of `enclosed_forest`.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.tasks.forest_instances import relation_table
    >>> forest = Forest.from_trees([(1, "(S (N John) (VP (V saw) (N Mary)))")])
    >>> table = relation_table([(forest, (0, 1), (2, 3))], [{"type 1=PER": 1.0}])
    >>> print(table["tree"][0].best()[0])
    (S (E1 (N John)) (VP (V saw) (E2 (N Mary))))
    """
    forests = [
        enclosed_forest(index, first, second, mark=mark, labels=labels) for index, first, second in _indexed(instances)
    ]
    return Table({"tree": ForestBank(forests)} | ({} if features is None else {"features": features}))


def _indexed(instances: Iterable[tuple[Forest | ForestIndex, A, B]]) -> Iterator[tuple[ForestIndex, A, B]]:
    index: ForestIndex | None = None
    for forest, first, second in instances:
        if isinstance(forest, ForestIndex):
            index = forest
        elif index is None or index.forest is not forest:
            index = ForestIndex(forest)
        yield index, first, second


# --- lists of parses --------------------------------------------------------------------------------------------


def nbest_forest(parses: Iterable[tuple[float, object]], *, temperature: float = 1.0, packing: str = "nodes") -> Forest:
    """The forest of a parser's n best trees, with the logarithms of their probabilities or any scores like them.

    Parameters
    ----------
    parses : iterable of (log probability, tree)
        All over the same words. They need not be normalised, and may be far below what a float could hold as a
        probability.
    temperature : float in (0, inf)
        Each tree's probability is raised to the power 1 / temperature and all are divided by their sum: below 1 the
        best trees count for more, above 1 all become alike. **This changes the list before it is packed**;
        `Forest.temperature` changes the forest, and so the trees that packing adds.
    packing : {"nodes", "union"}
        As in `Forest.from_trees`.

    Notes
    -----
    A tree whose probability is less than 1e-300 of the best one's is left out.

    Examples
    --------
    >>> from treelet.tasks.forest_instances import nbest_forest
    >>> parses = [(-1000.0, "(S (A x))"), (-1001.0, "(S (B x))")]
    >>> [(str(tree), round(p, 3)) for tree, p in nbest_forest(parses).trees()]
    [('(S (A x))', 0.731), ('(S (B x))', 0.269)]
    >>> [round(p, 3) for _, p in nbest_forest(parses, temperature=10).trees()]
    [0.525, 0.475]
    """
    if isinstance(temperature, bool) or not isinstance(temperature, (int, float, np.number)):
        raise ParameterError(f"The 'temperature' parameter must be a positive number. Got {temperature!r} instead.")
    if not 0 < temperature < math.inf:
        raise ParameterError(f"The 'temperature' parameter must be a positive number. Got {temperature!r} instead.")
    try:
        pairs = [(float(score), tree) for score, tree in parses]
    except (TypeError, ValueError):
        raise InputTypeError("nbest_forest needs pairs (log probability, tree)") from None
    if not pairs:
        raise TreeError("nbest_forest needs at least one tree")
    scores = np.array([score for score, _ in pairs])
    if not np.isfinite(scores).all():
        raise TreeError(f"tree {int(np.flatnonzero(~np.isfinite(scores))[0])} has no finite log probability")
    with np.errstate(over="ignore", under="ignore"):
        weights = np.exp((scores - scores.max()) / float(temperature))
    items = [(weight, tree) for weight, (_, tree) in zip(weights.tolist(), pairs, strict=True) if weight > 1e-300]
    return Forest.from_trees(items, packing=packing)
