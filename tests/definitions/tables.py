"""TEDS by the package apted, and tables to score: generated ones, and those of the documentation on this machine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from lxml import etree

DOCUMENTATION = Path("/usr/share/doc")
WORDS = ["total", "mean", "95% CI", "control group", "(n = 40)", "R&D", "p < 0.05", "n.s.", "Größe", "年", "–", "± 1.5"]


# --- the score ----------------------------------------------------------------------------------------------------


@dataclass
class Node:
    """A node as apted takes it."""

    name: str
    spans: tuple[int, int] = (1, 1)
    tokens: list[str] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)

    @property
    def size(self) -> int:
        return 1 + sum(child.size for child in self.children)


def table_element(html: str) -> Any:
    return etree.fromstring(html.encode(), etree.HTMLParser(remove_comments=True, encoding="utf-8")).find(".//table")


def tokens_inside(element: Any, cells: tuple[str, ...] = ("td",)) -> Iterator[str]:
    """The characters and tags of a cell, recursively."""
    yield from element.text or ""
    for child in element:
        yield f"<{child.tag}>"
        yield from tokens_inside(child, cells)
        yield f"</{child.tag}>"
        if child.tag not in cells:
            yield from child.tail or ""


def tree_of(element: Any, structure_only: bool, cells: str = "td") -> Node:
    with_content = ("td", "th") if cells == "th_as_td" else ("td",)
    spans = (int(element.get("colspan", 1)), int(element.get("rowspan", 1))) if element.tag in ("td", "th") else (1, 1)
    if element.tag in with_content:
        return Node("td", spans, [] if structure_only else list(tokens_inside(element, with_content)))
    if element.tag == "th" and cells == "th_as_leaf":
        return Node("th", spans)
    return Node(element.tag, children=[tree_of(child, structure_only, cells) for child in element])


def levenshtein(a: list[str], b: list[str]) -> int:
    above = list(range(len(b) + 1))
    for i, token in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (token != other)))
        above = row
    return above[-1]


def scorer_by_apted(strings: Any = levenshtein) -> Any:
    """Return a function with the parameters of `treelet.metrics.teds`: TEDS by apted. `strings` compares two cells."""
    from apted import APTED, Config

    class Costs(Config):  # type: ignore[misc]
        valuecls = float

        def __init__(self, normalize: Any) -> None:
            self.normalize = normalize

        def rename(self, a: Node, b: Node) -> float:
            if (a.name, a.spans) != (b.name, b.spans):
                return 1.0
            first, second = (self.normalize("".join(n.tokens)) if self.normalize else n.tokens for n in (a, b))
            longer = max(len(first), len(second))
            return strings(first, second) / longer if longer else 0.0

    def score(
        predicted: str,
        true: str,
        structure_only: bool = False,
        size: str = "nodes",
        cells: str = "td",
        normalize: Any = None,
        clip: bool = False,
    ) -> float:
        elements = [table_element(html) for html in (predicted, true)]
        first, second = (tree_of(element, structure_only, cells) for element in elements)
        distance = APTED(first, second, Costs(normalize)).compute_edit_distance()
        larger = (
            max(first.size, second.size)
            if size == "nodes"
            else max(sum(1 for _ in element.iterdescendants()) for element in elements) + (size == "all")
        )
        return max(1 - distance / larger, 0) if clip else 1 - distance / larger

    return score


# --- tables -------------------------------------------------------------------------------------------------------


def written(rows: list[list[tuple[str, int, int]]], head: int, section: str = "tbody", heading: str = "td") -> str:
    """HTML of rows of cells (content, colspan, rowspan), the first `head` of them in a ``thead``, with other names."""

    def cell(name: str, content: str, columns: int, lines: int) -> str:
        spans = (f' colspan="{columns}"' if columns > 1 else "") + (f' rowspan="{lines}"' if lines > 1 else "")
        return f"<{name}{spans}>{content}</{name}>"

    names = [heading if number < head else "td" for number in range(len(rows))]
    texts = ["<tr>" + "".join(cell(name, *one) for one in row) + "</tr>" for name, row in zip(names, rows, strict=True)]
    top = f"<thead>{''.join(texts[:head])}</thead>" if head else ""
    return f"<table>{top}<{section}>{''.join(texts[head:])}</{section}></table>"


def generated(rng: random.Random, most_rows: int = 8, most_columns: int = 6) -> tuple[str, str]:
    """A random table, and the same table after random edits of contents, spans, cells and rows."""
    columns = rng.randint(1, most_columns)
    rows = [[cell(rng) for _ in range(columns)] for _ in range(rng.randint(1, most_rows))]
    head = rng.randint(0, min(2, len(rows)))
    edited = [list(row) for row in rows]
    for _ in range(rng.randint(0, 2 + len(rows))):
        kind = rng.choice(["content", "content", "cell", "no cell", "row", "no row", "spans"])
        row = rng.choice(edited) if edited else []
        place = rng.randrange(len(row)) if row else None
        if kind == "row":
            edited.insert(rng.randint(0, len(edited)), [cell(rng) for _ in range(columns)])
        elif kind == "no row" and edited:
            edited.remove(row)
        elif kind == "cell":
            row.insert(place or 0, cell(rng))
        elif place is not None:
            content, *spans = row[place]
            if kind == "content":
                cut = rng.randint(0, len(content)) if "<" not in content and "&" not in content else len(content)
                row[place] = (content[:cut] + rng.choice(["", "x", "1"]) + content[cut + 1 :], spans[0], spans[1])
            elif kind == "spans":
                row[place] = (content, rng.randint(1, 3), rng.randint(1, 2))
            else:
                del row[place]
    section, heading = rng.choice(["tbody", "tbody", "tfoot"]), rng.choice(["td", "th"])
    return (
        written(edited, min(head, len(edited)), section, rng.choice([heading, "th"])),
        written(rows, head, heading=heading),
    )


def cell(rng: random.Random) -> tuple[str, int, int]:
    kind = rng.random()
    if kind < 0.15:
        content = ""
    elif kind < 0.6:
        content = f"{rng.uniform(0, 1000):.{rng.randint(0, 3)}f}"
    else:
        content = escape(" ".join(rng.choices(WORDS, k=rng.randint(1, 6))))
    if rng.random() < 0.1:
        tag = rng.choice(["b", "i", "sup"])
        content = f"<{tag}>{content}</{tag}>{rng.choice(['', ' (2)'])}"
    spans = (rng.randint(1, 3), rng.randint(1, 3)) if rng.random() < 0.1 else (1, 1)
    return content, *spans


def from_documentation(most: int, least_cells: int = 4, most_cells: int = 60) -> list[str]:
    """Tables with so many cells from the HTML documentation of packages on this machine, if there is any.

    At most ten come from one page.
    """
    found: list[str] = []
    for page in sorted(DOCUMENTATION.rglob("*.html")):
        try:
            root = etree.parse(str(page), etree.HTMLParser(remove_comments=True, encoding="utf-8")).getroot()
        except (OSError, etree.LxmlError):
            continue
        tables = [] if root is None else [table for table in root.iter("table") if table.find(".//table") is None]
        good = [
            table for table in tables if least_cells <= len(table.findall(".//td")) <= most_cells and has_numbers(table)
        ]
        found += [etree.tostring(table, encoding="unicode", method="html", with_tail=False) for table in good[:10]]
        if len(found) >= most:
            break
    return found[:most]


def has_numbers(table: Any) -> bool:
    """Whether all spans are numbers."""
    return all(element.get(name, "1").isdigit() for element in table.iter("td") for name in ("colspan", "rowspan"))


def edited(rng: random.Random, html: str) -> str:
    """The table after random edits of its elements, wherever they are."""
    table = table_element(html)
    for _ in range(rng.randint(1, 6)):
        element = rng.choice([*table.iterdescendants()] or [table])
        above = element.getparent()
        kind = rng.choice(["text", "text", "delete", "repeat", "span"])
        if kind == "text" or element is table:
            element.text = (element.text or "")[rng.randint(0, 3) :] + rng.choice(WORDS)
        elif kind == "delete":
            above.remove(element)
        elif kind == "repeat":
            above.insert(above.index(element), etree.fromstring(etree.tostring(element, with_tail=False)))
        else:
            element.set(rng.choice(["colspan", "rowspan"]), str(rng.randint(1, 3)))
    return etree.tostring(table, encoding="unicode", method="html", with_tail=False)
