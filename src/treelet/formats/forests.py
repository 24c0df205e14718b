"""Packed forests as plain columns, and as JSON with one forest per line.

`treelet.structures.Forest` is the class that users see.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import plural
from treelet.errors import FormatError, TreeError
from treelet.formats.brackets import label_problem
from treelet.formats.files import Source

Ints = NDArray[np.int32]
Edge = tuple[int, Sequence[int], float]
SUFFIXES = (".json", ".jsonl")  # of the files that are read in a folder
_LAYOUT = '{"nodes": [[label, begin, end], ...], "edges": [[head, [tail, ...], log probability], ...], "root": number}'


class ForestColumns(NamedTuple):
    """A forest as columns. All forests have this layout, wherever they come from.

    Attributes
    ----------
    labels : list of str
        Distinct labels.
    label, begin, end : ndarray of int32
        For each node, the number of its label, its first word, and the word after its last.
    head : ndarray of int32
        Head of each edge.
    tail_start, tail : ndarray of int64, ndarray of int32
        The tails of edge e are ``tail[tail_start[e]:tail_start[e + 1]]``.
    logp : ndarray of float64
        Log probability of each edge.
    root : int
        Number of the root, or -1 for a forest without trees.
    """

    labels: list[str]
    label: Ints
    begin: Ints
    end: Ints
    head: Ints
    tail_start: NDArray[np.int64]
    tail: Ints
    logp: NDArray[np.float64]
    root: int

    @classmethod
    def of(cls, native: _core.Forest) -> ForestColumns:
        """Return the columns of a forest in the native core."""
        head = np.repeat(np.arange(len(native.label), dtype=np.int32), np.diff(native.edge_start))
        spans = native.label, native.begin, native.end
        return cls(native.labels, *spans, head, native.tail_start, native.tail, native.logp, native.root)

    def native(self) -> _core.Forest:
        """Return the forest in the native core, sorted with tails before heads. Raise an error if it is invalid."""
        try:
            return _core.forest(*self)
        except ValueError as error:
            raise TreeError(f"This is not a valid forest: {str(error).removesuffix('.')}.") from None

    def tails(self) -> list[list[int]]:
        """Return the tails of each edge."""
        tail, start = self.tail.tolist(), self.tail_start.tolist()
        return [tail[a:b] for a, b in pairwise(start)]


def forest_columns(nodes: Sequence[tuple[str, int, int]], edges: Sequence[Edge], root: int) -> ForestColumns:
    """Return columns of valid nodes (label, begin, end) and edges (head, tails, log probability)."""
    labels: dict[str, int] = {}
    numbered = [(labels.setdefault(label, len(labels)), begin, end) for label, begin, end in nodes]
    label, begin, end = np.ascontiguousarray(np.array(numbered, np.int32).reshape(-1, 3).T)
    head, tails, logp = zip(*edges, strict=True) if edges else ((), (), ())
    starts = np.zeros(len(edges) + 1, np.int64)
    np.cumsum([len(below) for below in tails], out=starts[1:])
    tail = np.array([node for below in tails for node in below], np.int32)
    return ForestColumns(
        list(labels), label, begin, end, np.array(head, np.int32), starts, tail, np.array(logp, np.float64), root
    )


def checked_columns(
    nodes: Iterable[tuple[str, int, int]], edges: Iterable[Edge], root: int | None = None
) -> ForestColumns:
    """Return columns of nodes and edges after checking them. Default root: the only node that is not a tail."""
    known = [_node(number, node) for number, node in enumerate(nodes)]
    joined = [_edge(number, edge, len(known)) for number, edge in enumerate(edges)]
    if not known:
        return forest_columns([], joined, -1)
    if root is None:
        tops = sorted(set(range(len(known))) - {tail for _, tails, _ in joined for tail in tails})
        if len(tops) != 1:
            raise TreeError(
                f"The root of the forest is ambiguous: {plural(len(tops), 'node')} {'is' if len(tops) == 1 else 'are'} not "
                "the tail of an edge. Pass the number of the root as root=."
            )
        root = tops[0]
    if isinstance(root, bool) or not isinstance(root, (int, np.integer)) or not 0 <= root < len(known):
        raise TreeError(
            f"The root of a forest must be the number of a node, from 0 to {len(known) - 1}. Got {root!r} instead."
        )
    return forest_columns(known, joined, int(root))


def _node(number: int, node: Any) -> tuple[str, int, int]:
    try:
        label, begin, end = node
        begin, end = int(begin), int(end)
    except (TypeError, ValueError, OverflowError):
        raise TreeError(
            f"Node {number} of a forest must be (label, begin, end). Got {repr(node)[:80]} instead."
        ) from None
    if label != "" and (problem := label_problem(label)):
        raise TreeError(f"Node {number} of a forest has an invalid label: the label is {problem}.")
    if not 0 <= begin < end < 2**31:
        raise TreeError(
            f"Node {number} of a forest ({label!r}) has the invalid span {begin}..{end}. A span needs 0 <= begin < end."
        )
    return label, begin, end


def _edge(number: int, edge: Any, size: int) -> Edge:
    try:
        head, tails = int(edge[0]), [int(tail) for tail in edge[1]]
    except (TypeError, ValueError, OverflowError):
        raise TreeError(
            f"Edge {number} of a forest must be (head, tails, log probability). Got {repr(edge)[:80]} instead."
        ) from None
    if not tails or not all(0 <= node < size for node in (head, *tails)):
        raise TreeError(
            f"Edge {number} of a forest has no tails, or refers to a node that does not exist: {repr(edge)[:80]}. "
            f"There are {plural(size, 'node')}."
        )
    return head, tails, edge[2]


# --- JSON -------------------------------------------------------------------------------------------------------


def to_json(columns: ForestColumns) -> str:
    """Return one line of JSON: nodes, edges (head, tails, log probability) and the root."""
    spans = zip(columns.label.tolist(), columns.begin.tolist(), columns.end.tolist(), strict=True)
    nodes = [(columns.labels[label], begin, end) for label, begin, end in spans]
    edges = list(zip(columns.head.tolist(), columns.tails(), columns.logp.tolist(), strict=True))
    root = columns.root if columns.root >= 0 else None
    return json.dumps({"nodes": nodes, "edges": edges, "root": root}, ensure_ascii=False)


def from_json(text: str | Mapping[str, Any]) -> ForestColumns:
    """Return the forest in a text from `to_json`, or in the object that such a text represents."""
    try:
        data = json.loads(text) if isinstance(text, str) else text
        root = data["root"]
        edges = [(edge[0], edge[1], float(edge[2])) for edge in data["edges"]]
        nodes = [(node[0], node[1], node[2]) for node in data["nodes"]]
    except (ValueError, KeyError, IndexError, TypeError, OverflowError, RecursionError) as error:
        raise FormatError(f"this is not a forest in JSON ({error}). Write {_LAYOUT}.") from None
    if root is None and nodes:
        raise TreeError("The root of a forest must be the number of a node. Got None instead.")
    return checked_columns(nodes, edges if nodes else [], root)


def read_columns(source: Source) -> Iterator[tuple[int, ForestColumns]]:
    """Yield the forests of a file, one per nonempty line, with their line numbers."""
    for number, line in source.text_lines():
        if line.strip():
            with source.item():
                yield number, _from_line(source, number, line)


def _from_line(source: Source, number: int, line: str) -> ForestColumns:
    try:
        return from_json(line)
    except FormatError as error:
        raise source.error(error.message, number) from None
    except TreeError as error:
        raise source.error(str(error), number) from None
