"""Sentences with two entities as trees and as forests: from lists of parses, or from a grammar that parses the sentence or the span."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.data import apart_from, semeval2010
from experiments.forest_treebanks import grammars
from treelet.cuts import enclosed_forest, entity_features, indicators, minimal_complete_tree, path_enclosed_tree
from treelet.kernels import ForestKernel, Kernel, Linear, On, SubsetTree
from treelet.parsing import PCFG
from treelet.structures import Forest, ForestBank, Table, Tree, Treebank
from treelet.structures.instances import RelationInstance
from treelet.structures.spans import Span
from treelet.tasks import composite

Labels = NDArray[np.str_]
Rows = NDArray[np.intp]

ALIKE = 1e6  # a temperature at which all parses count alike
BOUND = 5.0  # forests of the grammar hold what is so near to the best parse; beyond 8 nothing is parsed
DEGREES = {"linear": 1, "polynomial": 2}
CUTS: dict[str, Callable[..., Tree]] = {"tree": path_enclosed_tree, "MCT": minimal_complete_tree}


class Parsed(NamedTuple):
    """The parses of a sentence or of a part of it, for a temperature as a forest, and where its entities are there."""

    best: Tree
    forest: Callable[[float], Forest]
    e1: Span
    e2: Span


def of_lists(instances: Iterable[RelationInstance]) -> list[Parsed]:
    """The parses that come with the sentences."""

    def parsed(one: RelationInstance) -> Parsed:
        return Parsed(one.nbest[0].tree, lambda T: Forest.from_nbest(one.nbest, temperature=T), one.e1, one.e2)

    return [parsed(one) for one in instances]


def between(one: RelationInstance) -> Span:
    """From the entity that begins first to the one that ends last."""
    return min(one.e1[0], one.e2[0]), max(one.e1[1], one.e2[1])


def of_grammar(instances: Sequence[RelationInstance], grammar: PCFG, *, span: bool, n_jobs: int) -> list[Parsed]:
    """The grammar's parses of the sentences, or with `span` of the words from entity to entity alone."""
    parts = [between(one) if span else (0, len(one.words)) for one in instances]
    sentences = [list(one.words[begin:end]) for one, (begin, end) in zip(instances, parts, strict=True)]
    out = []
    for one, (begin, _), found in zip(instances, parts, grammar.forests(sentences, n_jobs=n_jobs), strict=True):
        if found is None:
            raise ValueError(f"Sentence {one.sent} has no parse.")
        forest = found.prune(BOUND)
        e1, e2 = ((entity[0] - begin, entity[1] - begin) for entity in (one.e1, one.e2))
        out.append(Parsed(forest.best()[0], _tempered(forest), e1, e2))
    return out


def _tempered(forest: Forest) -> Callable[[float], Forest]:
    return lambda temperature: forest if temperature == 1 else forest.temperature(temperature)


class Sentences:
    """Training sentences, then test sentences; their tables are made when they are wanted, and kept."""

    def __init__(self, train: Sequence[RelationInstance], test: Sequence[RelationInstance]) -> None:
        self.all = [*train, *test]
        self.train, self.test = np.arange(len(train)), np.arange(len(train), len(self.all))
        self.labels: Labels = np.array([str(one.label) for one in self.all])
        self.sources = {"lists": of_lists(self.all)}
        self.twins = 0
        self._tables: dict[tuple[Any, ...], Table] = {}

    @classmethod
    def read(
        cls, parses: int, rng: np.random.Generator, train: int | None = None, test: int | None = None
    ) -> Sentences:
        """The official parts, or some of them, without training sentences that have the words of test sentences."""
        tested = semeval2010("test", nbest=parses)[:test]
        given = semeval2010("train", nbest=parses)
        own, others = ([tuple(one.words) for one in side] for side in (given, tested))
        kept = [given[k] for k in apart_from(others, range(len(given)), own)]
        if train is not None:
            kept = [kept[k] for k in sorted(rng.permutation(len(kept))[:train])]
        made = cls(kept, tested)
        made.twins = len(given) - len(kept) if train is None else 0
        return made

    def parse(self, *, trees: int | None, n_jobs: int) -> dict[str, int]:
        """Add the parses of our own grammar, of each sentence and of each span. Return the number of trees of the grammar."""
        sentences, phrases, notes = grammars([tuple(one.words) for one in self.all], trees)
        for name, grammar in (("sentence", sentences), ("span", phrases)):
            self.sources[name] = of_grammar(self.all, grammar, span=name == "span", n_jobs=n_jobs)
        return notes

    def table(self, setting: dict[str, Any], rows: Rows) -> Table:
        """Return the input of kernels for some sentences."""
        source, kind, mark, temperature = (setting[name] for name in ("source", "kind", "mark", "temperature"))
        key = (source, kind, mark, temperature if kind == "forest" else 1, len(rows), int(rows.sum()))
        if key not in self._tables:
            parsed = [self.sources[source][row] for row in rows.tolist()]
            columns: dict[str, Any] = {"tree": cut(parsed, kind, mark, temperature)}
            columns["features"] = [indicators(entity_features(one.best, one.e1, one.e2)) for one in parsed]
            self._tables[key] = Table(columns)
        return self._tables[key]

    def forget(self) -> None:
        """Free the tables."""
        self._tables.clear()

    def texts(self, rows: Rows) -> list[str]:
        """For n-grams, see `marked`."""
        return [marked(self.all[row]) for row in rows.tolist()]


def cut(parsed: Sequence[Parsed], kind: str, mark: str, temperature: float) -> Treebank | ForestBank:
    """Return the words between the entities."""
    if kind == "forest":
        return ForestBank([enclosed_forest(one.forest(temperature), one.e1, one.e2, mark=mark) for one in parsed])
    return Treebank([CUTS.get(kind, path_enclosed_tree)(one.best, one.e1, one.e2, mark=mark) for one in parsed])


def marked(one: RelationInstance, around: int = 2) -> str:
    """The words from entity to entity and two on each side; entities stand there with a mark and without.

    >>> marked(RelationInstance(words=("a", "cat", "in", "town", "."), e1=(3, 4), e2=(1, 2), label="Other"))
    'l_a <e2> cat e2_cat in <e1> town e1_town r_.'
    """
    begin, end = between(one)
    out = []
    for place in range(max(0, begin - around), min(len(one.words), end + around)):
        word = one.words[place]
        marks = [name for name, (a, b) in (("e1", one.e1), ("e2", one.e2)) if a <= place < b]
        if marks:
            out += [*(f"<{mark}>" for mark in marks), word, *(f"{mark}_{word}" for mark in marks)]
        else:
            out.append(f"l_{word}" if place < begin else f"r_{word}" if place >= end else word)
    return " ".join(out)


def kernel_of(setting: dict[str, Any]) -> Kernel:
    """The kernel of a setting: of features, of trees or forests alone, or of both."""
    if setting["kind"] == "features":
        return On("features", Linear()).normalized()
    lam, leaves, forest = setting["lam"], setting["leaves"], setting["kind"] == "forest"
    if setting["way"] in DEGREES:
        return composite(setting["alpha"], DEGREES[setting["way"]], lam, forest=forest, leaves=leaves)
    return On("tree", ForestKernel(lam, leaves) if forest else SubsetTree(lam, leaves=leaves)).normalized()
