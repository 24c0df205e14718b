"""Measures of parses, rankings, roles, relations and tables, and tests of significance."""

from treelet.metrics.counts import BracketCounts
from treelet.metrics.links import align_words, link_f1
from treelet.metrics.parse import (
    PARSEVAL,
    PLAIN,
    Convention,
    ParsevalResult,
    bracket_counts,
    candidate_scores,
    constituents,
    labelled_f1,
    oracle,
    parse_score,
    parseval,
    relative_improvement,
    tree_scores,
)
from treelet.metrics.ranking import best_of_group, kendall_tau_b, kendall_tau_by_group, mean_kendall_tau
from treelet.metrics.relations import RelationScores, RoleScores, Score, role_scores, semeval_scores
from treelet.metrics.significance import (
    BootstrapResult,
    McNemarResult,
    TTestResult,
    mcnemar,
    paired_bootstrap,
    paired_t_test,
)
from treelet.metrics.teds import teds

__all__ = [
    "PARSEVAL",
    "PLAIN",
    "BootstrapResult",
    "BracketCounts",
    "Convention",
    "McNemarResult",
    "ParsevalResult",
    "RelationScores",
    "RoleScores",
    "Score",
    "TTestResult",
    "align_words",
    "best_of_group",
    "bracket_counts",
    "candidate_scores",
    "constituents",
    "kendall_tau_b",
    "kendall_tau_by_group",
    "labelled_f1",
    "link_f1",
    "mcnemar",
    "mean_kendall_tau",
    "oracle",
    "paired_bootstrap",
    "paired_t_test",
    "parse_score",
    "parseval",
    "relative_improvement",
    "role_scores",
    "semeval_scores",
    "teds",
    "tree_scores",
]
