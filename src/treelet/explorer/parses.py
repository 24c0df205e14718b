"""A sentence: its best parses and its forest by a grammar, in whose order, and why this one and not that one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.draw.web.pictures import picture
from treelet.errors import InputTypeError, TreeletError
from treelet.explorer.comparing import LISTED
from treelet.explorer.highlights import Lights, heat_of
from treelet.explorer.requests import Question, QuestionError
from treelet.explorer.workspace import Desk, Judge
from treelet.fragments.model_fragments import explain
from treelet.parsing import PCFG
from treelet.parsing.chart import checked_sentence, relative_logp
from treelet.structures import Tree, Treebank

K = 10
MOST_K = 50
WORDS = 60
STEPS = 2e9  # of a chart, words cubed times rules: about two seconds
PRUNE = 3.0
DRAWN = 400  # nodes of a forest: beyond, it is said but not drawn


class Parses(NamedTuple):
    """The parses of a sentence, the parser's first choice first."""

    words: list[str]
    trees: list[Tree]
    logp: NDArray[np.float64]
    judge: Judge | None
    scores: NDArray[np.float64] | None

    def relative(self) -> NDArray[np.float64]:
        return relative_logp(self.logp, np.zeros(len(self.logp), np.int64))

    def order(self) -> list[int]:
        """The numbers of the parses, the ranker's first choice first; the parser's order among equals."""
        if self.scores is None:
            return list(range(len(self.trees)))
        order: list[int] = np.argsort(-self.scores, kind="stable").tolist()
        return order


def sentence(desk: Desk, question: Question) -> dict[str, Any]:
    """The best parses of a sentence, in the ranker's order, and the forest of all that are near the best."""
    found = _parsed(desk, question)
    order = found.order()
    forest = desk.parsing.grammar().forest(found.words, question.number("prune", 0, 20, PRUNE))
    small = len(forest.nodes) <= DRAWN
    return {
        "words": found.words,
        "grammar": desk.parsing.name,
        "ranker": None if found.judge is None else found.judge.name,
        "parses": [
            {
                "tree": str(found.trees[number]),
                "picture": picture(found.trees[number]),
                "number": number,
                "logp": _finite(found.logp[number]),
                "score": None if found.scores is None else _finite(found.scores[number]),
            }
            for number in order
        ],
        "forest": {
            "picture": picture(forest) if forest and small else None,
            "trees": _count(forest.count_trees()) if forest else "0",
            "nodes": len(forest.nodes),
        },
    }


def why(desk: Desk, question: Question) -> dict[str, Any]:
    """Why the ranker puts one parse before another: the fragments behind the difference of their scores."""
    found = _parsed(desk, question)
    if found.judge is None:
        raise QuestionError("sentence", "there is no ranker that could say why")
    last = len(found.trees) - 1
    if last < 1:
        raise QuestionError("sentence", "there is one parse only, and nothing to compare it with")
    numbers = question.integer("this", 0, last, 0), question.integer("that", 0, last, 1)
    trees, logp = [found.trees[number] for number in numbers], found.relative()
    examples = tuple(
        found.judge.example(tree, float(logp[number])) for tree, number in zip(trees, numbers, strict=True)
    )
    told = explain(found.judge.model, examples, limit=LISTED)
    first = sum(1 for _ in trees[0].nodes())
    heats, lights = (told.heat[:first], told.heat[first:]), Lights(trees)
    return {
        "score": told.score,
        "rest": told.rest,
        "others": [{"kernel": repr(other.kernel), "share": other.share} for other in told.others],
        "complete": told.complete,
        "fragments": [
            {"text": str(one.tree), "share": one.share, "places": lights.of(one.tree, one.kernel)}
            for one in told.fragments
        ],
        "trees": [picture(tree, heat=heat_of(heat)) for tree, heat in zip(trees, heats, strict=True)],
    }


def _parsed(desk: Desk, question: Question) -> Parses:
    text = question.text("sentence")
    try:
        words = checked_sentence(text.split())
    except (TreeletError, InputTypeError) as error:
        raise QuestionError("sentence", str(error)) from None
    if len(words) > WORDS:
        raise QuestionError("sentence", f"a sentence of {len(words):,} words: up to {WORDS} are parsed here")
    grammar = desk.parsing.grammar()
    _check_cost(grammar, len(words))
    found = grammar.parse(words, question.integer("k", 1, MOST_K, K))
    if not found:
        raise QuestionError("sentence", "this sentence has no parse under the grammar: it may not know a word of it")
    trees = [tree for tree, _ in found]
    logp = np.array([float(number) for _, number in found])
    judge = desk.ranker()
    relative = relative_logp(logp, np.zeros(len(logp), np.int64))
    scores = None if judge is None else judge.scores(Treebank(trees), relative)
    return Parses(words, trees, logp, judge, scores)


def _check_cost(grammar: PCFG, words: int) -> None:
    steps = words**3 / 6 * len(grammar.rules)
    if steps > STEPS:
        most = int((6 * STEPS / len(grammar.rules)) ** (1 / 3))
        raise QuestionError(
            "sentence",
            f"with {len(grammar.rules):,} rules, up to {most} words are parsed here; treelet parse takes more",
        )


def _finite(number: Any) -> float | None:
    return float(number) if math.isfinite(number) else None


def _count(trees: int) -> str:
    """A number that may be longer than any that JavaScript knows."""
    return f"{trees:,}" if trees < 10**12 else f"10^{len(str(trees)) - 1}"
