"""An existing matrix in a file, of the first of the examples, that a new one extends."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from treelet.errors import FileError, ParameterError
from treelet.formats.files import PathLike
from treelet.gram.plan import Span, Tile
from treelet.gram.stored.fingerprint import fingerprint
from treelet.gram.stored.integrity import is_intact
from treelet.gram.stored.manifest import Manifest
from treelet.gram.stored.matrix_file import open_matrix
from treelet.gram.tiles import Values
from treelet.kernels.pairwise import Pairwise


class Writer(Protocol):
    """Receives the existing values."""

    def write(self, tile: Tile, values: Values) -> None:
        """The values of a tile."""


class ExistingMatrix:
    """The matrix of ``X[:size]`` in a file, verified.

    A manifest beside the file identifies kernel and examples. Without one, a few rows are computed and compared.
    """

    def __init__(self, file: PathLike, kernel: Pairwise, X: Any, dtype: np.dtype[Any]) -> None:
        self.path = Path(file)
        self._matrix = open_matrix(self.path)
        rows, self.size = self._matrix.shape
        if rows != self.size or rows > len(X):
            raise ParameterError(
                f"{file}: cannot be extended to {len(X)} x {len(X)} values: it has {rows} x {self.size}"
            )
        if self._matrix.dtype != dtype:
            raise ParameterError(
                f"{file}: cannot be extended by {dtype}, since its values are {self._matrix.dtype}: give that as dtype"
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
                f"{self.path}: cannot be extended: it is not as it was written; compute it again, or, if it is right, remove "
                f"{Manifest.path(self.path).name}, which says what it was"
            )
        there = manifest.identity
        if there.parameters != fingerprint(kernel):
            raise FileError(f"{self.path}: cannot be extended: it is of another kernel, {there.kernel}, not {kernel!r}")
        if there.columns is not None or there.rows != fingerprint(X[: self.size]):
            raise FileError(
                f"{self.path}: cannot be extended: it is of other examples than the first {self.size} of these"
            )

    def _check_values(self, kernel: Pairwise, X: Any) -> None:
        chosen = np.unique([0, self.size // 2, self.size - 1])
        values = np.empty((len(chosen), self.size))
        kernel.evaluator(X[chosen], X[: self.size]).fill(0, len(chosen), values, False)
        near = 1e-9 if self._matrix.dtype == np.float64 else 1e-5
        for row, wanted in zip(chosen.tolist(), values, strict=True):
            there = self._matrix.read(Tile(Span(row, row + 1), Span(0, self.size)))[0]
            if not np.allclose(there, wanted, rtol=near, atol=near * float(np.abs(wanted).max())):
                raise FileError(
                    f"{self.path}: cannot be extended: it is not the matrix of {kernel!r} for the first {self.size} of "
                    f"these examples (row {row} is another)"
                )

    def copy_to(self, writer: Writer, size: int, memory: int, grid: int = 1) -> None:
        """Write its first rows and columns where the new matrix begins, so much at a time."""
        height = max(1, memory // max(1, self._matrix.dtype.itemsize * size))
        height = max(grid, height // grid * grid)
        for begin in range(0, size, height):
            tile = Tile(Span(begin, min(begin + height, size)), Span(0, size))
            writer.write(tile, self._matrix.read(tile))

    def close(self) -> None:
        """Let the file go."""
        self._matrix.close()
