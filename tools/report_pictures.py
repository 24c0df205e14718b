"""Make the pictures of views and reports in docs/images again: python tools/report_pictures.py MODEL TEST.

MODEL and TEST are what `treelet explain` takes; the page of docs/explaining.md shows six classes of TREC questions. Needs Chromium
(TREELET_CHROMIUM may say where) and playwright.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

import treelet as tl
from treelet.datasets import flights
from treelet.drawing import web
from treelet.drawing.web.pictures import explained
from treelet.report.page import data_block, page

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
COLORS, MOST = 256, 60_000  # colors, and maximum size of a picture in bytes
KINDS = {"SQ": "yes or no", "SBARQ": "question word", "S": "no question"}
CASE = 2  # the case of the report that is shown


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("model")
    given.add_argument("test")
    asked = given.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        command = [sys.executable, "-m", "treelet", "explain", asked.model, asked.test, "-o", str(folder / "r.html")]
        subprocess.run(command, check=True)
        (folder / "view.html").write_text(view_page(), encoding="utf-8")
        found = os.environ.get("TREELET_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        save("report.png", report_parts(opened(browser, folder / "r.html", "light")))
        save("report-dark.png", report_parts(opened(browser, folder / "r.html", "dark"))[1:])
        save("widget.png", view_parts(opened(browser, folder / "view.html", "light")))
        browser.close()


def view_page() -> str:
    """Return the HTML of an explanation as a notebook displays it."""
    given = [tree for tree in flights(400) if tree.label in KINDS]
    kinds = np.array([KINDS[tree.label] for tree in given])
    bank = tl.Treebank([tl.Tree("TOP", tree.children) for tree in given])
    model = tl.KernelSVC(tl.SubsetTree(lam=0.4).normalized()).fit(bank[:200], kinds[:200])
    shown = next(k for k in range(200, len(bank)) if kinds[k] == "yes or no" and len(bank[k].words()) < 10)
    told = [explained(tl.explain(model, bank[shown]), limit=8)]
    script = f'<script type="module">{web.script("report.js")}</script>'
    return page("", ['<div data-case="0"></div>'], style=web.style(), scripts=[data_block("case-data", told), script])


def opened(browser: Any, file: Path, scheme: str) -> Any:
    shown = browser.new_page(viewport={"width": 1000, "height": 900}, color_scheme=scheme)
    shown.goto(f"file://{file}")
    shown.wait_for_selector(".treelet-view")
    return shown


def report_parts(shown: Any) -> list[bytes]:
    matrix = shown.locator(".confusion").screenshot()
    case = shown.locator(".case").nth(CASE)
    case.locator(".treelet-fragment").first.hover()
    shown.wait_for_timeout(300)
    return [matrix, case.screenshot()]


def view_parts(shown: Any) -> list[bytes]:
    shown.locator(".treelet-fragment").nth(1).hover()
    shown.wait_for_timeout(300)
    return [shown.locator(".treelet-explained").screenshot()]


def save(name: str, parts: list[bytes]) -> None:
    """Stack pictures vertically and reduce their colors."""
    drawn = [Image.open(io.BytesIO(part)).convert("RGB") for part in parts]
    whole = Image.new("RGB", (max(one.width for one in drawn), sum(one.height + 12 for one in drawn) - 12), "white")
    top = 0
    for one in drawn:
        whole.paste(one, (0, top))
        top += one.height + 12
    file = IMAGES / name
    whole.quantize(COLORS, dither=Image.Dither.NONE).save(file, optimize=True)
    size = file.stat().st_size
    if size > MOST:
        raise SystemExit(f"{file}: {size:,} bytes are too many")
    print(f"{size:7,} bytes  {file}")


if __name__ == "__main__":
    main()
