"""Models in files, and their cards: one documented container, no pickle, nothing executed on loading.

The format is described in ``docs/model-format.md``: a prefix of fixed size, a JSON header that says what there is, the
raw arrays it refers to, and a checksum of it all. Kernels and estimators are rebuilt from their names, looked up among
those that treelet knows, and their parameters.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from treelet import __version__
from treelet.checks import wrong
from treelet.errors import FileError, InputTypeError, TreeletError
from treelet.formats.files import PathLike, open_whole
from treelet.kernels.base import Kernel
from treelet.learn.deciding import KEPT, TASKS, NoPredictorError, SavedClassifier, SavedPredictor
from treelet.learn.encoding import BANKS, CLASSES, Decoder, Encoder, known_kernels

MAGIC = b"treelet\0"
VERSION = 2
READ = (1, 2)  # 1 knew no integers in narrower types than they had
PREFIX = struct.Struct("<8sIIQQ")  # magic, version, 0, bytes of the file, bytes of the header
CHECKSUM = 32
Read = TypeVar("Read")


class ModelFileError(FileError):
    """A file is no model, or not a whole one, or one that this version cannot read."""


def save(model: Any, path: PathLike, *, metrics: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to a file, which appears whole or not at all.

    Parameters
    ----------
    model : estimator
        `KernelSVC`, `VotedPerceptron`, `RankSVM`, `KernelMatrix`, ..., fitted; or a `CompressedModel`; or a bank.
    path : path
        By custom it ends in ``.treelet``.
    metrics : dict, optional
        How good it is, for the model's `card`: numbers or texts by name, such as ``{"accuracy": 0.91, "on": "test.tsv"}``.

    Examples
    --------
    >>> import tempfile, treelet as tl
    >>> clf = tl.KernelSVC(tl.SubsetTree()).fit(["(NP (D a) (N dog))", "(VP (V sleep))"], ["thing", "deed"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tl.save(clf, folder + "/model.treelet")
    ...     tl.load(folder + "/model.treelet").predict(["(VP (V sleep))"]).tolist()
    ['deed']
    """
    if CLASSES.get(type(model).__name__) is not type(model) and type(model) not in BANKS.values():
        others = {name for name, cls in CLASSES.items() if hasattr(cls, "fit")}
        known = [
            *sorted({*TASKS, "KernelMatrix"} | others),
            "CompressedModel",
            *(cls.__name__ for cls in BANKS.values()),
        ]
        raise InputTypeError(
            f"an object of the type {type(model).__name__} cannot be saved{_instead_of(model)}; what can: {', '.join(known)}"
        )
    encoder = Encoder()
    header: dict[str, Any] = {"treelet": __version__, "model": encoder.value(model)}
    header["card"] = card_of(model, metrics)
    header |= {"banks": encoder.banks, "vectors": encoder.vectors, "arrays": encoder.places}
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(PREFIX.size + len(text)) % 8)
    total = PREFIX.size + len(text) + encoder.size + CHECKSUM
    digest = hashlib.sha256()
    with open_whole(path) as stream:
        for piece in (PREFIX.pack(MAGIC, VERSION, 0, total, len(text)), text, *encoder.pieces):
            digest.update(piece)
            stream.write(piece)
        stream.write(digest.digest())


def _instead_of(model: Any) -> str:
    """What to do with something that is not for our files."""
    if isinstance(model, (str, os.PathLike)):
        return " (the model comes first, then the file)"
    if hasattr(model, "best_estimator_"):
        return ", save its best_estimator_"
    if isinstance(model, Kernel):
        return ", keep its text: repr(kernel) evaluates back"
    return ", keep it with joblib" if hasattr(model, "get_params") else ""


def load(path: PathLike, *, kernels: Iterable[type[Kernel]] = ()) -> Any:
    """Read a model that `save` wrote. Nothing in the file is executed.

    Parameters
    ----------
    path : path
        The file.
    kernels : iterable of classes
        Kernels of your own that the model may use; treelet's are known.

    Raises
    ------
    ModelFileError
        If the file is no model, was cut short or altered, or was written by a newer version of treelet.
    FileError
        If it cannot be read at all.
    """
    known = known_kernels()
    for cls in kernels:
        if not isinstance(cls, type) or not issubclass(cls, Kernel):
            raise wrong("kernels", "classes of kernels", cls, of="load")
        known[cls.__name__] = cls

    def model(decoder: Decoder) -> Any:
        found = decoder.model()
        attach(found, decoder.header.get("card"))
        return found

    return _decoded(path, known, model)


def card(path: PathLike) -> dict[str, Any]:
    """What a model file says about its model, without loading it: kernel, training examples, sizes, measures.

    Parameters
    ----------
    path : path
        A file that `save` wrote.

    Returns
    -------
    dict
        ``treelet`` (the version that wrote it), ``estimator``, ``task``, ``kernel``, ``parameters``, ``training`` (``examples``,
        ``fingerprint``, ``classes`` or ``values``), ``sizes``, ``metrics``. A file from before there were cards has a
        ``note`` instead.

    Raises
    ------
    ModelFileError
        If the file is no model, or not a whole one.

    Examples
    --------
    >>> import tempfile, treelet as tl
    >>> clf = tl.KernelSVC(tl.SubsetTree()).fit(["(NP (D a) (N dog))", "(VP (V sleep))"], ["thing", "deed"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tl.save(clf, folder + "/model.treelet", metrics={"accuracy": 0.5})
    ...     found = tl.learn.card(folder + "/model.treelet")
    >>> found["kernel"], found["training"]["classes"], found["metrics"]
    ('SubsetTree(lam=0.4)', {'deed': 1, 'thing': 1}, {'accuracy': 0.5})
    """
    return _decoded(path, {}, lambda decoder: card_in(decoder.header))


def load_predictor(path: PathLike, **means: Any) -> SavedPredictor:
    """Read what `save` wrote, for predicting only: scikit-learn, which takes a second to load, is not needed.

    `means` are those of `CompressedModel.score`: n_jobs, device, device_memory, progress.
    """

    def predictor(decoder: Decoder) -> SavedPredictor:
        model = decoder.header["model"]
        kind = model.get("object", next(iter(model)))
        if kind not in TASKS:
            raise NoPredictorError(f"this is a {kind}, which predicts nothing; what does: {', '.join(TASKS)}")
        fitted = {name: decoder.value(value) for name, value in model["state"]["fitted"]["dict"] if name in KEPT}
        return (SavedClassifier if kind == "KernelSVC" else SavedPredictor)(kind, fitted, **means)

    return _decoded(path, known_kernels(), predictor)


def _decoded(path: PathLike, known: dict[str, type[Kernel]], read: Callable[[Decoder], Read]) -> Read:
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(len(MAGIC))
            content += stream.read() if content == MAGIC else b""  # whatever else it is may be very long
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error
    header, data = _opened(content, str(path))
    try:
        return read(Decoder(header, data, known))
    except NoPredictorError as error:
        raise InputTypeError(f"{path}: {error}") from None
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        RuntimeError,
        StopIteration,
        TreeletError,
        TypeError,
        ValueError,
    ) as error:
        raise ModelFileError(
            f"{path}: its checksum is right but what it holds makes no sense ({error}); it was not written by "
            "treelet.save: get it again from where it was made"
        ) from error


def _opened(content: bytes, name: str) -> tuple[Any, memoryview]:
    """The header, and the bytes of the arrays, of a file that is what it should be."""
    if content[: len(MAGIC)] != MAGIC[: len(content)] or not content:
        raise ModelFileError(f"{name}: this is no treelet model; models are written by treelet train and treelet.save")
    whole = len(content) >= PREFIX.size + CHECKSUM
    _, version, _, total, length = PREFIX.unpack_from(content) if whole else (b"", VERSION, 0, 0, 0)
    if not whole or len(content) < total:
        raise ModelFileError(f"{name}: the model is cut short after {len(content):,} bytes; copy or save it again")
    if hashlib.sha256(memoryview(content)[:-CHECKSUM]).digest() != content[-CHECKSUM:] or len(content) != total:
        raise ModelFileError(f"{name}: the model was altered (its checksum does not fit); copy or save it again")
    if version not in READ:
        raise ModelFileError(
            f"{name}: the model has format {version}, this treelet ({__version__}) reads formats up to {VERSION}; "
            "upgrade treelet to load it"
        )
    data = memoryview(content)[PREFIX.size : -CHECKSUM]
    try:
        if length > len(data):
            raise ValueError("its header is longer than the file")
        return json.loads(bytes(data[:length])), data[length:]
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{name}: the model's header cannot be read ({error}); get it again") from error


Card = dict[str, Any]
LONGEST = 2000  # letters of a kernel
MOST = 1000  # classes that are listed
HIDDEN = ("kernel", "n_jobs", "device", "device_memory", "progress", "memory")


def fingerprint(*parts: Any) -> str:
    """A hash of examples and what is learned of them, the same on every machine and whatever they were read from.

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
