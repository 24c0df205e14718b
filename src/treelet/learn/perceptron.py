"""The perceptron for ranking, in dual form, over any kernel."""

from __future__ import annotations

import time
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_boolean, check_integer, check_one_of
from treelet.errors import ParameterError
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Vector
from treelet.learn.base import KernelLearner, atomic_fit
from treelet.learn.contests import History, StreamState, VotingModel, contest, one_pass
from treelet.learn.encoding import register, whole_numbers
from treelet.learn.growing import Growing, growing
from treelet.learn.ranking import Ranker, nothing_to_learn, signed_sums
from treelet.learn.targets import Rows, checked_goodness, checked_groups, group_numbers
from treelet.learn.terms import compact_examples
from treelet.progress import progress_bar
from treelet.structures.table import stacked

PREDICTIONS = ("averaged", "voted", "last")


@register
class VotedPerceptron(Ranker, KernelLearner):
    r"""Learns to choose the best candidate of each group, by the perceptron of Collins & Duffy (2001, Fig. 3).

    The candidates of a group are compared with its correct one, the first of those with the largest goodness: for each
    other candidate in turn, unless :math:`F(x_{i1}) > F(x_{ij})`, :math:`\alpha_{ij}` grows by 1, that is

    .. math:: w \leftarrow w + h(x_{i1}) - h(x_{ij})

    Candidates that are as good as the correct one are not compared with it; groups in which all are equally good
    teach nothing.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        By default ``SubsetTree().normalized()``. With ``"precomputed"`` X is a matrix of kernel values.
    epochs : int
        Passes over the training groups.
    prediction : {"averaged", "voted", "last"}
        ``"averaged"``: scores under the mean of the weight vectors after each comparison, so that a vector counts
        as often as the comparisons it survived. ``"voted"``: each vector votes as often for its best candidate of the
        group (candidates that tie share the vote), and a score is the share of votes; slower, and `predict` needs the
        groups (Freund & Schapire 1999). ``"last"``: scores under the last vector.
    shuffle : bool
        Go through the groups in a new random order in each epoch, instead of that in which they first appear.
    random_state : int or RandomState, optional
        For `shuffle`; nothing else is random.
    n_jobs : int
        Threads, for kernel values and predictions; -1 for one a core. Results do not depend on it.
    device : "cpu" or "cuda"
        ``"cuda"``: compute kernel values on a GPU, as `treelet.gram` does. A file of a model does not remember it.
    device_memory : int or str, optional
        How much of the GPU's memory may be taken, such as ``"10GiB"``; by default, what is free.
    progress : bool
        Show a progress bar while fitting.

    Attributes
    ----------
    update_counts_ : ndarray of shape (examples,)
        :math:`\alpha_{ij}`, how often each training example was not beaten by the correct one of its group.
    support_ : ndarray of int
        Which training examples are part of the weights.
    dual_coef_ : ndarray of shape (1, support examples)
        Their coefficients: for ``"averaged"`` in the mean of the vectors, otherwise in the last one.
    updates_ : ndarray of shape (updates, 2)
        For each update, in order, the rows of the correct candidate and of the one that it did not beat.
    survived_ : ndarray of shape (updates,)
        How many comparisons the vector after each update survived, the one that led to it included.
    n_updates_, n_comparisons_ : int
    errors_ : ndarray of shape (epochs,)
        Updates in each epoch.
    model_ : CompressedModel, or `VotingModel` for ``"voted"``
        What predictions are made with.
    prediction_ : str
        The kind of prediction that it was fitted for.
    fit_seconds_ : dict
        Where the time went: ``train``, ``compress``.

    Notes
    -----
    Weights change from one comparison to the next, also within a group, as in the paper's figure; within a group that
    takes kernel values between its own candidates only. For sums of tree kernels, linear kernels and constants the
    weights are kept as one growing graph of distinct subtrees, and a comparison costs the node pairs that match between
    the candidates and it. With other kernels it costs the values with the support examples.

    Scores that differ by less than 1e-10 of their size count as equal, so that rounding decides nothing; but for scores whose terms
    cancel each other, of which rounding is all that is left.

    In scikit-learn's cross-validation, groups travel by metadata routing:
    ``VotedPerceptron().set_fit_request(qid=True).set_score_request(qid=True)``.

    References
    ----------
    Collins & Duffy, "Convolution kernels for natural language", NIPS 2001.
    Freund & Schapire, "Large margin classification using the perceptron algorithm", Machine Learning 37 (1999).

    Examples
    --------
    >>> from treelet.learn import VotedPerceptron
    >>> parses = ["(VP (V saw) (NP (N her)) (PP (P with)))", "(VP (V saw) (NP (N her) (PP (P with))))"]
    >>> parses += ["(VP (V ate) (NP (N it)) (PP (P with)))", "(VP (V ate) (NP (N it) (PP (P with))))"]
    >>> ranker = VotedPerceptron().fit(parses, y=[1.0, 0.5, 1.0, 0.5], qid=[1, 1, 2, 2])
    >>> ranker.rank(parses, qid=[1, 1, 2, 2]).tolist()
    [0, 2]
    """

    _fitted: ClassVar[tuple[str, ...]] = (
        *KernelLearner._fitted,
        "update_counts_",
        "updates_",
        "survived_",
        "n_updates_",
        "n_comparisons_",
        "errors_",
        "prediction_",
    )

    _fitted_private: ClassVar[tuple[str, ...]] = (*KernelLearner._fitted_private, "_stream")
    _models: ClassVar[tuple[type, ...]] = (*KernelLearner._models, VotingModel)
    _stream: StreamState | None = None  # set by partial_fit

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        epochs: int = 1,
        *,
        prediction: str = "averaged",
        shuffle: bool = False,
        random_state: Any = None,
        n_jobs: int | None = 1,
        device: str = "cpu",
        device_memory: int | float | str | None = None,
        progress: bool = False,
    ) -> None:
        self.kernel = kernel
        self.epochs = epochs
        self.prediction = prediction
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.device_memory = device_memory
        self.progress = progress

    @atomic_fit()
    def fit(self, X: Any, y: Any, qid: Any = None) -> Self:
        """Fit to groups of candidates.

        Parameters
        ----------
        X : collection
            Whatever the kernel takes; with ``kernel="precomputed"``, the matrix of the examples with themselves.
        y : array-like of numbers
            How good each example is; only the best of each group and those that are worse matter.
        qid : array-like
            The group of each example: numbers or texts. Rows of a group need not be neighbors.
        """
        self._check_parameters()
        kernel, data = self._kernel_and_data(X)
        n = len(data)
        goodness, groups = checked_goodness(y, n), checked_groups(qid, n)
        contests = [rows for rows in (contest(rows, goodness[rows]) for rows in groups) if len(rows) > 1]
        if not contests:
            raise nothing_to_learn(len(groups))
        started = time.perf_counter()
        history = self._trained(growing(kernel, data, self._resources), contests)
        self.fit_seconds_ = {"train": time.perf_counter() - started}
        self._conclude(kernel, data, np.arange(n), history, n)
        self._remember(kernel, data, goodness, group_numbers(groups, n))
        return self

    @atomic_fit(forget=False)
    def partial_fit(self, X: Any, y: Any, qid: Any = None) -> Self:
        """Go on with more groups: one pass over them, in the order in which they first appear.

        Over the parts of a file, one after the other, it gives the same as one `fit` to all of it (with one epoch, not shuffled;
        `epochs` and `shuffle` are not looked at here). Of earlier parts only those examples are kept that are part of a weight vector,
        so that the file may be larger than memory. A group must not be cut: what has its qid in another part is
        another group. Rows (`support_`, `updates_`, `update_counts_`) are numbered over all parts.

        Parameters
        ----------
        X, y, qid
            As in `fit`; not ``kernel="precomputed"``.

        Examples
        --------
        >>> from treelet.learn import VotedPerceptron
        >>> parses = ["(VP (V saw) (NP (N her)) (PP (P with)))", "(VP (V saw) (NP (N her) (PP (P with))))"]
        >>> ranker = VotedPerceptron()
        >>> for block in (parses, [parse.replace("saw", "ate") for parse in parses]):
        ...     ranker = ranker.partial_fit(block, y=[1.0, 0.5], qid=[1, 1])
        >>> ranker.rank(parses, qid=[1, 1]).tolist()
        [0]
        """
        self._check_parameters()
        stream = self._go_on()
        kernel = stream.kernel
        data = self._examples(kernel, X)
        n, first = len(data), stream.seen
        goodness, groups = checked_goodness(y, n), checked_groups(qid, n)
        old = len(stream.rows)
        everything = stacked(stream.examples, compact_examples(kernel, data)) if old else compact_examples(kernel, data)
        contests = [old + rows for rows in (contest(rows, goodness[rows]) for rows in groups) if len(rows) > 1]
        started = time.perf_counter()
        function = growing(kernel, everything, self._resources)
        stream.tell(function)
        with progress_bar(self.progress, "groups", len(contests)) as advance:
            more = one_pass(function, contests, range(len(contests)), stream.history.comparisons, advance)
        numbers = np.concatenate([stream.rows, first + np.arange(n)])
        history = stream.history.then(more._replace(updates=numbers[more.updates]), same_epoch=True)
        if not history.comparisons:
            raise nothing_to_learn(len(groups))
        here = np.union1d(np.arange(old), more.updates.ravel())
        self._stream = StreamState(
            kernel, compact_examples(kernel, everything[here]), numbers[here], history, first + n
        )
        self.fit_seconds_ = {"train": time.perf_counter() - started}
        self.__dict__.pop("training_", None)
        self._conclude(kernel, self._stream.examples, self._stream.rows, history, first + n)
        return self

    def _go_on(self) -> StreamState:
        """What was learned from earlier parts."""
        if isinstance(self.kernel, str):
            raise self._refuse("kernel", "a kernel or None for partial_fit, which keeps no matrix")
        stream = self._stream
        if stream is None and hasattr(self, "model_"):
            raise ParameterError(
                "partial_fit goes on from partial_fit alone: fit, and a model from a file, have no examples left to go on with. "
                "Give the first part to partial_fit, too"
            )
        kernel = self._own_kernel()
        if stream is None:
            return StreamState(kernel, None, np.empty(0, np.int64), History.nothing(), 0)
        if kernel != stream.kernel:
            raise ParameterError(f"partial_fit cannot go on with another kernel: it began with {stream.kernel!r}")
        return stream

    def _conclude(self, kernel: Kernel | None, data: Any, numbers: NDArray[np.intp], history: History, n: int) -> None:
        """The model of a history over n rows, of which `numbers` are in `data`."""
        started = time.perf_counter()
        weights = np.ones(len(history.steps))
        if self.prediction == "averaged":
            weights = (history.comparisons + 1 - history.steps) / history.comparisons
        added, taken = history.updates.T
        coefficients = signed_sums(added, taken, weights, n)
        support = np.flatnonzero(coefficients)
        here = np.searchsorted(numbers, support)
        if self.prediction == "voted":
            self.dual_coef_ = coefficients[None, support]
            updates = np.searchsorted(numbers, history.updates)
            self.model_ = VotingModel.of(kernel, data, here.astype(np.int64), updates, history.survived)
        else:
            self._keep(kernel, data, here, coefficients[None, support])
        self.support_ = support.astype(np.int64)
        self.update_counts_ = np.bincount(taken, minlength=n).astype(np.int64)
        self.updates_, self.survived_ = history.updates, history.survived
        self.n_updates_, self.n_comparisons_ = len(history.steps), history.comparisons
        self.errors_ = np.array(history.errors, dtype=np.int64)
        self.prediction_ = self.prediction
        self.fit_seconds_["compress"] = time.perf_counter() - started

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("epochs", self.epochs, of=self)
        check_one_of("prediction", self.prediction, PREDICTIONS, of=self)
        check_boolean("shuffle", self.shuffle, of=self)

    def _trained(self, function: Growing, contests: list[Rows]) -> History:
        random = check_random_state(self.random_state) if self.shuffle else None
        history = History.nothing()
        with progress_bar(self.progress, "groups", self.epochs * len(contests)) as advance:
            for _ in range(self.epochs):
                order = range(len(contests)) if random is None else random.permutation(len(contests))
                history = history.then(one_pass(function, contests, order, history.comparisons, advance))
        return history

    def predict(self, X: Any, qid: Any = None) -> Vector:
        """The score of each example: the larger, the better within its group.

        Parameters
        ----------
        X : collection
            As in `fit`; with ``kernel="precomputed"``, kernel values of examples x training examples.
        qid : array-like, optional
            The group of each example; needed by ``prediction="voted"``, where scores are shares of the group's votes.
        """
        check_is_fitted(self)
        if not isinstance(self.model_, VotingModel):
            return super().predict(X, qid)
        if qid is None:
            raise ParameterError(
                "prediction='voted' needs qid, the group of each example, since votes are for the best of a group: "
                "give qid=, or fit with prediction='averaged'"
            )
        return self.model_.votes(X, qid, self._resources)

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        if self.prediction_ not in PREDICTIONS or (self.prediction_ == "voted") != isinstance(self.model_, VotingModel):
            raise ValueError("the model is not of the kind that it says")
        updates, survived = whole_numbers(self.updates_, 2), whole_numbers(self.survived_, 1)
        if (
            updates.shape != (len(survived), 2)
            or self.n_updates_ != len(survived)
            or whole_numbers(self.update_counts_, 1).size == 0
        ):
            raise ValueError("the updates do not fit together")
        if type(self.n_comparisons_) is not int or whole_numbers(self.errors_, 1).size == 0:
            raise ValueError("the errors are missing")
