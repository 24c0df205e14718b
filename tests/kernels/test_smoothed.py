"""The smoothed partial-tree kernel and word vectors."""

from __future__ import annotations

import copy
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import treelet as tl
from definitions import kernels as reference
from treelet.kernels.smoothed import Smoothed
from treelet.structures.word_vectors import WordVectors
from treelet.testing import banks

# x and y are similar, z is similar to neither. A is also a label, so a similar word must not match nodes. w has no vector.
VECTORS = {"x": [1.0, 0.1, 0.0], "y": [0.9, 0.3, 0.0], "z": [0.0, 0.1, 1.0], "A": [0.8, 0.2, 0.3]}
WORDS = ("x", "y", "z", "A", "w")


def test_the_reference_is_that_of_partial_trees_when_only_equal_words_match() -> None:
    @settings(max_examples=60)
    @given(banks(min_size=2, max_size=2, max_nodes=9))
    def compare(examples: list[tl.Tree]) -> None:
        a, b = examples
        plain = reference.partial_tree(a, b, 0.6, 0.5)
        assert reference.smoothed_partial_tree(a, b, lambda v, w: float(v == w), 0.6, 0.5) == pytest.approx(plain)

    compare()


def test_wide_nodes_meet_by_the_grid() -> None:
    rng = np.random.default_rng(0)
    examples = [tl.Tree("A", [WORDS[k] for k in rng.integers(0, 5, 8)]) for _ in range(4)]
    vectors = WordVectors(list(VECTORS), list(VECTORS.values()))
    kernel = Smoothed(vectors, lam=0.5, mu=0.5, threshold=0)
    slow = [[reference.smoothed_partial_tree(a, b, vectors.similarity, 0.5, 0.5) for b in examples] for a in examples]
    np.testing.assert_allclose(kernel(examples), slow, rtol=1e-9)


def test_a_word_that_is_wholly_like_a_label_is_not_like_its_nodes() -> None:
    vectors = WordVectors(["z", "A"], [[1.0, 0.0], [2.0, 0.0]])  # a cosine of 1, although the words differ
    kernel = Smoothed(vectors, lam=1, mu=1, threshold=0)
    a, b = tl.Tree.parse("(A z)"), tl.Tree.parse("(A (A x))")
    for first, second in ((a, b), (b, a), (tl.Tree("A", [a] * 5), tl.Tree("A", [b] * 5))):
        slow = reference.smoothed_partial_tree(first, second, vectors.similarity, 1, 1)
        assert kernel([first], [second])[0, 0] == pytest.approx(slow, rel=1e-12)


def test_without_alike_words_it_is_the_partial_tree_kernel() -> None:
    examples = ["(S (N x) (V y))", "(S (N y) (V y))", "(N x)"]
    K = tl.PartialTree()(examples)
    np.testing.assert_allclose(Smoothed({"q": [1.0]})(examples), K)
    np.testing.assert_allclose(Smoothed(VECTORS, threshold=1)(examples), K)
    assert (Smoothed(VECTORS, threshold=0.1)(examples) >= K - 1e-15).all()
    assert Smoothed(VECTORS, threshold=0.1)(examples)[0, 1] > K[0, 1]


def test_reading_vectors(tmp_path: Path) -> None:
    words, matrix = list(VECTORS), np.array(list(VECTORS.values()))
    text = "\n".join(f"{w} {' '.join(map(str, row))}" for w, row in VECTORS.items()) + "\n"
    (tmp_path / "plain.txt").write_text(text)
    (tmp_path / "gensim.txt").write_text(f"{len(words)} 3\n{text}")
    (tmp_path / "packed.vec.gz").write_bytes(gzip.compress(text.encode()))
    np.save(tmp_path / "array.npy", matrix)
    (tmp_path / "array.txt").write_text("\n".join(words) + "\n")
    expected = WordVectors(words, matrix)
    for name in ("plain.txt", "gensim.txt", "packed.vec.gz", "array.npy"):
        read = WordVectors.read(tmp_path / name)
        assert list(read.index) == words
        np.testing.assert_allclose(read.unit, expected.unit)
    path = str(tmp_path / "plain.txt")
    kernel = Smoothed(path, threshold=0.2)
    assert eval(repr(kernel), {"Smoothed": Smoothed}) == kernel
    read = Smoothed(WordVectors.read(path))
    assert eval(repr(read), {"Smoothed": Smoothed, "WordVectors": WordVectors}) == read
    small = Smoothed(expected)
    assert eval(repr(small), {"Smoothed": Smoothed, "WordVectors": WordVectors}) == small
    np.testing.assert_allclose(kernel(["(N x)", "(N y)"]), Smoothed(VECTORS, threshold=0.2)(["(N x)", "(N y)"]))


def test_bad_vectors(tmp_path: Path) -> None:
    (tmp_path / "ragged.txt").write_text("a 1 2\nb 1\n")
    with pytest.raises(tl.errors.FormatError, match=r"ragged\.txt:2"):
        WordVectors.read(tmp_path / "ragged.txt")
    (tmp_path / "words.txt").write_text("a b c\n")
    with pytest.raises(tl.errors.FormatError, match=r"words\.txt:1"):
        WordVectors.read(tmp_path / "words.txt")
    np.save(tmp_path / "alone.npy", np.zeros((2, 2)))
    with pytest.raises(tl.errors.FileError, match=r"alone\.txt"):
        WordVectors.read(tmp_path / "alone.npy")
    (tmp_path / "torn.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(tl.errors.FileError, match="NumPy"):
        WordVectors.read(tmp_path / "torn.npy")
    with pytest.raises(tl.errors.ParameterError, match="word 'b' contains"):
        WordVectors(["a", "b"], [[1, 2], [3, np.nan]])
    with pytest.raises(tl.errors.ParameterError, match="Words that occur several times"):
        WordVectors(["a", "a"], [[1], [2]])
    with pytest.raises(tl.errors.InputTypeError, match="WordVectors needs an array with one row"):
        WordVectors(["a"], [[1], [2]])
    with pytest.raises(tl.errors.InputTypeError, match=r"[Ww]ord vectors must"):
        Smoothed(5)(["(A x)"])
    with pytest.raises(tl.errors.ParameterError, match="'threshold' parameter"):
        Smoothed(VECTORS, threshold=2)


def test_vectors_of_any_length_have_a_direction() -> None:
    sizes = [1e308, 1e-320, 1.0, 1e200, 1e-200]
    vectors = WordVectors([*map(str, sizes), "zero"], [*([size, size] for size in sizes), [0.0, 0.0]])
    np.testing.assert_allclose(vectors.unit[:-1], np.sqrt(0.5), rtol=1e-12)
    assert not vectors.unit[-1].any()
    ordinary = np.random.default_rng(0).normal(size=(5, 4))
    mixed = WordVectors(list("abcdef"), np.vstack([ordinary, [1e308] * 4]))
    np.testing.assert_array_equal(mixed.unit[:5], ordinary / np.linalg.norm(ordinary, axis=1, keepdims=True))


def test_a_file_of_vectors_is_read_once_and_copies_share_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "v.txt").write_text("x 1 0\ny 1 1\n", encoding="utf-8")
    read, count = WordVectors.read, list[object]()
    monkeypatch.setattr(WordVectors, "read", lambda path: (count.append(path), read(path))[1])
    trees, path = ["(A x)", "(A y)", "(B x)"], str(tmp_path / "v.txt")
    distance = tl.EditDistance(rename=path)
    tl.nearest(distance, trees, trees, k=1)
    tl.nearest(distance.similarity(), trees, trees, k=1)
    assert len(count) == 1
    kernel = Smoothed(path)
    first, second = (tl.Nearest(kernel).fit(trees).kernel_ for _ in range(2))
    assert len(count) == 2
    vectors = kernel._word_vectors()
    assert first._word_vectors() is second._word_vectors() is vectors
    assert copy.copy(vectors) is copy.deepcopy([vectors])[0] is vectors
    with pytest.raises(ValueError, match="read-only"):
        vectors.unit[0] = 0
    tl.save(tl.Nearest(kernel).fit(trees), tmp_path / "index")
    assert not tl.load(tmp_path / "index").kernel_._word_vectors().unit.flags.writeable
