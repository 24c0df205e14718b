"""Kernel matrices on a GPU, compared with the CPU on the same trees.

    python -m benchmarks.gpu --check            # compare every kernel with the CPU on random data; write gpu-check.json
    python -m benchmarks.gpu [STEP...]          # measure times; write gpu.json into --out
    python -m benchmarks.gpu --page FILE        # write the page of such a file

Requires a GPU with CuPy. With `--device emulated`, the CPU build of the device code is used, which is
slow. Times are the best of five runs after a warm-up run. The device time is the time to fill a matrix
from prepared trees. Preparation, the copy to the host, and the total time from a Treebank to a NumPy
array are measured separately.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import treelet as tl
from benchmarks.common import Results, sequences, staged, tagged
from experiments import writing
from experiments.data import corpus
from tests.cases import KERNELS, examples
from treelet.device.launching import device_named
from treelet.matrices import operator
from treelet.matrices.executors import executor_for
from treelet.matrices.nearest import Index
from treelet.matrices.tiles import Job, fill_tile
from treelet.resources import Resources
from treelet.structures import ForestBank

TREE_KERNELS = {
    "SST": tl.SubsetTree(lam=0.4),
    "SST, leaves": tl.SubsetTree(lam=0.4, leaves=True),
    "SST, depth 3": tl.SubsetTree(lam=0.4, max_depth=3),
    "ST": tl.Subtree(),
    "PT": tl.PartialTree(lam=0.4, mu=0.4),
    "SST, normalised": tl.SubsetTree(lam=0.4).normalized(),
    "SST, Gaussian": tl.SubsetTree(lam=0.4).normalized().gaussian(1.0),
    "SST + PT": tl.SubsetTree(lam=0.4) + tl.PartialTree(lam=0.4, mu=0.4),
}
QUERIES, K = 1000, 10


class Bench:
    """Measurements on a device."""

    def __init__(self, name: str) -> None:
        self.name, self.device = name, device_named(name)

    def wait(self) -> None:
        if self.name == "cuda":
            self.device.xp.cuda.Device().synchronize()

    def about(self) -> Results:
        found = {"cpu": platform.processor() or platform.machine(), "cores": len(os.sched_getaffinity(0)), "date": date.today().isoformat()}  # fmt: skip
        if self.name == "cuda":
            properties = self.device.xp.cuda.runtime.getDeviceProperties(0)
            found |= {"device": properties["name"].decode(), "memory": properties["totalGlobalMem"], "cupy": self.device.xp.__version__}  # fmt: skip
        return found | {"numpy": np.__version__, "treelet": tl.__version__}

    def best(self, work: Callable[[], Any], times: int = 5) -> float:
        """Seconds, the best of several after one that is not counted."""
        work()
        seconds = []
        for _ in range(times):
            self.wait()
            begin = time.perf_counter()
            work()
            self.wait()
            seconds.append(time.perf_counter() - begin)
        return min(seconds)

    def once(self, work: Callable[[], Any]) -> tuple[float, Any]:
        self.wait()
        begin = time.perf_counter()
        found = work()
        self.wait()
        return time.perf_counter() - begin, found


def fresh(bank: Any) -> Any:
    """Return the same examples without cached values."""
    return type(bank).from_columns(bank.columns)


def matrix_times(bench: Bench, kernel: Any, bank: Any, dtype: str, times: int = 5) -> Results:
    """Preparation, filling, and copying, apart; and the whole way."""
    device, n = bench.device, len(bank)
    bank.weights()
    prepare = bench.best(lambda: kernel.evaluator(fresh_weights(bank)).on(device), min(times, 3))
    evaluator = kernel.evaluator(bank).on(device)
    out = device.xp.empty((n, n), dtype)
    plan = executor_for(Resources(memory_limit=1 << 50, device=bench.name)).plan(Job(kernel, bank, None, out.dtype))

    def fill() -> None:

        for tile in plan.tiles:
            fill_tile(kernel, evaluator, tile, out[tile.rows.slice, tile.columns.slice])
        device.mirror(out, 0, n)

    filled = bench.best(fill, times)
    host = np.empty((n, n), dtype)
    copied = bench.best(lambda: device.copy(out, host), min(times, 3))
    rows = np.linspace(0, n - 1, 13).astype(int)
    core = tl.gram(kernel, bank[rows], bank, n_jobs=-1)
    error = float((np.abs(host[rows] - core) / np.maximum(np.abs(core), 1e-300))[core != 0].max())
    out = evaluator = None
    whole = []
    for _ in range(2):  # the second: whatever is loaded on first use is there
        bank, host = fresh(bank), np.empty((n, n), dtype)
        whole.append(bench.once(lambda: tl.gram(kernel, bank, device=bench.name, out=host))[0])  # noqa: B023
    return {"trees": n, "dtype": dtype, "prepare_s": prepare, "device_s": filled, "copy_s": copied, "whole_s": min(whole),
            "pairs_billion": n * (n + 1) / 2e9, "error": error}  # fmt: skip


def fresh_weights(bank: Any) -> Any:
    """Counts are kept; what the device has of the examples is not."""
    other = fresh(bank)
    other._weights = bank.weights()
    return other


def cpu_time(kernel: Any, bank: Any, threads: int) -> float:
    bank = fresh(bank)
    begin = time.perf_counter()
    tl.gram(kernel, bank, n_jobs=threads)
    return time.perf_counter() - begin


# --- steps ----------------------------------------------------------------------------------------------------------


def ceilings(bench: Bench) -> Results:
    """Measure the limits of the machine: copies on the device, scattered additions, copies to the host."""
    xp, device = bench.device.xp, bench.device
    a = xp.ones(1 << 28)
    b = xp.empty_like(a)
    copy = bench.best(lambda: b.__setitem__(Ellipsis, a))
    host = np.empty(1 << 27)
    host[...] = 0
    to_host = bench.best(lambda: device.copy(a[: 1 << 27], host))
    return {"copy_tb_s": 2 * a.nbytes / copy / 1e12, "to_host_gb_s": host.nbytes / to_host / 1e9}


def trees(bench: Bench) -> list[Results]:
    """All pairs of the WSJ's trees, by all kernels."""
    bank, rows = staged("WSJ"), []
    for name, kernel in TREE_KERNELS.items():
        row = {"kernel": name} | matrix_times(bench, kernel, bank, "float64")
        rows.append(row | {"one_core_s": cpu_time(kernel, bank, 1)})
        print(rows[-1], flush=True)
    return rows


def sizes(bench: Bench) -> list[Results]:
    """By the number of trees: from when on it pays."""
    bank, rows = staged("all"), []
    order = np.random.default_rng(0).permutation(len(bank))
    for n in (250, 1000, 4000, 16000):
        part = bank[np.sort(order[:n])].compact()
        for name in ("SST", "PT"):
            row = {"kernel": name} | matrix_times(bench, TREE_KERNELS[name], part, "float64")
            rows.append(
                row
                | {
                    "one_core_s": cpu_time(TREE_KERNELS[name], part, 1),
                    "cores_s": cpu_time(TREE_KERNELS[name], part, -1),
                }
            )
            print(rows[-1], flush=True)
    return rows


def all_trees(bench: Bench) -> list[Results]:
    """All pairs of all staged trees."""
    bank, rows = staged("all"), []
    for name, dtype in (("SST", "float32"), ("SST", "float64"), ("SST, normalised", "float32"), ("ST", "float32")):
        rows.append({"kernel": name} | matrix_times(bench, TREE_KERNELS[name], bank, dtype, 5))
        print(rows[-1], flush=True)
    return rows


def partial(bench: Bench) -> list[Results]:
    """Measure the same for partial trees."""
    rows = [{"kernel": "PT"} | matrix_times(bench, TREE_KERNELS["PT"], staged("all"), "float32", 1)]
    print(rows[-1], flush=True)
    return rows


def others(bench: Bench) -> list[Results]:
    """Forests, tag sequences, features of parses."""
    wsj, rows = staged("WSJ"), []
    grammar = tl.PCFG.from_treebank(wsj)
    drawn = [tree.words() for tree in grammar.sample(400, 1) if len(tree.words()) <= 15]
    forests = ForestBank([forest for words in drawn[:300] if (forest := grammar.forest(words, prune=4.0)) is not None])
    for name, kernel, bank in (
        ("tagging", tl.Tagging(lam=0.4), tagged("WSJ")),
        ("locality", tl.Locality(window=3), sequences("WSJ")),
        ("subsequences", tl.Subsequence(length=2), sequences("WSJ")),
        ("forest", tl.ForestKernel(lam=0.4), forests),
    ):
        rows.append(
            {"kernel": name} | matrix_times(bench, kernel, bank, "float64") | {"one_core_s": cpu_time(kernel, bank, 1)}
        )
        print(rows[-1], flush=True)
    return rows


def million(bench: Bench, n: int = 1_000_000) -> list[Results]:
    """The nearest of a thousand queries among a million generated trees."""
    grammar = tl.PCFG.from_treebank(tl.datasets.flights(2000))
    bank, queries = grammar.sample(n, 1), grammar.sample(QUERIES, 12345)
    kernel = tl.SubsetTree(lam=0.4).normalized()
    kernel.self_values(bank, logs=True), kernel.self_values(queries, logs=True)
    resources = Resources(device=bench.name)
    seconds, index = bench.once(lambda: Index(kernel, bank, resources, always_cached=True))
    first, _ = bench.once(lambda: index.nearest(queries, K))
    again = min(bench.once(lambda: index.nearest(queries, K))[0] for _ in range(3))
    values, numbers = index.nearest(queries, K)
    sample = np.arange(0, QUERIES, 20)
    begin = time.perf_counter()
    wanted = tl.nearest(kernel, bank, queries[sample], K, n_jobs=-1)
    cpu = time.perf_counter() - begin
    row = {"trees": n, "queries": QUERIES, "prepare_s": seconds + first - again, "search_s": again, "cpu_s_of_sample": cpu, "sample": len(sample),
           "same_numbers": bool((numbers[sample] == wanted[1]).all()), "values_apart": float(np.abs(values[sample] - wanted[0]).max())}  # fmt: skip
    print(row, flush=True)
    return [row]


def memory(bench: Bench) -> list[Results]:
    """Under a budget of the device's memory: the most that was taken, and the same values."""
    bank, kernel, rows = staged("WSJ"), TREE_KERNELS["SST"], []
    wanted = tl.gram(kernel, bank, n_jobs=-1)
    for budget in (None, 1 << 30, 1 << 28, 1 << 27):
        pool = bench.device.xp.get_default_memory_pool() if bench.name == "cuda" else None
        if pool:
            pool.free_all_blocks()
        host = np.empty_like(wanted)
        seconds, _ = bench.once(lambda: tl.gram(kernel, fresh(bank), device=bench.name, device_memory=budget, out=host))  # noqa: B023
        rows.append(
            {
                "budget": budget,
                "taken": pool.total_bytes() if pool else None,
                "seconds": seconds,
                "error": float((np.abs(host - wanted) / np.maximum(wanted, 1e-300))[wanted > 0].max()),
            }
        )
        print(rows[-1], flush=True)
    return rows


def scoring(bench: Bench) -> list[Results]:
    """All trees by a model of questions, and products of the matrix of all trees with vectors."""
    questions, rows = read_questions(), []
    everything = staged("all")
    for name, kernel in (("SST", tl.SubsetTree(lam=0.4)), ("PT", tl.PartialTree(lam=0.4, mu=0.4))):
        machine = tl.KernelSVC(kernel=kernel.normalized(), C=4.0, n_jobs=-1).fit(*questions)
        model, part = machine.model_, everything[::14].compact()
        begin = time.perf_counter()
        wanted = model.score(part)
        one_core = time.perf_counter() - begin
        device = bench.best(lambda: model.score(fresh(part), device=bench.name), 3)  # noqa: B023
        found = model.score(part, device=bench.name)
        error = float(np.abs(found - wanted).max() / np.abs(wanted).max())
        rows.append({"kernel": name, "outputs": wanted.shape[1], "trees": len(part), "device_s": device, "one_core_s": one_core, "error": error})  # fmt: skip
        print(rows[-1], flush=True)
    kernel = tl.SubsetTree(lam=0.4).normalized()
    vectors = np.random.default_rng(0).standard_normal((len(everything), 4))
    product = operator(kernel, everything, device=bench.name)
    first, _ = bench.once(lambda: product @ vectors)
    again, found = bench.once(lambda: product @ vectors)
    some = np.arange(0, len(everything), 2000)
    error = float(np.abs(tl.gram(kernel, everything[some], everything, n_jobs=-1) @ vectors - found[some]).max() / np.abs(found).max())  # fmt: skip
    rows.append({"kernel": "K @ V, four vectors", "trees": len(everything), "first_s": first, "device_s": again, "error": error})  # fmt: skip
    print(rows[-1], flush=True)
    return rows


def read_questions() -> tuple[tl.Treebank, list[str]]:
    """The training questions' trees, and their coarse classes."""
    X, y = tl.read_examples(corpus("qc_trees", "train.tsv"))
    return X, [label.partition(":")[0] for label in y]


STEPS: dict[str, Callable[[Bench], Any]] = {
    "ceilings": ceilings, "trees": trees, "all": all_trees, "partial": partial, "sizes": sizes, "others": others, "million": million, "memory": memory,
    "scoring": scoring,
}  # fmt: skip


def check(bench: Bench, seeds: int, only: list[str] | None) -> Results:
    """Every kernel of the test matrix on random banks, against the core."""
    rows, banks = [], 0
    for name, case in KERNELS.items():
        if only and name not in only:
            continue
        worst = {"float64": 0.0, "float32": 0.0}
        for seed in range(seeds):
            n = 8 + 7 * seed
            X, Y = examples(case.kind, n, seed), examples(case.kind, 9, 1000 + seed)
            banks += 2
            for dtype in ("float64", "float32"):
                for other in (None, Y):
                    wanted = tl.gram(case.kernel, X, other)
                    found = bench.device.to_host(tl.gram(case.kernel, X, other, device=bench.name, dtype=dtype))
                    apart = np.abs(found - wanted) / np.maximum(np.abs(wanted), 1e-300)
                    worst[dtype] = max(worst[dtype], float(apart[wanted != 0].max(initial=0)))
        rows.append({"kernel": name, **worst, "seeds": seeds})
        print(f"{name:40} {worst['float64']:.1e} {worst['float32']:.1e}", flush=True)
    return {"rows": rows, "banks": banks}


# --- Pages ----------------------------------------------------------------------------------------------------------


def write_page(path: Path) -> str:
    """Write the page of a result file, docs/results/gpu.md or gpu-check.md, and return its text."""
    results = json.loads(path.read_text(encoding="utf-8"))
    name = "gpu-check" if "check" in results else "gpu"
    results["made_by"] = writing.provenance(f"python -m benchmarks.gpu{' --check' if 'check' in results else ''}")
    text = page(results)
    writing.write_results(writing.RESULTS, name, results, text)
    return text


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    about = results["about"]
    machine = f"{about['device']} with {about['memory'] / 2**30:.0f} GiB, {about['cores']} CPU cores, CuPy {about['cupy']}, {about['date']}"
    return writing.render("gpu_check" if "check" in results else "gpu", results, machine=machine, duration=duration)


def duration(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", choices=[*STEPS, []])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=writing.ROOT / "build")
    parser.add_argument("--only", nargs="*", help="kernels of a check, by the names of tests/cases.py")
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    if given.page:
        print(write_page(given.page))
        return
    bench = Bench(given.device)
    about = bench.about()
    if given.check:
        results = {"about": about, "check": check(bench, given.seeds, given.only)}
        (given.out / "gpu-check.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
        return
    path = given.out / "gpu.json"
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for step in given.steps or STEPS:
        print(step, flush=True)
        results |= {"about": about, step: STEPS[step](bench)}
        path.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
