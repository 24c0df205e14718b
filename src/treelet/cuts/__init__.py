"""Cuts: the part of a tree or forest that is relevant for a task, and conversions of dependency parses.

Many cuts have one function for trees and one for forests. The function for forests returns the cuts of
all trees of the forest. The probability of a cut is the sum of the probabilities of the trees that it
comes from. The trees are never enumerated.

Names are listed in ``__init__.pyi`` and imported when they are first used.
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
