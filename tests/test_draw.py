"""Pictures: well formed, complete, and nothing on top of something else."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.explain import forest_svg, tree_svg
from treelet.explain.layout import Graph, Layout
from treelet.parsing import PCFG
from treelet.testing.strategies import trees

NAME = "{http://www.w3.org/2000/svg}"
GRAMMAR = PCFG.from_rules(
    [
        ("S", ("NP", "VP"), 1.0),
        ("VP", ("V", "NP"), 0.6),
        ("VP", ("VP", "PP"), 0.4),
        ("NP", ("NP", "PP"), 0.2),
        ("NP", ("D", "N"), 0.5),
        ("NP", ("John",), 0.3),
        ("PP", ("P", "NP"), 1.0),
        ("V", ("saw",), 1.0),
        ("D", ("a",), 1.0),
        ("N", ("man",), 0.5),
        ("N", ("bank",), 0.5),
        ("P", ("in",), 1.0),
    ],
    start="S",
)
WORDS = ["John", "saw", "a", "man", "in", "a", "bank", "in", "a", "bank"]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(NAME + "text")]


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    keys = ("x", "y", "width", "height")
    return [tuple(float(box.attrib[key]) for key in keys) for box in ElementTree.fromstring(svg).iter(NAME + "rect")]


def assert_apart(forest: tl.Forest) -> None:
    """No box over another, all within the picture, and in a layer also no dots and no passing line over anything."""
    svg = forest_svg(forest, limit=10**6)
    root = ElementTree.fromstring(svg)
    found = boxes(svg)
    for number, (x, y, width, height) in enumerate(found):
        assert x >= 0
        assert y >= 0
        assert x + width <= float(root.attrib["width"])
        assert y + height <= float(root.attrib["height"])
        for other_x, other_y, other_width, other_height in found[:number]:
            beside = x + width <= other_x or other_x + other_width <= x
            assert beside or y + height <= other_y or other_y + other_height <= y
    layout = Layout(Graph(forest))
    for layer in layout.layers:
        ordered = sorted(layer, key=lambda item: item.x)
        for a, b in itertools.pairwise(ordered):
            assert a.x + a.width / 2 < b.x - b.width / 2
    for edge in layout.graph.edges:
        for tail in edge.tails:
            assert layout.top[layout.graph.layer[tail]] > layout.top[layout.graph.layer[edge.head]]


def test_everything_is_in_the_picture() -> None:
    forest = GRAMMAR.forest(WORDS)
    svg = forest_svg(forest)
    shown = texts(svg)
    assert {node.label for node in forest.nodes} <= set(shown)
    assert [text for text in shown if text in WORDS] == WORDS
    assert len(boxes(svg)) == sum(node.label not in WORDS for node in forest.nodes)
    assert "5 trees, the most probable one in bold" in shown
    assert "5 trees" not in forest_svg(forest, caption=False)
    for posterior in forest.posterior():
        assert posterior > 0.9995 or f"{posterior:.2f}" in shown
    assert_apart(forest)


def test_the_words_are_in_order_and_their_tags_above_them() -> None:
    layout = Layout(Graph(GRAMMAR.forest(WORDS)))
    words = [item for item in layout.layers[0] if not item.passing]
    assert [layout.graph.nodes[item.node].label for item in sorted(words, key=lambda item: item.x)] == WORDS
    for item in layout.layers[1]:
        if not item.passing:
            [below] = layout.graph.own[item.node][0].tails
            assert item.x == pytest.approx(layout.at[below, 0].x, abs=1)


def test_chances_and_the_best_tree() -> None:
    forest = tl.Forest.from_trees([("(S (A x) (B y))", 0.7), ("(S (C x y))", 0.3)])
    graph = Graph(forest)
    chances = {tuple(graph.nodes[tail].label for tail in edge.tails): edge for edge in graph.edges}
    assert chances["A", "B"].chance == pytest.approx(0.7)
    assert chances["x", "y"].chance == pytest.approx(1)
    assert chances["A", "B"].best
    assert not chances["C",].best
    assert not chances["x", "y"].best
    assert {graph.nodes[node].label for node in graph.best_nodes} == {"S", "A", "B", "x", "y"}
    assert {"0.70", "0.30"} <= set(texts(forest_svg(forest)))
    for edges in Graph(GRAMMAR.forest(WORDS)).own.values():
        assert sum(edge.chance for edge in edges) == pytest.approx(1)


@settings(max_examples=60)
@given(st.lists(trees(labels=("S", "A", "B"), words=("x", "y"), max_nodes=12), min_size=1, max_size=5))
def test_nothing_overlaps(found: list[tl.Tree]) -> None:
    found = [tree for tree in found if tree.children and len(tree.words()) == len(found[0].words())]
    if not found:
        return
    words = found[0].words()
    same = [tree for tree in found if tree.words() == words]
    for packing in ("nodes", "union"):
        assert_apart(tl.Forest.from_trees([(tree, 1 + n) for n, tree in enumerate(same)], packing=packing))


def test_many_alternatives_of_one_node() -> None:
    items = [(f"(S ({label}{label} x) (Z y))", 1) for label in "ABCDEFGHIJ"]
    assert_apart(tl.Forest.from_trees(items))


def test_text_is_escaped_and_long_labels_are_cut() -> None:
    odd = ["<&>", "]]>", '"quoted"', "\x01\x1f", "日本語", "é" * 500]
    tree = tl.Tree("S<1>", [tl.Tree("A&B", [word]) for word in odd])
    shown = texts(tree_svg(tree))
    assert shown.count("A&B") == len(odd)
    assert {"S<1>", "<&>", "]]>", '"quoted"', "日本語", "\ufffd\ufffd"} <= set(shown)
    assert "é" * 31 + "…" in shown
    assert "é" * 500 in tree_svg(tree)  # in the tooltip
    assert_apart(tl.Forest.from_tree(tree))


def test_a_hidden_root_is_a_circle() -> None:
    forest = tl.Forest.from_trees([("(S (A x))", 0.6), ("(T (A x))", 0.4)])
    assert forest.nodes[forest.root].label == ""
    svg = forest_svg(forest)
    assert len(boxes(svg)) == 3
    circles = [c for c in ElementTree.fromstring(svg).iter(NAME + "circle") if c.attrib["r"] == "6"]
    assert len(circles) == 1
    assert {"0.60", "0.40"} <= set(texts(svg))


def test_trees() -> None:
    svg = tree_svg("(S (NP (N John)) (VP (V sleeps)))")
    assert svg == tree_svg(tl.Tree.parse("(S (NP (N John)) (VP (V sleeps)))"))
    assert sorted(texts(svg)) == sorted(["S", "NP", "N", "John", "VP", "V", "sleeps"])
    assert "<circle" not in svg  # there is nothing to choose
    assert texts(tree_svg(tl.Tree("word"))) == ["word"]


def test_probabilities_beyond_floats() -> None:
    forest = tl.Forest.from_json('{"nodes": [["x", 0, 1], ["A", 0, 1]], "edges": [[1, [0], -2000.0]], "root": 1}')
    assert "x" in texts(forest_svg(forest))


def test_limits() -> None:
    forest = GRAMMAR.forest(WORDS)
    with pytest.raises(TreeError, match=r"33 nodes and 27 edges.*prune it"):
        forest_svg(forest, limit=59)
    assert forest_svg(forest, limit=60)
    with pytest.raises(TreeError, match="more than 3 nodes"):
        tree_svg("(S (A x) (B y))", limit=3)
    shared = tl.Tree("x")
    for _ in range(60):
        shared = tl.Tree("A", [shared, shared])  # 2**60 words, in no time
    with pytest.raises(TreeError, match="too many to draw"):
        tree_svg(shared)


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(TreeError, match="nothing to draw"):
        forest_svg(tl.Forest([], []))
    with pytest.raises(InputTypeError, match="a Forest is needed, got str"):
        forest_svg("(S (A x))")  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="a Tree or its brackets"):
        tree_svg(3)
    for limit in (0, True, 2.5):
        with pytest.raises(ParameterError, match="limit"):
            forest_svg(GRAMMAR.forest(WORDS), limit=limit)  # type: ignore[arg-type]
