"""The content of a report: the largest fragment weights of a model and its errors. `report_page` turns it into HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from treelet.checks import check_integer, plural
from treelet.cuts import TreeIndex
from treelet.errors import ParameterError
from treelet.formats import label_text
from treelet.fragments.explanation import Explanation, TopFragments, WeightedFragment
from treelet.fragments.model_fragments import explain, top_fragments
from treelet.fragments.occurrences import places
from treelet.learn.deciding import task_of
from treelet.learn.fragment_selection import FragmentCounter
from treelet.learn.linear_output import compressed_model, final_estimator, not_explainable
from treelet.metrics import kendall_tau_by_group
from treelet.metrics.predictions import class_figures, order_figures, value_figures
from treelet.progress import progress_bar
from treelet.structures import Table, Tree, Treebank
from treelet.structures.bank import Bank

EXAMPLES = 2  # example sentences per fragment
LOOKED_AT = 100  # trees that are searched for different example sentences
SHARES = 30  # fragments per explanation


class FragmentExample(NamedTuple):
    """A tree that contains a fragment: its index, its words, the words in the fragment, and the span of the fragment's root."""

    number: int
    words: list[str]
    inside: set[int]
    span: tuple[int, int]
    label: str | None


class FragmentExamples(NamedTuple):
    """The number of trees that contain a fragment, and some of them."""

    trees: int
    examples: list[FragmentExample]


class OutputFragments(NamedTuple):
    """The fragments of an output with the largest weights, and example trees; None for fragments that are not trees."""

    name: str
    top: TopFragments
    seen: list[FragmentExamples | None]


class ExplainedCase(NamedTuple):
    """An explained example.

    Attributes
    ----------
    numbers : tuple of int
        Index of the example, or of the two examples that are compared.
    words : str
        Words of the example.
    facts : dict
        The prediction and, where known, the true class or value.
    why : Explanation
        The explanation of the score.
    example : object
        The example itself.
    """

    numbers: tuple[int, ...]
    words: str
    facts: dict[str, Any]
    why: Explanation
    example: Any = None


@dataclass
class ModelReport:
    """The content of a report.

    Attributes
    ----------
    task : str
        ``"classify"``, ``"regress"`` or ``"rank"``.
    examples : int
        Number of examples.
    figures : dict or None
        Metrics from `treelet.metrics.predictions`; None without labels.
    learnt : list of OutputFragments
        The fragments with the largest weights, per output.
    cases : list of ExplainedCase
        The worst errors or, without labels, the least certain predictions.
    wrong : int
        Number of errors.
    """

    task: str
    examples: int
    figures: dict[str, Any] | Any
    learnt: list[OutputFragments] = field(default_factory=list)
    cases: list[ExplainedCase] = field(default_factory=list)
    wrong: int = 0


def report(
    model: Any,
    data: Any,
    labels: Sequence[Any] | None = None,
    *,
    queries: Sequence[Any] | None = None,
    top: int = 10,
    errors: int = 10,
    progress: bool = False,
) -> ModelReport:
    """Evaluate a model on examples, list its largest fragment weights, and explain its worst errors.

    Parameters
    ----------
    model : fitted estimator
        A model that `explain` accepts.
    data : Treebank, Table, ...
        Examples, in any form that the model accepts.
    labels : sequence, optional
        True classes or values, one per example. Without labels, nothing is evaluated.
    queries : sequence, optional
        Query of each example, for a ranker. Examples with the same query are compared with each other.
    top : int, default 10
        Number of fragments per class, at least 0.
    errors : int, default 10
        Number of errors to explain, at least 0. For a classifier, these are the errors with the largest margin for the wrong
        class; for a regressor, the largest residuals; for a ranker, the queries with the worst first choice. Without labels,
        the least certain predictions or the first examples are explained.
    progress : bool, default False
        Show a progress bar.

    Returns
    -------
    ModelReport
        The content of the report.

    Examples
    --------
    >>> import treelet as tl
    >>> from treelet.report import report
    >>> trees = ["(S (W who) (V ran))", "(S (W where) (V ran))", "(S (W who) (V sat))", "(S (W where) (V sat))"]
    >>> model = tl.KernelSVC(tl.SubsetTree()).fit(trees, ["human", "place"] * 2)
    >>> content = report(model, trees, ["human", "place", "human", "human"], top=1)
    >>> content.figures["accuracy"], content.cases[0].facts["true"], str(content.learnt[0].top[0].tree)
    (0.75, 'human', '(W who)')
    """
    check_integer("top", top, 0)
    check_integer("errors", errors, 0)
    model = final_estimator(model)
    if (task := task_of(model)) is None:
        raise not_explainable(model, "report")
    X = (model.model_ if hasattr(model, "model_") else compressed_model(model)).kernel.coerce(data)
    truth = None if labels is None else list(labels)
    if not len(X):
        raise ParameterError("data is empty: a report needs at least one example.")
    for noun, column in (("label", truth), ("query", queries)):
        if column is not None and len(column) != len(X):
            raise ParameterError(
                f"There are {plural(len(X), 'example')}, but {plural(len(column), noun)}. Pass one per example."
            )
    evaluate = {"classify": _classified, "regress": _valued, "rank": _ranked}[task]
    result, picked = evaluate(model, X, truth, queries)
    outputs: list[Any] = model.classes_.tolist() if task == "classify" else [None]
    outputs = outputs[1:] if len(outputs) == 2 else outputs  # the weights of the other class are the negatives
    names = [label_text(str(name)) for name in outputs] if task == "classify" else [""]
    # The original data may contain more columns and words than the kernel uses.
    whole: Any = data if isinstance(data, list | tuple | Bank | Table) else X
    finder = _ExampleFinder(X, None if task != "classify" else truth)
    with progress_bar(progress, "explaining the model", len(names) * (top > 0) + min(errors, len(picked))) as advance:
        for name, output in zip(names, outputs, strict=True) if top else ():
            result.learnt.append(finder.learnt(name, top_fragments(model, top, output)))
            advance(1)
        for pick in picked[:errors]:
            numbers, facts, output = pick()
            rows = [whole[number] for number in numbers]
            example = rows[0] if len(rows) == 1 else tuple(rows)
            why = explain(model, example, output, limit=SHARES)
            words = words_of(rows[0]) or words_of(X[numbers[0]])
            result.cases.append(ExplainedCase(numbers, " ".join(words), facts, why, example))
            advance(1)
    return result


Pick = Callable[[], tuple[tuple[int, ...], dict[str, Any], Any]]


def _classified(model: Any, X: Any, truth: list[Any] | None, queries: Any) -> tuple[ModelReport, list[Pick]]:
    classes = model.classes_.tolist()
    known = [label_text(str(name)) for name in classes]
    scores = model.decision_function(X)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
        best = (scores[:, 1] > 0).astype(int)
    else:
        best = scores.argmax(axis=1)
    rows = np.arange(len(X))
    others = scores.copy()
    others[rows, best] = -np.inf
    if truth is None:
        rival, figures = others.argmax(axis=1), None
        margin = -(scores[rows, best] - scores[rows, rival])
        order = np.argsort(-margin, kind="stable")
    else:
        texts = [label_text(str(label)) for label in truth]
        figures = class_figures(texts, [known[index] for index in best], known)
        index = {name: number for number, name in enumerate(known)}
        rival = np.array([index.get(label, -1) for label in texts])
        margin = np.where(rival >= 0, scores[rows, best] - scores[rows, rival], np.inf)
        order = np.argsort(-margin, kind="stable")
        order = order[best[order] != rival[order]]

    def pick(number: int) -> tuple[tuple[int, ...], dict[str, Any], Any]:
        predicted, right = int(best[number]), int(rival[number])
        facts: dict[str, Any] = {"predicted": known[predicted]}
        if truth is not None:
            facts["true"] = known[right] if right >= 0 else label_text(str(truth[number]))
        elif len(known) > 1:
            facts["next"] = known[right]
        if right < 0:
            return (number,), facts, classes[predicted]
        return (number,), facts, (classes[predicted], classes[right])

    picks: list[Pick] = [lambda number=int(number): pick(number) for number in order]  # type: ignore[misc]
    wrong = len(order) if truth is not None else 0
    return ModelReport("classify", len(X), figures, wrong=wrong), picks


def _valued(model: Any, X: Any, truth: list[Any] | None, queries: Any) -> tuple[ModelReport, list[Pick]]:
    values = np.asarray(model.predict(X), float)
    if values.ndim > 1:
        raise ParameterError("A report needs a model with one output, but this model has several.")
    if truth is None:
        order, figures = np.arange(len(X)), None
    else:
        right = np.asarray(truth, float)
        figures = value_figures(right.tolist(), values.tolist())
        order = np.argsort(-np.abs(values - right), kind="stable")

    def pick(number: int) -> tuple[tuple[int, ...], dict[str, Any], Any]:
        facts = {"predicted": float(values[number])}
        return (number,), facts | ({} if truth is None else {"true": float(truth[number])}), None

    picks: list[Pick] = [lambda number=int(number): pick(number) for number in order]  # type: ignore[misc]
    return ModelReport("regress", len(X), figures, wrong=0 if truth is None else len(X)), picks


def _ranked(model: Any, X: Any, truth: list[Any] | None, queries: Any) -> tuple[ModelReport, list[Pick]]:
    scores = np.asarray(model.predict(X), float)
    if truth is None or queries is None:
        firsts = [(number, number, 0.0) for number in range(len(X))]
        figures, loss, tau = None, [0.0] * len(X), [0.0] * len(X)
    else:
        right = np.asarray(truth, float)
        figures = order_figures(right.tolist(), scores.tolist(), list(queries))
        groups: dict[Any, list[int]] = {}
        for number, query in enumerate(queries):
            groups.setdefault(query, []).append(number)
        which = np.empty(len(X), np.intp)
        for group, members in enumerate(groups.values()):
            which[members] = group
        tau = kendall_tau_by_group(scores, right, which).tolist()
        firsts, loss = [], []
        for members in groups.values():
            first = members[int(scores[members].argmax())]
            best = max(members, key=lambda number: (right[number], scores[number]))
            firsts.append((first, best, float(scores[first] - scores[best])))
            loss.append(float(right[best] - right[first]))
    order = sorted(range(len(firsts)), key=lambda group: (-loss[group], -firsts[group][2], group))
    order = order if figures is None else [group for group in order if loss[group] > 0]

    def pick(group: int) -> tuple[tuple[int, ...], dict[str, Any], Any]:
        first, best, _ = firsts[group]
        if figures is None:
            return (first,), {"predicted": float(scores[first])}, None
        assert truth is not None
        query = queries[first]
        facts = {"query": query, "tau": tau[group], "first": float(truth[first]), "best": float(truth[best])}
        return (first, best), facts, None

    picks: list[Pick] = [lambda group=group: pick(group) for group in order]  # type: ignore[misc]
    return ModelReport("rank", len(X), figures, wrong=len(order) if figures is not None else 0), picks


# --- occurrences of fragments ---------------------------------------------------------------------------------------


class _ExampleFinder:
    """Finds trees that contain given fragments."""

    def __init__(self, X: Any, labels: list[Any] | None) -> None:
        self.X = X
        self.labels = None if labels is None else [label_text(str(label)) for label in labels]

    def learnt(self, name: str, top: TopFragments) -> OutputFragments:
        """Return the fragments, each with the number of trees that contain it and a few examples, preferably of its class."""
        examples: list[FragmentExamples | None] = [None] * len(top)
        kinds: dict[tuple[Any, str], list[int]] = {}  # fragments per column and kernel
        for number, fragment in enumerate(top):
            if isinstance(fragment.tree, Tree) and isinstance(self._column(fragment.column), Treebank):
                kinds.setdefault((fragment.column, repr(fragment.kernel)), []).append(number)
        for numbers in kinds.values():
            kernel, bank = top[numbers[0]].kernel, self._column(top[numbers[0]].column)
            counter = FragmentCounter(kernel, Treebank([top[number].tree for number in numbers]))
            occurrences = sp.csc_array(counter.rows(bank, None))
            occurrences.eliminate_zeros()
            for column, number in enumerate(numbers):
                rows = np.sort(
                    occurrences.indices[occurrences.indptr[column] : occurrences.indptr[column + 1]]
                ).tolist()
                examples[number] = FragmentExamples(len(rows), self._some(top[number], bank, rows, name))
        return OutputFragments(name, top, examples)

    def _some(self, fragment: WeightedFragment, bank: Any, rows: list[int], name: str) -> list[FragmentExample]:
        if (labels := self.labels) is not None:
            rows = sorted(rows, key=lambda number: labels[number] != name)
        examples: list[FragmentExample] = []
        for number in rows[:LOOKED_AT]:
            tree = bank[number]
            if len(examples) == EXAMPLES or tree.words() in [example.words for example in examples]:
                continue
            for nodes in places(fragment.tree, tree, fragment.kernel, limit=1):
                index, covered = TreeIndex(tree), set(nodes)
                inside = {k for k, leaf in enumerate(index.leaves) if leaf in covered}
                span = (index.start[nodes[0]], index.end[nodes[0]])
                examples.append(
                    FragmentExample(number, tree.words(), inside, span, None if labels is None else labels[number])
                )
        return examples

    def _column(self, name: Any) -> Any:
        return self.X if name is None else self.X[name] if isinstance(self.X, Table) else None


def words_of(row: Any) -> list[str]:
    """Return the words of the first tree of an example."""
    for value in row.values() if isinstance(row, dict) else [row]:
        if isinstance(value, str):
            continue
        words = getattr(value, "words", None)
        if words is not None:
            return list(words() if callable(words) else words)
    return []
