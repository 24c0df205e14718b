"""Tree edit distance: speed beside other packages, growth with size, matrices, joins and nearest neighbors.

Writes docs/results/edit-distance.md, .json and .png. Its parts can be run one by one: ``python -m benchmarks.edits join``; the other parts are
kept. Things that are compared run alternately, because other work on the machine changes their speed from minute to minute.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from scipy import sparse

import treelet as tl
from benchmarks.common import LEAST, Results, functions, staged, stored_results
from benchmarks.edit_peers import PEERS, UNIT
from experiments import writing
from treelet.edits.distance import tree_sizes

DISTANCE, SIMILARITY = tl.EditDistance(), tl.EditDistance().similarity()
ROUNDS, ROWS, COLUMNS = 5, 10, 20
SOME = {"edist": 200, "apted": 100, "zss": 10}
"""Pairs per round."""
SIZES = (50, 100, 200, 500, 1000, 2000)
LIMIT = 30  # seconds that edist may take for a pair of the next size
MATRIX, REPEATS = 1000, 3
COLLECTION, CHECKED, LARGEST, THRESHOLDS = 5000, 1500, 500, (0.8, 0.7)
QUERIES, K, FULL = 100, 10, 10
FILTERS = ("pairs", "size", "labels", "strings", "matches")


def seconds(call: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    """Return the CPU time of a call, which other processes hardly change, and its value."""
    begin = clock()
    value = call()
    return clock() - begin, value


def fresh(bank: tl.Treebank) -> tl.Treebank:
    """Return the same trees without cached values."""
    return tl.Treebank.from_columns(bank.columns)


def spread(values: list[float]) -> Results:
    return {"median": float(np.median(values)), "least": min(values), "most": max(values)}


def nodes(bank: tl.Treebank) -> np.ndarray:
    return tree_sizes(bank)[0].astype(np.int64)


def check_equal(found: Any, expected: Any, what: str) -> None:
    if not np.array_equal(found, expected):
        raise SystemExit(f"{what}: the values differ.")


# --- other packages -------------------------------------------------------------------------------------------------


def corpora() -> dict[str, tl.Treebank]:
    """Collections of trees with 80 to 120 nodes."""
    found = {}
    for name, bank in (("Python functions", functions()), ("WSJ sentences", staged("WSJ"))):
        sizes = nodes(bank)
        found[name] = bank[np.flatnonzero((sizes >= 80) & (sizes <= 120))].compact()
    return found


def peers() -> list[Results]:
    return [beside_peers(name, bank) for name, bank in corpora().items()]


def beside_peers(name: str, bank: tl.Treebank) -> Results:
    """Measure ROUNDS matrices of ROWS × COLUMNS pairs. Every package is timed between two measurements of treelet."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(bank))[: ROUNDS * (ROWS + COLUMNS)].reshape(ROUNDS, -1)
    times: dict[str, list[float]] = {peer: [] for peer in ("treelet", *PEERS)}
    ratios: dict[str, list[float]] = {peer: [] for peer in PEERS}
    single = []
    for number, drawn in enumerate(order):
        rows, columns = bank[drawn[:ROWS]].compact(), bank[drawn[ROWS:]].compact()
        every = [(i, j) for i in range(ROWS) for j in range(COLUMNS)]
        mixed = [every[k] for k in rng.permutation(len(every))]
        pairs = {peer: mixed[:some] for peer, some in SOME.items()}
        matrix = DISTANCE(rows, columns)
        own = []

        def measure_treelet() -> float:
            took = [seconds(lambda: tl.gram(DISTANCE, fresh(rows), fresh(columns), n_jobs=1))[0] for _ in range(7)]  # noqa: B023
            own.append(1e6 * float(np.median(took)) / len(every))  # noqa: B023
            return own[-1]  # noqa: B023

        for peer, package in PEERS.items():
            first = [package.converted(tree) for tree in rows]
            second = [package.converted(tree) for tree in columns]
            before = measure_treelet()
            took, values = seconds(lambda: [package.distance(first[i], second[j], UNIT) for i, j in pairs[peer]])  # noqa: B023
            after = measure_treelet()
            check_equal(values, [matrix[pair] for pair in pairs[peer]], f"{name}, {peer}")
            times[peer].append(1e6 * took / len(values))
            ratios[peer].append(times[peer][-1] / ((before + after) / 2))
        times["treelet"].append(float(np.median(own)))
        one = [(rows[[i]].compact(), columns[[j]].compact()) for i, j in mixed[:50]]
        single.append(1e6 * seconds(lambda: [DISTANCE(a, b) for a, b in one])[0] / len(one))  # noqa: B023
        print(name, number, {peer: round(values[-1]) for peer, values in times.items()}, flush=True)
    sizes = nodes(bank[order.ravel()])
    return {
        "corpus": name,
        "pairs": {"treelet": order.shape[0] * len(every), **{peer: ROUNDS * len(listed) for peer, listed in pairs.items()}},
        "nodes": {"mean": float(sizes.mean()), "trees": len(sizes)},
        "us": {peer: spread(values) for peer, values in times.items()},
        "ratios": {peer: spread(values) for peer, values in ratios.items()},
        "single_us": spread(single),
    }  # fmt: skip


# --- growth ---------------------------------------------------------------------------------------------------------


def random_tree(size: int, rng: np.random.Generator) -> tl.Tree:
    """Return one of all ordered trees of a size, each with the same probability, with labels of ten letters."""
    steps = np.repeat([1, -1], [size, size - 1])
    rng.shuffle(steps)
    sums = np.cumsum(steps)
    last = len(sums) - 1 - int(np.argmin(sums[::-1]))  # the cycle lemma: start after the last minimum
    letters = iter(rng.choice(list("abcdefghij"), size).tolist())
    stack: list[tuple[str, list[tl.Tree]]] = [("", [])]
    for step in np.roll(steps, -last - 1).tolist():
        if step > 0:
            stack.append((next(letters), []))
        else:
            label, children = stack.pop()
            stack[-1][1].append(tl.Tree(label, children))
    while len(stack) > 1:
        label, children = stack.pop()
        stack[-1][1].append(tl.Tree(label, children))
    return stack[0][1][0]


def growth() -> list[Results]:
    rng = np.random.default_rng(0)
    all_functions = functions_of_every_size()
    sizes = nodes(all_functions)
    rows = []
    slow: dict[str, float] = {}
    for size in SIZES:
        count = 8 if size < 1000 else 4
        nearest = np.argsort(np.abs(sizes - size), kind="stable")[:count]
        drawn = {
            "functions": all_functions[rng.permutation(nearest)].compact(),
            "random trees": tl.Treebank([random_tree(size, rng) for _ in range(count)]),
        }
        for kind, bank in drawn.items():
            rows.append(grown(kind, size, bank, slow.get(kind, 0.0)))
            slow[kind] = rows[-1].get("edist_us", np.inf) / 1e6
            print(rows[-1], flush=True)
    return rows


def functions_of_every_size() -> tl.Treebank:
    """Small functions are not in `functions`; parts of its trees have such sizes."""
    bank = functions()
    parts = tl.Treebank(
        [node for tree in bank[:300] for node in tree.nodes() if node.label in ("If", "For", "Try", "With")]
    )
    return tl.Treebank.concat([parts[np.flatnonzero(nodes(parts) < LEAST)], bank])


def grown(kind: str, size: int, bank: tl.Treebank, last: float) -> Results:
    half = len(bank) // 2
    first, second = bank[:half].compact(), bank[half:].compact()
    repeats = max(2, min(50, 3000 // size))
    took = [seconds(lambda: DISTANCE(fresh(first), fresh(second)))[0] / half**2 for _ in range(repeats)]
    row = {"kind": kind, "size": size, "mean": float(nodes(bank).mean()), "treelet_us": 1e6 * float(np.median(took))}
    if last * 20 > LIMIT:  # twice the size takes up to 16 times as long
        return row
    convert, distance = PEERS["edist"].converted, PEERS["edist"].distance
    pairs = [(convert(a), convert(b)) for a, b in zip(first, second, strict=True)]
    values: list[float] = []
    times = []
    distance(*pairs[0], UNIT)  # imports the package
    for a, b in pairs:
        spent, value = seconds(lambda: distance(a, b, UNIT))  # noqa: B023
        times.append(spent)
        values.append(value)
    check_equal(values, np.diag(DISTANCE(first, second)), f"{kind}, {size} nodes")
    return row | {"edist_us": 1e6 * float(np.mean(times))}


# --- matrices -------------------------------------------------------------------------------------------------------


def matrix() -> Results:
    """Compute one matrix in several ways. Other processes change the wall-clock times, but hardly the CPU times."""
    from distributed import Client, LocalCluster

    bank = staged("WSJ")
    bank = bank[np.sort(np.random.default_rng(0).permutation(len(bank))[:MATRIX])].compact()
    rows, expected = [], None
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        tl.gram(DISTANCE, bank[:10], client=client)  # makes the workers import treelet
        ways: dict[str, Results] = {"one thread": {"n_jobs": 1}, "two threads": {"n_jobs": 2}}
        ways["two Dask workers"] = {"client": client}
        for name, options in ways.items():
            begin, before = time.perf_counter(), cpu_of_all(client)
            values = tl.gram(DISTANCE, fresh(bank), **options)
            rows.append({"way": name, "wall_s": time.perf_counter() - begin, "cpu_s": cpu_of_all(client) - before})
            expected = values if expected is None else expected
            check_equal(values, expected, name)
            print(rows[-1], flush=True)
    sizes = nodes(bank)
    return {
        "trees": MATRIX,
        "pairs": MATRIX * (MATRIX + 1) // 2,
        "nodes": {"mean": float(sizes.mean()), "most": int(sizes.max())},
        "load": os.getloadavg()[0],
        "rows": rows,
    }


def cpu_of_all(client: Any) -> float:
    """Return the CPU time of this process and of the workers."""
    return time.process_time() + sum(client.run(time.process_time).values())


# --- joins and searches ---------------------------------------------------------------------------------------------


def collection() -> tuple[tl.Treebank, tl.Treebank]:
    """Return the searched functions, and others as queries."""
    bank = functions()
    order = np.random.default_rng(0).permutation(len(bank))
    return bank[np.sort(order[:COLLECTION])].compact(), bank[
        np.sort(order[COLLECTION : COLLECTION + QUERIES])
    ].compact()


def joined(bank: tl.Treebank, threshold: float) -> tuple[float, Any]:
    return seconds(lambda: tl.nearest(SIMILARITY, fresh(bank), threshold=threshold, graph=True, n_jobs=1))


def filter_counts(bank: tl.Treebank, threshold: float) -> list[int]:
    """Return the number of pairs, the numbers that the filters left over, and the number of matches."""
    evaluator = SIMILARITY.for_search(threshold, None).evaluator(fresh(bank))
    step = 500  # rows
    for begin in range(0, len(bank), step):
        end = min(begin + step, len(bank))
        evaluator.fill(begin, end, np.empty((end - begin, len(bank))), True)
    return list(evaluator.native().counts)


def join() -> Results:
    bank, _ = collection()
    sizes = nodes(bank)
    rows = []
    for threshold in THRESHOLDS:
        times = []
        for _ in range(REPEATS):
            took, graph = joined(bank, threshold)
            times.append(took)
        counts = dict(zip(FILTERS, filter_counts(bank, threshold), strict=True))
        rows.append(
            {
                "threshold": threshold,
                "seconds": spread(times),
                "matches": int(sparse.triu(graph, 1).nnz),
                "counts": counts,
            }
        )
        print(rows[-1], flush=True)
    return {
        "trees": len(bank),
        "available": len(functions()),
        "nodes": {"median": float(np.median(sizes)), "mean": float(sizes.mean()), "most": int(sizes.max())},
        "rows": rows,
    }


def check() -> Results:
    """Compare joins with the full matrix."""
    bank, _ = collection()
    part = bank[np.flatnonzero(nodes(bank) <= LARGEST)]
    part = part[np.sort(np.random.default_rng(0).permutation(len(part))[:CHECKED])].compact()
    took, full = seconds(lambda: tl.gram(SIMILARITY, part, n_jobs=2))
    checks = []
    for threshold in THRESHOLDS:
        wanted = np.triu(full >= threshold - 1e-12, 1)
        found = np.triu(joined(part, threshold)[1].toarray(), 1)
        lost, extra = int((wanted & (found == 0)).sum()), int((~wanted & (found != 0)).sum())
        different = int((found[wanted] != full[wanted]).sum())
        checks.append({"threshold": threshold, "pairs": int(wanted.sum()), "lost": lost, "extra": extra, "different": different})  # fmt: skip
    print(checks, flush=True)
    return {"trees": CHECKED, "matrix_s": took, "rows": checks}


def neighbors() -> Results:
    """Search all queries, and compare some of them with the full computation."""
    bank, queries = collection()

    def search(some: tl.Treebank) -> tuple[float, Any]:
        return seconds(lambda: tl.nearest(SIMILARITY, fresh(bank), fresh(some), k=K, n_jobs=1))

    times = [search(queries)[0] for _ in range(REPEATS)]
    few = queries[np.random.default_rng(0).permutation(QUERIES)[:FULL]].compact()
    before, (values, _) = search(few)
    full, every = seconds(lambda: tl.gram(SIMILARITY, fresh(few), fresh(bank), n_jobs=1))
    after, _ = search(few)
    check_equal(values, -np.sort(-every, axis=1)[:, :K], "neighbors")
    found = {"trees": len(bank), "queries": QUERIES, "k": K, "search_s": spread(times), "compared": FULL, "some_s": (before + after) / 2, "full_s": full, "ratio": 2 * full / (before + after), "best": spread(values[:, 0].tolist())}  # fmt: skip
    print(found, flush=True)
    return found


# --- the page -------------------------------------------------------------------------------------------------------


def between(found: Results, digits: int = 0) -> str:
    return f"{found['median']:,.{digits}f} ({found['least']:,.{digits}f}–{found['most']:,.{digits}f})"


def page(results: Results) -> str:
    """Return the results as a Markdown page."""
    exponents = {}  # of the growth of time from 200 to 2,000 nodes
    for kind in ("functions", "random trees"):
        large = [row for row in results["growth"] if row["kind"] == kind and row["size"] >= 200]
        nodes, times = ([row[key] for row in large] for key in ("mean", "treelet_us"))
        exponents[kind] = np.polyfit(np.log(nodes), np.log(times), 1)[0]
    ratios = {peer: [row["ratios"][peer]["median"] for row in results["peers"]] for peer in PEERS}
    return writing.render(
        "edits",
        results,
        created=writing.created(results["made_by"]),
        earlier=[f"{part} at `{commit}`" for part, commit in results["commits"].items() if commit != results["made_by"]["commit"]],
        ratios={peer: (min(values), max(values)) for peer, values in ratios.items()},
        differences=sum(row["lost"] + row["extra"] + row["different"] for row in results["check"]["rows"]),
        exponents=exponents,
        between=between,
        rounds=ROUNDS,
        pairs=(ROWS, COLUMNS),
        some=SOME,
        least=LEAST,
        largest=LARGEST,
    )  # fmt: skip


def draw(results: Results, path: Path) -> None:
    with writing.saved_figure(path, figsize=(7, 4.5)) as (_, axes):
        for kind, color in (("functions", "tab:blue"), ("random trees", "tab:orange")):
            rows = [row for row in results["growth"] if row["kind"] == kind]
            axes.loglog([r["mean"] for r in rows], [r["treelet_us"] / 1e3 for r in rows], "o-", color=color, label=f"treelet, {kind}")  # fmt: skip
            timed = [r for r in rows if "edist_us" in r]
            axes.loglog([r["mean"] for r in timed], [r["edist_us"] / 1e3 for r in timed], "s--", color=color, alpha=0.6, label=f"edist, {kind}")  # fmt: skip
        axes.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
        axes.set_xlabel("nodes per tree")
        axes.set_ylabel("ms per pair")
        axes.grid(alpha=0.3, which="both")
        axes.legend(fontsize=8)


PARTS = {"peers": peers, "growth": growth, "matrix": matrix, "join": join, "check": check, "neighbors": neighbors}


def main() -> None:
    name = "edit-distance"
    for part in sys.argv[1:] or PARTS:
        measured = PARTS[part]()
        results = stored_results(name)
        results[part] = measured
        results["cores"] = len(os.sched_getaffinity(0))
        results["made_by"] = made = writing.provenance("python -m benchmarks.edits")
        results.setdefault("commits", {})[part] = made["commit"]  # parts can be measured again one by one
        complete = PARTS.keys() <= results.keys()
        if complete:
            draw(results, writing.RESULTS / f"{name}.png")
        writing.write_results(writing.RESULTS, name, results, page(results) if complete else "")


if __name__ == "__main__":
    main()
