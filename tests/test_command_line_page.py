"""The page on the command line: what it shows is run, and it shows every command."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from typer.main import get_command

from conftest import ROOT
from treelet.cli import main

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_what_is_shown_runs(tmp_path: Path) -> None:
    script = "\n".join(re.sub(r"^\$ ", "", block, flags=re.MULTILINE) for block in BLOCKS)
    treelet = f'treelet() {{ {shlex.quote(sys.executable)} -m treelet "$@"; }}'
    done = subprocess.run(
        ["bash", "-e", "-c", f"{treelet}\n{script}"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False, env=os.environ | {"NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "treelet: " not in done.stderr, done.stderr
    assert {"K.npy", "m.treelet", "labels.txt", "train.klp"} <= set(os.listdir(tmp_path))


def test_every_command_is_shown() -> None:
    commands = get_command(main.app).commands  # type: ignore[attr-defined]
    shown = set(re.findall(r"^\$ treelet (\w+)", "\n".join(BLOCKS), flags=re.MULTILINE))
    assert shown == set(commands)


def test_every_exit_code_is_told() -> None:
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)}
    codes = (main.FAILED, main.INTERNAL, main.INTERRUPTED, main.PIPE_CLOSED, main.TERMINATED)
    assert told == {0, 1, *codes}
