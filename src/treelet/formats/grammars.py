"""Grammars in files and in other libraries: rules with probabilities, JSON, and NLTK's objects and text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

from treelet.checks import article, some_of, suggestion
from treelet.errors import InputTypeError, ParameterError, TreeletError
from treelet.formats.brackets import label_problem
from treelet.formats.files import Source
from treelet.formats.json_files import checksum

# --- grammars in files and in other libraries -------------------------------------------------------------------------


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
        return f"{shown(self.head, self.tail)} [{self.probability!r}]"


def shown(head: str, tail: Tail) -> str:
    """Return a rule as text for messages, shortened if it is long."""
    parts = [f'"{item!s}"' if isinstance(item, Word) else str(item) for item in tail[:9]]
    return " ".join([head, "->", *parts, *(["..."] if len(tail) > 9 else [])])


def is_lexical(tail: Tail) -> bool:
    """Return whether a tail is a single word."""
    return len(tail) == 1 and isinstance(tail[0], Word)


class GrammarParts(NamedTuple):
    """The parts of a grammar in a file.

    Attributes
    ----------
    rules : list of Rule
        All rules.
    start : dict of str to float
        Start symbols with their probabilities.
    labels : dict of str to str
        Labels of symbols whose label differs from their name.
    hidden : list of str
        Symbols that do not occur in trees.
    unknown : object or None
        Model of unknown words, as a JSON object.
    fallback : bool
        Whether a sentence outside the grammar gets a fallback tree.
    """

    rules: list[Rule]
    start: dict[str, float]
    labels: dict[str, str]
    hidden: list[str]
    unknown: Any = None
    fallback: bool = False


def _uniform(rules: Iterable[tuple[str, Tail]]) -> list[Rule]:
    """Return rules in which all rules of a head have the same probability."""
    pairs = list(rules)
    number: dict[str, int] = {}
    for head, _ in pairs:
        number[head] = number.get(head, 0) + 1
    return [Rule(head, tail, 1 / number[head]) for head, tail in pairs]


# --- JSON: one object, checked when it is read -----------------------------------------------------------------------

_VERSION = 1


def grammar_to_json(grammar: GrammarParts) -> str:
    """Return one line of JSON. A word in a tail is a list of one string; rules with a single word form the lexicon."""
    lexicon: dict[str, dict[str, float]] = {}
    for head, tail, probability in grammar.rules:
        if is_lexical(tail):
            lexicon.setdefault(str(tail[0]), {})[head] = probability
    content: dict[str, Any] = {
        "treelet": "pcfg",
        "version": _VERSION,
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


def grammar_from_json(text: str | bytes) -> GrammarParts:
    """Return the grammar in a text from `grammar_to_json`. Raise `ParameterError` if the content is invalid."""
    content = json.loads(text)
    if not isinstance(content, dict) or content.get("treelet") != "pcfg":
        raise ParameterError("This is not a treelet grammar. Grammars are written by PCFG.save.")
    if content.get("version") != _VERSION:
        raise ParameterError(
            f"The grammar has format version {content.get('version')!r}, but this version of treelet reads version {_VERSION}. "
            "Upgrade treelet."
        )
    if (stored := content.pop("checksum", None)) is not None and stored != checksum(content):
        raise ParameterError(
            "The grammar was altered: its checksum does not match. Copy or save it again. If the change was intended, remove "
            'the field "checksum".'
        )
    for key, kind in (
        ("start", dict), ("rules", list), ("lexicon", dict), ("labels", dict), ("hidden", list), ("fallback", bool),
    ):  # fmt: skip
        if not isinstance(content.get(key), kind):
            raise ParameterError(
                f"The field {key!r} of the grammar must be {article(kind.__name__)}. Save the grammar again."
            )
    rules: list[Any] = []
    for rule in content["rules"]:
        if not isinstance(rule, list) or len(rule) != 3 or not isinstance(rule[1], list):
            raise ParameterError(f"A rule must be [head, [tail], probability]. Got {str(rule)[:80]} instead.")
        rules.append((rule[0], tuple(_tail_item(item) for item in rule[1]), rule[2]))
    for word, symbols in content["lexicon"].items():
        if not isinstance(symbols, dict) or not symbols:
            raise ParameterError(f"The word {word!r} of the lexicon must have a dict of symbols and probabilities.")
        rules += [Rule(symbol, (Word(word),), probability) for symbol, probability in symbols.items()]
    if not all(isinstance(symbol, str) for symbol in content["hidden"]):
        raise ParameterError("The hidden symbols of the grammar must be strings.")
    return GrammarParts(
        rules, content["start"], content["labels"], content["hidden"], content.get("unknown"), content["fallback"]
    )


def _tail_item(item: object) -> str:
    if isinstance(item, list) and len(item) == 1 and isinstance(item[0], str):
        return Word(item[0])
    if isinstance(item, str):
        return item
    raise ParameterError(f"An item of a tail must be a symbol or a list with one word. Got {str(item)[:80]} instead.")


# --- NLTK ------------------------------------------------------------------------------------------------------------


def nltk_rules(grammar: Any) -> tuple[list[Rule], str]:
    """Return the rules and the start symbol of an ``nltk.PCFG``, or of an ``nltk.CFG`` with equally probable rules."""
    try:
        start, productions = str(grammar.start()), list(grammar.productions())
        read = [
            (str(rule.lhs()), tuple(Word(item) if isinstance(item, str) else str(item) for item in rule.rhs()), rule)
            for rule in productions
        ]
        weighted = [Rule(head, tail, rule.prob()) for head, tail, rule in read if callable(getattr(rule, "prob", None))]
    except (AttributeError, TypeError):
        raise InputTypeError(f"An NLTK grammar is needed, but got {article(type(grammar).__name__)}.") from None
    return weighted or _uniform(dict.fromkeys((head, tail) for head, tail, _ in read)), start


def nltk_grammar(grammar: GrammarParts, symbol: str, total: float) -> Any:
    """Return an ``nltk.PCFG``. The rules of `symbol` have the sum furthest from 1, which is `total`."""
    try:
        from nltk import grammar as nltk
    except ImportError:
        raise TreeletError("to_nltk needs the package nltk: pip install nltk.") from None
    if len(grammar.start) != 1:
        raise ParameterError(
            f"An NLTK grammar has one start symbol, but this grammar has {len(grammar.start)}: {some_of(grammar.start)}. "
            "Choose one of them as the only start symbol."
        )
    if not abs(total - 1) <= nltk.PCFG.EPSILON:
        raise ParameterError(
            f"The probabilities of the rules of each symbol must sum to 1 in NLTK, but those of {symbol!r} sum to {total:.6g}. "
            "Rescale them (normalize=True), or estimate the grammar without markov."
        )
    return nltk.PCFG(
        nltk.Nonterminal(next(iter(grammar.start))),
        [
            nltk.ProbabilisticProduction(
                nltk.Nonterminal(head),
                [str(item) if isinstance(item, Word) else nltk.Nonterminal(item) for item in tail],
                prob=probability,
            )
            for head, tail, probability in grammar.rules
        ],
    )


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


class _Raw(NamedTuple):
    line: int
    head: str
    tail: tuple[_Token, ...]
    probability: float | None


def read_rules(source: Source) -> tuple[list[Rule], str]:
    """Read rules and the start symbol. Errors name the line."""
    reader = _GrammarReader(source)
    for line, text in _whole_lines(source):
        reader.take(line, text)
    return reader.rules(), reader.start_symbol()


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
    """Collects rules and the start symbol from the lines of a grammar file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.raw: list[_Raw] = []
        self.start: tuple[int, str] | None = None

    def take(self, line: int, text: str) -> None:
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
                raise self.source.error("a quote is not closed. Close it on this line.", line, at + 1)
            kind = cast(str, match.lastgroup)
            column = match.start(kind) + 1
            if kind != "comment":
                tokens.append(_Token(kind, self.value(kind, match[kind], line, column), column))
            at = match.end()
        return tokens

    def value(self, kind: str, text: str, line: int, column: int) -> str:
        if kind not in {"word", "plain"}:
            return text
        if text.startswith('"'):
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
        if [token.text for token in tokens[:1]] != ["%start"] or [token.kind for token in tokens[1:]] != ["plain"]:
            raise self.source.error("this line is not a rule, and the only directive is '%start SYMBOL'.", line)
        if self.start is not None:
            raise self.source.error("a second start symbol. Remove one of the two lines.", line)
        self.start = line, tokens[1].text

    def rule(self, line: int, tokens: list[_Token]) -> None:
        if len(tokens) < 2 or tokens[0].kind != "plain" or tokens[1].kind != "arrow":
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
        return _uniform(known)

    def start_symbol(self) -> str:
        """Return the start symbol of the file. Default: the head of the first rule."""
        if self.start is None:
            return self.raw[0].head
        line, symbol = self.start
        if symbol not in (heads := {rule.head for rule in self.raw}):
            raise self.source.error(
                f"the start symbol {symbol!r} is not the head of any rule.{suggestion(symbol, heads)}", line
            )
        return symbol
