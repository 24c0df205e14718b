"""Words and open categories look different in all drawings."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import treelet as tl
from treelet.drawing import draw, heat_svg, latex
from treelet.drawing.leaves import DASHES, _text_parts, excerpt, fragment_text, open_nodes, text_html
from treelet.drawing.web import style
from treelet.drawing.web.pictures import picture
from treelet.fragments import shared_fragments
from treelet.kernels import Kernel
from treelet.structures.tree import OpenNode

ROME, OSLO = "(S (NP (NNP Rome)) (VP (VBZ is) (JJ big)))", "(S (NP (NNP Oslo)) (VP (VBZ is) (JJ old)))"
FRAGMENT = tl.Tree("S", [tl.Tree("NP", [OpenNode("NNP")]), tl.Tree("VP", [tl.Tree("VBZ", ["is"]), OpenNode("JJ")])])
DASHED = f'stroke-dasharray="{DASHES}"'


def leaves(tree: tl.Tree) -> dict[str, bool]:
    """Whether each leaf is a word."""
    return {node.label: node.is_word for node in tree.nodes() if not node.children}


@pytest.mark.parametrize(
    "kernel",
    [tl.SubsetTree(), tl.SubsetTree(leaves=True), tl.PartialTree(), tl.Subtree(), tl.SubsetTree().normalized()],
)
def test_the_leaves_of_fragments_are_words_where_the_tree_has_words(kernel: Kernel) -> None:
    fragments = shared_fragments(ROME, ROME, kernel)
    kinds = [leaves(fragment.tree) for fragment in fragments]
    words = {"Rome", "is", "big", "\u2022"}
    assert all(is_word == (label in words) for kind in kinds for label, is_word in kind.items())
    assert any(False in kind.values() for kind in kinds) == (not isinstance(kernel, tl.Subtree))


def test_the_leaves_of_fragments_of_models_and_forests() -> None:
    model = tl.KernelSVC(tl.SubsetTree()).fit([ROME, OSLO, ROME, OSLO], ["a", "b", "a", "b"])
    shares = [fragment.tree for fragment in tl.explain(model, ROME).fragments]
    weights = [fragment.tree for fragment in tl.top_fragments(model, 20)]
    forest = tl.Forest.from_trees([(ROME, 0.6), (ROME.replace("JJ", "NN"), 0.4)])
    shared = [fragment.tree for fragment in shared_fragments(forest, forest, tl.ForestKernel())]
    for trees in (shares, weights, shared):
        assert len(trees) > 3
        assert all(
            word == (label not in {"NP", "VP", "NNP", "VBZ", "JJ", "NN"})
            for tree in trees
            for label, word in leaves(tree).items()
        )


def test_an_open_node_equals_the_word_of_the_same_label() -> None:
    assert tl.Tree.parse("(S (NP NNP) (VP (VBZ is) JJ))") == FRAGMENT
    assert len({FRAGMENT, tl.Tree.parse(str(FRAGMENT))}) == 1
    assert np.array_equal(tl.SubsetTree()([FRAGMENT]), tl.SubsetTree()([str(FRAGMENT)]))
    assert open_nodes(FRAGMENT) == [2, 6]
    assert open_nodes(tl.Tree.parse(str(FRAGMENT))) == []


def test_svg_has_a_dashed_box_for_each_open_category_and_none_for_words() -> None:
    drawing = draw(FRAGMENT)
    assert (drawing.count(DASHED), drawing.count("<rect ")) == (2, 6)
    assert DASHED not in draw(str(FRAGMENT))
    heat = heat_svg(FRAGMENT, [0.0, 0.5, 1.0, 0.0, 0.0, 0.0, -1.0])
    assert heat.count(DASHED) == 2
    assert DASHED in draw(OpenNode("NP"))
    boxes = set(re.findall(rf"{DASHED}/>\n<text [^>]*>([^<]+)", drawing))
    assert boxes == {"NNP", "JJ"}


def test_an_excerpt_keeps_the_kinds_of_its_leaves() -> None:
    deep = tl.Tree("S", [FRAGMENT, tl.Tree.parse("(A (B (C (D (E (F f))))))")])
    small, note = excerpt(deep, levels=5)
    assert note
    assert open_nodes(small) == [3, 7]


@pytest.mark.parametrize("ending", [".png", ".pdf"])
def test_other_files_have_dashes_too(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("matplotlib")
    fragment, words = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    draw(FRAGMENT).save(fragment)
    draw(str(FRAGMENT)).save(words)
    assert fragment.read_bytes() != words.read_bytes()


def test_latex_has_a_dashed_frame_for_each_open_category() -> None:
    assert latex(FRAGMENT).splitlines()[-2] == "  [S [NP [NNP, draw, dashed]] [VP [VBZ [is]] [JJ, draw, dashed]]]"
    long = tl.Tree("S", [FRAGMENT] * 10)
    assert latex(long).count("[JJ, draw, dashed]") == 10


def test_the_tree_view_gets_the_open_categories() -> None:
    assert picture(FRAGMENT)["open"] == [2, 6]
    assert "open" not in picture(str(FRAGMENT))
    assert f".treelet-open > .treelet-box {{ fill: var(--tv-ground); stroke-dasharray: {DASHES}; }}" in style()


@pytest.mark.parametrize("tree", [FRAGMENT, tl.Tree("x"), OpenNode("NP"), tl.Tree.parse("(S a b (C d) e)")])
def test_text_in_parts(tree: tl.Tree) -> None:
    parts = _text_parts(tree)
    assert "".join(parts) == str(tree)
    assert parts[1::2] == [node.label for node in tree.nodes() if not node.children and node.is_word]
    assert fragment_text(tree) == {"text": str(tree), "parts": parts}
    assert re.sub("</?i>", "", text_html(tree)) == str(tree)


def test_text_as_html_is_escaped_and_cut() -> None:
    tree = tl.Tree("S", ["<b>", OpenNode("A&B"), "long" * 10])
    assert text_html(tree) == f"(S <i>&lt;b&gt;</i> A&amp;B <i>{'long' * 10}</i>)"
    for most in range(1, 60):
        text = (
            re.sub("</?i>", "", text_html(tree, most)).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        )
        assert len(text) <= most + 1
        assert text == str(tree) or str(tree).startswith(text.rstrip("…"))
        assert text_html(tree, most).count("<i>") == text_html(tree, most).count("</i>")
