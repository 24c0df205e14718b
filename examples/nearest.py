"""Which questions are alike? Nearest neighbours by the normalised subset-tree kernel.

Run it as ``python examples/nearest.py``, on generated questions, or ``python examples/nearest.py trees.mrg``.
"""

from __future__ import annotations

import argparse

import numpy as np

import treelet as tl
from treelet.datasets import flights
from treelet.explain import shared_fragments


def main() -> None:
    parser = argparse.ArgumentParser(description="Look up the nearest neighbours of a few trees.")
    parser.add_argument("file", nargs="?", help="trees; by default 300 generated questions")
    parser.add_argument("--matrix", help="a matrix made by `treelet gram FILE -o K.npy --normalize`")
    parser.add_argument("--lam", type=float, default=0.4)
    options = parser.parse_args()

    bank = tl.read_trees(options.file) if options.file else flights(300)
    print(bank.stats(), end="\n\n")
    kernel = tl.SubsetTree(lam=options.lam)
    if options.matrix:
        K = np.load(options.matrix, mmap_mode="r")
        if K.shape != (len(bank), len(bank)):
            raise SystemExit(f"{options.matrix} is {K.shape[0]} x {K.shape[1]}, but there are {len(bank)} trees")
    else:
        K = tl.gram(kernel.normalized(), bank, n_jobs=-1)

    for query in np.linspace(0, len(bank) - 1, 3).astype(int):
        similarity = np.array(K[query])
        similarity[query] = -1  # itself
        nearest = np.argsort(-similarity, kind="stable")[:3]
        print(f"  {words(bank[query])}")
        for neighbour in nearest:
            print(f"    {similarity[neighbour]:.3f}  {words(bank[neighbour])}")
        shared = shared_fragments(bank[query], bank[nearest[0]], kernel)
        widest = sorted(shared, key=lambda fragment: (-len(fragment.tree.productions()), -fragment.contribution))
        more = "" if shared.complete else "more than "
        print(f"    the best pair shares {more}{len(shared)} fragments, among them")
        for fragment in [*shared[:2], *widest[:1]]:
            print(f"      {fragment.contribution:<8.2g}  {fragment.tree}")
        print()


def words(tree: tl.Tree) -> str:
    return " ".join(tree.words())


if __name__ == "__main__":
    main()
