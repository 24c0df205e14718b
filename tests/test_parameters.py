"""Every parameter of every kernel, distance and estimator reads back the value that was passed."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from sklearn.base import BaseEstimator

import treelet as tl
from cases import VECTORS
from treelet import edits, kernels, learn
from treelet.kernels.pairwise import Pairwise

KERNEL, DISTANCE = tl.SubsetTree(lam=0.3), tl.EditDistance(insert=0.5)
VALUES: dict[str, list[Any]] = {  # the first value that differs from the default is passed
    "C": [2.5],
    "alpha": [2.5],
    "alphas": [[0.5, 2.0]],
    "basis": [7],
    "cache_size": [50],
    "class_weight": ["balanced"],
    "coef0": [0.75],
    "column": [["width", "height"]],
    "degree": [3],
    "delete": [0.75],
    "depth": [3],
    "distance": [DISTANCE],
    "dtype": ["float64"],
    "epochs": [3],
    "epsilon": [0.25],
    "exact": [100],
    "factor": [2.5],
    "factor_bounds": ["fixed"],
    "gamma": [0.25],
    "insert": [0.75],
    "kernel": [KERNEL],
    "lam": [0.25],
    "lam_bounds": [(0.1, 0.9)],
    "leaves": [True, False],
    "length": [3],
    "match": ["count"],
    "max_depth": [2],
    "nodes": ["leaves"],
    "word": [str.upper],
    "max_iter": [77],
    "memory": ["1GiB"],
    "min_trees": [2],
    "model": [tl.KernelSVC(KERNEL)],
    "first": ["a"],
    "second": ["b"],
    "mu": [0.25],
    "mu_bounds": ["fixed"],
    "n": [50],
    "n_components": [11],
    "n_jobs": [2],
    "n_neighbors": [3],
    "norm": ["l2"],
    "pairs": ["all"],
    "prediction": ["voted"],
    "random_state": [5],
    "rename": [0.75],
    "sampling": ["greedy"],
    "shrinking": [False],
    "shuffle": [True],
    "sigma": [2.5],
    "sigma_bounds": ["fixed"],
    "size": [3],
    "solver": ["cg"],
    "terminal_factor": [0.5],
    "theta": [0.25],
    "threshold": [0.3],
    "tol": [1e-4],
    "value": [2.5],
    "value_bounds": ["fixed"],
    "vectors": [VECTORS],
    "weights": [{"words": 0.5}],
    "window": [5],
}
CLASSES = [
    value
    for package in (kernels, edits, learn)
    for value in (getattr(package, name) for name in package.__all__)
    if isinstance(value, type) and issubclass(value, (Pairwise, BaseEstimator)) and not inspect.isabstract(value)
]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_parameters_read_back_what_was_passed(kind: Any) -> None:
    if issubclass(kind, kernels.algebra._Combined):
        passed: dict[str, Any] = {"syntax": KERNEL, "shape": tl.PartialTree(mu=0.2)}
    else:
        parameters = inspect.signature(kind).parameters.values()
        passed = {p.name: next(value for value in VALUES[p.name] if value != p.default) for p in parameters}
    owner = kind(**passed)
    assert {name: getattr(owner, name) for name in passed} == passed
    assert owner.get_params(deep=False) == passed
    assert {name: owner.get_params()[name] for name in passed} == passed
    for name, value in passed.items():
        owner.set_params(**{name: value})
        assert getattr(owner, name) is value
