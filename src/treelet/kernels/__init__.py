"""Kernels: what is compared, in formulas; nothing here knows of threads or files."""

from treelet.kernels.algebra import Constant, Normalized, Product, Scale, Sum
from treelet.kernels.base import Evaluator, Kernel
from treelet.kernels.tree import PartialTree, SubsetTree, Subtree

__all__ = [
    "Constant",
    "Evaluator",
    "Kernel",
    "Normalized",
    "PartialTree",
    "Product",
    "Scale",
    "SubsetTree",
    "Subtree",
    "Sum",
]
