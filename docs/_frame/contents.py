"""Build the sidebar of the site from the lists of pages, in plain Markdown, on the page of each section.

So pages read on a code host as they do in the site, and a page that no list names is an error of the build and of the tests.
"""

from __future__ import annotations

import re
from pathlib import Path

SECTIONS = {
    "start": "Start",
    "papers": "Papers",
    "course": "Course",
    "how-to": "How to",
    "kernels": "Kernels",
    "gallery": "Gallery",
    "results": "Results",
    "reference": "Reference",
    "about": "About",
}
ALONE = {"papers"}  # sections of one page; the pages that their tables link to belong to other sections
MADE = {"reference": ["api/index", "api/commands"]}  # generated from docstrings and commands when Sphinx starts

HEADING = re.compile(r"^## +(.+?) *$")
LINK = r"\[([^\]]+)\]\(([^)#:]+)\.(?:md|ipynb)\)"
ITEM = re.compile(
    rf"^(?:[-*] +{LINK}|\|.*\| *{LINK} *\|$)"
)  # at the beginning of a list item, or at the end of a table row
FENCED = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)


def listed(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the pages that the lists and tables of a section mention, by heading: titles and page names without suffix."""
    found: dict[str, list[tuple[str, str]]] = {}
    heading = ""
    for line in FENCED.sub("", text).splitlines():
        if match := HEADING.match(line):
            heading = match[1]
        elif match := ITEM.match(line):
            title, page = match[1] or match[3], match[2] or match[4]
            found.setdefault(heading, []).append((title.replace("`", ""), page))
    return found


def table_of_contents(page: str, text: str) -> str:
    """Return the table of contents to append to the page of a section."""
    if page == "index":
        return _toctree("", list(SECTIONS.items()), swap=True)
    if page not in SECTIONS or page in ALONE:
        return ""
    trees = [_toctree(heading, items) for heading, items in listed(text).items()]
    if page in MADE:
        trees.append("\n```{toctree}\n:caption: From the code\n\n" + "\n".join(MADE[page]) + "\n```\n")
    return "".join(trees)


def _toctree(caption: str, items: list[tuple[str, str]], *, swap: bool = False) -> str:
    lines = [f"{title} <{page}>" for title, page in ([(b, a) for a, b in items] if swap else items)]
    heading = f":caption: {caption}\n" if caption else ""
    return f"\n```{{toctree}}\n:hidden:\n{heading}\n" + "\n".join(lines) + "\n```\n"


def pages_in(docs: Path) -> list[Path]:
    """Return the pages that are written by hand, without the pages that `staging` generates."""
    made = {
        line.strip("/")
        for line in (docs / ".gitignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("/")
    }
    return sorted(page for page in docs.rglob("*.md") if page.relative_to(docs).parts[0] not in made)


def reachable(docs: Path) -> list[str]:
    """Return the pages of the sidebar in order, beginning with the front page."""
    order, waiting = [], ["index"]
    while waiting:
        page = waiting.pop(0)
        file = docs / f"{page}.md"
        if page in order or not file.is_file():
            continue
        order.append(page)
        text = file.read_text(encoding="utf-8")
        folder = Path(page).parent
        if page == "index":
            waiting = [*SECTIONS, *waiting]
        elif page in SECTIONS and page not in ALONE:
            items = [one for some in listed(text).values() for _, one in some]
            waiting = [(folder / one).as_posix() for one in items] + waiting
    return order
