"""The explorer: its answers against what they are answers about, and what its server refuses."""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
import threading
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import binary, fail
from treelet import _core
from treelet.cli.explore import _embedded, _workspace
from treelet.cli.options import Reading
from treelet.drawing.web.pictures import picture
from treelet.learn import CompressedModel
from treelet.parsing.chart import relative_logp
from treelet.structures.bank import Bank
from treelet.testing import trees

pytest.importorskip("starlette", reason="needs treelet[web]")
pytest.importorskip("uvicorn", reason="needs treelet[web]")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # which client it would rather have
    from starlette.testclient import TestClient

from starlette.exceptions import HTTPException

from treelet.explorer import Parsing, Workspace, app, application, handlers
from treelet.explorer.handlers import HANDLERS
from treelet.explorer.requests import Request, RequestError
from treelet.explorer.workspace import ModelView

HOSTILE = "<script>window.hurt=1</script>"
A = "(S (NP (PRP She)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (DT a) (NN telescope)))))"
B = "(S (NP (PRP She)) (VP (VBD saw) (NP (NP (DT the) (NN man)) (PP (IN with) (NP (DT a) (NN telescope))))))"
SENTENCE = "i want to reserve a seat on a flight from boston to denver"
TREES = ["(S (A a) (B b))", "(S (A a) (B c))", "(S (B b) (A a))", "(T (A a) (B c))", "(T (B b) (B b))", "(T (A c))"]
LABELS = ["s", "s", "s", "t", "t", "u"]


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace(_embedded())


@pytest.fixture(scope="module")
def client(workspace: Workspace) -> TestClient:
    return TestClient(application(workspace, 8377), base_url="http://127.0.0.1:8377")


def answer(what: str, workspace: Workspace | None = None, **fields: Any) -> dict[str, Any]:
    found = HANDLERS[what](
        workspace or Workspace(Parsing("none", lambda: tl.PCFG.from_treebank(TREES))), Request(fields)
    )
    return json.loads(json.dumps(found, allow_nan=False))


def refused(what: str, workspace: Workspace | None = None, **fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        answer(what, workspace, **fields)
    return caught.value


# --- two trees ------------------------------------------------------------------------------------------------------


@settings(max_examples=40)  # each of them asks for everything
@given(
    trees(),
    trees(),
    st.sampled_from(["st", "sst", "pt"]),
    st.sampled_from([0.1, 0.5, 1.0]),
    st.booleans(),
)
def test_compare_adds_up(a: tl.Tree, b: tl.Tree, name: str, lam: float, normalized: bool) -> None:
    kernel = {"st": tl.Subtree, "sst": tl.SubsetTree, "pt": tl.PartialTree}[name](lam=lam)
    found = answer("compare", a=str(a), b=str(b), kernel=name, lam=lam, normalized=normalized)
    chosen = kernel.normalized() if normalized else kernel
    value = float(chosen([a], [b])[0, 0])
    assert found["cosine" if normalized else "value"] == pytest.approx(value)
    assert eval(found["kernel"], vars(tl)).get_params() == chosen.get_params()
    for side, tree in zip(found["trees"], (a, b), strict=True):
        assert side["labels"] == [node.label for node in tree.nodes()]
        assert math.fsum(side["heat"]) == pytest.approx(value, abs=1e-12)
    shares = [one["share"] for one in found["fragments"]]
    if found["complete"]:
        assert math.fsum(shares) == pytest.approx(value, abs=1e-12)
    for one in found["fragments"]:
        for nodes, tree in zip(one["places"], found["trees"], strict=True):
            assert nodes
            assert {tree["labels"][node] for node in nodes} == set(re.findall(r"[^\s()]+", one["text"]))


def test_compare_honours_every_parameter() -> None:
    assert answer("compare", a=A, b=B, kernel="sst", lam=0.4, depth=1)["kernel"] == "SubsetTree(lam=0.4, max_depth=1)"
    assert (
        answer("compare", a=A, b=B, kernel="pt", lam=0.3, mu=0.2, depth=1)["kernel"] == "PartialTree(lam=0.3, mu=0.2)"
    )
    assert answer("compare", a=A, b=B, kernel="sst", leaves=True)["kernel"] == "SubsetTree(lam=0.4, leaves=True)"


@settings(max_examples=40)
@given(trees(), trees(), st.sampled_from(["st", "sst", "pt"]), st.sampled_from([0.1, 0.5, 1.0]))
def test_the_sum_of_the_table_is_the_kernel_value(a: tl.Tree, b: tl.Tree, name: str, lam: float) -> None:
    kernel = {"st": tl.Subtree, "sst": tl.SubsetTree, "pt": tl.PartialTree}[name](lam=lam)
    found = answer("table", a=str(a), b=str(b), kernel=name, lam=lam)
    value = float(kernel([a], [b])[0, 0])
    assert found["value"] == pytest.approx(value)
    assert math.fsum(map(math.fsum, found["cells"])) == pytest.approx(value)
    assert found["parameters"]["lam"] == lam
    assert [len(found["cells"]), len(found["cells"][0])] == [len(tree["labels"]) for tree in found["trees"]]


def test_a_large_table_is_refused_with_its_size() -> None:
    error = refused("table", a=f"(A {'x ' * 70})", b=f"(A {'x ' * 40})")
    assert (error.field, str(error)) == (
        "table",
        "The table of these trees has 71 × 41 pairs of nodes, including words. The limit of this page is 2,500 pairs. "
        "Enter smaller trees, or use treelet.fragments.node_values in Python.",
    )
    assert len(answer("table", a=f"(A {'x ' * 49})", b=f"(A {'x ' * 49})")["cells"]) == 50


def test_a_saved_picture_is_that_of_draw() -> None:
    shared = tl.shared_fragments(A, B, tl.PartialTree(lam=0.3, mu=0.2).normalized(), 40)
    fields = {"a": A, "b": B, "kernel": "pt", "lam": 0.3, "mu": 0.2}
    assert answer("save", **fields, normalized=True)["svg"] == tl.draw(shared)
    table = tl.draw(tl.shared_fragments(A, B, tl.PartialTree(lam=0.3, mu=0.2), 40), table=True)
    assert answer("save", **fields, normalized=True, show="table")["svg"] == table
    assert answer("save", a=A, b=B, show="edits")["svg"] == tl.draw(tl.edit_script(A, B))
    assert refused("save", a=A, b="(S", show="table").field == "b"
    mine = Workspace(_embedded())
    forest = mine.grammar().forest(SENTENCE.split(), 2.0)
    assert answer("save", mine, sentence=SENTENCE, prune=2, show="forest")["svg"] == tl.draw(forest)
    wide = f"(A {'x ' * 70})"
    assert "71 × 71 pairs of nodes" in str(refused("save", a=wide, b=wide, show="table"))
    large = f"(A {'x ' * 4000})"
    assert "limit of this page" in str(refused("save", a=large, b=large, show="edits"))


def test_small_fragments_are_drawn_and_large_ones_are_written() -> None:
    wide = f"(A {' '.join('(B b)' for _ in range(20))})"
    drawn = {one["text"]: one["picture"] for one in answer("compare", a=wide, b=wide, kernel="st")["fragments"]}
    assert drawn["(B b)"] == picture("(B b)")
    assert drawn[wide] is None


def test_the_curve_is_the_value_at_each_decay() -> None:
    found = answer("curve", a=A, b=B, kernel="pt", mu=0.3)
    assert found["lam"][0] < 0.05
    assert found["lam"][-1] == 1
    for lam, value, cosine in zip(found["lam"], found["value"], found["cosine"], strict=True):
        kernel = tl.PartialTree(lam=lam, mu=0.3)
        assert (value, cosine) == (kernel([A], [B])[0, 0], kernel.normalized()([A], [B])[0, 0])


def test_what_is_wrong_has_its_place() -> None:
    error = refused("compare", a="(S (NP x)", b=B)
    assert (error.field, error.line, error.column) == ("a", 1, 1)
    error = refused("compare", a=A, b="(S\n (é x)) )")
    assert (error.field, error.line) == ("b", 2)
    assert refused("compare", a=A, b="").field == "b"
    assert "Enter one in brackets" in str(refused("compare", a=A, b="  "))
    assert refused("compare", a=3, b=B).field == "a"
    for field, value in [
        ("lam", 0),
        ("lam", 2),
        ("lam", "x"),
        ("lam", math.nan),
        ("mu", -1),
        ("depth", 0),
        ("leaves", 3),
    ]:
        name = "pt" if field == "mu" else "sst"
        assert field.replace("depth", "max_depth") in str(refused("compare", a=A, b=B, kernel=name, **{field: value}))
    assert refused("compare", a=A, b=B, kernel="xyz").field == "kernel"
    assert refused("compare", a=A, b=B, normalized="yes").field == "normalized"


@pytest.mark.serial
def test_large_trees_are_answered_or_refused_quickly() -> None:
    deep = "(A " * 2000 + "x" + ")" * 2000
    wide = f"(A {' '.join(['x'] * 4900)})"
    begin = time.process_time()
    assert answer("compare", a=deep, b=deep, kernel="st", lam=1)["value"] == 2000
    assert answer("compare", a=wide, b=A)["value"] == 0
    assert "limit of this page" in str(refused("compare", a=wide, b=wide, kernel="pt"))
    assert "limit of this page" in str(refused("compare", a=deep, b=deep, depth=1000))  # once per level
    assert "5,000" in str(refused("compare", a=f"(A {'x ' * 5001})", b=A))
    assert "10,001" in str(refused("compare", a="(A " * 10_000 + "x" + ")" * 10_000, b=A))
    found = answer("compare", a=str(binary(10)), b=str(binary(10)), kernel="sst", lam=1)
    assert found["value"] is None  # more than a float64 holds
    assert found["cosine"] == 1
    assert time.process_time() - begin < 30


@settings(max_examples=40, deadline=None)
@given(trees(), trees())
def test_edits_are_the_edit_script(a: tl.Tree, b: tl.Tree) -> None:
    found = answer("edits", a=str(a), b=str(b))
    script = tl.edit_script(str(a), str(b))
    assert (found["distance"], found["similarity"]) == (script.cost, script.similarity)
    assert [tuple(pair) for pair in found["pairs"]] == script.mapping
    assert found["counts"] == {
        kind: sum(o.kind == kind for o in script) for kind in ("keep", "rename", "insert", "delete")
    }
    assert [(o["kind"], o["text"]) for o in found["operations"]] == [(o.kind, str(o)) for o in script.changes()][:300]
    for number, drawn in enumerate(found["trees"]):
        tree = (script.source, script.target)[number]
        assert drawn["labels"] == [node.label for node in tree.nodes()]
        nodes = [(o.source, o.target)[number] for o in script.changes()]
        assert [edit["node"] for edit in drawn["edits"]] == [node for node in nodes if node is not None]


def test_edits_of_two_trees() -> None:
    found = answer("edits", a=A, b=B)
    assert (found["distance"], found["counts"]["insert"]) == (1, 1)
    assert found["operations"] == [{"kind": "insert", "text": "insert NP", "share": 1.0, "places": [[], [7]]}]
    assert [drawn["edits"] for drawn in found["trees"]] == [[], [{"node": 7, "kind": "insert", "text": ""}]]
    renamed = answer("edits", a="(N cat)", b="(N dog)")
    assert [drawn["edits"][0]["text"] for drawn in renamed["trees"]] == ["→ dog", "was cat"]
    error = refused("edits", a="(S (NP x)", b=B)
    assert (error.field, error.line, error.column) == ("a", 1, 1)
    assert refused("edits", a=A, b=3).field == "b"


@pytest.mark.serial
def test_edits_of_large_trees_are_answered_or_refused_quickly() -> None:
    deep, wide = "(A " * 1500 + "x" + ")" * 1500, f"(A {' '.join(['x'] * 1500)})"
    begin = time.process_time()
    assert answer("edits", a=deep, b=deep)["distance"] == 0
    assert answer("edits", a=wide, b=deep)["distance"] == 2998
    many = answer("edits", a=wide, b=wide.replace("x", "y"))
    assert (many["counts"]["rename"], len(many["operations"])) == (1500, 300)
    error = refused("edits", a=f"(A {'x ' * 4900})", b=f"(A {'x ' * 4900})")
    assert "limit of this page is 64 MiB" in str(error)
    assert error.field == "edits"
    assert "limit of this page is 2e+08 steps" in str(refused("edits", a=zigzag(400), b=zigzag(400)))
    assert time.process_time() - begin < 20


def zigzag(levels: int) -> str:
    """Return a tree that is expensive from the left and from the right."""
    tree = "x"
    for level in range(levels):
        tree = f"(A {tree} y)" if level % 2 else f"(A y {tree})"
    return tree


@pytest.mark.serial
def test_an_edit_distance_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the client no longer waits."""
    monkeypatch.setattr(handlers, "_EDIT_STEPS", 1e15)
    tree, stop, ended = zigzag(400), _core.Stop(), list[str]()

    def work() -> None:
        _core.watch(stop)
        try:
            answer("edits", a=tree, b=tree.replace("A", "B"))
        except RuntimeError as error:
            ended.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.5)
    running = thread.is_alive()
    stop.set()
    thread.join(60)
    assert running
    assert ended == ["stopped"]


# --- a sentence -----------------------------------------------------------------------------------------------------


def test_parses_are_the_grammars_in_the_rankers_order(workspace: Workspace) -> None:
    found = answer("sentence", workspace, sentence=SENTENCE, k=8, prune=2.0)
    expected = workspace.parsing.grammar().parse(SENTENCE.split(), 8)
    assert sorted(one["number"] for one in found["parses"]) == list(range(8))
    for one in found["parses"]:
        tree, logp = expected[one["number"]]
        assert (one["tree"], one["logp"], one["picture"]) == (str(tree), logp, picture(tree))
    scores = [one["score"] for one in found["parses"]]
    assert scores == sorted(scores, reverse=True)
    assert [one["number"] for one in found["parses"]] != list(range(8))
    forest = workspace.parsing.grammar().forest(SENTENCE.split(), 2.0)
    assert found["forest"] == {
        "picture": picture(forest),
        "trees": str(forest.count_trees()),
        "nodes": len(forest.nodes),
    }


def test_why_is_the_difference_of_two_scores(workspace: Workspace) -> None:
    parses = {one["number"]: one for one in answer("sentence", workspace, sentence=SENTENCE, k=5)["parses"]}
    found = answer("why", workspace, sentence=SENTENCE, k=5, a=4, b=0)
    assert found["score"] == pytest.approx(parses[4]["score"] - parses[0]["score"])
    others = math.fsum(one["share"] for one in found["others"])
    heat = math.fsum(share for tree in found["trees"] for share in tree["heat"])
    assert heat + others == pytest.approx(found["score"])
    assert math.fsum(one["share"] for one in found["fragments"]) + found["rest"] == pytest.approx(found["score"])
    for number, tree in zip((4, 0), found["trees"], strict=True):
        assert tree["labels"] == parses[number]["picture"]["labels"]
    assert all(any(one["places"]) for one in found["fragments"])
    assert answer("why", workspace, sentence=SENTENCE, k=5, a=0, b=4)["score"] == pytest.approx(-found["score"])


def test_a_given_ranker_orders_the_parses() -> None:
    parses = tl.PCFG.from_treebank(TREES).parse(["a", "b"], 5)
    for kernel in (tl.SubsetTree(), tl.On("tree", tl.SubsetTree()) + 0.1 * tl.On("logp", tl.Linear())):
        on_trees = isinstance(kernel, tl.SubsetTree)
        X = TREES if on_trees else [{"tree": tree, "logp": 0.0} for tree in TREES]
        judge = ModelView(tl.RankSVM(kernel).fit(X, [3, 2, 1, 3, 2, 1], qid=[0, 0, 0, 1, 1, 1]), "ranks.treelet")
        found = answer(
            "sentence", Workspace(Parsing("g", lambda: tl.PCFG.from_treebank(TREES)), judge), sentence="a b", k=5
        )
        assert found["ranker"] == "ranks.treelet"
        relative = relative_logp(np.array([logp for _, logp in parses]), np.zeros(len(parses), np.int64))
        rows = [
            tree if on_trees else {"tree": tree, "logp": logp}
            for (tree, _), logp in zip(parses, relative.tolist(), strict=True)
        ]
        scores = judge.model.predict(rows)
        assert [one["score"] for one in found["parses"]] == pytest.approx(sorted(scores.tolist(), reverse=True))
        assert len(found["parses"]) == len(parses) > 1


def test_a_sentence_outside_the_grammar_is_no_silent_parse() -> None:
    """The demo grammar tags nearly all words of this sentence as numbers."""
    workspace = Workspace(_embedded())
    found = answer("sentence", workspace, sentence="The quick brown fox jumps over the lazy dog.")
    assert found["words"][::8] == ["the", "dog"]
    assert found["parses"][0]["tree"].startswith("(FALLBACK ")
    assert "is not a parse" in found["note"]
    assert "Unknown words: 'quick', 'brown', 'fox', 'jumps', 'over', 'lazy', 'dog'. Start the" in found["note"]
    assert answer("sentence", workspace, sentence=SENTENCE)["note"] is None
    found = answer("sentence", workspace, sentence=f"{SENTENCE.removesuffix('denver')}Xanadu")
    assert found["note"] == "Unknown words: 'Xanadu'. The parser guesses their tags from their form."
    without = Workspace(Parsing("g", lambda: tl.PCFG.from_rules([("S", ("a",), 1.0)], start="S")))
    assert str(refused("sentence", without, sentence="a, b")).startswith(
        "This sentence is outside this grammar. Unknown words: ',', 'b'. "
    )


def test_a_typed_sentence_is_adapted_to_the_grammar() -> None:
    """The words of the demo grammar are lower case, and it has no punctuation marks."""
    workspace = Workspace(_embedded())
    expected = answer("sentence", workspace, sentence="show me the flights to dallas")
    found = answer("sentence", workspace, sentence="Show me The flights to Dallas.")
    assert found["words"] == expected["words"] == ["show", "me", "the", "flights", "to", "dallas"]
    assert found["parses"] == expected["parses"]
    assert found["note"] is None


def test_sentences_that_cannot_be_parsed(workspace: Workspace) -> None:
    assert "parse needs at least one word" in str(refused("sentence", workspace, sentence=" "))
    assert "Word 2 of the sentence is '(b', " in (refusal := str(refused("sentence", workspace, sentence="a (b")))
    assert "-LRB-" in refusal
    assert "is a tree in brackets" in str(refused("sentence", workspace, sentence=" (S (NP a) b)"))
    assert "Word 1 of the sentence is '(S', " in str(refused("sentence", workspace, sentence="(S b"))
    assert "This page parses up" in str(refused("sentence", workspace, sentence="a " * 61))
    assert "an int from 1 to 50" in str(refused("sentence", workspace, sentence="a", k=51))
    assert "an int from 0 to" in str(refused("why", workspace, sentence=SENTENCE, k=3, a=3))
    assert "There is no ranker to explain" in str(refused("why", sentence="a b"))
    assert answer("sentence", sentence="a b")["ranker"] is None
    large = Workspace(Parsing("large", lambda: tl.PCFG.from_treebank(tl.datasets.flights(300), parent="tags")))
    rules = len(large.parsing.grammar().rules)
    from treelet.explorer import handlers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handlers, "_PARSE_STEPS", 10**3 / 6 * rules + 1)
        assert "this page parses up to 10 words" in str(refused("sentence", large, sentence="a " * 11))


# --- a model --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models() -> list[Any]:
    normal = tl.SubsetTree(lam=0.5).normalized()
    return [
        tl.KernelSVC(normal, C=10.0).fit(TREES, LABELS),
        tl.KernelSVC(tl.PartialTree()).fit(TREES[:5], LABELS[:5]),
        tl.RLS(tl.SubsetTree() + tl.PartialTree()).fit(TREES, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        tl.RankRLS(tl.On("tree", tl.Subtree())).fit(
            tl.structures.Table({"tree": TREES}), [1, 2, 3, 1, 2, 3], [0] * 3 + [1] * 3
        ),
    ]


def test_a_model_is_told_as_it_predicts(models: list[Any]) -> None:
    for model in models:
        workspace = Workspace(_embedded(), ModelView(model, "m.treelet"))
        for tree in ("(S (A a) (B b))", "(T (A c) (B b))"):
            found = answer("judge", workspace, tree=tree)
            X = [tree] if found["task"] != "rank" else tl.structures.Table({"tree": [tree]})
            assert math.fsum(one["share"] for one in found["fragments"]) + found["rest"] == pytest.approx(
                found["score"]
            )
            assert math.fsum(found["tree"]["heat"]) + found["intercept"] == pytest.approx(found["score"])
            told = {one["label"]: one["score"] for one in found["scores"]}
            if found["task"] == "classify":
                assert found["label"] == found["output"] == model.predict(X)[0]
                values = np.atleast_2d(model.decision_function(X))[0].tolist()
                expected = values if len(values) > 1 else [-values[0], values[0]]
                assert told == pytest.approx(dict(zip(model.classes_.tolist(), expected, strict=True)))
                other = str(model.classes_[0])
                assert answer("judge", workspace, tree=tree, output=other)["output"] == other
                assert str(refused("judge", workspace, tree=tree, output="zzz")) == "The model has no class 'zzz'."
            else:
                assert list(told.values()) == pytest.approx(model.predict(X).tolist())


def test_a_misspelled_class_gets_a_suggestion() -> None:
    model = tl.KernelSVC(tl.SubsetTree()).fit(TREES[:2], ["human", "place"])
    workspace = Workspace(_embedded(), ModelView(model, "m"))
    error = refused("judge", workspace, tree=TREES[0], output="humen")
    assert str(error) == "The model has no class 'humen'. Did you mean 'human'?"


def test_a_tree_that_is_too_large_for_the_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tl.KernelSVC(tl.SubsetTree()).fit(TREES[:2], ["human", "place"])
    workspace = Workspace(_embedded(), ModelView(model, "m"))
    sizes = [
        len(bank.columns.store) + len(bank.columns.store.child) for bank in map(tl.Treebank, (TREES[:2], TREES[:1]))
    ]
    monkeypatch.setattr(handlers, "_MODEL_PAIRS", sizes[0] * sizes[1])
    assert answer("judge", workspace, tree=TREES[0])["label"] in ("human", "place")
    monkeypatch.setattr(handlers, "_MODEL_PAIRS", sizes[0] * sizes[1] - 1)
    assert refused("judge", workspace, tree=TREES[0]).field == "tree"


def test_a_request_scores_the_tree_once(models: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        function = getattr(owner, name)

        def counted(*args: Any, **options: Any) -> Any:
            calls[name] += 1
            return function(*args, **options)

        monkeypatch.setattr(owner, name, counted)

    for model in models:
        workspace = Workspace(_embedded(), ModelView(model, "m"))
        expected = answer("judge", workspace, tree=TREES[0])  # the nearest trees are indexed now
        count(CompressedModel, "score")
        count(handlers, "resolve_output")
        count(Bank, "__init__")
        assert answer("judge", workspace, tree=TREES[0]) == expected
        assert calls == {"score": 1, "resolve_output": 1, "__init__": 1}
        monkeypatch.undo()
        calls.clear()


def test_nearest_trees_are_those_of_the_model_or_of_the_file(models: list[Any]) -> None:
    model, tree = models[0], "(S (A a) (B d))"
    kernel = model.kernel
    cosines = dict(zip(TREES, kernel(TREES, [tree])[:, 0].tolist(), strict=True))
    support = answer("judge", Workspace(_embedded(), ModelView(model, "m")), tree=tree, output="s")["near"]
    assert support["from"] == "support"
    found = {one["tree"]: one["value"] for one in support["trees"]}
    assert found
    assert found == pytest.approx({tree: cosines[tree] for tree in found})
    for one in support["trees"]:  # alpha * K adds up to the score
        assert (one["weight"] > 0) == (LABELS[TREES.index(one["tree"])] == "s")
        assert one["label"] == LABELS[TREES.index(one["tree"])]
    data = Workspace(_embedded(), ModelView(model, "m"), tl.Treebank(TREES), LABELS)
    near = answer("judge", data, tree=tree)["near"]
    assert near["from"] == "data"
    assert [one["value"] for one in near["trees"]] == pytest.approx(
        [value for value in sorted(cosines.values(), reverse=True)[:5] if value > 0]
    )
    assert all(one["label"] == LABELS[TREES.index(one["tree"])] for one in near["trees"])


def test_models_that_the_explorer_cannot_show() -> None:
    several = tl.KernelSVC(tl.On("a", tl.SubsetTree()) + tl.On("b", tl.SubsetTree()))
    several.fit([{"a": tree, "b": tree} for tree in TREES], LABELS)
    with pytest.raises(tl.TreeletError, match="explorer needs"):
        ModelView(several, "m.treelet")
    with pytest.raises(tl.TreeletError, match="does not predict from trees"):
        ModelView(tl.KernelMatrix(tl.SubsetTree()).fit(TREES), "m.treelet")
    voted = tl.VotedPerceptron(tl.SubsetTree(), prediction="voted").fit(
        TREES, [3, 2, 1, 3, 2, 1], qid=[0, 0, 0, 1, 1, 1]
    )
    found = answer("judge", Workspace(_embedded(), ModelView(voted, "m")), tree=TREES[0])
    assert "cannot be explained" in found["unexplained"]
    assert found["scores"]
    assert "There is no model" in str(refused("judge", tree=A))
    assert "too large to be explained on this page" in str(
        refused("judge", Workspace(_embedded(), ModelView(voted, "m")), tree="(A " * 2000 + "x" + ")" * 2000)
    )


def test_the_desk_says_what_there_is(workspace: Workspace, models: list[Any]) -> None:
    assert answer("about", workspace)["model"] is None
    assert answer("about", workspace)["ranks"] is True
    told = answer("about", Workspace(workspace.parsing, ModelView(models[0], "m.treelet"), tl.Treebank(TREES), LABELS))
    assert (told["model"]["name"], told["model"]["task"], told["data"]) == ("m.treelet", "classify", 6)
    shown = answer("examples", workspace)
    assert 1 < len(shown["trees"]) == len({" ".join(tl.Tree.parse(tree).words()) for tree in shown["trees"]})


def test_examples_come_from_the_treebank_the_data_or_the_model(workspace: Workspace, models: list[Any]) -> None:
    assert answer("about", workspace)["examples"] == {"trees": None, "sentences": None}  # the page has its own
    bank = tl.datasets.flights(60)
    grammar = tl.PCFG.from_treebank(bank)
    sentences = {" ".join(tree.words()) for tree in bank}
    shown = answer("about", Workspace(Parsing("mine", lambda: grammar, trees=bank)))["examples"]
    assert 3 <= len(shown["sentences"]) == len(set(shown["sentences"]))
    assert set(shown["sentences"]) <= sentences
    assert len(shown["trees"]) == 4
    for pair in shown["trees"]:
        a, b = pair["fields"]["a"], pair["fields"]["b"]
        assert a != b
        assert {a, b} <= {str(tree) for tree in bank}
        assert float(tl.SubsetTree().normalized()([a], [b])[0, 0]) > 0.3  # similar trees
    # A grammar without trees generates its examples, so all words are known.
    generated = answer("about", Workspace(Parsing("mine", lambda: grammar)))["examples"]
    assert generated["trees"] is None
    assert generated["sentences"]
    assert [grammar.unknown_words(words.split()) for words in generated["sentences"]] == [[]] * len(
        generated["sentences"]
    )
    endless = tl.PCFG.from_rules([("S", tuple("S" * 2), 0.1), ("S", ("a",) * 30, 0.9)], start="S")
    assert answer("about", Workspace(Parsing("long", lambda: endless)))["examples"]["sentences"] == []
    support = answer("about", Workspace(workspace.parsing, ModelView(models[0], "m.treelet")))["examples"]
    assert {text for pair in support["trees"] for text in pair["fields"].values()} <= set(TREES)
    data = answer("about", Workspace(workspace.parsing, ModelView(models[0], "m"), tl.Treebank(TREES), LABELS))
    assert {text for pair in data["examples"]["trees"] for text in pair["fields"].values()} <= set(TREES)
    assert data["examples"]["sentences"] is None


def test_the_desk_is_laid_from_files(tmp_path: Path, models: list[Any]) -> None:
    reading = Reading(None, "utf-8", "raise", {})
    tl.save(models[0], tmp_path / "m.treelet")
    (tmp_path / "train.tsv").write_text(
        "".join(f"{y}\t{x}\n" for x, y in zip(TREES, LABELS, strict=True)), encoding="utf-8"
    )
    tl.PCFG.from_treebank(TREES).save(tmp_path / "g.json")
    laid = _workspace(str(tmp_path / "m.treelet"), str(tmp_path / "train.tsv"), str(tmp_path / "g.json"), None, reading)
    assert answer("judge", laid, tree=TREES[0])["near"]["trees"][0]["label"] == "s"
    assert laid.ranker() is None
    assert answer("sentence", laid, sentence="a b")["grammar"] == "g.json"
    of_trees = _workspace(None, None, None, str(tmp_path / "train.tsv"), reading)
    assert answer("sentence", of_trees, sentence="a b")["grammar"] == "train.tsv"
    assert of_trees.parsing.grammar() == laid.parsing.grammar()
    assert of_trees.parsing.trees == tl.Treebank(TREES)


# --- the server -----------------------------------------------------------------------------------------------------


def test_the_page_and_its_files(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'self';")
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in page.headers
    assert "<script>" not in page.text
    assert " style=" not in page.text
    assert "http" not in page.text.replace("http-equiv", "")
    for name in re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text):
        assert client.get(name).status_code == 200, name
    scripts, waiting = set(), ["main.js"]
    while waiting:
        name = waiting.pop()
        found = client.get(f"/static/{name}")
        assert found.headers["content-type"] == "text/javascript; charset=utf-8"
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", found.text
        )
        scripts.add(name)
        waiting += set(re.findall(r'from "\./([^"]+)"', found.text)) - scripts
    assert {"tree-view.js", "trees.js", "sentence.js", "model.js"} <= scripts


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static/app.py", "/static/", "/app.py"],
)
def test_no_other_file_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_only_our_own_page_is_answered(client: TestClient) -> None:
    fields = {"a": A, "b": B}
    assert client.post("/ask/compare", json=fields).status_code == 200
    assert client.post("/ask/compare", json=fields, headers={"Origin": "http://127.0.0.1:8377"}).status_code == 200
    assert client.post("/ask/compare", json=fields, headers={"Host": "localhost:8377"}).status_code == 200
    for bad in (
        {"Host": "evil.example:8377"},
        {"Host": "127.0.0.1:80"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:8377"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        refusal = client.post("/ask/compare", json=fields, headers=bad)
        assert refusal.status_code == 403, bad
        assert "access-control-allow-origin" not in refusal.headers
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 403
    assert client.options("/ask/compare", headers={"Origin": "http://127.0.0.1:8377"}).status_code == 405
    assert client.get("/ask/compare").status_code == 405
    assert client.post("/ask/nothing", json={}).status_code == 404
    text = client.post("/ask/compare", content=json.dumps(fields), headers={"Content-Type": "text/plain"})
    assert text.status_code == 415


def test_hostile_questions_get_one_line(client: TestClient) -> None:
    def said(content: bytes) -> str:
        found = client.post("/ask/compare", content=content, headers={"Content-Type": "application/json"})
        assert found.status_code == 200
        assert found.headers["content-type"] == "application/json"
        message = found.json()["error"]["message"]
        assert "\n" not in message
        return message

    assert "The request is not valid JSON" in said(b"{")
    assert "The request is not valid JSON" in said(b"\xff\xfe")
    assert "The request is not valid JSON" in said(b"[" * 100_000)
    assert "request must be a JSON object" in said(b"[1]")
    body = json.dumps({"a": A, "b": B, "lam": 0.4})
    assert "NaN is not a number" in said(body.replace("0.4", "NaN").encode())
    assert "Infinity is not a number" in said(body.replace("0.4", "Infinity").encode())
    assert "lam" in said(body.replace("0.4", "1e999").encode())
    assert "lam" in said(body.replace("0.4", '"<b>"').encode())
    surrogate = json.dumps({"a": "(S \ud800)", "b": B}).encode()
    assert said(surrogate)
    found = client.post("/ask/compare", json={"a": f"(S {HOSTILE})", "b": f"(S {HOSTILE})"}).json()
    assert found["fragments"][0]["text"] == f"(S {HOSTILE})"  # text, and the page shows it as such
    large = client.post("/ask/compare", json={"a": f"(S {'x ' * 500_000})", "b": B})
    assert large.status_code == 413
    assert "256 KiB" in large.json()["error"]["message"]

    def pieces() -> Any:
        for _ in range(300):
            yield b" " * 1024

    headers = {"Content-Type": "application/json"}
    assert client.post("/ask/compare", content=pieces(), headers=headers).status_code == 413


def test_an_error_of_our_own_is_one_line_too(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(workspace: Workspace, question: Request) -> Any:
        raise KeyError("a\nb")

    monkeypatch.setitem(HANDLERS, "about", broken)
    found = client.post("/ask/about", json={})
    assert found.status_code == 500
    assert found.json()["error"]["message"] == r"Internal error: KeyError: 'a\nb'"


# --- work -----------------------------------------------------------------------------------------------------------


def in_its_own_loop(work: Any) -> Any:
    """In a thread: this one may have a loop that a browser runs in."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def stays() -> None:
    """The client is connected."""


async def left() -> None:
    raise HTTPException(499, "The client has disconnected.")


def test_work_takes_turns_and_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_GLANCE", 0.02)
    monkeypatch.setattr(app, "_SHORT_SECONDS", 0.1)

    async def scenario() -> None:
        # A pause of this process that is shorter than `seconds` does no harm.
        workers = app._Workers(at_once=1, most=3, seconds=3)
        hold, done, has_left = threading.Event(), list[str](), threading.Event()

        async def leaves() -> None:
            if has_left.is_set():
                await left()

        first = asyncio.create_task(workers.do(lambda: hold.wait(60), stays))
        while not workers._long.locked():  # from now on, the first request counts as a long one
            await asyncio.sleep(0.01)
        second = asyncio.create_task(workers.do(lambda: hold.wait(60), stays))
        while not workers._short.locked():
            await asyncio.sleep(0.01)
        dropped = asyncio.create_task(workers.do(lambda: done.append("dropped"), leaves))
        while workers._room:
            await asyncio.sleep(0.01)
        with pytest.raises(HTTPException, match="Too many requests") as caught:
            await workers.do(lambda: done.append("crowd"), stays)
        assert caught.value.status_code == 503
        has_left.set()
        with pytest.raises(HTTPException, match="disconnected"):
            await dropped
        assert not first.done()  # its place was free before its turn came
        for task in (first, second):
            with pytest.raises(HTTPException, match="took more than 3 seconds"):
                await task
        await asyncio.sleep(0.05)  # the tasks are cancelled
        assert workers._long.locked()  # abandoned work keeps its place until its thread has ended
        hold.set()
        assert await workers.do(lambda: 7, stays) == 7  # the thread is free again
        with pytest.raises(ZeroDivisionError):
            await workers.do(lambda: 1 // 0, stays)
        with pytest.raises(HTTPException, match="disconnected"):
            await workers.do(lambda: done.append("dropped"), left)
        assert done == []

    in_its_own_loop(scenario())


def test_long_requests_give_way_to_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long request moves to its own slots; if none is free, it starts again later."""
    monkeypatch.setattr(app, "_GLANCE", 0.02)
    monkeypatch.setattr(app, "_SHORT_SECONDS", 0.1)

    async def scenario() -> None:
        workers = app._Workers(at_once=1, most=9, seconds=50)
        done, begun, hold = list[str](), list[str](), threading.Event()

        def long(name: str) -> None:
            begun.append(name)
            while not hold.is_set():
                _core.check()
            done.append(name)

        waiting = [asyncio.create_task(workers.do(lambda name=name: long(name), stays)) for name in "ab"]  # type: ignore[misc]
        await asyncio.sleep(0.01)
        waiting += [
            asyncio.create_task(workers.do(lambda name=name: done.append(name), stays))  # type: ignore[misc]
            for name in "12"
        ]
        await asyncio.sleep(0.01)
        assert await workers.do(lambda: 7, stays) == 7  # behind the second long request, which is stopped
        assert begun == ["a", "b"]
        assert done == ["1", "2"]
        hold.set()
        await asyncio.gather(*waiting)
        assert begun == ["a", "b", "b"]
        assert sorted(done) == ["1", "2", "a", "b"]

    in_its_own_loop(asyncio.wait_for(scenario(), 60))


def test_a_body_that_dawdles_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.requests import Request

    monkeypatch.setattr(app, "_BODY_SECONDS", 0.05)

    async def never() -> Any:
        await asyncio.sleep(60)

    scope = {"type": "http", "method": "POST", "headers": [(b"content-type", b"application/json")]}
    with pytest.raises(HTTPException, match="did not arrive") as caught:
        in_its_own_loop(app._body_of(Request(scope, never)))
    assert caught.value.status_code == 408


# --- the command ----------------------------------------------------------------------------------------------------


def test_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    with app._listen(0) as taken:
        assert taken.proto == socket.IPPROTO_TCP  # as asyncio wants it, to send small answers at once
        port = taken.getsockname()[1]
        assert taken.getsockname()[0] == "127.0.0.1"
        with pytest.raises(tl.TreeletError, match=f"port {port}: it is in use"):
            app._listen(port)
        monkeypatch.setattr(app, "_PORT", port)
        with app._listen() as other:
            assert port < other.getsockname()[1] < port + app._TRIED
        monkeypatch.setattr(app, "_TRIED", 1)
        with pytest.raises(tl.TreeletError, match="Choose another one with port="):
            app._listen()


def test_wrong_usage(tmp_path: Path) -> None:
    assert "--port must be a whole number from 0" in fail("explore", "--port", "70000", "--no-browser")
    assert "--treebank exclude each other" in fail("explore", "--grammar", "a", "--treebank", "b")
    assert "--data needs MODEL." in fail("explore", "--data", "a.tsv")
    assert "--format applies to --data or --treebank only" in fail("explore", "--format", "tsv")
    assert "the file does not exist" in fail("explore", tmp_path / "none.treelet").lower()
