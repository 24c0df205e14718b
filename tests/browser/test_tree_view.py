"""tree-view.js in a browser: every kind of picture, by hand and by keyboard, large and hostile ones."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import treelet as tl
from treelet.datasets import flights
from treelet.drawing import web
from treelet.drawing.arcs import _ArcLayout
from treelet.drawing.svg import MARGIN, ForestGraph, _ForestLayout
from treelet.drawing.web.pictures import picture
from treelet.explorer.handlers import _edited_trees

HOSTILE = "<img src=x onerror=alert`1`></script><script>window.hurt=1</script>\"'&"
SENTENCE = tl.Tree.parse("(S (NP (D the) (N cat)) (VP (V saw) (NP (D a) (N dog))))")
FOREST = tl.Forest.from_trees([("(S (A x) (B y))", 0.6), ("(S (A x) (C y))", 0.4)])
PARSE = tl.Dependencies.from_heads(["the", "cat", "runs"], ["DT", "NN", "VBZ"], [2, 3, 0], ["det", "nsubj", "root"])
TAGGED = tl.Tagged(["time", "flies"], ["N", "V"])
PAGE = """<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="tree-view.css"><div id="here"></div>
<script type="module">import {treeView} from "./tree-view.js"; window.treeView = treeView; window.events = [];
const here = document.getElementById("here");
for (const name of ["node", "hover"]) here.addEventListener(`treelet:${name}`, (e) => window.events.push([name, e.detail.number]));
window.draw = (picture, options) => { window.view?.destroy(); window.view = treeView(here, picture, options); };
window.ready = true;</script>"""

Draw = Callable[..., Any]


@pytest.fixture
def draw(page: Any, serve: Callable[[dict[str, str]], str]) -> Draw:
    """Draws a thing; gives the seconds that it took."""
    page.goto(serve({"index.html": PAGE, **{name: web.text(name) for name in web.FILES}}))
    page.wait_for_function("window.ready")

    def drawn(thing: Any, options: dict[str, Any] | None = None, **more: Any) -> float:
        made = json.dumps(picture(thing, **more))
        return page.evaluate(
            "([text, options]) => { const begin = performance.now(); draw(JSON.parse(text), options);"
            " return (performance.now() - begin) / 1000; }",
            [made, options or {}],
        )

    return drawn


def texts(page: Any) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('#here svg text')].map((one) => one.textContent)")


def focused(page: Any) -> int | None:
    return page.evaluate(
        "() => { const n = document.activeElement?.dataset?.number; return n === undefined ? null : +n; }"
    )


def test_every_kind_is_drawn_with_all_its_texts(page: Any, draw: Draw) -> None:
    draw(SENTENCE)
    assert sorted(texts(page)) == sorted(node.label for node in SENTENCE.nodes())
    assert page.locator("#here svg").get_attribute("role") == "tree"
    assert "the cat saw a dog" in page.locator("#here svg").get_attribute("aria-label")
    draw(FOREST)
    assert {"S", "A", "B", "C", "x", "y", "0.60", "0.40"} <= set(texts(page))
    draw(PARSE)
    assert {"the", "cat", "runs", "DT", "det", "nsubj", "root"} <= set(texts(page))
    draw(TAGGED)
    assert sorted(texts(page)) == ["N", "V", "flies", "time"]


def test_shared_words_are_marked(page: Any, draw: Draw) -> None:
    draw(tl.cuts.mark_shared(SENTENCE, "(S (NP (D the) (N dog)))")[0])
    marked = "[...document.querySelectorAll('#here .treelet-shared > text')].map((one) => one.textContent)"
    assert sorted(page.evaluate(marked)) == ["REL-N", "REL-NP"]


def test_boxes_do_not_overlap(page: Any, draw: Draw, wsj: tl.Treebank) -> None:
    for tree in [wsj[k] for k in (0, 7, 40)]:
        for words in ("bottom", "hang"):
            draw(tree, {"words": words, "limit": 5000, "levels": 500})
            boxes = page.evaluate(
                "[...document.querySelectorAll('.treelet-box')].map((b) => ['x', 'y', 'width', 'height'].map((a) => +b.getAttribute(a)))"
            )
            assert len(boxes) == sum(1 for _ in tree.nodes())
            rows: dict[float, list[tuple[float, float]]] = {}
            for x, y, width, _ in boxes:
                rows.setdefault(y, []).append((x, x + width))
            for row in rows.values():
                row.sort()
                assert all(one[1] < other[0] for one, other in pairwise(row))
            leaves = page.evaluate(
                "[...document.querySelectorAll('.treelet-word > text')].map((one) => one.textContent)"
            )
            if words == "bottom":
                assert leaves == tree.words()


def placed(parents: list[int], widths: list[float], bottom: bool) -> list[float]:
    """Where nodes stand, by definition: subtrees side by side, as near as all that is in them allows, a node over the middle of its children."""
    kids: list[list[int]] = [[k for k, parent in enumerate(parents) if parent == node] for node in range(len(parents))]
    height = [0] * len(parents)
    depth = [0] * len(parents)
    for node in range(len(parents) - 1, 0, -1):
        height[parents[node]] = max(height[parents[node]], height[node] + 1)
    for node in range(1, len(parents)):
        depth[node] = depth[parents[node]] + 1
    row = [height[0] - high for high in height] if bottom else depth

    def subtree(node: int) -> tuple[dict[int, float], list[tuple[int, float, float]]]:
        """Places relative to the node, and what takes room: row, left end, right end."""
        at, room, first = {node: 0.0}, [(row[node], -widths[node] / 2 - 7, widths[node] / 2 + 7)], 0.0
        placed: list[tuple[dict[int, float], list[tuple[int, float, float]], float]] = []
        for kid in kids[node]:
            places, taken = subtree(kid)
            taken = taken + [(level, -6.0, 6.0) for level in range(row[node] + 1, row[kid])]
            there = [(level, right + x) for _, other, x in placed for level, _, right in other]
            x = max((far - left for level, far in there for here, left, _ in taken if here == level), default=0.0)
            placed.append((places, taken, x))
        middle = (placed[0][2] + placed[-1][2]) / 2 if placed else first
        for places, taken, x in placed:
            at |= {one: place + x - middle for one, place in places.items()}
            room += [(level, left + x - middle, right + x - middle) for level, left, right in taken]
        return at, room

    found = subtree(0)[0]
    left = min(found[node] - widths[node] / 2 for node in found)
    return [found[node] - left + 16 for node in range(len(parents))]


def test_trees_stand_as_near_as_they_can(page: Any, draw: Draw) -> None:
    chance = random.Random(0)
    cases = []
    for _ in range(150):
        count = chance.randint(1, 14)
        parents = [-1]
        while len(parents) < count:  # pre-order: a child of the last node, or of one above it
            above = [len(parents) - 1]
            while parents[above[-1]] >= 0:
                above.append(parents[above[-1]])
            parents.append(chance.choice(above))
        cases.append([parents, [float(chance.randint(10, 90)) for _ in parents], chance.random() < 0.5])
    made = page.evaluate(
        "async (cases) => { const {tidy} = await import('./layouts.js');"
        " return cases.map((one) => [...tidy(...one).x]); }",
        cases,
    )
    for case, xs in zip(cases, made, strict=True):
        assert xs == pytest.approx(placed(*case)), case


# --- layouts.js and Python's layouts agree ----------------------------------------------------------------------------

LAYERS = """async (cases) => {
  const {layers} = await import("./layouts.js");
  return cases.map(({nodes, edges, dotted}) => {
    const {layer, at, band, top, width, height} = layers(nodes, edges, (_, k) => dotted[k]);
    return {layer: [...layer], x: at.map((column) => column.map((item) => item.x)), band, top, width, height};
  });
}"""
SCENES = """async (pictures) => {
  const {scene} = await import("./scenes.js");
  return pictures.map((picture) => scene(picture, null, {limit: 100_000}));
}"""
ARCS = """async (cases) => {
  const {arcs} = await import("./layouts.js");
  return cases.map(({words, tags, links}) => {
    const {x, drawn} = arcs(words, tags, links, words.map(() => 0));
    return {x, arcs: drawn.map((arc) => [arc.left.place, arc.right.place, arc.label, arc.level, arc.left.x, arc.right.x, arc.at])};
  });
}"""
LETTERS = "aiWM% \u4f60\u597d"


def random_tree(rng: random.Random, words: list[str]) -> tl.Tree:
    """A tree over given words, with unary chains."""
    if len(words) == 1:
        tree = tl.Tree(rng.choice("ABC"), [tl.Tree(words[0])])
    else:
        cut = rng.randint(1, len(words) - 1)
        tree = tl.Tree(rng.choice("ABC"), [random_tree(rng, words[:cut]), random_tree(rng, words[cut:])])
    return tl.Tree(rng.choice(["U", "a-long-label"]), [tree]) if rng.random() < 0.2 else tree


def random_forest(rng: random.Random) -> tl.Forest:
    words = ["".join(rng.choices(LETTERS.replace(" ", ""), k=rng.randint(1, 12))) for _ in range(rng.randint(1, 9))]
    trees = {str(random_tree(rng, words)) for _ in range(rng.randint(1, 6))}
    return tl.Forest.from_trees([(tree, rng.random()) for tree in sorted(trees)])


def random_parse(rng: random.Random) -> tl.Dependencies:
    size = rng.randint(1, 12)
    words = ["".join(rng.choices(LETTERS.replace(" ", ""), k=rng.randint(1, 40))) for _ in range(size)]
    tags = [rng.choice(["_", "N", "VERB"]) for _ in words]
    kinds = ["x" * rng.randint(1, 15) for _ in words]
    order = rng.sample(range(size), size)
    heads = [0] * size
    for at, word in enumerate(order):
        heads[word] = 1 + rng.choice(order[:at]) if at and rng.random() < 0.9 else 0
    parse = tl.Dependencies.from_heads(words, tags, heads, kinds)
    return parse if rng.random() < 0.7 else tl.Dependencies(words, tags, parse.links)


def test_forests_are_laid_out_as_in_python(page: Any, draw: Draw) -> None:
    rng, bank = random.Random(3), flights(60)
    grammar = tl.PCFG.from_treebank(bank)
    forests = [random_forest(rng) for _ in range(300)]
    forests += [grammar.forest(sentence.words()).prune(prune) for sentence in bank for prune in (1.0, 3.0)]
    layouts = [_ForestLayout(ForestGraph(forest)) for forest in forests]
    cases = [
        {**picture(forest), "dotted": [layout.graph.marked(edge) for edge in layout.graph.edges]}
        for forest, layout in zip(forests, layouts, strict=True)
    ]
    for layout, ours in zip(layouts, page.evaluate(LAYERS, cases), strict=True):
        assert ours["layer"] == layout.graph.layer
        for node, xs in enumerate(ours["x"]):
            first = layout.graph.layer[node]
            assert xs == pytest.approx([layout.at[node, first + k].x for k in range(len(xs))])
        assert sum(map(len, ours["x"])) == len(layout.at)
        assert (ours["band"], ours["top"]) == (layout.band, layout.top)
        assert (ours["width"], ours["height"] - MARGIN) == pytest.approx((layout.width, layout.height))


def test_forests_have_the_probabilities_and_dots_of_python(page: Any, draw: Draw) -> None:
    rng, bank = random.Random(5), flights(30)
    grammar = tl.PCFG.from_treebank(bank)
    forests = [random_forest(rng) for _ in range(300)]
    forests += [grammar.forest(sentence.words()).prune(3.0) for sentence in bank]
    alternatives = 0
    for forest, scene in zip(forests, page.evaluate(SCENES, [picture(forest) for forest in forests]), strict=True):
        graph = ForestGraph(forest)
        layout = _ForestLayout(graph)
        assert [box["number"] for box in scene["boxes"]] == list(range(len(graph.nodes)))
        assert [box["x"] for box in scene["boxes"]] == pytest.approx(
            [layout.at[k, graph.layer[k]].x for k in range(len(graph.nodes))]
        )
        assert [box["y"] for box in scene["boxes"]] == [layout.top[layer] for layer in graph.layer]
        assert [box["shade"] for box in scene["boxes"]] == pytest.approx(graph.posterior)
        assert {box["number"] for box in scene["boxes"] if box["best"]} == graph.best_nodes
        dots = [(x, y, edge) for own in layout.dots.values() for edge, x, y, _ in own if graph.marked(edge)]
        expected = [[x, y, f"{edge.chance:.2g}" if len(graph.own[edge.head]) > 1 else ""] for x, y, edge in dots]
        ours = [[dot["x"], dot["y"], f"{float(dot['label']):.2g}" if dot["label"] else ""] for dot in scene["dots"]]
        assert len(ours) == len(expected)
        for one, other in zip(sorted(ours), sorted(expected), strict=True):
            assert one[:2] == pytest.approx(other[:2])
            assert bool(one[2]) == bool(other[2])
            if one[2]:
                assert float(one[2]) == pytest.approx(float(other[2]), abs=0.011)
                alternatives += 1
    assert alternatives > 300


def test_arcs_are_laid_out_as_in_python(page: Any, draw: Draw) -> None:
    rng = random.Random(4)
    parses = [random_parse(rng) for _ in range(500)]
    cases = [picture(parse) for parse in parses]
    crossed = 0
    for parse, case, ours in zip(parses, cases, page.evaluate(ARCS, cases), strict=True):
        layout = _ArcLayout(parse, "tags" in case)
        assert [x - MARGIN for x in ours["x"]] == pytest.approx(layout.x)
        arcs = {(left, right, label): numbers for left, right, label, *numbers in ours["arcs"]}
        assert len(arcs) == len(layout.arcs)
        for arc in layout.arcs:
            level, *xs = arcs[arc.left.word, arc.right.word, arc.label]
            assert level == arc.level
            assert [x - MARGIN for x in xs] == pytest.approx([arc.left.x, arc.right.x, arc.at])
            crossed += bool(arc.crossed)
    assert crossed > 100


def test_heat_has_color_sign_and_a_legend(page: Any, draw: Draw) -> None:
    draw(SENTENCE, heat=[0.5, -0.25] + [0.0] * 12)
    assert page.locator(".treelet-plus").count() == 1
    assert page.locator(".treelet-minus").count() == 1
    assert {"+0.50", "−0.25"} <= set(texts(page))
    assert page.locator(".treelet-legend").inner_text().split()[:2] == ["−0.50", "+0.50"]


EDITS = "(S (NP (D the) (N cat)) (VP (V sat) (PP (P on) it)))", "(S (NP (D the) (ADJ old) (N dog)) (VP (V sat) it))"


def show(page: Any, content: dict[str, Any], options: dict[str, Any] | None = None) -> None:
    page.evaluate("([content, options]) => draw(content, options)", [content, options or {}])


def test_edits_have_signs_forms_and_a_legend(page: Any, draw: Draw) -> None:
    first, second = _edited_trees(tl.edit_script(*EDITS))
    show(page, first)
    assert page.locator("g.treelet-delete").count() == page.locator("path.treelet-strike").count() == 3
    assert {"cat", "→ dog", "−", "~"} <= set(texts(page))
    assert page.locator(".treelet-legend").inner_text().split() == ["−", "deleted", "~", "renamed"]
    assert page.locator("g.treelet-delete").first.get_attribute("aria-label") == "PP, deleted"
    show(page, second)
    widths = "all => all.map((one) => getComputedStyle(one).strokeWidth)"
    assert page.eval_on_selector_all("g.treelet-insert > rect", widths) == ["3px", "3px"]
    assert page.locator("g.treelet-rename").get_attribute("aria-label") == "dog, renamed was cat"
    assert page.locator(".treelet-legend").inner_text().split() == ["+", "inserted", "~", "renamed"]
    boxes = page.eval_on_selector_all("g[data-number] > rect", "all => all.map((one) => one.getBBox().x)")
    assert min(boxes) >= 10, "there is room for signs"
    page.evaluate("view.mark([4])")
    assert page.locator(".treelet-lit").count() == 1
    assert page.locator(".treelet-lit-open").count() == 0


def test_unchanged_parts_of_large_trees_are_folded(page: Any, draw: Draw) -> None:
    tree = f"(S {' '.join(f'(X (Y a{n}) (Y b))' for n in range(60))})"
    first, _ = _edited_trees(tl.edit_script(tree, tree.replace("a40", "changed")))
    show(page, first)
    assert {"a40", "→ changed"} <= set(texts(page))
    assert "a39" not in texts(page)
    assert "nodes are shown" in page.inner_text(".treelet-note")
    assert page.locator("g.treelet-rename").count() == 1


def test_marks_are_outlined_and_light_up(page: Any, draw: Draw) -> None:
    draw(SENTENCE, marks=[[0, 1, 6]])
    assert page.locator("rect.treelet-mark").count() == 3
    assert page.locator("path.treelet-mark").count() == 2
    page.evaluate("view.mark([6, 7])")
    assert page.evaluate("[...document.querySelectorAll('g.treelet-lit')].map((one) => +one.dataset.number)") == [6, 7]
    assert page.locator("path.treelet-lit").count() == 1
    page.evaluate("view.mark(null)")
    assert page.locator(".treelet-lit").count() == 0


def test_clicks_and_the_keyboard(page: Any, draw: Draw) -> None:
    draw(SENTENCE)
    page.locator("g[data-number='6']").click()
    assert ["node", 6] in page.evaluate("events")
    assert ["hover", 6] in page.evaluate("events")
    assert focused(page) == 6
    walk = {"ArrowDown": 7, "ArrowRight": 9, "ArrowLeft": 7, "ArrowUp": 6, "Home": 0}
    for key, number in walk.items():
        page.keyboard.press(key)
        assert focused(page) == number
    page.keyboard.press("Space")  # folds
    assert page.locator("g[data-number]").count() == 2
    page.keyboard.press("ArrowDown")  # opens again
    assert (page.locator("g[data-number]").count(), focused(page)) == (14, 1)
    page.keyboard.press("Enter")
    assert page.evaluate("events.filter(([name]) => name === 'node').at(-1)") == ["node", 1]
    page.keyboard.press("+")
    near = page.locator("#here svg").get_attribute("viewBox")
    page.keyboard.press("0")
    assert page.locator("#here svg").get_attribute("viewBox") != near


def test_update_keeps_what_is_open(page: Any, draw: Draw) -> None:
    draw(SENTENCE)
    page.locator("g[data-number='1']").click()
    page.keyboard.press("Space")
    page.evaluate("p => view.update(p)", picture(SENTENCE, heat=[1.0] * 14))
    assert page.locator("g[data-number='2']").count() == 0
    page.evaluate("p => view.update(p)", picture("(S a b)"))
    assert sorted(texts(page)) == ["S", "a", "b"]
    page.evaluate("view.destroy()")
    assert page.locator("#here *").count() == 0


def test_large_trees_are_folded_and_say_so(page: Any, draw: Draw) -> None:
    deep = tl.Tree("x")
    for _ in range(10_000):
        deep = tl.Tree("A", [deep])
    assert draw(deep) < 20
    assert "of 10,001 nodes" in page.locator(".treelet-note").inner_text()
    before = page.locator("g[data-number]").count()
    page.locator("g[data-more]").click()
    assert page.locator("g[data-number]").count() > before
    opened = page.locator("g[data-number]").count()
    page.evaluate("view.mark([9000])")  # what is lit is opened, unless that is too much
    assert page.locator("g[data-number]").count() == opened
    page.evaluate("view.mark([100])")
    assert page.evaluate("document.querySelector('g.treelet-lit').dataset.number") == "100"

    wide = tl.Tree("W", [tl.Tree("a", [f"x{k}"]) for k in range(90_000)])  # a megabyte of brackets
    assert len(str(wide)) > 900_000
    assert draw(wide) < 20
    assert page.locator("g[data-number]").count() < 400
    page.evaluate("view.select(2000)")
    assert draw(tl.Tagged(["w"] * 20_000, ["T"] * 20_000)) < 20


def test_labels_are_only_text(page: Any, draw: Draw) -> None:
    said = HOSTILE.replace(" ", "_")
    draw(tl.Tree(said, [tl.Tree("__proto__"), tl.Tree(said)]))
    draw(tl.Dependencies.from_heads([said], [said], [0], [said]))
    draw(tl.Tagged([said], [said.replace("/", "")]))
    draw(
        tl.Forest.from_trees(
            [(tl.Tree(said, [tl.Tree("A", [said])]), 0.5), (tl.Tree(said, [tl.Tree("B", [said])]), 0.5)]
        )
    )
    assert page.evaluate("window.hurt") is None
    assert page.locator("#here img, #here script").count() == 0
    assert any(text.startswith("<img") for text in texts(page))


def test_one_text_does_the_same(page: Any, serve: Callable[[dict[str, str]], str]) -> None:
    content = PAGE.replace('"./tree-view.js"', '"./one.js"')
    page.goto(serve({"index.html": content, "one.js": web.script(), "tree-view.css": web.style()}))
    page.wait_for_function("window.ready")
    page.evaluate("p => draw(p)", picture(SENTENCE))
    assert sorted(texts(page)) == sorted(node.label for node in SENTENCE.nodes())


def test_an_image_needs_no_keys(page: Any, draw: Draw) -> None:
    draw(SENTENCE, {"interactive": False})
    assert page.locator("#here svg").get_attribute("role") == "img"
    assert page.locator("[tabindex], button").count() == 0
