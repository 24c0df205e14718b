"""The arguments of verbs in Moschitti's experiment: how they are split, their trees in several forms, their features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.documents import drawn_documents, rows_of
from treelet.cuts import TreeIndex, argument_tree, indicators, role_features
from treelet.cuts.roles import ARGUMENT, PREDICATE
from treelet.datasets.roles import propbank
from treelet.structures import Table, Tree, Treebank
from treelet.structures.spans import Span

Rows = NDArray[np.intp]
FORMS = {
    "pruned": "the paths to predicate and argument and all below the argument, both marked",
    "unmarked": "the same without marks",
    "whole": "all below the lowest node above both, both marked",
    "sisters": "pruned, and the labels beside the paths",
    "shallow": "sisters, with only two levels below the argument",
}
"""The trees to choose from."""
PAIRS = ("path", "phrase", "head", "content", "position", "first")
"""Features that are joined with the predicate's lemma in the stronger flat model."""


class Example(NamedTuple):
    """An argument of a verb."""

    sentence: TreeIndex
    predicate: int
    span: Span
    lemma: str
    role: str
    doc: str


def examples(corpus: str) -> list[Example]:
    """The arguments of a corpus that are constituents; all ARGM are one role; no WSJ documents in MASC."""
    found = []
    index: TreeIndex | None = None
    for instance in propbank(corpus, continued=False):
        doc, tree, roleset = instance.doc or "", instance.tree, instance.roleset or ""
        if tree is None or (corpus == "masc" and doc.startswith("wsj_")):
            continue
        if index is None or index.tree is not tree:
            index = TreeIndex(tree)
        for argument in instance.arguments:
            node = index.find(argument.span)
            if node is not None and not index.start[node] <= instance.predicate < index.end[node]:
                role, lemma = argument.label.split("-")[0], roleset.rpartition(".")[0]
                found.append(Example(index, instance.predicate, argument.span, lemma, role, doc))
    return found


def split(
    found: Sequence[Example], *, train: int | None = None, test: int | None = None, seed: int = 0
) -> tuple[Rows, Rows]:
    """Training and test arguments: a quarter of the arguments, in whole documents drawn at random, is for the test.

    A document that would make the test part too large is not drawn. Training sentences whose words are those of a test
    sentence are left out. `train` and `test` are limits; what is left of the training part is drawn at random.
    """
    docs = [e.doc for e in found]
    drawn, rest = drawn_documents(docs, min(len(found) // 4, test or len(found)), seed)
    tested = rows_of(docs, drawn)
    words = {tuple(found[k].sentence.words) for k in tested}
    learnt = [k for k in rows_of(docs, rest) if tuple(found[k].sentence.words) not in words]
    if train is not None and train < len(learnt):  # from all documents: one of MASC's has a quarter of the arguments
        learnt = sorted(np.random.default_rng(seed).choice(learnt, train, replace=False).tolist())
    return np.array(learnt, np.intp), tested


def tree_of(example: Example, form: str) -> Tree:
    """The tree of an argument in one of the `FORMS`."""
    index, predicate, span = example.sentence, example.predicate, example.span
    if form in ("pruned", "unmarked", "whole"):
        return argument_tree(index, predicate, span, pruned=form != "whole", mark=form != "unmarked")
    word, argument = index.word(predicate), index.node_of(span)
    up, down = index.path(word, argument)
    keep = {*up, *down}
    for node in {*up, *down} - {word, argument}:
        keep.update(index.children(node))
    level = [argument]
    for _ in range(2 if form == "shallow" else len(index)):
        level = [child for node in level for child in index.children(node)]
        keep.update(level)
        if not level:
            break
    tag = index.parent[word]
    marks = {tag: index.label(tag) + PREDICATE, argument: index.label(argument) + ARGUMENT}
    return index.rebuilt(up[-1], keep=keep, rename=marks)


def features_of(example: Example, pairs: bool) -> dict[str, float]:
    """The standard features of an argument; with `pairs` also what is often joined by hand."""
    found = role_features(example.sentence, example.predicate, example.span, lemma=example.lemma)
    if pairs:
        joined = {f"lemma, {name}": f"{example.lemma} {found[name]}" for name in PAIRS if name in found}
        turned = f"{found['voice']} {found['position']}"
        found |= joined | {"voice, position": turned, "lemma, voice, position": f"{example.lemma} {turned}"}
        found["voice, path"] = f"{found['voice']} {found['path']}"
    return indicators(found)


def as_table(found: Sequence[Example], forms: Iterable[str] = FORMS) -> Table:
    """Arguments as flat features, without and with pairs, and as trees in several forms."""
    columns: dict[str, Any] = {form: Treebank([tree_of(e, form) for e in found]) for form in forms}
    columns["features"] = [features_of(e, False) for e in found]
    columns["pairs"] = [features_of(e, True) for e in found]
    return Table(columns)
