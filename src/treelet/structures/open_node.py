"""Leaves of fragments that are categories, not words."""

from __future__ import annotations

from typing import Any

from treelet.structures.tree import Tree


class OpenNode(Tree):
    """A leaf of a fragment that stands for a category which the fragment does not expand.

    A fragment such as ``(NP NNP)`` is a `Tree`, and its text does not show whether ``NNP`` is a word. The search for fragments
    therefore builds a leaf as an `OpenNode` if the node in the data has children, and as a plain `Tree` if the node is a word.
    Kernels compare labels only, so a fragment may match a word in one tree and a category in another. In this case, the
    occurrence at which the search found the fragment decides.

    The distinction is for drawings only. An `OpenNode` equals the word with the same label, and a fragment that is written as text
    and read again has words in all its leaves.

    Examples
    --------
    >>> from treelet import SubsetTree, Tree, shared_fragments
    >>> trees = "(NP (NNP Rome))", "(NP (NNP Oslo))"
    >>> fragment = shared_fragments(*trees, SubsetTree())[0].tree
    >>> fragment, fragment.children[0].is_word, Tree.parse("(NP NNP)").children[0].is_word
    (Tree.parse('(NP NNP)'), False, True)
    """

    __slots__ = ()

    def __init__(self, label: str) -> None:
        super().__init__(label)

    @property
    def is_word(self) -> bool:
        """False: the node is a category."""
        return False

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenNode, (self.label,)
