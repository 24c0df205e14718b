"""Pictures of shared fragments: both trees, and the fragments as small trees with their contributions."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given, settings

import treelet as tl
from conftest import ROOT, trials
from treelet.drawing import shared_svg
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.fragments import SharedFragments
from treelet.printable import readable_number
from treelet.testing import trees

NAME = "{http://www.w3.org/2000/svg}"
A = "(S (NP (D the) (N cat)) (VP (V chased) (NP (D the) (N dog))))"
B = "(S (NP (D the) (N dog)) (VP (V chased) (NP (D a) (N cat))))"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(NAME + "text")]


def panels(svg: str) -> list[ElementTree.Element]:
    """The drawings on the sheet."""
    return ElementTree.fromstring(svg).findall(NAME + "svg")


def test_both_trees_and_all_fragments_are_drawn_with_contributions_and_counts() -> None:
    shared = tl.shared_fragments(A, B)
    svg = tl.draw(shared, limit=100)
    assert len(panels(svg)) == 2 + len(shared)
    assert texts(svg)[-1] == readable_number(shared[-1].contribution)
    assert [text for text in texts(svg) if "times" in text] == [
        f"{readable_number(fragment.contribution)} ({fragment.counts[0]} × {fragment.counts[1]} times)"
        for fragment in shared
        if fragment.counts != (1, 1)
    ]
    heading = f"{len(shared)} shared fragments, with their contributions to the kernel value"
    assert [text for text in texts(svg) if text in ("Two trees", heading)] == ["Two trees", heading]


@settings(max_examples=trials(40))
@given(trees(), trees())
def test_every_node_of_every_fragment_is_in_the_picture(a: tl.Tree, b: tl.Tree) -> None:
    shared = tl.shared_fragments(a, b, tl.PartialTree(), limit=6)
    svg = shared_svg(shared, caption=False)
    for fragment, panel in zip(shared, panels(svg)[2:], strict=True):
        labels = sorted(element.text or "" for element in panel.iter(NAME + "text"))
        if len(fragment.tree.words()) <= 20:
            assert labels == sorted(node.label for node in fragment.tree.nodes())


def test_headings_report_what_is_left_out() -> None:
    shared = tl.shared_fragments(A, B)
    assert "The 4 largest of 28 shared fragments" in texts(tl.draw(shared, limit=4, caption=False))
    few = tl.shared_fragments(A, B, limit=4)
    assert not few.complete
    assert "The 4 largest shared fragments" in texts(tl.draw(few, caption=False))
    nothing = tl.draw(tl.shared_fragments("(A a)", "(B b)"))
    assert texts(nothing)[-1] == "0 shared fragments"


def test_large_trees_are_cut_and_wide_ones_fit() -> None:
    wide = f"(S {' '.join(f'(X (Y word{n}))' for n in range(60))})"
    svg = tl.draw(tl.shared_fragments(wide, wide), limit=2)
    assert any(text.startswith("cut: ") for text in texts(svg))
    for panel in panels(svg):
        assert float(panel.attrib["x"]) + float(panel.attrib["width"]) <= svg.width


def test_forests_are_drawn_too() -> None:
    forest = tl.Forest.from_trees([("(NP (V flying) (N planes))", 0.7), ("(NP (J flying) (N planes))", 0.3)])
    svg = tl.draw(tl.shared_fragments(forest, forest, tl.ForestKernel(1)))
    assert "Two forests" in texts(svg)
    assert "0.49 (0.7 × 0.7 times)" in texts(svg)


def test_the_table_has_every_pair_of_nodes_and_its_sum() -> None:
    shared = tl.shared_fragments("(NP (D the) (N apple))", "(NP (D the) (N pear))", tl.SubsetTree(1))
    shown = texts(tl.draw(shared, table=True))
    assert shown[shown.index("C(n1, n2), from the bottom up. The sum is 3") + 1 :] == [
        *("D → the", "N → apple", "NP → D N"),
        *("D → the", "N → pear", "NP → D N"),
        *("1", "0", "0"),
        *("0", "0", "0"),
        *("0", "0", "2"),
    ]
    words = texts(tl.draw(tl.shared_fragments("(D the)", "(D the)", tl.PartialTree(1, 1)), table=True))
    assert words[-8:] == ["the", "D → the", "the", "D → the", "1", "0", "0", "2"]
    with pytest.raises(InputTypeError, match="A table needs two trees"):
        tl.draw(tl.shared_fragments(A, B, tl.SubsetTree().normalized()), table=True)
    large = f"(A {'(B b) ' * 60})"
    with pytest.raises(TreeError, match="61 x 61 cells, but the limit is 2,500"):
        tl.draw(tl.shared_fragments(large, large, limit=5), table=True)


def test_it_is_saved_like_other_drawings(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from PIL import Image

    drawing = tl.draw(tl.shared_fragments("(NP (D the) (N apple))", "(NP (D the) (N pear))"))
    drawing.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == drawing
    drawing.save(tmp_path / "a.png", scale=1)
    drawing.save(tmp_path / "a.pdf")
    picture = Image.open(tmp_path / "a.png").convert("L")
    assert picture.size == (drawing.width, drawing.height)
    # Every panel has ink where the document places it, and there is none to the right of the last one.
    for panel in panels(drawing):
        x, y, width, height = (int(float(panel.attrib[name])) for name in ("x", "y", "width", "height"))
        assert picture.crop((x, y, x + width, y + height)).getextrema()[0] < 64
    below = max(int(float(panel.attrib["y"]) + float(panel.attrib["height"])) for panel in panels(drawing))
    assert picture.crop((300, below - 20, picture.width, picture.height)).getextrema() == (255, 255)
    with pytest.raises(ParameterError, match="no LaTeX form"):
        drawing.save(tmp_path / "a.tex")


def test_what_cannot_be_drawn_is_refused() -> None:
    tagged = tl.shared_fragments("the/D dog/N", "a/D dog/N", tl.Tagging())
    with pytest.raises(InputTypeError, match="Only fragments of trees and forests"):
        tl.draw(tagged)
    shared = tl.shared_fragments(A, B)
    with pytest.raises(ParameterError, match="no plain style"):
        tl.draw(shared, style="plain")
    with pytest.raises(ParameterError, match="Triangles"):
        tl.draw(shared, triangles=["NP"])
    with pytest.raises(InputTypeError, match="shared_svg draws SharedFragments"):
        shared_svg([])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="limit"):
        shared_svg(shared, limit=0)
    alone = tl.draw(SharedFragments(shared))  # without the examples, only the fragments are drawn
    assert "Two trees" not in texts(alone)


def test_the_picture_of_the_page_is_current() -> None:
    page = (ROOT / "docs" / "drawing.md").read_text(encoding="utf-8")
    pair = re.search(r'shared_fragments\("(.*?)", "(.*?)"\)', page)
    assert pair is not None
    kept = (ROOT / "docs" / "images" / "shared-fragments.svg").read_text(encoding="utf-8")
    assert kept == tl.draw(tl.shared_fragments(*pair.groups()))
