"""CoNLL-U, the files of Universal Dependencies: a word a line in ten columns, an empty line after each sentence.

Only the layout is known here; `treelet.structures.read_conllu` makes `Dependencies` of it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from treelet.checks import check_one_of
from treelet.errors import TreeletWarning
from treelet.formats.files import Source

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
UNKNOWN = "_"
TAGS = ("upos", "xpos")
_BESIDE = re.compile(r"[0-9]+-[0-9]+|[0-9]+\.[0-9]+")  # multiword tokens and empty nodes


class ConlluWord(NamedTuple):
    """A syntactic word, and the number of its line."""

    line: int
    form: str
    lemma: str
    upos: str
    xpos: str
    head: int
    relation: str


class Heads(NamedTuple):
    """A parse as columns: of each word its tag, its head (counted from 1; 0: a root), its relation, its lemma."""

    words: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]
    relations: Sequence[str]
    lemmas: Sequence[str] | None


class ConlluSentence(NamedTuple):
    """A sentence: its words, and all its lines as in the file, without the empty line after them."""

    rows: tuple[ConlluWord, ...]
    lines: tuple[str, ...]


def check_tag(tag: object) -> None:
    """Which of CoNLL-U's two tags."""
    check_one_of("tag", tag, TAGS)


def read_sentences(source: Source) -> Iterator[ConlluSentence]:
    """The sentences of a file, one after the other.

    Multiword tokens (``3-4``) and empty nodes (``3.1``) are no syntactic words: they stay in `lines` only.

    Raises
    ------
    FormatError
        With the line: other than ten columns, words not numbered 1, 2, 3, ..., a head that is no number or outside the
        sentence, an empty field, comments without a sentence.
    """
    for group in source.groups():
        with source.item():
            rows: list[ConlluWord] = []
            lines: list[str] = []
            for number, raw in group:
                line = source.text(raw, number)
                if not line.startswith("#") and (row := _row(source, number, line, len(rows) + 1)) is not None:
                    rows.append(row)
                lines.append(line)
            yield _sentence(source, group[-1][0] + 1, rows, lines)


def _row(source: Source, number: int, line: str, expected: int) -> ConlluWord | None:
    cells = line.split("\t")
    if len(cells) != len(COLUMNS):
        hint = "; they look separated by blanks" if len(cells) == 1 and len(line.split()) >= len(COLUMNS) else ""
        raise source.error(
            f"a line of CoNLL-U has {len(COLUMNS)} columns with tabs between them, this one has {len(cells)}{hint}",
            number,
        )
    for name, cell in zip(COLUMNS, cells, strict=True):
        if not cell.strip():
            raise source.error(f"the column {name} is empty: write _ for what is not known", number)
    if _BESIDE.fullmatch(cells[0]):
        return None
    if cells[0] != str(expected):
        raise source.error(
            f"the words of a sentence are numbered 1, 2, 3, ...: {expected} is next, not {cells[0]!r}", number
        )
    if not (cells[6].isascii() and cells[6].isdigit() and len(cells[6]) < 10):
        raise source.error(
            f"the head of a word is the number of another, or 0 for a root, not {cells[6][:40]!r}", number
        )
    return ConlluWord(number, cells[1], cells[2], cells[3], cells[4], int(cells[6]), cells[7])


def _sentence(source: Source, after: int, rows: list[ConlluWord], lines: list[str]) -> ConlluSentence:
    if not rows:
        raise source.error("there are no words here: a sentence follows its comments without an empty line", after)
    for position, row in enumerate(rows, 1):
        if row.head > len(rows):
            raise source.error(f"the head {row.head} is no word of this sentence, which has {len(rows)}", row.line)
        if row.head == position:
            raise source.error(f"word {position} is its own head: a root has the head 0", row.line)
    if problem := heads_problem([row.head for row in rows]):
        raise source.error(f"word {problem[0] + 1}: {problem[1]}", rows[problem[0]].line)
    return ConlluSentence(tuple(rows), tuple(lines))


def heads_problem(heads: Sequence[object]) -> tuple[int, str] | None:
    """The first word whose head is wrong, and why."""
    number = len(heads)
    for place, head in enumerate(heads):
        if isinstance(head, bool) or not isinstance(head, int):
            return place, f"a head is a number, not {head!r}"
        if not 0 <= head <= number:
            return place, f"the head {head} is no word: there are {number}, counted from 1, and 0 is for a root"
        if head == place + 1:
            return place, "it is its own head: a root has the head 0"
    seen = [0] * (number + 1)  # by which walk
    for start in range(1, number + 1):
        here = start
        while here and not seen[here]:
            seen[here] = start
            here = cast("int", heads[here - 1])
        if here and seen[here] == start:
            return here - 1, "following the heads from here leads back here: one word of the cycle needs another head"
    return None


def warn_of_no_tags(name: str, tags: Iterable[Sequence[str]], tag: str) -> None:
    """Say that a file has no tags where they were looked for: all words would be alike, without a word."""
    found = [words for words in tags if words]
    if found and all(one == UNKNOWN for words in found for one in words):
        other = "xpos" if tag == "upos" else "upos"
        warnings.warn(
            f"{name}: no word has a tag in the column {tag}: all tags are {UNKNOWN!r}. If the tags are in the other one, "
            f'give tag="{other}"',
            TreeletWarning,
            stacklevel=4,
        )


def sentence_heads(sentence: ConlluSentence, tag: str) -> Heads:
    """The parse of a sentence; of lemmas none, if all are unknown."""
    _, words, lemmas, upos, xpos, heads, relations = zip(*sentence.rows, strict=True)
    known = None if all(lemma == UNKNOWN for lemma in lemmas) else lemmas
    return Heads(words, upos if tag == "upos" else xpos, heads, relations, known)


def sentence_lines(
    words: Sequence[str],
    lemmas: Sequence[str] | None,
    tags: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str],
    tag: str,
) -> list[str]:
    """The lines of a sentence; tags go into the column that `tag` names, ``"upos"`` or ``"xpos"``."""
    lines = []
    for k, word in enumerate(words):
        upos, xpos = (tags[k], "_") if tag == "upos" else ("_", tags[k])
        cells = (str(k + 1), word, lemmas[k] if lemmas else "_", upos, xpos, "_", str(heads[k]), relations[k], "_", "_")
        lines.append("\t".join(cells))
    return lines
