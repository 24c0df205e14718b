"""Other libraries' dependency parses, taken as they are: nothing is imported, only what they can do is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from treelet.errors import InputTypeError, TreeError
from treelet.formats.conllu import UNKNOWN, Heads, check_tag


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
        given = list(tokens)
        # spaCy makes a word its own head and its relation empty until a parser has been there.
        if given and all(token.head.i == token.i and not token.dep_ for token in given):
            raise not_parsed("this Doc or Span", "use a pipeline with a parser, as spacy.load('en_core_web_sm')")
        found = [token for token in given if not getattr(token, "is_space", False)]
        place = {token.i: number for number, token in enumerate(found, 1)}
        heads = []
        for token in found:
            head = token.head
            while getattr(head, "is_space", False) and head.head.i != head.i:
                head = head.head
            heads.append(0 if head.i == token.i else place.get(head.i, 0))
        return Heads(
            [token.text for token in found],
            [(token.pos_ if tag == "upos" else token.tag_) or UNKNOWN for token in found],
            heads,
            [token.dep_ or UNKNOWN for token in found],
            _known([token.lemma_ for token in found]),
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
        found = [token for token in tokens if isinstance(token["id"], int)]
        if found and all(token["head"] is None for token in found):
            raise not_parsed("this sentence", "its column HEAD is empty")
        if headless := [token["id"] for token in found if token["head"] is None]:
            raise TreeError(f"word {headless[0]} has no head: write 0 for a root")
        return Heads(
            [token["form"] for token in found],
            [token[tag] or UNKNOWN for token in found],
            [token["head"] for token in found],
            [token["deprel"] or UNKNOWN for token in found],
            _known([token["lemma"] for token in found]),
        )
    except (KeyError, TypeError) as error:
        raise InputTypeError(f"a TokenList of conllu is needed, got {type(tokens).__name__} ({error!r})") from None


def _known(lemmas: list[str | None]) -> list[str] | None:
    """Lemmas with what is missing written as such; None if all are."""
    found = [lemma or UNKNOWN for lemma in lemmas]
    return None if all(lemma == UNKNOWN for lemma in found) else found
