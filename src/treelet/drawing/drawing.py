"""Drawings: pictures that notebooks display and that can be saved as SVG, PNG, PDF or LaTeX."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from xml.etree import ElementTree

from treelet.checks import article, check_one_of, in_words, is_number, wrong
from treelet.drawing.leaves import collapsed, is_collapsed, is_open, open_nodes
from treelet.errors import InputTypeError, ParameterError, TreeError, TreeletError
from treelet.formats.files import PathLike, open_whole
from treelet.printable import printable
from treelet.structures import Dependencies, Forest, Tree

if TYPE_CHECKING:
    from treelet.edits import EditScript

# --- drawings as PNG and PDF, rendered by matplotlib ------------------------------------------------------------------

_PIXELS = 96.0  # per inch
_LARGEST = 20_000  # pixels along a side
_FAMILIES = ("Helvetica", "Arial", "Liberation Sans", "DejaVu Sans")
_INHERITED = ("fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "text-anchor")
_SIDES = {"start": "left", "middle": "center", "end": "right"}

Style = dict[str, str]

_ROTATION = re.compile(r"rotate\(([-.\d]+) ")  # of a text, around its own position


def _rendered(svg: str, kind: str, scale: float) -> bytes:
    """Return the picture as the content of a PNG or PDF file. Raise `TreeletError` if no font has some character."""
    if not is_number(scale) or scale <= 0:
        raise wrong("scale", "a positive number", scale, of="save")
    from matplotlib.figure import Figure

    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    figure = Figure(figsize=(width / _PIXELS, height / _PIXELS))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    elements = list(_elements(root))
    families = _fonts("".join(element.text or "" for element, _ in elements if element.tag == "text"), kind)
    for number, (element, style) in enumerate(elements):
        _DRAW[element.tag](axes, element, style, {"zorder": number, "families": families})
    return _content_of(figure, kind, min(_PIXELS * scale, _LARGEST / max(width, height) * _PIXELS))


def _content_of(figure: Any, kind: str, dots: float) -> bytes:
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
        style = {**outer, **{name: element.attrib[name] for name in _INHERITED if name in element.attrib}}
        if element.tag == "svg":
            style["place"] = _inner_place(element, outer.get("place", "0 0 1"))
        if element.tag in ("svg", "g"):
            stack.extend((child, style) for child in reversed(element))
        elif element.tag != "title":
            yield element, style


def _inner_place(element: Any, outer: str) -> str:
    """Return the origin and scale of the content of an svg element, from those around it, as a text."""
    x, y, scale = map(float, outer.split())
    given = {name: float(element.attrib.get(name, 0)) for name in ("x", "y", "width")}
    view = float(element.attrib.get("viewBox", f"0 0 {given['width']} 0").split()[2])
    return f"{x + scale * given['x']} {y + scale * given['y']} {scale * given['width'] / view}"


def _points(length: str, style: Style) -> float:
    """Return a length of the picture in points."""
    return float(length) * float(style["place"].split()[2]) * 72 / _PIXELS


def _look(axes: Any, style: Style, where: dict[str, Any]) -> dict[str, Any]:
    look = {
        "facecolor": style["fill"],
        "edgecolor": style["stroke"],
        "linewidth": _points(style["stroke-width"], style),
    }
    look |= {"capstyle": "round", "zorder": where["zorder"], "transform": _placed(axes, style)}
    if dashes := style.get("stroke-dasharray"):  # matplotlib measures dashes in line widths
        lengths = [float(length) / float(style["stroke-width"]) for length in dashes.split()]
        look |= {"linestyle": (0, lengths), "capstyle": "butt"}
    return look


def _placed(axes: Any, style: Style) -> Any:
    """Return the transformation from the coordinates of an inner svg element to the page."""
    from matplotlib.transforms import Affine2D

    x, y, scale = map(float, style["place"].split())
    return Affine2D().scale(scale).translate(x, y) + axes.transData


def _path(axes: Any, element: Any, style: Style, where: dict[str, Any]) -> None:
    from matplotlib.patches import PathPatch

    axes.add_patch(PathPatch(_outline(element.attrib["d"]), **_look(axes, style, where)))


def _circle(axes: Any, element: Any, style: Style, where: dict[str, Any]) -> None:
    from matplotlib.patches import Circle

    x, y, radius = (float(element.attrib[name]) for name in ("cx", "cy", "r"))
    axes.add_patch(Circle((x, y), radius, **_look(axes, style, where)))


def _rect(axes: Any, element: Any, style: Style, where: dict[str, Any]) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y, width, height = (float(element.attrib[name]) for name in ("x", "y", "width", "height"))
    corner = float(element.attrib.get("rx", 0))
    box = f"round,pad=0,rounding_size={corner:g}"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=box, **_look(axes, style, where)))


def _text(axes: Any, element: Any, style: Style, where: dict[str, Any]) -> None:
    from matplotlib.patheffects import withStroke

    halo = []
    if style["stroke"] != "none":
        halo = [withStroke(linewidth=_points(style["stroke-width"], style), foreground=style["stroke"])]
    axes.text(
        float(element.attrib["x"]),
        float(element.attrib["y"]),
        element.text or "",
        fontsize=_points(style["font-size"], style),
        fontfamily=where["families"],
        color=style["fill"],
        ha=_SIDES[style.get("text-anchor", "start")],
        va="baseline",
        rotation=-float(turned[1]) if (turned := _ROTATION.match(element.attrib.get("transform", ""))) else 0,
        rotation_mode="anchor",
        fontweight=element.attrib.get("font-weight", "normal"),
        fontstyle=element.attrib.get("font-style", "normal"),
        parse_math=False,
        path_effects=halo,
        zorder=where["zorder"],
        transform=_placed(axes, style),
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
    families = [name for name in _FAMILIES if name in known][:1]
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


# --- drawings: pictures that notebooks display and that can be saved as SVG, PNG, PDF or LaTeX ------------------------

_KINDS = (".svg", ".png", ".pdf", ".tex")
STYLES = ("color", "plain")
SCALE = 2.0


class Drawing(str):
    """A picture as the text of an SVG document. Notebooks display it, and `save` writes it to a file.

    Attributes
    ----------
    of : Tree, Dependencies, ... or None
        The drawn structure, if it can also be written in LaTeX.
    options : dict
        Options of `treelet.drawing.latex` for the same style.
    """

    __slots__ = ("of", "options")
    of: object
    options: dict[str, Any]

    def __new__(cls, svg: str, of: object = None, options: dict[str, Any] | None = None) -> Self:
        drawing = super().__new__(cls, svg)
        drawing.of, drawing.options = of, options or {}
        return drawing

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.of, self.options)

    @property
    def width(self) -> float:
        """Width in pixels."""
        return float(self.partition('width="')[2].partition('"')[0])

    @property
    def height(self) -> float:
        """Height in pixels."""
        return float(self.partition('height="')[2].partition('"')[0])

    def __repr__(self) -> str:
        return f"<Drawing: {self.width:.0f} x {self.height:.0f}>"

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, file: PathLike, *, scale: float = SCALE) -> None:
        """Write the picture to a file. The file appears only when it is complete.

        Parameters
        ----------
        file : path
            Name that ends in ``.svg``, ``.png``, ``.pdf`` or ``.tex``. PNG and PDF need matplotlib; see
            `treelet.drawing.latex` for LaTeX.
        scale : float, default 2
            Pixels of a PNG per pixel of the drawing.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import treelet as tl
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "tree.tex"
        ...     tl.draw("(NP (D the) (N apple))").save(file)
        ...     print(file.read_text().splitlines()[-2])
          [NP [D [the]] [N [apple]]]
        """
        content = self.content(Path(file).suffix, scale=scale, name=str(file))
        with open_whole(file) as stream:
            stream.write(content)

    def content(self, suffix: str, *, scale: float = SCALE, name: str = "") -> bytes:
        """Return the content of a file with this extension."""
        kind = check_kind(suffix, name)
        if kind == ".svg":
            return str(self).encode("utf-8", "replace")
        if kind == ".tex":
            if self.of is None:
                raise ParameterError("This picture has no LaTeX form. Save it as .pdf, or draw the tree alone.")
            return f"{latex(self.of, **self.options)}\n".encode()

        return _rendered(self, kind[1:], scale)


def check_kind(suffix: str, name: str = "") -> str:
    """Return the extension in lower case. Raise TreeletError if it is not supported, or if a package is missing."""
    if (kind := suffix.lower()) not in _KINDS:
        raise ParameterError(f"{name or suffix}: the name of a picture must end in {in_words(list(_KINDS))}.")
    if kind in (".png", ".pdf") and find_spec("matplotlib") is None:
        raise TreeletError(
            f"Writing {kind} requires matplotlib. Install it with pip install 'treelet[viz]', or choose .svg."
        )
    return kind


def check_style(style: object) -> None:
    """Require the name of a style."""
    check_one_of("style", style, STYLES)


def draw(
    thing: object, *, style: str = "color", triangles: Iterable[str | int] | str | int = (), **options: Any
) -> Drawing:
    """Draw a tree, a forest, a dependency parse, an edit script or the fragments that two trees share.

    Parameters
    ----------
    thing : Tree, str, Forest, Dependencies, EditScript or SharedFragments
        Structure to draw. A string is a tree in brackets. An edit script is drawn as two trees whose deleted, inserted and
        renamed nodes are marked. Shared fragments are drawn as small trees, below the two trees that share them.
    style : {"color", "plain"}, default "color"
        ``"color"`` draws categories in light blue boxes, with all words in a row at the bottom.
        ``"plain"`` is the usual style of linguistic papers: labels without boxes, straight black
        lines, and each node one level below its parent. Arcs of a dependency parse are then black.
        Forests, edit scripts and shared fragments have only the first style.
    triangles : str, int or collection of them, default ()
        Constituents of a tree to draw as a triangle over their words: labels such as ``"NP"``, or
        numbers of nodes in pre-order, counted from 0. A constituent inside a triangle is not drawn.
        For labels that no constituent has, `TreeletWarning` is issued.
    **options
        Other options of `tree_svg`, `forest_svg`, `dependency_svg`, `edit_svg` or `shared_svg`, depending on `thing`.

    Returns
    -------
    Drawing
        An SVG document as a string. Notebooks display it, and its `save` method writes it to a file
        as SVG, PDF, PNG or LaTeX.

    Examples
    --------
    >>> import treelet as tl
    >>> tl.draw("(NP (D the) (N apple))")
    <Drawing: 148 x 182>
    >>> tl.draw("(S (NP (D the) (N cat)) (VP (V sat)))", style="plain", triangles=["NP"]).count("the cat</text>")
    1
    """
    from treelet.drawing.arcs import dependency_svg
    from treelet.drawing.svg import forest_svg, tree_svg
    from treelet.edits import EditScript
    from treelet.fragments import SharedFragments

    check_style(style)
    if isinstance(thing, (Tree, str)):
        return tree_svg(thing, style=style, triangles=triangles, **options)
    if isinstance(thing, (Forest, Dependencies, EditScript, SharedFragments)) and triangles not in (
        (),
        [],
        set(),
        frozenset(),
    ):
        raise ParameterError(
            f"Triangles can only be drawn in a tree. Got {article(type(thing).__name__)} instead. Remove triangles=."
        )
    if isinstance(thing, Dependencies):
        return dependency_svg(thing, style=style, **options)
    if isinstance(thing, Forest):
        if style != "color":
            raise ParameterError(
                "A forest has no plain style, because colors distinguish its alternatives. Use style='color', "
                "or draw the most probable tree."
            )
        return forest_svg(thing, **options)
    if isinstance(thing, EditScript):
        from treelet.drawing.edits import edit_svg

        if style != "color":
            raise ParameterError(
                "An edit script has no plain style. Use style='color', which is also readable in gray."
            )
        return edit_svg(thing, **options)
    if isinstance(thing, SharedFragments):
        from treelet.drawing.sheets import shared_svg

        if style != "color":
            raise ParameterError("Shared fragments have no plain style. Use style='color', or draw each fragment.tree.")
        return shared_svg(thing, **options)
    raise InputTypeError(
        "draw takes a Tree, a bracketed string, a Forest, Dependencies, an EditScript or SharedFragments. "
        f"Got {article(type(thing).__name__)} instead."
    )


# --- LaTeX, for the packages ``forest`` and ``tikz-dependency`` --------------------------------------------------------

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "`": r"\textasciigrave{}",
    **{letter: f"\\{letter}" for letter in "$&%#_{}"},
}
_SYNTAX = re.compile(r"[\[\],=!;()/@:']|--|''")  # has a meaning in the syntax or in the options of forest
_DEEPEST = 500  # levels, because TeX recurses
_OPEN = ", draw, dashed"  # options of an open category
_TRIANGLE = ", roof"  # option of the words below a triangle, defined by the library linguistics
_LINE = 100  # characters of a subtree on one line
_EDITS = {
    "delete": ("$-$ {}", ", draw, fill=orange!25"),
    "insert": ("$+$ {}", ", draw, very thick, fill=blue!15"),
    "rename": (r"{} $\to$ {}", ", draw, fill=magenta!15"),
}
"""Format and options of the changed nodes of an edit script."""


def latex(thing: object, *, style: str = "color", triangles: Iterable[str | int] | str | int = ()) -> str:
    r"""Return a tree, a dependency parse or an edit script as LaTeX source.

    Parameters
    ----------
    thing : Tree, str, Dependencies or EditScript
        Structure to write. A string is a tree in brackets. An edit script is written as two trees.
    style : {"color", "plain"}, default "color"
        With ``"plain"``, each word of a tree is one level below its category, instead of all words in a
        row at the bottom. LaTeX draws both styles in black, without boxes.
    triangles : str, int or collection of them, default ()
        Constituents of a tree to draw as a triangle over their words, as for `draw`.

    Returns
    -------
    str
        An environment of the package ``forest`` or ``tikz-dependency``. A comment names the package. Special characters of
        LaTeX are escaped. Changed nodes of an edit script have a sign and a color. Open categories of a fragment have a dashed frame; in the plain style, words of a fragment are in italics
        instead. For non-Latin scripts, use LuaLaTeX or XeLaTeX with a suitable font.

    Examples
    --------
    >>> from treelet.drawing import latex
    >>> print(latex("(S (NP-SBJ_1 (NN 50%)) (VP (V rose)))"))
    % \usepackage{forest}
    \begin{forest}
      where n children=0{tier=word}{}
      [S [NP-SBJ\_1 [NN [50\%]]] [VP [V [rose]]]]
    \end{forest}
    """
    from treelet.edits import EditScript

    check_style(style)
    if isinstance(thing, str):
        thing = Tree.parse(thing)
    if isinstance(thing, Dependencies):
        return _dependencies(thing)
    if isinstance(thing, Tree):
        return _tree(thing, style, triangles)
    if isinstance(thing, EditScript):
        return _script(thing)
    if isinstance(thing, Forest):
        raise InputTypeError("A Forest has no LaTeX form. Pass its most probable tree, forest.best()[0].")
    raise InputTypeError(
        "latex takes a Tree, a bracketed string, Dependencies or an EditScript. "
        f"Got {article(type(thing).__name__)} instead."
    )


def _escaped(text: str) -> str:
    r"""Escape a label so that LaTeX prints it unchanged.

    >>> print(_escaped("a_b{}"), _escaped("--"), _escaped("[x,y]"))
    a\_b\{\} {-{}-} {[x,y]}
    """
    out = "".join(_SPECIAL.get(letter, letter) for letter in text)
    for letter in "-',":  # prevents ligatures
        while letter * 2 in out:
            out = out.replace(letter * 2, f"{letter}{{}}{letter}")
    return f"{{{out}}}" if _SYNTAX.search(text) else out


def _tree(tree: Tree, style: str, triangles: Iterable[str | int] | str | int) -> str:
    _check_depth(tree)
    (tree, _), plain = collapsed(tree, triangles), style == "plain"
    library = "[linguistics]" if plain or any(map(is_collapsed, tree.nodes())) else ""
    preamble = "sn edges" if plain else "where n children=0{tier=word}{}"
    formats = (
        _NodeFormats(_OPEN, "{}") if not plain else _NodeFormats("", r"\textit{{{}}}" if open_nodes(tree) else "{}")
    )
    lines = [rf"% \usepackage{library}{{forest}}", r"\begin{forest}", f"  {preamble}"]
    return "\n".join([*lines, *_bracketed(tree, formats), r"\end{forest}"])


def _check_depth(tree: Tree) -> None:
    if tree.height() > _DEEPEST:
        raise TreeError(f"The tree is {tree.height():,} levels deep, but LaTeX can draw at most {_DEEPEST:,} levels.")


def _script(script: EditScript) -> str:
    """Return both trees. Changed nodes have a frame, a color and a sign."""
    from treelet.drawing.edits import edited_trees

    lines = [r"% \usepackage{forest}", r"% $-$ deleted, $+$ inserted, $\to$ renamed"]
    for side in edited_trees(script):
        _check_depth(side.tree)
        edits = {}
        for node, operation in zip(side.tree.nodes(), side.operations, strict=True):
            if operation is not None and operation.kind != "keep":
                text, options = _EDITS[operation.kind]
                labels = [_escaped(x) for x in (operation.source_label, operation.target_label) if x is not None]
                edits[id(node)] = text.format(*labels) + options
        formats = _NodeFormats(_OPEN, "{}", edits)
        lines += [
            r"\begin{forest}",
            "  where n children=0{tier=word}{}",
            *_bracketed(side.tree, formats),
            r"\end{forest}",
        ]
    return "\n".join(lines)


class _NodeFormats(NamedTuple):
    """Options of an open category, the format of words, and the texts of the changed nodes of an edit script by their ids."""

    open_category: str
    word: str
    edits: Mapping[int, str] = MappingProxyType({})

    def node(self, node: Tree) -> str:
        """Return the label of a node with its options."""
        if id(node) in self.edits:
            return self.edits[id(node)]
        label = _escaped(node.label)
        if node.children:
            return label
        if is_open(node):
            return f"{label}{self.open_category}"
        return self.word.format(label) + (_TRIANGLE if is_collapsed(node) else "")


def _bracketed(tree: Tree, formats: _NodeFormats) -> list[str]:
    """Return the lines of a subtree: a single line if it is short, otherwise its label followed by its children."""
    lines: list[str] = []
    stack: list[tuple[Tree | None, int]] = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        if node is None:
            lines.append("  " * depth + "]")
        elif (line := _line(node, _LINE - 2 * depth, formats)) is not None:
            lines.append("  " * depth + line)
        else:
            lines.append("  " * depth + f"[{formats.node(node)}")
            stack.append((None, depth))
            stack.extend((child, depth + 1) for child in reversed(node.children))
    return lines


def _line(tree: Tree, most: int, formats: _NodeFormats) -> str | None:
    """Return a subtree on one line, or None if it is too long."""
    texts: list[str] = []
    length = 0
    stack: list[Tree | None] = [tree]
    while stack:
        node = stack.pop()
        text = "]" if node is None else f" [{formats.node(node)}"
        length += len(text)
        if length > most and tree.children:
            return None
        texts.append(text)
        if node is not None:
            stack.append(None)
            stack.extend(reversed(node.children))
    return "".join(texts).lstrip()


def _dependencies(parse: Dependencies) -> str:
    rows = [parse.words, parse.tags] if any(tag != "_" for tag in parse.tags) else [parse.words]
    lines = [r"% \usepackage{tikz-dependency}", r"\begin{dependency}", r"  \begin{deptext}[column sep=1em]"]
    for row in rows:  # \& separates columns, so an ampersand needs another form
        words = [_escaped(word).replace(r"\&", r"\symbol{38}") for word in row]
        lines.append("    " + r" \& ".join(words) + r" \\")
    lines.append(r"  \end{deptext}")
    if parse.heads is not None and parse.relations is not None:
        for number, (head, kind) in enumerate(zip(parse.heads, parse.relations, strict=True), 1):
            lines.append(
                f"  \\depedge{{{head}}}{{{number}}}{{{_escaped(kind)}}}"
                if head
                else f"  \\deproot{{{number}}}{{{_escaped(kind)}}}"
            )
    else:
        lines += [
            f"  \\depedge[-]{{{left + 1}}}{{{right + 1}}}{{{_escaped(kind)}}}" for left, right, kind in parse.links
        ]
    return "\n".join([*lines, r"\end{dependency}"])
