"""Relation extraction with packed forests, after section 4.2 of Zhang, Zhang & Li (2010).

There are two corpora: SemEval-2010 task 8, relations between nominals, and CoNLL04, newspaper sentences whose entities
have types, as in the paper's corpus. The kernels compare path-enclosed trees of the best parse with path-enclosed
forests: of the ten best parses of a lexicalized parser (SemEval only), or of the chart of our own grammar, which parses
the sentence or only the span from entity to entity. Settings are chosen by cross-validation on some of the training
sentences, with the same grids for trees and forests. Each system is tested in splits of the sentences that were not
used to choose settings, and for SemEval once on the official test sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments import Log, writing
from experiments.baselines import describe_ngrams, predict_ngrams, tune_ngrams
from experiments.data import NONE, apart_from, conll04, grammar_treebanks, semeval2010
from experiments.evaluation import bootstrap_difference, compare_mcnemar, holm, mean_std, split_items, tune
from experiments.writing import Claim
from treelet import gram
from treelet.cuts import (
    ForestIndex,
    enclosed_forest,
    entity_features,
    indicators,
    minimal_complete_tree,
    path_enclosed_tree,
)
from treelet.kernels import ForestKernel, Kernel, Linear, On, SubsetTree
from treelet.learn import KernelSVC
from treelet.metrics import Score, paired_t_test, semeval_scores
from treelet.parsing import PCFG
from treelet.structures import Forest, ForestBank, RelationInstance, Table, Tree, Treebank
from treelet.tasks import composite

Floats = NDArray[np.float64]
Labels = NDArray[np.str_]
Rows = NDArray[np.intp]
Span = tuple[int, int]  # of words

PAPER = "Zhang, Zhang & Li (2010)"
PAPER_SCORES = {"tree": (68.6, 59.3, 63.6), "forest": (70.3, 60.0, 64.7)}
"""P, R and F1 in the paper: five-fold cross-validation on ACE 2004, 23 subtypes."""

# Parses per sentence; training and test sentences; sentences to choose settings on; splits with the n-best lists; folds
# with our own grammar.
FULL: dict[str, Any] = {"parses": 10, "train": None, "test": None, "choosing": 2000, "splits": 5, "folds": 10}
QUICK: dict[str, Any] = {"parses": 3, "train": 600, "test": 300, "choosing": 300, "splits": 2, "folds": 2}
# CoNLL04: sentences; sentences to choose settings on; folds of the others.
FULL_TYPED: dict[str, Any] = {"sentences": None, "choosing": 340, "folds": 10}
QUICK_TYPED: dict[str, Any] = {"sentences": 120, "choosing": 40, "folds": 2}
SELECTION_FOLDS = 4
CURVE = (500, 1000, 2000, 4000)  # training sentences
GRAMMAR: dict[str, Any] = {"parent": "tags", "markov": 2}
PRUNE = 5.0  # of the forests of our own grammar
EQUAL = 1e6  # a temperature at which all parses have the same probability

START: dict[str, Any] = {
    "source": "lists",
    "kind": "tree",
    "way": "alone",
    "lam": 0.4,
    "C": 3.0,
    "mark": "tags",
    "temperature": 1.0,
    "alpha": None,
    "leaves": False,
}
GRIDS: dict[str, tuple[Any, ...]] = {
    "lam": (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9),
    "mark": ("tags", "node"),
    "C": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
}
TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, EQUAL)
DEGREES = {"linear": 1, "polynomial": 2}  # of the composite kernels of Zhang et al. (2006)
ALPHAS = {
    "linear": (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    "polynomial": (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.23, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95),
}
PAPER_ALPHA = {"linear": 0.4, "polynomial": 0.23}
NGRAMS, LEAVES, FOREST_SETTINGS = "n-grams", ", leaves=", ", settings of the forest"
OTHER = "Other"  # the label of two entities without a relation
TYPED = "conll04"


def run(
    *, corpus: str = "semeval", quick: bool = False, n_jobs: int = 1, seed: int = 0, log: Log = lambda text: None
) -> dict[str, Any]:
    """Choose settings, then train and test. With `quick`, use few sentences and small grids."""
    if corpus == TYPED:
        return run_typed(quick=quick, n_jobs=n_jobs, seed=seed, log=log)
    sizes = QUICK if quick else FULL
    rng = np.random.default_rng(seed)
    data = read_sentences(sizes["parses"], rng, sizes["train"], sizes["test"])
    order = rng.permutation(data.train)
    choosing = np.sort(order[: sizes["choosing"]])
    log(
        f"{len(data.train)} training and {len(data.test)} test sentences, settings chosen on {len(choosing)} of the first"
    )
    selector = Selector(data, choosing, quick=quick, n_jobs=n_jobs, seed=seed, log=log)

    def parts(name: str, number: int) -> list[Part]:
        """Return the official split, and splits of the training sentences that were not used to choose settings."""
        own = "" if name == "split" else ", own grammar"
        official = Part(f"official{own}", data.train, data.test)
        return [official, *make_splits(data, order[len(choosing) :], number, name)]

    # The n-best lists of the lexicalized parser
    settings = choose_settings(selector)
    selector.choose_ngrams()
    data.tables.clear()
    smaller = [np.sort(order[:size]) for size in CURVE if size < len(data.train)]
    (official, *splits), curve = evaluate_systems(selector, settings, parts("split", sizes["splits"]), smaller)
    data.tables.clear()
    rows = [official.row(name, selector.describe(name, settings.get(name, {}))) for name in (NGRAMS, *settings)]
    for row in rows:
        row["splits"] = mean_std(split.score(row["name"]) for split in splits)

    # The forests of our own grammar
    notes = data.parse(trees=400 if quick else None, n_jobs=n_jobs)
    log(f"  parsed by a grammar of {notes['trees']} trees")
    own_settings = choose_grammar_settings(selector)
    (own_official, *folds), _ = evaluate_systems(selector, own_settings, parts("fold", sizes["folds"]))
    systems = list(own_official.predictions)
    pooled = pool(data, folds)
    return {
        "sizes": {
            "train": len(data.train),
            "test": len(data.test),
            "choosing": len(choosing),
            "twins": data.removed,
            "folds": SELECTION_FOLDS,
            "splits": len(splits),
            "split_train": int(np.mean([len(split.part.train) for split in splits])),
            "split_test": int(np.mean([len(split.part.test) for split in splits])),
            "parses": sizes["parses"],
        },
        "rows": rows,
        "tests": compare_systems(official, splits, pairs_to_compare(official.predictions), seed),
        "curve": {"sizes": [*map(len, smaller), len(data.train)], **curve},
        "grammar": notes
        | {
            "folds": len(folds),
            "pooled": len(pooled.gold),
            "fold_train": int(np.mean([len(fold.part.train) for fold in folds])),
            "rows": [
                own_official.row(name, selector.describe(name, own_settings.get(name, {})))
                | {"pooled": pooled.row(name, {})}
                for name in systems
            ],
            "tests": compare_systems(own_official, [], pairs_to_compare(systems), seed),
            "pooled_tests": compare_systems(pooled, folds, pairs_to_compare(systems), seed),
        },
        "tried": selector.tried,
        "leaves": selector.by_leaves,
        "paper": PAPER_SCORES,
        "items": [outcome.items() for outcome in (official, *splits, own_official, *folds)],
    }


def run_typed(*, quick: bool, n_jobs: int, seed: int, log: Log) -> dict[str, Any]:
    """Compare trees and forests of our own grammar on CoNLL04, alone and with the types of the entities."""
    sizes = QUICK_TYPED if quick else FULL_TYPED
    rng = np.random.default_rng(seed)
    data = read_pairs(rng, sizes["sentences"])
    order = rng.permutation(len(set(data.groups.tolist())))
    choosing = np.flatnonzero(np.isin(data.groups, order[: sizes["choosing"]]))
    log(f"{len(data.all)} pairs in {len(order)} sentences, settings chosen on {len(choosing)} pairs")
    selector = Selector(data, choosing, quick=quick, n_jobs=n_jobs, seed=seed, log=log)
    notes = data.parse(trees=400 if quick else None, n_jobs=n_jobs)
    log(f"  parsed by a grammar of {notes['trees']} trees")
    settings = {
        "features": selector.tune("features", START | {"source": "span", "kind": "features"}, {"C": GRIDS["C"]})
    }
    settings["sentence, MCT"] = selector.tune_structure("sentence, MCT", "sentence", "MCT")
    settings |= choose_grammar_settings(selector)
    data.tables.clear()
    parts = make_splits(data, order[sizes["choosing"] :], sizes["folds"], "fold")
    folds, _ = evaluate_systems(selector, settings, parts)
    pooled = pool(data, folds)
    return {
        "corpus": TYPED,
        "sizes": {
            "pairs": len(data.all),
            "related": int(np.count_nonzero(data.labels != OTHER)),
            "sentences": len(order),
            "repeated": data.removed,
            "choosing": sizes["choosing"],
            "choosing_pairs": len(choosing),
            "folds": len(folds),
            "selection_folds": SELECTION_FOLDS,
            "tested": len(pooled.gold),
            "fold_train": int(np.mean([len(fold.part.train) for fold in folds])),
        },
        "grammar": notes,
        "rows": [
            pooled.row(name, selector.describe(name, setting)) | {"folds": mean_std(fold.score(name) for fold in folds)}
            for name, setting in settings.items()
        ],
        "tests": compare_systems(pooled, folds, pairs_to_compare(settings), seed),
        "tried": selector.tried,
        "leaves": selector.by_leaves,
        "paper": PAPER_SCORES,
        "items": [fold.items() for fold in folds],
    }


# --- Data -----------------------------------------------------------------------------------------------------------


class Parsed(NamedTuple):
    """The best tree of a sentence or span, its forest at a temperature, and the places of its entities."""

    best: Tree
    forest: Callable[[float], Forest]
    e1: Span
    e2: Span


class Sentences:
    """Training sentences followed by test sentences, with their parses by source and cached tables.

    SemEval has one pair of entities per sentence, and scores are means over relations. If the entities have types, a
    sentence may have several pairs, and scores are those of all relations together (``micro``), as is usual for ACE.
    `groups` has the number of the sentence of each pair.
    """

    def __init__(self, train: Sequence[RelationInstance], test: Sequence[RelationInstance], removed: int = 0) -> None:
        self.all = [*train, *test]
        self.train, self.test = np.arange(len(train)), np.arange(len(train), len(self.all))
        self.labels: Labels = np.array([str(each.label).replace(NONE, OTHER) for each in self.all])
        self.words = [tuple(each.words) for each in self.all]
        self.removed = removed
        self.micro = self.all[0].types is not None
        self.groups = self.train
        self.ids: list[int | str] = [int(each.sent or 0) for each in self.all]
        if self.micro:
            number = {words: k for k, words in enumerate(dict.fromkeys(self.words))}
            self.groups = np.array([number[words] for words in self.words])
            self.ids = [f"{each.doc}/{k}" for k, each in enumerate(self.all)]
        self.parsed = {"lists": [_parsed_by_list(each) for each in self.all if each.nbest]}
        self.tables: dict[tuple[Any, ...], Table] = {}

    def parse(self, *, trees: int | None, n_jobs: int) -> dict[str, int]:
        """Parse each sentence and each span from entity to entity with our own grammar."""
        training, removed = grammar_treebanks(set(self.words), trees)
        grammar = PCFG.from_treebank(training, **GRAMMAR)
        self.parsed["sentence"] = parse_with_grammar(self.all, grammar, span=False, n_jobs=n_jobs)
        self.parsed["span"] = parse_with_grammar(self.all, phrase_grammar(grammar, training), span=True, n_jobs=n_jobs)
        return {"trees": len(training), "twins": removed}

    def table(self, setting: Mapping[str, Any], rows: Rows) -> Table:
        """Return the columns that kernels read: trees or forests, and features of the entities."""
        source, kind, mark, temperature = (setting[name] for name in ("source", "kind", "mark", "temperature"))
        key = (source, kind, mark, temperature if kind == "forest" else 1, len(rows), int(rows.sum()))
        if key not in self.tables:
            parsed = [self.parsed[source][row] for row in rows.tolist()]
            columns: dict[str, Any] = {"tree": cut(parsed, kind, mark, temperature)}
            columns["features"] = [self.features(self.all[row], each) for row, each in zip(rows, parsed, strict=True)]
            self.tables[key] = Table(columns)
        return self.tables[key]

    @staticmethod
    def features(instance: RelationInstance, parsed: Parsed) -> dict[str, float]:
        """Return the types of the entities or, if these are not known, features of words and tree."""
        if instance.types is not None:
            return indicators({"type 1": instance.types[0], "type 2": instance.types[1]})
        return indicators(entity_features(parsed.best, parsed.e1, parsed.e2))

    def texts(self, rows: Rows) -> list[str]:
        return [marked_text(self.all[row]) for row in rows.tolist()]


def read_sentences(
    parses: int, rng: np.random.Generator, train: int | None = None, test: int | None = None
) -> Sentences:
    """Return the official split, without training sentences that have the same words as a test sentence."""
    test_instances = semeval2010("test", nbest=parses)[:test]
    instances = semeval2010("train", nbest=parses)
    words, test_words = ([tuple(each.words) for each in part] for part in (instances, test_instances))
    kept = [instances[k] for k in apart_from(test_words, range(len(instances)), words)]
    if train is None:
        return Sentences(kept, test_instances, len(instances) - len(kept))
    return Sentences([kept[k] for k in sorted(rng.permutation(len(kept))[:train])], test_instances)


def read_pairs(rng: np.random.Generator, sentences: int | None = None) -> Sentences:
    """Return all pairs of entities of CoNLL04, of each sentence once: the entity that begins first is `e1`."""
    pairs = [pair for part in ("train", "dev", "test") for pair in conll04(part)]
    documents = {pair.doc: tuple(pair.words) for pair in pairs}  # each document is one sentence
    first = {words: doc for doc, words in reversed(documents.items())}
    kept = [doc for doc, words in documents.items() if first[words] == doc]
    removed = len(documents) - len(kept)
    if sentences is not None:
        kept = [kept[k] for k in rng.permutation(len(kept))[:sentences]]
    return Sentences([pair for pair in pairs if pair.doc in set(kept)], [], removed)


class Part(NamedTuple):
    """Rows of training and of test sentences."""

    name: str
    train: Rows
    test: Rows


def make_splits(data: Sentences, sentences: Rows, number: int, name: str) -> list[Part]:
    """Split some training sentences. The other training sentences without those of the same words are the training sets."""
    parts = []
    for k in range(number):
        test = np.flatnonzero(np.isin(data.groups, sentences[k::number]))
        train = apart_from((data.words[row] for row in test), np.setdiff1d(data.train, test), data.words)
        parts.append(Part(f"{name} {k}", train, test))
    return parts


def _parsed_by_list(instance: RelationInstance) -> Parsed:
    def forest(temperature: float) -> Forest:
        return Forest.from_nbest(instance.nbest, temperature=temperature)

    return Parsed(instance.nbest[0].tree, forest, instance.e1, instance.e2)


def span_between(instance: RelationInstance) -> Span:
    """Return the span from the first word of an entity to the last."""
    return min(instance.e1[0], instance.e2[0]), max(instance.e1[1], instance.e2[1])


def phrase_grammar(grammar: PCFG, trees: Iterable[Tree]) -> PCFG:
    """Let any phrase be the root of a tree, with its relative frequency in these trees. `grammar` has ``parent="tags"``."""
    heads = {rule.head for rule in grammar.rules} - grammar.hidden
    counts: Counter[str] = Counter()
    for tree in trees:
        counts[tree.label] += 1
        counts.update(f"{child.label}^{node.label}" for node in tree.nodes() for child in node.children)
    start = {symbol: float(count) for symbol, count in counts.items() if symbol in heads}
    total = sum(start.values())
    return PCFG(
        grammar.productions(),
        {symbol: count / total for symbol, count in start.items()},
        labels=grammar.labels,
        hidden=grammar.hidden,
        unknown=grammar.unknown,
        fallback=grammar.fallback,
    )


def parse_with_grammar(
    instances: Sequence[RelationInstance], grammar: PCFG, *, span: bool, n_jobs: int
) -> list[Parsed]:
    """Parse the sentences, or with `span` only the words from entity to entity."""
    spans = [span_between(each) if span else (0, len(each.words)) for each in instances]
    words = [tuple(each.words[begin:end]) for each, (begin, end) in zip(instances, spans, strict=True)]
    distinct = list(dict.fromkeys(words))
    by_words: dict[tuple[str, ...], tuple[Tree, Callable[[float], Forest]]] = {}
    for text, whole in zip(distinct, grammar.forests([list(text) for text in distinct], n_jobs=n_jobs), strict=True):
        if whole is None:
            raise ValueError(f"This text has no parse: {' '.join(text)}")
        pruned = whole.prune(PRUNE)

        def forest(temperature: float, pruned: Forest = pruned) -> Forest:
            return pruned if temperature == 1 else pruned.temperature(temperature)

        by_words[text] = pruned.best()[0], forest
    parsed = []
    for each, (begin, _), text in zip(instances, spans, words, strict=True):
        e1, e2 = ((entity[0] - begin, entity[1] - begin) for entity in (each.e1, each.e2))
        parsed.append(Parsed(*by_words[text], e1, e2))
    return parsed


# --- Representations and kernels ------------------------------------------------------------------------------------


def cut(parsed: Sequence[Parsed], kind: str, mark: str, temperature: float) -> Treebank | ForestBank:
    """Return path-enclosed forests ("forest"), minimum complete trees ("MCT"), or path-enclosed trees."""
    if kind == "forest":
        cuts, last = [], None
        for each in parsed:
            if each.forest is not last:  # the pairs of a sentence share its forest
                last, index = each.forest, ForestIndex(each.forest(temperature))
            cuts.append(enclosed_forest(index, each.e1, each.e2, mark=mark))
        return ForestBank(cuts)
    tree = minimal_complete_tree if kind == "MCT" else path_enclosed_tree
    return Treebank([tree(each.best, each.e1, each.e2, mark=mark) for each in parsed])


def marked_text(instance: RelationInstance, around: int = 2) -> str:
    """Return the text for n-grams: the words from entity to entity and two on each side, with marks.

    >>> marked_text(RelationInstance(words=("a", "cat", "in", "town", "."), e1=(3, 4), e2=(1, 2), label="Other"))
    'l_a <e2> cat e2_cat in <e1> town e1_town r_.'
    """
    begin, end = span_between(instance)
    tokens = []
    for k in range(max(0, begin - around), min(len(instance.words), end + around)):
        word = instance.words[k]
        marks = [name for name, (a, b) in (("e1", instance.e1), ("e2", instance.e2)) if a <= k < b]
        if marks:
            tokens += [*(f"<{mark}>" for mark in marks), word, *(f"{mark}_{word}" for mark in marks)]
        else:
            tokens.append(f"l_{word}" if k < begin else f"r_{word}" if k >= end else word)
    return " ".join(tokens)


def kernel_of(setting: Mapping[str, Any]) -> Kernel:
    """Return the kernel of a setting: on features, on trees or forests, or on both (composite)."""
    if setting["kind"] == "features":
        return On("features", Linear()).normalized()
    lam, leaves, forest = setting["lam"], setting["leaves"], setting["kind"] == "forest"
    if setting["way"] in DEGREES:
        return composite(setting["alpha"], DEGREES[setting["way"]], lam, forest=forest, leaves=leaves)
    return On("tree", ForestKernel(lam, leaves) if forest else SubsetTree(lam, leaves=leaves)).normalized()


# --- Settings -------------------------------------------------------------------------------------------------------


class Selector:
    """Choose settings by cross-validation on some sentences."""

    def __init__(self, data: Sentences, rows: Rows, *, quick: bool, n_jobs: int, seed: int, log: Log) -> None:
        self.data, self.rows, self.quick, self.n_jobs, self.seed, self.log = data, rows, quick, n_jobs, seed, log
        sentences, sentence = np.unique(data.groups[rows], return_inverse=True)
        self.fold = (np.random.default_rng(seed).permutation(len(sentences)) % SELECTION_FOLDS)[sentence]
        self.ngrams: dict[str, Any] = {}
        self.other_leaves: dict[str, dict[str, Any]] = {}  # settings with the value of `leaves` that was not chosen
        self.tried: dict[str, int] = {}
        self.by_leaves: dict[str, dict[str, float]] = {}
        self._matrix = lru_cache(maxsize=6)(self._compute_matrix)

    def tune(self, name: str, start: dict[str, Any], grids: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        """Return the best setting with its scores."""
        if self.quick:
            grids = {key: grid for key, grid in grids.items() if key == "C"}
        best, trials, at_edge = tune(start, grids, self.scores)
        self.tried[name] = self.tried.get(name, 0) + len(trials)
        best["edges"] = [key for key in at_edge if best[key] != EQUAL]  # there is no larger temperature
        shown = {key: best[key] for key in (*grids, "leaves")}
        self.log(f"    {name}: {shown}, F1 {best['f1']:.2f}, {len(trials)} tried, edges {best['edges']}")
        return best

    def tune_structure(self, name: str, source: str, kind: str) -> dict[str, Any]:
        """Choose the setting of trees or forests alone, the better one with or without leaves."""
        grids = GRIDS | ({"temperature": TEMPERATURES} if kind == "forest" else {})
        start = START | {"source": source, "kind": kind}
        both = {leaves: self.tune(name, start | {"leaves": leaves}, grids) for leaves in (False, True)}
        self.by_leaves[name] = {str(leaves): setting["f1"] for leaves, setting in both.items()}
        better = max(both, key=lambda leaves: both[leaves]["f1"])
        self.other_leaves[f"{name}{LEAVES}{not better}"] = both[not better]
        return both[better]

    def tune_composite(self, name: str, way: str, structure: Mapping[str, Any]) -> dict[str, Any]:
        """Choose the weight and C of a composite kernel. Other parameters are those of the tree or forest alone."""
        start = {key: structure[key] for key in START} | {"way": way, "alpha": PAPER_ALPHA[way]}
        return self.tune(name, start, {"alpha": ALPHAS[way], "C": GRIDS["C"]})

    def as_tree(self, setting: dict[str, Any]) -> dict[str, Any]:
        """Return the setting of a forest for the tree."""
        tree = setting | {"kind": "tree", "edges": []}
        return tree | self.scores(tree)

    def scores(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Return the scores of a setting in cross-validation."""
        K = self._matrix(tuple((name, setting[name]) for name in START if name != "C"))
        y = self.data.labels[self.rows]
        predicted = np.empty_like(y)
        for fold in range(SELECTION_FOLDS):
            test, train = np.flatnonzero(self.fold == fold), np.flatnonzero(self.fold != fold)
            model = KernelSVC("precomputed", C=setting["C"], n_jobs=self.n_jobs)
            predicted[test] = model.fit(K[np.ix_(train, train)], y[train]).predict(K[np.ix_(test, train)])
        result = relation_scores(y, predicted, micro=self.data.micro)
        return {key: result[key] for key in ("f1", "accuracy")}

    def _compute_matrix(self, key: tuple[tuple[str, Any], ...]) -> Floats:
        setting = dict(key)
        return gram(kernel_of(setting), self.data.table(setting, self.rows), n_jobs=self.n_jobs)

    def choose_ngrams(self) -> None:
        self.ngrams = tune_ngrams(self.data.texts(self.rows), self.data.labels[self.rows], seed=self.seed)
        self.tried[NGRAMS] = self.ngrams["tried"]
        self.log(f"    {NGRAMS}: {describe_ngrams(self.ngrams)}, accuracy {self.ngrams['cross_validation']:.2f}")

    def predict_ngrams(self, train: Rows, test: Rows) -> Labels:
        texts, test_texts = self.data.texts(train), self.data.texts(test)
        return np.asarray(predict_ngrams(self.ngrams, texts, self.data.labels[train], test_texts))

    def describe(self, name: str, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Return the chosen setting of a row."""
        if name == NGRAMS:
            return {"chosen": describe_ngrams(self.ngrams), "edges": self.ngrams["at_edge"]}
        kept = {key: setting[key] for key in ("lam", "leaves", "C", "mark", "alpha", "kind", "source", "way")}
        text = f"`{kernel_of(setting)!r}`, C={setting['C']:g}"
        if setting["kind"] != "features":
            text += f", {setting['mark']} marked"
        if setting["kind"] == "forest":
            temperature = setting["temperature"]
            text += ", all parses alike" if temperature == EQUAL else f", temperature {temperature:g}"
            kept["temperature"] = None if temperature == EQUAL else temperature
        return {"chosen": text, "setting": kept, "edges": setting["edges"], "cross_validation": setting["f1"]}


def choose_settings(selector: Selector) -> dict[str, dict[str, Any]]:
    """Choose the settings of the systems with n-best lists."""
    settings = {"features": selector.tune("features", START | {"kind": "features"}, {"C": GRIDS["C"]})}
    settings |= {kind: selector.tune_structure(kind, "lists", kind) for kind in ("MCT", "tree", "forest")}
    settings |= {name: each for name, each in selector.other_leaves.items() if not name.startswith("MCT")}
    settings["tree" + FOREST_SETTINGS] = selector.as_tree(settings["forest"])
    for way in ALPHAS:
        for kind in ("tree", "forest"):
            settings[f"{way}, {kind}"] = selector.tune_composite(f"{way}, {kind}", way, settings[kind])
    return settings


def choose_grammar_settings(selector: Selector) -> dict[str, dict[str, Any]]:
    """Choose the settings of the systems with our own grammar."""
    sources = ("sentence", "span")
    settings = {
        f"{source}, {kind}": selector.tune_structure(f"{source}, {kind}", source, kind)
        for source in sources
        for kind in ("tree", "forest")
    }
    for source in sources:
        settings[f"{source}, tree{FOREST_SETTINGS}"] = selector.as_tree(settings[f"{source}, forest"])
    for way in ALPHAS:
        for kind in ("tree", "forest"):
            name = f"span, {way}, {kind}"
            settings[name] = selector.tune_composite(name, way, settings[f"span, {kind}"])
    return settings


# --- Training and testing -------------------------------------------------------------------------------------------


def evaluate_systems(
    selector: Selector, settings: Mapping[str, dict[str, Any]], parts: Sequence[Part], smaller: Sequence[Rows] = ()
) -> tuple[list[Outcome], dict[str, list[float]]]:
    """Train and test all systems on each part. Also return F1 of tree and forest by number of training sentences."""
    data, n_jobs = selector.data, selector.n_jobs
    predictions: dict[str, list[Labels]] = {}
    curve: dict[str, list[float]] = {}
    first = len(data.train)
    for name, setting in settings.items():
        # One matrix of all training sentences, and one of test with training sentences, serve for all parts.
        kernel, X = kernel_of(setting), data.table(setting, data.train)
        K = gram(kernel, X, n_jobs=n_jobs)
        K_test = gram(kernel, data.table(setting, data.test), X, n_jobs=n_jobs) if len(data.test) else K[:0]
        predictions[name] = []
        official = [Part("", rows, data.test) for rows in smaller] if name in ("tree", "forest") else []
        for part in (*parts, *official):
            model = KernelSVC("precomputed", C=setting["C"], n_jobs=n_jobs)
            K_train = K if len(part.train) == len(K) else K[np.ix_(part.train, part.train)]
            model.fit(K_train, data.labels[part.train])
            if part.test[0] >= first:
                rows = K_test[np.ix_(part.test - first, part.train)]
            else:
                rows = K[np.ix_(part.test, part.train)]
            predictions[name].append(np.asarray(model.predict(rows)))
        predictions[name], by_size = predictions[name][: len(parts)], predictions[name][len(parts) :]
        f1, *by_size_f1 = (
            relation_scores(data.labels[part.test], each, micro=data.micro)["f1"]
            for part, each in ((parts[0], predictions[name][0]), *zip(official, by_size, strict=True))
        )
        if name in ("tree", "forest"):
            curve[name] = [*by_size_f1, f1]
        selector.log(f"  {name}: F1 of {parts[0].name} {f1:.2f}")
    if selector.ngrams:
        predictions[NGRAMS] = [selector.predict_ngrams(part.train, part.test) for part in parts]
    by_part = [{name: listed[k] for name, listed in predictions.items()} for k in range(len(parts))]
    return [Outcome(data, part, each) for part, each in zip(parts, by_part, strict=True)], curve


class Outcome:
    """The predictions of several systems for the test sentences of a part."""

    def __init__(self, data: Sentences, part: Part, predictions: dict[str, Labels]) -> None:
        self.part, self.predictions, self.micro = part, predictions, data.micro
        self.gold: Labels = data.labels[part.test]
        self.ids = [data.ids[row] for row in part.test.tolist()]
        self.labels = sorted(set(data.labels.tolist()))
        relevant = data.labels if self.micro else self.gold
        self.relations = sorted({label.partition("(")[0] for label in relevant.tolist()} - {OTHER})

    def score(self, name: str, measure: str = "f1") -> float:
        """Return F1, precision or recall."""
        return relation_scores(self.gold, self.predictions[name], micro=self.micro)[measure]

    def row(self, name: str, described: dict[str, Any]) -> dict[str, Any]:
        return {"name": name} | relation_scores(self.gold, self.predictions[name], micro=self.micro) | described

    def items(self) -> dict[str, Any]:
        """Return for each sentence whether each system is correct, and its prediction, so that any measure can be computed."""
        number = {label: k for k, label in enumerate(self.labels)}
        correct = {name: predicted == self.gold for name, predicted in self.predictions.items()}
        return split_items(self.part.name, len(self.part.train), self.ids, correct) | {
            "labels": self.labels,
            "gold": [number[label] for label in self.gold.tolist()],
            "predicted": {
                name: [number[label] for label in found.tolist()] for name, found in self.predictions.items()
            },
        }

    def compare(self, a: str, b: str, seed: int) -> dict[str, Any]:
        """Compare two systems on the same sentences: by McNemar's test, and by a bootstrap of the difference in F1."""
        predicted = [self.predictions[name] for name in (a, b)]
        counts = [relation_counts(self.gold, each, self.relations) for each in predicted]
        if self.micro:  # all relations together count as one
            counts = [each.reshape(len(each), -1, 3).sum(axis=1) for each in counts]

        def bootstrap(measure: Callable[[Floats], Floats]) -> dict[str, Any]:
            test = bootstrap_difference([self.ids], [[each] for each in counts], measure, sentence_of, seed)
            return {"difference": test["difference"], "interval": test["interval"], "p": test["p"], "over": "items"}

        row = compare_mcnemar(a, predicted[0] == self.gold, b, predicted[1] == self.gold)
        row["accuracy"] = row.pop("difference")
        row |= bootstrap(macro_f1)
        if b == a.replace("forest", "tree") != a:
            row |= {"precision": bootstrap(macro_precision), "recall": bootstrap(macro_recall)}
        return row


def sentence_of(item: Any) -> str:
    """Return the sentence of a stored item: the pairs of a sentence have names such as ``"1024/7"``."""
    return str(item).partition("/")[0]


def pool(data: Sentences, folds: Sequence[Outcome]) -> Outcome:
    """Return the predictions for the test sentences of all folds together."""
    part = Part("all folds", data.train, np.concatenate([fold.part.test for fold in folds]))
    systems = folds[0].predictions
    return Outcome(data, part, {name: np.concatenate([fold.predictions[name] for fold in folds]) for name in systems})


def relation_scores(gold: Labels, predicted: Labels, *, micro: bool) -> dict[str, float]:
    """Return precision, recall, F1 and accuracy in percent: means over relations, or of all relations together.

    >>> gold, predicted = np.array(["A(e1,e2)", "A(e1,e2)", "B", "Other"]), np.array(["A(e2,e1)", "A(e1,e2)", "B", "B"])
    >>> relation_scores(gold, predicted, micro=True)
    {'precision': 50.0, 'recall': 66.66666666666667, 'f1': 57.142857142857146, 'accuracy': 50.0}
    """
    relations = {label.partition("(")[0] for side in (gold, predicted) for label in side.tolist()} if micro else None
    result = semeval_scores(gold.tolist(), predicted.tolist(), relations=relations)
    by_relation = result.relations.values()
    total = Score(*(sum(getattr(score, key) for score in by_relation) for key in ("correct", "predicted", "gold")))
    scores = total if micro else result
    return {"precision": scores.precision, "recall": scores.recall, "f1": scores.f1, "accuracy": result.accuracy}


def pairs_to_compare(systems: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of systems to compare: forests and trees, with and without leaves, both cuts, and the baseline."""
    names = list(systems)
    trees = [name for name in names if "tree" in name and LEAVES not in name]
    pairs = [(name.replace("tree", "forest", 1).removesuffix(FOREST_SETTINGS), name) for name in trees]
    pairs += [(name.partition(LEAVES)[0], name) for name in names if LEAVES in name]
    pairs += [("tree", "MCT"), ("sentence, tree", "sentence, MCT")]
    ours = ("tree", "forest", "features", "linear, forest", "polynomial, forest", "polynomial, tree")
    pairs += [(name, NGRAMS) for name in names if name in ours]
    kinds = ("tree", "forest")
    pairs += [(f"{way}, {kind}", kind) for way in ("polynomial", "linear") for kind in kinds]
    if "features" in names:
        pairs += [(f"span, {way}, {kind}", f"span, {kind}") for way in ("polynomial", "linear") for kind in kinds]
        pairs += [(f"span, {way}, {kind}", "features") for way in ("polynomial", "linear") for kind in kinds]
    pairs += [("span, forest", "sentence, forest"), ("sentence, forest", NGRAMS), ("span, forest", NGRAMS)]
    return [pair for pair in pairs if set(pair) <= set(names)]


def compare_systems(
    outcome: Outcome, splits: Sequence[Outcome], pairs: Sequence[tuple[str, str]], seed: int
) -> list[dict[str, Any]]:
    """Compare pairs of systems, with Holm's correction for their number, and over splits if there are any."""
    rows = [outcome.compare(a, b, seed) for a, b in pairs]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
    for row in rows if splits else []:
        row["splits"] = compare_splits(splits, row["a"], row["b"], "f1")
        for measure in {"precision", "recall"} & row.keys():
            row[measure]["splits"] = compare_splits(splits, row["a"], row["b"], measure)
    return rows


def compare_splits(splits: Sequence[Outcome], a: str, b: str, measure: str) -> dict[str, Any]:
    """Compare two systems over splits by the corrected resampled t-test."""
    scores = [[split.score(name, measure) for split in splits] for name in (a, b)]
    overlap = float(np.mean([len(split.part.test) / len(split.part.train) for split in splits]))
    test = paired_t_test(*scores, overlap=overlap)
    differences = (np.array(scores[0]) - scores[1]).tolist()
    return mean_std(differences) | {
        "difference": test.difference,
        "interval": list(test.interval),
        "p": test.p_value,
        "splits": differences,
        "wins": sum(each > 0 for each in differences),
        "of": len(splits),
        "over": "splits",
    }


def relation_counts(gold: Labels, predicted: Labels, relations: Sequence[str]) -> Floats:
    """Count correct, predicted and gold labels of each relation, in three columns per relation and one row per sentence.

    >>> gold, predicted = np.array(["A(e1,e2)", "Other"]), np.array(["A(e2,e1)", "A(e1,e2)"])
    >>> relation_counts(gold, predicted, ["A"]).tolist()
    [[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]
    """
    # Relations without their direction
    of_gold, of_predicted = (np.array([label.partition("(")[0] for label in side]) for side in (gold, predicted))
    columns = []
    for relation in relations:
        wanted = of_gold == relation
        columns += [wanted & (gold == predicted), of_predicted == relation, wanted]
    return np.array(columns, float).T


def macro_f1(sums: Floats) -> Floats:
    """Return the official F1 in percent, from sums of `relation_counts`."""
    return _macro(sums, (1, 2), 2)


def macro_precision(sums: Floats) -> Floats:
    return _macro(sums, (1,), 1)


def macro_recall(sums: Floats) -> Floats:
    return _macro(sums, (2,), 1)


def _macro(sums: Floats, columns: tuple[int, ...], factor: int) -> Floats:
    """Return the mean over relations of ``factor * correct / (sum of columns)``, in percent."""
    by_relation = sums.reshape(*sums.shape[:-1], -1, 3)
    whole = by_relation[..., columns].sum(axis=-1)
    shares = np.divide(100 * factor * by_relation[..., 0], whole, out=np.zeros_like(whole), where=whole > 0)
    return np.asarray(shares.mean(axis=-1))


# --- Page -----------------------------------------------------------------------------------------------------------

COLORS = {"tree": "tab:gray", "forest": "tab:green", "forest, probabilities": "darkgreen", "n-grams": "tab:orange"}


def page(*runs: dict[str, Any]) -> str:
    """Return the results of one or both corpora as one Markdown page."""
    joined = writing.joined_claims({run["experiment"]: run for run in runs})
    verdicts = writing.render("verdicts", {}, claims=[claim for claim, _ in joined])
    return writing.page(["# The forest kernel: relations", *map(_section, runs), verdicts])


def _section(results: dict[str, Any]) -> str:
    """Return the section of one corpus."""
    shared: dict[str, Any] = {
        "f1": {row["name"]: row["f1"] for row in results["rows"]},
        "diff": difference,
        "find": find_test,
        "is_better": is_better,
        "edges": lambda rows: describe_edges({row["name"]: row["edges"] for row in rows}),
    }
    if results.get("corpus") == TYPED:
        return writing.render("forest_relations_conll04", results, **shared)
    tests, own = results["tests"], results["grammar"]
    with_ngrams = [test for test in tests if test["b"] == NGRAMS]
    better = [test["p_holm"] < 0.05 and test["difference"] > 0 for test in with_ngrams]
    names = [f"“{test['a']}”" for test in with_ngrams]
    return writing.render(
        "forest_relations",
        results,
        **shared,
        paper_table=paper_table(results["paper"]),
        own_f1={row["name"]: row["f1"] for row in own["rows"]},
        pooled_f1={row["name"]: row["pooled"]["f1"] for row in own["rows"]},
        gain=find_test(tests, "forest", "tree"),
        better_than_ngrams=_join([name for name, each in zip(names, better, strict=True) if each]),
        not_better_than_ngrams=_join([name for name, each in zip(names, better, strict=True) if not each]),
        leaves_tests=[test for test in tests if LEAVES in test["b"]],
    )


def find_test(tests: Sequence[dict[str, Any]], a: str, b: str) -> dict[str, Any]:
    return next(test for test in tests if (test["a"], test["b"]) == (a, b))


def difference(test: Mapping[str, Any]) -> str:
    """Format a difference with its interval and p-value.

    >>> difference({"difference": 1.0, "interval": [0.5, 1.5], "p": 0.01})
    '+1.00 (+0.50 to +1.50), p 0.0100'
    """
    return f"{writing.difference(test)}, p {writing.p_value(test['p'])}"


def is_better(test: Mapping[str, Any]) -> bool:
    """Return whether the first system is significantly better."""
    return bool(test["difference"] > 0 and test["p"] < 0.05)


def _join(names: Sequence[str]) -> str:
    """Join names for a sentence.

    >>> _join(["a"]), _join(["a", "b", "c"]), _join([])
    ('a', 'a, b and c', '')
    """
    return " and ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]])


def describe_edges(rows: Mapping[str, Sequence[str]]) -> str:
    """List the chosen values at an edge of their grid, by system."""
    edges = [f"{name}: {', '.join(names)}" for name, names in rows.items() if names]
    if not edges:
        return "No chosen value is at an edge of its grid."
    return f"Chosen values at an edge of their grid: {'; '.join(edges)}."


def paper_table(scores: Mapping[str, Sequence[float]]) -> str:
    """Return the table of P, R and F1 in the paper."""
    rows = [(name, *(f"{value:.2f}" for value in scores[name])) for name in ("tree", "forest")]
    return writing.table(("", "P", "R", "F1"), rows, right=range(1, 4))


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw the F1 of trees and forests, the learning curve, and the results of our own grammar. Requires matplotlib."""
    from matplotlib.patches import Patch

    def bars(axes: Any, groups: dict[str, tuple[float, float]]) -> None:
        for k, values in enumerate(groups.values()):
            for x, value, name in zip((k - 0.2, k + 0.2), values, ("tree", "forest"), strict=True):
                axes.bar(x, value, 0.38, color=COLORS[name])
                axes.text(x, value + 0.4, f"{value:.1f}", ha="center", fontsize=8)
        axes.set_xticks(range(len(groups)), list(groups), fontsize=8)

    f1 = {row["name"]: row["f1"] for row in results["rows"]}
    systems = ("sentence", "span", "span, linear", "span, polynomial")

    def own_grammar(axes: Any, f1: Mapping[str, float], folds: int) -> None:
        bars(axes, {name.replace(", ", ",\n"): (f1[f"{name}, tree"], f1[f"{name}, forest"]) for name in systems})
        axes.set(title=f"Our own grammar, {folds} folds", ylabel="F1")

    if results.get("corpus") == TYPED:
        with writing.saved_figure(path, figsize=(6.5, 4)) as (_, axes):
            own_grammar(axes, f1, results["sizes"]["folds"])
            axes.legend(handles=[Patch(color=COLORS[name], label=name) for name in ("tree", "forest")], fontsize=8)
        return
    pooled = {row["name"]: row["pooled"]["f1"] for row in results["grammar"]["rows"]}
    curve, in_paper = results["curve"], results["paper"]
    with writing.saved_figure(path, 3, figsize=(13, 4), width_ratios=(1.3, 1, 1)) as (_, (left, middle, right)):
        groups = {"alone": "", "linear": "linear, ", "polynomial": "polynomial, "}
        pairs = {name: (f1[f"{prefix}tree"], f1[f"{prefix}forest"]) for name, prefix in groups.items()}
        bars(left, pairs | {"paper (ACE)": (in_paper["tree"][2], in_paper["forest"][2])})
        left.axhline(f1[NGRAMS], color=COLORS[NGRAMS], linewidth=1)
        left.set(title="Ten parses per sentence", ylabel="F1", ylim=(50, 85))
        patches = [Patch(color=COLORS[name], label=name) for name in ("tree", "forest", NGRAMS)]
        left.legend(handles=patches, loc="upper right", fontsize=8)
        for name in ("tree", "forest"):
            middle.plot(curve["sizes"], curve[name], marker="o", markersize=4, color=COLORS[name], label=name)
        middle.set(xscale="log", title="By training sentences", xlabel="training sentences")
        middle.set_xticks(curve["sizes"], [f"{size:,}" for size in curve["sizes"]], fontsize=8)
        middle.minorticks_off()
        middle.grid(alpha=0.3)
        middle.legend(loc="lower right", fontsize=8)
        own_grammar(right, pooled, results["grammar"]["folds"])
        right.axhline(pooled[NGRAMS], color=COLORS[NGRAMS], linewidth=1)
        right.set(ylabel="", ylim=(50, 85))


# What the paper says of relations, the printed figure, and the effect in it.
SAYS: dict[str, tuple[str, str, float | None]] = {
    "better": ("the forest kernel is better than the tree kernel", "F1 64.7 against 63.6, +1.1", 1.1),
    "chart": (
        "the forest kernel is also better with forests of a chart parser, of the span from entity to entity",
        "F1 +1.1",
        1.1,
    ),
    "composite": (
        "the forest kernel is also better within the composite kernels of Zhang et al. (2006)",
        "F1 +1.1",
        1.1,
    ),
    "precision": ("the forest kernel increases precision", "P 70.3 against 68.6, +1.7", 1.7),
    "cut": ("path-enclosed trees are better than minimum complete trees", "a large drop", None),
    "features": ("the tree with features of the entities is better than the tree alone", "none", None),
}


def _text(tests: Mapping[str, Mapping[str, Any]]) -> str:
    return "; ".join(f"{name} {difference(test)}".lstrip() for name, test in tests.items())


def _better(key: str, where: str, tests: Mapping[str, Mapping[str, Any]], note: str = "") -> Claim:
    says, printed, effect = SAYS[key]
    ours = f"{where}: {_text(tests)}"
    return Claim(PAPER, f"relations: {says}", printed, ours, "greater", list(tests.values()), effect=effect, note=note)


def _gain(name: str, tests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the test of forest against tree."""
    prefix = f"{name}, " if name else ""
    return find_test(tests, f"{prefix}forest", f"{prefix}tree")


def _over_folds(test: Mapping[str, Any]) -> dict[str, Any]:
    """Return the test over folds, with the test over items beside it: the models were trained anew in each fold."""
    return {**test["splits"], "items": {key: test[key] for key in ("difference", "interval", "p")}}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the claims of the paper about relations."""
    if results.get("corpus") == TYPED:
        return _claims_of_typed(results)
    tests, own = results["tests"], results["grammar"]
    pooled = own["pooled_tests"]
    lists = _gain("", tests)
    gains = {name: _gain(name, pooled) for name in ("span", "sentence")}
    folds = f"SemEval-2010, our grammar, {own['pooled']:,} sentences in {own['folds']} folds"
    ten_parses = "with ten parses, on the official test sentences"
    of_2006 = "about Zhang et al. (2006)"
    return [
        _better(
            "better",
            folds,
            {name: _over_folds(test) for name, test in gains.items()},
            f"the tree with the forest's settings: {_text(_same_settings(pooled))}; {ten_parses}: {difference(lists)}",
        ),
        _better(
            "chart",
            "SemEval-2010, our grammar, official test sentences",
            {name: _gain(name, own["tests"]) for name in gains},
        ),
        _better(
            "composite",
            f"{folds}, span",
            {way: _over_folds(_gain(f"span, {way}", pooled)) for way in DEGREES},
            f"{ten_parses}: {_text({way: _gain(way, tests) for way in DEGREES})}",
        ),
        _better(
            "precision",
            folds,
            {name: _over_folds(test["precision"]) for name, test in gains.items()},
            f"in the paper, recall increases less; {ten_parses}: {difference(lists['precision'])}",
        ),
        _better("cut", "SemEval-2010", {"": find_test(tests, "tree", "MCT")}, of_2006),
        _better(
            "features",
            "SemEval-2010",
            {way: find_test(tests, f"{way}, tree", "tree") for way in DEGREES},
            of_2006,
        ),
    ]


def _same_settings(tests: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the tests of the forest against the tree with the settings of the forest."""
    return {
        name: _over_folds(find_test(tests, f"{name}, forest", f"{name}, tree{FOREST_SETTINGS}"))
        for name in ("span", "sentence")
    }


def gains() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the gains of forests over trees on the stored pages, over splits and items, by parser and corpus."""
    semeval, typed = (writing.read_results(name) for name in ("forest-relations", "forest-relations-conll04"))
    tests = {"SemEval-2010": semeval["grammar"]["pooled_tests"], "CoNLL04": typed["tests"]}
    by_corpus = {
        f"{corpus}, {name}": _over_folds(_gain(name, each))
        for corpus, each in tests.items()
        for name in ("span", "sentence")
    }
    return {"lists": {"SemEval-2010": _over_folds(_gain("", semeval["tests"]))}, "grammar": by_corpus}


def _claims_of_typed(results: dict[str, Any]) -> list[Claim]:
    tests, sizes = results["tests"], results["sizes"]
    where = f"CoNLL04, our grammar, {sizes['tested']:,} pairs in {sizes['folds']} folds"
    gains = {name: _gain(name, tests) for name in ("span", "sentence")}
    return [
        _better(
            "better",
            where,
            {name: _over_folds(test) for name, test in gains.items()},
            f"CoNLL04, the tree with the forest's settings: {_text(_same_settings(tests))}",
        ),
        _better("composite", f"{where}, span", {way: _over_folds(_gain(f"span, {way}", tests)) for way in DEGREES}),
        _better("precision", where, {name: _over_folds(test["precision"]) for name, test in gains.items()}),
        _better("cut", f"{where}, sentence", {"": _over_folds(find_test(tests, "sentence, tree", "sentence, MCT"))}),
        _better(
            "features",
            f"{where}, types of the entities, span",
            {way: _over_folds(find_test(tests, f"span, {way}, tree", "span, tree")) for way in DEGREES},
        ),
    ]
