"""Similar functions in source code, in families."""

from __future__ import annotations

import io
import os
import re
import time
import tokenize
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treelet.checks import check_integer, check_one_of, is_number, wrong
from treelet.corpora.families import SimilarPairs
from treelet.errors import ParameterError, TreeletError, TreeletWarning
from treelet.formats.adapters import IDENTIFIERS
from treelet.formats.files import PathLike, SkipLog, open_source, unpacked_name
from treelet.formats.languages import BY_SUFFIX
from treelet.formats.paths import File
from treelet.formats.places import Places
from treelet.formats.reading import read_code_document
from treelet.kernels import StatementOverlap
from treelet.resources import Resources
from treelet.structures.treebank import Treebank
from treelet.tasks.clone_report import CloneFamily, CloneReport
from treelet.tasks.code_cache import CodeCache

_Numbers = NDArray[np.int64]
_Group = tuple[int, _Numbers, NDArray[np.float64]]
"""The medoid, the members, and the value of each member with the medoid."""


def find_clones(
    *paths: File | Sequence[File],
    similarity: float = 0.65,
    min_lines: int = 10,
    languages: str | Collection[str] | None = None,
    identifiers: str = "anonymous",
    against: File | Sequence[File] | None = None,
    exclude: str | Collection[str] = (),
    vendored: bool = False,
    encoding: str = "utf-8",
    cache: PathLike | None = None,
    n_jobs: int | None = 1,
    progress: bool | None = None,
) -> CloneReport:
    r"""Find families of similar functions in source code.

    The search is exact: every pair of functions that reaches the similarity is found. Functions in different languages
    are not compared. Functions with syntax errors are skipped and counted.

    Parameters
    ----------
    *paths : path or open file
        Files, folders and patterns, as for `treelet.read_code`.
    similarity : float, default 0.65
        Smallest similarity of a function with the medoid of its family, in (0, 1], as `treelet.StatementOverlap`
        computes it from their common statements. 1 finds functions that differ only in layout, comments, the order of
        statements and, by default, the names of variables.
    min_lines : int, default 10
        Smallest number of lines of code of a function. Comments, blank lines and Python's docstrings do not count.
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
    vendored : bool, default False
        Whether to read vendored and minified files of folders, too: those in folders such as ``node_modules``, ``vendor``
        and ``third_party``, those called ``*.min.js``, and those with very long lines.
    encoding : str, default "utf-8"
        Encoding of the files. A Python file may declare another one.
    cache : path, optional
        Folder of the functions that were read before. It is new, empty or an earlier cache. Only files that are not there
        are read, and then added. Files are known by their content. Default: no cache.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core.
    progress : bool, optional
        Show progress on standard error. Default: as in `treelet.config_context`.

    Returns
    -------
    CloneReport
        The families, in descending order of the lines that could be saved.

    Notes
    -----
    The families are those of ``treelet.families(functions, similarity, treelet.StatementOverlap())``, for the functions of
    each language on its own. Nested functions need three further rules:

    - A function whose similarity with the function directly around it is at least 0.8, such as the inner function of a
      decorator, is left out; the outer one stands for both.
    - If a family contains a function and another one inside it, the inner one is removed from the family. If the inner
      one is the medoid, the outer one is removed.
    - A family is left out if its functions lie one by one inside the functions of another family.

    Examples
    --------
    >>> import io
    >>> from treelet.tasks import find_clones
    >>> first = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n"
    >>> second = "def average(xs):\n    s = sum(xs)\n    print(s)\n    return s / len(xs)\n"
    >>> files = [io.StringIO(first), io.StringIO(second)]
    >>> report = find_clones(files, languages="python", min_lines=3)
    >>> report
    <CloneReport: 1 family among 2 functions, 3 lines>
    >>> [str(member) for member in report.families[0].members]
    ['<stream>:1 mean', '<stream>:1 average']
    >>> report.families[0].differences(1)
    [LineDifference(kind='inserted', medoid_lines=None, member_lines=(3, 3))]
    """
    begin = time.monotonic()
    if not is_number(similarity, 0, 1) or similarity == 0:
        raise wrong("similarity", "a number in (0, 1]", similarity, of="find_clones")
    check_integer("min_lines", min_lines, of="find_clones")
    check_one_of("identifiers", identifiers, IDENTIFIERS, of="find_clones")
    if isinstance(languages, set | frozenset | tuple):
        languages = sorted(languages)
    if against is not None and not _listed([against]):
        raise wrong("against", "a path, an open file or a list of them", against, of="find_clones", optional=True)
    Resources.of(n_jobs, progress=progress, owner="find_clones")
    logs, store = [SkipLog(), SkipLog()], None if cache is None else CodeCache(cache)
    reading: dict[str, Any] = {
        "language": languages,
        "identifiers": identifiers,
        "exclude": exclude,
        "vendored": vendored,
        "encoding": encoding,
        "min_lines": min_lines,
        "progress": progress,
    }
    sides = [Units.read(_listed(paths), reading, logs[0], store)]
    if against is not None:
        other = _known_functions(_listed([against]), reading, logs[1], store)
        real = lru_cache(os.path.realpath)  # many functions are in the same file
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
    read = sum(map(len, sides)) + sum(sum(log.short.values()) for log in logs)
    units = [Units.of(bank, min_lines) for bank in sides]
    silenced = sum(unit.silenced for unit in units)
    by_language = [unit.by_language(languages) for unit in units]
    options: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    families = []
    for language in sorted({name for groups in by_language for name in groups}):
        some = [unit.select(groups[language]) for unit, groups in zip(units, by_language, strict=True)]
        families += _families(some, similarity, language, options)
    functions = sum(len(unit.bank) for unit in units)
    return CloneReport(
        families=sorted(families, key=lambda family: (-family.saved_lines, family.members)),
        files=sum(log.files_read for log in logs),
        functions=functions,
        lines=sum(int(unit.lines[unit.outer < 0].sum()) for unit in units),
        short_functions=read - functions - silenced,
        silenced_functions=silenced,
        vendored_files=sum(log.vendored for log in logs),
        skipped_files=sum(len(log.files) for log in logs),
        skipped_functions=sum(log.left_out for log in logs),
        seconds=time.monotonic() - begin,
        options={
            "similarity": similarity,
            "min_lines": min_lines,
            "languages": [languages] if isinstance(languages, str) else languages and sorted(languages),
            "identifiers": identifiers,
            "against": against is not None,
            "exclude": [exclude] if isinstance(exclude, str) else sorted(exclude),
            "vendored": vendored,
        },
    )


def _listed(paths: Sequence[Any]) -> list[File]:
    return [file for path in paths for file in (path if isinstance(path, list | tuple) else [path])]


def _known_functions(files: list[File], reading: dict[str, Any], log: SkipLog, cache: CodeCache | None) -> Treebank:
    """Return the functions of files and of indexes of source code."""
    from treelet.learn.index_files import MANIFEST  # scikit-learn is needed only for indexes
    from treelet.learn.persist import load

    indexes = [file for file in files if isinstance(file, str | os.PathLike) and (Path(file) / MANIFEST).is_file()]
    others = [file for file in files if file not in indexes]
    banks = [Units.read(others, reading, log, cache)] if others else []
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
        bank, here = search.X_fit_, os.getcwd()
        # In the index, names of files are relative to the folder in which it was created.
        if bank.places is not None and (folder := search._settings.get("folder", here)) != here:
            names = partial(_name_from, folder=folder, here=here)
            bank = bank.with_places(bank.places.with_file_names(names))
        banks.append(bank)
    return Treebank.concat(banks)


def _name_from(file: str, folder: str, here: str) -> str:
    return os.path.relpath(os.path.join(folder, file), here)


_SILENCE = re.compile(r"(?:#|//|\*|--(?:\[\[)?)!?[^\S\n]*treelet:\s*ignore\[clones\](.*)")
_COMMENT_END = re.compile(r"\*/|-->|\]\]")
_COMMENT_LINE = re.compile(r"\s*(#|//|/?\*|--|<!--)")
_DECORATOR = re.compile(r"\s*(@|#\[)")


class Units(NamedTuple):
    """Functions to compare, with their lines of code and the index of the function around each, or -1.

    `rows` are their rows among all functions that were read, and `silenced` is the number of those that comments leave out.
    """

    bank: Treebank
    lines: _Numbers
    outer: _Numbers
    rows: _Numbers
    silenced: int = 0

    @staticmethod
    def read(files: Sequence[File], reading: dict[str, Any], log: SkipLog, cache: CodeCache | None) -> Treebank:
        """Return the functions of files, from the cache if they are there."""
        if cache is not None and all(isinstance(file, str | os.PathLike) and file != "-" for file in files):
            return cache.functions(list(files), reading, log)
        document = read_code_document(list(files), **reading, log=log)
        return Treebank.from_columns(document.trees["tree"], document.places)

    @classmethod
    def of(cls, bank: Treebank, min_lines: int) -> Units:
        """Return the functions of a bank that are long enough, without those that comments leave out."""
        lines = np.asarray(_places(bank).code_lines(), np.int64)
        long = np.flatnonzero(lines >= min_lines)
        silenced = _silenced(_places(bank), long.tolist())
        kept = long[[at not in silenced for at in long.tolist()]] if silenced else long
        bank = bank[kept]
        return cls(bank, lines[kept], _places(bank).outer(), kept, len(silenced))

    def select(self, rows: list[int]) -> Units:
        """Return some functions, all of the same files."""
        bank = self.bank[rows]
        return Units(bank, self.lines[rows], _places(bank).outer(), self.rows[rows])

    def by_language(self, languages: str | Collection[str] | None) -> defaultdict[str, list[int]]:
        """Return the indices of the functions in each language."""
        names = [languages] if isinstance(languages, str) else list(languages or ())
        rows: defaultdict[str, list[int]] = defaultdict(list)

        @lru_cache  # many functions are in the same file
        def language(file: str) -> str:
            return names[0] if len(names) == 1 else BY_SUFFIX[unpacked_name(file).suffix.lower()].name

        for at, place in enumerate(_places(self.bank)):
            rows[language(place.file)].append(at)
        return rows

    def around(self, at: int) -> Iterator[int]:
        """Yield the functions around a function, from the inside."""
        return _around(at, self.outer)


def _silenced(places: Places, rows: list[int]) -> set[int]:
    """Return those of some functions that a comment ``treelet: ignore[clones] reason`` leaves out.

    The comment stands on a line of its own before the function, or on any line of it. In the latter case, it applies to the
    innermost such function. Decorators belong to the function. A comment without a reason has no effect and is a warning.
    """
    by_file: defaultdict[str, list[int]] = defaultdict(list)
    for at in rows:
        by_file[places[at].file].append(at)
    silenced = set[int]()
    for file, some in by_file.items():
        try:
            with open_source(file) as source:
                data = b"".join(source.chunks())
        except (TreeletError, OSError, ValueError):  # an open file, or one that is gone
            continue
        if b"ignore[clones]" not in data:
            continue
        data = re.sub(b"\r\n?", b"\n", data)
        lines = data.decode("utf-8", "replace").split("\n")
        comments, decorators = _python_comments(file, data) or (list(enumerate(lines, 1)), _decorators(lines))
        begin = {at: decorators.get(places[at].line, places[at].line) for at in some}
        end = {at: places[at].end_line or 0 for at in some}
        for number, text in comments:
            if (comment := _SILENCE.search(text)) is None:
                continue
            if not _COMMENT_END.split(comment[1])[0].strip():
                warnings.warn(
                    f"{file}:{number}: ignore[clones] has no effect without a reason. Write the reason behind it.",
                    TreeletWarning,
                    stacklevel=4,
                )
                continue
            around = [at for at in some if begin[at] <= number <= end[at]]
            below = [at for at in some if begin[at] == number + 1] if _COMMENT_LINE.match(lines[number - 1]) else []
            if below:
                silenced.add(max(below, key=end.__getitem__))
            elif around:
                silenced.add(max(around, key=lambda at: (begin[at], -end[at])))
    return silenced


def _python_comments(file: str, data: bytes) -> tuple[list[tuple[int, str]], dict[int, int]] | None:
    """Return the comments of a Python file with their lines, and the first line of the decorators of each function and class.

    Strings may contain examples of comments, so tokens decide. None if the file is not Python or has invalid tokens.
    """
    rules = BY_SUFFIX.get(unpacked_name(file).suffix.lower())
    if rules is None or rules.name != "python":
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as odd numbers, which do not concern the user
            tokens = list(tokenize.tokenize(io.BytesIO(data).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    layout = (tokenize.ENCODING, tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT)
    code = [token for token in tokens if token.type not in layout]
    decorators, first = dict[int, int](), 0
    for before, token in zip([None, *code], code, strict=False):
        if before is None or before.type == tokenize.NEWLINE:
            line = token.start[0]
            if token.string == "@":
                first = first or line
            elif first:
                decorators[line], first = first, 0
    return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT], decorators


def _decorators(lines: list[str]) -> dict[int, int]:
    """Return the first of the lines with decorators above each line that has some."""
    decorators = dict[int, int]()
    for number, line in enumerate(lines, 1):
        if _DECORATOR.match(line):
            decorators[number + 1] = decorators.get(number, number)
    return decorators


def _places(bank: Treebank) -> Places:
    assert bank.places is not None  # source code has places
    return bank.places


_NEARLY_WHOLE = 0.8
"""Smallest similarity of a function with the function around it at which the outer one stands for both."""


def _families(sides: list[Units], similarity: float, language: str, options: dict[str, Any]) -> list[CloneFamily]:
    """Return the families of the functions in one language."""
    banks = [unit.bank for unit in sides]
    other = banks[1] if len(banks) > 1 else None
    pairs = SimilarPairs(StatementOverlap(), banks[0], other, similarity, **options)
    shift = len(banks[0])
    outer = np.concatenate([unit.outer + (unit.outer >= 0) * shift * n for n, unit in enumerate(sides)])
    lines = np.concatenate([unit.lines for unit in sides])
    whole = banks[0] if other is None else banks[0] + other
    # functions that are nearly the whole function around them
    nested = [
        at for at in np.flatnonzero(outer >= 0).tolist() if (pairs.value(at, int(outer[at])) or 0) >= _NEARLY_WHOLE
    ]
    groups = []
    for medoid, members, values in pairs.groups(nested):
        # Functions around the medoid are removed, and then functions inside another member.
        known = set(members.tolist()) - set(_around(medoid, outer))
        kept = np.array([at in known and known.isdisjoint(_around(at, outer)) for at in members.tolist()])
        groups.append((medoid, members[kept], values[kept]))
    if other is not None:
        groups = [group for group in groups if 0 < np.count_nonzero(group[1] < shift) < len(group[1])]
    groups = _without_nested([group for group in groups if len(group[1]) > 1], outer)
    return CloneFamily._of_groups(groups, whole, lines, language)


def _around(at: int, outer: _Numbers) -> Iterator[int]:
    """Yield the functions around a function, from the inside."""
    while (at := int(outer[at])) >= 0:
        yield at


def _without_nested(groups: list[_Group], outer: _Numbers) -> list[_Group]:
    """Return the groups without those whose members lie one by one inside the members of another group."""
    group_of = {int(at): number for number, group in enumerate(groups) for at in group[1]}
    kept = []
    for group in groups:
        around: defaultdict[int, set[int]] = defaultdict(set)
        for at in group[1].tolist():
            for one in _around(at, outer):
                if one in group_of:
                    around[group_of[one]].add(one)
        # As many functions around as members: no two members are inside the same function.
        if not any(len(functions) >= len(group[1]) for functions in around.values()):
            kept.append(group)
    return kept
