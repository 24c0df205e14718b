"""The settings that every row of the locality experiment chooses from, and their matrices.

All rows have the same variants of their inner kernel: full link types, main types or both; plain,
normalized, or a Gaussian of several widths. Each variant is combined with all regularization
strengths. Matrices of inner kernels are computed once.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, solve

from treelet import gram
from treelet.kernels import Kernel, Linear, Locality, On
from treelet.learn import RLS, RankRLS
from treelet.structures import Table
from treelet.tasks import ParseLists

Matrix = NDArray[np.float64]
Wrap = tuple[str, bool, float | None]
"""Types of links, whether normalized, and the width of the Gaussian."""

TYPES = ("full", "main", "both")
WIDTHS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Widths of Gaussians, as multiples of the median distance between parses: what is narrow for one kernel is not for another."""
ALPHAS = tuple(2.0**power for power in range(-21, 4, 3))
"""Strengths of regularization, as multiples of the mean of the matrix's diagonal."""
AS_GOOD = 0.001
"""Of strengths that are so near to the best one, the greatest is taken: below some strength, all are alike."""
REPEATS = 2
GRAMS = "n-grams"
POSITION, EXACT, COUNT = "position", "exact", "count"
WINDOWS, THETAS = (3, 5, 7), (0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Inner:
    """The inner kernel of the variants: a locality kernel, or n-grams of links."""

    match: str
    window: int = 1
    theta: float = 0.5

    def columns(self) -> tuple[Kernel, Kernel]:
        """The kernel on parses with full types of links, and with main ones."""
        if self.match == GRAMS:
            return On("grams", Linear()), On("main grams", Linear())
        kernel = Locality(self.window, self.theta, self.match)
        return On("parse", kernel), On("main", kernel)


COUNTS = Inner(COUNT)


@dataclass(frozen=True)
class Block:
    """Kernel values of some examples with others, and of each with itself."""

    values: Matrix
    rows: Matrix
    columns: Matrix

    @classmethod
    def of(cls, kernel: Kernel, table: Table, columns: Any = None, n_jobs: int = 1) -> Block:
        """The matrix of a kernel: of all rows of a table with themselves, or with some of them."""
        if columns is None:
            values = gram(kernel, table, n_jobs=n_jobs)
            return cls(values, values.diagonal().copy(), values.diagonal().copy())
        own = np.asarray(kernel.diag(table))
        return cls(gram(kernel, table, table[columns], n_jobs=n_jobs), own, own[columns])

    def __add__(self, other: Block) -> Block:
        return Block(self.values + other.values, self.rows + other.rows, self.columns + other.columns)

    def times(self, factor: float) -> Block:
        return Block(self.values * factor, self.rows * factor, self.columns * factor)

    def normalized(self) -> Block:
        values = self.values / np.sqrt(self.rows)[:, None]
        values /= np.sqrt(self.columns)
        return Block(values, np.ones_like(self.rows), np.ones_like(self.columns))

    def gaussian(self, sigma: float) -> Block:
        values = self.values * (2 / sigma**2)
        values -= self.rows[:, None] / sigma**2
        values -= self.columns / sigma**2
        return Block(np.exp(values, out=values), np.ones_like(self.rows), np.ones_like(self.columns))

    def spread(self) -> float:
        """The median distance of examples."""
        squares = self.rows[:, None] - 2 * self.values + self.columns
        return float(np.sqrt(np.median(squares)))


@dataclass(frozen=True)
class Setting:
    """A wrap around an inner kernel; `width` is that of the Gaussian as a multiple of the median distance, `sigma` its own."""

    inner: Inner
    types: str
    normalised: bool
    width: float | None = None
    sigma: float | None = None

    def wrap(self) -> Wrap:
        return self.types, self.normalised, self.width

    def kernel(self) -> Kernel:
        """As a kernel of the library, on the columns of `tabled`."""
        parts = self.inner.columns()
        ready = [part.normalized() if self.normalised else part for part in parts]
        kernel: Kernel = {"full": ready[0], "main": ready[1], "both": 0.5 * ready[0] + 0.5 * ready[1]}[self.types]
        return kernel if self.sigma is None else kernel.gaussian(self.sigma)

    def block(self, full: Block, main: Block) -> Block:
        """Its matrix, from those of the inner kernel."""
        chosen = {"full": [full], "main": [main], "both": [full, main]}[self.types]
        ready = [one.normalized() if self.normalised else one for one in chosen]
        base = ready[0] if len(ready) == 1 else (ready[0] + ready[1]).times(0.5)
        return base if self.sigma is None else base.gaussian(self.sigma)

    def described(self) -> dict[str, Any]:
        found = asdict(self) | asdict(self.inner)
        del found["inner"]
        if self.inner.match != POSITION:
            del found["theta"]
        return found | {"kernel": repr(self.kernel())}


def wraps(
    inner: Inner, full: Block, main: Block, quick: bool, only: Collection[Wrap] = ()
) -> Iterator[tuple[Setting, Block]]:
    """All wraps of an inner kernel, or some only, with their matrices."""
    for types in TYPES:
        for normalized in (False, True):
            widths = (None, *(WIDTHS[1:3] if quick else WIDTHS))
            wanted = [width for width in widths if not only or (types, normalized, width) in only]
            if not wanted:
                continue
            plain = Setting(inner, types, normalized)
            base = plain.block(full, main)
            median = base.spread()
            for width in wanted:
                sigma = None if width is None else float(f"{width * median:.3g}")
                yield replace(plain, width=width, sigma=sigma), base if sigma is None else base.gaussian(sigma)


def inners(quick: bool) -> dict[str, list[Inner]]:
    """The inner kernels of each form, the paper's values first."""
    windows = WINDOWS[:1] if quick else WINDOWS
    thetas = (0.5,) if quick else (0.5, *(theta for theta in THETAS if theta != 0.5))
    found = {POSITION: [Inner(POSITION, window, theta) for window in windows for theta in thetas]}
    return found | {match: [Inner(match, window) for window in windows] for match in (EXACT, COUNT)}


# --- choosing -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """A setting in cross-validation.

    Attributes
    ----------
    setting : Setting or None
        None for kernels that have no grid.
    by_sentence : ndarray of shape (strengths, measures of goodness, sentences)
        tau_b, mean over deals of sentences to folds.
    scale : float
        What strengths are multiples of: the mean of the diagonal.
    """

    setting: Setting | None
    by_sentence: Matrix
    scale: float

    @cached_property
    def taus(self) -> Matrix:
        """The means over sentences."""
        return np.asarray(np.nanmean(self.by_sentence, axis=2))

    def best(self, measure: int = 0) -> float:
        return float(self.taus[self._place(measure), measure])

    def sentences(self, measure: int = 0) -> Matrix:
        """tau_b of each sentence with the best strength."""
        return np.asarray(self.by_sentence[self._place(measure), measure])

    def share(self, measure: int = 0) -> float:
        """The best strength, as a multiple of the mean of the diagonal."""
        return ALPHAS[self._place(measure)]

    def alpha(self, measure: int = 0) -> float:
        return self.share(measure) * self.scale

    def _place(self, measure: int) -> int:
        taus = self.taus[:, measure]
        return int(np.flatnonzero(taus >= taus.max() - AS_GOOD)[-1])


class Chooser:
    """Cross-validation over sentences that are never tested on; `lists` holds the same parses once for each measure."""

    def __init__(self, lists: Sequence[ParseLists], folds: int, seed: int, n_jobs: int = 1) -> None:
        self.lists, self.n_jobs = lists, n_jobs
        self.goodness = np.stack([one.goodness for one in lists], axis=1)
        rng = np.random.default_rng(seed)
        self.deals = [(rng.permutation(len(lists[0])) % folds)[lists[0].qid] for _ in range(REPEATS)]

    def trial(self, setting: Setting | None, block: Block, ranks: bool = False) -> Trial:
        """All strengths with one matrix; with `ranks` RankRLS, which learns the first measure only."""
        strengths = block.rows.mean() * np.array(ALPHAS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # strengths near rounding, tiny negative eigenvalues
            if not ranks:
                model: RLS | RankRLS = RLS("precomputed").fit(block.values, self.goodness)
            else:
                model = RankRLS("precomputed").fit(block.values, self.goodness[:, 0], qid=self.lists[0].qid)
            found = np.stack([model.held_out(deal, strengths) for deal in self.deals])
        found = found.reshape(*found.shape[:3], -1)
        taus = [[[self.lists[k].tau(scores[:, k]) for k in range(found.shape[3])] for scores in deal] for deal in found]
        return Trial(setting, np.asarray(np.mean(taus, axis=0)), float(block.rows.mean()))

    def search(self, family: Sequence[Inner], table: Table, quick: bool, keep: int = 3) -> list[Trial]:
        """All wraps around the first inner kernel; then around the others those that were best, by the first measure or by any."""
        found: list[Trial] = []
        best: set[Wrap] = set()
        for inner in family:
            full, main = (Block.of(kernel, table, n_jobs=self.n_jobs) for kernel in inner.columns())
            new = [(s.wrap(), self.trial(s, block)) for s, block in wraps(inner, full, main, quick, best)]
            found += [trial for _, trial in new]
            if not best:
                ranked = sorted(new, key=lambda one: one[1].best())
                best = {wrap for wrap, _ in ranked[-keep:]}
                for measure in range(1, len(self.lists)):
                    best.add(new[int(np.argmax([trial.best(measure) for _, trial in new]))][0])
        return found


def coefficients(K: Matrix, y: Matrix, alpha: float, qid: NDArray[Any] | None = None) -> Matrix:
    """Of the training examples in the function that RLS learns (by one system of equations, if the matrix allows it), or RankRLS."""
    if qid is None:
        regularized = K.copy()
        regularized.flat[:: len(K) + 1] += alpha
        try:
            return np.asarray(solve(regularized, y, assume_a="pos", overwrite_a=True))
        except LinAlgError:
            model: RLS | RankRLS = RLS("precomputed", alpha=alpha).fit(K, y)
    else:
        model = RankRLS("precomputed", alpha=alpha).fit(K, y, qid=qid)
    found = np.zeros(len(K))
    found[model.support_] = model.dual_coef_[0]
    return found


def edges(chosen: Trial, tried: Sequence[Trial], measure: int = 0) -> list[str]:
    """Return the parameters whose chosen value is the smallest or largest that was tried.

    A window of 3 is no edge: a smaller one makes the kernel that of the counts. Nor is the smallest θ, where only equal
    places count, as with any smaller one.
    """
    settings = [trial.setting for trial in tried if trial.setting is not None]
    setting = chosen.setting
    values: dict[str, tuple[float, list[float]]] = {"λ": (chosen.share(measure), list(ALPHAS))}
    if setting is not None:
        if setting.width is not None:
            values["σ"] = (setting.width, [s.width for s in settings if s.width is not None])
        values["window"] = (setting.inner.window, [0, *(s.inner.window for s in settings)])
        values["θ"] = (setting.inner.theta, [0, *(s.inner.theta for s in settings)])
    found = []
    for name, (value, seen) in values.items():
        if len({*seen} - {0}) > 1 and value in (min(seen), max(seen)):
            found.append(f"{name} = {value:g}")
    return found
