"""Dependency parses as arcs over the words, as SVG and in the terminal."""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from treelet.checks import check_integer
from treelet.draw.drawing import Drawing
from treelet.draw.excerpts import shortened
from treelet.draw.layout import shown, width_of
from treelet.draw.svg import Caption, escaped
from treelet.errors import InputTypeError, TreeError
from treelet.structures import Dependencies

LIMIT = 200  # words
WORD, SMALL = 15.0, 11.0  # sizes of letters
LEVEL, STEP, CORNER = 25.0, 9.0, 6.0  # from one arc to the next above it, between two ends at a word, of an arc
MARGIN, GAP, PAD = 16.0, 16.0, 16.0  # around, between words, beside a label
LINE, NAME, TAG, ROOT = "#5b6770", "#1f4e79", "#76818b", "#a33b20"


@dataclass
class _End:
    """Where an arc meets a word."""

    place: int  # of the word
    aside: float = 0.0  # from its middle
    x: float = 0.0


@dataclass
class _Arc:
    """A link to draw: between two words, or down to a root, where both ends are one."""

    left: _End
    right: _End
    label: str
    level: int
    arrow: _End | None  # the dependent's end
    at: float = 0.0  # the middle of the label
    crossed: list[float] = field(default_factory=list)  # lines of higher arcs that come down through this one

    @property
    def root(self) -> bool:
        return self.left is self.right


class _Measures(NamedTuple):
    width: Callable[[str, bool], float]  # of a text; True: a small one
    step: float
    gap: float
    pad: float  # beside a label, both sides together
    unit: float  # places are multiples of it


class _ArcLayout:
    """Arcs, lower ones under higher ones, and the words as far apart as the labels need."""

    def __init__(self, parse: Dependencies, tags: bool, measures: _Measures) -> None:
        self.parse, self.measures = parse, measures
        self.arcs = _arcs(parse)
        self.height = max((arc.level for arc in self.arcs), default=0)
        self._spread_ends()
        size = measures.width
        self.widths = [
            max(size(shown(word), False), size(shown(tag), True) if tags else 0, self.room[place])
            for place, (word, tag) in enumerate(zip(parse.words, parse.tags, strict=True))
        ]
        self.x = self._places()
        for arc in self.arcs:
            for end in (arc.left, arc.right):
                end.x = self.x[end.place] + end.aside
        self.width = self.x[-1] + self.widths[-1] / 2
        for arc in self.arcs:
            if arc.root:
                arc.at = arc.left.x
                self.width = max(self.width, arc.at + size(arc.label, True) / 2)
            else:
                arc.crossed = sorted(end.x for end in self._crossing(arc))
                arc.at = self._label_place(arc)

    def _spread_ends(self) -> None:
        """The ends at a word, from left to right: arcs from the left, lower ones first; the root's; arcs to the right."""
        ends: list[list[tuple[int, int, _End]]] = [[] for _ in self.parse.words]
        for arc in self.arcs:
            if arc.root:
                ends[arc.left.place].append((1, 0, arc.left))
            else:
                ends[arc.right.place].append((0, arc.level, arc.right))
                ends[arc.left.place].append((2, -arc.level, arc.left))
        self.room = [0.0] * len(ends)
        for place, here in enumerate(ends):
            here.sort(key=lambda entry: entry[:2])
            first = -(len(here) - 1) // 2 if self.measures.unit == self.measures.step else -(len(here) - 1) / 2
            for number, (_, _, end) in enumerate(here):
                end.aside = (first + number) * self.measures.step
            self.room[place] = (len(here) + 1) * self.measures.step

    def _places(self) -> list[float]:
        """The middles of the words: no labels overlap, since an arc is wider than its label."""
        m = self.measures
        apart = [
            m.unit * math.ceil(((one + other) / 2 + m.gap) / m.unit) for one, other in itertools.pairwise(self.widths)
        ]
        needs = []
        for arc in (arc for arc in self.arcs if not arc.root):
            parts = 1 + len(self._crossing(arc))  # the widest of them is at least as wide as their mean
            need = parts * (m.width(arc.label, True) + m.pad) + arc.left.aside - arc.right.aside
            needs.append((arc.left.place, arc.right.place, need))
        roots = sorted((arc for arc in self.arcs if arc.root), key=lambda arc: arc.left.place)
        for one, other in itertools.pairwise(roots):
            labels = (m.width(one.label, True) + m.width(other.label, True)) / 2
            needs.append((one.left.place, other.left.place, labels + m.pad + one.left.aside - other.left.aside))
        for left, right, need in sorted(needs, key=lambda entry: (entry[1] - entry[0], entry)):
            missing = need - sum(apart[left:right])
            if missing > 0:
                more = m.unit * math.ceil(missing / (right - left) / m.unit)
                apart[left:right] = [width + more for width in apart[left:right]]
        start = self.widths[0] / 2
        for arc in roots[:1]:
            start = max(start, m.width(arc.label, True) / 2 - arc.left.aside - sum(apart[: arc.left.place]))
        places = [m.unit * math.ceil(start / m.unit)]
        for width in apart:
            places.append(places[-1] + width)
        return places

    def _crossing(self, arc: _Arc) -> list[_End]:
        """Ends of higher arcs whose lines come down through this one."""
        higher = {id(end): end for other in self.arcs if other.level > arc.level for end in (other.left, other.right)}
        return [end for end in higher.values() if arc.left.place < end.place < arc.right.place]

    def _label_place(self, arc: _Arc) -> float:
        """The middle of the arc, or the nearest place to it where no line comes down through the label."""
        half, unit = self.measures.width(arc.label, True) / 2, self.measures.unit
        middle = (arc.left.x + arc.right.x) / 2
        reach = int(((arc.right.x - arc.left.x) / 2 - half) / unit)
        for off in sorted(range(-reach, reach + 1), key=abs):
            at = middle + off * unit
            if all(abs(x - at) > half + self.measures.pad / 4 for x in arc.crossed):
                return at
        return middle


def _arcs(parse: Dependencies) -> list[_Arc]:
    """The arcs, shorter ones first, each on the lowest level above all it spans or crosses."""
    arcs: list[_Arc] = []
    top = [0] * len(parse)  # the highest level between a word and the next
    for left, right, kind in sorted(parse.links, key=lambda link: (link.right - link.left, link)):
        level = 1 + max(top[left:right])
        top[left:right] = [level] * (right - left)
        one, other = _End(left), _End(right)
        arrow = None
        if parse.heads is not None:
            arrow = one if parse.heads[left] == right + 1 else other
        arcs.append(_Arc(one, other, shown(kind), level, arrow))
    if parse.heads is not None and parse.relations is not None:
        height = max(top) + 1
        for place, (head, kind) in enumerate(zip(parse.heads, parse.relations, strict=True)):
            if head == 0:
                end = _End(place)
                arcs.append(_Arc(end, end, shown(kind), height, end))
    return arcs


def _check(parse: object, limit: int) -> Dependencies:
    if not isinstance(parse, Dependencies):
        raise InputTypeError(f"Dependencies are needed, got {type(parse).__name__}")
    check_integer("limit", limit)
    if len(parse) > limit:
        raise TreeError(
            f"the parse has {len(parse):,} words, more than can be drawn ({limit:,}): print it, or raise limit"
        )
    return parse


# --- SVG --------------------------------------------------------------------------------------------------------


def dependency_svg(parse: Dependencies, *, tags: bool = True, caption: str = "", limit: int = LIMIT) -> Drawing:
    """A picture of a dependency parse: arcs over the words, their types on them.

    Parameters
    ----------
    parse : Dependencies
        Where there are heads, an arrow points at each dependent, and a line comes down to each root.
    tags : bool
        Show the tags below the words, if there are any.
    caption : str
        A line of text below the picture.
    limit : int
        Words at most.

    Returns
    -------
    Drawing
        An SVG document, as a string that can be saved in other forms too.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.draw import dependency_svg
    >>> svg = dependency_svg(Dependencies.from_heads(["dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"]))
    >>> svg.startswith("<svg "), ">nsubj</text>" in svg
    (True, True)
    """
    parse = _check(parse, limit)
    tags = tags and any(tag != "_" for tag in parse.tags)
    measures = _Measures(lambda text, small: width_of(text, SMALL if small else WORD), STEP, GAP, PAD, 1.0)
    layout = _ArcLayout(parse, tags, measures)
    floor = MARGIN + LEVEL * layout.height + (6 if layout.height else 0)
    below = Caption(caption, layout.width)
    width = max(layout.width + 2 * MARGIN, below.width)
    height = floor + 24 + (17 if tags else 0) + below.height + MARGIN / 2
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" text-anchor="middle">',
        f"<title>{escaped(shortened(' '.join(parse.words)))}</title>",
        f'<path d="M0 0H{width:.0f}V{height:.0f}H0z" fill="#ffffff"/>',
    ]
    highest = sorted(layout.arcs, key=lambda arc: -arc.level)
    lines += [f'<g fill="none" stroke="{LINE}" stroke-width="1.3">']
    lines += [_path(arc, floor) for arc in highest]
    lines += ["</g>"]
    for arc in highest:
        if arc.arrow is not None:
            x, colour = arc.arrow.x + MARGIN, ROOT if arc.root else LINE
            lines.append(f'<path d="M{x - 3.5:.1f} {floor - 5:.1f}h7l-3.5 6.5z" fill="{colour}"/>')
    for arc in highest:
        x, y = arc.at + MARGIN, floor - LEVEL * arc.level
        half = width_of(arc.label, SMALL) / 2 + 2
        lines.append(f'<path d="M{x - half:.1f} {y - 7:.1f}h{2 * half:.1f}v14h{-2 * half:.1f}z" fill="#ffffff"/>')
        lines.append(
            f'<text x="{x:.1f}" y="{y + 3.8:.1f}" font-size="{SMALL:g}" fill="{ROOT if arc.root else NAME}">'
            f"{escaped(arc.label)}</text>"
        )
    for place, word in enumerate(parse.words):
        x = layout.x[place] + MARGIN
        lines.append(f'<text x="{x:.1f}" y="{floor + 18:.1f}" font-size="{WORD:g}">{escaped(shown(word))}</text>')
        if tags:
            lines.append(
                f'<text x="{x:.1f}" y="{floor + 35:.1f}" font-size="{SMALL:g}" fill="{TAG}">'
                f"{escaped(shown(parse.tags[place]))}</text>"
            )
    return Drawing("\n".join([*lines, *below.lines(height), "</svg>"]) + "\n", of=parse)


def _path(arc: _Arc, floor: float) -> str:
    one, other, y = arc.left.x + MARGIN, arc.right.x + MARGIN, floor - LEVEL * arc.level
    if arc.root:
        return f'<path d="M{one:.1f} {floor:.1f}V{y:.1f}" stroke="{ROOT}"/>'
    return (
        f'<path d="M{one:.1f} {floor:.1f}V{y + CORNER:.1f}q0 {-CORNER:g} {CORNER:g} {-CORNER:g}H{other - CORNER:.1f}'
        f'q{CORNER:g} 0 {CORNER:g} {CORNER:g}V{floor:.1f}"/>'
    )


# --- the terminal -----------------------------------------------------------------------------------------------


def arcs_text(parse: Dependencies, *, tags: bool = False, limit: int = LIMIT) -> str:
    """A dependency parse drawn with lines over the words, for a terminal.

    Parameters
    ----------
    parse : Dependencies
        Where there are heads, ``▼`` marks each dependent.
    tags : bool
        Show the tags below the words, if there are any.
    limit : int
        Words at most.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.draw import arcs_text
    >>> words, tags = ["the", "cat", "runs"], ["DT", "NN", "VBZ"]
    >>> print(arcs_text(Dependencies.from_heads(words, tags, [2, 3, 0], ["det", "nsubj", "root"])))
                  root
      ┌det─┐┌nsubj─┐│
      ▼    │▼      │▼
     the   cat    runs
    """
    parse = _check(parse, limit)
    tags = tags and any(tag != "_" for tag in parse.tags)
    layout = _ArcLayout(parse, tags, _Measures(lambda text, small: float(_cells(text)), 1.0, 2.0, 2.0, 1.0))
    rows = [[" "] * (int(layout.width) + 2) for _ in range(layout.height + 1)]
    for arc in sorted(layout.arcs, key=lambda arc: -arc.level):
        row = layout.height - arc.level
        for end in (arc.left, arc.right):
            for below in rows[row + 1 : -1]:
                below[int(end.x)] = "│"
            rows[-1][int(end.x)] = "▼" if end is arc.arrow else "│"
        if not arc.root:
            one, other = int(arc.left.x), int(arc.right.x)
            rows[row][one : other + 1] = ["┌", *"─" * (other - one - 1), "┐"]
            for x in arc.crossed:
                rows[row][int(x)] = "┼"
    for arc in layout.arcs:
        _put(rows[layout.height - arc.level], arc.label, arc.at)
    if not layout.arcs:
        rows = []
    for shown_row in (parse.words, parse.tags)[: 1 + tags]:
        rows.append([" "] * (int(layout.width) + 2))
        for place, text in enumerate(shown_row):
            _put(rows[-1], shown(text), layout.x[place])
    return "\n".join("".join(row).rstrip() for row in rows)


def _put(row: list[str], text: str, middle: float) -> None:
    """A text with its middle here; a wide letter takes two cells, one that combines with its neighbour none."""
    at = max(0, math.floor(middle - (_cells(text) - 1) / 2))
    for letter in text:
        cells = _cells(letter)
        if cells == 0:
            row[max(0, at - 1)] += letter
            continue
        row.extend(" " * max(0, at + cells - len(row)))
        row[at : at + cells] = [letter, *[""] * (cells - 1)]
        at += cells


def _cells(text: Sequence[str]) -> int:
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
