"""Grammars as text, one rule per line, as in NLTK.

::

    # comments and blank lines are skipped
    %start S [0.9]
    %start NP [0.1]
    S -> NP VP [1.0]
    NP -> DT NN [0.4] | "he" [0.6]

Words are quoted: ``"with JSON escapes"`` or ``'without escapes'``. A symbol with characters other than
letters, digits and some punctuation, such as ``<#>`` and ``<''>``, is written in angle brackets, with JSON
escapes. An unquoted item that is not the head of a rule is a word. Grammars from treebanks also have the
lines ``%label NP^S NP``, ``%hidden @NP``, ``%unknown {...}`` and ``%fallback``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from treelet.checks import suggestion
from treelet.formats.brackets import label_problem
from treelet.formats.files import Source
from treelet.formats.grammars import GrammarParts, Rule, Tail, Word, shown, uniform

_PLAIN = re.compile(r"(?!->$)[\w/@^$.,:;+*=&~!?-]+")
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<comment>\#.*)
      | (?P<arrow>->(?!\S))
      | (?P<bar>\|)
      | (?P<word>"(?:[^"\\]|\\.)*" | '[^']*')
      | (?P<symbol><(?:[^>\\]|\\.)+>)
      | (?P<chance>\[[^\]\s]*\])
      | (?P<plain>[^\s|"'<\[\#](?:(?!\[[\d.eE+-]+\])[^\s|])*)
    )\s*""",
    re.VERBOSE,
)


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


class _Raw(NamedTuple):
    line: int
    head: str
    tail: tuple[_Token, ...]
    probability: float | None


# --- reading ----------------------------------------------------------------------------------------------------


def read(source: Source, unknown: Callable[[Any], object] = lambda model: None) -> GrammarParts:
    """Read a grammar. Errors name the line.

    `unknown` is called with the model of unknown words, and raises an error if the model is invalid.
    """
    reader = _GrammarReader(source, unknown)
    for line, text in _whole_lines(source):
        reader.take(line, text)
    return GrammarParts(reader.rules(), reader.starts(), reader.labels, reader.hidden, reader.unknown, reader.fallback)


def _whole_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers. A line that ends in a backslash is joined with the next line."""
    begin, parts = 0, list[str]()
    for number, line in source.text_lines():
        begin = begin if parts else number
        if line.rstrip().endswith("\\") and not line.lstrip().startswith("#"):
            parts.append(line.rstrip()[:-1])
            continue
        yield begin, " ".join([*parts, line])
        parts = []
    if parts:
        yield begin, " ".join(parts)


class _GrammarReader:
    """Collects rules and directives from the lines of a grammar file."""

    def __init__(self, source: Source, check: Callable[[Any], object]) -> None:
        self.source, self.check = source, check
        self.raw: list[_Raw] = []
        self.start: list[tuple[int, str, float | None]] = []
        self.labels: dict[str, str] = {}
        self.hidden: list[str] = []
        self.unknown: Any = None
        self.fallback = False

    def take(self, line: int, text: str) -> None:
        if text.startswith("%unknown"):
            try:
                self.unknown = json.loads(text.removeprefix("%unknown"))
                self.check(self.unknown)
            except (ValueError, RecursionError) as error:
                raise self.source.error(
                    f"the model of unknown words is invalid ({str(error).removesuffix('.')}).", line
                ) from None
            return
        tokens = self.tokens(line, text)
        if not tokens:
            return
        if tokens[0].kind == "plain" and tokens[0].text.startswith("%"):
            self.directive(line, tokens)
        else:
            self.rule(line, tokens)

    def tokens(self, line: int, text: str) -> list[_Token]:
        tokens: list[_Token] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise self.source.error(
                    "a quote or an angle bracket is not closed. Close it on this line.", line, at + 1
                )
            kind = cast(str, match.lastgroup)
            column = match.start(kind) + 1
            if kind != "comment":
                tokens.append(_Token(kind, self.value(kind, match[kind], line, column), column))
            at = match.end()
        return tokens

    def value(self, kind: str, text: str, line: int, column: int) -> str:
        if kind not in {"word", "symbol", "plain"}:
            return text
        if kind == "symbol" or text.startswith('"'):
            try:
                text = json.loads(f'"{text[1:-1]}"', strict=False)
            except ValueError:
                raise self.source.error(
                    f"the escapes in {text} are not valid JSON. Write a backslash as \\\\.", line, column
                ) from None
        elif text.startswith("'"):
            text = text[1:-1]
        if problem := label_problem(text):
            raise self.source.error(
                f"a symbol or word is {problem}. Write brackets as -LRB- and -RRB-, and join words with '_'.",
                line,
                column,
            )
        return text

    def probability(self, line: int, token: _Token) -> float:
        try:
            number = float(token.text[1:-1])
        except ValueError:
            number = math.nan
        if not 0 < number <= 1:
            raise self.source.error(
                f"a probability must be a number in (0, 1], in square brackets. Got {token.text} instead.",
                line,
                token.column,
            )
        return number

    def directive(self, line: int, tokens: list[_Token]) -> None:
        name, rest = tokens[0].text, tokens[1:]
        symbols = [token.text for token in rest if token.kind in {"plain", "symbol"}]
        chances = [self.probability(line, token) for token in rest if token.kind == "chance"]
        whole = len(symbols) + len(chances) == len(rest)
        if name == "%start" and whole and len(symbols) == 1 and len(chances) <= 1:
            if symbols[0] in [symbol for _, symbol, _ in self.start]:
                raise self.source.error(
                    f"the start symbol {symbols[0]!r} occurs twice. Remove one of the two lines.", line
                )
            self.start.append((line, symbols[0], chances[0] if chances else None))
        elif name == "%label" and whole and len(symbols) == 2 and not chances:
            self.labels[symbols[0]] = symbols[1]
        elif name == "%hidden" and whole and symbols and not chances:
            self.hidden += symbols
        elif name == "%fallback" and not rest:
            self.fallback = True
        else:
            raise self.source.error(
                "this line is not a valid directive. Directives are '%start SYMBOL', '%start SYMBOL [probability]', '%label "
                "SYMBOL LABEL', '%hidden SYMBOL', '%unknown {...}' and '%fallback'. Write a symbol that begins with % as <%...>.",
                line,
            )

    def rule(self, line: int, tokens: list[_Token]) -> None:
        if len(tokens) < 2 or tokens[0].kind not in {"plain", "symbol"} or tokens[1].kind != "arrow":
            raise self.source.error('this line is not a rule. Write HEAD -> SYMBOL "word" [probability].', line)
        tail: list[_Token] = []
        chance: float | None = None
        for token in (*tokens[2:], _Token("bar", "", 0)):
            if token.kind == "bar":
                if not tail:
                    raise self.source.error(
                        "the right side of a rule, or an alternative between two bars, is empty. Write a symbol or a word.",
                        line,
                    )
                self.raw.append(_Raw(line, tokens[0].text, tuple(tail), chance))
                tail, chance = [], None
            elif token.kind == "arrow" or chance is not None:
                raise self.source.error(
                    "unexpected text after a probability, or a second arrow. A rule ends with its probability or at a bar.",
                    line,
                    token.column,
                )
            elif token.kind == "chance":
                chance = self.probability(line, token)
            else:
                tail.append(token)

    def rules(self) -> list[Rule]:
        """Return the rules. All heads are known now, so symbols and words can be distinguished."""
        if not self.raw:
            raise self.source.error("the file contains no rules.")
        heads = {rule.head for rule in self.raw}
        with_chance = self.raw[0].probability is not None
        known: dict[tuple[str, Tail], tuple[int, float | None]] = {}
        for line, head, tokens, chance in self.raw:
            if (chance is not None) != with_chance:
                raise self.source.error(
                    "some rules have a probability and others do not. Give one to every rule, or to none.", line
                )
            tail = tuple(
                Word(token.text)
                if token.kind == "word" or (token.kind == "plain" and token.text not in heads)
                else token.text
                for token in tokens
            )
            if (head, tail) not in known:
                known[head, tail] = line, chance
            elif with_chance:
                raise self.source.error(
                    f"the rule {shown(head, tail)} occurs twice, first in line {known[head, tail][0]}. Remove one of them.",
                    line,
                )
        if with_chance:
            return [Rule(head, tail, cast(float, chance)) for (head, tail), (_, chance) in known.items()]
        return uniform(known)

    def starts(self) -> dict[str, float]:
        """Return the start symbols of the file. Default: the head of the first rule."""
        if not self.start:
            return {self.raw[0].head: 1.0}
        heads = {rule.head for rule in self.raw}
        has_chance = [chance is not None for _, _, chance in self.start]
        for line, symbol, chance in self.start:
            if symbol not in heads:
                raise self.source.error(
                    f"the start symbol {symbol!r} is not the head of any rule.{suggestion(symbol, heads)}", line
                )
            if (chance is not None) != has_chance[0]:
                raise self.source.error(
                    "some start symbols have a probability and others do not. Give one to all of them, or to none.",
                    line,
                )
        return {symbol: 1 / len(self.start) if chance is None else chance for _, symbol, chance in self.start}


# --- writing ----------------------------------------------------------------------------------------------------


def lines(grammar: GrammarParts) -> Iterator[str]:
    """Yield the lines of a grammar file."""
    rules = grammar.rules
    heads = {rule.head for rule in rules}

    def symbol(name: str) -> str:
        if _PLAIN.fullmatch(name) and name in heads:
            return name
        return "<" + json.dumps(name, ensure_ascii=False)[1:-1].replace(">", "\\u003e") + ">"

    for name, probability in grammar.start.items():
        yield f"%start {symbol(name)} [{probability!r}]"
    for name, label in grammar.labels.items():
        if name != label:
            yield f"%label {symbol(name)} {symbol(label)}"
    for name in grammar.hidden:
        yield f"%hidden {symbol(name)}"
    if grammar.unknown is not None:
        yield "%unknown " + json.dumps(grammar.unknown, ensure_ascii=False, separators=(",", ":"))
    if grammar.fallback:
        yield "%fallback"
    for head, tail, probability in rules:
        items = (json.dumps(str(item), ensure_ascii=False) if isinstance(item, Word) else symbol(item) for item in tail)
        yield f"{symbol(head)} -> {' '.join(items)} [{probability!r}]"
