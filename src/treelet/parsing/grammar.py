"""Probabilistic context-free grammars: the class `PCFG`."""

from __future__ import annotations

import json
import math
import numbers
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import IO, Any, cast

import numpy as np

from treelet import _core
from treelet.checks import article, check_integer, is_number, some_of, suggestion, wrong
from treelet.errors import InputTypeError, ParameterError, TreeError, TreeletError, TreeletWarning
from treelet.formats.base import Columns
from treelet.formats.brackets import label_problem
from treelet.formats.files import PathLike, open_source, open_target
from treelet.formats.grammars import Rule, Tail, Word, is_lexical, read_rules
from treelet.formats.json_files import checksum
from treelet.parsing.chart import Candidates, CompiledGrammar, Pruning, sampler
from treelet.parsing.estimate import estimate
from treelet.parsing.unknown import Lexicon, UnknownWords
from treelet.resources import Resources
from treelet.structures.bank import Stats
from treelet.structures.forest import Forest, ForestBank
from treelet.structures.tree import Tree, trees_of
from treelet.structures.treebank import Treebank
from treelet.work import progress_bar, run, seed_of

# --- checks of the parts of a grammar: rules, start symbols, labels and hidden symbols --------------------------------

_TOLERANCE = 1e-6
_NORMALIZE = " To rescale weights, pass normalize=True to PCFG.from_rules."


class GrammarWarning(TreeletWarning):
    """A grammar is usable, but it probably differs from the intended one."""


def _number(value: object, normalize: bool = False) -> float | None:
    """Return a probability, or with `normalize` any positive number, as a float; None if the value is neither."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        number = float(value)
    except OverflowError:  # an int that is too large for a float
        return None
    return number if 0 < number < math.inf and (normalize or number <= 1) else None


def _checked_rule(rule: object, normalize: bool = False) -> Rule:
    """Return a rule as a `Rule`, or raise an error that shows the rule. `normalize` allows any positive weight."""
    if not isinstance(rule, (tuple, list)) or len(rule) != 3:
        raise ParameterError(f"A rule must be a tuple (head, tail, probability). Got {rule!r:.80} instead.")
    head, tail, probability = rule
    if isinstance(tail, str) or not isinstance(tail, Sequence):
        raise ParameterError(
            f"The tail of a rule must be a tuple of strings, such as ('NP', 'VP'). "
            f"Got {tail!r:.80} instead, in the rule {rule!r:.80}."
        )
    items = tuple(tail)
    problem = label_problem(head) or next(filter(None, map(label_problem, items)), None)
    if problem:
        raise ParameterError(
            f"A symbol or word of the rule {rule!r:.80} is {problem}. "
            "Write brackets as -LRB- and -RRB-, and join several words with '_'."
        )
    shown = Rule(head, items, math.nan).sides()
    if isinstance(head, Word):
        raise ParameterError(
            f"The rule {shown} has a word as its head. Only a symbol can be a head: pass a plain string."
        )
    if not items:
        raise ParameterError(
            f"The rule '{head} ->' has an empty tail. Add at least one symbol or word on the right-hand side."
        )
    number = _number(probability, normalize)
    if number is None:
        wanted, remedy = ("a number above 0", "") if normalize else ("a number in (0, 1]", _NORMALIZE)
        raise ParameterError(
            f"The probability of the rule {shown} must be {wanted}. Got {probability!r} instead.{remedy}"
        )
    return Rule(head, items, number)


def _checked_start(start: object, normalize: bool = False) -> dict[str, float]:
    """Return the start symbols with their probabilities."""
    if isinstance(start, str):
        return {start: 1.0}
    if not isinstance(start, Mapping) or not start:
        raise wrong("start", "a symbol or a non-empty dict from symbols to probabilities", start, of="PCFG")
    chosen = {}
    for symbol, probability in start.items():
        number = _number(probability, normalize)
        if not isinstance(symbol, str):
            raise ParameterError(f"A start symbol must be a string. Got {symbol!r} instead.")
        if number is None:
            wanted, remedy = ("a number above 0", "") if normalize else ("a number in (0, 1]", _NORMALIZE)
            raise ParameterError(
                f"The probability of the start symbol {symbol!r} must be {wanted}. Got {probability!r} instead.{remedy}"
            )
        chosen[symbol] = number
    return chosen


def _checked_rules(
    rules: Iterable[object],
) -> tuple[list[Rule], dict[str, dict[str, float]], dict[str, None]]:
    """Return the rules with a symbol on the right, the lexicon (by word, then symbol), and the heads in order."""
    kept: list[Rule] = []
    lexicon: dict[str, dict[str, float]] = {}
    heads: dict[str, None] = {}
    seen: set[tuple[str, Tail]] = set()
    for item in rules:
        rule = _checked_rule(item)
        if rule[:2] in seen:
            raise ParameterError(
                f"The rule {rule.sides()} occurs twice. Pass each rule once, with a single probability."
            )
        seen.add(rule[:2])
        heads[rule.head] = None
        if is_lexical(rule.tail):
            lexicon.setdefault(str(rule.tail[0]), {})[rule.head] = rule.probability
        else:
            kept.append(rule)
    return kept, lexicon, heads


def _check_symbols(symbols: Mapping[str, None], labels: Mapping[str, str], hidden: frozenset[str]) -> None:
    """Check that labeled and hidden symbols occur in rules, and that no symbol is both labeled and hidden."""
    for name, named in (("labels", set(labels)), ("hidden", hidden)):
        for symbol in named - set(symbols):
            raise ParameterError(
                f"The symbol {symbol!r} in {name!r} does not occur in any rule.{suggestion(str(symbol), symbols)}"
            )
    for symbol, label in labels.items():
        if symbol in hidden:
            raise ParameterError(
                f"The symbol {symbol!r} is hidden, but it also has the label {label!r}. "
                "Remove the symbol from 'labels' or from 'hidden'."
            )
        if problem := label_problem(label):
            raise ParameterError(
                f"The label of the symbol {symbol!r} is {problem}. A label needs at least one character, "
                "and no white space or brackets."
            )


def _check_hidden(
    hidden: frozenset[str], start: Iterable[str], rules: Iterable[Rule], lexicon: Mapping[str, Iterable[str]]
) -> None:
    """Check that hidden symbols occur only in positions from which the parser can remove them."""
    if not hidden:
        return
    misplaced = [symbol for symbol in start if symbol in hidden]
    misplaced += [symbol for symbols in lexicon.values() for symbol in symbols if symbol in hidden]
    for head, tail, _ in rules:
        if head in hidden and len(tail) != 2:
            misplaced.append(head)
        misplaced += [item for item in (tail[1:] if len(tail) == 2 else tail) if item in hidden]
    if misplaced:
        raise ParameterError(
            f"The hidden symbol {misplaced[0]!r} is used in a position where a parser cannot remove it. "
            "A hidden symbol may only head rules with two symbols on the right, or be the first of two."
        )


def _sums(rules: Iterable[tuple[str, object, float]]) -> dict[str, float]:
    """Return the sum of the probabilities of each head."""
    by_head: dict[str, list[float]] = {}
    for head, _, probability in rules:
        by_head.setdefault(head, []).append(probability)
    return {head: math.fsum(values) for head, values in by_head.items()}


def _worst(sums: Mapping[str, float]) -> tuple[str, float]:
    """Return the symbol whose sum is furthest from 1, and that sum."""
    return max(sums.items(), key=lambda item: abs(item[1] - 1))


def _warn_of_sums(rules: Iterable[Rule], start: Mapping[str, float]) -> None:
    """Warn if the probabilities of a head, or those of the start symbols, do not sum to 1."""
    start_name = "the start symbols"
    symbol, total = _worst({**_sums(rules), start_name: math.fsum(start.values())})
    if abs(total - 1) > _TOLERANCE:
        owner = start_name if symbol == start_name else f"the rules of {symbol!r}"
        warnings.warn(
            f"The probabilities of {owner} sum to {total:.6g} instead of 1. They are used unchanged, so scores are not "
            "probabilities. To rescale them, use PCFG.from_rules(..., normalize=True).",
            GrammarWarning,
            stacklevel=3,
        )


# --- probabilistic context-free grammars: the class `PCFG` ------------------------------------------------------------


class PCFG:
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
        "__weakref__", "_compiled", "_fallback", "_hidden", "_labels", "_lexicon", "_rules", "_sampler", "_start",
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
        self._start = _checked_start(start)
        kept, lexicon, heads = _checked_rules(rules)
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
        _check_symbols(symbols, own, self._hidden)
        _check_hidden(self._hidden, self._start, kept, lexicon)
        self._labels = {symbol: own.get(symbol, symbol) for symbol in symbols if symbol not in self._hidden}
        self._unknown, self._fallback = unknown, bool(fallback)
        self._lexicon = Lexicon(lexicon, self._labels, unknown)
        self._compiled: CompiledGrammar | None = None
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
        checked = [_checked_rule(rule, normalize) for rule in rules]
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
        chosen = _checked_start(start, normalize)
        if normalize:
            total = _sums(typed)
            typed = [Rule(head, tail, p / total[head]) for head, tail, p in typed]
            chosen = {symbol: p / math.fsum(chosen.values()) for symbol, p in chosen.items()}
        grammar = cls(typed, chosen)
        _warn_of_sums(typed, chosen)
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
            Penn Treebank (see `treelet.parsing.estimate`). With ``parent="tags"``, prepositions also get the
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
        return cls(**estimate(bank, markov, parent, split, unknown, min_count, smoothing), fallback=True)

    @classmethod
    def from_nltk(cls, grammar: Any) -> PCFG:
        """Convert an ``nltk.PCFG`` or ``nltk.CFG``.

        The rules of an ``nltk.CFG`` become equally probable for each head.

        >>> import nltk
        >>> PCFG.from_nltk(nltk.CFG.fromstring("S -> S S | 'a'"))
        <PCFG: 1 phrasal label, 1 tag, 1 rule, 1 word>
        """
        try:
            start, productions = str(grammar.start()), list(grammar.productions())
            read = [
                (
                    str(rule.lhs()),
                    tuple(Word(item) if isinstance(item, str) else str(item) for item in rule.rhs()),
                    rule,
                )
                for rule in productions
            ]
            weighted = [
                Rule(head, tail, rule.prob()) for head, tail, rule in read if callable(getattr(rule, "prob", None))
            ]
        except (AttributeError, TypeError):
            raise InputTypeError(f"An NLTK grammar is needed, but got {article(type(grammar).__name__)}.") from None
        distinct = dict.fromkeys((head, tail) for head, tail, _ in read)
        number = Counter(head for head, _ in distinct)
        return cls(weighted or [Rule(head, tail, 1 / number[head]) for head, tail in distinct], start)

    def to_nltk(self) -> Any:
        """Convert to an ``nltk.PCFG``.

        NLTK requires a single start symbol and probabilities that sum to 1. Trees parsed by NLTK contain
        the symbols of the grammar instead of their labels.

        >>> grammar = PCFG.from_rules([("S", ("S", "S"), 0.5), ("S", ("a",), 0.5)], start="S")
        >>> PCFG.from_nltk(grammar.to_nltk()) == grammar
        True
        """
        try:
            from nltk import grammar as nltk
        except ImportError:
            raise TreeletError("to_nltk needs the package nltk: pip install nltk.") from None
        if len(self._start) != 1:
            raise ParameterError(
                f"An NLTK grammar has one start symbol, but this grammar has {len(self._start)}: {some_of(self._start)}. "
                "Choose one of them as the only start symbol."
            )
        rules = self.productions()
        symbol, total = _worst(_sums(rules))
        if not abs(total - 1) <= nltk.PCFG.EPSILON:
            raise ParameterError(
                f"The probabilities of the rules of each symbol must sum to 1 in NLTK, but those of {symbol!r} sum to "
                f"{total:.6g}. Rescale them (normalize=True), or estimate the grammar without markov."
            )
        return nltk.PCFG(
            nltk.Nonterminal(next(iter(self._start))),
            [
                nltk.ProbabilisticProduction(
                    nltk.Nonterminal(head),
                    [str(item) if isinstance(item, Word) else nltk.Nonterminal(item) for item in tail],
                    prob=probability,
                )
                for head, tail, probability in rules
            ],
        )

    # --- parsing ------------------------------------------------------------------------------------------------

    def parse(
        self,
        tokens: Sequence[str],
        k: int = 1,
        *,
        beam: float | None = None,
        coarse: PCFG | None = None,
        margin: float = 12.0,
    ) -> list[tuple[Tree, float]]:
        """Return the `k` most probable parses of a sentence.

        Parameters
        ----------
        tokens : list of str
            Words of the sentence. Write brackets as -LRB- and -RRB-.
        k : int, default 1
            Maximum number of parses, at least 1.
        beam : float, optional
            Beam width, a difference of log probabilities (natural logarithm) above 0. Symbols that are
            further below the best symbol of their span are dropped. By default, the search is exact.
        coarse : PCFG, optional
            A smaller grammar with the same labels, for coarse-to-fine parsing. It parses first; this
            grammar then tries only labels and spans of coarse parses within `margin` of the best one.
        margin : float, default 12.0
            Difference of log probabilities (natural logarithm) for `coarse`.

        Returns
        -------
        list of (Tree, float)
            Distinct trees with their log probabilities, best first. If there is no parse, the list is
            empty. With a grammar estimated from a treebank, it then contains a single fallback tree: the
            most probable partial parses, below a root with the label FALLBACK, with log probability -inf.

        Notes
        -----
        Trees in which a symbol dominates itself with the same span are excluded, because unary cycles
        would give infinitely many trees. If several symbols of a grammar share a label, a tree can have
        many derivations. The search for distinct trees then stops after 100 k derivations.

        Log probabilities of rules are rounded to multiples of 2^-38, so sums of them are exact. Trees
        with the same rules in different arrangements are therefore exact ties. Ties are ordered by the
        split of the span, then by the order of the rules in the grammar, and never by rounding.

        Examples
        --------
        >>> grammar = PCFG.from_rules(
        ...     [("S", ("S", "S"), 0.3), ("S", ("A", "S"), 0.2), ("S", ("a",), 0.5), ("A", ("a",), 1.0)], start="S"
        ... )
        >>> for tree, logp in grammar.parse(["a", "a"], k=2):
        ...     print(tree, round(logp, 3))
        (S (A a) (S a)) -2.303
        (S (S a) (S a)) -2.59
        """
        check_integer("k", k, 1, most=2**62)
        columns, logps = self.compiled().kbest(tokens, int(k), _pruning(beam, coarse, margin))
        return list(zip(cast("list[Tree]", trees_of(columns)), logps.tolist(), strict=True))

    def forest(
        self,
        tokens: Sequence[str],
        prune: float | None = None,
        *,
        beam: float | None = None,
        coarse: PCFG | None = None,
        margin: float = 12.0,
    ) -> Forest:
        """Return all parses of a sentence as a packed forest of productions of the grammar.

        Parameters
        ----------
        tokens : list of str
            Words of the sentence.
        prune : float, optional
            Pruning threshold, a difference of log probabilities (natural logarithm) of at least 0. Only
            nodes and productions of parses within this threshold of the best parse are kept; 8 is a
            common value. By default, nothing is pruned. The unpruned forest of a grammar from a treebank
            is very large.
        beam, coarse, margin
            As in `parse`.

        Returns
        -------
        Forest
            Empty if there is no parse. With a grammar estimated from a treebank, the forest then contains
            the single fallback tree. Nodes with different annotated symbols in the grammar stay separate,
            although their labels are equal.

        Raises
        ------
        TreeError
            If the forest would have more than 20 million edges.

        Examples
        --------
        >>> grammar = PCFG.from_rules([("S", ("S", "S"), 0.4), ("S", ("a",), 0.6)], start="S")
        >>> grammar.forest(["a", "a", "a"]).count_trees()
        2
        """
        return self.compiled().forest(tokens, _checked_threshold(prune), _pruning(beam, coarse, margin))

    def parse_all(
        self,
        sentences: Iterable[Sequence[str]],
        k: int = 1,
        *,
        beam: float | None = None,
        coarse: PCFG | None = None,
        margin: float = 12.0,
        n_jobs: int | None = 1,
        progress: bool | None = None,
    ) -> Candidates:
        """Return the `k` most probable parses of each of many sentences.

        Parameters
        ----------
        sentences : iterable of list of str
            Sentences as lists of words.
        k, beam, coarse, margin
            As in `parse`.
        n_jobs : int, default 1
            Number of threads. -1 uses one thread per core.
        progress : bool, optional
            Show a progress bar on standard error. Default: as in `treelet.config_context`.

        Returns
        -------
        Candidates
            One row per parse: ``trees`` (a Treebank), ``logp`` (log probabilities) and ``qid`` (index of
            the sentence).

        Examples
        --------
        >>> grammar = PCFG.from_rules([("S", ("S", "S"), 0.4), ("S", ("a",), 0.6)], start="S")
        >>> parses = grammar.parse_all([["a"], ["a", "a", "a"]], k=2)
        >>> len(parses.trees), parses.qid.tolist()
        (3, [0, 1, 1])
        """
        compiled, items, pruning = self.compiled(), list(sentences), _pruning(beam, coarse, margin)
        check_integer("k", k, 1, most=2**62)
        results = _each(
            items, lambda tokens: compiled.kbest(tokens, k, pruning), Resources.of(n_jobs, progress=progress)
        )
        trees = Treebank.concat([Treebank.from_columns(columns) for columns, _ in results])
        logp = np.concatenate([logps for _, logps in results]) if results else np.zeros(0)
        return Candidates(trees, logp, np.repeat(np.arange(len(results)), [len(logps) for _, logps in results]))

    def forests(
        self,
        sentences: Iterable[Sequence[str]],
        prune: float | None = 8.0,
        *,
        beam: float | None = None,
        coarse: PCFG | None = None,
        margin: float = 12.0,
        n_jobs: int | None = 1,
        progress: bool | None = None,
    ) -> ForestBank:
        """Return the packed forest of each of many sentences.

        Parameters
        ----------
        sentences : iterable of list of str
            Sentences as lists of words.
        prune : float or None, default 8.0
            Pruning threshold, as in `forest`; None keeps everything.
        beam, coarse, margin
            As in `parse`.
        n_jobs : int, default 1
            Number of threads. -1 uses one thread per core.
        progress : bool, optional
            Show a progress bar on standard error. Default: as in `treelet.config_context`.

        Returns
        -------
        ForestBank
            One forest per sentence.
        """
        compiled, items, pruning = self.compiled(), list(sentences), _pruning(beam, coarse, margin)
        threshold, resources = _checked_threshold(prune), Resources.of(n_jobs, progress=progress)
        return ForestBank(_each(items, lambda tokens: compiled.forest(tokens, threshold, pruning), resources))

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
        most = 2**62 if max_words is None else max_words
        try:
            return Treebank.from_columns(Columns(*self._sampler.sample(int(n), seed_of(random_state), most)))
        except ValueError as error:
            raise ParameterError(str(error)) from None

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
        # A word in a tail is a list of one string. Rules with a single word form the lexicon.
        content: dict[str, Any] = {
            "treelet": "pcfg",
            "version": _VERSION,
            "start": self._start,
            "rules": [
                [head, [[str(item)] if isinstance(item, Word) else item for item in tail], probability]
                for head, tail, probability in self._rules
            ],
            "lexicon": {word: dict(symbols) for word, symbols in self._lexicon.words.items()},
            "labels": {symbol: label for symbol, label in self._labels.items() if symbol != label},
            "hidden": sorted(self._hidden),
            "unknown": None if self._unknown is None else self._unknown.document(),
            "fallback": self._fallback,
        }
        content["checksum"] = checksum(content)
        with open_target(path) as stream:
            stream.write(json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")

    @classmethod
    def load(cls, path: PathLike) -> PCFG:
        """Read a grammar written by `save`. No code from the file is executed."""
        with open_source(path) as source:
            try:
                return _grammar_in(json.loads(b"".join(source.chunks())))
            except json.JSONDecodeError as error:
                raise source.error(
                    f"not valid JSON, or the file is truncated ({error.msg}). "
                    "Pass a grammar file that was written by PCFG.save.",
                    error.lineno,
                    error.colno,
                ) from None
            except (ValueError, OverflowError, RecursionError) as error:
                raise source.error(f"{error}") from None

    @classmethod
    def read_text(cls, file: PathLike | IO[bytes] | IO[str]) -> PCFG:
        r"""Read rules from text that was written by hand or for NLTK.

        Alternatives are separated by ``|``. Words are quoted. An unquoted string that is not the head of
        any rule is a word, too. Either all rules have a probability in square brackets, or none has. In
        the second case, the distinct rules of each head are equally probable. The start symbol is the head
        of the first rule, or that of a line ``%start SYMBOL``. To store a grammar, use `save`.

        >>> import io
        >>> PCFG.read_text(io.StringIO("S -> NP VP | VP\nNP -> he | she\nVP -> 'sleeps'"))
        <PCFG: 1 phrasal label, 2 tags, 2 rules, 3 words>
        """
        with open_source(file) as source:
            rules, start = read_rules(source)
            try:
                grammar = cls(rules, {start: 1.0})
            except ParameterError as error:
                raise source.error(str(error)) from None
        _warn_of_sums(grammar.productions(), grammar._start)
        return grammar

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
        """Return the binarized grammar in the form of the native parser. The result is cached."""
        if self._compiled is None:
            self._compiled = CompiledGrammar(self)
        return self._compiled

    def unknown_words(self, words: Sequence[str]) -> list[str]:
        """Return the words of a sentence that the grammar does not contain.

        A model of unknown words also knows the first word of a sentence if it is a known word with a capital.
        """
        known = self._lexicon.words
        first = 1 if self._unknown is not None and words and words[0].lower() in known else 0
        return list(dict.fromkeys(word for word in words[first:] if word not in known))

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
        unknown, fallback = self._unknown, self._fallback
        rebuild = partial(PCFG, labels=self._labels, hidden=self._hidden, unknown=unknown, fallback=fallback)
        return rebuild, (self.productions(), self._start)


def _pruning(beam: float | None, coarse: PCFG | None, margin: float) -> Pruning:
    """Check the options that prune a chart."""
    if coarse is not None and not isinstance(coarse, PCFG):
        raise InputTypeError(f"The 'coarse' parameter must be a PCFG. Got {article(type(coarse).__name__)} instead.")
    for name, value in (("beam", beam), ("margin", margin)):
        if value is not None and not (is_number(value, 0, infinite=True) and value > 0):
            raise wrong(name, "a positive number", value)
    return math.inf if beam is None else float(beam), None if coarse is None else coarse.compiled(), margin


def _checked_threshold(prune: float | None) -> float:
    """Return the threshold as a float; infinity for None."""
    if prune is not None and not is_number(prune, 0, infinite=True):
        raise wrong("prune", "a number of at least 0", prune, optional=True)
    return math.inf if prune is None else float(prune)


def _each(items: list[Sequence[str]], work: Callable[[Sequence[str]], Any], resources: Resources) -> list[Any]:
    results: list[Any] = [None] * len(items)

    def process(number: int) -> int:
        try:
            results[number] = work(items[number])
        except (TreeError, InputTypeError) as error:
            raise type(error)(f"Sentence {number}: {error}") from None
        return 1

    # No thread should start a long sentence last.
    longest_first = sorted(range(len(items)), key=lambda n: -len(items[n]) if hasattr(items[n], "__len__") else 0)
    with progress_bar(resources.progress, "sentences", len(items)) as advance:
        run(process, longest_first, resources.threads, advance)
    return results


_VERSION = 1  # of the JSON files


def _grammar_in(content: Any) -> PCFG:
    """Return the grammar in the JSON content of a file. Raise `ParameterError` if the content is invalid."""
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
        tail = []
        for item in rule[1]:
            is_word = isinstance(item, list) and len(item) == 1 and isinstance(item[0], str)
            if not (is_word or isinstance(item, str)):
                raise ParameterError(
                    f"An item of a tail must be a symbol or a list with one word. Got {str(item)[:80]} instead."
                )
            tail.append(Word(item[0]) if is_word else item)
        rules.append((rule[0], tuple(tail), rule[2]))
    for word, symbols in content["lexicon"].items():
        if not isinstance(symbols, dict) or not symbols:
            raise ParameterError(f"The word {word!r} of the lexicon must have a dict of symbols and probabilities.")
        rules += [Rule(symbol, (Word(word),), probability) for symbol, probability in symbols.items()]
    if not all(isinstance(symbol, str) for symbol in content["hidden"]):
        raise ParameterError("The hidden symbols of the grammar must be strings.")
    unknown = None if content.get("unknown") is None else UnknownWords.from_document(content["unknown"])
    return PCFG(
        rules,
        content["start"],
        labels=content["labels"],
        hidden=content["hidden"],
        unknown=unknown,
        fallback=content["fallback"],
    )
