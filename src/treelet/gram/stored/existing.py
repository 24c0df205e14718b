"""An existing matrix in a file, which a new matrix with more examples extends."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from treelet.errors import FileError, ParameterError
from treelet.formats.files import PathLike
from treelet.gram.plan import Span, Tile
from treelet.gram.stored.fingerprint import examples_fingerprint, kernel_fingerprint
from treelet.gram.stored.integrity import is_intact
from treelet.gram.stored.manifest import Manifest
from treelet.gram.stored.matrix_file import open_matrix
from treelet.gram.tiles import Values
from treelet.kernels.pairwise import Pairwise
from treelet.vocabulary import keyword


class Writer(Protocol):
    """Receives the existing values."""

    def write(self, tile: Tile, values: Values) -> None:
        """Write the values of a tile."""


class ExistingMatrix:
    """The verified matrix of ``X[:size]`` in a file.

    A manifest next to the file identifies the kernel and the examples. Without a manifest, a few
    rows are computed and compared.
    """

    def __init__(self, file: PathLike, kernel: Pairwise, X: Any, dtype: np.dtype[Any]) -> None:
        self.path = Path(file)
        self._matrix = open_matrix(self.path)
        rows, self.size = self._matrix.shape
        if rows != self.size or rows > len(X):
            raise ParameterError(
                f"{file}: a matrix of {rows} x {self.size} values cannot be extended to {len(X)} x {len(X)} values. "
                "X must begin with the examples of the matrix."
            )
        if self._matrix.dtype != dtype:
            raise ParameterError(
                f"{file}: a {self._matrix.dtype} matrix cannot be extended with {dtype} values. "
                f"Pass {keyword('dtype', self._matrix.dtype.name)}."
            )
        self.sample = self._matrix.sample()
        try:
            manifest = Manifest.read(self.path)
        except ValueError:
            manifest = None
        if manifest is not None and manifest.complete is not None:
            self._check_manifest(manifest, kernel, X)
        elif self.size:
            self._check_values(kernel, X)

    def _check_manifest(self, manifest: Manifest, kernel: Pairwise, X: Any) -> None:
        if manifest.complete != self.sample or not is_intact(self._matrix, manifest):
            raise FileError(
                f"{self.path}: cannot be extended because it has changed since it was written. Compute the matrix again, or "
                f"remove {Manifest.path(self.path).name} if the matrix is correct."
            )
        stored = manifest.identity
        if stored.parameters != kernel_fingerprint(kernel, X[: self.size]):
            changed = "a file, function or object among its parameters has changed since the matrix was computed"
            other = f"it was computed with another kernel, {stored.kernel}, instead of {kernel!r}"
            why = f"{kernel!r}: {changed}" if stored.kernel == repr(kernel) else other
            raise FileError(f"{self.path}: cannot be extended because {why}.")
        if stored.columns is not None or stored.rows != examples_fingerprint(kernel, X[: self.size]):
            raise FileError(
                f"{self.path}: cannot be extended because it was computed from other examples than X[:{self.size}]."
            )

    def _check_values(self, kernel: Pairwise, X: Any) -> None:
        chosen = np.unique([0, self.size // 2, self.size - 1])
        values = np.empty((len(chosen), self.size))
        kernel.evaluator(X[chosen], X[: self.size]).fill(0, len(chosen), values, False)
        near = 1e-9 if self._matrix.dtype == np.float64 else 1e-5
        for row, wanted in zip(chosen.tolist(), values, strict=True):
            stored = self._matrix.read(Tile(Span(row, row + 1), Span(0, self.size)))[0]
            if not np.allclose(stored, wanted, rtol=near, atol=near * float(np.abs(wanted).max())):
                raise FileError(
                    f"{self.path}: cannot be extended because it is not the matrix of {kernel!r} for X[:{self.size}]. "
                    f"Row {row} differs."
                )

    def copy_to(self, writer: Writer, size: int, memory: int, grid: int = 1) -> None:
        """Copy the first `size` rows and columns to the new matrix, in parts of `memory` bytes."""
        height = max(1, memory // max(1, self._matrix.dtype.itemsize * size))
        height = max(grid, height // grid * grid)
        for begin in range(0, size, height):
            tile = Tile(Span(begin, min(begin + height, size)), Span(0, size))
            writer.write(tile, self._matrix.read(tile))

    def close(self) -> None:
        """Close the file."""
        self._matrix.close()
