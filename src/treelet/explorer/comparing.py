"""Requests about two trees: the kernel value, its dependence on the decay, the fragments behind it, and the edit script."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treelet import _core
from treelet.draw.excerpts import shortened
from treelet.draw.web.pictures import edited, fragment_text, picture
from treelet.edits import EditDistance, edit_script
from treelet.errors import KernelOverflowError
from treelet.explorer.highlights import Highlights, can_be_attributed, shares_of
from treelet.explorer.requests import Request, RequestError
from treelet.fragments.model_fragments import explain_output
from treelet.fragments.shared import shared_fragments
from treelet.kernels import Kernel
from treelet.kernels.tree import TreeKernel
from treelet.learn.linear_output import resolve_output
from treelet.learn.model import CompressedModel
from treelet.structures import Tree

PAIRS = 20e6  # node pairs of one kernel value: about a tenth of a second. A request computes about four such values.
CURVE_PAIRS = 2e6  # node pairs per point of a curve
POINTS = 24  # points of a curve
LISTED = 40  # fragments that are listed
EDIT_STEPS = 2e8  # steps of an edit distance: about half a second
EDIT_BYTES = 64 * 2**20  # memory of an edit distance, 8 bytes per pair of nodes. A few requests run at the same time.
KINDS = ("keep", "rename", "insert", "delete")
LISTED_EDITS = 300  # operations that are listed


def compare(request: Request) -> dict[str, Any]:
    """Return the value and the cosine of two trees, the fragments they share, and their occurrences."""
    trees, kernel = _trees_and_kernel(request)
    chosen: Kernel = kernel.normalized() if request.flag("normalized") else kernel
    value, cosine = _values(kernel, trees)
    shared = shared_fragments(*trees, chosen, LISTED) if value is not None or chosen is not kernel else []
    highlights = Highlights(trees)
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
            }
            for fragment in shared
        ],
        "complete": getattr(shared, "complete", False),
        "trees": [
            picture(tree, heat=_shares(chosen, tree, other)) for tree, other in zip(trees, trees[::-1], strict=True)
        ],
    }


def curve(request: Request) -> dict[str, Any]:
    """Return the value and the cosine at decays from almost 0 to 1, with all other parameters fixed."""
    trees, kernel = _trees_and_kernel(request, CURVE_PAIRS)
    points: dict[str, list[float | None]] = {"lam": [], "value": [], "cosine": []}
    for lam in np.linspace(0.02, 1.0, POINTS).round(4).tolist():
        _core.check()
        value, cosine = _values(type(kernel)(**{**kernel.get_params(), "lam": lam}), trees)
        for name, number in (("lam", lam), ("value", value), ("cosine", cosine)):
            points[name].append(number)
    return points


def edits(request: Request) -> dict[str, Any]:
    """Return the edit distance and similarity of two trees, the operations, and the pairs of nodes that are kept or renamed."""
    a, b = request.tree("a"), request.tree("b")
    steps = EditDistance().cost([a], [b]).pairs
    size = 8 * math.prod(sum(1 for _ in tree.nodes()) for tree in (a, b))
    if steps > EDIT_STEPS or size > EDIT_BYTES:
        needs = f"{steps:.1g} steps" if steps > EDIT_STEPS else f"{size / 2**20:,.0f} MiB of memory"
        most = f"{EDIT_STEPS:.1g} steps" if steps > EDIT_STEPS else f"{EDIT_BYTES / 2**20:,.0f} MiB"
        raise RequestError(
            "edits",
            f"The edit distance of these trees takes about {needs}. The limit of this page is {most}. "
            "Enter smaller trees, or use the command treelet compare --edits.",
        )
    script = edit_script(a, b)
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
            for change in changes[:LISTED_EDITS]
        ],
        "counts": {kind: sum(operation.kind == kind for operation in script) for kind in KINDS},
        "pairs": script.mapping,
        "trees": edited(script),
    }


def _trees_and_kernel(request: Request, most: float = PAIRS) -> tuple[tuple[Tree, Tree], TreeKernel]:
    trees, kernel = (request.tree("a"), request.tree("b")), request.kernel()
    steps = kernel.normalized().cost([trees[0]], [trees[1]]).pairs  # includes the value of each tree with itself
    if steps > most:
        raise RequestError(
            "kernel",
            f"Comparing these trees takes about {steps:.1g} pairs of nodes. The limit of this page is {most:.1g}. "
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
    if not (can_be_attributed(tree) and can_be_attributed(other)):
        return None
    try:
        model = CompressedModel.of(kernel, [other], np.ones((1, 1)))
        X = model.kernel.coerce([tree])
        values = model.score(X)
        linear = resolve_output(model, None, X, values)
        return shares_of(explain_output(linear, [tree], X, values, limit=0).heat)
    except KernelOverflowError:
        return None
