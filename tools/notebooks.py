"""Run the notebooks of the gallery and the course, and store their outputs: python tools/notebooks.py [FILE ...].

Readers see the outputs without running a notebook. Pictures are reduced to 64 colors. A widget is stored as its static picture,
because its state contains a copy of the JavaScript code.
"""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
GALLERY = sorted((ROOT / "examples").glob("*.ipynb"))
COURSE = sorted((ROOT / "docs" / "course").glob("*.ipynb"))
COLORS = 64
WIDGET = "application/vnd.jupyter.widget-view+json"


def executed(file: Path) -> Any:
    """Return a notebook with the outputs of a run, as they are stored."""
    notebook = nbformat.read(file, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", coalesce_streams=True).execute(cwd=str(ROOT))
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
        for output in cell.get("outputs", []):
            content = output.get("data", {})
            content.pop(WIDGET, None)
            if "image/png" in content:
                content["image/png"] = reduced(content["image/png"])
    return notebook


def reduced(png: str) -> str:
    """Return a PNG picture, in base64, with few colors."""
    picture, out = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB"), io.BytesIO()
    picture.quantize(COLORS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:] or map(str, GALLERY + COURSE)):
        nbformat.write(executed(file), file)
        print(f"{file.stat().st_size:9,} bytes  {file.name}")
