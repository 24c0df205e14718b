"""Kernel matrices of large collections: tiles within a memory limit, computed by threads or a cluster."""

from treelet.matrices.lazy import lazy_gram
from treelet.matrices.matrix import gram
from treelet.matrices.nearest import nearest
from treelet.matrices.operator import operator
from treelet.matrices.reduce import reduce
from treelet.resources import parse_memory

__all__ = ["gram", "lazy_gram", "nearest", "operator", "parse_memory", "reduce"]
