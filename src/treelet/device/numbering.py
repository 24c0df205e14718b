"""Numbers for the keys of the columns, by which the keys of rows are looked up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treelet.device.launching import Array, Device


def pairs(device: Device, one: Array, other: Array) -> Array:
    """Combine two numbers below 2**31 into one key; -1 if one of the numbers is -1."""
    xp = device.xp
    return xp.where((one >= 0) & (other >= 0), one.astype(np.int64) << 32 | other.astype(np.int64), -1)


@dataclass(frozen=True)
class Numbers:
    """Distinct keys in ascending order. The number of a key is its index."""

    device: Device
    known: Array

    @staticmethod
    def of(device: Device, keys: Array) -> Numbers:
        """Number all keys that are not negative."""
        valid = keys[keys >= 0]
        return Numbers(device, device.xp.unique(valid) if len(valid) else valid)

    def __len__(self) -> int:
        return len(self.known)

    def find(self, keys: Array) -> Array:
        """Return the numbers of keys as int32; -1 for keys without a number."""
        xp = self.device.xp
        if not len(self.known):
            return xp.full(len(keys), -1, np.int32)
        index = xp.minimum(xp.searchsorted(self.known, keys), len(self.known) - 1)
        return xp.where(self.known[index] == keys, index, -1).astype(np.int32)
