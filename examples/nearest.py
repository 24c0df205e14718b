"""Find similar questions: nearest neighbors by the normalized subset-tree kernel.

Run ``python examples/nearest.py`` to use generated questions, or ``python examples/nearest.py trees.mrg`` to use your
own trees.
"""

from __future__ import annotations

import argparse

import numpy as np

import treelet as tl
from treelet.datasets import flights
from treelet.fragments import shared_fragments


def main() -> None:
    parser = argparse.ArgumentParser(description="Find the nearest neighbors of a few trees.")
    parser.add_argument("file", nargs="?", help="file of trees (default: 300 generated questions)")
    parser.add_argument("--lam", type=float, default=0.4, help="decay per production, in (0, 1] (default: 0.4)")
    options = parser.parse_args()

    bank = tl.read_trees(options.file) if options.file else flights(300)
    print(bank.stats(), end="\n\n")
    kernel = tl.SubsetTree(lam=options.lam)
    queries = np.linspace(0, len(bank) - 1, 3).astype(int)
    # Each query is its own nearest neighbor, so three other trees need k=4.
    values, rows = tl.nearest(kernel.normalized(), bank, bank[queries], k=4, n_jobs=-1)

    for query, similarity, neighbors in zip(queries, values, rows, strict=True):
        others = neighbors != query
        nearest = neighbors[others][:3]
        print(f"  {words(bank[query])}")
        for value, neighbor in zip(similarity[others][:3], nearest, strict=True):
            print(f"    {value:.3f}  {words(bank[neighbor])}")
        shared = shared_fragments(bank[query], bank[nearest[0]], kernel)
        widest = sorted(shared, key=lambda fragment: (-len(fragment.tree.productions()), -fragment.contribution))
        more = "" if shared.complete else "more than "
        print(f"    the best pair shares {more}{len(shared)} fragments, for example:")
        for fragment in [*shared[:2], *widest[:1]]:
            print(f"      {fragment.contribution:<8.2g}  {fragment.tree}")
        print()


def words(tree: tl.Tree) -> str:
    return " ".join(tree.words())


if __name__ == "__main__":
    main()
