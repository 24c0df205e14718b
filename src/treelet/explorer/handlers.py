"""The requests of the page: one function per request, which maps the workspace and the request's fields to JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treelet.explorer import comparing, model_requests, parses
from treelet.explorer.requests import LETTERS, NODES, Request
from treelet.explorer.workspace import Workspace

Response = dict[str, Any]
EXAMPLES = 4
SEARCHED = 500  # number of trees that examples are chosen from
ORDINARY = range(12, 45)  # number of nodes of a tree that is easy to read


def about(workspace: Workspace, request: Request) -> Response:
    """Describe the workspace, without creating the embedded ranker."""
    view = workspace.model_view
    return {
        "model": None if view is None else {"name": view.name, "task": view.task, "kernel": repr(view.kernel)},
        "data": None if workspace.trees is None else len(workspace.trees),
        "grammar": workspace.parsing.name,
        "ranks": (view is not None and view.task == "rank") or workspace.parsing.ranker is not None,
        "limits": {"nodes": NODES, "letters": LETTERS, "words": parses.WORDS, "parses": parses.MOST_K},
    }


def examples(workspace: Workspace, request: Request) -> Response:
    """Return a few training or support trees of the model as examples."""
    view = model_requests.model_of(workspace)
    terms = [term for term in getattr(view.model.model_, "terms", ()) if hasattr(term, "graph")]
    trees = workspace.trees if workspace.trees is not None else terms[0].graph if terms else []
    known = [tree for tree in trees[:SEARCHED] if tree is not None]
    ordinary = [tree for tree in known if sum(1 for _ in tree.nodes()) in ORDINARY] or known
    by_words: dict[str, str] = {}  # one tree per sentence, because the data may contain many parses of a sentence
    for tree in ordinary:
        if len(by_words) < EXAMPLES:
            by_words.setdefault(" ".join(tree.words()), str(tree))
    return {"name": view.name, "task": view.task, "kernel": repr(view.kernel), "trees": list(by_words.values())}


HANDLERS: dict[str, Callable[[Workspace, Request], Response]] = {
    "about": about,
    "compare": lambda workspace, request: comparing.compare(request),
    "curve": lambda workspace, request: comparing.curve(request),
    "edits": lambda workspace, request: comparing.edits(request),
    "sentence": parses.sentence,
    "why": parses.why,
    "examples": examples,
    "judge": model_requests.predict,
}
