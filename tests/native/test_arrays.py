"""Native objects over arrays that somebody else keeps, and the checksum of such arrays."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import treelet as tl
from treelet import _core

BANK = tl.Treebank(["(A (B x) (C (B y) z))", "(A (B x) (B x))", None])


def objects() -> dict[str, tuple[Any, Any]]:
    """Return native objects, and functions that restore them from arrays."""
    (store, roots), weights = BANK.columns, BANK.weights()
    costs = _core.EditCosts.of(1, 1, 1, *[np.zeros(0)] * 2, *[np.zeros(0, np.int32)] * 2, np.zeros((0, 0)))
    algorithms = {
        _core.SubtreeColumns: (0.4,),
        _core.SubsetTreeColumns: (0.4, 0, False),
        _core.PartialTreeColumns: (0.4, 0.4, True, 1.0, None),
    }
    found: dict[str, tuple[Any, Any]] = {
        algorithm.__name__: (
            algorithm(store, weights, False, *parameters),
            lambda arrays, algorithm=algorithm, parameters=parameters: algorithm.from_arrays(
                store, arrays, *parameters
            ),
        )
        for algorithm, parameters in algorithms.items()
    }
    found["Store"] = store, _core.Store.from_arrays
    found["NodeWeights"] = weights, _core.NodeWeights.from_arrays
    found["EditColumns"] = (
        _core.EditColumns(store, roots, costs, True),
        lambda arrays: _core.EditColumns.from_arrays(store, arrays, costs),
    )
    return found


OBJECTS = objects()


@pytest.mark.parametrize("name", OBJECTS)
def test_arrays_return_unchanged(name: str) -> None:
    made, restore = OBJECTS[name]
    arrays = [array.copy() for array in made.arrays()]
    again = restore(arrays).arrays()
    assert len(again) == len(arrays)
    for before, after in zip(arrays, again, strict=True):
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(before, after)
        assert not after.flags.writeable
        if before is not arrays[0]:
            assert before.size == 0 or np.shares_memory(before, after)


@pytest.mark.parametrize("name", OBJECTS)
def test_wrong_arrays_are_refused(name: str) -> None:
    made, restore = OBJECTS[name]
    arrays = made.arrays()
    for count in (0, 1, len(arrays) - 1):
        with pytest.raises(ValueError, match="arrays are needed"):
            restore(arrays[:count])
    with pytest.raises(ValueError, match="arrays are needed"):
        restore([*arrays, arrays[-1]])
    for number, array in enumerate(arrays):
        for wrong in (
            array.astype(np.int16),
            array.astype(">i8"),
            array[None],
            array.tolist(),
            None,
            array.astype("S2"),
        ):
            with pytest.raises(ValueError, match=rf"^array {number} "):
                restore([*arrays[:number], wrong, *arrays[number + 1 :]])
        if array.size > 1:
            with pytest.raises(ValueError, match="is not one-dimensional and contiguous"):
                restore([*arrays[:number], np.repeat(array, 2)[::2], *arrays[number + 1 :]])
        if array.size:
            memory = np.empty(array.nbytes + 16, np.uint8)
            shift = 4 + -memory.ctypes.data % 8
            shifted = memory[shift : shift + array.nbytes].view(array.dtype)
            shifted[:] = array
            with pytest.raises(ValueError, match="is not aligned to 8 bytes"):
                restore([*arrays[:number], shifted, *arrays[number + 1 :]])


def test_bytes_that_are_half_an_item() -> None:
    columns, restore = OBJECTS["SubsetTreeColumns"]
    arrays = columns.arrays()
    number = next(k for k, array in enumerate(arrays) if array.dtype == np.uint8 and array.size)
    with pytest.raises(ValueError, match="which is not a multiple of"):
        restore([*arrays[:number], arrays[number][:-1], *arrays[number + 1 :]])


def test_arrays_of_other_objects_are_refused() -> None:
    weights, store = BANK.weights().arrays(), BANK.columns.store.arrays()
    with pytest.raises(ValueError, match="were written by another version"):
        _core.NodeWeights.from_arrays([np.array([1]), *weights[1:]])
    with pytest.raises(ValueError, match="fit together"):
        _core.NodeWeights.from_arrays([*weights[:3], weights[3][:-1]])
    for number, array in enumerate(store[1:], 1):
        if array.dtype != np.uint8:
            with pytest.raises(ValueError, match="fit together"):
                _core.Store.from_arrays([*store[:number], array[:-1], *store[number + 1 :]])
    index = _core.SubsetTreeColumns(BANK.columns.store, BANK.weights(), False, 0.4, 0, False).arrays()
    other = tl.Treebank(["(A x)"]).columns.store
    with pytest.raises(ValueError, match="The arrays belong to another store"):
        _core.SubsetTreeColumns.from_arrays(other, index, 0.4, 0, False)


def test_scaled_columns_and_grown_stores_have_no_arrays() -> None:
    store, weights = BANK.columns.store, BANK.weights()
    with pytest.raises(ValueError, match="Columns in scaled numbers have no arrays"):
        _core.SubsetTreeColumns(store, weights, True, 0.4, 0, False).arrays()
    grown, _ = store.grown(*tl.Treebank(["(A new)"]).columns)
    assert store.whole
    assert not grown.whole
    with pytest.raises(ValueError, match="store extends another store"):
        grown.arrays()


def test_checksum_of_known_bytes() -> None:
    """Published values of XXH64 with seed 0, for each length of the last piece."""
    assert _core.checksum(b"") == 0xEF46DB3751D8E999
    assert _core.checksum(b"a") == 0xD24EC4F1A98C6E5B
    assert _core.checksum(b"abc") == 0x44BC2CF5AD770999
    assert _core.checksum(b"Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1


def test_checksum_finds_damage() -> None:
    rng = random.Random(0)
    for length in (1, 3, 4, 7, 8, 31, 32, 33, 100):
        data = rng.randbytes(length)
        known = _core.checksum(data)
        seen = {known, _core.checksum(data[:-1]), _core.checksum(data + b"\0")}
        for bit in range(8 * length):
            other = bytearray(data)
            other[bit // 8] ^= 1 << bit % 8
            seen.add(_core.checksum(other))
        assert len(seen) == 3 + 8 * length
    blocks = [rng.randbytes(64) for _ in range(10)]
    assert _core.checksum(b"".join(blocks)) != _core.checksum(b"".join([blocks[1], blocks[0], *blocks[2:]]))
    assert len({_core.checksum(bytes(n)) for n in range(200)}) == 200


def test_checksum_of_large_and_odd_buffers() -> None:
    data = np.random.default_rng(0).integers(256, size=(1 << 22) * 2 + 77, dtype=np.uint8)
    assert _core.checksum(data) == _core.checksum(data.tobytes()) == _core.checksum(memoryview(data))
    assert _core.checksum(data[1:]) == _core.checksum(data[1:].copy())
    with pytest.raises((BufferError, ValueError)):
        _core.checksum(data[::2])
    with pytest.raises(TypeError):
        _core.checksum("text")
