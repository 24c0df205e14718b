"""Data of the experiment of Collins & Duffy: treebanks, and candidate lists of another parser without its training sentences."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.data import apart_from, corpus, question_bank, wsj_sample
from treelet.datasets import flights
from treelet.errors import ParameterError
from treelet.formats.files import open_source
from treelet.formats.reading import read_document
from treelet.structures import Treebank, read_trees
from treelet.tasks import CandidateParses, CandidateSplit, parts_of_lists, parts_of_treebank

PAPER_SIZES = (800, 200, 336)
GRAMMARS: dict[str, tuple[str, dict[str, Any]]] = {
    "wsj": ("", {}),
    "wsj-markovised": (", annotated grammar", {"markov": 2, "parent": "tags"}),
    "wsj-split": (
        ", annotated grammar with label splits",
        {"markov": 2, "parent": "tags", "split": "penn", "smoothing": 1},
    ),
}


@dataclass(frozen=True, eq=False)
class Data:
    """Sentences and how they are split: a treebank and how its grammars are estimated, or another parser's lists.

    Attributes
    ----------
    kind : str
        Decides which settings are tried.
    lists : CandidateParses, optional
        Another parser's; `more` are lists of another kind of text, to learn from too.
    ids : list of str
        Of each sentence; by default its number.
    notes : dict of int
        Sentences that were left out, by reason.
    """

    kind: str
    title: str
    sizes: tuple[float, float, float]
    splits: int
    bank: Treebank | None = None
    grammar: dict[str, Any] = field(default_factory=dict)
    max_words: int | None = None
    documents: list[str] | None = None
    lists: CandidateParses | None = None
    more: CandidateParses | None = None
    ids: list[str] | None = None
    notes: dict[str, int] = field(default_factory=dict)

    def parts(self, seed: int, k: int) -> CandidateSplit:
        """Candidates of a random split."""
        if self.lists is not None:
            return parts_of_lists(self.lists, self.sizes, max_words=None, random_state=seed)
        return parts_of_treebank(
            self.bank,
            self.sizes,
            k=k,
            max_words=self.max_words,
            random_state=seed,
            documents=self.documents,
            **self.grammar,
        )

    def names(self, rows: Any) -> list[str]:
        """Ids of sentences."""
        return [str(row) if self.ids is None else self.ids[row] for row in rows]

    def learnt_from_too(self, parts: CandidateSplit) -> CandidateParses | None:
        """The other lists, without sentences that are developed or tested on."""
        if self.more is None:
            return None
        held = [*words_of(parts.development.gold), *words_of(parts.test.gold)]
        return self.more.sentences(apart_from(held, range(len(self.more)), words_of(self.more.gold)))


def load(treebank: str | None, nbest: str | None, quick: bool) -> Data:
    """By name (flights, questionbank, wsj, wsj-markovised, wsj-split, nbest), a file of trees, or a file of lists."""
    if nbest is not None:
        if treebank is not None:
            raise ParameterError("--treebank and --nbest cannot be combined. Pass only one of them.")
        return _listed("lists", CandidateParses.read(nbest), {}, None, quick)
    name = treebank or "flights"
    if name == "nbest":
        return _other_parser(quick)
    data = _treebank(name)
    if not quick:
        return data
    return Data(**(vars(data) | {"sizes": (120, 40, 60), "splits": 2}))


def _treebank(name: str) -> Data:
    if name == "flights":
        title = "Flights: a GENERATED treebank of travel questions, made to be ambiguous"
        return Data(name, title, PAPER_SIZES, 10, flights())
    if name == "questionbank":
        return Data(name, "QuestionBank (Judge, Cahill & van Genabith 2006)", PAPER_SIZES, 10, question_bank())
    if name in GRAMMARS:
        kind, grammar = GRAMMARS[name]
        bank, documents = wsj_sample()
        title = f"Penn Treebank sample (WSJ), sentences of at most 40 words{kind}"
        ids = numbered(documents)
        return Data(name, title, (0.7, 0.1, 0.2), 5, bank, grammar, 40, documents, ids=ids)
    bank = read_trees(name)
    return Data("file", name, PAPER_SIZES if len(bank) >= sum(PAPER_SIZES) else (0.6, 0.15, 0.25), 10, bank)


# --- another parser's lists ---------------------------------------------------------------------------------------


def _other_parser(quick: bool) -> Data:
    """The lists of the WSJ sample, without sentences that their parser was trained on as part of other corpora."""
    lists = CandidateParses.read(corpus("wsj_nbest", "wsj_sample.nbest20.jsonl"))
    rows, notes = unseen(lists)
    return _listed("nbest", lists.sentences(rows), notes, None if quick else question_lists(), quick)


def unseen(lists: CandidateParses) -> tuple[Any, dict[str, int]]:
    """The sentences of the WSJ lists that are not in the other corpora of their parser's training, and how many are in each."""
    masc = read_document(corpus("masc_srl", "trees.tsv"), "tsv", label_column=0)
    others = {
        "MASC": words_of(Treebank.from_columns(masc.trees["tree"])),
        "QuestionBank": words_of(question_bank()),
    }
    rows, words = np.arange(len(lists)), words_of(lists.gold)
    notes = {}
    for name, sentences in others.items():
        kept = apart_from(sentences, rows, words)
        rows, notes[name] = kept, len(rows) - len(kept)
    return rows, notes


def _listed(
    kind: str,
    lists: CandidateParses,
    notes: dict[str, int],
    more: CandidateParses | None,
    quick: bool,
) -> Data:
    if quick:
        lists = lists.sentences(range(min(len(lists), 320)))
    documents = list(lists.documents or ())
    title = f"{len(lists):,} sentences with another parser's lists"
    return Data(
        kind,
        title,
        (0.7, 0.1, 0.2),
        1 if quick else 5,
        documents=documents,
        lists=lists,
        more=more,
        ids=numbered(documents),
        notes=notes,
    )


def question_lists() -> CandidateParses:
    """Lists of the questions of which QuestionBank has the right tree, by a parser trained without them; where words agree."""
    gold: list[str] = []
    trees: list[str] = []
    logp: list[float] = []
    qid: list[int] = []
    for part in ("train", "test"):
        right: dict[int, str] = {}
        with open_source(corpus("qc_trees", f"{part}.gold.tsv")) as source:
            for _, line in source.text_lines():
                number, _, _, tree = line.rstrip("\n").split("\t")
                right[int(number)] = tree
        with open_source(corpus("qc_trees", f"{part}.nbest20.jsonl")) as source:
            for _, line in source.text_lines():
                data = json.loads(line)
                if data["i"] in right:
                    found = data["nbest"]
                    trees += [tree for _, tree in found]
                    logp += [score for score, _ in found]
                    qid += [len(gold)] * len(found)
                    gold.append(right[data["i"]])
    rows, banks = np.array(qid), (Treebank(gold), Treebank(trees))
    starts = np.searchsorted(rows, np.arange(len(gold)))
    same = [a == b for a, b in zip(words_of(banks[0]), words_of(banks[1][starts]), strict=True)]
    agreed = np.flatnonzero(same)
    kept = np.isin(rows, agreed)
    return CandidateParses(
        banks[0][agreed], banks[1][np.flatnonzero(kept)], np.array(logp)[kept], np.searchsorted(agreed, rows[kept])
    )


def words_of(bank: Treebank) -> list[tuple[str, ...]]:
    """The words of each tree; none of a missing one."""
    return [tuple(tree.words()) if tree is not None else () for tree in bank]


def numbered(documents: list[str]) -> list[str]:
    """Each sentence's document and its number there.

    >>> numbered(["a", "a", "b", "a"])
    ['a/0', 'a/1', 'b/0', 'a/2']
    """
    seen: dict[str, int] = {}
    out = []
    for name in documents:
        out.append(f"{name}/{seen.get(name, 0)}")
        seen[name] = seen.get(name, 0) + 1
    return out
