"""The result of `find_clones` and `check_clones`: families of similar functions, and in which lines they differ."""

from __future__ import annotations

import hashlib
import json
import os
import re
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

import treelet
from treelet import _core
from treelet.checks import plural
from treelet.errors import FileError, FormatError
from treelet.formats.files import PathLike, unreadable
from treelet.kernels import StatementOverlap
from treelet.structures.treebank import Treebank

_FORMAT = "treelet-clones-3"
"""Version of the JSON form. Fingerprints of other versions cannot be compared."""

Lines = tuple[int, int]
"""First and last line."""
_Group = tuple[int, NDArray[np.int64], NDArray[np.float64]]
"""The medoid, the members, and the value of each member with the medoid."""
_Key = tuple[Any, ...]
_Row = tuple[Any, _Key]


class CloneMember(NamedTuple):
    """A function of a family.

    Attributes
    ----------
    file : str
        Name of the file as it was read.
    line, end_line : int
        First and last line, counted from 1.
    name : str
        Qualified name, such as ``"Stack.push"``.
    similarity : float
        Similarity with the medoid, as `treelet.StatementOverlap` computes it; 1 for the medoid itself.
    lines : int
        Number of lines of code: without comments, blank lines and, in Python, docstrings.
    statements, shared_statements : int
        Number of statements, and of those that the medoid has in common.
    similar_statements : int
        Number of further statements that the medoid has in common except for names and literals.
    """

    file: str
    line: int
    end_line: int
    name: str
    similarity: float
    lines: int
    statements: int
    shared_statements: int
    similar_statements: int

    @property
    def common_statements(self) -> str:
        """How many statements the medoid has in common, as text."""
        text = f"{self.shared_statements:,} of {self.statements:,} statements are the same"
        return text + (
            f", {self.similar_statements:,} more except for names or literals" if self.similar_statements else ""
        )

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.name}"


class LineDifference(NamedTuple):
    """Lines in which a member differs from the medoid.

    Attributes
    ----------
    kind : {"changed", "inserted", "deleted", "moved", "variables"}
        How the lines of the medoid become those of the member. The first three are lines of statements that only one of
        them has. ``"moved"`` is a common statement in another place, and ``"variables"`` one that uses other variables
        than a consistent renaming would give.
    medoid_lines, member_lines : (int, int) or None
        First and last line in both files. None for the medoid if lines are inserted, and for the member if they are
        deleted.
    """

    kind: str
    medoid_lines: Lines | None
    member_lines: Lines | None


@dataclass(frozen=True, repr=False)
class CloneFamily:
    """Similar functions: all of them reach the similarity with the medoid.

    Attributes
    ----------
    members : list of CloneMember
        The functions, in the order of files and lines.
    medoid : int
        Index of the medoid in `members`.
    language : str
        Language of the functions.
    new_members : list of int
        Indices of the members that are new, in a result of `CloneReport.new_since`. Empty without a baseline.
    """

    members: list[CloneMember]
    medoid: int
    language: str
    _bodies: _Bodies = field(compare=False)
    new_members: list[int] = field(default_factory=list)

    @classmethod
    def _of_groups(
        cls, groups: list[_Group], bank: Treebank, lines: NDArray[np.int64], language: str
    ) -> list[CloneFamily]:
        """Return families of functions of a bank, whose lines of code are counted."""
        if not groups:
            return []
        assert bank.places is not None  # source code has places
        rows = np.concatenate([some for _, some, _ in groups])
        bodies, families, end = _Bodies(bank[rows], range(len(rows))), [], 0
        for medoid, some, values in groups:
            here = bodies[end : end + len(some)]
            end += len(some)
            index, sizes = some.tolist().index(medoid), here.sizes()
            members = [
                CloneMember(
                    *(place.file, place.line, place.end_line or place.line, place.name, float(value)),
                    *(int(lines[at]), size, *here.common(index, number)),
                )
                for number, (at, value, size) in enumerate(zip(some.tolist(), values.tolist(), sizes, strict=True))
                for place in [bank.places[at]]
            ]
            families.append(cls(members, index, language, here))
        return families

    @property
    def similarity(self) -> tuple[float, float]:
        """Lowest and highest similarity between the medoid and another member."""
        values = [member.similarity for at, member in enumerate(self.members) if at != self.medoid]
        return min(values), max(values)

    @property
    def similarity_range(self) -> str:
        """The lowest and the highest similarity as text, such as ``"0.81 to 0.90"``, or one number if they are equal."""
        low, high = (f"{value:.2f}" for value in self.similarity)
        return low if low == high else f"{low} to {high}"

    @cached_property
    def saved_lines(self) -> int:
        """Lines of code that one common function could save.

        Each member but the medoid counts with its lines in common with the medoid: the lines of common statements
        without those of other statements. If all statements are common, all lines of code are.
        """
        medoid, saved = self.members[self.medoid], 0
        for at, member in enumerate(self.members):
            if at != self.medoid:
                lines = [len(some) for some in self._pair(at).shared_lines()]
                whole = member.shared_statements == member.statements == medoid.statements
                saved += min(member.lines, medoid.lines) if whole else min(lines)
        return saved

    @cached_property
    def fingerprints(self) -> list[str]:
        """Fingerprint of each member. Members have equal fingerprints if their trees are equal."""
        store, roots = self._bodies.trees.columns
        texts = {root: f"{self.language} {_core.in_brackets(store, root)}".encode() for root in {*roots.tolist()}}
        digests = {root: hashlib.sha256(text).hexdigest()[:32] for root, text in texts.items()}
        return [digests[root] for root in roots.tolist()]

    def _pair(self, member: int) -> _Pair:
        return _Pair(self._bodies[self.medoid], self._bodies[member])

    def shared_lines(self, member: int) -> list[Lines]:
        """Return the lines of a member, given by its index, whose statements are all in common with the medoid."""
        return _ranges(sorted(self._pair(member).shared_lines()[1]))

    def differences(self, member: int) -> list[LineDifference]:
        """Return the lines in which a member, given by its index, differs from the medoid.

        Lines differ if their statements are not in common. Consistently renamed variables are not a difference.
        """
        return self._pair(member).differences()

    def reason(self, member: int) -> str:
        """Return how many statements of a member are those of the medoid, and which lines differ; empty if none do."""
        differences = self.differences(member)
        own = self.members[member]
        return _reason_text(own, differences) if differences else ""

    def _lines(self, member: int) -> dict[str, Any]:
        """Return the lines that a member shares with the medoid and the others, for JSON."""
        if member == self.medoid:
            return {}
        pair = self._pair(member)
        differences = [
            {name: list(value) if isinstance(value, tuple) else value for name, value in difference._asdict().items()}
            for difference in pair.differences()
        ]
        shared = [list(lines) for lines in _ranges(sorted(pair.shared_lines()[1]))]
        return {"shared_lines": shared, "differences": differences}

    def __repr__(self) -> str:
        return f"<CloneFamily: {len(self.members):,} functions, similarity {self.similarity_range}>"


@dataclass(frozen=True, repr=False)
class CloneReport:
    """The result of `find_clones`.

    Attributes
    ----------
    families : list of CloneFamily
        Families of similar functions, in descending order of their ``saved_lines``.
    files, functions, lines : int
        Numbers of files that were read, of functions that were compared, and of their lines of code. The lines of a
        nested function are counted once.
    short_functions, silenced_functions : int
        Numbers of functions that are too short to be compared, without those inside them, and of functions with a comment that
        leaves them out.
    vendored_files : int
        Number of vendored and minified files that were left out.
    skipped_files, skipped_functions : int
        Numbers of files that could not be read, and of functions with syntax errors in files that could.
    seconds : float
        Duration of reading and comparing.
    options : dict
        Options of `find_clones` that determine the result.
    changed_functions : int or None
        Number of new and changed functions, in a result of `check_clones`.
    revision : str or None
        The commit whose files were read by `check_clones`, or an empty string for the files that are staged. None if the
        files are read as they are.
    """

    families: list[CloneFamily]
    files: int
    functions: int
    lines: int
    short_functions: int
    silenced_functions: int
    vendored_files: int
    skipped_files: int
    skipped_functions: int
    seconds: float
    options: dict[str, Any]
    changed_functions: int | None = None
    revision: str | None = None

    @property
    def saved_lines(self) -> int:
        """Sum of the ``saved_lines`` of all families."""
        return sum(family.saved_lines for family in self.families)

    def __repr__(self) -> str:
        families = plural(len(self.families), "family")
        return f"<CloneReport: {families} among {plural(self.functions, 'function')}, {self.saved_lines:,} lines>"

    def new_since(self, baseline: PathLike) -> CloneReport:
        """Return the report with only the families that are new since an earlier report.

        A family is new if it has a function that is not in the families of the baseline. A function is known by its
        content, wherever it is now, or by its file and qualified name, whatever it contains now. So a function may
        move, or be changed in its place. Each function of the baseline stands for one function, so a further copy is
        new.

        Parameters
        ----------
        baseline : path
            File with the output of `as_json` (``treelet clones --json``), written with the same options.

        Raises
        ------
        FileError
            If the baseline was written with other options, or cannot be read.
        """
        known = _known_members(baseline, self.options)
        unknown: list[_Row] = [
            ((number, at), (fingerprint, member.file, member.name))
            for number, family in enumerate(self.families)
            for at, (member, fingerprint) in enumerate(zip(family.members, family.fingerprints, strict=True))
        ]
        # Unchanged functions are matched first, then those that were moved, then those that were changed.
        new = defaultdict(list)
        parts = slice(None), slice(1), slice(1, None)
        for (number, at), _ in self._unmatched(unknown, known, parts)[0]:
            new[number].append(at)
        families = [replace(self.families[number], new_members=members) for number, members in new.items()]
        return replace(self, families=families)

    @staticmethod
    def _unmatched(rows: list[_Row], known: list[_Key], parts: Sequence[slice]) -> tuple[list[_Row], list[_Key]]:
        """Return the rows, with their keys, and the known keys that do not match. Each known key stands for one row.

        Keys match if they have a part in common: the first part is compared for all rows, then the next one.
        """
        for part in parts:
            left = defaultdict(list)
            for key in known:
                left[key[part]].append(key)
            rows = [row for row in rows if not (left[row[1][part]] and left[row[1][part]].pop())]
            known = [key for keys in left.values() for key in keys]
        return rows, known

    def as_json(self) -> dict[str, Any]:
        """Return the report as a dict of plain values, for `json.dumps`."""
        counts = (
            "files",
            "functions",
            "lines",
            "short_functions",
            "silenced_functions",
            "vendored_files",
            "skipped_files",
            "skipped_functions",
        )
        return {
            "format": _FORMAT,
            "options": self.options,
            **{name: getattr(self, name) for name in counts},
            **({} if self.changed_functions is None else {"changed_functions": self.changed_functions}),
            "seconds": round(self.seconds, 3),
            "saved_lines": self.saved_lines,
            "families": [
                {
                    "language": family.language,
                    "similarity": list(family.similarity),
                    "saved_lines": family.saved_lines,
                    "medoid": family.medoid,
                    "new_members": family.new_members,
                    "members": [
                        {**member._asdict(), "fingerprint": fingerprint, **family._lines(at)}
                        for at, (member, fingerprint) in enumerate(
                            zip(family.members, family.fingerprints, strict=True)
                        )
                    ],
                }
                for family in self.families
            ],
        }

    def as_sarif(self) -> dict[str, Any]:
        """Return the report in SARIF 2.1.0, as a dict of plain values.

        Each family is a result. Its location is the new or changed function in a result of `check_clones`, the first new
        member in a result of `new_since`, otherwise the medoid. Its related locations are the other members.
        """
        rule = {
            "id": "similar-functions",
            "name": "SimilarFunctions",
            "shortDescription": {"text": "Functions that have most statements in common."},
            "fullDescription": {
                "text": "These functions have most of their statements in common. One common function could replace them."
            },
            "defaultConfiguration": {"level": "note"},
        }
        driver = {
            "name": "treelet",
            "semanticVersion": treelet.__version__,
            "informationUri": "https://treelet.readthedocs.io",
            "rules": [rule],
        }
        results = []
        for family in self.families:
            first = family.new_members[0] if family.new_members else family.medoid
            known = self.changed_functions is not None and not family.new_members
            if known:
                first = 1 - family.medoid  # the changed function
            # Names without characters that begin a link in the messages of SARIF.
            names = [re.sub(r"([\\\[\]])", r"\\\1", member.name) for member in family.members]
            name = names.pop(first)
            similar, listed = plural(len(names), "similar function"), enumerate(names, 1)
            links = ", ".join(f"[{other}]({number})" for number, other in listed)
            text = f"{name} has {similar} (similarity {family.similarity_range}): {links}."
            reasons = [family.reason(at) for at in range(len(family.members))]
            if own := reasons.pop(first):
                text += f" {own[:1].upper()}{own[1:]}."
            if known:
                text += " They were similar before this change."
            locations = [_location(member) for member in family.members]
            location = locations.pop(first)
            for other, reason in zip(locations, reasons, strict=True):
                if reason:
                    other["message"] = {"text": reason}
            identity = hashlib.sha256("".join(sorted(family.fingerprints)).encode()).hexdigest()[:32]
            results.append(
                {
                    "ruleId": rule["id"],
                    "ruleIndex": 0,
                    "level": "note" if self.changed_functions is None or known else "warning",
                    "message": {"text": text},
                    "locations": [location],
                    "relatedLocations": [{"id": number, **other} for number, other in enumerate(locations, 1)],
                    "partialFingerprints": {"members/v1": identity},
                    "properties": {"similarity": list(family.similarity), "savedLines": family.saved_lines},
                }
            )
        run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _known_members(baseline: PathLike, options: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the fingerprint, the file and the name of each member in a baseline, which must have the same options."""
    name = os.fspath(baseline)
    try:
        content = json.loads(Path(name).read_bytes())  # UTF-8 or UTF-16, with or without a byte order mark
    except OSError as error:
        raise unreadable(name, error) from error
    except (ValueError, RecursionError):
        content = None
    remedy = "Write a baseline with treelet clones --json."
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise FormatError(f"the file is not a report of this version of treelet clones. {remedy}", str(name))
    try:
        others = {option: content["options"][option] for option in options}
        members = [
            tuple(str(member[key]) for key in ("fingerprint", "file", "name"))
            for family in content["families"]
            for member in family["members"]
        ]
    except (KeyError, TypeError):
        raise FormatError(f"the report is damaged. {remedy}", str(name)) from None
    if different := [option for option, value in options.items() if others[option] != value]:
        then, now = (", ".join(f"{option}={of[option]!r}" for option in different) for of in (others, options))
        raise FileError(
            f"{name}: the baseline was written with {then}, but the options are now {now}. Use the options of the "
            "baseline, or write the baseline again with treelet clones --json."
        )
    return members


def _location(member: CloneMember) -> dict[str, Any]:
    path = Path(member.file)
    uri = path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": member.line, "endLine": member.end_line},
        },
        "logicalLocations": [{"fullyQualifiedName": member.name, "kind": "function"}],
    }


# --- differences ------------------------------------------------------------------------------------------------------


class _Body(NamedTuple):
    """The statements of a function: their numbers, and for each node of each its line and its variable, or -1."""

    numbers: list[int]
    lines: list[list[int]]
    variables: list[list[int]]


class _Bodies(Sequence[_Body]):
    """The statements of functions, which are found once for all of them."""

    def __init__(self, trees: Treebank, rows: range, located: Any = None) -> None:
        self._all, self._rows = trees, rows
        self._located = StatementOverlap().statements(trees) if located is None else located

    @property
    def trees(self) -> Treebank:
        return self._all[self._rows.start : self._rows.stop]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _Bodies(self._all, self._rows[index], self._located)
        row = self._rows[index]
        assert self._all.places is not None  # functions were read from files
        lines, statements = self._all.places.node_lines(row), self._located[row]
        assert lines is not None
        return _Body(
            [statement.number for statement in statements],
            [lines[statement.nodes].tolist() for statement in statements],
            [statement.variables.tolist() for statement in statements],
        )

    def sizes(self) -> list[int]:
        """Return the number of statements of each function."""
        return list(self._located.sizes[self._rows.start : self._rows.stop].tolist())

    def common(self, first: int, second: int) -> tuple[int, int]:
        """Return how many statements two functions have in common, and how many more except for names and literals."""
        same, alike = self._located.common(self._rows[first], self._rows[second])
        return same, alike


_REPEATED = 4096
"""Largest number of pairs of equal statements among which the best order is searched."""


class _Pair:
    """The medoid and a member, and which of their statements correspond."""

    def __init__(self, medoid: _Body, member: _Body) -> None:
        self._sides = medoid, member
        self._kept, self._moved = _common(medoid.numbers, member.numbers)

    def _changed(self) -> list[set[int]]:
        """Return the lines of the statements of each side that are not in common."""
        common = [{pair[side] for pair in (*self._kept, *self._moved)} for side in (0, 1)]
        return [
            {line for at, lines in enumerate(body.lines) if at not in known for line in lines}
            for body, known in zip(self._sides, common, strict=True)
        ]

    def shared_lines(self) -> list[set[int]]:
        """Return the lines of each side that belong to common statements only."""
        pairs, changed = (*self._kept, *self._moved), self._changed()
        return [
            {line for pair in pairs for line in self._sides[side].lines[pair[side]]} - changed[side] for side in (0, 1)
        ]

    def differences(self) -> list[LineDifference]:
        """Return the lines that differ, in ranges which are separated by lines that both functions have."""
        changes_here, changes_there = self._changed()
        medoid, member = self._sides
        forth: defaultdict[int, set[int]] = defaultdict(set)
        for at, other in self._kept:
            for source, target in zip(medoid.lines[at], member.lines[other], strict=True):
                forth[source].add(target)
        # A line of which only a part is new corresponds to a line of the other function, which is changed too.
        pairs = [(line, other) for line, others in forth.items() for other in others]
        changed = sorted(changes_here | {line for line, other in pairs if other in changes_there})
        other_changed = sorted(changes_there | {other for line, other in pairs if line in changes_here})
        here, there = {*changed}, {*other_changed}
        unchanged = {line: max(others) for line, others in forth.items() if not others & there}
        common = _increasing([(line, other) for line, other in sorted(unchanged.items()) if line not in here])
        differences = []
        last = (1 << 62, 1 << 62)
        for (begin, other_begin), (end, other_end) in zip([(0, 0), *common], [*common, last], strict=True):
            own = [line for line in changed if begin < line < end]
            others = [line for line in other_changed if other_begin < line < other_end]
            if own or others:
                kind = "changed" if own and others else "deleted" if own else "inserted"
                differences.append(LineDifference(kind, *(_range(lines) for lines in (own, others))))
        return differences + self._renamed() + self._runs()

    def _renamed(self) -> list[LineDifference]:
        """Return the lines of common statements with other variables.

        A variable corresponds to the variable of the other function that most often stands in its place.
        """
        medoid, member = self._sides
        nodes = [
            (*variables, *lines)
            for at, other in (*self._kept, *self._moved)
            for variables, lines in zip(
                zip(medoid.variables[at], member.variables[other], strict=True),
                zip(medoid.lines[at], member.lines[other], strict=True),
                strict=True,
            )
            if variables[0] >= 0
        ]
        forth: defaultdict[int, Counter[int]] = defaultdict(Counter)
        back: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for first, second, _, _ in nodes:
            forth[first][second] += 1
            back[second][first] += 1
        usual, usual_back = ({name: some.most_common(1)[0][0] for name, some in way.items()} for way in (forth, back))
        lines = {
            (line, other)
            for first, second, line, other in nodes
            if (usual[first], usual_back[second]) != (second, first)
        }
        return [LineDifference("variables", (line, line), (other, other)) for line, other in sorted(lines)]

    def _runs(self) -> list[LineDifference]:
        """Return the lines of statements that were moved, those that were moved together in one range."""
        runs: list[list[tuple[int, int]]] = []
        for at, other in self._moved:
            if runs and runs[-1][-1] == (at - 1, other - 1):
                runs[-1].append((at, other))
            else:
                runs.append([(at, other)])
        return [
            LineDifference(
                "moved",
                *(_range([line for pair in run for line in self._sides[side].lines[pair[side]]]) for side in (0, 1)),
            )
            for run in runs
        ]


_KINDS = {"changed": "changed", "inserted": "inserted", "moved": "moved", "variables": "with other variables"}
_RANGES = 6  # ranges of lines to name


def _reason_text(member: CloneMember, differences: list[LineDifference]) -> str:
    """Return why a member is similar to the medoid, and the lines in which it differs, as a short text.

    >>> member = CloneMember("a.py", 1, 20, "f", 0.9, 20, 13, 11, 1)
    >>> _reason_text(member, [LineDifference("changed", (3, 4), (5, 7)), LineDifference("deleted", (9, 9), None)])
    '11 of 13 statements are the same, 1 more except for names or literals; lines 5-7 changed; line 9 of the medoid deleted'
    """
    texts = [member.common_statements]
    for kind, text in _KINDS.items():
        if lines := [one.member_lines for one in differences if one.kind == kind and one.member_lines]:
            texts.append(f"{_ranges_text(lines)} {text}")
    if deleted := [one.medoid_lines for one in differences if one.kind == "deleted" and one.medoid_lines]:
        texts.append(f"{_ranges_text(deleted)} of the medoid deleted")
    return "; ".join(texts)


def _ranges_text(ranges: list[Lines]) -> str:
    """Write ranges of lines.

    >>> _ranges_text([(3, 3), (5, 7)]), _ranges_text([(4, 4)])
    ('lines 3, 5-7', 'line 4')
    """
    texts = [f"{first}" if first == last else f"{first}-{last}" for first, last in ranges[:_RANGES]]
    more = ", ..." if len(ranges) > _RANGES else ""
    several = len(ranges) > 1 or ranges[0][0] != ranges[0][1]
    return f"{'lines' if several else 'line'} {', '.join(texts)}{more}"


def _ranges(lines: list[int]) -> list[Lines]:
    """Return the ranges of consecutive lines.

    >>> _ranges([2, 3, 4, 7])
    [(2, 4), (7, 7)]
    """
    ranges: list[Lines] = []
    for line in lines:
        if ranges and ranges[-1][1] == line - 1:
            ranges[-1] = ranges[-1][0], line
        else:
            ranges.append((line, line))
    return ranges


def _range(lines: list[int]) -> Lines | None:
    return (min(lines), max(lines)) if lines else None


def _common(first: list[int], second: list[int]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the pairs of equal statements of two functions: as many as possible in the same order, and then those moved.

    >>> _common([1, 2, 3, 3], [2, 3, 1, 4])
    ([(1, 0), (3, 1)], [(0, 2)])
    """
    if first == second:
        return [(at, at) for at in range(len(first))], []
    where: defaultdict[int, list[int]] = defaultdict(list)
    for at, number in enumerate(second):
        where[number].append(at)
    count, seen = Counter(first), Counter[int]()
    pairs = []
    for at, number in enumerate(first):
        others = where.get(number, [])
        if count[number] * len(others) > _REPEATED:  # the k-th occurrence and the k-th one
            others = others[seen[number] : seen[number] + 1]
            seen[number] += 1
        pairs += [(at, other) for other in reversed(others)]
    kept = _increasing(pairs)  # later pairs first, so a statement is in one pair at most
    known, known_there = {at for at, _ in kept}, {other for _, other in kept}
    rest = {number: deque(at for at in places if at not in known_there) for number, places in where.items()}
    moved = [(at, rest[number].popleft()) for at, number in enumerate(first) if at not in known and rest.get(number)]
    return kept, moved


def _increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest list of pairs in which both numbers increase. The first numbers are ascending.

    >>> _increasing([(1, 1), (2, 9), (3, 2), (4, 3)])
    [(1, 1), (3, 2), (4, 3)]
    """
    ends: list[int] = []  # smallest second number at the end of an increasing list of each length
    last: list[int] = []  # index of that pair
    before: list[int | None] = []
    for at, (_, second) in enumerate(pairs):
        length = bisect_left(ends, second)
        before.append(last[length - 1] if length else None)
        ends[length : length + 1] = [second]
        last[length : length + 1] = [at]
    chain: list[tuple[int, int]] = []
    step: int | None = last[-1] if last else None
    while step is not None:
        chain.append(pairs[step])
        step = before[step]
    return chain[::-1]
