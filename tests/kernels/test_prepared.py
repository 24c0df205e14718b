"""A bank that is restored from memory-mapped arrays computes exactly what the original bank computes."""

from __future__ import annotations

import gc
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import treelet as tl
from conftest import trials
from treelet import _core
from treelet.edits.distance import _EditEvaluator
from treelet.kernels.pairwise import Pairwise
from treelet.kernels.prepared import can_be_prepared, prepared_arrays, restored_bank
from treelet.kernels.store import StoreKernel
from treelet.matrices.nearest import Index, Part
from treelet.resources import Resources
from treelet.structures import SequenceBank
from treelet.testing import banks

SST = tl.SubsetTree(lam=0.4)
KERNELS: dict[str, Pairwise] = {
    "sst": SST,
    "sst leaves": tl.SubsetTree(lam=0.3, leaves=True),
    "sst depth 1": tl.SubsetTree(max_depth=1),
    "sst depth 3": tl.SubsetTree(max_depth=3, leaves=True),
    "sst depth 100": tl.SubsetTree(max_depth=100),
    "st": tl.Subtree(lam=0.7),
    "pt": tl.PartialTree(),
    "pt no leaves": tl.PartialTree(leaves=False),
    "pt terminal": tl.PartialTree(terminal_factor=0.5),
    "normalized": SST.normalized(),
    "normalized overflow": tl.SubsetTree(lam=1).normalized(),
    "sum": 0.5 * SST.normalized() + tl.PartialTree() * tl.Subtree(),
    "gaussian": SST.normalized().gaussian(0.5),
    "distance": SST.distance(),
    "edit similarity": tl.EditDistance().similarity(),
    "edit distance": tl.EditDistance(insert=2.0, rename=1.5),
    "edit by label": tl.EditDistance(insert={"A": 0.5}),
    "smoothed": tl.Smoothed({"x": [1.0, 0.2], "y": [1.0, 0.3]}),
}
FLIGHTS = [str(tree) for tree in tl.datasets.flights(300)[290:]]
QUERIES = ["(A (B x) (C y))", "(A (B x) (new word))", "(new new)", "(A (A (A (A x) y) x) (B y))", None, *FLIGHTS]
QUERIES += [f"{text[:-1]} (new word))" for text in FLIGHTS]  # known parts under a new production
LARGE = "(A " * 1500 + "x" + ")" * 1500


def mapped(arrays: dict[str, NDArray[Any]], path: Path) -> dict[str, NDArray[Any]]:
    """Write arrays to one file and return them as read-only views of the file."""
    places = {}
    with path.open("wb") as file:
        file.write(b"treelet!")
        for name, array in arrays.items():
            file.write(bytes(-file.tell() % 64))
            places[name] = file.tell(), array.dtype, len(array)
            file.write(array.tobytes())
    whole = np.memmap(path, np.uint8, "r")
    return {name: whole[at : at + dtype.itemsize * n].view(dtype) for name, (at, dtype, n) in places.items()}


def reopened(kernel: Pairwise, bank: tl.Treebank, folder: Path) -> tl.Treebank:
    return restored_bank(kernel, tl.Treebank, mapped(prepared_arrays(kernel, bank), folder / "bank.bin"))


def some_trees(n: int = 60) -> tl.Treebank:
    bank = tl.datasets.flights(n)
    return tl.Treebank([*bank, None, *list(bank)[:5]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prepared")


@settings(max_examples=trials(120))
@given(trees=banks(max_size=6), queries=banks(max_size=3), name=st.sampled_from(sorted(KERNELS)))
def test_values_are_equal_to_the_bit(folder: Path, trees: list[tl.Tree], queries: list[tl.Tree], name: str) -> None:
    kernel, bank, Q = KERNELS[name], tl.Treebank([*trees, None]), [*queries, *QUERIES]
    restored = reopened(kernel, bank, folder)
    assert restored == bank
    np.testing.assert_array_equal(kernel(Q, restored), kernel(Q, bank))
    np.testing.assert_array_equal(kernel(restored), kernel(bank))
    np.testing.assert_array_equal(kernel(restored, Q), kernel(bank, Q))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the functions for which an index is built, from now on."""
    names: list[str] = []
    native, new_columns = StoreKernel.native, _EditEvaluator._new_columns

    def new_index(self: StoreKernel, *arguments: Any) -> Any:
        names.append(repr(self))
        return native(self, *arguments)

    def new_edit_columns(self: _EditEvaluator) -> Any:
        names.append(repr(self.kernel))
        return new_columns(self)

    monkeypatch.setattr(StoreKernel, "native", new_index)
    monkeypatch.setattr(_EditEvaluator, "_new_columns", new_edit_columns)
    return names


@pytest.mark.parametrize("name", KERNELS)
def test_searches_among_many_trees(name: str, tmp_path: Path, built: list[str]) -> None:
    """`Nearest.fit` would copy the examples, so the index behind it is used here."""
    kernel, bank = KERNELS[name], some_trees()
    restored = reopened(kernel, bank, tmp_path)
    for n_jobs in (1, 2):
        search, again = (Index(kernel, [Part(X)], Resources.of(n_jobs)) for X in (bank, restored))
        assert again.parts[0].data is restored
        for Q in ([*QUERIES, *list(bank)[10:14]], None):
            wanted = search.nearest(Q, 4)
            built.clear()
            for values, expected in zip(again.nearest(Q, 4), wanted, strict=True):
                np.testing.assert_array_equal(values, expected)
            assert bool(built) == (name in ("smoothed", "edit by label"))
    np.testing.assert_array_equal(tl.gram(kernel, restored, n_jobs=2), tl.gram(kernel, bank))


@pytest.mark.parametrize("name", ["sst", "st", "pt", "edit similarity"])
def test_a_planted_error_changes_values(name: str) -> None:
    """The values come from the arrays, not from an index that was built again."""
    kernel, bank = KERNELS[name], some_trees()
    arrays = prepared_arrays(kernel, bank)
    wanted, different = kernel(QUERIES, bank), set()
    assert np.count_nonzero(wanted) > 100
    for key in (key for key in arrays if "/index/" in key and not key.endswith("/0")):
        if arrays[key].dtype == np.float64 and arrays[key].size:
            changed = {**arrays, key: arrays[key] + 1}
            different.add(np.array_equal(kernel(QUERIES, restored_bank(kernel, tl.Treebank, changed)), wanted))
        elif name == "edit similarity" and arrays[key].dtype == np.uint8:  # the sizes of the trees
            changed = {**arrays, key: (arrays[key].view(np.float64) + 1).view(np.uint8)}
            different.add(np.array_equal(kernel(QUERIES, restored_bank(kernel, tl.Treebank, changed)), wanted))
    assert False in different


def test_nothing_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, bank = KERNELS["sum"].normalized(), some_trees()  # type: ignore[attr-defined]
    restored = reopened(kernel, bank, tmp_path)

    def refuse(*_: object) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr(StoreKernel, "native", refuse)
    monkeypatch.setattr(StoreKernel, "_estimate", refuse)
    kernel.evaluator(bank[:2], restored).ready()
    kernel.needs(restored)
    assert not kernel.cached_indexes(restored)
    assert all(values.base is not None and not values.flags.writeable for values in restored._known.values())


def test_columns_view_the_file(tmp_path: Path) -> None:
    restored = reopened(SST, some_trees(), tmp_path)
    index = restored.indexed((SST.index_key(False), "cpu"), lambda: None)
    assert index.bytes == 0
    assert len(index.arrays()) > 20
    assert not any(array.flags.writeable for array in index.arrays())
    with pytest.raises(ValueError, match="columns that view arrays cannot grow"):
        index.add(restored.weights(), 0, 1.0)


def test_arrays_do_not_depend_on_what_else_the_bank_did() -> None:
    bank = some_trees()
    first = prepared_arrays(SST.normalized(), bank)
    kept = SST.normalized().with_cached_index(bank)
    tl.PartialTree()(QUERIES, kept)
    SST.normalized()(QUERIES, kept)
    second = prepared_arrays(tl.SubsetTree(lam=0.4).normalized(), kept)
    assert list(first) == list(second)
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
        assert first[name].ndim == 1


def test_a_bank_over_a_grown_store_is_compacted(tmp_path: Path) -> None:
    bank = some_trees(20)
    _, queries = bank.joined(tl.Treebank(QUERIES))
    assert not queries.columns.store.whole
    restored = reopened(SST, queries, tmp_path)
    assert restored == tl.Treebank(QUERIES)
    np.testing.assert_array_equal(SST(QUERIES, restored), SST(QUERIES, queries.compact()))
    np.testing.assert_allclose(SST(QUERIES, restored), SST(QUERIES, queries), rtol=1e-14)


def test_a_restored_bank_is_a_bank(tmp_path: Path) -> None:
    bank = some_trees()
    restored = reopened(SST, bank, tmp_path)
    assert restored.stats() == bank.stats()
    assert repr(restored) == repr(bank)
    assert restored[3:9] == bank[3:9]
    assert restored[-1] == bank[-1]
    assert list(restored) == list(bank)
    assert restored.compact() == bank
    assert restored.ordered() == bank
    assert pickle.loads(pickle.dumps(restored)) == bank
    weights = restored.weights().take(np.array([5, 2]))
    np.testing.assert_array_equal(weights.node, bank.weights().take(np.array([5, 2])).node)
    again = restored_bank(SST, tl.Treebank, prepared_arrays(SST, restored))
    np.testing.assert_array_equal(SST(QUERIES, again), SST(QUERIES, bank))
    both = tl.Treebank.concat([restored, QUERIES, restored[:2]])
    assert list(both) == [*bank, *tl.Treebank(QUERIES), *bank[:2]]
    del restored, again
    gc.collect()
    both = tl.Treebank.concat([both, ["(A (B (C later)))"]])  # parts of the joined store are still in the file
    np.testing.assert_array_equal(SST(both[: len(bank)]), SST(bank))
    assert pickle.loads(pickle.dumps(both)) == both


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot remove a mapped file")
def test_the_file_survives_everything_else(tmp_path: Path) -> None:
    kernel, bank = SST.normalized(), some_trees()
    wanted = kernel(QUERIES, bank)
    arrays = prepared_arrays(kernel, bank)
    names = mapped(arrays, tmp_path / "bank.bin")
    evaluator = kernel.evaluator(tl.Treebank(QUERIES), restored_bank(kernel, tl.Treebank, names))
    for array in arrays.values():
        assert not array.flags.writeable
    del arrays, names, bank
    gc.collect()
    (tmp_path / "bank.bin").unlink()
    out = np.empty_like(wanted)
    evaluator.fill(0, len(out), out, False)
    np.testing.assert_array_equal(out, wanted)


def test_views_keep_their_owner() -> None:
    arrays = prepared_arrays(SST, some_trees())
    copies = {name: array.copy() for name, array in arrays.items()}
    gc.collect()
    tl.SubsetTree(lam=0.2)(some_trees(200))  # uses memory again
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, copies[name])


def test_queries_of_several_threads(tmp_path: Path) -> None:
    kernel = 0.5 * SST.normalized() + tl.PartialTree()
    bank, restored = some_trees(), reopened(kernel, some_trees(), tmp_path)
    queries = [tl.Treebank([*QUERIES, f"(A (B x{k}) (C y))", *list(bank)[k : k + 3]]) for k in range(8)]
    wanted, got = [kernel(Q, bank) for Q in queries], dict[int, Any]()

    def ask(k: int) -> None:
        for _ in range(5):
            got[k] = kernel(queries[k], restored)

    run_together([lambda k=k: ask(k) for k in range(8)])  # type: ignore[misc]
    for k, values in enumerate(wanted):
        np.testing.assert_array_equal(got[k], values)


def test_the_last_owner_may_be_another_thread(tmp_path: Path) -> None:
    def use() -> None:
        restored = [reopened(SST, some_trees(10), tmp_path)]
        grown = restored[0].columns.store.grown(*tl.Treebank(QUERIES).columns)
        thread = threading.Thread(target=lambda: SST(QUERIES, restored.pop()))
        thread.start()
        thread.join()
        assert len(grown[0].labels) > 0

    for _ in range(5):
        use()
        gc.collect()


def run_together(work: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_values_too_large_for_a_float(tmp_path: Path) -> None:
    kernel, bank = tl.SubsetTree(lam=1).normalized(), tl.Treebank([LARGE, "(A x)", LARGE])
    restored = reopened(kernel, bank, tmp_path)
    np.testing.assert_array_equal(kernel([LARGE, "(A y)"], restored), kernel([LARGE, "(A y)"], bank))


def test_an_empty_bank(tmp_path: Path) -> None:
    for kernel in KERNELS.values():
        restored = reopened(kernel, tl.Treebank(), tmp_path)
        assert len(restored) == 0
        assert kernel(QUERIES, restored).shape == (len(QUERIES), 0)


def test_other_banks_and_kernels(tmp_path: Path) -> None:
    words, kernel = SequenceBank([["a", "b"], ["b"]]), tl.Subsequence()
    arrays = mapped(prepared_arrays(kernel, words), tmp_path / "words.bin")
    restored = restored_bank(kernel, SequenceBank, arrays)
    np.testing.assert_array_equal(kernel([["b", "a"]], restored), kernel([["b", "a"]], words))
    forests = tl.ForestBank(some_trees(3))
    assert not can_be_prepared(tl.ForestKernel(), forests)
    assert not can_be_prepared(SST, ["(A x)"])
    assert can_be_prepared(SST, some_trees(3))
    with pytest.raises(TypeError, match="ForestBank cannot be stored as arrays"):
        prepared_arrays(tl.ForestKernel(), forests)


def test_data_of_another_kernel_are_not_used(tmp_path: Path) -> None:
    bank, other = some_trees(), tl.SubsetTree(lam=0.5).normalized()
    arrays = mapped(prepared_arrays(SST.normalized(), bank), tmp_path / "bank.bin")
    restored = restored_bank(other, tl.Treebank, arrays)
    np.testing.assert_array_equal(other(QUERIES, restored), other(QUERIES, bank))


@pytest.mark.parametrize(
    "name", ["roots", "store/0", "store/7", "weights/1", f"{SST!r}/index/4", f"{SST!r}/self-values"]
)
def test_arrays_that_do_not_fit(name: str) -> None:
    arrays = prepared_arrays(SST.normalized(), some_trees())
    wrong = {
        "shorter": arrays[name][:-1],
        "other type": arrays[name].astype(np.int16),
        "two dimensions": arrays[name][None],
        "steps": np.repeat(arrays[name], 2)[::2],
    }
    for array in wrong.values():
        if array is not wrong["steps"] or name not in ("roots", f"{SST!r}/self-values"):
            with pytest.raises(ValueError, match=r"do not fit|^array |another version"):
                restored_bank(SST.normalized(), tl.Treebank, {**arrays, name: array})


def test_damage_is_found_by_the_checksum(tmp_path: Path) -> None:
    arrays = {name: array.copy() for name, array in prepared_arrays(SST.normalized(), some_trees()).items()}
    sums = {name: _core.checksum(array) for name, array in arrays.items()}
    assert {name: _core.checksum(array) for name, array in mapped(arrays, tmp_path / "a").items()} == sums
    rng = np.random.default_rng(0)
    for name, array in arrays.items():
        if array.size:
            array.view(np.uint8)[rng.integers(array.nbytes)] ^= 1
            assert _core.checksum(array) != sums[name]
