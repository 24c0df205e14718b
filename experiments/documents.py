"""Temporary: old names of the shared modules."""

from __future__ import annotations

from experiments.evaluation import balanced_folds  # noqa: F401
from experiments.evaluation import draw_documents as drawn_documents  # noqa: F401
from experiments.evaluation import rows_of_documents as rows_of  # noqa: F401
