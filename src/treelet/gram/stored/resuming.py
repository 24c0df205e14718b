"""Matrices on disk: a file appears only when it is complete, and an interrupted call can be resumed.

With ``resume=True``, an incomplete matrix is stored as ``K.npy.part``. A manifest (`manifest.py`)
next to it identifies the kernel and the examples, and lists the tiles that are on disk
(`journal.py`). A complete matrix is renamed to ``K.npy``, its manifest to ``K.npy.json``.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path
from typing import Any

import numpy as np

from treelet.errors import FileError, KernelOverflowError, TreeletWarning
from treelet.formats.files import PathLike
from treelet.formats.temporary import locked, naming
from treelet.gram.executors import Executor
from treelet.gram.plan import Block, Plan, Tile, mirrored
from treelet.gram.stored.integrity import forget_changes, is_intact
from treelet.gram.stored.journal import Journal, NoJournal
from treelet.gram.stored.manifest import Identity, Manifest, sync_folder
from treelet.gram.stored.matrix_file import MatrixFile, NotOpenedError, NpyFile, kind_of, open_matrix
from treelet.gram.tiles import Job, Values
from treelet.progress import progress_bar
from treelet.vocabulary import keyword
from treelet.work import run

MOST_THREADS = 8  # maximal number of threads of a resumed call if the first call had fewer


class FileSink:
    """Computes tiles in a buffer per thread and writes them to a file."""

    def __init__(self, matrix: MatrixFile, journal: NoJournal) -> None:
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


def _grid(job: Job, executor: Executor, kind: type[MatrixFile], at_once: int) -> int:
    """Return the number at whose multiples tiles must start, for `at_once` tiles in memory."""
    return kind.grid(job.shape[1], executor.resources.memory // (2 * at_once * job.dtype.itemsize))


def _write(
    job: Job, executor: Executor, plan: Plan, matrix: MatrixFile, journal: NoJournal, grid: int, at_once: int
) -> None:
    """Compute and write the remaining tiles. `at_once` tiles fit into the memory."""
    known, resources = job.known(grid), executor.resources
    if job.existing is not None and not journal.copied:
        job.existing.copy_to(matrix, known, resources.memory // 4, grid)
        journal.was_copied()
    left = [Block(block.columns, tuple(t for t in block.tiles if not journal.is_done(t))) for block in plan.blocks]
    left = [block for block in left if block.tiles]
    cells = sum(tile.cells for block in left for tile in block.tiles)
    with progress_bar(resources.progress, "values", cells) as advance:
        executor.compute(job, left, FileSink(matrix, journal), advance)
    if not plan.symmetric or matrix.mirrors:
        return
    images = mirrored(plan.shape[0], resources.memory // 2, at_once, known)

    def mirror(number: int) -> None:
        matrix.mirror(images[number])
        journal.mirrored(number)

    run(mirror, [n for n in range(len(images)) if not journal.is_mirrored(n)], resources.threads, lambda done: None)


@contextmanager
def _closing(matrix: MatrixFile) -> Iterator[MatrixFile]:
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
    kind, target = kind_of(file), Path(file)
    with naming(file, target):
        is_pipe = target.exists() and not target.is_file() and not target.is_dir()
    if is_pipe:
        _new_matrix(job, executor, kind, file, target)
        return None
    with naming(file, target):
        target = target.resolve()
    with locked(target, file):
        matrix = _new_matrix(job, executor, kind, file, target)
        _remove_manifest(target)
        if isinstance(matrix, NotOpenedError):
            raise matrix
        return kind.opened(target) if matrix is None else matrix


def _new_matrix(job: Job, executor: Executor, kind: type[MatrixFile], file: PathLike, target: Path) -> Any:
    """Write a matrix to a file. Return a view of the matrix, None without a view, or the error."""
    threads = executor.resources.threads
    grid = _grid(job, executor, kind, threads)
    with (
        kind.whole(file) as temporary,
        _closing(kind.create(temporary, job.shape, job.dtype, grid, job.Y is None, str(file))) as matrix,
    ):
        plan = executor.plan(job, begin=job.known(grid), at_once=threads, grid=grid)
        _write(job, executor, plan, matrix, NoJournal(), grid, threads)
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


class State(Enum):
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
    kind = kind_of(file)
    with naming(file, Path(file), Path(file).absolute()):
        target = Path(file).resolve()
        kind.check_target(file, target)
    with locked(target, file), naming(file, target):
        _ResumableMatrix(job, executor, file, kind, target).complete()
        return kind.opened(target)


def finish_renaming(file: PathLike) -> None:
    """Complete a call that was killed after it renamed a matrix and before it renamed the manifest.

    A matrix that is extended in place would otherwise contradict its manifest.
    """
    target = Path(file).resolve()
    part = _part_of(target)
    try:
        manifest = Manifest.read(part)
    except ValueError:
        return
    if manifest is None or manifest.complete is None or part.exists() or not target.exists():
        return
    with locked(target, file), _closing(open_matrix(target)) as matrix:
        if matrix.sample() == manifest.complete:
            manifest.write(target)
            Manifest.remove(part)


def _part_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


class _ResumableMatrix:
    """A matrix in a file that one or several calls complete."""

    def __init__(self, job: Job, executor: Executor, file: PathLike, kind: type[MatrixFile], target: Path) -> None:
        self.job, self.executor, self.file, self.kind, self.target = job, executor, file, kind, target
        self.part = _part_of(target)
        extends = None if job.existing is None else job.existing.sample
        self.identity = Identity.of(job.kernel, job.X, job.Y, job.shape, job.dtype, extends)

    def complete(self) -> None:
        """Complete the matrix from any state."""
        state, manifest, matrix = self._state()
        if state is State.COMPLETE:
            if not self.part.exists():
                Manifest.remove(self.part)  # left by a call that was killed just before its last step
            return
        if state is State.ABSENT:
            matrix, manifest = self._begin()
        assert manifest is not None
        if matrix is not None:
            with _closing(matrix):
                self._continue(matrix, manifest)
        self._rename(manifest)

    def _state(self) -> tuple[State, Manifest | None, MatrixFile | None]:
        """Return the state, the manifest if there is one, and the matrix if it was begun."""
        if self._is_complete():
            return State.COMPLETE, None, None
        manifest = self._manifest(self.part)
        if manifest is None:
            return State.ABSENT, None, None
        self._check(self.identity, manifest, self._start_over)
        if manifest.complete is not None:
            if self._is_intact(self.part if self.part.exists() else self.target, manifest):
                return State.UNNAMED, manifest, None
            manifest.complete = None
        matrix = self._begun(manifest)
        return (State.ABSENT, None, None) if matrix is None else (State.BEGUN, manifest, matrix)

    def _is_complete(self) -> bool:
        """Return whether the target is this matrix. Another matrix is an error, unless it is extended."""
        manifest = self._manifest(self.target)
        if manifest is None or not self.target.exists():
            return False
        if not self._is_intact(self.target, manifest):
            _warn_of_restart(f"{self.target}: the file has changed since it was written")
            return False
        identity = replace(self.identity, extends=manifest.identity.extends)  # ignored in the comparison
        if identity.other_than(manifest.identity) is None:
            return True
        existing = self.job.existing
        if existing is None or existing.path.resolve() != self.target:
            remedy = f"remove {self.target.name} and {Manifest.path(self.target).name} to start over"
            self._check(identity, manifest, remedy)
        return False

    def _begun(self, manifest: Manifest) -> MatrixFile | None:
        """Open the incomplete matrix and forget its damaged tiles. Return None if it cannot be resumed."""
        memory, part = self.executor.resources.memory, self.part
        if memory < manifest.memory:
            raise FileError(
                f"{self.file}: the interrupted call had {keyword('memory', manifest.memory)}, more than the {memory} bytes of this call. "
                f"Pass at least the same value, or {self._start_over}."
            )
        try:
            matrix = self.kind(part, writing=True)
        except OSError as error:
            _warn_of_restart(str(error))
            return None
        if (tuple(matrix.shape), matrix.dtype) != (self.job.shape, self.job.dtype):
            matrix.close()
            _warn_of_restart(f"{part}: the file contains another matrix")
            return None
        if changed := forget_changes(matrix, manifest):
            message = f"{part}: the file has changed since it was written. Computing again: {changed}."
            warnings.warn(message, TreeletWarning, stacklevel=6)
        return matrix

    def _begin(self) -> tuple[MatrixFile, Manifest]:
        """Create a manifest and then an empty matrix, so that a file without a manifest is certainly the user's."""
        if self.part.exists() and not Manifest.path(self.part).exists():
            raise _not_ours(self.part)
        job, executor = self.job, self.executor
        at_once = max(executor.resources.threads, MOST_THREADS if self.kind is NpyFile else 1)
        grid = _grid(job, executor, self.kind, at_once)
        plan = executor.plan(job, begin=job.known(grid), at_once=at_once, grid=grid)
        manifest = Manifest(self.identity, plan, executor.resources.memory, at_once, grid)
        try:
            manifest.write(self.part)
            matrix = self.kind.create(self.part, job.shape, job.dtype, grid, job.Y is None, str(self.file))
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
            self.kind.remove(self.part)
            Manifest.remove(self.part)

    def _continue(self, matrix: MatrixFile, manifest: Manifest) -> None:
        """Compute the remaining tiles and mark the matrix as complete."""
        threads = min(self.executor.resources.threads, manifest.threads)
        executor = self.executor.with_limits(threads, manifest.memory)
        try:
            with Journal(manifest, matrix, self.part) as journal:
                _write(self.job, executor, manifest.plan, matrix, journal, manifest.grid, manifest.threads)
        except KernelOverflowError:  # every call would fail in the same way
            self._remove_part()
            raise
        matrix.sync()
        manifest.complete = matrix.sample()
        manifest.write(self.part)

    def _rename(self, manifest: Manifest) -> None:
        """Rename a complete matrix and its manifest."""
        if self.part.exists():
            self.kind.replace(self.part, self.target)
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
            with _closing(self.kind(path)) as matrix:
                return matrix.sample() == manifest.complete and is_intact(matrix, manifest)
        except OSError:
            return False

    def _check(self, identity: Identity, manifest: Manifest, remedy: str) -> None:
        if (difference := identity.other_than(manifest.identity)) is not None:
            raise FileError(f"{self.file}: the existing matrix {difference}. Choose another name, or {remedy}.")


def _not_ours(path: Path) -> FileError:
    return FileError(
        f"{path}: this file would be overwritten, but is not known to be one of treelet's. "
        "Rename or remove the file, or choose another name for the matrix."
    )


def _warn_of_restart(why: str) -> None:
    warnings.warn(f"{why.rstrip('.')}. The whole matrix is computed again.", TreeletWarning, stacklevel=7)
