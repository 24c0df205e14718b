"""Semantic roles of arguments with flat features and tree kernels, after section 4.2 of Moschitti (2006).

The task is to predict the role of an argument of a verb (ARG0 to ARG5, and ARGM as one role), given its constituent.
The corpora are PropBank on the Wall Street Journal sample, with gold trees and with the best trees of a parser, and on
MASC. All settings are chosen once, by cross-validation on documents that are not used for testing. The other documents
are tested in five splits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import PredefinedSplit

from experiments import Log, writing
from experiments.baselines import describe_ngrams, predict_ngrams, tune_ngrams
from experiments.data import apart_from, parser_training_sentences, propbank
from experiments.evaluation import (
    balanced_folds,
    compare,
    draw_documents,
    holm,
    mean_score,
    rows_of_documents,
    score_items,
    split_items,
)
from experiments.writing import Checkpoint, Claim
from treelet.cuts import TreeIndex, argument_tree, indicators, role_features
from treelet.errors import TreeletWarning
from treelet.kernels import Kernel, Linear, On, PartialTree, SubsetTree, Subtree
from treelet.learn import KernelSVC, Selection, Trial, select
from treelet.structures import Table, Tree, Treebank

Rows = NDArray[np.intp]
Span = tuple[int, int]  # of words

PAPER = "Moschitti (2006)"
PAPER_GOLD = {"linear": "87.6", "ST": "84.6", "SST": "87.7", "PT": "86.7"}  # table 1: PropBank, gold trees
PAPER_PARSES = {"linear": "82.3", "ST": "80.0", "SST": "81.2", "PT": "79.9"}  # table 2: FrameNet, automatic trees
JOURNAL, MASC = "Wall Street Journal", "MASC"


class Setup(NamedTuple):
    """Sizes of an experiment. None stands for all arguments."""

    selection: int  # arguments to choose settings on
    selection_folds: int
    splits: int
    train: int | None
    test: int | None
    train_masc: int | None
    test_masc: int | None
    fractions: Sequence[float]  # of the training arguments, for the learning curve


QUICK = Setup(300, 2, 2, 500, 300, 300, 200, (0.25, 0.5))
FULL = Setup(4000, 3, 5, None, None, 6000, 3000, (0.05, 0.1, 0.25, 0.5))


# --- Data -----------------------------------------------------------------------------------------------------------


class Argument(NamedTuple):
    """An argument of a verb in its sentence."""

    tree: TreeIndex
    predicate: int
    span: Span
    lemma: str
    role: str
    document: str
    sentence: int = 0
    parse: TreeIndex | None = None  # the best tree of a parser

    @property
    def id(self) -> str:
        return f"{self.document}/{self.sentence}/{self.predicate}/{self.span[0]}-{self.span[1]}"

    @property
    def words(self) -> tuple[str, ...]:
        """Words of the sentence."""
        return tuple(self.tree.words)


def read_arguments(corpus: str, *, parses: bool = False) -> list[Argument]:
    """Return the arguments of a corpus, "wsj" or "masc", that are constituents.

    Documents of the Wall Street Journal are left out of MASC. With `parses`, each argument also has the best automatic
    tree of its sentence ("wsj" only).
    """
    arguments = []
    tree = parse = None
    for instance in propbank(corpus, continued=False, nbest=int(parses)):
        document, roleset = instance.doc or "", instance.roleset or ""
        if instance.tree is None or (corpus == "masc" and document.startswith("wsj_")):
            continue
        if tree is None or tree.tree is not instance.tree:
            tree = TreeIndex(instance.tree)
            parse = TreeIndex(instance.nbest[0].tree) if instance.nbest else None
        place = document, instance.sent or 0, parse
        arguments += [
            Argument(tree, instance.predicate, each.span, roleset.rpartition(".")[0], each.label.split("-")[0], *place)
            for each in instance.arguments
            if _is_constituent(tree, instance.predicate, each.span)
        ]
    return arguments


def _is_constituent(tree: TreeIndex, predicate: int, span: Span) -> bool:
    """Return whether a span is a constituent that does not contain the predicate."""
    node = tree.find(span)
    return node is not None and not tree.start[node] <= predicate < tree.end[node]


def in_parse(argument: Argument) -> Argument | None:
    """Return the argument in the automatic tree, or None if it is not a constituent there."""
    parse = argument.parse
    if parse is None or not _is_constituent(parse, argument.predicate, argument.span):
        return None
    return argument._replace(tree=parse)


class Split(NamedTuple):
    """Rows of training arguments, document by document, and of test arguments."""

    train: Rows
    test: Rows


def make_splits(
    arguments: Sequence[Argument], *, selection: int, folds: int, seed: int = 0
) -> tuple[Rows, list[Split]]:
    """Return the rows to choose settings on, in whole documents, and a cross-validation over all other documents.

    Sentences with the same words as a test sentence are removed from the selection set and from the training sets.
    """
    documents, words = [e.document for e in arguments], [e.words for e in arguments]
    selected, others = draw_documents(documents, selection, seed)
    fold = balanced_folds(documents, others, folds)
    splits = []
    for number in range(folds):
        test = rows_of_documents(documents, [name for name in others if fold[name] == number])
        train = rows_of_documents(documents, [name for name in others if fold[name] != number])
        splits.append(Split(apart_from((words[k] for k in test), train, words), test))
    tested = {words[k] for split in splits for k in split.test}
    return apart_from(tested, rows_of_documents(documents, selected), words), splits


def limit_split(split: Split, *, train: int | None, test: int | None, seed: int = 0) -> Split:
    """Draw at most so many arguments of each set at random, in their order."""
    rng = np.random.default_rng(seed)

    def draw(rows: Rows, limit: int | None) -> Rows:
        if limit is None or limit >= len(rows):
            return rows
        return rows[np.sort(rng.choice(len(rows), limit, replace=False))]

    return Split(draw(split.train, train), draw(split.test, test))


# --- Representations ------------------------------------------------------------------------------------------------

FORMS = {
    "pruned": "the paths to predicate and argument, and the subtree of the argument, both marked",
    "unmarked": "as *pruned*, without marks",
    "whole": "the subtree of the lowest node above both, both marked",
    "sisters": "as *pruned*, with the labels next to the paths",
    "shallow": "as *sisters*, with only two levels below the argument",
}
PAIRED = ("path", "phrase", "head", "content", "position", "first")  # features that are combined with the lemma


def tree_of(argument: Argument, form: str) -> Tree:
    """Return the tree of an argument in one of the `FORMS`."""
    index, predicate, span = argument.tree, argument.predicate, argument.span
    if form in ("pruned", "unmarked", "whole"):
        return argument_tree(index, predicate, span, pruned=form != "whole", mark=form != "unmarked")
    word, top = index.word(predicate), index.node_of(span)
    up, down = index.path(word, top)
    keep = {*up, *down}
    for node in {*up, *down} - {word, top}:
        keep.update(index.children(node))
    level = [top]
    for _ in range(2 if form == "shallow" else len(index)):
        level = [child for node in level for child in index.children(node)]
        keep.update(level)
        if not level:
            break
    tag = index.parent[word]
    marks = {tag: f"{index.label(tag)}-P", top: f"{index.label(top)}-ARG"}
    return index.rebuilt(up[-1], keep=keep, rename=marks)


def features_of(argument: Argument, *, pairs: bool) -> dict[str, float]:
    """Return the standard flat features of an argument, and with `pairs` those that are often combined by hand."""
    features = role_features(argument.tree, argument.predicate, argument.span, lemma=argument.lemma)
    if pairs:
        combined = {f"lemma, {name}": f"{argument.lemma} {features[name]}" for name in PAIRED if name in features}
        side = f"{features['voice']} {features['position']}"
        features |= combined | {"voice, position": side, "lemma, voice, position": f"{argument.lemma} {side}"}
        features["voice, path"] = f"{features['voice']} {features['path']}"
    return indicators(features)


def text_of(argument: Argument) -> str:
    """Return the text for n-grams: the lemma of the verb, the side of the argument, and the words of the argument."""
    begin, end = argument.span
    side = "before" if begin < argument.predicate else "after"
    return " ".join([f"verb={argument.lemma}", f"side={side}", *argument.tree.words[begin:end]])


def to_table(arguments: Iterable[Argument], forms: Iterable[str] = FORMS) -> tuple[Table, NDArray[np.str_]]:
    """Return the columns that kernels read (features, features with pairs, and trees in several forms), and the roles."""
    arguments = list(arguments)
    columns: dict[str, Any] = {form: Treebank([tree_of(e, form) for e in arguments]) for form in forms}
    columns["features"] = [features_of(e, pairs=False) for e in arguments]
    columns["pairs"] = [features_of(e, pairs=True) for e in arguments]
    return Table(columns), np.array([e.role for e in arguments])


# --- Kernels --------------------------------------------------------------------------------------------------------

FLAT: dict[str, Kernel] = {
    "linear": On("features", Linear().normalized()),
    "linear with pairs": On("pairs", Linear().normalized()),
}
TREE_KERNELS = {"ST": Subtree, "SST": SubsetTree, "PT": PartialTree}
PAPER_DECAYS: dict[str, dict[str, Any]] = {"ST": {"lam": 1.0}, "SST": {"lam": 0.4}, "PT": {"lam": 0.8, "mu": 0.4}}
DECAYS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
GRIDS: dict[str, dict[str, Sequence[Any]]] = {
    "ST": {"lam": DECAYS},
    "SST": {"lam": DECAYS, "leaves": (False, True)},
    "PT": {"lam": DECAYS, "mu": DECAYS},
}
MIXTURES = {
    "linear + SST": ("linear", "SST"),
    "linear + PT": ("linear", "PT"),
    "linear + linear × SST": ("linear", "SST"),
    "linear with pairs + SST": ("linear with pairs", "SST"),
}
WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 0.98, 0.99, 0.995)  # of the features in a mixture
FIRST_WEIGHT = 0.7
COSTS = (1.0, 3.0, 10.0, 30.0)  # the grid is extended if the best C is at its edge
TREE_COST, MIXTURE_COST = 3.0, 10.0  # while other parameters are chosen
NGRAMS = "n-grams"


def tree_kernel(name: str, form: str, parameters: Mapping[str, Any]) -> Kernel:
    return On(form, TREE_KERNELS[name](**parameters).normalized())


def mixture(name: str, trees: Kernel, weight: float) -> Kernel:
    """Combine flat features, with this weight, and trees."""
    flat = FLAT[MIXTURES[name][0]]
    return weight * flat + round(1 - weight, 3) * (flat * trees if "×" in name else trees)


def paper_kernels() -> dict[str, Kernel]:
    """Return the kernels with the trees and decays of the paper.

    The paper does not state whether predicate and argument are marked, nor how features and trees are weighted.
    """
    kernels = {f"{name}, paper": tree_kernel(name, "pruned", PAPER_DECAYS[name]) for name in TREE_KERNELS}
    kernels["linear + SST, paper"] = 0.5 * FLAT["linear"] + 0.5 * kernels["SST, paper"]
    unmarked = {f"{name}, paper, no marks": tree_kernel(name, "unmarked", PAPER_DECAYS[name]) for name in TREE_KERNELS}
    return kernels | unmarked


SYSTEMS = [*FLAT, *TREE_KERNELS, *MIXTURES, *paper_kernels()]
"""All kernels, in the order of the tables."""


# --- Settings, by cross-validation on the selection set -------------------------------------------------------------


class Chosen(NamedTuple):
    """The kernel and C of a system, its accuracy in cross-validation, and the parameters at an edge of their grid."""

    kernel: Kernel
    C: float
    cross_validation: float | None
    at_edge: list[str]


class Selector:
    """Cross-validation of kernels over whole documents. `tried` lists all settings with their accuracies."""

    def __init__(self, X: Table, y: Any, documents: Sequence[str], *, folds: int, n_jobs: int, log: Log) -> None:
        self.X, self.y, self.n_jobs, self.log = X, y, n_jobs, log
        fold = balanced_folds(documents, dict.fromkeys(documents), folds)
        self.cv = PredefinedSplit([fold[name] for name in documents])
        self.tried: list[dict[str, Any]] = []

    def trials(self, kernels: Sequence[Kernel], costs: Sequence[float]) -> list[Trial]:
        def report(trial: Trial) -> None:
            self.log(f"    {trial.kernel!r}, C={trial.parameters['C']:g}: {100 * trial.score:.2f}")
            self.tried.append({"kernel": repr(trial.kernel), **trial.parameters, "accuracy": 100 * trial.score})

        estimator = KernelSVC(n_jobs=self.n_jobs)
        return select(kernels, self.X, self.y, estimator=estimator, grid={"C": costs}, cv=self.cv, report=report).trials

    def best(self, kernels: Sequence[Kernel], C: float) -> int:
        """Return the number of the best kernel. On a tie, this is the first."""
        best = Selection(self.trials(kernels, [C])).best
        return next(k for k, kernel in enumerate(kernels) if kernel is best.kernel)

    def choose_cost(self, kernel: Kernel, at_edge: Sequence[str] = ()) -> Chosen:
        """Choose C. The grid is extended until the best value is not at its edge."""
        trials = self.trials([kernel], COSTS)
        while True:
            best = Selection(trials).best
            C, tried = best.parameters["C"], sorted(trial.parameters["C"] for trial in trials)
            if tried[0] < C < tried[-1] or not 1e-3 < C < 1e4:
                return Chosen(kernel, C, 100 * best.score, list(at_edge))
            trials += self.trials([kernel], [round(C / 3, 4) if tried[0] == C else round(C * 3, 4)])


def at_edge(grid: Mapping[str, Sequence[Any]], values: Mapping[str, Any]) -> list[str]:
    """Return the parameters at an edge of their grid. The limit 1, and one of two values, are not edges.

    >>> at_edge({"lam": (0.1, 0.5, 1.0), "weight": (0.1, 0.5)}, {"lam": 1.0, "weight": 0.1})
    []
    >>> at_edge({"lam": (0.1, 0.5, 1.0), "weight": (0.1, 0.5, 0.9)}, {"lam": 0.1, "weight": 0.9})
    ['lam', 'weight']
    """
    edges = {name: (min(values), max(values)) for name, values in grid.items() if len(values) > 2}
    return [name for name, ends in edges.items() if values[name] in ends and values[name] != 1.0]


def choose_settings(
    selector: Selector, forms: Sequence[str] = tuple(FORMS)
) -> tuple[dict[str, Chosen], dict[str, list[tuple[dict[str, Any], Trial]]]]:
    """Choose the form of tree, then the parameters of the kernel or the weight of the features, then C.

    Also return the trials of all decays on pruned trees.
    """
    chosen = {name: selector.choose_cost(kernel) for name, kernel in FLAT.items()}
    parameters: dict[str, dict[str, Any]] = {}
    decays = {}
    grids = {
        name: [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        for name, grid in GRIDS.items()
    }
    for name, grid in grids.items():
        form = forms[selector.best([tree_kernel(name, form, PAPER_DECAYS[name]) for form in forms], TREE_COST)]
        parameters[name] = grid[selector.best([tree_kernel(name, form, setting) for setting in grid], TREE_COST)]
        edges = at_edge(GRIDS[name], parameters[name])
        chosen[name] = selector.choose_cost(tree_kernel(name, form, parameters[name]), edges)
    for name, (_, trees) in MIXTURES.items():
        kernels = [tree_kernel(trees, form, parameters[trees]) for form in forms]
        best_form = selector.best([mixture(name, kernel, FIRST_WEIGHT) for kernel in kernels], MIXTURE_COST)
        mixtures = [mixture(name, kernels[best_form], weight) for weight in WEIGHTS]
        best = selector.best(mixtures, MIXTURE_COST)
        chosen[name] = selector.choose_cost(mixtures[best], at_edge({"share": WEIGHTS}, {"share": WEIGHTS[best]}))
    chosen |= {name: selector.choose_cost(kernel) for name, kernel in paper_kernels().items()}
    for name, grid in grids.items():
        settings = [setting for setting in grid if not setting.get("leaves")]
        trials = selector.trials([tree_kernel(name, "pruned", setting) for setting in settings], [TREE_COST])
        decays[name] = list(zip(settings, trials, strict=True))
    return chosen, decays


def default_settings() -> dict[str, Chosen]:
    """Return the settings of a quick run, which are not chosen."""
    kernels = FLAT | {name: tree_kernel(name, "pruned", PAPER_DECAYS[name]) for name in TREE_KERNELS}
    kernels |= {name: mixture(name, kernels[trees], FIRST_WEIGHT) for name, (_, trees) in MIXTURES.items()}
    return {name: Chosen(kernel, TREE_COST, None, []) for name, kernel in (kernels | paper_kernels()).items()}


# --- Training and testing -------------------------------------------------------------------------------------------

CURVES = ("linear", "ST", "SST", "PT", "linear + SST")  # systems with a learning curve
PARSED = (*CURVES, "SST, paper", "PT, paper")  # systems that are also tested on automatic trees
# Trees of the test arguments and of the training arguments, as in the stored results
GOLD, FROM_GOLD, FROM_PARSES = "gold trees", "parses, learnt from gold trees", "parses, learnt from parses"
COMPARISONS = [
    ("SST", "ST"),
    ("SST, paper", "ST, paper"),
    ("SST, paper", "PT, paper"),
    ("SST, paper, no marks", "PT, paper, no marks"),
    ("SST", "PT"),
    ("SST", "linear"),
    ("SST, paper", "linear"),
    ("PT", "linear"),
    ("linear + SST", "linear"),
    ("linear + SST, paper", "linear"),
    ("linear + PT", "linear"),
    ("linear + linear × SST", "linear"),
    ("linear with pairs", "linear"),
    ("linear with pairs + SST", "linear with pairs"),
    ("linear", NGRAMS),
    ("SST", NGRAMS),
]


def run(
    *, quick: bool = False, n_jobs: int = 1, seed: int = 0, log: Log = lambda text: None, folder: Path | None = None
) -> dict[str, Any]:
    """Run the experiment. With `quick`, use few arguments and choose no settings. Finished splits are kept in `folder`."""
    setup = QUICK if quick else FULL
    journal, masc = read_arguments("wsj", parses=True), read_arguments("masc")
    rows, journal_splits = make_splits(journal, selection=setup.selection, folds=setup.splits, seed=seed)
    selection = [journal[k] for k in rows]
    log(f"choosing settings on {len(selection)} arguments")
    tried: list[dict[str, Any]] = []
    decays: dict[str, list[tuple[dict[str, Any], Trial]]] = {}
    if quick:
        chosen = default_settings()
        ngrams: dict[str, Any] = {"words": 2, "characters": 4, "C": 0.5, "cross_validation": None}
        ngrams |= {"tried": 0, "at_edge": []}
    else:
        documents = [e.document for e in selection]
        X, y = to_table(selection)
        selector = Selector(X, y, documents, folds=setup.selection_folds, n_jobs=n_jobs, log=log)
        chosen, decays = choose_settings(selector)
        tried, ngrams = selector.tried, tune_ngrams([text_of(e) for e in selection], y, documents, seed)
    checkpoint = Checkpoint(folder, f"moschitti-{'quick' if quick else 'usual'}-{seed}")
    trainer = Trainer(chosen, ngrams, setup.fractions, ["pruned", "unmarked"] if quick else list(FORMS), n_jobs, log)
    seen = parser_training_sentences()
    for number, split in enumerate(journal_splits):
        if number not in checkpoint.done:
            limited = limit_split(split, train=setup.train, test=setup.test, seed=seed)
            checkpoint.add(number, trainer.test(JOURNAL, journal, limited, number, seen))
    for number, split in enumerate(make_splits(masc, selection=0, folds=setup.splits, seed=seed)[1]):
        if 100 + number not in checkpoint.done:
            limited = limit_split(split, train=setup.train_masc, test=setup.test_masc, seed=seed)
            checkpoint.add(100 + number, trainer.test(MASC, masc, limited, number))
    splits = [checkpoint.done[number] for number in sorted(checkpoint.done)]
    checkpoint.remove()
    decay_items, decay_results = compare_decays(decays, selection)
    return summarize(splits, setup.fractions) | {
        "chosen": {name: each._asdict() | {"kernel": repr(each.kernel)} for name, each in chosen.items()},
        "plain": ngrams,
        "choosing": [len(selection), len({e.document for e in selection})],
        "tried": tried,
        "decays": decay_results,
        "items": [*(item for split in splits for item in split["items"]), *decay_items],
    }


class Trainer(NamedTuple):
    """Train and test all systems in a split."""

    chosen: Mapping[str, Chosen]
    ngrams: dict[str, Any]
    fractions: Sequence[float]
    forms: Sequence[str]
    n_jobs: int
    log: Log

    def test(
        self,
        corpus: str,
        arguments: Sequence[Argument],
        split: Split,
        number: int,
        seen_by_parser: set[tuple[str, ...]] | None = None,
    ) -> dict[str, Any]:
        """Return the results of one split.

        With `seen_by_parser`, sentences on which the parser was trained, also train on growing parts of the training set
        and test automatic trees.
        """
        train, test = ([arguments[k] for k in rows] for rows in split)
        (X, y), (X_test, y_test) = (to_table(each, self.forms) for each in (train, test))
        parses = None if seen_by_parser is None else _Parses(self.forms, train, test, seen_by_parser)
        correct: dict[str, Any] = {}
        curve: dict[str, Any] = {}
        on_parses: dict[str, Any] = {}
        for name in SYSTEMS:
            model = self.fit(name, X, y)
            correct[name] = is_correct(model, X_test, y_test)
            if parses is not None and name in CURVES:
                for fraction in self.fractions:
                    few = int(fraction * len(y))
                    curve[with_fraction(name, fraction)] = is_correct(self.fit(name, X[:few], y[:few]), X_test, y_test)
            if parses is not None and name in PARSED:
                for trees, fitted in ((FROM_GOLD, model), (FROM_PARSES, self.fit(name, *parses.train))):
                    on_parses[f"{name}: {trees}"] = parses.spread(is_correct(fitted, *parses.test))
        texts, test_texts = ([text_of(e) for e in each] for each in (train, test))
        correct[NGRAMS] = predict_ngrams(self.ngrams, texts, y, test_texts) == y_test
        accuracies = ", ".join(f"{name} {100 * values.mean():.1f}" for name, values in correct.items())
        self.log(f"{corpus}, split {number}, {len(train)} and {len(test)} arguments: {accuracies}")
        roles, counts = np.unique(y, return_counts=True)
        results: dict[str, Any] = {
            "corpus": corpus,
            "train": len(train),
            "test": len(test),
            "documents": [len({e.document for e in each}) for each in (train, test)],
            "majority": 100 * float(np.mean(y_test == roles[counts.argmax()])),
            "items": [split_items(f"{corpus}, split {number}", len(train), [e.id for e in test], {**correct, **curve})],
        }
        if parses is None:
            return results
        for name in (*PARSED, NGRAMS):
            on_parses[f"{name}: {GOLD}"] = parses.spread(correct[name][parses.rows][parses.is_constituent])
        ids = [test[k].id for k in parses.rows]
        results["items"].append(split_items(f"parses, split {number}", len(parses.train[1]), ids, on_parses))
        results |= {"parsed": len(parses.rows), "constituents": int(parses.is_constituent.sum())}
        return results | {"twins": len(test) - len(parses.rows)}

    def fit(self, name: str, X: Table, y: Any) -> KernelSVC:
        system = self.chosen[name]
        return KernelSVC(kernel=system.kernel, C=system.C, n_jobs=self.n_jobs).fit(X, y)


class _Parses:
    """Training and test arguments in automatic trees, without sentences on which the parser was trained.

    `rows` are the test arguments of other sentences. `is_constituent` states whether each is a constituent of its tree.
    """

    def __init__(
        self, forms: Sequence[str], train: Sequence[Argument], test: Sequence[Argument], seen: set[tuple[str, ...]]
    ) -> None:
        self.rows = [k for k, e in enumerate(test) if e.words not in seen]
        parsed = [in_parse(test[k]) for k in self.rows]
        self.is_constituent = np.array([e is not None for e in parsed])
        self.test = to_table((e for e in parsed if e is not None), forms)
        self.train = to_table((p for e in train if e.words not in seen and (p := in_parse(e)) is not None), forms)

    def spread(self, values: Any) -> NDArray[np.float64]:
        """Return one value per test argument, NaN for those that are not constituents."""
        spread = np.full(len(self.rows), np.nan)
        spread[self.is_constituent] = values
        return spread


def is_correct(model: KernelSVC, X: Table, y: Any) -> Any:
    """Return whether each prediction is correct. Do not warn of examples without a common fragment."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*no fragment in common with the model", TreeletWarning)
        return model.predict(X) == y


def with_fraction(name: str, fraction: float) -> str:
    """Return the name of a system that is trained on a fraction of the arguments.

    >>> with_fraction("SST", 0.05)
    'SST, 5 % of the training'
    """
    return f"{name}, {100 * fraction:g} % of the training"


# --- Means and tests over splits ------------------------------------------------------------------------------------


def summarize(splits: Sequence[Mapping[str, Any]], fractions: Sequence[float]) -> dict[str, Any]:
    """Return means, standard deviations and tests over splits: by corpus, by training size, and with automatic trees."""
    corpora = {}
    for corpus in (JOURNAL, MASC):
        own = [split for split in splits if split["corpus"] == corpus]
        items = [split["items"][0] for split in own]
        corpora[corpus] = {
            "splits": [{key: split[key] for key in ("train", "test", "documents", "majority")} for split in own],
            "rows": {name: mean_score(items, name) for name in (*SYSTEMS, NGRAMS)},
            "tests": [compare(items, a, b, groups=document_of) for a, b in COMPARISONS],
        }
    journal = [split for split in splits if split["corpus"] == JOURNAL]
    items, parsed = ([split["items"][k] for split in journal] for k in (0, 1))
    train = float(np.mean([split["train"] for split in items]))
    curve = {
        "sizes": [round(fraction * train) for fraction in (*fractions, 1.0)],
        "rows": {
            name: [*(mean_score(items, with_fraction(name, f)) for f in fractions), mean_score(items, name)]
            for name in CURVES
        },
        "tests": [compare(items, name, with_fraction(name, 0.5), groups=document_of) for name in CURVES],
    }
    rows = {}
    for system in [*(f"{name}: {trees}" for name in PARSED for trees in (GOLD, FROM_GOLD, FROM_PARSES)), f"{NGRAMS}: {GOLD}"]:  # fmt: skip
        # In `of_all`, arguments that are not constituents of the automatic tree count as errors.
        of_all = [score_items([value or 0 for value in split["systems"][system]]) for split in parsed]
        rows[system] = mean_score(parsed, system) | {"of_all": float(np.mean(of_all))}
    pairs = [(f"{name}: {FROM_PARSES}", f"{name}: {trees}") for trees in (GOLD, FROM_GOLD) for name in PARSED]
    pairs += [(f"SST: {FROM_PARSES}", f"{other}: {FROM_PARSES}") for other in ("linear", "ST", "PT")]
    pairs += [(f"SST, paper: {FROM_PARSES}", f"PT, paper: {FROM_PARSES}")]
    parses = {
        "arguments": sum(split["parsed"] for split in journal),
        "constituents": sum(split["constituents"] for split in journal),
        "twins": sum(split["twins"] for split in journal),
        "rows": rows,
        "tests": [compare(parsed, a, b, groups=document_of) for a, b in pairs],
    }
    return {"corpora": corpora, "curve": curve, "parses": parses}


def document_of(item: Any) -> str:
    """Return the document of an argument, from its id."""
    return str(item).split("/")[0]


def compare_decays(
    decays: Mapping[str, Sequence[tuple[dict[str, Any], Trial]]], selection: Sequence[Argument]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the accuracy of each decay on pruned trees, and a bootstrap test of the decays of the paper against the best."""
    roles = np.array([e.role for e in selection])
    systems: dict[str, Any] = {}
    results: dict[str, Any] = {}
    for name, trials in decays.items():
        settings, scores = [setting for setting, _ in trials], [trial.score for _, trial in trials]
        best, paper = int(np.argmax(scores)), settings.index({**settings[0], **PAPER_DECAYS[name]})
        systems[f"{name}, best decay"] = trials[best][1].held_out[0] == roles
        systems[f"{name}, the paper's decay"] = trials[paper][1].held_out[0] == roles
        accuracies = [{**setting, "accuracy": 100 * score} for setting, score in zip(settings, scores, strict=True)]
        results[name] = {"trials": accuracies, "best": settings[best]}
    if not systems:
        return [], {}
    items = [split_items("documents to choose on", len(selection), [e.id for e in selection], systems)]
    for name, row in results.items():
        row["test"] = compare(items, f"{name}, the paper's decay", f"{name}, best decay", groups=document_of)
    return items, results


# --- Page -----------------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    journal, parses, chosen, plain = results["corpora"][JOURNAL], results["parses"], results["chosen"], results["plain"]
    edges = [(name, row["at_edge"]) for name, row in [*chosen.items(), (NGRAMS, plain)] if row["at_edge"]]
    words = _test(journal["tests"], "SST", NGRAMS)
    decays: dict[str, dict[float, float]] = {}  # accuracy by λ, in one row per kernel and μ
    for name, row in results["decays"].items():
        for trial in sorted(row["trials"], key=lambda trial: trial.get("mu", 0)):
            label = f"{name}, μ {trial['mu']:g}" if "mu" in trial else name
            decays.setdefault(label, {})[trial["lam"]] = trial["accuracy"]
    return writing.render(
        "moschitti",
        results,
        claims=claims(results),
        journal=journal,
        masc=results["corpora"][MASC],
        better_than_ngrams=words["p"] < 0.05 and words["difference"] > 0,
        paper_order=_test(journal["tests"], "SST, paper", "PT, paper"),
        chosen_order=_test(journal["tests"], "SST", "PT"),
        paired_features=PAIRED,
        forms=FORMS,
        edges=[f"{name} ({', '.join(names)})" for name, names in edges],
        paper_gold=PAPER_GOLD,
        paper_parses=PAPER_PARSES,
        parse_rows=[
            (name, *(parses["rows"][f"{name}: {trees}"] for trees in (GOLD, FROM_GOLD, FROM_PARSES))) for name in PARSED
        ],
        decay_grid=DECAYS,
        decay_rows={name: [values[lam] for lam in DECAYS] for name, values in decays.items()},
        ngram_settings=describe_ngrams(plain),
        mean=lambda splits, key: float(np.mean([split[key] for split in splits])),
        with_holm=lambda tests: zip(tests, holm([test["p"] for test in tests]), strict=True),
    )


def _test(tests: Sequence[Mapping[str, Any]], a: str, b: str) -> Mapping[str, Any]:
    return next(test for test in tests if (test["a"], test["b"]) == (a, b))


def _difference(test: Mapping[str, Any]) -> str:
    return writing.difference(test, 1)


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw the accuracies of both corpora with standard deviations, and the learning curve. Requires matplotlib."""
    curve = results["curve"]
    with writing.saved_figure(path, 2, figsize=(13, 5.2)) as (_, (left, right)):
        names = list(results["corpora"][JOURNAL]["rows"])
        for k, (corpus, color) in enumerate(((JOURNAL, "C0"), (MASC, "C1"))):
            rows = [results["corpora"][corpus]["rows"][name] for name in names]
            means, deviations = ([row[key] for row in rows] for key in ("mean", "std"))
            heights = np.arange(len(names)) + 0.25 * k
            left.errorbar(means, heights, xerr=deviations, fmt="o", color=color, markersize=4, label=corpus)
        left.set_yticks(np.arange(len(names)), names)
        left.invert_yaxis()
        left.set(xlabel="accuracy, %; deviation over splits", title="Roles of arguments, gold trees")
        left.grid(alpha=0.3)
        left.legend(loc="upper left")
        for name, marker in zip(curve["rows"], "osD^vP*", strict=False):
            means, deviations = ([row[key] for row in curve["rows"][name]] for key in ("mean", "std"))
            right.errorbar(curve["sizes"], means, yerr=deviations, marker=marker, markersize=5, capsize=2, label=name)
        right.set(
            xlabel="training arguments", ylabel="accuracy, %", title="Learning curve, Wall Street Journal", xscale="log"
        )
        right.set_xticks(curve["sizes"], [f"{size:,}" for size in curve["sizes"]])
        right.minorticks_off()
        right.grid(alpha=0.3)
        right.legend()


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the claims of the paper about accuracy."""
    corpora, parses = results["corpora"], results["parses"]

    def both(a: str, b: str) -> list[Mapping[str, Any]]:
        """Return the tests of two systems on both corpora."""
        return [_test(corpora[corpus]["tests"], a, b) for corpus in (JOURNAL, MASC)]

    def text(a: str, b: str) -> str:
        return " and ".join(
            f"{_difference(test)} ({name})" for test, name in zip(both(a, b), ("WSJ", MASC), strict=True)
        )

    def on_parses(name: str) -> Mapping[str, Any]:
        return _test(parses["tests"], f"{name}: {FROM_PARSES}", f"{name}: {GOLD}")

    curve = [test for test in results["curve"]["tests"] if test["a"] in PAPER_GOLD]
    robust = [on_parses("SST"), on_parses("SST, paper")]
    made = [
        Claim(
            PAPER,
            "subset trees are better than subtrees",
            "87.7 against 84.6",
            f"with the settings of the paper {text('SST, paper', 'ST, paper')}, with chosen ones {text('SST', 'ST')}",
            "greater",
            [*both("SST, paper", "ST, paper"), *both("SST", "ST")],
            effect=3.1,
        ),
        Claim(
            PAPER,
            "subset trees are better than partial trees (with the trees and decays of the paper)",
            "87.7 against 86.7",
            f"{text('SST, paper', 'PT, paper')}; without marks {text('SST, paper, no marks', 'PT, paper, no marks')}",
            "greater",
            [*both("SST, paper", "PT, paper"), *both("SST, paper, no marks", "PT, paper, no marks")],
            effect=1.0,
        ),
        Claim(
            PAPER,
            "partial trees, although richer, are about as good as subset trees",
            "86.7 and 87.7",
            f"SST − PT, both with chosen trees and decays: {text('SST', 'PT')}",
            "alike",
            both("SST", "PT"),
            margin=1.0,
            note="chosen on documents that are not used for testing; PT gains more than SST on trees with the labels next to the paths",
        ),
        Claim(
            PAPER,
            "a tree kernel alone is as good as hand-made features",
            "SST 87.7, linear 87.6",
            f"SST − linear: {text('SST', 'linear')}",
            "alike",
            both("SST", "linear"),
            margin=1.0,
            note="linear with pairs of features is better than both",
        ),
        Claim(
            PAPER,
            "tree kernels add 2 to 3 points to the features",
            "2/3 points",
            f"linear + SST − linear: {text('linear + SST', 'linear')}; linear + linear × SST − linear: "
            f"{text('linear + linear × SST', 'linear')}",
            "within",
            both("linear + SST", "linear"),
            low=1.5,
            high=3.5,
            note="the paper does not state how they were combined; the verdict is that of the sum",
        ),
        Claim(
            PAPER,
            "accuracy still increases with the training data, for every kernel (figure 5)",
            "increasing curves",
            "the second half of the training arguments: " + ", ".join(f"{test['a']} {_difference(test)}" for test in curve),
            "greater",
            curve,
        ),
        Claim(
            PAPER,
            "tree kernels are robust with automatic parse trees",
            "81.2 (SST, FrameNet)",
            f"SST on automatic trees − on gold trees, WSJ: {_difference(robust[0])}; settings of the paper {_difference(robust[1])}",
            "alike",
            robust,
            margin=2.0,
            note=f"flat features lose as much: {_difference(on_parses('linear'))}; "
            f"{100 - 100 * parses['constituents'] / parses['arguments']:.1f} % of the arguments are not constituents of the automatic trees, and not counted",
        ),
    ]  # fmt: skip
    if results["decays"]:
        tests = {name: row["test"] for name, row in results["decays"].items()}
        made.append(
            Claim(
                PAPER,
                "the best λ is 1 for ST, 0.4 for SST, 0.8 for PT with μ 0.4",
                "1, 0.4, 0.8; 0.4",
                "differences from the best values of our grid (WSJ): "
                + ", ".join(f"{name} {_difference(test)}" for name, test in tests.items()),
                "alike",
                list(tests.values()),
                margin=1.0,
                note="cross-validation on pruned trees; the best of a grid is slightly biased upwards",
            )
        )
    return made
