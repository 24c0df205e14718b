"""Convert docstrings to reStructuredText. Indented formulas and lines of files become literal blocks."""

from __future__ import annotations

import re

PAGE = re.compile(r"(?:``)?\bdocs/([\w-]+(?:/[\w-]+)*)\.md(?:``)?")
MARKED = re.compile(r"\s*(\.\. |[-*] |\d+\. |>>> |:)")


def literal_blocks(lines: list[str]) -> list[str]:
    """Return the lines with ``::`` before each block that is indented more deeply than the paragraph before it."""
    made: list[str] = []
    before, inside = "", -1  # the last line that is not blank; the indent around the block we are in
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line.strip():
            around = len(before) - len(before.lstrip())
            if inside >= 0 and indent <= inside:
                inside = -1
            after_blank = number > 0 and not lines[number - 1].strip()
            if (
                inside < 0
                and before
                and after_blank
                and indent > around
                and not before.endswith("::")
                and not MARKED.match(before)
            ):
                made += [" " * around + "::", ""]
                inside = around
            elif inside < 0 and before.endswith("::") and after_blank and indent > around:
                inside = around
            before = line
        made.append(line)
    return made


def linked_pages(lines: list[str]) -> list[str]:
    """Return the lines with links in place of the paths of documentation pages."""
    return [PAGE.sub(r":doc:`/\1`", line) for line in lines]
