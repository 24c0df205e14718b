"""Pictures: well formed, complete, and nothing on top of something else."""

from __future__ import annotations

import itertools
import os
import pickle
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import run_python, trials
from treelet.drawing import dependency_svg, draw, forest_svg, latex, tree_svg
from treelet.drawing.drawing import _SPECIAL
from treelet.drawing.svg import ForestGraph, _ForestLayout
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.parsing import PCFG
from treelet.report import marked_svg
from treelet.testing import trees

NAME = "{http://www.w3.org/2000/svg}"
GRAMMAR = PCFG.from_rules(
    [
        ("S", ("NP", "VP"), 1.0),
        ("VP", ("V", "NP"), 0.6),
        ("VP", ("VP", "PP"), 0.4),
        ("NP", ("NP", "PP"), 0.2),
        ("NP", ("D", "N"), 0.5),
        ("NP", ("John",), 0.3),
        ("PP", ("P", "NP"), 1.0),
        ("V", ("saw",), 1.0),
        ("D", ("a",), 1.0),
        ("N", ("man",), 0.5),
        ("N", ("bank",), 0.5),
        ("P", ("in",), 1.0),
    ],
    start="S",
)
WORDS = ["John", "saw", "a", "man", "in", "a", "bank", "in", "a", "bank"]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(NAME + "text")]


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    keys = ("x", "y", "width", "height")
    return [tuple(float(box.attrib[key]) for key in keys) for box in ElementTree.fromstring(svg).iter(NAME + "rect")]


def assert_apart(forest: tl.Forest) -> None:
    """No box over another, all within the picture, and in a layer also no dots and no passing line over anything."""
    svg = forest_svg(forest, limit=10**6)
    root = ElementTree.fromstring(svg)
    found = boxes(svg)
    for number, (x, y, width, height) in enumerate(found):
        assert x >= 0
        assert y >= 0
        assert x + width <= float(root.attrib["width"])
        assert y + height <= float(root.attrib["height"])
        for other_x, other_y, other_width, other_height in found[:number]:
            beside = x + width <= other_x or other_x + other_width <= x
            assert beside or y + height <= other_y or other_y + other_height <= y
    layout = _ForestLayout(ForestGraph(forest))
    for layer in layout.layers:
        ordered = sorted(layer, key=lambda item: item.x)
        for a, b in itertools.pairwise(ordered):
            assert a.x + a.width / 2 < b.x - b.width / 2
    for edge in layout.graph.edges:
        for tail in edge.tails:
            assert layout.top[layout.graph.layer[tail]] > layout.top[layout.graph.layer[edge.head]]


def test_everything_is_in_the_picture() -> None:
    forest = GRAMMAR.forest(WORDS)
    svg = forest_svg(forest)
    shown = texts(svg)
    assert {node.label for node in forest.nodes} <= set(shown)
    assert [text for text in shown if text in WORDS] == WORDS
    assert len(boxes(svg)) == sum(node.label not in WORDS for node in forest.nodes)
    assert "5 trees, the most probable one in bold" in shown
    assert "5 trees" not in forest_svg(forest, caption=False)
    for posterior in forest.posterior():
        assert posterior > 0.9995 or f"{posterior:.2f}" in shown
    assert_apart(forest)


def test_the_words_are_in_order_and_their_tags_above_them() -> None:
    layout = _ForestLayout(ForestGraph(GRAMMAR.forest(WORDS)))
    words = [item for item in layout.layers[0] if not item.passing]
    assert [layout.graph.nodes[item.node].label for item in sorted(words, key=lambda item: item.x)] == WORDS
    for item in layout.layers[1]:
        if not item.passing:
            [below] = layout.graph.own[item.node][0].tails
            assert item.x == pytest.approx(layout.at[below, 0].x, abs=1)


def test_chances_and_the_best_tree() -> None:
    forest = tl.Forest.from_trees([("(S (A x) (B y))", 0.7), ("(S (C x y))", 0.3)])
    graph = ForestGraph(forest)
    chances = {tuple(graph.nodes[tail].label for tail in edge.tails): edge for edge in graph.edges}
    assert chances["A", "B"].chance == pytest.approx(0.7)
    assert chances["x", "y"].chance == pytest.approx(1)
    assert chances["A", "B"].best
    assert not chances["C",].best
    assert not chances["x", "y"].best
    assert {graph.nodes[node].label for node in graph.best_nodes} == {"S", "A", "B", "x", "y"}
    assert {"0.70", "0.30"} <= set(texts(forest_svg(forest)))
    for edges in ForestGraph(GRAMMAR.forest(WORDS)).own.values():
        assert sum(edge.chance for edge in edges) == pytest.approx(1)


@settings(max_examples=60)
@given(st.lists(trees(labels=("S", "A", "B"), words=("x", "y"), max_nodes=12), min_size=1, max_size=5))
def test_nothing_overlaps(found: list[tl.Tree]) -> None:
    found = [tree for tree in found if tree.children and len(tree.words()) == len(found[0].words())]
    if not found:
        return
    words = found[0].words()
    same = [tree for tree in found if tree.words() == words]
    for packing in ("nodes", "union"):
        assert_apart(tl.Forest.from_trees([(tree, 1 + n) for n, tree in enumerate(same)], packing=packing))


def test_many_alternatives_of_one_node() -> None:
    items = [(f"(S ({label}{label} x) (Z y))", 1) for label in "ABCDEFGHIJ"]
    assert_apart(tl.Forest.from_trees(items))


def test_text_is_escaped_and_long_labels_are_cut() -> None:
    odd = ["<&>", "]]>", '"quoted"', "\x01\x1f", "日本語", "é" * 500]
    tree = tl.Tree("S<1>", [tl.Tree("A&B", [word]) for word in odd])
    shown = texts(tree_svg(tree))
    assert shown.count("A&B") == len(odd)
    assert {"S<1>", "<&>", "]]>", '"quoted"', "日本語", "\ufffd\ufffd"} <= set(shown)
    assert "é" * 31 + "…" in shown
    assert "é" * 500 in tree_svg(tree)  # in the tooltip
    assert_apart(tl.Forest.from_tree(tree))


def test_a_hidden_root_is_a_circle() -> None:
    forest = tl.Forest.from_trees([("(S (A x))", 0.6), ("(T (A x))", 0.4)])
    assert forest.nodes[forest.root].label == ""
    svg = forest_svg(forest)
    assert len(boxes(svg)) == 3
    circles = [c for c in ElementTree.fromstring(svg).iter(NAME + "circle") if c.attrib["r"] == "6"]
    assert len(circles) == 1
    assert {"0.60", "0.40"} <= set(texts(svg))


def test_trees() -> None:
    svg = tree_svg("(S (NP (N John)) (VP (V sleeps)))")
    assert svg == tree_svg(tl.Tree.parse("(S (NP (N John)) (VP (V sleeps)))"))
    assert sorted(texts(svg)) == sorted(["S", "NP", "N", "John", "VP", "V", "sleeps"])
    assert "<circle" not in svg  # there is nothing to choose
    assert texts(tree_svg(tl.Tree("word"))) == ["word"]


def test_probabilities_beyond_floats() -> None:
    forest = tl.Forest.from_json('{"nodes": [["x", 0, 1], ["A", 0, 1]], "edges": [[1, [0], -2000.0]], "root": 1}')
    assert "x" in texts(forest_svg(forest))


def test_limits() -> None:
    forest = GRAMMAR.forest(WORDS)
    with pytest.raises(TreeError, match="forest has 33 nodes and 27 edges"):
        forest_svg(forest, limit=59)
    assert forest_svg(forest, limit=60)
    with pytest.raises(TreeError, match="The tree has more than 3 nodes"):
        tree_svg("(S (A x) (B y))", limit=3)
    shared = tl.Tree("x")
    for _ in range(60):
        shared = tl.Tree("A", [shared, shared])  # 2**60 words, in no time
    with pytest.raises(TreeError, match="too many to draw"):
        tree_svg(shared)


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(TreeError, match="there is nothing to draw"):
        forest_svg(tl.Forest([], []))
    with pytest.raises(InputTypeError, match="str instead"):
        forest_svg("(S (A x))")  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="a Tree or a bracketed string"):
        tree_svg(3)
    for limit in (0, True, 2.5):
        with pytest.raises(ParameterError, match="'limit' parameter"):
            forest_svg(GRAMMAR.forest(WORDS), limit=limit)  # type: ignore[arg-type]


# --- saved in other forms -------------------------------------------------------------------------------------------


def test_a_drawing_is_its_svg_and_shows_itself() -> None:
    drawing = draw("(S (A a) (B b))")
    assert isinstance(drawing, str)
    assert drawing == tree_svg("(S (A a) (B b))") == drawing._repr_svg_()
    assert repr(drawing) == f"<Drawing: {drawing.width:.0f} x {drawing.height:.0f}>"
    again = pickle.loads(pickle.dumps(drawing))
    assert (again, again.of) == (drawing, tl.Tree.parse("(S (A a) (B b))"))
    parse = tl.Dependencies.from_heads(["a", "b"], None, [2, 0])
    assert draw(parse, tags=False) == dependency_svg(parse, tags=False)
    assert draw(GRAMMAR.forest(WORDS), caption=False) == forest_svg(GRAMMAR.forest(WORDS), caption=False)
    with pytest.raises(InputTypeError, match="Got a list instead"):
        draw([1])


def test_saved_by_the_ending_of_the_name(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawing = draw("(S (A a) (B b))")
    for name in ("t.svg", "t.SVG", "t.png", "t.pdf", "t.tex"):
        drawing.save(tmp_path / name)
    assert (
        (tmp_path / "t.svg").read_text(encoding="utf-8") == drawing == (tmp_path / "t.SVG").read_text(encoding="utf-8")
    )
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "t.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "t.tex").read_text(encoding="utf-8") == latex("(S (A a) (B b))") + "\n"
    for name, message in (("t.gif", "must end in .svg, .png, .pdf or .tex"), ("t", "must end in")):
        with pytest.raises(ParameterError, match=message):
            drawing.save(tmp_path / name)
    with pytest.raises(ParameterError, match=r"'scale'.*a positive number"):
        drawing.save(tmp_path / "u.png", scale=0)
    assert sorted(os.listdir(tmp_path)) == ["t.SVG", "t.pdf", "t.png", "t.svg", "t.tex"]


def test_a_png_shows_what_the_svg_says(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    parse = tl.Dependencies.from_heads(["dogs", "bark"], ["N", "V"], [2, 0], ["nsubj", "root"])
    marked = marked_svg("(S (A (B x)) (C y))", gold="(S (B x) (C y))")
    for drawing, colors in (
        (draw("(S (A a) (B b))"), ("#c9ddf2", "#1b1b1b")),
        (draw(GRAMMAR.forest(WORDS)), ("#1b1b1b", "#d55e00", "#9aa3ad")),
        (draw(parse), ("#5b6770", "#a33b20")),
        (marked, ("#fbdcd6", "#c0341d")),
    ):
        drawing.save(tmp_path / "t.png", scale=3)
        pixels = (imread(tmp_path / "t.png")[:, :, :3] * 255).round().astype(int)
        assert pixels.shape == (3 * round(drawing.height), 3 * round(drawing.width), 3)
        for color in colors:
            wanted = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
            assert (abs(pixels - wanted).max(axis=2) <= 2).any(), color
    draw("(S (A a) (B b))").save(tmp_path / "t.png", scale=3)
    pixels = imread(tmp_path / "t.png")
    for x, y, width, height in boxes(draw("(S (A a) (B b))")):  # each where it should be
        assert (abs(pixels[int(3 * y + 12), int(3 * x + 12), :3] * 255 - [0xC9, 0xDD, 0xF2]) <= 2).all()
        assert (pixels[int(3 * (y + height) + 12), int(3 * (x + width) + 6), :3] == 1).all()


def test_letters_without_a_font_are_an_error(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw("(S (Ä ж) (B $x$))").save(tmp_path / "t.png")
    with pytest.raises(tl.TreeletError, match=r"picture as \.svg instead of \.png"):
        draw(f"(S {chr(0x10FFF0)})").save(tmp_path / "u.png")
    assert os.listdir(tmp_path) == ["t.png"]


def test_without_matplotlib(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = None\n"
        "from treelet import TreeletError\n"
        "from treelet.drawing import draw\n"
        "try:\n"
        f"    draw('(S a)').save({str(tmp_path / 't.png')!r})\n"
        "except TreeletError as error:\n"
        "    print(error)\n"
    )
    assert (
        run_python(code)
        == "Writing .png requires matplotlib. Install it with pip install 'treelet[viz]', or choose .svg.\n"
    )
    assert os.listdir(tmp_path) == []


# --- LaTeX ----------------------------------------------------------------------------------------------------------


UNTEX = {escape: letter for letter, escape in _SPECIAL.items()}
TOKEN = re.compile(r"\\[A-Za-z]+(?:\{\d*\})?|\\.|\{\}|.", re.DOTALL)
NASTY = list("$&%#_{}~^\\[],=\"'`<>|-!?;:/@*+") + ["ab", "é", "東", "\\alpha", "''", "``", "---", ",,", "^^M"]


def read_back(text: str) -> tl.Tree:
    """The tree of a forest environment, by the rules of TeX: braces group, and what is escaped is a letter."""
    body = text.partition("{tier=word}{}")[2].rpartition("\\end{forest}")[0]
    stack: list[tuple[str, list[tl.Tree]]] = []
    label, depth, done = "", 0, None
    for token in TOKEN.findall(body):
        if token == "{}":
            continue
        if token in UNTEX:
            label += UNTEX[token]
        elif token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
        elif depth == 0 and token in "[] \n":
            if label:
                stack[-1] = (label, stack[-1][1])
                label = ""
            if token == "[":
                stack.append(("", []))
            elif token == "]":
                name, children = stack.pop()
                done = tl.Tree(name, children)
                if stack:
                    stack[-1][1].append(done)
        else:
            assert token not in "$&%#_~^\\", f"{token} is not escaped"
            assert depth or token not in ",=", f"{token} would be an option"
            label += token
    assert done is not None
    return done


@settings(max_examples=trials(200))
@given(trees(labels=NASTY, words=NASTY, max_nodes=30))
def test_latex_says_the_tree(tree: tl.Tree) -> None:
    text = latex(tree)
    assert read_back(text) == tree
    assert not re.search(r"--|''|,,", text), "a ligature"
    assert all(len(line) < 160 for line in text.splitlines())


def test_latex_of_long_and_deep_trees() -> None:
    wide = tl.Tree("S", [tl.Tree("N", [f"w{number}"]) for number in range(300)])
    assert read_back(latex(wide)) == wide
    deep = tl.Tree("x")
    for _ in range(400):
        deep = tl.Tree("A", [deep])
    assert read_back(latex(deep)) == deep
    for _ in range(100_000):
        deep = tl.Tree("A", [deep])
    with pytest.raises(TreeError, match="100,400 levels deep, but"):
        latex(deep)
    with pytest.raises(InputTypeError, match=r"Pass its most probable tree, forest\.best"):
        latex(GRAMMAR.forest(WORDS))
    with pytest.raises(InputTypeError, match="Got an int instead"):
        latex(3)
    with pytest.raises(ParameterError, match="This picture has no LaTeX form"):
        draw(GRAMMAR.forest(WORDS)).save("never.tex")


def test_latex_of_dependencies() -> None:
    parse = tl.Dependencies.from_heads(["a&", "b"], ["N", "_"], [2, 0], ["nsubj:x", "root"])
    assert latex(parse).splitlines()[3:] == [
        r"    a\symbol{38} \& b \\",
        r"    N \& \_ \\",
        r"  \end{deptext}",
        r"  \depedge{2}{1}{{nsubj:x}}",
        r"  \deproot{2}{root}",
        r"\end{dependency}",
    ]
    assert r"\depedge[-]{1}{2}{L}" in latex(tl.Dependencies(["a", "b"], None, [(0, 1, "L")]))


def test_latex_compiles(tmp_path: Path) -> None:
    kpsewhich = shutil.which("kpsewhich")
    packages = ("forest.sty", "tikz-dependency.sty")
    if (
        not shutil.which("pdflatex")
        or not kpsewhich
        or subprocess.run([kpsewhich, *packages], capture_output=True, check=False).returncode
    ):
        pytest.skip("needs pdflatex with the packages forest and tikz-dependency")
    words = [word for word in NASTY if word.isascii()]
    tree = tl.Tree("S", [tl.Tree(word, [word]) for word in words])
    parse = tl.Dependencies.from_heads(words, words, [0, *[1] * (len(words) - 1)], words)
    plain = latex(tl.Tree("TOP", [tree]), style="plain", triangles=["S"])
    body = "\n\n".join([*map(latex, (tree, parse, tl.Tree("x"))), latex(tree, style="plain"), plain])
    source = f"\\documentclass{{article}}\\usepackage[linguistics]{{forest}}\\usepackage{{tikz-dependency}}\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (tmp_path / "t.tex").write_text(source, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
