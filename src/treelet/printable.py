"""Safe display of untrusted text, such as labels, words, file names and metadata of models."""

from __future__ import annotations

_WIDTH = 60  # maximal number of characters of a text in a message
_BYTES = "".join(map(chr, range(0xDC80, 0xDD00)))  # how Python writes bytes of a file name that are not text
_JOINERS = "\u200c\u200d"  # some scripts need them between letters


def printable(text: str, keep: str = "") -> str:
    r"""Escape all control characters of a text except those in `keep`.

    The result cannot move the cursor of a terminal or change the direction of the text.

    >>> print(printable("(N a\x1b[2J)"))
    (N a\x1b[2J)
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in _JOINERS or letter in keep else ascii(letter)[1:-1]
        for letter in text
    )


def printable_name(text: str) -> str:
    """Escape the control characters of a text with names of files, but not bytes of names that are not text.

    Line breaks would end the line of a pipe; the bytes are passed on to other programs. A terminal escapes them itself.
    """
    return printable(text, keep=_BYTES)


def shortened(text: object) -> str:
    """Return a text for a message: quoted, and cut if it is long. Other objects are named by type."""
    if isinstance(text, (str, bytes)):
        return repr(text) if len(text) <= _WIDTH else repr(text[: _WIDTH - 3]) + "..."
    from treelet.checks import article

    return article(type(text).__name__)


def readable_number(value: float) -> str:
    """Return a number for people: a whole number in full, any other number with six significant digits.

    Rounding also hides numerical noise: a normalized kernel value of 1.0000000000000007 is printed as 1.

    >>> readable_number(0.16000000000000003), readable_number(1.0000000000000007), readable_number(1336.0)
    ('0.16', '1', '1,336')
    """
    if abs(value) < 1e15 and value == round(value):
        return f"{value + 0.0:,.0f}"
    return f"{value:.6g}"
