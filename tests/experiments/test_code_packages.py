"""The benchmark on packages of functions: names, tokens and parts on a small folder."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from treelet.errors import FileError

code_packages = pytest.importorskip("benchmarks.code_packages", reason="source distributions have no benchmarks")

SOURCE = '''
def scale_{k}(values, factor={k}):
    """Scale {{values}}."""
    total = sum(values)  # a comment
    for each in values:
        print("a b", {name}.scaled(each * factor / total), {{"factor": "x"}})
    return total
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Wheels of two packages with six files each."""
    monkeypatch.setattr(code_packages, "PACKAGES", ("one", "two"))
    monkeypatch.setattr(code_packages, "TEST", 3)
    monkeypatch.setattr(code_packages, "DEV", 2)
    (tmp_path / "wheels").mkdir()
    for package in ("one", "two"):
        with zipfile.ZipFile(tmp_path / "wheels" / f"{package}-1.2-py3-none-any.whl", "w") as wheel:
            for k in range(6):
                wheel.writestr(f"{package}/m{k}.py", SOURCE.format(k=k, name=package))
            wheel.writestr(f"{package}/data.txt", "not read")
    return tmp_path


def test_tokens_have_the_names_of_the_trees(folder: Path) -> None:
    assert code_packages.download(folder) == {"one": "1.2", "two": "1.2"}
    functions = code_packages.read_functions(folder)
    assert [(each.package, each.file) for each in functions[::6]] == [
        ("one", "one/one/m0.py"),
        ("two", "two/two/m0.py"),
    ]
    assert code_packages.read_functions(folder) == functions, "cached"
    kept, anonymous = (code_packages.tokens(functions[0], form) for form in ("keep", "anonymous"))
    assert kept[:10] == ["def", "scale_0", "(", "values", ",", "factor", "=", "0", ")", ":"]
    assert kept[10:13] == ["total", "=", "sum"], "neither docstring nor comment"
    assert '"a b"' in kept
    assert '"factor"' in kept
    assert not {"scale_0", "values", "factor", "total", "each"} & set(anonymous)
    assert {"sum", "print", "one", "scaled"} <= set(anonymous)
    assert [name in functions[0].trees["anonymous"] for name in ("$0", "total", "scaled")] == [True, False, True]


def test_no_file_is_in_two_parts_and_every_system_learns(folder: Path) -> None:
    code_packages.download(folder)
    functions = code_packages.read_functions(folder)
    parts = code_packages.split_files(functions)
    assert [len(part) for part in parts] == [7, 2, 3]
    assert sorted(np.concatenate(parts)) == list(range(12))
    learner = code_packages.Learner(functions, "anonymous", 1)
    rows = np.arange(12)
    for system, start in code_packages.STARTS.items():
        setting = {"n": 2, "lam": 0.4, "C": 10.0} | start
        predicted, cost = learner.predict(system, setting, rows, rows)
        assert (predicted == learner.packages).all(), system
        assert cost["cpu"] > 0


def test_a_package_that_cannot_be_downloaded_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: No matching distribution found")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: failed)
    with pytest.raises(FileError, match="could not download homeassistant: ERROR: No matching distribution found"):
        code_packages.download(tmp_path)
