"""No command overwrites what it reads: every command of the application, by its parameters."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from conftest import all_commands, fail, file_marks, make_link, run
from treelet.cli.options import READ, WRITTEN, _shown_name

COMMANDS = all_commands()
NO_FILES = {
    "anonymous|keep",
    "ID|FILE...",
    "COLUMN",
    "NAME=VALUE",
    "PATTERN",
    "RANGE|PATH...",
    "KIND",
    "TASK",
    "METRIC",
    "FOLDER",
    "FORMAT",
    "LIST",
    "NAME",
    "NUMBER",
    "float64|float32",
    "SIZE",
    "WHICH",
    "WORDS",
    "LABEL",
    "A,B,C",
    "balanced",
    "cpu|cuda",
    "color|plain",
}
"""What texts stand for that are no names of files. A new one belongs here, or its parameter is marked READ or WRITTEN."""


def test_every_text_is_a_file_or_known_to_be_none() -> None:
    for name, command in COMMANDS.items():
        marked = file_marks(command)
        hints = get_type_hints(command.callback)
        for parameter in command.params:
            texts = any(kind in str(hints.get(parameter.name)) for kind in ("str", "Path"))
            if texts and parameter.name not in marked:
                assert parameter.metavar in NO_FILES, f"treelet {name}: is {parameter.name} a file? Mark it, or list it"
    assert file_marks(COMMANDS["gram"]) == {"file": READ, "out": WRITTEN, "columns": READ}


def files_of(command: Any, kind: tuple[str, ...]) -> list[str]:
    return [name for name, mark in file_marks(command).items() if mark[:1] == kind]


def pairs() -> Iterator[tuple[str, str, str]]:
    """Commands, and two of their files of which the second is written."""
    for name, command in COMMANDS.items():
        written = files_of(command, WRITTEN)
        for second in written:
            for first in (*files_of(command, READ), *written):
                if first != second:
                    yield name, first, second


def words(command: Any, given: dict[str, Path]) -> list[object]:
    """The command's arguments, with something for whatever else it needs."""
    options: list[object] = []
    arguments: list[object] = []
    for parameter in command.params:
        value = given.get(parameter.name, "other" if parameter.required else None)
        if value is not None and parameter.opts[0].startswith("-"):
            options += [parameter.opts[0], value]
        elif value is not None:
            arguments.append(value)
    name = next(name for name, known in COMMANDS.items() if known is command)
    return [*name.split(), *options, *arguments]


@pytest.mark.parametrize("way", ["as it is", "relative", "symbolic link", "hard link"])
@pytest.mark.parametrize(("name", "first", "second"), list(pairs()))
def test_no_output_is_an_input_or_another_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, first: str, second: str, way: str
) -> None:
    monkeypatch.chdir(tmp_path)
    command = COMMANDS[name]
    names = {parameter: mark[1:] for parameter, mark in file_marks(command).items()}
    inside = (*names[first], *names[second], "file")[0].replace("*", "1")
    file, other = tmp_path / inside, tmp_path / "other" / inside
    file.write_text("precious", encoding="utf-8")
    other.parent.mkdir()
    if way == "symbolic link":
        make_link(other, file)
    elif way == "hard link":
        os.link(file, other)
    else:
        other = file if way == "as it is" else Path("other/../") / inside
    given = {
        first: file.parent if names[first] else file,
        second: other.parent if names[second] else other,
    }
    if names[first] and way not in ("as it is", "relative"):
        given = {first: other.parent, second: file}
    line = fail(*words(command, given))
    shown = {parameter.name: _shown_name(parameter) for parameter in command.params}
    assert shown[first] in line
    assert shown[second] in line
    assert "Choose another name" in line
    assert file.read_text(encoding="utf-8") == "precious"


def test_a_model_and_a_standard_stream_are_inputs_too(tmp_path: Path) -> None:
    data = tmp_path / "a.tsv"
    data.write_text("x\t(A a)\ny\t(B b)\n", encoding="utf-8")
    model = tmp_path / "m.treelet"
    assert run("train", data, "-o", model).exit_code == 0
    before = model.read_bytes()
    assert "overwrite MODEL, which is an input" in fail("predict", model, data, "-o", model)
    assert model.read_bytes() == before

    def process(*args: object, **streams: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "treelet", *map(str, args)]
        return subprocess.run(command, encoding="utf-8", timeout=120, check=False, stderr=subprocess.PIPE, **streams)

    with data.open("rb") as stream:
        done = process("convert", "-", data, stdin=stream, stdout=subprocess.PIPE)
    assert (done.returncode, "OUT is also standard input" in done.stderr) == (2, True)
    with data.open("ab") as stream:
        done = process("convert", data, "-", stdin=subprocess.DEVNULL, stdout=stream)
    assert (done.returncode, "IN is also standard output" in done.stderr) == (2, True)
    assert data.read_text(encoding="utf-8") == "x\t(A a)\ny\t(B b)\n"


def test_devices_and_trees_are_no_files_that_could_be_lost(tmp_path: Path) -> None:
    data = tmp_path / "a.mrg"
    data.write_text("(A a)\n", encoding="utf-8")
    assert run("convert", data, os.devnull, "--to", "lines").exit_code == 0
    assert run("compare", "(A a)", "(A " + "(B b) " * 2000 + ")").exit_code == 0
    assert run("convert", os.devnull, os.devnull, "--from", "brackets", "--to", "lines").exit_code == 0
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "trees.mrg").write_text("(A a)", encoding="utf-8")  # beside the report, and none of its files
    assert "would overwrite" not in run("rerank", folder / "trees.mrg", "-o", folder).stderr
