"""Parsing: sentences to the k best trees, or to packed forests."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import is_number, wrong
from treelet.errors import InputTypeError, TreeError
from treelet.formats.base import Columns
from treelet.formats.brackets import label_problem
from treelet.memory import available
from treelet.progress import progress_bar
from treelet.resources import Resources
from treelet.structures.forest import Forest, check_count
from treelet.structures.forest_bank import ForestBank
from treelet.structures.tree import Tree, trees_of
from treelet.structures.treebank import Treebank
from treelet.work import run

if TYPE_CHECKING:
    from treelet.parsing.compiled import CompiledGrammar
    from treelet.parsing.grammar import PCFG

FALLBACK = "FALLBACK"
"""Label of the root of what stands in for a parse where there is none."""

MAX_EDGES = 20_000_000
LONGEST = 5000  # words
CHAIN = 96  # bytes that a pair of symbols with a unary chain between them takes, at most, while a grammar is made ready
NO_PARSE = -1000.0  # log probability that stands for none


@dataclass(frozen=True)
class Pruning:
    """How a chart may be cut short: not at all, unless asked.

    Parameters
    ----------
    beam : float, optional
        Symbols whose log probability, with that of the symbol itself, lies more than this below the best of the same
        span are dropped.
    coarse : PCFG, optional
        A smaller grammar with the same labels: it parses first, and only labels and spans within `margin` (natural
        logarithm) of its best parse are tried with the real one.
    margin : float
        For `coarse`.
    """

    beam: float | None = None
    coarse: PCFG | None = None
    margin: float = 12.0

    def __post_init__(self) -> None:
        if self.coarse is not None and not isinstance(self.coarse, Parser):
            raise InputTypeError(f"coarse must be a PCFG, got {type(self.coarse).__name__}")
        for name, value in (("beam", self.beam), ("margin", self.margin)):
            if value is not None and not (is_number(value, 0, infinite=True) and value > 0):
                raise wrong(name, "a positive number", value)


NOT_AT_ALL = Pruning()


class Candidates(NamedTuple):
    """The parses of several sentences, row by row.

    Attributes
    ----------
    trees : Treebank
        All parses, sentence by sentence, each sentence's best first.
    logp : ndarray
        Their log probabilities; -inf marks a fallback.
    qid : ndarray
        The number of each one's sentence.
    """

    trees: Treebank
    logp: NDArray[np.float64]
    qid: NDArray[np.int64]


def relative_logp(logp: NDArray[np.float64], qid: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log probabilities of parses, less that of the best one of the same sentence; a fallback, which has none, counts as far below.

    >>> relative_logp(np.array([-2.0, -5.0, -np.inf, -7.0]), np.array([0, 0, 0, 1])).tolist()
    [0.0, -3.0, -998.0, 0.0]
    """
    known = np.where(np.isfinite(logp), logp, NO_PARSE)
    most = np.full(int(qid.max(initial=-1)) + 1, -math.inf)
    np.maximum.at(most, qid, known)
    relative: NDArray[np.float64] = known - most[qid]
    return relative


class Charts:
    """A grammar made ready for the native parser."""

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
            available() // CHAIN,
        )
        self.prior = _priors(compiled)

    def chart(self, tokens: Sequence[str], pruning: Pruning = NOT_AT_ALL) -> _core.Chart:
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

    def kbest(self, tokens: Sequence[str], k: int, pruning: Pruning) -> tuple[Columns, NDArray[np.float64]]:
        chart = self.chart(tokens, pruning)
        if chart.best == -math.inf and pruning != NOT_AT_ALL:
            chart = self.chart(tokens)  # a parse may have been cut off
        if chart.best == -math.inf and self.fallback:
            return _pieces(chart)
        store, roots, logps = chart.kbest(k)
        return Columns(store, roots), np.minimum.accumulate(logps)  # equals' sums are rounded each in its order

    def forest(self, tokens: Sequence[str], threshold: float, pruning: Pruning) -> Forest:
        chart = self.chart(tokens, pruning)
        if chart.best == -math.inf and pruning != NOT_AT_ALL:
            chart = self.chart(tokens)
        if chart.best == -math.inf and self.fallback:
            columns, _ = _pieces(chart)
            return Forest.from_tree(cast(Tree, trees_of(columns)[0]))
        try:
            return Forest._of(chart.forest(threshold, MAX_EDGES))
        except ValueError as error:
            raise TreeError(f"the forest of {len(tokens)} words: {error}") from None


def _number(numbers: dict[str, int], compiled: CompiledGrammar, symbol: int) -> int:
    """The number of a symbol's label; -1, which is no restriction, for hidden symbols and words."""
    label = compiled.labels[symbol]
    return -1 if label == "" or symbol >= compiled.first_word else numbers.setdefault(label, len(numbers))


def _pieces(chart: _core.Chart) -> tuple[Columns, NDArray[np.float64]]:
    store, pieces = chart.pieces()
    trees = cast("list[Tree]", trees_of(Columns(store, pieces)))
    return Treebank([Tree(FALLBACK, trees)]).columns, np.array([-math.inf])


def _priors(compiled: CompiledGrammar) -> NDArray[np.float64]:
    """The logarithm of how often a symbol is met in trees of the grammar, roughly: what a beam adds to inside scores."""
    size = len(compiled.labels)
    mass = np.zeros(size)
    np.add.at(mass, compiled.start_symbol, np.exp(compiled.start_logp))
    total = mass.copy()
    rules = [
        (compiled.left, compiled.head, compiled.logp),
        (compiled.right, compiled.head, compiled.logp),
        (compiled.unary_child, compiled.unary_head, compiled.unary_logp),
    ]
    for _ in range(20):  # levels: further down there is little news
        below = np.zeros(size)
        for child, head, logp in rules:
            np.add.at(below, child, mass[head] * np.exp(logp))
        mass = np.minimum(below, 1e6)
        total += mass
    with np.errstate(divide="ignore"):
        prior: NDArray[np.float64] = np.maximum(np.log(total / total.sum()), -50.0)
    return prior


def checked_sentence(tokens: Sequence[str]) -> list[str]:
    """The words of a sentence, each fit to be in a tree."""
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
        raise InputTypeError(f"a sentence is a list of words, got {tokens!r:.60}: split it, for example with .split()")
    words = list(tokens)
    if not words:
        raise TreeError("a sentence without words has no parse: leave it out")
    if len(words) > LONGEST:
        raise TreeError(f"a sentence of {len(words):,} words, more than {LONGEST:,}: is it several?")
    for number, word in enumerate(words):
        if problem := label_problem(word):
            raise TreeError(f"word {number} of the sentence is {problem}; write brackets as -LRB- and -RRB-")
    return words


def checked_threshold(prune: float | None) -> float:
    """A number of at least 0, or infinity for None."""
    if prune is None:
        return math.inf
    if not is_number(prune, 0, infinite=True):
        raise wrong("prune", "a number of at least 0", prune, optional=True)
    return float(prune)


class Parser(ABC):
    """What a grammar can do with sentences: the part of `PCFG` that parses."""

    __slots__ = ()

    @abstractmethod
    def charts(self) -> Charts:
        """The grammar made ready for the native parser, once."""

    def parse(
        self,
        tokens: Sequence[str],
        k: int = 1,
        *,
        beam: float | None = None,
        coarse: PCFG | None = None,
        margin: float = 12.0,
    ) -> list[tuple[Tree, float]]:
        """The `k` best parses of a sentence.

        Parameters
        ----------
        tokens : list of str
            The words. Brackets are written -LRB- and -RRB-.
        k : int
            How many; there may be fewer.
        beam : float, optional
            Cut the chart: symbols more than this (natural logarithm) below the best of their span go. Exact without.
        coarse : PCFG, optional
            Let this smaller grammar with the same labels parse first, and try only what comes within `margin`
            (natural logarithm) of its best parse.
        margin : float
            For `coarse`.

        Returns
        -------
        list of (Tree, float)
            Trees with their log probabilities, best first, none twice. A symbol over itself, with the same span, does not
            occur: unary cycles would give endlessly many trees. (Where symbols of a grammar of yours share labels, so
            that a tree has many derivations, the search for others ends at 100 k.) Where there is no parse, the list is empty; or, from a grammar of a treebank, it holds the
            likeliest pieces under a root that is labeled FALLBACK, with the log probability -inf.

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
        columns, logps = self.charts().kbest(tokens, check_count(k), Pruning(beam, coarse, margin))
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
        """All parses of a sentence as a packed forest of the grammar's own productions.

        Parameters
        ----------
        tokens : list of str
            The words.
        prune : float, optional
            Leave out what is in no parse within this (natural logarithm) of the best; 8 is usual. Without it the
            forest of a treebank's grammar is very large.
        beam, coarse, margin
            As in `parse`.

        Returns
        -------
        Forest
            Empty if there is no parse; or the one fallback tree, from a grammar of a treebank. Nodes whose label in
            the grammar had an annotation stay apart, though their labels are equal.
        """
        return self.charts().forest(tokens, checked_threshold(prune), Pruning(beam, coarse, margin))

    def parse_all(
        self,
        sentences: Iterable[Sequence[str]],
        k: int = 1,
        *,
        beam: float | None = None,
        coarse: PCFG | None = None,
        margin: float = 12.0,
        n_jobs: int | None = 1,
        progress: bool = False,
    ) -> Candidates:
        """The `k` best parses of each of many sentences, in threads: see `parse`.

        Returns
        -------
        Candidates
            ``trees`` (a Treebank), ``logp`` and ``qid`` (the number of the sentence), one row a parse.
        """
        charts, items, pruning = self.charts(), list(sentences), Pruning(beam, coarse, margin)
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
        progress: bool = False,
    ) -> ForestBank:
        """The forest of each of many sentences, in threads: see `forest`."""
        charts, items, pruning = self.charts(), list(sentences), Pruning(beam, coarse, margin)
        threshold, resources = checked_threshold(prune), Resources.of(n_jobs, progress=progress)
        return ForestBank(_each(items, lambda tokens: charts.forest(tokens, threshold, pruning), resources))


def _each(items: list[Sequence[str]], work: Callable[[Sequence[str]], Any], resources: Resources) -> list[Any]:
    results: list[Any] = [None] * len(items)

    def one(number: int) -> int:
        try:
            results[number] = work(items[number])
        except (TreeError, InputTypeError) as error:
            raise type(error)(f"sentence {number}: {error}") from None
        return 1

    with progress_bar(resources.progress, "sentences", len(items)) as advance:
        run(one, _longest_first(items), resources.threads, advance)
    return results


def _longest_first(items: list[Sequence[str]]) -> list[int]:
    """So that no thread is left with a long sentence at the end."""
    return sorted(range(len(items)), key=lambda number: -len(items[number]) if hasattr(items[number], "__len__") else 0)
