"""A bank's columns as arrays of small whole numbers, and back, trusting nothing; and a store for another process of the same program."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.errors import TreeError
from treelet.formats.base import Columns

Array = NDArray[Any]
Arrays = dict[str, Array]
STORES = (_core.Store, _core.ForestStore)


def small(values: Array) -> Array:
    """Whole numbers from 0 in the smallest type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max())) if len(values) else np.uint8)


def whole(values: Any, dtype: Any) -> Array:
    """Whole numbers from 0 again; ValueError if they are none."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind != "u" or values.dtype.itemsize > 4:
        raise ValueError("a column of a bank has the wrong type")
    return np.ascontiguousarray(values, dtype=dtype)


def packed(columns: Columns) -> Arrays:
    """The columns of trees, or of forests, whose edges have probabilities too."""
    store, roots = columns
    return store_arrays(store) | {"roots": small(roots.astype(np.int64) + 1)}


def unpacked(arrays: Arrays) -> Columns:
    """The columns again; TreeError if they make no sense."""
    try:
        store = store_of(arrays)
        roots = whole(arrays["roots"], np.int64) - 1
        if len(roots) and roots.max() >= len(store):
            raise ValueError("an item of a bank is missing")
    except LookupError as error:
        raise TreeError(f"these are no columns of a bank: {error} is missing") from error
    except (ArithmeticError, AttributeError, MemoryError, TypeError, ValueError) as error:
        raise TreeError(f"these are no columns of a bank: {error}") from error
    return Columns(store, roots.astype(np.int32))


def store_arrays(store: Any) -> Arrays:
    """All that a native store holds, under the same numbers."""
    texts, ends = store.texts
    arrays = {
        "texts": texts,
        "text_lengths": small(np.diff(ends, prepend=0)),
        "label": small(store.label),
        "arity": small(np.diff(store.child_start)),
        "child": small(store.child),
    }
    if isinstance(store, _core.ForestStore):
        arrays |= {"edges": small(np.diff(store.edge_start)), "probability": store.p}
    return arrays


def store_of(arrays: Arrays) -> Any:
    """The store again; ValueError if the arrays make no sense."""
    lengths, arity = whole(arrays["text_lengths"], np.int64), whole(arrays["arity"], np.int64)
    ends = np.cumsum(lengths)
    content = bytes(whole(arrays["texts"], np.uint8))
    if (ends[-1] if len(ends) else 0) != len(content):
        raise ValueError("the labels of a bank do not fit their lengths")
    texts = [
        content[end - size : end].decode("utf-8", "surrogatepass") for end, size in zip(ends, lengths, strict=True)
    ]
    label, child, start = whole(arrays["label"], np.int32), whole(arrays["child"], np.int32), _starts(arity)
    if "probability" not in arrays:
        return _core.Store.from_columns(texts, label, start, child)
    p = arrays["probability"]
    if p.ndim != 1 or p.dtype != np.float64:
        raise ValueError("the probabilities of a bank have the wrong type")
    edges = _starts(whole(arrays["edges"], np.int64))
    return _core.ForestStore.from_columns(texts, label, edges, start, child, np.ascontiguousarray(p))


def exact_arrays(store: _core.Store) -> Arrays:
    """What `exact_store` makes the same store of, much faster than `store_of`: productions, too, have their numbers."""
    return store_arrays(store) | {"production": small(store.production.astype(np.int64) + 1)}


def exact_store(arrays: Arrays) -> _core.Store:
    """The store again. For what comes from another process of the same program: that nothing is there twice is believed."""
    ends = np.cumsum(whole(arrays["text_lengths"], np.int64))
    label, child = whole(arrays["label"], np.int32), whole(arrays["child"], np.int32)
    start, production = _starts(whole(arrays["arity"], np.int64)), whole(arrays["production"], np.int32) - np.int32(1)
    return _core.Store.as_it_was(arrays["texts"], ends, label, start, child, production)


def _starts(counts: Array) -> Array:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
