"""Pictures of edit scripts."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given, settings

import treelet as tl
from treelet.drawing import edit_svg, latex
from treelet.drawing.edits import edited_trees
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.testing import trees

NAME = "{http://www.w3.org/2000/svg}"
A = "(S (NP (D the) (N cat)) (VP (V sat) (PP (P on) (NP (D the) (N mat)))))"
B = "(S (NP (D the) (ADJ old) (N dog)) (VP (V sat) (NP (D the) (N mat))))"
WIDE = f"(S {' '.join(f'(X (Y (Z word{n}) (Z w)))' for n in range(40))})"


def titles(svg: str) -> list[str]:
    """The description of each node."""
    return [
        group[0].text or ""
        for group in ElementTree.fromstring(svg).findall(NAME + "g")
        if group[0].tag == NAME + "title"
    ]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(NAME + "text")]


def test_every_change_is_marked_by_a_sign_a_color_and_a_form() -> None:
    svg = tl.draw(tl.edit_script(A, B))
    assert sorted(text for text in titles(svg) if ":" in text) == [
        "deleted: P",
        "deleted: PP",
        "deleted: on",
        "inserted: ADJ",
        "inserted: old",
        "renamed: cat → dog",
        "renamed: dog was cat",
    ]
    shown = texts(svg)
    assert [shown.count(sign) for sign in "\u2212+~"] == [4, 3, 3], "one per node and one in the legend"
    assert {"First tree", "Second tree", "deleted", "inserted", "renamed", "Cost 6, similarity 0.65"} <= set(shown)
    assert svg.count('stroke="#b34700" stroke-width="1.4"/>') == 6, (
        "a box and a line through the label of each deleted node"
    )
    assert svg.count('stroke-width="3"') == 2, "thick outlines of inserted nodes"
    assert len(titles(svg)) == 17 + 16


def test_signs_that_do_not_occur_are_not_explained() -> None:
    svg = tl.draw(tl.edit_script("(A b)", "(A c)"))
    assert "renamed" in texts(svg)
    assert "deleted" not in texts(svg)
    same = tl.draw(tl.edit_script(A, A))
    assert "Cost 0, similarity 1.00" in texts(same)
    assert not {"deleted", "inserted", "renamed"} & set(texts(same))
    assert not [text for text in texts(edit_svg(tl.edit_script(A, B), caption=False)) if "ost" in text]


def test_wide_trees_are_below_each_other() -> None:
    narrow, wide = tl.draw(tl.edit_script(A, B)), edit_svg(tl.edit_script(WIDE, f"(T {WIDE})"), folded=False)
    assert narrow.width < 900
    assert wide.width == pytest.approx(tl.draw(WIDE).width, abs=1)
    assert wide.height > 2 * tl.draw(WIDE).height
    ElementTree.fromstring(wide)


def test_nothing_is_outside_the_picture() -> None:
    for pair in ((A, B), ("(A a)", "(B b)"), ("(A)", "(a-very-long-label-of-a-single-node)"), (WIDE, A)):
        svg = tl.draw(tl.edit_script(*pair))
        root = ElementTree.fromstring(svg)
        for box in root.iter(NAME + "rect"):
            x, y, width, height = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
            assert x >= 0
            assert y >= 0
            assert x + width <= svg.width
            assert y + height <= svg.height
        for circle in root.iter(NAME + "circle"):
            assert 6 <= float(circle.attrib["cx"]) <= svg.width - 6
            assert 6 <= float(circle.attrib["cy"]) <= svg.height - 6


def test_large_unchanged_subtrees_are_folded() -> None:
    script = tl.edit_script(WIDE, WIDE.replace("word7)", "changed)"))
    svg = tl.draw(script)
    assert texts(svg).count("…") == 2 * 39
    assert any("… stands for unchanged nodes" in text for text in texts(svg))
    assert [text for text in titles(svg) if ":" in text] == ["renamed: word7 → changed", "renamed: changed was word7"]
    assert texts(edit_svg(script, folded=False)).count("…") == 0
    assert texts(edit_svg(tl.edit_script(A, B.replace("mat", "rug")), folded=True)).count("…") == 0, (
        "small subtrees are kept"
    )
    assert "similarity 0.99" in svg


@settings(max_examples=60, deadline=None)
@given(trees(), trees())
def test_drawn_nodes_are_those_of_the_trees(a: tl.Tree, b: tl.Tree) -> None:
    script = tl.edit_script(a, b)
    for number, (side, tree) in enumerate(zip(edited_trees(script, False), (a, b), strict=True)):
        assert side.tree == tree
        assert len({id(node) for node in side.tree.nodes()}) == len(side.operations)
        for node, operation in zip(side.tree.nodes(), side.operations, strict=True):
            assert operation is not None
            assert node.label == (operation.source_label, operation.target_label)[number]
    folded = edited_trees(script, True)
    for side in folded:
        for node, operation in zip(side.tree.nodes(), side.operations, strict=True):
            assert (operation is None) == (node.label == "…")
    changes = [sum(o is not None and o.kind != "keep" for o in side.operations) for side in folded]
    assert sum(changes) == len(script.changes()) + sum(o.kind == "rename" for o in script), "no change is folded away"


def test_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs treelet[viz]")
    drawing = tl.draw(tl.edit_script(A, B))
    for name in ("e.svg", "e.png", "e.pdf", "e.tex"):
        drawing.save(tmp_path / name)
    assert (tmp_path / "e.svg").read_text(encoding="utf-8") == drawing
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "e.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "e.tex").read_text(encoding="utf-8") == latex(tl.edit_script(A, B)) + "\n"


def test_latex_has_both_trees() -> None:
    text = latex(tl.edit_script("(S (N a_b) (V [x]))", "(S (N c) (ADV 50%))"))
    assert text.count(r"\begin{forest}") == text.count(r"\end{forest}") == 2
    assert r"a\_b $\to$ c, draw, fill=magenta!15" in text
    assert r"{[x]} $\to$ 50\%" in text
    assert "$-$ on, draw, fill=orange!25" in latex(tl.edit_script(A, B))
    assert "[$+$ ADJ, draw, very thick, fill=blue!15 [$+$ old" in latex(tl.edit_script(A, B))


def test_hostile_labels_are_text() -> None:
    hostile = tl.Tree("S", [tl.Tree("<script>&\x1b", ["x"])])
    svg = tl.draw(tl.edit_script(hostile, tl.Tree("S", [tl.Tree("</text><b>", ["x"])])))
    assert "<script>" not in svg
    assert "<b>" not in svg
    assert "→ </text><b>" in texts(svg)


def test_notebooks_show_the_picture() -> None:
    script = tl.edit_script(A, B)
    assert script._repr_svg_() == tl.draw(script)
    large = "(S " + "(X (Y y)) " * 300 + ")"
    assert tl.edit_script(large, large.replace("Y", "Z").replace("y", "z"))._repr_svg_() is None


def test_what_cannot_be_drawn() -> None:
    script = tl.edit_script(A, B)
    with pytest.raises(ParameterError, match="An edit script has no plain style"):
        tl.draw(script, style="plain")
    with pytest.raises(ParameterError, match="Triangles can only be drawn in a tree"):
        tl.draw(script, triangles=["NP"])
    with pytest.raises(InputTypeError, match="Got an int instead"):
        edit_svg(3)  # type: ignore[arg-type]
    with pytest.raises(TreeError, match=r"first tree has 17 nodes to draw.*limit is 16"):
        tl.draw(script, limit=16)
    with pytest.raises(ParameterError, match="'limit' parameter"):
        tl.draw(script, limit=0)


def test_the_picture_of_the_page() -> None:
    folder = Path(__file__).parents[2] / "docs"
    trees = re.search(
        r'tl\.edit_script\(\s*"(.*)",\s*"(.*)",?\s*\)', (folder / "drawing.md").read_text(encoding="utf-8")
    )
    assert trees is not None
    assert (folder / "images" / "edit-script.svg").read_text(encoding="utf-8") == tl.draw(
        tl.edit_script(*trees.groups())
    )
