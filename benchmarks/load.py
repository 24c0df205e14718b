"""Load tests: requests of many clients to the explorer, and models shared by many threads. Measures rates, latencies and memory.

Writes docs/results/load.md and .json. Parts can be run separately (``python -m benchmarks.load explorer``); the results of the others are
kept. ``--seconds 20`` is a short trial that writes nothing. ``--share 0.2`` scores a fifth of the time, on a machine with other work. All
connections are to 127.0.0.1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import treelet as tl
from benchmarks.load_client import levels
from benchmarks.load_inputs import Examples, examples
from benchmarks.watching import BOUND_MB, EVERY, Watched, growth
from experiments import writing

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
SECONDS = 600.0
LEVEL = 30.0  # seconds of each number of clients
CLIENTS, STEADY = (1, 4, 16, 64), 16
THREADS = (1, 2, 16)
CHUNKS, CHUNK = 320, 20  # of trees that are scored
REPEATS = 3  # the fastest counts: other work on the machine meets all alike
KERNEL = tl.SubsetTree(0.3, leaves=True).normalized()
CALLS = 12  # of the command
TREELET = [sys.executable, "-m", "treelet"]


# --- the explorer -------------------------------------------------------------------------------------------------


def explorer(seconds: float, share: float) -> dict[str, Any]:
    """Measure `treelet explore` with more and more clients, and then with 16 clients for some time."""
    known = examples()
    with tempfile.TemporaryDirectory() as folder:
        model, data = Path(folder) / "m.treelet", Path(folder) / "train.tsv"
        data.write_text("".join(f"{y}\t{x}\n" for x, y in zip(known.trees.strings(), known.labels, strict=True)))
        tl.save(tl.KernelSVC(KERNEL, C=10.0).fit(known.trees, known.labels), model)
        command = [*TREELET, "explore", str(model), "--data", str(data), "--no-browser", "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                port = int(server.stderr.readline().split("127.0.0.1:")[1].split("/")[0])
                with Watched(server.pid) as watched:
                    short = min(LEVEL, seconds / 4)
                    rows = levels(port, known, [(n, short) for n in CLIENTS] + [(STEADY, seconds)], watched.cpu)
            finally:
                server.terminate()
            said = server.stderr.read()
    if said.strip() not in ("", "stopped"):
        raise RuntimeError(f"The server wrote to standard error: {said}")
    begin = watched.at[-1] - seconds
    return {"data": known.name, "trees": len(known.trees), "levels": rows, **growth(watched, begin)}


# --- scoring in a process -----------------------------------------------------------------------------------------

Score = Callable[[tl.Treebank], Any]


def scorers(known: Examples) -> dict[str, Score]:
    """Return the scoring methods of fitted models."""
    X, y = known.trees[:2000], known.labels[:2000]
    number = np.unique(y, return_inverse=True)[1]
    svc = tl.KernelSVC(KERNEL, C=10.0).fit(X, y)
    rls = tl.RLS(KERNEL).fit(X[:1000], number[:1000].astype(float))
    ranker = tl.VotedPerceptron(KERNEL, epochs=1).fit(X[:1000], number[:1000].astype(float), qid=np.arange(1000) // 5)
    plain = tl.KernelSVC(tl.PartialTree(), C=1.0).fit(X[:500], y[:500])
    pipeline = make_pipeline(tl.FragmentFeatures(svc, n=2000), LinearSVC(C=10.0, tol=0.01, random_state=0)).fit(X, y)
    return {
        "KernelSVC.decision_function, SST": svc.decision_function,
        "KernelSVC.predict, PT": plain.predict,
        "RLS.predict": rls.predict,
        "VotedPerceptron.predict": ranker.predict,
        "the compressed model alone": svc.model_.score,
        "FragmentFeatures and LinearSVC": pipeline.decision_function,
    }


def scoring(seconds: float, share: float) -> dict[str, Any]:
    """Score chunks of new trees with 1, 2 and 16 threads, and then with 16 threads for some time."""
    known = examples()
    models = scorers(known)
    rows = [{"model": name, **_threads(score, known)} for name, score in models.items()]
    print(rows, flush=True)
    rounds = scored = 0
    with Watched(os.getpid()) as watched, ThreadPoolExecutor(16) as pool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begun = time.monotonic()
            for name, score in models.items():
                chunks = [known.bank(CHUNK) for _ in range(16)]
                found = list(pool.map(score, chunks))
                check = rounds % len(chunks)
                if not np.array_equal(found[check], score(chunks[check])):
                    raise RuntimeError(f"{name}: the values of 16 threads and of one thread differ in round {rounds}.")
                scored += CHUNK * len(chunks)
            rounds += 1
            time.sleep((time.monotonic() - begun) * (1 / share - 1))
        begin = watched.now() - seconds
    return {"models": rows, "rounds": rounds, "scored": scored, "share": share, **growth(watched, begin)}


def _threads(score: Score, known: Examples) -> dict[str, Any]:
    chunks = [known.bank(CHUNK) for _ in range(CHUNKS)]
    score(chunks[0])
    rates, cpu, found = dict.fromkeys(THREADS, 0.0), dict.fromkeys(THREADS, np.inf), {}
    for threads in THREADS * REPEATS:
        with ThreadPoolExecutor(threads) as pool:
            begin, used = time.perf_counter(), time.process_time()
            found[threads] = list(pool.map(score, chunks))
            rates[threads] = max(rates[threads], CHUNKS * CHUNK / (time.perf_counter() - begin))
            cpu[threads] = min(cpu[threads], 1e6 * (time.process_time() - used) / (CHUNKS * CHUNK))
    equal = all(np.array_equal(one, other) for t in THREADS for one, other in zip(found[1], found[t], strict=True))
    if not equal:
        raise RuntimeError("The values depend on the number of threads.")
    return {"rates": rates, "cpu_us": cpu, "values": int(sum(np.size(one) for one in found[1])), "equal": equal}


# --- the command --------------------------------------------------------------------------------------------------


def command(seconds: float, share: float) -> dict[str, Any]:
    """Measure `treelet predict`, one process after the other."""
    known = examples()
    code = "import sys; from treelet.cli.main import main\ntry: main()\nfinally: print(*(x for x in open('/proc/self/status') if x[:5] == 'VmHWM'), file=sys.stderr)"
    with tempfile.TemporaryDirectory() as folder:
        model, data = Path(folder) / "m.treelet", Path(folder) / "test.mrg"
        tl.save(tl.KernelSVC(KERNEL, C=10.0).fit(known.trees, known.labels), model)
        walls, cpus, peaks = [], [], []
        for _ in range(CALLS if seconds >= SECONDS else 2):
            known.bank(500).write(str(data))
            begin, before = time.perf_counter(), os.times()
            run = subprocess.run([sys.executable, "-c", code, "predict", str(model), str(data)], check=True, capture_output=True, text=True)  # fmt: skip
            after = os.times()
            walls.append(time.perf_counter() - begin)
            cpus.append(after.children_user + after.children_system - before.children_user - before.children_system)
            peaks.append(int(run.stderr.split()[-2]) / 1024)
            if len(run.stdout.splitlines()) != 500:
                raise RuntimeError("treelet predict did not print 500 predictions.")
    return {"calls": len(walls), "trees": 500, "wall_s": walls, "cpu_s": cpus, "peak_mb": peaks}


# --- Page -----------------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    explorer, scoring = results["explorer"], results["scoring"]
    memory = scoring["memory"]
    return writing.render(
        "load",
        results,
        long=explorer["levels"][-1],
        alone=explorer["levels"][0]["kinds"],
        scoring_seconds=memory["at_s"][-1] - memory["from_s"],
        long_run_memory={
            name: [mb for at, mb in zip(part["memory"]["at_s"], part["memory"]["mb"], strict=True) if at >= part["memory"]["from_s"]]
            for name, part in (("explorer", explorer), ("scoring", scoring))
        },
        median=np.median,
        every=EVERY,
        bound_mb=BOUND_MB,
    )  # fmt: skip


def main() -> None:
    parts: dict[str, Callable[[float, float], Any]] = {"explorer": explorer, "scoring": scoring, "command": command}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=list(parts), help="which; all of them by default")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of the long runs")
    parser.add_argument("--share", type=float, default=1.0, help="of the time in which models are scored")
    options = parser.parse_args()
    for name in options.parts or parts:
        result = json.loads(json.dumps(parts[name](options.seconds, options.share)))  # as pages read it later
        print(name, result, flush=True)
        if options.seconds < SECONDS:
            continue
        results = writing.read_results("load", RESULTS) if (RESULTS / "load.json").exists() else {}
        results["made_by"] = writing.provenance("make load")
        results[name] = result | {"commit": results["made_by"]["commit"]}
        writing.write_results(RESULTS, "load", results, page(results) if parts.keys() <= results.keys() else "")


if __name__ == "__main__":
    main()
