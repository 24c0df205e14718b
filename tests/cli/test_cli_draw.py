"""The command ``treelet draw``."""

from __future__ import annotations

from pathlib import Path

import pytest

import treelet as tl
from conftest import fail, run
from treelet.drawing import dependency_svg, forest_svg, latex

TREE = "(S (NP (D the) (N cat)) (VP (V sat)))"
CONLLU = "1\tdogs\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"


def test_a_tree_in_brackets(tmp_path: Path) -> None:
    out = tmp_path / "t.svg"
    result = run("draw", TREE, "-o", out)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"picture: {out}\n")
    assert out.read_text(encoding="utf-8") == tl.draw(TREE)
    assert run("draw", TREE, "-o", out, "--style", "Plain", "--triangles", "NP, VP").exit_code == 0
    assert out.read_text(encoding="utf-8") == tl.draw(TREE, style="plain", triangles=["NP", "VP"])
    assert run("draw", TREE, "-o", tmp_path / "t.tex", "--style", "plain").exit_code == 0
    assert (tmp_path / "t.tex").read_text(encoding="utf-8") == latex(TREE, style="plain") + "\n"


def test_a_label_that_no_constituent_has(tmp_path: Path) -> None:
    result = run("draw", TREE, "-o", tmp_path / "t.tex", "--triangles", "NPP")
    assert result.exit_code == 0
    assert result.stderr.splitlines()[0].endswith(
        ": No node has the label 'NPP', so no triangle was drawn for it. Did you mean 'NP'?"
    )
    assert result.stderr.count("NPP") == 1


def test_png_and_pdf(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    assert run("draw", TREE, "-o", tmp_path / "t.png", "--scale", 3).exit_code == 0
    assert imread(tmp_path / "t.png").shape[:2] == (3 * tl.draw(TREE).height, 3 * tl.draw(TREE).width)
    assert run("draw", TREE, "-o", tmp_path / "t.pdf").exit_code == 0
    assert (tmp_path / "t.pdf").read_bytes().startswith(b"%PDF")


def test_files(tmp_path: Path) -> None:
    bank, parses, forests, out = (tmp_path / name for name in ("b.mrg", "d.conllu", "f.jsonl", "t.svg"))
    bank.write_text(f"{TREE}\n(S (A b))\n", encoding="utf-8")
    assert run("draw", bank, "-o", out, "--number", 2).exit_code == 0
    assert out.read_text(encoding="utf-8") == tl.draw("(S (A b))")
    assert "2 trees. Choose one with --number" in fail("draw", bank, "-o", out)
    for number in (0, 3):
        assert "--number must be a whole number from 1 to 2" in fail("draw", bank, "-o", out, "-n", number)
    parses.write_text(CONLLU, encoding="utf-8")
    assert run("draw", parses, "-o", out, "--style", "plain").exit_code == 0
    assert out.read_text(encoding="utf-8") == dependency_svg(tl.structures.read_conllu(parses)[0], style="plain")
    assert run("draw", parses, "-o", out, "--option", "form=grct").exit_code == 0
    assert out.read_text(encoding="utf-8") == tl.draw(tl.read_trees(parses)[0])
    forest = tl.Forest.from_trees([("(S (A x))", 0.6), ("(S (B x))", 0.4)])
    forests.write_text(forest.to_json() + "\n", encoding="utf-8")
    assert run("draw", forests, "-o", out).exit_code == 0
    assert out.read_text(encoding="utf-8") == forest_svg(forest)
    assert "has no plain style" in fail("draw", forests, "-o", out, "--style", "plain")
    assert "Remove --triangles" in fail("draw", parses, "-o", out, "--triangles", "NP")


def test_mistakes(tmp_path: Path) -> None:
    out = tmp_path / "t.svg"
    (tmp_path / "empty.mrg").write_text("", encoding="utf-8")
    assert "no trees" in fail("draw", tmp_path / "empty.mrg", "-o", out)
    assert "must end in .svg" in fail("draw", TREE, "-o", tmp_path / "t.gif")
    assert "Did you mean 'plain'?" in fail("draw", TREE, "-o", out, "--style", "plan")
    assert "--scale applies to .png" in fail("draw", TREE, "-o", out, "--scale", 3)
    assert "TREE is a single tree" in fail("draw", TREE, "-o", out, "-n", 2)
    assert "TREE, column 1" in fail("draw", "(S a", "-o", out)
    assert not out.exists()


def test_an_argument_that_is_neither_a_tree_nor_a_file(tmp_path: Path) -> None:
    message = fail("draw", "sat", "-o", tmp_path / "t.svg")
    assert "'sat' is neither a tree in brackets" in message
    assert "is neither a tree in brackets" not in fail("draw", "@The cat sat", "-o", tmp_path / "t.svg")
