"""Make the screenshots in docs/images again: python tools/screenshots.py [MODEL [DATA]] [-o FOLDER].

They show the explorer, and a family of similar functions in Python's package asyncio. The model on the page of the
explorer is MODEL, or the embedded ranker. Needs Chromium (TREELET_CHROMIUM may contain its path) and playwright.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
COLORS = 128
MOST = 60_000  # maximum size of a picture in bytes
WAS = "(SBARQ (WHNP (WP Who)) (SQ (VP (VBD discovered) (NP (NNP America)))) (. ?))"
NOW = "(SBARQ (WHADVP (WRB When)) (SQ (VP (VBD discovered) (NP (NNP America)))) (. ?))"
CAT = "(S (NP (D the) (N cat)) (VP (V sat) (PP (P on) (NP (D the) (N mat)))))"
DOG = "(S (NP (D the) (ADJ old) (N dog)) (VP (V sat) (NP (D the) (N mat))))"
CHASED = "(S (NP (D the) (N cat)) (VP (V chased) (NP (D the) (N dog))))"
CHASING = "(S (NP (D the) (N dog)) (VP (V chased) (NP (D a) (N cat))))"
DESKTOP, PHONE = (1280, 900), (375, 1040)
VIEWS: dict[str, tuple[str, dict[str, str], str]] = {
    "trees": ("trees", {"highlight": "(PP (IN with) NP)"}, ".treelet-fragment"),
    "table": ("trees", {"show": "table", "step": "9", "a": CHASED, "b": CHASING}, ".steps .value"),
    "edits": ("trees", {"show": "edits", "a": CAT, "b": DOG}, ".treelet-operation"),
    "sentence": ("sentence", {"highlight": "(PP PP (PP TO NP))"}, ".treelet-fragment"),
    "forest": ("sentence", {"show": "forest"}, ".stage.wide .treelet-best"),
    "model": ("model", {"tree": NOW, "baseline": WAS}, ".near li"),
}


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("model", nargs="?")
    given.add_argument("data", nargs="?")
    given.add_argument("-o", "--output", type=Path, default=IMAGES)
    asked = given.parse_args()
    files = [] if asked.model is None else [asked.model]
    files += [] if asked.data is None else ["--data", asked.data]
    command = [sys.executable, "-m", "treelet", "explore", *files, "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    address = server.stderr.readline().split()[2]
    try:
        with sync_playwright() as playwright:
            found = os.environ.get("TREELET_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
            shoot_clones(browser, asked.output / "clones.png")
            for view in VIEWS:
                for scheme in ("light", "dark"):
                    for name, size in (("", DESKTOP), ("-phone", PHONE)):
                        file = asked.output / f"explorer-{view}{'-dark' if scheme == 'dark' else ''}{name}.png"
                        shoot(browser, address, view, scheme, size, file)
            browser.close()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def shoot(browser: Any, address: str, view: str, scheme: str, size: tuple[int, int], file: Path) -> None:
    home, fields, there = VIEWS[view]
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{address}#{home}?{urlencode({f'{home}.{name}': text for name, text in fields.items()})}")
    page.wait_for_selector(there)
    if view == "table" and size == PHONE:  # the trees stay in sight
        page.locator(there).last.scroll_into_view_if_needed()
    page.wait_for_timeout(400)
    save(page.screenshot(full_page=home == "trees" and size == DESKTOP), file)
    context.close()


def shoot_clones(browser: Any, file: Path) -> None:
    """Show a family whose functions are short enough to be seen whole."""
    library = Path(asyncio.__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "clones.html")
        command = [sys.executable, "-m", "treelet", "clones", "asyncio", "--top", "0", "--html", str(target)]
        subprocess.run(command, check=True, cwd=library)
        page = browser.new_page(viewport={"width": 1000, "height": 900})
        page.goto(target.as_uri())
        family = page.locator("details", has=page.locator("summary", has_text="BaseSelectorEventLoop._sock_recv")).first
        family.locator("summary").click()
        page.mouse.move(0, 0)
        page.wait_for_timeout(400)
        save(family.screenshot(), file)
        page.close()


def save(screenshot: bytes, file: Path) -> None:
    """Write a picture with as many colors as its maximum size allows."""
    picture = Image.open(io.BytesIO(screenshot)).convert("RGB")
    colors, content = COLORS, b""
    while not content or (len(content) > MOST and colors > 16):
        target = io.BytesIO()
        picture.quantize(colors, dither=Image.Dither.NONE).save(target, "PNG", optimize=True)
        content, colors = target.getvalue(), colors - 16
    file.write_bytes(content)
    print(f"{len(content):7,} bytes  {file}")


if __name__ == "__main__":
    main()
