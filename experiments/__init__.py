"""Experiments of the papers, repeated with treelet: ``python -m experiments``.

There is one module per paper, with the data, the settings and the protocol (``run``), and its page (``page``, ``claims``,
``picture``), which is written from the stored results with the template ``pages/NAME.md``. The modules share `data` (corpora),
`evaluation` (splits, tuning, significance) and `writing` (pages, result files, verdicts, provenance). The experiments are not
part of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Log = Callable[[str], None]


class Experiment(NamedTuple):
    """An entry of the table of experiments.

    Attributes
    ----------
    module : str
        Module of the experiment.
    description : str
        Description.
    corpora : tuple of str
        Corpora: folders under ``TREELET_DATA``.
    minutes : int
        CPU time of a full run, in minutes. A quick run takes at most two.
    arguments : mapping
        Arguments of ``run`` for this page.
    options : tuple of str
        Additional command-line options.
    page : str
        Page of results that the experiment is a section of. Default: a page of its own.
    """

    module: str
    description: str
    corpora: tuple[str, ...]
    minutes: int
    arguments: Mapping[str, Any] = {}
    options: tuple[str, ...] = ()
    page: str = ""


RERANKING = "reranking parses with the tree kernel and the voted perceptron (Collins & Duffy 2001)"

_QUESTION_CORPORA = (
    "qc_trees",
    "questionbank",
    "ptb_sample",
    "masc_srl",
    "craft",
    "semeval2010_t8",
    "conll2000",
    "conll04",
    "ud_ewt",
    "ud_atis",
)
EXPERIMENTS = {
    "collins-duffy": Experiment(
        "collins_duffy",
        f"{RERANKING}: generated questions, or your own trees or lists",
        (),
        16,
        {},
        ("treebank", "nbest", "splits"),
    ),
    "collins-duffy-questionbank": Experiment(
        "collins_duffy",
        f"{RERANKING}: QuestionBank",
        ("questionbank",),
        31,
        {"treebank": "questionbank"},
        ("splits",),
        page="collins-duffy",
    ),
    "collins-duffy-wsj": Experiment(
        "collins_duffy",
        f"{RERANKING}: Wall Street Journal, plain grammar",
        ("ptb_sample",),
        21,
        {"treebank": "wsj"},
        ("splits",),
        page="collins-duffy",
    ),
    "collins-duffy-wsj-markovised": Experiment(
        "collins_duffy",
        f"{RERANKING}: Wall Street Journal, annotated grammar",
        ("ptb_sample",),
        22,
        {"treebank": "wsj-markovised"},
        ("splits",),
        page="collins-duffy",
    ),
    "collins-duffy-nbest": Experiment(
        "collins_duffy",
        f"{RERANKING}: the lists of a lexicalized parser",
        ("wsj_nbest", "masc_srl", "questionbank", "qc_trees"),
        23,
        {"treebank": "nbest"},
        ("splits",),
        page="collins-duffy",
    ),
    "collins-duffy-splits": Experiment(
        "collins_duffy_splits",
        f"{RERANKING}: voting, and the lists of a lexicalized parser, with 30 splits",
        ("questionbank", "wsj_nbest", "masc_srl", "qc_trees"),
        60,
        page="collins-duffy",
    ),
    "forest-relations": Experiment(
        "forest_relations",
        "relations between nominals from packed forests against best trees (Zhang, Zhang & Li 2010)",
        ("semeval2010_t8", "ptb_sample", "masc_srl", "questionbank", "craft"),
        26,
    ),
    "forest-relations-conll04": Experiment(
        "forest_relations",
        "relations between typed entities from packed forests against best trees (Zhang, Zhang & Li 2010)",
        ("conll04", "ptb_sample", "masc_srl", "questionbank", "craft"),
        52,
        {"corpus": "conll04"},
        page="forest-relations",
    ),
    "forest-roles": Experiment(
        "forest_roles",
        "semantic roles from packed forests against best trees (Zhang, Zhang & Li 2010)",
        ("propbank_wsj_sample", "ptb_sample", "wsj_nbest", "masc_srl", "questionbank"),
        12,
    ),
    "locality-protocol": Experiment(
        "locality_protocol",
        "ranking dependency parses with 500 sentences for training and 600 for testing (Tsivtsivadze et al. 2006)",
        ("lg_parse_ranking",),
        15,
    ),
    "locality": Experiment(
        "locality",
        "ranking dependency parses with the locality-convolution kernel (Tsivtsivadze et al. 2006)",
        ("lg_parse_ranking",),
        21,
    ),
    "moschitti": Experiment(
        "moschitti",
        "roles of arguments with flat features, ST, SST and PT, on gold and automatic trees (Moschitti 2006)",
        ("propbank_wsj_sample", "ptb_sample", "wsj_nbest", "masc_srl", "questionbank"),
        24,
    ),
    "moschitti-time": Experiment(
        "moschitti_time",
        "time of tree kernels against tree size, and time to learn, fast and naive (Moschitti 2006)",
        ("propbank_wsj_sample", "ptb_sample", "craft"),
        1,
    ),
    "parsing": Experiment(
        "parsing",
        "our own parser on the Penn Treebank sample: plain and annotated grammars, best of a hundred",
        ("ptb_sample", "masc_srl", "questionbank", "craft"),
        21,
    ),
    "questions": Experiment(
        "questions",
        "question classification with SST, PT, forests, similar words, n-grams and bags of words (TREC questions)",
        _QUESTION_CORPORA,
        16,
    ),
    "collins-duffy-values": Experiment(
        "kernel_values",
        "values of the tree kernel of a tree with itself and with others (Collins & Duffy 2001)",
        ("questionbank", "ptb_sample"),
        1,
        page="collins-duffy",
    ),
    "collins-duffy-wsj-split": Experiment(
        "collins_duffy",
        f"{RERANKING}: Wall Street Journal, annotated grammar with label splits",
        ("ptb_sample",),
        21,
        {"treebank": "wsj-split"},
        ("splits",),
        page="collins-duffy",
    ),
    "pairs": Experiment(
        "sick_pairs",
        "entailment and relatedness of sentence pairs with kernels on pairs of trees (SICK; Severyn & Moschitti 2012)",
        ("sick", *_QUESTION_CORPORA),
        34,
    ),
    "roles-at-scale": Experiment(
        "roles_at_scale",
        "identification and roles of all candidate arguments, from 1,000 to 143,000 trees (Moschitti 2006)",
        ("propbank_wsj_sample", "ptb_sample", "masc_srl"),
        11,
    ),
    "questions-words": Experiment(
        "questions_words",
        "question classification with similar words, as inner nodes or leaves of dependency trees (Croce et al. 2011)",
        _QUESTION_CORPORA,
        12,
    ),
}
