"""A grammar as arrays, binarized, for the native parser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treelet.errors import InputTypeError
from treelet.formats.grammars import Word

if TYPE_CHECKING:
    from treelet.parsing.grammar import PCFG

CACHED = 1 << 17  # words
LONG = 80  # characters of an intermediate symbol's name

Entry = tuple[NDArray[np.int32], NDArray[np.float64]]


class CompiledGrammar:
    """What `PCFG.compiled` gives: symbols are numbers, rules have at most two of them on the right.

    Longer rules go through intermediate symbols, one for each prefix of two or more symbols, whatever the head: these
    cost nothing, and the last step has the rule's whole probability. So a tree has one derivation here for each that it
    has in the grammar, with the same probability.

    Attributes
    ----------
    symbols : list of str
        Nonterminals; then hidden and intermediate symbols; then words that occur beside others in a tail.
    labels : list of str
        What appears in trees: the symbol's label, the word, or ``""`` where the children go to the parent.
    first_word : int
        The number of the first word among the symbols.
    left, right, head, logp : arrays
        Binary rules, sorted by left, right and head, each once.
    unary_child, unary_head, unary_logp : arrays
        Rules from one nonterminal to one nonterminal.
    start_symbol, start_logp : arrays
        Where trees begin.

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
        # Words are numbered from -1 downwards until all symbols are there.
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

        def numbered(found: NDArray[np.int32]) -> NDArray[np.int32]:
            return np.where(found < 0, self.first_word - 1 - found, found).astype(np.int32)

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
        """What each word of a sentence may be: symbols and log P(word | symbol), from ``start[i]`` to ``start[i + 1]``.

        A word that occurs beside others in a tail is also itself, with 0.
        """
        if isinstance(tokens, (str, bytes)):
            raise InputTypeError(f"a sentence is a list of words, got one string: split it ({tokens[:40]!r})")
        entries = [self._entry(token, index == 0) for index, token in enumerate(tokens)]
        start = np.zeros(len(entries) + 1, np.int64)
        np.cumsum([len(symbol) for symbol, _ in entries], out=start[1:])
        if not entries:
            return start, np.zeros(0, np.int32), np.zeros(0)
        return start, np.concatenate([symbol for symbol, _ in entries]), np.concatenate([logp for _, logp in entries])

    def _entry(self, token: str, first: bool) -> Entry:
        if not isinstance(token, str):
            raise InputTypeError(f"a sentence is a list of words, got a {type(token).__name__} in it: {token!r}")
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
