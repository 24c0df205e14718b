"""Limits on untrusted trees: of readers, of models and of commands."""

from __future__ import annotations

import io
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import treelet as tl
from conftest import binary, fail, succeed
from treelet.errors import InputTypeError, ParameterError, TreeletWarning, TreeSizeError

SMALL = ["(S (A a) (B b))", "(S (A a) (C c))", "(S (B b) (C c))", "(S (C c) (A a))"]
Y = [0, 1, 0, 1]


def chain(nodes: int) -> str:
    """Return a tree of so many nodes, the word among them, whose depth is one less."""
    return "(S " * (nodes - 1) + "x" + ")" * (nodes - 1)


# --- readers --------------------------------------------------------------------------------------------------------

FILES = {
    "brackets": "{0}\n{1}\n\n{2}\n",
    "lines": "{0}\n{1}\n{2}\n",
    "tsv": "x\t{0}\ny\t{1}\nz\t{2}\n",
    "svmlight_tk": "1 |BT| {0} |ET|\n2 |BT| {1} |ET|\n3 |BT| {2} |ET|\n",
}


@pytest.mark.parametrize("format", FILES)
def test_a_tree_beyond_a_limit_is_malformed(format: str) -> None:
    text = FILES[format].format(SMALL[0], chain(31), SMALL[1])
    read = lambda **options: tl.read_trees(io.StringIO(text), format, **options)
    assert len(read(max_nodes=31, max_depth=30)) == 3
    for limit, problem in (({"max_nodes": 30}, "31 nodes"), ({"max_depth": 29}, "a depth of 30")):
        with pytest.raises(TreeSizeError, match=f"tree 1, counted from 0, has {problem}"):
            read(**limit)
        with pytest.warns(TreeletWarning, match=r"^1 of 3 (trees|examples) was skipped: .*tree 1, counted from 0"):
            bank = read(**limit, on_error="skip")
        assert bank.strings() == [SMALL[0], SMALL[1]]


def test_what_belongs_to_a_tree_beyond_a_limit_is_left_out_with_it() -> None:
    trees = [SMALL[0], chain(9), SMALL[1]]
    text = "".join(f"{number} |BT| {tree} |ET| {number + 1}:0.5\n" for number, tree in enumerate(trees))
    with pytest.warns(TreeletWarning, match="1 of 3 examples"):
        X, y = tl.read_examples(io.StringIO(text), "svmlight_tk", max_depth=5, on_error="skip")
    whole, _ = tl.read_examples(io.StringIO(text), "svmlight_tk")
    assert y == ["0", "2"]
    kernel = tl.On("tree", tl.SubsetTree()) * tl.On("vector", tl.Linear())
    assert (kernel(X) == kernel(whole[[0, 2]])).all()


def test_blocks_count_on() -> None:
    text = "\n".join([*SMALL, chain(9), *SMALL])
    with pytest.raises(TreeSizeError, match=r"tree 4, counted from 0.*9 nodes, more than max_nodes=8 allows"):
        list(tl.iter_trees(io.StringIO(text), "lines", block=2, max_nodes=8))
    with pytest.warns(TreeletWarning, match="1 of 9 trees was skipped"):
        blocks = list(tl.iter_trees(io.StringIO(text), "lines", block=2, max_nodes=8, on_error="skip"))
    assert [len(block) for block in blocks] == [2, 2, 1, 2, 1]


def test_the_line_is_named_where_it_is_known() -> None:
    with pytest.raises(TreeSizeError, match=r"^<stream>:2: tree 1"):
        tl.read_trees(io.StringIO("x = 1\ny = [[[[[1]]]]]\n"), "python:each=statement", max_depth=4)


def test_shared_subtrees_count_each_time() -> None:
    model = tl.RLS().fit(SMALL, Y).set_limits(max_nodes=10**9)
    with pytest.raises(TreeSizeError, match="more than max_nodes=1000000000"):
        model.predict([binary(60)])


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", True])
@pytest.mark.parametrize("name", ["max_nodes", "max_depth"])
def test_limits_are_positive_integers(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=name):
        tl.read_trees(io.StringIO("(A a)"), **{name: value})
    with pytest.raises(ParameterError, match=name):
        tl.RLS().set_limits(**{name: value})


# --- models ---------------------------------------------------------------------------------------------------------

ESTIMATORS = {
    "KernelSVC": ("predict", "decision_function"),
    "KernelSVR": ("predict",),
    "RLS": ("predict",),
    "RankRLS": ("predict",),
    "RankSVM": ("predict",),
    "VotedPerceptron": ("predict",),
    "Nystroem": ("transform",),
    "TreeSketch": ("transform",),
    "KernelMatrix": ("transform",),
    "Nearest": ("kneighbors", "kneighbors_graph", "transform"),
    "FragmentFeatures": ("transform",),
}
RANKERS = ("RankRLS", "RankSVM", "VotedPerceptron")


def fitted(name: str) -> Any:
    more: dict[str, Any] = {"Nystroem": {"n_components": 2}, "Nearest": {"n_neighbors": 2}}.get(name, {})
    groups = {"qid": [1, 1, 2, 2]} if name in RANKERS else {}
    return getattr(tl, name)(kernel=tl.SubsetTree(), **more).fit(SMALL, Y, **groups)


def same(first: Any, second: Any) -> bool:
    parts = [part if isinstance(part, tuple) else (part,) for part in (first, second)]
    dense = [[np.asarray(item.todense() if hasattr(item, "todense") else item) for item in part] for part in parts]
    return all(map(np.array_equal, *dense))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_model_refuses_trees_beyond_its_limits(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(name)
    tl.save(model, tmp_path / "m.treelet")
    limited = tl.load(tmp_path / "m.treelet", max_nodes=20, max_depth=10)
    for method in ESTIMATORS[name]:
        assert same(getattr(limited, method)(SMALL), getattr(model, method)(SMALL))
    monkeypatch.setattr(tl.SubsetTree, "evaluator", lambda *_, **__: pytest.fail("kernel values were computed"))
    monkeypatch.setattr(tl.SubsetTree, "self_values", lambda *_, **__: pytest.fail("kernel values were computed"))
    for method in ESTIMATORS[name]:
        with pytest.raises(TreeSizeError, match=r"^item 4: the tree has 21 nodes, more than max_nodes=20 allows\.$"):
            getattr(limited, method)([*SMALL, chain(21)])
        with pytest.raises(
            TreeSizeError, match=r"^item 0: the tree has a depth of 11, more than max_depth=10 allows\.$"
        ):
            getattr(limited, method)([chain(12)])
    if hasattr(limited, "predict"):
        with pytest.raises(TreeSizeError, match="item 0"):
            tl.explain(limited, chain(21))


def test_every_estimator_is_tried() -> None:
    from treelet.learn.base import _KernelEstimator

    public = [getattr(tl, name) for name in tl.__all__]
    found = {cls.__name__ for cls in public if isinstance(cls, type) and issubclass(cls, _KernelEstimator)}
    assert found == set(ESTIMATORS)


@pytest.mark.filterwarnings("ignore:.*no fragment in common")
def test_limits_are_not_parameters(tmp_path: Path) -> None:
    model = fitted("KernelSVC")
    assert model.set_limits(max_nodes=20) is model
    assert not {"max_nodes", "max_depth"} & model.get_params().keys()
    tl.save(model, tmp_path / "m.treelet")
    assert len(tl.load(tmp_path / "m.treelet").predict([chain(21)])) == 1
    assert len(clone(model).fit(SMALL, Y).predict([chain(21)])) == 1
    with pytest.raises(TreeSizeError):
        pickle.loads(pickle.dumps(model)).predict([chain(21)])
    with pytest.raises(TreeSizeError):
        model.fit([*SMALL, chain(21)], [*Y, 1])
    with pytest.raises(TreeSizeError):
        model.fit(SMALL, Y[::-1]).predict([chain(21)])  # A fit keeps the limits.
    assert len(model.set_limits().predict([chain(21)])) == 1


def test_votes_tables_and_bags_have_limits() -> None:
    voted = tl.VotedPerceptron(tl.SubsetTree(), prediction="voted").fit(SMALL, Y, qid=[1, 1, 2, 2])
    with pytest.raises(TreeSizeError):
        voted.set_limits(max_nodes=20).predict([chain(21)], qid=[1])
    frame = pd.DataFrame({"a": SMALL, "b": SMALL[::-1], "n": [1.0, 2, 3, 4]})
    kernel = tl.On("a", tl.SubsetTree()) + tl.On("b", tl.PartialTree().normalized()) + tl.On("n", tl.Linear())
    model = tl.KernelSVC(kernel).fit(frame, Y).set_limits(max_nodes=20)
    assert len(model.predict(frame)) == 4
    with pytest.raises(TreeSizeError, match="item 2"):
        model.predict(frame.assign(b=[*SMALL[:2], chain(21), SMALL[3]]))
    bags = tl.KernelSVC(tl.Bag(tl.SubsetTree())).fit([SMALL[:2], SMALL[2:]], [0, 1]).set_limits(max_nodes=20)
    assert len(bags.predict([SMALL])) == 1
    with pytest.raises(TreeSizeError):
        bags.predict([[SMALL[0], chain(21)]])


def test_only_estimators_have_limits(tmp_path: Path) -> None:
    tl.save(tl.Treebank(SMALL), tmp_path / "bank.treelet")
    with pytest.raises(
        InputTypeError, match="contains a Treebank, but max_nodes and max_depth are limits of an estimator"
    ):
        tl.load(tmp_path / "bank.treelet", max_nodes=3)
    assert tl.load(tmp_path / "bank.treelet") == tl.Treebank(SMALL)


@pytest.mark.serial
def test_a_hostile_chain_is_refused_at_once() -> None:
    model = tl.KernelSVC().fit(SMALL, Y).set_limits(max_depth=500)
    begin = time.process_time()
    with pytest.raises(TreeSizeError, match="a depth of 200,000"):
        model.predict([chain(200_001)])
    assert time.process_time() - begin < 10, "without limits it takes minutes"


# --- commands -------------------------------------------------------------------------------------------------------


def test_commands_take_limits_as_options(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text(
        "".join(f"{label}\t{tree}\n" for label, tree in zip("xyxy", SMALL, strict=True)), encoding="utf-8"
    )
    (tmp_path / "t.mrg").write_text("\n".join([SMALL[0], chain(9), SMALL[1]]), encoding="utf-8")
    succeed("train", tmp_path / "train.tsv", "-o", tmp_path / "m.treelet")
    error = fail("predict", tmp_path / "m.treelet", tmp_path / "t.mrg", "--option", "max_nodes=8")
    assert "tree 1, counted from 0, has 9 nodes, more than max_nodes=8 allows." in error
    assert "--skip-bad" in error
    arguments = ("predict", tmp_path / "m.treelet", tmp_path / "t.mrg", "--option", "max_depth=7", "--skip-bad")
    assert succeed(*arguments).stdout.split() == ["x", "y"]
