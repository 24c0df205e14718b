"""``python -m experiments``: experiments of the papers, repeated with treelet."""

from __future__ import annotations

import json as json_format
import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments import EXPERIMENTS
from treelet.checks import plural
from treelet.cli.main import Command, start
from treelet.cli.options import JsonOption
from treelet.cli.overwriting import READ, OutputFile

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(cls=Command)
def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Experiment to run. Without a name, list all experiments.")
    ] = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Run a small version, as a check.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Write NAME.json, NAME.md and NAME.png to this folder."),
        OutputFile("*.json", "*.md", "*.png"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Number of threads; -1 for all cores.")] = 1,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed for random choices.")] = 0,
    treebank: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="collins-duffy: treebank, either flights (generated), questionbank, wsj, wsj-markovised, wsj-split, or a file.",
        ),
        READ,
    ] = None,
    nbest: Annotated[
        str | None, typer.Option(metavar="FILE", help="collins-duffy: candidate lists of another parser."), READ
    ] = None,
    splits: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="collins-duffy: number of random splits.")
    ] = None,
    json: JsonOption = False,
    pages: Annotated[
        bool,
        typer.Option("--pages", help="Write all pages and the index again, from stored results."),
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(metavar="WHY", help="Record why code changes since the measurements do not affect the figures."),
    ] = None,
) -> None:
    """Repeat an experiment from the literature.

    Corpora are read from the folder in the environment variable TREELET_DATA.
    """
    if pages or explain:
        again(explain)
        return
    if name is None:
        print(listing())
        return
    from experiments.running import run

    results, page = run(
        name,
        quick=quick,
        n_jobs=jobs,
        seed=seed,
        say=lambda text: print(text, file=sys.stderr, flush=True),
        out=out,
        treebank=treebank,
        nbest=nbest,
        splits=splits,
    )
    print(json_format.dumps(results) if json else page)


def again(why: str | None) -> None:
    """Write all pages again. If a reason is given, first record it for all changed files."""
    from experiments import index, sources

    if why:
        files = sources.explain(index.pages() | index.benchmarks(), why)
        print(f"{plural(len(files), 'changed file')} explained" + "".join(f"\n  {path}" for path in files))
    print("\n".join(f"written: {path.relative_to(sources.ROOT)}" for path in index.write_again()))


def listing() -> str:
    """Return a list of the experiments with their corpora and run times."""
    lines = []
    for name, experiment in EXPERIMENTS.items():
        data = ", ".join(experiment.data) or "none (generated)"
        lines += [
            f"{name}: {experiment.what}",
            f"    data: {data}; about {experiment.minutes} minutes, with --quick at most 2",
        ]
    return "\n".join([*lines, "", "python -m experiments NAME [--quick] [--json] [-o FOLDER]"])


if __name__ == "__main__":
    start(app, "python -m experiments")
