"""n-best lists in JSON Lines, one sentence per line; and a checksum of JSON content.

A line is ``{"nbest": [[log probability, ..., tree], ...], "gold": tree, "doc": name}``. Items between the log
probability and the tree are ignored, and other fields are kept unchanged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from treelet.formats.files import Source


def read_nbest(source: Source, *, gold: bool = False) -> Iterator[tuple[int, list[tuple[str, float]], dict[str, Any]]]:
    """Yield the number, the parses as (brackets, log probability) and all fields of each nonempty line of a file.

    With `gold`, each line must contain the gold tree.
    """
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
                gold_field = '"gold": tree, ' if gold else ""
                raise source.error(
                    f'this line is not an n-best list ({error}). Write {{{gold_field}"nbest": [[log probability, tree], ...]}}.',
                    number,
                ) from None
            yield number, parses, fields


def checksum(content: Any) -> str:
    """Return a checksum of the content of a JSON text, whatever its layout.

    Without it, a bit that changed on a disk would be another number, and nobody would know.

    >>> checksum({"a": 1, "b": [2.0]}) == checksum(json.loads('{"b": [2.0],   "a": 1}'))
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
