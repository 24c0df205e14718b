"""The fragments that two trees share, and what each of them adds to a kernel's value.

Fragments are grown one production (SST) or one node (PT) at a time, along the places where they occur in both trees, so
that only fragments that are shared are ever looked at. Each has one way to be grown: its nodes in pre-order.
"""

from __future__ import annotations

import heapq
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from treelet.checks import check_integer
from treelet.errors import InputTypeError, ParameterError
from treelet.kernels import Kernel, PartialTree, Smoothed, SubsetTree, Subtree
from treelet.kernels.base import overflow
from treelet.structures import Tree, Treebank

WORD = "\u2022"  # below a word that a fragment of SubsetTree(leaves=True) expands
MAX_STEPS = 500_000  # from place to place, before the search is cut off: about a second


class SharedFragment(NamedTuple):
    """A fragment that two trees share.

    Attributes
    ----------
    tree : Tree
        The fragment. A node without children is a word, or a node that the fragment does not expand.
    counts : (int, int)
        How often it occurs in each of the two trees.
    contribution : float
        What it adds to the kernel's value.
    """

    tree: Tree
    counts: tuple[int, int]
    contribution: float


class SharedFragments(list[SharedFragment]):
    """Shared fragments, the largest contribution first.

    Attributes
    ----------
    complete : bool
        True if there are no others: then the contributions add up to the kernel's value.
    """

    def __init__(self, fragments: Iterable[SharedFragment] = (), complete: bool = True) -> None:
        super().__init__(fragments)
        self.complete = complete

    def total(self) -> float:
        """The sum of the contributions."""
        return math.fsum(fragment.contribution for fragment in self)

    def _repr_html_(self) -> str:
        from treelet.explain.notebook import fragment_table

        return fragment_table(self)


def shared_fragments(a: object, b: object, kernel: Kernel, limit: int = 2_000) -> SharedFragments:
    """The fragments that two trees share, the largest contribution to ``kernel([a], [b])`` first.

    Parameters
    ----------
    a, b : Tree, str, ...
        Two trees, in any form that a Treebank takes.
    kernel : Subtree, SubsetTree or PartialTree
        Which fragments, and what they are worth.
    limit : int
        How many at most: there can be exponentially many.

    Returns
    -------
    SharedFragments
        A list; its ``complete`` says whether these are all.

    Notes
    -----
    For ST and SST a fragment never contributes more than the smaller ones it contains, so these are the `limit` largest. A
    partial tree may: if PT's list is not complete, it is the largest of those that were found. On large trees the search
    ends after a second or two of work, with fewer than `limit`.

    With ``SubsetTree(leaves=True)`` a word may be expanded or not; one that is has the child "\u2022", as in ``(N (apple \u2022))``.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> shared = shared_fragments("(NP (D the) (N apple))", "(NP (D the) (N pear))", SubsetTree(lam=0.5))
    >>> for fragment in shared:
    ...     print(fragment.contribution, fragment.counts, fragment.tree)
    0.5 (1, 1) (D the)
    0.5 (1, 1) (NP D N)
    0.25 (1, 1) (NP (D the) N)
    >>> shared.complete, shared.total()
    (True, 1.25)
    """
    check_integer("limit", limit)
    if not isinstance(kernel, (Subtree, SubsetTree, PartialTree)) or isinstance(kernel, Smoothed):
        raise InputTypeError(f"fragments are listed for Subtree, SubsetTree and PartialTree, not for {kernel!r}")
    kernel.validate()
    if isinstance(kernel, PartialTree) and kernel.terminal_factor != 1:
        raise ParameterError(f"fragments are listed for a terminal_factor of 1, not for {kernel!r}")
    if isinstance(kernel, SubsetTree) and kernel.leaves:
        a, b = map(_words_expanded, Treebank([a, b]))
    pair = _Pair(a, b)
    if isinstance(kernel, Subtree):
        found = _complete_subtrees(pair, kernel, limit)
    elif isinstance(kernel, SubsetTree):
        found = _search(_SubsetTrees(pair, kernel), limit)
    else:
        found = _search(_PartialTrees(pair, kernel), limit)
    if any(math.isinf(fragment.contribution) for fragment in found):
        raise overflow(kernel, 0, 1)
    return found


def _words_expanded(tree: Tree | None) -> Tree | None:
    """A tree in which every word has a child, the same below all words: what `SubsetTree` with leaves sees."""
    waiting: list[Tree | None] = [] if tree else [None]
    for node in reversed(list(tree.nodes()) if tree else []):
        children = [cast(Tree, waiting.pop()) for _ in node.children]
        waiting.append(Tree(node.label, children or [WORD]))
    return waiting[0]


class _Pair:
    """Two trees in one store, so that equal subtrees have one number."""

    def __init__(self, a: object, b: object) -> None:
        bank = Treebank([a, b])
        store, weights = bank.columns.store, bank.weights()
        names = store.labels
        self.label = [names[number] for number in store.label.tolist()]
        self.production: list[int] = store.production.tolist()
        start, child = store.child_start.tolist(), store.child.tolist()
        self.children = [tuple(child[i:j]) for i, j in itertools.pairwise(start)]
        split = int(weights.start[1])
        items = list(zip(weights.node.tolist(), map(int, weights.weight.tolist()), strict=True))
        self.counts: tuple[dict[int, int], dict[int, int]] = (dict(items[:split]), dict(items[split:]))


def _complete_subtrees(pair: _Pair, kernel: Subtree, limit: int) -> SharedFragments:
    trees: list[Tree] = []
    size: list[int] = []
    for label, children in zip(pair.label, pair.children, strict=True):
        trees.append(Tree(label, (trees[child] for child in children)))
        size.append(sum(size[child] for child in children) + 1 if children else 0)
    a, b = pair.counts
    shared = [
        SharedFragment(trees[node], (a[node], b[node]), _times(_power(kernel.lam, size[node]), a[node], b[node]))
        for node in sorted(a.keys() & b.keys())
        if pair.children[node]
    ]
    shared.sort(key=lambda fragment: -fragment.contribution)
    return SharedFragments(shared[:limit], len(shared) <= limit)


# --- growing fragments ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Draft:
    """A node of a fragment that is being put together."""

    label: str
    children: list[_Draft] = field(default_factory=list)

    def tree(self) -> Tree:
        order = [self]
        for node in order:
            order.extend(node.children)
        built: dict[int, Tree] = {}
        for node in reversed(order):
            built[id(node)] = Tree(node.label, [built[id(child)] for child in node.children])
        return built[id(self)]


Steps = tuple["Steps", int, int] | None
"""How a fragment was grown, the last step first: where (see the two families), and a node of the store."""

Key = tuple[int, ...]
Places = dict[Key, tuple[int, float]]
"""Where a fragment may go on, in one tree: how often it stands there, and the same with skipped children discounted."""


@dataclass(slots=True)
class _State:
    """A shared fragment and all its places in both trees."""

    steps: Steps
    sizes: tuple[int, int]
    places: tuple[Places, Places]
    levels: Key = ()

    def count(self, side: int) -> int:
        return sum(count for count, _ in self.places[side].values())

    def weight(self, side: int) -> float:
        return math.fsum(weight for _, weight in self.places[side].values())


class _Enough(Exception):  # noqa: N818  # not an error
    """The search has gone on for long."""


class _Family(ABC):
    """A kind of fragments."""

    def __init__(self, pair: _Pair) -> None:
        self.pair = pair
        self.steps = 0

    def work(self, steps: int) -> None:
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise _Enough

    @abstractmethod
    def start(self) -> Iterator[_State]:
        """The smallest shared fragments."""

    @abstractmethod
    def grow(self, state: _State) -> Iterator[_State]:
        """The shared fragments that are one step larger."""

    @abstractmethod
    def contribution(self, state: _State) -> float:
        """What a fragment adds to the kernel's value."""

    @abstractmethod
    def draft(self, steps: list[tuple[int, int]]) -> _Draft:
        """The fragment that some steps grow."""

    def fragment(self, state: _State, contribution: float) -> SharedFragment:
        steps: list[tuple[int, int]] = []
        at = state.steps
        while at is not None:
            at, where, node = at
            steps.append((where, node))
        return SharedFragment(self.draft(steps[::-1]).tree(), (state.count(0), state.count(1)), contribution)


def _search(family: _Family, limit: int) -> SharedFragments:
    """Best first: the largest contribution known so far is taken out and grown."""
    heap: list[tuple[float, int, _State]] = []
    taken: list[tuple[float, int, _State]] = []
    numbers = itertools.count()
    todo: Iterable[_State] = family.start()
    complete = False
    try:
        while True:
            for state in todo:
                heapq.heappush(heap, (-family.contribution(state), next(numbers), state))
            if not heap or len(taken) == limit:
                complete = not heap
                break
            best = heapq.heappop(heap)
            taken.append(best)
            todo = family.grow(best[2])
    except _Enough:
        pass
    chosen = heapq.nsmallest(limit, taken + heap)
    return SharedFragments((family.fragment(state, -value) for value, _, state in chosen), complete)


def _add(places: Places, key: Key, count: int, weight: float) -> None:
    before = places.get(key, (0, 0.0))
    places[key] = before[0] + count, before[1] + weight


class _SubsetTrees(_Family):
    """Every node is expanded by its whole production or not at all.

    A place is the nodes that may still be expanded, in pre-order. Expanding one closes those before it.
    A step is how many it closes, and the node whose production it takes.
    """

    def __init__(self, pair: _Pair, kernel: SubsetTree) -> None:
        super().__init__(pair)
        self.lam, self.max_depth = float(kernel.lam), kernel.max_depth

    def start(self) -> Iterator[_State]:
        first: Places = {(node,): (count, float(count)) for node, count in self.pair.counts[0].items()}
        second: Places = {(node,): (count, float(count)) for node, count in self.pair.counts[1].items()}
        yield from self._expansions(_State(None, (0, 0), (first, second), (0,)), 0)

    def grow(self, state: _State) -> Iterator[_State]:
        for at, level in enumerate(state.levels):
            if self.max_depth is None or level < self.max_depth:
                yield from self._expansions(state, at)

    def _expansions(self, state: _State, at: int) -> Iterator[_State]:
        groups: list[dict[int, Places]] = []
        for places in state.places:
            self.work(len(places) * (1 + len(state.levels) // 4))
            found: dict[int, Places] = {}
            for key, (count, weight) in places.items():
                node = key[at]
                production = self.pair.production[node]
                if production >= 0 and (not groups or production in groups[0]):
                    _add(found.setdefault(production, {}), self.pair.children[node] + key[at + 1 :], count, weight)
            groups.append(found)
        examples = {self.pair.production[key[at]]: key[at] for key in state.places[0]}
        below = state.levels[at] + 1
        for production, second in groups[1].items():
            example = examples[production]
            levels = (below,) * len(self.pair.children[example]) + state.levels[at + 1 :]
            steps = (state.steps, at, example)
            yield _State(steps, (state.sizes[0] + 1, 0), (groups[0][production], second), levels)

    def contribution(self, state: _State) -> float:
        return _times(_power(self.lam, state.sizes[0]), state.count(0), state.count(1))

    def draft(self, steps: list[tuple[int, int]]) -> _Draft:
        root = _Draft(self.pair.label[steps[0][1]])
        still_open = [root]
        for at, node in steps:
            expanded = still_open[at]
            expanded.children = [_Draft(self.pair.label[child]) for child in self.pair.children[node]]
            still_open = expanded.children + still_open[at + 1 :]
        return root


class _PartialTrees(_Family):
    """Every node keeps some of its children, in order.

    A place is the fragment's right-most path: node, position of the child the path goes on to, node, ..., node. A new node
    becomes the last child of a node on that path. A step is that node's depth, and the new node.
    """

    def __init__(self, pair: _Pair, kernel: PartialTree) -> None:
        super().__init__(pair)
        self.lam, self.mu, self.leaves = float(kernel.lam), float(kernel.mu), bool(kernel.leaves)

    def start(self) -> Iterator[_State]:
        found: tuple[dict[str, Places], dict[str, Places]] = ({}, {})
        for groups, counts in zip(found, self.pair.counts, strict=True):
            for node, count in counts.items():
                if self.leaves or self.pair.children[node]:
                    _add(groups.setdefault(self.pair.label[node], {}), (node,), count, float(count))
        for label, first in found[0].items():
            if label in found[1]:
                yield _State((None, -1, next(iter(first))[0]), (1, 1), (first, found[1][label]))

    def grow(self, state: _State) -> Iterator[_State]:
        first = self._extensions(state.places[0])
        second = self._extensions(state.places[1], first)
        last = len(next(iter(state.places[0]))) // 2
        nodes, edge = state.sizes
        for (depth, label), places in second.items():
            others = first[depth, label]
            steps = (state.steps, depth, next(iter(others))[-1])
            yield _State(steps, (nodes + 1, edge if depth == last else edge + 1), (others, places))

    def _extensions(
        self, places: Places, wanted: dict[tuple[int, str], Places] | None = None
    ) -> dict[tuple[int, str], Places]:
        found: dict[tuple[int, str], Places] = {}
        for key, (count, weight) in places.items():
            for at in range(0, len(key), 2):
                bottom = at == len(key) - 1
                before = -1 if bottom else key[at + 1]
                children = self.pair.children[key[at]]
                self.work(len(children) - before)
                for position in range(before + 1, len(children)):
                    child = children[position]
                    extension = at // 2, self.pair.label[child]
                    if wanted is None or extension in wanted:
                        decay = 1.0 if bottom else _power(self.lam, position - before - 1)
                        _add(found.setdefault(extension, {}), (*key[: at + 1], position, child), count, weight * decay)
        return found

    def contribution(self, state: _State) -> float:
        nodes, edge = state.sizes
        return _times(_power(self.mu, nodes) * _power(self.lam, 2 * edge), state.weight(0), state.weight(1))

    def draft(self, steps: list[tuple[int, int]]) -> _Draft:
        path: list[_Draft] = []
        for depth, node in steps:
            new = _Draft(self.pair.label[node])
            del path[depth + 1 :]
            if path:
                path[-1].children.append(new)
            path.append(new)
        return path[0]


def _power(base: float, exponent: int) -> float:
    return float(base) ** min(exponent, 1 << 62)


def _times(factor: float, a: float, b: float) -> float:
    return factor * float(a) * float(b)
