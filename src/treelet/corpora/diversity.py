"""The diversity of a corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from treelet.checks import check_integer
from treelet.errors import InputTypeError, ParameterError
from treelet.gram import gram
from treelet.kernels.base import Kernel
from treelet.kernels.wrapped import Normalized
from treelet.work import generator, one_blas_thread

LARGEST = 5_000  # examples whose eigenvalues are computed unasked: half a minute


def vendi_score(
    kernel: Kernel, X: Any, *, sample: int | None = None, random_state: Any = 0, n_jobs: int | None = 1
) -> float:
    r"""How many different examples there are, in effect: the Vendi score of Friedman & Dieng (2023).

    It is 1 if the kernel takes all examples to be the same, and n if no two of the n have anything in common.

    Parameters
    ----------
    kernel : Kernel
        It is normalized, if it is not.
    X : collection
    sample : int, optional
        Take so many examples, drawn at random, instead of all (if there are more). A sample has a lower score than the whole, so compare scores of
        equally many examples only.
    random_state : int, RandomState, Generator or None
        For the sample.
    n_jobs : int
        Threads for the matrix.

    Returns
    -------
    float

    Notes
    -----
    With :math:`\lambda_i` the eigenvalues of :math:`K / n`, which add up to 1, the score is :math:`\exp(-\sum_i \lambda_i \log \lambda_i)`. It is exact,
    and takes the time of an eigendecomposition, n³: for more than 5,000 examples a sample must be asked for.

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
    if not isinstance(kernel, Kernel):
        raise InputTypeError(f"vendi_score needs a kernel first, got {type(kernel).__name__}")
    check_integer("sample", sample, of="vendi_score", optional=True)
    X = kernel.coerce(X)
    if not len(X):
        raise ParameterError("there is nothing to score: at least one example is needed")
    if sample is not None and sample < len(X):
        X = X[np.sort(generator(random_state).permutation(len(X))[:sample])]
    elif sample is None and len(X) > LARGEST:
        raise ParameterError(
            f"the eigenvalues of {len(X):,} examples take long: give sample={LARGEST}, or more, for a score of so many drawn at random "
            "(lower than that of all)"
        )
    empty = np.flatnonzero(kernel.diag(X) == 0)
    if len(empty):
        raise ParameterError(
            f"{len(empty):,} of {len(X):,} examples have nothing that the kernel sees, the first is example {empty[0]}: leave them out"
        )
    K = gram(kernel if isinstance(kernel, Normalized) else kernel.normalized(), X, n_jobs=n_jobs)
    with one_blas_thread():
        values = np.linalg.eigvalsh(K / len(K))
    values = values[values > 0]
    return float(np.exp(-np.sum(values * np.log(values))))
