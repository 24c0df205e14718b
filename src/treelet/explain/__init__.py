"""What two trees, or a model, have in common: shown, not only counted; and pictures of trees, forests and dependency parses."""

from treelet.explain.arcs import arcs_text, dependency_svg
from treelet.explain.compare import marked, marked_svg
from treelet.explain.corpora import CorpusDifference, diff
from treelet.explain.differing import FragmentDifference
from treelet.explain.drawing import Drawing, draw
from treelet.explain.explanation import (
    Explanation,
    FragmentShare,
    NodeShare,
    OtherShare,
    TopFragments,
    WeightedFragment,
)
from treelet.explain.fragments import SharedFragment, SharedFragments, shared_fragments
from treelet.explain.learnt import explain, top_fragments
from treelet.explain.places import Places, places
from treelet.explain.report import Report, report
from treelet.explain.report_page import report_page
from treelet.explain.shaded import heat_svg
from treelet.explain.svg import forest_svg, tree_svg
from treelet.explain.tex import latex
from treelet.explain.variety import vendi_score

__all__ = [
    "CorpusDifference",
    "Drawing",
    "Explanation",
    "FragmentDifference",
    "FragmentShare",
    "NodeShare",
    "OtherShare",
    "Places",
    "Report",
    "SharedFragment",
    "SharedFragments",
    "TopFragments",
    "WeightedFragment",
    "arcs_text",
    "dependency_svg",
    "diff",
    "draw",
    "explain",
    "forest_svg",
    "heat_svg",
    "latex",
    "marked",
    "marked_svg",
    "places",
    "report",
    "report_page",
    "shared_fragments",
    "top_fragments",
    "tree_svg",
    "vendi_score",
]
