"""Temporary: old names of the shared modules."""

from __future__ import annotations

from experiments.evaluation import bootstrap_difference as over_items  # noqa: F401
from experiments.evaluation import bootstrap_score as value_over_items  # noqa: F401
from experiments.evaluation import compare as across  # noqa: F401
from experiments.evaluation import compare_mcnemar as mcnemar_row  # noqa: F401
from experiments.evaluation import count_rows as counted  # noqa: F401
from experiments.evaluation import holm  # noqa: F401
from experiments.evaluation import mean_score as summary  # noqa: F401
from experiments.evaluation import mean_std as spread  # noqa: F401
from experiments.evaluation import score_interval as level  # noqa: F401
from experiments.evaluation import score_items as figure  # noqa: F401
from experiments.evaluation import split_items as part  # noqa: F401
