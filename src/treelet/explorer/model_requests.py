"""A model and a tree: what it says, why, and which trees that it learnt from are near."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from treelet.draw.web.pictures import picture
from treelet.errors import InputTypeError
from treelet.explorer.comparing import LISTED, PAIRS
from treelet.explorer.highlights import Lights, can_be_heated, heat_of
from treelet.explorer.requests import Question, QuestionError
from treelet.explorer.workspace import Desk, Judge
from treelet.fragments.model_fragments import explain
from treelet.kernels.pairwise import Vector
from treelet.learn.linear_output import Asked, asked
from treelet.learn.terms import GraphTerm
from treelet.structures import Tree, Treebank

NEAR = 5


def judge(desk: Desk, question: Question) -> dict[str, Any]:
    """What the model says of a tree, the fragments and nodes behind it, and the nearest trees it has seen."""
    chosen = model_of(desk)
    tree = question.tree("tree")
    _check_cost(chosen, tree)
    label, scores = _said(chosen, tree)
    output = _output(chosen, question.fields.get("output"))
    said = {"task": chosen.task, "name": chosen.name, "label": label, "scores": scores}
    try:
        told = explain(chosen.model, chosen.example(tree), output, limit=LISTED)
        one = asked(chosen.model, told.output)
    except InputTypeError as error:  # a model that can only be asked for its scores
        return {**said, "unexplained": str(error), "tree": picture(tree)}
    lights = Lights([tree])
    return {
        **said,
        "output": str(told.output),
        "score": told.score,
        "intercept": told.intercept,
        "rest": told.rest,
        "complete": told.complete,
        "others": [{"kernel": repr(other.kernel), "share": other.share} for other in told.others],
        "fragments": [
            {"text": str(part.tree), "share": part.share, "places": lights.of(part.tree, part.kernel)}
            for part in told.fragments
        ],
        "tree": picture(tree, heat=heat_of(told.heat)),
        "near": _near(desk, chosen, one, tree),
    }


def model_of(desk: Desk) -> Judge:
    chosen = desk.model()
    if chosen is None:
        raise QuestionError("tree", "there is no model: start with treelet explore m.treelet")
    return chosen


def _check_cost(chosen: Judge, tree: Tree) -> None:
    if not can_be_heated(tree):
        raise QuestionError("tree", "the tree is too large for its nodes to be explained here; use treelet explain")
    bank = Treebank([tree])
    steps = 0.0
    for term in getattr(chosen.model.model_, "terms", ()):
        if isinstance(term, GraphTerm):
            kernel, most = term.kernel_term.inner.kernel, float(_parts(bank) * _parts(term.graph))
            needless = most < PAIRS and getattr(kernel, "max_depth", None) is None  # to count them would take longest
            steps += most if needless else kernel.cost(bank, term.graph).pairs
    if steps > 10 * PAIRS:
        raise QuestionError("tree", f"about {steps:.1g} pairs of nodes would have to be compared: take a smaller tree")


def _parts(bank: Any) -> int:
    """At most so many distinct parts are compared: nodes, and children of nodes."""
    store = bank.columns.store
    return len(store) + len(store.child)


def _said(chosen: Judge, tree: Tree) -> tuple[str | None, list[dict[str, Any]]]:
    """The class and the score of each; or the one score that there is."""
    bank = Treebank([tree])
    if chosen.task != "classify":
        return None, [{"label": "score", "score": float(np.ravel(chosen.scores(bank))[0])}]
    model, examples = chosen.model, chosen.examples(bank)
    names = list(map(str, model.classes_.tolist()))
    values = np.atleast_2d(model.decision_function(examples))
    row = [-float(values[0, 0]), float(values[0, 0])] if len(names) == 2 else values[0].tolist()
    scores = [{"label": name, "score": score} for name, score in zip(names, row, strict=True)]
    return str(model.predict(examples).tolist()[0]), scores


def _output(chosen: Judge, name: Any) -> Any:
    """The class that was meant by its text."""
    if name is None or chosen.task != "classify":
        return None
    known = {str(label): label for label in chosen.model.classes_.tolist()}
    if not isinstance(name, str) or name not in known:
        raise QuestionError("output", f"the model has no class {name!r:.40}")
    return known[name]


def _near(desk: Desk, chosen: Judge, one: Asked, tree: Tree) -> dict[str, Any] | None:
    """The nearest trees, by the cosine of the model's first tree kernel."""
    if not one.listed:
        return None
    term = one.listed[0]
    near = desk.neighbours(term)
    values, numbers = near.search.kneighbors(Treebank([tree]), min(NEAR, len(near.trees)))
    labels: Sequence[str | None] | None = near.labels
    weights = None
    if near.trees is term.graph:
        labels, weights = _support(chosen, term, one.mix)
    found = []
    for value, number in zip(values[0].tolist(), numbers[0].tolist(), strict=True):
        other = near.trees[number]
        if other is not None and value > 0:
            item = {"tree": str(other), "words": " ".join(other.words()), "value": value}
            item["label"] = None if labels is None else labels[number]
            item["weight"] = None if weights is None else float(weights[number])
            found.append(item)
    return {"from": "data" if weights is None else "support", "of": len(near.trees), "trees": found}


def _support(chosen: Judge, term: GraphTerm, mix: Vector) -> tuple[list[str | None] | None, Vector]:
    """The class that each support tree speaks for, as far as it does; and what it weighs in the function that is asked for."""
    roots = term.at_roots
    rows = sp.csr_array((roots.weight, roots.node, roots.start), shape=(len(roots), len(term.graph)))
    weights: Vector = rows.T @ mix
    if chosen.task != "classify":
        return None, weights
    names = chosen.model.classes_.tolist()
    each = np.array([asked(chosen.model, name).mix for name in names]) @ rows
    best, most = each.argmax(axis=0).tolist(), each.max(axis=0).tolist()
    return [str(names[k]) if weight > 0 else None for k, weight in zip(best, most, strict=True)], weights
