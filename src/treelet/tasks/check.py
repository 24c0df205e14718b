"""New and changed functions that resemble others of the same repository."""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from treelet.checks import check_integer, check_one_of, is_number, wrong
from treelet.errors import FileError, ParameterError
from treelet.formats.adapters import IDENTIFIERS
from treelet.formats.files import PathLike, SkipLog, unpacked_name, unreadable
from treelet.formats.languages import BY_SUFFIX, find_language
from treelet.formats.paths import Repository
from treelet.formats.places import Places
from treelet.kernels import StatementOverlap
from treelet.matrices.nearest import ROUNDING, nearest
from treelet.resources import Resources
from treelet.structures.treebank import Treebank
from treelet.tasks.clone_report import CloneFamily, CloneReport
from treelet.tasks.clones import Units
from treelet.tasks.code_cache import CodeCache

_INDEX = ""  # the files that are staged, as a revision: git shows one with ":name"
_RANGE = re.compile(r"(.*?)(\.\.\.?)(.*)", re.DOTALL)


def check_clones(
    *changes: PathLike,
    staged: bool = False,
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
    staged : bool, default False
        Check what is staged for the next commit, instead of the files as they are. Pass no changes then.
    paths : path or list, optional
        Files and folders to compare with. Of the changed files, only those in them are checked; files that are named in
        `changes` always are. Default: the repository of the current folder, or the current folder if it is not in a
        repository.
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
    with an equal tree. So comments, layout, moved functions and renamed files are not changes. Each former function stands for
    one function, first for the one with the same file and name, so a copy is new wherever it is. The former version of a
    changed function has the same name, in the same file or, if it is gone from there, in another changed file. A function is
    not compared with functions around or inside it, or with functions in other languages.
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
    known = [] if staged else [name for name in named if os.path.lexists(name)]
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
        for problem in log.files:
            if any(problem.startswith(f"{_shown(name, here)}:") for name in known):
                raise FileError(f"{problem.rstrip('.')}. This file cannot be checked.")
        own = [os.path.realpath(name) for name in known]
        new = np.array([_is_below(os.path.realpath(place.file), own) for place in every.places or ()], bool)
        old = every[:0]
        unit = Units.of(every, min_lines)
        return _report(unit, len(every), new, old, log, similarity, reading, begin, n_jobs)
    if repository is None or root is None:
        raise FileError(f"{here}: this folder is not in a repository of git. Name the files to check.")
    if len(named) > 1 or (staged and named):
        wanted = "no changes with staged=True" if staged else "one range of revisions or files that exist"
        raise ParameterError(f"Pass {wanted}. Got {', '.join(named)}.")
    first, last = _revisions(repository, named[0] if named else "HEAD")
    if staged:
        last = _INDEX
    if last is not None and _is_checked_out(repository, last):
        last = None
    inside = [os.path.relpath(os.path.realpath(folder), root) for folder in folders]
    for folder, below in zip(folders, inside, strict=True):
        if last is not None and below.split(os.sep)[0] == os.pardir:
            raise FileError(
                f"{folder}: not in the repository {root}, so it has no revisions. Name a folder of the repository."
            )
    suffixes = {suffix for name in _languages(reading) for suffix in find_language(name, "").suffixes} or BY_SUFFIX

    def is_source(name: str) -> bool:
        return unpacked_name(name).suffix.lower() in suffixes or name in inside

    changed = [name for name in _changed_files(repository, first, last) if is_source(name)]
    with (
        _files_of(repository, first, {*changed}.__contains__) as before,
        _files_of(repository, last, is_source) as after,
    ):
        present = [os.path.normpath(os.path.join(after, folder)) for folder in inside]
        for folder, path in zip(folders, present, strict=True):
            if not os.path.lexists(path) and not os.path.lexists(folder):
                raise unreadable(folder, FileNotFoundError())
        present = [path for path in present if os.path.lexists(path)]
        if not any(
            os.path.lexists(path) and _is_below(path, present)
            for path in (os.path.normpath(os.path.join(after, name)) for name in changed)
        ):  # nothing to check, and perhaps no source code at all
            none, zero = Treebank([]).with_places(Places.of_file("", [])), np.zeros(0, np.int64)
            unit = Units(none, zero, zero, zero)
            return _report(unit, 0, zero > 0, none, log, similarity, reading, begin, n_jobs)
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
    report = _report(unit, len(every), new, old, log, similarity, reading, begin, n_jobs)
    return replace(report, revision=last)


def _languages(reading: dict[str, Any]) -> list[str]:
    names = reading["language"]
    return [names] if isinstance(names, str) else list(names or ())


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
    gone = set[int]()  # former functions that are no longer there in the same form
    if len(old):
        both, start = unit.bank + old, len(unit.bank)
        key = [
            (root, place.name, place.file, at - start)
            for at, (root, place) in enumerate(zip(both.columns.roots.tolist(), both.places or (), strict=True))
        ]
        changed = [(at, key[at]) for at in np.flatnonzero(new).tolist()]
        changed, former = CloneReport._unmatched(changed, key[start:], (slice(3), slice(2), slice(1)))
        new = np.isin(np.arange(len(new)), [at for at, _ in changed])
        gone = {at for *_, at in former}
    families: list[CloneFamily] = []
    for language, rows in unit.by_language(reading["language"]).items():
        families += _pairs(unit.select(rows), new[rows], old, gone, similarity, language, n_jobs)
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
    unit: Units, new: Any, old: Treebank, gone: set[int], similarity: float, language: str, n_jobs: int | None
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
    former = _former(old, gone, unit.bank, queries)
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


def _former(old: Treebank, gone: set[int], bank: Treebank, new: Any) -> dict[tuple[str, str], int]:
    """Return the former version of functions, by file and name. That of a new one may be gone from another file."""
    former = {(place.file, place.name): at for at, place in enumerate(old.places or ())}
    now = [(place.file, place.name) for place in bank.places or ()]
    present = {*now}
    left = [key for key, at in former.items() if at in gone and key not in present]
    come = [now[at] for at in new.tolist() if now[at] not in former]
    lost, found = (Counter(name for _, name in keys) for keys in (left, come))
    moved = {name: former[file, name] for file, name in left if lost[name] == found[name] == 1}
    return former | {(file, name): moved[name] for file, name in come if name in moved}


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
    commits: list[str | None] = []
    for name in names:
        if name is None:
            commits.append(None)
            continue
        try:
            commit = repository.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
            commits.append(commit.decode().strip())
        except FileError as error:
            if str(error):  # git does not trust the owner of the folder, for example
                raise FileError(f"{repository.folder}: git cannot read the repository ({error}).") from None
            if name == "HEAD" and match is None:  # a repository without a commit
                empty = repository.git("hash-object", "-t", "tree", "--stdin", data=b"")
                return empty.decode().strip(), None
            shown = name or "an empty name"
            raise FileError(f"{shown}: neither a file nor a revision of the repository {repository.folder}.") from None
    if match is not None and match[2] == "...":
        try:
            commits[0] = repository.git("merge-base", str(commits[0]), str(commits[1])).decode().strip()
        except FileError:
            raise FileError(
                f"{text}: the two revisions have no common commit in this repository. Fetch more of its history, or use "
                f"two dots: {match[1] or 'HEAD'}..{match[3] or 'HEAD'}."
            ) from None
    return str(commits[0]), commits[1]


def _is_checked_out(repository: Repository, revision: str) -> bool:
    """Return whether the files are those of a commit, or those that are staged."""
    entries = repository.git("status", "--porcelain", "-z", "--no-renames").split(b"\0")
    if revision == _INDEX:
        return all(entry[1:2] == b" " for entry in entries if entry)
    return not any(entries) and repository.git("rev-parse", "HEAD").decode().strip() == revision


def _changed_files(repository: Repository, first: str, last: str | None) -> list[str]:
    """Return the names of the files that differ, below the root, with untracked files if the last state is that of the files."""
    sides = [first] if last is None else ["--cached", first] if last == _INDEX else [first, last]
    listed = repository.git("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", *sides)
    if last is None:
        listed += repository.git("ls-files", "-z", "--others", "--exclude-standard")
    return sorted({os.fsdecode(name) for name in listed.split(b"\0") if name})


@contextmanager
def _files_of(repository: Repository, revision: str | None, wanted: Callable[[str], bool]) -> Iterator[str]:
    """Yield a folder with those files of a revision that are wanted. Without a revision, it is the repository.

    The files are written as git stores them: attributes of the repository do not leave out or change any.
    """
    if revision is None:
        yield repository.folder
        return
    if revision == _INDEX:
        listed, column = repository.git("ls-files", "-s", "-z"), 1
    else:
        listed, column = repository.git("ls-tree", "-r", "-z", "--full-tree", revision), 2
    files = []
    for entry in listed.split(b"\0"):
        facts, _, path = entry.partition(b"\t")
        if facts.startswith(b"100") and wanted(name := os.fsdecode(path)):  # no link, and no other repository
            files.append((name, facts.split()[column]))
    folder = os.path.realpath(tempfile.mkdtemp(prefix="treelet-"))
    try:
        for begin in range(0, len(files), 500):
            some = files[begin : begin + 500]
            stream = io.BytesIO(repository.git("cat-file", "--batch", data=b"".join(key + b"\n" for _, key in some)))
            for name, _ in some:
                facts = stream.readline()
                if facts.endswith(b" missing\n"):
                    raise FileError(
                        f"{name}: git does not have this file of {revision or 'the index'}. Fetch it first."
                    )
                content = stream.read(int(facts.split()[2]) + 1)[:-1]
                target = os.path.normpath(os.path.join(folder, name))
                if _is_below(target, [folder]):  # a hostile name may contain ".."
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    with open(target, "xb") as file:
                        file.write(content)
        yield folder
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
