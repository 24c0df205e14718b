"""A probabilistic context-free grammar."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import IO, Any

from treelet import _core
from treelet.checks import check_integer
from treelet.errors import ParameterError
from treelet.formats import grammar_text
from treelet.formats.files import PathLike, open_source, open_target
from treelet.formats.grammars import (
    GrammarParts,
    Rule,
    Word,
    grammar_from_json,
    grammar_to_json,
    nltk_grammar,
    nltk_rules,
)
from treelet.parsing.chart import Charts, Parser
from treelet.parsing.checks import (
    GrammarWarning,
    check_hidden,
    check_symbols,
    checked_rule,
    checked_rules,
    checked_start,
    sums,
    warn_of_sums,
    worst,
)
from treelet.parsing.compiled import CompiledGrammar
from treelet.parsing.estimate import estimate
from treelet.parsing.lexicon import Lexicon
from treelet.parsing.sampling import drawn, sampler
from treelet.parsing.unknown import UnknownWords
from treelet.structures.bank import Stats
from treelet.structures.treebank import Treebank
from treelet.work import seed_of


class PCFG(Parser):
    """A probabilistic context-free grammar. It cannot be changed.

    Made by `from_rules`, `from_treebank`, `from_nltk`, `read_text` or `load`; the constructor takes the parts as they
    are kept.

    Parameters
    ----------
    rules : iterable of (head, tail, probability)
        In a tail, a `Word` is a word and any other string a symbol.
    start : str, or dict of str to float
        Where trees begin.
    labels : dict of str to str, optional
        The label in trees of symbols that are not their own: ``{"NP^S": "NP"}``.
    hidden : iterable of str
        Symbols that do not appear in trees: their children go to the parent. Such a symbol may only be the head, or the
        first of two on the right.
    unknown : UnknownWords, optional
        Which symbols a word may have that the rules do not know.
    fallback : bool
        Whether a parser should make do with pieces where a sentence has no parse.

    Examples
    --------
    >>> from treelet.parsing import PCFG
    >>> grammar = PCFG.from_treebank(["(S (NP (N John)) (VP (V sleeps)))", "(S (NP (N Mary)) (VP (V sleeps)))"])
    >>> grammar
    <PCFG: 3 phrasal labels, 2 tags, 3 rules, 3 words>
    >>> [str(rule) for rule in grammar.rules]
    ['NP -> N [1.0]', 'S -> NP VP [1.0]', 'VP -> V [1.0]']
    >>> dict(grammar.lexicon["Mary"])
    {'N': 0.5}
    """

    __slots__ = (
        "__weakref__", "_charts", "_compiled", "_fallback", "_hidden", "_labels", "_lexicon", "_rules", "_sampler", "_start",
        "_unknown",
    )  # fmt: skip

    def __init__(
        self,
        rules: Iterable[tuple[str, Sequence[str], float]],
        start: str | Mapping[str, float],
        *,
        labels: Mapping[str, str] | None = None,
        hidden: Iterable[str] = (),
        unknown: UnknownWords | None = None,
        fallback: bool = False,
    ) -> None:
        self._start = checked_start(start)
        kept, lexicon, heads = checked_rules(rules)
        unheaded = [symbol for symbol in self._start if symbol not in heads]
        if unheaded:
            raise ParameterError(f"the start symbol {unheaded[0]!r} heads no rule: name one that does")
        self._rules = tuple(kept)
        self._hidden = frozenset(hidden)
        symbols = dict.fromkeys(self._start) | dict.fromkeys(rule.head for rule in kept)
        symbols |= dict.fromkeys(item for rule in kept for item in rule.tail if not isinstance(item, Word))
        symbols |= dict.fromkeys(symbol for chances in lexicon.values() for symbol in chances)
        own = dict(labels or {})
        check_symbols(symbols, own, self._hidden)
        check_hidden(self._hidden, self._start, kept, lexicon)
        self._labels = {symbol: own.get(symbol, symbol) for symbol in symbols if symbol not in self._hidden}
        self._unknown, self._fallback = unknown, bool(fallback)
        self._lexicon = Lexicon(lexicon, self._labels, unknown)
        self._compiled: CompiledGrammar | None = None
        self._charts: Charts | None = None
        self._sampler: _core.Sampler | None = None

    # --- where grammars come from -------------------------------------------------------------------------------

    @classmethod
    def from_rules(
        cls,
        rules: Iterable[tuple[str, Sequence[str], float]],
        start: str | Mapping[str, float],
        *,
        normalize: bool = False,
    ) -> PCFG:
        """A grammar of rules as given.

        Parameters
        ----------
        rules : iterable of (head, tail, probability)
            What heads no rule is a word; where a word is spelled like a symbol, write ``Word(",")``.
        start : str, or dict of str to float
            Where trees begin, with probabilities if there are several.
        normalize : bool
            Rescale the numbers, which may then be any above 0 (counts, say), so that each head's sum to 1.

        Examples
        --------
        >>> grammar = PCFG.from_rules(
        ...     [("S", ("NP", "VP"), 1.0), ("NP", ("he",), 0.7), ("NP", ("she",), 0.3), ("VP", ("sleeps",), 1.0)],
        ...     start="S",
        ... )
        >>> grammar.lexical("she")
        [('NP', -1.2039728043259361)]
        """
        checked = [checked_rule(rule, normalize) for rule in rules]
        heads = {rule.head for rule in checked}
        typed = [
            Rule(head, tuple(item if item in heads else Word(item) for item in tail), p) for head, tail, p in checked
        ]
        for head in sorted(heads - {rule.head for rule in typed if rule.tail != (rule.head,)}):
            warnings.warn(
                f"the symbol {head!r} is over itself only and has no trees; for the word of that spelling, write "
                f"Word({head!r})",
                GrammarWarning,
                stacklevel=2,
            )
        chosen = checked_start(start, normalize)
        if normalize:
            total = sums(typed)
            typed = [Rule(head, tail, p / total[head]) for head, tail, p in typed]
            chosen = {symbol: p / math.fsum(chosen.values()) for symbol, p in chosen.items()}
        grammar = cls(typed, chosen)
        warn_of_sums(typed, chosen)
        return grammar

    @classmethod
    def from_treebank(
        cls,
        bank: object,
        *,
        markov: int | None = None,
        parent: bool | str = False,
        unknown: str | None = "signature",
        min_count: int = 1,
    ) -> PCFG:
        """A grammar whose probabilities are the relative frequencies in a treebank.

        Parameters
        ----------
        bank : Treebank, or whatever holds trees
            None, a missing tree, is left out.
        markov : int, optional
            Instead of whole productions, count one child at a time, left to right, given the head and so many siblings
            before it. The first child knows that it is the first; a single word below a label is counted whole.
        parent : bool or "tags"
            Tell apart equal labels below different ones (``NP^S``, ``NP^VP``; Johnson 1998): those of phrases, or also
            those over words only. Trees that are parsed have the plain labels.
        unknown : "signature" or None
            How words that are rare or unknown get their tags: by their looks (see `treelet.parsing.unknown`), or not.
        min_count : int
            A word seen at most so often is rare: the looks of rare words say what unknown words are, and a rare word
            may also have the tags that its looks suggest. Words seen more often have the tags they were seen with.

        Examples
        --------
        >>> bank = ["(NP (D a) (N cat))", "(NP (D a) (J red) (N cat))", "(NP (D a) (J big) (J red) (N dog))"]
        >>> for rule in PCFG.from_treebank(bank, markov=1).rules:
        ...     print(rule)
        @NP|J -> D J [0.6666666666666666]
        @NP|J -> @NP|J J [0.3333333333333333]
        NP -> @NP|J N [0.6666666666666666]
        NP -> D N [0.3333333333333333]
        """
        parts = estimate(bank, markov, parent, unknown, min_count)
        return cls(
            parts.rules, parts.start, labels=parts.labels, hidden=parts.hidden, unknown=parts.unknown, fallback=True
        )

    @classmethod
    def from_nltk(cls, grammar: Any) -> PCFG:
        """The same grammar as an ``nltk.PCFG``; the rules of an ``nltk.CFG`` become equally probable a head.

        >>> import nltk
        >>> PCFG.from_nltk(nltk.CFG.fromstring("S -> S S | 'a'"))
        <PCFG: 1 phrasal label, 1 tag, 1 rule, 1 word>
        """
        return cls(*nltk_rules(grammar))

    def to_nltk(self) -> Any:
        """The grammar as an ``nltk.PCFG``, which needs one start symbol and sums of 1; its trees have the symbols.

        >>> grammar = PCFG.from_rules([("S", ("S", "S"), 0.5), ("S", ("a",), 0.5)], start="S")
        >>> PCFG.from_nltk(grammar.to_nltk()) == grammar
        True
        """
        symbol, total = worst(sums(self.productions()))
        return nltk_grammar(self._parts(), symbol, total)

    # --- what it can make ---------------------------------------------------------------------------------------

    def sample(self, n: int, random_state: Any = 0, *, max_words: int | None = None) -> Treebank:
        """Trees drawn from the grammar, each with its probability.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, RandomState, Generator or None
            The same int gives the same trees, and the first of many are those of few.
        max_words : int, optional
            Trees with more words are drawn again.

        Notes
        -----
        Words are those of the rules: unknown ones are not drawn. Where the probabilities of all finite trees do not sum to 1, they
        hold in proportion.

        Examples
        --------
        >>> grammar = PCFG.from_treebank(["(S (NP (N John)) (VP (V sleeps)))", "(S (NP (N Mary)) (VP (V runs)))"])
        >>> for tree in grammar.sample(2, random_state=1):
        ...     print(tree)
        (S (NP (N John)) (VP (V sleeps)))
        (S (NP (N Mary)) (VP (V sleeps)))
        """
        check_integer("n", n, 0)
        if max_words is not None:
            check_integer("max_words", max_words, 1)
        if self._sampler is None:
            self._sampler = sampler(self)
        return Treebank.from_columns(drawn(self._sampler, int(n), seed_of(random_state), max_words))

    # --- files --------------------------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write the grammar to a JSON file, which appears whole or not at all; ``.gz``, ``.xz``, ``.bz2`` are packed.

        >>> import tempfile
        >>> grammar = PCFG.from_treebank(["(S (NP (N John)) (VP (V sleeps)))"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     grammar.save(folder + "/grammar.json.gz")
        ...     PCFG.load(folder + "/grammar.json.gz") == grammar
        True
        """
        with open_target(path) as stream:
            stream.write(grammar_to_json(self._parts()) + "\n")

    @classmethod
    def load(cls, path: PathLike) -> PCFG:
        """Read a grammar that `save` wrote. Nothing in the file is executed."""
        with open_source(path) as source:
            try:
                return cls._of(grammar_from_json(b"".join(source.chunks())))
            except json.JSONDecodeError as error:
                raise source.error(
                    f"this is no JSON, or not whole ({error.msg}); grammars are written by PCFG.save",
                    error.lineno,
                    error.colno,
                ) from None
            except (ValueError, OverflowError, RecursionError) as error:
                raise source.error(f"{error}") from None

    def write_text(self, file: PathLike | IO[str]) -> None:
        """Write the grammar as text, one rule a line: ``NP -> DT NN [0.25]``; `read_text` gives it back exactly."""
        with open_target(file) as stream:
            stream.writelines(f"{line}\n" for line in grammar_text.lines(self._parts()))

    @classmethod
    def read_text(cls, file: PathLike | IO[bytes] | IO[str]) -> PCFG:
        r"""Read a grammar written as text, by `write_text`, for NLTK or by hand.

        Alternatives are separated by ``|``. Words are quoted; what is not and heads no rule is a word, too. Rules have
        probabilities in brackets or none does, and then those of a head are equally probable, each counted once.

        >>> import io
        >>> PCFG.read_text(io.StringIO("S -> NP VP | VP\nNP -> he | she\nVP -> 'sleeps'"))
        <PCFG: 1 phrasal label, 2 tags, 2 rules, 3 words>
        """
        with open_source(file) as source:
            parts = grammar_text.read(source, UnknownWords.from_document)
            try:
                grammar = cls._of(parts)
            except ParameterError as error:
                raise source.error(str(error)) from None
        if not grammar._hidden and grammar._unknown is None:
            warn_of_sums(grammar.productions(), grammar._start)
        return grammar

    @classmethod
    def _of(cls, parts: GrammarParts) -> PCFG:
        unknown = None if parts.unknown is None else UnknownWords.from_document(parts.unknown)
        return cls(
            parts.rules,
            parts.start,
            labels=parts.labels,
            hidden=parts.hidden,
            unknown=unknown,
            fallback=parts.fallback,
        )

    def _parts(self) -> GrammarParts:
        unknown = None if self._unknown is None else self._unknown.document()
        return GrammarParts(
            self.productions(), dict(self._start), self._labels, sorted(self._hidden), unknown, self._fallback
        )

    # --- what it holds ------------------------------------------------------------------------------------------

    @property
    def start(self) -> Mapping[str, float]:
        """Where trees begin, with probabilities."""
        return MappingProxyType(self._start)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules but those from a symbol to a single word, which are in `lexicon`."""
        return self._rules

    @property
    def lexicon(self) -> Mapping[str, Mapping[str, float]]:
        """P(word | symbol) of the rules from a symbol to a single word, by word."""
        return MappingProxyType(self._lexicon.words)

    @property
    def labels(self) -> Mapping[str, str]:
        """The label in trees of each symbol that is not hidden."""
        return MappingProxyType(self._labels)

    @property
    def hidden(self) -> frozenset[str]:
        """Symbols that do not appear in trees: their children go to the parent."""
        return self._hidden

    @property
    def unknown(self) -> UnknownWords | None:
        """How unknown words get their tags; None if they have none."""
        return self._unknown

    @property
    def fallback(self) -> bool:
        """Whether a parser should make do with pieces where a sentence has no parse."""
        return self._fallback

    def productions(self) -> list[Rule]:
        """All rules, those from a symbol to a single word last."""
        lexical = (Rule(s, (Word(w),), p) for w, symbols in self._lexicon.words.items() for s, p in symbols.items())
        return [*self._rules, *lexical]

    def lexical(self, word: str, first: bool = False) -> list[tuple[str, float]]:
        """The symbols that may stand over a word, with log P(word | symbol).

        Parameters
        ----------
        word : str
            The word.
        first : bool
            Whether it opens a sentence: a capital means less there.

        Examples
        --------
        >>> grammar = PCFG.from_treebank(["(S (NP (N cats)) (VP (V sleep)))", "(S (NP (N dogs)) (VP (V bark)))"])
        >>> [symbol for symbol, _ in grammar.lexical("birds")]
        ['N', 'V']
        """
        return self._lexicon.symbols(str(word), bool(first))

    def compiled(self) -> CompiledGrammar:
        """The grammar as arrays, binarized, for the parser; made once."""
        if self._compiled is None:
            self._compiled = CompiledGrammar(self)
        return self._compiled

    def charts(self) -> Charts:
        """The grammar made ready for the native parser, once."""
        if self._charts is None:
            self._charts = Charts(self)
        return self._charts

    def stats(self) -> Stats:
        """How many phrasal labels (with a symbol below them), tags (over single words), rules beside those, words."""
        phrasal = {self._labels[rule.head] for rule in self._rules if rule.head not in self._hidden}
        words = set(self._lexicon.words) | {str(w) for rule in self._rules for w in rule.tail if isinstance(w, Word)}
        return Stats(
            phrasal_labels=len(phrasal),
            tags=len({self._labels[symbol] for symbol in self._lexicon.tags}),
            rules=len(self._rules),
            words=len(words),
        )

    def __repr__(self) -> str:
        return f"<PCFG: {self.stats()}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PCFG):
            return NotImplemented
        return (
            self._start == other._start
            and self._hidden == other._hidden
            and self._labels == other._labels
            and self._fallback == other._fallback
            and self._unknown == other._unknown
            and self._lexicon.words == other._lexicon.words
            and {rule[:2]: rule[2] for rule in self._rules} == {rule[:2]: rule[2] for rule in other._rules}
        )

    def __hash__(self) -> int:
        return hash((len(self._rules), frozenset(self._start.items()), frozenset(self._labels)))

    def __reduce__(self) -> tuple[Any, ...]:
        return PCFG._of, (self._parts(),)
