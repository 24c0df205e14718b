"""The pictures of docs/kernels are those that the tool draws today."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from conftest import ROOT

FOLDER = ROOT / "docs" / "images" / "kernels"


def the_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernel_pictures", ROOT / "tools" / "kernel_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = the_tool()


@pytest.mark.parametrize("name", sorted(TOOL.SHEETS))
def test_pictures_are_current(name: str) -> None:
    kept = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert TOOL.SHEETS[name]() == kept, "draw them anew: python tools/kernel_pictures.py"


def test_every_picture_is_drawn_and_shown() -> None:
    assert sorted(file.stem for file in FOLDER.iterdir()) == sorted(TOOL.SHEETS)
    pages = [
        ROOT / "docs" / "index.md",
        ROOT / "docs" / "kernels.md",
        *sorted((ROOT / "docs" / "kernels").glob("*.md")),
    ]
    shown = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [name for name in TOOL.SHEETS if f"images/kernels/{name}.svg" not in shown] == []


def test_every_kernel_page_is_in_the_overview_and_has_its_parts() -> None:
    overview = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs" / "kernels").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        assert f"(kernels/{page.name})" in overview
        for part in ("images/kernels/", "## Definition", "## Parameters", "## Cost", "## When"):
            assert part in text, f"{page.name} lacks {part}"
