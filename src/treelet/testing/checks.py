"""The properties of every kernel, as one check for test suites of treelet and of new kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treelet import kernels
from treelet.kernels.base import Kernel
from treelet.matrices import gram
from treelet.structures import WordVectors


def check_kernel(
    kernel: Kernel,
    X: Any,
    *,
    reference: Callable[[Any, Any], float] | None = None,
    positive_semidefinite: bool = True,
    rtol: float = 1e-9,
) -> None:
    """Check the properties of a kernel on data.

    The matrix must be symmetric, positive semi-definite and equal to the slow definition. K(X) must
    equal K(X, X), and its diagonal must equal `diag`. Normalized self-values must be 1. Values must
    not depend on tiles, threads or the order of examples. The `repr` and the parameters must rebuild
    the kernel.

    Parameters
    ----------
    kernel : Kernel
        Kernel to check.
    X : sequence of examples
        At least two examples, in any form that the kernel accepts.
    reference : callable, optional
        Slow definition: a function of two examples. Default: not compared.
    positive_semidefinite : bool, default True
        Pass False for a similarity that is not positive semi-definite.
    rtol : float, default 1e-9
        Relative tolerance.

    Raises
    ------
    AssertionError
        If the kernel violates a property, which the message names.

    Examples
    --------
    >>> from treelet import Linear
    >>> from treelet.testing import check_kernel
    >>> check_kernel(Linear(), [[1.0, 2.0], [3.0, 0.5]], reference=lambda x, y: sum(a * b for a, b in zip(x, y)))
    """
    data = kernel.coerce(X)
    n = len(data)
    assert n >= 2, f"X has {n} examples, but check_kernel needs at least 2."
    K = kernel(data)
    assert K.shape == (n, n), f"K(X) has shape {K.shape} for {n} examples."
    assert np.isfinite(K).all(), "K(X) has values that are not finite."
    _equal(K, K.T, 0, "K(X) is not symmetric.")
    _equal(kernel(data, data), K, rtol, "K(X, X) differs from K(X).")
    _equal(kernel(data, data[: n // 2]), K[:, : n // 2], rtol, "K(X, Y) differs from the columns of K(X).")
    _equal(kernel(data[: n // 2], data), K[: n // 2], rtol, "K(Y, X) differs from the rows of K(X).")
    _equal(kernel.diag(data), np.diag(K), rtol, "diag(X) differs from the diagonal of K(X).")
    if positive_semidefinite:
        scale = np.abs(K).max() or 1.0
        least = np.linalg.eigvalsh(K / scale).min()
        assert least > -1e-9 * n, f"K(X) is not positive semi-definite: its smallest eigenvalue is {least * scale}."

    N = kernel.normalized()(data)
    self_values = np.diag(K)
    _equal(np.diag(N), (self_values > 0).astype(float), 1e-12, "The diagonal of the normalized kernel is not 1.")
    roots = np.sqrt(np.outer(self_values, self_values))
    expected = np.divide(K, roots, out=np.zeros_like(K), where=roots > 0)
    _equal(N, expected, rtol, "Normalized values differ from K(x, y) / sqrt(K(x, x) K(y, y)).")

    _equal(kernel(data, n_jobs=2), K, 0, "The matrix computed by two threads differs.")
    out = np.full((n, n), np.nan)
    _equal(gram(kernel, data, memory=1, out=out), K, rtol, "The matrix computed in the smallest tiles differs.")
    order = np.random.default_rng(0).permutation(n)
    _equal(kernel(data[order]), K[np.ix_(order, order)], rtol, "Values depend on the order of the examples.")

    names = vars(kernels) | {"WordVectors": WordVectors, type(kernel).__name__: type(kernel)}
    assert eval(repr(kernel), dict(names)) == kernel, f"The repr does not rebuild the kernel: {kernel!r}."
    same = type(kernel)(**kernel.get_params(deep=False))
    assert same == kernel, "get_params does not rebuild the kernel."
    assert same.set_params(**kernel.get_params()) is same, "set_params does not return the kernel."

    if reference is not None:
        items: Sequence[Any] = list(X)
        slow = np.array([[reference(a, b) for b in items] for a in items])
        _equal(K, slow, rtol, "The kernel differs from its slow definition.")


def _equal(actual: Any, expected: Any, rtol: float, message: str) -> None:
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=0 if rtol == 0 else 1e-300, err_msg=message)
