"""Conversion of values to JSON and raw arrays for model files, and back, with checks of untrusted input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from treelet import _core, edits, kernels
from treelet.checks import article, some_of
from treelet.edits import EditDistance
from treelet.errors import InputTypeError
from treelet.kernels.bag import Bags
from treelet.kernels.pairwise import Pairwise
from treelet.kernels.smoothed import Smoothed
from treelet.lazy import names_in_stub
from treelet.structures.bank import Bank
from treelet.structures.dependency import DependencyBank
from treelet.structures.forest_bank import ForestBank
from treelet.structures.sequence import Tagged, TaggedBank
from treelet.structures.sequence_bank import SequenceBank
from treelet.structures.table import Table
from treelet.structures.tree import Tree
from treelet.structures.treebank import Treebank
from treelet.structures.vectors import Vectors
from treelet.structures.word_vectors import WordVectors

_DTYPES = frozenset(["|b1", "|i1", "|u1", *(f"<{kind}{size}" for kind in "iu" for size in (2, 4, 8)), "<f4", "<f8"])
Array = NDArray[Any]


class _Saved(Protocol):
    """A class whose objects can be stored in a model file."""

    def _to_state(self) -> dict[str, Any]:
        """Return a dict of values that can be stored."""

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Any:
        """Restore the object.

        Raises ValueError if the state is invalid. The state is untrusted input.
        """


Class = TypeVar("Class", bound=type)
CLASSES: dict[str, type[_Saved]] = {}
BANKS: dict[str, type[Bank[Any]]] = {
    cls.__name__.lower(): cls for cls in (Treebank, ForestBank, TaggedBank, SequenceBank, DependencyBank)
}
"""Bank classes by their names in a file."""


def register(cls: Class) -> Class:
    """Class decorator: allow objects of a class with the methods of `_Saved` to be saved and loaded."""
    CLASSES[cls.__name__] = cls
    return cls


def known_class(name: str) -> type[_Saved]:
    """Return a class by its name in a file.

    Classes that need scikit-learn are imported on demand.
    """
    if name not in CLASSES:
        _import_all()
    return CLASSES[name]


def savable() -> list[str]:
    """Return the names of all classes whose objects `treelet.save` accepts. Parts of models are not included."""
    _import_all()
    return [*sorted(CLASSES.keys() & _homes().keys()), *(cls.__name__ for cls in BANKS.values())]


def _homes() -> dict[str, str]:
    """Return the modules of the public names of `treelet.learn`."""
    from treelet import learn

    return names_in_stub(learn.__file__)


def _import_all() -> None:
    for home in sorted(set(_homes().values())):
        import_module(home)


def known_kernels() -> dict[str, type[Pairwise]]:
    """Return the classes of kernels and distances of treelet by name."""
    public = ((name, getattr(package, name)) for package in (kernels, edits) for name in package.__all__)
    return {name: cls for name, cls in public if isinstance(cls, type) and issubclass(cls, Pairwise)}


# --- values to JSON and arrays, and back --------------------------------------------------------------------------


class Encoder:
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
        if CLASSES.get(type(value).__name__) is type(value):
            state = {name: self.value(item) for name, item in value._to_state().items()}
            return {"object": type(value).__name__, "state": state}
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


class Decoder:
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
        if (issubclass(cls, Smoothed) and not isinstance(values.get("vectors"), WordVectors)) or (
            issubclass(cls, EditDistance) and isinstance(values.get("rename"), str)
        ):
            raise ValueError("word vectors are missing")  # A string would be opened as a file name.
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


# --- weights as small arrays ----------------------------------------------------------------------


def packed_weights(weights: _core.NodeWeights, columns: int) -> dict[str, Array]:
    """Return rows of weights as arrays, dense or sparse, whichever is smaller."""
    if 8 * len(weights) * columns <= 12 * len(weights.node):
        full = np.zeros((len(weights), columns))
        full[np.repeat(np.arange(len(weights)), np.diff(weights.start)), weights.node] = weights.weight
        return {"full": full}
    column = weights.node.astype(np.min_scalar_type(int(weights.node.max(initial=0))))
    return {"start": weights.start, "column": column, "weight": weights.weight}


def unpacked_weights(state: Any, columns: int) -> _core.NodeWeights:
    """Restore the weights from the arrays of `packed_weights`."""
    if "full" in state:
        full = state["full"]
        if full.dtype != np.float64 or full.ndim != 2 or full.shape[1] != columns:
            raise ValueError("weights and examples do not match")
        row, column = np.nonzero(full)
        start, weight = np.searchsorted(row, np.arange(len(full) + 1)), full[row, column]
    else:
        start, column, weight = state["start"], state["column"], state["weight"]
        if (
            column.dtype.kind != "u"
            or column.dtype.itemsize > 4
            or column.ndim != 1
            or start.dtype != np.int64
            or start.ndim != 1
            or weight.dtype != np.float64
            or weight.ndim != 1
            or not len(start)
        ):
            raise ValueError("weights have the wrong type")
        column = column.astype(np.int64)
        later = np.ones(len(column), bool)
        later[start[:-1][np.diff(start) > 0] % max(1, len(column))] = False  # the first entry of each row
        if column.max(initial=-1) >= columns or (np.diff(column)[later[1:]] <= 0).any():
            raise ValueError("weights are out of order, or belong to examples that do not exist")
    if not np.isfinite(weight).all():
        raise ValueError("weights are not finite")
    columns_32 = np.ascontiguousarray(column, np.int32)
    return _core.NodeWeights.of(np.ascontiguousarray(start, np.int64), columns_32, np.ascontiguousarray(weight))


def array_bytes(arrays: dict[str, Array]) -> int:
    """Return the size of arrays in a file, in bytes."""
    return sum(array.nbytes for array in arrays.values())


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
