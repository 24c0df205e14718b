"""What every kernel must satisfy, as one call that test suites can make: ours, and those of people who add kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treelet import kernels
from treelet.gram import gram
from treelet.kernels.base import Kernel
from treelet.structures import WordVectors


def check_kernel(
    kernel: Kernel,
    X: Any,
    *,
    reference: Callable[[Any, Any], float] | None = None,
    positive_semidefinite: bool = True,
    rtol: float = 1e-9,
) -> None:
    """Check a kernel on data; raise AssertionError with what went wrong.

    Symmetric; K(X) = K(X, X); the diagonal is `diag`; positive semi-definite; normalized to 1; the same whatever
    tiles, threads and order; its repr and parameters rebuild it; equal to the slow definition where one is given.

    Parameters
    ----------
    kernel : Kernel
        What to check.
    X : sequence
        At least two examples, in any form the kernel takes; needs to be sliceable by an array (a list is made so).
    reference : callable, optional
        The slow definition, of two examples.
    positive_semidefinite : bool
        False for similarities that are known not to be.
    rtol : float
        Relative tolerance.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> from treelet.testing import check_kernel, reference
    >>> from treelet import Tree
    >>> trees = [Tree.parse("(NP (D a) (N dog))"), Tree.parse("(NP (D a) (N cat))")]
    >>> check_kernel(SubsetTree(lam=0.5), trees, reference=lambda a, b: reference.subset_tree(a, b, 0.5))
    """
    data = kernel.coerce(X)
    n = len(data)
    assert n >= 2, "check_kernel needs at least two examples"
    K = kernel(data)
    assert K.shape == (n, n), f"K(X) has the shape {K.shape} for {n} examples"
    assert np.isfinite(K).all(), "K(X) has values that are not finite"
    _equal(K, K.T, 0, "K(X) is not symmetric")
    _equal(kernel(data, data), K, rtol, "K(X, X) is not K(X)")
    _equal(kernel(data, data[: n // 2]), K[:, : n // 2], rtol, "K(X, Y) is not the columns of K(X)")
    _equal(kernel(data[: n // 2], data), K[: n // 2], rtol, "K(Y, X) is not the rows of K(X)")
    _equal(kernel.diag(data), np.diag(K), rtol, "diag(X) is not the diagonal of K(X)")
    if positive_semidefinite:
        scale = np.abs(K).max() or 1.0
        least = np.linalg.eigvalsh(K / scale).min()
        assert least > -1e-9 * n, f"not positive semi-definite: smallest eigenvalue {least * scale}"

    N = kernel.normalized()(data)
    self_values = np.diag(K)
    _equal(np.diag(N), (self_values > 0).astype(float), 1e-12, "the normalized diagonal is not 1")
    roots = np.sqrt(np.outer(self_values, self_values))
    expected = np.divide(K, roots, out=np.zeros_like(K), where=roots > 0)
    _equal(N, expected, rtol, "normalized values are not K / sqrt(K K)")

    _equal(kernel(data, n_jobs=2), K, 0, "two threads give another matrix")
    out = np.full((n, n), np.nan)
    _equal(gram(kernel, data, memory=1, out=out), K, rtol, "the smallest tiles give another matrix")
    order = np.random.default_rng(0).permutation(n)
    _equal(kernel(data[order]), K[np.ix_(order, order)], rtol, "another order of the examples gives other values")

    names = vars(kernels) | {"WordVectors": WordVectors, type(kernel).__name__: type(kernel)}
    assert eval(repr(kernel), dict(names)) == kernel, f"the repr does not rebuild the kernel: {kernel!r}"
    same = type(kernel)(**kernel.get_params(deep=False))
    assert same == kernel, "get_params does not rebuild the kernel"
    assert same.set_params(**kernel.get_params()) is same, "set_params does not return the kernel"

    if reference is not None:
        items: Sequence[Any] = list(X)
        slow = np.array([[reference(a, b) for b in items] for a in items])
        _equal(K, slow, rtol, "the kernel differs from its slow definition")


def _equal(actual: Any, expected: Any, rtol: float, message: str) -> None:
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=0 if rtol == 0 else 1e-300, err_msg=message)
