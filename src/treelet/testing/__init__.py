"""Public checks for kernels: slow definitions, strategies for random structures, invariants in one call.

``treelet.testing.strategies`` needs hypothesis; the rest does not.
"""

from treelet.testing import reference
from treelet.testing.checks import check_kernel

__all__ = ["check_kernel", "reference"]
