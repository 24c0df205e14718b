"""The standard output where it is a terminal: it obeys what it is sent, and labels and words are other people's."""

from __future__ import annotations

import re
from typing import Any, TextIO

from treelet.printable import printable

COLOURS = re.compile("(\x1b\\[(?:0|1;31|1;32)m)")
"""What treelet's own colours are: see `treelet.explain.compare`."""


class Terminal:
    """A terminal that is sent text, ends of lines and treelet's colours, and nothing else that it would obey."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text, with other signs spelled out."""
        parts = COLOURS.split(text)
        self._stream.write("".join(part if n % 2 else printable(part, keep="\n\t") for n, part in enumerate(parts)))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write some texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
