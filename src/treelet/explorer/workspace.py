"""What lies on the explorer's desk: a model, the trees it was trained on, a grammar and a ranker of its parses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from treelet.errors import InputTypeError
from treelet.kernels.tree import TreeKernel
from treelet.learn import Nearest
from treelet.learn.deciding import TASKS
from treelet.learn.model_card import fitted_kernel
from treelet.learn.summands import linear_parts
from treelet.learn.terms import GraphTerm
from treelet.parsing import PCFG
from treelet.structures import Table, Tree, Treebank

Made = TypeVar("Made")
TREE, LOGP = "tree", "logp"  # the columns of a list of parses


class Later(Generic[Made]):
    """What is made when it is first asked for, by whichever thread comes first."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._made: list[Made] = []

    def __call__(self) -> Made:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
        return self._made[0]


@dataclass(frozen=True)
class Judge:
    """A fitted model that says something of trees.

    Parameters
    ----------
    model : estimator
        A classifier, regressor or ranker, of trees or of lists of parses: a column of trees, and perhaps their log probabilities.
    name : str
        What it is called on the page.
    """

    model: Any
    name: str

    def __post_init__(self) -> None:
        if self.task is None:
            raise InputTypeError(f"{self.name}: a {type(self.model).__name__} says nothing of trees; give a classifier")
        self.column  # noqa: B018  # complains

    @property
    def task(self) -> str | None:
        """``"classify"``, ``"regress"`` or ``"rank"``."""
        return TASKS.get(type(self.model).__name__)

    @property
    def kernel(self) -> Any:
        return fitted_kernel(self.model)

    @cached_property
    def column(self) -> Any:
        """The column that the trees are in; None where examples are trees."""
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
                f"{self.name}: the explorer shows models of one tree an example, not of {kernel!r:.200}; treelet explain takes others"
            )
        return path[0] if path else None

    def examples(self, trees: Treebank, logp: NDArray[np.float64] | None = None) -> Treebank | Table:
        """Trees in the form that the model takes. Without log probabilities each counts as its sentence's best."""
        if self.column is None:
            return trees
        logp = np.zeros(len(trees)) if logp is None else logp
        return Table({self.column: trees, LOGP: logp[:, None]})

    def example(self, tree: Tree, logp: float = 0.0) -> Any:
        """One tree, in the form that `treelet.explain` takes."""
        return tree if self.column is None else {self.column: tree, LOGP: np.array([logp])}

    def scores(self, trees: Treebank, logp: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """A regressor's values, or a ranker's of one list."""
        examples = self.examples(trees, logp)
        if self.task == "rank":
            return np.asarray(self.model.predict(examples, np.zeros(len(trees), np.int64)), dtype=np.float64)
        return np.asarray(self.model.predict(examples), dtype=np.float64)


@dataclass(frozen=True)
class Neighbours:
    """Trees to be near to, and what is known of each."""

    trees: Treebank
    kernel: TreeKernel
    labels: list[str] | None = None

    @cached_property
    def search(self) -> Nearest:
        return Nearest(self.kernel.normalized()).fit(self.trees)


@dataclass(frozen=True)
class Parsing:
    """A grammar, and who puts its parses in order.

    Parameters
    ----------
    name : str
        Where the grammar is from.
    grammar : callable
        Makes it, when it is first needed.
    ranker : callable, optional
        Makes the judge; None where there is none.
    """

    name: str
    grammar: Callable[[], PCFG]
    ranker: Callable[[], Judge] | None = None


@dataclass(frozen=True)
class Desk:
    """All that the explorer can be asked about.

    Parameters
    ----------
    parsing : Parsing
    judge : Judge, optional
        The model. Without one, the ranker of `parsing`.
    trees : Treebank, optional
        What the model was trained on, to be looked in for what is near.
    labels : list of str, optional
        Their labels.
    """

    parsing: Parsing
    judge: Judge | None = None
    trees: Treebank | None = None
    labels: list[str] | None = None
    _kept: dict[str, Later[Neighbours]] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def model(self) -> Judge | None:
        """What the model's page is about."""
        if self.judge is not None or self.parsing.ranker is None:
            return self.judge
        return self.parsing.ranker()

    def ranker(self) -> Judge | None:
        """Who orders parses: the model, if it is a ranker."""
        if self.judge is not None and self.judge.task == "rank":
            return self.judge
        return None if self.parsing.ranker is None else self.parsing.ranker()

    def neighbours(self, term: GraphTerm) -> Neighbours:
        """The training trees; else those that are in the model's file, which has the ones with a coefficient."""
        with self._lock:
            found = self._kept.setdefault("near", Later(lambda: self._near(term)))
        return found()

    def _near(self, term: GraphTerm) -> Neighbours:
        kernel = term.kernel_term.inner.kernel
        assert isinstance(kernel, TreeKernel)
        if self.trees is not None:
            return Neighbours(self.trees, kernel, self.labels)
        assert isinstance(term.graph, Treebank)
        return Neighbours(term.graph, kernel)
