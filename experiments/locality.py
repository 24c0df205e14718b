"""Ranking of dependency parses with the locality-convolution kernel, after Tsivtsivadze et al. (2006).

The data is sentences of the CRAFT corpus with their parses by Link Grammar. All settings are chosen by
cross-validation on the sentences of some documents, which are not used for testing. The other
documents are split into halves, five times. Each half is the training set once (5 parses per
sentence), while the other is ranked (up to 20 parses).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.data import link_parses
from experiments.differences import across, holm, level, part
from experiments.locality_curves import cell, curves
from experiments.locality_data import Corpus, Rows, distinct, tabled
from experiments.locality_goodness import MEASURES
from experiments.locality_grid import COUNT as ANY
from experiments.locality_grid import COUNTS as COUNTS_INNER
from experiments.locality_grid import (
    EXACT,
    GRAMS,
    POSITION,
    Block,
    Chooser,
    Inner,
    Setting,
    Trial,
    coefficients,
    edges,
    inners,
)
from experiments.locality_trials import by_choice, counterexamples, semidefinite, trials
from experiments.running import Say
from treelet.cuts.features import FEATURES
from treelet.kernels import Kernel, Locality, On, PartialTree
from treelet.metrics import paired_t_test
from treelet.structures import Table

Matrix = NDArray[np.float64]

DEVELOPMENT, HALVINGS, IN_TRAINING = 350, 5, 5
FOLDS, REPEATS = 10, 3  # with nine tenths of the sentences for training
OWN, COUNTS, GRAM_ROW = "Link Grammar's own order", "RLS, feature counts", "RLS, link n-grams"
LC = {match: f"RLS + LC, {match}" for match in (POSITION, EXACT, ANY)}
MIXED, BY_TYPE, TREES = "RLS + feature counts + LC", "RLS + LC, each type normalised", "RLS + PT, dependency trees"
RANK_COUNTS, RANK_LC, RANK_MIXED = "RankRLS, feature counts", "RankRLS + LC", "RankRLS + feature counts + LC"
PAPER_LC, PAPER_COUNTS = "the paper's setting: RLS + LC", "the paper's setting: RLS, feature counts"
PAPER_WRAP: dict[str, Any] = {"types": "full", "normalised": False, "sigma": 155.0}
PAPER_ALPHA = 2.0**-10
SHARES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
DECAYS = [(lam, mu) for lam in (0.05, 0.1, 0.2, 0.4) for mu in (0.1, 0.2, 0.4, 0.6)]
PUBLISHED = [
    ("Link Grammar's own order", "0.16"),
    ("RLS, features", "0.42"),
    ("RLS + LC, 10-fold cross-validation on 500 sentences", "0.45"),
    ("RLS + LC, 600 sentences held out", "0.46"),
]
"""Mean tau_b in the paper, on another corpus (BioInfer's sentences) with another version of the parser."""


@dataclass(frozen=True)
class Job:
    """Settings of a learner: regularization strength, measure of goodness, and whether it learns ranks."""

    system: str
    alpha: float
    measure: int = 0
    ranks: bool = False


class Ranking:
    """The sentences that are learned from and ranked, in splits; what each system did on each."""

    def __init__(self, corpus: Corpus, splits: Sequence[tuple[Rows, Rows]], n_jobs: int) -> None:
        self.corpus, self.splits, self.n_jobs = corpus, splits, n_jobs
        self.parses = corpus.parses(corpus.others)
        self.pool = np.flatnonzero(corpus.turn[self.parses] < IN_TRAINING)  # those to learn from, among these
        self.table = tabled(corpus.lists(self.parses))
        self.qid = corpus.qid[self.parses]
        self.goodness = corpus.goodness.values[self.parses]
        self.taus: list[dict[str, Matrix]] = [{} for _ in splits]

    def block(self, kernel: Kernel) -> Block:
        """Kernel values of all parses with those to learn from."""
        return Block.of(kernel, self.table, self.pool, self.n_jobs)

    def add(self, system: str, scores: Callable[[int, Rows], Matrix], measure: int = 0) -> None:
        """Rank the test parses of each split by what a function says of them."""
        for number, (_, test) in enumerate(self.splits):
            rows = np.flatnonzero(np.isin(self.qid, test))
            lists = self.corpus.lists(self.parses[rows], measure)
            self.taus[number][system] = lists.tau(scores(number, rows))

    def learn(self, values: Matrix, jobs: Sequence[Job]) -> None:
        """Rank with what is learned from each training half, for each job."""
        pool_qid = self.qid[self.pool]
        for job in jobs:

            def scores(number: int, rows: Rows, job: Job = job) -> Matrix:
                columns = np.flatnonzero(np.isin(pool_qid, self.splits[number][0]))
                chosen = self.pool[columns]
                K, y = values[np.ix_(chosen, columns)], self.goodness[chosen, job.measure]
                return values[np.ix_(rows, columns)] @ coefficients(
                    K, y, job.alpha, pool_qid[columns] if job.ranks else None
                )

            self.add(job.system, scores, job.measure)

    def items(self, name: str = "split") -> list[dict[str, Any]]:
        """For each split, tau_b of each test sentence by each system."""
        return [
            part(f"{name} {number}", len(train), [self.corpus.ids[k] for k in test], taus)
            for number, ((train, test), taus) in enumerate(zip(self.splits, self.taus, strict=True))
        ]


# --- choosing -------------------------------------------------------------------------------------------------------


def searched(chooser: Chooser, table: Table, quick: bool, say: Say) -> dict[str, list[Trial]]:
    """All settings of each row that has a grid, in cross-validation."""
    families = {COUNTS: [COUNTS_INNER], GRAM_ROW: [Inner(GRAMS)]}
    families |= {LC[match]: family for match, family in inners(quick).items()}
    found = {}
    for name, family in families.items():
        found[name] = chooser.search(family, table, quick)
        best = max(found[name], key=Trial.best)
        say(f"{name}: {len(found[name])} settings, cross-validation {best.best():.4f}, {best.setting}")
    return found


def chosen(tried: Sequence[Trial], measure: int = 0) -> tuple[Trial, Setting]:
    """The setting that did best by a measure."""
    best = max(tried, key=lambda trial: trial.best(measure))
    if best.setting is None:
        raise ValueError("This kernel has no grid of settings.")
    return best, best.setting


def blocks(inner: Inner, block: Callable[[Kernel], Block]) -> tuple[Block, Block]:
    full, main = inner.columns()
    return block(full), block(main)


def row(name: str, tried: Sequence[Trial], settings: int | None = None, more: Mapping[str, Any] | None = None) -> dict[str, Any]:  # fmt: skip
    """The chosen settings of a row of the table."""
    best = max(tried, key=Trial.best)
    found: dict[str, Any] = {
        "name": name,
        "cross_validation": best.best(),
        "alpha": best.alpha(),
        "share": best.share(),
    }
    found |= {"tried": settings or len(tried), "strengths": len(best.taus), "edges": edges(best, tried)}
    return found | (best.setting.described() if best.setting else {}) | dict(more or {})


# --- the experiment -------------------------------------------------------------------------------------------------


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, say: Say = lambda text: None) -> dict[str, Any]:
    """The whole experiment; what it found, ready for JSON. With `quick`, 120 sentences and few settings."""
    everything = link_parses()
    sentences = distinct(everything)[: 120 if quick else None]
    corpus = Corpus.of(sentences, len(sentences) // 3 if quick else DEVELOPMENT, seed)
    dev = corpus.parses(corpus.development, IN_TRAINING)
    chooser = Chooser([corpus.lists(dev, k) for k in range(len(MEASURES))], 5 if quick else 10, seed, n_jobs)
    table = tabled(chooser.lists[0])
    say(f"settings chosen on {len(corpus.development)} sentences with {len(dev)} parses")
    grid = searched(chooser, table, quick, say)
    ranking = Ranking(corpus, corpus.halves(1 if quick else HALVINGS, seed), n_jobs)
    say(f"{len(ranking.splits)} splits of {len(corpus.others)} sentences with {len(ranking.parses)} parses")
    own_order(ranking)
    rows = [{"name": OWN, "cross_validation": float(np.nanmean(chooser.lists[0].tau(-chooser.lists[0].ranks)))}]
    rows += gridded(grid, ranking, say)
    rows += combined(grid, chooser, table, ranking, quick, say)
    two = {name: chosen(grid[name]) for name in (COUNTS, LC[POSITION])}
    larger = Ranking(corpus, corpus.folds(2 if quick else FOLDS, 1 if quick else REPEATS, seed), n_jobs)
    rank_with({name: grid[name] for name in two}, larger, MEASURES[:1], say)
    larger_items = larger.items("fold")
    found, more = curves(corpus, ranking.splits, two, ranking.table, quick, say, n_jobs)
    for number, taus in enumerate(more):
        ranking.taus[number].update(taus)
    kept = ranking.items()
    ids = [corpus.ids[k] for k in corpus.development]
    tried, trial_items = trials(chooser, table, chosen(grid[LC[POSITION]]), ids, quick, say)
    choices, choice_items = by_choice(grid[LC[POSITION]], ids)
    return {
        "rows": [tested(one, kept) for one in rows],
        "tried": [trial_row(name, trial) for name, tried_ in grid.items() for trial in tried_],
        "forms": [across(kept, LC[POSITION], LC[match], "mean") for match in (EXACT, ANY)],
        "at_paper": across(kept, PAPER_LC, PAPER_COUNTS, "mean"),
        "larger": {
            "folds": FOLDS if not quick else 2,
            "repeats": REPEATS if not quick else 1,
            "train": float(np.mean([len(train) for train, _ in larger.splits])),
            "levels": {
                name: level(larger_items, name, "mean") for name in (COUNTS, LC[POSITION], PAPER_COUNTS, PAPER_LC)
            },
            "tests": [
                with_sentences(larger_items, LC[POSITION], COUNTS),
                with_sentences(larger_items, PAPER_LC, PAPER_COUNTS),
            ],
        },
        "scheme": schemes(kept, corpus, grid),
        "types": corpus.goodness.types,
        "relations": corpus.goodness.relations,
        "curves": found | {"tests": budget(kept, found)},
        "choices": choices,
        "trials": tried,
        "semidefinite": semidefinite(chooser.lists[0], quick=quick, say=say),
        "counterexamples": counterexamples(),
        "published": [{"method": method, "tau": value} for method, value in PUBLISHED],
        "sentences": {"development": len(corpus.development), "others": len(corpus.others)},
        "parses": {"development": len(dev), "pool": len(ranking.pool), "others": len(ranking.parses)},
        "documents": len({s.document for s in sentences}),
        "repeated": len(everything) - len(distinct(everything)),
        "items": [*kept, *larger_items, trial_items, choice_items],
    }


def trial_row(name: str, trial: Trial) -> dict[str, Any]:
    """A setting that was tried for a row of the table."""
    told = trial.setting.described() if trial.setting else {}
    return told | {"row": name, "cross_validation": trial.best(), "share": trial.share()}


def own_order(ranking: Ranking) -> None:
    """The parser's own order, by each measure."""
    ranks = np.concatenate([sentence.ranks for sentence in ranking.corpus.sentences])[ranking.parses].astype(float)
    for k, measure in enumerate(MEASURES):
        ranking.add(under(OWN, measure) if k else OWN, lambda _, rows: -ranks[rows], k)


def under(system: str, measure: str) -> str:
    """The name of a system that learns and is judged by another measure of goodness."""
    return f"{system} | {measure}"


def gridded(grid: Mapping[str, Sequence[Trial]], ranking: Ranking, say: Say) -> list[dict[str, Any]]:
    """Rank with the chosen setting of each row by each measure, and with the paper's. Return the rows of the table."""
    rank_with(grid, ranking, MEASURES, say)
    rows = [row(name, tried) for name, tried in grid.items()]
    for name, inner in ((PAPER_COUNTS, COUNTS_INNER), (PAPER_LC, Inner(POSITION, 3, 0.5))):
        rows.append(Setting(inner, **PAPER_WRAP).described() | {"name": name, "alpha": PAPER_ALPHA, "tried": 1})
    return rows


def rank_with(grid: Mapping[str, Sequence[Trial]], ranking: Ranking, measures: Sequence[str], say: Say) -> None:
    """Rank with the chosen setting of each row by each measure, and with the paper's."""
    wanted: dict[Inner, list[tuple[Setting, Job]]] = {}
    for name, tried in grid.items():
        for k, measure in enumerate(measures):
            best, setting = chosen(tried, k)
            job = Job(under(name, measure) if k else name, best.alpha(k), k)
            wanted.setdefault(setting.inner, []).append((setting, job))
    for name, inner in ((PAPER_LC, Inner(POSITION, 3, 0.5)), (PAPER_COUNTS, COUNTS_INNER)):
        wanted.setdefault(inner, []).append((Setting(inner, **PAPER_WRAP), Job(name, PAPER_ALPHA)))
    for inner, both in wanted.items():
        full, main = blocks(inner, ranking.block)
        for setting in dict.fromkeys(setting for setting, _ in both):
            ranking.learn(setting.block(full, main).values, [job for other, job in both if other == setting])
        say(f"ranked with {inner}")


def combined(
    grid: Mapping[str, Sequence[Trial]], chooser: Chooser, table: Table, ranking: Ranking, quick: bool, say: Say
) -> list[dict[str, Any]]:
    """Rows whose kernels are made of chosen ones: sums, each type normalized, ranks learned directly; and trees."""
    local = max((LC[match] for match in LC), key=lambda name: chosen(grid[name])[0].best())
    settings = {name: chosen(grid[name])[1] for name in (COUNTS, local)}
    counts, lc = (s.block(*blocks(s.inner, lambda kernel: Block.of(kernel, table))) for s in settings.values())
    scales = [1 / float(one.rows.mean()) for one in (counts, lc)]
    mixed = {
        share: counts.times(scales[0]) + lc.times(share * scales[1]) for share in (SHARES[2:5] if quick else SHARES)
    }
    trials_ = {share: chooser.trial(None, block) for share, block in mixed.items()}
    share = max(trials_, key=lambda one: trials_[one].best())
    at_edge = [f"share = {share:g}"] if share in (min(mixed), max(mixed)) else []
    told = {"kernel": f"counts + {share:g} LC", "of": local, "chosen_share": share}
    rows = [row(MIXED, [trials_[share]], len(mixed), told)]
    rows[0]["edges"] += at_edge
    rank = {RANK_COUNTS: counts, RANK_LC: lc, RANK_MIXED: mixed[share]}
    kernels = dict(zip(rank, (*(repr(s.kernel()) for s in settings.values()), told["kernel"]), strict=True))
    ranked = {name: chooser.trial(None, block, ranks=True) for name, block in rank.items()}
    rows += [row(name, [trial], 1, {"kernel": kernels[name]}) for name, trial in ranked.items()]
    del mixed, rank
    counts, lc = (s.block(*blocks(s.inner, ranking.block)) for s in settings.values())
    ranking.learn(counts.values, [Job(RANK_COUNTS, ranked[RANK_COUNTS].alpha(), ranks=True)])
    ranking.learn(lc.values, [Job(RANK_LC, ranked[RANK_LC].alpha(), ranks=True)])
    both = (counts.times(scales[0]) + lc.times(share * scales[1])).values
    jobs = [Job(MIXED, trials_[share].alpha()), Job(RANK_MIXED, ranked[RANK_MIXED].alpha(), ranks=True)]
    ranking.learn(both, jobs)
    del counts, lc, both
    say(f"counts + {share:g} of {local}: cross-validation {rows[0]['cross_validation']:.4f}")
    inner = settings[local].inner
    plain: dict[str, list[Kernel]] = {BY_TYPE: [typewise(Locality(inner.window, inner.theta, inner.match))]}
    plain[TREES] = [On("tree", PartialTree(*decays)).normalized() for decays in (DECAYS[:1] if quick else DECAYS)]
    for name, kernels_ in plain.items():
        tried = [chooser.trial(None, Block.of(kernel, table)) for kernel in kernels_]
        place = int(np.argmax([trial.best() for trial in tried]))
        rows.append(row(name, [tried[place]], len(tried), {"kernel": repr(kernels_[place])}))
        if name == TREES:
            rows[-1]["edges"] += tree_edges(DECAYS[place])
        ranking.learn(ranking.block(kernels_[place]).values, [Job(name, tried[place].alpha())])
        say(f"{name}: cross-validation {rows[-1]['cross_validation']:.4f}")
    return rows


def tree_edges(decays: tuple[float, float]) -> list[str]:
    """λ and μ of the partial tree kernel that are the smallest or the largest tried."""
    ends = [(min(values), max(values)) for values in zip(*DECAYS, strict=True)]
    return [f"{name} = {v:g}" for name, v, two in zip(("tree λ", "μ"), decays, ends, strict=True) if v in two]


# --- what it shows --------------------------------------------------------------------------------------------------


def tested(found: dict[str, Any], items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A row with its figures over splits, and against the parser's own order and the counts."""
    name = found["name"]
    found |= {"tau": level(items, name, "mean")}
    for against, key in ((OWN, "against_own"), (COUNTS, "against_counts")):
        if name != against:
            found[key] = across(items, name, against, "mean")
    return found


def with_sentences(items: Sequence[Mapping[str, Any]], a: str, b: str) -> dict[str, Any]:
    """Compare two systems over splits and over items, and by the test of the paper: a t-test with one pair per sentence.

    A sentence that is ranked in several splits has one pair, of its means.
    """
    pairs: dict[Any, list[tuple[float, float]]] = {}
    for one in items:
        for number, first, second in zip(one["ids"], one["systems"][a], one["systems"][b], strict=True):
            if first is not None and second is not None:
                pairs.setdefault(number, []).append((first, second))
    means = np.array([np.mean(values, axis=0) for values in pairs.values()])
    test = paired_t_test(means[:, 0], means[:, 1])
    own = {"difference": test.difference, "interval": list(test.interval), "p": test.p_value, "of": len(means)}
    return across(items, a, b, "mean") | {"sentences": own}


def schemes(
    items: Sequence[Mapping[str, Any]], corpus: Corpus, grid: Mapping[str, Sequence[Trial]]
) -> list[dict[str, Any]]:
    """For each measure of goodness, what counts and LC kernels reach, and whether LC gains by it more than counts do."""
    starts = np.searchsorted(corpus.qid, np.arange(len(corpus.sentences)))
    found: list[dict[str, Any]] = []
    for k, measure in enumerate(MEASURES):
        names = {name: under(name, measure) if k else name for name in (OWN, *grid)}
        values = corpus.goodness.values[:, k]
        one: dict[str, Any] = {"measure": measure, "mean": float(values.mean())}
        one["best"] = float(np.maximum.reduceat(values, starts).mean())
        one["rows"] = {name: level(items, system, "mean") for name, system in names.items()}
        one["chosen"] = {name: chosen(tried, k)[1].described() | {"share": chosen(tried, k)[0].share(k)} for name, tried in grid.items()}  # fmt: skip
        one["lc_against_counts"] = {name: across(items, names[name], names[COUNTS], "mean") for name in LC.values()}
        if k:
            one["gain"] = {name: gain(one["lc_against_counts"][name], found[0]["lc_against_counts"][name], items) for name in LC.values()}  # fmt: skip
        found.append(one)
    return found


def gain(here: Mapping[str, Any], there: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Test whether the difference of two systems is larger with one measure than with another."""
    overlap = float(np.mean([len(one["ids"]) / one["train"] for one in items]))
    test = paired_t_test(here["splits"], there["splits"], overlap=overlap)
    return {"difference": here["difference"] - there["difference"], "interval": list(test.interval), "p": test.p_value}


def budget(items: Sequence[Mapping[str, Any]], found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compare the same number of parses from many or few sentences, and more parses of the same sentences."""
    tests = [
        {"kind": kind} | across(items, cell(name, *one), cell(name, *other), "mean")
        for kind, one, other in found["pairs"]
        for name in found["systems"]
    ]
    for test, p in zip(tests, holm([test["p"] for test in tests]), strict=True):
        test["p_holm"] = p
    return tests


def typewise(kernel: Kernel) -> Kernel:
    """Return the sum of a normalized kernel over the seven feature types.

    Without normalization, types with longer sequences would dominate.

    >>> from treelet import Locality
    >>> print(repr(typewise(Locality(window=3)))[:65])
    On('bigram', Locality(window=3).normalized()) + On('word_tag', Lo
    """
    total: Kernel = On(FEATURES[0], kernel.normalized())
    for name in FEATURES[1:]:
        total = total + On(name, kernel.normalized())
    return total
