"""Example data: a generator of trees that is always available, and loaders of corpora that must be obtained separately."""

from treelet.datasets.flights import flights, flights_split
from treelet.datasets.link_parses import ParsedSentence, link_parses
from treelet.datasets.loaders import corpus, question_bank, questions, wsj_sample
from treelet.datasets.relations import bioinfer, conll04, semeval2010
from treelet.datasets.roles import propbank

__all__ = [
    "ParsedSentence",
    "bioinfer",
    "conll04",
    "corpus",
    "flights",
    "flights_split",
    "link_parses",
    "propbank",
    "question_bank",
    "questions",
    "semeval2010",
    "wsj_sample",
]
