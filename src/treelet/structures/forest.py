"""Packed forests: many parses of a sentence, their common parts held once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast, overload

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import check_integer, check_one_of, is_number, wrong
from treelet.errors import ParameterError, TreeError
from treelet.formats.base import Columns
from treelet.formats.forests import ForestColumns, checked_columns, from_json, to_json
from treelet.shown import Drawn
from treelet.structures.packing import by_temperature, pack, unite, weighted
from treelet.structures.tree import Tree, trees_of
from treelet.work import seed_of

MAX_LISTED = 100_000
Vector = NDArray[np.float64]


class ForestNode(NamedTuple):
    """A label over the words ``begin..end``. A node that heads no edge is a word."""

    label: str
    begin: int
    end: int


class ForestEdge(NamedTuple):
    """One way of expanding a node: numbers of nodes, and a probability."""

    head: int
    tails: tuple[int, ...]
    probability: float


class Forest(Drawn):
    """A packed forest: nodes (label, span) and hyper-edges (head to tails, probability).

    Several edges may share a head: so many trees, each the choice of one edge a node, take little room. The
    probability of a tree is the product of its edges'; they need not sum to 1. A forest never changes.

    Parameters
    ----------
    nodes : iterable of (label, begin, end)
        The label ``""`` is that of a hidden root: a choice between roots, which is in no tree.
    edges : iterable of (head, tails, probability)
        Head and tails are positions in `nodes`. A node that heads no edge is a word.
    root : int, optional
        By default the one node that is nobody's tail.

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
                raise TreeError(f"edge {number} of a forest must be (head, tails, probability), got {edge!r}") from None
            if not 0 < probability < math.inf:
                raise TreeError(f"edge {number} of a forest must have a positive probability, got {probability!r}")
            weighted.append((head, tails, math.log(probability)))
        self._native = checked_columns(nodes, weighted, root).native()

    @classmethod
    def _of(cls, native: _core.Forest) -> Forest:
        forest = cls.__new__(cls)
        forest._native = native
        return forest

    @staticmethod
    def from_trees(items: Iterable[tuple[object, float]], packing: str = "nodes") -> Forest:
        """Pack the parses of one sentence, each with its probability or weight.

        Parameters
        ----------
        items : iterable of (tree, probability)
            Positive weights that need not sum to 1; trees as `Treebank` takes them, all over the same words.
        packing : {"nodes", "union"}
            ``"nodes"``: trees share every node with one label and one span. An edge's probability is how often, by
            weight, its head is expanded so. **The forest then also holds trees that are not in the list**: those that
            mix parts of several, as a parser's own forest does; the given weights are met only on average. ``"union"``: exactly the listed
            trees with exactly their weights (scaled to sum to 1); only equal subtrees are shared.

        Examples
        --------
        >>> from treelet import Forest
        >>> items = [("(S (A x) (B y))", 1), ("(S (C x) (D y))", 1), ("(T (A x) (B y))", 1)]
        >>> Forest.from_trees(items, packing="union").count_trees()
        3
        """
        check_one_of("packing", packing, ("nodes", "union"))
        weights, trees = weighted(items)
        return Forest.from_columns((pack if packing == "nodes" else unite)(trees, weights))

    @staticmethod
    def from_nbest(
        parses: Iterable[tuple[object, float]], *, temperature: float = 1.0, packing: str = "nodes"
    ) -> Forest:
        """The forest of a parser's n best trees, with the logarithms of their probabilities or any scores like them.

        Parameters
        ----------
        parses : iterable of (tree, log probability)
            All over the same words. They need not be normalized, and may be far below what a float could hold as a
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
        >>> from treelet import Forest
        >>> parses = [("(S (A x))", -1000.0), ("(S (B x))", -1001.0)]
        >>> [(str(tree), round(p, 3)) for tree, p in Forest.from_nbest(parses).trees()]
        [('(S (A x))', 0.731), ('(S (B x))', 0.269)]
        >>> [round(p, 3) for _, p in Forest.from_nbest(parses, temperature=10).trees()]
        [0.525, 0.475]
        """
        return Forest.from_trees(by_temperature(parses, temperature), packing)

    @staticmethod
    def from_tree(tree: Tree) -> Forest:
        """The forest of one tree, with probability 1."""
        return Forest.from_columns(unite([tree], np.ones(1)))

    @staticmethod
    def from_columns(columns: ForestColumns) -> Forest:
        """The forest that these columns are."""
        return Forest._of(columns.native())

    # --- what it holds ------------------------------------------------------------------------------------------

    @property
    def columns(self) -> ForestColumns:
        """Nodes and edges as arrays, tails before heads."""
        return ForestColumns.of(self._native)

    @property
    def nodes(self) -> list[ForestNode]:
        """The nodes, tails before heads."""
        native, labels = self._native, self._native.labels
        spans = zip(native.label.tolist(), native.begin.tolist(), native.end.tolist(), strict=True)
        return [ForestNode(labels[label], begin, end) for label, begin, end in spans]

    @property
    def edges(self) -> list[ForestEdge]:
        """The hyper-edges, grouped by head."""
        columns = self.columns
        edges = zip(columns.head.tolist(), columns.tails(), columns.logp.tolist(), strict=True)
        return [ForestEdge(head, tuple(tails), _power(logp)) for head, tails, logp in edges]

    @property
    def root(self) -> int | None:
        """Number of the root; None if the forest holds no tree."""
        return self._native.root if self._native.root >= 0 else None

    @property
    def words(self) -> list[str]:
        """The sentence, as far as the forest has words."""
        native = self._native
        leaf = np.flatnonzero(np.diff(native.edge_start) == 0)
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
        """For each node, the summed probability of the trees below it; at the root, of all trees."""
        values = self._native.inside()
        return values if log else np.exp(values)

    def outside(self, *, log: bool = False) -> Vector:
        """For each node, the summed probability of what may lie around it, itself left out; 1 at the root."""
        values = self._native.outside()
        return values if log else np.exp(values)

    def probability(self, *, log: bool = False) -> float:
        """Of all trees together: the inside probability of the root; 0 if there are none."""
        total = float(self._native.inside()[self.root]) if self.root is not None else -math.inf
        return total if log else _power(total)

    def posterior(self) -> Vector:
        """For each node, the probability that a tree of the forest has it."""
        if self.root is None:
            return np.zeros(0)
        inside = self._native.inside()
        values: Vector = np.exp(self._native.outside() + inside - inside[self.root])
        return values

    def prune(self, threshold: float = 8.0) -> Forest:
        """Without the edges that are in no tree within `threshold` (natural logarithm) of the best one."""
        if not is_number(threshold, 0, infinite=True):
            raise wrong("threshold", "a number of at least 0", threshold)
        return Forest._of(self._native.pruned(float(threshold)))

    def temperature(self, temperature: float) -> Forest:
        """With every tree's probability to the power 1 / temperature: below 1 sharper, above 1 flatter."""
        if not is_number(temperature) or temperature <= 0:
            raise wrong("temperature", "a positive number", temperature)
        with np.errstate(over="ignore"):
            logp = self._native.logp / float(temperature)
        if not (np.abs(logp) < 1e9).all():
            raise ParameterError(
                f"The 'temperature' parameter is so small, {temperature!r}, that only the best tree is left: take best()."
            )
        return Forest.from_columns(self.columns._replace(logp=logp))

    # --- trees --------------------------------------------------------------------------------------------------

    def best(self) -> tuple[Tree, float]:
        """The most probable tree, and its probability."""
        return self._some(1)[0]

    def kbest(self, k: int) -> list[tuple[Tree, float]]:
        """The `k` most probable trees, best first, each with its probability: the product of its edges'."""
        return self._some(check_count(k)) if self.root is not None else []

    def _some(self, k: int) -> list[tuple[Tree, float]]:
        if self.root is None:
            raise TreeError("the forest holds no tree")
        store, roots, logps = self._native.kbest(k)
        trees = trees_of(Columns(store, roots))
        falling = np.minimum.accumulate(logps).tolist()  # equals' sums are rounded each in its order
        return [(cast(Tree, tree), _power(logp)) for tree, logp in zip(trees, falling, strict=True)]

    def trees(self, limit: int = MAX_LISTED) -> list[tuple[Tree, float]]:
        """All trees, best first, each with its probability; an error if there are more than `limit`."""
        check_count(limit, "limit")
        count = self.count_trees()
        if count > limit:
            raise TreeError(f"the forest holds {count:,} trees, more than limit={limit:,}: prune it, or take kbest(k)")
        return self.kbest(count) if count else []

    def count_trees(self) -> int:
        """How many trees the forest holds, exactly."""
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
        """Trees drawn by their probability, one or a list of `n`; the same int as `random_state` gives the same trees."""
        if self.root is None:
            raise TreeError("the forest holds no tree")
        store, roots = self._native.sample(1 if n is None else check_count(n, "n"), seed_of(random_state))
        drawn = cast("list[Tree]", trees_of(Columns(store, roots)))
        return drawn[0] if n is None else drawn

    # --- JSON ---------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """One line of JSON: nodes, edges (head, tails, log probability) and the root."""
        return to_json(self.columns)

    @staticmethod
    def from_json(text: str | Mapping[str, Any]) -> Forest:
        """A forest from what `to_json` wrote, or from the object that it stands for."""
        return Forest.from_columns(from_json(text))


def _power(logarithm: float) -> float:
    """Its exponential; inf where that is beyond a float."""
    return math.exp(logarithm) if logarithm < 709.78 else math.inf


def check_count(value: int, name: str = "k", least: int = 1) -> int:
    """A whole number of at least `least`, and not absurdly large."""
    check_integer(name, value, least, most=2**62)
    return int(value)
