"""Linkages of Link Grammar as dependency parses: its words with their subscripts, its walls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from treelet.errors import InputTypeError, TreeError
from treelet.formats.conllu import UNKNOWN
from treelet.structures.dependency import Dependencies

LEFT_WALL, RIGHT_WALL = "LEFT-WALL", "RIGHT-WALL"
_SUBSCRIPT = r"[a-z#=@][^.\s]*"
_GUESSED = re.compile(rf"(.+)\[(?:[?~&]|!(?:<[^<>]*>)?)\](?:\.({_SUBSCRIPT}))?")  # age-matched[!<ED-WORDS>].v-d
_KNOWN = re.compile(rf"(.+)\.({_SUBSCRIPT})")  # dogs.n
_MAIN = re.compile(r"[A-Z]+|.*")
_UNUSED = re.compile(r"\[(.+)\]")  # [only]


def split_linkage_word(word: str) -> tuple[str, str]:
    """A word as Link Grammar shows it, taken apart: the word itself and its subscript, ``"_"`` if there is none.

    What the parser notes about words that it guessed (``[?]``, ``[!<ED-WORDS>]``) is left out, and so are the brackets
    around a word that it left unused.

    Examples
    --------
    >>> from treelet.structures.linkage import split_linkage_word
    >>> for word in ("dogs.n", "e.g.", "Mr..x", "tTA[?].a", "age-matched[!<ED-WORDS>].v-d", "5[!<NUMBERS>]", "[only]"):
    ...     print(*split_linkage_word(word))
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
    """A linkage of Link Grammar as a dependency parse with undirected links.

    Parameters
    ----------
    words : iterable of str
        As Link Grammar shows them: ``dogs.n``, ``tTA[?].a``, ``[only]`` for one that is not used. The subscripts become
        the tags, ``"_"`` where there is none.
    links : iterable of (int, int, str)
        Two positions in `words`, counted from 0, and the type. The same link given twice counts once.
    walls : bool
        Whether the walls before and after the sentence stay words. Links to a word that is dropped are dropped.

    Returns
    -------
    Dependencies
        A word that the parser left unused has no links.

    Examples
    --------
    >>> from treelet.structures.linkage import from_linkage
    >>> words = ["LEFT-WALL", "dogs.n", "bark.v", "RIGHT-WALL"]
    >>> links = [[0, 1, "Wd"], [0, 2, "WV"], [0, 3, "RW"], [1, 2, "Sp"]]
    >>> from_linkage(words, links, walls=False)
    Dependencies(['dogs', 'bark'], ['n', 'v'], [(0, 1, 'Sp')])
    """
    if isinstance(words, str):
        raise TreeError(f"words must be a list, got the string {words!r}: split it")
    try:
        shown, all_links = list(words), list(links)
    except TypeError:
        raise InputTypeError(
            f"a linkage is a list of words and a list of links, got {type(words).__name__} and {type(links).__name__}"
        ) from None
    for number_of_word, word in enumerate(shown, 1):
        if not isinstance(word, str):
            raise TreeError(f"word {number_of_word}: a word is a string, not a {type(word).__name__}")
    pairs = [split_linkage_word(word) for word in shown]
    kept = list(range(len(shown)))
    if not walls:  # only at the ends: a sentence may have such words, too
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
            raise TreeError(f"link {number}: a link is (position, position, type), not {link!r}") from None
        for end in (first, second):
            if isinstance(end, bool) or not isinstance(end, int) or not 0 <= end < len(shown):
                raise TreeError(
                    f"link {number}: {end!r} is no position of a word: there are {len(shown)}, counted from 0"
                )
        if first in new_position and second in new_position:
            kept_links[new_position[min(first, second)], new_position[max(first, second)], kind] = None
    return Dependencies(
        [pairs[position][0] for position in kept],
        [pairs[position][1] for position in kept],
        kept_links,
    )


def main_types(parse: Dependencies) -> Dependencies:
    """The parse with the main types of its links, without Link Grammar's subscripts: ``Ds**x`` is ``D``, ``MVp`` is ``MV``.

    Two links between the same words that become equal are one. What begins with no capital stays as it is.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.structures.linkage import main_types
    >>> main_types(Dependencies(["the", "dog", "barks"], None, [(0, 1, "Ds**c"), (1, 2, "Ss*s")]))
    Dependencies(['the', 'dog', 'barks'], ['_', '_', '_'], [(0, 1, 'D'), (1, 2, 'S')])
    """
    if not isinstance(parse, Dependencies):
        raise InputTypeError(f"Dependencies are needed, got {type(parse).__name__}")
    if parse.directed:
        raise TreeError("main types are of Link Grammar's links; this parse has heads and relations")
    links = {(link.left, link.right, _MAIN.match(link.type)[0]): None for link in parse.links}  # type: ignore[index]
    return Dependencies(parse.words, parse.tags, links, lemmas=parse.lemmas)
