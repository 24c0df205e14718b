"""An interactive view of trees for notebooks. Python code can read and set the selected node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treelet.checks import check_integer, check_one_of, wrong
from treelet.drawing import Drawing, heat_svg, web
from treelet.drawing.web.pictures import Picture, attributed_structures, explained, picture
from treelet.errors import TreeletError
from treelet.fragments.explanation import Explanation
from treelet.report.notebook import picture as drawing_of
from treelet.structures import Tree

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise TreeletError(
        f"treelet.report.widget requires anywidget. Install it with pip install 'treelet[viz]' ({error})."
    ) from None

_WORDS = ("bottom", "hang")


class TreeView(anywidget.AnyWidget):
    """Interactive view of a tree, a forest, a dependency parse, tagged words or an explanation.

    The view supports zooming, keyboard navigation (arrow keys, Enter) and folding (Space, or a double click). For an explanation,
    the colors of nodes show their shares, and pointing at a fragment highlights its nodes.

    Parameters
    ----------
    thing : Tree, str, Forest, Dependencies, Tagged or Explanation
        Object to show. A string is a tree in brackets.
    heat : iterable of float, optional
        One number per node or word. Positive numbers are drawn in blue, negative ones in orange. Not allowed with an
        explanation, which has its own numbers.
    marks : iterable of iterables of int, optional
        Fragments to outline, each as a list of node numbers. Not allowed with an explanation.
    example : object, optional
        The explained example. Required only for explanations of forests and dependency parses.
    words : {"bottom", "hang"}, default "bottom"
        Draw all words in one row, or each word below its parent.
    limit : int, default 300
        Number of nodes that are shown at first. Larger trees are folded; a click unfolds them.

    Attributes
    ----------
    selected : int or None
        Number, in pre-order, of the node or word that was clicked last. ``view.observe(f, "selected")`` calls f when it
        changes. Assign a number to select a node.

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
        check_one_of("words", words, _WORDS, of="TreeView")
        super().__init__(content=_content(thing, heat, marks, example), options={"words": words, "limit": limit})
        self._static = _static_picture(thing, example)

    def show(
        self,
        thing: Any,
        *,
        heat: Iterable[float] | None = None,
        marks: Iterable[Any] | None = None,
        example: Any = None,
    ) -> None:
        """Show another object in the same view, and clear the selection."""
        content = _content(thing, heat, marks, example)
        with self.hold_sync():
            self.selected = None
            self.content = content
        self._static = _static_picture(thing, example)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Add a static picture for readers without widgets, such as pages that show stored notebooks."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/plain"] = "<TreeView>"
            if self._static is not None:
                data["image/svg+xml"] = str(self._static)
        return bundle


def _static_picture(thing: Any, example: Any) -> Drawing | None:
    if isinstance(thing, Explanation):
        trees = [(tree, heat) for tree, _, heat in attributed_structures(thing, example) if isinstance(tree, Tree)]
        return heat_svg(*trees[0]) if trees else None
    return drawing_of(Tree.parse(thing) if isinstance(thing, str) else thing)


def _content(thing: Any, heat: Any, marks: Any, example: Any) -> Picture:
    if isinstance(thing, Explanation):
        if heat is not None or marks is not None:
            raise wrong("thing", "a structure, not an explanation, if heat or marks are given", thing, of="TreeView")
        return explained(thing, example)
    return {"trees": [{"title": "", "picture": picture(thing, heat, marks)}], "fragments": []}
