"""Model files: what goes in comes out, and what is damaged is refused."""

from __future__ import annotations

import io
import json
import os
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import treelet as tl
from conftest import binary, round_trip, run_python, signed, trials
from treelet.learn import CompressedModel
from treelet.learn.model import _node_weights
from treelet.learn.outputs import load_predictor
from treelet.learn.persist import _MAGIC, _PREFIX, _VERSION, BANKS, register

TREES = [
    f"(S ({a} {w}) ({b} ({c} {w}) ({c} {v})))"
    for a in "AB"
    for b in "AB"
    for c in "CD"
    for w, v in ("xy", "xz", "yy", "zx")
]
LABELS = np.array(["left" if "(B (C" in tree else "right" if "(A (C" in tree else "none" for tree in TREES])
NEW = ["(S (A q) (B (C x) (C y)))", "(S (A z) (A (C x)))", "(T (A x))", "(A)"]
KERNEL = tl.SubsetTree(lam=0.4)


def parts_of(content: bytes) -> tuple[dict[str, Any], bytes]:
    length = _PREFIX.unpack_from(content)[4]
    return json.loads(content[_PREFIX.size : _PREFIX.size + length]), content[_PREFIX.size + length : -32]


def rebuilt(header: Any, data: bytes, version: int = _VERSION) -> bytes:
    """A file with a header of ours, formally right."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    total = _PREFIX.size + len(text) + len(data) + 32
    return signed(_PREFIX.pack(_MAGIC, version, 0, total, len(text)) + text + data + bytes(32))


@pytest.fixture(scope="module")
def fitted() -> tl.KernelSVC:
    return tl.KernelSVC(0.5 * KERNEL.normalized() + tl.PartialTree()).fit(TREES, LABELS)


@pytest.fixture(scope="module")
def content(fitted: tl.KernelSVC, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("models") / "model.treelet"
    tl.save(fitted, path)
    return path.read_bytes()


# --- there and back -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels", [["a", "b", "ü"], [3, 1, 2], [0.0, 1.0, 2.0], [True, False, True], [-(2**60), 0, 2**60]], ids=str
)
@pytest.mark.parametrize("as_objects", [False, True])
def test_classes_keep_their_kind(labels: list[Any], as_objects: bool, tmp_path: Path) -> None:
    numbers = np.unique(LABELS, return_inverse=True)[1]
    y = np.array(labels, dtype=object if as_objects else None)[numbers]
    clf = tl.KernelSVC(KERNEL).fit(TREES, y)
    again = round_trip(clf, tmp_path)
    assert again.classes_.dtype == clf.classes_.dtype
    assert again.predict(TREES).tolist() == clf.predict(TREES).tolist()
    assert [type(label) for label in again.predict(TREES).tolist()] == [type(labels[0])] * len(TREES)


def rows(trees: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "t": tree,
            "u": None if k % 5 == 0 else tree,
            "f": {"len": float(len(tree)), f"k{k % 3}": 1.0},
            "b": [tree] * (k % 3),
        }
        for k, tree in enumerate(trees)
    ]


@pytest.mark.parametrize(
    "kernel",
    [
        tl.On("t", KERNEL) + tl.On("f", tl.Linear()),
        tl.On("t", KERNEL) * tl.On("f", tl.Polynomial(2)),
        tl.On("u", KERNEL.normalized()) + tl.On("b", tl.Bag(KERNEL)),
        (tl.On("t", KERNEL) + tl.On("t", tl.PartialTree())).gaussian(3.0),
    ],
    ids=repr,
)
def test_examples_with_columns(kernel: tl.kernels.Kernel, tmp_path: Path) -> None:
    clf = tl.KernelSVC(kernel).fit(rows(TREES), LABELS)
    again = round_trip(clf, tmp_path)
    np.testing.assert_array_equal(again.decision_function(rows(NEW)), clf.decision_function(rows(NEW)))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: [dict(enumerate(row)) for row in X.tolist()]])
@pytest.mark.parametrize("kernel", [tl.Linear(), tl.Polynomial(3), tl.Linear().gaussian(1.0)], ids=repr)
def test_vectors(form: Any, kernel: tl.kernels.Kernel, tmp_path: Path) -> None:
    X = form(np.random.default_rng(0).normal(size=(len(TREES), 4)))
    clf = tl.KernelSVC(kernel).fit(X, LABELS)
    again = round_trip(clf, tmp_path)
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))


def test_other_models(tmp_path: Path) -> None:
    svr = tl.KernelSVR(KERNEL, epsilon=0.01).fit(TREES, np.arange(len(TREES)))
    np.testing.assert_array_equal(round_trip(svr, tmp_path).predict(NEW), svr.predict(NEW))
    matrix = tl.KernelMatrix(KERNEL).fit(TREES[:5])
    np.testing.assert_array_equal(round_trip(matrix, tmp_path).transform(NEW), matrix.transform(NEW))
    model = CompressedModel.of(KERNEL, TREES, np.ones((2, len(TREES))))
    np.testing.assert_array_equal(round_trip(model, tmp_path).score(NEW), model.score(NEW))


def test_weights_of_classes(tmp_path: Path) -> None:
    weighted = tl.KernelSVC(KERNEL, class_weight={"left": 2.0}).fit(TREES, LABELS)
    again = round_trip(weighted, tmp_path)
    np.testing.assert_array_equal(again.decision_function(NEW), weighted.decision_function(NEW))
    assert again.class_weight == {"left": 2.0}


@pytest.mark.parametrize("strategy", ["ovr", "ovo"])
def test_older_classifiers(fitted: tl.KernelSVC, content: bytes, tmp_path: Path, strategy: str) -> None:
    def older(header: Any) -> None:
        state = header["model"]["state"]
        state["params"]["dict"] += [["multi_class", strategy], ["probability", False], ["random_state", 0]]
        state["fitted"]["dict"] += [["multi_class_", strategy], ["fit_seconds_", {"dict": [["gram", 0.5]]}]]

    path = tmp_path / "m"
    path.write_bytes(forged(content, older))
    for read in (tl.load, load_predictor):
        if strategy == "ovo":
            with pytest.raises(tl.learn.ModelFileError, match="one-vs-one"):
                read(path)
        else:
            np.testing.assert_array_equal(read(path).decision_function(NEW), fitted.decision_function(NEW))
    if strategy == "ovr":
        assert not hasattr(tl.load(path), "multi_class_")


def test_values_too_large_for_a_float64(tmp_path: Path) -> None:
    tree = binary(11)
    examples = [tree, tl.Tree("A", [tree, tl.Tree("B", ["x"])]), tl.Tree.parse("(B x)"), tl.Tree.parse("(A x)")]
    clf = tl.KernelSVC(tl.SubsetTree(1).normalized()).fit(examples, [0, 0, 1, 1])
    np.testing.assert_array_equal(
        round_trip(clf, tmp_path).decision_function(examples), clf.decision_function(examples)
    )


def test_word_vectors_go_along(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("x 1 0.2\ny 1 0.3\nz 0 1\n", encoding="utf-8")
    kernel = tl.Smoothed(str(tmp_path / "words.txt")).normalized() + KERNEL
    clf = tl.KernelSVC(kernel).fit(TREES, LABELS)
    tl.save(clf, tmp_path / "m")
    (tmp_path / "words.txt").unlink()
    np.testing.assert_array_equal(tl.load(tmp_path / "m").decision_function(NEW), clf.decision_function(NEW))
    content = (tmp_path / "m").read_bytes()
    header, data = parts_of(content)
    assert len(header["vectors"]) == 1, "copies were written too"
    text = json.dumps(header).replace('{"words": 0}', '"/etc/passwd"')
    assert "word vectors are missing" in refused(rebuilt(text.encode(), data), tmp_path / "m")


def test_one_graph_is_written_once(fitted: tl.KernelSVC, content: bytes) -> None:
    assert len(fitted.model_.terms) == 2
    assert len(parts_of(content)[0]["banks"]) == 1


def test_sizes_are_those_of_the_file(tmp_path: Path) -> None:
    model = CompressedModel.of(KERNEL, TREES, np.linspace(-1, 1, len(TREES))[None])
    tl.save(model, tmp_path / "m")
    data = parts_of((tmp_path / "m").read_bytes())[1]
    assert 0 <= len(data) - model.stats().model_bytes < 8 * 8, "arrays and their padding"


def test_saving_again_gives_the_same_bytes(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    tl.save(tl.load(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == content


# --- what cannot be saved or loaded -------------------------------------------------------------------------------


class OwnKernel(tl.SubsetTree):
    """Somebody's kernel."""


def test_kernels_of_ones_own(tmp_path: Path) -> None:
    clf = tl.KernelSVC(OwnKernel(0.3)).fit(TREES, LABELS)
    with pytest.raises(tl.learn.ModelFileError, match="kernel 'OwnKernel' is unknown"):
        round_trip(clf, tmp_path)
    again = round_trip(clf, tmp_path, kernels=[OwnKernel])
    assert type(again.kernel) is OwnKernel
    np.testing.assert_array_equal(again.decision_function(NEW), clf.decision_function(NEW))
    with pytest.raises(tl.errors.ParameterError, match="'kernels' parameter of load"):
        tl.load(tmp_path / "model.treelet", kernels=[int])


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        tl.save(tl.KernelSVC(), tmp_path / "m")
    with pytest.raises(tl.errors.InputTypeError, match="RLS, RLSPath, RankRLS, RankSVM"):
        tl.save([], tmp_path / "m")
    search = GridSearchCV(tl.KernelSVC(), {"C": [1]}, cv=2).fit(TREES, LABELS)
    pipeline = make_pipeline(tl.KernelSVC())
    grid_over_pipeline = GridSearchCV(pipeline, {"kernelsvc__C": [1]}, cv=2).fit(TREES, LABELS)
    for wrong, instead in (
        (search, "save cannot store a GridSearchCV"),
        (grid_over_pipeline, r"Save its best_estimator_\[-1\] instead"),
        (make_pipeline(tl.KernelSVC()), r"Save its last step, pipeline\[-1\]"),
        (make_pipeline(tl.TreeSketch(KERNEL), LinearSVC()), "save cannot store a Pipeline, because"),
        (KERNEL, r"save cannot store a kernel \(SubsetTree\)"),
        ("m", "str first"),
    ):
        with pytest.raises(tl.errors.InputTypeError, match=instead):
            tl.save(wrong, tmp_path / "m")
    clf = tl.KernelSVC(KERNEL).fit(TREES, LABELS)
    clf.platt_ = object()
    with pytest.raises(tl.errors.InputTypeError, match="A model file cannot store an object"):
        tl.save(clf, tmp_path / "m")
    assert not list(tmp_path.iterdir()), "something was left behind"
    with pytest.raises(tl.errors.FileError, match="cannot be written"):
        tl.save(tl.KernelSVC(KERNEL).fit(TREES, LABELS), tmp_path / "no" / "m")


def test_the_list_of_what_can_be_saved_is_complete(tmp_path: Path) -> None:
    program = (
        "import treelet as tl\n"
        "try:\n"
        f"    tl.save([], {str(tmp_path / 'm')!r})\n"
        "except tl.TreeletError as error:\n"
        "    print(error)\n"
    )
    listed = run_python(program).partition("types: ")[2].rstrip(".\n").split(", ")
    public = [getattr(tl.learn, name) for name in dir(tl.learn)]
    wanted = {cls.__name__ for cls in public if hasattr(cls, "_to_state")} | {cls.__name__ for cls in BANKS.values()}
    assert set(listed) == wanted
    assert len(listed) == len(wanted) >= 18
    for name in wanted:  # the docstring names everything that is not an estimator
        cls = getattr(tl.learn, name, None) or getattr(tl.structures, name)
        assert hasattr(cls, "fit") or name in str(tl.save.__doc__), name


def test_a_failed_save_leaves_the_old_file(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m"
    path.write_bytes(content)
    model = tl.load(path)

    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(28, "No space left on device")

    def full(handle: int, mode: str) -> Full:
        os.close(handle)  # Windows cannot remove an open file
        return Full()

    monkeypatch.setattr("treelet.formats.files.os.fdopen", full)
    with pytest.raises(OSError, match="No space"):
        tl.save(model, path)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


def refused(content: bytes, path: Path) -> str:
    path.write_bytes(content)
    with pytest.raises(tl.learn.ModelFileError) as caught:
        tl.load(path)
    assert isinstance(caught.value, OSError)
    assert isinstance(caught.value, tl.TreeletError)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_errors_say_what_and_what_to_do(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.treelet"
    assert "the file is not a treelet model" in refused(b"", path)
    assert "contains trees, not a saved model" in refused(b"(S (NP x))\n" * 100, path)
    assert "the file is not a treelet model" in refused(b"PK\x03\x04" + content, path)
    for length in (1, 7, 20, 63, len(content) // 2, len(content) - 1):
        assert "cut short" in refused(content[:length], path)
    altered = bytearray(content)
    altered[len(content) // 2] ^= 1
    assert "the model was altered" in refused(bytes(altered), path)
    assert "the model was altered" in refused(content + b"\n", path)
    header, data = parts_of(content)
    newer = refused(rebuilt(header, data, version=_VERSION + 1), path)
    assert f"format {_VERSION + 1}" in newer
    assert "Upgrade treelet" in newer
    with pytest.raises(tl.errors.FileError, match="the file does not exist"):
        tl.load(tmp_path / "nowhere")


def test_whole_numbers_are_kept_in_the_smallest_type(tmp_path: Path) -> None:
    from treelet.learn.persist import _Decoder, _Encoder

    arrays = [
        np.array([0, 255, 3]),
        np.array([-1, 127]),
        np.array([-129, 200], np.int32),
        np.array([2**40, 0]),
        np.array([2**63], np.uint64),
        np.array([-1, 255]),
        np.array([], np.int64),
        np.array([[1, 2], [3, 70_000]]),
        np.array([1.0, 2.0]),
        np.array([True, False]),
    ]
    encoder = _Encoder()
    value = encoder.value(arrays)
    types = ["|u1", "|i1", "<i2", "<i8", "<u8", "<i2", "<i8", "<u4", "<f8", "|b1"]
    assert [place["dtype"] for place in encoder.places] == types
    header = {"arrays": encoder.places, "banks": [], "vectors": []}
    for array, back in zip(
        arrays, _Decoder(header, memoryview(b"".join(encoder.pieces)), {}).value(value), strict=True
    ):
        assert back.dtype == array.dtype
        assert np.array_equal(back, array)


def test_a_file_of_format_1_is_read(fitted: tl.KernelSVC, content: bytes, tmp_path: Path) -> None:
    header, data = parts_of(content)
    pieces = []
    size = 0
    for place in header["arrays"]:  # as they were written then: every array in its own type
        count = int(np.prod(place["shape"]))
        array = np.frombuffer(data, place["dtype"], count, place["offset"]).astype(place.pop("as", place["dtype"]))
        place |= {"dtype": array.dtype.str, "offset": size}
        pieces.append(array.tobytes() + bytes(-array.nbytes % 8))
        size += len(pieces[-1])
    path = tmp_path / "old.treelet"
    text = json.dumps(header).encode()
    path.write_bytes(rebuilt(text + b" " * (-(_PREFIX.size + len(text)) % 8), b"".join(pieces), version=1))
    assert path.stat().st_size > len(content)
    assert np.array_equal(tl.load(path).predict(NEW), fitted.predict(NEW))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("<f8", "cannot be converted to"),
        ("<z9", "cannot be converted to"),
        ("|i1", "contains values that do not fit"),
    ],
)
def test_types_that_do_not_hold_what_is_there(name: str, message: str) -> None:
    from treelet.learn.persist import _Decoder

    header = {"arrays": [{"dtype": "|u1", "shape": [1], "offset": 0, "as": name}], "banks": [], "vectors": []}
    with pytest.raises(ValueError, match=message):
        _Decoder(header, memoryview(b"\xff"), {}).value({"array": 0})


@pytest.mark.serial
def test_many_damaged_copies(fitted: tl.KernelSVC, content: bytes, tmp_path: Path) -> None:
    """Random flips and cuts: equal predictions or the documented error, nothing else."""
    rng = np.random.default_rng(0)
    path, expected = tmp_path / "m", fitted.decision_function(NEW)
    started, refusals, copies = time.process_time(), 0, 1000 if trials(1000) == 1000 else 200
    for k in range(copies):
        damaged = bytearray(content)
        if k % 4 == 3:
            del damaged[int(rng.integers(len(damaged))) :]
        else:
            for place in rng.integers(0, len(damaged), int(rng.integers(1, 5))):
                damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            np.testing.assert_array_equal(tl.load(path).decision_function(NEW), expected)
        except tl.learn.ModelFileError:
            refusals += 1
    assert refusals >= 0.99 * copies, "a damaged file was taken for whole"
    assert time.process_time() - started < 30


@pytest.mark.parametrize("where", ["header", "arrays", "anywhere"])
def test_many_forged_copies(content: bytes, where: str, tmp_path: Path) -> None:
    """Damage with a checksum that fits: the documented error, or a model that works (on other numbers) or says why not."""
    rng = np.random.default_rng(len(where))
    length = _PREFIX.unpack_from(content)[4]
    first, last = {
        "header": (_PREFIX.size, _PREFIX.size + length),
        "arrays": (_PREFIX.size + length, len(content) - 32),
        "anywhere": (8, len(content) - 32),
    }[where]
    path, loaded, refusals, copies = tmp_path / "m", 0, 0, 1000 if trials(1000) == 1000 else 200
    for _ in range(copies):
        forged = bytearray(content)
        for place in rng.integers(first, last, int(rng.integers(1, 4))):
            forged[place] = (
                int(rng.integers(256)) if rng.random() < 0.5 else forged[place] ^ (1 << int(rng.integers(8)))
            )
        path.write_bytes(signed(bytes(forged)))
        try:
            model = tl.load(path)
        except tl.learn.ModelFileError:
            refusals += 1
            continue
        loaded += 1
        with suppress(tl.TreeletError):
            assert len(model.predict(NEW)) == len(NEW)
    assert loaded + refusals == copies
    assert refusals > copies // 10, "nothing was checked"
    assert loaded > 0 or where == "header"


def forged(content: bytes, change: Any) -> bytes:
    header, data = parts_of(content)
    return rebuilt(change(header) or header, data)


FORGERIES: dict[str, Any] = {
    "huge array": lambda h: h["arrays"][0].update(shape=[2**60]),
    "huge shape of nothing": lambda h: h["arrays"][0].update(shape=[0, 2**60]),
    "negative shape": lambda h: h["arrays"][0].update(shape=[-1]),
    "shape is a text": lambda h: h["arrays"][0].update(shape="9"),
    "negative offset": lambda h: h["arrays"][0].update(offset=-8),
    "offset beyond the end": lambda h: h["arrays"][0].update(offset=2**62),
    "objects": lambda h: h["arrays"][0].update(dtype="|O8"),
    "unknown type": lambda h: h["arrays"][0].update(dtype=["<f8"]),
    "an array twice": lambda h: h["banks"].append(h["banks"][0]),
    "no arrays": lambda h: h.pop("arrays"),
    "no banks": lambda h: h.update(banks=[]),
    "no model": lambda h: h.update(model=None),
    "a number for a model": lambda h: h.update(model=5),
    "a kernel for a model": lambda h: h.update(model={"kernel": "SubsetTree", "params": {}}),
    "unknown class": lambda h: h["model"].update(object="Popen"),
    "unknown kernel": lambda h: h["model"]["state"]["params"]["dict"][0].__setitem__(
        1, {"kernel": "eval", "params": {}}
    ),
    "unknown parameter": lambda h: h["model"]["state"]["params"]["dict"].append(["surprise", 1]),
    "bad parameter": lambda h: h["model"]["state"]["params"]["dict"][0].__setitem__(
        1, {"kernel": "SubsetTree", "params": {"lam": -1}}
    ),
    "private attribute": lambda h: h["model"]["state"]["fitted"]["dict"].append(["predict", 1]),
    "unknown kind": lambda h: h.update(model={"python": "print(1)"}),
    "two kinds": lambda h: h.update(model={"list": [], "dict": []}),
    "header is a list": lambda h: [h],
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_headers(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(content)
    tl.load(path)
    assert "checksum is correct, but the content" in refused(forged(content, FORGERIES[name]), path)


def test_headers_that_are_no_json(content: bytes, tmp_path: Path) -> None:
    data = parts_of(content)[1]
    for text in (b"", b"{", b"\xff\xfe", b"[" * 100_000 + b"]" * 100_000, b"1" * 10_000):
        refused(rebuilt(text, data), tmp_path / "m")
    too_long = bytearray(content)
    too_long[24:32] = struct.pack("<Q", 2**63)
    assert "header" in refused(signed(bytes(too_long)), tmp_path / "m")


@pytest.mark.serial
def test_a_small_file_does_not_take_much_memory(tmp_path: Path) -> None:
    """Every node of a long chain a tree of its own: written out, the square of the file."""
    n = 6_000
    chain = tl.Treebank(["(A " * 3 + "x" + ")" * 3])
    store, _ = chain.columns
    label = np.r_[store.label[0], np.full(n, store.label[1])].astype(np.int32)
    deep = type(store).from_columns(
        store.labels, label, np.r_[0, np.arange(n + 1)].astype(np.int64), np.arange(n, dtype=np.int32)
    )
    from treelet.formats.base import Columns

    bank = tl.Treebank.from_columns(Columns(deep, np.arange(1, n + 1, dtype=np.int32)))
    model = CompressedModel.of(tl.Subtree(0.5), bank[:2], [[1.0, 1.0]])
    term = model.terms[0]
    term.graph, term.at_roots = bank, _node_weights(sp.csr_array(np.ones((1, n))))
    tl.save(model, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 1_000_000
    import tracemalloc

    tracemalloc.start()
    scores = tl.load(tmp_path / "m").score(["(A x)", "(A (A x))"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(scores[:, 0], [0.5 * n, 0.5 * n + 0.25 * (n - 1)])
    assert peak < 50_000_000


def test_nothing_in_a_file_is_executed(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m").write_bytes(content)
    tl.load(tmp_path / "m")
    forbidden = {"compile", "exec", "import", "os.system", "subprocess.Popen", "pickle.find_class"}
    seen: list[str] = []
    watching = [True]
    sys.addaudithook(lambda event, args: seen.append(event) if watching and event in forbidden else None)
    tl.load(tmp_path / "m").predict(NEW)
    watching.clear()
    assert seen == []


def test_other_classes_can_join_in(tmp_path: Path) -> None:
    @register
    class Mean:
        def __init__(self, value: float) -> None:
            self.value = value

        def _to_state(self) -> dict[str, Any]:
            return {"value": self.value, "more": [None, (1, "é"), {2: np.float32(0.5)}, float("inf"), tl.Tree("A")]}

        @classmethod
        def _from_state(cls, state: dict[str, Any]) -> Mean:
            assert state["more"] == [None, (1, "é"), {2: 0.5}, float("inf"), tl.Tree("A")]
            return cls(state["value"])

    assert round_trip(Mean(0.25), tmp_path).value == 0.25


def test_a_bank_can_be_kept_too(tmp_path: Path) -> None:
    bank = tl.Treebank(["(S (NP (N dog)) (VP (V runs)))", None, "(S (NP (N cat)) (VP (V runs)))"])
    tl.save(bank[1:], tmp_path / "bank.treelet")
    assert tl.load(tmp_path / "bank.treelet") == bank[1:]
    torn = (tmp_path / "bank.treelet").read_bytes()[:-3]
    (tmp_path / "torn.treelet").write_bytes(torn)
    with pytest.raises(tl.learn.ModelFileError, match="cut short"):
        tl.load(tmp_path / "torn.treelet")


# --- the card -------------------------------------------------------------------------------------------------------

CARD_TREES = ["(S (A a))", "(S (B b))", "(S (C c))", "(S (A b))"] * 3
CARD_VALUES = [1, 2, 2, 1] * 3
CARD_GROUPS = ["p"] * 6 + ["q"] * 6


@pytest.mark.parametrize(
    ("model", "options", "task"),
    [
        (tl.KernelSVC(), {}, "classify"),
        (tl.KernelSVR(), {}, "regress"),
        (tl.RLS(), {}, "regress"),
        (tl.RankSVM(), {"qid": CARD_GROUPS}, "rank"),
        (tl.RankRLS(), {"qid": CARD_GROUPS}, "rank"),
        (tl.VotedPerceptron(), {"qid": CARD_GROUPS}, "rank"),
    ],
)
def test_every_model_has_a_card(model: Any, options: dict[str, Any], task: str, tmp_path: Path) -> None:
    file, again = tmp_path / "m.treelet", tmp_path / "again.treelet"
    model.fit(CARD_TREES, CARD_VALUES, **options)
    tl.save(model, file, metrics={"figure": 0.5, "on": "test.tsv"})
    card = tl.learn.card(file)
    assert (card["treelet"], card["estimator"], card["task"]) == (tl.__version__, type(model).__name__, task)
    assert card["kernel"] == repr(tl.SubsetTree().normalized())
    assert card["training"]["examples"] == 12
    assert card["sizes"]["distinct_subtrees"] > 0
    assert card["metrics"] == {"figure": 0.5, "on": "test.tsv"}
    assert card["training"].get("groups") == (2 if options else None)
    if task == "classify":
        assert card["training"]["classes"] == {"1": 6, "2": 6}
    else:
        assert card["training"]["values"] == {"least": 1, "most": 2}
    tl.save(tl.load(file), again)
    assert again.read_bytes() == file.read_bytes(), "nothing is lost on the way, and nothing tells when it was"


@pytest.mark.parametrize("model", [tl.KernelSVC(), tl.KernelMatrix(), tl.RLS()], ids=repr)
def test_a_file_tells_of_the_kernel_of_the_fit(model: Any, tmp_path: Path) -> None:
    kernel, file = tl.SubsetTree(lam=0.4), tmp_path / "m.treelet"
    model.set_params(kernel=kernel).fit(CARD_TREES, CARD_VALUES)
    kernel.set_params(lam=0.9)
    tl.save(model, file)
    assert tl.learn.card(file)["kernel"] == "SubsetTree(lam=0.4)"
    assert tl.load(file).kernel == tl.SubsetTree(lam=0.4)


def test_the_fingerprint_is_of_the_examples_alone(tmp_path: Path) -> None:
    def of(X: Any, y: Any, **params: Any) -> str:
        return str(tl.KernelSVC(**params).fit(X, y).training_["fingerprint"])

    y = [str(value) for value in CARD_VALUES]
    bank = tl.Treebank(CARD_TREES)
    longer = tl.Treebank(["(Z z)", *CARD_TREES, "(Y y)"])
    file = tmp_path / "a.tsv"
    file.write_text("".join(f"{label}\t{tree}\n" for label, tree in zip(y, CARD_TREES, strict=True)), encoding="utf-8")
    expected = of(bank, y)
    for same in (of(CARD_TREES, y), of(longer[1:-1], np.array(y)), of(*tl.read_examples(file)), of(bank, y, C=3)):
        assert same == expected
    assert expected == "sha256:00f0e2a4d68257c73012bc8227784910f3fae8a7ecb6cb0d333db5babfddcb6b", (
        "it is the same on every machine"
    )
    assert of(bank[::-1], y[::-1]) != expected
    assert of(bank, [*y[1:], "1"]) != expected
    assert not hasattr(tl.KernelSVC("precomputed").fit(tl.SubsetTree()(bank), y), "training_")


def test_files_without_a_card_and_wrong_ones(tmp_path: Path) -> None:
    file = tmp_path / "m.treelet"
    model = tl.KernelSVC().fit(CARD_TREES, CARD_VALUES)
    with pytest.raises(tl.errors.ParameterError, match=r"'metrics'.*a dict"):
        tl.save(model, file, metrics={"a": object()})  # type: ignore[dict-item]
    with pytest.raises(tl.errors.ParameterError, match="'metrics' parameter"):
        tl.save(model, file, metrics={"a": float("nan")})
    tl.save(model, file)
    content = file.read_bytes()
    length = _PREFIX.unpack_from(content)[4]
    header = json.loads(content[_PREFIX.size : _PREFIX.size + length])
    for card in (None, 3, {"training": [1], "metrics": "x"}):
        header["card"] = card
        if card is None:
            del header["card"]
        text = json.dumps(header).encode()
        text += b" " * (length - len(text)) if len(text) <= length else b" " * (-(_PREFIX.size + len(text)) % 8)
        total = len(content) - length + len(text)
        prefix = _PREFIX.pack(*_PREFIX.unpack_from(content)[:3], total, len(text))
        file.write_bytes(signed(prefix + text + content[_PREFIX.size + length :]))
        assert tl.load(file).predict(CARD_TREES).tolist() == model.predict(CARD_TREES).tolist()
        assert not hasattr(tl.load(file), "training_")
        if not isinstance(card, dict):
            assert "before model cards existed" in tl.learn.card(file)["note"]
            assert tl.learn.card(file)["estimator"] == "KernelSVC"
    tl.save(tl.load(file), file)
    assert tl.learn.card(file)["training"] is None
    file.write_text("(A a)", encoding="utf-8")
    with pytest.raises(tl.learn.ModelFileError, match="contains trees, not a saved model"):
        tl.learn.card(file)


def test_a_card_says_what_was_fitted(tmp_path: Path) -> None:
    model = tl.KernelSVC(tl.SubsetTree(), C=2.0).fit(["(A a)", "(B b)"], [0, 1])
    model.set_params(C=-7.0)  # with which it could not even be fitted
    for _ in range(2):
        tl.save(model, tmp_path / "m.treelet")
        assert tl.learn.card(tmp_path / "m.treelet")["parameters"]["C"] == 2.0
        model = tl.load(tmp_path / "m.treelet")
        assert model.C == 2.0
        model.set_params(C=3.0)
    tl.save(model.fit(["(A a)", "(B b)"], [0, 1]), tmp_path / "m.treelet")
    assert tl.learn.card(tmp_path / "m.treelet")["parameters"]["C"] == 3.0
