"""Collections of feature sequences. An example is a list of features, or a dict with one list per type."""

from __future__ import annotations

import ast
import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, cast

import numpy as np

from treelet.checks import article
from treelet.errors import InputTypeError, TreeError
from treelet.formats.base import Columns
from treelet.structures.bank import PostOrder, Stats, listed
from treelet.structures.treebank import TreeFormBank

Sequences = tuple[Hashable, ...] | dict[str, tuple[Hashable, ...]]
ONE, BY_TYPE = "=", "=="  # root labels of a plain sequence and of several sequences by type; never equal to a feature
_MOST_NESTED = 50  # maximum nesting depth of tuples


class SequenceBank(TreeFormBank[Sequences | Any]):
    """A collection of feature sequences, used like a `Treebank`.

    Parameters
    ----------
    items : iterable
        Sequences of features, or dicts that map names of types to sequences. Kernels compare dicts
        type by type and add the results. None stands for a missing example; the kernel of a missing
        example with anything is 0. A feature is a string, a number, None, or a tuple of these. As in
        Python, 1 and 1.0 are equal.

    Examples
    --------
    >>> from treelet.structures import SequenceBank
    >>> bank = SequenceBank([["a", "b", 1], {"words": ["a", "b"], "lengths": [1, 2]}])
    >>> bank[0]
    ('a', 'b', 1)
    >>> bank[1]
    {'lengths': (1, 2), 'words': ('a', 'b')}
    >>> print(bank.stats())
    2 examples, 3 sequences, 7 features, 4 distinct, 3 types
    """

    __slots__ = ()

    @classmethod
    def _taken_in(cls, items: Iterable[object]) -> tuple[None, list[Sequences | None]]:
        examples = listed(items, "feature sequences", (dict,))
        known: dict[Hashable, str] = {}
        return None, [_item(item, number, known) for number, item in enumerate(examples)]

    @classmethod
    def _columns_of(cls, items: list[Sequences | None]) -> Columns:
        """Store an example as a tree: a root over one node per type, and the features of a type below its node."""
        trees = PostOrder()
        known: dict[Hashable, str] = {}
        for item in items:
            if item is not None:
                types = item.items() if isinstance(item, dict) else [("", item)]
                filled = [(name, features) for name, features in types if features]
                for name, features in filled:
                    trees.leaves(_text(feature, known) for feature in features)
                    trees.node(name, len(features))
                trees.node(BY_TYPE if isinstance(item, dict) else ONE, len(filled))
            trees.end(missing=item is None)
        return trees.columns()

    @classmethod
    def _check(cls, columns: Columns) -> None:
        store, roots = columns
        start, child, height, texts = store.child_start, store.child, store.height, store.labels
        parent = np.repeat(np.arange(len(store)), np.diff(start))
        roots = roots[roots >= 0]
        good = (height[parent] == height[child] + 1).all() and np.isin(height[roots], [0, 2]).all()
        good = good and all(texts[label] in (ONE, BY_TYPE) for label in np.unique(store.label[roots]).tolist())
        if not good or height.max(initial=0) > 2:
            raise TreeError("The trees do not represent feature sequences, because no SequenceBank made them.")
        leaves = store.label[child[height[child] == 0]]
        try:
            for number in np.unique(leaves).tolist():
                feature_of(texts[number])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise TreeError(
                f"The label {texts[number]!r:.60} does not represent a feature, because no SequenceBank made these trees."
            ) from None

    @classmethod
    def _items_of(cls, columns: Columns) -> list[Sequences | None]:
        store, roots = columns
        label, start, child = store.label.tolist(), store.child_start.tolist(), store.child.tolist()
        texts = store.labels
        feature_of_leaf: dict[int, Hashable] = {}

        def features(node: int) -> tuple[Hashable, ...]:
            leaves = [label[leaf] for leaf in child[start[node] : start[node + 1]]]
            for leaf in leaves:
                if leaf not in feature_of_leaf:
                    feature_of_leaf[leaf] = feature_of(texts[leaf])
            return tuple(feature_of_leaf[leaf] for leaf in leaves)

        examples: list[Sequences | None] = []
        for root in roots.tolist():
            if root < 0:
                examples.append(None)
                continue
            types = {texts[label[node]]: features(node) for node in child[start[root] : start[root + 1]]}
            examples.append(types if texts[label[root]] == BY_TYPE else types.get("", ()))
        return examples

    def stats(self) -> Stats:
        """Count examples, sequences, features, distinct features and types."""
        weights, store = self.weights(), self.columns.store
        is_root = np.zeros(len(store), bool)
        is_root[self.columns.roots[self.columns.roots >= 0]] = True
        is_feature, is_sequence = (store.height == 0) & ~is_root, store.height == 1
        distinct = np.unique(weights.node)
        return Stats(
            examples=len(self),
            sequences=int(weights.weight[is_sequence[weights.node]].sum()),
            features=int(weights.weight[is_feature[weights.node]].sum()),
            distinct=int(is_feature[distinct].sum()),
            types=len(np.unique(store.label[distinct[is_sequence[distinct]]])),
        )


def _item(item: object, number: int, known: dict[Hashable, str]) -> Sequences | None:
    if item is None:
        return None
    if isinstance(item, Mapping):
        for name in item:
            if not isinstance(name, str):
                raise InputTypeError(
                    f"example {number}: The name of a type must be a string. Got {name!r:.60} instead."
                )
        types = sorted(item.items())
        return {name: _sequence(features, f"example {number}, type {name!r}", known) for name, features in types}
    return _sequence(item, f"example {number}", known)


def _sequence(features: object, where: str, known: dict[Hashable, str]) -> tuple[Hashable, ...]:
    if isinstance(features, (str, bytes)):
        raise InputTypeError(
            f"{where}: A list of features is needed. Got {article(type(features).__name__)} instead. Use text.split() "
            "for words, or list(text) for characters."
        )
    try:
        sequence: tuple[Hashable, ...] = tuple(cast("Iterable[Hashable]", features))
    except TypeError:
        raise InputTypeError(
            f"{where}: A list of features, or a dict of such lists, is needed. Got {article(type(features).__name__)} "
            "instead. For parses, use treelet.cuts.feature_sequences."
        ) from None
    for index, feature in enumerate(sequence):
        try:
            _text(feature, known)
        except (TypeError, ValueError) as error:
            raise InputTypeError(f"{where}, feature {index}: {error}") from None
    return sequence


def _text(feature: Hashable, known: dict[Hashable, str]) -> str:
    """Return the label of a feature in a store: strings unchanged, other features as literals after an "=" sign."""
    if isinstance(feature, str):
        return feature if not feature.startswith("=") else f"={str(feature)!r}"
    try:
        text = known.get(feature)
    except TypeError:
        text = None  # not hashable: `_plain` raises the error
    if text is None:
        text = f"={_plain(feature, 0)!r}"
        known[feature] = text
    return text


def _plain(feature: object, depth: int) -> object:
    """Convert a feature to the types of Python literals. Equal features become identical literals."""
    if isinstance(feature, np.generic):
        feature = feature.item()
    if feature is None or isinstance(feature, bytes):
        return feature
    if isinstance(feature, str):
        return str(feature)
    if isinstance(feature, int):
        return int(feature)
    if isinstance(feature, float):
        if math.isnan(feature):
            raise ValueError("NaN cannot be a feature, because it is not equal to itself. Use None instead.")
        return int(feature) if feature.is_integer() else float(feature)
    if isinstance(feature, tuple):
        if depth == _MOST_NESTED:
            raise ValueError(f"The tuples of a feature are nested more than {_MOST_NESTED} levels deep.")
        return tuple(_plain(member, depth + 1) for member in feature)
    raise TypeError(
        "A feature must be a string, a number, None or a tuple of these. "
        f"Got {article(type(feature).__name__)} instead: convert it, for example with str()."
    )


def feature_of(text: str) -> Hashable:
    """Return the feature that a label in a store stands for. Other labels raise ValueError."""
    if not text.startswith("="):
        return text
    if text in ("=inf", "=-inf"):
        return float(text[1:])
    feature: Hashable = ast.literal_eval(text[1:])
    if f"={_plain(feature, 0)!r}" != text:
        raise ValueError("not the label of a feature")
    return feature
