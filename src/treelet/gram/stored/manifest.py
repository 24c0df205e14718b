"""What is known of a matrix in a file: of which kernel and examples it is, in which tiles it is computed, and which are on disk.

It lies beside the matrix, as JSON under its name with ``.json`` added, and is always whole: it is replaced, never changed.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import treelet
from treelet.errors import FileError
from treelet.formats.json_files import checksum
from treelet.gram.plan import Plan
from treelet.gram.stored.fingerprint import fingerprint
from treelet.kernels.pairwise import Pairwise

FORMAT = 3  # 1 had no checksum, 2 sums in place of checksums of tiles


@dataclass(frozen=True)
class Identity:
    """What a matrix is of, in texts and numbers. Equal ones are the same matrix, to the last bit."""

    kernel: str
    parameters: str
    shape: list[int]
    dtype: str
    rows: str
    columns: str | None
    extends: str | None
    version: str

    @staticmethod
    def of(
        kernel: Pairwise, X: Any, Y: Any | None, shape: tuple[int, int], dtype: np.dtype[Any], extends: str | None
    ) -> Identity:
        columns = None if Y is None else fingerprint(Y)
        return Identity(
            repr(kernel),
            fingerprint(kernel),
            list(shape),
            dtype.name,
            fingerprint(X),
            columns,
            extends,
            treelet.__version__,
        )

    @classmethod
    def from_json(cls, data: Any) -> Identity:
        """What a manifest says; ValueError or TypeError if it is nothing of the kind."""
        identity = cls(**data)
        texts = {name: value for name, value in data.items() if name != "shape"}
        optional = ("columns", "extends")
        if not all(isinstance(value, str) or (value is None and name in optional) for name, value in texts.items()):
            raise ValueError("it does not say what the matrix is of")
        if not isinstance(identity.shape, list) or not all(type(size) is int for size in identity.shape):
            raise ValueError("it does not say how large the matrix is")
        return identity

    def other_than(self, there: Identity) -> str | None:
        """In what the one that is there differs, in words; None if it does not."""
        if (there.kernel, there.parameters) != (self.kernel, self.parameters):
            same = " with other parameters" if there.kernel == self.kernel else ""
            return f"another kernel, {there.kernel}{same}, not {self.kernel}"
        if there.shape != self.shape:
            return f"{' x '.join(map(str, there.shape))} values, not {' x '.join(map(str, self.shape))}"
        if (there.rows, there.columns) != (self.rows, self.columns):
            return "other examples"
        if there.dtype != self.dtype:
            return f"{there.dtype}, not {self.dtype}"
        if there.extends != self.extends:
            return "another matrix that was extended"
        if there.version != self.version:
            return f"treelet {there.version}, not {self.version}"
        return None


@dataclass
class Manifest:
    """The state of a matrix in a file."""

    identity: Identity
    plan: Plan
    memory: int
    threads: int
    """What the plan was made for: the number of tiles that fit into the memory at once."""
    grid: int
    copied: int | None = None
    """A checksum of the matrix that this one extends, once it was taken in."""
    done: dict[int, int] = field(default_factory=dict)
    """Numbers of tiles that are on disk, and checksums of them."""
    mirrored: list[int] = field(default_factory=list)
    """Likewise of the tiles above the diagonal that are written from those below."""
    complete: str | None = None
    """A sample of the matrix, once it has its own name."""

    @staticmethod
    def path(target: Path) -> Path:
        return target.with_name(f"{target.name}.json")

    @classmethod
    def read(cls, target: Path) -> Manifest | None:
        """What lies beside the matrix of that name; None if there is nothing. ValueError if it is no manifest."""
        try:
            text = cls.path(target).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FileError(f"{cls.path(target)}: cannot be read ({error.strerror or error})") from error
        except UnicodeDecodeError as error:
            raise ValueError("it is no text") from error
        try:
            data = json.loads(text)
            if data["format"] != FORMAT:
                raise ValueError(f"it is of format {data['format']}")
            if data.pop("checksum") != checksum(data):
                raise ValueError("its checksum does not fit")
            done = {int(number): int(found) for number, found in data["done"].items()}
            plan, mirrored = Plan.from_json(data["plan"]), [int(number) for number in data["mirrored"]]
            if any(not 0 <= number < len(plan.tiles) for number in done):
                raise ValueError("it lists tiles that are not there")
            complete = None if data["complete"] is None else str(data["complete"])
            identity = Identity.from_json(data["identity"])
            memory, threads, grid = int(data["memory"]), int(data["threads"]), int(data["grid"])
            copied = None if data["copied"] is None else int(data["copied"])
            return cls(identity, plan, memory, threads, grid, copied, done, mirrored, complete)
        except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise ValueError(f"it is not whole ({error})") from error

    def write(self, target: Path) -> None:
        """Replace what lies beside the matrix; on disk when this returns."""
        data = {
            "format": FORMAT,
            "identity": asdict(self.identity),
            "plan": self.plan.as_json(),
            "memory": self.memory,
            "threads": self.threads,
            "grid": self.grid,
            "copied": self.copied,
            "done": {str(number): found for number, found in self.done.items()},
            "mirrored": self.mirrored,
            "complete": self.complete,
        }
        data["checksum"] = checksum(data)
        path = self.path(target)
        new = path.with_name(
            f"{path.name}.new"
        )  # always the same: there is one writer, and a killed one leaves no others
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
        """Nothing is known of the matrix any more."""
        cls.path(target).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on disk, where a system can tell."""
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
