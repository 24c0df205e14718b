"""Ranking dependency parses with the locality-convolution kernel: Tsivtsivadze et al. (2006) again.

Sentences of the CRAFT corpus with Link Grammar's parses of them. 500 sentences with at most 5 parses serve to choose all parameters
(by cross-validation over sentences) and to train; 600 sentences with at most 20 parses are ranked once a row.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import report
from experiments.running import Say
from treelet.cuts import as_sequencebank
from treelet.cuts.link_features import FEATURES
from treelet.datasets import link_parses
from treelet.kernels import Kernel, Locality, On, PartialTree
from treelet.metrics import link_f1, paired_t_test
from treelet.structures import Table
from treelet.tasks.dependency_ranking import ParseLists, ParseRanker, typewise

TRAINING, IN_TRAINING, IN_TEST, REPEATS = 500, 5, 20, 2
PUBLISHED = [
    ("Link Grammar's own order", "0.16"),
    ("RLS, features", "0.42"),
    ("RLS + LC, 10-fold cross-validation on 500 sentences", "0.45"),
    ("RLS + LC, 600 sentences held out", "0.46"),
]
"""Mean tau_b in the paper, on another corpus (BioInfer's sentences) with another version of the parser."""
ROUNDING = 2e-13  # 1,000 times the distance between doubles near 1
OWN, COUNTS = "Link Grammar's own order", "RLS, feature counts"


def both(kernel: Kernel) -> Kernel:
    """The kernel on parses with full types of links, and on parses with main types, each normalised."""
    return On("parse", kernel.normalized()) + On("main", kernel.normalized())


def rows(quick: bool) -> dict[str, tuple[str, list[Kernel]]]:
    """For each row of the table the learner and the kernels to choose from."""
    counts = Locality(1, match="count")

    def wraps(inner: Kernel, widths: Sequence[float] = (155.0,)) -> list[Kernel]:
        full, main = On("parse", inner), On("main", inner)
        near = [] if quick else [both(inner).gaussian(2.0)]
        return [*(full.gaussian(sigma) for sigma in widths), main.normalized(), both(inner), *near]

    sigmas = (155.0,) if quick else (80.0, 155.0, 300.0)
    windows = (3,) if quick else (3, 5)
    wider = [] if quick else [*wraps(Locality(3, 1.0)), *wraps(Locality(5))]
    shares = (1.0,) if quick else (0.5, 1.0)
    mixed: list[Kernel] = [
        both(counts) + share * both(Locality(3, match=match)) for match in ("position", "exact") for share in shares
    ]
    alone = [On("parse", counts), On("parse", counts).normalized(), On("main", counts).normalized().gaussian(2.0)]
    found: dict[str, tuple[str, list[Kernel]]] = {
        COUNTS: ("rls", [*alone, *wraps(counts, (40.0,))]),
        "RLS + LC, position": ("rls", [*wraps(Locality(3), sigmas), *wider]),
        "RLS + LC, exact": ("rls", [k for w in windows for k in wraps(Locality(w, match="exact"))]),
        "RLS + LC, count": ("rls", wraps(Locality(3, match="count"))),
        "RLS + feature counts + LC": ("rls", mixed),
        "RLS + LC, each type normalised": ("rls", [typewise(Locality(3, match="exact"))]),
        "RankRLS, feature counts": ("rankrls", wraps(counts, (40.0,))[:3]),
        "RankRLS + LC": ("rankrls", [*wraps(Locality(3))[:3], both(Locality(3, match="exact"))]),
        "RankRLS + feature counts + LC": ("rankrls", mixed[-1:]),
    }
    decays = [(0.4, 0.4)] if quick else [(0.2, 0.4), (0.4, 0.2), (0.4, 0.4)]
    trees: list[Kernel] = [On("tree", PartialTree(lam, mu)).normalized() for lam, mu in decays]
    found["RLS + PT, dependency trees"] = ("rls", trees)
    return found


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, say: Say = lambda text: None) -> dict[str, Any]:
    """The whole experiment; what it found, ready for JSON. With `quick`, 120 sentences and one setting a kernel."""
    started, started_cpu = time.perf_counter(), time.process_time()
    everything = ParseLists(link_parses())
    order = np.random.default_rng(seed).permutation(len(everything))
    if quick:
        order = order[:120]
    split = len(order) // 2 if quick else TRAINING
    train = everything[order[:split]].sample(IN_TRAINING, seed)
    test = everything[order[split:]].sample(IN_TEST, seed)
    say(f"{len(train)} sentences with {len(train.parses)} parses to train, {len(test)} with {len(test.parses)} to test")
    X, X_test = train.table(form="grct"), test.table(form="grct")
    found: list[dict[str, Any]] = [_row(OWN, test.tau(-test.ranks), float(np.nanmean(train.tau(-train.ranks))))]
    taus = {OWN: test.tau(-test.ranks)}
    tried: list[dict[str, Any]] = []
    for name, (learner, kernels) in rows(quick).items():
        begin = time.perf_counter()
        ranker = ParseRanker(kernels, learner=learner, form="grct", repeats=REPEATS, random_state=seed, n_jobs=n_jobs)
        ranker.fit(train, table=X)
        taus[name] = test.tau(ranker.scores(test, table=X_test))
        row = _row(name, taus[name], ranker.choice_.tau)
        row |= {"kernel": repr(ranker.choice_.kernel), "alpha": ranker.choice_.alpha, "tried": len(kernels)}
        found.append(row | {"seconds": time.perf_counter() - begin})
        tried += [
            {"row": name, "kernel": repr(c.kernel), "alpha": c.alpha, "cross_validation": c.tau}
            for c in ranker.choices_
        ]
        say(f"{name}: cross-validation {ranker.choice_.tau:.4f}, test {row['tau']:.4f}, {row['kernel'][:90]}")
    for row in found:
        for against, key in ((OWN, "p_own_order"), (COUNTS, "p_counts")):
            there = ~np.isnan(taus[row["name"]]) & ~np.isnan(taus[against])
            if row["name"] != against:
                row[key] = float(paired_t_test(taus[row["name"]][there], taus[against][there]).p_value)
    table_seconds, table_cpu = time.perf_counter() - started, time.process_time() - started_cpu
    say("further trials ...")
    return {
        "rows": found,
        "tried": tried,
        "trials": trials(everything[order[:split]], test, X_test, seed=seed, n_jobs=n_jobs, quick=quick, say=say),
        "semidefinite": semidefinite(train, quick=quick, say=say),
        "published": [{"method": method, "tau": value} for method, value in PUBLISHED],
        "sentences": [len(train), len(test)],
        "parses": [len(train.parses), len(test.parses)],
        "table_seconds": table_seconds,
        "table_cpu_seconds": table_cpu,
    }


def _row(name: str, tau: NDArray[np.float64], cross_validation: float) -> dict[str, Any]:
    there = tau[~np.isnan(tau)]
    return {
        "name": name,
        "tau": float(there.mean()),
        "error": float(there.std(ddof=1) / len(there) ** 0.5),
        "cross_validation": float(cross_validation),
        "sentences": len(there),
    }


def trials(
    lists: ParseLists, test: ParseLists, X_test: Table, *, seed: int, n_jobs: int, quick: bool, say: Say
) -> list[dict[str, Any]]:
    """What else might help, by cross-validation on the training sentences: windows and weights by type, goodness, parses.

    With more parses, counts without and with the LC kernel are also tried on the test sentences.
    """
    few = lists.sample(IN_TRAINING, seed)
    few_table = few.table()
    counts, local = Locality(1, match="count"), Locality(3, match="exact")
    found: list[dict[str, Any]] = []

    def add(what: str, kernels: Sequence[tuple[str, Kernel]], chosen: ParseLists) -> None:
        ranker = ParseRanker([kernel for _, kernel in kernels], repeats=REPEATS, random_state=seed, n_jobs=n_jobs)
        ranker.fit(chosen, table=few_table if chosen is few else None)
        for (name, _), choice in zip(kernels, ranker.choices_, strict=True):
            found.append({"what": what, "setting": name, "cross_validation": choice.tau, "alpha": choice.alpha})
        say(
            f"    {what}: "
            + ", ".join(f"{f['setting']} {f['cross_validation']:.4f}" for f in found if f["what"] == what)
        )

    def whole(kernel: Locality) -> Kernel:
        return On("parse", kernel).normalized()

    two: list[tuple[str, Kernel]] = [
        ("counts", both(counts)),
        ("LC, exact", both(local)),
        ("counts + LC, exact", both(counts) + both(local)),
    ]
    add("as in the table", [("counts, full types", whole(counts)), ("LC, exact, full types", whole(local)), *two], few)
    by_type = [
        (f"{name} 1", whole(Locality({other: 1 if other == name else 3 for other in FEATURES}, match="exact")))
        for name in FEATURES
    ]
    add("window of one type, LC exact", by_type[:1] if quick else by_type, few)
    weights = [(f"without {name}", whole(Locality(3, match="exact", weights={name: 0.0}))) for name in FEATURES]
    add("all types but one, LC exact", weights[:1] if quick else weights, few)
    own = [
        replace(s, goodness=tuple(link_f1(parse, s.gold) for parse in s.parses))
        for s in few.sentences
        if s.gold is not None
    ]
    add("goodness by our own alignment", two, ParseLists(own))
    more = lists.sample(2 * IN_TRAINING, seed)
    more_table = more.table()
    taus = []
    for name, kernel in two[::2]:
        ranker = ParseRanker([kernel], repeats=REPEATS, random_state=seed, n_jobs=n_jobs).fit(more, table=more_table)
        taus.append(test.tau(ranker.scores(test, table=X_test)))
        row = {"what": "ten parses a sentence", "setting": name, "cross_validation": ranker.choice_.tau}
        found.append(row | {"alpha": ranker.choice_.alpha, "test": float(np.nanmean(taus[-1]))})
        say(f"    ten parses a sentence, {name}: {ranker.choice_.tau:.4f}, test {found[-1]['test']:.4f}")
    there = ~np.isnan(taus[0]) & ~np.isnan(taus[1])
    found[-1]["p"] = float(paired_t_test(taus[1][there], taus[0][there]).p_value)
    return found


def semidefinite(lists: ParseLists, *, quick: bool, say: Say) -> list[dict[str, Any]]:
    """Smallest eigenvalues, as a share of the largest, before and after the Gaussian wrap; and whether theory is certain."""
    bank = as_sequencebank(lists.parses[: 100 if quick else 1000])
    found = []
    for match in ("position", "exact", "count"):
        for window in (1, 3) if quick else (1, 3, 5, 7, 9):
            for theta in (0.5, 1.0, 2.0, 5.0) if match == "position" and window > 1 else (0.5,):
                kernel = Locality(window, theta, match)
                K = kernel(bank)
                sigma = float(np.sqrt(np.median(np.diag(K)[:, None] - 2 * K + np.diag(K))))
                row: dict[str, Any] = {
                    "match": match,
                    "window": window,
                    "theta": theta if match == "position" else None,
                }
                for name, matrix in (
                    ("plain", K),
                    ("gaussian", np.exp((2 * K - np.diag(K)[:, None] - np.diag(K)) / sigma**2)),
                ):
                    values = np.linalg.eigvalsh(matrix)
                    row[name] = float(values[0] / values[-1])
                found.append(row | {"certain": kernel.is_certain, "sigma": sigma})
    say(
        f"smallest eigenvalues: {min(r['plain'] for r in found):.2g} and {min(r['gaussian'] for r in found):.2g} of the largest"
    )
    return found


# --- telling it -----------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    """The results as Markdown, the paper's figures beside ours."""
    table = [
        (
            row["name"],
            f"{row['cross_validation']:.3f}",
            f"**{row['tau']:.3f}** ± {row['error']:.3f}",
            report.p_value(row.get("p_own_order")),
            report.p_value(row.get("p_counts")),
            row.get("tried", ""),
            f"`{_short(row['kernel'])}`, λ = {row['alpha']:g}" if "kernel" in row else "",
        )
        for row in results["rows"]
    ]
    trials = [
        (
            t["what"],
            t["setting"],
            f"{t['cross_validation']:.4f}",
            f"{t['test']:.4f}" if "test" in t else "",
            report.p_value(t.get("p")),
        )
        for t in results["trials"]
    ]
    spectra = [
        (
            s["match"],
            s["window"],
            "" if s["theta"] is None else f"{s['theta']:g}",
            f"{s['plain']:.1e}",
            f"{s['gaussian']:.1e}",
            "yes" if s["certain"] else "no",
        )
        for s in results["semidefinite"]
    ]
    train, test = results["sentences"]
    in_train, in_test = results["parses"]
    parts = [
        "# Ranking dependency parses: the locality-convolution kernel",
        f"{report.made_by(results)} Grid search and table alone: {results['table_seconds']:.0f} s "
        f"({results['table_cpu_seconds']:.0f} s of CPU time).",
        "Tsivtsivadze et al. (2006) ranked Link Grammar's parses of biomedical sentences. Here the sentences are of the CRAFT corpus, "
        "parsed by Link Grammar 5.12, whose types of links have finer subscripts than those of the paper's version: so kernels see the "
        "full types (`parse`), the main ones (`main`), or both, whichever does better in cross-validation. How good a parse is, is the F-score of its links against the gold dependencies. "
        f"All parameters (kernel, window, θ, σ, λ) are chosen by 10-fold cross-validation, twice, over {train} sentences with at most "
        f"{IN_TRAINING} parses ({in_train:,} parses); the {test} test sentences with at most {IN_TEST} parses ({in_test:,}) are ranked "
        "once a row. Figures are Kendall's τ_b, averaged over the sentences whose parses differ in goodness, ± the standard error; "
        "p is that of a two-sided paired t-test over test sentences." + (" **Quick run.**" if results["quick"] else ""),
        report.table(
            [
                "method",
                "cross-validation",
                "test τ_b",
                "p against own order",
                "p against counts",
                "settings tried",
                "chosen",
            ],
            table,
            right=(1, 2, 3, 4, 5),
        ),
        "![tau](locality.png)",
        "In the paper, on another corpus and another version of the parser:",
        report.table(["method", "τ_b"], [(r["method"], r["tau"]) for r in results["published"]], right=(1,)),
        "## What else was tried",
        "Mean τ_b in the same cross-validation on the training sentences, kernels normalised; with ten parses a sentence also on the test "
        "sentences, and the p of counts with LC against counts alone.",
        report.table(["what", "setting", "cross-validation", "test", "p"], trials, right=(2, 3, 4)),
        "## Is the kernel positive semi-definite?",
        "Smallest eigenvalue of the matrix of 1,000 training parses as a share of the largest, plain and inside the Gaussian "
        '(σ² the median distance). "Certain" is `Locality.is_certain`: whether theory says that no eigenvalue can be negative, whatever '
        "the examples.",
        report.table(["match", "window", "θ", "plain", "Gaussian", "certain"], spectra, right=(1, 2, 3, 4)),
        f"Rounding alone gives up to about {ROUNDING:.0e}, to either side.",
    ]
    return "\n\n".join(parts) + "\n"


def _short(kernel: str) -> str:
    return kernel if len(kernel) <= 110 else f"{kernel[:60]} … {kernel[-40:]}"


def picture(results: dict[str, Any], path: Path) -> None:
    """tau_b of each row with its standard error; needs matplotlib."""
    rows = results["rows"][::-1]
    with report.drawn(path, figsize=(7, 0.8 + 0.4 * len(rows))) as (_, axes):
        places = np.arange(len(rows))
        axes.barh(places, [r["tau"] for r in rows], xerr=[r["error"] for r in rows], color="tab:blue", height=0.6)
        axes.plot(
            [r["cross_validation"] for r in rows], places, "o", color="black", markersize=4, label="cross-validation"
        )
        for value, text in ((0.16, "own order"), (0.42, "features"), (0.46, "LC")):
            axes.axvline(value, color="tab:red", linewidth=0.8, linestyle=":")
            axes.text(value, len(rows) - 0.4, text, color="tab:red", fontsize=7, ha="center", va="bottom")
        axes.set_yticks(places, [r["name"] for r in rows], fontsize=8)
        axes.set(xlabel="test τ_b (bars, ± standard error); dotted: the paper's, on its corpus", ylim=(-0.6, len(rows)))
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), fontsize=8, frameon=False)
