"""Two corpora compared: is a planted construction found, are p-values right where nothing differs, what does it cost.

Writes docs/results/diff.md and .json. Its parts can be run one by one: ``python -m benchmarks.diff halves``; what is not run stays as it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

if "--time" not in sys.argv:
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from scipy.stats import binomtest, kstest

import treelet as tl
from benchmarks.common import staged, stored_results
from experiments import writing
from experiments.data import question_bank, wsj_sample
from treelet import Tree
from treelet.corpora.corpus_diff import _relabeled, differing_fragments
from treelet.errors import TreeletWarning
from treelet.learn.fragment_features import FragmentCounter

TRIALS = 10  # of each planting in each corpus
SHARE = 0.05  # of the sentences of one half
OWN = 0.9  # of the sentences of that half with the first fragment are planted ones
HALVES, DRAWN = 400, 1_000
SIZE = 10_000
SST = tl.SubsetTree()


@cache
def corpora() -> dict[str, tl.Treebank]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TreeletWarning)
        return {"Wall Street Journal": wsj_sample()[0], "QuestionBank": question_bank()}


# --- planted constructions ----------------------------------------------------------------------------------------


def at_first(tree: Tree, label: str, change: Callable[[Tree], Tree]) -> Tree | None:
    """The tree with its first node of that label below the root, in pre-order, changed; None where there is none."""
    stack: list[tuple[Tree, Any]] = [(tree, None)]  # a node, and the way to it: parent, place, the parent's way
    while stack:
        node, way = stack.pop()
        if way and node.label == label and not node.is_preterminal:
            new = change(node)
            while way:
                parent, at, way = way
                new = Tree(parent.label, [*parent.children[:at], new, *parent.children[at + 1 :]])
            return new
        stack.extend((child, (node, at, way)) for at, child in reversed(list(enumerate(node.children))))
    return None


def aside(node: Tree) -> Tree:
    return Tree("NP", [node, Tree.parse("(PRN (: --) (ADVP (RB so) (S (VP (TO to) (VP (VB speak))))) (: --))")])


def bracketed(node: Tree) -> Tree:
    return Tree("NP", [node, Tree.parse("(PRN (-LRB- -LRB-) (NP (NNP U.S.)) (-RRB- -RRB-))")])


def hedge(node: Tree) -> Tree:
    return Tree("VP", [Tree.parse("(ADVP (RB sort) (IN of))"), *node.children])


def cleft(tree: Tree) -> Tree:
    return Tree(
        "S",
        [
            Tree.parse("(NP (PRP It))"),
            Tree("VP", [Tree.parse("(VBZ is)"), Tree("SBAR", [Tree.parse("(IN that)"), tree])]),
        ],
    )


PLANTED: dict[str, tuple[str, str, Callable[[Tree], Tree | None]]] = {
    "aside": ("a noun phrase with an aside", "(NP NP (PRN : (ADVP RB S) :))", lambda tree: at_first(tree, "NP", aside)),
    "brackets": ("a noun phrase with another one in brackets", "(NP NP (PRN -LRB- (NP NNP) -RRB-))", lambda tree: at_first(tree, "NP", bracketed)),
    "hedge": ("a verb phrase that begins with a hedge", "(ADVP (RB sort) (IN of))", lambda tree: at_first(tree, "VP", hedge)),
    "cleft": ("the sentence below another one", "(S (NP (PRP It)) (VP (VBZ is) (SBAR (IN that) S)))", cleft),
    "relabelled": ("a verb phrase called VG", "(VG ...)", lambda tree: at_first(tree, "VP", lambda node: Tree("VG", node.children))),
}  # fmt: skip
"""The inserted constructions: description, fragment, and function that inserts them."""


def planted(*names: str) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        bank = corpora()[name]
        trees = list(bank)
        for number, (what, (says, fragment, plant)) in enumerate(PLANTED.items()):
            base = 0 if "..." in fragment else len(trees_with(Tree.parse(fragment), bank))
            found = [trial(trees, plant, 100 * number + seed) for seed in range(TRIALS)]
            rows.append(
                {
                    "corpus": name,
                    "planted": what,
                    "says": says,
                    "fragment": fragment,
                    "base": base,
                    "trees": len(trees),
                    "trials": found,
                }
            )
            first = sum(one["first"] for one in found)
            print(
                f"{name}, {what}: first in {first} of {TRIALS}, there already in {base}; {found[0]['fragment']}",
                flush=True,
            )
    return rows  # fmt: skip


def trial(trees: list[Any], plant: Callable[[Tree], Tree | None], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(trees))
    half = len(trees) // 2
    plain, other = [trees[at] for at in order[:half]], [trees[at] for at in order[half:]]
    changed: dict[int, Tree] = {}
    for at in rng.permutation(len(other)).tolist():
        if len(changed) == round(SHARE * len(other)):
            break
        if (new := plant(other[at])) is not None:
            changed[at] = new
    mixed = tl.Treebank([changed.get(at, tree) for at, tree in enumerate(other)])
    X = tl.Treebank(plain) + mixed  # what `treelet.diff` does for its list of fragments
    fragments, _ = differing_fragments(
        SST.normalized(), X, _relabeled(len(plain), len(mixed), 0, rng, paired=False), 20
    )
    new = {
        production
        for at, tree in changed.items()
        for production in set(tree.productions()) - set(other[at].productions())
    }
    ranks = [rank for rank, one in enumerate(fragments, 1) if is_planted(one, mixed, changed, new)]
    first = fragments[0]
    return {
        "seed": seed, "first": ranks[:1] == [1], "rank": ranks[0] if ranks else None, "fragment": str(first.tree), "z": first.z, "next_z": fragments[1].z,
        "counts": first.counts,
    }  # fmt: skip


def trees_with(fragment: Tree, bank: tl.Treebank) -> list[int]:
    found: list[int] = FragmentCounter(SST, tl.Treebank([fragment])).rows(bank, None).nonzero()[0].tolist()
    return found


def is_planted(one: Any, mixed: tl.Treebank, changed: dict[int, Tree], new: set[Any]) -> bool:
    """Return whether a fragment has an inserted production and occurs (nearly) only in changed sentences."""
    rows = trees_with(one.tree, mixed)
    own = sum(row in changed for row in rows)
    return one.z < 0 and not new.isdisjoint(one.tree.productions()) and own >= OWN * len(rows)


# --- halves -------------------------------------------------------------------------------------------------------


def halves() -> list[dict[str, Any]]:
    rows = []
    for name, bank in corpora().items():
        ps = []
        for seed in range(HALVES):
            some = np.random.default_rng(seed).permutation(len(bank))[:DRAWN]
            ps.append(
                tl.diff(
                    bank[some[: DRAWN // 2]], bank[some[DRAWN // 2 :]], n=0, permutations=999, random_state=seed
                ).p_value
            )
        test = kstest(ps, "uniform")
        low, high = binomtest(sum(p <= 0.05 for p in ps), len(ps)).proportion_ci()
        rows.append(
            {
                "corpus": name,
                "halves": len(ps),
                "trees": DRAWN,
                "ks": float(test.statistic),
                "ks_p": float(test.pvalue),
                "rejected": float(np.mean(np.array(ps) <= 0.05)),
                "low": float(low),
                "high": float(high),
                "p_values": ps,
            }
        )
        print({key: value for key, value in rows[-1].items() if key != "p_values"}, flush=True)
    return rows  # fmt: skip


# --- time and use -------------------------------------------------------------------------------------------------


def timed() -> dict[str, Any]:
    """Measure in a separate process, to get its peak memory."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.diff", "--time"], check=True, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    print(found, flush=True)
    return found


def measured() -> dict[str, Any]:
    bank = staged("CRAFT")
    order = np.random.default_rng(0).permutation(len(bank))
    files = []
    folder = Path(os.environ.get("TMPDIR", "/tmp"))
    for name, rows in (("a", order[:SIZE]), ("b", order[SIZE : 2 * SIZE])):
        files.append(str(folder / f"treelet-diff-{os.getpid()}-{name}.mrg"))
        bank[rows].compact().write(files[-1])
    code = "import sys, resource; from treelet.cli.main import main\ntry: main()\nfinally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    try:
        begin, before = time.perf_counter(), os.times()
        run = subprocess.run(
            [sys.executable, "-c", code, "diff", *files, "--jobs", "2", "--json", "--no-progress"],
            check=True,
            capture_output=True,
            text=True,
        )
        wall, after = time.perf_counter() - begin, os.times()
    finally:
        for file in files:
            os.unlink(file)
    output = json.loads(run.stdout)
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"trees": SIZE, "nodes": bank[order[: 2 * SIZE]].stats()["nodes"], "wall_s": wall, "cpu_s": cpu, "peak_mb": int(run.stderr.split()[-1]) / 1024, "p_value": output["p_value"], "permutations": output["permutations"]}  # fmt: skip


def use() -> dict[str, Any]:
    first, second = corpora().values()
    found = tl.diff(first, second, n_jobs=2)
    print(found, flush=True)
    return {"printed": str(found), **found.as_json()}


# --- the page -----------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    rows = [row for name, part in results.items() if name.startswith("planted-") for row in part]
    return writing.render(
        "diff",
        results,
        created=writing.created(results["made_by"]),
        rows=rows,
        trials=[(row, trial) for row in rows for trial in row["trials"]],
        corpora=list(corpora()),
        found_first=lambda some: sum(trial["first"] for row in some for trial in row["trials"]),
        median=lambda trials, key: np.median([abs(trial[key]) for trial in trials]),
        share=SHARE,
        own=OWN,
        trials_per_row=TRIALS,
        drawn=DRAWN,
    )


def main() -> None:
    if sys.argv[1:] == ["--time"]:
        print(json.dumps(measured()))
        return
    parts: dict[str, Callable[[], Any]] = {
        **{f"planted-{name.split()[0].lower()}": partial(planted, name) for name in corpora()},
        "halves": halves,
        "timed": timed,
        "use": use,
    }
    results = stored_results("diff")
    for name in sys.argv[1:] or list(parts):
        found = parts[name]()
        results = (stored_results("diff")) | {name: found}
    results["made_by"] = writing.provenance("python -m benchmarks.diff")
    writing.write_results(writing.RESULTS, "diff", results, page(results) if parts.keys() <= results.keys() else "")


if __name__ == "__main__":
    main()
