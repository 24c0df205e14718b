"""Files to read: single files, folders and glob patterns, in a fixed order.

Hidden files, links and files that git ignores are left out of folders. Git itself is asked which files it
ignores, so all its rules apply; see docs/decisions.md, 23.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import warnings
from collections.abc import Collection, Iterator
from fnmatch import translate
from functools import lru_cache
from pathlib import Path, PurePath
from typing import IO, Any, NamedTuple, cast

from treelet.checks import in_words, some_of, wrong
from treelet.errors import FileError, TreeletWarning
from treelet.formats.files import PACKED, PathLike, unpacked_name, unreadable

File = PathLike | IO[bytes] | IO[str]
_INSPECTED = 8192  # bytes in which a binary file shows a NUL
_VENDORED = (
    *("node_modules", "bower_components", "vendor", "vendored", "_vendor", "third_party", "third-party", "thirdparty"),
    *("3rdparty", "*.min.js", "*.min.mjs", "*-min.js", "*.bundle.js"),
)
"""Folders and files with code of other projects, or that programs wrote."""
_MINIFIED_LINE = 200  # mean length of the lines of a minified file, in bytes, at least
_MEASURED = 1 << 16  # bytes of which the mean is taken
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
    vendored : int
        Number of vendored and minified files that were left out.
    """

    files: list[File]
    skipped: list[str]
    several: bool
    vendored: int = 0


def listed_files(files: Collection[File | Collection[File]]) -> list[File]:
    """Return the files that were passed one by one or in lists."""
    return [one for file in files for one in cast("list[File]", file if isinstance(file, list | tuple) else [file])]


def find_files(
    file: File | Collection[File],
    suffixes: Collection[str],
    exclude: str | Collection[str] = (),
    max_bytes: int | None = None,
    encoding: str = "utf-8",
    vendored: bool = True,
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
    vendored : bool, default True
        Whether to return vendored and minified files of folders: those in folders such as ``node_modules`` or
        ``vendor``, those called ``*.min.js``, and those with very long lines.
    """
    patterns = [exclude] if isinstance(exclude, str) else exclude
    if not isinstance(patterns, Collection) or not all(isinstance(pattern, str) for pattern in patterns):
        raise wrong("exclude", "a pattern such as 'tests' or '*.min.js', or a list of patterns", exclude)
    given = cast("list[File]", list(file) if isinstance(file, list | tuple) else [file])
    if not given:
        raise FileError("No files were given. Pass at least one file, folder or pattern.")
    found: dict[Any, File] = {}
    skipped: list[str] = []
    several, omitted, real_folder = len(given) > 1, set[str](), lru_cache(1024)(os.path.realpath)

    def real(path: Path) -> str:
        return os.path.realpath(path) if path.is_symlink() else os.path.join(real_folder(path.parent), path.name)

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
            every = _in_folder(Path(name), [], ()) if patterns else ()
            if any(unpacked_name(path).suffix.lower() in suffixes for path in every):
                raise FileError(
                    f"{name}: all files in the folder that could be read are excluded. Pass other patterns as exclude=."
                )
            raise FileError(
                f"{name}: the folder contains no files with a suffix that is read here ({some_of(sorted(suffixes), 8)}). "
                f"To read other files, name them or use a pattern such as {name.rstrip('/') + '/*'!r}."
            )
        for path in paths:
            problem = (
                None
                if not vendored and _excluded(path, folder, _VENDORED)
                else _problem(path, max_bytes, encoding, vendored)
            )
            if problem is None:
                omitted.add(real(path))
            elif problem:
                skipped.append(f"{path}: {problem}")
            else:
                found.setdefault(real(path), str(path))
    if omitted and not found and not skipped:
        raise FileError(
            f"{in_words(map(str, given), 'and')}: all files are vendored or minified, and left out. Use vendored=True to "
            "read them."
        )
    return FoundFiles(list(found.values()), list(dict.fromkeys(skipped)), several, len(omitted - found.keys()))


def _excluded(path: Path, folder: Path, patterns: Collection[str]) -> bool:
    """Return whether a pattern matches the path below the folder, a folder on this path, or one of their names."""
    if not patterns:
        return False
    try:
        below: PurePath = path.relative_to(folder)
    except ValueError:
        below = path
    matches, text, start = _pattern(tuple(patterns)).match, below.as_posix(), 0
    for end in [slash.start() for slash in re.finditer("/", text) if slash.start()] + [len(text)]:
        if matches(text[start:end]) or matches(text[:end]):
            return True
        start = end + 1
    return False


@lru_cache(64)
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one regular expression for several patterns."""
    return re.compile("|".join(translate(pattern.rstrip("/")) for pattern in patterns))


def _problem(path: Path, max_bytes: int | None, encoding: str, vendored: bool) -> str | None:
    """Return why a file that was found in a folder is skipped, or an empty string. Without `vendored`, None if it is minified."""
    try:
        with path.open("rb") as stream:
            size, head = os.fstat(stream.fileno()).st_size, stream.read(_INSPECTED if vendored else _MEASURED)
    except OSError as error:
        return f"cannot be read ({error.strerror or error})"
    named = encoding.lower().replace("_", "-")
    is_text = path.suffix.lower() not in PACKED and named.startswith("utf")
    lines = head.count(b"\n") + head.count(b"\r") - head.count(b"\r\n") + 1
    if not vendored and is_text and len(head) >= _INSPECTED and len(head) > _MINIFIED_LINE * lines:
        return None
    if max_bytes is not None and size > max_bytes:
        return f"{size:,} bytes, more than max_bytes={max_bytes!r} allows"
    is_binary = is_text and named in ("utf-8", "utf8") and b"\0" in head[:_INSPECTED]
    return "a binary file, because it contains a NUL byte" if is_binary else ""


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
    if Repository.around(folder) is None:
        return None
    try:
        listing = Repository(str(folder)).git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = [os.fsdecode(name) for name in listing.split(b"\0") if name]
        return names or None  # an ignored folder that was named is read all the same
    except FileError as error:
        problem = str(error)
    message = f"{folder}: files that git ignores are read too, because git could not list the files ({problem})."
    warnings.warn(message, TreeletWarning, stacklevel=2)
    return None


class Repository:
    """A folder in a repository of git.

    Attributes
    ----------
    folder : str
        The folder in which git runs.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @classmethod
    def around(cls, folder: PathLike) -> Repository | None:
        """Return the outermost folder of the repository that contains a file or folder, or None."""
        path = Path(os.path.realpath(folder))
        found = next((parent for parent in (path, *path.parents) if (parent / ".git").exists()), None)
        return None if found is None else cls(str(found))

    def git(self, *arguments: str, data: bytes | None = None) -> bytes:
        """Return the output of git for some input. If it cannot be run or fails, FileError has the first line of its message."""
        program = shutil.which("git")
        if program is None or not os.path.isabs(program):
            # On Windows, a program in the current folder would be found, which may be as hostile as the files.
            raise FileError("git is not installed")
        # core.fsmonitor could name a program, which must not run just because a folder is read.
        command = [program, "-C", self.folder, "-c", "core.fsmonitor=false", *arguments]
        # Git sets GIT_DIR and others for its hooks. They would apply to this repository instead of that of the folder.
        environment = {name: value for name, value in os.environ.items() if name not in _OF_REPOSITORY}
        if index := self._index():
            environment["GIT_INDEX_FILE"] = index
        result = subprocess.run(
            command, capture_output=True, check=False, input=data, env=environment | {"GIT_OPTIONAL_LOCKS": "0"}
        )
        if result.returncode:
            raise FileError(os.fsdecode(result.stderr).strip().partition("\n")[0])
        return result.stdout

    def _index(self) -> str:
        """Return the index of a commit that is being made, such as ``git commit FILE``, if it is one of this repository."""
        index, own = os.environ.get("GIT_INDEX_FILE", ""), Path(self.folder, ".git")
        if index and own.is_file():  # a further working tree
            own = Path(self.folder, own.read_text(encoding="utf-8").removeprefix("gitdir:").strip())
        index = os.path.realpath(os.path.join(self.folder, index)) if index else ""
        return index if os.path.dirname(index) == os.path.realpath(own) else ""
