"""Accuracy of treelet's parser on the Penn Treebank sample: plain and annotated grammars, and the best of 100 parses.

The documents of the sample are assigned to five folds. Grammars are estimated from four folds and parse the sentences of at
most 40 words of the fifth. Annotations of grammars were introduced by Johnson (1998) and Klein & Manning (2003).
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from experiments import Log, writing
from experiments.data import grammar_treebanks, wsj_sample
from experiments.evaluation import compare, count_rows, holm, mean_std, rows_of_documents, score_items, split_items
from experiments.writing import Claim
from treelet.metrics import PARSEVAL, candidate_scores, oracle, parse_score, parseval
from treelet.parsing import PCFG
from treelet.parsing.chart import FALLBACK
from treelet.structures import Tree, Treebank

FOLDS, MAX_WORDS = 5, 40
BEST_UNSPLIT = "parent and tags, markov=2"
BEST_OF_SAMPLE = f"{BEST_UNSPLIT}, splits, smoothing"
MORE_TREEBANKS = f"{BEST_OF_SAMPLE}, more treebanks"
CHOSEN = "chosen on the other folds"
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
COMPARISONS = (
    ("parent", "plain"),
    ("markov=2", "plain"),
    ("parent, markov=2", "parent"),
    ("parent and tags", "parent"),
    ("parent and tags, markov=2", "parent, markov=2"),
    (BEST_OF_SAMPLE, BEST_UNSPLIT),
    (MORE_TREEBANKS, BEST_OF_SAMPLE),
)


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, log: Log = lambda text: None) -> dict[str, Any]:
    """Measure all grammars in five folds of whole documents.

    The best kind of grammar is also estimated from the four folds and other treebanks together. With `quick`, two folds,
    three grammars and 20 sentences per fold.
    """
    bank, docs = wsj_sample()
    words = [tuple(tree.words()) if tree is not None else () for tree in bank]
    names = ["plain", "parent, markov=2"] if quick else list(GRAMMARS)
    scores: list[dict[str, Any]] = []  # per fold and grammar
    items: list[dict[str, Any]] = []
    treebank_sizes: list[int] = []
    for fold, test_docs in enumerate(document_folds(docs, seed)[: 2 if quick else FOLDS]):
        rows = rows_of_documents(docs, test_docs).tolist()
        test = [row for row in rows if 0 < len(words[row]) <= MAX_WORDS][: 20 if quick else None]
        test_words = {words[row] for row in test}
        train = [row for row in range(len(docs)) if docs[row] not in set(test_docs) and words[row] not in test_words]
        gold = [tree for tree in bank[test] if tree is not None]
        measured = {name: _measure(GRAMMARS[name], bank[train], gold, n_jobs) for name in names}
        trees, _ = grammar_treebanks({words[row] for row in rows}, limit=400 if quick else None)
        measured[MORE_TREEBANKS] = _measure(GRAMMARS[BEST_OF_SAMPLE], Treebank(trees), gold, n_jobs)
        treebank_sizes.append(len(trees))
        ids = [f"{docs[row]}/{row}" for row in test]
        counts = {name: result.pop("counts") for name, result in measured.items()}
        items.append(split_items(f"fold {fold}", len(train), ids, counts))
        scores.append(measured)
        log(f"fold {fold}: " + ", ".join(f"{name} {result['f1']:.1f}" for name, result in measured.items()))
    choices = choose_grammars(items)
    for split, choice in zip(items, choices, strict=True):
        split["systems"][CHOSEN] = split["systems"][choice]
    names.append(MORE_TREEBANKS)
    return {
        "rows": [
            {"grammar": name} | {key: mean_std(fold[name][key] for fold in scores) for key in scores[0][name]}
            for name in names
        ],
        "chosen": {"grammars": choices}
        | {
            key: mean_std(fold[choice][key] for fold, choice in zip(scores, choices, strict=True))
            for key in ("f1", "oracle_f1")
        },
        "tests": [compare(items, a, b, "f1") for a, b in COMPARISONS if a in names and b in names],
        "folds": len(items),
        "documents": len(set(docs)),
        "sentences": sum(len(split["ids"]) for split in items),
        "train": int(np.mean([split["train"] for split in items])),
        "more": int(np.mean(treebank_sizes)),
        "items": items,
    }


def document_folds(docs: list[str], seed: int) -> list[list[str]]:
    """Assign documents to five folds at random.

    >>> [len(fold) for fold in document_folds(["a", "a", "b", "c", "d", "e", "f"], seed=0)]
    [2, 1, 1, 1, 1]
    """
    names = sorted(set(docs))
    order = [names[k] for k in np.random.default_rng(seed).permutation(len(names))]
    return [order[k::FOLDS] for k in range(FOLDS)]


def choose_grammars(items: list[dict[str, Any]]) -> list[str]:
    """Return, for each fold, the grammar with the best F1 on the sentences of the other folds."""
    choices = []
    for fold in items:
        others = [other for other in items if other is not fold]
        scores = {
            name: score_items([value for other in others for value in other["systems"][name]], "f1")
            for name in fold["systems"]
        }
        choices.append(max(scores, key=lambda name: scores[name]))
    return choices


def _measure(options: dict[str, Any], train: Treebank, gold: list[Tree], n_jobs: int) -> dict[str, Any]:
    """Estimate a grammar, and return the scores of its parses of the test sentences."""
    grammar = PCFG.from_treebank(train, **options)
    begin = time.perf_counter()
    parses = grammar.parse_all([tree.words() for tree in gold], k=100, n_jobs=n_jobs)
    seconds = time.perf_counter() - begin
    best = parses.trees[np.flatnonzero(np.diff(parses.qid, prepend=-1))]  # the first parse of each sentence
    result = parseval(gold, best)
    return {
        "precision": result.precision,
        "recall": result.recall,
        "f1": result.f1,
        "exact": result.exact_match,
        "tags": result.tagging_accuracy,
        "covered": 100 * float(np.mean([tree is not None and tree.label != FALLBACK for tree in best])),
        "score": parse_score(gold, best),
        "oracle_f1": oracle(candidate_scores(gold, parses.trees, parses.qid, PARSEVAL), parses.qid, "f1").f1,
        "oracle_score": oracle(candidate_scores(gold, parses.trees, parses.qid), parses.qid).parse_score,
        "rules": len(grammar.rules),
        "milliseconds": 1000 * seconds / len(gold),
        "counts": count_rows(result.counts),
    }


# --- Page -----------------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    tests = results["tests"]
    return writing.render(
        "parsing",
        results,
        max_words=MAX_WORDS,
        plain=next(row for row in results["rows"] if row["grammar"] == "plain"),
        chosen_counts=Counter(results["chosen"]["grammars"]),
        split_tests=[test for test in tests if test["b"] == BEST_UNSPLIT],
        tests_with_holm=list(zip(tests, holm([test["p"] for test in tests]), strict=True)),
        claims=claims(results),
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the claims about annotated grammars since Johnson (1998)."""
    tests = {(test["a"], test["b"]): test for test in results["tests"]}
    return [
        Claim(
            f"Other papers: {paper}",
            says,
            "better, on the whole treebank",
            f"{tests[a, b]['difference']:+.2f} F1 ({writing.interval(tests[a, b]['interval'])}), Penn Treebank sample",
            "greater",
            [tests[a, b]],
        )
        for paper, says, a, b in (
            ("Johnson (1998)", "parent annotation of phrases makes a grammar better", "parent", "plain"),
            ("Klein & Manning (2003)", "ignoring distant siblings makes it even better", "parent, markov=2", "parent"),
            ("Klein & Manning (2003)", "parent annotation of tags makes it even better", "parent and tags", "parent"),
        )
        if (a, b) in tests
    ]


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw the F1 of the first choice and of the best of 100 parses of each grammar. Requires matplotlib."""
    rows = results["rows"][::-1]
    with writing.saved_figure(path, figsize=(7, 0.6 + 0.42 * len(rows))) as (_, axes):
        places = np.arange(len(rows))
        for key, color, ink, label in (
            ("oracle_f1", "0.85", "0.3", "best of 100"),
            ("f1", "tab:blue", "white", "first choice"),
        ):
            means, stds = ([row[key][part] for row in rows] for part in ("mean", "std"))
            axes.barh(places, means, color=color, label=label, xerr=stds, ecolor="0.5", capsize=2)
            for place, mean, std in zip(places, means, stds, strict=True):
                axes.text(mean - std - 0.4, float(place), f"{mean:.1f}", va="center", ha="right", color=ink, fontsize=8)
        axes.set_yticks(places, [row["grammar"] for row in rows], fontsize=8)
        axes.set(xlim=(50, 100), xlabel="labeled F1")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8, frameon=False)
