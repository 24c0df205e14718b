"""Values that a shell completes: ``treelet gram trees.mrg --kernel <TAB>``. Names of files are the shell's own business."""

from __future__ import annotations

from collections.abc import Callable

Complete = Callable[[str], list[str]]


def among(*choices: str) -> Complete:
    """Completes one of some words."""

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def formats(incomplete: str) -> list[str]:
    """Completes the name of a format, also of one that a package of yours has registered."""
    from treelet.formats.base import FORMATS

    return [name for name in sorted(FORMATS) if name.startswith(incomplete)]
