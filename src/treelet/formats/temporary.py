"""Incomplete files: temporary names, locks and error messages.

A temporary name contains the target and the process, so files that a killed run left behind can be
recognized and removed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from treelet.errors import FileError

LONGEST = 200  # maximum number of bytes of the target's name within a temporary name
_NAME = re.compile(r"([0-9a-f]{6})-([0-9]{1,10})-[0-9a-f]{8}\.tmp")
_mine: set[str] = set()  # names of the files that this process is writing


@contextmanager
def own_name(target: Path, folder: Path | None = None) -> Iterator[Path]:
    """Yield a unique name beside the target, ``.K.npy.HERE-PROCESS-RANDOM.tmp``. No file is created."""
    name = f"{_stem(target)}{_here()}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    _mine.add(name)
    try:
        yield (folder or target.parent) / name
    finally:
        _mine.discard(name)


def remove_stale(target: Path, folder: Path | None = None) -> None:
    """Remove temporary files of the same target that killed runs left behind. Files of live processes stay."""
    stem = _stem(target)
    with suppress(OSError):
        for name in os.listdir(folder or target.parent):
            if name.startswith(stem) and (match := _NAME.fullmatch(name, len(stem))) and _is_dead(name, match):
                path = (folder or target.parent) / name
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    with suppress(OSError):
                        path.unlink()


def unwritable(file: object, error: OSError, *places: Path) -> FileError:
    """Return the error for a file that cannot be written. `places` are the file and its temporary names."""
    if isinstance(error, FileNotFoundError):
        for place in places:
            if not os.path.exists(place.parent):
                return FileError(
                    f"{file}: cannot be written, because the folder {place.parent} does not exist. Create the folder first."
                )
    return FileError(f"{file}: cannot be written ({error.strerror or error}).")


@contextmanager
def naming(file: str | os.PathLike[str], *places: Path) -> Iterator[None]:
    """Convert the system's errors about these places, or about no place, to errors that name the file."""
    try:
        yield
    except OSError as error:
        known = isinstance(error, FileError) or error.errno is None  # not raised by the system
        if known or not str(error.filename).startswith(("None", *map(str, places))):
            raise  # the error is about another file
        raise unwritable(file, error, *places) from error
    except RuntimeError as error:  # raised by pathlib for a link that leads to itself
        if not str(error).startswith("Symlink loop"):
            raise
        raise FileError(f"{file}: cannot be written ({error}).") from error


@contextmanager
def locked(target: Path, shown: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Hold the right to write a file. Raise `FileError` if another process or thread holds it.

    The lock is on an empty file beside the target, ``.K.npy.treelet-lock``. If the process is killed,
    that file remains, but the lock is released. Nothing is locked if the system or the file system does
    not support locks. Error messages call the target `shown`.
    """
    name, path = target if shown is None else shown, target.with_name(f"{_stem(target)}treelet-lock")
    lock, owner = _lock(path, name), os.getpid()
    try:
        yield
    finally:
        if lock is not None:
            if owner == os.getpid():  # a forked child must not remove the file of its parent
                _remove_lock(lock, path)
            os.close(lock)


def _remove_lock(lock: int, path: Path) -> None:
    """Remove the file of an open lock, unless another file has its name now or it contains anything."""
    with suppress(OSError):  # another user's file, in a folder where only owners may remove theirs
        opened = os.fstat(lock)
        if opened.st_size == 0 and os.path.samestat(opened, path.stat()):
            path.unlink()


def _lock(path: Path, name: str | os.PathLike[str]) -> int | None:
    """Return the descriptor of the open and locked file, or None if locks are not supported."""
    try:
        import fcntl
    except ImportError:  # a system without such locks
        return None
    while True:
        try:
            lock = os.open(path, os.O_CREAT | os.O_RDONLY, 0o666)
        except OSError as error:
            raise FileError(f"{name}: cannot be written ({path.name}: {error.strerror or error}).") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(lock), path.stat()):
                return lock
        except FileNotFoundError:  # the last holder has just removed the file
            pass
        except BlockingIOError:
            os.close(lock)
            message = (
                "another process or thread is writing this file. Wait until it has finished, or choose another name."
            )
            raise FileError(f"{name}: {message}") from None
        except OSError:  # a file system without such locks
            _remove_lock(lock, path)
            os.close(lock)
            return None
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _stem(target: Path) -> str:
    name = os.fsencode(target.name)
    return f".{target.name}." if len(name) <= LONGEST else f".{hashlib.sha256(name).hexdigest()[:16]}."


@lru_cache(maxsize=1)
def _here() -> str:
    """Return a key of the machine and, on Linux, of the container, within which process numbers are unique."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return hashlib.sha256(f"{platform.node()} {space}".encode("utf-8", "surrogatepass")).hexdigest()[:6]


def _is_dead(name: str, match: re.Match[str]) -> bool:
    if match[1] != _here() or os.name == "nt":  # on Windows, os.kill would end the process
        return False
    process = int(match[2])
    if process == os.getpid():
        return name not in _mine  # left by an earlier process with the same number
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # another user's
        return False
    return False
