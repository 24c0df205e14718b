"""Matrices on disk: whole or not at all, and on request such that a run that was ended at any moment is gone on with.

With ``resume`` a matrix grows under its name with ``.part`` added, beside a manifest (`manifest.py`) that says of what it is and
which of its tiles are on disk (`journal.py`). When it is complete both take their names, ``K.npy`` and ``K.npy.json``.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from treelet.errors import FileError, KernelOverflowError, TreeletWarning
from treelet.formats.files import PathLike
from treelet.formats.temporary import locked, naming
from treelet.gram.extending import Old
from treelet.gram.intact import forget_changes, is_intact
from treelet.gram.journal import Journal, NoJournal
from treelet.gram.manifest import Identity, Manifest, sync_folder
from treelet.gram.matrix_file import MatrixFile, NotOpenedError, NpyFile, kind_of
from treelet.gram.plan import Block, Plan, Tile, mirrored
from treelet.gram.tiles import AnyCrew, Place, Values, compute, plan_matrix
from treelet.kernels.base import Pairwise
from treelet.vocabulary import keyword
from treelet.work import Advance, progress_bar, run

MOST_THREADS = 8  # that a run may be gone on with, if it was begun with fewer


@dataclass(frozen=True)
class Job:
    """A matrix that is wanted in a file."""

    kernel: Pairwise
    X: Any
    Y: Any | None
    dtype: np.dtype[Any]
    threads: int
    memory: int
    progress: bool = False
    old: Old | None = None
    crew: AnyCrew | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix."""
        return len(self.X), len(self.X if self.Y is None else self.Y)

    def grid(self, kind: type[MatrixFile], at_once: int) -> int:
        """Where tiles begin in such a file."""
        return kind.grid(self.shape[1], self.memory // (2 * at_once * self.dtype.itemsize))

    def known(self, grid: int) -> int:
        """How many rows and columns are taken from a matrix that is there."""
        return 0 if self.old is None else self.old.size // grid * grid

    def planned(self, grid: int, at_once: int) -> Plan:
        """Its tiles."""
        make = partial(plan_matrix, n_jobs=self.threads) if self.crew is None else self.crew.plan
        return make(
            self.kernel,
            self.X,
            self.Y,
            memory=self.memory,
            dtype=self.dtype,
            begin=self.known(grid),
            at_once=at_once,
            grid=grid,
        )

    def compute(self, blocks: Iterable[Block], place: Place, advance: Advance) -> None:
        """Let tiles be computed into their places: by threads, or by a crew."""
        if self.crew is None:
            compute(self.kernel, self.X, self.Y, blocks, place, self.threads, advance)
        else:
            self.crew.compute(
                self.kernel, self.X, self.Y, blocks, place, memory=self.memory, dtype=self.dtype, advance=advance
            )


class _FilePlace:
    """Tiles are computed in memory that each thread uses again, and written to a file."""

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


def _write(job: Job, plan: Plan, matrix: MatrixFile, journal: NoJournal, grid: int, at_once: int) -> None:
    """Compute what is not done yet, in tiles of which so many fit into the memory at once, and write it."""
    known = job.known(grid)
    if job.old is not None and not journal.copied:
        job.old.copy_to(matrix, known, job.memory // 4, grid)
        journal.was_copied()
    left = [Block(block.columns, tuple(t for t in block.tiles if not journal.is_done(t))) for block in plan.blocks]
    left = [block for block in left if block.tiles]
    with progress_bar(job.progress, "kernel values", sum(t.cells for block in left for t in block.tiles)) as advance:
        job.compute(left, _FilePlace(matrix, journal), advance)
    if not plan.symmetric or matrix.mirrors:
        return
    images = mirrored(plan.shape[0], job.memory // 2, at_once, known)

    def mirror(number: int) -> None:
        matrix.mirror(images[number])
        journal.mirrored(number)

    run(mirror, [n for n in range(len(images)) if not journal.is_mirrored(n)], job.threads, lambda done: None)


@contextmanager
def _closing(matrix: MatrixFile) -> Iterator[MatrixFile]:
    try:
        yield matrix
    finally:
        matrix.close()


# --- at once --------------------------------------------------------------------------------------------------------


def into_file(job: Job, file: PathLike) -> Any:
    """Compute a matrix into a file that appears under its name when it is complete; return the matrix, read-only.

    A second writer of the same file is refused, and the matrix returned is the one that this call wrote: the file is
    mapped before it gets its name.
    """
    kind, target = kind_of(file), Path(file)
    if target.exists() and not target.is_file() and not target.is_dir():  # a pipe
        _new_matrix(job, kind, file, target)
        return None
    with naming(file, target):
        target = target.resolve()
    with locked(target):
        matrix = _new_matrix(job, kind, file, target)
        _forget(target)
        if isinstance(matrix, NotOpenedError):
            raise matrix
        return kind.opened(target) if matrix is None else matrix


def _new_matrix(job: Job, kind: type[MatrixFile], file: PathLike, target: Path) -> Any:
    """Write a matrix under its name. Return a view of it; None, or the error, if there is no view yet."""
    grid = job.grid(kind, job.threads)
    with (
        kind.whole(file) as temporary,
        _closing(kind.create(temporary, job.shape, job.dtype, grid, job.Y is None, str(file))) as matrix,
    ):
        _write(job, job.planned(grid, job.threads), matrix, NoJournal(), grid, job.threads)
        try:
            return matrix.view(target)
        except NotOpenedError as error:  # the matrix itself is complete, so that the file must still appear
            return error


def _forget(target: Path) -> None:
    """What lay beside a matrix that was replaced speaks of another."""
    try:
        manifest = Manifest.read(target)
    except ValueError:  # something else of that name
        return
    if manifest is not None and manifest.complete is not None:
        Manifest.remove(target)


# --- going on -------------------------------------------------------------------------------------------------------


def resumed(job: Job, file: PathLike) -> Any:
    """As `into_file`; what an earlier call has done is not done again."""
    kind = kind_of(file)
    with naming(file, Path(file)):
        target = Path(file).resolve()
        if target.exists() and (target.is_file() if kind is not NpyFile else not target.is_file()):
            raise FileError(f"{file}: is no {'file' if kind is NpyFile else 'folder'}")
    part = target.with_name(f"{target.name}.part")
    extends = None if job.old is None else job.old.sample
    identity = Identity.of(job.kernel, job.X, job.Y, job.shape, job.dtype, extends)
    with locked(target), naming(file, target):
        if _given_back(job, kind, target, identity, file):
            if not part.exists():
                Manifest.remove(part)  # of a run that was ended when this was all that was left to do
            return kind.opened(target)
        manifest = _manifest(part)
        if manifest is not None and manifest.complete is not None:  # all but its name is done
            _check(identity, manifest, file, _over(part))
            if not _is_whole(kind, part if part.exists() else target, manifest):
                manifest.complete = None
        if manifest is None or manifest.complete is None:
            begun = None if manifest is None else _begun(job, kind, part, manifest, identity, file)
            if manifest is None or begun is None:
                begun, manifest = _begin(job, kind, part, identity, file)
            with _closing(begun) as matrix:
                _go_on(job, manifest, matrix, kind, part)
        _name(kind, part, target, manifest)
        return kind.opened(target)


def _given_back(job: Job, kind: type[MatrixFile], target: Path, identity: Identity, file: PathLike) -> bool:
    """Whether the matrix is there; what is there may be another only if that is the one to be extended."""
    manifest = _manifest(target)
    if manifest is None or not target.exists():
        return False
    if not _is_whole(kind, target, manifest):
        _start_over(f"{target}: is not as it was written")
        return False
    identity = replace(identity, extends=manifest.identity.extends)  # however it came about
    if identity.other_than(manifest.identity) is None:
        return True
    if job.old is None or job.old.path.resolve() != target:
        _check(identity, manifest, file, f"remove {target.name} and {Manifest.path(target).name} to start over")
    return False


def _go_on(job: Job, manifest: Manifest, matrix: MatrixFile, kind: type[MatrixFile], part: Path) -> None:
    """Compute what is left, and say that the matrix is complete."""
    job = replace(job, threads=min(job.threads, manifest.threads), memory=manifest.memory)
    try:
        with Journal(manifest, matrix, part) as journal:
            _write(job, manifest.plan, matrix, journal, manifest.grid, manifest.threads)
    except KernelOverflowError:  # going on would not help
        Manifest.remove(part)
        kind.remove(part)
        raise
    matrix.sync()
    manifest.complete = matrix.sample()
    manifest.write(part)


def _name(kind: type[MatrixFile], part: Path, target: Path, manifest: Manifest) -> None:
    """Give a complete matrix its name, and its manifest."""
    if part.exists():
        kind.replace(part, target)
        sync_folder(target.parent)
    manifest.write(target)
    Manifest.remove(part)


def _over(part: Path) -> str:
    return f"remove {part.name} and {Manifest.path(part).name} to start over"


def _manifest(target: Path) -> Manifest | None:
    try:
        return Manifest.read(target)
    except ValueError as error:
        _start_over(f"{Manifest.path(target)}: is no manifest of a matrix: {error}")
        return None


def _is_whole(kind: type[MatrixFile], path: Path, manifest: Manifest) -> bool:
    """Whether there is the matrix that a manifest says is complete, as it was then."""
    try:
        with _closing(kind(path)) as matrix:
            return matrix.sample() == manifest.complete and is_intact(matrix, manifest)
    except OSError:
        return False


def _start_over(why: str) -> None:
    warnings.warn(f"{why}; the matrix is computed from its beginning", TreeletWarning, stacklevel=5)


def _check(identity: Identity, manifest: Manifest, file: PathLike, remedy: str) -> None:
    if (difference := identity.other_than(manifest.identity)) is not None:
        raise FileError(f"{file}: what is there is of {difference}: give another name, or {remedy}")


def _begun(
    job: Job, kind: type[MatrixFile], part: Path, manifest: Manifest, identity: Identity, file: PathLike
) -> MatrixFile | None:
    """The matrix that was begun, if it is what its manifest says."""
    _check(identity, manifest, file, _over(part))
    if job.memory < manifest.memory:
        raise FileError(
            f"{file}: was begun in tiles that take {keyword('memory', manifest.memory)}, more than {job.memory}: give that, or {_over(part)}"
        )
    try:
        matrix = kind(part, writing=True)
    except OSError as error:
        _start_over(str(error))
        return None
    if (tuple(matrix.shape), matrix.dtype) != (job.shape, job.dtype):
        matrix.close()
        _start_over(f"{part}: is another matrix")
        return None
    if changed := forget_changes(matrix, manifest):
        message = f"{part}: {changed} are not as they were written; they are computed again"
        warnings.warn(message, TreeletWarning, stacklevel=4)
    return matrix


def _begin(
    job: Job, kind: type[MatrixFile], part: Path, identity: Identity, file: PathLike
) -> tuple[MatrixFile, Manifest]:
    """A new matrix, of which nothing is done."""
    Manifest.remove(part)
    at_once = max(job.threads, MOST_THREADS if kind is NpyFile else 1)
    grid = job.grid(kind, at_once)
    plan = job.planned(grid, at_once)
    manifest = Manifest(identity, plan, job.memory, at_once, grid)
    try:
        matrix = kind.create(part, job.shape, job.dtype, grid, job.Y is None, str(file))
        try:
            matrix.sync()
            manifest.write(part)
        except BaseException:
            matrix.close()
            raise
    except OSError:
        with suppress(OSError):
            kind.remove(part)  # without its manifest it is nothing to go on with
        raise
    return matrix, manifest
