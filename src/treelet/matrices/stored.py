"""Matrices on disk: a file appears only when it is complete, and an interrupted call can be resumed.

With ``resume=True``, an incomplete matrix is stored as ``K.npy.part``. A manifest next to it identifies
the kernel and the examples by fingerprints, and lists the tiles that are on disk. A complete matrix is
renamed to ``K.npy``, its manifest to ``K.npy.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import stat
import threading
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

import treelet
from treelet.checks import article, plural
from treelet.edits.distance import EditMeasure
from treelet.errors import FileError, InputTypeError, KernelOverflowError, TreeletWarning, user_level
from treelet.formats.arrays import read_header
from treelet.formats.files import BINARY, PathLike, locked, naming, sync_folder, whole_file
from treelet.formats.json_files import checksum
from treelet.kernels.algebra import Constant
from treelet.kernels.crossed import Crossed
from treelet.kernels.on import On
from treelet.kernels.pairwise import Pairwise
from treelet.matrices.executors import Executor
from treelet.matrices.npy_file import DTYPES, RowsInFile
from treelet.matrices.tiles import Block, Job, Plan, Tile, Values, mirrored
from treelet.structures.bank import Bank
from treelet.structures.table import Table
from treelet.structures.vectors import Vectors
from treelet.structures.word_vectors import WordVectors
from treelet.work import progress_bar, run, start

# --- fingerprints of examples and kernels -----------------------------------------------------------------------------


def fingerprint(value: Any) -> str:
    """Return 32 hexadecimal digits that are the same for equal content, in any object and process.

    >>> fingerprint([1, "a"]) == fingerprint([1, "a"]) != fingerprint([1, "b"])
    True
    """
    digest = hashlib.blake2b(digest_size=16)
    _feed(digest, value)
    return digest.hexdigest()


def _columns_read(kernel: Any) -> set[Any] | None:
    """Return the columns of a table that a kernel reads, or None if they are not known."""
    if isinstance(kernel, (On, Crossed)):
        return set(kernel.names)
    if isinstance(kernel, Constant):
        return set()
    columns: set[Any] = set()
    for inner in (value for value in kernel.get_params(deep=False).values() if isinstance(value, Pairwise)):
        read = _columns_read(inner)
        if read is None:
            return None
        columns |= read
    # A kernel of another library may read columns that its parameters do not name.
    return columns if columns and type(kernel).__module__.startswith("treelet.") else None


def _feed(digest: Any, value: Any) -> None:
    """Add a value to a digest: a plain value by its `repr`, others by type, number of parts, and parts."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, np.generic)):
        plain = value.item() if isinstance(value, np.generic) else value
        digest.update(f"{type(plain).__name__}:{plain!r};".encode("utf-8", "surrogatepass"))
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        digest.update(f"array:{value.dtype.str}:{value.shape};".encode())
        digest.update(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    else:
        parts = _parts(value)
        digest.update(f"{type(value).__name__}:{len(parts)};".encode())
        for part in parts:
            _feed(digest, part)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, np.ndarray):
        return [value.shape, value.ravel().tolist()]
    if isinstance(value, Mapping):
        return _flat(dict(sorted(value.items(), key=repr)))
    if isinstance(value, Table):  # without the cached conversions of its columns
        return _parts({name: value.column(name) for name in value.names})
    if isinstance(value, Pairwise):  # The bounds for tuning do not determine values, and 1 is the same as 1.0.
        params = value.params_by_content()
        return _flat({name: _as_float(param) for name, param in params.items() if not name.endswith("_bounds")})
    if isinstance(value, WordVectors):  # The same vectors may be in another file.
        return [list(value.index), value.unit]
    if hasattr(value, "tocsr"):  # a sparse matrix
        rows = value.tocsr()
        return [rows.shape, rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)]
    value = value.own_features() if isinstance(value, Vectors) else value
    reduced = value.__reduce__() if "__reduce__" in vars(type(value)) or isinstance(value, Bank) else None
    if isinstance(reduced, tuple) and len(reduced) == 2:  # the constructor arguments of banks, vectors and bags
        return list(reduced[1])
    try:
        return [pickle.dumps(value)]
    except (pickle.PicklingError, TypeError, AttributeError):
        raise InputTypeError(
            f"The content of {article(type(value).__name__)} cannot be compared, as resume= "
            "requires. Use picklable kernels and examples."
        ) from None


def _as_float(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _as_float(item) for name, item in value.items()}
    return float(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else value


def _flat(items: Mapping[Any, Any]) -> list[Any]:
    return [part for item in items.items() for part in item]


# --- manifests of matrices in files: kernel, examples, tiles, and the tiles that are on disk --------------------------

_FORMAT = 4  # formats 1 to 3 were never released
_BEGIN = b'{"format": %d, "identity": '  # of every manifest; %d is the number of the format


_IDENTITY = ("kernel", "parameters", "shape", "dtype", "rows", "columns", "version")


def _identity(job: Job) -> dict[str, Any]:
    """Return what identifies a matrix. Matrices with equal identities are equal, bit for bit."""
    kernel = job.kernel
    if isinstance(kernel, EditMeasure) and callable(kernel.edit_distance.rename):
        # A function that gives the costs of renaming counts by its costs for the labels of the examples. Its name
        # stays the same when its code changes.
        distance = kernel.edit_distance
        costs = distance._costs().table(job.X, job.columns)
        parameters = fingerprint([type(kernel).__name__, _as_float(distance.insert), _as_float(distance.delete), costs])
    else:
        parameters = fingerprint(kernel)

    def examples(X: Any) -> str:
        if isinstance(X, Table):  # only the columns that the kernel reads count, in any order
            columns = _columns_read(kernel)
            X = {name: X.column(name) for name in (X.names if columns is None else columns)}
        return fingerprint(X)

    rows, columns = examples(job.X), None if job.Y is None else examples(job.Y)
    known = repr(kernel), parameters, list(job.shape), job.dtype.name, rows, columns, treelet.__version__
    return dict(zip(_IDENTITY, known, strict=True))


def _checked_identity(data: Any) -> dict[str, Any]:
    """Return the identity in a manifest. Raise ValueError or TypeError if the data are invalid."""
    if sorted(data) != sorted(_IDENTITY):
        raise TypeError("the identity of the matrix has other entries")
    texts = {name: value for name, value in data.items() if name != "shape"}
    if not all(isinstance(value, str) or (value is None and name == "columns") for name, value in texts.items()):
        raise ValueError("the identity of the matrix is invalid")
    if not isinstance(data["shape"], list) or not all(type(size) is int for size in data["shape"]):
        raise ValueError("the shape of the matrix is invalid")
    return dict(data)


def _difference(own: dict[str, Any], stored: dict[str, Any]) -> str | None:
    """Return how the stored matrix differs, as the predicate of a sentence, or None if it does not."""
    if stored["parameters"] != own["parameters"]:
        if stored["kernel"] == own["kernel"]:
            return f"was computed with {own['kernel']}, too, but a file, function or object among its parameters has changed"
        return f"was computed with another kernel, {stored['kernel']}, instead of {own['kernel']}"
    if stored["shape"] != own["shape"]:
        return f"has {' x '.join(map(str, stored['shape']))} values instead of {' x '.join(map(str, own['shape']))}"
    if (stored["rows"], stored["columns"]) != (own["rows"], own["columns"]):
        return "was computed from other examples"
    if stored["dtype"] != own["dtype"]:
        return f"has {stored['dtype']} values instead of {own['dtype']}"
    if stored["version"] != own["version"]:
        return f"was computed by treelet {stored['version']} instead of {own['version']}"
    return None


@dataclass
class _Manifest:
    """The state of a matrix in a file."""

    identity: dict[str, Any]
    plan: Plan
    memory: int
    threads: int
    """Number of tiles that fit into the memory at once, according to the plan."""
    done: dict[int, int] = field(default_factory=dict)
    """Numbers of the tiles that are on disk, with their checksums."""
    mirrored: list[int] = field(default_factory=list)
    """Numbers of the tiles above the diagonal, mirrored from below, that are on disk."""
    complete: str | None = None
    """Sample of the complete matrix; None if the matrix is incomplete."""

    @staticmethod
    def path(target: Path) -> Path:
        return target.with_name(f"{target.name}.json")

    @classmethod
    def is_foreign(cls, target: Path) -> bool:
        """Return whether the file with the name of the manifest does not even begin like a damaged manifest."""
        try:
            with cls.path(target).open("rb") as stream:
                begin = stream.read(len(_BEGIN) - 1)
                return not any((_BEGIN % number).startswith(begin) for number in range(1, _FORMAT + 1))
        except OSError:  # `read` reports it
            return False

    @classmethod
    def read(cls, target: Path) -> _Manifest | None:
        """Read the manifest of a matrix, or return None if there is none. Raise ValueError if it is invalid."""
        try:
            text = cls.path(target).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FileError(f"{cls.path(target)}: cannot be read ({error.strerror or error}).") from error
        try:
            data = json.loads(text)
            if data["format"] != _FORMAT:
                raise ValueError(f"unsupported format {data['format']}")
            if data.pop("checksum") != checksum(data):
                raise ValueError("wrong checksum")
            done = {int(number): int(value) for number, value in data["done"].items()}
            plan, mirrored = Plan.from_json(data["plan"]), [int(number) for number in data["mirrored"]]
            if any(not 0 <= number < len(plan.tiles) for number in done):
                raise ValueError("the list of tiles is invalid")
            complete = None if data["complete"] is None else str(data["complete"])
            identity = _checked_identity(data["identity"])
            memory, threads = int(data["memory"]), int(data["threads"])
            return cls(identity, plan, memory, threads, done, mirrored, complete)
        except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise ValueError(f"incomplete or malformed: {error!r}") from error

    def write(self, target: Path) -> None:
        """Replace the manifest of a matrix, and wait until the file is on disk."""
        data = {
            "format": _FORMAT,
            "identity": self.identity,
            "plan": self.plan.as_json(),
            "memory": self.memory,
            "threads": self.threads,
            "done": {str(number): value for number, value in self.done.items()},
            "mirrored": self.mirrored,
            "complete": self.complete,
        }
        data["checksum"] = checksum(data)
        path = self.path(target)
        # There is only one writer. With a fixed name, killed calls do not leave many files behind.
        new = path.with_name(f".{path.name}.treelet-new")
        try:
            with new.open("w", encoding="utf-8") as stream:
                json.dump(data, stream)
                stream.flush()
                os.fsync(stream.fileno())
            new.replace(path)
        except BaseException:
            with suppress(OSError):
                new.unlink()
            raise
        sync_folder(path.parent)

    @classmethod
    def remove(cls, target: Path) -> None:
        """Remove the manifest of a matrix if it exists."""
        cls.path(target).unlink(missing_ok=True)


class NotOpenedError(FileError):
    """A matrix was written completely, but the file cannot be opened to return it."""


class _NpyFile(RowsInFile):
    """A matrix in a .npy file that is open for reading or also for writing. Several threads write tiles at once."""

    def __init__(self, path: Path, writing: bool = False) -> None:
        self.path = path
        flags = (os.O_RDWR if writing else os.O_RDONLY) | BINARY
        self._file = os.open(path, flags)
        try:
            with os.fdopen(os.dup(self._file), "rb") as stream:
                shape, by_columns, dtype, begin = read_header(stream)
            if by_columns or len(shape) != 2 or dtype not in DTYPES:
                raise ValueError(f"the file contains {dtype} values of shape {shape}")
        except ValueError as error:
            os.close(self._file)
            raise FileError(f"{path}: not a float64 or float32 matrix ({str(error).rstrip('.')}).") from error
        except BaseException:
            os.close(self._file)
            raise
        self.shape, self.dtype = (shape[0], shape[1]), dtype
        super().__init__(self._file, begin, dtype.itemsize * self.shape[1], dtype)

    @classmethod
    def create(cls, path: Path, shape: tuple[int, int], dtype: np.dtype[Any], shown: str) -> Self:
        """Create a matrix and overwrite an existing file. If possible, a full disk is detected here."""
        with path.open("w+b") as stream:
            head = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(stream, head)
            stream.flush()
            size = stream.tell() + dtype.itemsize * shape[0] * shape[1]
            try:
                stream.truncate(size)
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(stream.fileno(), 0, size)
            except OSError as error:
                raise FileError(
                    f"{shown}: not enough disk space for {size:,} bytes ({error.strerror or error})."
                ) from error
        return cls(path, writing=True)

    def sync(self) -> None:
        """Wait until all written tiles are on disk."""
        getattr(os, "fdatasync", os.fsync)(self._file)

    def sample(self) -> str:
        """Return a fingerprint of samples from the whole file, which identifies the matrix."""
        count, length = 64, 4096
        digest = hashlib.blake2b(digest_size=16)
        with self.path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            digest.update(str(size).encode())
            for number in range(count):
                stream.seek(number * max(0, size - length) // (count - 1))
                digest.update(stream.read(length))
        return digest.hexdigest()

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def view(self, target: Path) -> Values | None:
        """Return the complete matrix, read-only, before the file is renamed to `target`.

        Return None if the matrix must be opened by name. The view remains valid even if another
        program replaces the file afterwards.
        """
        if os.name == "nt":  # Windows cannot rename a mapped file
            return None
        return self._mapped(target)

    def _mapped(self, name: Path) -> Values:
        """Map the open file for reading. The map reports `name` as its file name."""
        if 0 in self.shape:  # an empty file cannot be mapped
            return np.empty(self.shape, self.dtype)
        try:
            with os.fdopen(os.dup(self._file), "rb") as stream:
                matrix = np.memmap(stream, self.dtype, "r", self._begin, self.shape)
        except (OSError, MemoryError, ValueError) as error:
            raise NotOpenedError(
                f"{name}: the matrix is complete, but cannot be mapped into memory ({error})."
            ) from error
        matrix.filename = str(name)
        return matrix

    @staticmethod
    def opened(path: Path, written: os.stat_result) -> Values:
        """Open a complete matrix by name, read-only. Raise `NotOpenedError` if it is not the file that was written."""
        file = _NpyFile(path)
        try:
            if not _is_same_file(os.fstat(file._file), written):
                raise NotOpenedError(
                    f"{path}: the matrix was written, but another program has replaced the file since. "
                    "Choose a name that no other program writes."
                )
            return file._mapped(path)
        finally:
            file.close()


def _is_same_file(one: os.stat_result, other: os.stat_result) -> bool:
    """Return whether two results describe one file, which may have been renamed."""
    if os.path.samestat(one, other):
        return True
    # On Windows, some file systems give a file another number when it is renamed, but no other time.
    return os.name == "nt" and (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


# --- verification of matrices in files, by checksums of tiles and by symmetry -----------------------------------------


def _checksum(values: Values, tile: Tile, symmetric: bool) -> int:
    """Return a checksum of the values. In a symmetric matrix, values above the diagonal are first set to 0."""
    if symmetric:  # the mirror image, whose last bits may differ, will overwrite these values
        for row, line in enumerate(values, tile.rows.begin):
            line[max(0, row + 1 - tile.columns.begin) :] = 0
    return zlib.crc32(np.ascontiguousarray(values).data)


def _images(manifest: _Manifest, threads: int) -> list[Tile]:
    """Return the tiles above the diagonal, which are mirrored from below by the given number of threads."""
    plan = manifest.plan
    return mirrored(plan.shape[0], manifest.memory // 2, threads) if plan.symmetric else []


def _forget_changes(matrix: _NpyFile, manifest: _Manifest) -> str:
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


def _is_unchanged(matrix: _NpyFile, manifest: _Manifest) -> bool:
    """Return whether all values of a complete matrix are unchanged since the matrix was completed."""
    tiles = range(len(manifest.plan.tiles))
    return all(number in manifest.done and _is_tile(matrix, manifest, number) for number in tiles) and all(
        _is_image(matrix, tile) for tile in _images(manifest, 2)
    )


def _is_tile(matrix: _NpyFile, manifest: _Manifest, number: int) -> bool:
    tile, symmetric = manifest.plan.tiles[number], manifest.plan.symmetric
    try:
        return _checksum(matrix.read(tile), tile, symmetric) == manifest.done[number]
    except OSError:
        return False


def _is_image(matrix: _NpyFile, tile: Tile) -> bool:
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


class _Journal:
    """Updates a manifest in a separate thread, so the computation does not wait for the disk."""

    def __init__(self, manifest: _Manifest, matrix: _NpyFile, target: Path) -> None:
        self._manifest, self._matrix, self._target = manifest, matrix, target
        self._numbers = {tile: number for number, tile in enumerate(manifest.plan.tiles)}
        self._news: list[tuple[Tile, int]] = []
        self._images: list[int] = []
        self._lock, self._over = threading.Lock(), threading.Event()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._watch, name="treelet journal", daemon=True)

    def __enter__(self) -> Self:
        start(self._thread)
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


class _FileSink:
    """Computes tiles in a buffer per thread and writes them to a file."""

    def __init__(self, matrix: _NpyFile, journal: _Journal | None) -> None:
        self._matrix, self._journal, self._mine = matrix, journal, threading.local()

    @contextmanager
    def tile(self, tile: Tile) -> Iterator[Values]:
        cells = tile.shape[0] * tile.shape[1]
        if len(getattr(self._mine, "buffer", ())) < cells:
            self._mine.buffer = np.empty(cells, self._matrix.dtype)
        values = self._mine.buffer[:cells].reshape(tile.shape)
        yield values
        self._matrix.write(tile, values)
        if self._journal is not None:
            self._journal.computed(tile, values)


def _write(job: Job, executor: Executor, plan: Plan, matrix: _NpyFile, journal: _Journal | None, at_once: int) -> None:
    """Compute and write the remaining tiles. `at_once` tiles fit into the memory."""
    resources = executor.resources
    left = list(plan.blocks)
    if journal is not None:
        left = [Block(block.columns, tuple(t for t in block.tiles if not journal.is_done(t))) for block in left]
        left = [block for block in left if block.tiles]
    cells = sum(tile.cells for block in left for tile in block.tiles)
    with progress_bar(resources.progress, "values", cells) as advance:
        executor.compute(job, left, _FileSink(matrix, journal), advance)
    if not plan.symmetric:
        return
    images = mirrored(plan.shape[0], resources.memory // 2, at_once)

    def mirror(number: int) -> None:
        matrix.mirror(images[number])
        if journal is not None:
            journal.mirrored(number)

    missing = [n for n in range(len(images)) if journal is None or not journal.is_mirrored(n)]
    run(mirror, missing, resources.threads, lambda done: None)


# --- without resume -------------------------------------------------------------------------------------------------


def into_file(job: Job, executor: Executor, file: PathLike, resume: bool) -> Any:
    """Compute a matrix into a file that appears only when it is complete. Return the matrix, read-only.

    A second writer of the same file gets an error. With `resume`, the tiles that an earlier call completed are not
    computed again. The returned matrix is always the matrix of this call: the file is mapped before it is renamed, or,
    where that is impossible, opened again and compared with the file that was written.
    """
    if resume:
        with naming(file, Path(file), Path(file).absolute()):
            target = Path(file).resolve()
            with suppress(FileNotFoundError):
                if not stat.S_ISREG(target.stat().st_mode):  # exists() may be silent about names that no file can have
                    raise FileError(f"{file}: not a file. Choose another name.")
        new = target.with_name(f".{target.name}")  # the beginning of the temporary names of manifests
        with locked(target, file), naming(file, target, new):
            return _NpyFile.opened(target, _ResumableMatrix(job, executor, file, target).complete())
    target = Path(file)
    with naming(file, target):
        is_pipe = target.exists() and not target.is_file() and not target.is_dir()
    if is_pipe:
        _new_matrix(job, executor, file, target)
        return None
    with naming(file, target):
        target = target.resolve()
    with locked(target, file):
        matrix, written = _new_matrix(job, executor, file, target)
        with suppress(ValueError, FileError):  # the file is not a manifest
            replaced = _Manifest.read(target)
            if replaced is not None and replaced.complete is not None:
                _Manifest.remove(target)
        if isinstance(matrix, NotOpenedError):
            raise matrix
        return _NpyFile.opened(target, written) if matrix is None else matrix


def _new_matrix(job: Job, executor: Executor, file: PathLike, target: Path) -> tuple[Any, os.stat_result]:
    """Write a matrix to a file. Return a view of the matrix, None without a view, or the error; and the file's status."""
    threads = executor.resources.threads
    with whole_file(file) as temporary:
        with closing(_NpyFile.create(temporary, job.shape, job.dtype, str(file))) as matrix:
            plan = executor.plan(job, at_once=threads)
            _write(job, executor, plan, matrix, None, threads)
            try:
                view: Any = matrix.view(target)
            except NotOpenedError as error:  # the matrix is complete, so the file must still appear
                view = error
        return view, temporary.stat()  # after closing, which may change the time of the file


# --- resume ---------------------------------------------------------------------------------------------------------


class _ResumableMatrix:
    """A matrix in a file that one or several calls complete."""

    def __init__(self, job: Job, executor: Executor, file: PathLike, target: Path) -> None:
        self.job, self.executor, self.file, self.target = job, executor, file, target
        self.part = target.with_name(f"{target.name}.part")
        self.identity = _identity(job)
        self._checked: os.stat_result  # of the file with the complete matrix
        self._start_over = f"remove {self.part.name} and {_Manifest.path(self.part).name} to start over"

    def complete(self) -> os.stat_result:
        """Complete the matrix from any state in which earlier calls left it. Return the status of its file."""
        if self._is_complete():
            if not self.part.exists():
                _Manifest.remove(self.part)  # left by a call that was killed just before its last step
            return self._checked
        manifest, matrix = self._manifest(self.part), None
        if manifest is not None:
            self._check(manifest, self._start_over)
            written = self.part if self.part.exists() else self.target
            if manifest.complete is None or not self._is_intact(written, manifest):
                manifest.complete = None
                matrix = self._begun(manifest)
                manifest = None if matrix is None else manifest
        if manifest is None:
            matrix, manifest = self._begin()
        if matrix is not None:  # otherwise all tiles are on disk, and the file only needs its name
            try:
                with closing(matrix):
                    self._continue(matrix, manifest)
            except KernelOverflowError:  # every call would fail in the same way
                self._remove_part()  # after closing, because Windows cannot remove an open file
                raise
            self._checked = self.part.stat()
        if self.part.exists():
            self.part.replace(self.target)
            sync_folder(self.target.parent)
        manifest.write(self.target)
        _Manifest.remove(self.part)
        return self._checked

    def _is_complete(self) -> bool:
        """Return whether the target is this matrix. Another matrix is an error."""
        manifest = self._manifest(self.target)
        if manifest is None or not self.target.exists():
            return False
        if not self._is_intact(self.target, manifest):
            _warn_of_restart(f"{self.target}: the file has changed since it was written")
            return False
        self._check(manifest, f"remove {self.target.name} and {_Manifest.path(self.target).name} to start over")
        return True

    def _begun(self, manifest: _Manifest) -> _NpyFile | None:
        """Open the incomplete matrix and forget its damaged tiles. Return None if it cannot be resumed."""
        memory, part = self.executor.resources.memory, self.part
        if memory < manifest.memory:
            raise FileError(
                f"{self.file}: the interrupted call had memory={manifest.memory!r}, more than the {memory} bytes of this call. "
                f"Pass at least the same value, or {self._start_over}."
            )
        try:
            matrix = _NpyFile(part, writing=True)
        except OSError as error:
            _warn_of_restart(str(error))
            return None
        if (tuple(matrix.shape), matrix.dtype) != (self.job.shape, self.job.dtype):
            matrix.close()
            _warn_of_restart(f"{part}: the file contains another matrix")
            return None
        if changed := _forget_changes(matrix, manifest):
            message = f"{part}: the file has changed since it was written. Computing again: {changed}."
            warnings.warn(message, TreeletWarning, stacklevel=user_level())
        return matrix

    def _begin(self) -> tuple[_NpyFile, _Manifest]:
        """Create a manifest and then an empty matrix, so that a file without a manifest is certainly the user's."""
        if self.part.exists() and not _Manifest.path(self.part).exists():
            raise _not_ours(self.part)
        job, executor = self.job, self.executor
        at_once = max(executor.resources.threads, 8)  # a resumed call may have more threads than the first one
        plan = executor.plan(job, at_once=at_once)
        manifest = _Manifest(self.identity, plan, executor.resources.memory, at_once)
        try:
            manifest.write(self.part)
            matrix = _NpyFile.create(self.part, job.shape, job.dtype, str(self.file))
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
            _Manifest.remove(self.part)

    def _continue(self, matrix: _NpyFile, manifest: _Manifest) -> None:
        """Compute the remaining tiles and mark the matrix as complete."""
        threads = min(self.executor.resources.threads, manifest.threads)
        executor = self.executor.with_limits(threads, manifest.memory)
        with _Journal(manifest, matrix, self.part) as journal:
            _write(self.job, executor, manifest.plan, matrix, journal, manifest.threads)
        matrix.sync()
        manifest.complete = matrix.sample()
        manifest.write(self.part)

    def _manifest(self, path: Path) -> _Manifest | None:
        if _Manifest.is_foreign(path):
            raise _not_ours(_Manifest.path(path))
        try:
            return _Manifest.read(path)
        except ValueError as error:
            _warn_of_restart(f"{_Manifest.path(path)}: not a valid manifest of a matrix ({error})")
            return None

    def _is_intact(self, path: Path, manifest: _Manifest) -> bool:
        """Return whether a file contains the complete, unchanged matrix of a manifest."""
        try:
            with closing(_NpyFile(path)) as matrix:
                self._checked = os.fstat(matrix._file)
                return matrix.sample() == manifest.complete and _is_unchanged(matrix, manifest)
        except OSError:
            return False

    def _check(self, manifest: _Manifest, remedy: str) -> None:
        if (difference := _difference(self.identity, manifest.identity)) is not None:
            raise FileError(f"{self.file}: the existing matrix {difference}. Choose another name, or {remedy}.")


def _not_ours(path: Path) -> FileError:
    return FileError(
        f"{path}: this file would be overwritten, but is not known to be one of treelet's. "
        "Rename or remove the file, or choose another name for the matrix."
    )


def _warn_of_restart(why: str) -> None:
    warnings.warn(f"{why.rstrip('.')}. The whole matrix is computed again.", TreeletWarning, stacklevel=user_level())
