"""A checksum for what is kept as JSON: a bit that changed on a disk would else be another number, and nobody would know."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def checksum(content: Any) -> str:
    """Of what a JSON text says, however it is laid out.

    >>> checksum({"a": 1, "b": [2.0]}) == checksum(json.loads('{"b": [2.0],   "a": 1}'))
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
