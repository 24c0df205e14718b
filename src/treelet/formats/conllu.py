"""CoNLL-U files: dependency parses as columns, and as trees in one of four forms.

CoNLL-U is the format of Universal Dependencies. It has one word per line in ten columns, and an empty line
after each sentence. `treelet.structures.read_conllu` converts the columns to `Dependencies`.

A form defines the nodes of a word and the parent of each. The nodes of all parses get numbers and parents
in NumPy, and the native core sorts them, so there is no Python loop over words.
"""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import check_boolean, check_one_of, plural
from treelet.errors import TreeletWarning
from treelet.formats.adapters import safe_label
from treelet.formats.base import Columns, Document, Format, opening_lines, register
from treelet.formats.files import Source

UNKNOWN = "_"
TAGS = ("upos", "xpos")  # columns that may contain the tags
_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_BESIDE = re.compile(r"[0-9]+-[0-9]+|[0-9]+\.[0-9]+")  # multiword tokens and empty nodes


class Heads(NamedTuple):
    """A parse as columns: words, tags, heads (counted from 1; 0 for a root), relations and lemmas."""

    words: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]
    relations: Sequence[str]
    lemmas: Sequence[str] | None


def read_parses(source: Source, tag: str) -> Iterator[tuple[Heads, tuple[str, ...]]]:
    """Yield the parse of each sentence of a file, and all its lines without the empty line after them.

    Multiword tokens (``3-4``) and empty nodes (``3.1``) are not syntactic words. They are among the lines only. If all
    lemmas of a sentence are unknown, they are None. A warning is issued at the end if no word has a tag, because all
    words would then have the same tag. Errors name the line.
    """
    any_word = any_tag = False
    for group in source.groups():
        with source.item():
            rows: list[tuple[int, list[str]]] = []  # of each syntactic word, the number of its line and its cells
            lines: list[str] = []
            for number, raw in group:
                lines.append(source.text(raw, number))
                if not lines[-1].startswith("#"):
                    cells = _cells(source, number, lines[-1], len(rows) + 1)
                    if not _BESIDE.fullmatch(cells[0]):
                        rows.append((number, cells))
            if not rows:
                raise source.error(
                    "this sentence has no words. If these lines are comments, remove the empty line after them.",
                    group[-1][0] + 1,
                )
            _, words, lemmas, upos, xpos, _, head_texts, relations, _, _ = zip(
                *(cells for _, cells in rows), strict=True
            )
            heads = list(map(int, head_texts))
            for position, head in enumerate(heads, 1):
                line = rows[position - 1][0]
                if head > len(heads):
                    size = plural(len(heads), "word")
                    raise source.error(f"the head {head} does not exist: this sentence has {size}.", line)
                if head == position:
                    raise source.error(f"word {position} is its own head. Give a root the head 0.", line)
            if (cyclic := word_on_cycle(heads)) is not None:
                raise source.error(f"word {cyclic} {ON_CYCLE}", rows[cyclic - 1][0])
            tags = upos if tag == "upos" else xpos
            any_word, any_tag = True, any_tag or any(text != UNKNOWN for text in tags)
            known = None if all(lemma == UNKNOWN for lemma in lemmas) else lemmas
            yield Heads(words, tags, heads, relations, known), tuple(lines)
    if any_word and not any_tag:
        other = "xpos" if tag == "upos" else "upos"
        warnings.warn(
            f"{source.name}: no word has a tag in the column {tag}: all tags are {UNKNOWN!r}. If the tags are in the column "
            f"{other}, use tag={other!r}.",
            TreeletWarning,
            stacklevel=4,
        )


def _cells(source: Source, number: int, line: str, expected: int) -> list[str]:
    """Return the cells of a line. Raise an error unless it is a valid word with the expected number, or beside the words."""
    cells = line.split("\t")
    if len(cells) != len(_COLUMNS):
        spaces = len(cells) == 1 and len(line.split()) >= len(_COLUMNS)
        hint = " The columns seem to be separated by spaces: replace them by tabs." if spaces else ""
        raise source.error(
            f"a CoNLL-U line needs {len(_COLUMNS)} tab-separated columns, but this line has {len(cells)}.{hint}", number
        )
    for name, cell in zip(_COLUMNS, cells, strict=True):
        if not cell.strip():
            raise source.error(f"the column {name} is empty. Write _ for an unknown value.", number)
    if _BESIDE.fullmatch(cells[0]):
        return cells
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
    return cells


ON_CYCLE = "is part of a cycle of heads. Give one word of the cycle another head, or 0 for the root."
"""End of the message for the word that `word_on_cycle` returns."""


def word_on_cycle(heads: Sequence[int]) -> int | None:
    """Return the number of the first word found on a cycle of heads, or None. Heads are counted from 1; 0 is the root."""
    seen = [0] * (len(heads) + 1)  # the walk that first reached each word
    for start in range(1, len(heads) + 1):
        here = start
        while here and not seen[here]:
            seen[here] = start
            here = heads[here - 1]
        if here and seen[here] == start:
            return here
    return None


# --- parses as trees --------------------------------------------------------------------------------------------

_Numbers = NDArray[np.int64]


class _Form(NamedTuple):
    """The nodes of a word: their kinds, and the parents of all but the first. Dependents hang on the first node."""

    kinds: tuple[str, ...]
    above: tuple[int, ...] = ()
    neighbors: bool = False
    """Whether the nodes of a word have adjacent numbers. If so, the word has its own position among its dependents."""

    def number(self, kind: int, place: _Numbers, words: _Numbers) -> _Numbers:
        """Return the numbers of nodes in their trees. Children are sorted by these numbers."""
        return len(self.kinds) * place + kind if self.neighbors else words * kind + place


_FORMS = {
    "grct": _Form(("relation", "tag", "word"), (0, 1), neighbors=True),
    "lct": _Form(("word", "tag", "relation"), (0, 0)),
    "loct": _Form(("word",)),
    "pct": _Form(("tag", "word", "relation"), (0, 0)),
}


def form_columns(
    parses: Sequence[Heads | None],
    form: str = "grct",
    *,
    lemmas: bool = False,
    lowercase: bool = False,
    letters: bool = False,
    prefixes: bool = False,
) -> Columns:
    """Return the trees of parses; None becomes a missing tree. See `treelet.cuts.dependency_tree` for the options."""
    check_one_of("form", form, _FORMS)
    present = [parse for parse in parses if parse is not None]
    chosen = _FORMS[form]
    # For all words of all parses: the head, the tree, and the position in the sentence.
    words = np.array([len(parse.heads) for parse in present], np.int64)
    head = np.fromiter(chain.from_iterable(parse.heads for parse in present), np.int64, int(words.sum()))
    tree = np.repeat(np.arange(len(present)), words)
    position = np.arange(len(head)) - (np.cumsum(words) - words)[tree]
    # For each tree: the number of its nodes, and where they end among the nodes of all trees.
    size = words * len(chosen.kinds)
    several = np.bincount(tree[head == 0], minlength=len(present)) > 1  # several roots get an additional node above
    ends = np.cumsum(size + several)
    tops = ends[several] - 1
    # For the nodes of each kind: their numbers in their trees, and their places among the nodes of all trees.
    number = [chosen.number(kind, position, words[tree]) for kind in range(len(chosen.kinds))]
    places = [(ends - size - several)[tree] + own for own in number]
    above_root = np.where(several, size, -1)[tree]
    over = [np.where(head > 0, chosen.number(0, head - 1, words[tree]), above_root), *(number[k] for k in chosen.above)]
    texts = {
        "relation": (parse.relations for parse in present),
        "tag": (parse.tags for parse in present),
        "word": (_lexical(parse, lemmas, lowercase, letters) for parse in present),
    }
    marks = {"relation": "SYNT##", "tag": "POS##", "word": "LEX##"} if prefixes else {}
    labels: dict[str, int] = {}
    parent = np.full(int(size.sum() + several.sum()), -1, np.int32)
    label = np.empty(len(parent), np.int32)
    for kind, place, above in zip(chosen.kinds, places, over, strict=True):
        parent[place] = above
        label[place] = _labels(chain.from_iterable(texts[kind]), marks.get(kind, ""), labels)
    label[tops] = _labels(["ROOT"], marks.get("relation", ""), labels)
    order, arity = _core.post_order(parent, ends)
    store, present_roots = _core.build(list(labels), label[order], arity, ends)
    roots = np.full(len(parses), -1, np.int32)
    roots[[row for row, parse in enumerate(parses) if parse is not None]] = present_roots
    return Columns(store, roots)


def _labels(texts: Iterable[str], mark: str, numbers: dict[str, int]) -> NDArray[np.int32]:
    """Return the numbers of the labels of texts. New labels get the next numbers."""
    distinct: defaultdict[str, int] = defaultdict(count().__next__)
    own = np.fromiter(map(distinct.__getitem__, texts), np.int64)
    labels = [numbers.setdefault(mark + safe_label(text), len(numbers)) for text in distinct]
    return np.array(labels, np.int32)[own]


def _lexical(parse: Heads, lemmas: bool, lowercase: bool, letters: bool) -> Sequence[str]:
    texts = parse.words
    if lemmas and parse.lemmas is not None:
        texts = [text if lemma == UNKNOWN else lemma for text, lemma in zip(texts, parse.lemmas, strict=True)]
    if lowercase:
        texts = [text.lower() for text in texts]
    if letters:
        texts = [f"{text}::{tag[0].lower()}" for text, tag in zip(texts, parse.tags, strict=True)]
    return texts


def _read_conllu_trees(
    source: Source,
    *,
    form: str = "grct",
    tag: str = "upos",
    lemmas: bool = False,
    lowercase: bool = False,
    letters: bool = False,
    prefixes: bool = False,
) -> Document:
    """Read CoNLL-U, one tree per sentence.

    Parameters
    ----------
    form, lemmas, lowercase, letters, prefixes
        See `treelet.cuts.dependency_tree`.
    tag : {"upos", "xpos"}, default "upos"
        Column of the tags.
    """
    check_one_of("form", form, _FORMS)
    check_one_of("tag", tag, TAGS)
    options = {"lemmas": lemmas, "lowercase": lowercase, "letters": letters, "prefixes": prefixes}
    for name, value in options.items():
        check_boolean(name, value)
    parses = [parse for parse, _ in read_parses(source, tag)]
    return Document(trees={"tree": form_columns(parses, form, **options)})


def _looks_like_conllu(head: bytes) -> str | None:
    """Return why the first bytes of a file look like CoNLL-U, or None."""
    first = next(iter(opening_lines(head)), "")
    if re.match(r"#\s*(sent_id|text|newdoc|newpar|global\.columns)\b", first):
        return f"it begins with {first.split('=')[0].strip()!r}"
    rows = opening_lines(head, comment="#")
    if rows and len(cells := rows[0].split("\t")) == len(_COLUMNS) and re.match("1(-[0-9]+)?$", cells[0]):
        return f"its first line has the {len(_COLUMNS)} columns of CoNLL-U"
    return None


register(
    Format(
        "conllu",
        "CoNLL-U, dependency parses as trees",
        _read_conllu_trees,
        None,
        (".conllu", ".conll"),
        _looks_like_conllu,
    )
)
