"""Grammars and taggers: charts, k best, forests, inside and outside, draws, beside lists of every derivation and every tag sequence."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from itertools import product
from random import Random
from typing import Any

import numpy as np
from differ import Batch, Row, check
from differ_structures import Structures

import treelet as tl
from definitions.derivations import derivations, doubled, expected_nodes, tag_score, transitions
from treelet.parsing import HMM, PCFG, GrammarWarning

EVERYTHING = 10**6
SIGMAS = 6.5
"""How far a count may be from what is expected, in standard deviations: chance alone has it once in ten thousand million."""

Rules = list[tuple[str, tuple[str, ...], float]]
ROUNDED = 1e-10
"""Log probabilities of rules are rounded to multiples of 2^-38; a parse has some dozens of rules."""


def grammar(random: Random, unary: float = 0.3) -> Rules:
    """Rules of a few symbols: long, unary and mixed ones, cycles included; the probabilities of a head sum to 1."""
    words, symbols = ("x", "y"), ("S", "A", "B", "C")[: random.randint(1, 4)]
    bodies = {(head, (random.choice(words),)) for head in symbols if random.random() < 0.7}
    bodies |= {("S", (random.choice(symbols), random.choice(symbols)))}
    for _ in range(random.randint(1, 8)):
        length = 1 if random.random() < unary else random.choice([1, 2, 2, 3, 4])
        bodies.add((random.choice(symbols), tuple(random.choice([*symbols, *words]) for _ in range(length))))
    bodies |= {(head, (words[0],)) for head in symbols if head not in {head for head, _ in bodies}}
    listed = sorted(bodies)
    random.shuffle(listed)
    weight = [random.randint(1, 9) for _ in listed]
    total = Counter[str]()
    for (head, _), own in zip(listed, weight, strict=True):
        total[head] += own
    return [(head, tail, own / total[head]) for (head, tail), own in zip(listed, weight, strict=True)]


def made(rules: Rules) -> PCFG:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GrammarWarning)
        return PCFG.from_rules(rules, start="S")


def as_probabilities(found: Any) -> list[tuple[str, float]]:
    return [(str(tree), p) for tree, p in found]


def compare_trees(batch: Batch, what: str, found: list[tuple[str, float]], listed: dict[str, float], tell: str) -> None:
    """The same trees with the same probabilities, none twice, in descending order."""
    names = sorted(name for name, _ in found)
    batch.equal(what, names, sorted(listed), tell=tell)
    if names == sorted(listed):
        batch.compare(
            what,
            [p for _, p in found],
            [listed[name] for name, _ in found],
            close=ROUNDED,
            cases=0,
            tell=lambda place: tell,
        )
    falling = [p for _, p in found]
    batch.equal(what, falling == sorted(falling, reverse=True), True, cases=0, tell=f"out of order; {tell}")


@check("PCFG", "sentences under a grammar", "parsers", "all derivations, `tests.definitions.derivations`")
def charts(batch: Batch) -> None:
    random = batch.random
    rules = grammar(random)
    parser = made(rules)
    batch.count(grammars=1)
    for _ in range(10):
        words = [random.choice(["x", "y"]) for _ in range(random.choice([1, 2, 2, 3, 3, 3, 4]))]
        every = derivations(rules, "S", words)
        listed = {str(tree): p for tree, p in every}
        tell = f"rules = {rules}\n  words = {words}"
        if len(every) > 400:
            continue
        batch.count(sentences=1, trees=len(every))
        best = [(str(tree), math.exp(logp)) for tree, logp in parser.parse(words)]
        batch.equal("best parse", bool(best), bool(every), tell=tell)
        if best and every:
            wanted = [every[0][1], listed.get(best[0][0], -1)]
            batch.compare(
                "best parse", [best[0][1]] * 2, wanted, close=ROUNDED, cases=0, tell=lambda place, tell=tell: tell
            )
        found = [(str(tree), math.exp(logp)) for tree, logp in parser.parse(words, k=EVERYTHING)]
        compare_trees(batch, "all parses, best first", found, listed, tell)
        k = random.randint(1, max(1, len(every)))
        some = [math.exp(logp) for _, logp in parser.parse(words, k=k)]
        batch.compare(
            "k best",
            some,
            [p for _, p in every[:k]],
            close=ROUNDED,
            cases=1,
            tell=lambda place, tell=tell: f"{tell}; k={k}",
        )
        compare_forest(batch, parser.forest(words), every, tell)
        if random.random() < 0.6:
            continue
        threshold = random.choice([0.0, random.uniform(0, 4), 8.0])
        least = every[0][1] * math.exp(-threshold) if every else 0.0
        if not any(abs(p / least - 1) < 1e-9 for _, p in every):
            compare_pruned(batch, parser.forest(words, prune=threshold), every, least, f"{tell}; prune={threshold}")
        beam = random.choice([{"beam": 1e6}, {"coarse": parser, "margin": 1e6}, {"beam": random.uniform(0.1, 5)}])
        bounded = [(str(tree), math.exp(logp)) for tree, logp in parser.parse(words, k=50, **beam)]
        batch.equal("bounded search", bool(bounded), bool(every), aside=True, tell=f"{tell}; {beam}")
        expected = [listed.get(name, -1.0) for name, _ in bounded]
        batch.compare(
            "bounded search",
            [p for _, p in bounded],
            expected,
            close=ROUNDED,
            cases=0,
            tell=lambda place, tell=tell: tell,
        )


def compare_forest(batch: Batch, forest: tl.Forest, every: list[tuple[tl.Tree, float]], tell: str) -> None:
    """Trees, their number, inside and outside probabilities."""
    listed = {str(tree): p for tree, p in every}
    batch.equal("forest: trees counted", forest.count_trees(), len(every), tell=tell)
    compare_trees(batch, "forest: trees", as_probabilities(forest.trees()), listed, tell)
    whole = lambda place: tell
    batch.compare("inside", [forest.probability()], [math.fsum(listed.values())], close=ROUNDED, tell=whole)
    if not every:
        batch.equal("outside", bool(forest), False, tell=tell)
        return
    inside, outside, got = forest.inside(), forest.outside(), Counter[Any]()
    heads = {edge.head for edge in forest.edges}
    for number, node in enumerate(forest.nodes):
        if number in heads:
            got[tuple(node)] += inside[number] * outside[number] / inside[forest.root]
    expected = expected_nodes(every)
    batch.equal("outside", got.keys(), expected.keys(), tell=tell)
    if got.keys() == expected.keys():
        batch.compare(
            "outside", [got[key] for key in expected], list(expected.values()), close=ROUNDED, cases=0, tell=whole
        )


def compare_pruned(
    batch: Batch, forest: tl.Forest, every: list[tuple[tl.Tree, float]], least: float, tell: str
) -> None:
    """What is left has all trees that are good enough, and no edge that is in none of them."""
    good = {str(tree): p for tree, p in every if p >= least}
    found = dict(as_probabilities(forest.trees()))
    listed = {str(tree): p for tree, p in every}
    different = good.keys() - found.keys(), found.keys() - listed.keys()
    batch.equal("pruned forest", different, (set(), set()), aside=True, tell=tell)
    needed = {key for tree, p in every if p >= least for key in expected_nodes([(tree, 1.0)])}
    heads = {edge.head for edge in forest.edges}
    kept = {tuple(node) for number, node in enumerate(forest.nodes) if number in heads}
    batch.equal("pruned forest", kept, needed, cases=0, tell=tell)


def drawn_fairly(batch: Batch, what: str, trees: list[str], listed: dict[str, float], tell: str) -> None:
    """As often as the probabilities say: each tree by its count's deviation."""
    total, n, counts = math.fsum(listed.values()), len(trees), Counter(trees)
    batch.equal(what, counts.keys() - listed.keys(), set(), cases=n, tell=tell)
    for name, p in listed.items():
        share = p / total
        deviation = math.sqrt(n * share * (1 - share))
        far = abs(counts[name] - n * share)
        if n * share > 20 or counts[name] > 20:  # else a count has no normal deviation
            fair = far <= SIGMAS * deviation + 1e-9 * n
            batch.equal(
                what, fair, True, cases=0, tell=f"{name}: {counts[name]} of {n}, {n * share:.1f} expected; {tell}"
            )


@check("sampling", "trees drawn", "parsers", "shares of all derivations, by counts")
def sampling(batch: Batch) -> None:
    random = batch.random
    rules = grammar(random, unary=0.2)
    parser, tell = made(rules), f"rules = {rules}"
    batch.count(grammars=1)
    batch.rows |= {"trees of a forest": Row(), "trees of a grammar": Row()}
    words = [random.choice(["x", "y"]) for _ in range(random.randint(1, 4))]
    every = {str(tree): p for tree, p in derivations(rules, "S", words)}
    n = 300
    if 0 < len(every) <= 400:
        trees = parser.forest(words).sample(n, random_state=random.getrandbits(31))
        drawn_fairly(batch, "trees of a forest", list(map(str, trees)), every, f"{tell}\n  words = {words}")
    most = 3
    listed = {
        str(tree): p
        for length in range(1, most + 1)
        for sentence in product(["x", "y"], repeat=length)
        for tree, p in derivations(rules, "S", list(sentence))
    }
    if not listed or len(listed) > 2000:
        return
    found = parser.sample(n, random_state=random.getrandbits(31), max_words=most).strings()
    # Derivations leave out what a sampler must draw: a symbol over itself with one span. Of the others the shares are the same.
    once = [name for name in found if not doubled(tl.Tree.parse(name))]
    drawn_fairly(batch, "trees of a grammar", once, listed, tell)


@check("grammars of treebanks", "rules", "parsers", "relative frequencies, counted tree by tree")
def estimates(batch: Batch) -> None:
    random = batch.random
    draw = Structures(random, 14)
    bank = [tree for tree in draw.examples("trees", random.choice([3, 20])) if tree is not None and tree.children]
    if not bank:
        return
    counts: dict[str, Counter[Any]] = {}
    for tree in bank:
        for node in tree.nodes():
            if node.children:
                tail = tuple((child.label, not child.children) for child in node.children)
                counts.setdefault(node.label, Counter())[tail] += 1
    parser = PCFG.from_treebank(bank, unknown=None)
    found = {
        (rule.head, tuple((str(item), isinstance(item, tl.parsing.Word)) for item in rule.tail)): rule.probability
        for rule in parser.productions()
    }
    expected = {(head, tail): n / tails.total() for head, tails in counts.items() for tail, n in tails.items()}
    tell = f"bank = {list(map(str, bank))}"
    batch.equal("rules of a treebank", found.keys(), expected.keys(), cases=len(expected), tell=tell)
    if found.keys() == expected.keys():
        batch.compare("rules of a treebank", [found[key] for key in expected], list(expected.values()), cases=0)
    batch.count(banks=1)


# --- tags -----------------------------------------------------------------------------------------------------------


@check("HMM", "sentences under a tagger", "parsers", "all tag sequences, each by its factors")
def taggers(batch: Batch) -> None:
    random = batch.random
    draw = Structures(random)
    bank = [draw.tagged() for _ in range(random.randint(1, 6))]
    order, low = random.choice([1, 2]), random.choice([1, 2, 5])
    hmm = HMM.from_tagged(bank, order=order, min_count=low)
    batch.count(taggers=1)
    probability, edge = transitions(bank, order), len(hmm.tags)
    contexts = [key for key in product(range(edge + 1), repeat=order) if edge not in key[1:] or set(key) == {edge}]
    for context in random.sample(contexts, min(8, len(contexts))):
        names = [(*hmm.tags, "")[number] for number in context]
        expected = [probability(names, tag) for tag in (*hmm.tags, "")]
        tell = f"bank = {bank}; order={order}; after {names}"
        batch.compare("transitions", np.exp(hmm._log[context]), expected, tell=lambda place, tell=tell: tell)
    for _ in range(8):
        most = 3 if edge <= 3 else 2
        words = [random.choice([*draw.words, "new", "Ünd"]) for _ in range(random.randint(1, most))]
        k = random.choice([1, 2, 5, 1000])
        every = {tags: tag_score(hmm, words, tags) for tags in product(hmm.tags, repeat=len(words))}
        possible = sorted((score for score in every.values() if score > -math.inf), reverse=True)
        found = hmm.tag(words, k=k)
        tell = f"bank = {bank}; order={order}, min_count={low}\n  words = {words}, k={k}"
        logs = [logp for _, logp in found]
        batch.compare(
            "k best tag sequences",
            logs,
            possible[:k],
            1 + np.abs(possible[:k]),
            cases=1,
            tell=lambda place, tell=tell: tell,
        )
        own = [every[item.tags] for item, _ in found]
        batch.compare("k best tag sequences", logs, own, 1 + np.abs(own), cases=0, tell=lambda place, tell=tell: tell)
        batch.equal("k best tag sequences", len({item.tags for item, _ in found}), len(found), cases=0, tell=tell)
        batch.equal(
            "k best tag sequences", logs == sorted(logs, reverse=True), True, cases=0, tell=f"out of order; {tell}"
        )
