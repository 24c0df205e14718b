"""Entailment and relatedness of sentence pairs (SICK, SemEval-2014 task 1) with kernels on pairs of trees.

The trees are best parses of our own grammar, estimated from all treebanks. The pairs have 4,500 training, 500 trial and 4,927
test examples. Settings are chosen on the trial pairs, with models of the training pairs. The test pairs are used once per
system, with models of the training and trial pairs. Words that both sentences contain are marked in both trees, as in Severyn &
Moschitti (2012); the experiment measures what the marks add. Smoothed PT (SPTK) measures what similar words add: its word
vectors are computed as in `experiments.questions`, from text without labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr, rankdata, spearmanr

from experiments import Log, writing
from experiments.data import SentencePair, grammar_treebanks, sick
from experiments.evaluation import (
    bootstrap_difference,
    bootstrap_score,
    compare,
    compare_mcnemar,
    coordinate_search,
    holm,
    split_items,
)
from experiments.questions import (
    COLUMN_CORPORA,
    TREE_CORPORA,
    SimilarWords,
    normalize_word,
    read_sentences,
    train_word_vectors,
    vectors_of_forms,
)
from experiments.writing import Checkpoint, Claim
from treelet.cuts import mark_shared
from treelet.edits import EditDistance
from treelet.kernels import Crossed, Kernel, Linear, On, PartialTree, Smoothed, SubsetTree, Subtree
from treelet.learn import KernelSVC, KernelSVR
from treelet.parsing import PCFG
from treelet.structures import Tree, Treebank
from treelet.structures.table import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Setting = dict[str, Any]

PARTS = ("train", "trial", "test")
TASKS = ("entailment", "relatedness")
GRAMMAR: dict[str, Any] = {"parent": "tags", "markov": 2, "split": "penn", "smoothing": 1}
NEGATIONS = frozenset({"no", "not", "n't", "nobody", "nothing", "never", "none", "without"})
EXPONENT = 2  # of the cosine of two words
OVERLAP, ALL = "overlap", "overlap + intra-pair + PT + crossed PT"
MARKS = (("SST", "SST, no marks"), ("PT", "PT, no marks"), ("crossed PT", "crossed PT, no marks"))
COMPARISONS = (
    *MARKS,
    ("PT", OVERLAP),
    ("PT", "SST"),
    ("PT product", "PT"),
    ("crossed PT", "PT"),
    ("SPTK", "PT"),
    ("crossed SPTK", "crossed PT"),
    ("intra-pair", OVERLAP),
    ("overlap + PT", OVERLAP),
    ("overlap + crossed PT", "overlap + PT"),
    (ALL, "overlap + PT"),
    (ALL, OVERLAP),
)
PUBLISHED = [  # Marelli et al. (2014), tables 6 and 7, primary runs: accuracy in percent, Pearson's r, Spearman's rho
    ("Illinois-LH", "84.6", "0.799", "0.754"),
    ("ECNU", "83.6", "0.828", "0.769"),
    ("UNAL-NLP", "83.1", "0.804", "0.746"),
    ("SemantiKLUE", "82.3", "", ""),
    ("The Meaning Factory", "81.6", "0.827", "0.772"),
    ("StanfordNLP", "74.5", "0.827", "0.756"),
    ("median of all systems", "77.1", "", ""),
]

# --- Data -----------------------------------------------------------------------------------------------------------


class PairData:
    """The pairs of all parts in one table: trees of both sides, with and without marks, and features of each pair.

    Attributes
    ----------
    table : Table
        Columns ``a`` and ``b`` (trees), ``marked a`` and ``marked b``, ``overlap`` and ``values`` (vectors). Vectors are
        standardized on the training pairs.
    rows : dict
        Rows of each part.
    gold : dict
        The correct class or score of each row, by task.
    words : WordVectors
        Vectors of the words of all sentences. They are computed from corpora and the sentences of the training pairs, without
        the sentences of the test pairs, and without labels.
    """

    def __init__(self, *, quick: bool, n_jobs: int, seed: int) -> None:
        parts = {part: sick(part)[: 300 if quick else None] for part in PARTS}
        pairs = [pair for part in PARTS for pair in parts[part]]
        ends = np.cumsum([len(parts[part]) for part in PARTS])
        self.rows = {part: np.arange(end - len(parts[part]), end) for part, end in zip(PARTS, ends, strict=True)}
        self.ids = [pair.id for pair in pairs]
        self.gold = {
            "entailment": np.array([pair.entailment for pair in pairs]),
            "relatedness": np.array([pair.relatedness for pair in pairs]),
        }
        sentences = list(dict.fromkeys(words for pair in pairs for words in _sentences(pair)))
        training, removed = grammar_treebanks(set(sentences), 400 if quick else None)
        grammar = PCFG.from_treebank(training, **GRAMMAR)
        parses = grammar.parse_all([list(words) for words in sentences], n_jobs=n_jobs)
        tree_of = dict(zip(sentences, parses.trees, strict=True))
        a, b = (Treebank([tree_of[side] for side in column]) for column in zip(*map(_sentences, pairs), strict=True))
        marked = mark_shared(a, b)
        all_words = mark_shared(a, b, propagate="tag", stop_words=None)
        overlap = np.array([overlap_features(*trees) for trees in zip(*all_words, strict=True)])
        self.table = Table(
            {
                "a": a,
                "b": b,
                "marked a": marked[0],
                "marked b": marked[1],
                "overlap": self._standardized(overlap),
                "values": self._standardized(intra_pair_values(a, b)),
            }
        )
        text = [*read_sentences(("questionbank",) if quick else (*TREE_CORPORA, *COLUMN_CORPORA))]
        text += [tuple(map(normalize_word, words)) for pair in parts["train"] for words in _sentences(pair)]
        unseen = [words for pair in parts["test"] for words in _sentences(pair)]
        vectors, sizes = train_word_vectors(text, unseen, seed=seed)
        forms = [word for words in sentences for word in words]
        self.words = vectors_of_forms(vectors, forms)
        agreeing = [
            tag == given
            for pair in pairs
            for words, tags in ((pair.words_a, pair.tags_a), (pair.words_b, pair.tags_b))
            for (tag, _), given in zip(_tagged(tree_of[words]), tags, strict=True)
        ]
        self.notes = {
            "sentences": len(sentences),
            "treebank": len(training),
            "removed": removed,
            "tags": 100 * float(np.mean(agreeing)),
            "vectors": sizes | {"known": len(self.words), "forms": len(set(forms))},
            "shared": 100 * float(np.mean([plain != tree for plain, tree in zip(a, marked[0], strict=True)])),
        }

    @lru_cache(maxsize=4)  # noqa: B019  # there is one object per experiment
    def similar_words(self, threshold: float) -> SimilarWords:
        return SimilarWords(self.words, threshold, EXPONENT)

    def _standardized(self, features: Floats) -> Floats:
        """Return features with mean 0 and variance 1 / number of features on the training pairs."""
        train = features[self.rows["train"]]
        deviation = train.std(axis=0)
        return np.asarray(
            (features - train.mean(axis=0)) / np.where(deviation, deviation, 1) / features.shape[1] ** 0.5
        )


def _sentences(pair: SentencePair) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return pair.words_a, pair.words_b


def _tagged(tree: Tree) -> list[tuple[str, str]]:
    """Return the tag and the word of each word of a tree, from left to right."""
    return [(node.label, node.children[0].label) for node in tree.nodes() if node.is_preterminal]


def overlap_features(a: Tree, b: Tree) -> list[float]:
    """Return features of the words of two trees in which the tags of shared words have the mark REL.

    They are the shares of shared words and the numbers of others, for all words, nouns, verbs and adjectives; the
    difference of the lengths; and whether each sentence is negated.

    >>> overlap_features(Tree.parse("(S (REL-NN dog) (VB ran))"), Tree.parse("(S (REL-NN dogs))"))[:5]
    [0.5, 1.0, 0.2, 0.0, 0.2]
    """
    features: list[float] = []
    sides = [_tagged(tree) for tree in (a, b)]
    for kind in ("", "N", "V", "J"):
        words = [[tag for tag, _ in side if tag.removeprefix("REL-").startswith(kind)] for side in sides]
        shared = [sum(tag.startswith("REL-") for tag in tags) for tags in words]
        features += [count / max(1, len(tags)) for count, tags in zip(shared, words, strict=True)]
        features += [(len(tags) - count) / 5 for count, tags in zip(shared, words, strict=True)]
        features.append((len(words[0]) - len(words[1])) / 5)
    negated = [any(word.lower() in NEGATIONS for _, word in side) for side in sides]
    return [*features, *map(float, negated), float(negated[0] != negated[1])]


def intra_pair_values(a: Treebank, b: Treebank) -> Floats:
    """Return the values of kernels, and the edit similarity, between the two trees of each pair."""
    kernels: list[Kernel] = [Subtree(), SubsetTree(0.4), SubsetTree(0.4, leaves=True), SubsetTree(1.0, max_depth=2)]
    kernels += [PartialTree(0.4, 0.4), PartialTree(0.8, 0.2)]
    values = [kernel.normalized().diag(a, b) for kernel in kernels]
    return np.column_stack([*values, EditDistance().similarity().diag(a, b)])


# --- Systems --------------------------------------------------------------------------------------------------------


class System(NamedTuple):
    """A kernel machine: the kernel of a setting, the grids of its parameters and the start of the search.

    Parameters without a grid are those that the systems `after` have chosen for the same task.
    """

    kernel: Callable[[Setting], Kernel]
    grids: Mapping[str, Sequence[Any]]
    start: Setting
    after: tuple[str, ...] = ()


def systems(*, quick: bool, data: PairData | None = None) -> dict[str, System]:
    """Return the systems in the order of the table. In a quick run, each has one setting.

    The kernels with similar words need the data; the grids do not.
    """

    def sst(at: Setting) -> Kernel:
        return SubsetTree(at["lam"], leaves=at["leaves"]).normalized()

    def pt(at: Setting) -> Kernel:
        return PartialTree(at["lam"], at["mu"]).normalized()

    def sptk(at: Setting) -> Kernel:
        # By default, the word of a label is the label itself. Tags and phrases, with or without a mark, have no vector, so
        # only words are similar. All words are leaves.
        assert data is not None
        similar = data.similar_words(at["threshold"])
        return Smoothed(similar, at["lam"], at["mu"], threshold=at["threshold"]).normalized()

    def of_sides(kernel: Kernel, mark: str = "marked ") -> Kernel:
        return 0.5 * (On(f"{mark}a", kernel) + On(f"{mark}b", kernel))

    def crossed(kernel: Kernel, mark: str = "marked ") -> Kernel:
        return Crossed(f"{mark}a", f"{mark}b", kernel).normalized()

    def overlap(at: Setting) -> Kernel:
        return On("overlap", Linear().gaussian(at["sigma"]))

    def values(at: Setting) -> Kernel:
        return On("values", Linear().gaussian(at["width"]))

    C = {"C": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)}
    widths = (0.5, 1.0, 2.0, 4.0)
    lam, mu = {"lam": (0.1, 0.2, 0.4, 0.6, 0.8)}, {"mu": (0.1, 0.2, 0.4, 0.6)}
    sst_grid, sst_start = {"leaves": (False, True), **lam, **C}, {"leaves": True, "lam": 0.4, "C": 1.0}
    pt_grid, pt_start = {**lam, **mu, **C}, {"lam": 0.4, "mu": 0.4, "C": 1.0}
    threshold = {"threshold": (0.2, 0.4, 0.6, 0.8), **C}
    share = {"share": (0.2, 0.4, 0.6, 0.8), **C}
    half = {"share": 0.4, "C": 1.0}
    every = {
        OVERLAP: System(overlap, {"sigma": widths, **C}, {"sigma": 2.0, "C": 1.0}),
        "intra-pair": System(values, {"width": widths, **C}, {"width": 2.0, "C": 1.0}),
        "SST, no marks": System(lambda at: of_sides(sst(at), ""), sst_grid, sst_start),
        "SST": System(lambda at: of_sides(sst(at)), sst_grid, sst_start),
        "PT, no marks": System(lambda at: of_sides(pt(at), ""), pt_grid, pt_start),
        "PT": System(lambda at: of_sides(pt(at)), pt_grid, pt_start),
        "PT product": System(lambda at: On("marked a", pt(at)) * On("marked b", pt(at)), C, {"C": 1.0}, ("PT",)),
        "crossed PT, no marks": System(lambda at: crossed(pt(at), ""), C, {"C": 1.0}, ("PT, no marks",)),
        "crossed PT": System(lambda at: crossed(pt(at)), C, {"C": 1.0}, ("PT",)),
        "SPTK": System(lambda at: of_sides(sptk(at)), threshold, {"threshold": 0.4, "C": 1.0}, ("PT",)),
        "crossed SPTK": System(lambda at: crossed(sptk(at)), C, {"C": 3.0}, ("SPTK",)),
        "overlap + PT": System(
            lambda at: (1 - at["share"]) * overlap(at) + at["share"] * of_sides(pt(at)), share, half, (OVERLAP, "PT")
        ),
        "overlap + crossed PT": System(
            lambda at: (1 - at["share"]) * overlap(at) + at["share"] * crossed(pt(at)), share, half, (OVERLAP, "PT")
        ),
        ALL: System(
            lambda at: (
                0.5 * (1 - at["share"]) * (overlap(at) + values(at))
                + 0.5 * at["share"] * (of_sides(pt(at)) + crossed(pt(at)))
            ),
            share,
            half,
            (OVERLAP, "intra-pair", "PT"),
        ),
    }
    if quick:
        return {
            name: system._replace(grids={key: (system.start[key],) for key in system.grids})
            for name, system in every.items()
        }
    return every


def predict(data: PairData, task: str, kernel: Kernel, C: float, train: Rows, test: Rows) -> NDArray[Any]:
    """Return the classes or scores of some pairs, by a model of other pairs."""
    machine = (KernelSVC if task == "entailment" else KernelSVR)(kernel, C=C, n_jobs=1)
    predicted: NDArray[Any] = machine.fit(data.table[train], data.gold[task][train]).predict(data.table[test])
    return predicted


def score(task: str, gold: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Return the accuracy in percent of classes, or Pearson's correlation of scores.

    >>> score("entailment", np.array(["a", "b"]), np.array(["a", "a"]))
    50.0
    >>> round(score("relatedness", np.arange(3), -np.arange(3)), 6)
    -1.0
    """
    return 100 * float(np.mean(gold == predicted)) if task == "entailment" else float(pearsonr(gold, predicted)[0])


# --- Protocol -------------------------------------------------------------------------------------------------------


def run(
    *, quick: bool = False, n_jobs: int = 1, seed: int = 0, log: Log = lambda text: None, folder: Path | None = None
) -> dict[str, Any]:
    """Run all systems. With `quick`, 300 pairs per part, a small grammar and one setting per system.

    Finished systems are kept in a file in `folder` until all are finished. An interrupted run can be resumed by repeating it.
    """
    data = PairData(quick=quick, n_jobs=n_jobs, seed=seed)
    checkpoint = Checkpoint(folder, f"pairs-{'quick' if quick else 'usual'}-{seed}")
    earlier = sum(done["cpu_seconds"] for done in checkpoint.done.values())
    log(
        f"{len(data.ids)} pairs, {data.notes['sentences']} sentences parsed by a grammar of {data.notes['treebank']} trees"
    )
    chosen: dict[str, dict[str, Setting]] = {task: {} for task in TASKS}
    predicted: dict[str, dict[str, NDArray[Any]]] = {task: {} for task in TASKS}
    rows = []
    fitted, test = np.concatenate([data.rows["train"], data.rows["trial"]]), data.rows["test"]
    for number, (name, system) in enumerate(systems(quick=quick, data=data).items()):
        if number not in checkpoint.done:
            begin = time.process_time()
            row: dict[str, Any] = {"system": name}
            for task in TASKS:
                inherited = {key: value for other in system.after for key, value in chosen[task][other].items()}
                row[task] = choose_setting(system, inherited, data, task)
                setting = row[task]["setting"]
                found = predict(data, task, system.kernel(setting), setting["C"], fitted, test)
                row[task]["test"] = score(task, data.gold[task][test], found)
                row[task]["predicted"] = found.tolist()
                log(f"{name}, {task}: trial {row[task]['trial']:.3f}, test {row[task]['test']:.3f}, {setting}")
            checkpoint.add(number, {"row": row, "cpu_seconds": time.process_time() - begin})
        row = checkpoint.done[number]["row"]
        for task in TASKS:
            chosen[task][name] = row[task]["setting"]
            predicted[task][name] = np.array(row[task].pop("predicted"))
        rows.append(row)
    checkpoint.remove()
    correct = {name: (each == data.gold["entailment"][test]) for name, each in predicted["entailment"].items()}
    gold, ids = data.gold["relatedness"][test], [[data.ids[row] for row in test]]
    items = [
        split_items("entailment", len(fitted), ids[0], correct),
        split_items("relatedness", len(fitted), ids[0], {"gold": gold, **predicted["relatedness"]}),
    ]
    for row in rows:
        name = row["system"]
        scores = predicted["relatedness"][name]
        row["entailment"]["interval"] = bootstrap_score(
            ids, [np.column_stack([correct[name], np.ones(len(test))])], lambda sums: 100 * sums[..., 0] / sums[..., 1]
        )["interval"]
        row["relatedness"]["interval"] = compare_correlations(ids, gold, scores, None)["interval"]
        row["relatedness"]["spearman"] = float(spearmanr(gold, scores)[0])
        ranks = compare_correlations(ids, rankdata(gold), rankdata(scores), None)
        row["relatedness"]["spearman_interval"] = ranks["interval"]
    pairs = [(a, b) for a, b in COMPARISONS if a in correct and b in correct]
    return {
        "rows": rows,
        "cpu_seconds_before": earlier,
        "sizes": {part: len(data.rows[part]) for part in PARTS},
        **data.notes,
        "shares": {task: data.similar_words(chosen[task]["SPTK"]["threshold"]).share for task in TASKS},
        "tests": {
            "entailment": [compare(items[:1], a, b) | compare_mcnemar(a, correct[a], b, correct[b]) for a, b in pairs],
            "relatedness": [
                {"a": a, "b": b, "over": "items"}
                | compare_correlations(ids, gold, predicted["relatedness"][a], predicted["relatedness"][b])
                for a, b in pairs
            ],
        },
        "published": [
            dict(zip(("system", "accuracy", "pearson", "spearman"), each, strict=True)) for each in PUBLISHED
        ],
        "items": items,
    }


def choose_setting(system: System, inherited: Setting, data: PairData, task: str) -> dict[str, Any]:
    """Choose the setting with the best score on the trial pairs, by models of the training pairs."""
    names = list(system.grids)
    scores: dict[tuple[Any, ...], float] = {}

    def trial_score(values: tuple[Any, ...]) -> float:
        if values not in scores:
            at = inherited | dict(zip(names, values, strict=True))
            rows = data.rows["trial"]
            predicted = predict(data, task, system.kernel(at), at["C"], data.rows["train"], rows)
            scores[values] = score(task, data.gold[task][rows], predicted)
        return scores[values]

    start = tuple(system.start[name] for name in names)
    best = coordinate_search(trial_score, start, list(system.grids.values()))
    setting = dict(zip(names, best, strict=True))
    return {"setting": inherited | setting, "trial": trial_score(best), "tried": len(scores)}


def compare_correlations(ids: Sequence[Sequence[Any]], gold: Floats, a: Floats, b: Floats | None) -> dict[str, Any]:
    """Compare the correlations of two systems with the correct scores, by a paired bootstrap. None has a correlation of 0.

    >>> gold = np.array([1.0, 2.0, 3.0, 5.0])
    >>> round(compare_correlations([["p", "q", "r", "s"]], gold, 2 * gold, None)["difference"], 3)
    1.0
    """

    def sums_of(x: Floats) -> Floats:
        return np.column_stack([np.ones(len(gold)), x, gold, x * x, gold * gold, x * gold])

    def correlation(sums: Floats) -> Floats:
        n, x, y, xx, yy, xy = (sums[..., k] for k in range(6))
        variances = np.maximum(n * xx - x * x, 0) * np.maximum(n * yy - y * y, 0)
        return np.asarray(
            np.where(variances > 0, (n * xy - x * y) / np.sqrt(np.where(variances > 0, variances, 1)), 0.0)
        )

    tables = [[sums_of(a)], [sums_of(np.zeros(len(gold)) if b is None else b)]]
    return bootstrap_difference(ids, tables, correlation)


# --- Page -----------------------------------------------------------------------------------------------------------

PARAMETER_NAMES = {"lam": "λ", "mu": "μ", "sigma": "σ", "width": "σ of values"}
MARK_CLAIMS = "Pairs of sentences with marks, after Severyn & Moschitti (2012)"


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    tests = results["tests"]
    p_entailment = holm([test["p_mcnemar"] for test in tests["entailment"]])
    p_relatedness = holm([test["p"] for test in tests["relatedness"]])
    return writing.render(
        "sick_pairs",
        results,
        claims=claims(results),
        comparisons=list(zip(tests["entailment"], p_entailment, tests["relatedness"], p_relatedness, strict=True)),
        best={
            task: max(results["rows"], key=lambda row: row[task]["trial"])  # chosen on the trial pairs
            for task in TASKS
        },
        edges=[
            (
                name,
                task,
                [PARAMETER_NAMES.get(key, key) for key, grid in system.grids.items() if is_edge(grid, setting[key])],
            )
            for name, system in systems(quick=results["quick"]).items()
            for row in results["rows"]
            if row["system"] == name
            for task in TASKS
            for setting in [row[task]["setting"]]
            if any(is_edge(grid, setting[key]) for key, grid in system.grids.items())
        ],
        describe_setting=describe_setting,
        between=lambda ends, digits: f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}",
    )


def is_edge(grid: Sequence[Any], value: Any) -> bool:
    """Return whether a value is at an edge of a grid of at least three values."""
    return len(grid) > 2 and value in (grid[0], grid[-1])


def describe_setting(at: Setting) -> str:
    """Format a setting for the table.

    >>> describe_setting({"lam": 0.4, "leaves": True, "C": 3.0})
    'λ 0.4, leaves, C 3'
    """
    return ", ".join(
        ("leaves" if value else "no leaves") if name == "leaves" else f"{PARAMETER_NAMES.get(name, name)} {value:g}"
        for name, value in at.items()
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return our own questions about marks and about kernels on pairs."""
    by_task = {task: {(test["a"], test["b"]): test for test in results["tests"][task]} for task in TASKS}

    def greater(says: str, pairs: Sequence[tuple[str, str]]) -> Claim:
        ours = "; ".join(
            f"{a} against {b}: {writing.difference(by_task['entailment'][a, b], 1)} points of accuracy, "
            f"{writing.difference(by_task['relatedness'][a, b], 3)} of correlation"
            for a, b in pairs
        )
        tests = [by_task[task][pair] for pair in pairs for task in TASKS]
        return Claim(MARK_CLAIMS, says, "not tested on SICK", ours, "greater", tests, own=True)

    made = [
        greater("marks on shared words improve kernels on pairs of trees", MARKS),
        greater("marked trees are better than overlap features", [("PT", OVERLAP)]),
        greater("overlap features with marked trees are better than overlap features", [("overlap + PT", OVERLAP)]),
        greater("the crossed kernel is better than the sum over both sides", [("crossed PT", "PT")]),
    ]
    words = [("SPTK", "PT"), ("crossed SPTK", "crossed PT")]
    if by_task["entailment"].keys() >= {*words}:  # results stored before these systems existed have none
        made.append(greater("on pairs with marks, smoothed PT is better than PT", words))
    return made


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw both scores of each system with their intervals. Requires matplotlib."""
    names = [row["system"] for row in results["rows"]][::-1]
    with writing.saved_figure(path, 2, figsize=(9.5, 4.2), sharey=True) as (_, panels):
        for axes, task, label in zip(
            panels, TASKS, ("entailment: accuracy, %", "relatedness: Pearson's r"), strict=True
        ):
            for height, row in enumerate(results["rows"][::-1]):
                (low, high), value = row[task]["interval"], row[task]["test"]
                axes.plot([low, high], [height, height], color="C0")
                axes.plot([value], [height], "o", color="C1" if "no marks" in row["system"] else "C0")
            axes.set(xlabel=label)
            axes.set_yticks(range(len(names)), names, fontsize=8)
            axes.grid(alpha=0.3, axis="x")
