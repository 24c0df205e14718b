"""The same result whatever computes it: threads, tiles, files, Dask workers, device code, the order of examples, hash seeds.

To the bit where that is promised: threads (`gram`, docs/architecture.md), files that are gone on with (docs/scale.md), Dask workers
(docs/cluster.md), hash seeds. Else to 12 digits: tiles, another order of examples, devices (docs/gpu.md).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
from differ import CLOSE, Batch, check
from differ_kernels import KINDS, made, shown
from differ_structures import Structures

import treelet as tl
from definitions import rounding
from treelet.errors import TreeletWarning
from treelet.matrices.executors import ThreadExecutor
from treelet.matrices.tiles import Block

GROUP = "independence"
MATRICES = "matrices"


def compare(
    batch: Batch, what: str, found: Any, expected: Any, size: Any = None, close: float = CLOSE, **more: Any
) -> None:
    """Two matrices, which are one case; their values are counted besides."""
    batch.compare(what, found, expected, size, close, **({"cases": 1} | more))
    batch.count(values=np.size(expected))


def drawn(batch: Batch, n: int, m: int = 0, most: int = 8) -> tuple[Any, list[Any], list[Any]]:
    """A kernel, and examples for it."""
    random = batch.random
    kind = random.choice(KINDS)
    kernel, draw = made(random, kind, random.choice([0, 0, 1, 2])), Structures(random, most)
    batch.count(kernels=1, structures=n + m)
    return kernel, draw.examples(kind, n), draw.examples(kind, m)


def told(kernel: Any, X: list[Any], *more: Any) -> Any:
    return lambda place: f"kernel = {kernel!r}\n  X = [{', '.join(map(shown, X))}]; {more}; at {place}"


def near(
    batch: Batch,
    what: str,
    found: Any,
    expected: Any,
    kernel: Any,
    X: list[Any],
    Y: list[Any] | None = None,
    *more: Any,
) -> None:
    """Two matrices of a kernel, to rounding: of what its examples' own values are, or where more cancels, of that."""
    others = X if Y is None else Y
    size = np.sqrt(np.outer(np.abs(kernel.diag(X)), np.abs(kernel.diag(others))))
    slow = rounding.size(kernel)
    for i, j in np.argwhere(~(np.abs(found - expected) <= CLOSE * size)):
        size[i, j] = max(size[i, j], slow(X[i], others[j]))
    compare(batch, what, found, expected, size, tell=told(kernel, X, Y, *more))


# --- threads and tiles ----------------------------------------------------------------------------------------------


@check("threads", MATRICES, GROUP, "one thread, to the bit", least=2_000)
def threads(batch: Batch) -> None:
    kernel, X, Y = drawn(batch, batch.random.choice([5, 40, 90]), 20)
    K, R, diagonal = kernel(X), kernel(X, Y), kernel.diag(X)
    for n_jobs in (2, 3, 8):
        compare(batch, "threads", kernel(X, n_jobs=n_jobs), K, close=0, tell=told(kernel, X, n_jobs))
        compare(batch, "threads", kernel(X, Y, n_jobs=n_jobs), R, close=0, tell=told(kernel, X, Y, n_jobs))
        compare(batch, "threads", tl.gram(kernel, X, n_jobs=n_jobs), K, close=0, tell=told(kernel, X, n_jobs))
    compare(batch, "threads", kernel.diag(X), diagonal, close=0)
    compare(batch, "threads", K, K.T, close=0, cases=0, tell=told(kernel, X, "not symmetric"))


@check("tiles", MATRICES, GROUP, "the whole matrix at once", least=250)
def tiles(batch: Batch) -> None:
    random = batch.random
    kernel, X, Y = drawn(batch, random.choice([3, 12, 24]), 10)
    K, R = kernel(X), kernel(X, Y)
    for memory in (1, random.randint(2, 20_000), random.choice(["20kB", "200kB", "1GiB"])):
        out = np.full(K.shape, np.nan)
        tl.gram(kernel, X, memory=memory, out=out)
        near(batch, "tiles", out, K, kernel, X, None, memory)
        compare(batch, "tiles", out, out.T, close=0, cases=0, tell=told(kernel, X, memory, "not symmetric"))
        again = np.full(K.shape, np.nan)
        tl.gram(kernel, X, memory=memory, n_jobs=3, out=again)  # what three threads may take makes other tiles
        near(batch, "tiles by threads", again, K, kernel, X, None, memory)
        part = np.full(R.shape, np.nan)
        tl.gram(kernel, X, Y, memory=memory, n_jobs=2, out=part)
        near(batch, "tiles", part, R, kernel, X, Y, memory)
    rows = np.concatenate([kernel([x], X) for x in X])
    near(batch, "row by row", rows, K, kernel, X)
    half = np.full(K.shape, np.nan, np.float32)
    with np.errstate(over="ignore"):
        fits = np.isfinite(K.astype(np.float32)).all()
    if fits:
        tl.gram(kernel, X, out=half, n_jobs=2)
        size = np.maximum(np.abs(K), 1e-37)
        compare(batch, "float32", half, K, size, 2.0**-23, tell=told(kernel, X), aside=True)


@check("order of examples", MATRICES, GROUP, "the same values, each in its new place", least=1_500)
def order(batch: Batch) -> None:
    kernel, X, Y = drawn(batch, batch.random.choice([10, 40]), 10)
    places = batch.random.sample(range(len(X)), len(X))
    K = kernel(X)
    moved = [X[k] for k in places]
    near(batch, "order of examples", kernel(moved), K[np.ix_(places, places)], kernel, moved)
    near(batch, "order of a pair", kernel(Y, X).T, kernel(X, Y), kernel, X, Y)
    compare(batch, "forms of examples", kernel(kernel.coerce(X)), K, close=0, tell=told(kernel, X))


# --- files, workers, devices ----------------------------------------------------------------------------------------


@check("files", MATRICES, GROUP, "`gram` into memory; a run that was ended, to the bit", least=60)
def files(batch: Batch) -> None:
    random = batch.random
    kernel, X, _ = drawn(batch, random.choice([6, 40]))
    memory = random.choice([None, "60kB", "1MB"])
    K = np.empty((len(X), len(X)))
    tl.gram(kernel, X, memory=memory, out=K)
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "K.npy"
        written = np.array(tl.gram(kernel, X, memory=memory, out=name, n_jobs=random.choice([1, 3])))
        if memory is None:
            compare(batch, "files", written, K, close=0, tell=told(kernel, X))
        near(batch, "files by any tiles", written, K, kernel, X, None, memory)
        whole = np.array(tl.gram(kernel, X, memory=memory, out=Path(folder) / "whole.npy", resume=True))
        ended = Path(folder) / "ended.npy"
        with patch.object(ThreadExecutor, "compute", only_some), suppress(InterruptedError):
            tl.gram(kernel, X, memory=memory, out=ended, resume=True)
        batch.count(ended=int(not ended.exists()))
        again = np.array(tl.gram(kernel, X, memory="1GiB", n_jobs=3, out=ended, resume=True))
        compare(batch, "files that are gone on with", again, whole, close=0, tell=told(kernel, X, memory))


compute = ThreadExecutor.compute


def only_some(self: ThreadExecutor, job: Any, blocks: Any, *rest: Any) -> None:
    """Compute the first tiles of each block, as if the run were interrupted then."""
    compute(self, job, [Block(block.columns, block.tiles[:2]) for block in blocks], *rest)
    raise InterruptedError


_client: Any = None


@contextmanager
def client() -> Iterator[Any]:
    """Two workers, started once."""
    global _client  # noqa: PLW0603
    if _client is None:
        from distributed import Client, LocalCluster

        _client = Client(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50))
    yield _client


def close_client() -> None:
    """End the workers, if there are any."""
    if _client is not None:
        _client.cluster.close()
        _client.close()


@check("Dask workers", MATRICES, GROUP, "threads, to the bit", least=200)
def workers(batch: Batch) -> None:
    kernel, X, Y = drawn(batch, 120, 40)
    with client() as dask:
        compare(batch, "Dask workers", tl.gram(kernel, X, client=dask), kernel(X), close=0, tell=told(kernel, X))
        compare(
            batch, "Dask workers", tl.gram(kernel, X, Y, client=dask), kernel(X, Y), close=0, tell=told(kernel, X, Y)
        )


@check("device code", MATRICES, GROUP, "the core; device code in its build for the CPU", least=1_500)
def devices(batch: Batch) -> None:
    kernel, X, Y = drawn(batch, batch.random.choice([10, 50]), 20)
    budget = batch.random.choice([None, 50_000, 500_000])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TreeletWarning)  # of kernels that the CPU computes
        given = {"device": "emulated", "device_memory": budget}
        found, across = tl.gram(kernel, X, **given), tl.gram(kernel, X, Y, **given)
    near(batch, "device code", found, kernel(X), kernel, X, None, budget)
    near(batch, "device code", across, kernel(X, Y), kernel, X, Y, budget)


# --- learners and parsers -------------------------------------------------------------------------------------------


@check("learners and parsers by threads", "decisions and parses", GROUP, "one thread, to the bit", least=10_000)
def by_threads(batch: Batch) -> None:
    random = batch.random
    draw = Structures(random, 8)
    X, new = [draw.tree() for _ in range(24)], [draw.tree() for _ in range(40)]
    y, qid = batch.numpy.normal(size=24), np.arange(24) // 4
    kernel = random.choice(
        [tl.SubsetTree(0.4), tl.PartialTree(0.5, 0.6), tl.SubsetTree().normalized() + tl.Subtree(0.5)]
    )
    learners = [
        tl.KernelSVC(kernel, 2.0),
        tl.KernelSVR(kernel),
        tl.RLS(kernel, 0.5),
        tl.RankRLS(kernel, 0.5),
        tl.RankSVM(kernel),
        tl.VotedPerceptron(kernel, 2),
    ]
    for learner in learners:
        values = (np.arange(24) % 3,) if isinstance(learner, tl.KernelSVC) else (y,)
        more = (qid,) if "Rank" in type(learner).__name__ or "Voted" in type(learner).__name__ else ()
        said = []
        for n_jobs in (1, 3):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = learner.set_params(n_jobs=n_jobs).fit(X, *values, *more)
                said.append(fitted.decision_function(new) if values[0] is not y else fitted.predict(new))
        batch.compare("learners by threads", said[1], said[0], close=0, tell=told(learner, X, new))
    grammar = tl.PCFG.from_treebank([tree for tree in X if tree.children])
    sentences = [tree.words() for tree in new]
    one, two = (grammar.parse_all(sentences, k=3, n_jobs=n_jobs) for n_jobs in (1, 3))
    batch.compare("parsers by threads", two.logp, one.logp, close=0, aside=True)
    batch.equal("parsers by threads", two.trees.strings(), one.trees.strings(), cases=0)


def digests(seed: int, number: int) -> dict[str, str]:
    """What a process with whatever hash seed makes of one problem, digested: matrices, models, parses, files."""
    random = Random(f"{seed} hash seeds {number}")
    batch = Batch("hash seeds", seed, number)
    batch.random = random
    found: dict[str, Any] = {}
    for k in range(6):
        kernel, X, Y = drawn(batch, 20, 10)
        found[f"matrix {k}: {kernel!r}"] = kernel(X).tobytes() + kernel(X, Y).tobytes()
    draw = Structures(random, 8)
    X, y = [draw.tree() for _ in range(16)], np.arange(16) % 2
    kernel = tl.SubsetTree(0.4).normalized() + tl.PartialTree(0.4, 0.4)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for learner in (tl.KernelSVC(kernel), tl.RLS(kernel), tl.VotedPerceptron(kernel, 2), tl.RankSVM(kernel)):
            fitted = learner.fit(X, y, *([np.arange(16) // 4] if hasattr(learner, "rank") else []))
            found[type(learner).__name__] = np.asarray(fitted.predict(X)).tobytes() + fitted.dual_coef_.tobytes()
            found[f"explained {type(learner).__name__}"] = str(
                [(str(one.tree), one.weight) for one in tl.top_fragments(fitted, 12)]
            ).encode()
        features = tl.FragmentFeatures(kernel=tl.SubsetTree(), n=40).fit(X)
        found["features"] = (
            "\n".join(features.get_feature_names_out()).encode() + features.transform(X).toarray().tobytes()
        )
        found["sketch"] = tl.TreeSketch(n_components=64, random_state=0).fit(X).transform(X).tobytes()
        landmarks = tl.Nystroem(kernel, n_components=6, random_state=0).fit(X)
        found["landmarks"] = landmarks.component_indices_.tobytes() + landmarks.transform(X).tobytes()
        bank = [tree for tree in X if tree.children]
        grammar = tl.PCFG.from_treebank(bank, markov=random.choice([None, 1]), parent=random.choice([False, True]))
        grammar.save(Path(folder) / "g.json")
        found["grammar"] = (Path(folder) / "g.json").read_bytes()
        parses = grammar.parse_all([tree.words() for tree in X], k=4)
        found["parses"] = "\n".join(parses.trees.strings()).encode() + parses.logp.tobytes()
        forest = next((forest for forest in grammar.forests([tree.words() for tree in X]) if forest), None)
        found["forest"] = b"" if forest is None else forest.to_json().encode()
        found["drawn"] = "\n".join(grammar.sample(30, 1, max_words=20).strings()).encode()
        tagger = tl.parsing.HMM.from_tagged([draw.tagged() for _ in range(6)], order=random.choice([1, 2]))
        found["tags"] = str(tagger.tag(list(draw.words[:3]), k=5)).encode()
        values, indices = tl.nearest(kernel, X, k=5)
        found["neighbors"] = values.tobytes() + indices.tobytes()
        table = tl.structures.Table({"tree": X, "f": [{name: draw.number() for name in "pqr"} for _ in X]})
        both = tl.On("tree", kernel) + tl.On("f", tl.Linear())
        found["columns"] = both(table).tobytes()
        machine = tl.RLS(both).fit(table, y.astype(float))
        machine.__dict__.pop("training_", None)
        tl.save(machine, Path(folder) / "m.treelet")
        found["a model's file"] = (Path(folder) / "m.treelet").read_bytes()
    return {name: sha256(content).hexdigest() for name, content in found.items()}


SEEDS = ("0", "1", "42", "4294967295")


@check(
    "hash seeds", "results", GROUP, "the same in processes with other values of PYTHONHASHSEED, to the bit", least=1_900
)
def hash_seeds(batch: Batch) -> None:
    """One process a hash seed, each with the same problems."""
    found = []
    each = 5
    for hash_seed in SEEDS:
        command = [sys.executable, __file__, str(batch.seed), str(batch.number * each), str(each)]
        environment = os.environ | {
            "PYTHONHASHSEED": hash_seed,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if run.returncode:
            raise AssertionError(run.stderr[-3000:])
        found.append(json.loads(run.stdout))
    for hash_seed, other in zip(SEEDS[1:], found[1:], strict=True):
        different = [name for name in found[0] if other.get(name) != found[0][name]]
        batch.equal("hash seeds", different, [], cases=len(found[0]), tell=f"PYTHONHASHSEED={SEEDS[0]} and {hash_seed}")
    batch.count(processes=len(SEEDS))


if __name__ == "__main__":
    seed, first, count = map(int, sys.argv[1:])
    print(
        json.dumps(
            {f"{k} {name}": value for k in range(first, first + count) for name, value in digests(seed, k).items()}
        )
    )
