"""Parsing sentences with a grammar: the k best trees, or packed forests."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import article, plural, some_of
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.formats.base import Columns
from treelet.formats.brackets import label_problem
from treelet.formats.grammars import Word
from treelet.resources import available
from treelet.structures.forest import Forest
from treelet.structures.tree import Tree, trees_of
from treelet.structures.treebank import Treebank

if TYPE_CHECKING:
    from treelet.parsing import PCFG


# --- sentences that a person types ------------------------------------------------------------------------------------

_BEFORE = "\"'“‘«¿¡"
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
    the end of the sentence are dropped. Errors count words from 1.
    """
    known = grammar.lexicon
    words = _typed_words(text, known)
    if not any(not any(map(str.isalnum, word)) for word in known):
        while len(words) > 1 and not words[-1].strip(".!?…"):
            words.pop()
    adapted = [lower if word not in known and (lower := word.lower()) in known else word for word in words]
    return _checked_sentence(adapted, first=1)


def outside_grammar(grammar: PCFG, words: Sequence[str], subject: str, remedy: str) -> str:
    """Return the message about a sentence, the subject, that has no parse or only the pieces of a fallback."""
    unknown = grammar.unknown_words(words)
    pieces = (
        ", so the tree under FALLBACK is not a parse: it joins the most probable pieces" if grammar.fallback else ""
    )
    reason = f"Unknown words: {some_of(unknown, 10)}" if unknown else "All of its words are known"
    return f"{subject} is outside this grammar{pieces}. {reason}. {remedy}"


# --- the binarized form of a grammar, as arrays for the native parser -------------------------------------------------

FALLBACK = "FALLBACK"
"""Root label of a fallback tree, which is returned for a sentence without a parse."""

_MAX_EDGES = 20_000_000
_NO_PARSE = -1000.0  # stands for the log probability of a fallback tree

_Entry = tuple[NDArray[np.int32], NDArray[np.float64]]
Pruning = tuple[float, "CompiledGrammar | None", float]
"""How a chart is pruned: beam, coarse grammar and margin, as in `PCFG.parse`. An infinite beam drops nothing."""


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
        longest = 80  # characters in the name of an intermediate symbol
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
                    names.append(name if len(name) <= longest else f"(... {rule.tail[index]!s} {len(names)})"[:longest])
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
        self._cache: dict[tuple[str, bool], _Entry] = {}
        self._native = _core.grammar(
            self.labels,
            self.first_word,
            self.left,
            self.right,
            self.head,
            self.logp,
            self.unary_child,
            self.unary_head,
            self.unary_logp,
            self.start_symbol,
            self.start_logp,
            available() // 96,  # at most so many bytes per pair of symbols that a unary chain connects
        )
        self._prior = self._symbol_prior()

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

    def _entry(self, token: str, first: bool) -> _Entry:
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
            if len(self._cache) >= 1 << 17:
                self._cache.clear()
            self._cache[key] = entry
        return entry

    # --- parsing ------------------------------------------------------------------------------------------------

    def chart(self, tokens: Sequence[str], pruning: Pruning = (math.inf, None, 0.0)) -> _core.Chart:
        """Parse a sentence into a chart."""
        words, (beam, coarse, margin) = _checked_sentence(tokens), pruning
        mask: _core.Mask | None = None
        if coarse is not None and (first := coarse.chart(words)).best > -math.inf:
            # Labels are numbered across both grammars. Hidden symbols and words have -1, which means no restriction.
            numbers: dict[str, int] = {}
            own, fine = (
                np.array(
                    [
                        -1 if label == "" or symbol >= grammar.first_word else numbers.setdefault(label, len(numbers))
                        for symbol, label in enumerate(grammar.labels)
                    ],
                    np.int32,
                )
                for grammar in (coarse, self)
            )
            mask = first.mask(margin, own, len(numbers), fine)
        return _core.Chart(self._native, words, *self.entries(words), beam, self._prior, mask, available() // 3)

    def _unpruned_if_empty(self, tokens: Sequence[str], pruning: Pruning) -> _core.Chart:
        chart = self.chart(tokens, pruning)
        if chart.best == -math.inf and pruning[:2] != (math.inf, None):
            chart = self.chart(tokens)  # pruning may have removed the only parses
        return chart

    def kbest(self, tokens: Sequence[str], k: int, pruning: Pruning) -> tuple[Columns, NDArray[np.float64]]:
        """Return the `k` most probable trees of a sentence and their log probabilities, or the fallback tree."""
        chart = self._unpruned_if_empty(tokens, pruning)
        if chart.best == -math.inf and self._grammar.fallback:
            return Treebank([_fallback_tree(chart)]).columns, np.array([-math.inf])
        store, roots, logps = chart.kbest(k)
        # Sums of equally probable trees are rounded differently, which must not disturb the descending order.
        return Columns(store, roots), np.minimum.accumulate(logps)

    def forest(self, tokens: Sequence[str], threshold: float, pruning: Pruning) -> Forest:
        """Return the parses of a sentence within the threshold of the best one, or the fallback tree, as a forest."""
        chart = self._unpruned_if_empty(tokens, pruning)
        if chart.best == -math.inf and self._grammar.fallback:
            return Forest.from_tree(_fallback_tree(chart))
        try:
            return Forest._of(chart.forest(threshold, _MAX_EDGES))
        except ValueError as error:
            raise TreeError(
                f"Cannot build the forest of a sentence of {plural(len(tokens), 'word')}: {error}"
            ) from None

    def _symbol_prior(self) -> NDArray[np.float64]:
        """Return the approximate log frequency of each symbol in trees of the grammar. A beam adds it to inside scores."""
        size = len(self.labels)
        mass = np.zeros(size)  # expected number of occurrences of each symbol at one level of a tree
        np.add.at(mass, self.start_symbol, np.exp(self.start_logp))
        total = mass.copy()
        rules = [
            (self.left, self.head, self.logp),
            (self.right, self.head, self.logp),
            (self.unary_child, self.unary_head, self.unary_logp),
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

    def __repr__(self) -> str:
        return (
            f"<CompiledGrammar: {len(self.symbols):,} symbols, {len(self.left):,} binary and "
            f"{len(self.unary_child):,} unary rules>"
        )


def _fallback_tree(chart: _core.Chart) -> Tree:
    """Join the most probable pieces of a sentence without a parse."""
    store, pieces = chart.pieces()
    return Tree(FALLBACK, cast("list[Tree]", trees_of(Columns(store, pieces))))


# --- drawing random trees from a grammar ------------------------------------------------------------------------------

_LARGE = 1e100  # a larger total weight counts as infinite
_Vector = NDArray[np.float64]
_Numbers = NDArray[np.int64]


def _totals(head: _Numbers, weight: _Vector, start: _Numbers, tail: _Numbers, n: int) -> _Vector:
    """Return the total weight of the finite trees of each of n symbols.

    This is the least solution of Z(head) = Σ weight ∏ Z(tail). It is computed by fixed-point
    iteration from 0, which is slow only if derivations are close to being infinite. The result is
    infinity where the iteration does not converge. The tail of rule r begins at ``start[r]``; number
    n stands for any word.
    """
    estimate = np.zeros(n + 1)
    estimate[n] = 1
    for _ in range(5000):
        before = estimate
        estimate = np.append(
            np.bincount(head, weight * np.multiply.reduceat(before[tail], start[:-1]), minlength=n), 1.0
        )
        change = np.abs(estimate - before)
        if (change <= 1e-13 * estimate).all() or not estimate.max() < _LARGE:
            break
    return np.where(change <= 1e-5 * estimate, estimate, np.inf)


def sampler(grammar: PCFG) -> _core.Sampler:
    """Return the native sampler of a grammar."""
    names = [*grammar.labels, *sorted(grammar.hidden)]
    number = {symbol: index for index, symbol in enumerate(names)}
    rules = sorted(grammar.productions(), key=lambda rule: number[rule.head])
    head = np.array([number[rule.head] for rule in rules])
    start = _starts(len(rule.tail) for rule in rules)
    known = np.array([len(names) if isinstance(item, Word) else number[item] for rule in rules for item in rule.tail])
    weight = np.array([rule.probability for rule in rules])
    total = _totals(head, weight, start, known, len(names))
    weight = weight * np.multiply.reduceat(total[known], start[:-1])
    at_start = np.array([p * total[number[symbol]] for symbol, p in grammar.start.items()])
    if not 0 < at_start.sum() < _LARGE:
        raise ParameterError(
            "No tree can be drawn from this grammar: "
            + (
                "it has no finite tree. Add rules that lead from the start symbol to words."
                if at_start.sum() == 0
                else "the sum of the weights of its trees is infinite. Reduce the weights of recursive rules."
            )
        )
    # Symbols without a finite tree are never drawn. Nor are symbols with an infinite total, because
    # otherwise the total of the start symbols would be infinite. Both are left out.
    usable = np.flatnonzero((total[:-1] > 0) & (total[:-1] < _LARGE))
    used = (weight > 0) & (weight < _LARGE) & (total[head] < _LARGE)
    index_of = np.full(len(names), -1)
    index_of[usable] = np.arange(len(usable))
    kept = [rule for rule, wanted in zip(rules, used, strict=True) if wanted]
    words = dict.fromkeys(item for rule in kept for item in rule.tail if isinstance(item, Word))
    numbers: dict[str, int] = {word: len(usable) + at for at, word in enumerate(words)}
    numbers |= {symbol: int(index_of[at]) for symbol, at in number.items()}
    begun = at_start > 0
    return _core.Sampler.of(
        [grammar.labels.get(names[symbol], "") for symbol in usable] + list(map(str, words)),
        len(usable),
        _starts(np.bincount(index_of[head[used]], minlength=len(usable)).tolist()),
        _starts(len(rule.tail) for rule in kept),
        np.array([numbers[item] for rule in kept for item in rule.tail], np.int32),
        weight[used],
        np.array([numbers[symbol] for symbol in grammar.start], np.int32)[begun],
        at_start[begun],
    )


def _starts(lengths: Iterable[int]) -> _Numbers:
    return np.concatenate([[0], np.cumsum(list(lengths))]).astype(np.int64)


# --- results and checks of sentences ----------------------------------------------------------------------------------


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


def _checked_sentence(tokens: Sequence[str], first: int = 0) -> list[str]:
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
    longest = 5000
    if len(words) > longest:
        raise TreeError(
            f"The sentence has {len(words):,} words, but at most {longest:,} are supported. "
            "Check that the text was split into sentences."
        )
    for number, word in enumerate(words, first):
        if problem := label_problem(word):
            raise TreeError(f"Word {number} of the sentence is {problem}. Write brackets as -LRB- and -RRB-.")
    return words
