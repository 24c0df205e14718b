"""Other people's text where a terminal shows it: labels, words, names of files, what a model's file says."""

from __future__ import annotations

WIDTH = 60  # characters of a text in a message
JOINERS = "\u200c\u200d"  # between letters of some scripts


def printable(text: str, keep: str = "") -> str:
    r"""A text without what a terminal would obey: nothing in it moves the cursor, or turns the writing round.

    >>> print(printable("(N a\x1b[2J)"))
    (N a\x1b[2J)
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in JOINERS or letter in keep else ascii(letter)[1:-1]
        for letter in text
    )


def shortened(text: object) -> str:
    """A text for a message: quoted, and not all of it if it is long."""
    if isinstance(text, (str, bytes)):
        return repr(text) if len(text) <= WIDTH else repr(text[: WIDTH - 3]) + "..."
    from treelet.checks import article

    return article(type(text).__name__)
