"""Comparison of two corpora, families of similar examples, and the diversity of a corpus."""

from treelet.corpora.corpus_diff import CorpusDifference, diff
from treelet.corpora.diversity import vendi_score
from treelet.corpora.families import Family, families
from treelet.corpora.fragment_differences import FragmentDifference

__all__ = ["CorpusDifference", "Family", "FragmentDifference", "diff", "families", "vendi_score"]
