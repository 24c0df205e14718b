"""Whether one system is better than another on the same items, as rows of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.metrics import BootstrapResult, mcnemar

Right = NDArray[np.bool_] | Sequence[bool]


def mcnemar_row(a: str, right_a: Right, b: str, right_b: Right) -> dict[str, Any]:
    """Two systems by name, and whether each answer of theirs is right.

    >>> row = mcnemar_row("new", [True, True, False, True], "old", [True, False, False, False])
    >>> row["difference"], row["only_a"], row["only_b"], row["p_mcnemar"]
    (50.0, 2, 0, 0.5)
    """
    test = mcnemar(right_a, right_b)
    difference = 100 * float(np.mean(right_a) - np.mean(right_b))
    return {
        "a": a,
        "b": b,
        "difference": difference,
        "only_a": test.only_a,
        "only_b": test.only_b,
        "p_mcnemar": test.p_value,
    }


def bootstrap_row(drawn: BootstrapResult) -> dict[str, Any]:
    """A difference, its interval, and p."""
    return {"difference": drawn.difference, "interval": list(drawn.interval), "p_bootstrap": drawn.p_value}
