"""The parses of the locality experiment: which are learned from, which are chosen on, which are ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.documents import balanced_folds, drawn_documents, rows_of
from experiments.locality_goodness import Goodness, measured
from treelet.cuts.features import feature_sequences
from treelet.structures import Dependencies, Table, main_types
from treelet.tasks import ParsedSentence, ParseLists

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Corpus:
    """Sentences with parses, how good these are by each measure, and a random order of the parses of each sentence.

    Attributes
    ----------
    sentences : list of ParsedSentence
    goodness : Goodness
    turn : ndarray of int
        Of each parse; those with a turn below k are k parses of their sentence, drawn at random.
    development : ndarray of int
        The sentences to choose settings on, of documents of their own.
    """

    sentences: Sequence[ParsedSentence]
    goodness: Goodness
    turn: NDArray[np.int64]
    development: Rows

    @classmethod
    def of(cls, sentences: Sequence[ParsedSentence], development: int, seed: int) -> Corpus:
        """With at most so many sentences to choose settings on."""
        documents = [sentence.document for sentence in sentences]
        chosen = np.sort(rows_of(documents, drawn_documents(documents, development, seed)[0]))
        rng = np.random.default_rng(seed)
        turn = np.concatenate([rng.permutation(len(sentence.parses)) for sentence in sentences])
        return cls(sentences, measured(sentences, chosen.tolist()), turn, chosen)

    @cached_property
    def qid(self) -> NDArray[np.int64]:
        """The sentence of each parse."""
        return np.repeat(np.arange(len(self.sentences)), [len(sentence.parses) for sentence in self.sentences])

    @cached_property
    def others(self) -> Rows:
        """The sentences to learn from and to rank."""
        return np.setdiff1d(np.arange(len(self.sentences)), self.development)

    @cached_property
    def ids(self) -> list[str]:
        """The document of each sentence and its number there."""
        seen: dict[str, int] = {}
        found = []
        for sentence in self.sentences:
            seen[sentence.document] = seen.get(sentence.document, 0) + 1
            found.append(f"{sentence.document}/{seen[sentence.document]}")
        return found

    def parses(self, sentences: Rows, k: int | None = None) -> Rows:
        """The places of all parses of some sentences, or of k drawn at random of each."""
        there = np.isin(self.qid, sentences)
        return np.flatnonzero(there if k is None else there & (self.turn < k))

    def lists(self, parses: Rows, measure: int = 0) -> ParseLists:
        """Some parses, sentence by sentence, as good as a measure says."""
        first = np.searchsorted(self.qid, np.arange(len(self.sentences)))
        found = []
        bounds = [0, *(np.flatnonzero(np.diff(self.qid[parses])) + 1).tolist(), len(parses)]
        for begin, end in pairwise(bounds):
            which = parses[begin:end]
            number = self.qid[which[0]]
            sentence = self.sentences[number]
            places = (which - first[number]).tolist()
            found.append(
                replace(
                    sentence,
                    parses=tuple(sentence.parses[k] for k in places),
                    goodness=tuple(self.goodness.values[which, measure].tolist()),
                    ranks=tuple(sentence.ranks[k] for k in places),
                )
            )
        return ParseLists(found)

    def halves(self, times: int, seed: int) -> list[tuple[Rows, Rows]]:
        """The other sentences in two halves of whole documents, so many times; each half is learned from and ranked once."""
        found = []
        documents = [self.sentences[k].document for k in self.others]
        for time in range(times):
            some, rest = drawn_documents(documents, (len(documents) + 1) // 2, seed + 1 + time)
            one, other = (np.sort(self.others[rows_of(documents, names)]) for names in (some, rest))
            found += [(one, other), (other, one)]
        return found

    def folds(self, number: int, times: int, seed: int) -> list[tuple[Rows, Rows]]:
        """The other sentences in folds of whole documents, so many times; each fold is ranked once, after learning from all others."""
        documents = np.array([self.sentences[k].document for k in self.others])
        found = []
        for time in range(times):
            names = np.random.default_rng([seed, time]).permutation(np.unique(documents))
            fold_of = balanced_folds(documents.tolist(), names.tolist(), number)
            fold = np.array([fold_of[name] for name in documents.tolist()])
            found += [(self.others[fold != k], self.others[fold == k]) for k in range(number)]
        return found


def distinct(sentences: Sequence[ParsedSentence]) -> list[ParsedSentence]:
    """The first of the sentences that have the same words, so that none is both learned from and tested on."""
    found: dict[tuple[str, ...], ParsedSentence] = {}
    for sentence in sentences:
        words = sentence.gold.words if sentence.gold else sentence.text.split()
        found.setdefault(tuple(word.lower() for word in words), sentence)
    return list(found.values())


def tabled(lists: ParseLists) -> Table:
    """The columns of `ParseLists.table` with trees, and n-grams of links with full and with main types."""
    table = lists.table(form="grct")
    columns: dict[str | int, Any] = {name: table[name] for name in table.names}
    columns["grams"] = [grams(parse) for parse in lists.parses]
    columns["main grams"] = [grams(main_types(parse)) for parse in lists.parses]
    return Table(columns)


def grams(parse: Dependencies) -> dict[str, float]:
    """Count sequences of one to three link types in a parse, and one or two words with the type of a link.

    >>> grams(Dependencies(["dogs", "bark", "loudly"], None, [(0, 1, "Sp"), (1, 2, "MVa")]))["Sp MVa"]
    1.0
    """
    sequences = feature_sequences(parse)
    found: dict[str, float] = {}
    for name, longest in (("link_type", 3), ("word_link_type", 2)):
        features = [str(feature) for feature in sequences[name]]
        for n in range(1, longest + 1):
            for k in range(len(features) - n + 1):
                gram = " ".join(features[k : k + n])
                found[gram] = found.get(gram, 0.0) + 1.0
    return found
