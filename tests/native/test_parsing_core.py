"""Stress tests of charts, forests, the forest kernel and growing stores; see test_core.py."""

from __future__ import annotations

import json
import math
import random
import warnings

import numpy as np
import pytest

import treelet as tl
from treelet import _core
from treelet.parsing import PCFG, GrammarWarning


def random_grammar(rng: random.Random) -> PCFG:
    symbols, words = ["S", "A", "B", "C"][: rng.randint(1, 4)], ["x", "y", "z"]
    rules = {}
    for _ in range(rng.randint(2, 14)):
        tail = tuple(rng.choice(symbols + words) for _ in range(rng.choice([1, 1, 2, 2, 3, 5])))
        rules[rng.choice(symbols), tail] = rng.random() * 0.5 + 1e-9
    for symbol in symbols:
        rules.setdefault((symbol, ("x",)), 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GrammarWarning)
        return PCFG.from_rules([(head, tail, p) for (head, tail), p in rules.items()], start="S")


@pytest.mark.parametrize("seed", range(40))
def test_random_grammars(seed: int) -> None:
    rng = random.Random(seed)
    grammar = random_grammar(rng)
    forests = []
    for _ in range(4):
        words = [rng.choice("xyz") for _ in range(rng.randint(1, 6))]
        whole = grammar.forest(words)
        best = grammar.parse(words, k=25)
        assert len(best) == min(25, whole.count_trees())
        assert [logp for _, logp in best] == pytest.approx([math.log(p) for _, p in whole.kbest(25)], rel=1e-9)
        grammar.parse(words, k=5, beam=2.0)
        grammar.parse(words, k=5, coarse=grammar, margin=2.0)
        pruned = whole.prune(2.0)
        if whole:
            assert grammar.forest(words, prune=2.0).count_trees() == pruned.count_trees()
            whole.sample(5, random_state=seed)
            for node in range(len(whole.nodes)):
                assert tl.Forest.from_columns(whole.columns._replace(root=node))
            assert tl.Forest.from_json(whole.to_json()) == whole
            forests += [pruned, whole.temperature(0.5)]
    if forests:
        bank = tl.ForestBank([*forests, "(S (A x) y)", None])
        K = tl.ForestKernel(lam=0.5)(bank)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_allclose(tl.ForestKernel(lam=0.5).diag(bank), np.diag(K), rtol=1e-12)
        np.testing.assert_allclose(tl.ForestKernel(lam=0.5)(bank[1:], bank[:2]), K[1:, :2], rtol=1e-12)
        tl.ForestKernel(lam=1.0).normalized()(bank)
        tl.ForestKernel(lam=0.5)(bank, eval_gradient=True)


def test_pieces_where_there_is_no_parse() -> None:
    grammar = PCFG.from_treebank(["(S (NP (N a)) (VP (V b)))"])
    for words in (["a"], ["b", "a", "b"], ["q"] * 30, ["a", "b", "a", "b"]):
        tree, logp = grammar.parse(words)[0]
        assert tree.words() == words
        assert math.isfinite(logp) == (tree.label != "FALLBACK")


def test_forged_forests_do_no_harm() -> None:
    rng = random.Random(0)
    text = tl.Forest.from_trees([("(S (A x) (B (C y)))", 1), ("(S (B x) (B y))", 2)]).to_json()
    survived = 0
    for _ in range(400):
        data = json.loads(text)
        for _ in range(rng.randint(1, 3)):
            edge = rng.choice(data["edges"])
            what = rng.randrange(6)
            if what == 0:
                edge[0] = rng.randrange(-2, 12)
            elif what == 1:
                edge[1] = [rng.randrange(-1, 10) for _ in range(rng.randint(0, 3))]
            elif what == 2:
                edge[2] = rng.choice([math.nan, math.inf, -math.inf, -1e308, 1e308, 0, 5])
            elif what == 3:
                rng.choice(data["nodes"])[rng.randrange(3)] = rng.choice([-1, 0, 7, 2**31, "x", ""])
            elif what == 4:
                data["root"] = rng.choice([None, -1, 0, 3, 99])
            else:
                data["edges"].append(list(edge))
        try:
            forest = tl.Forest.from_json(data)
        except tl.TreeletError:
            continue
        survived += 1
        forest.count_trees()
        forest.kbest(20)
        forest.prune(1.0)
        forest.inside(), forest.outside()
        tl.ForestKernel()([forest, "(S (A x))"])
    assert survived > 20


def test_native_refusals() -> None:
    ids, logs = (lambda *v: np.array(v, np.int32)), (lambda *v: np.array(v, np.float64))
    good = dict(  # noqa: C408
        labels=["S", "A", ""], first_word=3, left=ids(2), right=ids(1), head=ids(0), logp=logs(-1.0), unary_child=ids(1), unary_head=ids(0), unary_logp=logs(-1.0), start=ids(0), start_logp=logs(0.0))  # fmt: skip
    _core.grammar(**good)
    bad = [
        {"left": ids(9)}, {"right": ids(2)}, {"logp": logs(math.nan)}, {"logp": logs(1.0)}, {"unary_child": ids(2)}, {"start": ids(2)}, {"first_word": -1}, {"start_logp": logs()},
    ]  # fmt: skip
    for change in bad:
        with pytest.raises(ValueError):  # noqa: PT011
            _core.grammar(**(good | change))
    grammar = _core.grammar(**good)
    nothing = np.zeros(3)
    with pytest.raises(ValueError):  # noqa: PT011
        _core.Chart(grammar, ["x"], np.array([0, 1]), ids(7), logs(0.0), math.inf, nothing, None)
    with pytest.raises(ValueError):  # noqa: PT011
        _core.Chart(grammar, ["x", "y"], np.array([0, 1]), ids(1), logs(0.0), math.inf, nothing, None)
    store, roots = _core.ForestStore.of_forests([tl.Forest.from_trees([("(S (A x))", 1)])._native])
    rows = _core.NodeWeights.count(store, roots)
    foreign = _core.NodeWeights.of(np.array([0, 1]), ids(99), logs(1.0))
    with pytest.raises(ValueError):  # noqa: PT011
        _core.ForestColumns(store, foreign, False, 0.4, False)
    with pytest.raises(ValueError):  # noqa: PT011
        _core.ForestColumns(store, rows, False, 0.4, False).rows(store, foreign, None, 0, 1, np.empty((1, 1)))


def test_growing_graphs_and_batches() -> None:
    rng = random.Random(1)
    texts = [f"(S (A {rng.choice('xy')}) (B (A {rng.choice('xy')}) {rng.choice('xyz')}))" for _ in range(30)]
    pairs = [(f"(S (A x) (B (C y) {rng.choice('xz')}))", 1 + i % 3) for i in range(20)]
    packed = tl.ForestBank(
        [tl.Forest.from_trees([pairs[i], (f"(S (A x) (C (A y) {tree[-3]}))", 1)]) for i, (tree, _) in enumerate(pairs)]
    )
    for kernel in (
        tl.Subtree(0.5),
        tl.SubsetTree(0.4),
        tl.SubsetTree(0.4, max_depth=2),
        tl.PartialTree(),
        tl.ForestKernel(0.5),
    ):
        bank = packed if isinstance(kernel, tl.ForestKernel) else tl.Treebank(texts)
        store, trees = bank.columns.store, bank.weights()
        nodes = np.arange(len(store), dtype=np.int32)
        empty = _core.NodeWeights.of(np.array([0, len(nodes)]), nodes, np.zeros(len(nodes)))
        graph = kernel.native(store, empty, False)
        alpha = np.zeros(len(bank))
        for _ in range(20):
            row, weight = rng.randrange(len(bank)), rng.choice([1.0, -1.0, 0.5])
            graph.add(trees, row, weight)
            alpha[row] += weight
        out = np.empty((len(bank), 1))
        graph.rows(store, trees, None, 0, len(bank), out)
        np.testing.assert_allclose(out[:, 0], kernel(bank) @ alpha, rtol=1e-9, atol=1e-12)
        with pytest.raises(ValueError):  # noqa: PT011
            graph.add(trees, len(bank), 1.0)
        for batch in (
            ["(S (B z))"],
            ["(T (S (A x) (A y) (B x)))", "(Q q)"],
            texts[:3],
        ):  # other stores, one after the other
            columns, rows = bank.joined(type(bank)(batch))
            many = np.empty((len(batch), 1))
            graph.rows(rows.columns.store, rows.weights(), None, 0, len(batch), many)
            np.testing.assert_allclose(many[:, 0], kernel(batch, bank) @ alpha, rtol=1e-9, atol=1e-12)
            assert len(columns) == len(bank)


def test_a_store_grows_over_another_without_a_copy() -> None:
    """Stores that grow over grown stores, in any order, contain the added trees, and the base does not change."""
    rng = random.Random(2)
    texts = [f"(S (A {rng.choice('uvwxyz')}) (B (A {rng.choice('uvwxyz')}) {rng.choice('uvwxyz')}))" for _ in range(60)]
    for kind in (tl.Treebank, tl.ForestBank):
        base = kind(texts[:20])
        before = len(base.columns.store)
        once = base.joined(kind(texts[20:40]))[1]
        twice = once.joined(kind(texts[40:]))[1]
        assert [str(t) for t in tl.Treebank(texts[20:40])] == [str(_tree(t)) for t in once]
        assert [str(t) for t in tl.Treebank(texts[40:])] == [str(_tree(t)) for t in twice]
        assert len(base.columns.store) == before < len(once.columns.store) < len(twice.columns.store)
        assert base.joined(kind(texts[:20]))[1].columns.roots.tolist() == base.columns.roots.tolist()
        labels = twice.columns.store.labels
        assert len(labels) == len(set(labels))
        whole = kind.concat([base, once, twice, kind(texts[::7])])
        assert [str(_tree(t)) for t in whole] == [str(t) for t in tl.Treebank([*texts, *texts[::7]])]
        np.testing.assert_array_equal(whole.columns.roots[0:60:7], whole.columns.roots[60:])
        del base, once  # a grown store keeps its base alive
        assert [str(t) for t in tl.Treebank(texts[40:])] == [str(_tree(t)) for t in kind.from_columns(twice.columns)]


def _tree(item: tl.Tree | tl.Forest | None) -> tl.Tree | None:
    return item.best()[0] if isinstance(item, tl.Forest) else item
