"""Matrices on disk: a file appears only when it is complete, and an interrupted call can be resumed.

With ``resume=True``, an incomplete matrix is stored as ``K.npy.part``. A manifest (`manifest.py`)
next to it identifies the kernel and the examples, and lists the tiles that are on disk
(`journal.py`). A complete matrix is renamed to ``K.npy``, its manifest to ``K.npy.json``.
"""

from __future__ import annotations

import threading
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from pathlib import Path
from typing import Any, Self

import numpy as np

from treelet.checks import plural
from treelet.errors import FileError, KernelOverflowError, TreeletWarning
from treelet.formats.files import PathLike, locked, naming, whole_file
from treelet.matrices.executors import Executor
from treelet.matrices.stored.fingerprint import (
    Identity,
    Manifest,
    sync_folder,
)
from treelet.matrices.stored.matrix_file import NotOpenedError, NpyFile
from treelet.matrices.tiles import Block, Job, Plan, Tile, Values, mirrored
from treelet.progress import progress_bar
from treelet.work import CannotStartError, check_room, run

# --- verification of matrices in files, by checksums of tiles and by symmetry -----------------------------------------


def _checksum(values: Values, tile: Tile, symmetric: bool) -> int:
    """Return a checksum of the values. In a symmetric matrix, values above the diagonal are first set to 0."""
    if symmetric:  # the mirror image, whose last bits may differ, will overwrite these values
        for row, line in enumerate(values, tile.rows.begin):
            line[max(0, row + 1 - tile.columns.begin) :] = 0
    return zlib.crc32(np.ascontiguousarray(values).data)


def _images(manifest: Manifest, threads: int) -> list[Tile]:
    """Return the tiles above the diagonal, which are mirrored from below by the given number of threads."""
    plan = manifest.plan
    return mirrored(plan.shape[0], manifest.memory // 2, threads) if plan.symmetric else []


def _forget_changes(matrix: NpyFile, manifest: Manifest) -> str:
    """Remove changed tiles from a manifest. Return a list of the changes for a message, or ""."""
    changed = [number for number in manifest.done if not _is_tile(matrix, manifest, number)]
    for number in changed:
        del manifest.done[number]
    tiles = _images(manifest, manifest.threads) if manifest.mirrored else []
    intact = [n for n in manifest.mirrored if not changed and n < len(tiles) and _is_image(matrix, tiles[n])]
    lost, manifest.mirrored = len(manifest.mirrored) - len(intact), intact
    if changed:
        return plural(len(changed), "tile")
    return plural(lost, "mirrored tile") if lost else ""


def is_intact(matrix: NpyFile, manifest: Manifest) -> bool:
    """Return whether all values of a complete matrix are unchanged since the matrix was completed."""
    tiles = range(len(manifest.plan.tiles))
    return all(number in manifest.done and _is_tile(matrix, manifest, number) for number in tiles) and all(
        _is_image(matrix, tile) for tile in _images(manifest, 2)
    )


def _is_tile(matrix: NpyFile, manifest: Manifest, number: int) -> bool:
    tile, symmetric = manifest.plan.tiles[number], manifest.plan.symmetric
    try:
        return _checksum(matrix.read(tile), tile, symmetric) == manifest.done[number]
    except OSError:
        return False


def _is_image(matrix: NpyFile, tile: Tile) -> bool:
    try:
        above, below = matrix.read(tile), matrix.read(Tile(tile.columns, tile.rows)).T
    except OSError:
        return False
    bits = f"u{above.itemsize}"
    same = above.view(bits) == below.view(bits)
    if tile.rows.end > tile.columns.begin:  # otherwise the whole tile is above the diagonal
        for row, line in enumerate(same, tile.rows.begin):
            line[: max(0, row + 1 - tile.columns.begin)] = True
    return bool(same.all())


# --- journals list the tiles of a matrix that are on disk -------------------------------------------------------------

_PATIENCE = 2.0  # maximal seconds of lost work, besides the tiles in computation


class _NoJournal:
    """The journal of a matrix that cannot be resumed: it records nothing."""

    def is_done(self, tile: Tile) -> bool:
        return False

    def is_mirrored(self, number: int) -> bool:
        return False

    def computed(self, tile: Tile, values: Values) -> None:
        """Record that a tile was written."""

    def mirrored(self, number: int) -> None:
        """Record that a tile above the diagonal was written."""


class _Journal(_NoJournal):
    """Updates a manifest in a separate thread, so the computation does not wait for the disk."""

    def __init__(self, manifest: Manifest, matrix: NpyFile, target: Path) -> None:
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

    def is_done(self, tile: Tile) -> bool:
        return self._numbers[tile] in self._manifest.done

    def is_mirrored(self, number: int) -> bool:
        return number in self._manifest.mirrored

    def computed(self, tile: Tile, values: Values) -> None:
        self._raise_error()
        value = _checksum(values, tile, self._manifest.plan.symmetric)
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
            self._matrix.sync()
            self._manifest.done.update({self._numbers[tile]: value for tile, value in news})
            self._manifest.mirrored.extend(images)
            self._manifest.write(self._target)

    def _watch(self) -> None:
        try:
            while not self._over.wait(_PATIENCE):
                self.commit()
        except OSError as error:
            self._error = error

    def _raise_error(self) -> None:
        if self._error is not None:
            raise FileError(f"{self._target}: cannot be written ({self._error}).") from self._error


# --- matrices on disk -------------------------------------------------------------------------------------------------

_MOST_THREADS = 8  # maximal number of threads of a resumed call if the first call had fewer


class _FileSink:
    """Computes tiles in a buffer per thread and writes them to a file."""

    def __init__(self, matrix: NpyFile, journal: _NoJournal) -> None:
        self._matrix, self._journal, self._mine = matrix, journal, threading.local()

    @contextmanager
    def tile(self, tile: Tile) -> Iterator[Values]:
        cells = tile.shape[0] * tile.shape[1]
        if len(getattr(self._mine, "buffer", ())) < cells:
            self._mine.buffer = np.empty(cells, self._matrix.dtype)
        values = self._mine.buffer[:cells].reshape(tile.shape)
        yield values
        self._matrix.write(tile, values)
        self._journal.computed(tile, values)


def _write(job: Job, executor: Executor, plan: Plan, matrix: NpyFile, journal: _NoJournal, at_once: int) -> None:
    """Compute and write the remaining tiles. `at_once` tiles fit into the memory."""
    resources = executor.resources
    left = [Block(block.columns, tuple(t for t in block.tiles if not journal.is_done(t))) for block in plan.blocks]
    left = [block for block in left if block.tiles]
    cells = sum(tile.cells for block in left for tile in block.tiles)
    with progress_bar(resources.progress, "values", cells) as advance:
        executor.compute(job, left, _FileSink(matrix, journal), advance)
    if not plan.symmetric:
        return
    images = mirrored(plan.shape[0], resources.memory // 2, at_once)

    def mirror(number: int) -> None:
        matrix.mirror(images[number])
        journal.mirrored(number)

    run(mirror, [n for n in range(len(images)) if not journal.is_mirrored(n)], resources.threads, lambda done: None)


@contextmanager
def _closing(matrix: NpyFile) -> Iterator[NpyFile]:
    try:
        yield matrix
    finally:
        matrix.close()


# --- without resume -------------------------------------------------------------------------------------------------


def into_file(job: Job, executor: Executor, file: PathLike) -> Any:
    """Compute a matrix into a file that appears only when it is complete. Return the matrix, read-only.

    A second writer of the same file gets an error. The file is mapped before it is renamed, so the
    returned matrix is always the matrix of this call.
    """
    target = Path(file)
    with naming(file, target):
        is_pipe = target.exists() and not target.is_file() and not target.is_dir()
    if is_pipe:
        _new_matrix(job, executor, file, target)
        return None
    with naming(file, target):
        target = target.resolve()
    with locked(target, file):
        matrix = _new_matrix(job, executor, file, target)
        _remove_manifest(target)
        if isinstance(matrix, NotOpenedError):
            raise matrix
        return NpyFile.opened(target) if matrix is None else matrix


def _new_matrix(job: Job, executor: Executor, file: PathLike, target: Path) -> Any:
    """Write a matrix to a file. Return a view of the matrix, None without a view, or the error."""
    threads = executor.resources.threads
    with (
        whole_file(file) as temporary,
        _closing(NpyFile.create(temporary, job.shape, job.dtype, str(file))) as matrix,
    ):
        plan = executor.plan(job, at_once=threads)
        _write(job, executor, plan, matrix, _NoJournal(), threads)
        try:
            return matrix.view(target)
        except NotOpenedError as error:  # the matrix is complete, so the file must still appear
            return error


def _remove_manifest(target: Path) -> None:
    """Remove the manifest of a matrix that was replaced."""
    try:
        manifest = Manifest.read(target)
    except (ValueError, FileError):  # the file is not a manifest
        return
    if manifest is not None and manifest.complete is not None:
        Manifest.remove(target)


# --- resume ---------------------------------------------------------------------------------------------------------


class _State(Enum):
    """State in which earlier calls left a matrix."""

    ABSENT = auto()
    """There is nothing to resume."""
    BEGUN = auto()
    """``K.npy.part`` contains some of the tiles."""
    UNNAMED = auto()
    """All tiles are on disk, but the file is not renamed yet."""
    COMPLETE = auto()
    """``K.npy`` is complete and matches its manifest."""


def resumed(job: Job, executor: Executor, file: PathLike) -> Any:
    """Compute a matrix into a file like `into_file`, without the tiles that an earlier call completed."""
    with naming(file, Path(file), Path(file).absolute()):
        target = Path(file).resolve()
        if target.exists() and not target.is_file():
            raise FileError(f"{file}: not a file. Choose another name.")
    with locked(target, file), naming(file, target):
        _ResumableMatrix(job, executor, file, target).complete()
        return NpyFile.opened(target)


def _part_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


class _ResumableMatrix:
    """A matrix in a file that one or several calls complete."""

    def __init__(self, job: Job, executor: Executor, file: PathLike, target: Path) -> None:
        self.job, self.executor, self.file, self.target = job, executor, file, target
        self.part = _part_of(target)
        self.identity = Identity.of(job)

    def complete(self) -> None:
        """Complete the matrix from any state."""
        state, manifest, matrix = self._state()
        if state is _State.COMPLETE:
            if not self.part.exists():
                Manifest.remove(self.part)  # left by a call that was killed just before its last step
            return
        if state is _State.ABSENT:
            matrix, manifest = self._begin()
        assert manifest is not None
        if matrix is not None:
            with _closing(matrix):
                self._continue(matrix, manifest)
        self._rename(manifest)

    def _state(self) -> tuple[_State, Manifest | None, NpyFile | None]:
        """Return the state, the manifest if there is one, and the matrix if it was begun."""
        if self._is_complete():
            return _State.COMPLETE, None, None
        manifest = self._manifest(self.part)
        if manifest is None:
            return _State.ABSENT, None, None
        self._check(manifest, self._start_over)
        if manifest.complete is not None:
            if self._is_intact(self.part if self.part.exists() else self.target, manifest):
                return _State.UNNAMED, manifest, None
            manifest.complete = None
        matrix = self._begun(manifest)
        return (_State.ABSENT, None, None) if matrix is None else (_State.BEGUN, manifest, matrix)

    def _is_complete(self) -> bool:
        """Return whether the target is this matrix. Another matrix is an error."""
        manifest = self._manifest(self.target)
        if manifest is None or not self.target.exists():
            return False
        if not self._is_intact(self.target, manifest):
            _warn_of_restart(f"{self.target}: the file has changed since it was written")
            return False
        self._check(manifest, f"remove {self.target.name} and {Manifest.path(self.target).name} to start over")
        return True

    def _begun(self, manifest: Manifest) -> NpyFile | None:
        """Open the incomplete matrix and forget its damaged tiles. Return None if it cannot be resumed."""
        memory, part = self.executor.resources.memory, self.part
        if memory < manifest.memory:
            raise FileError(
                f"{self.file}: the interrupted call had memory={manifest.memory!r}, more than the {memory} bytes of this call. "
                f"Pass at least the same value, or {self._start_over}."
            )
        try:
            matrix = NpyFile(part, writing=True)
        except OSError as error:
            _warn_of_restart(str(error))
            return None
        if (tuple(matrix.shape), matrix.dtype) != (self.job.shape, self.job.dtype):
            matrix.close()
            _warn_of_restart(f"{part}: the file contains another matrix")
            return None
        if changed := _forget_changes(matrix, manifest):
            message = f"{part}: the file has changed since it was written. Computing again: {changed}."
            warnings.warn(message, TreeletWarning, stacklevel=6)
        return matrix

    def _begin(self) -> tuple[NpyFile, Manifest]:
        """Create a manifest and then an empty matrix, so that a file without a manifest is certainly the user's."""
        if self.part.exists() and not Manifest.path(self.part).exists():
            raise _not_ours(self.part)
        job, executor = self.job, self.executor
        at_once = max(executor.resources.threads, _MOST_THREADS)
        plan = executor.plan(job, at_once=at_once)
        manifest = Manifest(self.identity, plan, executor.resources.memory, at_once)
        try:
            manifest.write(self.part)
            matrix = NpyFile.create(self.part, job.shape, job.dtype, str(self.file))
            try:
                matrix.sync()
            except BaseException:
                matrix.close()
                raise
        except BaseException:
            self._remove_part()  # nothing can be resumed yet
            raise
        return matrix, manifest

    def _remove_part(self) -> None:
        with suppress(OSError):
            self.part.unlink(missing_ok=True)
            Manifest.remove(self.part)

    def _continue(self, matrix: NpyFile, manifest: Manifest) -> None:
        """Compute the remaining tiles and mark the matrix as complete."""
        threads = min(self.executor.resources.threads, manifest.threads)
        executor = self.executor.with_limits(threads, manifest.memory)
        try:
            with _Journal(manifest, matrix, self.part) as journal:
                _write(self.job, executor, manifest.plan, matrix, journal, manifest.threads)
        except KernelOverflowError:  # every call would fail in the same way
            self._remove_part()
            raise
        matrix.sync()
        manifest.complete = matrix.sample()
        manifest.write(self.part)

    def _rename(self, manifest: Manifest) -> None:
        """Rename a complete matrix and its manifest."""
        if self.part.exists():
            self.part.replace(self.target)
            sync_folder(self.target.parent)
        manifest.write(self.target)
        Manifest.remove(self.part)

    @property
    def _start_over(self) -> str:
        return f"remove {self.part.name} and {Manifest.path(self.part).name} to start over"

    def _manifest(self, path: Path) -> Manifest | None:
        if Manifest.is_foreign(path):
            raise _not_ours(Manifest.path(path))
        try:
            return Manifest.read(path)
        except ValueError as error:
            _warn_of_restart(f"{Manifest.path(path)}: not a valid manifest of a matrix ({error})")
            return None

    def _is_intact(self, path: Path, manifest: Manifest) -> bool:
        """Return whether a file contains the complete, unchanged matrix of a manifest."""
        try:
            with _closing(NpyFile(path)) as matrix:
                return matrix.sample() == manifest.complete and is_intact(matrix, manifest)
        except OSError:
            return False

    def _check(self, manifest: Manifest, remedy: str) -> None:
        if (difference := self.identity.other_than(manifest.identity)) is not None:
            raise FileError(f"{self.file}: the existing matrix {difference}. Choose another name, or {remedy}.")


def _not_ours(path: Path) -> FileError:
    return FileError(
        f"{path}: this file would be overwritten, but is not known to be one of treelet's. "
        "Rename or remove the file, or choose another name for the matrix."
    )


def _warn_of_restart(why: str) -> None:
    warnings.warn(f"{why.rstrip('.')}. The whole matrix is computed again.", TreeletWarning, stacklevel=7)
