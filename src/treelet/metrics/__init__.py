"""Measures of parses, rankings, roles, relations, tables and code, and tests of significance.

Names are listed in ``__init__.pyi`` and imported when they are first used.
"""

from treelet.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
