"""An index that grows and shrinks finds the same neighbors as an index that is fitted from scratch."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treelet as tl
from cases import random_tree
from treelet.errors import FileError, InputTypeError, ParameterError
from treelet.learn.index_files import _rename

KERNELS = {
    "sst": tl.SubsetTree(lam=0.4).normalized(),
    "plain": tl.SubsetTree(lam=0.4, leaves=True),
    "sum": tl.SubsetTree(lam=0.3) + 0.5 * tl.PartialTree().normalized(),
    "distance": tl.Subtree().normalized().distance(),
    "edits": tl.EditDistance().similarity(),
    "edit distance": tl.EditDistance(insert=0.5, rename=0.7),
}

TREES_OF_TWO_PARTS = [f"(S (A a{number}) (B b{number % 7}))" for number in range(600)]


def random_bracket(random: np.random.Generator, most: int) -> str:
    return str(random_tree(random, int(random.integers(2, most))))


class Model:
    """The same index, made from scratch for every question."""

    def __init__(self, kernel: Any, *, own_ids: bool) -> None:
        self.kernel, self.own_ids = kernel, own_ids
        self.trees: dict[Any, str] = {}
        self.next = 0

    def fresh(self) -> tl.Nearest:
        return tl.Nearest(self.kernel, n_neighbors=3).fit(list(self.trees.values()), ids=list(self.trees))


def check_same(search: tl.Nearest, model: Model, queries: list[str]) -> None:
    fresh = model.fresh()
    assert search.ids_.tolist() == list(model.trees)
    assert search.X_fit_ == fresh.X_fit_
    k = min(3, len(model.trees))
    for Q in (queries, None):
        count = k if Q is not None else k - 1
        if count:
            for mine, theirs in zip(search.kneighbors(Q, count), fresh.kneighbors(Q, count), strict=True):
                np.testing.assert_array_equal(mine, theirs)  # to the bit
        limit = 0.4 if not search.kernel_.is_distance else 4.0
        if Q is not None or count:
            mine, theirs = search.threshold_neighbors(limit, Q), fresh.threshold_neighbors(limit, Q)
            for ours, others in zip(mine, theirs, strict=True):
                assert [row.tolist() for row in ours] == [row.tolist() for row in others]


def random_changes(seed: int, kernel: Any, folder: Path | None, steps: int = 8) -> None:
    """Make random changes, and compare after each of them."""
    random = np.random.default_rng(seed)
    names = [None, "strings", "integers"][seed % 3]
    pool = [random_bracket(random, 12) for _ in range(12)]

    def new(count: int) -> tuple[list[str], Any, list[Any]]:
        trees = [
            pool[random.integers(12)] if random.random() < 0.5 else random_bracket(random, 15) for _ in range(count)
        ]
        ids: list[Any] = list(range(model.next, model.next + count))
        model.next += count
        if names == "strings":
            ids = [f"é{number}" for number in ids]
        if names == "integers":
            ids = [-7 * number for number in ids]
        return trees, None if names is None else ids, ids

    model = Model(kernel, own_ids=names is None)
    trees, given, ids = new(int(random.integers(1, 30)))
    search = tl.Nearest(kernel, n_neighbors=3).fit(trees, ids=given)
    model.trees.update(zip(ids, trees, strict=True))
    path = None if folder is None else folder / f"{seed}.treelet"
    for _ in range(steps):
        change = random.choice(["add", "remove", "compact", "save", "reopen", "copy", "fit"])
        if change == "add":
            trees, given, ids = new(int(random.integers(1, 12)))
            search.partial_fit(trees, ids=given)
            model.trees.update(zip(ids, trees, strict=True))
        elif change == "remove" and len(model.trees) > 1:
            some = random.permutation(len(model.trees))[: random.integers(1, len(model.trees))]
            gone = [list(model.trees)[number] for number in some]
            search.remove(gone)
            for one in gone:
                del model.trees[one]
        elif change == "compact":
            search.compact()
        elif change == "fit":
            model.next = 0
            trees, given, ids = new(int(random.integers(1, 12)))
            search.fit(trees, ids=given)
            model.trees = dict(zip(ids, trees, strict=True))
        elif change == "copy":
            search = pickle.loads(pickle.dumps(search)) if random.random() < 0.5 else copy.deepcopy(search)
        elif path is not None and change in ("save", "reopen"):
            tl.save(search, path)
            search.close()
            search = tl.load(path, mode=[None, "a", "r"][random.integers(3)])
            if search._files is not None and search._files.mode == "r":
                check_same(search, model, pool[:2])
                search = tl.load(path, mode="a")
        check_same(search, model, [pool[0], random_bracket(random, 10)])
    search.close()


@pytest.mark.parametrize("name", KERNELS)
def test_random_changes(name, tmp_path):
    for seed in range(6):
        random_changes(seed, KERNELS[name], tmp_path)


@pytest.mark.slow
def test_a_thousand_random_sequences(tmp_path):
    for seed in range(1000):
        random_changes(seed, list(KERNELS.values())[seed % len(KERNELS)], tmp_path)


# --- ids ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def search() -> tl.Nearest:
    return tl.Nearest(n_neighbors=1).fit(["(A a)", "(B b)", "(C c)"], ids=["a", "b", "c"])


def test_ids_are_returned(search):
    values, ids = search.kneighbors(["(B b)", "(C c)"])
    assert ids.tolist() == [["b"], ["c"]]
    assert values.tolist() == [[1.0], [1.0]]
    assert search.threshold_neighbors(0.5, ["(A a)"])[1][0].tolist() == ["a"]
    assert search.kneighbors()[1].shape == (3, 1)


def test_numbers_are_never_used_again():
    search = tl.Nearest(n_neighbors=1).fit(["(A a)", "(B b)", "(C c)"])
    search.remove([2]).partial_fit(["(D d)"])
    assert search.ids_.tolist() == [0, 1, 3]
    assert search.compact().kneighbors(["(D d)"])[1].tolist() == [[3]]
    assert search.kneighbors_graph(["(D d)"], mode="similarity").toarray().tolist() == [[0, 0, 1]]  # by position


def test_a_removed_id_may_return(search):
    search.remove(["b"]).partial_fit(["(B x)"], ids=["b"])
    assert search.ids_.tolist() == ["a", "c", "b"]
    assert search.X_fit_[2] == tl.Tree.parse("(B x)")


def test_ids_to_remove_may_be_any_iterable(search):
    assert search.remove(name for name in ["b", "a"]).ids_.tolist() == ["c"]
    with pytest.raises(ParameterError, match="The id 'c' occurs twice in 'ids'"):
        search.remove(["c", "c"])


def test_everything_may_be_removed(search):
    search.remove(["a", "b", "c"])
    assert len(search.ids_) == len(search.X_fit_) == 0
    with pytest.raises(ParameterError, match="X is empty"):
        search.kneighbors(["(A a)"])
    assert search.compact().partial_fit(["(A a)"], ids=["new"]).kneighbors(["(A a)"])[1].tolist() == [["new"]]


WRONG_IDS: list[tuple[Any, type[Exception], str]] = [
    (["d"], ParameterError, "one id per example. Got 1 id for 2 examples"),
    (["d", "d"], ParameterError, "The id 'd' occurs twice"),
    (["d", "a"], ParameterError, "The id 'a' is already in the index"),
    ([1, 2], ParameterError, "The new ids are integers, but the ids of the index are strings"),
    (["d", 2], InputTypeError, "All ids must be integers, or all must be strings"),
    ([1.5, 2.5], InputTypeError, "An id must be an integer or a string. Got 1.5"),
    (["d", None], InputTypeError, "An id must be an integer or a string. Got None"),
    ([True, False], InputTypeError, "An id must be an integer or a string. Got True"),
    ("de", InputTypeError, "must be a list of integers or strings. Got 'de'"),
    (7, InputTypeError, "must be a list of integers or strings. Got 7"),
    ({"d": 1, "e": 2}, InputTypeError, "must be a list of integers or strings"),
    ([2**70, 1], ParameterError, "must fit 64 bits"),
    (None, ParameterError, "so partial_fit needs 'ids'"),
]


@pytest.mark.parametrize(("ids", "error", "message"), WRONG_IDS)
def test_wrong_ids_change_nothing(search, ids, error, message):
    before = search._collection
    with pytest.raises(error, match=message):
        search.partial_fit(["(D d)", "(E e)"], ids=ids)
    assert search._collection is before


def test_unknown_ids_remove_nothing(search):
    with pytest.raises(ParameterError, match=r"does not contain the id 'x', and 1 other\. Nothing was removed"):
        search.remove(["a", "x", "y"])
    assert search.ids_.tolist() == ["a", "b", "c"]
    with pytest.raises(ParameterError, match="does not accept 'ids'"):
        tl.Nearest().fit(["(A a)"]).partial_fit(["(B b)"], ids=["b"])


def test_ids_of_all_kinds_of_columns():
    import pandas as pd

    for ids in (
        np.array([5, 3]),
        np.array(["x", "y"]),
        pd.Series(["x", "y"]),
        pd.Series([5, 3]),
        ("x", "y"),
        range(5, 7),
    ):
        found = tl.Nearest(n_neighbors=1).fit(["(A a)", "(B b)"], ids=ids)
        assert found.ids_.tolist() == list(ids)


# --- concurrency --------------------------------------------------------------------------------------------------


def test_queries_see_the_old_or_the_new_index():
    search = tl.Nearest(n_neighbors=1).fit(["(A a)", "(B b)"], ids=["a", "b"])
    over, wrong = threading.Event(), list[Any]()

    def ask() -> None:
        while not over.is_set():
            values, ids = search.kneighbors(["(A a)"])
            if ids.tolist() not in ([["a"]], [["a2"]]) or values.tolist() != [[1.0]]:
                wrong.append((ids, values))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            search.partial_fit(["(A a)"], ids=["a2"]).remove(["a"])
            search.partial_fit(["(A a)"], ids=["a"]).remove(["a2"])
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not wrong


def test_changes_of_several_threads_are_all_kept():
    search = tl.Nearest(n_neighbors=1).fit(["(A a)"], ids=["first"])

    def add(number: int) -> None:
        for step in range(10):
            search.partial_fit([f"(A x{number})"], ids=[f"{number}-{step}"])

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(search.ids_) == 41


def test_an_unfitted_index_is_fitted_by_one_thread(monkeypatch):
    """A second thread that also found the index unfitted would forget the examples of the first."""
    fit, entered = tl.Nearest.fit, list[bool]()

    def watched(self: tl.Nearest, *args: Any, **options: Any) -> Any:
        def enter() -> None:
            lock: Any = self._changing_lock()
            entered.append(lock.acquire(blocking=False))
            if entered[-1]:
                lock.release()

        other = threading.Thread(target=enter)
        other.start()
        other.join()
        return fit(self, *args, **options)

    monkeypatch.setattr(tl.Nearest, "fit", watched)
    search = tl.Nearest(n_neighbors=1)
    search.partial_fit(["(A a)"], ids=["a"]).partial_fit(["(B b)"], ids=["b"])
    assert (search.ids_.tolist(), entered) == (["a", "b"], [False])


@pytest.mark.parametrize("place", ["prepare", "write", "crowded"])
def test_an_interrupted_change_leaves_the_old_index(search, tmp_path, monkeypatch, place):
    from treelet.learn.collection import Collection
    from treelet.learn.index_files import IndexFiles
    from treelet.matrices.nearest import Index

    tl.save(search, tmp_path / "x.treelet")
    with tl.load(tmp_path / "x.treelet", mode="a") as opened:

        def interrupted(*args):
            raise KeyboardInterrupt

        owner = {"prepare": Index, "write": IndexFiles, "crowded": Collection}[place]
        with monkeypatch.context() as patched:
            patched.setattr(owner, place, interrupted)
            with pytest.raises(KeyboardInterrupt):
                opened.partial_fit(["(D d)"], ids=["d"])
        assert opened.ids_.tolist() == ["a", "b", "c"]
        assert opened.partial_fit(["(E e)"], ids=["e"]).ids_.tolist() == ["a", "b", "c", "e"]
    assert tl.load(tmp_path / "x.treelet").ids_.tolist() == ["a", "b", "c", "e"]


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["compact", "fit", "partial_fit", "save"])
def test_an_interrupt_after_the_new_manifest(tmp_path, monkeypatch, change):
    from treelet.learn import index_files

    path = tmp_path / "x.treelet"
    tl.save(tl.Nearest(n_neighbors=1).fit(TREES_OF_TWO_PARTS[:300]).partial_fit(TREES_OF_TWO_PARTS[300:]), path)
    opened = tl.load(path, mode="a")
    assert len(opened._collection.parts) == 2
    work = {
        "compact": opened.compact,
        "fit": lambda: opened.fit(["(Z z)"]),
        "partial_fit": lambda: opened.partial_fit(["(Z z)"]),
        "save": lambda: tl.save(opened, path),
    }[change]

    def interrupted(*args):
        write(*args)
        raise KeyboardInterrupt

    before, write = opened.ids_.tolist(), index_files._write_collection
    monkeypatch.setattr(index_files, "_write_collection", interrupted)
    with pytest.raises(KeyboardInterrupt):
        work()
    assert opened.ids_.tolist() == before
    monkeypatch.setattr(index_files, "_write_collection", write)
    opened.partial_fit(["(Y y)"])
    opened.close()
    assert len(list(path.glob("*.trees"))) == len(opened._collection.parts), "no file of an earlier change remains"
    for mode in (None, "r"):
        again = tl.load(path, mode=mode)
        assert again.ids_.tolist() == opened.ids_.tolist()
        assert again.kneighbors(["(Y y)"])[1].tolist() == [[opened.ids_[-1]]]


@pytest.mark.parametrize("wrong", [{"n_neighbors": None}, {"n_neighbors": 0}, {"n_jobs": 0}])
def test_wrong_parameters_are_not_written(search, tmp_path, wrong):
    tl.save(search, tmp_path / "x.treelet")
    with tl.load(tmp_path / "x.treelet", mode="a") as opened:
        opened.set_params(**wrong)
        for change in (
            lambda: opened.remove(["a"]),
            lambda: tl.save(opened, tmp_path / "x.treelet"),
            lambda: tl.save(opened, tmp_path / "y.treelet"),
        ):
            with pytest.raises(ParameterError, match=next(iter(wrong))):
                change()
    assert tl.load(tmp_path / "x.treelet").ids_.tolist() == ["a", "b", "c"]
    assert not (tmp_path / "y.treelet").exists()


def test_saving_in_place_waits_for_other_threads(tmp_path, monkeypatch):
    from treelet.learn import index_files

    path = tmp_path / "x.treelet"
    tl.save(tl.Nearest(n_neighbors=1).fit(TREES_OF_TWO_PARTS[:300]).partial_fit(TREES_OF_TWO_PARTS[300:]), path)
    opened = tl.load(path, mode="a")
    started, write = threading.Event(), index_files._write_collection

    def slow(*args):
        if threading.current_thread() is saving:
            started.set()
            threading.Event().wait(0.3)
        return write(*args)

    monkeypatch.setattr(index_files, "_write_collection", slow)
    saving = threading.Thread(target=lambda: tl.save(opened, path))
    saving.start()
    assert started.wait(60)
    opened.compact()
    saving.join()
    opened.close()
    assert len(tl.load(path, mode="r").ids_) == len(tl.load(path).ids_) == len(TREES_OF_TWO_PARTS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_process_does_not_change_the_index(search, tmp_path):
    tl.save(search, tmp_path / "x.treelet")
    code = """if True:
        import os, sys
        import treelet as tl
        opened = tl.load(sys.argv[1], mode="a")
        if not (child := os.fork()):
            try:
                opened.remove(["a"])
            except tl.errors.FileError as error:
                print(error, flush=True)
            sys.exit(0)
        os.waitpid(child, 0)
        try:
            tl.load(sys.argv[1], mode="a")
        except tl.errors.FileError as error:
            print(error)
        opened.remove(["b"])
    """
    command = [sys.executable, "-c", code, str(tmp_path / "x.treelet")]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()
    assert ["was opened by another process" in told[0], "is writing this file" in told[1]] == [True, True]
    assert tl.load(tmp_path / "x.treelet").ids_.tolist() == ["a", "c"]


def test_other_files_in_the_folder_stay(search, tmp_path):
    folder = tmp_path / "x.treelet"
    tl.save(search, folder)
    for name in ("notes.trees", "source.map"):
        (folder / name).write_text("mine", encoding="utf-8")
    with tl.load(folder, mode="a") as opened:
        opened.remove(["a"]).compact()
    tl.save(search, folder)
    assert all((folder / name).read_text(encoding="utf-8") == "mine" for name in ("notes.trees", "source.map"))
    (tmp_path / "models").mkdir()
    tl.save(tl.RLS().fit(["(A a)", "(B b)"], [0.0, 1.0]), tmp_path / "models" / "manifest.treelet")
    with pytest.raises(FileError, match="the folder exists and is not an index"):
        tl.save(search, tmp_path / "models")


def test_files_of_another_index_are_refused(search, tmp_path):
    tl.save(search, tmp_path / "x.treelet")
    tl.save(tl.Nearest().fit(["(X x)", "(Y y)", "(Z z)"], ids=["x", "y", "z"]), tmp_path / "y.treelet")
    (mine,), (other,) = (list((tmp_path / name).glob("*.trees")) for name in ("x.treelet", "y.treelet"))
    mine.write_bytes(other.read_bytes())
    with pytest.raises(FileError, match="is not the file that the index contains"):
        tl.load(tmp_path / "x.treelet")


def test_compacting_renews_files_of_another_version(search, tmp_path, monkeypatch):
    from treelet.learn import index_files

    folder = tmp_path / "x.treelet"
    monkeypatch.setattr(index_files, "__version__", "0.0.1")
    tl.save(search, folder)
    monkeypatch.undo()
    old = {path.name for path in folder.glob("*.map")}
    with tl.load(folder, mode="a") as opened:
        assert opened.compact().ids_.tolist() == ["a", "b", "c"]
    new = {path.name for path in folder.glob("*.map")}
    assert len(new) == 1
    assert not new & old
    with tl.load(folder, mode="a") as opened:
        opened.compact()
    assert {path.name for path in folder.glob("*.map")} == new


def test_a_missing_index_is_reported_as_missing(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        tl.load(tmp_path / "none.index", mode="r")


def test_ids_of_fit_transform():
    search = tl.Nearest(n_neighbors=1)
    search.fit_transform(["(A a)", "(A b)"], ids=["x", "y"])
    assert search.ids_.tolist() == ["x", "y"]


def test_an_index_for_reading_does_not_change(search, tmp_path):
    tl.save(search, tmp_path / "x.treelet")
    opened = tl.load(tmp_path / "x.treelet", mode="r")
    for change in (lambda: opened.partial_fit(["(D d)"], ids=["d"]), lambda: opened.remove(["a"]), opened.compact):
        with pytest.raises(FileError, match="was opened for reading only"):
            change()
    assert opened.kneighbors(["(A a)"])[1].tolist() == [["a"]]


def test_a_second_writer_is_refused(search, tmp_path):
    tl.save(search, tmp_path / "x.treelet")
    with tl.load(tmp_path / "x.treelet", mode="a") as opened:
        with pytest.raises(FileError, match="another process or thread is writing this file"):
            tl.load(tmp_path / "x.treelet", mode="a")
        with pytest.raises(FileError, match="another process or thread is writing this file"):
            tl.save(search, tmp_path / "x.treelet")
        reader = tl.load(tmp_path / "x.treelet", mode="r")
        opened.partial_fit(["(D d)"], ids=["d"])
        assert reader.ids_.tolist() == ["a", "b", "c"]
        assert tl.load(tmp_path / "x.treelet", mode="r").ids_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(FileError, match="was opened for reading only"):
        opened.remove(["a"])
    tl.load(tmp_path / "x.treelet", mode="a").close()


def test_readers_keep_the_state_that_they_opened(search, tmp_path):
    tl.save(search, tmp_path / "x.treelet")
    reader = tl.load(tmp_path / "x.treelet", mode="r")
    with tl.load(tmp_path / "x.treelet", mode="a") as writer:
        writer.partial_fit(["(D d)"], ids=["d"]).remove(["a"]).compact()
    assert reader.kneighbors(["(A a)"])[1].tolist() == [["a"]]
    assert len(list((tmp_path / "x.treelet").glob("*.trees"))) == 1


def test_only_indexes_have_modes(search, tmp_path):
    tl.save(tl.Treebank(["(A a)"]), tmp_path / "bank.treelet")
    with pytest.raises(ParameterError, match="'mode' parameter of load must be None"):
        tl.load(tmp_path / "bank.treelet", mode="r")
    tl.save(search, tmp_path / "x.treelet")
    with pytest.raises(ParameterError, match="'mode' parameter of load must be 'r', 'a' or None"):
        tl.load(tmp_path / "x.treelet", mode="w")


def test_files_beside_the_folder_stay(search, tmp_path):
    lock = tmp_path / "Cargo.lock"
    lock.write_text("mine", encoding="utf-8")
    tl.save(search, tmp_path / "Cargo")
    with tl.load(tmp_path / "Cargo", mode="a") as opened:
        opened.remove(["a"])
    assert lock.read_text(encoding="utf-8") == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Cargo", "Cargo.lock"]


def test_an_index_has_no_metrics(search, tmp_path):
    with pytest.raises(ParameterError, match="metrics"):
        tl.save(search, tmp_path / "index", metrics={"recall": 0.9})
    assert list(tmp_path.iterdir()) == []


def test_an_index_does_not_replace_other_files(search, tmp_path):
    (tmp_path / "file").write_text("text", encoding="utf-8")
    with pytest.raises(FileError, match="is a file, but an index is a folder"):
        tl.save(search, tmp_path / "file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("text", encoding="utf-8")
    with pytest.raises(FileError, match="the folder exists and is not an index"):
        tl.save(search, tmp_path / "folder")
    with pytest.raises(FileError, match="the folder is not an index"):
        tl.load(tmp_path / "folder")
    (tmp_path / "empty").mkdir()
    tl.save(search, tmp_path / "empty")
    assert tl.load(tmp_path / "empty").ids_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("mode", [None, "r"])
def test_damage_is_found(search, tmp_path, mode):
    folder = tmp_path / "x.treelet"
    tl.save(search, folder)
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        if mode == "r" and path.suffix == ".trees":
            continue  # not read
        if mode is None and path.suffix == ".map":
            continue
        for damaged in (content[: len(content) // 2], content[:-1], bytes([content[0] ^ 1]) + content[1:], b""):
            path.write_bytes(damaged)
            with pytest.raises(FileError) as raised:
                tl.load(folder, mode=mode)
            assert path.name in str(raised.value)
            del raised  # its traceback keeps the file mapped, and Windows does not write to a mapped file
        for at in range(0, len(content), max(1, len(content) // 40)):
            path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
            with pytest.raises(FileError):
                tl.load(folder, mode=mode)
        path.unlink()
        with pytest.raises(FileError):
            tl.load(folder, mode=mode)
        path.write_bytes(content)
    assert tl.load(folder, mode=mode).ids_.tolist() == ["a", "b", "c"]


def test_a_full_disk_changes_nothing(search, tmp_path, monkeypatch):
    import errno
    import os

    folder = tmp_path / "x.treelet"
    tl.save(search, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    sync = os.fsync
    for calls in range(1, 6):
        left = [calls]

        def full(file, left=left):
            left[0] -= 1
            if left[0] == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            sync(file)

        with tl.load(folder, mode="a") as opened, monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            message = ""
            try:
                opened.partial_fit(["(D d)"], ids=["d"])
            except FileError as error:
                message = str(error)
            assert (message == "") == (len(opened.ids_) == 4)
            assert not message or "No space left" in message
        if left[0] <= 0 and tl.load(folder).ids_.tolist() == ["a", "b", "c"]:
            assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        else:
            break


def test_a_file_in_use_need_not_be_replaced_by_an_equal_one(search, tmp_path, monkeypatch):
    """Windows refuses to replace a file that is mapped."""
    folder, other = tmp_path / "x.treelet", tmp_path / "y.treelet"
    tl.save(search, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    replace, refused = Path.replace, []

    def in_use(source, target):
        if target.suffix in (".trees", ".map"):
            refused.append(target.suffix)
            raise PermissionError(13, "Access is denied", str(source))
        return replace(source, target)

    monkeypatch.setattr(Path, "replace", in_use)
    tl.save(search, folder)
    assert refused == [".trees", ".map"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    (tree_file,), new = folder.glob("*.trees"), tmp_path / "new.trees"
    new.write_bytes(tree_file.read_bytes())
    _rename(new, tree_file)
    assert not new.exists()
    with pytest.raises(FileError, match=r"y\.treelet: cannot be written \(Access is denied\)"):
        tl.save(search, other)  # there is no equal file
    with tl.load(folder, mode="a") as opened, pytest.raises(FileError, match="Access is denied"):
        opened.partial_fit(["(D d)"], ids=["d"])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert list(tmp_path.iterdir()) == [folder]


def test_places_and_tables_are_kept(tmp_path):
    (tmp_path / "m.py").write_text("def f(a):\n    return a\n\ndef g(b):\n    return b + 1\n", encoding="utf-8")
    bank = tl.read_code(tmp_path / "m.py")
    for mode in (None, "r"):
        tl.save(tl.Nearest(n_neighbors=1).fit(bank), tmp_path / "code.index")
        found = tl.load(tmp_path / "code.index", mode=mode).X_fit_
        assert found.places == bank.places
        assert found.places.node_lines(1).tolist() == bank.places.node_lines(1).tolist()
    kernel = tl.On("tree", tl.SubsetTree().normalized()) + tl.On("n", tl.Linear())
    rows = [{"tree": "(A a)", "n": {"x": 1.0}}, {"tree": "(B b)", "n": {"x": 2.0}}]
    search = tl.Nearest(kernel, n_neighbors=1).fit(rows[:1]).partial_fit(rows[1:])
    tl.save(search, tmp_path / "table.index")
    for mode in (None, "r", "a"):
        with tl.load(tmp_path / "table.index", mode=mode) as opened:
            assert opened.kneighbors(rows[1:])[1].tolist() == [[1]]
