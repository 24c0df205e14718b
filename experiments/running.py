"""Running an experiment. Requirements are checked first, and results are written before pictures are drawn."""

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
from experiments.data import corpus
from experiments.sources import digest
from treelet.checks import suggestion
from treelet.errors import ParameterError
from treelet.formats.files import naming

Say = Callable[[str], None]


def checked(name: str, options: dict[str, Any], out: Path | None) -> tuple[ModuleType, ModuleType]:
    """Check the name, the options, the corpora and matplotlib. Return the modules that measure and that write pages."""
    if name not in EXPERIMENTS:
        raise ParameterError(
            f"There is no experiment {name!r}.{suggestion(name, EXPERIMENTS)} Choose one of {', '.join(EXPERIMENTS)}."
        )
    experiment = EXPERIMENTS[name]
    for key in options:
        if key not in experiment.options:
            raise ParameterError(f"The experiment {name} has no option --{key}. Remove the option.")
    for needed in experiment.data:
        corpus(needed)
    if out is not None:
        if find_spec("matplotlib") is None:
            raise ParameterError(
                "matplotlib is not installed, but --out writes a picture. Run pip install 'treelet[viz]', or omit --out."
            )
        out.mkdir(parents=True, exist_ok=True)
    return import_module(f"experiments.{experiment.module}"), telling(name)


def telling(name: str) -> ModuleType:
    """Return the module with the page, the picture and the claims of an experiment."""
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
    """Run an experiment. Return the results, ready for JSON, and the Markdown page.

    With `out`, the files ``NAME.json``, ``NAME.items.json.xz``, ``NAME.md`` and ``NAME.png`` are written
    to that folder.
    """
    options = {key: value for key, value in options.items() if value not in (None, False)}
    measuring, tells = checked(name, options, out)
    wall, cpu = time.perf_counter(), time.process_time()
    given = dict(EXPERIMENTS[name].given)
    if "folder" in signature(measuring.run).parameters:  # the folder for finished parts
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
    results = json.loads(json.dumps(results))  # the form in which pages read it later
    page = tells.page(results)
    if out is not None:
        written = report.write(out, stem, results, page, items)
        picture = out / f"{stem}.png"
        tells.picture(results, picture)
        say(f"written: {', '.join(str(path) for path in (*written, picture))}")
    return results, page


def _command(name: str, quick: bool, options: dict[str, Any]) -> str:
    """Return the command that repeats the run, with file names instead of paths."""
    given = [f"--{key}" if value is True else f"--{key} {Path(str(value)).name}" for key, value in options.items()]
    return " ".join(["python -m experiments", name, *given, *(["--quick"] if quick else [])])


class Kept:
    """Finished parts on disk, one per line with a checksum. An interrupted run resumes if the code is unchanged."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self.done: dict[int, dict[str, Any]] = {}
        self.file = None if folder is None else folder / f".{name}-{digest()}.partial"
        if self.file is not None and self.file.exists():
            for line in self.file.read_bytes().splitlines():
                checksum, _, text = line.partition(b" ")
                if checksum == b"%08x" % zlib.crc32(text):  # otherwise the line is incomplete or damaged
                    number, result = json.loads(text)
                    self.done[number] = result

    def add(self, number: int, result: dict[str, Any]) -> None:
        self.done[number] = result
        if self.file is not None:
            text = json.dumps([number, result]).encode()
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with naming(self.file, self.file), open(self.file, "ab") as stream:
                stream.write(b"\n%08x %s\n" % (zlib.crc32(text), text))  # the previous line may be incomplete

    def forget(self) -> None:
        if self.file is not None:
            self.file.unlink(missing_ok=True)
