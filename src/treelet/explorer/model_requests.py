"""Requests about a model and a tree: the prediction, its explanation and the nearest training trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from treelet.checks import suggestion
from treelet.draw.web.pictures import picture
from treelet.errors import InputTypeError
from treelet.explorer.comparing import LISTED, PAIRS
from treelet.explorer.highlights import can_be_attributed, explanation_fields, shares_of
from treelet.explorer.requests import Request, RequestError
from treelet.explorer.workspace import ModelView, Workspace
from treelet.fragments.model_fragments import explain_output
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.linear_output import LinearOutput, class_mixes, compressed_model, resolve_output
from treelet.learn.terms import GraphTerm
from treelet.structures import Tree, Treebank

NEAREST = 5


def predict(workspace: Workspace, request: Request) -> dict[str, Any]:
    """Return the prediction for a tree, its attribution to fragments and nodes, and the nearest training trees."""
    view = model_of(workspace)
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
    explanation = explain_output(linear, [view.example(tree)], X, values, LISTED)
    return {
        **response,
        **explanation_fields(explanation, [tree]),
        "output": str(explanation.output),
        "intercept": explanation.intercept,
        "tree": picture(tree, heat=shares_of(explanation.heat)),
        "near": _nearest(workspace, view, linear, bank),
    }


def model_of(workspace: Workspace) -> ModelView:
    view = workspace.model()
    if view is None:
        raise RequestError("tree", "There is no model. Start the explorer with one: treelet explore m.treelet.")
    return view


def _check_cost(view: ModelView, tree: Tree, bank: Treebank) -> None:
    if not can_be_attributed(tree):
        raise RequestError(
            "tree", "The tree is too large to be explained on this page. Use the command treelet explain."
        )
    steps = 0.0
    for term in getattr(view.model.model_, "terms", ()):
        if isinstance(term, GraphTerm):
            kernel, most = term.kernel_term.inner.kernel, float(_size(bank) * _size(term.graph))
            # Below this bound, counting the pairs would take longer than comparing them.
            needless = most < PAIRS and getattr(kernel, "max_depth", None) is None
            steps += most if needless else kernel.cost(bank, term.graph).pairs
    if steps > 10 * PAIRS:
        raise RequestError(
            "tree",
            f"Scoring this tree takes about {steps:.1g} pairs of nodes. The limit is {10 * PAIRS:.1g}. Enter a smaller tree.",
        )


def _size(bank: Any) -> int:
    """Return an upper bound of the number of distinct nodes and child lists that are compared."""
    store = bank.columns.store
    return len(store) + len(store.child)


def _prediction(view: ModelView, values: Matrix) -> dict[str, Any]:
    """Return the predicted class and the score of each class, or the only score of a regressor or ranker."""
    model = view.model
    values = values + getattr(model, "intercept_", 0.0)
    if view.task != "classify":
        return {"scores": _one_score(values)}
    decisions = model.decisions(values)
    row = [-float(decisions[0]), float(decisions[0])] if len(model.classes_) == 2 else decisions[0].tolist()
    scores = [{"label": str(name), "score": score} for name, score in zip(model.classes_.tolist(), row, strict=True)]
    return {"label": str(model.labels(decisions).tolist()[0]), "scores": scores}


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
    candidates = workspace.nearest_trees(term)
    cosines, indices = candidates.search.kneighbors(bank, min(NEAREST, len(candidates.trees)))
    labels: Sequence[str | None] | None = candidates.labels
    weights = None
    if candidates.trees is term.graph:
        labels, weights = _support(view, term, linear.mix)
    nearest = []
    for cosine, index in zip(cosines[0].tolist(), indices[0].tolist(), strict=True):
        tree = candidates.trees[index]
        if tree is not None and cosine > 0:
            row = {"tree": str(tree), "words": " ".join(tree.words()), "value": cosine}
            row["label"] = None if labels is None else labels[index]
            row["weight"] = None if weights is None else float(weights[index])
            nearest.append(row)
    return {"from": "data" if weights is None else "support", "of": len(candidates.trees), "trees": nearest}


def _support(view: ModelView, term: GraphTerm, mix: Vector) -> tuple[list[str | None] | None, Vector]:
    """Return the class that each support tree favors, if any, and its weight in the explained function."""
    roots = term.at_roots
    rows = sp.csr_array((roots.weight, roots.node, roots.start), shape=(len(roots), len(term.graph)))
    weights: Vector = rows.T @ mix
    if view.task != "classify":
        return None, weights
    names = view.model.classes_.tolist()
    per_class = class_mixes(view.model) @ rows
    best, largest = per_class.argmax(axis=0).tolist(), per_class.max(axis=0).tolist()
    return [str(names[k]) if weight > 0 else None for k, weight in zip(best, largest, strict=True)], weights
