"""Comparison of two corpora, families of similar examples, and the diversity of a corpus."""

from treelet.corpora.corpus_diff import CorpusDifference, FragmentDifference, diff, vendi_score
from treelet.corpora.families import Family, families

__all__ = ["CorpusDifference", "Family", "FragmentDifference", "diff", "families", "vendi_score"]
