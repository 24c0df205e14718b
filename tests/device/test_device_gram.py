"""Matrices computed on a device, in the CPU build of the device code, equal those of the core for every kernel."""

import sys
import warnings

import numpy as np
import pytest

import treelet as tl
from cases import KERNELS, examples
from treelet import device
from treelet.device import strips
from treelet.device.counts import SubtreeColumns
from treelet.device.launching import _Emulated
from treelet.errors import KernelOverflowError, NotEnoughMemoryError, ParameterError, TreeletError

CLOSE = 1e-12
SST = tl.SubsetTree(lam=0.4)


def agree(found, wanted, close=CLOSE):
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max(initial=0) <= close * np.abs(wanted).max(initial=1e-300)
    there = np.abs(wanted) > 1e-6 * np.abs(wanted).max(initial=0)
    assert (np.abs(found - wanted)[there] <= close * np.abs(wanted)[there]).all()


@pytest.mark.parametrize("name", KERNELS)
def test_matrices_agree_with_the_core(name):
    case = KERNELS[name]
    X, Y = examples(case.kind, 18, 5), examples(case.kind, 11, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.errors.TreeletWarning)  # of kernels that are computed on the CPU
        agree(tl.gram(case.kernel, X, device="emulated"), tl.gram(case.kernel, X))
        agree(tl.gram(case.kernel, X, Y, device="emulated"), tl.gram(case.kernel, X, Y))


def test_single_precision_is_rounded_once():
    trees = examples("trees", 25, 1)
    for kernel in (SST, SST.normalized(), SST.normalized().gaussian(1.0)):
        found = tl.gram(kernel, trees, device="emulated", dtype="float32")
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, tl.gram(kernel, trees), rtol=2.0**-23)


def test_what_is_given_is_filled(tmp_path):
    trees = examples("trees", 25, 2)
    wanted = tl.gram(SST.normalized(), trees)
    for dtype in (np.float64, np.float32):
        out = np.full((25, 30), -1.0, dtype)[:, :25]  # rows further apart than they are long
        assert tl.gram(SST.normalized(), trees, device="emulated", out=out) is out
        agree(out, wanted, CLOSE if dtype == np.float64 else 1e-6)
    for resume in (False, True):
        agree(tl.gram(SST.normalized(), trees, device="emulated", out=tmp_path / "K.npy", resume=resume), wanted)


def test_halves_in_strips(monkeypatch):
    """Each strip is as wide as its last row. The memory to the right belongs to another row."""
    monkeypatch.setattr(strips, "_CELLS", 150)
    kinds = {"trees": (SST, tl.PartialTree(), tl.Subtree(lam=0.7)), "forests": (tl.ForestKernel(),)}
    kinds |= {"tagged": (tl.Tagging(),), "sequences": (tl.Locality(), tl.Subsequence())}
    for kind, kernels in kinds.items():
        data = examples(kind, 60, 1)
        for kernel in kernels:
            wanted = tl.gram(kernel, data)
            agree(tl.gram(kernel, data, device="emulated"), wanted)
            agree(tl.gram(kernel, data, device="emulated", dtype="float32"), wanted, 1e-6)  # rows beside each other


@pytest.mark.parametrize("budget", [20_000, 200_000, None])
def test_a_budget_changes_no_value(budget):
    trees, others = examples("trees", 40, 3), examples("trees", 30, 4)
    for kernel in (SST, tl.PartialTree(), tl.Subtree(), SST.normalized()):
        agree(tl.gram(kernel, trees, device="emulated", device_memory=budget), tl.gram(kernel, trees))
        agree(tl.gram(kernel, trees, others, device="emulated", device_memory=budget), tl.gram(kernel, trees, others))
        host = np.empty((40, 40))
        agree(tl.gram(kernel, trees, device="emulated", device_memory=budget, out=host), tl.gram(kernel, trees))


class _Small(SubtreeColumns):
    """There is memory for three rows at a time, or for none."""

    rows_at_once = 3

    def fill(self, rows, begin, end, out, limit):
        out += 1.0  # as left by an algorithm that fails midway
        if end - begin > self.rows_at_once:
            raise MemoryError("so many bytes")
        out -= 1.0
        super().fill(rows, begin, end, out, limit)


def test_where_memory_is_short_strips_become_smaller(monkeypatch):
    monkeypatch.setattr(device, "SubtreeColumns", _Small)
    trees = examples("trees", 20, 7)
    agree(tl.gram(tl.Subtree(), trees, device="emulated"), tl.gram(tl.Subtree(), trees))
    monkeypatch.setattr(_Small, "rows_at_once", 0)
    with pytest.raises(NotEnoughMemoryError, match="device='emulated' is full"):
        tl.gram(tl.Subtree(), trees, device="emulated")


def test_neighbors_are_the_same():
    trees, queries = examples("trees", 300, 8), examples("trees", 40, 9)
    for kernel in (SST.normalized(), SST, SST.normalized().distance(), tl.PartialTree().normalized()):
        for Q in (None, queries):
            for k in (1, 4, 40):
                values, numbers = tl.nearest(kernel, trees, Q, k, device="emulated")
                wanted = tl.nearest(kernel, trees, Q, k)
                np.testing.assert_array_equal(numbers, wanted[1])
                np.testing.assert_allclose(values, wanted[0], rtol=1e-9, atol=1e-7)
        found = tl.nearest(kernel, trees, queries, threshold=0.8, graph=True, device="emulated")
        np.testing.assert_array_equal(
            found.indices, tl.nearest(kernel, trees, queries, threshold=0.8, graph=True).indices
        )


@pytest.mark.parametrize("equals", [0, 60, 400])
def test_the_largest_of_a_tile_elsewhere(equals, monkeypatch):
    nearest = sys.modules["treelet.matrices.nearest"]  # the package exports a function of this name

    monkeypatch.setattr(nearest, "_MOST", 200)
    rng = np.random.default_rng(0)
    tile = rng.random((12, 700))
    tile[3:9, rng.permutation(700)[:equals]] = 0.99  # more equal values than fit
    for k in (1, 5, 30):
        found, wanted = nearest._largest_by_chunks(tile, k, 1e-12), nearest._largest_by_partition(tile, k, 1e-12)
        for one, other in zip(nearest._ranked(*found, 1e-12), nearest._ranked(*wanted, 1e-12), strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_cannot_be_is_said(monkeypatch):
    trees = examples("trees", 4, 1)
    for name in ("gpu", 3):
        with pytest.raises(ParameterError, match=r"'device'.*'cpu' or 'cuda'"):
            tl.gram(SST, trees, device=name)
    with pytest.raises(ParameterError, match="device_memory= requires device='cuda'"):
        tl.gram(SST, trees, device_memory="1GiB")
    with pytest.raises(ParameterError, match="device='emulated' cannot be combined"):
        tl.gram(SST, trees, device="emulated", client=object())
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(TreeletError, match=r"pip install 'treelet\[cuda\]'"):
        tl.gram(SST, trees, device="cuda")


def test_large_values():
    large = "(A " * 40 + "(B b) (B b)" + " (B b))" * 40
    doubled = [large.replace("(B b)", "(B (C c) (D (E e)) (F f))")]
    for depth in range(5):
        doubled.append(f"(R {doubled[-1]} {doubled[-1]} {doubled[-1]})" if depth else doubled[-1])
    trees = [doubled[-1], "(B b)"]
    with pytest.raises(KernelOverflowError, match="for item 0 with itself is too large"):
        tl.gram(tl.SubsetTree(lam=1), trees, device="emulated")
    with pytest.raises(KernelOverflowError, match="only in float64"):
        tl.gram(tl.SubsetTree(lam=1).normalized(), trees, device="emulated")


def test_nothing_and_missing_trees():
    for kernel in (SST, tl.PartialTree(), tl.Subtree(), SST.normalized()):
        for X, Y in (
            ([], None),
            ([], ["(A b)"]),
            (["(A b)"], []),
            ([None, "(A b)", tl.Tree("word")], None),
            ([None], [None]),
        ):
            agree(tl.gram(kernel, X, Y, device="emulated"), tl.gram(kernel, X, Y))


def test_strips_have_a_row_at_least():
    device = _Emulated(1)
    parts = strips.RowParts(None, None, None, None, np.array([5, 10**12, 3]))
    assert list(parts.ranges(device, 0, 3, None)) == [(0, 1), (1, 2), (2, 3)]
