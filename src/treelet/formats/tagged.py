"""Tagged sequences: columns of words and tags, as in the CoNLL shared tasks, or lines of ``word/tag word/tag``.

`treelet.structures.Tagged` is the class that users see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from treelet.checks import article, check_one_of, plural
from treelet.errors import FormatError
from treelet.formats.dependency_forms import looks_like_conllu
from treelet.formats.detection import opening_lines
from treelet.formats.files import Source

_FORMATS = ("columns", "slashes")


class TaggedWords(NamedTuple):
    """Words, and one tag per word."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def word_problem(word: object) -> str | None:
    """Return why an object cannot be a word, or None. It completes "a word is ..."."""
    if not isinstance(word, str):
        return f"a string, not {article(type(word).__name__)}"
    if not word or any(char.isspace() for char in word):
        return f"a nonempty string without white space, but this one is {word!r}"
    return None


def tag_problem(tag: object) -> str | None:
    """Return why an object cannot be a tag, or None. It completes "a tag is ..."."""
    if isinstance(tag, str) and "/" in tag:
        return f"a string without slashes, because the last slash separates word and tag, but this one is {tag!r}"
    return word_problem(tag)


def check_format(format: object) -> None:
    """Raise an error unless `format` is a format of tagged sequences."""
    check_one_of("format", format, _FORMATS)


def parse_slashes(text: str, source: str = "<text>", line: int | None = None) -> TaggedWords:
    """Return the sequence in a text of ``word/tag`` items. Raise an error with the place of a malformed item."""
    words, tags = [], []
    for match in re.finditer(r"\S+", text):
        word, slash, tag = match[0].rpartition("/")
        if not (slash and word and tag):
            message = f"{match[0]!r} is not of the form word/tag. Write each word with a slash and its tag."
            raise FormatError(message, source, line, match.start() + 1)
        words.append(word)
        tags.append(tag)
    if not words:
        raise FormatError("there are no words here. Write word/tag word/tag ...", source, line)
    return TaggedWords(tuple(words), tuple(tags))


def read_slashes(source: Source) -> Iterator[TaggedWords | None]:
    """Yield one sequence per line. An empty line is a missing sequence."""
    for number, line in source.text_lines():
        with source.item():
            yield parse_slashes(line, source.name, number) if line.strip() else None


def read_columns(source: Source, word: int = 0, tag: int = 1) -> Iterator[TaggedWords]:
    """Yield sequences with one word per line and empty lines between them. Negative columns count from the right."""
    _check_columns(source, word)
    for group in source.groups():
        pairs: list[tuple[str, str]] = []
        with source.item():
            for number, line in group:
                cells = source.text(line, number).split()
                if cells and cells[0] != "-DOCSTART-":
                    pairs.append(_pair(source, number, cells, word, tag))
                elif pairs:
                    yield TaggedWords(*zip(*pairs, strict=True))
                    pairs = []
            if pairs:
                yield TaggedWords(*zip(*pairs, strict=True))


def _check_columns(source: Source, word: int) -> None:
    """Reject files of other formats that could be mistaken for columns."""
    first = next(iter(opening_lines(source.head())), "")
    if looks_like_conllu(source.head()) and (word == 0 or first.startswith("#")):  # numbers, or comments, as words
        raise source.error(
            "this looks like CoNLL-U. Read it with treelet.structures.read_conllu; the parses have words and tags.", 1
        )
    if first.lstrip().startswith(("{", "[")) and _is_json(first):
        raise source.error(
            "this looks like JSON Lines. Parse each line with json.loads, and create treelet.Tagged(words, tags).", 1
        )
    cells = first.split()
    if cells and all("/" in cell.strip("/") for cell in cells):
        raise source.error("this looks like word/tag with one sentence per line. Read it with format='slashes'.", 1)


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict | list)
    except ValueError:
        return False


def _pair(source: Source, number: int, cells: list[str], word: int, tag: int) -> tuple[str, str]:
    for name, column in (("word", word), ("tag", tag)):
        if not -len(cells) <= column < len(cells):
            raise source.error(
                f"there is no column {column} for {name}=: this line has {plural(len(cells), 'column')}.",
                number,
            )
    if problem := tag_problem(cells[tag]):
        raise source.error(f"a tag is {problem}.", number)
    return cells[word], cells[tag]


def column_lines(pairs: Iterable[tuple[str, str]]) -> str:
    """Return one line per word and tag, and an empty line."""
    return "".join(f"{word} {tag}\n" for word, tag in pairs) + "\n"
