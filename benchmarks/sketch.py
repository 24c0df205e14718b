"""Vectors in place of kernels: how near they are, what they cost, and what a linear machine makes of them. CPU time of one thread.

Writes docs/results/sketch.md, .json and .png. Its parts can be run one by one: ``python -m benchmarks.sketch errors``; what is not run stays
as it was.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import LinearSVC

import treelet as tl
from benchmarks.common import publish, stored_results
from experiments import data as corpora
from experiments import writing

KERNELS = {"SST": tl.SubsetTree(0.4).normalized(), "PT": tl.PartialTree(0.4, 0.4).normalized()}
SIZES = (256, 512, 1024, 2048, 4096, 8192, 16384)
LANDMARKS = (64, 128, 256, 512)
SAMPLINGS = ("uniform", "kmeans++", "leverage")
QUESTIONS = tl.SubsetTree(0.3, leaves=True).normalized()  # what cross-validation chose, docs/results/questions.md
C = 10.0
LINEAR, RIDGE = LinearSVC(C=C, tol=0.1, random_state=0), RidgeClassifier(alpha=0.3)


def timed(work: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    begin = time.process_time()
    return work(*args), time.process_time() - begin


wsj = cache(corpora.wsj_sample)


def sample() -> tl.Treebank:
    bank = wsj()[0]
    return bank[np.random.default_rng(0).permutation(len(bank))[:1000]].compact()


# --- how near -----------------------------------------------------------------------------------------------------


def errors() -> list[dict[str, Any]]:
    rows = []
    for name, kernel in KERNELS.items():
        bank = sample()
        apart = np.triu_indices(len(bank), 1)
        exact = kernel(bank)[apart]
        for min_trees in (1, 2):
            for size in SIZES:
                sketch = tl.TreeSketch(kernel, size, min_trees=min_trees, random_state=0)
                _, fit = timed(sketch.fit, sample())
                vectors, transform = timed(sketch.transform, sample())  # of which no self-value is known yet
                off = (vectors @ vectors.T)[apart].astype(np.float64) - exact
                rows.append(
                    {
                        "kernel": name, "min_trees": min_trees, "components": size, "exact": sketch.n_exact_, "expected": sketch.error_,
                        "rmse": float(np.sqrt(np.mean(off**2))), "mae": float(np.abs(off).mean()), "bias": float(off.mean()),
                        "pearson": float(np.corrcoef(exact + off, exact)[0, 1]), "q99": float(np.quantile(np.abs(off), 0.99)),
                        "beyond": float(np.mean(np.abs(off) > np.sqrt(2 / 0.05) * sketch.error_)),
                        "fit_ms": 1000 * fit / len(bank), "ms": 1000 * transform / len(bank), "deviation": float(exact.std()),
                    }
                )  # fmt: skip
    return rows


def landmarks() -> list[dict[str, Any]]:
    bank, rows = sample(), []
    kernel = KERNELS["SST"]
    K = kernel(bank)
    values = np.linalg.eigvalsh(K)[::-1]
    for size in LANDMARKS:
        best = float(np.sqrt(np.sum(values[size:] ** 2)) / np.linalg.norm(values))
        rows.append(
            {
                "landmarks": size,
                "sampling": "best possible",
                "frobenius": best,
                "spectral": float(values[size] / values[0]),
            }
        )
        for sampling in SAMPLINGS:
            found = []
            for seed in range(5):
                step = tl.Nystroem(kernel, size, sampling=sampling, random_state=seed)
                vectors, seconds = timed(step.fit_transform, bank)
                off = K - vectors @ vectors.T
                found.append(
                    (
                        np.linalg.norm(off) / np.linalg.norm(K),
                        np.abs(np.linalg.eigvalsh(off)).max() / values[0],
                        seconds,
                    )
                )
            frobenius, spectral, seconds = np.mean(found, axis=0)
            rows.append(
                {
                    "landmarks": size,
                    "sampling": sampling,
                    "frobenius": frobenius,
                    "spectral": spectral,
                    "ms": 1000 * seconds / len(bank),
                }
            )
    return rows


# --- questions ----------------------------------------------------------------------------------------------------


def questions() -> list[dict[str, Any]]:
    (train, y), (test, gold) = corpora.questions(), corpora.questions("test")
    warnings.simplefilter("ignore", ConvergenceWarning)
    machine, seconds = timed(tl.KernelSVC(QUESTIONS, C=C).fit, train.compact(), y)
    rows = [
        {
            "vectors": "none",
            "machine": "KernelSVC",
            "features_s": 0,
            "train_s": seconds,
            "accuracy": machine.score(test, gold),
        }
    ]
    steps: list[Any] = [
        *(tl.TreeSketch(QUESTIONS, size) for size in (2048, 4096, 8192)),
        tl.TreeSketch(QUESTIONS, 4096, min_trees=1),
        *(tl.Nystroem(QUESTIONS, 1000, sampling=sampling) for sampling in SAMPLINGS),
    ]
    for step in steps:
        is_sketch = isinstance(step, tl.TreeSketch)
        kept = f"min_trees={step.min_trees}" if is_sketch else step.sampling
        fast = is_sketch and step.n_components == 2048
        for make in (LINEAR, RIDGE)[: 1 + fast]:
            found = []
            for seed in range(3 if is_sketch and step.min_trees == "auto" else 1):
                vectors, seconds = timed(step.set_params(random_state=seed).fit_transform, train.compact())
                linear, more = timed(clone(make).fit, vectors, y)
                found.append((seconds, more, linear.score(step.transform(test), gold)))
            seconds, more, accuracy = np.mean(found, axis=0)
            rows.append(
                {
                    "vectors": f"{type(step).__name__}, {step.n_components:,}, {kept}", "machine": type(make).__name__, "seeds": len(found),
                    "features_s": seconds, "train_s": more, "accuracy": accuracy, "least": min(found, key=itemgetter(2))[2], "most": max(found, key=itemgetter(2))[2],
                }
            )  # fmt: skip
    return rows


# --- the page -----------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    errors = {(row["kernel"], row["min_trees"], row["components"]): row for row in results["errors"]}
    return writing.render(
        "sketch",
        results,
        created=writing.created(results["made_by"]),
        all_fragments=errors["SST", 1, 4096],
        pruned=errors["SST", 2, 4096],
        pt=errors["PT", 1, 4096],
        kernel=results["questions"][0],
        sketch=next(row for row in results["questions"] if row["vectors"].startswith("TreeSketch, 4,096")),
        larger=next(row for row in results["questions"] if row["vectors"].startswith("TreeSketch, 8,192")),
    )


def draw(results: dict[str, Any], path: Path) -> None:
    with writing.saved_figure(path, columns=2, figsize=(10, 4), sharey=True) as (_, both):
        for axes, kernel in zip(both, KERNELS, strict=True):
            for min_trees, color in ((1, "tab:blue"), (2, "tab:green")):
                rows = [r for r in results["errors"] if (r["kernel"], r["min_trees"]) == (kernel, min_trees)]
                sizes = [r["components"] for r in rows]
                axes.loglog(
                    sizes, [r["rmse"] for r in rows], "o-", color=color, label=f"measured, min_trees={min_trees}"
                )
                axes.loglog(sizes, [r["expected"] for r in rows], "--", color=color, label="expected")
            axes.loglog(SIZES, [1 / np.sqrt(size) for size in SIZES], ":", color="gray", label="1/√components")
            (
                axes.set_title(kernel),
                axes.set_xlabel("components"),
                axes.grid(alpha=0.3, which="both"),
                axes.legend(fontsize=8),
            )
        both[0].set_ylabel("root mean squared error")


def main() -> None:
    parts = {"errors": errors, "landmarks": landmarks, "questions": questions}
    chosen = sys.argv[1:] or list(parts)
    results = stored_results("sketch")
    for name in chosen:
        results[name] = parts[name]()
    results["made_by"] = writing.provenance("python -m benchmarks.sketch")
    if not parts.keys() <= results.keys():
        writing.write_results(writing.RESULTS, "sketch", results, "")
        return
    draw(results, writing.RESULTS / "sketch.png")
    publish("sketch", results, page(results))


if __name__ == "__main__":
    main()
