"""The plain style for papers: no boxes, straight black lines, and triangles."""

from __future__ import annotations

import itertools
import pickle
import re
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given, settings

import treelet as tl
from conftest import trials
from treelet.drawing import latex, tree_svg
from treelet.drawing.leaves import collapsed
from treelet.drawing.svg import ForestGraph, _ForestLayout
from treelet.errors import ParameterError, TreeletWarning
from treelet.testing import trees

NAME = "{http://www.w3.org/2000/svg}"
TREE = "(S (NP (NP (D the) (N cat)) (PP (P of) (NP (N Rome)))) (VP (V sat)))"
PARSE = tl.Dependencies.from_heads(["dogs", "bark"], ["N", "V"], [2, 0], ["nsubj", "root"])


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(NAME + "text")]


def colors(svg: str) -> set[str]:
    return set(re.findall("#[0-9a-f]{6}", svg))


def test_no_boxes_no_curves_no_colors() -> None:
    plain = tl.draw(TREE, style="plain")
    assert sorted(texts(plain)) == sorted(node.label for node in tl.Tree.parse(TREE).nodes())
    assert colors(plain) == {"#000000", "#ffffff"}
    assert "<rect" not in plain
    assert not re.search(r' d="[^"]*[CQq]', plain)
    assert colors(tl.draw(PARSE, style="plain")) == {"#000000", "#ffffff"}
    assert colors(tl.draw(PARSE)) > {"#ffffff"}
    assert tl.draw(TREE) == tl.draw(TREE, style="color") == tree_svg(TREE)


@settings(max_examples=trials(100))
@given(trees(labels=("S", "NP", "A"), words=("x", "y", "longer-words"), max_nodes=30))
def test_each_node_is_below_its_parent_and_lines_do_not_cross(tree: tl.Tree) -> None:
    graph = ForestGraph(tl.Forest.from_tree(tree), hanging=True)
    layout = _ForestLayout(graph)
    assert len(graph.nodes) == sum(1 for _ in tree.nodes())
    for edge in graph.edges:
        for tail in edge.tails:
            assert graph.layer[tail] == graph.layer[edge.head] - 1
    for layer in layout.layers:
        assert not any(item.passing for item in layer)
        for left, right in itertools.pairwise(layer):
            assert left.end <= right.begin  # words are in order, so lines between two layers do not cross
            assert left.x + left.width / 2 < right.x - right.width / 2


def test_a_label_without_a_triangle_is_warned_of_once(tmp_path: Path) -> None:
    expected = {
        "CONJ": "No node has the label 'CONJ', so no triangle was drawn for it.",
        "np": "No node has the label 'np', so no triangle was drawn for it. Did you mean 'NP'?",
        "cat": "Only words have the label 'cat', so no triangle was drawn for it.",
    }
    for label, message in expected.items():
        with pytest.warns(TreeletWarning) as noted:
            drawn = tl.draw(TREE, triangles=[label, "PP"])
        assert [str(warning.message) for warning in noted] == [message]
        assert noted[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            drawn.save(tmp_path / "t.tex")
        assert drawn == tl.draw(TREE, triangles="PP")
        with pytest.warns(TreeletWarning, match="no triangle was drawn"):
            latex(TREE, triangles=label)


def test_a_triangle_has_the_words_of_its_constituent() -> None:
    for style in ("color", "plain"):
        drawn = tl.draw(TREE, style=style, triangles=["NP"])
        assert sorted(texts(drawn)) == sorted(["S", "NP", "the cat of Rome", "VP", "V", "sat"])
        assert len(re.findall(r'd="M[^"]*L[^"]*H[^"]*z"', drawn)) == 1
        [triangle] = re.findall(r"L([\d.]+) [\d.]+H([\d.]+)z", drawn)
        assert 0 < float(triangle[0]) < float(triangle[1]) < drawn.width
    assert "the cat" in texts(tl.draw(TREE, triangles=2))
    assert tl.draw(TREE, triangles="NP") == tl.draw(TREE, triangles=("NP", 1, 2))
    long = tl.Tree("S", [tl.Tree("NP", [f"word{number}" for number in range(20)])])
    assert " ".join(long.words()) in texts(tl.draw(long, style="plain", triangles="NP"))


@pytest.mark.filterwarnings("ignore:.* so no triangle was drawn for it")
@settings(max_examples=trials(100))
@given(trees(labels=("S", "NP", "A"), words=("x", "NP"), max_nodes=30))
def test_collapsed_trees_have_the_same_words(tree: tl.Tree) -> None:
    small = collapsed(tree, "NP")[0]
    assert " ".join(small.words()) == " ".join(tree.words())
    for node in small.nodes():
        assert node.label != "NP" or all(not child.children for child in node.children)
    assert collapsed(tree)[0] is tree


def test_words_of_a_fragment_are_in_italics(tmp_path: Path) -> None:
    found = tl.shared_fragments("(NP (NNP Rome) (D x))", "(NP (NNP Oslo) (D x))", tl.SubsetTree())
    fragment = next(item.tree for item in found if str(item.tree) == "(NP NNP (D x))")
    drawn = tl.draw(fragment, style="plain")
    styles = {text.text: text.get("font-style") for text in ElementTree.fromstring(drawn).iter(NAME + "text")}
    assert styles == {"NP": None, "NNP": None, "D": None, "x": "italic"}
    assert "[NP [NNP] [D [\\textit{x}]]]" in latex(fragment, style="plain")
    assert "italic" not in tl.draw(TREE, style="plain")
    pytest.importorskip("matplotlib")
    drawn.save(tmp_path / "t.png")


def test_latex(tmp_path: Path) -> None:
    drawn = pickle.loads(pickle.dumps(tl.draw(TREE, style="plain", triangles=["PP"])))
    drawn.save(tmp_path / "t.tex")
    assert (tmp_path / "t.tex").read_text(encoding="utf-8").splitlines() == [
        r"% \usepackage[linguistics]{forest}",
        r"\begin{forest}",
        "  sn edges",
        "  [S [NP [NP [D [the]] [N [cat]]] [PP [of Rome, roof]]] [VP [V [sat]]]]",
        r"\end{forest}",
    ]
    tl.draw(PARSE, style="plain").save(tmp_path / "d.tex")
    assert (tmp_path / "d.tex").read_text(encoding="utf-8") == latex(PARSE) + "\n"
    assert latex("(S (NP a, b_c))", triangles="NP").splitlines()[3] == r"  [S [NP [{a, b\_c}, roof]]]"


def test_what_cannot_be_drawn() -> None:
    forest = tl.Forest.from_tree(tl.Tree.parse(TREE))
    for thing in (forest, PARSE):
        with pytest.raises(ParameterError, match="Triangles can only be drawn in a tree"):
            tl.draw(thing, triangles=["NP"])
        assert tl.draw(thing, triangles=[])
    with pytest.raises(ParameterError, match="A forest has no plain style"):
        tl.draw(forest, style="plain")
    for call in (tl.draw, latex):
        with pytest.raises(ParameterError, match="'style' parameter"):
            call(TREE, style="pretty")
    for triangles in (2.5, [True], [-1], [None], None):
        with pytest.raises(ParameterError, match="constituents or numbers"):
            tl.draw(TREE, triangles=triangles)  # type: ignore[arg-type]
    for number, problem in ((99, "the tree has 16 nodes"), (4, "is a word")):
        with pytest.raises(ParameterError, match=f"Node {number} .* {problem}"):
            tl.draw(TREE, triangles=[number])


def test_the_pictures_of_the_page() -> None:
    folder = Path(__file__).parents[2] / "docs"
    tree = re.search(r'tree = "(.*)"', (folder / "drawing.md").read_text(encoding="utf-8"))
    assert tree is not None
    assert (folder / "images" / "draw-color.svg").read_text(encoding="utf-8") == tl.draw(tree[1])
    plain = tl.draw(tree[1], style="plain", triangles=["PP"])
    assert (folder / "images" / "draw-plain.svg").read_text(encoding="utf-8") == plain
