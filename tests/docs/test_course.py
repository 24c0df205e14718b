"""The notebooks of docs/course and of the gallery: outputs that a run reproduces, and exercises with folded solutions."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conftest import ROOT

COURSE = sorted((ROOT / "docs" / "course").glob("*.ipynb"))
GALLERY = sorted((ROOT / "examples").glob("*.ipynb"))
READS_PYTHON = "clones-in-python"  # its outputs are about the standard library, so they depend on the version of Python
SVG, HTML = "image/svg+xml", "text/html"


def content(notebook: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(notebook.read_text(encoding="utf-8"))
    return found


def cells(notebook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = content(notebook)["cells"]
    return found


def shown(outputs: list[Any], texts: bool = True) -> list[Any]:
    """The printed text of a cell; tables and pictures count by their kinds only."""
    return [
        "".join(output["text"])
        if "text" in output and texts
        else "".join(output["data"]["text/plain"])
        if list(output.get("data", {})) == ["text/plain"] and texts
        else sorted(output.get("data", {}))
        for output in outputs
    ]


def test_there_is_one_notebook_per_source() -> None:
    assert [path.stem for path in COURSE] == ["1-collins-duffy", "2-moschitti", "3-forests", "4-locality", "5-lecture"]
    assert len(GALLERY) == 7


@pytest.mark.parametrize("notebook", COURSE, ids=lambda path: path.stem)
def test_exercises_have_folded_solutions(notebook: Path) -> None:
    texts = ["".join(cell["source"]) for cell in cells(notebook)]
    exercises = [number for number, text in enumerate(texts) if text.startswith("**Exercise")]
    assert 4 <= len(exercises) <= 6
    for number in exercises:
        following = cells(notebook)[number + 1]
        folded = "<details>" in texts[number + 1] or "hide-cell" in following["metadata"].get("tags", [])
        assert folded, texts[number]


@pytest.mark.parametrize("notebook", COURSE + GALLERY, ids=lambda path: path.stem)
def test_every_cell_has_an_output(notebook: Path) -> None:
    for number, cell in enumerate((cell for cell in cells(notebook) if cell["cell_type"] == "code"), 1):
        assert cell["outputs"], "".join(cell["source"])
        assert cell["execution_count"] == number
        for output in cell["outputs"]:
            assert output.get("name") != "stderr", "a warning"
            if SVG in output.get("data", {}):
                ElementTree.fromstring("".join(output["data"][SVG]))
    assert notebook.stat().st_size < 500_000, "too large: show a smaller table or picture"


@pytest.mark.slow
@pytest.mark.parametrize("notebook", COURSE + GALLERY, ids=lambda path: path.stem)
def test_outputs_are_those_of_a_run(notebook: Path) -> None:
    """If the outputs have changed on purpose, store the new ones: python tools/notebooks.py."""
    for name in ("nbclient", "nbformat", "ipykernel", "matplotlib", "anywidget"):
        pytest.importorskip(name)
    from tools import notebooks

    version = content(notebook)["metadata"]["language_info"]["version"]
    texts = notebook.stem != READS_PYTHON or version == platform.python_version()
    run = [shown(cell.outputs, texts) for cell in notebooks.executed(notebook).cells if cell.cell_type == "code"]
    assert run == [shown(cell["outputs"], texts) for cell in cells(notebook) if cell["cell_type"] == "code"]
    if notebook in GALLERY:
        assert {SVG, HTML} <= {kind for outputs in run for output in outputs if isinstance(output, list) for kind in output}  # fmt: skip
