"""``treelet predict``: predict a label or a number for each example of a file."""

from __future__ import annotations

import json as json_format
import time
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, Annotated, Any

from treelet.cli.inputs import class_names, for_model, read_examples, scored
from treelet.cli.options import READ, WRITTEN, Reading, check_device, command, warn_if_empty
from treelet.errors import ParameterError

if TYPE_CHECKING:
    from treelet.learn.outputs import SavedPredictor


@command(main="output scores probability n_jobs format json", exclusive=[("scores", "probability")])
def _predict(
    model: Annotated[str, "MODEL", READ],
    file: Annotated[list[str], "TREES...", READ],
    *,
    output: Annotated[str, "--output -o OUT", WRITTEN] = "-",
    scores: bool = False,
    probability: bool = False,
    threads: int,
    reading: Reading,
    progress: bool = True,
    json: bool = False,
) -> None:
    """Predict a label or a number for each tree.

    The output has one line per tree. A model that was trained with --kernel forest, tagging or locality reads forests, tagged sentences or dependency parses instead of trees.

    A classifier predicts a label and a regressor predicts a number. A ranker predicts a score. Compare scores only between candidates of the same sentence. Labels in files are ignored.

    Example: treelet predict m.treelet "(S (NP (D the) (N cat)) (VP (V sat)))"

    Example: treelet predict m.treelet test.tsv --scores

    Parameters
    ----------
    model
        Model file written by treelet train or treelet.save.
    file
        Trees in brackets, or files or folders of trees, with or without labels. Use - for standard input.
    output
        Output file. Use - for standard output.
    scores
        Also print the score of each class, in tab-separated columns with a header line; classifiers only.
    probability
        Also print the probability of each class, in columns as for --scores. Train the model with treelet train
        --probability.
    json
        Print the result as JSON on standard output. With --output, print a summary of the result as JSON.
    """
    from treelet.formats.files import open_target
    from treelet.learn.outputs import load_predictor

    check_device()
    begin = time.perf_counter()
    with open_target(output) if output != "-" or not json else nullcontext() as stream:
        predictor = load_predictor(model, threads)
        if predictor.task != "classify" and (scores or probability):
            option = "--scores" if scores else "--probability"
            raise ParameterError(
                f"{model}: {option} applies to classifiers only, but this model predicts a number. Remove {option}."
            )
        contents = read_examples(file, reading, labels=False, kernel=predictor.model_.kernel)
        warn_if_empty(file, len(contents))
        data = for_model(predictor, contents)
        predictions = _predicted(predictor, data, "probability" if probability else "scores" if scores else None)
        result: dict[str, Any] = {
            "model": model,
            "file": contents.file,
            "examples": len(next(iter(predictions.values()))),
        }
        if predictor.task == "classify":
            result["classes"] = class_names(predictor)
        result |= {"output": output} if output != "-" else predictions
        if stream is not None:
            _write(stream, predictions, class_names(predictor) if scores or probability else [])
    if json:
        print(json_format.dumps({**result, "seconds": time.perf_counter() - begin}))


def _predicted(predictor: SavedPredictor, data: Any, more: str | None = None) -> dict[str, list[Any]]:
    """Return the predictions by name: ``labels`` with optional ``scores`` or ``probabilities``, or ``values``."""
    if predictor.task != "classify":
        return {"values": (predictor.predict(data) + 0.0).tolist()}
    if more == "probability":
        probabilities = predictor.predict_proba(data)
        return {"labels": scored(predictor, data)[0], "probabilities": probabilities.tolist()}
    labels, values = scored(predictor, data)
    return {"labels": labels, "scores": values} if more else {"labels": labels}


def _write(stream: IO[str], predictions: dict[str, list[Any]], names: list[str]) -> None:
    """Write one prediction per line. Scores and probabilities follow after tabs, with a header line of class names."""
    first, *more = predictions.values()
    if not more:
        stream.writelines(f"{item}\n" if isinstance(item, str) else f"{_numbers(item)}\n" for item in first)
        return
    stream.write("\t".join(["label", *names]) + "\n")
    for label, row in zip(first, more[0], strict=True):
        stream.write(f"{label}\t{_numbers(row)}\n")


def _numbers(value: Any) -> str:
    return "\t".join(map(repr, value)) if isinstance(value, list) else repr(value)
