"""Tagged sequences, with their files of columns or of ``word/tag word/tag`` lines, and collections of feature sequences."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, Any, cast

import numpy as np

from treelet.checks import article, check_one_of, plural, wrong
from treelet.errors import FormatError, InlineFormatError, InputTypeError, TreeError
from treelet.formats.base import FORMATS, Columns, opening_lines
from treelet.formats.files import PathLike, Source, open_target
from treelet.formats.paths import File
from treelet.formats.reading import is_format, read_items
from treelet.printable import shortened
from treelet.shown import Tabled
from treelet.structures.bank import PostOrder, Stats, listed
from treelet.structures.treebank import TreeFormBank

# --- a tagged sequence: words, each with its tag ----------------------------------------------------------------------


class Tagged(Tabled):
    """A tagged sequence: words with one tag per word.

    Tagged sequences are immutable and hashable. Iteration yields (word, tag) pairs. A sequence cannot
    be indexed, so NumPy treats it as a single value.

    Parameters
    ----------
    words : iterable of str
        At least one word. Words must not be empty or contain white space.
    tags : iterable of str
        One tag per word. Tags must not be empty or contain white space or slashes.

    Attributes
    ----------
    words, tags : tuple of str
        Words and tags.

    Examples
    --------
    >>> from treelet import Tagged
    >>> tagged = Tagged(["Lou", "Gerstner", "is"], ["SP", "CP", "N"])
    >>> print(tagged)
    Lou/SP Gerstner/CP is/N
    >>> tagged == Tagged.parse("Lou/SP Gerstner/CP is/N"), len(tagged), next(iter(tagged))
    (True, 3, ('Lou', 'SP'))
    """

    __slots__ = ("__weakref__", "tags", "words")

    words: tuple[str, ...]
    tags: tuple[str, ...]

    def __init__(self, words: Iterable[str], tags: Iterable[str]) -> None:
        for name, texts in (("words", words), ("tags", tags)):
            if isinstance(texts, str):
                raise TreeError(
                    f"The {name!r} of a tagged sequence must be a list of strings. "
                    f"Got the string {shortened(texts)} instead: split it."
                )
        words, tags = tuple(words), tuple(tags)
        if len(words) != len(tags):
            raise TreeError(
                "A tagged sequence needs one tag per word. "
                f"Got {plural(len(words), 'word')} and {plural(len(tags), 'tag')} instead."
            )
        if not words:
            raise TreeError("A tagged sequence needs at least one word. Use None for a missing sequence.")
        for number, (word, tag) in enumerate(zip(words, tags, strict=True)):
            if not _is_word(word):
                raise TreeError(
                    f"word {number}: A word must be a non-empty string without white space. "
                    f"Got {shortened(word)} instead."
                )
            if not _is_word(tag) or "/" in tag:
                raise TreeError(
                    f"tag {number}: A tag must be a non-empty string without white space or slashes. "
                    f"Got {shortened(tag)} instead."
                )
        self._set(words, tags)

    def _set(self, words: tuple[str, ...], tags: tuple[str, ...]) -> None:
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "tags", tags)

    @classmethod
    def _trusted(cls, words: tuple[str, ...], tags: tuple[str, ...]) -> Tagged:
        tagged = cls.__new__(cls)
        tagged._set(words, tags)
        return tagged

    @classmethod
    def parse(cls, text: str) -> Tagged:
        """Read a sequence in the form ``word/tag word/tag``. The last slash separates the word from the tag.

        Examples
        --------
        >>> from treelet import Tagged
        >>> Tagged.parse("1/2/CD of/IN").words
        ('1/2', 'of')
        """
        if not isinstance(text, str):
            raise TreeError(
                f"Tagged.parse needs a string such as 'the/DT dog/NN'. Got {article(type(text).__name__)} instead."
            )
        return _parse_inline(text)

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.words, self.tags, strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tagged):
            return NotImplemented
        return self.words == other.words and self.tags == other.tags

    def __hash__(self) -> int:
        return hash((self.words, self.tags))

    def __str__(self) -> str:
        return " ".join(f"{word}/{tag}" for word, tag in self)

    def __repr__(self) -> str:
        return f"Tagged.parse({str(self)!r})"

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name!r} cannot be set, because a Tagged is immutable. Make a new sequence instead.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Tagged, (self.words, self.tags)


def _is_word(text: object) -> bool:
    return isinstance(text, str) and bool(text) and not any(char.isspace() for char in text)


def _parse_slashes(text: str, source: str, line: int | None = None) -> Tagged:
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
    return Tagged._trusted(tuple(words), tuple(tags))


def _parse_inline(text: str, source: str = "") -> Tagged:
    """Read a sequence from a string that a user passed. `source` names the string in errors, for example "item 3"."""
    try:
        return _parse_slashes(text, source)
    except FormatError as error:
        raise InlineFormatError(error.message, source, error.line, error.column) from None


# --- collections of tagged sequences in which equal suffixes are stored once ------------------------------------------

_FORMATS = ("columns", "slashes")


class TaggedBank(TreeFormBank[Tagged | Any]):
    """A collection of tagged sequences, used like a `Treebank`.

    A sequence is stored as a chain: a tree in which each tag has two children, its word and the rest
    of the sequence. Equal suffixes are stored once, and slicing is cheap.

    Parameters
    ----------
    items : iterable
        `Tagged` objects, strings of the form ``word/tag word/tag``, or lists of (word, tag) pairs,
        in any mixture. None stands for a missing sequence; the kernel of a missing sequence with
        anything is 0. To read a file, use `read_tagged`.

    Examples
    --------
    >>> from treelet.structures import TaggedBank
    >>> bank = TaggedBank(["the/DT dog/NN barks/VBZ", "a/DT dog/NN barks/VBZ"])
    >>> len(bank), bank.shape
    (2, (2,))
    >>> print(bank[1])
    a/DT dog/NN barks/VBZ
    >>> print(bank.stats())
    2 sequences, 6 positions, 4 distinct suffixes, 4 words, 3 tags
    """

    __slots__ = ()

    _noun, _mark, _suffixes = "tagged sentence", "/", (".txt", ".pos", ".conll")

    @classmethod
    def _taken_in(cls, items: Iterable[object]) -> tuple[None, list[Tagged | None]]:
        examples = listed(items, "tagged sequences", (Tagged,), "structures.read_tagged")
        return None, [_item(item, number) for number, item in enumerate(examples)]

    @classmethod
    def _columns_of(cls, items: list[Tagged | None]) -> Columns:
        """Build chains in post-order: all words, then the tags from last to first, each over its word and the rest."""
        trees = PostOrder()
        for item in items:
            if item is not None:
                trees.leaves(item.words)
                for number, tag in enumerate(reversed(item.tags)):
                    trees.node(tag, min(number + 1, 2))
            trees.end(missing=item is None)
        return trees.columns()

    @classmethod
    def _check(cls, columns: Columns) -> None:
        # A position is a node with one child, its word, or with two, its word and the next position.
        store, roots = columns
        start, child = store.child_start, store.child
        arity = np.diff(start)
        positions = np.flatnonzero(arity > 0)
        first = child[start[positions]]
        longer = positions[arity[positions] == 2]
        good = arity.max(initial=0) <= 2 and not arity[first].any() and arity[child[start[longer] + 1]].all()
        if not good or not arity[roots[roots >= 0]].all():
            raise TreeError("The trees do not represent tagged sequences, because no TaggedBank made them.")
        texts = store.labels
        tags = [texts[tag] for tag in np.unique(store.label[positions])]
        if invalid := [tag for tag in tags if not _is_word(tag) or "/" in tag]:
            raise TreeError(f"The label {invalid[0]!r:.60} is not a valid tag, because no TaggedBank made these trees.")

    @classmethod
    def _items_of(cls, columns: Columns) -> list[Tagged | None]:
        store, roots = columns
        label, start, child = store.label.tolist(), store.child_start.tolist(), store.child.tolist()
        texts, sequences = store.labels, []
        for root in roots.tolist():
            words, tags, node = [], [], root
            while node >= 0:
                tags.append(texts[label[node]])
                words.append(texts[label[child[start[node]]]])
                node = child[start[node] + 1] if start[node + 1] - start[node] == 2 else -1
            sequences.append(Tagged._trusted(tuple(words), tuple(tags)) if words else None)
        return sequences

    # --- content ------------------------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """Count sequences, positions, distinct suffixes, distinct words and distinct tags."""
        weights, store = self.weights(), self.columns.store
        distinct = np.unique(weights.node)
        inner = store.production >= 0
        positions = distinct[inner[distinct]]
        return Stats(
            sequences=len(self),
            positions=int(weights.weight[inner[weights.node]].sum()),
            distinct_suffixes=len(positions),
            words=len(distinct) - len(positions),
            tags=len(np.unique(store.label[positions])),
        )

    def strings(self) -> list[str]:
        """Return each sequence as ``word/tag word/tag``. A missing sequence is an empty string."""
        return ["" if item is None else str(item) for item in self._all()]

    @staticmethod
    def _is_text(text: str) -> bool:
        """Return whether a text looks like ``word/tag word/tag``.

        >>> [TaggedBank._is_text(text) for text in ("the/D dog/N", "the D", "/x")]
        [True, False, False]
        """
        items = text.split()
        return bool(items) and all("/" in item.strip("/") for item in items)

    @classmethod
    def _in_file(
        cls, source: Source, format: str | None = None, word: int = 0, tag: int = 1
    ) -> Iterator[Tagged | None]:
        """Yield the sequences of a file. Default: the format that the first line looks like."""
        slashes = cls._is_text(next(iter(opening_lines(source.head())), "")) if format is None else format == "slashes"
        return _read_slashes(source) if slashes else _read_columns(source, word, tag)

    def write(self, file: PathLike | IO[str], format: str = "slashes") -> None:
        """Write the sequences to a file, which appears only when it is complete.

        Parameters
        ----------
        file : path or open file
            Files whose names end in ``.gz``, ``.xz`` or ``.bz2`` are compressed.
        format : {"slashes", "columns"}, default "slashes"
            ``"slashes"`` writes one sequence per line, and an empty line for a missing sequence.
            ``"columns"`` writes one word with its tag per line, and an empty line after each sequence.
        """
        check_one_of("format", format, _FORMATS)
        items = self._all()
        if format == "columns" and None in items:
            raise TreeError(
                f"Sequence {items.index(None)} is missing, but the format 'columns' has no notation for missing "
                "sequences. Use format='slashes'."
            )
        with open_target(file) as stream:
            if format == "slashes":
                stream.writelines(text + "\n" for text in self.strings())
            else:
                for item in items:
                    stream.writelines(f"{word} {tag}\n" for word, tag in item)
                    stream.write("\n")


def _item(item: object, number: int) -> Tagged | None:
    if item is None or isinstance(item, Tagged):
        return item
    if isinstance(item, str):
        return _parse_inline(item, f"item {number}")
    try:
        pairs = [(word, tag) for word, tag in cast("Iterable[tuple[str, str]]", item)]
    except (TypeError, ValueError):
        raise InputTypeError(
            f"Item {number} is {article(type(item).__name__)}, but a tagged sequence is needed. Pass a Tagged, a string "
            "such as 'the/DT dog/NN', or a list of (word, tag) pairs."
        ) from None
    try:
        return Tagged([word for word, _ in pairs], [tag for _, tag in pairs])
    except TreeError as error:
        raise TreeError(f"item {number}: {error}") from None


def read_tagged(
    *files: File | Sequence[File],
    format: str | None = None,
    word: int = 0,
    tag: int = 1,
    exclude: str | Collection[str] = (),
    encoding: str = "utf-8",
    on_error: str = "raise",
) -> TaggedBank:
    r"""Read files of tagged sequences.

    Parameters
    ----------
    *files : path or open file
        Files in ``.gz``, ``.xz`` and ``.bz2`` format are decompressed. ``"-"`` is standard input. A
        folder stands for all ``.txt``, ``.pos`` and ``.conll`` files below it, and a pattern such as
        ``"conll2000/*.txt"`` for the files that match it, as for `read_trees`.
    format : {"columns", "slashes"}, default "columns"
        ``"columns"``: one word per line, with its annotations in columns separated by blanks, and an
        empty line between sentences, as in the CoNLL shared tasks. Lines that begin with
        ``-DOCSTART-`` are skipped. ``"slashes"``: one sentence per line, as ``word/tag word/tag``; an
        empty line is a missing sequence. After a single file, the format may also be the second
        positional argument.
    word : int, default 0
        Column of the words, counted from 0. Negative numbers count from the last column.
    tag : int, default 1
        Column of the tags, counted in the same way.
    exclude : str or list of str, default ()
        Patterns of files and folders to leave out of folders and patterns, as for `read_trees`.
    encoding : str, default "utf-8"
        Encoding of the files.
    on_error : {"raise", "skip"}, default "raise"
        ``"raise"`` raises an error for a malformed sentence. ``"skip"`` skips malformed sentences; a
        warning reports how many were skipped and where the first ones are.

    Returns
    -------
    TaggedBank

    Examples
    --------
    >>> import io, treelet
    >>> text = "He PRP B-NP\nsleeps VBZ B-VP\n\nGo VB B-VP\n"
    >>> print(treelet.read_tagged(io.StringIO(text), tag=2)[0])
    He/B-NP sleeps/B-VP
    """
    given, named = list(files), format
    if len(given) == 2 and format is None and is_format(given[1]):
        named = cast(str, given.pop())
    check_one_of("format", named := "columns" if named is None else named, _FORMATS)
    for name, column in (("word", word), ("tag", tag)):
        if not isinstance(column, int) or isinstance(column, bool):
            raise wrong(name, "an int", column, of="read_tagged")
    read = partial(TaggedBank._in_file, format=named, word=word, tag=tag)
    return TaggedBank(
        read_items(
            given, TaggedBank._suffixes, read, "sentences", exclude=exclude, encoding=encoding, on_error=on_error
        )
    )


def _read_slashes(source: Source) -> Iterator[Tagged | None]:
    """Yield one sequence per line. An empty line is a missing sequence."""
    for number, line in source.text_lines():
        with source.item():
            yield _parse_slashes(line, source.name, number) if line.strip() else None


def _read_columns(source: Source, word: int, tag: int) -> Iterator[Tagged]:
    """Yield sequences with one word per line and empty lines between them. Negative columns count from the right."""
    _check_columns(source, word)
    for group in source.groups():
        words: list[str] = []
        tags: list[str] = []
        with source.item():
            for number, line in (*group, (0, b"")):
                cells = source.text(line, number).split()
                if cells and cells[0] != "-DOCSTART-":
                    for name, column in (("word", word), ("tag", tag)):
                        if not -len(cells) <= column < len(cells):
                            columns = plural(len(cells), "column")
                            raise source.error(
                                f"there is no column {column} for {name}=: this line has {columns}.", number
                            )
                    if "/" in cells[tag]:
                        raise source.error(
                            "a tag is a string without slashes, because the last slash separates word and tag, but this "
                            f"one is {cells[tag]!r}.",
                            number,
                        )
                    words.append(cells[word])
                    tags.append(cells[tag])
                elif words:
                    yield Tagged._trusted(tuple(words), tuple(tags))
                    words, tags = [], []


def _check_columns(source: Source, word: int) -> None:
    """Reject files of other formats that could be mistaken for columns."""
    first = next(iter(opening_lines(source.head())), "")
    looks_like_conllu = FORMATS["conllu"].looks
    assert looks_like_conllu is not None
    if looks_like_conllu(source.head()) and (word == 0 or first.startswith("#")):  # numbers, or comments, as words
        raise source.error(
            "this looks like CoNLL-U. Read it with treelet.structures.read_conllu; the parses have words and tags.", 1
        )
    if first.lstrip().startswith(("{", "[")):
        try:
            json.loads(first)
        except ValueError:
            pass
        else:
            raise source.error(
                "this looks like JSON Lines. Parse each line with json.loads, and create treelet.Tagged(words, tags).",
                1,
            )
    if re.match(r"\(\s*\(?\S+\s*\(\S+", first.lstrip()):  # not "( (", a bracket and its tag
        raise source.error("this looks like trees in brackets. Read them with treelet.read_trees.", 1)
    if TaggedBank._is_text(first):
        raise source.error("this looks like word/tag with one sentence per line. Read it with format='slashes'.", 1)


# --- collections of feature sequences: an example is a list of features, or a dict with one list per type ---------------

Sequences = tuple[Hashable, ...] | dict[str, tuple[Hashable, ...]]
ONE, BY_TYPE = "=", "=="  # root labels of a plain sequence and of several sequences by type; never equal to a feature
_MOST_NESTED = 50  # maximum nesting depth of tuples


class SequenceBank(TreeFormBank[Sequences | Any]):
    """A collection of feature sequences, used like a `Treebank`.

    Parameters
    ----------
    items : iterable
        Sequences of features, or dicts that map names of types to sequences. Kernels compare dicts
        type by type and add the results. None stands for a missing example; the kernel of a missing
        example with anything is 0. A feature is a string, a number, None, or a tuple of these. As in
        Python, 1 and 1.0 are equal.

    Examples
    --------
    >>> from treelet.structures import SequenceBank
    >>> bank = SequenceBank([["a", "b", 1], {"words": ["a", "b"], "lengths": [1, 2]}])
    >>> bank[0]
    ('a', 'b', 1)
    >>> bank[1]
    {'lengths': (1, 2), 'words': ('a', 'b')}
    >>> print(bank.stats())
    2 examples, 3 sequences, 7 features, 4 distinct, 3 types
    """

    __slots__ = ()

    @classmethod
    def _taken_in(cls, items: Iterable[object]) -> tuple[None, list[Sequences | None]]:
        examples = listed(items, "feature sequences", (dict,))
        known: dict[Hashable, str] = {}
        return None, [_example(item, number, known) for number, item in enumerate(examples)]

    @classmethod
    def _columns_of(cls, items: list[Sequences | None]) -> Columns:
        """Store an example as a tree: a root over one node per type, and the features of a type below its node."""
        trees = PostOrder()
        known: dict[Hashable, str] = {}
        for item in items:
            if item is not None:
                types = item.items() if isinstance(item, dict) else [("", item)]
                filled = [(name, features) for name, features in types if features]
                for name, features in filled:
                    trees.leaves(_text(feature, known) for feature in features)
                    trees.node(name, len(features))
                trees.node(BY_TYPE if isinstance(item, dict) else ONE, len(filled))
            trees.end(missing=item is None)
        return trees.columns()

    @classmethod
    def _check(cls, columns: Columns) -> None:
        # Nodes have the height 2 (roots), 1 (types) or 0 (features); a root without features has the height 0.
        store, roots = columns
        start, child, height, texts = store.child_start, store.child, store.height, store.labels
        parent = np.repeat(np.arange(len(store)), np.diff(start))
        roots = roots[roots >= 0]
        good = (height[parent] == height[child] + 1).all() and np.isin(height[roots], [0, 2]).all()
        good = good and all(texts[label] in (ONE, BY_TYPE) for label in np.unique(store.label[roots]).tolist())
        if not good or height.max(initial=0) > 2:
            raise TreeError("The trees do not represent feature sequences, because no SequenceBank made them.")
        leaves = store.label[child[height[child] == 0]]
        try:
            for number in np.unique(leaves).tolist():
                feature_of(texts[number])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise TreeError(
                f"The label {texts[number]!r:.60} does not represent a feature, because no SequenceBank made these trees."
            ) from None

    @classmethod
    def _items_of(cls, columns: Columns) -> list[Sequences | None]:
        store, roots = columns
        label, start, child = store.label.tolist(), store.child_start.tolist(), store.child.tolist()
        texts = store.labels
        feature_of_leaf: dict[int, Hashable] = {}

        def features(node: int) -> tuple[Hashable, ...]:
            leaves = [label[leaf] for leaf in child[start[node] : start[node + 1]]]
            for leaf in leaves:
                if leaf not in feature_of_leaf:
                    feature_of_leaf[leaf] = feature_of(texts[leaf])
            return tuple(feature_of_leaf[leaf] for leaf in leaves)

        examples: list[Sequences | None] = []
        for root in roots.tolist():
            if root < 0:
                examples.append(None)
                continue
            types = {texts[label[node]]: features(node) for node in child[start[root] : start[root + 1]]}
            examples.append(types if texts[label[root]] == BY_TYPE else types.get("", ()))
        return examples

    def stats(self) -> Stats:
        """Count examples, sequences, features, distinct features and types."""
        weights, store = self.weights(), self.columns.store
        is_root = np.zeros(len(store), bool)
        is_root[self.columns.roots[self.columns.roots >= 0]] = True
        is_feature, is_sequence = (store.height == 0) & ~is_root, store.height == 1
        distinct = np.unique(weights.node)
        return Stats(
            examples=len(self),
            sequences=int(weights.weight[is_sequence[weights.node]].sum()),
            features=int(weights.weight[is_feature[weights.node]].sum()),
            distinct=int(is_feature[distinct].sum()),
            types=len(np.unique(store.label[distinct[is_sequence[distinct]]])),
        )


def _example(item: object, number: int, known: dict[Hashable, str]) -> Sequences | None:
    if item is None:
        return None
    if isinstance(item, Mapping):
        for name in item:
            if not isinstance(name, str):
                raise InputTypeError(
                    f"example {number}: The name of a type must be a string. Got {name!r:.60} instead."
                )
        types = sorted(item.items())
        return {name: _sequence(features, f"example {number}, type {name!r}", known) for name, features in types}
    return _sequence(item, f"example {number}", known)


def _sequence(features: object, where: str, known: dict[Hashable, str]) -> tuple[Hashable, ...]:
    if isinstance(features, (str, bytes)):
        raise InputTypeError(
            f"{where}: A list of features is needed. Got {article(type(features).__name__)} instead. Use text.split() "
            "for words, or list(text) for characters."
        )
    try:
        sequence: tuple[Hashable, ...] = tuple(cast("Iterable[Hashable]", features))
    except TypeError:
        raise InputTypeError(
            f"{where}: A list of features, or a dict of such lists, is needed. Got {article(type(features).__name__)} "
            "instead. For parses, use treelet.cuts.feature_sequences."
        ) from None
    for index, feature in enumerate(sequence):
        try:
            _text(feature, known)
        except (TypeError, ValueError) as error:
            raise InputTypeError(f"{where}, feature {index}: {error}") from None
    return sequence


def _text(feature: Hashable, known: dict[Hashable, str]) -> str:
    """Return the label of a feature in a store: strings unchanged, other features as literals after an "=" sign."""
    if isinstance(feature, str):
        return feature if not feature.startswith("=") else f"={str(feature)!r}"
    try:
        text = known.get(feature)
    except TypeError:
        text = None  # not hashable: `_plain` raises the error
    if text is None:
        text = f"={_plain(feature, 0)!r}"
        known[feature] = text
    return text


def _plain(feature: object, depth: int) -> object:
    """Convert a feature to the types of Python literals. Equal features become identical literals."""
    if isinstance(feature, np.generic):
        feature = feature.item()
    if feature is None or isinstance(feature, bytes):
        return feature
    if isinstance(feature, str):
        return str(feature)
    if isinstance(feature, int):
        return int(feature)
    if isinstance(feature, float):
        if math.isnan(feature):
            raise ValueError("NaN cannot be a feature, because it is not equal to itself. Use None instead.")
        return int(feature) if feature.is_integer() else float(feature)
    if isinstance(feature, tuple):
        if depth == _MOST_NESTED:
            raise ValueError(f"The tuples of a feature are nested more than {_MOST_NESTED} levels deep.")
        return tuple(_plain(member, depth + 1) for member in feature)
    raise TypeError(
        "A feature must be a string, a number, None or a tuple of these. "
        f"Got {article(type(feature).__name__)} instead: convert it, for example with str()."
    )


def feature_of(text: str) -> Hashable:
    """Return the feature that a label in a store stands for. Other labels raise ValueError."""
    if not text.startswith("="):
        return text
    if text in ("=inf", "=-inf"):
        return float(text[1:])
    feature: Hashable = ast.literal_eval(text[1:])
    if f"={_plain(feature, 0)!r}" != text:
        raise ValueError("not the label of a feature")
    return feature
