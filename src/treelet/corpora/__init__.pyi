"""Comparison of two corpora, families of similar examples, and the diversity of a corpus."""

from treelet.corpora.corpus_diff import CorpusDifference as CorpusDifference
from treelet.corpora.corpus_diff import FragmentDifference as FragmentDifference
from treelet.corpora.corpus_diff import diff as diff
from treelet.corpora.corpus_diff import vendi_score as vendi_score
from treelet.corpora.families import Family as Family
from treelet.corpora.families import families as families
