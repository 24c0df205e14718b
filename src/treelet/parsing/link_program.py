"""The link-parser program of Link Grammar: what to tell it, and how to read what it prints."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence

from treelet.parsing.link_result import Answer, Settings

PROGRAM = "link-parser"
LONGEST = 2040  # bytes of a line; the program gives up on more than 2046
END = "treelet-end-of-answer"
"""A sentence of one word, sent after each: where it is repeated, the answer before it is whole."""
MOST = 2**31 - 1

_FOUND = re.compile(
    r"Found (\d+) linkages? \((\d+) (?:of \d+ random linkages )?had no P\.P\. violations\)(?: at null count (\d+))?"
)
_COST = re.compile(r"\t(?:Unique linkage|Linkage \d+), cost vector = \(UNUSED=(\d+) DIS= *(-?[\d.]+) LEN=(\d+)\)")
_LINK = re.compile(r"\[(\d+) (\d+) -?\d+ \(([^()]*)\)\]")


def find_program() -> str | None:
    """Where the program is, if the system has it."""
    return shutil.which(PROGRAM)


def command(path: str, settings: Settings) -> list[str]:
    """How to start it: with all that decides what it finds, and PostScript, where words are whole and in order."""
    options: dict[str, float] = {
        "graphics": 0,
        "links": 0,
        "postscript": 1,
        "walls": 1,
        "morphology": 1,
        "echo": 1,
        "verbosity": 1,
        "spell": 0,
        "panic": 0,
        "limit": settings.limit,
        "short": settings.short,
        "null": int(settings.max_null > 0),
        "timeout": settings.max_seconds,
        "panic_short": settings.panic_short,
        "panic_max-null-count": settings.panic_null,
        "panic_timeout": settings.max_seconds,
    }
    if settings.max_cost is not None:
        options["cost-max"] = settings.max_cost
    return [path, settings.language, *(f"-{name}={value}" for name, value in options.items())]


def request(text: str, k: int | None, panic: bool, settings: Settings) -> str:
    """What to send for one sentence.

    The space before it keeps ``!``, ``%``, ``*`` and ``:`` from being commands. In panic mode the first search gets no
    time, upon which the program goes on to its panic search.
    """
    lines = [f"!test=auto-next-linkage:{MOST if k is None else k}"]
    pictures = _ambiguous(text)
    if pictures:
        lines.append("!graphics=1")
    if panic:
        lines += ["!panic=1", "!timeout=0"]
    lines.append(f" {text}")
    if panic:
        lines += ["!panic=0", f"!timeout={settings.max_seconds}"]
    if pictures:
        lines.append("!graphics=0")
    return "\n".join((*lines, f" {END}", ""))


def is_end(line: str) -> bool:
    return line == f" {END}"


def read_answer(text: str, lines: Sequence[str], said: str, panic: bool, settings: Settings) -> Answer:
    """Read what the program printed for a sentence. Raises ValueError if version 5 does not print such lines.

    `lines` are all lines since the last answer, with the rest of that answer; `said` came on the standard error.
    """
    if f" {text}" not in lines:
        raise ValueError("the sentence is not repeated")
    own = list(lines[lines.index(f" {text}") + 1 :])
    counts = next((match for line in own if (match := _FOUND.match(line))), None)
    found, valid, null_count = (int(count or 0) for count in counts.groups()) if counts else (0, 0, 0)
    expired = "Panic timer is expired!" if panic else "Timer is expired!"
    answer = Answer(
        found=found,
        valid=valid,
        null_count=null_count,
        timed_out=any(line.startswith(expired) for line in own),
        out_of_memory=any(line.startswith("Memory is exhausted!") for line in own),
        problem=_problem(own, said),
    )
    most = settings.panic_null if panic else settings.max_null
    if null_count > most:  # the program itself knows no such limit
        return answer._replace(found=0, valid=0, null_count=0)
    starts = [index for index, line in enumerate(own) if _COST.fullmatch(line)]
    blocks = [own[a:b] for a, b in zip(starts, [*starts, len(own)][1:], strict=True)]
    return answer._replace(linkages=[_linkage(block, _ambiguous(text)) for block in blocks])


def _problem(own: Sequence[str], said: str) -> str | None:
    if "too long" in said:
        return said[said.rindex("sentence too long") :] if "sentence too long" in said else said
    printed = any(line and " set to " not in line for line in own)
    return None if printed else said


def _ambiguous(text: str) -> bool:
    """Whether a word may hold what stands between words in PostScript: then they are read from the picture."""
    return ")(" in text


def _linkage(
    block: Sequence[str], pictures: bool
) -> tuple[list[str], list[tuple[int, int, str]], tuple[int, float, int]]:
    """A linkage from its lines: its costs, perhaps a picture, the words in brackets, the links in brackets."""
    costs = _COST.fullmatch(block[0])
    first = next((index for index, line in enumerate(block) if line.startswith("[(")), len(block))
    then = next((index for index in range(first, len(block)) if block[index].startswith(("[[", "[]"))), None)
    if costs is None or then is None:
        raise ValueError("a linkage without words or links")
    if pictures:
        words = next((line for line in reversed(block[1:first]) if line.strip()), "").split()
    else:
        words = "".join(block[first:then])[2:-2].split(")(")
    links = [(int(a), int(b), kind) for a, b, kind in _LINK.findall("".join(block[then:]))]
    if any(max(a, b) >= len(words) for a, b, _ in links):
        raise ValueError("a link to a word that is not there")
    return words, links, (int(costs[1]), float(costs[2]), int(costs[3]))


def versions(said: str) -> tuple[str, str]:
    """Of the program and of the dictionary, from what it says at the start."""
    program = re.search(r"Library version link-grammar-(\S+?)\.? ", said)
    dictionary = re.search(r"Dictionary version ([^\s,]+)", said)
    return program[1] if program else "?", dictionary[1] if dictionary else "?"
