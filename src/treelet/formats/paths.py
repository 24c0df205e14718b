"""Files to read: single files, folders and glob patterns, in a fixed order.

Hidden files, links and files that git ignores are left out of folders. Git itself is asked which files it
ignores, so all its rules apply; see docs/decisions.md, 23.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import warnings
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import IO, Any, NamedTuple, cast

from treelet.checks import some_of, wrong
from treelet.errors import FileError, TreeletWarning
from treelet.formats.files import PACKED, PathLike, unpacked_name, unreadable

File = PathLike | IO[bytes] | IO[str]
_INSPECTED = 8192  # bytes in which a binary file shows a NUL
_OF_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX")


class FoundFiles(NamedTuple):
    """Files to read.

    Attributes
    ----------
    files : list of path or open file
        The files, in order.
    skipped : list of str
        Files that were found in folders but cannot be read: name and reason.
    several : bool
        False if a single file was named.
    """

    files: list[File]
    skipped: list[str]
    several: bool


def listed_files(files: Collection[File | Collection[File]]) -> list[File]:
    """Return the files that were passed one by one or in lists."""
    return [one for file in files for one in cast("list[File]", file if isinstance(file, list | tuple) else [file])]


def find_files(
    file: File | Collection[File],
    suffixes: Collection[str],
    exclude: str | Collection[str] = (),
    max_bytes: int | None = None,
    encoding: str = "utf-8",
) -> FoundFiles:
    """Return the files that paths, folders and glob patterns stand for. A file that occurs twice is returned once.

    Parameters
    ----------
    file : path, open file, or list of them
        A folder stands for all files below it whose suffix is in `suffixes`, sorted by name. A pattern such as
        ``"src/**/*.js"`` stands for the files that match it, if no file has this name.
    suffixes : collection of str
        Suffixes of the files to find in folders.
    exclude : str or collection of str
        Patterns of files and folders to leave out of folders and patterns: of names, such as ``"tests"`` or
        ``"*_pb2.py"``, or of paths below the folder, such as ``"docs/*.py"``.
    max_bytes : int, optional
        Size above which files in folders are skipped.
    encoding : str, default "utf-8"
        Encoding of the files. Files in folders that contain a NUL byte are skipped if it is UTF-8.
    """
    patterns = [exclude] if isinstance(exclude, str) else exclude
    if not isinstance(patterns, Collection) or not all(isinstance(pattern, str) for pattern in patterns):
        raise wrong("exclude", "a pattern such as 'tests' or '*.min.js', or a list of patterns", exclude)
    given = cast("list[File]", list(file) if isinstance(file, list | tuple) else [file])
    if not given:
        raise FileError("No files were given. Pass at least one file, folder or pattern.")
    found: dict[Any, File] = {}
    skipped: list[str] = []
    several = len(given) > 1
    for item in given:
        if not isinstance(item, str | os.PathLike) or item == "-":
            found[id(item) if item != "-" else "-"] = item
            continue
        name = os.fspath(item)
        if os.path.isdir(name):  # false for names that no file can have
            folder, paths, several = Path(name), list(_in_folder(Path(name), skipped, patterns)), True
            paths = sorted(path for path in paths if unpacked_name(path).suffix.lower() in suffixes)
        elif matches := [] if os.path.lexists(name) else glob.glob(name, recursive=True):
            folder, paths, several = Path(), sorted(path for path in map(Path, matches) if path.is_file()), True
        else:
            # A tree in place of a file name is reported when it is opened, and so is a single file that does not exist.
            if not os.path.lexists(name) and not name.lstrip().startswith("("):
                if glob.has_magic(name):
                    raise FileError(f"{name}: no file matches this pattern.")
                if several:
                    raise unreadable(name, FileNotFoundError())
            found.setdefault(name if "\0" in name else os.path.realpath(name), item)
            continue
        paths = [path for path in paths if not _excluded(path, folder, patterns)]
        if not paths:
            if not os.path.isdir(name):
                raise FileError(f"{name}: no file matches this pattern and is not excluded.")
            raise FileError(
                f"{name}: the folder contains no files with a suffix that is read here ({some_of(sorted(suffixes), 8)}). "
                f"To read other files, name them or use a pattern such as {name.rstrip('/') + '/*'!r}."
            )
        for path in paths:
            problem = _problem(path, max_bytes, encoding)
            if problem:
                skipped.append(f"{path}: {problem}")
            else:
                found.setdefault(os.path.realpath(path), str(path))
    return FoundFiles(list(found.values()), list(dict.fromkeys(skipped)), several)


def _excluded(path: Path, folder: Path, patterns: Collection[str]) -> bool:
    """Return whether a pattern matches the path below the folder, a folder on this path, or one of their names."""
    try:
        below: PurePath = path.relative_to(folder)
    except ValueError:
        below = path
    names = [below, *below.parents][:-1]
    return any(
        fnmatchcase(part.as_posix(), pattern.rstrip("/")) or fnmatchcase(part.name, pattern.rstrip("/"))
        for part in names
        for pattern in patterns
    )


def _problem(path: Path, max_bytes: int | None, encoding: str) -> str:
    """Return why a file that was found in a folder is skipped, or an empty string."""
    try:
        size = path.stat().st_size
        if max_bytes is not None and size > max_bytes:
            return f"{size:,} bytes, more than max_bytes={max_bytes!r} allows"
        if path.suffix.lower() in PACKED or encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
            return ""
        with path.open("rb") as stream:
            return "a binary file, because it contains a NUL byte" if b"\0" in stream.read(_INSPECTED) else ""
    except OSError as error:
        return f"cannot be read ({error.strerror or error})"


# --- folders ----------------------------------------------------------------------------------------------------


def _in_folder(folder: Path, skipped: list[str], exclude: Collection[str]) -> Iterator[Path]:
    """Yield the files below a folder that git does not ignore, without hidden files and links.

    Excluded folders need not be entered, which saves time; their files may be yielded all the same.
    """
    listed = _listed_by_git(folder)
    if listed is None:
        yield from _walked(folder, skipped, exclude)
        return
    for name in listed:
        path = folder / name
        if any(part.startswith(".") for part in Path(name).parts) or path.is_symlink():
            continue
        if name.endswith("/") or path.is_dir():  # another repository inside this one, perhaps a submodule
            yield from _in_folder(path, skipped, exclude)
        elif path.is_file():
            yield path


def _walked(folder: Path, skipped: list[str], exclude: Collection[str]) -> Iterator[Path]:
    def report(error: OSError) -> None:
        skipped.append(f"{error.filename}: the folder cannot be read ({error.strerror})")

    for parent, folders, files in os.walk(folder, onerror=report):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if exclude:
            folders[:] = [name for name in folders if not _excluded(Path(parent, name), folder, exclude)]
        paths = (Path(parent, name) for name in files if not name.startswith("."))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _listed_by_git(folder: Path) -> list[str] | None:
    """Return the files of a folder that git tracks or does not ignore. None if the folder is not in a repository."""
    absolute = folder.absolute()
    if not any((parent / ".git").exists() for parent in (absolute, *absolute.parents)):
        return None
    program = shutil.which("git")
    if program is not None and not os.path.isabs(program):
        program = None  # on Windows, a program in the current folder, which may be as hostile as the files
    listing = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    problem = "git is not installed"
    if program is not None:
        # core.fsmonitor could name a program, which must not run just because a folder is read.
        command = [program, "-C", str(folder), "-c", "core.fsmonitor=false", *listing]
        # Git sets GIT_DIR and others for its hooks. They would apply to this repository instead of that of the folder.
        environment = {name: value for name, value in os.environ.items() if name not in _OF_REPOSITORY}
        result = subprocess.run(
            command, capture_output=True, check=False, env=environment | {"GIT_OPTIONAL_LOCKS": "0"}
        )
        if result.returncode == 0:
            names = [os.fsdecode(name) for name in result.stdout.split(b"\0") if name]
            return names or None  # an ignored folder that was named is read all the same
        problem = os.fsdecode(result.stderr).strip().partition("\n")[0]
    message = f"{folder}: files that git ignores are read too, because git could not list the files ({problem})."
    warnings.warn(message, TreeletWarning, stacklevel=2)
    return None
