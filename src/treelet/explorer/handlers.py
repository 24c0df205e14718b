"""The requests of the page: one function per request, which maps the workspace and the request's fields to JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import some_of, suggestion
from treelet.drawing import draw
from treelet.drawing.edits import edited_trees
from treelet.drawing.leaves import fragment_text, shortened
from treelet.drawing.web.pictures import picture
from treelet.edits import EditScript, edit_script
from treelet.edits.distance import tree_sizes
from treelet.errors import InputTypeError, KernelOverflowError, ParameterError, TreeletError
from treelet.explorer.requests import LETTERS, NODES, Request, RequestError
from treelet.explorer.workspace import ModelView, Workspace
from treelet.fragments import node_values
from treelet.fragments.explanation import Explanation, NodeShare
from treelet.fragments.model_fragments import explain, explain_output
from treelet.fragments.occurrences import places, shared_fragments
from treelet.kernels import Kernel, SubsetTree
from treelet.kernels.algebra import Normalized
from treelet.kernels.fragments import VectorFeature
from treelet.kernels.pairwise import Matrix, Vector
from treelet.kernels.tree import TreeKernel
from treelet.learn.model import CompressedModel, GraphTerm
from treelet.learn.outputs import LinearOutput, compressed_model, decided, resolve_output
from treelet.parsing import PCFG
from treelet.parsing.chart import adapted_words, outside_grammar, relative_logp
from treelet.structures import Forest, Tree, Treebank

# --- requests about a sentence ----------------------------------------------------------------------------------------

_K = 10
_MOST_K = 50
_WORDS = 60
_PARSE_STEPS = 2e9  # steps of a chart, words cubed times rules: about two seconds
_PRUNE = 3.0
_DRAWN = 400  # number of nodes of the largest forest that is drawn

_REMEDY = "Start the explorer with another grammar: treelet explore --treebank FILE."


class _Parses(NamedTuple):
    """The parses of a sentence, the most probable one first."""

    words: list[str]
    trees: list[Tree]
    logp: NDArray[np.float64]
    ranker: ModelView | None
    scores: NDArray[np.float64] | None

    def relative(self) -> NDArray[np.float64]:
        return relative_logp(self.logp, np.zeros(len(self.logp), np.int64))

    def order(self) -> list[int]:
        """Return the indices of the parses by decreasing score of the ranker. Ties keep the order of the parser."""
        if self.scores is None:
            return list(range(len(self.trees)))
        order: list[int] = np.argsort(-self.scores, kind="stable").tolist()
        return order


def _sentence(workspace: Workspace, request: Request) -> dict[str, Any]:
    """Return the best parses of a sentence in the order of the ranker, and the forest of parses near the best one."""
    parses = _parsed(workspace, request)
    forest = _forest(workspace, parses, request)
    small = len(forest.nodes) <= _DRAWN
    return {
        "words": parses.words,
        "note": _note(workspace.grammar(), parses),
        "grammar": workspace.parsing.name,
        "ranker": None if parses.ranker is None else parses.ranker.name,
        "parses": [
            {
                "tree": str(parses.trees[number]),
                "picture": picture(parses.trees[number]),
                "number": number,
                "logp": _finite(parses.logp[number]),
                "score": None if parses.scores is None else _finite(parses.scores[number]),
            }
            for number in parses.order()
        ],
        "forest": {
            "picture": picture(forest) if forest and small else None,
            "trees": _count(forest.count_trees()) if forest else "0",
            "nodes": len(forest.nodes),
        },
    }


def _forest(workspace: Workspace, parses: _Parses, request: Request) -> Forest:
    return workspace.grammar().forest(parses.words, request.number("prune", 0, 20, _PRUNE))


def _why(workspace: Workspace, request: Request) -> dict[str, Any]:
    """Attribute the difference of the scores of two parses, A and B, to fragments and nodes."""
    parses = _parsed(workspace, request)
    if parses.ranker is None:
        raise RequestError(
            "sentence", "There is no ranker to explain. Start the explorer with one: treelet explore ranker.treelet."
        )
    last = len(parses.trees) - 1
    if last < 1:
        raise RequestError("sentence", "This sentence has only one parse. Comparing needs two.")
    numbers = request.integer("a", 0, last, 0), request.integer("b", 0, last, 1)
    trees, logp = [parses.trees[number] for number in numbers], parses.relative()
    examples = tuple(
        parses.ranker.example(tree, float(logp[number])) for tree, number in zip(trees, numbers, strict=True)
    )
    explanation = explain(parses.ranker.model, examples, limit=_LISTED)
    first = sum(1 for _ in trees[0].nodes())
    shares = explanation.heat[:first], explanation.heat[first:]
    return {
        **_explanation_fields(explanation, trees),
        "trees": [picture(tree, heat=_shares_of(nodes)) for tree, nodes in zip(trees, shares, strict=True)],
    }


def _parsed(workspace: Workspace, request: Request) -> _Parses:
    text, grammar = request.text("sentence"), workspace.grammar()
    if _is_tree(text):
        raise RequestError(
            "sentence", "This is a tree in brackets. Open Compare trees to compare it, or enter a sentence."
        )
    try:
        words = adapted_words(text, grammar)
    except (TreeletError, InputTypeError) as error:
        raise RequestError("sentence", str(error)) from None
    if len(words) > _WORDS:
        raise RequestError(
            "sentence",
            f"The sentence has {len(words):,} words. This page parses up to {_WORDS}; the command treelet parse takes more.",
        )
    _check_parse_cost(grammar, len(words))
    parses = grammar.parse(words, request.integer("k", 1, _MOST_K, _K))
    if not parses:
        raise RequestError("sentence", outside_grammar(grammar, words, "This sentence", _REMEDY))
    trees = [tree for tree, _ in parses]
    logp = np.array([float(number) for _, number in parses])
    ranker = workspace.ranker()
    relative = relative_logp(logp, np.zeros(len(logp), np.int64))
    scores = None if ranker is None else ranker.scores(Treebank(trees), relative)
    return _Parses(words, trees, logp, ranker, scores)


def _is_tree(text: str) -> bool:
    if not text.lstrip().startswith("("):
        return False
    try:
        Tree.parse(text)
    except TreeletError:
        return False
    return True


def _note(grammar: PCFG, parses: _Parses) -> str | None:
    """Return a warning about a sentence without a parse, or about unknown words."""
    if parses.logp[0] == -math.inf:
        return outside_grammar(grammar, parses.words, "This sentence", _REMEDY)
    unknown = grammar.unknown_words(parses.words)
    if not unknown:
        return None
    return f"Unknown words: {some_of(unknown, 10)}. The parser guesses their tags from their form."


def _check_parse_cost(grammar: PCFG, words: int) -> None:
    steps = words**3 / 6 * len(grammar.rules)
    if steps > _PARSE_STEPS:
        most = int((6 * _PARSE_STEPS / len(grammar.rules)) ** (1 / 3))
        raise RequestError(
            "sentence",
            f"The grammar has {len(grammar.rules):,} rules, so this page parses up to {most} words. Use the command treelet parse.",
        )


def _finite(number: Any) -> float | None:
    return float(number) if math.isfinite(number) else None


def _count(trees: int) -> str:
    """Return a count as text, because it may exceed the range of numbers in JavaScript."""
    return f"{trees:,}" if trees < 10**12 else f"10^{len(str(trees)) - 1}"


# --- requests about a model and a tree --------------------------------------------------------------------------------

_NEAREST = 5


def _predict(workspace: Workspace, request: Request) -> dict[str, Any]:
    """Return the prediction for a tree, its attribution to fragments and nodes, and the nearest training trees."""
    view = _model_of(workspace)
    tree = request.tree("tree")
    bank = Treebank([tree])
    _check_cost(view, tree, bank)
    output = _output(view, request.fields.get("output"))
    response = {"task": view.task, "name": view.name, "label": None}
    try:
        model = compressed_model(view.model)
    except InputTypeError as error:  # the model has scores, but no fragment weights
        return {**response, "scores": _one_score(view.scores(bank)), "unexplained": str(error), "tree": picture(tree)}
    X = model.kernel.coerce(view.examples(bank))
    values = model.score(X)
    response |= _prediction(view, values)
    try:
        linear = resolve_output(view.model, output, X, values)
    except InputTypeError as error:  # the kernel has no fragments to list
        return {**response, "unexplained": str(error), "tree": picture(tree)}
    explanation = explain_output(linear, [view.example(tree)], X, values, _LISTED)
    return {
        **response,
        **_explanation_fields(explanation, [tree]),
        "output": str(explanation.output),
        "intercept": explanation.intercept,
        "tree": picture(tree, heat=_shares_of(explanation.heat)),
        "near": _nearest(workspace, view, linear, bank),
    }


def _model_of(workspace: Workspace) -> ModelView:
    view = workspace.model()
    if view is None:
        raise RequestError("tree", "There is no model. Start the explorer with one: treelet explore m.treelet.")
    return view


def _check_cost(view: ModelView, tree: Tree, bank: Treebank) -> None:
    if not _can_be_attributed(tree):
        raise RequestError(
            "tree", "The tree is too large to be explained on this page. Use the command treelet explain."
        )
    steps = 0.0
    for term in getattr(view.model.model_, "terms", ()):
        if isinstance(term, GraphTerm):
            steps += _most_pairs(term.kernel_term.inner.kernel, bank, term.graph)
    if steps > _MODEL_PAIRS:
        raise RequestError(
            "tree",
            f"Scoring this tree takes up to {steps:.1g} pairs of nodes. The limit is {_MODEL_PAIRS:.1g}. Enter a smaller tree.",
        )


def _most_pairs(kernel: Kernel, *banks: Any) -> float:
    """Return the size of one bank times the size of another: no comparison has more pairs of nodes and of children.

    A kernel with a maximum depth compares each pair once per level.
    """
    stores = [bank.columns.store for bank in banks]
    depth = getattr(kernel, "max_depth", None)
    levels = 1 if depth is None else min(depth, *(int(store.height.max(initial=1)) for store in stores))
    return float(max(1, levels)) * math.prod(len(store) + len(store.child) for store in stores)


def _prediction(view: ModelView, values: Matrix) -> dict[str, Any]:
    """Return the predicted class and the score of each class, or the only score of a regressor or ranker."""
    model = view.model
    values = values + getattr(model, "intercept_", 0.0)
    if view.task != "classify":
        return {"scores": _one_score(values)}
    decisions, labels = decided(model, values)
    row = [-float(decisions[0]), float(decisions[0])] if len(model.classes_) == 2 else decisions[0].tolist()
    scores = [{"label": str(name), "score": score} for name, score in zip(model.classes_.tolist(), row, strict=True)]
    return {"label": str(labels.tolist()[0]), "scores": scores}


def _one_score(values: Any) -> list[dict[str, Any]]:
    return [{"label": "score", "score": float(np.ravel(values)[0])}]


def _output(view: ModelView, name: Any) -> Any:
    """Return the class of the model whose text is `name`."""
    if name is None or view.task != "classify":
        return None
    known = {str(label): label for label in view.model.classes_.tolist()}
    if not isinstance(name, str) or name not in known:
        hint = suggestion(name[:40], known) if isinstance(name, str) else ""
        raise RequestError("output", f"The model has no class {name!r:.40}.{hint}")
    return known[name]


def _nearest(workspace: Workspace, view: ModelView, linear: LinearOutput, bank: Treebank) -> dict[str, Any] | None:
    """Return the nearest trees by the cosine of the first tree kernel of the model."""
    if not linear.listed:
        return None
    term = linear.listed[0]
    candidates, search = workspace.nearest_trees(term)
    cosines, indices = search.kneighbors(bank, min(_NEAREST, len(candidates)))
    labels: Sequence[str | None] | None = workspace.labels
    weights = None
    if candidates is term.graph:
        labels, weights = _support(view, term, linear.mix)
    nearest = []
    for cosine, index in zip(cosines[0].tolist(), indices[0].tolist(), strict=True):
        tree = candidates[index]
        if tree is not None and cosine > 0:
            row = {"tree": str(tree), "words": " ".join(tree.words()), "value": cosine}
            row["label"] = None if labels is None else labels[index]
            row["weight"] = None if weights is None else float(weights[index])
            nearest.append(row)
    return {"from": "data" if weights is None else "support", "of": len(candidates), "trees": nearest}


def _support(view: ModelView, term: GraphTerm, mix: Vector) -> tuple[list[str | None] | None, Vector]:
    """Return the class that each support tree favors, if any, and its weight in the explained function."""
    roots = term.at_roots
    rows = sp.csr_array((roots.weight, roots.node, roots.start), shape=(len(roots), len(term.graph)))
    weights: Vector = rows.T @ mix
    if view.task != "classify":
        return None, weights
    names = view.model.classes_.tolist()
    # One of two classes has the negative of the other's weights.
    per_class = (np.array([[-1.0], [1.0]]) if len(names) == 2 else np.eye(len(names))) @ rows
    best, largest = per_class.argmax(axis=0).tolist(), per_class.max(axis=0).tolist()
    return [str(names[k]) if weight > 0 else None for k, weight in zip(best, largest, strict=True)], weights


# --- highlights in a picture ------------------------------------------------------------------------------------------

_OCCURRENCES = 20  # highlighted occurrences of a fragment in a tree
_STEPS = 250_000  # nodes and children that are looked at, in total: about half a second
_CACHED = 2_000  # cached pairs of a fragment and a tree
_CACHED_LETTERS = 5_000  # characters of a cached pair, which bounds the size of the cache
_ATTRIBUTED = 200_000  # sum of the depths of all nodes; larger trees have no shares of nodes


class _Highlights:
    """Finds the occurrences of fragments in trees. Beyond a limit on work, fragments are not highlighted."""

    def __init__(self, trees: Iterable[Tree]) -> None:
        self.trees = list(trees)
        self._texts = [str(tree) for tree in self.trees]
        self._steps: list[
            Counter[str]
        ] = []  # per tree and label: nodes, and children to which those of a fragment are compared
        for tree in self.trees:
            steps: Counter[str] = Counter()
            for node in tree.nodes():
                steps[node.label] += 1 + len(node.children)
            self._steps.append(steps)
        self._left = _STEPS

    def of(self, fragment: Tree, kernel: Kernel) -> list[list[int]]:
        """Return, per tree, the nodes that all occurrences of a fragment cover."""
        own, text = Counter(node.label for node in fragment.nodes()), str(fragment)
        nodes: list[list[int]] = []
        for tree, steps in zip(self._texts, self._steps, strict=True):
            # All nodes are visited once. Those with a label of the fragment are compared with its nodes of this label.
            cost = own.total() + steps.total() + sum(count * steps[label] for label, count in own.items())
            if cost > self._left:
                nodes.append([])
                continue
            self._left -= cost
            covered = _covered if len(text) + len(tree) <= _CACHED_LETTERS else _covered.__wrapped__
            nodes.append(covered(text, tree, _family(kernel)))
        return nodes


def _explanation_fields(explanation: Explanation, trees: Iterable[Tree]) -> dict[str, Any]:
    """Return an explanation as JSON, with the nodes that each fragment covers in the given trees."""
    highlights = _Highlights(trees)
    features = [share for share in explanation.fragments if isinstance(share.tree, VectorFeature)]  # not in the trees
    return {
        "score": explanation.score,
        "rest": explanation.rest + sum(feature.share for feature in features),
        "complete": explanation.complete,
        "others": [
            *({"kernel": repr(other.kernel), "share": other.share} for other in explanation.others),
            *({"kernel": str(feature.tree), "share": feature.share} for feature in features),
        ],
        "fragments": [
            {
                **fragment_text(fragment.tree),
                "share": fragment.share,
                "places": highlights.of(fragment.tree, fragment.kernel),
            }
            for fragment in explanation.fragments
            if not isinstance(fragment.tree, VectorFeature)
        ],
    }


Family = tuple[type[Kernel], tuple[tuple[str, Any], ...]]
"""A class of kernels, and the parameters that determine which fragments exist."""


def _family(kernel: Kernel) -> Family:
    """Return a kernel without its decays: occurrences do not change while a decay is varied."""
    plain = kernel.kernel if isinstance(kernel, Normalized) else kernel
    return type(plain), tuple((name, getattr(plain, name)) for name in ("leaves", "max_depth") if hasattr(plain, name))


@lru_cache(_CACHED)
def _covered(fragment: str, tree: str, family: Family) -> list[int]:
    kind, parameters = family
    occurrences = places(fragment, tree, kind(**dict(parameters)), _OCCURRENCES)
    return sorted({node for nodes in occurrences for node in nodes})


def _shares_of(attribution: Iterable[NodeShare]) -> list[float] | None:
    """Return the share of each node, or None if there are no shares."""
    return [node.share for node in attribution] or None


def _can_be_attributed(tree: Tree) -> bool:
    """Return whether the tree is small enough for the shares of all its nodes. The cost is the sum of the depths."""
    below = 0
    stack = [(tree, 1)]
    while stack and below <= _ATTRIBUTED:
        node, depth = stack.pop()
        below += depth
        stack.extend((child, depth + 1) for child in node.children)
    return below <= _ATTRIBUTED


# --- requests about two trees -----------------------------------------------------------------------------------------

_PAIRS = 20e6  # size of one tree times size of the other: at most two seconds, if all nodes and children are alike
_CURVE_PAIRS = 2e6  # the same for a curve
_MODEL_PAIRS = 2e9  # the same for a tree and the support trees of a model, in which few pairs are alike
_POINTS = 24  # points of a curve
_LISTED = 40  # fragments that are listed
_DRAWN_FRAGMENT = 40  # nodes of the largest fragment that is drawn in the list
_CELLS = 2_500  # pairs of nodes of the largest table
_EDIT_STEPS = 2e8  # steps of an edit distance: about half a second
_EDIT_BYTES = 64 * 2**20  # memory of an edit distance, 8 bytes per pair of nodes. A few requests run at the same time.
_KINDS = ("keep", "rename", "insert", "delete")
_LISTED_EDITS = 300  # operations that are listed


def _compare(request: Request) -> dict[str, Any]:
    """Return the value and the cosine of two trees, the fragments they share, and their occurrences."""
    trees, kernel = _trees_and_kernel(request)
    chosen: Kernel = kernel.normalized() if request.flag("normalized") else kernel
    value, cosine = _values(kernel, trees)
    shared = shared_fragments(*trees, chosen, _LISTED) if value is not None or chosen is not kernel else []
    highlights = _Highlights(trees)
    return {
        "kernel": repr(chosen),
        "value": value,
        "cosine": cosine,
        "fragments": [
            {
                **fragment_text(fragment.tree),
                "share": fragment.contribution,
                "counts": fragment.counts,
                "places": highlights.of(fragment.tree, kernel),
                "picture": picture(fragment.tree) if _is_small(fragment.tree) else None,
            }
            for fragment in shared
        ],
        "complete": getattr(shared, "complete", False),
        "trees": [
            picture(tree, heat=_shares(chosen, tree, other)) for tree, other in zip(trees, trees[::-1], strict=True)
        ],
    }


def _is_small(fragment: Tree) -> bool:
    """Return whether a fragment is drawn in the list. Large fragments are written as text."""
    return sum(1 for _ in islice(fragment.nodes(), _DRAWN_FRAGMENT + 1)) <= _DRAWN_FRAGMENT


def _table(request: Request) -> dict[str, Any]:
    """Return the value of each pair of nodes, in pre-order. The sum is the kernel value."""
    trees, kernel = _trees_and_kernel(request)
    _check_table(trees)
    values = node_values(*trees, kernel)
    return {
        "kernel": repr(kernel),
        "parameters": {name: float(getattr(kernel, name)) for name in ("lam", "mu") if hasattr(kernel, name)},
        "value": float(values.sum()),
        "cells": values.tolist(),
        "trees": [picture(tree) for tree in trees],
    }


def _check_table(trees: tuple[Tree, Tree]) -> None:
    sizes = [sum(1 for _ in tree.nodes()) for tree in trees]
    if math.prod(sizes) > _CELLS:
        raise RequestError(
            "table",
            f"The table of these trees has {sizes[0]:,} × {sizes[1]:,} pairs of nodes, including words. The limit of this page is {_CELLS:,} "
            "pairs. Enter smaller trees, or use treelet.fragments.node_values in Python.",
        )


def _save(workspace: Workspace, request: Request) -> dict[str, Any]:
    """Return the picture of a comparison or a forest as an SVG document, as `treelet.draw` draws it."""
    show = request.fields.get("show", "fragments")
    if show == "forest":
        return {"svg": draw(_forest(workspace, _parsed(workspace, request), request))}
    if show == "edits":
        return {"svg": draw(_edit_script(request))}
    trees, kernel = _trees_and_kernel(request)
    if show == "table":
        _check_table(trees)
    chosen: Kernel = kernel.normalized() if request.flag("normalized") and show != "table" else kernel
    return {"svg": draw(shared_fragments(*trees, chosen, _LISTED), table=show == "table")}


def _curve(request: Request) -> dict[str, Any]:
    """Return the value and the cosine at decays from almost 0 to 1, with all other parameters fixed."""
    trees, kernel = _trees_and_kernel(request, _CURVE_PAIRS)
    points: dict[str, list[float | None]] = {"lam": [], "value": [], "cosine": []}
    for lam in np.linspace(0.02, 1.0, _POINTS).round(4).tolist():
        _core.check()
        value, cosine = _values(type(kernel)(**{**kernel.get_params(), "lam": lam}), trees)
        for name, number in (("lam", lam), ("value", value), ("cosine", cosine)):
            points[name].append(number)
    return points


def _edits(request: Request) -> dict[str, Any]:
    """Return the edit distance and similarity of two trees, the operations, and the pairs of nodes that are kept or renamed."""
    script = _edit_script(request)
    changes = script.changes()
    return {
        "distance": script.cost,
        "similarity": script.similarity,
        "operations": [
            {
                "kind": change.kind,
                "text": shortened(str(change)),
                "share": change.cost,
                "places": [[] if node is None else [node] for node in (change.source, change.target)],
            }
            for change in changes[:_LISTED_EDITS]
        ],
        "counts": {kind: sum(operation.kind == kind for operation in script) for kind in _KINDS},
        "pairs": script.mapping,
        "trees": _edited_trees(script),
    }


def _edit_script(request: Request) -> EditScript:
    """Return the edit script of two trees, if it takes little time and memory."""
    a, b = request.tree("a"), request.tree("b")
    (_, *subproblems), (_, *others) = (tree_sizes(Treebank([tree])) for tree in (a, b))
    steps = min(float(own[0] * other[0]) for own, other in zip(subproblems, others, strict=True))
    size = 8 * math.prod(sum(1 for _ in tree.nodes()) for tree in (a, b))
    if steps > _EDIT_STEPS or size > _EDIT_BYTES:
        needs = f"{steps:.1g} steps" if steps > _EDIT_STEPS else f"{size / 2**20:,.0f} MiB of memory"
        most = f"{_EDIT_STEPS:.1g} steps" if steps > _EDIT_STEPS else f"{_EDIT_BYTES / 2**20:,.0f} MiB"
        raise RequestError(
            "edits",
            f"The edit distance of these trees takes about {needs}. The limit of this page is {most}. "
            "Enter smaller trees, or use the command treelet compare --edits.",
        )
    return edit_script(a, b)


def _edited_trees(script: EditScript) -> list[dict[str, Any]]:
    """Return both trees of an edit script in the form that tree-view.js takes, with their changed nodes.

    Examples
    --------
    >>> import treelet as tl
    >>> [tree["edits"] for tree in _edited_trees(tl.edit_script("(N cat)", "(N dog)"))]
    [[{'node': 1, 'kind': 'rename', 'text': '→ dog'}], [{'node': 1, 'kind': 'rename', 'text': 'was cat'}]]
    """
    pictures = []
    for tree, side in zip((script.source, script.target), edited_trees(script, folded=False), strict=True):
        edits = [
            {"node": node, "kind": operation.kind, "text": text}
            for node, (operation, text) in enumerate(zip(side.operations, side.other_labels, strict=True))
            if operation is not None and operation.kind != "keep"
        ]
        pictures.append({**picture(tree), "edits": edits})
    return pictures


def _trees_and_kernel(request: Request, most: float = _PAIRS) -> tuple[tuple[Tree, Tree], TreeKernel]:
    trees, kernel = (request.tree("a"), request.tree("b")), request.kernel()
    steps = _most_pairs(kernel, *(Treebank([tree]) for tree in trees))
    if steps > most:
        raise RequestError(
            "kernel",
            f"Comparing these trees takes up to {steps:.1g} pairs of nodes. The limit of this page is {most:.1g}. "
            "Enter smaller trees, or use the command treelet compare.",
        )
    return trees, kernel


def _values(kernel: TreeKernel, trees: tuple[Tree, Tree]) -> tuple[float | None, float]:
    """Return the kernel value, or None if it overflows, and the cosine, which never overflows."""
    cosine = float(kernel.normalized()([trees[0]], [trees[1]])[0, 0])
    try:
        value = float(kernel([trees[0]], [trees[1]])[0, 0])
    except KernelOverflowError:
        return None, cosine
    return value if math.isfinite(value) else None, cosine


def _shares(kernel: Kernel, tree: Tree, other: Tree) -> list[float] | None:
    """Return the share of the value per node. The other tree acts as a model with one support tree."""
    if not (_can_be_attributed(tree) and _can_be_attributed(other)):
        return None
    try:
        model = CompressedModel.of(kernel, [other], np.ones((1, 1)))
        X = model.kernel.coerce([tree])
        values = model.score(X)
        linear = resolve_output(model, None, X, values)
        return _shares_of(explain_output(linear, [tree], X, values, limit=0).heat)
    except KernelOverflowError:
        return None


# --- the requests of the page -----------------------------------------------------------------------------------------

Response = dict[str, Any]
_EXAMPLES = 4
_SEARCHED = 500  # number of trees that examples are chosen from
_PAIRED = 100  # number of trees among which similar pairs are searched
_SAMPLED = 40  # sentences that a grammar generates, from which examples are chosen
_SHORT = 14  # words of a short sentence
_NAME = 30  # characters of a sentence in the name of an example
_ORDINARY = range(12, 45)  # number of nodes of a tree that is easy to read


def _about(workspace: Workspace, request: Request) -> Response:
    """Describe the workspace, without creating the embedded ranker."""
    view = workspace.model_view
    return {
        "model": None if view is None else {"name": view.name, "task": view.task, "kernel": repr(view.kernel)},
        "data": None if workspace.trees is None else len(workspace.trees),
        "grammar": workspace.parsing.name,
        "ranks": (view is not None and view.task == "rank") or workspace.parsing.ranker is not None,
        "limits": {"nodes": NODES, "letters": LETTERS, "words": _WORDS, "parses": _MOST_K},
        "examples": {"trees": _pairs(workspace), "sentences": _sentences(workspace)},
    }


def _examples(workspace: Workspace, request: Request) -> Response:
    """Return a few training or support trees of the model as examples."""
    view = _model_of(workspace)
    trees = _ordinary(workspace.trees if workspace.trees is not None else _support_trees(view))
    names = {"name": view.name, "task": view.task, "kernel": repr(view.kernel)}
    return {**names, "trees": [str(tree) for tree in trees[:_EXAMPLES]]}


def _support_trees(view: ModelView) -> Sequence[Tree | None]:
    graphs = [term.graph for term in getattr(view.model.model_, "terms", ()) if hasattr(term, "graph")]
    return graphs[0] if graphs else []


def _ordinary(trees: Sequence[Tree | None]) -> list[Tree]:
    """Return trees that are easy to read, one per sentence, because the data may contain many parses of a sentence."""
    known = [tree for tree in trees[:_SEARCHED] if tree is not None]
    ordinary = [tree for tree in known if sum(1 for _ in tree.nodes()) in _ORDINARY] or known
    return list({" ".join(tree.words()): tree for tree in reversed(ordinary)}.values())[::-1]


def _pairs(workspace: Workspace) -> list[Response] | None:
    """Return pairs of similar trees of the user's treebank, data or model. None if there are none."""
    own: list[Sequence[Tree | None]] = [
        trees for trees in (workspace.parsing.trees, workspace.trees) if trees is not None
    ]
    if not own and workspace.model_view is not None:
        own = [_support_trees(workspace.model_view)]
    candidates = [tree for trees in own[:1] for tree in _ordinary(trees) if _can_be_attributed(tree)][:_PAIRED]
    if len(candidates) < 2:
        return None
    cosines = np.triu(SubsetTree().normalized()(candidates), 1)
    pairs: list[Response] = []
    used: set[int] = set()
    for place in np.argsort(-cosines, axis=None, kind="stable").tolist():
        a, b = divmod(place, len(candidates))
        if a >= b or len(pairs) == _EXAMPLES:
            break
        if not used & {a, b}:
            used |= {a, b}
            words = [shortened(" ".join(candidates[k].words()), _NAME) for k in (a, b)]
            pairs.append({"name": " / ".join(words), "fields": {"a": str(candidates[a]), "b": str(candidates[b])}})
    return pairs


def _sentences(workspace: Workspace) -> list[str] | None:
    """Return sentences of the user's treebank, or sentences that the user's grammar generates. None for the embedded grammar."""
    parsing = workspace.parsing
    if parsing.ranker is not None:
        return None
    try:
        trees = parsing.trees if parsing.trees is not None else parsing.grammar().sample(_SAMPLED, 0, max_words=_SHORT)
    except ParameterError:  # the grammar has no short sentence
        return []
    known = list(dict.fromkeys(" ".join(tree.words()) for tree in _ordinary(trees)))
    short = [words for words in known if 2 < len(words.split()) <= _SHORT] or known
    return short[:_EXAMPLES]


HANDLERS: dict[str, Callable[[Workspace, Request], Response]] = {
    "about": _about,
    "compare": lambda workspace, request: _compare(request),
    "curve": lambda workspace, request: _curve(request),
    "edits": lambda workspace, request: _edits(request),
    "table": lambda workspace, request: _table(request),
    "save": _save,
    "sentence": _sentence,
    "why": _why,
    "examples": _examples,
    "judge": _predict,
}
