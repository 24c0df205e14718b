"""The smoothed partial-tree kernel, in which similar words match in part."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import check_number, check_one_of, is_number, wrong
from treelet.errors import ParameterError
from treelet.kernels.parameters import DECAYS, Bounds
from treelet.kernels.tree import PartialTree
from treelet.structures.word_vectors import ReadsVectors, WordVectors

SparseRows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
"""Starts of rows, columns and values of a sparse matrix."""
Compare = Callable[[str, str], float]


class _Itself:
    """Wraps an object for use in a key, where it is compared by identity instead of equality."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


# --- similarities of words: pairs, and functions ----------------------------------------------------------------------


class _WordPairs:
    """Similarities of pairs of words, in either order. Other words have similarity 0."""

    def __init__(self, pairs: Mapping[tuple[str, str], float]) -> None:
        self.pairs = dict(pairs)
        self._near: dict[str, dict[str, float]] = {}
        for pair, value in pairs.items():
            if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(word, str) for word in pair)):
                raise ParameterError(
                    f"Similarities must have pairs of words as keys. Got the key {pair!r:.60} instead."
                )
            first, second = pair
            _check_similarity(value, f"The similarity of {first!r} and {second!r}")
            other = self.pairs.get((second, first), value)
            if other != value:
                raise ParameterError(
                    f"The similarity of {first!r} and {second!r} is {value!r:.60}, but {other!r:.60} in the other order. "
                    "Similarities must be symmetric: give each pair once."
                )
            if first == second and value != 1:
                raise ParameterError(f"The similarity of {first!r} to itself must be 1. Got {value!r:.60} instead.")
            for word, neighbor in (pair, (second, first)):
                near = self._near.setdefault(word, {})
                if word != neighbor:
                    near[neighbor] = float(value)

    def __contains__(self, word: object) -> bool:
        return word in self._near

    def similar(self, words: Sequence[str], threshold: float) -> SparseRows:
        return _near_rows(self._near, words, threshold)


class _WordFunction:
    """Similarities that a function computes. Each pair of words is computed once, in both orders."""

    _computing = RLock()

    def __init__(self, compare: Compare) -> None:
        self.compare = compare
        self._near: dict[Hashable, dict[str, dict[str, float]]] = {}  # kind -> its words so far -> similar words

    def __contains__(self, word: object) -> bool:
        return False

    def similar(self, words: Sequence[str], threshold: float, kind: Hashable) -> SparseRows:
        with self._computing:
            near = self._near.setdefault(kind, {})
            for word in words:
                if word not in near:
                    values = {other: value for other in near if (value := self._value(word, other))}
                    near[word] = values  # after the last call, which may raise an error
                    for other, value in values.items():
                        near[other][word] = value
                    _core.check()
            return _near_rows(near, words, threshold)

    def _value(self, first: str, second: str) -> float:
        values = []
        for pair in ((first, second), (second, first)):
            call = f"vectors({pair[0]!r}, {pair[1]!r})"
            try:
                value = self.compare(*pair)
            except Exception as error:
                raise ParameterError(f"{call} raised {type(error).__name__}: {error}") from error
            _check_similarity(value, call)
            values.append(float(value))
        if abs(values[0] - values[1]) > 1e-12:
            raise ParameterError(
                f"vectors({first!r}, {second!r}) is {values[0]}, but {values[1]} in the other order. "
                "Similarities must be symmetric."
            )
        return max(values)


def _check_similarity(value: object, subject: str) -> None:
    if not is_number(value, 0, 1):
        raise ParameterError(f"{subject} must be a number in [0, 1]. Got {value!r:.60} instead.")


def _near_rows(near: Mapping[str, Mapping[str, float]], words: Sequence[str], threshold: float) -> SparseRows:
    """Return the similarities between words that exceed the threshold, as `WordVectors.similar` does."""
    number = {word: k for k, word in enumerate(words)}
    rows = [
        [(number[other], value) for other, value in near.get(word, {}).items() if value > threshold and other in number]
        for word in words
    ]
    columns, values = zip(*(entry for row in rows for entry in row), strict=True) if any(rows) else ((), ())
    return np.cumsum([0, *map(len, rows)]), np.array(columns, np.int32), np.array(values, np.float64)


# --- labels and their words -------------------------------------------------------------------------------------------

_PREFIX = re.compile(r"([A-Z]+)##(?=.)")


def _word_of(label: str, known: Any) -> tuple[str, Hashable] | None:
    """Return the word of a label and its kind, or None if the label is not a word; see `Smoothed`."""
    prefix = _PREFIX.match(label)
    kind, text = (prefix[1], label[prefix.end() :]) if prefix else ("", label)
    word, _, part = text.rpartition("::")
    if not word or not part:
        word, part = text, ""
    if kind not in ("", "LEX") and label not in known:
        return None
    if kind == "COMP":  # COMP##nsubj<run::v,dog::n>: the relation and both parts of speech
        part = re.sub(r"[^<,]+(?=::)", "", text)
    return next((name for name in (label, text) if name in known), word), (kind, part)


def _similar_labels(
    words: Sequence[tuple[str, Hashable] | None], similar: Callable[[Hashable, Sequence[str]], SparseRows]
) -> SparseRows:
    """Return the similarities of labels, as rows of a sparse matrix, from those of their words.

    Each label has a word and its kind, or None. Words of different kinds are not similar. Different labels with the
    same word have similarity 1.
    """
    kinds: dict[Hashable, dict[str, list[int]]] = {}
    for label, word in enumerate(words):
        if word is not None:
            kinds.setdefault(word[1], {}).setdefault(word[0], []).append(label)
    rows, columns, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for kind, held in kinds.items():
        start, near, sigma = similar(kind, list(held))
        labels = np.array([label for same in held.values() for label in same])
        counts = np.array([len(same) for same in held.values()])
        first = np.cumsum(counts) - counts
        several = np.flatnonzero(counts > 1)
        a = np.concatenate([np.repeat(np.arange(len(held)), np.diff(start)), several])
        b, sigma = np.concatenate([near, several]), np.concatenate([sigma, np.ones(len(several))])
        pairs = counts[a] * counts[b]  # every label of one word with every label of the other
        entry = np.repeat(np.arange(len(a)), pairs)
        offset = np.arange(len(entry)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
        row = labels[first[a[entry]] + offset // counts[b[entry]]]
        column = labels[first[b[entry]] + offset % counts[b[entry]]]
        different = row != column
        rows.append(row[different])
        columns.append(column[different])
        values.append(sigma[entry[different]])
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(words)))])
    return start, np.concatenate(columns)[order].astype(np.int32), np.concatenate(values)[order]


class Smoothed(ReadsVectors, PartialTree):
    r"""Smoothed partial-tree kernel (SPTK): `PartialTree` in which similar words match in part.

    Parameters
    ----------
    vectors : WordVectors, mapping, gensim KeyedVectors, path or callable
        Similarity of words, in one of these forms:

        - Word vectors: the similarity is the cosine. A mapping has words as keys and vectors as
          values. A path names a text file of ``word 0.1 0.2 ...`` lines, or a ``.npy`` file with the
          list of words next to it. A word without a vector, or with a vector of zeros, is similar
          only to itself.
        - A mapping of pairs, ``{("cat", "dog"): 0.8}``, with similarities in [0, 1]. The order of the
          two words does not matter. Other pairs have similarity 0.
        - A callable that takes two words and returns a similarity in [0, 1], the same in both orders.
          The kernel calls it once per pair of different words and order, and keeps the results. Models
          with a callable cannot be saved.

        The first computation or copy reads the vectors, and the kernel and its copies keep them: create
        a new kernel after a file or mapping has changed. ``sklearn.base.clone``, which a
        cross-validation calls, also creates a new kernel, so it reads a file again; pass
        ``WordVectors.read(path)`` to read it once.
    lam, mu, leaves, terminal_factor, lam_bounds, mu_bounds
        As for `PartialTree`. A terminal factor above 1 keeps the kernel positive semi-definite only if
        no word is also the label of an inner node or similar to one.
    threshold : float, default 0.4
        Similarity threshold in [0, 1]. Similarities up to this value count as 0.
    nodes : {"all", "leaves"}, default "all"
        Nodes that can be similar. With ``"leaves"``, two nodes are similar only if neither has children;
        all other labels must be equal.
    word : callable, optional
        Function that takes a label and returns its word, or None if the label is not a word. It may also
        return a pair of the word and its kind; only words of the same kind are compared. Default: the
        rule below. Models with a function cannot be saved.

    Notes
    -----
    The kernel of Croce, Moschitti & Basili (2011) is

    .. math::
        \Delta(n_1, n_2) = \mu \, \sigma(n_1, n_2) \Bigl(\lambda^2 + \sum_{J_1, J_2}
        \lambda^{g(J_1) + g(J_2)} \prod_i \Delta(c_1[J_{1i}], c_2[J_{2i}])\Bigr)

    with the sum of `PartialTree`. :math:`\sigma` is 1 for equal labels, the similarity of their words if
    it exceeds the threshold, and 0 otherwise.

    The word of a label is the label itself, with two additions for labels in the form of KeLP.
    ``LEX##dog::n`` and ``dog::n`` are the word ``dog`` with the part of speech ``n``. Two words are
    compared only if both labels have the prefix ``LEX##`` or neither, and if their parts of speech are
    equal. A label with another prefix, such as ``POS##NN``, is not a word. If the vectors or pairs
    contain the label itself, or the label without the prefix (``dog::n``), this text is the word. Nodes
    of two words, such as ``COMP##nsubj<run::v,dog::n>``, are compared if the vectors contain such labels,
    and if the relations and the parts of speech are equal.

    The kernel is positive semi-definite if the similarities of all words form a positive semi-definite
    matrix. Cosines do, but a threshold above 0 sets some of them to 0, and the rest can have negative
    eigenvalues. With ``threshold=0``, only negative cosines count as 0. The kernel is then positive
    semi-definite for vectors without negative numbers, such as counts, but not for all vectors. A
    similarity that is never negative, such as a squared cosine, is safe as a callable with
    ``threshold=0``. Support vector machines fail on an indefinite kernel: check the smallest eigenvalue
    (``numpy.linalg.eigvalsh``), or choose the threshold by cross-validation.

    Computation time is that of `PartialTree` plus the pairs of nodes with similar words. It grows with
    the number of similar words, so a higher threshold is faster.

    Examples
    --------
    >>> from treelet import PartialTree, Smoothed
    >>> vectors = {"cat": [1, 0.2], "dog": [1, 0.3], "car": [0, 1]}
    >>> trees = ["(N cat)", "(N dog)", "(N car)"]
    >>> Smoothed(vectors, threshold=0.5)(trees).round(3)
    array([[0.154, 0.153, 0.064],
           [0.153, 0.154, 0.064],
           [0.064, 0.064, 0.154]])

    Words can also be inner nodes:

    >>> trees = ["(runs (cat the))", "(walks (cat the))"]
    >>> PartialTree(lam=1, mu=1)(trees)
    array([[6., 3.],
           [3., 6.]])
    >>> Smoothed({("runs", "walks"): 0.5}, lam=1, mu=1)(trees)
    array([[6. , 4.5],
           [4.5, 6. ]])
    """

    _always_shown: tuple[str, ...] = ("vectors", "lam", "mu")
    collapses = False  # words of later examples can be similar to words of the model
    _on_device = ""  # device code does not support similar words

    def __init__(
        self,
        vectors: Any,
        lam: float = 0.4,
        mu: float = 0.4,
        leaves: bool = True,
        threshold: float = 0.4,
        nodes: str = "all",
        *,
        word: Callable[[str], Any] | None = None,
        terminal_factor: float = 1.0,
        lam_bounds: Bounds = DECAYS,
        mu_bounds: Bounds = DECAYS,
    ) -> None:
        self._alike: tuple[tuple[Any, ...], tuple[Any, ...], SparseRows] | None = None
        self.vectors = vectors
        self.threshold = threshold
        self.nodes = nodes
        self.word = word
        super().__init__(lam, mu, leaves, terminal_factor=terminal_factor, lam_bounds=lam_bounds, mu_bounds=mu_bounds)

    def validate(self) -> None:
        super().validate()
        check_number(self, "threshold", 0, 1, low_included=True)
        check_one_of("nodes", self.nodes, ("all", "leaves"), of=self)
        if self.word is not None and not callable(self.word):
            raise wrong("word", "a function", self.word, of=self, optional=True)

    def params_by_content(self) -> dict[str, Any]:
        similarity = self._word_vectors()
        content = getattr(similarity, "pairs", getattr(similarity, "compare", similarity))
        return {**self.get_params(deep=False), "vectors": content}

    def _given_vectors(self) -> Any:
        return self.vectors

    @staticmethod
    def _read_vectors(given: Any) -> Any:
        if isinstance(given, Mapping) and (not given or any(isinstance(key, tuple) for key in given)):
            return _WordPairs(given)
        return _WordFunction(given) if callable(given) else WordVectors.of(given)

    def _identity(self) -> Hashable:
        params = {**self.get_params(deep=False), "vectors": _Itself(self._word_vectors())}
        return type(self), tuple(params.items())

    def index_key(self, logs: bool) -> None:
        return None  # the similar words depend on the rows, too

    def _rough_more(self, store: Any) -> int:
        return 64 * len(store.labels) ** 2  # all words may be similar

    def _native_parameters(self, store: _core.Store) -> tuple[Any, ...]:
        start, label, sigma = self._similar_labels(store)
        similar = _core.Similar.of(start, label, np.ascontiguousarray(sigma), self.nodes == "all")
        *plain, _ = super()._native_parameters(store)
        return *plain, similar

    def _similar_labels(self, store: _core.Store) -> SparseRows:
        """Return the similarities of the labels of a store. The last result is cached, because one bank needs it repeatedly."""
        similarity, labels = self._word_vectors(), store.labels
        owners, query = (similarity, self.word), (float(self.threshold), self.nodes, labels)
        alike = self._alike
        if alike is not None and all(map(lambda a, b: a is b, alike[0], owners)) and alike[1] == query:
            return alike[2]
        words = [self._word(label, similarity) for label in labels]
        function = isinstance(similarity, _WordFunction)
        if function and self.nodes == "leaves":  # the function may not know the labels of other nodes
            leaves = set(store.label[np.diff(store.child_start) == 0].tolist())
            words = [word if number in leaves else None for number, word in enumerate(words)]
        result = _similar_labels(
            words, lambda kind, texts: similarity.similar(texts, float(self.threshold), *([kind] if function else []))
        )
        self._alike = (owners, query, result)
        return result

    def _word(self, label: str, known: Any) -> tuple[str, Hashable] | None:
        if self.word is None:
            return _word_of(label, known)
        try:
            word = self.word(label)
        except Exception as error:
            raise ParameterError(f"word({label!r}) raised {type(error).__name__}: {error}") from error
        if word is None:
            return None
        text, kind = word if isinstance(word, tuple) and len(word) == 2 else (word, None)
        if not isinstance(text, str) or not isinstance(kind, Hashable):
            raise ParameterError(
                f"word({label!r}) must return a word, a pair of a word and its kind, or None. Got {word!r:.60} instead."
            )
        return text, kind
