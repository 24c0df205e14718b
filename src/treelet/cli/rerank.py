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

import typer

from treelet.cli.options import (
    JobsOption,
    JsonOption,
    ProgressOption,
    SeedOption,
    among,
    items,
    numbers,
    one_of,
    wrong_value,
)
from treelet.cli.overwriting import READ, WRITTEN, OutputFile, naming_output
from treelet.cli.parse import PARENTS, SPLITS, SmoothingOption, SplitOption
from treelet.cli.reading import Reading, with_option_groups
from treelet.errors import FileError, FormatError, ParameterError

if TYPE_CHECKING:
    from treelet.tasks import CandidateSplit

_REPORT = "report.html", "report.json", "mended-*.svg"
_FLIGHTS = (800, 200, 336)
_GENERATED = (
    "The sentences come from a generator (treelet.datasets.flights), not from speakers. Scores on them are not scores on "
    "English."
)


@with_option_groups
def command(
    treebank: Annotated[
        str | None,
        typer.Argument(
            metavar="TREEBANK",
            help="File of trees.  [default: 1,336 generated travel questions, 336 of them for the test]",
        ),
        READ,
    ] = None,
    *,
    nbest: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help='Candidates of another parser, instead of TREEBANK; one JSON object per line: {"gold": tree, "nbest": [[logp, tree], ...]}. Trees are bracketed strings.',
        ),
        READ,
    ] = None,
    reading: Reading,
    drop_empty: Annotated[bool, typer.Option("--drop-empty", help="Remove -NONE- elements.")] = False,
    drop_function_tags: Annotated[
        bool, typer.Option("--drop-function-tags", help="Remove function tags, e.g. NP-SBJ-1 becomes NP.")
    ] = False,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="Sizes of the training, development and test parts: numbers of sentences, or fractions.  [default: 0.6,0.15,0.25. Generated questions: 800,200,336]",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            metavar="N",
            help="Maximum number of candidates per sentence, at least 2.  [default: 100]",
        ),
    ] = None,
    train_candidates: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Number of candidates per training sentence: the best one and a random sample of the others; 0 for all.",
        ),
    ] = 20,
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of folds of the training part, at least 2. Each fold is parsed with a grammar of the other folds, because a grammar must not see the sentences that it parses.  [default: 10]",
        ),
    ] = None,
    lam: Annotated[
        str, typer.Option(metavar="LIST", help="Values to try for the decay per production, in (0, 1].")
    ] = "0.2,0.3,0.5",
    max_depth: Annotated[
        str,
        typer.Option(
            "--depth",
            metavar="LIST",
            help="Values to try for the maximum fragment depth, in productions; none for no limit.",
        ),
    ] = "none",
    logp: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Values to try for the factor of the parser's log probability as a feature, whose weight the perceptron learns; at least 0.  [default: 0,0.1. With --nbest: 0.1,1,10]",
        ),
    ] = None,
    fixed_logp: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="Values to try for a fixed weight of the parser's log probability, which is added to the score of the perceptron; at least 0. For good parsers, for example with --logp 0 --fixed-logp 0.3,1,3,10.",
        ),
    ] = "0",
    epochs: Annotated[
        int, typer.Option(metavar="N", help="Number of passes of the perceptron over the training part.")
    ] = 3,
    markov: Annotated[
        int | None,
        typer.Option(
            metavar="H",
            help="Estimate the probability of one child at a time, given the H siblings before the child.  [default: whole productions]",
        ),
    ] = None,
    parent: Annotated[
        str | None,
        typer.Option(
            metavar="WHICH",
            autocompletion=among(*PARENTS),
            help="Add the label of the parent to the labels of the grammar: off, phrases (phrase labels only; in Python, parent=True) or tags (phrase labels and tags).  [default: off]",
        ),
    ] = None,
    split: SplitOption = None,
    smoothing: SmoothingOption = None,
    max_words: Annotated[
        int, typer.Option(metavar="N", help="Maximum number of words per sentence. Longer sentences are skipped.")
    ] = 40,
    show: Annotated[int, typer.Option(metavar="N", help="Number of improved sentences to show.")] = 3,
    random_state: SeedOption = 0,
    n_jobs: JobsOption = 1,
    progress: ProgressOption = True,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the report: report.html and report.json."),
        OutputFile(*_REPORT),
    ] = None,
    save: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Where to save the ranker, e.g. m.treelet."), WRITTEN
    ] = None,
    json: JsonOption = False,
) -> None:
    """Rerank the candidate parses of a parser and measure the gain.

    The method follows Collins & Duffy (2001). A grammar proposes candidates, and a perceptron with a tree kernel chooses among them.

    Sentences are split at random into three parts. The grammar is estimated from the training part, and the values of --lam, --depth, --logp and --fixed-logp are chosen on the development part. The test part is used once, at the end.

    Example: treelet rerank trees.mrg --drop-empty --drop-function-tags -o out
    """
    _check(treebank, nbest, reading, drop_empty, drop_function_tags, k, folds, markov, parent, split, smoothing)
    _check_counts(train_candidates, epochs, max_words, show, save)
    parents = PARENTS[one_of("--parent", parent or "off", tuple(PARENTS))]
    split = None if split is None else one_of("--split", split, SPLITS)
    lams = numbers("--lam", lam)
    logps = numbers("--logp", logp if logp is not None else "0,0.1" if nbest is None else "0.1,1,10")
    depths = [
        None if item == "none" else _whole("--depth", item) for item in dict.fromkeys(items("--depth", max_depth))
    ]
    wanted = None if sizes is None else numbers("--sizes", sizes, repeated=True)

    from treelet.formats.files import open_target, whole_file
    from treelet.progress import tell
    from treelet.tasks import Setting, rerank

    settings = Setting.grid(lams, depths, logps, numbers("--fixed-logp", fixed_logp))
    say = tell if progress else None
    with ExitStack() as stack:
        model = stack.enter_context(whole_file(Path(save))) if save is not None else None
        folder = None if output is None else stack.enter_context(_folder(output))
        options: dict[str, Any] = {"max_words": max_words, "random_state": random_state, "say": say}
        if nbest is not None:
            title, source = "Parse reranking", f"The candidates of another parser were read from {nbest}."
            parts = _lists(nbest, reading, wanted, options)
        else:
            options |= {"k": 100 if k is None else k, "folds": 10 if folds is None else folds, "n_jobs": n_jobs}
            options |= {
                "markov": markov,
                "parent": parents,
                "split": split,
                "smoothing": smoothing or 0.0,
            }
            if treebank is None:
                title, source = "Parse reranking on generated travel questions", _GENERATED
                tell("No TREEBANK was passed. Generated travel questions are used instead.")
            else:
                title, source = "Parse reranking", f"The trees were read from {treebank}."
            parts = _treebank(treebank, reading, drop_empty, drop_function_tags, wanted, options)
        outcome = rerank(
            parts,
            settings,
            epochs=epochs,
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


# --- options ------------------------------------------------------------------------------------------------------


def _check(
    treebank: str | None,
    nbest: str | None,
    trees: Reading,
    drop_empty: bool,
    drop_function_tags: bool,
    k: int | None,
    folds: int | None,
    markov: int | None,
    parent: str | None,
    split: str | None,
    smoothing: float | None,
) -> None:
    if treebank is not None and nbest is not None:
        raise ParameterError(
            "TREEBANK and --nbest exclude each other, because --nbest contains the gold trees. Pass one of them."
        )
    reading = {
        **dict.fromkeys(trees.used_options(), True), "--drop-empty": drop_empty or None, "--drop-function-tags": drop_function_tags or None,
    }  # fmt: skip
    parsing = {
        "--k": k,
        "--folds": folds,
        "--markov": markov,
        "--parent": parent,
        "--split": split,
        "--smoothing": smoothing,
    }
    used = [name for name, value in {**reading, **parsing}.items() if value is not None and name != "--skip-bad"]
    if nbest is not None and used:
        raise ParameterError(f"{used[0]} applies to TREEBANK, not to --nbest. Remove {used[0]}.")
    if treebank is None and nbest is None and (used := [name for name, value in reading.items() if value is not None]):
        raise ParameterError(
            f"{used[0]} applies to TREEBANK, which is missing. Pass a file of trees, or remove {used[0]}."
        )
    if k is not None and k < 2:
        raise wrong_value("--k", "a whole number of at least 2", k)
    if folds is not None and folds < 2:
        raise wrong_value("--folds", "a whole number of at least 2", folds)


def _check_counts(train_candidates: int, epochs: int, max_words: int, show: int, save: str | None) -> None:
    if train_candidates < 0 or train_candidates == 1:
        raise wrong_value("--train-candidates", "a whole number of at least 2, or 0 for all", train_candidates)
    for name, value, least in (("--epochs", epochs, 1), ("--max-words", max_words, 1), ("--show", show, 0)):
        if value < least:
            raise wrong_value(name, f"a whole number of at least {least}", value)
    if save == "-":
        raise ParameterError(
            "A model cannot be written to standard output. Pass a file name, such as --save m.treelet."
        )


def _whole(name: str, item: str) -> int:
    try:
        return int(item)
    except ValueError:
        raise wrong_value(name, "whole numbers or none, separated by commas", item) from None


# --- input and output -----------------------------------------------------------------------------------------------


def _treebank(
    file: str | None,
    reading: Reading,
    drop_empty: bool,
    drop_function_tags: bool,
    sizes: list[float] | None,
    options: dict[str, Any],
) -> CandidateSplit:
    from treelet.tasks import parts_of_treebank

    if file is None:
        from treelet.datasets import flights

        return parts_of_treebank(flights(sum(_FLIGHTS)), sizes or _FLIGHTS, **options)
    from treelet.structures import read_trees

    try:
        bank = read_trees(file, **reading.arguments(drop_empty=drop_empty, drop_function_tags=drop_function_tags))
    except FormatError:
        if _is_of_lists(file):
            raise FormatError(
                f"the file contains lists of parses, not trees. Pass --nbest {file} instead.", file
            ) from None
        raise
    return parts_of_treebank(bank, sizes, **options)


def _is_of_lists(file: str) -> bool:
    from treelet.formats.files import open_source
    from treelet.formats.json_files import looks_like_nbest

    if file == "-":  # standard input cannot be read twice
        return False
    with open_source(file) as source:
        return looks_like_nbest(source.head())


def _lists(file: str, reading: Reading, sizes: list[float] | None, options: dict[str, Any]) -> CandidateSplit:
    from treelet.tasks import CandidateParses, parts_of_lists

    return parts_of_lists(CandidateParses.read(file, on_error=reading.on_error), sizes, **options)


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
