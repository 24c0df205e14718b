"""The result of `find_clones`: families of similar functions, their differences, and the forms for other programs."""

from __future__ import annotations

import hashlib
import json
import os
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import treelet
from treelet.checks import plural
from treelet.edits import EditDistance, EditOperation, edit_script
from treelet.edits.distance import check_sizes, tree_sizes
from treelet.errors import FileError, FormatError
from treelet.formats.files import PathLike, unreadable
from treelet.formats.places import Places
from treelet.resources import DEFAULT_MEMORY
from treelet.structures.treebank import Treebank

FORMAT = "treelet-clones-1"
"""Version of the JSON form. Fingerprints of other versions cannot be compared."""
RULE = "similar-functions"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
PLACEHOLDER = "$"  # first character of the names that replace identifiers

Lines = tuple[int, int]
"""First and last line."""


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
        Edit similarity with the medoid; 1 for the medoid itself.
    lines : int
        Number of lines of code: without comments, blank lines and, in Python, docstrings.
    """

    file: str
    line: int
    end_line: int
    name: str
    similarity: float
    lines: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.name}"


class LineDifference(NamedTuple):
    """Lines in which a member differs from the medoid.

    Attributes
    ----------
    kind : {"changed", "inserted", "deleted"}
        How the lines of the medoid become those of the member.
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
    """

    members: list[CloneMember]
    medoid: int
    language: str
    _trees: Treebank = field(compare=False)
    _memory: int = field(default=DEFAULT_MEMORY, compare=False)

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

    @property
    def saved_lines(self) -> int:
        """Lines of code of all members but the medoid: the most that one common function could save."""
        return sum(member.lines for at, member in enumerate(self.members) if at != self.medoid)

    @cached_property
    def fingerprints(self) -> list[str]:
        """Fingerprint of each member. Members have equal fingerprints if their trees are equal."""
        texts = (f"{self.language} {text}" for text in self._trees.strings())
        return [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32] for text in texts]

    def differences(self, member: int) -> list[LineDifference]:
        """Return the lines in which a member, given by its index, differs from the medoid.

        The cheapest edit script between both functions decides which parts correspond. Consistently renamed
        variables are not a difference.

        Raises
        ------
        NotEnoughMemoryError
            If the edit script needs more than the memory limit of `find_clones`: 16 n² bytes for two functions of n
            nodes.
        """
        pair = self._trees[[self.medoid, member]]
        first, second = pair.columns.roots
        if first != second:  # equal trees need no table
            size, other_size = tree_sizes(pair)[0].tolist()
            check_sizes(size, other_size, limit=self._memory)
        script = edit_script(pair[0], pair[1], EditDistance(rename=_rename_cost))
        return _line_differences(_changes(script), script.mapping, pair.places)

    def __repr__(self) -> str:
        return f"<CloneFamily: {len(self.members):,} functions, similarity {self.similarity_range}>"


@dataclass(frozen=True, repr=False)
class CloneReport:
    """The result of `find_clones`.

    Attributes
    ----------
    families : list of CloneFamily
        Families of similar functions, in descending order of `CloneFamily.saved_lines`.
    files, functions, lines : int
        Numbers of files that were read, of functions that were compared, and of their lines of code. The lines of a
        nested function are counted once.
    short_functions, large_functions : int
        Numbers of functions that are too short and too large to be compared.
    skipped_files, skipped_functions : int
        Numbers of files that could not be read, and of functions with syntax errors in files that could.
    seconds : float
        Duration of reading and comparing.
    options : dict
        Options of `find_clones` that determine the result.
    """

    families: list[CloneFamily]
    files: int
    functions: int
    lines: int
    short_functions: int
    large_functions: int
    skipped_files: int
    skipped_functions: int
    seconds: float
    options: dict[str, Any]

    @property
    def saved_lines(self) -> int:
        """Sum of `CloneFamily.saved_lines`."""
        return sum(family.saved_lines for family in self.families)

    def __repr__(self) -> str:
        families = plural(len(self.families), "family")
        return f"<CloneReport: {families} among {plural(self.functions, 'function')}, {self.saved_lines:,} lines>"

    def new_since(self, baseline: PathLike) -> CloneReport:
        """Return the report with only the families that are new since an earlier report.

        A family is new if it has a function whose content is not in the families of the baseline, or more copies of a
        content than the baseline has. Files, lines, names of functions, comments and layout may have changed.

        Parameters
        ----------
        baseline : path
            File with the output of `as_json` (``treelet clones --json``).
        """
        known = Counter(_known_fingerprints(baseline, self.options))
        new = []
        for family in self.families:
            more = Counter(family.fingerprints) - known
            known -= Counter(family.fingerprints)
            if more:
                new.append(family)
        return replace(self, families=new)

    def as_json(self) -> dict[str, Any]:
        """Return the report as a dict of plain values, for `json.dumps`."""
        return {
            "format": FORMAT,
            "options": self.options,
            "files": self.files,
            "functions": self.functions,
            "lines": self.lines,
            "short_functions": self.short_functions,
            "large_functions": self.large_functions,
            "skipped_files": self.skipped_files,
            "skipped_functions": self.skipped_functions,
            "seconds": round(self.seconds, 3),
            "saved_lines": self.saved_lines,
            "families": [
                {
                    "language": family.language,
                    "similarity": list(family.similarity),
                    "saved_lines": family.saved_lines,
                    "medoid": family.medoid,
                    "members": [
                        {**member._asdict(), "fingerprint": fingerprint}
                        for member, fingerprint in zip(family.members, family.fingerprints, strict=True)
                    ],
                }
                for family in self.families
            ],
        }

    def as_sarif(self) -> dict[str, Any]:
        """Return the report in SARIF 2.1.0, as a dict of plain values.

        Each family is a result. Its location is the medoid, and its related locations are the other members.
        """
        rule = {
            "id": RULE,
            "name": "SimilarFunctions",
            "shortDescription": {"text": "Functions that are nearly the same."},
            "fullDescription": {
                "text": "These functions have nearly the same syntax tree. One common function could replace them."
            },
            "defaultConfiguration": {"level": "note"},
        }
        driver = {
            "name": "treelet",
            "semanticVersion": treelet.__version__,
            "informationUri": "https://treelet.readthedocs.io",
            "rules": [rule],
        }
        run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [*map(_result, self.families)]}
        return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _known_fingerprints(baseline: PathLike, options: Mapping[str, Any]) -> list[str]:
    """Return the fingerprints of the members in a baseline."""
    name = os.fspath(baseline)
    try:
        content = json.loads(Path(name).read_bytes())  # UTF-8 or UTF-16, with or without a byte order mark
    except OSError as error:
        raise unreadable(name, error) from error
    except (ValueError, RecursionError):
        content = None
    remedy = "Write a baseline with treelet clones --json."
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(f"the file is not a report of this version of treelet clones. {remedy}", str(name))
    try:
        same = content["options"]["identifiers"] == options["identifiers"]
        fingerprints = [str(member["fingerprint"]) for family in content["families"] for member in family["members"]]
    except (KeyError, TypeError):
        raise FormatError(f"the report is damaged. {remedy}", str(name)) from None
    if not same:
        raise FileError(
            f"{name}: the baseline was written with identifiers={content['options']['identifiers']!r}, so its "
            f"functions cannot be compared. {remedy}"
        )
    return fingerprints


# --- SARIF ------------------------------------------------------------------------------------------------------------


def _result(family: CloneFamily) -> dict[str, Any]:
    low, high = family.similarity
    others = [member for at, member in enumerate(family.members) if at != family.medoid]
    similar = plural(len(others), "similar function")
    listed = ", ".join(f"[{_escaped(member.name)}]({number})" for number, member in enumerate(others, 1))
    name = _escaped(family.members[family.medoid].name)
    text = f"{name} has {similar} (similarity {family.similarity_range}): {listed}."
    identity = hashlib.sha256("".join(sorted(family.fingerprints)).encode()).hexdigest()[:32]
    return {
        "ruleId": RULE,
        "ruleIndex": 0,
        "level": "note",
        "message": {"text": text},
        "locations": [_location(family.members[family.medoid])],
        "relatedLocations": [{"id": number, **_location(member)} for number, member in enumerate(others, 1)],
        "partialFingerprints": {"members/v1": identity},
        "properties": {"similarity": [low, high], "savedLines": family.saved_lines},
    }


def _escaped(name: str) -> str:
    """Return a name without characters that begin a link in the messages of SARIF."""
    return "".join(f"\\{character}" if character in "\\[]" else character for character in name)


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


def _rename_cost(first: str, second: str) -> float:
    """Return the cost of renaming a label: variables without names may be renamed freely."""
    return 0.0 if first.startswith(PLACEHOLDER) and second.startswith(PLACEHOLDER) else 1.0


def _changes(script: Iterable[EditOperation]) -> list[EditOperation]:
    """Return the operations that change something other than the name of a variable.

    A variable corresponds to the variable of the other function that most often stands in its place.
    """
    operations = list(script)
    partners: defaultdict[str, Counter[str]] = defaultdict(Counter)
    back: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for operation in operations:
        if operation.source_label is not None and operation.target_label is not None:
            partners[operation.source_label][operation.target_label] += 1
            back[operation.target_label][operation.source_label] += 1

    def changes(operation: EditOperation) -> bool:
        source, target = operation.source_label, operation.target_label
        if source is None or target is None or not source.startswith(PLACEHOLDER) or operation.cost:
            return operation.kind != "keep"
        usual, usual_back = partners[source].most_common(1)[0][0], back[target].most_common(1)[0][0]
        return (usual, usual_back) != (target, source)

    return [operation for operation in operations if changes(operation)]


def _line_differences(
    changes: list[EditOperation], mapping: list[tuple[int, int]], places: Places | None
) -> list[LineDifference]:
    """Fold changed nodes to ranges of lines, which are separated by lines that both functions have."""
    assert places is not None  # functions were read from files
    lines, other_lines = (places.node_lines(at).tolist() for at in (0, 1))  # type: ignore[union-attr]
    changes_here = {lines[operation.source] for operation in changes if operation.source is not None}
    changes_there = {other_lines[operation.target] for operation in changes if operation.target is not None}
    forth: defaultdict[int, set[int]] = defaultdict(set)
    for source, target in mapping:
        forth[lines[source]].add(other_lines[target])
    # A line of which only a part is new corresponds to a line of the other function, which is changed too.
    pairs = [(line, other) for line, others in forth.items() for other in others]
    changed = sorted(changes_here | {line for line, other in pairs if other in changes_there})
    other_changed = sorted(changes_there | {other for line, other in pairs if line in changes_here})
    unchanged = {line: max(others) for line, others in forth.items() if not others & {*other_changed}}
    common = _increasing([(line, other) for line, other in sorted(unchanged.items()) if line not in {*changed}])
    differences = []
    for (begin, other_begin), (end, other_end) in zip([(0, 0), *common], [*common, _END], strict=True):
        own = [line for line in changed if begin < line < end]
        other = [line for line in other_changed if other_begin < line < other_end]
        if own or other:
            kind = "changed" if own and other else "deleted" if own else "inserted"
            differences.append(LineDifference(kind, _range(own), _range(other)))
    return differences


_END = (1 << 62, 1 << 62)


def _range(lines: Collection[int]) -> Lines | None:
    return (min(lines), max(lines)) if lines else None


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
