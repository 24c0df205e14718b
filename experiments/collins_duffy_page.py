"""The page and the picture of Collins & Duffy's experiment, the paper's tables beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import report

PAPER = {
    "pcfg": 74,
    "depth": {1: (73, -1, 4), 2: (79, 20, 6), 3: (80, 23, 3), 4: (79, 21, 4), 5: (79, 19, 4), 6: (78, 18, 3)},
    "scale": {
        0.1: (77, 11, 6), 0.2: (78, 17, 5), 0.3: (79, 20, 4), 0.4: (79, 21, 3), 0.5: (79, 21, 4), 0.6: (79, 22, 4),
        0.7: (79, 21, 4), 0.8: (79, 19, 4), 0.9: (78, 17, 5),
    },
    "test_depth": 80, "test_scale": 80, "two_passes": 81,
}  # fmt: skip
"""Parse score, relative improvement and its deviation, as printed."""


def page(results: dict[str, Any]) -> str:
    """The results as a Markdown page."""
    sizes = results["sizes"]
    real = results["kind"] != "nbest"
    parser = "the PCFG" if real else "the other parser"

    def pm(value: dict[str, float], digits: int = 1) -> str:
        return f"{value['mean']:.{digits}f} ± {value['std']:.{digits}f}"

    def table(name: str, what: str) -> str:
        paper: Any = PAPER[name]
        rows = []
        for key, row in results[name].items():
            theirs = paper.get(int(key) if name == "depth" else float(key))
            printed = (f"{theirs[0]}", f"{theirs[1]} ± {theirs[2]}") if theirs else ("", "")
            rows.append((key, pm(row["score"]), pm(row["improvement"], 0), *printed))
        return report.table((what, "score", "improvement, %", "paper: score", "paper: improvement, %"), rows, right=range(1, 5))  # fmt: skip

    test = results["test"]
    names = {
        "depth": "best depth", "scale": "best scale", "two_passes": "depth 3, two passes", "more": "with log probability", "best": "best of all",
    }  # fmt: skip
    paper_test = {"depth": "80 ± 1", "scale": "80 ± 1", "two_passes": "81 ± 1"}
    parts = [
        "# Reranking parses with the tree kernel (Collins & Duffy 2001)",
        report.made_by(results),
        f"**{results['title']}**; {results['splits']} random splits of {sizes[0]}/{sizes[1]}/{sizes[2]} sentences for training, "
        "development and test (sentences with the same words as one of a later part are left out)."
        + (f" **{results['note']}**" if "note" in results else "")
        + (" **Quick run: small parts, few settings.**" if results["quick"] else "")
        + (
            " The generator was written so that fragments help, and adjusted while looking at how much they do: read these figures as a "
            "check that everything works as in the paper, not as a result about language."
            if results["kind"] == "flights"
            else ""
        ),
        (
            "A PCFG of the training part proposes the 100 best parses of a sentence; for the training sentences themselves, "
            "grammars of nine tenths of the part parse the other tenth. "
            if real
            else ""
        )
        + "The perceptron is trained on 20 random candidates a sentence, the best among them, and chooses among all. Scores are the "
        "paper's parse scores, means and standard deviations over the splits; improvement is the share of the remaining error that "
        "goes.",
        f"On the test parts: {parser} **{results['pcfg']:.1f}** ± {results['deviations']['pcfg']:.1f}, reranked "
        f"**{results['reranked']:.1f}** ± {results['deviations']['reranked']:.1f}, best candidates {results['oracle']:.1f} ± "
        f"{results['deviations']['oracle']:.1f}. Relative improvement **{results['relative_improvement']:.1f} %** ± "
        f"{results['deviations']['relative_improvement']:.1f}.",
        f"## Development: {parser} {pm(results['dev_pcfg'])}" + (" (the paper's PCFG: 74, on ATIS)" if real else ""),
        *(["Maximum depth of fragments, one pass, scale 1:", table("depth", "depth")] if results["depth"] else []),
        "Scale λ, fragments of any depth, one pass:",
        table("scale", "λ"),
        "Not in the paper: the parser's log probability as a feature, and more passes:",
        report.table(
            ("setting", "score", "improvement, %"),
            [(key, pm(row["score"]), pm(row["improvement"], 0)) for key, row in results["more"].items()],
            right=(1, 2),
        ),
        "## Test",
        "Settings chosen on the development part of each split, trained on both parts. p: paired bootstrap against "
        f"{parser}'s first choice, in each split.",
        report.table(
            (
                "chosen",
                "score",
                "improvement, %",
                "paper",
                "splits with p < 0.05",
                "median p",
                "sentences better",
                "worse",
            ),
            [
                (
                    names[key],
                    pm(row["score"]),
                    pm(row["improvement"]),
                    paper_test.get(key, ""),
                    f"{row['significant']} of {results['splits']}",
                    f"{row['median_p']:.4f}",
                    row["better"],
                    row["worse"],
                )
                for key, row in test.items()
            ],
            right=(1, 2, 3, 4, 5, 6, 7),
        ),
        f"Chosen as best of all: {', '.join(sorted(set(test['best']['settings'])))}.",
        "![scores](collins-duffy.png)",
    ]
    if results["model"]:
        parts += [
            "## The compressed model",
            "Candidates of training sentences in the model, what its file takes beside the same trees in brackets, and the time to "
            "score a candidate by the graph (section 5 of the paper) or by the kernel's matrix with all support trees, CPU time "
            "of one thread.",
            report.table(
                ("training sentences", "support trees", "model, bytes", "trees, bytes", "graph, µs", "matrix, µs"),
                [
                    (r["sentences"], f"{r['support']:,}", f"{r['bytes']:,}", f"{r['bytes_of_trees']:,}", f"{r['graph_us']:.1f}", f"{r['matrix_us']:.1f}")
                    for r in results["model"]
                ],
                right=range(6),
            ),
        ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def picture(results: dict[str, Any], path: Path) -> None:
    """Improvement against depth and scale, the paper's beside ours; needs matplotlib."""
    with report.drawn(path, 3, figsize=(12, 3.8), sharey=True) as (figure, all_axes):
        for axes, name, what in zip(all_axes[:2], ("depth", "scale"), ("maximum depth", "scale λ"), strict=True):
            ours, theirs = results[name], PAPER[name]
            x = [float(key) for key in ours]
            mean = [row["improvement"]["mean"] for row in ours.values()]
            deviation = [row["improvement"]["std"] for row in ours.values()]
            axes.errorbar(x, mean, yerr=deviation, marker="o", capsize=3, label=f"here: {results['kind']}")
            paper: NDArray[np.float64] = np.array([(key, value[1], value[2]) for key, value in theirs.items()])  # type: ignore[attr-defined]
            axes.errorbar(
                paper[:, 0], paper[:, 1], yerr=paper[:, 2], marker="s", capsize=3, color="0.6", label="paper: ATIS"
            )
            axes.axhline(0, color="0.8", linewidth=1)
            axes.set(xlabel=what)
            axes.grid(alpha=0.3)
        short = {
            "depth": "depth",
            "scale": "scale",
            "more": "with log\nprobability",
            "best": "best",
            "two_passes": "depth 3,\ntwice",
        }
        test = results["test"]
        bars = all_axes[2].bar(
            range(len(test)),
            [row["improvement"]["mean"] for row in test.values()],
            yerr=[row["improvement"]["std"] for row in test.values()],
            capsize=3,
            color="tab:blue",
            alpha=0.8,
        )
        all_axes[2].set_xticks(range(len(bars)), [short[key] for key in test], fontsize=8)
        all_axes[2].axhline(0, color="0.8", linewidth=1)
        all_axes[2].set(title="test parts, chosen on development", xlabel="")
        all_axes[2].title.set_fontsize(9)
        all_axes[2].grid(alpha=0.3, axis="y")
        for axes in all_axes[:2]:
            axes.set_title("development parts", fontsize=9)
        all_axes[0].set(ylabel="relative improvement, %")
        all_axes[0].legend(fontsize=8)
        figure.suptitle("Improvement over the first choice, mean ± deviation over splits", fontsize=10)
