"""All trees that are staged, to learn a grammar from, and the grammar's trees and forests of sentences and of parts of them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from experiments.data import corpus, question_bank, wsj_sample
from treelet.errors import TreeletWarning
from treelet.formats import read_document
from treelet.parsing import PCFG
from treelet.structures import Tree, Treebank

GRAMMAR: dict[str, Any] = {"parent": "tags", "markov": 2}
CRAFT_EVERY = 10  # biomedical text is the most and the strangest

Words = tuple[str, ...]


def masc() -> Treebank:
    """The trees of MASC."""
    return Treebank.from_columns(
        read_document(corpus("masc_srl", "trees.tsv"), "tsv", label_column=0, tree_column=2).trees["tree"]
    )


def craft() -> Treebank:
    """A part of CRAFT."""
    found = read_document(corpus("craft", "trees.clean.tsv"), "tsv", label_column=0, tree_column=2)
    return Treebank.from_columns(found.trees["tree"])[::CRAFT_EVERY]


def treebanks(without: Collection[Words] = (), limit: int | None = None) -> tuple[list[Tree], int]:
    """Trees of the Wall Street Journal sample, MASC, QuestionBank and a part of CRAFT, each sentence of them once.

    Those with the words of sentences that are named stay away; how many did is told, too. With `limit`, only so many.
    """
    found: dict[Words, Tree] = {}
    left = 0
    banks: tuple[Callable[[], Treebank], ...] = (lambda: wsj_sample()[0], masc, question_bank, craft)
    for bank in banks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TreeletWarning)  # six trees of QuestionBank cannot be read
            trees = [tree for tree in bank() if tree is not None]
        for tree in trees:
            words = tuple(tree.words())
            left += words in without
            if words not in without:
                found.setdefault(words, tree)
        if limit is not None and len(found) >= limit:
            break
    return list(found.values())[:limit], left


def anywhere(grammar: PCFG, trees: Iterable[Tree]) -> PCFG:
    """A grammar (with ``parent="tags"``) whose trees may begin with any phrase, as often as these trees have it: for parts of sentences."""
    heads = {rule.head for rule in grammar.rules} - grammar.hidden
    counts: Counter[str] = Counter()
    for tree in trees:
        counts[tree.label] += 1
        counts.update(f"{child.label}^{node.label}" for node in tree.nodes() for child in node.children)
    start = {symbol: float(count) for symbol, count in counts.items() if symbol in heads}
    total = sum(start.values())
    return PCFG(
        grammar.productions(),
        {symbol: count / total for symbol, count in start.items()},
        labels=grammar.labels,
        hidden=grammar.hidden,
        unknown=grammar.unknown,
        fallback=grammar.fallback,
    )


def grammars(sentences: Sequence[Words], trees: int | None = None) -> tuple[PCFG, PCFG, dict[str, int]]:
    """A grammar of sentences and one of phrases, from all treebanks without the sentences that are to be parsed."""
    known, left = treebanks(set(sentences), trees)
    grammar = PCFG.from_treebank(known, **GRAMMAR)
    return grammar, anywhere(grammar, known), {"trees": len(known), "twins": left}
