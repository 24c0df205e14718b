"""The kernels of `locality`, and how their settings are chosen.

All systems have the same variants of their inner kernel: full link types, main types or both; plain, normalized, or a
Gaussian of several widths. Each variant is combined with all regularization strengths. Matrices of inner kernels are
computed once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, solve

from treelet import gram
from treelet.kernels import Kernel, Linear, Locality, On
from treelet.learn import RLS, RankRLS
from treelet.structures import Table
from treelet.tasks import ParseLists

Floats = NDArray[np.float64]

POSITION, EXACT, COUNT, GRAMS = "position", "exact", "count", "n-grams"  # forms of matching
FEATURES = ("bigram", "word_tag", "link_type", "word_link_type", "link_length", "link_length_type", "link_bigram")
SELECTION_REPEATS = 2
WINDOWS, THETAS = (3, 5, 7), (0.25, 0.5, 1.0, 2.0)
WIDTHS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # of Gaussians, as multiples of the median distance between parses
ALPHAS = tuple(2.0**power for power in range(-21, 4, 3))  # regularization, as multiples of the mean of the diagonal
TOLERANCE = 0.001  # among strengths this near to the best, the largest is chosen: below some strength, all are alike


# --- Kernels --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inner:
    """The inner kernel of several variants: a locality kernel, or n-grams of links."""

    match: str
    window: int = 1
    theta: float = 0.5

    def columns(self) -> tuple[Kernel, Kernel]:
        """Return the kernel on parses with full link types, and with main types."""
        if self.match == GRAMS:
            return On("grams", Linear()), On("main grams", Linear())
        kernel = Locality(self.window, self.theta, self.match)
        return On("parse", kernel), On("main", kernel)


COUNTS = Inner(COUNT)  # with a window of 1, the kernel counts common features


def locality_kernels(quick: bool) -> dict[str, list[Inner]]:
    """Return the inner kernels by form of matching, with the values of the paper first."""
    windows = WINDOWS[:1] if quick else WINDOWS
    thetas = (0.5,) if quick else (0.5, *(theta for theta in THETAS if theta != 0.5))
    kernels = {POSITION: [Inner(POSITION, window, theta) for window in windows for theta in thetas]}
    return kernels | {match: [Inner(match, window) for window in windows] for match in (EXACT, COUNT)}


@dataclass(frozen=True)
class Block:
    """Kernel values of some examples with others (rows x columns), and of each with itself."""

    values: Floats
    rows: Floats
    columns: Floats

    @classmethod
    def of(cls, kernel: Kernel, table: Table, columns: Any = None, n_jobs: int = 1) -> Block:
        """Compute the matrix of all rows of a table, or of all rows with some of them."""
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

    def median_distance(self) -> float:
        squares = self.rows[:, None] - 2 * self.values + self.columns
        return float(np.sqrt(np.median(squares)))


Wrap = tuple[str, bool, float | None]  # link types, whether normalized, and the width of the Gaussian


@dataclass(frozen=True)
class Setting:
    """A variant of an inner kernel. `width` is that of the Gaussian as a multiple of the median distance, `sigma` its σ."""

    inner: Inner
    types: str  # "full", "main" or "both"
    normalised: bool
    width: float | None = None
    sigma: float | None = None

    @property
    def wrap(self) -> Wrap:
        return self.types, self.normalised, self.width

    def kernel(self) -> Kernel:
        """Return the kernel, on the columns of `to_table`."""
        full, main = (each.normalized() if self.normalised else each for each in self.inner.columns())
        kernel: Kernel = {"full": full, "main": main, "both": 0.5 * full + 0.5 * main}[self.types]
        return kernel if self.sigma is None else kernel.gaussian(self.sigma)

    def block(self, full: Block, main: Block) -> Block:
        """Return the matrix, from the matrices of the inner kernel."""
        parts = {"full": [full], "main": [main], "both": [full, main]}[self.types]
        parts = [part.normalized() if self.normalised else part for part in parts]
        block = parts[0] if len(parts) == 1 else (parts[0] + parts[1]).times(0.5)
        return block if self.sigma is None else block.gaussian(self.sigma)

    def compute(self, block: Callable[[Kernel], Block]) -> Block:
        """Return the matrix, with a function that computes a kernel."""
        full, main = self.inner.columns()
        return self.block(block(full), block(main))

    def described(self) -> dict[str, Any]:
        fields = asdict(self) | asdict(self.inner)
        del fields["inner"]
        if self.inner.match != POSITION:
            del fields["theta"]
        return fields | {"kernel": repr(self.kernel())}


def variants_of(
    inner: Inner, full: Block, main: Block, quick: bool, only: Collection[Wrap] = ()
) -> Iterator[tuple[Setting, Block]]:
    """Yield all variants of an inner kernel, or only some, with their matrices."""
    for types, normalized in product(("full", "main", "both"), (False, True)):
        widths = (None, *(WIDTHS[1:3] if quick else WIDTHS))
        wanted = [width for width in widths if not only or (types, normalized, width) in only]
        if not wanted:
            continue
        plain = Setting(inner, types, normalized)
        block = plain.block(full, main)
        median = block.median_distance()
        for width in wanted:
            sigma = None if width is None else float(f"{width * median:.3g}")
            yield replace(plain, width=width, sigma=sigma), block if sigma is None else block.gaussian(sigma)


def typewise(kernel: Kernel) -> Kernel:
    """Return the sum of a normalized kernel over the seven feature types.

    Without normalization, types with longer sequences would dominate.

    >>> print(repr(typewise(Locality(window=3)))[:65])
    On('bigram', Locality(window=3).normalized()) + On('word_tag', Lo
    """
    total: Kernel = On(FEATURES[0], kernel.normalized())
    for name in FEATURES[1:]:
        total = total + On(name, kernel.normalized())
    return total


# --- Settings, by cross-validation on the development sentences -----------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """A setting in cross-validation.

    Attributes
    ----------
    setting : Setting or None
        None for kernels without a grid.
    by_sentence : ndarray of shape (strengths, measures of goodness, sentences)
        τ_b, as mean over repeated cross-validations.
    scale : float
        Mean of the diagonal, of which strengths are multiples.
    """

    setting: Setting | None
    by_sentence: Floats
    scale: float

    @cached_property
    def taus(self) -> Floats:
        """The means over sentences."""
        return np.asarray(np.nanmean(self.by_sentence, axis=2))

    def best(self, measure: int = 0) -> float:
        return float(self.taus[self._best_strength(measure), measure])

    def sentences(self, measure: int = 0) -> Floats:
        """Return τ_b of each sentence with the best strength."""
        return np.asarray(self.by_sentence[self._best_strength(measure), measure])

    def share(self, measure: int = 0) -> float:
        """Return the best strength, as a multiple of the mean of the diagonal."""
        return ALPHAS[self._best_strength(measure)]

    def alpha(self, measure: int = 0) -> float:
        return self.share(measure) * self.scale

    def described(self) -> dict[str, Any]:
        return self.setting.described() if self.setting else {}

    def _best_strength(self, measure: int) -> int:
        return largest_best(self.taus[:, measure])


def largest_best(taus: Floats) -> int:
    """Return the last of the strengths that are near to the best."""
    return int(np.flatnonzero(taus >= taus.max() - TOLERANCE)[-1])


class Selector:
    """Repeated cross-validation over the development sentences. `lists` has the same parses once for each measure."""

    def __init__(
        self,
        lists: Sequence[ParseLists],
        table: Table,
        folds: int,
        seed: int = 0,
        quick: bool = False,
        n_jobs: int = 1,
    ) -> None:
        self.lists, self.table, self.quick, self.n_jobs = lists, table, quick, n_jobs
        self.goodness = np.stack([each.goodness for each in lists], axis=1)
        rng = np.random.default_rng(seed)
        self.folds = [(rng.permutation(len(lists[0])) % folds)[lists[0].qid] for _ in range(SELECTION_REPEATS)]

    def block(self, kernel: Kernel) -> Block:
        return Block.of(kernel, self.table, n_jobs=self.n_jobs)

    def trial(self, setting: Setting | None, block: Block, *, ranks: bool = False) -> Trial:
        """Try all strengths with one matrix. With `ranks`, use RankRLS, and the first measure only."""
        strengths = block.rows.mean() * np.array(ALPHAS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # strengths near rounding, tiny negative eigenvalues
            if not ranks:
                model: RLS | RankRLS = RLS("precomputed").fit(block.values, self.goodness)
            else:
                model = RankRLS("precomputed").fit(block.values, self.goodness[:, 0], qid=self.lists[0].qid)
            scores = np.stack([model.held_out(folds, strengths) for folds in self.folds])
        scores = scores.reshape(*scores.shape[:3], -1)  # repeats x strengths x parses x measures
        measures = range(scores.shape[3])
        taus = [[[self.lists[k].tau(values[:, k]) for k in measures] for values in repeat] for repeat in scores]
        return Trial(setting, np.asarray(np.mean(taus, axis=0)), float(block.rows.mean()))

    def search(self, inners: Sequence[Inner], keep: int = 3) -> list[Trial]:
        """Try all variants of the first inner kernel. Of the others, try the best variants by the first or any measure."""
        trials: list[Trial] = []
        best: set[Wrap] = set()
        for inner in inners:
            full, main = map(self.block, inner.columns())
            new = [
                (setting.wrap, self.trial(setting, block))
                for setting, block in variants_of(inner, full, main, self.quick, best)
            ]
            trials += [trial for _, trial in new]
            if not best:
                best = {wrap for wrap, _ in sorted(new, key=lambda each: each[1].best())[-keep:]}
                for measure in range(1, len(self.lists)):
                    best.add(new[int(np.argmax([trial.best(measure) for _, trial in new]))][0])
        return trials


def best_setting(trials: Sequence[Trial], measure: int = 0) -> tuple[Trial, Setting]:
    """Return the best trial by a measure, and its setting."""
    best = max(trials, key=lambda trial: trial.best(measure))
    if best.setting is None:
        raise ValueError("This kernel has no grid of settings.")
    return best, best.setting


def describe(name: str, trials: Sequence[Trial], tried: int | None = None, **more: Any) -> dict[str, Any]:
    """Return the chosen setting of a system."""
    best = max(trials, key=Trial.best)
    row = {"name": name, "cross_validation": best.best(), "alpha": best.alpha(), "share": best.share()}
    row |= {"tried": tried or len(trials), "strengths": len(best.taus), "edges": edges(best, trials)}
    return row | best.described() | more


def edges(chosen: Trial, trials: Sequence[Trial], measure: int = 0) -> list[str]:
    """Return the parameters whose chosen value is the smallest or largest that was tried.

    A window of 3 is not an edge, because a smaller one makes the kernel that of the counts. Neither is the smallest θ, at
    which only equal positions count, as with any smaller one.
    """
    settings = [trial.setting for trial in trials if trial.setting is not None]
    setting = chosen.setting
    values: dict[str, tuple[float, list[float]]] = {"λ": (chosen.share(measure), list(ALPHAS))}
    if setting is not None:
        if setting.width is not None:
            values["σ"] = (setting.width, [each.width for each in settings if each.width is not None])
        values["window"] = (setting.inner.window, [0, *(each.inner.window for each in settings)])
        values["θ"] = (setting.inner.theta, [0, *(each.inner.theta for each in settings)])
    return [
        f"{name} = {value:g}"
        for name, (value, tried) in values.items()
        if len({*tried} - {0}) > 1 and value in (min(tried), max(tried))
    ]


def coefficients(K: Floats, y: Floats, alpha: float, qid: NDArray[Any] | None = None) -> Floats:
    """Return the dual coefficients of RLS, by one system of equations if K is positive definite, or of RankRLS."""
    if qid is None:
        regularized = K.copy()
        regularized.flat[:: len(K) + 1] += alpha
        try:
            return np.asarray(solve(regularized, y, assume_a="pos", overwrite_a=True))
        except LinAlgError:
            model: RLS | RankRLS = RLS("precomputed", alpha=alpha).fit(K, y)
    else:
        model = RankRLS("precomputed", alpha=alpha).fit(K, y, qid=qid)
    dual = np.zeros(len(K))
    dual[model.support_] = model.dual_coef_[0]
    return dual
