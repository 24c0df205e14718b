"""Model files and model cards. Files do not use pickle, and loading executes no code from them.

The format is described in ``docs/model-format.md``: a prefix of fixed size, a JSON header, the raw
arrays that the header refers to, and a checksum. Kernels and estimators are rebuilt from their
parameters and their names, which must be names of classes that treelet knows.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from treelet import __version__
from treelet.checks import article, plural, some_of, wrong
from treelet.errors import FileError, InputTypeError, TreeletError
from treelet.formats import FORMATS
from treelet.formats.files import HEAD, PathLike, checked_path, open_whole, unreadable
from treelet.kernels.pairwise import Matrix, Pairwise
from treelet.learn.encoding import BANKS, CLASSES, Decoder, Encoder, check_intercepts, known_kernels, savable
from treelet.learn.fits import one_fit, snapshot
from treelet.learn.model import CompressedModel, warn_if_missing, warn_if_unrelated

# --- classes and probabilities from the scores of a model, without scikit-learn ---------------------------------------

_SHOWN = 10  # maximum number of labels in a message


@dataclass(frozen=True)
class Unseen:
    """Labels that did not occur in the training data, with the number of examples of each.

    >>> print(Unseen.of(["a", "b", "b", "c"], ["a", "d"]))
    3 of 4 examples have labels that do not occur in the training data, and count as errors: 'b' (2), 'c' (1).
    """

    counts: dict[Any, int]
    examples: int
    classes: list[Any]

    @classmethod
    def of(cls, labels: Iterable[Any], classes: Iterable[Any]) -> Unseen:
        tally, known = Counter(labels), list(classes)
        counts = {label: count for label, count in tally.items() if label not in set(known)}
        return cls(dict(sorted(counts.items(), key=lambda item: str(item[0]))), tally.total(), known)

    @property
    def all(self) -> bool:
        return self.examples > 0 and sum(self.counts.values()) == self.examples

    def __str__(self) -> str:
        named = _few([f"{label!r} ({count:,})" for label, count in self.counts.items()])
        if self.all:
            known = some_of(self.classes, _SHOWN)
            return (
                f"None of the labels occur in the training data. Labels here: {named}; in the training data: {known}."
            )
        number = sum(self.counts.values())
        verb = "has a label that does" if number == 1 else "have labels that do"
        errors = "counts as an error" if number == 1 else "count as errors"
        return (
            f"{number:,} of {plural(self.examples, 'example')} {verb} not occur in the training data, "
            f"and {errors}: {named}."
        )


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


class Decides:
    """Predictions of a classifier from the values of its binary classifiers, one-vs-rest."""

    classes_: NDArray[Any]
    model_: Any
    _values: Callable[[Any], Matrix]

    @one_fit
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of the second class, or one score per class if there are more than two.

        Parameters
        ----------
        X : collection of examples

        Returns
        -------
        ndarray of shape (len(X),) or (len(X), len(classes_))
        """
        return self.decisions(self._values(X))

    @one_fit
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of each example.

        Parameters
        ----------
        X : collection of examples

        Returns
        -------
        ndarray of shape (len(X),)
        """
        return self.labels(self.decision_function(X))

    def decisions(self, values: Matrix) -> NDArray[np.float64]:
        """Return the scores of `decision_function` from the values of the binary classifiers, with intercepts."""
        return values.ravel() if len(self.classes_) == 2 else values

    def labels(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return the class of each example from the scores of `decision_function`."""
        best = (scores > 0).astype(np.intp) if len(self.classes_) == 2 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def _check_decisions(self) -> int:
        """Return the number of binary classifiers.

        Raises ValueError if attributes from a file are inconsistent.
        """
        k = len(self.classes_) if isinstance(self.classes_, np.ndarray) and self.classes_.ndim == 1 else 0
        machines = 1 if k == 2 else k
        if getattr(self, "multi_class_", "ovr") != "ovr":
            raise ValueError("one-vs-one classifiers are no longer supported")
        if k < 2 or machines != self.model_.outputs:
            raise ValueError("classes and binary classifiers do not match")
        platt = getattr(self, "platt_", np.zeros((machines, 2)))
        if not isinstance(platt, np.ndarray) or platt.shape != (machines, 2) or not np.isfinite(platt).all():
            raise ValueError("the parameters of the probabilities do not match the classifiers")
        return machines


class _NoPredictorError(InputTypeError):
    """A model cannot compute the requested predictions for examples."""


_TASKS = {
    "KernelSVC": "classify",
    "KernelSVR": "regress",
    "RLS": "regress",
    "RankSVM": "rank",
    "RankRLS": "rank",
    "VotedPerceptron": "rank",
}
"""The task of each estimator."""


def task_of(model: Any) -> str | None:
    """Return the task of an estimator, of a subclass of one, or of a `SavedPredictor`; otherwise None."""
    if isinstance(model, SavedPredictor):
        return model.task
    return next((_TASKS[cls.__name__] for cls in type(model).__mro__ if cls.__name__ in _TASKS), None)


_KEPT = ("model_", "intercept_", "classes_", "multi_class_", "platt_")
"""Fitted attributes that predictions need."""


class SavedPredictor:
    """A fitted estimator from a model file, for predictions only, without scikit-learn.

    Its `task` is ``"classify"``, ``"regress"`` or ``"rank"``.
    """

    def __init__(self, kind: str, fitted: dict[str, Any], n_jobs: int | None = 1) -> None:
        self.task = _TASKS[kind]
        self.model_, self.n_jobs = fitted["model_"], n_jobs
        if not isinstance(self.model_, CompressedModel):
            from treelet.learn.matrices import MatrixModel  # Its imports are slow and rarely needed.

            if isinstance(self.model_, MatrixModel):
                raise _NoPredictorError(
                    "the model was fitted to a precomputed kernel matrix, so it cannot predict from examples. "
                    "Train it with a kernel."
                )
        self.intercept_ = fitted.get("intercept_", np.zeros(self.model_.outputs))
        check_intercepts(self.intercept_, self.model_.outputs)

    def _values(self, X: Any) -> Matrix:
        X = self.model_.kernel.coerce(X)  # An iterator can be read only once.
        values: Matrix = self.model_.score(X, n_jobs=self.n_jobs)
        warn_if_missing(self.model_.kernel, X, values)
        if self.task != "rank":  # For a ranker, 0 is an ordinary score.
            warn_if_unrelated(self.model_, X, values)
        values += self.intercept_
        return values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the value or score of each example, or one row of values if there are several outputs."""
        values = self._values(X)
        return values[:, 0] if self.model_.outputs == 1 else values


class SavedClassifier(Decides, SavedPredictor):
    """A fitted `KernelSVC` from a model file."""

    def __init__(self, kind: str, fitted: dict[str, Any], n_jobs: int | None = 1) -> None:
        super().__init__(kind, fitted, n_jobs)
        self.classes_, self.multi_class_ = fitted["classes_"], fitted.get("multi_class_", "ovr")
        if "platt_" in fitted:
            self.platt_ = fitted["platt_"]
        self._check_decisions()

    def predict_proba(self, X: Any) -> Matrix:
        """Return the probability of each class."""
        if not hasattr(self, "platt_"):
            raise _NoPredictorError("The model was trained without probabilities. Train it with probability=True.")
        # The parameters A and B of 1 / (1 + exp(A f + B)) for each binary classifier (Platt 1999).
        z = -(self._values(X) * self.platt_[:, 0] + self.platt_[:, 1])
        small = np.exp(-np.abs(z))
        first: Matrix = np.clip(np.where(z >= 0, 1, small) / (1 + small), 1e-7, 1 - 1e-7)
        if len(self.classes_) == 2:
            return np.column_stack([1 - first, first])
        first /= first.sum(axis=1, keepdims=True)  # No division by 0, because a sigmoid is never 0.
        return first


# --- model files and model cards --------------------------------------------------------------------------------------

_MAGIC = b"treelet\0"
_VERSION = 2
_READ = (1, 2)  # Version 1 did not store integers in narrower types.
_PREFIX = struct.Struct("<8sIIQQ")  # magic, version, 0, size of the file, size of the header
_CHECKSUM = 32
Read = TypeVar("Read")


class ModelFileError(FileError):
    """A file is not a model, is incomplete or altered, or has a format that is too new."""


def save(model: Any, path: PathLike, *, metrics: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to a file.

    The file appears only when it is complete. An existing file is overwritten.

    Parameters
    ----------
    model : estimator, CompressedModel, RLSPath or bank
        Any fitted estimator of treelet, including transformers such as `TreeSketch`; a
        `CompressedModel`; an `RLSPath`; or a bank: `Treebank`, `ForestBank`, `TaggedBank`,
        `SequenceBank` or `DependencyBank`. Of a search such as `GridSearchCV`, save
        ``best_estimator_``; of a pipeline, save the last step.
    path : path
        Name of the file. The usual suffix is ``.treelet``.
    metrics : dict, optional
        Evaluation results for the model card: numbers or strings by name, for example
        ``{"accuracy": 0.91, "on": "test.tsv"}``. An index (`Nearest`) has no card, so it accepts no
        metrics.

    Raises
    ------
    ParameterError
        If there are metrics for an index.
    InputTypeError
        If the model, or one of its parameters, cannot be stored in a model file.
    FileError
        If the file cannot be written.

    See Also
    --------
    load : read a model from a file.
    treelet.learn.card : read the model card.

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
        raise InputTypeError(
            _alternative(model)
            or f"save cannot store {article(type(model).__name__)}. It accepts these types: {', '.join(savable())}."
        )
    if hasattr(model, "_write_index"):
        if metrics is not None:
            raise wrong("metrics", "None for an index, which has no model card", metrics, of="save")
        model._write_index(path)
        return
    model, encoder = snapshot(model), Encoder()
    value = encoder.value(model)
    with open_whole(path) as stream:
        write_model(stream, encoder, value, _card_of(model, metrics))


def write_model(stream: IO[bytes], encoder: Encoder, model: Any, card: dict[str, Any] | None = None) -> bytes:
    """Write an encoded model, with the arrays that its encoder has collected, as a model file. Return its checksum."""
    header: dict[str, Any] = {"treelet": __version__, "model": model, "card": card}
    header |= {"banks": encoder.banks, "vectors": encoder.vectors, "arrays": encoder.places}
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(_PREFIX.size + len(text)) % 8)
    total = _PREFIX.size + len(text) + encoder.size + _CHECKSUM
    digest = hashlib.sha256()
    for piece in (_PREFIX.pack(_MAGIC, _VERSION, 0, total, len(text)), text, *encoder.pieces):
        digest.update(piece)
        stream.write(piece)
    stream.write(digest.digest())
    return digest.digest()


def _alternative(model: Any) -> str:
    """Return the message for an object with a known alternative to `save`, or an empty string."""
    kind = article(type(model).__name__)
    if isinstance(model, (str, os.PathLike)):
        return f"save needs the model as the first argument and the file as the second. Got {kind} first."
    if hasattr(model, "best_estimator_"):
        steps = "[-1]" if hasattr(model.best_estimator_, "named_steps") else ""
        return f"save cannot store {kind}. Save its best_estimator_{steps} instead."
    if hasattr(model, "named_steps") and type(model[-1]).__name__ in CLASSES:
        return f"save cannot store {kind}. Save its last step, pipeline[-1], instead, or use joblib.dump for all steps."
    if isinstance(model, Pairwise):
        return (
            f"save cannot store a kernel ({type(model).__name__}). Store its repr instead: it is a Python expression."
        )
    if hasattr(model, "get_params"):
        return f"save cannot store {kind}, because it is not an estimator of treelet. Use joblib.dump instead."
    return ""


def load(
    path: PathLike,
    *,
    mode: str | None = None,
    kernels: Iterable[type[Pairwise]] = (),
    max_nodes: int | None = None,
    max_depth: int | None = None,
) -> Any:
    """Read a model or an index that was written by `save`.

    No code from the file is executed.

    Parameters
    ----------
    path : path
        Name of the file, or of the folder of an index.
    mode : {"r", "a"}, optional
        Only for an index: use its files in place, without reading them into memory. A million trees
        then open in less than a second, and several processes share the memory. ``"r"`` opens the
        index for reading. ``"a"`` writes every later change (`Nearest.partial_fit`, `remove`,
        `compact`) to the files before the method returns; only one process at a time can do this.
        Checksums find damaged files, but the content is trusted: use a mode only for indexes from
        your own system. Default: the trees are read into memory and checked, and the index is
        built at the first query.
    kernels : iterable of classes, default ()
        Kernel classes of your own that the model uses. The kernels of treelet are always known.
    max_nodes, max_depth : int, optional
        Limits on the trees that the estimator accepts, for services; see `KernelSVC.set_limits`.
        Default: no limits.

    Returns
    -------
    estimator, CompressedModel or bank
        The object that was saved. It makes the same predictions.

    Raises
    ------
    ModelFileError
        If the file is not a model, is incomplete or altered, or was written in a newer format.
    FileError
        If the file cannot be read.
    InputTypeError
        If there are limits, but the file does not contain an estimator.

    See Also
    --------
    save : write a model to a file.

    Examples
    --------
    >>> import tempfile, treelet as tl
    >>> ranker = tl.VotedPerceptron().fit(["(A a)", "(A b)"], y=[1, 0], qid=[1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tl.save(ranker, folder + "/model.treelet")
    ...     tl.load(folder + "/model.treelet")
    VotedPerceptron()
    """
    known = known_kernels()
    for cls in kernels:
        if not isinstance(cls, type) or not issubclass(cls, Pairwise):
            raise wrong("kernels", "a list of kernel classes", cls, of="load")
        known[cls.__name__] = cls

    def model(decoder: Decoder) -> Any:
        loaded = decoder.model()
        _attach(loaded, decoder.header.get("card"))
        return loaded

    if checked_path(path).is_dir():
        from treelet.learn.index_files import open_index  # needs scikit-learn, which predictions do not

        loaded = open_index(path, mode, known)
    elif mode is not None and checked_path(path).exists():  # otherwise the missing file is reported
        raise wrong("mode", "None for a file that is not an index", mode, of="load")
    else:
        loaded = decoded_model(path, known, model)
        if hasattr(loaded, "_described"):
            raise ModelFileError(f"{path}: is the manifest of an index. Load its folder instead.")
    if max_nodes is None and max_depth is None:
        return loaded
    if not hasattr(loaded, "set_limits"):
        raise InputTypeError(
            f"{path}: the file contains {article(type(loaded).__name__)}, but max_nodes and max_depth are limits of an "
            "estimator. Load the file without them."
        )
    return loaded.set_limits(max_nodes=max_nodes, max_depth=max_depth)


def card(path: PathLike) -> dict[str, Any]:
    """Read the model card of a file without loading the model.

    Parameters
    ----------
    path : path
        Name of a file written by `save`.

    Returns
    -------
    dict
        ``treelet`` (the version that wrote the file), ``estimator``, ``task``, ``kernel``,
        ``parameters``, ``training`` (``examples``, ``_fingerprint``, ``classes`` or ``values``),
        ``sizes`` and ``metrics``. Very old files do not contain a card. The dict then has a
        ``note``.

    Raises
    ------
    ModelFileError
        If the file is not a model, or is incomplete or altered.
    FileError
        If the file cannot be read.

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
    return decoded_model(path, {}, lambda decoder: _card_in(decoder.header))


def load_predictor(path: PathLike, n_jobs: int | None = 1) -> SavedPredictor:
    """Read a model from a file for predictions only, without scikit-learn, whose import takes a second.

    Predictions use `n_jobs` threads, or the device of the context in which they are made.
    """

    def predictor(decoder: Decoder) -> SavedPredictor:
        model = decoder.header["model"]
        kind = model.get("object", next(iter(model)))
        if kind not in _TASKS:
            raise _NoPredictorError(
                f"the file contains {article(kind)}, which cannot predict. Train one of {', '.join(_TASKS)} instead."
            )
        fitted = {name: decoder.value(value) for name, value in model["state"]["fitted"]["dict"] if name in _KEPT}
        return (SavedClassifier if kind == "KernelSVC" else SavedPredictor)(kind, fitted, n_jobs)

    return decoded_model(path, known_kernels(), predictor)


def decoded_model(path: PathLike, known: dict[str, type[Pairwise]], read: Callable[[Decoder], Read]) -> Read:
    """Read a model file, after checks, with a function of its decoder."""
    file = checked_path(path)
    try:
        with file.open("rb") as stream:
            content = stream.read(len(_MAGIC))
            content += stream.read() if content == _MAGIC else stream.read(HEAD)  # Any other file may be very long.
    except OSError as error:
        raise unreadable(path, error) from error
    header, data = _opened(content, str(path))
    try:
        return read(Decoder(header, data, known))
    except _NoPredictorError as error:
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
            f"{path}: the checksum is correct, but the content is invalid ({str(error).rstrip('.')}). "
            "The file was not written by treelet.save. Ask its author for a new one."
        ) from error


def _looks_like_trees(head: bytes) -> bool:
    """Return whether the first bytes of a file look like examples in a format for trees."""
    return any(
        known.looks is not None and known.looks(head)
        for name, known in FORMATS.items()
        if name in ("brackets", "lines", "tsv", "svmlight_tk", "kelp", "conllu")
    )


def _opened(content: bytes, name: str) -> tuple[Any, memoryview]:
    """Return the header and the bytes of the arrays of a model file, after checks."""
    if not content or content[: len(_MAGIC)] != _MAGIC[: len(content)]:
        if _looks_like_trees(content):
            fact = "the file contains trees, not a saved model"
        else:
            fact = "the file is not a treelet model"
        raise ModelFileError(f"{name}: {fact}. Models are written by 'treelet train' and treelet.save.")
    whole = len(content) >= _PREFIX.size + _CHECKSUM
    _, version, _, total, length = _PREFIX.unpack_from(content) if whole else (b"", _VERSION, 0, 0, 0)
    if not whole or len(content) < total:
        raise ModelFileError(f"{name}: the model is cut short after {len(content):,} bytes. Copy or save it again.")
    if hashlib.sha256(memoryview(content)[:-_CHECKSUM]).digest() != content[-_CHECKSUM:] or len(content) != total:
        raise ModelFileError(f"{name}: the model was altered: its checksum is wrong. Copy or save it again.")
    if version not in _READ:
        raise ModelFileError(
            f"{name}: the model has format {version}, but treelet {__version__} reads formats up to {_VERSION}. "
            "Upgrade treelet to load it."
        )
    data = memoryview(content)[_PREFIX.size : -_CHECKSUM]
    try:
        if length > len(data):
            raise ValueError("the header is longer than the file")
        return json.loads(bytes(data[:length])), data[length:]
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{name}: the header of the model cannot be read ({error}). Copy or save the model again."
        ) from error


Card = dict[str, Any]
_LONGEST = 2000  # maximum length of a kernel's repr in a card
_MOST = 1000  # maximum number of classes in a card
_HIDDEN = ("kernel", "n_jobs", "memory")


def _fingerprint(*parts: Any) -> str:
    """Return a hash of examples and targets that depends neither on the machine nor on the input format.

    >>> from treelet import Treebank
    >>> bank = Treebank(["(A a)", "(B b)", "(C c)"])
    >>> _fingerprint(bank[1:]) == _fingerprint(Treebank(["(B b)", "(C c)"])) != _fingerprint(bank[:2])
    True
    """
    encoder = Encoder()
    values = [encoder.value(part) for part in parts]
    digest = hashlib.sha256(json.dumps([values, encoder.banks, encoder.vectors, encoder.places]).encode())
    for piece in encoder.pieces:
        digest.update(piece)
    return f"sha256:{digest.hexdigest()}"


def training(data: Any, targets: Any, groups: Any = None, *, classes: bool = False) -> Card:
    """Summarize the training data for the card: the number of examples, a fingerprint, and classes or values."""
    values = np.asarray(targets)
    summary: Card = {"examples": len(data), "fingerprint": _fingerprint(data, values, groups)}
    if classes:
        counts = sorted(Counter(map(str, values.tolist())).items())
        summary["classes"] = dict(counts[:_MOST]) | (
            {"...": sum(n for _, n in counts[_MOST:])} if counts[_MOST:] else {}
        )
    elif values.size:
        summary["values"] = {"least": float(values.min()), "most": float(values.max())}
    if groups is not None:
        summary["groups"] = len(set(np.asarray(groups).tolist()))
    return summary


def fitted_kernel(model: Any) -> Any:
    """Return the kernel of the fit, or the `kernel` parameter if there is none.

    The parameter may have changed.
    """
    parameter = getattr(model, "kernel", None)
    fitted = getattr(model, "kernel_", None) or getattr(getattr(model, "model_", None), "kernel", None)
    return fitted if isinstance(fitted, Pairwise) and not isinstance(parameter, str) else parameter


def fitted_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters at the time of the fit."""
    parameters: dict[str, Any] = getattr(model, "_fitted_with", None) or model.get_params(deep=False)
    return dict(parameters)


def _card_of(model: Any, metrics: Mapping[str, Any] | None) -> Card:
    """Return the card for the file of a model."""
    known = dict(getattr(model, "training_", None) or {})
    measured = {**known.pop("metrics", {}), **_checked(metrics)}
    kernel = fitted_kernel(model)
    stats = getattr(getattr(model, "model_", model), "stats", None)
    sizes = stats() if callable(stats) else None
    return {
        "treelet": __version__,
        "estimator": type(model).__name__,
        "task": _TASKS.get(type(model).__name__),
        "kernel": None if kernel is None else str(kernel)[:_LONGEST],
        "parameters": _plain(fitted_parameters(model)) if hasattr(model, "get_params") else {},
        "training": known or None,
        "sizes": _plain(sizes if isinstance(sizes, dict) else asdict(sizes) if sizes is not None else {}),
        "metrics": measured or None,
    }


def _plain(values: Mapping[str, Any]) -> Card:
    """Return the values that JSON can represent."""
    plain = {}
    for name, value in values.items():
        item = value.item() if isinstance(value, np.generic) else value
        if name not in _HIDDEN and (item is None or isinstance(item, str | bool | int | float)):
            plain[name] = item if not isinstance(item, float) or math.isfinite(item) else str(item)
    return plain


def _checked(metrics: Mapping[str, Any] | None) -> Card:
    if metrics is None:
        return {}
    try:
        if not isinstance(metrics, Mapping) or not all(isinstance(name, str) for name in metrics):
            raise TypeError
        plain: Card = json.loads(json.dumps(dict(metrics), allow_nan=False))
    except (TypeError, ValueError):
        raise wrong("metrics", "a dict from names to numbers, strings or lists", metrics, of="save") from None
    return plain


def _attach(model: Any, card: Any) -> None:
    """Add the training summary of the card to a loaded model. An invalid card is ignored."""
    if not isinstance(card, dict) or not hasattr(model, "get_params"):
        return
    summary = card.get("training")
    known = dict(summary) if isinstance(summary, dict) else {}
    if isinstance(card.get("metrics"), dict):
        known["metrics"] = card["metrics"]
    try:
        json.dumps(known, allow_nan=False)  # The summary must fit the next file too.
    except (ValueError, RecursionError):
        return
    if known:
        model.training_ = known


def _card_in(header: Any) -> Card:
    """Return the card in the header of a file, or a minimal card for a file without one."""
    card = header.get("card")
    if isinstance(card, dict):
        return card
    model = header["model"]
    return {
        "treelet": header.get("treelet"),
        "estimator": model.get("object", next(iter(model))),
        "training": None,
        "note": "This file was written before model cards existed. treelet.save(treelet.load(file), file) adds a card, "
        "without details of the training data.",
    }
