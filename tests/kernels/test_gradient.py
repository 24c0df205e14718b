"""Derivatives with respect to parameters, and Gaussian processes that use them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

import treelet as tl
from conftest import run_python


def test_theta_names_the_parameters_in_order() -> None:
    kernel = 0.5 * tl.SubsetTree(lam=0.25) + tl.PartialTree(lam=0.1, mu=0.2)
    assert [h.name for h in kernel.hyperparameters] == ["k1__factor", "k1__kernel__lam", "k2__lam", "k2__mu"]
    np.testing.assert_allclose(np.exp(kernel.theta), [0.5, 0.25, 0.1, 0.2])
    copy = kernel.clone_with_theta(np.log([0.7, 0.3, 0.2, 0.1]))
    np.testing.assert_allclose(np.exp(copy.theta), [0.7, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(np.exp(kernel.theta), [0.5, 0.25, 0.1, 0.2])
    assert kernel.clone_with_theta(kernel.bounds[:, 1]).k2.lam == 1
    with pytest.raises(tl.errors.ParameterError, match="have 4 values, one per tunable parameter"):
        kernel.theta = [0.0]
    with pytest.raises(tl.errors.ParameterError, match="Omit Y and out="):
        kernel(["(A x)"], ["(A x)"], eval_gradient=True)
    with pytest.raises(tl.errors.ParameterError, match="Pass other options by name"):
        kernel(["(A x)"], ["(A x)"], 2)
    assert kernel.gradient([])[1].shape == (0, 0, 4)


def labelled_trees(n: int = 40) -> tuple[list[str], np.ndarray]:
    """Return trees of two classes: class 1 has a negation below its verb phrase, and words are noise."""
    rng = np.random.default_rng(0)
    nouns, verbs = ["cat", "dog", "bird", "man"], ["sees", "likes", "knows"]
    texts, y = [], rng.integers(0, 2, n)
    for label in y:
        noun, verb, other = rng.choice(nouns), rng.choice(verbs), rng.choice(nouns)
        negation = "(ADV not) " if label else ""
        texts.append(f"(S (NP (D the) (N {noun})) (VP {negation}(V {verb}) (NP (D a) (N {other}))))")
    return texts, y


@pytest.mark.parametrize("form", ["strings", "bank", "trees"])
def test_gaussian_process_classifier_tunes_a_tree_kernel(form: str) -> None:
    texts, y = labelled_trees()
    X = {"strings": texts, "bank": tl.Treebank(texts), "trees": list(tl.Treebank(texts))}[form]
    start = tl.SubsetTree(lam=0.9).normalized()
    model = GaussianProcessClassifier(kernel=3.0 * start, random_state=0).fit(X[:30], y[:30])
    assert model.score(X[30:], y[30:]) == 1.0
    assert isinstance(model.kernel_, tl.kernels.Scale)
    assert model.kernel_.kernel.kernel.lam != 0.9, "the optimizer did not move lam"
    fixed = GaussianProcessClassifier(kernel=3.0 * start, optimizer=None).fit(X[:30], y[:30])
    assert model.log_marginal_likelihood_value_ > fixed.log_marginal_likelihood_value_
    value, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    for k in range(len(gradient)):
        step = np.zeros(len(gradient))
        step[k] = 1e-5
        around = [model.log_marginal_likelihood(model.kernel_.theta + sign * step) for sign in (1, -1)]
        assert gradient[k] == pytest.approx((around[0] - around[1]) / 2e-5, abs=1e-5 * max(1, abs(value)))


def test_gaussian_process_regressor() -> None:
    texts, y = labelled_trees()
    model = GaussianProcessRegressor(kernel=tl.PartialTree(lam=0.5, mu=0.5).normalized(), alpha=0.01, random_state=0)
    model.fit(texts[:30], y[:30].astype(float))
    assert ((model.predict(texts[30:]) > 0.5) == y[30:]).all()


def test_gaussian_processes_take_kernels_that_were_there_before_them() -> None:
    run_python(
        "import sys, treelet as tl; kernel = tl.SubsetTree().normalized(); assert 'sklearn' not in sys.modules\n"
        "from sklearn.gaussian_process import GaussianProcessRegressor\n"
        "GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(['(A a)', '(B b)'], [0, 1])"
    )


def test_kernels_of_scikit_learn_beside_ours() -> None:
    texts, y = labelled_trees()
    own, noise = tl.SubsetTree(lam=0.4).normalized(), WhiteKernel(0.5)
    expected = own(texts[:9])
    for both in (own + noise, noise + own):
        np.testing.assert_allclose(both(texts[:9]), expected + 0.5 * np.eye(9))
        assert GaussianProcessRegressor(both, optimizer=None).fit(texts[:30], y[:30]).score(texts[30:], y[30:]) > 0.5
    for both in (own * ConstantKernel(2.0), ConstantKernel(2.0) * own):
        np.testing.assert_allclose(both(texts[:9]), 2 * expected)
    with pytest.raises(tl.errors.InputTypeError, match="only with a kernel"):
        own + "noise"  # type: ignore[operator]


@pytest.mark.parametrize("how", ["constructor", "set_params"])
def test_a_gaussian_process_leaves_fixed_parameters_alone(how: str) -> None:
    texts, y = labelled_trees()
    if how == "constructor":
        kernel = tl.PartialTree(lam=0.5, mu=0.35, mu_bounds="fixed").normalized().gaussian(2.0, sigma_bounds=(1.5, 3.0))
    else:
        kernel = tl.PartialTree(lam=0.5, mu=0.35).normalized().gaussian(2.0)
        kernel.set_params(mu_bounds="fixed", sigma_bounds=(1.5, 3.0))
    fixed = {h.name: h.fixed for h in kernel.hyperparameters}
    assert fixed == {"sigma": False, "kernel__kernel__lam": False, "kernel__kernel__mu": True}
    assert kernel.n_dims == len(kernel.theta) == len(kernel.bounds) == 2
    free = tl.PartialTree(lam=0.5, mu=0.35).normalized().gaussian(2.0).gradient(texts[:9])[1]
    np.testing.assert_array_equal(kernel.gradient(texts[:9])[1], free[..., :2])
    model = GaussianProcessRegressor(kernel=kernel, alpha=0.01, random_state=0).fit(texts[:30], y[:30].astype(float))
    found = model.kernel_.kernel.kernel
    assert found.mu == 0.35
    assert found.lam != 0.5, "what is not fixed was not tuned"
    assert 1.5 <= model.kernel_.sigma <= 3.0
    assert eval(repr(kernel), vars(tl).copy() | {"PartialTree": tl.PartialTree}) == kernel


def test_all_parameters_fixed() -> None:
    texts, y = labelled_trees(20)
    kernel = tl.kernels.Scale(2.0, tl.SubsetTree(lam=0.4, lam_bounds="fixed"), factor_bounds="fixed")
    assert repr(kernel).startswith("Scale(")
    assert eval(repr(kernel), {"Scale": tl.kernels.Scale, "SubsetTree": tl.SubsetTree}) == kernel
    assert kernel != 2.0 * tl.SubsetTree(lam=0.4)
    K, dK = kernel.gradient(texts)
    np.testing.assert_array_equal(K, kernel(texts))
    assert dK.shape == (20, 20, 0)
    model = GaussianProcessRegressor(kernel=kernel, alpha=0.01).fit(texts, y.astype(float))
    assert model.kernel_ == kernel


@pytest.mark.parametrize(
    "bounds", ["free", (0.5,), (0.0, 1.0), (0.9, 0.1), (0.1, 2.0), None, (0.1, np.nan), ("a", "b")]
)
def test_bounds_that_make_no_sense(bounds: object) -> None:
    with pytest.raises(tl.errors.ParameterError, match=r"'lam_bounds'.*'fixed' or two numbers"):
        tl.SubsetTree(lam_bounds=bounds)


def test_theta_of_the_locality_kernel_is_its_parameter() -> None:
    kernel = tl.Locality(window=5, theta=0.25)
    assert kernel.n_dims == 0
    assert kernel.get_params()["theta"] == kernel.theta == 0.25
    assert repr(kernel) == "Locality(window=5, theta=0.25)"
    assert kernel.set_params(theta=0.75).theta == 0.75
    assert kernel == tl.Locality(5, 0.75) == clone(kernel) != tl.Locality(5)
    with pytest.raises(tl.errors.ParameterError, match=r"'theta'.*a number"):
        kernel.set_params(theta=-1)
    assert kernel.theta == 0.75
    mixed = 2.0 * kernel
    np.testing.assert_allclose(mixed.theta, [np.log(2.0)])
    mixed.theta = [0.0]
    assert mixed.factor == 1.0
    assert mixed.kernel.theta == 0.75


def test_gaussian_processes_accept_the_locality_kernel() -> None:
    texts, y = labelled_trees()
    X = tl.structures.SequenceBank([text.replace("(", "").replace(")", "").split() for text in texts])
    kernel = tl.Locality(window=3, theta=0.25)
    target = y.astype(float)
    for alone in (kernel, kernel.normalized()):
        model = GaussianProcessRegressor(alone, alpha=0.01).fit(X[:30], target[:30])
        assert ((model.predict(X[30:]) > 0.5) == y[30:]).all()
        likelihood = model.log_marginal_likelihood(model.kernel_.theta)
        assert likelihood == pytest.approx(model.log_marginal_likelihood_value_)
    assert GaussianProcessClassifier(kernel).fit(X[:30], y[:30]).score(X[30:], y[30:]) == 1.0
    tuned = GaussianProcessRegressor(1.0 * kernel + WhiteKernel(), random_state=0).fit(X[:30], target[:30]).kernel_
    assert tuned.k1.kernel == kernel
    assert tuned.k1.factor != 1.0
    for direct in (kernel + WhiteKernel(), ConstantKernel() * kernel):
        with pytest.raises(
            tl.errors.ParameterError, match=r"Multiply it by a number first: 1\.0 \* Locality\(window=3"
        ):
            GaussianProcessRegressor(direct).fit(X[:30], target[:30])


def test_coef0_means_the_same_and_is_the_same_by_default() -> None:
    x = np.array([[1.0, 2.0], [0.5, -1.0]])
    np.testing.assert_allclose(tl.Polynomial(3)(x), tl.Linear().polynomial(3)(x))
    np.testing.assert_allclose(tl.Polynomial(3, 0.5)(x), tl.Linear().polynomial(3, 0.5)(x))
    np.testing.assert_allclose(tl.Polynomial(3)(x), (x @ x.T) ** 3)
