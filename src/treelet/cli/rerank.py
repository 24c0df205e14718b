"""``treelet rerank``: rerank the candidate parses of a parser, and measure the gain."""

from __future__ import annotations

import json as json_format
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from treelet.cli.options import (
    PARENTS,
    READ,
    READING_OPTIONS,
    SPLITS,
    WRITTEN,
    Reading,
    among,
    at_least,
    command,
    file_name,
    items,
    naming_output,
    numbers,
    one_of,
    wrong_value,
)
from treelet.errors import FileError, FormatError

if TYPE_CHECKING:
    from treelet.structures import Treebank

_WEIGHTS = {"average": "averaged", "voted": "voted", "last": "last"}  # by their names in VotedPerceptron
_REPORT = "report.html", "report.json", "mended-*.svg"


@command(
    main="nbest drop_empty drop_function_tags sizes k lam epochs weights n_jobs output save json",
    exclusive=[("treebank", "nbest")]
    + [(name, "nbest") for name in ("k", "folds", "markov", "parent", "split", "smoothing")],
    needs=dict.fromkeys((*READING_OPTIONS, "drop_empty", "drop_function_tags"), "treebank")
    | {"encoding": "treebank nbest", "skip_bad": "treebank nbest"},
)
def _rerank(
    treebank: Annotated[str | None, "TREEBANK", READ] = None,
    *,
    nbest: Annotated[str | None, "FILE", READ] = None,
    reading: Reading,
    drop_empty: bool = False,
    drop_function_tags: bool = False,
    sizes: Annotated[str | None, "A,B,C"] = None,
    k: Annotated[int | None, "N", at_least(2)] = None,
    train_candidates: Annotated[int, "N"] = 20,
    folds: Annotated[int | None, "N", at_least(2)] = None,
    lam: Annotated[str, "LIST"] = "0.2,0.3,0.5",
    max_depth: Annotated[str, "--depth LIST"] = "none",
    logp: Annotated[str | None, "LIST"] = None,
    fixed_logp: Annotated[str, "LIST"] = "0",
    epochs: Annotated[int, "N", at_least(1)] = 3,
    weights: Annotated[str, "NAME", among(*_WEIGHTS)] = "average",
    markov: Annotated[int | None, "H"] = None,
    parent: Annotated[str | None, "WHICH", among(*PARENTS)] = None,
    split: str | None = None,
    smoothing: float | None = None,
    max_words: Annotated[int, "N", at_least(1)] = 40,
    show: Annotated[int, "N", at_least(0)] = 3,
    random_state: int = 0,
    n_jobs: int = 1,
    progress: bool = True,
    output: Annotated[Path | None, "--output -o FOLDER", WRITTEN + _REPORT] = None,
    save: Annotated[str | None, "MODEL", file_name, WRITTEN] = None,
    json: bool = False,
) -> None:
    """Rerank the candidate parses of a parser and measure the gain.

    The method follows Collins & Duffy (2001). A grammar proposes candidates, and a perceptron with a tree kernel chooses among them.

    Sentences are split at random into three parts. The grammar is estimated from the training part, and the values of --lam, --depth, --logp and --fixed-logp are chosen on the development part. The test part is used once, at the end.

    Example: treelet rerank trees.mrg --drop-empty --drop-function-tags -o out

    Parameters
    ----------
    treebank
        File of trees. [default: 1,336 generated travel questions, 336 of them for the test]
    nbest
        Candidates of another parser, instead of TREEBANK; one JSON object per line: {"gold": tree, "nbest": [[logp,
        tree], ...]}. Trees are bracketed strings.
    sizes
        Sizes of the training, development and test parts: numbers of sentences, or fractions. [default:
        0.6,0.15,0.25. Generated questions: 800,200,336]
    k
        Maximum number of candidates per sentence, at least 2. [default: 100]
    train_candidates
        Number of candidates per training sentence: the best one and a random sample of the others; 0 for all.
    folds
        Number of folds of the training part, at least 2. Each fold is parsed with a grammar of the other folds,
        because a grammar must not see the sentences that it parses. [default: 10]
    lam
        Values to try for the decay per production, in (0, 1].
    max_depth
        Values to try for the maximum fragment depth, in productions; none for no limit.
    logp
        Values to try for the factor of the parser's log probability as a feature, whose weight the perceptron
        learns; at least 0. [default: 0,0.1. With --nbest: 0.1,1,10]
    fixed_logp
        Values to try for a fixed weight of the parser's log probability, which is added to the score of the
        perceptron; at least 0. For good parsers, for example with --logp 0 --fixed-logp 0.3,1,3,10.
    epochs
        Number of passes of the perceptron over the training part.
    weights
        Weights that score the candidates: average (the mean of the weights after each comparison), voted (all of
        them vote, as in the paper; slower) or last (the weights at the end).
    markov
        Estimate the probability of one child at a time, given the H siblings before the child. [default: whole
        productions]
    parent
        Add the label of the parent to the labels of the grammar: off, phrases (phrase labels only; in Python,
        parent=True) or tags (phrase labels and tags). [default: off]
    max_words
        Maximum number of words per sentence. Longer sentences are skipped.
    show
        Number of improved sentences to show.
    output
        Folder for the report: report.html and report.json.
    save
        Where to save the ranker, e.g. m.treelet.
    """
    if train_candidates < 0 or train_candidates == 1:
        raise wrong_value("--train-candidates", "a whole number of at least 2, or 0 for all", train_candidates)
    prediction = _WEIGHTS[one_of("--weights", weights, tuple(_WEIGHTS))]
    parents = PARENTS[one_of("--parent", parent or "off", tuple(PARENTS))]
    split = None if split is None else one_of("--split", split, SPLITS)
    lams = numbers("--lam", lam)
    logps = numbers("--logp", logp if logp is not None else "0,0.1" if nbest is None else "0.1,1,10")
    depths: list[int | None] = []
    for item in dict.fromkeys(items("--depth", max_depth)):
        try:
            depths.append(None if item == "none" else int(item))
        except ValueError:
            raise wrong_value("--depth", "whole numbers or none, separated by commas", item) from None
    wanted = None if sizes is None else numbers("--sizes", sizes, repeated=True)

    from treelet.formats.files import open_target, whole_file
    from treelet.tasks import CandidateParses, Setting, parts_of_lists, parts_of_treebank, rerank

    settings = Setting.grid(lams, depths, logps, numbers("--fixed-logp", fixed_logp))
    say = _say if progress else None
    with ExitStack() as stack:
        model = stack.enter_context(whole_file(Path(save))) if save is not None else None
        folder = None if output is None else stack.enter_context(_folder(output))
        options: dict[str, Any] = {"max_words": max_words, "random_state": random_state, "say": say}
        if nbest is not None:
            title, source = "Parse reranking", f"The candidates of another parser were read from {nbest}."
            parts = parts_of_lists(CandidateParses.read(nbest, on_error=reading.on_error), wanted, **options)
        else:
            options |= {"k": k or 100, "folds": folds or 10, "n_jobs": n_jobs}
            options |= {"markov": markov, "parent": parents, "split": split, "smoothing": smoothing or 0.0}
            if treebank is None:
                from treelet.datasets import flights

                title = "Parse reranking on generated travel questions"
                source = (
                    "The sentences come from a generator (treelet.datasets.flights), not from speakers. "
                    "Scores on them are not scores on English."
                )
                _say("No TREEBANK was passed. Generated travel questions are used instead.")
                bank = flights(sum(generated := (800, 200, 336)))
                parts = parts_of_treebank(bank, wanted or generated, **options)
            else:
                title, source = "Parse reranking", f"The trees were read from {treebank}."
                trees = reading.arguments(drop_empty=drop_empty, drop_function_tags=drop_function_tags)
                parts = parts_of_treebank(_read(treebank, trees), wanted, **options)
        outcome = rerank(
            parts,
            settings,
            epochs=epochs,
            prediction=prediction,
            candidates=train_candidates or None,
            random_state=random_state,
            n_jobs=n_jobs,
            say=say,
        )
        mended = outcome.mended(show)
        if model is not None:
            from treelet.learn import save as save_model

            with naming_output(model, str(save)):
                save_model(outcome.reranker.ranker, model)
        if folder is not None:
            made_by = shlex.join(["treelet", *sys.argv[1:]])
            for name, content in outcome.files(mended, title, source, made_by).items():
                with open_target(folder / name) as stream:
                    stream.write(content)
    if json:
        print(json_format.dumps({"source": nbest or treebank or "flights (generated)", **outcome.as_dict()}))
        return
    colored = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    print(outcome.text(mended, title, source, colour=colored))
    if save is not None:
        fixed = outcome.setting.fixed_logp
        print(f"Model: {save}{f' (without the fixed weight {fixed:g} of the log probability)' if fixed else ''}")
    if folder is not None:
        print(f"Report: {folder / 'report.html'}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _read(file: str, options: dict[str, Any]) -> Treebank:
    from treelet.formats.base import opening_lines
    from treelet.formats.files import open_source
    from treelet.structures import read_trees

    try:
        return read_trees(file, **options)
    except FormatError:
        if file != "-":  # standard input cannot be read twice
            with open_source(file) as source:
                first = "".join(opening_lines(source.head())[:1]).lstrip()
                if first.startswith("{") and '"nbest"' in first:
                    fact = "the file contains lists of parses, not trees"
                    raise FormatError(f"{fact}. Pass --nbest {file} instead.", file) from None
        raise


@contextmanager
def _folder(output: Path) -> Iterator[Path]:
    """Create the folder for the report. If the command fails, the folders that were created here are removed."""
    created: list[Path] = []
    try:
        try:
            created += [path for path in (output, *output.parents) if not path.exists()]
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{output}: the folder cannot be created ({error.strerror or error}).") from error
        yield output
    except BaseException:
        for path in created:
            with suppress(OSError):  # for example because the folder is not empty
                path.rmdir()
        raise
