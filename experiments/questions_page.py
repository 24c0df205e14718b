"""The page, the picture and the claims of question classification, with published figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments import plain, report
from experiments.claims import Claim, section
from experiments.differences import holm

NGRAMS, BAG = "n-grams", "bag of words"
BESIDE = "Other papers: published for these questions"
BASELINE = "Comparisons with n-grams"
SHOWN = ("temperature", "leaves", "lam", "mu", "threshold", "exponent", "share")
NAMES = {"lam": "λ", "mu": "μ", "share": "share of the second"}
OWN = {
    "SST": ("leaves", "lam"),
    "PT": ("leaves", "lam", "mu"),
    "forest of 20 parses": ("temperature", "leaves", "lam"),
    "smoothed PT": ("leaves", "lam", "mu", "threshold", "exponent"),
    "SST + bag of words": ("leaves", "lam", "share"),
    "PT + bag of words": ("leaves", "lam", "mu", "share"),
    "SST + n-grams": ("leaves", "lam", "share"),
}


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    parts = [
        "# Question classification",
        report.made_by(results),
        *_short(results),
        "The data is the TREC questions of Li & Roth (2002), with six coarse classes and parse trees of a Charniak-style parser. The classifiers are "
        f"one-vs-rest support vector machines. {results['twins']} training questions that are also test questions (same letters "
        f"and digits) are removed, which leaves {results['train']:,} training questions." + _quick(results),
        *_choosing(results),
        "## Accuracies",
        _table(results),
        "Accuracies are in percent. *N-grams* is the baseline: a linear model with tf-idf weights of n-grams of words, and of characters within words. "
        "*Forest* packs the twenty best parses of each question. Sums of two kernels take the settings of their trees (and the lengths of "
        "n-grams) from the rows of the single kernels; only the share and C are chosen.",
        *_tests(results),
        *section(claims(results)),
        *_smoothing(results),
        *_fine(results),
        "## Published figures",
        "These figures refer to the same questions, with trees of other parsers. None of the five papers of the other pages uses questions.",
        report.table(("method", "accuracy"), [(p["method"], p["accuracy"]) for p in results["published"]], right=(1,)),
        *_curve(results),
        *_time(results),
    ]
    return report.page(parts)


def _quick(results: dict[str, Any]) -> str:
    text = (
        " **Quick run: a tenth of the training questions, one setting per kernel, word vectors from questions only.**"
    )
    return text if results["quick"] else ""


def _choosing(results: dict[str, Any]) -> list[str]:
    tried = sum(one["tried"] for row in results["rows"] for one in row["chosen"])
    edges = [
        f"- {row['system']}, {where}: {', '.join(NAMES.get(name, name) for name in one['at_edge'])}"
        for row in results["rows"]
        for one, where in zip(row["chosen"], ("all", "first half", "second half"), strict=True)
        if one["at_edge"]
    ]
    return [
        "## Method",
        "There are two tests:",
        "- *500 test questions*: used once per system. The standard error of an accuracy is about 1.3 points.\n"
        f"- *Ten folds* of the training questions. {results['doubles']} repeated questions are in the same fold as the questions they repeat. The settings for a fold "
        "were chosen by cross-validation on the five folds of the other half, which does not contain it. The model is then trained on all other folds. "
        "± is the standard deviation over folds.",
        "Settings are chosen by five-fold cross-validation on training questions. All kernels have the same grid for C, and all tree kernels have the same grid for λ. N-grams have their own grids, with a wider one for C. "
        "The search starts in the middle of each grid and moves to better neighbors, one parameter after the other, until nothing changes. "
        f"In total, {tried} settings were tried, for each system three times: on all training questions, and on each half. One of the parameters is `leaves`: whether equal words match even if their tags "
        "differ.",
        *(
            ["Chosen values at an edge of their grid:", "\n".join(edges)]
            + (["N-grams of eight characters are nearly whole words."] if any(NGRAMS in edge for edge in edges) else [])
            if edges
            else ["No chosen value is at an edge of its grid."]
        ),
        "Some test figures were known before `leaves`, the wider grids and the new rows were added. They are those of an earlier version of this page (bag of words 87.4, SST 91.2, PT 90.8, SST + bag of words 91.8, PT + bag of "
        "words 90.4) and of trials of n-grams (90.0 and 91.0).",
    ]  # fmt: skip


def setting(name: str, at: dict[str, Any]) -> str:
    """Format a setting for the table.

    >>> setting("SST", {"leaves": True, "lam": 0.3, "C": 10.0})
    'leaves, λ 0.3, C 10'
    """
    if name == NGRAMS:
        return plain.told(at)
    own = [key for key in SHOWN if key in OWN.get(name, ())]
    texts = [("leaves" if at[key] else "no leaves") if key == "leaves" else f"{NAMES.get(key, key)} {at[key]:g}" for key in own]  # fmt: skip
    return ", ".join([*texts, f"C {at['C']:g}"])


def _table(results: dict[str, Any]) -> str:
    rows = [
        (
            row["system"],
            f"{row['accuracy']:.1f}",
            report.plus_minus(row["folds"]),
            f"{row['cross_validation']:.2f}",
            setting(row["system"], row["chosen"][0]["setting"]),
            sum(one["tried"] for one in row["chosen"]),
            "" if row["support"] is None else f"{row['support']:,}",
            f"{row['cpu_seconds']:.0f}",
        )
        for row in results["rows"]
    ]
    header = (
        "system", "500 test questions", "ten folds", "cross-validation", "chosen on all training questions", "settings tried", "questions used as support vectors", "CPU seconds",
    )  # fmt: skip
    return report.table(header, rows, right=(1, 2, 3, 5, 6, 7))


# --- comparisons ----------------------------------------------------------------------------------------------------


def compared(tests: dict[str, Any], against: str | None = None) -> list[dict[str, Any]]:
    """Return the comparisons in both tests, with Holm's correction over all; optionally only those with one system."""
    folds, test = tests["folds"], tests["test"]
    both = zip(folds, holm([t["p"] for t in folds]), test, holm([t["p_mcnemar"] for t in test]), strict=True)
    found = [{"folds": f, "p_folds": pf, "test": t, "p_test": pt} for f, pf, t, pt in both]
    return [one for one in found if against is None or one["folds"]["b"] == against]


def _short(results: dict[str, Any]) -> list[str]:
    """Summarize which tree kernels are better than the baseline, by the rules of all verdicts."""
    baseline = next(row for row in results["rows"] if row["system"] == NGRAMS)
    points = [
        f"**Over ten folds, n-grams with a linear model have an accuracy of {baseline['folds']['mean']:.2f} percent. "
        f"On the 500 test questions, they have {baseline['accuracy']:.1f} percent.**",
        *(f"{claim.says}: **{claim.verdict}**. {claim.ours}." for claim in claims(results) if claim.paper == BASELINE),
    ]
    return ["Results:", "\n".join(f"- {point}" for point in points)]


def _tests(results: dict[str, Any]) -> list[str]:
    found = compared(results["tests"])
    return [
        "## Significance of the differences",
        f"There are {len(found)} comparisons. For the ten folds, the test is the corrected resampled t-test (Nadeau & Bengio 2003), with its 95 % confidence interval. "
        "For the test questions, it is McNemar's exact test; *only* counts the questions that only the first : only the second system classifies "
        "correctly. Columns with *Holm* have p-values after Holm's correction for all comparisons of the column.",
        _comparisons(found),
    ]


def _comparisons(found: Sequence[dict[str, Any]]) -> str:
    header = (
        "system", "compared with", "ten folds", "95 % interval", "folds better", "p", "p (Holm)", "test questions", "only", "p", "p (Holm)",
    )  # fmt: skip
    rows = [
        (
            one["folds"]["a"],
            one["folds"]["b"],
            f"{one['folds']['difference']:+.2f}",
            report.interval(one["folds"]["interval"]),
            f"{one['folds']['wins']} of {one['folds']['of']}",
            report.p_value(one["folds"]["p"]),
            report.p_value(one["p_folds"]),
            f"{one['test']['difference']:+.1f}",
            f"{one['test']['only_a']} : {one['test']['only_b']}",
            report.p_value(one["test"]["p_mcnemar"]),
            report.p_value(one["p_test"]),
        )
        for one in found
    ]
    return report.table(header, rows, right=range(2, 11))


def _smoothing(results: dict[str, Any]) -> list[str]:
    about = results["vectors"]
    one = next(o for o in compared(results["tests"], "PT") if o["folds"]["a"] == "smoothed PT")
    f = one["folds"]
    helps = (
        "helps"
        if f["p"] < 0.05 and f["difference"] > 0
        else "is worse"
        if f["p"] < 0.05
        else "does not help significantly"
    )
    return [
        "## Effect of word similarity (smoothed PT)",
        f"Smoothed PT (Croce, Moschitti & Basili 2011) {helps}. The difference from PT is {f['difference']:+.2f} points in ten folds "
        f"({report.interval(f['interval'])}, p {report.p_value(f['p'])}), and {one['test']['difference']:+.1f} points on the test questions (McNemar's p "
        f"{report.p_value(one['test']['p_mcnemar'])}).",
        "λ, μ and leaves are those of PT; threshold, exponent and C were chosen. Thresholds below 0.3 were excluded, because a matrix then takes minutes. "
        "A first run of this page allowed them and was stopped during this row. Its test figures of "
        "n-grams, bag of words, SST, PT and the forest (91.0, 87.4, 91.6, 91.0 and 92.4) were known afterwards. The starting points of the search for PT, the forest and smoothed PT were then changed, and nothing else.",
        f"The word vectors are computed from {about['tokens']:,} words in {about['sentences']:,} distinct sentences of "
        + ("the questions" if results["quick"] else "all available corpora (training questions, QuestionBank, the Wall Street Journal sample, MASC, CRAFT, SemEval-2010, CoNLL-2000, CoNLL04, UD EWT, UD ATIS)")
        + ", without the test questions:",
        f"- Vocabulary: {about['words']:,} words that occur at least five times, in lower case, with digits replaced by zeros.\n"
        "- Co-occurrence within five words of a sentence, weighted by 1 / distance.\n"
        "- Positive pointwise mutual information, with context counts to the power 0.75.\n"
        "- 200 singular vectors, each multiplied by the square root of its singular value.",
        f"{about['known']:,} of the {about['forms']:,} word forms of the questions have a vector.",
        "A simple cut-off, which sets similarities up to the threshold to 0, makes the kernel indefinite, and training then fails. The table uses the settings of PT. "
        f"It shows the accuracy in cross-validation on all training questions, and the smallest eigenvalue of the matrix of {about['cut_off'][0]['looked_at']:,} of them:",
        report.table(
            ("threshold", "cross-validation", "smallest eigenvalue"),
            [
                ("PT, no similar words" if one["threshold"] is None else f"{one['threshold']:g}", f"{one['cross_validation']:.2f}", f"{one['lowest']:.3f}")
                for one in about["cut_off"]
            ],
            right=(1, 2),
        ),
        "In the rows above, cosines are therefore raised to a power (the exponent). Those of different words are also multiplied by the largest number for which the "
        f"similarity matrix of all words has no negative eigenvalue: {about['share']:.2f} with the chosen setting.",
    ]  # fmt: skip


def _fine(results: dict[str, Any]) -> list[str]:
    fine = results["fine"]
    rows = [(row["system"], f"{row['accuracy']:.1f}", report.plus_minus(row["folds"])) for row in fine["rows"]]
    return [
        "## Fine classes",
        f"There are {fine['classes']} fine classes, such as `NUM:date`. The settings are those of the coarse classes; no setting was chosen on fine classes.",
        report.table(("system", "500 test questions", "ten folds"), rows, right=(1, 2)),
        _comparisons(compared(fine["tests"])),
    ]


# --- learning curve and time ----------------------------------------------------------------------------------------


def _curve(results: dict[str, Any]) -> list[str]:
    curve = results["learning_curve"]
    names = _lines(curve)
    rows = [
        (f"{size:,}", *(_point(curve[name][k]) for name in names)) for k, size in enumerate(curve["sizes"])
    ]  # fmt: skip
    return [
        "## Learning curve",
        f"Test accuracy by number of training questions, with the settings above: means ± standard deviations over {curve['draws']} random samples.",
        report.table(("questions", *names), rows, right=range(1 + len(names))),
        "![learning curve](questions.png)",
    ]


def _lines(curve: dict[str, Any]) -> list[str]:
    return [name for name in curve if name not in ("sizes", "draws")]


def _point(one: dict[str, float]) -> str:
    return f"{one['mean']:.1f}" + (f" ± {one['std']:.1f}" if one["std"] else "")


def _time(results: dict[str, Any]) -> list[str]:
    if not results["end_to_end"]:
        return []
    found = results["end_to_end"]
    cpu = [
        (
            e["kernel"],
            *(f"{e['cpu_seconds'][key]:.2f}" for key in ("read", "fit", "predict")),
            f"**{e['cpu_seconds']['total']:.2f}**",
        )
        for e in found
    ]
    peers = [(e["kernel"], *(e["peers_cpu_seconds"][name] for name in ("SVM-Light-TK", "KeLP"))) for e in found]
    return [
        "## Run time",
        "CPU seconds on one core, from the files to 500 predictions, with λ = μ = 0.4, C = 10 and six one-vs-rest SVMs:",
        report.table(("kernel", "read", "fit", "predict", "total"), cpu, right=range(1, 5)),
        "CPU seconds of two other programs for the same task. **They were measured elsewhere**: on another machine of the same kind, on 2026-11-15 or "
        "before. Their versions were not recorded, and no script of ours runs them, so compare the order of magnitude only:",
        report.table(("kernel", "SVM-Light-TK", "KeLP"), peers, right=(1, 2)),
    ]  # fmt: skip


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return published claims about these questions, and comparisons with strong baselines."""
    folds = {(t["a"], t["b"]): t for t in results["tests"]["folds"]}
    drawn = {(t["a"], t["b"]): t for t in results["tests"]["bootstrap"]}

    def greater(
        paper: str, says: str, printed: str, a: str, b: str, note: str = "", effect: float | None = None
    ) -> Claim:
        ten, test = folds[a, b], drawn[a, b]
        ours = (
            f"{report.difference(ten)} over ten folds of {results['train']:,} questions, "
            f"{report.difference(test, 1)} on 500"
        )  # fmt: skip
        return Claim(paper, says, printed, ours, "greater", [ten, test], effect=effect, note=note, own=paper != BESIDE)

    return [
        greater(BESIDE, "SST on parse trees is better than a bag of words", "91.4 against 86.2", "SST", BAG, effect=5.2),
        greater(BESIDE, "PT on parse trees is better than a bag of words", "91.0 against 86.2", "PT", BAG, effect=4.8),
        greater(
            BESIDE, "smoothed PT is better than PT", "94.0–95.0 against 91.0", "smoothed PT", "PT",
            "constituency trees and small corpora here; dependency trees and large corpora in the paper", effect=3.0,
        ),
        greater(BASELINE, "SST is better than word and character n-grams with a linear model", "not tested", "SST", NGRAMS),
        greater(BASELINE, "PT is better than word and character n-grams with a linear model", "not tested", "PT", NGRAMS),
        greater(BASELINE, "SST with n-grams is better than n-grams", "not tested", "SST + n-grams", NGRAMS),
        greater(
            "Forests on questions, after Zhang, Zhang & Li (2010) on roles and relations", "forests are better than the best tree",
            "not tested on questions", "forest of 20 parses", "SST",
        ),
    ]  # fmt: skip


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw the learning curve. Requires matplotlib."""
    curve = results["learning_curve"]
    with report.drawn(path, figsize=(6.5, 4.2)) as (_, axes):
        for name, marker in zip(_lines(curve), "osD^v", strict=True):
            means, stds = ([one[key] for one in curve[name]] for key in ("mean", "std"))
            axes.errorbar(curve["sizes"], means, yerr=stds, marker=marker, markersize=5, capsize=2, label=name)
        axes.set(
            xlabel="training questions", ylabel="test accuracy, %", title="Question classification, six coarse classes"
        )
        axes.grid(alpha=0.3)
        axes.legend()
