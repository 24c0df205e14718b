"""Word vectors, which measure the similarity of words."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article, plural, some_of
from treelet.errors import FileError, InputTypeError, ParameterError
from treelet.formats.arrays import read_header
from treelet.formats.files import PathLike, Source, open_source, unreadable


class WordVectors:
    """Words with one vector per word. The similarity of two words is the cosine of their vectors.

    Parameters
    ----------
    words : sequence of str
        Distinct words.
    matrix : array of shape (n_words, n_dimensions)
        Finite numbers. A row of zeros has similarity 0 to all other words.

    Examples
    --------
    >>> from treelet.structures import WordVectors
    >>> vectors = WordVectors(["cat", "dog", "car"], [[1, 0.2], [1, 0.3], [0, 1]])
    >>> round(vectors.similarity("cat", "dog"), 3)
    0.996
    """

    path: str | None = None
    """The file that the vectors were read from."""

    def __init__(self, words: Sequence[str], matrix: Any) -> None:
        try:
            values = np.asarray(matrix, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputTypeError(_vectors_problem(words, matrix, error)) from None
        if values.ndim != 2 or len(values) != len(words):
            raise InputTypeError(
                "WordVectors needs an array with one row per word. "
                f"Got {plural(len(words), 'word')} and an array of shape {values.shape} instead."
            )
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(bad):
            raise ParameterError(f"The vector of the word {words[bad[0]]!r} contains a value that is not finite.")
        self.index = {word: row for row, word in enumerate(words)}
        if len(self.index) != len(words):
            repeated = [word for word, count in Counter(words).items() if count > 1]
            raise ParameterError(f"Each word must occur once. Words that occur several times: {some_of(repeated, 5)}.")
        self.unit = _unit_rows(values)
        self.unit.flags.writeable = False  # copies share it

    @classmethod
    def of(cls, vectors: object) -> WordVectors:
        """Convert a mapping from words to vectors, a gensim KeyedVectors or the path of a file to word vectors."""
        if isinstance(vectors, WordVectors):
            return vectors
        if isinstance(vectors, (str, os.PathLike)):
            return cls.read(vectors)
        if isinstance(vectors, Mapping):
            return cls(list(vectors), [np.asarray(value) for value in vectors.values()])
        words = getattr(vectors, "index_to_key", None)  # gensim's KeyedVectors
        if words is not None and hasattr(vectors, "vectors"):
            return cls(list(words), vectors.vectors)
        raise InputTypeError(
            "Word vectors must be WordVectors, a dict from words to vectors, a gensim KeyedVectors or a path. "
            f"Got {article(type(vectors).__name__)} instead."
        )

    @classmethod
    def read(cls, path: PathLike) -> WordVectors:
        """Read word vectors from a file.

        Parameters
        ----------
        path : path
            A text file with one line ``word 0.1 0.2 ...`` per word, with or without the line of
            counts that word2vec and gensim write first. Files in ``.gz`` and ``.xz`` format are
            decompressed. Or a ``.npy`` file with the matrix, next to a ``.txt`` or ``.vocab`` file of
            the same name that contains one word per line.
        """
        if str(path).endswith(".npy"):
            vectors = cls(*_read_npy(Path(path)))
        else:
            with open_source(path) as source:
                vectors = cls(*_read_text(source))
        vectors.path = os.fspath(path)
        return vectors

    def __copy__(self) -> WordVectors:
        return self  # never changes, and may be large

    def __deepcopy__(self, memo: object) -> WordVectors:
        return self

    def __len__(self) -> int:
        return len(self.index)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __repr__(self) -> str:
        if self.path is not None:
            return f"WordVectors.read({self.path!r})"
        if len(self) <= 10:
            return f"WordVectors({list(self.index)!r}, {self.unit.tolist()!r})"
        return f"<WordVectors: {len(self)} words, {self.unit.shape[1]} dimensions>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordVectors):
            return NotImplemented
        return list(self.index) == list(other.index) and bool(np.allclose(self.unit, other.unit, rtol=0, atol=1e-15))

    __hash__ = None  # type: ignore[assignment]  # compared by content

    def similarity(self, first: str, second: str) -> float:
        """Return the cosine of the vectors of two words: 1 for equal words, 0 if a word has no vector."""
        if first == second:
            return 1.0
        if first not in self.index or second not in self.index:
            return 0.0
        return float(self.unit[self.index[first]] @ self.unit[self.index[second]])

    def similar(
        self, words: Sequence[str], threshold: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return the similarities between words that exceed the threshold, as the rows of a sparse matrix.

        The diagonal is left out.
        """
        known = np.array([k for k, word in enumerate(words) if word in self.index], dtype=np.int64)
        unit = self.unit[[self.index[words[k]] for k in known]] if len(known) else np.zeros((0, 1))
        counts = np.zeros(len(words), np.int64)
        neighbors: list[NDArray[np.int64]] = []
        sigma: list[NDArray[np.float64]] = []
        for begin in range(0, len(known), 1024):  # cosines of 1,024 words with all words, without the diagonal
            block = unit[begin : begin + 1024] @ unit.T
            block[np.arange(len(block)), begin + np.arange(len(block))] = 0
            row, column = np.nonzero(block > threshold)
            counts[known[begin : begin + 1024]] = np.bincount(row, minlength=len(block))
            neighbors.append(known[column])
            sigma.append(np.minimum(block[row, column], 1.0))
        start = np.concatenate([[0], np.cumsum(counts)])
        if not neighbors:
            return start, np.zeros(0, np.int32), np.zeros(0)
        return start, np.concatenate(neighbors).astype(np.int32), np.concatenate(sigma)


def _read_text(source: Source) -> tuple[list[str], NDArray[np.float64]]:
    """Read lines of the form ``word 0.1 0.2 ...``, with or without the line of counts that word2vec and gensim put first."""
    words: list[str] = []
    rows: list[NDArray[np.float64]] = []
    for number, line in source.text_lines():
        parts = line.rstrip().split(" ")
        if number == 1 and len(parts) == 2 and all(text.isdigit() for text in parts):
            continue
        if not line.strip():
            continue
        try:
            row = np.array(parts[1:], dtype=np.float64)
        except ValueError:
            raise source.error("each line must contain a word and its numbers, separated by spaces.", number) from None
        if not len(row) or (rows and len(row) != len(rows[0])):
            expected = f"{plural(len(rows[0]), 'number')}, as on the lines before" if rows else "numbers after the word"
            raise source.error(f"this line has {plural(len(row), 'number')}, but it must have {expected}.", number)
        words.append(parts[0])
        rows.append(row)
    return words, np.array(rows) if rows else np.zeros((0, 1))


def _read_npy(path: Path) -> tuple[list[str], NDArray[Any]]:
    """Read a ``.npy`` file, and its words, one per line, from a ``.txt`` or ``.vocab`` file of the same name."""
    try:
        with path.open("rb") as stream:
            shape, by_columns, dtype, _ = read_header(stream)
            values = np.fromfile(stream, dtype, math.prod(shape))
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise unreadable(path, error) from error
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be read as a NumPy array ({reason}).") from error
    matrix = values.reshape(shape, order="F" if by_columns else "C")
    for suffix in (".txt", ".vocab"):
        words = path.with_suffix(suffix)
        if words.exists():
            with open_source(words) as source:
                return [line.strip() for _, line in source.text_lines() if line.strip()], matrix
    raise FileError(
        f"{path}: the file of words is missing. Write the words, one per line, to {path.with_suffix('.txt').name} in the "
        "same folder."
    )


def _unit_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide rows by their lengths. Rows of zeros stay.

    The squares of values near 1e308 or 1e-320 are infinite or 0. Such rows are first multiplied by a power
    of 2, which changes no digit of normal numbers.
    """
    largest = np.abs(values).max(axis=1, initial=0.0, keepdims=True)
    extreme = ((largest > 2.0**500) | (largest < 2.0**-500)).ravel()  # other rows keep their bits
    scaled = values
    if extreme.any():
        exponent = np.where(extreme[:, None], -np.frexp(largest)[1], 0)
        scaled = np.ldexp(values, exponent)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit: NDArray[np.float64] = np.divide(scaled, norms, out=np.zeros_like(values), where=norms > 0)
    return unit


class ReadsVectors:
    """Base class of functions with word vectors. The first computation or copy reads them, and they stay the same.

    A function therefore never computes with two versions of a file or of a mapping.
    """

    _read: tuple[Any, Any] | None = None

    def _given_vectors(self) -> Any:
        """Return the parameter that contains word vectors or names their file, or None if there are none."""
        raise NotImplementedError

    @staticmethod
    def _read_vectors(given: Any) -> Any:
        """Return the vectors that a parameter contains or names."""
        return WordVectors.of(given)

    def _word_vectors(self) -> Any:
        given, read = self._given_vectors(), self._read
        if read is None or read[0] is not given:
            self._read = read = (given, self._read_vectors(given))
        return read[1]

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes of a copy, which has the vectors and does not read the file again.

        In another process the file may be absent or different.
        """
        if self._given_vectors() is not None:
            self._word_vectors()
        return self.__dict__


def _vectors_problem(words: Sequence[str], matrix: Any, error: Exception) -> str:
    """Return the message for vectors that do not form a matrix of numbers, with the first words at fault."""
    vectors = dict(zip(words, matrix, strict=False)) if hasattr(matrix, "__iter__") else {}
    lengths = {word: len(vector) for word, vector in vectors.items() if hasattr(vector, "__len__")}
    for word, length in lengths.items():
        first = next(iter(lengths))
        if length != lengths[first]:
            return (
                f"All word vectors must have the same length. Got {plural(lengths[first], 'number')} for {first!r} "
                f"and {plural(length, 'number')} for {word!r} instead."
            )
    for word, vector in vectors.items():
        try:
            np.asarray(vector, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return f"Word vectors must be lists of numbers. Got {vector!r:.60} for {word!r} instead."
    return f"Word vectors must be numbers, and all of the same length ({error})."
