"""Checks for kernels and estimators: invariants, slow definitions, and strategies for random structures.

Only ``treelet.testing.strategies`` needs hypothesis. `check_estimator` is loaded on first use, because
it imports scikit-learn.
"""

from typing import TYPE_CHECKING, Any

from treelet.testing import reference
from treelet.testing.checks import check_kernel
from treelet.testing.definitions import definition

if TYPE_CHECKING:
    from treelet.testing.estimators import check_estimator

__all__ = ["check_estimator", "check_kernel", "definition", "reference"]


def __getattr__(name: str) -> Any:
    if name == "check_estimator":
        from treelet.testing.estimators import check_estimator

        return check_estimator
    from treelet.checks import suggestion

    message = f"module 'treelet.testing' has no attribute {name!r}."
    raise AttributeError(message + suggestion(name, __all__), name=name)
