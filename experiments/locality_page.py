"""The page, the picture and the claims of the locality experiment, with the figures of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from pathlib import Path
from typing import Any

from experiments import report
from experiments.claims import Claim, section
from experiments.differences import holm

PAPER = "Tsivtsivadze et al. (2006)"
CORPUS = "CRAFT"
OWN, COUNTS, GRAMS = "Link Grammar's own order", "RLS, feature counts", "RLS, link n-grams"
POSITION = "RLS + LC, position"
FORMS = {"position": POSITION, "exact": "RLS + LC, exact", "count": "RLS + LC, count"}
ROUNDING = 2e-13  # 1,000 times the distance between doubles near 1
NOTABLE = 0.01
"""The largest difference of tau_b that counts as none: a quarter of the difference between LC and features in the paper."""
MEASURES = {
    "as given": "the F-score that comes with the corpus, of pairs of words against the gold dependencies",
    "matchable types": "without the link types and gold relations of which less than half match in the best parses of the development "
    "sentences",
    "converted heads": "all links, against gold dependencies converted to the conventions of Link Grammar. Subjects and *that* are "
    "attached to the first auxiliary, auxiliaries form a chain, and *to* and *that* are linked upwards. A conjunction governs its "
    "conjuncts and represents them, and nouns are linked with relative pronouns",
    "own scheme": "all links, against the links of the parse of the sentence that is best with converted heads. This parse is correct in "
    "the scheme of Link Grammar, as in the corpus of the paper",
}
CAVEAT = (
    "An older version of this page, with another design, showed test figures of the same kernels on 600 of these sentences. The kernels "
    "and features are therefore not new to these sentences. No setting was chosen by those figures, and all rows now have the same grids."
)


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    rows = {row["name"]: row for row in results["rows"]}
    sentences, parses = results["sentences"], results["parses"]
    splits = len(rows[OWN]["tau"]["splits"])
    parts = [
        "# Ranking dependency parses: the locality-convolution kernel",
        report.made_by(results),
        f"{first_line(rows)} With the window, θ, σ and λ of the paper for both, and full link types, the difference is {told(results['at_paper'])}.",
        "Tsivtsivadze et al. (2006) ranked the parses of biomedical sentences by Link Grammar. Here, the sentences are from the CRAFT corpus, "
        "parsed by Link Grammar 5.12. Its link types have finer subscripts than the version of the paper, so kernels use full types, main "
        "types, or both. The quality of a parse (*goodness*) is the F-score of its links against the gold dependencies."
        + (" **Quick run.**" if results["quick"] else ""),
        f"All settings are chosen once, by cross-validation over {sentences['development']} sentences ({parses['development']:,} parses, 5 per "
        f"sentence). They come from some of the {results['documents']} documents, which are not used for testing. The {sentences['others']} "
        f"sentences of the other documents are split into two halves of whole documents, {splits // 2} times. In each of the {splits} splits, one "
        f"half is the training set (5 parses per sentence) and the other is ranked (up to 20 parses; {parses['others']:,} in both halves). "
        f"{results['repeated']} sentences with the same words as another sentence are removed.",
        "Every kernel has the same variants: full, main or both link types; plain, normalized, or a Gaussian of either, with six widths "
        "(multiples of the median distance). Each variant has nine regularization strengths λ (multiples of the mean of the diagonal of the "
        "matrix). LC has windows of 3, 5 and 7, and *position* has θ from 0.25 to 2, with the best variants of window 3 and θ = 0.5. "
        "Scores that differ only by rounding are ties.",
        CAVEAT,
        "Figures are Kendall's τ_b: the mean over test sentences whose parses differ in goodness, then the mean ± standard deviation over "
        "splits. Differences are relative to the counts, with 95 % confidence intervals and p-values of the corrected resampled t-test (Nadeau & "
        f"Bengio 2003) over the {splits} splits. The last p-value has Holm's correction for {len(results['rows']) - 1} comparisons.",
        main_table(results["rows"]),
        edge_line(results["rows"]),
        "*Link n-grams* is a baseline in addition to the counts, with the same variants. Its features are sequences of one to three link types, "
        "and one or two words with a type. Words alone cannot rank the parses of one sentence. The rows *RankRLS* have the kernels that were "
        "chosen for RLS. *Each type normalized* has the window and θ of the best LC row.",
        "![tau, and learning curves](locality.png)",
        "Results in the paper, on another corpus and with another version of the parser:",
        report.table(["method", "τ_b"], [(r["method"], r["tau"]) for r in results["published"]], right=(1,)),
        *larger_section(results),
        *scheme_section(results),
        *curve_section(results["curves"]),
        *section(claims(results)),
        *choice_section(results),
        *spectrum_section(results["semidefinite"], results["counterexamples"]),
    ]
    return report.page(parts)


def first_line(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """State in one sentence whether the kernel is better than the counts."""
    test = rows[POSITION]["against_counts"]
    figures = (
        f"τ_b {rows[POSITION]['tau']['mean']:.3f} against {rows[COUNTS]['tau']['mean']:.3f}, difference {told(test)}"
    )
    if test["p"] >= 0.05:
        return f"**The locality-convolution kernel is not significantly better than feature counts: {figures}.**"
    relation = "better" if test["difference"] > 0 else "worse"
    return f"**The locality-convolution kernel is {relation} than feature counts: {figures}.**"


def told(test: Mapping[str, Any], p: bool = True) -> str:
    """Format a difference with its interval."""
    p_value = f", p {report.p_value(test['p'])}" if p else ""
    return f"{test['difference']:+.3f} ({report.interval(test['interval'], 3)}{p_value})"


def spanned(found: Mapping[str, Any]) -> str:
    """Format a figure with its interval."""
    return f"{found['mean']:.3f} ({found['interval'][0]:.3f} to {found['interval'][1]:.3f})"


def power(share: float) -> str:
    """Format a strength as a power of two.

    >>> power(0.015625)
    '2^-6'
    """
    return f"2^{round(log2(share))}"


def plus_minus(found: Mapping[str, Any]) -> str:
    return report.plus_minus(found, 3)


def main_table(rows: Sequence[Mapping[str, Any]]) -> str:
    compared = [row["name"] for row in rows if "against_counts" in row]
    adjusted = dict(
        zip(compared, holm([row["against_counts"]["p"] for row in rows if "against_counts" in row]), strict=True)
    )
    table = []
    for row in rows:
        test = row.get("against_counts")
        table.append(
            (
                row["name"],
                f"{row['cross_validation']:.3f}" if "cross_validation" in row else "",
                f"**{row['tau']['mean']:.3f}** ± {row['tau']['std']:.3f}",
                told(test, p=False) if test else "",
                f"{test['wins']} of {test['of']}" if test else "",
                report.p_value(test["p"]) if test else "",
                report.p_value(adjusted[row["name"]]) if test else "",
                f"{row['tried']} × {row['strengths']}" if "strengths" in row else row.get("tried", ""),
                chosen(row),
            )
        )  # fmt: skip
    header = ["method", "cross-validation", "test τ_b", "difference from counts", "splits better", "p", "p (Holm)", "settings × λ", "chosen"]  # fmt: skip
    return report.table(header, table, right=(1, 2, 3, 4, 5, 6, 7))


def chosen(row: Mapping[str, Any]) -> str:
    """Describe the chosen setting, with the absolute value of λ."""
    if "alpha" not in row:
        return ""
    strength = f"λ = {row['alpha']:.3g}"
    if "types" not in row:
        return f"`{row['kernel'] if len(row['kernel']) < 100 else row['kernel'][:45] + ' …'}`, {strength}"
    types = {"both": "both types"}.get(row["types"], f"{row['types']} types")
    wrap = "normalized" if row["normalised"] else "plain"
    width = f", Gaussian σ = {row['sigma']:g}" if row.get("sigma") else ""
    window = f"window {row['window']}, " if row["window"] > 1 else ""
    theta = f"θ = {row['theta']:g}, " if "theta" in row else ""
    return f"{window}{theta}{types}, {wrap}{width}, {strength}"


def edge_line(rows: Sequence[Mapping[str, Any]]) -> str:
    found = [f"{row['name']} ({', '.join(row['edges'])})" for row in rows if row.get("edges")]
    if not found:
        return "No chosen value is at an edge of its grid."
    return f"Chosen values at an edge of their grid: {'; '.join(found)}."


# --- the annotation scheme ------------------------------------------------------------------------------------------


def larger_section(results: dict[str, Any]) -> list[str]:
    """Return the section with nine tenths of the sentences for training."""
    larger = results["larger"]
    rows = [
        (
            f"{test['a']} − {test['b']}",
            spanned(larger["levels"][test["a"]]),
            spanned(larger["levels"][test["b"]]),
            *(told(one) for one in (test, test["items"], test["sentences"])),
        )
        for test in larger["tests"]
    ]
    return [
        "## LC and counts with more training sentences",
        f"The halves above leave half of the sentences for training, fewer than in the paper in relation to the test sentences. Here, the same sentences form "
        f"{larger['folds']} folds of whole documents, in {larger['repeats']} different ways. Each fold is ranked after training on the others, about {larger['train']:.0f} "
        "sentences. The folds and systems were fixed before the run, and the settings are those chosen above. Three tests are shown: the corrected resampled "
        "t-test over folds, the bootstrap over sentences, and the test of the paper, a two-sided paired t-test with one pair per sentence.",
        report.table(
            ("systems", "τ_b of the first", "τ_b of the second", "over folds", "over sentences (bootstrap)", "over sentences (t-test)"),
            rows,
            right=range(1, 6),
        ),
        f"Before, with half of the sentences for training: {told(_row_test(results))}, and {told(results['at_paper'])} with the paper's settings.",
    ]  # fmt: skip


def _row_test(results: dict[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(row for row in results["rows"] if row["name"] == POSITION)["against_counts"]
    return found


def scheme_section(results: Mapping[str, Any]) -> list[str]:
    schemes = results["scheme"]
    names = [OWN, COUNTS, GRAMS, *FORMS.values()]
    figures = [
        (s["measure"], f"{s['mean']:.3f}", f"{s['best']:.3f}", *(plus_minus(s["rows"][name]) for name in names))
        for s in schemes
    ]
    differences = [
        (s["measure"], name, told(s["lc_against_counts"][name]), told(s["gain"][name]) if "gain" in s else "")
        for s in schemes
        for name in FORMS.values()
    ]
    types = [t for t in results["types"] if t["links"] >= 20]
    return [
        "## Effect of the annotation scheme",
        "The gold parses of the paper were annotated with the links of Link Grammar. The gold parses of CRAFT are Stanford-style dependencies, "
        "which follow other conventions, so no parse can be completely correct. There are four measures of goodness. Each is used for training "
        "and for testing, with settings chosen for it:",
        "\n".join(f"- *{name}*: {text}." for name, text in MEASURES.items()),
        report.table(("goodness", "mean", "mean of the best parses", *names), figures, right=range(1, 3 + len(names))),
        "Differences between LC and counts with each measure, and the change of this difference relative to the measure *as given*:",
        report.table(("goodness", "kernel", "LC − counts", "change from *as given*"), differences, right=(2, 3)),
        scheme_line(schemes),
        "Share of links that match a gold dependency, as given and with converted heads, in the best parses of the "
        f"{results['sentences']['development']} development sentences (types with 20 links or more):",
        report.table(
            ("type", "links", "as given", "converted heads"),
            [(t["name"], t["links"], f"{t['share']:.2f}", f"{t['converted']:.2f}") for t in types],
            right=(1, 2, 3),
        ),
        "Gold relations that match in less than half of the cases: "
        + ", ".join(f"{r['name']} ({r['share']:.2f} of {r['links']})" for r in results["relations"] if r["share"] < 0.5)
        + ".",
    ]


def scheme_line(schemes: Sequence[Mapping[str, Any]]) -> str:
    """Summarize the results of all measures for the kernel of the paper."""
    tests = {s["measure"]: (s["lc_against_counts"][POSITION], s["gain"][POSITION]) for s in schemes if "gain" in s}
    adjusted = dict(zip(tests, holm([gain["p"] for _, gain in tests.values()]), strict=True))
    better = [name for name, (test, _) in tests.items() if test["difference"] > 0 and test["p"] < 0.05]
    grown = [name for name, (_, gain) in tests.items() if gain["difference"] > 0 and adjusted[name] < 0.05]
    level = (
        f"The kernel of the paper is significantly better than the counts with these measures: {', '.join(better)}."
        if better
        else "The kernel of the paper is not significantly better than the counts with any of these measures (p < 0.05)."
    )
    change = (
        f" The difference increases significantly with {', '.join(grown)} (p < 0.05 after Holm's correction for {len(tests)}), so the scheme is part of the cause there."
        if grown
        else f" The difference does not increase significantly with any of them (p ≥ 0.05 after Holm's correction for {len(tests)}), so there is no evidence that the scheme is the cause."
    )  # fmt: skip
    return level + change


# --- learning curves ------------------------------------------------------------------------------------------------


def curve_section(curves: Mapping[str, Any]) -> list[str]:
    cells = {(c["system"], c["sentences"], c["parses"]): c for c in curves["cells"]}
    table = [
        (name, parses, *(plus_minus(cells[name, sentences, parses]) for sentences in curves["sentences"]))
        for name in curves["systems"]
        for parses in curves["parses"]
    ]
    first, second = curves["systems"]
    table += [
        (f"{second} − {first}", parses, *(f"{cells[second, size, parses]['mean'] - cells[first, size, parses]['mean']:+.3f}" for size in curves["sentences"]))
        for parses in curves["parses"]
    ]  # fmt: skip
    ahead = sum(cells[second, size, parses]["mean"] > cells[first, size, parses]["mean"] for size in curves["sentences"] for parses in curves["parses"])  # fmt: skip
    tests = [(t["kind"], t["a"], t["b"], told(t), report.p_value(t["p_holm"])) for t in curves["tests"]]
    strengths = "; ".join(
        f"{name}: {', '.join(f'{power(share)} at {k}' for k, share in by_k.items())}"
        for name, by_k in curves["strengths"].items()
    )
    return [
        "## Number of sentences and number of parses per sentence",
        "The splits, the test parses and the kernels are the same as above. The training sets have different numbers of sentences (columns) and of "
        "parses per sentence (rows). λ is chosen on the development sentences for each number of parses, as a multiple of the mean of the diagonal. "
        f"Chosen values: {strengths}.",
        report.table(
            ("kernel", "parses per sentence", *(f"{s} sentences" for s in curves["sentences"])),
            table,
            right=range(1, 2 + len(curves["sentences"])),
        ),
        f"The mean of the LC kernel is higher than that of the counts in {ahead} of {len(curves['sentences']) * len(curves['parses'])} cells. The "
        "following differences were tested; differences of single cells were not:",
        report.table(("comparison", "first", "second", "difference", "p (Holm)"), tests, right=(3, 4)),
    ]


# --- choices and trials ---------------------------------------------------------------------------------------------


def choice_section(results: Mapping[str, Any]) -> list[str]:
    choices = [
        (
            {"theta": "θ"}.get(c["of"], c["of"]),
            f"{c['value']:g}",
            f"{c['cross_validation']:.4f}",
            "; ".join(f"{other}: {told(test)}" for other, test in c["against"].items()),
        )
        for c in results["choices"]
    ]
    trials = [(t["what"], t["setting"], f"{t['cross_validation']:.4f}", told(t["against"])) for t in results["trials"]]
    return [
        "## Window, θ, and windows by type",
        "This table compares the best setting of *LC, position* with each window and each θ, in cross-validation on the development sentences. "
        "Differences are tested by a paired bootstrap over sentences. Each setting is the best of several, so p-values may be too small.",
        report.table(("parameter", "value", "cross-validation", "difference from others"), choices, right=(1, 2)),
        "This table shows the chosen setting with another window for one type of features, or without one type. λ is chosen again.",
        report.table(
            ("change", "setting", "cross-validation", "difference from the chosen setting"), trials, right=(2, 3)
        ),
    ]


def spectrum_section(found: Sequence[Mapping[str, Any]], counterexamples: Mapping[str, Mapping[str, Any]]) -> list[str]:
    spectra = [
        (
            s["match"],
            s["window"],
            "" if s["theta"] is None else f"{s['theta']:g}",
            f"{s['plain']:.1e}",
            f"{s['gaussian']:.1e}",
            "yes" if s["certain"] else "no",
        )
        for s in found
    ]
    below = [s for s in found if s["plain"] < -ROUNDING]
    line = (
        "Eigenvalues that rounding cannot explain: "
        + ", ".join(f"{s['match']}, window {s['window']}, θ = {s['theta']:g}" for s in below)
        + "."
        if below
        else "Rounding can explain all negative eigenvalues."
    )
    return [
        "## Positive semidefiniteness of the kernel",
        "The table shows the smallest eigenvalue of the matrix of 1,000 development parses, relative to the largest, for the plain kernel and "
        "for its Gaussian (σ² is the median distance). The column *certain* is `Locality.is_certain`: whether it is proved that no eigenvalue "
        "can be negative, for any examples.",
        report.table(["match", "window", "θ", "plain", "Gaussian", "certain"], spectra, right=(1, 2, 3, 4)),
        f"Rounding causes errors of up to about {ROUNDING:.0e} in both directions. {line}",
        f"Small examples show clearly that the kernel is not positive semidefinite for every window and θ. Smallest eigenvalues of normalized "
        f"matrices, relative to the largest: {_indefinite(counterexamples)}. The value of the windows was checked with 50 digits: "
        f"the quadratic form of the eigenvector is {counterexamples['windows']['exact']:.6e} of the largest eigenvalue.",
    ]


def _indefinite(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Describe the examples on which the kernel is indefinite."""
    windows, sequences = found["windows"], found["sequences"]
    return (
        f"all {windows['examples']} windows of one feature with the center present (w = {windows['window']}, θ = {windows['theta']:g}, by the formula): "
        f"{windows['smallest']:.1e}; all {sequences['examples']} sequences of length 7 over two features (w = {sequences['window']}, θ = {sequences['theta']:g}, by "
        f"`tl.Locality`): {sequences['smallest']:.1e}"
    )


# --- picture --------------------------------------------------------------------------------------------------------


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw tau_b of each row with its standard deviation over splits, and the learning curves. Requires matplotlib."""
    rows = results["rows"][::-1]
    with report.drawn(path, columns=2, figsize=(13, 0.8 + 0.4 * len(rows)), width_ratios=(1.3, 1)) as (
        _,
        (bars, lines),
    ):
        places = list(range(len(rows)))
        errors = [r["tau"]["std"] for r in rows]
        bars.barh(places, [r["tau"]["mean"] for r in rows], xerr=errors, color="tab:blue", height=0.6)
        known = [(r["cross_validation"], k) for k, r in enumerate(rows) if "cross_validation" in r]
        bars.plot(*zip(*known, strict=True), "o", color="black", markersize=4, label="cross-validation")
        for value, text in ((0.16, "own order"), (0.42, "features"), (0.46, "LC")):
            bars.axvline(value, color="tab:red", linewidth=0.8, linestyle=":")
            bars.text(value, len(rows) - 0.4, text, color="tab:red", fontsize=7, ha="center", va="bottom")
        bars.set_yticks(places, [r["name"] for r in rows], fontsize=8)
        bars.set(
            xlabel="test τ_b (bars, ± deviation over splits); dotted: the paper's, on its corpus",
            ylim=(-0.6, len(rows)),
        )
        bars.legend(loc="lower right", bbox_to_anchor=(1, 1), fontsize=8, frameon=False)
        curves = results["curves"]
        for system, style in zip(curves["systems"], ("-", "--"), strict=True):
            for k, parses in enumerate(curves["parses"]):
                cells = [c for c in curves["cells"] if c["system"] == system and c["parses"] == parses]
                lines.plot(
                    [c["sentences"] * parses for c in cells], [c["mean"] for c in cells], style, marker="o", markersize=3,
                    color=f"C{k}", label=f"{parses} a sentence, {'counts' if system == COUNTS else 'LC'}",
                )  # fmt: skip
        lines.set(xscale="log", xlabel="parses to learn from (sentences × parses of each)", ylabel="test τ_b")
        lines.legend(fontsize=7, frameon=False, ncols=2)


# --- claims ---------------------------------------------------------------------------------------------------------


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the claims of the paper with our results."""
    rows = {row["name"]: row for row in results["rows"]}
    tests = {(t["kind"], t["a"], t["b"]): t for t in results["curves"]["tests"]}

    def figure(name: str, says: str, printed: float, note: str = "") -> Claim:
        found = rows[name]["tau"]
        test = found | {"value": found["mean"]}
        low, high = round(printed - 0.05, 2), round(printed + 0.05, 2)
        return Claim(PAPER, says, f"{printed:.2f}", f"{spanned(found)}, {CORPUS}", "within", [test], low=low, high=high, note=note)  # fmt: skip

    def greater(
        says: str, printed: str, *found: Mapping[str, Any], effect: float | None = None, note: str = ""
    ) -> Claim:
        ours = f"{'; '.join(told(t) for t in found)}, {CORPUS}"
        return Claim(PAPER, says, printed, ours, "greater", found, effect=effect, note=note)

    def curve(kind: str) -> list[Mapping[str, Any]]:
        return [test for key, test in tests.items() if key[0] == kind]

    larger = results["larger"]["tests"]
    larger_note = f"trained on {results['larger']['train']:.0f} sentences"
    window = [t["against"] for t in results["trials"] if t["what"] == "another window for one type"]
    widest = max(window, key=lambda t: t["difference"])
    against = list(results["counterexamples"].values())
    at_paper = [s["plain"] for s in results["semidefinite"] if (s["match"], s["window"], s["theta"]) == ("position", 3, 0.5)]  # fmt: skip
    return [
        figure(OWN, "the order of Link Grammar is poor on biomedical text", 0.16),
        greater("RLS with features is better than the order of the parser", "0.42 against 0.16", rows[COUNTS]["against_own"], effect=0.26),
        figure(COUNTS, "RLS with features reaches 0.42", 0.42),
        greater("RLS with the LC kernel is better than RLS with features", "0.46 against 0.42, p < 0.05", larger[0], effect=0.04, note=f"both with chosen settings; {larger_note}; the paper's own t-test over sentences: {told(larger[0]['sentences'])}"),
        greater("RLS with the LC kernel is better than RLS with features, with the paper's w, θ, σ and λ", "0.46 against 0.42", larger[1], effect=0.04, note=f"both with these settings; {larger_note}; the paper's own t-test over sentences: {told(larger[1]['sentences'])}"),
        figure(POSITION, "RLS with the LC kernel reaches 0.46", 0.46),
        greater("matching by position is better than matching exact positions or any position in the window", "useful, no figure", *results["forms"]),
        *choices(results),
        Claim(PAPER, "longer or shorter windows for some types of features do not improve the result notably", "none", f"best of {len(window)}: {told(widest)}, {CORPUS}", "within", window, high=NOTABLE, note="cross-validation; differences from one window for all types"),
        greater("more parses per sentence improve the result", "no figure", *curve("more parses a sentence"), note="counts and LC"),
        greater("more sentences help more than more parses per sentence", "no figure", *curve("as many parses in all"), note="the same number of parses, from more sentences; counts and LC"),
        Claim(PAPER, "the LC kernel with w = 3, θ = 0.5 is positive semidefinite", "claimed", f"smallest eigenvalue {min(at_paper):.0e} of the largest", "within", [{"value": v, "interval": [v, v]} for v in at_paper], low=-ROUNDING, note="a value slightly below 0 can be caused by rounding"),
        Claim(PAPER, "the LC kernel is positive semidefinite for every window and every θ ≥ 0", "claimed", _indefinite(results["counterexamples"]), "within", [{"value": c["smallest"], "interval": [c["smallest"]] * 2} for c in against], low=-ROUNDING, note="normalized matrices; counterexamples, so no test is needed"),
    ]  # fmt: skip


def choices(results: Mapping[str, Any]) -> list[Claim]:
    """Return the claims about the best window and θ, tested by cross-validation."""
    by = {(c["of"], c["value"]): c for c in results["choices"]}
    best = {of: max((c for c in results["choices"] if c["of"] == of), key=lambda c: c["cross_validation"])["value"] for of in ("window", "theta")}  # fmt: skip
    found = []
    for of, value, says in (("window", 3, "a window of 3 is best"), ("theta", 0.5, "θ = 0.5 is best: matching by position matters")):  # fmt: skip
        wider = [test for other, test in by[of, value]["against"].items() if float(other) > value]
        if wider:
            ours = f"best here {best[of]:g}; difference between {value:g} and wider ones {'; '.join(told(test) for test in wider)}, {CORPUS}"
            found.append(Claim(PAPER, says, f"{value:g}", ours, "greater", wider, note="cross-validation"))
    return found
