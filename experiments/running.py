"""Running an experiment: what it needs is looked for first, and what it found is written before it is drawn."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments import EXPERIMENTS, report
from experiments.sources import digest
from treelet.datasets.loaders import corpus
from treelet.errors import ParameterError
from treelet.formats.temporary import naming

Say = Callable[[str], None]


def checked(name: str, options: dict[str, Any], out: Path | None) -> tuple[ModuleType, ModuleType]:
    """What measures and what tells, once the name, the options, the corpora and the pictures are known to work."""
    if name not in EXPERIMENTS:
        raise ParameterError(f"there is no experiment {name!r}: choose one of {', '.join(EXPERIMENTS)}")
    experiment = EXPERIMENTS[name]
    for key in options:
        if key not in experiment.options:
            raise ParameterError(f"the experiment {name} has no option --{key}")
    for needed in experiment.data:
        corpus(needed)
    if out is not None:
        if find_spec("matplotlib") is None:
            raise ParameterError("pictures need matplotlib: pip install 'treelet[viz]', or leave --out away")
        out.mkdir(parents=True, exist_ok=True)
    return import_module(f"experiments.{experiment.module}"), telling(name)


def telling(name: str) -> ModuleType:
    """The module that makes the page, the picture and the claims of an experiment."""
    return import_module(f"experiments.{EXPERIMENTS[name].module}_page")


def run(
    name: str,
    *,
    quick: bool = False,
    n_jobs: int = 1,
    seed: int = 0,
    say: Say = lambda text: None,
    out: Path | None = None,
    **options: Any,
) -> tuple[dict[str, Any], str]:
    """Run an experiment; what it found, ready for JSON, and as a Markdown page.

    With `out`, ``NAME.json``, ``NAME.items.json.xz``, ``NAME.md`` and ``NAME.png`` are written to that folder.
    """
    options = {key: value for key, value in options.items() if value not in (None, False)}
    measuring, tells = checked(name, options, out)
    wall, cpu = time.perf_counter(), time.process_time()
    given = dict(EXPERIMENTS[name].given)
    if "folder" in signature(measuring.run).parameters:  # where finished parts are kept
        given["folder"] = out
    found = measuring.run(quick=quick, n_jobs=n_jobs, seed=seed, say=say, **given, **options)
    items = found.pop("items", [])
    stem = "-".join([name, *(Path(str(options[key])).name.split(".")[0] for key in ("treebank", "nbest") if key in options)])  # fmt: skip
    results = found | {
        "experiment": name,
        "stem": stem,
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu + found.get("cpu_seconds_before", 0.0),
        "made_by": report.provenance(_command(name, quick, options)),
        "quick": quick,
        "seed": seed,
    }
    results = json.loads(json.dumps(results))  # as a page sees it later
    page = tells.page(results)
    if out is not None:
        written = report.write(out, stem, results, page, items)
        picture = out / f"{stem}.png"
        tells.picture(results, picture)
        say(f"written: {', '.join(str(path) for path in (*written, picture))}")
    return results, page


def _command(name: str, quick: bool, options: dict[str, Any]) -> str:
    """The command that runs it again; files by their names only."""
    given = [f"--{key}" if value is True else f"--{key} {Path(str(value)).name}" for key, value in options.items()]
    return " ".join(["python -m experiments", name, *given, *(["--quick"] if quick else [])])


class Kept:
    """Finished parts on disk, one a line with its checksum, so that an interrupted run goes on where it was, if the code is the same."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self.done: dict[int, dict[str, Any]] = {}
        self.file = None if folder is None else folder / f".{name}-{digest()}.partial"
        if self.file is not None and self.file.exists():
            for line in self.file.read_bytes().splitlines():
                said, _, text = line.partition(b" ")
                if said == b"%08x" % zlib.crc32(text):  # else it was being written, or is not as it was
                    number, result = json.loads(text)
                    self.done[number] = result

    def add(self, number: int, result: dict[str, Any]) -> None:
        self.done[number] = result
        if self.file is not None:
            text = json.dumps([number, result]).encode()
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with naming(self.file, self.file), open(self.file, "ab") as stream:
                stream.write(b"\n%08x %s\n" % (zlib.crc32(text), text))  # what is before may have no end

    def forget(self) -> None:
        if self.file is not None:
            self.file.unlink(missing_ok=True)
