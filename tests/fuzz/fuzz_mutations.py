"""Inputs altered at random, by a fixed seed: what a coverage-guided fuzzer does, without the guide."""

from __future__ import annotations

import random
from collections.abc import Sequence


def mutated(rng: random.Random, seeds: Sequence[bytes], words: Sequence[bytes], limit: int) -> bytes:
    """One of the seeds with one to four changes: bytes, words of the format, pieces doubled, removed, moved or of another seed."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((1, 1, 2, 4, 8, 32, 200)))
        what = rng.randrange(8)
        if what == 0 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif what == 1 and data:
            data[at % len(data)] = rng.randrange(256)
        elif what == 2:
            data[at:at] = rng.choice(words) if words else bytes([rng.randrange(256)])
        elif what == 3:
            data[at:to] = rng.choice(words) if words else b""
        elif what == 4:
            del data[at:to]
        elif what == 5:
            data[at:at] = data[at:to] * rng.choice((1, 2, 50))
        elif what == 6:
            other = rng.choice(seeds)
            begin = rng.randrange(len(other) + 1)
            data[at:to] = other[begin : begin + rng.choice((4, 30, 200))]
        else:
            del data[at:]
    return bytes(data[:limit])
