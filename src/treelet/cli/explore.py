"""``treelet explore``: explore trees, parses and a model in the web browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from treelet.cli.inputs import for_model, load_grammar, read_examples
from treelet.cli.options import READ, READING_OPTIONS, Reading, command
from treelet.errors import TreeletError

if TYPE_CHECKING:
    from treelet.explorer.workspace import ModelView, Parsing, Workspace
    from treelet.parsing import PCFG

_TRAINING_SENTENCES = 400  # generated sentences for training the built-in ranker, which takes less than a second
_CANDIDATES = 20  # parses per training sentence


@command(exclusive=[("grammar", "treebank")], needs={"data": "model"} | dict.fromkeys(READING_OPTIONS, "data treebank"))
def _explore(
    model: Annotated[str | None, "MODEL", READ] = None,
    *,
    data: Annotated[str | None, "FILE", READ] = None,
    grammar: Annotated[str | None, "--grammar -g FILE", READ] = None,
    treebank: Annotated[str | None, "FILE", READ] = None,
    port: Annotated[int | None, "N"] = None,
    browser: Annotated[bool, "--browser/--no-browser"] = True,
    reading: Reading,
) -> None:
    """Explore trees, parses and a model in the web browser.

    The server accepts connections from this machine only. Press Ctrl-C to stop the server.

    By default, sentences are parsed with a grammar of generated travel questions, and a small ranker orders the parses.

    Example: treelet explore m.treelet --data train.tsv

    Parameters
    ----------
    model
        Model file written by treelet train, treelet rerank or treelet.save. [default: no model]
    data
        Training trees of MODEL. The page then shows the training trees most similar to your tree, with their
        labels. [default: none]
    grammar
        Grammar file for parsing, as JSON (.json, .json.gz) or text. [default: a grammar of generated travel
        questions]
    treebank
        File of trees to estimate the grammar from, instead of --grammar. [default: none]
    port
        Port of the web server; 0 for any free port. [default: 8377, or the next free one]
    browser
        Open the page in the web browser if a display is available. [default: --browser]
    """
    try:
        from treelet.explorer import serve
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn", "anyio", "h11"):
            raise
        raise TreeletError(
            f"treelet explore needs the package {error.name}, which is not installed. Run pip install 'treelet[web]'."
        ) from None
    serve(_workspace(model, data, grammar, treebank, reading), port, lambda link: _ready(link, browser))
    print("stopped", file=sys.stderr)


def _workspace(
    model: str | None, data: str | None, grammar: str | None, treebank: str | None, reading: Reading
) -> Workspace:
    """Return the workspace. Files are read at once, to report errors early. The built-in grammar is built on first use."""
    from treelet.explorer.workspace import Workspace

    view = None if model is None else _model_view(model)
    trees = labels = None
    if data is not None and view is not None:
        data_read = read_examples([data], reading)
        taken: Any = for_model(view.model, data_read)
        trees = taken if view.column is None else taken[view.column]
        labels = None if data_read.labels is None else list(map(str, data_read.labels))
    return Workspace(_parsing(grammar, treebank, reading), view, trees, labels)


def _model_view(file: str) -> ModelView:
    from treelet.explorer.workspace import ModelView
    from treelet.learn import load

    return ModelView(load(file), Path(file).name)


def _parsing(grammar: str | None, treebank: str | None, reading: Reading) -> Parsing:
    from treelet.explorer.workspace import Parsing

    if grammar is None and treebank is None:
        return _embedded()
    loaded: PCFG
    trees = None
    if grammar is not None:
        loaded = load_grammar(grammar)
    else:
        from treelet.parsing import PCFG
        from treelet.structures import read_trees

        trees = read_trees(str(treebank), **reading.arguments())
        loaded = PCFG.from_treebank(trees)
    return Parsing(Path(str(grammar or treebank)).name, lambda: loaded, trees=trees)


def _embedded() -> Parsing:
    """Return the built-in grammar of generated sentences, with a perceptron that ranks the parses."""
    from treelet.explorer.workspace import ModelView, Parsing

    @cache
    def learned() -> PCFG:
        from treelet.datasets import flights_split
        from treelet.parsing import PCFG

        return PCFG.from_treebank(flights_split().train)

    @cache
    def trained() -> ModelView:
        from treelet.datasets import flights_split
        from treelet.tasks import CandidateParses, Reranker

        parses = CandidateParses.jackknifed(flights_split().train[:_TRAINING_SENTENCES], _CANDIDATES, folds=5)
        return ModelView(
            Reranker().fit(parses).ranker, f"a perceptron trained on {_TRAINING_SENTENCES} generated travel questions"
        )

    return Parsing("generated travel questions", learned, trained)


def _ready(link: str, browser: bool) -> None:
    print(f"treelet explorer: {link} (press Ctrl-C to stop)", file=sys.stderr, flush=True)
    screen = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if browser and screen:  # without a display, a text browser might take over this terminal
        webbrowser.open(link)
