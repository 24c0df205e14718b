"""Values of the tree kernel between a tree and itself, and between two trees, after section 2 of Collins & Duffy (2001).

The paper reports values of the order of 10^6 and 100, and calls the kernel very peaked. The kernel counts all shared
fragments: there is no decay, no limit of depth and no normalization. The trees are the gold trees of two treebanks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import Log, writing
from experiments.collins_duffy import PAPER
from experiments.data import question_bank, wsj_sample
from experiments.evaluation import split_items
from experiments.writing import Claim
from treelet import gram
from treelet.errors import TreeletWarning
from treelet.kernels import SubsetTree
from treelet.structures import Treebank

Floats = NDArray[np.float64]

KERNELS = {
    "all fragments": SubsetTree(lam=1),
    "depth at most 3": SubsetTree(lam=1, max_depth=3),
    "scale 0.5": SubsetTree(lam=0.5),
}
CORPORA: dict[str, Callable[[], Treebank]] = {"QuestionBank": question_bank, "WSJ": lambda: wsj_sample()[0]}
SAME, DIFFERENT = "two copies of a tree", "two different trees"
PRINTED = {SAME: 1e6, DIFFERENT: 1e2}
TYPICAL: dict[str, Callable[[Floats], np.float64]] = {"median": np.median, "mean": np.mean}  # readings of "typical"
FULL = {"trees": 1000, "draws": 2000}
QUICK = {"trees": 80, "draws": 100}


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, log: Log = lambda text: None) -> dict[str, Any]:
    """Compute the matrices of some trees of each treebank. With `quick`, use few trees."""
    sizes = QUICK if quick else FULL
    corpora: dict[str, Any] = {}
    items = []
    for name, load in CORPORA.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TreeletWarning)  # six trees of QuestionBank are malformed
            distinct = list(dict.fromkeys(str(tree) for tree in load() if tree is not None))
        rng = np.random.default_rng(seed)
        trees = Treebank([distinct[k] for k in sorted(rng.permutation(len(distinct))[: sizes["trees"]])])
        matrices = {kind: gram(kernel, trees, n_jobs=n_jobs) for kind, kernel in KERNELS.items()}
        log(f"{name}: {len(trees)} of {len(distinct)} distinct trees")
        corpora[name] = {
            "trees": len(trees),
            "words": float(np.mean([len(tree.words()) for tree in trees if tree is not None])),
            "values": {kind: describe(K) for kind, K in matrices.items()},
        } | {
            name: magnitudes(matrices["all fragments"], typical, draws=sizes["draws"], seed=seed)
            for name, typical in TYPICAL.items()
        }
        K = matrices["all fragments"]
        others = [float(np.median(np.delete(row, k))) for k, row in enumerate(K)]
        items.append(split_items(name, len(trees), range(len(trees)), {SAME: K.diagonal(), DIFFERENT: others}))
    return {"corpora": corpora, "printed": PRINTED, "draws": sizes["draws"], "items": items}


def _pairs(K: Floats, rows: NDArray[np.intp]) -> Floats:
    """Return the values between the drawn trees, without those of a tree and itself."""
    return np.asarray(K[np.ix_(rows, rows)][rows[:, None] != rows])


def describe(K: Floats) -> dict[str, dict[str, float]]:
    """Return quantiles and the mean of the values of two copies of a tree, and of two different trees.

    >>> described = describe(np.array([[4.0, 1.0], [1.0, 9.0]]))
    >>> described["two copies of a tree"]["median"], described["two different trees"]["mean"]
    (6.5, 1.0)
    """
    values = {SAME: K.diagonal(), DIFFERENT: _pairs(K, np.arange(len(K)))}
    return {
        name: dict(zip(("low", "median", "high"), np.quantile(each, (0.1, 0.5, 0.9)).tolist(), strict=True))
        | {"mean": float(each.mean())}
        for name, each in values.items()
    }


def magnitudes(
    K: Floats, typical: Callable[[Floats], np.float64], *, draws: int, seed: int
) -> dict[str, dict[str, Any]]:
    """Return both typical values in orders of magnitude above the printed ones, and the distance between them.

    The 95 % intervals come from a bootstrap over trees. A value of 0 counts as 1.
    """
    rng = np.random.default_rng(seed)
    samples = [np.arange(len(K)), *rng.integers(len(K), size=(draws, len(K)))]
    logs = np.log10(
        [[max(1.0, float(typical(each))) for each in (K.diagonal()[rows], _pairs(K, rows))] for rows in samples]
    )
    above = {name: logs[:, k] - np.log10(PRINTED[name]) for k, name in enumerate(PRINTED)}
    result = {name: {"value": float(each[0])} | _interval(each[1:]) for name, each in above.items()}
    distance = logs[:, 0] - logs[:, 1]
    p = 2 * (1 + min(np.count_nonzero(distance[1:] <= 0), np.count_nonzero(distance[1:] >= 0))) / (1 + draws)
    return result | {"distance": {"difference": float(distance[0]), "p": min(1.0, p)} | _interval(distance[1:])}


def _interval(values: Floats) -> dict[str, Any]:
    return {"interval": np.quantile(values, (0.025, 0.975)).tolist(), "over": "items"}


# --- Page -----------------------------------------------------------------------------------------------------------


def section(results: dict[str, Any]) -> str:
    """Return the section of the page of `collins_duffy`."""
    return writing.render("kernel_values", results, power=_power, orders=_orders)


def _power(value: float) -> str:
    """Format a value of the kernel, with a power of ten if it is large.

    >>> _power(93.4), _power(1234567.0)
    ('93', '1.2 · 10^6')
    """
    if value < 1e4:
        return f"{value:.0f}"
    exponent = int(np.floor(np.log10(value)))
    return f"{value / 10.0**exponent:.1f} · 10^{exponent}"


def _orders(test: Mapping[str, Any]) -> str:
    """Format a difference in orders of magnitude with its interval."""
    low, high = test["interval"]
    return f"{test.get('value', test.get('difference')):+.1f} ({low:+.1f} to {high:+.1f})"


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the claims of the paper about values of the kernel."""
    corpora = results["corpora"]
    texts = []
    for name, corpus in corpora.items():
        values = [corpus["values"]["all fragments"][kind] for kind in PRINTED]
        texts += [f"{name}, {key}s: {' and '.join(_power(each[key]) for each in values)}" for key in TYPICAL]
    distances = {name: corpus["median"]["distance"] for name, corpus in corpora.items()}
    readings = [
        Claim(
            PAPER,
            "The kernel of two copies of a tree is of the order of 10^6, that of two different trees of the order of 100.",
            "10^6 and 100",
            "; ".join(texts),
            "within",
            [corpus[key][kind] for corpus in corpora.values() for kind in PRINTED],
            low=-1,
            high=1,
            note="orders of magnitude above the printed values, by medians and by means; the values depend on the length of "
            "the sentences, which were short in the paper",
        )
        for key in TYPICAL
    ]
    return [
        replace(readings[0], other_readings=readings[1:]),
        Claim(
            PAPER,
            "The kernel is very peaked: its value is much larger for two copies of a tree than for two different trees.",
            "four orders of magnitude",
            "; ".join(f"{name}: {_orders(test)} orders of magnitude" for name, test in distances.items()),
            "greater",
            list(distances.values()),
            effect=4.0,
        ),
    ]


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw the quantiles of the values of both kinds. Requires matplotlib."""
    with writing.saved_figure(path, len(results["corpora"]), figsize=(9, 3.6), sharex=True) as (_, panels):
        for axes, (name, corpus) in zip(panels, results["corpora"].items(), strict=True):
            for row, values in enumerate(corpus["values"].values()):
                for color, each in zip(("C0", "C1"), (SAME, DIFFERENT), strict=True):
                    y = row + (0.15 if each == SAME else -0.15)
                    low, middle, high = (max(1.0, values[each][key]) for key in ("low", "median", "high"))
                    axes.plot([low, high], [y, y], color=color, label=each if not row else None)
                    axes.plot([middle], [y], "o", color=color)
            axes.set(xscale="log", title=name, xlabel="value (10 %, median, 90 %)")
            axes.set_yticks(range(len(corpus["values"])), list(corpus["values"]), fontsize=8)
            axes.grid(alpha=0.3, axis="x")
        panels[0].legend(fontsize=8)
