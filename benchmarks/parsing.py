"""Speed of the parser and of the forest kernel, beside NLTK's parser and the tree kernel in the same minute.

CPU time of one thread. Writes docs/results/parsing-speed.md, .json and .png. Needs the Penn Treebank sample and the ATIS
grammar (TREELET_DATA).
"""

from __future__ import annotations

import argparse
import os
import random
import re
import time
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np

import treelet as tl
from experiments import writing
from experiments.data import corpus, wsj_sample

clock = time.process_time


def atis() -> dict[str, Any]:
    """All 98 sentences, every parse counted."""
    folder = corpus("atis_grammar")
    grammar = tl.PCFG.read_text(folder / "atis.cfg")
    lines = (folder / "atis_sentences.txt").read_text("latin-1").splitlines()
    stated = [(int(m[1]), m[2].split()) for line in lines if (m := re.match(r"\s*(\d+)\s*:\s*(.+)", line))]
    grammar.compiled()
    begin = clock()
    counts = [grammar.forest(words).count_trees() for _, words in stated]
    seconds = clock() - begin
    right = sum(count == want for count, (want, _) in zip(counts, stated, strict=True))
    return {"sentences": len(stated), "right": right, "largest": max(counts), "seconds": seconds}


def speeds(grammar: tl.PCFG, sentences: list[list[str]]) -> dict[str, float]:
    """Milliseconds a sentence: chart, 100 best as trees, pruned forest."""
    compiled = grammar.compiled()
    chart = kbest = forest = 0.0
    for words in sentences:
        t0 = clock()
        made = compiled.chart(words)
        t1 = clock()
        made.forest(8.0, 10**8)
        t2 = clock()
        grammar.parse(words, k=100)
        t3 = clock()
        chart, forest, kbest = chart + t1 - t0, forest + t2 - t1, kbest + t3 - t2
    n = len(sentences)
    return {
        "sentences": n,
        "words": float(np.mean([len(words) for words in sentences])),
        "chart_ms": 1000 * chart / n,
        "kbest_ms": 1000 * kbest / n,
        "forest_ms": 1000 * (chart + forest) / n,
        "forest_ratio": (chart + forest) / chart,
    }


def beside_nltk(bank: tl.Treebank, sentences: list[list[str]], most: int) -> dict[str, Any]:
    """One best parse with the same rules: NLTK's ViterbiParser on short sentences, in the same minute."""
    from nltk import ViterbiParser

    # NLTK knows one start symbol: trees of sentences only
    grammar = tl.PCFG.from_treebank([tree for tree in bank if tree is not None and tree.label == "S"], unknown=None)
    known = [words for words in sentences if all(word in grammar.lexicon for word in words)][:most]
    theirs = ViterbiParser(grammar.to_nltk(), max_time=None)
    grammar.compiled()
    ours_s = theirs_s = 0.0
    agree = 0
    for words in known:
        t0 = clock()
        ours = grammar.parse(words)
        t1 = clock()
        other = next(iter(theirs.parse(words)), None)
        t2 = clock()
        ours_s, theirs_s = ours_s + t1 - t0, theirs_s + t2 - t1
        agree += (not ours and other is None) or (
            other is not None and bool(ours) and abs(ours[0][1] - float(np.log(other.prob()))) < 1e-6 * abs(ours[0][1])
        )
    return {
        "sentences": len(known),
        "words": float(np.mean([len(words) for words in known])),
        "rules": len(grammar.productions()),
        "ours_ms": 1000 * ours_s / len(known),
        "nltk_ms": 1000 * theirs_s / len(known),
        "ratio": theirs_s / ours_s,
        "agree": agree,
    }


def forest_kernel(grammar: tl.PCFG, sentences: list[list[str]]) -> dict[str, Any]:
    """Time a pair of forests against a pair of their best trees, and growth with what matches."""
    kernel, rows = tl.ForestKernel(lam=0.4), []
    whole = grammar.forests(sentences, prune=14.0)
    best = whole.best()
    best.weights()
    begin = clock()
    repeats = 5
    for _ in range(repeats):
        tl.SubsetTree(lam=0.4)(best)
    pairs = len(sentences) * (len(sentences) + 1) / 2
    tree_us = 1e6 * (clock() - begin) / repeats / pairs
    for threshold in (0.0, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0):
        bank = whole.prune(threshold)
        store = bank.columns.store
        production = store.production[store.production >= 0]  # a choice between roots has none
        bank.weights()
        begin = clock()
        kernel(bank)
        seconds = clock() - begin
        rows.append(
            {
                "prune": threshold,
                "nodes": float(np.mean([len(forest.nodes) for forest in bank])),
                "edges": float(np.mean([len(forest.edges) for forest in bank])),
                "trees": float(np.median([float(forest.count_trees()) for forest in bank])),
                "distinct": len(store),
                "us": 1e6 * seconds / pairs,
                "matched": float(np.square(np.bincount(production)).sum()) / len(bank) ** 2,
            }
        )
    x, y = np.log([r["matched"] for r in rows]), np.log([r["us"] for r in rows])
    return {
        "forests": len(sentences),
        "tree_us": tree_us,
        "rows": rows,
        "slope": float(np.polyfit(x[3:], y[3:], 1)[0]),
    }


def page(r: dict[str, Any]) -> str:
    made, kernel = r["made_by"], r["kernel"]
    n, a = r["nltk"], r["atis"]
    return writing.page(
        [
            "# Speed of the parser and of the forest kernel",
            f"{writing.created(made)} Times are CPU times of one thread.",
            "## Parsing",
            "Grammars are estimated from 3,500 trees of the Wall Street Journal sample. Times are milliseconds per sentence. *100 best* includes the chart and the construction of the trees. "
            "*Forest* includes the chart, and is pruned at 8.",
            writing.table(
                ("grammar", "sentences", "words per sentence", "chart, ms", "100 best, ms", "forest, ms", "forest / chart"),
                [
                    (s["name"], s["sentences"], f"{s['words']:.1f}", f"{s['chart_ms']:.2f}", f"{s['kbest_ms']:.2f}", f"{s['forest_ms']:.2f}", f"{s['forest_ratio']:.2f}")
                    for s in r["speeds"]
                ],
                right=range(1, 7),
            ),
            f"**treelet is {n['ratio']:,.0f} times as fast as NLTK's `ViterbiParser`.** With the same {n['rules']:,} rules, on {n['sentences']} sentences of {n['words']:.1f} words on average, "
            f"NLTK takes {n['nltk_ms']:,.0f} ms per sentence for the best parse, and treelet {n['ours_ms']:.2f} ms, measured at the same time. "
            f"The best probability is the same for {n['agree']} of {n['sentences']} sentences.",
            f"With the ATIS grammar (5,517 productions), the number of parses is correct for {a['right']} of {a['sentences']} sentences, "
            f"with up to {a['largest']:,} parses. All forests together take {a['seconds']:.3f} s.",
            "## The forest kernel",
            f"The table has the kernel values of all pairs of {kernel['forests']} forests, of sentences with about 20 words. The subset-tree kernel on their best parses takes "
            f"{kernel['tree_us']:.2f} µs per pair.",
            writing.table(
                ("pruned at", "nodes", "edges", "trees (median)", "distinct sub-forests", "µs per pair", "ratio to trees", "matched edges per pair of forests"),
                [
                    (f"{k['prune']:g}", f"{k['nodes']:.0f}", f"{k['edges']:.0f}", f"{k['trees']:.3g}", f"{k['distinct']:,}", f"{k['us']:.1f}", f"{k['us'] / kernel['tree_us']:.1f}x", f"{k['matched']:.0f}")
                    for k in kernel["rows"]
                ],
                right=range(8),
            ),
            f"From threshold 4 on, the time grows with the number of matched pairs to the power {kernel['slope']:.2f}, which is nearly linear.",
            "![forest kernel](parsing-speed.png)",
        ]
    )  # fmt: skip


def picture(r: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    rows = r["kernel"]["rows"]
    figure, axes = plt.subplots(figsize=(6, 4))
    x = [k["matched"] for k in rows]
    axes.loglog(x, [k["us"] for k in rows], "o-", label="forest kernel")
    for k in rows:
        axes.annotate(
            f"{k['prune']:g}", (k["matched"], k["us"]), textcoords="offset points", xytext=(4, -10), fontsize=7
        )
    scale = rows[-1]["us"] / rows[-1]["matched"]
    axes.loglog(x, [v * scale for v in x], ":", color="0.5", label="linear")
    axes.axhline(r["kernel"]["tree_us"], color="tab:green", linewidth=1, label="subset trees on the best parses")
    axes.set(xlabel="matched pairs of edges, a pair of forests", ylabel="µs a pair", title="Forests pruned at 0 ... 14")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    bank, _ = wsj_sample()
    train, test = bank[:3500], [tree.words() for tree in bank[3500:] if tree is not None]
    random.Random(0).shuffle(test)
    few = 5 if arguments.quick else 10**9
    lengths = {"about 13 words": (12, 14), "about 25 words": (24, 26), "40 words or fewer": (1, 40)}
    results: dict[str, Any] = {"atis": atis(), "speeds": []}
    for name, options in {"plain": {}, "parent, markov=2": {"parent": True, "markov": 2}}.items():
        grammar = tl.PCFG.from_treebank(train, **options)
        for what, (low, high) in lengths.items():
            some = [words for words in test if low <= len(words) <= high][:few]
            results["speeds"].append({"name": f"{name}: {what}", **speeds(grammar, some)})
            print(results["speeds"][-1])
    twenty = [words for words in test if 18 <= len(words) <= 22][: min(few, 60)]
    results["kernel"] = forest_kernel(tl.PCFG.from_treebank(train, parent=True, markov=2), twenty)
    short = [words for words in test if 4 <= len(words) <= 8]
    results["nltk"] = beside_nltk(train, short, 2 if arguments.quick else 10)
    results["made_by"] = writing.provenance("python -m benchmarks.parsing" + (" --quick" if arguments.quick else ""))
    text = page(results)
    print(text)
    if not arguments.quick:
        writing.write_results(writing.RESULTS, "parsing-speed", results, text)
        picture(results, writing.RESULTS / "parsing-speed.png")


if __name__ == "__main__":
    main()
