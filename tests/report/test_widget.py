"""The notebook's widget, and the JSON of pictures."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given

import treelet as tl
from conftest import run_python
from treelet.drawing import web
from treelet.drawing.web.pictures import attributed_structures, explained, picture
from treelet.structures import Table
from treelet.testing import trees

TREES = ["(S (A a) (B b))", "(S (A a) (C c))", "(S (D d) (B b))", "(S (D d) (C c))"]
MODEL = tl.RLS(tl.SubsetTree(lam=0.5)).fit(TREES, [1, 1, -1, -1])


@given(trees())
def test_a_tree_is_told_in_pre_order(tree: tl.Tree) -> None:
    made = picture(tree, heat=[0.5] * sum(1 for _ in tree.nodes()))
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    built: list[list[Any]] = []
    for label, parent in zip(made["labels"], made["parents"], strict=True):
        built.append([label, []])
        if parent >= 0:
            built[parent][1].append(built[-1])
    whole: dict[int, tl.Tree] = {}
    for entry in reversed(built):
        whole[id(entry)] = tl.Tree(entry[0], [whole[id(kid)] for kid in entry[1]])
    assert whole[id(built[0])] == tree


def test_other_kinds() -> None:
    forest = tl.Forest.from_trees([("(S (A x) (B y))", 0.6), ("(S (A x) (C y))", 0.4)])
    made = picture(forest)
    assert made["words"] == ["x", "y"]
    assert sorted(edge["p"] for edge in made["edges"] if edge["head"] == made["root"]) == pytest.approx([0.4, 0.6])
    assert picture(forest.prune(0.0))["words"] == ["x", "y"]
    heads = tl.Dependencies.from_heads(["dogs", "bark"], ["N", "V"], [2, 0], ["nsubj", "root"])
    links = [{"from": 1, "to": 0, "label": "nsubj"}, {"from": -1, "to": 1, "label": "root"}]
    assert picture(heads)["links"] == links
    plain = picture(tl.Dependencies(["dogs", "bark"], ["_", "_"], [(0, 1, "Ss")]))
    assert (plain["directed"], "tags" in plain) == (False, False)
    assert picture(tl.Tagged(["a", "b"], ["X", "Y"]))["tags"] == ["X", "Y"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"heat": [1.0]}, "Got 1 instead"),
        ({"heat": [1.0, math.nan, 0.0]}, "must contain finite numbers only"),
        ({"marks": [[7]]}, "node numbers from 0 to 2"),
    ],
)
def test_what_does_not_fit_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(tl.TreeletError, match=said):
        picture("(A b c)", **given)
    with pytest.raises(tl.TreeletError, match="Got an int instead"):
        picture(3)


def test_an_explanation_is_told_with_its_places() -> None:
    explanation = tl.explain(MODEL, TREES[0])
    told = explained(explanation)
    assert told["trees"][0]["picture"]["heat"] == [node.share for node in explanation.heat]
    first = told["fragments"][0]
    assert (first["text"], first["places"]) == ("(A a)", [[1, 2]])
    pair = explained(tl.explain(MODEL, (TREES[0], TREES[3])))
    assert [tree["title"] for tree in pair["trees"]] == ["A", "B"]
    by_text = {one["text"]: one["places"] for one in pair["fragments"]}
    assert (by_text["(A a)"], by_text["(D d)"]) == ([[1, 2], []], [[], [1, 2]])
    table = Table({"one": tl.Treebank(TREES), "other": tl.Treebank(TREES[::-1])})
    model = tl.RLS(tl.On("one", tl.SubsetTree()) + tl.On("other", tl.SubsetTree())).fit(table, [1, 1, -1, -1])
    both = attributed_structures(tl.explain(model, table[0]))
    assert [(str(tree), column) for tree, column, _ in both] == [(TREES[0], "one"), (TREES[3], "other")]


def test_large_trees_are_refused_in_words() -> None:
    explanation = tl.explain(MODEL, "(S (A a) (B b))")
    empty = type(explanation)(**{**vars(explanation), "heat": []})
    with pytest.raises(tl.TreeletError, match="This explanation has no picture"):
        explained(empty)


def test_the_widget() -> None:
    pytest.importorskip("anywidget")
    from treelet.report.widget import TreeView

    view = TreeView(tl.explain(MODEL, TREES[0]), words="hang")
    seen = []
    view.observe(lambda change: seen.append(change["new"]), "selected")
    view.selected = 3
    view.show(TREES[1], marks=[[0, 1]])
    assert seen == [3, None]
    assert view.content["trees"][0]["picture"]["marks"] == [{"nodes": [0, 1], "tone": 0}]
    assert view.options == {"words": "hang", "limit": 300}
    for wrong in ({"words": "top"}, {"limit": 0}):
        with pytest.raises(tl.TreeletError, match="parameter of TreeView"):
            TreeView(TREES[0], **wrong)
    with pytest.raises(tl.TreeletError, match="explanation, if heat or marks are given"):
        TreeView(tl.explain(MODEL, TREES[0]), heat=[1.0])


def test_without_anywidget_an_error_says_what_to_install() -> None:
    code = """
import sys
sys.modules["anywidget"] = None
import treelet
try:
    import treelet.report.widget
except treelet.TreeletError as error:
    print(error)
"""
    assert "pip install 'treelet[viz]'" in run_python(code)


def test_scripts_use_nothing_that_reads_markup_or_leaves() -> None:
    every = "".join(web.text(name) for name in (*web.FILES, "widget.js"))
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "XMLHttpRequest"):
        assert word not in every
    assert every.count("http") == 1  # the name of SVG
    assert "http://www.w3.org/2000/svg" in every


def test_measures_are_those_of_the_other_pictures() -> None:
    """tree-view.js and svg.py draw alike."""
    import re

    from treelet.drawing import arcs, svg

    there = dict(re.findall(r"\b([A-Z]+) = ([\d.]+)", web.text("layouts.js")))
    for name in ("FONT", "HEIGHT", "PAD", "GAP", "DROP", "CHANNEL", "CLOSE", "STEP", "TRUNK", "MARGIN", "LONGEST"):
        assert float(there[name]) == getattr(svg, name, getattr(svg, f"_{name}", None))
    ours = (arcs.WORD, arcs.SMALL, arcs.LEVEL, arcs.STEP, arcs.CORNER, arcs.GAP)
    assert tuple(float(there[name]) for name in ("WORD", "TAG", "LEVEL", "END", "CORNER", "APART")) == ours


def test_readers_without_widgets_see_a_static_picture() -> None:
    widget = pytest.importorskip("treelet.report.widget")

    def shown(view: Any) -> dict[str, Any]:
        bundle = view._repr_mimebundle_()
        data: dict[str, Any] = bundle[0] if isinstance(bundle, tuple) else bundle
        return data

    tree = "(NP (D the) (N cat))"
    view = widget.TreeView(tree)
    assert shown(view)["image/svg+xml"] == tl.draw(tree)
    assert shown(view)["text/plain"] == "<TreeView>"
    assert "application/vnd.jupyter.widget-view+json" in shown(view)
    model = tl.RLS(tl.SubsetTree()).fit([tree, "(NP (D a) (N dog))"], [1, -1])
    explanation = tl.explain(model, tree)
    view.show(explanation)
    shares = [node.share for node in explanation.heat]
    assert shown(view)["image/svg+xml"] == tl.drawing.heat_svg(tl.Tree.parse(tree), shares)
    view.show(tl.Forest.from_trees([(tree, 1.0)]))
    assert shown(view)["image/svg+xml"].startswith("<svg ")
