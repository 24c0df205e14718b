"""Edit distances of sequences: against the dynamic program, and against RapidFuzz."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from conftest import trials
from treelet import _core


def as_bytes(sequences: list[list[int]]) -> list[bytes]:
    return [np.array(sequence, dtype=np.int32).tobytes() for sequence in sequences]


def distances(a: list[list[int]], b: list[list[int]], limit: int | None = None) -> NDArray[np.float64]:
    return _core.string_distances(as_bytes(a), as_bytes(b), limit)


def slow(a: list[int], b: list[int]) -> int:
    """The dynamic program, row by row."""
    above = list(range(len(b) + 1))
    for i, symbol in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (symbol != other)))
        above = row
    return above[-1]


def edited(rng: random.Random, sequence: list[int], edits: int, alphabet: list[int]) -> list[int]:
    """The sequence after random edits."""
    result = list(sequence)
    for _ in range(edits):
        place = rng.randint(0, len(result))
        kind = rng.choice(["insert", "delete", "replace"])
        if kind == "insert":
            result.insert(place, rng.choice(alphabet))
        elif place < len(result):
            result[place : place + 1] = [rng.choice(alphabet)] if kind == "replace" else []
    return result


ALPHABETS = [[7], [0, 1], list(range(4)), list(range(100)), [2**31 - 1 - 64 * i for i in range(300)], [-5, 0, 5]]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two sequences of up to 300 symbols: unrelated, or one edited from the other."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    alphabet = draw(st.sampled_from(ALPHABETS))
    lengths = st.one_of(st.integers(0, 300), st.sampled_from([0, 1, 63, 64, 65, 127, 128, 129, 192, 193]))
    a = rng.choices(alphabet, k=draw(lengths))
    related = draw(st.booleans())
    b = edited(rng, a, draw(st.integers(0, 80)), alphabet)[:300] if related else rng.choices(alphabet, k=draw(lengths))
    return a, b


@settings(max_examples=trials(300), deadline=None)
@given(pairs())
def test_equal_to_the_dynamic_program_for_every_limit(pair: tuple[list[int], list[int]]) -> None:
    a, b = pair
    expected = slow(a, b)
    assert distances([a], [b]) == expected
    assert distances([b], [a]) == expected
    for limit in range(max(len(a), len(b)) + 2):
        assert distances([a], [b], limit) == min(expected, limit + 1), limit


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_matrices_of_short_sequences(alphabet: list[int]) -> None:
    """Sequences of up to 64 symbols are compared in groups, with words of 8, 16, 32 and 64 bits."""
    rng = random.Random(0)
    lengths = [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70]
    sequences = [rng.choices(alphabet, k=rng.randint(0, 9)) for _ in range(70)]
    sequences += [rng.choices(alphabet, k=length) for length in lengths] + [[]]
    expected = np.array([[slow(a, b) for b in sequences] for a in sequences])
    assert np.array_equal(distances(sequences, sequences), expected)
    for limit in (0, 1, 3):
        assert np.array_equal(distances(sequences, sequences, limit), np.minimum(expected, limit + 1))
    assert np.array_equal(distances(sequences[:3], sequences[5:]), expected[:3, 5:])


def test_long_sequences() -> None:
    rng = random.Random(1)
    for alphabet in ALPHABETS:
        a = rng.choices(alphabet, k=5000)
        b = edited(rng, a, 60, alphabet)
        full = distances([a], [b])[0, 0]
        assert full <= 60
        assert full == distances([b], [a])[0, 0]
        assert full == distances([a], [b], 64)[0, 0]
        if full:
            assert distances([a], [b], int(full) - 1)[0, 0] == full


def test_empty_matrices() -> None:
    assert distances([], []).shape == (0, 0)
    assert distances([[]], []).shape == (1, 0)
    assert distances([[]], [[], [1, 2]]).tolist() == [[0, 2]]


def test_equal_to_rapidfuzz() -> None:
    peer = pytest.importorskip("rapidfuzz.distance.Levenshtein", reason="RapidFuzz is not installed (group peers)")
    rng = random.Random(2)
    for alphabet in ALPHABETS:
        sequences = [rng.choices(alphabet, k=rng.choice([0, 5, 20, 64, 140, 700])) for _ in range(15)]
        sequences += [edited(rng, sequence, 10, alphabet) for sequence in sequences]
        found = distances(sequences, sequences)
        limited = distances(sequences, sequences, 20)
        for i, a in enumerate(sequences):
            for j, b in enumerate(sequences):
                assert found[i, j] == peer.distance(a, b)
                assert limited[i, j] == peer.distance(a, b, score_cutoff=20)


def test_normalized() -> None:
    sequences = as_bytes([[], [1], [1, 2], [3, 2, 1]])
    found = _core.string_distances(sequences, sequences, normalized=True)
    third = 2 / 3
    assert found.tolist() == [[0, 1, 1, 1], [1, 0, 0.5, third], [1, 0.5, 0, third], [1, third, third, 0]]


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="must consist of 32-bit numbers"):
        _core.string_distances([b"abc"], [])
