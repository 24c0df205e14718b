"""Grammars in JSON files: one object, checked on loading, nothing executed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treelet.errors import ParameterError
from treelet.formats.base import COMPRESSED, PathLike, open_source, open_whole
from treelet.parsing.rules import Rule, Word
from treelet.parsing.unknown import UnknownWords

if TYPE_CHECKING:
    from treelet.parsing.grammar import PCFG

VERSION = 1


def document(grammar: PCFG) -> dict[str, Any]:
    """What a file holds of a grammar. In a tail, a word is a list with the word in it."""
    return {
        "treelet": "pcfg",
        "version": VERSION,
        "start": dict(grammar.start),
        "rules": [
            [head, [[str(item)] if isinstance(item, Word) else item for item in tail], probability]
            for head, tail, probability in grammar.rules
        ],
        "lexicon": {word: dict(symbols) for word, symbols in grammar.lexicon.items()},
        "labels": {symbol: label for symbol, label in grammar.labels.items() if symbol != label},
        "hidden": sorted(grammar.hidden),
        "unknown": grammar.unknown.document() if grammar.unknown else None,
        "fallback": grammar.fallback,
    }


def from_document(cls: type[PCFG], content: Any) -> PCFG:
    """The grammar that `document` describes; ParameterError if it makes no sense."""
    if not isinstance(content, dict) or content.get("treelet") != "pcfg":
        raise ParameterError("this is no grammar of treelet's; grammars are written by PCFG.save")
    if content.get("version") != VERSION:
        raise ParameterError(
            f"the grammar has format {content.get('version')!r}, and this treelet reads format {VERSION}: upgrade treelet"
        )
    for key, kind in (
        ("start", dict), ("rules", list), ("lexicon", dict), ("labels", dict), ("hidden", list), ("fallback", bool),
    ):  # fmt: skip
        if not isinstance(content.get(key), kind):
            raise ParameterError(f"{key!r} is missing or not what it should be")
    rules: list[Any] = []
    for rule in content["rules"]:
        if not isinstance(rule, list) or len(rule) != 3 or not isinstance(rule[1], list):
            raise ParameterError(f"a rule is [head, [tail], probability], got {str(rule)[:80]}")
        rules.append((rule[0], tuple(_item(item) for item in rule[1]), rule[2]))
    for word, symbols in content["lexicon"].items():
        if not isinstance(symbols, dict) or not symbols:
            raise ParameterError(f"the word {word!r} must have symbols with probabilities")
        rules += [Rule(symbol, (Word(word),), probability) for symbol, probability in symbols.items()]
    if not all(isinstance(symbol, str) for symbol in content["hidden"]):
        raise ParameterError("the hidden symbols must be strings")
    unknown = None if content.get("unknown") is None else UnknownWords.from_document(content["unknown"])
    return cls(
        rules,
        content["start"],
        labels=content["labels"],
        hidden=content["hidden"],
        unknown=unknown,
        fallback=content["fallback"],
    )


def _item(item: object) -> str:
    if isinstance(item, list) and len(item) == 1 and isinstance(item[0], str):
        return Word(item[0])
    if isinstance(item, str):
        return item
    raise ParameterError(f"in a tail there is a symbol or a list with one word, got {str(item)[:80]}")


def write_bytes(content: bytes, path: PathLike) -> None:
    """A file that appears whole or not at all, packed if its name says so."""
    opener = COMPRESSED.get(Path(path).suffix.lower())
    with open_whole(path) as stream:
        if opener is None:
            stream.write(content)
        else:
            with opener(stream, "wb") as packed:
                packed.write(content)


def save(grammar: PCFG, path: PathLike) -> None:
    """Write a grammar as JSON."""
    text = json.dumps(document(grammar), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write_bytes(text.encode() + b"\n", path)


def load(cls: type[PCFG], path: PathLike) -> PCFG:
    """Read a grammar from JSON."""
    with open_source(path) as source:
        try:
            return from_document(cls, json.loads(b"".join(source.chunks())))
        except json.JSONDecodeError as error:
            raise source.error(
                f"this is no JSON, or not whole ({error.msg}); grammars are written by PCFG.save",
                error.lineno,
                error.colno,
            ) from None
        except (ValueError, OverflowError, RecursionError) as error:
            raise source.error(f"{error}") from None
