"""How well our own parser does on the Penn Treebank sample: plain and annotated grammars, and the best of a hundred."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments import report
from experiments.running import Say
from treelet.datasets.loaders import wsj_sample
from treelet.metrics import PARSEVAL, candidate_scores, oracle, parse_score, parseval
from treelet.parsing import PCFG
from treelet.parsing.chart import FALLBACK
from treelet.structures import Tree

TRAINING = 3500
LONGEST = 40
GRAMMARS: dict[str, dict[str, Any]] = {
    "plain": {},
    "markov=1": {"markov": 1},
    "markov=2": {"markov": 2},
    "parent": {"parent": True},
    "parent, markov=1": {"parent": True, "markov": 1},
    "parent, markov=2": {"parent": True, "markov": 2},
    "parent, markov=3": {"parent": True, "markov": 3},
    "parent and tags": {"parent": "tags"},
    "parent and tags, markov=2": {"parent": "tags", "markov": 2},
    "parent and tags, markov=3": {"parent": "tags", "markov": 3},
}


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, say: Say = lambda text: None) -> dict[str, Any]:
    """Train on the first 3,500 trees, parse the sentences of at most 40 words of the rest.

    With `quick`, only two grammars and 40 sentences. Nothing is random; `seed` is not used.
    """
    bank, _ = wsj_sample()
    gold = [tree for tree in bank[TRAINING:] if tree is not None and len(tree.words()) <= LONGEST]
    names = list(GRAMMARS)
    if quick:
        gold, names = gold[:40], ["plain", "parent, markov=2"]
    sentences = [tree.words() for tree in gold]
    say(f"{TRAINING} training trees, {len(gold)} test sentences of {np.mean([len(s) for s in sentences]):.1f} words")
    rows = []
    for name in names:
        begin = time.perf_counter()
        grammar = PCFG.from_treebank(bank[:TRAINING], **GRAMMARS[name])
        trained = time.perf_counter()
        rows.append(_measured(name, grammar, gold, sentences, n_jobs, trained - begin))
        say(f"{name}: F1 {rows[-1]['f1']:.2f}, best of 100 {rows[-1]['oracle_f1']:.2f}")
    return {
        "rows": rows,
        "sentences": len(gold),
    }


def _measured(
    name: str, grammar: PCFG, gold: list[Tree], sentences: list[list[str]], n_jobs: int, training: float
) -> dict[str, Any]:
    begin = time.perf_counter()
    found = grammar.parse_all(sentences, k=100, n_jobs=n_jobs)
    seconds = time.perf_counter() - begin
    first = np.flatnonzero(np.diff(found.qid, prepend=-1))
    best = found.trees[first]
    result = parseval(gold, best)
    brackets = candidate_scores(gold, found.trees, found.qid, PARSEVAL)
    plain = candidate_scores(gold, found.trees, found.qid)
    return {
        "grammar": name,
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
        "training_seconds": training,
    }


def page(results: dict[str, Any]) -> str:
    """The results as a Markdown page."""
    header = (
        "grammar", "rules", "P", "R", "F1", "exact", "tags", "parsed", "parse score", "best of 100: F1", "best of 100: parse score", "ms a sentence",
    )  # fmt: skip
    rows = [
        (
            r["grammar"],
            f"{r['rules']:,}",
            *(f"{r[k]:.2f}" for k in ("precision", "recall", "f1", "exact", "tags")),
            f"{r['covered']:.1f} %",
            *(f"{r[k]:.2f}" for k in ("score", "oracle_f1", "oracle_score")),
            f"{r['milliseconds']:.0f}",
        )
        for r in results["rows"]
    ]
    parts = [
        "# Parsing the Penn Treebank sample",
        report.made_by(results),
        f"Grammars from the first {TRAINING:,} trees of the Wall Street Journal sample; {results['sentences']} sentences of "
        f"at most {LONGEST} words of the rest, with their words only (tags are guessed too). P, R and F1 are labelled PARSEVAL; "
        "the parse score is that of Collins & Duffy (2001), punctuation included. A sentence without a parse gets pieces "
        'under a FALLBACK root, so that every sentence has an answer; "parsed" counts the others. '
        "Exact search, 100 best parses a sentence; time is wall time with all of them."
        + (" **Quick run.**" if results["quick"] else ""),
        report.table(header, rows, right=range(1, 12)),
        "![F1](parsing.png)",
        "The settings were not chosen on other data than these sentences: read the table as a comparison, not as a record.",
    ]
    return "\n\n".join(parts) + "\n"


def picture(results: dict[str, Any], path: Path) -> None:
    """F1 of each grammar's first choice and best of a hundred; needs matplotlib."""
    rows = results["rows"][::-1]
    with report.drawn(path, figsize=(7, 0.6 + 0.42 * len(rows))) as (_, axes):
        places = np.arange(len(rows))
        axes.barh(places, [r["oracle_f1"] for r in rows], color="0.85", label="best of 100")
        axes.barh(places, [r["f1"] for r in rows], color="tab:blue", label="first choice")
        for place, r in zip(places, rows, strict=True):
            axes.text(r["f1"] - 0.3, float(place), f"{r['f1']:.1f}", va="center", ha="right", color="white", fontsize=8)
            axes.text(
                r["oracle_f1"] - 0.3,
                float(place),
                f"{r['oracle_f1']:.1f}",
                va="center",
                ha="right",
                color="0.3",
                fontsize=8,
            )
        axes.set_yticks(places, [r["grammar"] for r in rows], fontsize=8)
        axes.set(xlim=(50, 100), xlabel="labelled F1")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8, frameon=False)
