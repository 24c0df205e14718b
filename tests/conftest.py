"""What many tests use: where the real data lies, commands as they are run, large trees, forged files, a browser."""

from __future__ import annotations

import gc
import hashlib
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

import treelet as tl
from treelet.formats.files import open_source

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("mutants", settings.get_profile("default"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("TREELET_HYPOTHESIS", "default"))


def trials(number: int) -> int:
    """Return the number of random examples: at most 80, or `number` if the variable TREELET_TRIALS is "all"."""
    return number if os.environ.get("TREELET_TRIALS") == "all" else min(number, 80)


# A shell lets jobs in the background ignore Ctrl-C. Tests send SIGINT to this process and to children, which inherit that.
if threading.current_thread() is threading.main_thread():  # Dask's workers import this module in another thread.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals or pipes")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc or a limited address space")
DATA = Path(os.environ.get("TREELET_DATA", ROOT.parent / "shared" / "data"))


# --- data -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def data_dir() -> Path:
    if not DATA.is_dir():
        pytest.skip("needs the corpora: set TREELET_DATA to their folder")
    return DATA


@pytest.fixture(scope="session")
def wsj(data_dir: Path) -> tl.Treebank:
    return tl.read_trees(data_dir / "ptb_sample" / "wsj_sample.clean.tsv.xz", format="tsv")


def make_link(link: Path, target: Path) -> None:
    """Make a symbolic link. On Windows, skip the test if the user may not make links."""
    try:
        link.symlink_to(target, target_is_directory=target.is_dir())
    except OSError as error:
        if os.name != "nt":
            raise
        pytest.skip(f"symbolic links cannot be made ({error})")


def first_lines(data_dir: Path, folder: Path, files: dict[str, int]) -> None:
    """A folder of corpora with so many lines of these files; corpora of which none is named are there as they are."""
    named = {file.split("/")[0] for file in files}
    for corpus in data_dir.iterdir():
        if corpus.name not in named:
            make_link(folder / corpus.name, corpus)
    for file, number in files.items():
        copy = folder / file.removesuffix(".xz")
        copy.parent.mkdir(exist_ok=True)
        with open_source(data_dir / file) as source:
            lines = islice(source.text_lines(), number)
            copy.write_text("".join(line.rstrip("\n") + "\n" for _, line in lines), encoding="utf-8")


def binary(height: int, label: str = "A") -> tl.Tree:
    """All nodes alike, two children each: its kernel values grow faster than anything a float64 holds."""
    tree = tl.Tree(label, ["x"])
    for _ in range(height):
        tree = tl.Tree(label, [tree, tree])
    return tree


def nbest_lines(parses: Any, documents: Sequence[str | None] | None = None) -> list[str]:
    """Candidate parses as the lines of a file."""
    out = []
    for number in range(len(parses)):
        one = parses.sentences([number])
        items = [[logp, "ignored", str(tree)] for logp, tree in zip(one.logp.tolist(), one.trees, strict=True)]
        record = {"gold": str(one.gold[0]), "nbest": items}
        out.append(json.dumps(record if documents is None else {**record, "doc": documents[number]}))
    return out


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work speaks at once, and not after ten seconds."""
    from treelet import work

    monkeypatch.setattr(work, "_FIRST_LINE", 0.0)


@pytest.fixture
def alarm() -> Iterator[None]:
    """A signal that is heard as Ctrl-C is.

    Python ignores an exception raised in a callback of the garbage collector, and hypothesis installs one.
    An interrupt that arrives there would be lost, so the callbacks are left out for the time of the test.
    Exceptions in finalizers and callbacks of weak references are ignored, too; there, the signal is sent again.
    """
    if os.name == "nt":
        pytest.skip("needs SIGALRM")

    def interrupt(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_name in ("__del__", "weakref_cb"):
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    callbacks = gc.callbacks[:]
    gc.callbacks.clear()
    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    gc.callbacks[:] = callbacks


# --- commands -------------------------------------------------------------------------------------------------------


def run(*args: object, input: str | bytes | None = None, app: Any = None) -> Any:
    """A command in this process: treelet's, or another application's."""
    from typer.testing import CliRunner

    from treelet.cli.main import app as treelet_app

    apart = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}  # click before 8.2

    class Runner(CliRunner):
        @contextmanager
        def isolation(self, *args: Any, **options: Any) -> Iterator[Any]:
            with super().isolation(*args, **options) as streams:
                sys.stderr.reconfigure(
                    line_buffering=True
                )  # as the real one is; click before 8.2 flushes the other only
                yield streams

    return Runner(**apart).invoke(app or treelet_app, [str(arg) for arg in args], input=input)


def run_experiment(*args: object) -> Any:
    from experiments.__main__ import app

    return run(*args, app=app)


def succeed(*args: object, input: str | bytes | None = None) -> Any:
    result = run(*args, input=input)
    assert result.exit_code == 0, result.output
    return result


def all_commands(group: Any = None, prefix: str = "") -> dict[str, Any]:
    """Return the commands of treelet by name, those of groups as ``"index create"``."""
    from typer.main import get_command

    from treelet.cli.main import app

    group, found = group or get_command(app), dict[str, Any]()
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        found |= all_commands(command, f"{prefix}{name} ") if hasattr(command, "commands") else {prefix + name: command}
    return found


def file_marks(command: Any) -> dict[str, tuple[str, ...]]:
    """Return the marks of the parameters of a command that name files: ("read",), or ("written", ...)."""
    hints = get_type_hints(command.callback, include_extras=True)
    return {name: hint.__metadata__[1] for name, hint in hints.items() if len(getattr(hint, "__metadata__", ())) > 1}


def shows(printed: str, shown: str) -> bool:
    """Return whether a page shows the lines that were printed; a line "..." stands for any number of lines.

    Pages show paths with slashes, the commands with the separator of the system.
    """
    printed, shown = (text.replace(os.sep, "/") for text in (printed, shown))
    parts = [re.escape(part.strip("\n")) for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)]
    return re.fullmatch(".*".join(parts), printed.strip("\n"), flags=re.DOTALL) is not None


def fail(*args: object, input: str | bytes | None = None) -> str:
    """The one line that a failing command prints."""
    result = run(*args, input=input)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("treelet: error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    return str(result.stderr)


def process(*args: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """The real command, in a process of its own."""
    command = [sys.executable, "-m", "treelet", *map(str, args)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False, **options)


def run_python(code: str) -> str:
    """What a program prints, in an interpreter of its own."""
    command, environment = [sys.executable, "-c", code], os.environ | {"PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- model files ----------------------------------------------------------------------------------------------------


def signed(content: bytes) -> bytes:
    """The same content with a checksum that fits."""
    return content[:-32] + hashlib.sha256(content[:-32]).digest()


def round_trip(model: Any, folder: Path, **options: Any) -> Any:
    """What comes back from a file."""
    path = folder / "model.treelet"
    tl.save(model, path)
    return tl.load(path, **options)


def check_forgeries(path: Path, predict: Callable[[Any], Any], copies: int = 600) -> None:
    """Damaged copies of a model file, two in three with a checksum that fits: refused, or a model that works or says why not."""
    from treelet.learn.persist import _PREFIX

    content, expected = path.read_bytes(), predict(tl.load(path))
    header = _PREFIX.size + _PREFIX.unpack_from(content)[4]
    rng, refusals = np.random.default_rng(0), 0
    for k in range(copies):
        damaged = bytearray(content)
        first, last = ((8, len(content)), (_PREFIX.size, header), (header, len(content) - 32))[k % 3]
        for place in rng.integers(first, last, int(rng.integers(1, 4))):
            damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(signed(bytes(damaged)) if k % 3 else bytes(damaged))
        try:
            model = tl.load(path)
        except tl.learn.ModelFileError:
            refusals += 1
            continue
        try:
            scores = predict(model)
        except tl.TreeletError:
            continue
        assert len(scores) == len(expected)
        assert k % 3 or np.array_equal(scores, expected)
    assert copies // 3 < refusals < copies
    path.write_bytes(content[:-5])
    with pytest.raises(tl.learn.ModelFileError, match="cut short"):
        tl.load(path)


# --- a browser -----------------------------------------------------------------------------------------------------

CHROMIUM = os.environ.get("TREELET_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
OWN = ("http://127.0.0.1:", "http://localhost:", "http://treelet.test/", "data:", "blob:", "about:")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium, driven by playwright."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs Chromium (TREELET_CHROMIUM may say where it is)")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Watched:
    """A page, what it asked others for, and what went wrong in it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.left: list[str] = []
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: None if request.url.startswith(OWN) else self.left.append(request.url))


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page of playwright's; at the end nothing may have gone wrong in it, and no request may have left this machine."""
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    watched = Watched(context.new_page())
    yield watched.page
    context.close()
    assert watched.left == []
    assert watched.errors == []


@pytest.fixture
def serve(page: Any) -> Callable[[dict[str, str]], str]:
    """Texts as the files of a site that only this page sees; gives the site's address."""
    kinds = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}

    def served(content: dict[str, str]) -> str:
        def answer(route: Any) -> None:
            name = route.request.url.removeprefix("http://treelet.test/") or "index.html"
            if name == "favicon.ico":
                route.fulfill(status=204)
            elif name in content:
                route.fulfill(body=content[name], content_type=f"{kinds[Path(name).suffix]}; charset=utf-8")
            else:
                route.fulfill(status=404, body=name)

        page.route("http://treelet.test/**", answer)
        return "http://treelet.test/"

    return served
