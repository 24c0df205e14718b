"""Grammars in files and in other libraries: rules with probabilities, JSON and NLTK. `grammar_text` has the text format."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
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


# --- grammars as text, one rule per line, as in NLTK ------------------------------------------------------------------

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
        return _uniform(known)

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
