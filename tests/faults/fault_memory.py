"""Too little memory: commands in children that may take so many bytes more than they have.

They do what they are asked for, or say in a line that it does not fit. Nothing crashes, hangs, or is half-written.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory

from fault_cases import Material, Writer, bank, is_page, is_report, loads
from fault_children import Child
from fault_places import Trial, is_new, is_old, lay_old, snapshot

MEGABYTES = (0.05, 0.5, 1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 400)
LAST = 40.0


def commands(m: Material, folder: Path) -> list[tuple[Writer, tuple[str, ...]]]:
    """Commands and their outputs; no output for what is printed."""
    trees, data, words = folder / "many.mrg", folder / "many.tsv", folder / "many.txt"
    many = bank(1200)
    many.write(trees)
    data.write_text(
        "".join(f"{'long' if len(t.leaves()) > 8 else 'short'}\t{t}\n" for t in many[:400]), encoding="utf-8"
    )
    words.write_text("".join(" ".join(t.leaves()) + "\n" for t in many[:200]), encoding="utf-8")

    def of(output: str, *words: object, **options: object) -> tuple[Writer, tuple[str, ...]]:
        name = "treelet " + " ".join(str(word) for word in words if not isinstance(word, Path))
        return Writer(name, output, lambda folder: None, **options), tuple(map(str, words))  # type: ignore[arg-type]

    begun = {"beside": ("K.npy.json",), "begun": ("K.npy.part", "K.npy.part.json")}
    small = ("--sizes", "40,20,20", "--k", "5", "--folds", "2", "--epochs", "1", "--lam", "0.3", "--logp", "0.1")
    return [
        of("K.npy", "gram", trees, "--no-normalize", "-o", "K.npy"),
        of("K.npy", "gram", trees, "--no-normalize", "-j", "2", "-o", "K.npy"),
        of("K.npy", "gram", trees, "--no-normalize", "-j", "2", "--resume", "-o", "K.npy", **begun),
        of("K.tsv", "gram", trees, "--no-normalize", "-j", "2", "-o", "K.tsv"),
        of("m.treelet", "train", data, "-j", "2", "-o", "m.treelet", whole=loads),
        of("labels.txt", "predict", m.model, data, "-o", "labels.txt"),
        of("", "evaluate", m.model, data),
        of("report.html", "explain", m.model, data, "-o", "report.html", whole=is_page),
        of("p.mrg", "parse", "--grammar", m.grammar, words, "-j", "2", "-o", "p.mrg"),
        of("g.json", "parse", "--treebank", trees, "--save-grammar", "g.json"),
        of("", "nearest", trees, str(many[0])),
        of("", "diff", data, m.data, "--permutations", "50"),
        of("c.klp", "convert", data, "c.klp"),
        of("report", "rerank", *small, "-o", "report", whole=is_report),
    ]


def trials(writer: Writer, words: tuple[str, ...], number: int, seed: int = 0) -> Iterator[Trial]:
    """So many limits, from next to nothing to what is enough."""
    rng = random.Random(f"{writer.name} {seed}")
    with TemporaryDirectory(prefix="treelet-faults-") as name:
        folder, elsewhere = Path(name) / "here", Path(name) / "tmp"
        folder.mkdir(), elsewhere.mkdir()
        done = Child(words, folder, elsewhere)
        said = done.communicate(LAST)[1]
        if done.returncode != 0:
            raise AssertionError(f"{writer.name}: exit code {done.returncode}: {said}")
        new = snapshot(folder)
        for k in range(number):
            with TemporaryDirectory(dir=name) as inner:
                here = Path(inner)
                if writer.output:
                    lay_old(writer, here)
                megabytes = MEGABYTES[k % len(MEGABYTES)] * rng.uniform(0.7, 1.4)
                found = _trial(writer, words, here, elsewhere, int(megabytes * 2**20), new)
                yield found._replace(wrong=f"{megabytes:.1f} MiB: {found.wrong}") if found.wrong else found


def _trial(
    writer: Writer, words: tuple[str, ...], here: Path, elsewhere: Path, memory: int, new: dict[str, bytes]
) -> Trial:
    before = snapshot(here)
    child = Child(words, here, elsewhere, memory)
    try:
        said = child.communicate(LAST)[1]
    except TimeoutExpired:
        child.kill()
        child.communicate()
        return Trial("wrong", "it does not end")
    code, wrong = child.returncode, ""
    if code == 0:
        if writer.output and (wrong := is_new(writer, here, new)):
            return Trial("wrong", wrong)
    elif code == 2:
        lines = [line for line in said.splitlines() if line.startswith("treelet: error: ")]
        if len(lines) != 1 or "Traceback" in said or "internal error" in said:
            return Trial("wrong", f"it says {said!r}")
        if wrong := is_old(writer, before, snapshot(here)):
            return Trial("wrong", wrong)
    else:
        return Trial("wrong", f"exit code {code}: {said!r}")
    if any(elsewhere.iterdir()):
        return Trial("wrong", f"{sorted(path.name for path in elsewhere.iterdir())} is left")
    return Trial("done" if code == 0 else "refused")
