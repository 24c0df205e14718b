"""``treelet parse``: parse sentences into trees, k-best lists or packed forests."""

from __future__ import annotations

import json as json_format
import math
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treelet.cli.options import COLUMN, JobsOption, ProgressOption, among, one_of, wrong_value
from treelet.cli.overwriting import READ, WRITTEN
from treelet.cli.reading import Reading, with_option_groups
from treelet.errors import ParameterError, TreeError

if TYPE_CHECKING:
    from treelet.parsing import PCFG, Candidates
    from treelet.structures import ForestBank

_OUTPUTS = ("trees", "tsv", "json")
_SUFFIXES = {".tsv": "tsv", ".json": "json", ".jsonl": "json"}
PARENTS: dict[str, bool | str] = {"off": False, "phrases": True, "tags": "tags"}
SPLITS = ("penn",)
_PRUNE = 8.0
_NO_PARSE = 1  # exit code
_WARNED = 3  # sentences outside the grammar that are described; all are counted
SplitOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=among(*SPLITS),
        help="Distinguish further kinds of Penn Treebank labels in a grammar that is read from trees: penn. Use it with --parent tags, --markov 2 and --smoothing 1.  [default: none]",
    ),
]
SmoothingOption = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="Pseudo-count for words with annotated tags, at least 0, in a grammar that is read from trees.  [default: 0]",
    ),
]


@dataclass(frozen=True)
class _InputSentence:
    """The words of a sentence, with its line number."""

    line: int
    words: list[str]


@with_option_groups
def command(
    sentences: Annotated[
        str | None,
        typer.Argument(
            metavar="SENTENCES",
            help="File with one sentence per line, words separated by spaces. Use - for standard input.  [default: -]",
        ),
        READ,
    ] = None,
    *,
    grammar: Annotated[
        str | None,
        typer.Option(
            "--grammar",
            "-g",
            metavar="FILE",
            help="Grammar file, as JSON (.json, .json.gz) or text. Required unless --treebank is given.",
        ),
        READ,
    ] = None,
    treebank: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File of trees to estimate a grammar from, by relative frequency. Required unless --grammar is given.",
        ),
        READ,
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORDS",
            help="Sentence to parse, instead of SENTENCES. Punctuation is split off words. Can be repeated.",
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="OUT", help="Output file. Use - for standard output."),
        WRITTEN,
    ] = "-",
    k: Annotated[
        int | None,
        typer.Option("--k", metavar="N", help="Number of trees per sentence, best first.  [default: 1]"),
    ] = None,
    forest: Annotated[
        bool, typer.Option("--forest", help="Write one packed forest per sentence instead of trees, as JSON lines.")
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="Output format: trees, tsv or json.  [default: from the suffix of OUT; otherwise trees for --k 1, and tsv for larger --k]",
        ),
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Keep a node only if it occurs in a tree whose log probability is at most NUMBER below that of the best tree; none keeps all nodes. For --forest.  [default: 8.0]",
        ),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw the best parse of the first sentence that has a parse, to a file ending in .svg, .png, .pdf or .tex. With --forest, draw the forest of this sentence; .tex is then unavailable.",
        ),
        WRITTEN,
    ] = None,
    beam: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Drop labels whose log probability is more than NUMBER below the best one of the same span. Faster, but not exact.  [default: drop nothing]",
        ),
    ] = None,
    markov: Annotated[
        int | None,
        typer.Option(
            metavar="H",
            help="Estimate the probability of one child at a time, given the H siblings before the child; for --treebank.  [default: whole productions]",
        ),
    ] = None,
    parent: Annotated[
        str | None,
        typer.Option(
            metavar="WHICH",
            autocompletion=among(*PARENTS),
            help="Add the label of the parent to the labels of the grammar: off, phrases (phrase labels only; in Python, parent=True) or tags (phrase labels and tags). For --treebank.  [default: off]",
        ),
    ] = None,
    split: SplitOption = None,
    smoothing: SmoothingOption = None,
    min_count: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Treat words seen N times or fewer as rare, and estimate unknown words from them; for --treebank.  [default: 1]",
        ),
    ] = None,
    drop_empty: Annotated[bool, typer.Option("--drop-empty", help="Remove -NONE- elements; for --treebank.")] = False,
    drop_function_tags: Annotated[
        bool,
        typer.Option("--drop-function-tags", help="Remove function tags, e.g. NP-SBJ-1 becomes NP; for --treebank."),
    ] = False,
    column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"{COLUMN} For --treebank."),
    ] = None,
    reading: Reading,
    save_grammar: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Save the grammar as JSON, to a name that ends in .json, .json.gz, .json.xz or .json.bz2. If SENTENCES and --text are missing, nothing is parsed, and standard input is not read.",
        ),
        WRITTEN,
    ] = None,
    skip_empty: Annotated[
        bool, typer.Option("--skip-empty", help="Skip empty lines. By default, an empty line is an error.")
    ] = False,
    n_jobs: JobsOption = 1,
    progress: ProgressOption = True,
) -> None:
    """Parse sentences with a probabilistic grammar.

    The output format trees (--to) has one tree per line. The format tsv has the columns line number, rank, log probability and tree. The format json has one object per line.
    Ranks start at 1, and logarithms are natural.

    If a sentence has no parse, a grammar with a fallback joins the fewest possible partial trees under the root FALLBACK.
    Without a fallback, the output is an empty line (trees), rank 0 (tsv) or an empty list (json), and the exit code is 1.
    Grammars estimated from a treebank have a fallback.

    --format, --skip-bad, --label-column, --tree-column and --option apply to the treebank. --encoding also applies to SENTENCES.

    Example: treelet parse --treebank wsj.mrg --text "What time is it ?" --k 10
    """
    if (grammar is None) == (treebank is None):
        raise ParameterError(
            "--grammar and --treebank exclude each other. Pass one of the two options."
            if grammar
            else "treelet parse needs a grammar. Pass --grammar FILE or --treebank FILE."
        )
    to = None if to is None else one_of("--to", to, _OUTPUTS)
    _check_options(k, forest, to, prune, picture, save_grammar, output)
    learning = {
        "--markov": markov, "--parent": parent, "--min-count": min_count, "--drop-empty": drop_empty or None,
        "--drop-function-tags": drop_function_tags or None, "--column": column, "--split": split, "--smoothing": smoothing,
    }  # fmt: skip
    treebank_options = [name for name, value in learning.items() if value is not None] + reading.used_options()
    if grammar is not None and treebank_options:
        hint = " Use --to for the output format." if treebank_options == ["--format"] else ""
        raise ParameterError(f"{treebank_options[0]} applies to --treebank, not to --grammar.{hint}")
    parents = PARENTS[one_of("--parent", parent or "off", tuple(PARENTS))]
    split = None if split is None else one_of("--split", split, SPLITS)
    if text and sentences is not None:
        raise ParameterError("SENTENCES and --text exclude each other. Pass one of them.")
    parsing = bool(text) or sentences is not None or save_grammar is None
    if not parsing and (k is not None or forest or picture is not None or output != "-"):
        raise ParameterError(
            "No sentence to parse was given. Pass a file of sentences, - for standard input, or --text."
        )
    if parsing and not text and sentences in (None, "-") and "-" in (grammar, treebank):
        source = "--grammar" if grammar == "-" else "--treebank"
        raise ParameterError(f"SENTENCES and {source} are both standard input (-). Pass a file name for one of them.")

    from treelet.checks import plural
    from treelet.formats.files import open_target, whole_file
    from treelet.parsing.chart import outside_grammar

    threshold = _PRUNE if prune is None else None if prune == "none" else float(prune)
    with ExitStack() as stack:
        stream = stack.enter_context(open_target(output)) if parsing else sys.stdout
        drawing = stack.enter_context(whole_file(Path(picture))) if picture is not None else None
        if grammar is not None:
            chosen = load_grammar(grammar)
        else:
            from treelet.parsing import PCFG
            from treelet.structures import read_trees

            options = {"drop_empty": drop_empty, "drop_function_tags": drop_function_tags}
            bank = read_trees(str(treebank), **reading.arguments(column=column, **options))
            chosen = PCFG.from_treebank(
                bank,
                markov=markov,
                parent=parents,
                split=split,
                min_count=1 if min_count is None else min_count,
                smoothing=smoothing or 0.0,
            )
        items = (
            (_sentences(text, chosen) if text else _read(sentences or "-", skip_empty, reading.encoding))
            if parsing
            else []
        )
        if drawing is not None and not items:
            raise ParameterError("--picture needs at least one sentence, but the input is empty.")
        if save_grammar is not None:
            chosen.save(save_grammar)
            print(f"grammar: {chosen.stats()}: {save_grammar}", file=sys.stderr)
        if not parsing:
            return
        begin = time.perf_counter()
        words = [item.words for item in items]
        if drawing is not None:
            drawn = _draw(chosen, words, forest, threshold, beam, drawing, Path(str(picture)).suffix)
        if forest:
            forests = chosen.forests(words, threshold, beam=beam, n_jobs=n_jobs)
            lines: Iterable[str] = (parsed.to_json() for parsed in forests)
            produced = plural(len(forests), "forest")
            without, pieces = _failed_forests(forests)
        else:
            candidates = chosen.parse_all(words, k or 1, beam=beam, n_jobs=n_jobs)
            lines = _lines(items, candidates, to or _suggested(output, k or 1))
            produced = plural(len(candidates.trees), "tree")
            pieces = candidates.qid[candidates.logp == -math.inf].tolist()
            without = sorted(set(range(len(items))) - set(candidates.qid.tolist()))
        stream.writelines(f"{line}\n" for line in lines)
        seconds = time.perf_counter() - begin
    _close(len(items), produced, seconds, len(without), len(pieces))
    for number in sorted(pieces + without)[:_WARNED]:
        subject = "The sentence" if len(items) == 1 else f"Sentence {number + 1:,}"
        remedy = "Use a grammar of a treebank with similar sentences (--treebank FILE), or trees of another parser."
        print(f"treelet: note: {outside_grammar(chosen, words[number], subject, remedy)}", file=sys.stderr)
    if picture is not None:
        which = "" if len(items) == 1 else f", of sentence {drawn + 1} of {len(items):,}"
        print(f"picture: {picture}{which}", file=sys.stderr)
    if without:
        raise typer.Exit(_NO_PARSE)


def _check_options(
    k: int | None,
    forest: bool,
    to: str | None,
    prune: str | None,
    picture: str | None,
    save_grammar: str | None,
    output: str,
) -> None:
    if k is not None and k < 1:
        raise wrong_value("--k", "a whole number of at least 1", k)
    if forest and k is not None:
        raise ParameterError(
            "--k and --forest exclude each other, because a forest contains all trees. Remove one of them."
        )
    if output.lower().endswith((".svg", ".png", ".pdf")):
        raise ParameterError(f"--output {output} would contain trees as text. To draw a tree, use --picture {output}.")
    if forest and to not in (None, "json"):
        raise ParameterError(f"A forest cannot be written as {to}. Use --to json, or remove --forest.")
    if to == "trees" and (k or 1) > 1:
        raise ParameterError(
            "--to trees writes one tree per sentence. For several trees per sentence, use --to tsv or json."
        )
    if prune is not None:
        if not forest:
            raise ParameterError("--prune applies to --forest only. Add --forest, or remove --prune.")
        try:
            wrong = prune != "none" and not float(prune) >= 0
        except ValueError:
            wrong = True
        if wrong:
            raise wrong_value("--prune", "a number of at least 0, or none", prune)
    if picture is not None:
        from treelet.drawing.drawing import check_kind

        if check_kind(Path(picture).suffix, picture) == ".tex" and forest:
            raise ParameterError(f"{picture}: a forest cannot be drawn as LaTeX. Use .svg or .pdf, or remove --forest.")
    if save_grammar == "-":
        raise ParameterError("A grammar cannot be written to standard output. Pass a file name to --save-grammar.")
    if save_grammar is not None and not _is_json(save_grammar):
        raise wrong_value(
            "--save-grammar", "a file name that ends in .json, .json.gz, .json.xz or .json.bz2", save_grammar
        )


# --- input ----------------------------------------------------------------------------------------------------------


def _is_json(file: str) -> bool:
    from treelet.formats.files import unpacked_name

    return unpacked_name(file).suffix.lower() == ".json"


def load_grammar(file: str) -> PCFG:
    """Read a grammar from a JSON or text file. Warnings about the grammar are printed as notes on standard error."""
    from treelet.parsing import PCFG

    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        grammar = PCFG.load(file) if _is_json(file) else PCFG.read_text(file)
    for note in noted:
        print(f"treelet: note: {file}: {note.message}", file=sys.stderr)
    return grammar


def _sentences(texts: list[str], grammar: PCFG) -> list[_InputSentence]:
    from treelet.parsing.chart import adapted_words

    sentences = []
    for number, text in enumerate(texts, 1):
        if not text.split():
            raise TreeError("--text contains no words. Pass a sentence such as --text 'What time is it ?'.")
        _check_words(text, f"--text {text[:40]!r}")
        sentences.append(_InputSentence(number, adapted_words(text, grammar)))
    return sentences


def _read(file: str, skip_empty: bool, encoding: str) -> list[_InputSentence]:
    from treelet.formats.files import open_source

    sentences = []
    with open_source(file, encoding) as source:
        for number, line in source.text_lines():
            words = line.split()
            if words:
                _check_words(line, f"{source.name}:{number}")
                sentences.append(_InputSentence(number, words))
            elif not skip_empty:
                raise source.error("the line is empty. Remove the line, or pass --skip-empty.", number)
    return sentences


def _check_words(text: str, where: str) -> None:
    from treelet.formats.brackets import label_problem

    for number, word in enumerate(text.split(), 1):
        if problem := label_problem(word):
            raise TreeError(f"{where}: word {number} is {problem}. Write brackets as -LRB- and -RRB-.")


# --- output ---------------------------------------------------------------------------------------------------------


def _suggested(output: str, k: int) -> str:
    from treelet.formats.files import unpacked_name

    return _SUFFIXES.get(unpacked_name(output).suffix.lower(), "tsv" if k > 1 else "trees")


def _lines(items: list[_InputSentence], candidates: Candidates, to: str) -> Iterator[str]:
    """Yield the lines of output. A sentence without a parse also has a line."""
    trees, logps, qids = candidates.trees.strings(), candidates.logp.tolist(), candidates.qid.tolist()
    rows: list[list[tuple[float, str]]] = [[] for _ in items]
    for qid, logp, tree in zip(qids, logps, trees, strict=True):
        rows[qid].append((logp, tree))
    for item, row in zip(items, rows, strict=True):
        if to == "json":
            nbest = [[logp if logp > -math.inf else None, tree] for logp, tree in row]
            record = {"line": item.line, "sentence": " ".join(item.words), "nbest": nbest}
            yield json_format.dumps(record, ensure_ascii=False)
        elif to == "tsv":
            for rank, (logp, tree) in enumerate(row, 1):
                yield f"{item.line}\t{rank}\t{logp!r}\t{tree}"
            if not row:
                yield f"{item.line}\t0\t-inf\t"
        else:
            yield row[0][1] if row else ""


def _draw(
    grammar: PCFG,
    sentences: list[list[str]],
    forest: bool,
    prune: float | None,
    beam: float | None,
    file: Path,
    kind: str,
) -> int:
    """Draw the first sentence that has a parse, and return its number."""
    from treelet.drawing import draw

    for number, words in enumerate(sentences):
        if forest:
            parsed = grammar.forest(words, prune, beam=beam)
            picture = draw(parsed) if parsed else None
        else:
            best = grammar.parse(words, beam=beam)
            picture = draw(best[0][0]) if best else None
        if picture is not None:
            file.write_bytes(picture.content(kind))
            return number
    raise TreeError("No sentence has a parse, so there is nothing to draw. Remove --picture.")


def _failed_forests(forests: ForestBank) -> tuple[list[int], list[int]]:
    """Return the indices of empty forests, and of forests with only the pieces of a fallback."""
    from treelet.parsing.chart import FALLBACK

    roots = [None if forest.root is None else forest.nodes[forest.root].label for forest in forests]
    return [n for n, root in enumerate(roots) if root is None], [n for n, root in enumerate(roots) if root == FALLBACK]


def _close(count: int, produced: str, seconds: float, without: int, pieces: int) -> None:
    from treelet.checks import plural

    line = f"{plural(count, 'sentence')}, {produced} in {seconds:.2f} s"
    if pieces:
        line += f"; {pieces:,} without a parse (pieces under the root FALLBACK returned)"
    if without:
        line += f"; {without:,} without a parse (nothing returned)"
    print(line, file=sys.stderr)
