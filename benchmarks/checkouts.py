"""Compare two checkouts: are the values the same, and is anything slower?

    OLD/.venv/bin/python benchmarks/checkouts.py values old.npz
    NEW/.venv/bin/python benchmarks/checkouts.py values new.npz
    python benchmarks/checkouts.py compare old.npz new.npz
    python benchmarks/checkouts.py speed OLD NEW [--rounds 5] [--only TEXT] [--small]

``values`` computes named arrays with the treelet that this Python imports. ``compare`` reports for each array whether it
is equal to the bit, else the largest relative difference. ``speed`` runs the same jobs in processes of both checkouts,
by turns, and prints old / new: below 0.97 the new checkout is slower. With --small it runs only calls with one pair of
small trees. Only public names are used, so that the program works with any version, whichever checkout it lies in.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import statistics
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np

Arrays = dict[str, Any]
SIZE = 160  # trees per side of most matrices
SMALL = "(S (NP (D the) (N dog)) (VP (V barks)))", "(S (NP (D the) (N cat)) (VP (V sleeps)))"


# --- data ---------------------------------------------------------------------------------------------------------


def corpus(file: str) -> Path:
    """Return a file of the data folder that docs/data.md describes, compressed or not."""
    path = Path(os.environ.get("TREELET_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data", file)
    return path if path.exists() else path.with_name(f"{path.name}.xz")


def lines(path: Path) -> list[str]:
    data = path.read_bytes()
    return (lzma.decompress(data) if path.suffix == ".xz" else data).decode().splitlines()


@cache
def wsj() -> Any:
    import treelet as tl

    return tl.read_trees(corpus("ptb_sample/wsj_sample.clean.tsv"), format="tsv")


@cache
def questions(part: str) -> Any:
    import treelet as tl

    path = corpus(f"qc_trees/{part}.tsv")
    return tl.read_trees(path, format="tsv"), [line.split(":")[0] for line in lines(path)]


@cache
def flights(n: int) -> Any:
    import treelet as tl

    return tl.datasets.flights(n)


def sentences(bank: Any) -> list[list[str]]:
    return [tree.words() for tree in bank]


def tagged(bank: Any) -> list[str]:
    """Words with their tags, as ``the/D dog/N``, without words that contain a slash."""
    nodes = ([node for node in tree.nodes() if node.is_preterminal] for tree in bank)
    return [" ".join(f"{n.words()[0]}/{n.label}" for n in some if "/" not in n.words()[0] + n.label) for some in nodes]


def deep(n: int) -> list[str]:
    """Trees whose self-values do not fit a float64 unless there is decay."""
    return ["(S (A a) " * depth + f"(B b{depth % 3})" + ")" * depth for depth in range(1100, 1100 + n)]


@cache
def ranked() -> tuple[list[Any], Any, Any]:
    """Link Grammar's parses of some sentences, how good each is, and its sentence."""
    import treelet as tl

    lists = [json.loads(line)["parses"] for line in lines(corpus("lg_parse_ranking/craft1100_lg20.jsonl"))[:60]]
    chosen = [parses for parses in lists if len(parses) > 1]
    parses = [tl.structures.from_linkage(one["words"], one["links"]) for parses in chosen for one in parses]
    goodness = np.array([float(one["f1"]) for parses in chosen for one in parses])
    return parses, goodness, np.repeat(np.arange(len(chosen)), [len(parses) for parses in chosen])


@cache
def forests(n: int) -> Any:
    import treelet as tl

    grammar = tl.PCFG.from_treebank(flights(400))
    return grammar.forests(sentences(flights(400)[:n]), prune=6.0)


# --- values -------------------------------------------------------------------------------------------------------


def kernel_values() -> Arrays:
    import treelet as tl

    X, Y = wsj()[:SIZE], wsj()[1000 : 1000 + SIZE]
    rng = np.random.default_rng(0)
    words = sorted({word for tree in X for word in tree.words()})
    vectors = dict(zip(words, rng.normal(size=(len(words), 5)), strict=True))
    sst, pt = tl.SubsetTree(lam=0.4), tl.PartialTree(lam=0.4, mu=0.4)
    table = [{"tree": tree, "numbers": numbers} for tree, numbers in zip(X, rng.normal(size=(SIZE, 3)), strict=True)]
    bags = [list(X[at : at + 3]) for at in range(0, SIZE - 3, 2)]
    parses = ranked()[0][:SIZE]
    gradient = sst.normalized()(X[:60], eval_gradient=True)[1]
    return {
        "st": tl.Subtree(lam=0.4)(X),
        "sst": sst(X),
        "sst rectangular": sst(X, Y),
        "sst max_depth": tl.SubsetTree(lam=0.4, max_depth=3)(X, Y),
        "sst leaves": tl.SubsetTree(lam=0.4, leaves=True)(X),
        "sst diagonal": sst.diag(wsj()),
        "pt": pt(X),
        "pt without leaves": tl.PartialTree(lam=0.4, mu=0.4, leaves=False)(X),
        "pt terminal_factor": tl.PartialTree(lam=0.3, mu=0.5, terminal_factor=0.5)(X, Y),
        "forest": tl.ForestKernel(lam=0.4)(forests(80)),
        "forest leaves": tl.ForestKernel(lam=0.4, leaves=True)(forests(80), forests(40)),
        "tagging": tl.Tagging(lam=0.5)(tagged(X)),
        "subsequence": tl.Subsequence(lam=0.5, length=2)(sentences(X[:80])),
        "locality count": tl.Locality(window=5, match="count")(sentences(X)),
        "locality exact": tl.Locality(window=5, match="exact")(sentences(X)),
        "locality position": tl.Locality(window=5, theta=0.5)(parses),
        "smoothed": tl.Smoothed(vectors, threshold=0.5)(X[:60]),
        "sum": (0.6 * sst.normalized() + 0.4 * pt.normalized())(X, Y),
        "product": (sst.normalized() * pt.normalized())(X),
        "normalized": sst.normalized()(X),
        "normalized pt": pt.normalized()(X, Y),
        "normalized in logarithms": tl.SubsetTree(lam=1).normalized()(deep(20)),
        "gaussian": sst.normalized().gaussian(0.8)(X, Y),
        "polynomial": sst.normalized().polynomial(2, 0.5)(X),
        "distance": sst.normalized().distance()(X, Y),
        "on": (tl.On("tree", sst.normalized()) + tl.On("numbers", tl.Linear()))(table),
        "vectors": tl.Polynomial(3, 1.0, 0.5)(rng.normal(size=(SIZE, 4))),
        "bags": tl.Bag(sst)(bags),
        "bags normalized": tl.Bag(sst.normalized())(bags),
        "gradient": gradient,
    }


def gram_values() -> Arrays:
    import treelet as tl
    from treelet.matrices import operator, reduce

    X, Y = wsj()[:400], wsj()[500:620]
    sst, pt = tl.SubsetTree(lam=0.4), tl.PartialTree(lam=0.4, mu=0.4)
    with tempfile.TemporaryDirectory() as folder:
        file = np.array(tl.gram(sst.normalized(), X, out=f"{folder}/K.npy"))
        resumed = np.array(tl.gram(pt, Y, X, out=f"{folder}/R.npy", resume=True, memory="1MB"))
    largest = np.zeros(len(Y))

    def add(rows: slice, columns: slice, values: Any) -> None:
        largest[rows] = np.maximum(largest[rows], np.where(values < 0.999, values, 0).max(axis=1))

    reduce(sst.normalized(), Y, None, add)
    values, indices = tl.nearest(sst.normalized(), wsj(), Y, k=10)
    own_values, own_indices = tl.nearest(pt.normalized(), wsj()[:500], k=5)
    graph = tl.nearest(sst.normalized(), wsj()[:800], threshold=0.25, graph=True)
    return {
        "gram in tiles": tl.gram(sst, X, memory="3MB"),
        "gram of two threads": tl.gram(pt, Y, X, n_jobs=2),
        "gram float32": tl.gram(sst.normalized(), Y, X, dtype="float32"),
        "gram in a file": file,
        "gram resumed": resumed,
        "gram emulated": np.asarray(tl.gram(sst, X[:60], device="emulated", out=np.empty((60, 60)))),
        "gram emulated pt": np.asarray(tl.gram(pt, X[:30], device="emulated", out=np.empty((30, 30)))),
        "nearest values": values,
        "nearest indices": indices,
        "nearest pt values": own_values,
        "nearest pt indices": own_indices,
        "nearest graph": graph.toarray()[:, :100],
        "operator": operator(sst.normalized(), X, memory="20MB") @ np.random.default_rng(1).normal(size=(len(X), 3)),
        "operator transposed": operator(sst, X, Y).T @ np.ones(len(X)),
        "reduce": largest,
    }


def learned_values() -> Arrays:
    import treelet as tl

    (bank, classes), (test, _) = questions("train"), questions("test")
    X, y, two = bank[:400], classes[:400], [name == "HUM" for name in classes[:400]]
    kernel = tl.SubsetTree(lam=0.4).normalized()
    lengths = np.array([len(tree.words()) for tree in X], float)
    ovr = tl.KernelSVC(kernel, C=2).fit(X, y)
    plain = tl.KernelSVC(tl.PartialTree(lam=0.3, mu=0.3), C=1).fit(X[:200], two[:200])
    rls = tl.RLS(kernel, alphas=[0.1, 1.0, 10.0]).fit(X, lengths)
    parses, goodness, qid = ranked()
    locality = tl.Locality(window=3, match="count").normalized()
    rank_rls = tl.RankRLS(locality, alpha=1.0).fit(parses, goodness, qid)
    explained = [tl.explain(ovr, tree, output) for tree in test[:6] for output in ("HUM", "NUM")]
    features = tl.FragmentFeatures(ovr, n=300).fit(X)
    shared = tl.shared_fragments(wsj()[0], wsj()[1], tl.SubsetTree(lam=0.4))
    with tempfile.TemporaryDirectory() as folder:
        tl.save(ovr, f"{folder}/m.treelet")
        loaded = tl.load(f"{folder}/m.treelet").decision_function(test[:200])
    return {
        "svc one-vs-rest": ovr.decision_function(test),
        "svc two classes, pt": plain.decision_function(test),
        "svc in logarithms": tl.KernelSVC(tl.SubsetTree(lam=1).normalized()).fit(deep(12), [0, 1] * 6).decision_function(deep(24)),
        "svc loaded": loaded,
        "svr": tl.KernelSVR(kernel, C=5).fit(X, lengths).predict(test),
        "rls": rls.predict(test),
        "rls path": path_values(rls.path([0.01, 0.1, 1.0, 10.0])),
        "rls left out": rls.held_out(np.arange(len(X))),
        "rls folds": rls.held_out(np.arange(len(X)) % 5),
        "rank rls": rank_rls.predict(parses),
        "rank rls path": path_values(rank_rls.path([0.1, 1.0])),
        "rank rls folds": rank_rls.held_out(qid % 5),
        "rank svm": tl.RankSVM(locality).fit(parses[:300], goodness[:300], qid[:300]).predict(parses),
        "perceptron averaged": tl.VotedPerceptron(locality, epochs=2).fit(parses, goodness, qid).predict(parses),
        "perceptron voted": tl.VotedPerceptron(locality, prediction="voted").fit(parses, goodness, qid).predict(parses, qid),
        "nystroem": tl.Nystroem(kernel, n_components=60, random_state=0).fit(X).transform(test),
        "sketch": tl.TreeSketch(kernel, n_components=256, random_state=0).fit(X).transform(test),
        "explain scores": [(one.score, one.intercept, one.rest) for one in explained],
        "explain shares": [part.share for one in explained for part in one.fragments],
        "explain nodes": [part.share for one in explained for part in one.heat],
        "top fragments": [part.weight for part in tl.top_fragments(ovr, 100, "HUM")],
        "shared fragments": [part.contribution for part in shared],
        "fragment features": features.transform(test).toarray(),
    }  # fmt: skip


def path_values(path: Any) -> Any:
    return np.concatenate([path.errors, path.loo_predictions.ravel()])


def parsed_values() -> Arrays:
    import treelet as tl
    from treelet import metrics

    train, test = flights(500)[:400], flights(500)[400:]
    grammar = tl.PCFG.from_treebank(train)
    parses = [grammar.parse(words, k=20) for words in sentences(test[:60])]
    best = [some[0][0] if some else None for some in parses]
    qid = np.repeat(np.arange(len(parses)), [len(some) for some in parses])
    scores = np.array([logp for some in parses for _, logp in some])
    counts = metrics.candidate_scores(test[:60], [tree for some in parses for tree, _ in some], qid)
    test_result = metrics.paired_bootstrap(counts.goodness, scores / scores.min(), n=500, random_state=0)
    some = [forest for forest in forests(80)[:30] if forest is not None]
    markov = tl.PCFG.from_treebank(wsj()[:500], markov=2)
    return {
        "k-best log probabilities": scores,
        "k-best, markov": [logp for words in sentences(wsj()[:6]) for _, logp in markov.parse(words[:15], k=10)],
        "forests inside": np.concatenate([forest.inside(log=True) for forest in some]),
        "forests posterior": np.concatenate([forest.posterior() for forest in some]),
        "labeled f1": [metrics.labelled_f1(test[:60], best)],
        "candidate counts": np.column_stack([counts.matched, counts.gold, counts.proposed]),
        "parse scores": counts.goodness,
        "kendall": metrics.kendall_tau_by_group(scores, counts.goodness, qid),
        "bootstrap": [test_result.difference, test_result.p_value, *test_result.interval],
    }


PARTS: tuple[Callable[[], Arrays], ...] = kernel_values, gram_values, learned_values, parsed_values


def values(file: str) -> None:
    """Compute all arrays and save them."""
    warnings.simplefilter("ignore")
    arrays: dict[str, Any] = {}
    for part in PARTS:
        start = time.perf_counter()
        arrays |= {name: np.asarray(array) for name, array in part().items()}
        print(f"{part.__name__}: {time.perf_counter() - start:.1f} s", flush=True)
    odd = [name for name, array in arrays.items() if array.dtype.kind not in "fiu" or not array.size]
    if odd:
        raise SystemExit(f"These results are not arrays of numbers: {', '.join(map(str, odd))}.")
    np.savez(file, **arrays)
    print(f"{len(arrays)} arrays, {sum(array.size for array in arrays.values()):,} numbers: {file}")


def compare(old: str, new: str) -> int:
    """Print how each array differs; 1 if any does by more than 1e-14."""
    rows, worst = [], 0.0
    with np.load(old) as before, np.load(new) as after:
        names = sorted(set(before.files) | set(after.files))
        for name in names:
            if name not in before.files or name not in after.files:
                rows.append((name, "missing in one of the files"))
                worst = np.inf
                continue
            difference = largest_difference(before[name], after[name])
            worst = max(worst, difference)
            rows.append((name, "equal to the bit" if difference == 0 else f"{difference:.2g}"))
    equal = sum(result == "equal to the bit" for _, result in rows)
    for name, result in rows:
        print(f"| {name} | {result} |")
    print(f"{equal} of {len(rows)} arrays are equal to the bit; the largest relative difference is {worst:.2g}")
    return int(worst > 1e-14)


def largest_difference(a: Any, b: Any) -> float:
    """The largest relative difference of two arrays: 0 if they are equal to the bit, inf if their shapes or types differ.

    Differences of array elements are divided by the element, and by the largest one of the array times 1e-6 where it is
    smaller than that: a value that is a sum of large ones and nearly 0 has no relative precision of its own.
    """
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.tobytes() == b.tobytes():
        return 0.0
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    there = np.isfinite(a)
    a, b = a[there].astype(float), b[there].astype(float)
    scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-6 * np.abs(a).max(initial=0) + np.finfo(float).tiny)
    return max(float(np.max(np.abs(a - b) / scale, initial=0)), np.finfo(float).tiny)


# --- speed --------------------------------------------------------------------------------------------------------


def fresh(bank: Any) -> Any:
    """Return the same trees without cached values."""
    import treelet as tl

    return tl.Treebank.from_columns(bank.columns)


def svc() -> Any:
    import treelet as tl

    bank, classes = questions("train")
    return tl.KernelSVC(tl.SubsetTree(lam=0.4).normalized()).fit(bank[:400], classes[:400])


def matrix_job(kernel: Any, n: int) -> Callable[[], object]:
    bank = wsj()[:n].compact()
    return lambda: kernel(fresh(bank))


def job(name: str) -> Callable[[], object]:
    """A main job, everything that it needs made ready."""
    import treelet as tl

    sst, pt = tl.SubsetTree(lam=0.4), tl.PartialTree(lam=0.4, mu=0.4)
    if name.startswith(("sst ", "pt ")):
        kernel, n = name.split()
        return matrix_job(sst if kernel == "sst" else pt, int(n))
    if name == "predict one tree":
        model, texts = svc(), questions("test")[0].strings()
        return lambda: [model.predict([text]) for text in texts]
    if name == "predict 500 trees":
        model, bank = svc(), questions("test")[0]
        return lambda: model.predict(fresh(bank))
    if name == "nearest":
        bank, queries = wsj(), wsj()[:100].compact()
        return lambda: tl.nearest(sst.normalized(), bank, fresh(queries), k=10)
    if name == "explain one tree":
        model, trees = svc(), list(questions("test")[0][:10])
        return lambda: [tl.explain(model, tree, "HUM") for tree in trees]
    if name == "fit":
        bank, classes = questions("train")
        return lambda: tl.KernelSVC(sst.normalized()).fit(fresh(bank[:1500]), classes[:1500])
    if name == "parse":
        grammar, some = tl.PCFG.from_treebank(flights(500)[:400]), sentences(flights(500)[400:440])
        return lambda: [grammar.parse(words, k=20) for words in some]
    if name == "read":
        folder = tempfile.mkdtemp()
        wsj().write(f"{folder}/trees.mrg")
        return lambda: tl.read_trees(f"{folder}/trees.mrg")
    raise SystemExit(f"There is no job {name!r}.")


JOBS = {
    "sst 500": 60, "sst 3914": 10, "pt 500": 30, "pt 3914": 3, "predict one tree": 15, "predict 500 trees": 80, "nearest": 12,
    "explain one tree": 40, "fit": 8, "parse": 60, "read": 25,
}  # fmt: skip
"""Number of runs of each job per process; the minimum counts."""
TARGETS = {"banks": 45, "strings": 110, "normalized, banks": 100, "normalized, strings": 220, "predict one tree": 130}
"""Most microseconds per small call, by issue."""


def small_calls() -> dict[str, Callable[[], object]]:
    """Calls with one pair of small trees, by name."""
    import treelet as tl

    first, second = SMALL
    X, Y = tl.Treebank([first]), tl.Treebank([second])
    sst = tl.SubsetTree(lam=0.4)
    cosine = sst.normalized()
    bank = flights(100)
    labels = [len(tree.words()) > 10 for tree in bank]
    model, plain = tl.KernelSVC(cosine).fit(bank, labels), tl.KernelSVC(sst).fit(bank, labels)
    return {
        "banks": lambda: sst(X, Y),
        "strings": lambda: sst([first], [second]),
        "normalized, banks": lambda: cosine(X, Y),
        "normalized, strings": lambda: cosine([first], [second]),
        "predict one tree": lambda: model.predict([first]),
        "predict one tree, not normalized": lambda: plain.predict([first]),
    }


def microseconds(call: Callable[[], object], times: int = 3000) -> float:
    """The median time of a call."""
    for _ in range(300):
        call()
    seconds = []
    for _ in range(times):
        start = time.perf_counter_ns()
        call()
        seconds.append(time.perf_counter_ns() - start)
    return statistics.median(seconds) / 1000


def timed(name: str) -> dict[str, float]:
    """The CPU seconds of a job, the best of some; or the microseconds of each small call."""
    warnings.simplefilter("ignore")
    if name == "small":
        return {what: microseconds(call) for what, call in small_calls().items()}
    work, seconds = job(name), []
    for _ in range(JOBS[name]):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return {name: min(seconds)}


def speed(old: str, new: str, rounds: int, only: str, small: bool) -> None:
    """Run jobs in both checkouts by turns, and print best and median times."""
    names = ["small"] if small else [name for name in [*JOBS, "small"] if only in name]
    times: dict[str, tuple[list[float], list[float]]] = {}
    for name in names:
        for turn in range(rounds):
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                folder = Path((old, new)[side]).resolve()
                command = [str(folder / ".venv" / "bin" / "python"), str(Path(__file__).resolve()), "time", name]
                run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
                for what, value in json.loads(run.stdout.splitlines()[-1]).items():
                    times.setdefault(f"{what}, µs" if name == "small" else f"{what}, s", ([], []))[side].append(value)
        if name == names[0]:
            print("| job | best, old | best, new | old / new | median, old | median, new | old / new | target |")
            print("|---|---:|---:|---:|---:|---:|---:|---:|")
        for what in [what for what in times if (what.endswith("µs")) == (name == "small")]:
            if name == "small" or what == f"{name}, s":
                print(row(what, *times[what]), flush=True)


def row(what: str, before: list[float], after: list[float]) -> str:
    best, middle = (min(before), min(after)), (statistics.median(before), statistics.median(after))
    cells = [what, *map(number, best), f"{best[0] / best[1]:.3f}", *map(number, middle), f"{middle[0] / middle[1]:.3f}"]
    target = TARGETS.get(what.removesuffix(", µs"), "") if what.endswith("µs") else ""
    return "| " + " | ".join([*cells, str(target)]) + " |"


def number(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("values").add_argument("file")
    comparing = commands.add_parser("compare")
    comparing.add_argument("old")
    comparing.add_argument("new")
    racing = commands.add_parser("speed")
    racing.add_argument("old")
    racing.add_argument("new")
    racing.add_argument("--rounds", type=int, default=5)
    racing.add_argument("--only", default="", metavar="TEXT", help="only jobs with this text in their names")
    racing.add_argument("--small", action="store_true", help="only the small calls")
    commands.add_parser("time").add_argument("job")  # one process of `speed`
    options = parser.parse_args()
    if options.command == "values":
        values(options.file)
    elif options.command == "compare":
        raise SystemExit(compare(options.old, options.new))
    elif options.command == "time":
        print(json.dumps(timed(options.job)))
    else:
        speed(options.old, options.new, options.rounds, options.only, options.small)


if __name__ == "__main__":
    main()
