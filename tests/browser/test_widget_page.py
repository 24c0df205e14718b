"""The notebook's widget in a page, with a model of its own in place of a notebook's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import treelet as tl
from treelet.drawing import web
from treelet.drawing.web.pictures import explained, picture

PAGE = """<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="tree-view.css"><div id="here"></div>
<script type="module">import widget from "./widget.js";
const values = {}, heard = {};
window.model = {get: (name) => values[name], set: (name, value) => { values[name] = value; heard[`change:${name}`]?.(); },
  save_changes: () => (window.saved = values.selected), on: (name, f) => (heard[name] = f), off: (name) => delete heard[name]};
window.start = (content) => { Object.assign(values, {content, options: {}, selected: null});
  window.stop = widget.render({model, el: document.getElementById("here")}); };
window.ready = true;</script>"""


def test_a_fragment_lights_up_and_a_click_is_told(page: Any, serve: Callable[[dict[str, str]], str]) -> None:
    trees = ["(S (A a) (B b))", "(S (A a) (C c))", "(S (D d) (B b))", "(S (D d) (C c))"]
    model = tl.RLS(tl.SubsetTree(lam=0.5)).fit(trees, [1, 1, -1, -1])
    page.goto(serve({"index.html": PAGE, "widget.js": web.script("widget.js"), "tree-view.css": web.style()}))
    page.wait_for_function("window.ready")
    page.evaluate("told => start(told)", explained(tl.explain(model, trees[0])))
    page.locator(".treelet-fragment").first.hover()
    lit = "[...document.querySelectorAll('g.treelet-lit')].map((one) => +one.dataset.number)"
    assert page.evaluate(lit) == [1, 2]
    page.locator("g[data-number='3']").click()
    assert page.evaluate("saved") == 3
    assert page.evaluate(lit) == []
    assert page.locator(".treelet-has").count() > 0
    page.evaluate("model.set('selected', 1)")
    assert page.locator(".treelet-selected").get_attribute("data-number") == "1"
    other = {"trees": [{"title": "", "picture": picture("(X y)")}], "fragments": []}
    page.evaluate("told => model.set('content', told)", other)
    assert page.locator("#here svg").count() == 1
    page.evaluate("stop()")
    assert page.locator("#here *").count() == 0


def test_two_fragments_of_one_text_are_two(page: Any, serve: Callable[[dict[str, str]], str]) -> None:
    """As those of a sum of kernels may be."""
    page.goto(serve({"index.html": PAGE, "widget.js": web.script("widget.js"), "tree-view.css": web.style()}))
    page.wait_for_function("window.ready")
    both = [{"text": "(A a)", "share": 2.0, "places": [[1, 2]]}, {"text": "(A a)", "share": -1.0, "places": [[3, 4]]}]
    tree = {"title": "", "picture": picture("(S (A a) (A a))")}
    page.evaluate("told => start(told)", {"trees": [tree], "fragments": both})
    second = page.locator(".treelet-fragment").nth(1)
    second.click()
    assert page.evaluate("[...document.querySelectorAll('g.treelet-lit')].map((one) => +one.dataset.number)") == [3, 4]
    pressed = page.eval_on_selector_all(".treelet-fragment", "all => all.map((one) => one.ariaPressed)")
    assert pressed == ["false", "true"]
