"""Slow definitions of all kernels, which list all fragments. They are readable, and the reference for tests.

Most of them take exponential time in the size of a tree.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache, singledispatch
from itertools import combinations, product
from math import ceil, exp, fsum, prod, sqrt
from typing import Any, NamedTuple

from treelet import kernels
from treelet.edits import EditDistance, EditSimilarity
from treelet.errors import InputTypeError
from treelet.structures import Forest, Tagged, Tree, WordVectors

Slow = Callable[[Any, Any], float]


@singledispatch
def definition(kernel: Any) -> Slow:
    """Return the slow definition of a kernel: a function of two examples.

    Add the definition of a new kernel with ``definition.register``.

    Examples
    --------
    >>> from treelet import SubsetTree, Tree
    >>> from definitions.kernels import definition
    >>> slow = definition(2 * SubsetTree(lam=1).normalized())
    >>> slow(Tree.parse("(NP (D the) (N apple))"), Tree.parse("(NP (D the) (N pear))"))
    1.0
    """
    raise InputTypeError(
        f"{kernel!r} has no slow definition. Add one with definition.register({type(kernel).__name__}, ...)."
    )


def _of_parameters(slow: Callable[..., float]) -> Callable[[Any], Slow]:
    """Return a definition from a function of two examples and parameters. A missing example has value 0."""

    def define(kernel: Any) -> Slow:
        names = [name for name in kernel.get_params(deep=False) if not name.endswith("_bounds")]
        params = {name: kernel.get_params(deep=False)[name] for name in names}
        return lambda a, b: 0.0 if a is None or b is None else slow(a, b, **params)

    return define


# --- fragments -----------------------------------------------------------------------------------------------------

_KEPT = 64
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


@lru_cache(_KEPT**2)
def subtree(first: Tree, second: Tree, lam: float = 1.0) -> float:
    """ST: sum of lam^size(f) * count in first * count in second over complete subtrees f."""
    a, b = complete_subtrees(first), complete_subtrees(second)
    return sum(lam ** size(f) * a[f] * b[f] for f in a)


@lru_cache(_KEPT)
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


@lru_cache(_KEPT**2)
def subset_tree(
    first: Tree, second: Tree, lam: float = 0.4, max_depth: int | None = None, leaves: bool = False
) -> float:
    """SST: sum of lam^size(f) * count in first * count in second over fragments f of at most `max_depth`.

    With `leaves`, every word has one child with the same label.
    """
    a, b = all_subset_trees(first, leaves), all_subset_trees(second, leaves)
    return sum(lam ** size(f) * a[f] * b[f] for f in a if f in b and (max_depth is None or depth(f) <= max_depth))


@lru_cache(_KEPT)
def all_subset_trees(tree: Tree, leaves: bool = False) -> Counter[Fragment]:
    """Count the fragments of a tree."""
    whole = with_leaves(tree) if leaves else tree
    return Counter(f for node in whole.nodes() for f in subset_trees(node))


def with_leaves(tree: Tree) -> Tree:
    """Return a tree in which each word has a child with the same label."""
    return Tree(tree.label, [with_leaves(child) for child in tree] or ["\u2022"])


# --- partial trees (Moschitti 2006) -----------------------------------------------------------------------------


class _Occurrence(NamedTuple):
    """An occurrence of a partial tree in a tree.

    `gaps` is the number of skipped children. `words` contains, for each leaf of the partial tree,
    whether the leaf is a word of the tree.
    """

    fragment: Fragment
    gaps: int
    words: tuple[bool, ...]


def partial_trees(node: Tree) -> list[_Occurrence]:
    """List the partial trees rooted at a node: the label alone, or with a subsequence of children."""
    occurrences = [_Occurrence(node.label, 0, (not node.children,))]
    for length in range(1, len(node.children) + 1):
        for places in combinations(range(len(node.children)), length):
            skipped = places[-1] - places[0] + 1 - length
            for kids in product(*(partial_trees(node.children[position]) for position in places)):
                fragment = (node.label, tuple(kid.fragment for kid in kids))
                words = tuple(word for kid in kids for word in kid.words)
                occurrences.append(_Occurrence(fragment, skipped + sum(kid.gaps for kid in kids), words))
    return occurrences


@lru_cache(_KEPT**2)
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


@lru_cache(_KEPT)
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
    nodes: str = "all",
) -> float:
    """SPTK: like PT, but the value of two nodes is multiplied by the similarity of their labels."""

    def delta(a: Tree, b: Tree) -> float:
        only_equal = nodes == "leaves" and (a.children or b.children)
        sigma = float(a.label == b.label) if only_equal else similarity(a.label, b.label)
        if sigma == 0:
            return 0.0
        if not a.children or not b.children:
            return terminal_factor * mu * lam**2 * sigma
        total = lam**2
        for length in range(1, min(len(a.children), len(b.children)) + 1):
            for J1 in combinations(range(len(a.children)), length):
                for J2 in combinations(range(len(b.children)), length):
                    gaps = (J1[-1] - J1[0] + 1 - length) + (J2[-1] - J2[0] + 1 - length)
                    met = (delta(a.children[i], b.children[j]) for i, j in zip(J1, J2, strict=True))
                    total += lam**gaps * prod(met)
        return mu * sigma * total

    return sum(delta(a, b) for a in first.nodes() for b in second.nodes() if leaves or (a.children and b.children))


def smoothed_fragments(
    first: Tree, second: Tree, similarity: Callable[[str, str], float], lam: float, mu: float, leaves: bool = True
) -> float:
    """SPTK as a sum over all pairs of fragments of the same shape: no recursion over pairs of nodes.

    A pair of fragments counts mu^nodes * lam^(2 * childless nodes + skipped children) * the product of the similarities
    of the labels in the same places.
    """

    def fragments(node: Tree) -> list[tuple[Tree, int]]:
        """List the fragments below a node, each with the number of skipped children."""
        found = [(Tree(node.label), 0)]
        for length in range(1, len(node.children) + 1):
            for chosen in combinations(range(len(node.children)), length):
                gaps = chosen[-1] - chosen[0] + 1 - length
                for below in product(*(fragments(node.children[k]) for k in chosen)):
                    skipped = gaps + sum(more for _, more in below)
                    found.append((Tree(node.label, [tree for tree, _ in below]), skipped))
        return found

    def shape(tree: Tree) -> Any:
        return tuple(shape(child) for child in tree.children)

    total = 0.0
    roots = [[node for node in tree.nodes() if leaves or node.children] for tree in (first, second)]
    ours, theirs = ([found for node in side for found in fragments(node)] for side in roots)
    for one, gaps in ours:
        for other, more in theirs:
            if shape(one) == shape(other):
                pairs = list(zip(one.nodes(), other.nodes(), strict=True))
                childless = sum(not node.children for node, _ in pairs)
                alike = prod(similarity(a.label, b.label) for a, b in pairs)
                total += mu ** len(pairs) * lam ** (2 * childless + gaps + more) * alike
    return total


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


@lru_cache(_KEPT**2)
def tagging(first: Tagged, second: Tagged, lam: float = 0.4) -> float:
    """Return the sum of lam^length(f) * count in first * count in second over pieces f."""
    a, b = tagging_counts(first), tagging_counts(second)
    return sum(lam ** len(f) * a[f] * b[f] for f in a if f in b)


@lru_cache(_KEPT)
def tagging_counts(sequence: Tagged) -> Counter[Piece]:
    """Count the pieces of a sequence."""
    return Counter(tagging_features(sequence))


# --- sequences of features --------------------------------------------------------------------------------------


def _locality_of(
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


def _subsequence_of(s: Sequence[Hashable], t: Sequence[Hashable], lam: float = 0.5, length: int = 2) -> float:
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


def _edit_distance_of(
    first: Tree | None, second: Tree | None, cost: Callable[[str | None, str | None], float]
) -> float:
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


# --- plain kernels --------------------------------------------------------------------------------------------------


def word_similarity(vectors: Any) -> tuple[Callable[[str, str], float], Callable[[str], bool]]:
    """Return the similarity of two words in each form that `Smoothed` accepts, and whether a word has one."""
    if callable(vectors):
        return vectors, lambda word: False
    if isinstance(vectors, Mapping) and any(isinstance(key, tuple) for key in vectors):
        words = {word for pair in vectors for word in pair}
        return lambda v, w: vectors.get((v, w), vectors.get((w, v), 0.0)), lambda word: word in words
    known = WordVectors.of(vectors)
    return known.similarity, lambda word: word in known


def label_similarity(
    vectors: Any, threshold: float, word: Callable[[str], Any] | None = None
) -> Callable[[str, str], float]:
    """Return the similarity of two labels, by the rules of `Smoothed`."""
    of_words, known = word_similarity(vectors)

    def kelp(label: str) -> tuple[str, Any] | None:
        kind, text = "", label
        prefix = label.partition("##")[0]
        if "##" in label and prefix.isalpha() and prefix.isupper():
            kind, text = label.split("##", 1)
            if not text:
                kind, text = "", label
        lemma, part = text, ""
        if "::" in text and all(text.rsplit("::", 1)):
            lemma, part = text.rsplit("::", 1)
        if kind not in ("", "LEX") and not known(label):
            return None
        if kind == "COMP":
            part = "".join(piece.rsplit("::", 1)[-1] if "::" in piece else piece for piece in re.split("([<,])", text))
        for name in (label, text):
            if known(name):
                return name, (kind, part)
        return lemma, (kind, part)

    def of_label(label: str) -> tuple[str, Any] | None:
        if word is None:
            return kelp(label)
        found = word(label)
        return found if found is None or isinstance(found, tuple) else (found, None)

    def similarity(v: str, w: str) -> float:
        if v == w:
            return 1.0
        first, second = of_label(v), of_label(w)
        if first is None or second is None or first[1] != second[1]:
            return 0.0
        if first[0] == second[0]:
            return 1.0
        value = of_words(first[0], second[0])
        return value if value > threshold else 0.0

    return similarity


def _smoothed(a: Tree, b: Tree, vectors: Any, threshold: float, word: Any, **params: Any) -> float:
    return smoothed_partial_tree(a, b, label_similarity(vectors, threshold, word), **params)


def _forest(a: Forest | Tree, b: Forest | Tree, lam: float, leaves: bool) -> float:
    """Return the sum of P(t1 | f1) P(t2 | f2) SST(t1, t2) over all pairs of trees."""
    first, second = (item.trees() if isinstance(item, Forest) else [(item, 1.0)] for item in (a, b))
    if not first or not second:
        return 0.0
    whole = fsum(p for _, p in first) * fsum(p for _, p in second)
    return fsum(p * q * subset_tree(t, u, lam, leaves=leaves) for t, p in first for u, q in second) / whole


def by_type(example: Any) -> dict[str, Any]:
    """Return sequences of features by type. A plain sequence has the empty type."""
    return dict(example) if isinstance(example, Mapping) else {"": example}


def _locality(a: Any, b: Any, window: Any, theta: float, match: str, weights: Mapping[str, float] | None) -> float:
    first, second, total = by_type(a), by_type(b), 0.0
    for name in first.keys() & second.keys():
        size = window[name] if isinstance(window, Mapping) else window
        factor = (weights or {}).get(name, 1)
        total += factor * _locality_of(first[name], second[name], size, theta, match)
    return total


def _subsequence(a: Any, b: Any, lam: float, length: int) -> float:
    first, second = by_type(a), by_type(b)
    return sum(_subsequence_of(first[name], second[name], lam, length) for name in first.keys() & second.keys())


def _dot(a: Any, b: Any) -> float:
    if not isinstance(a, Mapping):
        a, b = (dict(enumerate(x if hasattr(x, "__len__") else [x])) for x in (a, b))
    return float(sum(value * b[name] for name, value in a.items() if name in b))


def _polynomial(a: Any, b: Any, degree: int, coef0: float, gamma: float) -> float:
    return float((gamma * _dot(a, b) + coef0) ** degree)


definition.register(kernels.Subtree, _of_parameters(subtree))
definition.register(kernels.SubsetTree, _of_parameters(subset_tree))
definition.register(kernels.PartialTree, _of_parameters(partial_tree))
definition.register(kernels.Smoothed, _of_parameters(_smoothed))
definition.register(kernels.ForestKernel, _of_parameters(_forest))
definition.register(kernels.Tagging, _of_parameters(tagging))
definition.register(kernels.Locality, _of_parameters(_locality))
definition.register(kernels.Subsequence, _of_parameters(_subsequence))
definition.register(kernels.Linear, _of_parameters(_dot))
definition.register(kernels.Polynomial, _of_parameters(_polynomial))


# --- the algebra ------------------------------------------------------------------------------------------------


@definition.register
def _constant(kernel: kernels.Constant) -> Slow:
    return lambda a, b: kernel.value


@definition.register
def _sum(kernel: kernels.Sum) -> Slow:
    parts = [definition(term) for term in kernel.get_params(deep=False).values()]
    return lambda a, b: sum(term(a, b) for term in parts)


@definition.register
def _product(kernel: kernels.Product) -> Slow:
    parts = [definition(factor) for factor in kernel.get_params(deep=False).values()]
    return lambda a, b: prod(factor(a, b) for factor in parts)


@definition.register
def _scale(kernel: kernels.Scale) -> Slow:
    inner = definition(kernel.kernel)
    return lambda a, b: kernel.factor * inner(a, b)


@definition.register
def _normalized(kernel: kernels.Normalized) -> Slow:
    inner = definition(kernel.kernel)

    def value(a: Any, b: Any) -> float:
        scale = sqrt(inner(a, a) * inner(b, b))
        return inner(a, b) / scale if scale else 0.0

    return value


@definition.register
def _gaussian(kernel: kernels.Gaussian) -> Slow:
    inner = definition(kernel.kernel)
    return lambda a, b: exp(-(inner(a, a) - 2 * inner(a, b) + inner(b, b)) / kernel.sigma**2)


@definition.register
def _polynomial_of(kernel: kernels.PolynomialOf) -> Slow:
    inner = definition(kernel.kernel)
    return lambda a, b: (inner(a, b) + kernel.coef0) ** kernel.degree


@definition.register
def _on(kernel: kernels.On) -> Slow:
    return on_columns(kernel, definition(kernel.kernel))


def on_columns(kernel: kernels.On, inner: Slow) -> Slow:
    """Turn a function of two values into a function of two rows, for the columns of a kernel."""
    names = kernel.names
    if len(names) == 1:
        return lambda a, b: inner(a[names[0]], b[names[0]])

    def side_by_side(row: Any) -> list[float]:
        parts = [row[name] for name in names]
        return [number for block in parts for number in (block if isinstance(block, list) else [block])]

    return lambda a, b: inner(side_by_side(a), side_by_side(b))


@definition.register
def _statement_overlap(kernel: kernels.StatementOverlap) -> Slow:
    def overlap(a: Tree | None, b: Tree | None) -> float:
        first, second = (Counter(parts(tree)) if tree is not None else Counter() for tree in (a, b))
        total = weight(first) + weight(second)
        return 2 * weight(first & second) / total if total else 0.0

    def parts(tree: Tree) -> list[tuple[bool, str, int]]:
        pairs = [(form, part) for form in (False, True) for part in statements(tree, form)]
        return [(form, str(part), sum(1 for _ in part.nodes())) for form, part in pairs]

    def weight(counts: Counter[tuple[bool, str, int]]) -> int:
        return sum(count * ceil(sqrt(size)) for (_, _, size), count in counts.items())

    return overlap


BLOCKS = {"block", "statement_block", "compound_statement", "class_body", "statement_list", "handlers", "then"}
"""Some labels of blocks, for random trees."""
PYTHON_STATEMENTS = {kind.__name__ for kind in ast.stmt.__subclasses__()}


def statements(tree: Tree, form: bool = False) -> list[Tree]:
    """Return the statements of a tree, each without the blocks and statements inside it, or their forms.

    >>> tree = Tree.parse("(if_statement (x $1) (block (f x) (return_statement $2)))")
    >>> [str(one) for one in statements(tree)]
    ['(if_statement (x $))', '(f x)', '(return_statement $)']
    >>> [str(one) for one in statements(tree, form=True)]
    ['(if_statement (x leaf))', '(f leaf)', '(return_statement leaf)']
    """

    def is_block(node: Tree) -> bool:
        if not node.children:
            return False
        if node.label in ("body", "orelse"):
            return node.children[0].label in PYTHON_STATEMENTS
        if node.label == "expression_statement" and len(node.children) == 1:
            return is_inner(node.children[0])
        return node.label in BLOCKS

    def is_inner(node: Tree) -> bool:
        if is_block(node):
            return False
        # A wrapper becomes a block only after it is known which nodes have blocks.
        has_block = any(is_block(child) and child.label != "expression_statement" for child in node.children)
        named = node.label.endswith("_statement") and (bool(node.children) or node.label == "return_statement")
        return has_block or (named and node.label not in BLOCKS)

    def header(node: Tree) -> Tree:
        kept = [child for child in node.children if not is_block(child) and not is_inner(child)]
        below = [Tree("leaf") if form and not child.children else header(child) for child in kept]
        return Tree(re.sub(r"^\$\d+$", "$", node.label), below)

    def below(node: Tree) -> list[Tree]:
        found = []
        for child in node.children:
            direct = is_block(node) and not child.label.endswith("parameters")
            if not is_block(child) and (direct or (is_inner(child) and not child.label.endswith("parameters"))):
                found.append(header(child))
            found += below(child)
        return found

    return [header(tree), *below(tree)]


@definition.register
def _crossed(kernel: kernels.Crossed) -> Slow:
    inner, one, other = definition(kernel.kernel), kernel.first, kernel.second
    return lambda x, y: (
        inner(x[one], y[one]) * inner(x[other], y[other]) + inner(x[one], y[other]) * inner(x[other], y[one])
    )


@definition.register
def _bag(kernel: kernels.Bag) -> Slow:
    return over_members(definition(kernel.kernel))


def over_members(inner: Slow) -> Slow:
    """Turn a function of two members into a function of two bags, by summation."""
    return lambda a, b: sum(inner(x, y) for x in a or [] for y in b or [])


# --- distances --------------------------------------------------------------------------------------------------


@definition.register
def _distance(distance: kernels.Distance) -> Slow:
    inner = definition(distance.kernel)
    return lambda a, b: sqrt(max(0.0, inner(a, a) - 2 * inner(a, b) + inner(b, b)))


@definition.register
def _edit_distance(distance: EditDistance) -> Slow:
    return lambda a, b: _edit_distance_of(a, b, distance.cost_of)


@definition.register
def _edit_similarity(similarity: EditSimilarity) -> Slow:
    inner = definition(similarity.distance)

    def value(a: Tree | None, b: Tree | None) -> float:
        larger = max(sum(1 for _ in tree.nodes()) if tree else 0 for tree in (a, b))
        return 1 - inner(a, b) / larger if larger else 1.0

    return value
