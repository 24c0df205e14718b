"""Similar functions in source code, in families."""

from __future__ import annotations

import os
import time
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treelet.checks import check_integer, check_one_of, is_number, plural, wrong
from treelet.corpora.families import LISTED, MedoidGroup, SimilarPairs, warn_of_skipped
from treelet.edits import EditDistance
from treelet.edits.distance import tree_sizes
from treelet.errors import ParameterError, TreeletWarning
from treelet.formats.code import read_code_document
from treelet.formats.files import SkipLog, unpacked_name
from treelet.formats.languages import BY_SUFFIX
from treelet.formats.node_adapters import IDENTIFIERS
from treelet.formats.paths import File
from treelet.formats.places import Places, SourcePlace
from treelet.gram.best import ROUNDING
from treelet.kernels.pairwise import Vector
from treelet.printable import printable
from treelet.resources import Resources
from treelet.structures.treebank import Treebank, bank_of
from treelet.tasks.clone_report import CloneFamily, CloneMember, CloneReport, LineDifference
from treelet.vocabulary import keyword

__all__ = ["CloneFamily", "CloneMember", "CloneReport", "LineDifference", "find_clones"]

Numbers = NDArray[np.int64]


def find_clones(
    *paths: File | Sequence[File],
    similarity: float = 0.8,
    min_lines: int = 10,
    min_nodes: int = 60,
    max_nodes: int = 10_000,
    languages: str | Collection[str] | None = None,
    identifiers: str = "anonymous",
    against: File | Sequence[File] | None = None,
    exclude: str | Collection[str] = (),
    encoding: str = "utf-8",
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    progress: bool = False,
) -> CloneReport:
    r"""Find families of similar functions in source code.

    The search is exact: every pair of functions that reaches the similarity is found. Functions in different languages
    are not compared. Functions with syntax errors are skipped and counted.

    Parameters
    ----------
    *paths : path or open file
        Files, folders and patterns, as for `treelet.read_code`.
    similarity : float, default 0.8
        Smallest edit similarity of a function and the medoid of its family, in (0, 1]. 1 finds functions that differ
        only in layout, comments and, by default, the names of variables.
    min_lines, min_nodes : int, default 10 and 60
        A function is compared if it has at least `min_lines` lines of code, or at least `min_nodes` nodes. Comments,
        blank lines and Python's docstrings do not count.
    max_nodes : int, default 10,000
        Larger functions, which are usually generated or bundled, are skipped with a warning. Functions inside them are
        compared. Time and memory of a comparison grow with the product of the numbers of nodes.
    languages : str or list of str, optional
        Languages to read, such as ``"python"``. Default: all.
    identifiers : {"anonymous", "keep"}, default "anonymous"
        ``"anonymous"`` ignores the names of parameters and local variables, as in `treelet.read_code`.
    against : path, open file or list, optional
        Compare the functions of `paths` with those of these files only, for example submitted programs with a
        collection of known ones. An index that ``treelet index create --code`` has written is read faster than the
        files themselves. Files that are also in `paths` are ignored here. Each family then contains functions
        of both sides. Its medoid and the copies of the medoid are from one side, all other members from the other.
    exclude : str or list of str, default ()
        Patterns of files and folders to leave out, such as ``"tests"`` or ``"*.min.js"``.
    encoding : str, default "utf-8"
        Encoding of the files. A Python file may declare another one.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core.
    memory : int or str, optional
        Memory limit of the comparison, besides the functions. Default: 1 GiB. Three quarters of it are for the tables
        of edit distances. Pairs that need more are skipped with a warning; two functions of n nodes need 8 n² bytes.
    progress : bool, default False
        Show progress on standard error.

    Returns
    -------
    CloneReport
        The families, in descending order of the lines that could be saved.

    Notes
    -----
    The families are those of `treelet.families`. Nested functions need three further rules:

    - A function that is similar to the function directly around it, such as the inner function of a decorator, is left
      out; the outer one stands for both. If the two are too large for `memory`, the inner one is left out if its share
      of the nodes reaches the similarity.
    - If a family contains a function and another one inside it, the inner one is removed from the family.
    - A family is left out if its functions lie one by one inside the functions of another family.

    Examples
    --------
    >>> import io
    >>> from treelet.tasks import find_clones
    >>> first = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n"
    >>> second = "def average(xs):\n    s = sum(xs)\n    print(s)\n    return s / len(xs)\n"
    >>> files = [io.StringIO(first), io.StringIO(second)]
    >>> report = find_clones(files, languages="python", similarity=0.7, min_lines=3)
    >>> report
    <CloneReport: 1 family among 2 functions, 4 lines>
    >>> [str(member) for member in report.families[0].members]
    ['<stream>:1 mean', '<stream>:1 average']
    >>> report.families[0].differences(1)
    [LineDifference(kind='inserted', medoid_lines=None, member_lines=(3, 3))]
    """
    begin = time.monotonic()
    if not is_number(similarity, 0, 1) or similarity == 0:
        raise wrong("similarity", "a number in (0, 1]", similarity, of="find_clones")
    check_integer("min_lines", min_lines, of="find_clones")
    check_integer("min_nodes", min_nodes, of="find_clones")
    check_integer("max_nodes", max_nodes, of="find_clones")
    check_one_of("identifiers", identifiers, IDENTIFIERS, of="find_clones")
    if isinstance(languages, set | frozenset | tuple):
        languages = sorted(languages)
    if against is not None and not _listed([against]):
        raise wrong("against", "a path, an open file or a list of them", against, of="find_clones", optional=True)
    limit = Resources.of(n_jobs, memory, progress=progress, owner="find_clones").memory
    logs = [SkipLog(), SkipLog()]
    reading: dict[str, Any] = {
        "language": languages,
        "identifiers": identifiers,
        "exclude": exclude,
        "encoding": encoding,
        "progress": progress,
    }
    sides = [bank_of(read_code_document(_listed(paths), **reading, log=logs[0]))]
    if against is not None:
        other = _known_functions(_listed([against]), reading, logs[1])
        real = cache(os.path.realpath)  # many functions are in the same file
        known = {real(place.file) for place in sides[0].places or ()}
        apart = [at for at, place in enumerate(other.places or ()) if real(place.file) not in known]
        if not apart and len(other):
            warnings.warn(
                "All files to compare with are also among the files that are searched, so there is nothing to compare. "
                "Name other files.",
                TreeletWarning,
                stacklevel=2,
            )
        sides.append(other[apart])
    read = sum(map(len, sides))
    units = [_Units.of(bank, min_lines, min_nodes) for bank in sides]
    long = sum(len(unit.bank) for unit in units)
    units = [unit.up_to(max_nodes) for unit in units]
    by_language = [_by_language(unit.bank.places, languages) for unit in units]
    options: dict[str, Any] = {"n_jobs": n_jobs, "memory": memory, "progress": progress}
    families = []
    for language in sorted({name for groups in by_language for name in groups}):
        some = [unit.select(groups[language]) for unit, groups in zip(units, by_language, strict=True)]
        families += _families(some, similarity, language, limit, options)
    functions = sum(len(unit.bank) for unit in units)
    return CloneReport(
        families=sorted(families, key=lambda family: (-family.saved_lines, family.members)),
        files=sum(log.files_read for log in logs),
        functions=functions,
        lines=sum(int(unit.lines[unit.outer < 0].sum()) for unit in units),
        short_functions=read - long,
        large_functions=long - functions,
        skipped_files=sum(len(log.files) for log in logs),
        skipped_functions=sum(log.left_out for log in logs),
        seconds=time.monotonic() - begin,
        options={
            "similarity": similarity,
            "min_lines": min_lines,
            "min_nodes": min_nodes,
            "max_nodes": max_nodes,
            "identifiers": identifiers,
            "against": against is not None,
        },
    )


def _listed(paths: Sequence[Any]) -> list[File]:
    return [file for path in paths for file in (path if isinstance(path, list | tuple) else [path])]


def _known_functions(files: list[File], reading: dict[str, Any], log: SkipLog) -> Treebank:
    """Return the functions of files and of indexes of source code."""
    from treelet.learn.index_files import MANIFEST  # scikit-learn is needed only for indexes
    from treelet.learn.persist import load

    indexes = [file for file in files if isinstance(file, str | os.PathLike) and (Path(file) / MANIFEST).is_file()]
    others = [file for file in files if file not in indexes]
    banks = [bank_of(read_code_document(others, **reading, log=log))] if others else []
    for file in indexes:
        search = load(cast("str", file), mode="r")
        if not (search._settings or {}).get("code"):
            raise ParameterError(
                f"{file}: the index does not contain source code. Create it with treelet index create --code."
            )
        if reading["identifiers"] != "anonymous":
            raise ParameterError(
                f"{file}: an index contains no names of variables. Use identifiers='anonymous', or the files."
            )
        banks.append(_from_here(search.X_fit_, search._settings.get("folder", os.getcwd())))
    return Treebank.concat(banks)


def _from_here(bank: Treebank, folder: str) -> Treebank:
    """Return the functions of an index with names of files that are valid in the current folder.

    In the index, names are relative to the folder in which it was created.
    """
    here = os.getcwd()
    if bank.places is None or folder == here:
        return bank
    return bank.with_places(bank.places.with_file_names(lambda file: os.path.relpath(os.path.join(folder, file), here)))


class _Units(NamedTuple):
    """Functions to compare, with their lines of code and the index of the function around each, or -1."""

    bank: Treebank
    lines: Numbers
    outer: Numbers

    @classmethod
    def of(cls, bank: Treebank, min_lines: int, min_nodes: int) -> _Units:
        """Return the functions of a bank that are long enough."""
        places = _places(bank)
        size = np.array([len(_node_lines(places, at)) for at in range(len(bank))], np.int64)
        lines = np.asarray(places.code_lines(), np.int64)
        kept = np.flatnonzero((lines >= min_lines) | (size >= min_nodes))
        bank = bank[kept]
        return cls(bank, lines[kept], _outer(_places(bank)))

    def up_to(self, max_nodes: int) -> _Units:
        """Return the functions without those that have more nodes. Warn about these."""
        sizes = tree_sizes(self.bank)[0]
        large = np.flatnonzero(sizes > max_nodes).tolist()
        if not large:
            return self
        places = _places(self.bank)
        listed = ", ".join(f"{places[at]} ({sizes[at]:,.0f})" for at in large[:LISTED])
        more = f" and {len(large) - LISTED:,} more" if len(large) > LISTED else ""
        warnings.warn(
            f"Skipped {plural(len(large), 'function')} with more than {max_nodes:,} nodes: {printable(listed)}{more}. "
            f"Increase {keyword('max_nodes')} to compare them, or exclude generated files.",
            TreeletWarning,
            stacklevel=3,
        )
        return self.select(np.flatnonzero(sizes <= max_nodes).tolist())

    def select(self, rows: list[int]) -> _Units:
        """Return some functions, all of the same files."""
        bank = self.bank[rows]
        return _Units(bank, self.lines[rows], _outer(_places(bank)))


def _places(bank: Treebank) -> Places:
    assert bank.places is not None  # source code has places
    return bank.places


def _node_lines(places: Places, at: int) -> NDArray[Any]:
    lines = places.node_lines(at)
    assert lines is not None
    return lines


def _outer(places: Places) -> Numbers:
    """Return the index of the innermost function around each function, or -1. Outer functions come first."""
    outer = np.full(len(places), -1, np.int64)
    around: list[tuple[int, SourcePlace]] = []
    for at, place in enumerate(places):
        while around and not _contains(around[-1][1], place):
            around.pop()
        if around:
            outer[at] = around[-1][0]
        around.append((at, place))
    return outer


def _contains(outer: SourcePlace, inner: SourcePlace) -> bool:
    # Lines do not tell nested functions from neighbors on one line, but names do.
    in_lines = outer.line <= inner.line and (inner.end_line or inner.line) <= (outer.end_line or outer.line)
    # The name of a deeply nested function is cut, so that it may equal the name of the function around it.
    in_name = inner.name.startswith(f"{outer.name}.") or (outer.name.endswith("…") and inner.name == outer.name)
    return outer.file == inner.file and in_lines and in_name


def _by_language(places: Places | None, languages: str | Collection[str] | None) -> defaultdict[str, list[int]]:
    """Return the indices of the functions in each language."""
    named = (
        languages
        if isinstance(languages, str)
        else next(iter(languages))
        if languages and len(languages) == 1
        else None
    )
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for at, place in enumerate(places or ()):
        rows[named or BY_SUFFIX[unpacked_name(place.file).suffix.lower()].name].append(at)
    return rows


def _families(
    sides: list[_Units], similarity: float, language: str, memory: int, options: dict[str, Any]
) -> list[CloneFamily]:
    """Return the families of the functions in one language."""
    banks = [unit.bank for unit in sides]
    other = banks[1] if len(banks) > 1 else None
    sizes = np.concatenate([tree_sizes(bank)[0] for bank in banks])
    apart = [
        (at, around) for at in range(len(banks[0])) for around in _farther_around(at, sides[0].outer, sizes, similarity)
    ]
    pairs = SimilarPairs(EditDistance().similarity(), banks[0], other, similarity, apart, **options)
    shift = len(banks[0])
    outer = np.concatenate([unit.outer + (unit.outer >= 0) * shift * n for n, unit in enumerate(sides)])
    lines = np.concatenate([unit.lines for unit in sides])
    whole = banks[0] if other is None else banks[0] + other
    places = _places(whole)
    # A function and another one inside it would not be reported together.
    skipped = [
        (one, two) for one, two in pairs.skipped if one not in _around(two, outer) and two not in _around(one, outer)
    ]
    warn_of_skipped([[str(places[at]) for at in pair] for pair in skipped])
    nested = [
        at
        for at in np.flatnonzero(outer >= 0).tolist()
        if _resembles_outer(at, int(outer[at]), sizes, pairs, similarity)
    ]
    groups = [_outermost(group, outer) for group in pairs.groups(nested)]
    if other is not None:
        groups = [group for group in groups if 0 < np.count_nonzero(group.members < shift) < len(group.members)]
    groups = _without_nested([group for group in groups if len(group.members) > 1], outer)
    families = []
    for medoid, members, values in groups:
        listed = [
            CloneMember(place.file, place.line, place.end_line or place.line, place.name, float(value), int(lines[at]))
            for at, value in zip(members.tolist(), values.tolist(), strict=True)
            for place in [places[at]]
        ]
        families.append(CloneFamily(listed, int(np.searchsorted(members, medoid)), language, whole[members], memory))
    return families


def _around(at: int, outer: Numbers) -> Iterator[int]:
    """Yield the functions around a function, from the inside."""
    while (at := int(outer[at])) >= 0:
        yield at


def _farther_around(at: int, outer: Numbers, sizes: Vector, similarity: float) -> Iterator[int]:
    """Yield the functions around a function, without the innermost one, that are small enough to be similar to it."""
    for around in islice(_around(at, outer), 1, None):
        if sizes[at] < (similarity - ROUNDING) * sizes[around]:
            return  # all others are even larger
        yield around


def _resembles_outer(at: int, around: int, sizes: Vector, pairs: SimilarPairs, similarity: float) -> bool:
    """Return whether a function is similar to the function around it."""
    if pairs.was_skipped(at, around):  # the two differ at least by the nodes outside the inner one
        return bool(sizes[at] >= (similarity - ROUNDING) * sizes[around])
    return pairs.are_similar(at, around)


def _outermost(group: MedoidGroup, outer: Numbers) -> MedoidGroup:
    """Return the group without functions that are inside another member. The medoid is never inside one of them."""
    members = set(group.members.tolist())
    kept = np.array([members.isdisjoint(_around(at, outer)) for at in group.members.tolist()])
    return MedoidGroup(group.medoid, group.members[kept], group.values[kept])


def _without_nested(groups: list[MedoidGroup], outer: Numbers) -> list[MedoidGroup]:
    """Return the groups without those whose members lie one by one inside the members of another group."""
    group_of = {int(at): number for number, group in enumerate(groups) for at in group.members}
    kept = []
    for group in groups:
        around: defaultdict[int, set[int]] = defaultdict(set)
        for at in group.members.tolist():
            for one in _around(at, outer):
                if one in group_of:
                    around[group_of[one]].add(one)
        # As many functions around as members: no two members are inside the same function.
        if not any(len(functions) >= len(group.members) for functions in around.values()):
            kept.append(group)
    return kept
