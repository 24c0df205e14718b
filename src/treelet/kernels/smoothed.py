"""The partial-tree kernel with words that may be alike instead of equal."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from treelet import _core
from treelet.checks import check_number
from treelet.kernels.base import Itself
from treelet.kernels.tree import PartialTree
from treelet.kernels.tuning import DECAYS, Bounds
from treelet.structures.word_vectors import WordVectors, as_word_vectors


class Smoothed(PartialTree):
    r"""The smoothed partial-tree kernel (SPTK) of Croce, Moschitti & Basili (2011).

    As `PartialTree`, but two words that are alike match in part:

    .. math:: \Delta(w_1, w_2) = \mu \lambda^2 \sigma(w_1, w_2)

    with :math:`\sigma` the cosine of their vectors where that is above the threshold, 1 for equal words, else 0.

    Parameters
    ----------
    vectors : WordVectors, mapping, gensim KeyedVectors, or path
        A text file of ``word 0.1 0.2 ...`` lines, or ``.npy`` with its words beside it. Words without a vector match
        only themselves.
    lam, mu, leaves, terminal_factor, lam_bounds, mu_bounds
        As in `PartialTree`.
    threshold : float in [0, 1]
        Similarities up to this count as none.

    Notes
    -----
    Cutting similarities off can make the kernel indefinite, the more the lower the threshold, and then support vector machines fail:
    look at the smallest eigenvalue (``numpy.linalg.eigvalsh``), or choose the threshold by cross-validation.
    Costs as `PartialTree`, plus the pairs of alike words under one pre-terminal.

    Examples
    --------
    >>> from treelet import PartialTree, Smoothed
    >>> vectors = {"cat": [1, 0.2], "dog": [1, 0.3], "car": [0, 1]}
    >>> trees = ["(N cat)", "(N dog)", "(N car)"]
    >>> Smoothed(vectors, threshold=0.5)(trees).round(3)
    array([[0.154, 0.153, 0.064],
           [0.153, 0.154, 0.064],
           [0.064, 0.064, 0.154]])
    """

    _always_shown: tuple[str, ...] = ("vectors", "lam", "mu")
    collapses = False  # words that come later have neighbours of their own
    _on_device = ""  # device code knows nothing of similar words

    def __init__(
        self,
        vectors: Any,
        lam: float = 0.4,
        mu: float = 0.4,
        leaves: bool = True,
        threshold: float = 0.4,
        *,
        terminal_factor: float = 1.0,
        lam_bounds: Bounds = DECAYS,
        mu_bounds: Bounds = DECAYS,
    ) -> None:
        self._read: tuple[Any, WordVectors] | None = None
        self._alike: tuple[WordVectors, tuple[list[str], float], tuple[Any, ...]] | None = None
        self.vectors = vectors
        self.threshold = threshold
        super().__init__(lam, mu, leaves, terminal_factor=terminal_factor, lam_bounds=lam_bounds, mu_bounds=mu_bounds)

    def validate(self) -> None:
        super().validate()
        check_number(self, "threshold", 0, 1, low_included=True)

    def _word_vectors(self) -> WordVectors:
        if self._read is None or self._read[0] is not self.vectors:
            self._read = (self.vectors, as_word_vectors(self.vectors))
        return self._read[1]

    def _identity(self) -> Hashable:
        params = {**self.get_params(deep=False), "vectors": Itself(self._word_vectors())}
        return type(self), tuple(params.items())

    def index_key(self, logs: bool) -> None:
        return None  # which words are alike is looked up for those of the rows, too

    def _rough_more(self, store: Any) -> int:
        return 64 * len(store.labels) ** 2  # all words may be alike

    def _native_parameters(self, store: _core.Store) -> tuple[Any, ...]:
        vectors, asked = self._word_vectors(), (store.labels, float(self.threshold))
        alike = self._alike
        if alike is None or alike[0] is not vectors or alike[1] != asked:
            alike = self._alike = (
                vectors,
                asked,
                vectors.similar(*asked),
            )  # of one bank they are asked for more than once
        start, label, sigma = alike[2]
        similar = _core.Similar.of(start, label, np.ascontiguousarray(sigma))
        *plain, _ = super()._native_parameters(store)
        return *plain, similar
