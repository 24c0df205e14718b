"""Matrices in files that appear under their names only when they are complete."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from treelet.errors import ParameterError

if TYPE_CHECKING:
    from treelet.kernels.base import Matrix

SEPARATORS = {".tsv": "\t", ".csv": ",", ".txt": " "}
Fill = Callable[["Matrix | None"], "Matrix"]
"""Computes a matrix into the given memory, or into memory of its own."""


def check_output(output: str) -> None:
    """Refuse a name that does not say how to write a matrix."""
    if output != "-" and Path(output).suffix.lower() not in (".npy", *SEPARATORS):
        raise ParameterError(f"{output}: the name of a matrix must end in .npy, .tsv, .csv or .txt, or be - (text)")


def whole_file(target: Path) -> AbstractContextManager[Path]:
    """See `treelet.formats.files.whole_file`, which is imported when it is needed: it brings NumPy."""
    from treelet.formats.files import whole_file

    return whole_file(target)


def write_matrix(fill: Fill, shape: tuple[int, int], output: str, temporary: Path | None) -> None:
    """Let a matrix be computed, and write it: text to the standard output, text or .npy to the temporary file."""
    if temporary is None:
        write_text(fill(None), sys.stdout, "\t")
    elif Path(output).suffix.lower() == ".npy":
        _write_npy(fill, shape, output, temporary)
    else:
        with temporary.open("w", encoding="ascii", newline="\n") as stream:
            write_text(fill(None), stream, SEPARATORS[Path(output).suffix.lower()])


def write_text(matrix: Matrix, stream: IO[str], separator: str) -> None:
    """One row a line; the numbers read back as the same floats."""
    for row in matrix:
        stream.write(separator.join(map(repr, row.tolist())) + "\n")


def _write_npy(fill: Fill, shape: tuple[int, int], output: str, temporary: Path) -> None:
    import numpy as np

    from treelet.gram.places import write_npy

    write_npy(fill, shape, np.dtype(np.float64), temporary, output)
