"""Relations between two entities: what of a tree says how they are related."""

from __future__ import annotations

from treelet.errors import ParameterError
from treelet.structures import Tree
from treelet.structures.spans import Group, Span, TreeIndex, as_index, siblings
from treelet.structures.tree import check_label
from treelet.tasks.roles import AnyTree, indicators

__all__ = ["entity_features", "indicators", "minimal_complete_tree", "path_enclosed_tree"]

MARKS = ("node", "tags", None)


def path_enclosed_tree(
    tree: AnyTree,
    first: Span,
    second: Span,
    *,
    mark: str | None = "node",
    labels: tuple[str, str] = ("E1", "E2"),
) -> Tree:
    """The part of a tree between two entities: PT or PET of Zhang et al. (2006).

    The subtree of the lowest node that holds both, without what lies left of the one that begins first and right of the
    one that ends last. Its words are exactly those from there to there.

    Parameters
    ----------
    tree : Tree, str or TreeIndex
    first, second : (int, int)
        Each entity's first word, and the first word behind it. They may stand in any order, and may overlap.
    mark : {"node", "tags", None}
        How the entities are shown. ``"node"``: a new node above each entity's words, right below the lowest constituent
        around them; above each piece, if they are pieces of several constituents. ``"tags"``: the tags of the entities'
        words get the label in front, as in E1-NN; a word that shares its tag or has none gets a new node.
    labels : (str, str)
        Of `first` and of `second`, whichever comes first in the sentence. They may hold the types of the entities:
        ``("E1-PER", "E2-ORG")``.

    Returns
    -------
    Tree

    Examples
    --------
    >>> from treelet.tasks.relations import path_enclosed_tree
    >>> tree = "(S (NP (N John)) (VP (V saw) (NP (D a) (N man) (PP (P in) (NP (D the) (N bank))))))"
    >>> print(path_enclosed_tree(tree, (3, 4), (6, 7)))
    (NP (E1 (N man)) (PP (P in) (NP (D the) (E2 (N bank)))))
    >>> print(path_enclosed_tree(tree, (3, 4), (0, 1), mark="tags"))
    (S (NP (E2-N John)) (VP (V saw) (NP (D a) (E1-N man))))
    """
    index = as_index(tree)
    begin, end, root = _around(index, first, second)
    inside = [n for n in range(root, index.after[root]) if index.start[n] < end and index.end[n] > begin]
    return _marked(index.rebuilt(root, keep=inside), (first, second), begin, mark, labels)


def minimal_complete_tree(
    tree: AnyTree,
    first: Span,
    second: Span,
    *,
    mark: str | None = "node",
    labels: tuple[str, str] = ("E1", "E2"),
) -> Tree:
    """The whole subtree of the lowest node that holds two entities: MCT of Zhang et al. (2006).

    Parameters and result are those of `path_enclosed_tree`.

    Examples
    --------
    >>> from treelet.tasks.relations import minimal_complete_tree
    >>> tree = "(S (NP (N John)) (VP (V saw) (NP (D a) (N man) (PP (P in) (NP (D the) (N bank))))))"
    >>> print(minimal_complete_tree(tree, (3, 4), (6, 7)))
    (NP (D a) (E1 (N man)) (PP (P in) (NP (D the) (E2 (N bank)))))
    """
    index = as_index(tree)
    _, _, root = _around(index, first, second)
    return _marked(index.nodes[root], (first, second), index.start[root], mark, labels)


def _around(index: TreeIndex, first: Span, second: Span) -> tuple[int, int, int]:
    (a, b), (c, d) = index.check_span(first), index.check_span(second)
    begin, end = min(a, c), max(b, d)
    return begin, end, index.covering((begin, end))


# --- marks ------------------------------------------------------------------------------------------------------


def _marked(tree: Tree, spans: tuple[Span, Span], offset: int, mark: str | None, labels: tuple[str, str]) -> Tree:
    if mark not in MARKS:
        raise ParameterError(f"The 'mark' parameter must be 'node', 'tags' or None. Got {mark!r} instead.")
    if isinstance(labels, str) or len(labels) != 2:
        raise ParameterError(f"The 'labels' parameter must be two labels. Got {labels!r} instead.")
    if mark is None:
        return tree
    entities = [
        (begin - offset, end - offset, check_label(label)) for (begin, end), label in zip(spans, labels, strict=True)
    ]
    if mark == "tags":
        return _with_tags(TreeIndex(tree), entities)
    for begin, end, label in sorted(entities, key=lambda entity: entity[0] - entity[1]):  # a longer one is further up
        tree = _with_node(TreeIndex(tree), begin, end, label)
    return tree


def _with_tags(index: TreeIndex, entities: list[Group]) -> Tree:
    marks: dict[int, list[str]] = {}
    for begin, end, label in entities:
        for place in range(begin, end):
            marks.setdefault(place, []).append(label)
    rename: dict[int, str] = {}
    wrap: dict[int, list[Group]] = {}
    places: dict[int, dict[int, int]] = {}
    for place, names in marks.items():
        word = index.leaves[place]
        above = index.parent[word]
        if above < 0:
            return Tree("-".join(names), [index.tree])
        if len(index.nodes[above].children) == 1:
            rename[above] = "-".join([*names, index.label(above)])
        else:
            if above not in places:
                places[above] = {child: position for position, child in enumerate(index.children(above))}
            position = places[above][word]
            wrap.setdefault(above, []).append((position, position + 1, "-".join(names)))
    return index.rebuilt(rename=rename, wrap=wrap)


def _with_node(index: TreeIndex, begin: int, end: int, label: str) -> Tree:
    wrap: dict[int, list[Group]] = {}
    for run in siblings(index, _largest_inside(index, begin, end)):
        pieces = run
        while len(pieces) == 1 and index.nodes[pieces[0]].children and not index.nodes[pieces[0]].is_preterminal:
            pieces = index.children(pieces[0])
        above = index.parent[pieces[0]]
        if above < 0:
            return Tree(label, [index.tree])
        position = index.children(above).index(pieces[0])
        wrap.setdefault(above, []).append((position, position + len(pieces), label))
    return index.rebuilt(wrap=wrap)


def _largest_inside(index: TreeIndex, begin: int, end: int) -> list[int]:
    """The largest nodes all of whose words lie in a span, left to right; together they have all its words."""
    found, place = [], begin
    while place < end:
        node = index.leaves[place]
        while (above := index.parent[node]) >= 0 and index.start[above] >= begin and index.end[above] <= end:
            node = above
        found.append(node)
        place = index.end[node]
    return found


# --- features ---------------------------------------------------------------------------------------------------


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
    >>> from treelet.tasks.relations import entity_features
    >>> tree = "(S (NP (NNP John)) (VP (VBD saw) (NP (DT a) (NN man)) (PP (IN in) (NP (NNP Rome)))))"
    >>> found = entity_features(tree, (2, 4), (5, 6), types=("PER", "LOC"))
    >>> found["head 1"], found["tag 2"], found["types"], found["distance"], found["between"]
    ('man', 'NNP', 'PER LOC', 1.0, ('in',))
    """
    index = as_index(tree)
    _, _, root = _around(index, first, second)
    words = [word.lower() for word in index.words]
    found: dict[str, str | float | tuple[str, ...]] = {}
    heads = []
    for number, span in enumerate((first, second), 1):
        begin, end = index.check_span(span)
        head = index.head(index.covering((begin, end)))
        if not begin <= head < end:  # only some words of a phrase
            head = end - 1
        heads.append(words[head])
        found[f"text {number}"] = "_".join(words[begin:end])
        found[f"head {number}"] = words[head]
        if tag := index.tag_label(head):
            found[f"tag {number}"] = tag
    found["heads"] = " ".join(heads)
    if types is not None:
        if isinstance(types, str) or len(types) != 2:
            raise ParameterError(
                f"The 'types' parameter must be two words, one for each entity. Got {types!r} instead."
            )
        found["type 1"], found["type 2"], found["types"] = types[0], types[1], " ".join(types)
    (left, middle), (right, last) = sorted([index.check_span(first), index.check_span(second)])
    found["order"] = "overlap" if right < middle else "1 2" if (left, middle) == tuple(first) else "2 1"
    found["distance"] = float(max(0, right - middle))
    if left:
        found["before"] = words[left - 1]
    if max(middle, last) < len(words):
        found["behind"] = words[max(middle, last)]
    found["phrase"] = index.label(root)
    if between and right > middle:
        found["between"] = tuple(dict.fromkeys(words[middle:right]))
    return found
