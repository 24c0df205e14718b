"""Parsing sentences with a grammar: the k best trees, or packed forests."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import article, is_number, plural, some_of, wrong
from treelet.errors import InputTypeError, TreeError
from treelet.formats.base import Columns
from treelet.formats.brackets import label_problem
from treelet.formats.grammars import Word
from treelet.memory import available
from treelet.progress import progress_bar
from treelet.resources import Resources
from treelet.structures.forest import Forest, check_count
from treelet.structures.forest_bank import ForestBank
from treelet.structures.tree import Tree, trees_of
from treelet.structures.treebank import Treebank
from treelet.work import run

if TYPE_CHECKING:
    from treelet.parsing.grammar import PCFG


# --- sentences that a person types ------------------------------------------------------------------------------------

LISTED = 10
_BEFORE = "\"'“‘«¿¡"
_FINAL = ".!?…"
_AFTER = re.compile(r"(\.{2,}|[.,;:!?…\"'”’»])$")


def _typed_words(text: str, known: Container[str] = ()) -> list[str]:
    """Split a sentence at spaces, and split punctuation marks off its words.

    Words in `known` are not split. A period is split off at the end of the sentence only, because it may belong to an
    abbreviation.

    >>> _typed_words("Mr. Fox, who is 3.5 years old, can't jump (he says)."), _typed_words('"Yahoo!"', {"Yahoo!"})
    (['Mr.', 'Fox', ',', 'who', 'is', '3.5', 'years', 'old', ',', "can't", 'jump', '(he', 'says)', '.'], ['"', 'Yahoo!', '"'])
    """
    words: list[str] = []
    tokens = text.split()
    for number, word in enumerate(tokens, 1):
        begin, end = 0, len(word)
        after: list[str] = []
        if any(map(str.isalnum, word)):  # otherwise it is a punctuation mark itself
            while word[begin:] not in known and word[begin] in _BEFORE:
                begin += 1
            while word[begin:end] not in known and (mark := _AFTER.search(word[begin:end])):
                if mark[0] == "." and number < len(tokens):
                    break
                after.append(mark[0])
                end -= len(mark[0])
        words += [*word[:begin], word[begin:end], *reversed(after)]
    return words


def adapted_words(text: str, grammar: PCFG) -> list[str]:
    """Split a sentence into words as `_typed_words` does, and adapt them to the lexicon of the grammar.

    A word becomes lower case if the lexicon contains only its lower-case form. If the lexicon has no punctuation marks, those at
    the end of the sentence are dropped.
    """
    known = grammar.lexicon
    words = _typed_words(text, known)
    if not any(not any(map(str.isalnum, word)) for word in known):
        while len(words) > 1 and not words[-1].strip(_FINAL):
            words.pop()
    return [lower if word not in known and (lower := word.lower()) in known else word for word in words]


def unknown_words(grammar: PCFG, words: Sequence[str]) -> list[str]:
    """Return the words that the grammar does not contain.

    A model of unknown words also knows the first word of a sentence if it is a known word with a capital.
    """
    known = grammar.lexicon
    first = 1 if grammar.unknown is not None and words and words[0].lower() in known else 0
    return list(dict.fromkeys(word for word in words[first:] if word not in known))


def outside_grammar(grammar: PCFG, words: Sequence[str], subject: str, remedy: str) -> str:
    """Return the message about a sentence, the subject, that has no parse or only the pieces of a fallback."""
    unknown = unknown_words(grammar, words)
    pieces = (
        ", so the tree under FALLBACK is not a parse: it joins the most probable pieces" if grammar.fallback else ""
    )
    reason = f"Unknown words: {some_of(unknown, LISTED)}" if unknown else "All of its words are known"
    return f"{subject} is outside this grammar{pieces}. {reason}. {remedy}"


# --- the binarized form of a grammar, as arrays for the native parser -------------------------------------------------

_CACHED = 1 << 17  # words
_LONG = 80  # maximum length of the name of an intermediate symbol

Entry = tuple[NDArray[np.int32], NDArray[np.float64]]


class CompiledGrammar:
    """The result of `PCFG.compiled`: a grammar with numbered symbols and at most two symbols on the right of a rule.

    Longer rules are split with intermediate symbols, one for each prefix of two or more symbols.
    Prefixes are shared among heads. Rules of intermediate symbols have probability 1; the last step
    has the probability of the whole rule. So the derivations of a tree, and their probabilities, are
    the same as in the original grammar.

    Parameters
    ----------
    grammar : PCFG

    Attributes
    ----------
    symbols : list of str
        Nonterminals, then hidden and intermediate symbols, then the words that occur with other
        symbols in a tail.
    labels : list of str
        Labels in trees: the label of the symbol, the word, or ``""`` if the symbol does not appear and
        its children become children of the parent.
    first_word : int
        Index of the first word in `symbols`.
    left, right, head, logp : arrays
        Binary rules, distinct and sorted by left, right and head.
    unary_child, unary_head, unary_logp : arrays
        Rules from one nonterminal to one nonterminal.
    start_symbol, start_logp : arrays
        Start symbols.

    Examples
    --------
    >>> from treelet.parsing import PCFG
    >>> grammar = PCFG.from_rules([("S", ("A", "A", "A"), 1), ("A", ("x",), 1)], start="S").compiled()
    >>> grammar.symbols, grammar.labels
    (['S', 'A', '(A A)'], ['S', 'A', ''])
    >>> list(zip(grammar.left.tolist(), grammar.right.tolist(), grammar.head.tolist()))
    [(1, 1, 2), (2, 1, 0)]
    """

    def __init__(self, grammar: PCFG) -> None:
        self._grammar = grammar
        self.symbols: list[str] = [*grammar.labels, *sorted(grammar.hidden)]
        self.labels: list[str] = [*grammar.labels.values(), *("" for _ in grammar.hidden)]
        # Words get negative numbers until the number of symbols is known.
        number: dict[str, int] = {symbol: index for index, symbol in enumerate(self.symbols)}
        words: list[Word] = []
        binary: dict[tuple[int, int, int], float] = {}
        unary: dict[tuple[int, int], float] = {}
        prefixes: dict[tuple[int, int], int] = {}
        names: list[str] = []
        for rule in grammar.rules:
            for item in rule.tail:
                if isinstance(item, Word) and item not in number:
                    words.append(item)
                    number[item] = -len(words)
            head, tail, logp = number[rule.head], [number[item] for item in rule.tail], float(np.log(rule.probability))
            if len(tail) == 1:
                unary[tail[0], head] = logp
                continue
            left = tail[0]
            for index in range(1, len(tail) - 1):
                pair = left, tail[index]
                if pair not in prefixes:
                    prefixes[pair] = len(self.symbols) + len(names)
                    before = names[left - len(self.symbols)] if left >= len(self.symbols) else str(rule.tail[0])
                    name = f"({before} {rule.tail[index]!s})"
                    names.append(name if len(name) <= _LONG else f"(... {rule.tail[index]!s} {len(names)})"[:_LONG])
                    binary[(*pair, prefixes[pair])] = 0.0
                left = prefixes[pair]
            binary[left, tail[-1], head] = logp
        self.symbols += names
        self.labels += [""] * len(names)
        self.first_word = len(self.symbols)
        self.symbols += map(str, words)
        self.labels += map(str, words)
        self._number = {symbol: index for symbol, index in number.items() if index >= 0}
        self._words = {str(word): self.first_word + index for index, word in enumerate(words)}

        def numbered(symbols: NDArray[np.int32]) -> NDArray[np.int32]:
            return np.where(symbols < 0, self.first_word - 1 - symbols, symbols).astype(np.int32)

        rows = np.array(list(binary), np.int32).reshape(-1, 3)
        self.left, self.right, self.head = (numbered(rows[:, k]) for k in range(3))
        order = np.lexsort((self.head, self.right, self.left))
        self.left, self.right, self.head = self.left[order], self.right[order], self.head[order]
        self.logp = np.array(list(binary.values()), np.float64)[order]
        pairs = np.array(list(unary), np.int32).reshape(-1, 2)
        self.unary_child, self.unary_head = pairs[:, 0].copy(), pairs[:, 1].copy()
        self.unary_logp = np.array(list(unary.values()), np.float64)
        self.start_symbol = np.array([number[symbol] for symbol in grammar.start], np.int32)
        self.start_logp = np.log(np.array(list(grammar.start.values()), np.float64))
        self._cache: dict[tuple[str, bool], Entry] = {}

    def entries(self, tokens: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return the possible symbols of each word of a sentence, and log P(word | symbol).

        A word that occurs with other symbols in a tail is also a symbol of its own, with log
        probability 0.

        Returns
        -------
        start, symbol, logp : arrays
            Word i has the symbols and probabilities from ``start[i]`` to ``start[i + 1]``.
        """
        if isinstance(tokens, (str, bytes)):
            raise InputTypeError(
                f"A sentence must be a list of words. Got the single string {tokens[:40]!r} instead: "
                "split it, for example with .split()."
            )
        entries = [self._entry(token, index == 0) for index, token in enumerate(tokens)]
        start = np.zeros(len(entries) + 1, np.int64)
        np.cumsum([len(symbol) for symbol, _ in entries], out=start[1:])
        if not entries:
            return start, np.zeros(0, np.int32), np.zeros(0)
        return start, np.concatenate([symbol for symbol, _ in entries]), np.concatenate([logp for _, logp in entries])

    def _entry(self, token: str, first: bool) -> Entry:
        if not isinstance(token, str):
            raise InputTypeError(
                f"A sentence must be a list of strings, but it contains {article(type(token).__name__)}: {token!r:.40}."
            )
        key = str(token), first
        entry = self._cache.get(key)
        if entry is None:
            choices = [(self._number[symbol], logp) for symbol, logp in self._grammar.lexical(*key)]
            if key[0] in self._words:
                choices.append((self._words[key[0]], 0.0))
            entry = (
                np.array([symbol_number for symbol_number, _ in choices], np.int32),
                np.array([logp for _, logp in choices], np.float64),
            )
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            self._cache[key] = entry
        return entry

    def __repr__(self) -> str:
        return (
            f"<CompiledGrammar: {len(self.symbols):,} symbols, {len(self.left):,} binary and "
            f"{len(self.unary_child):,} unary rules>"
        )


# --- parsing sentences with a grammar: the k best trees, or packed forests --------------------------------------------

FALLBACK = "FALLBACK"
"""Root label of a fallback tree, which is returned for a sentence without a parse."""

_MAX_EDGES = 20_000_000
_LONGEST = 5000  # words
_CHAIN = 96  # maximum memory, in bytes, per pair of symbols connected by a unary chain while a grammar is prepared
_NO_PARSE = -1000.0  # stands for the log probability of a fallback tree


@dataclass(frozen=True)
class _Pruning:
    """Options that prune a chart. By default, nothing is pruned.

    Parameters
    ----------
    beam : float, optional
        Symbols are dropped if their log probability, plus the log prior of the symbol, is more than
        this below the best of the same span.
    coarse : PCFG, optional
        A smaller grammar with the same labels, which parses first. The full grammar then tries only
        labels and spans that occur in coarse parses within `margin` of the best one.
    margin : float, default 12.0
        Difference of log probabilities (natural logarithm) for `coarse`.
    """

    beam: float | None = None
    coarse: PCFG | None = None
    margin: float = 12.0

    def __post_init__(self) -> None:
        if self.coarse is not None and not isinstance(self.coarse, Parser):
            raise InputTypeError(
                f"The 'coarse' parameter must be a PCFG. Got {article(type(self.coarse).__name__)} instead."
            )
        for name, value in (("beam", self.beam), ("margin", self.margin)):
            if value is not None and not (is_number(value, 0, infinite=True) and value > 0):
                raise wrong(name, "a positive number", value)


_NOT_AT_ALL = _Pruning()


class Candidates(NamedTuple):
    """The parses of several sentences, one row per parse.

    Attributes
    ----------
    trees : Treebank
        All parses, grouped by sentence, the best first.
    logp : ndarray of float
        Log probabilities of the parses; -inf for a fallback tree.
    qid : ndarray of int
        Index of the sentence of each parse.
    """

    trees: Treebank
    logp: NDArray[np.float64]
    qid: NDArray[np.int64]


def relative_logp(logp: NDArray[np.float64], qid: NDArray[np.int64]) -> NDArray[np.float64]:
    """Subtract from the log probability of each parse that of the best parse of the same sentence.

    A fallback tree, whose log probability is -inf, counts as -1000. If another parse of the sentence is at -1000 or
    below, it counts as 1 less than the least probable one.

    >>> relative_logp(np.array([-2.0, -5.0, -np.inf, -7.0]), np.array([0, 0, 0, 1])).tolist()
    [0.0, -3.0, -998.0, 0.0]
    >>> relative_logp(np.array([-np.inf, -1500.0]), np.array([0, 0])).tolist()
    [-1.0, 0.0]
    """
    fallback, sentences = np.isneginf(logp), int(qid.max(initial=-1)) + 1
    least = np.full(sentences, math.inf)
    np.minimum.at(least, qid[~fallback], logp[~fallback])
    below = np.minimum(least - 1, np.nextafter(least, -math.inf))  # also where 1 is less than the rounding
    known = np.where(fallback, np.where(least > _NO_PARSE, _NO_PARSE, below)[qid], logp)
    most = np.full(sentences, -math.inf)
    np.maximum.at(most, qid, known)
    relative: NDArray[np.float64] = known - most[qid]
    return relative


class Charts:
    """A grammar in the form of the native parser."""

    def __init__(self, grammar: PCFG) -> None:
        compiled = grammar.compiled()
        self.compiled, self.fallback = compiled, grammar.fallback
        self.native = _core.grammar(
            compiled.labels,
            compiled.first_word,
            compiled.left,
            compiled.right,
            compiled.head,
            compiled.logp,
            compiled.unary_child,
            compiled.unary_head,
            compiled.unary_logp,
            compiled.start_symbol,
            compiled.start_logp,
            available() // _CHAIN,
        )
        self.prior = _priors(compiled)

    def chart(self, tokens: Sequence[str], pruning: _Pruning = _NOT_AT_ALL) -> _core.Chart:
        words = checked_sentence(tokens)
        mask = None if pruning.coarse is None else self._mask(words, pruning.coarse, pruning.margin)
        beam = math.inf if pruning.beam is None else float(pruning.beam)
        return _core.Chart(self.native, words, *self.compiled.entries(words), beam, self.prior, mask, available() // 3)

    def _mask(self, words: list[str], coarse: PCFG, margin: float) -> _core.Mask | None:
        first = coarse.charts()
        chart = first.chart(words)
        if chart.best == -math.inf:
            return None
        numbers: dict[str, int] = {}
        own, fine = ([_number(numbers, c, n) for n in range(len(c.labels))] for c in (first.compiled, self.compiled))
        mask: _core.Mask = chart.mask(margin, np.array(own, np.int32), len(numbers), np.array(fine, np.int32))
        return mask

    def kbest(self, tokens: Sequence[str], k: int, pruning: _Pruning) -> tuple[Columns, NDArray[np.float64]]:
        chart = self.chart(tokens, pruning)
        if chart.best == -math.inf and pruning != _NOT_AT_ALL:
            chart = self.chart(tokens)  # pruning may have removed the only parses
        if chart.best == -math.inf and self.fallback:
            return _pieces(chart)
        store, roots, logps = chart.kbest(k)
        # Sums of equally probable trees are rounded differently, which must not disturb the descending order.
        return Columns(store, roots), np.minimum.accumulate(logps)

    def forest(self, tokens: Sequence[str], threshold: float, pruning: _Pruning) -> Forest:
        chart = self.chart(tokens, pruning)
        if chart.best == -math.inf and pruning != _NOT_AT_ALL:
            chart = self.chart(tokens)
        if chart.best == -math.inf and self.fallback:
            columns, _ = _pieces(chart)
            return Forest.from_tree(cast(Tree, trees_of(columns)[0]))
        try:
            return Forest._of(chart.forest(threshold, _MAX_EDGES))
        except ValueError as error:
            raise TreeError(
                f"Cannot build the forest of a sentence of {plural(len(tokens), 'word')}: {error}"
            ) from None


def _number(numbers: dict[str, int], compiled: CompiledGrammar, symbol: int) -> int:
    """Return the number of a symbol's label. Hidden symbols and words have -1, which means no restriction."""
    label = compiled.labels[symbol]
    return -1 if label == "" or symbol >= compiled.first_word else numbers.setdefault(label, len(numbers))


def _pieces(chart: _core.Chart) -> tuple[Columns, NDArray[np.float64]]:
    store, pieces = chart.pieces()
    trees = cast("list[Tree]", trees_of(Columns(store, pieces)))
    return Treebank([Tree(FALLBACK, trees)]).columns, np.array([-math.inf])


def _priors(compiled: CompiledGrammar) -> NDArray[np.float64]:
    """Return the approximate log frequency of each symbol in trees of the grammar. A beam adds it to inside scores."""
    size = len(compiled.labels)
    mass = np.zeros(size)
    np.add.at(mass, compiled.start_symbol, np.exp(compiled.start_logp))
    total = mass.copy()
    rules = [
        (compiled.left, compiled.head, compiled.logp),
        (compiled.right, compiled.head, compiled.logp),
        (compiled.unary_child, compiled.unary_head, compiled.unary_logp),
    ]
    for _ in range(20):  # tree levels; deeper levels change little
        below = np.zeros(size)
        for child, head, logp in rules:
            np.add.at(below, child, mass[head] * np.exp(logp))
        mass = np.minimum(below, 1e6)
        total += mass
    with np.errstate(divide="ignore"):
        prior: NDArray[np.float64] = np.maximum(np.log(total / total.sum()), -50.0)
    return prior


def checked_sentence(tokens: Sequence[str], first: int = 0) -> list[str]:
    """Return the words of a sentence, after a check that each can be a leaf of a tree. Errors count words from `first`."""
    if isinstance(tokens, (str, bytes)):
        raise InputTypeError(
            f"A sentence must be a list of words. Got the single string {tokens!r:.60} instead: "
            "split it, for example with .split()."
        )
    if not isinstance(tokens, Iterable):
        raise InputTypeError(f"A sentence must be a list of words. Got {tokens!r:.60} instead.")
    words = list(tokens)
    if not words:
        raise TreeError("The sentence is empty: a parse needs at least one word. Remove empty sentences.")
    if len(words) > _LONGEST:
        raise TreeError(
            f"The sentence has {len(words):,} words, but at most {_LONGEST:,} are supported. "
            "Check that the text was split into sentences."
        )
    for number, word in enumerate(words, first):
        if problem := label_problem(word):
            raise TreeError(f"Word {number} of the sentence is {problem}. Write brackets as -LRB- and -RRB-.")
    return words


def _checked_threshold(prune: float | None) -> float:
    """Return the threshold as a float; infinity for None."""
    if prune is None:
        return math.inf
    if not is_number(prune, 0, infinite=True):
        raise wrong("prune", "a number of at least 0", prune, optional=True)
    return float(prune)


class Parser(ABC):
    """The parsing methods of `PCFG`."""

    __slots__ = ()

    @abstractmethod
    def charts(self) -> Charts:
        """Return the grammar in the form of the native parser. The result is cached."""

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
        >>> from treelet import PCFG
        >>> grammar = PCFG.from_rules(
        ...     [("S", ("S", "S"), 0.3), ("S", ("A", "S"), 0.2), ("S", ("a",), 0.5), ("A", ("a",), 1.0)], start="S"
        ... )
        >>> for tree, logp in grammar.parse(["a", "a"], k=2):
        ...     print(tree, round(logp, 3))
        (S (A a) (S a)) -2.303
        (S (S a) (S a)) -2.59
        """
        columns, logps = self.charts().kbest(tokens, check_count(k), _Pruning(beam, coarse, margin))
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
        >>> from treelet import PCFG
        >>> grammar = PCFG.from_rules([("S", ("S", "S"), 0.4), ("S", ("a",), 0.6)], start="S")
        >>> grammar.forest(["a", "a", "a"]).count_trees()
        2
        """
        return self.charts().forest(tokens, _checked_threshold(prune), _Pruning(beam, coarse, margin))

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
        >>> from treelet import PCFG
        >>> grammar = PCFG.from_rules([("S", ("S", "S"), 0.4), ("S", ("a",), 0.6)], start="S")
        >>> parses = grammar.parse_all([["a"], ["a", "a", "a"]], k=2)
        >>> len(parses.trees), parses.qid.tolist()
        (3, [0, 1, 1])
        """
        charts, items, pruning = self.charts(), list(sentences), _Pruning(beam, coarse, margin)
        check_count(k)
        results = _each(items, lambda tokens: charts.kbest(tokens, k, pruning), Resources.of(n_jobs, progress=progress))
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
        charts, items, pruning = self.charts(), list(sentences), _Pruning(beam, coarse, margin)
        threshold, resources = _checked_threshold(prune), Resources.of(n_jobs, progress=progress)
        return ForestBank(_each(items, lambda tokens: charts.forest(tokens, threshold, pruning), resources))


def _each(items: list[Sequence[str]], work: Callable[[Sequence[str]], Any], resources: Resources) -> list[Any]:
    results: list[Any] = [None] * len(items)

    def process(number: int) -> int:
        try:
            results[number] = work(items[number])
        except (TreeError, InputTypeError) as error:
            raise type(error)(f"Sentence {number}: {error}") from None
        return 1

    with progress_bar(resources.progress, "sentences", len(items)) as advance:
        run(process, _longest_first(items), resources.threads, advance)
    return results


def _longest_first(items: list[Sequence[str]]) -> list[int]:
    """Return the indices of sentences by decreasing length, so that no thread starts a long sentence last."""
    return sorted(range(len(items)), key=lambda number: -len(items[number]) if hasattr(items[number], "__len__") else 0)
