"""JSON Lines with n-best lists or instances, one object per line; and a checksum of JSON content.

A line of an n-best list is ``{"nbest": [[log probability, ..., tree], ...], "gold": tree, "doc": name}``.
Items between the log probability and the tree are ignored, and other fields are kept unchanged. Instances
are predicates with arguments, or pairs of entities. `treelet.structures.read_instances` builds them from
the records that are read here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from treelet.checks import article, suggestion
from treelet.formats.detection import opening_lines
from treelet.formats.files import Source

# --- n-best lists ----------------------------------------------------------------------------------------------------


class _NBest(NamedTuple):
    """A sentence: its line, its parses as (brackets, log probability), and all fields of the line."""

    line: int
    parses: list[tuple[str, float]]
    fields: dict[str, Any]


def looks_like_nbest(head: bytes) -> bool:
    """Return whether the first bytes of a file are n-best lists.

    >>> looks_like_nbest(b'{"nbest": [[-1, "(S x)"]]}'), looks_like_nbest(b'(S ({"nbest" x))')
    (True, False)
    """
    first = "".join(opening_lines(head)[:1])
    return first.lstrip().startswith("{") and '"nbest"' in first


def read_nbest(source: Source, *, gold: bool = False) -> Iterator[_NBest]:
    """Yield the nonempty lines of a file. With `gold`, each line must contain the gold tree."""
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
            yield _NBest(number, parses, fields)


# --- instances -------------------------------------------------------------------------------------------------------

FIELDS = {
    "roles": ("words", "predicate", "arguments", "tree", "nbest", "roleset", "doc", "sent"),
    "relations": ("words", "e1", "e2", "label", "types", "tree", "nbest", "doc", "sent"),
}
_NEEDED = {"roles": ("predicate",), "relations": ("e1", "e2")}


class _Record(NamedTuple):
    """A line: its number, its kind (``"roles"`` or ``"relations"``) and its fields."""

    line: int
    kind: str
    fields: dict[str, Any]


def read_records(source: Source, kind: str | None = None) -> Iterator[_Record]:
    """Yield the nonempty lines of a file. By default all lines have the kind of the first."""
    for number, line in source.text_lines():
        if line.strip():
            with source.item():
                fields = _json_object(source, number, line)
                kind = kind or ("roles" if "predicate" in fields else "relations")
                _check_fields(source, number, kind, fields)
                yield _Record(number, kind, fields)


def _check_fields(source: Source, number: int, kind: str, fields: dict[str, Any]) -> None:
    missing = [name for name in _NEEDED[kind] if name not in fields]
    if missing:
        names, needed = (" and ".join(map(repr, some)) for some in (missing, _NEEDED[kind]))
        verb = "field {} is" if len(missing) == 1 else "fields {} are"
        raise source.error(f"the {verb.format(names)} missing. Each line of {kind} needs {needed}.", number)
    unknown = [name for name in fields if name not in FIELDS[kind]]
    if unknown:
        raise source.error(
            f"unknown field {unknown[0]!r}.{suggestion(unknown[0], FIELDS[kind])} The fields of {kind} are "
            f"{', '.join(FIELDS[kind])}.",
            number,
        )


def _json_object(source: Source, number: int, line: str) -> dict[str, Any]:
    """Return the JSON object in a line. Raise an error with the place if the line is not one."""
    try:
        fields = json.loads(line)
    except json.JSONDecodeError as error:
        raise source.error(f"this is not valid JSON ({error.msg}).", number, error.colno) from None
    except (RecursionError, ValueError):  # nested too deeply, or a number with too many digits
        raise source.error(
            "this JSON cannot be read: it is nested too deeply, or a number is too long.", number
        ) from None
    if not isinstance(fields, dict):
        raise source.error(
            f"each line must be a JSON object, but this line is {article(type(fields).__name__)}.", number
        )
    return fields


# --- checksums -------------------------------------------------------------------------------------------------------


def checksum(content: Any) -> str:
    """Return a checksum of the content of a JSON text, whatever its layout.

    Without it, a bit that changed on a disk would be another number, and nobody would know.

    >>> checksum({"a": 1, "b": [2.0]}) == checksum(json.loads('{"b": [2.0],   "a": 1}'))
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
