"""Probabilistic context-free grammars: the class `PCFG`."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import IO, Any

from treelet import _core
from treelet.checks import check_integer, suggestion
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
    """A probabilistic context-free grammar (PCFG), immutable.

    Usually created by `from_treebank`, `from_rules`, `from_nltk`, `read_text` or `load`. The
    constructor takes the parts in the form in which a grammar stores them.

    Parameters
    ----------
    rules : iterable of (head, tail, probability)
        Rules with probabilities in (0, 1]. In a tail, a `Word` is a word, and any other string is a
        symbol.
    start : str, or dict of str to float
        Start symbol, or several start symbols with their probabilities.
    labels : dict of str to str, optional
        Labels in trees of the symbols that are not labeled by their own name, for example
        ``{"NP^S": "NP"}``.
    hidden : iterable of str, default ()
        Symbols that do not appear in trees. Their children become children of the parent. A hidden
        symbol may only be the head of a rule with two symbols on the right, or the first of two
        symbols on the right.
    unknown : UnknownWords, optional
        Model of words that do not occur in the rules. By default, such words have no parse.
    fallback : bool, default False
        Whether to return the most probable partial parses when a sentence has no parse.

    See Also
    --------
    HMM : a part-of-speech tagger.
    LinkParser : parses with Link Grammar instead of a PCFG.

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
            raise ParameterError(
                f"The start symbol {unheaded[0]!r} is not the head of any rule. "
                f"Choose a start symbol from the heads of the rules.{suggestion(unheaded[0], heads)}"
            )
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

    # --- constructors -------------------------------------------------------------------------------------------

    @classmethod
    def from_rules(
        cls,
        rules: Iterable[tuple[str, Sequence[str], float]],
        start: str | Mapping[str, float],
        *,
        normalize: bool = False,
    ) -> PCFG:
        """Create a grammar from rules with probabilities.

        Parameters
        ----------
        rules : iterable of (head, tail, probability)
            A string in a tail is a symbol if it is the head of some rule, and a word otherwise. Where a
            word is spelled like a symbol, write ``Word(",")``.
        start : str, or dict of str to float
            Start symbol, or several start symbols with their probabilities.
        normalize : bool, default False
            Rescale the probabilities of each head to sum to 1. They may then be any positive numbers,
            for example counts.

        Returns
        -------
        PCFG

        Warns
        -----
        GrammarWarning
            If the probabilities of a head do not sum to 1, or if a symbol has no finite tree.

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
                f"The symbol {head!r} is only expanded to itself, so it has no finite tree. "
                f"If the word {head!r} is meant, write Word({head!r}).",
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
        split: str | None = None,
        unknown: str | None = "signature",
        min_count: int = 1,
        smoothing: float = 0.0,
    ) -> PCFG:
        """Estimate a grammar from a treebank, by relative frequencies.

        Parameters
        ----------
        bank : Treebank or collection of trees
            Training trees. Missing trees (None) are ignored.
        markov : int, optional
            Order of the Markov model of children, at least 0. Instead of whole productions, one child at a
            time is generated, from left to right, given the head and the previous `markov` siblings. The
            first child is always marked as the first. Rules from a label to a single word stay whole. By
            default, rules are whole productions.
        parent : bool or "tags", default False
            Parent annotation (Johnson 1998): distinguish equal labels with different parents, such as
            ``NP^S`` and ``NP^VP``. True annotates phrases; ``"tags"`` also annotates part-of-speech
            tags. Parsed trees have the plain labels.
        split : {"penn", None}, default None
            Distinguish further kinds of nodes with equal labels, such as finite and infinitive ``VP``, or
            ``NP`` with and without phrases below it, as Klein & Manning (2003) do for the labels of the
            Penn Treebank (see `treelet.parsing.splits`). With ``parent="tags"``, prepositions also get the
            label above their phrase. Parsed trees have the plain labels. Use it with ``parent="tags"``,
            ``markov=2`` and ``smoothing=1``.
        unknown : {"signature", None}, default "signature"
            How rare and unknown words get their tags: from their spelling (see
            `treelet.parsing.unknown`), or not at all.
        min_count : int, default 1
            Words that occur at most this often are rare. The model of unknown words is estimated from
            rare words. A rare word may also get tags that its spelling suggests; a frequent word only gets
            the tags that it has in the treebank.
        smoothing : float, default 0
            Pseudo-count for words with annotated tags, at least 0. A word that was seen with a tag may
            then occur with each annotation of this tag, even if it was not seen with this annotation. Words
            that occur at most five times also get the tags that their spelling suggests. By default, a word
            that is not rare only gets the annotated tags that it has in the treebank.

        Returns
        -------
        PCFG
            A grammar with ``fallback=True``.

        References
        ----------
        Johnson (1998), "PCFG models of linguistic tree representations", Computational Linguistics 24.

        Klein & Manning (2003), "Accurate unlexicalized parsing", ACL.

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
        parts = estimate(bank, markov, parent, split, unknown, min_count, smoothing)
        return cls(
            parts.rules, parts.start, labels=parts.labels, hidden=parts.hidden, unknown=parts.unknown, fallback=True
        )

    @classmethod
    def from_nltk(cls, grammar: Any) -> PCFG:
        """Convert an ``nltk.PCFG`` or ``nltk.CFG``.

        The rules of an ``nltk.CFG`` become equally probable for each head.

        >>> import nltk
        >>> PCFG.from_nltk(nltk.CFG.fromstring("S -> S S | 'a'"))
        <PCFG: 1 phrasal label, 1 tag, 1 rule, 1 word>
        """
        return cls(*nltk_rules(grammar))

    def to_nltk(self) -> Any:
        """Convert to an ``nltk.PCFG``.

        NLTK requires a single start symbol and probabilities that sum to 1. Trees parsed by NLTK contain
        the symbols of the grammar instead of their labels.

        >>> grammar = PCFG.from_rules([("S", ("S", "S"), 0.5), ("S", ("a",), 0.5)], start="S")
        >>> PCFG.from_nltk(grammar.to_nltk()) == grammar
        True
        """
        symbol, total = worst(sums(self.productions()))
        return nltk_grammar(self._parts(), symbol, total)

    # --- sampling -----------------------------------------------------------------------------------------------

    def sample(self, n: int, random_state: Any = 0, *, max_words: int | None = None) -> Treebank:
        """Draw random trees from the distribution of the grammar.

        Parameters
        ----------
        n : int
            Number of trees, at least 0.
        random_state : int, RandomState, Generator or None, default 0
            Source of randomness. The same int gives the same trees. A larger `n` continues the same
            sequence of trees.
        max_words : int, optional
            Maximum number of words per tree, at least 1. Longer trees are rejected and drawn again.

        Returns
        -------
        Treebank

        Raises
        ------
        ParameterError
            If the grammar has no finite tree, or no tree with at most `max_words` words.

        Notes
        -----
        Only words of the rules are drawn, not unknown words. If the probabilities of all finite trees do
        not sum to 1, trees are drawn in proportion to their probabilities.

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
        """Write the grammar to a JSON file.

        The file appears only when it is complete. Files that end in ``.gz``, ``.xz`` or ``.bz2`` are
        compressed.

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
        """Read a grammar written by `save`. No code from the file is executed."""
        with open_source(path) as source:
            try:
                return cls._of(grammar_from_json(b"".join(source.chunks())))
            except json.JSONDecodeError as error:
                raise source.error(
                    f"not valid JSON, or the file is truncated ({error.msg}). "
                    "Pass a grammar file that was written by PCFG.save.",
                    error.lineno,
                    error.colno,
                ) from None
            except (ValueError, OverflowError, RecursionError) as error:
                raise source.error(f"{error}") from None

    def write_text(self, file: PathLike | IO[str]) -> None:
        """Write the grammar as text, one rule per line: ``NP -> DT NN [0.25]``.

        `read_text` restores the same grammar exactly.
        """
        with open_target(file) as stream:
            stream.writelines(f"{line}\n" for line in grammar_text.lines(self._parts()))

    @classmethod
    def read_text(cls, file: PathLike | IO[bytes] | IO[str]) -> PCFG:
        r"""Read a grammar from text that was written by `write_text`, for NLTK or by hand.

        Alternatives are separated by ``|``. Words are quoted. An unquoted string that is not the head of
        any rule is a word, too. Either all rules have a probability in square brackets, or none has. In
        the second case, the distinct rules of each head are equally probable.

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

    # --- contents -----------------------------------------------------------------------------------------------

    @property
    def start(self) -> Mapping[str, float]:
        """Start symbols with their probabilities."""
        return MappingProxyType(self._start)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules, except the rules from a symbol to a single word, which are in `lexicon`."""
        return self._rules

    @property
    def lexicon(self) -> Mapping[str, Mapping[str, float]]:
        """P(word | symbol) of the rules from a symbol to a single word: a mapping from words to mappings."""
        return MappingProxyType(self._lexicon.words)

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels in trees of the symbols that are not hidden."""
        return MappingProxyType(self._labels)

    @property
    def hidden(self) -> frozenset[str]:
        """Symbols that do not appear in trees. Their children become children of the parent."""
        return self._hidden

    @property
    def unknown(self) -> UnknownWords | None:
        """Model of unknown words; None if unknown words get no tags."""
        return self._unknown

    @property
    def fallback(self) -> bool:
        """Whether parsers return the most probable partial parses when a sentence has no parse."""
        return self._fallback

    def productions(self) -> list[Rule]:
        """Return all rules. The rules from a symbol to a single word come last."""
        lexical = (Rule(s, (Word(w),), p) for w, symbols in self._lexicon.words.items() for s, p in symbols.items())
        return [*self._rules, *lexical]

    def lexical(self, word: str, first: bool = False) -> list[tuple[str, float]]:
        """Return the possible symbols of a word, each with log P(word | symbol).

        Parameters
        ----------
        word : str
            A known or unknown word.
        first : bool, default False
            Whether the word is the first of its sentence, where capital letters carry less information.

        Returns
        -------
        list of (str, float)

        Examples
        --------
        >>> grammar = PCFG.from_treebank(["(S (NP (N cats)) (VP (V sleep)))", "(S (NP (N dogs)) (VP (V bark)))"])
        >>> [symbol for symbol, _ in grammar.lexical("birds")]
        ['N', 'V']
        """
        return self._lexicon.symbols(str(word), bool(first))

    def compiled(self) -> CompiledGrammar:
        """Return the binarized grammar as arrays, for the parser. The result is cached."""
        if self._compiled is None:
            self._compiled = CompiledGrammar(self)
        return self._compiled

    def charts(self) -> Charts:
        """Return the grammar in the form of the native parser. The result is cached."""
        if self._charts is None:
            self._charts = Charts(self)
        return self._charts

    def stats(self) -> Stats:
        """Count the phrasal labels, tags, rules without a single word as their tail, and words."""
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
