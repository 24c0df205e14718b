"""Gram matrices in bulk: tiles under a memory budget, by threads or by the workers of a cluster.

``treelet.gram`` as an attribute is the function `gram`, whatever was imported before; the package is reached by
``from treelet.gram import ...``.
"""

from treelet.gram.cost import Cost
from treelet.gram.dask_array import lazy_gram
from treelet.gram.local import gram
from treelet.gram.neighbours import nearest
from treelet.gram.plan import parse_memory
from treelet.gram.products import operator
from treelet.gram.reduce import reduce

__all__ = ["Cost", "gram", "lazy_gram", "nearest", "operator", "parse_memory", "reduce"]
