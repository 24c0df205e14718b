"""Dependency parses drawn as arcs over the words."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

from treelet.checks import article, check_integer, plural
from treelet.drawing.drawing import Drawing, check_style
from treelet.drawing.svg import Caption, escaped, shown, svg_document, width_of
from treelet.errors import InputTypeError, TreeError
from treelet.structures import Dependencies

_LIMIT = 200  # words
WORD, SMALL = 15.0, 11.0  # font sizes of words, and of tags and labels
LEVEL, STEP, CORNER = 25.0, 9.0, 6.0  # space between arcs and between ends at a word; radius of a corner
MARGIN, GAP, PAD = 16.0, 16.0, 16.0  # space around the picture, between words and beside a label
LINE, NAME, TAG, ROOT = "#5b6770", "#1f4e79", "#76818b", "#a33b20"


@dataclass
class _End:
    """The end of an arc at a word."""

    word: int
    aside: float = 0.0  # distance from the word's middle
    x: float = 0.0


@dataclass
class _Arc:
    """A link between two words, or a line down to a root. The ends of a root line are the same object."""

    left: _End
    right: _End
    label: str
    level: int
    arrow: _End | None  # the dependent's end
    at: float = 0.0  # the middle of the label
    crossed: list[float] = field(default_factory=list)  # positions where lines of higher arcs cross this one

    @property
    def root(self) -> bool:
        return self.left is self.right

    @property
    def label_width(self) -> float:
        return width_of(self.label, SMALL)


class _ArcLayout:
    """The positions of words, arcs and labels: short arcs under long ones, words as far apart as the labels need.

    The tree view for browsers computes the same layout in ``web/layouts.js``; a browser test compares the two.
    """

    def __init__(self, parse: Dependencies, tags: bool) -> None:
        self.parse = parse
        self.arcs = _arcs(parse)
        self.height = max((arc.level for arc in self.arcs), default=0)
        self._spread_ends()
        self.widths = [
            max(width_of(shown(word), WORD), width_of(shown(tag), SMALL) if tags else 0, self.room[position])
            for position, (word, tag) in enumerate(zip(parse.words, parse.tags, strict=True))
        ]
        self.x = self._word_middles()
        for arc in self.arcs:
            for end in (arc.left, arc.right):
                end.x = self.x[end.word] + end.aside
        self.width = self.x[-1] + self.widths[-1] / 2
        for arc in self.arcs:
            if arc.root:
                arc.at = arc.left.x
                self.width = max(self.width, arc.at + arc.label_width / 2)
            else:
                arc.crossed = sorted(end.x for end in self._crossing(arc))
                arc.at = _label_middle(arc)

    def _spread_ends(self) -> None:
        """Order the ends at each word: arcs to the left (the lowest first), then the root line, then arcs to the right."""
        ends: list[list[tuple[int, int, _End]]] = [[] for _ in self.parse.words]
        for arc in self.arcs:
            if arc.root:
                ends[arc.left.word].append((1, 0, arc.left))
            else:
                ends[arc.right.word].append((0, arc.level, arc.right))
                ends[arc.left.word].append((2, -arc.level, arc.left))
        self.room = [(len(here) + 1) * STEP for here in ends]
        for here in ends:
            here.sort(key=lambda entry: entry[:2])
            for number, (_, _, end) in enumerate(here):
                end.aside = (number - (len(here) - 1) / 2) * STEP

    def _word_middles(self) -> list[float]:
        """Return the middle of each word. Labels do not overlap, because each arc is wider than its label."""
        apart = [math.ceil((left + right) / 2 + GAP) for left, right in itertools.pairwise(self.widths)]
        needs = []
        for arc in (arc for arc in self.arcs if not arc.root):
            sections = 1 + len(
                self._crossing(arc)
            )  # the widest section is at least as wide as their mean, so the label fits
            need = sections * (arc.label_width + PAD) + arc.left.aside - arc.right.aside
            needs.append((arc.left.word, arc.right.word, need))
        roots = sorted((arc for arc in self.arcs if arc.root), key=lambda arc: arc.left.word)
        for left_root, right_root in itertools.pairwise(roots):
            labels = (left_root.label_width + right_root.label_width) / 2
            asides = left_root.left.aside - right_root.left.aside
            needs.append((left_root.left.word, right_root.left.word, labels + PAD + asides))
        for left, right, need in sorted(needs, key=lambda entry: (entry[1] - entry[0], entry)):
            missing = need - sum(apart[left:right])
            if missing > 0:
                more = math.ceil(missing / (right - left))
                apart[left:right] = [width + more for width in apart[left:right]]
        start = self.widths[0] / 2
        for arc in roots[:1]:
            start = max(start, arc.label_width / 2 - arc.left.aside - sum(apart[: arc.left.word]))
        return [float(x) for x in itertools.accumulate(apart, initial=math.ceil(start))]

    def _crossing(self, arc: _Arc) -> list[_End]:
        """Return the ends of higher arcs whose lines cross this one."""
        higher = {id(end): end for other in self.arcs if other.level > arc.level for end in (other.left, other.right)}
        return [end for end in higher.values() if arc.left.word < end.word < arc.right.word]


def _label_middle(arc: _Arc) -> float:
    """Return the middle of the arc, or the nearest position where no line crosses the label."""
    half, middle = arc.label_width / 2, (arc.left.x + arc.right.x) / 2
    reach = int((arc.right.x - arc.left.x) / 2 - half)
    for offset in sorted(range(-reach, reach + 1), key=abs):
        if all(abs(x - middle - offset) > half + PAD / 4 for x in arc.crossed):
            return middle + offset
    return middle


def _arcs(parse: Dependencies) -> list[_Arc]:
    """Return the arcs, short ones first, each on the lowest level above all arcs that it spans or crosses."""
    arcs: list[_Arc] = []
    top = [0] * len(parse)  # the highest level between a word and the next
    for left, right, kind in sorted(parse.links, key=lambda link: (link.right - link.left, link)):
        level = 1 + max(top[left:right])
        top[left:right] = [level] * (right - left)
        left_end, right_end = _End(left), _End(right)
        arrow = None
        if parse.heads is not None:
            arrow = left_end if parse.heads[left] == right + 1 else right_end
        arcs.append(_Arc(left_end, right_end, shown(kind), level, arrow))
    if parse.heads is not None and parse.relations is not None:
        height = max(top) + 1
        for word, (head, kind) in enumerate(zip(parse.heads, parse.relations, strict=True)):
            if head == 0:
                end = _End(word)
                arcs.append(_Arc(end, end, shown(kind), height, end))
    return arcs


def _check(parse: object, limit: int) -> Dependencies:
    if not isinstance(parse, Dependencies):
        raise InputTypeError(f"dependency_svg draws Dependencies. Got {article(type(parse).__name__)} instead.")
    check_integer("limit", limit)
    if len(parse) > limit:
        raise TreeError(
            f"The parse has {plural(len(parse), 'word')}, but the limit is {limit:,}. Pass a larger limit=, or print the parse."
        )
    return parse


# --- SVG --------------------------------------------------------------------------------------------------------


def dependency_svg(
    parse: Dependencies, *, style: str = "color", tags: bool = True, caption: str = "", limit: int = _LIMIT
) -> Drawing:
    """Draw a dependency parse as labeled arcs over the words.

    Parameters
    ----------
    parse : Dependencies
        The parse. If it has heads, an arrow points at each dependent, and a vertical line marks each root.
    style : {"color", "plain"}, default "color"
        Colored or black arcs, as for `draw`.
    tags : bool, default True
        Show the tags, if any, below the words.
    caption : str, default ""
        Text below the picture.
    limit : int, default 200
        Maximum number of words. Longer parses raise `TreeError`.

    Returns
    -------
    Drawing
        An SVG document as a string. Its `save` method also writes PNG, PDF and LaTeX.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.drawing import dependency_svg
    >>> svg = dependency_svg(Dependencies.from_heads(["dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"]))
    >>> svg.startswith("<svg "), ">nsubj</text>" in svg
    (True, True)
    """
    check_style(style)
    parse = _check(parse, limit)
    tags = tags and any(tag != "_" for tag in parse.tags)
    layout = _ArcLayout(parse, tags)
    floor = MARGIN + LEVEL * layout.height + (6 if layout.height else 0)
    below = Caption(caption, layout.width)
    width = max(layout.width + 2 * MARGIN, below.width)
    height = floor + 24 + (17 if tags else 0) + below.height + MARGIN / 2
    line, name, tag_color, root = (LINE, NAME, TAG, ROOT) if style == "color" else ("#000000",) * 4
    highest = sorted(layout.arcs, key=lambda arc: -arc.level)
    lines = [f'<g fill="none" stroke="{line}" stroke-width="1.3">']
    lines += [_path(arc, floor, root) for arc in highest]
    lines += ["</g>"]
    for arc in highest:
        if arc.arrow is not None:
            x, color = arc.arrow.x + MARGIN, root if arc.root else line
            lines.append(f'<path d="M{x - 3.5:.1f} {floor - 5:.1f}h7l-3.5 6.5z" fill="{color}"/>')
    for arc in highest:
        x, y = arc.at + MARGIN, floor - LEVEL * arc.level
        half = arc.label_width / 2 + 2
        lines.append(f'<path d="M{x - half:.1f} {y - 7:.1f}h{2 * half:.1f}v14h{-2 * half:.1f}z" fill="#ffffff"/>')
        lines.append(
            f'<text x="{x:.1f}" y="{y + 3.8:.1f}" font-size="{SMALL:g}" fill="{root if arc.root else name}">'
            f"{escaped(arc.label)}</text>"
        )
    for position, word in enumerate(parse.words):
        x = layout.x[position] + MARGIN
        lines.append(f'<text x="{x:.1f}" y="{floor + 18:.1f}" font-size="{WORD:g}">{escaped(shown(word))}</text>')
        if tags:
            lines.append(
                f'<text x="{x:.1f}" y="{floor + 35:.1f}" font-size="{SMALL:g}" fill="{tag_color}">'
                f"{escaped(shown(parse.tags[position]))}</text>"
            )
    return Drawing(svg_document(width, height, " ".join(parse.words), [*lines, *below.lines(height)]), of=parse)


def _path(arc: _Arc, floor: float, root: str) -> str:
    left, right, y = arc.left.x + MARGIN, arc.right.x + MARGIN, floor - LEVEL * arc.level
    if arc.root:
        return f'<path d="M{left:.1f} {floor:.1f}V{y:.1f}" stroke="{root}"/>'
    return (
        f'<path d="M{left:.1f} {floor:.1f}V{y + CORNER:.1f}q0 {-CORNER:g} {CORNER:g} {-CORNER:g}H{right - CORNER:.1f}'
        f'q{CORNER:g} 0 {CORNER:g} {CORNER:g}V{floor:.1f}"/>'
    )
