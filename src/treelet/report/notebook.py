"""The display of objects in notebooks: pictures of structures, tables of collections, kernels, models and results.

Large objects are shown in part, with a note. Labels come from untrusted files, so all texts are escaped. Pictures have a white
background, and tables use the colors of the page. Both are readable on dark pages.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import singledispatch
from html import escape
from itertools import islice
from typing import Any

from treelet.checks import plural
from treelet.drawing.arcs import dependency_svg
from treelet.drawing.drawing import Drawing
from treelet.drawing.edits import edit_svg, edited_trees
from treelet.drawing.leaves import MORE, NOTE, WORDS, excerpt, nodes_text, open_nodes, shortened, text_html
from treelet.drawing.svg import MARGIN, aligned, captioned_svg, forest_svg
from treelet.edits import EditScript
from treelet.kernels import Kernel
from treelet.structures import Dependencies, Forest, Table, Tagged, Tree
from treelet.structures.bank import Bank
from treelet.structures.dependency import Link

FIRST, LAST = 5, 2  # first and last rows of a bank that are shown
_FRAGMENTS = 10  # rows of a table of fragments, which fit on one screen
ROW, READABLE = 54.0, 0.4  # height in pixels of a drawing in a row, and the smallest scale of a readable drawing
_SCALE = 0.75  # scale of a drawing that opens below a row
_LETTERS = 90  # characters of a text in a table
_CLASSES = 20  # classes that are listed
_TEXT = 1_000  # nodes or words of a structure that is also given as text
_FOREST = 160  # nodes and edges of a forest that is drawn completely
_EDITED = 400  # nodes of the two trees of an edit script that is drawn

_DRAWING = 100  # width in pixels reserved for a drawing in a row, so that texts are aligned
_LEFT = "text-align:left; vertical-align:middle; padding-top:1px; padding-bottom:1px"
_RIGHT = (
    "text-align:right; vertical-align:middle; padding-top:1px; padding-bottom:1px; font-variant-numeric:tabular-nums"
)
_FAINT = "opacity:.7"
_NUMBER = re.compile(r"[+\u2212-]?[\d,]+(\.\d+)?(e[+-]?\d+)?")
_TITLE = re.compile(rb"<title>[^<]*</title>\n")
_GAP = ["", f'<span style="{_FAINT}">{MORE}</span>']


# --- pictures -----------------------------------------------------------------------------------------------------


@singledispatch
def picture(thing: object) -> Drawing | None:
    """Return a drawing of an object, or None if it has none."""
    return None


@picture.register
def _(tree: Tree) -> Drawing:
    return captioned_svg(*excerpt(tree))


@picture.register
def _(forest: Forest) -> Drawing | None:
    if not forest:
        return None
    if len(forest.columns.label) + len(forest.columns.logp) <= _FOREST:
        return forest_svg(forest)
    tree, note = excerpt(forest.best()[0])
    caption = f"The most probable tree of {str(forest).strip('<>')}. Prune the forest to draw it completely"
    return captioned_svg(tree, f"{caption}; {note}" if note else caption)


@picture.register
def _(parse: Dependencies) -> Drawing | None:
    if not parse.words:
        return None
    small = _first_words(parse)
    note = f"cut: the first {WORDS} of {len(parse):,} words" if small is not parse else ""
    return dependency_svg(small, caption=note)


@picture.register
def _(script: EditScript) -> Drawing | None:
    drawn = sum(len(side.operations) for side in edited_trees(script))
    return edit_svg(script) if drawn <= _EDITED else None


def _first_words(parse: Dependencies, words: int = WORDS) -> Dependencies:
    """Return the beginning of a parse. Links that lead further end at a last word ``…``."""
    if len(parse) <= words:
        return parse
    texts, tags = [*parse.words[:words], MORE], [*parse.tags[:words], "_"]
    if parse.heads is not None and parse.relations is not None:
        heads = [min(head, words + 1) for head in parse.heads[:words]]
        return Dependencies.from_heads(texts, tags, [*heads, 0], [*parse.relations[:words], MORE])
    links = {Link(left, min(right, words), kind) for left, right, kind in parse.links if left < words}
    return Dependencies(texts, tags, sorted(links))


def line(thing: object) -> str:
    """Return the text form of an object: its repr, shortened if it is very long."""
    if isinstance(thing, Tree) and sum(1 for _ in islice(thing.nodes(), _TEXT + 1)) > _TEXT:
        small, note = excerpt(thing)
        return f"<Tree: {small}, {note}>"
    if isinstance(thing, Dependencies) and len(thing) > _TEXT:
        return f"<Dependencies: {' '.join(thing.words[:WORDS])} {MORE}, {len(thing):,} words>"
    return repr(thing)


def _image(drawing: Drawing | None, scale: float = 1.0) -> str:
    """Return a picture as an HTML image, which also works where inline SVG is removed."""
    if drawing is None:
        return ""
    untitled = _TITLE.sub(b"", drawing.content(".svg"))  # images do not show titles as tooltips
    data = base64.b64encode(untitled).decode("ascii")
    style = f"width:{scale * drawing.width:.0f}px; max-width:100%; height:auto"
    return f'<img alt="" style="{style}" src="data:image/svg+xml;base64,{data}">'


# --- tables -------------------------------------------------------------------------------------------------------


@singledispatch
def table(thing: object) -> str | None:
    """Return an HTML table of an object, or None if it is displayed as text."""
    make = _RESULTS.get(type(thing).__name__, _model_table if hasattr(thing, "model_") else None)
    return None if make is None else make(thing)


@table.register
def _(tagged: Tagged) -> str:
    pairs = [(word, tag) for (word, tag), _ in zip(tagged, range(WORDS), strict=False)]
    cells = "".join(
        f'<span style="display:inline-block; text-align:center; margin:0 .4em .3em 0">{_text(word)}<br>'
        f'<small style="{_FAINT}">{_text(tag)}</small></span>'
        for word, tag in pairs
    )
    more = f'<span style="{_FAINT}">{MORE} {len(tagged):,} words</span>' if len(tagged) > len(pairs) else ""
    return f"<div>{cells}{more}</div>"


@table.register(Bank)
def _(bank: Bank[Any]) -> str:
    rows = [_GAP if number is None else [str(number), *_row(bank[number])] for number in _some(len(bank))]
    return _table(f"{type(bank).__name__}: {bank.stats()}", ["", "", "size"], rows)


@table.register
def _(several: Table) -> str:
    rows = []
    for number in _some(len(several)):
        row = {} if number is None else several[number]
        cells = [_row(row[name])[0] if name in row else "" for name in several.names]
        rows.append(_GAP if number is None else [str(number), *cells])
    return _table(f"Table: {len(several):,} rows", ["", *map(str, several.names)], rows)


def _some(length: int) -> list[int | None]:
    """Return the first and last indices with None between them, or all indices if there are few."""
    if length <= FIRST + LAST + 1:
        return list(range(length))
    return [*range(FIRST), None, *range(length - LAST, length)]


def _row(item: object) -> list[str]:
    """Return the table cell of an item of a bank, and its size."""
    if item is None or (isinstance(item, Forest) and not item):
        return [f'<span style="{_FAINT}">missing</span>', ""]
    if isinstance(item, Tree):
        small = excerpt(item).tree
        return [_opening(str(small), picture(item)), nodes_text(item)]
    if isinstance(item, Forest):
        return [_opening(" ".join(item.words[:WORDS]), picture(item)), str(item).strip("<>").partition(": ")[2]]
    if isinstance(item, Dependencies):
        return [_opening(" ".join(item.words[:WORDS]), picture(item)), f"{len(item):,} words"]
    if isinstance(item, Tagged):
        return [table(item) or "", f"{len(item):,} words"]
    text = " ".join(str(item).split())
    return [f"<code>{_text(text, _LETTERS)}</code>", f"{len(item):,}" if hasattr(item, "__len__") else ""]


def _opening(text: str, drawing: Drawing | None) -> str:
    """Return a line of text that expands to a picture."""
    line = f"<code>{_text(text, _LETTERS)}</code>"
    return f"<details><summary>{line}</summary>{_image(drawing)}</details>" if drawing else line


def _fragment_rows(fragments: Any) -> str:
    """Return the table of the shared fragments with the largest contributions."""
    few = fragments[:_FRAGMENTS]
    number = aligned([fragment.contribution for fragment in few])
    rows = [
        [number(fragment.contribution), " × ".join(map(_count, fragment.counts)), _drawn(fragment.tree)]
        for fragment in few
    ]
    count = plural(len(fragments), "shared fragment")
    caption = (
        f"{count}, sum of contributions {number(fragments.total())}" if fragments.complete else f"More than {count}"
    )
    if len(fragments) > _FRAGMENTS:
        caption += f"; the {_FRAGMENTS} largest contributions"
    return _fragment_table(caption, ["Contribution", "Count in A × B", "Fragment"], rows, few)


def _explanation_table(explanation: Any) -> str:
    """Return the table of the fragments with the largest shares of a score, and the rest."""
    few = explanation.fragments[:_FRAGMENTS]
    left = explanation.score - sum(fragment.share for fragment in few)
    number = aligned([*(fragment.share for fragment in few), left, explanation.score])
    rows = [[number(fragment.share, "+"), _drawn(fragment.tree)] for fragment in few]
    rows.append([number(left, "+"), f"not listed, including the intercept {number(explanation.intercept, '+')}"])
    caption = f"S{explanation.score_name[1:]}: {number(explanation.score)}"
    return _fragment_table(caption, ["Share", "Fragment"], rows, few)


def _weight_table(fragments: Any) -> str:
    """Return the table of the fragments with the largest weights in a model."""
    few = fragments[:_FRAGMENTS]
    number = aligned([fragment.weight for fragment in few])
    rows = [[number(fragment.weight, "+"), _drawn(fragment.tree)] for fragment in few]
    cut_off = "" if fragments.exact else ". The search was cut off: larger weights may exist"
    return _fragment_table(
        f"Largest fragment weights of {fragments.output!r}{cut_off}", ["Weight", "Fragment"], rows, few
    )


def _difference_table(difference: Any) -> str:
    """Return the table of the differences of two corpora: the figures and the fragments."""
    few = difference.fragments[:_FRAGMENTS]
    tested = any(fragment.p_value is not None for fragment in few)
    number = aligned([fragment.weight for fragment in few])
    rows = []
    for fragment in few:
        p = [f"{fragment.p_value:.4f}"] if tested else []
        rates = [f"{rate:.1f}" for rate in fragment.per_thousand]
        rows.append([f"{fragment.z:+.2f}", number(fragment.weight, "+"), *rates, *p, _drawn(fragment.tree)])
    head = ["z", "Weight", "Per 1,000 in A", "Per 1,000 in B", *(["p"] if tested else []), "Fragment"]
    caption = "<br>".join(map(_text, difference.summary()))
    if len(difference.fragments) > len(few):
        caption += f"<br>The first {len(few)} of {len(difference.fragments):,} fragments"
    return _fragment_table(caption, head, rows, few, html=True)


# Results are found by the name of their class, so the display of a tree does not import their modules.
_RESULTS: dict[str, Callable[[Any], str]] = {
    "SharedFragments": _fragment_rows,
    "Explanation": _explanation_table,
    "TopFragments": _weight_table,
    "CorpusDifference": _difference_table,
}


def _count(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:.4g}"


def _drawn(fragment: Any) -> str:
    """Return a fragment as text and, for a tree, as a drawing: beside the text if it is readable there, or on a click."""
    if not isinstance(fragment, Tree):
        return f"<code>{_text(str(fragment), _LETTERS)}</code>"
    small = excerpt(fragment).tree
    text, drawing = f"<code>{text_html(small, _LETTERS)}</code>", captioned_svg(small)
    cropped = _cropped(drawing)
    scale = min(_SCALE, ROW / cropped.height)
    if scale < READABLE:
        return f"<details><summary>{text}</summary>{_image(drawing, _SCALE)}</details>"
    inline = f"display:inline-block; vertical-align:middle; min-width:{_DRAWING}px; margin:0 .6em 0 0"
    return f'<span style="{inline}">{_image(cropped, scale)}</span>{text}'


def _cropped(drawing: Drawing) -> Drawing:
    """Return a drawing with a narrow margin, which leaves more room for letters in a table."""
    cut = MARGIN - 3
    width, height = drawing.width - 2 * cut, drawing.height - 2 * cut
    _, _, rest = drawing.partition(" font-family=")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
    return Drawing(f'{head}viewBox="{cut:g} {cut:g} {width:.0f} {height:.0f}" font-family={rest}')


def _fragment_table(
    caption: str, head: list[str], rows: list[list[str]], fragments: Iterable[Any], *, html: bool = False
) -> str:
    """Return a table of fragments, with a note if some of their leaves are open categories."""
    trees = (fragment.tree for fragment in fragments if isinstance(fragment.tree, Tree))
    note = f'<div style="{_FAINT}"><small>{NOTE}</small></div>' if any(map(open_nodes, trees)) else ""
    return _table(caption, head, rows, html=html, below=note)


# --- kernels and models -------------------------------------------------------------------------------------------


@table.register
def _(kernel: Kernel) -> str:
    rows = []
    for part, values in _parameters(kernel):
        about = (type(part).__doc__ or "").strip().partition("\n")[0]
        rows.append([f"{type(part).__name__}<br><small>{_text(about)}</small>", _values(values)])
    return _table(repr(kernel), ["kernel", "parameters"], rows)


def _parameters(kernel: Kernel) -> list[tuple[Kernel, dict[str, object]]]:
    """Return the components of a kernel, each with its parameters by the shortest names that `set_params` accepts.

    Components without parameters that only combine others are left out.
    """
    parts: list[tuple[Kernel, dict[str, object]]] = []
    stack = [("", kernel)]
    while stack:
        prefix, part = stack.pop()
        values = {name: value for name, value in part.get_params(deep=False).items() if not name.endswith("_bounds")}
        inner = {name: value for name, value in values.items() if isinstance(value, Kernel)}
        own = {prefix + name: value for name, value in values.items() if name not in inner}
        if own or not inner:
            parts.append((part, own))
        stack.extend((f"{prefix}{name}__", inner[name]) for name in reversed(inner))
    uses = Counter(_short(name) for _, own in parts for name in own)
    return [
        (part, {_short(name) if uses[_short(name)] == 1 else name: value for name, value in own.items()})
        for part, own in parts
    ]


def _short(name: str) -> str:
    """Return the name of a parameter without the enclosing kernels that pass it on.

    >>> _short("syntax__kernel__kernel__lam"), _short("kernel__lam")
    ('syntax__lam', 'lam')
    """
    return "__".join(step for step in name.split("__") if step != "kernel")


def _values(values: dict[str, object]) -> str:
    return "<br>".join(f"<code>{_text(name)}</code> = {_text(repr(value), 60)}" for name, value in values.items())


def _model_table(estimator: Any) -> str:
    """Return the table of a fitted estimator."""
    model = estimator.model_
    facts: dict[str, str] = {}
    if isinstance(kernel := getattr(model, "kernel", None), Kernel):
        facts["kernel"] = repr(kernel)
    if (classes := getattr(estimator, "classes_", None)) is not None:
        names = [str(name) for name in classes[:_CLASSES]]
        facts["classes"] = f"{len(classes):,}: {', '.join(names)}{', ' + MORE if len(classes) > _CLASSES else ''}"
    if hasattr(model, "stats"):
        facts["model"] = str(model.stats())
    elif (support := getattr(estimator, "support_", None)) is not None:
        facts["model"] = f"{len(support):,} support examples"
    rows = [[name, _text(value, 400)] for name, value in facts.items()]
    return _table(f"{type(estimator).__name__}, fitted", None, rows)


# --- HTML ---------------------------------------------------------------------------------------------------------


def _table(
    caption: str, head: list[str] | None, rows: Iterable[list[str]], *, html: bool = False, below: str = ""
) -> str:
    """Return a table. Cells and the text below are HTML; the caption is text unless `html` is true."""
    lines = ["<div>", f'<div style="margin-bottom:.4em">{caption if html else _text(caption)}</div>', "<table>"]
    if head is not None:
        names = "".join(f'<th style="{_LEFT}">{_text(name)}</th>' for name in head)
        lines.append(f"<thead><tr>{names}</tr></thead>")
    lines.append("<tbody>")
    for row in rows:
        cells = (f'<td style="{_RIGHT if _NUMBER.fullmatch(cell) else _LEFT}">{cell}</td>' for cell in row)
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>", *([below] if below else []), "</div>"])


def _text(text: str, letters: int | None = None) -> str:
    return escape(text if letters is None else shortened(text, letters))
