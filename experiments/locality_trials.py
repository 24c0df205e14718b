"""Other trials with the locality-convolution kernel, on the development sentences, and its eigenvalues."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.differences import across, part
from experiments.locality_grid import POSITION, Block, Chooser, Setting, Trial
from experiments.running import Say
from treelet.cuts import as_sequencebank
from treelet.cuts.features import FEATURES
from treelet.kernels import Locality, On
from treelet.structures import Table
from treelet.tasks import ParseLists

BASE = "one window for all types"
WINDOW, THETA = "window", "theta"


def by_choice(tried: Sequence[Trial], ids: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The best setting with each window and with each θ, against the best with another; and its tau_b for each sentence."""
    systems: dict[str, Any] = {}
    found: list[dict[str, Any]] = []
    for name in (WINDOW, THETA):
        best: dict[float, Trial] = {}
        for trial in tried:
            value = getattr(trial.setting.inner, name) if trial.setting else 0
            if value not in best or trial.best() > best[value].best():
                best[value] = trial
        systems |= {f"{name} {value:g}": trial.sentences() for value, trial in best.items()}
        found += [{"of": name, "value": value, "cross_validation": best[value].best()} for value in sorted(best)]
    items = part("cross-validation: choices", len(ids), ids, systems)
    for one in found:
        others = [other for other in found if other["of"] == one["of"] and other is not one]
        one["against"] = {
            f"{other['value']:g}": across([items], f"{one['of']} {one['value']:g}", f"{one['of']} {other['value']:g}", "mean")
            for other in others
        }  # fmt: skip
    return found, items


def trials(
    chooser: Chooser, table: Table, base: tuple[Trial, Setting], ids: Sequence[str], quick: bool, say: Say
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Windows and weights by type of feature in the chosen setting: cross-validation, and the difference to that setting."""
    trial, setting = base
    inner = setting.inner
    kernels: dict[tuple[str, str], Locality] = {}
    for name in FEATURES[:1] if quick else FEATURES:
        for window in (inner.window - 2, inner.window + 2):
            windows = {other: window if other == name else inner.window for other in FEATURES}
            kernels["another window for one type", f"{name} {window}"] = Locality(windows, inner.theta, inner.match)
        without = Locality(inner.window, inner.theta, inner.match, weights={name: 0.0})
        kernels["all types but one", f"without {name}"] = without
    taus = {
        key: chooser.trial(
            None, setting.block(*(Block.of(On(column, kernel), table) for column in ("parse", "main")))
        ).sentences()
        for key, kernel in kernels.items()
    }
    systems = {BASE: trial.sentences()} | {setting_: values for (_, setting_), values in taus.items()}
    items = part("cross-validation: trials", len(ids), ids, systems)
    found: list[dict[str, Any]] = [
        {"what": what, "setting": name, "cross_validation": float(np.nanmean(values))}
        | {"against": across([items], name, BASE, "mean")}
        for (what, name), values in taus.items()
    ]
    say(f"{len(found)} trials, cross-validation up to {max(one['cross_validation'] for one in found):.4f}")
    return sorted(found, key=lambda one: str(one["what"]), reverse=True), items


def semidefinite(lists: ParseLists, *, quick: bool, say: Say) -> list[dict[str, Any]]:
    """Smallest eigenvalues, as a share of the largest, before and after the Gaussian wrap; and whether theory is certain."""
    bank = as_sequencebank(lists.parses[: 100 if quick else 1000])
    found = []
    for match in (POSITION, "exact", "count"):
        for window in (1, 3) if quick else (1, 3, 5, 7, 9):
            for theta in (0.5, 1.0, 2.0, 5.0) if match == POSITION and window > 1 else (0.5,):
                kernel = Locality(window, theta, match)
                K = np.asarray(kernel(bank))
                block = Block(K, K.diagonal(), K.diagonal())
                sigma = block.spread()
                row: dict[str, Any] = {"match": match, "window": window, "theta": theta if match == POSITION else None}
                for name, matrix in (("plain", K), ("gaussian", block.gaussian(sigma).values)):
                    values = np.linalg.eigvalsh(matrix)
                    row[name] = float(values[0] / values[-1])
                found.append(row | {"certain": kernel.is_certain, "sigma": sigma})
    smallest = [min(row[name] for row in found) for name in ("plain", "gaussian")]
    say(f"smallest eigenvalues: {smallest[0]:.2g} and {smallest[1]:.2g} of the largest")
    return found


def counterexamples() -> dict[str, dict[str, Any]]:
    """Small sets on which the kernel is indefinite: windows, by the formula, and whole sequences, by `Locality`.

    Eigenvalues are shares of the largest, of normalized matrices. The windows are all 64 sets of places in a window of 7 that
    include the center, with one feature. The sequences are all 128 sequences of length 7 over two features.
    """
    window, theta = 7, 2.0
    others = [place for place in range(-(window // 2), window // 2 + 1) if place]
    windows = [(0, *(o for k, o in enumerate(others) if number >> k & 1)) for number in range(1 << len(others))]
    by_formula = np.array([[float(of_windows(a, b, theta)) for b in windows] for a in windows])
    values, vectors = np.linalg.eigh(_normalized(by_formula))
    sequences = [list(each) for each in product("ab", repeat=window)]
    wide = Locality(window, 3.0)
    spectrum = np.linalg.eigvalsh(_normalized(np.asarray(wide(sequences))))
    return {
        "windows": {
            "examples": len(windows),
            "window": window,
            "theta": theta,
            "smallest": float(values[0] / values[-1]),
            "exact": float(_quotient(windows, theta, vectors[:, 0].tolist()) / Decimal(float(values[-1]))),
        },
        "sequences": {"examples": len(sequences), "window": window, "theta": 3.0, "smallest": float(spectrum[0] / spectrum[-1])},
    }  # fmt: skip


def of_windows(a: Sequence[int], b: Sequence[int], theta: float) -> Decimal:
    """κ of two windows in which one feature is at the places a and b, in 50 digits.

    >>> round(float(of_windows([0], [0, 1], 2.0)), 6)  # 2 (1 + exp(-1/4))
    3.557602
    """
    with localcontext(prec=50):
        return prod((1 + (-((Decimal(m - n) / Decimal(theta)) ** 2)).exp() for m in a for n in b), start=Decimal(1))


def _quotient(windows: Sequence[Sequence[int]], theta: float, vector: Sequence[float]) -> Decimal:
    """Rayleigh quotient of a vector and the normalized matrix of windows, in 50 digits. No smallest eigenvalue is larger."""
    with localcontext(prec=50):
        parts = [Decimal(float(v)) / of_windows(a, a, theta).sqrt() for v, a in zip(vector, windows, strict=True)]
        form = sum(
            x * y * of_windows(a, b, theta)
            for x, a in zip(parts, windows, strict=True)
            for y, b in zip(parts, windows, strict=True)
        )
        return Decimal(form) / sum(Decimal(float(v)) ** 2 for v in vector)


def _normalized(K: NDArray[np.float64]) -> NDArray[np.float64]:
    scale = np.sqrt(K.diagonal())
    return np.asarray(K / np.outer(scale, scale))
