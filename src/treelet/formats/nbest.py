"""Lists of parses as JSON Lines: one object a sentence.

``{"nbest": [[log probability, ..., tree], ...], "gold": tree, "doc": name}``; what stands between the log probability and
the tree is passed over, and other fields are kept as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from treelet.formats.files import Source
from treelet.formats.looks import opening_lines


class NBest(NamedTuple):
    """A sentence: its line, its parses as (brackets, log probability), and all fields of the line."""

    line: int
    parses: list[tuple[str, float]]
    fields: dict[str, Any]


def looks_like_nbest(head: bytes) -> bool:
    """Whether the first bytes of a file are such lists.

    >>> looks_like_nbest(b'{"nbest": [[-1, "(S x)"]]}'), looks_like_nbest(b'(S ({"nbest" x))')
    (True, False)
    """
    first = "".join(opening_lines(head)[:1])
    return first.lstrip().startswith("{") and '"nbest"' in first


def read_nbest(source: Source, *, gold: bool = False) -> Iterator[NBest]:
    """The lines of a file that are not empty; with `gold`, each must have the right tree too."""
    for number, line in source.text_lines():
        if not line.strip():
            continue
        with source.item():
            try:
                fields = json.loads(line)
                parses = [(str(item[-1]), float(item[0])) for item in fields["nbest"]]
                if gold:
                    fields["gold"] = str(fields["gold"])
            except (ValueError, KeyError, IndexError, TypeError, OverflowError, RecursionError) as error:
                right = '"gold": tree, ' if gold else ""
                raise source.error(
                    f'a line is {{{right}"nbest": [[log probability, tree], ...]}} ({error})', number
                ) from None
            yield NBest(number, parses, fields)
