"""Arrays of numbers: NumPy's ``.npy`` files, and word vectors.

Headers are not trusted: a file must contain exactly the data that its header announces.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.checks import plural
from treelet.errors import FileError
from treelet.formats.files import Source, open_source, unreadable

_REAL = "biuf"  # kinds of types that are real numbers


class _Header(NamedTuple):
    """Shape, layout and type in the header of a ``.npy`` file, and the offset at which the values begin."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    begin: int


def read_header(stream: IO[bytes]) -> _Header:
    """Read the header of an open file of real numbers. Raise ValueError if the header or the size of the file is wrong."""
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, by_columns, dtype = np.lib.format.read_array_header_2_0(stream)
        else:
            raise ValueError(f"unsupported .npy version {'.'.join(map(str, version))}")
    except Exception as error:  # NumPy lets through what tokenize, ast and its own C code raise
        raise ValueError(" ".join(str(error).split())[:200] or type(error).__name__) from error
    if dtype.kind not in _REAL or dtype.hasobject or dtype.shape:
        raise ValueError(f"it contains {dtype} values, but real numbers are needed")
    begin = stream.tell()
    if any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"its header declares the invalid shape {str(shape)[:80]}")
    needed, present = math.prod(shape) * dtype.itemsize, os.fstat(stream.fileno()).st_size - begin
    if present != needed:
        wrong = "was cut short" if present < needed else "goes on after its end"
        raise ValueError(f"it {wrong}: the header announces {needed:,} bytes, but there are {present:,}")
    return _Header(shape, by_columns, dtype, begin)


def _read_array(path: Path) -> NDArray[Any]:
    """Read a file of real numbers as an array. Raise `FileError` if it is not a valid file."""
    try:
        with path.open("rb") as stream:
            header = read_header(stream)
            values = np.fromfile(stream, header.dtype, math.prod(header.shape))
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise unreadable(path, error) from error
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be read as a NumPy array ({reason}).") from error
    return values.reshape(header.shape, order="F" if header.by_columns else "C")


# --- word vectors: text, or a NumPy array with the words beside it ---------------------------------------------------

Vectors = tuple[list[str], NDArray[np.float64]]
"""Words, and one row of numbers per word."""


def read_vectors_text(source: Source) -> Vectors:
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


def read_vectors_npy(path: Path) -> Vectors:
    """Read a ``.npy`` file, and its words, one per line, from a ``.txt`` or ``.vocab`` file of the same name."""
    matrix = _read_array(path)
    for suffix in (".txt", ".vocab"):
        words = path.with_suffix(suffix)
        if words.exists():
            with open_source(words) as source:
                return [line.strip() for _, line in source.text_lines() if line.strip()], matrix
    raise FileError(
        f"{path}: the file of words is missing. Write the words, one per line, to {path.with_suffix('.txt').name} in the "
        "same folder."
    )
