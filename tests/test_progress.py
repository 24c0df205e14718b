"""The progress display: a bar on a terminal, lines in a log, and an updated line in a notebook."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import treelet as tl
from conftest import run_python
from treelet import work
from treelet.matrices import executors as base

WORK = """
import time
from treelet import work
from treelet.matrices import executors as base
work._FIRST_LINE = 0.0
with work.progress_bar(True, "work", 5) as advance:
    for _ in range(5):
        time.sleep(0.01)
        advance(1)
"""


@pytest.mark.usefixtures("impatient")
def test_lines_with_the_time_left(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work._Progress, "elapsed", property(lambda state: float(state.done)))  # a second per step
    with work.progress_bar(True, "work", 5) as advance:
        for _ in range(5):
            advance(1)
    said = capsys.readouterr()
    *before, last = said.err.splitlines()
    assert said.out == ""
    assert [line for line in before if line != "work: 0 of 5, 0 s elapsed"] == [  # this one on a busy machine
        "work: 1 of 5, 1 s elapsed, about 4 s left",
        "work: 2 of 5, 2 s elapsed, about 3 s left",
        "work: 3 of 5, 3 s elapsed, about 2 s left",
    ]
    assert last == "work: 5 of 5, 5 s"


@pytest.mark.serial
@pytest.mark.usefixtures("impatient")
def test_a_long_step_speaks_too(capsys: pytest.CaptureFixture[str]) -> None:
    with work.progress_bar(True, "work", 5):
        until = time.monotonic() + 60
        while not (said := capsys.readouterr().err) and time.monotonic() < until:
            time.sleep(0.02)
    assert re.match(r"work: 0 of 5, \d+ s elapsed\n", said)


def test_the_time_left_follows_from_the_time_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    state = work._Progress("grid", 400)
    state.done = 120
    state.begin -= 70
    assert state.text() == "grid: 120 of 400, 1 min 10 s elapsed, about 2 min 43 s left"
    state.done = 19  # too few for an estimate
    assert state.text() == "grid: 19 of 400, 1 min 10 s elapsed"
    state.done = 500  # more steps than were announced
    assert state.text() == "grid: 400 of 400, 1 min 10 s"


def test_short_work_and_unwanted_progress_say_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with work.progress_bar(True, "work", 2) as advance:
        advance(2)
    monkeypatch.setattr(work, "_FIRST_LINE", 0.0)
    with work.progress_bar(False, "work", 2) as advance:
        advance(1)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("impatient")
def test_an_error_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> None:
        with work.progress_bar(True, "work", 2) as advance:
            advance(1)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert "2 of 2" not in capsys.readouterr().err


@pytest.mark.usefixtures("impatient")
def test_no_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under pythonw, or where it was closed."""
    with open(os.devnull, "w", encoding="utf-8") as stream:
        pass
    for nowhere in (None, stream):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", nowhere if nowhere is None else _NotATerminal(nowhere))
            with work.progress_bar(True, "work", 2) as advance:
                advance(1)


class _NotATerminal:
    def __init__(self, stream: Any) -> None:
        self.write, self.flush = stream.write, stream.flush

    def isatty(self) -> bool:
        return False


def test_forced_colors_do_not_make_a_pipe_a_terminal() -> None:
    """Continuous integration often sets FORCE_COLOR, by which rich draws a bar into the log."""
    environment = {**os.environ, "FORCE_COLOR": "1"}
    command = [sys.executable, "-c", WORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True)
    assert "\x1b" not in done.stderr
    assert re.search(r"^work: 5 of 5, \d+ s$", done.stderr, re.MULTILINE)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_a_bar_on_a_terminal() -> None:
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen([sys.executable, "-c", WORK], stderr=theirs, env=environment) as running:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    text = shown.decode()
    assert running.returncode == 0
    assert "0/?" in text  # the bar moves to and fro until the first step is done
    assert "5/5" in text
    assert "left:" in text
    assert "5 of 5" not in text


def test_importing_loads_no_rich() -> None:
    assert run_python(WORK + "import sys\nprint('rich' in sys.modules)") == "False\n"


def test_a_search_by_edit_distance_counts_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row is filtered as a whole, so the first rows of a triangle take as long as the last ones."""
    shown: list[tuple[str, int]] = []

    @contextmanager
    def bar(wanted: bool, what: str, total: int) -> Iterator[Callable[[int], None]]:
        done: list[int] = []
        yield done.append
        assert sum(done) == total
        shown.append((what, total))

    monkeypatch.setattr(base, "progress_bar", bar)
    trees = [tl.Tree("S", ["a"] * n) for n in range(1, 40)]
    tl.nearest(tl.EditDistance(), trees, threshold=1.0, graph=True, n_jobs=2)
    assert shown == [("rows", 39)]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_matrix_advances_more_than_once_per_tile(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """A tile of a large matrix can take a minute, so the count must not wait for the end of a tile."""
    counts: list[int] = []

    @contextmanager
    def recorded(wanted: bool, what: str, total: int) -> Iterator[work.Advance]:
        yield counts.append
        assert sum(counts) == total

    monkeypatch.setattr(base, "progress_bar", recorded)
    n = 1000 if threads == 1 else 4000  # tiles of 84 rows
    trees = [f"(S (A a{number % 7}) (B b{number % 5}))" for number in range(n)]
    tl.nearest(tl.SubsetTree(), trees, k=1, n_jobs=threads, progress=True)
    assert max(counts) <= 64 * n


def test_steps_and_fits_are_logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.DEBUG, "treelet")
    tl.KernelSVC().fit(["(A a)", "(B b)"], [0, 1])
    assert [(record.levelname, record.message.partition(" in ")[0]) for record in caplog.records] == [
        ("DEBUG", "values: 4"),
        ("DEBUG", "digits of the solution: 100"),
        ("DEBUG", "KernelSVC.fit"),
    ]
    caplog.clear()
    moments = iter((10.0, 12.5))
    monkeypatch.setattr(work.time, "monotonic", lambda: next(moments))
    with work.progress_bar(False, "trees", 3):
        pass
    assert [(record.levelname, record.message) for record in caplog.records] == [("INFO", "trees: 3 in 2.50 s")]
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("treelet").handlers)
