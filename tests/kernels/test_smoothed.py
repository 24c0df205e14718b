"""The smoothed partial-tree kernel and word vectors."""

from __future__ import annotations

import copy
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import trials
from definitions import kernels as reference
from definitions.kernels import definition
from experiments import pair_kernels
from treelet.kernels.smoothed import Smoothed
from treelet.learn.persist import _Decoder, _Encoder
from treelet.structures.word_vectors import WordVectors
from treelet.testing import banks

# x and y are similar, z is similar to neither. A is also a label, and w has no vector.
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


@pytest.mark.parametrize("nodes", ["all", "leaves"])
def test_wide_nodes_meet_by_the_grid(nodes: str) -> None:
    rng = np.random.default_rng(0)
    examples = [tl.Tree("A", [WORDS[k] for k in rng.integers(0, 5, 8)]) for _ in range(4)]
    vectors = WordVectors(list(VECTORS), list(VECTORS.values()))
    kernel = Smoothed(vectors, lam=0.5, mu=0.5, threshold=0, nodes=nodes)
    slow = [
        [reference.smoothed_partial_tree(a, b, vectors.similarity, 0.5, 0.5, nodes=nodes) for b in examples]
        for a in examples
    ]
    np.testing.assert_allclose(kernel(examples), slow, rtol=1e-9)


@pytest.mark.parametrize("nodes", ["all", "leaves"])
def test_a_word_that_is_wholly_like_a_label_is_like_its_nodes_if_all_nodes_are_compared(nodes: str) -> None:
    vectors = WordVectors(["z", "A"], [[1.0, 0.0], [2.0, 0.0]])  # a cosine of 1, although the words differ
    kernel = Smoothed(vectors, lam=1, mu=1, threshold=0, nodes=nodes)
    a, b = tl.Tree.parse("(A z)"), tl.Tree.parse("(A (A x))")
    for first, second in ((a, b), (b, a), (tl.Tree("A", [a] * 5), tl.Tree("A", [b] * 5))):
        slow = reference.smoothed_partial_tree(first, second, vectors.similarity, 1, 1, nodes=nodes)
        assert kernel([first], [second])[0, 0] == pytest.approx(slow, rel=1e-12)


def test_inner_words_match_in_part() -> None:
    """The example of the documentation: PT and similar leaves give 3, similar nodes 3 + sigma (1 + 2)."""
    a, b = ["(runs (cat the))"], ["(walks (cat the))"]
    pairs = {("runs", "walks"): 0.5}
    assert tl.PartialTree(1, 1)(a, b)[0, 0] == Smoothed(pairs, 1, 1, nodes="leaves")(a, b)[0, 0] == 3
    assert Smoothed(pairs, 1, 1)(a, b)[0, 0] == 4.5
    assert Smoothed(pairs, 1, 1, threshold=0.5)(a, b)[0, 0] == 3  # not above the threshold
    assert Smoothed({"runs": [1.0, 0.0], "walks": [1.0, 1.0]}, 1, 1)(a, b)[0, 0] == pytest.approx(3 + 3 / np.sqrt(2))


LABELS = ("LEX##a::n", "LEX##b::n", "LEX##a::v", "a::n", "b::n", "a", "b", "POS##a", "LEX##", "::", "x::", "##b")
COMPOSED = ("COMP##r<a::n,b::v>", "COMP##r<b::n,b::v>", "COMP##s<b::n,b::v>", "COMP##r<b::n,b::n>", "COMP##r")


def tables(labels: tuple[str, ...]) -> st.SearchStrategy[dict[tuple[str, str], float]]:
    values = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
    pairs = [pair for k, a in enumerate(labels) for pair in ((a, b) for b in labels[:k])]
    return st.dictionaries(st.sampled_from(pairs), values, min_size=1)


@settings(max_examples=trials(300))
@given(
    banks(max_size=6, max_nodes=9, labels=LABELS + COMPOSED, words=LABELS),
    tables(("a", "b", "a::n", "b::n", "LEX##a::n", "POS##a", "::", "x::", "x", "##b", *COMPOSED)),
    st.sampled_from([0.0, 0.3, 0.5]),
    st.sampled_from(["all", "leaves"]),
    st.sampled_from([1.0, 0.4]),
    st.booleans(),
)
def test_words_of_labels_by_the_rule(
    examples: list[tl.Tree],
    pairs: dict[tuple[str, str], float],
    threshold: float,
    nodes: str,
    factor: float,
    as_function: bool,
) -> None:
    similarity: Any = pairs
    if as_function:
        similarity = lambda a, b: pairs.get((a, b), pairs.get((b, a), 0.0))
    kernel = Smoothed(similarity, 0.7, 0.6, threshold=threshold, nodes=nodes, terminal_factor=factor)
    slow = definition(kernel)
    np.testing.assert_allclose(kernel(examples), [[slow(a, b) for b in examples] for a in examples], rtol=1e-9)


@settings(max_examples=trials(200))
@given(banks(min_size=2, max_size=2, max_nodes=6), tables(("A", "B", "x", "y")), st.booleans())
def test_all_pairs_of_fragments(examples: list[tl.Tree], pairs: dict[tuple[str, str], float], leaves: bool) -> None:
    a, b = examples
    kernel = Smoothed(pairs, 0.8, 0.6, leaves, threshold=0)
    slow = reference.smoothed_fragments(a, b, reference.label_similarity(pairs, 0), 0.8, 0.6, leaves)
    assert kernel([a], [b])[0, 0] == pytest.approx(slow, rel=1e-9)


def phrases(rng: np.random.Generator) -> list[tl.Tree]:
    """Return trees with common and rare productions, and wide nodes, whose inner nodes and words can be similar."""

    def phrase(children: int) -> tl.Tree:
        tags = [tl.Tree(f"T{rng.integers(5)}", [tl.Tree(f"w{rng.integers(9)}")]) for _ in range(children)]
        inner = [phrase(int(rng.integers(1, 4)))] if children < 5 and rng.random() < 0.6 else []
        return tl.Tree(f"P{rng.integers(3)}", [*tags, *inner])

    def named(*tags: str) -> tl.Tree:
        return tl.Tree(f"P{rng.integers(3)}", [tl.Tree(tag, [tl.Tree(f"w{rng.integers(9)}")]) for tag in tags])

    common = [named("T0", "T1", *tail) for tail in ((), ("T2",)) for _ in range(40)]
    rare = [phrase(int(n)) for n in rng.integers(1, 8, 24)]
    wide = [named(*(f"T{k % 7}" for k in range(n))) for n in (20, 33, 45)]
    return [tl.Tree("S", [tree]) for tree in (*common, *rare, *wide, *rare[:9])]


@pytest.mark.parametrize("factor", [1.0, 0.5])
@pytest.mark.parametrize("names", [("P",), ("P", "T"), ("P", "T", "w"), ("w",)])
def test_rare_and_common_productions(names: tuple[str, ...], factor: float) -> None:
    rng = np.random.default_rng(5)
    examples = phrases(rng)
    labels = sorted({node.label for tree in examples for node in tree.nodes()})
    pairs = {(a, b): float(rng.random()) for a in labels for b in labels if a < b and a[0] == b[0] and a[0] in names}
    kernel = Smoothed(pairs, 0.5, 0.6, threshold=0.3, terminal_factor=factor)
    alike = reference.label_similarity(pairs, 0.3)
    some, all_nodes = range(0, len(examples), 9), [pair_kernels.nodes_of(tree) for tree in examples]
    slow = np.array([[pair_kernels.recursion_value(kernel, all_nodes[i], b, alike) for b in all_nodes] for i in some])
    bank = tl.Treebank(examples)
    K = kernel(bank)
    np.testing.assert_allclose(K[some], slow, rtol=1e-11)
    np.testing.assert_allclose(kernel(bank, bank[:]), K, rtol=1e-12)
    np.testing.assert_allclose(kernel(examples[:3], bank), K[:3], rtol=1e-12)
    np.testing.assert_array_equal(kernel(bank, n_jobs=2), K)
    again = kernel.evaluator(bank)  # an order of rows in which the limit of columns also decreases
    for begin in (20, 40, 0, 20):
        rows = np.zeros((20, begin + 20))
        again.fill(begin, begin + 20, rows, True)
        lower = np.tril(np.ones(rows.shape, bool), begin)
        np.testing.assert_array_equal(rows[lower], K[begin : begin + 20, : begin + 20][lower])
    logs = np.empty_like(K)
    kernel.evaluator(bank, logs=True).fill(0, len(bank), logs, False)
    np.testing.assert_allclose(np.exp(logs), K, rtol=1e-10)


def test_more_children_than_are_listed() -> None:
    """A node with 600 children, all of them similar to the children of other nodes, and such a node among the columns."""
    rng = np.random.default_rng(2)
    wide = [tl.Tree(name, [f"w{k}" for k in rng.integers(4, size=600)]) for name in ("A", "B")]
    small = [tl.Tree(name, [f"w{k}" for k in rng.integers(4, size=3)]) for name in ("A", "B", "A")]
    pairs = {("A", "B"): 0.5, ("w0", "w1"): 0.25, ("w2", "w3"): 0.75}
    kernel = Smoothed(pairs, 0.5, 0.5, threshold=0.1)
    alike = reference.label_similarity(pairs, 0.1)
    nodes = [pair_kernels.nodes_of(tree) for tree in (*wide, *small)]
    slow = [[pair_kernels.recursion_value(kernel, a, b, alike) for b in nodes[2:]] for a in nodes]
    np.testing.assert_allclose(kernel([*wide, *small], small), slow, rtol=1e-10)
    np.testing.assert_allclose(kernel(small, [*wide, *small]), np.transpose(slow), rtol=1e-10)


def test_deep_trees() -> None:
    first, second = tl.Tree("x"), tl.Tree("y")
    for k in range(100_000):
        first, second = tl.Tree("AB"[k % 2], [first]), tl.Tree("BA"[k % 2], [second])
    K = Smoothed({("A", "B"): 0.5, ("x", "y"): 0.5}, 0.01, 0.01)([first], [second])
    assert np.isfinite(K).all()


def test_a_word_function() -> None:
    pairs = {("run", "walk"): 0.5}
    trees = ["(Runs x)", "(walk x)", "(RUN x)", "(S x)"]

    def stem(label: str) -> str | None:
        return None if label == "S" else label.lower().removesuffix("s")

    K = Smoothed(pairs, 1, 1, word=stem)(trees)
    assert K[0, 1] == 1 + 0.5 * 2
    assert K[0, 2] == 1 + 2  # the same word
    assert K[0, 3] == 1  # not a word
    of_kinds = Smoothed(pairs, 1, 1, word=lambda label: (label.lower().removesuffix("s"), label.isupper()))(trees)
    assert of_kinds[0, 1] == 2
    assert of_kinds[0, 2] == 1  # another kind
    for wrong in (3, ("a", []), ("a", "b", "c")):
        with pytest.raises(tl.errors.ParameterError, match=r"word\('.*'\) must return"):
            Smoothed(pairs, word=lambda label, wrong=wrong: wrong)(trees)  # type: ignore[misc]
    with pytest.raises(tl.errors.ParameterError, match=r"word\('.*'\) raised IndexError"):
        Smoothed(pairs, word=lambda label: label[9])(trees)
    with pytest.raises(tl.errors.ParameterError, match="'word' parameter"):
        Smoothed(pairs, word="lower")  # type: ignore[arg-type]


def test_a_similarity_function_is_called_once_per_pair_and_order() -> None:
    calls = list[tuple[str, str]]()

    def compare(a: str, b: str) -> float:
        calls.append((a, b))
        return 0.5

    kernel = Smoothed(compare, 1, 1, threshold=0.1)
    K = kernel.normalized()(["(A x)", "(A y)"])
    assert sorted(calls) == [(a, b) for a in "Axy" for b in "Axy" if a != b]
    kernel.normalized()(["(A x)"], ["(A y)", "(A z)"])
    assert sorted({*calls}) == [(a, b) for a in "Axyz" for b in "Axyz" if a != b] == sorted(calls)
    pairs = {(a, b): 0.5 for a in "Axy" for b in "Axy" if a < b}
    np.testing.assert_array_equal(Smoothed(pairs, 1, 1, threshold=0.1).normalized()(["(A x)", "(A y)"]), K)
    calls.clear()
    Smoothed(compare, nodes="leaves")(["(A x)", "(A y)"])
    assert {*calls} == {("x", "y"), ("y", "x")}
    calls.clear()
    Smoothed(compare)(["(LEX##a::n LEX##b::v)", "(LEX##c::n POS##N)"])
    assert {*calls} == {("a", "c"), ("c", "a")}  # only words of one kind


def test_bad_similarities() -> None:
    trees = ["(A x)", "(A y)"]
    for value in (1.5, -0.5, float("nan"), "much", None):
        with pytest.raises(tl.errors.ParameterError, match=r"similarity of 'x' and 'y' must be a number in \[0, 1\]"):
            Smoothed({("x", "y"): value})(trees)
        with pytest.raises(tl.errors.ParameterError, match=r"vectors\('.', '.'\) must be a number in \[0, 1\]"):
            Smoothed(lambda a, b, value=value: value)(trees)
    with pytest.raises(tl.errors.ParameterError, match="in the other order"):
        Smoothed({("x", "y"): 0.5, ("y", "x"): 0.6})(trees)
    with pytest.raises(tl.errors.ParameterError, match="in the other order"):
        Smoothed(lambda a, b: float(a < b))(trees)
    with pytest.raises(tl.errors.ParameterError, match="to itself must be 1"):
        Smoothed({("x", "x"): 0.5})(trees)
    with pytest.raises(tl.errors.ParameterError, match="pairs of words"):
        Smoothed({("x", "y"): 0.5, "z": 1})(trees)
    with pytest.raises(tl.errors.ParameterError, match="raised KeyError"):
        Smoothed(lambda a, b: {}[a])(trees)
    with pytest.raises(tl.errors.ParameterError, match="'nodes' parameter"):
        Smoothed(VECTORS, nodes="inner")
    np.testing.assert_array_equal(
        Smoothed({("x", "y"): 0.5, ("y", "x"): 0.5})(trees), Smoothed({("x", "y"): 0.5})(trees)
    )
    for nothing in ({("x", "x"): 1}, {}):
        np.testing.assert_array_equal(Smoothed(nothing)(trees), tl.PartialTree()(trees))


def test_words_without_a_direction_are_similar_to_no_other_word() -> None:
    trees = ["(x a)", "(y a)", "(w a)"]
    K = tl.PartialTree()(trees)
    np.testing.assert_array_equal(Smoothed({"x": [0.0, 0.0], "y": [0.0, 0.0]}, threshold=0)(trees), K)
    np.testing.assert_array_equal(Smoothed({"x": [1.0], "y": [-1.0]}, threshold=0)(trees), K)  # opposite words


def test_saved_pairs_and_functions(tmp_path: Path) -> None:
    trees, y = ["(run a)", "(walk a)", "(sit b)", "(lie b)"], [1, 1, 0, 0]
    model = tl.KernelSVC(Smoothed({("run", "walk"): 0.5}, nodes="leaves")).fit(trees, y)
    tl.save(model, tmp_path / "m")
    again = tl.load(tmp_path / "m")
    assert again.kernel == model.kernel
    np.testing.assert_array_equal(again.decision_function(trees), model.decision_function(trees))
    for kernel in (Smoothed(lambda a, b: 0.5), Smoothed(VECTORS, word=lambda label: label)):
        with pytest.raises(tl.errors.InputTypeError, match="cannot store a function"):
            tl.save(tl.KernelSVC(kernel).fit(trees, y), tmp_path / "f")


def test_kernels_of_earlier_files_compare_leaves() -> None:
    encoder = _Encoder()
    params = {name: encoder.value(value) for name, value in Smoothed({("x", "y"): 0.5}).get_params(deep=False).items()}
    decoder = _Decoder({"banks": [], "vectors": []}, memoryview(b""), {"Smoothed": Smoothed})
    assert decoder.kernel("Smoothed", params).nodes == "all"  # type: ignore[attr-defined]
    del params["nodes"], params["word"]
    assert decoder.kernel("Smoothed", params).nodes == "leaves"  # type: ignore[attr-defined]


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
    (tmp_path / "plain.txt").write_text(text, encoding="utf-8")
    (tmp_path / "gensim.txt").write_text(f"{len(words)} 3\n{text}", encoding="utf-8")
    (tmp_path / "packed.vec.gz").write_bytes(gzip.compress(text.encode()))
    np.save(tmp_path / "array.npy", matrix)
    (tmp_path / "array.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
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
    (tmp_path / "ragged.txt").write_text("a 1 2\nb 1\n", encoding="utf-8")
    with pytest.raises(tl.errors.FormatError, match=r"ragged\.txt:2"):
        WordVectors.read(tmp_path / "ragged.txt")
    (tmp_path / "words.txt").write_text("a b c\n", encoding="utf-8")
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
