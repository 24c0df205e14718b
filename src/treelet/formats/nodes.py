r"""What an adapter says of other libraries' nodes: labels, children, places.

A label holds no white space and no brackets, and what it stands for may. Words of sentences are written as treebanks do, by
`safe_label`: that is what one wants, and it is not one-to-one. Values, as constants and attributes, must not become equal
where they differ: `value_label` can be read back.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

Node = Any
KNOWN = 8192  # texts of which the labels are kept: most names come again and again

_PENN = str.maketrans(
    {"(": "-LRB-", ")": "-RRB-", " ": "_", "\t": "_", "\n": "_", "\r": "_", "\v": "_", "\f": "_", "\0": "_"}
)
_ESCAPES = {" ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"}
_ESCAPED = re.compile("[() \t\n\r\v\f\0\\\\\ud800-\udfff]")
EMPTY = "\\e"


def escape(text: str) -> str:
    """Make a label of any text, as treebanks do.

    Round brackets become ``-LRB-`` and ``-RRB-``. White space becomes ``_``, and an empty text becomes ``''``.

    Parameters
    ----------
    text : str
        For example a token of a sentence.

    Returns
    -------
    str
        A label that `treelet.Tree` accepts.

    See Also
    --------
    unescape : turns ``-LRB-`` and ``-RRB-`` back into brackets.

    Examples
    --------
    >>> import treelet as tl
    >>> print(tl.Tree("-LRB-", [tl.formats.escape("(")]))
    (-LRB- -LRB-)
    >>> print(tl.formats.escape("f(x) = 1"))
    f-LRB-x-RRB-_=_1
    """
    clean = text.translate(_PENN) or "''"
    return clean if clean.isascii() else clean.encode("utf-8", "replace").decode()


def unescape(label: str) -> str:
    """Replace ``-LRB-`` and ``-RRB-`` in a label with brackets.

    Underscores stay, because they may have been part of the text that was passed to `escape`.

    Examples
    --------
    >>> import treelet as tl
    >>> tree = tl.Tree.parse("(NP (N f) (-LRB- -LRB-) (N x) (-RRB- -RRB-))")
    >>> [tl.formats.unescape(word) for word in tree.words()]
    ['f', '(', 'x', ')']
    """
    return label.replace("-LRB-", "(").replace("-RRB-", ")")


safe_label = lru_cache(KNOWN)(escape)  # cached, because most words occur again and again


@lru_cache(KNOWN)
def value_label(text: str) -> str:
    r"""Any text as a label, so that different texts have different labels: with escapes by a backslash.

    >>> print(value_label("f(a b)"), value_label("a_b"), value_label(""))
    f\x28a\sb\x29 a_b \e
    """
    return _ESCAPED.sub(_escape, text) if text else EMPTY


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _ESCAPES.get(found[0]) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


class Place(NamedTuple):
    """Where a node stands in its source: lines and columns are counted from 1. What is not known is None."""

    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


class Adapter(ABC):
    """How to walk objects of some kind as trees."""

    shares = False
    """Whether nodes never change, so that one that is met again is the same subtree again."""

    def root(self, item: Node) -> Node:
        """Where to begin."""
        return item

    @abstractmethod
    def parts(self, node: Node) -> tuple[str, Sequence[Node]]:
        """What stands at a node, and what is below it, in order.

        Of that, a string is a leaf with this label, and a plain tuple ``(label, children)`` a node that is made of a part of
        this one: a field, a value, an attribute, a run of text. All else are nodes to be asked about in turn. Where nodes
        are shared, tuples have no such meaning.
        """

    def place(self, node: Node) -> Place | None:
        """Where it stands; None if that is not known better than of the node above."""
        return None
