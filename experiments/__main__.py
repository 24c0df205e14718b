"""``python -m experiments``: experiments of the papers, repeated with treelet."""

from __future__ import annotations

import json as json_format
import sys
import time
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments import EXPERIMENTS, Log, writing
from experiments.data import corpus
from treelet.checks import plural, suggestion
from treelet.cli.main import Command, start
from treelet.cli.options import READ, WRITTEN, at_least, command
from treelet.errors import ParameterError

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(cls=Command)
@command()
def _experiments(
    name: Annotated[str | None, "[NAME]"] = None,
    *,
    quick: bool = False,
    out: Annotated[Path | None, "--out -o FOLDER", (*WRITTEN, "*.json", "*.md", "*.png")] = None,
    jobs: Annotated[int, "--jobs -j N"] = 1,
    seed: Annotated[int, "N"] = 0,
    treebank: Annotated[str | None, "NAME|FILE", READ] = None,
    nbest: Annotated[str | None, "FILE", READ] = None,
    splits: Annotated[int | None, "N", at_least(1)] = None,
    json: bool = False,
    pages: bool = False,
    explain: Annotated[str | None, "WHY"] = None,
) -> None:
    """Repeat an experiment from the literature.

    Corpora are read from the folder in the environment variable TREELET_DATA.

    Parameters
    ----------
    name
        Experiment to run. Without a name, list all experiments.
    quick
        Run a small version, as a check.
    out
        Write NAME.json, NAME.md and NAME.png to this folder.
    jobs
        Number of threads; -1 for all cores.
    seed
        Seed for random choices.
    treebank
        collins-duffy: treebank, either flights (generated), questionbank, wsj, wsj-markovised, wsj-split, or a file.
    nbest
        collins-duffy: candidate lists of another parser.
    splits
        collins-duffy: number of random splits.
    pages
        Write all pages and the index again, from stored results.
    explain
        Record why code changes since the measurements do not affect the figures.
    """
    if pages or explain:
        if explain:
            files = writing.explain(writing.experiment_results() | writing.benchmark_results(), explain)
            print(f"{plural(len(files), 'changed file')} explained" + "".join(f"\n  {path}" for path in files))
        print("\n".join(f"written: {path.relative_to(writing.ROOT)}" for path in writing.write_pages()))
        return
    if name is None:
        for experiment_name, experiment in EXPERIMENTS.items():
            print(f"{experiment_name}: {experiment.description}")
            corpora = ", ".join(experiment.corpora) or "none (generated)"
            print(f"    data: {corpora}; about {experiment.minutes} minutes, with --quick at most 2")
        print("\npython -m experiments NAME [--quick] [--json] [-o FOLDER]")
        return
    results, page = run(
        name,
        quick=quick,
        n_jobs=jobs,
        seed=seed,
        log=lambda text: print(text, file=sys.stderr, flush=True),
        out=out,
        treebank=treebank,
        nbest=nbest,
        splits=splits,
    )
    print(json_format.dumps(results) if json else page)


def run(
    name: str,
    *,
    quick: bool = False,
    n_jobs: int = 1,
    seed: int = 0,
    log: Log = lambda text: None,
    out: Path | None = None,
    **options: Any,
) -> tuple[dict[str, Any], str]:
    """Run an experiment. Return the results, ready for JSON, and the Markdown page.

    With `out`, the files ``NAME.json``, ``NAME.items.json.xz``, ``NAME.md`` and ``NAME.png`` are written
    to that folder. A page that several experiments share also shows the results of the others in that folder.
    The options, the corpora and matplotlib are checked before the run.
    """
    if name not in EXPERIMENTS:
        raise ParameterError(
            f"There is no experiment {name!r}.{suggestion(name, EXPERIMENTS)} Choose one of {', '.join(EXPERIMENTS)}."
        )
    experiment = EXPERIMENTS[name]
    options = {key: value for key, value in options.items() if value not in (None, False)}
    for key in options:
        if key not in experiment.options:
            raise ParameterError(f"The experiment {name} has no option --{key}. Remove the option.")
    for needed in experiment.corpora:
        corpus(needed)
    if out is not None:
        if find_spec("matplotlib") is None:
            raise ParameterError(
                "matplotlib is not installed, but --out writes a picture. Run pip install 'treelet[viz]', or omit --out."
            )
        out.mkdir(parents=True, exist_ok=True)
    module = writing.experiment_module(name)
    arguments = dict(experiment.arguments)
    if "folder" in signature(module.run).parameters:  # the folder for finished parts
        arguments["folder"] = out
    wall, cpu = time.perf_counter(), time.process_time()
    results = module.run(quick=quick, n_jobs=n_jobs, seed=seed, log=log, **arguments, **options)
    items = results.pop("items", [])
    # The command that repeats the run, and the name of its files, have file names instead of paths.
    names = [f"--{key}" if value is True else f"--{key} {Path(str(value)).name}" for key, value in options.items()]
    command = " ".join(["python -m experiments", name, *names, *(["--quick"] if quick else [])])
    inputs = [Path(str(options[key])).name.split(".")[0] for key in ("treebank", "nbest") if key in options]
    stem = "-".join([name, *inputs])
    results |= {
        "experiment": name,
        "stem": stem,
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu + results.get("cpu_seconds_before", 0.0),
        "made_by": writing.provenance(command),
        "quick": quick,
        "seed": seed,
    }
    results = json_format.loads(json_format.dumps(results))  # the form in which pages read it later
    page_name = writing.page_name(name)
    on_page = {name: results}
    if stem == name and out is not None:  # the page may show other experiments, too
        on_page = writing.experiment_results(out, page_name) | on_page
    page = writing.experiment_module(page_name).page(*on_page.values())
    if out is not None:
        page_file = page_name if stem == name else stem
        files = writing.write_results(out, stem, results, page, items, page_file)  # before the picture, which may fail
        picture = out / f"{stem}.png"
        module.picture(results, picture)
        log(f"written: {', '.join(str(path) for path in (*files, picture))}")
    return results, page


if __name__ == "__main__":
    start(app, "python -m experiments")
