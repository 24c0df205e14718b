"""What tree-view.js draws, as values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import Any

from treelet.errors import InputTypeError, ParameterError
from treelet.explain.layout import Graph
from treelet.structures import Dependencies, Forest, Tagged, Tree

TONES = 7
Picture = dict[str, Any]


def picture(thing: object, heat: Iterable[float] | None = None, marks: Iterable[Any] | None = None) -> Picture:
    """A structure as tree-view.js takes it.

    Parameters
    ----------
    thing : Tree, str, Forest, Dependencies or Tagged
        A text is a tree in brackets.
    heat : iterable of float, optional
        A number for each node or word: what it does for (blue) or against (orange) something. Nodes of a tree are in pre-order, words among
        them, those of a forest as in `Forest.nodes`.
    marks : iterable, optional
        Fragments to outline: each the numbers of its nodes, or ``{"nodes": [...], "tone": 0}``.

    Returns
    -------
    dict
        Lists, texts, finite numbers: `json.dumps` takes it.

    Examples
    --------
    >>> from treelet.explain.web.pictures import picture
    >>> picture("(NP (D the) (N cat))", marks=[[0, 1, 3]])
    {'kind': 'tree', 'labels': ['NP', 'D', 'the', 'N', 'cat'], 'parents': [-1, 0, 1, 0, 3], 'marks': [{'nodes': [0, 1, 3], 'tone': 0}]}
    """
    made = _picture(Tree.parse(thing) if isinstance(thing, str) else thing)
    size = len(
        made["labels"] if made["kind"] == "tree" else made["nodes"] if made["kind"] == "forest" else made["words"]
    )
    if heat is not None:
        made["heat"] = _heat(heat, size)
    if marks is not None:
        made["marks"] = [_mark(mark, number, size) for number, mark in enumerate(marks)]
    return made


@singledispatch
def _picture(thing: object) -> Picture:
    raise InputTypeError(
        f"a Tree, its brackets, a Forest, Dependencies or Tagged can be drawn, not a {type(thing).__name__}"
    )


@_picture.register
def _(tree: Tree) -> Picture:
    labels: list[str] = []
    parents: list[int] = []
    stack = [(tree, -1)]
    while stack:
        node, parent = stack.pop()
        number = len(labels)
        labels.append(node.label)
        parents.append(parent)
        stack.extend((child, number) for child in reversed(node.children))
    return {"kind": "tree", "labels": labels, "parents": parents}


@_picture.register
def _(forest: Forest) -> Picture:
    if not forest:
        return {"kind": "forest", "nodes": [], "edges": [], "words": []}
    graph = Graph(forest)
    return {
        "kind": "forest",
        "nodes": [{"label": label, "words": [begin, end]} for label, begin, end in graph.nodes],
        "edges": [{"head": edge.head, "tails": list(edge.tails), "p": edge.chance} for edge in graph.edges],
        "words": list(forest.words),
        "root": graph.root,
    }


@_picture.register
def _(parse: Dependencies) -> Picture:
    made: Picture = {"kind": "arcs", "words": list(parse.words)}
    if any(tag != "_" for tag in parse.tags):
        made["tags"] = list(parse.tags)
    if parse.heads is not None and parse.relations is not None:
        ends = [
            (head - 1, place, kind) for place, (head, kind) in enumerate(zip(parse.heads, parse.relations, strict=True))
        ]
    else:
        ends = [(left, right, kind) for left, right, kind in parse.links]
        made["directed"] = False
    made["links"] = [{"from": start, "to": end, "label": kind} for start, end, kind in ends]
    return made


@_picture.register
def _(tagged: Tagged) -> Picture:
    return {"kind": "tagged", "words": [word for word, _ in tagged], "tags": [tag for _, tag in tagged]}


def _heat(heat: Iterable[float], size: int) -> list[float]:
    values = [float(value) for value in heat]
    if len(values) != size:
        raise ParameterError(
            f"The 'heat' parameter must be a number for each of {size:,} nodes. Got {len(values):,} instead."
        )
    if not all(map(math.isfinite, values)):
        raise ParameterError("The 'heat' parameter must be finite numbers. Got NaN or infinity instead.")
    return values


def _mark(mark: Any, number: int, size: int) -> Picture:
    nodes: Sequence[Any] = mark["nodes"] if isinstance(mark, Mapping) else mark
    tone = int(mark.get("tone", number)) if isinstance(mark, Mapping) else number
    found = [int(node) for node in nodes]
    wrong = [node for node in found if not 0 <= node < size]
    if wrong:
        raise ParameterError(
            f"The 'marks' parameter must be numbers of nodes, 0 to {size - 1:,}. Got {wrong[0]} instead."
        )
    return {"nodes": found, "tone": tone % TONES}
