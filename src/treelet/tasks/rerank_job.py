"""Parse reranking from a treebank, or from the candidate lists of a parser, to a measured result and its report."""

from __future__ import annotations

import json
import math
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.checks import document_names, plural, wrong
from treelet.drawing.drawing import Drawing
from treelet.errors import ParameterError, TreeError
from treelet.kernels import Kernel, SubsetTree
from treelet.learn import VotedPerceptron
from treelet.metrics import (
    BootstrapResult,
    best_of_group,
    bracket_counts,
    candidate_scores,
    oracle,
    paired_bootstrap,
    relative_improvement,
)
from treelet.metrics.parse import PARSEVAL
from treelet.parsing import PCFG
from treelet.report.gold_comparison import marked, marked_svg, wrong_constituents
from treelet.report.page import page, paragraphs, table
from treelet.resources import config_context
from treelet.structures import Tree, Treebank
from treelet.tasks.reranking import CandidateParses, Reranker, reranking_kernel
from treelet.work import generator

Rows = NDArray[np.int64]
_NAMES = ("training", "development", "test")


# --- candidates of three sets -----------------------------------------------------------------------------------------


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
    # The default is similar to the 800, 200 and 336 sentences of Collins & Duffy (2001).
    wanted = (0.6, 0.15, 0.25) if sizes is None else tuple(sizes)
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
    say: Callable[[str], None] | None = None,
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
    seconds: dict[str, float] = {}
    done = _stopwatch(seconds, say)
    whole = Treebank.of(bank)
    if not len(whole):
        raise ParameterError("The treebank contains no trees: parse reranking needs at least three.")
    store = whole.columns.store
    if "-NONE-" in store.labels and (store.label[whole.weights().node] == store.labels.index("-NONE-")).any():
        raise ParameterError(
            "The trees contain empty elements (-NONE-), which are not words of the sentences. Remove them: "
            "read_trees(..., drop_empty=True)."
        )
    words = [tuple(tree.words()) if tree is not None and tree.children else () for tree in whole]
    names = None if documents is None else document_names(documents, len(words))
    parts, notes = _split(words, sizes, max_words, names, random_state)
    done("split", _split_text(parts, notes))
    train, development, test = (whole[part] for part in parts)

    grammar = PCFG.from_treebank(train, **options)
    done("grammar", f"Estimated a grammar from the training set: {plural(len(grammar.rules), 'rule')}")
    learnt = CandidateParses.jackknifed(train, k, folds=folds, n_jobs=n_jobs, progress=progress, **options)
    done("training candidates", f"Parsed the training set in {folds} folds: {plural(len(learnt.trees), 'candidate')}")
    tuned = CandidateParses.parsed(grammar, development, k, n_jobs=n_jobs, progress=progress)
    tested = CandidateParses.parsed(grammar, test, k, n_jobs=n_jobs, progress=progress)
    done(
        "other candidates",
        f"Parsed the development and test sets: {len(tuned.trees):,} and {len(tested.trees):,} candidates",
    )
    return CandidateSplit(learnt, tuned, tested, notes, seconds, tuple(parts))


def parts_of_lists(
    parses: CandidateParses,
    sizes: Sequence[float] | None = None,
    *,
    max_words: int | None = 40,
    random_state: Any = 0,
    say: Callable[[str], None] | None = None,
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
    seconds: dict[str, float] = {}
    done = _stopwatch(seconds, say)
    words = [tuple(tree.words()) if tree is not None else () for tree in parses.gold]
    parts, notes = _split(words, sizes, max_words, parses.documents, random_state)
    train, development, test = (parses.sentences(part) for part in parts)
    done("split", _split_text(parts, notes))
    return CandidateSplit(train, development, test, notes, seconds, tuple(parts))


def _split(
    words: Sequence[tuple[str, ...]],
    sizes: Sequence[float] | None,
    max_words: int | None,
    documents: Sequence[str] | None,
    random_state: Any,
) -> tuple[list[Rows], dict[str, int]]:
    """Split sentences at random into three sets of about these sizes, and count those that are in no set.

    Documents are not split. A set loses the sentences with the same words as a sentence of a later set.
    """
    if max_words is not None and max_words < 1:
        raise wrong("max_words", "an int of at least 1", max_words, optional=True)
    lengths = np.array([len(sentence) for sentence in words], np.int64)
    long = lengths > (math.inf if max_words is None else max_words)
    notes = {"missing": int((lengths == 0).sum()), "long": int(long.sum())}
    kept = np.flatnonzero((lengths > 0) & ~long)
    if len(words) and not len(kept):
        raise ParameterError(
            f"None of the {plural(len(words), 'tree')} can be used: all are missing, single words, "
            f"or longer than {max_words} words. Change max_words= to allow longer sentences."
        )
    ends = np.cumsum(_part_sizes(len(kept), sizes))
    names = [row if documents is None else documents[row] for row in kept.tolist()]
    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    if len(codes) < len(kept):
        notes["documents"] = len(codes)
    document = np.array([codes[name] for name in names])
    counts = np.bincount(document)
    # first: number of sentences before each document, if the documents stand in a random order
    order = generator(random_state).permutation(len(counts))
    first = np.zeros(len(counts))
    first[order] = np.cumsum(counts[order]) - counts[order]
    set_of = np.searchsorted(ends, first, side="right")[document]
    parts = [kept[set_of == number] for number in range(3)]
    notes["unused"] = len(kept) - sum(map(len, parts))
    for name, rows in zip(_NAMES, parts, strict=True):
        if not len(rows):
            raise ParameterError(
                f"The {name} set is empty: there are only {plural(len(counts), 'document')}, which are not split. "
                f"Change sizes= or random_state=."
            )
    seen: set[tuple[str, ...]] = set()
    notes["twins"] = 0
    for number in (2, 1, 0):
        rows = parts[number]
        parts[number] = np.array([row for row in rows if words[row] not in seen], np.int64)
        if not len(parts[number]):
            raise ParameterError(
                f"All sentences of the {_NAMES[number]} set have the same words as sentences of a later set, so the set is "
                "empty. Remove repeated sentences from the data, or change sizes=."
            )
        notes["twins"] += len(rows) - len(parts[number])
        seen |= {words[row] for row in rows}
    return parts, notes


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


def _stopwatch(seconds: dict[str, float], say: Callable[[str], None] | None) -> Callable[[str, str], None]:
    """Return a function that ends a phase: it adds the duration to `seconds`, and reports a status line."""
    last = time.perf_counter()

    def done(phase: str, text: str) -> None:
        nonlocal last
        now = time.perf_counter()
        seconds[phase] = seconds.get(phase, 0.0) + now - last
        if say is not None:
            say(f"{text} ({now - last:.1f} s)")
        last = now

    return done


# --- settings ---------------------------------------------------------------------------------------------------------


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

    @classmethod
    def grid(
        cls,
        lam: Sequence[float] = (0.2, 0.3, 0.5),
        max_depth: Sequence[int | None] = (None,),
        logp: Sequence[float] = (0.0, 0.1),
        fixed_logp: Sequence[float] = (0.0,),
    ) -> list[Setting]:
        """Return all combinations of the given values as settings.

        >>> [str(setting) for setting in Setting.grid(lam=[0.3], max_depth=[2, None], logp=[0])]
        ['lam 0.3, depth 2, logp 0', 'lam 0.3, logp 0']
        """
        settings = [
            cls(decay, depth, factor, fixed_logp=fixed)
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


# --- learning and testing ---------------------------------------------------------------------------------------------


class _Scores(NamedTuple):
    """Scores of one chosen parse per sentence, in percent."""

    parse_score: float
    f1: float
    exact: float


class _Mended(NamedTuple):
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
    first, reranked, best : named tuple
        Scores on the test set, in percent: `parse_score`, `f1` and `exact` (exact match). They are those of the
        parser's first choices, of the reranker, and of the best candidates (oracle).
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
    first: _Scores
    reranked: _Scores
    best: _Scores
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

    def mended(self, n: int = 3) -> list[_Mended]:
        """Return at most `n` improved sentences: different kinds of errors, completely correct and short parses first.

        Each is a named tuple: the `number` of the sentence in the test set, the trees `gold`, `before` and `after`, and
        the parse scores `score_before` and `score_after`, in percent.
        """
        parses = self.parts.test
        score = 100 * parses.counts.goodness
        before, after = score[self.first_rows], score[self.chosen_rows]
        mended = []
        for number in np.flatnonzero(after > before).tolist():
            gold, old, new = (
                bank[int(row)]
                for bank, row in (
                    (parses.gold, number),
                    (parses.trees, self.first_rows[number]),
                    (parses.trees, self.chosen_rows[number]),
                )
            )
            if gold is None or old is None or new is None:
                raise TreeError(f"A tree of sentence {number} is missing. Remove missing trees first.")
            mended.append(_Mended(number, gold, old, new, float(before[number]), float(after[number])))
        readable = 8  # preferred number of words of a sentence that is drawn
        mended.sort(
            key=lambda item: (item.score_after < 100, item.after != item.gold, abs(len(item.gold.words()) - readable))
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
        sets = dict(zip(_NAMES, (self.parts.train, self.parts.development, self.parts.test), strict=True))
        return {
            "sentences": {name: len(parses) for name, parses in sets.items()},
            "candidates": {name: len(parses.trees) for name, parses in sets.items()},
            "notes": self.parts.notes,
            "setting": vars(self.setting),
            "kernel": repr(self.reranker.ranker.kernel),
            "prediction": getattr(self.reranker.ranker, "prediction", None),
            "tried": [{**vars(setting), "parse_score": score} for setting, score in self.tried],
            "first": self.first._asdict(),
            "reranked": self.reranked._asdict(),
            "oracle": self.best._asdict(),
            "error_reduction": self.error_reduction if math.isfinite(self.error_reduction) else None,
            "p_value": self.test.p_value,
            "interval": list(self.test.interval),
            "changed": self.changed,
            "better": self.better,
            "worse": self.worse,
            "seconds": self.seconds,
        }

    def text(self, mended: Sequence[_Mended], title: str, source: str, *, colour: bool = False) -> str:
        """Return the report for a terminal, with some improved sentences (`mended`)."""
        width = 100

        def wrapped(*paragraphs: str) -> list[str]:
            return [line for part in paragraphs for line in (*textwrap.wrap(part, width), "")]

        header, *rows = _score_table(self)
        out = [title, "", *wrapped(source, *_data(self))]
        out += [f"{name:<32}" + "".join(f"{cell:>14}" for cell in cells) for name, *cells in (header, *rows)]
        out += ["", *wrapped(_verdict(self), _MEASURES, _settings(self))]
        if mended:
            count = "An improved sentence:" if len(mended) == 1 else f"{len(mended)} improved sentences:"
            key = "* marks a wrong phrase, + a phrase that was missing before."
            out += wrapped(f"{count} {key} Phrases that are correct in both trees are on one line.{_labels(mended)}")
        for number, item in enumerate(mended, 1):
            out += [f"{number}. {item.words}", f"   {_score_change(item)}", ""]
            for name, drawn in (
                ("first choice", marked(item.before, item.gold, item.after, new=False, colour=colour)),
                ("reranked", marked(item.after, item.gold, item.before, colour=colour)),
            ):
                out += [f"   {name}", *(f"     {line}" for line in drawn.splitlines()), ""]
        return "\n".join([*out, *textwrap.wrap(_phases(self), width)])

    def files(self, mended: Sequence[_Mended], title: str, source: str, command: str) -> dict[str, str | Drawing]:
        """Return the contents of a report folder by file name: an HTML page, its drawings, and the results as JSON."""
        drawn = {}
        for number, item in enumerate(mended, 1):
            drawn[f"mended-{number}-first.svg"] = marked_svg(item.before, item.gold, item.after, new=False)
            drawn[f"mended-{number}-reranked.svg"] = marked_svg(item.after, item.gold, item.before)
        header, *rows = _score_table(self)
        out: list[str] = [
            f'<h1>{escape(title)}</h1>\n<p class="source">{escape(source)}</p>',
            paragraphs(*_data(self)),
            _bars(self),
            table(header, rows, chosen=[1]),
            paragraphs(_verdict(self), _MEASURES),
        ]
        if mended:
            out.append(
                '<h2>Improved sentences</h2>\n<p><span class="key wrong">Red</span> marks a wrong phrase, '
                '<span class="key new">green</span> a phrase that was missing before.'
                f"{_labels(mended)}</p>"
            )
        widest = 640  # pixels: wider pictures are not placed side by side
        for number, item in enumerate(mended, 1):
            first, reranked = (drawn[f"mended-{number}-{name}.svg"] for name in ("first", "reranked"))
            out.append(
                f'<p class="sentence">{number}. {escape(item.words)}</p>\n<p>{_score_change(item).capitalize()}.</p>'
            )
            out.append(f'<div class="{"pair" if max(first.width, reranked.width) > widest else "pair beside"}">')
            for picture, caption in ((first, "The parser’s first choice"), (reranked, "Reranked")):
                out.append(f"<figure><figcaption>{caption}</figcaption>\n{picture}</figure>")
            out.append("</div>")
        out.append(f"<h2>Settings</h2>\n{paragraphs(_settings(self))}")
        if self.tried:
            chosen = [number for number, (setting, _) in enumerate(self.tried) if setting == self.setting]
            tried = [(setting, f"{score:.2f}") for setting, score in self.tried]
            out.append(table(("setting", "parse score, development"), tried, chosen=chosen))
        out.append(f"<p>{escape(_phases(self))}</p>\n<p>Created with <code>{escape(command)}</code>.</p>")
        return {
            **drawn,
            "report.json": json.dumps(self.as_dict(), indent=1) + "\n",
            "report.html": page(title, out),
        }


def rerank(
    parts: CandidateSplit,
    settings: Sequence[Setting] | None = None,
    *,
    epochs: int = 3,
    prediction: str = "averaged",
    candidates: int | None = 20,
    random_state: Any = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
    say: Callable[[str], None] | None = None,
) -> Outcome:
    """Choose a setting on the development set, train on the training and development sets, and test once.

    Parameters
    ----------
    parts : CandidateSplit
        The result of `parts_of_treebank` or `parts_of_lists`.
    settings : list of Setting, optional
        Settings to choose from. Default: ``Setting.grid()``.
    epochs : int, default 3
        Number of passes of the perceptron.
    prediction : {"averaged", "voted", "last"}, default "averaged"
        Weight vectors that score the candidates, as in `VotedPerceptron`.
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
    >>> outcome = rerank(parts_of_treebank(flights(300), k=20, folds=3), Setting.grid(lam=[0.3], logp=[0.1]))
    >>> outcome.first.parse_score < outcome.reranked.parse_score < outcome.best.parse_score
    True
    """
    seconds = dict(parts.seconds)
    done = _stopwatch(seconds, say)
    choices = Setting.grid() if settings is None else list(settings)
    if not choices:
        raise ParameterError("The list of settings is empty: rerank needs at least one setting.")

    def trained(setting: Setting, parses: CandidateParses) -> Reranker:
        machine = setting.reranker(
            epochs=epochs, prediction=prediction, candidates=candidates, random_state=random_state, n_jobs=n_jobs
        )
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
        done("choosing", f"Development set: parse score {score:.2f} with {setting}")
    setting = max(tried, key=lambda item: item[1])[0] if tried else choices[0]
    reranker = trained(setting, CandidateParses.concat([parts.train, parts.development]))
    done("training", f"Trained on the training and development sets with {setting}")

    parses = parts.test
    first, chosen = parses.first(), reranker.choose(parses)
    done("reranking", f"Reranked {plural(len(parses), 'sentence')} of the test set")
    by_f1 = oracle(candidate_scores(parses.gold, parses.trees, parses.qid, PARSEVAL), parses.qid, "f1").f1
    best = best_of_group(parses.counts.goodness, parses.qid)
    before, after = parses.counts.goodness[first], parses.counts.goodness[chosen]
    scores = []
    for rows in (first, chosen, best):
        f1 = by_f1 if rows is best else bracket_counts(parses.gold, parses.trees[rows], PARSEVAL).f1
        scores.append(_Scores(parses.counts[rows].parse_score, f1, parses.counts[rows].exact_match))
    test = paired_bootstrap(parses.counts[chosen], parses.counts[first], "parse_score", random_state=random_state)
    done("scoring", "Computed the scores")
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
        seconds=seconds,
    )


# --- texts of the report ----------------------------------------------------------------------------------------------


_MEASURES = (
    "The parse score of Collins & Duffy (2001) is the mean of two percentages: the phrases of the parse that are correct "
    "(precision), and the phrases of the gold tree that were found (recall). Longer sentences have a larger weight. "
    "Part-of-speech tags, such as NN, are not phrases and do not count. "
    "F1 is the harmonic mean of precision and recall. Exact match counts the sentences without any wrong or missing phrase."
)


def _data(outcome: Outcome) -> list[str]:
    """Describe the split, the candidates with the scores of the parser, and the training with the score of the reranker."""
    parts, notes = outcome.parts, outcome.parts.notes
    text = (
        f"Random split: {len(parts.train):,} training, {len(parts.development):,} development and "
        f"{len(parts.test):,} test sentences"
    )
    if "documents" in notes:
        text += f", from {plural(notes['documents'], 'document')} that were not split"
    labels = {
        "twins": "Removed because a later set has the same words: {}",
        "long": "Skipped because they are too long: {}",
        "missing": "Skipped because they are missing or a single word: {}",
    }
    more = [labels[name].format(f"{notes[name]:,}") for name in labels if notes.get(name)]
    test, first, best = parts.test, outcome.first, outcome.best
    parser = "A grammar of the training trees" if "grammar" in parts.seconds else "A parser"
    proposals = (
        f"{parser} proposes up to {np.bincount(test.qid).max():,} candidate parses per sentence, "
        f"{len(test.trees) / len(test):.0f} on average, each with a probability. On the {plural(len(test), 'sentence')} of "
        f"the test set, its first choice has a parse score of {first.parse_score:.1f} (of 100) and is completely correct "
        f"for {first.exact:.0f} % of the sentences. For {best.exact:.0f} %, the correct parse is among the candidates. "
        f"Choosing the best candidate of every sentence would give a parse score of {best.parse_score:.1f}."
    )
    learning = (
        f"treelet learned from {len(parts.train) + len(parts.development):,} other sentences which tree fragments are "
        f"typical of correct parses. Choosing among the same candidates, it has a parse score of "
        f"{outcome.reranked.parse_score:.1f}."
    )
    return [". ".join([text, *more]) + ".", proposals, learning]


def _score_table(outcome: Outcome) -> list[tuple[str, ...]]:
    """Return the header and the three rows of the table of scores."""
    named = {
        "parser's first choice": outcome.first,
        "reranked": outcome.reranked,
        "best candidate (oracle)": outcome.best,
    }
    rows = [(name, f"{row.parse_score:.2f}", f"{row.f1:.2f}", f"{row.exact:.1f} %") for name, row in named.items()]
    return [("", "parse score", "labeled F1", "exact match"), *rows]


def _verdict(outcome: Outcome) -> str:
    """State whether reranking helps, and by how much."""
    gain = outcome.test.difference
    low, high = outcome.test.interval
    reduction = outcome.error_reduction
    if abs(gain) < 0.05:
        effect = "Reranking makes no difference to the parse score (below 0.05 points)."
    elif gain > 0 and outcome.test.p_value < 0.05:
        effect = f"Reranking improves the parse score by {gain:.1f} points, an error reduction of {reduction:.0f} %."
    elif gain > 0:
        effect = f"The parse score after reranking is {gain:.1f} points higher."
    else:
        effect = f"Reranking lowers the parse score by {-gain:.1f} points, so it does not help here."
    p = "< 0.001" if outcome.test.p_value < 0.001 else f"= {outcome.test.p_value:.3f}"
    significance = (
        f"The 95 % confidence interval of the difference is {low:+.1f} to {high:+.1f} points (paired bootstrap over "
        f"sentences, p {p}{'' if outcome.test.p_value < 0.05 else ', not significant'})."
    )
    return (
        f"{effect} {significance} Another parse was chosen for {outcome.changed:,} of "
        f"{plural(len(outcome.parts.test), 'sentence')}: {outcome.better:,} are better, {outcome.worse:,} are worse, and "
        f"{outcome.changed - outcome.better - outcome.worse:,} are equally good."
    )


def _settings(outcome: Outcome) -> str:
    """Describe the setting and how it was chosen."""
    chosen = outcome.setting
    depth = "" if chosen.max_depth is None else f", maximum depth of fragments {chosen.max_depth}"
    terms = [f"log probability of the parser as a feature (logp) {chosen.logp:g}"] * bool(chosen.logp)
    terms += [f"fixed weight of the log probability (fixed logp) {chosen.fixed_logp:g}"] * bool(chosen.fixed_logp)
    ranker = outcome.reranker.ranker
    kinds = {"voted": "all weights of the perceptron vote", "last": "last weights of the perceptron"}
    terms += [kinds[kind]] if (kind := getattr(ranker, "prediction", "")) in kinds else []
    logp = ", ".join(terms) or "without log probabilities"
    origin = f"Best of {len(outcome.tried)} settings on the development set" if outcome.tried else "Setting"
    # a sentence for each chosen value that is the largest or smallest one tried, and better than the next one
    sentences = []
    for name, low, high in (
        ("lam", 0, 1),
        ("max_depth", 1, math.inf),
        ("logp", 0, math.inf),
        ("fixed_logp", 0, math.inf),
    ):
        best_of: dict[float, float] = {}  # the best score with each value; None means no limit of the depth
        for setting, score in outcome.tried:
            tried = getattr(setting, name)
            tried = math.inf if tried is None else tried
            best_of[tried] = max(score, best_of.get(tried, -math.inf))
        value, values = getattr(chosen, name), sorted(best_of)
        value = math.inf if value is None else value
        for ordered, bound, side, more in (
            (values[::-1], high, "largest", "larger"),
            (values, low, "smallest", "smaller"),
        ):
            if value != bound and ordered[:1] == [value] and len(values) > 1 and best_of[value] > best_of[ordered[1]]:
                shown = {"max_depth": "depth"}.get(name, name.replace("_", " "))
                sentences.append(f"The best {shown}, {value:g}, is the {side} value tried; try {more} values as well.")
    return " ".join([f"{origin}: decay per production (lam) {chosen.lam:g}{depth}, {logp}.", *sentences])


def _labels(mended: Sequence[_Mended]) -> str:
    """Explain the common labels of English treebanks that occur in the trees."""
    meanings = {
        "NP": "a noun phrase",
        "VP": "a verb phrase",
        "PP": "a prepositional phrase",
        "S": "a clause",
        "SBAR": "a subordinate clause",
        "SQ": "a question",
    }
    names = {node.label for item in mended for tree in (item.before, item.after) for node in tree.nodes()}
    named = [f"{label} is {meaning}" for label, meaning in meanings.items() if label in names]
    return f" In the trees, {', '.join(named)}." if named else ""


def _phases(outcome: Outcome) -> str:
    """Return the durations of the phases."""
    durations = ", ".join(f"{name} {value:.1f}" for name, value in outcome.seconds.items())
    return f"Run time {sum(outcome.seconds.values()):.1f} seconds: {durations}."


def _score_change(item: _Mended) -> str:
    after = "100 (completely correct)" if item.score_after == 100 else f"{item.score_after:.0f}"
    return f"parse score: first choice {item.score_before:.0f}, reranked {after}"


def _bars(outcome: Outcome) -> str:
    """Return a bar chart of the three parse scores, as SVG."""
    left, width, high = 120, 5.2, 30  # pixels: width of the names, width per point, height of a row
    lines = [
        f'<svg class="bars" viewBox="0 0 720 {3 * high + 34}" role="img" aria-label="parse scores" font-size="14" '
        'font-family="Helvetica, Arial, sans-serif">'
    ]
    lines += [
        f'<path d="M{left + width * score:.1f} 2V{3 * high + 6}" stroke="#e1e4e8"/><text x="{left + width * score:.1f}" '
        f'y="{3 * high + 24}" text-anchor="middle" fill="#57606a" font-size="12">{score}</text>'
        for score in range(0, 101, 20)
    ]
    for row, (name, color, scores) in enumerate(
        (
            ("first choice", "#9aa3ad", outcome.first),
            ("reranked", "#2f6fb0", outcome.reranked),
            ("oracle", "#d4dae0", outcome.best),
        )
    ):
        y, long = 6 + row * high, width * scores.parse_score
        lines.append(
            f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{name}</text>'
            f'<rect x="{left}" y="{y}" width="{long:.1f}" height="{high - 8}" rx="3" fill="{color}"/>'
            f'<text x="{left + long + 8:.1f}" y="{y + 16}" font-weight="600">{scores.parse_score:.1f}</text>'
        )
    return "\n".join([*lines, "</svg>"])
