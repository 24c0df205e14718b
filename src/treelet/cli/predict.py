"""``treelet predict``: the labels that a model gives to examples."""

from __future__ import annotations

import json as json_format
import time
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from treelet.cli import examples
from treelet.cli.options import FormatOption, JobsOption, JsonOption, ProgressOption
from treelet.cli.overwriting import READ, WRITTEN

if TYPE_CHECKING:
    from treelet.learn.deciding import SavedClassifier


def command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A file that treelet train or treelet.save wrote."), READ
    ],
    file: Annotated[str, typer.Argument(metavar="FILE", help="Trees, labels or not; - is the standard input."), READ],
    *,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="OUT", help="Where the labels go; - is the standard output."),
        WRITTEN,
    ] = "-",
    scores: Annotated[
        bool, typer.Option("--scores", help="Also each class's score, after tabs, with a line of names first.")
    ] = False,
    n_jobs: JobsOption = 1,
    format: FormatOption = None,
    progress: ProgressOption = True,
    json: JsonOption = False,
) -> None:
    """Print the label of each example, one a line.

    Labels in FILE are passed over. Example: treelet predict m.treelet test.tsv --scores
    """
    from treelet.formats.files import open_target
    from treelet.learn.persist import load_classifier

    begin = time.perf_counter()
    with open_target(output) if output != "-" or not json else nullcontext() as stream:
        classifier = load_classifier(model, n_jobs=n_jobs, progress=progress)
        data = examples.for_model(classifier, examples.read(file, format))
        labels, values = scored(classifier, data)
        names = [str(name) for name in classifier.classes_.tolist()]
        result: dict[str, Any] = {"model": model, "file": file, "examples": len(labels), "classes": names}
        if output != "-":
            result["output"] = output
        else:
            result["labels"] = labels
            if scores:
                result["scores"] = values
        if stream is not None:
            _write(stream, labels, names, values if scores else None)
    if json:
        print(json_format.dumps({**result, "seconds": time.perf_counter() - begin}))


def scored(classifier: SavedClassifier, data: Any) -> tuple[list[str], list[list[float]]]:
    """The label of each example, and the score of each class; of two classes, one's is the other's negated."""
    import numpy as np

    values = classifier.decision_function(data)
    if values.ndim == 1:
        best = (values > 0).astype(int)
        values = np.column_stack([-values, values])
    else:
        best = values.argmax(axis=1)
    names = [str(name) for name in classifier.classes_.tolist()]
    return [names[place] for place in best], (values + 0.0).tolist()


def _write(stream: IO[str], labels: list[str], names: list[str], values: list[list[float]] | None) -> None:
    if values is None:
        stream.writelines(f"{label}\n" for label in labels)
        return
    stream.write("\t".join(["label", *names]) + "\n")
    for label, row in zip(labels, values, strict=True):
        stream.write("\t".join([label, *map(repr, row)]) + "\n")
