"""Choice of the format of a file: by name, by suffix or by content."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from treelet.checks import in_words, suggestion, wrong
from treelet.errors import FormatError, ParameterError, TreeSizeError
from treelet.formats.base import FORMATS, Format, option_values, split_options
from treelet.formats.files import HEAD, NOT_TEXT, Source, unpacked_name
from treelet.printable import shortened

# --- helpers that look at the first lines of a file, by which formats are detected ------------------------------------

_BRACKET = re.compile(r"[()]")


def opening_lines(head: bytes, comment: str | None = None) -> list[str]:
    r"""Return the lines of a file's first bytes without blank lines and comments. The last line may be cut short.

    >>> opening_lines(b"# a file\n\n1 |BT| (S x) |ET|\r\n", comment="#")
    ['1 |BT| (S x) |ET|']
    """
    lines = (line.rstrip("\r") for line in head.decode("utf-8", "replace").split("\n"))
    return [line for line in lines if line.strip() and not (comment and line.lstrip().startswith(comment))]


def end_of_tree(text: str) -> int | None:
    """Return the offset at which the brackets at the beginning of a text are closed.

    The offset is 0 if the text does not begin with a bracket, and None if the bracket is never closed.


    >>> end_of_tree("(S (A a)) x"), end_of_tree("x"), end_of_tree("(S (A a)")
    (9, 0, None)
    """
    if not text.startswith("("):
        return 0
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return bracket.end()
    return None


def is_tree(text: str) -> bool:
    """Return whether a text is exactly one bracketed tree, or the beginning of one that is cut off.

    >>> is_tree(" (S (A a)) "), is_tree("(S (A"), is_tree("(A a) (B b)"), is_tree("")
    (True, False, False, False)
    """
    stripped = text.strip()
    end = end_of_tree(stripped)
    return stripped != "" and end == len(stripped) if end is not None else len(text) >= HEAD // 2


# --- choice of the format of a file: by name, by suffix or by content -------------------------------------------------

_ALIASES = {
    "penn": "brackets",
    "penn treebank": "brackets",
    "bracket": "brackets",
    "bracketed": "brackets",
    "conll": "conllu",
    "conll-u": "conllu",
    "svmlight": "svmlight_tk",
    "svm-light": "svmlight_tk",
}
"""Other names of formats, for suggestions."""


def find_format(name: str | None, file: object = None) -> Format:
    """Return the format called `name`, or the format that a file name suggests. Default: brackets."""
    if name is not None:
        known = FORMATS.get(name) or FORMATS.get(str(name).lower())
        if known is None:
            error = wrong("format", in_words(map(repr, sorted(FORMATS))), name)
            by_suffix = next(
                (candidate.name for candidate in FORMATS.values() if f".{name}".lower() in candidate.suffixes), None
            )
            hint = f" Files with this suffix have the format {by_suffix!r}." if by_suffix else ""
            meant = _ALIASES.get(str(name).lower())
            hint = hint or (f" Did you mean {meant!r}?" if meant else suggestion(str(name), FORMATS))
            raise ParameterError(f"{error}{hint}") if hint else error
        return known
    return _by_suffix(file) or FORMATS["brackets"]


def _file_name(file: object) -> str:
    return os.fspath(file) if isinstance(file, (str, os.PathLike)) else str(getattr(file, "name", ""))


def _by_suffix(file: object) -> Format | None:
    suffix = unpacked_name(_file_name(file)).suffix.lower()
    return next((known for known in FORMATS.values() if suffix in known.suffixes), None)


def _by_content(head: bytes, options: Collection[str] = (), but: Format | None = None) -> tuple[Format, str] | None:
    """Return the format that the first bytes look like, and why. Formats registered last are tried first."""
    for known in reversed(FORMATS.values()):
        if known is not but and known.looks is not None and known.takes(options) and (why := known.looks(head)):
            return known, why
    return None


class _FormatChoice(NamedTuple):
    """A format, the reason for choosing it (None if the choice is certain), and the options after its name."""

    format: Format
    why: str | None = None
    given: Mapping[str, Any] = MappingProxyType({})
    by_name: bool = False

    def explained(self, error: FormatError, head: bytes) -> FormatError:
        """Return the error, extended by the detected format and by formats that would fit better."""
        if self.why is None or isinstance(error, TreeSizeError):
            return error
        if NOT_TEXT in error.message:  # a new error, because the whole file is wrong and not one of its items
            return FormatError(error.message, error.source, error.line, error.column)
        other = _by_content(head, but=self.format)
        problem = _sentence(error.message)
        if other:
            hint = f"format={other[0].name!r} may fit better, because {other[1]}."
        elif self.by_name:
            hint = "For another format, use format=."
            problem = _plain_text_problem(error, head) or problem
        else:
            hint = f"To choose another format, use format= with one of {_names()}."
            problem = _plain_text_problem(error, head) or problem
        message = f"{problem} The file was read as {self.format.name!r}, because {self.why}. {hint}"
        return FormatError(message, error.source, error.line, error.column)


def plain_text(shown: str) -> str:
    """Return the message for a text that is not a tree."""
    return (
        f"{shown} is plain text, but a tree such as '(NP (D the) (N cat))' is needed. Parse the text first, for example "
        "with treelet.PCFG or an NLTK parser. For spaCy and stanza, use treelet.cuts.dependency_trees."
    )


def _plain_text_problem(error: FormatError, head: bytes) -> str:
    """Return the message for a line of plain text in a file, or an empty string if the line is something else."""
    lines = head.split(b"\n")
    if "text outside brackets" not in error.message or not error.line or error.line > len(lines):
        return ""
    text = lines[error.line - 1].decode("utf-8", "replace").strip()
    return "" if set(text) & set("()<>{}\t") else plain_text(shortened(text))


def _sentence(text: str) -> str:
    """Return a text that ends like a sentence, so another sentence can follow."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _names() -> str:
    return ", ".join(FORMATS)


def choose_format(name: str | None, source: Source, options: Collection[str] = ()) -> _FormatChoice:
    """Return the format to read a source with.

    An explicit `name` wins. Otherwise the suffix of the file decides, unless the content clearly has
    another format. Without a known suffix, the content decides, and the last resort is brackets. A
    detected format must support all `options`.
    """
    if name is not None:
        name, texts = split_options(name)
        chosen = find_format(name)
        return _FormatChoice(chosen, given=option_values(texts, chosen.options()))
    head = source.head()
    named, seen = _by_suffix(source), _by_content(head, options)
    if named is not None:
        sure = named.looks is None or named.looks(head) is not None or not head.strip()
        if seen is None or (sure and named.takes(options)):
            why = None if sure else f"its name ends in {unpacked_name(source.name).suffix}"
            return _FormatChoice(named, why, by_name=True)
    if seen is not None:
        return _FormatChoice(*seen)
    return _FormatChoice(FORMATS["brackets"], "it does not look like any other format" if head.strip() else None)


def find_target(name: str | None, file: object = None) -> Format:
    """Return the format called `name`, or the format that the name of an output file suggests.

    Raises
    ------
    ParameterError
        If the format cannot be written, or if no format is named and the suffix is unknown.
    """
    writable = sorted(known.name for known in FORMATS.values() if known.write)
    suffix = unpacked_name(_file_name(file)).suffix
    if name is None and suffix and _by_suffix(file) is None and not hasattr(file, "write"):
        suffixes = in_words(suffix for name_of_format in writable for suffix in FORMATS[name_of_format].suffixes)
        raise ParameterError(
            f"{_file_name(file)}: the suffix {suffix} does not belong to a format that can be written. Use {suffixes}, "
            f"or name the format: {in_words(map(repr, writable))}."
        )
    chosen = find_format(name, file)
    if chosen.write is None:
        raise ParameterError(
            f"The format {chosen.name!r} can be read but not written. Choose {in_words(map(repr, writable))}."
        )
    return chosen
