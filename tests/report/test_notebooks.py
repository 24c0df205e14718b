"""What notebooks show: everything shows itself, and nothing is too large or unsafe."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import cases
import treelet as tl
from conftest import ROOT, binary, run_python
from treelet.datasets import flights
from treelet.drawing.leaves import excerpt
from treelet.fragments import shared_fragments
from treelet.structures import DependencyBank, SequenceBank, Table, TaggedBank
from treelet.testing import trees

formatters = pytest.importorskip("IPython.core.formatters")

EVIL = "<script>alert`1`</script>&\"'"
BANK = flights(60)
GRAMMAR = tl.PCFG.from_treebank(BANK)
PARSE = tl.Dependencies.from_heads(["the", "cat", EVIL], ["DT", "NN", "V"], [2, 3, 0], ["det", EVIL, "root"])
TAGGED = tl.Tagged(["the", EVIL], ["DT", "NN"])
SVG, HTML = "image/svg+xml", "text/html"


def shown(thing: object) -> dict[str, str]:
    """What IPython sends to a notebook, by kind; a kind whose display fails is not among it."""
    data: dict[str, str] = formatters.DisplayFormatter().format(thing)[0]
    return data


class Page(HTMLParser):
    """A page's tags, its text, and the pictures in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.pictures: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], "tags that are not closed"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        if tag not in ("br", "img"):
            self.open.append(tag)
        if tag == "img":
            data = dict(attrs)["src"].removeprefix("data:image/svg+xml;base64,")
            self.pictures.append(base64.b64decode(data, validate=True).decode())
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    assert {element.tag.partition("}")[2] for element in root.iter()} <= {
        "svg", "title", "path", "g", "circle", "text", "rect",
    }  # fmt: skip
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


# --- pictures -------------------------------------------------------------------------------------------------------


def test_trees_forests_and_parses_are_pictures() -> None:
    tree = tl.Tree("S", [tl.Tree("NP", [EVIL]), tl.Tree("VP", ["run"])])
    assert {"S", "NP", "VP", "run", EVIL} == set(texts(shown(tree)[SVG]))
    forest = tl.Forest.from_trees([(tree, 0.6), (tl.Tree("T", tree.children), 0.4)])
    assert {"S", "T", EVIL} <= set(texts(shown(forest)[SVG]))
    assert {"the", "cat", EVIL, "det", "root"} <= set(texts(shown(PARSE)[SVG]))
    assert shown(tree)["text/plain"] == repr(tree)  # beside it, where there are no pictures


def test_nothing_to_draw() -> None:
    assert shown(tl.Forest([], [])) == {"text/plain": "<Forest: no trees>"}


def test_large_trees_are_cut_and_say_so() -> None:
    deep = tl.Tree("x")
    for _ in range(100_000):
        deep = tl.Tree("A", [deep])
    wide = tl.Tree("S", [tl.Tree("N", [f"w{number}"]) for number in range(2_500)])
    endless = binary(60)  # 2 ** 60 nodes, of which 60 are distinct
    for tree, said in ((deep, "20 of more than 100,000 nodes"), (wide, "59 of 5,001 nodes"), (binary(11), "6,143")):
        svg = shown(tree)[SVG]
        assert len(svg) < 50_000
        assert any(said in text for text in texts(svg) if text.startswith("cut: "))
        assert "…" in texts(svg)
    assert "more than 100,000 nodes" in shown(endless)[SVG]
    for tree in (deep, wide, endless):  # a notebook keeps the text, too
        assert shown(tree)["text/plain"].startswith("<Tree: (")
        assert len(shown(tree)["text/plain"]) < 1_000


def test_a_cut_tree_is_the_upper_part() -> None:
    tree = tl.Tree.parse("(S (A a b c d) (B (C (D d))))")
    assert excerpt(tree) == (tree, "")
    assert excerpt(tree, leaves=4) == (tl.Tree.parse("(S (A a b …) (B (C (D d))))"), "cut: 8 of 10 nodes")
    assert excerpt(tree, levels=3) == (tl.Tree.parse("(S (A a b c d) (B (C …)))"), "cut: 8 of 10 nodes")
    assert excerpt(tree, levels=1).tree == tl.Tree("S", ["…"])
    assert excerpt(tree, leaves=1).tree == tl.Tree("S", ["…"])


@settings(max_examples=60)
@given(trees())
def test_excerpts_are_small_and_begin_as_the_tree_does(tree: tl.Tree) -> None:
    for leaves, levels in ((1, 3), (4, 2), (6, 5)):
        small, note = excerpt(tree, leaves, levels)
        assert len(small.words()) <= leaves
        assert small.height() <= levels
        assert (note == "") == (small == tree)
        assert small.label == tree.label
        pairs = [(small, tree)]
        while pairs:
            part, whole = pairs.pop()
            kept = [child for child in part.children if child.label != "…"]
            assert [child.label for child in kept] == [child.label for child in whole.children[: len(kept)]]
            pairs += zip(kept, whole.children, strict=False)
    assert ElementTree.fromstring(tree._repr_svg_() or "") is not None


def test_large_forests_and_parses_are_cut() -> None:
    words = max((tree.words() for tree in BANK if tree is not None), key=len)
    forest = GRAMMAR.forest(words, prune=20.0)
    assert len(forest.nodes) + len(forest.edges) > 300
    said = texts(shown(forest)[SVG])
    assert any("The most probable tree of Forest: " in text for text in said)
    number = 3_000
    for parse in (
        tl.Dependencies.from_heads([f"w{n}" for n in range(number)], None, [0, *range(1, number)]),
        tl.Dependencies.from_heads([f"w{n}" for n in range(number)], None, [*range(2, number + 1), 0]),
        tl.Dependencies([f"w{n}" for n in range(number)], None, [(n, n + 1, "L") for n in range(number - 1)]),
    ):
        svg = shown(parse)[SVG]
        assert len(svg) < 50_000
        assert "cut: the first 30 of 3,000 words" in texts(svg)
        assert shown(parse)["text/plain"].startswith("<Dependencies: w0 w1 ")
        assert shown(parse)["text/plain"].endswith(" w29 …, 3,000 words>")


# --- tables ---------------------------------------------------------------------------------------------------------


def test_banks_are_short_tables() -> None:
    page = Page(shown(BANK)[HTML])
    assert page.tags.count("tr") == 1 + 5 + 1 + 2
    assert len(page.pictures) == 7
    assert str(BANK.stats()) in page.text
    assert "59" in page.text
    assert len(shown(BANK)[HTML]) < 200_000
    assert len(Page(shown(BANK[:8])[HTML]).pictures) == 8  # not two dots for one row
    assert Page(shown(tl.Treebank([]))[HTML]).tags.count("tr") == 1


def test_every_bank_shows_itself_and_what_is_missing() -> None:
    tree = tl.Tree("S", [EVIL])
    forest = tl.Forest.from_tree(tree)
    for bank in (
        tl.Treebank([tree, None]),
        tl.ForestBank([forest, None]),
        DependencyBank([PARSE, None]),
        TaggedBank([TAGGED, None]),
        SequenceBank([[EVIL, "b"], None]),
    ):
        page = Page(shown(bank)[HTML])
        assert "script" not in page.tags
        assert "<script>alert`1`</script>&" in page.text
        assert "missing" in page.text
        assert all(texts(svg) for svg in page.pictures)


def test_tables_of_several_columns() -> None:
    page = Page(shown(Table({"tree": BANK, "n": np.ones((60, 2)), "word": [EVIL] * 60}))[HTML])
    assert page.tags.count("tr") == 1 + 5 + 1 + 2
    assert len(page.pictures) == 7
    assert "script" not in page.tags
    assert EVIL in page.text
    assert "Table: 60 rows" in page.text


def test_tagged_words() -> None:
    page = Page(shown(TAGGED)[HTML])
    assert "script" not in page.tags
    assert page.text == f"theDT{EVIL}NN"
    assert "… 5,000 words" in Page(shown(tl.Tagged(["w"] * 5_000, ["T"] * 5_000))[HTML]).text


def test_shared_fragments_are_little_trees() -> None:
    shared = shared_fragments(BANK[0], BANK[0], tl.SubsetTree(lam=0.5))
    page = Page(shown(shared)[HTML])
    assert len(page.pictures) == 10
    assert f"{len(shared):,} shared fragments" in page.text
    assert "; the 10 largest contributions" in page.text
    few = shared_fragments(f"(S (A {EVIL}))", f"(S (A {EVIL}))", tl.SubsetTree(lam=1))
    page = Page(shown(few)[HTML])
    assert "script" not in page.tags
    assert "3 shared fragments, sum of contributions 3" in page.text
    assert EVIL in page.text


# --- kernels and models ---------------------------------------------------------------------------------------------


def test_every_kernel_shows_its_expression_and_parameters() -> None:
    for name, case in cases.KERNELS.items():
        page = Page(shown(case.kernel)[HTML])
        assert page.text.strip().startswith(repr(case.kernel)), name
        assert len(shown(case.kernel)[HTML]) < 10_000
    assert "&lt;b&gt;" in shown(tl.On("<b>", tl.SubsetTree()))[HTML]


def test_parameters_have_the_names_that_set_them() -> None:
    kernel = 0.5 * tl.SubsetTree(lam=0.3).normalized() + tl.On("n", tl.PartialTree())
    names = re.findall(r"<code>(\w+)</code> = ", shown(kernel)[HTML])
    assert {"k1__lam", "k1__max_depth", "k2__lam", "k2__mu", "k1__factor"} <= set(names)
    for name, value in {"k1__lam": 0.1, "k2__lam": 0.2, "k2__mu": 0.3, "k1__factor": 2.0}.items():
        kernel.set_params(**{name: value})
    assert kernel == 2.0 * tl.SubsetTree(lam=0.1).normalized() + tl.On("n", tl.PartialTree(lam=0.2, mu=0.3))
    twice = tl.Polynomial(degree=2).polynomial(degree=3)  # the outer one takes the short name
    assert {"kernel__degree", "degree"} <= set(re.findall(r"<code>(\w+)</code> = ", shown(twice)[HTML]))
    named = tl.Sum(syntax=0.5 * tl.SubsetTree().normalized(), words=tl.On("n", tl.Linear()))
    assert "syntax__lam" in shown(named)[HTML]


def test_models_keep_the_diagram_and_say_what_they_learned() -> None:
    y = np.where([len(tree.words()) > 9 for tree in BANK if tree is not None], EVIL, "short")
    for model in (tl.KernelSVC(kernel=tl.SubsetTree()), tl.RLS()):
        before = shown(model)[HTML]
        assert "fitted</div>" not in before
        model.fit(BANK, y if isinstance(model, tl.KernelSVC) else np.arange(len(BANK)))
        after = shown(model)[HTML]
        assert "sk-container" in after  # scikit-learn's own
        assert f"{type(model).__name__}, fitted" in after
        assert str(model.model_.stats()) in after
        assert f"{type(model).__name__}, fitted" in model._repr_html_()
    svc = shown(tl.KernelSVC(kernel=tl.SubsetTree()).fit(BANK, y))[HTML]
    assert "&lt;script&gt;alert" in svc
    assert "<script>alert" not in svc
    machine = tl.KernelSVC(kernel="precomputed").fit(tl.SubsetTree()(BANK), y)
    assert "support examples" in shown(machine)[HTML]


def test_scikit_learns_settings_are_heeded() -> None:
    sklearn = pytest.importorskip("sklearn")
    with sklearn.config_context(display="text"):
        assert HTML not in shown(tl.KernelSVC())
        assert not hasattr(tl.KernelSVC(), "_repr_html_")


def test_showing_trees_loads_no_scikit_learn() -> None:
    code = (
        "import sys, treelet as tl\n"
        "tl.Treebank(['(S (A a))'])._repr_html_(), tl.Tree.parse('(A a)')._repr_svg_(), tl.SubsetTree()._repr_html_()\n"
        "print('sklearn' in sys.modules, 'IPython' in sys.modules)"
    )
    assert run_python(code) == "False False\n"


# --- cells of notebooks -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Any:
    """Runs the cells of a notebook in a kernel of its own."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")

    def run(source: list[str]) -> list[Any]:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in source])
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(ROOT))
        return [output for cell in notebook.cells for output in cell.outputs]

    return run


def test_progress_in_a_notebook_is_one_line_that_changes(client: Any) -> None:
    work = (
        "from treelet import work\n"
        "work._BLINK = 0.0\n"
        "with work.progress_bar(True, 'work <b>', 3) as advance:\n"
        "    for _ in range(3):\n"
        "        advance(1)\n"
    )
    (output,) = client([work])  # no warning about widgets, and nothing on the standard error
    assert re.fullmatch(r"work <b>: 3 of 3, \d+ s", output["data"]["text/plain"])
    page = Page(output["data"][HTML])
    assert "progress" in page.tags
    assert "b" not in page.tags
