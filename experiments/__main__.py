"""``python -m experiments``: the papers' experiments, their figures beside ours."""

from __future__ import annotations

import json as json_format
import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments import EXPERIMENTS
from treelet.cli.main import Command, start
from treelet.cli.options import JsonOption
from treelet.cli.overwriting import READ, OutputFile

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(cls=Command)
def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Without it, the experiments are listed.")
    ] = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="A small setting, to see that it works.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Write NAME.json, NAME.md and NAME.png there."),
        OutputFile("*.json", "*.md", "*.png"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Threads; -1: one a core.")] = 1,
    seed: Annotated[int, typer.Option(metavar="N", help="For whatever is random.")] = 0,
    treebank: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="collins-duffy: flights (generated), questionbank, wsj, wsj-markovised, or a file.",
        ),
        READ,
    ] = None,
    nbest: Annotated[
        str | None, typer.Option(metavar="FILE", help="collins-duffy: another parser's lists."), READ
    ] = None,
    splits: Annotated[int | None, typer.Option(metavar="N", min=1, help="collins-duffy: random splits.")] = None,
    json: JsonOption = False,
    pages: Annotated[
        bool,
        typer.Option("--pages", help="Word all pages and the index again, from what was measured before."),
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(metavar="WHY", help="Say why the changes since the pages were made cannot alter a figure."),
    ] = None,
) -> None:
    """Run an experiment from the literature again.

    The corpora are looked for in the folder that TREELET_DATA names.
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
    """Write down why changes do not matter, if that is asked for, and all pages anew."""
    from experiments import index, sources

    if why:
        files = sources.explain(index.pages() | index.benchmarks(), why)
        print(f"{len(files)} changed files explained" + "".join(f"\n  {path}" for path in files))
    print("\n".join(f"written: {path.relative_to(sources.ROOT)}" for path in index.write_again()))


def listing() -> str:
    """Each experiment: what it shows, the corpora it needs, and how long it takes."""
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
