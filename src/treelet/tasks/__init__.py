"""Complete tasks, from data to a measured result: reranking of parses, semantic roles and relations, and clones in source code.

Names are listed in ``__init__.pyi`` and imported when they are first used, because only some tasks need scikit-learn.
"""

from treelet.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
