"""Cuts: the part of a tree or forest that is relevant for a task, and conversions of dependency parses.

Many cuts have one function for trees and one for forests. The function for forests returns the cuts of
all trees of the forest. The probability of a cut is the sum of the probabilities of the trees that it
comes from. The trees are never enumerated.

Names are listed in ``__init__.pyi`` and imported when they are first used.
"""

from treelet.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
