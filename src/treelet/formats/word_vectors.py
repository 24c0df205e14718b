"""Word vectors: text with a word and its numbers a line, or a NumPy array with the words beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from treelet.errors import FileError
from treelet.formats.arrays import read_array
from treelet.formats.files import Source, open_source

Vectors = tuple[list[str], NDArray[np.float64]]
"""Words, and a row of numbers each."""


def read_text(source: Source) -> Vectors:
    """``word 0.1 0.2 ...`` a line, with or without the line of counts that word2vec and gensim put first."""
    words: list[str] = []
    rows: list[NDArray[np.float64]] = []
    for number, line in source.text_lines():
        parts = line.rstrip().split(" ")
        if number == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
            continue
        if not line.strip():
            continue
        try:
            row = np.array(parts[1:], dtype=np.float64)
        except ValueError:
            raise source.error("a word and its numbers are needed on each line", number) from None
        if not len(row) or (rows and len(row) != len(rows[0])):
            expected = f"{len(rows[0])} numbers, as on the lines before" if rows else "numbers after the word"
            raise source.error(f"{len(row)} numbers here; there should be {expected}", number)
        words.append(parts[0])
        rows.append(row)
    return words, np.array(rows) if rows else np.zeros((0, 1))


def read_npy(path: Path) -> Vectors:
    """A ``.npy`` file, and the words, one a line, in a ``.txt`` or ``.vocab`` file of the same name."""
    matrix = read_array(path)
    for suffix in (".txt", ".vocab"):
        words = path.with_suffix(suffix)
        if words.exists():
            with open_source(words) as source:
                return [line.strip() for _, line in source.text_lines() if line.strip()], matrix
    raise FileError(f"{path}: the words are needed beside it, one a line, in {path.with_suffix('.txt').name}")
