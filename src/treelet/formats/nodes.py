r"""Adapters' view of the nodes of other libraries: labels, children, places.

A label contains neither white space nor brackets, but the text behind it may. Words are converted by
`safe_label` in the way of treebanks, so different words may get the same label. Values, such as
constants and attributes, are converted by `value_label`, which keeps different values different.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

Node = Any
KNOWN = 8192  # size of the caches of labels: most names occur again and again

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
    r"""Return a text as a label, with backslash escapes. Different texts have different labels.

    >>> print(value_label("f(a b)"), value_label("a_b"), value_label(""))
    f\x28a\sb\x29 a_b \e
    """
    return _ESCAPED.sub(_escape, text) if text else EMPTY


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _ESCAPES.get(match[0]) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


class Place(NamedTuple):
    """Position of a node in its source. Lines and columns are counted from 1; unknown values are None.

    Attributes
    ----------
    line, column : int
        Begin of the node.
    end_line, end_column : int or None
        End of the node.
    """

    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


class Adapter(ABC):
    """Converts objects of another library to trees."""

    shares = False
    """Whether nodes never change. If so, a node that occurs again is the same subtree."""

    def root(self, item: Node) -> Node:
        """Return the node to begin with."""
        return item

    @abstractmethod
    def parts(self, node: Node) -> tuple[str, Sequence[Node]]:
        """Return the label of a node and its children, in order.

        A child that is a string is a leaf with that label. A plain tuple ``(label, children)`` is a node
        for a part of this node: a field, a value, an attribute, a run of text. Other children are nodes.
        If nodes are shared, tuples have no special meaning.
        """

    def place(self, node: Node) -> Place | None:
        """Return the position of a node, or None to use the position of its parent."""
        return None
