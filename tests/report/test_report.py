"""Reports of models, and `treelet explain`."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treelet as tl
from conftest import fail, succeed
from treelet.drawing import heat_svg, web
from treelet.fragments.occurrences import places
from treelet.report.page import Html, data_block, page, paragraphs, table
from treelet.report.report_page import report, report_page
from treelet.structures import Table

EVIL = "<script>alert`1`</script>&\"'</style>-->"
WORDS = {"human": ("who", "whom"), "place": ("where",), "time": ("when", EVIL)}
TREES = [
    f"(SBARQ (WHNP (W {word})) (SQ (V {verb}) (NP (N {noun}))))"
    for words in WORDS.values()
    for word in words
    for verb in ("saw", "left")
    for noun in ("it", "her", "home")
]
LABELS = [label for label, words in WORDS.items() for word in words for _ in range(6)]
MODEL = tl.KernelSVC(tl.SubsetTree(lam=0.4).normalized()).fit(TREES, LABELS)
TWISTED = ["place", *LABELS[1:-1], "human"]  # two labels that the model cannot get right


class Page(HTMLParser):
    """Checks that tags are closed in order; keeps the text outside of scripts and styles, and the tags."""

    VOID = ("meta", "br", "path", "rect", "circle", "img")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.text += data


def made(found: Any) -> tuple[str, Page]:
    text = report_page(
        found, title=f"A report {EVIL}", source=EVIL, card={"kernel": EVIL, "sizes": {"support_examples": 1234}}
    )
    return text, Page(text)


# --- what is found --------------------------------------------------------------------------------------------------


def test_the_worst_errors_of_a_classifier() -> None:
    found = report(MODEL, TREES, TWISTED, top=3, errors=5)
    assert found.figures is not None
    assert (found.figures["correct"], found.wrong) == (28, 2)
    assert [case.numbers for case in found.cases] in ([(0,), (29,)], [(29,), (0,)])
    scores = MODEL.decision_function(TREES)
    for case in found.cases:
        said, right = case.why.output
        place = {name: k for k, name in enumerate(MODEL.classes_.tolist())}
        row = scores[case.numbers[0]]
        assert case.why.score == pytest.approx(row[place[said]] - row[place[right]])
        assert (case.facts["predicted"], case.facts["true"]) == (said, right)
    margins = [case.why.score for case in found.cases]
    assert margins == sorted(margins, reverse=True)
    for learnt in found.learnt:
        for one, seen in zip(learnt.top, learnt.seen, strict=True):
            assert seen is not None
            assert seen.trees == sum(bool(places(one.tree, tree, one.kernel)) for tree in TREES)
            assert len(seen.examples) == min(2, seen.trees)
            for example in seen.examples:
                tree = tl.Tree.parse(TREES[example.number])
                assert places(one.tree, tree, one.kernel)
                words = [tree.words()[k] for k in sorted(example.inside)]
                assert words == [word for word in one.tree.words() if word in tree.words()]


def test_two_classes_and_labels_that_were_never_seen() -> None:
    model = tl.KernelSVC(tl.SubsetTree()).fit(TREES[:18], LABELS[:18])
    found = report(model, TREES[:18], ["place", *LABELS[1:17], "elsewhere"])
    assert [learnt.name for learnt in found.learnt] == ["place"]
    first, second = found.cases
    assert (first.facts["true"], first.why.output) == ("elsewhere", "place")  # there is nothing to compare with
    assert second.why.score == pytest.approx(-2 * float(model.decision_function(TREES[:1])[0]))


def test_without_labels_the_closest_calls_come_first() -> None:
    found = report(MODEL, TREES, errors=30)
    assert (found.figures, found.wrong, len(found.cases)) == (None, 0, 30)
    margins = [case.why.score for case in found.cases]
    assert margins == sorted(margins)


def test_a_regressor() -> None:
    model = tl.RLS(tl.SubsetTree()).fit(TREES, np.arange(30.0))
    truth = [*range(29), 400.0]
    found = report(model, TREES, truth, errors=3)
    assert found.cases[0].numbers == (29,)
    assert found.cases[0].facts == {"predicted": pytest.approx(model.predict(TREES)[29]), "true": 400.0}
    assert "Largest residuals" in made(found)[0]
    assert len(report(model, TREES, errors=2).cases) == 2


def test_a_ranker() -> None:
    trees = ["(S (A a) (B b))", "(S (A a))", "(S (A c) (B d))", "(S (A c))", "(S (B d))", "(S (A a) (C c))"]
    qid = ["x", "x", "y", "y", "z", "z"]
    model = tl.VotedPerceptron(tl.SubsetTree(), prediction="averaged").fit(trees, y=[2, 1, 2, 1, 1, 2], qid=qid)
    scores = model.predict(trees)
    truth = [2, 1, 1, 2, 1, 2]  # y is the wrong way round
    assert scores[2] > scores[3]
    found = report(model, trees, truth, queries=qid)
    assert found.cases[0].facts["query"] == "y"
    assert found.cases[0].numbers == (2, 3)
    assert found.cases[0].why.score == pytest.approx(scores[2] - scores[3])
    text, page = made(found)
    assert "first choice" in text
    assert "Kendall" in page.text
    assert report(model, trees).figures is None


def test_columns() -> None:
    table = Table({"one": tl.Treebank(TREES), "other": tl.Treebank(TREES[::-1])})
    model = tl.KernelSVC(tl.On("one", tl.SubsetTree()) + tl.On("other", tl.PartialTree())).fit(table, LABELS)
    found = report(model, table, TWISTED, errors=1)
    assert found.cases[0].words
    assert made(found)[0].count('class="case"') == 1


def test_partial_trees_have_examples() -> None:
    model = tl.KernelSVC(tl.PartialTree()).fit(TREES, LABELS)
    found = report(model, TREES, LABELS, top=5)
    assert all(seen and seen.examples for learnt in found.learnt for seen in learnt.seen)


def test_forests_tags_and_parses() -> None:
    forests = [tl.Forest.from_trees([(tree, 0.7), (tree.replace("(N ", "(M "), 0.3)]) for tree in TREES[:24]]
    model = tl.KernelSVC(tl.ForestKernel()).fit(forests, LABELS[:24])
    found = report(model, forests, ["place", *LABELS[1:24]])
    text, page = made(found)
    assert found.cases[0].words == "who saw it"
    assert "figure" in [tag for tag, _ in page.tags]
    assert '"kind": "forest"' in text

    tagged = [tl.Tagged([word, "it", EVIL], ["W", "P", tag]) for word in ("who", "where") for tag in "XYZ"]
    model = tl.KernelSVC(tl.Tagging()).fit(tagged, ["human"] * 3 + ["place"] * 3)
    found = report(model, tagged, ["place"] + ["human"] * 2 + ["place"] * 3)
    text, page = made(found)
    told = json.loads(re.search(r'id="case-data">(.*?)</script>', text, flags=re.DOTALL)[1])[0]  # type: ignore[index]
    assert told["trees"][0]["picture"]["words"] == ["who", "it", EVIL]
    places_of = {one["text"]: one["places"] for one in told["fragments"]}
    assert places_of["who/W"] == [[0]]
    assert EVIL in page.text

    parses = [tl.Dependencies([word, "it"], ["W", "V"], [(0, 1, "obj")]) for word in ("who", "where")]
    ranker = tl.RLS(tl.Locality()).fit(parses, [1, -1])
    text, _ = made(report(ranker, parses, [1, 5]))
    assert '"kind": "arcs"' in text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"labels": ["a"]}, "There are 30 examples, but 1 label"),
        ({"top": -1}, "'top' parameter"),
        ({"errors": 1.5}, "'errors' parameter"),
    ],
)
def test_what_does_not_fit_is_said(more: dict[str, Any], said: str) -> None:
    with pytest.raises(tl.TreeletError, match=said):
        report(MODEL, TREES, **more)
    with pytest.raises(tl.TreeletError, match="report needs at least one example"):
        report(MODEL, [])


# --- the page -------------------------------------------------------------------------------------------------------


def test_the_page_is_whole_without_scripts_and_asks_nobody() -> None:
    text, page = made(report(MODEL, TREES, TWISTED))
    for part in ("Evaluation", "Confusion matrix", "Largest fragment weights", "Worst errors", "Model card"):
        assert part in page.text
    assert "Accuracy: 93.3 % (28 of 30 examples; 95 % confidence interval" in page.text
    assert "1,234" in page.text
    assert page.text.count("including the intercept") == 2
    assert sum(tag == "figure" for tag, _ in page.tags) == 2
    assert not [(tag, names) for tag, names in page.tags if {"src", "srcset", "action"} & names.keys()]
    anchors = {names["id"] for _, names in page.tags if "id" in names}
    links = [names["href"] for _, names in page.tags if "href" in names]
    assert len(links) == 8
    assert {link.removeprefix("#") for link in links} <= anchors
    assert "default-src 'none'" in text
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {"http://www.w3.org/2000/svg"}


def test_classes_are_listed_with_the_usual_measures() -> None:
    text = made(report(MODEL, TREES, TWISTED))[1].text
    head = ["Class", "Precision", "Recall", "F1", "Support"]
    assert "".join(head) in text.replace("\n", "")
    assert re.search(r"Macro average\d", text)


def test_the_confusion_matrix_has_the_colors_of_the_picture() -> None:
    """Colors are shares of the true class, as in ``treelet evaluate --picture``; axes and the scale are named."""
    text, page = made(report(MODEL, TREES, TWISTED))
    begin = text.index('<div class="confusion"')
    matrix = text[begin : text.index("</svg>", begin)]
    cells = re.findall(r"<title>([^<]*)</title><rect [^>]*fill=\"(#[0-9a-f]{6})\"[^>]*/></g>", matrix)
    assert len(cells) == 9
    by_title = dict(cells)
    colormap = pytest.importorskip("matplotlib").colormaps["Blues"]
    for title, color in by_title.items():
        share = float(re.search(r"\(([\d.]+) %\)", title)[1]) / 100  # type: ignore[index]
        expected = [round(255 * channel) for channel in colormap(share)[:3]]
        assert list(bytes.fromhex(color[1:])) == pytest.approx(expected, abs=3), title
    for name in ("predicted class", "true class (examples)", "0 %", "50 %", "100 %"):
        assert f">{name}</text>" in matrix
    assert by_title["place, predicted as place: 6 of 7 (85.7 %)"]
    assert by_title["place, predicted as human: 1 of 7 (14.3 %)"]
    assert "shows its share of the true class" in page.text


def test_the_model_card_leaves_out_the_solver(tmp_path: Path) -> None:
    tl.save(MODEL, tmp_path / "m.treelet")
    card = tl.learn.card(tmp_path / "m.treelet")
    text = report_page(report(MODEL, TREES), title="t", source="s", card=card)
    page = Page(text).text[Page(text).text.rindex("Model card") :]
    for name in (
        "KernelSVC (classifier)",
        "SubsetTree(lam=0.4)",
        "Parameter C",
        "human (12)",
        "Training examples",
        "30",
    ):
        assert name in page
    for name in ("cache_size", "max_iter", "shrinking", "tol", "random_state", "bytes", "probability"):
        assert name not in page


def test_a_forged_model_card_is_shown_as_far_as_it_makes_sense() -> None:
    card = {
        "estimator": 3,
        "task": [],
        "parameters": 7,
        "training": {"classes": [], "values": "x", "examples": EVIL},
        "metrics": {"f1": {}},
    }
    text = report_page(report(MODEL, TREES), title="t", source="s", card=card)
    assert EVIL in Page(text).text


def test_everything_is_escaped() -> None:
    text, page = made(report(MODEL, TREES, TWISTED, errors=3))
    kinds = [names.get("type") for tag, names in page.tags if tag == "script"]
    assert kinds == ["application/json", "module"]
    assert EVIL in page.text
    assert "alert`1`</script>" not in text
    told = json.loads(re.search(r'id="case-data">(.*?)</script>', text, flags=re.DOTALL)[1])  # type: ignore[index]
    assert any(EVIL in tree["picture"]["labels"] for case in told for tree in case["trees"])
    assert "</script" not in web.script("report.js")


def test_parts_of_pages() -> None:
    assert paragraphs("a < b", Html("<b>c</b>")) == "<p>a &lt; b</p>\n<p><b>c</b></p>"
    assert "<td>&lt;i&gt;</td>" in table(("x",), [("<i>",)], chosen=[0])
    assert "<title>a&amp;b</title>" in page("a&b", [])
    with pytest.raises(ValueError, match="JSON"):
        data_block("x", float("nan"))
    Page(page("t", [paragraphs(EVIL)]))


@pytest.mark.filterwarnings("ignore:y contains 40 classes")
def test_many_classes_are_listed() -> None:
    trees = [f"(S (A a{k}))" for k in range(40)]
    model = tl.KernelSVC(tl.SubsetTree()).fit(trees, [f"c{k}" for k in range(40)])
    found = report(model, trees, [f"c{(k + 1) % 40}" for k in range(40)], top=0, errors=0)
    text = made(found)[1].text
    assert "There are too many classes (40) for a matrix." in text
    assert "Predicted class" in text


def test_heat_is_drawn_where_it_is() -> None:
    tree = tl.Tree.parse("(A (A (A x)) (B (B y)))")
    heat = [0.0, 0.0, -1.0, 0.0, 0.5, 0.0, 1.0]
    drawing = heat_svg(tree, heat)
    boxes = re.findall(r'<rect [^>]*fill="(#[0-9a-f]{6})" stroke="(\S+)"', drawing)
    assert sum(line == "none" for _, line in boxes) == 1  # the word y
    assert (drawing.count("−1.0"), drawing.count("+0.50"), drawing.count("+1.0")) == (1, 1, 1)
    large = tl.Tree("S", ["x"] * 200)
    assert "cut:" in heat_svg(large, [1.0] * 201)
    with pytest.raises(tl.TreeletError, match="each of 7 nodes"):
        heat_svg(tree, [1.0])


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("explain")
    tl.save(MODEL, made / "m.treelet")
    (made / "test.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(TWISTED, TREES, strict=True)), "utf-8")
    (made / "plain.mrg").write_text("\n".join(TREES[:4]) + "\n", "utf-8")
    return made


def test_the_command_writes_a_report(folder: Path) -> None:
    out = folder / "report.html"
    said = succeed("explain", folder / "m.treelet", folder / "test.tsv", "-o", out, "--errors", 1, "--top", 2).stdout
    assert "30 examples, accuracy 93.33 %" in said
    page = Page(out.read_text("utf-8"))
    assert "1 of 2 errors. " in page.text
    result = json.loads(succeed("explain", folder / "m.treelet", folder / "plain.mrg", "-o", out, "--json").stdout)
    assert (result["figures"], result["examples"]) == (None, 4)
    assert "The 4 examples have no labels" in Page(out.read_text("utf-8")).text


def test_the_command_explains_trees(folder: Path) -> None:
    tree = "(SBARQ (WHNP (W who)) (SQ (V ran)))"
    said = succeed("explain", folder / "m.treelet", tree, "--top", 1).stdout
    why = tl.explain(MODEL, tree)
    assert f"{why.score:+.4f}  score of 'human'" in said
    assert f"{why.fragments[0].share:+.4f}  {why.fragments[0].tree}" in said
    told = json.loads(succeed("explain", folder / "m.treelet", folder / "test.tsv", "--json", "--top", 3).stdout)
    assert [one["number"] for one in told["examples"]] == list(range(1, 31))
    for one in told["examples"]:
        assert sum(part["share"] for part in one["fragments"]) + one["rest"] == pytest.approx(one["score"])
    result = succeed("explain", folder / "m.treelet", tree, "--class", "time", "--json")
    other = json.loads(result.stdout)["examples"][0]
    assert (other["output"], other["predicted"]) == ("time", "human")
    hostile = "(SBARQ (WHNP (W \x1b[2J\u202ewho)) (SQ (V ran)))"
    assert "\x1b" not in succeed("explain", folder / "m.treelet", hostile).stdout


def test_values_and_ranks(folder: Path) -> None:
    lines = [f"{k % 3} |BS:qid| {k // 3} |ES| |BT:tree| {tree} |ET|" for k, tree in enumerate(TREES)]
    (folder / "ranks.klp").write_text("\n".join(lines) + "\n", "utf-8")
    for task, figure in (("regress", "RMSE"), ("rank", "tau")):
        succeed("train", folder / "ranks.klp", "-o", folder / f"{task}.treelet", "--task", task)
        out = folder / f"{task}.html"
        said = succeed("explain", folder / f"{task}.treelet", folder / "ranks.klp", "-o", out).stdout
        assert figure in said
        Page(out.read_text("utf-8"))
        assert "score\n" in succeed("explain", folder / f"{task}.treelet", TREES[0]).stdout


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["test.tsv", "-o", "r.pdf"], "--output of treelet explain must be a file name that ends in .html"),
        (["(A b)", "-o", "r.html"], "A report needs a file of trees, but TREES is a single tree."),
        (
            ["test.tsv", "-o", "r.html", "--class", "time"],
            "--class and --output exclude each other.",
        ),
        (["(A b)", "--class", "nobody"], "--class must be a class of the model: "),
        (["(A b", "--top", "3"], "TREES"),
        (["(A b)", "--top", "-1"], "--top must be a whole number of at least 0. Got -1 instead."),
        (["nowhere.tsv"], "nowhere.tsv"),
        (["test.tsv", "-o", "test.html/none.html"], "none.html"),
    ],
)
def test_errors_are_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], said: str) -> None:
    monkeypatch.chdir(folder)
    assert said in fail("explain", "m.treelet", *more)
    assert not (folder / "r.html").exists()


def test_an_explanation_of_one_class_rather_than_another() -> None:
    scores = dict(zip(MODEL.classes_.tolist(), MODEL.decision_function(TREES[:1])[0].tolist(), strict=True))
    why = tl.explain(MODEL, TREES[0], output=("human", "time"))
    assert (why.output, why.score) == (("human", "time"), pytest.approx(scores["human"] - scores["time"]))
    assert sum(node.share for node in why.heat) + why.intercept == pytest.approx(why.score)
    with pytest.raises(tl.TreeletError, match="one of the classes"):
        tl.explain(MODEL, TREES[0], output=("human", "nobody"))


HOSTILE = {
    "ends": "]]></style></script></svg><svg/onload=alert`1`>",
    "attribute": "\"'onmouseover=alert`1`//",
    "comment": "--><!--",
    "bidi": "\u202eabc\u2066",
    "control": "\x1b[2J\x07",
    "entity": "&lt;script&gt;&#0;",
    "no letter": "\uffff\ufffe",
    "large": "L" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_labels_stay_text_and_bearable(name: str) -> None:
    label = HOSTILE[name]
    trees = [f"(S ({label} {label}) (B b))", "(S (A a) (B b))", "(S (C c) (B b))"]
    model = tl.KernelSVC(tl.SubsetTree()).fit(trees, ["x", "y", label])
    found = report(model, trees, ["y", "y", label])
    text = report_page(found, title=label, source=label, card={"kernel": label}, command=label)
    page = Page(text)
    assert not page.open
    kinds = [names.get("type") for tag, names in page.tags if tag == "script"]
    assert kinds == ["application/json", "module"]
    assert not any(attribute.startswith("on") for _, names in page.tags for attribute in names)
    assert len(text) < 400_000
    for shown in (tl.explain(model, trees[0])._repr_html_(), tl.Tree.parse(trees[0])._repr_svg_()):
        assert not {"script", "svg/onload=alert`1`"} & {tag for tag, _ in Page(shown).tags}
