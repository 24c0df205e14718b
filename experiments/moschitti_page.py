"""The page and the picture of Moschitti's experiment, the paper's figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments import moschitti_time, report
from experiments.moschitti_data import FORMS, PAIRS

PAPER = {"linear": "87.6", "ST": "84.6", "SST": "87.7", "PT": "86.7", "linear + SST": "2 to 3 above linear"}
"""Accuracies on PropBank with gold trees, as printed, from 122,774 training arguments."""
PAPER_BEST = {"ST": "lam 1", "SST": "lam 0.4", "PT": "lam 0.8, mu 0.4"}
MARKERS = "osD^vP*"


def page(results: dict[str, Any]) -> str:
    """The results as a Markdown page."""
    first = results["corpora"]["wsj"]
    forms = "; ".join(f"*{name}*, {text}" for name, text in FORMS.items())
    quick = " **Quick run: few arguments, one setting a kernel.**" if results["quick"] else ""
    parts = [
        "# Roles of arguments with flat features and tree kernels",
        report.made_by(results),
        "Moschitti (2006) asks which role an argument of a verb has (ARG0 to ARG5, and ARGM as one), given gold trees. "
        "Support vector machines, one role against the rest. The paper's figures are from the whole of PropBank, 122,774 "
        f"training arguments; here it is the Wall Street Journal sample of the Penn Treebank, {first['train']:,}, with the "
        "labels of PropBank's later unified release. Training and test parts have no document and no sentence in "
        "common. Arguments that continue others or refer to them, or are no constituents, are left out." + quick,
        "*linear* has the standard flat features, each for itself, *linear with pairs* also what is often joined by hand "
        f"(the verb's lemma with each of: {', '.join(PAIRS)}; voice with position and path). All kernels are normalised. "
        f"Forms of trees, of which each row has its own: {forms}.",
        f"Forms, kernel parameters, weights and C were chosen one after the other, by cross-validation over whole documents "
        f"on {first['choosing']:,} of the training arguments; a run uses no test argument to choose by. MASC, documents of "
        "the Wall Street Journal left out, is a second test of the same settings: nothing was chosen on it.",
    ]
    for corpus, title in (("wsj", "Wall Street Journal sample"), ("masc", "MASC")):
        parts += [f"## {title}", *_corpus(results["corpora"][corpus], results, corpus == "wsj")]
    curve = results["learning_curve"]
    names = [name for name in curve if name != "sizes"]
    parts += [
        "## Learning curve",
        "Test accuracy on the Wall Street Journal sample against training arguments, settings as above (the paper's figure 5).",
        report.table(
            ("arguments", *names),
            [(f"{size:,}", *(f"{curve[name][k]:.1f}" for name in names)) for k, size in enumerate(curve["sizes"])],
            right=range(1 + len(names)),
        ),
        "![learning curve and time](moschitti.png)",
        *_time(results["time"]),
    ]
    return "\n\n".join(parts) + "\n"


def _corpus(found: dict[str, Any], results: dict[str, Any], paper: bool) -> list[str]:
    error = 100 * np.sqrt(0.85 * 0.15 / found["test"])
    rows = [
        (
            r["kernel"],
            f"{r['accuracy']:.1f}",
            *((results["paper"].get(r["kernel"], ""), f"{r['cross_validation']:.2f}") if paper else ()),
            f"`{r['chosen']}`, C={r['C']:g}",
            results["paper_best"].get(r["kernel"], ""),
        )[: None if paper else 3]
        for r in found["rows"]
    ]
    header = ("kernel", "test accuracy", "paper", "cross-validation", "chosen", "paper's best") if paper else ()
    tests = [
        (
            t["a"],
            t["b"],
            f"{t['difference']:+.1f}",
            t["only_a"],
            t["only_b"],
            report.p_value(t["p_mcnemar"]),
        )
        for t in found["significance"]
    ]
    return [
        f"{found['train']:,} training and {found['test']:,} test arguments, of {found['documents'][0]} and "
        f"{found['documents'][1]} documents. {found['majority']:.1f} % of the test arguments have the most frequent "
        f"role. A test accuracy has a standard error of about {error:.1f} points.",
        report.table(header or ("kernel", "test accuracy", "settings"), rows, right=(1, 2, 3) if paper else (1,)),
        "Which differences are more than chance? McNemar's test on the same test arguments, two-sided; it takes arguments as "
        "independent of each other, which those of one sentence are not quite.",
        report.table(
            ("first", "second", "difference", "only first right", "only second right", "p"), tests, right=(2, 3, 4, 5)
        ),
    ]


def _time(times: dict[str, Any]) -> list[str]:
    kinds = list(moschitti_time.KINDS)
    columns = [f"{kind} {how}" for how in ("matrix", "single", "naive") for kind in kinds]
    alike = ["one production", "one label"]
    slopes = times["slopes"]
    return [
        "## Time against size",
        f"CPU time in microseconds a pair of trees, on one core, {times['trees']} trees of exactly n nodes, words counted, "
        "for each n (the paper's figure 4): constituents with all below them, drawn at random from the sentences of both corpora. "
        f"*matrix*: all {times['pairs']:,} pairs at once, where work on equal subtrees is shared, best of five. *single*: our "
        f"kernels called for one pair after another, {times['naive_pairs']} random pairs; what a call costs whatever the tree is "
        "in it. *naive*: the recursion over all pairs of nodes, in plain Python, on the same pairs; only its growth can be compared, "
        "and its values were seen to equal ours. The last two columns say how many pairs of nodes have one "
        "production or one label in two trees, on average.",
        report.table(
            ("nodes", *columns, *alike),
            [
                (
                    p["nodes"],
                    *(f"{p[name]:.{0 if 'naive' in name or 'single' in name else 4}f}" for name in columns),
                    *(f"{p[name]:.1f}" for name in alike),
                )
                for p in times["points"]
            ]
            + [("**slope**", *(f"**{slopes[name]:.2f}**" for name in [*columns, *alike]))],
            right=range(1 + len(columns) + len(alike)),
        ),
        "Slopes are those of the logarithms: 1 is linear, 2 quadratic.",
    ]


def picture(results: dict[str, Any], path: Path) -> None:
    """The learning curve and the times as a picture; needs matplotlib."""
    curve, times = results["learning_curve"], results["time"]
    with report.drawn(path, 2, figsize=(12, 4.6)) as (_, (left, right)):
        for name, marker in zip([n for n in curve if n != "sizes"], MARKERS, strict=False):
            left.plot(curve["sizes"], curve[name], marker=marker, markersize=5, label=name)
        left.set(xlabel="training arguments", ylabel="test accuracy, %", title="Roles, Wall Street Journal sample")
        left.grid(alpha=0.3)
        left.legend()
        sizes = [p["nodes"] for p in times["points"]]
        for kind, colour in zip(moschitti_time.KINDS, ("C0", "C1", "C2"), strict=True):
            for how, line, marker in (("naive", "--", "s"), ("single", ":", "^"), ("matrix", "-", "o")):
                name = f"{kind} {how}"
                label = f"{name}, slope {times['slopes'][name]:.2f}"
                values = [p[name] for p in times["points"]]
                right.loglog(sizes, values, line, color=colour, marker=marker, markersize=4, label=label)
        right.set(xlabel="nodes of each tree", ylabel="CPU microseconds a pair", title="Time against size")
        right.set_xticks(sizes, [str(size) for size in sizes])
        right.minorticks_off()
        right.grid(alpha=0.3)
        right.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
