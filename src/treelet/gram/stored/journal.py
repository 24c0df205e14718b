"""Which tiles of a matrix in a file are done: said only of what is on disk, so that a run can be ended at any moment."""

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
from treelet.work import check_room

PATIENCE = 2.0  # seconds of work that may be lost, besides the tiles at hand


class NoJournal:
    """Of a matrix that nobody will go on with."""

    copied = False

    def was_copied(self) -> None:
        """The matrix that is extended was written."""

    def is_done(self, tile: Tile) -> bool:
        return False

    def is_mirrored(self, number: int) -> bool:
        return False

    def computed(self, tile: Tile, values: Values) -> None:
        """A tile was written."""

    def mirrored(self, number: int) -> None:
        """A tile above the diagonal was written."""


class Journal(NoJournal):
    """Keeps a manifest, in a thread of its own: computing does not wait for the disk."""

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
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._over.set()
        self._thread.join()
        try:
            self.commit()
        except OSError:
            if kind is None:  # else the first error is the one to hear of
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
        self._complain()
        found = checksum(values, tile, self._manifest.plan.symmetric)
        with self._lock:
            self._news.append((tile, found))

    def mirrored(self, number: int) -> None:
        self._complain()
        with self._lock:
            self._images.append(number)

    def commit(self) -> None:
        """What was written until now is on disk, and said to be."""
        self._complain()
        with self._lock:
            news, self._news = self._news, []
            images, self._images = self._images, []
        if news or images:
            self._matrix.sync([tile for tile, _ in news])
            self._manifest.done.update({self._numbers[tile]: found for tile, found in news})
            self._manifest.mirrored.extend(images)
            self._manifest.write(self._target)

    def _watch(self) -> None:
        try:
            while not self._over.wait(PATIENCE):
                self.commit()
        except OSError as error:
            self._error = error

    def _complain(self) -> None:
        if self._error is not None:
            raise FileError(f"{self._target}: cannot be written ({self._error})") from self._error
