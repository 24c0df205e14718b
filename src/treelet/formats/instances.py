"""Predicates with arguments, and pairs of entities, as JSON Lines: one object a line.

Only the layout is known here; `treelet.structures.read_instances` makes instances of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from treelet.formats.files import Source

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
