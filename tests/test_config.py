"""The context of computations: where they run, and whether they show their progress."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treelet as tl
from treelet.datasets import flights
from treelet.errors import ParameterError
from treelet.resources import Resources
from treelet.work import progress_bar

DEFAULTS = {"device": "cpu", "device_memory": None, "client": None, "progress": False}
BANK = flights(20)
CLASSES = [number % 2 for number in range(20)]


def test_contexts_are_nested_and_restored() -> None:
    assert tl.get_config() == DEFAULTS
    with tl.config_context(device="emulated", device_memory="1GiB", progress=True):
        outer = tl.get_config()
        assert outer == {"device": "emulated", "device_memory": 1 << 30, "client": None, "progress": True}
        with pytest.raises(ZeroDivisionError), tl.config_context(progress=False):  # noqa: PT012
            assert tl.get_config() == outer | {"progress": False}
            tl.set_config(device="cpu")
            assert tl.get_config() == DEFAULTS
            raise ZeroDivisionError
        assert tl.get_config() == outer
    assert tl.get_config() == DEFAULTS


def test_settings_last_until_they_are_changed() -> None:
    with tl.config_context():
        tl.set_config(progress=True)
        tl.set_config(device="emulated")
        assert tl.get_config() == DEFAULTS | {"device": "emulated", "progress": True}
    assert tl.get_config() == DEFAULTS


def test_a_thread_begins_with_the_defaults() -> None:
    seen = []

    def work() -> None:
        seen.append(tl.get_config())
        tl.set_config(progress=True)
        seen.append(tl.get_config())

    with tl.config_context(device="emulated"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert tl.get_config() == DEFAULTS | {"device": "emulated"}
    assert seen == [DEFAULTS, DEFAULTS | {"progress": True}]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"devise": "cpu"}, "Did you mean 'device'"),
        ({"n_jobs": 2}, "no setting 'n_jobs'"),
        ({"device": "gpu"}, "'cuda'"),
        ({"device": 0}, "device"),
        ({"device_memory": "1GiB"}, "requires device='cuda'"),
        ({"device": "emulated", "device_memory": "much"}, "device_memory"),
        ({"client": "tcp://localhost"}, "dask.distributed.Client"),
        ({"progress": "yes"}, "progress"),
        ({"progress": True, "device": "gpu"}, "device"),
    ],
)
def test_wrong_settings_change_nothing(settings: dict[str, Any], message: str) -> None:
    for change in (tl.set_config, lambda **named: tl.config_context(**named).__enter__()):
        with pytest.raises(ParameterError, match=message):
            change(**settings)
        assert tl.get_config() == DEFAULTS


def test_keywords_take_precedence() -> None:
    wanted = tl.gram(tl.SubsetTree(), BANK)
    with tl.config_context(device="emulated", device_memory="1GiB", progress=True):
        assert Resources.of(2) == Resources(2, None, "emulated", 1 << 30, None, True)
        assert Resources.of(device="cpu", progress=False) == Resources()
        assert Resources.of(device="emulated").device_memory == 1 << 30
        assert Resources.of(device_memory="2GiB").device_memory == 2 << 30
        np.testing.assert_array_equal(tl.gram(tl.SubsetTree(), BANK, device="cpu"), wanted)


def test_estimators_have_no_settings_of_their_own() -> None:
    for name in tl.learn.__all__:
        kind = getattr(tl.learn, name)
        if hasattr(kind, "get_params"):
            assert not DEFAULTS.keys() & set(kind._get_param_names()), name


@pytest.mark.usefixtures("impatient")
def test_progress_of_estimators_and_functions(capsys: pytest.CaptureFixture[str]) -> None:
    clf = tl.KernelSVC()
    with tl.config_context(progress=True):
        clf.fit(BANK, CLASSES)
        assert "digits of the solution: " in capsys.readouterr().err
        clf.predict(BANK)
        assert "scores: " in capsys.readouterr().err
        tl.gram(tl.SubsetTree(), BANK, progress=False)
        assert not capsys.readouterr().err
    clf.predict(BANK)
    assert not capsys.readouterr().err


@pytest.mark.usefixtures("impatient")
def test_only_the_outer_bar_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(True, "outer", 1), progress_bar(True, "inner", 1):
        pass
    assert "inner" not in capsys.readouterr().err
    with progress_bar(True, "next", 1):
        pass
    assert "next" in capsys.readouterr().err


def test_files_with_former_parameters_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, clf = tmp_path / "m.treelet", tl.KernelSVC().fit(BANK, CLASSES)
    former = {"progress": True, "device": "cuda", "device_memory": "1GiB"}
    with monkeypatch.context() as patch:
        patch.setattr(clf, "_fitted_with", clf.get_params(deep=False) | former)
        tl.save(clf, path)
    loaded = tl.load(path)
    assert loaded.get_params(deep=False).keys() == clf.get_params(deep=False).keys()
    np.testing.assert_array_equal(loaded.decision_function(BANK), clf.decision_function(BANK))
