"""Places that cannot be written to: full, read-only, missing, no folders, names that are too long.

Whatever the place, a writer must say so in one line that names the file, leave what is there as it was, and leave nothing else. Where there
is room again, the same call must do what it does elsewhere.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from fault_cases import Failed, Writer

import treelet as tl
from treelet.errors import TreeletError

PAGE = 4096
Snapshot = dict[str, bytes]
OLD = b"precious\n"


class Trial(NamedTuple):
    """What became of one attempt under a fault: done, refused, or what is wrong about it."""

    outcome: str
    wrong: str = ""


FOLDERS = (".index", "")
"""Suffixes of outputs that are folders."""


def snapshot(folder: Path) -> Snapshot:
    """All files below a folder; folders that are empty have a name that ends in a slash."""
    found: Snapshot = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file():
            found[name] = path.read_bytes()
        elif path.is_dir() and not any(path.iterdir()):
            found[f"{name}/"] = b""
    return found


def lay_old(writer: Writer, folder: Path) -> None:
    """What lies under the output's name before."""
    target = folder / writer.output
    if target.suffix == ".index":
        tl.save(tl.Nearest().fit(["(O old)"]), target)
    elif target.suffix in FOLDERS:
        target.mkdir()
        for name in ("report.html", "report.json"):
            (target / name).write_bytes(OLD)
    else:
        target.write_bytes(OLD)


def attempt(writer: Writer, folder: Path) -> Trial:
    """Run it, and look at how it failed, if it did."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            writer.work(folder)
    except Failed as failed:
        said = [line for line in failed.said.splitlines() if not line.startswith("treelet: warning: ")]
        if failed.code != 2 or len(said) != 1 or not said[0].startswith("treelet: error: "):
            return Trial("wrong", f"exit code {failed.code}: {failed.said!r}")
        return _named(writer, folder, said[0])
    except TreeletError as error:
        return _named(writer, folder, str(error))
    except Exception as error:
        return Trial("wrong", f"{type(error).__name__}: {error}")
    return Trial("done")


def _named(writer: Writer, folder: Path, message: str) -> Trial:
    """Check that a message begins with the name of the output, or of a file that belongs to the output."""
    named = Path(message.removeprefix("treelet: error: ").partition(": ")[0])
    output = folder / writer.output
    belonging = {output, *(folder / name for name in (*writer.beside, *writer.begun))}
    if named not in belonging and output not in named.parents:
        return Trial("wrong", f"the message does not begin with the name of the output: {message}")
    return Trial("refused")


def undisturbed(writer: Writer) -> Snapshot:
    """What it leaves where nothing is wrong."""
    with TemporaryDirectory(prefix="treelet-faults-") as name:
        writer.work(Path(name))
        return snapshot(Path(name))


def is_new(writer: Writer, folder: Path, new: Snapshot, begun: bool = False) -> str:
    """What is wrong with an output that should be complete, and with what lies beside it."""
    there = snapshot(folder)
    top = {name.partition("/")[0] for name in there} - {writer.output, *writer.beside, *(writer.begun if begun else ())}
    if top:
        return f"{sorted(top)} is left"
    if writer.whole is not None:
        try:
            return "" if writer.whole(folder / writer.output) else "it is not whole"
        except Exception as error:
            return f"it is not whole ({type(error).__name__}: {error})"
    mine = {name: there.get(name) for name in new if name.partition("/")[0] == writer.output}
    return "" if all(new[name] == content for name, content in mine.items()) else "it is another"


def is_old(writer: Writer, before: Snapshot, after: Snapshot) -> str:
    """What is wrong with what a failed attempt left: all must be as it was; of a report's files, each the old or a whole new one."""
    for name in sorted(set(before) | set(after)):
        top = name.partition("/")[0]
        if before.get(name) == after.get(name) or top in writer.begun:
            continue
        if writer.output == "report" and top == "report" and after.get(name, b"").rstrip()[-1:] in (b">", b"}", b"."):
            continue
        return f"{name} is {'new' if name not in before else 'gone' if name not in after else 'another'}"
    return ""


def trial(writer: Writer, folder: Path, fault: AbstractContextManager[object], new: Snapshot, at: Path) -> Trial:
    """One attempt under a fault, into `at`, which is the folder or one below it; and one without, if it can be."""
    before = snapshot(folder)
    with fault:
        found = attempt(writer, at)
        after = snapshot(folder)
    if found.outcome == "wrong":
        return found
    if found.outcome == "done":
        wrong = is_new(writer, at, new)
    else:
        wrong = is_old(writer, before, after)
    if not wrong and at == folder and (folder / writer.output).is_dir() == (Path(writer.output).suffix in FOLDERS):
        again = attempt(writer, folder)
        wrong = f"and then: {again}" if again.outcome != "done" else is_new(writer, folder, new)
    return Trial("wrong", wrong) if wrong else found


# --- faults -----------------------------------------------------------------------------------------------------------


@contextmanager
def smaller_files(limit: int) -> Iterator[None]:
    """No file of this process may have more bytes; the system then says so, as it does of a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def can_mount() -> bool:
    """Whether file systems can be mounted here: for root, where that is allowed."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    with TemporaryDirectory() as name:
        made = subprocess.run(["mount", "-t", "tmpfs", "none", name], capture_output=True, check=False)
        return made.returncode == 0 and subprocess.run(["umount", name], check=False).returncode == 0


@contextmanager
def file_system(size: int, inodes: int = 0) -> Iterator[Path]:
    """A small file system in memory."""
    with TemporaryDirectory(prefix="treelet-faults-") as name:
        options = f"size={size}" + (f",nr_inodes={inodes}" if inodes else "")
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", name], check=True)
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "-l", name], check=True)


@contextmanager
def full(folder: Path, left: int) -> Iterator[None]:
    """Of a small file system, so many bytes are left."""
    filler = folder.parent / "filler"
    with filler.open("wb", buffering=0) as stream:
        with suppress(OSError):
            while stream.write(b"\0" * (1 << 20)):
                pass
        with suppress(OSError):
            while stream.write(b"\0" * PAGE):
                pass
        stream.truncate(max(0, stream.tell() // PAGE * PAGE - left))
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def few_inodes(folder: Path, left: int) -> Iterator[None]:
    """Of a small file system, so many files can still be made."""
    fillers = folder.parent / "fillers"
    fillers.mkdir()
    made = []
    with suppress(OSError):
        while True:
            made.append(fillers / str(len(made)))
            made[-1].touch(exist_ok=False)
    for path in made[-1 - left :]:
        path.unlink(missing_ok=True)
    try:
        yield
    finally:
        shutil.rmtree(fillers)


@contextmanager
def read_only(system: Path) -> Iterator[None]:
    """Nothing can be changed in a file system; or in a folder, by permissions, which do not bind root."""
    mounted = os.path.ismount(system)
    if mounted:
        subprocess.run(["mount", "-o", "remount,ro", system], check=True)
    else:
        for folder in (system, *filter(Path.is_dir, system.rglob("*"))):
            folder.chmod(0o555)
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["mount", "-o", "remount,rw", system], check=True)
        else:
            for folder in (system, *filter(Path.is_dir, system.rglob("*"))):
                folder.chmod(0o755)


def missing(folder: Path) -> Path:
    return folder / "missing"


def no_folder(folder: Path) -> Path:
    (folder / "file").write_bytes(OLD)
    return folder / "file"


def long_name(folder: Path) -> Path:
    return folder / ("n" * 300)


def loop(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop"


PLACES: dict[str, Callable[[Path], Path]] = {
    "a folder that is missing": missing,
    "a file in place of the folder": no_folder,
    "a name that is too long": long_name,
    "a link that leads to itself": loop,
}


def lay_other(writer: Writer, folder: Path) -> None:
    """A folder where a file should be written, or the other way round."""
    target = folder / writer.output
    if target.suffix in FOLDERS:
        target.write_bytes(OLD)
    else:
        target.mkdir()
        (target / "inside").write_bytes(OLD)
