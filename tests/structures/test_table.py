"""Tables: examples with named parts."""

from __future__ import annotations

import io
import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
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
    assert repr(t) == "<Table: 4 rows of 'tree', 'matrix', 'sparse', 'text', 'number'>"


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


def words_table(form: Any) -> tl.structures.Table:
    """Return trees with a column of word counts. The last text is empty."""
    words = scipy.sparse.csr_matrix([[1, 0, 2, 0], [0, 3, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    return tl.structures.Table({"tree": ["(A x)", "(A y)", "(B x)", "(B (A y))"], "words": form(words)})


@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csr_array, lambda matrix: matrix.toarray()])
def test_a_row_with_a_vector_is_an_example(form: Any) -> None:
    X = words_table(form)
    rows = [X[number] for number in range(len(X))]
    kernel = tl.On("tree", tl.SubsetTree()) + tl.On("words", tl.Linear())
    model = tl.KernelSVC(kernel).fit(X, [0, 1, 0, 1])
    np.testing.assert_array_equal(kernel(rows, X), kernel(X))
    np.testing.assert_array_equal(kernel(tl.structures.Table.from_any(rows)), kernel(X))
    assert model.predict([rows[3]]) == model.predict(X)[3:]
    assert tl.explain(model, rows[0], 1).score == pytest.approx(model.decision_function(X)[0])
    mixed = [rows[0], {"tree": "(A x)", "words": [0, 3, 0, 0]}, {"tree": "(A x)", "words": np.array([1, 1, 0, 0])}]
    np.testing.assert_array_equal(tl.On("words", tl.Linear())(mixed), tl.On("words", tl.Linear())(X[:3]))
    joined = tl.On(["words", "size"], tl.Linear())([{**rows[0], "size": 3}, {**rows[1], "size": 1}])
    np.testing.assert_array_equal(joined, [[14, 3], [3, 10]])
    with pytest.raises(tl.errors.ParameterError, match="row 0 has 4 and row 1 has 2"):
        kernel([rows[0], {"tree": "(A x)", "words": [1, 2]}])
    with pytest.raises(tl.errors.ParameterError, match="4 features"):
        model.predict([{"tree": "(A x)", "words": [1, 2]}])


def test_sparse_rows_that_are_not_vectors() -> None:
    matrix = scipy.sparse.csr_matrix([[1.0, 2.0], [3.0, np.nan]])
    with pytest.raises(tl.errors.ParameterError, match="Row 1 is a sparse matrix with 2 rows"):
        tl.Linear()([matrix[0], matrix])
    with pytest.raises(tl.errors.ParameterError, match="Feature 1 of row 1 is nan"):
        tl.Linear()([matrix[0], matrix[1]])


def test_a_row_of_a_frame_or_a_record_array_is_an_example() -> None:
    frame = pd.DataFrame({"tree": ["(A x)", None, "(B x)"], "a": [1, 2, 0], "b": [0.0, 0.5, 2.0]})
    thin = frame.astype({"a": pd.SparseDtype(float, 0.0)})
    records = np.array([("(A x)", 1, 0.0), (None, 2, 0.5)], dtype=[("tree", object), ("a", int), ("b", float)])
    kernel = tl.On("tree", tl.SubsetTree()) + tl.On(["a", "b"], tl.Linear())
    wanted = kernel(frame)
    for rows in ([frame.iloc[0], frame.iloc[1]], [thin.iloc[0], thin.iloc[1]], [records[0], records[1]]):
        np.testing.assert_array_equal(kernel(rows, frame), wanted[:2])


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
    with pytest.raises(tl.errors.InputTypeError, match=f"index of a Table.*{re.escape(repr(index))}"):
        table()[index]


def test_lengths_must_agree() -> None:
    with pytest.raises(tl.errors.ParameterError, match="but 'a' has 2 rows, 'b' has 3 rows"):
        tl.structures.Table({"a": [1, 2], "b": np.zeros((3, 5))})


@pytest.mark.parametrize(
    ("columns", "kind", "message"),
    [
        ({"a": "text"}, tl.errors.InputTypeError, "column 'a' is a str, but a list"),
        ({"a": 3}, tl.errors.InputTypeError, "column 'a' is an int, but a list"),
        ({"a": {"b": 1}}, tl.errors.InputTypeError, "column 'a' is a dict, but a list"),
        ({"a": np.array(3)}, tl.errors.InputTypeError, "array without dimensions"),
        ({None: [1]}, tl.errors.ParameterError, "Got None instead"),
        ([1, 2], tl.errors.InputTypeError, "Table needs a mapping from names"),
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
    with pytest.raises(tl.errors.ParameterError, match=r"Row 1 has no value.*Its keys are 'a', 'c'"):
        t["b"]
    assert t[[0]]["b"] == [None]
    again = pickle.loads(pickle.dumps(t))
    with pytest.raises(tl.errors.ParameterError, match=r"Row 0 has no value.*Its keys are 'a', 'b'"):
        again["c"]
    with pytest.raises(tl.errors.ParameterError, match="'a', 'b', 'c'"):
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
    with pytest.raises(tl.errors.ParameterError, match=r"Feature 0 of row 1.*nan, but feature values must be finite"):
        tl.On(7, tl.Linear())(frame)
    with pytest.raises(tl.errors.ParameterError, match="'text', 'objects', 'new', 'number', 7"):
        tl.structures.Table.from_any(pd.concat([frame, frame], axis=1))


def test_from_others() -> None:
    t = table()
    assert tl.structures.Table.from_any(t) is t
    assert tl.structures.Table.from_any(t, ["text"]).names == ["text"]
    with pytest.raises(tl.errors.ParameterError, match="There is no column 'path'"):
        tl.structures.Table.from_any(t, columns=["path"])
    records = np.array([(1, "(A x)"), (2, "(B x)")], dtype=[("n", int), ("tree", "U9")])
    assert tl.structures.Table.from_any(records)["tree"] == ["(A x)", "(B x)"]
    np.testing.assert_array_equal(tl.structures.Table.from_any(records.view(np.recarray))["n"], [1, 2])
    assert tl.structures.Table.from_any({"a": [1, 2]})[1] == {"a": 2}
    with pytest.raises(
        tl.errors.InputTypeError, match=r"record array must have one dimension.*Got 2 dimensions instead"
    ):
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


# --- one column, several columns, missing trees ----------------------------------------------------------------------

FRAME = pd.DataFrame(
    {"tree": ["(A x)", "(B y)", "(B (A x))"], "n": [1, 2, 3], "q": [0.5, 0.0, 1.0], "text": list("uvw")}
)
CELLS = {
    "trees": (tl.SubsetTree(), ["(A x)", "(B (A x))", "(A x)"]),
    "forests": (tl.ForestKernel(), ["(A x)", "(B (A x))", "(A x)"]),
    "tagged": (tl.Tagging(), ["a/X b/Y", "a/X", "b/Y"]),
    "sequences": (tl.Subsequence(), [["a", "b"], ["a", "b", "c"], ["b"]]),
    "locality": (tl.Locality(), [["a", "b"], ["a", "b", "c"], ["b"]]),
    "bags": (tl.Bag(tl.SubsetTree()), [["(A x)"], ["(A x)", "(B y)"], []]),
    "a sum": (tl.SubsetTree() + tl.PartialTree(), ["(A x)", "(B (A x))", "(A x)"]),
}


def objects(cells: list[Any]) -> np.ndarray[Any, Any]:
    out = np.empty((len(cells), 1), dtype=object)
    out[:, 0] = cells
    return out


@pytest.mark.parametrize(("kernel", "cells"), CELLS.values(), ids=CELLS)
def test_one_column_is_a_column(kernel: tl.kernels.Kernel, cells: list[Any]) -> None:
    K = kernel(cells)
    frame = pd.DataFrame({"only": cells})
    for held in (frame, objects(cells), tl.structures.Table({"only": cells}), frame["only"]):
        np.testing.assert_array_equal(kernel(held), K)
        np.testing.assert_array_equal(kernel(held, held), K)
    labels = [0, 1, 1]
    fitted = tl.KernelSVC(kernel).fit(frame, labels)
    np.testing.assert_array_equal(fitted.decision_function(objects(cells)), fitted.decision_function(cells))
    message = "columns 'only', 'other'"
    for several in (frame.assign(other=1), tl.structures.Table({"only": cells, "other": cells})):
        with pytest.raises(tl.errors.InputTypeError, match=message):
            kernel(several)
        with pytest.raises(tl.errors.InputTypeError, match=message):
            tl.KernelSVC(kernel).fit(several, labels)


def test_very_many_names_are_not_all_said() -> None:
    wide = pd.DataFrame(np.zeros((2, 3000)))
    for work in (
        lambda: tl.SubsetTree()(wide),
        lambda: tl.SubsetTree()(dict(enumerate(["(A x)"] * 3000))),
        lambda: tl.On("tree", tl.SubsetTree())(wide),
        lambda: tl.On("tree", tl.SubsetTree())(
            [{**dict.fromkeys(range(3000)), "tree": "(A x)"}, dict.fromkeys(range(3000))]
        ),
    ):
        with pytest.raises(tl.TreeletError, match="18, 19 and 2,980 more") as error:
            work()
        assert len(str(error.value)) < 400
    assert repr(tl.structures.Table.from_any(wide)).endswith("19 and 2,980 more>")


def test_rows_with_names_are_told_of_on() -> None:
    for kernel in (tl.SubsetTree(), tl.ForestKernel(), tl.Bag(tl.SubsetTree())):
        with pytest.raises(tl.errors.InputTypeError, match=r"with the keys 'tree', 'n'|Bag 0 is a dict"):
            kernel(FRAME[["tree", "n"]].to_dict("records"))


def test_arrays_of_several_columns_are_refused() -> None:
    with pytest.raises(tl.errors.InputTypeError, match=r"must have one dimension or one column.*shape is \(3, 2\)"):
        tl.SubsetTree()(FRAME[["tree", "text"]].to_numpy())
    many = np.array([["(A x)", "(B y)"], ["(A x)", "(A x)"]], dtype=object)  # two bags of two trees each
    np.testing.assert_array_equal(tl.Bag(tl.Subtree())(many), [[2, 2], [2, 4]])
    np.testing.assert_array_equal(tl.Bag(tl.Subtree())(many[:, :1]), [[1, 1], [1, 1]])


NOTHING = [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT]


@pytest.mark.parametrize("nothing", NOTHING, ids=[type(value).__name__ for value in NOTHING])
@pytest.mark.parametrize(("kernel", "cells"), CELLS.values(), ids=CELLS)
def test_missing_examples_in_every_form(kernel: tl.kernels.Kernel, cells: list[Any], nothing: Any) -> None:
    cells = [cells[0], None, *cells[1:]]
    K, labels = kernel(cells), [0, 1, 0, 1]
    assert K[1].any() == K[:, 1].any() == False  # noqa: E712
    expected = tl.KernelSVC(kernel.normalized()).fit(cells, labels).decision_function(cells)
    column = [nothing if cell is None else cell for cell in cells]
    series = pd.Series(column, dtype=object)
    named = tl.On("x", kernel)
    for held in (column, series, pd.DataFrame({"x": series}), objects(column)):
        np.testing.assert_array_equal(kernel(held), K)
        fitted = tl.KernelSVC(kernel.normalized()).fit(held, labels)
        np.testing.assert_array_equal(fitted.decision_function(held), expected)
    for held in ([{"x": cell} for cell in column], tl.structures.Table({"x": column}), pd.DataFrame({"x": series})):
        np.testing.assert_array_equal(named(held), K)


def test_a_column_in_which_all_is_missing() -> None:
    frame = pd.DataFrame({"tree": [np.nan, np.nan], "n": [1.0, np.nan]})  # floats, to pandas
    for K in (tl.SubsetTree()(frame["tree"]), tl.SubsetTree()(frame[["tree"]]), tl.On("tree", tl.SubsetTree())(frame)):
        np.testing.assert_array_equal(K, np.zeros((2, 2)))
    with pytest.raises(tl.errors.InputTypeError, match=r"column 'n': Item 0 is a float64.*, but a tree is needed\."):
        tl.On("n", tl.SubsetTree())(frame)


SEVERAL = {
    "frame": FRAME,
    "dicts": FRAME.to_dict("records"),
    "table": tl.structures.Table({"n": np.array([1, 2, 3]), "q": [0.5, 0.0, 1.0]}),
    "columns": {"n": scipy.sparse.csr_matrix([[1], [2], [3]]), "q": np.array([[0.5], [0.0], [1.0]])},
}


@pytest.mark.parametrize("X", SEVERAL.values(), ids=SEVERAL)
def test_several_columns_are_one_matrix(X: Any, tmp_path: Any) -> None:
    matrix = FRAME[["n", "q"]].to_numpy(float)
    np.testing.assert_array_equal(tl.On(["n", "q"], tl.Linear())(X), matrix @ matrix.T)
    np.testing.assert_array_equal(tl.On(["n"], tl.Linear())(X), tl.On("n", tl.Linear())(X))
    kernel = tl.On(("q", "n"), tl.Linear().gaussian(2.0)) + tl.On("n", tl.Linear()) + tl.On(["n", "q"], tl.Linear())
    fitted = tl.KernelSVC(kernel).fit(X, [0, 1, 1])
    scores = fitted.decision_function(X)
    tl.save(fitted, tmp_path / "m")
    np.testing.assert_array_equal(tl.load(tmp_path / "m").decision_function(X), scores)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).decision_function(X), scores)
    table = tl.On(["n", "q"], tl.Linear()).coerce(X)
    np.testing.assert_array_equal(tl.On(["n", "q"], tl.Linear())(table[[2, 0]]), (matrix @ matrix.T)[[2, 0]][:, [2, 0]])


@pytest.mark.parametrize(
    ("columns", "values", "kind", "message"),
    [
        (
            ["n", "text"],
            None,
            tl.errors.InputTypeError,
            "column 'text': Row 0 contains a str, 'u', but numbers are needed.",
        ),
        (
            ["n", "tree"],
            None,
            tl.errors.InputTypeError,
            "column 'tree': Row 0 contains a str, '(A x)', but numbers are needed.",
        ),
        (
            ["n", "path"],
            None,
            tl.errors.ParameterError,
            "There is no column 'path'. The columns are 'tree', 'n', 'q', 'text'.",
        ),
        (
            ["n", "q"],
            [1, None, 2],
            tl.errors.ParameterError,
            "column 'q': Feature 0 of row 1 is nan, but feature values must be finite.",
        ),
        (
            ["n", "q"],
            [{}, {}, {}],
            tl.errors.InputTypeError,
            "The column 'q' contains dicts, but only columns of numbers can be joined into a matrix.",
        ),
        (
            ["n", "q"],
            [[1], [1, 2], [3]],
            tl.errors.ParameterError,
            "column 'q': All rows must have the same number of features, but row 0 has 1 and row 1 has 2.",
        ),
    ],
)
def test_columns_that_are_no_numbers(columns: Any, values: Any, kind: type[Exception], message: str) -> None:
    frame = FRAME if values is None else FRAME.assign(q=values)
    with pytest.raises(kind) as error:
        tl.On(columns, tl.Linear())(frame)
    assert message in str(error.value)


@pytest.mark.parametrize("column", [[], ["a", "a"], [True], [None], {"a"}, 1.5])
def test_names_that_are_none(column: Any) -> None:
    with pytest.raises(tl.errors.ParameterError, match=r"'column'.*list of different column names"):
        tl.On(column, tl.Linear())


def test_a_pipeline_that_loses_names_is_told_how_to_keep_them() -> None:
    model = tl.KernelSVC(tl.On("tree", tl.SubsetTree()))
    kept: Any = ColumnTransformer([("keep", "passthrough", ["tree", "n"])])
    with pytest.raises(tl.errors.InputTypeError, match=r"has no column names.*ColumnTransformer"):
        make_pipeline(kept, model).fit(FRAME, [0, 1, 1])
    with pytest.raises(tl.errors.ParameterError, match=r"'keep__tree', 'keep__n'.*ColumnTransformer"):
        make_pipeline(kept.set_output(transform="pandas"), model).fit(FRAME, [0, 1, 1])
    kept = ColumnTransformer([("keep", "passthrough", ["tree", "n"])], verbose_feature_names_out=False)
    fitted = make_pipeline(kept.set_output(transform="pandas"), model).fit(FRAME, [0, 1, 1])
    assert fitted.predict(FRAME).shape == (3,)


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
    with pytest.raises(tl.errors.FormatError, match="name 'part' is used for trees"):
        tl.read_examples(io.StringIO(text), "kelp")


def test_columns_are_returned_by_name() -> None:
    text = "yes |BT:ct| (S (A a)) |ET|\nno |BT:ct| (S (B b)) |ET|\n"
    bank, labels = tl.read_examples(io.StringIO(text), "kelp")
    X, again = tl.read_examples(io.StringIO(text), "kelp", columns="ct")
    assert (X.names, again) == (["ct"], labels)
    np.testing.assert_array_equal(tl.On("ct", tl.SubsetTree())(X), tl.SubsetTree()(bank))
    more = text.replace("|ET|", "|ET| |BV:v| a:1 |EV|")
    assert tl.read_examples(io.StringIO(more), "kelp")[0].names == ["ct", "v"]
    assert tl.read_examples(io.StringIO(more), "kelp", columns=["v"])[0].names == ["v"]
    blocks = list(tl.iter_examples(io.BytesIO(b"yes\t(A x)\nno\t(A y)\n"), "tsv", block=1, columns=["tree"]))
    assert [block.names for block, _ in blocks] == [["tree"], ["tree"]]
    with pytest.raises(tl.errors.ParameterError, match=r"There is no column 'cat'\. The only column is 'ct'"):
        tl.read_examples(io.StringIO(text), "kelp", columns="cat")
    for none in ([], 3):
        with pytest.raises(tl.errors.ParameterError, match=r"'columns' .* the name of a column or a list of names"):
            tl.read_examples(io.StringIO(text), "kelp", columns=none)  # type: ignore[arg-type]


@pytest.mark.parametrize(("format", "text"), [("svmlight_tk", "1\n-1\n"), ("kelp", "deed\nthing\n")])
def test_labels_alone_are_no_examples(format, text):
    with pytest.raises(tl.errors.FormatError, match="file contains only labels"):
        tl.read_examples(io.StringIO(text), format)


# --- threads ------------------------------------------------------------------------------------------------------


class Converting(list[str]):
    """A converted column. While it is read, another thread converts one more column of the table."""

    table: tl.structures.Table

    def __getitem__(self, rows: Any) -> Any:
        self.convert()
        return super().__getitem__(rows)

    def __reduce__(self) -> Any:
        self.convert()
        return list, (list(self),)

    def convert(self) -> None:
        self.table.coerced("tree", lambda column: [*column])
        self.table.coerced("number", lambda column: [*column])


def test_threads_may_convert_columns_of_a_table_that_is_read() -> None:
    read: dict[str, Any] = {
        "selected": lambda shared: shared[:2],
        "pickled": lambda shared: pickle.loads(pickle.dumps(shared)),
        "listed": lambda shared: [form.convert() for form in shared.forms() if isinstance(form, Converting)],
    }
    for use in read.values():
        shared = table()
        shared.coerced("text", Converting).table = shared
        assert len(use(shared)) in (1, 2, 4)
        assert list(shared._forms) == ["text", "tree", "number"]
