"""``treelet evaluate``: measure how well a model predicts the labels of a file."""

from __future__ import annotations

import json as json_format
import shutil
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from treelet.cli.inputs import Examples, checked_labels, for_model, read_examples, scored
from treelet.cli.options import READ, WRITTEN, Reading, check_device, command
from treelet.errors import ParameterError

if TYPE_CHECKING:
    from treelet.learn.outputs import SavedPredictor

_CONFUSIONS = 20  # number of listed confusions if the table is too wide for the terminal


@command(main="labels picture n_jobs format json", exclusive=[("labels", "skip_bad")])
def _evaluate(
    model: Annotated[str, "MODEL", READ],
    file: Annotated[list[str], "FILE...", READ],
    *,
    labels: str | None = None,
    picture: Annotated[str | None, "OUT", WRITTEN] = None,
    qid: Annotated[str, "--query NAME"] = "qid",
    threads: int,
    reading: Reading,
    progress: bool = True,
    json: bool = False,
) -> None:
    """Measure how well a model predicts the labels of a file.

    Classifiers: accuracy with a 95% Wilson interval, precision, recall and F1 per class, confusion matrix.

    Regressors: root mean squared error, mean absolute error, correlation, R².

    Rankers: Kendall's tau within each sentence (group), and how often the best candidate is ranked first.

    Example: treelet evaluate m.treelet test.tsv --picture confusion.svg

    Parameters
    ----------
    model
        Model file written by treelet train or treelet.save.
    file
        Files or folders of labeled trees, or of forests, tagged sentences or dependency parses if the model has a
        kernel for these. Use - for standard input.
    picture
        Draw the confusion matrix to a file ending in .png, .pdf or .svg; classifiers only.
    qid
        Column that names the sentence (group) of each candidate (for tsv and csv: --option query_column=NAME);
        rankers only.
    """
    if picture is not None:
        from treelet.drawing.drawing import check_kind

        if Path(picture).suffix.lower() not in (".png", ".pdf", ".svg"):
            raise ParameterError(f"{picture}: the name of a picture must end in .png, .pdf or .svg.")
        check_kind(Path(picture).suffix, picture)
    from treelet.formats.files import whole_file
    from treelet.learn.outputs import load_predictor

    check_device()
    begin = time.perf_counter()
    with whole_file(Path(picture)) if picture is not None else nullcontext() as temporary:
        predictor = load_predictor(model, threads)
        if temporary is not None and predictor.task != "classify":
            raise ParameterError(
                f"{model}: --picture draws the confusion matrix of a classifier, but this model has no classes. Remove --picture."
            )
        contents = read_examples(file, reading, kernel=predictor.model_.kernel, label_file=labels)
        result = {"model": model, "file": contents.file, "task": predictor.task, **_measured(predictor, contents, qid)}
        if temporary is not None:
            from treelet.drawing.confusion import confusion_svg

            low, high = result["interval"]
            subtitle = f"{result['correct']:,} of {result['examples']:,} correct, 95 % interval {100 * low:.1f} to {100 * high:.1f}"
            title = f"Accuracy {100 * result['accuracy']:.1f} %"
            drawing = confusion_svg(**result["confusion"], title=title, subtitle=subtitle)
            temporary.write_bytes(drawing.content(Path(str(picture)).suffix))
            result["picture"] = picture
    result["seconds"] = time.perf_counter() - begin
    print(json_format.dumps(result) if json else _text(result))


def _measured(predictor: SavedPredictor, contents: Examples, query: str) -> dict[str, Any]:
    """Return the metrics of the task."""
    from treelet.formats import label_text
    from treelet.metrics.predictions import class_figures, order_figures, value_figures

    data = for_model(predictor, contents)
    if predictor.task == "classify":
        truth, known = checked_labels(predictor, contents)
        return class_figures(truth, [label_text(name) for name in scored(predictor, data)[0]], known)
    values = contents.values()
    queries = contents.queries(query) if predictor.task == "rank" else None
    predictions = predictor.predict(data).tolist()
    return value_figures(values, predictions) if queries is None else order_figures(values, predictions, queries)


# --- in the terminal ----------------------------------------------------------------------------------------------


def _text(result: dict[str, Any]) -> str:
    if "classes" in result:
        return _class_text(result)
    if "tau" in result:
        return (
            f"tau         {result['tau']:.4f}  (Kendall's, mean over queries)\n"
            f"best first  {100 * result['best_first']:.2f} % of {result['queries']:,} queries\n"
            f"examples    {result['examples']:,}"
        )
    explained = "" if result["r2"] is None else f"\nR²           {result['r2']:.4f}"
    return (
        f"RMSE         {result['rmse']:.6g}\nmean error   {result['mean_absolute_error']:.6g}\n"
        f"correlation  {result['correlation']:.4f}{explained}\nexamples     {result['examples']:,}"
    )


def _class_text(result: dict[str, Any]) -> str:
    low, high = result["interval"]
    lines = [
        f"accuracy  {100 * result['accuracy']:.2f} %  ({result['correct']:,} of {result['examples']:,}; "
        f"95 % interval {100 * low:.2f} to {100 * high:.2f})",
        "",
    ]
    width = max(9, *(len(name) for name in result["classes"]))
    lines.append(f"{'class':<{width}}  precision  recall      F1  examples")
    rows = [(name, figures, f"{figures['support']:,}") for name, figures in result["classes"].items()]
    rows += [(f"{name} avg", result[name], "") for name in ("macro", "micro")]
    for name, figures, support in rows:
        if name == "macro avg":
            lines.append("")
        values = (f"{100 * figures[field]:.2f}" for field in ("precision", "recall", "f1"))
        lines.append("{:<{}}  {:>9}  {:>6}  {:>6}  {:>8}".format(name, width, *values, support).rstrip())
    lines += ["", *_confusions(**result["confusion"])]
    if "picture" in result:
        lines += ["", f"picture: {result['picture']}"]
    return "\n".join(lines)


def _confusions(labels: list[str], matrix: list[list[int]]) -> list[str]:
    """Return the confusion matrix as a table, or the most frequent confusions if the table would be too wide."""
    first = max(len("true"), *(len(label) for label in labels))
    widths = [max(len(label), *(len(f"{row[k]:,}") for row in matrix)) for k, label in enumerate(labels)]
    if first + sum(widths) + 2 * len(widths) <= shutil.get_terminal_size((100, 24)).columns:
        cells = [
            [label, *("." if count == 0 else f"{count:,}" for count in row)]
            for label, row in zip(labels, matrix, strict=True)
        ]
        head = ["true", *labels]
        lines = [f"{'':<{first}}  predicted"]
        for cell in (head, *cells):
            rest = "".join(f"  {text:>{width}}" for text, width in zip(cell[1:], widths, strict=True))
            lines.append(f"{cell[0]:<{first}}{rest}")
        return lines
    wrong = [
        (count, labels[i], labels[j])
        for i, row in enumerate(matrix)
        for j, count in enumerate(row)
        if i != j and count > 0
    ]
    wrong.sort(key=lambda entry: -entry[0])
    if not wrong:
        return ["no confusions"]
    lines = [f"{'the most frequent ' if len(wrong) > _CONFUSIONS else ''}confusions (true -> predicted)"]
    lines += [f"{count:>8,}  {true} -> {other}" for count, true, other in wrong[:_CONFUSIONS]]
    return lines
