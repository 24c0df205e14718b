"""A report as one HTML page. It is readable on screen, without JavaScript, and in print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from treelet.checks import check_integer, plural
from treelet.cuts import TreeIndex
from treelet.drawing import web
from treelet.drawing.confusion import confusion_svg
from treelet.drawing.leaves import LETTERS, NOTE, excerpt, text_html
from treelet.drawing.svg import aligned, captioned_svg, heat_svg, signed, tint
from treelet.drawing.web.pictures import attributed_structures, explained
from treelet.errors import ParameterError
from treelet.formats import label_text
from treelet.fragments.explanation import Explanation, TopFragments, WeightedFragment
from treelet.fragments.model_fragments import explain, top_fragments
from treelet.fragments.occurrences import places
from treelet.learn.outputs import compressed_model, final_estimator, task_of
from treelet.metrics import kendall_tau_by_group
from treelet.metrics.predictions import class_figures, order_figures, value_figures
from treelet.report.notebook import picture
from treelet.report.page import Html, data_block, page, paragraphs, said, table
from treelet.structures import Forest, Table, Tree, Treebank
from treelet.structures.bank import Bank
from treelet.work import progress_bar

# --- the content of a report: the largest fragment weights of a model and its errors ----------------------------------

_EXAMPLES = 2  # example sentences per fragment
_LOOKED_AT = 100  # trees that are searched for different example sentences
_SHARES = 30  # fragments per explanation


class _FragmentExample(NamedTuple):
    """A tree that contains a fragment: its index, its words, the words in the fragment, and the span of the fragment's root."""

    number: int
    words: list[str]
    inside: set[int]
    span: tuple[int, int]
    label: str | None


class _FragmentExamples(NamedTuple):
    """The number of trees that contain a fragment, and some of them."""

    trees: int
    examples: list[_FragmentExample]


class _OutputFragments(NamedTuple):
    """The fragments of an output with the largest weights, and example trees; None for fragments that are not trees."""

    name: str
    top: TopFragments
    seen: list[_FragmentExamples | None]


class _ExplainedCase(NamedTuple):
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
    learnt: list[_OutputFragments] = field(default_factory=list)
    cases: list[_ExplainedCase] = field(default_factory=list)
    wrong: int = 0


def report(
    model: Any,
    data: Any,
    labels: Sequence[Any] | None = None,
    *,
    queries: Sequence[Any] | None = None,
    top: int = 10,
    errors: int = 10,
    progress: bool | None = None,
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
    progress : bool, optional
        Show a progress bar. Default: as in `treelet.config_context`.

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
    task = str(task_of(model, "report"))
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
            why = explain(model, example, output, limit=_SHARES)
            words = words_of(rows[0]) or words_of(X[numbers[0]])
            result.cases.append(_ExplainedCase(numbers, " ".join(words), facts, why, example))
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

    def learnt(self, name: str, top: TopFragments) -> _OutputFragments:
        """Return the fragments, each with the number of trees that contain it and a few examples, preferably of its class."""
        from treelet.learn.fragment_features import FragmentCounter  # late, because it needs scikit-learn

        examples: list[_FragmentExamples | None] = [None] * len(top)
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
                examples[number] = _FragmentExamples(len(rows), self._some(top[number], bank, rows, name))
        return _OutputFragments(name, top, examples)

    def _some(self, fragment: WeightedFragment, bank: Any, rows: list[int], name: str) -> list[_FragmentExample]:
        if (labels := self.labels) is not None:
            rows = sorted(rows, key=lambda number: labels[number] != name)
        examples: list[_FragmentExample] = []
        for number in rows[:_LOOKED_AT]:
            tree = bank[number]
            if len(examples) == _EXAMPLES or tree.words() in [example.words for example in examples]:
                continue
            for nodes in places(fragment.tree, tree, fragment.kernel, limit=1):
                index, covered = TreeIndex(tree), set(nodes)
                inside = {k for k, leaf in enumerate(index.leaves) if leaf in covered}
                span = (index.start[nodes[0]], index.end[nodes[0]])
                examples.append(
                    _FragmentExample(number, tree.words(), inside, span, None if labels is None else labels[number])
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


# --- a report as one HTML page ----------------------------------------------------------------------------------------

_SHOWN = 10  # fragments per explained example
_CELLS = 30  # classes of the largest confusion matrix that is drawn
_CONFUSIONS = 20  # listed confusions, if there are more classes
_SMALL = 0.64  # scale of a fragment's picture
_WORDS = 14  # words of context around a fragment
_LONGEST = 200  # characters of a heading
_INTERNALS = frozenset(
    ("basis", "cache_size", "max_iter", "probability", "random_state", "shrinking", "solver", "tol", "verbose")
)
"""Parameters of solvers, which a reader of a report does not need."""
_STYLE = """
.confusion svg { display: block; max-width: 100%; height: auto; margin: 1rem 0; print-color-adjust: exact; }
.fragments td, .fragments th { vertical-align: middle; text-align: left; padding-top: .15rem; padding-bottom: .15rem; } .fragments td:first-child { text-align: right; white-space: nowrap; }
.fragments svg { display: block; border-radius: 6px; } .fragments ul { margin: 0; padding-left: 1.1rem; font-size: .92rem; }
.fragments code { font-size: .84rem; margin-right: .8rem; } .fragments .aside { font-size: .84rem; white-space: nowrap; }
.plus { color: var(--for); font-weight: 600; } .minus { color: var(--against); font-weight: 600; }
.below { text-decoration: underline; text-decoration-color: var(--line); text-underline-offset: .2em; } .aside { color: var(--faint); }
nav { color: var(--faint); overflow-wrap: anywhere; } nav a { color: var(--accent); text-decoration: none; } nav a:hover { text-decoration: underline; }
.case { margin-bottom: 2rem; } .case svg { max-width: 100%; height: auto; } .case > figure { margin: .6rem 0; }
.verdict b { overflow-wrap: anywhere; } .card td { text-align: left; overflow-wrap: anywhere; } .card td:first-child { overflow-wrap: normal; } .figures td:first-child { white-space: nowrap; } .classes td:first-child { overflow-wrap: anywhere; }
@media print { .case { break-inside: avoid; } nav { display: none; } }
/* Static pictures have the colors of paper. On dark pages, they get those of tree-view.css. */
@media screen and (prefers-color-scheme: dark) {
  .fragments svg [fill="#ffffff"] { fill: #16191d; } .fragments svg [fill="#c9ddf2"] { fill: #2b4763; } .fragments svg [stroke="#1b1b1b"] { stroke: #c4ccd4; }
  .fragments svg text { fill: #e9ecef; }
  .confusion svg { filter: invert(1) hue-rotate(180deg); } }
@media screen and (max-width: 36rem) { .fragments svg, .picture-note { display: none; } table { font-size: .88rem; } th, td { padding-left: .25rem; padding-right: .25rem; } .fragments .aside { white-space: normal; }
  .fragments ul { padding-left: .8rem; } .card { font-size: .85rem; } }
"""

_TITLES = {"classify": "Worst errors", "regress": "Largest residuals", "rank": "Worst first choices"}
_TASKS = {"classify": "classifier", "regress": "regressor", "rank": "ranker"}


def report_page(report: ModelReport, *, title: str, source: str, card: Mapping[str, Any], command: str = "") -> str:
    """Return a report as an HTML page.

    Parameters
    ----------
    report : ModelReport
        Content of the report.
    title, source : str
        Heading, and the line below the heading.
    card : mapping
        Model card from `treelet.learn.card`. Parameters of the solver are left out.
    command : str, default ""
        Command line that created the report.

    Returns
    -------
    str
        HTML without references to other files. All texts are escaped.
    """
    cases: list[Any] = []
    parts = [f'<h1>{said(title)}</h1>\n<p class="source">{said(source)}</p>']
    parts.append(_contents(report))
    parts += _figures(report)
    parts += [section for learnt in report.learnt for section in _learnt(learnt, report)]
    parts += _cases(report, cases)
    parts.append(_section("model", report))
    parts.append(table(("", ""), list(_card_rows(card)), kind="card"))
    if command:
        parts.append(f"<p>Created by <code>{said(command)}</code>.</p>")
    script = f'<script type="module">\n{web.script("report.js")}</script>'
    scripts = [data_block("case-data", cases), script] if any(cases) else []
    return page(title, parts, style=_STYLE + web.style(), scripts=scripts)


def _contents(report: ModelReport) -> str:
    """Return links to the sections of the page."""
    names = ["scores"] if report.figures is not None else []
    names += ["confusions"] if "confusion" in (report.figures or {}) else []
    names += ["fragments"] if report.learnt else []
    names += ["cases"] if report.cases else []
    links = [f'<a href="#{name}">{_heading(name, report)}</a>' for name in [*names, "model"]]
    return f"<nav>{' · '.join(links)}</nav>"


def _heading(name: str, report: ModelReport) -> str:
    examples = "Least certain predictions" if report.task == "classify" else "Examples"
    cases = _TITLES[report.task] if report.figures is not None else examples
    return {
        "scores": "Evaluation",
        "confusions": "Confusion matrix",
        "fragments": "Largest fragment weights",
        "cases": cases,
        "model": "Model card",
    }[name]


def _section(name: str, report: ModelReport) -> str:
    return f'<h2 id="{name}">{_heading(name, report)}</h2>'


# --- evaluation -----------------------------------------------------------------------------------------------------


def _figures(report: ModelReport) -> Iterator[str]:
    figures = report.figures
    if figures is None:
        yield paragraphs(f"The {plural(report.examples, 'example')} have no labels, so the model is not evaluated.")
    elif report.task == "classify":
        low, high = figures["interval"]
        yield _section("scores", report)
        yield paragraphs(
            Html(
                f"Accuracy: <b>{100 * figures['accuracy']:.1f} %</b> ({figures['correct']:,} of {plural(figures['examples'], 'example')}; "
                f"95 % confidence interval {100 * low:.1f} to {100 * high:.1f} %, Wilson score). "
                "Precision, recall and F1 are in percent."
            )
        )
        yield _class_table(figures)
        yield _section("confusions", report)
        yield _confusion(**figures["confusion"])
    else:
        yield _section("scores", report)
        yield table(("", ""), list(_figure_rows(figures)), kind="figures")


def _class_table(figures: dict[str, Any]) -> Html:
    rows: list[tuple[object, ...]] = [
        (name, *(f"{100 * row[field]:.1f}" for field in ("precision", "recall", "f1")), f"{row['support']:,}")
        for name, row in figures["classes"].items()
    ]
    mean = figures["macro"]
    rows.append(
        (
            "Macro average",
            *(f"{100 * mean[field]:.1f}" for field in ("precision", "recall", "f1")),
            f"{figures['examples']:,}",
        )
    )
    return table(("Class", "Precision", "Recall", "F1", "Support"), rows, chosen=[len(rows) - 1], kind="classes")


def _figure_rows(figures: dict[str, Any]) -> Iterator[tuple[str, str]]:
    names = {
        "tau": "Kendall's tau (mean over queries)",
        "best_first": "Queries with the best example ranked first",
        "queries": "Queries",
        "rmse": "Root mean squared error",
        "mean_absolute_error": "Mean absolute error",
        "correlation": "Pearson correlation",
        "r2": "R²",
        "examples": "Examples",
    }
    for key, name in names.items():
        value = figures.get(key)
        if value is not None:
            shown = (
                f"{100 * value:.1f} %"
                if key == "best_first"
                else f"{value:,}"
                if isinstance(value, int)
                else f"{value:.4g}"
            )
            yield name, shown


def _confusion(labels: list[str], matrix: list[list[int]]) -> Html:
    """Return the confusion matrix with colored cells, as ``treelet evaluate --picture`` draws it, or a list of confusions."""
    if len(labels) > _CELLS:
        counts = ((count, i, j) for i, row in enumerate(matrix) for j, count in enumerate(row) if i != j and count)
        most = sorted(counts, key=lambda entry: -entry[0])[:_CONFUSIONS]
        rows = [(f"{count:,}", labels[i], labels[j]) for count, i, j in most]
        note = f"There are too many classes ({len(labels):,}) for a matrix. The most frequent confusions are listed."
        return Html(paragraphs(note) + table(("Count", "True class", "Predicted class"), rows))
    picture = f'<div class="confusion">{confusion_svg(labels, matrix)}</div>'
    return Html(picture + paragraphs("The color of a cell shows its share of the true class."))


# --- fragments --------------------------------------------------------------------------------------------------------


def _learnt(learnt: _OutputFragments, report: ModelReport) -> Iterator[str]:
    if learnt is report.learnt[0]:
        yield _section("fragments", report)
        favored = {"classify": "the class", "regress": "a higher value", "rank": "a better rank"}[report.task]
        yield paragraphs(
            Html(
                f'<span class="plus">Positive</span> weights favor {favored}, <span class="minus">negative</span> weights oppose it. '
                "Each fragment is shown with examples from the data: words of the fragment are bold, and all words below its root are underlined. "
                f'<span class="picture-note">{NOTE}</span>'
            )
        )
        if len(report.learnt) > 1:
            links = [f'<a href="#class-{k}">{said(fragment.name)}</a>' for k, fragment in enumerate(report.learnt)]
            yield f"<nav>{' · '.join(links)}</nav>"
    if learnt.name:
        yield f'<h3 id="class-{report.learnt.index(learnt)}">{said(learnt.name)}</h3>'
    number = aligned([fragment.weight for fragment in learnt.top], 3)
    rows = []
    for fragment, seen in zip(learnt.top, learnt.seen, strict=True):
        text = f"<code>{_text(fragment.tree)}</code>"
        if seen is not None:
            where = f"in {seen.trees:,} of {plural(report.examples, 'tree')}" if seen.trees else "not in these trees"
            listed = "".join(f"<li>{_sentence(example)}</li>" for example in seen.examples)
            text += f'<span class="aside">{where}</span>' + (f"<ul>{listed}</ul>" if listed else "")
        rows.append((_colored(fragment.weight, number), _fragment(fragment.tree), Html(text)))
    if rows:
        yield table(("Weight", "", "Fragment and examples"), rows, kind="fragments")
    else:
        yield paragraphs("No fragment has a nonzero weight.")
    if not learnt.top.exact:
        yield paragraphs("The search was cut off: fragments with larger weights may exist.")


def _colored(value: float, number: Callable[..., str]) -> Html:
    return Html(f'<span class="{"plus" if value > 0 else "minus"}">{number(value, "+")}</span>')


def _fragment(tree: Any) -> Html:
    if not isinstance(tree, Tree):
        return Html("")
    small, _ = excerpt(tree, leaves=12, levels=8)
    drawing = captioned_svg(small)
    head, _, tail = str(drawing).partition(f'width="{drawing.width:.0f}" height="{drawing.height:.0f}"')
    size = f'width="{_SMALL * drawing.width:.0f}" height="{_SMALL * drawing.height:.0f}"'
    return Html(f"{head}{size}{tail}")


def _sentence(example: _FragmentExample) -> Html:
    """Return the words around a fragment, with the words of the fragment in bold."""
    begin, end = example.span
    first, last = max(0, begin - _WORDS // 2), min(len(example.words), max(end, begin + 1) + _WORDS // 2)
    if end - begin > 2 * _WORDS:
        last = begin + 2 * _WORDS
    out = ["… "] if first else []
    for position in range(first, last):
        word = said(example.words[position])
        if position in example.inside:
            word = Html(f"<b>{word}</b>")
        out.append((f'<span class="below">{word}</span>' if begin <= position < end else word) + " ")
    if last < len(example.words):
        out.append("…")
    label = f' <span class="aside">({said(example.label)})</span>' if example.label is not None else ""
    return Html("".join(out).rstrip() + label)


# --- explained examples ---------------------------------------------------------------------------------------------


def _cases(report: ModelReport, cases: list[Any]) -> Iterator[str]:
    if not report.cases:
        if report.figures is not None and not report.wrong and report.task != "regress":
            yield "<h2>Errors</h2>"
            yield paragraphs("The model makes no errors on these examples.")
        return
    yield _section("cases", report)
    yield paragraphs(_about(report))
    for case in report.cases:
        yield _case(case, report.task, cases)


def _about(report: ModelReport) -> str:
    noun = {"classify": "error", "regress": "example", "rank": "query"}[report.task]
    count = f"{len(report.cases):,} of {plural(report.wrong, noun)}. " if report.figures is not None else ""
    colors = {
        "classify": "Blue nodes favor the predicted class, orange nodes the "
        + ("true class" if report.figures is not None else "second-best class"),
        "regress": "Blue nodes raise the value, orange nodes lower it",
        "rank": "Blue nodes raise the score of their tree, orange nodes lower it"
        if report.figures is None
        else "A is the first choice of the model, B is the best example. Blue nodes raise the difference of their scores, "
        "orange nodes lower it",
    }[report.task]
    return f"{count}{colors}. The number in a node is the share of all fragments rooted there. Point at a fragment to highlight it."


def _case(case: _ExplainedCase, task: str, cases: list[Any]) -> str:
    words = case.words if len(case.words) <= _LONGEST else f"{case.words[: _LONGEST - 1]}…"
    number = ", ".join(f"{number + 1:,}" for number in case.numbers)
    lines = [f'<section class="case"><h3>{said(words or "(no words)")}</h3>', f'<p class="verdict">{_verdict(case, task)} '
             f'<span class="aside">Example {number}.</span></p>']  # fmt: skip
    trees = attributed_structures(case.why, case.example)
    if trees:
        cases.append(explained(case.why, case.example, limit=_SHOWN))
        lines.append(f'<div data-case="{len(cases) - 1}">')
        names = (
            ["A: first choice", "B: best example"] if len(trees) == 2 and len(case.numbers) == 2 else [""] * len(trees)
        )
        if len(case.numbers) == 2:
            for structure, name in zip(cases[-1]["trees"], names, strict=True):
                structure["title"] = name or structure["title"]
        scale = max((abs(share) for _, _, heat in trees for share in heat), default=0.0)
        lines += [_figure(*structure, name, scale) for name, structure in zip(names, trees, strict=True)]
    share_format = aligned([structure.share for structure in case.why.fragments[:_SHOWN]], 3)
    rows = [
        (_colored(structure.share, share_format), Html(f"<code>{_text(structure.tree)}</code>"))
        for structure in case.why.fragments[:_SHOWN]
    ]
    lines.append(table(("Share", "Fragment"), rows, kind="fragments"))
    left = case.why.score - sum(structure.share for structure in case.why.fragments[:_SHOWN])
    lines.append(
        paragraphs(
            f"Sum of all shares: {signed(case.why.score)}. Not listed: {signed(left)}, including the intercept {signed(case.why.intercept)}."
        )
    )
    if trees:
        lines.append("</div>")
    return "\n".join([*lines, "</section>"])


def _figure(thing: Any, column: Any, heat: list[float], name: str, scale: float) -> str:
    """Return the static picture: a tree or words with colors."""
    caption = name or ("" if column is None else str(column))
    if isinstance(thing, Tree):
        return f"<figure>{heat_svg(thing, heat, caption=caption, scale=scale)}</figure>"
    head = f"<figcaption>{said(caption)}</figcaption>" if caption else ""
    if isinstance(thing, Forest):
        drawing = picture(thing)
        return f"<figure>{head}{drawing or ''}</figure>"
    words = " ".join(
        f'<span style="background:{tint(share / (scale or 1.0))};color:#1b1b1b" title="{signed(share)}">{said(word)}</span>'
        for word, share in zip(thing.words, heat, strict=True)
    )
    return f"<figure>{head}<p>{words}</p></figure>"


def _text(fragment: Any) -> Html:
    """Return the text of a fragment, with words in italics."""
    return Html(text_html(excerpt(fragment).tree, LETTERS)) if isinstance(fragment, Tree) else said(fragment)


def _verdict(case: _ExplainedCase, task: str) -> Html:
    facts = case.facts
    if task == "rank" and "query" in facts:
        return Html(
            f"Query <b>{said(facts['query'])}</b>: the true value is {facts['first']:.4g} for A and {facts['best']:.4g} for B. "
            f"The score of A is higher by {case.why.score:.3g}. Kendall's tau of the query: {facts['tau']:.2f}."
        )
    if task == "classify":
        other = f"true <b>{said(facts['true'])}</b>" if "true" in facts else f"second-best <b>{said(facts['next'])}</b>"
        margin = f", margin {case.why.score:.3g}" if isinstance(case.why.output, tuple) else ""
        return Html(f"Predicted <b>{said(facts['predicted'])}</b>, {other}{margin}.")
    true = f", true <b>{facts['true']:.4g}</b>" if "true" in facts else ""
    return Html(f"Predicted <b>{facts['predicted']:.4g}</b>{true}.")


# --- model card -----------------------------------------------------------------------------------------------------


def _card_rows(card: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the rows of a model card for readers. Parameters of solvers and sizes in memory are left out."""
    training, sizes, metrics = (_mapping(card.get(name)) for name in ("training", "sizes", "metrics"))
    if "estimator" in card:
        task = _TASKS.get(str(card.get("task")), "")
        yield "Estimator", f"{card['estimator']} ({task})" if task else str(card["estimator"])
    if "kernel" in card:
        yield "Kernel", str(card["kernel"])
    for name, value in _mapping(card.get("parameters")).items():
        if name not in _INTERNALS and value is not None:
            yield f"Parameter {name}", _value(value)
    if "examples" in training:
        yield "Training examples", _value(training["examples"])
    if classes := _mapping(training.get("classes")):
        yield "Classes (training support)", ", ".join(f"{name} ({_value(count)})" for name, count in classes.items())
    if {"least", "most"} <= (values := _mapping(training.get("values"))).keys():
        yield "Range of training values", f"{_value(values['least'])} to {_value(values['most'])}"
    if "groups" in training:
        yield "Training queries", _value(training["groups"])
    if "support_examples" in sizes:
        yield "Support examples", _value(sizes["support_examples"])
    for name, value in metrics.items():
        if isinstance(value, str | int | float):
            yield f"Metric {name}", _value(value)
    if "fingerprint" in training:
        yield "Fingerprint of the training data", str(training["fingerprint"])
    if "treelet" in card:
        yield "treelet version", str(card["treelet"])


def _mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping, or an empty one: the content of a model file is not trusted."""
    return value if isinstance(value, Mapping) else {}


def _value(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
