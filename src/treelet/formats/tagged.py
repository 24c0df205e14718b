"""Tagged sequences: columns of words and tags, as in the CoNLL shared tasks, or ``word/tag word/tag`` a line.

Only the layout is known here; `treelet.structures.Tagged` wraps it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from treelet.checks import check_one_of
from treelet.errors import FormatError
from treelet.formats.dependency_forms import looks_like_conllu
from treelet.formats.files import Source
from treelet.formats.looks import opening_lines

FORMATS = ("columns", "slashes")


class TaggedWords(NamedTuple):
    """Words, and a tag each."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def word_problem(word: object) -> str | None:
    """Why a string cannot be a word: it is written between blanks."""
    if not isinstance(word, str):
        return f"a string, not a {type(word).__name__}"
    if not word or any(char.isspace() for char in word):
        return f"not empty and has no white space; this one is {word!r}"
    return None


def tag_problem(tag: object) -> str | None:
    """Why a string cannot be a tag: it is written after the last slash."""
    if isinstance(tag, str) and "/" in tag:
        return f"without slashes, since the last slash separates word and tag; this one is {tag!r}"
    return word_problem(tag)


def check_format(format: object) -> None:
    """ParameterError for what is no format of tagged sequences."""
    check_one_of("format", format, FORMATS)


def parse_slashes(text: str, source: str = "<text>", line: int | None = None) -> TaggedWords:
    """A sequence in the slash form; FormatError with the place of what is wrong."""
    words, tags = [], []
    for match in re.finditer(r"\S+", text):
        word, slash, tag = match[0].rpartition("/")
        if not (slash and word and tag):
            message = f"{match[0]!r} is not word/tag: write each word with a slash and its tag"
            raise FormatError(message, source, line, match.start() + 1)
        words.append(word)
        tags.append(tag)
    if not words:
        raise FormatError("there are no words here: write word/tag word/tag ...", source, line)
    return TaggedWords(tuple(words), tuple(tags))


def read_slashes(source: Source) -> Iterator[TaggedWords | None]:
    """A sequence a line; an empty line is a missing one."""
    for number, line in source.text_lines():
        with source.item():
            yield parse_slashes(line, source.name, number) if line.strip() else None


def read_columns(source: Source, word: int = 0, tag: int = 1) -> Iterator[TaggedWords]:
    """A word a line, an empty line between sequences; `word` and `tag` say which columns, negative ones from the last."""
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
    """Refuse what has lines of blanks and words, too, but means something else by them."""
    first = next(iter(opening_lines(source.head())), "")
    if looks_like_conllu(source.head()) and (word == 0 or first.startswith("#")):  # numbers, or comments, as words
        raise source.error(
            "this looks like CoNLL-U: treelet.structures.read_conllu reads it, and its parses have words and tags", 1
        )
    if first.lstrip().startswith(("{", "[")) and _is_json(first):
        raise source.error(
            "this looks like JSON Lines: make a treelet.Tagged(words, tags) of each line, by json.loads", 1
        )
    cells = first.split()
    if cells and all("/" in cell.strip("/") for cell in cells):
        raise source.error("this looks like word/tag, a sentence a line: read it with format='slashes'", 1)


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict | list)
    except ValueError:
        return False


def _pair(source: Source, number: int, cells: list[str], word: int, tag: int) -> tuple[str, str]:
    for name, column in (("word", word), ("tag", tag)):
        if not -len(cells) <= column < len(cells):
            raise source.error(f"there are {len(cells)} columns here, and no column {column} for {name}=", number)
    if problem := tag_problem(cells[tag]):
        raise source.error(f"a tag is {problem}", number)
    return cells[word], cells[tag]


def column_lines(pairs: Iterable[tuple[str, str]]) -> str:
    """One word and tag a line, and an empty line."""
    return "".join(f"{word} {tag}\n" for word, tag in pairs) + "\n"
