"""Dependency parses as columns: files in CoNLL-U, the format of Universal Dependencies, and objects of spaCy, stanza and conllu.

CoNLL-U has one word per line in ten columns, and an empty line after each sentence. `treelet.structures.read_conllu` makes
`Dependencies` of the columns.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from treelet.checks import check_one_of
from treelet.errors import InputTypeError, TreeError, TreeletWarning
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
    """Yield the sentences of a file; errors name the line.

    Multiword tokens (``3-4``) and empty nodes (``3.1``) are not syntactic words: they stay in `lines` only.
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
    for index, head in enumerate(heads):
        if isinstance(head, bool) or not isinstance(head, int):
            return index, f"a head is a number, not {head!r}"
        if not 0 <= head <= number:
            return index, f"the head {head} is no word: there are {number}, counted from 1, and 0 is for a root"
        if head == index + 1:
            return index, "it is its own head: a root has the head 0"
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
    tagged = [words for words in tags if words]
    if tagged and all(word_tag == UNKNOWN for words in tagged for word_tag in words):
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


# --- parses of other libraries: nothing is imported, an object is known by what it can do ----------------------------


def reader_of(item: Any) -> Callable[[Any, str], Heads] | None:
    """How to take another library's parse, or None if it is none that treelet knows."""
    if hasattr(getattr(item, "doc", item), "has_annotation"):
        return spacy_heads
    if hasattr(item, "words") and hasattr(item, "tokens"):
        return stanza_heads
    if isinstance(item, list) and item and all(isinstance(token, Mapping) and "form" in token for token in item):
        return conllu_heads
    return None


def not_parsed(what: str, how: str) -> TreeError:
    return TreeError(f"{what} has not been parsed: its words have no heads; {how}")


def spacy_heads(tokens: Iterable[Any], tag: str) -> Heads:
    """A spaCy ``Doc`` or ``Span`` that has been parsed."""
    check_tag(tag)
    try:
        all_tokens = list(tokens)
        # spaCy makes a word its own head and its relation empty until a parser has been there.
        if all_tokens and all(token.head.i == token.i and not token.dep_ for token in all_tokens):
            raise not_parsed("this Doc or Span", "use a pipeline with a parser, as spacy.load('en_core_web_sm')")
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
        raise InputTypeError(f"a parsed spaCy Doc or Span is needed, got {type(tokens).__name__} ({error})") from None


def stanza_heads(sentence: Any, tag: str) -> Heads:
    """A stanza ``Sentence``."""
    check_tag(tag)
    try:
        words = list(sentence.words)
        if words and all(word.head is None for word in words):
            raise not_parsed("this sentence", "the Pipeline needs the processor depparse")
        return Heads(
            [word.text for word in words],
            [(word.upos if tag == "upos" else word.xpos) or UNKNOWN for word in words],
            [int(word.head) for word in words],
            [word.deprel or UNKNOWN for word in words],
            _known([word.lemma for word in words]),
        )
    except (AttributeError, TypeError) as error:
        raise InputTypeError(
            f"a parsed sentence of stanza is needed, as in document.sentences, got {type(sentence).__name__} ({error})"
        ) from None


def conllu_heads(tokens: Iterable[Mapping[str, Any]], tag: str) -> Heads:
    """A ``TokenList`` of the conllu package."""
    check_tag(tag)
    try:
        words = [token for token in tokens if isinstance(token["id"], int)]
        if words and all(token["head"] is None for token in words):
            raise not_parsed("this sentence", "its column HEAD is empty")
        if headless := [token["id"] for token in words if token["head"] is None]:
            raise TreeError(f"word {headless[0]} has no head: write 0 for a root")
        return Heads(
            [token["form"] for token in words],
            [token[tag] or UNKNOWN for token in words],
            [token["head"] for token in words],
            [token["deprel"] or UNKNOWN for token in words],
            _known([token["lemma"] for token in words]),
        )
    except (KeyError, TypeError) as error:
        raise InputTypeError(f"a TokenList of conllu is needed, got {type(tokens).__name__} ({error!r})") from None


def _known(lemmas: list[str | None]) -> list[str] | None:
    """Lemmas with what is missing written as such; None if all are."""
    texts = [lemma or UNKNOWN for lemma in lemmas]
    return None if all(lemma == UNKNOWN for lemma in texts) else texts
