"""Fragments in a browser: open categories look different from words, and tables in notebooks are compact."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import treelet as tl
from treelet.datasets import flights
from treelet.drawing import web
from treelet.drawing.web.pictures import picture
from treelet.fragments import shared_fragments
from treelet.structures.tree import OpenNode

SCREEN = 700  # pixels


def test_the_tree_view_draws_open_categories_in_dashed_boxes(page: Any) -> None:
    fragment = tl.Tree("NP", [tl.Tree("DT", ["the"]), OpenNode("NN")])
    call = f"treeView(document.getElementById('here'), {json.dumps(picture(fragment))});"
    page.set_content(
        f"<style>{web.style()}</style><div id=here></div><script type=module>{web.script()}\n{call}</script>"
    )
    page.wait_for_selector(".treelet-open")
    look = """() => Object.fromEntries([...document.querySelectorAll('g[data-number]')].map((group) => {
      const {stroke, strokeDasharray} = getComputedStyle(group.querySelector('.treelet-box'));
      return [group.querySelector('text').textContent, [stroke !== 'none', strokeDasharray !== 'none']];
    }))"""
    assert page.evaluate(look) == {
        "NP": [True, False],
        "DT": [True, False],
        "the": [False, False],
        "NN": [True, True],
    }
    assert page.locator(".treelet-open").get_attribute("aria-label") == "NN, open category"


def test_open_categories_of_a_highlighted_fragment_have_dashed_boxes(page: Any) -> None:
    tree = tl.Tree.parse("(NP (DT the) (NN cat))")
    call = f"window.view = treeView(document.getElementById('here'), {json.dumps(picture(tree))});"
    page.set_content(
        f"<style>{web.style()}</style><div id=here></div><script type=module>{web.script()}\n{call}</script>"
    )
    page.wait_for_selector("g[data-number]")
    dashed = """(nodes) => (view.mark(nodes), [...document.querySelectorAll('g[data-number]')].filter((group) =>
      getComputedStyle(group.querySelector('.treelet-box')).strokeDasharray !== 'none').map((group) => group.querySelector('text').textContent))"""
    assert page.evaluate(dashed, [0, 1, 2, 3]) == ["NN"]
    assert sorted(page.evaluate(dashed, [0, 1, 3])) == ["DT", "NN"]
    assert page.evaluate(dashed, [0, 1, 2, 3, 4]) == []
    assert page.evaluate(dashed, None) == []


def test_ten_fragments_fit_on_one_screen_of_a_notebook(page: Any) -> None:
    bank = flights(60)
    labels = [tree.label for tree in bank]
    model = tl.KernelSVC(tl.SubsetTree(lam=0.4).normalized()).fit(bank, labels)
    results = [
        shared_fragments(bank[0], bank[0], tl.SubsetTree(lam=1.0)),
        shared_fragments(bank[0], bank[0], tl.PartialTree()),
        tl.explain(model, bank[0]),
        tl.top_fragments(model, 10, labels[0]),
    ]
    page.set_viewport_size({"width": 1000, "height": SCREEN})
    for result in results:
        page.set_content(f"<style>td, th {{ padding: 6px; font: 13px/1.4 sans-serif }}</style>{result._repr_html_()}")
        assert page.locator("tbody tr").count() >= 10
        assert page.eval_on_selector("body > div", "node => node.getBoundingClientRect().height") <= SCREEN
        numbers = page.eval_on_selector_all("tbody td:first-child", "all => all.map(one => one.textContent)")
        assert len({len(number.partition(".")[2]) for number in numbers}) == 1, numbers
        assert page.locator("tbody i").count() > 0 or "(" not in page.inner_text("tbody")


@pytest.mark.parametrize("result", ["shared", "explained"])
def test_a_large_fragment_opens_to_its_drawing(page: Any, result: str) -> None:
    tree = "(S (NP (DT the) (NN man)) (VP (VBD saw) (NP (DT the) (NN dog))))"
    model = tl.RLS(tl.Subtree()).fit([tree, "(S (X y))"], [1, -1])
    html = (shared_fragments(tree, tree, tl.Subtree()) if result == "shared" else tl.explain(model, tree))._repr_html_()
    page.set_content(html)
    row = page.locator("details", has_text=re.compile(r"^\(S \(NP"))
    assert row.locator("img").is_hidden()
    row.locator("summary").click()
    assert row.locator("img").is_visible()
