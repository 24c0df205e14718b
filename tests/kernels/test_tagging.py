"""Tagged sequences, their banks and files, and the tagging kernel: equal to its slow definition."""

from __future__ import annotations

import gzip
import io
import lzma
import math
import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treelet as tl
from definitions import kernels as reference
from treelet.testing import check_estimator, check_kernel, tagged

LOU = tl.Tagged.parse("Lou/SP Gerstner/CP is/N")
SHORT = ["the/D dog/N barks/V", "a/D dog/N barks/V", "a/D cat/N", "dogs/N bark/V", "the/D dog/N"]


# --- the kernel -----------------------------------------------------------------------------------------------------


def test_a_wrong_definition_would_be_noticed() -> None:
    def careless(a: tl.Tagged, b: tl.Tagged) -> float:  # a word counts also under another tag
        return reference.tagging(a, b, 0.4) + 0.4 * sum(x == y and s != t for x, s in a for y, t in b)

    examples = [tl.Tagged.parse(text) for text in ("the/D dog/N", "dog/V the/D")]
    with pytest.raises(AssertionError, match="slow definition"):
        check_kernel(tl.Tagging(0.4), examples, reference=careless)


def test_the_features_of_the_paper() -> None:
    features = Counter(reference.tagging_features(LOU))
    assert features[("SP", None), ("CP", None)] == 1  # {SP CP}
    assert features[("SP", None), ("CP", "Gerstner"), ("N", None)] == 1  # {SP Gerstner/CP N}
    assert len(features) == 3 * 2 + 2 * 4 + 8
    whole = tl.Tagged.parse("Lou/SP Gerstner/CP is/N chairman/N of/N IBM/SC")
    more = Counter(reference.tagging_features(whole))
    assert more[("SP", None), ("CP", None), ("N", "is"), ("N", None), ("N", "of")] == 1  # {SP CP is/N N of/N}
    assert more[("N", None),] == 3
    assert more[("N", None), ("N", None)] == 2


def test_values_by_hand() -> None:
    assert tl.Tagging(lam=1).diag([LOU])[0] == 22  # no feature occurs twice
    lam = 0.5
    # {D}, {N}, {dog/N}, {D N}, {D dog/N}
    assert tl.Tagging(lam)(["the/D dog/N"], ["a/D dog/N"])[0, 0] == 3 * lam + 2 * lam**2
    assert tl.Tagging(lam)(["the/D dog/N"], ["dog/N the/D"])[0, 0] == 4 * lam  # no two words in this order
    assert tl.Tagging(lam)(["dog/N"], ["dog/V"])[0, 0] == 0  # words count only with their tags
    assert tl.Tagging(lam)(["x/N x/N"], ["x/N"])[0, 0] == 4 * lam


def test_long_equal_sequences_overflow_clearly_and_normalize_right() -> None:
    words = [f"w{k}" for k in range(1500)]
    a, b = tl.Tagged(words, ["N"] * 1500), tl.Tagged(words[:-1] + ["other"], ["N"] * 1500)
    kernel = tl.Tagging(lam=1)
    with pytest.raises(tl.errors.KernelOverflowError, match=r"lam=1.*normalized"):
        kernel([a, b])
    with pytest.raises(tl.errors.KernelOverflowError):
        kernel.diag([a])
    N = kernel.normalized()([a, b, "x/V"])
    assert np.diag(N) == pytest.approx(1)
    assert N[0, 2] == 0
    # Nearly all of the value comes from pieces of full length. Half of these pieces include the last word.
    assert 0.5 < N[0, 1] < 0.9
    short = [tl.Tagged(words[:n], ["N"] * n) for n in (4, 7)]
    logs = kernel.evaluator(kernel.coerce(short), logs=True)
    out = np.empty((2, 2))
    logs.fill(0, 2, out, False)
    np.testing.assert_allclose(np.exp(out), kernel(short), rtol=1e-12)


def test_very_long_sequences_take_no_stack() -> None:
    n = 50_000
    long = tl.Tagged([f"w{k % 7}" for k in range(n)], [f"T{k % 1000}" for k in range(n)])
    value = tl.Tagging(lam=0.1).diag([long])[0]
    assert math.isfinite(value)
    assert tl.structures.TaggedBank([long])[:][0] == long


def test_many_candidates_of_one_sentence() -> None:
    """Similar rows are processed together, and similar columns share posting lists."""
    rng = np.random.default_rng(0)
    words = [f"w{k % 5}" for k in range(12)]
    examples = [tl.Tagged(words, rng.choice(["A", "B"], 12, p=[0.9, 0.1])) for _ in range(60)]
    examples += examples[:5]
    bank = tl.structures.TaggedBank(examples)
    K = tl.Tagging(0.5)(bank)
    alone = np.array([[tl.Tagging(0.5)([a], [b])[0, 0] for b in examples[:20]] for a in examples[-10:]])
    np.testing.assert_allclose(K[-10:, :20], alone, rtol=1e-12)
    np.testing.assert_array_equal(tl.Tagging(0.5)(bank, n_jobs=2), K)


def test_missing_parameters_and_refusals() -> None:
    kernel = tl.Tagging()
    assert kernel.lam == 0.4
    assert repr(kernel) == "Tagging(lam=0.4)"
    assert kernel.get_params() == {"lam": 0.4, "lam_bounds": (1e-3, 1)}
    K = kernel([None, "a/X", None])
    assert K[0].tolist() == [0, 0, 0]
    assert K[1, 1] > 0
    assert kernel([]).shape == (0, 0)
    assert kernel([None], [None]).tolist() == [[0]]
    for lam in (0, -1, 1.5, "x", True, math.nan):
        with pytest.raises(tl.errors.ParameterError, match="'lam' parameter of Tagging"):
            tl.Tagging(lam)
    with pytest.raises(tl.errors.InputTypeError, match="Put it in a list"):
        kernel("a/X")
    with pytest.raises(tl.errors.InputTypeError, match="Treebank"):
        kernel(tl.Treebank(["(A x)"]))
    with pytest.raises(tl.errors.InputTypeError, match=r"On\("):
        kernel({"tags": ["a/X"]})


# --- with the rest of the library -----------------------------------------------------------------------------------


def test_columns_sums_and_wraps() -> None:
    table = tl.structures.Table({"tags": SHORT, "logp": [-1.0, -2, -3, -4, -5]})
    kernel = tl.On("tags", tl.Tagging(0.3)) + 0.1 * tl.On("logp", tl.Linear())
    logp = np.array([[-1.0, -2, -3, -4, -5]])
    np.testing.assert_allclose(kernel(table), tl.Tagging(0.3)(SHORT) + 0.1 * logp.T @ logp)
    rows = [{"tags": tl.Tagged.parse(text), "logp": float(x)} for text, x in zip(SHORT, logp[0], strict=True)]
    np.testing.assert_allclose(kernel(rows), kernel(table))
    np.testing.assert_allclose(kernel({"tags": tl.structures.TaggedBank(SHORT), "logp": logp[0]}), kernel(table))
    assert tl.Tagging().gaussian(2.0)(SHORT).shape == (5, 5)
    assert tl.Tagging().polynomial(2)(SHORT)[0, 1] == pytest.approx(tl.Tagging()(SHORT)[0, 1] ** 2)
    bags = tl.Bag(tl.Tagging(0.3))([SHORT[:2], SHORT[2:]])
    with pytest.raises(tl.errors.InputTypeError, match="named columns"):
        kernel(tl.structures.TaggedBank(SHORT))
    assert np.array([LOU, LOU]).shape == (2,)  # one value each
    assert bags[0, 1] == pytest.approx(tl.Tagging(0.3)(SHORT)[:2, 2:].sum())


def test_estimators(tmp_path: Path) -> None:
    y = ["det", "det", "det", "no", "det"]
    clf = tl.KernelSVC(tl.Tagging(0.3).normalized()).fit(SHORT, y)
    assert clf.predict(["dogs/N bark/V", "the/D dog/N"]).tolist() == ["no", "det"]
    tl.save(clf, tmp_path / "m.treelet")
    again = tl.load(tmp_path / "m.treelet")
    np.testing.assert_array_equal(again.decision_function(SHORT), clf.decision_function(SHORT))
    features = tl.KernelMatrix(tl.Tagging(0.3)).fit(SHORT).transform(SHORT[:2])
    np.testing.assert_allclose(features, tl.Tagging(0.3)(SHORT[:2], SHORT))
    check_estimator(tl.KernelSVC(tl.Tagging(0.3)), tl.structures.TaggedBank(SHORT * 4), np.array(y * 4))


@pytest.mark.parametrize("prediction", ["averaged", "voted", "last"])
@pytest.mark.parametrize("normalize", [False, True])
def test_rankers(prediction: str, normalize: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    texts, y, qid = [], [], []
    for group in range(12):
        words = [str(rng.choice(["the", "dog", "runs", "a"])) for _ in range(5)]
        right = {"the": "D", "a": "D", "dog": "N", "runs": "V"}
        for k in range(4):
            tags = [right[word] if k == 0 or rng.random() < 0.6 else str(rng.choice(["D", "N", "V"])) for word in words]
            texts.append(tl.Tagged(words, tags))
            y.append(np.mean([right[word] == tag for word, tag in texts[-1]]))
            qid.append(group)
    X = tl.structures.Table({"tags": texts, "logp": np.zeros(len(texts))})
    tags = tl.Tagging(0.3).normalized() if normalize else tl.Tagging(0.3)
    kernel = tl.On("tags", tags) + tl.On("logp", tl.Linear())
    ranker = tl.VotedPerceptron(kernel, epochs=3, prediction=prediction).fit(X, y, qid=qid)
    direct = tl.VotedPerceptron("precomputed", epochs=3, prediction=prediction).fit(kernel(X), y, qid=qid)
    np.testing.assert_allclose(ranker.predict(X, qid=qid), direct.predict(kernel(X), qid=qid), rtol=1e-9, atol=1e-9)
    assert np.array(y)[ranker.rank(X, qid=qid)].mean() > 0.95
    tl.save(ranker, tmp_path / "m.treelet")
    again = tl.load(tmp_path / "m.treelet")
    np.testing.assert_array_equal(again.predict(X, qid=qid), ranker.predict(X, qid=qid))
    if prediction == "averaged":
        assert again.model_.stats().kept_examples <= 1  # the sequences were merged into a graph
        svm = tl.RankSVM(kernel).fit(X, y, qid=qid)
        assert np.array(y)[svm.rank(X, qid=qid)].mean() > 0.95


# --- sequences and banks --------------------------------------------------------------------------------------------


def test_tagged() -> None:
    assert tl.Tagged.parse("1/2/CD //SYM").words == ("1/2", "/")
    assert tl.Tagged(("Lou", "Gerstner", "is"), ["SP", "CP", "N"]) == LOU
    assert hash(LOU) == hash(tl.Tagged.parse(str(LOU)))
    assert eval(repr(LOU), {"Tagged": tl.Tagged}) == LOU
    assert pickle.loads(pickle.dumps(LOU)) == LOU
    assert LOU != "Lou/SP Gerstner/CP is/N"
    with pytest.raises(AttributeError):
        LOU.words = ()
    for words, tags, problem in [
        (["a"], [], "A tagged sequence needs one tag per word"),
        ([], [], "at least one"),
        (["a b"], ["X"], "word 0.*white space"),
        (["a", ""], ["X", "Y"], "word 1.*empty"),
        (["a"], ["X/Y"], "tag 0.*slash"),
        (["a"], [None], "string"),
        ("a", ["X"], "split it"),
    ]:
        with pytest.raises(tl.errors.TreeError, match=problem):
            tl.Tagged(words, tags)
    for text, place in [("a/X b", "^column 5: "), ("", "no words"), ("/X", "^column 1: "), ("a/", "^column 1: ")]:
        with pytest.raises(tl.errors.FormatError, match=place):
            tl.Tagged.parse(text)


@given(st.lists(st.one_of(st.none(), tagged()), max_size=6))
def test_banks_hold_what_they_are_given(items: list[tl.Tagged | None]) -> None:
    bank = tl.structures.TaggedBank(items)
    assert list(bank) == items
    assert list(tl.structures.TaggedBank.from_trees(bank.as_trees())) == items
    assert list(pickle.loads(pickle.dumps(bank))) == items
    assert pickle.loads(pickle.dumps(bank)) == bank
    assert list(bank[::-1]) == items[::-1]
    assert list(tl.structures.TaggedBank.concat([bank[1:], ["x/N"], bank])) == [
        *items[1:],
        tl.Tagged.parse("x/N"),
        *items,
    ]
    assert list(bank + bank) == items + items
    assert bank.shape == (len(items),)
    assert bank[:0].shape == (0,)
    mask = np.array([item is not None for item in items], bool)
    assert list(bank[mask]) == [item for item in items if item is not None]
    assert np.asarray(bank).tolist() == items


def test_banks_take_many_forms_and_refuse_others() -> None:
    bank = tl.structures.TaggedBank(["a/X b/Y", [("a", "X"), ("b", "Y")], tl.Tagged.parse("a/X b/Y")])
    assert bank[0] == bank[1] == bank[2]
    assert bank.stats() == {"sequences": 3, "positions": 6, "distinct_suffixes": 2, "words": 2, "tags": 2}
    assert tl.structures.TaggedBank.of(bank) is bank
    with pytest.raises(tl.errors.FormatError, match="item 1, column 5"):
        tl.structures.TaggedBank(["a/X", "a/X b"])
    with pytest.raises(tl.errors.TreeError, match="item 0: tag 0"):
        tl.structures.TaggedBank([[("a", "X/Y")]])
    for wrong in ([3], [["abc"]], 3, b"x"):
        with pytest.raises(tl.errors.InputTypeError):
            tl.structures.TaggedBank(wrong)
    with pytest.raises(IndexError):
        bank[3]
    for tree in ("(A (B x))", "(A x y)", "(A x (B y) (C z))", tl.Tree("x"), "(A/B x)"):
        with pytest.raises(tl.errors.TreeError, match="TaggedBank"):
            tl.structures.TaggedBank.from_trees(tl.Treebank([tree]))


@pytest.mark.parametrize("name", ["t.txt", "t.txt.gz", "t.txt.xz"])
@pytest.mark.parametrize("format", ["columns", "slashes"])
def test_files(tmp_path: Path, name: str, format: str) -> None:
    bank = tl.structures.TaggedBank(SHORT)
    bank.write(tmp_path / name, format=format)
    assert tl.read_tagged(tmp_path / name, format) == bank
    opener = {"gz": gzip.open, "xz": lzma.open}.get(name[-2:], open)
    with opener(tmp_path / name, "rt") as stream:
        first = stream.readline()
    assert first == ("the D\n" if format == "columns" else SHORT[0] + "\n")
    tl.save(bank, tmp_path / "bank.treelet")
    assert tl.load(tmp_path / "bank.treelet") == bank


def test_reading_columns() -> None:
    text = "-DOCSTART- -X- O\n\nHe PRP B-NP\nsleeps VBZ B-VP\n\n\n \nGo VB B-VP"
    bank = tl.read_tagged(io.StringIO(text), tag=-1)
    assert bank.strings() == ["He/B-NP sleeps/B-VP", "Go/B-VP"]
    assert tl.read_tagged(io.StringIO(text), word=1, tag=2)[1] == tl.Tagged(["VB"], ["B-VP"])
    with pytest.raises(tl.errors.FormatError, match="there is no column 3 for tag="):
        tl.read_tagged(io.StringIO(text), tag=3)
    with pytest.raises(tl.errors.FormatError, match=r"<stream>:2.*tag is a string without slashes"):
        tl.read_tagged(io.StringIO("a X\nb X/Y\n"))
    with pytest.raises(tl.errors.FormatError, match="<stream>:2:5: 'b'"):
        tl.read_tagged(io.StringIO("a/X\na/X b\n"), "slashes")
    assert list(tl.read_tagged(io.StringIO("a/X\n\n"), "slashes")) == [tl.Tagged.parse("a/X"), None]
    with pytest.raises(tl.errors.ParameterError, match="'format' parameter"):
        tl.read_tagged(io.StringIO(""), "brackets")
    with pytest.raises(tl.errors.ParameterError, match="'tag' parameter"):
        tl.read_tagged(io.StringIO(""), tag="pos")
    with pytest.raises(tl.errors.TreeError, match=r"Sequence 1 is missing.*no notation for missing sequences"):
        tl.structures.TaggedBank(["a/X", None]).write(io.StringIO(), "columns")
    with pytest.raises(tl.errors.FileError, match="the file does not exist"):
        tl.read_tagged("nowhere.txt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "# text = go\n1\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n",
            "<stream>:1.*this looks like CoNLL-U",
        ),
        ("1\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n", "<stream>:1.*this looks like CoNLL-U"),
        ('{"text": "go home", "tags": ["V", "N"]}\n', "<stream>:1.*this looks like JSON Lines"),
        ("go/V home/N\n", "this looks like word/tag"),
    ],
)
def test_files_that_are_no_columns_of_words_and_tags(text: str, message: str) -> None:
    with pytest.raises(tl.errors.FormatError, match=message):
        tl.read_tagged(io.StringIO(text))


def test_what_looks_like_something_else_and_is_columns() -> None:
    text = "1\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n"
    assert tl.read_tagged(io.StringIO(text), word=1, tag=3)[0] == tl.Tagged(["go"], ["VERB"])
    assert tl.read_tagged(io.StringIO("{ (\na/b N\n"))[0] == tl.Tagged(["{", "a/b"], ["(", "N"])
