"""What is lit up in a picture: the nodes that fragments cover, and the nodes' shares; as far as that is quickly found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from treelet.explain.places import places
from treelet.kernels import Kernel
from treelet.kernels.wrapped import Normalized
from treelet.structures import Tree

OCCURRENCES = 20  # of a fragment in a tree that are lit up
PAIRS = 100_000  # of a node of a fragment and one of a tree with the same label, in all: about a tenth of a second
KEPT = 2_000  # places that are remembered
KEPT_LETTERS = 5_000  # of a fragment and its tree whose places are: so all that is kept stays small
