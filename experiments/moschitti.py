"""Moschitti (2006): which role an argument has, by flat features, by tree kernels and by both; the paper's figures beside ours.

PropBank's arguments of verbs on gold trees: the Wall Street Journal sample, and MASC as a second corpus. Parts are made of
whole documents. All settings are chosen by cross-validation on training documents of the first corpus.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments import moschitti_time, report
from experiments.running import Say
from treelet.datasets.loaders import wsj_sample
from treelet.datasets.roles import propbank
from treelet.gram import gram
from treelet.kernels import Kernel, Linear, On, PartialTree, SubsetTree, Subtree
from treelet.learn import KernelSVC
from treelet.learn.selection import Trial, _winners
from treelet.metrics import mcnemar
from treelet.structures import Table, Tree, Treebank
from treelet.structures.spans import Span, TreeIndex
from treelet.tasks.roles import ARGUMENT, PREDICATE, argument_tree, indicators, role_features

Rows = NDArray[np.intp]
PAPER = {"linear": "87.6", "ST": "84.6", "SST": "87.7", "PT": "86.7", "linear + SST": "2 to 3 above linear"}
"""Accuracies on PropBank with gold trees, as printed, from 122,774 training arguments."""
PAPER_BEST = {"ST": "lam 1", "SST": "lam 0.4", "PT": "lam 0.8, mu 0.4"}
FORMS = {
    "pruned": "the paths to predicate and argument and all below the argument, both marked",
    "unmarked": "the same without marks",
    "whole": "all below the lowest node above both, both marked",
    "sisters": "pruned, and the labels beside the paths",
    "shallow": "sisters, with only two levels below the argument",
}
"""The trees to choose from."""
PAIRS = ("path", "phrase", "head", "content", "position", "first")
"""Features that are joined with the predicate's lemma in the stronger flat model."""
COMPARED = [
    ("linear + SST", "linear"),
    ("linear + PT", "linear"),
    ("linear + linear × SST", "linear"),
    ("SST", "ST"),
    ("SST", "PT"),
    ("linear", "SST"),
    ("linear with pairs", "linear"),
    ("linear with pairs + SST", "linear with pairs"),
    ("linear with pairs", "linear + linear × SST"),
]
CURVES = ("linear", "ST", "SST", "PT", "linear + SST")
MARKERS = "osD^vP*"


class Setting(NamedTuple):
    """How much is done."""

    train: int | None  # at most so many training arguments of the first corpus; None for all
    train_masc: int | None
    test: int | None
    choose: int  # so many training arguments to choose on
    folds: int
    sizes: Sequence[int]  # of the trees that are timed, in nodes
    timed: int  # trees a size
    pairs: int
    fractions: Sequence[float]  # of the training arguments, for the learning curve; the whole comes besides


QUICK = Setting(1500, 600, 800, 800, 2, (10, 20, 40), 60, 20, (0.25, 0.5))
USUAL = Setting(None, 8000, None, 5000, 3, range(10, 51, 5), 500, 200, (0.05, 0.1, 0.25, 0.5))
FULL = USUAL._replace(train_masc=None, choose=8000, fractions=(0.05, 0.1, 0.25, 0.5, 0.75))


# --- arguments --------------------------------------------------------------------------------------------------


class Example(NamedTuple):
    """An argument of a verb."""

    sentence: TreeIndex
    predicate: int
    span: Span
    lemma: str
    role: str
    doc: str


def examples(corpus: str) -> list[Example]:
    """The arguments of a corpus that are constituents; all ARGM are one role; no WSJ documents in MASC."""
    found = []
    index: TreeIndex | None = None
    for instance in propbank(corpus, continued=False):
        doc, tree, roleset = instance.doc or "", instance.tree, instance.roleset or ""
        if tree is None or (corpus == "masc" and doc.startswith("wsj_")):
            continue
        if index is None or index.tree is not tree:
            index = TreeIndex(tree)
        for argument in instance.arguments:
            node = index.find(argument.span)
            if node is not None and not index.start[node] <= instance.predicate < index.end[node]:
                role, lemma = argument.label.split("-")[0], roleset.rpartition(".")[0]
                found.append(Example(index, instance.predicate, argument.span, lemma, role, doc))
    return found


def split(
    found: Sequence[Example], *, train: int | None = None, test: int | None = None, seed: int = 0
) -> tuple[Rows, Rows]:
    """Training and test arguments: a quarter of the arguments, in whole documents drawn at random, is for the test.

    A document that would make the test part too large is not drawn. Training sentences whose words are those of a test
    sentence are left out. `train` and `test` are limits; what is left of the training part is drawn at random.
    """
    docs = np.array([e.doc for e in found])
    names, counts = np.unique(docs, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(names))
    left = min(len(found) // 4, test or len(found))
    drawn, rest = [], []
    for k in order:
        if counts[k] <= left:
            drawn.append(names[k])
            left -= counts[k]
        else:
            rest.append(names[k])
    tested = _documents(docs, drawn, len(found))
    words = {tuple(found[k].sentence.words) for k in tested}
    learnt = [k for k in _documents(docs, rest, len(found)) if tuple(found[k].sentence.words) not in words]
    if train is not None and train < len(learnt):  # from all documents: one of MASC's has a quarter of the arguments
        learnt = sorted(np.random.default_rng(seed).choice(learnt, train, replace=False).tolist())
    return np.array(learnt, np.intp), tested


def _documents(docs: NDArray[np.str_], names: Iterable[str], wanted: int) -> Rows:
    """So many arguments of the first documents, the last one perhaps cut."""
    rows: list[int] = []
    for name in names:
        if len(rows) >= wanted:
            break
        rows += np.flatnonzero(docs == name).tolist()
    return np.array(rows[:wanted], np.intp)


def folds_of(docs: Sequence[str], folds: int) -> Rows:
    """A fold for each argument, that of its document; documents go to the emptiest fold, the largest first."""
    names, which, counts = np.unique(np.asarray(docs), return_inverse=True, return_counts=True)
    sizes = np.zeros(folds, int)
    fold = np.zeros(len(names), np.intp)
    for name in np.argsort(-counts, kind="stable"):
        fold[name] = sizes.argmin()
        sizes[fold[name]] += counts[name]
    return np.asarray(fold[which], np.intp)


def tree_of(example: Example, form: str) -> Tree:
    """The tree of an argument in one of the `FORMS`."""
    index, predicate, span = example.sentence, example.predicate, example.span
    if form in ("pruned", "unmarked", "whole"):
        return argument_tree(index, predicate, span, pruned=form != "whole", mark=form != "unmarked")
    word, argument = index.word(predicate), index.node_of(span)
    up, down = index.path(word, argument)
    keep = {*up, *down}
    for node in {*up, *down} - {word, argument}:
        keep.update(index.children(node))
    level = [argument]
    for _ in range(2 if form == "shallow" else len(index)):
        level = [child for node in level for child in index.children(node)]
        keep.update(level)
        if not level:
            break
    tag = index.parent[word]
    marks = {tag: index.label(tag) + PREDICATE, argument: index.label(argument) + ARGUMENT}
    return index.rebuilt(up[-1], keep=keep, rename=marks)


def features_of(example: Example, pairs: bool) -> dict[str, float]:
    """The standard features of an argument; with `pairs` also what is often joined by hand."""
    found = role_features(example.sentence, example.predicate, example.span, lemma=example.lemma)
    if pairs:
        joined = {f"lemma, {name}": f"{example.lemma} {found[name]}" for name in PAIRS if name in found}
        turned = f"{found['voice']} {found['position']}"
        found |= joined | {"voice, position": turned, "lemma, voice, position": f"{example.lemma} {turned}"}
        found["voice, path"] = f"{found['voice']} {found['path']}"
    return indicators(found)


def as_table(found: Sequence[Example], forms: Iterable[str] = FORMS) -> Table:
    """Arguments as flat features, without and with pairs, and as trees in several forms."""
    columns: dict[str, Any] = {form: Treebank([tree_of(e, form) for e in found]) for form in forms}
    columns["features"] = [features_of(e, False) for e in found]
    columns["pairs"] = [features_of(e, True) for e in found]
    return Table(columns)


# --- choosing ---------------------------------------------------------------------------------------------------

FLAT: dict[str, Kernel] = {
    "linear": On("features", Linear().normalized()),
    "linear with pairs": On("pairs", Linear().normalized()),
}
Parameters = tuple[float, ...]
PARAMETERS: dict[str, list[Parameters]] = {  # what the paper found best stands first
    "ST": [(1.0,), (0.6,), (0.3,)],
    "SST": [(0.4,), (0.2,), (0.6,), (0.8,)],
    "PT": [(0.8, 0.4), (0.4, 0.4), (0.6, 0.6), (0.6, 0.8), (1.0, 0.4)],
}
MIXED = {
    "linear + SST": ("linear", "SST"),
    "linear + PT": ("linear", "PT"),
    "linear + linear × SST": ("linear", "SST"),
    "linear with pairs + SST": ("linear with pairs", "SST"),
}


def tree_kernel(kind: str, form: str, parameters: Parameters) -> Kernel:
    """A normalised tree kernel on one form of trees."""
    made = {"ST": Subtree, "SST": SubsetTree, "PT": PartialTree}[kind](*parameters)
    return On(form, made.normalized())


def mixture(name: str, kind: str, form: str, parameters: Parameters, share: float) -> Kernel:
    """Flat features and trees together; `share` is the weight of the features."""
    flat, trees = FLAT[MIXED[name][0]], tree_kernel(kind, form, parameters)
    return share * flat + round(1 - share, 2) * (flat * trees if "×" in name else trees)


class Chooser:
    """Cross-validation by documents; remembers what was tried."""

    def __init__(self, X: Table, y: Any, docs: Sequence[str], *, folds: int, n_jobs: int, say: Say) -> None:
        self.X, self.n_jobs, self.say = X, n_jobs, say
        self.classes, self.codes = np.unique(y, return_inverse=True)
        self.fold = folds_of(docs, folds)
        self.trials: list[Trial] = []

    def one(self, kernel: Kernel, C: Sequence[float]) -> Trial:
        """The best of several C for one kernel."""
        K = gram(kernel, self.X, n_jobs=self.n_jobs)
        found = []
        for value in C:
            machine = KernelSVC(C=value, n_jobs=self.n_jobs)
            shares, right = [], 0
            for part in range(self.fold.max() + 1):
                train, test = np.flatnonzero(self.fold != part), np.flatnonzero(self.fold == part)
                known, codes = np.unique(self.codes[train], return_inverse=True)
                solution = machine._solve(K[np.ix_(train, train)], codes, len(known), np.ones(len(train)))
                guessed = known[_winners(machine, solution, K[np.ix_(test, train)], len(known))]
                hits = int(np.sum(guessed == self.codes[test]))
                shares.append(hits / len(test))
                right += hits
            found.append(Trial(kernel, float(value), right, len(self.codes), tuple(shares)))
            self.say(f"    {kernel!r}, C={value:g}: {100 * found[-1].accuracy:.2f}")
        self.trials += found
        return max(found, key=lambda trial: trial.correct)

    def best(self, trials: Iterable[tuple[Any, Trial]]) -> tuple[Any, Trial]:
        """The best of several, the first of equals."""
        return max(trials, key=lambda pair: pair[1].correct)

    def flat(self, name: str, quick: bool) -> Trial:
        """C for flat features."""
        return self.one(FLAT[name], (10.0,) if quick else (3.0, 10.0, 30.0))

    def trees(self, kind: str, quick: bool) -> tuple[Parameters, Trial]:
        """A form of tree, then the kernel's parameters, then C."""
        first, *others = PARAMETERS[kind]
        forms = ["pruned"] if quick else list(FORMS)
        (form, parameters), trial = self.best(
            ((form, first), self.one(tree_kernel(kind, form, first), (3.0,))) for form in forms
        )
        if quick:
            return parameters, trial
        more = [((form, p), self.one(tree_kernel(kind, form, p), (3.0,))) for p in others]
        (form, parameters), trial = self.best([((form, first), trial), *more])
        last = self.one(tree_kernel(kind, form, parameters), (10.0, 30.0))
        return parameters, self.best([(0, trial), (1, last)])[1]

    def mixed(self, name: str, parameters: dict[str, Parameters], quick: bool) -> Trial:
        """A form of tree, then the weight of the features, then C; the tree kernel's parameters are those of before."""
        kind = MIXED[name][1]
        forms = ["pruned"] if quick else ["pruned", "sisters", "shallow"]

        def made(form: str, share: float) -> Kernel:
            return mixture(name, kind, form, parameters[kind], share)

        tried: Iterator[tuple[Any, Trial]] = (((form, 0.7), self.one(made(form, 0.7), (10.0,))) for form in forms)
        (form, share), trial = self.best(tried)
        if quick:
            return trial
        more = [((form, s), self.one(made(form, s), (10.0,))) for s in (0.5, 0.85)]
        (form, share), trial = self.best([((form, share), trial), *more])
        return self.best([(0, trial), (1, self.one(made(form, share), (3.0, 30.0)))])[1]


def choose(X: Table, y: Any, docs: Sequence[str], *, setting: Setting, n_jobs: int, say: Say) -> tuple[Any, list[Any]]:
    """A kernel and C for each row, and all that was tried."""
    quick = setting is QUICK
    chooser = Chooser(X, y, docs, folds=setting.folds, n_jobs=n_jobs, say=say)
    chosen: dict[str, Trial] = {name: chooser.flat(name, quick) for name in FLAT}
    parameters = {}
    for kind in PARAMETERS:
        parameters[kind], chosen[kind] = chooser.trees(kind, quick)
    for name in MIXED:
        chosen[name] = chooser.mixed(name, parameters, quick)
    tried = [{"kernel": repr(t.kernel), "C": t.C, "accuracy": 100 * t.accuracy} for t in chooser.trials]
    return chosen, tried


# --- the experiment ---------------------------------------------------------------------------------------------


def run(
    *,
    quick: bool = False,
    full: bool = False,
    n_jobs: int = 1,
    seed: int = 0,
    say: Say = lambda text: None,
) -> dict[str, Any]:
    """The whole experiment; what it found, ready for JSON.

    With `quick`, few arguments, one setting a kernel and few trees to time. With `full`, all of MASC to learn from, and
    more arguments to choose on.
    """
    setting = QUICK if quick else FULL if full else USUAL
    corpora: dict[str, Any] = {}
    both = {corpus: examples(corpus) for corpus in ("wsj", "masc")}
    trees = [tree for tree in wsj_sample()[0] if tree is not None]
    trees += {id(e.sentence): e.sentence.tree for e in both["masc"]}.values()
    say("time against size")
    times = moschitti_time.measure(
        trees, sizes=setting.sizes, number=setting.timed, pairs=setting.pairs, seed=seed, say=say
    )
    chosen: dict[str, Trial] = {}
    tried: list[Any] = []
    curve: dict[str, Any] = {}
    for corpus, found in both.items():
        limit = setting.train if corpus == "wsj" else setting.train_masc
        train, test = split(found, train=limit, test=setting.test, seed=seed)
        roles = np.array([e.role for e in found])
        docs = [e.doc for e in found]
        forms = ["pruned"] if quick else list(FORMS)
        X, X_test = (as_table([found[k] for k in part], forms) for part in (train, test))
        y, y_test = roles[train], roles[test]
        say(f"{corpus}: {len(train)} training and {len(test)} test arguments")
        if corpus == "wsj":
            part = _documents(np.array(docs)[train], dict.fromkeys(docs[k] for k in train), setting.choose)
            own = [docs[k] for k in train[part]]
            chosen, tried = choose(X[part], y[part], own, setting=setting, n_jobs=n_jobs, say=say)
        corpora[corpus] = measured(chosen, X, y, X_test, y_test, n_jobs=n_jobs, say=say) | {
            "documents": [len({docs[k] for k in part}) for part in (train, test)],
        }
        if corpus == "wsj":
            corpora[corpus]["choosing"] = len(own)
            curve = learning_curve(chosen, X, y, X_test, y_test, setting.fractions, n_jobs=n_jobs, say=say)
            for row in corpora[corpus]["rows"]:
                if row["kernel"] in curve:
                    curve[row["kernel"]].append(row["accuracy"])
            curve["sizes"].append(len(y))
    return {
        "corpora": corpora,
        "tried": tried,
        "learning_curve": curve,
        "time": times,
        "paper": PAPER,
        "paper_best": PAPER_BEST,
    }


def measured(
    chosen: dict[str, Trial], X: Table, y: Any, X_test: Table, y_test: Any, *, n_jobs: int, say: Say
) -> dict[str, Any]:
    """Each row's machine, learnt from the training arguments, and its test accuracy; tests of significance."""
    rows = []
    right: dict[str, Any] = {}
    for name, trial in chosen.items():
        begin = time.perf_counter()
        model = KernelSVC(kernel=trial.kernel, C=trial.C, n_jobs=n_jobs, cache_size=1000).fit(X, y)
        right[name] = model.predict(X_test) == y_test
        rows.append(
            {
                "kernel": name,
                "accuracy": 100 * float(right[name].mean()),
                "cross_validation": 100 * trial.accuracy,
                "chosen": repr(trial.kernel),
                "C": trial.C,
                "support": len(model.support_),
                "seconds": time.perf_counter() - begin,
            }
        )
        say(f"{name}: test {rows[-1]['accuracy']:.2f}, {rows[-1]['seconds']:.0f} s")
    tests = []
    for a, b in COMPARED:
        test = mcnemar(right[a], right[b])
        tests.append(
            {
                "a": a,
                "b": b,
                "difference": 100 * float(right[a].mean() - right[b].mean()),
                "only_a": test.only_a,
                "only_b": test.only_b,
                "p_value": test.p_value,
            }
        )
    names, counts = np.unique(y_test, return_counts=True)
    return {
        "train": len(y),
        "test": len(y_test),
        "majority": 100 * float(np.mean(y_test == max(set(y.tolist()), key=y.tolist().count))),
        "roles": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        "rows": rows,
        "significance": tests,
    }


def learning_curve(
    chosen: dict[str, Trial],
    X: Table,
    y: Any,
    X_test: Table,
    y_test: Any,
    fractions: Sequence[float],
    *,
    n_jobs: int,
    say: Say,
) -> dict[str, Any]:
    """Test accuracy with growing parts of the training arguments, which lie by documents, the settings of the whole."""
    sizes = [int(len(y) * part) for part in fractions]
    curve: dict[str, Any] = {"sizes": sizes}
    for name in CURVES:
        trial, accuracies = chosen[name], []
        for size in sizes:
            model = KernelSVC(kernel=trial.kernel, C=trial.C, n_jobs=n_jobs, cache_size=1000).fit(X[:size], y[:size])
            accuracies.append(100 * float(np.mean(model.predict(X_test) == y_test)))
        curve[name] = accuracies
        say(f"learning curve, {name}: {', '.join(f'{value:.1f}' for value in accuracies)}")
    return curve


# --- the page ---------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    """The results as a Markdown page."""
    first = results["corpora"]["wsj"]
    forms = "; ".join(f"*{name}*, {text}" for name, text in FORMS.items())
    quick = " **Quick run: few arguments, one setting a kernel.**" if results["quick"] else ""
    parts = [
        "# Roles of arguments with flat features and tree kernels",
        report.made_by(results),
        "Moschitti (2006) asks which role an argument of a verb has (ARG0 to ARG5, and ARGM as one), given gold trees. "
        "Support vector machines, one role against the rest. The paper's figures are from the whole of PropBank, 122,774 "
        f"training arguments; here it is the Wall Street Journal sample of the Penn Treebank, {first['train']:,}, with the "
        "labels of PropBank's later unified release. Training and test parts have no document and no sentence in "
        "common. Arguments that continue others or refer to them, or are no constituents, are left out." + quick,
        "*linear* has the standard flat features, each for itself, *linear with pairs* also what is often joined by hand "
        f"(the verb's lemma with each of: {', '.join(PAIRS)}; voice with position and path). All kernels are normalised. "
        f"Forms of trees, of which each row has its own: {forms}.",
        f"Forms, kernel parameters, weights and C were chosen one after the other, by cross-validation over whole documents "
        f"on {first['choosing']:,} of the training arguments; a run uses no test argument to choose by. MASC, documents of "
        "the Wall Street Journal left out, is a second test of the same settings: nothing was chosen on it.",
    ]
    for corpus, title in (("wsj", "Wall Street Journal sample"), ("masc", "MASC")):
        parts += [f"## {title}", *_corpus(results["corpora"][corpus], results, corpus == "wsj")]
    curve = results["learning_curve"]
    names = [name for name in curve if name != "sizes"]
    parts += [
        "## Learning curve",
        "Test accuracy on the Wall Street Journal sample against training arguments, settings as above (the paper's figure 5).",
        report.table(
            ("arguments", *names),
            [(f"{size:,}", *(f"{curve[name][k]:.1f}" for name in names)) for k, size in enumerate(curve["sizes"])],
            right=range(1 + len(names)),
        ),
        "![learning curve and time](moschitti.png)",
        *_time(results["time"]),
    ]
    return "\n\n".join(parts) + "\n"


def _corpus(found: dict[str, Any], results: dict[str, Any], paper: bool) -> list[str]:
    error = 100 * np.sqrt(0.85 * 0.15 / found["test"])
    rows = [
        (
            r["kernel"],
            f"{r['accuracy']:.1f}",
            *((results["paper"].get(r["kernel"], ""), f"{r['cross_validation']:.2f}") if paper else ()),
            f"`{r['chosen']}`, C={r['C']:g}",
            results["paper_best"].get(r["kernel"], ""),
        )[: None if paper else 3]
        for r in found["rows"]
    ]
    header = ("kernel", "test accuracy", "paper", "cross-validation", "chosen", "paper's best") if paper else ()
    tests = [
        (
            t["a"],
            t["b"],
            f"{t['difference']:+.1f}",
            t["only_a"],
            t["only_b"],
            f"{t['p_value']:.3f}" if t["p_value"] >= 0.001 else f"{t['p_value']:.0e}",
        )
        for t in found["significance"]
    ]
    return [
        f"{found['train']:,} training and {found['test']:,} test arguments, of {found['documents'][0]} and "
        f"{found['documents'][1]} documents. {found['majority']:.1f} % of the test arguments have the most frequent "
        f"role. A test accuracy has a standard error of about {error:.1f} points.",
        report.table(header or ("kernel", "test accuracy", "settings"), rows, right=(1, 2, 3) if paper else (1,)),
        "Which differences are more than chance? McNemar's test on the same test arguments, two-sided; it takes arguments as "
        "independent of each other, which those of one sentence are not quite.",
        report.table(
            ("first", "second", "difference", "only first right", "only second right", "p"), tests, right=(2, 3, 4, 5)
        ),
    ]


def _time(times: dict[str, Any]) -> list[str]:
    kinds = list(moschitti_time.KINDS)
    columns = [f"{kind} {how}" for how in ("matrix", "single", "naive") for kind in kinds]
    alike = ["one production", "one label"]
    slopes = times["slopes"]
    return [
        "## Time against size",
        f"CPU time in microseconds a pair of trees, on one core, {times['trees']} trees of exactly n nodes, words counted, "
        "for each n (the paper's figure 4): constituents with all below them, drawn at random from the sentences of both corpora. "
        f"*matrix*: all {times['pairs']:,} pairs at once, where work on equal subtrees is shared, best of five. *single*: our "
        f"kernels called for one pair after another, {times['naive_pairs']} random pairs; what a call costs whatever the tree is "
        "in it. *naive*: the recursion over all pairs of nodes, in plain Python, on the same pairs; only its growth can be compared, "
        "and its values were seen to equal ours. The last two columns say how many pairs of nodes have one "
        "production or one label in two trees, on average.",
        report.table(
            ("nodes", *columns, *alike),
            [
                (
                    p["nodes"],
                    *(f"{p[name]:.{0 if 'naive' in name or 'single' in name else 4}f}" for name in columns),
                    *(f"{p[name]:.1f}" for name in alike),
                )
                for p in times["points"]
            ]
            + [("**slope**", *(f"**{slopes[name]:.2f}**" for name in [*columns, *alike]))],
            right=range(1 + len(columns) + len(alike)),
        ),
        "Slopes are those of the logarithms: 1 is linear, 2 quadratic.",
    ]


def picture(results: dict[str, Any], path: Path) -> None:
    """The learning curve and the times as a picture; needs matplotlib."""
    curve, times = results["learning_curve"], results["time"]
    with report.drawn(path, 2, figsize=(12, 4.6)) as (_, (left, right)):
        for name, marker in zip([n for n in curve if n != "sizes"], MARKERS, strict=False):
            left.plot(curve["sizes"], curve[name], marker=marker, markersize=5, label=name)
        left.set(xlabel="training arguments", ylabel="test accuracy, %", title="Roles, Wall Street Journal sample")
        left.grid(alpha=0.3)
        left.legend()
        sizes = [p["nodes"] for p in times["points"]]
        for kind, colour in zip(moschitti_time.KINDS, ("C0", "C1", "C2"), strict=True):
            for how, line, marker in (("naive", "--", "s"), ("single", ":", "^"), ("matrix", "-", "o")):
                name = f"{kind} {how}"
                label = f"{name}, slope {times['slopes'][name]:.2f}"
                values = [p[name] for p in times["points"]]
                right.loglog(sizes, values, line, color=colour, marker=marker, markersize=4, label=label)
        right.set(xlabel="nodes of each tree", ylabel="CPU microseconds a pair", title="Time against size")
        right.set_xticks(sizes, [str(size) for size in sizes])
        right.minorticks_off()
        right.grid(alpha=0.3)
        right.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
