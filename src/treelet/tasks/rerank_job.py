"""Parse reranking from a treebank, or from the candidate lists of a parser, to a measured result."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from treelet.checks import plural, wrong
from treelet.errors import ParameterError, TreeError
from treelet.kernels import Kernel, SubsetTree
from treelet.learn import VotedPerceptron
from treelet.metrics import (
    PARSEVAL,
    BootstrapResult,
    best_of_group,
    bracket_counts,
    candidate_scores,
    oracle,
    paired_bootstrap,
    relative_improvement,
)
from treelet.report.gold_comparison import wrong_constituents
from treelet.structures import Tree, Treebank
from treelet.tasks.rerank_parts import NAMES, CandidateSplit, Clock, Say, parts_of_lists, parts_of_treebank, quiet
from treelet.tasks.reranking import CandidateParses, Reranker, Rows, reranking_kernel

__all__ = [
    "CandidateSplit",
    "Mended",
    "Outcome",
    "Scores",
    "Setting",
    "grid",
    "parts_of_lists",
    "parts_of_treebank",
    "quiet",
    "rerank",
]

READABLE = 8  # preferred number of words of a sentence that is drawn


# --- settings -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """Parameters of a reranker that are chosen on the development set.

    Parameters
    ----------
    lam : float, default 0.3
        Decay of `SubsetTree`, in (0, 1]. Smaller values reduce the weight of large fragments.
    max_depth : int, optional
        Maximum depth of fragments, at least 1. By default, the depth is not limited.
    logp : float, default 0.0
        Factor of the parser's log probability as an additional feature, at least 0. The perceptron learns the weight
        of the feature.
    leaves : bool, default False
        Whether equal words match even if their tags differ.
    fixed_logp : float, default 0.0
        Fixed weight of the parser's log probability, at least 0, as in `Reranker`.
    """

    lam: float = 0.3
    max_depth: int | None = None
    logp: float = 0.0
    leaves: bool = False
    fixed_logp: float = 0.0

    def kernel(self) -> Kernel:
        """Return the kernel on `CandidateParses.table`."""
        trees = SubsetTree(lam=self.lam, max_depth=self.max_depth, leaves=self.leaves)
        trees.validate()
        if not 0 <= self.logp < math.inf:
            raise wrong("logp", "a number of at least 0", self.logp)
        return reranking_kernel(trees, self.logp)

    def reranker(
        self, *, epochs: int = 3, candidates: int | None = 20, random_state: Any = 0, **options: Any
    ) -> Reranker:
        """Return an untrained reranker with this setting. `options` are passed to `VotedPerceptron`."""
        machine = VotedPerceptron(kernel=self.kernel(), epochs=epochs, **options)
        return Reranker(machine, candidates=candidates, fixed_logp=self.fixed_logp, random_state=random_state)

    def __str__(self) -> str:
        depth = "" if self.max_depth is None else f", depth {self.max_depth}"
        fixed = f", fixed logp {self.fixed_logp:g}" if self.fixed_logp else ""
        return f"lam {self.lam:g}{depth}, logp {self.logp:g}{fixed}{', leaves' * self.leaves}"


def grid(
    lam: Sequence[float] = (0.2, 0.3, 0.5),
    max_depth: Sequence[int | None] = (None,),
    logp: Sequence[float] = (0.0, 0.1),
    fixed_logp: Sequence[float] = (0.0,),
) -> list[Setting]:
    """Return all combinations of the given values as settings.

    >>> [str(setting) for setting in grid(lam=[0.3], max_depth=[2, None], logp=[0])]
    ['lam 0.3, depth 2, logp 0', 'lam 0.3, logp 0']
    """
    settings = [
        Setting(decay, depth, factor, fixed_logp=fixed)
        for decay, depth, factor, fixed in product(lam, max_depth, logp, fixed_logp)
    ]
    if not settings:
        raise ParameterError(
            "The grid of settings is empty. Pass at least one value for each of 'lam', 'max_depth', 'logp' and "
            "'fixed_logp'."
        )
    for setting in settings:
        setting.reranker()  # which checks the values
    return settings


# --- learning and testing -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """Scores of one chosen parse per sentence, in percent."""

    parse_score: float
    f1: float
    exact: float


@dataclass(frozen=True)
class Mended:
    """A sentence whose parse was improved by reranking."""

    number: int
    gold: Tree
    before: Tree
    after: Tree
    score_before: float
    score_after: float

    @property
    def words(self) -> str:
        return " ".join(self.gold.words())


@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of a reranking experiment.

    Attributes
    ----------
    parts : CandidateSplit
        The training, development and test sets.
    reranker : Reranker
        The final reranker, trained on the training and development sets.
    setting : Setting
        The chosen setting.
    tried : list of (Setting, float)
        Parse scores on the development set; empty if there was only one setting.
    first, reranked, best : Scores
        Scores on the test set: of the parser's first choices, of the reranker, and of the best
        candidates (oracle).
    first_rows, chosen_rows : ndarray of int
        Rows of the parser's and of the reranker's choices among the candidates of the test set.
    test : BootstrapResult
        Paired bootstrap test of the parse scores of reranked and first choices.
    changed, better, worse : int
        Number of sentences with another parse than before, with a better score, and with a worse score.
    seconds : dict of str to float
        Duration of each phase, in seconds.
    """

    parts: CandidateSplit
    reranker: Reranker
    setting: Setting
    tried: list[tuple[Setting, float]]
    first: Scores
    reranked: Scores
    best: Scores
    first_rows: Rows
    chosen_rows: Rows
    test: BootstrapResult
    changed: int
    better: int
    worse: int
    seconds: dict[str, float]

    @property
    def error_reduction(self) -> float:
        """Relative reduction of the error (100 minus the parse score), in percent."""
        return relative_improvement(self.first.parse_score, self.reranked.parse_score)

    def mended(self, n: int = 3) -> list[Mended]:
        """Return at most `n` improved sentences: different kinds of errors, completely correct and short parses first."""
        parses = self.parts.test
        score = 100 * parses.counts.goodness
        before, after = score[self.first_rows], score[self.chosen_rows]
        mended = []
        for number in np.flatnonzero(after > before).tolist():
            right = _tree(parses.gold, number)
            old, new = (_tree(parses.trees, rows[number]) for rows in (self.first_rows, self.chosen_rows))
            mended.append(Mended(number, right, old, new, float(before[number]), float(after[number])))
        mended.sort(
            key=lambda item: (item.score_after < 100, item.after != item.gold, abs(len(item.gold.words()) - READABLE))
        )
        kinds: Counter[frozenset[str]] = Counter()
        turns = []  # number of earlier sentences of the same kind
        for item in mended:
            kind = frozenset(label for label, _, _ in wrong_constituents(item.before, item.gold))
            turns.append(kinds[kind])
            kinds[kind] += 1
        return [mended[number] for number in sorted(range(len(mended)), key=lambda number: turns[number])[:n]]

    def as_dict(self) -> dict[str, Any]:
        """Return the results as a JSON-compatible dict."""
        return {
            "sentences": {
                name: len(parses)
                for name, parses in zip(NAMES, (self.parts.train, self.parts.development, self.parts.test), strict=True)
            },
            "candidates": {
                name: len(parses.trees)
                for name, parses in zip(NAMES, (self.parts.train, self.parts.development, self.parts.test), strict=True)
            },
            "notes": self.parts.notes,
            "setting": vars(self.setting),
            "kernel": repr(self.reranker.ranker.kernel),
            "tried": [{**vars(setting), "parse_score": score} for setting, score in self.tried],
            "first": vars(self.first),
            "reranked": vars(self.reranked),
            "oracle": vars(self.best),
            "error_reduction": self.error_reduction if math.isfinite(self.error_reduction) else None,
            "p_value": self.test.p_value,
            "interval": list(self.test.interval),
            "changed": self.changed,
            "better": self.better,
            "worse": self.worse,
            "seconds": self.seconds,
        }


def rerank(
    parts: CandidateSplit,
    settings: Sequence[Setting] | None = None,
    *,
    epochs: int = 3,
    candidates: int | None = 20,
    random_state: Any = 0,
    n_jobs: int = 1,
    progress: bool = False,
    say: Say = quiet,
) -> Outcome:
    """Choose a setting on the development set, train on the training and development sets, and test once.

    Parameters
    ----------
    parts : CandidateSplit
        The result of `parts_of_treebank` or `parts_of_lists`.
    settings : list of Setting, optional
        Settings to choose from. Default: ``grid()``.
    epochs : int, default 3
        Number of passes of the averaged perceptron.
    candidates : int or None, default 20
        Maximum number of candidates per training sentence; None uses all.
    random_state : int, RandomState or None, default 0
        Source of randomness for the choice of candidates and for the bootstrap.
    n_jobs, progress, say
        As in `parts_of_treebank`.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> from treelet.datasets import flights
    >>> outcome = rerank(parts_of_treebank(flights(300), k=20, folds=3), grid(lam=[0.3], logp=[0.1]))
    >>> outcome.first.parse_score < outcome.reranked.parse_score < outcome.best.parse_score
    True
    """
    clock = Clock(say)
    choices = grid() if settings is None else list(settings)
    if not choices:
        raise ParameterError("The list of settings is empty: rerank needs at least one setting.")

    def trained(setting: Setting, parses: CandidateParses) -> Reranker:
        machine = setting.reranker(
            epochs=epochs, candidates=candidates, random_state=random_state, n_jobs=n_jobs, progress=progress
        )
        return machine.fit(parses)

    tried: list[tuple[Setting, float]] = []
    last: tuple[Setting, Any] | None = None  # a setting and the scores of its ranker, which does not see fixed_logp
    for setting in choices if len(choices) > 1 else ():
        learned = replace(setting, fixed_logp=0.0)
        if last is None or last[0] != learned:
            last = learned, trained(learned, parts.train).scores(parts.development)
        fixed = setting.fixed_logp * parts.development.relative_logp()
        score = parts.development.score(parts.development.best(last[1] + fixed))
        tried.append((setting, score))
        clock.done("choosing", f"Development set: parse score {score:.2f} with {setting}")
    setting = max(tried, key=lambda item: item[1])[0] if tried else choices[0]
    reranker = trained(setting, CandidateParses.concat([parts.train, parts.development]))
    clock.done("training", f"Trained on the training and development sets with {setting}")

    parses = parts.test
    first, chosen = parses.first(), reranker.choose(parses)
    clock.done("reranking", f"Reranked {plural(len(parses), 'sentence')} of the test set")
    by_f1 = oracle(candidate_scores(parses.gold, parses.trees, parses.qid, PARSEVAL), parses.qid, "f1").f1
    best = best_of_group(parses.counts.goodness, parses.qid)
    before, after = parses.counts.goodness[first], parses.counts.goodness[chosen]
    scores = _scores(parses, first), _scores(parses, chosen), _scores(parses, best, by_f1)
    test = paired_bootstrap(parses.counts[chosen], parses.counts[first], "parse_score", random_state=random_state)
    clock.done("scoring", "Computed the scores")
    reranker.ranker.set_params(progress=False, n_jobs=1)  # a saved model should not depend on these options
    return Outcome(
        parts=parts,
        reranker=reranker,
        setting=setting,
        tried=tried,
        first=scores[0],
        reranked=scores[1],
        best=scores[2],
        first_rows=first,
        chosen_rows=chosen,
        test=test,
        changed=int((first != chosen).sum()),
        better=int((after > before).sum()),
        worse=int((after < before).sum()),
        seconds={**parts.seconds, **clock.seconds},
    )


def _scores(parses: CandidateParses, rows: Rows, f1: float | None = None) -> Scores:
    counts = parses.counts[rows]
    if f1 is None:
        f1 = bracket_counts(parses.gold, parses.trees[rows], PARSEVAL).f1
    return Scores(counts.parse_score, f1, counts.exact_match)


def _tree(bank: Treebank, number: int) -> Tree:
    tree = bank[int(number)]
    if tree is None:
        raise TreeError(f"Tree {number} is missing. Remove missing trees first.")
    return tree
