"""Dependency parses: words, their tags, and typed links between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from treelet.checks import wrong
from treelet.errors import InputTypeError, TreeError
from treelet.formats.conllu import (
    UNKNOWN,
    check_tag,
    conllu_heads,
    heads_problem,
    sentence_lines,
    spacy_heads,
    stanza_heads,
)
from treelet.shown import Drawn


class Link(NamedTuple):
    """A link between two words, `left` before `right`; positions are counted from 0."""

    left: int
    right: int
    type: str


class Dependencies(Drawn):
    """A dependency parse: words with tags, and typed links between the words.

    There are two kinds. This constructor makes undirected links, as of Link Grammar; `from_heads` makes directed ones,
    as of Universal Dependencies, where each word has a head and a relation to it. Immutable and hashable.

    Parameters
    ----------
    words : iterable of str
        At least one; not empty, without tabs and line ends.
    tags : iterable of str, optional
        As many; ``"_"`` stands for none.
    links : iterable of (int, int, str)
        Two different positions, counted from 0, in either order, and a type. They may cross, and two words may have
        several links of different types.
    lemmas : iterable of str, optional
        One a word; ``"_"`` stands for none.

    Attributes
    ----------
    words, tags : tuple of str
    lemmas : tuple of str or None
    links : tuple of Link
        In the order of their left words, then their right ones. Of a directed parse: one a word that is no root.
    heads : tuple of int or None
        Of a directed parse: for each word the number of its head, counted from 1; 0 for a root.
    relations : tuple of str or None
        Of a directed parse: each word's relation to its head.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> parse = Dependencies(["dogs", "bark", "loudly"], ["n", "v", "e"], [(0, 1, "Sp"), (1, 2, "MVa")])
    >>> print(parse)
    Sp(dogs-1, bark-2)
    MVa(bark-2, loudly-3)
    >>> len(parse), parse.links[0].type, parse.directed
    (3, 'Sp', False)
    """

    __slots__ = ("__weakref__", "_kept", "heads", "lemmas", "links", "relations", "tags", "words")

    words: tuple[str, ...]
    tags: tuple[str, ...]
    lemmas: tuple[str, ...] | None
    links: tuple[Link, ...]
    heads: tuple[int, ...] | None
    relations: tuple[str, ...] | None
    _kept: tuple[str, ...]

    def __init__(
        self,
        words: Iterable[str],
        tags: Iterable[str] | None = None,
        links: Iterable[tuple[int, int, str]] = (),
        *,
        lemmas: Iterable[str] | None = None,
    ) -> None:
        texts = _columns(words, tags, lemmas)
        self._set(*texts, _links(links, len(texts[0])), None, None)

    @classmethod
    def from_heads(
        cls,
        words: Iterable[str],
        tags: Iterable[str] | None,
        heads: Iterable[int | None],
        relations: Iterable[str] | None = None,
        *,
        lemmas: Iterable[str] | None = None,
    ) -> Dependencies:
        """A directed parse: for each word its head and its relation to it.

        Parameters
        ----------
        words, tags, lemmas
            As in the constructor.
        heads : iterable of int or None
            The number of each word's head, counted from 1; 0 or None for a root. There may be several roots, and no
            cycles, so that every word is below a root.
        relations : iterable of str, optional
            As many; by default ``"root"`` for roots and ``"_"`` for others.

        Examples
        --------
        >>> parse = Dependencies.from_heads(["dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"])
        >>> print(parse)
        nsubj(bark-2, dogs-1)
        root(ROOT-0, bark-2)
        """
        texts = _columns(words, tags, lemmas)
        number = len(texts[0])
        head_numbers = tuple(0 if head is None else head for head in _listed("heads", heads))
        if len(head_numbers) != number:
            raise TreeError(f"a parse needs one head a word, got {number} words and {len(head_numbers)} heads")
        if problem := heads_problem(head_numbers):
            raise TreeError(f"word {problem[0] + 1}: {problem[1]}")
        if relations is None:
            relations = [UNKNOWN if head else "root" for head in head_numbers]
        types = _texts("relation", relations, number)
        self = cls.__new__(cls)
        self._set(*texts, _links_of(head_numbers, types), head_numbers, types)
        return self

    def _set(
        self,
        words: tuple[str, ...],
        tags: tuple[str, ...],
        lemmas: tuple[str, ...] | None,
        links: tuple[Link, ...],
        heads: tuple[int, ...] | None,
        relations: tuple[str, ...] | None,
        kept: tuple[str, ...] = (),
    ) -> None:
        values = (words, tags, lemmas, links, heads, relations, kept)
        names = ("words", "tags", "lemmas", "links", "heads", "relations", "_kept")
        for name, value in zip(names, values, strict=True):
            object.__setattr__(self, name, value)

    # --- other libraries' parses --------------------------------------------------------------------------------

    @classmethod
    def from_spacy(cls, tokens: Iterable[Any], *, tag: str = "upos") -> Dependencies:
        """A spaCy ``Doc`` or ``Span`` that has been parsed.

        A word whose head lies outside is a root. Tokens of white space are left out. ``tag="xpos"`` takes ``tag_``
        instead of ``pos_``.
        """
        return cls.from_heads(**spacy_heads(tokens, tag)._asdict())

    @classmethod
    def from_stanza(cls, sentence: Any, *, tag: str = "upos") -> Dependencies:
        """A stanza ``Sentence``, that is one of ``document.sentences``."""
        return cls.from_heads(**stanza_heads(sentence, tag)._asdict())

    @classmethod
    def from_conllu(cls, tokens: Iterable[Mapping[str, Any]], *, tag: str = "upos") -> Dependencies:
        """A ``TokenList`` of the conllu package; multiword tokens and empty nodes are left out."""
        return cls.from_heads(**conllu_heads(tokens, tag)._asdict())

    # --- what it holds ------------------------------------------------------------------------------------------

    @property
    def directed(self) -> bool:
        """Whether the words have heads."""
        return self.heads is not None

    @property
    def comments(self) -> tuple[str, ...]:
        """Comment lines that were kept when a file was read. They do not count when parses are compared."""
        return tuple(line for line in self._kept if line.startswith("#"))

    def rooted(self, root: int = 0) -> Dependencies:
        """The links directed away from one word, so that undirected parses can become trees.

        A word's head is its neighbor on a shortest way to the root, of several the leftmost; other links are left out.
        What no link leads to has roots of its own, each the leftmost word of its part.

        Parameters
        ----------
        root : int
            A position, counted from 0. In Link Grammar's parses the first word is the left wall.

        Examples
        --------
        >>> print(Dependencies(["dogs", "bark"], ["n", "v"], [(0, 1, "Sp")]).rooted(1))
        Sp(bark-2, dogs-1)
        root(ROOT-0, bark-2)
        """
        number = len(self.words)
        if isinstance(root, bool) or not isinstance(root, int) or not 0 <= root < number:
            raise wrong("root", f"a position from 0 to {number - 1}", root, of="rooted")
        near: list[list[tuple[int, str]]] = [[] for _ in self.words]
        for left, right, kind in self.links:
            near[left].append((right, kind))
            near[right].append((left, kind))
        heads, relations = [-1] * number, ["root"] * number
        for start in (root, *range(number)):
            if heads[start] >= 0:
                continue
            heads[start], level = 0, [start]
            while level:
                following = []
                for here in sorted(level):
                    for neighbor, kind in sorted(near[here]):
                        if heads[neighbor] < 0:
                            heads[neighbor], relations[neighbor] = here + 1, kind
                            following.append(neighbor)
                level = following
        return Dependencies.from_heads(self.words, self.tags, heads, relations, lemmas=self.lemmas)

    def to_conllu(self, tag: str = "upos") -> str:
        r"""The parse in CoNLL-U, with an empty line at its end; tags go into the column that `tag` names.

        Lines that were kept on reading are given back as they were.

        >>> print(Dependencies.from_heads(["Go"], ["VERB"], [0]).to_conllu().replace("\t", " "), end="")
        1 Go _ VERB _ _ 0 root _ _
        <BLANKLINE>
        """
        check_tag(tag)
        if self.heads is None or self.relations is None:
            raise TreeError("CoNLL-U needs a head a word, and undirected links have none: see Dependencies.rooted")
        lines = self._kept
        if len(lines) == len(self.comments):
            lines += tuple(sentence_lines(self.words, self.lemmas, self.tags, self.heads, self.relations, tag))
        return "\n".join((*lines, "", ""))

    # --- value semantics ----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.words)

    def _value(self) -> tuple[object, ...]:
        return self.words, self.tags, self.lemmas, self.links, self.heads, self.relations

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dependencies):
            return NotImplemented
        return self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("Dependencies cannot be changed; make others")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("Dependencies cannot be changed; make others")

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (*self._value(), self._kept)

    def __str__(self) -> str:
        if self.heads is None or self.relations is None:
            return "\n".join(
                f"{kind}({self.words[left]}-{left + 1}, {self.words[right]}-{right + 1})"
                for left, right, kind in self.links
            )
        return "\n".join(
            f"{kind}({self.words[head - 1] if head else 'ROOT'}-{head}, {word}-{number})"
            for number, (word, head, kind) in enumerate(zip(self.words, self.heads, self.relations, strict=True), 1)
        )

    def __repr__(self) -> str:
        lemmas = f", lemmas={list(self.lemmas)}" if self.lemmas else ""
        if self.heads is None or self.relations is None:
            links = [tuple(link) for link in self.links]
            return f"Dependencies({list(self.words)}, {list(self.tags)}, {links}{lemmas})"
        return (
            f"Dependencies.from_heads({list(self.words)}, {list(self.tags)}, {list(self.heads)}, {list(self.relations)}"
            f"{lemmas})"
        )

    _repr_pretty_ = Drawn._repr_pretty_  # IPython takes it only from where __repr__ is


def restored(
    words: tuple[str, ...],
    tags: tuple[str, ...],
    lemmas: tuple[str, ...] | None,
    links: tuple[Link, ...],
    heads: tuple[int, ...] | None,
    relations: tuple[str, ...] | None,
    kept: tuple[str, ...],
) -> Dependencies:
    """A parse from its parts, with lines that were kept."""
    if heads is None:
        parse = Dependencies(words, tags, links, lemmas=lemmas)
    else:
        parse = Dependencies.from_heads(words, tags, heads, relations, lemmas=lemmas)
    object.__setattr__(parse, "_kept", kept)
    return parse


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str):
        raise TreeError(f"{name} must be a list, got the string {values!r}: split it")
    try:
        return list(values)
    except TypeError:
        raise InputTypeError(f"{name} must be a list, got {type(values).__name__}") from None


def _texts(name: str, values: Any, number: int | None = None) -> tuple[str, ...]:
    texts = _listed(name + "s", values)
    if number is not None and len(texts) != number:
        raise TreeError(f"a parse needs one {name} a word, got {number} words and {len(texts)} {name}s")
    for number_of_word, text in enumerate(texts, 1):
        if problem := _text_problem(text):
            raise TreeError(f"{name} {number_of_word}: a {name} is {problem}")
    return tuple(texts)


def _text_problem(text: object) -> str | None:
    if not isinstance(text, str):
        return f"a string, not a {type(text).__name__}"
    if not text.strip() or any(char in text for char in "\t\n\r"):
        return f"not empty and has no tabs or line ends; this one is {text!r}"
    return None


def _columns(words: Any, tags: Any, lemmas: Any) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...] | None]:
    forms = _texts("word", words)
    if not forms:
        raise TreeError("a parse needs at least one word; None stands for a missing one")
    number = len(forms)
    word_tags = (UNKNOWN,) * number if tags is None else _texts("tag", tags, number)
    return forms, word_tags, None if lemmas is None else _texts("lemma", lemmas, number)


def _links(links: Any, number: int) -> tuple[Link, ...]:
    distinct_links: set[Link] = set()
    for index, link in enumerate(_listed("links", links)):
        try:
            first, second, kind = link
        except (TypeError, ValueError):
            raise TreeError(f"link {index}: a link is (position, position, type), not {link!r}") from None
        for end in (first, second):
            if isinstance(end, bool) or not isinstance(end, int) or not 0 <= end < number:
                raise TreeError(f"link {index}: {end!r} is no position of a word: there are {number}, counted from 0")
        if first == second:
            raise TreeError(f"link {index} links word {first} to itself")
        if problem := _text_problem(kind):
            raise TreeError(f"link {index}: a type is {problem}")
        new = Link(min(first, second), max(first, second), kind)
        if new in distinct_links:
            raise TreeError(f"link {index} is there twice: {tuple(new)!r}")
        distinct_links.add(new)
    return tuple(sorted(distinct_links))


def _links_of(heads: tuple[int, ...], relations: tuple[str, ...]) -> tuple[Link, ...]:
    pairs = ((index, head - 1, kind) for index, (head, kind) in enumerate(zip(heads, relations, strict=True)) if head)
    return tuple(sorted(Link(min(first, second), max(first, second), kind) for first, second, kind in pairs))
