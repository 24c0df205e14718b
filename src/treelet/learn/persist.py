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
from dataclasses import asdict
from importlib import import_module
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from treelet import __version__, edits, kernels
from treelet.checks import article, some_of, wrong
from treelet.edits import EditDistance
from treelet.errors import FileError, InputTypeError, TreeletError
from treelet.formats import FORMATS
from treelet.formats.files import HEAD, PathLike, checked_path, open_whole, unreadable
from treelet.kernels.bag import Bags
from treelet.kernels.pairwise import Pairwise
from treelet.kernels.smoothed import Smoothed
from treelet.lazy import names_in_stub
from treelet.learn.fits import snapshot
from treelet.structures.bank import Bank
from treelet.structures.dependency import DependencyBank
from treelet.structures.forest import ForestBank
from treelet.structures.sequence import SequenceBank, Tagged, TaggedBank
from treelet.structures.table import Table
from treelet.structures.tree import Tree
from treelet.structures.treebank import Treebank
from treelet.structures.vectors import Vectors
from treelet.structures.word_vectors import WordVectors

# --- values to JSON and arrays, and back ------------------------------------------------------------------------------

_DTYPES = frozenset(["|b1", "|i1", "|u1", *(f"<{kind}{size}" for kind in "iu" for size in (2, 4, 8)), "<f4", "<f8"])
Array = NDArray[Any]


Class = TypeVar("Class", bound=type)
CLASSES: dict[str, type[Any]] = {}
TASKS = {
    "KernelSVC": "classify",
    "KernelSVR": "regress",
    "RLS": "regress",
    "RankSVM": "rank",
    "RankRLS": "rank",
    "VotedPerceptron": "rank",
}
"""The task of each estimator."""
BANKS: dict[str, type[Bank[Any]]] = {
    cls.__name__.lower(): cls for cls in (Treebank, ForestBank, TaggedBank, SequenceBank, DependencyBank)
}
"""Bank classes by their names in a file."""


def register(cls: Class) -> Class:
    """Class decorator: allow objects of a class to be saved and loaded.

    The class has a method ``_to_state()``, which returns a dict of values that can be stored, and a class method
    ``_from_state(state)``, which restores the object and raises ValueError if the state, which is untrusted input, is
    invalid. The underscore of a private class is not part of its name in a file.
    """
    CLASSES[cls.__name__.removeprefix("_")] = cls
    return cls


def known_class(name: str) -> type[Any]:
    """Return a class by its name in a file.

    Classes that need scikit-learn are imported on demand.
    """
    if name not in CLASSES:
        _homes()
    return CLASSES[name]


def _homes() -> dict[str, str]:
    """Return the modules of the public names of `treelet.learn`, after importing all of them."""
    from treelet import learn

    homes = names_in_stub(learn.__file__)
    for home in sorted(set(homes.values())):
        import_module(home)
    return homes


def known_kernels() -> dict[str, type[Pairwise]]:
    """Return the classes of kernels and distances of treelet by name."""
    public = ((name, getattr(package, name)) for package in (kernels, edits) for name in package.__all__)
    return {name: cls for name, cls in public if isinstance(cls, type) and issubclass(cls, Pairwise)}


# --- values to JSON and arrays, and back ------------------------------------------------------------------------------


class _Encoder:
    """Converter of values to JSON. Arrays are collected in `pieces` and banks, each once, in `banks`."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.places: list[dict[str, Any]] = []
        self.size = 0
        self.banks: list[Any] = []
        self.vectors: list[Any] = []
        self._seen: list[Bank[Any]] = []
        self._seen_vectors: list[WordVectors] = []

    def value(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, list | tuple):
            return {type(value).__name__: [self.value(item) for item in value]}
        if isinstance(value, Mapping):
            return {"dict": [[self.value(key), self.value(item)] for key, item in value.items()]}
        if isinstance(value, np.ndarray):
            return self.array(value)
        if hasattr(value, "tocsr"):
            rows = value.tocsr()
            parts = [self.array(part) for part in (rows.data, rows.indices, rows.indptr)]
            return {"sparse": [*parts, [int(size) for size in rows.shape]]}
        if isinstance(value, ForestBank) and value.has_forests:  # The columns do not contain the spans of forests.
            return {"forests": value.lines()}
        if isinstance(value, Bank) and BANKS.get(type(value).__name__.lower()) is type(value):
            return {type(value).__name__.lower(): self.bank(value)}
        if isinstance(value, Tree):
            return {"tree": str(value)}
        if isinstance(value, Tagged):
            return {"tagged": str(value)}
        if isinstance(value, Vectors):
            return {"vectors": [self.value(value.values), self.value(value.names)]}
        if isinstance(value, Bags):
            return {"bags": [self.value(value.members), self.array(value.start)]}
        if isinstance(value, Table):
            return {"table": [[name, self.value(value.column(name))] for name in value.names]}
        if isinstance(value, WordVectors):
            return {"words": self.words(value)}
        if isinstance(value, Pairwise):
            params = {name: self.value(item) for name, item in value.params_by_content().items()}
            return {"kernel": type(value).__name__, "params": params}
        name = type(value).__name__.removeprefix("_")
        if CLASSES.get(name) is type(value):
            return {"object": name, "state": {key: self.value(item) for key, item in value._to_state().items()}}
        raise InputTypeError(
            f"A model file cannot store {article(type(value).__name__)}: {str(value)[:60]!r}. "
            "Numbers, strings, arrays, kernels and collections of trees can be stored."
        )

    def array(self, array: Array) -> Any:
        if array.dtype.kind in "UO":
            kind = "text" if array.dtype.kind == "U" else "items"
            if array.ndim != 1:
                raise InputTypeError(
                    f"A model file cannot store an array of strings or objects with {array.ndim} dimensions. "
                    "Use an array with one dimension."
                )
            return {kind: [self.value(item) for item in array.tolist()]}
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        if array.dtype.str not in _DTYPES:
            raise InputTypeError(f"A model file cannot store an array of {array.dtype}. Use float64, int64 or bool.")
        narrow = _narrow(array)
        entry = {"dtype": narrow.dtype.str, "shape": list(narrow.shape), "offset": self.size}
        self.places.append(entry if narrow.dtype == array.dtype else entry | {"as": array.dtype.str})
        piece = narrow.tobytes()
        piece += bytes(-len(piece) % 8)
        self.pieces.append(piece)
        self.size += len(piece)
        return {"array": len(self.places) - 1}

    def bank(self, bank: Bank[Any]) -> int:
        for number, seen in enumerate(self._seen):
            if seen is bank:
                return number
        self._seen.append(bank)
        self.banks.append({name: self.array(array) for name, array in bank.packed().items()})
        return len(self.banks) - 1

    def words(self, vectors: WordVectors) -> int:
        for number, seen in enumerate(self._seen_vectors):  # Compare by value: a copied kernel has copied vectors.
            if seen is vectors or (seen.index == vectors.index and np.array_equal(seen.unit, vectors.unit)):
                return number
        self._seen_vectors.append(vectors)
        self.vectors.append([list(vectors.index), self.array(vectors.unit)])
        return len(self.vectors) - 1


class _Decoder:
    """Converter of JSON and arrays back to values.

    Arrays are views of the bytes of the file. Each may be used only once, so that a small file
    cannot expand to a large object.
    """

    def __init__(self, header: Any, data: memoryview, known: dict[str, type[Pairwise]]) -> None:
        self.header, self.data, self.kernels = header, data, known
        self._used: set[int] = set()
        self._arrays = [{name: self.value(item) for name, item in bank.items()} for bank in header["banks"]]
        self._banks: dict[tuple[str, int], Bank[Any]] = {}
        self._vectors = [_word_vectors(words, self.value(matrix)) for words, matrix in header["vectors"]]

    def model(self) -> Any:
        model = self.value(self.header["model"])
        if CLASSES.get(type(model).__name__) is not type(model) and not isinstance(model, Bank):
            raise ValueError("the file does not contain a model")
        return model

    def value(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if not isinstance(value, dict):
            raise ValueError("a value does not have a kind")
        kind, *more = value
        inner = value[kind]
        if kind == "kernel" and more == ["params"]:
            return self.kernel(inner, value["params"])
        if kind == "object" and more == ["state"]:
            return known_class(inner)._from_state({name: self.value(item) for name, item in value["state"].items()})
        if more:
            raise ValueError(f"a value has two kinds, {kind!r} and {more[0]!r}")
        return self.simple(kind, inner)

    def simple(self, kind: str, inner: Any) -> Any:
        match kind:
            case "float":
                return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[inner]
            case "list":
                return [self.value(item) for item in inner]
            case "tuple":
                return tuple(self.value(item) for item in inner)
            case "dict":
                return {self.value(key): self.value(item) for key, item in inner}
            case "text":
                if not all(isinstance(item, str) for item in inner):
                    raise ValueError("an item of an array of strings is not a string")
                return np.array(inner, dtype=np.str_)
            case "items":
                array = np.empty(len(inner), dtype=object)
                array[:] = [self.value(item) for item in inner]
                return array
            case "array":
                return self.array(inner)
            case "sparse":
                import scipy.sparse as sp

                *parts, shape = inner
                data, indices, indptr = (self.value(part) for part in parts)
                rows = sp.csr_array((data, indices, indptr), shape=_shape(shape, 2**31))
                rows.check_format(full_check=True)
                return rows
            case "forests":
                return ForestBank.from_lines(inner)
            case _ if kind in BANKS:
                return self.bank(kind, _index(inner))
            case "words":
                return self._vectors[_index(inner)]
            case "tree":
                return Tree.parse(inner)
            case "tagged":
                return Tagged.parse(inner)
            case "vectors":
                return _vectors(*(self.value(part) for part in inner))
            case "bags":
                return _bags(*(self.value(part) for part in inner))
            case "table":
                return Table({name: self.value(column) for name, column in inner})
        raise ValueError(f"a value has the unknown kind {kind!r}")

    def bank(self, kind: str, number: int) -> Bank[Any]:
        """Return the bank of that number. Values with the same number share one object."""
        if (kind, number) not in self._banks:
            self._banks[kind, number] = BANKS[kind].unpacked(self._arrays[number])
        return self._banks[kind, number]

    def kernel(self, name: str, params: Any) -> Pairwise:
        if name not in self.kernels:
            raise ValueError(
                f"the kernel {name!r} is unknown; for a class of your own, pass load(..., kernels=[{name}])"
            )
        cls = self.kernels[name]
        values = {key: self.value(item) for key, item in params.items()}
        if cls._unknown(values):
            raise ValueError(f"{name} does not have the parameters {some_of(sorted(cls._unknown(values)))}")
        if (issubclass(cls, Smoothed) and not isinstance(values.get("vectors"), WordVectors | dict)) or (
            issubclass(cls, EditDistance) and isinstance(values.get("rename"), str)
        ):
            raise ValueError("word vectors are missing")  # A string would be opened as a file name.
        if issubclass(cls, Smoothed):
            values.setdefault("nodes", "leaves")  # Earlier versions compared only leaves.
        kernel = cls(**values)
        kernel.validate()
        return kernel

    def array(self, number: Any) -> Array:
        if _index(number) in self._used:
            raise ValueError(f"array {number} is used twice")
        self._used.add(number)
        entry = self.header["arrays"][number]
        if entry["dtype"] not in _DTYPES:
            raise ValueError(f"array {number} has the unknown type {entry['dtype']!r}")
        dtype, shape, offset = np.dtype(entry["dtype"]), _shape(entry["shape"], len(self.data)), _index(entry["offset"])
        size = math.prod(shape)
        if offset + size * dtype.itemsize > len(self.data):
            raise ValueError(f"array {number} ends after the end of the file")
        array = np.frombuffer(self.data, dtype, size, offset).reshape(shape)
        if dtype.kind == "b" and size and array.view(np.uint8).max() > 1:
            raise ValueError(f"array {number} contains booleans other than 0 and 1")
        return _widened(array, entry["as"]) if "as" in entry else array


def _narrow(array: Array) -> Array:
    """Return integers in the smallest sufficient type. Other arrays are returned unchanged."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    low, high = int(array.min()), int(array.max())
    for name in ("|u1", "|i1", "<u2", "<i2", "<u4", "<i4"):
        dtype = np.dtype(name)
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max and dtype.itemsize < array.dtype.itemsize:
            return array.astype(dtype)
    return array


def _widened(array: Array, name: Any) -> Array:
    if name not in _DTYPES or array.dtype.kind not in "iu" or np.dtype(name).kind not in "iu":
        raise ValueError(f"an array of {array.dtype} cannot be converted to {name!r}")
    wide = array.astype(name)
    if not np.array_equal(wide, array):
        raise ValueError(f"an array of {array.dtype} contains values that do not fit {name}")
    return wide


def _vectors(values: Any, names: Any) -> Vectors:
    vectors = Vectors(values)
    if names is None:
        return vectors
    if not isinstance(names, tuple) or not all(isinstance(name, str | int) for name in names):
        raise ValueError("a feature name is neither a string nor an integer")
    if len(set(names)) != vectors.shape[1] or len(names) != vectors.shape[1]:
        raise ValueError("features and their names do not match")
    return Vectors._of(vectors.values, names)


def _word_vectors(words: Any, unit: Any) -> WordVectors:
    if not all(isinstance(word, str) for word in words):
        raise ValueError("a word is not a string")
    vectors = WordVectors(words, unit)
    if not np.allclose(vectors.unit, unit):
        raise ValueError("word vectors do not have length 1")
    vectors.unit = np.array(unit, dtype=np.float64)  # Normalizing again would change the last bits.
    vectors.unit.flags.writeable = False
    return vectors


def _bags(members: Any, start: Any) -> Bags:
    if start.ndim != 1 or start.dtype != np.int64 or not len(start) or start[0] != 0 or start[-1] != len(members):
        raise ValueError("bags and their members do not match")
    if (np.diff(start) < 0).any():
        raise ValueError("the bags are not in ascending order")
    return Bags(members, start)


def _index(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not an index")
    return value


def _shape(shape: Any, largest: int) -> tuple[int, ...]:
    if not isinstance(shape, list) or len(shape) > 2 or any(_index(size) > largest for size in shape):
        raise ValueError(f"{shape!r} is not the shape of an array")
    return tuple(shape)


def whole_numbers(values: Any, dimensions: int) -> NDArray[np.int64]:
    """Return the values if they are nonnegative integers; otherwise raise ValueError."""
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != dimensions:
        raise ValueError("an array of integers is missing")
    if values.size and values.min() < 0:
        raise ValueError("an index or count is negative")
    return values


def are_floats(values: Any, dimensions: int) -> bool:
    """Return whether the values are finite float64 numbers with that number of dimensions."""
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != dimensions:
        return False
    return bool(np.isfinite(values).all())


def check_intercepts(values: Any, outputs: int) -> None:
    """Raise ValueError unless there is one finite intercept per output."""
    if not are_floats(values, 1) or values.shape != (outputs,):
        raise ValueError("intercepts and outputs do not match")


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
    model : estimator, CompressedModel, VotingModel, RLSPath or bank
        Any fitted estimator of treelet, including transformers such as `TreeSketch`; a
        `CompressedModel` or `VotingModel`; an `RLSPath`; or a bank: `Treebank`, `ForestBank`, `TaggedBank`,
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
        names = [*sorted(_homes().keys() & CLASSES.keys()), *(cls.__name__ for cls in BANKS.values())]
        raise InputTypeError(
            _alternative(model)
            or f"save cannot store {article(type(model).__name__)}. It accepts these types: {', '.join(names)}."
        )
    if hasattr(model, "_write_index"):
        if metrics is not None:
            raise wrong("metrics", "None for an index, which has no model card", metrics, of="save")
        model._write_index(path)
        return
    model, encoder = snapshot(model), _Encoder()
    value, model_card = encoder.value(model), _card_of(model, metrics)  # Errors leave an earlier file as it is.
    with open_whole(path) as stream:
        _write(stream, encoder, value, model_card)


def write_model(stream: IO[bytes], value: Any) -> bytes:
    """Write any value in the format of a model file, without a card. Return its checksum."""
    encoder = _Encoder()
    return _write(stream, encoder, encoder.value(value), None)


def _write(stream: IO[bytes], encoder: _Encoder, encoded: Any, card: dict[str, Any] | None) -> bytes:
    header: dict[str, Any] = {"treelet": __version__, "model": encoded, "card": card}
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

    if checked_path(path).is_dir():
        from treelet.learn.index_files import IndexFiles  # needs scikit-learn, which predictions do not

        loaded = IndexFiles.open(path, mode, known)
    elif mode is not None and checked_path(path).exists():  # otherwise the missing file is reported
        raise wrong("mode", "None for a file that is not an index", mode, of="load")
    else:
        loaded = decoded_model(path, known, lambda decoder: _with_card(decoder.model(), decoder.header.get("card")))
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

    def read(decoder: _Decoder) -> dict[str, Any]:
        if isinstance(stored := decoder.header.get("card"), dict):
            return stored
        model = decoder.header["model"]
        return {
            "treelet": decoder.header.get("treelet"),
            "estimator": model.get("object", next(iter(model))),
            "training": None,
            "note": "This file was written before model cards existed. treelet.save(treelet.load(file), file) adds a "
            "card, without details of the training data.",
        }

    return decoded_model(path, {}, read)


def decoded_model(path: PathLike, known: dict[str, type[Pairwise]], read: Callable[[_Decoder], Read]) -> Read:
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
        return read(_Decoder(header, data, known))
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


def _opened(content: bytes, name: str) -> tuple[Any, memoryview]:
    """Return the header and the bytes of the arrays of a model file, after checks."""
    if not content or content[: len(_MAGIC)] != _MAGIC[: len(content)]:
        trees = ("brackets", "lines", "tsv", "svmlight_tk", "kelp", "conllu")
        checks = [FORMATS[name].looks for name in FORMATS if name in trees]
        is_trees = any(looks(content) for looks in checks if looks is not None)
        fact = "the file contains trees, not a saved model" if is_trees else "the file is not a treelet model"
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
    encoder = _Encoder()
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
        "task": TASKS.get(type(model).__name__),
        "kernel": None if kernel is None else str(kernel)[:_LONGEST],
        "parameters": _plain(getattr(model, "_fitted_with", None) or model.get_params(deep=False))
        if hasattr(model, "get_params")
        else {},
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


def _with_card(model: Any, card: Any) -> Any:
    """Return a loaded model with the training summary of its card. An invalid card is ignored."""
    if not isinstance(card, dict) or not hasattr(model, "get_params"):
        return model
    summary = card.get("training")
    known = dict(summary) if isinstance(summary, dict) else {}
    if isinstance(card.get("metrics"), dict):
        known["metrics"] = card["metrics"]
    try:
        json.dumps(known, allow_nan=False)  # The summary must fit the next file too.
    except (ValueError, RecursionError):
        return model
    if known:
        model.training_ = known
    return model
