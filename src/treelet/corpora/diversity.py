"""The diversity of a corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from treelet.checks import check_integer
from treelet.errors import ParameterError
from treelet.kernels.algebra import Normalized
from treelet.kernels.base import Kernel
from treelet.matrices.executors import host_matrix
from treelet.matrices.tiles import check_pairwise
from treelet.resources import Resources
from treelet.work import generator, one_blas_thread

_LARGEST = 5_000  # maximal number of examples without `sample`; the eigenvalues take half a minute


def vendi_score(
    kernel: Kernel, X: Any, *, sample: int | None = None, random_state: Any = 0, n_jobs: int | None = 1
) -> float:
    r"""Compute the Vendi score of a corpus: its effective number of different examples.

    The score is 1 if all examples are equal for the kernel, and n if no two of n examples have
    anything in common. See Friedman & Dieng (2023).

    Parameters
    ----------
    kernel : Kernel
        Kernel that compares the examples. It is normalized if necessary.
    X : collection of examples
        The corpus, with at least one example.
    sample : int, optional
        Maximal number of examples, drawn at random. Default: all examples. A sample has a lower
        score than the corpus, so compare only scores of the same number of examples.
    random_state : int, RandomState, Generator or None, default 0
        Seed of the sample.
    n_jobs : int, default 1
        Number of threads for the matrix. -1 uses one thread per core.

    Returns
    -------
    float
        The Vendi score.

    Raises
    ------
    ParameterError
        If X is empty, if an example has no fragments, or if X has more than 5,000 examples and
        `sample` is not given.

    Notes
    -----
    With :math:`\lambda_i` the eigenvalues of :math:`K / n`, which add up to 1, the score is
    :math:`\exp(-\sum_i \lambda_i \log \lambda_i)`. The computation is exact and takes the time of an
    eigendecomposition, which grows with n³.

    References
    ----------
    D. Friedman and A. B. Dieng. The Vendi Score: A Diversity Evaluation Metric for Machine Learning. Transactions on Machine Learning
    Research, 2023.

    Examples
    --------
    >>> import treelet as tl
    >>> from treelet.corpora import vendi_score
    >>> round(vendi_score(tl.SubsetTree(), ["(D a)", "(D a)", "(D the)", "(N cat)"]), 3)
    2.828
    """
    check_pairwise(kernel, "vendi_score", Kernel)
    check_integer("sample", sample, of="vendi_score", optional=True)
    X = kernel.coerce(X)
    if not len(X):
        raise ParameterError("X is empty: vendi_score needs at least one example.")
    if sample is not None and sample < len(X):
        X = X[np.sort(generator(random_state).permutation(len(X))[:sample])]
    elif sample is None and len(X) > _LARGEST:
        raise ParameterError(
            f"X has {len(X):,} examples, too many for an eigendecomposition. Pass sample={_LARGEST} to score a random sample, "
            "whose score is lower than that of all examples."
        )
    empty = np.flatnonzero(kernel.diag(X) == 0)
    if len(empty):
        raise ParameterError(
            f"{len(empty):,} of {len(X):,} examples have no fragments for the kernel (self-value 0). Remove them; the first one is "
            f"example {empty[0]}."
        )
    normalized = kernel if isinstance(kernel, Normalized) else kernel.normalized()
    K = host_matrix(normalized, normalized.coerce(X), resources=Resources.of(n_jobs, owner="vendi_score"))
    with one_blas_thread():
        values = np.linalg.eigvalsh(K / len(K))
    values = values[values > 0]
    return float(np.exp(-np.sum(values * np.log(values))))
