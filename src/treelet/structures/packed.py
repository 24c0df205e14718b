"""Serialization of a bank's columns as arrays of small integers.

`unpacked` checks everything, because the arrays may come from a file. `exact_store` is faster and
trusts its input, which comes from another process of the same program.
"""

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
    """Convert non-negative integers to the smallest sufficient type."""
    return values.astype(np.min_scalar_type(int(values.max())) if len(values) else np.uint8)


def whole(values: Any, dtype: Any) -> Array:
    """Convert the integers of `small` back. Other arrays raise ValueError."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind != "u" or values.dtype.itemsize > 4:
        raise ValueError("a column has the wrong type")
    return np.ascontiguousarray(values, dtype=dtype)


def packed(columns: Columns) -> Arrays:
    """Return the columns of trees or forests as arrays. Those of forests include the probabilities of the edges."""
    store, roots = columns
    return store_arrays(store) | {"roots": small(roots.astype(np.int64) + 1)}


def unpacked(arrays: Arrays) -> Columns:
    """Restore columns from arrays. Invalid arrays raise TreeError."""
    try:
        store = store_of(arrays)
        roots = whole(arrays["roots"], np.int64) - 1
        if len(roots) and roots.max() >= len(store):
            raise ValueError("an item is missing")
    except LookupError as error:
        raise TreeError(f"The stored columns of a bank are damaged: {error} is missing.") from error
    except (ArithmeticError, AttributeError, MemoryError, TypeError, ValueError) as error:
        raise TreeError(f"The stored columns of a bank are damaged: {str(error).rstrip('.')}.") from error
    return Columns(store, roots.astype(np.int32))


def store_arrays(store: Any) -> Arrays:
    """Return the content of a native store as arrays, with the same numbers."""
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
    """Restore a store from arrays. Invalid arrays raise ValueError."""
    lengths, arity = whole(arrays["text_lengths"], np.int64), whole(arrays["arity"], np.int64)
    ends = np.cumsum(lengths)
    content = bytes(whole(arrays["texts"], np.uint8))
    if (ends[-1] if len(ends) else 0) != len(content):
        raise ValueError("the labels do not match their lengths")
    texts = [
        content[end - size : end].decode("utf-8", "surrogatepass") for end, size in zip(ends, lengths, strict=True)
    ]
    label, child, start = whole(arrays["label"], np.int32), whole(arrays["child"], np.int32), _starts(arity)
    if "probability" not in arrays:
        return _core.Store.from_columns(texts, label, start, child)
    p = arrays["probability"]
    if p.ndim != 1 or p.dtype != np.float64:
        raise ValueError("the probabilities have the wrong type")
    edges = _starts(whole(arrays["edges"], np.int64))
    return _core.ForestStore.from_columns(texts, label, edges, start, child, np.ascontiguousarray(p))


def exact_arrays(store: _core.Store) -> Arrays:
    """Return arrays for `exact_store`, which is much faster than `store_of`, because productions keep their numbers."""
    return store_arrays(store) | {"production": small(store.production.astype(np.int64) + 1)}


def exact_store(arrays: Arrays) -> _core.Store:
    """Restore a store from `exact_arrays` of another process of the same program, without checking for duplicates."""
    ends = np.cumsum(whole(arrays["text_lengths"], np.int64))
    label, child = whole(arrays["label"], np.int32), whole(arrays["child"], np.int32)
    start, production = _starts(whole(arrays["arity"], np.int64)), whole(arrays["production"], np.int32) - np.int32(1)
    return _core.Store.as_it_was(arrays["texts"], ends, label, start, child, production)


def _starts(counts: Array) -> Array:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
