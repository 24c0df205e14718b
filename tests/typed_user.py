"""A user's lines, checked by mypy in make lint and never run. A line that must be an error has an ignore that must be needed."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import treelet as tl

bank = tl.read_trees("trees.mrg")
X, y = tl.read_examples("train.tsv")
kernel = 0.6 * tl.SubsetTree(lam=0.4).normalized() + 0.4 * tl.PartialTree(lam=0.4, mu=0.4)
assert_type(kernel(bank, n_jobs=2), NDArray[np.float64])
assert_type(tl.gram(kernel, bank, memory="1GiB"), NDArray[np.float64])
clf = tl.KernelSVC(kernel=kernel, C=10.0).fit(X, y)
assert_type(clf, tl.KernelSVC)
labels = clf.predict(["(A x)"])
ranker = tl.RankSVM(tl.SubsetTree()).fit(bank, [1.0, 2.0], qid=[1, 1])
tl.save(clf, "m.treelet")
again = tl.load("m.treelet")
shares: list[float] = [one.share for one in tl.explain(clf, bank[0]).fragments]
weights: list[float] = [one.weight for one in tl.top_fragments(clf, 5, "a")]
named = tl.Sum(syntax=kernel, words=tl.On(["n", "q"], tl.Linear()))
small = tl.gram(named, X, dtype="float32")
far = named.distance()(X, out="D.npy")
first: tl.Tree | None = bank[0]
some: tl.Treebank = bank[1:3]

tl.SubsetTree(lam="0.4")  # type: ignore[arg-type]
tl.gram(bank, kernel)  # type: ignore[arg-type]
tl.KernelSVC(c=1)  # type: ignore[call-arg]
bank.parse()  # type: ignore[attr-defined]
kernel + "more"  # type: ignore[operator]
tl.Sum(a=1)  # type: ignore[arg-type]
tl.On(1.5, kernel)  # type: ignore[arg-type]
