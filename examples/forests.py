"""Compare two ambiguous sentences by their packed forests instead of their best parses.

The candidates are those of `treelet rerank` on the same treebank: the same split, grammar and 100 best parses. Here, the
candidates of a sentence form one packed forest, in which every fragment has an expected number of occurrences
(Zhang, Zhang & Li 2010). The script finds the two test sentences for which the forest kernel and the tree kernel of
the first choices differ most, and lists the fragments that explain the similarity of their forests.

    python examples/forests.py              # generated travel questions
    python examples/forests.py trees.mrg    # your treebank
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import treelet as tl
from treelet.tasks import CandidateParses, parts_of_treebank

MOST_WORDS = 9  # so that the parses fit the screen
SIZES = (800, 200, 336)


def forests_of(parses: CandidateParses) -> list[tl.Forest]:
    """Pack the candidates of each sentence, with their probabilities given the sentence."""
    forests = []
    for sentence in range(len(parses)):
        rows = np.flatnonzero(parses.qid == sentence)
        logp = np.maximum(parses.logp[rows], -1e300)  # -inf marks a sentence that the grammar could not parse
        probabilities = np.maximum(np.exp(logp - logp.max()), 1e-12)
        forests.append(tl.Forest.from_trees(zip(parses.trees[rows], probabilities / probabilities.sum(), strict=True)))
    return forests


def main() -> None:
    warnings.simplefilter(
        "ignore", tl.errors.TreeletWarning
    )  # malformed trees of the file, which treelet rerank has named
    if len(sys.argv) > 1:
        bank = tl.read_trees(sys.argv[1], drop_empty=True, drop_function_tags=True, on_error="skip")
    else:
        bank = tl.datasets.flights(sum(SIZES))
    parses = parts_of_treebank(bank, SIZES).test
    parses = parses.sentences(
        [k for k, tree in enumerate(parses.gold) if tree is not None and len(tree.words()) <= MOST_WORDS]
    )
    first = list(parses.trees[parses.first()])
    forests = forests_of(parses)

    lam = 0.4
    by_tree = tl.SubsetTree(lam=lam).normalized()(first)
    by_forest = tl.ForestKernel(lam=lam).normalized()(forests)
    a, b = sorted(divmod(int(np.argmax(np.triu(by_forest - by_tree, 1))), len(first)))

    print("Two test sentences. The first choices of the parser differ more than the forests of all candidates:\n")
    for number in (a, b):
        count = forests[number].count_trees()
        share = next(probability for tree, probability in forests[number].trees() if tree == first[number])
        print(f"  {' '.join(first[number].words())}")
        print(f"    {count} parses in the forest; the first choice has probability {share:.2f}:")
        print(f"    {first[number]}")
    print("\nSimilarity, from 0 (nothing in common) to 1 (equal):\n")
    print(f"  {by_tree[a, b]:.3f}  of the first choices, by the tree kernel (SubsetTree)")
    print(f"  {by_forest[a, b]:.3f}  of the forests, by the forest kernel (ForestKernel)\n")
    known = {str(fragment.tree) for fragment in tl.shared_fragments(first[a], first[b], tl.SubsetTree(lam=lam))}
    print("The forests also share these fragments, which the first choices do not. The numbers are the expected")
    print("counts of a fragment in the first and in the second forest: each parse counts with its probability.\n")
    shared = tl.shared_fragments(forests[a], forests[b], tl.ForestKernel(lam=lam))
    for fragment in [fragment for fragment in shared if str(fragment.tree) not in known][:5]:
        print(f"  {fragment.counts[0]:6.2f} {fragment.counts[1]:6.2f}  {fragment.tree}")


if __name__ == "__main__":
    main()
