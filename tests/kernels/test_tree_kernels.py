"""Tree kernels equal their slow definitions and satisfy the invariants of all kernels."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from cases import PLAIN, Case, random_tree
from conftest import binary
from definitions import kernels as reference
from definitions.kernels import definition
from experiments import pair_kernels
from treelet.testing import banks, trees

CAT = "(VP (V brought) (NP (D a) (N cat)))"

TREE_KERNELS = {name: case for name, case in PLAIN.items() if case.kind == "trees"}


@settings(max_examples=60)
@given(rows=banks(max_size=4), columns=banks(max_size=4), name=st.sampled_from(sorted(TREE_KERNELS)))
def test_rectangles_between_banks_of_their_own(rows: list[tl.Tree], columns: list[tl.Tree], name: str) -> None:
    kernel = TREE_KERNELS[name].kernel
    slow = definition(kernel)
    K = kernel(tl.Treebank(rows), tl.Treebank(columns))
    np.testing.assert_allclose(K, [[slow(a, b) for b in columns] for a in rows], rtol=1e-9, atol=1e-300)


@settings(max_examples=60)
@given(tree=trees(max_nodes=9, max_children=8, labels=("A",), words=("x",)))
def test_partial_tree_with_many_equal_children(tree: tl.Tree) -> None:
    for lam, mu in ((0.4, 0.4), (1, 1)):
        value = tl.PartialTree(lam=lam, mu=mu).diag([tree])[0]
        np.testing.assert_allclose(value, reference.partial_tree(tree, tree, lam, mu), rtol=1e-9)


def phrases(rng: np.random.Generator) -> list[tl.Tree]:
    """Return trees with a few common productions, many rare ones, and nodes with too many children to list all pairs."""

    def phrase(children: int) -> tl.Tree:
        tags = [tl.Tree(f"T{rng.integers(5)}", [tl.Tree(f"w{rng.integers(9)}")]) for _ in range(children)]
        inner = [phrase(int(rng.integers(1, 4)))] if children < 5 and rng.random() < 0.6 else []
        return tl.Tree("P", [*tags, *inner])

    def named(*tags: str) -> tl.Tree:
        return tl.Tree("P", [tl.Tree(tag, [tl.Tree(f"w{rng.integers(9)}")]) for tag in tags])

    common = [named("T0", "T1", *tail) for tail in ((), ("T2",)) for _ in range(14)]
    rare = [phrase(int(n)) for n in rng.integers(1, 8, 24)]
    wide = [named(*(f"T{k % 7}" for k in range(n))) for n in (20, 33, 45)]
    return [tl.Tree("S", [tree]) for tree in (*common, *rare, *wide, *rare[:9])]


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_partial_tree_of_rare_and_of_common_productions(factor: float) -> None:
    examples = phrases(np.random.default_rng(5))
    kernel = tl.PartialTree(lam=0.5, mu=0.6, terminal_factor=factor)
    some, all_nodes = range(0, len(examples), 4), [pair_kernels.nodes_of(tree) for tree in examples]
    slow = np.array([[pair_kernels.recursion_value(kernel, all_nodes[i], b) for b in all_nodes] for i in some])
    bank = tl.Treebank(examples)
    K = kernel(bank)
    np.testing.assert_allclose(K[some], slow, rtol=1e-11)
    words = [Counter(label for label in nodes.labels if label[0] == "w") for nodes in all_nodes]
    met = np.array([[sum((a[word] * b[word]) for word in a) for b in words] for a in words])
    without = tl.PartialTree(lam=0.5, mu=0.6, leaves=False, terminal_factor=factor)(bank)
    np.testing.assert_allclose(without, K - met * 0.6 * 0.25 * factor, rtol=1e-11)
    np.testing.assert_allclose(kernel(bank, bank[:]), K, rtol=1e-12)
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


@pytest.mark.parametrize(("children", "words"), [(8, ("x",)), (9, ("x", "y")), (9, tuple("abcdefghi"))])
def test_partial_tree_grid_form(children: int, words: tuple[str, ...]) -> None:
    """Nodes have more matching children than are listed one by one."""
    rng = np.random.default_rng(children)
    examples = [
        tl.Tree("A", [tl.Tree(words[k % len(words)]) for k in rng.integers(0, len(words), children)]) for _ in range(4)
    ]
    for lam in (0.4, 1.0):
        K = tl.PartialTree(lam=lam, mu=0.5)(examples)
        expected = [[reference.partial_tree(a, b, lam, 0.5) for b in examples] for a in examples]
        np.testing.assert_allclose(K, expected, rtol=1e-9)


def test_the_terminal_factor_is_kelps() -> None:
    """The value is mu lam^2 times the factor if one of two nodes with equal labels has no children, as in KeLP."""
    lam, mu, factor = 0.5, 0.25, 3.0
    kernel = tl.PartialTree(lam=lam, mu=mu, terminal_factor=factor)
    word, node = mu * lam**2 * factor, mu * lam**2
    assert kernel(["(A x)"], ["(A x)"])[0, 0] == word + mu * (lam**2 + word)
    assert kernel(["(A x)"], ["(A y)"])[0, 0] == node
    assert kernel(["(B (A x))"], ["(B A)"])[0, 0] == word + mu * (lam**2 + word)  # A is a word in one of them
    without = tl.PartialTree(lam=lam, mu=mu, leaves=False, terminal_factor=factor)
    assert without(["(A x)"], ["(A x)"])[0, 0] == mu * (lam**2 + word)
    assert without(["(B (A x))"], ["(B A)"])[0, 0] == mu * (lam**2 + word)
    nothing = tl.PartialTree(lam=lam, mu=mu, terminal_factor=0)
    assert nothing(["(A x)"], ["(A x)"])[0, 0] == node
    assert tl.PartialTree(lam=lam, mu=mu, terminal_factor=1) == tl.PartialTree(lam=lam, mu=mu)
    with pytest.raises(tl.errors.ParameterError, match=r"'terminal_factor'.*a number in \[0, inf\)"):
        tl.PartialTree(terminal_factor=-1)
    with pytest.raises(tl.errors.ParameterError, match="listed only if terminal_factor is 1"):
        tl.shared_fragments("(A x)", "(A x)", kernel)


@pytest.mark.parametrize("factor", [0.0, 0.3, 4.0])
def test_terminal_factor_on_trees_that_are_too_large_to_enumerate(factor: float) -> None:
    rng = np.random.default_rng(3)
    examples = [random_tree(rng, 60, "xyzABC") for _ in range(6)]
    nodes = [pair_kernels.nodes_of(tree) for tree in examples]
    for kernel in (tl.PartialTree(terminal_factor=factor), tl.PartialTree(1, 1, terminal_factor=factor)):
        expected = [[pair_kernels.recursion_value(kernel, a, b) for b in nodes] for a in nodes]
        np.testing.assert_allclose(kernel(examples), expected, rtol=1e-9)


def grid_by_recursion(first: tl.Tree, second: tl.Tree, lam: float, mu: float) -> float:
    """Return PT of flat trees by the recursion of the paper, with its sign corrected and lengths kept apart."""
    a, b = [child.label for child in first], [child.label for child in second]
    met = mu * lam**2 * np.equal.outer(a, b)
    total, ends = 0.0, met.copy()
    while ends.any():
        total += ends.sum()
        D = np.zeros((len(a) + 1, len(b) + 1))
        for i in range(len(a)):
            for j in range(len(b)):
                D[i + 1, j + 1] = ends[i, j] + lam * D[i, j + 1] + lam * D[i + 1, j] - lam**2 * D[i, j]
        ends = met * D[:-1, :-1]
    own = mu * (lam**2 + total) * (first.label == second.label)
    words = mu * lam**2 * sum(x == y for x in a for y in b)
    return own + words


@pytest.mark.parametrize("width", [30, 600])
def test_partial_tree_on_wide_nodes(width: int) -> None:
    """Nodes that are too wide to list all matches equal the recursion over lengths."""
    rng = np.random.default_rng(0)
    narrow = width if width < 100 else 12
    words = [f"w{k}" for k in range(width // 6)]
    first = tl.Tree("A", [words[k] for k in rng.integers(0, len(words), width)])
    second = tl.Tree("A", [words[k] for k in rng.integers(0, len(words), narrow)])
    lam, mu = 0.5, 0.8
    K = tl.PartialTree(lam=lam, mu=mu)([first, second])
    np.testing.assert_allclose(K[0, 1], grid_by_recursion(first, second, lam, mu), rtol=1e-9)
    np.testing.assert_allclose(K[1, 1], grid_by_recursion(second, second, lam, mu), rtol=1e-9)
    if width < 100:
        np.testing.assert_allclose(K[0, 0], grid_by_recursion(first, first, lam, mu), rtol=1e-9)


def test_values_of_the_papers() -> None:
    count = tl.SubsetTree(lam=1)
    assert count(["(NP (D the) (N apple))"])[0, 0] == 6
    assert count.diag(["(PP (IN in) (DT the) (NN bank))"])[0] == 11
    assert count.diag([CAT])[0] == 17
    whole = tl.PartialTree(lam=1, mu=1)
    below = sum(whole.diag([text])[0] for text in ("(V brought)", "(NP (D a) (N cat))"))
    assert whole.diag([CAT])[0] - below == 30, "partial trees rooted at the VP"
    assert len(reference.partial_trees(tl.Tree.parse(CAT))) == 30


def test_a_tag_matches_an_equal_word_in_partial_trees_only() -> None:
    comma, plain = "(S (, ,) (N a))", "(S , (N b))"
    assert tl.PartialTree()([comma], [plain])[0, 0] == pytest.approx(
        reference.partial_tree(tl.Tree.parse(comma), tl.Tree.parse(plain))
    )


def test_a_bare_word_has_no_productions() -> None:
    assert tl.SubsetTree()(["(A)"])[0, 0] == 0
    assert tl.SubsetTree().normalized()(["(A)"])[0, 0] == 0
    assert tl.PartialTree(lam=0.5, mu=0.5)(["(A)"])[0, 0] == pytest.approx(0.125)


# --- large values -----------------------------------------------------------------------------------------------


def exact_count(first: tl.Tree, second: tl.Tree) -> int:
    """Return SST with lam = 1 by the recursion of the paper, in integers of any size."""
    known: dict[tuple[tl.Tree, tl.Tree], int] = {}

    def common(a: tl.Tree, b: tl.Tree) -> int:
        if not a.children or [c.label for c in a] != [c.label for c in b] or a.label != b.label:
            return 0
        if (a, b) not in known:
            known[a, b] = math.prod(1 + common(x, y) for x, y in zip(a, b, strict=True))
        return known[a, b]

    return sum(
        m * n * common(a, b) for a, m in Counter(first.nodes()).items() for b, n in Counter(second.nodes()).items()
    )


def test_normalized_values_far_beyond_float64_are_exact() -> None:
    examples = [
        binary(8),
        binary(10),
        tl.Tree("A", [binary(9), binary(10)]),
        tl.Tree("A", [binary(7), tl.Tree("B", ["x"])]),
    ]
    exact = [[exact_count(a, b) for b in examples] for a in examples]
    assert exact[1][1] > 10**308
    with localcontext() as context:
        context.prec = 60
        expected = [
            [float(Decimal(exact[i][j]) / (Decimal(exact[i][i]) * Decimal(exact[j][j])).sqrt()) for j in range(4)]
            for i in range(4)
        ]
    np.testing.assert_allclose(tl.SubsetTree(lam=1).normalized()(examples), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "kernel", [tl.SubsetTree(lam=1), tl.PartialTree(lam=1, mu=1), tl.SubsetTree(lam=1, max_depth=11)]
)
def test_overflow_is_an_error_and_normalized_values_stay_right(kernel: tl.kernels.Kernel) -> None:
    large = binary(11)
    examples = [large, tl.Tree("A", [large, tl.Tree("B", ["x"])]), tl.Tree.parse("(B x)")]
    with pytest.raises(tl.errors.KernelOverflowError, match="too large for a float64"):
        kernel(examples)
    with pytest.raises(tl.errors.KernelOverflowError):
        kernel.diag(examples)
    N = kernel.normalized()(examples)
    assert np.isfinite(N).all()
    np.testing.assert_allclose(np.diag(N), 1)
    assert 0.01 < N[0, 1] < 1 + 1e-9
    assert np.linalg.eigvalsh(N).min() > -1e-9
    np.testing.assert_allclose(kernel.normalized()(examples, examples), N, rtol=1e-9)


def test_scaled_arithmetic_agrees_with_plain_where_both_fit() -> None:
    rng = np.random.default_rng(1)
    examples = [random_tree(rng, 60) for _ in range(12)]
    for kernel in (
        tl.SubsetTree(lam=1),
        tl.SubsetTree(lam=0.8, max_depth=4),
        tl.PartialTree(lam=0.9, mu=0.9),
        tl.Subtree(0.5),
    ):
        plain = kernel(examples)
        logs = np.empty_like(plain)
        kernel.evaluator(examples, logs=True).fill(0, len(examples), logs, False)
        np.testing.assert_allclose(np.exp(logs), plain, rtol=1e-10)


def test_normalized_chain_in_closed_form() -> None:
    """A unary chain of n equal labels with lam = 1 has C(i, j) = min(i, j) + [i = j], exactly."""
    n = 60
    chain = tl.Tree("A", ["x"])
    for _ in range(n - 1):
        chain = tl.Tree("A", [chain])
    # pairs (i, j) of nodes above the bottom one: min(i, j) fragments, one more if i = j (down to the word)
    expected = sum(min(i, j) + (i == j) for i in range(1, n) for j in range(1, n)) + 1
    assert tl.SubsetTree(lam=1).diag([chain])[0] == pytest.approx(expected)


# --- blocks of similar rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", TREE_KERNELS.values(), ids=TREE_KERNELS)
def test_candidate_lists_share_their_work(case: Case) -> None:
    """Adjacent trees that share most subtrees are processed together. This must not change their values."""
    kernel = case.kernel
    rng = np.random.default_rng(3)
    base = random_tree(rng, 40)
    examples = [base] + [tl.Tree("S", [base, random_tree(rng, 3)]) for _ in range(40)] + [random_tree(rng, 9)]
    bank = tl.Treebank(examples)
    K = kernel(bank)
    apart = np.vstack([kernel(bank[[k]], bank) for k in range(len(bank))])
    np.testing.assert_allclose(K, apart, rtol=1e-12)


def test_a_depth_beyond_all_trees_is_none() -> None:
    X = ["(S (A a) (B b))", "(S (A a) (C c))"]
    assert (tl.SubsetTree(max_depth=10**30)(X) == tl.SubsetTree()(X)).all()
