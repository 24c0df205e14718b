"""``treelet reproduce``: the papers' experiments, their figures beside ours."""

from __future__ import annotations

import json as json_format
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from treelet.cli.options import JsonOption
from treelet.errors import ParameterError

EXPERIMENTS = {
    "collins-duffy": "reranking parses with the tree kernel and the voted perceptron (Collins & Duffy 2001)",
    "forest": "relations and semantic roles from packed forests against best trees (Zhang, Zhang & Li 2010)",
    "locality": "ranking dependency parses with the locality-convolution kernel (Tsivtsivadze et al. 2006)",
    "moschitti": "roles of arguments with flat features, ST, SST and PT; time against tree size (Moschitti 2006)",
    "parsing": "our own parser on the Penn Treebank sample: plain and annotated grammars, best of a hundred",
    "questions": "question classification with SST, PT and bags of words (TREC questions)",
}


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {', '.join(EXPERIMENTS)}.")],
    *,
    quick: Annotated[bool, typer.Option("--quick", help="A small setting, to see that it works.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Write NAME.json, NAME.md and pictures there.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Threads; -1: one a core.")] = 1,
    seed: Annotated[int, typer.Option(metavar="N", help="For whatever is random.")] = 0,
    treebank: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="collins-duffy: flights (generated), questionbank, wsj, wsj-markovised, or a file.",
        ),
    ] = None,
    nbest: Annotated[str | None, typer.Option(metavar="FILE", help="collins-duffy: another parser's lists.")] = None,
    splits: Annotated[int | None, typer.Option(metavar="N", min=1, help="collins-duffy: random splits.")] = None,
    full: Annotated[bool, typer.Option("--full", help="moschitti, forest: all data there is; may take hours.")] = False,
    json: JsonOption = False,
) -> None:
    """Run an experiment from the literature again.

    The corpora are looked for in the folder that TREELET_DATA names.
    """
    if name not in EXPERIMENTS:
        raise ParameterError(f"there is no experiment {name!r}: choose one of {', '.join(EXPERIMENTS)}")
    from importlib import import_module

    from treelet.experiments import report

    experiment = import_module(f"treelet.experiments.{name.replace('-', '_')}")
    known = getattr(experiment, "OPTIONS", ())
    options: dict[str, Any] = {"treebank": treebank, "nbest": nbest, "splits": splits, "full": full or None}
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in known:
            raise ParameterError(f"the experiment {name} has no option --{key}")
    if "folder" in known:
        given["folder"] = out
    results = experiment.run(
        quick=quick, n_jobs=jobs, seed=seed, say=lambda text: print(text, file=sys.stderr, flush=True), **given
    )
    page = experiment.page(results)
    if out is not None:
        stem = "-".join([name, *(Path(value).name.split(".")[0] for value in (treebank, nbest) if value)])
        out.mkdir(parents=True, exist_ok=True)
        picture = out / f"{stem}.png"
        page = page.replace(f"({name}.png)", f"({picture.name})")
        experiment.picture(results, picture)
        written = report.write(out, stem, results, page)
        print(f"written: {', '.join(str(path) for path in written)}", file=sys.stderr)
    print(json_format.dumps(results) if json else page)
