"""Dependency parses as trees in one of four forms, and CoNLL-U as a file of such trees.

A form defines the nodes of a word and the parent of each. The nodes of all parses get numbers and parents
in NumPy, and the native core sorts them, so there is no Python loop over words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import check_boolean, check_one_of
from treelet.formats.adapters import safe_label
from treelet.formats.base import Columns, Document, Format, register
from treelet.formats.conllu import COLUMNS, UNKNOWN, Heads, check_tag, read_sentences, sentence_heads, warn_of_no_tags
from treelet.formats.detection import opening_lines
from treelet.formats.files import Source

_MARKS = {"relation": "SYNT##", "tag": "POS##", "word": "LEX##"}
_TOP = "ROOT"

Numbers = NDArray[np.int64]


class _Form(NamedTuple):
    """The nodes of a word: their kinds, and the parents of all but the first. Dependents hang on the first node."""

    kinds: tuple[str, ...]
    above: tuple[int, ...] = ()
    neighbors: bool = False
    """Whether the nodes of a word have adjacent numbers. If so, the word has its own position among its dependents."""

    def number(self, kind: int, place: Numbers, words: Numbers) -> Numbers:
        """Return the numbers of nodes in their trees. Children are sorted by these numbers."""
        return len(self.kinds) * place + kind if self.neighbors else words * kind + place


_FORMS = {
    "grct": _Form(("relation", "tag", "word"), (0, 1), neighbors=True),
    "lct": _Form(("word", "tag", "relation"), (0, 0)),
    "loct": _Form(("word",)),
    "pct": _Form(("tag", "word", "relation"), (0, 0)),
}


def check_form(form: object) -> None:
    """Raise an error unless `form` is one of the four forms."""
    check_one_of("form", form, _FORMS)


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
    check_form(form)
    present = [parse for parse in parses if parse is not None]
    nodes = _FormNodes(_FORMS[form], [parse.heads for parse in present])
    texts = {
        "relation": (parse.relations for parse in present),
        "tag": (parse.tags for parse in present),
        "word": (_lexical(parse, lemmas, lowercase, letters) for parse in present),
    }
    numbers: dict[str, int] = {}
    label = np.empty(len(nodes.parent), np.int32)
    for kind, at in nodes.at.items():
        label[at] = _labels(chain.from_iterable(texts[kind]), _MARKS[kind] if prefixes else "", numbers)
    label[nodes.tops] = _labels([_TOP], _MARKS["relation"] if prefixes else "", numbers)
    order, arity = _core.post_order(nodes.parent, nodes.ends)
    store, present_roots = _core.build(list(numbers), label[order], arity, nodes.ends)
    roots = np.full(len(parses), -1, np.int32)
    roots[[number for number, parse in enumerate(parses) if parse is not None]] = present_roots
    return Columns(store, roots)


class _FormNodes:
    """The nodes of all trees of a form: the parent of each node, and the positions of the nodes of each kind."""

    def __init__(self, form: _Form, heads: list[Sequence[int]]) -> None:
        words = np.array([len(each) for each in heads], np.int64)
        head = np.fromiter(chain.from_iterable(heads), np.int64, int(words.sum()))
        tree = np.repeat(np.arange(len(heads)), words)
        size = words * len(form.kinds)
        several = np.bincount(tree[head == 0], minlength=len(heads)) > 1  # several roots get an additional node above
        self.ends = np.cumsum(size + several)
        begin = self.ends - size - several
        self.tops = self.ends[several] - 1

        position = np.arange(len(head)) - (np.cumsum(words) - words)[tree]
        number = [form.number(kind, position, words[tree]) for kind in range(len(form.kinds))]
        self.at = {kind: begin[tree] + own for kind, own in zip(form.kinds, number, strict=True)}
        self.parent = np.full(int(size.sum() + several.sum()), -1, np.int32)
        above_root = np.where(several, size, -1)[tree]
        over = [np.where(head > 0, form.number(0, head - 1, words[tree]), above_root), *(number[k] for k in form.above)]
        for at, parent in zip(self.at.values(), over, strict=True):
            self.parent[at] = parent


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


# --- CoNLL-U as trees -------------------------------------------------------------------------------------------


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
    check_form(form)
    check_tag(tag)
    options = {"lemmas": lemmas, "lowercase": lowercase, "letters": letters, "prefixes": prefixes}
    for name, value in options.items():
        check_boolean(name, value)
    parses = [sentence_heads(sentence, tag) for sentence in read_sentences(source)]
    warn_of_no_tags(source.name, (parse.tags for parse in parses), tag)
    return Document(trees={"tree": form_columns(parses, form, **options)})


def looks_like_conllu(head: bytes) -> str | None:
    """Return why the first bytes of a file look like CoNLL-U, or None."""
    first = next(iter(opening_lines(head)), "")
    if re.match(r"#\s*(sent_id|text|newdoc|newpar|global\.columns)\b", first):
        return f"it begins with {first.split('=')[0].strip()!r}"
    rows = opening_lines(head, comment="#")
    if rows and len(cells := rows[0].split("\t")) == len(COLUMNS) and re.match("1(-[0-9]+)?$", cells[0]):
        return f"its first line has the {len(COLUMNS)} columns of CoNLL-U"
    return None


register(
    Format(
        "conllu",
        "CoNLL-U, dependency parses as trees",
        _read_conllu_trees,
        None,
        (".conllu", ".conll"),
        looks_like_conllu,
    )
)
