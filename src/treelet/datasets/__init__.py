"""Trees to try things on: generated here, so that they are always at hand."""

from treelet.datasets.generated import small_treebank

__all__ = ["small_treebank"]
