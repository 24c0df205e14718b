"""Parsing and tagging: probabilistic context-free grammars, hidden Markov models and Link Grammar."""

from treelet.formats.grammars import Rule as Rule
from treelet.formats.grammars import Word as Word
from treelet.parsing.chart import Candidates as Candidates
from treelet.parsing.chart import CompiledGrammar as CompiledGrammar
from treelet.parsing.grammar import PCFG as PCFG
from treelet.parsing.grammar import GrammarWarning as GrammarWarning
from treelet.parsing.hmm import HMM as HMM
from treelet.parsing.link_parser import Linkage as Linkage
from treelet.parsing.link_parser import LinkageCost as LinkageCost
from treelet.parsing.link_parser import Linkages as Linkages
from treelet.parsing.link_parser import LinkGrammarError as LinkGrammarError
from treelet.parsing.link_parser import LinkParser as LinkParser
from treelet.parsing.link_parser import LinkResults as LinkResults
from treelet.parsing.link_parser import link_grammar_version as link_grammar_version
from treelet.parsing.unknown import UnknownWords as UnknownWords
