"""Kernel matrices of large collections: tiles within a memory limit, computed by threads or a cluster.

The attribute ``treelet.gram`` is always the function `gram`, no matter which modules were imported
before. Import names of this package with ``from treelet.gram import ...``.
"""

from treelet.gram.cost import Cost
from treelet.gram.lazy import lazy_gram
from treelet.gram.matrix import gram
from treelet.gram.nearest import nearest
from treelet.gram.operator import operator
from treelet.gram.reduce import reduce
from treelet.resources import parse_memory

__all__ = ["Cost", "gram", "lazy_gram", "nearest", "operator", "parse_memory", "reduce"]
