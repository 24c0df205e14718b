"""Estimation of a grammar from a treebank by relative frequencies, counted over distinct subtrees."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from treelet.checks import check_one_of, is_number, wrong
from treelet.errors import ParameterError, TreeError
from treelet.formats.grammars import Rule, Tail, Word, is_lexical
from treelet.parsing.unknown import UnknownWords
from treelet.structures.treebank import Treebank

# --- splits of the labels of the Penn Treebank ------------------------------------------------------------------------

_VERBS = {"VB": "B", "VBD": "F", "VBG": "G", "VBN": "N", "VBP": "F", "VBZ": "F", "MD": "F", "TO": "T"}
_AUXILIARIES = {
    **dict.fromkeys(("be", "am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m"), "-BE"),
    **dict.fromkeys(("have", "has", "had", "having", "'ve", "'d"), "-HAVE"),
    **dict.fromkeys(("do", "does", "did"), "-DO"),
}
_CONJUNCTIONS = {"but": "-BUT", "&": "-&"}
_TIMES = frozenset({
    "minute", "minutes", "hour", "hours", "day", "days", "week", "weeks", "month", "months", "quarter", "year", "years", "decade", "time", "weekend",
    "morning", "afternoon", "evening", "night", "yesterday", "today", "tomorrow", "spring", "summer", "fall", "winter",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
    "jan.", "feb.", "mar.", "apr.", "jun.", "jul.", "aug.", "sept.", "oct.", "nov.", "dec.",
})  # fmt: skip
_WITH_VERB = frozenset({"NP", "PP", "ADJP", "ADVP", "PRN", "UCP", "FRAG"})
_SUBJECTS = frozenset({"NP", "SBAR", "S"})
_LONE = frozenset({"DT", "RB"})


class _Node(NamedTuple):
    """Properties of a subtree on which splits depend."""

    label: str
    is_tag: bool = False
    has_verb: bool = False
    verb: str = ""  # kind of the first verb
    ends_in_np: bool = False  # the node or its right edge is an NP
    last_word: str = ""


def _tag_split(tag: str, word: str) -> str:
    """Return the suffix of a tag above a word.

    >>> _tag_split("VBZ", "is"), _tag_split("CC", "and"), _tag_split("NN", "%")
    ('-BE', '', '-%')
    """
    lower = word.lower()
    if lower == "%":
        return "-%"
    if tag == "CC":
        return _CONJUNCTIONS.get(lower, "")
    return _AUXILIARIES.get(lower, "") if tag in _VERBS and tag[0] == "V" else ""


def _phrase_split(label: str, children: Sequence[_Node], verb: str) -> str:
    suffix = "-U" if len(children) == 1 and not children[0].is_tag else ""
    if label == "VP" and verb:
        suffix += f"-{verb}"
    if label == "NP":
        suffix += "-POS" if children[-1].label == "POS" else ""
        suffix += "-BASE" if all(child.is_tag for child in children) else ""
        suffix += "-TMP" if children[-1].last_word in _TIMES else ""
        suffix += "-R" if children[-1].ends_in_np else ""
    if label in _WITH_VERB and any(child.has_verb for child in children):
        suffix += "-V"
    if label == "S" and not any(child.label in _SUBJECTS for child in children):
        suffix += "-GAP"
    return suffix


def _splits(labels: Sequence[str], children: Sequence[Sequence[int]]) -> list[str]:
    """Return the suffix of each node of a store, which depends only on the subtree of the node.

    Parameters
    ----------
    labels : sequence of str
        Labels of the nodes. Children come before their parents.
    children : sequence of sequence of int
        Children of the nodes. A node without children is a word.

    Examples
    --------
    >>> _splits(["the", "DT", "hour", "NN", "NP"], [[], [0], [], [2], [1, 3]])
    ['', '', '', '', '-BASE-TMP']
    """
    nodes: list[_Node] = []
    out: list[str] = []
    for label, below in zip(labels, children, strict=True):
        parts = [nodes[child] for child in below]
        if not below:
            node, suffix = _Node(label, is_tag=True, last_word=label.lower()), ""
        elif len(below) == 1 and not children[below[0]]:
            verb = _VERBS.get(label, "")
            node = _Node(label, True, verb not in {"", "T"}, verb, last_word=parts[0].last_word)
            suffix = _tag_split(label, parts[0].label)
        else:
            verb = next((part.verb for part in parts if part.is_tag and part.verb), "")
            verb = verb or next((part.verb for part in parts if part.label == "VP"), "")
            node = _Node(
                label,
                has_verb=any(part.has_verb for part in parts),
                verb=verb,
                ends_in_np=label == "NP" or parts[-1].ends_in_np,
                last_word=parts[-1].last_word,
            )
            suffix = _phrase_split(label, parts, verb)
        nodes.append(node)
        out.append(suffix)
    return out


# --- estimation of a grammar from a treebank by relative frequencies --------------------------------------------------

Counts = dict[str, dict[Tail, float]]
Context = tuple[str, ...] | None  # the previous siblings of a child; None for the first child
_Symbol = tuple[str, tuple[str, ...], str]  # label, labels above, suffix
_STOP = ""  # the end of the children; symbols and words are never empty


def estimate(
    trees: object,
    markov: int | None,
    parent: bool | str,
    split: str | None,
    unknown: str | None,
    min_count: int,
    smoothing: float,
) -> dict[str, Any]:
    """Estimate a grammar. Return the arguments of `PCFG`. The parameters are those of `PCFG.from_treebank`."""
    owner = "PCFG.from_treebank"
    if markov is not None and not (type(markov) is int and markov >= 0):
        raise wrong("markov", "an int of at least 0", markov, of=owner, optional=True)
    if parent not in (True, False, "tags"):
        raise wrong("parent", "True, False or 'tags'", parent, of=owner)
    check_one_of("split", split, ("penn", None), of=owner)
    check_one_of("unknown", unknown, ("signature", None), of=owner)
    if not (type(min_count) is int and min_count >= 1):
        raise wrong("min_count", "an int of at least 1", min_count, of=owner)
    if not is_number(smoothing, 0):
        raise wrong("smoothing", "a number of at least 0", smoothing, of=owner)
    if smoothing and unknown is None:
        raise ParameterError("The 'smoothing' parameter needs unknown='signature'. Pass smoothing=0 instead.")
    bank = Treebank.of(trees)
    counter = _Counter(bank, parent)
    counts, roots, labels = counter.productions() if split is None else counter.split_productions()
    totals = {head: sum(tails.values()) for head, tails in counts.items()}
    rules: list[Rule] = []
    hidden: list[str] = []
    for head, tails in counts.items():
        if markov is None:
            rules += [Rule(head, tail, count / totals[head]) for tail, count in tails.items()]
        else:
            rules += [Rule(head, tail, count / totals[head]) for tail, count in tails.items() if is_lexical(tail)]
            rules += _markov_rules(head, tails, totals[head], markov, counter.taken, hidden)
    rules.sort(key=lambda rule: (rule.head, -rule.probability, rule.tail))
    start = {symbol: count / sum(roots.values()) for symbol, count in sorted(roots.items())}
    model = _unknown(counter, counts, totals, labels, min_count, float(smoothing)) if unknown else None
    return {"rules": rules, "start": start, "labels": labels, "hidden": sorted(hidden), "unknown": model}


def _unique(wish: str, taken: set[str]) -> str:
    """Return a name that is unique, whatever the labels of a treebank are: the wished one, with a number if it is taken."""
    name, number = wish, 2
    while name in taken:
        name, number = f"{wish}#{number}", number + 1
    taken.add(name)
    return name


class _Counter:
    """Counts the productions of a treebank, with parent annotation if requested.

    The production of a node depends only on the node and the label of its parent. Trees are
    therefore not traversed: each distinct subtree below a label is weighted by the number of
    times that it occurs there.
    """

    def __init__(self, bank: Treebank, parent: bool | str) -> None:
        self.store, roots = bank.columns
        self.roots = roots[roots >= 0]
        if not len(self.roots):
            raise TreeError("The treebank contains no trees: PCFG.from_treebank needs at least one tree.")
        self.arity = np.diff(self.store.child_start)
        self.is_word = self.arity == 0
        lone = np.flatnonzero((roots >= 0) & self.is_word[roots])
        if len(lone):
            word = self.store.labels[self.store.label[roots[lone[0]]]]
            raise TreeError(
                f"Tree {lone[0]} of the treebank is the single word {word!r}, without a label above it. "
                "Remove it, or add a label: (X word)."
            )
        weights = bank.weights()
        self.total = np.bincount(weights.node, weights.weight, minlength=len(self.store))
        self.parent = parent
        self.taken: set[str] = set()  # names of symbols

    def productions(self) -> tuple[Counts, dict[str, float], dict[str, str]]:
        """Return the counts of tails by head, the counts of root symbols, and the label of each annotated symbol."""
        store, child, label = self.store, self.store.child, self.store.label
        spelled, width = store.labels, len(store.labels) + 1
        above = np.repeat(np.arange(len(store)), self.arity)  # the parent's node of each child
        annotated = np.zeros(len(store), bool)
        if self.parent:
            annotated[above[~self.is_word[child]]] = True  # phrasal nodes
        if self.parent == "tags":
            annotated = ~self.is_word
        # A symbol is encoded as a label and the label of its parent, or 0 if it is not annotated.
        symbol = label[child].astype(np.int64) * width + np.where(annotated[child], label[above] + 1, 0)
        code = np.where(self.is_word[child], label[child].astype(np.int64) * 2 + 1, symbol * 2)

        used = (self.total[above] > 0) & ~self.is_word[child]
        owner = np.concatenate([child[used], self.roots]).astype(np.int64)
        head = np.concatenate([symbol[used], label[self.roots].astype(np.int64) * width])
        times = np.concatenate([self.total[above[used]], np.ones(len(self.roots))])
        pair, pair_of = np.unique(np.stack([owner, head]), axis=1, return_inverse=True)
        count = np.bincount(pair_of.ravel(), times)

        every = np.unique(np.concatenate([head, pair[1]]))
        plain, noted = every[every % width == 0], every[every % width != 0]
        name = {int(key): _unique(spelled[key // width], self.taken) for key in plain}
        labels: dict[str, str] = {}
        for key in noted.tolist():
            own = spelled[key // width]
            name[key] = _unique(f"{own}^{spelled[key % width - 1]}", self.taken)
            labels[name[key]] = own
        labels.update(
            (called, spelled[key // width]) for key, called in name.items() if called != spelled[key // width]
        )

        begin, codes = store.child_start.tolist(), code.tolist()
        coded: dict[int, dict[tuple[int, ...], float]] = {}
        for node, key, number in zip(*pair.tolist(), count.tolist(), strict=True):
            tails = coded.setdefault(key, {})
            tail = tuple(codes[begin[node] : begin[node + 1]])
            tails[tail] = tails.get(tail, 0.0) + number
        words: dict[int, Word] = {}

        def item(code: int) -> str:
            if code % 2 == 0:
                return name[code // 2]
            if code not in words:
                words[code] = Word(spelled[code // 2])
            return words[code]

        counts = {
            name[key]: {tuple(map(item, tail)): number for tail, number in tails.items()}
            for key, tails in coded.items()
        }
        kind, number = np.unique(label[self.roots], return_counts=True)
        return counts, {name[int(k) * width]: float(n) for k, n in zip(kind, number, strict=True)}, labels

    def split_productions(self) -> tuple[Counts, dict[str, float], dict[str, str]]:
        """Return what `productions` returns, with the labels split as `treelet.parsing.estimate` describes.

        The symbol of a node depends on its subtree, the labels of the two nodes above it, and whether
        it is an only child. Distinct subtrees are visited from the top. Each is counted once per such
        context.
        """
        store, spelled = self.store, self.store.labels
        label = [spelled[number] for number in store.label.tolist()]
        start, child = store.child_start.tolist(), store.child.tolist()
        children = [child[a:b] for a, b in itertools.pairwise(start)]
        suffix = _splits(label, children)
        phrasal = [any(children[below] for below in kids) for kids in children]

        def symbol(node: int, above: str | None, beyond: str | None, alone: bool) -> _Symbol:
            end = "-U" + suffix[node] if alone and label[node] in _LONE else suffix[node]
            if above is None or not (self.parent == "tags" or (self.parent and phrasal[node])):
                return label[node], (), end
            # A preposition depends on the phrase that its own phrase is part of.
            further = (above, beyond) if label[node] == "IN" and beyond is not None and not phrasal[node] else (above,)
            return label[node], further, end

        contexts: dict[int, dict[tuple[str | None, str | None, bool], float]] = {}
        for root, number in zip(*(part.tolist() for part in np.unique(self.roots, return_counts=True)), strict=True):
            contexts[root] = {(None, None, False): float(number)}
        roots: dict[_Symbol, float] = {}
        counts: dict[_Symbol, dict[tuple[_Symbol | Word, ...], float]] = {}
        for node in range(len(store) - 1, -1, -1):
            kids = children[node]
            for (above, beyond, alone), count in contexts.pop(node, {}).items() if kids else ():
                head = symbol(node, above, beyond, alone)
                if above is None:
                    roots[head] = roots.get(head, 0.0) + count
                context = label[node], above, len(kids) == 1
                tail = tuple(symbol(below, *context) if children[below] else Word(label[below]) for below in kids)
                tails = counts.setdefault(head, {})
                tails[tail] = tails.get(tail, 0.0) + count
                for below in kids:
                    seen = contexts.setdefault(below, {})
                    seen[context] = seen.get(context, 0.0) + count
        # Each split symbol gets a name. Symbols without annotation come first and keep their labels.
        ordered = sorted(counts, key=lambda key: (bool(key[1] or key[2]), key))
        name = {key: _unique("^".join((key[0], *key[1])) + key[2], self.taken) for key in ordered}
        named = {
            name[head]: {
                tuple(item if isinstance(item, Word) else name[item] for item in tail): n for tail, n in tails.items()
            }
            for head, tails in sorted(counts.items())
        }
        labels = {called: key[0] for key, called in name.items() if called != key[0]}
        return named, {name[key]: count for key, count in roots.items()}, labels

    def first_words(self) -> dict[tuple[str, str], int]:
        """Count how often each pair of a tag and a word begins a sentence."""
        store, spelled = self.store, self.store.labels
        below = np.arange(len(store))  # the next node on the path to the first word
        inner = np.flatnonzero(~self.is_word)
        first = store.child[store.child_start[:-1][inner]]
        down = ~self.is_word[first]
        below[inner[down]] = first[down]
        while True:
            further = below[below]
            if np.array_equal(further, below):
                break
            below = further
        out: dict[tuple[str, str], int] = {}
        node, number = np.unique(below[self.roots], return_counts=True)
        single = self.arity[node] == 1
        word = store.child[store.child_start[node[single]]]
        for tag, leaf, count in zip(store.label[node[single]], store.label[word], number[single], strict=True):
            key = spelled[tag], spelled[leaf]
            out[key] = out.get(key, 0) + int(count)
        return out


def _unknown(
    counter: _Counter,
    counts: Counts,
    totals: dict[str, float],
    labels: dict[str, str],
    min_count: int,
    smoothing: float,
) -> UnknownWords | None:
    seen: dict[tuple[str, str], float] = {}
    tags: dict[str, float] = {}
    for head, tails in counts.items():
        for tail, count in tails.items():
            if is_lexical(tail):
                key = labels.get(head, head), str(tail[0])
                seen[key] = seen.get(key, 0.0) + count
                tags[head] = totals[head]
    first = counter.first_words()
    sightings = [
        (*key, opens, number)
        for key, count in seen.items()
        for opens, number in ((True, float(first.get(key, 0))), (False, count - first.get(key, 0)))
        if number
    ]
    return UnknownWords.learn(sightings, dict(sorted(tags.items())), min_count, smoothing) if sightings else None


def _markov_rules(
    head: str, tails: dict[Tail, float], total: float, order: int, taken: set[str], hidden: list[str]
) -> list[Rule]:
    """Return rules that generate the children of `head` from left to right, given the `order` siblings before each.

    A hidden symbol stands for the children generated so far. The rule for the last child includes
    the probability of stopping after it. Tails of a single word get no rules here, but they count
    in `total`.
    """
    events: dict[Context, dict[str, float]] = {}

    def after(context: Context, item: str) -> Context:
        return (*(context or ()), item)[-order:] if order else ()

    for tail, count in tails.items():
        if is_lexical(tail):
            continue
        context: Context = None
        for item in (*tail, _STOP):
            following = events.setdefault(context, {})
            following[item] = following.get(item, 0.0) + count
            context = after(context, item)
    chance: dict[Context, dict[str, float]] = {}
    for context, following in events.items():
        seen = total if context is None else sum(following.values())
        chance[context] = {item: count / seen for item, count in following.items()}

    rules: list[Rule] = []
    states: dict[Context, str] = {}
    waiting: list[Context] = []

    def add(left: Tail, item: str, context: Context, probability: float) -> None:
        """Add the rules that generate `item`, after which the context is `context`, and then stop or continue."""
        if _STOP in chance[context]:
            rules.append(Rule(head, (*left, item), probability * chance[context][_STOP]))
        if len(chance[context]) > (_STOP in chance[context]):
            if context not in states:
                siblings = [f'"{item!s}"' if isinstance(item, Word) else item for item in context or ()]
                states[context] = _unique(f"@{head}|{','.join(siblings)}" if siblings else f"@{head}", taken)
                waiting.append(context)
            rules.append(Rule(states[context], (*left, item), probability))

    for first_child, p in chance.get(None, {}).items():
        context = after(None, first_child)
        for two, q in chance[context].items():
            if two != _STOP:
                add((first_child,), two, after(context, two), p * q)
            elif not isinstance(first_child, Word):
                rules.append(Rule(head, (first_child,), p * q))
    while waiting:
        context = waiting.pop()
        for item, p in chance[context].items():
            if item != _STOP:
                add((states[context],), item, after(context, item), p)
    hidden += states.values()
    return rules
