"""Ranking dependency parses by the protocol of Tsivtsivadze et al. (2006), section 6, in ten random splits.

In each split, 500 of 1,100 sentences are for parameter estimation and 600 for final validation, as in the paper. All settings
are chosen by 10-fold cross-validation on the 500, with 5 random parses per sentence. The models are trained on the same
parses, and rank up to 20 parses of each of the 600 sentences. `locality` has other systems, splits and measures.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from math import log2
from pathlib import Path
from typing import Any

import numpy as np

from experiments import Log, writing
from experiments.data import link_parses
from experiments.evaluation import compare, score_interval
from experiments.locality import (
    FEATURE_COUNTS,
    LC,
    OWN_ORDER,
    PAPER,
    PAPER_ALPHA,
    PAPER_COUNTS,
    PAPER_LC,
    PAPER_TAUS,
    PAPER_WRAP,
    TRAINING_PARSES,
    Ranking,
    difference_with_p,
)
from experiments.locality_data import Corpus, Goodness, Rows, SplitRows
from experiments.locality_kernels import COUNTS, POSITION, Block, Inner, coefficients
from experiments.writing import Claim
from treelet.learn import RLS
from treelet.metrics import paired_t_test

SPLITS, TRAIN, FOLDS = 10, 500, 10
WINDOWS, THETAS = (3, 5), (0.5, 1.0, 2.0)
WIDTHS = {PAPER_LC: (38.75, 77.5, 155.0, 310.0, 620.0), PAPER_COUNTS: (9.6875, 19.375, 38.75, 77.5, 155.0)}
ALPHAS = tuple(2.0**power for power in range(-20, 1, 2))
CHOSEN = {LC[POSITION]: PAPER_LC, FEATURE_COUNTS: PAPER_COUNTS}
"""Systems with chosen settings, and the same systems with the settings of the paper."""
PAPER_INNER = {PAPER_LC: Inner(POSITION, 3, 0.5), PAPER_COUNTS: COUNTS}


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, log: Log = lambda text: None) -> dict[str, Any]:
    """Run the experiment. With `quick`, use 110 sentences, two splits and few settings."""
    sentences = link_parses()[: 110 if quick else None]
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(len(sentence.parses)) for sentence in sentences])
    given = np.array([value for sentence in sentences for value in sentence.goodness])[:, None]
    corpus = Corpus(sentences, Goodness(given, [], []), order, np.array([], np.intp))
    ranking = Ranking(corpus, random_splits(len(sentences), 2 if quick else SPLITS, seed), n_jobs)
    log(f"{len(sentences)} sentences, {len(ranking.pool)} parses for training and {len(ranking.parses)} for testing")
    ranks = np.concatenate([sentence.ranks for sentence in sentences]).astype(float)
    ranking.rank(OWN_ORDER, lambda _, rows: -ranks[rows])
    grids = {
        LC[POSITION]: [Inner(POSITION, w, theta) for w in WINDOWS[: 1 if quick else None] for theta in THETAS[: 1 if quick else None]],
        FEATURE_COUNTS: [COUNTS],
    }  # fmt: skip
    tried = [trial for name, inners in grids.items() for trial in cross_validate(ranking, name, inners, seed, log)]
    chosen = {name: choose(tried, name, len(ranking.splits)) for name in grids}
    own = [np.nanmean(corpus.lists(corpus.parses(train, TRAINING_PARSES)).tau(-ranks[corpus.parses(train, TRAINING_PARSES)])) for train, _ in ranking.splits]  # fmt: skip
    rank_all(ranking, chosen, log)
    items = ranking.items("split")
    systems = (OWN_ORDER, *CHOSEN, *CHOSEN.values())
    pairs = {
        "features": (FEATURE_COUNTS, OWN_ORDER),
        "lc": (LC[POSITION], FEATURE_COUNTS),
        "at_paper": (PAPER_LC, PAPER_COUNTS),
        "paper_lc": (PAPER_LC, FEATURE_COUNTS),
    }
    return {
        "sentences": len(sentences),
        "train": len(ranking.splits[0][0]),
        "test": len(ranking.splits[0][1]),
        "parses": {"train": len(ranking.pool), "all": len(ranking.parses)},
        "grid": {"windows": WINDOWS, "thetas": THETAS, "widths": WIDTHS, "alphas": ALPHAS, "folds": FOLDS},
        "levels": {name: score_interval(items, name, "mean") for name in systems},
        "cross_validation": {OWN_ORDER: own} | {name: [row["cross_validation"] for row in rows] for name, rows in chosen.items()},
        "chosen": chosen,
        "tried": tried,
        "tests": {key: compare(items, a, b, "mean") | {"t_tests": t_tests(items, a, b)} for key, (a, b) in pairs.items()},
        "items": items,
    }  # fmt: skip


def random_splits(sentences: int, number: int, seed: int) -> list[SplitRows]:
    """Split the sentences at random into sets for training and testing, in the proportion of the paper."""
    train = round(sentences * TRAIN / 1100)
    orders = [np.random.default_rng([seed, split]).permutation(sentences) for split in range(number)]
    return [(np.sort(order[:train]), np.sort(order[train:])) for order in orders]


def pool_rows(ranking: Ranking, sentences: Rows) -> Rows:
    """Return the training parses of some sentences, as places in the pool."""
    return np.flatnonzero(np.isin(ranking.qid[ranking.pool], sentences))


def cross_validate(ranking: Ranking, name: str, inners: Sequence[Inner], seed: int, log: Log) -> list[dict[str, Any]]:
    """Return mean τ_b of each setting in each split, by cross-validation over the training sentences, for each λ."""
    trials: list[dict[str, Any]] = []
    table, corpus = ranking.table[ranking.pool], ranking.corpus
    for inner in inners:
        block = Block.of(inner.columns()[0], table, n_jobs=ranking.n_jobs)
        rows: list[dict[str, Any]] = [
            {"system": name, "window": inner.window, "theta": inner.theta, "sigma": sigma, "taus": []}
            for sigma in WIDTHS[CHOSEN[name]]
        ]
        for number, (train, _) in enumerate(ranking.splits):
            columns = pool_rows(ranking, train)
            parses = ranking.parses[ranking.pool[columns]]
            lists = corpus.lists(parses)
            fold = np.random.default_rng([seed, number, FOLDS]).permutation(len(train)) % FOLDS
            part = Block(block.values[np.ix_(columns, columns)], block.rows[columns], block.columns[columns])
            for row in rows:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # strengths near rounding, tiny negative eigenvalues
                    model = RLS("precomputed").fit(part.gaussian(row["sigma"]).values, lists.goodness)
                    scores = model.held_out(fold[lists.qid], ALPHAS)
                row["taus"].append([round(float(np.nanmean(lists.tau(values))), 6) for values in scores])
        trials += rows
        log(f"{name}, {inner}: " + ", ".join(f"{np.max(row['taus'], axis=1).mean():.4f}" for row in rows))
    return trials


def choose(tried: Sequence[Mapping[str, Any]], name: str, splits: int) -> list[dict[str, Any]]:
    """Return the setting with the highest mean τ_b in cross-validation, for each split."""
    chosen = []
    for number in range(splits):
        best = max((row for row in tried if row["system"] == name), key=lambda row: max(row["taus"][number]))
        taus = best["taus"][number]
        setting = {key: best[key] for key in ("window", "theta", "sigma")}
        chosen.append(setting | {"alpha": ALPHAS[int(np.argmax(taus))], "cross_validation": max(taus)})
    return chosen


def rank_all(ranking: Ranking, chosen: Mapping[str, Sequence[Mapping[str, Any]]], log: Log) -> None:
    """Train on the training sentences of each split and rank the test sentences, with chosen settings and the paper's."""
    jobs: dict[Inner, list[tuple[str, int, float, float]]] = {}  # system, split, σ and λ
    for name, paper in CHOSEN.items():
        for number, row in enumerate(chosen[name]):
            inner = Inner(PAPER_INNER[paper].match, row["window"], row["theta"])
            jobs.setdefault(inner, []).append((name, number, row["sigma"], row["alpha"]))
            jobs.setdefault(PAPER_INNER[paper], []).append((paper, number, PAPER_WRAP["sigma"], PAPER_ALPHA))
    for inner, listed in jobs.items():
        block = ranking.block(inner.columns()[0])
        for name, number, sigma, alpha in listed:
            train, test = ranking.splits[number]
            columns, rows = pool_rows(ranking, train), np.flatnonzero(np.isin(ranking.qid, test))
            places = ranking.pool[columns]
            K, K_test = (
                Block(block.values[np.ix_(each, columns)], block.rows[each], block.columns[columns])
                .gaussian(sigma)
                .values
                for each in (places, rows)
            )
            scores = K_test @ coefficients(K, ranking.goodness[places, 0], alpha)
            ranking.taus[number][name] = ranking.corpus.lists(ranking.parses[rows]).tau(scores)
        log(f"ranked with {inner}")


def t_tests(items: Sequence[Mapping[str, Any]], a: str, b: str) -> list[dict[str, Any]]:
    """Return the test of the paper in each split: a two-tailed paired t-test with one pair per test sentence."""
    tests = []
    for split in items:
        both = zip(split["systems"][a], split["systems"][b], strict=True)
        pairs = np.array([(x, y) for x, y in both if x is not None and y is not None])
        test = paired_t_test(pairs[:, 0], pairs[:, 1])
        tests.append({"difference": test.difference, "interval": list(test.interval), "p": test.p_value})
    return tests


# --- Page -----------------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    test = results["tests"]["lc"]
    return writing.render(
        "locality_protocol",
        results,
        claims=claims(results),
        table_rows=_table_rows(results),
        relation="not significantly better" if test["p"] >= 0.05 else "better" if test["difference"] > 0 else "worse",
        significant={
            key: (
                sum(each["p"] < 0.05 and each["difference"] > 0 for each in test["t_tests"]),
                sum(each["p"] < 0.05 and each["difference"] < 0 for each in test["t_tests"]),
            )
            for key, test in results["tests"].items()
        },
        split_count=test["of"],
        at_edge=_at_edge(results),
        systems={"own": OWN_ORDER, "counts": FEATURE_COUNTS, "lc": LC[POSITION]},
        power=lambda value: f"2^{round(log2(value))}",
        mean=np.mean,
        diff=difference_with_p,
    )


def _table_rows(results: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the rows of the main table: method, printed figure, and our figure with its interval over splits."""

    def level(name: str) -> str:
        score = results["levels"][name]
        return f"**{score['mean']:.3f}** ({score['interval'][0]:.3f} to {score['interval'][1]:.3f})"

    validated = results["cross_validation"][LC[POSITION]]
    ours = [level(OWN_ORDER), level(FEATURE_COUNTS), f"**{np.mean(validated):.3f}** ({min(validated):.3f} to {max(validated):.3f} in single splits)", level(LC[POSITION])]  # fmt: skip
    return [(method, printed, own) for (method, printed), own in zip(PAPER_TAUS, ours, strict=True)]


def _at_edge(results: Mapping[str, Any]) -> list[str]:
    """Count the splits in which the chosen σ or λ is the smallest or largest of its grid."""
    found = []
    for name, rows in results["chosen"].items():
        grids = {"σ": ("sigma", results["grid"]["widths"][CHOSEN[name]]), "λ": ("alpha", results["grid"]["alphas"])}
        for symbol, (key, values) in grids.items():
            if count := sum(row[key] in (values[0], values[-1]) for row in rows):
                found.append(f"{symbol} of {name} in {count}")
    return found


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw τ_b of both systems and of the parser's own order in each split. Requires matplotlib."""
    with writing.saved_figure(path, figsize=(8, 4)) as (_, axes):
        for name, printed, color in ((OWN_ORDER, 0.16, "tab:gray"), (FEATURE_COUNTS, 0.42, "tab:blue"), (LC[POSITION], 0.46, "tab:orange")):  # fmt: skip
            values = results["levels"][name]["splits"]
            axes.plot(range(1, len(values) + 1), values, "o-", color=color, label=name)
            axes.axhline(printed, color=color, linewidth=0.8, linestyle=":")
        axes.set(xlabel="split", ylabel="τ_b on the test sentences (dotted: the paper)", ylim=(0, 0.55))
        axes.set_xticks(range(1, len(values) + 1))
        axes.legend(fontsize=8, frameon=False, loc="center right", bbox_to_anchor=(1, 0.55))


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the claims of the paper with our results."""
    tests = results["tests"]

    def reaches(name: str, says: str, printed: float) -> Claim:
        score = results["levels"][name]
        ours = f"{score['mean']:.3f} ({score['interval'][0]:.3f} to {score['interval'][1]:.3f}), CRAFT"
        low, high = round(printed - 0.05, 2), round(printed + 0.05, 2)
        values = [score | {"value": score["mean"]}]
        return Claim(PAPER, says, f"{printed:.2f}", ours, "within", values, low=low, high=high)

    def greater(says: str, printed: str, key: str, **options: Any) -> Claim:
        test = tests[key]
        p = [each["p"] for each in test["t_tests"]]
        up, down = (
            sum(each["p"] < 0.05 and sign * each["difference"] > 0 for each in test["t_tests"]) for sign in (1, -1)
        )
        note = (
            f"{results['train']} sentences for training and {results['test']} for testing, as in the paper; the paper's own "
            f"t-test over sentences: better with p < 0.05 in {up} of {len(p)} splits, worse in {down}"
        )
        if "note" in options:
            note = f"{options.pop('note')}; {note}"
        return Claim(PAPER, says, printed, f"{difference_with_p(test)}, CRAFT", "greater", [test], note=note, **options)

    return [
        reaches(OWN_ORDER, "the order of Link Grammar is poor on biomedical text", 0.16),
        greater(
            "RLS with features is better than the order of the parser", "0.42 against 0.16", "features", effect=0.26
        ),
        reaches(FEATURE_COUNTS, "RLS with features reaches 0.42", 0.42),
        greater(
            "RLS with the LC kernel is better than RLS with features", "0.46 against 0.42, p < 0.05", "lc", effect=0.04
        ),
        greater(
            "RLS with the LC kernel is better than RLS with features, with the paper's w, θ, σ and λ for both",
            "not tested",
            "at_paper",
            note="the paper chose σ and λ for the LC kernel, not for the features",
            own=True,
        ),
        reaches(LC[POSITION], "RLS with the LC kernel reaches 0.46", 0.46),
    ]
