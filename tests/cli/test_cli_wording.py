"""Errors and warnings of the commands: one line, in the command line's words."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
import typer

from conftest import all_commands, fail, run, succeed
from treelet.cli.main import Command, _with_options
from treelet.cli.options import kernel_from_options, one_of
from treelet.errors import ParameterError, TreeletWarning

COMMANDS = all_commands()
TREES = "x\t(S (A a) (B b))\ny\t(S (C c))\nx\t(S (A a))\ny\t(S (C c) (B b))\n"
PYTHON = re.compile(r"parameter|\bn_jobs|random_state|max_depth|\b[a-z_]+=(?!\d|[A-Z]{2})|\bNone\b|TreeletError|\w\(\)")
"""What nobody says on a command line."""


class Context:
    """What is known while a command runs."""

    def __init__(self, name: str, **params: Any) -> None:
        self.command, self.params = COMMANDS[name], params


@pytest.mark.parametrize(
    ("message", "on_the_command_line"),
    [
        ("The 'n_jobs' parameter must be an int other than 0. Got 0 instead.", "--jobs must be a whole number other than 0. Got 0 instead."),
        ("The 'max_depth' parameter of SubsetTree must be None or at least 1. Got 0 instead.", "--max-depth must be at least 1. Got 0 instead."),
        ("The 'thing' parameter must be 'a'. Got 'much' instead.", "--memory must be 'a'. Got 'much' instead."),
        ("The 'thing' parameter of gram must be an int . Got 1 instead.", "The 'thing' parameter of gram must be an int . Got 1 instead."),
        ("The 'rows' parameter must be True or False. Got 'x' instead.", "rows in --option must be true or false. Got 'x' instead."),
        ("name one (column='tree')", "name one (--column tree)"),
        ('name one (encoding="latin-1").', "name one (--encoding latin-1)."),
        ("more than the 5 of memory=. Use n_jobs=1, or memory=", "more than the 5 of --memory. Use --jobs 1, or --memory"),
        ("a smaller lam=, or kernel.normalized()", "a smaller --lam, or --normalize"),
        ("SubsetTree(lam=0.4, max_depth=2), f(SubsetTree(lam=1), lam=1), x.lam=, span=", None),
        ("lam=0.4.mrg: runs/lam=1/memory=: lam=x, 'memory=' is missing", None),
        ("read_trees(..., format='lines') or read_trees(..., span=1)", "--format lines or read_trees(..., span=1)"),
        ("Pass normalize=True.", "Pass --normalize."),
    ],
)  # fmt: skip
def test_a_message_names_the_options_of_the_command(message: str, on_the_command_line: str | None) -> None:
    context = Context("gram", file="lam=/a.mrg", lam=0.4, memory="much", option=["rows=x"])
    assert _with_options(message, context) == (on_the_command_line or message)


def wrong_values() -> list[tuple[str, str, str]]:
    """Every option of every command that takes a value, with one that makes no sense."""
    found = []
    for name, command in COMMANDS.items():
        for parameter in command.params:
            option = next((text for text in parameter.opts if text.startswith("--")), None)
            if option is not None and parameter.metavar and parameter.metavar not in ("WORDS", "LABEL", "A,B,C"):
                found += [(name, option, value) for value in ("-7", "klingon")]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wording")
    (folder / "a.tsv").write_text(TREES, encoding="utf-8")
    succeed("train", folder / "a.tsv", "-o", folder / "m.treelet")
    return folder


@pytest.mark.parametrize(("name", "option", "value"), wrong_values())
def test_no_wrong_value_is_told_of_in_python(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, option: str, value: str
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    needed: dict[str, list[str]] = {
        "gram": ["a.tsv", "-o", "K.npy"],
        "train": ["a.tsv", "-o", "n.treelet"],
        "predict": ["m.treelet", "a.tsv"],
        "evaluate": ["m.treelet", "a.tsv"],
        "compare": ["(A a)", "(A a)"],
        "nearest": ["a.tsv", "--query", "(A a)"],
        "parse": ["--treebank", "a.tsv", "--text", "a b"] if option != "--grammar" else ["--text", "a b"],
        "rerank": ["a.tsv", "--sizes", "2,1,1"] if option != "--nbest" else ["--sizes", "2,1,1"],
        "convert": ["a.tsv", "out.tsv"],
        "draw": ["(A a)", "-o", "out.svg"],
    }
    more = {"--mu": ["-k", "pt"], "--prune": ["--forest"], "--column": ["--format", "tsv"]}.get(option, [])
    result = run(name, *needed.get(name, []), *more, option, value)
    if result.exit_code == 0:  # a value that is taken: -7 cores, the name of a file to write
        return
    assert result.exit_code == 2, result.output
    told = [line for line in result.stderr.splitlines() if line.startswith("treelet: error: ")]
    assert len(told) == 1, result.stderr
    line = told[0].replace(value, "")
    assert not PYTHON.search(line), line


def test_any_case_and_the_nearest() -> None:
    assert kernel_from_options("SST", lam=0.3) == kernel_from_options("sst", lam=0.3)
    assert one_of("--parent", "Phrases", ("off", "phrases")) == "phrases"
    with pytest.raises(ParameterError, match=r"Did you mean 'phrases'\?"):
        one_of("--parent", "phrase", ("off", "phrases"))
    assert succeed("compare", "(A a)", "(A a)", "--kernel", "PT", "--json").stdout.startswith('{"kernel": "PartialTree')


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("trian", ["trian", "train", "treelet --help"]),
        ("--bogus gram", ["--bogus"]),
        ("gram x --lambda 1", ["--lambda", "--lam)", "treelet gram --help"]),
        ("gram x --no-leave", ["--no-leave", "--no-leaves"]),
        ("gram", ["TREES..."]),
        ("train x", ["--output"]),
        ("gram x -o", ["-o"]),
        ("gram x -o - --json=3", ["--json"]),
        ("gram x -o - --lam x", ["--lam"]),
        ("gram x -o - -j2x", ["--jobs"]),
        ("doctor a b", ["unexpected", "b"]),
        ("gram x -o - --kernel ss", ["--kernel", "'ss'", "Did you mean 'sst'?"]),
    ],
)
def test_wrong_usage_is_one_line_with_a_remedy(arguments: str, words: list[str]) -> None:
    result = run(*arguments.split())
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith("treelet: error: ")
    assert [word for word in words if word not in result.stderr] == []


@pytest.mark.parametrize(
    "command", ["gram", "nearest", "explain m.treelet", "predict m.treelet", "compare", "draw -o x.svg"]
)
@pytest.mark.parametrize("sentence", ["Who wrote Hamlet?", "he reads"])
def test_a_sentence_in_the_place_of_a_tree(
    command: str, sentence: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    name, *arguments = command.split()
    line = fail(name, *arguments, sentence, *(["(A a)"] if name == "compare" else []))
    assert f"{sentence!r} is a sentence" in line
    assert "Parse it first: treelet parse" in line


def test_a_sentence_in_the_place_of_a_file_of_sentences(tmp_path: Path) -> None:
    bank = tmp_path / "bank.mrg"
    bank.write_text("(S (A a) (B b))", encoding="utf-8")
    assert "Pass it with --text." in fail("parse", "a b?", "--treebank", bank)
    assert "is a sentence" not in fail("gram", "my trees.mrg")


def test_without_arguments_the_help_is_printed() -> None:
    result = run()
    assert "Usage: treelet [OPTIONS] COMMAND" in result.output
    assert "error" not in result.stderr.replace("an error", "")


def test_overflow_names_the_option(tmp_path: Path) -> None:
    tree = "(N n)"
    for _ in range(10):
        tree = f"(A {tree} {tree})"
    file = tmp_path / "a.tsv"
    file.write_text(f"x\t{tree}\ny\t(N n)\n", encoding="utf-8")
    assert "a smaller --lam, or --normalize, which" in fail("gram", file, "-o", "-", "--lam", "1", "--no-normalize")
    assert "result to a file with --output K.npy" in fail("gram", file, "-o", "-", "--memory", "1B")
    line = fail("train", file, "-o", tmp_path / "m", "--lam", "1", "--no-normalize")
    assert "a smaller --lam, or --normalize, which" in line


def test_warnings_are_one_line_each() -> None:
    other = typer.Typer()

    @other.command(cls=Command)
    def command(n_jobs: int = 1) -> None:
        warnings.warn("two of 9 trees\nwere left out by n_jobs=.", TreeletWarning, stacklevel=2)

    result = run("--n-jobs", "2", app=other)
    assert result.exit_code == 0
    assert result.stderr == "command: warning: two of 9 trees were left out by --n-jobs.\n"


def test_one_default_and_one_meaning_of_short_options_everywhere() -> None:
    meanings: dict[str, set[str]] = {}
    for name, command in COMMANDS.items():
        by_name = {parameter.name: parameter for parameter in command.params}
        if "normalize" in by_name:
            option = by_name["normalize"]
            assert (option.default, option.opts, option.secondary_opts) == (
                True,
                ["--normalize"],
                ["--no-normalize"],
            ), name
        for parameter in command.params:
            short = [text for text in parameter.opts if text.startswith("-") and not text.startswith("--")]
            for text in short:
                meanings.setdefault(text, set()).add(next(long for long in parameter.opts if long.startswith("--")))
    assert meanings["-k"] == {"--kernel"}
    assert all(len(options) == 1 for options in meanings.values()), meanings


def test_numbers_for_people_are_rounded(tmp_path: Path) -> None:
    tree = "(NP (D the) (N apple))"
    text = succeed("compare", tree, tree, "--lam", "0.4").stdout
    assert "0.16 " in text
    assert "normalized  1\n" in text
    assert not re.search(r"\d\.\d{7,}", text), text
    exact = [
        fragment["contribution"]
        for fragment in json.loads(succeed("compare", tree, tree, "--json").stdout)["fragments"]
    ]
    assert 0.4 * 0.4 in exact  # which is not 0.16
    (tmp_path / "a.tsv").write_text(TREES * 5, encoding="utf-8")
    card = succeed("train", tmp_path / "a.tsv", "-o", tmp_path / "m.treelet", "--cv", "3").stdout
    card += succeed("doctor", tmp_path / "m.treelet").stdout + succeed("doctor").stdout
    assert not re.search(r"\b\d+\.\d{7,}", card), card


@pytest.mark.parametrize("command", ["gram", "train", "nearest", "diff"])
def test_a_memory_limit_of_a_few_bytes_is_questioned(tmp_path: Path, command: str) -> None:
    file = tmp_path / "a.tsv"
    file.write_text(TREES, encoding="utf-8")
    arguments = {"diff": [file], "gram": ["-o", tmp_path / "K.npy"], "train": ["-o", tmp_path / "m"]}.get(command, [])
    line = "--memory 1 is a limit of 1 byte. Did you mean 1GiB? Write 1B if you mean bytes.\n"
    assert fail(command, file, *arguments, "--memory", "1") == f"treelet: error: {line}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tsv"]
    succeed(command, file, *arguments, "--memory", "200000000")
