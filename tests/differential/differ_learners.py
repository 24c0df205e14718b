"""Every learner on fresh random problems, thousands of them: beside plain loops, dense systems, and the gap to the optimum.

Matrices of the slow side are those of the slow definitions, so that a decision is compared from the structures on. A case is a decision:
one model's value for one example.
"""

from __future__ import annotations

import warnings
from random import Random
from typing import Any, NamedTuple

import numpy as np
from differ import Batch, check
from differ_kernels import exact_values, made, shown
from differ_structures import Structures

import treelet as tl
from definitions import learning
from definitions.kernels import definition
from definitions.rounding import size
from treelet.kernels import Kernel
from treelet.learn import CompressedModel
from treelet.learn.ranking import TIE

KINDS = ["trees", "trees", "trees", "tagged", "sequences", "vectors", "rows", "bags of trees"]
SOLVED = 1e-9
"""Of what a dense system gives, in proportion to the sizes of the terms."""
DECISIONS = "decisions"


class Problem(NamedTuple):
    """Examples to learn from, examples to decide on, and their slow values with the former."""

    kernel: Kernel
    train: list[Any]
    test: list[Any]
    K: np.ndarray
    across: np.ndarray

    def tell(self, place: Any = None, *more: Any) -> str:
        parts = [f"kernel = {self.kernel!r}", f"train = [{', '.join(map(shown, self.train))}]"]
        return "\n  ".join([*parts, f"test = [{', '.join(map(shown, self.test))}]; at {place}", *map(repr, more)])


def certain(kernel: Any) -> bool:
    """Whether a kernel, and all that it is made of, is positive semi-definite whatever the examples."""
    if isinstance(kernel, tl.Smoothed) or (isinstance(kernel, tl.PartialTree) and kernel.terminal_factor > 1):
        return False
    if isinstance(kernel, tl.Locality) and not kernel.is_certain:
        return False
    return all(certain(part) for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel))


def problem(batch: Batch, n: int, m: int, positive: bool = True, tame: bool = True) -> Problem:
    """A problem of a random kind and kernel; `tame`: with values that are neither all nothing nor very large."""
    random = batch.random
    for _ in range(200):
        kind = random.choice(KINDS)
        kernel = made(random, kind, random.choice([0, 0, 1]))
        if tame and random.random() < 0.6:
            kernel = kernel.normalized()
        if positive and not certain(kernel):
            continue
        draw = Structures(random, 6)
        train, test = draw.examples(kind, n), draw.examples(kind, m)
        slow = definition(kernel)
        if tame and not all(1e-3 < slow(x, x) < 1e3 for x in train[:3]):
            continue
        K = np.array([[slow(a, b) for b in train[: i + 1]] + [0.0] * (n - i - 1) for i, a in enumerate(train)])
        K = K + np.tril(K, -1).T
        if tame and not (np.abs(K).max() < 1e4 and np.median(np.diag(K)) > 1e-3):
            continue
        batch.count(models=1, structures=n + m)
        return Problem(kernel, train, test, K, np.array([[slow(x, t) for t in train] for x in test]))
    raise AssertionError("no problem was found")


def spread(model: Any, n: int) -> np.ndarray:
    """Coefficients of all training examples, machines x examples."""
    full = np.zeros((len(model.dual_coef_), n))
    full[:, model.support_] = model.dual_coef_
    return full


def groups(random: Random, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Goodness with ties, and groups that are interleaved, of one candidate or several; something can be learned."""
    while True:
        qid = np.array([f"q{random.randrange(max(2, n // 3))}" for _ in range(n)])
        y = np.array([float(random.randint(0, 3)) for _ in range(n)])
        if sum(len(set(y[qid == q])) > 1 for q in set(qid)) >= 2:
            return y, qid


# --- models of given coefficients -----------------------------------------------------------------------------------


@check("CompressedModel", DECISIONS, "learners", "the sum over the support examples")
def compressed(batch: Batch) -> None:
    random = batch.random
    found = problem(batch, random.randint(1, 8), 10, positive=False, tame=False)
    outputs = random.randint(1, 3)
    numbers = [-2.0, -1.0, 0.0, 0.5, 1e-3, 100.0]
    alpha = np.array([[random.choice([*numbers, random.gauss(0, 1)]) for _ in found.train] for _ in range(outputs)])
    rounding = size(found.kernel)
    scale = np.array([[rounding(x, t) for t in found.train] for x in found.test]) @ np.abs(alpha).T
    scores = CompressedModel.of(found.kernel, found.train, alpha).score(found.test)
    tell = lambda place: found.tell(place, alpha.tolist())
    # A graph is one sum over parts of all support examples: errors are in proportion to the largest terms of the row.
    whole = np.broadcast_to(scale.max(axis=1, keepdims=True), scale.shape)
    batch.compare("CompressedModel", scores, found.across @ alpha.T, whole, SOLVED, tell=tell)


# --- least squares --------------------------------------------------------------------------------------------------


def strength(random: Random, K: np.ndarray) -> float:
    return float(10 ** random.uniform(-2, 2) * max(1e-3, np.diag(K).mean()))


@check("RLS", DECISIONS, "learners", "`numpy.linalg.solve`; refits, one at a time")
def rls(batch: Batch) -> None:
    random = batch.random
    found = problem(batch, random.randint(3, 8), 40)
    K, n = found.K, len(found.train)
    alpha, outputs = strength(random, K), random.choice([1, 1, 2])
    y = batch.numpy.normal(size=(n, outputs))
    qid = np.array([random.randrange(4) for _ in range(n)])
    given = y[:, 0] if outputs == 1 else y
    model = tl.RLS(found.kernel, alpha).fit(found.train, given, qid)
    a = learning.least_squares(K, y, alpha)
    scale = np.abs(found.across) @ np.abs(a) + np.abs(y).max()
    tell = lambda place: found.tell(place, alpha, y.tolist(), qid.tolist())
    batch.compare(
        "RLS", model.predict(found.test).reshape(len(found.test), -1), found.across @ a, scale, SOLVED, tell=tell
    )
    own = np.abs(y).max() * n
    for what, held, predictions in (
        ("RLS, one left out", np.arange(n), model.loo_predictions_),
        ("RLS, a group left out", qid, model.leave_group_out_predictions_),
    ):
        wanted = np.zeros_like(y)
        for group in set(held.tolist()):
            out, rest = np.flatnonzero(held == group), np.flatnonzero(held != group)
            if len(rest):
                wanted[out] = K[np.ix_(out, rest)] @ learning.least_squares(K[np.ix_(rest, rest)], y[rest], alpha)
        batch.compare(what, predictions.reshape(n, -1), wanted, own, SOLVED, aside=True, tell=tell)
    pair = np.array(random.sample(range(n), 2))
    rest = np.setdiff1d(np.arange(n), pair)
    wanted = K[np.ix_(pair, rest)] @ learning.least_squares(K[np.ix_(rest, rest)], y[rest], alpha)
    left = np.stack(model.leave_pair_out(pair[:1], pair[1:])).reshape(2, -1)
    batch.compare("RLS, a pair left out", left, wanted, own, SOLVED, aside=True, tell=tell)
    by_products = tl.RLS(found.kernel, alpha, solver="cg", tol=1e-12).fit(found.train, given)
    values = by_products.predict(found.test).reshape(len(found.test), -1)
    batch.compare("RLS by conjugate gradients", values, found.across @ a, scale, 1e-7, tell=tell)


@check("RankRLS", DECISIONS, "learners", "`numpy.linalg.solve`; refits, one at a time")
def rank_rls(batch: Batch) -> None:
    random = batch.random
    found = problem(batch, random.randint(5, 8), 40)
    K, n = found.K, len(found.train)
    y, qid = groups(random, n)
    alpha, weights = strength(random, K), random.choice(["pairs", "groups"])
    model = tl.RankRLS(found.kernel, alpha, weights=weights).fit(found.train, y, qid)
    every = weights == "pairs"
    a = learning.rank_least_squares(K, y, qid, alpha, every)
    scale = np.abs(found.across) @ np.abs(a) + np.abs(y).max()
    tell = lambda place: found.tell(place, alpha, weights, y.tolist(), qid.tolist())
    batch.compare("RankRLS", model.predict(found.test), found.across @ a, scale, SOLVED, tell=tell)
    wanted = np.zeros(n)
    for group in set(qid):
        out, rest = np.flatnonzero(qid == group), np.flatnonzero(qid != group)
        b = learning.rank_least_squares(K[np.ix_(rest, rest)], y[rest], qid[rest], alpha, every)
        wanted[out] = K[np.ix_(out, rest)] @ b
    own = np.abs(y).max() * n
    batch.compare(
        "RankRLS, a group left out", model.leave_group_out_predictions_, wanted, own, SOLVED, aside=True, tell=tell
    )
    pairs = [(i, j) for j in range(n) for i in range(j) if qid[i] == qid[j]]
    pair = np.array(random.choice(pairs))
    rest = np.setdiff1d(np.arange(n), pair)
    b = learning.rank_least_squares(K[np.ix_(rest, rest)], y[rest], qid[rest], alpha, every)
    left = np.concatenate(model.leave_pair_out(pair[:1], pair[1:]))
    batch.compare("RankRLS, a pair left out", left, K[np.ix_(pair, rest)] @ b, own, SOLVED, aside=True, tell=tell)


# --- support vectors ------------------------------------------------------------------------------------------------

OPTIMAL = 1e-4
"""Of the objective: how far above its minimum it may be, where the solver stops at a millionth."""


def near_optimum(
    batch: Batch, what: str, gap: learning.Gap, C: float, tell: str, close: float = OPTIMAL, left: float = 1e-13
) -> None:
    """How far from the optimum; coefficients within their bounds. What a solver's own rule to stop leaves may be `left`."""
    size = gap.objective + left / close
    batch.compare(what, [gap.gap], [0.0], [size], close, aside=True, tell=lambda place: tell)
    batch.compare(what, [gap.broken], [0.0], [C], 1e-6, cases=0, tell=lambda place: tell)


@check("KernelSVC", DECISIONS, "learners", "duality gap and sums over support examples, on slow values")
def svc(batch: Batch) -> None:
    random = batch.random
    found = problem(batch, random.randint(5, 9), 40)
    n, n_classes = len(found.train), random.choice([2, 2, 3])
    labels = [*range(n_classes), *(random.randrange(n_classes) for _ in range(n - n_classes))]
    random.shuffle(labels)
    classes, C = np.array(labels), 10 ** random.uniform(-1, 2) / np.diag(found.K).mean()
    weight = random.choice([None, None, "balanced"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.errors.TreeletWarning)
        model = tl.KernelSVC(found.kernel, C, tol=1e-6, class_weight=weight).fit(found.train, classes)
        values = model.decision_function(found.test).reshape(len(found.test), -1)
        predicted = model.predict(found.test)
    full = spread(model, n)
    expected = found.across @ full.T + model.intercept_
    scale = np.abs(found.across) @ np.abs(full).T + np.abs(model.intercept_)
    told = found.tell(None, C, weight, labels)
    batch.compare(
        "KernelSVC",
        values,
        expected,
        scale.max(axis=1, keepdims=True),
        SOLVED,
        tell=lambda place: found.tell(place, C, weight, labels),
    )
    for machine, positive in enumerate([1] if n_classes == 2 else range(n_classes)):
        sign = np.where(classes == positive, 1.0, -1.0)
        sides = np.where(sign > 0, n / (2 * (sign > 0).sum()), n / (2 * (sign < 0).sum()))
        bounds = C * (sides if weight == "balanced" else np.ones(n))
        gap = learning.svm_gap(found.K, sign, full[machine], float(model.intercept_[machine]), bounds)
        near_optimum(batch, "KernelSVC, the optimum", gap, bounds.max(), told)
    chosen = (values[:, 0] > 0).astype(int) if n_classes == 2 else values.argmax(axis=1)
    batch.equal("KernelSVC, classes", predicted.tolist(), chosen.tolist(), cases=len(found.test), tell=told)


@check("KernelSVR", DECISIONS, "learners", "duality gap and sums over support examples, on slow values")
def svr(batch: Batch) -> None:
    random = batch.random
    found = problem(batch, random.randint(4, 8), 40)
    y = batch.numpy.normal(size=len(found.train))
    C, epsilon = 10 ** random.uniform(-1, 2) / np.diag(found.K).mean(), random.choice([0.0, 0.01, 0.1, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.errors.TreeletWarning)
        model = tl.KernelSVR(found.kernel, C, epsilon=epsilon, tol=1e-7).fit(found.train, y)
        values = model.predict(found.test)
    full = spread(model, len(y))[0]
    scale = np.abs(found.across) @ np.abs(full) + np.abs(model.intercept_)
    told = found.tell(None, C, epsilon, y.tolist())
    batch.compare("KernelSVR", values, found.across @ full + model.intercept_, scale, SOLVED, tell=lambda place: told)
    gap = learning.svr_gap(found.K, y, full, float(model.intercept_[0]), C, epsilon)
    near_optimum(
        batch, "KernelSVR, the optimum", gap, C, told, left=len(y) * C * 1e-7
    )  # y may be hardly further apart than 2ε


@check(
    "RankSVM",
    DECISIONS,
    "learners",
    "duality gap by a linear programme, sums over support examples, on slow values",  # codespell:ignore programme
)
def rank_svm(batch: Batch) -> None:
    random = batch.random
    found = problem(batch, random.randint(5, 8), 40)
    y, qid = groups(random, len(found.train))
    C, pairs = 10 ** random.uniform(-1, 1.5) / np.diag(found.K).mean(), random.choice(["best", "all"])
    model = tl.RankSVM(found.kernel, C, pairs=pairs, tol=1e-5, max_iter=10_000).fit(found.train, y, qid)
    full = spread(model, len(y))[0]
    told = found.tell(None, C, pairs, y.tolist(), qid.tolist())
    scale = np.abs(found.across) @ np.abs(full)
    batch.compare("RankSVM", model.predict(found.test), found.across @ full, scale, SOLVED, tell=lambda place: told)
    best = {q: y[qid == q].max() for q in set(qid)}
    listed = [
        (i, j)
        for i in range(len(y))
        for j in range(len(y))
        if qid[i] == qid[j] and y[i] > y[j] and (pairs == "all" or y[i] == best[qid[i]])
    ]
    batch.equal("RankSVM", model.n_pairs_, len(listed), cases=0, tell=told)
    gap = learning.rank_svm_gap(found.K, listed, full, C)
    batch.compare(
        "RankSVM, objective", [model.objective_], [gap.objective], close=1e-8, aside=True, tell=lambda place: told
    )
    near_optimum(batch, "RankSVM, the optimum", gap, C, told)


# --- the perceptron -------------------------------------------------------------------------------------------------


@check("VotedPerceptron", DECISIONS, "learners", "a plain loop in exact numbers, and one in any kernel's")
def perceptron(batch: Batch) -> None:
    random = batch.random
    exact = random.random() < 0.5
    n, m = random.randint(5, 8), 40
    if exact:
        lam = random.randint(1, 16) / 16
        tree = [tl.Subtree(lam), tl.SubsetTree(lam, random.choice([None, 2]), random.random() < 0.3)]
        kind = random.choice(["trees", "trees", "tagged"])
        kernel: Any = tl.Tagging(lam) if kind == "tagged" else random.choice(tree)
        draw = Structures(random, 8)
        train, test = draw.examples(kind, n), draw.examples(kind, m)
        K, across, tie = exact_values(kernel, train, train), exact_values(kernel, test, train), 0.0
        found = Problem(kernel, train, test, np.array(K, float), np.array(across, float))
        batch.count(models=1, structures=n + m)
    else:
        found = problem(batch, n, m)
        K, across, tie = found.K, found.across, TIE
    y, qid = groups(random, n)
    epochs, seed = random.randint(1, 2), random.choice([None, random.getrandbits(31)])
    contests = [q for q in dict.fromkeys(qid) if len(set(y[qid == q])) > 1]
    orders = [contests] * epochs
    if seed is not None:
        shuffled = np.random.RandomState(seed)
        orders = [[contests[k] for k in shuffled.permutation(len(contests))] for _ in range(epochs)]
    passes = learning.perceptron(K, y, qid, orders, tie)
    if passes.doubtful:
        batch.count(models_set_aside=1)
        return
    tested = np.array([f"t{random.randrange(5)}" for _ in range(m)])
    tell = lambda place: found.tell(place, epochs, seed, y.tolist(), qid.tolist(), tested.tolist())
    for mode in ("last", "averaged", "voted"):
        ranker = tl.VotedPerceptron(found.kernel, epochs, prediction=mode, shuffle=seed is not None, random_state=seed)
        ranker.fit(found.train, y, qid)
        batch.equal(
            f"VotedPerceptron, {mode}",
            ranker.updates_.tolist(),
            [list(pair) for pair in passes.updates],
            cases=0,
            tell=tell(mode),
        )
        scores = ranker.predict(found.test, tested)
        if mode == "voted":
            expected, scale = learning.votes(passes, across, tested.tolist(), tie or 1e-10), np.ones(m)
        else:
            coefficients = passes.last() if mode == "last" else passes.mean()
            expected = found.across @ coefficients
            scale = (np.abs(found.across) @ np.abs(coefficients)).max(initial=0)
        batch.compare(f"VotedPerceptron, {mode}", scores, expected, scale, SOLVED, tell=tell)
    if seed is None:
        parts = tl.VotedPerceptron(found.kernel)
        order = np.argsort([contests.index(q) if q in contests else -1 for q in qid], kind="stable")
        rows = [found.train[k] for k in order]
        whole = tl.VotedPerceptron(found.kernel).fit(rows, y[order], qid[order])
        for group in [q for q in dict.fromkeys(qid[order]) if q in contests]:
            mine = np.flatnonzero(qid[order] == group)
            parts.partial_fit([rows[k] for k in mine], y[order][mine], qid[order][mine])
        scale = np.abs(whole.predict(found.test)).max()
        batch.compare(
            "VotedPerceptron, part by part",
            parts.predict(found.test),
            whole.predict(found.test),
            scale,
            SOLVED,
            aside=True,
            tell=tell,
        )


# --- neighbors and vectors -----------------------------------------------------------------------------------------


@check("nearest", "neighbours", "learners", "slow values, sorted")  # codespell:ignore neighbours
def neighbors(batch: Batch) -> None:
    random = batch.random
    found = problem(batch, random.randint(3, 14), 10, positive=False)
    within, k = random.random() < 0.5, random.randint(1, 8)
    n = len(found.train)
    kernel: Any = found.kernel
    k = min(k, n - 1)
    if random.random() < 0.5:
        values, indices = tl.nearest(kernel, found.train, None if within else found.test, k)
    else:
        search = tl.Nearest(kernel, n_neighbors=k).fit(found.train)
        values, indices = search.kneighbors(None if within else found.test)
    slow = found.K.copy() if within else found.across
    if within:
        np.fill_diagonal(slow, -np.inf)
    tell = lambda place: found.tell(place, within, k)
    scale = np.abs(found.K).max() + np.abs(found.across).max() + 1e-300
    wanted = -np.sort(-slow, axis=1)[:, :k]
    batch.compare("nearest", values, wanted, scale, 1e-11, tell=tell)
    batch.compare("nearest", np.take_along_axis(slow, indices, axis=1), wanted, scale, 1e-11, cases=0, tell=tell)
    ties = (np.diff(values, axis=1) == 0) & (np.diff(indices, axis=1) <= 0)
    batch.equal("nearest", bool(ties.any()), False, cases=0, tell=tell("ties"))


@check("Nystroem", "values of pairs of vectors", "learners", "K_XL K_LL^-1 K_LX, dense")
def nystroem(batch: Batch) -> None:
    random = batch.random
    found = problem(batch, random.randint(3, 10), 10)
    m = random.randint(1, len(found.train))
    sampling = random.choice(["uniform", "kmeans++", "leverage"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.errors.TreeletWarning)
        made = tl.Nystroem(found.kernel, n_components=m, sampling=sampling, random_state=random.getrandbits(31)).fit(
            found.train
        )
    chosen = made.component_indices_
    V, L = made.transform(found.test), made.transform([found.train[k] for k in chosen])
    inner = found.K[np.ix_(chosen, chosen)]
    scale, told = np.abs(found.K).max() + np.abs(found.across).max(), lambda place: found.tell(place, m, sampling)
    batch.compare("Nystroem, landmarks", L @ L.T, inner, scale, 1e-7, tell=told)
    batch.compare("Nystroem, with landmarks", V @ L.T, found.across[:, chosen], scale, 1e-6, tell=told)
