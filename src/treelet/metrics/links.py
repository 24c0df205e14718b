"""Measures of dependency parses: links compared with gold links, even if the words differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

from treelet.checks import article, some_of
from treelet.errors import InputTypeError, TreeError
from treelet.printable import shortened
from treelet.structures import Dependencies

_WALLS = ("LEFT-WALL", "RIGHT-WALL")


def align_words(words: Sequence[str], tokens: Sequence[str]) -> list[int | None]:
    """Align each of `words` with the last of `tokens` that it overlaps.

    Both should be the same text, split in different ways; case is ignored. Where the texts differ, equal
    characters in the same order are aligned.

    Parameters
    ----------
    words, tokens : sequence of str
        The two tokenizations.

    Returns
    -------
    list of int or None
        For each word the number of its token. None for a word without a character in the other text, such as the
        walls of Link Grammar.

    Examples
    --------
    >>> from treelet.metrics import align_words
    >>> align_words(["LEFT-WALL", "the", "age-matched", "mice"], ["The", "age", "-", "matched", "mice"])
    [None, 0, 3, 4]
    """
    for name, texts in (("words", words), ("tokens", tokens)):
        if isinstance(texts, str):
            raise InputTypeError(
                f"{name} must be a list of words, but got the string {shortened(texts)}. Split the string."
            )
    shown = ["" if word in _WALLS else word.lower() for word in words]
    ours, theirs = "".join(shown), "".join(token.lower() for token in tokens)
    token_of = [number for number, token in enumerate(tokens) for _ in token.lower()]
    met: list[int | None] = [None] * len(ours)
    if ours == theirs:
        met = list(range(len(ours)))
    else:
        for begin, begin_of_match, size in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
            met[begin : begin + size] = range(begin_of_match, begin_of_match + size)
    aligned: list[int | None] = []
    begin_of_word = 0
    for word in shown:
        covered = [at for at in met[begin_of_word : begin_of_word + len(word)] if at is not None]
        aligned.append(token_of[covered[-1]] if covered else None)
        begin_of_word += len(word)
    return aligned


def link_f1(parse: Dependencies, gold: Dependencies, *, punctuation: Collection[str] = ("punct", "p")) -> float:
    """Compute the F-score of the links of a parse: pairs of words, regardless of direction and type.

    The two parses need not have the same words. They are aligned (`align_words`), and gold words that are
    covered by one word of the parse are merged. Links of punctuation and of Link Grammar's walls are ignored.

    Parameters
    ----------
    parse : Dependencies
        The parse to evaluate.
    gold : Dependencies
        The gold parse, with heads and relations.
    punctuation : collection of str, default ("punct", "p")
        Relations in `gold` that mark a word as punctuation. The default has those of Universal and of Stanford
        dependencies.

    Returns
    -------
    float
        The F-score, from 0 to 1.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.metrics import link_f1
    >>> gold = Dependencies.from_heads(["Dogs", "bark", "loudly"], None, [2, 0, 2])
    >>> parse = Dependencies(["LEFT-WALL", "dogs", "bark", "loudly"], None, [(0, 2, "WV"), (1, 2, "Sp"), (1, 3, "X")])
    >>> link_f1(parse, gold)
    0.5
    """
    for name, value in (("parse", parse), ("gold", gold)):
        if not isinstance(value, Dependencies):
            raise InputTypeError(f"{name} must be a Dependencies object. Got {article(type(value).__name__)} instead.")
    if not gold.directed or gold.relations is None:
        raise TreeError(
            "The gold parse has no heads or relations, so its punctuation is unknown. Create it with "
            "Dependencies.from_heads(words, tags, heads, relations)."
        )
    token_of = align_words(parse.words, gold.words)
    if all(at is None for at in token_of):
        raise TreeError(
            f"The parse and the gold parse have no word in common. They begin with {some_of(parse.words[:4])} and "
            f"{some_of(gold.words[:4])}. Check that both belong to the same sentence."
        )
    is_mark = [relation in punctuation for relation in gold.relations]
    # together: for each gold word the last gold word under the same word of the parse, which stands for it
    together = list(range(len(gold.words)))
    begin = 0
    for at in token_of:
        if at is not None and at >= begin:
            together[begin : at + 1] = [at] * (at + 1 - begin)
            begin = at + 1
    right = {
        frozenset((together[link.left], together[link.right]))
        for link in gold.links
        if not is_mark[link.left] and not is_mark[link.right]
    }
    guessed = set()
    for link in parse.links:
        left, right_token = token_of[link.left], token_of[link.right]
        if left is not None and right_token is not None and not is_mark[left] and not is_mark[right_token]:
            guessed.add(frozenset((left, right_token)))
    right, guessed = ({pair for pair in pairs if len(pair) == 2} for pairs in (right, guessed))  # no merged words
    return 2 * len(right & guessed) / (len(right) + len(guessed)) if right or guessed else 0.0
