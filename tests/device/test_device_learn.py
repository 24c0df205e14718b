"""Estimators, models and searches on a device, in the CPU build of the device code, agree with those on the CPU.

With ``TREELET_TEST_DEVICE=cuda`` in the environment, a GPU is used instead.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import treelet as tl
from cases import KERNELS, examples
from conftest import ROOT, fail, run, succeed
from treelet.datasets import flights
from treelet.device.launching import _Cuda, device_named
from treelet.errors import DeviceMemoryError, KernelOverflowError, ParameterError, TreeletError, TreeletWarning
from treelet.kernels.store import StoreKernel
from treelet.learn import RLS, Nearest, RankRLS, RankSVM
from treelet.learn import perceptron as growing
from treelet.learn.model import CompressedModel
from treelet.learn.selection import select
from treelet.matrices import operator, reduce
from treelet.matrices.executors import executor_for
from treelet.matrices.operator import Products
from treelet.matrices.tiles import Job
from treelet.resources import Resources

DEVICE = os.environ.get("TREELET_TEST_DEVICE", "emulated")
KIND = type(device_named(DEVICE))
tiny = pytest.mark.skipif(DEVICE == "cuda", reason="where a limit is real, there must be room for the examples")
SST = tl.SubsetTree(lam=0.5)
KERNEL = SST.normalized()
BANK = flights(70)
X, MORE = BANK[:48], BANK[48:]
SIZES = np.array([len(str(tree)) for tree in X], float)
CLASSES = np.digitize(SIZES, np.quantile(SIZES, [0.33, 0.67]))
QID = np.arange(48) // 6


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """Turn a fallback to the CPU into an error, unless a test allows it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "device=", TreeletWarning)
        yield


def close(found: Any, wanted: Any, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(
        found if isinstance(found, np.ndarray) else found.get(),
        wanted,
        rtol=tolerance,
        atol=tolerance * np.abs(wanted).max(initial=1e-300),
    )


def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that collects the names of the kernels that are launched."""
    started: list[str] = []
    start = KIND._start

    def noted(self: Any, kernel: str, *rest: Any) -> None:
        started.append(kernel)
        start(self, kernel, *rest)

    monkeypatch.setattr(KIND, "_start", noted)
    return started


# --- estimators -----------------------------------------------------------------------------------------------------

Says = Callable[[Any], Any]
"""Return the output of a fitted estimator for examples."""
ESTIMATORS: dict[str, tuple[Any, tuple[Any, ...], Says]] = {
    "matrix": (tl.KernelMatrix(KERNEL), (), lambda e: e.transform(MORE)),
    "classes": (tl.KernelSVC(KERNEL, C=5, tol=1e-8), (CLASSES,), lambda e: e.decision_function(MORE)),
    "support sums": (
        tl.KernelSVC(KERNEL.gaussian(1.0), C=5, tol=1e-8),
        (CLASSES,),
        lambda e: e.decision_function(MORE),
    ),
    "values": (tl.KernelSVR(KERNEL + 1, C=50, tol=1e-8), (SIZES,), lambda e: e.predict(MORE)),
    "least squares": (RLS(KERNEL, alphas=[0.01, 0.1]), (SIZES,), lambda e: e.predict(MORE)),
    "least squares of a basis": (RLS(KERNEL, 0.1, basis=20, random_state=0), (SIZES,), lambda e: e.predict(MORE)),
    "conjugate gradients": (RLS(KERNEL, 0.1, solver="cg", tol=1e-12), (SIZES,), lambda e: e.predict(MORE)),
    "ranks by pairs": (RankSVM(KERNEL, C=5, tol=1e-9), (SIZES, QID), lambda e: e.predict(MORE)),
    "ranks by squares": (RankRLS(KERNEL, 0.1), (SIZES, QID), lambda e: e.predict(MORE)),
    "perceptron": (tl.VotedPerceptron(KERNEL, epochs=2), (SIZES, QID), lambda e: e.predict(MORE)),
    "perceptron on a matrix": (tl.VotedPerceptron(KERNEL.gaussian(1.0)), (SIZES, QID), lambda e: e.predict(MORE)),
    "votes": (tl.VotedPerceptron(KERNEL, prediction="voted"), (SIZES, QID), lambda e: e.predict(MORE, MORE_QID)),
    "landmarks": (
        tl.Nystroem(KERNEL, 12, sampling="kmeans++", random_state=0),
        (),
        lambda e: e.transform(MORE) @ e.transform(X).T,
    ),
    "neighbors": (Nearest(KERNEL, 4), (), lambda e: e.kneighbors(MORE)[0]),
    "neighbors within": (Nearest(SST, 4), (), lambda e: e.kneighbors_graph().toarray()),
}
MORE_QID = np.arange(len(MORE)) // 4


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_is_that_of_the_cpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, targets, says = ESTIMATORS[name]
    plain = clone(estimator).fit(X, *targets)
    started = launches(monkeypatch)
    with tl.config_context(device=DEVICE):
        found = clone(estimator).fit(X, *targets)
        fitted = len(started)
        predicted = says(found)
    # Rounding may change the steps of a machine, which stops at its tolerance.
    close(predicted, says(plain), 1e-6 if hasattr(estimator, "epsilon") or hasattr(estimator, "shrinking") else 1e-9)
    assert len(started) > fitted, "predictions were not made on the device"
    assert fitted or name in ("matrix", "perceptron", "votes", "neighbors", "neighbors within"), "nor was the fit"


def test_a_perceptron_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "_WHOLE", 10)
    kernel = KERNEL.gaussian(1.0)
    plain = tl.VotedPerceptron(kernel).fit(X, SIZES, QID)
    started = launches(monkeypatch)
    with tl.config_context(device=DEVICE):
        found = tl.VotedPerceptron(kernel).fit(X, SIZES, QID)
    assert started
    np.testing.assert_array_equal(found.updates_, plain.updates_)


def test_a_choice_by_cross_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = [KERNEL, 0.5 * KERNEL + 1, tl.SubsetTree(0.2)]
    plain = select(kernels, X, CLASSES, grid={"C": [1.0, 10.0]}, cv=3)
    started = launches(monkeypatch)
    with tl.config_context(device=DEVICE):
        found = select(kernels, X, CLASSES, grid={"C": [1.0, 10.0]}, cv=3)
    assert started
    assert [trial.score for trial in found.trials] == [trial.score for trial in plain.trials]


def test_a_ready_matrix_needs_no_device() -> None:
    K = KERNEL(X)
    with tl.config_context(device="cuda"):
        predicted = tl.KernelSVC("precomputed").fit(K, CLASSES).predict(K)
    np.testing.assert_array_equal(predicted, tl.KernelSVC(KERNEL).fit(X, CLASSES).predict(X))


# --- models ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
def test_scores_of_any_kernel(name: str) -> None:
    case = KERNELS[name]
    support, data = examples(case.kind, 15, 1), examples(case.kind, 9, 2)
    coefficients = np.random.default_rng(3).normal(size=(3, 15)) * [[1.0], [1e-9], [1e6]]
    model = CompressedModel.of(case.kernel, support, coefficients)
    wanted = model.score(data)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "device=", TreeletWarning)
        found = model.score(data, device=DEVICE, progress=True)
    scale = np.abs(wanted).max(axis=0, initial=1e-300)
    assert (np.abs(found - wanted) <= 1e-11 * scale).all()


def test_what_is_made_of_a_model_is_kept_and_not_pickled() -> None:
    model = CompressedModel.of(SST + SST.normalized(), X, np.ones((1, len(X))))
    wanted = model.score(MORE, device=DEVICE)
    kept = [term._there[DEVICE] for term in model.terms]
    np.testing.assert_allclose(model.score(MORE, device=DEVICE), wanted, rtol=1e-12)
    assert [term._there[DEVICE] for term in model.terms] == kept
    copied = pickle.loads(pickle.dumps(model))
    assert [term._there for term in copied.terms] == [{}, {}]
    np.testing.assert_allclose(copied.score(MORE, device=DEVICE), wanted, rtol=1e-12)


def test_trees_too_large_for_a_float64_are_scored_by_the_cpu() -> None:
    deep = "(A " * 700 + "x" + ")" * 700
    wide = f"(B {' '.join(['(A (A x) (A y))'] * 700)})"
    model = CompressedModel.of(tl.SubsetTree(lam=1).normalized(), [wide, deep, *X], np.ones((1, 2 + len(X))))
    wanted = model.score([wide, deep, *X])
    close(model.score([wide, deep, *X], device=DEVICE), wanted)
    with pytest.raises(KernelOverflowError, match="device='cpu'"):
        tl.gram(tl.SubsetTree(lam=1).normalized(), [wide, deep], device=DEVICE)


def test_a_file_never_asks_for_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.treelet"
    with tl.config_context(device=DEVICE, device_memory="1GiB"):
        found = tl.KernelSVC(KERNEL).fit(X, CLASSES)
        tl.save(found, path)
    started = launches(monkeypatch)
    loaded, copied = tl.load(path), pickle.loads(pickle.dumps(found))
    close(loaded.decision_function(MORE), found.decision_function(MORE))
    close(copied.decision_function(MORE), found.decision_function(MORE))
    assert not started
    with tl.config_context(device=DEVICE):
        predicted = tl.load(path).decision_function(MORE)
    close(predicted, found.decision_function(MORE))
    assert started, "nor does it hinder"


def test_neighbors_by_another_device_after_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Nearest(KERNEL, 3).fit(X)
    wanted = search.kneighbors(MORE)
    started = launches(monkeypatch)
    with tl.config_context(device=DEVICE):
        found = search.kneighbors(MORE)
    assert started
    close(found[0], wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])
    assert "_indexes" not in pickle.loads(pickle.dumps(search)).__dict__


# --- products and tiles ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "memory"),
    [
        ("sst", None),
        ("forest", None),
        *(
            pytest.param(*case, marks=tiny)
            for case in [("sst", "9KB"), ("gaussian of forests", "30KB"), ("linear", "9KB")]
        ),
    ],
)
def test_products_and_tiles(name: str, memory: str | None) -> None:
    case = KERNELS[name]
    data, others = examples(case.kind, 50, 5), examples(case.kind, 23, 6)
    V, W = np.random.default_rng(0).normal(size=(50, 3)), np.random.default_rng(1).normal(size=23)
    means: dict[str, Any] = {"device": DEVICE, "device_memory": memory}
    K, across = tl.gram(case.kernel, data), tl.gram(case.kernel, data, others)
    square, wide = operator(case.kernel, data, **means), operator(case.kernel, data, others, **means)
    for found, wanted in [
        (square @ V, K @ V),
        (square @ V, K @ V),  # from what stays there
        (square.T @ V[:, 0], K @ V[:, 0]),
        (wide @ W, across @ W),
        (wide.T @ V, across.T @ V),
    ]:
        assert type(found) is np.ndarray
        close(found, wanted, 1e-12)
    for Y, wanted in ((None, K), (others, across)):
        tiles = np.full(wanted.shape, np.nan)

        def take(rows: slice, columns: slice, values: Any, tiles: Any = tiles) -> None:
            assert np.isnan(tiles[rows, columns]).all(), "a cell comes twice"
            assert type(values) is np.ndarray
            tiles[rows, columns] = values

        reduce(case.kernel, data, Y, take, **means)
        close(tiles, wanted, 1e-12)


@tiny
def test_a_matrix_that_fits_stays_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    V = np.ones((48, 2))
    started = launches(monkeypatch)
    for memory, stays in ((None, True), ("20KB", False)):
        products = Products(KERNEL, X, None, Resources.of(device=DEVICE, device_memory=memory))
        products.times(V)
        once = len(started)
        products.times(V)
        assert (len(started) == once) == stays


@tiny
def test_less_memory_gives_smaller_tiles_and_the_same_values() -> None:
    wanted, sizes = KERNEL(X), []
    for memory in ("1GB", "30KB", "6KB"):
        plan = executor_for(Resources.of(device=DEVICE, device_memory=memory)).plan(Job(KERNEL, KERNEL.coerce(X)))
        sizes.append(max(tile.shape[0] * tile.shape[1] for tile in plan.tiles))
        out = np.empty(wanted.shape)
        tl.gram(KERNEL, X, device=DEVICE, device_memory=memory, out=out)
        close(out, wanted, 1e-12)
        with tl.config_context(device=DEVICE, device_memory=memory):
            predicted = tl.KernelSVC(KERNEL, tol=1e-9).fit(X, CLASSES).decision_function(MORE)
        close(predicted, tl.KernelSVC(KERNEL, tol=1e-9).fit(X, CLASSES).decision_function(MORE), 1e-6)
    assert sizes[0] > sizes[1] > sizes[2]
    assert device_named(DEVICE).free_bytes() > 1 << 30, "what was limited is free again"


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    full = type("OutOfMemoryError", (Exception,), {})  # CuPy's has that name

    def array(self: Any, *rest: Any) -> Any:
        raise full("Out of memory allocating 7 bytes")

    model = CompressedModel.of(SST, X, np.ones((1, 48)))
    monkeypatch.setattr(KIND, "array", array)
    message = "Out of memory allocating 7 bytes"
    limited = tl.config_context(device=DEVICE, device_memory="1MB")  # as a decorator
    for call in (
        lambda: tl.gram(KERNEL, X, device=DEVICE, device_memory="1MB", out=np.empty((48, 48))),
        lambda: tl.nearest(KERNEL, X, device=DEVICE, device_memory="1MB"),
        lambda: operator(KERNEL, X, device=DEVICE, device_memory="1MB") @ np.ones(48),
        lambda: reduce(KERNEL, X, None, print, device=DEVICE, device_memory="1MB"),
        lambda: limited(tl.KernelSVC(KERNEL).fit)(X, CLASSES),
        lambda: limited(Nearest(KERNEL).fit)(X),
        lambda: model.score(X, device=DEVICE, device_memory="1MB"),
    ):
        with pytest.raises(DeviceMemoryError, match=message):
            call()
    assert device_named(DEVICE).free_bytes() > 1 << 30, "what was limited is free again"


# --- errors and warnings --------------------------------------------------------------------------------------------


def test_what_a_device_can_be() -> None:
    for call in (
        lambda device: tl.set_config(device=device),
        lambda device: tl.gram(KERNEL, X, device=device),
        lambda device: operator(KERNEL, X, device=device),
        lambda device: reduce(KERNEL, X, None, print, device=device),
        lambda device: CompressedModel.of(SST, X, np.ones((1, 48))).score(X, device=device),
    ):
        for device in ("gpu", 0):
            with pytest.raises(ParameterError, match=r"'device'.*'cpu' or 'cuda'"):
                call(device)
    with pytest.raises(ParameterError, match=r"'device_memory'.*a positive number"):
        tl.gram(KERNEL, X, device=DEVICE, device_memory="much")
    with pytest.raises(ParameterError, match="device_memory= requires device='cuda'"):
        tl.gram(KERNEL, X, device_memory="1GiB")


def test_without_cupy_or_a_gpu_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    device_named.cache_clear()
    with tl.config_context(device="cuda"), pytest.raises(TreeletError, match=r"pip install 'treelet\[cuda\]', or use"):
        tl.KernelSVC(KERNEL).fit(X, CLASSES)

    class Runtime:
        @staticmethod
        def getDeviceCount() -> int:
            return 0

    class Without:
        class cuda:
            runtime = Runtime

    monkeypatch.setitem(sys.modules, "cupy", Without)
    with pytest.raises(TreeletError, match="NVIDIA GPU, but CuPy does not find"):
        _Cuda()


@pytest.mark.parametrize("name", ["smoothed", "bag of gaussian", "smoothed and more"])
def test_a_kernel_without_device_code_is_copied_with_one_warning(name: str) -> None:
    case = KERNELS[name]
    data, budget = (
        examples(case.kind, 12, 3),
        None if DEVICE == "cuda" else "2KB",
    )  # computed in several blocks of columns
    model = CompressedModel.of(case.kernel, data, np.ones((1, 12)))
    for call, wanted in (
        (lambda: tl.gram(case.kernel, data, device=DEVICE, device_memory=budget, out=np.empty((12, 12))), None),
        (lambda: model.score(data, device=DEVICE), model.score(data)),
    ):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = call()
        close(found, tl.gram(case.kernel, data) if wanted is None else wanted)
        (warning,) = told
        assert issubclass(warning.category, TreeletWarning)
        assert f"{'Bag' if 'bag' in name else 'Smoothed'} cannot be computed" in str(warning.message)


def test_the_page_names_the_kernels_that_have_device_code() -> None:
    page = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"^\| (.*?) \| by device code", page, flags=re.MULTILINE)
    kernels = [
        kernel for kernel in vars(tl.kernels).values() if isinstance(kernel, type) and issubclass(kernel, StoreKernel)
    ]
    assert set(re.findall(r"`(\w+)`", named)) == {kernel.__name__ for kernel in kernels if kernel._on_device}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("free", [1 << 30, pytest.param(1 << 12, marks=tiny)])
def test_vectors_are_multiplied_there(sparse: bool, free: int) -> None:
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(40, 7)), rng.normal(size=(11, 7))
    for kernel in (tl.Linear(), tl.Polynomial(3, 0.5), tl.Linear().normalized() + 1):
        for Y in (None, B):
            given = [part if part is None or not sparse else sp.csr_array(part) for part in (A, Y)]
            close(tl.gram(kernel, *given, device=DEVICE, device_memory=free), kernel(A, Y), 1e-12)
    with pytest.raises(KernelOverflowError, match="too large for a float64"):
        tl.gram(tl.Polynomial(9), A * 1e40, device=DEVICE)


# --- commands -------------------------------------------------------------------------------------------------------


def test_commands_compute_on_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bank, labeled, model = tmp_path / "bank.mrg", tmp_path / "train.tsv", tmp_path / "m.treelet"
    X.write(bank)
    labeled.write_text("".join(f"{label}\t{tree}\n" for label, tree in zip(CLASSES, X, strict=True)), encoding="utf-8")
    there = ("--device", DEVICE, "--device-memory", "1GiB", "--no-progress")
    started = launches(monkeypatch)

    def says(*args: object) -> Any:
        """Return the output of a command that runs on the device, and check that the device was used."""
        before = len(started)
        told = succeed(*args, *there)
        assert len(started) > before
        return told.stdout

    for name in ("K.npy", "K.txt"):
        says("gram", bank, "-o", tmp_path / name, "--lam", 0.5, "--normalize")
    close(np.load(tmp_path / "K.npy"), KERNEL(X), 1e-12)
    close(np.loadtxt(tmp_path / "K.txt"), KERNEL(X), 1e-12)
    found = json.loads(says("nearest", bank, "--k", 2, "--lam", 0.5, "--json"))
    wanted = tl.nearest(KERNEL, X, k=2)[1]
    assert [[one["number"] - 1 for one in query["nearest"]] for query in found["queries"]] == wanted.tolist()
    says("train", labeled, "-o", model, "--lam", "0.4,0.5", "--C", "1,5", "--cv", 3)
    wanted_labels = succeed("predict", model, bank, "--no-progress").stdout
    assert says("predict", model, bank) == wanted_labels
    figures = json.loads(says("evaluate", model, labeled, "--json"))
    assert figures["accuracy"] == json.loads(succeed("evaluate", model, labeled, "--json").stdout)["accuracy"]


def test_commands_say_in_one_line_that_there_is_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    device_named.cache_clear()
    nothing, out = tmp_path / "nothing.mrg", tmp_path / "K.npy"
    line = "treelet: error: --device cuda needs CuPy, which is not installed. Install it with pip install 'treelet[cuda]', or use --device cpu."
    for command in (
        ("gram", nothing, "-o", out),
        ("nearest", nothing),
        ("train", nothing, "-o", out),
        ("predict", nothing, nothing),
        ("evaluate", nothing, nothing),
    ):
        assert fail(*command, "--device", "cuda").startswith(line)
    assert "--device must be 'cpu' or 'cuda'" in fail("gram", nothing, "-o", out, "--device", "gpu")
    assert "--device-memory requires --device cuda" in fail("gram", nothing, "-o", out, "--device-memory", "1GiB")
    assert not out.exists()
    told = run("doctor")
    assert "GPU not usable: device='cuda' needs CuPy" in " ".join(told.stdout.split())
    assert json.loads(run("doctor", "--json").stdout)["gpu"]["usable"] is False
