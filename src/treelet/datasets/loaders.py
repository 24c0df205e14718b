"""Real corpora, where they are: a folder named by ``TREELET_DATA``, or ``../shared/data`` beside the project."""

from __future__ import annotations

import os
from pathlib import Path

from treelet.errors import FileError
from treelet.formats.base import read_document
from treelet.formats.files import open_source
from treelet.structures import Treebank

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
    "lg_parse_ranking": "sentences of the CRAFT corpus with gold dependencies and Link Grammar's parses, one JSON object a sentence",
}

MENDED = {"( )": "", "( -LRB-)": "(-LRB- -LRB-)", "( -RRB-)": "(-RRB- -RRB-)", "(? ?)": "(. ?)"}


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


def wsj_sample() -> tuple[Treebank, list[str]]:
    """The Wall Street Journal sample of the Penn Treebank, 3,914 trees without traces and function tags, and each one's file."""
    trees, documents = [], []
    with open_source(corpus("ptb_sample") / "wsj_sample.clean.tsv.xz") as source:
        for _, line in source.text_lines():
            document, _, tree = line.split("\t")
            trees.append(tree)
            documents.append(document)
    return Treebank(trees), documents


def question_bank() -> Treebank:
    """QuestionBank, 4,000 trees.

    What is broken in the file is mended: empty brackets go, and the bracket words that lost their tag get it back.
    The final question mark has the tag "?" in about half of the trees and "." in the others; here it is always ".".
    """
    trees = []
    with open_source(corpus("questionbank") / "4000qs.mrg.xz") as source:
        for _, line in source.text_lines():
            mended = line
            for wrong, right in MENDED.items():
                mended = mended.replace(wrong, right)
            trees.append(mended)
    return Treebank(trees)
