"""Public checks for kernels and estimators: slow definitions, strategies for random structures, invariants in one call.

``treelet.testing.strategies`` needs hypothesis; the rest does not. `check_estimator` is loaded when it is first used,
since it brings scikit-learn with it.
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
    raise AttributeError(f"module 'treelet.testing' has no attribute {name!r}")
