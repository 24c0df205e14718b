"""Parse reranking (Collins & Duffy 2001): a kernel machine chooses among the candidates of a parser."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treelet.checks import MOST, article, check_integer, check_number, document_names, is_integer, plural, wrong
from treelet.errors import FormatError, InputTypeError, ParameterError, TreeError, TreeletError
from treelet.formats.files import PathLike, Source, open_source
from treelet.formats.json_files import read_nbest
from treelet.kernels import Kernel, Linear, On, SubsetTree
from treelet.learn import RankRLS, RankSVM, VotedPerceptron
from treelet.metrics import BracketCounts, best_of_group, candidate_scores, oracle
from treelet.parsing import PCFG
from treelet.parsing.chart import relative_logp
from treelet.structures import Table, Tree, Treebank
from treelet.structures.bank import row_index
from treelet.work import generator, progress_bar

Rows = NDArray[np.int64]
_LAST_WORDS = re.compile(r"([^\s()]+)\s*\)")  # the last word of each bracket that ends with a word

Ranker = VotedPerceptron | RankSVM | RankRLS


@dataclass(frozen=True, eq=False)
class CandidateParses:
    """Sentences with their gold trees and candidate parses.

    Parameters
    ----------
    gold : Treebank
        The gold tree of each sentence.
    trees : Treebank
        The candidates of all sentences.
    logp : ndarray of float
        Log probability of each candidate, from the parser. It is -inf for a fallback tree.
    qid : ndarray of int
        Index of the sentence of each candidate, ascending. Each sentence has at least one candidate.
    counts : BracketCounts, optional
        Number of matched, gold and proposed constituents of each candidate, for the parse score of
        Collins & Duffy (2001). Default: counted.
    documents : sequence of str, optional
        Name of the document of each sentence. Default: None, if documents are not known.

    Examples
    --------
    >>> import treelet as tl
    >>> from treelet.tasks import CandidateParses
    >>> train, _, test = tl.datasets.flights_split()
    >>> found = CandidateParses.parsed(tl.PCFG.from_treebank(train), test[:20], k=10)
    >>> found
    <CandidateParses: 20 sentences, 196 candidates; parse score of the first 89.5, of the best 97.0>
    """

    gold: Treebank
    trees: Treebank
    logp: NDArray[np.float64]
    qid: Rows
    counts: BracketCounts = field(default=None)  # type: ignore[assignment]  # made below
    documents: Sequence[str] | None = None

    def __post_init__(self) -> None:
        qid = np.asarray(self.qid, dtype=np.int64)
        object.__setattr__(self, "qid", qid)
        object.__setattr__(self, "logp", np.asarray(self.logp, dtype=np.float64))
        if not len(self.trees) == len(self.logp) == len(qid):
            raise ParameterError(
                "'trees', 'logp' and 'qid' must have the same length. "
                f"Got {len(self.trees):,}, {len(self.logp):,} and {len(qid):,} instead."
            )
        if len(bad := np.flatnonzero(~(self.logp < math.inf))):
            raise ParameterError(
                f"The log probability of candidate {bad[0]} is {self.logp[bad[0]]}. Pass a finite number, "
                "or -inf for a fallback tree."
            )
        if not (np.array_equal(np.unique(qid), np.arange(len(self.gold))) and (np.diff(qid) >= 0).all()):
            raise ParameterError(
                f"'qid' must be ascending, and each of the {plural(len(self.gold), 'sentence')} (0, 1, ...) "
                "must have at least one candidate. Sort the candidates by sentence, and remove sentences without any."
            )
        if self.documents is not None:
            object.__setattr__(self, "documents", document_names(self.documents, len(self.gold)))
        if self.counts is None:
            object.__setattr__(self, "counts", candidate_scores(self.gold, self.trees, qid))

    # --- constructors -------------------------------------------------------------------------------------------

    @classmethod
    def parsed(
        cls, grammar: PCFG, gold: object, k: int = 100, *, n_jobs: int = 1, progress: bool | None = None
    ) -> Self:
        """Parse the words of each gold tree with a grammar.

        Parameters
        ----------
        grammar : PCFG
        gold : Treebank or collection of trees
            The gold trees.
        k : int, default 100
            Maximum number of candidates per sentence, at least 1.
        n_jobs : int, default 1
            Number of threads. -1 uses one thread per core.
        progress : bool, optional
            Show a progress bar on standard error. Default: as in `treelet.config_context`.

        Returns
        -------
        CandidateParses

        Raises
        ------
        TreeError
            If a sentence has no parse. A grammar from `PCFG.from_treebank` always returns at least a
            fallback tree.
        """
        bank = Treebank.of(gold)
        parsed = grammar.parse_all(_sentences(bank), k, n_jobs=n_jobs, progress=progress)
        if not np.array_equal(np.unique(parsed.qid), np.arange(len(bank))):
            missing = np.setdiff1d(np.arange(len(bank)), parsed.qid)
            raise TreeError(
                f"Sentence {missing[0]} has no parse under this grammar. Remove it, or use a grammar from "
                "PCFG.from_treebank, which returns a fallback tree in this case."
            )
        return cls(bank, parsed.trees, parsed.logp, parsed.qid)

    @classmethod
    def jackknifed(
        cls,
        gold: object,
        k: int = 100,
        *,
        folds: int = 10,
        n_jobs: int = 1,
        progress: bool | None = None,
        **options: Any,
    ) -> Self:
        """Parse the words of each gold tree with a grammar estimated from the other folds.

        A grammar is too accurate on the sentences from which it was estimated. With jackknifing, the
        candidates in training are similar to those of new sentences.

        Parameters
        ----------
        gold : Treebank or collection of trees
            The gold trees.
        k : int, default 100
            Maximum number of candidates per sentence, at least 1.
        folds : int, default 10
            Number of folds, from 2 to the number of trees.
        n_jobs : int, default 1
            Number of threads. -1 uses one thread per core.
        progress : bool, optional
            Show a progress bar on standard error. Default: as in `treelet.config_context`.
        **options
            Options of `PCFG.from_treebank`.

        Returns
        -------
        CandidateParses
        """
        bank = Treebank.of(gold)
        if not is_integer(folds, 2, len(bank)):
            raise wrong("folds", f"an int from 2 to the number of trees ({len(bank):,})", folds)
        order = np.arange(len(bank))
        parts = []
        with progress_bar(progress, "sentences", len(bank)) as advance:
            for fold in range(int(folds)):
                held = order % folds == fold
                grammar = PCFG.from_treebank(bank[~held], **options)
                parts.append((order[held], cls.parsed(grammar, bank[held], k, n_jobs=n_jobs, progress=False)))
                advance(int(held.sum()))
        qid = np.concatenate([numbers[parsed.qid] for numbers, parsed in parts])
        rows = np.argsort(qid, kind="stable")
        counts = _joined([parsed.counts for _, parsed in parts])
        return cls(
            bank,
            Treebank.concat([parsed.trees for _, parsed in parts])[rows],
            np.concatenate([parsed.logp for _, parsed in parts])[rows],
            qid[rows],
            counts[rows],
        )

    @classmethod
    def read(cls, file: PathLike, *, on_error: str = "raise") -> Self:
        """Read the candidate lists of another parser.

        Parameters
        ----------
        file : path
            A file with one JSON object per line:
            ``{"gold": tree, "nbest": [[log probability, ..., tree], ...], "doc": name}``. Items between the
            log probability and the tree are ignored. ``doc`` is optional and may be null.
        on_error : {"raise", "skip"}, default "raise"
            With ``"skip"``, malformed sentences are skipped. A warning reports their number and the
            locations of the first ones.

        Returns
        -------
        CandidateParses
            The attribute `documents` has the ``doc`` of each sentence. Default: its line number.
        """
        gold, trees, logp, qid, documents, lines = [], [], [], [], [], []
        with open_source(file, on_error=on_error) as source:
            for number, items, data in read_nbest(source, gold=True):
                right = data["gold"]
                with source.item():
                    _check_list(source, number, right, items)
                    gold.append(right)
                    lines.append(number)
                    logp += [score for _, score in items]
                    trees += [tree for tree, _ in items]
                    qid += [len(gold) - 1] * len(items)
                    documents.append(str(number if data.get("doc") is None else data["doc"]))
            source.told(len(gold), "sentences")
            try:
                return cls(
                    Treebank(gold), Treebank(trees), np.array(logp), np.array(qid, np.int64), documents=documents
                )
            except TreeletError:
                for number, right in zip(lines, gold, strict=True):
                    _check_words(source, number, None, right, right)
                for row, tree in enumerate(trees):
                    _check_words(source, lines[qid[row]], row - qid.index(qid[row]), gold[qid[row]], tree)
                raise

    # --- selection ----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.gold)

    def __repr__(self) -> str:
        if not len(self):
            return "<CandidateParses: no sentences>"
        return (
            f"<CandidateParses: {plural(len(self), 'sentence')}, {plural(len(self.trees), 'candidate')}; parse score of the first "
            f"{self.first_score:.1f}, of the best {self.oracle_score:.1f}>"
        )

    def sentences(self, which: int | slice | Sequence[int] | NDArray[Any]) -> CandidateParses:
        """Select sentences with their candidates, in the given order. A mask of booleans selects as well."""
        which = row_index(list(which) if isinstance(which, tuple) else which, len(self), "collection of sentences")
        numbers = np.atleast_1d(np.arange(len(self))[which])
        starts = np.searchsorted(self.qid, np.arange(len(self) + 1))
        rows = [np.arange(starts[number], starts[number + 1]) for number in numbers]
        qid = np.repeat(np.arange(len(numbers)), [len(part) for part in rows])
        chosen = self._rows(np.concatenate(rows) if rows else np.zeros(0, np.int64), self.gold[numbers], qid)
        return chosen if self.documents is None else replace(chosen, documents=[self.documents[n] for n in numbers])

    def sample(self, n: int = 20, random_state: Any = 0) -> CandidateParses:
        """Draw at most `n` random candidates per sentence. The best candidate is always included."""
        check_integer("n", n)
        random = generator(random_state)
        # Take the first n of each sentence in a random order that begins with the best candidate.
        key = random.random(len(self.qid))
        key[best_of_group(self.counts.goodness, self.qid)] = -1.0
        order = np.lexsort((key, self.qid))
        position = np.arange(len(order)) - np.searchsorted(self.qid, self.qid[order])
        rows = np.sort(order[position < n])
        return replace(self._rows(rows, self.gold, self.qid[rows]), documents=self.documents)

    def with_gold(self) -> CandidateParses:
        """Add the gold tree of each sentence as its first candidate, with log probability -inf."""
        n = np.arange(len(self))
        qid = np.concatenate([n, self.qid])
        rows = np.argsort(qid, kind="stable")
        return CandidateParses(
            self.gold,
            Treebank.concat([self.gold, self.trees])[rows],
            np.concatenate([np.full(len(self), -math.inf), self.logp])[rows],
            qid[rows],
            _joined([candidate_scores(self.gold, self.gold, n), self.counts])[rows],
            self.documents,
        )

    def _rows(self, rows: Rows, gold: Treebank, qid: Rows) -> CandidateParses:
        return CandidateParses(gold, self.trees[rows], self.logp[rows], qid, self.counts[rows])

    @staticmethod
    def concat(parts: Iterable[CandidateParses]) -> CandidateParses:
        """Concatenate the sentences of one or more collections. Documents remain if they are known for all of them."""
        parts = list(parts)
        if not parts:
            raise ParameterError("There are no collections to concatenate. Pass at least one.")
        named = [name for part in parts for name in part.documents or ()]
        shift = np.cumsum([0, *(len(part) for part in parts[:-1])])
        return CandidateParses(
            Treebank.concat([part.gold for part in parts]),
            Treebank.concat([part.trees for part in parts]),
            np.concatenate([part.logp for part in parts]),
            np.concatenate([part.qid + more for part, more in zip(parts, shift, strict=True)]),
            _joined([part.counts for part in parts]),
            named if all(part.documents is not None for part in parts) else None,
        )

    def table(self) -> Table:
        """Return a table for kernels, one row per candidate, with the columns ``"tree"`` and ``"logp"``.

        The log probability is relative to that of the best candidate of the sentence. Only differences
        within a sentence matter, and long sentences should not get a larger weight.
        """
        return Table({"tree": self.trees, "logp": self.relative_logp()[:, None]})

    def relative_logp(self) -> NDArray[np.float64]:
        """Return the log probability of each candidate minus that of the best candidate of its sentence.

        A fallback tree, whose log probability is -inf, counts as -1000. If another candidate of the sentence is at
        -1000 or below, it counts as 1 less than the least probable one.
        """
        return relative_logp(self.logp, self.qid)

    # --- scores -------------------------------------------------------------------------------------------------

    def best(self, scores: NDArray[np.float64]) -> Rows:
        """Return the row with the highest score of each sentence. Ties are broken by log probability."""
        order = np.lexsort((-self.relative_logp(), -scores, self.qid))
        rows: Rows = order[np.searchsorted(self.qid, np.arange(len(self)))]
        return rows

    def first(self) -> Rows:
        """Return the rows of the parser's first choices, which have the highest log probability of each sentence."""
        return best_of_group(self.relative_logp(), self.qid)

    def score(self, rows: Rows) -> float:
        """Return the parse score of one chosen candidate per sentence, in percent."""
        return self.counts[rows].parse_score

    @property
    def first_score(self) -> float:
        """Parse score of the parser's first choices, in percent."""
        return self.score(self.first())

    @property
    def oracle_score(self) -> float:
        """Parse score of the best candidates (oracle), in percent: the upper bound for reranking."""
        return oracle(self.counts, self.qid).parse_score


def _check_list(source: Source, number: int, right: str, items: list[tuple[str, float]]) -> None:
    """Check that a sentence has candidates with the words of the gold tree and, with on_error="skip", that all are trees."""
    if not items:
        raise source.error("this sentence has no candidates. Remove the line, or pass on_error='skip'.", number)
    for place, (_, logp) in enumerate(items):
        if not logp < math.inf:  # NaN or infinite
            raise source.error(
                f"the log probability of candidate {place} is {logp}. Write a finite number, or -Infinity for a fallback tree.",
                number,
            )
    trees = [tree for tree, _ in items]
    words, thorough = _LAST_WORDS.findall(right), source.on_error == "skip"
    if thorough:
        _check_words(source, number, None, right, right)
    for place, tree in enumerate(trees):
        if thorough or _LAST_WORDS.findall(tree) != words:  # a quick test that can fail for equal words
            _check_words(source, number, place, right, tree)


def _check_words(source: Source, line: int, place: int | None, gold: str, tree: str) -> None:
    """Raise an error if a tree cannot be read, or if its words differ from those of the gold tree."""
    name = "the gold tree" if place is None else f"candidate {place}"
    try:
        own, right = Tree.parse(tree).words(), Tree.parse(gold).words()
    except FormatError as error:
        raise source.error(f"{name}: {error.message}", line) from None
    if own != right:
        raise source.error(
            f"the words of {name} differ from those of the gold tree. All candidates must have the same words.", line
        )


def _sentences(bank: Treebank) -> list[list[str]]:
    out = []
    for number, tree in enumerate(bank):
        if tree is None or not tree.children:
            reason = "missing" if tree is None else f"the single word {tree.label!r}"
            raise TreeError(f"Tree {number} is {reason}. Remove it: a gold tree needs a label above its words.")
        out.append(tree.words())
    return out


def _joined(parts: list[BracketCounts]) -> BracketCounts:
    return BracketCounts(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("matched", "gold", "proposed"))
    )


def reranking_kernel(trees: Kernel | None = None, logp: float = 0.1) -> Kernel:
    """Return the sum of a tree kernel on the candidates and the parser's log probability with weight `logp`.

    The ranker learns the weight of the log probability, as it learns those of fragments. With a larger `logp`, each
    update changes that weight more; a large `logp` does not mean that the parser counts more. For a weight that is
    not learned, use ``logp=0`` and `fixed_logp` of `Reranker`.

    >>> reranking_kernel()
    On('tree', SubsetTree(lam=0.3)) + 0.1 * On('logp', Linear())
    """
    kernel: Kernel = On("tree", trees if trees is not None else SubsetTree(lam=0.3))
    return kernel if logp == 0 else kernel + logp * On("logp", Linear())


class Reranker:
    """Choose among the candidates of a parser with a learned ranking.

    Parameters
    ----------
    ranker : VotedPerceptron, RankSVM or RankRLS, optional
        The learner. Default: a `VotedPerceptron` with three epochs and `reranking_kernel`. Its kernel is
        applied to `CandidateParses.table`, so tree kernels are written ``On("tree", ...)``.
    candidates : int or None, default 20
        Maximum number of candidates per training sentence. They are drawn at random and include the best
        candidate, as in Collins & Duffy (2001). None uses all.
    fixed_logp : float, default 0.0
        Fixed weight of the parser's log probability, at least 0. The score of a candidate is the score of the
        ranker + `fixed_logp` × log probability; the ranker does not see this term. Use it, and a kernel without
        ``"logp"``, if the parser is good: with large values, the choices approach those of the parser.
        Choose the value on development data. It is not part of a saved ranker.
    random_state : int, RandomState or None, default 0
        Source of randomness for the choice of candidates.

    Examples
    --------
    >>> import treelet as tl
    >>> from treelet.tasks import CandidateParses, Reranker
    >>> train, _, test = tl.datasets.flights_split()
    >>> learned = CandidateParses.jackknifed(train[:200], k=20)
    >>> found = CandidateParses.parsed(tl.PCFG.from_treebank(train[:200]), test[:100], k=20)
    >>> reranker = Reranker().fit(learned)
    >>> found.score(reranker.choose(found)) > found.first_score
    True
    """

    def __init__(
        self,
        ranker: Ranker | None = None,
        *,
        candidates: int | None = 20,
        fixed_logp: float = 0.0,
        random_state: Any = 0,
    ) -> None:
        if ranker is not None and not isinstance(ranker, Ranker):
            raise InputTypeError(
                "The 'ranker' parameter of Reranker must be a VotedPerceptron, RankSVM or RankRLS. "
                f"Got {article(type(ranker).__name__)} instead."
            )
        self.ranker = ranker if ranker is not None else VotedPerceptron(kernel=reranking_kernel(), epochs=3)
        self.candidates, self.fixed_logp, self.random_state = candidates, fixed_logp, random_state
        check_number(self, "fixed_logp", 0, MOST, low_included=True)

    def fit(self, parses: CandidateParses) -> Self:
        """Train on sentences with gold trees."""
        sampled = parses if self.candidates is None else parses.sample(self.candidates, self.random_state)
        self.ranker.fit(sampled.table(), sampled.counts.goodness, sampled.qid)
        return self

    def scores(self, parses: CandidateParses) -> NDArray[np.float64]:
        """Return one score per candidate. Scores are comparable only within a sentence."""
        scores = np.asarray(self.ranker.predict(parses.table(), parses.qid), dtype=np.float64)
        return scores + self.fixed_logp * parses.relative_logp() if self.fixed_logp else scores

    def choose(self, parses: CandidateParses) -> Rows:
        """Return the row of the chosen candidate of each sentence. Ties are broken by log probability."""
        return parses.best(self.scores(parses))
