"""Labels, values, groups and weights that are missing, infinite or complex are refused wherever they are given."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treelet as tl
from treelet.learn import RLS, KernelSVR, RankSVM, VotedPerceptron
from treelet.learn.selection import select
from treelet.metrics import best_of_group, mean_kendall_tau

TREES = ["(A (B x) (C y))", "(D (B x))", "(A (B z))", "(D (E x))"]
LABELS, VALUES = ["a", "b", "b", "a"], [1.0, 2.0, 3.0, 4.0]
NAN = float("nan")

MISSING = {
    "NaN among texts": ["a", NAN, "b", "a"],
    "NaN among texts, a tuple": ("a", NAN, "b", "a"),
    "NaN in a column": [["a"], [NAN], ["b"], ["a"]],
    "None": ["a", None, "b", "a"],
    "pandas.NA": ["a", pd.NA, "b", "a"],
    "pandas object": pd.Series(["a", NAN, "b", "a"], dtype=object),
    "pandas string": pd.Series(["a", None, "b", "a"], dtype="string"),
    "pandas category": pd.Series(["a", None, "b", "a"], dtype="category"),
    "pandas boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "pandas Int64": pd.Series([1, None, 2, 1], dtype="Int64"),
    "DataFrame": pd.DataFrame({"y": ["a", pd.NA, "b", "a"]}),
    "NaT": pd.Series(pd.to_datetime(["2020-01-01", None, "2020-01-02", "2020-01-01"])),
    "masked": np.ma.array([1, 2, 1, 2], mask=[0, 1, 0, 0]),
    "masked texts": np.ma.array(["a", "b", "a", "b"], mask=[0, 1, 0, 0]),
    "NaN among numbers": [1, NAN, 2, 1],
    "a decimal NaN": [1, Decimal("NaN"), 2, 1],
}
NEEDED: dict[str, Callable[[Any], Any]] = {
    "y of KernelSVC": lambda y: tl.KernelSVC().fit(TREES, y),
    "y of KernelSVR": lambda y: KernelSVR().fit(TREES, y),
    "y of RankSVM": lambda y: RankSVM().fit(TREES, y, [0, 0, 1, 1]),
    "y of score": lambda y: tl.KernelSVC().fit(TREES, LABELS).score(TREES, y),
    "y of select": lambda y: select([tl.SubsetTree()], TREES, y, cv=2),
    "groups of RLS": lambda groups: RLS().fit(TREES, VALUES, groups),
    "groups of held_out": lambda groups: RLS().fit(TREES, VALUES).held_out(groups),
    "groups of select": lambda groups: select([tl.SubsetTree()], TREES, LABELS, groups=groups, cv=2),
    "qid of RankSVM": lambda qid: RankSVM().fit(TREES, VALUES, qid),
    "qid of partial_fit": lambda qid: VotedPerceptron().partial_fit(TREES, VALUES, qid),
    "qid of rank": lambda qid: RankSVM().fit(TREES, VALUES, [0, 0, 1, 1]).rank(TREES, qid),
    "sample_weight": lambda weights: tl.KernelSVC().fit(TREES, LABELS, weights),
}


@pytest.mark.parametrize("values", MISSING.values(), ids=MISSING)
@pytest.mark.parametrize("call", NEEDED.values(), ids=NEEDED)
def test_a_missing_label_is_neither_a_class_nor_a_group(call: Callable[[Any], Any], values: Any) -> None:
    with pytest.raises(tl.errors.ParameterError, match=r"1 missing value in total\)"):
        call(values)


@pytest.mark.parametrize("name", [name for name in MISSING if name not in ("NaN in a column", "DataFrame")])
def test_a_missing_group_of_a_metric_is_not_a_group(name: str) -> None:
    with pytest.raises(tl.errors.ParameterError, match=r"'qid' parameter .* Item 1"):
        mean_kendall_tau(VALUES, VALUES, MISSING[name])
    with pytest.raises(tl.errors.ParameterError, match=r"'qid' parameter .* Item 1"):
        best_of_group(VALUES, MISSING[name])


def test_missing_scores_of_a_metric() -> None:
    for scores in (np.ma.array(VALUES, mask=[0, 1, 0, 0]), [1.0, pd.NA, 2.0, 3.0], [1.0, NAN, 2.0, 3.0]):
        with pytest.raises(tl.errors.ParameterError, match=r"'scores' parameter .* Item 1"):
            best_of_group(scores, [0, 0, 1, 1])
    with pytest.raises(tl.errors.InputTypeError, match="numbers"):
        best_of_group(np.array([1j, 2, 3, 4]), [0, 0, 1, 1])


@pytest.mark.parametrize("name", ["y of KernelSVC", "y of KernelSVR", "y of RankSVM", "sample_weight"])
def test_complex_and_infinite_numbers_are_named_as_what_they_are(name: str) -> None:
    with pytest.raises(tl.errors.ParameterError, match=r"contains complex numbers \(complex128\)"):
        NEEDED[name]([1 + 1j, 2, 1 + 2j, 2])
    with pytest.raises(tl.errors.ParameterError, match=r"\[1\] is infinite.*Remove such examples from X"):
        NEEDED[name]([1.0, np.inf, 2.0, 1.0])


def test_several_outputs() -> None:
    values = np.array([[1, 2], [3, 4], [5, 6], [7, 8]], float)
    refused = {
        NAN: r"y\[1\] is missing \(None or NaN",
        np.inf: r"y\[1\] is infinite",
        1j: r"contains complex numbers \(complex128\)",
    }
    for wrong, message in refused.items():
        given = values.astype(type(wrong))
        given[1, 1] = wrong
        with pytest.raises(tl.errors.ParameterError, match=message):
            RLS().fit(TREES, given)
    with pytest.raises(tl.errors.ParameterError, match=r"y\[1\] is missing \(None or NaN"):
        RLS().fit(TREES, np.ma.array(values, mask=values == 4))
    with pytest.raises(tl.errors.ParameterError, match=r"y\[1\] is missing \(None or NaN"):
        RLS().fit(TREES, pd.DataFrame({"a": pd.Series([1, None, 2, 3], dtype="Int64"), "b": VALUES}))


def test_dates_are_not_numbers() -> None:
    with pytest.raises(tl.errors.ParameterError, match="y must contain one number per example"):
        RLS().fit(TREES, pd.to_datetime(["2020-01-01"] * 4))


def test_complete_labels_of_pandas_are_classes() -> None:
    assert tl.KernelSVC().fit(TREES, pd.Series(LABELS, dtype="string")).classes_.tolist() == ["a", "b"]
    assert tl.KernelSVC().fit(TREES, pd.Series([1, 2, 2, 1], dtype="Int64")).classes_.tolist() == [1, 2]
    assert tl.KernelSVC().fit(TREES, ["a", "nan", "b", "a"]).classes_.tolist() == ["a", "b", "nan"]
