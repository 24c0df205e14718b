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
from benchmarks.corpora import staged
from experiments import writing
from experiments.data import question_bank, wsj_sample
from treelet import Tree
from treelet.corpora.corpus_diff import _relabeled, differing_fragments
from treelet.errors import TreeletWarning
from treelet.learn.fragment_features import FragmentCounter

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
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
    made, cost = results["made_by"], results["timed"]
    rows = [row for name, found in results.items() if name.startswith("planted-") for row in found]
    trials = [one for row in rows for one in row["trials"]]
    first = sum(one["first"] for one in trials)
    by = {
        name: sum(one["first"] for row in rows if row["corpus"] == name for one in row["trials"]) for name in corpora()
    }
    return writing.page(
        [
            "# Comparison of two corpora",
            f"{writing.created(made)} The kernel is normalized SST with λ 0.4, the default of `treelet.diff`. See [comparing corpora](../comparing-corpora.md).",
            f"**A construction inserted into 5 % of the sentences of one half of a corpus is the first fragment in {first} of {len(trials)} trials ({', '.join(f'{name}: {n} of {len(trials) // len(by)}' for name, n in by.items())}). "
            f"Two corpora of {cost['trees']:,} sentences each are compared in {cost['wall_s']:.0f} s.**",
            "## Inserted constructions",
            f"The sentences of a corpus are split into two random halves, and a construction is inserted into {100 * SHARE:.0f} % of the sentences of the second half. There are {TRIALS} trials for each construction. The columns are:",
            "- *occurrences before*: the number of sentences of the corpus that already had the construction.\n"
            "- *found first*: the number of trials in which the first fragment of the list has an inserted production, and at least "
            f"{100 * OWN:.0f} % of the sentences of the second half with this fragment are changed ones.\n"
            "- *z*: the median absolute z of the first fragment, and of the second one, which is usually chance or another part of the construction.",
            writing.table(
                ("corpus", "construction", "as a fragment", "occurrences before", "found first", "z", "z of the second"),
                [
                    (
                        row["corpus"], row["says"], f"`{row['fragment']}`", f"{row['base']} of {row['trees']:,}", f"{sum(one['first'] for one in row['trials'])} of {len(row['trials'])}",
                        f"{np.median([abs(one['z']) for one in row['trials']]):.1f}", f"{np.median([abs(one['next_z']) for one in row['trials']]):.1f}",
                    )
                    for row in rows
                ],
                right=(3, 4, 5, 6),
            ),
            "The first fragment in the first trial of each construction:",
            writing.table(
                ("corpus", "construction", "first fragment", "sentences of each half", "z"),
                [(row["corpus"], row["planted"], f"`{(one := row['trials'][0])['fragment']}`", f"{one['counts'][0]} and {one['counts'][1]}", f"{one['z']:.1f}") for row in rows],
                right=(3, 4),
            ),
            *_missed(rows),
            "## p-values without a difference",
            f"{DRAWN:,} sentences are drawn from a corpus and split at random, with 999 permutations per test. The p-values should be uniform. The table shows the Kolmogorov-Smirnov distance from the uniform distribution with its p-value, and the share of p ≤ 0.05 with a 95 % confidence interval.",
            writing.table(
                ("corpus", "splits", "distance", "p of the distance", "p ≤ 0.05", "confidence interval"),
                [(row["corpus"], row["halves"], f"{row['ks']:.3f}", f"{row['ks_p']:.2f}", f"{100 * row['rejected']:.1f} %", f"{100 * row['low']:.1f} to {100 * row['high']:.1f} %") for row in results["halves"]],
                right=(1, 2, 3, 4, 5),
            ),
            "## Run time",
            f"The command `treelet diff a.mrg b.mrg --jobs 2` compared two files of {cost['trees']:,} sentences each from CRAFT (biomedical articles; {cost['nodes']:,} nodes in total), with {cost['permutations']:,} permutations. The whole command took {cost['wall_s']:.1f} s of wall-clock time and {cost['cpu_s']:.1f} s of CPU time, with a peak memory of "
            f"{cost['peak_mb']:,.0f} MB. The matrix of 20,000 by 20,000 values would take 3,200 MB; it is never stored. The wall-clock time may be affected by other work on the two cores; the CPU time is not.",
            "## Example: the Wall Street Journal and questions",
            "```text\n" + results["use"]["printed"] + "\n```",
        ]
    )  # fmt: skip


def _missed(rows: list[dict[str, Any]]) -> list[str]:
    missed = [(row["corpus"], row["planted"], one) for row in rows for one in row["trials"] if not one["first"]]
    if not missed:
        return []
    table = [
        (
            name,
            what,
            f"`{one['fragment']}`",
            f"{one['counts'][0]} and {one['counts'][1]}",
            f"{one['z']:.1f}",
            one["rank"] or "none",
        )
        for name, what, one in missed
    ]
    return ["Trials in which another fragment was first, with the rank of the first inserted fragment:", writing.table(("corpus", "construction", "first fragment", "sentences of each half", "z", "rank"), table, right=(3, 4, 5))]  # fmt: skip


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
    results = writing.read_results("diff", RESULTS) if (RESULTS / "diff.json").exists() else {}
    for name in sys.argv[1:] or list(parts):
        found = parts[name]()
        results = (writing.read_results("diff", RESULTS) if (RESULTS / "diff.json").exists() else {}) | {name: found}
    results["made_by"] = writing.provenance("python -m benchmarks.diff")
    writing.write_results(RESULTS, "diff", results, page(results) if parts.keys() <= results.keys() else "")


if __name__ == "__main__":
    main()
