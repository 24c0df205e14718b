"""Fingerprints of examples and kernels, so a matrix is only resumed with the same kernel and examples."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import treelet
from treelet.checks import article
from treelet.edits.distance import EditMeasure
from treelet.errors import FileError, InputTypeError
from treelet.formats.json_files import checksum
from treelet.kernels.algebra import Constant
from treelet.kernels.on import On
from treelet.kernels.pairwise import Pairwise
from treelet.matrices.tiles import Job, Plan
from treelet.structures.bank import Bank
from treelet.structures.table import Table
from treelet.structures.vectors import Vectors
from treelet.structures.word_vectors import WordVectors

# --- fingerprints of examples and kernels -----------------------------------------------------------------------------


def fingerprint(value: Any) -> str:
    """Return 32 hexadecimal digits that are the same for equal content, in any object and process.

    >>> fingerprint([1, "a"]) == fingerprint([1, "a"]) != fingerprint([1, "b"])
    True
    """
    digest = hashlib.blake2b(digest_size=16)
    _feed(digest, value)
    return digest.hexdigest()


def kernel_fingerprint(kernel: Any, X: Any, Y: Any | None = None) -> str:
    """Return the fingerprint of a kernel or distance for the examples of a matrix.

    A function that gives the costs of renaming counts by its costs for the labels of the examples. Its
    name stays the same when its code changes.
    """
    if isinstance(kernel, EditMeasure) and callable(kernel.edit_distance.rename):
        distance = kernel.edit_distance
        costs = distance._costs().table(X, X if Y is None else Y)
        return fingerprint([type(kernel).__name__, _as_float(distance.insert), _as_float(distance.delete), costs])
    return fingerprint(kernel)


def examples_fingerprint(kernel: Any, X: Any) -> str:
    """Return the fingerprint of the examples as far as a kernel or distance reads them.

    Of a table, only the columns that the kernel reads count, in any order.
    """
    if isinstance(X, Table):
        columns = _columns_read(kernel)
        X = {name: X.column(name) for name in (X.names if columns is None else columns)}
    return fingerprint(X)


def _columns_read(kernel: Any) -> set[Any] | None:
    """Return the columns of a table that a kernel reads, or None if they are not known."""
    if isinstance(kernel, On):
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
_BEGIN = b'{"format": '  # of every manifest


@dataclass(frozen=True)
class Identity:
    """Identity of a matrix. Matrices with equal identities are equal, bit for bit."""

    kernel: str
    parameters: str
    shape: list[int]
    dtype: str
    rows: str
    columns: str | None
    version: str

    @staticmethod
    def of(job: Job) -> Identity:
        kernel, X, Y = job.kernel, job.X, job.Y
        return Identity(
            repr(kernel),
            kernel_fingerprint(kernel, X, Y),
            list(job.shape),
            job.dtype.name,
            examples_fingerprint(kernel, X),
            None if Y is None else examples_fingerprint(kernel, Y),
            treelet.__version__,
        )

    @classmethod
    def from_json(cls, data: Any) -> Identity:
        """Return the identity in a manifest. Raise ValueError or TypeError if the data are invalid."""
        identity = cls(**data)
        texts = {name: value for name, value in data.items() if name != "shape"}
        if not all(isinstance(value, str) or (value is None and name == "columns") for name, value in texts.items()):
            raise ValueError("the identity of the matrix is invalid")
        if not isinstance(identity.shape, list) or not all(type(size) is int for size in identity.shape):
            raise ValueError("the shape of the matrix is invalid")
        return identity

    def other_than(self, stored: Identity) -> str | None:
        """Return how the stored matrix differs, as the predicate of a sentence, or None if it does not."""
        if stored.parameters != self.parameters:
            if stored.kernel == self.kernel:
                return f"was computed with {self.kernel}, too, but a file, function or object among its parameters has changed"
            return f"was computed with another kernel, {stored.kernel}, instead of {self.kernel}"
        if stored.shape != self.shape:
            return f"has {' x '.join(map(str, stored.shape))} values instead of {' x '.join(map(str, self.shape))}"
        if (stored.rows, stored.columns) != (self.rows, self.columns):
            return "was computed from other examples"
        if stored.dtype != self.dtype:
            return f"has {stored.dtype} values instead of {self.dtype}"
        if stored.version != self.version:
            return f"was computed by treelet {stored.version} instead of {self.version}"
        return None


@dataclass
class Manifest:
    """The state of a matrix in a file."""

    identity: Identity
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
                return not _BEGIN.startswith(stream.read(len(_BEGIN)))
        except OSError:  # `read` reports it
            return False

    @classmethod
    def read(cls, target: Path) -> Manifest | None:
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
            identity = Identity.from_json(data["identity"])
            memory, threads = int(data["memory"]), int(data["threads"])
            return cls(identity, plan, memory, threads, done, mirrored, complete)
        except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise ValueError(f"incomplete or malformed: {error!r}") from error

    def write(self, target: Path) -> None:
        """Replace the manifest of a matrix, and wait until the file is on disk."""
        data = {
            "format": _FORMAT,
            "identity": asdict(self.identity),
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
        new = path.with_name(f"{path.name}.new")
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


def sync_folder(folder: Path) -> None:
    """Wait until the file names in a folder are on disk, if the system supports this."""
    try:
        file = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(file)
    except OSError:
        pass
    finally:
        os.close(file)
