"""Question classification with similar words: smoothed PT on dependency trees (Croce, Moschitti & Basili 2011).

The questions, their folds, the word vectors, the classifiers and the two tests are those of `experiments.questions`. The
dependency trees come from the same parse trees, by the head rules of Collins (1999). In the form LCT, words are inner nodes,
so all nodes are compared by similarity; in the form GRCT, words are leaves. The module also measures the time of a kernel matrix
by the number of similar words.
"""

from __future__ import annotations

import tempfile
import time
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments import Log, writing
from experiments.data import questions
from experiments.evaluation import compare, compare_mcnemar, mean_score
from experiments.pair_kernels import compile_program, time_pairs
from experiments.questions import (
    PUBLISHED_CLAIMS,
    Protocol,
    QuestionData,
    Setting,
    System,
    Term,
    describe_setting,
    letters,
    with_holm,
)
from experiments.writing import Claim
from treelet.cuts import dependency_trees
from treelet.cuts.tree_index import TreeIndex, category
from treelet.kernels import PartialTree, Smoothed
from treelet.matrices import gram
from treelet.structures import Dependencies, Tree, Treebank

PT, PT_GRCT, PT_LCT = "PT, constituency trees", "PT, GRCT", "PT, LCT"
SPTK_GRCT, SPTK_LCT = "smoothed PT, GRCT", "smoothed PT, LCT"
COMPARISONS = (
    (SPTK_LCT, PT_LCT),
    (SPTK_GRCT, PT_GRCT),
    (SPTK_LCT, PT),
    (SPTK_LCT, SPTK_GRCT),
    (PT_LCT, PT_GRCT),
    (PT_LCT, PT),
)
THRESHOLDS = (0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)  # for the time of a matrix
PLAIN = (0.4, 0.2)  # thresholds at which the plain program is measured, too
TIMED = 3000  # questions

# --- Dependency trees -----------------------------------------------------------------------------------------------


def dependency_parse(tree: Tree) -> Dependencies:
    """Convert a parse tree to dependencies, by the head rules of Collins (1999).

    The relation of a word is the label of the largest phrase that it heads, and the label above that phrase.

    >>> print(dependency_parse(Tree.parse("(SBARQ (WHNP (WP Who)) (SQ (VBD won) (NP (DT the) (NN game))))")).relations)
    ('WHNP<SBARQ', 'root', 'DT<NP', 'NP<SQ')
    """
    index = TreeIndex(tree)
    words = [node for node in range(len(index.nodes)) if not index.children(node)]
    heads, relations = [0] * len(words), ["root"] * len(words)
    for node in range(len(index.nodes)):
        children = index.children(node)
        for child in children:
            if child != index.head_child(node):
                heads[index.head(child)] = index.head(node) + 1
                relations[index.head(child)] = f"{category(index.label(child))}<{category(index.label(node))}"
    tags = [index.label(index.parent[node]) for node in words]
    return Dependencies.from_heads([index.label(node) for node in words], tags, heads, relations)


def dependency_forms(bank: Treebank, form: str) -> Treebank:
    """Convert parse trees to dependency trees, with words such as ``LEX##dog::n``."""
    parses = [dependency_parse(tree) if tree else None for tree in bank]
    return dependency_trees(parses, form, lowercase=True, letters=True, prefixes=True)


class DependencyData(QuestionData):
    """The questions as dependency trees, with words in lower case."""

    def _represent(self, part: str, kind: tuple[Any, ...]) -> Any:
        return self.trees[part] if kind[0] == "tree" else dependency_forms(self.trees[part], kind[0])

    def word_forms(self) -> list[str]:
        return [word.lower() for word in super().word_forms()]

    @cached_property
    def sizes(self) -> dict[str, int]:
        return self.word_vectors[1] | {"known": len(self.word_vectors[0]), "forms": len(set(self.word_forms()))}


# --- Systems and their settings -------------------------------------------------------------------------------------


def systems(data: DependencyData) -> dict[str, System]:
    """Return the systems in the order of the table. In a quick run, each has one setting."""

    def pt(form: str) -> Any:
        def terms(at: Setting) -> list[Term]:
            return [(1.0, (form,), PartialTree(at["lam"], at["mu"], leaves=at["leaves"]).normalized())]

        return terms

    def smoothed(form: str, nodes: str) -> Any:
        def terms(at: Setting) -> list[Term]:
            similar = data.similar_words(at["threshold"], at["exponent"])
            kernel = Smoothed(similar, at["lam"], at["mu"], at["leaves"], at["threshold"], nodes)
            return [(1.0, (form,), kernel.normalized())]

        return terms

    C = {"C": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)}
    tree = {
        "leaves": (False, True),
        "lam": (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
        "mu": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
    }
    similarity = {"threshold": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), "exponent": (1, 2, 3, 4, 6, 8)}
    start = {"leaves": True, "lam": 0.5, "mu": 0.3, "C": 10.0}
    near = {"threshold": 0.4, "exponent": 2, "C": 10.0}
    every = {
        PT: System({**tree, **C}, start, pt("tree")),
        PT_GRCT: System({**tree, **C}, start, pt("grct")),
        PT_LCT: System({**tree, **C}, start, pt("lct")),
        SPTK_GRCT: System({**similarity, **C}, near, smoothed("grct", "leaves"), PT_GRCT),
        SPTK_LCT: System({**similarity, **C}, near, smoothed("lct", "all"), PT_LCT),
    }
    if data.quick:
        return {
            name: system._replace(grids={key: (system.start[key],) for key in system.grids})
            for name, system in every.items()
        }
    return every


# --- Protocol -------------------------------------------------------------------------------------------------------


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, log: Log = lambda text: None) -> dict[str, Any]:
    """Run all systems, with one thread.

    With `quick`, a tenth of the training questions, one setting per kernel, and word vectors from questions only.
    """
    data = DependencyData(quick=quick, seed=seed)
    protocol = Protocol(data, log)
    rows = [protocol.evaluate(name, system) for name, system in systems(data).items()]
    folds, test, correct = protocol.items("fold "), protocol.items("test"), protocol.correct["test"]
    for row in rows:
        row["folds"] = mean_score(folds, row["system"])
    chosen = protocol.chosen[SPTK_LCT][0]["setting"]
    return {
        "rows": rows,
        "train": len(data.kept),
        "test": len(data.coarse["test"]),
        "tests": {
            "folds": [compare(folds, a, b) for a, b in COMPARISONS],
            "test": [compare_mcnemar(a, correct[a], b, correct[b]) for a, b in COMPARISONS],
            "bootstrap": [compare(test, a, b) for a, b in COMPARISONS],
        },
        "vectors": data.sizes | {"share": data.similar_words(chosen["threshold"], chosen["exponent"]).share},
        "example": {part: str(form[0]) for part, form in examples(data).items()},
        "speed": measure(data, log),
        "items": protocol.items(),
    }


def examples(data: DependencyData) -> dict[str, Treebank]:
    short = min(range(len(data.trees["train"])), key=lambda k: abs(len(letters(data.trees["train"][[k]])[0]) - 14))
    some = data.trees["train"][[short]]
    return {"tree": some, "grct": dependency_forms(some, "grct"), "lct": dependency_forms(some, "lct")}


def measure(data: DependencyData, log: Log) -> dict[str, Any]:
    """Measure the CPU time of kernel matrices of questions as LCT, by threshold, on one thread."""
    train, _ = questions("train")
    test, _ = questions("test")
    every = [tree for bank in (train, test) for tree in bank]
    n = min(TIMED, len(every)) if not data.quick else 200
    order = np.random.default_rng(data.seed).permutation(len(every))[:n]
    bank = dependency_forms(Treebank([every[k] for k in np.sort(order)]), "lct")
    vectors = data.word_vectors[0]

    def seconds(kernel: Any) -> tuple[float, Any]:
        times = []
        for _ in range(5):
            fresh = type(kernel)(**kernel.get_params(deep=False))  # so that similar words are found anew
            begin = time.process_time()
            K = gram(fresh, bank, n_jobs=1)
            times.append(time.process_time() - begin)
        return float(np.median(times)), K

    plain, _ = seconds(PartialTree())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = compile_program(Path(folder))
        for threshold in THRESHOLDS:
            kernel = Smoothed(vectors, threshold=threshold)
            time_taken, K = seconds(kernel)
            _, near, _ = kernel._similar_labels(bank.columns.store)
            row = {"threshold": threshold, "pairs": len(near) // 2, "cpu_seconds": time_taken}
            if threshold in PLAIN:
                values, worked_on, times = time_pairs(program, kernel, list(bank), "naive", repeats=1)
                row |= {"plain_cpu_seconds": float(times[0]), "worked_on": worked_on}
                row["largest_difference"] = float(np.max(np.abs(K - values) / values))
            rows.append(row)
            log(f"time: {row}, PT {plain:.3f} s")
        _, _, pt_times = time_pairs(program, PartialTree(), list(bank), "fast", repeats=1)
    return {
        "trees": len(bank),
        "nodes": float(np.mean([sum(1 for _ in tree.nodes()) for tree in bank])),
        "labels": len(bank.columns.store.labels),
        "pt_cpu_seconds": plain,
        "pt_plain_cpu_seconds": float(pt_times[0]),
        "rows": rows,
    }


# --- Page -----------------------------------------------------------------------------------------------------------

PUBLISHED = [("PT, constituency trees", "91.0"), ("smoothed PT, dependency trees of another parser", "94.0–95.0")]


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    return writing.render(
        "questions_words",
        results,
        claims=claims(results),
        comparisons=with_holm(results["tests"]),
        describe=lambda row: describe_setting(
            "smoothed PT" if row["system"].startswith("smoothed") else "PT", row["chosen"][0]["setting"]
        ),
        edges=[
            (row["system"], part, choice["at_edge"])
            for row in results["rows"]
            for choice, part in zip(row["chosen"], ("all", "first half", "second half"), strict=True)
            if choice["at_edge"]
        ],
        published=PUBLISHED,
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the claim of the paper, and the same comparison with words as leaves."""
    folds = {(test["a"], test["b"]): test for test in results["tests"]["folds"]}
    bootstrap = {(test["a"], test["b"]): test for test in results["tests"]["bootstrap"]}

    def greater(paper: str, says: str, printed: str, a: str, b: str, **more: Any) -> Claim:
        ten, test = folds[a, b], bootstrap[a, b]
        ours = (
            f"{writing.difference(ten)} over ten folds of {results['train']:,} questions, "
            f"{writing.difference(test, 1)} on {results['test']}"
        )
        return Claim(paper, says, printed, ours, "greater", [ten, test], **more)

    return [
        greater(
            PUBLISHED_CLAIMS, "smoothed PT is better than PT", "94.0–95.0 against 91.0", SPTK_LCT, PT_LCT, effect=3.0,
            note="dependencies from constituency trees and small corpora here; a dependency parser and large corpora in the paper",
        ),
        greater(
            "Similar words, after Croce, Moschitti & Basili (2011)", "on GRCT, smoothed PT is better than PT",
            "not tested on these questions", SPTK_GRCT, PT_GRCT, own=True,
        ),
    ]  # fmt: skip


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw the time of a matrix by the number of similar pairs of words. Requires matplotlib."""
    speed = results["speed"]
    with writing.saved_figure(path, figsize=(6.5, 4.2)) as (_, axes):
        pairs, times = ([row[key] for row in speed["rows"]] for key in ("pairs", "cpu_seconds"))
        axes.loglog(pairs, times, "o-", label="smoothed PT")
        axes.axhline(speed["pt_cpu_seconds"], color="C1", linestyle="--", label="PT")
        plain = [row for row in speed["rows"] if "plain_cpu_seconds" in row]
        axes.loglog([row["pairs"] for row in plain], [row["plain_cpu_seconds"] for row in plain], "s", color="C2", label="plain program")  # fmt: skip
        axes.set(
            xlabel="pairs of similar words", ylabel="CPU seconds", title=f"Matrix of {speed['trees']:,} questions, LCT"
        )
        axes.grid(alpha=0.3)
        axes.legend()
