"""Matrices in files that appear under their names only when they are complete."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from treelet.errors import FileError, ParameterError

if TYPE_CHECKING:
    from treelet.kernels.pairwise import Matrix

SEPARATORS = {".tsv": "\t", ".csv": ",", ".txt": " "}
BINARY = (".npy", ".zarr")
"""What `treelet.gram` writes itself."""


def is_binary(output: str) -> bool:
    """Whether such a file holds numbers as they are in memory."""
    return Path(output).suffix.lower() in BINARY


def check_output(output: str) -> None:
    """Refuse a name that does not say how to write a matrix."""
    if output != "-" and not is_binary(output) and Path(output).suffix.lower() not in SEPARATORS:
        raise ParameterError(
            f"{output}: the name of a matrix must end in .npy, .zarr, .tsv, .csv or .txt, or be - (text)"
        )
    folder = Path(output).parent
    if output != "-" and not os.access(folder, os.W_OK):  # not after hours
        raise FileError(f"{output}: cannot be written ({'permission denied' if folder.exists() else 'no such folder'})")


def whole_file(target: Path) -> AbstractContextManager[Path]:
    """See `treelet.formats.files.whole_file`, which is imported when it is needed: it brings NumPy."""
    from treelet.formats.files import whole_file

    return whole_file(target)


def write_text(matrix: Matrix, output: str, temporary: Path | None) -> None:
    """A matrix as text, one row a line, to the temporary file or the standard output; the numbers read back as the same floats."""
    if temporary is None:
        _write_rows(matrix, sys.stdout, "\t")
        return
    with temporary.open("w", encoding="ascii", newline="\n") as stream:
        _write_rows(matrix, stream, SEPARATORS[Path(output).suffix.lower()])


def _write_rows(matrix: Matrix, stream: IO[str], separator: str) -> None:
    for row in matrix:
        stream.write(separator.join(map(repr, row.tolist())) + "\n")
