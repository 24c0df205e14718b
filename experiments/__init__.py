"""The papers' experiments, each a module with its printed figures beside ours: ``python -m experiments``.

They stand beside the package, not in it: they use its public parts as anyone would.
"""

from __future__ import annotations

from typing import NamedTuple


class Experiment(NamedTuple):
    """What an experiment shows, the corpora it needs (folders under ``TREELET_DATA``), and how long it takes.

    Attributes
    ----------
    minutes : int
        In its usual setting, on two cores; a quick run takes at most two.
    options : tuple of str
        What it can be told besides what all can.
    """

    what: str
    data: tuple[str, ...]
    minutes: int
    options: tuple[str, ...] = ()


EXPERIMENTS = {
    "collins-duffy": Experiment(
        "reranking parses with the tree kernel and the voted perceptron (Collins & Duffy 2001)",
        (),
        10,
        ("treebank", "nbest", "splits", "folder"),
    ),
    "forest": Experiment(
        "relations and semantic roles from packed forests against best trees (Zhang, Zhang & Li 2010)",
        ("semeval2010_t8", "propbank_wsj_sample", "ptb_sample", "wsj_nbest"),
        18,
        ("full",),
    ),
    "locality": Experiment(
        "ranking dependency parses with the locality-convolution kernel (Tsivtsivadze et al. 2006)",
        ("lg_parse_ranking",),
        17,
    ),
    "moschitti": Experiment(
        "roles of arguments with flat features, ST, SST and PT; time against tree size (Moschitti 2006)",
        ("propbank_wsj_sample", "ptb_sample", "masc_srl"),
        23,
        ("full",),
    ),
    "parsing": Experiment(
        "our own parser on the Penn Treebank sample: plain and annotated grammars, best of a hundred",
        ("ptb_sample",),
        3,
    ),
    "questions": Experiment(
        "question classification with SST, PT and bags of words (TREC questions)",
        ("qc_trees",),
        6,
    ),
}
