"""Constituents: the labeled spans of a tree. A convention determines which of them count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np

from treelet.checks import plural, wrong
from treelet.errors import InputTypeError, TreeError
from treelet.structures import Treebank
from treelet.vocabulary import keyword

Chain = tuple[int, "Chain | None"]  # labels of the nodes over one span, linked: a unary chain may be very long
Found = tuple[int, int, int, int, Chain | None]  # matched, proposed, crossing, correct tags, labels not yet matched


@dataclass(frozen=True)
class Convention:
    """Rules that determine which nodes of a tree are constituents, and which words their spans contain.

    A constituent is a node with its label and its span. Words never count. Preterminals (nodes whose children
    are all words) count only with ``preterminals=True``. A constituent without words does not count.

    Parameters
    ----------
    ignored : collection of str, default ()
        Labels of nodes that do not count. The nodes below them count.
    punctuation : collection of str, default ()
        Tags of words that are excluded from spans. When two trees are compared, the tags of the gold tree
        decide for both. A wrongly tagged comma therefore does not shift the spans after it.
    empty : collection of str, default ()
        Tags of empty elements. They are deleted first, by the tags of each tree.
    same : collection of (str, str), default ()
        Pairs of labels that count as one label.
    function_tags : bool, default True
        Whether to compare complete labels. False compares labels up to the first ``-`` or ``=``, so NP-SBJ is NP.
    preterminals : bool, default False
        Whether preterminals count.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from treelet.metrics import PARSEVAL
    >>> with_punctuation = replace(PARSEVAL, punctuation=())
    >>> with_punctuation.category("NP-SBJ"), with_punctuation.category("TOP")
    ('NP', None)
    """

    ignored: Sequence[str] | frozenset[str] = ()
    punctuation: Sequence[str] | frozenset[str] = ()
    empty: Sequence[str] | frozenset[str] = ()
    same: Sequence[tuple[str, str]] = ()
    function_tags: bool = True
    preterminals: bool = False

    def __post_init__(self) -> None:
        for name in ("ignored", "punctuation", "empty", "same"):
            if isinstance(value := getattr(self, name), str):
                raise wrong(name, "a collection of labels", value, of="Convention")

    def category(self, label: str) -> str | None:
        """Return the label to compare, or None if the label does not count."""
        if not self.function_tags:
            cut = min((at for mark in "-=" if (at := label.find(mark)) > 0), default=len(label))
            label = label[:cut]
        if label in self.ignored or label in self.punctuation or label in self.empty:
            return None
        for category, other in self.same:
            if label == other:
                return category
        return label


PLAIN = Convention()
PARSEVAL = Convention(
    ignored=("TOP", "ROOT", "S1"),
    punctuation=(",", ":", "``", "''", ".", "?", "!"),
    empty=("-NONE-",),
    same=(("ADVP", "PRT"),),
    function_tags=False,
)


def constituents(tree: object, convention: Convention = PLAIN) -> Counter[tuple[str, int, int]]:
    """Return the constituents of a tree, with the number of occurrences of each (label, start, end).

    Words are counted from 0, and `end` is the first word after the constituent.

    Parameters
    ----------
    tree : Tree, str, ...
        A tree in any form that `Treebank` accepts.
    convention : Convention, default PLAIN
        Rules for constituents. ``PLAIN`` counts every node except words and preterminals, with all its words,
        as in the parse score of Collins & Duffy (2001). ``PARSEVAL`` follows the program evalb with
        COLLINS.prm, see Notes.

    Returns
    -------
    Counter
        A multiset: in (NP (NP (N John))) the constituent (NP, 0, 1) occurs twice.

    Notes
    -----
    With ``PARSEVAL``, the labels TOP, ROOT and S1 do not count. Words tagged ``, : `` '' . ? !`` are excluded
    from all spans, and -NONE- is deleted. A constituent without remaining words disappears. PRT counts as
    ADVP, and labels end before the first ``-`` or ``=``.

    Examples
    --------
    >>> from treelet.metrics import PARSEVAL, constituents
    >>> tree = "(TOP (S (NP-SBJ (N John)) (, ,) (VP (V sleeps)) (. .)))"
    >>> sorted(constituents(tree))
    [('NP-SBJ', 0, 1), ('S', 0, 4), ('TOP', 0, 4), ('VP', 2, 3)]
    >>> sorted(constituents(tree, PARSEVAL))
    [('NP', 0, 1), ('S', 0, 2), ('VP', 1, 2)]
    """
    scorer = Scorer([Treebank([tree])], convention)
    root = scorer.roots[0]
    if root < 0:
        raise TreeError("A missing tree (None) has no constituents. Pass a tree.")
    spans = scorer.gold(root).brackets
    return Counter({(scorer.categories[number], a, b): count for (number, a, b), count in spans.items()})


class Gold(NamedTuple):
    """A gold tree, prepared for the comparison with parses."""

    root: int
    words: list[int]
    tags: list[int]  # -1 for a word that is excluded from spans, -2 for a word without a tag
    words_before: list[int]  # the number of remaining words before each word; one more for the end
    brackets: Counter[tuple[int, int, int]]
    inner_start: list[int]  # start of the smallest constituent around the boundary before each remaining word
    inner_end: list[int]


class Scorer:
    """Compares parses with gold trees. All trees share one store.

    The contribution of a subtree depends only on the subtree and its first word. It is computed once per
    sentence, even if many candidates contain the subtree. There is no recursion.
    """

    def __init__(self, banks: Sequence[Treebank], convention: Convention) -> None:
        if not isinstance(convention, Convention):
            raise InputTypeError(str(wrong("convention", "PLAIN, PARSEVAL or another Convention", convention)))
        store, roots = Treebank.concat(
            [Treebank(), *banks]
        ).columns  # a new store, with the subtrees of these banks only
        self.roots: list[int] = roots.tolist()
        self.names = names = store.labels
        number: dict[str, int] = {}
        categories = [convention.category(name) for name in names]
        of_label = np.array(
            [-1 if name is None else number.setdefault(name, len(number)) for name in categories], np.int64
        )
        self.categories = list(number)
        self.label: list[int] = store.label.tolist()
        self.start: list[int] = store.child_start.tolist()
        self.child: list[int] = store.child.tolist()
        self.height: list[int] = store.height.tolist()
        counts = store.height > (0 if convention.preterminals else 1)
        self.category: list[int] = np.where(counts, of_label[store.label], -1).tolist() if len(names) else []
        tags = {name: index for index, name in enumerate(names)}
        self.left_out = {tags[name] for name in convention.punctuation if name in tags}
        empty = {tags[name] for name in convention.empty if name in tags}
        self.width: list[int] = []
        for node, height in enumerate(self.height):
            kids = self.child[self.start[node] : self.start[node + 1]]
            if height <= 1:
                self.width.append(0 if height == 1 and self.label[node] in empty else max(len(kids), 1))
            else:
                self.width.append(sum(self.width[kid] for kid in kids))

    def gold(self, root: int) -> Gold:
        """Return the words, tags and constituents of a gold tree."""
        words: list[int] = []
        tags: list[int] = []
        nodes: list[tuple[int, int, int]] = []  # node, where it begins, the constituent around it
        stack = [(root, -1)]
        while stack:
            node, around = stack.pop()
            if not self.width[node]:
                continue
            if self.category[node] >= 0:
                around = len(nodes)
            nodes.append((node, len(words), around))
            kids = self.child[self.start[node] : self.start[node + 1]]
            if self.height[node] == 0:
                words.append(self.label[node])
                tags.append(-2)
            elif self.height[node] == 1:
                tag = self.label[node]
                words.extend(self.label[kid] for kid in kids)
                tags.extend([-1 if tag in self.left_out else tag] * len(kids))
            else:
                stack.extend((kid, around) for kid in reversed(kids))
        words_before = [0]
        for tag in tags:
            words_before.append(words_before[-1] + (tag != -1))

        brackets: Counter[tuple[int, int, int]] = Counter()
        inner_start, inner_end = [-1] * (words_before[-1] + 1), [len(words) + 1] * (words_before[-1] + 1)
        for node, begin, around in nodes:
            a, b = words_before[begin], words_before[begin + self.width[node]]
            if a == b:
                continue
            if self.category[node] >= 0:
                brackets[self.category[node], a, b] += 1
            if around < 0:
                continue
            above, first, _ = nodes[around]
            low, high = words_before[first], words_before[first + self.width[above]]
            # A boundary lies between two children of the smallest node around it.
            at = begin
            for kid in self.child[self.start[node] : self.start[node + 1]]:
                at += self.width[kid]
                if a < words_before[at] < b:
                    inner_start[words_before[at]], inner_end[words_before[at]] = low, high
        return Gold(root, words, tags, words_before, brackets, inner_start, inner_end)

    def compare(self, gold: Gold, roots: Sequence[int], where: Sequence[str]) -> list[tuple[int, int, int, int]]:
        """Return, for each parse, the matched, proposed and crossing constituents, and the words with a correct tag."""
        known: dict[int, Found] = {}
        out = []
        for root, name in zip(roots, where, strict=True):
            if root < 0:
                out.append((0, 0, 0, 0))
                continue
            if self.width[root] != len(gold.words):
                self._differ(gold, root, name)
            matched, proposed, crossing, right, chain = self._found(gold, root, known, name)
            out.append((matched + _matched(gold, chain, 0, gold.words_before[-1]), proposed, crossing, right))
        return out

    def _found(self, gold: Gold, root: int, known: dict[int, Found], where: str) -> Found:
        child, start, width, words_before = self.child, self.start, self.width, gold.words_before
        size = len(gold.words) + 1
        stack = [(root, 0)]
        while stack:
            node, begin = stack[-1]
            key = node * size + begin
            if key in known:
                stack.pop()
                continue
            end = begin + width[node]
            a, b = words_before[begin], words_before[end]
            kids = child[start[node] : start[node + 1]]
            matched = proposed = crossing = right = 0
            chain: Chain | None = None
            if self.height[node] <= 1 and width[node]:
                if gold.words[begin:end] != [self.label[kid] for kid in kids or (node,)]:
                    self._differ(gold, root, where)
                right = gold.tags[begin:end].count(self.label[node]) if kids else 0
            elif width[node]:
                missing, at = len(stack), begin
                for kid in kids:
                    if not width[kid]:
                        continue
                    below = known.get(kid * size + at)
                    if below is None:
                        stack.append((kid, at))
                    elif len(stack) == missing:
                        low, high = words_before[at], words_before[at + width[kid]]
                        if below[4] is not None:
                            if low == a and high == b:
                                chain = below[4]
                            else:
                                matched += _matched(gold, below[4], low, high)
                        matched += below[0]
                        proposed += below[1]
                        crossing += below[2]
                        right += below[3]
                    at += width[kid]
                if len(stack) > missing:
                    continue
            if self.category[node] >= 0 and a < b:
                chain = (self.category[node], chain)
                proposed += 1
                crossing += gold.inner_end[a] < b or gold.inner_start[b] > a
            known[key] = matched, proposed, crossing, right, chain
            stack.pop()
        return known[root * size]

    def _differ(self, gold: Gold, root: int, where: str) -> NoReturn:
        parsed = self.gold(root).words
        ours, theirs = ([self.names[word] for word in words] for words in (gold.words, parsed))
        index = next((k for k, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
        if index is None:
            difference = f"{plural(len(theirs), 'word')}, but the gold tree has {len(ours):,}"
        else:
            difference = f"{theirs[index]!r} as word {index}, but the gold tree has {ours[index]!r}"
        raise TreeError(
            f"{where}: the parse has {difference}. Check that both trees belong to the same sentence, and that traces were "
            f"dropped from both ({keyword('drop_empty', True, of='read_trees')})."
        )


def _matched(gold: Gold, chain: Chain | None, a: int, b: int) -> int:
    if chain is None:
        return 0
    label, rest = chain
    if rest is None:
        return 1 if (label, a, b) in gold.brackets else 0
    labels = Counter([label])
    while rest is not None:
        label, rest = rest
        labels[label] += 1
    return sum(min(count, gold.brackets.get((label, a, b), 0)) for label, count in labels.items())
