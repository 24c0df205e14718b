"""Trees to try things on: generated here, so that they are always at hand; and real corpora, where they are."""

from treelet.datasets.flights import flights, flights_split
from treelet.datasets.generated import small_treebank
from treelet.datasets.loaders import corpus, question_bank, questions, wsj_sample

__all__ = ["corpus", "flights", "flights_split", "question_bank", "questions", "small_treebank", "wsj_sample"]
