"""Means over splits and tests between rows of Collins & Duffy's experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from experiments.collins_duffy_plan import FIRST, MOST, ORACLE
from experiments.differences import across, figure, holm, spread
from treelet.metrics import relative_improvement

SCORE = "parse_score"
PAIRS = [  # of rows of the test, besides each against the parser's first choice
    ("best scale", "flat"),
    ("best scale, three passes", "flat, three passes"),
    ("log p + γ score", "log p + γ flat"),
    ("best scale, three passes", "best scale"),
    ("depth 3, two passes", "best depth"),
    ("log p a feature", "best scale"),
    ("log p a feature, three passes", "best scale, three passes"),
    ("log p a feature, three passes", "log p a feature"),
    ("log p + γ score", "best scale, three passes"),
    ("log p + γ score", "log p a feature, three passes"),
    ("with leaves", "best scale"),
    ("log p + γ score, leaves", "log p + γ score"),
    ("log p + γ score, questions too", "log p + γ score"),
    ("voted", "best scale"),
    ("last", "best scale"),
    ("right tree as x_i1", "best scale"),
    ("normalised", "best scale"),
    ("radial", "normalised"),
    ("radial", "best scale"),
    ("ranking SVM", "best scale"),
]
CURVES = [  # of the development parts
    *((f"depth {d}", FIRST) for d in range(1, 7)),
    *((f"depth {d}", "depth 3") for d in (2, 4, 5, 6)),
    *((f"scale {k / 10:g}", "scale 0.5") for k in (1, 2, 3, 4, 6, 7, 8, 9)),
    *((f"passes depth 3, {k} passes", "passes depth 3, 1 pass") for k in range(2, MOST + 1)),
    *((f"passes depth 3, {k} passes", "passes depth 3, 2 passes") for k in range(3, MOST + 1)),
]


def summary(splits: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means and standard deviations over splits, and the tests; the counts by sentence of the test parts as items."""
    items = [one["items"][0] for one in splits]
    development = [one["items"][1] for one in splits]
    first, oracle = (_scores(items, name) for name in (FIRST, ORACLE))
    dev_first = [one["dev"][FIRST] for one in splits]
    tables: dict[str, Any] = {"depth": {}, "scale": {}, "leaves": {}, "more": {}, "passes": {}}
    for name, table in splits[0]["tables"].items():
        for key in table:
            tables[name][key] = _row([one["tables"][name][key] for one in splits], dev_first)
    rows = {}
    for name in splits[0]["chosen"]:
        rows[name] = _row(_scores(items, name), first) | _changes(items, name)
        rows[name]["settings"] = dict(Counter(one["chosen"][name] for one in splits).most_common())
        rows[name]["tried"] = splits[0]["tried"][name]
        rows[name]["edges"] = dict(Counter(what for one in splits for what in one["edges"][name]))
    best = rows["best of all"]
    return {
        "pcfg": spread(first)["mean"],
        "reranked": best["score"]["mean"],
        "oracle": spread(oracle)["mean"],
        "relative_improvement": best["improvement"]["mean"],
        "deviations": {
            "pcfg": spread(first)["std"],
            "reranked": best["score"]["std"],
            "oracle": spread(oracle)["std"],
            "relative_improvement": best["improvement"]["std"],
        },
        "dev_pcfg": spread(dev_first),
        **tables,
        "test": rows,
        "tests": _tests(items, [*((name, FIRST) for name in rows), *PAIRS]),
        "curves": _tests(development, CURVES),
        "sizes": [spread(one["sizes"][k] for one in splits)["mean"] for k in range(3)],
        "twins": [one["twins"] for one in splits],
        "others": spread(one["others"] for one in splits)["mean"],
        "settings": sum(splits[0]["tried"].values()) - splits[0]["tried"]["best of all"],
        "fits": splits[0]["fits"],
        "splits": len(splits),
        "split_seconds": [one["cpu_seconds"] for one in splits],
        "candidate_seconds": [one["candidate_seconds"] for one in splits],
        "items": items,
    }


def _scores(items: Iterable[dict[str, Any]], name: str) -> list[float]:
    return [figure(one["systems"][name], SCORE) for one in items]


def _row(scores: list[float], first: list[float]) -> dict[str, Any]:
    gains = [relative_improvement(a, b) for a, b in zip(first, scores, strict=True)]
    return {"score": spread(scores), "improvement": spread(gains), "scores": scores}


def _changes(items: Iterable[dict[str, Any]], name: str) -> dict[str, int]:
    """Sentences, of all splits, whose precision and recall together are above or below the parser's own."""
    better = worse = 0
    for one in items:
        for own, first in zip(one["systems"][name], one["systems"][FIRST], strict=True):
            difference = _f1(own) - _f1(first)
            better += difference > 1e-12
            worse += difference < -1e-12
    return {"better": better, "worse": worse}


def _f1(counts: Sequence[int]) -> float:
    matched, gold, proposed = counts
    return 2 * matched / (gold + proposed) if gold + proposed else 1.0


def _tests(items: list[dict[str, Any]], pairs: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Those pairs of which both are there; with p-values for their number too."""
    there = items[0]["systems"]
    found = [across(items, a, b, SCORE) for a, b in dict.fromkeys(pairs) if a in there and b in there]
    for test, p in zip(found, holm([test["p"] for test in found]), strict=True):
        test["p_holm"] = p
    return found
