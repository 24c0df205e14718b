"""One browser for all tests of pages; each test has a page of its own, from which no request may leave."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("TREELET_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
OWN = ("http://127.0.0.1:", "http://localhost:", "http://treelet.test/", "data:", "blob:", "about:")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium, driven by playwright."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs Chromium (TREELET_CHROMIUM may say where it is)")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Watched:
    """A page, what it asked others for, and what went wrong in it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.left: list[str] = []
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: None if request.url.startswith(OWN) else self.left.append(request.url))


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page of playwright's; at the end nothing may have gone wrong in it, and no request may have left this machine."""
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    watched = Watched(context.new_page())
    yield watched.page
    context.close()
    assert watched.left == []
    assert watched.errors == []


@pytest.fixture
def serve(page: Any) -> Callable[[dict[str, str]], str]:
    """Texts as the files of a site that only this page sees; gives the site's address."""
    kinds = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}

    def served(content: dict[str, str]) -> str:
        def answer(route: Any) -> None:
            name = route.request.url.removeprefix("http://treelet.test/") or "index.html"
            if name == "favicon.ico":
                route.fulfill(status=204)
            elif name in content:
                route.fulfill(body=content[name], content_type=f"{kinds[Path(name).suffix]}; charset=utf-8")
            else:
                route.fulfill(status=404, body=name)

        page.route("http://treelet.test/**", answer)
        return "http://treelet.test/"

    return served
