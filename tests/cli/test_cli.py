"""The command line, as it is run: what it prints, what it writes, and how it fails."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treelet as tl
from conftest import fail, posix, process, run, succeed
from treelet.cli.options import kernel_from_options
from treelet.cli.train import _DECAYS, _LEARNERS
from treelet.formats.base import FORMATS

TREES = [
    "(S (NP (D the) (N cat)) (VP (V sat)))",
    "(S (NP (D the) (N dog)) (VP (V ran)))",
    "(S (NP (N cats)) (VP (V ran)))",
]


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    file = tmp_path / "bank.mrg"
    file.write_text("\n".join(TREES), encoding="utf-8")
    return file


# --- gram -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "kernel"),
    [
        ([], tl.SubsetTree(lam=0.4).normalized()),
        (["--kernel", "sst", "--lam", "0.7", "--max-depth", "2"], tl.SubsetTree(lam=0.7, max_depth=2).normalized()),
        (["--kernel", "st", "--no-normalize"], tl.Subtree()),
        (["--leaves", "--no-normalize"], tl.SubsetTree(leaves=True)),
        (
            ["-k", "pt", "--lam", "0.5", "--mu", "0.3", "--no-leaves"],
            tl.PartialTree(lam=0.5, mu=0.3, leaves=False).normalized(),
        ),
        (["--normalize", "--jobs", "2", "--memory", "1MiB"], tl.SubsetTree(lam=0.4).normalized()),
        (["--measure", "edit"], tl.EditDistance().similarity()),
        (["--measure", "edit-distance", "--jobs", "2"], tl.EditDistance()),
    ],
)
def test_gram_writes_what_the_kernel_gives(bank: Path, options: list[str], kernel: tl.kernels.Kernel) -> None:
    output = bank.with_name("K.npy")
    result = succeed("gram", bank, "-o", output, *options)
    K = np.load(output)
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, kernel(TREES))
    assert "3 trees" in result.stderr
    assert repr(kernel) in result.stderr
    assert str(output) in result.stderr
    assert sorted(os.listdir(bank.parent)) == ["K.npy", "bank.mrg"]
    assert output.stat().st_mode & 0o777 == bank.stat().st_mode & 0o777


@pytest.mark.parametrize(("suffix", "separator"), [(".tsv", "\t"), (".csv", ","), (".txt", None)])
def test_gram_as_text_reads_back_exactly(bank: Path, suffix: str, separator: str | None) -> None:
    output = bank.with_name("K" + suffix)
    succeed("gram", bank, "-o", output, "--lam", "0.3")
    np.testing.assert_array_equal(np.loadtxt(output, delimiter=separator), tl.SubsetTree(lam=0.3).normalized()(TREES))


def test_gram_from_stdin_to_stdout() -> None:
    result = succeed("gram", "-", "-o", "-", "--lam", "1", "--no-normalize", input="\n".join(TREES))
    np.testing.assert_array_equal(np.loadtxt(io.StringIO(result.stdout)), tl.SubsetTree(lam=1)(TREES))


def test_a_small_matrix_is_printed(bank: Path) -> None:
    trees = ["(NP (D the) (N apple))", "(NP (D the) (N pear))", "(VP (V eat))"]
    result = succeed("gram", *trees, "--lam", "1", "--no-normalize")
    assert result.stdout == "6  3  0\n3  6  0\n0  0  3\n"
    assert "standard output" in result.stderr
    assert succeed("gram", *trees[:2]).stdout == "       1  0.606061\n0.606061         1\n"
    bank.write_text("(A a)\n" * 21, encoding="utf-8")
    assert "21 x 21 values is too large to print. Write it to a file" in fail("gram", bank)
    assert "Pass trees only, or files only." in fail("gram", bank, "(A a)")
    assert "tree 2 of TREES, column 1" in fail("gram", "(A a)", "(A a")
    assert "standard output" in fail("gram", "(A a)", "--json")


def test_gram_with_other_columns(bank: Path) -> None:
    others = bank.with_name("others.tsv")
    others.write_text(f"a\t{TREES[2]}\nb\t(NP (N cats))\n", encoding="utf-8")
    output = bank.with_name("K.npy")
    result = succeed("gram", bank, "--columns", others, "-o", output)
    np.testing.assert_array_equal(np.load(output), tl.SubsetTree().normalized()(TREES, [TREES[2], "(NP (N cats))"]))
    assert "columns: 2 trees" in result.stderr


def test_gram_json(bank: Path) -> None:
    output = bank.with_name("K.npy")
    result = succeed("gram", bank, "-o", output, "--json")
    summary = json.loads(result.stdout)
    assert summary["shape"] == [3, 3]
    assert summary["rows"] == tl.Treebank(TREES).stats()
    assert summary["output"] == str(output)
    assert (summary["measure"], summary["kernel"]) == ("kernel", "SubsetTree(lam=0.4).normalized()")
    assert result.stderr == ""
    edited = json.loads(succeed("gram", bank, "-o", output, "--measure", "edit", "--json").stdout)
    assert (edited["measure"], edited["kernel"]) == ("edit", None)


@pytest.mark.usefixtures("impatient")
def test_gram_format_and_progress(bank: Path) -> None:
    file = bank.with_name("trees.data")
    file.write_text("".join(f"x\t{tree}\n" for tree in TREES), encoding="utf-8")
    result = succeed("gram", file, "--format", "tsv", "-o", "-")
    assert len(result.stdout.splitlines()) == 3
    assert "values: 6 of 6" in result.stderr
    assert "values: " not in succeed("gram", bank, "-o", "-", "--no-progress").stderr


def test_gram_of_nothing(bank: Path) -> None:
    bank.write_text("", encoding="utf-8")
    output = bank.with_name("K.npy")
    assert succeed("gram", bank, "-o", output).stderr.startswith(
        f"treelet: warning: {bank}: the file contains no trees"
    )
    assert np.load(output).shape == (0, 0)


def test_gram_replaces_a_file_only_when_it_is_done(bank: Path) -> None:
    output = bank.with_name("K.npy")
    output.write_text("old", encoding="utf-8")
    bank.write_text("(S (NP", encoding="utf-8")
    fail("gram", bank, "-o", output)
    assert output.read_text(encoding="utf-8") == "old"
    assert sorted(os.listdir(bank.parent)) == ["K.npy", "bank.mrg"]


# --- gram: errors -----------------------------------------------------------------------------------------------


def test_missing_file(tmp_path: Path) -> None:
    assert "nothing.mrg: the file does not exist" in fail("gram", tmp_path / "nothing.mrg", "-o", tmp_path / "K.npy")
    assert os.listdir(tmp_path) == []


def test_malformed_tree_says_where(bank: Path) -> None:
    bank.write_text("(S (NP (N cats)))\n(S (NP) ))\n", encoding="utf-8")
    assert f"{bank}:2:10: " in fail("gram", bank, "-o", "-")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--kernel", "tree"],
            "--kernel must be 'st', 'sst', 'pt', 'forest', 'tagging' or 'locality'. Got 'tree' instead",
        ),
        (["--lam", "1.5"], "error: --lam must be a number in (0, 1]. Got 1.5 instead."),
        (["--lam", "nan"], "Got nan"),
        (["--mu", "0.5"], "--mu does not apply to --kernel sst. Use --kernel pt, or remove --mu."),
        (
            ["--kernel", "pt", "--max-depth", "2"],
            "--max-depth does not apply to --kernel pt. Use --kernel sst, or remove --max-depth.",
        ),
        (
            ["-k", "st", "--no-leaves"],
            "--leaves does not apply to --kernel st. Use --kernel sst, pt or forest, or remove --leaves.",
        ),
        (["--jobs", "0"], "error: --jobs must be a whole number other than 0"),
        (["--memory", "much"], "error: --memory must be a positive number of bytes"),
        (["--format", "yaml"], "error: --format must be "),
        (["--columns", "nowhere.mrg"], "nowhere.mrg: the file does not exist"),
    ],
)
def test_bad_options(bank: Path, options: list[str], message: str) -> None:
    assert message in fail("gram", bank, "-o", bank.with_name("K.npy"), *options)
    assert os.listdir(bank.parent) == ["bank.mrg"]


def test_output_that_cannot_be_written(bank: Path) -> None:
    assert "cannot be written" in fail("gram", bank, "-o", bank.parent / "no" / "folder" / "K.npy")
    assert "must end in .npy" in fail("gram", bank, "-o", bank.parent / "K.mat")
    (bank.parent / "folder.npy").mkdir()
    assert "is a folder" in fail("gram", bank, "-o", bank.parent / "folder.npy")
    assert "standard output" in fail("gram", bank, "-o", "-", "--json")
    assert "standard input" in fail("gram", "-", "--columns", "-", "-o", "-")
    assert sorted(os.listdir(bank.parent)) == ["bank.mrg", "folder.npy"]


def test_a_full_disk_is_an_error(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    assert "disk space for 200 bytes (No space left" in fail("gram", bank, "-o", bank.with_name("K.npy"))
    assert os.listdir(bank.parent) == ["bank.mrg"]


def test_overflow_needs_normalizing(bank: Path) -> None:
    tree = "(N n)"
    for _ in range(10):
        tree = f"(A {tree} {tree})"
    bank.write_text(f"{tree}\n(N n)\n", encoding="utf-8")
    output = bank.with_name("K.npy")
    line = fail("gram", bank, "-o", output, "--lam", "1", "--no-normalize")
    assert "is too large for a float64" in line
    assert not output.exists()
    succeed("gram", bank, "-o", output, "--lam", "1")
    K = np.load(output)
    assert np.isfinite(K).all()
    np.testing.assert_array_equal(np.diag(K), 1)


def test_an_unexpected_error_is_one_line_too(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treelet.cli.gram._write_text", lambda *_: 1 / 0)
    result = run("gram", bank, "-o", "-")
    assert result.exit_code == 3
    assert result.stderr.startswith("treelet: internal error: ZeroDivisionError: division by zero")
    assert "Traceback" in run("--traceback", "gram", bank, "-o", "-").stderr


def test_traceback_if_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = "gram", tmp_path / "nothing", "-o", "-"
    assert "Traceback" in run("--traceback", *command).stderr
    monkeypatch.setenv("TREELET_TRACEBACK", "1")
    assert "Traceback" in run(*command).stderr
    monkeypatch.setenv("TREELET_TRACEBACK", "0")
    assert "Traceback" not in run(*command).stderr


# --- compare ----------------------------------------------------------------------------------------------------

APPLE, PEAR = "(NP (D the) (N apple))", "(NP (D the) (N pear))"


def test_compare_shows_values_trees_and_fragments() -> None:
    text = succeed("compare", APPLE, PEAR, "--lam", "1").stdout
    assert tl.Tree.parse(APPLE).pretty() in text
    assert tl.Tree.parse(PEAR).pretty() in text
    lines = [line.split(None, 3) for line in text.splitlines()]
    assert ["value", "3"] in lines
    assert next(float(line[1]) for line in lines if line[:1] == ["normalized"]) == pytest.approx(0.5)
    assert ["1", "1", "1", "(NP (D the) N)"] in lines
    assert ["3", "all", "3", "shared fragments"] in lines


@pytest.mark.parametrize("kernel", ["st", "sst", "pt"])
def test_compare_json_adds_up(kernel: str) -> None:
    result = json.loads(succeed("compare", APPLE, APPLE, "--kernel", kernel, "--json", "--top", "1000").stdout)
    assert result["complete"]
    assert result["value"] == pytest.approx(result["sum"], rel=1e-12)
    assert result["value"] == pytest.approx(sum(f["contribution"] for f in result["fragments"]), rel=1e-12)
    assert result["normalized"] == pytest.approx(1)
    assert result["trees"] == [APPLE, APPLE]


def test_compare_top_and_nothing_shared() -> None:
    text = succeed("compare", APPLE, APPLE, "--top", "2").stdout
    assert "4 more" in text
    assert "all 6 shared fragments" in text
    assert "no fragments in common" in succeed("compare", APPLE, "(X y)").stdout


def test_compare_says_when_it_does_not_list_all() -> None:
    tree = f"(A {'(B (C c) (D d)) ' * 12})"
    result = json.loads(succeed("compare", tree, tree, "--json").stdout)
    assert not result["complete"]
    assert result["sum"] < result["value"]
    assert "more fragments exist" in succeed("compare", tree, tree).stdout


def test_compare_reads_files(tmp_path: Path) -> None:
    file = tmp_path / "one.mrg"
    file.write_text(f"\n {APPLE}\n", encoding="utf-8")
    for name in (file, f"@{file}"):
        assert json.loads(succeed("compare", name, PEAR, "--lam", "1", "--json").stdout)["value"] == 3
    assert json.loads(succeed("compare", "-", PEAR, "--lam", "1", "--json", input=APPLE).stdout)["value"] == 3
    file.write_text(APPLE + PEAR, encoding="utf-8")
    assert "file must contain exactly one" in fail("compare", file, PEAR)
    assert "is neither a tree in brackets" in fail("compare", "NP", PEAR)
    assert "is neither a tree in brackets" not in fail("compare", "@NP", PEAR)


def test_compare_errors() -> None:
    assert "TREE2, column 1: " in fail("compare", APPLE, "(NP (D the")
    assert "--top" in fail("compare", APPLE, PEAR, "--top", "-1")


def test_compare_edits_shows_both_trees() -> None:
    text = succeed("compare", "(S (N cats) (V ran))", "(S (N dogs) (V ran) (ADV away))", "--edits").stdout
    assert text.splitlines() == [
        "distance    3",
        "similarity  0.571429",
        "nodes       4 kept, 1 renamed, 2 inserted, 0 deleted",
        "",
        "  S           S",
        "    N           N",
        "~     cats        dogs",
        "    (V ran)     (V ran)",
        "+               ADV",
        "+                 away",
    ]
    assert succeed("compare", APPLE, APPLE, "--edits").stdout.splitlines()[-1] == "the trees are equal"
    deleted = succeed("compare", "(A (B (C c)) d)", "(A (C c))", "--edits").stdout.splitlines()
    assert deleted[4:] == ["  A           A", "-   B", "      (C c)     (C c)", "-   d"]


def test_compare_edits_json_is_the_script() -> None:
    result = json.loads(succeed("compare", APPLE, PEAR, "--edits", "--json").stdout)
    script = tl.edit_script(APPLE, PEAR)
    assert (result["distance"], result["similarity"], result["trees"]) == (1, 0.8, [APPLE, PEAR])
    assert len(result["operations"]) == len(script) == 5
    assert result["operations"][-1] == {
        "kind": "rename", "source": 4, "target": 4, "source_label": "apple", "target_label": "pear", "cost": 1.0,
        "source_place": None, "target_place": None,
    }  # fmt: skip


def test_compare_edits_knows_lines_and_columns(tmp_path: Path) -> None:
    for name, text in (
        ("a.py", "x = 1\n"),
        ("b.py", "\nx = 2\n"),
        ("a.xml", "<a><b/></a>"),
        ("b.xml", "<a>\n <c/></a>"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    code = [str(tmp_path / name) for name in ("a.py", "b.py")]
    shown = succeed("compare", *code, "--edits").stdout
    assert "1 1:5" in shown
    assert "2 2:5" in shown
    changed = [o for o in json.loads(succeed("compare", *code, "--edits", "--json").stdout)["operations"] if o["cost"]]
    assert [(o["source_place"]["line"], o["target_place"]["line"]) for o in changed] == [(1, 2)]
    assert changed[0]["target_place"] == {"line": 2, "column": 5, "end_line": 2, "end_column": 6}
    markup = succeed("compare", f"@{tmp_path / 'a.xml'}", str(tmp_path / "b.xml"), "--edits").stdout
    assert markup.splitlines()[-1] == "~   b 1:4     c 2:2"
    for name, text in (("a.js", "x = 1;\n"), ("b.js", "\nx = 2;\n")):  # tree-sitter's nodes know their lines only
        (tmp_path / name).write_text(text, encoding="utf-8")
    shown = succeed("compare", str(tmp_path / "a.js"), str(tmp_path / "b.js"), "--edits").stdout
    assert shown.splitlines()[-1].split() == ["~", "1", "line", "1", "2", "line", "2"]
    (tmp_path / "two.py").write_text("def f(): pass\ndef g(): pass\n", encoding="utf-8")
    assert "file must contain exactly one" in fail(
        "compare", tmp_path / "two.py", code[0], "--edits", "--option", "each=function"
    )


def test_compare_edits_draws(tmp_path: Path) -> None:
    file = tmp_path / "edits.svg"
    shown = succeed("compare", APPLE, PEAR, "--edits", "--picture", file)
    assert f"picture: {file}" in shown.stderr
    assert file.read_text(encoding="utf-8") == tl.draw(tl.edit_script(APPLE, PEAR))
    assert "must end in .svg, .png, .pdf or .tex" in fail(
        "compare", APPLE, PEAR, "--edits", "--picture", tmp_path / "x.gif"
    )
    assert "Add --edits" in fail("compare", APPLE, PEAR, "--picture", file)
    for option in (("--top", "3"), ("--lam", "0.5"), ("--kernel", "pt")):
        assert "to shared fragments, not to --edits" in fail("compare", APPLE, PEAR, "--edits", *option)


def test_compare_edits_lists_the_changes_of_large_trees() -> None:
    deep = "(A " * 2000 + "a" + ")" * 2000
    text = succeed("compare", deep, deep.replace("a", "b"), "--edits").stdout
    assert text.splitlines()[-1] == "rename a -> b"
    wide = f"(A {'x ' * 400})"
    text = succeed("compare", wide, wide.replace("x", "y"), "--edits").stdout
    assert text.splitlines()[4:] == ["rename x -> y"] * 400


def test_compare_does_not_draw_large_trees() -> None:
    large = "(A " * 2000 + "a" + ")" * 2000
    text = succeed("compare", large, "(A a)").stdout
    assert "(A, a tree of 2,001 nodes: too large to draw)" in text
    assert max(map(len, text.splitlines())) < 200


# --- convert ----------------------------------------------------------------------------------------------------


def test_convert_there_and_back(bank: Path) -> None:
    for name in ("a.tsv", "b.txt", "c.dat", "d.klp", "e.tsv.gz"):
        target = bank.with_name(name)
        result = succeed("convert", bank, target)
        assert result.stderr.startswith("3 examples, 3 trees: brackets -> ")
        assert tl.read_trees(target).strings() == TREES


def test_convert_options_and_streams() -> None:
    text = "( (S (NP-SBJ (-NONE- *)) (VP (VB Gø))) )"
    result = succeed(
        "convert", "-", "-", "--to", "lines", "--drop-empty", "--drop-function-tags", "--root", "TOP",
        "--encoding", "latin-1", input=text.encode("latin-1"),
    )  # fmt: skip
    assert result.stdout == "(TOP (S (VP (VB Gø))))\n"


def test_convert_leaves_nothing_out_unasked(tmp_path: Path) -> None:
    source = tmp_path / "in.dat"
    source.write_text("1 |BT| (A a) |BT| (B b) |ET| 1:0.5 |EV|\n", encoding="utf-8")
    for target, kept, message in (
        (
            "out.mrg",
            [],
            "'brackets' cannot store labels. Choose svmlight_tk, kelp, csv or tsv, or drop this part (--drop labels).",
        ),
        ("out.mrg", ["labels"], "'brackets' cannot store the feature vectors vector. Choose svmlight_tk or kelp"),
        ("out.txt", ["labels", "vectors"], "'lines' cannot store more than one tree per row (tree2). Choose"),
        ("out.tsv", [], "'tsv' cannot store the feature vectors vector"),
        ("out.json", [], "out.json: the suffix .json does not belong to a format that can be written. Use "),
        ("out.json.gz", [], "the suffix .json does not belong to a format that can be written. Use "),
    ):
        assert message in fail("convert", source, tmp_path / target, *[part for k in kept for part in ("--drop", k)])
        assert list(tmp_path.iterdir()) == [source]
    drops = ["--drop", "labels", "--drop", "vectors", "--drop", "trees"]
    succeed("convert", source, tmp_path / "out.mrg", *drops)
    assert (tmp_path / "out.mrg").read_text(encoding="utf-8") == "(A a)\n"
    succeed("convert", source, tmp_path / "out.klp")
    assert "--drop must be 'labels'" in fail("convert", source, "-", "--drop", "everything")
    with pytest.raises(tl.errors.ParameterError, match=r"suffix \.json does not belong"):
        tl.Treebank(["(S x)"]).write(tmp_path / "x.json")
    (tmp_path / "v.dat").write_text("1 1:2\n", encoding="utf-8")
    assert "cannot store the feature vectors" in fail("convert", tmp_path / "v.dat", tmp_path / "v.tsv")
    assert "document has no trees" in fail("convert", tmp_path / "v.dat", tmp_path / "v.tsv", "--drop", "vectors")


def test_convert_errors(bank: Path) -> None:
    assert "yaml" in fail("convert", bank, bank.with_name("out.tsv"), "--to", "yaml")
    assert "the file does not exist" in fail("convert", bank.with_name("nothing"), "-")
    assert "encoding" in fail("convert", bank, "-", "--encoding", "klingon")
    bank.write_text("(S (A a)", encoding="utf-8")
    assert f"{bank}:1:" in fail("convert", bank, bank.with_name("out.tsv"))
    assert os.listdir(bank.parent) == ["bank.mrg"]


# --- doctor -----------------------------------------------------------------------------------------------------


def test_doctor() -> None:
    text = succeed("doctor").stdout
    assert tl.__version__ in text
    report = json.loads(succeed("doctor", "--json").stdout)
    assert report["versions"]["numpy"] == np.__version__


def test_doctor_reports_a_missing_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "treelet._core", None)
    monkeypatch.delattr(tl, "_core")
    result = run("doctor")
    assert (result.exit_code, "missing" in result.stdout) == (1, True)


def test_doctor_without_the_optional_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import PackageNotFoundError

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("treelet.cli.doctor.version", missing)
    text = succeed("doctor").stdout
    width = len("tree-sitter-javascript") + 2
    for name in ("nltk", "distributed", "uvicorn"):
        assert f"{name:<{width}}not installed" in text
    assert {line[width - 1] for line in text.split("\n\n")[0].splitlines()} == {" "}


# --- the process ------------------------------------------------------------------------------------------------


def test_help_lists_the_suffixes_of_formats_and_the_values_of_the_grid() -> None:
    text = " ".join(succeed("convert", "--help").stdout.split())
    own = {name: kind for name, kind in FORMATS.items() if kind.read.__module__.startswith("treelet.")}  # not of tests
    writable = {name: kind.suffixes for name, kind in own.items() if kind.write is not None}
    assert len(writable) == 6
    assert all(f"{name} ({', '.join(suffixes)})" in text for name, suffixes in writable.items())
    text = " ".join(succeed("train", "--help").stdout.split())
    values = {name: ",".join(f"{value:g}" for value in _DECAYS["pt"][name]) for name in ("lam", "mu")}
    assert _DECAYS["sst"]["lam"] == _DECAYS["pt"]["lam"]
    assert f"lam {values['lam']} (st: {','.join(f'{value:g}' for value in _DECAYS['st']['lam'])})" in text
    assert {*_DECAYS["forest"]["lam"], *_DECAYS["tagging"]["lam"]} == {*_DECAYS["sst"]["lam"]}
    learners = [f"{name} {','.join(f'{value:g}' for value in grid)}" for name, _, grid, _ in _LEARNERS.values()]
    windows = ",".join(f"{value:g}" for value in _DECAYS["locality"]["window"])
    assert f"mu {values['mu']}, window {windows}, {', '.join(learners)}." in text


def test_version_and_help() -> None:
    assert succeed("--version").stdout == f"treelet {tl.__version__}\n"
    for command in ("gram", "compare", "convert", "doctor"):
        assert command in succeed("--help").stdout
        assert f"treelet {command}" in succeed(command, "--help").stdout
    assert "treelet gram" in process("gram", "--help").stdout


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, typer\n"
        "before = set(sys.modules)\n"  # typer 0.15 loads rich by itself
        "import treelet.cli.main as m\n"
        "try: m.app(['--help'], prog_name='treelet')\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'rich', 'treelet.kernels'}\n"
        "print(sorted(heavy & set(sys.modules) - before))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "Commands:" in result.stdout
    assert result.stdout.splitlines()[-1] == "[]"


def test_the_real_command(bank: Path) -> None:
    result = process("gram", bank, "-o", "-")
    assert result.returncode == 0
    np.testing.assert_array_equal(np.loadtxt(io.StringIO(result.stdout)), tl.SubsetTree().normalized()(TREES))
    result = process("gram", bank.with_name("nothing"), "-o", "-")
    assert result.returncode == 2
    assert result.stderr.startswith(f"treelet: error: {bank.with_name('nothing')}: the file does not exist")


def test_utf8_whatever_the_terminal_says(bank: Path) -> None:
    bank.write_text("(A ø)", encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-m", "treelet", "convert", str(bank), "-"],
        capture_output=True, timeout=60, check=True, env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert result.stdout.decode("utf-8") == "(A ø)\n"


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX pipes and signals")
def test_a_closed_pipe_is_quiet(bank: Path) -> None:
    bank.write_text("(A a)\n" * 2000, encoding="utf-8")
    command = f"{sys.executable} -m treelet gram {bank} -o - 2>errors | head -n 1; cat errors"
    result = subprocess.run(
        ["bash", "-c", command], cwd=bank.parent, capture_output=True, text=True, timeout=120, check=True
    )
    assert result.stdout.count("\n") == 1, "an error was printed"


# A shell lets what it runs in the background ignore interrupts, and so its children.
HEARING = (
    "import signal; signal.signal(2, signal.default_int_handler); signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "from treelet.cli.main import main; main()"
)


@pytest.mark.serial
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX pipes and signals")
@pytest.mark.parametrize(
    ("name", "code", "message"),
    [("SIGINT", 130, "treelet: interrupted\n"), ("SIGTERM", 143, ""), ("SIGHUP", 129, "")],
)
def test_stopped_half_way(tmp_path: Path, name: str, code: int, message: str) -> None:
    # It waits for its standard input with the temporary file open.
    command = [sys.executable, "-c", HEARING, "gram", "-", "-o", str(tmp_path / "K.tsv")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        while not os.listdir(tmp_path):
            assert child.poll() is None
        child.send_signal(getattr(signal, name))
        _, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (code, message)
    assert os.listdir(tmp_path) == []


@pytest.mark.serial
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_nohup_keeps_ignoring_the_end_of_its_terminal(tmp_path: Path) -> None:
    ignoring = HEARING.replace("SIG_DFL", "SIG_IGN")
    command = [sys.executable, "-c", ignoring, "gram", "-", "-o", str(tmp_path / "K.tsv")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        while not os.listdir(tmp_path):
            assert child.poll() is None
        child.send_signal(signal.SIGHUP)
        _, errors = child.communicate("(A a)", timeout=60)
    assert (child.returncode, os.listdir(tmp_path)) == (0, ["K.tsv"]), errors


def test_kernel_from_options() -> None:
    assert kernel_from_options("pt", mu=0.9) == tl.PartialTree(lam=0.4, mu=0.9)
    assert kernel_from_options("st", lam=0.5, normalize=True) == tl.Subtree(lam=0.5).normalized()
    with pytest.raises(tl.errors.ParameterError):
        kernel_from_options("trees")


@posix
def test_links_and_pipes_stay_what_they_are(tmp_path: Path) -> None:
    import os
    import threading

    trees = tmp_path / "trees.mrg"
    trees.write_text("(A x) (B y)", encoding="utf-8")
    (tmp_path / "real.npy").write_bytes(b"old")
    (tmp_path / "link.npy").symlink_to("real.npy")
    succeed("gram", trees, "-o", tmp_path / "link.npy")
    assert (tmp_path / "link.npy").is_symlink()
    assert np.load(tmp_path / "real.npy").shape == (2, 2)
    os.mkfifo(tmp_path / "pipe.npy")
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append((tmp_path / "pipe.npy").read_bytes()))
    reader.start()
    succeed("gram", trees, "-o", tmp_path / "pipe.npy")
    reader.join(timeout=60)
    assert (tmp_path / "pipe.npy").is_fifo()
    assert received == [(tmp_path / "real.npy").read_bytes()]


def test_gram_of_one_of_several_trees_a_row(tmp_path: Path) -> None:
    (tmp_path / "two.dat").write_text("1 |BT| (A b) |BT| (C d) |ET|\n-1 |BT| (A c) |BT| (C d) |ET|\n", encoding="utf-8")
    assert "'tree1', 'tree2'. Choose one, for example --column tree1" in fail("gram", tmp_path / "two.dat", "-o", "-")
    rows = succeed("gram", tmp_path / "two.dat", "-o", "-", "--column", "tree2", "--lam", "1").stdout.split()
    assert [float(cell) for cell in rows] == [1, 1, 1, 1]


def completed(*words: str) -> list[str]:
    """What a shell is told when the last word is to be completed."""
    environment = {
        "COMP_WORDS": " ".join(("treelet", *words)),
        "COMP_CWORD": str(len(words)),
        "_TREELET_COMPLETE": "complete_bash",
    }
    return process(env=os.environ | environment).stdout.split()


def test_a_shell_completes_commands_options_and_values() -> None:
    assert completed("ev") == ["evaluate"]
    assert completed("gram", "x.mrg", "--kernel", "s") == ["st", "sst"]
    assert completed("train", "x.tsv", "--metric", "bal") == ["balanced-accuracy"]
    assert "--normalize" in completed("gram", "x.mrg", "--n")
    assert "--install-completion" in succeed("--help").stdout


SHELL = pytest.mark.skipif(not Path("/dev/full").exists() or not Path("/bin/bash").exists(), reason="needs bash, Linux")


def shell(command: str, *args: object) -> subprocess.CompletedProcess[str]:
    """A line of bash, in which "$@" is the command and its arguments."""
    line = ["/bin/bash", "-c", command, "bash", sys.executable, "-m", "treelet", *map(str, args)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


@SHELL
@pytest.mark.parametrize("options", [["--help"], ["gram", "--help"], ["gram", "BANK", "-o", "-"]])
def test_an_output_that_is_full_is_one_line(bank: Path, options: list[str]) -> None:
    done = shell('"$@" > /dev/full', *(bank if option == "BANK" else option for option in options))
    assert done.returncode == 2
    assert done.stderr == "treelet: error: Standard output cannot be written (No space left on device).\n"


@SHELL
def test_streams_that_are_closed(bank: Path) -> None:
    done = shell('"$@" >&-', "gram", bank, "-o", "-")
    assert done.returncode == 2
    assert done.stderr.startswith("treelet: error: Standard output is closed")
    done = shell('"$@" <&-', "gram", "-", "-o", "-")
    assert done.returncode == 2
    assert done.stderr == "treelet: error: <stdin>: cannot be read (standard input is closed).\n"
    done = shell('"$@" 2>&-', "gram", bank.with_name("missing.mrg"), "-o", "-")
    assert (done.returncode, done.stdout) == (2, "")


@SHELL
def test_the_shells_process_substitution_is_written_to(bank: Path) -> None:
    done = shell('"$@" >(sed s/^/got:/) --to lines | cat', "convert", bank)
    assert "cannot be written" not in done.stderr
    assert "got:(" in done.stdout


@SHELL
def test_names_of_files_that_are_no_text(bank: Path) -> None:
    for encoding in ("utf-8:strict", "ascii"):
        line = f'cd "{bank.parent}"; PYTHONIOENCODING={encoding} "$@" $\'no\\xff.mrg\' -o -'
        done = shell(line, "gram")
        assert done.returncode == 2
        assert done.stderr.startswith("treelet: error: no\\udcff.mrg: the file does not exist")
    done = shell(f'cd "{bank.parent}"; echo "x = 1" > $\'a\\xff.py\'; echo "y = 1" >> $\'a\\xff.py\'; '
                 'PYTHONIOENCODING=utf-8:strict "$@" --format python:each=statement $\'a\\xff.py\' | cat -v', "nearest")  # fmt: skip
    assert done.stdout.startswith("1. aM-^?.py:1: x 1"), done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")
@pytest.mark.parametrize("command", [("convert", "-"), ("compare", "(A [red]a)"), ("nearest", "--query=(A a)")])
def test_labels_cannot_command_a_terminal(tmp_path: Path, command: tuple[str, str]) -> None:
    import pty

    trees = tmp_path / "trees\x1b[2J.mrg"
    trees.write_text("(A\x1b[31m [red]a\x9b2J\u202e)\n", encoding="utf-8")
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "treelet", command[0], str(trees), command[1]],
        stdout=end,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as child:
        os.close(end)
        shown = b""
        with contextlib.suppress(OSError):  # Linux says so where the other end is closed
            while piece := os.read(terminal, 65536):
                shown += piece
        assert child.stderr is not None
        shown += child.stderr.read()
    os.close(terminal)
    assert child.returncode == 0
    text = shown.decode()
    assert "[red]a" in text
    assert not {"\x1b", "\x9b", "\u202e"} & set(text)


# --- the environment ----------------------------------------------------------------------------------------------


def test_an_unknown_matplotlib_backend_does_no_harm(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "bogus")
    picture = bank.with_name("tree.png")
    result = process("parse", "--treebank", bank, "--text", "the cat ran", "--picture", picture)
    assert result.returncode == 0, result.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_source_folder_without_the_native_core(tmp_path: Path) -> None:
    source = Path(tl.__file__).parent
    shutil.copytree(source, tmp_path / "treelet", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    for arguments in (["compare", "(A a)", "(A a)"], ["gram", "(A a)"]):
        command = [sys.executable, "-S", "-m", "treelet", *arguments]  # -S: without the hooks of an editable install
        folders = [folder for folder in sys.path if "site-packages" in folder]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *folders])}
        result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 2, result.stderr
        assert result.stderr.startswith(
            f"treelet: error: {tmp_path / 'treelet'}: the native core of treelet cannot be imported ("
        )
        assert result.stderr.endswith(" Run treelet from another folder, or install it with pip install.\n")


def test_commands_run_inside_the_package_folder(bank: Path) -> None:
    command = [sys.executable, "-m", "treelet", "gram", str(bank), "-o", "-"]
    inside = Path(tl.__file__).parent
    result = subprocess.run(command, cwd=inside, capture_output=True, text=True, check=False)
    assert (result.returncode, len(result.stdout.splitlines())) == (0, 3), result.stderr
