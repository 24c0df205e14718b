"""TEDS: the similarity of two HTML tables by tree edit distance."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, overload
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import article, check_boolean, check_one_of, plural, wrong
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.formats.adapters import MarkupAdapter, adapter_for
from treelet.formats.files import text_source
from treelet.formats.markup import parse_html
from treelet.metrics.rows import scores_of
from treelet.resources import Resources, check_memory

_SIZES = ("nodes", "elements", "all")
_CELLS = ("td", "th_as_td", "th_as_leaf")
_Table = str | bytes | Element | None
_Tables = list[Any] | tuple[Any, ...] | NDArray[Any]
_SPAN = re.compile(r"\s*\+?0*([0-9]+)")
_TAGS = 0x110000  # tokens from here on are tags, because no character has such a number


@overload
def teds(
    predicted: _Table,
    true: _Table,
    structure_only: bool = ...,
    *,
    size: str = ...,
    cells: str = ...,
    normalize: Callable[[str], str] | None = ...,
    clip: bool = ...,
    n_jobs: int | None = ...,
    progress: bool | None = ...,
) -> float: ...


@overload
def teds(
    predicted: _Tables,
    true: _Tables,
    structure_only: bool = ...,
    *,
    size: str = ...,
    cells: str = ...,
    normalize: Callable[[str], str] | None = ...,
    clip: bool = ...,
    n_jobs: int | None = ...,
    progress: bool | None = ...,
) -> NDArray[np.float64]: ...


@overload  # an element of lxml, which has no types, or another collection
def teds(
    predicted: Any,
    true: Any,
    structure_only: bool = ...,
    *,
    size: str = ...,
    cells: str = ...,
    normalize: Callable[[str], str] | None = ...,
    clip: bool = ...,
    n_jobs: int | None = ...,
    progress: bool | None = ...,
) -> Any: ...


def teds(
    predicted: Any,
    true: Any,
    structure_only: bool = False,
    *,
    size: str = "nodes",
    cells: str = "td",
    normalize: Callable[[str], str] | None = None,
    clip: bool = False,
    n_jobs: int | None = 1,
    progress: bool | None = None,
) -> float | NDArray[np.float64]:
    """Compute TEDS, the tree-edit-distance-based similarity of HTML tables (Zhong et al. 2020).

    TEDS compares the table that a program recognized with the true table. The score is 1 for equal tables.

    Parameters
    ----------
    predicted, true : str, element, or list of them
        Tables as HTML: a ``<table>``, or a page that contains one. Elements of lxml or ``xml.etree`` are
        accepted too. Of several tables, the first one counts. Pass two lists to score many pairs.
    structure_only : bool, default False
        Whether to ignore the contents of cells.
    size : {"nodes", "elements", "all"}, default "nodes"
        Size of a table, which divides the distance. ``"nodes"`` is the number of nodes of the tree.
        ``"elements"`` is the number of elements inside the table, as in the program published with
        PubTabNet. That number excludes the table itself and includes inline elements of cells. Use it to
        compare scores with published ones. ``"all"`` is that number plus 1, for the table itself.
    cells : {"td", "th_as_td", "th_as_leaf"}, default "td"
        Treatment of ``th`` elements. With ``"td"``, only ``td`` is a cell, and a ``th`` is a node like ``tr``, without
        text and spans. ``"th_as_td"`` counts each ``th`` as a ``td``. With ``"th_as_leaf"``, a ``th`` is a
        leaf: its spans count, and its contents do not.
    normalize : callable, optional
        Function of the content of a cell that returns the text to compare. The content is text in which
        tags are written without attributes, such as ``<b>12</b>``. Each character of the result counts as
        one symbol. Default: contents are compared as they are.
    clip : bool, default False
        Whether to return 0 instead of a negative score.
    n_jobs : int, default 1
        Number of threads for lists; -1 for one per core. Scores do not depend on it.
    progress : bool, optional
        Show progress on standard error. Default: as in `treelet.config_context`.

    Returns
    -------
    float or ndarray
        The score of the pair, or one score per pair of the lists.

    Raises
    ------
    TreeError
        If `true` contains no table.

    Notes
    -----
    TEDS is 1 − d / n, where d is the edit distance of two trees and n the number of nodes of the larger one. A tree has a node for
    the table and for each element inside it, except elements inside a cell (``td``). Inserting or deleting a
    node costs 1. Renaming costs 1 if the names differ or, for cells, if ``rowspan`` or ``colspan`` differ.
    Otherwise, renaming a cell costs the Levenshtein distance of the two contents, divided by the length of
    the longer one. Each character of a content and each start or end tag, such as ``<b>``, counts as one
    symbol, and so does white space.

    As in the published program, only ``td`` is a cell by default. A ``th`` is an ordinary node: its text and
    spans are ignored, and the elements inside it are nodes. Use ``cells="th_as_td"`` to score header cells.

    A prediction without a table, such as an empty string or None, scores 0. The score can be negative if two
    tables have almost nothing in common, because both insertions and deletions count; `clip` prevents this.

    OmniDocBench, docling-eval and ParseBench define TEDS differently. ``size``, ``cells``, ``normalize`` and
    ``clip`` select their definitions; the page *Score table recognition* of the documentation lists the calls.

    References
    ----------
    Xu Zhong, Elaheh ShafieiBavani and Antonio Jimeno Yepes (2020). Image-based table recognition: data,
    model, and evaluation. ECCV 2020.

    Examples
    --------
    >>> from treelet.metrics import teds
    >>> true = "<table><tr><td>apples</td><td>12</td></tr></table>"
    >>> round(teds("<table><tr><td>apple</td><td>12</td></tr></table>", true), 4)
    0.9583
    >>> teds([true, "<table><tr><td>apples</td></tr></table>", ""], [true, true, true])
    array([1.  , 0.75, 0.  ])
    """
    check_boolean("structure_only", structure_only, of="teds")
    check_one_of("size", size, _SIZES, of="teds")
    check_one_of("cells", cells, _CELLS, of="teds")
    check_boolean("clip", clip, of="teds")
    if normalize is not None and not callable(normalize):
        raise wrong("normalize", "a function of a text", normalize, of="teds", optional=True)
    definition = _Definition(structure_only, size, cells, normalize, clip)
    resources = Resources.of(n_jobs, progress=progress, owner="teds")
    pair = {"predicted": predicted, "true": true}
    return scores_of(partial(_score, definition), pair, _is_table, "tables", "TEDS", resources)


# --- reading ------------------------------------------------------------------------------------------------------


def _first_table(value: Any, name: str) -> Any | None:
    """Return the first table as an element, or None if there is none."""
    if value is None:
        return None
    if isinstance(value, (str, bytes)):
        root = parse_html(text_source(value, name))
    elif isinstance(adapter_for(value), MarkupAdapter):
        root = MarkupAdapter().root(value)
    else:
        raise InputTypeError(
            f"{_capitalized(name)} is {article(type(value).__name__)}, but a table is needed. "
            "Pass HTML as a string, or an element of lxml."
        )
    elements = () if root is None else root.iter()
    return next((element for element in elements if isinstance(element.tag, str) and _name(element) == "table"), None)


def _capitalized(name: str) -> str:
    return name[0].upper() + name[1:]


def _is_table(value: Any) -> bool:
    return value is None or isinstance(value, (str, bytes)) or isinstance(adapter_for(value), MarkupAdapter)


# --- trees --------------------------------------------------------------------------------------------------------

_Cell = tuple[str, str, bytes]
"""A cell: its colspan, its rowspan and its content as 32-bit tokens."""


_TableTree = tuple[list[str | _Cell], list[int], int]
"""The tree of a table: its nodes (names of elements, or cells), parents first; numbers of children; number of elements."""


class _Definition(NamedTuple):
    """The options of `teds` that define a score."""

    structure_only: bool
    size: str
    cells: str
    normalize: Callable[[str], str] | None
    clip: bool

    def content(self) -> Callable[[Any], bytes]:
        """Return a function of a cell: its content as tokens, which are the same for all tables that it is applied to."""
        if self.structure_only:
            return lambda cell: b""
        cells = ("td", "th") if self.cells == "th_as_td" else ("td",)
        if self.normalize is None:
            tags: dict[str, bytes] = {}
            return lambda cell: _content(cell, cells, lambda tag: _token(tag, tags))
        normalized = cache(self.normalized)
        return lambda cell: normalized(_content(cell, cells, lambda tag: _characters(f"<{tag}>")))

    def normalized(self, content: bytes) -> bytes:
        assert self.normalize is not None
        text = content.decode("utf-32-le", "surrogatepass")
        result = self.normalize(text)
        if not isinstance(result, str):
            raise ParameterError(f"normalize({text!r:.60}) must return a string. Got {result!r:.60} instead.")
        return _characters(result)


def _table(table: Any, cells: str, content: Callable[[Any], bytes]) -> _TableTree:
    """Return the tree of a table. `cells` is the option of `teds`; `content` returns the content of a cell."""
    nodes: list[str | _Cell] = []
    arity: list[int] = []
    elements, stack = -1, [table]
    while stack:
        element = stack.pop()
        name = _name(element)
        elements += 1
        if name == "td" or (name == "th" and cells != "td"):
            elements += sum(isinstance(below.tag, str) for below in element.iter()) - 1 if len(element) else 0
            spans = _span(element, "colspan"), _span(element, "rowspan")
            leaf = name == "th" and cells == "th_as_leaf"
            nodes.append(" ".join((name, *spans)) if leaf else (*spans, content(element)))
            arity.append(0)
            continue
        children = [child for child in element if isinstance(child.tag, str)]  # without comments
        nodes.append(name)
        arity.append(len(children))
        stack.extend(reversed(children))
    return nodes, arity, elements


def _name(element: Any) -> str:
    name: str = element.tag
    return name.rpartition("}")[2] if name[0] == "{" else name


def _span(element: Any, name: str) -> str:
    value = element.get(name)
    match = None if value is None else _SPAN.match(value)
    return match[1] if match else "1"  # as browsers do


def _content(cell: Any, cells: tuple[str, ...], written: Callable[[str], bytes]) -> bytes:
    """Return the content of a cell as 32-bit tokens: characters, and what `written` returns for each start or end tag."""
    tokens = [_characters(cell.text)]
    stack: list[Any] = list(reversed(cell))
    while stack:
        element = stack.pop()
        if isinstance(element, bytes):
            tokens.append(element)
            continue
        # The published program drops the text after a cell of an inner table, and <unk> has no end tag there.
        name = _name(element) if isinstance(element.tag, str) else None  # None: a comment
        after = _characters(element.tail) if name not in cells else b""
        if name is None:
            tokens.append(after)
        else:
            tokens += (written(name), _characters(element.text))
            stack.append(after if name == "unk" else written("/" + name) + after)
            stack.extend(reversed(element))
    return b"".join(tokens)


def _characters(text: str | None) -> bytes:
    return text.encode("utf-32-le", "surrogatepass") if text else b""


def _token(tag: str, tags: dict[str, bytes]) -> bytes:
    """Return the token of a tag. `tags` collects these tokens."""
    if tag not in tags:
        tags[tag] = (_TAGS + len(tags)).to_bytes(4, "little")
    return tags[tag]


# --- distance -----------------------------------------------------------------------------------------------------


def _score(definition: _Definition, predicted: Any, true: Any, place: str) -> float:
    name = f"{place}'true'"
    second = _first_table(true, name)
    if second is None:
        raise TreeError(f"{_capitalized(name)} contains no table. Remove the pair.")
    first = _first_table(predicted, f"{place}'predicted'")
    if first is None:
        return 0.0
    content = definition.content()
    a, b = (_table(table, definition.cells, content) for table in (first, second))
    if a[:2] == b[:2]:
        return 1.0
    sizes = [len(nodes) if definition.size == "nodes" else elements for nodes, _, elements in (a, b)]
    score = 1 - _distance(a, b) / (max(sizes) + (definition.size == "all"))
    return max(score, 0.0) if definition.clip else score


def _distance(a: _TableTree, b: _TableTree) -> float:
    """Return the edit distance of two trees. Renaming costs 1, except between cells with the same spans and other contents."""
    from treelet.edits.distance import (
        check_sizes,
        distance_of,
    )  # other measures do not need the kernels that this loads

    check_sizes(len(a[0]), len(b[0]))
    cells = [list(dict.fromkeys(node for node in table if isinstance(node, tuple))) for table in (a[0], b[0])]

    def costs(labels: dict[str | _Cell, int], *_: Any) -> _core.EditCosts:
        places = np.full((2, len(labels)), -1, dtype=np.int32)  # the label's row and column in the table of costs
        for place, some in zip(places, cells, strict=True):
            place[[labels[cell] for cell in some]] = range(len(some))
        without = not any(content for some in cells for *_, content in some)
        renames = np.empty((0, 0)) if without else _renames(*cells)
        return _core.EditCosts.of(1, 1, 1, np.empty(0), np.empty(0), places[0], places[1], renames)

    return distance_of(a[:2], b[:2], costs)


def _renames(a: Sequence[_Cell], b: Sequence[_Cell]) -> NDArray[np.float64]:
    """Return the costs of renaming cells of a to cells of b."""
    check_memory(
        32 * len(a) * len(b),  # two copies of the costs, and the tables of the distance
        f"the comparison of {plural(len(a), 'cell')} with {plural(len(b), 'cell')}",
        "compare smaller tables, or use structure_only=True",
    )
    first, second = ([content for *_, content in cells] for cells in (a, b))
    costs = _core.string_distances(first, second, normalized=True)
    spans: dict[tuple[str, str], int] = {}
    numbers = [np.array([spans.setdefault(cell[:2], len(spans)) for cell in cells]) for cells in (a, b)]
    if len(spans) > 1:
        np.copyto(costs, 1, where=np.not_equal.outer(*numbers))
    return costs
