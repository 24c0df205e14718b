"""Estimators: right, at home in scikit-learn, and clear about what they cannot do."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import SpectralClustering
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import KernelPCA
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import treelet as tl
from treelet.kernels.store import StoreKernel
from treelet.learn.outputs import load_predictor
from treelet.learn.selection import select
from treelet.testing import check_estimator

FRAGMENTS = ("(NP (D the) (N {0}))", "(VP (V {0}) (NP (N it)))", "(PP (P of) (NP (N {0})))")


def sentences(n: int, classes: int = 3, seed: int = 0, noise: float = 0.0) -> tuple[list[str], np.ndarray]:
    """Random trees, each with a fragment somewhere that gives its class away; some with another class's too."""
    rng = np.random.default_rng(seed)
    words = [f"w{k}" for k in range(6)]

    def filler() -> str:
        return f"({rng.choice(['X', 'Y'])} ({rng.choice(['A', 'B'])} {rng.choice(words)}))"

    trees, y = [], []
    for k in range(n):
        kind = k % classes
        parts = [filler() for _ in range(int(rng.integers(1, 4)))]
        parts.insert(int(rng.integers(len(parts) + 1)), FRAGMENTS[kind].format(rng.choice(words)))
        if rng.random() < noise:
            parts.append(FRAGMENTS[int(rng.integers(classes))].format(rng.choice(words)))
        trees.append(f"(S {' '.join(parts)})")
        y.append(["thing", "deed", "relation"][kind])
    return trees, np.array(y)


KERNEL = tl.SubsetTree(lam=0.4)
CLOSE = 1e-4  # difference of scores at the optimum up to a tolerance of 1e-6, in float32 by libsvm
TREES, LABELS = sentences(60)
MORE, MORE_LABELS = sentences(45, seed=1)
HARD, HARD_LABELS = sentences(90, seed=2, noise=0.8)


def rows(trees: list[str]) -> list[dict[str, Any]]:
    return [{"tree": tree, "length": [float(len(tree)) / 50]} for tree in trees]


# --- KernelSVC ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [None, KERNEL, tl.PartialTree().normalized(), KERNEL * KERNEL], ids=repr)
def test_learns(kernel: tl.kernels.Kernel | None) -> None:
    clf = tl.KernelSVC(kernel, C=10).fit(TREES, LABELS)
    assert clf.classes_.tolist() == ["deed", "relation", "thing"]
    assert clf.score(MORE, MORE_LABELS) > 0.9
    assert clf.predict(MORE).dtype == LABELS.dtype


def test_one_against_the_rest_is_libsvm_on_the_matrix() -> None:
    clf = tl.KernelSVC(KERNEL, C=0.5, tol=1e-6).fit(HARD, HARD_LABELS)
    K, K2 = KERNEL(HARD), KERNEL(MORE, HARD)
    expected = np.column_stack(
        [
            SVC(kernel="precomputed", C=0.5, tol=1e-6).fit(K, c == HARD_LABELS).decision_function(K2)
            for c in clf.classes_
        ]
    )
    np.testing.assert_allclose(clf.decision_function(MORE), expected, atol=CLOSE)
    np.testing.assert_array_equal(clf.predict(MORE), clf.classes_[expected.argmax(axis=1)])
    np.testing.assert_allclose(K2[:, clf.support_] @ clf.dual_coef_.T + clf.intercept_, expected, atol=CLOSE)


@pytest.mark.parametrize("labels", [[0, 1], [True, False], ["a", "b"], [1.0, 2.0]], ids=str)
def test_two_classes_have_one_machine(labels: list[Any]) -> None:
    trees, y = sentences(40, classes=2, noise=0.5)
    named = np.where(y == "deed", labels[1], labels[0])
    clf = tl.KernelSVC(KERNEL, tol=1e-6).fit(trees, named)
    assert clf.dual_coef_.shape[0] == 1
    theirs = SVC(kernel="precomputed", tol=1e-6).fit(KERNEL(trees), named)
    np.testing.assert_allclose(clf.decision_function(trees), theirs.decision_function(KERNEL(trees)), atol=CLOSE)
    predicted = clf.predict(trees)
    np.testing.assert_array_equal(predicted, theirs.predict(KERNEL(trees)))
    assert predicted.dtype == named.dtype


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_examples_of_weight_zero_are_left_out(class_weight: str | None) -> None:
    params: dict[str, Any] = {"C": 0.02, "class_weight": class_weight, "tol": 1e-6}
    weights = np.random.default_rng(0).choice([0.0, 0.5, 2.0], len(HARD))
    rows = np.flatnonzero(weights)
    few = [HARD[row] for row in rows]
    expected = tl.KernelSVC(KERNEL, **params).fit(few, HARD_LABELS[rows], weights[rows])
    trees = tl.KernelSVC(KERNEL, **params).fit(HARD, HARD_LABELS, weights)
    matrix = tl.KernelSVC("precomputed", **params).fit(KERNEL(HARD), HARD_LABELS, weights)
    for clf, X in ((trees, HARD), (matrix, KERNEL(HARD))):
        np.testing.assert_allclose(clf.decision_function(X), expected.decision_function(HARD), atol=CLOSE)
    np.testing.assert_array_equal(trees.support_, rows[expected.support_])
    assert trees.training_["examples"] == len(rows)


def test_examples_from_an_iterator_that_share_nothing_with_the_model() -> None:
    clf = tl.KernelSVC(KERNEL).fit(TREES, LABELS)
    with pytest.warns(tl.errors.TreeletWarning, match="1 of 1 example has no fragment in common"):
        assert clf.predict(tree for tree in ["(X (Y z))"]).tolist() == clf.predict(["(X (Y z))"]).tolist()


def test_weights_that_cancel_are_not_a_lack_of_fragments(recwarn: pytest.WarningsRecorder) -> None:
    same = ["(A (B x))"] * 4
    assert (tl.KernelSVC(KERNEL).fit(same, [0, 1, 0, 1]).decision_function(["(A (B x))"]) == 0).all()
    assert not [warning for warning in recwarn if "no fragment in common" in str(warning.message)]


def test_labels_of_strangers_are_shortened_in_the_warning() -> None:
    clf = tl.KernelSVC(KERNEL).fit(TREES, LABELS)
    with pytest.warns(tl.errors.TreeletWarning) as caught:
        clf.predict([f"({'A' * 80_000} (\x1b[31m x))"])
    assert len(str(caught[0].message)) < 500
    assert "\x1b" not in str(caught[0].message)


def test_a_search_over_names_of_kernels_reports_the_wrong_kernel() -> None:
    search = GridSearchCV(tl.KernelSVC(), {"kernel": ["sst"]}, cv=2, error_score="raise")
    with pytest.raises(tl.errors.ParameterError, match=r"'kernel'.*'sst'"):
        search.fit(pd.Series([str(tree) for tree in TREES]), LABELS)


def test_a_class_of_weight_zero_is_not_a_class() -> None:
    clf = tl.KernelSVC(KERNEL).fit(HARD, HARD_LABELS, (HARD_LABELS != "deed").astype(float))
    assert clf.classes_.tolist() == ["relation", "thing"]


@pytest.mark.parametrize("sampling", [{}, {"bootstrap": False, "max_samples": 0.5}])
def test_bagging(sampling: dict[str, Any]) -> None:
    X = np.array([str(tree) for tree in TREES], dtype=object)[:, None]
    bagging = BaggingClassifier(tl.KernelSVC(KERNEL), n_estimators=5, random_state=0, **sampling).fit(X, LABELS)
    assert bagging.score(X, LABELS) > 0.9


def test_weights_of_classes_and_examples() -> None:
    weights = {"deed": 5.0, "thing": 0.5}
    K = KERNEL(HARD)
    sample = np.array([weights.get(label, 1.0) for label in HARD_LABELS])
    by_class = tl.KernelSVC(KERNEL, C=0.02, class_weight=weights).fit(HARD, HARD_LABELS).decision_function(HARD)
    by_example = tl.KernelSVC(KERNEL, C=0.02).fit(HARD, HARD_LABELS, sample_weight=sample).decision_function(HARD)
    np.testing.assert_allclose(by_class, by_example, atol=1e-9)
    assert not np.allclose(by_class, tl.KernelSVC(KERNEL, C=0.02).fit(HARD, HARD_LABELS).decision_function(HARD))
    few = np.r_[np.flatnonzero(HARD_LABELS == "deed")[:5], np.flatnonzero(HARD_LABELS != "deed")]
    trees, y = [HARD[k] for k in few], HARD_LABELS[few]
    K = KERNEL(trees)
    balanced = tl.KernelSVC(KERNEL, C=0.02, class_weight="balanced", tol=1e-6).fit(trees, y).decision_function(trees)
    theirs = SVC(kernel="precomputed", C=0.02, class_weight="balanced", tol=1e-6)
    for column, label in enumerate(["deed", "relation", "thing"]):
        np.testing.assert_allclose(balanced[:, column], theirs.fit(K, y == label).decision_function(K), atol=CLOSE)


def test_threads_give_the_same_model() -> None:
    one, two = (tl.KernelSVC(KERNEL, n_jobs=n).fit(HARD, HARD_LABELS) for n in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.decision_function(MORE), two.decision_function(MORE))


def test_a_refit_or_a_changed_kernel_does_not_leak() -> None:
    kernel = tl.SubsetTree(lam=0.4)
    clf = tl.KernelSVC(kernel).fit(TREES, LABELS)
    matrix = tl.KernelMatrix(kernel).fit(TREES)
    before, values = clf.decision_function(MORE), matrix.transform(MORE)
    kernel.set_params(lam=0.9)
    np.testing.assert_array_equal(matrix.transform(MORE), values)
    np.testing.assert_array_equal(clf.decision_function(MORE), before)
    clf.fit(TREES, LABELS)
    assert not np.allclose(clf.decision_function(MORE), before)


# --- scikit-learn's meta-estimators ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("container", [list, tl.Treebank])
def test_scikit_learn_calibrates_probabilities(container: Any, ensemble: bool) -> None:
    calibrated = clone(CalibratedClassifierCV(tl.KernelSVC(KERNEL, tol=1e-6), cv=3, ensemble=ensemble))
    P = calibrated.fit(container(HARD), HARD_LABELS).predict_proba(container(MORE))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (calibrated.classes_[P.argmax(axis=1)] == MORE_LABELS).mean() > 0.8
    if not ensemble:  # With an ensemble, scikit-learn does not accept a precomputed matrix.
        again = clone(calibrated).set_params(estimator__kernel="precomputed").fit(KERNEL(HARD), HARD_LABELS)
        np.testing.assert_allclose(P, again.predict_proba(KERNEL(MORE, HARD)), atol=CLOSE)


def test_scikit_learn_votes_one_against_one_on_a_matrix() -> None:
    K, K2 = tl.gram(KERNEL, HARD), tl.gram(KERNEL, MORE, HARD)
    pairs = clone(OneVsOneClassifier(tl.KernelSVC("precomputed", C=0.5))).fit(K, HARD_LABELS)
    theirs = SVC(kernel="precomputed", C=0.5, break_ties=True).fit(K, HARD_LABELS)
    np.testing.assert_array_equal(pairs.predict(K2), theirs.predict(K2))


# --- KernelSVR ----------------------------------------------------------------------------------------------------


def test_regression_is_libsvm_on_the_matrix() -> None:
    y = np.array([tree.count("(") for tree in TREES], float)
    model = tl.KernelSVR(KERNEL, C=10, epsilon=0.2, tol=1e-6).fit(TREES, y)
    theirs = SVR(kernel="precomputed", C=10, epsilon=0.2, tol=1e-6).fit(KERNEL(TREES), y)
    np.testing.assert_allclose(model.predict(MORE), theirs.predict(KERNEL(MORE, TREES)), atol=CLOSE)
    assert model.score(MORE, [tree.count("(") for tree in MORE]) > 0.7


# --- in scikit-learn ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "container",
    [list, tl.Treebank, lambda X: [tl.Tree.parse(x) for x in X], lambda X: np.array(X, dtype=object), np.array],
)
def test_grid_search_equals_a_loop(container: Any) -> None:
    X, folds, lams = container(HARD), StratifiedKFold(3), [0.05, 0.2, 0.4, 0.9]
    search = GridSearchCV(tl.KernelSVC(tl.SubsetTree()), {"kernel__lam": lams}, cv=folds, n_jobs=2)
    search.fit(X, HARD_LABELS)
    bank, means = tl.Treebank(HARD), []
    for lam in lams:
        K, scores = tl.SubsetTree(lam)(bank), []
        for train, test in folds.split(HARD, HARD_LABELS):
            machines = {
                c: SVC(kernel="precomputed").fit(K[np.ix_(train, train)], HARD_LABELS[train] == c) for c in set(LABELS)
            }
            values = {c: m.decision_function(K[np.ix_(test, train)]) for c, m in machines.items()}
            names = sorted(values)
            predicted = np.array(names)[np.column_stack([values[c] for c in names]).argmax(axis=1)]
            scores.append(np.mean(predicted == HARD_LABELS[test]))
        means.append(np.mean(scores))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means, rtol=1e-12)
    assert len(set(means)) > 1, "the grid makes no difference: the test shows nothing"
    assert search.best_score_ == pytest.approx(max(means), rel=1e-12)
    assert search.best_estimator_.kernel.lam == lams[int(np.argmax(means))]
    assert search.score(MORE, MORE_LABELS) > 0.8


def test_the_default_kernel_has_parameters_too() -> None:
    clf = tl.KernelSVC().set_params(kernel__kernel__lam=0.7)
    assert clf.kernel == tl.SubsetTree(0.7).normalized()
    assert tl.KernelSVC().kernel is None


def test_cross_validation_and_pipelines() -> None:
    clf = tl.KernelSVC(KERNEL)
    alone = cross_val_score(clf, HARD, HARD_LABELS, cv=3)
    np.testing.assert_array_equal(cross_val_score(clf, tl.Treebank(HARD), HARD_LABELS, cv=3, n_jobs=2), alone)
    piped = Pipeline([("svm", clf)])
    np.testing.assert_array_equal(cross_val_score(piped, HARD, HARD_LABELS, cv=3), alone)
    back = cross_validate(clf, HARD, HARD_LABELS, cv=3, n_jobs=2, return_estimator=True)
    np.testing.assert_array_equal(back["test_score"], alone)
    assert back["estimator"][0].predict(MORE).shape == (45,)


def test_data_frames() -> None:
    pd = pytest.importorskip("pandas")
    kernel = tl.On("tree", KERNEL) + tl.On("length", tl.Linear())
    frame = pd.DataFrame({"tree": HARD, "length": [len(tree) / 50 for tree in HARD]})
    clf = tl.KernelSVC(kernel).fit(frame, pd.Series(HARD_LABELS))
    expected = clf.decision_function(rows(HARD))
    np.testing.assert_allclose(clf.decision_function(frame), expected, atol=1e-9)
    np.testing.assert_allclose(clf.decision_function(tl.structures.Table.from_any(frame)), expected, atol=1e-9)
    one = cross_val_score(tl.KernelSVC(kernel), frame, HARD_LABELS, cv=3, n_jobs=2)
    for other in (rows(HARD), tl.structures.Table.from_any(frame)):
        np.testing.assert_array_equal(cross_val_score(tl.KernelSVC(kernel), other, HARD_LABELS, cv=3), one)
    search = GridSearchCV(tl.KernelSVC(kernel), {"kernel__k1__kernel__lam": [0.2, 0.4]}, cv=3, n_jobs=2)
    assert search.fit(frame, HARD_LABELS).best_score_ > 0.5


def test_clone_copies_the_kernel() -> None:
    clf = tl.KernelSVC(0.5 * KERNEL + tl.PartialTree().normalized(), C=3)
    copy = clone(clf)
    assert copy.kernel == clf.kernel
    assert copy.kernel is not clf.kernel
    copy.set_params(kernel__k1__kernel__lam=0.9)
    assert clf.kernel.k1.kernel.lam == 0.4
    assert clf.get_params()["kernel__k2__kernel__mu"] == 0.4


ESTIMATORS = {
    "svc": tl.KernelSVC(KERNEL),
    "svc-default": tl.KernelSVC(),
    "svc-sum": tl.KernelSVC(KERNEL + tl.PartialTree().normalized(), n_jobs=2),
    "svc-weights": tl.KernelSVC(KERNEL, class_weight={"deed": 2.0}),
    "svc-product": tl.KernelSVC(KERNEL * tl.PartialTree()),
    "matrix": tl.KernelMatrix(KERNEL),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("container", [list, tl.Treebank])
def test_check_estimator(name: str, container: Any) -> None:
    check_estimator(ESTIMATORS[name], container(TREES), LABELS)


@pytest.mark.parametrize(
    "kernel",
    [tl.On("tree", KERNEL) + tl.On("length", tl.Linear()), tl.On("tree", KERNEL) * tl.On("length", tl.Polynomial(2))],
    ids=repr,
)
def test_check_estimator_on_columns(kernel: tl.kernels.Kernel) -> None:
    check_estimator(tl.KernelSVC(kernel), rows(TREES), LABELS)


def test_check_estimator_on_values() -> None:
    check_estimator(tl.KernelSVR(KERNEL), TREES, np.arange(60.0))
    check_estimator(tl.KernelSVC(tl.Bag(KERNEL)), [[tree, "(A x)"] for tree in TREES], LABELS)


class Forgetful(tl.KernelSVC):
    """Predictions that depend on the other examples."""

    def decision_function(self, X: Any) -> Any:
        scores = super().decision_function(X)
        return scores - scores.mean(axis=0) if len(scores) else scores


class Careless(tl.KernelSVC):
    """Takes labels that are too few."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        y = list(y) + [y[-1]] * (len(X) - len(y)) if len(y) else y
        return super().fit(X, y, sample_weight)


class Silent(tl.KernelSVC):
    """Returns nothing from fit."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Forgetful, "order|slice|alone"),
        (Careless, "fewer values"),
        (Silent, "does not return"),
    ],
)
def test_check_estimator_sees_planted_errors(wrong: type, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_estimator(wrong(KERNEL), TREES, LABELS)


def test_testing_does_not_bring_scikit_learn() -> None:
    code = "import sys, treelet.testing; assert 'sklearn' not in sys.modules; treelet.testing.check_estimator"
    subprocess.run([sys.executable, "-c", code + "; assert 'sklearn' in sys.modules"], check=True)


# --- KernelMatrix -------------------------------------------------------------------------------------------------


def test_kernel_matrix() -> None:
    step = tl.KernelMatrix(KERNEL)
    K = step.fit_transform(TREES)
    np.testing.assert_array_equal(K, KERNEL(TREES))
    np.testing.assert_allclose(step.transform(MORE), KERNEL(MORE, TREES), rtol=1e-12)
    np.testing.assert_allclose(step.fit(TREES).transform(TREES), K, rtol=1e-12)


@pytest.mark.parametrize("columns", [False, True])
def test_a_kernel_matrix_keeps_its_examples(columns: bool) -> None:
    values = np.arange(6.0).reshape(3, 2)
    kernel, X = (tl.On("x", tl.Linear()), {"x": values}) if columns else (tl.Linear(), values)
    step = tl.KernelMatrix(kernel).fit(X)
    new = {"x": np.ones((1, 2))} if columns else np.ones((1, 2))
    before = step.transform(new)
    values[:] = 0
    np.testing.assert_array_equal(step.transform(new), before)


def test_kernel_matrix_before_svc() -> None:
    model = make_pipeline(tl.KernelMatrix(KERNEL), SVC(kernel="precomputed"))
    assert model.fit(TREES, LABELS).score(MORE, MORE_LABELS) > 0.9
    scores = cross_val_score(model, HARD, HARD_LABELS, cv=3, n_jobs=2)
    K, by_hand = KERNEL(HARD), []
    for train, test in StratifiedKFold(3).split(HARD, HARD_LABELS):
        machine = SVC(kernel="precomputed").fit(K[np.ix_(train, train)], HARD_LABELS[train])
        by_hand.append(machine.score(K[np.ix_(test, train)], HARD_LABELS[test]))
    np.testing.assert_array_equal(scores, by_hand)
    search = GridSearchCV(model, {"kernelmatrix__kernel__lam": [0.1, 0.4]}, cv=3).fit(HARD, HARD_LABELS)
    assert search.best_params_["kernelmatrix__kernel__lam"] in (0.1, 0.4)


def test_kernel_pca_parts_the_classes() -> None:
    model = make_pipeline(
        tl.KernelMatrix(KERNEL.normalized()), KernelPCA(2, kernel="precomputed"), LogisticRegression()
    )
    assert model.fit(TREES, LABELS).score(MORE, MORE_LABELS) > 0.9


def test_spectral_clustering_finds_the_classes() -> None:
    K = tl.SubsetTree(0.4).normalized()(TREES)
    found = SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(K**3)
    assert adjusted_rand_score(LABELS, found) > 0.5
    model = make_pipeline(tl.KernelMatrix(KERNEL), SpectralClustering(3, affinity="precomputed", random_state=0))
    assert set(model.fit_predict(TREES)) == {0, 1, 2}


def test_kernel_ridge_learns_sizes() -> None:
    size = np.array([tree.count("(") for tree in TREES], float)
    model = make_pipeline(tl.KernelMatrix(KERNEL), KernelRidge(alpha=0.1, kernel="precomputed"))
    assert model.fit(TREES, size).score(MORE, [tree.count("(") for tree in MORE]) > 0.9


# --- what cannot be done ------------------------------------------------------------------------------------------

FOUR = TREES[:4]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (FOUR, ["a", "b", "a"], "X has 4 examples, but y has 3 values"),
        (FOUR, ["a"] * 4, "'a', but KernelSVC needs at least two"),
        (FOUR, [0, 1, np.nan, 1], r"y\[2\] is missing \(None or NaN"),
        (FOUR, ["a", None, "b", "b"], r"y\[1\] is missing \(None or NaN"),
        (FOUR, np.array(["a", np.nan, "b", None], dtype=object), r"y\[1\] is missing \(None or NaN.*2 missing values"),
        (FOUR, [1.0, 1.25, 2.75, 3.1], r"y\[1\] = 1.25, but KernelSVC predicts"),
        (FOUR, np.array(["a", 1, "b", 2], dtype=object), "Pass one string, int or bool per example"),
        (FOUR, [["a", "b"]] * 4, "y must have one dimension"),
        (FOUR, None, "fit needs the class or value"),
        ([], [], "X is empty"),
    ],
)
def test_bad_data(X: Any, y: Any, message: str) -> None:
    with pytest.raises(tl.TreeletError, match=message) as caught:
        tl.KernelSVC(KERNEL).fit(X, y)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "'C' parameter of KernelSVC must be a number"),
        ({"C": "1"}, "'C' parameter"),
        ({"class_weight": "even"}, "'class_weight' parameter"),
        ({"class_weight": {"verb": 2}}, "'class_weight'.*'deed', 'relation' and 'thing'"),
        ({"class_weight": {"deed": -1}}, "'class_weight'.*dict from classes of y to positive"),
        ({"kernel": "rbf"}, "'kernel'.*a kernel, 'precomputed' or None.*'rbf'"),
        ({"kernel": tl.SubsetTree}, "'kernel'.*a kernel, 'precomputed' or None.*the class SubsetTree instead"),
        ({"kernel": tl.SubsetTree}, r"Did you mean SubsetTree\(\)"),
        ({"kernel": "sst"}, r"'kernel'.* Did you mean SubsetTree"),
        ({"kernel": "PT"}, r"'kernel'.* Did you mean PartialTree"),
        ({"kernel": "subset tree"}, r"Did you mean SubsetTree\(\)\?"),
        ({"kernel": "precompute"}, r"'kernel'.*Did you mean 'precomputed'"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
        ({"tol": 0}, "'tol' parameter"),
        ({"max_iter": 1.5}, "'max_iter' parameter"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(tl.errors.ParameterError, match=message):
        tl.KernelSVC(**params).fit(TREES, LABELS)


def test_other_errors() -> None:
    with pytest.raises(NotFittedError):
        tl.KernelSVC().predict(TREES)
    with pytest.raises(NotFittedError):
        tl.KernelMatrix().transform(TREES)
    with pytest.raises(tl.errors.FormatError):
        tl.KernelSVC().fit(["(A x", "(B x)"], [0, 1])
    with pytest.raises(tl.errors.ParameterError, match="All values of sample_weight are 0"):
        tl.KernelSVC().fit(TREES, LABELS, sample_weight=np.zeros(60))
    with pytest.raises(tl.errors.ParameterError, match=r"Got -1 for sample_weight\[3\] instead"):
        tl.KernelSVC().fit(TREES, LABELS, sample_weight=[1, 1, 1, -1, *[1] * 56])
    with pytest.raises(tl.errors.ParameterError, match="y must contain one number per example"):
        tl.KernelSVR().fit(TREES, LABELS)
    with pytest.raises(tl.errors.ParameterError, match="'epsilon' parameter"):
        tl.KernelSVR(epsilon=-1).fit(TREES, range(60))


def test_a_fit_to_nothing_is_warned_of() -> None:
    with pytest.warns(tl.errors.TreeletWarning) as caught:
        tl.KernelSVC(KERNEL).fit([None, np.nan] * 20, [0, 1] * 20)
    (warning,) = caught
    assert "the kernel is 0 for all of 40 examples" in str(warning.message)


@pytest.mark.parametrize("model", [tl.KernelSVC(), tl.KernelMatrix(), tl.RLS()], ids=repr)
def test_columns_that_no_kernel_looks_at_may_hold_anything(model: Any, tmp_path: Path) -> None:
    frame = FRAME.assign(day=pd.Timestamp("2020-01-01"), thing=object())
    model = clone(model).set_params(kernel=tl.On("tree", tl.SubsetTree())).fit(frame, CLASSES)
    tl.save(model, tmp_path / "m")
    values, again = (
        getattr(one, "predict", getattr(one, "transform", None)) for one in (model, tl.load(tmp_path / "m"))
    )
    np.testing.assert_array_equal(again(frame), values(frame[["tree"]]))


def test_distances_are_no_kernel_values() -> None:
    """They are symmetric and finite, and a machine that learns from them is worse than a guess."""
    kernel = KERNEL.normalized()
    with pytest.raises(tl.errors.ParameterError, match="diagonal is 0, as for distances"):
        tl.KernelSVC("precomputed").fit(kernel.distance()(TREES), LABELS)
    tl.KernelSVC("precomputed").fit(np.zeros((4, 4)), [0, 1, 0, 1])  # says nothing, but is one


def test_names_of_parameters_reach_through_wrappers() -> None:
    from sklearn.base import clone

    for kernel in (None, tl.SubsetTree().normalized(), 2 * tl.SubsetTree().normalized().gaussian(1.0)):
        machine = tl.KernelSVC(kernel=kernel).set_params(kernel__lam=0.3)
        assert "SubsetTree(lam=0.3)" in repr(machine.kernel)
        assert "SubsetTree(lam=0.3)" in repr(clone(machine).kernel)
    with pytest.raises(tl.errors.ParameterError, match="no parameter 'nonsense'"):
        tl.SubsetTree().normalized().set_params(nonsense=1)
    named = tl.Sum(syntax=tl.On("tree", tl.SubsetTree().normalized()), length=tl.On("length", tl.Linear()))
    machine = tl.KernelSVC(named)
    with pytest.raises(tl.errors.ParameterError, match=r"Did you mean 'kernel__syntax__lam'\?"):
        machine.set_params(kernel__syntax__lamda=0.2)
    with pytest.raises(tl.errors.ParameterError, match="no parameter 'kernel__length__factor'"):
        machine.set_params(kernel__length__factor=0.1)
    for unsaid in (tl.KernelSVC(), tl.KernelSVC(tl.SubsetTree())):
        with pytest.raises(tl.errors.ParameterError, match="KernelSVC has no parameter 'lam'"):
            unsaid.set_params(lam=0.2)
    with pytest.raises(ValueError, match="KernelSVC has no parameter 'nonsense'"):
        machine.set_params(nonsense=0.2)
    with pytest.raises(ValueError, match=r"Did you mean 'class_weight'\?"):
        machine.set_params(class_weights="balanced")
    kernel = tl.SubsetTree(lam=0.4).gaussian(1.0)
    with pytest.raises(tl.errors.ParameterError, match="'sigma' parameter"):
        kernel.set_params(kernel__lam=0.9, sigma=-1)
    assert kernel == tl.SubsetTree(lam=0.4).gaussian(1.0), "a refused change leaves nothing behind"


def test_unknown_keywords_of_constructors_are_reported_with_a_suggestion() -> None:
    for params, hint in (
        ({"c": 1.0}, r"\. Did you mean 'C'\?"),
        ({"lam": 0.4}, r"use KernelSVC\(SubsetTree\(lam=\.\.\.\)\)"),
        ({"nonsense": 1}, r"\. The parameters are 'C', "),
    ):
        with pytest.raises(TypeError, match=rf"no parameter '{next(iter(params))}'.*{hint}") as error:
            tl.KernelSVC(**params)
        assert isinstance(error.value, tl.errors.InputTypeError)

    class Flexible(tl.KernelSVC):
        def __init__(self, **options: Any) -> None:
            super().__init__(C=options["price"])

    assert Flexible(price=3.0).C == 3.0
    assert list(inspect.signature(tl.KernelSVC).parameters)[:2] == ["kernel", "C"]
    assert clone(tl.KernelSVC(C=2.0)).get_params()["C"] == 2.0
    assert pickle.loads(pickle.dumps(tl.KernelSVC(C=2.0))).C == 2.0


# --- scikit-learn's pipelines ---------------------------------------------------------------------------------------

FRAME = pd.DataFrame(
    {"tree": ["(A x)", "(B y)", "(A (C z))", "(B (C z))"] * 5, "n": np.arange(20.0)}, index=range(50, 70)
)
CLASSES = np.array([0, 1] * 10)


def beside_numbers(column: Any = "tree") -> Any:
    return ColumnTransformer([("t", tl.KernelMatrix(tl.SubsetTree()), column), ("n", StandardScaler(), ["n"])])


def test_columns_of_a_kernel_matrix_have_names() -> None:
    matrix = tl.KernelMatrix(tl.SubsetTree()).fit(FRAME["tree"])
    assert matrix.get_feature_names_out().tolist() == [f"kernelmatrix{k}" for k in range(20)]
    plain = matrix.transform(FRAME["tree"])
    shown = matrix.set_output(transform="pandas").transform(FRAME["tree"])
    assert isinstance(shown, pd.DataFrame)
    np.testing.assert_array_equal(shown.to_numpy(), plain)
    assert shown.index.tolist() == FRAME.index.tolist()
    assert shown.columns.tolist() == matrix.get_feature_names_out().tolist()
    union = make_union(tl.KernelMatrix(tl.SubsetTree()), tl.KernelMatrix(tl.PartialTree())).set_output(
        transform="pandas"
    )
    assert union.fit_transform(FRAME["tree"]).columns[20] == "kernelmatrix-2__kernelmatrix0"
    with pytest.raises(NotFittedError):
        tl.KernelMatrix().get_feature_names_out()


@pytest.mark.parametrize("column", ["tree", ["tree"]], ids=["one", "a list of one"])
def test_kernel_values_beside_other_columns(column: Any, tmp_path: Path) -> None:
    values = beside_numbers(column).fit_transform(FRAME)
    np.testing.assert_array_equal(values[:, :20], tl.SubsetTree()(FRAME["tree"]))
    shown = beside_numbers(column).set_output(transform="pandas").fit_transform(FRAME)
    assert shown.columns.tolist()[-2:] == ["t__kernelmatrix19", "n__n"]
    model = make_pipeline(beside_numbers(column), LogisticRegression())
    assert cross_val_score(model, FRAME, CLASSES, cv=2, error_score="raise").shape == (2,)
    assert len(cross_val_predict(model, FRAME, CLASSES, cv=2)) == 20
    grid = {"columntransformer__t__kernel__lam": [0.1, 0.9]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(FRAME, CLASSES)
    expected = search.decision_function(FRAME)
    joblib.dump(search, tmp_path / "search.joblib")
    for again in (pickle.loads(pickle.dumps(search)), joblib.load(tmp_path / "search.joblib")):
        np.testing.assert_array_equal(again.decision_function(FRAME), expected)
    clone(search).fit(FRAME, CLASSES)


def test_a_column_transformer_of_one_column_feeds_a_tree_kernel() -> None:
    kept = ColumnTransformer([("keep", "passthrough", ["tree"])])
    for model in (
        tl.KernelSVC(tl.SubsetTree()),
        make_pipeline(tl.KernelMatrix(tl.SubsetTree()), SVC(kernel="precomputed")),
    ):
        assert make_pipeline(kept, model).fit(FRAME, CLASSES).score(FRAME, CLASSES) == 1


# --- named summands ---------------------------------------------------------------------------------------------------


def test_named_summands_are_chosen_by_their_names(tmp_path: Path) -> None:
    kernel = tl.Sum(syntax=0.6 * tl.SubsetTree(lam=0.4).normalized(), shape=0.4 * tl.PartialTree().normalized())
    grid = {"kernel__syntax__lam": [0.1, 0.5], "kernel__shape__factor": [0.4, 1.0]}
    search = GridSearchCV(tl.KernelSVC(kernel), grid, cv=2, error_score="raise").fit(HARD, HARD_LABELS)
    assert set(search.best_params_) == set(grid)
    best = search.best_estimator_
    assert best.kernel.syntax.kernel.kernel.lam == search.best_params_["kernel__syntax__lam"]
    tl.save(best, tmp_path / "m.treelet")
    again = tl.load(tmp_path / "m.treelet")
    assert repr(again.kernel) == repr(best.kernel)
    np.testing.assert_array_equal(again.decision_function(MORE), best.decision_function(MORE))
    kernels = [clone(kernel).set_params(syntax__lam=lam) for lam in (0.1, 0.5)]
    chosen = select(kernels, HARD, HARD_LABELS, cv=2)
    assert len(chosen.trials) == 2
    for trial, lam in zip(chosen.trials, (0.1, 0.5), strict=True):
        assert trial.kernel.syntax.kernel.kernel.lam == lam  # type: ignore[attr-defined]
        plain = 0.6 * tl.SubsetTree(lam=lam).normalized() + 0.4 * tl.PartialTree().normalized()
        assert trial.score == select([plain], HARD, HARD_LABELS, cv=2).best.score
    matrix = tl.KernelMatrix(kernel).set_params(kernel__syntax__lam=0.3)
    assert matrix.kernel.syntax.kernel.kernel.lam == 0.3
    check_estimator(tl.KernelSVC(kernel), TREES[:12], LABELS[:12])
    check_estimator(tl.KernelMatrix(tl.Sum(a=tl.SubsetTree(), b=tl.Subtree())), TREES[:12])
    check_estimator(tl.KernelSVC(tl.PartialTree(terminal_factor=0.5)), TREES[:12], LABELS[:12])


def test_self_values_of_training_examples_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    native = StoreKernel.native_self_values

    def counted(self: Any, store: Any, weights: Any, logs: bool) -> Any:
        sizes.append(len(weights))
        return native(self, store, weights, logs)

    monkeypatch.setattr(StoreKernel, "native_self_values", counted)
    vectors = {"w1": [1.0, 0.1], "w2": [1.0, 0.2]}
    several = sum((tl.SubsetTree(lam=k / 10).normalized() for k in range(1, 10)), tl.PartialTree().normalized())
    cases: list[tuple[tl.kernels.Kernel, list[Any]]] = [
        (tl.SubsetTree().normalized(), TREES),
        (several, TREES),
        (tl.Smoothed(vectors).normalized(), TREES),
        (tl.Locality({"": 3}).normalized(), [list(tree) for tree in TREES]),
        (tl.Bag(tl.SubsetTree()).normalized(), [[tree] for tree in TREES]),
        (tl.Bag(several).gaussian(2.0), [[tree] for tree in TREES]),
    ]
    for kernel, X in cases:
        matrix = tl.KernelMatrix(kernel).fit(X[:50])
        first = matrix.transform(X[50:])
        sizes.clear()
        np.testing.assert_array_equal(matrix.transform(X[50:]), first)
        assert 50 not in sizes, kernel
    kernel = tl.Smoothed(dict(vectors))
    before = kernel.diag(bank := tl.Treebank(TREES))
    kernel.vectors = {"w1": [1.0, 0.1], "w2": [0.0, 0.2]}
    assert (kernel.diag(bank) != before).any(), "other vectors have other values"


def test_trees_too_large_for_their_kernel_are_said():
    rng = np.random.default_rng(0)

    def large() -> str:  # a chain: fragments of all depths
        words = "".join(f"(A (B {rng.integers(3)}) " for _ in range(60))
        return words + "(C c)" + ")" * 60

    X, y = [large() for _ in range(20)], ["a", "b"] * (10)
    with pytest.warns(tl.errors.TreeletWarning, match="Hardly any training examples"):
        tl.KernelSVC(tl.SubsetTree(lam=1).normalized()).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.KernelSVC(tl.SubsetTree(lam=0.1).normalized()).fit(X, y)
        tl.KernelSVC(tl.SubsetTree(max_depth=2).normalized()).fit(X, y)
        tl.KernelSVC(tl.SubsetTree(lam=1).normalized()).fit(X[:4], y[:4])


def test_a_warning_about_examples_without_common_fragments():
    model = tl.KernelSVC().fit(["(S (A a))", "(S (B b))", "(S (B c))"], ["x", "y", "y"])
    labels = "training: S, B, A; here: Module, Pass"
    with pytest.warns(tl.errors.TreeletWarning, match=rf"1 of 2 examples.*{labels}"):
        model.predict(["(S (A a))", "(Module (Pass x))"])
    with pytest.warns(tl.errors.TreeletWarning, match=rf"3 of 3 examples.*{labels}"):
        model.predict(["(Module (Pass x))"] * 3)
    with pytest.warns(tl.errors.TreeletWarning, match="1 example.*data and was read with the same options"):
        model.predict(["(A (B (S x)))"])
    vectors = tl.KernelSVC(tl.Linear()).fit([[1.0, 0.0], [2.0, 0.0]], [0, 1])
    with pytest.warns(tl.errors.TreeletWarning, match="1 example.*data and was read with the same options"):
        vectors.predict([[0.0, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(["(S (A a))"])
        vectors.predict([[0.0, 0.0]])  # a vector of zeros is not missing
        model.predict([])


@pytest.mark.parametrize("names", [["x", "y", "z"], [0, 1, 2]])
def test_columns_of_a_given_matrix_keep_their_order(tmp_path: Path, names: list[Any]) -> None:
    pandas = pytest.importorskip("pandas")
    K = pandas.DataFrame(tl.SubsetTree()(["(A a)", "(B b)", "(A b)"]), index=names, columns=names)
    fitted = tl.KernelSVC("precomputed", C=100).fit(K, [0, 1, 0])
    tl.save(fitted, tmp_path / "m.treelet")
    for model in (fitted, tl.load(tmp_path / "m.treelet")):
        assert model.predict(K).tolist() == model.predict(K.to_numpy()).tolist() == [0, 1, 0]
        with pytest.raises(tl.errors.ParameterError, match=f"Column 0 is {names[2]!r} but was {names[0]!r}"):
            model.predict(K[names[::-1]])
        assert model.predict(K[names[::-1]][model.feature_names_in_]).tolist() == [0, 1, 0]
    assert not hasattr(fitted.fit(K.to_numpy(), [0, 1, 0]), "feature_names_in_")


@pytest.mark.parametrize("machine", [tl.KernelSVC, tl.KernelSVR])
def test_values_that_are_too_large_for_libsvm(machine: Any) -> None:
    K, y = np.diag([1e148] * 6) + 1e147, [0, 1, 0, 1, 0, 1]
    with pytest.raises(tl.errors.KernelOverflowError, match=r"reach 1\.1e\+148, but a support vector machine needs"):
        machine("precomputed").fit(K, y)
    machine("precomputed").fit(K / 1e148, y)
    trees = ["(A " + f"(B (C x{i}) (D y{i}))" * (60 + i) + ")" for i in range(6)]
    with pytest.raises(tl.errors.KernelOverflowError, match=r"reach 2\.71e\+45, but a support vector machine needs"):
        machine(tl.SubsetTree(lam=1)).fit(trees, y)
    machine(tl.SubsetTree(lam=1).normalized()).fit(trees, y)


@pytest.mark.parametrize(
    "model",
    [
        tl.KernelSVC(),
        tl.KernelSVR(),
        tl.RLS(),
        tl.RankRLS(),
        tl.RankSVM(),
        tl.VotedPerceptron(),
        tl.VotedPerceptron(prediction="voted"),
    ],
    ids=repr,
)
def test_missing_examples_cause_a_warning(model: Any, tmp_path: Path) -> None:
    groups = [[0, 0, 0]] if hasattr(model, "rank") else []
    model.fit(["(A a)", "(B b)", "(A (B b))"], [0, 1, 1], *groups)
    for missing in (None, float("nan")):
        with pytest.warns(tl.errors.TreeletWarning, match="^2 of 3 examples are missing or empty") as seen:
            model.predict([missing, "(A a)", missing], *groups)
        assert [warning.filename for warning in seen] == [__file__]
    if getattr(model, "prediction", None) != "voted":
        tl.save(model, tmp_path / "model")
        with pytest.warns(tl.errors.TreeletWarning, match="^1 of 1 example is missing or empty"):
            load_predictor(tmp_path / "model").predict([None])


def test_warnings_about_examples_show_the_line_of_the_user() -> None:
    model = tl.KernelSVC().fit(["(A a)", "(B b)"], [0, 1])
    calls: list[Any] = [lambda: model.predict(["(C c)"]), lambda: model.decision_function(["(C c)"])]
    calls += [lambda: model.score(["(A a)"], [2]), lambda: tl.explain(model, "(C c)")]
    for call in calls:
        with pytest.warns(tl.errors.TreeletWarning) as seen:
            call()
        assert [warning.filename for warning in seen] == [__file__]


# --- columns of columns -------------------------------------------------------------------------------------------

NESTED = [
    {
        "p": {"a": f"(A (B {'xyz'[i % 3]}) (C {'uv'[i % 2]}))", "w": {"abc"[i % 3]: 1.0 + i, "d": 0.5}, "unused": "x"},
        "c": [{"t": f"(D {'xyz'[(i + j) % 3]})"} for j in range(1 + i % 3)],
    }
    for i in range(8)
]
FLAT = [{"a": row["p"]["a"], "w": row["p"]["w"], "c": [member["t"] for member in row["c"]]} for row in NESTED]
ON_NESTED = (
    tl.On("p", tl.On("a", tl.SubsetTree())) + tl.On("p", tl.On("w", tl.Linear())),
    tl.On("p", (tl.On("a", tl.SubsetTree()) + tl.On("w", tl.Linear())).normalized()),
    tl.On("p", tl.On("a", tl.SubsetTree())) * tl.On("c", tl.Bag(tl.On("t", tl.SubsetTree()))),
)
ON_FLAT = (
    tl.On("a", tl.SubsetTree()) + tl.On("w", tl.Linear()),
    (tl.On("a", tl.SubsetTree()) + tl.On("w", tl.Linear())).normalized(),
    tl.On("a", tl.SubsetTree()) * tl.On("c", tl.Bag(tl.SubsetTree())),
)


@pytest.mark.parametrize(("nested", "flat"), list(zip(ON_NESTED, ON_FLAT, strict=True)))
def test_columns_of_columns(nested: tl.kernels.Kernel, flat: tl.kernels.Kernel, tmp_path: Path) -> None:
    y = [0, 1] * 4
    one, other = tl.KernelSVC(nested).fit(NESTED, y), tl.KernelSVC(flat).fit(FLAT, y)
    np.testing.assert_allclose(one.decision_function(NESTED), other.decision_function(FLAT), atol=1e-9)
    tl.save(one, tmp_path / "model.treelet")
    loaded = tl.load(tmp_path / "model.treelet")
    np.testing.assert_array_equal(loaded.decision_function(NESTED), one.decision_function(NESTED))
    maps = [
        tl.Nystroem(k, n_components=3, random_state=0).fit_transform(X) for k, X in ((nested, NESTED), (flat, FLAT))
    ]
    np.testing.assert_allclose(*maps, atol=1e-9)
    search, other_search = tl.Nearest(nested, n_neighbors=2).fit(NESTED[:5]), tl.Nearest(flat, n_neighbors=2).fit(FLAT)
    search.partial_fit(NESTED[5:])
    values = search.kneighbors(NESTED)[0]
    np.testing.assert_allclose(values, other_search.kneighbors(FLAT)[0])
    assert "unused" not in search.X_fit_["p"].names
    for kept in (search, other_search):  # rows of what is kept are examples again: dicts, bags and named vectors
        np.testing.assert_allclose(kept.kneighbors(list(kept.X_fit_))[0], values)
