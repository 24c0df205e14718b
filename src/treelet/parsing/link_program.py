"""The link-parser program of Link Grammar: its command line, its input and its output."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence

from treelet.parsing.link_library import Answer, Settings

_PROGRAM = "link-parser"
LONGEST = 2040  # bytes of a line; the program does not parse lines of more than 2046 bytes
END = "treelet-end-of-answer"
"""A one-word sentence that is sent after each sentence. When the program echoes it, the answer is complete."""
MOST = 2**31 - 1

_FOUND = re.compile(
    r"Found (\d+) linkages? \((\d+) (?:of \d+ random linkages )?had no P\.P\. violations\)(?: at null count (\d+))?"
)
_COST = re.compile(r"\t(?:Unique linkage|Linkage \d+), cost vector = \(UNUSED=(\d+) DIS= *(-?[\d.]+) LEN=(\d+)\)")
_LINK = re.compile(r"\[(\d+) (\d+) -?\d+ \(([^()]*)\)\]")


def find_program() -> str | None:
    """Return the path of the program, or None if it is not installed."""
    return shutil.which(_PROGRAM)


def command(path: str, settings: Settings) -> list[str]:
    """Return the command that starts the program, with all options that affect its results.

    The output is PostScript because there words are complete and in order.
    """
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
    """Return the input lines for one sentence.

    A space before the sentence prevents ``!``, ``%``, ``*`` and ``:`` from being read as commands. In
    panic mode, the time limit of the first search is 0, so the program continues with its panic search.
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


def read_answer(text: str, lines: Sequence[str], errors: str, panic: bool, settings: Settings) -> Answer:
    """Read the output of the program for a sentence. Raise ValueError if it is not in the form of version 5.

    `lines` are all lines since the last answer, including the rest of that answer. `errors` is the text
    from standard error.
    """
    if f" {text}" not in lines:
        raise ValueError("the sentence is not repeated in the output")
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
        problem=_problem(own, errors),
    )
    most = settings.panic_null if panic else settings.max_null
    if null_count > most:  # the program itself has no such limit
        return answer._replace(found=0, valid=0, null_count=0)
    starts = [index for index, line in enumerate(own) if _COST.fullmatch(line)]
    blocks = [own[a:b] for a, b in zip(starts, [*starts, len(own)][1:], strict=True)]
    return answer._replace(linkages=[_linkage(block, _ambiguous(text)) for block in blocks])


def _problem(own: Sequence[str], errors: str) -> str | None:
    if "too long" in errors:
        return errors[errors.rindex("sentence too long") :] if "sentence too long" in errors else errors
    printed = any(line and " set to " not in line for line in own)
    return None if printed else errors


def _ambiguous(text: str) -> bool:
    """Return whether a word may contain the separator of words in PostScript. Words are then read from the diagram."""
    return ")(" in text


def _linkage(
    block: Sequence[str], pictures: bool
) -> tuple[list[str], list[tuple[int, int, str]], tuple[int, float, int]]:
    """Read a linkage from its lines: costs, optionally a diagram, words in brackets, links in brackets."""
    costs = _COST.fullmatch(block[0])
    first = next((index for index, line in enumerate(block) if line.startswith("[(")), len(block))
    then = next((index for index in range(first, len(block)) if block[index].startswith(("[[", "[]"))), None)
    if costs is None or then is None:
        raise ValueError("a linkage has no words or no links")
    if pictures:
        words = next((line for line in reversed(block[1:first]) if line.strip()), "").split()
    else:
        words = "".join(block[first:then])[2:-2].split(")(")
    links = [(int(a), int(b), kind) for a, b, kind in _LINK.findall("".join(block[then:]))]
    if any(max(a, b) >= len(words) for a, b, _ in links):
        raise ValueError("a link leads to a word that does not exist")
    return words, links, (int(costs[1]), float(costs[2]), int(costs[3]))


def versions(greeting: str) -> tuple[str, str]:
    """Return the versions of the program and of the dictionary, from its first output."""
    program = re.search(r"Library version link-grammar-(\S+?)\.? ", greeting)
    dictionary = re.search(r"Dictionary version ([^\s,]+)", greeting)
    return program[1] if program else "?", dictionary[1] if dictionary else "?"
