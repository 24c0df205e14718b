"""The input of tree-view.js: structures and explanations as JSON values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import singledispatch
from itertools import takewhile
from typing import Any

from treelet.checks import article, plural
from treelet.cuts import TreeIndex
from treelet.drawing.leaves import fragment_text, open_nodes, shortened
from treelet.drawing.svg import ForestGraph, signed
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.fragments.explanation import Explanation, NodeShare
from treelet.fragments.occurrences import places
from treelet.kernels.fragments import TaggedWord, TagRun, has_fragments
from treelet.structures import Dependencies, Forest, Tagged, Tree
from treelet.structures.forest import ForestNode

_TONES = 7
_LISTED = 12  # listed fragments of an explanation
_OCCURRENCES = 50  # highlighted occurrences of a fragment
Picture = dict[str, Any]


def picture(thing: object, heat: Iterable[float] | None = None, marks: Iterable[Any] | None = None) -> Picture:
    """Return a structure in the form that tree-view.js takes.

    Parameters
    ----------
    thing : Tree, str, Forest, Dependencies or Tagged
        Structure to draw. A string is a tree in brackets.
    heat : iterable of float, optional
        One number per node or word. Positive numbers are drawn in blue, negative ones in orange. Nodes of a tree, including
        words, are in pre-order; nodes of a forest are in the order of `Forest.nodes`.
    marks : iterable, optional
        Fragments to outline. Each is a list of node numbers, or ``{"nodes": [...], "tone": 0}``.

    Returns
    -------
    dict
        Lists, strings and finite numbers, which `json.dumps` accepts.

    Examples
    --------
    >>> from treelet.drawing.web.pictures import picture
    >>> picture("(NP (D the) (N cat))", marks=[[0, 1, 3]])
    {'kind': 'tree', 'labels': ['NP', 'D', 'the', 'N', 'cat'], 'parents': [-1, 0, 1, 0, 3], 'marks': [{'nodes': [0, 1, 3], 'tone': 0}]}
    """
    content = _picture(Tree.parse(thing) if isinstance(thing, str) else thing)
    size = len(
        content["labels"]
        if content["kind"] == "tree"
        else content["nodes"]
        if content["kind"] == "forest"
        else content["words"]
    )
    if heat is not None:
        content["heat"] = _heat(heat, size)
    if marks is not None:
        content["marks"] = [_mark(mark, number, size) for number, mark in enumerate(marks)]
    return content


@singledispatch
def _picture(thing: object) -> Picture:
    raise InputTypeError(
        "A picture needs a Tree, a bracketed string, a Forest, Dependencies or Tagged. "
        f"Got {article(type(thing).__name__)} instead."
    )


@_picture.register
def _(tree: Tree) -> Picture:
    index = TreeIndex(tree)
    content: Picture = {"kind": "tree", "labels": [node.label for node in index.nodes], "parents": index.parent}
    return content | ({"open": numbers} if (numbers := open_nodes(tree)) else {})


@_picture.register
def _(forest: Forest) -> Picture:
    if not forest:
        return {"kind": "forest", "nodes": [], "edges": [], "words": []}
    graph = ForestGraph(forest)
    return {
        "kind": "forest",
        "nodes": [
            {"label": label, "words": [begin, end], "p": probability}
            for (label, begin, end), probability in zip(graph.nodes, graph.posterior, strict=True)
        ],
        "edges": [
            {"head": edge.head, "tails": list(edge.tails), "p": edge.chance, "best": edge.best} for edge in graph.edges
        ],
        "words": list(forest.words),
        "root": graph.root,
    }


@_picture.register
def _(parse: Dependencies) -> Picture:
    content: Picture = {"kind": "arcs", "words": list(parse.words)}
    if any(tag != "_" for tag in parse.tags):
        content["tags"] = list(parse.tags)
    if parse.heads is not None and parse.relations is not None:
        ends = [
            (head - 1, word, kind) for word, (head, kind) in enumerate(zip(parse.heads, parse.relations, strict=True))
        ]
    else:
        ends = [(left, right, kind) for left, right, kind in parse.links]
        content["directed"] = False
    content["links"] = [{"from": start, "to": end, "label": kind} for start, end, kind in ends]
    return content


@_picture.register
def _(tagged: Tagged) -> Picture:
    return {"kind": "tagged", "words": [word for word, _ in tagged], "tags": [tag for _, tag in tagged]}


def _heat(heat: Iterable[float], size: int) -> list[float]:
    values = [float(value) for value in heat]
    if len(values) != size:
        raise ParameterError(
            f"The 'heat' parameter must have one number for each of {plural(size, 'node')}. Got {len(values):,} instead."
        )
    if not all(map(math.isfinite, values)):
        raise ParameterError("The 'heat' parameter must contain finite numbers only. Got NaN or infinity instead.")
    return values


def _mark(mark: Any, number: int, size: int) -> Picture:
    nodes: Sequence[Any] = mark["nodes"] if isinstance(mark, Mapping) else mark
    tone = int(mark.get("tone", number)) if isinstance(mark, Mapping) else number
    numbers = [int(node) for node in nodes]
    wrong = [node for node in numbers if not 0 <= node < size]
    if wrong:
        raise ParameterError(
            f"The 'marks' parameter must contain node numbers from 0 to {size - 1:,}. Got {wrong[0]} instead."
        )
    return {"nodes": numbers, "tone": tone % _TONES}


# --- explanations ---------------------------------------------------------------------------------------------------


def explained(explanation: Explanation, example: Any = None, *, limit: int = _LISTED) -> Picture:
    """Return an explanation in the form that explained.js takes: colored trees, and the nodes that each fragment covers.

    Parameters
    ----------
    explanation : Explanation
        Explanation to draw.
    example : object, optional
        The explained example. Required for forests and dependency parses only; an explanation contains trees and tagged
        words itself.
    limit : int, default 12
        Maximum number of fragments.

    Examples
    --------
    >>> import treelet as tl
    >>> model = tl.RLS(tl.SubsetTree()).fit(["(A (B b))", "(A (C c))"], [1, -1])
    >>> content = explained(tl.explain(model, "(A (B b))"))
    >>> content["trees"][0]["picture"]["labels"], content["fragments"][0]["text"], content["fragments"][0]["places"]
    (['A', 'B', 'b'], '(B b)', [[1, 2]])
    """
    structures = attributed_structures(explanation, example)
    if not structures:
        raise TreeError(
            "This explanation has no picture. If the example is a forest or a dependency parse, pass the example too. "
            "If the example is too large, print the explanation instead."
        )
    names = [str(column) if column is not None else "" for _, column, _ in structures]
    if pair := len(structures) == 2 and names[0] == names[1]:
        names = ["A", "B"]
    scale = max((abs(share) for _, _, heat in structures for share in heat), default=0.0)  # of all pictures
    listed = explanation.fragments[:limit]
    left = explanation.score - math.fsum(fragment.share for fragment in listed)
    return {
        "trees": [
            {"title": name, "picture": {**_readable(picture(thing, heat=heat)), "scale": scale}}
            for name, (thing, _, heat) in zip(names, structures, strict=True)
        ],
        "fragments": [
            {
                **fragment_text(fragment.tree),
                "share": fragment.share,
                "places": [
                    _covered(fragment, thing) if column == fragment.column else [] for thing, column, _ in structures
                ],
            }
            for fragment in listed
        ],
        "rest": f"{_summed(explanation, pair)}: {signed(explanation.score)}. Not listed: {signed(left)}, "
        f"including the intercept {signed(explanation.intercept)}.",
    }


def _readable(drawn: Picture) -> Picture:
    """Return a picture with long labels shortened, because pictures of explanations are not edited."""
    return drawn | {name: list(map(shortened, drawn[name])) for name in ("labels", "words", "tags") if drawn.get(name)}


def _summed(explanation: Explanation, pair: bool = False) -> str:
    """Return the name of the sum of all shares."""
    of = explanation.output
    if isinstance(of, tuple):
        return f"Score of {of[0]} minus score of {of[1]}"
    name = "Score" if isinstance(of, int) else f"Score of {of}"
    return f"{name}, A minus B" if pair else name


def attributed_structures(explanation: Explanation, example: Any = None) -> list[tuple[Any, Any, list[float]]]:
    """Return the structures of an explained example that can be drawn, with their columns and the shares of their nodes.

    Sequences of features are left out.
    """
    candidates = list(_parts(example))
    structures: list[tuple[Any, Any, list[float]]] = []
    start = 0
    while start < len(explanation.heat):
        size, thing = _whole(explanation.heat[start:], candidates)
        if thing is not None:
            shares = [node.share for node in explanation.heat[start : start + size]]
            structures.append((thing, explanation.heat[start].column, shares))
        start += size
    return structures


def _parts(example: Any) -> Iterator[Any]:
    """Yield the forests and parses of an example, or of a pair, in the order of their shares."""
    for row in example if isinstance(example, tuple) and len(example) == 2 else (example,):
        for value in row.values() if isinstance(row, Mapping) else (row,):
            if isinstance(value, Forest | Dependencies):
                yield value


def _whole(heat: Sequence[NodeShare], candidates: list[Any]) -> tuple[int, Any]:
    """Return how many of these shares belong to one structure, and the structure; None if it cannot be drawn."""
    first = heat[0].tree
    if isinstance(first, Tree):
        return sum(1 for _ in first.nodes()), first
    alike = sum(1 for _ in takewhile(lambda node: type(node.tree) is type(first), heat))
    if isinstance(first, ForestNode):
        fits = [forest for forest in candidates if isinstance(forest, Forest) and _begins(heat, forest)]
        if not fits:
            return alike, None
        candidates.remove(fits[0])
        return len(fits[0].nodes), fits[0]
    if not isinstance(first, TaggedWord):
        return alike, None
    words = [
        first,
        *(
            node.tree
            for node in takewhile(lambda node: isinstance(node.tree, TaggedWord) and node.tree.position, heat[1:])
        ),
    ]
    texts, tags = [word.word for word in words], [word.tag for word in words]
    for parse in candidates:
        if isinstance(parse, Dependencies) and list(parse.words) == texts:
            return len(words), parse
    return len(words), Tagged(texts, tags)


def _begins(heat: Sequence[NodeShare], forest: Forest) -> bool:
    return [node.tree for node in heat[: len(forest.nodes)]] == list(forest.nodes)


def _covered(fragment: Any, thing: Any) -> list[int]:
    """Return the nodes or words that all occurrences of a fragment cover; none for other kinds of structures."""
    if has_fragments(fragment.kernel) and isinstance(thing, Tree):
        occurrences = places(fragment.tree, thing, fragment.kernel, limit=_OCCURRENCES)
        return sorted({node for nodes in occurrences for node in nodes})
    if isinstance(fragment.tree, TagRun) and isinstance(thing, Tagged):
        pairs, run = list(thing), list(zip(fragment.tree.words, fragment.tree.tags, strict=True))
        return sorted(
            {
                begin + k
                for begin in range(len(pairs) - len(run) + 1)
                if all(
                    tag == word_and_tag[1] and word in (None, word_and_tag[0])
                    for (word, tag), word_and_tag in zip(run, pairs[begin:], strict=False)
                )
                for k in range(len(run))
            }
        )
    return []
