"""Gram matrices in bulk: tiles under a memory budget, by threads or by the workers of a cluster.

``treelet.gram`` as an attribute is the function `gram`, whatever was imported before; the package is reached by
``from treelet.gram import ...``.
"""

from treelet.gram.cost import Cost
from treelet.gram.lazy import lazy_gram
from treelet.gram.matrix import gram
from treelet.gram.nearest import nearest
from treelet.gram.operator import operator
from treelet.gram.reduce import reduce
from treelet.resources import parse_memory

__all__ = ["Cost", "gram", "lazy_gram", "nearest", "operator", "parse_memory", "reduce"]
