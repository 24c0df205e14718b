"""Fragments as features: a transformer with readable column names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import TransformerMixin, clone
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_boolean, check_integer, check_one_of
from treelet.errors import InputTypeError, ParameterError, TreeletWarning
from treelet.kernels import Kernel
from treelet.kernels.fragments.weighting import FRAGMENTS, check_has_fragments
from treelet.kernels.pairwise import Matrix, Vector
from treelet.kernels.wrapped import Normalized
from treelet.learn.base import KernelEstimator, atomic_fit
from treelet.learn.encoding import are_floats, check_intercepts, known_class, register, whole_numbers
from treelet.learn.fragment_selection import (
    HashedCounter,
    Rows,
    SelectedFragments,
    check_finite,
    coefficients,
    counters,
    linear_outputs,
    listed_parts,
    row_factors,
    select_from_model,
    select_from_trees,
)
from treelet.learn.model import CompressedModel
from treelet.learn.terms import Roots
from treelet.resources import count_threads
from treelet.structures import Tree, Treebank

NOTHING = "FragmentFeatures finds no fragment with a weight other than 0: there are no columns, and nothing can be learned on them"


@register
class FragmentFeatures(TransformerMixin, KernelEstimator):  # type: ignore[misc]  # scikit-learn has no types
    r"""Turns trees into sparse vectors of fragments: each column is one, and is named by its brackets.

    The values are the kernel's own, :math:`\lambda^{\mathrm{size}(f)/2} h_f(T)` for SST, divided by the tree's norm where the kernel is normalized. So a
    linear machine on them is a kernel machine cut to these fragments: small, fast, and open to inspection.

    - ``FragmentFeatures(model)``: the heaviest fragments of a kernel machine, each class's in turn. `linear` is the machine cut to them.
    - ``FragmentFeatures(kernel=...)``: those that weigh most in the trees that it is fitted to.
    - ``FragmentFeatures(kernel=..., n_features=2**20)``: all fragments up to a size, in columns that a hash gives. Nothing is fitted or
      kept, so that trees may come for ever.

    Parameters
    ----------
    model : estimator or CompressedModel, optional
        A classifier, regressor or ranker whose kernel is `Subtree`, `SubsetTree` or `PartialTree`, or made of these by sums, multiples, `On`
        and ``.normalized()``. One that is fitted is taken as it is; otherwise a copy is fitted when this is. (A clone of this is not fitted, nor is
        the model in it.)
    n : int
        How many fragments, at most; with `n_features` it means nothing.
    depth : int, optional
        Only fragments of at most this depth: productions on the longest path.
    kernel : Kernel, optional
        Without a model: which fragments, and what they are worth. By default ``SubsetTree().normalized()``.
    norm : {"kernel", "l2"}
        ``"kernel"``: rows are divided by the tree's norm under the kernel, if that is normalized. ``"l2"``: rows get the length 1, by the fragments
        that are columns alone. That is faster than everything else here together, as no self-value is needed, and as good for a machine
        that is trained on the rows; but `linear` has then no meaning.
    n_features : int, optional
        Hash all fragments into so many columns, with a sign by the hash, too. A normalized kernel gives rows of length 1.
    size : int
        With `n_features`: productions of a fragment, at most; for PT nodes. At a node with more than 50,000 such fragments only smaller ones count, and a warning says
        so.
    n_jobs : int
        Threads; -1 for one a core. The result does not depend on it.
    progress : bool
        As for the other estimators; there is little to wait for.

    Attributes
    ----------
    fragments_ : Treebank
        The fragments, in the order of the columns. A node without children is a word, or a node that the fragment does not expand. With
        ``SubsetTree(leaves=True)`` a word that is part of the fragment has the child "\u2022".
    part_ : ndarray of int
        Of a kernel with several summands, which of them sees a column's fragment.
    exact_ : bool
        No heavier fragments were missed: so for ST and SST, unless there was too much to look at.
    coef_ : ndarray of shape (outputs, n)
        What the columns weigh in the model; a row a class, of two classes one, the second's.
    intercept_ : ndarray of shape (outputs,)
    classes_ : ndarray
        The model's, if it has any.
    kernel_ : Kernel
        A copy of the kernel as it was when fitted.

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
    >>> stream = tl.FragmentFeatures(kernel=tl.SubsetTree(), n_features=2**20)
    >>> stream.transform(trees).shape
    (4, 1048576)
    """

    _kernels = f"one of {FRAGMENTS}, or made of these by sums, multiples, On and .normalized(), or None"
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
        n_features: int | None = None,
        size: int = 4,
        n_jobs: int | None = 1,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.n = n
        self.depth = depth
        self.kernel = kernel
        self.norm = norm
        self.n_features = n_features
        self.size = size
        self.n_jobs = n_jobs
        self.progress = progress

    @atomic_fit()
    def fit(self, X: Any = None, y: Any = None, **fit_params: Any) -> Self:
        """Choose the fragments.

        A fitted model needs no `X`; what else is given goes to the `fit` of one that is not, as a ranker's ``qid=``.
        """
        self._check_parameters()
        if self.n_features is not None:
            self._hashed()
            self.kernel_ = self._own_kernel()
            return self
        if self.model is not None:
            self._choose_from(self.model if _is_fitted(self.model) else self._fitted_copy(X, y, fit_params))
            return self
        kernel = self._own_kernel()
        if not listed_parts(kernel):
            raise self._refuse("kernel", self._kernels)
        data = self._examples(kernel, X)
        self._keep(kernel, select_from_trees(kernel, data, int(self.n), self.depth))
        return self

    def _check_parameters(self) -> None:
        check_integer("n", self.n, of=self, most=2**31)
        check_integer("depth", self.depth, of=self, optional=True, most=2**31)
        check_one_of("norm", self.norm, ("kernel", "l2"), of=self)
        check_integer("n_features", self.n_features, of=self, optional=True, most=2**31)
        check_integer("size", self.size, of=self, most=2**31)
        check_boolean("progress", self.progress, of=self)
        count_threads(self.n_jobs)
        for name in ("kernel", "n_features"):
            if self.model is not None and getattr(self, name) is not None:
                raise self._refuse(name, "None where there is a model")

    def _fitted_copy(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        if not hasattr(self.model, "fit") or not hasattr(self.model, "get_params"):
            raise self._refuse("model", "an estimator, a CompressedModel or None")
        if X is None:
            raise ParameterError("the model of FragmentFeatures is not fitted: give fit the examples X, and y")
        return clone(self.model).fit(X, y, **fit_params)

    def _choose_from(self, model: Any) -> None:
        functions = linear_outputs(model)
        self._keep(functions[0].model.kernel, select_from_model(functions, int(self.n), self.depth))
        counted = counters(self.kernel_, self.fragments_, self.part_)
        self.coef_: Matrix = coefficients(functions, counted, len(self.fragments_))
        self.intercept_: Vector = np.array([function.intercept for function in functions])
        if (classes := getattr(model, "classes_", None)) is not None:
            self.classes_ = classes.copy()

    def _keep(self, kernel: Kernel, chosen: SelectedFragments) -> None:
        self.kernel_, self.exact_ = kernel, chosen.exact
        self.fragments_ = Treebank(chosen.trees).compact()
        self.part_ = np.array(chosen.parts, np.int64)
        if not chosen.trees:
            warnings.warn(NOTHING, TreeletWarning, stacklevel=5)

    def transform(self, X: Any) -> Rows:
        """A row a tree, as a sparse matrix; a missing one has zeros."""
        if self.n_features is not None:
            return self._hashed_rows(X)
        check_is_fitted(self)
        data = self.kernel_.coerce(X)
        if self.__dict__.get("_counters") is None:
            self._counters = counters(self.kernel_, self.fragments_, self.part_)
        roots, threads, unit = Roots(data), count_threads(self.n_jobs), self.norm == "l2"
        blocks, order = [], []
        for kernel_term, columns, counter in self._counters:
            factors = None if unit else row_factors(roots, kernel_term)
            alone = unit and len(columns) == len(self.fragments_)
            blocks.append(counter.rows(kernel_term.inner.data(data), factors, unit=alone, threads=threads))
            order.append(columns)
        if not blocks:
            return sp.csr_matrix((len(data), len(self.fragments_)))
        rows = blocks[0]
        if len(blocks) > 1:
            rows = sp.csr_matrix(sp.hstack(blocks, format="csr")[:, np.argsort(np.concatenate(order))])
            rows = normalize(rows, copy=False) if unit else rows
        return check_finite(rows)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_counters"}

    def __sklearn_is_fitted__(self) -> bool:
        return self.n_features is not None or hasattr(self, "fragments_")

    # --- columns ------------------------------------------------------------------------------------------------

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The fragments in brackets. Where the kernel has several summands, each with its column and kernel before it."""
        if self.n_features is not None:
            raise ParameterError(
                "hashed columns have no names: names_of(columns, trees) looks for fragments that are in them"
            )
        check_is_fitted(self)
        names = [text or str(tree) for text, tree in zip(self.fragments_.strings(), self.fragments_, strict=True)]
        kernel_terms = listed_parts(self.kernel_)
        if len(kernel_terms) > 1:
            said = [
                " ".join([*map(str, kernel_term.inner.path), repr(kernel_term.inner.kernel)])
                for kernel_term in kernel_terms
            ]
            names = [f"{said[number]}: {name}" for number, name in zip(self.part_.tolist(), names, strict=True)]
        return np.array(names, dtype=object)

    def names_of(self, columns: int | Iterable[int], trees: Any) -> dict[int, list[Tree]]:
        """Fragments of some trees that the hash puts into some columns.

        Looks through the 20,000 fragments that weigh most in the trees.

        Parameters
        ----------
        columns : int or iterable of int
            Such as those with the largest coefficients of a linear machine.
        trees : collection
            Trees in which to look.

        Returns
        -------
        dict
            For each column, its fragments, those first that weigh most. Several have met in one column, or none of the trees has what is in it.

        Examples
        --------
        >>> import treelet as tl
        >>> features = tl.FragmentFeatures(kernel=tl.SubsetTree(), n_features=2**20)
        >>> column = features.transform(["(N apple)"]).indices[0]
        >>> found = features.names_of(column, ["(NP (D an) (N apple))"])
        >>> [str(tree) for tree in found[column]]
        ['(N apple)']
        """
        if self.n_features is None:
            raise ParameterError("names_of is for hashed columns; get_feature_names_out names these")
        counter, inner, _ = self._hashed()
        return counter.named(columns, inner.coerce(trees))

    # --- the machine --------------------------------------------------------------------------------------------

    def linear(self) -> Any:
        """The model cut to these fragments, as scikit-learn's linear model: its own weights, nothing is trained.

        Returns
        -------
        LinearSVC or LinearRegression
            Of a classifier, a LinearSVC with its classes; otherwise a LinearRegression. It takes what `transform` gives.

        Notes
        -----
        With all fragments it is the model itself. What is cut away is missing from the scores: a linear machine trained on the
        same columns makes up for that, and is often better.

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
                "these fragments are not those of a model, and have no weights: train a linear machine on them"
            )
        if self.norm != "kernel":
            raise self._refuse("norm", "'kernel' for the model's own weights")
        machine = LinearSVC() if hasattr(self, "classes_") else LinearRegression()
        machine.coef_, machine.intercept_ = self.coef_.copy(), self.intercept_.copy()
        machine.n_features_in_ = self.coef_.shape[1]
        if hasattr(self, "classes_"):
            machine.classes_ = self.classes_.copy()
        elif len(self.coef_) == 1:
            machine.coef_, machine.intercept_ = machine.coef_[0], float(machine.intercept_[0])
        return machine

    # --- hashed -------------------------------------------------------------------------------------------------

    def _hashed(self) -> tuple[HashedCounter, Kernel, bool]:
        """Return the counter, the kernel without its normalization, and whether it was normalized."""
        kernel = self._own_kernel()
        inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
        try:
            check_has_fragments(inner)
        except (InputTypeError, ParameterError):
            raise self._refuse(
                "kernel", f"one of {FRAGMENTS}, .normalized() or not, where columns are hashed"
            ) from None
        assert self.n_features is not None
        return HashedCounter(inner, int(self.size), self.depth, int(self.n_features)), inner, inner is not kernel

    def _hashed_rows(self, X: Any) -> Rows:
        self._check_parameters()
        counter, inner, normalized = self._hashed()
        rows, crowded = counter.rows(
            inner.coerce(X), unit=normalized or self.norm == "l2", threads=count_threads(self.n_jobs)
        )
        if crowded:
            warnings.warn(
                f"{crowded:,} distinct subtrees have more than 50,000 fragments of at most {self.size} "
                "productions or nodes: there only smaller ones count. Take a smaller size= or depth=",
                TreeletWarning,
                stacklevel=3,
            )
        return rows

    # --- in a file ----------------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        state = super()._to_state()
        if self.model is not None:  # what it was made by; its weights of the columns are there
            params = None if isinstance(self.model, CompressedModel) else self.model.get_params(deep=False)
            state["params"]["model"] = (
                None if params is None else {"made_by": type(self.model).__name__, "params": params}
            )
        return state

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        recipe = state["params"].get("model")
        if isinstance(recipe, dict):
            estimator_class = known_class(recipe["made_by"])
            if not issubclass(estimator_class, KernelEstimator) or estimator_class is cls:
                raise ValueError("a model is made by no estimator")
            state = {**state, "params": {**state["params"], "model": estimator_class(**recipe["params"])}}
        return super()._from_state(state)

    def _check_fitted_state(self) -> None:
        self._check_parameters()
        if self.n_features is not None:
            self._hashed()
            return
        super()._check_fitted_state()
        kernel_terms = listed_parts(self.kernel_)
        trees = getattr(self, "fragments_", None)
        if not isinstance(trees, Treebank) or bool((trees.columns.roots < 0).any()):
            raise ValueError("the fragments are missing")
        if whole_numbers(self.part_, 1).shape != (len(trees),) or self.part_.max(initial=-1) >= len(kernel_terms):
            raise ValueError("fragments and parts of the kernel do not fit")
        check_boolean("exact_", self.exact_)
        if hasattr(self, "coef_"):
            if not are_floats(self.coef_, 2) or self.coef_.shape[1] != len(trees):
                raise ValueError("fragments and weights do not fit")
            check_intercepts(self.intercept_, len(self.coef_))
            if hasattr(self, "classes_") and len(self.classes_) != max(2, len(self.coef_)):
                raise ValueError("classes and weights do not fit")


def _is_fitted(model: Any) -> bool:
    return isinstance(model, CompressedModel) or hasattr(model, "model_")
