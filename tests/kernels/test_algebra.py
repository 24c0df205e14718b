"""Composite kernels: their values, their text form, and the invariants that every kernel must satisfy."""

from __future__ import annotations

import inspect
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from sklearn.base import clone

import treelet as tl
from cases import EXAMPLES, KERNELS
from conftest import binary
from definitions.kernels import definition
from definitions.rounding import size
from definitions.strategies import examples
from treelet.kernels.bag import Bags
from treelet.structures import Vectors, bag_of_words
from treelet.testing import check_kernel

SST, PT = tl.SubsetTree(lam=0.4), tl.PartialTree(lam=0.5, mu=0.6)


CONTAINERS = {
    "lists": lambda data: data,
    "array": np.array,
    "small floats": lambda data: np.array(data, np.float32),
    "fortran order": np.asfortranarray,
    "csr": scipy.sparse.csr_matrix,
    "coo array": lambda data: scipy.sparse.coo_array(np.array(data)),
    "dicts": lambda data: [{f"f{k}": v for k, v in enumerate(row) if v} for row in data],
    "dicts by number": lambda data: [dict(reversed(list(enumerate(row)))) for row in data],
    "array of dicts": lambda data: np.array([dict(enumerate(row)) for row in data], dtype=object),
    "frame": pd.DataFrame,
}


def check_held(kind: str, hold: Any, data: list[Any]) -> None:
    """Check all kernels of a kind on examples in another container."""
    for case in KERNELS.values():
        if case.kind == kind:
            slow, scale, held = definition(case.kernel), size(case.kernel), hold(data)
            check_kernel(case.kernel, held)
            expected = np.array([[slow(a, b) for b in data] for a in data])
            rounding = np.array([[scale(a, b) for b in data] for a in data])  # terms of both signs may cancel
            bound = 1e-9 * np.abs(expected) + 1e-15 * rounding + 1e-300
            np.testing.assert_array_less(np.abs(case.kernel(held) - expected), bound)


@pytest.mark.parametrize("container", CONTAINERS)
@settings(max_examples=8)
@given(data=examples("vectors"))
def test_kernels_of_vectors_in_every_container(container: str, data: list[list[float]]) -> None:
    check_held("vectors", CONTAINERS[container], data)


def record_array(data: list[dict[str, Any]]) -> np.ndarray[Any, Any]:
    kinds = {"vector": (float, 3), "number": float}
    out = np.empty(len(data), dtype=[(name, kinds.get(name, object)) for name in data[0]])
    for name in data[0]:
        for row, example in enumerate(data):
            out[name][row] = example[name]
    return out


TABLES = {
    "dicts": lambda data: data,
    "frame": lambda data: pd.DataFrame(data, index=range(100, 100 + len(data))),
    "frame of text": lambda data: pd.DataFrame(
        [row | {"tree": str(row["tree"]), "other": row["other"] and str(row["other"])} for row in data]
    ),
    "records": record_array,
    "table": lambda data: tl.structures.Table({name: [row[name] for row in data] for name in data[0]}),
    "treebanks": lambda data: tl.structures.Table(
        {name: [row[name] for row in data] for name in data[0]}
        | {name: tl.Treebank([row[name] for row in data]) for name in ("tree", "other")}
        | {"vector": scipy.sparse.csr_matrix([row["vector"] for row in data])}
    ),
    "columns": lambda data: {name: [row[name] for row in data] for name in data[0]},
}


@pytest.mark.parametrize("container", TABLES)
@settings(max_examples=8)
@given(data=examples("rows"))
def test_on_columns_of_every_container(container: str, data: list[dict[str, Any]]) -> None:
    check_held("rows", TABLES[container], data)


@settings(max_examples=20)
@given(left=examples("bags", 0, 4), right=examples("bags", 0, 4))
def test_rectangles_of_bags(left: list[list[tl.Tree]], right: list[list[tl.Tree]]) -> None:
    for case in KERNELS.values():
        if case.kind == "bags":
            slow = definition(case.kernel)
            expected = np.array([[slow(a, b) for b in right] for a in left]).reshape(len(left), len(right))
            np.testing.assert_allclose(case.kernel(left, right), expected, rtol=1e-9, atol=1e-300)


def test_bags_whose_members_only_fit_as_logarithms() -> None:
    count = 1e100 * (
        1e100 * (1e100 * tl.SubsetTree(lam=1))
    )  # not a kernel under which the members of a bag can be added up
    data = [[binary(8), binary(8), binary(7)], [binary(8)], [], [binary(7), "(B y)"]]
    plain = tl.Bag(tl.SubsetTree(lam=1)).normalized()(data)
    np.testing.assert_allclose(tl.Bag(count).normalized()(data), plain, rtol=1e-9)
    assert plain[3, 0] > 0
    large = tl.SubsetTree(lam=1).normalized()
    data = [[binary(11), binary(12)], [binary(11)]]
    np.testing.assert_allclose(tl.Bag(large)(data), [[large(a, b).sum() for b in data] for a in data], rtol=1e-9)


def test_members_may_cancel_out() -> None:
    data = [[[1.0, 2.0], [-1.0, -2.0]], [[3.0, 1.0], [-1.0, 0.0]], [[-2.0, 0.0]]]
    np.testing.assert_allclose(tl.Bag(tl.Linear())(data), [[0, 0, 0], [0, 5, -4], [0, -4, 4]])
    np.testing.assert_allclose(tl.Bag(tl.Linear()).normalized()(data)[1, 2], -4 / math.sqrt(20))
    np.testing.assert_array_equal(tl.Bag(tl.Linear()).self_values(data, logs=True)[0], -np.inf)


def test_a_large_bag_is_cut_into_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tl.Bag(tl.Linear())
    data = [[[i + j / 2, i - j] for j in range(i % 5)] for i in range(12)]
    whole = kernel(data)
    monkeypatch.setattr("treelet.kernels.bag._CELLS", 40)
    np.testing.assert_array_equal(kernel(data), whole)
    np.testing.assert_allclose(kernel(data, data), whole)


def test_bags_of_trees_do_not_compare_all_members(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("the members were compared one by one")

    data = [["(A x)"] * 500, ["(A x)", "(A y)"]]
    monkeypatch.setattr("treelet.kernels.bag._BagEvaluator.__init__", fail)
    np.testing.assert_allclose(tl.Bag(tl.SubsetTree(lam=1))(data), [[250000, 500], [500, 2]])
    np.testing.assert_allclose(tl.Bag(tl.SubsetTree(lam=0.5).normalized())(data), [[250000, 500], [500, 2]])
    with pytest.raises(AssertionError, match="one by one"):
        tl.Bag(SST + PT)(data)


def test_bags_given_in_other_ways() -> None:
    kernel = tl.Bag(SST)
    plain = kernel([["(A x)", "(B y)"], ["(A x)"], []])
    np.testing.assert_array_equal(
        kernel([tl.Treebank(["(A x)", "(B y)"]), tl.Treebank(["(A x)"]), tl.Treebank()]), plain
    )
    np.testing.assert_array_equal(kernel([("(A x)", "(B y)"), np.array(["(A x)"], object), None]), plain)
    np.testing.assert_array_equal(kernel([[], []]), np.zeros((2, 2)))
    np.testing.assert_array_equal(kernel.diag([[], []]), [0, 0])
    bags = kernel.coerce([["(A x)"], ["(B y)", None]])
    assert isinstance(bags, Bags)
    assert kernel.coerce(bags) is bags
    assert bags[1].strings() == ["(B y)", ""]
    again = pickle.loads(pickle.dumps(bags))
    np.testing.assert_array_equal(kernel(again), kernel(bags))


# --- the algebra itself -----------------------------------------------------------------------------------------

A, B, C = tl.SubsetTree(lam=0.4), tl.PartialTree(lam=0.4, mu=0.4), tl.Subtree(lam=1.0)

WRITTEN = [
    (A + B, "SubsetTree(lam=0.4) + PartialTree(lam=0.4, mu=0.4)"),
    ((A + B) * C, "(SubsetTree(lam=0.4) + PartialTree(lam=0.4, mu=0.4)) * Subtree(lam=1.0)"),
    (C * (A + B), "Subtree(lam=1.0) * (SubsetTree(lam=0.4) + PartialTree(lam=0.4, mu=0.4))"),
    (A + B * C, "SubsetTree(lam=0.4) + PartialTree(lam=0.4, mu=0.4) * Subtree(lam=1.0)"),
    (0.5 * (A + C), "0.5 * (SubsetTree(lam=0.4) + Subtree(lam=1.0))"),
    (0.5 * (A * C), "0.5 * (SubsetTree(lam=0.4) * Subtree(lam=1.0))"),
    ((0.5 * A) * C, "0.5 * SubsetTree(lam=0.4) * Subtree(lam=1.0)"),
    (A * (0.5 * C), "SubsetTree(lam=0.4) * (0.5 * Subtree(lam=1.0))"),
    (2 * (0.5 * A), "2 * (0.5 * SubsetTree(lam=0.4))"),
    ((0.5 * A).normalized(), "(0.5 * SubsetTree(lam=0.4)).normalized()"),
    (0.5 * A.normalized(), "0.5 * SubsetTree(lam=0.4).normalized()"),
    ((A * C) * A, "SubsetTree(lam=0.4) * Subtree(lam=1.0) * SubsetTree(lam=0.4)"),
    (A * (C * A), "SubsetTree(lam=0.4) * (Subtree(lam=1.0) * SubsetTree(lam=0.4))"),
    ((A + C) + A, "SubsetTree(lam=0.4) + Subtree(lam=1.0) + SubsetTree(lam=0.4)"),
    (A + (C + A), "SubsetTree(lam=0.4) + (Subtree(lam=1.0) + SubsetTree(lam=0.4))"),
    (A + 1, "SubsetTree(lam=0.4) + Constant(value=1)"),
    (1 + A, "Constant(value=1) + SubsetTree(lam=0.4)"),
    (A.gaussian(sigma=2.0), "SubsetTree(lam=0.4).gaussian(sigma=2.0)"),
    ((A + C).gaussian(2), "(SubsetTree(lam=0.4) + Subtree(lam=1.0)).gaussian(sigma=2)"),
    ((2 * A).gaussian(2), "(2 * SubsetTree(lam=0.4)).gaussian(sigma=2)"),
    (A.polynomial(3), "SubsetTree(lam=0.4).polynomial(degree=3)"),
    ((A * C).polynomial(3, 0.5), "(SubsetTree(lam=0.4) * Subtree(lam=1.0)).polynomial(degree=3, coef0=0.5)"),
    (
        A.normalized().polynomial(2).gaussian(1),
        "SubsetTree(lam=0.4).normalized().polynomial(degree=2).gaussian(sigma=1)",
    ),
    (np.float64(0.5) * A, "0.5 * SubsetTree(lam=0.4)"),
    (A.gaussian(np.float64(2.0)), "SubsetTree(lam=0.4).gaussian(sigma=2.0)"),
    (tl.On("path", A) + tl.On(3, tl.Linear()), "On('path', SubsetTree(lam=0.4)) + On(3, Linear())"),
    (tl.On("path", 0.5 * A + C), "On('path', 0.5 * SubsetTree(lam=0.4) + Subtree(lam=1.0))"),
    (tl.Bag(A + C).normalized(), "Bag(kernel=SubsetTree(lam=0.4) + Subtree(lam=1.0)).normalized()"),
    (tl.Sum(syntax=0.5 * A, words=C), "Sum(syntax=0.5 * SubsetTree(lam=0.4), words=Subtree(lam=1.0))"),
    (tl.Sum(A, B, C), "Sum(k1=SubsetTree(lam=0.4), k2=PartialTree(lam=0.4, mu=0.4), k3=Subtree(lam=1.0))"),
    (2 * tl.Sum(one=A).normalized(), "2 * Sum(one=SubsetTree(lam=0.4)).normalized()"),
    (
        tl.Sum(one=A) * C + tl.Sum(one=A),
        "Sum(one=SubsetTree(lam=0.4)) * Subtree(lam=1.0) + Sum(one=SubsetTree(lam=0.4))",
    ),
    (
        tl.kernels.Product(one=A, other=A + C),
        "Product(one=SubsetTree(lam=0.4), other=SubsetTree(lam=0.4) + Subtree(lam=1.0))",
    ),
    (tl.Polynomial(), "Polynomial(degree=2)"),
    (tl.Polynomial(3, gamma=0.5), "Polynomial(degree=3, gamma=0.5)"),
]


@pytest.mark.parametrize(("kernel", "text"), WRITTEN, ids=[text for _, text in WRITTEN])
def test_repr_is_exact_and_evaluates_back(kernel: tl.kernels.Kernel, text: str) -> None:
    assert repr(kernel) == text
    back = eval(text, vars(tl.kernels))
    assert back == kernel
    assert type(back) is type(kernel)


def test_different_kernels_are_not_equal() -> None:
    assert (A * C) * A != A * (C * A)
    assert 0.5 * (A * C) != (0.5 * A) * C
    assert A.gaussian(1) != A.gaussian(2)
    assert A.polynomial(2) != A.polynomial(2, 1)
    assert tl.On("a", A) != tl.On("b", A)


def test_numbers_from_either_side() -> None:
    data = ["(A (B x))", "(B x)"]
    K = A(data)
    for kernel in (A * 2, 2 * A, np.float64(2) * A, A * np.int64(2)):
        assert isinstance(kernel, tl.kernels.Scale)
        np.testing.assert_array_equal(kernel(data), 2 * K)
    for kernel in (A + 1, 1 + A, A + np.float64(1)):
        assert isinstance(kernel, tl.kernels.Sum)
        np.testing.assert_array_equal(kernel(data), K + 1)
    np.testing.assert_array_equal(sum([A, C])(data), K + C(data))


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in WRITTEN], ids=[text for _, text in WRITTEN])
def test_scikit_learn_can_clone(kernel: tl.kernels.Kernel) -> None:
    twin = clone(kernel)  # checks the identity of every parameter
    assert twin == kernel
    assert twin is not kernel
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, tl.kernels.Kernel):
            assert getattr(twin, name) is not value


def test_nested_parameters() -> None:
    kernel = tl.On("path", A.normalized()).gaussian(2.0) + 0.5 * tl.Bag(tl.Polynomial()).polynomial(3, 1.0)
    params = kernel.get_params()
    assert params["k1__sigma"] == 2.0
    assert params["k1__kernel__column"] == "path"
    assert params["k1__kernel__kernel__kernel__lam"] == 0.4
    assert params["k2__factor"] == 0.5
    assert params["k2__kernel__coef0"] == 1.0
    assert params["k2__kernel__kernel__kernel__degree"] == 2
    changed = clone(kernel).set_params(
        k1__sigma=3.0, k1__kernel__kernel__kernel__lam=0.7, k2__kernel__kernel__kernel__gamma=2
    )
    assert repr(changed.get_params()["k1"]) == "On('path', SubsetTree(lam=0.7).normalized()).gaussian(sigma=3.0)"
    assert changed.get_params()["k2__kernel__kernel__kernel__gamma"] == 2
    assert kernel.get_params()["k1__sigma"] == 2.0
    with pytest.raises(tl.errors.ParameterError, match=r"Sum has no parameter 'k1__width'.*'k1__kernel', 'k1__sigma'"):
        kernel.set_params(k1__width=1)


def test_named_parts() -> None:
    kernel = tl.Sum(syntax=0.6 * A.normalized(), shape=B.gaussian(1.0), words=tl.On("words", tl.Linear()))
    assert list(kernel.get_params(deep=False)) == ["syntax", "shape", "words"]
    assert kernel.get_params()["syntax__kernel__kernel__lam"] == 0.4
    assert kernel.syntax == 0.6 * A.normalized()
    changed = clone(kernel).set_params(
        syntax__lam=0.2, syntax__factor=0.7, shape__mu=0.1, shape__sigma=3, words__column="w"
    )
    wanted = "Sum(syntax=0.7 * SubsetTree(lam=0.2).normalized(), shape=PartialTree(lam=0.4, mu=0.1).gaussian(sigma=3), "
    assert repr(changed) == wanted + "words=On('w', Linear()))"
    assert repr((2 * changed.normalized()).set_params(syntax__lam=0.9)).startswith(
        "2 * Sum(syntax=0.7 * SubsetTree(lam=0.9)"
    )
    assert kernel.syntax.kernel.kernel.lam == 0.4
    assert kernel.set_params(words=C).words is C
    data = ["(A (B x))", "(B x)", "(A (B y))"]
    np.testing.assert_allclose(kernel(data), 0.6 * A.normalized()(data) + B.gaussian(1.0)(data) + C(data))
    product = tl.kernels.Product(a=A, b=B, c=C)
    np.testing.assert_allclose(product(data), A(data) * B(data) * C(data))
    np.testing.assert_array_equal(tl.Sum(A, B)(data), (A + B)(data))
    assert tl.Sum(A, B) == A + B
    assert tl.Sum(k1=A, k2=B) == A + B
    assert tl.Sum(a=A, b=B) != A + B
    assert [about.name for about in tl.Sum(a=A, b=C).hyperparameters] == ["a__lam", "b__lam"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: (A + B).set_params(lam=0.2),
            "Sum has no parameter 'lam'. Use 'k1__lam' or 'k2__lam'.",
        ),
        (
            lambda: tl.Sum(a=A, b=C.normalized()).set_params(mu=1),
            "Sum has no parameter 'mu'. The parameters are 'a', 'b'. Put the name of an inner kernel before its parameter, "
            "for example 'a__lam'.",
        ),
        (
            lambda: tl.Sum(a=A).set_params(a__mu=1),
            "Sum has no parameter 'a__mu'. The parameters are 'a__lam', 'a__max_depth'",
        ),
        (
            lambda: A.set_params(lam__x=1),
            "The 'lam' parameter of SubsetTree is not a kernel, so it has no parameter 'x'.",
        ),
        (lambda: A.set_params(factor=2), "SubsetTree has no parameter 'factor'. Multiply by a number to add a factor"),
        (lambda: tl.Sum(a=A, b=1), "The 'b' parameter of Sum must be a kernel. Got 1 instead."),
        (tl.Sum, "Sum needs at least one kernel."),
        (lambda: tl.Sum(A, b=B), "Sum takes kernels by position or by name, not both. Pass all kernels by name."),
        (lambda: tl.Sum(normalized=A), "A kernel in Sum cannot be named 'normalized'"),
        (lambda: tl.Sum(theta=A), "A kernel in Sum cannot be named 'theta'"),
        (lambda: tl.Sum(a__b=A), "A kernel in Sum cannot be named 'a__b'"),
        (lambda: tl.Sum(**{"a b": A}), "A kernel in Sum cannot be named 'a b'"),
        (lambda: tl.kernels.Product(_a=A), "A kernel in Product cannot be named '_a'"),
    ],
)
def test_parts_that_make_no_sense(make: Any, message: str) -> None:
    with pytest.raises(tl.errors.ParameterError) as error:
        make()
    assert message in str(error.value)


MISSPELLED = [
    *((tl.SubsetTree, name, "lam") for name in ("lambda_", "lambda", "lamda", "Lambda", "lambd", "λ", "decay")),
    (tl.SubsetTree, "lambda_bounds", "lam_bounds"),
    (tl.SubsetTree, "depth", "max_depth"),
    (tl.PartialTree, "m", "mu"),
    (tl.Smoothed, "thresh", "threshold"),
    (tl.Locality, "thetas", "theta"),
    (tl.kernels.Gaussian, "sgima", "sigma"),
    (tl.On, "col", "column"),
]


@pytest.mark.parametrize(("kernel", "name", "meant"), MISSPELLED)
def test_misspelled_parameters(kernel: Any, name: str, meant: str) -> None:
    with pytest.raises(tl.errors.InputTypeError, match=rf"no parameter '{name}'\. Did you mean '{meant}'"):
        kernel(**{name: 1})


def test_misspelled_parameters_to_set() -> None:
    for name in ("lambda_", "lamda", "decay"):
        with pytest.raises(tl.errors.ParameterError, match=rf"no parameter '{name}'\. Did you mean 'lam'"):
            A.set_params(**{name: 0.2})
        with pytest.raises(tl.errors.ParameterError, match=rf"no parameter '{name}'\. Did you mean 'lam'"):
            A.normalized().set_params(**{name: 0.2})
    with pytest.raises(tl.errors.ParameterError, match=r"no parameter 'kernl'\. Did you mean 'kernel'"):
        tl.On("path", A).set_params(kernl__lam=0.2)


def test_unknown_parameters() -> None:
    """Every kernel lists its parameters if no name is close, and its signature stays readable."""
    with pytest.raises(TypeError, match=r"no parameter 'sigma'.*'lam', 'max_depth'"):
        tl.SubsetTree(sigma=1)  # type: ignore[call-arg]
    with pytest.raises(tl.TreeletError, match=r"Linear has no parameter 'degree'. Linear takes no parameters."):
        tl.Linear(degree=2)  # type: ignore[call-arg]
    with pytest.raises(tl.TreeletError, match=r"Distance has no parameter 'k'. The only parameter is 'kernel'."):
        tl.kernels.Distance(k=A)  # type: ignore[call-arg]
    assert list(inspect.signature(tl.SubsetTree).parameters) == ["lam", "max_depth", "leaves", "lam_bounds"]
    assert list(inspect.signature(A).parameters)[:2] == ["X", "Y"]


def test_other_type_errors_stay() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'kernel'"):
        tl.kernels.Scale(2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="multiple values for argument 'lam'"):
        tl.SubsetTree(1, lam=1)  # type: ignore[misc]

    class Mine(tl.SubsetTree):
        def __init__(self, lam: float = 0.4, **options: Any) -> None:
            super().__init__(lam, **options)

    with pytest.raises(TypeError, match=r"no parameter 'max_dept'\. Did you mean 'max_depth'"):
        Mine(max_dept=2)


WRONG = [
    (lambda: A.gaussian(0), "sigma", "0"),
    (lambda: A.gaussian(float("nan")), "sigma", "nan"),
    (lambda: A.gaussian("2"), "sigma", "'2'"),
    (lambda: A.polynomial(0), "degree", "0"),
    (lambda: A.polynomial(1.5), "degree", "1.5"),
    (lambda: A.polynomial(True), "degree", "True"),
    (lambda: A.polynomial(2, -1), "coef0", "-1"),
    (lambda: tl.Polynomial(0), "degree", "0"),
    (lambda: tl.Polynomial(gamma=0), "gamma", "0"),
    (lambda: tl.Polynomial(coef0=-1), "coef0", "-1"),
    (lambda: -1 * A, "factor", "-1"),
    (lambda: A + -1, "value", "-1"),
    (lambda: tl.On(None, A), "column", "None"),
    (lambda: tl.On("path", "sst"), "kernel", "'sst'"),
    (lambda: tl.Bag(2), "kernel", "2"),
    (lambda: tl.kernels.Gaussian(None, 1), "kernel", "None"),
    (lambda: tl.kernels.Sum(A, 1), "k2", "1"),
    (lambda: A.gaussian(1).set_params(sigma=-2), "sigma", "-2"),
]


@pytest.mark.parametrize(("make", "name", "got"), WRONG)
def test_parameters_that_make_no_sense(make: Any, name: str, got: str) -> None:
    with pytest.raises(tl.errors.ParameterError, match=rf"^The '{name}' parameter of .* Got {got} instead\.$"):
        make()


def test_a_parameter_set_by_hand_is_checked_when_it_is_used() -> None:
    kernel = A.gaussian(1.0) + C
    kernel.k1.sigma = -1
    with pytest.raises(tl.errors.ParameterError, match="'sigma' parameter of Gaussian"):
        kernel(["(A x)"])


def test_only_kernels_and_numbers_can_be_added() -> None:
    for other in ("a", None, [1], True):
        with pytest.raises(tl.errors.InputTypeError, match="only with a kernel"):
            A + other


# --- distances --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", KERNELS.values(), ids=KERNELS)
def test_distances(case: Any) -> None:
    X = case.kernel.coerce(EXAMPLES[case.kind])
    K, distance = case.kernel(X), case.kernel.distance()
    own = np.diag(K)
    D = distance(X, n_jobs=2)
    expected = np.sqrt(np.maximum(own[:, None] - 2 * K + own[None, :], 0))
    np.testing.assert_allclose(D, expected, rtol=1e-7, atol=1e-6 * np.sqrt(own.max()))
    np.testing.assert_array_equal(D, D.T)
    assert not np.diag(D).any()
    np.testing.assert_allclose(distance(X[:3], X), D[:3], rtol=1e-7, atol=1e-6 * np.sqrt(own.max()))
    out = np.empty((len(D), len(D)), np.float32)
    assert distance(X, out=out) is out
    np.testing.assert_array_equal(out, D.astype(np.float32))
    assert eval(repr(distance), vars(tl.kernels) | vars(tl.structures)) == distance


def test_equal_examples_are_not_apart() -> None:
    bank = tl.Treebank(["(S (NP (D the) (N cat)) (VP (V sat)))", "(S (NP (N cats)) (VP (V sat)))", None] * 3)
    for kernel in (SST, PT.normalized(), SST + 3 * PT, SST.polynomial(3, 0.1)):
        D = kernel.distance()(bank)
        np.testing.assert_array_equal(D == 0, np.equal.outer(np.arange(9) % 3, np.arange(9) % 3))
        np.testing.assert_array_equal(kernel.distance()(bank, bank[:3]) == 0, D[:, :3] == 0)


def test_a_distance_is_no_kernel() -> None:
    distance = SST.distance()
    for make in (
        lambda: distance + SST,
        lambda: 2 * distance,
        lambda: tl.On("a", distance),
        lambda: tl.KernelSVC(distance).fit(["(A x)"], [0]),
    ):
        with pytest.raises((TypeError, tl.TreeletError)):
            make()
    with pytest.raises(tl.errors.KernelOverflowError, match="is too large for a float64"):
        tl.SubsetTree(lam=1).distance()([binary(12), "(A x)"])
    with pytest.raises(tl.errors.ParameterError, match=r"'kernel'.*a kernel"):
        tl.kernels.Distance("sst")  # type: ignore[arg-type]


# --- large values -----------------------------------------------------------------------------------------------


def test_overflow_is_an_error_in_every_composite() -> None:
    count, large = tl.SubsetTree(lam=1), [binary(8), binary(3)]  # 1e90 and more
    assert 1e80 < count.diag(large)[0] < 1e150
    huge = 1e100 * (1e100 * (1e100 * count))
    composites = [count.polynomial(4), count * count * count * count, huge, tl.Bag(huge)]
    for kernel in composites:
        data = [[tree] for tree in large] if isinstance(kernel, tl.Bag) else large
        with np.errstate(all="raise"):
            with pytest.raises(tl.errors.KernelOverflowError, match="item 0 with itself"):
                kernel(data)
            with pytest.raises(tl.errors.KernelOverflowError):
                kernel(data, data)
            with pytest.raises(tl.errors.KernelOverflowError, match="item 0 with itself"):
                kernel.diag(data)
            N = kernel.normalized()(data)
        np.testing.assert_allclose(np.diag(N), 1)
    ratio = count.normalized()(large)[0, 1]
    np.testing.assert_allclose(composites[0].normalized()(large)[0, 1], ratio**4, rtol=1e-9)
    np.testing.assert_allclose(composites[1].normalized()(large)[0, 1], ratio**4, rtol=1e-9)
    np.testing.assert_allclose(composites[2].normalized()(large)[0, 1], ratio, rtol=1e-9)


def test_gaussian_of_values_that_do_not_fit() -> None:
    count, large = tl.SubsetTree(lam=1), [binary(11), binary(3)]
    with pytest.raises(tl.errors.KernelOverflowError, match="item 0 with itself"):
        count.gaussian(1.0)(large)
    np.testing.assert_array_equal(count.gaussian(1.0).diag(large), [1, 1])
    np.testing.assert_array_equal(np.diag(count.normalized().gaussian(1.0)(large)), [1, 1])


def test_gaussian_has_ones_exactly_and_nothing_above() -> None:
    rng = np.random.default_rng(0)
    data = np.repeat(rng.normal(size=(20, 30)) * 1e3, 2, axis=0)
    K = tl.Linear().gaussian(1e-3)(data)
    np.testing.assert_array_equal(np.diag(K), 1)
    assert K.max() == 1
    for sigma in (1e-100, 1e100):  # the ends of the range
        K = tl.Linear().gaussian(sigma)([[1.0], [2.0]])
        np.testing.assert_array_equal(K, [[1, 0], [0, 1]] if sigma < 1 else [[1, 1], [1, 1]])


def test_nothing_times_too_much_is_nothing() -> None:
    count, large = tl.SubsetTree(lam=1), [binary(11)]
    np.testing.assert_array_equal((0 * count).self_values(large), [0])
    np.testing.assert_array_equal((tl.kernels.Constant(0) * count).self_values(large), [0])


# --- vectors ----------------------------------------------------------------------------------------------------


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(1500, 17))
    for kernel in (tl.Linear(), tl.Polynomial(3), tl.Linear().gaussian(3.0), tl.Linear().polynomial(5, 1.0)):
        K = kernel(data)
        for n_jobs in (2, 5):
            np.testing.assert_array_equal(kernel(data, n_jobs=n_jobs), K)
    np.testing.assert_allclose(tl.Linear()(data), data @ data.T, rtol=1e-9, atol=1e-12)
    sparse = scipy.sparse.random(1500, 300, density=0.02, random_state=0, format="csr")
    np.testing.assert_allclose(tl.Linear()(sparse, sparse[:1100]), (sparse @ sparse[:1100].T).toarray(), atol=1e-12)
    np.testing.assert_array_equal(tl.Linear()(sparse, n_jobs=3), tl.Linear()(sparse))


def test_features_are_matched_by_name() -> None:
    X = [{"dog": 1, "cat": 2}, {}, {"cow": 3}]
    Y = [{"cow": 1, "cat": 1, "hen": 5}, {"dog": 4}]
    np.testing.assert_array_equal(tl.Linear()(X, Y), [[2, 4], [0, 0], [3, 0]])
    np.testing.assert_array_equal(tl.Linear()(Y, X), [[2, 0, 3], [4, 0, 0]])
    np.testing.assert_array_equal(tl.Linear()([{1: 2}], [{"1": 3}, {np.int64(1): 4}]), [[0, 8]])
    dense = np.array([[1.0, 2.0], [0.0, 3.0]])
    np.testing.assert_array_equal(tl.Linear()(dense, scipy.sparse.csr_array(dense)), dense @ dense.T)
    np.testing.assert_array_equal(tl.Linear()(scipy.sparse.csc_matrix(dense), dense), dense @ dense.T)


def test_a_sparse_matrix_is_left_as_it_was() -> None:
    twice = scipy.sparse.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    np.testing.assert_array_equal(tl.Linear()(twice), [[9, 0], [0, 16]])
    np.testing.assert_array_equal(tl.Linear().diag(twice), [9, 16])
    assert twice.nnz == 3


def test_nothing_to_compare() -> None:
    assert tl.Linear()([]).shape == (0, 0)
    assert tl.Linear()([], [[1, 2]]).shape == (0, 1)
    assert tl.Linear()([{"a": 1}], []).shape == (1, 0)
    np.testing.assert_array_equal(tl.Linear()(np.zeros((2, 0))), np.zeros((2, 2)))


BAD_VECTORS = [
    ([[1, 2], [3, float("nan")]], tl.errors.ParameterError, "Feature 1 of row 1 is nan, but"),
    (np.array([[1, np.inf]]), tl.errors.ParameterError, "Feature 1 of row 0 is inf, but"),
    (
        scipy.sparse.csr_matrix([[0, 1], [0, 0], [0, np.inf]]),
        tl.errors.ParameterError,
        "Feature 1 of row 2 is inf, but",
    ),
    ([{"a": 1}, {"b": float("nan")}], tl.errors.ParameterError, "Feature 'b' of row 1 is nan, but"),
    ([[1, 2], [1, 2], [3]], tl.errors.ParameterError, "features, but row 0 has 2 and row 2"),
    ([1, 2, 3], tl.errors.InputTypeError, "Row 0 is an int, but a list"),
    (np.arange(3), tl.errors.ParameterError, r"use X.reshape\(-1, 1\)"),
    (np.zeros((2, 2, 2)), tl.errors.ParameterError, "must have two dimensions"),
    (np.array([["1", "2"]]), tl.errors.InputTypeError, "Got an array of <U1"),
    (np.array([[1j]]), tl.errors.InputTypeError, "Feature vectors"),
    ([["1", "2"]], tl.errors.InputTypeError, "a str, '1', but numbers are needed"),
    ([[1, 2], [3, None]], tl.errors.InputTypeError, "1 contains None, but numbers are needed"),
    ([{"a": 1}, [2]], tl.errors.InputTypeError, "list, but other rows are dicts"),
    ([{"a": 1}, None], tl.errors.InputTypeError, "Row 1 is None, but other rows are dicts"),
    ([{"a": "x"}], tl.errors.InputTypeError, "Feature 'a' of row 0 is 'x', but"),
    ([{1.5: 1}], tl.errors.InputTypeError, "features must be strings or ints"),
    ([[10**400, 1]], tl.errors.ParameterError, "too large for a float64"),
    ("text", tl.errors.InputTypeError, "Feature vectors must be a 2-D array"),
    (tl.Treebank(["(A x)"]), tl.errors.InputTypeError, "Feature vectors must be a 2-D array"),
    (3, tl.errors.InputTypeError, "Feature vectors must be a 2-D array"),
]


@pytest.mark.parametrize(("data", "kind", "message"), BAD_VECTORS, ids=[message for _, _, message in BAD_VECTORS])
def test_vectors_that_are_none(data: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as error:
        tl.Linear()(data)
    assert isinstance(error.value, tl.TreeletError)


def test_columns_of_frames_are_matched_by_name(tmp_path: Path) -> None:
    """The columns of a frame may be in another order at prediction time."""
    frame = pd.DataFrame({"a": [1.0, 2.0, 0.0, 4.0], "b": [5.0, 3.0, 1.0, 0.0]})
    turned = frame[["b", "a"]]
    K = tl.Linear()(frame.to_numpy())
    for X, Y in ((frame, turned), (turned, frame), (frame, frame.to_numpy()), (frame, frame.to_dict("records"))):
        np.testing.assert_array_equal(tl.Linear()(X, Y), K)
    for kernel in (tl.Linear(), tl.Polynomial(2, 1.0), tl.Linear().gaussian(3.0)):
        model = tl.KernelSVR(kernel).fit(frame, [1, 2, 3, 4])
        expected = model.predict(frame)
        np.testing.assert_allclose(model.predict(turned), expected, rtol=1e-12)
        np.testing.assert_allclose(model.predict(frame.to_numpy()), expected, rtol=1e-12)
        tl.save(model, tmp_path / "m")
        np.testing.assert_allclose(tl.load(tmp_path / "m").predict(turned), expected, rtol=1e-12)
        for other in (frame.rename(columns={"a": "c"}), frame.assign(c=1)):
            with pytest.raises(tl.errors.ParameterError, match="must have the same columns"):
                model.predict(other)


def test_vectors_that_do_not_fit_each_other() -> None:
    with pytest.raises(tl.errors.ParameterError, match=r"Vectors of 2 feature.*cannot be compared with vectors"):
        tl.Linear()([[1, 2]], [[1, 2, 3]])
    with pytest.raises(tl.errors.ParameterError, match=r"named features \(dicts\) cannot"):
        tl.Linear()([{"a": 1}], [[1, 2, 3]])


def test_vectors_too_large() -> None:
    with pytest.raises(tl.errors.KernelOverflowError, match="1 with itself is too large for a float64"):
        tl.Linear()([[1.0], [1e200]])
    with pytest.raises(tl.errors.KernelOverflowError, match="items 0 and 1"):
        tl.Linear()([[1e200, 0], [1, 1]], [[1, 1], [1e200, 1]])
    with pytest.raises(tl.errors.KernelOverflowError):
        tl.Linear().diag([[1e200]])
    with pytest.raises(tl.errors.KernelOverflowError):
        tl.Polynomial(5)([[1e40]])
    np.testing.assert_allclose(tl.Polynomial(5, coef0=0).normalized()([[1e40], [3e40]]), 1)
    with pytest.raises(tl.errors.KernelOverflowError, match=r"items 1.*0 is negative, so it has no logarithm"):
        tl.Polynomial(5).normalized()([[1e40], [-3e40]])
    np.testing.assert_allclose(tl.Polynomial(6, coef0=0).normalized()([[1e40], [-3e40]]), 1)


def test_normalized_negative_values_are_plain() -> None:
    np.testing.assert_allclose(
        tl.Linear().normalized()([[1, 0], [-1, 1]]), [[1, -math.sqrt(0.5)], [-math.sqrt(0.5), 1]]
    )
    out = np.empty((2, 2))
    for kernel in (tl.Linear(), tl.Linear().normalized(), tl.Linear().polynomial(3)):
        with pytest.raises(tl.errors.KernelOverflowError, match=r"items 1.*0 is negative, so it has no logarithm"):
            kernel.evaluator([[1, 0], [-1, 1]], logs=True).fill(0, 2, out, True)


def test_vectors_are_a_collection() -> None:
    for data in (np.arange(12).reshape(4, 3), scipy.sparse.csr_array(np.arange(12).reshape(4, 3))):
        values = tl.Linear().coerce(data)
        assert tl.Linear().coerce(values) is values
        assert (len(values), values.shape) == (4, (4, 3))
        np.testing.assert_array_equal(values[1], [3, 4, 5])
        np.testing.assert_array_equal(values[-1], [9, 10, 11])
        for index in ([2, 0], np.array([2, 0]), slice(2, None, -2), (np.array([2, 0]), Ellipsis)):
            np.testing.assert_array_equal(tl.Linear()(values[index]), tl.Linear()(data)[np.ix_([2, 0], [2, 0])])
        assert len(values[np.array([True, False, True, True])]) == 3
        assert len(values[[]]) == 0
        np.testing.assert_array_equal(tl.Linear()(pickle.loads(pickle.dumps(values))), tl.Linear()(values))
        with pytest.raises(IndexError):
            values[4]
        with pytest.raises(IndexError):
            values[[0, 9]]
        with pytest.raises(IndexError):
            values[0, 1]
        with pytest.raises(tl.errors.InputTypeError):
            values[[0.5]]
    assert repr(Vectors([{"a": 1}])) == "<Vectors: 1 of 1 features, sparse>"


def test_a_row_of_named_vectors_keeps_the_names() -> None:
    rows = [{"a": 1.0, "b": -2.0}, {"c": 3.0}, {}]
    vectors = Vectors([*rows, {"a": 0}])
    assert list(vectors) == [*rows, {}]
    np.testing.assert_array_equal(tl.Linear()([vectors[0]], vectors), [[5, 0, 0, 0]])
    frame = Vectors(pd.DataFrame({"x": [1, 0], "y": [5, 7]}))
    other = Vectors(pd.DataFrame({"y": [5, 7], "x": [1, 0]}))
    assert frame[1] == other[1] == {"y": 7.0}
    np.testing.assert_array_equal(tl.Linear()([other[0]], frame), [[26, 35]])


def test_bag_of_words() -> None:
    bags = bag_of_words(["the cat the", ["a", "cat"], ""])
    assert bags == [{"the": 2.0, "cat": 1.0}, {"a": 1.0, "cat": 1.0}, {}]
    np.testing.assert_array_equal(tl.Linear()(bags), [[5, 1, 0], [1, 2, 0], [0, 0, 0]])
    for wrong, message in (
        ("text", "Put it in a list"),
        ([None], "Text 0 is None, but a string"),
        ([["a"], [1]], "Text 1 contains.*but words must be strings"),
    ):
        with pytest.raises(tl.errors.InputTypeError, match=message):
            bag_of_words(wrong)


# --- unsuitable data -----------------------------------------------------------------------------------------

BAD_DATA = [
    (
        tl.On("path", A),
        [{"path": "(A x)"}, {"tree": "(A x)"}],
        tl.errors.ParameterError,
        "Row 1 has no value for the column 'path'",
    ),
    (tl.On("path", A), [{"tree": "(A x)"}], tl.errors.ParameterError, "There is no column 'path'"),
    (tl.On("path", A), pd.DataFrame({"tree": ["(A x)"]}), tl.errors.ParameterError, "There is no column 'path'"),
    (tl.On("path", A), [{"path": "(A x)"}, "(A x)"], tl.errors.InputTypeError, "str, but a dict from column names"),
    (tl.On("path", A), ["(A x)"], tl.errors.InputTypeError, "str, but a dict from column names"),
    (tl.On("path", A), "(A x)", tl.errors.InputTypeError, "named columns are needed"),
    (tl.On("path", A), tl.Treebank(["(A x)"]), tl.errors.InputTypeError, "named columns are needed"),
    (tl.On("path", A), np.zeros((2, 2)), tl.errors.InputTypeError, "named columns are needed"),
    (
        tl.On("path", A),
        [{"path": "(A x)"}, {"path": "(A x"}],
        tl.errors.FormatError,
        r"^column 'path', item 1, column \d",
    ),
    (tl.On("path", A), [{"path": "(A x)"}, {"path": 3}], tl.errors.InputTypeError, "column 'path'.*Item 1"),
    (
        tl.On("f", tl.Linear()),
        [{"f": [1]}, {"f": [1, 2]}],
        tl.errors.ParameterError,
        "features, but row 0 has 1 and row 1",
    ),
    (tl.Bag(A), ["(A x)"], tl.errors.InputTypeError, "str, but a bag must be a list"),
    (tl.Bag(A), [["(A x)"], tl.Tree("A", ["x"])], tl.errors.InputTypeError, "Tree, but a bag must be a list"),
    (tl.Bag(A), tl.Treebank(["(A x)"]), tl.errors.InputTypeError, "Put it in a list"),
    (tl.Bag(A), [["(A x)"], [], ["(A x)", "(A"]], tl.errors.FormatError, r"^bag 2, item 1, column 1: "),
    (
        tl.Bag(tl.Linear()),
        [[[1, 2]], [[1, float("inf")]]],
        tl.errors.ParameterError,
        "bag 1: Feature 1 of row 0 is inf, but",
    ),
    (tl.Bag(tl.Linear()), [[[1, 2]], [[1]]], tl.errors.ParameterError, "features, but row 0 has 2 and row 1"),
    (A + tl.Linear(), ["(A x)"], tl.errors.InputTypeError, "Feature vectors must be a 2-D array"),
]


@pytest.mark.parametrize(("kernel", "data", "kind", "message"), BAD_DATA, ids=[row[3] for row in BAD_DATA])
def test_data_that_do_not_suit(kernel: tl.kernels.Kernel, data: Any, kind: type[Exception], message: str) -> None:
    for ask in (lambda: kernel(data), lambda: kernel.diag(data), lambda: kernel(data, data)):
        with pytest.raises(kind, match=message) as error:
            ask()
        assert isinstance(error.value, tl.TreeletError)


def test_columns_are_made_once() -> None:
    calls = []

    class Counting(tl.SubsetTree):
        def coerce(self, X: Any) -> tl.Treebank:
            if not isinstance(X, tl.Treebank):
                calls.append(len(X))
            return super().coerce(X)

    kernel = tl.On("tree", Counting()) + tl.On("tree", Counting(lam=0.5)).normalized() + tl.On("f", tl.Linear())
    data = [{"tree": f"(A (B {word}))", "f": {"x": 1}} for word in "abcdefgh"]
    table = kernel.coerce(data)
    assert calls == [8]
    assert kernel.coerce(table) is table
    K = kernel(table)
    kernel(table[2:], table)
    np.testing.assert_array_equal(kernel(table[[1, 0]]), K[:2, :2])
    tl.gram(kernel, table, memory=1, out=np.empty((8, 8)))
    assert calls == [8]


def test_kernels_that_need_other_forms_of_one_column() -> None:
    data = [{"words": ["(A x)", "(B y)"]}, {"words": ["(A x)"]}]

    class Length(tl.Linear):
        def coerce(self, X: Any) -> Vectors:
            return X if isinstance(X, Vectors) else super().coerce([[len(item)] for item in X])

    bag, length = tl.On("words", tl.Bag(A)), tl.On("words", Length())
    expected = bag(data) + [[4, 2], [2, 1]]
    table = (bag + length).coerce(data)
    for kernel in (bag + length, length + bag):
        np.testing.assert_allclose(kernel(data), expected)
        np.testing.assert_allclose(kernel(table), expected)
        np.testing.assert_allclose(kernel(table[[1, 0]]), expected[::-1, ::-1])
        assert kernel.coerce(table) is table
