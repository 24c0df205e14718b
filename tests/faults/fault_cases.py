"""What writes: every command with every option that names an output, and every function of the library that is given a file's name.

A writer is run on a folder and leaves one output there, or none. `tests/faults/test_faults.py` sees that no command's output is missing here.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import treelet as tl
from conftest import run
from treelet.datasets import flights
from treelet.drawing import draw, forest_svg
from treelet.structures import RoleInstance, read_conllu, write_instances

TREES = 36
KERNEL = tl.SubsetTree(lam=0.4)
CONLLU = (
    "1\tcats\tcat\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tsleep\tsleep\tVERB\tVBP\t_\t0\troot\t_\t_\n"
    "3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_\n\n"
)


class Failed(Exception):
    """What became of a command: its exit code, and what it said."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(f"exit code {code}: {said}")
        self.code, self.said = code, said


class Writer(NamedTuple):
    """Something that writes a file, or a folder of files."""

    name: str
    output: str
    work: Callable[[Path], object]
    option: tuple[str, str] | None = None
    """The command and its parameter."""
    beside: tuple[str, ...] = ()
    """What may lie beside the output when it is complete."""
    begun: tuple[str, ...] = ()
    """What may lie there when it is not: the next run goes on with it."""
    whole: Callable[[Path], bool] | None = None
    """Whether an output is complete, where two runs do not give the same bytes."""


class Material(NamedTuple):
    """What writers read."""

    trees: Path
    data: Path
    model: Path
    grammar: Path
    text: Path
    small: Path
    classifier: Any
    pcfg: tl.PCFG


@cache
def bank(number: int = TREES) -> tl.Treebank:
    return flights(number, random_state=5)


@contextmanager
def material() -> Iterator[Material]:
    """Files in a folder of their own."""
    with TemporaryDirectory(prefix="treelet-faults-") as name:
        folder = Path(name)
        trees, data, model = folder / "trees.mrg", folder / "data.tsv", folder / "m.treelet"
        labels = [("long" if len(tree.leaves()) > 8 else "short") for tree in bank()]
        bank().write(trees)
        data.write_text(
            "".join(f"{label}\t{tree}\n" for label, tree in zip(labels, bank(), strict=True)), encoding="utf-8"
        )
        classifier = tl.KernelSVC(KERNEL).fit(bank(), labels)
        tl.save(classifier, model)
        pcfg = tl.PCFG.from_treebank(bank())
        grammar, text = folder / "g.json", folder / "sentences.txt"
        pcfg.save(grammar)
        text.write_text("".join(" ".join(tree.leaves()) + "\n" for tree in bank()[:12]), encoding="utf-8")
        small = folder / "small.mrg"
        bank()[:20].write(small)
        yield Material(trees, data, model, grammar, text, small, classifier, pcfg)


def command(*args: object) -> str:
    """A command in this process: what it printed, or `Failed`."""
    done = run(*args)
    if done.exit_code != 0:
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        raise Failed(done.exit_code, done.stderr)
    return str(done.stdout)


def writers(made: Material) -> list[Writer]:
    """All of them."""
    return [*_commands(made), *_functions(made)]


def _commands(m: Material) -> Iterator[Writer]:
    def of(name: str, parameter: str, output: str, *words: object, say: str = "", **options: Any) -> Writer:
        def work(folder: Path) -> object:
            return command(*name.split(), *(folder / output if word is OUT else word for word in words))

        return Writer(f"treelet {name} {say or output}", output, work, (name, parameter), **options)

    quiet = "--no-progress"
    parts = {"beside": ("K.npy.json",), "begun": ("K.npy.part", "K.npy.part.json")}
    small = ("--memory", "20kB", quiet)
    yield of("gram", "out", "K.npy", m.trees, "-o", OUT, quiet)
    yield of("gram", "out", "K.npy", m.trees, "-o", OUT, "--resume", *small, say="K.npy --resume", **parts)
    yield of("gram", "out", "K.tsv", m.trees, "-o", OUT, quiet)
    yield of("gram", "out", "K.csv", m.trees, "-o", OUT, quiet)
    yield of("train", "output", "m.treelet", m.data, "-o", OUT, quiet, whole=loads)
    yield of("predict", "output", "labels.txt", m.model, m.data, "-o", OUT, quiet)
    for kind in ("png", "svg", "pdf"):
        yield of("evaluate", "picture", f"confusion.{kind}", m.model, m.data, "--picture", OUT, quiet)
    yield of("explain", "output", "report.html", m.model, m.data, "-o", OUT, quiet, whole=is_page)
    here = Path(__file__).parent
    checked = (here, "--paths", here, "--no-cache", "--similarity", 1, "--min-lines", 100)  # finds nothing
    yield of("clones", "html", "clones.html", here, "--min-lines", 5, "--html", OUT, quiet, whole=is_page)
    yield of("clones", "output", "clones.html", here, "--min-lines", 5, "-o", OUT, quiet, whole=is_page)
    yield of("check", "html", "check.html", *checked, "--html", OUT, quiet, whole=is_page)
    yield of("check", "output", "check.html", *checked, "-o", OUT, quiet, whole=is_page)
    yield of("index create", "index", "trees.index", OUT, m.trees, quiet, whole=loads)
    yield of("parse", "output", "parses.mrg", "--grammar", m.grammar, m.text, "-o", OUT, quiet)
    yield of("parse", "output", "parses.mrg.gz", "--grammar", m.grammar, m.text, "-o", OUT, quiet)
    one = ("--grammar", m.grammar, "--text", " ".join(bank()[0].leaves()), quiet)
    for kind in ("svg", "png", "tex"):
        yield of("parse", "picture", f"tree.{kind}", *one, "--picture", OUT)
    for kind in ("svg", "png", "pdf", "tex"):
        yield of("compare", "picture", f"edits.{kind}", *map(str, bank()[:2]), "--edits", "--picture", OUT)
        yield of("draw", "output", f"drawn.{kind}", str(bank()[0]), "-o", OUT)
    yield of("parse", "save_grammar", "g.json", "--treebank", m.trees, "--save-grammar", OUT, quiet)
    tiny = ("--sizes", "20,8,8", "--k", "3", "--folds", "2", "--epochs", "1", "--lam", "0.3", "--logp", "0.1", quiet)
    yield of("rerank", "output", "report", m.trees, *tiny, "-o", OUT, whole=is_report)
    yield of("rerank", "save", "r.treelet", m.trees, *tiny, "--save", OUT, whole=loads)
    for name in ("out.mrg", "out.klp", "out.csv", "out.dat", "out.tsv.xz", "out.tsv.bz2"):
        kind = {"out.dat": ("--to", "svmlight_tk"), "out.mrg": ("--drop", "labels")}.get(name, ())
        yield of("convert", "target", name, m.data, OUT, *kind)


OUT = object()


def _functions(m: Material) -> Iterator[Writer]:
    def of(name: str, output: str, work: Callable[[Path], object], **options: Any) -> Writer:
        return Writer(name, output, lambda folder: work(folder / output), **options)

    def resumed(out: Path) -> None:
        tl.gram(KERNEL, bank(), out=out, resume=True, n_jobs=2, memory="20kB")

    forests = tl.ForestBank([m.pcfg.forest(bank()[0].leaves()), m.pcfg.forest(bank()[1].leaves())])
    tagged = tl.read_tagged(io.StringIO("the/D cat/N\na/D dog/N\n" * 50), "slashes")
    parses = read_conllu(io.StringIO(CONLLU * 30))
    instances = [RoleInstance(tree=bank()[0], predicate=1, arguments=[("ARG0", 0, 1)])] * 30
    picture = draw(bank()[0])
    yield of("tl.save(model)", "m.treelet", partial(tl.save, m.classifier))
    yield of("tl.save(index)", "i.index", partial(tl.save, tl.Nearest().fit(bank())), whole=loads)
    yield of("tl.save(bank)", "b.treelet", partial(tl.save, bank()))
    yield of("gram(n_jobs=2)", "K.npy", lambda out: tl.gram(KERNEL, bank(), out=out, n_jobs=2, dtype="float32"))
    begun = ("K.npy.part", "K.npy.part.json")
    yield of("gram(resume=True, n_jobs=2)", "K.npy", resumed, beside=("K.npy.json",), begun=begun)
    yield of("PCFG.save", "g.json.gz", m.pcfg.save)
    yield of("Treebank.write", "b.mrg", bank().write)
    yield of("ForestBank.write", "f.jsonl", forests.write)
    yield of("TaggedBank.write", "t.txt", tagged.write)
    yield of("DependencyBank.write", "d.conllu", parses.write)
    yield of("write_instances", "i.jsonl", partial(write_instances, instances))
    for kind in ("svg", "png", "pdf", "tex"):
        yield of(f"Drawing.save {kind}", f"p.{kind}", picture.save)
    yield of("forest_svg save", "f.svg", forest_svg(forests[0]).save)


# --- outputs in which there are times: whether they are complete ------------------------------------------------------


def loads(path: Path) -> bool:
    return tl.load(path) is not None


def is_page(path: Path) -> bool:
    return path.read_text(encoding="utf-8").rstrip().endswith("</html>")


def is_report(folder: Path) -> bool:
    """A folder with a report in it, each file of which is complete."""
    json.loads((folder / "report.json").read_text(encoding="utf-8"))
    pictures = [path.read_text(encoding="utf-8").rstrip().endswith("</svg>") for path in folder.glob("*.svg")]
    return is_page(folder / "report.html") and all(pictures)
