"""Print the sentences most in need of work: an aid for whoever writes, not a gate.

    python tools/prose.py [--most N] FILE ...
    python tools/prose.py --counts [FOLDER ...]

Files may be Markdown, Python (docstrings, comments, strings) or C++ (comments). Code, and code between backticks, is
not read. With --counts, phrases are counted in whole checkouts, one column per folder. Read are README.md, all pages
in docs, and the strings in src (docstrings included, comments not). Lines and table cells are those of all
Markdown files at the top of the checkout and in docs.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

WORDS = 30
"""The longest sentence that is not reported, in words."""
AFTER_WHAT = "is|are|was|were|has|have|may|can|it|they|one|there|a|an|the|each|lies|stands|comes|becomes"
"""Words after "what" in clauses that stand for a noun: "what it costs", "what the model predicts"."""
NUMBER = r"(?:\d(?:[\d,.]*\d)?|one|two|three|four|five|ten|hundred|thousand|million|several|once)"
UNIT = r"(?:[nµm]s|seconds?|minutes?|hours?|milliseconds?|bytes?|[KMGT]i?B|%)"
NO_NOUN = (
    "about above after again against also and are as at be before below beside between but by can for from gets gives has have "
    "if in inside instead into is like makes may need needs not of on only or out over per show so takes than that then "
    "through times to under until using was were when where which whose with within without"
)
"""Words after a number that make "a" an ordinary article: "one of a pair"."""
PHRASES = {
    "what is/it/they ...": rf"\bwhat (?:{AFTER_WHAT})\b",
    "a for per": rf"(?:\b{NUMBER}(?: ?s| (?!(?:{NO_NOUN.replace(' ', '|')})\b)[a-z]+)?|(?<![a-z]){UNIT}) an? "
    r"(?!(?:few|lot|little|half)\b)[a-z`]",
    "is/are/was no": r"\b(?:is|are|was|were) no\b(?! (?:longer|more)\b)",
    "says/told": r"\b(?:says|told)\b",
    "so that": r"\bso that\b",
}
OPENINGS = {
    "starts with What": r"What\b",
    "starts with a bare pronoun": r"(?:(?:It|That|This|They|These|Those) "
    r"(?:is|are|was|were|has|have|had|does|do|did|can|could|may|might|must|will|would|should|need|needs|then|also)\b"
    r"|(?:It|That|This) [a-z]+[^\Ws]s\b|They [a-z])",
}
CHECKS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in PHRASES.items()} | {
    name: re.compile(r"\W*" + pattern) for name, pattern in OPENINGS.items()
}


class Passage(NamedTuple):
    """A piece of prose: a paragraph, a list item, a table cell, a comment or a string."""

    line: int
    text: str


class Finding(NamedTuple):
    """A sentence and the reasons to look at it."""

    file: Path
    line: int
    sentence: str
    reasons: list[str]


def reasons(sentence: str) -> list[str]:
    """The checks that a sentence fails.

    >>> reasons("What it costs is 3 ms a tree, so that it is no problem.")
    ['what is/it/they ...', 'a for per', 'is/are/was no', 'so that', 'starts with What']
    >>> reasons("This takes 0.1 ms per tree.")
    ['starts with a bare pronoun']
    >>> reasons("This class is not a kernel; a call takes 3 ms.")
    []
    """
    long = [f"{count} words"] if (count := len(sentence.split())) > WORDS else []
    return long + [name for name, pattern in CHECKS.items() if _matches(name, pattern, sentence)]


def _matches(name: str, pattern: re.Pattern[str], sentence: str) -> bool:
    return bool(pattern.match(sentence) if name in OPENINGS else pattern.search(sentence))


def sentences(text: str) -> list[str]:
    """The sentences of a passage, white space collapsed and code replaced.

    >>> sentences("See `a. B`. Values, e.g. 0.5, are\\n  kept. Others are not.")
    ['See `…`.', 'Values, e.g. 0.5, are kept.', 'Others are not.']
    """
    flat = " ".join(re.sub(r"(`+).+?\1", "`…`", text, flags=re.DOTALL).split())
    return [part for part in re.split(r"(?<=[.!?])[)\"*]* (?=[A-Z`*\"(])", flat) if part]


# --- contents of files ----------------------------------------------------------------------------------------------


def passages(file: Path) -> list[Passage]:
    """The prose of a file, by its suffix."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return list(markdown(text))
    if file.suffix == ".py":
        return sorted([*strings(text), *comments(text)])
    if file.suffix in {".cpp", ".hpp", ".cu", ".cuh"}:
        return list(_joined(cpp_comments(text)))
    raise SystemExit(f"{file}: not a Markdown, Python or C++ file")


def markdown(text: str) -> Iterator[Passage]:
    """Paragraphs, list items, headings and table cells, without blocks of code."""
    for first, paragraph in _paragraphs(_without_code(text)):
        if paragraph.startswith("|"):
            yield from (Passage(first, cell) for cell in cells(paragraph))
        else:
            yield Passage(first, paragraph.lstrip("#-* "))


def cells(row: str) -> list[str]:
    r"""The cells of a table's row; an escaped bar does not end one.

    >>> cells(r"| a \| b | c |")
    ['a \\| b', 'c']
    """
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def strings(text: str) -> Iterator[Passage]:
    """String literals of Python with at least three words; values in f-strings become an ellipsis."""
    tree = ast.parse(text)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and node.values:
            value = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            value = node.value
        else:
            continue
        if len(value.split()) >= 3:
            for first, paragraph in _paragraphs(_without_code(value)):
                yield Passage(node.lineno + first - 1, paragraph)


def comments(text: str) -> Iterator[Passage]:
    """Comments of Python; those on adjacent lines are one passage."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return _joined(Passage(t.start[0], t.string.lstrip("# ")) for t in tokens if t.type == tokenize.COMMENT)


def cpp_comments(text: str) -> Iterator[Passage]:
    for found in re.finditer(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", text, flags=re.DOTALL):
        if not found.group().startswith('"'):
            yield Passage(text.count("\n", 0, found.start()) + 1, found.group().strip("/* \n"))


def _joined(lines: Iterator[Passage]) -> Iterator[Passage]:
    """One passage for lines that follow each other."""
    kept: list[Passage] = []
    for line in lines:
        if kept and line.line != kept[-1].line + 1:
            yield Passage(kept[0].line, "\n".join(one.text for one in kept))
            kept = []
        kept.append(line)
    if kept:
        yield Passage(kept[0].line, "\n".join(one.text for one in kept))


def _without_code(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines; fenced blocks and doctests are empty."""
    fenced = doctest = False
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        fence = bare.startswith("```")
        fenced ^= fence
        doctest = bare.startswith(">>>") or (doctest and bool(bare))
        yield number, "" if fenced or fence or doctest else line


def _paragraphs(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Lines that belong together. List items, table rows, headings and a change of indentation start a new one."""
    first, kept, indent = 0, [], 0
    for number, line in [*lines, (0, "")]:
        bare = line.strip()
        depth = len(line) - len(bare)
        starts = bool(re.match(r"[-*] |\d+\. |\||#|-{3}|={3}", bare)) or (
            kept and depth != indent and number > first + 1
        )
        if kept and (not bare or starts):
            yield first, "\n".join(kept)
            kept = []
        if bare and not re.fullmatch(r"[-=|: ]+", bare):
            first, indent = (first, indent) if kept else (number, depth)
            indent = depth
            kept.append(bare)


# --- printed results ------------------------------------------------------------------------------------------------


def findings(file: Path) -> list[Finding]:
    return [
        Finding(file, passage.line, sentence, found)
        for passage in passages(file)
        for sentence in sentences(passage.text)
        if (found := reasons(sentence))
    ]


def report(files: list[Path], most: int) -> str:
    """The sentences with the most reasons, long ones first among equals."""
    found = sorted(
        (one for file in files for one in findings(file)), key=lambda one: (-len(one.reasons), -len(one.sentence))
    )
    parts = [
        f"{one.file}:{one.line}: {', '.join(one.reasons)}\n{textwrap.indent(textwrap.fill(one.sentence, 100), '    ')}"
        for one in found[:most]
    ]
    return "\n".join([*parts, f"{len(found)} sentences to look at, {min(most, len(found))} printed"])


def counts(root: Path) -> dict[str, int]:
    """How often each phrase occurs in a checkout's docs and strings; long lines and table cells of Markdown."""
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    texts = [passage.text for page in pages for passage in markdown(page.read_text(encoding="utf-8"))]
    for module in sorted((root / "src").rglob("*.py")):
        texts += [passage.text for passage in strings(module.read_text(encoding="utf-8"))]
    flat = [" ".join(sentences(text)) for text in texts]
    lines = [
        line for page in {*pages, *root.glob("*.md")} for _, line in _without_code(page.read_text(encoding="utf-8"))
    ]
    return {name: sum(len(CHECKS[name].findall(text)) for text in flat) for name in PHRASES} | {
        "Markdown lines over 300 characters": sum(len(line) > 300 for line in lines),
        "table cells over 200 characters": sum(
            len(cell) > 200 for line in lines if line.lstrip().startswith("|") for cell in cells(line)
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="FILE", help="with --counts: folders, default .")
    parser.add_argument("--most", type=int, default=30, metavar="N", help="sentences to print, default 30")
    parser.add_argument("--counts", action="store_true", help="count phrases in whole checkouts")
    options = parser.parse_args()
    if options.counts:
        columns = [counts(root) for root in options.paths or [Path()]]
        for name in columns[0]:
            print(f"{name:36}" + "".join(f"{column[name]:8,}" for column in columns))
    elif options.paths:
        print(report(options.paths, options.most))
    else:
        parser.error("name the files to read, or pass --counts")


if __name__ == "__main__":
    main()
