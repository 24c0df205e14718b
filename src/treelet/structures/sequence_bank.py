"""Collections of feature sequences: an example is a list of features, or several lists by type."""

from __future__ import annotations

import ast
import math
from collections.abc import Hashable, Iterable, Mapping
from typing import cast

import numpy as np

from treelet.errors import InputTypeError, TreeError
from treelet.formats.base import Columns
from treelet.structures.bank import PostOrder, Stats, listed
from treelet.structures.tree_form import TreeFormBank

Sequences = tuple[Hashable, ...] | dict[str, tuple[Hashable, ...]]
ONE, BY_TYPE = "=", "=="  # above a plain sequence, above several by type; no feature is written so
MOST_NESTED = 50  # tuples in tuples


class SequenceBank(TreeFormBank[Sequences | None]):
    """Sequences of features, for kernels: a collection like `Treebank`.

    Parameters
    ----------
    examples : iterable
        Each a sequence of features; or a dict from names of types to sequences, which kernels compare type by type and
        add up. None is a missing example, whose kernel with anything is 0. A feature is a text, a number, None, or a tuple of such; as in Python, 1 and 1.0
        are equal.

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
        """The features of a type under a node for the type, and those under one over all types."""
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
            raise TreeError("these trees are no sequences of features: they were not made by a SequenceBank")
        leaves = store.label[child[height[child] == 0]]
        try:
            for number in np.unique(leaves).tolist():
                feature_of(texts[number])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise TreeError("a feature of these sequences is none: they were not made by a SequenceBank") from None

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
        """How many examples, sequences, features and distinct ones, types."""
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
                raise InputTypeError(f"example {number}: a type is named by a text, got {name!r}")
        parts = sorted(item.items())
        return {name: _sequence(features, f"example {number}, type {name!r}", known) for name, features in parts}
    return _sequence(item, f"example {number}", known)


def _sequence(features: object, where: str, known: dict[Hashable, str]) -> tuple[Hashable, ...]:
    if isinstance(features, (str, bytes)):
        raise InputTypeError(
            f"{where}: a {type(features).__name__} is no sequence of features: list(text) gives its characters, "
            "text.split() its words"
        )
    try:
        listed: tuple[Hashable, ...] = tuple(cast("Iterable[Hashable]", features))
    except TypeError:
        raise InputTypeError(
            f"{where}: a sequence of features is needed, or a dict of them; got {type(features).__name__}. Of a parse, "
            "they are given by treelet.cuts.feature_sequences"
        ) from None
    for index, feature in enumerate(listed):
        try:
            _text(feature, known)
        except (TypeError, ValueError) as error:
            raise InputTypeError(f"{where}, feature {index}: {error}") from None
    return listed


def _text(feature: Hashable, known: dict[Hashable, str]) -> str:
    """How a feature is written in a store: texts as they are, others after a sign."""
    if isinstance(feature, str):
        return feature if not feature.startswith("=") else f"={str(feature)!r}"
    try:
        text = known.get(feature)
    except TypeError:
        text = None  # not hashable: the next line says so
    if text is None:
        text = f"={_plain(feature, 0)!r}"
        known[feature] = text
    return text


def _plain(feature: object, depth: int) -> object:
    """The feature in the types that a literal has; equal ones alike."""
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
            raise ValueError("NaN is equal to nothing, itself included: it is no feature")
        return int(feature) if feature.is_integer() else float(feature)
    if isinstance(feature, tuple):
        if depth == MOST_NESTED:
            raise ValueError(f"tuples are nested more than {MOST_NESTED} deep")
        return tuple(_plain(member, depth + 1) for member in feature)
    raise TypeError(
        f"a feature is a text, a number, None or a tuple of such, not a {type(feature).__name__}: make it one, as by str()"
    )


def feature_of(text: str) -> Hashable:
    """The feature that is written so in a store."""
    if not text.startswith("="):
        return text
    if text in ("=inf", "=-inf"):
        return float(text[1:])
    feature: Hashable = ast.literal_eval(text[1:])
    if f"={_plain(feature, 0)!r}" != text:
        raise ValueError("not written so")
    return feature
