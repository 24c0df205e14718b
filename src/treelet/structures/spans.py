"""Spans of words."""

from __future__ import annotations

from operator import index as as_int
from typing import Any

from treelet.errors import InputTypeError, ParameterError

Span = tuple[int, int]
"""The first word of a span and the word after its last word, both counted from 0."""


def as_span(span: Any) -> Span:
    """Return a span as two ints, the first smaller than the second. Other values raise an error."""
    try:
        begin, end = span
        if isinstance(begin, bool) or isinstance(end, bool):
            raise TypeError
        begin, end = as_int(begin), as_int(end)
    except (TypeError, ValueError):
        raise InputTypeError(
            f"A span must be two ints: its first word, and the word after its last word. Got {span!r:.60} instead."
        ) from None
    if not 0 <= begin < end:
        raise ParameterError(
            "A span (begin, end) must have 0 <= begin < end, where end is the word after the last word. "
            f"Got ({begin}, {end}) instead."
        )
    return begin, end
