"""``treelet explain``: show the fragments behind each prediction, or write a report on a whole file."""

from __future__ import annotations

import json as json_format
import shlex
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from treelet.cli.inputs import (
    Examples,
    checked_labels,
    class_names,
    contents_of,
    for_model,
    is_example,
    read_examples,
)
from treelet.cli.options import READ, WRITTEN, Reading, at_least, check_device, command, warn_if_empty, wrong_value
from treelet.errors import ParameterError, TreeletError
from treelet.printable import printable

if TYPE_CHECKING:
    from treelet.learn.outputs import SavedPredictor
    from treelet.report.report_page import ModelReport

_WIDTH = 100  # maximum number of characters to show of a sentence


@command(
    main="output class_name top errors labels n_jobs format json",
    exclusive=[("class_name", "output"), ("labels", "skip_bad")],
    needs={"labels": "output"},
)
def _explain(
    model: Annotated[str, "MODEL", READ],
    data: Annotated[str, "TREES", READ],
    *,
    output: Annotated[str | None, "--output -o OUT", WRITTEN] = None,
    class_name: Annotated[str | None, "--class NAME"] = None,
    top: Annotated[int, "N", at_least(0)] = 10,
    errors: Annotated[int, "N", at_least(0)] = 10,
    labels: str | None = None,
    qid: Annotated[str, "--query NAME"] = "qid",
    threads: int,
    reading: Reading,
    progress: bool = True,
    json: bool = False,
) -> None:
    """Show which fragments contribute most to a model's predictions.

    Without --output, the command lists the fragments with the largest contributions to the score of each tree.

    With --output, the command writes a report: one HTML file. For a classifier, the report contains the accuracy, the confusion matrix, the heaviest fragments, and the errors with the highest confidence.

    Example: treelet explain m.treelet test.tsv -o report.html

    Parameters
    ----------
    model
        Model file written by treelet train or treelet.save.
    data
        Tree in brackets, or a file of trees, with or without labels. If the model has a kernel for forests, tagged
        sentences or dependency parses, one of these, or a file of them. Use - for standard input.
    output
        Write a report on all trees of TREES to this file. The name must end in .html.
    class_name
        Class whose score is explained; classifiers only. [default: the predicted class]
    top
        Number of fragments per tree or, in a report, per class.
    errors
        Number of errors to explain in a report.
    qid
        Column that names the sentence (group) of each candidate (for tsv and csv: --option query_column=NAME); for
        reports on rankers.
    json
        Print the result as JSON on standard output. With --output, print a summary of the result as JSON.
    """
    if output is not None and (output == "-" or Path(output).suffix.lower() not in (".html", ".htm")):
        error = wrong_value("--output of treelet explain", "a file name that ends in .html", output)
        hint = f" To explain the class {output!r}, use --class {output}." if _is_class(output, model) else ""
        raise ParameterError(f"{error}{hint}")
    from treelet.learn.outputs import load_predictor

    check_device()
    begin = time.perf_counter()
    if output is not None:
        from treelet.formats.files import open_target

        with open_target(output) as stream:
            predictor = load_predictor(model, threads)
            if is_example(data, contents_of(predictor.model_.kernel)):
                raise ParameterError(
                    "A report needs a file of trees, but TREES is a single tree. Remove --output to explain the tree."
                )
            contents = _read(predictor, data, reading, labels=True, label_file=labels)
            model_report, page = _report(predictor, model, contents, qid, top, errors)
            stream.write(page)
        result = {
            "task": model_report.task,
            "examples": model_report.examples,
            "figures": model_report.figures,
            "errors": model_report.wrong,
            "model": model,
            "file": data,
            "output": output,
        }
        result["seconds"] = time.perf_counter() - begin
        print(json_format.dumps(result) if json else _summary_text(result))
        return
    predictor = load_predictor(model, threads)
    explanations = _explained(predictor, _read(predictor, data, reading), class_name, top)
    if json:
        print(json_format.dumps({"model": model, "task": predictor.task, "examples": explanations}))
    else:
        print("\n\n".join(map(_text, explanations)))


def _is_class(name: str, model: str) -> bool:
    """Return whether the model in a file has a class of this name; False if the file cannot be read."""
    from treelet.learn.outputs import load_predictor

    with suppress(TreeletError, AttributeError):  # AttributeError: the model is not a classifier
        return name in class_names(load_predictor(model))
    return False


def _read(
    predictor: SavedPredictor, data: str, reading: Reading, *, labels: bool = False, label_file: str | None = None
) -> Examples:
    contents = read_examples([data], reading, labels=labels, kernel=predictor.model_.kernel, label_file=label_file)
    warn_if_empty([data], len(contents))
    return contents


# --- single trees ---------------------------------------------------------------------------------------------------


def _explained(predictor: SavedPredictor, contents: Examples, class_name: str | None, top: int) -> list[dict[str, Any]]:
    """Return the prediction and the most important fragments of each example."""
    from treelet.fragments import explain
    from treelet.report.report_page import words_of
    from treelet.work import progress_bar

    output = _class(predictor, class_name)
    read = for_model(predictor, contents)
    data = predictor.model_.kernel.coerce(read)
    predictions = predictor.predict(data).tolist() if len(data) else []
    explanations = []
    with progress_bar(None, "explaining", len(data)) as advance:
        for number, value in enumerate(predictions):
            explained = value if output is None and predictor.task == "classify" else output
            explanation = explain(predictor, data[number], explained, limit=max(1, top))
            fragments = explanation.fragments[:top]
            explanations.append(
                {
                    "number": number + 1,
                    "words": " ".join(words_of(read[number])),
                    "predicted": value if isinstance(value, float | int) else str(value),
                    "output": str(explanation.output) if predictor.task == "classify" else None,
                    "score": explanation.score,
                    "fragments": [
                        {"fragment": str(fragment.tree), "column": side, "share": fragment.share}
                        for fragment, side in zip(fragments, explanation.sides, strict=False)
                    ],
                    "rest": explanation.score - sum(fragment.share for fragment in fragments),
                    "intercept": explanation.intercept,
                }
            )
            advance(1)
    return explanations


def _class(predictor: Any, name: str | None) -> Any:
    if name is None:
        return None
    if predictor.task != "classify":
        raise ParameterError("--class applies to classifiers only, but this model predicts a number. Remove --class.")
    by_name = dict(zip(class_names(predictor), predictor.classes_.tolist(), strict=True))
    if name not in by_name:
        from treelet.checks import some_of, suggestion

        known = f"a class of the model: {some_of(by_name, 10)}"
        raise ParameterError(f"{wrong_value('--class', known, name)}{suggestion(name, by_name)}")
    return by_name[name]


def _text(explanation: dict[str, Any]) -> str:
    words = explanation["words"] if len(explanation["words"]) <= _WIDTH else f"{explanation['words'][: _WIDTH - 4]} ..."
    meaning = f"score of {explanation['output']!r}" if explanation["output"] is not None else "score"
    also = (
        f"; predicted: {explanation['predicted']!r}"
        if explanation["output"] not in (None, explanation["predicted"])
        else ""
    )
    lines = [f"{explanation['number']}. {words or '(no words)'}", f"   {explanation['score']:+z.4f}  {meaning}{also}"]
    for fragment in explanation["fragments"]:
        side = "" if fragment["column"] is None else f"{fragment['column']}: "
        lines.append(f"   {fragment['share']:+z.4f}  {side}{fragment['fragment']}")
    lines.append(f"   {explanation['rest']:+z.4f}  all else, intercept {explanation['intercept']:+z.4f}")
    return "\n".join(map(printable, lines))


# --- a report -------------------------------------------------------------------------------------------------------


def _report(
    predictor: SavedPredictor,
    model: str,
    contents: Examples,
    query: str,
    top: int,
    errors: int,
) -> tuple[ModelReport, str]:
    from treelet.learn.persist import card
    from treelet.report.report_page import report, report_page

    data = for_model(predictor, contents)
    labels: list[Any] | None = None
    queries = None
    if contents.labels is not None and any(contents.labels):
        if predictor.task == "classify":
            labels = checked_labels(predictor, contents)[0]
        else:
            labels = contents.values()
            queries = contents.queries(query) if predictor.task == "rank" else None
    model_report = report(predictor, data, labels, queries=queries, top=top, errors=errors)
    about = card(model)
    source = f"{Path(model).name}, evaluated on {len(data):,} examples of {Path(contents.file).name}"
    command = shlex.join(["treelet", *sys.argv[1:]]) if sys.argv[1:2] == ["explain"] else ""
    title = f"Report on {Path(model).stem}"
    return model_report, report_page(model_report, title=title, source=source, card=about, command=command)


def _summary_text(result: dict[str, Any]) -> str:
    from treelet.checks import plural

    figures = result["figures"] or {}
    summary = plural(result["examples"], "example")
    if "accuracy" in figures:
        summary += f", accuracy {100 * figures['accuracy']:.2f} %"
    elif "tau" in figures:
        summary += f", tau {figures['tau']:.4f}"
    elif "rmse" in figures:
        summary += f", RMSE {figures['rmse']:.6g}"
    return f"{result['output']}: {summary}, {result['seconds']:.1f} s"
