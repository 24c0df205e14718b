"""Temporary: old names of `baselines`."""

from __future__ import annotations

from experiments.baselines import describe_ngrams as told  # noqa: F401
from experiments.baselines import ngram_scores as fitted_values  # noqa: F401
from experiments.baselines import predict_ngrams as fitted_answers  # noqa: F401
from experiments.baselines import tune_ngrams as choose  # noqa: F401
