"""New and changed functions that resemble others of the same repository."""

from __future__ import annotations

import io
import os
import re
import shutil
import tarfile
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from treelet.checks import check_integer, check_one_of, is_number, wrong
from treelet.errors import FileError, ParameterError
from treelet.formats.adapters import IDENTIFIERS
from treelet.formats.files import PathLike, SkipLog
from treelet.formats.paths import Repository
from treelet.kernels import StatementOverlap
from treelet.matrices.nearest import ROUNDING, nearest
from treelet.resources import Resources
from treelet.structures.treebank import Treebank
from treelet.tasks.clone_report import CloneFamily, CloneReport
from treelet.tasks.clones import Units
from treelet.tasks.code_cache import CodeCache

_EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's name of a tree without files
_RANGE = re.compile(r"(.*?)(\.\.\.?)(.*)", re.DOTALL)


def check_clones(
    *changes: PathLike,
    paths: PathLike | Sequence[PathLike] | None = None,
    similarity: float = 0.65,
    min_lines: int = 10,
    languages: str | Collection[str] | None = None,
    identifiers: str = "anonymous",
    exclude: str | Collection[str] = (),
    vendored: bool = False,
    encoding: str = "utf-8",
    cache: PathLike | None = None,
    n_jobs: int | None = 1,
    progress: bool | None = None,
) -> CloneReport:
    """Find new and changed functions that resemble other functions of the same repository.

    Parameters
    ----------
    *changes : str or path
        A range of revisions of git, such as ``"main..HEAD"``, or one revision, which is compared with the files as they are.
        ``"main...HEAD"`` begins where both have parted. Or files and folders: then all their functions count as new. Default:
        ``"HEAD"``, so the changes that were not committed, with untracked files.
    paths : path or list, optional
        Files and folders whose functions the new ones are compared with. Default: the repository of the current folder, or
        the current folder if it is not in a repository.
    similarity, min_lines, languages, identifiers, exclude, vendored, encoding, cache, n_jobs, progress
        As in `find_clones`.

    Returns
    -------
    CloneReport
        One family per new or changed function that resembles another one. It has two members: the existing function that is
        most similar, which is the medoid, and the new one. `CloneReport.changed_functions` is the number of functions that
        were compared with all others. The list `CloneFamily.new_members` of a family is empty if both functions existed and
        were similar before the change: then the other one may need the same change.

    Notes
    -----
    A function is changed if its file changed and the file's former version, or that of another changed file, has no function
    with an equal tree. So comments, layout, moved functions and renamed files are no changes. The former version of a changed
    function has the same name, in the same file or, if it is gone from there, in another changed file. A function is not compared
    with functions around or inside it, or with functions in other languages.
    """
    begin = time.monotonic()
    if not is_number(similarity, 0, 1) or similarity == 0:
        raise wrong("similarity", "a number in (0, 1]", similarity, of="check_clones")
    check_integer("min_lines", min_lines, of="check_clones")
    check_one_of("identifiers", identifiers, IDENTIFIERS, of="check_clones")
    Resources.of(n_jobs, progress=progress, owner="check_clones")
    log, store = SkipLog(), None if cache is None else CodeCache(cache)
    reading: dict[str, Any] = {
        "language": sorted(languages) if isinstance(languages, set | frozenset | tuple) else languages,
        "identifiers": identifiers, "exclude": exclude, "vendored": vendored, "encoding": encoding, "min_lines": min_lines,
        "progress": progress,
    }  # fmt: skip
    here, repository = os.getcwd(), Repository.around(".")
    root = None if repository is None else repository.folder
    named = [os.fspath(change) for change in changes]
    known = [name for name in named if os.path.lexists(name)]
    if known and len(known) < len(named):
        missing = next(name for name in named if name not in known)
        raise FileError(
            f"{missing}: the file does not exist. Pass files, or one range of revisions such as main..HEAD."
        )
    folders = [
        os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths or [root or here])
    ]
    if known:
        every = Units.read([_shown(path, here) for path in [*folders, *known]], reading, log, store)
        own = [os.path.realpath(name) for name in known]
        new = np.array([_is_below(os.path.realpath(place.file), own) for place in every.places or ()], bool)
        old = every[:0]
        unit = Units.of(every, min_lines)
        return _report(unit, len(every), new, old, log, similarity, reading, begin, n_jobs)
    if repository is None or root is None:
        raise FileError(f"{here}: this folder is not in a repository of git. Name the files to check.")
    if len(named) > 1:
        raise ParameterError(f"Pass one range of revisions or files that exist. Got {', '.join(named)}.")
    first, last = _revisions(repository, named[0] if named else "HEAD")
    if last is not None and _is_checked_out(repository, last):
        last = None
    changed = _changed_files(repository, first, last)
    with _files_of(repository, first, changed) as before, _files_of(repository, last, None) as after:
        inside = [os.path.relpath(os.path.realpath(folder), root) for folder in folders]
        present = [os.path.join(after, folder) for folder in inside if os.path.lexists(os.path.join(after, folder))]
        if after == root:
            present = [_shown(path, here) for path in present]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            every = Units.read(present, reading, log, store)
            unit = Units.of(every, min_lines)
        for warning in caught:
            text = str(warning.message)  # former versions lie in a temporary folder
            text = text if after == root else text.replace(os.path.join(after, ""), "")
            warnings.warn(text, warning.category, stacklevel=2)
        unit = unit._replace(bank=_renamed(unit.bank, after, root, here))
        old = every[:0]
        if any(files for _, _, files in os.walk(before)):
            old = _renamed(_old_functions(before, reading, store), before, root, here)
    names = {os.path.normpath(os.path.join(root, name)) for name in changed}
    new = np.zeros(len(every), bool)
    new[unit.rows] = [os.path.normpath(os.path.join(here, place.file)) in names for place in unit.bank.places or ()]
    return _report(unit, len(every), new, old, log, similarity, reading, begin, n_jobs)


def _old_functions(folder: str, reading: dict[str, Any], store: CodeCache | None) -> Treebank:
    """Return all functions of former versions of files. Problems of former versions do not concern the user."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Units.read([folder], {**reading, "vendored": True, "exclude": (), "min_lines": 0}, SkipLog(), store)
        except FileError:  # no source code
            return Treebank([])


def _report(
    unit: Units,
    read: int,
    new: Any,
    old: Treebank,
    log: SkipLog,
    similarity: float,
    reading: dict[str, Any],
    begin: float,
    n_jobs: int | None,
) -> CloneReport:
    """Compare the functions of changed files that are new among `old` with all others."""
    new, lines = new[unit.rows], unit.lines[unit.outer < 0].sum()
    roots = (unit.bank + old).columns.roots if len(old) else unit.bank.columns.roots
    former = Counter(roots[len(unit.bank) :].tolist())
    for at in np.flatnonzero(new).tolist():  # functions that were there before
        if former[int(roots[at])]:
            former[int(roots[at])] -= 1
            new[at] = False
    families: list[CloneFamily] = []
    for language, rows in unit.by_language(reading["language"]).items():
        families += _pairs(unit.select(rows), new[rows], old, similarity, language, n_jobs)
    return CloneReport(
        families=sorted(families, key=lambda family: (not family.new_members, -family.saved_lines, family.members)),
        files=log.files_read,
        functions=len(unit.bank),
        lines=int(lines),
        short_functions=read - len(unit.bank) - unit.silenced + sum(log.short.values()),
        silenced_functions=unit.silenced,
        vendored_files=log.vendored,
        skipped_files=len(log.files),
        skipped_functions=log.left_out,
        seconds=time.monotonic() - begin,
        options={
            "similarity": similarity,
            "min_lines": reading["min_lines"],
            "languages": [reading["language"]] if isinstance(reading["language"], str) else reading["language"],
            "identifiers": reading["identifiers"],
            "exclude": [reading["exclude"]] if isinstance(reading["exclude"], str) else sorted(reading["exclude"]),
            "vendored": reading["vendored"],
        },
        changed_functions=int(new.sum()),
    )


def _pairs(
    unit: Units, new: Any, old: Treebank, similarity: float, language: str, n_jobs: int | None
) -> list[CloneFamily]:
    """Return each new function that resembles another one, with the most similar one. Existing functions come first."""
    queries = np.flatnonzero(new)
    if not len(queries):
        return []
    graph: Any = nearest(
        StatementOverlap(),
        unit.bank,
        unit.bank[queries],
        threshold=similarity,
        graph=True,
        n_jobs=n_jobs,
        progress=False,
    )
    places = unit.bank.places
    former = _former(old, unit.bank)
    groups, pairs, known = [], set[tuple[int, int]](), list[bool]()
    for row, query in enumerate(queries.tolist()):
        part, around = slice(graph.indptr[row], graph.indptr[row + 1]), {query, *unit.around(query)}
        matches = [
            (-round(value, 9), bool(new[at]), at)
            for at, value in zip(graph.indices[part].tolist(), graph.data[part].tolist(), strict=True)
            if at not in around and query not in unit.around(at)
        ]
        if matches and (min(matches)[2], query) not in pairs:  # two new functions are one pair
            value, _, best = min(matches)
            pairs.add((query, best))
            groups.append((best, np.array([best, query]), np.array([1.0, -value])))
            existed = not new[best] or (places[best].file, places[best].name) in former
            known.append(existed and _was_similar(unit, best, query, old, former, similarity))
    return [
        family if was_similar else replace(family, new_members=[1])
        for family, was_similar in zip(
            CloneFamily._of_groups(groups, unit.bank, unit.lines, language), known, strict=True
        )
    ]


def _former(old: Treebank, new: Treebank) -> dict[tuple[str, str], int]:
    """Return the former version of functions, by file and name. It may be in another file if it is gone from there."""
    former = {(place.file, place.name): at for at, place in enumerate(old.places or ())}
    now = {(place.file, place.name) for place in new.places or ()}
    gone = [(name, at) for (file, name), at in former.items() if (file, name) not in now]
    count = Counter(name for name, _ in gone)
    moved = {name: at for name, at in gone if count[name] == 1}
    return {(file, name): moved[name] for file, name in now if name in moved} | former


def _was_similar(
    unit: Units, first: int, second: int, old: Treebank, former: dict[tuple[str, str], int], similarity: float
) -> bool:
    """Return whether a function, and another one that existed before the change, were similar then."""
    places = unit.bank.places
    before = [former.get((places[at].file, places[at].name)) for at in (first, second)]
    if before[1] is None:
        return False
    other = old[[before[0]]] if before[0] is not None else unit.bank[[first]]
    return bool(StatementOverlap().diag(other, old[[before[1]]])[0] >= similarity - ROUNDING)


# --- git --------------------------------------------------------------------------------------------------------------


def _revisions(repository: Repository, text: str) -> tuple[str, str | None]:
    """Return the first and the last commit of a range; None is the state of the files."""
    match = _RANGE.fullmatch(text)
    names = [text, None] if match is None else [match[1] or "HEAD", match[3] or "HEAD"]
    commits = []
    for name in names:
        try:
            commits.append(
                name
                and repository.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
                .decode()
                .strip()
            )
        except FileError:
            if not text or (name == "HEAD" and match is None):  # a repository without a commit
                return _EMPTY, None
            raise FileError(f"{name}: neither a file nor a revision of the repository {repository.folder}.") from None
    if match is not None and match[2] == "...":
        commits[0] = repository.git("merge-base", str(commits[0]), str(commits[1])).decode().strip()
    return str(commits[0]), commits[1]


def _is_checked_out(repository: Repository, commit: str) -> bool:
    """Return whether the files are those of a commit."""
    head = repository.git("rev-parse", "HEAD").decode().strip()
    return head == commit and not repository.git("status", "--porcelain", "-z")


def _changed_files(repository: Repository, first: str, last: str | None) -> list[str]:
    """Return the names of the files that differ, below the root, with untracked files if the last state is that of the files."""
    listed = repository.git(
        "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", first, *([last] if last else [])
    )
    if last is None:
        listed += repository.git("ls-files", "-z", "--others", "--exclude-standard")
    return sorted({os.fsdecode(name) for name in listed.split(b"\0") if name})


@contextmanager
def _files_of(repository: Repository, revision: str | None, names: list[str] | None) -> Iterator[str]:
    """Yield a folder with the files of a revision, or those that are named. Without a revision, it is the repository."""
    if revision is None:
        yield repository.folder
        return
    folder = tempfile.mkdtemp(prefix="treelet-")
    try:
        if names != [] and revision != _EMPTY:
            listed = {
                os.fsdecode(name)
                for name in repository.git("ls-tree", "-r", "-z", "--name-only", "--full-tree", revision).split(b"\0")
            }
            wanted = None if names is None else sorted(listed & {*names})
            for begin in range(0, 1 if wanted is None else len(wanted), 500):
                some = [] if wanted is None else [f":(literal){name}" for name in wanted[begin : begin + 500]]
                data = repository.git("archive", "--format=tar", revision, *(["--", *some] if some else []))
                with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                    members = [member for member in archive if member.isfile()]
                    archive.extractall(folder, members=members, filter="data")
        yield os.path.realpath(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _shown(path: str, here: str) -> str:
    """Return a path below the current folder as users write it."""
    absolute = os.path.normpath(os.path.join(os.path.realpath(here), path))
    relative = os.path.relpath(absolute, os.path.realpath(here))
    return absolute if relative.startswith("..") else relative


def _is_below(path: str, folders: list[str]) -> bool:
    return any(path == folder or path.startswith(os.path.join(folder, "")) for folder in folders)


def _renamed(bank: Treebank, folder: str, root: str, here: str) -> Treebank:
    """Return functions with the names that the files of a temporary folder have in the repository."""
    if not bank.places:
        return bank
    return bank.with_places(
        bank.places.with_file_names(lambda name: _shown(os.path.join(root, os.path.relpath(name, folder)), here))
    )
