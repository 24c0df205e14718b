"""What many tests use: where the real data lies, commands as they are run, large trees, forged files."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

import treelet as tl
from treelet.formats.files import open_source

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("mutants", settings.get_profile("default"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("TREELET_HYPOTHESIS", "default"))

ROOT = Path(__file__).resolve().parents[1]
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


def first_lines(data_dir: Path, folder: Path, files: dict[str, int]) -> None:
    """A folder of corpora with so many lines of these files; corpora of which none is named are there as they are."""
    named = {file.split("/")[0] for file in files}
    for corpus in data_dir.iterdir():
        if corpus.name not in named:
            (folder / corpus.name).symlink_to(corpus)
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


def nbest_lines(parses: Any, documents: list[str] | None = None) -> list[str]:
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

    monkeypatch.setattr(work, "PATIENCE", 0.0)


# --- commands -------------------------------------------------------------------------------------------------------


def run(*args: object, input: str | bytes | None = None, app: Any = None) -> Any:
    """A command in this process: treelet's, or another application's."""
    from typer.testing import CliRunner

    from treelet.cli.main import app as treelet_app

    return CliRunner().invoke(app or treelet_app, [str(arg) for arg in args], input=input)


def run_experiment(*args: object) -> Any:
    from experiments.__main__ import app

    return run(*args, app=app)


def succeed(*args: object, input: str | bytes | None = None) -> Any:
    result = run(*args, input=input)
    assert result.exit_code == 0, result.output
    return result


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
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def run_python(code: str) -> str:
    """What a program prints, in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
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
    from treelet.learn.persist import PREFIX

    content, expected = path.read_bytes(), predict(tl.load(path))
    header = PREFIX.size + PREFIX.unpack_from(content)[4]
    rng, refusals = np.random.default_rng(0), 0
    for k in range(copies):
        damaged = bytearray(content)
        first, last = ((8, len(content)), (PREFIX.size, header), (header, len(content) - 32))[k % 3]
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
