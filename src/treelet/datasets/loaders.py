"""Loaders of corpora from a data folder: ``TREELET_DATA``, or ``treelet_data`` in the home folder.

``docs/data.md`` describes where to obtain each corpus, its license and the expected files.
"""

from __future__ import annotations

import os
from pathlib import Path

from treelet.errors import FileError
from treelet.formats.files import PACKED
from treelet.formats.reading import read_document
from treelet.structures import Treebank, read_trees

ORIGINS = {
    "qc_trees": "the TREC questions of Li & Roth (2002), 5,452 + 500, parsed; the questions are at "
    "cogcomp.seas.upenn.edu/Data/QA/QC",
    "ptb_sample": "the Penn Treebank sample that comes with NLTK (nltk.download('treebank'))",
    "wsj_nbest": "20-best parses of that sample by a parser trained on the rest of it, one JSON object per sentence",
    "questionbank": "QuestionBank (Judge, Cahill & van Genabith 2006), 4,000 questions with hand-corrected trees",
    "atis_grammar": "the ATIS grammar that comes with NLTK (nltk.download('large_grammars'))",
    "propbank_wsj_sample": "PropBank's arguments (github.com/propbank/propbank-release) aligned to the Penn Treebank sample",
    "masc_srl": "the trees of MASC (anc.org) with PropBank's arguments (github.com/propbank/propbank-release)",
    "semeval2010_t8": "SemEval-2010 task 8, relations between nominals (Hendrickx et al. 2010), with parses",
    "ppi": "BioInfer's protein pairs (Pyysalo et al. 2007), in the unified format for protein interactions",
    "conll04": "entities and relations of Roth & Yih (2004)",
    "conll2000": "tags and chunks of CoNLL-2000 (nltk.download('conll2000'))",
    "lg_parse_ranking": "sentences of the CRAFT corpus with gold dependencies and Link Grammar's parses, one JSON object per sentence",
}


def data_folder() -> Path:
    """Return the data folder.

    It is ``TREELET_DATA`` if that is set. Otherwise it is ``shared/data`` beside a source checkout of treelet, if
    that folder exists, or else ``treelet_data`` in the home folder.
    """
    if named := os.environ.get("TREELET_DATA"):
        return Path(named)
    checkout = Path(__file__).resolve().parents[3]
    beside = checkout.parent / "shared" / "data"
    return beside if (checkout / "native").is_dir() and beside.is_dir() else Path.home() / "treelet_data"


def corpus(name: str, file: str | None = None) -> Path:
    """Return the folder of a corpus, or a file in it, packed (``.xz``, ``.gz``, ``.bz2``) or not.

    Parameters
    ----------
    name : str
        Name of the folder in the data folder, such as ``"ptb_sample"``.
    file : str, optional
        Name of a file in it, without the suffix of a packed file.

    Returns
    -------
    Path
        The folder or the file.

    Raises
    ------
    FileError
        If it does not exist. The message describes the corpus and where to obtain it.
    """
    folder = data_folder() / name
    if folder.is_dir() and file is None:
        return folder
    for suffix in ("", *PACKED) if file is not None else ():
        if (path := folder / f"{file}{suffix}").is_file():
            return path
    missing = folder if file is None or not folder.is_dir() else folder / file
    raise FileError(
        f"{missing}: does not exist. The folder {name} should contain {ORIGINS.get(name, 'the corpus ' + name)}. See docs/data.md "
        "for its files, and set TREELET_DATA to the folder of all corpora."
    )


def questions(part: str = "train", *, fine: bool = False) -> tuple[Treebank, list[str]]:
    """Load the TREC questions as trees, with their classes.

    Parameters
    ----------
    part : {"train", "test"}, default "train"
        The 5,452 training questions or the 500 test questions.
    fine : bool, default False
        Whether to return the fifty fine classes, such as ``"NUM:date"``, instead of the six coarse ones.

    Returns
    -------
    trees : Treebank
        The parsed questions.
    labels : list of str
        The class of each question.
    """
    document = read_document(corpus("qc_trees", f"{part}.tsv"), "tsv")
    labels = document.labels or []
    return Treebank.from_columns(document.trees["tree"]), labels if fine else [label.split(":")[0] for label in labels]


def wsj_sample() -> tuple[Treebank, list[str]]:
    """Load the Wall Street Journal sample of the Penn Treebank: 3,914 trees without traces and function tags.

    Returns
    -------
    trees : Treebank
        The trees.
    files : list of str
        The file of each tree.
    """
    document = read_document(corpus("ptb_sample", "wsj_sample.clean.tsv"), "tsv", label_column=0)
    return Treebank.from_columns(document.trees["tree"]), document.labels or []


def question_bank() -> Treebank:
    """Load 3,994 of the 4,000 trees of QuestionBank.

    Trees with empty brackets, six in the released file, are skipped with a warning. The final question mark has
    the tag "?" in about half of the trees and "." in the others. It is always "." here.

    Returns
    -------
    Treebank
        The trees.
    """
    bank = read_trees(corpus("questionbank", "4000qs.mrg"), on_error="skip")
    return Treebank([tree.replace("(? ?)", "(. ?)") for tree in bank.strings()])
