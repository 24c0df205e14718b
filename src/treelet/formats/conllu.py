"""Dependency parses as columns: files in CoNLL-U, and objects of spaCy, stanza and conllu.

CoNLL-U is the format of Universal Dependencies. It has one word per line in ten columns, and an empty line
after each sentence. `treelet.structures.read_conllu` converts the columns to `Dependencies`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from treelet.checks import article, check_one_of, plural
from treelet.errors import InputTypeError, TreeError, TreeletWarning
from treelet.formats.files import Source

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
UNKNOWN = "_"
_TAGS = ("upos", "xpos")
_BESIDE = re.compile(r"[0-9]+-[0-9]+|[0-9]+\.[0-9]+")  # multiword tokens and empty nodes


class _ConlluWord(NamedTuple):
    """A syntactic word, and the number of its line."""

    line: int
    form: str
    lemma: str
    upos: str
    xpos: str
    head: int
    relation: str


class Heads(NamedTuple):
    """A parse as columns: words, tags, heads (counted from 1; 0 for a root), relations and lemmas."""

    words: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]
    relations: Sequence[str]
    lemmas: Sequence[str] | None


class _ConlluSentence(NamedTuple):
    """A sentence: its words, and all its lines as in the file, without the empty line after them."""

    rows: tuple[_ConlluWord, ...]
    lines: tuple[str, ...]


def check_tag(tag: object) -> None:
    """Raise an error unless `tag` names one of the two tag columns of CoNLL-U."""
    check_one_of("tag", tag, _TAGS)


def read_sentences(source: Source) -> Iterator[_ConlluSentence]:
    """Yield the sentences of a file. Errors name the line.

    Multiword tokens (``3-4``) and empty nodes (``3.1``) are not syntactic words. They are kept in `lines` only.
    """
    for group in source.groups():
        with source.item():
            rows: list[_ConlluWord] = []
            lines: list[str] = []
            for number, raw in group:
                line = source.text(raw, number)
                if not line.startswith("#") and (row := _row(source, number, line, len(rows) + 1)) is not None:
                    rows.append(row)
                lines.append(line)
            yield _sentence(source, group[-1][0] + 1, rows, lines)


def _row(source: Source, number: int, line: str, expected: int) -> _ConlluWord | None:
    cells = line.split("\t")
    if len(cells) != len(COLUMNS):
        spaces = len(cells) == 1 and len(line.split()) >= len(COLUMNS)
        hint = " The columns seem to be separated by spaces: replace them by tabs." if spaces else ""
        raise source.error(
            f"a CoNLL-U line needs {len(COLUMNS)} tab-separated columns, but this line has {len(cells)}.{hint}", number
        )
    for name, cell in zip(COLUMNS, cells, strict=True):
        if not cell.strip():
            raise source.error(f"the column {name} is empty. Write _ for an unknown value.", number)
    if _BESIDE.fullmatch(cells[0]):
        return None
    if cells[0] != str(expected):
        raise source.error(
            f"the words of a sentence must be numbered 1, 2, 3, ... The next number is {expected}, not {cells[0][:40]!r}.",
            number,
        )
    if not (cells[6].isascii() and cells[6].isdigit() and len(cells[6]) < 10):
        raise source.error(
            f"the head of a word must be the number of another word, or 0 for a root. Got {cells[6][:40]!r} instead.",
            number,
        )
    return _ConlluWord(number, cells[1], cells[2], cells[3], cells[4], int(cells[6]), cells[7])


def _sentence(source: Source, after: int, rows: list[_ConlluWord], lines: list[str]) -> _ConlluSentence:
    if not rows:
        raise source.error(
            "this sentence has no words. If these lines are comments, remove the empty line after them.", after
        )
    for position, row in enumerate(rows, 1):
        if row.head > len(rows):
            raise source.error(
                f"the head {row.head} does not exist: this sentence has {plural(len(rows), 'word')}.", row.line
            )
        if row.head == position:
            raise source.error(f"word {position} is its own head. Give a root the head 0.", row.line)
    if problem := heads_problem([row.head for row in rows]):
        index, reason = problem
        separator = " " if reason.startswith("this word ") else ": "
        reason = reason.removeprefix("this word ")
        raise source.error(f"word {index + 1}{separator}{reason}", rows[index].line)
    return _ConlluSentence(tuple(rows), tuple(lines))


_CYCLE = "this word is part of a cycle of heads. Give one word of the cycle another head, or 0 for the root."


def heads_problem(heads: Sequence[object]) -> tuple[int, str] | None:
    """Return the first word whose head is wrong, and why, as one or two sentences; or None."""
    number = len(heads)
    for index, head in enumerate(heads):
        if isinstance(head, bool) or not isinstance(head, int):
            return index, f"a head must be an int. Got {head!r} instead."
        if not 0 <= head <= number:
            return index, f"the head {head} does not exist. Heads are 1 to {number}, or 0 for a root."
        if head == index + 1:
            return index, "a word cannot be its own head. Give a root the head 0."
    seen = [0] * (number + 1)  # the walk that first reached each word
    for start in range(1, number + 1):
        here = start
        while here and not seen[here]:
            seen[here] = start
            here = cast("int", heads[here - 1])
        if here and seen[here] == start:
            return here - 1, _CYCLE
    return None


def warn_of_no_tags(name: str, tags: Iterable[Sequence[str]], tag: str) -> None:
    """Warn if the tag column of a file is empty, because all words would then have the same tag."""
    tagged = [words for words in tags if words]
    if tagged and all(word_tag == UNKNOWN for words in tagged for word_tag in words):
        other = "xpos" if tag == "upos" else "upos"
        warnings.warn(
            f"{name}: no word has a tag in the column {tag}: all tags are {UNKNOWN!r}. If the tags are in the column {other}, "
            f"use tag={other!r}.",
            TreeletWarning,
            stacklevel=4,
        )


def sentence_heads(sentence: _ConlluSentence, tag: str) -> Heads:
    """Return the parse of a sentence. If all lemmas are unknown, its lemmas are None."""
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
    """Return the lines of a sentence. Tags go into the column that `tag` names, ``"upos"`` or ``"xpos"``."""
    lines = []
    for k, word in enumerate(words):
        upos, xpos = (tags[k], "_") if tag == "upos" else ("_", tags[k])
        cells = (str(k + 1), word, lemmas[k] if lemmas else "_", upos, xpos, "_", str(heads[k]), relations[k], "_", "_")
        lines.append("\t".join(cells))
    return lines


# --- parses of other libraries: nothing is imported, objects are recognized by their attributes ----------------------


def reader_of(item: Any) -> Callable[[Any, str], Heads] | None:
    """Return the function that converts another library's parse, or None if treelet does not know the object."""
    if hasattr(getattr(item, "doc", item), "has_annotation"):
        return spacy_heads
    if hasattr(item, "words") and hasattr(item, "tokens"):
        return stanza_heads
    if isinstance(item, list) and item and all(isinstance(token, Mapping) and "form" in token for token in item):
        return conllu_heads
    return None


def _not_parsed(subject: str, remedy: str) -> TreeError:
    """Return the error for an object that has words but no heads."""
    return TreeError(f"{subject} has not been parsed: its words have no heads. {remedy}")


def spacy_heads(tokens: Iterable[Any], tag: str) -> Heads:
    """Convert a parsed spaCy ``Doc`` or ``Span``."""
    check_tag(tag)
    try:
        all_tokens = list(tokens)
        # Before a parser has run, spaCy makes every word its own head, with an empty relation.
        if all_tokens and all(token.head.i == token.i and not token.dep_ for token in all_tokens):
            raise _not_parsed("This Doc or Span", "Use a pipeline with a parser, such as spacy.load('en_core_web_sm').")
        words = [token for token in all_tokens if not getattr(token, "is_space", False)]
        number_of = {token.i: number for number, token in enumerate(words, 1)}
        heads = []
        for token in words:
            head = token.head
            while getattr(head, "is_space", False) and head.head.i != head.i:
                head = head.head
            heads.append(0 if head.i == token.i else number_of.get(head.i, 0))
        return Heads(
            [token.text for token in words],
            [(token.pos_ if tag == "upos" else token.tag_) or UNKNOWN for token in words],
            heads,
            [token.dep_ or UNKNOWN for token in words],
            _known([token.lemma_ for token in words]),
        )
    except (AttributeError, TypeError) as error:
        raise InputTypeError(
            f"A parsed spaCy Doc or Span is needed, but got {article(type(tokens).__name__)} ({error})."
        ) from None


def stanza_heads(sentence: Any, tag: str) -> Heads:
    """Convert a stanza ``Sentence``."""
    check_tag(tag)
    try:
        words = list(sentence.words)
        if words and all(word.head is None for word in words):
            raise _not_parsed("This sentence", "Add the processor 'depparse' to the stanza Pipeline.")
        return Heads(
            [word.text for word in words],
            [(word.upos if tag == "upos" else word.xpos) or UNKNOWN for word in words],
            [int(word.head) for word in words],
            [word.deprel or UNKNOWN for word in words],
            _known([word.lemma for word in words]),
        )
    except (AttributeError, TypeError) as error:
        raise InputTypeError(
            f"A parsed stanza Sentence is needed, but got {article(type(sentence).__name__)} ({error}). Sentences are in "
            "document.sentences."
        ) from None


def conllu_heads(tokens: Iterable[Mapping[str, Any]], tag: str) -> Heads:
    """Convert a ``TokenList`` of the conllu package."""
    check_tag(tag)
    try:
        words = [token for token in tokens if isinstance(token["id"], int)]
        if words and all(token["head"] is None for token in words):
            raise _not_parsed("This sentence", "Fill its column HEAD, for example with a parser.")
        if headless := [token["id"] for token in words if token["head"] is None]:
            raise TreeError(f"Word {headless[0]} has no head. Write 0 for a root.")
        return Heads(
            [token["form"] for token in words],
            [token[tag] or UNKNOWN for token in words],
            [token["head"] for token in words],
            [token["deprel"] or UNKNOWN for token in words],
            _known([token["lemma"] for token in words]),
        )
    except (KeyError, TypeError) as error:
        raise InputTypeError(
            f"A TokenList of conllu is needed, but got {article(type(tokens).__name__)} ({error!r})."
        ) from None


def _known(lemmas: list[str | None]) -> list[str] | None:
    """Replace missing lemmas by ``_``. Return None if all are missing."""
    texts = [lemma or UNKNOWN for lemma in lemmas]
    return None if all(lemma == UNKNOWN for lemma in texts) else texts
