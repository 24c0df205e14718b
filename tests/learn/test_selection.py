"""Cross-validation on ready matrices, and estimators that take them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, f1_score, make_scorer, r2_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)

import treelet as tl
from conftest import ROOT
from treelet.errors import KernelOverflowError, ParameterError
from treelet.learn import RLS, KernelSVC, KernelSVR, RankRLS, RankSVM, VotedPerceptron, selection
from treelet.learn.active_set import ActiveSetSolver
from treelet.learn.selection import _SharedMatrices, select
from treelet.metrics import mean_kendall_tau, paired_bootstrap
from treelet.resources import Resources
from treelet.testing import check_estimator
from treelet.work import generator

BANK = tl.Treebank(list(dict.fromkeys(map(str, tl.datasets.flights(400, random_state=1))))[:60])  # all different
SIZES = np.array([float(len(tree.words())) for tree in BANK])
LABELS = np.array(["few", "some", "many"])[np.digitize(SIZES, np.quantile(SIZES, [0.34, 0.67]))]
LABELS[::7] = "some"  # noise, so that scores differ
QID = np.repeat([f"q{k}" for k in range(15)], 4)
DOCS = np.arange(60) // 5
SST = tl.SubsetTree(lam=0.4)
KERNELS = [SST.normalized(), tl.PartialTree(lam=0.4, mu=0.4).normalized()]
LEARNERS = {
    "svc": (KernelSVC(C=2.0), LABELS, {}),
    "balanced": (KernelSVC(class_weight="balanced"), LABELS, {}),
    "svr": (KernelSVR(C=3.0, tol=1e-7), SIZES, {}),
    "rls": (RLS(alpha=0.3), SIZES, {}),
    "rls, outputs": (RLS(alpha=0.3), np.column_stack([SIZES, -SIZES]), {}),
    "rls, basis": (RLS(alpha=0.3, basis=12, random_state=0), SIZES, {}),
    "rls, cg": (RLS(alpha=0.3, solver="cg", tol=1e-12), SIZES, {}),
    "perceptron": (VotedPerceptron(epochs=2), SIZES, {"qid": QID}),
    "voted": (VotedPerceptron(prediction="voted"), SIZES, {"qid": QID}),
    "rank svm": (RankSVM(C=0.5), SIZES, {"qid": QID}),
    "rank rls": (RankRLS(alpha=0.3), SIZES, {"qid": QID}),
}


def taken(named: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: values[rows] for name, values in named.items()}


# --- kernel="precomputed" -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_a_given_matrix_is_the_kernel(name: str, tmp_path: Any) -> None:
    estimator, y, named = LEARNERS[name]
    kernel, train, test = KERNELS[0], np.arange(44), np.arange(44, 60)
    K, across = kernel(BANK[train]), kernel(BANK[test], BANK[train])
    K.flags.writeable = False
    of_trees = clone(estimator).set_params(kernel=kernel).fit(BANK[train], y[train], **taken(named, train))
    given = clone(estimator).set_params(kernel="precomputed").fit(K, y[train], **taken(named, train))
    more = taken(named, test)
    expected = of_trees.predict(BANK[test], **more)
    if expected.dtype.kind == "f":
        near = 1e-4 if name == "svr" else 1e-9  # libsvm solves a given matrix in float32
        np.testing.assert_allclose(given.predict(across, **more), expected, atol=near)
    else:
        np.testing.assert_array_equal(given.predict(across, **more), expected)
    if not hasattr(estimator, "C"):
        np.testing.assert_array_equal(given.support_, of_trees.support_)
    tl.save(given, tmp_path / "m")
    np.testing.assert_array_equal(tl.load(tmp_path / "m").predict(across, **more), given.predict(across, **more))


@pytest.mark.parametrize("name", LEARNERS)
def test_matrices_that_make_no_sense(name: str) -> None:
    estimator, y, named = LEARNERS[name]
    estimator = clone(estimator).set_params(kernel="precomputed")
    K = KERNELS[0](BANK)
    nan = K.copy()
    nan[3, 4] = nan[4, 3] = np.nan
    bent = K.copy()
    bent[40, 2] += 1
    for wrong, message in [
        (K[:, :50], r"Got an array of shape \(60, 50\)"),
        (K[0], "square matrix"),
        (nan, "must contain finite numbers"),
        (bent, "must be symmetric, but row 2 differs"),
        (BANK, "must be a matrix of numbers"),
        (K[:50, :50], "X has 50 examples.*Pass one value per example"),
        (np.empty((0, 0)), "X is empty"),
    ]:
        with pytest.raises(ParameterError, match=message):
            clone(estimator).fit(wrong, y, **named)
    fitted = clone(estimator).fit(K, y, **named)
    with pytest.raises(ParameterError, match="examples x 60 training examples"):
        fitted.predict(K[:, :7], **named)
    with pytest.raises(ParameterError, match="must contain finite numbers"):
        fitted.predict(nan, **named)


def test_check_estimator_of_given_matrices() -> None:
    K = KERNELS[0](BANK)
    check_estimator(KernelSVC("precomputed"), K, LABELS.tolist())
    check_estimator(KernelSVR("precomputed"), K, SIZES.tolist())
    check_estimator(RLS("precomputed"), K, SIZES.tolist())


def test_scikit_learn_splits_given_matrices_both_ways() -> None:
    K = KERNELS[0](BANK)
    given = cross_val_score(KernelSVC("precomputed"), K, LABELS, cv=4)
    np.testing.assert_allclose(given, cross_val_score(KernelSVC(KERNELS[0]), BANK, LABELS, cv=4))


# --- select -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_the_same_as_fitting_each(name: str) -> None:
    """Scores and predictions are those of the estimator, fold by fold."""
    estimator, y, named = LEARNERS[name]
    parameter, values = ("C", [0.5, 5.0]) if hasattr(estimator, "C") else ("alpha", [0.1, 3.0])
    if isinstance(estimator, VotedPerceptron):
        parameter, values = "epochs", [1, 3]
    found = select(KERNELS, BANK, y, estimator=estimator, grid={parameter: values}, cv=3, **named)
    assert [(t.kernel, t.parameters) for t in found.trials] == [(k, {parameter: v}) for k in KERNELS for v in values]
    assert found.refused == []
    for trial in found.trials:
        whole = np.empty(y.shape, y.dtype)
        for (train, test), score in zip(trial.folds, trial.by_fold, strict=True):
            model = clone(estimator).set_params(kernel=trial.kernel, **trial.parameters)
            model.fit(BANK[train], y[train], **taken(named, train))
            whole[test] = model.predict(BANK[test], **taken(named, test))
            assert score == pytest.approx(
                model.score(BANK[test], y[test], **taken(named, test)), abs=1e-5 if name == "svr" else 1e-6
            )
        if y.dtype.kind == "f":
            np.testing.assert_allclose(trial.held_out[0], whole, atol=1e-4 if name == "svr" else 1e-6)
        else:
            np.testing.assert_array_equal(trial.held_out[0], whole)
        assert trial.score == pytest.approx(np.mean([np.full(len(t), s) for (_, t), s in zip(trial.folds, trial.by_fold, strict=True)]))  # fmt: skip
    assert found.best.score == max(trial.score for trial in found.trials)


def test_all_folds_and_strengths_come_from_one_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    from treelet.learn import least_squares

    real, done = least_squares._decomposed, []
    monkeypatch.setattr(least_squares, "_decomposed", lambda S: done.append(len(S)) or real(S))
    cv = RepeatedKFold(n_splits=4, n_repeats=2, random_state=0)
    found = select(KERNELS, BANK, SIZES, estimator=RLS(), grid={"alpha": [0.1, 1.0, 10.0]}, cv=cv)
    assert done == [60, 60], "one a kernel"
    assert found.trials[0].held_out.shape == (2, 60)
    direct = cross_val_predict(RLS(KERNELS[0], alpha=0.1), BANK, SIZES, cv=list(cv.split(BANK))[:4])
    np.testing.assert_allclose(found.trials[0].held_out[0], direct, atol=1e-9)
    done.clear()
    select(KERNELS[:1], BANK, SIZES, estimator=RLS(), grid={"alpha": [0.1]}, cv=ShuffleSplit(3, random_state=0))
    assert len(done) == 3, "folds that are no partition are fitted one by one"


@pytest.mark.parametrize("estimator", [tl.KernelSVC(tol=1e-5), tl.KernelSVR(tol=1e-5)], ids=repr)
def test_machines_need_no_matrix(estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond `memory`, folds are fitted to the examples, and each fit starts from the one before."""
    y = [min(len(tree.words()), 12) // 3 for tree in BANK]
    grid = {"C": [10.0, 0.1, 1.0]}
    kernels = [tl.SubsetTree(lam=0.4).normalized(), tl.PartialTree().normalized()]
    wanted = select(kernels, BANK, y, estimator=estimator, grid=grid, cv=3)
    starts = []
    solve = ActiveSetSolver.solve

    def noted(self: Any, problem: Any, tol: float, steps: int, start: Any, step: Any) -> Any:
        starts.append(start is not None)
        return solve(self, problem, tol, steps, start, step)

    monkeypatch.setattr(ActiveSetSolver, "solve", noted)
    monkeypatch.setattr(tl.learn.selection._SharedMatrices, "__iter__", None)
    found = select(kernels, BANK, y, estimator=estimator, grid=grid, cv=3, memory=1000)
    assert sum(starts) == 2 * len(starts) // 3
    for one, other in zip(found.trials, wanted.trials, strict=True):
        assert one.parameters == other.parameters
        assert one.score == pytest.approx(other.score, abs=1e-3)
        for ours, theirs in zip(one.predicted, other.predicted, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_it_is_a_grid_search_of_scikit_learn() -> None:
    cv = StratifiedKFold(3, shuffle=True, random_state=2)
    grid = {"C": [0.1, 1.0, 10.0]}
    theirs = GridSearchCV(KernelSVC(KERNELS[0]), grid, cv=cv, scoring="f1_macro").fit(BANK, LABELS)
    ours = select(KERNELS[:1], BANK, LABELS, grid=grid, cv=cv, scoring="f1_macro")
    for k, trial in enumerate(ours.trials):
        split = [theirs.cv_results_[f"split{fold}_test_score"][k] for fold in range(3)]
        np.testing.assert_allclose(trial.by_fold, split)
    by_function = select(KERNELS[:1], BANK, LABELS, grid=grid, cv=cv, scoring=make_scorer(f1_score, average="macro"))
    assert [t.by_fold for t in by_function.trials] == [t.by_fold for t in ours.trials]


@pytest.mark.parametrize(
    ("cv", "theirs"),
    [
        (4, StratifiedGroupKFold(4)),
        (GroupKFold(3), GroupKFold(3)),
        (GroupShuffleSplit(2, random_state=0), GroupShuffleSplit(2, random_state=0)),
    ],
)
def test_groups_stay_together(cv: Any, theirs: Any) -> None:
    names = np.array([f"d{k}" for k in DOCS])
    found = select(KERNELS[:1], BANK, LABELS, cv=cv, groups=names)
    for (train, test), (their_train, their_test) in zip(
        found.best.folds, theirs.split(BANK, LABELS, DOCS), strict=True
    ):
        assert not set(DOCS[train]) & set(DOCS[test])
        np.testing.assert_array_equal(train, their_train)
        np.testing.assert_array_equal(test, their_test)


def test_rankers_keep_queries_whole() -> None:
    shuffled = np.random.default_rng(0).permutation(60)
    found = select(KERNELS[:1], BANK[shuffled], SIZES[shuffled], estimator=RankSVM(), qid=QID[shuffled], cv=3)
    for train, test in found.best.folds:
        assert not set(QID[shuffled][train]) & set(QID[shuffled][test])
    with pytest.raises(ParameterError, match="Fold 0 of cv= splits a query into"):
        select(KERNELS[:1], BANK, SIZES, estimator=RankRLS(), qid=QID, cv=KFold(7))
    with pytest.raises(ParameterError, match="needs to know which examples belong"):
        select(KERNELS[:1], BANK, SIZES, estimator=RankSVM())
    with pytest.raises(ParameterError, match="RLS is not a ranker and does not accept"):
        select(KERNELS[:1], BANK, SIZES, estimator=RLS(), qid=QID)

    def first(estimator: Any, X: Any, y: Any, qid: Any) -> float:
        return float(y[estimator.rank(X, qid)].mean())

    by_first = select(KERNELS[:1], BANK, SIZES, estimator=RankSVM(), qid=QID, cv=3, scoring=first)
    assert min(SIZES) <= by_first.best.score <= max(SIZES)


# --- matrices -----------------------------------------------------------------------------------------------------


def counted(monkeypatch: pytest.MonkeyPatch) -> list[tl.Kernel]:
    computed: list[tl.Kernel] = []
    real = selection.host_matrix

    def gram(kernel: tl.Kernel, X: Any, **named: Any) -> Any:
        if not isinstance(X, np.ndarray):  # of examples, not from matrices that are there
            computed.append(kernel)
        return real(kernel, X, **named)

    monkeypatch.setattr(selection, "host_matrix", gram)
    return computed


def test_what_kernels_share_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = counted(monkeypatch)
    other = tl.PartialTree(lam=0.4, mu=0.4)
    kernels = [
        SST.normalized(),
        SST,
        0.3 * SST.normalized() + 0.7 * other.normalized(),
        SST.normalized().gaussian(0.7) * other.normalized(),
        (SST + 1.0).polynomial(2, 0.5).normalized(),
        other.normalized(),
        tl.Subtree().normalized(),
    ]
    shared = _SharedMatrices(kernels, BANK, Resources(threads=2))
    for kernel, K in zip(kernels, shared, strict=True):
        expected = kernel(BANK)
        np.testing.assert_allclose(K, expected, rtol=1e-12, atol=1e-14 * np.abs(expected).max())
    assert computed == [SST, other, tl.Subtree().normalized()]
    assert shared._known == [], "nothing is kept that nobody needs"


def test_columns_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = counted(monkeypatch)
    X = tl.structures.Table({"a": BANK, "b": BANK[::-1], "n": SIZES})
    kernels = [
        tl.On("a", SST.normalized()) + tl.On("b", SST.normalized()),
        tl.On("a", SST).normalized() + 0.5 * tl.On("n", tl.Linear()),
        tl.On("b", SST.normalized() + 1.0).gaussian(2.0),
        tl.On("n", tl.Linear().gaussian(3.0)),
    ]
    for kernel, K in zip(kernels, _SharedMatrices(kernels, X), strict=True):
        np.testing.assert_allclose(K, kernel(X), rtol=1e-12)
    assert computed == [tl.On("a", SST), tl.On("b", SST), tl.On("n", tl.Linear())]


def test_memory_for_what_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = counted(monkeypatch)
    kernels = [SST.gaussian(9.0), tl.Subtree().gaussian(9.0), SST.gaussian(5.0), tl.Subtree().gaussian(5.0)]
    found = list(_SharedMatrices(kernels, BANK, Resources(memory_limit=8 * 60 * 60)))
    for kernel, K in zip(kernels, found, strict=True):
        np.testing.assert_allclose(K, kernel(BANK), rtol=1e-12)
    assert computed.count(SST) == 1
    assert len(computed) == 3, "the second is computed again"


def test_values_that_do_not_fit() -> None:
    deep = "(N n)"
    for _ in range(11):
        deep = f"(A {deep} {deep})"
    X = ["(A (N n))", deep, "(B (N n))", "(A (N m))", "(B (N m))", "(B (N k))"]
    y = [0, 0, 1, 0, 1, 1]
    large = tl.SubsetTree(lam=1.0)
    kernels = [large, large.normalized(), large.normalized().gaussian(1.0), SST.normalized()]
    found = select(kernels, X, y, cv=2)
    assert found.refused == [large]
    assert [trial.kernel for trial in found.trials] == kernels[1:]
    for kernel, K in zip(kernels[1:], list(_SharedMatrices(kernels, X))[1:], strict=True):
        np.testing.assert_allclose(K, kernel(X), atol=1e-12)
    with pytest.raises(KernelOverflowError):
        select([large], X, y, cv=2)


# --- what cannot be done ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("impatient")
def test_order_and_progress(capsys: pytest.CaptureFixture[str]) -> None:
    bank = tl.Treebank(["(S (N a))", "(S (V a))", "(S (N b))", "(S (V b))"])
    told: list[Any] = []
    kernels = [tl.SubsetTree(0.2), tl.Subtree()]
    with tl.config_context(progress=True):
        found = select(kernels, bank, [0, 1, 0, 1], grid={"C": [1.0, 5.0]}, cv=2, report=told.append)
    shown = capsys.readouterr().err
    assert "grid: 6 of 6" in shown
    assert "values" not in shown, "a bar in a bar is not shown"
    assert [(repr(t.kernel), t.parameters["C"]) for t in found.trials] == [
        ("SubsetTree(lam=0.2)", 1.0),
        ("SubsetTree(lam=0.2)", 5.0),
        ("Subtree(lam=1.0)", 1.0),
        ("Subtree(lam=1.0)", 5.0),
    ]
    assert told == found.trials
    assert found.best is found.trials[0]
    assert found.best.by_fold == (1.0, 1.0)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"kernels": []}, "select needs at least one kernel"),
        ({"y": [*LABELS[:-1], "rare"]}, "Class 'rare' has only one"),
        ({"y": LABELS[:-1]}, "X has 60 examples, but y has 59"),
        ({"y": [None, *LABELS[1:]]}, r"y\[0\] is missing \(None or NaN"),
        ({"y": ["a"] * 60}, "'a', but KernelSVC needs at least two"),
        ({"y": SIZES + 0.5, "cv": KFold(2)}, r"not whole, such as y\[0\].*predict numbers, use KernelSVR or RLS"),
        ({"estimator": tl.KernelMatrix()}, "'estimator' parameter"),
        ({"estimator": KernelSVC}, "'estimator' parameter"),
        ({"grid": {"gamma": [1]}}, "KernelSVC has no parameter 'gamma'"),
        ({"grid": {"c": [1]}}, r"parameter 'c' for the grid\. Did you mean 'C'"),
        ({"grid": {"kernel": [SST]}}, "KernelSVC has no parameter 'kernel'"),
        ({"grid": {"C": 1.0}}, "'grid' parameter"),
        ({"grid": {"C": [-1.0]}}, "'C' parameter of KernelSVC"),
        ({"cv": 1}, "'cv'.*int of at least 2, a splitter"),
        ({"cv": True}, "'cv' parameter"),
        ({"cv": 61}, "cv= cannot split 60 examples"),
        ({"cv": "five"}, "cv= cannot split 60 examples"),
        ({"cv": []}, "cv= contains no folds"),
        ({"cv": [([0, 1, 2], [])]}, "Fold 0 of cv= has no test examples"),
        ({"cv": [(range(30), range(29, 60))]}, "both its training and its test"),
        ({"cv": [(range(30), [60])]}, "cv= cannot split"),
        ({"groups": DOCS[:-1]}, "X has 60 examples, but groups has 59"),
        ({"groups": [np.nan, *DOCS[1:]]}, r"groups\[0\] is missing \(None or NaN"),
        ({"groups": np.zeros(60)}, "cv= cannot split"),
        ({"scoring": "goodness"}, r"'scoring'.*sklearn.metrics.get_scorer_names\(\)"),
        ({"scoring": lambda estimator, X, y: np.nan}, "scoring= returns NaN for the fold"),
        ({"qid": QID}, "ranker and does not accept qid"),
        ({"memory": "much"}, "'memory' parameter"),
    ],
)  # fmt: skip
def test_bad_parameters(named: dict[str, Any], message: str) -> None:
    given = {"kernels": KERNELS[:1], "X": BANK, "y": LABELS} | named
    with pytest.raises(ParameterError, match=message):
        select(**given)


def test_no_prediction_for_each() -> None:
    found = select(KERNELS[:1], BANK, LABELS, cv=ShuffleSplit(2, random_state=0))
    with pytest.raises(ParameterError, match="test each example exactly once per round"):
        _ = found.best.held_out


def test_rounding_decides_no_order() -> None:
    ranker = RankSVM("precomputed").fit(np.eye(4), [1.0, 0.5, 0.5, 0.0], np.zeros(4))
    ranker.predict = lambda X, qid: np.asarray(X)  # what a model says
    goodness, qid = [1.0, 0.5, 0.5, 0.0], np.zeros(4)
    scores = np.array([3.0, 2.0, 2.0, 1.0])
    for noise in (1e-15, -1e-15):
        assert ranker.score(scores + noise * np.arange(4), goodness, qid) == 1.0
    assert ranker.score([3.0, 2.0, 2.1, 1.0], goodness, qid) < 1.0
    assert ranker.score([1.0, 1.0 + 1e-14, 1.0, 1.0], goodness, qid) == 0.0


# --- random states ------------------------------------------------------------------------------------------------

FOREST = tl.Forest.from_trees([("(S (A x))", 1), ("(S (B x))", 1)])
RANDOM: dict[str, Callable[[Any], Any]] = {
    "generator": lambda state: generator(state).integers(1000, size=5).tolist(),
    "trees of a forest": lambda state: list(map(str, FOREST.sample(40, random_state=state))),
    "flights": lambda state: list(map(str, tl.datasets.flights(5, random_state=state))),
    "bootstrap": lambda state: paired_bootstrap(SIZES, SIZES[::-1], n=50, random_state=state),
    "basis": lambda state: RLS(basis=9, random_state=state).fit(BANK, SIZES).support_.tolist(),
    "shuffled": lambda state: VotedPerceptron(shuffle=True, random_state=state).fit(BANK, SIZES, QID).updates_.tolist(),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_states_are_those_of_scikit_learn(name: str) -> None:
    draw = RANDOM[name]
    assert draw(3) == draw(np.int64(3))
    assert draw(np.random.RandomState(3)) == draw(np.random.RandomState(3))
    state = np.random.RandomState(3)
    assert draw(state) != draw(state), "a generator goes on"
    assert draw(None) != draw(None)
    with pytest.raises(ValueError, match=r"3\.5|random_state"):
        draw(3.5)


# --- one meaning each ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_scores_are_of_one_kind(name: str) -> None:
    estimator, y, named = LEARNERS[name]
    fitted = clone(estimator).set_params(kernel=KERNELS[0]).fit(BANK, y, **named)
    predicted = fitted.predict(BANK, **named)
    expected = {
        "classifier": lambda: accuracy_score(y, predicted),
        "regressor": lambda: r2_score(y, predicted),
        None: lambda: mean_kendall_tau(predicted.round(9), y, QID),
    }[fitted.__sklearn_tags__().estimator_type]()
    assert fitted.score(BANK, y, **named) == pytest.approx(expected)
    assert isinstance(getattr(fitted, "alpha_", 0.0), float), "alpha_ is a strength of regularization"
    assert fitted.dual_coef_.shape == (fitted.model_.outputs, len(fitted.support_))
    assert hasattr(fitted, "rank") == bool(named)


@pytest.mark.parametrize("name", ["rls", "rank rls"])
def test_memory_is_that_of_gram(name: str) -> None:
    estimator, y, named = LEARNERS[name]
    estimator = clone(estimator).set_params(solver="eigen")  # "auto" takes less
    for enough in (None, 10**7, 1e7, "10 MB", "1GiB"):
        clone(estimator).set_params(memory=enough).fit(BANK, y, **named)
    for few in (1000, "1KiB"):
        with pytest.raises(ParameterError, match="Increase memory="):
            clone(estimator).set_params(memory=few).fit(BANK, y, **named)


def test_no_module_imports_private_names_of_another() -> None:
    root = Path(tl.__file__).parent
    for file in [*root.rglob("*.py"), *(ROOT / "experiments").glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("treelet", "experiments")):
                private = [
                    name.name
                    for name in node.names
                    if name.name[:1] == "_" and name.name not in ("_core", "__version__")
                ]
                assert not private, f"{file} imports {private} of {node.module}"


def test_a_trial_is_shown_in_a_line() -> None:
    found = select([tl.SubsetTree(0.3)], BANK, LABELS, grid={"C": [2.0]}, cv=2)
    shown = repr(found.best)
    assert shown.startswith("Trial(kernel=SubsetTree(lam=0.3), parameters={'C': 2.0}, by_fold=(")
    assert "array" not in shown
