"""examples/forests.py, part 2 of make demo."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from conftest import ROOT


@pytest.mark.parametrize("file", [False, True])
def test_forests_share_what_first_parses_hide(
    file: bool, tmp_path: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import treelet as tl

    trees = tmp_path / "trees.mrg"  # type: ignore[operator]
    tl.datasets.flights(160).write(trees)
    module = runpy.run_path(str(ROOT / "examples" / "forests.py"))
    module["main"].__globals__["SIZES"] = (100, 20, 40)
    monkeypatch.setattr(sys, "argv", ["forests.py", *([str(trees)] if file else [])])
    module["main"]()
    text = capsys.readouterr().out
    tree, forest = (
        float(re.search(rf"^  ([\d.]+)  .*\({kernel}\)$", text, re.MULTILINE)[1])
        for kernel in ("SubsetTree", "ForestKernel")
    )  # type: ignore[index]
    assert 0 <= tree < forest <= 1
    assert len(re.findall(r"^ +\d\.\d\d +\d\.\d\d  \(", text, flags=re.MULTILINE)) >= 1
