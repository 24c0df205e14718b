"""Derivatives by the parameters, and Gaussian processes that use them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor

import treelet as tl
from treelet.testing.strategies import banks

KERNELS = [
    tl.Subtree(lam=0.7),
    tl.SubsetTree(lam=0.4),
    tl.SubsetTree(lam=0.6, max_depth=1),
    tl.SubsetTree(lam=0.6, max_depth=2),
    tl.PartialTree(lam=0.4, mu=0.3),
    tl.PartialTree(lam=0.9, mu=0.8, leaves=False),
    tl.SubsetTree(lam=0.4).normalized(),
    tl.PartialTree(lam=0.5, mu=0.6).normalized(),
    0.3 * tl.SubsetTree(lam=0.4) + 2 * tl.PartialTree(lam=0.5, mu=0.6).normalized(),
    tl.SubsetTree(lam=0.4).normalized() * (tl.Subtree(lam=0.5) + 1.5),
    tl.SubsetTree(lam=0.4).normalized().gaussian(sigma=0.8),
    tl.SubsetTree(lam=0.3).polynomial(degree=2, coef0=1.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@settings(max_examples=20)
@given(examples=banks(min_size=2, max_size=4, max_nodes=10))
def test_agrees_with_differences(kernel: tl.kernels.Kernel, examples: list[tl.Tree]) -> None:
    K, dK = kernel.gradient(examples)
    np.testing.assert_allclose(K, kernel(examples), rtol=1e-10, atol=1e-300)
    theta = kernel.theta
    assert dK.shape == (*K.shape, len(theta))
    assert len(kernel.bounds) == len(theta) == kernel.n_dims == len(kernel.hyperparameters)
    step = 1e-6
    for k in range(len(theta)):
        around = []
        for sign in (1, -1):
            moved = theta.copy()
            moved[k] += sign * step
            around.append(kernel.clone_with_theta(moved)(examples))
        numeric = (around[0] - around[1]) / (2 * step)
        scale = max(1.0, np.abs(K).max())
        np.testing.assert_allclose(dK[..., k] / scale, numeric / scale, atol=1e-7)


def test_theta_names_the_parameters_in_order() -> None:
    kernel = 0.5 * tl.SubsetTree(lam=0.25) + tl.PartialTree(lam=0.1, mu=0.2)
    assert [h.name for h in kernel.hyperparameters] == ["k1__factor", "k1__kernel__lam", "k2__lam", "k2__mu"]
    np.testing.assert_allclose(np.exp(kernel.theta), [0.5, 0.25, 0.1, 0.2])
    copy = kernel.clone_with_theta(np.log([0.7, 0.3, 0.2, 0.1]))
    np.testing.assert_allclose(np.exp(copy.theta), [0.7, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(np.exp(kernel.theta), [0.5, 0.25, 0.1, 0.2])
    assert kernel.clone_with_theta(kernel.bounds[:, 1]).k2.lam == 1
    with pytest.raises(tl.errors.ParameterError, match="4 parameters"):
        kernel.theta = [0.0]
    with pytest.raises(tl.errors.ParameterError, match="leave Y out"):
        kernel(["(A x)"], ["(A x)"], eval_gradient=True)
    with pytest.raises(tl.errors.ParameterError, match="by their names"):
        kernel(["(A x)"], ["(A x)"], 2)
    assert kernel.gradient([])[1].shape == (0, 0, 4)


def labelled_trees(n: int = 40) -> tuple[list[str], np.ndarray]:
    """Class 1 has a negation under its verb phrase; words are noise."""
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
    assert model.kernel_.kernel.kernel.lam != 0.9, "the optimiser did not move lam"
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
