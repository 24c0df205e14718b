"""The notebooks of docs/course: exercises with folded solutions, and outputs that a run reproduces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

COURSE = sorted((ROOT / "docs" / "course").glob("*.ipynb"))


def cells(notebook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return found


def shown(outputs: list[Any]) -> list[str]:
    """The printed text of a cell; pictures count by their presence only."""
    return ["".join(output["text"]) if "text" in output else "picture" for output in outputs]


def test_there_is_one_notebook_per_source() -> None:
    assert [path.stem for path in COURSE] == ["1-collins-duffy", "2-moschitti", "3-forests", "4-locality", "5-lecture"]


@pytest.mark.parametrize("notebook", COURSE, ids=lambda path: path.stem)
def test_exercises_have_folded_solutions(notebook: Path) -> None:
    texts = ["".join(cell["source"]) for cell in cells(notebook)]
    exercises = [number for number, text in enumerate(texts) if text.startswith("**Exercise")]
    assert 4 <= len(exercises) <= 6
    for number in exercises:
        following = cells(notebook)[number + 1]
        folded = "<details>" in texts[number + 1] or "hide-cell" in following["metadata"].get("tags", [])
        assert folded, texts[number]
    for cell in cells(notebook):
        assert cell["cell_type"] == "markdown" or cell["outputs"], "a cell without a stored output"


@pytest.mark.slow
@pytest.mark.parametrize("notebook", COURSE, ids=lambda path: path.stem)
def test_outputs_are_those_of_a_run(notebook: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    stored = [shown(cell["outputs"]) for cell in cells(notebook) if cell["cell_type"] == "code"]
    run = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(run, timeout=300, kernel_name="python3", coalesce_streams=True).execute(cwd=str(ROOT))
    assert [shown(cell.outputs) for cell in run.cells if cell.cell_type == "code"] == stored
