"""The binarized form of a grammar, as arrays for the native parser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article
from treelet.errors import InputTypeError
from treelet.formats.grammars import Word

if TYPE_CHECKING:
    from treelet.parsing.grammar import PCFG

CACHED = 1 << 17  # words
LONG = 80  # maximum length of the name of an intermediate symbol

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
                    names.append(name if len(name) <= LONG else f"(... {rule.tail[index]!s} {len(names)})"[:LONG])
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
            if len(self._cache) >= CACHED:
                self._cache.clear()
            self._cache[key] = entry
        return entry

    def __repr__(self) -> str:
        return (
            f"<CompiledGrammar: {len(self.symbols):,} symbols, {len(self.left):,} binary and "
            f"{len(self.unary_child):,} unary rules>"
        )
