"""What the benchmarks share: corpora, measured time and memory, and the files of their results.

All corpora together have 57,268 trees, from questions to biomedical articles.
"""

from __future__ import annotations

import re
import sysconfig
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

import treelet as tl
from experiments import writing
from experiments.data import corpus
from treelet.edits.distance import tree_sizes
from treelet.formats.files import open_source
from treelet.structures import SequenceBank, Tagged, TaggedBank

Results = dict[str, Any]


# --- Corpora --------------------------------------------------------------------------------------------------------

FILES = {
    "WSJ": [("ptb_sample", "wsj_sample.clean.tsv")],
    "questions": [("qc_trees", "train.tsv"), ("qc_trees", "test.tsv")],
    "MASC": [("masc_srl", "trees.tsv")],
    "SemEval": [("semeval2010_t8", "train.trees.tsv"), ("semeval2010_t8", "test.trees.tsv")],
    "CRAFT": [("craft", "trees.clean.tsv")],
}
"""A corpus's files; each has a tree at the end of a line, after a tab."""


def bracketed(name: str) -> Iterator[str]:
    """A corpus's trees as text, in the order of its files; `name` is a key of `FILES`, or "all"."""
    files = FILES[name] if name != "all" else [each for listed in FILES.values() for each in listed]
    for folder, file in files:
        with open_source(corpus(folder, file)) as source:
            ends = (line.rstrip().rpartition("\t")[2] for _, line in source.text_lines())
            yield from (end for end in ends if end.startswith("("))


@cache
def staged(name: str = "all") -> tl.Treebank:
    """A corpus's trees, or those of all corpora; raises `treelet.errors.FileError` where one is not there."""
    return tl.Treebank(bracketed(name))


PRETERMINAL = re.compile(r"\(([^\s()]+) ([^\s()]+)\)")


@cache
def tagged(name: str = "all") -> TaggedBank:
    """The tags of a corpus's trees over their words."""
    pairs = (PRETERMINAL.findall(tree) for tree in bracketed(name))
    return TaggedBank([Tagged([word for _, word in one], [tag for tag, _ in one]) for one in pairs if one])


@cache
def sequences(name: str = "all") -> SequenceBank:
    """The words of a corpus's trees, and beside them the tags: two types of sequences an example."""
    pairs = (PRETERMINAL.findall(tree) for tree in bracketed(name))
    return SequenceBank([{"w": [word for _, word in one], "t": [tag for tag, _ in one]} for one in pairs if one])


OMITTED = {"site-packages", "test", "tests", "idle_test", "__pycache__"}
"""Folders of the standard library that `functions` leaves out."""
LEAST = 65
"""Nodes of the smallest function of `functions`."""


@cache
def functions() -> tl.Treebank:
    """The distinct functions of Python's standard library with at least `LEAST` nodes, in the order of the files.

    Test suites and installed packages are left out. Identifiers are anonymous, constants are types, docstrings are removed.
    """
    folder = Path(sysconfig.get_path("stdlib"))
    options = {"each": "function", "identifiers": "anonymous", "constants": "types", "docstrings": False}
    trees: dict[str, None] = {}
    for path in sorted(folder.rglob("*.py")):
        if not OMITTED & {*path.relative_to(folder).parts}:
            trees |= dict.fromkeys(tl.read_trees(path, format="python", **options).strings())
    bank = tl.Treebank(list(trees))
    return bank[np.flatnonzero(tree_sizes(bank)[0] >= LEAST)].compact()


# --- Time and memory ------------------------------------------------------------------------------------------------


class Timer:
    """Wall-clock and CPU seconds inside a with statement. CPU time is that of all threads."""

    def __enter__(self) -> Self:
        self._begin = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall, self.cpu = time.perf_counter() - self._begin[0], time.process_time() - self._begin[1]


def memory_mb(field: str = "VmHWM") -> float:
    """Return a field of the memory status of this process in MB: the peak by default, or for example ``VmRSS``."""
    return int(re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))[1]) / 1024  # type: ignore[index]


# --- Results --------------------------------------------------------------------------------------------------------


def stored_results(name: str) -> Results:
    """Return the results of an earlier run, so parts can be measured again one by one."""
    return writing.read_results(name) if (writing.RESULTS / f"{name}.json").exists() else {}


def publish(name: str, results: Results, text: str) -> None:
    """Write docs/results/NAME.json and .md, and print the page."""
    writing.write_results(writing.RESULTS, name, results, text)
    print(text)


def publish_section(name: str, results: Results, section: str) -> None:
    """Write docs/results/NAME.json, replace a section of docs/results/speed.md by its heading, and print the section."""
    page = "speed"
    parts = re.split(r"^(?=## )", (writing.RESULTS / f"{page}.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    heading = section.splitlines()[0]
    numbers = [number for number, part in enumerate(parts) if part.splitlines()[0] == heading] or [len(parts)]
    parts[numbers[0] : numbers[0] + 1] = [section]
    text = "\n".join(part.rstrip("\n") + "\n" for part in parts)
    writing.write_results(writing.RESULTS, name, results | {"page": page}, text, page_name=page)
    print(section)
