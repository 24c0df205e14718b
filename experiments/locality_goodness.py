"""Other measures of the quality of a parse, to test the effect of the annotation scheme.

The gold parses of CRAFT are Stanford-style dependencies. The links of Link Grammar follow other
conventions, so no parse by Link Grammar can be completely correct. The corpus of the paper was
annotated in the scheme of Link Grammar. Four measures separate the two effects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.metrics import align_words
from treelet.structures import Dependencies, main_types
from treelet.tasks import ParsedSentence

Pairs = set[tuple[int, int]]

GIVEN, MATCHABLE, CONVERTED, OWN_SCHEME = "as given", "matchable types", "converted heads", "own scheme"
MEASURES = (GIVEN, MATCHABLE, CONVERTED, OWN_SCHEME)
"""How good a parse is: the corpus's own figure; links of types, and right dependencies of relations, that match in at least half of the
cases; all links against the right dependencies with Link Grammar's conventions; all links against those of the parse that is best so."""
HALF = 0.5
PUNCTUATION = ("punct", "p")
"""Relations of punctuation to its head, in Universal and Stanford dependencies."""
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


@dataclass(frozen=True)
class Linked:
    """A parse over the right words.

    Attributes
    ----------
    types : dict
        The pairs of right words that it links, with the main types of the links; walls and punctuation do not count.
    together : list of int
        For each right word the last one under the same word of the parse, which stands for it.
    """

    types: dict[tuple[int, int], set[str]]
    together: list[int]

    @classmethod
    def of(cls, parse: Dependencies, gold: Dependencies) -> Linked:
        place = align_words(parse.words, gold.words)
        mark = [relation in PUNCTUATION for relation in gold.relations or ()]
        found: dict[tuple[int, int], set[str]] = {}
        for link in main_types(parse).links:
            one, other = place[link.left], place[link.right]
            if one is not None and other is not None and one != other and not mark[one] and not mark[other]:
                found.setdefault(pair(one, other), set()).add(link.type)
        return cls(found, joined(place, len(gold.words)))

    def pairs(self, without: Collection[str] = ()) -> Pairs:
        """Return the linked pairs, restricted to some link types."""
        return {two for two, types in self.types.items() if any(one not in without for one in types)}

    def score(self, right: Pairs, without: Collection[str] = ()) -> float:
        """F-score against pairs of right words."""
        found = {pair(self.together[a], self.together[b]) for a, b in right}
        return f_score({two for two in found if two[0] != two[1]}, self.pairs(without))


def joined(place: Sequence[int | None], tokens: int) -> list[int]:
    """Return for each token the last token under the same word. `place` is the result of `align_words`.

    >>> joined([None, 0, 3, 4], 5)
    [0, 3, 3, 3, 4]
    """
    representative = list(range(tokens))
    before = 0
    for at in place:
        if at is not None and at >= before:
            representative[before : at + 1] = [at] * (at + 1 - before)
            before = at + 1
    return representative


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
        """Return the word that represents this word: its conjunction, if it has conjuncts."""
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


# --- all measures ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Goodness:
    """Return the quality of each parse by each measure, for the parses of all sentences.

    Attributes
    ----------
    values : ndarray of shape (parses, measures)
    types, relations : list of dict
        How often links of a type match in the best parses, and how often right dependencies of a relation are found there.
    """

    values: NDArray[np.float64]
    types: list[dict[str, Any]]
    relations: list[dict[str, Any]]


def measured(sentences: Sequence[ParsedSentence], development: Collection[int]) -> Goodness:
    """All measures; which types and relations can match is told from the sentences of `development` alone."""
    golds = [_gold(sentence) for sentence in sentences]
    linked = [[Linked.of(p, gold) for p in s.parses] for s, gold in zip(sentences, golds, strict=True)]
    best = [one[int(np.argmax(s.goodness))] for one, s in zip(linked, sentences, strict=True)]
    chosen = [(best[k], golds[k]) for k in sorted(development)]
    types, relations = matches(chosen)
    no_types = {row["name"] for row in types if row["share"] < HALF}
    no_relations = {row["name"] for row in relations if row["share"] < HALF}
    rows: list[list[float]] = []
    for sentence, gold, parses in zip(sentences, golds, linked, strict=True):
        some, all_ = right_pairs(gold, no_relations), converted_pairs(gold)
        converted = [one.score(all_) for one in parses]
        own = parses[int(np.argmax(converted))].pairs()
        for given, one, value in zip(sentence.goodness, parses, converted, strict=True):
            rows.append([given, one.score(some, no_types), value, f_score(own, one.pairs())])
    return Goodness(np.array(rows), types, relations)


def matches(best: Iterable[tuple[Linked, Dependencies]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Count correct links by main type, as given and with converted heads, and matched relations."""
    seen: Counter[str] = Counter()
    right: Counter[str] = Counter()
    right_converted: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    met: Counter[str] = Counter()
    for parse, gold in best:
        pairs, converted = right_pairs(gold), converted_pairs(gold)
        for two, names in parse.types.items():
            seen.update(names)
            right.update(names if two in pairs else ())
            right_converted.update(names if two in converted else ())
        for head, word, relation in dependents(gold):
            wanted[relation] += 1
            met[relation] += pair(head, word) in parse.types
    types = [
        {"name": name, "links": n, "share": right[name] / n, "converted": right_converted[name] / n}
        for name, n in seen.most_common()
    ]
    return types, [{"name": name, "links": n, "share": met[name] / n} for name, n in wanted.most_common()]


def _gold(sentence: ParsedSentence) -> Dependencies:
    if sentence.gold is None:
        raise ValueError(f"The sentence has no gold parse: {sentence.text}")
    return sentence.gold
