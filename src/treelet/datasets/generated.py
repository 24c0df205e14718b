"""A small treebank of travel questions, generated from a hand-written grammar. No corpus lies behind it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from treelet.errors import ParameterError
from treelet.structures import Treebank
from treelet.work import seed_of

# A symbol and what it may become; a template that is written several times is that much more frequent.
GRAMMAR: dict[str, tuple[str, ...]] = {
    "question": (
        "(SBARQ (WHNP (WDT which) (NNS <vehicles>)) (SQ (VP (VBP <go>) <route> <when>)))",
        "(SBARQ (WHNP (WDT which) (NNS <vehicles>)) (SQ (VP (VBP <go>) <to> <when>)))",
        "(SBARQ (WHNP (WP what)) (SQ (VBZ is) (NP (NP (DT the) (JJS <best>) (NN <vehicle>)) <route>)))",
        "(SBARQ (WHADVP (WRB when)) (SQ (VBZ does) (NP (NP (DT the) (JJ <which>) (NN <vehicle>)) <to>) (VP (VB <go>))))",
        "(SBARQ (WHNP (WHADJP (WRB how) (JJ much))) (SQ (VBZ does) <offer> (VP (VB cost))))",
        "(SBARQ (WHADVP (WRB how) (RB long)) (SQ (VBZ does) (NP (NP (DT the) (NN <vehicle>)) <route>) (VP (VB take))))",
        "(SBARQ (WHADVP (WRB where)) (SQ (MD can) (NP (PRP I)) (VP (VB <book>) <offer>)))",
        "(SQ (VBZ is) (NP (EX there)) <offer> (PP (IN on) (NP (NNP <day>))))",
        "(SQ (MD can) (NP (PRP I)) (VP (VB <book>) <offer> <when>))",
        "(SQ (VBP do) (NP (DT the) (NNS <vehicles>)) (VP (VB <go>) <route> <when>))",
        "(S (VP (VB <show>) (NP (PRP me)) <offers>))",
        "(S (VP (VB <show>) (NP (PRP me)) <offers> <when>))",
        "(S (NP (PRP I)) (VP (VBP want) (S (VP (TO to) (VP (VB travel) <route> <when>)))))",
        "(S (NP (PRP I)) (VP (VBP need) <offer> <when>))",
    ),
    "offer": (
        "(NP (NP (DT a) (NN <vehicle>)) <route>)",
        "(NP (NP (DT a) (JJ <kind>) (NN <vehicle>)) <route>)",
        "(NP (NP (DT the) (JJ <which>) (NN <vehicle>)) <to>)",
        "(NP (NP (DT a) (NN <room>)) (PP (IN in) (NP (NNP <city>))))",
        "(NP (NP (DT a) (JJ <kind>) (NN <room>)) (PP (IN near) (NP (DT the) (NN <place>))))",
        "(NP (NP (DT a) (NN ticket)) (PP (IN for) (NP (DT the) (NN <vehicle>))) <to>)",
    ),
    "offers": (
        "(NP (NP (DT all) (NNS <vehicles>)) <route>)",
        "(NP (NP (DT the) (JJS <best>) (NNS <vehicles>)) <to>)",
        "(NP (NP (JJ <kind>) (NNS <vehicles>)) <route>)",
        "(NP (NP (DT the) (NNS hotels)) (PP (IN in) (NP (NNP <city>))))",
        "(NP (NP (DT the) (NNS prices)) (PP (IN of) (NP (NP (NNS <vehicles>)) <to>)))",
    ),
    "route": (
        "(PP (PP (IN from) (NP (NNP <city>))) (PP (TO to) (NP (NNP <city>))))",
        "(PP (PP (IN from) (NP (NNP <city>))) (PP (TO to) (NP (NNP <city>))))",
        "(PP (PP (TO to) (NP (NNP <city>))) (PP (IN via) (NP (NNP <city>))))",
        "(PP (IN between) (NP (NP (NNP <city>)) (CC and) (NP (NNP <city>))))",
    ),
    "to": ("(PP (TO to) (NP (NNP <city>)))",),
    "when": (
        "(PP (IN on) (NP (NNP <day>)))",
        "(PP (IN on) (NP (NNP <day>) (NN <time>)))",
        "(PP (IN before) (NP (NN <hour>)))",
        "(PP (IN after) (NP (CD <number>) (RB <half>)))",
        "(NP (DT this) (NN <time>))",
        "(NP (JJ next) (NN week))",
        "(NP (NN tomorrow))",
    ),
    "vehicle": ("flight", "flight", "train", "train", "bus", "ferry"),
    "vehicles": ("flights", "flights", "trains", "trains", "buses", "ferries"),
    "go": ("leave", "go", "run", "depart"),
    "show": ("show", "give", "find"),
    "book": ("book", "buy", "reserve", "find"),
    "best": ("cheapest", "fastest", "earliest", "latest"),
    "which": ("first", "last", "next"),
    "kind": ("cheap", "direct", "quiet", "late"),
    "room": ("room", "hotel", "hostel"),
    "place": ("airport", "harbour", "station"),
    "city": ("Oslo", "Rome", "Vienna", "Lisbon", "Riga", "Turku", "Malta", "Prague", "Dublin", "Athens"),
    "day": ("Monday", "Tuesday", "Friday", "Saturday", "Sunday"),
    "time": ("morning", "afternoon", "evening"),
    "hour": ("noon", "midnight", "breakfast"),
    "number": ("six", "eight", "ten"),
    "half": ("a.m.", "p.m."),
}
_NAME = re.compile(r"\(NNP (\w+)\)")
_SYMBOL = re.compile(r"<(\w+)>")
PATIENCE = 50  # draws after which a tree that was there before will do


def small_treebank(n: int = 300, random_state: Any = 0) -> Treebank:
    """Parsed questions of travellers, as many as asked for, from a generator.

    Every tree is drawn from a small hand-written grammar of English: nobody has ever asked these questions. The same
    int as `random_state` gives the same trees, and the first trees of a longer bank are those of a shorter one. Trees differ from each
    other, unless more are asked for than the generator readily finds.

    Parameters
    ----------
    n : int
        How many trees.
    random_state : int, RandomState or None
        Of the random numbers.

    Returns
    -------
    Treebank

    Examples
    --------
    >>> from treelet.datasets import small_treebank
    >>> bank = small_treebank(3)
    >>> for tree in bank:
    ...     print(" ".join(tree.words()))
    find me direct trains from Prague to Lisbon after eight p.m.
    I want to travel from Prague to Dublin this afternoon
    which trains run to Athens after ten a.m.
    """
    if not isinstance(n, int) or isinstance(n, bool) or n < 0:
        raise ParameterError(f"The 'n' parameter must be an int of at least 0. Got {n!r} instead.")
    draw = random.Random(seed_of(random_state)).random
    trees: list[str] = []
    seen: set[str] = set()
    for _ in range(n):
        for _ in range(PATIENCE):
            tree = _question(draw)
            names = _NAME.findall(tree)
            if tree not in seen and len(set(names)) == len(names):  # nobody goes from Rome to Rome
                break
        seen.add(tree)
        trees.append(tree)
    return Treebank(trees)


def _question(draw: Callable[[], float]) -> str:
    text = "<question>"
    while (symbol := _SYMBOL.search(text)) is not None:
        choices = GRAMMAR[symbol[1]]
        text = text[: symbol.start()] + choices[int(draw() * len(choices))] + text[symbol.end() :]
    return text
