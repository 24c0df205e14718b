"""Checks of arrays that come from a model file, where nothing is trusted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def whole_numbers(values: Any, dimensions: int) -> NDArray[np.int64]:
    """The values, if they are whole numbers of at least 0; else ValueError."""
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != dimensions:
        raise ValueError("whole numbers are missing")
    if values.size and values.min() < 0:
        raise ValueError("a number is negative")
    return values


def are_floats(values: Any, dimensions: int) -> bool:
    """Whether the values are finite numbers in so many dimensions."""
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != dimensions:
        return False
    return bool(np.isfinite(values).all())


def check_intercepts(values: Any, outputs: int) -> None:
    """ValueError unless there is one number an output."""
    if not are_floats(values, 1) or values.shape != (outputs,):
        raise ValueError("intercepts and outputs do not fit")
