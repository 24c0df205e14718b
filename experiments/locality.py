"""Ranking dependency parses with the locality-convolution (LC) kernel, after Tsivtsivadze et al. (2006).

The data is sentences of the CRAFT corpus with their parses by Link Grammar. All settings are chosen by cross-validation
on the sentences of some documents, which are not used for testing. The other documents are split into halves, five times.
Each half is the training set once (5 parses per sentence), while the other half is ranked (up to 20 parses).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext
from itertools import product
from math import log2, prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import Log, writing
from experiments.data import link_parses
from experiments.evaluation import compare, holm, mean_std, score_interval, split_items
from experiments.locality_data import MEASURES, Corpus, Rows, SplitRows, distinct_sentences, to_table
from experiments.locality_kernels import (
    ALPHAS,
    COUNT,
    COUNTS,
    EXACT,
    FEATURES,
    GRAMS,
    POSITION,
    Block,
    Inner,
    Selector,
    Setting,
    Trial,
    best_setting,
    coefficients,
    describe,
    largest_best,
    locality_kernels,
    typewise,
)
from experiments.writing import Claim
from treelet import gram
from treelet.cuts import as_sequencebank
from treelet.kernels import Kernel, Locality, On, PartialTree
from treelet.metrics import paired_t_test
from treelet.structures import Table
from treelet.tasks import ParseLists

Floats = NDArray[np.float64]

PAPER = "Tsivtsivadze et al. (2006)"
PAPER_TAUS = [
    ("Link Grammar's own order", "0.16"),
    ("RLS, features", "0.42"),
    ("RLS + LC, 10-fold cross-validation on 500 sentences", "0.45"),
    ("RLS + LC, 600 sentences held out", "0.46"),
]
"""Mean τ_b in the paper, on another corpus (sentences of BioInfer) and with another version of the parser."""

# Systems, in the order of the table
OWN_ORDER, FEATURE_COUNTS, LINK_GRAMS = "Link Grammar's own order", "RLS, feature counts", "RLS, link n-grams"
LC = {match: f"RLS + LC, {match}" for match in (POSITION, EXACT, COUNT)}
PAPER_COUNTS, PAPER_LC = "the paper's setting: RLS, feature counts", "the paper's setting: RLS + LC"
COUNTS_AND_LC, BY_TYPE, TREES = (
    "RLS + feature counts + LC",
    "RLS + LC, each type normalised",
    "RLS + PT, dependency trees",
)
RANK_COUNTS, RANK_LC, RANK_BOTH = "RankRLS, feature counts", "RankRLS + LC", "RankRLS + feature counts + LC"

DEVELOPMENT = 350  # sentences to choose settings on, at most
HALVINGS = 5
TRAINING_PARSES = 5  # per sentence
FOLDS, REPEATS = 10, 3  # with nine tenths of the sentences for training
MIXTURE_SHARES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TREE_DECAYS = [(lam, mu) for lam in (0.05, 0.1, 0.2, 0.4) for mu in (0.1, 0.2, 0.4, 0.6)]
PAPER_WRAP: dict[str, Any] = {"types": "full", "normalised": False, "sigma": 155.0}
PAPER_ALPHA = 2.0**-10


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, log: Log = lambda text: None) -> dict[str, Any]:
    """Run the experiment. With `quick`, use 120 sentences and few settings."""
    everything = link_parses()
    distinct = distinct_sentences(everything)
    sentences = distinct[: 120 if quick else None]
    corpus = Corpus.of(sentences, len(sentences) // 3 if quick else DEVELOPMENT, seed)
    development = corpus.parses(corpus.development, TRAINING_PARSES)
    lists = [corpus.lists(development, k) for k in range(len(MEASURES))]
    selector = Selector(lists, to_table(lists[0]), 5 if quick else 10, seed, quick, n_jobs)
    log(f"settings chosen on {len(corpus.development)} sentences with {len(development)} parses")
    trials = {FEATURE_COUNTS: selector.search([COUNTS]), LINK_GRAMS: selector.search([Inner(GRAMS)])}
    trials |= {LC[match]: selector.search(inners) for match, inners in locality_kernels(quick).items()}
    for name, tried in trials.items():
        best = max(tried, key=Trial.best)
        log(f"{name}: {len(tried)} settings, cross-validation {best.best():.4f}, {best.setting}")
    ranking = Ranking(corpus, corpus.halves(1 if quick else HALVINGS, seed), n_jobs)
    log(f"{len(ranking.splits)} splits of {len(corpus.others)} sentences with {len(ranking.parses)} parses")

    # Halves for training and testing
    ranks = np.concatenate([sentence.ranks for sentence in sentences])[ranking.parses].astype(float)
    for k, measure in enumerate(MEASURES):
        ranking.rank(by_measure(OWN_ORDER, k, measure), lambda _, rows: -ranks[rows], k)
    rank_with(trials, ranking, list(MEASURES), log)
    rows: list[dict[str, Any]] = [
        {"name": OWN_ORDER, "cross_validation": float(np.nanmean(lists[0].tau(-lists[0].ranks)))}
    ]
    rows += [describe(name, tried) for name, tried in trials.items()]
    for name, inner in ((PAPER_COUNTS, COUNTS), (PAPER_LC, Inner(POSITION, 3, 0.5))):
        rows.append(Setting(inner, **PAPER_WRAP).described() | {"name": name, "alpha": PAPER_ALPHA, "tried": 1})
    rows += rank_combined(trials, selector, ranking, log)

    # Nine tenths for training
    folds, repeats = (2, 1) if quick else (FOLDS, REPEATS)
    larger = Ranking(corpus, corpus.folds(folds, repeats, seed), n_jobs)
    two = (FEATURE_COUNTS, LC[POSITION])
    rank_with({name: trials[name] for name in two}, larger, list(MEASURES)[:1], log)
    larger_items = larger.items("fold")

    systems = {name: best_setting(trials[name]) for name in two}
    curves = learning_curves(ranking, systems, quick, log)
    items = ranking.items("split")
    ids = [corpus.ids[k] for k in corpus.development]
    variants, variant_items = try_variants(selector, systems[LC[POSITION]], ids, log)
    choices, choice_items = compare_choices(trials[LC[POSITION]], ids)
    curves["tests"] = [
        {"kind": kind} | compare(items, curve_system(name, *a), curve_system(name, *b), "mean")
        for kind, a, b in curves["pairs"]
        for name in systems
    ]
    for test, p in zip(curves["tests"], holm([test["p"] for test in curves["tests"]]), strict=True):
        test["p_holm"] = p
    for row in rows:
        row["tau"] = score_interval(items, row["name"], "mean")
        for other, key in ((OWN_ORDER, "against_own"), (FEATURE_COUNTS, "against_counts")):
            if row["name"] != other:
                row[key] = compare(items, row["name"], other, "mean")
    return {
        "rows": rows,
        "tried": [
            trial.described() | {"row": name, "cross_validation": trial.best(), "share": trial.share()}
            for name, tried in trials.items()
            for trial in tried
        ],
        "forms": [compare(items, LC[POSITION], LC[match], "mean") for match in (EXACT, COUNT)],
        "at_paper": compare(items, PAPER_LC, PAPER_COUNTS, "mean"),
        "larger": {
            "folds": folds,
            "repeats": repeats,
            "train": float(np.mean([len(train) for train, _ in larger.splits])),
            "levels": {name: score_interval(larger_items, name, "mean") for name in (*two, PAPER_COUNTS, PAPER_LC)},
            "tests": [
                compare_by_sentence(larger_items, LC[POSITION], FEATURE_COUNTS),
                compare_by_sentence(larger_items, PAPER_LC, PAPER_COUNTS),
            ],
        },
        "scheme": compare_measures(items, corpus, trials),
        "types": corpus.goodness.types,
        "relations": corpus.goodness.relations,
        "curves": curves,
        "choices": choices,
        "trials": variants,
        "semidefinite": smallest_eigenvalues(lists[0], quick=quick, log=log),
        "counterexamples": counterexamples(),
        "published": [{"method": method, "tau": value} for method, value in PAPER_TAUS],
        "sentences": {"development": len(corpus.development), "others": len(corpus.others)},
        "parses": {"development": len(development), "pool": len(ranking.pool), "others": len(ranking.parses)},
        "documents": len({sentence.document for sentence in sentences}),
        "repeated": len(everything) - len(distinct),
        "items": [*items, *larger_items, variant_items, choice_items],
    }


# --- Ranking --------------------------------------------------------------------------------------------------------


class Ranking:
    """The parses for training and testing, and τ_b of each system on the test sentences of each split."""

    def __init__(self, corpus: Corpus, splits: Sequence[SplitRows], n_jobs: int) -> None:
        self.corpus, self.splits, self.n_jobs = corpus, splits, n_jobs
        self.parses = corpus.parses(corpus.others)
        self.pool = np.flatnonzero(corpus.order[self.parses] < TRAINING_PARSES)  # training parses, as rows of `parses`
        self.table = to_table(corpus.lists(self.parses))
        self.qid = corpus.qid[self.parses]
        self.goodness = corpus.goodness.values[self.parses]
        self.taus: list[dict[str, Floats]] = [{} for _ in splits]

    def block(self, kernel: Kernel) -> Block:
        """Compute the kernel values of all parses with the training parses."""
        return Block.of(kernel, self.table, self.pool, self.n_jobs)

    def rank(self, system: str, scores: Callable[[int, Rows], Floats], measure: int = 0) -> None:
        """Rank the test parses of each split by a function of the number of the split and the rows of parses."""
        for number, (_, test) in enumerate(self.splits):
            rows = np.flatnonzero(np.isin(self.qid, test))
            self.taus[number][system] = self.corpus.lists(self.parses[rows], measure).tau(scores(number, rows))

    def learn(self, system: str, values: Floats, alpha: float, measure: int = 0, *, ranks: bool = False) -> None:
        """Train RLS or RankRLS on the training half of each split, and rank the test parses."""
        pool_qid = self.qid[self.pool]

        def scores(number: int, rows: Rows) -> Floats:
            columns = np.flatnonzero(np.isin(pool_qid, self.splits[number][0]))
            train = self.pool[columns]
            K, y = values[np.ix_(train, columns)], self.goodness[train, measure]
            return values[np.ix_(rows, columns)] @ coefficients(K, y, alpha, pool_qid[columns] if ranks else None)

        self.rank(system, scores, measure)

    def items(self, name: str) -> list[dict[str, Any]]:
        return [
            split_items(f"{name} {number}", len(train), [self.corpus.ids[k] for k in test], taus)
            for number, ((train, test), taus) in enumerate(zip(self.splits, self.taus, strict=True))
        ]


def by_measure(system: str, number: int, measure: str) -> str:
    """Return the name of a system that is trained and tested with a measure of goodness."""
    return f"{system} | {measure}" if number else system


def rank_with(trials: Mapping[str, Sequence[Trial]], ranking: Ranking, measures: Sequence[str], log: Log) -> None:
    """Rank with the best setting of each system by each measure, and with the settings of the paper."""
    jobs: dict[Inner, list[tuple[Setting, str, float, int]]] = {}  # setting, system, strength and measure
    for name, tried in trials.items():
        for k, measure in enumerate(measures):
            best, setting = best_setting(tried, k)
            jobs.setdefault(setting.inner, []).append((setting, by_measure(name, k, measure), best.alpha(k), k))
    for name, inner in ((PAPER_LC, Inner(POSITION, 3, 0.5)), (PAPER_COUNTS, COUNTS)):
        jobs.setdefault(inner, []).append((Setting(inner, **PAPER_WRAP), name, PAPER_ALPHA, 0))
    for inner, listed in jobs.items():
        full, main = map(ranking.block, inner.columns())
        for setting in dict.fromkeys(setting for setting, *_ in listed):
            values = setting.block(full, main).values
            for other, system, alpha, k in listed:
                if other == setting:
                    ranking.learn(system, values, alpha, k)
        log(f"ranked with {inner}")


def rank_combined(
    trials: Mapping[str, Sequence[Trial]], selector: Selector, ranking: Ranking, log: Log
) -> list[dict[str, Any]]:
    """Rank with combinations of the chosen kernels: their sum, RankRLS, each type normalized; and with trees."""
    quick = selector.quick
    local = max(LC.values(), key=lambda name: best_setting(trials[name])[0].best())
    settings = [best_setting(trials[name])[1] for name in (FEATURE_COUNTS, local)]
    counts, lc = (setting.compute(selector.block) for setting in settings)
    scales = [1 / float(block.rows.mean()) for block in (counts, lc)]
    sums = {
        share: counts.times(scales[0]) + lc.times(share * scales[1])
        for share in (MIXTURE_SHARES[2:5] if quick else MIXTURE_SHARES)
    }
    sum_trials = {share: selector.trial(None, block) for share, block in sums.items()}
    share = max(sum_trials, key=lambda each: sum_trials[each].best())
    both = f"counts + {share:g} LC"
    row = describe(COUNTS_AND_LC, [sum_trials[share]], len(sums), kernel=both, of=local, chosen_share=share)
    row["edges"] += [f"share = {share:g}"] if share in (min(sums), max(sums)) else []
    rows = [row]
    alphas = {}
    kernels = [*(repr(setting.kernel()) for setting in settings), both]
    for name, block, kernel in zip((RANK_COUNTS, RANK_LC, RANK_BOTH), (counts, lc, sums[share]), kernels, strict=True):
        trial = selector.trial(None, block, ranks=True)
        rows.append(describe(name, [trial], 1, kernel=kernel))
        alphas[name] = trial.alpha()
    del sums, counts, lc, block  # large matrices
    counts, lc = (setting.compute(ranking.block) for setting in settings)
    ranking.learn(RANK_COUNTS, counts.values, alphas[RANK_COUNTS], ranks=True)
    ranking.learn(RANK_LC, lc.values, alphas[RANK_LC], ranks=True)
    values = (counts.times(scales[0]) + lc.times(share * scales[1])).values
    ranking.learn(COUNTS_AND_LC, values, sum_trials[share].alpha())
    ranking.learn(RANK_BOTH, values, alphas[RANK_BOTH], ranks=True)
    del counts, lc, values
    log(f"counts + {share:g} of {local}: cross-validation {rows[0]['cross_validation']:.4f}")
    inner = settings[1].inner
    decays = TREE_DECAYS[:1] if quick else TREE_DECAYS
    families: dict[str, list[Kernel]] = {
        BY_TYPE: [typewise(Locality(inner.window, inner.theta, inner.match))],
        TREES: [On("tree", PartialTree(lam, mu)).normalized() for lam, mu in decays],
    }
    for name, family in families.items():
        tried = [selector.trial(None, Block.of(kernel, selector.table)) for kernel in family]
        k = int(np.argmax([trial.best() for trial in tried]))
        rows.append(describe(name, [tried[k]], len(tried), kernel=repr(family[k])))
        if name == TREES:
            ends = [(min(values), max(values)) for values in zip(*TREE_DECAYS, strict=True)]
            chosen = zip(("tree λ", "μ"), TREE_DECAYS[k], ends, strict=True)
            rows[-1]["edges"] += [f"{parameter} = {value:g}" for parameter, value, both_ends in chosen if value in both_ends]  # fmt: skip
        ranking.learn(name, ranking.block(family[k]).values, tried[k].alpha())
        log(f"{name}: cross-validation {rows[-1]['cross_validation']:.4f}")
    return rows


# --- Comparisons ----------------------------------------------------------------------------------------------------


def compare_by_sentence(items: Sequence[Mapping[str, Any]], a: str, b: str) -> dict[str, Any]:
    """Compare two systems over splits and over items, and by the test of the paper: a t-test with one pair per sentence.

    A sentence that is ranked in several splits has one pair, of its means.
    """
    pairs: dict[Any, list[tuple[float, float]]] = {}
    for split in items:
        for sentence, first, second in zip(split["ids"], split["systems"][a], split["systems"][b], strict=True):
            if first is not None and second is not None:
                pairs.setdefault(sentence, []).append((first, second))
    means = np.array([np.mean(values, axis=0) for values in pairs.values()])
    test = paired_t_test(means[:, 0], means[:, 1])
    own = {"difference": test.difference, "interval": list(test.interval), "p": test.p_value, "of": len(means)}
    return compare(items, a, b, "mean") | {"sentences": own}


def compare_measures(
    items: Sequence[Mapping[str, Any]], corpus: Corpus, trials: Mapping[str, Sequence[Trial]]
) -> list[dict[str, Any]]:
    """Return the results with each measure of goodness, and test whether LC gains more by it than counts."""
    starts = np.searchsorted(corpus.qid, np.arange(len(corpus.sentences)))
    overlap = float(np.mean([len(split["ids"]) / split["train"] for split in items]))
    results: list[dict[str, Any]] = []
    for k, measure in enumerate(MEASURES):
        names = {name: by_measure(name, k, measure) for name in (OWN_ORDER, *trials)}
        values = corpus.goodness.values[:, k]
        chosen = {name: best_setting(tried, k) for name, tried in trials.items()}
        against = {name: compare(items, names[name], names[FEATURE_COUNTS], "mean") for name in LC.values()}
        result: dict[str, Any] = {
            "measure": measure,
            "mean": float(values.mean()),
            "best": float(np.maximum.reduceat(values, starts).mean()),
            "rows": {name: score_interval(items, system, "mean") for name, system in names.items()},
            "chosen": {name: setting.described() | {"share": trial.share(k)} for name, (trial, setting) in chosen.items()},
            "lc_against_counts": against,
        }  # fmt: skip
        if k:
            result["gain"] = {}
            for name, test in against.items():
                first = results[0]["lc_against_counts"][name]
                change = paired_t_test(test["splits"], first["splits"], overlap=overlap)
                difference = test["difference"] - first["difference"]
                result["gain"][name] = {
                    "difference": difference,
                    "interval": list(change.interval),
                    "p": change.p_value,
                }
        results.append(result)
    return results


# --- Learning curves: many sentences with few parses, or few sentences with many? -----------------------------------

SAME_NUMBER, MORE_PARSES, MORE_SENTENCES = "as many parses in all", "more parses a sentence", "more sentences"
CURVE_SENTENCES, CURVE_PARSES = (22, 44, 88, 175, 350), (1, 2, 5, 10, 20)
CURVE_PAIRS = (  # training sets to compare: sentences, parses per sentence
    (SAME_NUMBER, (350, 5), (175, 10)),
    (SAME_NUMBER, (350, 5), (88, 20)),
    (SAME_NUMBER, (175, 5), (44, 20)),
    (MORE_PARSES, (350, 10), (350, 5)),
    (MORE_PARSES, (350, 20), (350, 5)),
    (MORE_PARSES, (88, 20), (88, 5)),
    (MORE_SENTENCES, (350, 5), (88, 5)),
)
QUICK_PAIRS = ((SAME_NUMBER, (30, 2), (15, 4)), (MORE_PARSES, (30, 4), (30, 2)))


def curve_system(name: str, sentences: int, parses: int) -> str:
    """Return the name of a system with this number of training sentences and parses per sentence."""
    return f"{name}, {sentences} x {parses}"


def learning_curves(
    ranking: Ranking, systems: Mapping[str, tuple[Trial, Setting]], quick: bool, log: Log
) -> dict[str, Any]:
    """Return mean τ_b by number of training sentences and of parses per sentence, with the chosen kernels.

    The regularization strength is chosen for each number of parses, on the development sentences. The results of training
    sets that are compared are added to the ranking.
    """
    corpus, n_jobs = ranking.corpus, ranking.n_jobs
    pairs = QUICK_PAIRS if quick else CURVE_PAIRS
    sizes, counts = ((15, 30), (2, 4)) if quick else (CURVE_SENTENCES, CURVE_PARSES)
    compared = {each for _, *both in pairs for each in both}
    curves: dict[str, Any] = {"systems": list(systems), "sentences": sizes, "parses": counts, "pairs": pairs}
    curves["strengths"], curves["cells"] = {}, []
    row_of = np.full(len(corpus.qid), -1)
    row_of[ranking.parses] = np.arange(len(ranking.parses))
    for name, (trial, setting) in systems.items():
        shares = choose_strengths(corpus, setting, trial.scale, counts, n_jobs)
        curves["strengths"][name] = shares
        K = square_matrix(setting, ranking.table, n_jobs)
        for k in counts:
            means: dict[int, list[float]] = {size: [] for size in sizes}
            for number, (train, test) in enumerate(ranking.splits):
                order = np.random.default_rng(number).permutation(train)  # larger sets contain the smaller ones
                test_parses = corpus.parses(test)
                for size in sizes:
                    parses = corpus.parses(order[:size], k)
                    columns = row_of[parses]
                    y = corpus.goodness.values[parses, 0]
                    dual = coefficients(K[np.ix_(columns, columns)], y, shares[k] * trial.scale)
                    tau = corpus.lists(test_parses).tau(K[np.ix_(row_of[test_parses], columns)] @ dual)
                    means[size].append(float(np.nanmean(tau)))
                    if (size, k) in compared:
                        ranking.taus[number][curve_system(name, size, k)] = tau
            curves["cells"] += [{"system": name, "sentences": s, "parses": k, **mean_std(means[s])} for s in sizes]
            log(f"{name}, {k} parses: {', '.join(f'{np.mean(means[s]):.3f}' for s in sizes)}")
        del K
    return curves


def choose_strengths(
    corpus: Corpus, setting: Setting, scale: float, counts: Sequence[int], n_jobs: int, folds: int = 3
) -> dict[int, float]:
    """Return the best strength for each number of parses, as a multiple of `scale`, by cross-validation."""
    alphas = ALPHAS[2:]
    parses = corpus.parses(corpus.development)
    K = square_matrix(setting, to_table(corpus.lists(parses)), n_jobs)
    fold = (np.random.default_rng(0).permutation(len(corpus.sentences)) % folds)[corpus.qid[parses]]
    goodness = corpus.goodness.values[parses, 0]
    chosen = {}
    for k in counts:
        taus = np.zeros(len(alphas))
        for held in range(folds):
            test = np.flatnonzero(fold == held)
            train = np.flatnonzero((fold != held) & (corpus.order[parses] < k))
            lists, K_train, K_test = corpus.lists(parses[test]), K[np.ix_(train, train)], K[np.ix_(test, train)]
            for place, alpha in enumerate(alphas):
                scores = K_test @ coefficients(K_train, goodness[train], alpha * scale)
                taus[place] += np.nanmean(lists.tau(scores)) / folds
        chosen[k] = alphas[largest_best(taus)]
    return chosen


def square_matrix(setting: Setting, table: Table, n_jobs: int, rows: int = 2048) -> Floats:
    """Compute the matrix of a kernel by blocks of rows, so that there is no second matrix in memory."""
    kernel, n = setting.kernel(), len(table)
    K = np.empty((n, n))
    for begin in range(0, n, rows):
        end = min(begin + rows, n)
        K[begin:end, :end] = gram(kernel, table[begin:end], table[:end], n_jobs=n_jobs)
        K[:begin, begin:end] = K[begin:end, :begin].T
    return K


# --- Windows, θ and weights by type of feature ----------------------------------------------------------------------


def compare_choices(trials: Sequence[Trial], ids: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Compare the best settings with each window, and with each θ, on the development sentences."""
    systems: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for name in ("window", "theta"):
        best: dict[float, Trial] = {}
        for trial in trials:
            value = getattr(trial.setting.inner, name) if trial.setting else 0
            if value not in best or trial.best() > best[value].best():
                best[value] = trial
        systems |= {f"{name} {value:g}": trial.sentences() for value, trial in best.items()}
        rows += [{"of": name, "value": value, "cross_validation": best[value].best()} for value in sorted(best)]
    items = split_items("cross-validation: choices", len(ids), ids, systems)
    for row in rows:
        name, others = row["of"], [other["value"] for other in rows if other["of"] == row["of"] and other is not row]
        row["against"] = {
            f"{value:g}": compare([items], f"{name} {row['value']:g}", f"{name} {value:g}", "mean") for value in others
        }
    return rows, items


def try_variants(
    selector: Selector, base: tuple[Trial, Setting], ids: Sequence[str], log: Log
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Change the window of one type of feature, or leave one type out, and compare with the chosen setting."""
    trial, setting = base
    window, theta, match = setting.inner.window, setting.inner.theta, setting.inner.match
    kernels: dict[tuple[str, str], Locality] = {}
    for name in FEATURES[:1] if selector.quick else FEATURES:
        for other in (window - 2, window + 2):
            windows = {each: other if each == name else window for each in FEATURES}
            kernels["another window for one type", f"{name} {other}"] = Locality(windows, theta, match)
        kernels["all types but one", f"without {name}"] = Locality(window, theta, match, weights={name: 0.0})
    taus = {
        key: selector.trial(
            None, setting.block(*(Block.of(On(column, kernel), selector.table) for column in ("parse", "main")))
        ).sentences()
        for key, kernel in kernels.items()
    }
    chosen = "one window for all types"
    systems = {chosen: trial.sentences()} | {name: values for (_, name), values in taus.items()}
    items = split_items("cross-validation: trials", len(ids), ids, systems)
    rows: list[dict[str, Any]] = [
        {"what": what, "setting": name, "cross_validation": float(np.nanmean(values))}
        | {"against": compare([items], name, chosen, "mean")}
        for (what, name), values in taus.items()
    ]
    log(f"{len(rows)} variants, cross-validation up to {max(row['cross_validation'] for row in rows):.4f}")
    return sorted(rows, key=lambda row: str(row["what"]), reverse=True), items


# --- Positive semidefiniteness --------------------------------------------------------------------------------------


def smallest_eigenvalues(lists: ParseLists, *, quick: bool, log: Log) -> list[dict[str, Any]]:
    """Return the smallest eigenvalues relative to the largest, before and after the Gaussian, and whether a proof exists."""
    bank = as_sequencebank(lists.parses[: 100 if quick else 1000])
    rows = []
    for match, window in product((POSITION, EXACT, COUNT), (1, 3) if quick else (1, 3, 5, 7, 9)):
        for theta in (0.5, 1.0, 2.0, 5.0) if match == POSITION and window > 1 else (0.5,):
            kernel = Locality(window, theta, match)
            K = np.asarray(kernel(bank))
            block = Block(K, K.diagonal(), K.diagonal())
            sigma = block.median_distance()
            row: dict[str, Any] = {"match": match, "window": window, "theta": theta if match == POSITION else None}
            for name, matrix in (("plain", K), ("gaussian", block.gaussian(sigma).values)):
                eigenvalues = np.linalg.eigvalsh(matrix)
                row[name] = float(eigenvalues[0] / eigenvalues[-1])
            rows.append(row | {"certain": kernel.is_certain, "sigma": sigma})
    plain, gaussian = (min(row[name] for row in rows) for name in ("plain", "gaussian"))
    log(f"smallest eigenvalues: {plain:.2g} and {gaussian:.2g} of the largest")
    return rows


def counterexamples() -> dict[str, dict[str, Any]]:
    """Return small sets on which the kernel is indefinite: windows, by the formula, and whole sequences, by `Locality`.

    Eigenvalues are relative to the largest, of normalized matrices. The windows are all 64 sets of positions in a window
    of 7 that include the center, with one feature. The sequences are all 128 sequences of length 7 over two features.
    """

    def normalized(K: Floats) -> Floats:
        scale = np.sqrt(K.diagonal())
        return np.asarray(K / np.outer(scale, scale))

    window, theta = 7, 2.0
    others = [place for place in range(-(window // 2), window // 2 + 1) if place]
    windows = [(0, *(o for k, o in enumerate(others) if number >> k & 1)) for number in range(1 << len(others))]
    values, vectors = np.linalg.eigh(
        normalized(np.array([[float(window_kernel(a, b, theta)) for b in windows] for a in windows]))
    )
    with localcontext(prec=50):
        # The Rayleigh quotient of the eigenvector with 50 digits. The smallest eigenvalue is not larger.
        vector = [Decimal(float(v)) for v in vectors[:, 0]]
        parts = [v / window_kernel(a, a, theta).sqrt() for v, a in zip(vector, windows, strict=True)]
        form = sum(
            x * y * window_kernel(a, b, theta)
            for x, a in zip(parts, windows, strict=True)
            for y, b in zip(parts, windows, strict=True)
        )
        quotient = Decimal(form) / sum(v**2 for v in vector)
    sequences = [list(each) for each in product("ab", repeat=window)]
    spectrum = np.linalg.eigvalsh(normalized(np.asarray(Locality(window, 3.0)(sequences))))
    by_formula: dict[str, Any] = {"examples": len(windows), "window": window, "theta": theta}
    by_formula |= {"smallest": float(values[0] / values[-1]), "exact": float(quotient / Decimal(float(values[-1])))}
    by_kernel = {"examples": len(sequences), "window": window, "theta": 3.0}
    return {"windows": by_formula, "sequences": by_kernel | {"smallest": float(spectrum[0] / spectrum[-1])}}


def window_kernel(a: Sequence[int], b: Sequence[int], theta: float) -> Decimal:
    """Return κ of two windows in which one feature is at the positions a and b, with 50 digits.

    >>> round(float(window_kernel([0], [0, 1], 2.0)), 6)  # 2 (1 + exp(-1/4))
    3.557602
    """
    with localcontext(prec=50):
        return prod((1 + (-((Decimal(m - n) / Decimal(theta)) ** 2)).exp() for m in a for n in b), start=Decimal(1))


# --- Page -----------------------------------------------------------------------------------------------------------

ROUNDING = 2e-13  # 1,000 times the distance between doubles near 1
NOTABLE = 0.01
"""The largest difference of τ_b that counts as none: a quarter of the difference between LC and features in the paper."""


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    rows = {row["name"]: row for row in results["rows"]}
    test = rows[LC[POSITION]]["against_counts"]
    compared = {name: row["against_counts"]["p"] for name, row in rows.items() if "against_counts" in row}
    cells = {(cell["system"], cell["sentences"], cell["parses"]): cell for cell in results["curves"]["cells"]}
    counts, lc = results["curves"]["systems"]
    sizes = {key[1:] for key in cells}
    schemes = [result for result in results["scheme"] if "gain" in result]
    gain_p = holm([result["gain"][LC[POSITION]]["p"] for result in schemes])
    against = [result["lc_against_counts"][LC[POSITION]] for result in schemes]
    return writing.render(
        "locality",
        results,
        claims=claims(results),
        position=rows[LC[POSITION]],
        counts=rows[FEATURE_COUNTS],
        relation="not significantly better" if test["p"] >= 0.05 else "better" if test["difference"] > 0 else "worse",
        split_count=len(rows[OWN_ORDER]["tau"]["splits"]),
        adjusted=dict(zip(compared, holm(list(compared.values())), strict=True)),
        edges=[f"{name} ({', '.join(row['edges'])})" for name, row in rows.items() if row.get("edges")],
        measures=MEASURES,
        scheme_systems=[OWN_ORDER, FEATURE_COUNTS, LINK_GRAMS, *LC.values()],
        better_measures=[
            result["measure"]
            for result, each in zip(schemes, against, strict=True)
            if each["difference"] > 0 and each["p"] < 0.05
        ],
        gaining_measures=[
            result["measure"]
            for result, p in zip(schemes, gain_p, strict=True)
            if result["gain"][LC[POSITION]]["difference"] > 0 and p < 0.05
        ],
        cell=lambda *key: cells[key],
        cells_ahead=sum(cells[lc, *size]["mean"] > cells[counts, *size]["mean"] for size in sizes),
        power=lambda share: f"2^{round(log2(share))}",
        chosen=_chosen,
        diff=difference_with_p,
        rounding=ROUNDING,
        negative=[row for row in results["semidefinite"] if row["plain"] < -ROUNDING],
        indefinite=_indefinite(results["counterexamples"]),
    )


def difference_with_p(test: Mapping[str, Any]) -> str:
    return f"{test['difference']:+.3f} ({writing.interval(test['interval'], 3)}, p {writing.p_value(test['p'])})"


def _chosen(row: Mapping[str, Any]) -> str:
    """Describe the chosen setting of a system, with the absolute value of λ."""
    if "alpha" not in row:
        return ""
    strength = f"λ = {row['alpha']:.3g}"
    if "types" not in row:
        return f"`{row['kernel'] if len(row['kernel']) < 100 else row['kernel'][:45] + ' …'}`, {strength}"
    parts = [f"window {row['window']}"] if row["window"] > 1 else []
    parts += [f"θ = {row['theta']:g}"] if "theta" in row else []
    parts += [f"{row['types']} types", "normalized" if row["normalised"] else "plain"]
    parts += [f"Gaussian σ = {row['sigma']:g}"] if row.get("sigma") else []
    return ", ".join([*parts, strength])


def _indefinite(examples: Mapping[str, Mapping[str, Any]]) -> str:
    """Describe the examples on which the kernel is indefinite."""
    windows, sequences = examples["windows"], examples["sequences"]
    return (
        f"all {windows['examples']} windows of one feature with the center present (w = {windows['window']}, "
        f"θ = {windows['theta']:g}, by the formula): {windows['smallest']:.1e}; all {sequences['examples']} sequences of "
        f"length 7 over two features (w = {sequences['window']}, θ = {sequences['theta']:g}, by `tl.Locality`): "
        f"{sequences['smallest']:.1e}"
    )


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw τ_b of each system with its standard deviation over splits, and the learning curves. Requires matplotlib."""
    rows = results["rows"][::-1]
    size = (13, 0.8 + 0.4 * len(rows))
    with writing.saved_figure(path, columns=2, figsize=size, width_ratios=(1.3, 1)) as (_, (bars, lines)):
        places = list(range(len(rows)))
        errors = [row["tau"]["std"] for row in rows]
        bars.barh(places, [row["tau"]["mean"] for row in rows], xerr=errors, color="tab:blue", height=0.6)
        known = [(row["cross_validation"], k) for k, row in enumerate(rows) if "cross_validation" in row]
        bars.plot(*zip(*known, strict=True), "o", color="black", markersize=4, label="cross-validation")
        for value, text in ((0.16, "own order"), (0.42, "features"), (0.46, "LC")):
            bars.axvline(value, color="tab:red", linewidth=0.8, linestyle=":")
            bars.text(value, len(rows) - 0.4, text, color="tab:red", fontsize=7, ha="center", va="bottom")
        bars.set_yticks(places, [row["name"].replace("normalised", "normalized") for row in rows], fontsize=8)
        label = "test τ_b (bars, ± deviation over splits); dotted: the paper, on its corpus"
        bars.set(xlabel=label, ylim=(-0.6, len(rows)))
        bars.legend(loc="lower right", bbox_to_anchor=(1, 1), fontsize=8, frameon=False)
        curves = results["curves"]
        for system, style, name in zip(curves["systems"], ("-", "--"), ("counts", "LC"), strict=True):
            for k, parses in enumerate(curves["parses"]):
                cells = [cell for cell in curves["cells"] if (cell["system"], cell["parses"]) == (system, parses)]
                x, y = [cell["sentences"] * parses for cell in cells], [cell["mean"] for cell in cells]
                label = f"{parses} per sentence, {name}"
                lines.plot(x, y, style, marker="o", markersize=3, color=f"C{k}", label=label)
        lines.set(xscale="log", xlabel="training parses (sentences × parses of each)", ylabel="test τ_b")
        lines.legend(fontsize=7, frameon=False, ncols=2)


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the claims of the paper with our results, but those that rest on the paper's own protocol (`locality_protocol`)."""

    def greater(says: str, printed: str, *tests: Mapping[str, Any], **options: Any) -> Claim:
        ours = f"{'; '.join(map(difference_with_p, tests))}, CRAFT"
        return Claim(PAPER, says, printed, ours, "greater", tests, **options)

    def curves(kind: str) -> list[Mapping[str, Any]]:
        return [test for test in results["curves"]["tests"] if test["kind"] == kind]

    windows = [trial["against"] for trial in results["trials"] if trial["what"] == "another window for one type"]
    widest = max(windows, key=lambda test: test["difference"])
    eigenvalues = [
        row["plain"]
        for row in results["semidefinite"]
        if (row["match"], row["window"], row["theta"]) == (POSITION, 3, 0.5)
    ]
    best_values = []
    for name, value, says in (
        ("window", 3, "a window of 3 is best"),
        ("theta", 0.5, "θ = 0.5 is best: matching by position matters"),
    ):
        choices = {choice["value"]: choice for choice in results["choices"] if choice["of"] == name}
        wider = [test for other, test in choices[value]["against"].items() if float(other) > value]
        if wider:
            best = max(choices, key=lambda each: choices[each]["cross_validation"])
            differences = "; ".join(map(difference_with_p, wider))
            ours = f"best here {best:g}; difference between {value:g} and wider ones {differences}, CRAFT"
            best_values.append(Claim(PAPER, says, f"{value:g}", ours, "greater", wider, note="cross-validation"))
    return [
        greater(
            "matching by position is better than matching exact positions or any position in the window",
            "useful, no figure",
            *results["forms"],
        ),
        *best_values,
        Claim(
            PAPER,
            "longer or shorter windows for some types of features do not improve the result notably",
            "none",
            f"best of {len(windows)}: {difference_with_p(widest)}, CRAFT",
            "within",
            windows,
            high=NOTABLE,
            note="cross-validation; differences from one window for all types",
        ),
        greater("more parses per sentence improve the result", "no figure", *curves(MORE_PARSES), note="counts and LC"),
        greater(
            "more sentences help more than more parses per sentence",
            "no figure",
            *curves(SAME_NUMBER),
            note="the same number of parses, from more sentences; counts and LC",
        ),
        Claim(
            PAPER,
            "the LC kernel with w = 3, θ = 0.5 is positive semidefinite",
            "claimed",
            f"smallest eigenvalue {min(eigenvalues):.0e} of the largest",
            "within",
            [{"value": value, "interval": [value, value]} for value in eigenvalues],
            low=-ROUNDING,
            note="a value slightly below 0 can be caused by rounding",
        ),
        Claim(
            PAPER,
            "the LC kernel is positive semidefinite for every window and every θ ≥ 0",
            "implied",
            _indefinite(results["counterexamples"]),
            "within",
            [
                {"value": each["smallest"], "interval": [each["smallest"]] * 2}
                for each in results["counterexamples"].values()
            ],
            low=-ROUNDING,
            note="implied, because the paper calls it a kernel for every w and θ ≥ 0; normalized matrices; counterexamples, so no test is needed",
        ),
    ]
