"""Comparison of two corpora, and the diversity of a corpus."""

from treelet.corpora.corpus_diff import CorpusDifference, diff
from treelet.corpora.diversity import vendi_score
from treelet.corpora.fragment_differences import FragmentDifference

__all__ = ["CorpusDifference", "FragmentDifference", "diff", "vendi_score"]
