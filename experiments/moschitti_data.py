"""The arguments of verbs in Moschitti's experiment: how they are split, their trees in several forms, their features and words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.data import apart_from, corpus, propbank, question_bank
from experiments.documents import balanced_folds, drawn_documents, rows_of
from treelet.cuts import TreeIndex, argument_tree, indicators, role_features
from treelet.cuts.roles import ARGUMENT, PREDICATE
from treelet.formats.reading import read_document
from treelet.structures import Table, Tree, Treebank
from treelet.structures.spans import Span

Rows = NDArray[np.intp]
PAPER = "Moschitti (2006)"
FORMS = {
    "pruned": "the paths to predicate and argument, and the subtree of the argument, both marked",
    "unmarked": "as *pruned*, without marks",
    "whole": "the subtree of the lowest node above both, both marked",
    "sisters": "as *pruned*, with the labels next to the paths",
    "shallow": "as *sisters*, with only two levels below the argument",
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
    sent: int = 0
    parsed: TreeIndex | None = None  # the same sentence as a parser sees it

    @property
    def id(self) -> str:
        """Where the argument is: document, sentence, predicate, words."""
        return f"{self.doc}/{self.sent}/{self.predicate}/{self.span[0]}-{self.span[1]}"

    @property
    def words(self) -> tuple[str, ...]:
        """Of the sentence."""
        return tuple(self.sentence.words)


class Split(NamedTuple):
    """Rows to learn from, document by document, and rows to test on."""

    train: Rows
    test: Rows


def examples(corpus: str, *, parsed: bool = False) -> list[Example]:
    """The arguments of a corpus that are constituents; all ARGM are one role; no WSJ documents in MASC.

    With `parsed`, also the best of a parser's trees of each sentence ("wsj" only).
    """
    found = []
    index = automatic = None
    for instance in propbank(corpus, continued=False, nbest=int(parsed)):
        doc, tree, roleset = instance.doc or "", instance.tree, instance.roleset or ""
        if tree is None or (corpus == "masc" and doc.startswith("wsj_")):
            continue
        if index is None or index.tree is not tree:
            index = TreeIndex(tree)
            automatic = TreeIndex(instance.nbest[0].tree) if instance.nbest else None
        for argument in instance.arguments:
            if is_argument(index, instance.predicate, argument.span):
                role, lemma = argument.label.split("-")[0], roleset.rpartition(".")[0]
                found.append(
                    Example(index, instance.predicate, argument.span, lemma, role, doc, instance.sent or 0, automatic)
                )
    return found


def is_argument(index: TreeIndex, predicate: int, span: Span) -> bool:
    """Return whether words are a constituent that does not contain the predicate."""
    node = index.find(span)
    return node is not None and not index.start[node] <= predicate < index.end[node]


def on_parse(example: Example) -> Example | None:
    """The argument in the parser's tree; None where it is no constituent there."""
    parsed = example.parsed
    if parsed is None or not is_argument(parsed, example.predicate, example.span):
        return None
    return example._replace(sentence=parsed)


def learnt_by_the_parser() -> set[tuple[str, ...]]:
    """The words of each sentence of other corpora that the parser has learned from: MASC, all its documents, and QuestionBank."""
    masc = Treebank.from_columns(read_document(corpus("masc_srl", "trees.tsv"), "tsv", label_column=0).trees["tree"])
    return {tuple(tree.words()) for bank in (masc, question_bank()) for tree in bank if tree is not None}


# --- parts ------------------------------------------------------------------------------------------------------


def splits(found: Sequence[Example], *, choosing: int, folds: int, seed: int = 0) -> tuple[Rows, list[Split]]:
    """Rows to choose settings on, in whole documents drawn at random, and a cross-validation over all other documents.

    Sentences to choose on or to learn from that have the words of one that is tested on are left out.
    """
    docs = [e.doc for e in found]
    words = [e.words for e in found]
    drawn, rest = drawn_documents(docs, choosing, seed)
    fold = balanced_folds(docs, rest, folds)
    parts = []
    for number in range(folds):
        test = rows_of(docs, [name for name in rest if fold[name] == number])
        learnt = rows_of(docs, [name for name in rest if fold[name] != number])
        parts.append(Split(apart_from((words[k] for k in test), learnt, words), test))
    tested = (words[k] for part in parts for k in part.test)
    return apart_from(tested, rows_of(docs, drawn), words), parts


def limited(split: Split, *, train: int | None, test: int | None, seed: int = 0) -> Split:
    """At most so many of each, drawn at random from all documents, in their order."""
    rng = np.random.default_rng(seed)

    def some(rows: Rows, number: int | None) -> Rows:
        if number is None or number >= len(rows):
            return rows
        return rows[np.sort(rng.choice(len(rows), number, replace=False))]

    return Split(some(split.train, train), some(split.test, test))


# --- what is seen of an argument ----------------------------------------------------------------------------------


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


def text_of(example: Example) -> str:
    """Return the text of the baseline: the lemma of the verb, the side of the argument, and the words of the argument."""
    begin, end = example.span
    side = "before" if begin < example.predicate else "after"
    return " ".join([f"verb={example.lemma}", f"side={side}", *example.sentence.words[begin:end]])
