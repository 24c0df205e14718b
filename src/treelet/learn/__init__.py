"""Learning with kernels: estimators in the style of scikit-learn, compressed models, and model files.

Names are listed in ``__init__.pyi`` and imported when they are first used. Estimators need
scikit-learn, and so does `treelet.load`, which returns an estimator. The commands ``predict``,
``evaluate`` and ``explain`` read models without scikit-learn.
"""

from typing import Any

from treelet.lazy import loader, names_in_stub

HOMES = names_in_stub(__file__)
__all__ = sorted(HOMES)  # noqa: PLE0605
_load = loader(__name__, HOMES)


def __getattr__(name: str) -> Any:
    value = globals()[name] = _load(name)
    return value


def __dir__() -> list[str]:
    return __all__
