"""Requests about a sentence: its best parses, its forest, and the attribution of the difference of two parses."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.checks import some_of
from treelet.draw.web.pictures import picture
from treelet.errors import InputTypeError, TreeletError
from treelet.explorer.comparing import LISTED
from treelet.explorer.highlights import explanation_fields, shares_of
from treelet.explorer.requests import Request, RequestError
from treelet.explorer.workspace import ModelView, Workspace
from treelet.fragments.model_fragments import explain
from treelet.parsing import PCFG
from treelet.parsing.chart import checked_sentence, relative_logp
from treelet.parsing.typed import LISTED as LISTED_WORDS
from treelet.parsing.typed import adapted_words, outside_grammar, unknown_words
from treelet.structures import Tree, Treebank

K = 10
MOST_K = 50
WORDS = 60
STEPS = 2e9  # steps of a chart, words cubed times rules: about two seconds
PRUNE = 3.0
DRAWN = 400  # number of nodes of the largest forest that is drawn

REMEDY = "Start the explorer with another grammar: treelet explore --treebank FILE."


class Parses(NamedTuple):
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


def sentence(workspace: Workspace, request: Request) -> dict[str, Any]:
    """Return the best parses of a sentence in the order of the ranker, and the forest of parses near the best one."""
    parses = _parsed(workspace, request)
    forest = workspace.parsing.grammar().forest(parses.words, request.number("prune", 0, 20, PRUNE))
    small = len(forest.nodes) <= DRAWN
    return {
        "words": parses.words,
        "note": _note(workspace.parsing.grammar(), parses),
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


def why(workspace: Workspace, request: Request) -> dict[str, Any]:
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
    explanation = explain(parses.ranker.model, examples, limit=LISTED)
    first = sum(1 for _ in trees[0].nodes())
    shares = explanation.heat[:first], explanation.heat[first:]
    return {
        **explanation_fields(explanation, trees),
        "trees": [picture(tree, heat=shares_of(nodes)) for tree, nodes in zip(trees, shares, strict=True)],
    }


def _parsed(workspace: Workspace, request: Request) -> Parses:
    text, grammar = request.text("sentence"), workspace.parsing.grammar()
    if _is_tree(text):
        raise RequestError(
            "sentence", "This is a tree in brackets. Open Compare trees to compare it, or enter a sentence."
        )
    try:
        words = checked_sentence(adapted_words(text, grammar), first=1)
    except (TreeletError, InputTypeError) as error:
        raise RequestError("sentence", str(error)) from None
    if len(words) > WORDS:
        raise RequestError(
            "sentence",
            f"The sentence has {len(words):,} words. This page parses up to {WORDS}; the command treelet parse takes more.",
        )
    _check_cost(grammar, len(words))
    parses = grammar.parse(words, request.integer("k", 1, MOST_K, K))
    if not parses:
        raise RequestError("sentence", outside_grammar(grammar, words, "This sentence", REMEDY))
    trees = [tree for tree, _ in parses]
    logp = np.array([float(number) for _, number in parses])
    ranker = workspace.ranker()
    relative = relative_logp(logp, np.zeros(len(logp), np.int64))
    scores = None if ranker is None else ranker.scores(Treebank(trees), relative)
    return Parses(words, trees, logp, ranker, scores)


def _is_tree(text: str) -> bool:
    if not text.lstrip().startswith("("):
        return False
    try:
        Tree.parse(text)
    except TreeletError:
        return False
    return True


def _note(grammar: PCFG, parses: Parses) -> str | None:
    """Return a warning about a sentence without a parse, or about unknown words."""
    if parses.logp[0] == -math.inf:
        return outside_grammar(grammar, parses.words, "This sentence", REMEDY)
    unknown = unknown_words(grammar, parses.words)
    if not unknown:
        return None
    return f"Unknown words: {some_of(unknown, LISTED_WORDS)}. The parser guesses their tags from their form."


def _check_cost(grammar: PCFG, words: int) -> None:
    steps = words**3 / 6 * len(grammar.rules)
    if steps > STEPS:
        most = int((6 * STEPS / len(grammar.rules)) ** (1 / 3))
        raise RequestError(
            "sentence",
            f"The grammar has {len(grammar.rules):,} rules, so this page parses up to {most} words. Use the command treelet parse.",
        )


def _finite(number: Any) -> float | None:
    return float(number) if math.isfinite(number) else None


def _count(trees: int) -> str:
    """Return a count as text, because it may exceed the range of numbers in JavaScript."""
    return f"{trees:,}" if trees < 10**12 else f"10^{len(str(trees)) - 1}"
