"""Fragments grown along the places where they occur, the largest first.

They are grown one production (SST) or one node (PT) at a time, so that only fragments that all sides have are ever looked
at. Each has one way to be grown: its nodes in pre-order.
"""

from __future__ import annotations

import heapq
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from treelet.explain.sides import Found, Grown, Sides
from treelet.kernels import Kernel, PartialTree, SubsetTree, Subtree
from treelet.structures import Tree

MAX_STEPS = 500_000  # from place to place, before the search is cut off: about a second


def fragments(kernel: Kernel, store: Any, numbers: tuple[dict[int, float], ...], limit: int) -> Found:
    """The `limit` fragments of the largest absolute value, among those that all sides have.

    Exact for ST and SST, unless there are too many to look at. PT's are the largest of those that were looked at.
    """
    if isinstance(kernel, Subtree):
        return _complete_subtrees(Sides(store, numbers), float(kernel.lam), limit)
    if isinstance(kernel, SubsetTree):
        return _search(_SubsetTrees(Sides(store, numbers, bool(kernel.leaves)), kernel, limit))
    assert isinstance(kernel, PartialTree)
    return _search(_PartialTrees(Sides(store, numbers), kernel, limit))


def _complete_subtrees(sides: Sides, lam: float, limit: int) -> Found:
    sizes, first, half = sides.store.productions_below, sides.numbers[0], len(sides.numbers) / 2
    everywhere = sorted(set(first).intersection(*sides.numbers[1:]))
    found = []
    for node in everywhere:
        sums = tuple(numbers[node] for numbers in sides.numbers)
        if sides.production[node] >= 0 and all(sums):
            found.append((power(lam, half * float(sizes[node])) * math.prod(map(float, sums)), sums, node))
    chosen = heapq.nsmallest(limit, found, key=lambda entry: -abs(entry[0]))
    return Found([Grown(sides.subtree(node), value, sums) for value, sums, node in chosen], len(found) <= limit, True)


# --- growing ----------------------------------------------------------------------------------------------------


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
Places = dict[Key, tuple[float, float]]
"""Where a fragment may go on, on one side: the sum of the side's numbers there, and the same with skipped children discounted."""


@dataclass(slots=True)
class _State:
    """A fragment and all its places on every side."""

    steps: Steps
    sizes: tuple[int, int]
    places: tuple[Places, ...]
    levels: Key = ()

    def sums(self) -> tuple[float, ...]:
        return tuple(sum(number for number, _ in places.values()) for places in self.places)

    def weights(self) -> float:
        """What the sides say of the fragment, multiplied."""
        return math.prod(math.fsum(weight for _, weight in places.values()) for places in self.places)

    def most(self) -> float:
        """What they can say, at most, of a fragment that has some of these places: on each side the positive places, or the negative ones."""
        product = 1.0
        for places in self.places:
            weights = [weight for _, weight in places.values()]
            up = math.fsum(weight for weight in weights if weight > 0)
            product *= max(up, up - math.fsum(weights))
        return product


class _Enough(Exception):  # noqa: N818  # not an error
    """The search has gone on for long."""


class _Family(ABC):
    """A kind of fragments."""

    bounded: bool
    """Whether `bound` is one."""

    def __init__(self, sides: Sides, limit: int) -> None:
        self.sides, self.half, self.limit = sides, len(sides.numbers) / 2, limit
        self.least = -1.0  # the value that further fragments must exceed
        self.left_out = False  # whether some were not made, since they do not
        self.steps = -sum(map(len, sides.numbers))  # what there is to begin with is looked at once, however much it is

    def work(self, steps: int) -> None:
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise _Enough

    @abstractmethod
    def start(self) -> Iterator[_State]:
        """The smallest fragments that all sides have."""

    @abstractmethod
    def grow(self, state: _State) -> Iterator[_State]:
        """The fragments that are one step larger."""

    @abstractmethod
    def decay(self, state: _State) -> float:
        """What a fragment's size makes of its value. Half of the kernel's decay belongs to each side."""

    @abstractmethod
    def draft(self, steps: list[tuple[int, int]]) -> _Draft:
        """The fragment that some steps grow."""

    def grown(self, state: _State, value: float) -> Grown:
        steps: list[tuple[int, int]] = []
        at = state.steps
        while at is not None:
            at, where, node = at
            steps.append((where, node))
        return Grown(self.draft(steps[::-1]).tree(), value, state.sums())


def _search(family: _Family) -> Found:
    """Best first: what can grow to the largest value is grown.

    SST, a proof that this is exact. A fragment occurs at most once at a root, and what is grown from it occurs at some of the
    same roots. So what a side says of the larger fragment is a sum over some of the places of the smaller one, in absolute
    value at most the sum of the positive ones or that of the negative ones (`_State.most`), and the decay only shrinks.
    Nothing that grows from a state is larger than `decay * most`: where no waiting state can exceed the `limit` largest values
    seen, these are the largest. Places that agree in all that is still open have the same future and are one, so that their
    numbers cancel before the bound is taken.
    """
    heap: list[tuple[float, int, _State]] = []
    best: list[tuple[float, int, float, _State]] = []
    numbers = itertools.count()
    seen, finished = 0, False
    todo: Iterable[_State] = family.start()
    try:
        while True:
            for state in todo:
                decay, seen = family.decay(state), seen + 1
                value, number = decay * state.weights(), next(numbers)
                if abs(value) > family.least:
                    entry = abs(value), -number, value, state
                    if len(best) < family.limit:
                        heapq.heappush(best, entry)
                    else:
                        heapq.heapreplace(best, entry)
                    if len(best) == family.limit:
                        family.least = best[0][0]
                if (bound := decay * state.most()) > family.least or seen <= family.limit:
                    heapq.heappush(heap, (-bound, number, state))
            more = seen > family.limit or family.left_out
            if not heap or (more and -heap[0][0] <= family.least):
                finished = True
                break
            todo = family.grow(heapq.heappop(heap)[2])
    except _Enough:
        pass
    best.sort(key=lambda entry: (-entry[0], -entry[1]))
    found = [family.grown(state, value) for _, _, value, state in best]
    complete = finished and not more
    return Found(found, complete, complete or (finished and family.bounded))


def _add(places: Places, key: Key, number: float, weight: float) -> None:
    before = places.get(key, (0, 0.0))
    places[key] = before[0] + number, before[1] + weight


class _SubsetTrees(_Family):
    """Every node is expanded by its whole production or not at all.

    A place is the nodes that may still be expanded, in pre-order. Expanding one closes those before it.
    A step is how many it closes, and the node whose production it takes.
    """

    bounded = True

    def __init__(self, sides: Sides, kernel: SubsetTree, limit: int) -> None:
        super().__init__(sides, limit)
        self.lam, self.max_depth = float(kernel.lam), kernel.max_depth
        self._children = sides.shapes().__getitem__ if len(sides.numbers) > 1 else sides.children

    def start(self) -> Iterator[_State]:
        everywhere: tuple[Places, ...] = tuple(
            {(node,): (number, float(number)) for node, number in numbers.items()} for numbers in self.sides.numbers
        )
        yield from self._expansions(_State(None, (0, 0), everywhere, (0,)), 0)

    def grow(self, state: _State) -> Iterator[_State]:
        for at, level in enumerate(state.levels):
            if self.max_depth is None or level < self.max_depth:
                yield from self._expansions(state, at)

    def _expansions(self, state: _State, at: int) -> Iterator[_State]:
        productions, children_of = self.sides.production, self._children
        wanted = self._wanted(state, at)
        groups: list[dict[int, Places]] = []
        examples: dict[int, int] = {}
        for places in state.places:
            self.work(len(places) * (1 + len(state.levels) // 4))
            found: dict[int, Places] = {}
            for key, (number, weight) in places.items():
                node = key[at]
                production = productions[node]
                if production in wanted:
                    _add(found.setdefault(production, {}), children_of(node) + key[at + 1 :], number, weight)
                    examples[production] = node
            groups.append(found)
        below = state.levels[at] + 1
        for production in groups[0]:
            example = examples[production]
            levels = (below,) * len(children_of(example)) + state.levels[at + 1 :]
            steps = (state.steps, at, example)
            yield _State(steps, (state.sizes[0] + 1, 0), tuple(found[production] for found in groups), levels)

    def _wanted(self, state: _State, at: int) -> set[int]:
        """The productions by which all sides can go on, without those that lead to nothing large enough."""
        productions = self.sides.production
        value: dict[int, float] | None = None  # of the fragment itself, and what can grow from it at most
        most: dict[int, float] = {}
        for places in state.places:
            up: dict[int, float] = {}
            down: dict[int, float] = {}
            for key, (_, weight) in places.items():
                production = productions[key[at]]
                if production >= 0 and (value is None or production in value):
                    sums = up if weight > 0 else down
                    sums[production] = sums.get(production, 0.0) + weight
            both = {**up, **down}
            sums_of = [(p, up.get(p, 0.0), down.get(p, 0.0)) for p in both if p in up or down[p]]
            value = {p: (1.0 if value is None else value[p]) * (plus + minus) for p, plus, minus in sums_of}
            most = {p: most.get(p, 1.0) * max(plus, -minus) for p, plus, minus in sums_of}
        decay, least = power(self.lam, self.half * (state.sizes[0] + 1)), self.least
        if value is not None and len(value) > self.limit:  # so many fragments at once set a measure themselves
            least = max(least, decay * heapq.nlargest(self.limit, map(abs, value.values()))[-1])
        wanted = {production for production, bound in most.items() if decay * bound >= least}
        self.left_out = self.left_out or len(wanted) < len(most)
        return wanted

    def decay(self, state: _State) -> float:
        return power(self.lam, self.half * state.sizes[0])

    def draft(self, steps: list[tuple[int, int]]) -> _Draft:
        sides = self.sides
        root = _Draft(sides.label(steps[0][1]))
        still_open = [root]
        for at, node in steps:
            expanded = still_open[at]
            expanded.children = [_Draft(sides.label(child)) for child in sides.children(node)]
            still_open = expanded.children + still_open[at + 1 :]
        return root


class _PartialTrees(_Family):
    """Every node keeps some of its children, in order.

    A place is the fragment's right-most path: node, position of the child the path goes on to, node, ..., node. A new node
    becomes the last child of a node on that path. A step is that node's depth, and the new node.
    """

    bounded = False

    def __init__(self, sides: Sides, kernel: PartialTree, limit: int) -> None:
        super().__init__(sides, limit)
        self.lam, self.mu, self.leaves = float(kernel.lam), float(kernel.mu), bool(kernel.leaves)

    def start(self) -> Iterator[_State]:
        found: list[dict[int, Places]] = []
        for numbers in self.sides.numbers:
            groups: dict[int, Places] = {}
            for node, number in numbers.items():
                if number and (self.leaves or self.sides.production[node] >= 0):
                    _add(groups.setdefault(self.sides.labels[node], {}), (node,), number, float(number))
            found.append(groups)
        for label, first in found[0].items():
            if all(label in groups for groups in found):
                yield _State((None, -1, next(iter(first))[0]), (1, 1), tuple(groups[label] for groups in found))

    def grow(self, state: _State) -> Iterator[_State]:
        found: list[dict[tuple[int, int], Places]] = []
        for places in state.places:
            found.append(self._extensions(places, found[-1].__contains__ if found else lambda extension: True))
        last = len(next(iter(state.places[0]))) // 2
        nodes, edge = state.sizes
        for extension in found[-1]:
            everywhere = tuple(groups[extension] for groups in found)
            steps = (state.steps, extension[0], next(iter(everywhere[0]))[-1])
            yield _State(steps, (nodes + 1, edge if extension[0] == last else edge + 1), everywhere)

    def _extensions(self, places: Places, wanted: Callable[[tuple[int, int]], bool]) -> dict[tuple[int, int], Places]:
        found: dict[tuple[int, int], Places] = {}
        for key, (number, weight) in places.items():
            for at in range(0, len(key), 2):
                bottom = at == len(key) - 1
                before = -1 if bottom else key[at + 1]
                children = self.sides.children(key[at])
                self.work(len(children) - before)
                for position in range(before + 1, len(children)):
                    child = children[position]
                    extension = at // 2, self.sides.labels[child]
                    if wanted(extension):
                        decay = 1.0 if bottom else power(self.lam, position - before - 1)
                        there = (*key[: at + 1], position, child)
                        _add(found.setdefault(extension, {}), there, number, weight * decay)
        return found

    def decay(self, state: _State) -> float:
        nodes, edge = state.sizes
        return power(self.mu, self.half * nodes) * power(self.lam, 2 * self.half * edge)

    def draft(self, steps: list[tuple[int, int]]) -> _Draft:
        path: list[_Draft] = []
        for depth, node in steps:
            new = _Draft(self.sides.label(node))
            del path[depth + 1 :]
            if path:
                path[-1].children.append(new)
            path.append(new)
        return path[0]


def power(base: float, exponent: float) -> float:
    return math.pow(base, min(exponent, 1 << 62))
