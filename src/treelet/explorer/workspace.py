"""The explorer's workspace: a model, the trees it was trained on, a grammar and a ranker of its parses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article
from treelet.errors import InputTypeError
from treelet.kernels.terms import linear_parts
from treelet.kernels.tree import TreeKernel
from treelet.learn import Nearest
from treelet.learn.model import GraphTerm
from treelet.learn.outputs import final_estimator, task_of
from treelet.learn.persist import fitted_kernel
from treelet.parsing import PCFG
from treelet.structures import Table, Tree, Treebank

TREE, LOGP = "tree", "logp"  # the columns of a list of parses


@dataclass(frozen=True)
class ModelView:
    """A fitted model of trees, as the explorer uses it.

    Parameters
    ----------
    model : estimator
        A classifier, regressor or ranker whose examples are trees or parses. Parses are rows with a column of trees and,
        optionally, a column of log probabilities.
    name : str
        Name that the page displays.
    """

    model: Any
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", final_estimator(self.model))
        if self.task is None:
            raise InputTypeError(
                f"{self.name}: {article(type(self.model).__name__)} does not predict from trees. Pass a classifier, regressor or ranker."
            )
        self.column  # noqa: B018  # raises an error if the kernel is not supported

    @property
    def task(self) -> str | None:
        """``"classify"``, ``"regress"`` or ``"rank"``."""
        return task_of(self.model)

    @property
    def kernel(self) -> Any:
        return fitted_kernel(self.model)

    @cached_property
    def column(self) -> Any:
        """The column that contains the trees; None if examples are trees."""
        kernel = self.kernel
        kernel_terms = linear_parts(kernel) if kernel is not None and not isinstance(kernel, str) else []
        trees = {
            kernel_term.inner.path for kernel_term in kernel_terms if isinstance(kernel_term.inner.kernel, TreeKernel)
        }
        others = {
            kernel_term.inner.path
            for kernel_term in kernel_terms
            if not isinstance(kernel_term.inner.kernel, TreeKernel)
        }
        if len(trees) != 1 or len(path := trees.pop()) > 1 or others - {(LOGP,)}:
            raise InputTypeError(
                f"{self.name}: the explorer needs a model with one tree per example. The kernel is {kernel!r:.200}. "
                "For other models, use the command treelet explain."
            )
        return path[0] if path else None

    def examples(self, trees: Treebank, logp: NDArray[np.float64] | None = None) -> Treebank | Table:
        """Return trees as examples of the model. Without log probabilities, every tree counts as the best parse."""
        if self.column is None:
            return trees
        logp = np.zeros(len(trees)) if logp is None else logp
        return Table({self.column: trees, LOGP: logp[:, None]})

    def example(self, tree: Tree, logp: float = 0.0) -> Any:
        """Return one tree as an example for `treelet.explain`."""
        return tree if self.column is None else {self.column: tree, LOGP: np.array([logp])}

    def scores(self, trees: Treebank, logp: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the predictions of a regressor, or the scores of a ranker for one list of parses."""
        examples = self.examples(trees, logp)
        if self.task == "rank":
            return np.asarray(self.model.predict(examples, np.zeros(len(trees), np.int64)), dtype=np.float64)
        return np.asarray(self.model.predict(examples), dtype=np.float64)


@dataclass(frozen=True)
class Parsing:
    """A grammar and, optionally, a ranker of its parses.

    Parameters
    ----------
    name : str
        Origin of the grammar.
    grammar : callable
        Returns the grammar. Called when the grammar is first needed.
    ranker : callable, optional
        Returns the model that ranks parses.
    trees : Treebank, optional
        The trees that the grammar was estimated from. Examples are chosen from them.
    """

    name: str
    grammar: Callable[[], PCFG]
    ranker: Callable[[], ModelView] | None = None
    trees: Treebank | None = None


@dataclass(frozen=True)
class Workspace:
    """The model, trees and grammar that requests refer to.

    Parameters
    ----------
    parsing : Parsing
    model_view : ModelView, optional
        The model. Without one, the ranker of `parsing` is used.
    trees : Treebank, optional
        Training trees of the model, which are searched for the nearest trees.
    labels : list of str, optional
        Labels of these trees.
    """

    parsing: Parsing
    model_view: ModelView | None = None
    trees: Treebank | None = None
    labels: list[str] | None = None
    _searches: list[tuple[Treebank, Nearest]] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def grammar(self) -> PCFG:
        """Return the grammar."""
        with self._lock:  # requests are handled in threads; the first one creates the value
            return self.parsing.grammar()

    def model(self) -> ModelView | None:
        """Return the model of the model view."""
        return self.model_view if self.model_view is not None else self._parse_ranker()

    def ranker(self) -> ModelView | None:
        """Return the model that ranks parses: the model of the workspace, if it is a ranker."""
        if self.model_view is not None and self.model_view.task == "rank":
            return self.model_view
        return self._parse_ranker()

    def _parse_ranker(self) -> ModelView | None:
        with self._lock:
            return None if self.parsing.ranker is None else self.parsing.ranker()

    def nearest_trees(self, term: GraphTerm) -> tuple[Treebank, Nearest]:
        """Return the training trees or, without these, the support trees of the model, and a search for the nearest ones."""
        with self._lock:
            if not self._searches:
                kernel, trees = term.kernel_term.inner.kernel, self.trees if self.trees is not None else term.graph
                assert isinstance(kernel, TreeKernel)
                assert isinstance(trees, Treebank)
                self._searches.append((trees, Nearest(kernel.normalized()).fit(trees)))
        return self._searches[0]
