"""A report in a browser: with scripts, without them, and on paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import treelet as tl
from treelet.report.report_page import report, report_page

EVIL = "<script>window.hurt=1</script>"
TREES = [f"(S (W {word}) (V {verb}))" for word in ("who", EVIL, "when") for verb in ("ran", "sat")]
LABELS = ["human", "human", EVIL, EVIL, "time", "time"]


@pytest.fixture(scope="module")
def text() -> str:
    model = tl.KernelSVC(tl.SubsetTree()).fit(TREES, LABELS)
    found = report(model, TREES, ["time", *LABELS[1:-1], "human"])
    return report_page(found, title=EVIL, source=EVIL, card={"kernel": EVIL})


def test_the_tables_fit_a_phone(page: Any, serve: Callable[[dict[str, str]], str], text: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(serve({"index.html": text}))
    page.wait_for_selector(".treelet-view")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.eval_on_selector(".wide", "node => node.scrollWidth <= node.clientWidth")


def test_the_note_about_pictures_is_shown_with_them(
    page: Any, serve: Callable[[dict[str, str]], str], text: str
) -> None:
    page.goto(serve({"index.html": text}))
    for width, shown in ((400, False), (1280, True)):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.locator(".fragments svg").first.is_visible() == shown
        assert page.get_by_text("A dashed box is a category").first.is_visible() == shown


def test_static_pictures_are_dark_on_dark_pages(page: Any, serve: Callable[[dict[str, str]], str], text: str) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(serve({"index.html": text}))
    colors = "all => all.map(one => getComputedStyle(one).fill)"
    assert set(page.eval_on_selector_all(".fragments svg > path", colors)) == {"rgb(22, 25, 29)"}
    assert set(page.eval_on_selector_all(".fragments svg text", colors)) == {"rgb(233, 236, 239)"}
    filters = page.eval_on_selector_all(".confusion svg", "all => all.map(one => getComputedStyle(one).filter)")
    assert set(filters) == {"invert(1) hue-rotate(180deg)"}
    page.emulate_media(media="print", color_scheme="dark")
    assert set(page.eval_on_selector_all(".fragments svg > path", colors)) == {"rgb(255, 255, 255)"}


def test_with_scripts_trees_can_be_walked_through(page: Any, serve: Callable[[dict[str, str]], str], text: str) -> None:
    page.goto(serve({"index.html": text}))
    page.wait_for_selector(".treelet-view")
    assert page.locator("figure").count() == 0
    assert page.locator(".treelet-view").count() == 2
    page.locator(".treelet-fragment").first.hover()
    assert page.locator("g.treelet-lit").count() >= 2
    page.locator("g[data-number='1']").first.click()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("+document.activeElement.dataset.number") == 2
    assert page.evaluate("window.hurt") is None
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.treelet-tools')).display") == "none"
    page.set_viewport_size({"width": 375, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_without_scripts_all_is_there(browser: Any, text: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.set_content(text)
    assert plain.locator("figure svg").count() == 2
    assert plain.locator(".case table").count() == 2
    assert "including the intercept" in plain.locator("body").inner_text()
    context.close()
