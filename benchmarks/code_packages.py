"""The package that a Python function comes from: exact tree kernels, sketches, token n-grams and sums, by number of functions.

Writes docs/results/code-packages.md, .json and .png. The sources of six packages are downloaded with pip into FOLDER, once, and are
never part of the repository: ``python -m benchmarks.code_packages FOLDER``. Without a connection, the benchmark stops with the reason.
Results are stored after each system, and systems that are stored are not measured again; ``--sizes 10000 30000`` limits the sizes, and
``--systems`` the systems.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import LinearSVC

import treelet as tl
from benchmarks.common import Results, publish, stored_results
from experiments import writing
from experiments.evaluation import bootstrap_score, compare, split_items, tune
from experiments.roles_at_scale import measured
from treelet.errors import FileError
from treelet.kernels import Kernel, Linear, On
from treelet.structures import Table

NAME = "code-packages"
PACKAGES = ("homeassistant", "pandas", "sympy", "twisted", "scipy", "sqlalchemy")
LEAST, MOST = 20, 150
"""Nodes of the smallest and of the largest function."""
SIZES = (10_000, 30_000, 100_000)
"""Numbers of training functions; the last is limited by the number of functions."""
TEST, DEV, FIT = 10_000, 3000, 2500
FORMS = {"anonymous": "names that a function binds are replaced", "keep": "all names"}
Rows = NDArray[np.intp]


# --- Data ---------------------------------------------------------------------------------------------------------


def download(folder: Path) -> dict[str, str]:
    """Download and unpack the packages. Return their versions. Raise `FileError` if a package cannot be downloaded."""
    wheels = folder / "wheels"
    versions = {}
    for package in PACKAGES:
        if not list(wheels.glob(f"{package}-*.whl")):
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(wheels), package]  # fmt: skip
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode:
                reason = (result.stderr.strip().splitlines() or ["no message"])[-1]
                raise FileError(f"pip could not download {package}: {reason}. Put its wheel into {wheels}.")
        wheel = next(wheels.glob(f"{package}-*.whl"))
        versions[package] = wheel.name.split("-")[1]
        if not (folder / package).exists():
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder / package, [name for name in archive.namelist() if name.endswith(".py")])
    return versions


class Function(NamedTuple):
    """A function: its tree in each of the `FORMS`, its source text, and the names that it binds."""

    trees: dict[str, str]
    text: str
    bound: dict[str, str]
    package: str
    file: str


def read_functions(folder: Path) -> list[Function]:
    """Read the distinct functions of all packages, without docstrings. The result is cached in the folder."""
    stored = folder / "functions.pickle"
    if stored.exists():
        with stored.open("rb") as stream:
            return [Function(*row) for row in pickle.load(stream)]
    functions: dict[str, Function] = {}
    for package in PACKAGES:
        kept, anonymous = (tl.read_code(folder / package, each="function", identifiers=form) for form in ("keep", "anonymous"))  # fmt: skip
        for names, tree, place in zip(kept.strings(), anonymous.strings(), anonymous.places, strict=True):
            labels = _labels(tree)
            if LEAST <= len(labels) <= MOST and tree not in functions:
                bound = {a: b for a, b in zip(_labels(names), labels, strict=True) if a != b}
                text = "\n".join(_lines(place.file)[place.line - 1 : place.end_line])
                file = Path(place.file).relative_to(folder).as_posix()
                functions[tree] = Function({"keep": names, "anonymous": tree}, text, bound, package, file)
    with stored.open("wb") as stream:
        pickle.dump([tuple(function) for function in functions.values()], stream)
    return list(functions.values())


def _labels(tree: str) -> list[str]:
    """Return the labels of a tree in preorder."""
    return re.findall(r'"(?:\\.|[^"\\])*"|[^\s()]+', tree)


@cache
def _lines(file: str) -> list[str]:
    return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()


TOKEN = re.compile(
    r"#[^\n]*|[rbfuRBFU]{0,2}(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|\w+|[^\w\s]"
)


def tokens(function: Function, form: str) -> list[str]:
    """Return the tokens of the source, without comments and docstrings, with the same names as the tree of this form."""
    found: list[str] = []
    depth = 0
    for token in TOKEN.findall(function.text):
        if token[0] == "#" or (depth == 0 and found[-1:] == [":"] and token[-1] in "\"'"):
            continue
        depth += (token in "([{") - (token in ")]}")
        found.append(function.bound.get(token, token) if form == "anonymous" else token)
    return found


class Parts(NamedTuple):
    """Rows for training in random order, for choosing settings, and for testing. No file is in two parts."""

    train: Rows
    dev: Rows
    test: Rows


def split_files(functions: Sequence[Function], seed: int = 0) -> Parts:
    rng = np.random.default_rng(seed)
    names = sorted({function.file for function in functions})
    rank = {names[k]: place for place, k in enumerate(rng.permutation(len(names)))}
    places = np.array([rank[function.file] for function in functions])
    order = np.argsort(places, kind="stable")
    last = places[order[[TEST, TEST + DEV]]]
    test, dev, train = (np.flatnonzero(rows) for rows in (places < last[0], (places >= last[0]) & (places < last[1]), places >= last[1]))  # fmt: skip
    return Parts(rng.permutation(train), dev, test)


# --- Systems ------------------------------------------------------------------------------------------------------

SST, PT, SKETCH, NGRAMS, SUM = "SST, exact", "PT, exact", "TreeSketch + linear", "token n-grams", "SST + n-grams, exact"
GRIDS: dict[str, dict[str, Sequence[Any]]] = {
    NGRAMS: {"n": (1, 2, 3, 4), "C": (0.1, 0.3, 1.0, 3.0, 10.0)},
    SST: {"lam": (0.05, 0.1, 0.2, 0.4, 0.6), "C": (1.0, 3.0, 10.0, 30.0)},
    SKETCH: {"lam": (0.05, 0.1, 0.2, 0.4), "alpha": (0.1, 0.3, 1.0, 3.0)},
    SUM: {"weight": (0.3, 0.5, 0.7, 0.85)},
    PT: {"lam": (0.1, 0.2, 0.4), "C": (3.0, 10.0, 30.0)},
}
STARTS: dict[str, dict[str, Any]] = {
    NGRAMS: {"n": 2, "C": 1.0},
    SST: {"lam": 0.2, "C": 10.0},
    SKETCH: {"lam": 0.2, "alpha": 0.3},
    SUM: {"weight": 0.5},
    PT: {"lam": 0.2, "mu": 0.4, "C": 10.0},
}
COMPONENTS = 2048


class Learner:
    """Fits systems to functions in one form."""

    def __init__(self, functions: Sequence[Function], form: str, n_jobs: int) -> None:
        self.functions, self.form, self.n_jobs = functions, form, n_jobs
        self.packages = np.array([function.package for function in functions])

    def trees(self, rows: Rows) -> tl.Treebank:
        return tl.Treebank([self.functions[k].trees[self.form] for k in rows])

    def ngrams(self, n: int, train: Rows, test: Rows) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Return tf-idf vectors of length 1, of the n-grams of at least two training functions."""
        vectorizer = TfidfVectorizer(analyzer=lambda row: _ngrams(tokens(self.functions[row], self.form), n), min_df=2, sublinear_tf=True, dtype=np.float32)  # fmt: skip
        return vectorizer.fit_transform(train), vectorizer.transform(test)

    def predict(self, system: str, setting: dict[str, Any], train: Rows, test: Rows) -> tuple[Any, Results]:
        """Return predictions and the cost of training: features and classifier, from trees or tokens on."""
        y = self.packages[train]
        if system == NGRAMS:
            (X, X_test), features = measured(lambda: self.ngrams(setting["n"], train, test))
            model, cost = measured(lambda: LinearSVC(C=setting["C"], random_state=0).fit(X, y))
            return model.predict(X_test), _cost(cost, features)
        trees, test_trees = self.trees(train), self.trees(test)
        if system == SKETCH:
            sketch = tl.TreeSketch(tl.SubsetTree(setting["lam"]).normalized(), COMPONENTS, random_state=0)
            vectors, features = measured(lambda: sketch.fit_transform(trees))
            model, cost = measured(lambda: RidgeClassifier(alpha=setting["alpha"]).fit(vectors, y))
            return model.predict(sketch.transform(test_trees)), _cost(cost, features)
        X, X_test, extra = trees, test_trees, None
        if system == SUM:
            (flat, flat_test), extra = measured(lambda: self.ngrams(setting["n"], train, test))
            X, X_test = Table({"tree": trees, "ngrams": flat}), Table({"tree": test_trees, "ngrams": flat_test})
        classifier = tl.KernelSVC(make_kernel(system, setting), C=setting["C"], n_jobs=self.n_jobs)
        model, cost = measured(lambda: classifier.fit(X, y))
        return model.predict(X_test), _cost(cost, extra) | {"support": len(model.support_)}


def _cost(training: Any, features: Any = None) -> Results:
    costs = [cost for cost in (training, features) if cost is not None]
    memory = [cost.memory for cost in costs if cost.memory is not None]
    return {"cpu": sum(cost.cpu for cost in costs), "wall": sum(cost.wall for cost in costs), "memory": max(memory, default=None)}  # fmt: skip


def _ngrams(words: Sequence[str], n: int) -> list[str]:
    return [" ".join(words[k : k + length]) for length in range(1, n + 1) for k in range(len(words) - length + 1)]


def make_kernel(system: str, setting: dict[str, Any]) -> Kernel:
    if system == PT:
        return tl.PartialTree(setting["lam"], setting["mu"]).normalized()
    trees = tl.SubsetTree(setting["lam"]).normalized()
    if system == SST:
        return trees
    return setting["weight"] * On("ngrams", Linear()) + round(1 - setting["weight"], 3) * On("tree", trees)


# --- Measurements -------------------------------------------------------------------------------------------------


def measure(
    folder: Path, sizes: Sequence[int], systems: Sequence[str], n_jobs: int, log: Callable[[str], None]
) -> Results:
    """Choose settings and measure the systems that are not in the stored results."""
    versions = download(folder)
    functions = read_functions(folder)
    parts = split_files(functions)
    results = stored_results(NAME)
    results |= {
        "versions": versions,
        "counts": dict(Counter(function.package for function in functions).most_common()),
        "files": len({function.file for function in functions}),
        "train": len(parts.train), "dev": len(parts.dev), "test": len(parts.test), "fit": FIT,
        "nodes": float(np.mean([len(_labels(function.trees["keep"])) for function in functions[::50]])),
    }  # fmt: skip
    chosen, rows = results.setdefault("chosen", {}), results.setdefault("rows", [])
    correct: dict[str, Any] = results.setdefault("correct", {})
    learner = Learner(functions, "anonymous", n_jobs)
    y_dev, y_test = learner.packages[parts.dev], learner.packages[parts.test]
    results["majority"] = 100 * max(Counter(y_test.tolist()).values()) / len(y_test)
    for system, start in STARTS.items():
        if system in chosen:
            continue
        inherited = {**chosen[NGRAMS], **chosen[SST]} if system == SUM else {}
        given = {key: inherited[key] for key in ("n", "lam", "C") if key in inherited}

        def score(setting: dict[str, Any], system: str = system) -> dict[str, float]:
            predicted, _ = learner.predict(system, setting, parts.train[:FIT], parts.dev)
            log(f"  {system} {setting}: {100 * np.mean(predicted == y_dev):.2f}")
            return {"f1": 100 * float(np.mean(predicted == y_dev))}

        best, trials, edges = tune(given | start, GRIDS[system], score)
        chosen[system] = best | {"tried": len(trials), "at_edge": edges}
        _store(results)
    sizes = sorted({min(size, len(parts.train)) for size in sizes})
    plan = [("anonymous", size, system) for size in sizes for system in STARTS]
    plan[5:5] = [("keep", sizes[0], system) for system in (NGRAMS, SST)]
    for form, size, system in plan:
        if system not in systems or label(form, size, system) in correct:
            continue
        predicted, cost = Learner(functions, form, n_jobs).predict(system, chosen[system], parts.train[:size], parts.test)  # fmt: skip
        is_correct = np.asarray(predicted == y_test)
        correct[label(form, size, system)] = "".join("01"[int(value)] for value in is_correct)
        files = [functions[k].file for k in parts.test]
        rows.append({"form": form, "size": size, "system": system, **cost, **_accuracy(files, is_correct)})
        log(f"{label(form, size, system)}: {rows[-1]}")
        _store(results)
    ids = [f"{functions[k].file}#{number}" for number, k in enumerate(parts.test)]
    results["tests"] = _tests(correct, ids, sorted({row["size"] for row in rows}))
    return results


def label(form: str, size: int, system: str) -> str:
    return f"{system}, {size:,} functions" + (", all names" if form == "keep" else "")


def _store(results: Results) -> None:
    results["made_by"] = writing.provenance("python -m benchmarks.code_packages FOLDER")
    writing.write_results(writing.RESULTS, NAME, results, "")


def _accuracy(files: Sequence[str], is_correct: NDArray[np.bool_]) -> Results:
    """Return the accuracy with its interval, by a bootstrap over files."""
    names, number = np.unique(files, return_inverse=True)
    sums = np.array([np.bincount(number, is_correct), np.bincount(number)], float).T
    score = bootstrap_score([names.tolist()], [sums], lambda sums: np.asarray(100 * sums[..., 0] / sums[..., 1]))
    return {"accuracy": score["value"], "interval": score["interval"]}


def _tests(correct: dict[str, str], ids: Sequence[str], sizes: Sequence[int]) -> list[Results]:
    """Compare systems with the same number of functions by a paired bootstrap over files."""
    items = [split_items("test", 1, ids, {name: map(int, values) for name, values in correct.items()})]
    pairs = [(SST, NGRAMS), (SUM, NGRAMS), (SUM, SST), (PT, SST), (SKETCH, SST)]
    named = [(label(form, size, a), label(form, size, b)) for form in FORMS for size in sizes for a, b in pairs]
    return [compare(items, a, b, groups=lambda name: name.split("#")[0]) for a, b in named if {a, b} <= correct.keys()]


# --- Page ---------------------------------------------------------------------------------------------------------


def page(results: Results) -> str:
    """Return the results as a Markdown page."""
    return writing.render(
        "code_packages",
        results,
        created=writing.created(results["made_by"]),
        systems=[*STARTS],
        forms=FORMS,
        least=LEAST,
        most=MOST,
        components=COMPONENTS,
        edges=[f"{name} ({', '.join(row['at_edge'])})" for name, row in results["chosen"].items() if row["at_edge"]],
        ordered=sorted(results["rows"], key=lambda row: (row["form"], row["size"], [*STARTS].index(row["system"]))),
        best={
            size: max(rows, key=lambda row: row["accuracy"])
            for size, rows in _by_size(results).items()
            if SST in [row["system"] for row in rows]
        },
        missing=[
            f"{system} with {size:,} functions"
            for size, rows in _by_size(results).items()
            for system in STARTS
            if system not in [row["system"] for row in rows]
        ],
        described=lambda row: ", ".join(f"{_NAMES[key]} {row[key]:g}" for key in _NAMES if key in row),
    )


_NAMES = {"n": "n-grams up to", "lam": "λ", "mu": "μ", "weight": "weight of the n-grams", "alpha": "alpha", "C": "C"}


def _by_size(results: Results) -> dict[int, list[Results]]:
    rows = [row for row in results["rows"] if row["form"] == "anonymous"]
    return {size: [row for row in rows if row["size"] == size] for size in sorted({row["size"] for row in rows})}


def draw(results: Results, path: Path) -> None:
    """Draw accuracy and CPU time by the number of training functions. Requires matplotlib."""
    with writing.saved_figure(path, 2, figsize=(12, 4.6)) as (_, axes):
        for number, (system, marker) in enumerate(zip(STARTS, "osD^v", strict=True)):
            rows = [row for row in results["rows"] if (row["form"], row["system"]) == ("anonymous", system)]
            sizes = [
                row["size"] * (0.96 + 0.02 * number) for row in rows
            ]  # side by side, so that intervals can be read
            values = np.array([row["accuracy"] for row in rows])
            if rows:
                ends = np.array([row["interval"] for row in rows]).T
                axes[0].errorbar(sizes, values, yerr=abs(ends - values), marker=marker, markersize=5, capsize=2, label=system)  # fmt: skip
                axes[1].plot(sizes, [row["cpu"] for row in rows], marker=marker, markersize=5, label=system)
        axes[0].set(xscale="log", xlabel="training functions", ylabel="accuracy, %", title="The package of a function")
        axes[1].set(
            xscale="log", yscale="log", xlabel="training functions", ylabel="CPU seconds to train", title="Time"
        )
        for axis in axes:
            axis.set_xticks([*_by_size(results)], [f"{size:,}" for size in _by_size(results)])
            axis.minorticks_off()
            axis.grid(alpha=0.3)
        axes[0].legend()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder for the downloaded packages")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of training functions")
    parser.add_argument("--systems", nargs="+", choices=list(STARTS), default=list(STARTS), help="systems to measure")
    parser.add_argument("--jobs", type=int, default=1, help="number of threads")
    parser.add_argument("--page", action="store_true", help="write the page and the picture from the stored results")
    options = parser.parse_args()
    if options.page:
        results = stored_results(NAME)
    else:
        try:
            results = measure(options.folder, options.sizes, options.systems, options.jobs, lambda text: print(text, file=sys.stderr, flush=True))  # fmt: skip
        except FileError as error:
            print(f"skipped: {error}")
            return
        results["made_by"] = writing.provenance("python -m benchmarks.code_packages FOLDER")
    draw(results, writing.RESULTS / f"{NAME}.png")
    publish(NAME, results, page(results))


if __name__ == "__main__":
    main()
