"""Real corpora, where they are: in the folder that ``TREELET_DATA`` names, or in ``treelet_data`` in one's home.

Where each can be had, its terms and the files that are expected: ``docs/data.md``.
"""

from __future__ import annotations

import os
from pathlib import Path

from treelet.errors import FileError
from treelet.formats.base import read_document
from treelet.formats.files import PACKED
from treelet.structures import Treebank, read_trees

ORIGINS = {
    "qc_trees": "the TREC questions of Li & Roth (2002), 5,452 + 500, parsed; the questions are at "
    "cogcomp.seas.upenn.edu/Data/QA/QC",
    "ptb_sample": "the Penn Treebank sample that comes with NLTK (nltk.download('treebank'))",
    "wsj_nbest": "20-best parses of that sample by a parser trained on the rest of it, one JSON object a sentence",
    "questionbank": "QuestionBank (Judge, Cahill & van Genabith 2006), 4,000 questions with hand-corrected trees",
    "atis_grammar": "the ATIS grammar that comes with NLTK (nltk.download('large_grammars'))",
    "propbank_wsj_sample": "PropBank's arguments (github.com/propbank/propbank-release) aligned to the Penn Treebank sample",
    "masc_srl": "the trees of MASC (anc.org) with PropBank's arguments (github.com/propbank/propbank-release)",
    "semeval2010_t8": "SemEval-2010 task 8, relations between nominals (Hendrickx et al. 2010), with parses",
    "ppi": "BioInfer's protein pairs (Pyysalo et al. 2007), in the unified format for protein interactions",
    "conll04": "entities and relations of Roth & Yih (2004)",
    "conll2000": "tags and chunks of CoNLL-2000 (nltk.download('conll2000'))",
    "lg_parse_ranking": "sentences of the CRAFT corpus with gold dependencies and Link Grammar's parses, one JSON object a sentence",
}


def data_folder() -> Path:
    """Where corpora are looked for, wherever one is: ``TREELET_DATA``, else ``shared/data`` beside a checkout of treelet's
    sources that runs, if it is there, else ``treelet_data`` in one's home.
    """
    if named := os.environ.get("TREELET_DATA"):
        return Path(named)
    checkout = Path(__file__).resolve().parents[3]
    beside = checkout.parent / "shared" / "data"
    return beside if (checkout / "native").is_dir() and beside.is_dir() else Path.home() / "treelet_data"


def corpus(name: str, file: str | None = None) -> Path:
    """The folder of a corpus, or a file in it, packed (``.xz``, ``.gz``, ``.bz2``) or not.

    What is not there is an error that says what it is and where it can be had.
    """
    folder = data_folder() / name
    if folder.is_dir() and file is None:
        return folder
    for suffix in ("", *PACKED) if file is not None else ():
        if (path := folder / f"{file}{suffix}").is_file():
            return path
    missing = folder if file is None or not folder.is_dir() else folder / file
    raise FileError(
        f"{missing}: not there. The folder {name} should hold {ORIGINS.get(name, 'the corpus ' + name)}; docs/data.md has the "
        "files in it. TREELET_DATA names the folder that holds the corpora"
    )


def questions(part: str = "train", *, fine: bool = False) -> tuple[Treebank, list[str]]:
    """The TREC questions as trees, and their classes: six coarse ones, or fifty fine ones such as ``"NUM:date"``.

    `part` is ``"train"`` or ``"test"``.
    """
    document = read_document(corpus("qc_trees", f"{part}.tsv"), "tsv")
    labels = document.labels or []
    return Treebank.from_columns(document.trees["tree"]), labels if fine else [label.split(":")[0] for label in labels]


def wsj_sample() -> tuple[Treebank, list[str]]:
    """The Wall Street Journal sample of the Penn Treebank, 3,914 trees without traces and function tags, and each one's file."""
    document = read_document(corpus("ptb_sample", "wsj_sample.clean.tsv"), "tsv", label_column=0)
    return Treebank.from_columns(document.trees["tree"]), document.labels or []


def question_bank() -> Treebank:
    """QuestionBank, 3,994 of its 4,000 trees.

    Trees with empty brackets in them are left out, six in the released file, and a warning says so. The final question
    mark has the tag "?" in about half of the trees and "." in the others; here it is always ".".
    """
    bank = read_trees(corpus("questionbank", "4000qs.mrg"), on_error="skip")
    return Treebank([tree.replace("(? ?)", "(. ?)") for tree in bank.strings()])
