"""The explorer in a browser: sliders, links, edits, keys, and hostile texts."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

import treelet as tl

pytest.importorskip("starlette", reason="needs treelet[web]")
pytest.importorskip("uvicorn", reason="needs treelet[web]")

from treelet.cli.explore import _embedded
from treelet.explorer import Parsing, Workspace, app
from treelet.explorer.workspace import ModelView
from treelet.fragments import node_values

HOSTILE = "<img/src=x/onerror=window.hurt=1>"
A = "(S (NP (D the) (N cat)) (VP (V saw) (NP (D a) (N dog))))"
B = "(S (NP (D the) (N dog)) (VP (V saw) (NP (D a) (N cat))))"
WIDE = f"(S {A} {B} {A})"
QUESTIONS = [
    f"(SBARQ (WHNP (W {w})) (SQ (V {v}) (NP (N {n}))))"
    for w in ("who", "where")
    for v in ("saw", "left")
    for n in ("it", "her")
]


pytestmark = pytest.mark.filterwarnings(
    "ignore:1 of 1 example has no fragment in common"
)  # The page shows the same message.


@contextmanager
def served(workspace: Workspace) -> Iterator[str]:
    """The address of an explorer."""
    with app._listen(0) as listening:
        server = app._server(workspace, listening)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:  # a thread that stays would keep Python from ending
            server.should_exit = True
            thread.join(60)


@pytest.fixture(scope="module")
def explorer() -> Iterator[str]:
    """The address of an explorer with a model of two classes."""
    model = tl.KernelSVC(tl.SubsetTree(lam=0.4).normalized()).fit(QUESTIONS, ["human"] * 4 + ["place"] * 4)
    with served(Workspace(_embedded(), ModelView(model, "questions.treelet"))) as address:
        yield address


def value(page: Any) -> str:
    return page.inner_text("#value")


def wait_for(page: Any, expected: str, what: str = "#value") -> None:
    page.wait_for_function("([what, text]) => document.querySelector(what)?.textContent === text", arg=[what, expected])


FOLLOWS = """async (values) => {
  const slider = document.querySelector('.slider input'), shown = document.querySelector('#value');
  const heat = () => [...document.querySelectorAll('.stage .treelet-heat')].map((one) => one.style.getPropertyValue('--treelet-shade')).join();
  const took = [];
  for (const value of values) {
    const before = [shown.textContent, heat()], begin = performance.now();
    slider.value = value;
    slider.dispatchEvent(new Event('input', {bubbles: true}));
    while (shown.textContent === before[0] || heat() === before[1]) {
      if (performance.now() - begin > 30_000) throw new Error(`nothing follows ${value}`);
      await new Promise(requestAnimationFrame);
    }
    took.push(performance.now() - begin);
  }
  return took;
}"""


def test_the_number_and_the_colors_follow_the_slider(page: Any, explorer: str, record_property: Any) -> None:
    page.goto(explorer + "#trees?" + urlencode({"trees.a": A, "trees.b": B}))
    page.wait_for_selector(".treelet-heat")
    assert value(page) == f"{float(tl.SubsetTree()([A], [B])[0, 0]):#.4g}"
    took = page.evaluate(FOLLOWS, [0.3, 0.5, 0.7, 0.9, 0.6, 0.35])
    record_property("milliseconds", took)
    assert sorted(took)[len(took) // 2] < 3000
    kernel = tl.SubsetTree(lam=0.35)
    trees = page.eval_on_selector_all(".brackets", "all => all.map(one => one.value)")
    assert float(value(page)) == pytest.approx(float(kernel([trees[0]], [trees[1]])[0, 0]), rel=1e-3)
    slider = page.locator(".slider input").first
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.35, box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(20):
        page.mouse.move(box["x"] + box["width"] * (0.35 + step / 40), box["y"] + box["height"] / 2)
    page.mouse.up()
    lam = float(slider.input_value())
    assert lam > 0.7
    expected = float(tl.SubsetTree(lam=lam)([trees[0]], [trees[1]])[0, 0])
    wait_for(page, f"{expected:#.4g}")


def test_a_fragment_lights_up_in_both_trees_and_stays_when_chosen(page: Any, explorer: str) -> None:
    lit = "() => [...document.querySelectorAll('.stage')].map((stage) => [...stage.querySelectorAll('g.treelet-lit text:first-of-type')].map((one) => one.textContent))"
    page.goto(explorer + "#trees?" + urlencode({"trees.a": A, "trees.b": B}))
    page.wait_for_selector(".treelet-fragment")
    row = page.locator(".treelet-fragment", has_text="(D the)").first
    row.hover()
    assert page.evaluate(lit) == [["D", "the"], ["D", "the"]]
    page.mouse.move(5, 5)
    assert page.evaluate(lit) == [[], []]
    row.focus()
    page.keyboard.press("Enter")
    page.mouse.move(5, 5)
    assert page.evaluate(lit) == [["D", "the"], ["D", "the"]]
    page.wait_for_function("() => location.hash.includes('trees.highlight')")
    page.reload()
    page.wait_for_selector(".treelet-fragment[aria-pressed=true]")
    assert page.evaluate(lit) == [["D", "the"], ["D", "the"]]


def test_a_link_restores_all(page: Any, explorer: str) -> None:
    fields = {"a": A, "b": B, "kernel": "pt", "lam": "0.55", "mu": "0.25", "normalized": "1"}
    page.goto(explorer + "#trees?" + urlencode({f"trees.{name}": text for name, text in fields.items()}))
    kernel = tl.PartialTree(lam=0.55, mu=0.25).normalized()
    wait_for(page, f"{float(kernel([A], [B])[0, 0]):#.4g}")
    assert page.is_checked("input[value=pt]")
    assert page.eval_on_selector_all(".slider input", "all => all.map(one => one.value)")[:2] == ["0.55", "0.25"]
    page.locator(".brackets").nth(1).fill(A)
    wait_for(page, "1.000")
    page.wait_for_function("text => location.hash.split(text).length === 3", arg=urlencode({"x": A})[2:])
    link = page.url
    page.click("[data-view=sentence]")
    page.wait_for_selector(".parse .pick")
    assert "trees.b=" in page.url
    page.goto("about:blank")
    page.goto(link)
    wait_for(page, "1.000")
    assert page.locator(".brackets").nth(1).input_value() == A


def test_an_error_is_reported_where_it_is(page: Any, explorer: str) -> None:
    page.goto(f"{explorer}#trees")
    page.wait_for_selector(".treelet-heat")
    area = page.locator(".brackets").first
    area.fill("(S (NP é) x))")
    error = page.locator(".card .error").first
    error.wait_for()
    assert error.inner_text().startswith("Column 13: ")
    assert area.get_attribute("aria-invalid") == "true"
    error.click()
    assert page.evaluate("document.activeElement.selectionStart") == len("(S (NP é) x)")
    area.fill(A)
    error.wait_for(state="hidden")


def test_two_empty_fields_have_two_messages(page: Any, explorer: str) -> None:
    page.goto(f"{explorer}#trees")
    page.wait_for_selector(".treelet-heat")
    errors = page.locator(".editor .error")
    page.locator(".brackets").first.fill("")
    errors.first.wait_for()
    assert not errors.nth(1).is_visible()
    page.locator(".brackets").nth(1).fill(" ")
    errors.nth(1).wait_for()
    assert errors.all_inner_texts() == 2 * [
        "There is no tree yet. Enter one in brackets, for example (NP (D the) (N apple))."
    ]
    page.locator(".brackets").first.fill(A)
    errors.first.wait_for(state="hidden")
    assert errors.nth(1).is_visible()


def test_a_page_without_a_model_trains_and_describes_a_ranker(page: Any) -> None:
    """The texts before and after the training, which takes about a second."""
    parsing, trained = _embedded(), threading.Event()

    def ranker() -> ModelView:
        trained.wait(30)
        assert parsing.ranker is not None
        return parsing.ranker()

    with served(Workspace(Parsing(parsing.name, parsing.grammar, ranker))) as address:
        page.goto(f"{address}#model")
        page.wait_for_selector(".result p")
        waiting = page.inner_text("main")
        trained.set()
        page.wait_for_selector(".treelet-fragment")
    assert "Training a small ranker …" in waiting
    assert "Nearest trees" not in waiting
    about = page.locator(".result p").all_inner_texts()
    assert about[0].startswith("Ranker: a perceptron trained on 400 generated travel questions. To explain")
    assert about[1].startswith("Kernel: On('tree', ")


def test_the_switch_shows_edits_and_is_kept_in_the_link(page: Any, explorer: str) -> None:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    script = tl.edit_script(A, B)
    page.goto(explorer + "#trees?" + urlencode({"trees.a": A, "trees.b": B}))
    page.wait_for_selector(".treelet-heat")
    page.get_by_label("Edits", exact=True).check(force=True)
    page.wait_for_selector(".treelet-operation")
    assert value(page) == f"{script.similarity:.4f}"
    assert page.inner_text("#other") == f"distance {script.cost:g}"
    assert page.inner_text("h2") == "Edits"
    assert page.locator(".treelet-operation").all_inner_texts() == ["~\nrename cat -> dog", "~\nrename dog -> cat"]
    assert page.locator(".treelet-heat").count() == 0
    assert page.locator(".stage g.treelet-rename").count() == 4
    assert not page.locator(".curve").is_visible()
    assert not page.locator(".sliders").is_visible()
    assert page.locator(".counts li").all_inner_texts()[0] == f"{len(script.mapping) - 2} kept"
    page.locator(".treelet-operation").first.hover()
    lit = "() => [...document.querySelectorAll('.stage')].map((stage) => [...stage.querySelectorAll('g.treelet-lit')].map((one) => +one.dataset.number))"
    assert page.evaluate(lit) == [[5], [5]]
    page.locator(".stage").first.locator("g[data-number='7']").hover()
    assert page.locator(".stage").nth(1).locator(".treelet-selected").get_attribute("data-number") == "7"
    page.mouse.move(5, 5)
    assert page.locator(".treelet-selected").count() == 0
    page.wait_for_function("() => location.hash.includes('trees.show=edits')")
    page.reload()
    page.wait_for_selector(".treelet-operation")
    assert page.get_by_label("Edits", exact=True).is_checked()
    page.locator(".brackets").nth(1).fill(A)
    page.wait_for_function("() => document.querySelector('.treelet-rest').textContent === 'A and B are equal.'")
    page.locator(".brackets").nth(1).fill("(S (NP")
    page.wait_for_selector(".editor .error:not([hidden])")
    page.locator(".brackets").nth(1).fill(B)
    page.wait_for_selector(".treelet-operation")
    page.get_by_label("Shared fragments", exact=True).check(force=True)
    page.wait_for_selector(".treelet-heat")
    assert page.locator(".treelet-operation").count() == 0
    assert page.locator(".curve").is_visible()
    assert errors == []


def opened(page: Any, explorer: str, **fields: str) -> list[str]:
    """Open the table of two trees. Returns a list that collects the errors of the page."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    given = {"show": "table", "a": A, "b": B, **fields}
    page.goto(explorer + "#trees?" + urlencode({f"trees.{name}": text for name, text in given.items()}))
    page.wait_for_selector(".steps tbody td")
    return errors


CELLS = "() => [...document.querySelectorAll('.steps tbody tr')].map((row) => [...row.querySelectorAll('td')].map((one) => one.textContent))"
LIT = "() => [...document.querySelectorAll('.stage')].map((stage) => [...stage.querySelectorAll('g.treelet-lit')].map((one) => +one.dataset.number))"
SELECTED = "() => [...document.querySelectorAll('.stage .treelet-selected')].map((one) => +one.dataset.number)"


def in_post_order(tree: str) -> list[int]:
    """The numbers, in pre-order, of the nodes with children, each after its children."""
    order: list[int] = []
    count = 0

    def visit(node: tl.Tree) -> None:
        nonlocal count
        number, count = count, count + 1
        for child in node:
            visit(child)
        if node.children:
            order.append(number)

    visit(tl.Tree.parse(tree))
    return order


def cell(page: Any, a: int, b: int, first: str = A, second: str = B) -> Any:
    """The cell of two nodes, given by their numbers in pre-order."""
    row, column = in_post_order(first).index(a), in_post_order(second).index(b)
    return page.locator(".steps tbody tr").nth(row).locator("td").nth(column)


def test_the_table_is_that_of_the_library_and_is_filled_in_step_by_step(page: Any, explorer: str) -> None:
    errors = opened(page, explorer)
    values = node_values(A, B, tl.SubsetTree(lam=0.4))
    wanted = [[f"{values[a, b]:.4g}" for b in in_post_order(B)] for a in in_post_order(A)]
    assert page.evaluate(CELLS) == wanted
    assert value(page) == f"{float(tl.SubsetTree()([A], [B])[0, 0]):#.4g}"
    assert page.inner_text(".sum").startswith("The sum of all cells is the kernel value")
    page.get_by_label("Empty table").click()
    assert {text for row in page.evaluate(CELLS) for text in row} == {""}
    forward = page.get_by_label("One step forward")
    forward.click()
    zeros = [[text if text == "0" else "" for text in row] for row in wanted]
    assert page.evaluate(CELLS) == zeros
    assert (
        page.inner_text(".formula") == f"{sum(row.count('0') for row in wanted)} cells with different productions: 0."
    )
    seen: list[int] = []
    for _ in range(sum(text != "0" for row in wanted for text in row)):
        forward.click()
        shown = page.evaluate(CELLS)
        seen.append(sum(text not in ("", "0") for row in shown for text in row))
        text = page.inner_text(".formula")
        *_, numbers, result = text.partition(": ")[0].split(" = ")
        product = math.prod(float(eval(factor)) for factor in numbers.replace("λ", "0.4").split(" · "))
        assert product == pytest.approx(float(result), rel=1e-3), text
    assert seen == list(range(1, len(seen) + 1))
    assert page.evaluate(CELLS) == wanted
    page.get_by_label("One step back").click()
    assert sum(text == "" for row in page.evaluate(CELLS) for text in row) == 1
    page.wait_for_function("() => /trees.step=\\d+/.test(location.hash)")
    page.reload()
    page.wait_for_selector(".steps tbody td")
    page.wait_for_function("() => document.querySelector('.sum').textContent.startsWith('Sum of the cells so far')")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => document.querySelector('.sum').textContent.startsWith('The sum of all cells')")
    page.get_by_role("button", name="Play").wait_for()  # it has stopped by itself
    assert page.evaluate(CELLS) == wanted
    assert errors == []


def test_a_cell_highlights_both_nodes_and_shows_the_product(page: Any, explorer: str) -> None:
    errors = opened(page, explorer)
    cell(page, 1, 9).hover()  # the first NP of A, and the second NP of B
    assert page.evaluate(SELECTED) == [1, 9]
    assert page.evaluate(LIT) == [[1, 2, 4], [9, 10, 12]]
    assert (
        page.inner_text(".formula")
        == "C(NP, NP) = λ · (1 + C(D, D)) · (1 + C(N, N)) = 0.4 · (1 + 0) · (1 + 0.4) = 0.56"
    )
    assert page.locator(".steps .used").all_inner_texts() == ["0", "0.4"]
    cell(page, 0, 6).hover()
    assert page.inner_text(".formula") == "C(S, VP) = 0: the productions S → NP VP and VP → V NP differ."
    page.mouse.move(5, 5)
    assert page.evaluate(SELECTED) == [0, 0]  # the last step
    cell(page, 2, 2).focus()
    assert page.inner_text(".formula") == "C(D, D) = λ = 0.4: both productions are D → the, and all children are words."
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(SELECTED) == [4, 4]
    page.locator(".stage").first.locator("g[data-number='9']").hover()
    assert page.locator(".steps .touched").all_inner_texts() == ["NP → D N"]
    assert errors == []


def test_a_tap_on_a_phone_highlights_both_nodes(browser: Any, explorer: str) -> None:
    context = browser.new_context(viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    page = context.new_page()
    try:
        errors = opened(page, explorer)
        cell(page, 1, 1).tap()
        assert page.evaluate(SELECTED) == [1, 1]
        assert page.inner_text(".formula").startswith("C(NP, NP) = λ · (1 + C(D, D))")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        for selector in (".formula", ".stage >> nth=0", ".stage >> nth=1"):  # trees and product stay in sight
            box = page.locator(selector).bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= 800
        assert errors == []
    finally:
        context.close()


@pytest.mark.parametrize("name", ["st", "pt"])
def test_the_other_kernels_have_tables_too(page: Any, explorer: str, name: str) -> None:
    errors = opened(page, explorer, kernel=name)
    kernel = {"st": tl.Subtree(lam=0.4), "pt": tl.PartialTree(lam=0.4, mu=0.4)}[name]
    assert value(page) == f"{float(kernel([A], [B])[0, 0]):#.4g}"
    size = sum(1 for node in tl.Tree.parse(A).nodes() if node.children or name == "pt")
    assert [len(row) for row in page.evaluate(CELLS)] == [size] * size
    text = page.inner_text(".formula")
    start = "Δ(S, S) = μ · (λ² + S)" if name == "pt" else "C(N, N) = λ = 0.4"
    assert text.startswith(start), text
    if name == "st":
        page.locator(".brackets").nth(1).fill(A)
        page.wait_for_function("text => document.querySelector('.formula').textContent.startsWith(text)", arg="C(S, S) = λ · C(NP, NP) · C(VP, VP) = 0.4 · 0.064 · ")  # fmt: skip
    assert errors == []


def test_a_table_that_is_too_large_is_refused(page: Any, explorer: str) -> None:
    given = {"trees.show": "table", "trees.a": f"(A {'x ' * 60})", "trees.b": f"(A {'x ' * 60})"}
    page.goto(explorer + "#trees?" + urlencode(given))
    page.wait_for_selector("main > section > .error:not([hidden])")
    assert "61 × 61 pairs of nodes" in page.inner_text("main > section > .error")


@pytest.mark.parametrize("show", ["fragments", "table", "edits"])
def test_the_picture_is_saved_as_svg(page: Any, explorer: str, tmp_path: Path, show: str) -> None:
    page.goto(explorer + "#trees?" + urlencode({"trees.show": show, "trees.a": A, "trees.b": B}))
    page.wait_for_selector(".stage .treelet-node")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save picture").click()
    download.value.save_as(tmp_path / "picture.svg")
    assert download.value.suggested_filename == f"treelet-{show}.svg"
    shared = tl.shared_fragments(A, B, tl.SubsetTree(lam=0.4), 40)
    drawing = tl.draw(tl.edit_script(A, B)) if show == "edits" else tl.draw(shared, table=show == "table")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8") == drawing
    page.locator(".brackets").first.fill("(S")
    page.wait_for_selector(".view.stale")
    page.get_by_role("button", name="Save picture").click()
    page.wait_for_selector("main > section > .error:not([hidden])")


def test_the_forest_is_saved_as_svg(page: Any, explorer: str, tmp_path: Path) -> None:
    page.goto(explorer + "#sentence?" + urlencode({"sentence.show": "forest", "sentence.words": "show me flights"}))
    page.wait_for_selector(".stage.wide .treelet-node")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save picture").click()
    download.value.save_as(tmp_path / "forest.svg")
    assert (tmp_path / "forest.svg").read_text(encoding="utf-8") == tl.draw(
        _embedded().grammar().forest(["show", "me", "flights"], 3.0)
    )


def test_shared_fragments_are_small_trees(page: Any, explorer: str) -> None:
    page.goto(explorer + "#trees?" + urlencode({"trees.a": A, "trees.b": B}))
    page.wait_for_selector(".treelet-cards")
    card = page.locator(".treelet-fragment", has_text="(NP (D the) N)").first
    assert card.locator("svg text").all_text_contents() == ["NP", "D", "the", "N"]
    assert card.locator("g.treelet-open text").all_text_contents() == ["N"]
    assert card.inner_text().split("\n")[0].startswith("0.")
    page.goto("about:blank")
    wide = f"(A {' '.join('(B b)' for _ in range(30))})"  # too large to draw: the text is shown
    page.goto(explorer + "#trees?" + urlencode({"trees.a": wide, "trees.b": wide, "trees.kernel": "st"}))
    page.wait_for_selector(".treelet-fragment")
    assert page.locator(".treelet-fragment code:visible", has_text="(A (B b)").count() == 1


def test_examples_are_taken_from_the_treebank(page: Any) -> None:
    trees = tl.Treebank([f"(S (NP (D the) (N {n})) (VP (V {v}) (NP (D a) (N {m}))))" for n, v, m in zip("abcd", "efgh", "ijkl", strict=True)])  # fmt: skip
    parsing = Parsing("mine.mrg", lambda: tl.PCFG.from_treebank(trees), trees=trees)
    with served(Workspace(parsing)) as address:
        page.goto(address)
        page.wait_for_selector(".treelet-fragment")
        assert page.locator(".brackets").first.input_value() == str(trees[0])
        names = page.locator(".example-list .plain").all_inner_texts()
        assert names == ["the a e a i / the b f a j", "the c g a k / the d h a l"]
        page.locator(".example-list .plain").nth(1).click()
        page.wait_for_function("tree => document.querySelector('.brackets').value === tree", arg=str(trees[2]))
        page.click("[data-view=sentence]")
        page.wait_for_selector(".parse .pick")
        assert page.input_value("#sentence") == "the a e a i"
        assert not page.locator(".warning").is_visible()
        assert page.locator(".example-list .plain").all_inner_texts() == [" ".join(tree.words()) for tree in trees]
        page.goto("about:blank")


def test_edits_that_are_too_expensive_are_refused(page: Any, explorer: str) -> None:
    page.goto(
        explorer
        + "#trees?"
        + urlencode({"trees.show": "edits", "trees.a": f"(A {'x ' * 4000})", "trees.b": f"(A {'x ' * 4000})"})
    )
    page.wait_for_selector("main > section > .error:not([hidden])")
    assert "treelet compare --edits" in page.inner_text("main > section > .error")


@pytest.mark.parametrize("width", [1280, 400])
def test_edits_fit_the_page(page: Any, explorer: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(explorer + "#trees?" + urlencode({"trees.show": "edits", "trees.a": A, "trees.b": WIDE}))
    page.wait_for_selector(".treelet-operation")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_tree_that_has_nothing_in_common_with_the_model(page: Any, explorer: str) -> None:
    page.goto(explorer + "#model?" + urlencode({"model.tree": "(X (Y z))"}))
    page.wait_for_selector(".pair h2")
    shown = page.inner_text(".pair")
    assert "This tree has no fragment in common with the model." in shown
    assert "None of 8 support trees has a fragment in common with this tree." in shown
    assert "fragments below" not in shown
    assert re.search(r"Score −?[\d.e−]+(: intercept [+−]?[\d.e−]+)?\.\n", shown)


def test_hostile_texts_stay_text(page: Any, explorer: str) -> None:
    hurt = f"(S (NP {HOSTILE}) (VP {HOSTILE}))"
    page.goto(explorer + "#trees?" + urlencode({"trees.a": hurt, "trees.b": hurt, "trees.kernel": HOSTILE}))
    page.wait_for_selector(".error:not([hidden])")
    assert HOSTILE[:20] in page.inner_text("main > section > .error")
    page.goto(explorer + "#trees?" + urlencode({"trees.a": hurt, "trees.b": hurt}))
    page.reload()
    page.wait_for_selector(".treelet-fragment")
    assert HOSTILE in page.inner_text(".treelet-fragments")
    page.goto(explorer + "#trees?" + urlencode({"trees.show": "edits", "trees.a": hurt, "trees.b": "(S (NP x))"}))
    page.wait_for_selector(".treelet-operation")
    assert HOSTILE in page.inner_text(".treelet-fragments")
    page.goto(explorer + "#trees?" + urlencode({"trees.show": "table", "trees.a": hurt, "trees.b": hurt}))
    page.wait_for_selector(".steps tbody td")
    assert HOSTILE in page.inner_text(".steps")
    page.goto(explorer + f"#sentence?sentence.words={quote('show me ' + HOSTILE)}")
    page.wait_for_selector(".parse .pick")
    page.goto(explorer + "#model?" + urlencode({"model.tree": hurt, "model.baseline": hurt}))
    page.wait_for_selector(".score")
    page.locator(".brackets").fill("(A " * 3000 + HOSTILE + ")" * 3000)
    page.wait_for_selector(".editor .error:not([hidden])")
    page.locator(".brackets").fill(f"(A {'x ' * 300_000})")
    page.wait_for_function("() => document.querySelector('.editor .error').textContent.includes('KiB')")
    page.wait_for_timeout(50)
    assert page.evaluate("window.hurt") is None
    assert page.locator("main img").count() == 0


def test_hostile_names_and_links_stay_text(page: Any) -> None:
    """Of models, classes, grammars, labels in files; and whatever a link says."""
    model = tl.KernelSVC(tl.SubsetTree().normalized()).fit(QUESTIONS, [HOSTILE] * 4 + ["</script>"] * 4)
    parsing = Parsing(HOSTILE, lambda: tl.PCFG.from_treebank(QUESTIONS))
    workspace = Workspace(parsing, ModelView(model, f"{HOSTILE}.treelet"), tl.Treebank(QUESTIONS), [HOSTILE] * 8)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    links: list[dict[str, str]] = [
        {"model.output": HOSTILE, "model.highlight": HOSTILE},
        {"model.output": "__proto__", "model.tree": HOSTILE, "model.baseline": "("},
        {"trees.kernel": "constructor", "trees.lam": "x", "trees.highlight": HOSTILE, "trees.depth": "-1"},
        {"trees.show": "__proto__", "trees.a": A, "trees.b": B},
        {"trees.show": "table", "trees.step": "-1e9", "trees.a": A, "trees.b": B},
        {"trees.show": "table", "trees.step": HOSTILE, "trees.kernel": "__proto__"},
        {"trees.__proto__": "x", "__proto__.a": "x", "trees.a": "\0", "constructor.name": "x"},
        {"sentence.show": HOSTILE, "sentence.a": "1e9", "sentence.b": "-1", "sentence.k": "NaN"},
        {"sentence.words": "who saw it", "sentence.k": "9" * 400, "sentence.prune": "Infinity"},
    ]
    with served(workspace) as address:
        for link in links:
            view = next(iter(link)).split(".")[0]
            page.goto("about:blank")
            page.goto(f"{address}#{view}?{urlencode(link)}")
            page.wait_for_selector("main > section")
            page.wait_for_timeout(150)
        page.goto("about:blank")
        page.goto(f"{address}#model?" + urlencode({"model.tree": QUESTIONS[0], "model.output": HOSTILE}))
        wait_for(page, HOSTILE, "#label")
        page.wait_for_selector(".near li")
        said = page.inner_text("main")
        assert said.count(HOSTILE) > 5
        assert f"{HOSTILE}.treelet" in said
    assert page.evaluate("window.hurt") is None
    assert page.locator("main img").count() == 0
    assert wrong == []


def test_a_sentence_is_parsed_ranked_and_explained(page: Any, explorer: str) -> None:
    page.goto(explorer + "#sentence")
    page.wait_for_selector(".treelet-fragment")
    assert page.locator(".parse:not(.head)").count() == 10
    assert page.locator(".pick[aria-pressed=true]").count() == 2
    page.locator(".parse", has_text="2").nth(1).locator(".pick").first.click()
    page.wait_for_function("() => location.hash.includes('sentence.a')")
    page.check("input[value=forest]", force=True)
    page.wait_for_selector(".stage.wide .treelet-best")
    assert "trees in" in page.inner_text(".card:has(.stage.wide) p")


def test_a_sentence_outside_the_grammar_has_a_warning(page: Any, explorer: str) -> None:
    page.goto(explorer + "#sentence")
    page.wait_for_selector(".treelet-fragment")  # earlier text may be replaced by the first example
    page.fill(".sentence", "The quick brown fox jumps over the lazy dog.")
    page.wait_for_selector(".warning:visible")
    assert page.inner_text(".warning").startswith("This sentence is outside this grammar")
    assert "Unknown words: 'quick', 'brown'" in page.inner_text(".warning")
    page.fill(".sentence", "show me flights to dallas")
    page.wait_for_selector(".warning", state="hidden")


STYLE = "one => { const {color, backgroundColor, boxShadow} = getComputedStyle(one); return {color, backgroundColor, boxShadow}; }"


def test_numbers_that_round_to_zero_have_no_sign(page: Any, explorer: str) -> None:
    page.goto(explorer + "#sentence")
    page.wait_for_selector(".treelet-fragment")
    formatted = """async () => {
      const {aligned, figures, signed} = await import('/static/parts.js'), column = aligned([2.5, -2e-16, null]);
      return [column(-2e-16), column(-2.5), aligned([-2e-16])(-2e-16), aligned([null])(null), signed(-2e-16), signed(-0.25), signed(1e-9), figures(2e-16)];
    }"""
    assert page.evaluate(formatted) == ["0.000", "−2.500", "0", "", "0", "−0.2500", "+1.00e−9", "2.00e−16"]
    assert "Log p is the log probability relative to the best parse." in page.inner_text(".beside-list")
    assert "−0.000" not in page.inner_text(".beside-list")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_selected_button_stays_readable_under_the_mouse(page: Any, explorer: str, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    page.goto(explorer + "#sentence")
    page.wait_for_selector(".treelet-fragment")
    selected = page.locator(".pick[aria-pressed=true]").first
    page.mouse.move(5, 5)
    before = selected.evaluate(STYLE)
    selected.hover()
    assert selected.evaluate(STYLE) == before
    page.locator(".pick[aria-pressed=false]").first.hover()
    assert page.locator(".pick[aria-pressed=false]").first.evaluate(STYLE) != before


def test_the_selected_class_differs_from_the_class_under_the_mouse(page: Any, explorer: str) -> None:
    page.goto(explorer + "#model?" + urlencode({"model.tree": QUESTIONS[0]}))
    page.wait_for_selector(".score[aria-pressed=true]")
    other = page.locator(".score[aria-pressed=false]").first
    other.hover()
    assert other.evaluate(STYLE)["boxShadow"] != page.locator(".score[aria-pressed=true]").evaluate(STYLE)["boxShadow"]


def test_a_model_follows_the_edits_of_a_tree(page: Any, explorer: str) -> None:
    tree = QUESTIONS[0]
    page.goto(explorer + "#model?" + urlencode({"model.tree": tree, "model.baseline": tree}))
    wait_for(page, "human", "#label")
    words = [place for place, node in enumerate(tl.Tree.parse(tree).nodes()) if node.label == "who"]
    page.locator(f".stage g[data-number='{words[0]}']").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.value") == "who"
    page.keyboard.type("where")
    page.keyboard.press("Enter")
    wait_for(page, "place", "#label")
    assert page.inner_text(".beside") == "baseline: human"
    assert page.locator(".brackets").input_value() == tree.replace("who", "where")
    assert page.locator(".moved").first.inner_text().startswith("+")
    page.locator(".stage g[data-number='5']").click()  # V
    page.click("text=Add child")
    page.wait_for_function("() => document.querySelector('.brackets').value.includes('(V saw V)')")
    page.locator(".stage g[data-number='5']").click()
    page.click("text=Delete")
    page.wait_for_function("() => !document.querySelector('.brackets').value.includes('V saw')")
    page.click("text=Reset")
    wait_for(page, "human", "#label")
    assert page.locator(".near li").count() > 0
    page.click(".near li button")
    page.wait_for_function("() => location.hash.includes('model.tree')")


def test_it_fits_a_phone_and_is_used_by_keys(page: Any, explorer: str) -> None:
    page.set_viewport_size({"width": 375, "height": 700})
    for view, there in (("trees", ".treelet-fragment"), ("sentence", ".treelet-fragment"), ("model", ".score")):
        page.goto(f"{explorer}#{view}")
        page.reload()
        page.wait_for_selector(there)
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, view
    page.goto(f"{explorer}#trees")
    page.reload()
    page.wait_for_selector(".treelet-heat")
    before = value(page)
    page.locator(".slider input").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("before => document.querySelector('#value').textContent !== before", arg=before)
    page.locator("[data-view=model]").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".score")
    deadline = time.monotonic() + 60
    while page.evaluate("document.activeElement.className.baseVal ?? document.activeElement.className") != "score":
        page.keyboard.press("Tab")
        assert time.monotonic() < deadline, "a class cannot be reached by the tab key"
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_the_page_opens_on_the_model_when_there_is_one(page: Any, explorer: str) -> None:
    page.goto(explorer)
    page.wait_for_selector(".score")
    assert page.inner_text("[data-view][aria-current=page]") == "Explain a model"
    with served(Workspace(_embedded())) as without:
        page.goto(without)
        page.wait_for_selector(".treelet-fragment")
        assert page.inner_text("[data-view][aria-current=page]") == "Compare trees"
        page.goto("about:blank")  # before the server stops: a request may still be running


def test_links_of_earlier_versions_still_work(page: Any, explorer: str) -> None:
    page.goto(
        explorer + "#trees?" + urlencode({"trees.a": A, "trees.b": A, "trees.norm": "1", "trees.light": "(D the)"})
    )
    wait_for(page, "1.000")
    page.wait_for_selector(".treelet-fragment[aria-pressed=true]")
    page.goto("about:blank")
    page.goto(explorer + "#model?" + urlencode({"model.tree": QUESTIONS[-1], "model.was": QUESTIONS[0]}))
    wait_for(page, "baseline: human", ".beside")
    page.goto("about:blank")
    page.goto(explorer + "#sentence?" + urlencode({"sentence.this": "3", "sentence.that": "1"}))
    page.wait_for_selector(".treelet-fragment")
    for name, rank in (("A", 4), ("B", 2)):
        chosen = page.locator(".parse", has=page.locator(f".pick[aria-pressed=true]:text-is('{name}')"))
        assert chosen.locator(".move").get_attribute("title") == f"Rank {rank} in the order of the grammar"


def test_every_text_box_has_a_visible_label_and_a_hint(page: Any, explorer: str) -> None:
    boxes = "() => [...document.querySelectorAll('main textarea, main input[type=text]')].map((box) => [box.labels[0]?.innerText ?? '', box.placeholder])"
    expected = {
        "trees": ["Tree A", "Tree B"],
        "sentence": ["Sentence"],
        "model": ["Label of the selected node", "Tree"],
    }
    for view, labels in expected.items():
        page.goto(f"{explorer}#{view}")
        page.reload()
        page.wait_for_selector(".treelet-heat")
        if view == "model":
            page.locator(".stage g[data-number='1']").click()
        told = page.evaluate(boxes)
        assert [label for label, _ in told] == labels
        assert all(re.match("Enter a |Label, e.g. ", hint) for _, hint in told)
    style = "() => { const {backgroundColor, borderTopColor} = getComputedStyle(document.querySelector('.brackets')); return [backgroundColor, borderTopColor]; }"
    page.emulate_media(color_scheme="light")
    assert page.evaluate(style) == ["rgb(255, 255, 255)", "rgb(125, 135, 146)"]


def test_empty_fields_ask_for_input(page: Any, explorer: str) -> None:
    page.goto(f"{explorer}#trees")
    page.wait_for_selector(".treelet-heat")
    page.locator(".brackets").first.fill("")
    wait_for(page, "There is no tree yet. Enter one in brackets, for example (NP (D the) (N apple)).", ".editor .error")
    page.goto("about:blank")  # The page may be about to store the edit, and a reload would then show the old view.
    page.goto(f"{explorer}#sentence")
    page.wait_for_selector(".parse .pick")
    page.fill(".sentence", "  ")
    wait_for(page, "There is no sentence yet. Enter one with spaces between the words.", ".view > .error")


SHARP = """() => [...document.querySelectorAll('main *')].filter((node) => {
  if (!node.checkVisibility() || ![...node.childNodes].some((child) => child.nodeType === 3 && /\\d/.test(child.data))) return false;
  if (node.closest('textarea, .error, .slider, .examples, .field-label, option, #sentence') || node.matches('p.faint:not(.output *)')) return false;
  let opacity = 1;
  for (let at = node; at; at = at.parentElement) opacity *= getComputedStyle(at).opacity;
  return opacity > 0.6;
}).map((node) => node.className.baseVal ?? `${node.tagName} ${node.className} ${node.textContent}`)"""


def test_an_error_dims_every_stale_figure(page: Any, explorer: str) -> None:
    broken = {"trees": (".brackets >> nth=0", "(S"), "sentence": (".sentence", "a (b"), "model": (".brackets", "(S")}
    for view, (box, text) in broken.items():
        page.goto(
            "about:blank"
        )  # The page may be about to store the last edit, and a reload would then show the old view.
        page.goto(f"{explorer}#{view}")
        page.wait_for_selector(".treelet-heat")
        page.wait_for_selector(".treelet-fragment")
        assert page.evaluate(SHARP), view
        page.fill(box, text)
        page.wait_for_selector(".view.stale")
        page.wait_for_function(f"() => ({SHARP})().length === 0")  # the opacity changes slowly
        assert page.evaluate(SHARP) == [], view


LATE = """addEventListener('hashchange', (event) => {
  if (!event.isTrusted) return;
  event.stopImmediatePropagation();
  setTimeout(() => dispatchEvent(new HashChangeEvent('hashchange')), 600);
});"""


def test_a_link_followed_right_after_an_edit_is_kept(page: Any, explorer: str) -> None:
    # The page stores an edit in its address after a short wait. A link that is followed during this wait must win, even if
    # the browser reports the new address late.
    page.add_init_script(LATE)
    page.goto(f"{explorer}#trees")
    page.wait_for_selector(".treelet-heat")
    page.fill(".brackets >> nth=0", "(S")
    page.goto(f"{explorer}#sentence")
    page.wait_for_selector(".sentence")
    assert page.evaluate("location.hash").startswith("#sentence")


def test_a_wide_tree_on_a_phone_scrolls_with_a_cue(page: Any, explorer: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(explorer + "#trees?" + urlencode({"trees.a": WIDE, "trees.b": A}))
    page.wait_for_selector(".treelet-heat")
    cue = page.locator(".scroll-cue").first
    cue.wait_for()
    assert "Scroll sideways" in cue.inner_text()
    stage = page.locator(".stage").first
    classes = "all => all[0].className"
    assert page.eval_on_selector_all(".stage", classes) == "stage more-left more-right"  # starts at the root
    page.eval_on_selector_all(".stage", "all => { all[0].scrollLeft = 10_000; }")
    page.wait_for_function("() => document.querySelector('.stage').className === 'stage more-left'")
    assert "gradient" in stage.evaluate("node => getComputedStyle(node).maskImage")
    page.set_viewport_size({"width": 1280, "height": 800})
    cue.wait_for(state="hidden")
    assert page.eval_on_selector_all(".stage", classes) == "stage"


def test_wrapped_examples_keep_their_indent(page: Any, explorer: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    for view in ("trees", "sentence"):
        page.goto(f"{explorer}#{view}")
        page.reload()
        page.wait_for_selector(".example-list .plain")
        boxes = page.eval_on_selector_all(
            ".example-list .plain",
            "all => all.map(one => [one.getBoundingClientRect().left, one.getBoundingClientRect().top])",
        )
        assert len({top for _, top in boxes}) > 1
        firsts = {top: min(left for left, other in boxes if other == top) for _, top in boxes}
        assert len(set(firsts.values())) == 1, view
