"""Fragments as features: a transformer with readable column names."""

from __future__ import annotations

import copy
import itertools
import math
import warnings
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from treelet import _core
from treelet.checks import check_boolean, check_integer, check_one_of
from treelet.errors import InputTypeError, KernelOverflowError, ParameterError, TreeletWarning, user_level
from treelet.kernels import Kernel, PartialTree, SubsetTree
from treelet.kernels.fragments import (
    FRAGMENTS,
    NodeWeighting,
    SearchResult,
    has_fragments,
    search_fragments,
)
from treelet.kernels.pairwise import Matrix, Vector
from treelet.kernels.terms import KernelTerm, Roots, linear_parts
from treelet.learn.base import KernelTransformer
from treelet.learn.fits import atomic_fit, one_fit, snapshot
from treelet.learn.model import CompressedModel, GraphTerm
from treelet.learn.outputs import LinearOutput, compressed_model, resolve_output
from treelet.learn.persist import are_floats, check_intercepts, known_class, register, whole_numbers
from treelet.resources import count_threads
from treelet.structures import Tree, Treebank
from treelet.work import run

# --- selection of the fragments with the largest weights in a model or a collection of trees --------------------------

_ROWS = 1 << 15  # maximum number of trees per task of a thread

Rows = Any  # a csr_matrix: SciPy has no types
Arrays = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]


def _decays(kernel: Any, fragments: Treebank) -> Vector:
    r"""Return the weight of one occurrence of each fragment.

    The weight is :math:`\lambda^{\mathrm{size}/2}`, or :math:`\mu^{\mathrm{nodes}/2}
    \lambda^{\mathrm{edge}}` for `PartialTree`.
    """
    store, roots = fragments.columns
    factors: Vector
    if not isinstance(kernel, PartialTree):
        factors = float(kernel.lam) ** (0.5 * store.productions_below[roots])
        return factors
    weights = fragments.weights()
    row = np.repeat(np.arange(len(fragments)), np.diff(weights.start))
    nodes = np.bincount(row, weights.weight, len(fragments))
    edge = np.bincount(row, weights.weight * (store.production[weights.node] < 0), len(fragments))
    factors = float(kernel.mu) ** (0.5 * nodes) * float(kernel.lam) ** edge
    return factors


class FragmentCounter:
    """Counts given distinct fragments, one column per fragment."""

    def __init__(self, kernel: Kernel, fragments: Treebank, scale: float = 1.0) -> None:
        fragments = fragments.compact()
        factor = np.ascontiguousarray(scale * _decays(kernel, fragments))
        name = (
            "partial" if isinstance(kernel, PartialTree) else "subset" if isinstance(kernel, SubsetTree) else "complete"
        )
        leaves = isinstance(kernel, PartialTree | SubsetTree) and bool(kernel.leaves)
        lam = float(kernel.lam)  # type: ignore[attr-defined]  # All kernels with fragments of trees have it.
        self._columns = len(fragments)
        self._native = _core.FragmentMatcher(*fragments.columns, factor, name, leaves, lam)

    def rows(self, bank: Treebank, factors: Vector | None, *, unit: bool = False, threads: int = 1) -> Rows:
        """Return one row per tree, multiplied by its factor, or scaled to length 1 if `unit` is true."""
        return self.of_weights(bank.columns.store, bank.weights(), factors, unit=unit, threads=threads)

    def of_weights(
        self, store: Any, weights: _core.NodeWeights, factors: Vector | None, *, unit: bool = False, threads: int = 1
    ) -> Rows:
        """Return one row per weighted sum of trees, as `rows` does."""
        scale = np.ones(len(weights)) if factors is None else np.ascontiguousarray(factors, np.float64)

        n, columns = len(weights), self._columns
        size = max(1, min(_ROWS, -(-n // threads)))
        block_at: dict[int, Arrays] = {}

        def work(begin: int) -> int:
            block_at[begin] = self._native.rows(store, weights, scale, begin, min(n, begin + size), unit)
            return 0

        run(work, range(0, n, size), threads, lambda _: None)
        if len(block_at) == 1:
            start, column, value = block_at[0]
        else:  # Join the rows of all blocks: the starts of rows, and the columns and values of their entries.
            blocks = [block_at[begin] for begin in range(0, n, size)]
            ends = np.cumsum([0, *(len(column) for _, column, _ in blocks)])
            starts = [start[1:] + end for (start, _, _), end in zip(blocks, ends[:-1], strict=True)]
            start = np.concatenate([np.zeros(1, np.int64), *starts])
            column = np.concatenate([np.empty(0, np.int32), *(column for _, column, _ in blocks)])
            value = np.concatenate([np.empty(0), *(value for _, _, value in blocks)])
        if len(column) < 2**31:  # Linear models of scikit-learn need 32-bit indices.
            return sp.csr_matrix((value, column, start.astype(np.int32)), shape=(n, columns))
        return sp.csr_matrix((value, column, start), shape=(n, columns))


# Fragments in the order of selection, the number of the kernel's term that counts each of them, and whether no fragment
# with a larger weight was missed
_Selected = tuple[list[Tree], list[int], bool]


def listed_parts(kernel: Kernel) -> list[KernelTerm]:
    """Return the terms of a kernel whose fragments can be listed."""
    return [kernel_term for kernel_term in linear_parts(kernel) if has_fragments(kernel_term.inner.kernel)]


def _linear_outputs(model: Any) -> list[LinearOutput]:
    """Return the linear functions of a model: one per class or output, or only that of the second of two classes."""
    compressed_model(model, of="FragmentFeatures")
    classes = getattr(model, "classes_", None)
    if classes is not None:
        names = classes.tolist()
        return [resolve_output(model, name) for name in (names[1:] if len(names) == 2 else names)]
    first = resolve_output(model, 0)
    return [first, *(resolve_output(model, number) for number in range(1, first.model.outputs))]


def _terms(function: LinearOutput) -> list[GraphTerm]:
    return [term for term in function.listed if has_fragments(term.kernel_term.inner.kernel)]


def _select_from_model(functions: list[LinearOutput], n: int, depth: int | None) -> _Selected:
    """Select the fragments with the largest weights in each function in turn, until there are `n` different ones."""
    kernel = functions[0].model.kernel
    kernel_terms = listed_parts(kernel)
    if not kernel_terms:
        raise InputTypeError(
            f"The fragments of {kernel!r} cannot be features. Use one of the kernels {FRAGMENTS}, or a sum, "
            "multiple or normalized form of these, also on columns."
        )
    limit = n if len(functions) == 1 else min(n, 16 + 2 * n // len(functions))
    while True:
        lists, complete, exact = [], True, True
        for function in functions:
            heaviest: list[tuple[float, int, Tree]] = []
            for term in _terms(function):
                weighting = NodeWeighting.of(term.mixed_weights(function.mix[None, :]))
                wanted, scale = term.kernel_term, math.exp(-term.shift)
                number = next(
                    number
                    for number, other in enumerate(kernel_terms)
                    if other.inner == wanted.inner and other.roots == wanted.roots
                )
                result = _searched(term.kernel_term.inner.kernel, term.graph.columns.store, weighting, limit, depth)
                heaviest += [(-abs(value) * scale, number, tree) for tree, value, _ in result.fragments]
                complete, exact = complete and result.complete, exact and result.exact
            heaviest.sort(key=lambda entry: entry[0])
            lists.append([(number, tree) for _, number, tree in heaviest[:limit]])
        taken: dict[tuple[int, Tree], None] = {}
        for entry in itertools.chain.from_iterable(itertools.zip_longest(*lists)):
            if entry is not None and len(taken) < n:
                taken.setdefault(entry)
        chosen = list(taken)
        if len(chosen) >= n or complete or limit >= n:
            return [tree for _, tree in chosen], [number for number, _ in chosen], exact
        limit = min(n, 2 * limit)


def _select_from_trees(kernel: Kernel, X: Any, n: int, depth: int | None) -> _Selected:
    """Select the fragments with the largest sums over the trees' feature vectors."""
    kernel_terms, roots = listed_parts(kernel), Roots(X)
    heaviest: list[tuple[float, int, Tree]] = []
    exact = True
    for number, kernel_term in enumerate(kernel_terms):
        bank = kernel_term.inner.data(X)
        weighting = NodeWeighting.of(bank.weights(), _row_factors(roots, kernel_term))
        result = _searched(kernel_term.inner.kernel, bank.columns.store, weighting, n, depth)
        heaviest += [(-abs(value) * kernel_term.factor, number, tree) for tree, value, _ in result.fragments]
        exact = exact and result.exact
    heaviest.sort(key=lambda entry: entry[0])
    return [tree for _, _, tree in heaviest[:n]], [number for _, number, _ in heaviest[:n]], exact


def _searched(kernel: Kernel, store: Any, weighting: NodeWeighting, limit: int, depth: int | None) -> SearchResult:
    if depth is not None and isinstance(kernel, SubsetTree):
        kernel = copy.copy(kernel)
        kernel.max_depth = depth if kernel.max_depth is None else min(depth, kernel.max_depth)
        depth = None
    result = search_fragments(kernel, store, (weighting,), limit)
    if depth is None:
        return result
    kept = [fragment for fragment in result.fragments if fragment.tree.height() <= depth]
    return SearchResult(kept, result.complete, result.complete or (result.exact and len(kept) == len(result.fragments)))


def _row_factors(roots: Roots, kernel_term: KernelTerm) -> Vector | None:
    """Return the factor of a term's vector per example, 0 if a self-value is 0.

    None means that all factors are 1.
    """
    logs = roots.logs(kernel_term.roots)
    return None if logs is None else np.exp(np.where(np.isfinite(logs), -logs, -np.inf))


def _scale_of(kernel_term: KernelTerm) -> float:
    """Return the factor of a term's vectors that makes their inner products the term's values."""
    return math.sqrt(kernel_term.factor) if kernel_term.factor > 0 else 1.0


def _counters(kernel: Kernel, trees: Treebank, term_numbers: Any) -> list[tuple[KernelTerm, Any, FragmentCounter]]:
    """Return each term of a kernel that has columns, with its columns and its counter."""
    counted = []
    for number, kernel_term in enumerate(listed_parts(kernel)):
        columns = np.flatnonzero(term_numbers == number)
        if len(columns):
            counter = FragmentCounter(kernel_term.inner.kernel, trees[columns], _scale_of(kernel_term))
            counted.append((kernel_term, columns, counter))
    return counted


def _coefficients(
    functions: list[LinearOutput], counted: list[tuple[KernelTerm, Any, FragmentCounter]], n: int
) -> Matrix:
    """Return the coefficient of each column in each function of a model."""
    out = np.zeros((len(functions), n))
    model: CompressedModel = functions[0].model
    mixes = np.array([function.mix for function in functions])
    for kernel_term, columns, counter in counted:
        for term in _terms(functions[0]):
            if term.kernel_term.inner == kernel_term.inner and term.kernel_term.roots == kernel_term.roots:
                weights: _core.NodeWeights = term.mixed_weights(mixes)
                rows: Rows = counter.of_weights(term.graph.columns.store, weights, None)
                out[:, columns] += rows.toarray() * (math.exp(-term.shift) / _scale_of(kernel_term) ** 2)
    assert model.outputs == mixes.shape[1]
    return out


# --- fragments as features: a transformer with readable column names --------------------------------------------------

_NOTHING = (
    "FragmentFeatures found no fragment with a nonzero weight, so the result has no columns. "
    "Check the model or the trees, and the values of n= and depth=."
)


@register
class FragmentFeatures(KernelTransformer):
    r"""Transformer of trees to sparse vectors with one column per fragment.

    Columns are named by their fragments in bracket notation. The values are those of the kernel's
    feature map, :math:`\lambda^{\mathrm{size}(f)/2} h_f(T)` for `SubsetTree`, divided by the norm
    of the tree if the kernel is normalized. A linear model on these vectors is a kernel machine
    restricted to the selected fragments: small, fast and interpretable.

    There are two ways to select fragments:

    - ``FragmentFeatures(model)`` selects the fragments with the largest weights in a kernel
      machine, for each class in turn. `linear` returns the machine restricted to these fragments.
    - ``FragmentFeatures(kernel=...)`` selects the fragments with the largest weights in the fitted
      trees.

    Parameters
    ----------
    model : estimator or CompressedModel, optional
        A classifier, regressor or ranker whose kernel is `Subtree`, `SubsetTree` or `PartialTree`,
        or is composed of these by sums, multiples, `On` and ``.normalized()``. A fitted model is
        used as it is. Otherwise `fit` fits a copy. A clone of this transformer contains an unfitted
        model.
    n : int, default 5000
        Maximum number of fragments.
    depth : int, optional
        Maximum depth of fragments: the number of productions on the longest path. Default: no
        limit.
    kernel : Kernel, optional
        Determines the fragments and their weights if there is no model. Default:
        ``SubsetTree().normalized()``.
    norm : {"kernel", "l2"}, default "kernel"
        ``"kernel"`` divides rows by the norm of the tree under the kernel, if the kernel is
        normalized. ``"l2"`` scales rows to length 1 over the selected columns. This option is
        faster, because it needs no self-values, which take most of the time. It is equally good for
        training a model on the rows, but `linear` is not available.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core. Results do not depend on `n_jobs`.

    Attributes
    ----------
    fragments_ : Treebank
        The fragments, in the order of the columns. A node without children is a word, or a node
        that the fragment does not expand. With ``SubsetTree(leaves=True)``, a word that is part of
        the fragment has the child "\u2022".
    part_ : ndarray of int
        For each column, the index of the kernel's summand that contains the fragment.
    exact_ : bool
        True if no fragment with a larger weight was missed. This holds for `Subtree` and
        `SubsetTree` unless the search was stopped early.
    coef_ : ndarray of shape (n_outputs, n_columns)
        The weights of the columns in the model: one row per class, or only that of the second of
        two classes.
    intercept_ : ndarray of shape (n_outputs,)
        The intercepts of the model.
    classes_ : ndarray
        The classes of the model, if it is a classifier.
    kernel_ : Kernel
        A copy of the kernel, made by `fit`.

    Examples
    --------
    >>> import treelet as tl
    >>> trees = ["(NP (D the) (N apple))", "(NP (D the) (N pear))", "(NP (D an) (N apple))", "(NP (D a) (N pear))"]
    >>> model = tl.RLS(tl.SubsetTree(lam=0.25)).fit(trees, [1, -1, 1, -1])
    >>> features = tl.FragmentFeatures(model, n=4).fit(trees)
    >>> features.get_feature_names_out().tolist()
    ['(N apple)', '(N pear)', '(NP D (N apple))', '(NP D (N pear))']
    >>> features.transform(["(NP (D my) (N apple))"]).toarray()
    array([[0.5 , 0.  , 0.25, 0.  ]])
    """

    _kernels = f"one of {FRAGMENTS}, a kernel composed of these by sums, multiples, On and .normalized(), or None"
    _fitted: ClassVar[tuple[str, ...]] = (
        "kernel_",
        "fragments_",
        "part_",
        "exact_",
        "coef_",
        "intercept_",
        "classes_",
    )
    _fitted_private: ClassVar[tuple[str, ...]] = ("_counters",)

    def __init__(
        self,
        model: Any = None,
        n: int = 5000,
        depth: int | None = None,
        *,
        kernel: Kernel | None = None,
        norm: str = "kernel",
        n_jobs: int | None = 1,
    ) -> None:
        self.model = model
        self.n = n
        self.depth = depth
        self.kernel = kernel
        self.norm = norm
        self.n_jobs = n_jobs

    @atomic_fit()
    def fit(self, X: Any = None, y: Any = None, **fit_params: Any) -> Self:
        """Select the fragments.

        Parameters
        ----------
        X : collection of examples, optional
            Not needed if the model is fitted.
        y : array-like, optional
            Targets for a model that is not fitted.
        **fit_params
            Other arguments for the `fit` method of a model that is not fitted, such as ``qid`` of a
            ranker.

        Returns
        -------
        FragmentFeatures
            The fitted transformer.
        """
        self._check_parameters()
        if self.model is not None:
            is_fitted = isinstance(self.model, CompressedModel) or hasattr(self.model, "model_")
            model = snapshot(self.model if is_fitted else self._fitted_copy(X, y, fit_params))
            functions = _linear_outputs(model)
            self._keep(functions[0].model.kernel, _select_from_model(functions, int(self.n), self.depth))
            counted = _counters(self.kernel_, self.fragments_, self.part_)
            self.coef_: Matrix = _coefficients(functions, counted, len(self.fragments_))
            self.intercept_: Vector = np.array([function.intercept for function in functions])
            if (classes := getattr(model, "classes_", None)) is not None:
                self.classes_ = classes.copy()
            return self
        kernel = self._own_kernel()
        if not listed_parts(kernel):
            raise self._wrong_kernel()
        data = self._examples(kernel, X)
        self._keep(kernel, _select_from_trees(kernel, data, int(self.n), self.depth))
        return self

    def _check_parameters(self) -> None:
        check_integer("n", self.n, of=self, most=2**31)
        check_integer("depth", self.depth, of=self, optional=True, most=2**31)
        check_one_of("norm", self.norm, ("kernel", "l2"), of=self)
        count_threads(self.n_jobs, of=self)
        if self.model is not None and self.kernel is not None:
            raise self._refuse("kernel", "None if there is a model")

    def _fitted_copy(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        if not hasattr(self.model, "fit") or not hasattr(self.model, "get_params"):
            raise self._refuse("model", "an estimator, a CompressedModel or None")
        if X is None:
            raise ParameterError("The model of FragmentFeatures is not fitted. Pass the examples X and y to fit.")
        return clone(self.model).fit(X, y, **fit_params)

    def _keep(self, kernel: Kernel, chosen: _Selected) -> None:
        trees, parts, self.exact_ = chosen
        self.kernel_, self.fragments_, self.part_ = kernel, Treebank(trees).compact(), np.array(parts, np.int64)
        if not trees:
            warnings.warn(_NOTHING, TreeletWarning, stacklevel=user_level())

    def transform(self, X: Any) -> Rows:
        """Return one sparse row per tree. The row of a missing tree is zero.

        Parameters
        ----------
        X : collection of examples

        Returns
        -------
        scipy.sparse.csr_matrix of shape (len(X), n_columns)
        """
        check_is_fitted(self)
        data = self._coerced(self.kernel_, X)
        if self.__dict__.get("_counters") is None:
            self._counters = _counters(self.kernel_, self.fragments_, self.part_)
        roots, threads, unit = Roots(data), count_threads(self.n_jobs, of=self), self.norm == "l2"
        blocks, order = [], []
        for kernel_term, columns, counter in self._counters:
            factors = None if unit else _row_factors(roots, kernel_term)
            alone = unit and len(columns) == len(self.fragments_)
            blocks.append(counter.rows(kernel_term.inner.data(data), factors, unit=alone, threads=threads))
            order.append(columns)
        if not blocks:
            return sp.csr_matrix((len(data), len(self.fragments_)))
        rows = blocks[0]
        if len(blocks) > 1:
            rows = sp.csr_matrix(sp.hstack(blocks, format="csr")[:, np.argsort(np.concatenate(order))])
            rows = normalize(rows, copy=False) if unit else rows
        if not np.isfinite(rows.data).all():
            bad = int(np.searchsorted(rows.indptr, np.flatnonzero(~np.isfinite(rows.data))[0], side="right")) - 1
            raise KernelOverflowError(
                f"The number of fragments of item {bad} is too large for a float64. Use a smaller lam=."
            )
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in dict(super().__getstate__()).items() if name != "_counters"}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fragments_")

    # --- columns ------------------------------------------------------------------------------------------------

    @one_fit
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the fragments in bracket notation.

        If the kernel has several summands, the column and the kernel of the summand come first.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = [text or str(tree) for text, tree in zip(self.fragments_.strings(), self.fragments_, strict=True)]
        kernel_terms = listed_parts(self.kernel_)
        if len(kernel_terms) > 1:
            prefixes = [
                " ".join([*map(str, kernel_term.inner.path), repr(kernel_term.inner.kernel)])
                for kernel_term in kernel_terms
            ]
            names = [f"{prefixes[number]}: {name}" for number, name in zip(self.part_.tolist(), names, strict=True)]
        return np.array(names, dtype=object)

    # --- the linear model ---------------------------------------------------------------------------------------

    @one_fit
    def linear(self) -> Any:
        """Return the model restricted to the selected fragments, as a linear model of scikit-learn.

        The weights are those of the kernel machine. Nothing is trained.

        Returns
        -------
        LinearSVC or LinearRegression
            A LinearSVC for a classifier, otherwise a LinearRegression. Pass the result of
            `transform` to its `predict` method.

        Notes
        -----
        With all fragments, the predictions are those of the model. Otherwise, scores lack the
        contributions of the other fragments. A linear model that is trained on the same columns
        compensates for this and is often better.

        Examples
        --------
        >>> import treelet as tl
        >>> trees = ["(NP (D the) (N apple))", "(NP (D the) (N pear))", "(NP (D an) (N apple))", "(NP (D a) (N pear))"]
        >>> model = tl.KernelSVC(tl.SubsetTree()).fit(trees, ["red", "green", "red", "green"])
        >>> features = tl.FragmentFeatures(model, n=4).fit(trees)
        >>> features.linear().predict(features.transform(["(NP (D my) (N pear))"])).tolist()
        ['green']
        """
        from sklearn.linear_model import LinearRegression
        from sklearn.svm import LinearSVC

        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            raise ParameterError(
                "The fragments were not selected from a model, so they have no weights. "
                "Pass a model to FragmentFeatures, or train a linear model on the columns."
            )
        if self.norm != "kernel":
            raise self._refuse("norm", "'kernel' for linear()")
        machine = LinearSVC() if hasattr(self, "classes_") else LinearRegression()
        machine.coef_, machine.intercept_ = self.coef_.copy(), self.intercept_.copy()
        machine.n_features_in_ = self.coef_.shape[1]
        if hasattr(self, "classes_"):
            machine.classes_ = self.classes_.copy()
        elif len(self.coef_) == 1:
            machine.coef_, machine.intercept_ = machine.coef_[0], float(machine.intercept_[0])
        return machine

    # --- in a file ----------------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        state = super()._to_state()
        if self.model is not None:  # Only the parameters of the model; the weights of the columns are stored anyway.
            state["params"]["model"] = None
            if not isinstance(self.model, CompressedModel):
                params = self.model.get_params(deep=False)
                state["params"]["model"] = {"made_by": type(self.model).__name__, "params": params}
        return state

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        recipe = state["params"].get("model")
        if isinstance(recipe, dict):
            estimator_class = known_class(recipe["made_by"])
            if not issubclass(estimator_class, BaseEstimator) or estimator_class is cls:
                raise ValueError("the class of the model is not an estimator")
            state = {**state, "params": {**state["params"], "model": estimator_class(**recipe["params"])}}
        return super()._from_state(state)

    def _check_fitted_state(self) -> None:
        self._check_parameters()
        super()._check_fitted_state()
        kernel_terms = listed_parts(self.kernel_)
        trees = getattr(self, "fragments_", None)
        if not isinstance(trees, Treebank) or bool((trees.columns.roots < 0).any()):
            raise ValueError("the fragments are missing")
        if whole_numbers(self.part_, 1).shape != (len(trees),) or self.part_.max(initial=-1) >= len(kernel_terms):
            raise ValueError("fragments and terms of the kernel do not match")
        check_boolean("exact_", self.exact_)
        if hasattr(self, "coef_"):
            if not are_floats(self.coef_, 2) or self.coef_.shape[1] != len(trees):
                raise ValueError("fragments and weights do not match")
            check_intercepts(self.intercept_, len(self.coef_))
            if hasattr(self, "classes_") and len(self.classes_) != max(2, len(self.coef_)):
                raise ValueError("classes and weights do not match")
