"""Two corpora compared: every figure against its definition, and a planted construction found."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import fail, succeed
from treelet.corpora import corpus_diff, vendi_score
from treelet.corpora.corpus_diff import _discrepancy, _p_value, _pair_sums, _relabeled
from treelet.datasets import flights
from treelet.errors import InputTypeError, ParameterError, TreeletWarning
from treelet.fragments import places
from treelet.resources import Resources
from treelet.testing import banks

KERNEL = tl.SubsetTree().normalized()
CORPUS = flights(n=240, random_state=0)
A, B = CORPUS[:120], CORPUS[120:]


def defined(K: Any, first: Any) -> tuple[float, float]:
    """MMD², unbiased and biased, pair by pair (Gretton et al. 2012, equations 3 and 5)."""
    a, b = np.flatnonzero(first), np.flatnonzero(~first)

    def mean(rows: Any, columns: Any, but_itself: bool) -> float:
        return float(np.mean([K[i, j] for i in rows for j in columns if not (but_itself and i == j)]))

    unbiased = mean(a, a, True) + mean(b, b, True) - 2 * mean(a, b, False)
    return unbiased, mean(a, a, False) + mean(b, b, False) - 2 * mean(a, b, False)


def planted(trees: Any, every: int) -> list[Any]:
    """A new construction below every so many roots."""
    new = tl.Tree("CLEFT", [tl.Tree("IT", ["it"]), tl.Tree("BE", ["was"])])
    return [tree if number % every else tl.Tree(tree.label, [*tree.children, new]) for number, tree in enumerate(trees)]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few fragments are looked at."""
    monkeypatch.setattr(corpus_diff, "_LOOKED_AT", 200)


# --- do they differ -----------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(banks(min_size=4, max_size=9), st.data())
def test_mmd_is_as_defined(bank: list[tl.Tree], data: Any) -> None:
    m = data.draw(st.integers(2, len(bank) - 2))
    for kernel in (tl.SubsetTree(), KERNEL):
        K = kernel(bank)
        labels = _relabeled(m, len(bank) - m, 20, np.random.default_rng(m), paired=False)
        mmd2, biased, p_value = _discrepancy(kernel, bank, labels)
        wanted = [defined(K, labels[:, column] == 1) for column in range(21)]
        scale = K.mean()
        assert mmd2 == pytest.approx(wanted[0][0], rel=1e-9, abs=1e-9 * scale)
        assert biased == pytest.approx(wanted[0][1], rel=1e-9, abs=1e-9 * scale)
        drawn = np.array([one[0] for one in wanted])
        assert p_value == _p_value(drawn[0], drawn[1:], 1e-9 * scale)


def test_permutations_approach_all_of_them() -> None:
    bank = flights(n=9, random_state=3)
    K = KERNEL(bank)
    choices = [np.isin(np.arange(9), some) for some in itertools.combinations(range(9), 4)]
    every = np.array([defined(K, first)[0] for first in choices])
    exact = float(np.mean(every >= defined(K, np.arange(9) < 4)[0] - 1e-12))
    found = tl.diff(bank[:4], bank[4:], permutations=20_000, n=0)
    assert found.p_value == pytest.approx(exact, abs=0.015)


def test_labels_are_dealt_out() -> None:
    labels = _relabeled(3, 5, 400, np.random.default_rng(0), paired=False)
    assert labels.shape == (8, 401)
    assert labels[:, 0].tolist() == [1] * 3 + [0] * 5
    assert set(labels.sum(axis=0)) == {3}
    assert labels[:, 1:].mean(axis=1) == pytest.approx(np.full(8, 3 / 8), abs=0.1)
    pairs = _relabeled(4, 4, 400, np.random.default_rng(0), paired=True)
    assert (pairs[:4] + pairs[4:] == 1).all()
    assert pairs[:4, 1:].mean(axis=1) == pytest.approx(np.full(4, 0.5), abs=0.1)


@pytest.mark.parametrize("memory", ["1MB", "200KB"])
def test_sums_of_pairs_are_the_same_whatever_the_tiles(memory: str) -> None:
    K = KERNEL(CORPUS)
    np.fill_diagonal(K, 0)
    groups = np.random.default_rng(0).integers(2, size=(len(CORPUS), 30), dtype=np.int8)
    within, touching, total = _pair_sums(KERNEL, CORPUS, groups, Resources.of(memory=memory))
    assert within == pytest.approx(np.einsum("ik,ij,jk->k", groups, K, groups, optimize=True))
    assert touching == pytest.approx(groups.T @ K.sum(axis=1))
    assert total == pytest.approx(K.sum())
    again = _pair_sums(KERNEL, CORPUS, groups, Resources.of(3, memory))
    assert (again[0] == within).all()
    assert (again[1] == touching).all()
    assert again[2] == total


def test_chance_is_told_from_a_difference() -> None:
    ps = [tl.diff(CORPUS[o[:120]], CORPUS[o[120:]], permutations=99, n=0).p_value for o in _orders(20)]
    assert 0.2 < np.mean(ps) < 0.8
    assert tl.diff(A, planted(B, 2), permutations=99, n=0).p_value == 0.01


def _orders(times: int) -> list[Any]:
    return [np.random.default_rng(seed).permutation(len(CORPUS)) for seed in range(times)]


def test_pairs_are_changed_with_each_other() -> None:
    """Two parses of each sentence, one always with the same small error: plain, the sentences' own variety hides it."""
    wrong = planted(A, 1)
    unlike = tl.diff(A, wrong, tl.SubsetTree(1.0), permutations=99, n=1)
    paired = tl.diff(A, wrong, tl.SubsetTree(1.0), permutations=99, n=1, paired=True)
    assert paired.p_value == 0.01
    assert paired.mmd2 == unlike.mmd2
    assert abs(paired.fragments[0].z) == pytest.approx(np.sqrt(120))
    with pytest.raises(ParameterError, match="but paired corpora must have the same"):
        tl.diff(A, B[:100], paired=True)


# --- in what ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", [tl.Subtree(), tl.SubsetTree(leaves=True), tl.PartialTree(0.3, 0.6).normalized()], ids=repr
)
def test_trees_with_a_fragment_are_those_where_it_is(kernel: Any) -> None:
    found = tl.diff(A[:25], B[:25], kernel, permutations=9, n=30)
    assert found.fragments
    for one in found.fragments:
        there = [sum(bool(places(one.tree, tree, one.kernel)) for tree in bank[:25]) for bank in (A, B)]
        assert one.counts == tuple(there), str(one.tree)


def test_parts_that_are_no_trees_are_left_out_of_the_list() -> None:
    tags = ["the/D cat/N", "a/D dog/N", "the/D dog/N"]
    rows = [{"tree": tree, "tags": tags[number % 3]} for number, tree in enumerate([*A[:20], *B[:20]])]
    kernel = tl.On("tree", tl.SubsetTree()) + tl.On("tags", tl.Tagging())
    found = tl.diff(rows[:20], rows[20:], kernel, permutations=9, n=5)
    assert {one.column for one in found.fragments} == {"tree"}


def test_weights_and_z_are_as_defined() -> None:
    kernel = tl.SubsetTree(0.5)
    found = tl.diff(A, B[:90], kernel.normalized(), n=5, permutations=9)
    norms = [np.sqrt(kernel.diag(bank)) for bank in (A, B[:90])]
    assert found.fragments == sorted(found.fragments, key=lambda one: -abs(one.z))
    for one in found.fragments:
        times = [np.array([len(places(one.tree, tree, kernel)) for tree in bank]) for bank in (A, B[:90])]
        values = [count / norm for count, norm in zip(times, norms, strict=True)]
        decay = 0.5 ** (len(one.tree.productions()) / 2)
        assert one.weight == pytest.approx(decay * (values[0].mean() - values[1].mean()))
        assert one.counts == tuple(int((count > 0).sum()) for count in times)
        assert one.per_thousand == pytest.approx((1000 * one.counts[0] / 120, 1000 * one.counts[1] / 90))
        both = np.concatenate(values)
        drawn = [order[:120] for order in np.random.default_rng(0).permuted(np.tile(both, (3000, 1)), axis=1)]
        means = np.array([some.mean() - (both.sum() - some.sum()) / 90 for some in drawn])
        assert one.z == pytest.approx((values[0].mean() - values[1].mean()) / means.std(), rel=0.08)


def test_weights_add_up_to_the_discrepancy() -> None:
    """The squared weights of all fragments add up to the statistic."""
    some, others = ["(S (A a) (B b))", "(S (A a) (B c))", "(A a)"], ["(S (A d) (B b))", "(B c)"]
    from treelet.learn.model import CompressedModel

    model = CompressedModel.of(KERNEL, [*some, *others], np.array([[1 / 3] * 3 + [-1 / 2] * 2]))
    heaviest = tl.top_fragments(model, 1000)
    assert heaviest.complete
    assert sum(one.weight**2 for one in heaviest) == pytest.approx(tl.diff(some, others).mmd2_biased)


def test_a_planted_construction_is_first_and_once() -> None:
    other = planted(B, 10)
    found = tl.diff(A, other, permutations=99)
    first = found.fragments[0]
    assert first.z < -2.5
    assert first.counts == (0, 12)
    assert str(first.tree) == "(CLEFT (IT it) (BE was))"
    held = [{k for k, tree in enumerate([*A, *other]) if places(one.tree, tree, KERNEL)} for one in found.fragments]
    for one, another in itertools.combinations(held, 2):
        assert len(one & another) < corpus_diff._SAME * len(one | another)


@pytest.mark.usefixtures("short")
def test_searches_give_p_values() -> None:
    other = planted(B, 5)
    found = tl.diff(A, other, permutations=9, searches=9, n=4)
    assert found.fragments[0].p_value == 0.1
    ps = [one.p_value for one in found.fragments]
    assert None not in ps
    assert ps == sorted(ps)
    assert [one[:3] for one in found.fragments] == [one[:3] for one in tl.diff(A, other, permutations=9, n=4).fragments]
    chance = tl.diff(A, B, permutations=9, searches=9, n=1).fragments[0]
    assert chance.p_value is not None
    assert chance.p_value > 0.1


def test_fragments_of_columns_and_of_no_kernel() -> None:
    rows = [{"a": tree, "b": other} for tree, other in zip(A, B, strict=True)]
    kernel = tl.On("a", tl.SubsetTree().normalized()) + tl.On("b", tl.SubsetTree().normalized())
    changed = [{"a": row["a"], "b": new} for row, new in zip(rows, planted(B, 4), strict=True)]
    found = tl.diff(rows[:60], changed[60:], kernel, permutations=19)
    assert found.fragments[0].column == "b"
    assert str(found.fragments[0].tree) == "(CLEFT (IT it) (BE was))"
    vectors = tl.diff([[1.0, 0.0], [1.0, 0.1]], [[0.0, 1.0], [0.1, 1.0]], tl.Linear(), permutations=19)
    assert vectors.fragments == []
    assert vectors.looked_at == 0
    assert "this kernel cannot be listed" in str(vectors)


# --- how varied ---------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(banks(min_size=1, max_size=8))
def test_vendi_is_as_defined(bank: list[tl.Tree]) -> None:
    K = KERNEL(bank)
    if not K.diagonal().all():
        with pytest.raises(ParameterError, match="no fragments for the kernel"):
            vendi_score(KERNEL, bank)
        return
    values = np.linalg.eigh(K)[0].clip(0) / len(bank)
    entropy = -sum(value * np.log(value) for value in values if value > 0)
    assert vendi_score(tl.SubsetTree(), bank) == pytest.approx(np.exp(entropy))
    assert 1 - 1e-9 <= np.exp(entropy) <= len(bank) + 1e-9


def test_vendi_of_the_same_and_of_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert vendi_score(KERNEL, ["(A a)"] * 6) == pytest.approx(1)
    assert vendi_score(KERNEL, [f"(A {word})" for word in "abcdef"]) == pytest.approx(6)
    assert vendi_score(KERNEL, A, sample=30) == vendi_score(KERNEL, A, sample=30) != vendi_score(KERNEL, A)
    monkeypatch.setattr(corpus_diff, "_MOST_SCORED", 100)
    with pytest.raises(ParameterError, match="too many for an eigendecomposition"):
        vendi_score(KERNEL, A)
    with pytest.raises(ParameterError, match="vendi_score needs at least one example"):
        vendi_score(KERNEL, [])
    with pytest.raises(InputTypeError, match="'kernel' parameter of vendi_score"):
        vendi_score(A, KERNEL)  # type: ignore[arg-type]


# --- promises -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short")
def test_the_same_again_by_any_threads_and_turned() -> None:
    other = planted(B, 6)
    one = tl.diff(A, other, permutations=50, searches=2)
    again = tl.diff(A, other, permutations=50, searches=2, n_jobs=3)
    assert one.as_json() == again.as_json()
    back = tl.diff(other, A, permutations=50, searches=2)
    assert (back.mmd2, back.mmd2_biased, back.p_value) == (one.mmd2, one.mmd2_biased, one.p_value)
    assert back.vendi == one.vendi[::-1]
    assert [(f.tree, -f.z, -f.weight, f.counts[::-1], f.p_value) for f in back.fragments] == [
        (f.tree, f.z, f.weight, f.counts, f.p_value) for f in one.fragments
    ]
    assert tl.diff(A, B, permutations=50, random_state=1, n=0).p_value != tl.diff(A, B, permutations=50, n=0).p_value


def test_a_corpus_with_itself() -> None:
    found = tl.diff(A, A, permutations=50)
    assert found.p_value > 0.9
    assert found.mmd2_biased == pytest.approx(0, abs=1e-12)
    assert found.fragments == []
    assert "not significant at level 0.05" in str(found)
    assert "n is 0, or no fragment is more frequent" in str(found)


def test_of_large_corpora_a_sample_is_compared() -> None:
    found = tl.diff(A, B[:70], most=50, permutations=20, n=2)
    assert found.compared == (50, 50)
    assert found.sizes == (120, 70)
    assert "50 and 50 sampled trees" in str(found)
    assert tl.diff(A, B[:70], most=None, permutations=20, n=0).compared == (120, 70)
    assert [one[:4] for one in tl.diff(A, B[:70], permutations=20, n=2).fragments] == [
        one[:4] for one in found.fragments
    ]
    pairs = tl.diff(A, planted(A, 1), most=50, permutations=20, n=0, paired=True)
    assert pairs.compared == (50, 50)
    assert pairs.p_value == 1 / 21


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], A), {}, "A is empty"),
        ((A, A[:1]), {}, "diff needs at least 2 examples per"),
        ((A, [*B, None, None]), {}, r"B are missing \(None\).*first one is example 120"),
        ((A, B), {"permutations": 0}, "'permutations' parameter of diff must be an int of at"),
        ((A, B), {"n": -1}, "'n' parameter of diff"),
        ((A, B), {"searches": 1.5}, "'searches' parameter of diff"),
        ((A, B), {"most": 1}, "'most' parameter of diff"),
        ((A, B), {"paired": 1}, "'paired' parameter of diff"),
        ((A, B), {"n_jobs": 0}, "'n_jobs' parameter"),
        ((A, B), {"memory": "much"}, "'memory' parameter"),
        ((A, B), {"random_state": "x"}, "'random_state' parameter"),
        ((A, B, "sst"), {}, "Got 'sst' instead"),
        (("a.mrg", B), {}, "'a.mrg' is a file name, but a collection of trees is needed"),
    ],
)
def test_what_is_wrong_is_said(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(tl.TreeletError, match=message):
        tl.diff(*arguments, **options)


def test_trees_without_fragments_are_said() -> None:
    with pytest.warns(TreeletWarning, match="123 examples.*A have no fragments"):
        found = tl.diff([*A, "(x)", "(x)", "(y)"], B, permutations=9)
    assert found.vendi_size == 120
    with pytest.warns(TreeletWarning):
        nothing = tl.diff(["(x)", "(y)"], ["(x)", "(z)"], permutations=9)
    assert nothing.p_value == 1
    assert nothing.fragments == []
    assert str(nothing)


def test_what_is_shown() -> None:
    bad = [f"(S (A \x1b[2J) (B <script>{number}</script>))" for number in range(8)]
    found = tl.diff(bad, A[:8], permutations=9, searches=1)
    assert "\x1b" not in str(found)
    assert "\\x1b[2J" in str(found)
    long = tl.diff([f"(A {'x' * 999})", "(B b)"], ["(C c)", "(B b)"], permutations=9)
    assert max(map(len, str(long).splitlines())) < 300
    html = found._repr_html_()
    assert "<script>" not in html
    assert "MMD²" in html
    assert "in B" in html
    assert json.loads(json.dumps(found.as_json()))["sizes"] == [8, 8]
    assert repr(found).startswith("<CorpusDifference: 8 and 8 trees, MMD²")


# --- the command --------------------------------------------------------------------------------------------------


def test_command(tmp_path: Path) -> None:
    files = tmp_path / "a.mrg", tmp_path / "b.mrg"
    A.write(files[0])
    tl.Treebank(planted(B, 5)).write(files[1])
    names = [str(file) for file in files]
    wanted = tl.diff(A, tl.read_trees(files[1]), permutations=99, n=3)
    told = json.loads(succeed("diff", *names, "--permutations", "99", "--top", "3", "--json").stdout)
    assert told == {"files": names, **wanted.as_json()}
    assert succeed("diff", *names, "--permutations", "99", "--top", "3").stdout.endswith(f"\n{wanted}\n")
    plain = json.loads(succeed("diff", *names, "--no-normalize", "--kernel", "st", "--top", "0", "--json").stdout)
    assert plain["kernel"] == "Subtree(lam=1.0)"
    assert plain["fragments"] == []
    assert "--top must be a whole number" in fail("diff", *names, "--top", "-1")
    assert "--permutations" in fail("diff", *names, "--permutations", "0")
    (tmp_path / "none.mrg").write_text("", encoding="utf-8")
    assert "none.mrg: the file contains no trees. treelet diff needs at least 2 trees per file." in fail(
        "diff", str(tmp_path / "none.mrg"), names[0]
    )
    assert "standard input" in fail("diff", "-", "-")


def test_what_has_no_figure_is_null_in_json() -> None:
    bare = [tl.Tree("a"), tl.Tree("b")]
    with pytest.warns(tl.errors.TreeletWarning, match="no fragments for the kernel"):
        found = tl.diff(bare, bare, permutations=9)
    assert found.as_json()["vendi"] == [None, None]
    json.dumps(found.as_json(), allow_nan=False)


def test_files_of_different_formats(tmp_path: Path) -> None:
    trees = ["(S (A a))", "(S (B b))", "(S (A a) (B b))"]
    (tmp_path / "a.data").write_text("\n".join(trees), encoding="utf-8")
    (tmp_path / "b.data").write_text("".join(f"{k}\tx\t{tree}\n" for k, tree in enumerate(trees)), encoding="utf-8")
    (tmp_path / "b.mrg").write_text("\n".join(trees), encoding="utf-8")
    files, options = [str(tmp_path / "a.data"), str(tmp_path / "b.data")], ["--permutations", "20", "--json"]
    formats = ["--format-a", "brackets", "--format-b", "tsv:tree_column=2,label_column=1"]
    different = json.loads(succeed("diff", *files, *formats, *options).stdout)
    alike = json.loads(succeed("diff", files[0], str(tmp_path / "b.mrg"), "--format", "brackets", *options).stdout)
    assert {**different, "files": None} == {**alike, "files": None}
    more = ["--format", "tsv:tree_column=2", "--format-a", "brackets"]  # --format is for the other file
    assert json.loads(succeed("diff", *files, *more, *options).stdout)["mmd2"] == different["mmd2"]
