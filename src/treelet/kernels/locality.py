"""Kernels between sequences of features: in windows around what they share, or by subsequences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from treelet import _core
from treelet.checks import (
    LEAST,
    MOST,
    check_integer,
    check_number,
    check_tunable,
    in_range,
    is_integer,
    is_number,
    wrong,
)
from treelet.cuts.link_features import as_sequencebank
from treelet.errors import ParameterError
from treelet.kernels.parts import Ids, KeyedParts, StoreNodes
from treelet.kernels.store import StoreKernel
from treelet.kernels.tuning import DECAYS, Bounds
from treelet.structures.sequence_bank import SequenceBank

MATCHES = ("position", "exact", "count")
MOST_PLACES = 1 << 22  # in windows, up to which they are looked at one by one


class SequenceKernel(StoreKernel):
    """A kernel over sequences of features; dependency parses are compared by theirs."""

    bank = SequenceBank

    def coerce(self, X: Any) -> SequenceBank:
        return as_sequencebank(X)

    @staticmethod
    def _sequences(store: Any, nodes: Ids) -> StoreNodes:
        """Those of the nodes that are over features, with these; of others no children."""
        of = StoreNodes.of(store, nodes)
        word = np.diff(store.child_start)[of.child] == 0
        return of._replace(owner=of.owner[word], position=of.position[word], child=of.child[word])


class Locality(SequenceKernel):
    r"""The locality-convolution kernel (LC) of Tsivtsivadze et al. (2006): equal features, and what is around them.

    .. math:: K(f, g) = \sum_{i, k:\; f_i = g_k} \kappa(i, k)

    where :math:`\kappa` looks at the pairs of equal features :math:`f_m = g_l` in the two windows around `i` and `k`, that is
    with :math:`|m - i|` and :math:`|l - k|` at most half the window, at their places in the windows,
    :math:`d = (m - i) - (l - k)`:

    - ``"position"``: :math:`\prod (1 + e^{-(d / \theta)^2})`, the paper's kernel;
    - ``"exact"``: how many have :math:`d = 0`;
    - ``"count"``: how many there are.

    Examples that hold several types of sequences, as parses do, are compared type by type, and the values are added.

    Parameters
    ----------
    window : int or dict of str to int
        Places in a window, at least 1: an even number gives the window of the next odd one. By type: a dict that names
        every type of the examples.
    theta : float
        How far apart places may be and still count as near; 0 asks for the same place. Only for ``"position"``. It is the
        paper's name; the attribute is called `reach`, since `theta` is what Gaussian processes tune, of every kernel.
    match : {"position", "exact", "count"}
        What is made of the pairs in a window. With a window of 1 they give 2, 1 and 1 for each pair of equal features.
    weights : dict of str to float, optional
        Factors of the types; what it does not name has the factor 1, and 0 leaves a type out.

    Notes
    -----
    ``"exact"`` and ``"count"`` are positive semi-definite: both are products of counts of pairs of features in one window (with
    their distance, or without). ``"position"`` is the exponential of
    :math:`\sum_{m, l} \log(1 + e^{-(d / \theta)^2}) [f_m = g_l]`, and so is positive semi-definite where the matrix of these logarithms,
    over the places of a window, is: `is_certain` says whether it is. It is for all windows where
    `theta` is 1 or less. Else it need not be: of 27 settings on 1,000 real parses, a window of 9 with a `theta` of 5 had eigenvalues
    below zero by more than rounding (-1.6e-10 of the largest), and none had after the Gaussian wrap. `RLS` and `RankRLS` leave such directions
    out, with a warning; `Subsequence` is positive semi-definite.

    Examples are whatever `SequenceBank` takes, or dependency parses. Costs the pairs of distinct windows that share their middle and one more feature;
    the rest is a product of counts. Values of ``"position"`` grow exponentially with the number of equal features in a window.

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
    _on_device = "locality.LocalityColumns"
    _always_shown = ("window",)
    _attributes: ClassVar[dict[str, str]] = {"theta": "reach"}

    def __init__(
        self,
        window: int | Mapping[str, int] = 3,
        theta: float = 0.5,
        match: str = "position",
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.window = window
        self.reach = theta
        self.match = match
        self.weights = weights
        self.validate()

    def validate(self) -> None:
        check_number(self, "theta", 0, math.inf, low_included=True, of_kernel=True)
        if self.match not in MATCHES:
            raise wrong("match", f"one of {', '.join(map(repr, MATCHES))}", self.match, of="Locality")
        windows = self.window.values() if isinstance(self.window, Mapping) else [self.window]
        for window in windows:
            if not is_integer(window, 1):
                raise wrong("window", "an int of at least 1, or a dict from types to such", self.window, of="Locality")
        for factor in [] if self.weights is None else self._factors().values():
            if not is_number(factor, 0):
                raise wrong(
                    "weights", "None or a dict from types to numbers of at least 0", self.weights, of="Locality"
                )
            if not in_range(factor):
                wanted = f"None or a dict from types to numbers that are 0, or from {LEAST:g} to {MOST:g}"
                raise wrong("weights", wanted, self.weights, of="Locality")

    def _factors(self) -> Mapping[str, float]:
        if self.weights is None:
            return {}
        if not isinstance(self.weights, Mapping):
            raise wrong("weights", "None or a dict from types to numbers", self.weights, of="Locality")
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
                    f"the examples have sequences of the type {name!r}, for which 'window' of Locality has no entry; it has "
                    f"{', '.join(map(repr, self.window)) or 'none'}. Name every type."
                )
            window = self.window[name] if isinstance(self.window, Mapping) else self.window
            types.append((label, min(int(window) // 2, 2**30), float(factors.get(name, 1))))
        return types, MATCHES.index(self.match), float(self.reach)

    def _parts(self, store: Any, nodes: Ids) -> KeyedParts:
        """Places with one feature; and of these, features in common in the two windows."""
        of, names = self._sequences(store, nodes), store.labels
        reach = np.full(len(names), 0 if isinstance(self.window, Mapping) else min(int(self.window) // 2, 2**30))
        for name, window in self.window.items() if isinstance(self.window, Mapping) else ():
            if name in names:
                reach[names.index(name)] = min(int(window) // 2, 2**30)
        own, count = reach[of.label[of.owner]], len(names)
        feature, length = store.label[of.child].astype(np.int64), of.arity[of.owner]
        middle = of.label[of.owner] * count + feature
        beside = np.minimum(of.position, own) + np.minimum(length - 1 - of.position, own)
        if beside.sum() > MOST_PLACES or count**3 > 2**62:  # as if all of a window were in common
            return KeyedParts.of(of.owner, middle, 1 + beside, 1 + beside)
        shifts = range(1, int(beside.max(initial=0)) + 1)
        kinds = [KeyedParts.of(of.owner, middle)]
        pairs = []
        for shift in shifts:
            left = np.flatnonzero((own >= shift) & (length - of.position > shift))
            pairs += [
                (of.owner[left], middle[a] * count + feature[b])
                for a, b in ((left, left + shift), (left + shift, left))
            ]
        if pairs:
            owner, key = (np.concatenate(column) for column in zip(*pairs, strict=True))
            kinds.append(KeyedParts.of(owner, key))
        return KeyedParts.together(*kinds)

    @property
    def is_certain(self) -> bool:
        """Whether the kernel is known to be positive semi-definite, whatever the examples."""
        if self.match != "position":
            return True
        windows = self.window.values() if isinstance(self.window, Mapping) else [self.window]
        size = min(2 * (max(windows, default=1) // 2) + 1, 2001)
        apart = np.arange(size)
        with np.errstate(divide="ignore", over="ignore"):
            near = np.exp(-((apart / self.reach) ** 2)) if self.reach > 0 else (apart == 0).astype(float)
        logs = np.log1p(near)
        if (
            logs[0] >= 2 * logs[1:].sum() and logs[-1] < 1e-300
        ):  # the diagonal outweighs all else, in windows of any size
            return True
        if max(windows, default=1) > size:
            return False
        return bool(np.linalg.eigvalsh(logs[np.abs(apart[:, None] - apart)])[0] >= -1e-12)


class Subsequence(SequenceKernel):
    r"""The gap-weighted subsequence kernel of Lodhi et al. (2002), between sequences of features.

    .. math:: K(s, t) = \sum_{|u| = n} \; \sum_{i:\, s[i] = u} \; \sum_{j:\, t[j] = u} \lambda^{l(i) + l(j)}

    over the subsequences `u` of `n` features and the places that they are at, with `l` how many places they span, gaps
    included. Types of sequences are compared each with its own, and added.

    Parameters
    ----------
    lam : float in (0, 1]
        Decay a place, on each side.
    length : int
        Features in a subsequence. For several lengths, add kernels: ``Subsequence(length=1) + Subsequence(length=2)``.
    lam_bounds : pair of numbers or "fixed"
        As for `Subtree`.

    Notes
    -----
    Costs the product of the lengths, times `length`, for each pair of distinct sequences that share `length` features.

    Examples
    --------
    >>> from treelet import Subsequence
    >>> Subsequence(lam=0.5, length=2)([list("cat"), list("car")])  # ca, ct, at; ca, cr, ar
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    """

    _algorithm = _core.SubsequenceColumns
    _on_device = "subsequence.SubsequenceColumns"
    _tunable = ("lam",)
    _always_shown = ("lam", "length")

    def __init__(self, lam: float = 0.5, length: int = 2, *, lam_bounds: Bounds = DECAYS) -> None:
        self.lam = lam
        self.length = length
        self.lam_bounds = lam_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "lam", 0, 1)
        length = self.length
        check_integer("length", length, of="Subsequence")

    def _native_parameters(self, store: _core.Store) -> tuple[Any, ...]:
        return float(self.lam), min(int(self.length), 2**31 - 1)

    def _rough_more(self, store: Any) -> int:
        places: int = store.child_count
        return 16 * min(int(self.length), places) * (places + 1)

    def _less_memory(self) -> str:
        return ", a smaller length"

    def _parts(self, store: Any, nodes: Ids) -> KeyedParts:
        """All places of one with all of the other, for each feature of a subsequence."""
        of = self._sequences(store, nodes)
        there = np.unique(of.owner)
        there = there[of.arity[there] >= self.length]
        return KeyedParts.of(there, of.label[there], of.arity[there] * float(self.length), of.arity[there])
