"""Every native loop reacts to Ctrl-C within a second. Each entry point of the core must be listed here."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import treelet as tl
from treelet import _core
from treelet.edits import EditDistance
from treelet.kernels.base import Kernel
from treelet.structures import SequenceBank, TaggedBank

pytestmark = pytest.mark.serial

PATIENCE = 0.15  # seconds that a loop runs before it is interrupted
LATE = 1.0 if not _core.sanitized else 5.0


def chain(nodes: int) -> tl.Treebank:
    return tl.Treebank(["(A " * nodes + "x" + ")" * nodes])


def columns_of(kernel: Kernel, X: Any) -> tuple[Any, ...]:
    """Return the native algorithm of a kernel, and the arguments of its functions."""
    bank = kernel.coerce(X)  # type: ignore[attr-defined]
    store = bank.columns.store
    return kernel._algorithm, store, bank.weights(), kernel._native_parameters(store)  # type: ignore[attr-defined]


ALGORITHMS: dict[str, tuple[Kernel, Callable[[], Any]]] = {
    "SubtreeColumns": (tl.Subtree(), lambda: chain(10)),
    "SubsetTreeColumns": (tl.SubsetTree(max_depth=9), lambda: chain(40_000)),
    "PartialTreeColumns": (tl.PartialTree(), lambda: chain(50_000)),
    "TaggingColumns": (tl.Tagging(), lambda: TaggedBank([" ".join(["x/N"] * 30_000)])),
    "LocalityColumns": (
        tl.Locality(window=90, match="count"),
        lambda: SequenceBank([random.Random(0).choices("ab", k=6000)]),
    ),
    "SubsequenceColumns": (tl.Subsequence(), lambda: SequenceBank([["a", "b"] * 20_000])),
    "ForestColumns": (tl.ForestKernel(), lambda: tl.ForestBank(chain(30_000))),
}
MORE = {
    "SubsetTreeColumns.rows, all depths": (tl.SubsetTree(), lambda: chain(60_000)),
    "SubsetTreeColumns.rows, leaves": (tl.SubsetTree(leaves=True), lambda: chain(60_000)),
    "SubsetTreeColumns.rows, many levels": (tl.SubsetTree(max_depth=1000), lambda: chain(100_000)),
    "PartialTreeColumns.rows, wide": (tl.PartialTree(), lambda: tl.Treebank(["(A " + "(B x)" * 20_000 + ")"])),
    "PartialTreeColumns.rows, comb": (
        tl.PartialTree(),
        lambda: tl.Treebank(["(A (A x)" * 20_000 + "x" + ")" * 20_000]),
    ),
    "LocalityColumns.rows, position": (tl.Locality(window=400, theta=90), lambda: SequenceBank([["a"] * 900])),
}


def rows(kernel: Kernel, make: Callable[[], Any]) -> Callable[[], Any]:
    algorithm, store, weights, parameters = columns_of(kernel, make())
    made = algorithm(store, weights, False, *parameters)
    return lambda: made.rows(store, weights, None, 0, 1, np.empty((1, 1)))


def self_values(kernel: Kernel, make: Callable[[], Any]) -> Callable[[], Any]:
    algorithm, store, weights, parameters = columns_of(kernel, make())
    return lambda: algorithm.self_values(store, weights, False, *parameters)


def gradient(kernel: Kernel, make: Callable[[], Any]) -> Callable[[], Any]:
    algorithm, store, weights, parameters = columns_of(kernel, make())
    out = [np.empty((1, 1)) for _ in range(3)]
    return lambda: algorithm.gradient(store, weights, weights, *out, *parameters)


AMBIGUOUS = [("S", ("S", "S"), 0.3), ("S", ("a",), 0.7)]


def grammar(rules: Any) -> Any:
    return tl.PCFG.from_rules(rules, start=rules[0][0]).compiled()


def unary_grammar() -> Callable[[], Any]:
    n = 6000
    ids, ones = np.arange(n, dtype=np.int32), np.zeros(n)
    none, nothing = np.zeros(0, np.int32), np.zeros(0)
    labels = [f"N{i}" for i in range(n + 1)]
    rest = (np.zeros(1, np.int32), np.zeros(1))
    return lambda: _core.grammar(labels, n + 1, none, none, none, nothing, ids + 1, ids, ones, *rest)


def chart() -> Any:
    return grammar(AMBIGUOUS).chart(["a"] * 260)


def forest() -> tl.Forest:
    return tl.PCFG.from_rules(AMBIGUOUS, start="S").forest(["a"] * 40)


def machine() -> Callable[[], Any]:
    """A problem that takes millions of steps: nearly equal examples with random labels, and hardly a limit."""
    rng, n = np.random.default_rng(0), 2000
    points = rng.normal(size=(n, 1))
    K = np.exp(-1e-3 * (points - points.T) ** 2).astype(np.float32)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    bounds = np.where(y > 0, 0, -1e9), np.where(y > 0, 1e9, 0)
    return partial(_core.smo, K, np.ones(n), *bounds, 0.0, True, np.zeros(n), -y, 1e-12, 10**12)


def sketch() -> Callable[[], Any]:
    made = _core.TreeSketch(
        False, 0.4, 1.0, 0, False, 1 << 14, 0, np.zeros(0, np.uint64), np.zeros(0, np.int32), False, 1 << 26
    )
    bank = tl.datasets.flights(2000)
    (store, roots), logs = bank.columns, np.zeros(len(bank))
    out = np.empty((len(bank), made.width), np.float32)
    return lambda: made.rows(store, bank.weights(), roots, logs, 0, len(bank), out)


def sampler() -> Callable[[], Any]:
    labels = ["S", "a"]
    starts, tails = np.array([0, 2]), np.array([0, 1, 3])
    made = _core.Sampler.of(
        labels, 1, starts, tails, np.array([1, 0, 0], np.int32), np.array([0.6, 0.4]), np.zeros(1, np.int32), np.ones(1)
    )
    return lambda: made.sample(10**8, 0, 1000)


def edits(function: str, nodes: int, **search: float) -> Callable[[], Any]:
    rng = random.Random(0)
    labels = [rng.choices("abc", k=nodes) for _ in range(2)]
    bank = tl.Treebank(["(r " + "".join(f"({label} (x {label})) " for label in own) + ")" for own in labels])
    (store, roots), costs = bank.columns, EditDistance()._costs().native(bank, bank)
    if function == "edit_mapping":
        return lambda: _core.edit_mapping(store, int(roots[0]), int(roots[1]), costs)
    columns = _core.EditColumns(store, roots[1:], costs, bool(search))
    options = {"similarity": True, "threshold": -np.inf, "best": 0, **search}
    return lambda: columns.rows(store, roots[:1], False, 0, 1, np.empty((1, 1)), **options)


def strings(length: int, number: int) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    a, b = ([rng.integers(4, size=length, dtype=np.int32).tobytes() for _ in range(number)] for _ in range(2))
    return lambda: _core.string_distances(a, b)


def checksums(array: Any) -> Callable[[], object]:
    return lambda: [_core.checksum(array) for _ in range(4)]  # one takes hardly longer than the timer


def doubled(levels: int) -> Callable[[], Any]:
    """A tree with shared subtrees: few nodes in the store, very many when it is written."""
    tree = tl.Tree("x")
    for _ in range(levels):
        tree = tl.Tree("A", [tree, tree])
    store, roots = tl.Treebank([tree]).columns
    return lambda: _core.in_brackets(store, int(roots[0]))


LONG: dict[str, Callable[[], Callable[[], Any]]] = {
    **{
        f"{name}.rows": lambda kernel=kernel, make=make: rows(kernel, make)
        for name, (kernel, make) in ALGORITHMS.items()
    },
    **{f"{name}.self_values": lambda k=k, make=make: self_values(k, make) for name, (k, make) in ALGORITHMS.items()},
    **{f"{name}.gradient": lambda k=k, make=make: gradient(k, make) for name, (k, make) in ALGORITHMS.items()},
    **{name: lambda kernel=kernel, make=make: rows(kernel, make) for name, (kernel, make) in MORE.items()},
    "grammar": unary_grammar,
    "Chart.__init__": lambda: partial(grammar(AMBIGUOUS).chart, ["a"] * 1500),
    "Chart.kbest": lambda: partial(chart().kbest, 10**7),
    "Chart.forest": lambda: partial(chart().forest, float("inf"), 10**9),
    "Forest.kbest": lambda: partial(forest()._native.kbest, 10**7),
    "Forest.sample": lambda: partial(forest()._native.sample, 10**8, 0),
    "Sampler.sample": sampler,
    "TreeSketch.rows": sketch,
    "smo": machine,
    "EditColumns.rows": lambda: edits("rows", 10_000),
    "EditColumns.rows, threshold": lambda: edits("rows", 10_000, threshold=0.3),
    "EditColumns.rows, best": lambda: edits("rows", 10_000, best=1),
    "edit_mapping": lambda: edits("edit_mapping", 10_000),
    "in_brackets": lambda: doubled(40),
    "string_distances": lambda: strings(500_000, 1),
    "checksum": lambda: checksums(np.zeros(1 << 32, np.uint8)),
    "string_distances, many short": lambda: strings(8, 20_000),
}  # type: ignore[misc]
"""Calls that can take longer than the size of their input suggests. Each is started and interrupted."""

SHORT = {
    "SubtreeColumns": "ST has a table of equal subtrees: no pairs are compared",
}
"""Calls of the list above that always finish before they can be interrupted."""

LINEAR = {
    "BracketReader.__init__ feed finish result abandon move_to open_at trees lines": "bytes of a chunk",
    "Chart.best mask pieces": "what the chart has, each once or twice",
    "Forest.__init__ begin count edge_start end inside label labels logp outside pruned root tail tail_start": "nodes and edges",
    "ForestStore.__init__ __len__ child child_count child_start edge_start forest from_columns grown height joined label labels "
    "nodes_of of_forests ordered p production texts": "nodes and edges",
    "Store.__init__ __len__ arrays as_it_was child child_count child_start from_arrays from_columns grown height joined label "
    "labels ordered production productions_below texts whole": "nodes",
    "NodeWeights.__init__ __len__ arrays from_arrays count entries merged node of spread start take weight": "entries",
    "PartCounts.__init__ add key mass pair trees": "entries",
    "TreeSketch.__init__ pair_weight single_weight width": "known parts",
    "Sampler.__init__ of": "rules",
    "Similar.__init__ of": "entries",
    "AstReader.__init__ read": "nodes of the syntax tree, and polled",
    "NodeReader.__init__ read": "nodes of the syntax tree, and polled",
    "NodeRules.__init__": "kinds of nodes of a grammar",
    "EditCosts.__init__ of integral": "costs",
    "EditColumns.__init__ arrays from_arrays counts": "distinct subtrees",
    "tree_sizes reduced_copy statement_codes": "distinct subtrees, and the statements of all trees; polled",
    "Grammar.__init__ __len__": "nothing",
    "Stop.__init__ set": "nothing",
    "Mask.__init__": "nothing",
    "Chunks.__init__ raise_error": "nothing",  # the parser calls it for each piece of a text, and it checks for signals
    "InputError": "nothing",
    "build check children_first forest post_order mirror watch": "nodes, or cells",
    "FragmentMatcher.__init__ rows": "nodes of the fragments, of the trees; polled",
    "subset_trees forest_subset_trees tag_runs partial_trees subsequences": "the steps that they are given, and polled",
    **{f"{name}.__init__ add bytes estimate": "parts of the columns" for name in ALGORITHMS},
    **{
        f"{name}.arrays from_arrays": "nothing"
        for name in ("SubtreeColumns", "SubsetTreeColumns", "PartialTreeColumns")
    },
}
"""Calls that take a few steps per item. A second is a hundred million items, and most calls check for signals anyway."""


def entry_points() -> set[str]:
    """Return all callables of the core, including properties, which copy."""
    found = set()
    for name, value in vars(_core).items():
        if name.startswith("__") or isinstance(value, str | bool | int):
            continue
        own = vars(value) if isinstance(value, type) else {}
        members = [key for key in own if not key.startswith("_") or key in ("__init__", "__len__")]
        found |= {f"{name}.{member}" for member in members} or {name}
    return found


def test_every_entry_point_has_a_line() -> None:
    listed = {name.split(",")[0] for name in LONG}
    for names in LINEAR:
        owner, dot, first = names.split()[0].partition(".")
        listed |= {f"{owner}.{member}" for member in [first, *names.split()[1:]]} if dot else set(names.split())
    assert entry_points() == listed


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer's signal")
@pytest.mark.parametrize("name", [name for name in LONG if name.split(".")[0] not in SHORT])
@pytest.mark.usefixtures("alarm")
def test_it_ends_when_interrupted(name: str) -> None:
    work = LONG[name]()
    begin = time.process_time()  # however busy the machine is
    try:
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        work()
        signal.setitimer(signal.ITIMER_REAL, 0)
        pytest.fail(f"done after {time.process_time() - begin:.2f} s: a longer input is needed here")
    except KeyboardInterrupt:
        assert time.process_time() - begin < PATIENCE + LATE


def test_threads_end_when_one_is_stopped() -> None:
    """The threads of `gram` watch a flag that Ctrl-C sets."""
    work, stop, ended = rows(*ALGORITHMS["SubsetTreeColumns"]), _core.Stop(), []

    def one() -> None:
        _core.watch(stop)
        try:
            work()
        except RuntimeError as error:
            ended.append(str(error))

    thread = threading.Thread(target=one)
    thread.start()
    time.sleep(PATIENCE)
    stop.set()
    thread.join(60)  # on a busy machine; without the flag it would take far longer
    assert ended == ["stopped"]
