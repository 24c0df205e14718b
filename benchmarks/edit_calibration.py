"""How the cosine of the subset-tree kernel relates to the edit similarity, on pairs of functions and of sentences.

Writes docs/results/edit-calibration.md, .json, .items.json.xz (all points) and .png. Pairs are drawn by their cosine, so that each range of the cosine has points.
"""

from __future__ import annotations

import os
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np

import treelet as tl
from benchmarks.common import LEAST, Results, functions, staged
from experiments import writing
from treelet.edits.distance import tree_sizes

KERNEL, SIMILARITY = tl.SubsetTree(lam=0.4).normalized(), tl.EditDistance().similarity()
BINS = 10
PER_BIN = 300
TREES = 5000
LEAST_OF_SENTENCE, MOST = 20, 500  # nodes
THRESHOLDS = (0.7, 0.8)


def drawn(bank: tl.Treebank, least: int, rng: np.random.Generator) -> tl.Treebank:
    """Return distinct trees whose numbers of nodes are in the range."""
    _, first = np.unique(bank.columns.roots, return_index=True)
    bank = bank[np.sort(first)]
    sizes = tree_sizes(bank)[0]
    bank = bank[np.flatnonzero((sizes >= least) & (sizes <= MOST))]
    return bank[np.sort(rng.permutation(len(bank))[:TREES])].compact()


def measured(name: str, bank: tl.Treebank, rng: np.random.Generator) -> Results:
    cosine = tl.gram(KERNEL, bank, n_jobs=2)
    rows, columns = np.triu_indices(len(bank), 1)
    values = cosine[rows, columns]
    bins = np.minimum((BINS * values).astype(np.int64), BINS - 1)
    table, points = [], []
    for number in range(BINS):
        there = np.flatnonzero(bins == number)
        chosen = rng.permutation(there)[:PER_BIN] if len(there) > PER_BIN else there
        similarity = np.array([SIMILARITY(bank[[rows[k]]], bank[[columns[k]]])[0, 0] for k in chosen])
        shares = {str(threshold): float(np.mean(similarity >= threshold - 1e-12)) if len(chosen) else None for threshold in THRESHOLDS}  # fmt: skip
        quartiles = np.percentile(similarity, [5, 50, 95]).tolist() if len(chosen) else None
        table.append({"from": number / BINS, "to": (number + 1) / BINS, "available": len(there), "pairs": len(chosen), "similarity": quartiles, "shares": shares})  # fmt: skip
        points += [[round(float(values[k]), 4), round(float(s), 4)] for k, s in zip(chosen, similarity, strict=True)]
        print(name, table[-1], flush=True)
    sizes = tree_sizes(bank)[0]
    return {"corpus": name, "trees": len(bank), "nodes": float(np.median(sizes)), "bins": table, "points": points}


def page(results: Results) -> str:
    """Return the results as a Markdown page."""
    parts = results["corpora"]
    return writing.page(
        [
            "# Cosine of a kernel compared with edit similarity",
            f"{writing.created(results['made_by'])} The cosine is the normalized subset-tree kernel (SST) with λ {KERNEL.kernel.lam:g}. The edit similarity is 1 − distance / max(sizes), with unit costs. It is negative if trees have so different shapes that hardly any nodes can be mapped.",
            _conclusion(parts),
            "![edit similarity by cosine](edit-calibration.png)",
            f"There are at most {PER_BIN} random pairs of different trees per range of the cosine, or all pairs if there are fewer. High cosines are so rare that random pairs would hardly ever have them. "
            "The lines of the plot are the median and the 5th and 95th percentile per range.",
            *(text for part in parts for text in _section(part)),
        ]
    )  # fmt: skip


def _section(part: Results) -> list[str]:
    kind = f"functions of Python's standard library ({LEAST} to {MOST} nodes, anonymous identifiers, constants as types, without docstrings)"
    if part["corpus"] != "Python functions":
        kind = f"sentences of the Wall Street Journal sample ({LEAST_OF_SENTENCE} to {MOST} nodes, including words)"
    return [
        f"## {part['corpus']}",
        f"There are {part['trees']:,} distinct {kind}. They have {part['nodes']:.0f} nodes (median).",
        writing.table(
            ("cosine", "pairs in the corpus", "pairs measured", "edit similarity: median", "5 % – 95 %", *(f"share with edit similarity ≥ {t}" for t in THRESHOLDS)),
            [
                (
                    f"{row['from']:.1f} – {row['to']:.1f}", f"{row['available']:,}", row["pairs"],
                    *((f"{row['similarity'][1]:.2f}", f"{row['similarity'][0]:.2f} – {row['similarity'][2]:.2f}") if row["pairs"] else ("", "")),
                    *(f"{100 * row['shares'][str(t)]:.0f} %" if row["pairs"] else "" for t in THRESHOLDS),
                )
                for row in part["bins"]
            ],
            right=range(1, 7),
        ),
    ]  # fmt: skip


def _conclusion(parts: list[Results]) -> str:
    """State in two sentences what the tables show."""
    code, text = (
        [f"{100 * row['shares']['0.7']:.0f} %" if row["pairs"] else "" for row in part["bins"]] for part in parts
    )
    return (
        f"**The same cosine means different things in different corpora, and a small difference may mean much: pairs with an edit similarity of at least 0.7 are {code[7]} of the functions with a cosine from 0.7 to 0.8, {code[8]} "
        f"from 0.8 to 0.9 and {code[9]} above, but {text[5]} of the sentences with a cosine from 0.5 to 0.6, {text[6]} from 0.6 to 0.7 and {text[7]} of the few from 0.7 to 0.8. "
        "Learn from kernels and rank with them, but use edit similarity for thresholds and for numbers that people read.**"
    )


def draw(results: Results, path: Path) -> None:
    with writing.saved_figure(path, columns=2, figsize=(10, 4.4), sharey=True) as (_, both):
        for axes, part in zip(both, results["corpora"], strict=True):
            points = np.array(part["points"])
            axes.scatter(*points.T, s=5, alpha=0.3, color="tab:blue", linewidths=0, rasterized=True)
            rows = [row for row in part["bins"] if row["pairs"]]
            middles = [(row["from"] + row["to"]) / 2 for row in rows]
            for number, style in ((0, "--"), (1, "-"), (2, "--")):
                label = {0: None, 1: "median", 2: "5th and 95th percentile"}[number]
                axes.plot(middles, [row["similarity"][number] for row in rows], style, color="tab:orange", label=label)
            for threshold in THRESHOLDS:
                axes.axhline(threshold, color="gray", linewidth=0.8, linestyle=":")
            axes.set_title(part["corpus"])
            axes.set_xlabel("cosine (normalized SST)")
            axes.set_xlim(0, 1)
            axes.set_ylim(-0.2, 1)
            axes.grid(alpha=0.2)
            axes.legend(fontsize=8, loc="upper left")
        both[0].set_ylabel("edit similarity")


def main() -> None:
    rng = np.random.default_rng(0)
    banks = {"Python functions": drawn(functions(), LEAST, rng), "WSJ sentences": drawn(staged("WSJ"), LEAST_OF_SENTENCE, rng)}  # fmt: skip
    results: Results = {"corpora": [measured(name, bank, rng) for name, bank in banks.items()]}
    results["made_by"] = writing.provenance("python -m benchmarks.edit_calibration")
    draw(results, writing.RESULTS / "edit-calibration.png")
    points = [{"corpus": part["corpus"], "points": part.pop("points")} for part in results["corpora"]]
    text = page(results)
    writing.write_results(writing.RESULTS, "edit-calibration", results, text, points)
    print(text)


if __name__ == "__main__":
    main()
