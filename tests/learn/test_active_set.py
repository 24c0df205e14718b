"""Kernel machines without the kernel matrix: the same optimum as libsvm's, whatever the block, memory and threads."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

import treelet as tl
from conftest import run_python
from treelet import _core
from treelet.datasets import flights
from treelet.learn import active_set
from treelet.learn.active_set import ActiveSetSolver, BoxProblem, ExampleMatrix
from treelet.resources import Resources

SST = tl.SubsetTree(lam=0.4).normalized()
PT = tl.PartialTree(lam=0.4, mu=0.4).normalized()
TOL = 1e-3


@pytest.fixture(scope="module")
def bank() -> tl.Treebank:
    return flights(400, random_state=5)


@pytest.fixture(scope="module")
def y(bank: tl.Treebank) -> Any:
    """Whether a sentence is long, with a tenth of the labels wrong."""
    sizes = np.array([len(tree.words()) for tree in bank])
    right = np.where(sizes > np.median(sizes), 1.0, -1.0)
    return right * np.where(np.random.default_rng(0).random(len(bank)) < 0.1, -1, 1)


def classes(y: Any, C: Any) -> BoxProblem:
    C = np.broadcast_to(C, y.shape)
    return BoxProblem(y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))


def solver_of(kernel: Any, bank: tl.Treebank, block: int = 1 << 28) -> ActiveSetSolver:
    return ActiveSetSolver(ExampleMatrix(kernel, bank, Resources.of()), block)


def objective(K: Any, problem: BoxProblem, b: Any) -> float:
    return float(b @ K @ b / 2 - problem.y @ b + problem.tube * np.abs(b).sum())


def check(K: Any, problem: BoxProblem, solution: Any, tol: float = TOL) -> None:
    """Check bounds, the sum, and the gap of the optimality conditions, all from the matrix."""
    b = solution.b
    assert (b >= problem.low).all()
    assert (b <= problem.high).all()
    G = K @ b - problem.y
    up = (G + np.where(b >= 0, problem.tube, -problem.tube))[b < problem.high]
    down = (G + np.where(b > 0, problem.tube, -problem.tube))[b > problem.low]
    if problem.fixed_sum:
        assert abs(b.sum()) < 1e-9 * max(1.0, np.abs(b).sum())
    else:
        up, down = np.append(up, 0), np.append(down, 0)
    if len(up) and len(down):  # otherwise no pair of coefficients can move, as with a single class
        assert down.max() - up.min() < tol * 1.0001
    np.testing.assert_allclose(solution.objective, objective(K, problem, b), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("first", [2000, 40])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("kernel", [SST, PT, SST + 0.5 * PT, SST.gaussian(1.0)], ids=repr)
def test_the_optimum_is_that_of_libsvm(
    kernel: Any, C: float, first: int, bank: tl.Treebank, y: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(active_set, "_FIRST", first)
    monkeypatch.setattr(active_set, "_LEAST_GROWTH", 20)
    K, problem = kernel(bank), classes(y, C)
    solution = solver_of(kernel, bank).solve(problem, TOL)
    check(K, problem, solution)
    theirs = SVC(kernel="precomputed", C=C, tol=1e-5).fit(K, y)
    b = np.zeros(len(y))
    b[theirs.support_] = theirs.dual_coef_[0]
    best = objective(K, problem, b)
    tight = solver_of(kernel, bank).solve(problem, 1e-5)
    assert tight.objective <= best + 1e-6 * abs(best)
    np.testing.assert_allclose(K @ tight.b + tight.intercept, K @ b + theirs.intercept_[0], atol=1e-3)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
def test_regression(epsilon: float, bank: tl.Treebank, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_set, "_FIRST", 40)
    sizes = np.array([float(len(tree.words())) for tree in bank])
    K = SST(bank)
    problem = BoxProblem(sizes, np.full(len(bank), -5.0), np.full(len(bank), 5.0), epsilon, unit=sizes.std())
    check(K, problem, solver_of(SST, bank).solve(problem, TOL))
    ours = tl.KernelSVR(SST, C=5.0, epsilon=epsilon, tol=1e-5).fit(bank, sizes)
    theirs = SVR(kernel="precomputed", C=5.0, epsilon=epsilon, tol=1e-5).fit(K, sizes)
    np.testing.assert_allclose(ours.predict(bank), theirs.predict(K), atol=2e-3)


def test_weights_of_examples_and_classes(bank: tl.Treebank, y: Any) -> None:
    K, weights = SST(bank), np.random.default_rng(1).random(len(bank)) * 3
    weights[:10] = 0
    for options in ({}, {"class_weight": {1: 5.0}}, {"class_weight": "balanced"}):
        ours = tl.KernelSVC(SST, tol=1e-5, **options).fit(bank, y.astype(int), sample_weight=weights)
        theirs = tl.KernelSVC("precomputed", tol=1e-5, **options).fit(K, y.astype(int), sample_weight=weights)
        np.testing.assert_allclose(ours.decision_function(bank), theirs.decision_function(K), atol=1e-3)
        assert (ours.predict(bank) == theirs.predict(K)).all()


def test_one_machine_per_class_in_threads(bank: tl.Treebank) -> None:
    labels = np.array([min(len(tree.words()) // 3, 3) for tree in bank])
    one, two = (tl.KernelSVC(SST, n_jobs=n_jobs).fit(bank, labels) for n_jobs in (1, 2))
    assert (one.dual_coef_ == two.dual_coef_).all()
    assert (one.support_ == two.support_).all()
    assert (one.intercept_ == two.intercept_).all()
    theirs = tl.KernelSVC("precomputed").fit(SST(bank), labels)
    assert (one.predict(bank) == theirs.predict(SST(bank))).mean() > 0.99


def test_a_block_smaller_than_the_free_support_vectors(bank: tl.Treebank, y: Any) -> None:
    """The block has 64 examples."""
    problem = classes(y, 100.0)
    solution = solver_of(SST, bank, 4 * 64**2).solve(problem, TOL)
    check(SST(bank), problem, solution)
    assert ((np.abs(solution.b) > 0) & (np.abs(solution.b) < 100)).sum() > 64


@given(
    seed=st.integers(0, 10**6),
    C=st.sampled_from([0.01, 1.0, 1e4]),
    tube=st.sampled_from([0.0, 0.2]),
    fixed_sum=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(deadline=None)
def test_steps_on_random_blocks(seed: int, C: float, tube: float, fixed_sum: bool, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    if not fixed_sum:
        C = min(C, 1.0)  # with distant bounds, steps along directions without curvature would be too many
    n = int(rng.integers(2, 40))
    points = rng.integers(0, 3, size=(n, int(rng.integers(1, 4)))).astype(float)  # many equal examples
    K = points @ points.T
    y = rng.normal(size=n) if tube else np.where(rng.random(n) < 0.5, 1.0, -1.0)
    low, high = (np.full(n, -C), np.full(n, C)) if tube else (np.where(y > 0, 0, -C), np.where(y > 0, C, 0.0))
    problem = BoxProblem(y, low, high, tube, fixed_sum=fixed_sum)
    b, G = np.zeros(n), -y
    _, gap = _core.smo(K.astype(dtype), K.diagonal().copy(), low, high, tube, fixed_sum, b, G, 1e-4, 10**8)
    assert gap < 1e-4
    np.testing.assert_allclose(G, K @ b - y, atol=1e-6 * max(1.0, np.abs(K @ b).max()))
    check(K, problem, active_set.BoxSolution(b, 0, gap, objective(K, problem, b), 0, 0), 2e-4)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_machine_without_an_intercept(C: float, bank: tl.Treebank, y: Any) -> None:
    problem = classes(y, C)._replace(fixed_sum=False)
    solution = solver_of(SST, bank, 4 * 100**2).solve(problem, TOL)
    check(SST(bank), problem, solution)
    assert solution.intercept == 0
    check(SST(bank), problem, solver_of(SST, bank).solve(problem, TOL, start=2 * solution.b))


def test_a_warm_start_needs_fewer_steps(bank: tl.Treebank, y: Any) -> None:
    solver, problem = solver_of(SST, bank), classes(y, 2.0)
    cold, other = solver.solve(problem, TOL), solver.solve(classes(y, 1.0), TOL)
    assert solver.solve(problem, TOL, start=cold.b).steps < cold.steps / 10
    for factor in (0.5, 1.0, 2.0, 4.0):  # also beyond the bounds
        check(SST(bank), problem, solver.solve(problem, TOL, start=factor * other.b))


def test_odd_examples() -> None:
    same = ["(A (B x))"] * 6
    machine = tl.KernelSVC(SST).fit(same, [0, 1, 0, 1, 0, 1])  # contradicting labels: nothing can be learned
    assert np.abs(machine.decision_function(same)).max() <= 1 + TOL
    constant = tl.KernelSVC(SST + 5).fit(["(A x)", "(B y)", None, "(C z)"], [0, 1, 0, 1])
    assert constant.predict(["(A x)", "(B y)"]).tolist() == [0, 1]
    large = tl.SubsetTree(lam=1.0)
    with pytest.raises(tl.errors.KernelOverflowError, match=r"a smaller lam=, or kernel\.normalized"):
        tl.KernelSVC(large).fit(["(A " + "(B x)" * 200 + ")"] * 2 + ["(A x)"], [0, 1, 1])


def test_a_limit_on_steps_is_a_warning(bank: tl.Treebank, y: Any) -> None:
    with pytest.warns(ConvergenceWarning, match="has not converged after 3 steps"):
        tl.KernelSVC(SST, max_iter=3).fit(bank, y)


def test_a_tolerance_below_the_rounding_errors_ends(bank: tl.Treebank, y: Any) -> None:
    with pytest.warns(ConvergenceWarning, match="but the tolerance is 1e-20"):
        machine = tl.KernelSVC(SST, C=10, tol=1e-20).fit(bank[:100], y[:100])
    assert (machine.predict(bank[:100]) == tl.KernelSVC(SST, C=10).fit(bank[:100], y[:100]).predict(bank[:100])).all()


PEAK = """
import numpy as np, treelet as tl
from treelet.datasets import flights
def field(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))
bank = tl.Treebank.concat([flights(4000, random_state=seed) for seed in (1, 2)])
bank.weights()
lengths = np.array([len(tree) for tree in bank.strings()])
y = np.random.default_rng(0).integers(0, 2, len(bank)) if {steps} > 0 else lengths > np.median(lengths)
kernel = tl.{kernel}
tl.KernelSVC(kernel, max_iter=10).fit(bank[:300], y[:300])  # whatever is loaded on first use
before = field("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
tl.KernelSVC(kernel, memory="96MiB", n_jobs={jobs}, max_iter={steps}).fit(bank, y)
print(field("VmHWM") - before)
"""


@pytest.mark.serial
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("steps", [20_000, -1])
@pytest.mark.parametrize("kernel", ["SubsetTree().normalized()", "PartialTree().normalized()"])
def test_a_fit_keeps_within_its_memory(kernel: str, jobs: int, steps: int) -> None:
    """The matrix would take 488 MiB. Random labels make almost all examples support vectors; other labels are fitted to the end."""
    above = int(run_python(PEAK.format(kernel=kernel, jobs=jobs, steps=steps)).splitlines()[-1])
    assert above <= (96 + 24) << 20, f"{above / (1 << 20):.1f} MiB"
