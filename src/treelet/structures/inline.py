"""Errors about trees that were passed as strings rather than read from a file."""

from __future__ import annotations

import re

from treelet.errors import FormatError, InlineFormatError
from treelet.formats.base import FORMATS
from treelet.formats.detection import plain_text
from treelet.formats.files import unpacked_name
from treelet.printable import shortened

_SOURCE_CODE = re.compile(r"\s*(@\w|(async\s+def|def|class|import)\s+\w|from\s+[\w.]+\s+import\s)")
_MISSING = ("", "nan", "none", "<na>", "nat", "null")
_EXAMPLE = "'(NP (D the) (N cat))'"


def inline_error(error: FormatError, text: str, source: str = "") -> InlineFormatError:
    """Return the error for a string that is not a tree, with a remedy that depends on the string.

    `source` names the string in the message, for example "item 3". It is empty for a single string.
    """
    if problem := _problem(text, in_list=bool(source)):
        return InlineFormatError(problem, source)
    hint = _hint(text)
    message = f"{error.message.rstrip('.')}. {hint}" if hint else error.message
    return InlineFormatError(message, source, error.line, error.column)


def is_file_name(text: str) -> bool:
    """Return whether a string ends like the name of a file of trees.

    The text alone decides: a service must not reveal which files exist.
    """
    if "(" in text or "\n" in text or "\0" in text or not text.strip():
        return False
    suffixes = {suffix for known in FORMATS.values() for suffix in known.suffixes}
    return unpacked_name(text).suffix.lower() in suffixes


def _problem(text: str, *, in_list: bool) -> str:
    """Return a message for a string that is something else than a malformed tree, or an empty string."""
    shown = shortened(str(text))  # str() drops the type of a NumPy string
    if in_list and text.strip().lower() in _MISSING:
        return f"{shown} is not a tree. For a missing tree, pass None or a float NaN instead of a string."
    if not text.strip():
        return f"The text is empty, but a tree such as {_EXAMPLE} is needed."
    if is_file_name(text):
        return f"{shown} is a file name, but a tree is needed. Read the file with treelet.read_trees."
    if "(" in text or text.lstrip().startswith(("<", ")")) or _SOURCE_CODE.match(text):
        return ""
    return plain_text(shown)


def _hint(text: str) -> str:
    """Return a sentence that names the reader for a string of markup, source code or labeled lines."""
    if text.lstrip().startswith("<"):
        return "Read markup with treelet.formats.xml_trees or html_trees."
    if _SOURCE_CODE.match(text):
        return "Read source code with treelet.formats.python_trees."
    if "\t(" in text:
        return "For label<TAB>tree, pass only the part after the tab, or read the lines with treelet.read_examples."
    return ""
