"""The smoothed partial-tree kernel, in which similar words match in part."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from treelet import _core
from treelet.checks import check_number
from treelet.kernels.parameters import DECAYS, Bounds
from treelet.kernels.tree import PartialTree
from treelet.structures.word_vectors import ReadsVectors, WordVectors


class _Itself:
    """Wraps an object for use in a key, where it is compared by identity instead of equality."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class Smoothed(ReadsVectors, PartialTree):
    r"""Smoothed partial-tree kernel (SPTK): `PartialTree` in which similar words match in part.

    The similarity of two words is the cosine of their vectors.

    Parameters
    ----------
    vectors : WordVectors, mapping, gensim KeyedVectors, or path
        Word vectors. A path names a text file of ``word 0.1 0.2 ...`` lines, or a ``.npy`` file
        with the list of words next to it. The first computation or copy reads the vectors, and the
        kernel and its copies keep them: create a new kernel after a file or mapping has changed.
        ``sklearn.base.clone``, which a cross-validation calls, also creates a new kernel, so it reads a
        file again; pass ``WordVectors.read(path)`` to read it once. A word without a vector matches only
        itself.
    lam, mu, leaves, terminal_factor, lam_bounds, mu_bounds
        As for `PartialTree`.
    threshold : float, default 0.4
        Similarity threshold in [0, 1]. Similarities up to this value count as 0.

    Notes
    -----
    The kernel of Croce, Moschitti & Basili (2011) replaces the value of two words by

    .. math:: \Delta(w_1, w_2) = \mu \lambda^2 \sigma(w_1, w_2)

    where :math:`\sigma` is 1 for equal words, the cosine if it exceeds the threshold, and 0
    otherwise.

    A threshold can make the kernel indefinite, the more so the lower the threshold is. Support
    vector machines fail on an indefinite kernel. Check the smallest eigenvalue
    (``numpy.linalg.eigvalsh``), or choose the threshold by cross-validation.

    Computation time is that of `PartialTree`, plus the number of pairs of similar words under equal
    pre-terminals.

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
    collapses = False  # words of later examples can be similar to words of the model
    _on_device = ""  # device code does not support similar words

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
        self._alike: tuple[WordVectors, tuple[list[str], float], tuple[Any, ...]] | None = None
        self.vectors = vectors
        self.threshold = threshold
        super().__init__(lam, mu, leaves, terminal_factor=terminal_factor, lam_bounds=lam_bounds, mu_bounds=mu_bounds)

    def validate(self) -> None:
        super().validate()
        check_number(self, "threshold", 0, 1, low_included=True)

    def params_by_content(self) -> dict[str, Any]:
        return {**self.get_params(deep=False), "vectors": self._word_vectors()}

    def _given_vectors(self) -> Any:
        return self.vectors

    def _identity(self) -> Hashable:
        params = {**self.get_params(deep=False), "vectors": _Itself(self._word_vectors())}
        return type(self), tuple(params.items())

    def index_key(self, logs: bool) -> None:
        return None  # the similar words depend on the rows, too

    def _rough_more(self, store: Any) -> int:
        return 64 * len(store.labels) ** 2  # all words may be similar

    def _native_parameters(self, store: _core.Store) -> tuple[Any, ...]:
        vectors, query = self._word_vectors(), (store.labels, float(self.threshold))
        alike = self._alike
        if alike is None or alike[0] is not vectors or alike[1] != query:
            # Cached, because one bank needs the similar words repeatedly.
            alike = self._alike = (vectors, query, vectors.similar(*query))
        start, label, sigma = alike[2]
        similar = _core.Similar.of(start, label, np.ascontiguousarray(sigma))
        *plain, _ = super()._native_parameters(store)
        return *plain, similar
