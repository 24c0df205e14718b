"""Journals list the tiles of a matrix that are on disk, so a call can be killed at any moment and resumed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Self

from treelet.errors import FileError
from treelet.gram.plan import Tile
from treelet.gram.stored.integrity import checksum, copied_checksum
from treelet.gram.stored.manifest import Manifest
from treelet.gram.stored.matrix_file import MatrixFile
from treelet.gram.tiles import Values
from treelet.work import CannotStartError, check_room

PATIENCE = 2.0  # maximal seconds of lost work, besides the tiles in computation


class NoJournal:
    """The journal of a matrix that cannot be resumed: it records nothing."""

    copied = False

    def was_copied(self) -> None:
        """Record that the existing matrix was copied."""

    def is_done(self, tile: Tile) -> bool:
        return False

    def is_mirrored(self, number: int) -> bool:
        return False

    def computed(self, tile: Tile, values: Values) -> None:
        """Record that a tile was written."""

    def mirrored(self, number: int) -> None:
        """Record that a tile above the diagonal was written."""


class Journal(NoJournal):
    """Updates a manifest in a separate thread, so the computation does not wait for the disk."""

    def __init__(self, manifest: Manifest, matrix: MatrixFile, target: Path) -> None:
        self._manifest, self._matrix, self._target = manifest, matrix, target
        self._numbers = {tile: number for number, tile in enumerate(manifest.plan.tiles)}
        self._news: list[tuple[Tile, int]] = []
        self._images: list[int] = []
        self._lock, self._over = threading.Lock(), threading.Event()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._watch, name="treelet journal", daemon=True)

    def __enter__(self) -> Self:
        check_room(1)
        try:
            self._thread.start()
        except RuntimeError:
            raise CannotStartError from None
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._over.set()
        self._thread.join()
        try:
            self.commit()
        except OSError:
            if kind is None:  # otherwise the first error is reported
                raise

    @property
    def copied(self) -> bool:  # type: ignore[override]
        return self._manifest.copied is not None

    def was_copied(self) -> None:
        self._matrix.sync()
        self._manifest.copied = copied_checksum(self._matrix, self._manifest.plan, self._manifest.memory)

    def is_done(self, tile: Tile) -> bool:
        return self._numbers[tile] in self._manifest.done

    def is_mirrored(self, number: int) -> bool:
        return number in self._manifest.mirrored

    def computed(self, tile: Tile, values: Values) -> None:
        self._raise_error()
        value = checksum(values, tile, self._manifest.plan.symmetric)
        with self._lock:
            self._news.append((tile, value))

    def mirrored(self, number: int) -> None:
        self._raise_error()
        with self._lock:
            self._images.append(number)

    def commit(self) -> None:
        """Wait until all written tiles are on disk, and list them in the manifest."""
        self._raise_error()
        with self._lock:
            news, self._news = self._news, []
            images, self._images = self._images, []
        if news or images:
            self._matrix.sync([tile for tile, _ in news])
            self._manifest.done.update({self._numbers[tile]: value for tile, value in news})
            self._manifest.mirrored.extend(images)
            self._manifest.write(self._target)

    def _watch(self) -> None:
        try:
            while not self._over.wait(PATIENCE):
                self.commit()
        except OSError as error:
            self._error = error

    def _raise_error(self) -> None:
        if self._error is not None:
            raise FileError(f"{self._target}: cannot be written ({self._error}).") from self._error
