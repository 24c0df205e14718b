"""Parsing and tagging: probabilistic context-free grammars, hidden Markov models and Link Grammar."""

from treelet.formats.grammars import Rule, Word
from treelet.parsing.chart import Candidates, CompiledGrammar
from treelet.parsing.grammar import PCFG, GrammarWarning
from treelet.parsing.hmm import HMM
from treelet.parsing.link_parser import (
    Linkage,
    LinkageCost,
    Linkages,
    LinkGrammarError,
    LinkParser,
    LinkResults,
    link_grammar_version,
)
from treelet.parsing.unknown import UnknownWords

__all__ = [
    "HMM",
    "PCFG",
    "Candidates",
    "CompiledGrammar",
    "GrammarWarning",
    "LinkGrammarError",
    "LinkParser",
    "LinkResults",
    "Linkage",
    "LinkageCost",
    "Linkages",
    "Rule",
    "UnknownWords",
    "Word",
    "link_grammar_version",
]
