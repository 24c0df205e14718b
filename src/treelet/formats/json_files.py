"""JSON: a checksum of its content; n-best lists and instances as JSON Lines, one object per line.

A line of an n-best list is ``{"nbest": [[log probability, ..., tree], ...], "gold": tree, "doc": name}``. Anything between the log
probability and the tree is ignored, and other fields are kept as they are. Instances are predicates with arguments, or pairs of
entities; `treelet.structures.read_instances` makes them of the records that are read here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from treelet.formats.files import Source
from treelet.formats.looks import opening_lines

# --- n-best lists ----------------------------------------------------------------------------------------------------


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


# --- instances -------------------------------------------------------------------------------------------------------

FIELDS = {
    "roles": ("words", "predicate", "arguments", "tree", "nbest", "roleset", "doc", "sent"),
    "relations": ("words", "e1", "e2", "label", "types", "tree", "nbest", "doc", "sent"),
}
NEEDED = {"roles": ("predicate",), "relations": ("e1", "e2")}


class Record(NamedTuple):
    """What a line says: its number, whether it is of ``"roles"`` or ``"relations"``, and its fields."""

    line: int
    kind: str
    fields: dict[str, Any]


def read_records(source: Source, kind: str | None = None) -> Iterator[Record]:
    """The lines of a file that are not empty; by default all are of the kind of the first."""
    for number, line in source.text_lines():
        if line.strip():
            with source.item():
                fields = json_object(source, number, line)
                kind = kind or ("roles" if "predicate" in fields else "relations")
                _check_fields(source, number, kind, fields)
                yield Record(number, kind, fields)


def _check_fields(source: Source, number: int, kind: str, fields: dict[str, Any]) -> None:
    missing = [name for name in NEEDED[kind] if name not in fields]
    if missing:
        names, needed = (" and ".join(map(repr, some)) for some in (missing, NEEDED[kind]))
        raise source.error(f"{names} missing: for {kind} each line needs {needed}", number)
    unknown = [name for name in fields if name not in FIELDS[kind]]
    if unknown:
        raise source.error(f"{unknown[0]!r} is no field of {kind}: these are {', '.join(FIELDS[kind])}", number)


def json_object(source: Source, number: int, line: str) -> dict[str, Any]:
    """The object that a line of a file is, or an error that says where it is none."""
    try:
        fields = json.loads(line)
    except json.JSONDecodeError as error:
        raise source.error(f"not JSON: {error.msg}", number, error.colno) from None
    except (RecursionError, ValueError):  # nested too deep; a number of too many digits
        raise source.error("not JSON that can be read: nested too deep, or with too long a number", number) from None
    if not isinstance(fields, dict):
        raise source.error(f"a line must be one JSON object, this is a {type(fields).__name__}", number)
    return fields


# --- checksums -------------------------------------------------------------------------------------------------------


def checksum(content: Any) -> str:
    """Return a checksum of the content of a JSON text, whatever its layout.

    Without it, a bit that changed on a disk would be another number, and nobody would know.

    >>> checksum({"a": 1, "b": [2.0]}) == checksum(json.loads('{"b": [2.0],   "a": 1}'))
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
