"""Parsing: probabilistic context-free grammars, from rules or from a treebank."""

from treelet.parsing.checks import GrammarWarning
from treelet.parsing.compiled import CompiledGrammar
from treelet.parsing.grammar import PCFG
from treelet.parsing.rules import Rule, Word
from treelet.parsing.unknown import UnknownWords

__all__ = ["PCFG", "CompiledGrammar", "GrammarWarning", "Rule", "UnknownWords", "Word"]
