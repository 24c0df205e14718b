"""Many sentences with few parses, or few sentences with many? The same kernels with more and more to learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.differences import spread
from experiments.locality_data import Corpus, Rows, tabled
from experiments.locality_grid import ALPHAS, AS_GOOD, Setting, Trial, coefficients
from experiments.running import Say
from treelet import gram
from treelet.structures import Table

Matrix = NDArray[np.float64]
Cell = tuple[int, int]

SENTENCES, PARSES, FOLDS = (22, 44, 88, 175, 350), (1, 2, 5, 10, 20), 3
STRENGTHS = ALPHAS[2:]
SAME, MORE_PARSES, MORE_SENTENCES = "as many parses in all", "more parses a sentence", "more sentences"
PAIRS: tuple[tuple[str, Cell, Cell], ...] = (
    (SAME, (350, 5), (175, 10)),
    (SAME, (350, 5), (88, 20)),
    (SAME, (175, 5), (44, 20)),
    (MORE_PARSES, (350, 10), (350, 5)),
    (MORE_PARSES, (350, 20), (350, 5)),
    (MORE_PARSES, (88, 20), (88, 5)),
    (MORE_SENTENCES, (350, 5), (88, 5)),
)
"""Pairs of training sets (sentences, parses per sentence) to compare."""
QUICK: tuple[tuple[str, Cell, Cell], ...] = ((SAME, (30, 2), (15, 4)), (MORE_PARSES, (30, 4), (30, 2)))


def cell(name: str, sentences: int, parses: int) -> str:
    """Return the name of a system with this number of training sentences and parses per sentence."""
    return f"{name}, {sentences} x {parses}"


def curves(
    corpus: Corpus,
    splits: Sequence[tuple[Rows, Rows]],
    systems: Mapping[str, tuple[Trial, Setting]],
    table: Table,
    quick: bool,
    say: Say,
    n_jobs: int = 1,
) -> tuple[dict[str, Any], list[dict[str, Matrix]]]:
    """Mean tau_b in each split for each system and each number of sentences and of parses; and for some by sentence.

    Kernels are those that were chosen; the strength of regularization is chosen for each number of parses, on the same sentences.
    """
    pairs = QUICK if quick else PAIRS
    sizes, counts = ((15, 30), (2, 4)) if quick else (SENTENCES, PARSES)
    kept = {one for pair in pairs for one in pair[1:]}
    items: list[dict[str, Matrix]] = [{} for _ in splits]
    found: dict[str, Any] = {"systems": list(systems), "sentences": sizes, "parses": counts, "pairs": pairs}
    found["strengths"], found["cells"] = {}, []
    for name, (trial, setting) in systems.items():
        alphas = strengths(corpus, setting, trial.scale, counts, n_jobs)
        found["strengths"][name] = {k: alpha / trial.scale for k, alpha in alphas.items()}
        K = square(setting, table, n_jobs)
        for k in counts:
            means: dict[int, list[float]] = {size: [] for size in sizes}
            for number, split in enumerate(splits):
                for size in sizes:
                    tau = learnt(corpus, K, split, number, size, k, alphas[k])
                    means[size].append(float(np.nanmean(tau)))
                    if (size, k) in kept:
                        items[number][cell(name, size, k)] = tau
            found["cells"] += [{"system": name, "sentences": s, "parses": k, **spread(means[s])} for s in sizes]
            say(f"{name}, {k} parses: {', '.join(f'{np.mean(means[s]):.3f}' for s in sizes)}")
        del K
    return found, items


def learnt(corpus: Corpus, K: Matrix, split: tuple[Rows, Rows], number: int, size: int, k: int, alpha: float) -> Matrix:
    """tau_b of the test sentences; those to learn from are in an order of the split's own, each size with those of the smaller."""
    place = np.full(len(corpus.qid), -1)
    place[corpus.parses(corpus.others)] = np.arange(len(K))
    some = np.random.default_rng(number).permutation(split[0])[:size]
    train, test = corpus.parses(some, k), corpus.parses(split[1])
    rows, columns = place[test], place[train]
    a = coefficients(K[np.ix_(columns, columns)], corpus.goodness.values[train, 0], alpha)
    return corpus.lists(test).tau(K[np.ix_(rows, columns)] @ a)


def strengths(corpus: Corpus, setting: Setting, scale: float, counts: Sequence[int], n_jobs: int) -> dict[int, float]:
    """For each number of parses the strength that does best on the sentences to choose on, all their parses ranked."""
    parses = corpus.parses(corpus.development)
    K = square(setting, tabled(corpus.lists(parses)), n_jobs)
    fold = (np.random.default_rng(0).permutation(len(corpus.sentences)) % FOLDS)[corpus.qid[parses]]
    goodness = corpus.goodness.values[parses, 0]
    found = {}
    for k in counts:
        taus = np.zeros(len(STRENGTHS))
        for held in range(FOLDS):
            test = np.flatnonzero(fold == held)
            train = np.flatnonzero((fold != held) & (corpus.turn[parses] < k))
            lists, values, across = corpus.lists(parses[test]), K[np.ix_(train, train)], K[np.ix_(test, train)]
            for place, alpha in enumerate(STRENGTHS):
                scores = across @ coefficients(values, goodness[train], alpha * scale)
                taus[place] += np.nanmean(lists.tau(scores)) / FOLDS
        found[k] = STRENGTHS[int(np.flatnonzero(taus >= taus.max() - AS_GOOD)[-1])] * scale
    return found


def square(setting: Setting, table: Table, n_jobs: int, rows: int = 2048) -> Matrix:
    """The matrix of a setting's kernel, some rows at a time, so that no second one is in memory."""
    kernel, n = setting.kernel(), len(table)
    K = np.empty((n, n))
    for begin in range(0, n, rows):
        end = min(begin + rows, n)
        K[begin:end, :end] = gram(kernel, table[begin:end], table[:end], n_jobs=n_jobs)
        K[:begin, begin:end] = K[begin:end, :begin].T
    return K
