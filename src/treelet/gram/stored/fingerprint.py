"""What tells examples and kernels from others, by their content: what was computed of the one is not gone on with for the other."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np

from treelet.errors import InputTypeError
from treelet.kernels.base import Kernel
from treelet.kernels.distance import Distance
from treelet.structures.bank import Bank
from treelet.structures.table import Table
from treelet.structures.vectors import Vectors
from treelet.structures.word_vectors import WordVectors


def fingerprint(value: Any) -> str:
    """A text of 32 letters; the same for equal content, whatever object holds it, in any process.

    >>> fingerprint([1, "a"]) == fingerprint([1, "a"]) != fingerprint([1, "b"])
    True
    """
    found = hashlib.blake2b(digest_size=16)
    _feed(found, value)
    return found.hexdigest()


def _feed(found: Any, value: Any) -> None:
    """Take a value in: a plain one as it is written, else its kind, how many parts it has, and these."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, np.generic)):
        plain = value.item() if isinstance(value, np.generic) else value
        found.update(f"{type(plain).__name__}:{plain!r};".encode("utf-8", "surrogatepass"))
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        found.update(f"array:{value.dtype.str}:{value.shape};".encode())
        found.update(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    else:
        parts = _parts(value)
        found.update(f"{type(value).__name__}:{len(parts)};".encode())
        for part in parts:
            _feed(found, part)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, np.ndarray):
        return [value.shape, value.ravel().tolist()]
    if isinstance(value, Mapping):
        return _flat(dict(sorted(value.items(), key=repr)))
    if isinstance(value, Table):  # but not the forms that kernels have made of its columns
        return _flat({name: value.column(name) for name in value.names})
    if isinstance(value, Kernel):
        return _flat(value.get_params(deep=False))
    if isinstance(value, Distance | WordVectors):
        return _flat(vars(value))
    if hasattr(value, "tocsr"):  # a sparse matrix
        rows = value.tocsr()
        return [rows.shape, rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)]
    value = value.own_features() if isinstance(value, Vectors) else value
    made = value.__reduce__() if "__reduce__" in vars(type(value)) or isinstance(value, Bank) else None
    if isinstance(made, tuple) and len(made) == 2:  # what it is made of again: banks, vectors, bags
        return list(made[1])
    try:
        return [pickle.dumps(value)]
    except (pickle.PicklingError, TypeError, AttributeError):
        raise InputTypeError(
            "a matrix that can be gone on with needs examples whose content can be compared with that of others, got "
            f"{type(value).__name__}"
        ) from None


def _flat(items: Mapping[Any, Any]) -> list[Any]:
    return [part for item in items.items() for part in item]
