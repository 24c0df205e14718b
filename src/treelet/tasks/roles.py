"""Semantic roles: what of a tree says which role a constituent has for a predicate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from numbers import Real

from treelet.errors import InputTypeError
from treelet.structures import Tree
from treelet.structures.heads import CONJUNCTIONS, PUNCTUATION, category
from treelet.structures.spans import Span, SpanNode, TreeIndex, as_index, covering_span

__all__ = [
    "all_candidates",
    "argument_tree",
    "candidates",
    "constituent_tree",
    "covering_span",
    "indicators",
    "path_tree",
    "role_features",
    "voice",
]

ARGUMENT, PREDICATE = "-ARG", "-P"
BE = frozenset(["be", "am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m", "ai"])
GET = frozenset(["get", "gets", "got", "gotten", "getting"])
AnyTree = Tree | str | TreeIndex


# --- trees ------------------------------------------------------------------------------------------------------


def argument_tree(tree: AnyTree, predicate: int, span: Span, *, pruned: bool = True, mark: bool = True) -> Tree:
    """The smallest part of a tree that holds a predicate and one of its arguments.

    This is the structure that Moschitti (2004, 2006) calls PAF. It begins at the lowest common ancestor of both.

    Parameters
    ----------
    tree : Tree, str or TreeIndex
        An index saves time where many arguments of one tree are looked at.
    predicate : int
        The predicate's place in the sentence, counted from 0.
    span : (int, int)
        The argument's first word, and the first word behind it. Where several nodes have exactly these words, the
        topmost is the argument.
    pruned : bool
        True for the paths down to the predicate's word and to the argument, and all that is below the argument. False
        for the complete subtree.
    mark : bool
        True to end the label of the argument in ``-ARG``, and the label right above the predicate's word in ``-P``.

    Returns
    -------
    Tree

    Raises
    ------
    TreeError
        Where the span is no constituent.

    Examples
    --------
    >>> from treelet.tasks.roles import argument_tree
    >>> tree = "(S (NP (N Mary)) (VP (V brought) (NP (D a) (N cat)) (PP (P to) (NP (N school)))))"
    >>> print(argument_tree(tree, 1, (0, 1)))
    (S (NP-ARG (N Mary)) (VP (V-P brought)))
    >>> print(argument_tree(tree, 1, (2, 4)))
    (VP (V-P brought) (NP-ARG (D a) (N cat)))
    >>> print(argument_tree(tree, 1, (2, 4), pruned=False, mark=False))
    (VP (V brought) (NP (D a) (N cat)) (PP (P to) (NP (N school))))
    """
    index, word, argument = _instance(tree, predicate, span)
    up, down = index.path(word, argument)
    top = up[-1]
    keep = {*up, *down, *range(argument, index.after[argument])} if pruned else None
    return index.rebuilt(top, keep=keep, rename=_marks(index, word, argument, top) if mark else None)


def path_tree(tree: AnyTree, predicate: int, span: Span, *, mark: bool = True) -> Tree:
    """The path between a predicate and an argument: the first half of the hybrid kernel of Che et al. (2006).

    The nodes from the predicate's word up to the lowest common ancestor and down to the argument, which ends the path:
    what is below it is for `constituent_tree`.

    Parameters
    ----------
    tree, predicate, span, mark
        As in `argument_tree`.

    Examples
    --------
    >>> from treelet.tasks.roles import path_tree
    >>> print(path_tree("(S (NP (N Mary)) (VP (V brought) (NP (D a) (N cat))))", 1, (0, 1)))
    (S NP-ARG (VP (V-P brought)))
    """
    index, word, argument = _instance(tree, predicate, span)
    up, down = index.path(word, argument)
    return index.rebuilt(up[-1], keep={*up, *down}, rename=_marks(index, word, argument, up[-1]) if mark else None)


def constituent_tree(tree: AnyTree, predicate: int, span: Span) -> Tree:
    """All that an argument consists of: the second half of the hybrid kernel of Che et al. (2006).

    Parameters
    ----------
    tree, predicate, span
        As in `argument_tree`. The predicate makes no difference, and is taken so that all three are called alike.

    Examples
    --------
    >>> from treelet.tasks.roles import constituent_tree
    >>> print(constituent_tree("(S (NP (N Mary)) (VP (V brought) (NP (D a) (N cat))))", 1, (2, 4)))
    (NP (D a) (N cat))
    """
    index, _, argument = _instance(tree, predicate, span)
    return index.nodes[argument]


def _instance(tree: AnyTree, predicate: int, span: Span) -> tuple[TreeIndex, int, int]:
    index = as_index(tree)
    index.check_word(predicate, "predicate")
    index.tag(predicate)  # an error where nothing is above it
    return index, index.word(predicate), index.node_of(span)


def _marks(index: TreeIndex, word: int, argument: int, top: int) -> dict[int, str]:
    marks = {argument: index.label(argument) + ARGUMENT}
    tag = index.parent[word]
    if tag >= top:
        marks[tag] = marks.get(tag, index.label(tag)) + PREDICATE
    return marks


# --- candidates -------------------------------------------------------------------------------------------------


def candidates(tree: AnyTree, predicate: int) -> list[SpanNode]:
    """The constituents that may be arguments of a predicate, by the pruning of Xue & Palmer (2004).

    From the predicate up to the root, the sisters of each node on the way are taken, and of a PP among them the
    children too. What is coordinated with a node on the way is passed over. Punctuation is never taken.

    Two children are coordinated if a CC or a CONJP is beside them and their labels are alike (equal, or both tags of
    verbs, of nouns or of adjectives), or if they are children of a UCP; the conjunction is then passed over as well.

    Parameters
    ----------
    tree : Tree, str or TreeIndex
    predicate : int
        The predicate's place in the sentence, counted from 0.

    Returns
    -------
    list of SpanNode
        With `span`, `label` and `number` in the `TreeIndex`; left to right, longer ones first. None holds the
        predicate.

    Examples
    --------
    >>> from treelet.tasks.roles import all_candidates, candidates
    >>> tree = "(S (NP (N Mary)) (VP (V brought) (NP (D a) (N cat)) (PP (P to) (NP (N school)))))"
    >>> [(node.label, *node.span) for node in candidates(tree, 1)]
    [('NP', 0, 1), ('NP', 2, 4), ('PP', 4, 6), ('P', 4, 5), ('NP', 5, 6)]
    >>> len(all_candidates(tree, 1))
    7
    """
    index = as_index(tree)
    index.check_word(predicate, "predicate")
    node = index.tag(predicate)
    found: list[int] = [] if index.nodes[node].is_preterminal else _others(index, node, index.word(predicate))
    for above in index.ancestors(node):
        for sister in _others(index, above, node):
            found.append(sister)
            if category(index.label(sister)) == "PP":
                found.extend(index.children(sister))
        node = above
    return _records(index, found)


def all_candidates(tree: AnyTree, predicate: int) -> list[SpanNode]:
    """Every constituent that does not hold the predicate, punctuation left out; of equal spans the topmost.

    Parameters and result are those of `candidates`.
    """
    index = as_index(tree)
    index.check_word(predicate, "predicate")
    found = [n for n in range(len(index)) if not index.start[n] <= predicate < index.end[n]]
    return _records(index, found)


def _records(index: TreeIndex, found: Iterable[int]) -> list[SpanNode]:
    spans: dict[Span, SpanNode] = {}
    for node in map(index.__getitem__, sorted(found)):
        if index.nodes[node.number].children and node.label not in PUNCTUATION:
            spans.setdefault(node.span, node)
    return sorted(spans.values(), key=lambda node: (node.start, -node.end))


def _others(index: TreeIndex, above: int, node: int) -> list[int]:
    return uncoordinated(index.label(above), node, index.children(above), index.label)


def uncoordinated(above: str, node: int, children: Sequence[int], label: Callable[[int], str]) -> list[int]:
    """The sisters of a node, without those that are coordinated with it, and then without the conjunction.

    Nodes are numbers, of which `label` gives the labels; `above` is the label above all of them.
    """
    sisters = [child for child in children if child != node]
    if category(above) == "UCP":
        return []
    joined = [sister for sister in sisters if category(label(sister)) in CONJUNCTIONS]
    if not joined:
        return sisters
    mine = _kind(label(node))
    alike = {sister for sister in sisters if _kind(label(sister)) == mine}
    passed = alike.union(joined) if alike else alike
    return [sister for sister in sisters if sister not in passed]


@lru_cache(maxsize=4096)
def _kind(label: str) -> str:
    label = category(label)
    return next((kind for kind in ("VB", "NN", "JJ") if label.startswith(kind)), label)


# --- features ---------------------------------------------------------------------------------------------------


def role_features(tree: AnyTree, predicate: int, span: Span, *, lemma: str | None = None) -> dict[str, str]:
    """The features by which Gildea & Jurafsky (2002) and their followers describe an argument.

    Parameters
    ----------
    tree, predicate, span
        As in `argument_tree`.
    lemma : str, optional
        The predicate's dictionary form, if it is known.

    Returns
    -------
    dict of str
        ``predicate``: its word in lower case, and its ``tag``, and ``lemma`` if given; ``voice``, see `voice`;
        ``subcategorisation``: the rule above the predicate; ``path``: the labels from the predicate up and down to the
        argument; ``phrase``: the argument's label; ``position``: before, after, or around the predicate; ``head`` and
        ``head tag``: its head word (see `TreeIndex.head_child`); ``content``: for a PP, the head of what follows the
        preposition; ``governor``: S or VP, whichever is met first above the argument; ``first``, ``last`` and their
        tags: words at its ends; ``parent``, ``left``, ``right``: labels around it. Words are in lower case; what is not
        there is left out.

        DictVectorizer of scikit-learn takes such dicts as they are; treelet's `Linear` takes their `indicators`.

    Examples
    --------
    >>> from treelet.tasks.roles import role_features
    >>> found = role_features("(S (NP (PRP He)) (VP (VBD ate) (NP (DT some) (NNS pancakes))))", 1, (0, 1))
    >>> found["path"], found["phrase"], found["governor"], found["position"], found["voice"]
    ('VBD↑VP↑S↓NP', 'NP', 'S', 'before', 'active')
    """
    index, word, argument = _instance(tree, predicate, span)
    start, end = index.start[argument], index.end[argument]
    words = [each.lower() for each in index.words]
    tag = index.parent[word]
    above = index.parent[tag]
    found = {"predicate": words[predicate], "tag": index.label(tag), "voice": voice(index, predicate)}
    if lemma is not None:
        found["lemma"] = lemma
    if above >= 0:
        below = " ".join(index.label(child) for child in index.children(above))
        found["subcategorisation"] = f"{index.label(above)} -> {below}"
    up, down = index.path(tag, argument)
    found["path"] = "↑".join(map(index.label, up)) + "".join("↓" + index.label(node) for node in down)
    found["phrase"] = index.label(argument)
    found["position"] = "after" if start > predicate else "before" if end <= predicate else "around"
    head = index.head(argument)
    found["head"], found["head tag"] = words[head], index.tag_label(head)
    if category(index.label(argument)) == "PP" and (content := _content(index, argument, head)) is not None:
        found["content"], found["content tag"] = words[content], index.tag_label(content)
    for node in index.ancestors(argument):
        label = category(index.label(node))
        if label == "VP" or label.startswith("S"):
            found["governor"] = "VP" if label == "VP" else "S"
            break
    found["first"], found["first tag"] = words[start], index.tag_label(start)
    found["last"], found["last tag"] = words[end - 1], index.tag_label(end - 1)
    if index.parent[argument] >= 0:
        found["parent"] = index.label(index.parent[argument])
        beside = index.children(index.parent[argument])
        place = beside.index(argument)
        if place:
            found["left"] = index.label(beside[place - 1])
        if place + 1 < len(beside):
            found["right"] = index.label(beside[place + 1])
    return {name: value for name, value in found.items() if value}


def _content(index: TreeIndex, phrase: int, head: int) -> int | None:
    behind = [child for child in index.children(phrase) if index.start[child] > head]
    return next((index.head(child) for child in behind if index.label(child) not in PUNCTUATION), None)


def voice(tree: AnyTree, predicate: int) -> str:
    """Whether a predicate is ``active`` or ``passive``, as far as a Penn Treebank tree shows.

    A participle (VBN) is passive if the nearest auxiliary above it is a form of *be* or *get*; a form of *have* makes
    it active. Auxiliaries are looked for to the left of the way up, through VP and at last S, SQ or SINV. A participle
    that has no auxiliary is passive within an NP, an ADJP or a PP ("the book given to her") and in an S that has no
    subject ("asked about it, she left"), else active. All other tags are active.

    Examples
    --------
    >>> from treelet.tasks.roles import voice
    >>> voice("(S (NP (PRP It)) (VP (VBZ has) (VP (VBN been) (VP (VBN eaten)))))", 3)
    'passive'
    >>> voice("(S (NP (PRP It)) (VP (VBZ has) (VP (VBN eaten))))", 2)
    'active'
    """
    index = as_index(tree)
    index.check_word(predicate, "predicate")
    node = index.tag(predicate)
    if category(index.label(node)) != "VBN":
        return "active"
    for above in index.ancestors(node):
        label = category(index.label(above))
        if label not in ("VP", "S", "SQ", "SINV"):
            return "passive" if label in ("NP", "NML", "NX", "ADJP", "PP") else "active"
        before = [child for child in index.children(above) if child < node]
        for child in reversed(before):
            word = index.nodes[index.after[child] - 1].label.lower()
            if not index.nodes[child].is_preterminal or _kind(index.label(child)) not in ("VB", "AUX"):
                continue
            if word in BE or word in GET:
                return "passive"
            if not _conjoined(index, child, node):
                return "active"
        if label != "VP":
            return "passive" if label == "S" and not any(index.label(c).startswith("NP") for c in before) else "active"
        node = above
    return "active"


def _conjoined(index: TreeIndex, left: int, right: int) -> bool:
    """Whether a conjunction or a comma stands between two sisters: "was seen and heard"."""
    between = [child for child in index.children(index.parent[left]) if left < child < right]
    return any(category(index.label(child)) in CONJUNCTIONS | {","} for child in between)


def indicators(features: Mapping[str, object]) -> dict[str, float]:
    """Features by name as numbers: a word becomes the feature ``name=word`` with the value 1.

    Numbers stay what they are; of several words each is a feature; what is None is left out. `Linear`, `Polynomial` and
    `Gaussian` take lists of such dicts.

    Examples
    --------
    >>> from treelet.tasks.roles import indicators
    >>> indicators({"head": "cat", "distance": 3, "between": ("a", "red")})
    {'head=cat': 1.0, 'distance': 3.0, 'between=a': 1.0, 'between=red': 1.0}
    """
    found: dict[str, float] = {}
    for name, value in features.items():
        if isinstance(value, str):
            found[f"{name}={value}"] = 1.0
        elif isinstance(value, Real):
            found[name] = float(value)
        elif isinstance(value, Iterable):
            found.update({f"{name}={each}": 1.0 for each in value})
        elif value is not None:
            raise InputTypeError(
                f"the feature {name!r} is a {type(value).__name__}: a word, words or a number is needed"
            )
    return found
