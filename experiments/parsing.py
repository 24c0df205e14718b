"""Accuracy of treelet's parser on the Penn Treebank sample: plain and annotated grammars, and the best of 100 parses."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from experiments.data import wsj_sample
from experiments.differences import across, counted, figure, part, spread
from experiments.documents import rows_of
from experiments.forest_treebanks import treebanks
from experiments.running import Say
from treelet.metrics import PARSEVAL, candidate_scores, oracle, parse_score, parseval
from treelet.parsing import PCFG
from treelet.parsing.chart import FALLBACK
from treelet.structures import Tree, Treebank

FOLDS, LONGEST = 5, 40
BEST_UNSPLIT = "parent and tags, markov=2"
BEST_OF_SAMPLE = f"{BEST_UNSPLIT}, splits, smoothing"
MORE = f"{BEST_OF_SAMPLE}, more treebanks"
GRAMMARS: dict[str, dict[str, Any]] = {
    "plain": {},
    "markov=1": {"markov": 1},
    "markov=2": {"markov": 2},
    "parent": {"parent": True},
    "parent, markov=1": {"parent": True, "markov": 1},
    "parent, markov=2": {"parent": True, "markov": 2},
    "parent, markov=3": {"parent": True, "markov": 3},
    "parent and tags": {"parent": "tags"},
    "parent and tags, markov=1": {"parent": "tags", "markov": 1},
    "parent and tags, markov=2": {"parent": "tags", "markov": 2},
    "parent and tags, markov=3": {"parent": "tags", "markov": 3},
    "parent and tags, markov=2, smoothing": {"parent": "tags", "markov": 2, "smoothing": 1},
    "parent and tags, markov=2, splits": {"parent": "tags", "markov": 2, "split": "penn"},
    BEST_OF_SAMPLE: {"parent": "tags", "markov": 2, "split": "penn", "smoothing": 1},
}
PAIRS = (
    ("parent", "plain"),
    ("markov=2", "plain"),
    ("parent, markov=2", "parent"),
    ("parent and tags", "parent"),
    ("parent and tags, markov=2", "parent, markov=2"),
    (BEST_OF_SAMPLE, BEST_UNSPLIT),
    (MORE, BEST_OF_SAMPLE),
)
SPREAD = ("precision", "recall", "f1", "exact", "tags", "covered", "score", "oracle_f1", "oracle_score", "rules", "milliseconds")  # fmt: skip
CHOSEN = "chosen on the other folds"


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, say: Say = lambda text: None) -> dict[str, Any]:
    """Five folds of whole documents: grammars from four of them, sentences of at most 40 words of the fifth.

    The best kind of grammar is also estimated from the four folds and other treebanks together. With `quick`, two folds,
    three grammars and 20 sentences per fold.
    """
    bank, docs = wsj_sample()
    words = [tuple(tree.words()) if tree is not None else () for tree in bank]
    names = ["plain", "parent, markov=2"] if quick else list(GRAMMARS)
    found: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []
    more: list[int] = []
    for fold, tests in enumerate(folds_of(docs, seed)[: 2 if quick else FOLDS]):
        fitting = [row for row in rows_of(docs, tests).tolist() if 0 < len(words[row]) <= LONGEST]
        test = fitting[: 20 if quick else None]
        hidden = {words[row] for row in test}
        train = [row for row in range(len(docs)) if docs[row] not in set(tests) and words[row] not in hidden]
        gold = [tree for tree in bank[test] if tree is not None]
        measured = {name: _measured(GRAMMARS[name], bank[train], gold, n_jobs) for name in names}
        trees, _ = treebanks({words[row] for row in rows_of(docs, tests)}, limit=400 if quick else None)
        measured[MORE] = _measured(GRAMMARS[BEST_OF_SAMPLE], Treebank(trees), gold, n_jobs)
        more.append(len(trees))
        ids = [f"{docs[row]}/{row}" for row in test]
        items.append(part(f"fold {fold}", len(train), ids, {name: one.pop("counts") for name, one in measured.items()}))
        found.append(measured)
        say(f"fold {fold}: " + ", ".join(f"{name} {one['f1']:.1f}" for name, one in measured.items()))
    choices = chosen(items)
    for one, choice in zip(items, choices, strict=True):
        one["systems"][CHOSEN] = one["systems"][choice]
    names.append(MORE)
    return {
        "rows": [{"grammar": name} | {key: spread(one[name][key] for one in found) for key in SPREAD} for name in names],
        "chosen": {"grammars": choices} | {key: spread(one[c][key] for one, c in zip(found, choices, strict=True)) for key in ("f1", "oracle_f1")},
        "tests": [across(items, a, b, "f1") for a, b in PAIRS if a in names and b in names],
        "folds": len(items),
        "documents": len(set(docs)),
        "sentences": sum(len(one["ids"]) for one in items),
        "train": int(np.mean([one["train"] for one in items])),
        "more": int(np.mean(more)),
        "items": items,
    }  # fmt: skip


def folds_of(docs: list[str], seed: int) -> list[list[str]]:
    """Documents at random, in five.

    >>> [len(fold) for fold in folds_of(["a", "a", "b", "c", "d", "e", "f"], seed=0)]
    [2, 1, 1, 1, 1]
    """
    names = sorted(set(docs))
    order = [names[k] for k in np.random.default_rng(seed).permutation(len(names))]
    return [order[k::FOLDS] for k in range(FOLDS)]


def chosen(items: list[dict[str, Any]]) -> list[str]:
    """For each fold, the grammar with the best F1 on the sentences of the others."""
    found = []
    for one in items:
        others = [other for other in items if other is not one]
        scores = {
            name: figure([value for other in others for value in other["systems"][name]], "f1")
            for name in one["systems"]
        }
        found.append(max(scores, key=lambda name: scores[name]))
    return found


def _measured(options: dict[str, Any], train: Treebank, gold: list[Tree], n_jobs: int) -> dict[str, Any]:
    grammar = PCFG.from_treebank(train, **options)
    begin = time.perf_counter()
    found = grammar.parse_all([tree.words() for tree in gold], k=100, n_jobs=n_jobs)
    seconds = time.perf_counter() - begin
    best = found.trees[np.flatnonzero(np.diff(found.qid, prepend=-1))]
    result = parseval(gold, best)
    brackets = candidate_scores(gold, found.trees, found.qid, PARSEVAL)
    plain = candidate_scores(gold, found.trees, found.qid)
    return {
        "rules": len(grammar.rules),
        "precision": result.precision,
        "recall": result.recall,
        "f1": result.f1,
        "exact": result.exact_match,
        "tags": result.tagging_accuracy,
        "covered": 100 * float(np.mean([tree is not None and tree.label != FALLBACK for tree in best])),
        "score": parse_score(gold, best),
        "oracle_f1": oracle(brackets, found.qid, "f1").f1,
        "oracle_score": oracle(plain, found.qid).parse_score,
        "milliseconds": 1000 * seconds / len(gold),
        "counts": counted(result.counts),
    }
