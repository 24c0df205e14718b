"""How good a parse is, measured in other ways: is the scheme of the right dependencies why one kernel wins?

CRAFT's right parses are Stanford-style dependencies; Link Grammar's links follow other conventions, so that no parse of
it can be wholly right. The paper's corpus was annotated in Link Grammar's own scheme. Four measures tell the two apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from treelet.datasets import ParsedSentence
from treelet.metrics import align_words
from treelet.metrics.links import PUNCTUATION
from treelet.structures import Dependencies, main_types

Pairs = set[tuple[int, int]]
Measured = list[tuple[float, ...]]

GIVEN, MATCHABLE, CONVERTED, OWN_SCHEME = "as given", "matchable types", "converted heads", "own scheme"
MEASURES = (GIVEN, MATCHABLE, CONVERTED, OWN_SCHEME)
HALF = 0.5
SUBJECTS = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
AUXILIARIES = ("aux", "auxpass")
RELATIVES = ("WDT", "WP", "WP$", "WRB")


def pair(a: int, b: int) -> tuple[int, int]:
    return min(a, b), max(a, b)


def f_score(right: Pairs, found: Pairs) -> float:
    """Of pairs of words; 0 where there are none.

    >>> f_score({(0, 1), (1, 2)}, {(0, 1), (0, 2)})
    0.5
    """
    return 2 * len(right & found) / (len(right) + len(found)) if right or found else 0.0


def dependents(gold: Dependencies) -> list[tuple[int, int, str]]:
    """Head, dependent (from 0) and relation of each right dependency that is not of punctuation."""
    heads, relations = gold.heads or (), gold.relations or ()
    mark = [relation in PUNCTUATION for relation in relations]
    return [
        (head - 1, word, relation)
        for word, (head, relation) in enumerate(zip(heads, relations, strict=True))
        if head and not mark[word] and not mark[head - 1]
    ]


def right_pairs(gold: Dependencies, without: Collection[str] = ()) -> Pairs:
    """The pairs of words of the right dependencies, but of some relations."""
    return {pair(head, word) for head, word, relation in dependents(gold) if relation not in without}


def found_pairs(parse: Dependencies, gold: Dependencies) -> dict[tuple[int, int], set[str]]:
    """The pairs of right words that a parse links, with the main types of the links; walls and punctuation do not count.

    A word of the parse that covers several right words stands for the last of them.
    """
    place = align_words(parse.words, gold.words)
    mark = [relation in PUNCTUATION for relation in gold.relations or ()]
    found: dict[tuple[int, int], set[str]] = {}
    for link in main_types(parse).links:
        one, other = place[link.left], place[link.right]
        if one is not None and other is not None and one != other and not mark[one] and not mark[other]:
            found.setdefault(pair(one, other), set()).add(link.type)
    return found


def converted_pairs(gold: Dependencies) -> Pairs:
    """The right dependencies with Link Grammar's conventions of what is linked with what.

    - A subject, and a word like *that* before a clause, hang on the first auxiliary; auxiliaries are a chain that ends in the verb.
    - What governs an infinitive or a clause is linked with its *to* or *that* as well as its verb.
    - A conjunction governs both its conjuncts, and stands for them upwards.
    - A noun is linked with the relative pronoun of its clause as well as with its verb.
    """
    links = dependents(gold)
    tags = gold.tags or ()
    children: dict[int, list[tuple[int, str]]] = {}
    for head, word, relation in links:
        children.setdefault(head, []).append((word, relation))

    def of(head: int, relations: Collection[str]) -> list[int]:
        return [word for word, relation in children.get(head, []) if relation in relations]

    def top(word: int) -> int:
        """What stands for the word upwards: its conjunction, if it has conjuncts."""
        conjunctions = of(word, ("cc",))
        return conjunctions[0] if conjunctions and of(word, ("conj",)) else word

    found: Pairs = set()
    for head, word, relation in links:
        helpers = [helper for helper in of(head, AUXILIARIES) if helper < head]
        if relation in (*SUBJECTS, "mark") and helpers:
            found.add(pair(helpers[0], word))
        elif relation in AUXILIARIES and word in helpers:
            found.add(pair(word, [*helpers, head][helpers.index(word) + 1]))
        elif relation == "conj" and any(and_ < word for and_ in of(head, ("cc",))):
            found.add(pair(max(and_ for and_ in of(head, ("cc",)) if and_ < word), word))
        else:
            found.add(pair(head, top(word)))
            if relation in ("xcomp", "advcl", "acl", "ccomp"):
                helping = [w for w in of(word, AUXILIARIES) if gold.words[w].lower() == "to"]
                found |= {pair(head, opener) for opener in (*of(word, ("mark",)), *helping)}
            elif relation == "relcl":
                found |= {pair(head, w) for w, _ in children.get(word, []) if tags and tags[w] in RELATIVES}
    return {two for two in found if two[0] != two[1]}
