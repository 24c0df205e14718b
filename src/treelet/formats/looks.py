"""Helpers that look at the first lines of a file, by which formats are detected."""

from __future__ import annotations

import re

from treelet.formats.files import HEAD

_BRACKET = re.compile(r"[()]")


def opening_lines(head: bytes, comment: str | None = None) -> list[str]:
    r"""Return the lines of a file's first bytes without blank lines and comments. The last line may be cut short.

    >>> opening_lines(b"# a file\n\n1 |BT| (S x) |ET|\r\n", comment="#")
    ['1 |BT| (S x) |ET|']
    """
    lines = (line.rstrip("\r") for line in head.decode("utf-8", "replace").split("\n"))
    return [line for line in lines if line.strip() and not (comment and line.lstrip().startswith(comment))]


def end_of_tree(text: str) -> int | None:
    """Return the offset at which the brackets at the beginning of a text are closed.

    The offset is 0 if the text does not begin with a bracket, and None if the bracket is never closed.


    >>> end_of_tree("(S (A a)) x"), end_of_tree("x"), end_of_tree("(S (A a)")
    (9, 0, None)
    """
    if not text.startswith("("):
        return 0
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return bracket.end()
    return None


def is_tree(text: str) -> bool:
    """Return whether a text is exactly one bracketed tree, or the beginning of one that is cut off.

    >>> is_tree(" (S (A a)) "), is_tree("(S (A"), is_tree("(A a) (B b)"), is_tree("")
    (True, False, False, False)
    """
    stripped = text.strip()
    end = end_of_tree(stripped)
    return stripped != "" and end == len(stripped) if end is not None else len(text) >= HEAD // 2
