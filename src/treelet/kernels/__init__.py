"""Kernels between structures, and their algebra: sums, products, normalization, kernels on columns."""

from treelet.kernels.algebra import Constant, Distance, Gaussian, Normalized, PolynomialOf, Product, Scale, Sum
from treelet.kernels.bag import Bag
from treelet.kernels.base import Kernel
from treelet.kernels.crossed import Crossed
from treelet.kernels.forest import ForestKernel
from treelet.kernels.locality import Locality, Subsequence
from treelet.kernels.on import On
from treelet.kernels.pairwise import Evaluator
from treelet.kernels.sequence import Tagging
from treelet.kernels.smoothed import Smoothed
from treelet.kernels.statements import StatementOverlap
from treelet.kernels.tree import PartialTree, SubsetTree, Subtree
from treelet.kernels.vector import Linear, Polynomial

__all__ = [
    "Bag",
    "Constant",
    "Crossed",
    "Distance",
    "Evaluator",
    "ForestKernel",
    "Gaussian",
    "Kernel",
    "Linear",
    "Locality",
    "Normalized",
    "On",
    "PartialTree",
    "Polynomial",
    "PolynomialOf",
    "Product",
    "Scale",
    "Smoothed",
    "StatementOverlap",
    "Subsequence",
    "SubsetTree",
    "Subtree",
    "Sum",
    "Tagging",
]
