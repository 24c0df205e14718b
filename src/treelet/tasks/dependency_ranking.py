"""Ranking of the dependency parses of a sentence, as in Tsivtsivadze et al. (2006)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article, check_one_of, plural, wrong
from treelet.cuts import as_sequencebank, dependency_trees
from treelet.cuts.features import FEATURES
from treelet.errors import InputTypeError, ParameterError
from treelet.kernels import Kernel, Locality, On
from treelet.learn import RLS, RankRLS
from treelet.learn.selection import select
from treelet.metrics import kendall_tau_by_group, link_f1
from treelet.parsing import LinkParser, LinkResults
from treelet.resources import config_context
from treelet.structures import Dependencies, DependencyBank, SequenceBank, Table, main_types
from treelet.work import generator

_ALPHAS = tuple(2.0**power for power in range(-12, 7, 3))
"""Regularization strengths to choose from. All of them share one decomposition."""
_ROUNDING = 1e-9
"""Relative tolerance for equal scores within a sentence. Rounding changes scores by up to 1e-11, and
parses that differ for the kernel have scores that differ by at least 1e-6."""


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence with candidate parses and the goodness of each.

    Attributes
    ----------
    text : str
        The sentence.
    gold : Dependencies or None
        Gold parse, if it is known.
    parses : tuple of Dependencies
        Candidate parses.
    goodness : tuple of float
        Goodness of each parse; higher is better.
    ranks : tuple of int
        Rank of each parse in the parser's own order; 0 is its best.
    document : str
        Source of the sentence.
    """

    text: str
    gold: Dependencies | None
    parses: tuple[Dependencies, ...]
    goodness: tuple[float, ...]
    ranks: tuple[int, ...]
    document: str = ""

    def __post_init__(self) -> None:
        if not len(self.parses) == len(self.goodness) == len(self.ranks):
            raise ValueError(
                f"A sentence needs one goodness and one rank per parse. Got {plural(len(self.parses), 'parse')}, "
                f"{plural(len(self.goodness), 'goodness value')} and {plural(len(self.ranks), 'rank')}."
            )


class ParseLists:
    """Sentences with their candidate parses, in a form for learning.

    Parameters
    ----------
    sentences : iterable of ParsedSentence

    Attributes
    ----------
    sentences : list of ParsedSentence
        The parameter.
    parses : list of Dependencies
        The parses of all sentences, grouped by sentence.
    goodness : ndarray of float
        Quality of each parse.
    qid : ndarray of int
        Index of the sentence of each parse.
    ranks : ndarray of int
        Rank of each parse within its sentence in the order of the parser, from 0.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.tasks import ParsedSentence, ParseLists
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
                raise InputTypeError(
                    f"Sentence {number} is {article(type(sentence).__name__)}, but a ParsedSentence is needed. "
                    "To parse text, use ParseLists.from_text."
                )
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
        progress: bool | None = None,
    ) -> tuple[Self, LinkResults]:
        """Parse sentences with Link Grammar, and measure each parse against the gold parse of its sentence.

        Parameters
        ----------
        gold : iterable of Dependencies
            The gold parses.
        texts : iterable of str, optional
            Texts of the sentences, one per gold parse. Default: the words of `gold`, joined with spaces.
        parser : LinkParser, optional
            Default: ``LinkParser()``.
        k : int, default 20
            Maximum number of parses per sentence, at least 1.
        progress : bool, optional
            Show a progress bar on standard error. Default: as in `treelet.config_context`.

        Returns
        -------
        ParseLists
            The sentences that have parses. The quality of a parse is the F1 score of its links.
        LinkResults
            Results of all sentences. ``summary()`` lists the sentences without parses, with the reasons.
        """
        gold_parses = list(gold)
        sentences = [" ".join(parse.words) for parse in gold_parses] if texts is None else list(texts)
        if len(sentences) != len(gold_parses):
            raise ParameterError(
                f"There are {plural(len(sentences), 'text')} but {plural(len(gold_parses), 'gold parse')}. "
                "Pass one gold parse per text."
            )
        results = (parser or LinkParser()).parse_all(sentences, k=k, progress=progress)
        kept = []
        for text, truth, linkages in zip(sentences, gold_parses, results, strict=True):
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
        """Draw at most `k` parses per sentence at random, without replacement. They stay in the order of the parser."""
        rng = generator(random_state)
        kept = []
        for sentence in self.sentences:
            count = len(sentence.parses)
            chosen = sorted(rng.choice(count, min(k, count), replace=False).tolist())
            kept.append(
                replace(
                    sentence,
                    parses=tuple(sentence.parses[n] for n in chosen),
                    goodness=tuple(sentence.goodness[n] for n in chosen),
                    ranks=tuple(sentence.ranks[n] for n in chosen),
                )
            )
        return ParseLists(kept)

    def table(self, *, form: str | None = None) -> Table:
        """Return the parses as a table for kernels.

        Parameters
        ----------
        form : {"grct", "lct", "loct", "pct"}, optional
            Tree form for a column ``tree``, in which the links are directed away from the first word. By
            default, there is no such column.

        Returns
        -------
        Table
            The column ``parse`` has all seven sequences of features. Each sequence is also a column of
            its own name. The column ``main`` has all seven sequences with main link types only; see
            `main_types`.
        """
        bank = as_sequencebank(self.parses)
        plain = [parse if parse.directed else main_types(parse) for parse in self.parses]
        columns: dict[str | int, Any] = {"parse": bank, "main": as_sequencebank(plain)}
        for name in FEATURES:
            columns[name] = SequenceBank([item[name] if isinstance(item, dict) else () for item in bank])
        if form is not None:
            # Undirected links are directed away from the first word, Link Grammar's left wall.
            rooted = [parse if parse.directed else parse.rooted(0) for parse in self.parses]
            columns["tree"] = dependency_trees(DependencyBank(rooted), form=form)
        return Table(columns)

    def tau(self, scores: Any) -> NDArray[np.float64]:
        """Return Kendall's tau_b between scores and quality, per sentence.

        The value is NaN if all parses of a sentence are equally good. Scores that differ by less than
        `_ROUNDING` are ties: parses that are equal for a kernel have equal scores except for rounding,
        which depends on the number of threads and the order of examples.
        """
        return kendall_tau_by_group(scores, self.goodness, self.qid, tolerance=_ROUNDING)


@dataclass(frozen=True)
class KernelChoice:
    """A kernel and a regularization strength, with their mean tau_b in cross-validation.

    Attributes
    ----------
    kernel : Kernel
    alpha : float
        Regularization strength.
    tau : float
        Mean of Kendall's tau_b over the sentences.
    """

    kernel: Kernel
    alpha: float
    tau: float


class ParseRanker:
    """Rank the parses of a sentence by regularized least squares.

    The kernel and the regularization strength are chosen by cross-validation over whole sentences.
    All folds and strengths of a kernel share one decomposition of its matrix.

    Parameters
    ----------
    kernels : sequence of Kernel, optional
        Kernels to choose from, on the columns of `ParseLists.table`. Default: the
        locality-convolution kernel of Tsivtsivadze et al. (2006), with several parameter values.
    alphas : sequence of float, default 2**-12, 2**-9, ..., 2**6
        Regularization strengths to choose from.
    learner : {"rls", "rankrls"}, default "rls"
        Least squares on the quality of parses (`RLS`), or on the differences of quality within a
        sentence (`RankRLS`).
    form : {"grct", "lct", "loct", "pct"}, optional
        Tree form of the column ``tree``, if a kernel uses that column.
    folds : int, default 10
        Number of folds, from 2 to the number of sentences. Sentences are assigned at random.
    repeats : int, default 1
        Number of times that the cross-validation is repeated with another random assignment.
    random_state : int, RandomState or None, default 0
        Source of randomness for the folds.
    n_jobs : int, default 1
        Number of threads for kernel matrices. -1 uses one thread per core.

    Attributes
    ----------
    choices_ : list of KernelChoice
        The best strength of each kernel.
    choice_ : KernelChoice
        The best of `choices_`.
    refused_ : list of Kernel
        Kernels that were skipped because their values do not fit a float64.
    model_ : RLS or RankRLS
        The model of `choice_`, fitted to all parses.
    """

    refused_: list[Kernel]
    choices_: list[KernelChoice]
    choice_: KernelChoice
    model_: RLS | RankRLS

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        *,
        alphas: Sequence[float] = _ALPHAS,
        learner: str = "rls",
        form: str | None = None,
        folds: int = 10,
        repeats: int = 1,
        random_state: Any = 0,
        n_jobs: int | None = 1,
    ) -> None:
        check_one_of("learner", learner, ("rls", "rankrls"), of="ParseRanker")
        if kernels is not None and not len(kernels):
            raise wrong("kernels", "a non-empty sequence of kernels", kernels, of="ParseRanker", optional=True)
        self.kernels = _default_kernels() if kernels is None else list(kernels)
        self.alphas, self.learner, self.form = tuple(alphas), learner, form
        self.folds, self.repeats, self.random_state, self.n_jobs = folds, repeats, random_state, n_jobs

    def fit(self, lists: ParseLists, *, progress: bool | None = None, table: Table | None = None) -> Self:
        """Choose a kernel by cross-validation, and fit it to all sentences.

        Parameters
        ----------
        lists : ParseLists
            Training sentences, at least as many as `folds`.
        progress : bool, optional
            Show a progress bar on standard error. Default: as in `treelet.config_context`.
        table : Table, optional
            The result of ``lists.table(form=...)``, if it is already computed.

        Returns
        -------
        self
        """
        if not 2 <= self.folds <= len(lists):
            wanted = f"an int from 2 to the number of sentences ({len(lists):,})"
            raise wrong("folds", wanted, self.folds, of="ParseRanker")
        X = lists.table(form=self.form) if table is None else table
        random = generator(self.random_state)
        deals = [random.permutation(len(lists)) % self.folds for _ in range(self.repeats)]
        folds = [deal[lists.qid] == k for deal in deals for k in range(self.folds)]
        cv = [(np.flatnonzero(~fold), np.flatnonzero(fold)) for fold in folds]
        more: dict[str, Any] = {"qid": lists.qid} if self.learner == "rankrls" else {}
        with config_context(progress=progress):
            selection = select(
                self.kernels,
                X,
                lists.goodness,
                estimator=self._learner("precomputed"),
                grid={"alpha": self.alphas},
                cv=cv,
                scoring=lambda *_, **options: 0.0,  # only the mean over the sentences of all folds is used
                **more,
            )
        choices: list[KernelChoice] = []
        for begin in range(0, len(selection.trials), len(self.alphas)):
            # Each sentence is predicted by a model that was fitted without it.
            tried = [
                KernelChoice(
                    trial.kernel,
                    float(trial.parameters["alpha"]),
                    float(np.mean([np.nanmean(lists.tau(scores)) for scores in trial.held_out])),
                )
                for trial in selection.trials[begin : begin + len(self.alphas)]
            ]
            choices.append(max(tried, key=lambda choice: choice.tau))
        best = max(choices, key=lambda choice: choice.tau)
        model = self._learner(best.kernel, best.alpha).fit(X, lists.goodness, **more)
        # All attributes are set at once, so an interrupted fit does not change an earlier one.
        self.__dict__.update(refused_=selection.refused, choices_=choices, choice_=best, model_=model)
        return self

    def _learner(self, kernel: Any, alpha: float = 1.0) -> RLS | RankRLS:
        return (RLS if self.learner == "rls" else RankRLS)(kernel, alpha=alpha, n_jobs=self.n_jobs)

    def scores(self, lists: ParseLists, table: Table | None = None) -> NDArray[np.float64]:
        """Return one score per parse. Scores are comparable within a sentence; higher is better."""
        if not hasattr(self, "model_"):
            raise ParameterError("This ParseRanker is not fitted. Call fit first.")
        X = lists.table(form=self.form) if table is None else table
        return np.asarray(self.model_.predict(X), float)

    def rank(self, lists: ParseLists) -> list[NDArray[np.intp]]:
        """Return the indices of the parses of each sentence, best first."""
        scores = self.scores(lists)
        starts = np.searchsorted(lists.qid, np.arange(len(lists)))
        return [np.argsort(-of_sentence, kind="stable") for of_sentence in np.split(scores, starts[1:])]


def _default_kernels() -> list[Kernel]:
    """Return the kernel of the paper, with its own and with similar parameter values."""
    return [
        On("parse", Locality(window, theta)).gaussian(sigma)
        for window, theta in ((1, 0.5), (3, 0.5), (5, 0.5), (3, 1.0))
        for sigma in (40.0, 80.0, 155.0, 300.0)
    ]
