"""Parse reranking (Collins & Duffy 2001): a parser proposes, a kernel machine chooses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treelet.checks import check_integer, is_integer, plural, wrong
from treelet.errors import FormatError, InputTypeError, ParameterError, TreeError, TreeletError
from treelet.formats.files import PathLike, Source, open_source
from treelet.formats.json_files import read_nbest
from treelet.kernels import Kernel, Linear, On, SubsetTree
from treelet.learn import RankRLS, RankSVM, VotedPerceptron
from treelet.metrics import BracketCounts, best_of_group, candidate_scores, oracle
from treelet.parsing import PCFG
from treelet.parsing.chart import relative_logp
from treelet.progress import progress_bar
from treelet.structures import Table, Tree, Treebank
from treelet.vocabulary import current
from treelet.work import generator

Rows = NDArray[np.int64]
LAST_WORDS = re.compile(r"([^\s()]+)\s*\)")  # of each bracket that ends in a word

Ranker = VotedPerceptron | RankSVM | RankRLS


@dataclass(frozen=True, eq=False)
class CandidateParses:
    """Sentences with their right trees, and for each the parses to choose from.

    Parameters
    ----------
    gold : Treebank
        The right tree of each sentence.
    trees : Treebank
        All candidates.
    logp : ndarray
        Log probability of each candidate, by the parser.
    qid : ndarray of int
        The sentence of each candidate, ascending; each sentence has at least one.

    Attributes
    ----------
    counts : BracketCounts
        Constituents of each candidate that are in the right tree, as the paper's parse score counts them.

    Examples
    --------
    >>> import treelet as tl
    >>> from treelet.tasks import CandidateParses
    >>> train, _, test = tl.datasets.flights_split()
    >>> found = CandidateParses.parsed(tl.PCFG.from_treebank(train), test[:20], k=10)
    >>> found
    <CandidateParses: 20 sentences, 196 candidates; parse score of the first 90.0, of the best 97.0>
    """

    gold: Treebank
    trees: Treebank
    logp: NDArray[np.float64]
    qid: Rows
    counts: BracketCounts = field(default=None)  # type: ignore[assignment]  # made below

    def __post_init__(self) -> None:
        qid = np.asarray(self.qid, dtype=np.int64)
        object.__setattr__(self, "qid", qid)
        object.__setattr__(self, "logp", np.asarray(self.logp, dtype=np.float64))
        if not len(self.trees) == len(self.logp) == len(qid):
            raise ParameterError(
                f"trees, logp and qid must be of one length, got {len(self.trees)}, {len(self.logp)} and {len(qid)}"
            )
        if len(qid) and not (np.array_equal(np.unique(qid), np.arange(len(self.gold))) and (np.diff(qid) >= 0).all()):
            raise ParameterError("qid must be ascending, and every sentence 0, 1, ... must have a candidate")
        if self.counts is None:
            object.__setattr__(self, "counts", candidate_scores(self.gold, self.trees, qid))

    # --- where candidates come from -----------------------------------------------------------------------------

    @classmethod
    def parsed(cls, grammar: PCFG, gold: object, k: int = 100, *, n_jobs: int = 1, progress: bool = False) -> Self:
        """The `k` best parses, by a grammar, of the words of each tree."""
        bank = Treebank.of(gold)
        parsed = grammar.parse_all(_sentences(bank), k, n_jobs=n_jobs, progress=progress)
        if not np.array_equal(np.unique(parsed.qid), np.arange(len(bank))):
            missing = np.setdiff1d(np.arange(len(bank)), parsed.qid)
            raise TreeError(
                f"sentence {missing[0]} has no parse under this grammar: leave it out, or use PCFG.from_treebank, whose "
                "grammars always give one"
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
        progress: bool = False,
        **options: Any,
    ) -> Self:
        """The `k` best parses of each tree's words, by a grammar of the other folds' trees.

        So a ranker is trained on the kind of candidates that it meets later: a grammar that was estimated from the
        very sentences it parses looks better than it is. `options` go to `PCFG.from_treebank`.
        """
        bank = Treebank.of(gold)
        if not is_integer(folds, 2, len(bank)):
            raise wrong("folds", f"{current().integer} from 2 to the {len(bank)} trees", folds)
        order = np.arange(len(bank))
        parts = []
        with progress_bar(progress, "sentences", len(bank)) as advance:
            for fold in range(int(folds)):
                held = order % folds == fold
                grammar = PCFG.from_treebank(bank[~held], **options)
                parts.append((order[held], cls.parsed(grammar, bank[held], k, n_jobs=n_jobs)))
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
    def read(cls, file: PathLike, *, on_error: str = "raise") -> tuple[Self, list[str]]:
        """Another parser's lists, and the document of each sentence.

        One JSON object a line: ``{"gold": tree, "nbest": [[log probability, ..., tree], ...], "doc": name}``; what
        stands between the log probability and the tree is passed over, and ``doc`` may be missing. ``on_error="skip"`` leaves out what is
        not as it should be, and a warning says how many sentences were, and where the first ones are.
        """
        gold, trees, logp, qid, documents, lines = [], [], [], [], [], []
        with open_source(file, on_error=on_error) as source:
            for number, items, data in read_nbest(source, gold=True):
                right = data["gold"]
                with source.item():
                    _check_list(source, number, right, [tree for tree, _ in items])
                    gold.append(right)
                    lines.append(number)
                    logp += [score for _, score in items]
                    trees += [tree for tree, _ in items]
                    qid += [len(gold) - 1] * len(items)
                    documents.append(str(data.get("doc", number)))
            source.told(len(gold), "sentences")
            try:
                return cls(Treebank(gold), Treebank(trees), np.array(logp), np.array(qid, np.int64)), documents
            except TreeletError:
                for number, right in zip(lines, gold, strict=True):
                    _check_words(source, number, None, right, right)
                for row, tree in enumerate(trees):
                    _check_words(source, lines[qid[row]], row - qid.index(qid[row]), gold[qid[row]], tree)
                raise

    # --- parts of it --------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.gold)

    def __repr__(self) -> str:
        if not len(self):
            return "<CandidateParses: no sentences>"
        return (
            f"<CandidateParses: {plural(len(self), 'sentence')}, {plural(len(self.trees), 'candidate')}; parse score of the first "
            f"{self.first_score:.1f}, of the best {self.oracle_score:.1f}>"
        )

    def sentences(self, which: Sequence[int] | NDArray[Any]) -> CandidateParses:
        """Some of the sentences, in the given order, with their candidates."""
        numbers = np.arange(len(self))[np.asarray(which)]
        starts = np.searchsorted(self.qid, np.arange(len(self) + 1))
        rows = [np.arange(starts[number], starts[number + 1]) for number in numbers]
        qid = np.repeat(np.arange(len(numbers)), [len(part) for part in rows])
        return self._rows(np.concatenate(rows) if rows else np.zeros(0, np.int64), self.gold[numbers], qid)

    def sample(self, n: int = 20, random_state: Any = 0) -> CandidateParses:
        """At most `n` random candidates a sentence, of which one is the best there is."""
        check_integer("n", n)
        random = generator(random_state)
        # A random order in which the best of each sentence comes first; then the first n of each.
        key = random.random(len(self.qid))
        key[best_of_group(self.counts.goodness, self.qid)] = -1.0
        order = np.lexsort((key, self.qid))
        place = np.arange(len(order)) - np.searchsorted(self.qid, self.qid[order])
        rows = np.sort(order[place < n])
        return self._rows(rows, self.gold, self.qid[rows])

    def with_gold(self) -> CandidateParses:
        """Each sentence's right tree, before its candidates, as one more candidate that the parser gives no probability."""
        n = np.arange(len(self))
        qid = np.concatenate([n, self.qid])
        rows = np.argsort(qid, kind="stable")
        return CandidateParses(
            self.gold,
            Treebank.concat([self.gold, self.trees])[rows],
            np.concatenate([np.full(len(self), -math.inf), self.logp])[rows],
            qid[rows],
            _joined([candidate_scores(self.gold, self.gold, n), self.counts])[rows],
        )

    def _rows(self, rows: Rows, gold: Treebank, qid: Rows) -> CandidateParses:
        return CandidateParses(gold, self.trees[rows], self.logp[rows], qid, self.counts[rows])

    @staticmethod
    def concat(parts: Iterable[CandidateParses]) -> CandidateParses:
        """The sentences of several, in order."""
        parts = list(parts)
        shift = np.cumsum([0, *(len(part) for part in parts[:-1])])
        return CandidateParses(
            Treebank.concat([part.gold for part in parts]),
            Treebank.concat([part.trees for part in parts]),
            np.concatenate([part.logp for part in parts]),
            np.concatenate([part.qid + more for part, more in zip(parts, shift, strict=True)]),
            _joined([part.counts for part in parts]),
        )

    def table(self) -> Table:
        """What kernels see, one row a candidate: ``"tree"``, and ``"logp"`` as a feature.

        The log probability is taken relative to that of the sentence's best candidate: only differences within a
        sentence matter, and long sentences should not count for more.
        """
        return Table({"tree": self.trees, "logp": self.relative_logp()[:, None]})

    def relative_logp(self) -> NDArray[np.float64]:
        """Log probability of each candidate, less the best one's of the sentence; a fallback, which has none, counts as far below."""
        return relative_logp(self.logp, self.qid)

    # --- scores -------------------------------------------------------------------------------------------------

    def best(self, scores: NDArray[np.float64]) -> Rows:
        """The row of the largest score of each sentence; on a tie, the one with the larger log probability."""
        order = np.lexsort((-self.relative_logp(), -scores, self.qid))
        rows: Rows = order[np.searchsorted(self.qid, np.arange(len(self)))]
        return rows

    def first(self) -> Rows:
        """The rows of the parser's first choices: the largest log probability of each sentence."""
        return best_of_group(self.relative_logp(), self.qid)

    def score(self, rows: Rows) -> float:
        """The parse score of one chosen candidate a sentence, in percent."""
        return self.counts[rows].parse_score

    @property
    def first_score(self) -> float:
        """The parse score of the parser's first choices."""
        return self.score(self.first())

    @property
    def oracle_score(self) -> float:
        """The parse score of the best candidates: no choice can do better."""
        return oracle(self.counts, self.qid).parse_score


def _check_list(source: Source, number: int, right: str, trees: list[str]) -> None:
    """Whether there are candidates of the right words; and that they are trees, where others are read all the same."""
    if not trees:
        raise source.error("this sentence has no candidates: leave it out", number)
    words, thorough = LAST_WORDS.findall(right), source.on_error == "skip"
    if thorough:
        _check_words(source, number, None, right, right)
    for place, tree in enumerate(trees):
        if thorough or LAST_WORDS.findall(tree) != words:  # in haste; they may be equal all the same
            _check_words(source, number, place, right, tree)


def _check_words(source: Source, line: int, place: int | None, gold: str, tree: str) -> None:
    """Raise the error of a tree that cannot be read, or has other words than the gold one."""
    what = "the gold tree" if place is None else f"candidate {place}"
    try:
        own, right = Tree.parse(tree).words(), Tree.parse(gold).words()
    except FormatError as error:
        raise source.error(f"{what}: {error.message}", line) from None
    if own != right:
        raise source.error(f"{what} has other words than the gold tree", line)


def _sentences(bank: Treebank) -> list[list[str]]:
    out = []
    for number, tree in enumerate(bank):
        if tree is None or not tree.children:
            raise TreeError(f"tree {number} is missing or a lone word: leave it out")
        out.append(tree.words())
    return out


def _joined(parts: list[BracketCounts]) -> BracketCounts:
    return BracketCounts(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("matched", "gold", "proposed"))
    )


def reranking_kernel(trees: Kernel | None = None, logp: float = 0.1) -> Kernel:
    """A tree kernel on the candidates, and the parser's log probability as one more feature of weight `logp`.

    >>> reranking_kernel()
    On('tree', SubsetTree(lam=0.3)) + 0.1 * On('logp', Linear())
    """
    kernel: Kernel = On("tree", trees if trees is not None else SubsetTree(lam=0.3))
    return kernel if logp == 0 else kernel + logp * On("logp", Linear())


class Reranker:
    """Learns to choose among a parser's candidates.

    Parameters
    ----------
    ranker : VotedPerceptron, RankSVM or RankRLS, optional
        What learns. By default a perceptron of three passes with `reranking_kernel`. Its kernel works on
        `CandidateParses.table`, so trees are reached by ``On("tree", ...)``.
    candidates : int, optional
        How many of each sentence's candidates it is trained on: 20 random ones, the best among them, as in the paper;
        None takes all.
    random_state : int, RandomState or None
        For the choice of these.

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

    def __init__(self, ranker: Ranker | None = None, *, candidates: int | None = 20, random_state: Any = 0) -> None:
        if ranker is not None and not isinstance(ranker, Ranker):
            raise InputTypeError(
                f"a ranker is needed (VotedPerceptron, RankSVM or RankRLS), got {type(ranker).__name__}"
            )
        self.ranker = ranker if ranker is not None else VotedPerceptron(kernel=reranking_kernel(), epochs=3)
        self.candidates, self.random_state = candidates, random_state

    def fit(self, parses: CandidateParses) -> Self:
        """Learn from sentences whose right trees are known."""
        part = parses if self.candidates is None else parses.sample(self.candidates, self.random_state)
        self.ranker.fit(part.table(), part.counts.goodness, part.qid)
        return self

    def scores(self, parses: CandidateParses) -> NDArray[np.float64]:
        """The score of every candidate: only comparisons within a sentence mean something."""
        return np.asarray(self.ranker.predict(parses.table(), parses.qid), dtype=np.float64)

    def choose(self, parses: CandidateParses) -> Rows:
        """The row of the chosen candidate of each sentence; on a tie, the one with the larger log probability."""
        return parses.best(self.scores(parses))


def random_split(n: int, sizes: Sequence[int], random_state: Any) -> list[Rows]:
    """Disjoint random parts of ``range(n)`` of the given sizes, each in ascending order."""
    if sum(sizes) > n or min(sizes) < 1:
        raise ParameterError(f"parts of {', '.join(map(str, sizes))} sentences cannot be made of {n:,}: choose sizes")
    order = generator(random_state).permutation(n)
    ends = np.cumsum(sizes)
    return [np.sort(order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
