"""Predicates by document, and their sentences' trees and forests by two parsers: a better one's lists, and our grammar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.documents import thirds
from treelet.datasets.loaders import wsj_sample
from treelet.parsing import PCFG
from treelet.structures import Forest, Tree
from treelet.structures.instances import RoleInstance

PRUNE = 8.0
BOUND, WITHIN = 5.0, 3.0
PARSES = 20
KNIVES = 4
GRAMMAR: dict[str, Any] = {"parent": "tags", "markov": 2}
Key = tuple[str, int]


@dataclass(frozen=True)
class Parts:
    """Predicates by what they are for; no document is in two parts."""

    fit: list[RoleInstance]
    dev: list[RoleInstance]
    test: list[RoleInstance]


def split(instances: Sequence[RoleInstance], seed: int) -> Parts:
    """A fifth of the documents for test, a fifth of the others to choose settings on, the rest to fit to."""
    fit, dev, test = (set(names) for names in thirds([str(one.doc) for one in instances], (0.2, 0.2), seed))
    return Parts(*([one for one in instances if str(one.doc) in names] for names in (fit, dev, test)))


def some(part: list[RoleInstance], size: int, seed: int) -> list[RoleInstance]:
    """At most so many predicates, drawn at random, in their order."""
    order = np.random.default_rng(seed).permutation(len(part))[:size]
    return [part[k] for k in sorted(order)]


def key_of(one: RoleInstance) -> Key:
    """Which sentence."""
    return str(one.doc), int(one.sent or 0)


@dataclass(frozen=True)
class Parser:
    """The best tree of each sentence, and a forest for a temperature.

    Where a parser's forests are large, they are pruned at `bound` before examples are taken from them, and what is
    taken is pruned at `parts`.
    """

    name: str
    best: Callable[[Key], Tree]
    forest: Callable[[Key, float], Forest]
    bound: float | None = None
    parts: float | None = None

    def pruned(self, key: Key, temperature: float) -> Forest:
        """A forest that is not too large to take examples from."""
        if self.bound is None:
            return self.forest(key, temperature)
        forest = self.forest(key, 1.0).prune(self.bound)
        return forest if temperature == 1 else forest.temperature(temperature)


def of_lists(instances: Iterable[RoleInstance]) -> Parser:
    """The parser whose lists come with the predicates."""
    lists = {key_of(one): one.nbest for one in instances}

    def forest(key: Key, temperature: float) -> Forest:
        return Forest.from_nbest(lists[key], temperature=temperature)

    return Parser("lists", lambda key: lists[key][0].tree, forest)


def of_grammar(
    train: Sequence[RoleInstance], test: Sequence[RoleInstance], *, trees: int | None = None, n_jobs: int = 1
) -> Parser:
    """Our own parser. A training sentence is parsed by a grammar that has seen neither its document nor the test's.

    With `trees`, a grammar is learnt from at most so many.
    """
    bank, documents = wsj_sample()
    tests = {str(one.doc) for one in test}
    names = sorted(set(documents) - tests)
    forests: dict[Key, Forest] = {}
    for knife in range(KNIVES + 1):
        away = set(names[knife::KNIVES]) if knife < KNIVES else set()
        known = [tree for tree, name in zip(bank, documents, strict=True) if name not in tests | away]
        grammar = PCFG.from_treebank(known[:trees], **GRAMMAR)
        wanted = {key_of(one): list(one.words) for one in (train if away else test) if not away or one.doc in away}
        found = grammar.forests(list(wanted.values()), prune=PRUNE, n_jobs=n_jobs)
        forests |= {key: forest for key, forest in zip(wanted, found, strict=True) if forest is not None}

    def forest(key: Key, temperature: float) -> Forest:
        return forests[key] if temperature == 1 else forests[key].temperature(temperature)

    return Parser("grammar", lambda key: forests[key].best()[0], forest, BOUND, WITHIN)
