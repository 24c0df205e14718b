"""Kernel values on a GPU. Device code compares the parts of examples, which come from the same stores as on the CPU."""

from treelet.device.counts import SubtreeColumns
from treelet.device.hyperedges import ForestKernelColumns, HyperedgeColumns
from treelet.device.locality import LocalityColumns, SubsequenceColumns
from treelet.device.partial_tree import PartialTreeColumns
from treelet.device.tagging import TaggingColumns

__all__ = [
    "ForestKernelColumns",
    "HyperedgeColumns",
    "LocalityColumns",
    "PartialTreeColumns",
    "SubsequenceColumns",
    "SubtreeColumns",
    "TaggingColumns",
]
