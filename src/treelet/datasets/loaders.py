"""Real corpora, where they are: a folder named by ``TREELET_DATA``, or ``../shared/data`` beside the project."""

from __future__ import annotations

import os
from pathlib import Path

from treelet.errors import FileError
from treelet.formats.base import read_document
from treelet.structures import Treebank

ORIGINS = {
    "qc_trees": "the TREC questions of Li & Roth (2002), 5,452 + 500, parsed; the questions are at "
    "cogcomp.seas.upenn.edu/Data/QA/QC",
    "ptb_sample": "the Penn Treebank sample that comes with NLTK (nltk.download('treebank'))",
}


def data_folder() -> Path:
    """Where corpora are looked for."""
    return Path(os.environ.get("TREELET_DATA") or Path.cwd().parent / "shared" / "data")


def corpus(name: str) -> Path:
    """The folder of a corpus, or an error that says what it is and where it can be had."""
    folder = data_folder() / name
    if not folder.is_dir():
        raise FileError(
            f"{folder}: not there. It should hold {ORIGINS.get(name, 'the corpus ' + name)}. "
            "Set TREELET_DATA to the folder that holds the corpora"
        )
    return folder


def questions(part: str = "train") -> tuple[Treebank, list[str]]:
    """The TREC questions as trees, and their coarse classes; `part` is ``"train"`` or ``"test"``."""
    document = read_document(corpus("qc_trees") / f"{part}.tsv", "tsv")
    return Treebank.from_columns(document.trees["tree"]), [label.split(":")[0] for label in document.labels or []]
