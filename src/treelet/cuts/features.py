"""Flat features of arguments and entities, computed from a tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from numbers import Real
from typing import NamedTuple

import numpy as np

from treelet.checks import article, check_one_of, is_number, wrong
from treelet.cuts.forest_index import ForestIndex, as_forest_index
from treelet.cuts.tree_index import CONJUNCTIONS, PUNCTUATION, AnyTree, SpanNode, TreeIndex, as_tree_index, category
from treelet.errors import InputTypeError, TreeError
from treelet.formats.adapters import library_of
from treelet.structures import Forest
from treelet.structures.bank import listed
from treelet.structures.dependency import Dependencies, DependencyBank
from treelet.structures.sequence import SequenceBank
from treelet.structures.spans import Span

# --- seven feature sequences of a dependency parse, for sequence kernels ----------------------------------------------

FEATURES = (
    "bigram",
    "word_tag",
    "link_type",
    "word_link_type",
    "link_length",
    "link_length_type",
    "link_bigram",
)


def feature_sequences(parse: Dependencies) -> dict[str, list[Hashable]]:
    """Compute the seven feature sequences of Tsivtsivadze et al. (2006, section 3).

    - ``"bigram"``: the two words of each link;
    - ``"word_tag"``: each word with its tag;
    - ``"link_type"``: the type of each link;
    - ``"word_link_type"``: each word with the type of each of its links;
    - ``"link_length"``: the distance between the words of each link, 1 for neighbors;
    - ``"link_length_type"``: the length of each link with its type;
    - ``"link_bigram"``: the types of each pair of links of each word, the leftmost link first.

    Features of links are ordered by the left word of the link, then by the right word. Features of
    words are ordered by the word, then by the other ends of its links.

    Parameters
    ----------
    parse : Dependencies
        The direction of links is ignored. In a parse with heads, each word other than a root has one
        link, to its head.

    Returns
    -------
    dict of str to list
        The sequences by name. The features are strings, numbers, and pairs of these.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.cuts import feature_sequences
    >>> parse = Dependencies(["dogs", "bark", "loudly"], ["n", "v", "e"], [(0, 1, "Sp"), (1, 2, "MVa")])
    >>> for name, sequence in feature_sequences(parse).items():
    ...     print(name, sequence)
    bigram [('dogs', 'bark'), ('bark', 'loudly')]
    word_tag [('dogs', 'n'), ('bark', 'v'), ('loudly', 'e')]
    link_type ['Sp', 'MVa']
    word_link_type [('dogs', 'Sp'), ('bark', 'Sp'), ('bark', 'MVa'), ('loudly', 'MVa')]
    link_length [1, 1]
    link_length_type [(1, 'Sp'), (1, 'MVa')]
    link_bigram [('Sp', 'MVa')]
    """
    if not isinstance(parse, Dependencies):
        raise InputTypeError(f"feature_sequences needs Dependencies. Got {article(type(parse).__name__)} instead.")
    words, links = parse.words, parse.links
    own: list[list[tuple[int, str]]] = [[] for _ in words]  # the links of each word: the other end and the type
    for left, right, kind in links:
        own[left].append((right, kind))
        own[right].append((left, kind))
    for ends in own:
        ends.sort()
    return {
        "bigram": [(words[left], words[right]) for left, right, _ in links],
        "word_tag": list(zip(words, parse.tags, strict=True)),
        "link_type": [kind for _, _, kind in links],
        "word_link_type": [(word, kind) for word, ends in zip(words, own, strict=True) for _, kind in ends],
        "link_length": [right - left for left, right, _ in links],
        "link_length_type": [(right - left, kind) for left, right, kind in links],
        "link_bigram": [(first, second) for ends in own for (_, first), (_, second) in combinations(ends, 2)],
    }


def feature_words(parse: Dependencies) -> dict[str, list[tuple[int, ...]]]:
    """Return the positions of the words that each feature of `feature_sequences` describes.

    The feature of a link describes two words, the feature of a word describes one.

    >>> from treelet import Dependencies
    >>> parse = Dependencies(["dogs", "bark", "loudly"], ["n", "v", "e"], [(0, 1, "Sp"), (1, 2, "MVa")])
    >>> feature_words(parse)["link_type"], feature_words(parse)["link_bigram"]
    ([(0, 1), (1, 2)], [(1,)])
    """
    ends: list[tuple[int, ...]] = [(left, right) for left, right, _ in parse.links]
    links = Counter(word for pair in ends for word in pair)
    own_words: dict[str, list[tuple[int, ...]]] = {
        "word_tag": [(word,) for word in range(len(parse.words))],
        "word_link_type": [(word,) for word in range(len(parse.words)) for _ in range(links[word])],
        "link_bigram": [
            (word,) for word in range(len(parse.words)) for _ in range(links[word] * (links[word] - 1) // 2)
        ],
    }
    return {name: own_words.get(name, ends) for name in FEATURES}


def as_sequencebank(examples: object) -> SequenceBank:
    """Convert a collection to a SequenceBank. Dependency parses are replaced by their `feature_sequences`.

    Parses of spaCy, stanza and conllu are converted to `Dependencies` with universal tags.

    >>> from treelet import Dependencies
    >>> as_sequencebank([["a", "b"], Dependencies(["dogs", "bark"], ["n", "v"], [(0, 1, "Sp")])])
    <SequenceBank: 2 examples, 7 sequences, 10 features, 10 distinct, 7 types>
    """
    if isinstance(examples, SequenceBank):
        return examples
    single = (Dependencies, dict) if library_of(examples) is None else (type(examples),)
    items = listed(examples, "feature sequences", single, banks=(DependencyBank,))
    parses = [_as_parse(number, item) for number, item in enumerate(items)]
    return SequenceBank([feature_sequences(item) if isinstance(item, Dependencies) else item for item in parses])


def _as_parse(number: int, item: object) -> object:
    """Convert a parse of another library. Other examples are returned unchanged."""
    if isinstance(item, Dependencies):
        return item
    if (library := library_of(item)) is None:
        if hasattr(item, "sentences"):
            raise InputTypeError(f"Example {number} is {article(type(item).__name__)}. Pass each of its sentences.")
        return item
    try:
        return getattr(Dependencies, f"from_{library}")(item)
    except TreeError as error:
        raise TreeError(f"example {number}: {error}") from None


# --- trees ------------------------------------------------------------------------------------------------------


def candidates(tree: AnyTree, predicate: int) -> list[SpanNode]:
    """Find the constituents that may be arguments of a predicate, with the pruning of Xue & Palmer (2004).

    The candidates are the sisters of all nodes on the path from the predicate to the root. The
    children of a PP among them are candidates, too. Constituents that are coordinated with a node on
    the path, and punctuation, are skipped.

    The children of a UCP are coordinated. Other children are coordinated if a sister is a CC or CONJP
    and their labels are similar: equal, or both tags of verbs, of nouns or of adjectives. The
    conjunction is then skipped as well.

    Parameters
    ----------
    tree : Tree, str or TreeIndex
        The tree.
    predicate : int
        Position of the predicate in the sentence, counted from 0.

    Returns
    -------
    list of SpanNode
        The candidates from left to right, longer ones first, with their `span`, `label` and `number`
        in the `TreeIndex`. No candidate contains the predicate.

    Examples
    --------
    >>> from treelet.cuts import all_candidates, candidates
    >>> tree = "(S (NP (N Mary)) (VP (V brought) (NP (D a) (N cat)) (PP (P to) (NP (N school)))))"
    >>> [(node.label, *node.span) for node in candidates(tree, 1)]
    [('NP', 0, 1), ('NP', 2, 4), ('PP', 4, 6), ('P', 4, 5), ('NP', 5, 6)]
    >>> len(all_candidates(tree, 1))
    7
    """
    index = as_tree_index(tree)
    index.check_word(predicate, "predicate")
    node = index.tag(predicate)
    nodes: list[int] = [] if index.nodes[node].is_preterminal else _others(index, node, index.word(predicate))
    for above in index.ancestors(node):
        for sister in _others(index, above, node):
            nodes.append(sister)
            if category(index.label(sister)) == "PP":
                nodes.extend(index.children(sister))
        node = above
    return _records(index, nodes)


def all_candidates(tree: AnyTree, predicate: int) -> list[SpanNode]:
    """Return all constituents that do not contain the predicate, except punctuation.

    If several constituents have the same span, the topmost one is returned. Parameters and result are
    those of `candidates`.
    """
    index = as_tree_index(tree)
    index.check_word(predicate, "predicate")
    nodes = [n for n in range(len(index)) if not index.start[n] <= predicate < index.end[n]]
    return _records(index, nodes)


def _records(index: TreeIndex, numbers: Iterable[int]) -> list[SpanNode]:
    spans: dict[Span, SpanNode] = {}
    for node in map(index.__getitem__, sorted(numbers)):
        if index.nodes[node.number].children and node.label not in PUNCTUATION:
            spans.setdefault(node.span, node)
    return sorted(spans.values(), key=lambda node: (node.start, -node.end))


def _others(index: TreeIndex, above: int, node: int) -> list[int]:
    return _uncoordinated(index.label(above), node, index.children(above), index.label)


def _uncoordinated(above: str, node: int, children: Sequence[int], label: Callable[[int], str]) -> list[int]:
    """Return the sisters of a node, without those that are coordinated with it and their conjunction.

    Nodes are given by number. `label` returns the label of a node, and `above` is the label of the parent.
    """
    sisters = [child for child in children if child != node]
    if category(above) == "UCP":
        return []
    joined = [sister for sister in sisters if category(label(sister)) in CONJUNCTIONS]
    if not joined:
        return sisters
    mine = _kind_of(label(node))
    alike = {sister for sister in sisters if _kind_of(label(sister)) == mine}
    passed = alike.union(joined) if alike else alike
    return [sister for sister in sisters if sister not in passed]


@lru_cache(maxsize=4096)
def _kind_of(label: str) -> str:
    """Return VB, NN or JJ for the tag of a verb, noun or adjective, or else the label without function tags."""
    label = category(label)
    return next((kind for kind in ("VB", "NN", "JJ") if label.startswith(kind)), label)


# --- forests ----------------------------------------------------------------------------------------------------


class Candidate(NamedTuple):
    """An argument candidate: its label, its words, and the probability that it is a candidate in a tree."""

    label: str
    begin: int
    end: int
    probability: float

    @property
    def span(self) -> Span:
        """First word, and the word after the last word."""
        return self.begin, self.end


def forest_candidates(
    forest: Forest | ForestIndex, predicate: int, *, threshold: float = 0.0, by: str = "node"
) -> list[Candidate]:
    """Find the constituents that may be arguments of a predicate in any tree of a forest.

    This is the pruning of Xue & Palmer (2004), as in `candidates`, applied to all trees at once.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    predicate : int
        Position of the predicate in the sentence, counted from 0.
    threshold : float in [0, 1], default 0
        Candidates with a smaller probability are dropped. 0 keeps the candidates of all trees.
    by : {"node", "span"}, default "node"
        ``"node"`` returns one candidate per label and span. ``"span"`` returns one candidate per
        span, with its most probable label, as in Zhang, Zhang & Li (2010); such a candidate
        corresponds to a subforest with one or several roots.

    Returns
    -------
    list of Candidate
        The candidates from left to right, longer ones first, then by label. The probability is that
        of being a candidate; the node itself may occur in more trees.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import forest_candidates
    >>> near = "(S (NP (N He)) (VP (V saw) (NP (NP (D a) (N man)) (PP (P in) (NP (N town))))))"
    >>> far = "(S (NP (N He)) (VP (V saw) (NP (D a) (N man)) (PP (P in) (NP (N town)))))"
    >>> forest = Forest.from_trees([(near, 3), (far, 1)])
    >>> [(c.label, *c.span, round(c.probability, 2)) for c in forest_candidates(forest, 1)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('NP', 0, 1, 1.0), ('NP', 2, 6, 0.75), ('NP', 2, 4, 0.25), ('PP', 4, 6, 0.25), ('P', 4, 5, 0.25),
     ('NP', 5, 6, 0.25)]
    >>> len(forest_candidates(forest, 1, threshold=0.5))
    2
    """
    if not is_number(threshold, 0, 1):
        raise wrong("threshold", "a number from 0 to 1", threshold)
    check_one_of("by", by, ("node", "span"))
    index = as_forest_index(forest)
    word = index.word_at(predicate)
    labels, spans, ways = index.labels, index.spans, index.ways
    chances: dict[tuple[str, int, int], float] = {}

    def add(node: int, chance: float) -> None:
        if ways[node] and labels[node] not in PUNCTUATION:
            key = (labels[node], *spans[node])
            chances[key] = chances.get(key, 0.0) + chance

    for number in np.flatnonzero(index.inner & index.holding(word)).tolist():
        for tails, chance in ways[number]:
            here = index.shares[number] * chance
            if here == 0 or len(tails) == 1:
                continue
            holder = next(tail for tail in tails if spans[tail][0] <= word < spans[tail][1])
            for sister in _uncoordinated(labels[number], holder, tails, labels.__getitem__):
                add(sister, here)
                if ways[holder] and category(labels[sister]) == "PP":
                    for below, weight in ways[sister]:
                        for child in below:
                            if spans[child] != spans[sister]:
                                add(child, here * weight)
    if by == "span":
        best: dict[Span, Candidate] = {}
        for (label, begin, end), value in sorted(chances.items(), key=lambda item: (-item[1], item[0])):
            old = best.get((begin, end))
            total = value if old is None else old.probability + value
            best[begin, end] = Candidate(label if old is None else old.label, begin, end, total)
        everything = list(best.values())
    else:
        everything = [Candidate(*key, value) for key, value in chances.items()]
    kept = [candidate._replace(probability=min(1.0, candidate.probability)) for candidate in everything]
    return sorted(
        (candidate for candidate in kept if candidate.probability >= threshold),
        key=lambda candidate: (candidate.begin, -candidate.end, candidate.label),
    )


# --- flat features of arguments and entities, computed from a tree ----------------------------------------------------

_BE = frozenset(["be", "am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m", "ai"])
_GET = frozenset(["get", "gets", "got", "gotten", "getting"])


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
    index = as_tree_index(tree)
    index.check_word(predicate, "predicate")
    tag, argument = index.tag(predicate), index.node_of(span)
    start, end = index.start[argument], index.end[argument]
    words = [each.lower() for each in index.words]
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
            if not index.nodes[child].is_preterminal or _kind_of(index.label(child)) not in ("VB", "AUX"):
                continue
            if word in _BE or word in _GET:
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
    (a, b), (c, d) = index.check_span(first), index.check_span(second)
    root = index.covering((min(a, c), max(b, d)))
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
    (left, middle), (right, last) = sorted([(a, b), (c, d)])
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
