"""Standard streams on a full device: every command that prints says so, and those that only write files do their work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from fault_cases import Material, bank
from fault_children import Child
from fault_places import Trial, snapshot

TINY = ("--sizes", "20,8,8", "--k", "3", "--folds", "2", "--epochs", "1", "--lam", "0.3", "--logp", "0.1")


def commands(m: Material) -> list[tuple[str, ...]]:
    tree = str(bank()[0])
    words: list[tuple[object, ...]] = [
        ("gram", m.trees, "-o", "-"),
        ("gram", m.trees, "-o", "K.npy", "--json"),
        ("train", m.data, "-o", "m.treelet", "--json"),
        ("predict", m.model, m.data),
        ("predict", m.model, m.data, "--json"),
        ("evaluate", m.model, m.data),
        ("explain", m.model, tree),
        ("explain", m.model, m.data, "-o", "report.html"),
        ("compare", tree, tree),
        ("diff", m.trees, m.small, "--permutations", "20"),
        ("nearest", m.trees, tree),
        ("parse", "--grammar", m.grammar, m.text),
        ("parse", "--grammar", m.grammar, m.text, "--forest"),
        ("rerank", m.trees, *TINY),
        ("rerank", m.trees, *TINY, "-o", "report", "--json"),
        ("convert", m.data, "-", "--to", "kelp"),
        ("doctor",),
        ("doctor", m.model),
        ("--help",),
        ("--version",),
        ("gram", "--help"),
    ]
    return [tuple(map(str, one)) for one in words]


def trials(words: tuple[str, ...]) -> Iterator[tuple[str, Trial]]:
    """Without a fault, with a standard output that is full, and with a standard error that is."""
    with TemporaryDirectory(prefix="treelet-faults-") as name:
        found = []
        for number, full in enumerate((None, 1, 2)):
            here = Path(name) / str(number)
            here.mkdir()
            child = Child(words, here, here, full=full)
            said = child.communicate(60)[1]
            found.append((child.returncode, said, set(snapshot(here))))
        (right, _, files), (code, said, _), (quiet, _, other) = found
        wrong = ""
        if right not in (0, 1):
            wrong = f"exit code {right} without a fault"
        elif code != 2 or said.count("treelet: error: Standard output cannot be written") != 1 or "Traceback" in said:
            wrong = f"exit code {code}: {said!r}"
        yield "the standard output", Trial("wrong" if wrong else "refused", wrong)
        wrong = "" if quiet == right and files == other else f"exit code {quiet}, {sorted(files ^ other)}"
        yield "the standard error", Trial("wrong" if wrong else "done", wrong)
