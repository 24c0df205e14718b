"""Comparison of two corpora, families of similar examples, and the diversity of a corpus.

Names are listed in ``__init__.pyi`` and imported when they are first used, because `diff` needs scikit-learn.
"""

from treelet.corpora.families import families  # noqa: F401  # at once, because the module has the same name
from treelet.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
