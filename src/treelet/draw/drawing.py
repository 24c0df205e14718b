"""Drawings: pictures that notebooks display and that can be saved as SVG, PNG, PDF or LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from treelet.checks import article, check_one_of, in_words
from treelet.errors import InputTypeError, ParameterError, TreeletError
from treelet.formats.files import PathLike, open_whole
from treelet.structures import Dependencies, Forest, Tree
from treelet.vocabulary import keyword

KINDS = (".svg", ".png", ".pdf", ".tex")
STYLES = ("color", "plain")
SCALE = 2.0


class Drawing(str):
    """A picture as the text of an SVG document. Notebooks display it, and `save` writes it to a file.

    Attributes
    ----------
    of : Tree, Dependencies, ... or None
        The drawn structure, if it can also be written in LaTeX.
    options : dict
        Options of `treelet.draw.latex` for the same style.
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
            `treelet.draw.latex` for LaTeX.
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
            from treelet.draw.tex import latex

            if self.of is None:
                raise ParameterError("This picture has no LaTeX form. Save it as .pdf, or draw the tree alone.")
            return f"{latex(self.of, **self.options)}\n".encode()
        from treelet.draw.raster import rendered

        return rendered(self, kind[1:], scale)


def check_kind(suffix: str, name: str = "") -> str:
    """Return the extension in lower case. Raise TreeletError if it is not supported, or if a package is missing."""
    if (kind := suffix.lower()) not in KINDS:
        raise ParameterError(f"{name or suffix}: the name of a picture must end in {in_words(list(KINDS))}.")
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
    """Draw a tree, a forest, a dependency parse or an edit script.

    Parameters
    ----------
    thing : Tree, str, Forest, Dependencies or EditScript
        Structure to draw. A string is a tree in brackets. An edit script is drawn as two trees whose deleted, inserted and
        renamed nodes are marked.
    style : {"color", "plain"}, default "color"
        ``"color"`` draws categories in light blue boxes, with all words in a row at the bottom.
        ``"plain"`` is the usual style of linguistic papers: labels without boxes, straight black
        lines, and each node one level below its parent. Arcs of a dependency parse are then black.
        Forests and edit scripts have only the first style.
    triangles : str, int or collection of them, default ()
        Constituents of a tree to draw as a triangle over their words: labels such as ``"NP"``, or
        numbers of nodes in pre-order, counted from 0. A constituent inside a triangle is not drawn.
        For labels that no constituent has, `TreeletWarning` is issued.
    **options
        Other options of `tree_svg`, `forest_svg`, `dependency_svg` or `edit_svg`, depending on `thing`.

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
    from treelet.draw.arcs import dependency_svg
    from treelet.draw.svg import forest_svg, tree_svg
    from treelet.draw.triangles import checked_triangles
    from treelet.edits import EditScript

    check_style(style)
    if isinstance(thing, (Tree, str)):
        return tree_svg(thing, style=style, triangles=triangles, **options)
    if isinstance(thing, (Forest, Dependencies, EditScript)) and checked_triangles(triangles):
        raise ParameterError(
            f"Triangles can only be drawn in a tree. Got {article(type(thing).__name__)} instead. "
            f"Remove {keyword('triangles')}."
        )
    if isinstance(thing, Dependencies):
        return dependency_svg(thing, style=style, **options)
    if isinstance(thing, Forest):
        if style != "color":
            raise ParameterError(
                f"A forest has no plain style, because colors distinguish its alternatives. Use {keyword('style', 'color')}, "
                "or draw the most probable tree."
            )
        return forest_svg(thing, **options)
    if isinstance(thing, EditScript):
        from treelet.draw.edits import edit_svg

        if style != "color":
            raise ParameterError(
                f"An edit script has no plain style. Use {keyword('style', 'color')}, which is also readable in gray."
            )
        return edit_svg(thing, **options)
    raise InputTypeError(
        "draw takes a Tree, a bracketed string, a Forest, Dependencies or an EditScript. "
        f"Got {article(type(thing).__name__)} instead."
    )
