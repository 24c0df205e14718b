"""Flat features of arguments and entities, computed from a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real

from treelet.checks import article, wrong
from treelet.cuts.candidates import kind_of
from treelet.cuts.heads import CONJUNCTIONS, PUNCTUATION, category
from treelet.cuts.relations import around
from treelet.cuts.roles import as_instance
from treelet.cuts.tree_index import AnyTree, TreeIndex, as_tree_index
from treelet.errors import InputTypeError
from treelet.structures.spans import Span

BE = frozenset(["be", "am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m", "ai"])
GET = frozenset(["get", "gets", "got", "gotten", "getting"])


# --- roles ------------------------------------------------------------------------------------------------------


def role_features(tree: AnyTree, predicate: int, span: Span, *, lemma: str | None = None) -> dict[str, str]:
    """Compute features of an argument, after Gildea & Jurafsky (2002) and later work.

    Parameters
    ----------
    tree, predicate, span
        As in `argument_tree`.
    lemma : str, optional
        Lemma of the predicate, if it is known.

    Returns
    -------
    dict of str
        The features below. Words are in lower case. Features without a value are omitted.

        - ``predicate``, ``tag``, ``lemma``: the predicate's word, its tag, and its lemma if given;
        - ``voice``: see `voice`;
        - ``subcategorisation``: the production above the predicate;
        - ``path``: the labels from the predicate up and down to the argument;
        - ``phrase``: the label of the argument;
        - ``position``: before, after, or around the predicate;
        - ``head``, ``head tag``: the head word of the argument, see `TreeIndex.head_child`;
        - ``content``, ``content tag``: for a PP, the head of the phrase after the preposition;
        - ``governor``: S or VP, the nearest of these above the argument;
        - ``first``, ``last``, ``first tag``, ``last tag``: the first and the last word;
        - ``parent``, ``left``, ``right``: the labels around the argument.

        Pass the dicts to DictVectorizer of scikit-learn, or their `indicators` to `Linear`.

    Examples
    --------
    >>> from treelet.cuts import role_features
    >>> features = role_features("(S (NP (PRP He)) (VP (VBD ate) (NP (DT some) (NNS pancakes))))", 1, (0, 1))
    >>> features["path"], features["phrase"], features["governor"], features["position"], features["voice"]
    ('VBD↑VP↑S↓NP', 'NP', 'S', 'before', 'active')
    """
    index, word, argument = as_instance(tree, predicate, span)
    start, end = index.start[argument], index.end[argument]
    words = [each.lower() for each in index.words]
    tag = index.parent[word]
    above = index.parent[tag]
    features = {"predicate": words[predicate], "tag": index.label(tag), "voice": voice(index, predicate)}
    if lemma is not None:
        features["lemma"] = lemma
    if above >= 0:
        below = " ".join(index.label(child) for child in index.children(above))
        features["subcategorisation"] = f"{index.label(above)} -> {below}"
    up, down = index.path(tag, argument)
    features["path"] = "↑".join(map(index.label, up)) + "".join("↓" + index.label(node) for node in down)
    features["phrase"] = index.label(argument)
    features["position"] = "after" if start > predicate else "before" if end <= predicate else "around"
    head = index.head(argument)
    features["head"], features["head tag"] = words[head], index.tag_label(head)
    if category(index.label(argument)) == "PP" and (content := _content(index, argument, head)) is not None:
        features["content"], features["content tag"] = words[content], index.tag_label(content)
    for node in index.ancestors(argument):
        label = category(index.label(node))
        if label == "VP" or label.startswith("S"):
            features["governor"] = "VP" if label == "VP" else "S"
            break
    features["first"], features["first tag"] = words[start], index.tag_label(start)
    features["last"], features["last tag"] = words[end - 1], index.tag_label(end - 1)
    if index.parent[argument] >= 0:
        features["parent"] = index.label(index.parent[argument])
        beside = index.children(index.parent[argument])
        index_beside = beside.index(argument)
        if index_beside:
            features["left"] = index.label(beside[index_beside - 1])
        if index_beside + 1 < len(beside):
            features["right"] = index.label(beside[index_beside + 1])
    return {name: value for name, value in features.items() if value}


def _content(index: TreeIndex, phrase: int, head: int) -> int | None:
    behind = [child for child in index.children(phrase) if index.start[child] > head]
    return next((index.head(child) for child in behind if index.label(child) not in PUNCTUATION), None)


def voice(tree: AnyTree, predicate: int) -> str:
    """Return whether a predicate is ``active`` or ``passive``, judging from a Penn Treebank tree.

    A participle (VBN) is passive if the nearest auxiliary above it is a form of *be* or *get*, and active
    if it is a form of *have*. Auxiliaries are searched to the left of the path to the root, through VP
    nodes and a final S, SQ or SINV. A participle without an auxiliary is passive within an NP, an ADJP or
    a PP ("the book given to her"). It is also passive in an S without a subject ("asked about it, she
    left"). Other participles are active. Predicates with other tags are active.

    Examples
    --------
    >>> from treelet.cuts import voice
    >>> voice("(S (NP (PRP It)) (VP (VBZ has) (VP (VBN been) (VP (VBN eaten)))))", 3)
    'passive'
    >>> voice("(S (NP (PRP It)) (VP (VBZ has) (VP (VBN eaten))))", 2)
    'active'
    """
    index = as_tree_index(tree)
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
            if not index.nodes[child].is_preterminal or kind_of(index.label(child)) not in ("VB", "AUX"):
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
    """Return whether a conjunction or a comma is between two sisters, as in "was seen and heard"."""
    between = [child for child in index.children(index.parent[left]) if left < child < right]
    return any(category(index.label(child)) in CONJUNCTIONS | {","} for child in between)


# --- relations --------------------------------------------------------------------------------------------------


def entity_features(
    tree: AnyTree,
    first: Span,
    second: Span,
    *,
    types: tuple[str, str] | None = None,
    between: bool = True,
) -> dict[str, str | float | tuple[str, ...]]:
    """Compute flat features of two entities, for the flat part of a composite kernel (Zhang et al. 2006).

    Parameters
    ----------
    tree, first, second
        As in `path_enclosed_tree`.
    types : (str, str), optional
        Types of the two entities.
    between : bool, default True
        Include the words between the entities.

    Returns
    -------
    dict
        The features below. All words are in lower case.

        - ``text 1``, ``head 1``, ``tag 1``: the words of the first entity, its head word, and the tag
          of the head; the same for entity 2;
        - ``heads``: both head words;
        - ``type 1``, ``type 2``, ``types``: the types, if given;
        - ``order``: the entity that begins first, or ``overlap``;
        - ``distance``: the number of words between the entities;
        - ``before``, ``behind``: the word before and the word after both entities;
        - ``phrase``: the label of the lowest node that contains both entities;
        - ``between``: the words between the entities.

        Pass the dicts to DictVectorizer of scikit-learn, or their `indicators` to `Linear`.

    Examples
    --------
    >>> from treelet.cuts import entity_features
    >>> tree = "(S (NP (NNP John)) (VP (VBD saw) (NP (DT a) (NN man)) (PP (IN in) (NP (NNP Rome)))))"
    >>> features = entity_features(tree, (2, 4), (5, 6), types=("PER", "LOC"))
    >>> features["head 1"], features["tag 2"], features["types"], features["distance"], features["between"]
    ('man', 'NNP', 'PER LOC', 1.0, ('in',))
    """
    index = as_tree_index(tree)
    _, _, root = around(index, first, second)
    words = [word.lower() for word in index.words]
    features: dict[str, str | float | tuple[str, ...]] = {}
    heads = []
    for number, span in enumerate((first, second), 1):
        begin, end = index.check_span(span)
        head = index.head(index.covering((begin, end)))
        if not begin <= head < end:  # the entity is only a part of a phrase
            head = end - 1
        heads.append(words[head])
        features[f"text {number}"] = "_".join(words[begin:end])
        features[f"head {number}"] = words[head]
        if tag := index.tag_label(head):
            features[f"tag {number}"] = tag
    features["heads"] = " ".join(heads)
    if types is not None:
        if isinstance(types, str) or len(types) != 2:
            raise wrong("types", "two words, one per entity", types)
        features["type 1"], features["type 2"], features["types"] = types[0], types[1], " ".join(types)
    (left, middle), (right, last) = sorted([index.check_span(first), index.check_span(second)])
    features["order"] = "overlap" if right < middle else "1 2" if (left, middle) == tuple(first) else "2 1"
    features["distance"] = float(max(0, right - middle))
    if left:
        features["before"] = words[left - 1]
    if max(middle, last) < len(words):
        features["behind"] = words[max(middle, last)]
    features["phrase"] = index.label(root)
    if between and right > middle:
        features["between"] = tuple(dict.fromkeys(words[middle:right]))
    return features


# --- both -------------------------------------------------------------------------------------------------------


def indicators(features: Mapping[str, object]) -> dict[str, float]:
    """Convert features to numbers: a word becomes the feature ``name=word`` with the value 1.

    Numbers are not changed. Each of several words becomes one feature. None is dropped. `Linear`,
    `Polynomial` and `Gaussian` accept lists of such dicts.

    Parameters
    ----------
    features : mapping
        For example the result of `role_features` or `entity_features`.

    Returns
    -------
    dict of float

    Examples
    --------
    >>> from treelet.cuts import indicators
    >>> indicators({"head": "cat", "distance": 3, "between": ("a", "red")})
    {'head=cat': 1.0, 'distance': 3.0, 'between=a': 1.0, 'between=red': 1.0}
    """
    values: dict[str, float] = {}
    for name, value in features.items():
        if isinstance(value, str):
            values[f"{name}={value}"] = 1.0
        elif isinstance(value, Real):
            values[name] = float(value)
        elif isinstance(value, Iterable):
            values.update({f"{name}={each}": 1.0 for each in value})
        elif value is not None:
            raise InputTypeError(
                f"The feature {name!r} is {article(type(value).__name__)}, but a word, a list of words or a number is needed."
            )
    return values
