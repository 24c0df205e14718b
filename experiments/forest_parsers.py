"""Predicates by document, and their sentences' trees and forests by two parsers: a better one's lists, and our grammar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.data import apart_from, propbank, wsj_sample
from experiments.data import parser_training_sentences as learnt_by_the_parser
from experiments.documents import balanced_folds
from experiments.forest_treebanks import GRAMMAR
from treelet.parsing import PCFG
from treelet.structures import Forest, Tree
from treelet.structures.instances import RoleInstance

PRUNE = 8.0
BOUND, WITHIN = 5.0, 3.0
Key = tuple[str, int]


def predicates(parses: int) -> tuple[list[RoleInstance], int]:
    """All predicates, and how many are left out: those of sentences from which the parser of the lists has learned in other corpora."""
    given = propbank("wsj", nbest=parses)
    kept = apart_from(learnt_by_the_parser(), range(len(given)), [tuple(one.words) for one in given])
    return [given[k] for k in kept], len(given) - len(kept)


@dataclass(frozen=True)
class Parts:
    """Predicates by what they are for; no document is in two parts."""

    fit: list[RoleInstance]
    dev: list[RoleInstance]
    folds: list[list[RoleInstance]]

    @property
    def all(self) -> list[RoleInstance]:
        return [*self.fit, *self.dev, *(one for fold in self.folds for one in fold)]


def split(instances: Sequence[RoleInstance], folds: int, seed: int) -> Parts:
    """An eighth of the documents to fit to and a twelfth to choose settings on; the others in folds, each to test on once."""
    docs = [str(one.doc) for one in instances]
    names = sorted(set(docs))
    order = [names[k] for k in np.random.default_rng(seed).permutation(len(names))]
    fit, dev = len(names) // 8, len(names) // 8 + len(names) // 12
    place = dict.fromkeys(order[:fit], 0) | dict.fromkeys(order[fit:dev], 1)
    place |= {name: 2 + fold for name, fold in balanced_folds(docs, order[dev:], folds).items()}
    parts: list[list[RoleInstance]] = [[] for _ in range(folds + 2)]
    for one in instances:
        parts[place[str(one.doc)]].append(one)
    return Parts(parts[0], parts[1], parts[2:])


def some(part: Sequence[RoleInstance], size: int | None, seed: int) -> list[RoleInstance]:
    """At most so many predicates, drawn at random, in their order."""
    order = np.random.default_rng(seed).permutation(len(part))[:size]
    return [part[k] for k in sorted(order)]


def key_of(one: RoleInstance) -> Key:
    """Index of the sentence."""
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


def of_grammar(parts: Parts, *, trees: int | None = None, n_jobs: int = 1) -> Parser:
    """Our own parser: each part is parsed by a grammar of the other documents, without twins of its sentences.

    With `trees`, a grammar is learned from at most so many.
    """
    bank, documents = wsj_sample()
    forests: dict[Key, Forest] = {}
    for part in (parts.fit, parts.dev, *parts.folds):
        away = {str(one.doc) for one in part}
        wanted = {key_of(one): list(one.words) for one in part}
        twins = {tuple(words) for words in wanted.values()}
        known = [
            tree
            for tree, name in zip(bank, documents, strict=True)
            if tree is not None and name not in away and tuple(tree.words()) not in twins
        ]
        grammar = PCFG.from_treebank(known[:trees], **GRAMMAR)
        found = grammar.forests(list(wanted.values()), prune=PRUNE, n_jobs=n_jobs)
        forests |= {key: forest for key, forest in zip(wanted, found, strict=True) if forest is not None}

    def forest(key: Key, temperature: float) -> Forest:
        return forests[key] if temperature == 1 else forests[key].temperature(temperature)

    return Parser("grammar", lambda key: forests[key].best()[0], forest, BOUND, WITHIN)
