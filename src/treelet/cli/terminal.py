"""The standard streams: a terminal obeys what it is sent, and labels and words are other people's; notes may be lost, work may not."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, TextIO

from treelet.printable import printable

COLOURS = re.compile("(\x1b\\[(?:0|1;31|1;32)m)")
"""What treelet's own colours are: see `treelet.report.gold_comparison`."""


class _Stream:
    """Another stream, in whose place this one is."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def writelines(self, lines: Any) -> None:
        """Write some texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Terminal(_Stream):
    """A terminal that is sent text, ends of lines and treelet's colours, and nothing else that it would obey."""

    def write(self, text: str) -> int:
        """Write the text, with other signs spelled out."""
        parts = COLOURS.split(text)
        self._stream.write("".join(part if n % 2 else printable(part, keep="\n\t") for n, part in enumerate(parts)))
        return len(text)


class Notes(_Stream):
    """A standard error that may be full: what is said there is lost then, and nothing else."""

    def write(self, text: str) -> int:
        """Write the text, if that can be."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Likewise."""
        with suppress(OSError):
            self._stream.flush()
