"""Packed forests, which store the common parts of many parses of a sentence once, and their collections."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import log
from typing import IO, Any, NamedTuple, Self, cast, overload

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import check_integer, check_one_of, is_number, plural, wrong
from treelet.errors import FormatError, InputTypeError, ParameterError, TreeError
from treelet.formats.base import Columns
from treelet.formats.brackets import label_problem
from treelet.formats.files import PathLike, Source, open_target
from treelet.formats.paths import File
from treelet.formats.reading import read_items
from treelet.shown import Drawn
from treelet.structures.bank import Bank, Stats, listed
from treelet.structures.spans import Span
from treelet.structures.tree import Tree, trees_of
from treelet.structures.treebank import Treebank
from treelet.work import seed_of

Vector = NDArray[np.float64]
_Edge = tuple[int, Sequence[int], float]


class _ForestColumns(NamedTuple):
    """A forest as columns. All forests have this layout, wherever they come from.

    Attributes
    ----------
    labels : list of str
        Distinct labels.
    label, begin, end : ndarray of int32
        For each node, the number of its label, its first word, and the word after its last.
    head : ndarray of int32
        Head of each edge.
    tail_start, tail : ndarray of int64, ndarray of int32
        The tails of edge e are ``tail[tail_start[e]:tail_start[e + 1]]``.
    logp : ndarray of float64
        Log probability of each edge.
    root : int
        Number of the root, or -1 for a forest without trees.
    """

    labels: list[str]
    label: NDArray[np.int32]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    head: NDArray[np.int32]
    tail_start: NDArray[np.int64]
    tail: NDArray[np.int32]
    logp: Vector
    root: int

    @classmethod
    def of(cls, nodes: Sequence[tuple[str, int, int]], edges: Sequence[_Edge], root: int) -> Self:
        """Return columns of valid nodes (label, begin, end) and edges (head, tails, log probability)."""
        labels: dict[str, int] = {}
        numbered = [(labels.setdefault(label, len(labels)), begin, end) for label, begin, end in nodes]
        label, begin, end = np.ascontiguousarray(np.array(numbered, np.int32).reshape(-1, 3).T)
        head, tails, logp = zip(*edges, strict=True) if edges else ((), (), ())
        starts = np.zeros(len(edges) + 1, np.int64)
        np.cumsum([len(below) for below in tails], out=starts[1:])
        tail = np.array([node for below in tails for node in below], np.int32)
        return cls(
            list(labels), label, begin, end, np.array(head, np.int32), starts, tail, np.array(logp, np.float64), root
        )

    @classmethod
    def checked(cls, nodes: Iterable[Any], edges: Iterable[Any], root: int | None) -> Self:
        """Return columns of nodes and edges after checking them. Default root: the only node that is not a tail."""
        known: list[tuple[str, int, int]] = []
        for number, node in enumerate(nodes):
            try:
                label, begin, end = node
                begin, end = int(begin), int(end)
            except (TypeError, ValueError, OverflowError):
                raise TreeError(
                    f"Node {number} of a forest must be (label, begin, end). Got {repr(node)[:80]} instead."
                ) from None
            if label != "" and (problem := label_problem(label)):
                raise TreeError(f"Node {number} of a forest has an invalid label: the label is {problem}.")
            if not 0 <= begin < end < 2**31:
                raise TreeError(
                    f"Node {number} of a forest ({label!r}) has the invalid span {begin}..{end}. A span needs 0 <= begin < end."
                )
            known.append((label, begin, end))
        joined: list[_Edge] = []
        for number, edge in enumerate(edges):
            try:
                head, tails = int(edge[0]), [int(tail) for tail in edge[1]]
            except (TypeError, ValueError, OverflowError):
                raise TreeError(
                    f"Edge {number} of a forest must be (head, tails, log probability). Got {repr(edge)[:80]} instead."
                ) from None
            if not tails or not all(0 <= node < len(known) for node in (head, *tails)):
                raise TreeError(
                    f"Edge {number} of a forest has no tails, or refers to a node that does not exist: {repr(edge)[:80]}. "
                    f"There are {plural(len(known), 'node')}."
                )
            joined.append((head, tails, edge[2]))
        if not known:
            return cls.of([], joined, -1)
        if root is None:
            tops = sorted(set(range(len(known))) - {tail for _, tails, _ in joined for tail in tails})
            if len(tops) != 1:
                raise TreeError(
                    f"The root of the forest is ambiguous: {plural(len(tops), 'node')} {'is' if len(tops) == 1 else 'are'} not "
                    "the tail of an edge. Pass the number of the root as root=."
                )
            root = tops[0]
        if isinstance(root, bool) or not isinstance(root, (int, np.integer)) or not 0 <= root < len(known):
            raise TreeError(
                f"The root of a forest must be the number of a node, from 0 to {len(known) - 1}. Got {root!r} instead."
            )
        return cls.of(known, joined, int(root))

    def native(self) -> _core.Forest:
        """Return the forest in the native core, sorted with tails before heads. Raise an error if it is invalid."""
        try:
            return _core.forest(*self)
        except ValueError as error:
            raise TreeError(f"This is not a valid forest: {str(error).removesuffix('.')}.") from None

    def tails(self) -> list[list[int]]:
        """Return the tails of each edge."""
        tail, start = self.tail.tolist(), self.tail_start.tolist()
        return [tail[a:b] for a, b in pairwise(start)]


# --- a builder of forests, used for packing trees and for cutting forests ---------------------------------------------

Ways = dict[tuple[int, ...], float]
"""The expansions of a node: tuples of child numbers with their weights."""


class Draft:
    """A builder of a forest. The weights of a node's expansions are scaled to sum to 1 at the end.

    Attributes
    ----------
    nodes : list of (label, begin, end)
        Nodes, children before their parents.
    ways : list of Ways
        Expansions of each node. A node without expansions is a word.
    """

    __slots__ = ("_made", "nodes", "ways")

    def __init__(self) -> None:
        self._made: dict[Hashable, int] = {}
        self.nodes: list[tuple[str, int, int]] = []
        self.ways: list[Ways] = []

    def node(self, label: str, span: Span, ways: Ways) -> int:
        """Add a node whose children were added before, and return its number. Equal nodes are added once."""
        key: Hashable
        if len(ways) == 1:
            (only,) = ways
            ways, key = {only: 1.0}, (label, span, only)
        elif ways:
            ways = _scaled(ways)
            key = (label, span, frozenset(ways.items()))
        else:
            key = (label, span)
        number = self.keyed(key, label, span)
        self.ways[number] = self.ways[number] or ways
        return number

    def keyed(self, key: Hashable, label: str, span: Span) -> int:
        """Return the number of the node with a key, adding the node if needed. The caller adds expansions to `ways`."""
        number = self._made.setdefault(key, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append((label, *span))
            self.ways.append({})
        return number

    def labeled(self, number: int, label: str) -> int:
        """Add a copy of a node with another label, and return its number."""
        _, begin, end = self.nodes[number]
        return self.node(label, (begin, end), self.ways[number])

    def forest(self, roots: Ways) -> Forest:
        """Return the finished forest. Several roots, with their weights, become children of a hidden root."""
        ((root,), *others) = roots
        if others:
            root = self.node("", self.nodes[root][1:], roots)
        edges: list[_Edge] = []
        for head, ways in enumerate(self.ways):
            if len(ways) == 1:
                (only,) = ways
                edges.append((head, only, 0.0))
            else:
                edges += [(head, tails, log(weight)) for tails, weight in _scaled(ways).items()]
        return Forest.from_columns(_ForestColumns.of(self.nodes, edges, root))


def _scaled(ways: Ways) -> Ways:
    total = sum(ways.values())
    return ways if abs(total - 1) <= 1e-15 else {tails: weight / total for tails, weight in ways.items()}


class _Visit(NamedTuple):
    label: str
    begin: int
    end: int
    children: tuple[int, ...]  # positions in the list of visits
    level: int  # number of unary steps below the node, within its span


def _visits(tree: Tree) -> list[_Visit]:
    """Return the nodes of a tree in post-order, with their spans."""
    out: list[_Visit] = []
    done: list[int] = []
    position = 0
    stack: list[tuple[Tree, bool]] = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if node.children and not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))
            continue
        if node.children:
            below = tuple(done[-len(node.children) :])
            del done[-len(node.children) :]
            unary = len(below) == 1
            level = out[below[0]].level + 1 if unary else 0
            out.append(_Visit(node.label, out[below[0]].begin, out[below[-1]].end, below, level))
        else:
            out.append(_Visit(node.label, position, position + 1, (), 0))
            position += 1
        done.append(len(out) - 1)
    return out


def _cyclic(visited: list[list[_Visit]]) -> set[tuple[int, int, str]]:
    """Return each (begin, end, label) from which unary steps, taken from any of the trees, lead back to itself."""
    steps: dict[tuple[int, int], dict[str, set[str]]] = {}
    for visits in visited:
        for visit in visits:
            if len(visit.children) == 1 and visits[visit.children[0]].children:
                below = visits[visit.children[0]].label
                steps.setdefault((visit.begin, visit.end), {}).setdefault(visit.label, set()).add(below)
    cyclic = set()
    for (begin, end), graph in steps.items():
        for label in graph:
            reached: set[str] = set()
            todo = list(graph[label])
            while todo:
                below = todo.pop()
                if below not in reached:
                    reached.add(below)
                    todo.extend(graph.get(below, ()))
            if label in reached:
                cyclic.add((begin, end, label))
    return cyclic


def _packed(trees: list[Tree], weights: Vector, packing: str) -> Forest:
    """Return the forest of weighted trees.

    The packing "union" merges only equal subtrees with the same span, and different roots become alternatives. "nodes" merges
    nodes with the same label and span. Nodes on a cycle of unary steps must also have the same level.
    """
    visited = [_visits(tree) for tree in trees]
    cyclic = _cyclic(visited) if packing == "nodes" else set()
    draft = Draft()
    roots: Ways = {}
    for visits, weight in zip(visited, weights.tolist(), strict=True):
        numbers: list[int] = []
        for visit in visits:
            span, tails = (visit.begin, visit.end), tuple(numbers[child] for child in visit.children)
            if packing == "union":
                numbers.append(draft.node(visit.label, span, {tails: 1.0} if tails else {}))
                continue
            loop = bool(tails) and (*span, visit.label) in cyclic
            number = draft.keyed((visit.label, *span, not tails, visit.level if loop else None), visit.label, span)
            numbers.append(number)
            if tails:
                draft.ways[number][tails] = draft.ways[number].get(tails, 0.0) + weight
        roots[numbers[-1],] = roots.get((numbers[-1],), 0.0) + weight
    return draft.forest(roots)


# --- packed forests: many parses of a sentence, with their common parts stored once -----------------------------------

_EMPTY = "The forest contains no tree."
_MAX_LISTED = 100_000


class ForestNode(NamedTuple):
    """A label over the words ``begin..end``. A node that is not the head of an edge is a word."""

    label: str
    begin: int
    end: int


class ForestEdge(NamedTuple):
    """One expansion of a node: the numbers of the head and of the tails, and a probability."""

    head: int
    tails: tuple[int, ...]
    probability: float


class Forest(Drawn):
    """A packed forest: many trees of one sentence, stored as nodes and hyperedges.

    Several edges may share a head. A tree consists of one edge per node, starting at the root, so a
    small forest can represent very many trees. The probability of a tree is the product of the
    probabilities of its edges; these need not sum to 1. Forests are immutable.

    Parameters
    ----------
    nodes : iterable of (label, begin, end)
        The label ``""`` marks a hidden root, which offers a choice of roots and is not part of any tree.
    edges : iterable of (head, tails, probability)
        Head and tails are positions in `nodes`. A node that is not the head of an edge is a word.
    root : int, optional
        Position of the root in `nodes`. Default: the only node that is not a tail.

    Examples
    --------
    >>> from treelet import Forest
    >>> forest = Forest.from_trees([("(S (A x) (B y))", 0.6), ("(S (A x) (C y))", 0.4)])
    >>> forest
    <Forest: 2 words, 2 trees, 6 nodes, 5 edges>
    >>> for tree, probability in forest.kbest(2):
    ...     print(round(probability, 3), tree)
    0.6 (S (A x) (B y))
    0.4 (S (A x) (C y))
    """

    __slots__ = ("_native",)

    def __init__(
        self,
        nodes: Iterable[tuple[str, int, int]],
        edges: Iterable[tuple[int, Sequence[int], float]],
        root: int | None = None,
    ) -> None:
        weighted = []
        for number, edge in enumerate(edges):
            try:
                head, tails, probability = edge
                probability = float(probability)
            except (TypeError, ValueError, OverflowError):
                raise TreeError(
                    f"Edge {number} of the forest must be (head, tails, probability). Got {edge!r:.80} instead."
                ) from None
            if not 0 < probability < math.inf:
                raise TreeError(
                    f"The probability of edge {number} of the forest must be positive and finite. "
                    f"Got {probability!r} instead."
                )
            weighted.append((head, tails, math.log(probability)))
        self._native = _ForestColumns.checked(nodes, weighted, root).native()

    @classmethod
    def _of(cls, native: _core.Forest) -> Forest:
        forest = cls.__new__(cls)
        forest._native = native
        return forest

    @staticmethod
    def from_trees(items: Iterable[tuple[object, float]], packing: str = "nodes") -> Forest:
        """Pack the parses of one sentence into a forest.

        Parameters
        ----------
        items : iterable of (tree, weight)
            Trees over the same words, in any form that `Treebank` accepts, and positive weights
            that need not sum to 1.
        packing : {"nodes", "union"}, default "nodes"
            ``"nodes"``: trees share all nodes with the same label and span. The probability of an
            edge is the weighted relative frequency of this expansion of its head. **The forest then
            also contains trees that are not in `items`**: trees that combine parts of several items,
            as in the forest of a parser. The weights of the items are met only on average.
            ``"union"``: the forest contains exactly the items, with their weights scaled to sum to
            1. Only equal subtrees are shared.

        Returns
        -------
        Forest

        Examples
        --------
        >>> from treelet import Forest
        >>> items = [("(S (A x) (B y))", 1), ("(S (C x) (D y))", 1), ("(T (A x) (B y))", 1)]
        >>> Forest.from_trees(items, packing="union").count_trees()
        3
        """
        check_one_of("packing", packing, ("nodes", "union"))
        try:
            written = [(tree, weight) for tree, weight in items]
            pairs = [(tree, float(weight)) for tree, weight in written]
        except (TypeError, ValueError):
            raise InputTypeError(
                "Forest.from_trees needs a list of pairs (tree, weight), such as [('(S (A a))', 0.7)]."
            ) from None
        if not pairs:
            raise TreeError("Forest.from_trees needs at least one tree, but the list is empty.")
        bank = Treebank.of([tree for tree, _ in pairs])
        weights = np.array([weight for _, weight in pairs])
        words = None
        trees = []
        for number, tree in enumerate(bank):
            if tree is None or not tree.children:
                raise TreeError(f"Tree {number} is missing or a single word, but a tree with children is needed.")
            if not 0 < weights[number] < math.inf:
                raise TreeError(
                    f"The weight of tree {number} must be positive and finite. Got {written[number][1]!r} instead."
                )
            own = tree.words()
            if words is not None and own != words:
                raise TreeError(
                    f"The words of tree {number} differ from those of tree 0. A forest contains trees of one sentence."
                )
            words = own
            trees.append(tree)
        share = weights / weights.max()
        if share.min() < 1e-300:
            raise TreeError(
                f"Tree {int(share.argmin())} is less than 1e-300 times as probable as the best tree. Leave this tree out."
            )
        return _packed(trees, share / share.sum(), packing)

    @staticmethod
    def from_nbest(
        parses: Iterable[tuple[object, float]], *, temperature: float = 1.0, packing: str = "nodes"
    ) -> Forest:
        """Pack the n best trees of a parser, with their log probabilities, into a forest.

        Parameters
        ----------
        parses : iterable of (tree, log probability)
            Trees over the same words, with natural logarithms of probabilities or similar scores.
            The probabilities need not sum to 1, and may be too small for a float.
        temperature : float in (0, inf), default 1
            Each probability is raised to the power 1 / temperature, and the results are scaled to
            sum to 1. Values below 1 increase the weight of the best trees; values above 1 make the
            weights more equal. **The temperature is applied before packing.** In contrast,
            `Forest.temperature` also affects the trees that packing adds.
        packing : {"nodes", "union"}, default "nodes"
            As in `Forest.from_trees`.

        Returns
        -------
        Forest

        Notes
        -----
        Trees whose probability is less than 1e-300 times the probability of the best tree are dropped.

        Examples
        --------
        >>> from treelet import Forest
        >>> parses = [("(S (A x))", -1000.0), ("(S (B x))", -1001.0)]
        >>> [(str(tree), round(p, 3)) for tree, p in Forest.from_nbest(parses).trees()]
        [('(S (A x))', 0.731), ('(S (B x))', 0.269)]
        >>> [round(p, 3) for _, p in Forest.from_nbest(parses, temperature=10).trees()]
        [0.525, 0.475]
        """
        if not is_number(temperature) or temperature <= 0:
            raise wrong("temperature", "a positive number", temperature)
        try:
            pairs = [(tree, float(score)) for tree, score in parses]
        except (TypeError, ValueError):
            raise InputTypeError(
                "from_nbest needs a list of pairs (tree, log probability), such as [('(S (A a))', -12.5)]."
            ) from None
        if not pairs:
            raise TreeError("The list is empty: from_nbest needs at least one tree.")
        scores = np.array([score for _, score in pairs])
        if not np.isfinite(scores).all():
            number = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise TreeError(
                f"The log probability of tree {number} must be finite. Got {float(scores[number])!r} instead."
            )
        # The probabilities, raised to the power 1 / temperature. The largest is 1.
        with np.errstate(over="ignore", under="ignore"):
            weights = np.exp((scores - scores.max()) / float(temperature))
        likely = [(tree, weight) for (tree, _), weight in zip(pairs, weights.tolist(), strict=True) if weight > 1e-300]
        return Forest.from_trees(likely, packing)

    @staticmethod
    def from_tree(tree: Tree) -> Forest:
        """Return the forest of one tree, with probability 1."""
        return _packed([tree], np.ones(1), "union")

    @staticmethod
    def from_columns(columns: _ForestColumns) -> Forest:
        """Return the forest that is stored in these columns."""
        return Forest._of(columns.native())

    # --- content ------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> _ForestColumns:
        """Nodes and edges as arrays, tails before heads."""
        native = self._native
        head = np.repeat(np.arange(len(native.label), dtype=np.int32), np.diff(native.edge_start))
        nodes, tails = (native.labels, native.label, native.begin, native.end), (native.tail_start, native.tail)
        return _ForestColumns(*nodes, head, *tails, native.logp, native.root)

    @property
    def nodes(self) -> list[ForestNode]:
        """The nodes, tails before heads."""
        native, labels = self._native, self._native.labels
        spans = zip(native.label.tolist(), native.begin.tolist(), native.end.tolist(), strict=True)
        return [ForestNode(labels[label], begin, end) for label, begin, end in spans]

    @property
    def edges(self) -> list[ForestEdge]:
        """The hyperedges, grouped by head."""
        columns = self.columns
        edges = zip(columns.head.tolist(), columns.tails(), columns.logp.tolist(), strict=True)
        return [ForestEdge(head, tuple(tails), _power(logp)) for head, tails, logp in edges]

    @property
    def root(self) -> int | None:
        """Number of the root, or None if the forest contains no tree."""
        return self._native.root if self._native.root >= 0 else None

    @property
    def words(self) -> list[str]:
        """Words of the sentence, at the positions for which the forest has words."""
        native = self._native
        leaf = np.flatnonzero(np.diff(native.edge_start) == 0)  # nodes without edges, which are words
        order = leaf[np.argsort(native.begin[leaf], kind="stable")]
        words = {int(native.begin[node]): native.labels[native.label[node]] for node in order[::-1]}
        return [words[at] for at in sorted(words)]

    def __bool__(self) -> bool:
        return self.root is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Forest):
            return NotImplemented
        return (self.root, self.nodes, self.edges) == (other.root, other.nodes, other.edges)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.root is None:
            return "<Forest: no trees>"
        trees = float(self._native.count()[self.root])
        count = f"{trees:,.0f}" if trees < 1e15 else f"{trees:.3g}" if trees < math.inf else "very many"
        return (
            f"<Forest: {len(self.words)} words, {count} trees, {len(self._native.label):,} nodes, "
            f"{len(self._native.logp):,} edges>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Forest.from_json, (self.to_json(),)

    # --- probabilities ------------------------------------------------------------------------------------------

    def inside(self, *, log: bool = False) -> Vector:
        """Return the inside probabilities: for each node, the sum of the probabilities of the trees below the node."""
        values = self._native.inside()
        return values if log else np.exp(values)

    def outside(self, *, log: bool = False) -> Vector:
        """Return the outside probabilities: for each node, the sum of the probabilities of its contexts; 1 at the root."""
        values = self._native.outside()
        return values if log else np.exp(values)

    def probability(self, *, log: bool = False) -> float:
        """Return the total probability of all trees: the inside probability of the root, or 0 for an empty forest."""
        total = float(self._native.inside()[self.root]) if self.root is not None else -math.inf
        return total if log else _power(total)

    def posterior(self) -> Vector:
        """Return, for each node, the probability that a tree of the forest contains the node."""
        if self.root is None:
            return np.zeros(0)
        inside = self._native.inside()
        values: Vector = np.exp(self._native.outside() + inside - inside[self.root])
        return values

    def prune(self, threshold: float = 8.0) -> Forest:
        """Remove edges that occur in improbable trees only.

        Parameters
        ----------
        threshold : float, default 8
            Maximum difference in log probability (natural logarithm) between the best tree of the
            forest and the best tree with the edge. Edges with a larger difference are removed.

        Returns
        -------
        Forest
        """
        if not is_number(threshold, 0, infinite=True):
            raise wrong("threshold", "a number of at least 0", threshold)
        return Forest._of(self._native.pruned(float(threshold)))

    def temperature(self, temperature: float) -> Forest:
        """Raise the probability of every tree to the power 1 / temperature.

        Values below 1 increase the differences between trees; values above 1 reduce them.
        """
        if not is_number(temperature) or temperature <= 0:
            raise wrong("temperature", "a positive number", temperature)
        with np.errstate(over="ignore"):
            logp = self._native.logp / float(temperature)
        if not (np.abs(logp) < 1e9).all():
            raise ParameterError(
                f"The temperature {temperature!r} is so small that only the best tree is left. Use best() instead."
            )
        return Forest.from_columns(self.columns._replace(logp=logp))

    # --- trees --------------------------------------------------------------------------------------------------

    def best(self) -> tuple[Tree, float]:
        """Return the most probable tree and its probability."""
        return self._some(1)[0]

    def kbest(self, k: int) -> list[tuple[Tree, float]]:
        """Return the `k` most probable trees, best first, with their probabilities."""
        return self._some(_check_count(k)) if self.root is not None else []

    def _some(self, k: int) -> list[tuple[Tree, float]]:
        if self.root is None:
            raise TreeError(_EMPTY)
        store, roots, logps = self._native.kbest(k)
        trees = trees_of(Columns(store, roots))
        falling = np.minimum.accumulate(logps).tolist()  # sums of equal probabilities may differ by rounding
        return [(cast(Tree, tree), _power(logp)) for tree, logp in zip(trees, falling, strict=True)]

    def trees(self, limit: int = _MAX_LISTED) -> list[tuple[Tree, float]]:
        """Return all trees, best first, with their probabilities. More than `limit` trees raise TreeError."""
        _check_count(limit, "limit")
        count = self.count_trees()
        if count > limit:
            raise TreeError(
                f"The forest contains {plural(count, 'tree')}, more than the limit of {limit:,}. Prune the forest, or "
                "use kbest(k)."
            )
        return self.kbest(count) if count else []

    def count_trees(self) -> int:
        """Return the exact number of trees in the forest."""
        if self.root is None:
            return 0
        quick = float(self._native.count()[self.root])
        if quick < 2**53:
            return int(quick)
        native = self._native
        start, tail_start, tail = native.edge_start.tolist(), native.tail_start.tolist(), native.tail.tolist()
        counts: list[int] = []
        for node in range(len(start) - 1):
            total = 0 if start[node] < start[node + 1] else 1
            for edge in range(start[node], start[node + 1]):
                product = 1
                for below in tail[tail_start[edge] : tail_start[edge + 1]]:
                    product *= counts[below]
                total += product
            counts.append(total)
        return counts[self._native.root]

    @overload
    def sample(self, n: None = None, random_state: Any = 0) -> Tree: ...
    @overload
    def sample(self, n: int, random_state: Any = 0) -> list[Tree]: ...
    def sample(self, n: int | None = None, random_state: Any = 0) -> Tree | list[Tree]:
        """Sample trees in proportion to their probability.

        Parameters
        ----------
        n : int, optional
            Number of trees. If omitted, one tree is returned instead of a list.
        random_state : int, RandomState, Generator or None, default 0
            Source of randomness. The same int gives the same trees.

        Returns
        -------
        Tree or list of Tree
        """
        if self.root is None:
            raise TreeError(_EMPTY)
        store, roots = self._native.sample(1 if n is None else _check_count(n, "n"), seed_of(random_state))
        drawn = cast("list[Tree]", trees_of(Columns(store, roots)))
        return drawn[0] if n is None else drawn

    # --- JSON ---------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the forest as one line of JSON: nodes, edges (head, tails, log probability) and the root."""
        columns = self.columns
        edges = list(zip(columns.head.tolist(), columns.tails(), columns.logp.tolist(), strict=True))
        return json.dumps({"nodes": self.nodes, "edges": edges, "root": self.root}, ensure_ascii=False)

    @staticmethod
    def from_json(text: str | Mapping[str, Any]) -> Forest:
        """Read a forest from the output of `to_json`, or from the parsed JSON object."""
        try:
            data = json.loads(text) if isinstance(text, str) else text
            root = data["root"]
            edges = [(edge[0], edge[1], float(edge[2])) for edge in data["edges"]]
            nodes = [(node[0], node[1], node[2]) for node in data["nodes"]]
        except (ValueError, KeyError, IndexError, TypeError, OverflowError, RecursionError) as error:
            layout = '{"nodes": [[label, begin, end], ...], "edges": [[head, [tail, ...], log probability], ...], "root": number}'
            raise FormatError(f"this is not a forest in JSON ({error}). Write {layout}.") from None
        if root is None and nodes:
            raise TreeError("The root of a forest must be the number of a node. Got None instead.")
        return Forest.from_columns(_ForestColumns.checked(nodes, edges if nodes else [], root))


def _power(logarithm: float) -> float:
    """Return the exponential, or inf if it does not fit a float."""
    return math.exp(logarithm) if logarithm < 709.78 else math.inf


def _check_count(value: int, name: str = "k", least: int = 1) -> int:
    """Return an int of at least `least` that fits the native code, or raise ParameterError."""
    check_integer(name, value, least, most=2**62)
    return int(value)


# --- collections of forests -------------------------------------------------------------------------------------------


class ForestBank(Bank[Forest]):
    """A collection of forests that stores equal subforests once.

    The stored columns contain the probability of each edge given its head, and no spans. An
    unambiguous subtree is therefore stored once for all forests. The original forests are kept, too.

    Parameters
    ----------
    items : iterable
        `Forest` objects, or trees in any form that `Treebank` accepts; a tree becomes a forest with
        one tree. None stands for a missing forest and becomes a forest without trees.

    Examples
    --------
    >>> from treelet import Forest, ForestBank
    >>> bank = ForestBank([Forest.from_trees([("(S (A x))", 1), ("(S (B x))", 1)]), "(S (A x))"])
    >>> len(bank), bank.shape
    (2, (2,))
    >>> bank[1].count_trees()
    1
    """

    __slots__ = ()

    _store = _core.ForestStore
    _columns_are_all = False
    _noun, _mark, _suffixes = "forest", "{", (".json", ".jsonl")

    @classmethod
    def _taken_in(cls, items: Iterable[object]) -> tuple[Columns | None, list[Forest] | None]:
        if isinstance(items, Treebank):
            return Columns(*_core.ForestStore().grown(*items.columns)), None
        examples = listed(items, "forests or trees", (Forest, Tree))
        if not any(isinstance(item, Forest) for item in examples):
            return cls._taken_in(Treebank(examples))
        others = [number for number, item in enumerate(examples) if not isinstance(item, Forest) and item is not None]
        trees = iter(Treebank([examples[number] for number in others]))
        converted = [item if isinstance(item, Forest) or item is None else next(trees) for item in examples]
        empty = Forest([], [])
        return None, [Forest.from_tree(item) if isinstance(item, Tree) else item or empty for item in converted]

    @classmethod
    def _columns_of(cls, items: list[Forest]) -> Columns:
        try:
            return Columns(*_core.ForestStore.of_forests([item._native for item in items]))
        except ValueError as error:
            raise TreeError(f"The forests are not valid: {error}.") from None

    @classmethod
    def _items_of(cls, columns: Columns) -> list[Forest]:
        store, roots = columns
        return [Forest._of(store.forest(root)) for root in roots.tolist()]

    def __reduce__(self) -> tuple[Any, ...]:
        if self._items is None:
            return super().__reduce__()
        return type(self).from_lines, (self.lines(),)

    @property
    def has_forests(self) -> bool:
        """True if the original forests, with their spans, are kept."""
        return self._items is not None

    def lines(self) -> list[str]:
        """Return each forest as a line of JSON."""
        return [forest.to_json() for forest in self]

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> Self:
        """Read forests from lines of JSON, as returned by `lines`."""
        return cls([Forest.from_json(line) for line in lines])

    def stats(self) -> Stats:
        """Count forests, nodes, edges and distinct subforests."""
        natives = [forest._native for forest in self]
        return Stats(
            forests=len(self),
            nodes=sum(len(native.label) for native in natives),
            edges=sum(len(native.logp) for native in natives),
            distinct_subforests=len(np.unique(self.weights().node)),
        )

    def best(self) -> Treebank:
        """Return the best tree of each forest. The best tree of an empty forest is missing."""
        return Treebank([forest.best()[0] if forest else None for forest in self])

    def prune(self, threshold: float = 8.0) -> ForestBank:
        """Prune each forest; see `Forest.prune`."""
        return ForestBank([forest.prune(threshold) for forest in self])

    def temperature(self, temperature: float) -> ForestBank:
        """Change the temperature of each forest; see `Forest.temperature`."""
        return ForestBank([forest.temperature(temperature) for forest in self])

    @staticmethod
    def _is_text(text: str) -> bool:
        """Return whether a text looks like a forest in JSON."""
        return text.lstrip().startswith("{")

    @classmethod
    def _in_file(cls, source: Source) -> Iterator[Forest]:
        """Yield the forests of a file, one per nonempty line."""
        for number, line in source.text_lines():
            if line.strip():
                with source.item(), source.at(number):
                    yield Forest.from_json(line)

    def write(self, file: PathLike | IO[str]) -> None:
        """Write one forest per line as JSON. The file appears only when it is complete.

        Parameters
        ----------
        file : path or open file
            Files whose names end in ``.gz``, ``.xz`` or ``.bz2`` are compressed. ``"-"`` is standard output.
        """
        with open_target(file) as stream:
            stream.writelines(line + "\n" for line in self.lines())


def read_forests(
    *files: File | Sequence[File], exclude: str | Collection[str] = (), encoding: str = "utf-8", on_error: str = "raise"
) -> ForestBank:
    """Read files of forests that `ForestBank.write` wrote: one forest per line, as JSON.

    Parameters
    ----------
    *files : path or open file
        Files in ``.gz``, ``.xz`` and ``.bz2`` format are decompressed. ``"-"`` is standard input. A
        folder stands for all ``.json`` and ``.jsonl`` files below it, and a pattern such as
        ``"forests/*.jsonl"`` for the files that match it, as for `read_trees`.
    exclude : str or list of str, default ()
        Patterns of files and folders to leave out of folders and patterns, as for `read_trees`.
    encoding : str, default "utf-8"
        Encoding of the files.
    on_error : {"raise", "skip"}, default "raise"
        ``"raise"`` raises an error for a malformed forest. ``"skip"`` skips malformed forests; a
        warning reports how many were skipped and where the first ones are.

    Returns
    -------
    ForestBank

    Examples
    --------
    >>> import io, treelet
    >>> bank = treelet.structures.ForestBank([treelet.Forest.from_tree(treelet.Tree.parse("(S (A a))"))])
    >>> out = io.StringIO()
    >>> bank.write(out)
    >>> len(treelet.structures.read_forests(io.StringIO(out.getvalue())))
    1
    """
    return ForestBank(
        read_items(
            files,
            ForestBank._suffixes,
            ForestBank._in_file,
            "forests",
            exclude=exclude,
            encoding=encoding,
            on_error=on_error,
        )
    )
