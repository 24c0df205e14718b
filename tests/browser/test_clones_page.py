"""A page of similar functions in a browser: as a file, with scripts and without them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from treelet.report.clones_page import _clones_page, write

EVIL = "</script><script>window.hurt=1</script><img src=x onerror=window.hurt=1>"
LONG = "    # " + "wide " * 200
COLORS = "node => getComputedStyle(node).backgroundColor"


def body(name: str, middle: str) -> str:
    steps = "".join(f"    step({number})\n" for number in range(30))
    return f"def {name}(a):\n{steps}{middle}\n{LONG}\n    text = '{EVIL}\u202e\0'\n    return a\n"


@pytest.fixture
def report(tmp_path: Path) -> Any:
    texts = {"one": "    kept = a + 1", "two": "    kept = a - 1", "three": "    kept = a + 1\n    extra(a)"}
    for name, middle in texts.items():
        (tmp_path / f"{name}.py").write_text(body(name, middle), encoding="utf-8")
    members = [
        SimpleNamespace(
            file=str(tmp_path / f"{name}.py"), line=1, end_line=end, name=name, similarity=similarity,
            common_statements="33 of 34 statements are the same",
        )
        for name, end, similarity in zip(texts, (35, 35, 36), (1.0, 0.9, 0.8), strict=True)
    ]  # fmt: skip
    changed = SimpleNamespace(kind="changed", medoid_lines=(32, 32), member_lines=(32, 32))
    inserted = SimpleNamespace(kind="inserted", medoid_lines=None, member_lines=(33, 33))
    deleted = SimpleNamespace(kind="deleted", medoid_lines=(35, 35), member_lines=None)
    differences = [[], [changed], [inserted, deleted]]
    found = SimpleNamespace(
        members=members,
        medoid=0,
        similarity=(0.7, 0.9),
        similarity_range="0.70 to 0.90",
        saved_lines=70,
        differences=differences.__getitem__,
    )
    second = SimpleNamespace(**{**vars(found), "members": members[:2], "saved_lines": 35})
    return SimpleNamespace(
        families=[found, second],
        files=3,
        functions=3,
        lines=106,
        skipped_files=0,
        skipped_functions=0,
        seconds=1.0,
        options={"x": EVIL},
        revision=None,
    )


def opened(page: Any, report: Any, folder: Path) -> Any:
    write(report, folder / "page.html", command=EVIL)
    page.goto((folder / "page.html").as_uri())
    page.wait_for_selector(".comparison")
    return page


@pytest.fixture
def shown(browser: Any, report: Any, tmp_path: Path) -> Any:
    """The page, opened as a file, without errors or requests."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    plain = context.new_page()
    problems: list[str] = []
    plain.on("pageerror", lambda error: problems.append(str(error)))
    plain.on("console", lambda said: problems.append(said.text))
    plain.on("request", lambda request: problems.append(request.url) if "page.html" not in request.url else None)
    yield opened(plain, report, tmp_path)
    assert plain.evaluate("window.hurt") is None
    context.close()
    assert problems == []


def test_members_are_compared_with_the_medoid(shown: Any) -> None:
    first = shown.locator(".family").first
    assert first.locator(".side").count() == 2
    assert first.locator(".member[aria-pressed=true] code").inner_text() == "two.py:1 two"
    assert first.locator(".line.changed").count() == 2
    assert first.locator(".line.changed mark").all_inner_texts() == ["+", "-"]
    assert first.locator(".line.changed .gutter").first.get_attribute("data-sign") == "~"
    first.locator("button.member").nth(1).click()
    assert first.locator(".side figcaption").all_inner_texts() == ["Medoid one.py:1 one", "Member three.py:1 three"]
    assert first.locator(".line.inserted code").all_inner_texts() == ["    extra(a)"]
    assert first.locator(".line.deleted .gutter").get_attribute("data-sign") == "−"
    assert first.locator(".line.changed").count() == 0
    boxes = [
        first.locator(".side").nth(side).locator("code", has_text="text = ").last.bounding_box() for side in (0, 1)
    ]
    assert boxes[0]["y"] == boxes[1]["y"]  # a filler stands beside the inserted line
    assert boxes[0]["x"] + 400 < boxes[1]["x"]


def test_hostile_text_is_only_text(shown: Any) -> None:
    text = shown.locator(".family").first.locator("code", has_text="text = ").first.inner_text()
    assert text == f"    text = '{EVIL}\\u202e\\x00'"
    assert shown.locator("img").count() == 0


def test_long_stretches_unfold(shown: Any) -> None:
    first = shown.locator(".family").first
    assert first.locator("code", has_text="step(15)").count() == 0
    folds = first.locator(".fold")
    assert set(folds.all_inner_texts()) == {"⋯ 25 lines without differences"}
    folds.first.click()
    assert first.locator("code", has_text="step(15)").count() == 2
    assert folds.count() == 0


def test_families_open_and_are_filtered(shown: Any) -> None:
    second = shown.locator(".family").nth(1)
    assert second.locator(".comparison").count() == 0
    second.locator("summary").click()
    second.locator(".comparison").wait_for()
    shown.get_by_label("Filter by file or name").fill(" THREE.py ")
    assert not second.is_visible()
    assert shown.locator(".family").first.is_visible()
    assert shown.get_by_role("status").inner_text().strip() == "1 of 2 families"
    shown.get_by_label("Filter by file or name").fill("")
    assert second.is_visible()


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_only_code_scrolls_sideways(shown: Any, width: int, scheme: str) -> None:
    shown.emulate_media(color_scheme=scheme)
    shown.set_viewport_size({"width": width, "height": 900})
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.eval_on_selector(".code", "node => node.scrollWidth > node.clientWidth")
    left, right = (shown.locator(".side").nth(side).bounding_box() for side in (0, 1))
    below = right["y"] >= left["y"] + left["height"]
    assert below == (width == 400)
    ground = shown.eval_on_selector("body", COLORS)
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 18, 20)"}[scheme]
    assert shown.eval_on_selector(".line.changed", COLORS) != ground


def test_without_scripts_families_are_listed(browser: Any, report: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.set_content(_clones_page(report))
    assert "two.py:1 two" in plain.locator(".family").first.inner_text()
    assert "needs JavaScript" in plain.locator("body").inner_text()
    context.close()
