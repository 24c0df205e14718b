"""The pages with commands: what they show is run; and the page on the command line shows every command."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from _frame.contents import pages_in
from conftest import ROOT, all_commands, shows, succeed
from treelet.cli.main import _TERMINATING, FAILED, INTERNAL, INTERRUPTED, PIPE_CLOSED

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[str]:
    return [
        command for block in blocks(page, "console") for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    ]


COMMANDS = commands(PAGE)


def test_what_is_shown_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process: what is a process's own has tests elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)  # would go on until Ctrl-C
    for command in COMMANDS:
        if command.startswith("treelet "):
            assert "treelet: " not in succeed(*shlex.split(command)[1:]).stderr, command
        else:
            subprocess.run(["bash", "-e", "-c", command], check=True)
    assert {"K.npy", "m.treelet", "labels.txt", "train.klp"} <= set(os.listdir(tmp_path))


def test_classifying_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first Python block writes the files."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "classifying.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(blocks(page, "python")[0], names)
    monkeypatch.chdir(names["folder"])
    assert run_commands(page, "classifying.md") == 3
    assert Path("labels.txt").read_text(encoding="utf-8") == "question-word\n"
    assert {"confusion.svg", "m.treelet", "sure.treelet", "report.html"} <= set(os.listdir())


def run_commands(page: str, name: str) -> int:
    """Run the commands of a page, compare their output with the text blocks below them, and return the number of these."""
    printed, compared, before = "", 0, ""
    for language, block in in_order(page):
        if language == "console":
            printed = ""
            for command in commands(f"```console\n{block}```"):
                if command.startswith("treelet "):
                    result = succeed(*shlex.split(command)[1:])
                    assert "treelet: " not in result.stderr, command
                    printed += result.stdout
                else:
                    subprocess.run(["bash", "-e", "-c", command], check=True)
        elif language == "text" and before == "console":
            assert shows(printed, block), f"{name}: the page shows\n{block}\nbut the commands print\n{printed}"
            compared += 1
        before = language
    return compared


def in_order(page: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)


def test_get_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command and every block of the page runs in order and prints the output shown, in either part."""
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    install, *parts = re.split(r"^## I have ", page, flags=re.MULTILINE)
    assert [language for language, _ in in_order(install)] == ["console"]
    assert len(parts) == 2
    for number, part in enumerate(parts):
        folder = tmp_path / str(number)  # neither part needs files or names of the other one
        folder.mkdir()
        monkeypatch.chdir(folder)
        names: dict[str, Any] = {}
        printed, compared = "", 0
        for language, block in in_order(part):
            if language == "text":
                assert shows(printed, block), f"the page shows\n{block}\nbut the output is\n{printed}"
                compared += 1
            elif language == "python":
                exec(block, names)
                printed = capsys.readouterr().out
            else:
                printed = "".join(
                    succeed(*shlex.split(command)[1:]).stdout for command in commands(f"```{language}\n{block}```")
                )
        assert compared >= 6
    assert not shows("a\nb\nc\n", "a\nc\n")
    assert shows("a\nb\nc\n", "a\n...\nc\n")


_KERNELS = [f"kernels/{name}.md" for name in ("forest", "tagging", "locality")]


@pytest.mark.parametrize("name", ["searching.md", "indexes.md", "edits.md", "dependencies.md", *_KERNELS])
def test_commands_print_the_text_below_them(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_commands((ROOT / "docs" / name).read_text(encoding="utf-8"), name)


def test_finding_similar_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "find-similar-code.md").read_text(encoding="utf-8")
    function = "\n\ndef {0}({1}):\n    total = 0\n" + "".join(f"    total += weight({{1}}, {n})\n" for n in range(12))
    for name in ("mine", "known/first", "known/second", "known/third"):
        path = Path("src", f"{name}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(function.format(path.stem, path.stem), encoding="utf-8")
    Path("src/new.py").write_text("def other(text):\n    return text.strip()\n", encoding="utf-8")
    name = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*name, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *words], check=True)
    ran = commands(page)
    for command in ran:
        words, _, target = command.partition(" > ")
        result = succeed(*shlex.split(words, comments=True)[1:])
        assert "treelet: " not in result.stderr, command
        assert result.stdout, command
        if target:
            Path(target.strip()).write_text(result.stdout, encoding="utf-8")
    assert len(ran) >= 5
    assert "1 family of similar functions" in succeed("clones", "src").stdout


def test_every_command_is_shown() -> None:
    shown = [command.removeprefix("treelet ") for command in COMMANDS if command.startswith("treelet ")]
    for known in all_commands():
        assert any(command.startswith(f"{known} ") or command == known for command in shown), known


def test_every_exit_code_is_told() -> None:
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)}
    codes = (FAILED, INTERNAL, INTERRUPTED, PIPE_CLOSED, *(128 + getattr(signal, name) for name in _TERMINATING))
    assert told == {0, 1, *codes}


def test_options_that_pages_name_exist() -> None:
    known = all_commands()
    options = {
        name: {"--help"} | {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        for name, command in known.items()
    }
    named = 0
    for page in [ROOT / "README.md", *pages_in(ROOT / "docs")]:
        for name, rest in re.findall(
            r"(?:[`$] ?|&& )treelet ((?:index )?[a-z]+)( [^`\n|]*)?", page.read_text(encoding="utf-8")
        ):
            if name == "index" and not rest:
                continue  # the group
            assert name in options, f"{page.name}: there is no command {name}"
            wrong = set(re.findall(r"(?<!\S)--[\w-]+", rest)) - options[name]
            assert not wrong, f"{page.name}: {name} has no {wrong}"
            named += 1
    assert named > 50
