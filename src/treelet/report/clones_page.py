"""Families of similar functions as one HTML page, with the source of their members side by side.

The source is read when the page is written. It is untrusted: it reaches the page escaped, as text, with
visible control characters.
"""

from __future__ import annotations

import io
import os
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from textwrap import dedent
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from treelet.checks import plural
from treelet.drawing import web
from treelet.drawing.leaves import shortened
from treelet.errors import FileError, TreeletError
from treelet.formats.files import PACKED, PathLike, open_source, open_target
from treelet.formats.paths import Repository
from treelet.printable import printable
from treelet.report.page import Html, data_block, page, paragraphs, said, table
from treelet.work import progress_bar

if TYPE_CHECKING:
    from treelet.tasks.clone_report import CloneFamily, CloneMember, CloneReport, LineDifference

_FAMILIES = 1_000  # families that are listed
_MEMBERS = 50  # members of a family that are listed
_LINES = 400  # lines of a function that are shown
_SOURCE = 8_000_000  # characters of source in the page
_NAMED = 10  # damaged files that are named
_OPENED = 64  # files whose lines are kept in memory
_SIGNS = {"changed": "~~", "inserted": " +", "deleted": "- ", "moved": "mm", "variables": "vv"}
"""Signs of lines on the side of the medoid and on the side of the member."""
_TEXT_ONLY = "."
_STYLE = """
:root { --changed: #fff0bf; --changed-mark: #f2cf66; --inserted: #d8f0dc; --inserted-mark: #1d7a3a; --deleted: #fbdcd6; --deleted-mark: #c0341d; --moved: #e3ecfb; --filler: #f3f4f6; }
@media screen and (prefers-color-scheme: dark) { :root { --changed: #3a3113; --changed-mark: #7a6419; --inserted: #15331f; --inserted-mark: #5fc983; --deleted: #431f1a; --deleted-mark: #f08d7c; --moved: #1a2a44; --filler: #191c20; } }
body { max-width: 84rem; } .aside { color: var(--faint); } [hidden] { display: none !important; }
.settings td, .settings th { text-align: left; overflow-wrap: anywhere; vertical-align: baseline; }
.signs { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; list-style: none; margin: .6rem 0; padding: 0; font-size: .92rem; }
.signs b { display: inline-block; min-width: 1.4rem; text-align: center; border-radius: 3px; margin-right: .35rem; font-family: var(--mono); }
:root { --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.filter { display: flex; flex-wrap: wrap; gap: .4rem .6rem; align-items: center; margin: 1rem 0; } .filter input { font: inherit; color: inherit; background: var(--ground);
  border: 1px solid var(--faint); border-radius: 6px; padding: .2rem .6rem; width: 18rem; max-width: 100%; box-sizing: border-box; }
.family { border: 1px solid var(--line); border-radius: 8px; margin: .5rem 0; padding: 0 .8rem; } .family[open] { padding-bottom: .8rem; }
.family summary { cursor: pointer; padding: .45rem 0; display: grid; grid-template-columns: 1rem 9rem minmax(0, 1fr) auto; gap: .1rem .8rem; align-items: baseline; }
.family summary::-webkit-details-marker { display: none; } .family summary::before { content: "▸"; color: var(--faint); } .family[open] summary::before { content: "▾"; }
.saved { font-weight: 600; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } .family .name { overflow-wrap: anywhere; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.members { list-style: none; margin: .2rem 0 .8rem; padding: 0; max-height: 15.2rem; overflow-y: auto; }
.member { display: grid; grid-template-columns: 4.5rem minmax(0, 1fr); gap: .8rem; width: 100%; box-sizing: border-box; padding: .12rem .5rem; font: inherit; color: inherit; background: none;
  border: 0; border-left: 3px solid transparent; text-align: left; align-items: baseline; border-radius: 3px; }
.member > :first-child { font-variant-numeric: tabular-nums; text-align: right; } button.member { cursor: pointer; } button.member:hover, .member[aria-pressed="true"] { background: var(--chosen); }
.member[aria-pressed="true"] { border-left-color: var(--accent); font-weight: 600; } .member .problem { display: block; font-weight: 400; }
.problem::before { content: "⚠ "; }
.comparison { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 .8rem; } .comparison .side { display: grid; grid-row: span 3; grid-template-rows: subgrid; padding: .4rem 0 0; overflow: hidden; } .side figcaption, .side > p { padding: 0 .6rem; }
.comparison .side > p { margin: .3rem 0; font-size: .9rem; }
.code { overflow-x: auto; font: .8125rem/1.5 var(--mono); tab-size: 4; } .code code { font: inherit; white-space: pre; overflow-wrap: normal; padding-right: .8rem; } .lines { width: max-content; min-width: 100%; }
.line { display: flex; height: 1.5em; } .gutter { position: sticky; left: 0; flex: none; width: 4.6rem; margin-right: .5rem; background: var(--ground); color: var(--faint); user-select: none; display: flex; }
.gutter::before { content: attr(data-line); flex: 1; text-align: right; } .gutter::after { content: attr(data-sign); width: 1.3rem; text-align: center; font-weight: 700; color: var(--ink); }
.line.filler { background: var(--filler); } .text-only .gutter::after { font-weight: 400; color: var(--faint); }
.changed, .changed .gutter { background: var(--changed); } .inserted, .inserted .gutter { background: var(--inserted); } .deleted, .deleted .gutter { background: var(--deleted); }
.moved, .moved .gutter, .variables, .variables .gutter { background: var(--moved); }
.changed .gutter { box-shadow: inset 3px 0 var(--changed-mark); } .inserted .gutter { box-shadow: inset 3px 0 var(--inserted-mark); } .deleted .gutter { box-shadow: inset 3px 0 var(--deleted-mark); }
mark { color: inherit; background: none; text-decoration: underline dotted var(--faint) 1px; text-underline-offset: .2em; }
.inserted mark, .deleted mark { text-decoration: underline solid currentColor 1px; } .changed mark { background: var(--changed-mark); border-radius: 2px; text-decoration: underline solid currentColor 1px; }
.fold { display: block; width: 100%; height: 1.75em; padding: 0 .6rem; font: inherit; color: var(--accent); background: var(--chosen); border: 0; text-align: left; cursor: pointer; } .fold:hover { text-decoration: underline; }
@media screen and (max-width: 48rem) { .comparison { grid-template-columns: minmax(0, 1fr); } .comparison .side { margin-bottom: .8rem; } .filler { display: none !important; } .gutter { width: 3.6rem; }
  .family { padding: 0 .5rem; } .family summary { grid-template-columns: .8rem auto minmax(0, 1fr); } .family summary .facts { grid-column: 2 / -1; font-size: .9rem; } .member { grid-template-columns: 3.6rem minmax(0, 1fr); gap: .5rem; padding: .2rem; } }
@media print { .filter { display: none; } .line, mark { print-color-adjust: exact; } .members { max-height: none; } }
"""


class _SourceExcerpt(NamedTuple):
    """Lines of a function: the number of the first line, the lines themselves, and how many more there are."""

    first: int
    lines: list[str]
    more: int


@dataclass
class _SourceReader:
    """Reads the source of members, and counts the sources that are missing or left out."""

    folder: str
    """Folder of all files, which places leave out."""
    encoding: str
    revision: str | None
    room: int
    """Number of characters that still fit into the page."""
    omitted: int = 0
    damaged: dict[str, str] = field(default_factory=dict)
    """Per file that cannot be read or has changed, the problem."""

    def __post_init__(self) -> None:
        self._lines = lru_cache(_OPENED)(_lines_of)

    def place(self, member: CloneMember) -> Html:
        """Return the place of a member. A narrow screen may break it after a slash."""
        place = f"{member.file.removeprefix(self.folder)}:{member.line} {member.name}".rstrip()
        return Html(said(printable(place)).replace("/", "/<wbr>"))

    def read(self, member: CloneMember) -> tuple[_SourceExcerpt | None, str]:
        """Return the source of a member, and a problem or an empty string."""
        if self.room <= 0:
            self.omitted += 1
            return None, ""
        try:
            lines = self._lines(member.file, self.encoding, self.revision)
        except (TreeletError, OSError) as error:
            fact = str(error).removeprefix(f"{member.file}: ")
            problem = fact[:1].upper() + fact[1:]
            self.damaged.setdefault(member.file, problem)
            return None, problem
        last = max(member.end_line, member.line)
        problem = ""
        if last > len(lines):
            problem = f"The file has changed since the search: it has only {plural(len(lines), 'line')}."
        elif not _has_name(member.name, lines[max(0, member.line - 4) : last]):
            problem = "The file may have changed since the search: these lines do not contain the name of the function."
        if problem:
            self.damaged.setdefault(member.file, problem)
        text = dedent("\n".join(lines[member.line - 1 : last][:_LINES]))
        shown = [shortened(printable(line, "\t")) for line in text.split("\n")] if text else []
        self.room -= sum(map(len, shown))
        if not shown:
            return None, problem
        return _SourceExcerpt(member.line, shown, min(last, len(lines)) - member.line + 1 - len(shown)), problem


def write(
    report: CloneReport, file: PathLike, *, command: str = "", encoding: str = "utf-8", progress: bool | None = None
) -> None:
    """Write a report of similar functions as an HTML page. The parameters are those of `_clones_page`."""
    text = _clones_page(report, command=command, encoding=encoding, progress=progress)
    with open_target(file) as out:
        out.write(text)


def _clones_page(
    report: CloneReport, *, command: str = "", encoding: str = "utf-8", progress: bool | None = None
) -> str:
    """Return families of similar functions as an HTML page.

    Parameters
    ----------
    report : CloneReport
        Result of `treelet.tasks.clones.find_clones`. The source of its functions is read now.
    command : str, default ""
        Command line that created the report.
    encoding : str, default "utf-8"
        Encoding of the source, as in `find_clones`.
    progress : bool, optional
        Show progress on standard error. Most of the time is spent on the differences of members.
        Default: as in `treelet.config_context`.

    Returns
    -------
    str
        HTML without references to other files. All texts are escaped, and control characters are
        visible. Large reports are shortened, and the page lists what is left out.
    """
    families = sorted(report.families, key=lambda family: -family.saved_lines)
    reader = _SourceReader(_common_folder(families), encoding, report.revision, _SOURCE)
    listed = []
    with progress_bar(progress, "families", len(families[:_FAMILIES])) as advance:
        for number, family in enumerate(families[:_FAMILIES]):
            listed.append(_family(family, reader, number))
            advance(1)
    parts = ["<h1>Similar functions</h1>", *_summary(report, families, reader.folder), *_omissions(families, reader)]
    if listed:
        parts += ["<h2>Families</h2>", _legend(), '<div class="families">', *listed, "</div>"]
    parts += _settings(report.options, command)
    script = f'<script type="module">\n{web.script("clones.js")}</script>'
    return page("Similar functions", parts, style=_STYLE, scripts=[script] if listed else [])


# --- summary --------------------------------------------------------------------------------------------------------


def _summary(report: CloneReport, families: Sequence[CloneFamily], folder: str) -> Iterator[str]:
    figures = f"{plural(report.functions, 'function')} with {plural(report.lines, 'line')} of code in {plural(report.files, 'file')}"
    yield f'<p class="source">{figures}, compared in {_value(report.seconds)} seconds</p>'
    members, saved = sum(len(family.members) for family in families), sum(family.saved_lines for family in families)
    if families:
        contain = f"{plural(len(families), 'family')} {'contains' if len(families) == 1 else 'contain'} {members:,}"
        yield paragraphs(
            Html(
                f"<b>{plural(saved, 'line')}</b> of code could be saved if each family became one function. "
                f"{contain} of {plural(report.functions, 'function')}."
            )
        )
    else:
        yield paragraphs("No two functions are similar enough to form a family.")
    skipped = {"file": report.skipped_files, "function": report.skipped_functions}
    if any(skipped.values()):
        counts = " and ".join(plural(count, noun) for noun, count in skipped.items() if count)
        yield paragraphs(f"Skipped because of errors: {counts}.")
    if folder:
        yield f"<p>Files are named relative to <code>{said(printable(folder))}</code>.</p>"


def _settings(options: Mapping[str, Any], command: str) -> Iterator[str]:
    yield "<h2>Settings</h2>"
    yield table(("", ""), [(name, _value(value)) for name, value in options.items()], kind="settings")
    if command:
        yield f"<p>Created by <code>{said(printable(command))}</code>.</p>"


def _common_folder(families: Sequence[CloneFamily]) -> str:
    """Return the folder of all files, with its last separator, if the files have absolute names."""
    folders = {os.path.dirname(member.file) for family in families for member in family.members}
    if not folders or not all(map(os.path.isabs, folders)):
        return ""
    try:
        return os.path.join(os.path.commonpath(folders), "")
    except ValueError:  # several drives of Windows
        return ""


def _value(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else printable(str(value))


def _omissions(families: Sequence[CloneFamily], reader: _SourceReader) -> Iterator[str]:
    """Yield notes on damaged files, and on what a large report leaves out."""
    if reader.damaged:
        rows = [(printable(file), printable(problem)) for file, problem in list(reader.damaged.items())[:_NAMED]]
        more = len(reader.damaged) - len(rows)
        yield paragraphs(
            f"{plural(len(reader.damaged), 'file')} cannot be read any more, or {'has' if len(reader.damaged) == 1 else 'have'} "
            f"changed since the search.{f' The first {_NAMED} are listed.' if more else ''}"
        )
        yield table(("File", "Problem"), rows, kind="settings")
    left = families[_FAMILIES:]
    members = sum(max(0, len(family.members) - _MEMBERS) for family in families[:_FAMILIES])
    notes = []
    if left:
        lines = sum(family.saved_lines for family in left)
        notes.append(f"{plural(len(left), 'family')} with {plural(lines, 'line')} that could be saved")
    if members:
        notes.append(f"{plural(members, 'member')} of families with more than {_MEMBERS} members")
    if reader.omitted:
        notes.append(f"the source of {plural(reader.omitted, 'member')}")
    if notes:
        yield paragraphs(f"To stay small, this page leaves out {'; '.join(notes)}. The JSON output is complete.")


def _legend() -> str:
    keys = [
        ("changed", "~", "changed"),
        ("deleted", "−", "only in the medoid"),
        ("inserted", "+", "only in the member"),
        ("moved", "↕", "the same statement in another place"),
        ("variables", "≠", "the same statement with other variables"),
        ("", "≈", "other names, comments or layout"),
    ]
    listed = "".join(f'<li><b class="{kind}">{sign}</b>{meaning}</li>' for kind, sign, meaning in keys)
    about = paragraphs(
        "Each member is compared with the medoid, which is the member that is most similar to the others. "
        "Choose a member to see both functions side by side."
    )
    return (
        f'{about}\n<ul class="signs">{listed}</ul>\n<noscript><p>The side-by-side view needs JavaScript.</p></noscript>'
    )


# --- families -------------------------------------------------------------------------------------------------------


def _family(family: CloneFamily, reader: _SourceReader, number: int) -> str:
    medoid = family.members[family.medoid]
    others = [index for index in range(len(family.members)) if index != family.medoid]
    others.sort(key=lambda index: -family.members[index].similarity)
    others = others[: _MEMBERS - 1]
    source, problem = reader.read(medoid)
    sources = [source]
    pairs: list[dict[str, Any] | None] = [None]
    items = [_member(0, "medoid", reader.place(medoid), problem, choosable=False)]
    for position, index in enumerate(others, 1):
        member = family.members[index]
        other, problem = reader.read(member)
        pair = None
        if source is not None and other is not None:
            pair = _compared(source, other, family.differences(index))
        sources.append(other if pair else None)
        pairs.append(pair)
        values = f"{member.similarity:.3f}", reader.place(member), problem, member.common_statements
        items.append(_member(position, *values, choosable=bool(pair)))
    if len(others) + 1 < len(family.members):
        items.append(f'<li class="aside">… and {plural(len(family.members) - len(others) - 1, "more member")}</li>')
    files = len({member.file for member in family.members})
    facts = (
        f"{plural(len(family.members), 'function')} in {plural(files, 'file')}, similarity {family.similarity_range}"
    )
    data = {"sources": [excerpt and excerpt._asdict() for excerpt in sources], "pairs": pairs}
    lines = [
        f'<details class="family"{" open" * (not number)}>',
        f'<summary><span class="saved">saves {plural(family.saved_lines, "line")}</span> '
        f'<span class="name">{said(printable(medoid.name) or "(no name)")}</span> <span class="facts aside">{facts}</span></summary>',
        f'<ul class="members">\n{chr(10).join(items)}\n</ul>',
        data_block(f"family-{number}", data) if any(pairs) else "",
        "</details>",
    ]
    return "\n".join(filter(None, lines))


def _member(position: int, similarity: str, place: Html, problem: str, about: str = "", *, choosable: bool) -> str:
    note = f' <span class="aside">{about}</span>' if about else ""
    note += f'<span class="problem">{said(printable(problem))}</span>' if problem else ""
    tag, kind = ("button", ' type="button"') if choosable else ("div", "")
    content = f"<span>{similarity}</span><span><code>{place}</code>{note}</span>"
    return f'<li><{tag}{kind} class="member" data-member="{position}">{content}</{tag}></li>'


# --- source ---------------------------------------------------------------------------------------------------------


def _lines_of(file: str, encoding: str, revision: str | None) -> list[str]:
    """Return the lines of a source file, perhaps of a revision of git, numbered as its parser numbers them."""
    with open_source(file if revision is None else _stored(file, revision), encoding) as source:
        data, encoding = b"".join(source.chunks()), "utf-8"
    if not file.lower().endswith((".py", ".pyi")):
        return [line.removesuffix("\r") for line in data.decode("utf-8", "replace").split("\n")]
    if not source.decoded:
        with suppress(SyntaxError):  # an unknown encoding
            encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    return re.split("\r\n|\r|\n", data.decode(encoding, "replace"))


def _stored(file: str, revision: str) -> IO[bytes]:
    """Return a file of a revision of git; an empty string stands for the files that are staged."""
    repository = Repository.around(file)
    if repository is None:
        raise FileError(f"{file}: the repository of git is gone.")
    below = Path(os.path.relpath(os.path.realpath(file), repository.folder)).as_posix()
    data = io.BytesIO(repository.git("cat-file", "blob", f"{revision}:{below}"))
    opener = PACKED.get(Path(file).suffix.lower())
    return data if opener is None else cast("IO[bytes]", opener(data))


def _has_name(name: str, lines: list[str]) -> bool:
    """Return whether lines contain the last word of a name, or the name has no word, as that of a lambda."""
    words = re.findall(r"\w+", "" if name.endswith(">") else name)
    return not words or any(words[-1] in line for line in lines)


def _compared(medoid: _SourceExcerpt, member: _SourceExcerpt, differences: Sequence[LineDifference]) -> dict[str, Any]:
    """Align the lines of two functions, and mark the lines that differ.

    Lines of one difference are aligned with each other. All other lines are aligned by their text, in
    which all names count as equal, because the search may have ignored names.
    """
    sides = (medoid, member)
    keys: list[list[Any]] = [[_shape(line) for line in side.lines] for side in sides]
    signs = [[" "] * len(side.lines) for side in sides]
    for number, difference in enumerate(differences):
        for side, span in enumerate((difference.medoid_lines, difference.member_lines)):
            sign = _SIGNS[difference.kind][side]
            if span is None or sign == " ":
                continue
            for offset, line in enumerate(range(span[0], span[1] + 1)):
                place = line - sides[side].first
                if 0 <= place < len(signs[side]) and signs[side][place] == " ":
                    # Lines of one difference stand side by side, except those that were moved.
                    key = (number, offset, side if difference.kind == "moved" else 0)
                    signs[side][place], keys[side][place] = sign, key
    blocks = []
    for _, a, b, c, d in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        blocks.append((a, b, c, d))
        for row in zip_longest(range(a, b), range(c, d)):
            lines = [(side, line) for side, line in enumerate(row) if line is not None]
            if any(signs[side][line] != " " for side, line in lines):
                continue  # the sign of one side holds for both
            texts = {"" if line is None else sides[side].lines[line].strip() for side, line in enumerate(row)}
            if len(texts) > 1:
                for side, line in lines:
                    signs[side][line] = _TEXT_ONLY
    return {"blocks": blocks, "left": "".join(signs[0]), "right": "".join(signs[1])}


def _shape(line: str) -> str:
    """Return a line in which every name is the same, without white space."""
    return "".join(re.sub(r"[^\W\d]\w*", "x", line).split())
