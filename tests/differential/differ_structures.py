"""Random structures, ordinary and odd: single nodes, chains, equal children, one label, words that are labels, Unicode."""

from __future__ import annotations

from random import Random
from typing import Any

from treelet.structures import Forest, Tagged, Tree

ALPHABETS = [
    (("A", "B", "C"), ("x", "y", "z")),
    (("A", "B", "C"), ("x", "y", "z")),
    (("A", "B"), ("A", "B", "x")),  # words that are labels, too
    (("S",), ("x",)),  # all are alike
    (("S",), ("S",)),
    (
        ("é", "e\u0301", "日本", "ß"),
        ("\U0001f600", "naïve", "ǅ", "\u200d", "Ω"),
    ),  # equal to the eye, not in code points
    (tuple("ABCDEFGH"), tuple("stuvwxyz")),
]
FEATURES = ("a", "b", "c", "é", 1, 2.5, (1, "a"), None, "1")
SENTENCE = 4


class Structures:
    """Structures over one alphabet, each perhaps a changed copy of one before it, as parses of one sentence are."""

    def __init__(self, random: Random, most: int = 9) -> None:
        self.random, self.most = random, most
        self.labels, self.words = random.choice(ALPHABETS)
        self.before: list[Tree] = []
        self.by_type, self.by_name = random.random() < 0.5, random.random() < 0.4
        self.width = random.choice([1, 2, 3, 3, 8])

    # --- trees ------------------------------------------------------------------------------------------------------

    def word(self) -> str:
        return self.random.choice(self.words)

    def label(self) -> str:
        return self.random.choice(self.labels)

    def grown(self, budget: int, children: int = 4) -> Tree:
        """A tree of about so many nodes; words may stand beside nodes."""
        if budget <= 0:
            return Tree(self.word())
        count = self.random.randint(1, min(children, budget))
        cuts = sorted(self.random.randint(0, budget - count) for _ in range(count - 1))
        shares = [end - begin for begin, end in zip([0, *cuts], [*cuts, budget - count], strict=True)]
        return Tree(self.label(), [self.grown(share, children) for share in shares])

    def chain(self, length: int) -> Tree:
        tree = Tree(self.word())
        for _ in range(length):
            tree = Tree(self.label(), [tree])
        return tree

    def equal_children(self, budget: int) -> Tree:
        count = self.random.randint(2, 3)
        return Tree(self.label(), [self.grown(max(0, budget // count - 1))] * count)

    def changed(self, tree: Tree) -> Tree:
        """A copy of it, but for one node."""
        if not tree.children or self.random.random() < 0.25:
            other = self.label() if tree.children else self.word()
            return Tree(other, tree.children)
        place = self.random.randrange(len(tree.children))
        kids = list(tree.children)
        kids[place] = self.changed(kids[place])
        return Tree(tree.label, kids)

    def tree(self, most: int | None = None) -> Tree:
        most, kind = most or self.most, self.random.random()
        if kind < 0.05:
            tree = Tree(self.word())
        elif kind < 0.12:
            tree = self.chain(self.random.randint(1, most - 1))
        elif kind < 0.22:
            tree = self.equal_children(most - 1)
        elif kind < 0.45 and self.before:
            tree = self.changed(self.random.choice(self.before))
        else:
            tree = self.grown(self.random.randint(0, most - 1))
        if len(list(tree.nodes())) <= most:
            self.before.append(tree)
            return tree
        return self.tree(most)

    # --- what else is compared --------------------------------------------------------------------------------------

    def parse(self, words: list[str], chain: int = 0) -> Tree:
        """A tree over a sentence."""
        if len(words) == 1:
            over = chain < 2 and self.random.random() < 0.25
            return Tree(self.label(), [self.parse(words, chain + 1) if over else words[0]])
        cuts = sorted(self.random.sample(range(1, len(words)), self.random.randint(1, min(2, len(words) - 1))))
        parts = [words[i:j] for i, j in zip([0, *cuts], [*cuts, len(words)], strict=True)]
        return Tree(
            self.label(), [p[0] if len(p) == 1 and self.random.random() < 0.2 else self.parse(p) for p in parts]
        )

    def forest(self) -> Forest | Tree:
        words = [self.word() for _ in range(self.random.choice([1, 2, 2, 3, 3, SENTENCE]))]
        trees = [(self.parse(words), self.random.randint(1, 5) / 5) for _ in range(self.random.choice([1, 2, 2, 3]))]
        if len(trees) == 1 and self.random.random() < 0.3:
            return trees[0][0]
        return Forest.from_trees(trees, packing=self.random.choice(["nodes", "union"]))

    def tagged(self) -> Tagged:
        words = [self.word() for _ in range(self.random.randint(1, 7))]
        return Tagged(words, [self.label() for _ in words])

    def features(self) -> list[Any]:
        return [self.random.choice(FEATURES[: self.width + 1]) for _ in range(self.random.choice([0, 1, 2, 3, 5, 8]))]

    def sequence(self) -> Any:
        if self.by_type and self.random.random() < 0.6:
            return {name: self.features() for name in ("w", "t") if self.random.random() < 0.8}
        return self.features()

    def number(self) -> float:
        """Sums of products of such numbers are exact, but for the last."""
        return self.random.choice([0.0, self.random.randint(-12, 12) / 4, self.random.randint(-12, 12) / 4, 1e-3])

    def vector(self) -> list[float] | dict[str, float]:
        if self.by_name:
            return {name: self.number() for name in "pqré" if self.random.random() < 0.6}
        return [self.number() for _ in range(self.width)]

    def row(self) -> dict[str, Any]:
        return {
            "tree": self.tree(6),
            "other": None if self.random.random() < 0.2 else self.tree(5),
            "vector": [self.number() for _ in range(self.width)],
            "features": {name: self.number() for name in "pqr" if self.random.random() < 0.6},
            "number": self.number(),
            "bag": [self.tree(4) for _ in range(self.random.randint(0, 2))],
            "tags": self.tagged(),
        }

    def bag(self, member: str) -> list[Any] | None:
        if self.random.random() < 0.05:
            return None
        few = {"trees": lambda: self.tree(5), "vectors": self.vector, "tagged": self.tagged}[member]
        return [few() for _ in range(self.random.randint(0, 3))]

    def example(self, kind: str) -> Any:
        """One of a kind; now and then, where it may be, a missing one."""
        if kind in ("trees", "forests", "tagged", "sequences") and self.random.random() < 0.02:
            return None
        if kind.startswith("bags of "):
            return self.bag(kind.removeprefix("bags of "))
        singular = {"trees": "tree", "forests": "forest", "tagged": "tagged", "sequences": "sequence"}
        return getattr(self, singular.get(kind, kind.removesuffix("s")))()

    def examples(self, kind: str, n: int) -> list[Any]:
        return [self.example(kind) for _ in range(n)]
