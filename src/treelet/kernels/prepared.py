"""A bank with all data that a kernel caches for it, as arrays that can be stored in a file.

The arrays can be memory-mapped: a bank that is restored from them neither copies nor reads them before a query does.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from itertools import count, takewhile
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import article
from treelet.errors import InputTypeError
from treelet.formats.base import Columns
from treelet.kernels.pairwise import Pairwise
from treelet.structures.bank import Bank

Arrays = dict[str, NDArray[Any]]
AnyBank = TypeVar("AnyBank", bound=Bank[Any])


def can_be_prepared(kernel: Pairwise, data: object) -> bool:
    """Return whether `prepared_arrays` accepts the data: a bank over a store of trees or sequences."""
    return isinstance(data, Bank) and issubclass(data._store, _core.Store) and kernel.coerce(data) is data


def prepared_arrays(kernel: Pairwise, bank: Bank[Any], threads: int = 1) -> Arrays:
    """Return everything that queries need if the bank is their columns, as arrays. What is missing is computed.

    The arrays are read-only views of the bank's data. Their names are the same on every machine; the
    data of a kernel are named after its ``repr``. Equal banks have equal arrays.

    Parameters
    ----------
    kernel : Kernel or distance
    bank : Bank
        A bank for which `can_be_prepared` is true. The places of its items are not included. If its
        store extends another store, the bank is compacted first.
    threads : int
        Number of threads that compute self-values.

    Returns
    -------
    dict of str to ndarray
        One-dimensional arrays.
    """
    if not can_be_prepared(kernel, bank):
        raise InputTypeError(f"The data of {article(type(bank).__name__)} cannot be stored as arrays.")
    if not bank.columns.store.whole:
        bank = bank.compact()
    bank = kernel.with_cached_index(bank)
    kernel.prepare(bank, None, threads)
    kernel.evaluator(bank[:1], bank)  # computes the self-values of the bank, if the kernel needs them
    out: Arrays = {"roots": bank.columns.roots}
    out |= _numbered("store", bank.columns.store.arrays())
    out |= _numbered("weights", bank.weights().arrays())
    for part in _parts(kernel):
        known = {name: bank._known.get(key) for name, key in part.cached_values().items()}
        out |= {f"{part!r}/{name}": values for name, values in known.items() if values is not None}
        for name, index in part.cached_indexes(bank).items():
            out |= _numbered(f"{part!r}/{name}", index.arrays(bank.indexed(index.keys[0], index.make)))
    return {name: _read_only(array) for name, array in out.items()}


def restored_bank(kernel: Pairwise, bank_type: type[AnyBank], arrays: Mapping[str, NDArray[Any]]) -> AnyBank:
    """Return a bank over the arrays of `prepared_arrays`, whose caches contain all data of the kernel.

    The arrays are not copied, must not change, and stay alive as long as the bank or a part of it.
    The content is not checked: compare checksums before. Data of the kernel that are missing are
    computed when a query needs them.

    Parameters
    ----------
    kernel : Kernel or distance
        A kernel equal to the one that was prepared.
    bank_type : type
        The type of the bank that was prepared.
    arrays : mapping of str to ndarray

    Raises
    ------
    ValueError
        If arrays are missing, have the wrong type or size, or were written by another version.
    """
    store = _core.Store.from_arrays(_listed("store", arrays))
    weights = _core.NodeWeights.from_arrays(_listed("weights", arrays))
    roots = arrays.get("roots")
    if roots is None or roots.dtype != np.int32 or roots.shape != (len(weights),):
        raise ValueError("The roots do not fit the weights.")
    columns = Columns(store, _read_only(roots))
    bank = bank_type.from_caches(columns, weights, {}, {})
    values: dict[Hashable, NDArray[np.float64]] = {}
    indexes: dict[Hashable, Any] = {}
    for part in _parts(kernel):
        for name, key in part.cached_values().items():
            known = arrays.get(f"{part!r}/{name}")
            if known is not None:
                if known.dtype != np.float64 or known.shape != roots.shape:
                    raise ValueError(f"The {name} of {part!r} do not fit the roots.")
                values[key] = _read_only(known)
        for name, index in part.cached_indexes(bank).items():
            parts = _listed(f"{part!r}/{name}", arrays)
            if parts:
                indexes |= dict.fromkeys(index.keys, index.restored(parts))
    return bank_type.from_caches(columns, weights, values, indexes)


def _parts(kernel: Pairwise) -> Iterator[Pairwise]:
    """Yield a function and all functions in it."""
    yield kernel
    for inner in kernel._inner():
        yield from _parts(inner)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view(np.ndarray)
    view.setflags(write=False)
    return view


def _numbered(name: str, arrays: list[NDArray[Any]]) -> Arrays:
    return {f"{name}/{number}": array for number, array in enumerate(arrays)}


def _listed(name: str, arrays: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """Return the arrays of `_numbered`."""
    return [arrays[key] for key in takewhile(arrays.__contains__, (f"{name}/{number}" for number in count()))]
