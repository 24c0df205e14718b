"""Explanations, heaviest fragments and fragments as features: beside vectors in which every fragment is listed."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from differ import Batch, check
from differ_kernels import decay
from differ_structures import Structures

import treelet as tl
from definitions.fragments import at_node, norm, vector, weights
from treelet.learn import CompressedModel

SHARES = 1e-9
EVERYTHING = 10**6


def listed_kernel(random: Random) -> Any:
    """One whose fragments can be listed."""
    lam = max(decay(random), 1e-3)
    kernels = [
        tl.Subtree(lam),
        tl.SubsetTree(lam, random.choice([None, 1, 2, 4]), random.random() < 0.4),
        tl.PartialTree(lam, max(decay(random), 1e-3), random.random() < 0.6),
    ]
    return random.choice(kernels)


class Model:
    """A model of a few trees with random coefficients, and its vector."""

    def __init__(self, batch: Batch) -> None:
        random = batch.random
        self.kernel, self.normalized = listed_kernel(random), random.random() < 0.5
        self.draw = Structures(random, 8)
        self.support = self.trees(random.randint(1, 4))
        self.alpha = [round(random.uniform(-2, 2), 2) for _ in self.support]
        if self.normalized and any(not norm(self.kernel, tree) for tree in self.support):
            self.normalized = False
        used = self.kernel.normalized() if self.normalized else self.kernel
        self.model = CompressedModel.of(used, self.support, [self.alpha])
        self.weights = weights(self.kernel, self.support, self.alpha, self.normalized)
        self.size = sum(map(abs, self.weights.values())) + 1e-12
        batch.count(models=1, structures=len(self.support))

    def trees(self, n: int) -> list[tl.Tree]:
        """Trees over the labels of the support, most of them changed copies of it."""
        copied = self.draw.before and self.draw.random.random() < 0.8
        return [
            self.draw.changed(self.draw.random.choice(self.draw.before)) if copied else self.draw.tree()
            for _ in range(n)
        ]

    def tell(self, *more: Any) -> str:
        return f"kernel = {self.kernel!r}, normalized: {self.normalized}; support = {self.support}, alpha = {self.alpha}; {more}"


def compare_lists(
    batch: Batch, what: str, found: dict[Any, float], expected: dict[Any, float], size: float, tell: str
) -> None:
    """Two vectors, entry by entry; an entry that is not there is 0."""
    every = list(found.keys() | expected.keys())
    mine, theirs = ([one.get(key, 0.0) for key in every] for one in (found, expected))
    told = lambda place: f"{every[place[0]]}; {tell}"
    batch.compare(what, mine, theirs, size, SHARES, tell=told)


@check("explain", "shares of fragments and nodes", "fragments", "all fragments, `tests/definitions/fragments.py`")
def explained(batch: Batch) -> None:
    known = Model(batch)
    for tree in [*known.trees(2), batch.random.choice(known.support)]:
        length = norm(known.kernel, tree, known.normalized) or 1.0
        found = tl.explain(known.model, tree, limit=EVERYTHING)
        own = vector(known.kernel, tree)
        expected = {f: value / length * known.weights[f] for f, value in own.items() if f in known.weights}
        size, tell = sum(map(abs, expected.values())) + 1e-6 * known.size, known.tell(tree)
        shares = {one.tree: one.share for one in found.fragments}
        batch.equal("explain: shares of fragments", len(shares), len(found.fragments), cases=0, tell=tell)
        compare_lists(batch, "explain: shares of fragments", shares, expected, size, tell)
        batch.compare(
            "explain: scores",
            [found.score, found.score - found.rest],
            [math.fsum(expected.values())] * 2,
            size,
            SHARES,
            cases=1,
            aside=True,
            tell=lambda place, tell=tell: tell,
        )
        here = [
            sum(v / length * known.weights.get(f, 0) for f, v in at_node(known.kernel, node).items())
            for node in tree.nodes()
        ]
        batch.compare(
            "explain: shares of nodes",
            [one.share for one in found.heat],
            here,
            size,
            SHARES,
            aside=True,
            tell=lambda place, tell=tell: tell,
        )
        if batch.random.random() < 0.7:
            continue
        n = batch.random.randint(1, 6)
        few = [abs(one.share) for one in tl.explain(known.model, tree, limit=n).fragments]
        largest = (sorted(map(abs, expected.values()), reverse=True) + [0.0] * n)[: len(few)]
        batch.compare(
            "explain: the largest shares",
            few,
            largest,
            size,
            SHARES,
            aside=True,
            tell=lambda place, tell=tell: f"{n}; {tell}",
        )


@check("top_fragments", "weights of fragments", "fragments", "all fragments, `tests/definitions/fragments.py`")
def heaviest(batch: Batch) -> None:
    known = Model(batch)
    found = tl.top_fragments(known.model, EVERYTHING)
    given = {one.tree: one.weight for one in found}
    batch.equal("top_fragments", len(given), len(found), cases=0, tell=known.tell())
    compare_lists(batch, "top_fragments", given, known.weights, known.size, known.tell())
    n = batch.random.randint(1, 8)
    few = [abs(one.weight) for one in tl.top_fragments(known.model, n)]
    largest = (sorted(map(abs, known.weights.values()), reverse=True) + [0.0] * n)[: len(few)]
    batch.compare(
        "top_fragments: the heaviest", few, largest, known.size, SHARES, aside=True, tell=lambda place: known.tell(n)
    )


@check("shared_fragments", "fragments in common", "fragments", "all fragments, `tests/definitions/fragments.py`")
def shared(batch: Batch) -> None:
    kernel, draw = listed_kernel(batch.random), Structures(batch.random, 8)
    X = [draw.tree() for _ in range(5)]
    vectors = [vector(kernel, tree) for tree in X]
    for i in range(5):
        for j in range(i + 1):
            found = tl.shared_fragments(X[i], X[j], kernel, limit=EVERYTHING)
            expected = {f: value * vectors[j][f] for f, value in vectors[i].items() if f in vectors[j]}
            given = {one.tree: one.contribution for one in found}
            tell = f"kernel = {kernel!r}; a, b = {X[i]}, {X[j]}"
            batch.equal("shared_fragments", (len(given), found.complete), (len(found), True), cases=0, tell=tell)
            compare_lists(batch, "shared_fragments", given, expected, math.fsum(expected.values()), tell)
            batch.count(pairs=1)


@check("FragmentFeatures", "values of a matrix", "fragments", "all fragments, `tests/definitions/fragments.py`")
def features(batch: Batch) -> None:
    random = batch.random
    kernel, normalized = listed_kernel(random), random.random() < 0.5
    draw = Structures(random, 7)
    X, new = [draw.tree() for _ in range(random.randint(2, 5))], [draw.tree() for _ in range(8)]
    vectors = [vector(kernel, tree) for tree in X]
    every = set().union(*vectors)
    if not every:
        return
    used = kernel.normalized() if normalized else kernel
    columns = random.choice([5, EVERYTHING, EVERYTHING])
    made = tl.FragmentFeatures(kernel=used, n=columns).fit(X)
    tell = f"kernel = {used!r}, n={columns}; X = {X}; new = {new}"
    found = list(made.fragments_)
    batch.equal(
        "FragmentFeatures", (set(found) <= every, len(found)), (True, min(columns, len(every))), cases=0, tell=tell
    )
    lengths = [norm(kernel, tree, normalized) or 1.0 for tree in new]
    listed = [vector(kernel, tree) for tree in new]
    expected = [[own.get(f, 0.0) / length for f in found] for own, length in zip(listed, lengths, strict=True)]
    batch.compare("FragmentFeatures", made.transform(new).toarray(), expected, tell=lambda place: f"{place}; {tell}")
    batch.count(models=1, structures=len(X) + len(new))


@check("FragmentFeatures of models", "decisions", "fragments", "the model itself, and all its fragments", least=20_000)
def features_of_models(batch: Batch) -> None:
    known = Model(batch)
    if not +known.weights and not -known.weights:
        return
    new = known.trees(10)
    made = tl.FragmentFeatures(known.model, n=EVERYTHING).fit()
    coefficients = {f: float(c) for f, c in zip(made.fragments_, made.coef_[0], strict=True)}
    compare_lists(batch, "FragmentFeatures of models: weights", coefficients, known.weights, known.size, known.tell())
    lengths = [norm(known.kernel, tree, known.normalized) or 1.0 for tree in new]
    expected, sizes = [], []
    for tree, length in zip(new, lengths, strict=True):
        terms = [v / length * known.weights.get(f, 0.0) for f, v in vector(known.kernel, tree).items()]
        expected.append(math.fsum(terms))
        sizes.append(math.fsum(map(abs, terms)) + 1e-6 * known.size)
    scores = made.transform(new) @ made.coef_[0] + made.intercept_[0]
    batch.compare(
        "FragmentFeatures of models", scores, expected, sizes, SHARES, tell=lambda place: known.tell(new[place[0]])
    )
