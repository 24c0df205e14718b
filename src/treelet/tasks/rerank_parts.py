"""Sentences with candidates, split to train, develop and test on: from a treebank or another parser's lists."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treelet.checks import plural, wrong
from treelet.errors import ParameterError
from treelet.parsing import PCFG
from treelet.structures import Treebank
from treelet.tasks.reranking import CandidateParses, Rows, random_split
from treelet.vocabulary import current
from treelet.work import generator

Say = Callable[[str], None]
Words = tuple[str, ...]
SIZES = (0.6, 0.15, 0.25)  # about the 800, 200 and 336 sentences of Collins & Duffy (2001)
NAMES = ("training", "development", "test")


def quiet(text: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, eq=False)
class CandidateSplit:
    """Candidates to train, develop and test on.

    Attributes
    ----------
    train, development, test : CandidateParses
    notes : dict of int
        What became of other sentences: ``long``, ``missing``, ``twins`` (same words as a sentence to develop or test
        on), ``unused``; how many ``documents`` there were, if parts are made of whole ones.
    seconds : dict of float
        By phase.
    rows : tuple of three ndarrays of int
        Where the sentences of each part stood in what was split.
    """

    train: CandidateParses
    development: CandidateParses
    test: CandidateParses
    notes: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    rows: tuple[Rows, ...] = ()


def part_sizes(n: int, sizes: Sequence[float] | None = None) -> list[int]:
    """Three numbers of sentences, from numbers or from fractions of `n`.

    >>> part_sizes(1000), part_sizes(1000, [0.5, 0.1, 0.2]), part_sizes(1000, [700, 100, 200])
    ([600, 150, 250], [500, 100, 200], [700, 100, 200])
    """
    wanted = SIZES if sizes is None else tuple(sizes)
    subject, shown = current().parameter("sizes", sizes, ""), ", ".join(f"{size:g}" for size in wanted)
    if len(wanted) != 3 or not all(0 < size < math.inf for size in wanted):
        raise ParameterError(
            f"{subject} must be three numbers above 0: sentences to train, develop and test on. "
            f"Got {shown or 'nothing'} instead."
        )
    if all(size < 1 for size in wanted):
        if sum(wanted) > 1 + 1e-9:
            raise ParameterError(f"{subject} must be fractions of at most 1 together, got {sum(wanted):g}.")
        counts = [int(size * n + 1e-9) for size in wanted]
    elif all(float(size).is_integer() for size in wanted):
        counts = [int(size) for size in wanted]
    else:
        raise ParameterError(f"{subject} must be three whole numbers or three fractions. Got {shown} instead.")
    if min(counts) < 1 or sum(counts) > n:
        raise ParameterError(
            f"{n:,} sentences cannot be split into {', '.join(map(str, counts))} to train, develop and test on: "
            "choose other sizes, or give more sentences"
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
    progress: bool = False,
    say: Say = quiet,
    **options: Any,
) -> CandidateSplit:
    """Split a treebank at random, and let a grammar propose parses.

    The grammar is read off the training part. For the training part itself, each fold is parsed by a grammar of
    the others, so that its candidates are of the kind that a ranker meets later. A sentence with the same words as one of the
    development or test part is taken out of the parts before it.

    Parameters
    ----------
    bank : Treebank, list of trees, ...
        Missing trees and single words are left out.
    sizes : three numbers, optional
        Sentences to train, develop and test on, or fractions of all.
    k : int
        Candidates a sentence, at most.
    folds : int
        Of the training part.
    max_words : int, optional
        Longer sentences are left out.
    random_state : int, RandomState or None
        Of the split.
    documents : sequence of str, optional
        The document of each tree. Parts are then made of whole ones, and sizes reached as nearly as these allow.
    n_jobs, progress
        Threads; whether to show progress bars.
    say : callable
        Is told, in words, what has been done.
    **options
        Of `PCFG.from_treebank`: ``markov``, ``parent``, ...

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
    clock = Clock(say)
    whole = Treebank.of(bank)
    words = [tuple(tree.words()) if tree is not None and tree.children else () for tree in whole]
    kept, notes = _kept(words, max_words)
    if not len(kept):
        raise ParameterError(
            f"none of the {len(whole):,} trees is of use: single words, missing, or above {max_words} words"
        )
    counts = part_sizes(len(kept), sizes)
    if documents is None:
        split = [kept[part] for part in random_split(len(kept), counts, random_state)]
    else:
        split = _whole_documents(kept, documents, len(words), counts, random_state, notes)
    parts, notes["twins"] = without_twins(split, words)
    notes["unused"] = len(kept) - sum(map(len, split))
    clock.done("split", _split_text(parts, notes))
    train, development, test = (whole[part] for part in parts)

    grammar = PCFG.from_treebank(train, **options)
    clock.done("grammar", f"grammar of the training part: {plural(len(grammar.rules), 'rule')}")
    learnt = CandidateParses.jackknifed(train, k, folds=folds, n_jobs=n_jobs, progress=progress, **options)
    clock.done(
        "training candidates", f"training part, parsed in {folds} folds: {plural(len(learnt.trees), 'candidate')}"
    )
    tuned = CandidateParses.parsed(grammar, development, k, n_jobs=n_jobs, progress=progress)
    tested = CandidateParses.parsed(grammar, test, k, n_jobs=n_jobs, progress=progress)
    clock.done(
        "other candidates",
        f"development and test part, parsed: {len(tuned.trees):,} and {len(tested.trees):,} candidates",
    )
    return CandidateSplit(learnt, tuned, tested, notes, clock.seconds, tuple(parts))


def parts_of_lists(
    parses: CandidateParses,
    documents: Sequence[str] | None = None,
    sizes: Sequence[float] | None = None,
    *,
    max_words: int | None = 40,
    random_state: Any = 0,
    say: Say = quiet,
) -> CandidateSplit:
    """Split another parser's lists at random, whole documents at a time.

    Parameters
    ----------
    parses : CandidateParses
    documents : sequence of str, optional
        The document of each sentence. Sizes are then reached as nearly as whole documents allow.
    sizes, max_words, random_state, say
        As in `parts_of_treebank`.

    Returns
    -------
    CandidateSplit
    """
    clock = Clock(say)
    words = [tuple(tree.words()) if tree is not None else () for tree in parses.gold]
    kept, notes = _kept(words, max_words)
    counts = part_sizes(len(kept), sizes)
    names = [str(number) for number in range(len(words))] if documents is None else documents
    split = _whole_documents(kept, names, len(words), counts, random_state, notes)
    notes["unused"] = len(kept) - sum(map(len, split))
    parts, notes["twins"] = without_twins(split, words)
    train, development, test = (parses.sentences(part) for part in parts)
    clock.done("split", _split_text(parts, notes))
    return CandidateSplit(train, development, test, notes, clock.seconds, tuple(parts))


def _kept(words: Sequence[Words], max_words: int | None) -> tuple[Rows, dict[str, int]]:
    if max_words is not None and max_words < 1:
        raise wrong("max_words", "at least 1", max_words, optional=True)
    lengths = np.array([len(sentence) for sentence in words], np.int64)
    long = lengths > (math.inf if max_words is None else max_words)
    notes = {"missing": int((lengths == 0).sum()), "long": int(long.sum())}
    return np.flatnonzero((lengths > 0) & ~long), notes


def apart_from(others: Iterable[Words], rows: Iterable[int], words: Sequence[Words]) -> Rows:
    """Those rows whose sentence has the words of none of some others.

    >>> apart_from({("c",), ("e",)}, [0, 1, 2], [("a", "b"), ("c",), ("d",)]).tolist()
    [0, 2]
    """
    seen = set(others)
    return np.array([row for row in rows if words[row] not in seen], np.int64)


def without_twins(
    parts: Sequence[Rows], words: Sequence[Words], elsewhere: Iterable[Words] = ()
) -> tuple[list[Rows], int]:
    """Take out of each part what has the same words as something in a later part, or elsewhere; and how many went.

    Parameters
    ----------
    parts : sequence of arrays of int
        Parts of one corpus, those that are tested on last; or only one, to hold a corpus against others.
    words : sequence of tuples of str
        Of each sentence of the corpus.
    elsewhere : iterable of tuples of str
        Sentences of other corpora: such as those on which the parser was trained whose lists these are.

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
    names = NAMES if len(parts) == len(NAMES) else [f"{number}." for number in range(1, len(parts) + 1)]
    seen = set(elsewhere)
    out: list[Rows] = []
    taken = 0
    for name, part in zip(reversed(names), reversed(parts), strict=True):
        left = apart_from(seen, part, words)
        if not len(left):
            raise ParameterError(
                f"every sentence of the {name} part has the same words as one that is tested on: nothing is left. "
                "Take repeated sentences out of the data, or choose other sizes"
            )
        taken += len(part) - len(left)
        seen |= {words[row] for row in part}
        out.append(left)
    return out[::-1], taken


def _whole_documents(
    kept: Rows,
    documents: Sequence[str],
    total: int,
    sizes: Sequence[int],
    random_state: Any,
    notes: dict[str, int],
) -> list[Rows]:
    """Whole documents at random in three parts of about these sizes; how many there are is noted."""
    if len(documents) != total:
        raise ParameterError(f"there are {total:,} sentences and {len(documents):,} documents: each needs one")
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
    for name, rows in zip(NAMES, split, strict=True):
        if not len(rows):
            raise ParameterError(
                f"with {len(counts):,} whole documents, no sentence is left for the {name} part: "
                "choose other sizes or another random_state"
            )
    return [kept[rows] for rows in split]


def _split_text(parts: Sequence[Rows], notes: dict[str, int]) -> str:
    sizes = ", ".join(f"{len(part):,} {name}" for name, part in zip(NAMES, parts, strict=True))
    more = [
        f"{notes['twins']:,} taken out of training because the same words are tested on" * (notes["twins"] > 0),
        f"{notes['long']:,} too long" * (notes["long"] > 0),
        f"{notes['missing']:,} missing or of one word" * (notes["missing"] > 0),
        f"{notes['unused']:,} in no part" * (notes["unused"] > 0),
        f"{notes.get('documents', 0):,} documents kept whole" * ("documents" in notes),
    ]
    return "; ".join([f"sentences: {sizes}", *filter(None, more)])


class Clock:
    """Seconds by phase, each told when it is done."""

    def __init__(self, say: Say) -> None:
        self.say, self.seconds = say, dict[str, float]()
        self.last = time.perf_counter()

    def done(self, phase: str, text: str) -> None:
        """A phase ends here."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self.last
        self.say(f"{text} ({now - self.last:.1f} s)")
        self.last = now
