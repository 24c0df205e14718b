"""Parse reranking from a treebank, or from the candidate lists of a parser, to a measured result."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from treelet.checks import document_names, plural, wrong
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
from treelet.parsing import PCFG
from treelet.report.gold_comparison import wrong_constituents
from treelet.resources import config_context
from treelet.structures import Tree, Treebank
from treelet.tasks.reranking import CandidateParses, Reranker, Rows, random_split, reranking_kernel
from treelet.work import generator

# --- training ---------------------------------------------------------------------------------------------------------

Say = Callable[[str], None]
Words = tuple[str, ...]
SIZES = (0.6, 0.15, 0.25)  # similar to the 800, 200 and 336 sentences of Collins & Duffy (2001)
_NAMES = ("training", "development", "test")


def quiet(text: str) -> None:
    """Ignore a status line."""


@dataclass(frozen=True, eq=False)
class CandidateSplit:
    """Candidates of the training, development and test sets.

    Attributes
    ----------
    train, development, test : CandidateParses
        The three sets.
    notes : dict of str to int
        Numbers of sentences that are in no set: ``long`` (too long), ``missing`` (missing, or a single
        word), ``twins`` (same words as a sentence of the development or test set) and ``unused``.
        ``documents`` is the number of documents, if sets consist of whole documents.
    seconds : dict of str to float
        Duration of each phase, in seconds.
    rows : tuple of three ndarrays of int
        Indices of the sentences of each set in the original collection.
    """

    train: CandidateParses
    development: CandidateParses
    test: CandidateParses
    notes: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    rows: tuple[Rows, ...] = ()


def _part_sizes(n: int, sizes: Sequence[float] | None = None) -> list[int]:
    """Return the three set sizes, from numbers of sentences or from fractions of `n`.

    >>> _part_sizes(1000), _part_sizes(1000, [0.5, 0.1, 0.2]), _part_sizes(1000, [700, 100, 200])
    ([600, 150, 250], [500, 100, 200], [700, 100, 200])
    """
    wanted = SIZES if sizes is None else tuple(sizes)
    subject, shown = "The 'sizes' parameter", ", ".join(f"{size:g}" for size in wanted)
    if len(wanted) != 3 or not all(0 < size < math.inf for size in wanted):
        raise ParameterError(
            f"{subject} must be three numbers above 0: the sizes of the training, development and test sets. "
            f"Got {shown or 'nothing'} instead."
        )
    if all(size < 1 for size in wanted):
        if sum(wanted) > 1 + 1e-9:
            raise ParameterError(
                f"{subject} must be fractions that sum to at most 1. Got {shown} instead, with the sum {sum(wanted):g}."
            )
        counts = [int(size * n + 1e-9) for size in wanted]
    elif all(float(size).is_integer() for size in wanted):
        counts = [int(size) for size in wanted]
    else:
        raise ParameterError(f"{subject} must be three whole numbers or three fractions. Got {shown} instead.")
    if min(counts) < 1 or sum(counts) > n:
        raise ParameterError(
            f"{plural(n, 'sentence')} cannot be split into sets of {', '.join(map(str, counts))}. "
            f"Every set needs at least one sentence: change sizes=, or pass more sentences."
        )
    return counts


def _has_empty_elements(bank: Treebank) -> bool:
    store = bank.columns.store
    number = store.labels.index("-NONE-") if "-NONE-" in store.labels else -1
    return number >= 0 and bool((store.label[bank.weights().node] == number).any())


def parts_of_treebank(
    bank: object,
    sizes: Sequence[float] | None = None,
    *,
    k: int = 100,
    folds: int = 10,
    max_words: int | None = 40,
    random_state: Any = 0,
    documents: Sequence[str] | None = None,
    n_jobs: int = 1,
    progress: bool | None = None,
    say: Say = quiet,
    **options: Any,
) -> CandidateSplit:
    """Split a treebank at random, and parse all sentences with a grammar of the training set.

    Each fold of the training set is parsed by a grammar of the other folds, so the candidates in
    training are similar to those in testing. A training sentence with the same words as a sentence of
    the development or test set is removed. So is a development sentence with the same words as a test
    sentence.

    Parameters
    ----------
    bank : Treebank or collection of trees
        Missing trees and single words are ignored.
    sizes : three numbers, optional
        Sizes of the training, development and test sets: numbers of sentences, or fractions. Default:
        0.6, 0.15 and 0.25.
    k : int, default 100
        Maximum number of candidates per sentence, at least 1.
    folds : int, default 10
        Number of folds of the training set, at least 2.
    max_words : int or None, default 40
        Maximum length of a sentence, at least 1. Longer sentences are ignored; None keeps all.
    random_state : int, RandomState or None, default 0
        Source of randomness for the split.
    documents : sequence of str, optional
        Name of the document of each tree. Each set then consists of whole documents, and its size is
        approximate.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core.
    progress : bool, optional
        Show progress bars on standard error. Default: as in `treelet.config_context`.
    say : callable, optional
        Called with one status line after each phase.
    **options
        Options of `PCFG.from_treebank`, such as ``markov`` or ``parent``.

    Returns
    -------
    CandidateSplit

    Examples
    --------
    >>> from treelet.datasets import flights
    >>> parts = parts_of_treebank(flights(120), k=5, folds=2)
    >>> len(parts.train), len(parts.development), len(parts.test)
    (72, 18, 30)
    """
    clock = _Clock(say)
    whole = Treebank.of(bank)
    words = [tuple(tree.words()) if tree is not None and tree.children else () for tree in whole]
    kept, notes = _kept(words, max_words)
    if not len(whole):
        raise ParameterError("The treebank contains no trees: parse reranking needs at least three.")
    if not len(kept):
        raise ParameterError(
            f"None of the {plural(len(whole), 'tree')} can be used: all are missing, single words, "
            f"or longer than {max_words} words. Change max_words= to allow longer sentences."
        )
    if _has_empty_elements(whole):
        raise ParameterError(
            "The trees contain empty elements (-NONE-), which are not words of the sentences. Remove them: "
            "read_trees(..., drop_empty=True)."
        )
    counts = _part_sizes(len(kept), sizes)
    if documents is None:
        split = [kept[part] for part in random_split(len(kept), counts, random_state)]
    else:
        split = _whole_documents(kept, document_names(documents, len(words)), counts, random_state, notes)
    parts, notes["twins"] = without_twins(split, words)
    notes["unused"] = len(kept) - sum(map(len, split))
    clock.done("split", _split_text(parts, notes))
    train, development, test = (whole[part] for part in parts)

    grammar = PCFG.from_treebank(train, **options)
    clock.done("grammar", f"Estimated a grammar from the training set: {plural(len(grammar.rules), 'rule')}")
    learnt = CandidateParses.jackknifed(train, k, folds=folds, n_jobs=n_jobs, progress=progress, **options)
    clock.done(
        "training candidates", f"Parsed the training set in {folds} folds: {plural(len(learnt.trees), 'candidate')}"
    )
    tuned = CandidateParses.parsed(grammar, development, k, n_jobs=n_jobs, progress=progress)
    tested = CandidateParses.parsed(grammar, test, k, n_jobs=n_jobs, progress=progress)
    clock.done(
        "other candidates",
        f"Parsed the development and test sets: {len(tuned.trees):,} and {len(tested.trees):,} candidates",
    )
    return CandidateSplit(learnt, tuned, tested, notes, clock.seconds, tuple(parts))


def parts_of_lists(
    parses: CandidateParses,
    sizes: Sequence[float] | None = None,
    *,
    max_words: int | None = 40,
    random_state: Any = 0,
    say: Say = quiet,
) -> CandidateSplit:
    """Split the candidate lists of another parser at random.

    Parameters
    ----------
    parses : CandidateParses
        The candidate lists. If their documents are known, each set consists of whole documents, and its
        size is approximate.
    sizes, max_words, random_state, say
        As in `parts_of_treebank`.

    Returns
    -------
    CandidateSplit
    """
    clock = _Clock(say)
    words = [tuple(tree.words()) if tree is not None else () for tree in parses.gold]
    kept, notes = _kept(words, max_words)
    counts = _part_sizes(len(kept), sizes)
    names = [str(number) for number in range(len(words))] if parses.documents is None else parses.documents
    split = _whole_documents(kept, names, counts, random_state, notes)
    notes["unused"] = len(kept) - sum(map(len, split))
    parts, notes["twins"] = without_twins(split, words)
    train, development, test = (parses.sentences(part) for part in parts)
    clock.done("split", _split_text(parts, notes))
    return CandidateSplit(train, development, test, notes, clock.seconds, tuple(parts))


def _kept(words: Sequence[Words], max_words: int | None) -> tuple[Rows, dict[str, int]]:
    if max_words is not None and max_words < 1:
        raise wrong("max_words", "an int of at least 1", max_words, optional=True)
    lengths = np.array([len(sentence) for sentence in words], np.int64)
    long = lengths > (math.inf if max_words is None else max_words)
    notes = {"missing": int((lengths == 0).sum()), "long": int(long.sum())}
    return np.flatnonzero((lengths > 0) & ~long), notes


def apart_from(others: Iterable[Words], rows: Iterable[int], words: Sequence[Words]) -> Rows:
    """Return the rows whose words differ from those of all other sentences.

    >>> apart_from({("c",), ("e",)}, [0, 1, 2], [("a", "b"), ("c",), ("d",)]).tolist()
    [0, 2]
    """
    seen = set(others)
    return np.array([row for row in rows if words[row] not in seen], np.int64)


def without_twins(
    parts: Sequence[Rows], words: Sequence[Words], elsewhere: Iterable[Words] = ()
) -> tuple[list[Rows], int]:
    """Remove from each part the sentences with the same words as a sentence of a later part, or of another corpus.

    Parameters
    ----------
    parts : sequence of arrays of int
        Parts of a corpus as row numbers, the test set last. A single part is only compared with
        `elsewhere`.
    words : sequence of tuples of str
        Words of each sentence of the corpus.
    elsewhere : iterable of tuples of str
        Sentences of other corpora, for example the training data of the parser.

    Returns
    -------
    list of arrays of int
        The remaining rows of each part.
    int
        Number of removed sentences.

    Examples
    --------
    >>> words = [("a", "b"), ("c",), ("a", "b"), ("d",)]
    >>> parts, gone = without_twins([np.array([0, 1]), np.array([2, 3])], words)
    >>> [part.tolist() for part in parts], gone
    ([[1], [2, 3]], 1)
    >>> parts, gone = without_twins([np.arange(4)], words, elsewhere=[("d",), ("e",)])
    >>> [part.tolist() for part in parts], gone
    ([[0, 1, 2]], 1)
    """
    names = _NAMES if len(parts) == len(_NAMES) else [f"{number}." for number in range(1, len(parts) + 1)]
    seen = set(elsewhere)
    out: list[Rows] = []
    taken = 0
    for name, part in zip(reversed(names), reversed(parts), strict=True):
        left = apart_from(seen, part, words)
        if not len(left):
            raise ParameterError(
                f"All sentences of the {name} set have the same words as sentences of a later set, so the set is empty. "
                f"Remove repeated sentences from the data, or change sizes=."
            )
        taken += len(part) - len(left)
        seen |= {words[row] for row in part}
        out.append(left)
    return out[::-1], taken


def _whole_documents(
    kept: Rows,
    documents: Sequence[str],
    sizes: Sequence[int],
    random_state: Any,
    notes: dict[str, int],
) -> list[Rows]:
    """Split whole documents at random into three parts of about these sizes. Store their number in `notes`."""
    known = {name: code for code, name in enumerate(dict.fromkeys(documents[row] for row in kept))}
    if len(known) < len(kept):
        notes["documents"] = len(known)
    of = np.array([known[documents[row]] for row in kept])
    counts = np.bincount(of)
    order = generator(random_state).permutation(len(counts))
    begin = np.zeros(len(counts))
    begin[order] = np.cumsum(counts[order]) - counts[order]
    ends = np.cumsum(sizes)
    part = np.searchsorted(ends, begin, side="right")
    split = [np.flatnonzero(part[of] == number) for number in range(3)]
    for name, rows in zip(_NAMES, split, strict=True):
        if not len(rows):
            raise ParameterError(
                f"The {name} set is empty: there are only {plural(len(counts), 'document')}, which are not split. "
                f"Change sizes= or random_state=."
            )
    return [kept[rows] for rows in split]


def _split_text(parts: Sequence[Rows], notes: dict[str, int]) -> str:
    sizes = ", ".join(f"{len(part):,} {name}" for name, part in zip(_NAMES, parts, strict=True))
    more = [
        f"{notes['twins']:,} removed because a later set has the same words" * (notes["twins"] > 0),
        f"{notes['long']:,} too long" * (notes["long"] > 0),
        f"{notes['missing']:,} missing or a single word" * (notes["missing"] > 0),
        f"{notes['unused']:,} unused" * (notes["unused"] > 0),
        f"{plural(notes.get('documents', 0), 'document')}, not split" * ("documents" in notes),
    ]
    return "; ".join([f"Sentences: {sizes}", *filter(None, more)])


class _Clock:
    """Measures the duration of each phase, and reports each phase when it ends."""

    def __init__(self, say: Say) -> None:
        self.say, self.seconds = say, dict[str, float]()
        self.last = time.perf_counter()

    def done(self, phase: str, text: str) -> None:
        """End a phase, and report it with a status line."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self.last
        self.say(f"{text} ({now - self.last:.1f} s)")
        self.last = now


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

# --- parse reranking from a treebank ----------------------------------------------------------------------------------

_READABLE = 8  # preferred number of words of a sentence that is drawn


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
            key=lambda item: (item.score_after < 100, item.after != item.gold, abs(len(item.gold.words()) - _READABLE))
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
                for name, parses in zip(
                    _NAMES, (self.parts.train, self.parts.development, self.parts.test), strict=True
                )
            },
            "candidates": {
                name: len(parses.trees)
                for name, parses in zip(
                    _NAMES, (self.parts.train, self.parts.development, self.parts.test), strict=True
                )
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
    progress: bool | None = None,
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
    clock = _Clock(say)
    choices = grid() if settings is None else list(settings)
    if not choices:
        raise ParameterError("The list of settings is empty: rerank needs at least one setting.")

    def trained(setting: Setting, parses: CandidateParses) -> Reranker:
        machine = setting.reranker(epochs=epochs, candidates=candidates, random_state=random_state, n_jobs=n_jobs)
        with config_context(progress=progress):
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
    reranker.ranker.set_params(n_jobs=1)  # a saved model should not depend on this option
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
