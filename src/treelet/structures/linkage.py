"""Conversion of Link Grammar linkages to dependency parses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from treelet.checks import article
from treelet.errors import InputTypeError, TreeError
from treelet.formats.conllu import UNKNOWN
from treelet.printable import shortened
from treelet.structures.dependency import Dependencies, check_position, wrong_link

LEFT_WALL, RIGHT_WALL = "LEFT-WALL", "RIGHT-WALL"
_SUBSCRIPT = r"[a-z#=@][^.\s]*"
_GUESSED = re.compile(rf"(.+)\[(?:[?~&]|!(?:<[^<>]*>)?)\](?:\.({_SUBSCRIPT}))?")  # age-matched[!<ED-WORDS>].v-d
_KNOWN = re.compile(rf"(.+)\.({_SUBSCRIPT})")  # dogs.n
_MAIN = re.compile(r"[A-Z]+|.*")
_UNUSED = re.compile(r"\[(.+)\]")  # [only]


def split_linkage_word(word: str) -> tuple[str, str]:
    """Split a word of a linkage into the word itself and its subscript, or ``"_"`` if the word has no subscript.

    The notes about guessed words (``[?]``, ``[!<ED-WORDS>]``) and the brackets around unused words
    are removed.

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
    >>> from treelet.structures.linkage import from_linkage
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
    pairs = [split_linkage_word(word) for word in shown]
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
            raise wrong_link(number, link) from None
        for end in (first, second):
            check_position(number, end, len(shown))
        if first in new_position and second in new_position:
            kept_links[new_position[min(first, second)], new_position[max(first, second)], kind] = None
    return Dependencies(
        [pairs[position][0] for position in kept],
        [pairs[position][1] for position in kept],
        kept_links,
    )


def main_types(parse: Dependencies) -> Dependencies:
    """Reduce the link types of a Link Grammar parse to their main types: ``Ds**x`` becomes ``D``, ``MVp`` becomes ``MV``.

    Links between the same words that become equal are merged. Types that do not begin with a capital
    letter are not changed.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.structures.linkage import main_types
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
