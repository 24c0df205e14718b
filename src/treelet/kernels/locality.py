"""Kernels between sequences of features: windows around equal features, and subsequences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from treelet import _core
from treelet.checks import (
    LEAST,
    MOST,
    check_integer,
    check_number,
    check_one_of,
    check_tunable,
    is_integer,
    is_number,
    some_of,
    wrong,
)
from treelet.cuts.features import as_sequencebank
from treelet.errors import ParameterError
from treelet.kernels.pairwise import Matrix
from treelet.kernels.parameters import DECAYS, Bounds
from treelet.kernels.store import StoreKernel
from treelet.structures.sequence import SequenceBank

_MATCHES = ("position", "exact", "count")


class _SequenceKernel(StoreKernel):
    """Base class of kernels between feature sequences, including those of dependency parses."""

    bank = SequenceBank

    def coerce(self, X: Any) -> SequenceBank:
        return as_sequencebank(X)


class Locality(_SequenceKernel):
    r"""Locality-convolution kernel (LC): compares equal features and the windows around them.

    Examples with several types of sequences, such as parses, are compared type by type, and the
    values are added.

    Parameters
    ----------
    window : int or dict of str to int, default 3
        Window size in positions, at least 1. An even size acts as the next odd size. A dict gives
        the size per type and must name every type of the examples.
    theta : float, default 0.5
        Distance, in [0, inf), up to which positions count as near. 0 requires equal positions. Used
        only with ``match="position"``.
    match : {"position", "exact", "count"}, default "position"
        How the pairs of equal features in two windows are combined; see Notes. With a window of 1,
        each pair of equal features contributes 2, 1 and 1, respectively.
    weights : dict of str to float, optional
        Factors per type. A type without an entry has the factor 1, and a factor of 0 excludes a type.

    Notes
    -----
    The kernel of Tsivtsivadze et al. (2006) is

    .. math:: K(f, g) = \sum_{i, k:\; f_i = g_k} \kappa(i, k)

    where :math:`\kappa` considers the pairs of equal features :math:`f_m = g_l` in the two windows
    around `i` and `k`. The distances :math:`|m - i|` and :math:`|l - k|` are at most half the
    window. With :math:`d = (m - i) - (l - k)`, the difference of the positions in the windows,
    :math:`\kappa` is

    - ``"position"``: :math:`\prod (1 + e^{-(d / \theta)^2})`, the kernel of the paper;
    - ``"exact"``: the number of pairs with :math:`d = 0`;
    - ``"count"``: the number of pairs.

    ``"exact"`` and ``"count"`` are positive semi-definite: both are products of counts of feature
    pairs in one window, with or without their distance. ``"position"`` is the exponential of
    :math:`\sum_{m, l} \log(1 + e^{-(d / \theta)^2}) [f_m = g_l]`. This kernel is positive
    semi-definite if the matrix of these logarithms over the positions of a window is. The property
    `is_certain` reports whether that holds, which is the case for all windows if `theta` is at
    most 1.

    For a larger `theta` the kernel can be indefinite. For example, the normalized matrix of all 128
    sequences of length 7 over two features, with a window of 7 and a `theta` of 3, has an eigenvalue
    of -2.8e-4 of the largest. On 1,000 real parses, the effect is tiny: a window of 9 with a `theta`
    of 5 had -9e-11 of the largest, and no setting of 27 had negative eigenvalues after ``gaussian``.
    `RLS` and `RankRLS` leave out such directions with a warning. `Subsequence` is always positive
    semi-definite.

    Examples may have any form that `SequenceBank` accepts, or be dependency parses, also those of
    spaCy, stanza and conllu. Computation time grows with the number of pairs of distinct windows that share their middle and one more
    feature. All other pairs are covered by a product of counts. Values of ``"position"`` grow
    exponentially with the number of equal features in a window.

    Examples
    --------
    >>> from treelet import Locality
    >>> Locality(window=1)([["a", "b", "a"], ["a", "c"]])
    array([[10.,  4.],
           [ 4.,  4.]])
    >>> Locality(window=3, match="count")([["a", "b"], ["b", "a"]])
    array([[4., 4.],
           [4., 4.]])
    """

    _algorithm = _core.LocalityColumns
    _on_device = "LocalityColumns"
    _always_shown = ("window",)
    theta: float = 0.5  # type: ignore[assignment]  # the parameter; other kernels keep tunable parameters here

    def __init__(
        self,
        window: int | Mapping[str, int] = 3,
        theta: float = 0.5,
        match: str = "position",
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.window = window
        self.theta = theta
        self.match = match
        self.weights = weights
        self.validate()

    def validate(self) -> None:
        check_number(self, "theta", 0, math.inf, low_included=True, of_kernel=True)
        check_one_of("match", self.match, _MATCHES, of="Locality")
        windows = self.window.values() if isinstance(self.window, Mapping) else [self.window]
        for window in windows:
            if not is_integer(window, 1):
                raise wrong(
                    "window",
                    "an int of at least 1, or a dict from feature types to such ints",
                    self.window,
                    of="Locality",
                )
        for factor in [] if self.weights is None else self._factors().values():
            if not is_number(factor, 0):
                raise wrong(
                    "weights", "None or a dict from feature types to numbers of at least 0", self.weights, of="Locality"
                )
            if factor != 0 and not LEAST <= factor <= MOST:
                wanted = f"None or a dict from feature types to numbers that are 0 or between {LEAST:g} and {MOST:g}"
                raise wrong("weights", wanted, self.weights, of="Locality")

    @property
    def bounds(self) -> Matrix:
        # A Gaussian process reads the bounds of a kernel without tunable parameters only if the kernel is part of a
        # scikit-learn kernel. That kernel would then tune our parameter, because its name is theta.
        raise ParameterError(
            "Locality cannot be combined directly with a kernel of scikit-learn, because its parameter 'theta' has the "
            f"name under which scikit-learn keeps tunable parameters. Multiply it by a number first: 1.0 * {self!r}."
        )

    def _factors(self) -> Mapping[str, float]:
        if self.weights is None:
            return {}
        if not isinstance(self.weights, Mapping):
            raise wrong("weights", "None or a dict of numbers by type", self.weights, of="Locality")
        return self.weights

    def _rough_more(self, store: Any) -> int:
        windows = self.window.values() if isinstance(self.window, Mapping) else [self.window]
        places: int = store.child_count
        return 128 * min(max(windows, default=1) // 16 * 16, places) * places

    def _less_memory(self) -> str:
        return ", a smaller window"

    def _native_parameters(self, store: _core.Store) -> tuple[Any, ...]:
        labels = np.unique(store.label[store.height == 1]).tolist()
        texts, factors = store.labels, self._factors()
        types = []
        for label in labels:
            name = texts[label]
            if isinstance(self.window, Mapping) and name not in self.window:
                raise ParameterError(
                    f"The 'window' parameter of Locality has no entry for the type {name!r} of the examples. "
                    f"There are entries for {some_of(self.window) or 'no type'}. Add an entry for every type."
                )
            window = self.window[name] if isinstance(self.window, Mapping) else self.window
            types.append((label, min(int(window) // 2, 2**30), float(factors.get(name, 1))))
        return types, _MATCHES.index(self.match), float(self.theta)

    @property
    def is_certain(self) -> bool:
        """Whether the kernel is known to be positive semi-definite for all possible examples."""
        if self.match != "position":
            return True
        windows = self.window.values() if isinstance(self.window, Mapping) else [self.window]
        size = min(2 * (max(windows, default=1) // 2) + 1, 2001)
        apart = np.arange(size)
        with np.errstate(divide="ignore", over="ignore"):
            near = np.exp(-((apart / self.theta) ** 2)) if self.theta > 0 else (apart == 0).astype(float)
        logs = np.log1p(near)
        if (
            logs[0] >= 2 * logs[1:].sum() and logs[-1] < 1e-300
        ):  # the matrix is diagonally dominant for windows of any size
            return True
        if max(windows, default=1) > size:
            return False
        return bool(np.linalg.eigvalsh(logs[np.abs(apart[:, None] - apart)])[0] >= -1e-12)


class Subsequence(_SequenceKernel):
    r"""Gap-weighted subsequence kernel: sums over the subsequences that two feature sequences share.

    Subsequences may have gaps. Examples with several types of sequences are compared type by type,
    and the values are added.

    Parameters
    ----------
    lam : float, default 0.5
        Decay per position that a subsequence spans, in (0, 1], in each of the two sequences.
        Smaller values reduce the weight of gaps; 1 disables decay.
    length : int, default 2
        Number of features per subsequence, at least 1. To use several lengths, add kernels:
        ``Subsequence(length=1) + Subsequence(length=2)``.
    lam_bounds : pair of numbers or "fixed", default (0.001, 1)
        Range in which a Gaussian process may choose `lam`. ``"fixed"`` keeps `lam` as it is.

    Notes
    -----
    The kernel of Lodhi et al. (2002) is

    .. math:: K(s, t) = \sum_{|u| = n} \; \sum_{i:\, s[i] = u} \; \sum_{j:\, t[j] = u} \lambda^{l(i) + l(j)}

    where `u` runs over the subsequences of `n` features, `i` and `j` are their positions, and `l`
    is the number of positions they span, including gaps. For each pair of distinct sequences that
    share `length` features, computation time grows with the product of the sequence lengths,
    multiplied by `length`.

    Examples
    --------
    The subsequences are "ca", "ct", "at" and "ca", "cr", "ar":

    >>> from treelet import Subsequence
    >>> Subsequence(lam=0.5, length=2)([list("cat"), list("car")])
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    """

    _algorithm = _core.SubsequenceColumns
    _on_device = "SubsequenceColumns"
    _tunable = ("lam",)
    _always_shown = ("lam", "length")

    def __init__(self, lam: float = 0.5, length: int = 2, *, lam_bounds: Bounds = DECAYS) -> None:
        self.lam = lam
        self.length = length
        self.lam_bounds = lam_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "lam", 0, 1)
        check_integer("length", self.length, of="Subsequence")

    def _native_parameters(self, store: _core.Store) -> tuple[Any, ...]:
        return float(self.lam), min(int(self.length), 2**31 - 1)

    def _rough_more(self, store: Any) -> int:
        places: int = store.child_count
        return 16 * min(int(self.length), places) * (places + 1)

    def _less_memory(self) -> str:
        return ", a smaller length"
