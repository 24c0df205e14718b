"""Extreme numbers: kernels are correct over the whole range of their parameters, and reject values outside."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from cases import EXAMPLES, KERNELS, Case
from treelet.checks import LEAST, MOST
from treelet.errors import KernelOverflowError, ParameterError
from treelet.kernels import Kernel, Normalized

DECAYS, SCALES = ("lam", "mu"), ("factor", "value", "sigma", "gamma")


def at(kernel: Kernel, decay: float, scale: float = 1.0) -> Kernel:
    """The same kernel with such decays, and such factors."""
    other = kernel._copy()
    for name, value in other.get_params().items():
        own = name.rsplit("__", 1)[-1]
        if own in DECAYS:
            other.set_params(**{name: decay})
        elif own in SCALES and value != 0:
            other.set_params(**{name: scale})
    return other


def computed(kernel: Any, X: Any, options: dict[str, Any]) -> tuple[Any, str]:
    """Return the matrix, computed without a warning, or the message of the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            return tl.gram(kernel, X, **options), ""
    except KernelOverflowError as error:
        return None, str(error)


def check(kernel: Kernel, X: Any, device: str = "cpu") -> None:
    """Normalized values have the diagonal 1, exactly; and all matrices are finite and symmetric to the bit."""
    X = kernel.coerce(X)
    options: dict[str, Any] = {} if device == "cpu" else {"device": device, "out": np.empty((len(X), len(X)))}
    normalized = kernel.normalized()
    for wrap in (normalized, normalized.polynomial(3, 1.0), normalized.gaussian(0.5), normalized.distance(), kernel):
        K, problem = computed(wrap, X, options)
        if K is None:  # said in one line, not hidden
            assert (
                not isinstance(wrap, Normalized) or device != "cpu" or "is negative, so it has no logarithm" in problem
            )
            continue
        assert np.isfinite(K).all(), wrap
        assert np.array_equal(K, K.T), wrap
        if isinstance(wrap, Normalized):
            there = np.isfinite(kernel.self_values(X, logs=True))
            assert np.array_equal(np.diag(K), there.astype(float)), wrap
            if "gaussian" not in repr(wrap):  # which has only the digits that a difference of values leaves
                assert np.abs(wrap(X, X) - K).max() < 1e-12, wrap


@pytest.mark.parametrize("case", KERNELS.values(), ids=KERNELS)
def test_the_ends_of_the_range(case: Case) -> None:
    for decay, scale in ((LEAST, LEAST), (1.0, MOST)):
        check(at(case.kernel, decay, scale), EXAMPLES[case.kind][:6])


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_whole_range(kind: str) -> None:
    cases = [case for case in KERNELS.values() if case.kind == kind]
    exponents = st.floats(-100, 0)

    @given(st.sampled_from(cases), exponents, st.floats(-100, 100))
    @settings(max_examples=12)
    def every(case: Case, decay: float, scale: float) -> None:
        check(at(case.kernel, max(LEAST, 10**decay), min(MOST, max(LEAST, 10**scale))), EXAMPLES[kind][:5])

    every()


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (tl.SubsetTree(lam=LEAST), EXAMPLES["trees"]),
        (tl.PartialTree(lam=LEAST, mu=LEAST), EXAMPLES["trees"]),
        (tl.Tagging(lam=LEAST), EXAMPLES["tagged"]),
        (tl.Subsequence(lam=LEAST, length=1), EXAMPLES["sequences"]),
        (tl.Subsequence(lam=LEAST, length=3), EXAMPLES["sequences"]),
    ],
    ids=repr,
)
def test_device_code(kernel: Kernel, X: Any) -> None:
    check(kernel, X[:8], device="emulated")


def test_small_values_keep_their_digits() -> None:
    """Scaling by any number does not change a normalized kernel."""
    trees = EXAMPLES["trees"]
    wanted = tl.SubsetTree(0.4).normalized()(trees)
    tiny = LEAST * (LEAST * (LEAST * (LEAST * tl.SubsetTree(0.4))))  # 1e-400 of it
    assert np.abs(tiny.normalized()(trees) - wanted).max() < 1e-12
    assert np.abs((MOST * (MOST * (MOST * (MOST * tl.SubsetTree(0.4))))).normalized()(trees) - wanted).max() < 1e-12
    sequences = [list("abcab"), list("bca"), list("aab")]
    small = tl.Subsequence(lam=1e-90, length=3).normalized()(sequences)  # only what has no gaps is left of it
    assert small[0, 1] == pytest.approx(1 / math.sqrt(3), rel=1e-12)
    assert 0 < small[0, 2] < 1e-150


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tl.SubsetTree(lam=5e-324), "'lam' parameter of SubsetTree must be at least 1e-100"),
        (lambda: tl.PartialTree(mu=1e-155), "'mu' parameter of PartialTree must be at least 1e-100"),
        (lambda: tl.Tagging(0.5).set_params(lam=1e-101), "'lam' parameter of Tagging must be at least 1e-100"),
        (lambda: tl.SubsetTree().gaussian(1e-101), "'sigma' parameter of Gaussian must be at least 1e-100"),
        (lambda: tl.SubsetTree().gaussian(1e101), "'sigma' parameter of Gaussian"),
        (lambda: 1e-200 * tl.SubsetTree(), r"Scale \(factor \* kernel\) must be 0"),
        (lambda: tl.SubsetTree() + 1e200, "Constant must be 0 or at most 1"),
        (lambda: tl.Polynomial(gamma=1e-200), "'gamma' parameter of Polynomial must be at least 1e-100"),
        (lambda: tl.Linear().polynomial(2, 1e-300), "'coef0' parameter of PolynomialOf must be 0 or at least"),
        (lambda: tl.PartialTree(terminal_factor=1e300), "PartialTree must be 0 or at most 1"),
        (lambda: tl.Locality(theta=1e-300), "'theta' parameter of Locality must be 0 or at least"),
        (lambda: tl.Locality(weights={"": 1e-300}), "'weights' parameter of Locality must be None or a dict"),
        (lambda: tl.SubsetTree(lam_bounds=(1e-200, 1)), "'lam_bounds' parameter of SubsetTree"),
    ],
)
def test_beyond_the_range(make: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said.replace("+", r"\+")):
        make()
