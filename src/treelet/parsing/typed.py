"""Sentences that a person types: adapting them to a grammar, and reporting words that the grammar does not contain."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from treelet.checks import some_of

if TYPE_CHECKING:
    from treelet.parsing.grammar import PCFG

LISTED = 10
_BEFORE = "\"'“‘«¿¡"
_FINAL = ".!?…"
_AFTER = re.compile(r"(\.{2,}|[.,;:!?…\"'”’»])$")


def typed_words(text: str, known: Container[str] = ()) -> list[str]:
    """Split a sentence at spaces, and split punctuation marks off its words.

    Words in `known` are not split. A period is split off at the end of the sentence only, because it may belong to an
    abbreviation.

    >>> typed_words("Mr. Fox, who is 3.5 years old, can't jump (he says)."), typed_words('"Yahoo!"', {"Yahoo!"})
    (['Mr.', 'Fox', ',', 'who', 'is', '3.5', 'years', 'old', ',', "can't", 'jump', '(he', 'says)', '.'], ['"', 'Yahoo!', '"'])
    """
    words: list[str] = []
    tokens = text.split()
    for number, word in enumerate(tokens, 1):
        begin, end = 0, len(word)
        after: list[str] = []
        if any(map(str.isalnum, word)):  # otherwise it is a punctuation mark itself
            while word[begin:] not in known and word[begin] in _BEFORE:
                begin += 1
            while word[begin:end] not in known and (mark := _AFTER.search(word[begin:end])):
                if mark[0] == "." and number < len(tokens):
                    break
                after.append(mark[0])
                end -= len(mark[0])
        words += [*word[:begin], word[begin:end], *reversed(after)]
    return words


def adapted_words(text: str, grammar: PCFG) -> list[str]:
    """Split a sentence into words as `typed_words` does, and adapt them to the lexicon of the grammar.

    A word becomes lower case if the lexicon contains only its lower-case form. If the lexicon has no punctuation marks, those at
    the end of the sentence are dropped.
    """
    known = grammar.lexicon
    words = typed_words(text, known)
    if not any(not any(map(str.isalnum, word)) for word in known):
        while len(words) > 1 and not words[-1].strip(_FINAL):
            words.pop()
    return [lower if word not in known and (lower := word.lower()) in known else word for word in words]


def unknown_words(grammar: PCFG, words: Sequence[str]) -> list[str]:
    """Return the words that the grammar does not contain.

    A model of unknown words also knows the first word of a sentence if it is a known word with a capital.
    """
    known = grammar.lexicon
    first = 1 if grammar.unknown is not None and words and words[0].lower() in known else 0
    return list(dict.fromkeys(word for word in words[first:] if word not in known))


def outside_grammar(grammar: PCFG, words: Sequence[str], subject: str, remedy: str) -> str:
    """Return the message about a sentence, the subject, that has no parse or only the pieces of a fallback."""
    unknown = unknown_words(grammar, words)
    pieces = (
        ", so the tree under FALLBACK is not a parse: it joins the most probable pieces" if grammar.fallback else ""
    )
    reason = f"Unknown words: {some_of(unknown, LISTED)}" if unknown else "All of its words are known"
    return f"{subject} is outside this grammar{pieces}. {reason}. {remedy}"
