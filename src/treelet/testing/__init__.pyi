"""Checks for kernels and estimators: invariants, and hypothesis strategies for random structures."""

from treelet.testing.checks import check_kernel as check_kernel
from treelet.testing.estimators import check_estimator as check_estimator
from treelet.testing.strategies import banks as banks
from treelet.testing.strategies import forests as forests
from treelet.testing.strategies import tagged as tagged
from treelet.testing.strategies import trees as trees
