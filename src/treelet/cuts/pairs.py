"""Pairs of trees: marks on the words that both trees contain, and the part of a tree near such marks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any

from treelet.checks import check_integer, check_one_of, wrong
from treelet.cuts.tree_index import TreeIndex
from treelet.errors import ParameterError
from treelet.structures import Tree, Treebank
from treelet.structures.tree import check_label

_WORDS = (
    "a about above after again against all also although am among an and another any anybody anyone anything are aren't "
    "around as at be because been before being below between both but by can can't cannot could couldn't did didn't do "
    "does doesn't doing don't down during each either else every everybody everyone everything few for from further had "
    "hadn't has hasn't have haven't having he he's her here hers herself him himself his how i i'm if in into is isn't it "
    "it's its itself just let's many may me might mine more most much must my myself neither never no nobody none nor not "
    "nothing now of off on once one's only onto or other others ought our ours ourselves out over own per same shall she "
    "she's should shouldn't since so some somebody someone something such than that that's the their theirs them "
    "themselves then there there's these they they're this those though through to too toward towards under until up "
    "upon us very was wasn't we we're were weren't what what's when where whether which while who who's whom whose why "
    "will with within without won't would wouldn't yet you you're your yours yourself yourselves 'd 'll 'm 're 's 've n't "
    "-lrb- -rrb- -lcb- -rcb- -lsb- -rsb-"
)
_STOP_WORDS = frozenset(_WORDS.split())
"""English words without content, in lower case."""

By = Callable[[str, str], Hashable | None]
Mark = Callable[[Any], str | None]


def mark_shared(
    a: Any,
    b: Any,
    by: str | By = "lemma",
    propagate: str | None = "phrase",
    label: str | Mark = "REL",
    *,
    stop_words: str | Collection[str] | None = "english",
) -> tuple[Any, Any]:
    """Mark the words that two trees have in common (Severyn & Moschitti 2012).

    A kernel that compares pairs of trees, such as ``On("a", k) + On("b", k)``, compares each tree
    with a tree of another pair. Only marks tell this kernel which words a pair shares.

    Parameters
    ----------
    a, b : Tree or str, or a collection of trees
        The two trees of a pair, or two collections of the same length, one pair per row.
    by : "lemma" or callable, default "lemma"
        Two words are the same if their keys are equal. ``"lemma"``: the word in lower case, without
        the endings of steps 1 and 5a of Porter (1980): *dogs*, *dog*; *dances*, *danced*,
        *dancing*, *dance*; *ladies*, *lady*. Irregular forms such as *ran* and *run* are different
        words. A callable gets a word and the label above it, and returns any hashable key, or None
        for a word that is not marked.
    propagate : {"phrase", "tag", None}, default "phrase"
        Nodes that get the mark. ``"phrase"``: the node above the word, and the node above that.
        ``"tag"``: only the node above the word. None: the word itself. Nodes that do not exist,
        above the root, get no mark.
    label : str or callable, default "REL"
        The mark, which is put before the labels of the nodes, as in REL-NN. A callable gets a key
        that both trees contain, and returns the mark of its words, or None for no mark. A node with
        several marks gets each of them once, in the order of the words.
    stop_words : "english", collection of str or None, default "english"
        Words in lower case that are never marked. ``"english"``: about 200 words without content.
        Words without letters and digits are not marked either. None marks all words.

    Returns
    -------
    (Tree, Tree) or (Treebank, Treebank)
        The two trees with marks. Trees without a word in common are unchanged, and a missing tree
        (None) stays missing.

    See Also
    --------
    pruned : drops the parts of a tree that are far from marks.

    References
    ----------
    Severyn & Moschitti (2012), Structural relationships for large-scale learning of answer re-ranking. Porter (1980),
    An algorithm for suffix stripping.

    Examples
    --------
    >>> from treelet.cuts import mark_shared
    >>> for tree in mark_shared("(S (NP (D the) (N dogs)) (V ran))", "(S (NP (D the) (N dog)) (V sat))"):
    ...     print(tree)
    (S (REL-NP (D the) (REL-N dogs)) (V ran))
    (S (REL-NP (D the) (REL-N dog)) (V sat))
    >>> kinds = {"rome": "CITY", "oslo": "CITY"}
    >>> first, second = mark_shared(
    ...     "(NP (N Rome))", "(NP (N Oslo))", by=lambda word, tag: kinds.get(word.lower()), label="REL-{}".format
    ... )
    >>> print(first)
    (REL-CITY-NP (REL-CITY-N Rome))
    """
    if by != "lemma" and not callable(by):
        raise wrong("by", "'lemma' or a function of a word and its tag", by, of="mark_shared")
    check_one_of("propagate", propagate, ("phrase", "tag", None))
    if not callable(label):
        check_label(label)
    if isinstance(stop_words, str) and stop_words != "english":
        raise wrong("stop_words", "'english' or a collection of words", stop_words, of="mark_shared", optional=True)
    excluded = _STOP_WORDS if isinstance(stop_words, str) else stop_words
    levels = {"phrase": (1, 2), "tag": (1,), None: (0,)}[propagate]
    key_of: By = (lambda word, tag: _stem(word.lower())) if by == "lemma" else by  # type: ignore[assignment]

    def marked(pair: tuple[Tree | None, Tree | None]) -> tuple[Tree | None, Tree | None]:
        indexes = [TreeIndex(tree) for tree in pair if tree is not None]
        if len(indexes) < 2:
            return pair
        keys = [_keys(index, key_of, excluded) for index in indexes]
        shared = set(keys[0]) & set(keys[1]) - {None}
        marks = {
            key: check_label(mark) for key in shared if (mark := label(key) if callable(label) else label) is not None
        }
        first, second = (
            _with_marks(index, [marks.get(key) for key in tree_keys], levels)
            for index, tree_keys in zip(indexes, keys, strict=True)
        )
        return first, second

    if all(tree is None or _is_tree(tree) for tree in (a, b)):
        first, second = (None if tree is None else TreeIndex(tree).tree for tree in (a, b))
        return marked((first, second))
    banks = [Treebank([tree] if _is_tree(tree) else tree) for tree in (a, b)]
    if len(banks[0]) != len(banks[1]) or _is_tree(a) != _is_tree(b):
        raise ParameterError(
            f"mark_shared needs pairs of trees, but 'a' has {len(banks[0]):,} and 'b' has {len(banks[1]):,}. Pass two "
            "trees, or two collections of the same length."
        )
    pairs = [marked(pair) for pair in zip(*banks, strict=True)]
    return Treebank([first for first, _ in pairs]), Treebank([second for _, second in pairs])


def _is_tree(value: object) -> bool:
    return isinstance(value, (Tree, str))


def _keys(index: TreeIndex, key_of: By, stop_words: Collection[str] | None) -> list[Hashable | None]:
    """Return the key of each word, None for words that are not marked."""
    keys: list[Hashable | None] = []
    for leaf in index.leaves:
        word, above = index.label(leaf), index.parent[leaf]
        excluded = stop_words is not None and (
            word.lower() in stop_words or not any(character.isalnum() for character in word)
        )
        keys.append(None if excluded else key_of(word, index.label(above) if above >= 0 else ""))
    return keys


def _with_marks(index: TreeIndex, marks: Iterable[str | None], levels: Collection[int]) -> Tree:
    """Return the tree with a mark per word on the nodes that are so many levels above the word."""
    of_node: dict[int, dict[str, None]] = {}
    for leaf, mark in zip(index.leaves, marks, strict=True):
        node = leaf
        for level in range(max(levels) + 1):
            if mark is not None and node >= 0 and level in levels:
                of_node.setdefault(node, {})[mark] = None
            node = index.parent[node] if node >= 0 else -1
    return index.rebuilt(rename={node: "-".join([*names, index.label(node)]) for node, names in of_node.items()})


def _stem(word: str) -> str:
    """Return a word in lower case without the endings of steps 1 and 5a of Porter (1980).

    >>> [_stem(word) for word in ("dogs", "ladies", "lady", "hopping", "hoping", "dance", "dancing", "sing", "boxes")]
    ['dog', 'ladi', 'ladi', 'hop', 'hope', 'danc', 'danc', 'sing', 'box']
    """
    if len(word) < 3 or not word.isalpha() or not word.isascii():
        return word
    if word.endswith(("sses", "shes", "ches", "xes", "ies")):  # shes, ches and xes are an addition to Porter
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word.endswith("eed"):
        word = word[:-1] if _syllables(word[:-3]) else word
    else:
        ending = next((ending for ending in ("ed", "ing") if word.endswith(ending)), "")
        stem = word.removesuffix(ending)
        if ending and "v" in _pattern(stem):
            if stem.endswith(("at", "bl", "iz")) or (_syllables(stem) == 1 and _is_short(stem)):
                word = f"{stem}e"
            elif len(stem) > 1 and stem[-1] == stem[-2] and _pattern(stem)[-1] == "c" and stem[-1] not in "lsz":
                word = stem[:-1]
            else:
                word = stem
    if word.endswith("y") and "v" in _pattern(word[:-1]):
        return f"{word[:-1]}i"
    stem = word.removesuffix("e")
    return stem if _syllables(stem) > 1 or (_syllables(stem) == 1 and not _is_short(stem)) else word


def _is_short(stem: str) -> bool:
    """Return whether a stem ends with a consonant, a vowel and a consonant other than w, x and y."""
    return _pattern(stem).endswith("cvc") and stem[-1] not in "wxy"


def _pattern(word: str) -> str:
    """Return a letter per letter: v for a vowel, and for a y after a consonant; c for others.

    >>> _pattern("toy"), _pattern("syzygy")
    ('cvc', 'cvcvcv')
    """
    kinds = ""
    for letter in word:
        kinds += "v" if letter in "aeiou" or (letter == "y" and kinds.endswith("c")) else "c"
    return kinds


def _syllables(stem: str) -> int:
    """Return the number of vowels that are followed by a consonant: the measure m of Porter (1980).

    >>> _syllables("tr"), _syllables("trouble"), _syllables("troubles")
    (0, 1, 2)
    """
    return _pattern(stem).count("vc")


def pruned(tree: Any, keep: str | Callable[[str], bool] = "REL", distance: int = 2) -> Any:
    """Drop the constituents of a tree that are far from any mark.

    Parameters
    ----------
    tree : Tree or str, or a collection of trees
        The trees, for example with the marks of `mark_shared`.
    keep : str or callable, default "REL"
        Marked nodes: those whose label is `keep`, or begins with `keep` and a hyphen. A callable gets
        a label and returns whether its node is marked.
    distance : int, default 2
        Maximum number of steps from the node above a word to the nearest marked node, at least 0. A
        step leads from a node to its parent or to a child.

    Returns
    -------
    Tree or Treebank
        The words within the distance, marked words, and all nodes above them. A tree without such
        words, for example without marks, is returned unchanged.

    Examples
    --------
    >>> from treelet.cuts import pruned
    >>> tree = "(S (REL-NP (D the) (REL-N dog)) (VP (V saw) (NP (D a) (N man) (PP (P in) (NP (N town))))))"
    >>> print(pruned(tree))
    (S (REL-NP (D the) (REL-N dog)))
    >>> print(pruned(tree, distance=4))
    (S (REL-NP (D the) (REL-N dog)) (VP (V saw) (NP (D a) (N man))))
    """
    check_integer("distance", distance, 0, of="pruned")
    if isinstance(keep, str):
        check_label(keep)
    elif not callable(keep):
        raise wrong("keep", "a mark or a function of a label", keep, of="pruned")
    if not _is_tree(tree):
        return Treebank(
            [None if one is None else _near_marks(TreeIndex(one), keep, distance) for one in Treebank(tree)]
        )
    return _near_marks(TreeIndex(tree), keep, distance)


def _near_marks(index: TreeIndex, keep: str | Callable[[str], bool], distance: int) -> Tree:
    def is_marked(label: str) -> bool:
        return label == keep or label.startswith(f"{keep}-") if isinstance(keep, str) else bool(keep(label))

    steps = [0 if is_marked(node.label) else -1 for node in index.nodes]
    waiting = deque(number for number, count in enumerate(steps) if count == 0)
    while waiting:
        node = waiting.popleft()
        if steps[node] == distance:
            continue
        for neighbor in (index.parent[node], *index.children(node)):
            if neighbor >= 0 and steps[neighbor] < 0:
                steps[neighbor] = steps[node] + 1
                waiting.append(neighbor)
    kept = set[int]()
    for leaf in index.leaves:
        node, above = leaf, index.parent[leaf]
        if steps[leaf] == 0 or (above >= 0 and steps[above] >= 0):
            while node >= 0 and node not in kept:
                kept.add(node)
                node = index.parent[node]
    return index.rebuilt(keep=kept) if kept else index.tree
