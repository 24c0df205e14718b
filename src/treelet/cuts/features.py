"""Flat features of arguments and of entities, from a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real

from treelet.checks import wrong
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
    >>> from treelet.cuts import role_features
    >>> found = role_features("(S (NP (PRP He)) (VP (VBD ate) (NP (DT some) (NNS pancakes))))", 1, (0, 1))
    >>> found["path"], found["phrase"], found["governor"], found["position"], found["voice"]
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
    """Whether a predicate is ``active`` or ``passive``, as far as a Penn Treebank tree shows.

    A participle (VBN) is passive if the nearest auxiliary above it is a form of *be* or *get*; a form of *have* makes
    it active. Auxiliaries are looked for to the left of the way up, through VP and at last S, SQ or SINV. A participle
    that has no auxiliary is passive within an NP, an ADJP or a PP ("the book given to her") and in an S that has no
    subject ("asked about it, she left"), else active. All other tags are active.

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
    """Whether a conjunction or a comma stands between two sisters: "was seen and heard"."""
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
    """Flat features of two entities, for the other half of a composite kernel (Zhang et al. 2006).

    Parameters
    ----------
    tree, first, second
        As in `path_enclosed_tree`.
    types : (str, str), optional
        What kinds of entities they are.
    between : bool
        Whether to add the words between them.

    Returns
    -------
    dict
        For each entity, by the number 1 or 2: ``text``, ``head`` and ``tag``: its words, its head word and the head's
        tag; ``heads``: both head words; ``type 1``, ``type 2`` and ``types``, if given; ``order``: which one begins
        first, or that they overlap; ``distance``: words between them; ``before`` and ``behind``: the words around both;
        ``phrase``: the label of the lowest node that holds both; ``between``: the words there. All words are in lower
        case. Each can be given to DictVectorizer of scikit-learn, and as `indicators` to `Linear`.

    Examples
    --------
    >>> from treelet.cuts import entity_features
    >>> tree = "(S (NP (NNP John)) (VP (VBD saw) (NP (DT a) (NN man)) (PP (IN in) (NP (NNP Rome)))))"
    >>> found = entity_features(tree, (2, 4), (5, 6), types=("PER", "LOC"))
    >>> found["head 1"], found["tag 2"], found["types"], found["distance"], found["between"]
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
        if not begin <= head < end:  # only some words of a phrase
            head = end - 1
        heads.append(words[head])
        features[f"text {number}"] = "_".join(words[begin:end])
        features[f"head {number}"] = words[head]
        if tag := index.tag_label(head):
            features[f"tag {number}"] = tag
    features["heads"] = " ".join(heads)
    if types is not None:
        if isinstance(types, str) or len(types) != 2:
            raise wrong("types", "two words, one for each entity", types)
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
    """Features by name as numbers: a word becomes the feature ``name=word`` with the value 1.

    Numbers stay what they are; of several words each is a feature; what is None is left out. `Linear`, `Polynomial` and
    `Gaussian` take lists of such dicts.

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
                f"the feature {name!r} is a {type(value).__name__}: a word, words or a number is needed"
            )
    return values
