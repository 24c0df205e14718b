"""Fingerprints of examples and kernels, so a matrix is only resumed with the same kernel and examples."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np

from treelet.checks import article
from treelet.edits.distance import EditMeasure
from treelet.errors import InputTypeError
from treelet.kernels.algebra import Constant
from treelet.kernels.on import On
from treelet.kernels.pairwise import Pairwise
from treelet.structures.bank import Bank
from treelet.structures.table import Table
from treelet.structures.vectors import Vectors
from treelet.structures.word_vectors import WordVectors
from treelet.vocabulary import keyword


def fingerprint(value: Any) -> str:
    """Return 32 hexadecimal digits that are the same for equal content, in any object and process.

    >>> fingerprint([1, "a"]) == fingerprint([1, "a"]) != fingerprint([1, "b"])
    True
    """
    digest = hashlib.blake2b(digest_size=16)
    _feed(digest, value)
    return digest.hexdigest()


def kernel_fingerprint(kernel: Any, X: Any, Y: Any | None = None) -> str:
    """Return the fingerprint of a kernel or distance for the examples of a matrix.

    A function that gives the costs of renaming counts by its costs for the labels of the examples. Its
    name stays the same when its code changes.
    """
    if isinstance(kernel, EditMeasure) and callable(kernel.edit_distance.rename):
        distance = kernel.edit_distance
        costs = distance._costs().table(X, X if Y is None else Y)
        return fingerprint([type(kernel).__name__, _as_float(distance.insert), _as_float(distance.delete), costs])
    return fingerprint(kernel)


def examples_fingerprint(kernel: Any, X: Any) -> str:
    """Return the fingerprint of the examples as far as a kernel or distance reads them.

    Of a table, only the columns that the kernel reads count, in any order.
    """
    if isinstance(X, Table):
        columns = _columns_read(kernel)
        X = {name: X.column(name) for name in (X.names if columns is None else columns)}
    return fingerprint(X)


def _columns_read(kernel: Any) -> set[Any] | None:
    """Return the columns of a table that a kernel reads, or None if they are not known."""
    if isinstance(kernel, On):
        return set(kernel.names)
    if isinstance(kernel, Constant):
        return set()
    columns: set[Any] = set()
    for inner in (value for value in kernel.get_params(deep=False).values() if isinstance(value, Pairwise)):
        read = _columns_read(inner)
        if read is None:
            return None
        columns |= read
    # A kernel of another library may read columns that its parameters do not name.
    return columns if columns and type(kernel).__module__.startswith("treelet.") else None


def _feed(digest: Any, value: Any) -> None:
    """Add a value to a digest: a plain value by its `repr`, others by type, number of parts, and parts."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, np.generic)):
        plain = value.item() if isinstance(value, np.generic) else value
        digest.update(f"{type(plain).__name__}:{plain!r};".encode("utf-8", "surrogatepass"))
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        digest.update(f"array:{value.dtype.str}:{value.shape};".encode())
        digest.update(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    else:
        parts = _parts(value)
        digest.update(f"{type(value).__name__}:{len(parts)};".encode())
        for part in parts:
            _feed(digest, part)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, np.ndarray):
        return [value.shape, value.ravel().tolist()]
    if isinstance(value, Mapping):
        return _flat(dict(sorted(value.items(), key=repr)))
    if isinstance(value, Table):  # without the cached conversions of its columns
        return _parts({name: value.column(name) for name in value.names})
    if isinstance(value, Pairwise):  # The bounds for tuning do not determine values, and 1 is the same as 1.0.
        params = value.params_by_content()
        return _flat({name: _as_float(param) for name, param in params.items() if not name.endswith("_bounds")})
    if isinstance(value, WordVectors):  # The same vectors may be in another file.
        return [list(value.index), value.unit]
    if hasattr(value, "tocsr"):  # a sparse matrix
        rows = value.tocsr()
        return [rows.shape, rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)]
    value = value.own_features() if isinstance(value, Vectors) else value
    reduced = value.__reduce__() if "__reduce__" in vars(type(value)) or isinstance(value, Bank) else None
    if isinstance(reduced, tuple) and len(reduced) == 2:  # the constructor arguments of banks, vectors and bags
        return list(reduced[1])
    try:
        return [pickle.dumps(value)]
    except (pickle.PicklingError, TypeError, AttributeError):
        raise InputTypeError(
            f"The content of {article(type(value).__name__)} cannot be compared, as {keyword('resume')} and "
            f"{keyword('extend')} require. Use picklable kernels and examples."
        ) from None


def _as_float(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _as_float(item) for name, item in value.items()}
    return float(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else value


def _flat(items: Mapping[Any, Any]) -> list[Any]:
    return [part for item in items.items() for part in item]
