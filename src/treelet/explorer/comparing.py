"""Two trees: their value, how it depends on the decay, and the fragments behind it with all their places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treelet.draw.web.pictures import picture
from treelet.errors import KernelOverflowError
from treelet.explorer.highlights import Lights, can_be_heated, heat_of
from treelet.explorer.requests import Question, QuestionError
from treelet.fragments.model_fragments import explain
from treelet.fragments.shared import shared_fragments
from treelet.kernels import Kernel
from treelet.kernels.tree import TreeKernel
from treelet.learn.model import CompressedModel
from treelet.structures import Tree

PAIRS = 20e6  # steps of a kernel's value: about a tenth of a second
CURVE_PAIRS = 2e6  # the same, for a value at every point of a curve
POINTS = 24  # of the curve
LISTED = 40  # fragments


def compare(question: Question) -> dict[str, Any]:
    """The value and the cosine of two trees, the fragments they share, and where these are."""
    trees, kernel = _asked(question)
    chosen: Kernel = kernel.normalized() if question.flag("normalized") else kernel
    value, cosine = _values(kernel, trees)
    shared = shared_fragments(*trees, chosen, LISTED) if value is not None or chosen is not kernel else []
    lights = Lights(trees)
    return {
        "kernel": repr(chosen),
        "value": value,
        "cosine": cosine,
        "fragments": [
            {
                "text": str(one.tree),
                "share": one.contribution,
                "counts": one.counts,
                "places": lights.of(one.tree, kernel),
            }
            for one in shared
        ],
        "complete": getattr(shared, "complete", False),
        "trees": [
            picture(tree, heat=_heat(chosen, tree, other)) for tree, other in zip(trees, trees[::-1], strict=True)
        ],
    }


def curve(question: Question) -> dict[str, Any]:
    """The value and the cosine at decays from almost 0 to 1, all else as it is."""
    trees, kernel = _asked(question, CURVE_PAIRS)
    found: dict[str, list[float | None]] = {"lam": [], "value": [], "cosine": []}
    for lam in np.linspace(0.02, 1.0, POINTS).round(4).tolist():
        value, cosine = _values(type(kernel)(**{**kernel.get_params(), "lam": lam}), trees)
        for name, number in (("lam", lam), ("value", value), ("cosine", cosine)):
            found[name].append(number)
    return found


def _asked(question: Question, most: float = PAIRS) -> tuple[tuple[Tree, Tree], TreeKernel]:
    trees, kernel = (question.tree("a"), question.tree("b")), question.kernel()
    steps = kernel.normalized().cost([trees[0]], [trees[1]]).pairs  # and of each with itself
    if steps > most:
        raise QuestionError(
            "kernel",
            f"about {steps:.1g} pairs of nodes would have to be compared, more than a page should wait for: "
            "take smaller trees, or treelet compare",
        )
    return trees, kernel


def _values(kernel: TreeKernel, trees: tuple[Tree, Tree]) -> tuple[float | None, float]:
    """The value, None where it does not fit a number; and the cosine, which always does."""
    cosine = float(kernel.normalized()([trees[0]], [trees[1]])[0, 0])
    try:
        value = float(kernel([trees[0]], [trees[1]])[0, 0])
    except KernelOverflowError:
        return None, cosine
    return value if math.isfinite(value) else None, cosine


def _heat(kernel: Kernel, tree: Tree, other: Tree) -> list[float] | None:
    """Each node's share of the value: the other tree is a model of one example."""
    if not (can_be_heated(tree) and can_be_heated(other)):
        return None
    try:
        model = CompressedModel.of(kernel, [other], np.ones((1, 1)))
        return heat_of(explain(model, tree, limit=1).heat)
    except KernelOverflowError:
        return None
