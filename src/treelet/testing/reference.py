"""Slow definitions of the kernels, which list all fragments. They are readable, and the reference for tests.

Most of them take exponential time in the size of a tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from itertools import combinations, product
from math import exp, prod
from typing import NamedTuple

from treelet.structures import Tagged, Tree

KEPT = 64
"""Number of trees whose fragments are cached; the values of all their pairs are cached as well."""
Fragment = str | tuple[str, tuple["Fragment", ...]]
"""A label at the edge of the fragment (a word or an unexpanded node), or a label with its children."""


def size(fragment: Fragment) -> int:
    """Return the number of productions in a fragment."""
    return 0 if isinstance(fragment, str) else 1 + sum(size(child) for child in fragment[1])


def depth(fragment: Fragment) -> int:
    """Return the number of productions on the longest path from the root of a fragment."""
    return 0 if isinstance(fragment, str) else 1 + max(depth(child) for child in fragment[1])


def nodes(fragment: Fragment) -> int:
    """Return the number of nodes of a fragment, including those at the edge."""
    return 1 if isinstance(fragment, str) else 1 + sum(nodes(child) for child in fragment[1])


def edge(fragment: Fragment) -> int:
    """Return the number of nodes at the edge of a fragment, which have no children in it."""
    return 1 if isinstance(fragment, str) else sum(edge(child) for child in fragment[1])


# --- complete subtrees ------------------------------------------------------------------------------------------


def complete_subtree(node: Tree) -> Fragment:
    """Return a node with all its descendants as a fragment."""
    return (node.label, tuple(complete_subtree(child) for child in node)) if node.children else node.label


@lru_cache(KEPT**2)
def subtree(first: Tree, second: Tree, lam: float = 1.0) -> float:
    """ST: sum of lam^size(f) * count in first * count in second over complete subtrees f."""
    a, b = complete_subtrees(first), complete_subtrees(second)
    return sum(lam ** size(f) * a[f] * b[f] for f in a)


@lru_cache(KEPT)
def complete_subtrees(tree: Tree) -> Counter[Fragment]:
    """Count the complete subtrees of a tree."""
    return Counter(complete_subtree(node) for node in tree.nodes() if node.children)


# --- subset trees (Collins & Duffy 2001) ------------------------------------------------------------------------


def subset_trees(node: Tree) -> list[Fragment]:
    """List the fragments rooted at a node. Each child is either unexpanded or the root of a fragment."""
    if not node.children:
        return []
    choices = [[child.label, *subset_trees(child)] for child in node]
    return [(node.label, kids) for kids in product(*choices)]


@lru_cache(KEPT**2)
def subset_tree(
    first: Tree, second: Tree, lam: float = 0.4, max_depth: int | None = None, leaves: bool = False
) -> float:
    """SST: sum of lam^size(f) * count in first * count in second over fragments f of at most `max_depth`.

    With `leaves`, every word has one child with the same label.
    """
    a, b = all_subset_trees(first, leaves), all_subset_trees(second, leaves)
    return sum(lam ** size(f) * a[f] * b[f] for f in a if f in b and (max_depth is None or depth(f) <= max_depth))


@lru_cache(KEPT)
def all_subset_trees(tree: Tree, leaves: bool = False) -> Counter[Fragment]:
    """Count the fragments of a tree."""
    whole = with_leaves(tree) if leaves else tree
    return Counter(f for node in whole.nodes() for f in subset_trees(node))


def with_leaves(tree: Tree) -> Tree:
    """Return a tree in which each word has a child with the same label."""
    return Tree(tree.label, [with_leaves(child) for child in tree] or ["\u2022"])


# --- partial trees (Moschitti 2006) -----------------------------------------------------------------------------


class PartialTreeOccurrence(NamedTuple):
    """An occurrence of a partial tree in a tree.

    `gaps` is the number of skipped children. `words` contains, for each leaf of the partial tree,
    whether the leaf is a word of the tree.
    """

    fragment: Fragment
    gaps: int
    words: tuple[bool, ...]


def partial_trees(node: Tree) -> list[PartialTreeOccurrence]:
    """List the partial trees rooted at a node: the label alone, or with a subsequence of children."""
    occurrences = [PartialTreeOccurrence(node.label, 0, (not node.children,))]
    for length in range(1, len(node.children) + 1):
        for places in combinations(range(len(node.children)), length):
            skipped = places[-1] - places[0] + 1 - length
            for kids in product(*(partial_trees(node.children[position]) for position in places)):
                fragment = (node.label, tuple(kid.fragment for kid in kids))
                words = tuple(word for kid in kids for word in kid.words)
                occurrences.append(PartialTreeOccurrence(fragment, skipped + sum(kid.gaps for kid in kids), words))
    return occurrences


@lru_cache(KEPT**2)
def partial_tree(
    first: Tree, second: Tree, lam: float = 0.4, mu: float = 0.4, leaves: bool = True, terminal_factor: float = 1.0
) -> float:
    """PT: a factor mu per node, lam^2 per node at the edge, and lam per skipped child in either tree.

    A node at the edge that is a word in one of the trees has the additional factor `terminal_factor`.
    Without `leaves`, words are not roots.
    """
    a, b = all_partial_trees(first, lam, leaves), all_partial_trees(second, lam, leaves)
    total = 0.0
    for f in a.keys() & b.keys():
        pairs = 0.0
        for (mine, weight), (theirs, other) in product(a[f].items(), b[f].items()):
            words = sum(
                mine_is_word or theirs_is_word for mine_is_word, theirs_is_word in zip(mine, theirs, strict=True)
            )
            pairs += terminal_factor**words * weight * other
        total += mu ** nodes(f) * lam ** (2 * edge(f)) * pairs
    return total


@lru_cache(KEPT)
def all_partial_trees(tree: Tree, lam: float, leaves: bool) -> dict[Fragment, dict[tuple[bool, ...], float]]:
    """Return the sum of lam^gaps over the occurrences of each partial tree, by the words at its edge."""
    by_fragment: dict[Fragment, dict[tuple[bool, ...], float]] = {}
    for node in tree.nodes():
        if leaves or node.children:
            for fragment, gaps, words in partial_trees(node):
                by_words = by_fragment.setdefault(fragment, {})
                by_words[words] = by_words.get(words, 0.0) + lam**gaps
    return by_fragment


# --- smoothed partial trees (Croce, Moschitti & Basili 2011) ----------------------------------------------------


def smoothed_partial_tree(
    first: Tree,
    second: Tree,
    similarity: Callable[[str, str], float],
    lam: float = 0.4,
    mu: float = 0.4,
    leaves: bool = True,
    terminal_factor: float = 1.0,
) -> float:
    """SPTK: like PT, but two words of similarity s match with the value mu * lam^2 * s."""

    def delta(a: Tree, b: Tree) -> float:
        if not a.children and not b.children:
            return terminal_factor * mu * lam**2 * similarity(a.label, b.label)
        if a.label != b.label:
            return 0.0
        if not a.children or not b.children:
            return terminal_factor * mu * lam**2
        total = lam**2
        for length in range(1, min(len(a.children), len(b.children)) + 1):
            for J1 in combinations(range(len(a.children)), length):
                for J2 in combinations(range(len(b.children)), length):
                    gaps = (J1[-1] - J1[0] + 1 - length) + (J2[-1] - J2[0] + 1 - length)
                    met = (delta(a.children[i], b.children[j]) for i, j in zip(J1, J2, strict=True))
                    total += lam**gaps * prod(met)
        return mu * total

    return sum(delta(a, b) for a in first.nodes() for b in second.nodes() if leaves or (a.children and b.children))


# --- tagged sequences (Collins & Duffy 2001) --------------------------------------------------------------------

Piece = tuple[tuple[str, str | None], ...]
"""Consecutive tags, each with or without its word."""


def tagging_features(sequence: Tagged) -> list[Piece]:
    """List all pieces of a sequence: all runs of tags, each tag with or without its word."""
    pairs = list(sequence)
    features: list[Piece] = []
    for begin in range(len(pairs)):
        for end in range(begin + 1, len(pairs) + 1):
            features += product(*(((tag, None), (tag, word)) for word, tag in pairs[begin:end]))
    return features


@lru_cache(KEPT**2)
def tagging(first: Tagged, second: Tagged, lam: float = 0.4) -> float:
    """Return the sum of lam^length(f) * count in first * count in second over pieces f."""
    a, b = tagging_counts(first), tagging_counts(second)
    return sum(lam ** len(f) * a[f] * b[f] for f in a if f in b)


@lru_cache(KEPT)
def tagging_counts(sequence: Tagged) -> Counter[Piece]:
    """Count the pieces of a sequence."""
    return Counter(tagging_features(sequence))


# --- sequences of features --------------------------------------------------------------------------------------


def locality(
    f: Sequence[Hashable], g: Sequence[Hashable], window: int = 3, theta: float = 0.5, match: str = "position"
) -> float:
    """Return the triple sum of Tsivtsivadze et al. (2006), eq. 4 to 8, with positions relative to the windows."""
    reach, total = window // 2, 0.0
    for i, k in product(range(len(f)), range(len(g))):
        if f[i] != g[k]:
            continue
        around_i, around_k = (range(max(at - reach, 0), min(at + reach + 1, len(x))) for at, x in ((i, f), (k, g)))
        apart = [(m - i) - (n - k) for m, n in product(around_i, around_k) if f[m] == g[n]]
        if match == "count":
            total += len(apart)
        elif match == "exact":
            total += apart.count(0)
        else:
            total += prod(1 + (exp(-((d / theta) ** 2)) if theta else float(d == 0)) for d in apart)
    return total


def subsequence(s: Sequence[Hashable], t: Sequence[Hashable], lam: float = 0.5, length: int = 2) -> float:
    """Return the definition of Lodhi et al. (2002): all occurrences of subsequences, weighted by span."""
    weights: list[Counter[tuple[Hashable, ...]]] = []
    for sequence in (s, t):
        counts: Counter[tuple[Hashable, ...]] = Counter()
        for places in combinations(range(len(sequence)), length):
            counts[tuple(sequence[i] for i in places)] += lam ** (places[-1] - places[0] + 1)  # type: ignore[assignment]
        weights.append(counts)
    a, b = weights
    return sum(a[u] * b[u] for u in a)


# --- tree edit distance -----------------------------------------------------------------------------------------


def edit_distance(first: Tree | None, second: Tree | None, cost: Callable[[str | None, str | None], float]) -> float:
    """Return the edit distance by recursion over forests; `cost(label, None)` is the cost of a deletion.

    None is a tree without nodes.
    """

    @lru_cache(None)
    def distance(f: tuple[Tree, ...], g: tuple[Tree, ...]) -> float:
        choices = []
        if f:
            *_, v = f
            choices.append(distance((*f[:-1], *v.children), g) + cost(v.label, None))
        if g:
            *_, w = g
            choices.append(distance(f, (*g[:-1], *w.children)) + cost(None, w.label))
        if f and g:
            mapped = distance(f[:-1], g[:-1]) + distance(v.children, w.children)
            choices.append(mapped + (0.0 if v.label == w.label else cost(v.label, w.label)))
        return min(choices, default=0.0)

    return distance(() if first is None else (first,), () if second is None else (second,))
