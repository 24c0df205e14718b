"""What both parts of the forest experiment say of what they tried."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.str_]
Matrix = NDArray[np.float64]


def best(trials: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The trial with the highest F1, the first of equals."""
    return max(trials, key=lambda trial: trial["f1"])
