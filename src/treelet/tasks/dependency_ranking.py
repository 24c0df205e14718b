"""Ranking the dependency parses of a sentence, as in Tsivtsivadze et al. (2006): from parses to a measured order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article, check_one_of, plural, wrong
from treelet.cuts import as_sequencebank, dependency_trees
from treelet.cuts.link_features import FEATURES
from treelet.datasets.link_parses import ParsedSentence
from treelet.errors import InputTypeError, ParameterError
from treelet.kernels import Kernel, Locality, On
from treelet.learn import RLS, RankRLS
from treelet.learn.selection import Trial, select
from treelet.metrics import kendall_tau_by_group
from treelet.metrics.links import link_f1
from treelet.parsing import LinkParser, LinkResults
from treelet.progress import progress_bar
from treelet.structures import Dependencies, DependencyBank, SequenceBank, Table, Treebank, main_types
from treelet.work import generator

ALPHAS = tuple(2.0**power for power in range(-12, 7, 3))
"""Strengths of regularization to choose from; all of them cost one decomposition."""
ROUNDING = 1e-9
"""Scores of one sentence that are closer, as a share of the largest, are equal. With kernels of parses, rounding moves scores
by up to 1e-11, and scores of parses that are not alike to the kernel differ by 1e-6 at least: this lies between."""


class ParseLists:
    """Sentences with their candidate parses, as learners want them.

    Parameters
    ----------
    sentences : iterable of ParsedSentence

    Attributes
    ----------
    sentences : list of ParsedSentence
    parses : list of Dependencies
        Of all sentences, one after the other.
    goodness : ndarray
        Of each parse.
    qid : ndarray of int
        The sentence of each parse, counted from 0.
    ranks : ndarray of int
        The parser's own order within the sentence.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.datasets import ParsedSentence
    >>> from treelet.tasks import ParseLists
    >>> words = ["dogs", "bark", "loudly"]
    >>> parses = [Dependencies(words, None, [(0, 1, "S"), (1, 2, "M")]), Dependencies(words, None, [(0, 2, "S")])]
    >>> lists = ParseLists([ParsedSentence("dogs bark loudly", None, tuple(parses), (1.0, 0.0), (0, 1))])
    >>> len(lists), lists.goodness.tolist(), lists.qid.tolist()
    (1, [1.0, 0.0], [0, 0])
    """

    def __init__(self, sentences: Iterable[ParsedSentence]) -> None:
        self.sentences = list(sentences)
        for number, sentence in enumerate(self.sentences):
            if not isinstance(sentence, ParsedSentence):
                raise InputTypeError(f"sentence {number} is {article(type(sentence).__name__)}, not a ParsedSentence")
        self.parses = [parse for sentence in self.sentences for parse in sentence.parses]
        self.goodness = np.array([value for sentence in self.sentences for value in sentence.goodness], float)
        self.ranks = np.array([rank for sentence in self.sentences for rank in sentence.ranks], np.int64)
        lengths = [len(sentence.parses) for sentence in self.sentences]
        self.qid = np.repeat(np.arange(len(self.sentences)), lengths)

    @classmethod
    def from_text(
        cls,
        gold: Iterable[Dependencies],
        texts: Iterable[str] | None = None,
        *,
        parser: LinkParser | None = None,
        k: int = 20,
        progress: bool = False,
    ) -> tuple[Self, LinkResults]:
        """Parse sentences whose right parses are known with Link Grammar, and say how good each parse is.

        Parameters
        ----------
        gold : iterable of Dependencies
            The right parses.
        texts : iterable of str, optional
            The sentences; by default the words of `gold` with blanks between them.
        parser : LinkParser, optional
            By default one with its own defaults.
        k : int
            The best parses of a sentence to keep.

        Returns
        -------
        ParseLists
            The sentences that have parses.
        LinkResults
            What became of every sentence: ``summary()`` names those without parses, and why.
        """
        right = list(gold)
        sentences = [" ".join(parse.words) for parse in right] if texts is None else list(texts)
        if len(sentences) != len(right):
            raise ParameterError(f"a sentence needs one right parse, got {len(sentences)} sentences and {len(right)}")
        results = (parser or LinkParser()).parse_all(sentences, k=k, progress=progress)
        kept = []
        for text, truth, linkages in zip(sentences, right, results, strict=True):
            parses = tuple(linkage.parse for linkage in linkages)
            if parses:
                goodness = tuple(link_f1(parse, truth) for parse in parses)
                kept.append(ParsedSentence(text, truth, parses, goodness, tuple(linkage.rank for linkage in linkages)))
        return cls(kept), results

    def __repr__(self) -> str:
        return f"<ParseLists: {plural(len(self.sentences), 'sentence')}, {plural(len(self.parses), 'parse')}>"

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: Any) -> ParseLists:
        if isinstance(index, (int, np.integer)):
            index = [index]
        return ParseLists([self.sentences[number] for number in np.arange(len(self))[index]])

    def sample(self, k: int, random_state: Any = 0) -> ParseLists:
        """At most `k` parses a sentence, drawn at random without those that come back twice, in the parser's order."""
        rng = generator(random_state)
        kept = []
        for sentence in self.sentences:
            number = len(sentence.parses)
            which = sorted(rng.choice(number, min(k, number), replace=False).tolist())
            kept.append(
                replace(
                    sentence,
                    parses=tuple(sentence.parses[n] for n in which),
                    goodness=tuple(sentence.goodness[n] for n in which),
                    ranks=tuple(sentence.ranks[n] for n in which),
                )
            )
        return ParseLists(kept)

    def table(self, *, form: str | None = None) -> Table:
        """The parses for kernels: a column ``parse`` with all seven sequences of features, one for each of them by its name,
        and a column ``main``, all seven with the main types of links only (`main_types`).

        With `form` (``"grct"``, ``"lct"``, ``"loct"``, ``"pct"``) also a column ``tree``: the links directed away from the first word, as a
        tree.
        """
        bank = as_sequencebank(self.parses)
        plain = [parse if parse.directed else main_types(parse) for parse in self.parses]
        columns: dict[str | int, Any] = {"parse": bank, "main": as_sequencebank(plain)}
        for name in FEATURES:
            columns[name] = SequenceBank([item[name] if isinstance(item, dict) else () for item in bank])
        if form is not None:
            columns["tree"] = trees(self.parses, form)
        return Table(columns)

    def tau(self, scores: Any) -> NDArray[np.float64]:
        """Kendall's tau_b of the scores with the goodness, a sentence; NaN where all parses are equally good.

        Parses that are alike to a kernel get the same score but for rounding, which depends on the number of threads and on the order
        of examples; so scores that differ by less than `ROUNDING` are ties.
        """
        return kendall_tau_by_group(scores, self.goodness, self.qid, tolerance=ROUNDING)


def trees(parses: Sequence[Dependencies], form: str = "grct") -> Treebank:
    """Undirected parses as trees: links directed away from the first word, which in Link Grammar's parses is the left wall."""
    rooted = [parse if parse.directed else parse.rooted(0) for parse in parses]
    return dependency_trees(DependencyBank(rooted), form=form)


def typewise(kernel: Kernel) -> Kernel:
    """The sum over the seven types of a kernel between their sequences, normalized: no type outweighs the others by its length.

    >>> from treelet import Locality
    >>> print(repr(typewise(Locality(window=3)))[:65])
    On('bigram', Locality(window=3).normalized()) + On('word_tag', Lo
    """
    total: Kernel = On(FEATURES[0], kernel.normalized())
    for name in FEATURES[1:]:
        total = total + On(name, kernel.normalized())
    return total


@dataclass(frozen=True)
class KernelChoice:
    """A kernel and a strength of regularization, and the mean tau_b that they had in cross-validation."""

    kernel: Kernel
    alpha: float
    tau: float


class ParseRanker:
    """Learns to order the parses of a sentence: regularized least squares with kernel and strength chosen by cross-validation.

    Every fold leaves out whole sentences. All folds and strengths of a kernel come from one decomposition of its matrix.

    Parameters
    ----------
    kernels : sequence of Kernel, optional
        To choose from, on the columns of `ParseLists.table`; by default the locality-convolution kernel of the paper
        and a few neighbors.
    alphas : sequence of float
        Strengths of regularization to choose from.
    learner : {"rls", "rankrls"}
        Least squares on the goodness, or on the differences of goodness within a sentence.
    form : str, optional
        Of trees, if a kernel asks for the column ``tree``.
    folds, repeats : int
        Of the cross-validation: sentences are dealt out to folds at random, `repeats` times.
    random_state : int, RandomState or None
        For that.
    n_jobs : int
        Threads for the kernel matrices.

    Attributes
    ----------
    choices_ : list of KernelChoice
        The best strength of each kernel.
    choice_ : KernelChoice
        The best of these.
    refused_ : list of Kernel
        Kernels whose values do not fit a float64, which were passed over.
    model_ : RLS or RankRLS
        Fitted to all parses.
    """

    refused_: list[Kernel]
    choices_: list[KernelChoice]
    choice_: KernelChoice
    model_: RLS | RankRLS

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        *,
        alphas: Sequence[float] = ALPHAS,
        learner: str = "rls",
        form: str | None = None,
        folds: int = 10,
        repeats: int = 1,
        random_state: Any = 0,
        n_jobs: int | None = 1,
    ) -> None:
        check_one_of("learner", learner, ("rls", "rankrls"), of="ParseRanker")
        if kernels is not None and not len(kernels):
            raise ParameterError("The 'kernels' parameter of ParseRanker must hold a kernel at least.")
        self.kernels = default_kernels() if kernels is None else list(kernels)
        self.alphas, self.learner, self.form = tuple(alphas), learner, form
        self.folds, self.repeats, self.random_state, self.n_jobs = folds, repeats, random_state, n_jobs

    def fit(self, lists: ParseLists, *, progress: bool = False, table: Table | None = None) -> Self:
        """Choose among the kernels on these sentences and fit the best to all of them.

        `table` is ``lists.table(form=...)``, if it is there already.
        """
        if not 2 <= self.folds <= len(lists):
            raise wrong("folds", f"from 2 to the number of sentences, {len(lists)}", self.folds, of="ParseRanker")
        X = lists.table(form=self.form) if table is None else table
        random = generator(self.random_state)
        deals = [random.permutation(len(lists)) % self.folds for _ in range(self.repeats)]
        folds = [deal[lists.qid] == k for deal in deals for k in range(self.folds)]
        cv = [(np.flatnonzero(~fold), np.flatnonzero(fold)) for fold in folds]
        more: dict[str, Any] = {"qid": lists.qid} if self.learner == "rankrls" else {}
        with progress_bar(progress, "folds", len(self.kernels) * (1 + len(cv))) as advance:
            selection = select(
                self.kernels,
                X,
                lists.goodness,
                estimator=self._learner("precomputed"),
                grid={"alpha": self.alphas},
                cv=cv,
                scoring=_unscored,
                advance=advance,
                **more,
            )
        choices: list[KernelChoice] = []
        for begin in range(0, len(selection.trials), len(self.alphas)):
            tried = [self._choice(lists, trial) for trial in selection.trials[begin : begin + len(self.alphas)]]
            choices.append(max(tried, key=lambda choice: choice.tau))
        best = max(choices, key=lambda choice: choice.tau)
        model = self._learner(best.kernel, best.alpha).fit(X, lists.goodness, **more)
        # All at once: an interrupted fit leaves the earlier one as it was.
        self.__dict__.update(refused_=selection.refused, choices_=choices, choice_=best, model_=model)
        return self

    @staticmethod
    def _choice(lists: ParseLists, trial: Trial) -> KernelChoice:
        """The mean over sentences of what was predicted without each."""
        taus = [np.nanmean(lists.tau(scores)) for scores in trial.held_out]
        return KernelChoice(trial.kernel, float(trial.parameters["alpha"]), float(np.mean(taus)))

    def _learner(self, kernel: Any, alpha: float = 1.0) -> RLS | RankRLS:
        return (RLS if self.learner == "rls" else RankRLS)(kernel, alpha=alpha, n_jobs=self.n_jobs)

    def scores(self, lists: ParseLists, table: Table | None = None) -> NDArray[np.float64]:
        """A score a parse, comparable within a sentence; higher is better."""
        if not hasattr(self, "model_"):
            raise ParameterError("this ParseRanker is not fitted yet: call fit first")
        X = lists.table(form=self.form) if table is None else table
        return np.asarray(self.model_.predict(X), float)

    def rank(self, lists: ParseLists) -> list[NDArray[np.intp]]:
        """For each sentence the places of its parses, the best first."""
        scores = self.scores(lists)
        starts = np.searchsorted(lists.qid, np.arange(len(lists)))
        return [np.argsort(-of_sentence, kind="stable") for of_sentence in np.split(scores, starts[1:])]


def _unscored(estimator: Any, X: Any, y: Any, qid: Any = None) -> float:
    """No score of a fold: what counts is the mean over the sentences of all folds."""
    return 0.0


def default_kernels() -> list[Kernel]:
    """The kernel of the paper, with its parameters and others near them."""
    return [
        On("parse", Locality(window, theta)).gaussian(sigma)
        for window, theta in ((1, 0.5), (3, 0.5), (5, 0.5), (3, 1.0))
        for sigma in (40.0, 80.0, 155.0, 300.0)
    ]
