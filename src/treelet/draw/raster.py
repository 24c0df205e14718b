"""Drawings as PNG and PDF, rendered by matplotlib. Only the SVG elements that treelet writes are supported."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from xml.etree import ElementTree

from treelet.checks import is_number, wrong
from treelet.errors import TreeletError
from treelet.printable import printable

PIXELS = 96.0  # per inch
LARGEST = 20_000  # pixels along a side
FAMILIES = ("Helvetica", "Arial", "Liberation Sans", "DejaVu Sans")
INHERITED = ("fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "text-anchor")
SIDES = {"start": "left", "middle": "center", "end": "right"}

Style = dict[str, str]

_ROTATION = re.compile(r"rotate\(([-.\d]+) ")  # of a text, around its own position


def rendered(svg: str, kind: str, scale: float) -> bytes:
    """Return the picture as the content of a PNG or PDF file. Raise `TreeletError` if no font has some character."""
    if not is_number(scale) or scale <= 0:
        raise wrong("scale", "a positive number", scale, of="save")
    from matplotlib.figure import Figure

    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    figure = Figure(figsize=(width / PIXELS, height / PIXELS))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    elements = list(_elements(root))
    families = _fonts("".join(element.text or "" for element, _ in elements if element.tag == "text"), kind)
    for number, (element, style) in enumerate(elements):
        _DRAW[element.tag](axes, element, style, {"zorder": number, "families": families})
    return content_of(figure, kind, min(PIXELS * scale, LARGEST / max(width, height) * PIXELS))


def content_of(figure: Any, kind: str, dots: float) -> bytes:
    """Return a matplotlib figure as the content of a file. The content is reproducible: no dates, no random names."""
    from matplotlib import rc_context

    out = io.BytesIO()
    dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
    with rc_context({"svg.hashsalt": "treelet"}):
        figure.savefig(out, format=kind, dpi=dots, metadata=dates[kind])
    return out.getvalue()


def _elements(root: Any) -> Iterator[tuple[Any, Style]]:
    """Yield the elements in drawing order with their inherited styles. The namespace of tags is removed."""
    stack: list[tuple[Any, Style]] = [(root, {"fill": "#000000", "stroke": "none", "stroke-width": "1"})]
    while stack:
        element, outer = stack.pop()
        element.tag = element.tag.rpartition("}")[2]
        style = {**outer, **{name: element.attrib[name] for name in INHERITED if name in element.attrib}}
        if element.tag in ("svg", "g"):
            stack.extend((child, style) for child in reversed(element))
        elif element.tag != "title":
            yield element, style


def _look(style: Style) -> dict[str, Any]:
    width = float(style["stroke-width"]) * 72 / PIXELS
    look = {"facecolor": style["fill"], "edgecolor": style["stroke"], "linewidth": width, "capstyle": "round"}
    if dashes := style.get("stroke-dasharray"):  # matplotlib measures dashes in line widths
        lengths = [float(length) / float(style["stroke-width"]) for length in dashes.split()]
        look |= {"linestyle": (0, lengths), "capstyle": "butt"}
    return look


def _path(axes: Any, element: Any, style: Style, where: dict[str, Any]) -> None:
    from matplotlib.patches import PathPatch

    axes.add_patch(PathPatch(_outline(element.attrib["d"]), zorder=where["zorder"], **_look(style)))


def _circle(axes: Any, element: Any, style: Style, where: dict[str, Any]) -> None:
    from matplotlib.patches import Circle

    x, y, radius = (float(element.attrib[name]) for name in ("cx", "cy", "r"))
    axes.add_patch(Circle((x, y), radius, zorder=where["zorder"], **_look(style)))


def _rect(axes: Any, element: Any, style: Style, where: dict[str, Any]) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y, width, height = (float(element.attrib[name]) for name in ("x", "y", "width", "height"))
    corner = float(element.attrib.get("rx", 0))
    box = f"round,pad=0,rounding_size={corner:g}"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=box, zorder=where["zorder"], **_look(style)))


def _text(axes: Any, element: Any, style: Style, where: dict[str, Any]) -> None:
    from matplotlib.patheffects import withStroke

    halo = []
    if style["stroke"] != "none":
        halo = [withStroke(linewidth=float(style["stroke-width"]) * 72 / PIXELS, foreground=style["stroke"])]
    axes.text(
        float(element.attrib["x"]),
        float(element.attrib["y"]),
        element.text or "",
        fontsize=float(style["font-size"]) * 72 / PIXELS,
        fontfamily=where["families"],
        color=style["fill"],
        ha=SIDES[style.get("text-anchor", "start")],
        va="baseline",
        rotation=-float(turned[1]) if (turned := _ROTATION.match(element.attrib.get("transform", ""))) else 0,
        rotation_mode="anchor",
        fontweight=element.attrib.get("font-weight", "normal"),
        fontstyle=element.attrib.get("font-style", "normal"),
        parse_math=False,
        path_effects=halo,
        zorder=where["zorder"],
    )


_DRAW = {"path": _path, "circle": _circle, "rect": _rect, "text": _text}


# --- outlines -----------------------------------------------------------------------------------------------------

_STEP = re.compile(r"([A-Za-z])([^A-Za-z]*)")


def _outline(data: str) -> Any:
    """Return the matplotlib path of the data of an SVG path."""
    from matplotlib.path import Path

    points: list[tuple[float, float]] = []
    codes: list[Any] = []
    x = y = 0.0
    for command, text in _STEP.findall(data):
        values = [float(value) for value in re.findall(r"-?[\d.]+(?:e-?\d+)?", text)]
        if command == "z":
            points.append((x, y))
            codes.append(Path.CLOSEPOLY)
            continue
        if command in "HVhv":
            along = values[0] + (0 if command.isupper() else x if command == "h" else y)
            pairs = [(along, y) if command in "Hh" else (x, along)]
        else:
            pairs = list(zip(values[::2], values[1::2], strict=True))
            if command.islower():
                pairs = [(x + dx, y + dy) for dx, dy in pairs]
        code = {"M": Path.MOVETO, "C": Path.CURVE4, "Q": Path.CURVE3}.get(command.upper(), Path.LINETO)
        points += pairs
        codes += [code] * len(pairs)
        x, y = pairs[-1]
    return Path(points, codes)


# --- fonts --------------------------------------------------------------------------------------------------------


def _fonts(text: str, kind: str) -> list[str]:
    """Return as few font families as possible that contain all characters, the usual ones first."""
    from matplotlib import font_manager

    known = _families(font_manager.fontManager)
    families = [name for name in FAMILIES if name in known][:1]
    missing = {ord(letter) for letter in text if not letter.isspace()}
    missing = _without(missing, families, known)[0]
    if missing:
        known_files = {entry.fname for entry in font_manager.fontManager.ttflist}
        for file in sorted(
            set(font_manager.findSystemFonts()) - known_files
        ):  # fonts that were installed after matplotlib built its cache
            with suppress(RuntimeError, OSError):
                font_manager.fontManager.addfont(file)
        known = _families(font_manager.fontManager)
        others = sorted((name for name in known if name not in families), key=lambda name: ("Sans" not in name, name))
        missing, more = _without(missing, others, known)
        families += more
    if missing:
        lacking = printable(" ".join(sorted(map(chr, missing))[:10]))
        raise TreeletError(
            f"No font that matplotlib finds has the characters {lacking}. Install a font such as Noto Sans, or save the picture as "
            f".svg instead of .{kind}."
        )
    return families


def _families(manager: Any) -> dict[str, str]:
    """Return one regular font file per family, without the Last Resort font, which has a box for every character."""
    known: dict[str, str] = {}
    for entry in manager.ttflist:
        if entry.style == "normal" and entry.weight in (400, "normal", "regular") and "Last Resort" not in entry.name:
            known.setdefault(entry.name, entry.fname)
    return known


def _without(missing: set[int], names: list[str], known: dict[str, str]) -> tuple[set[int], list[str]]:
    """Return the characters that these families lack, and the families that are needed."""
    used = []
    for name in names:
        if not missing:
            break
        if has := missing & _letters(known[name]):
            missing = missing - has
            used.append(name)
    return missing, used


def _letters(file: str) -> set[int]:
    """Return the characters of a font; none if the font cannot be read."""
    from matplotlib.ft2font import FT2Font

    try:
        return set(FT2Font(file).get_charmap())
    except RuntimeError:
        return set()
