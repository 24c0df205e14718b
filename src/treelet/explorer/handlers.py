"""What can be asked: one pure function a question, from the desk and the question's fields to JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treelet.explorer import comparing, model_requests, parses
from treelet.explorer.requests import LETTERS, NODES, Question
from treelet.explorer.workspace import Desk

Answer = dict[str, Any]
EXAMPLES = 4
SEARCHED = 500  # trees that these are taken from
ORDINARY = range(12, 45)  # nodes of a tree that is nice to look at


def about(desk: Desk, question: Question) -> Answer:
    """What lies on the desk. The ranker need not be there yet: it is made when it is needed."""
    judge = desk.judge
    return {
        "model": None if judge is None else {"name": judge.name, "task": judge.task, "kernel": repr(judge.kernel)},
        "data": None if desk.trees is None else len(desk.trees),
        "grammar": desk.parsing.name,
        "ranks": (judge is not None and judge.task == "rank") or desk.parsing.ranker is not None,
        "limits": {"nodes": NODES, "letters": LETTERS, "words": parses.WORDS, "parses": parses.MOST_K},
    }


def examples(desk: Desk, question: Question) -> Answer:
    """Some trees to show to the model: such as it has seen."""
    chosen = model_requests.model_of(desk)
    terms = [term for term in getattr(chosen.model.model_, "terms", ()) if hasattr(term, "graph")]
    trees = desk.trees if desk.trees is not None else terms[0].graph if terms else []
    known = [tree for tree in trees[:SEARCHED] if tree is not None]
    nice = [tree for tree in known if sum(1 for _ in tree.nodes()) in ORDINARY] or known
    found: dict[str, str] = {}  # by their words: of a list of parses, one is enough
    for tree in nice:
        if len(found) < EXAMPLES:
            found.setdefault(" ".join(tree.words()), str(tree))
    return {"name": chosen.name, "task": chosen.task, "kernel": repr(chosen.kernel), "trees": list(found.values())}


ANSWERS: dict[str, Callable[[Desk, Question], Answer]] = {
    "about": about,
    "compare": lambda desk, question: comparing.compare(question),
    "curve": lambda desk, question: comparing.curve(question),
    "sentence": parses.sentence,
    "why": parses.why,
    "examples": examples,
    "judge": model_requests.judge,
}
