"""Rules of grammars: words, rules with probabilities, and their text form, one rule per line as in NLTK."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, cast

from treelet.checks import suggestion
from treelet.formats.brackets import label_problem
from treelet.formats.files import Source


class Word(str):
    """A word in the tail of a rule. It differs from a symbol with the same spelling.

    Examples
    --------
    >>> from treelet.parsing import Word
    >>> Word(",") == ",", Word(",") == Word(",")
    (False, True)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"Word({str(self)!r})"


Tail = tuple[str, ...]


class Rule(NamedTuple):
    """A rule ``head -> tail`` with its probability. A `Word` in the tail is a word, any other string a symbol."""

    head: str
    tail: Tail
    probability: float

    def __str__(self) -> str:
        return f"{self.sides()} [{self.probability!r}]"

    def sides(self) -> str:
        """Return the rule without its probability, shortened if it is long."""
        parts = [f'"{item!s}"' if isinstance(item, Word) else str(item) for item in self.tail[:9]]
        return " ".join([self.head, "->", *parts, *(["..."] if len(self.tail) > 9 else [])])


def is_lexical(tail: Tail) -> bool:
    """Return whether a tail is a single word."""
    return len(tail) == 1 and isinstance(tail[0], Word)


# --- rules as text, one per line, as in NLTK; only read ------------------------------------------------------------------

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<comment>\#.*)
      | (?P<arrow>->(?!\S))
      | (?P<bar>\|)
      | (?P<word>"(?:[^"\\]|\\.)*" | '[^']*')
      | (?P<chance>\[[^\]\s]*\])
      | (?P<plain>[^\s|"'\[\#](?:(?!\[[\d.eE+-]+\])[^\s|])*)
    )\s*""",
    re.VERBOSE,
)


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


def read_rules(source: Source) -> tuple[list[Rule], str]:
    """Read rules and the start symbol, which is by default the head of the first rule. Errors name the line."""
    # Each alternative of a rule: its line, head, items and probability. Symbols and words are told apart at the end.
    alternatives: list[tuple[int, str, list[_Token], float | None]] = []
    start: tuple[int, str] | None = None
    for line, text in _whole_lines(source):
        tokens = _tokens(source, line, text)
        if tokens and tokens[0].kind == "plain" and tokens[0].text.startswith("%"):
            if tokens[0].text != "%start" or [token.kind for token in tokens[1:]] != ["plain"]:
                raise source.error("this line is not a rule, and the only directive is '%start SYMBOL'.", line)
            if start is not None:
                raise source.error("a second start symbol. Remove one of the two lines.", line)
            start = line, tokens[1].text
        elif tokens:
            alternatives += _alternatives(source, line, tokens)
    if not alternatives:
        raise source.error("the file contains no rules.")
    heads = Counter(head for _, head, _, _ in alternatives)
    with_chance = alternatives[0][3] is not None
    known: dict[tuple[str, Tail], tuple[int, float | None]] = {}
    for line, head, items, chance in alternatives:
        if (chance is not None) != with_chance:
            raise source.error(
                "some rules have a probability and others do not. Give one to every rule, or to none.", line
            )
        tail = tuple(Word(item.text) if item.kind == "word" or item.text not in heads else item.text for item in items)
        if (head, tail) not in known:
            known[head, tail] = line, chance
        elif with_chance:
            rule = Rule(head, tail, math.nan).sides()
            first = known[head, tail][0]
            raise source.error(f"the rule {rule} occurs twice, first in line {first}. Remove one of them.", line)
    if start is not None and start[1] not in heads:
        raise source.error(
            f"the start symbol {start[1]!r} is not the head of any rule.{suggestion(start[1], heads)}", start[0]
        )
    distinct = Counter(head for head, _ in known)
    rules = [
        Rule(head, tail, 1 / distinct[head] if chance is None else chance)
        for (head, tail), (_, chance) in known.items()
    ]
    return rules, alternatives[0][1] if start is None else start[1]


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


def _tokens(source: Source, line: int, text: str) -> list[_Token]:
    """Return the tokens of a line. Words and symbols are without quotes and escapes."""
    tokens: list[_Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise source.error("a quote is not closed. Close it on this line.", line, at + 1)
        at, kind = match.end(), cast(str, match.lastgroup)
        value, column = match[kind], match.start(kind) + 1
        if kind in ("word", "plain"):
            if value.startswith('"'):
                try:
                    value = json.loads(f'"{value[1:-1]}"', strict=False)
                except ValueError:
                    raise source.error(
                        f"the escapes in {value} are not valid JSON. Write a backslash as \\\\.", line, column
                    ) from None
            elif value.startswith("'"):
                value = value[1:-1]
            if problem := label_problem(value):
                raise source.error(
                    f"a symbol or word is {problem}. Write brackets as -LRB- and -RRB-, and join words with '_'.",
                    line,
                    column,
                )
        if kind != "comment":
            tokens.append(_Token(kind, value, column))
    return tokens


def _alternatives(
    source: Source, line: int, tokens: list[_Token]
) -> Iterator[tuple[int, str, list[_Token], float | None]]:
    """Yield the line, the head, the items and the probability of each alternative of a rule."""
    if len(tokens) < 2 or tokens[0].kind != "plain" or tokens[1].kind != "arrow":
        raise source.error('this line is not a rule. Write HEAD -> SYMBOL "word" [probability].', line)
    items: list[_Token] = []
    chance: float | None = None
    for token in (*tokens[2:], _Token("bar", "", 0)):
        if token.kind == "bar":
            if not items:
                raise source.error(
                    "the right side of a rule, or an alternative between two bars, is empty. Write a symbol or a word.",
                    line,
                )
            yield line, tokens[0].text, items, chance
            items, chance = [], None
        elif token.kind == "arrow" or chance is not None:
            raise source.error(
                "unexpected text after a probability, or a second arrow. A rule ends with its probability or at a bar.",
                line,
                token.column,
            )
        elif token.kind == "chance":
            try:
                chance = float(token.text[1:-1])
            except ValueError:
                chance = math.nan
            if not 0 < chance <= 1:
                raise source.error(
                    f"a probability must be a number in (0, 1], in square brackets. Got {token.text} instead.",
                    line,
                    token.column,
                )
        else:
            items.append(token)
