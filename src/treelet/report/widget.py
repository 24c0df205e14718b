"""An interactive view of trees for notebooks, which reports the selected node to Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treelet.checks import check_integer, check_one_of, wrong
from treelet.draw import web
from treelet.draw.web.pictures import Picture, explained, picture
from treelet.errors import TreeletError
from treelet.fragments.explanation import Explanation

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise TreeletError(f"treelet.report.widget needs anywidget: pip install 'treelet[viz]' ({error})") from None

WORDS = ("bottom", "hang")


class TreeView(anywidget.AnyWidget):
    """A tree, a forest, a dependency parse, tagged words or an explanation, to be looked at closely.

    It can be zoomed, walked through by the keyboard (arrows, Enter), and folded (Space, or a double click). Of an explanation the nodes
    have the colors of their shares, and pointing at a fragment shows where it is.

    Parameters
    ----------
    thing : Tree, str, Forest, Dependencies, Tagged or Explanation
        A text is a tree in brackets.
    heat : iterable of float, optional
        A number for each node (or word), for blue or orange: see `treelet.draw.web.pictures.picture`. An explanation has its own.
    marks : iterable of iterables of int, optional
        Fragments to outline, each by the numbers of its nodes. An explanation has its own.
    example : object, optional
        What was explained, where that is a forest or a dependency parse: an explanation does not hold these.
    words : {"bottom", "hang"}
        Words all in one row, or each below its parent.
    limit : int
        Nodes that are shown at first; larger trees are folded, and open where one clicks.

    Attributes
    ----------
    selected : int or None
        The number of the node (or word) that was clicked last, in pre-order; ``view.observe(f, "selected")`` calls f when it changes. Setting it selects.

    Examples
    --------
    >>> from treelet.report.widget import TreeView
    >>> view = TreeView("(NP (D the) (N cat))")
    >>> view.selected = 3
    >>> view.content["trees"][0]["picture"]["labels"][view.selected]
    'N'
    """

    _esm = web.script("widget.js")
    _css = web.style()
    content = traitlets.Dict().tag(sync=True)
    options = traitlets.Dict().tag(sync=True)
    selected = traitlets.Int(None, allow_none=True).tag(sync=True)

    def __init__(
        self,
        thing: Any,
        *,
        heat: Iterable[float] | None = None,
        marks: Iterable[Any] | None = None,
        example: Any = None,
        words: str = "bottom",
        limit: int = 300,
    ) -> None:
        check_integer("limit", limit, of="TreeView")
        check_one_of("words", words, WORDS, of="TreeView")
        super().__init__(content=_content(thing, heat, marks, example), options={"words": words, "limit": limit})

    def show(
        self,
        thing: Any,
        *,
        heat: Iterable[float] | None = None,
        marks: Iterable[Any] | None = None,
        example: Any = None,
    ) -> None:
        """Show something else in the same place; nothing is selected then."""
        content = _content(thing, heat, marks, example)
        with self.hold_sync():
            self.selected = None
            self.content = content


def _content(thing: Any, heat: Any, marks: Any, example: Any) -> Picture:
    if isinstance(thing, Explanation):
        if heat is not None or marks is not None:
            raise wrong("thing", "a structure where heat or marks are given", thing, of="TreeView")
        return explained(thing, example)
    return {"trees": [{"title": "", "picture": picture(thing, heat, marks)}], "fragments": []}
