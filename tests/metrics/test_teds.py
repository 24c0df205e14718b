"""TEDS against hand-worked scores and against a scorer that uses apted."""

from __future__ import annotations

import random
import sys
from typing import Any, get_origin, get_overloads, get_type_hints
from xml.etree import ElementTree

import numpy as np
import pytest

import treelet as tl
from treelet.metrics import teds

etree = pytest.importorskip("lxml.etree")
html = pytest.importorskip("lxml.html")
tables = pytest.importorskip("definitions.tables")

TRUE = "<table><tr><td>apples</td><td>12</td></tr></table>"  # four nodes


def table(*cells: str) -> str:
    return "<table><tr>" + "".join(cells) + "</tr></table>"


# --- the definition -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicted", "distance"),
    [
        (TRUE, 0),
        (table("<td>apple</td>", "<td>12</td>"), 1 / 6),
        (table("<td>apples</td>", "<td>13</td>"), 1 / 2),
        (table("<td>apples</td>"), 1),
        (table("<td>apples</td>", "<td></td>"), 1),
        (table("<td>apples</td>", "<td colspan=2>12</td>"), 1),
        (table("<td>apples</td>", "<td colspan=1 rowspan=' 01'>12</td>"), 0),
        (table("<td>apples</td>", "<td rowspan='many'>12</td>"), 0),  # not a number: 1, as in browsers
        (table("<td>apples</td>", "<td><b>12</b></td>"), 2 / 4),  # a start and an end tag are a symbol each
        (table("<td>apples</td>", "<td>12<br></td>"), 2 / 4),
        (table("<td>apples</td>", "<td>12<unk></unk></td>"), 1 / 3),  # the one tag without an end, as published
        (table("<td>apples</td>", "<td>1<!-- - -->2</td>"), 0),
        (table("<td>apples</td><!-- no node -->", "<td>12</td>"), 0),
        (table("<td>apples </td>", "<td>12</td>"), 1 / 7),  # white space counts
        (table("<td>äpples</td>", "<td>12</td>"), 1 / 6),
        (table("<td>&#x1F34E;pples</td>", "<td>12</td>"), 1 / 6),
    ],
)
def test_distances(predicted: str, distance: float) -> None:
    nodes = max(4, len(table_nodes(predicted)))
    assert teds(predicted, TRUE) == pytest.approx(1 - distance / nodes, abs=1e-12)
    assert teds(TRUE, predicted) == pytest.approx(1 - distance / nodes, abs=1e-12)


def table_nodes(text: str) -> list[str]:
    return [element.tag for element in tables.table_element(text).iter() if element.tag in ("table", "tr", "td")]


def test_sections_are_nodes_and_header_cells_are_not_cells() -> None:
    with_section = "<table><tbody><tr><td>apples</td><td>12</td></tr></tbody></table>"
    assert teds(with_section, TRUE) == pytest.approx(1 - 1 / 5)
    one, other = "<table><tr><th>fruit</th></tr></table>", "<table><tr><th colspan=2>sum</th></tr></table>"
    assert teds(one, other) == 1  # neither the text nor the spans of th count
    bold = "<table><tr><th><b>fruit</b></th></tr></table>"
    assert teds(bold, one) == pytest.approx(1 - 1 / 4)  # elements in th are nodes
    assert teds(one, "<table><tr><td>fruit</td></tr></table>") == pytest.approx(1 - 1 / 3)


def test_the_contents_of_a_cell_are_one_node() -> None:
    inner = table("<td>apples<table><tr><td>a</td></tr></table></td>", "<td>12</td>")
    assert teds(inner, inner) == 1
    assert teds(inner, TRUE) == pytest.approx(1 - 7 / 13 / 4)  # six tags and a character more than "apples"


def test_structure_only() -> None:
    other = table("<td><b>pears</b></td>", "<td>13</td>")
    assert teds(other, TRUE, structure_only=True) == 1
    assert teds(other, TRUE) < 1
    assert teds(table("<td>apples</td>"), TRUE, True) == pytest.approx(0.75)


def test_published_size() -> None:
    bold = table("<td>apples</td>", "<td><b>13</b></td>")
    # Distance 3/4. Four nodes; four elements inside the table, of which one is in a cell.
    assert teds(bold, TRUE) == pytest.approx(1 - 0.75 / 4)
    assert teds(bold, TRUE, size="elements") == pytest.approx(1 - 0.75 / 4)
    assert teds(table("<td>apples</td>"), TRUE, size="elements") == pytest.approx(1 - 1 / 3)
    assert teds("<table></table>", "<table> </table>", size="elements") == 1


def test_a_score_may_be_negative() -> None:
    wide, deep = "<table><thead></thead><thead></thead><thead></thead></table>", "<table><tbody><tr><td></table>"
    assert teds(wide, deep) == pytest.approx(1 - 5 / 4)
    assert teds([wide, deep], [deep, deep], clip=True).tolist() == [0, 1]


def test_header_cells() -> None:
    one, other = table("<th colspan=2>sum</th>", "<td>12</td>"), table("<th>total</th>", "<td>12</td>")
    assert teds(one, other) == 1
    assert teds(one, other, cells="th_as_td") == pytest.approx(1 - 1 / 4)
    assert teds(one, other, cells="th_as_leaf") == pytest.approx(1 - 1 / 4)
    as_cell = other.replace("th>", "td>")
    assert teds(as_cell, other, cells="th_as_td") == 1
    assert teds(as_cell, other, cells="th_as_leaf") == pytest.approx(1 - 1 / 4)
    bold = table(
        "<th><b>sum</b></th>", "<td>12</td>"
    )  # <b> is no node, and "sum" differs from "<b>sum</b>" by two tags
    assert teds(bold, other.replace("total", "sum"), cells="th_as_td") == pytest.approx(1 - 2 / 5 / 4)
    assert teds(bold, other, cells="th_as_leaf") == 1
    assert teds(bold, other) == pytest.approx(1 - 1 / 5)


def test_normalized_contents() -> None:
    bold = table("<td>Apples </td>", "<td><b>12</b></td>")
    seen: list[str] = []

    def normalize(text: str) -> str:
        seen.append(text)
        return text.strip().lower().replace("<b>", "").replace("</b>", "")

    assert teds(bold, TRUE, normalize=normalize) == 1
    assert sorted(seen) == ["12", "<b>12</b>", "Apples ", "apples"]  # once per content
    assert teds(bold, TRUE, True, normalize=normalize) == 1
    assert len(seen) == 4
    assert teds(bold, TRUE, normalize=str) == pytest.approx(1 - (2 / 7 + 7 / 9) / 4)  # each character of a tag counts
    assert teds(bold, TRUE, normalize=lambda text: "x" if text else "") == 1  # only whether a cell is empty
    apple = table("<td>apple</td>", "<td>12</td>")
    assert teds(apple, TRUE, normalize=lambda text: "\ud800" + text) == pytest.approx(1 - 1 / 7 / 4)


def test_sizes() -> None:
    row = table("<td>apples</td>")
    scores = [teds(row, TRUE, size=size) for size in ("nodes", "elements", "all")]
    assert scores == pytest.approx([1 - 1 / 4, 1 - 1 / 3, 1 - 1 / 4])
    bold = table("<td>apples</td>", "<td><b>1</b><i>2</i></td>")
    assert teds(row, bold, size="all") == pytest.approx(1 - 1 / 6)
    header = table("<th><b>apples</b></th>", "<td></td>")
    assert teds(header, header.replace("<td></td>", ""), cells="th_as_leaf", size="all") == pytest.approx(1 - 1 / 5)


# --- against apted ------------------------------------------------------------------------------------------------


def pairs_of_tables(number: int) -> list[tuple[str, str]]:
    rng = random.Random(0)
    found = [(tables.edited(rng, text), text) for text in tables.from_documentation(number // 2)]
    return found + [tables.generated(rng) for _ in range(number - len(found))]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"structure_only": True, "size": "elements"},
        {"cells": "th_as_td", "size": "elements"},
        {"cells": "th_as_leaf", "size": "all", "normalize": lambda text: text.strip().lower()[:9], "clip": True},
    ],
    ids=["default", "structure", "th as td", "th as leaf"],
)
def test_equal_to_apted_on_200_tables(options: dict[str, Any]) -> None:
    pytest.importorskip("apted", reason="apted is not installed (group peers)")
    score = tables.scorer_by_apted()
    pairs = pairs_of_tables(200)
    predicted, true = map(list, zip(*pairs, strict=True))
    found = teds(predicted, true, **options)
    expected = [score(*pair, **options) for pair in pairs]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert min(found) < 0.9 < max(found)


def test_properties() -> None:
    pairs = pairs_of_tables(60)
    predicted, true = map(list, zip(*pairs, strict=True))
    forward, backward = teds(predicted, true), teds(true, predicted)
    np.testing.assert_allclose(forward, backward, rtol=0, atol=1e-12)
    assert (teds(true, true) == 1).all()
    assert (forward >= 0).all()
    assert (forward <= 1).all()
    assert (teds(predicted, true, structure_only=True) >= forward - 1e-12).all()
    assert np.array_equal(teds(predicted, true, n_jobs=3), forward)
    assert [teds(*pair) for pair in pairs] == forward.tolist()


# --- inputs -------------------------------------------------------------------------------------------------------


def test_kinds_of_input() -> None:
    page = f"<!doctype html><html><head><title>x</title></head><body><p>{TRUE}<table></table></body></html>"
    for item in (page, page.encode(), html.fromstring(page), html.fromstring(TRUE), etree.HTML(TRUE).getroottree()):
        assert teds(item, TRUE) == 1
    assert teds(ElementTree.fromstring(TRUE), TRUE) == 1
    assert teds(etree.fromstring(TRUE.replace("<table", "<table xmlns='http://www.w3.org/1999/xhtml'")), TRUE) == 1
    assert isinstance(teds(TRUE, TRUE), float)
    scores = teds((TRUE, page), np.array([TRUE, TRUE], dtype=object))
    assert scores.tolist() == [1, 1]
    assert teds([], []).shape == (0,)


def test_elements_are_not_changed() -> None:
    element = html.fromstring(table("<td>a<b>c</b> d</td><!-- x -->"))
    before = etree.tostring(element)
    teds(element, TRUE)
    assert etree.tostring(element) == before


def test_several_tables() -> None:
    assert teds(TRUE + "<table><tr><td>more</td></tr></table>", TRUE) == 1


@pytest.mark.parametrize("nothing", ["", "  ", "no table", "<p>apples</p>", None, b"", "<!-- -->"])
def test_a_missing_table(nothing: str | None) -> None:
    assert teds(nothing, TRUE) == 0
    with pytest.raises(tl.TreeletError, match="'true' contains no table"):
        teds(TRUE, nothing)
    assert teds([nothing, TRUE], [TRUE, TRUE]).tolist() == [0, 1]
    with pytest.raises(tl.TreeletError, match="Item 1 of 'true' contains no table"):
        teds([TRUE, TRUE], [TRUE, nothing], n_jobs=2)


def test_wrong_arguments() -> None:
    with pytest.raises(tl.TreeletError, match=r"'true' must have the same length.*Got 1 and 2"):
        teds([TRUE], [TRUE, TRUE])
    with pytest.raises(TypeError, match="lists of tables, but 'true' is a str"):
        teds([TRUE], TRUE)
    with pytest.raises(TypeError, match="tables, but 'predicted' is an int"):
        teds(3, TRUE)
    with pytest.raises(TypeError, match="Item 1 of 'predicted' is a float"):
        teds([TRUE, 1.5], [TRUE, TRUE])
    with pytest.raises(ValueError, match=r"'size'.*'nodes', 'elements' or 'all'.*3"):
        teds(TRUE, TRUE, size=3)
    with pytest.raises(ValueError, match=r"'cells'.*'td', 'th_as_td' or 'th_as_leaf'.*'th'"):
        teds(TRUE, TRUE, cells="th")
    with pytest.raises(ValueError, match="'clip' parameter of teds"):
        teds(TRUE, TRUE, clip=0.5)
    with pytest.raises(ValueError, match="'normalize' parameter of teds must be None or a function"):
        teds(TRUE, TRUE, normalize="lower")
    with pytest.raises(ValueError, match=r"normalize\('pears'\) must return a string. Got 5 instead"):
        teds(table("<td>pears</td>"), TRUE, normalize=len)
    with pytest.raises(ValueError, match="'structure_only' parameter of teds"):
        teds(TRUE, TRUE, "no")
    with pytest.raises(ValueError, match="'n_jobs' parameter of teds"):
        teds(TRUE, TRUE, n_jobs=0)


def test_nested_too_deeply() -> None:
    with pytest.raises(tl.TreeletError, match="nested too deeply for the HTML parser"):
        teds("<table><tr><td>" + "<b>" * 5000, TRUE)
    chain = ElementTree.Element("table")
    lowest = chain
    for _ in range(100_000):
        lowest = ElementTree.SubElement(lowest, "div")
    assert teds(chain, TRUE) == pytest.approx(0, abs=1e-9)  # 99,998 deletions, 2 renamings, 1 insertion
    cell = ElementTree.fromstring(TRUE)
    lowest = cell[0][0]
    for _ in range(100_000):
        lowest = ElementTree.SubElement(lowest, "b")
    assert teds(cell, TRUE) == pytest.approx(0.75, abs=1e-4)


def test_without_lxml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lxml", None)
    with pytest.raises(tl.TreeletError, match="the package lxml"):
        teds(TRUE, TRUE)
    assert teds(ElementTree.fromstring(TRUE), ElementTree.fromstring(TRUE)) == 1


def test_type_checkers_know_the_type_of_a_score() -> None:
    returned = {
        get_type_hints(signature)["predicted"]: get_type_hints(signature)["return"] for signature in get_overloads(teds)
    }
    assert returned[str | bytes | ElementTree.Element | None] is float
    assert np.ndarray in {get_origin(hint) for hint in returned.values()}
