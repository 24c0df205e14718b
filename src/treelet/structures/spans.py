"""Spans of words."""

from __future__ import annotations

from operator import index as as_int
from typing import Any

from treelet.errors import InputTypeError, ParameterError

Span = tuple[int, int]
"""The first word, and the first word behind; words are counted from 0."""


def as_span(span: Any) -> Span:
    """Two ints, the first below the second, or an error."""
    try:
        begin, end = span
        if isinstance(begin, bool) or isinstance(end, bool):
            raise TypeError
        begin, end = as_int(begin), as_int(end)
    except (TypeError, ValueError):
        raise InputTypeError(f"a span is two numbers, the first word and the first word behind; got {span!r}") from None
    if not 0 <= begin < end:
        raise ParameterError(
            f"a span goes from its first word to the first word behind, counted from 0; got {begin}-{end}"
        )
    return begin, end
