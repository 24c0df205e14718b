"""Load tests: requests of many clients to the explorer, and models shared by many threads. Measures rates, latencies and memory.

Writes docs/results/load.md and .json. Parts can be run separately (``python -m benchmarks.load explorer``); the results of the others are
kept. ``--seconds 20`` is a short trial that writes nothing. ``--share 0.2`` scores a fifth of the time, on a machine with other work. All
connections are to 127.0.0.1.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import treelet as tl
from benchmarks.common import stored_results
from experiments import writing
from experiments.data import questions
from treelet.errors import FileError

EVERY = 10.0  # seconds
BOUND_MB = 10.0  # by which memory may differ between the first and the last quarter and still be called flat


class Watched:
    """Resident memory every ten seconds, in a thread."""

    def __init__(self, process: int) -> None:
        self._folder = Path(f"/proc/{process}")
        self._begin, self._end = time.monotonic(), threading.Event()
        self.at: list[float] = []
        self.mb: list[float] = []

    def now(self) -> float:
        return time.monotonic() - self._begin

    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        fields = (self._folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def look(self) -> None:
        lines = (self._folder / "status").read_text(encoding="utf-8").splitlines()
        self.mb.append(next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")))
        self.at.append(self.now())

    def __enter__(self) -> Self:
        def work() -> None:
            self.look()
            while not self._end.wait(EVERY):
                self.look()

        self._thread = threading.Thread(target=work)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()
        self.look()


def growth(watched: Watched, begin: float) -> dict[str, Any]:
    """Memory from a moment on: first and last quarter, and the slope of a line through all of it."""
    at, mb = np.array(watched.at), np.array(watched.mb)
    late = at >= begin
    at, mb = at[late], mb[late]
    quarter = max(1, len(mb) // 4)
    first, last = float(np.median(mb[:quarter])), float(np.median(mb[-quarter:]))
    slope = float(np.polyfit(at, mb, 1)[0]) if len(mb) > 2 else 0.0
    return {
        "memory": {"at_s": watched.at, "mb": watched.mb, "from_s": begin},
        "first_mb": first,
        "last_mb": last,
        "mb_a_minute": 60 * slope,
        "flat": last - first <= BOUND_MB,
    }


WORD = re.compile(r"(?<=[^\s()] )[^\s()]+(?=\))")


@dataclass
class Examples:
    """Trees with classes, and others made of them without an end."""

    name: str
    trees: tl.Treebank
    labels: list[str]
    _number: Iterator[int] = field(default_factory=itertools.count, repr=False)
    _random: random.Random = field(default_factory=lambda: random.Random(0), repr=False)

    def __post_init__(self) -> None:
        self._texts = [str(tree) for tree in self.trees]
        self._said = [" ".join(tree.words()) for tree in tl.datasets.flights(2000, 1)]

    def tree(self) -> str:
        """One of the trees with a word of its own, and another one that others have at that place."""
        text = self._random.choice(self._texts)
        places = list(WORD.finditer(text))
        at = self._random.choice(places).span()
        other = self._random.choice(WORD.findall(self._random.choice(self._texts)))
        return f"{text[: at[0]]}{other}{next(self._number)}{text[at[1] :]}"

    def bank(self, n: int) -> tl.Treebank:
        return tl.Treebank([self.tree() for _ in range(n)])

    def sentence(self) -> str:
        """A travel question with one word that nobody has seen."""
        words = self._random.choice(self._said).split()
        words[self._random.randrange(len(words))] += str(next(self._number))
        return " ".join(words)


def examples() -> Examples:
    """The TREC questions where they are; else travel questions by their first word."""
    try:
        trees, labels = questions()
        return Examples("TREC questions", trees, labels)
    except FileError:
        trees = tl.datasets.flights(4000)
        return Examples("generated travel questions", trees, [tree.words()[0] for tree in trees])


MIX = {"file": 20, "about": 3, "examples": 2, "compare": 40, "curve": 5, "sentence": 8, "why": 4, "judge": 18}
"""Of a hundred requests: a page with its files is opened, a slider is moved, sentences are parsed, trees are shown to the model."""
FILES = ("", "static/main.js", "static/trees.js", "static/tree-view.js", "static/explorer.css", "static/layouts.js")
LATEST = 30.0  # seconds after which an answer is an error


class Client:
    """One connection, which is made again when the server has ended it."""

    def __init__(self, port: int, known: Examples, seed: int) -> None:
        self.port, self.known, self.random = port, known, random.Random(seed)
        self.pipe: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.pair = known.tree(), known.tree()

    def question(self) -> tuple[str, str, bytes]:
        """Return the type, the address and the body of a request."""
        kind = self.random.choices(list(MIX), list(MIX.values()))[0]
        if kind == "file":
            return kind, f"/{self.random.choice(FILES)}", b""
        fields: dict[str, Any] = {}
        if kind in ("compare", "curve"):
            self.pair = self.pair[1], self.known.tree()
            kernel, lam = self.random.choice(["st", "sst", "pt"]), round(self.random.uniform(0.02, 1), 2)
            fields = {"a": self.pair[0], "b": self.pair[1], "kernel": kernel, "lam": lam, "normalized": self.random.random() < 0.3}  # fmt: skip
        elif kind in ("sentence", "why"):
            fields = {"sentence": self.known.sentence(), "k": 10, "a": 0, "b": 1}
        elif kind == "judge":
            fields = {"tree": self.known.tree()}
        return kind, f"/ask/{kind}", json.dumps(fields).encode()

    async def ask(self, address: str, body: bytes) -> tuple[int, bytes]:
        if self.pipe is None:
            self.pipe = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.pipe
        head = f"{'POST' if body else 'GET'} {address} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        writer.write(head.encode() + b"\r\n" + body)
        answered = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(answered.split("content-length: ")[1].split("\r\n")[0])
        content = await reader.readexactly(length)
        if "connection: close" in answered:
            self.close()
        return int(answered.split()[1]), content

    def close(self) -> None:
        if self.pipe is not None:
            self.pipe[1].close()
            self.pipe = None

    async def run(self, end: float, seen: list[tuple[str, float, str]]) -> None:
        """Ask, one question after the other; `seen` gets the kind, the seconds and what went wrong with each."""
        while time.monotonic() < end:
            kind, address, body = self.question()
            begin, wrong = time.monotonic(), ""
            try:
                async with asyncio.timeout(LATEST):
                    status, content = await self.ask(address, body)
                if status != 200:
                    wrong = str(status)
                elif body and b'"error"' in content[:20] and b"one parse only" not in content:
                    wrong = json.loads(content)["error"]["message"][:80]
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
                wrong = type(error).__name__
                self.close()
            seen.append((kind, time.monotonic() - begin, wrong))
        self.close()


async def _level(port: int, known: Examples, clients: int, seconds: float) -> list[tuple[str, float, str]]:
    end, seen = time.monotonic() + seconds, list[tuple[str, float, str]]()
    await asyncio.gather(*(Client(port, known, seed).run(end, seen) for seed in range(clients)))
    return seen


def levels(port: int, known: Examples, wanted: list[tuple[int, float]], cpu: Callable[[], float]) -> list[dict[str, Any]]:  # fmt: skip
    """For each number of clients and of seconds: requests a second, how late they are, what went wrong, the server's CPU time."""
    asyncio.run(_warm(port, known))
    rows = []
    for clients, seconds in wanted:
        before, begin = cpu(), time.monotonic()
        seen = asyncio.run(_level(port, known, clients, seconds))
        wall = time.monotonic() - begin
        times = 1e3 * np.array([each for _, each, _ in seen])
        kinds = {kind: 1e3 * np.array([each for other, each, _ in seen if other == kind]) for kind in MIX}
        rows.append(
            {
                "clients": clients, "seconds": wall, "requests": len(seen), "rate": len(seen) / wall, "median_ms": float(np.median(times)),
                "p99_ms": float(np.quantile(times, 0.99)), "worst_ms": float(times.max()), "cpu_ms": 1e3 * (cpu() - before) / len(seen),
                "errors": dict(Counter(wrong for _, _, wrong in seen if wrong)),
                "kinds": {kind: {"requests": len(each), "median_ms": float(np.median(each)), "p99_ms": float(np.quantile(each, 0.99))} for kind, each in kinds.items() if len(each)},
            }
        )  # fmt: skip
        print({key: value for key, value in rows[-1].items() if key != "kinds"}, flush=True)
    return rows


async def _warm(port: int, known: Examples) -> None:
    """The embedded ranker is made when it is first needed, and so is what looks for the nearest trees."""
    client = Client(port, known, 0)
    for what, fields in (("sentence", {"sentence": known.sentence()}), ("judge", {"tree": known.tree()})):
        await client.ask(f"/ask/{what}", json.dumps(fields).encode())
    client.close()


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
        data.write_text(
            "".join(f"{y}\t{x}\n" for x, y in zip(known.trees.strings(), known.labels, strict=True)), encoding="utf-8"
        )
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
        results = stored_results("load")
        results["made_by"] = writing.provenance("make load")
        results[name] = result | {"commit": results["made_by"]["commit"]}
        writing.write_results(writing.RESULTS, "load", results, page(results) if parts.keys() <= results.keys() else "")


if __name__ == "__main__":
    main()
