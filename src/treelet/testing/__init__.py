"""Checks for kernels and estimators: invariants, and hypothesis strategies for random structures.

Names are listed in ``__init__.pyi`` and imported when they are first used: `check_estimator` needs
scikit-learn, and the strategies `trees`, `banks`, `forests` and `tagged` need hypothesis.
"""

from treelet.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
