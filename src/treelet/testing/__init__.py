"""Checks for kernels and estimators: invariants, and hypothesis strategies for random structures.

Names are listed in ``__init__.pyi`` and imported when they are first used: `check_estimator` needs
scikit-learn, and the strategies `trees`, `banks`, `forests` and `tagged` need hypothesis.
"""

from typing import Any

from treelet.lazy import loader, names_in_stub

_HOMES = names_in_stub(__file__)
__all__ = sorted(_HOMES)  # noqa: PLE0605
_load = loader(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    value = globals()[name] = _load(name)
    return value


def __dir__() -> list[str]:
    return __all__
