"""The slow definitions for grammars and taggers: by listing every tree, and factor by factor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from math import fsum, inf, prod

from treelet.parsing import HMM
from treelet.structures import Tagged, Tree

Rules = Sequence[tuple[str, Sequence[str], float]]


def derivations(rules: Rules, start: str, words: Sequence[str]) -> list[tuple[Tree, float]]:
    """Every tree that the rules have for a sentence, with its probability, best first.

    What heads no rule is a word. A node over another of the same label and span is left out, as the parser leaves it out.
    """
    heads = {head for head, _, _ in rules}

    def below(item: str, begin: int, end: int, above: frozenset[str]) -> list[tuple[Tree, float]]:
        if item not in heads:
            return [(Tree(item), 1.0)] if end == begin + 1 and words[begin] == item else []
        if item in above:
            return []
        trees = []
        for head, tail, probability in rules:
            if head != item:
                continue
            for cuts in combinations(range(begin + 1, end), len(tail) - 1):
                places = [begin, *cuts, end]
                seen = above | {item} if len(tail) == 1 else frozenset()
                parts = [below(tail[k], places[k], places[k + 1], seen) for k in range(len(tail))]
                for choice in product(*parts):
                    tree = Tree(item, [tree for tree, _ in choice])
                    trees.append((tree, probability * prod(p for _, p in choice)))
        return trees

    return sorted(below(start, 0, len(words), frozenset()), key=lambda pair: -pair[1])


def doubled(tree: Tree) -> bool:
    """Whether a node lies over one of its own label and span: `derivations` leave such trees out."""
    stack = [(tree, frozenset([tree.label]))]
    while stack:
        node, above = stack.pop()
        for child in node.children:
            if child.children:
                over = above if len(node.children) == 1 else frozenset()
                if child.label in over:
                    return True
                stack.append((child, over | {child.label}))
    return False


def expected_nodes(trees: Iterable[tuple[Tree, float]]) -> dict[tuple[str, int, int], float]:
    """How many nodes of each (label, begin, end), words left out, a tree is expected to have."""
    pairs = list(trees)
    total = fsum(p for _, p in pairs)
    counts: Counter[tuple[str, int, int]] = Counter()
    for tree, p in pairs:
        for key in spans(tree):
            counts[key] += p / total  # type: ignore[assignment]  # a Counter of floats
    return dict(counts)


def spans(tree: Tree, begin: int = 0) -> list[tuple[str, int, int]]:
    """(label, begin, end) of every node with children."""
    out: list[tuple[str, int, int]] = []
    end = begin
    for child in tree.children:
        if child.children:
            out += spans(child, end)
        end += len(child.words())
    return [(tree.label, begin, end), *out]


def transitions(sequences: Sequence[Tagged], order: int) -> Callable[[Sequence[str], str], float]:
    """P(tag | the `order` tags before) of a tagger learned from sequences; the empty tag stands before and after them.

    Shares of each order, interpolated: an order weighs as often as it would have foretold a tag best, that one not counted
    (Brants 2000, Fig. 1; of those that tie the longest); and a thousandth is the first's.
    """
    seen: list[Counter[tuple[str, ...]]] = [
        Counter() for _ in range(order + 1)
    ]  # of each order: the tags before, the tag
    for sequence in sequences:
        chain = [""] * order + list(sequence.tags) + [""]
        for position in range(order, len(chain)):
            for length, counts in enumerate(seen):
                counts[tuple(chain[position - length : position + 1])] += 1

    def before(length: int, tags: tuple[str, ...]) -> int:
        return sum(n for key, n in seen[length].items() if key[:-1] == tags)

    votes = [0.0] * (order + 1)
    for key, times in seen[order].items():
        shares = []
        for length in range(order + 1):
            own = key[order - length :]
            context = before(length, own[:-1])
            shares.append((seen[length][own] - 1) / (context - 1) if context > 1 else 0.0)
        votes[max(range(order + 1), key=lambda length: (shares[length], length))] += times
    weights = [0.999 * vote / sum(votes) + 0.001 * (length == 0) for length, vote in enumerate(votes)]

    def probability(context: Sequence[str], tag: str) -> float:
        def mixed(tag: str) -> float:
            total = 0.0
            for length, weight in enumerate(weights):
                tags = tuple(context[order - length :])
                if times := before(length, tags):
                    total += weight * seen[length][*tags, tag] / times
            return total

        tags = {key[0] for key in seen[0]}
        return mixed(tag) / fsum(map(mixed, tags))

    return probability


def tag_score(hmm: HMM, words: Sequence[str], tags: Sequence[str]) -> float:
    """Log P(words, tags) of a tagger, factor by factor; transitions are the tagger's own."""
    edge = len(hmm.tags)
    chain = [edge] * hmm.order + [hmm.tags.index(tag) for tag in tags] + [edge]
    total = sum(hmm._log[tuple(chain[i - hmm.order : i + 1])] for i in range(hmm.order, len(chain)))
    for position, (word, tag) in enumerate(zip(words, tags, strict=True)):
        numbers, logs = hmm._emissions(word, position == 0)
        known = dict(zip(numbers.tolist(), logs.tolist(), strict=True))
        total += known.get(hmm.tags.index(tag), -inf)
    return float(total)
