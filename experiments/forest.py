"""The forest kernel of Zhang, Zhang & Li (2010) in its two applications: relations, and semantic roles.

Trees and forests of the same sentences, with the same kernels and learners. All settings are chosen on training data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments import report
from experiments.forest_relations import FOLDS, SAME_C, relations
from experiments.forest_roles import roles
from experiments.running import Say

PARSERS = {"lists": "the 20 best of a lexicalised parser", "grammar": "our own grammar"}


def run(
    *, quick: bool = False, full: bool = False, n_jobs: int = 1, seed: int = 0, say: Say = lambda text: None
) -> dict[str, Any]:
    """Both applications; what was found, ready for JSON.

    With `quick`, some hundred sentences and predicates and one setting a row; with `full`, all training predicates.
    """
    return {
        "relations": relations(quick=quick, n_jobs=n_jobs, seed=seed, say=say),
        "roles": roles(quick=quick, full=full, n_jobs=n_jobs, seed=seed, say=say),
    }


# --- the page -----------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    """The results as a Markdown page."""
    parts = [
        "# The forest kernel: relations and semantic roles",
        report.made_by(results),
        "Zhang, Zhang & Li (2010) compare sentences by all their parses at once, in packed forests, and report gains over "
        "the best tree alone in both tasks. Here are both tasks on data that can be had, with the same kernel and the same "
        "learner for trees and forests. The papers' figures stand beside ours for the direction and the size of the "
        "difference: corpora and parsers differ."
        + (" **Quick run: few examples, few parses, one setting a row.**" if results["quick"] else ""),
        _short(results),
        "![F1 of trees and forests](forest.png)",
        *_relations(results["relations"]),
        *_roles(results["roles"]),
    ]
    return "\n\n".join(parts) + "\n"


def _short(results: dict[str, Any]) -> str:
    """The differences in one table, the paper's first."""
    rows = [
        ("relations", "paper, ACE 2004", "+1.10", "0.05 (χ²)"),
        ("roles", "paper, CoNLL-2005", "+2.32", "0.01 (χ²)"),
    ]
    for test in results["relations"]["tests"]:
        what = "" if test["a"] == "forest" else f", {test['a'].partition(',')[0]} with features"
        what += SAME_C.replace("as with", "of both that of") if test["b"].endswith(SAME_C) else ""
        rows.append(
            ("relations", f"SemEval-2010{what}", f"{test['difference']:+.2f}", report.p_value(test["p_bootstrap"]))
        )
    for name, parser in results["roles"]["parsers"].items():
        for kind, test in parser["tests"].items():
            what = PARSERS[name] + (", with probabilities" if kind != "forest" else "")
            rows.append(("roles", what, f"{test['f1']['difference']:+.2f}", report.p_value(test["f1"]["p_bootstrap"])))
    return "F1 of forests minus F1 of trees:\n\n" + report.table(("task", "", "difference", "p"), rows, right=(2, 3))


def _relations(found: dict[str, Any]) -> list[str]:
    rows = [
        (
            row["name"],
            *(f"{row[key]:.2f}" for key in ("precision", "recall", "f1", "accuracy", "cross_validation")),
            f"`{row['kernel']}`, C={row['C']:g}"
            + (f", temperature {row['temperature']}" if row["temperature"] else ""),
        )
        for row in found["rows"]
    ]
    tests = [
        (
            f"{test['a']} − {test['b']}",
            f"{test['difference']:+.2f}",
            f"{test['interval'][0]:+.2f} to {test['interval'][1]:+.2f}",
            report.p_value(test["p_bootstrap"]),
            f"{test['only_a']} : {test['only_b']}",
            report.p_value(test["p_mcnemar"]),
        )
        for test in found["tests"]
    ]
    curve = found["curve"]
    return [
        "## Relations",
        f"SemEval-2010 task 8, the official split: {found['train']:,} training and {found['test']:,} test sentences, nine "
        "relations with direction, and Other. P, R and F1 are the official means over the nine relations. Path-enclosed "
        "trees of the best parse, or path-enclosed forests of the ten best; entities are marked. One support vector "
        "machine a label. *Linear* and *polynomial* are the composite kernels of Zhang et al. (2006): features of the "
        "entities, with or without their pairs, and tree or forest. lam, C, marks, weights and temperature were chosen by "
        f"{FOLDS}-fold cross-validation on {found['chosen_on']:,} training sentences; a run chooses nothing on test sentences. Where "
        "another C was chosen for the forest than for the tree, the tree has a second row with the forest's C, to see what "
        "of the difference is due to that.",
        report.table(
            ("kernel on", "P", "R", "F1", "accuracy", "F1, cross-validation", "chosen on the training sentences"),
            rows,
            right=range(1, 6),
        ),
        _paper(found["paper"], "relations of ACE 2004"),
        "Forest against tree on the test sentences: the difference in F1 with a 95 % interval and p from 10,000 paired "
        "bootstrap samples, and McNemar's test of right labels (right with the first only : with the second only).",
        report.table(
            ("", "difference in F1", "95 % interval", "p", "right with one only", "McNemar's p"),
            tests,
            right=range(1, 6),
        ),
        "What each change did, in cross-validation (best lam and C of each):",
        report.table(
            ("", "F1", "accuracy", "lam", "C"),
            [
                (s["what"], f"{s['f1']:.2f}", f"{s['accuracy']:.2f}", f"{s['lam']:g}", f"{s['C']:g}")
                for s in found["steps"]
            ],
            right=range(1, 5),
        ),
        "F1 on the test sentences with fewer training sentences, same settings:",
        report.table(
            ("training sentences", "tree", "forest", "difference"),
            [
                (f"{size:,}", f"{tree:.2f}", f"{forest:.2f}", f"{forest - tree:+.2f}")
                for size, tree, forest in zip(curve["sizes"], curve["tree"], curve["forest"], strict=True)
            ],
            right=range(4),
        ),
    ]


def _paper(figures: dict[str, Any], what: str) -> str:
    rows = [(name, *(f"{value:.2f}" for value in figures[name])) for name in ("tree", "forest")]
    return f"In the paper ({what}):\n\n" + report.table(("", "P", "R", "F1"), rows, right=range(1, 4))


def _roles(found: dict[str, Any]) -> list[str]:
    sizes, paper = found["sizes"], found["paper"]
    parts = [
        "## Semantic roles",
        f"PropBank's verbs on the Wall Street Journal sample, split by document: {sizes['train']:,} predicates to fit to "
        f"and {sizes['test']:,} to test on, from {len(found['documents']['test'])} documents of their own. Only words and "
        "the predicate's place are given; parses are automatic. A candidate gets a role or none from one machine a role, "
        "on the hybrid kernel of Che et al. (2006): path and constituent, as trees or as forests. Candidates are those of "
        "Xue & Palmer (2004): of the best tree, or of all trees of the forest whose summed probability reaches a "
        "threshold. The surest are taken first, and none that overlaps a surer one. Arguments that are no candidate "
        "count as missed. In training, of the candidates without a role as many were drawn at random as a predicate has "
        "with one; roles with fewer than ten examples were not learnt; the margin over *none* that a role needs was "
        "chosen with the other settings.",
        f"All settings were chosen on {sizes['dev']:,} predicates of other documents, with {sizes['fit']:,} to fit to; "
        "a run chooses nothing on test predicates. Two parsers: the 20 best parses of a lexicalised parser, packed; and the "
        "forests of our own annotated grammar, within 8 of the best parse. Both were trained on other documents than "
        "those they parse. *Forest, probabilities* also has a linear kernel on the probability of each candidate, which the "
        "paper's kernel, normalised by it, does not see. lam, theta and C of the forests are those of the trees. (Our forests are large: for the kernel they were pruned at 5, and the parts taken from them at "
        "3.)",
        report.table(
            ("parses", "kernel on", "P", "R", "F1", "F1 without labels", "F1 where chosen", "candidates", "settings"),
            [
                (
                    f"{PARSERS[name]} (F1 {parser['parse_f1']:.1f})" if row["name"] == "tree" else "",
                    row["name"],
                    *(f"{row[key]:.2f}" for key in ("precision", "recall", "f1", "unlabelled", "dev")),
                    f"{row['candidates']:,}",
                    _setting(row),
                )
                for name, parser in found["parsers"].items()
                for row in parser["rows"]
            ],
            right=range(2, 8),
        ),
        _paper(paper["scores"], "CoNLL-2005, four sections for training"),
        "Forest against tree on the test predicates: differences with 95 % intervals and p from 10,000 paired bootstrap "
        "samples of sentences; McNemar's test of right arguments (found with the forest only : with the tree only).",
        report.table(
            ("parses", "", "P", "R", "F1", "right with one only", "McNemar's p"),
            [
                (
                    PARSERS[name],
                    kind,
                    *(_difference(test[measure]) for measure in ("precision", "recall", "f1")),
                    f"{test['only_a']} : {test['only_b']}",
                    report.p_value(test["p_mcnemar"]),
                )
                for name, parser in found["parsers"].items()
                for kind, test in parser["tests"].items()
            ],
            right=range(2, 7),
        ),
        "### Arguments that are no candidate",
        "On the predicates that settings were chosen on. *Pruned* is the pruning of Xue & Palmer. Ratios are to the best "
        "tree's candidates of the same kind. In the paper 9.78 % of the arguments are no constituent of the best tree and "
        "1.31 % none of the forest, with 5.6 times as many candidates; after pruning 3.1 % with 1.31 times as many.",
    ]
    for name, parser in found["parsers"].items():
        parts.append(
            report.table(
                (PARSERS[name], "unmatched", "candidates a predicate", "ratio"),
                [
                    (c["what"], f"{c['unmatched']:.2f} %", f"{c['candidates']:.1f}", f"{c['ratio']:.2f}")
                    for c in parser["coverage"]
                ],
                right=range(1, 4),
            )
        )
    parts += [
        "### What each change did",
        "On the predicates that settings were chosen on; each change starts from the best before it, and each kind from "
        "the best of the one above. *threshold* is the smallest probability of a candidate, *chance* the weight of the "
        "kernel on the probabilities, *theta* that of paths.",
    ]
    for name, parser in found["parsers"].items():
        rows = [
            (kind, step["change"], *(f"{step[key]:.2f}" for key in ("precision", "recall", "f1")))
            for kind, steps in parser["steps"].items()
            for step in steps
        ]
        parts.append(report.table((PARSERS[name], "change", "P", "R", "F1"), rows, right=range(2, 5)))
    return parts


def _setting(row: dict[str, Any]) -> str:
    setting = row["setting"]
    shown = [f"{name}={setting[name]:g}" for name in ("lam", "theta", "C")]
    if setting["forest"]:
        shown += [f"{name}={setting[name]:g}" for name in ("threshold", "temperature", "chance")]
    return ", ".join([*shown, f"margin {row['offset']:g}"])


def _difference(one: dict[str, Any]) -> str:
    low, high = one["interval"]
    return f"{one['difference']:+.2f} ({low:+.2f} to {high:+.2f}), p {report.p_value(one['p_bootstrap'])}"


def picture(results: dict[str, Any], path: Path) -> None:
    """Trees and forests side by side, and the learning curve of the relations; needs matplotlib."""
    from matplotlib.patches import Patch

    with report.drawn(path, 3, figsize=(13, 4), width_ratios=(1.3, 1, 1.3)) as (_, (left, middle, right)):
        found = results["relations"]
        rows = {row["name"]: row["f1"] for row in found["rows"]}
        groups = {
            "alone": (rows["tree"], rows["forest"]),
            "linear": (rows["linear, tree"], rows["linear, forest"]),
            "polynomial": (rows["polynomial, tree"], rows["polynomial, forest"]),
            "paper (ACE)": tuple(found["paper"][name][2] for name in ("tree", "forest")),
        }
        _bars(left, groups)
        left.set(title="Relations", ylabel="F1")
        curve = found["curve"]
        for name, colour in (("tree", COLOURS["tree"]), ("forest", COLOURS["forest"])):
            middle.plot(curve["sizes"], curve[name], marker="o", markersize=4, color=colour, label=name)
        middle.set(xscale="log", title="Relations, by training sentences", xlabel="training sentences")
        middle.set_xticks(curve["sizes"], [f"{size:,}" for size in curve["sizes"]], fontsize=8)
        middle.minorticks_off()
        middle.grid(alpha=0.3)
        middle.legend(loc="lower right", fontsize=8)
        parsers, scores = results["roles"]["parsers"], results["roles"]["paper"]["scores"]
        groups = {
            "20 best": tuple(row["f1"] for row in parsers["lists"]["rows"]),
            "our grammar": tuple(row["f1"] for row in parsers["grammar"]["rows"]),
            "paper (CoNLL)": tuple(scores[name][2] for name in ("tree", "forest")),
        }
        _bars(right, groups)
        right.set(title="Semantic roles")
        patches = [Patch(color=colour, label=name) for name, colour in COLOURS.items()]
        right.set_ylim(0, 100)
        right.legend(handles=patches, loc="upper left", fontsize=8)


COLOURS = {"tree": "tab:gray", "forest": "tab:green", "forest, probabilities": "darkgreen"}


def _bars(axes: Any, groups: dict[str, tuple[float, ...]]) -> None:
    width = 0.8 / max(map(len, groups.values()))
    for k, values in enumerate(groups.values()):
        for n, (value, colour) in enumerate(zip(values, COLOURS.values(), strict=False)):
            place = k + width * (n - (len(values) - 1) / 2)
            axes.bar(place, value, 0.95 * width, color=colour)
            axes.text(place, value + 0.8, f"{value:.1f}", ha="center", fontsize=8)
    axes.set_xticks(range(len(groups)), list(groups), fontsize=8)
