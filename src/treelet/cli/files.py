"""Files that appear under their names only when they are complete, and matrices in them."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from treelet.errors import FileError, ParameterError

if TYPE_CHECKING:
    from treelet.kernels.base import Matrix

SEPARATORS = {".tsv": "\t", ".csv": ",", ".txt": " "}
Fill = Callable[["Matrix | None"], "Matrix"]
"""Computes a matrix into the given memory, or into memory of its own."""


def check_output(output: str) -> None:
    """Refuse a name that does not say how to write a matrix."""
    if output != "-" and Path(output).suffix.lower() not in (".npy", *SEPARATORS):
        raise ParameterError(f"{output}: the name of a matrix must end in .npy, .tsv, .csv or .txt, or be - (text)")


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """The name of a temporary file beside the target, which takes the target's name at the end and else goes away.

    Links are followed. What is no regular file (a pipe, a device) stays what it is: the temporary file is poured into it.
    """
    target = target.resolve()
    if target.is_dir():
        raise FileError(f"{target}: is a folder")
    special = target.exists() and not target.is_file()
    folder = Path(tempfile.gettempdir()) if special else target.parent
    temporary = (
        folder / f".{target.name}.{secrets.token_hex(6)}"
    )  # known before it is made, so that it always goes away
    try:
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as error:
            raise FileError(f"{target}: cannot be written ({error.strerror or error})") from error
        yield temporary
        if special:
            with temporary.open("rb") as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            temporary.unlink()
            return
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_matrix(fill: Fill, shape: tuple[int, int], output: str, temporary: Path | None) -> None:
    """Let a matrix be computed, and write it: text to the standard output, text or .npy to the temporary file."""
    if temporary is None:
        write_text(fill(None), sys.stdout, "\t")
    elif Path(output).suffix.lower() == ".npy":
        _write_npy(fill, shape, output, temporary)
    else:
        with temporary.open("w", encoding="ascii", newline="\n") as stream:
            write_text(fill(None), stream, SEPARATORS[Path(output).suffix.lower()])


def write_text(matrix: Matrix, stream: IO[str], separator: str) -> None:
    """One row a line; the numbers read back as the same floats."""
    for row in matrix:
        stream.write(separator.join(map(repr, row.tolist())) + "\n")


def _write_npy(fill: Fill, shape: tuple[int, int], output: str, temporary: Path) -> None:
    import numpy as np

    if 0 in shape:  # there is nothing that could be mapped
        with temporary.open("wb") as stream:
            np.save(stream, fill(None))
        return
    matrix = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float64, shape=shape)
    if hasattr(os, "posix_fallocate"):  # a full disk is an error here, and a crash once the file is mapped
        with temporary.open("r+b") as stream:
            size = temporary.stat().st_size
            try:
                os.posix_fallocate(stream.fileno(), 0, size)
            except OSError as error:
                raise FileError(f"{output}: no room for {size:,} bytes ({error.strerror or error})") from error
    fill(matrix)
    matrix.flush()
