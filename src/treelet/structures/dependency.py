"""Dependency parses: words, their tags, and typed links between them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, Any, ClassVar, NamedTuple, cast

from treelet.checks import article, check_one_of, plural, wrong
from treelet.errors import FormatError, InputTypeError, TreeError
from treelet.formats.adapters import library_of
from treelet.formats.base import FORMATS, Columns, opening_lines
from treelet.formats.conllu import ON_CYCLE, TAGS, UNKNOWN, read_parses, word_on_cycle
from treelet.formats.files import PathLike, Source, open_target
from treelet.formats.paths import File
from treelet.formats.reading import read_items
from treelet.printable import shortened
from treelet.shown import Drawn
from treelet.structures.bank import PostOrder, Stats, listed
from treelet.structures.tree import Tree, trees_of
from treelet.structures.treebank import TreeFormBank

# --- dependency parses: words, their tags, and typed links between them -----------------------------------------------


class Link(NamedTuple):
    """A link between two words. `left` comes before `right`; positions are counted from 0."""

    left: int
    right: int
    type: str


class Dependencies(Drawn):
    """A dependency parse: words with tags, and typed links between the words.

    There are two kinds of parses. The constructor makes a parse with undirected links, as in Link
    Grammar. `from_heads` makes a directed parse, as in Universal Dependencies, in which each word
    has a head and a relation to the head. Parses are immutable and hashable.

    Parameters
    ----------
    words : iterable of str
        At least one word. Words must not be empty or contain tabs or line breaks.
    tags : iterable of str, optional
        One tag per word. ``"_"`` stands for a missing tag, and is the default.
    links : iterable of (int, int, str), default ()
        Two different positions, counted from 0, in either order, and a type. Links may cross. Two
        words may have several links of different types.
    lemmas : iterable of str, optional
        One lemma per word. ``"_"`` stands for a missing lemma.

    Attributes
    ----------
    words, tags : tuple of str
        Words and tags.
    lemmas : tuple of str or None
        Lemmas, if they are known.
    links : tuple of Link
        Links, sorted by left word, then by right word. A directed parse has one link per word that
        is not a root.
    heads : tuple of int or None
        For a directed parse, the number of each word's head, counted from 1; 0 for a root.
    relations : tuple of str or None
        For a directed parse, the relation of each word to its head.

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
        """Make a directed parse from the head and the relation of each word.

        Parameters
        ----------
        words, tags, lemmas
            As in the constructor.
        heads : iterable of int or None
            Number of each word's head, counted from 1; 0 or None for a root. Several roots are
            allowed, but cycles are not.
        relations : iterable of str, optional
            One relation per word. Default: ``"root"`` for roots and ``"_"`` for other words.

        Returns
        -------
        Dependencies

        Examples
        --------
        >>> from treelet import Dependencies
        >>> parse = Dependencies.from_heads(["dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"])
        >>> print(parse)
        nsubj(bark-2, dogs-1)
        root(ROOT-0, bark-2)
        """
        texts = _columns(words, tags, lemmas)
        number = len(texts[0])
        head_numbers = tuple(0 if head is None else head for head in _listed("heads", heads))
        if len(head_numbers) != number:
            raise _wrong_count("head", len(head_numbers), number)
        for position, head in enumerate(head_numbers, 1):
            if isinstance(head, bool) or not isinstance(head, int):
                problem = f"a head must be an int. Got {head!r} instead."
            elif not 0 <= head <= number:
                problem = f"the head {head} does not exist. Heads are 1 to {number}, or 0 for a root."
            elif head == position:
                problem = "a word cannot be its own head. Give a root the head 0."
            else:
                continue
            raise TreeError(f"word {position} ({shortened(texts[0][position - 1])}): {problem}")
        if (cyclic := word_on_cycle(head_numbers)) is not None:
            raise TreeError(f"Word {cyclic} ({shortened(texts[0][cyclic - 1])}) {ON_CYCLE}")
        if relations is None:
            relations = [UNKNOWN if head else "root" for head in head_numbers]
        types = _texts("relation", relations, number)
        # One link per word that is not a root, between positions counted from 0.
        ends = (
            (index, head - 1, kind) for index, (head, kind) in enumerate(zip(head_numbers, types, strict=True)) if head
        )
        links = sorted(Link(min(word, above), max(word, above), kind) for word, above, kind in ends)
        self = cls.__new__(cls)
        self._set(*texts, tuple(links), head_numbers, types)
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

    # --- parses of other libraries ------------------------------------------------------------------------------

    @classmethod
    def from_spacy(cls, tokens: Iterable[Any], *, tag: str = "upos") -> Dependencies:
        """Convert a spaCy ``Doc`` or ``Span`` that has been parsed.

        A word whose head is outside the span becomes a root. White-space tokens are skipped.

        Parameters
        ----------
        tokens : spacy.tokens.Doc or Span
            One sentence, for example one of ``doc.sents``.
        tag : {"upos", "xpos"}, default "upos"
            ``"upos"`` uses the attribute ``pos_`` of the tokens, ``"xpos"`` uses ``tag_``.
        """
        check_one_of("tag", tag, TAGS)
        try:
            all_tokens = list(tokens)
            # Before a parser has run, spaCy makes every word its own head, with an empty relation.
            if all_tokens and all(token.head.i == token.i and not token.dep_ for token in all_tokens):
                raise _not_parsed(
                    "This Doc or Span", "Use a pipeline with a parser, such as spacy.load('en_core_web_sm')."
                )
            kept = [token for token in all_tokens if not getattr(token, "is_space", False)]
            number_of = {token.i: number for number, token in enumerate(kept, 1)}
            heads = []
            for token in kept:
                head = token.head
                while getattr(head, "is_space", False) and head.head.i != head.i:
                    head = head.head
                heads.append(0 if head.i == token.i else number_of.get(head.i, 0))
            words, relations = [token.text for token in kept], [token.dep_ or UNKNOWN for token in kept]
            tags = [(token.pos_ if tag == "upos" else token.tag_) or UNKNOWN for token in kept]
            lemmas = _known([token.lemma_ for token in kept])
        except (AttributeError, TypeError) as error:
            raise InputTypeError(
                f"A parsed spaCy Doc or Span is needed, but got {article(type(tokens).__name__)} ({error})."
            ) from None
        return cls.from_heads(words, tags, heads, relations, lemmas=lemmas)

    @classmethod
    def from_stanza(cls, sentence: Any, *, tag: str = "upos") -> Dependencies:
        """Convert a stanza ``Sentence``: an item of ``document.sentences``. See `from_spacy` for `tag`."""
        check_one_of("tag", tag, TAGS)
        try:
            words = list(sentence.words)
            if words and all(word.head is None for word in words):
                raise _not_parsed("This sentence", "Add the processor 'depparse' to the stanza Pipeline.")
            texts, heads = [word.text for word in words], [int(word.head) for word in words]
            tags = [(word.upos if tag == "upos" else word.xpos) or UNKNOWN for word in words]
            relations, lemmas = [word.deprel or UNKNOWN for word in words], _known([word.lemma for word in words])
        except (AttributeError, TypeError) as error:
            raise InputTypeError(
                f"A parsed stanza Sentence is needed, but got {article(type(sentence).__name__)} ({error}). Sentences are in "
                "document.sentences."
            ) from None
        return cls.from_heads(texts, tags, heads, relations, lemmas=lemmas)

    @classmethod
    def from_conllu(cls, tokens: Iterable[Mapping[str, Any]], *, tag: str = "upos") -> Dependencies:
        """Convert a ``TokenList`` of the conllu package, without its multiword tokens and empty nodes.

        See `from_spacy` for `tag`.
        """
        check_one_of("tag", tag, TAGS)
        try:
            words = [token for token in tokens if isinstance(token["id"], int)]
            if words and all(token["head"] is None for token in words):
                raise _not_parsed("This sentence", "Fill its column HEAD, for example with a parser.")
            if headless := [token["id"] for token in words if token["head"] is None]:
                raise TreeError(f"Word {headless[0]} has no head. Write 0 for a root.")
            forms, tags = [token["form"] for token in words], [token[tag] or UNKNOWN for token in words]
            heads, relations = [token["head"] for token in words], [token["deprel"] or UNKNOWN for token in words]
            lemmas = _known([token["lemma"] for token in words])
        except (KeyError, TypeError) as error:
            raise InputTypeError(
                f"A TokenList of conllu is needed, but got {article(type(tokens).__name__)} ({error!r})."
            ) from None
        return cls.from_heads(forms, tags, heads, relations, lemmas=lemmas)

    # --- content ------------------------------------------------------------------------------------------------

    @property
    def directed(self) -> bool:
        """True if the words have heads."""
        return self.heads is not None

    @property
    def comments(self) -> tuple[str, ...]:
        """Comment lines that were kept when a file was read. Comparisons of parses ignore them."""
        return tuple(line for line in self._kept if line.startswith("#"))

    def rooted(self, root: int = 0) -> Dependencies:
        """Direct all links away from one word. Undirected parses can then be converted to trees.

        The head of a word is its neighbor on a shortest path to the root, or the leftmost such
        neighbor. Other links are dropped. If the parse is not connected, the leftmost word of each
        other component becomes a root, too.

        Parameters
        ----------
        root : int, default 0
            Position of the root, counted from 0. In parses of Link Grammar, word 0 is the left wall.

        Returns
        -------
        Dependencies
            A directed parse.

        Examples
        --------
        >>> from treelet import Dependencies
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
        r"""Return the parse in CoNLL-U, followed by an empty line.

        Lines that were kept when the parse was read from a file are returned unchanged.

        Parameters
        ----------
        tag : {"upos", "xpos"}, default "upos"
            Column for the tags.

        Examples
        --------
        >>> from treelet import Dependencies
        >>> print(Dependencies.from_heads(["Go"], ["VERB"], [0]).to_conllu().replace("\t", " "), end="")
        1 Go _ VERB _ _ 0 root _ _
        <BLANKLINE>
        """
        check_one_of("tag", tag, TAGS)
        if self.heads is None or self.relations is None:
            raise TreeError(
                "CoNLL-U needs one head per word, but the links of this parse are undirected. Direct them with "
                "Dependencies.rooted, or write JSON with DependencyBank.write(..., format='json')."
            )
        lines = list(self._kept)
        if len(lines) == len(self.comments):
            lemmas = self.lemmas or (UNKNOWN,) * len(self.words)
            columns = zip(self.words, lemmas, self.tags, self.heads, self.relations, strict=True)
            for number, (word, lemma, own, head, relation) in enumerate(columns, 1):
                upos, xpos = (own, UNKNOWN) if tag == "upos" else (UNKNOWN, own)
                lines.append(f"{number}\t{word}\t{lemma}\t{upos}\t{xpos}\t_\t{head}\t{relation}\t_\t_")
        return "\n".join((*lines, "", ""))

    def to_json(self) -> str:
        """Return the parse as one line of JSON: words, tags, and links, or heads and relations.

        Examples
        --------
        >>> from treelet import Dependencies
        >>> print(Dependencies(["dogs", "bark"], ["n", "v"], [(0, 1, "Sp")]).to_json())
        {"words": ["dogs", "bark"], "tags": ["n", "v"], "links": [[0, 1, "Sp"]]}
        """
        names = ("words", "tags", "lemmas", *(("heads", "relations") if self.directed else ("links",)))
        fields = {name: getattr(self, name) for name in names}
        return json.dumps({name: value for name, value in fields.items() if value is not None}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Dependencies:
        """Read a parse from the output of `to_json`. Only words, and links or heads, are required."""
        layout = '{"words": [word, ...], "tags": [tag, ...], "links": [[position, position, type], ...]}'
        try:
            fields = json.loads(text)
            words, tags, lemmas = fields["words"], fields.get("tags"), fields.get("lemmas")
            heads = fields.get("heads")
            links = () if heads is not None else fields["links"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            missing = f"there is no field {error}" if isinstance(error, KeyError) else str(error)
            raise FormatError(f"this is not a dependency parse in JSON ({missing}). Write {layout}.") from None
        if heads is None:
            return cls(words, tags, links, lemmas=lemmas)
        return cls.from_heads(words, tags, heads, fields.get("relations"), lemmas=lemmas)

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
        raise AttributeError(f"{name!r} cannot be set, because Dependencies are immutable. Make a new parse instead.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(
            f"{name!r} cannot be deleted, because Dependencies are immutable. Make a new parse instead."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (*self._value(), self._kept)

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

    _repr_pretty_ = Drawn._repr_pretty_  # IPython uses it only from the class that defines __repr__


def _restored(
    words: tuple[str, ...],
    tags: tuple[str, ...],
    lemmas: tuple[str, ...] | None,
    links: tuple[Link, ...],
    heads: tuple[int, ...] | None,
    relations: tuple[str, ...] | None,
    kept: tuple[str, ...],
) -> Dependencies:
    """Rebuild a parse from its attributes, with the lines that were kept from its file."""
    if heads is None:
        parse = Dependencies(words, tags, links, lemmas=lemmas)
    else:
        parse = Dependencies.from_heads(words, tags, heads, relations, lemmas=lemmas)
    object.__setattr__(parse, "_kept", kept)
    return parse


def _not_parsed(subject: str, remedy: str) -> TreeError:
    """Return the error for an object of another library that has words but no heads."""
    return TreeError(f"{subject} has not been parsed: its words have no heads. {remedy}")


def _known(lemmas: list[str | None]) -> list[str] | None:
    """Replace missing lemmas by ``_``. Return None if all are missing."""
    texts = [lemma or UNKNOWN for lemma in lemmas]
    return None if all(lemma == UNKNOWN for lemma in texts) else texts


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str):
        raise TreeError(
            f"The {name!r} of a parse must be a list. Got the string {shortened(values)} instead: split it."
        )
    try:
        return list(values)
    except TypeError:
        kind = article(type(values).__name__)
        raise InputTypeError(f"The {name!r} of a parse must be a list. Got {kind} instead.") from None


def _wrong_count(name: str, count: int, words: int) -> TreeError:
    return TreeError(
        f"A parse needs one {name} per word. Got {plural(words, 'word')} and {plural(count, name)} instead."
    )


def _texts(name: str, values: Any, number: int | None = None) -> tuple[str, ...]:
    texts = _listed(name + "s", values)
    if number is not None and len(texts) != number:
        raise _wrong_count(name, len(texts), number)
    for number_of_word, text in enumerate(texts, 1):
        if problem := _text_problem(text):
            raise TreeError(f"{name} {number_of_word}: A {name} {problem}")
    return tuple(texts)


def _text_problem(text: object) -> str | None:
    """Return the part of a sentence that follows the subject, or None if the text is valid."""
    if not isinstance(text, str):
        return f"must be a string. Got {article(type(text).__name__)} instead."
    if not text.strip() or any(char in text for char in "\t\n\r"):
        return f"must not be empty or contain tabs or line breaks. Got {shortened(text)} instead."
    return None


def _columns(words: Any, tags: Any, lemmas: Any) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...] | None]:
    forms = _texts("word", words)
    if not forms:
        raise TreeError("A parse needs at least one word. Use None for a missing parse.")
    number = len(forms)
    word_tags = (UNKNOWN,) * number if tags is None else _texts("tag", tags, number)
    return forms, word_tags, None if lemmas is None else _texts("lemma", lemmas, number)


def _links(links: Any, number: int) -> tuple[Link, ...]:
    distinct_links: set[Link] = set()
    for index, link in enumerate(_listed("links", links)):
        try:
            first, second, kind = link
        except (TypeError, ValueError):
            raise _wrong_link(index, link) from None
        for end in (first, second):
            _check_position(index, end, number)
        if first == second:
            raise TreeError(f"link {index}: A link must join two different words. Both positions are {first}.")
        if problem := _text_problem(kind):
            raise TreeError(f"link {index}: The type of a link {problem}")
        new = Link(min(first, second), max(first, second), kind)
        if new in distinct_links:
            raise TreeError(f"link {index}: The link {tuple(new)!r} occurs twice. Remove one of them.")
        distinct_links.add(new)
    return tuple(sorted(distinct_links))


def _wrong_link(index: int, link: object) -> TreeError:
    """Return the error for a link that does not consist of two positions and a type."""
    return TreeError(f"link {index}: A link must be (position, position, type). Got {link!r:.80} instead.")


def _check_position(index: int, position: object, words: int) -> None:
    """Raise TreeError unless a link's end is the position of a word."""
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < words:
        raise TreeError(
            f"link {index}: A position must be an int from 0 to {words - 1}, because there are {plural(words, 'word')}. "
            f"Got {position!r:.60} instead."
        )


LEFT_WALL, RIGHT_WALL = "LEFT-WALL", "RIGHT-WALL"
# --- conversion of Link Grammar linkages to dependency parses ---------------------------------------------------------

_SUBSCRIPT = r"[a-z#=@][^.\s]*"
_GUESSED = re.compile(rf"(.+)\[(?:[?~&]|!(?:<[^<>]*>)?)\](?:\.({_SUBSCRIPT}))?")  # age-matched[!<ED-WORDS>].v-d
_KNOWN = re.compile(rf"(.+)\.({_SUBSCRIPT})")  # dogs.n
_MAIN = re.compile(r"[A-Z]+|.*")
_UNUSED = re.compile(r"\[(.+)\]")  # [only]


def _split_linkage_word(word: str) -> tuple[str, str]:
    """Split a word of a linkage into the word itself and its subscript, or ``"_"`` if the word has no subscript.

    The notes about guessed words (``[?]``, ``[!<ED-WORDS>]``) and the brackets around unused words
    are removed.

    Examples
    --------
    >>> from treelet.structures.dependency import _split_linkage_word
    >>> for word in ("dogs.n", "e.g.", "Mr..x", "tTA[?].a", "age-matched[!<ED-WORDS>].v-d", "5[!<NUMBERS>]", "[only]"):
    ...     print(*_split_linkage_word(word))
    dogs n
    e.g. _
    Mr. x
    tTA a
    age-matched v-d
    5 _
    only _
    """
    for pattern in (_GUESSED, _KNOWN):
        if match := pattern.fullmatch(word):
            return match[1], match[2] or UNKNOWN
    if match := _UNUSED.fullmatch(word):
        return match[1], UNKNOWN
    return word, UNKNOWN


def from_linkage(
    words: Iterable[str], links: Iterable[Sequence[Any] | tuple[int, int, str]], *, walls: bool = True
) -> Dependencies:
    """Convert a linkage of Link Grammar to a dependency parse with undirected links.

    Parameters
    ----------
    words : iterable of str
        Words as Link Grammar prints them: ``dogs.n``, ``tTA[?].a``, or ``[only]`` for an unused
        word. The subscripts become the tags; a word without a subscript gets the tag ``"_"``.
    links : iterable of (int, int, str)
        Two positions in `words`, counted from 0, and the type. Repeated links count once.
    walls : bool, default True
        Keep the walls before and after the sentence as words. If False, the walls and their links
        are dropped.

    Returns
    -------
    Dependencies
        The parse. Words that the parser left unused have no links.

    Examples
    --------
    >>> from treelet.structures.dependency import from_linkage
    >>> words = ["LEFT-WALL", "dogs.n", "bark.v", "RIGHT-WALL"]
    >>> links = [[0, 1, "Wd"], [0, 2, "WV"], [0, 3, "RW"], [1, 2, "Sp"]]
    >>> from_linkage(words, links, walls=False)
    Dependencies(['dogs', 'bark'], ['n', 'v'], [(0, 1, 'Sp')])
    """
    if isinstance(words, str):
        raise TreeError(
            f"The 'words' of a linkage must be a list. Got the string {shortened(words)} instead: split it."
        )
    try:
        shown, all_links = list(words), list(links)
    except TypeError:
        raise InputTypeError(
            f"A linkage needs a list of words and a list of links. Got {article(type(words).__name__)} and "
            f"{article(type(links).__name__)} instead."
        ) from None
    for number_of_word, word in enumerate(shown, 1):
        if not isinstance(word, str):
            kind = article(type(word).__name__)
            raise TreeError(f"word {number_of_word}: A word must be a string. Got {kind} instead.")
    pairs = [_split_linkage_word(word) for word in shown]
    kept = list(range(len(shown)))
    if not walls:  # only at the ends, because a sentence may contain the same strings as words
        if kept and pairs[kept[-1]][0] == RIGHT_WALL:
            kept.pop()
        if kept and pairs[kept[0]][0] == LEFT_WALL:
            kept.pop(0)
    new_position = {position: number for number, position in enumerate(kept)}
    kept_links: dict[tuple[int, int, str], None] = {}
    for number, link in enumerate(all_links):
        try:
            first, second, kind = link
        except (TypeError, ValueError):
            raise _wrong_link(number, link) from None
        for end in (first, second):
            _check_position(number, end, len(shown))
        if first in new_position and second in new_position:
            kept_links[new_position[min(first, second)], new_position[max(first, second)], kind] = None
    return Dependencies(
        [pairs[position][0] for position in kept], [pairs[position][1] for position in kept], kept_links
    )


def main_types(parse: Dependencies) -> Dependencies:
    """Reduce the link types of a Link Grammar parse to their main types: ``Ds**x`` becomes ``D``, ``MVp`` becomes ``MV``.

    Links between the same words that become equal are merged. Types that do not begin with a capital
    letter are not changed.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.structures.dependency import main_types
    >>> main_types(Dependencies(["the", "dog", "barks"], None, [(0, 1, "Ds**c"), (1, 2, "Ss*s")]))
    Dependencies(['the', 'dog', 'barks'], ['_', '_', '_'], [(0, 1, 'D'), (1, 2, 'S')])
    """
    if not isinstance(parse, Dependencies):
        raise InputTypeError(f"main_types needs Dependencies. Got {article(type(parse).__name__)} instead.")
    if parse.directed:
        raise TreeError(
            "main_types needs a parse with the undirected links of Link Grammar, but this parse has heads and relations."
        )
    links = {(link.left, link.right, _MAIN.match(link.type)[0]): None for link in parse.links}  # type: ignore[index]
    return Dependencies(parse.words, parse.tags, links, lemmas=parse.lemmas)


# --- collections of dependency parses, and CoNLL-U files --------------------------------------------------------------


class DependencyBank(TreeFormBank[Dependencies | Any]):
    """A collection of dependency parses, used like a `Treebank`.

    Parameters
    ----------
    items : iterable
        `Dependencies`, parsed ``Doc`` and ``Span`` objects of spaCy, sentences of stanza, or token
        lists of conllu. None stands for a missing parse. Parses of other libraries keep their UPOS
        tags; for other tags, use `Dependencies.from_spacy`, `from_stanza` or `from_conllu`.

    See Also
    --------
    treelet.cuts.dependency_trees : convert parses to trees.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.structures import DependencyBank
    >>> bank = DependencyBank([Dependencies.from_heads(["dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"])])
    >>> len(bank), bank.shape
    (1, (1,))
    >>> print(bank.stats())
    1 parse, 2 words, 1 link, 2 types
    """

    __slots__ = ()

    _as_trees: ClassVar[str] = "cuts.dependency_trees"
    _noun, _mark, _suffixes = "parse", "{", (*FORMATS["conllu"].suffixes, ".json", ".jsonl")

    @classmethod
    def _taken_in(cls, items: Iterable[object]) -> tuple[None, list[Dependencies | None]]:
        single = (Dependencies,) if library_of(items) is None else (type(items),)
        parses = listed(items, "parses", single, "structures.read_conllu")
        return None, [None if item is None else _taken(number, item) for number, item in enumerate(parses)]

    @classmethod
    def _columns_of(cls, items: list[Dependencies | None]) -> Columns:
        """Store a parse as a tree with one node per list: words, tags, lemmas, kept lines, and heads with relations or links."""
        trees = PostOrder()
        for item in items:
            if item is not None:
                lists: list[tuple[str, Sequence[str] | None]] = [
                    ("words", item.words),
                    ("tags", item.tags),
                    ("lemmas", item.lemmas),
                    ("kept", item._kept),
                ]
                if item.heads is None:
                    lists.append(("links", [str(value) for link in item.links for value in link]))
                else:
                    lists += [("heads", [str(head) for head in item.heads]), ("relations", item.relations)]
                present = [(name, texts) for name, texts in lists if texts is not None]
                for name, texts in present:
                    trees.leaves(texts)
                    trees.node(name, len(texts))
                trees.node("parse", len(present))
            trees.end(missing=item is None)
        return trees.columns()

    @classmethod
    def _items_of(cls, columns: Columns) -> list[Dependencies | None]:
        return [None if tree is None else _parse(tree) for tree in trees_of(columns)]

    @classmethod
    def _check(cls, columns: Columns) -> None:
        cls._items_of(columns)

    def stats(self) -> Stats:
        """Count parses, words, links, and distinct types of links, including the relations of roots."""
        parses = [parse for parse in self if parse is not None]
        types = {link.type for parse in parses for link in parse.links}
        return Stats(
            parses=len(self),
            words=sum(len(parse) for parse in parses),
            links=sum(len(parse.links) for parse in parses),
            types=len(types.union(*(parse.relations or () for parse in parses))),
        )

    @staticmethod
    def _is_text(text: str) -> bool:
        """Return whether a text looks like a parse in JSON."""
        return text.lstrip().startswith("{")

    @classmethod
    def _in_file(cls, source: Source, tag: str = "upos", keep: str | None = None) -> Iterator[Dependencies]:
        """Yield the parses of a file: one JSON object per line, or CoNLL-U."""
        if cls._is_text(next(iter(opening_lines(source.head())), "")):
            for number, line in source.text_lines():
                if line.strip():
                    with source.item(), source.at(number):
                        yield Dependencies.from_json(line)
            return
        for heads, lines in read_parses(source, tag):
            parse = Dependencies.from_heads(**heads._asdict())
            kept = [line for line in lines if keep == "lines" or (keep == "comments" and line.startswith("#"))]
            object.__setattr__(parse, "_kept", tuple(kept))
            yield parse

    def write(self, file: PathLike | IO[str], format: str = "conllu", *, tag: str = "upos") -> None:
        """Write the parses. The file appears only when it is complete.

        Parameters
        ----------
        file : path or open file
            Files whose names end in ``.gz``, ``.xz`` or ``.bz2`` are compressed. ``"-"`` is standard output.
        format : {"conllu", "json"}, default "conllu"
            ``"conllu"`` needs directed parses. Lines that were kept when the parses were read are written
            unchanged. ``"json"`` writes one parse per line, as `Dependencies.to_json`, and is the format for the
            undirected links of Link Grammar.
        tag : {"upos", "xpos"}, default "upos"
            Column for the tags in CoNLL-U.
        """
        check_one_of("format", format, ("conllu", "json"))
        check_one_of("tag", tag, TAGS)
        texts = []
        for number, parse in enumerate(self):
            if parse is None:
                raise TreeError(
                    f"parse {number} is missing, but a file of parses has no notation for missing ones. Remove it."
                )
            try:
                texts.append(parse.to_conllu(tag) if format == "conllu" else f"{parse.to_json()}\n")
            except TreeError as error:
                raise TreeError(f"parse {number}: {error}") from None
        with open_target(file) as stream:
            stream.writelines(texts)


def _taken(number: int, item: object) -> Dependencies:
    if isinstance(item, Dependencies):
        return item
    if (library := library_of(item)) is None:
        hint = (
            "Pass each of its sentences."
            if hasattr(item, "sentences")
            else "Pass Dependencies, a parsed spaCy Doc, a stanza sentence or a conllu TokenList."
        )
        raise InputTypeError(
            f"Item {number} is {article(type(item).__name__)}, but a dependency parse is needed. {hint}"
        )
    try:
        return cast(Dependencies, getattr(Dependencies, f"from_{library}")(item))
    except TreeError as error:
        raise TreeError(f"item {number}: {error}") from None


def _parse(tree: Tree) -> Dependencies:
    """Restore a parse from its tree. A tree that `_columns_of` did not make raises TreeError."""
    lists = {child.label: tuple(leaf.label for leaf in child.children) for child in tree.children}
    links, heads = lists.get("links", ()), lists.get("heads")
    try:
        parse_links = [
            Link(int(left), int(right), kind)
            for left, right, kind in zip(*(links[k::3] for k in range(3)), strict=True)
        ]
        head_numbers = None if heads is None else tuple(int(head) for head in heads)
        tags, lemmas, relations = lists["tags"], lists.get("lemmas"), lists.get("relations")
        return _restored(
            lists["words"], tags, lemmas, tuple(parse_links), head_numbers, relations, lists.get("kept", ())
        )
    except (KeyError, ValueError) as error:
        raise TreeError(f"A stored tree does not represent a parse of a DependencyBank ({error}).") from None


def read_conllu(
    *files: File | Sequence[File],
    tag: str = "upos",
    keep: str | None = None,
    exclude: str | Collection[str] = (),
    encoding: str = "utf-8",
    on_error: str = "raise",
) -> DependencyBank:
    r"""Read dependency parses from CoNLL-U files, or from files that ``DependencyBank.write(..., "json")`` wrote.

    The words of a parse are the syntactic words. Multiword tokens (``3-4``), empty nodes (``3.1``),
    features, enhanced dependencies and the last column are skipped.

    Parameters
    ----------
    *files : path or open file
        Files in ``.gz``, ``.xz`` and ``.bz2`` format are decompressed. ``"-"`` is standard input. A
        folder stands for all ``.conllu`` and ``.conll`` files below it, and a pattern such as
        ``"ud/*-train.conllu"`` for the files that match it, as for `read_trees`.
    tag : {"upos", "xpos"}, default "upos"
        Column with the tags.
    keep : {None, "comments", "lines"}, default None
        Lines to keep with each parse. ``"comments"`` keeps comment lines for
        `Dependencies.comments`. ``"lines"`` keeps all lines, so writing the bank reproduces the file.
    exclude : str or list of str, default ()
        Patterns of files and folders to leave out of folders and patterns, as for `read_trees`.
    encoding : str, default "utf-8"
        Encoding of the files.
    on_error : {"raise", "skip"}, default "raise"
        ``"raise"`` raises an error for a malformed sentence. ``"skip"`` skips malformed sentences; a
        warning reports how many were skipped and where the first ones are.

    Returns
    -------
    DependencyBank

    Examples
    --------
    >>> import io, treelet
    >>> text = "1\tdogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
    >>> bank = treelet.structures.read_conllu(io.StringIO(text), tag="xpos")
    >>> bank[0].tags, bank[0].lemmas, bank[0].heads
    (('NNS', 'VBP'), ('dog', 'bark'), (2, 0))
    """
    check_one_of("tag", tag, TAGS)
    check_one_of("keep", keep, (None, "comments", "lines"), of="read_conllu")
    suffixes, read = FORMATS["conllu"].suffixes, partial(DependencyBank._in_file, tag=tag, keep=keep)
    return DependencyBank(
        read_items(files, suffixes, read, "sentences", exclude=exclude, encoding=encoding, on_error=on_error)
    )
