"""What tree-view.js draws, as values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import Any

from treelet.cuts import TreeIndex
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.explain.explanation import Explanation
from treelet.explain.layout import Graph
from treelet.explain.places import places
from treelet.explain.sides import has_fragments
from treelet.structures import Dependencies, Forest, Tagged, Tree

TONES = 7
LISTED = 12  # fragments of an explanation
OCCURRENCES = 50  # of a fragment that are shown
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
    index = TreeIndex(tree)
    return {"kind": "tree", "labels": [node.label for node in index.nodes], "parents": index.parent}


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


# --- explanations ---------------------------------------------------------------------------------------------------


def explained(explanation: Explanation, *, limit: int = LISTED) -> Picture:
    """An explanation as explained.js takes it: its trees with heat, and where in them each fragment is.

    >>> import treelet as tl
    >>> model = tl.RLS(tl.SubsetTree()).fit(["(A (B b))", "(A (C c))"], [1, -1])
    >>> told = explained(tl.explain(model, "(A (B b))"))
    >>> told["trees"][0]["picture"]["labels"], told["fragments"][0]["text"], told["fragments"][0]["places"]
    (['A', 'B', 'b'], '(B b)', [[1, 2]])
    """
    trees = heated(explanation)
    if not trees:
        raise TreeError("the explanation has no tree of bearable size to show: print it")
    names = [f"{column}" if column is not None else "" for _, column, _ in trees]
    if len(trees) == 2 and names[0] == names[1]:
        names = ["the first", "the second"]
    shown = [
        {"title": name, "picture": picture(tree, heat=heat)} for name, (tree, _, heat) in zip(names, trees, strict=True)
    ]
    few = explanation.fragments[:limit]
    left = explanation.score - math.fsum(one.share for one in few)
    return {
        "trees": shown,
        "fragments": [
            {
                "text": str(one.tree),
                "share": one.share,
                "places": [_covered(one, tree) if column == one.column else [] for tree, column, _ in trees],
            }
            for one in few
        ],
        "rest": f"score of {explanation.output}: {explanation.score:.4g}; all else {left:+.4g}, "
        f"of which intercept {explanation.intercept:+.4g}",
    }


def heated(explanation: Explanation) -> list[tuple[Tree, Any, list[float]]]:
    """The trees of an explanation, each with its column and the shares of its nodes."""
    found, start = [], 0
    while start < len(explanation.heat):
        first = explanation.heat[start]
        if not isinstance(first.tree, Tree):  # of a forest or a sequence
            start += 1
            continue
        end = start + sum(1 for _ in first.tree.nodes())
        found.append((first.tree, first.column, [node.share for node in explanation.heat[start:end]]))
        start = end
    return found


def _covered(fragment: Any, tree: Tree) -> list[int]:
    if not has_fragments(fragment.kernel):
        return []
    found = places(fragment.tree, tree, fragment.kernel, limit=OCCURRENCES)
    return sorted({node for place in found for node in place})
