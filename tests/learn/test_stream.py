"""A perceptron that goes through a file part by part learns what it would learn from all of it at once."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import treelet as tl
from conftest import round_trip
from treelet.learn import VotedPerceptron, whole_groups
from treelet.structures.table import stacked

WORDS = ["cat", "dog", "hen", "fox"]


def candidates(groups: int, seed: int = 0) -> tuple[list[str], list[float], list[int]]:
    """Parses of sentences, a group after the other; those are good in which A stands over D."""
    rng = np.random.default_rng(seed)
    trees, y, qid = [], [], []
    for group in range(groups):
        words = rng.choice(WORDS, 3)
        for _ in range(int(rng.integers(1, 6))):
            low, high = rng.choice(["A", "B"]), rng.choice(["C", "D"])
            trees.append(f"(S ({low} ({high} {words[0]})) (T ({rng.choice(['C', 'D'])} {words[1]}) (E {words[2]})))")
            y.append(round((low == "A") + (high == "D") + rng.normal(0, 0.3), 1) if group % 6 != 3 else 1.0)
            qid.append(group)
    return trees, y, qid


TREES, Y, QID = candidates(60)
NEW, _, NEW_QID = candidates(12, seed=1)


def parts(groups: int, *columns: Any) -> list[tuple[Any, ...]]:
    """Rows of so many groups at a time."""
    qid = np.array(QID)
    return [
        tuple([column[i] for i in np.flatnonzero((qid >= begin) & (qid < begin + groups))] for column in columns)
        for begin in range(0, qid.max() + 1, groups)
    ]


KERNELS: dict[str, tuple[Any, Any]] = {
    "sst": (tl.SubsetTree(0.4).normalized(), TREES),
    "sum": (tl.SubsetTree(0.3) + 0.5 * tl.PartialTree().normalized(), TREES),
    "no graph": (tl.SubsetTree(0.4).gaussian(2.0), TREES),
    "columns": (
        tl.On("tree", tl.SubsetTree()) + tl.On("n", tl.Linear()),
        [{"tree": tree, "n": [float(len(tree)), 1.0]} for tree in TREES],
    ),
}


@pytest.mark.parametrize("prediction", ["averaged", "voted", "last"])
@pytest.mark.parametrize("groups", [1, 7, 100])
@pytest.mark.parametrize("name", KERNELS)
def test_parts_give_what_all_at_once_gives(name: str, groups: int, prediction: str) -> None:
    kernel, examples = KERNELS[name]
    whole = VotedPerceptron(kernel, prediction=prediction).fit(examples, Y, QID)
    ranker = VotedPerceptron(kernel, prediction=prediction)
    for block, y, qid in parts(groups, examples, Y, QID):
        assert ranker.partial_fit(block, y, qid) is ranker
    for attribute in ("support_", "dual_coef_", "updates_", "survived_", "errors_", "update_counts_"):
        np.testing.assert_array_equal(getattr(ranker, attribute), getattr(whole, attribute), err_msg=attribute)
    assert (ranker.n_updates_, ranker.n_comparisons_) == (whole.n_updates_, whole.n_comparisons_)
    new = NEW if not isinstance(examples[0], dict) else [{"tree": tree, "n": [1.0, 2.0]} for tree in NEW]
    np.testing.assert_allclose(ranker.predict(new, NEW_QID), whole.predict(new, NEW_QID), rtol=1e-9, atol=1e-9)


def test_of_earlier_parts_only_the_weights_are_kept() -> None:
    ranker, most = VotedPerceptron(), 0
    for block, y, qid in parts(3, TREES, Y, QID):
        ranker.partial_fit(block, y, qid)
        used = np.unique(ranker.updates_)
        stream = ranker._stream
        assert stream is not None
        np.testing.assert_array_equal(stream.rows, used)
        assert len(stream.examples.columns.store) == len(tl.Treebank([TREES[row] for row in used]).columns.store)
        most = max(most, len(used))
    assert most < len(TREES) / 2


@pytest.mark.parametrize("block", [1, 13, 1000])
def test_from_a_file(block: int) -> None:
    rows = zip(Y, QID, TREES, strict=True)
    text = "".join(f"{goodness}\t{group}\t{tree}\n" for goodness, group, tree in rows).encode()
    options = {"label_column": 0, "query_column": 1, "tree_column": 2}
    kernel = tl.On("tree", tl.SubsetTree())
    found = tl.structures.iter_examples(io.BytesIO(text), "tsv", block=block, **options)
    ranker = VotedPerceptron(kernel)
    for X, y, qid in whole_groups((X, [float(value) for value in y or []], X["qid"]) for X, y in found):
        ranker.partial_fit(X, y, qid)
    whole = VotedPerceptron(kernel).fit([{"tree": tree} for tree in TREES], Y, QID)
    np.testing.assert_array_equal(ranker.dual_coef_, whole.dual_coef_)
    new = [{"tree": tree} for tree in NEW]
    np.testing.assert_allclose(ranker.predict(new), whole.predict(new), rtol=1e-9)


def test_it_goes_on_after_a_pickle(tmp_path: Path) -> None:
    (first, second) = parts(30, TREES, Y, QID)
    ranker = VotedPerceptron().partial_fit(*first)
    again = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(again.partial_fit(*second).predict(NEW), ranker.partial_fit(*second).predict(NEW))
    kept = round_trip(ranker, tmp_path)
    np.testing.assert_array_equal(kept.predict(NEW), ranker.predict(NEW))
    with pytest.raises(tl.errors.ParameterError, match="can continue only from partial_fit"):
        kept.partial_fit(*second)


def test_a_part_that_teaches_nothing() -> None:
    ranker = VotedPerceptron()
    with pytest.raises(tl.errors.ParameterError, match="only group has no two candidates"):
        ranker.partial_fit(["(A a)", "(B b)"], [1, 1], [0, 0])
    ranker.partial_fit(["(A a)", "(B b)"], [1, 0], [0, 0])
    before = ranker.predict(NEW)
    ranker.partial_fit(["(A a)", "(C b)"], [1, 1], [0, 0])
    np.testing.assert_array_equal(ranker.predict(NEW), before)
    assert ranker._stream is not None
    assert ranker._stream.seen == 4


def test_what_cannot_go_on() -> None:
    first = parts(30, TREES, Y, QID)[0]
    with pytest.raises(tl.errors.ParameterError, match=r"'kernel'.*a kernel or None for partial_fit"):
        VotedPerceptron("precomputed").partial_fit(np.eye(2), [1, 0], [0, 0])
    with pytest.raises(tl.errors.ParameterError, match="can continue only from partial_fit"):
        VotedPerceptron().fit(*first).partial_fit(*first)
    ranker = VotedPerceptron().partial_fit(*first)
    with pytest.raises(tl.errors.ParameterError, match="earlier parts were fitted"):
        ranker.set_params(kernel=tl.PartialTree()).partial_fit(*first)
    with pytest.raises(tl.errors.ParameterError, match="X is empty"):
        VotedPerceptron().partial_fit([], [], [])


@pytest.mark.parametrize(
    ("kernel", "rows"),
    [
        (tl.Linear(), [{"p": 1.0}, {"q": 2.0}, {"q": 1.0, "r": 3.0}, {"s": 1.0}, {"p": 2.0, "s": 1.0}, {"r": 1.0}]),
        (tl.Bag(tl.SubsetTree()), [["(A a)"], [], ["(B b)", "(A a)"], ["(C c)"], ["(A b)"], ["(B b)"]]),
        (tl.Bag(tl.Linear()), [[[1.0, 2.0]], [], [[0.0, 1.0], [1.0, 1.0]], [], [[3.0, 0.0]], [[1.0, 1.0]]]),
    ],
    ids=["features by name", "bags of trees", "bags of vectors"],
)
def test_parts_that_have_other_features_or_bags(kernel: tl.kernels.Kernel, rows: Any) -> None:
    y, qid = [1, 0] * 3, [0, 0, 1, 1, 2, 2]
    whole, ranker = VotedPerceptron(kernel).fit(rows, y, qid), VotedPerceptron(kernel)
    for begin in range(0, 6, 2):
        part = slice(begin, begin + 2)
        ranker.partial_fit(rows[part], y[part], qid[part])
    np.testing.assert_array_equal(ranker.updates_, whole.updates_)
    np.testing.assert_allclose(ranker.predict(rows), whole.predict(rows), rtol=1e-9)


def test_stacked() -> None:
    np.testing.assert_array_equal(stacked(np.eye(2), np.ones((1, 2))), [[1, 0], [0, 1], [1, 1]])
    both = stacked(scipy.sparse.csr_array(np.eye(2)), scipy.sparse.csr_array(np.ones((1, 2))))
    np.testing.assert_array_equal(both.toarray(), [[1, 0], [0, 1], [1, 1]])
    with pytest.raises(tl.errors.InputTypeError, match="Collections can be concatenated if they"):
        stacked(np.eye(2), np.eye(3))
    with pytest.raises(tl.errors.InputTypeError, match="Collections can be concatenated if they"):
        stacked(tl.Treebank(["(A a)"]), [1])
