"""What a model file says about its model: kernel, training examples, sizes, measures. Plain JSON, without a date or a path.

A fit leaves `training_`, which says what it was fitted to; `treelet.save` writes the card, and `treelet.load` keeps both.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from treelet import __version__
from treelet.checks import wrong
from treelet.kernels.base import Kernel
from treelet.learn.deciding import TASKS
from treelet.learn.encoding import Encoder

Card = dict[str, Any]
LONGEST = 2000  # letters of a kernel
MOST = 1000  # classes that are listed
HIDDEN = ("kernel", "n_jobs", "device", "device_memory", "progress", "memory")


def fingerprint(*parts: Any) -> str:
    """A hash of examples and what is learnt of them, the same on every machine and whatever they were read from.

    >>> from treelet import Treebank
    >>> bank = Treebank(["(A a)", "(B b)", "(C c)"])
    >>> fingerprint(bank[1:]) == fingerprint(Treebank(["(B b)", "(C c)"])) != fingerprint(bank[:2])
    True
    """
    encoder = Encoder()
    values = [encoder.value(part) for part in parts]
    digest = hashlib.sha256(json.dumps([values, encoder.banks, encoder.vectors, encoder.places]).encode())
    for piece in encoder.pieces:
        digest.update(piece)
    return f"sha256:{digest.hexdigest()}"


def training(data: Any, targets: Any, groups: Any = None, *, classes: bool = False) -> Card:
    """What an estimator was fitted to: how many examples, their fingerprint, and their classes or values."""
    values = np.asarray(targets)
    found: Card = {"examples": len(data), "fingerprint": fingerprint(data, values, groups)}
    if classes:
        counts = sorted(Counter(map(str, values.tolist())).items())
        found["classes"] = dict(counts[:MOST]) | ({"...": sum(n for _, n in counts[MOST:])} if counts[MOST:] else {})
    elif values.size:
        found["values"] = {"least": float(values.min()), "most": float(values.max())}
    if groups is not None:
        found["groups"] = len(set(np.asarray(groups).tolist()))
    return found


def fitted_kernel(model: Any) -> Any:
    """The kernel that a model was fitted with, whatever its parameters say by now; else what they say."""
    given = getattr(model, "kernel", None)
    found = getattr(model, "kernel_", None) or getattr(getattr(model, "model_", None), "kernel", None)
    return found if isinstance(found, Kernel) and not isinstance(given, str) else given


def fitted_parameters(model: Any) -> dict[str, Any]:
    """The parameters that a model was fitted with, whatever they are by now."""
    found: dict[str, Any] = getattr(model, "_fitted_with", None) or model.get_params(deep=False)
    return dict(found)


def card_of(model: Any, metrics: Mapping[str, Any] | None) -> Card:
    """The card that goes into a model's file."""
    known = dict(getattr(model, "training_", None) or {})
    measured = {**known.pop("metrics", {}), **_checked(metrics)}
    kernel = fitted_kernel(model)
    stats = getattr(getattr(model, "model_", model), "stats", None)
    found = stats() if callable(stats) else None
    return {
        "treelet": __version__,
        "estimator": type(model).__name__,
        "task": TASKS.get(type(model).__name__),
        "kernel": None if kernel is None else str(kernel)[:LONGEST],
        "parameters": _plain(fitted_parameters(model)) if hasattr(model, "get_params") else {},
        "training": known or None,
        "sizes": _plain(found if isinstance(found, dict) else asdict(found) if found is not None else {}),
        "metrics": measured or None,
    }


def _plain(values: Mapping[str, Any]) -> Card:
    """What JSON can say of some values."""
    found = {}
    for name, value in values.items():
        item = value.item() if isinstance(value, np.generic) else value
        if name not in HIDDEN and (item is None or isinstance(item, str | bool | int | float)):
            found[name] = item if not isinstance(item, float) or math.isfinite(item) else str(item)
    return found


def _checked(metrics: Mapping[str, Any] | None) -> Card:
    if metrics is None:
        return {}
    try:
        if not isinstance(metrics, Mapping) or not all(isinstance(name, str) for name in metrics):
            raise TypeError
        plain: Card = json.loads(json.dumps(dict(metrics), allow_nan=False))
    except (TypeError, ValueError):
        raise wrong("metrics", "a dict from names to numbers, texts or lists of them", metrics, of="save") from None
    return plain


def attach(model: Any, card: Any) -> None:
    """Let a model that was loaded know what it was fitted to; a card that makes no sense is passed over."""
    if not isinstance(card, dict) or not hasattr(model, "get_params"):
        return
    found = card.get("training")
    known = dict(found) if isinstance(found, dict) else {}
    if isinstance(card.get("metrics"), dict):
        known["metrics"] = card["metrics"]
    try:
        json.dumps(known, allow_nan=False)  # it goes into the next file
    except (ValueError, RecursionError):
        return
    if known:
        model.training_ = known


def card_in(header: Any) -> Card:
    """The card of a file's header; of a file that has none, what the header says anyway."""
    card = header.get("card")
    if isinstance(card, dict):
        return card
    model = header["model"]
    return {
        "treelet": header.get("treelet"),
        "estimator": model.get("object", next(iter(model))),
        "training": None,
        "note": "this file was written before models had cards; treelet.save(treelet.load(file), file) gives it one, "
        "without what only the training knew",
    }
