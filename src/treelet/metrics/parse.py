"""Measures of parses: counts of constituents, the parse score, PARSEVAL, and these for lists of candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treelet.checks import check_one_of, in_words, plural, wrong
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.metrics.ranking import best_of_group
from treelet.structures import Treebank

# --- constituents: the labeled spans of a tree ------------------------------------------------------------------------

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
    scorer = _Scorer([Treebank([tree])], convention)
    root = scorer.roots[0]
    if root < 0:
        raise TreeError("A missing tree (None) has no constituents. Pass a tree.")
    spans = scorer.gold(root).brackets
    return Counter({(scorer.categories[number], a, b): count for (number, a, b), count in spans.items()})


class _Gold(NamedTuple):
    """A gold tree, prepared for the comparison with parses."""

    root: int
    words: list[int]
    tags: list[int]  # -1 for a word that is excluded from spans, -2 for a word without a tag
    words_before: list[int]  # the number of remaining words before each word; one more for the end
    brackets: Counter[tuple[int, int, int]]
    inner_start: list[int]  # start of the smallest constituent around the boundary before each remaining word
    inner_end: list[int]


class _Scorer:
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

    def gold(self, root: int) -> _Gold:
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
        return _Gold(root, words, tags, words_before, brackets, inner_start, inner_end)

    def compare(self, gold: _Gold, roots: Sequence[int], where: Sequence[str]) -> list[tuple[int, int, int, int]]:
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

    def _found(self, gold: _Gold, root: int, known: dict[int, Found], where: str) -> Found:
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

    def _differ(self, gold: _Gold, root: int, where: str) -> NoReturn:
        parsed = self.gold(root).words
        ours, theirs = ([self.names[word] for word in words] for words in (gold.words, parsed))
        index = next((k for k, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
        if index is None:
            difference = f"{plural(len(theirs), 'word')}, but the gold tree has {len(ours):,}"
        else:
            difference = f"{theirs[index]!r} as word {index}, but the gold tree has {ours[index]!r}"
        raise TreeError(
            f"{where}: the parse has {difference}. Check that both trees belong to the same sentence, and that traces were "
            f"dropped from both (read_trees(..., drop_empty=True))."
        )


def _matched(gold: _Gold, chain: Chain | None, a: int, b: int) -> int:
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


# --- counts of constituents per parse, and the measures computed from them --------------------------------------------

_Totals = NDArray[np.float64]


def _fraction(part: _Totals, whole: _Totals, otherwise: _Totals) -> _Totals:
    return np.divide(part, whole, out=otherwise.astype(np.float64), where=whole > 0)


def _nothing(totals: _Totals) -> _Totals:
    return np.asarray(totals[..., 1] + totals[..., 2] == 0, dtype=np.float64)


# Functions of sums over sentences of BracketCounts.columns(). Without gold and proposed constituents, a score is perfect.
MEASURES: dict[str, Callable[[_Totals], _Totals]] = {
    "precision": lambda t: 100 * _fraction(t[..., 0], t[..., 2], _nothing(t)),
    "recall": lambda t: 100 * _fraction(t[..., 0], t[..., 1], _nothing(t)),
    "f1": lambda t: 100 * _fraction(2 * t[..., 0], t[..., 1] + t[..., 2], _nothing(t)),
    "parse_score": lambda t: 100 * _fraction(t[..., 3], t[..., 1], _nothing(t)),
    "exact_match": lambda t: 100 * t[..., 4] / t[..., 5],
}


@dataclass(frozen=True, eq=False)
class BracketCounts:
    """Numbers of matched, gold and proposed constituents for each of many parses.

    ``counts[index]`` selects parses by a slice, integers or a mask. Measures over all parses are in percent:
    `precision`, `recall`, `f1`, `parse_score`, `exact_match`. Measures of single parses are between 0 and 1.

    Parameters
    ----------
    matched : ndarray of int
        Number of constituents of each parse that are in the gold tree.
    gold : ndarray of int
        Number of constituents of each gold tree.
    proposed : ndarray of int
        Number of constituents of each parse.

    Examples
    --------
    >>> from treelet.metrics import BracketCounts
    >>> counts = BracketCounts([2, 3], [4, 3], [2, 3])
    >>> counts.goodness
    array([0.75, 1.  ])
    >>> round(counts.f1, 2), round(counts.parse_score, 2)
    (83.33, 85.71)
    """

    matched: NDArray[np.int64]
    gold: NDArray[np.int64]
    proposed: NDArray[np.int64]

    def __post_init__(self) -> None:
        arrays = [np.asarray(value) for value in (self.matched, self.gold, self.proposed)]
        if any(array.ndim != 1 or len(array) != len(arrays[0]) for array in arrays):
            shapes = ", ".join(str(array.shape) for array in arrays)
            raise ParameterError(
                f"matched, gold and proposed must be one-dimensional arrays of the same length. Got the shapes {shapes}."
            )
        if any(array.dtype.kind not in "iu" and array.size for array in arrays):
            raise InputTypeError("matched, gold and proposed must be arrays of integers, because they are counts.")
        matched, gold, proposed = (array.astype(np.int64) for array in arrays)
        if ((matched < 0) | (matched > np.minimum(gold, proposed))).any():
            raise ParameterError(
                "The number of matched constituents must be at least 0, and not more than gold or proposed. Check the order "
                "of the arguments: matched, gold, proposed."
            )
        for name, array in (("matched", matched), ("gold", gold), ("proposed", proposed)):
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.matched)

    def __getitem__(self, index: slice | NDArray[Any]) -> BracketCounts:
        return BracketCounts(self.matched[index], self.gold[index], self.proposed[index])

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return iter((self.matched, self.gold, self.proposed))

    @property
    def goodness(self) -> NDArray[np.float64]:
        """½(c/p + c/g) of each parse. It is 1 if neither tree has constituents, and 0 if only one of them has."""
        c, g, p = (array.astype(np.float64) for array in self)
        none = (g + p == 0).astype(np.float64)
        return np.asarray((_fraction(c, p, none) + _fraction(c, g, none)) / 2)

    @property
    def sentence_f1(self) -> NDArray[np.float64]:
        """2c/(g + p) of each parse. It is 1 if neither tree has constituents."""
        return MEASURES["f1"](self.columns()) / 100

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Whether each parse has exactly the constituents of the gold tree."""
        return np.asarray((self.matched == self.gold) & (self.matched == self.proposed))

    def columns(self) -> NDArray[np.float64]:
        """Return the terms of the measures, one row per parse: c, g, p, g·½(c/p + c/g), exact, 1."""
        return np.column_stack([*self, self.gold * self.goodness, self.exact, np.ones(len(self))]).astype(np.float64)

    def measure(self, name: str) -> float:
        """Return a measure over all parses, by its name."""
        if name not in MEASURES:
            raise wrong("name", in_words(map(repr, MEASURES)), name)
        if not len(self):
            raise ParameterError("There are no sentences: a score needs at least one.")
        return float(MEASURES[name](self.columns().sum(axis=0)))

    @property
    def precision(self) -> float:
        """Precision over all parses in percent: 100·Σc/Σp."""
        return self.measure("precision")

    @property
    def recall(self) -> float:
        """Recall over all parses in percent: 100·Σc/Σg."""
        return self.measure("recall")

    @property
    def f1(self) -> float:
        """F1 over all parses in percent: 100·2Σc/(Σg + Σp)."""
        return self.measure("f1")

    @property
    def parse_score(self) -> float:
        """Parse score in percent: 100·Σ g·½(c/p + c/g) / Σg."""
        return self.measure("parse_score")

    @property
    def exact_match(self) -> float:
        """Percentage of parses that are exact."""
        return self.measure("exact_match")


# --- measures of parses: the parse score, PARSEVAL, and both for lists of candidates ----------------------------------


@dataclass(frozen=True)
class ParsevalResult:
    """Result of `parseval`. Values are in percent unless stated otherwise.

    Attributes
    ----------
    precision, recall, f1 : float
        Measures of labeled constituents, over all sentences together.
    exact_match : float
        Percentage of sentences with exactly the gold constituents.
    tagging_accuracy : float
        Percentage of words with the gold tag, among words that are not excluded from spans. All tags of a
        missing parse count as wrong. NaN if there are no words.
    crossing : float
        Mean number of proposed constituents that cross a gold constituent, per parsed sentence.
    no_crossing : float
        Percentage of parsed sentences without crossing constituents.
    sentences : int
        Number of sentences.
    coverage : float
        Percentage of sentences that have a parse.
    counts : BracketCounts
        Counts of each sentence, for example for `paired_bootstrap`.
    """

    precision: float
    recall: float
    f1: float
    exact_match: float
    tagging_accuracy: float
    crossing: float
    no_crossing: float
    sentences: int
    coverage: float
    counts: BracketCounts

    def __str__(self) -> str:
        return (
            f"P {self.precision:.2f} R {self.recall:.2f} F {self.f1:.2f}, exact {self.exact_match:.2f} %, "
            f"tags {self.tagging_accuracy:.2f} %, {self.sentences:,} sentences, coverage {self.coverage:.2f} %"
        )


def parse_score(gold: object, parsed: object, convention: Convention = PLAIN) -> float:
    """Compute the parse score of Collins & Duffy (2001): 100·(1/Σg_i)·Σ g_i·½(c_i/p_i + c_i/g_i).

    Sentence i has g_i gold constituents, p_i proposed constituents and c_i correct ones. The score is the mean
    of precision and recall, where each sentence is weighted by its number of gold constituents.

    Parameters
    ----------
    gold : Treebank, list of trees, ...
        One gold tree per sentence.
    parsed : Treebank, list of trees, ...
        One parse per sentence, over the same words. None is a missing parse and scores 0.
    convention : Convention, default PLAIN
        Definition of constituents. ``PLAIN`` counts every node except words and preterminals, with its label
        and all its words, including punctuation and the root, as in the paper. ``PARSEVAL`` excludes
        punctuation and the root, see `constituents`.

    Returns
    -------
    float
        The score in percent. ``bracket_counts(gold, parsed).goodness`` has the scores of single sentences.

    Examples
    --------
    The gold tree has S, NP, VP, NP; the parse finds S, NP, VP and lacks the last NP: ½(3/3 + 3/4).

    >>> from treelet.metrics import parse_score
    >>> gold = "(S (NP (N John)) (VP (V saw) (NP (N Mary))))"
    >>> parse_score([gold], ["(S (NP (N John)) (VP (V saw) (N Mary)))"])
    87.5
    """
    return bracket_counts(gold, parsed, convention).parse_score


def labelled_f1(gold: object, parsed: object, convention: Convention = PARSEVAL) -> float:
    """Compute the F1 of labeled constituents in percent, as in `parseval`.

    Parameters
    ----------
    gold, parsed
        See `parse_score`.
    convention : Convention, default PARSEVAL
        Definition of constituents, see `constituents`.

    Returns
    -------
    float
        The F1 over all sentences, in percent.

    Examples
    --------
    >>> from treelet.metrics import labelled_f1
    >>> gold = "(S (NP (N John)) (VP (V saw) (NP (N Mary))))"
    >>> round(labelled_f1([gold], ["(S (NP (N John)) (VP (V saw) (N Mary)))"]), 2)
    85.71
    """
    return bracket_counts(gold, parsed, convention).f1


def bracket_counts(gold: object, parsed: object, convention: Convention = PLAIN) -> BracketCounts:
    """Count the matched, gold and proposed constituents of each sentence.

    Parameters
    ----------
    gold, parsed, convention
        See `parse_score`.

    Returns
    -------
    BracketCounts
        One entry per sentence.

    Examples
    --------
    >>> from treelet.metrics import bracket_counts
    >>> counts = bracket_counts(["(S (NP (N John)) (VP (V ran)))"], ["(S (NP (N John)) (V ran))"])
    >>> counts.matched, counts.gold, counts.proposed
    (array([2]), array([3]), array([2]))
    """
    return _counts(_pairs(gold, parsed, convention))


def parseval(gold: object, parsed: object, convention: Convention = PARSEVAL) -> ParsevalResult:
    """Compute labeled precision, recall and F1 of parses, and the other figures of the program evalb.

    Parameters
    ----------
    gold, parsed
        See `parse_score`.
    convention : Convention, default PARSEVAL
        Definition of constituents, see `constituents`.

    Returns
    -------
    ParsevalResult
        All figures, and the counts of each sentence.

    Notes
    -----
    evalb excludes two kinds of sentences from its totals: sentences without a parse, and sentences in which
    the gold tree and the parse disagree on punctuation. Here the former have a recall of 0, and in the latter
    the tags of the gold tree decide.

    Examples
    --------
    >>> from treelet.metrics import parseval
    >>> gold = ["(S (NP (N John)) (VP (V ran)) (. .))", "(S (NP (N Mary)) (VP (V saw) (PRT (RP on))) (. .))"]
    >>> print(parseval(gold, ["(S (NP (N John)) (VP (N ran)) (. .))", "(S (NP (N Mary)) (VP (V saw) (RP on)) (. .))"]))
    P 100.00 R 85.71 F 92.31, exact 50.00 %, tags 80.00 %, 2 sentences, coverage 100.00 %
    """
    table = _pairs(gold, parsed, convention)
    counts = _counts(table)
    crossing, right, words = table[:, 3], table[:, 4], table[:, 5].sum()
    has_parse = table[:, 6] > 0
    return ParsevalResult(
        precision=counts.precision,
        recall=counts.recall,
        f1=counts.f1,
        exact_match=100 * float((counts.exact & has_parse).mean()),
        tagging_accuracy=float(100 * right.sum() / words) if words else float("nan"),
        crossing=float(crossing[has_parse].mean()) if has_parse.any() else float("nan"),
        no_crossing=float(100 * (crossing[has_parse] == 0).mean()) if has_parse.any() else float("nan"),
        sentences=len(counts),
        coverage=100 * float(has_parse.mean()),
        counts=counts,
    )


def tree_scores(gold_tree: object, candidates: object, convention: Convention = PLAIN) -> BracketCounts:
    """Count the constituents of one gold tree that each candidate parse finds.

    Parameters
    ----------
    gold_tree : Tree, str, ...
        The gold tree.
    candidates : Treebank, list of trees, ...
        Parses of the same sentence. None is a missing parse.
    convention : Convention, default PLAIN
        Definition of constituents, see `constituents`.

    Returns
    -------
    BracketCounts
        One entry per candidate.

    Examples
    --------
    >>> from treelet.metrics import tree_scores
    >>> tree_scores("(S (NP (N John)) (VP (V ran)))", ["(S (NP (N John)) (V ran))", None]).goodness
    array([0.83333333, 0.        ])
    """
    bank = Treebank.of(candidates)
    return candidate_scores([gold_tree], bank, np.zeros(len(bank), np.int64), convention)


def candidate_scores(gold: object, candidates: object, qid: ArrayLike, convention: Convention = PLAIN) -> BracketCounts:
    """Count the constituents of the sentence's gold tree that each candidate parse finds.

    Candidates of one sentence share most subtrees, and each subtree is processed once: 78,277 parses of 3,914
    sentences take about 4 s.

    Parameters
    ----------
    gold : Treebank, list of trees, ...
        One gold tree per sentence.
    candidates : Treebank, list of trees, ...
        Parses of all sentences, in any order. None is a missing parse and matches nothing.
    qid : array-like of int
        For each candidate the number of its sentence in `gold`, counted from 0.
    convention : Convention, default PLAIN
        Definition of constituents, see `constituents`.

    Returns
    -------
    BracketCounts
        One entry per candidate. ``.goodness`` is ½(c/p + c/g), and ``.sentence_f1`` is the F1.

    Examples
    --------
    >>> from treelet.metrics import candidate_scores, oracle
    >>> gold = ["(S (NP (N John)) (VP (V ran)))", "(S (NP (N Mary)) (VP (V ran)))"]
    >>> candidates = ["(S (N John) (V ran))", gold[0], "(S (N Mary) (VP (V ran)))", "(S (N Mary) (V ran))"]
    >>> counts = candidate_scores(gold, candidates, qid=[0, 0, 1, 1])
    >>> counts.matched
    array([1, 3, 2, 1])
    >>> round(oracle(counts, [0, 0, 1, 1]).parse_score, 2)
    91.67
    """
    right, bank = Treebank.of(gold), Treebank.of(candidates)
    group = np.asarray(qid)
    if group.shape != (len(bank),) or (group.dtype.kind not in "iu" and group.size):
        raise ParameterError(
            f"The 'qid' parameter must be one integer for each of the {plural(len(bank), 'candidate')}. "
            f"Got {group.dtype} of shape {group.shape} instead."
        )
    if group.size and not 0 <= group.min() <= group.max() < len(right):
        raise ParameterError(
            f"The 'qid' parameter must number the {plural(len(right), 'gold tree')} from 0. "
            f"Got {group.min()} to {group.max()} instead."
        )
    return _counts(_table(right, bank, group.astype(np.int64), convention, "candidate {1} (sentence {0})"))


def oracle(counts: BracketCounts, qid: ArrayLike, measure: str = "goodness") -> BracketCounts:
    """Return the counts of the best candidate of each sentence, an upper bound for any reranker.

    Parameters
    ----------
    counts : BracketCounts
        Result of `candidate_scores`.
    qid : array-like
        Sentence of each candidate. A sentence without candidates is ignored. To count it, give it the
        candidate None.
    measure : {"goodness", "f1"}, default "goodness"
        Measure by which the best candidate is chosen: ½(c/p + c/g), or F1. The first of equal candidates is
        chosen.

    Returns
    -------
    BracketCounts
        One entry per sentence: ``oracle(counts, qid).parse_score``, ``oracle(counts, qid, "f1").f1``.
    """
    check_one_of("measure", measure, ("goodness", "f1"))
    return counts[best_of_group(counts.goodness if measure == "goodness" else counts.sentence_f1, qid)]


def relative_improvement(before: float, after: float) -> float:
    """Compute the percentage of the remaining error that was removed: 100·(y − x)/(100 − x).

    If there was no error before (x = 100), the result is 0 for no change, and -inf for a loss.

    Parameters
    ----------
    before, after : float
        The scores x and y, from 0 to 100.

    Returns
    -------
    float
        The relative improvement in percent.

    Examples
    --------
    >>> from treelet.metrics import relative_improvement
    >>> round(relative_improvement(74, 80), 1)
    23.1
    """
    for name, value in (("before", before), ("after", after)):
        if not 0 <= value <= 100:
            raise wrong(name, "a score from 0 to 100", value, of="relative_improvement")
    if before == 100:
        return 0.0 if after == 100 else float("-inf")
    return 100 * (after - before) / (100 - before)


def _pairs(gold: object, parsed: object, convention: Convention) -> NDArray[np.int64]:
    right, bank = Treebank.of(gold), Treebank.of(parsed)
    if len(right) != len(bank):
        raise ParameterError(
            f"There must be one parse per gold tree. Got {plural(len(bank), 'parse')} for {plural(len(right), 'gold tree')}. "
            "Pass None for a missing parse."
        )
    if not len(right):
        raise ParameterError("There are no sentences: a score needs at least one.")
    return _table(right, bank, np.arange(len(right)), convention, "sentence {0}")


def _table(
    gold: Treebank, parsed: Treebank, sentence: NDArray[np.int64], convention: Convention, where: str
) -> NDArray[np.int64]:
    """Return one row per parse: matched, gold, proposed, crossing, correct tags, words, and whether there is a parse."""
    scorer = _Scorer([gold, parsed], convention)
    roots = np.asarray(scorer.roots[len(gold) :], np.int64)
    out = np.zeros((len(parsed), 7), np.int64)
    order = np.argsort(sentence, kind="stable")
    for candidates in np.split(order, np.flatnonzero(np.diff(sentence[order])) + 1) if len(order) else []:
        number = int(sentence[candidates[0]])
        if scorer.roots[number] < 0:
            raise TreeError(
                f"Sentence {number} has no gold tree. Remove the sentence from the gold trees and the parses."
            )
        right = scorer.gold(scorer.roots[number])
        names = [where.format(number, candidate) for candidate in candidates]
        counts = np.array(scorer.compare(right, roots[candidates].tolist(), names), np.int64)
        out[candidates, 0], out[candidates, 2:5] = counts[:, 0], counts[:, 1:]
        out[candidates, 1], out[candidates, 5] = right.brackets.total(), right.words_before[-1]
    out[:, 6] = roots >= 0
    return out


def _counts(table: NDArray[np.int64]) -> BracketCounts:
    return BracketCounts(table[:, 0], table[:, 1], table[:, 2])
