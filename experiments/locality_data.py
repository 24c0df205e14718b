"""Sentences with parses for `locality`, their splits, and four measures of the goodness of a parse.

The gold parses of CRAFT are Stanford-style dependencies. The links of Link Grammar follow other conventions, so no parse
by Link Grammar can be completely correct. The corpus of Tsivtsivadze et al. (2006) was annotated in the scheme of Link
Grammar. The four measures test the effect of the annotation scheme.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.evaluation import balanced_folds, draw_documents, rows_of_documents
from treelet.cuts import feature_sequences
from treelet.metrics import align_words
from treelet.structures import Dependencies, Table, main_types
from treelet.tasks import ParsedSentence, ParseLists

Rows = NDArray[np.intp]
SplitRows = tuple[Rows, Rows]  # training and test sentences
Pairs = set[tuple[int, int]]  # of words


# --- Sentences and splits -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Corpus:
    """Sentences with parses.

    Attributes
    ----------
    sentences : list of ParsedSentence
        The sentences.
    goodness : Goodness
        Goodness of all parses.
    order : ndarray of int
        A random order of the parses of each sentence. The parses with numbers below k are k random ones.
    development : ndarray of int
        Sentences to choose settings on, in whole documents.
    """

    sentences: Sequence[ParsedSentence]
    goodness: Goodness
    order: NDArray[np.int64]
    development: Rows

    @classmethod
    def of(cls, sentences: Sequence[ParsedSentence], development: int, seed: int) -> Corpus:
        """Use documents with at most `development` sentences to choose settings."""
        documents = [sentence.document for sentence in sentences]
        chosen = np.sort(rows_of_documents(documents, draw_documents(documents, development, seed)[0]))
        rng = np.random.default_rng(seed)
        order = np.concatenate([rng.permutation(len(sentence.parses)) for sentence in sentences])
        return cls(sentences, measure_goodness(sentences, chosen.tolist()), order, chosen)

    @cached_property
    def qid(self) -> NDArray[np.int64]:
        """The sentence of each parse."""
        return np.repeat(np.arange(len(self.sentences)), [len(sentence.parses) for sentence in self.sentences])

    @cached_property
    def others(self) -> Rows:
        """The sentences for training and testing."""
        return np.setdiff1d(np.arange(len(self.sentences)), self.development)

    @cached_property
    def ids(self) -> list[str]:
        """The document of each sentence and its number there."""
        seen: dict[str, int] = {}
        ids = []
        for sentence in self.sentences:
            seen[sentence.document] = seen.get(sentence.document, 0) + 1
            ids.append(f"{sentence.document}/{seen[sentence.document]}")
        return ids

    def parses(self, sentences: Rows, k: int | None = None) -> Rows:
        """Return all parses of some sentences, or k random ones of each."""
        of_sentences = np.isin(self.qid, sentences)
        return np.flatnonzero(of_sentences if k is None else of_sentences & (self.order < k))

    def lists(self, parses: Rows, measure: int = 0) -> ParseLists:
        """Return some parses, sentence by sentence, with their goodness by a measure."""
        first = np.searchsorted(self.qid, np.arange(len(self.sentences)))
        bounds = [0, *(np.flatnonzero(np.diff(self.qid[parses])) + 1).tolist(), len(parses)]
        sentences = []
        for begin, end in pairwise(bounds):
            rows = parses[begin:end]
            number = self.qid[rows[0]]
            sentence, places = self.sentences[number], (rows - first[number]).tolist()
            sentences.append(
                replace(
                    sentence,
                    parses=tuple(sentence.parses[k] for k in places),
                    goodness=tuple(self.goodness.values[rows, measure].tolist()),
                    ranks=tuple(sentence.ranks[k] for k in places),
                )
            )
        return ParseLists(sentences)

    def halves(self, times: int, seed: int) -> list[SplitRows]:
        """Split the other sentences into halves of whole documents, several times. Each half is the training set once."""
        splits = []
        documents = [self.sentences[k].document for k in self.others]
        for repeat in range(times):
            drawn = draw_documents(documents, (len(documents) + 1) // 2, seed + 1 + repeat)
            a, b = (np.sort(self.others[rows_of_documents(documents, names)]) for names in drawn)
            splits += [(a, b), (b, a)]
        return splits

    def folds(self, number: int, times: int, seed: int) -> list[SplitRows]:
        """Split the other sentences into folds of whole documents, several times. Each fold is the test set once."""
        documents = np.array([self.sentences[k].document for k in self.others])
        splits = []
        for repeat in range(times):
            names = np.random.default_rng([seed, repeat]).permutation(np.unique(documents))
            fold_of = balanced_folds(documents.tolist(), names.tolist(), number)
            fold = np.array([fold_of[name] for name in documents.tolist()])
            splits += [(self.others[fold != k], self.others[fold == k]) for k in range(number)]
        return splits


def distinct_sentences(sentences: Sequence[ParsedSentence]) -> list[ParsedSentence]:
    """Return the first of several sentences with the same words, so that no sentence is in two sets."""
    distinct: dict[tuple[str, ...], ParsedSentence] = {}
    for sentence in sentences:
        words = sentence.gold.words if sentence.gold else sentence.text.split()
        distinct.setdefault(tuple(word.lower() for word in words), sentence)
    return list(distinct.values())


def to_table(lists: ParseLists) -> Table:
    """Return the columns that kernels read: sequences of features, trees, and n-grams of full and of main link types."""
    table = lists.table(form="grct")
    columns: dict[str | int, Any] = {name: table[name] for name in table.names}
    columns["grams"] = [link_grams(parse) for parse in lists.parses]
    columns["main grams"] = [link_grams(main_types(parse)) for parse in lists.parses]
    return Table(columns)


def link_grams(parse: Dependencies) -> dict[str, float]:
    """Count sequences of one to three link types in a parse, and one or two words with the type of a link.

    >>> link_grams(Dependencies(["dogs", "bark", "loudly"], None, [(0, 1, "Sp"), (1, 2, "MVa")]))["Sp MVa"]
    1.0
    """
    sequences = feature_sequences(parse)
    counts: dict[str, float] = {}
    for name, longest in (("link_type", 3), ("word_link_type", 2)):
        features = [str(feature) for feature in sequences[name]]
        for n in range(1, longest + 1):
            for k in range(len(features) - n + 1):
                gram = " ".join(features[k : k + n])
                counts[gram] = counts.get(gram, 0.0) + 1.0
    return counts


# --- Goodness -------------------------------------------------------------------------------------------------------

MEASURES = {
    "as given": "the F-score that comes with the corpus, of pairs of words against the gold dependencies",
    "matchable types": "without the link types and gold relations of which less than half match in the best parses of the "
    "development sentences",
    "converted heads": "all links, against gold dependencies converted to the conventions of Link Grammar. Subjects and "
    "*that* are attached to the first auxiliary, auxiliaries form a chain, and *to* and *that* are linked upwards. A "
    "conjunction governs its conjuncts and represents them, and nouns are linked with relative pronouns",
    "own scheme": "all links, against the links of the parse of the sentence that is best with converted heads. This parse "
    "is correct in the scheme of Link Grammar, as in the corpus of the paper",
}
PUNCTUATION = ("punct", "p")  # relations in Universal and Stanford dependencies
SUBJECTS = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
AUXILIARIES = ("aux", "auxpass")
RELATIVE_PRONOUNS = ("WDT", "WP", "WP$", "WRB")


@dataclass(frozen=True)
class Goodness:
    """The goodness of each parse by each measure, and how often links and gold dependencies match in the best parses.

    Attributes
    ----------
    values : ndarray of shape (parses, measures)
        Goodness of the parses of all sentences.
    types, relations : list of dict
        Matches by link type, and by gold relation.
    """

    values: NDArray[np.float64]
    types: list[dict[str, Any]]
    relations: list[dict[str, Any]]


def measure_goodness(sentences: Sequence[ParsedSentence], development: Collection[int]) -> Goodness:
    """Compute all measures. Which types and relations can match is estimated on the sentences of `development` alone."""
    golds = []
    for sentence in sentences:
        if sentence.gold is None:
            raise ValueError(f"The sentence has no gold parse: {sentence.text}")
        golds.append(sentence.gold)
    linked = [[Linked.of(parse, gold) for parse in s.parses] for s, gold in zip(sentences, golds, strict=True)]
    best = [parses[int(np.argmax(s.goodness))] for parses, s in zip(linked, sentences, strict=True)]
    types, relations = count_matches((best[k], golds[k]) for k in sorted(development))
    no_types, no_relations = ({row["name"] for row in rows if row["share"] < 0.5} for rows in (types, relations))
    values: list[list[float]] = []
    for sentence, gold, parses in zip(sentences, golds, linked, strict=True):
        matchable, all_pairs = gold_pairs(gold, no_relations), converted_pairs(gold)
        converted = [parse.score(all_pairs) for parse in parses]
        own = parses[int(np.argmax(converted))].pairs()
        for given, parse, value in zip(sentence.goodness, parses, converted, strict=True):
            values.append([given, parse.score(matchable, no_types), value, f_score(own, parse.pairs())])
    return Goodness(np.array(values), types, relations)


def f_score(gold: Pairs, found: Pairs) -> float:
    """Return the F-score of pairs of words; 0 if there are none.

    >>> f_score({(0, 1), (1, 2)}, {(0, 1), (0, 2)})
    0.5
    """
    return 2 * len(gold & found) / (len(gold) + len(found)) if gold or found else 0.0


@dataclass(frozen=True)
class Linked:
    """A parse over the gold words.

    Attributes
    ----------
    types : dict
        Linked pairs of gold words, with the main types of their links, without walls and punctuation.
    representative : list of int
        For each gold word the last one under the same word of the parse.
    """

    types: dict[tuple[int, int], set[str]]
    representative: list[int]

    @classmethod
    def of(cls, parse: Dependencies, gold: Dependencies) -> Linked:
        aligned = align_words(parse.words, gold.words)
        punctuation = [relation in PUNCTUATION for relation in gold.relations or ()]
        types: dict[tuple[int, int], set[str]] = {}
        for link in main_types(parse).links:
            a, b = aligned[link.left], aligned[link.right]
            if a is not None and b is not None and a != b and not punctuation[a] and not punctuation[b]:
                types.setdefault(_pair(a, b), set()).add(link.type)
        representative = list(range(len(gold.words)))
        first = 0
        for last in aligned:
            if last is not None and last >= first:
                representative[first : last + 1] = [last] * (last + 1 - first)
                first = last + 1
        return cls(types, representative)

    def pairs(self, without: Collection[str] = ()) -> Pairs:
        """Return the pairs with a link whose type is not excluded."""
        return {pair for pair, types in self.types.items() if any(each not in without for each in types)}

    def score(self, gold: Pairs, without: Collection[str] = ()) -> float:
        """Return the F-score against pairs of gold words."""
        pairs = {_pair(self.representative[a], self.representative[b]) for a, b in gold}
        return f_score({(a, b) for a, b in pairs if a != b}, self.pairs(without))


def _pair(a: int, b: int) -> tuple[int, int]:
    return min(a, b), max(a, b)


def gold_dependencies(gold: Dependencies) -> list[tuple[int, int, str]]:
    """Return head, dependent (from 0) and relation of each dependency, without punctuation."""
    heads, relations = gold.heads or (), gold.relations or ()
    punctuation = [relation in PUNCTUATION for relation in relations]
    return [
        (head - 1, word, relation)
        for word, (head, relation) in enumerate(zip(heads, relations, strict=True))
        if head and not punctuation[word] and not punctuation[head - 1]
    ]


def gold_pairs(gold: Dependencies, without: Collection[str] = ()) -> Pairs:
    """Return the pairs of words of the gold dependencies, without some relations."""
    return {_pair(head, word) for head, word, relation in gold_dependencies(gold) if relation not in without}


def converted_pairs(gold: Dependencies) -> Pairs:
    """Return the pairs of words of the gold dependencies, converted to the conventions of Link Grammar.

    - A subject, and a word like *that* before a clause, are attached to the first auxiliary. Auxiliaries form a chain that
      ends in the verb.
    - The governor of an infinitive or a clause is linked with its *to* or *that* as well as with its verb.
    - A conjunction governs both its conjuncts, and represents them upwards.
    - A noun is linked with the relative pronoun of its clause as well as with the verb.
    """
    dependencies = gold_dependencies(gold)
    tags = gold.tags or ()
    children: dict[int, list[tuple[int, str]]] = {}
    for head, word, relation in dependencies:
        children.setdefault(head, []).append((word, relation))

    def of(head: int, relations: Collection[str]) -> list[int]:
        return [word for word, relation in children.get(head, []) if relation in relations]

    pairs: Pairs = set()
    for head, word, relation in dependencies:
        auxiliaries = [each for each in of(head, AUXILIARIES) if each < head]
        conjunctions = [each for each in of(head, ("cc",)) if each < word]
        if relation in (*SUBJECTS, "mark") and auxiliaries:
            pairs.add(_pair(auxiliaries[0], word))
        elif relation in AUXILIARIES and word in auxiliaries:
            pairs.add(_pair(word, [*auxiliaries, head][auxiliaries.index(word) + 1]))
        elif relation == "conj" and conjunctions:
            pairs.add(_pair(max(conjunctions), word))
        else:
            # A word with conjuncts is represented by its conjunction.
            own = of(word, ("cc",))
            pairs.add(_pair(head, own[0] if own and of(word, ("conj",)) else word))
            if relation in ("xcomp", "advcl", "acl", "ccomp"):
                infinitive = [each for each in of(word, AUXILIARIES) if gold.words[each].lower() == "to"]
                pairs |= {_pair(head, each) for each in (*of(word, ("mark",)), *infinitive)}
            elif relation == "relcl":
                pronouns = [each for each, _ in children.get(word, []) if tags and tags[each] in RELATIVE_PRONOUNS]
                pairs |= {_pair(head, each) for each in pronouns}
    return {(a, b) for a, b in pairs if a != b}


def count_matches(
    best: Iterable[tuple[Linked, Dependencies]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the share of correct links by main type, as given and with converted heads, and of matched gold relations."""
    links: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    correct_converted: Counter[str] = Counter()
    relations: Counter[str] = Counter()
    matched: Counter[str] = Counter()
    for parse, gold in best:
        pairs, converted = gold_pairs(gold), converted_pairs(gold)
        for pair, types in parse.types.items():
            links.update(types)
            correct.update(types if pair in pairs else ())
            correct_converted.update(types if pair in converted else ())
        for head, word, relation in gold_dependencies(gold):
            relations[relation] += 1
            matched[relation] += _pair(head, word) in parse.types
    by_type = [
        {"name": name, "links": n, "share": correct[name] / n, "converted": correct_converted[name] / n}
        for name, n in links.most_common()
    ]
    return by_type, [{"name": name, "links": n, "share": matched[name] / n} for name, n in relations.most_common()]
