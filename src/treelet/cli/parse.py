"""``treelet parse``: parse sentences into trees, k-best lists or packed forests."""

from __future__ import annotations

import json as json_format
import math
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treelet.cli.inputs import load_grammar
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
    one_of,
    wrong_value,
)
from treelet.errors import ParameterError, TreeError

if TYPE_CHECKING:
    from treelet.parsing import PCFG, Candidates

_OF_TREEBANK = ["markov", "parent", "split", "smoothing", "min_count", "drop_empty", "drop_function_tags", "column"]
_OF_TREEBANK += [name for name in READING_OPTIONS if name not in ("encoding", "format")]


@command(
    main="grammar treebank drop_empty drop_function_tags text output k forest to picture save_grammar n_jobs",
    exclusive=[("grammar", "treebank"), ("k", "forest"), ("sentences", "text")],
    needs={"prune": "forest"} | dict.fromkeys(_OF_TREEBANK, "treebank"),
)
def _parse(
    sentences: Annotated[str | None, "SENTENCES", READ] = None,
    *,
    grammar: Annotated[str | None, "--grammar -g FILE", READ] = None,
    treebank: Annotated[str | None, "FILE", READ] = None,
    text: Annotated[list[str] | None, "WORDS"] = None,
    output: Annotated[str, "--output -o OUT", WRITTEN] = "-",
    k: Annotated[int | None, "N", at_least(1)] = None,
    forest: bool = False,
    to: Annotated[str | None, "FORMAT"] = None,
    prune: Annotated[str | None, "NUMBER"] = None,
    picture: Annotated[str | None, "FILE", WRITTEN] = None,
    beam: Annotated[float | None, "NUMBER"] = None,
    markov: Annotated[int | None, "H"] = None,
    parent: Annotated[str | None, "WHICH", among(*PARENTS)] = None,
    split: str | None = None,
    smoothing: float | None = None,
    min_count: Annotated[int | None, "N"] = None,
    drop_empty: bool = False,
    drop_function_tags: bool = False,
    column: Annotated[str | None, "NAME"] = None,
    reading: Reading,
    save_grammar: Annotated[str | None, "FILE", file_name, WRITTEN] = None,
    skip_empty: bool = False,
    n_jobs: int = 1,
    progress: bool = True,
) -> None:
    """Parse sentences with a probabilistic grammar.

    The output format trees (--to) has one tree per line. The format tsv has the columns line number, rank, log probability and tree. The format json has one object per line.
    Ranks start at 1, and logarithms are natural.

    If a sentence has no parse, a grammar with a fallback joins the fewest possible partial trees under the root FALLBACK.
    Without a fallback, the output is an empty line (trees), rank 0 (tsv) or an empty list (json), and the exit code is 1.
    Grammars estimated from a treebank have a fallback.

    --format, --skip-bad, --label-column, --tree-column and --option apply to the treebank. --encoding also applies to SENTENCES.

    Example: treelet parse --treebank wsj.mrg --text "What time is it ?" --k 10

    Parameters
    ----------
    sentences
        File with one sentence per line, words separated by spaces. Use - for standard input. [default: -]
    grammar
        Grammar file, as JSON (.json, .json.gz) or text. Required unless --treebank is given.
    treebank
        File of trees to estimate a grammar from, by relative frequency. Required unless --grammar is given.
    text
        Sentence to parse, instead of SENTENCES. Punctuation is split off words. Can be repeated.
    output
        Output file. Use - for standard output.
    k
        Number of trees per sentence, best first. [default: 1]
    forest
        Write one packed forest per sentence instead of trees, as JSON lines.
    to
        Output format: trees, tsv or json. [default: from the suffix of OUT; otherwise trees for --k 1, and tsv for
        larger --k]
    prune
        Keep a node only if it occurs in a tree whose log probability is at most NUMBER below that of the best tree;
        none keeps all nodes. For --forest. [default: 8.0]
    picture
        Draw the best parse of the first sentence that has a parse, to a file ending in .svg, .png, .pdf or .tex.
        With --forest, draw the forest of this sentence; .tex is then unavailable.
    beam
        Drop labels whose log probability is more than NUMBER below the best one of the same span. Faster, but not
        exact. [default: drop nothing]
    markov
        Estimate the probability of one child at a time, given the H siblings before the child; for --treebank.
        [default: whole productions]
    parent
        Add the label of the parent to the labels of the grammar: off, phrases (phrase labels only; in Python,
        parent=True) or tags (phrase labels and tags). For --treebank. [default: off]
    min_count
        Treat words seen N times or fewer as rare, and estimate unknown words from them; for --treebank. [default:
        1]
    drop_empty
        Remove -NONE- elements; for --treebank.
    drop_function_tags
        Remove function tags, e.g. NP-SBJ-1 becomes NP; for --treebank.
    column
        Name of the tree to use if the rows have several trees, as in KeLP files. For --treebank.
    save_grammar
        Save the grammar as JSON, to a name that ends in .json, .json.gz, .json.xz or .json.bz2. If SENTENCES and
        --text are missing, nothing is parsed, and standard input is not read.
    skip_empty
        Skip empty lines. By default, an empty line is an error.
    """
    if grammar is None and treebank is None:
        raise ParameterError("treelet parse needs a grammar. Pass --grammar FILE or --treebank FILE.")
    if grammar is not None and reading.format is not None:
        raise ParameterError("--format applies to --treebank only. Use --to for the output format.")
    _check_outputs(output, to, forest, k or 1, picture, save_grammar)
    from_stdin = sentences in (None, "-") and not text
    parsing = save_grammar is None or bool(text) or sentences is not None
    if not parsing and (k is not None or forest or picture is not None or output != "-"):
        raise ParameterError(
            "No sentence to parse was given. Pass a file of sentences, - for standard input, or --text."
        )
    if parsing and from_stdin and "-" in (grammar, treebank):
        source = "--grammar" if grammar == "-" else "--treebank"
        raise ParameterError(f"SENTENCES and {source} are both standard input (-). Pass a file name for one of them.")
    learning: dict[str, Any] = {
        "markov": markov,
        "parent": PARENTS[one_of("--parent", parent or "off", tuple(PARENTS))],
        "split": None if split is None else one_of("--split", split, SPLITS),
        "min_count": 1 if min_count is None else min_count,
        "smoothing": smoothing or 0.0,
    }
    options: dict[str, Any] = {"prune": _log_range(prune), "beam": beam} if forest else {"beam": beam}

    from treelet.formats.files import open_target, unpacked_name, whole_file

    with ExitStack() as stack:
        stream = stack.enter_context(open_target(output)) if parsing else sys.stdout
        drawing = stack.enter_context(whole_file(Path(picture))) if picture is not None else None
        if grammar is not None:
            chosen = load_grammar(grammar)
        else:
            from treelet.parsing import PCFG
            from treelet.structures import read_trees

            drop = {"drop_empty": drop_empty, "drop_function_tags": drop_function_tags}
            chosen = PCFG.from_treebank(
                read_trees(str(treebank), **reading.arguments(column=column, **drop)), **learning
            )
        numbers, words = _sentences(sentences, text, chosen, skip_empty, reading.encoding) if parsing else ([], [])
        if drawing is not None and not words:
            raise ParameterError("--picture needs at least one sentence, but the input is empty.")
        if save_grammar is not None:
            chosen.save(save_grammar)
            print(f"grammar: {chosen.stats()}: {save_grammar}", file=sys.stderr)
        if not parsing:
            return
        begin = time.perf_counter()
        if drawing is not None:
            drawn, content = _drawn(chosen, words, forest, Path(str(picture)).suffix, options)
            drawing.write_bytes(content)
        if forest:
            lines, count, without, pieces = _forests(chosen, words, n_jobs, options)
        else:
            candidates = chosen.parse_all(words, k or 1, n_jobs=n_jobs, **options)
            suffixes = {".tsv": "tsv", ".json": "json", ".jsonl": "json"}
            to = to or suffixes.get(unpacked_name(output).suffix.lower(), "tsv" if (k or 1) > 1 else "trees")
            lines, count = _lines(numbers, words, candidates, to.lower()), len(candidates.trees)
            pieces = candidates.qid[candidates.logp == -math.inf].tolist()
            without = sorted(set(range(len(words))) - set(candidates.qid.tolist()))
        stream.writelines(f"{line}\n" for line in lines)
        seconds = time.perf_counter() - begin
    _report(chosen, words, "forest" if forest else "tree", count, seconds, without, pieces)
    if picture is not None:
        which = "" if len(words) == 1 else f", of sentence {drawn + 1} of {len(words):,}"
        print(f"picture: {picture}{which}", file=sys.stderr)
    if without:
        raise typer.Exit(1)


def _check_outputs(
    output: str, to: str | None, forest: bool, k: int, picture: str | None, save_grammar: str | None
) -> None:
    """Raise an error if an output has a name or a format that does not fit its content."""
    from treelet.drawing.drawing import check_kind
    from treelet.formats.files import unpacked_name

    if output.lower().endswith((".svg", ".png", ".pdf")):
        raise ParameterError(f"--output {output} would contain trees as text. To draw a tree, use --picture {output}.")
    to = None if to is None else one_of("--to", to, ("trees", "tsv", "json"))
    if forest and to not in (None, "json"):
        raise ParameterError(f"A forest cannot be written as {to}. Use --to json, or remove --forest.")
    if to == "trees" and k > 1:
        raise ParameterError(
            "--to trees writes one tree per sentence. For several trees per sentence, use --to tsv or json."
        )
    if picture is not None and check_kind(Path(picture).suffix, picture) == ".tex" and forest:
        raise ParameterError(f"{picture}: a forest cannot be drawn as LaTeX. Use .svg or .pdf, or remove --forest.")
    if save_grammar is not None and unpacked_name(save_grammar).suffix.lower() != ".json":
        endings = "a file name that ends in .json, .json.gz, .json.xz or .json.bz2"
        raise wrong_value("--save-grammar", endings, save_grammar)


def _log_range(prune: str | None) -> float | None:
    """Return the number of ``--prune``, or None to keep all nodes."""
    try:
        value = 8.0 if prune is None else math.inf if prune == "none" else float(prune)
    except ValueError:
        value = math.nan
    if not value >= 0:
        raise wrong_value("--prune", "a number of at least 0, or none", prune)
    return None if prune == "none" else value


def _sentences(
    file: str | None, texts: list[str] | None, grammar: PCFG, skip_empty: bool, encoding: str
) -> tuple[list[int], list[list[str]]]:
    """Return the sentences as lists of words, with their line numbers, or their numbers if they were passed as texts."""
    from treelet.formats.brackets import label_problem
    from treelet.formats.files import open_source
    from treelet.parsing.chart import adapted_words

    numbers, sentences = [], []

    def add(number: int, text: str, where: str, words: list[str]) -> None:
        for position, word in enumerate(text.split(), 1):
            if problem := label_problem(word):
                raise TreeError(f"{where}: word {position} is {problem}. Write brackets as -LRB- and -RRB-.")
        numbers.append(number)
        sentences.append(words)

    for number, text in enumerate(texts or (), 1):
        if not text.split():
            raise TreeError("--text contains no words. Pass a sentence such as --text 'What time is it ?'.")
        add(number, text, f"--text {text[:40]!r}", adapted_words(text, grammar))
    if texts:
        return numbers, sentences
    with open_source(file or "-", encoding) as source:
        for number, line in source.text_lines():
            if words := line.split():
                add(number, line, f"{source.name}:{number}", words)
            elif not skip_empty:
                raise source.error("the line is empty. Remove the line, or pass --skip-empty.", number)
    return numbers, sentences


def _lines(numbers: list[int], sentences: list[list[str]], candidates: Candidates, to: str) -> Iterator[str]:
    """Yield the lines of output. A sentence without a parse also has a line."""
    trees, logps, qids = candidates.trees.strings(), candidates.logp.tolist(), candidates.qid.tolist()
    rows: list[list[tuple[float, str]]] = [[] for _ in sentences]
    for qid, logp, tree in zip(qids, logps, trees, strict=True):
        rows[qid].append((logp, tree))
    for number, words, row in zip(numbers, sentences, rows, strict=True):
        if to == "json":
            nbest = [[logp if logp > -math.inf else None, tree] for logp, tree in row]
            record = {"line": number, "sentence": " ".join(words), "nbest": nbest}
            yield json_format.dumps(record, ensure_ascii=False)
        elif to == "tsv":
            for rank, (logp, tree) in enumerate(row, 1):
                yield f"{number}\t{rank}\t{logp!r}\t{tree}"
            if not row:
                yield f"{number}\t0\t-inf\t"
        else:
            yield row[0][1] if row else ""


def _forests(
    grammar: PCFG, sentences: list[list[str]], n_jobs: int, options: dict[str, Any]
) -> tuple[Iterable[str], int, list[int], list[int]]:
    """Return the forests as lines, their number, the indices of empty ones, and of those with only pieces of a fallback."""
    from treelet.parsing.chart import FALLBACK

    forests = grammar.forests(sentences, n_jobs=n_jobs, **options)
    roots = [None if forest.root is None else forest.nodes[forest.root].label for forest in forests]
    without = [number for number, root in enumerate(roots) if root is None]
    pieces = [number for number, root in enumerate(roots) if root == FALLBACK]
    return (forest.to_json() for forest in forests), len(forests), without, pieces


def _drawn(
    grammar: PCFG, sentences: list[list[str]], forest: bool, kind: str, options: dict[str, Any]
) -> tuple[int, bytes]:
    """Draw the first sentence that has a parse. Return its number, and the content of the picture."""
    from treelet.drawing import draw

    for number, words in enumerate(sentences):
        parses: Any = grammar.forest(words, **options) if forest else grammar.parse(words, **options)
        if parses:
            return number, draw(parses if forest else parses[0][0]).content(kind)
    raise TreeError("No sentence has a parse, so there is nothing to draw. Remove --picture.")


def _report(
    grammar: PCFG,
    sentences: list[list[str]],
    noun: str,
    count: int,
    seconds: float,
    without: list[int],
    pieces: list[int],
) -> None:
    """Print a summary, and notes on the first sentences that the grammar does not cover."""
    from treelet.checks import plural
    from treelet.parsing.chart import outside_grammar

    line = f"{plural(len(sentences), 'sentence')}, {plural(count, noun)} in {seconds:.2f} s"
    if pieces:
        line += f"; {len(pieces):,} without a parse (pieces under the root FALLBACK returned)"
    if without:
        line += f"; {len(without):,} without a parse (nothing returned)"
    print(line, file=sys.stderr)
    for number in sorted(pieces + without)[:3]:
        subject = "The sentence" if len(sentences) == 1 else f"Sentence {number + 1:,}"
        remedy = "Use a grammar of a treebank with similar sentences (--treebank FILE), or trees of another parser."
        print(f"treelet: note: {outside_grammar(grammar, sentences[number], subject, remedy)}", file=sys.stderr)
