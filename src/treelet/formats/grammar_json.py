"""Grammars in JSON files: one object, checked on loading, nothing executed."""

from __future__ import annotations

import json
from typing import Any

from treelet.errors import ParameterError
from treelet.formats.checksums import checksum
from treelet.formats.grammar_rules import GrammarParts, Rule, Word, is_lexical

VERSION = 1


def to_json(grammar: GrammarParts) -> str:
    """One line. In a tail, a word is a list with the word in it; rules of a single word are a lexicon."""
    lexicon: dict[str, dict[str, float]] = {}
    for head, tail, probability in grammar.rules:
        if is_lexical(tail):
            lexicon.setdefault(str(tail[0]), {})[head] = probability
    content: dict[str, Any] = {
        "treelet": "pcfg",
        "version": VERSION,
        "start": grammar.start,
        "rules": [
            [head, [[str(item)] if isinstance(item, Word) else item for item in tail], probability]
            for head, tail, probability in grammar.rules
            if not is_lexical(tail)
        ],
        "lexicon": lexicon,
        "labels": {symbol: label for symbol, label in grammar.labels.items() if symbol != label},
        "hidden": grammar.hidden,
        "unknown": grammar.unknown,
        "fallback": grammar.fallback,
    }
    content["checksum"] = checksum(content)
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def from_json(text: str | bytes) -> GrammarParts:
    """What `to_json` wrote; ParameterError if it makes no sense."""
    content = json.loads(text)
    if not isinstance(content, dict) or content.get("treelet") != "pcfg":
        raise ParameterError("this is no grammar of treelet's; grammars are written by PCFG.save")
    if content.get("version") != VERSION:
        raise ParameterError(
            f"the grammar has format {content.get('version')!r}, and this treelet reads format {VERSION}: upgrade treelet"
        )
    if (said := content.pop("checksum", None)) is not None and said != checksum(content):
        raise ParameterError(
            "the grammar was altered: its checksum does not fit. Copy or save it again; if it was altered on purpose, remove "
            '"checksum" from it'
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
    return GrammarParts(
        rules, content["start"], content["labels"], content["hidden"], content.get("unknown"), content["fallback"]
    )


def _item(item: object) -> str:
    if isinstance(item, list) and len(item) == 1 and isinstance(item[0], str):
        return Word(item[0])
    if isinstance(item, str):
        return item
    raise ParameterError(f"in a tail there is a symbol or a list with one word, got {str(item)[:80]}")
