"""Tables: examples with named parts."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.svm import SVC
from sklearn.utils import _safe_indexing

import treelet as tl

TREES = ["(A x)", "(A y)", None, "(B (A x))"]


def table() -> tl.structures.Table:
    return tl.structures.Table(
        {
            "tree": tl.Treebank(TREES),
            "matrix": np.arange(8.0).reshape(4, 2),
            "sparse": scipy.sparse.coo_matrix(np.eye(4)),
            "text": ("a", "b", "c", "d"),
            "number": [1, 2, 3, 4],
        }
    )


def test_what_a_table_holds() -> None:
    t = table()
    assert (len(t), t.shape) == (4, (4,))
    assert t.names == ["tree", "matrix", "sparse", "text", "number"]
    assert "tree" in t
    assert "path" not in t
    assert t["text"] == ["a", "b", "c", "d"]
    assert t["tree"].strings() == ["(A x)", "(A y)", "", "(B (A x))"]
    np.testing.assert_array_equal(t["matrix"], np.arange(8.0).reshape(4, 2))
    assert repr(t) == "<Table: 4 rows of ['tree', 'matrix', 'sparse', 'text', 'number']>"


def test_one_row_is_a_dict() -> None:
    for index in (1, np.int64(1), -3):
        row = table()[index]
        assert list(row) == table().names
        assert str(row["tree"]) == "(A y)"
        assert row["matrix"].tolist() == [2, 3]
        assert (row["text"], row["number"]) == ("b", 2)
    assert [row["text"] for row in table()] == ["a", "b", "c", "d"]
    assert table()[2]["tree"] is None


ROWS = [
    (slice(1, 3), [1, 2]),
    (slice(None, None, -1), [3, 2, 1, 0]),
    ([3, 0, 0], [3, 0, 0]),
    (np.array([-1, 1]), [3, 1]),
    (np.array([True, False, True, False]), [0, 2]),
    ([False, True, False, False], [1]),
    ((np.array([2, 1]), Ellipsis), [2, 1]),
    ((slice(2), Ellipsis), [0, 1]),
    ([], []),
    (slice(0, 0), []),
]


@pytest.mark.parametrize(("index", "rows"), ROWS, ids=[str(index) for index, _ in ROWS])
def test_rows_of_every_column(index: Any, rows: list[int]) -> None:
    part = table()[index]
    assert isinstance(part, tl.structures.Table)
    assert len(part) == len(rows)
    assert part["number"] == [row + 1 for row in rows]
    assert part["text"] == ["abcd"[row] for row in rows]
    assert part["tree"].strings() == [TREES[row] or "" for row in rows]
    np.testing.assert_array_equal(part["matrix"], np.arange(8.0).reshape(4, 2)[rows])
    np.testing.assert_array_equal(part["sparse"].toarray(), np.eye(4)[rows])


@pytest.mark.parametrize("index", [4, -5, [0, 4], [True, False], (0, 1), (0, Ellipsis, 1)])
def test_rows_that_are_not_there(index: Any) -> None:
    with pytest.raises(IndexError):
        table()[index]


@pytest.mark.parametrize("index", [1.0, [0.5], [[0, 1]], None])
def test_what_is_no_index(index: Any) -> None:
    with pytest.raises(tl.errors.InputTypeError, match="a Table is indexed by"):
        table()[index]


def test_lengths_must_agree() -> None:
    with pytest.raises(tl.errors.ParameterError, match=r"of one length; these have \{'a': 2, 'b': 3\}"):
        tl.structures.Table({"a": [1, 2], "b": np.zeros((3, 5))})


@pytest.mark.parametrize(
    ("columns", "kind", "message"),
    [
        ({"a": "text"}, tl.errors.InputTypeError, "'a' is one str"),
        ({"a": 3}, tl.errors.InputTypeError, "'a' is one int"),
        ({"a": {"b": 1}}, tl.errors.InputTypeError, "'a' is one dict"),
        ({"a": np.array(3)}, tl.errors.InputTypeError, "'a' is an array without a dimension"),
        ({None: [1]}, tl.errors.ParameterError, "Got None instead"),
        ([1, 2], tl.errors.InputTypeError, "mapping of names to columns, got list"),
    ],
)
def test_columns_that_are_none(columns: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        tl.structures.Table(columns)


def test_from_dicts() -> None:
    t = tl.structures.Table.from_any([{"a": 1, "b": None}, {"a": 2, "c": 3}])
    assert t.names == ["a", "b", "c"]
    assert t["a"] == [1, 2]
    assert t[1] == {"a": 2, "c": 3}
    assert t[0] == {"a": 1, "b": None}
    with pytest.raises(tl.errors.ParameterError, match=r"row 1 has no 'b'; it has \['a', 'c'\]"):
        t["b"]
    assert t[[0]]["b"] == [None]
    again = pickle.loads(pickle.dumps(t))
    with pytest.raises(tl.errors.ParameterError, match=r"row 0 has no 'c'; it has \['a', 'b'\]"):
        again["c"]
    with pytest.raises(tl.errors.ParameterError, match=r"no column 'd'; there are \['a', 'b', 'c'\]"):
        t["d"]
    assert len(tl.structures.Table.from_any([])) == 0
    assert len(tl.structures.Table.from_any([{}, {}])) == 2


def test_from_a_frame() -> None:
    frame = pd.DataFrame(
        {
            "text": ["(A x)", None, "(B y)"],
            "objects": pd.array([tl.Tree("A", ["x"]), None, float("nan")], dtype=object),
            "new": pd.array(["(A x)", pd.NA, "(B y)"], dtype="string"),
            "number": [1, 2, 3],
            7: [0.5, np.nan, 1],
        },
        index=[5, 5, 9],
    )
    t = tl.structures.Table.from_any(frame)
    assert t.names == ["text", "objects", "new", "number", 7]
    assert t["text"] == t["new"] == ["(A x)", None, "(B y)"]
    assert t["objects"][1:] == [None, None]
    np.testing.assert_array_equal(t["number"], [1, 2, 3])
    np.testing.assert_array_equal(t.column(7), [0.5, np.nan, 1])
    assert tl.structures.Table.from_any(frame[[]]).shape == (3,)
    for name in ("text", "objects", "new"):
        K = tl.On(name, tl.SubsetTree())(frame)
        assert K[0, 0] > 0
        assert K[1, 1] == 0
    with pytest.raises(tl.errors.ParameterError, match="row 1 has nan"):
        tl.On(7, tl.Linear())(frame)
    with pytest.raises(tl.errors.ParameterError, match="occurs twice"):
        tl.structures.Table.from_any(pd.concat([frame, frame], axis=1))


def test_from_others() -> None:
    t = table()
    assert tl.structures.Table.from_any(t) is t
    assert tl.structures.Table.from_any(t, ["text"]).names == ["text"]
    with pytest.raises(tl.errors.ParameterError, match="no column 'path'"):
        tl.structures.Table.from_any(t, columns=["path"])
    records = np.array([(1, "(A x)"), (2, "(B x)")], dtype=[("n", int), ("tree", "U9")])
    assert tl.structures.Table.from_any(records)["tree"] == ["(A x)", "(B x)"]
    np.testing.assert_array_equal(tl.structures.Table.from_any(records.view(np.recarray))["n"], [1, 2])
    assert tl.structures.Table.from_any({"a": [1, 2]})[1] == {"a": 2}
    with pytest.raises(tl.errors.InputTypeError, match="one dimension, this one has 2"):
        tl.structures.Table.from_any(records[None])


def test_pickles_with_what_kernels_made() -> None:
    kernel = tl.On("tree", tl.SubsetTree()) + tl.On("sparse", tl.Linear())
    t = kernel.coerce(table())
    again = pickle.loads(pickle.dumps(t))
    assert again.names == t.names
    assert kernel.coerce(again) is again
    np.testing.assert_array_equal(kernel(again), kernel(t))


def test_the_column_stays_as_it_was_given() -> None:
    t = tl.structures.Table({"tree": TREES})
    tl.On("tree", tl.SubsetTree())(t)
    assert t["tree"] == TREES


def test_scikit_learn_takes_rows_of_a_table() -> None:
    t = table()
    assert _safe_indexing(t, np.array([2, 0]))["text"] == ["c", "a"]
    assert _safe_indexing(t, np.array([True, False, False, True]))["text"] == ["a", "d"]
    assert _safe_indexing(t, [1])["text"] == ["b"]
    kernel = tl.On("tree", tl.SubsetTree()) + tl.On("matrix", tl.Linear())

    class Model(ClassifierMixin, BaseEstimator):
        def fit(self, X: tl.structures.Table, y: Any) -> Any:
            self.rows_, self.classes_ = X, np.unique(y)
            self.svc_ = SVC(kernel="precomputed").fit(kernel(X), y)
            return self

        def predict(self, X: tl.structures.Table) -> Any:
            return self.svc_.predict(kernel(X, self.rows_))

    examples = tl.structures.Table(
        {"tree": ["(A x)", "(B y)"] * 6, "matrix": np.tile([[1.0, 0.0], [0.0, 1.0]], (6, 1))}
    )
    y = np.array([0, 1] * 6)
    found = cross_val_predict(Model(), examples, y, cv=KFold(3))
    np.testing.assert_array_equal(found, y)


# --- files ------------------------------------------------------------------------------------------------------


def test_one_tree_a_row_is_a_treebank() -> None:
    X, y = tl.read_examples(io.StringIO("good\t(A x)\nbad\t(B y)\n"), "tsv")
    assert isinstance(X, tl.Treebank)
    assert X.strings() == ["(A x)", "(B y)"]
    assert y == ["good", "bad"]
    X, y = tl.read_examples(io.StringIO("(A x) (B y)"), root="TOP")
    assert isinstance(X, tl.Treebank)
    assert y is None


def test_several_parts_a_row_are_a_table() -> None:
    text = "+1 |BT| (A x) |BT| (B y) |ET| 1:0.5 3:2 |EV|\n-1 |BT| (A x) |ET| 3:1 |EV|\n"
    X, y = tl.read_examples(io.StringIO(text), "svmlight_tk")
    assert isinstance(X, tl.structures.Table)
    assert y == ["1", "-1"]
    first, second, vector = X.names
    kernel = tl.On(first, tl.SubsetTree(lam=1)) + tl.On(second, tl.SubsetTree(lam=1)) + tl.On(vector, tl.Linear())
    np.testing.assert_array_equal(kernel(X), [[2 + 4.25, 1 + 2], [1 + 2, 1 + 1]])


def test_vectors_alone_are_a_table() -> None:
    X, y = tl.read_examples(io.StringIO("1 1:2\n0 1:3 2:1\n"), "svmlight_tk")
    assert isinstance(X, tl.structures.Table)
    assert y == ["1", "0"]
    np.testing.assert_array_equal(tl.On(X.names[0], tl.Linear())(X), [[4, 6], [6, 10]])


def test_names_that_clash() -> None:
    text = "a |BT:part| (A x) |ET| |BV:part| f:1 |EV|\n"
    with pytest.raises(tl.errors.FormatError, match="'part' names both trees and something else"):
        tl.read_examples(io.StringIO(text), "kelp")
