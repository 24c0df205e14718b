"""The voted and averaged perceptron for ranking, in dual form, over any kernel."""

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
from treelet.learn.base import KernelLearner
from treelet.learn.contests import History, StreamState, VotingModel, contest, one_pass
from treelet.learn.encoding import register, whole_numbers
from treelet.learn.fits import atomic_fit, one_fit
from treelet.learn.growing import Growing, growing
from treelet.learn.ranking import Ranker, nothing_to_learn, signed_sums
from treelet.learn.targets import Rows, checked_goodness, checked_groups, group_numbers
from treelet.learn.terms import compact_examples
from treelet.progress import progress_bar
from treelet.structures.table import stacked

PREDICTIONS = ("averaged", "voted", "last")


@register
class VotedPerceptron(Ranker, KernelLearner):
    r"""Perceptron that learns to choose the best candidate of each group.

    The algorithm is that of Collins & Duffy (2001, Fig. 3). The correct candidate of a group is the
    first with the largest value of `y`. It is compared with every worse candidate of its group.
    Unless :math:`F(x_{i1}) > F(x_{ij})`, :math:`\alpha_{ij}` grows by 1, that is

    .. math:: w \leftarrow w + h(x_{i1}) - h(x_{ij})

    Groups whose candidates are all equally good have no effect.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        Default: ``SubsetTree().normalized()``. With ``"precomputed"``, X is a kernel matrix.
    epochs : int, default 1
        Number of passes over the training groups, at least 1.
    prediction : {"averaged", "voted", "last"}, default "averaged"
        Scores of `predict`. ``"averaged"`` uses the mean of the weight vectors after each
        comparison. ``"voted"`` lets every weight vector vote for its best candidate of the group,
        once per comparison that it survived; candidates that tie share the vote. A score is then
        the share of votes. This is slower, and `predict` needs the groups (Freund & Schapire 1999).
        ``"last"`` uses the last weight vector.
    shuffle : bool, default False
        Visit the groups in a new random order in each epoch. The default is the order of their
        first appearance.
    random_state : int or RandomState, optional
        Seed for `shuffle`. Nothing else is random.
    n_jobs : int, default 1
        Number of threads for kernel values and predictions. -1 uses one thread per core. Results do
        not depend on `n_jobs`.
    device : {"cpu", "cuda"}, default "cpu"
        Where to compute kernel values, as for `treelet.gram`. Model files do not store this
        setting.
    device_memory : int or str, optional
        Limit for GPU memory, for example ``"10GiB"``. Default: all free memory.
    progress : bool, default False
        Show a progress bar on standard error while fitting.

    Attributes
    ----------
    update_counts_ : ndarray of shape (n_examples,)
        :math:`\alpha_{ij}`: how often the correct candidate of the group failed to beat each
        training example.
    support_ : ndarray of int
        Indices of the training examples with a nonzero coefficient.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients: for ``"averaged"`` in the mean of the weight vectors, otherwise in the
        last one.
    updates_ : ndarray of shape (n_updates, 2)
        The rows of the correct candidate and of the unbeaten one, for each update in order.
    survived_ : ndarray of shape (n_updates,)
        How many comparisons the weight vector after each update survived, including the comparison
        that caused the update.
    n_updates_, n_comparisons_ : int
        Number of updates and of comparisons.
    errors_ : ndarray of shape (epochs,)
        Number of updates per epoch.
    model_ : CompressedModel or VotingModel
        The model that computes predictions; a `VotingModel` for ``"voted"``.
    prediction_ : str
        Value of `prediction` at the time of the fit.
    fit_seconds_ : dict
        Time in seconds of the steps ``train`` and ``compress``.

    Notes
    -----
    The weights can change after every comparison, also within a group, as in the figure of the
    paper. Within a group, this needs only the kernel values between its own candidates.

    For sums of tree kernels, linear kernels and constants, the weights are stored as one growing
    graph of distinct subtrees. The time of a comparison grows with the number of matching node
    pairs between the candidates and the graph. Other kernels need the kernel values with all
    support vectors.

    Scores that differ by less than 1e-10 of their size count as equal, so rounding errors do not
    decide a comparison. This does not hold for scores whose terms cancel almost completely.

    In the cross-validation of scikit-learn, pass groups by metadata routing:
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
        """Fit the ranker to groups of candidates.

        Parameters
        ----------
        X : collection of examples
            Any form that the kernel accepts. With ``kernel="precomputed"``, the square kernel
            matrix of the examples.
        y : array-like of numbers
            The quality of each example. Only the first best candidate of each group and the worse
            ones matter.
        qid : array-like
            The group of each example: numbers or strings. Rows of a group need not be adjacent.

        Returns
        -------
        VotedPerceptron
            The fitted estimator.
        """
        self._check_parameters()
        kernel, data = self._kernel_and_data(X)
        n = len(data)
        goodness, groups = checked_goodness(y, n), checked_groups(qid, n, of=type(self).__name__)
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
        """Continue training with more groups: one pass over them, in order of first appearance.

        Calls with successive parts of a file give the same result as one `fit` to the whole file
        with ``epochs=1`` and ``shuffle=False``. The parameters `epochs` and `shuffle` are ignored
        here. Only examples that are part of a weight vector are kept, so the file may be larger
        than memory. All candidates of a group must be in the same part; see
        `treelet.learn.whole_groups`. The rows in `support_`, `updates_` and `update_counts_` are
        numbered across all parts.

        Parameters
        ----------
        X, y, qid
            As in `fit`, except that ``kernel="precomputed"`` is not supported.

        Returns
        -------
        VotedPerceptron
            The fitted estimator.

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
        stream = self._continued()
        kernel = stream.kernel
        data = self._examples(kernel, X)
        n, first = len(data), stream.seen
        goodness, groups = checked_goodness(y, n), checked_groups(qid, n, of=type(self).__name__)
        old = len(stream.rows)
        everything = stacked(stream.examples, compact_examples(kernel, data)) if old else compact_examples(kernel, data)
        contests = [old + rows for rows in (contest(rows, goodness[rows]) for rows in groups) if len(rows) > 1]
        started = time.perf_counter()
        function = growing(kernel, everything, self._resources)
        stream.add_to(function)
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

    def _continued(self) -> StreamState:
        """Return the state after the earlier parts."""
        if isinstance(self.kernel, str):
            raise self._refuse("kernel", "a kernel or None for partial_fit, which does not store a matrix")
        stream = self._stream
        if stream is None and hasattr(self, "model_"):
            raise ParameterError(
                "partial_fit can continue only from partial_fit, not from fit or from a model file, which do not keep the "
                "training examples. Pass the first part to partial_fit too."
            )
        kernel = self._own_kernel()
        if stream is None:
            return StreamState(kernel, None, np.empty(0, np.int64), History.nothing(), 0)
        if kernel != stream.kernel:
            raise ParameterError(
                f"partial_fit cannot continue with {kernel!r}: the earlier parts were fitted with {stream.kernel!r}. "
                "Restore that kernel, or start with a new estimator."
            )
        return stream

    def _conclude(self, kernel: Kernel | None, data: Any, numbers: NDArray[np.intp], history: History, n: int) -> None:
        """Build the model from a history over n rows, of which the rows `numbers` are in `data`."""
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

    @one_fit
    def predict(self, X: Any, qid: Any = None) -> Vector:
        """Return the score of each example. Larger scores are better within a group.

        Parameters
        ----------
        X : collection of examples
            As in `fit`. With ``kernel="precomputed"``, a matrix of examples x training examples.
        qid : array-like, optional
            The group of each example. Required for ``prediction="voted"``, where a score is the
            share of the votes in the group.

        Returns
        -------
        ndarray of shape (len(X),)
        """
        check_is_fitted(self)
        if not isinstance(self.model_, VotingModel):
            return super().predict(X, qid)
        if qid is None:
            raise ParameterError(
                "qid is missing: with prediction='voted', predict needs to know which examples belong to the same "
                "sentence or query. Pass qid=, or fit with prediction='averaged'."
            )
        if self._limits is not None and self.model_.kernel is not None:
            X = self._coerced(self.model_.kernel, X)
        return self.model_.votes(X, qid, self._resources)

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        if self.prediction_ not in PREDICTIONS or (self.prediction_ == "voted") != isinstance(self.model_, VotingModel):
            raise ValueError("the model does not match the kind of prediction")
        updates, survived = whole_numbers(self.updates_, 2), whole_numbers(self.survived_, 1)
        if (
            updates.shape != (len(survived), 2)
            or self.n_updates_ != len(survived)
            or whole_numbers(self.update_counts_, 1).size == 0
        ):
            raise ValueError("the updates are inconsistent")
        if type(self.n_comparisons_) is not int or whole_numbers(self.errors_, 1).size == 0:
            raise ValueError("the numbers of comparisons and errors are missing")
