"""The page on the command line: what it shows is run, and it shows every command."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from conftest import ROOT, succeed
from treelet.cli import main

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
COMMANDS = [command for block in BLOCKS for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def test_what_is_shown_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process: what is a process's own has tests elsewhere."""
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        if command.startswith("treelet "):
            assert "treelet: " not in succeed(*shlex.split(command)[1:]).stderr, command
        else:
            subprocess.run(["bash", "-e", "-c", command], check=True)
    assert {"K.npy", "m.treelet", "labels.txt", "train.klp"} <= set(os.listdir(tmp_path))


def test_every_command_is_shown() -> None:
    commands = get_command(main.app).commands  # type: ignore[attr-defined]
    assert {command.split()[1] for command in COMMANDS if command.startswith("treelet ")} == set(commands)


def test_every_exit_code_is_told() -> None:
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)}
    codes = (main.FAILED, main.INTERNAL, main.INTERRUPTED, main.PIPE_CLOSED, main.TERMINATED)
    assert told == {0, 1, *codes}
