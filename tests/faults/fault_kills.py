"""Runs that are ended from outside, at random moments: killed, terminated, interrupted.

After each, every output is the old one or the new one, and whole. What was terminated or interrupted has tidied up and said so in a line;
what was killed may have left temporary files, which a later run removes after a day.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from fault_cases import KERNEL, Material, Writer, bank, command, is_report, loads
from fault_children import Child, forked, unblock
from fault_places import Snapshot, Trial, is_new, lay_old, snapshot

import treelet as tl

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
LAST = 60.0
"""Seconds in which whoever was told to end must have ended."""
LEFT = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}\.tmp")


class Victim(NamedTuple):
    """What is run and ended: a command, or a function in a child of this process."""

    writer: Writer
    words: tuple[str, ...] = ()


def commands(m: Material, folder: Path) -> list[Victim]:
    """Commands that take about a second, on more trees."""
    trees, data = folder / "many.mrg", folder / "many.tsv"
    many = bank(400)
    many.write(trees)
    data.write_text("".join(f"{'long' if len(t.leaves()) > 8 else 'short'}\t{t}\n" for t in many), encoding="utf-8")

    def of(name: str, output: str, *words: object, **options: Any) -> Victim:
        def work(folder: Path) -> None:
            folder.mkdir()
            command(*(folder / word if word == output else word for word in words))
            shutil.rmtree(folder)

        return Victim(Writer(name, output, work, **options), ("-m", "treelet", *map(str, words)))

    npy = {"beside": ("K.npy.json",), "begun": ("K.npy.part", "K.npy.part.json")}
    pt = ("gram", trees, "-k", "pt", "--no-normalize", "-j", "2", "--memory", "2MB")
    small = ("--sizes", "60,20,20", "--k", "5", "--folds", "2", "--epochs", "1", "--lam", "0.3", "--logp", "0.1")
    return [
        of("treelet gram K.npy", "K.npy", *pt, "-o", "K.npy"),
        of("treelet gram K.npy --resume", "K.npy", *pt, "-o", "K.npy", "--resume", **npy),
        of("treelet train", "m.treelet", "train", data, "-o", "m.treelet", "-j", "2", whole=loads),
        of("treelet rerank", "report", "rerank", *small, "-o", "report", whole=is_report),
    ]


# --- commands -----------------------------------------------------------------------------------------------------------


def ended(victim: Victim, number: int, seed: int = 0, real: bool = True) -> Iterator[Trial]:
    """So many ends of a command; after every three, one run that comes to its own. `real`: as a program, else in a child of this one."""
    rng = random.Random(f"{victim.writer.name} {seed}")
    with TemporaryDirectory(prefix="treelet-faults-") as name:
        folder, elsewhere = Path(name) / "here", Path(name) / "tmp"
        folder.mkdir(), elsewhere.mkdir()
        if not real:  # what modules there are, this process has loaded
            victim.writer.work(elsewhere / "first")
        begin = time.monotonic()
        done = _start(victim, folder, elsewhere, real)
        said = done.communicate(timeout=10 * LAST)[1]
        lasts, new = time.monotonic() - begin, snapshot(folder)
        if done.returncode != 0:
            raise AssertionError(f"{victim.writer.name}: exit code {done.returncode}: {said}")
        _lay(victim.writer, folder)
        for k in range(number):
            how = SIGNALS[(k + k // 3) % 3]
            before = snapshot(folder)
            process = _start(victim, folder, elsewhere, real)
            _wait(rng, process, folder, lasts, watched=k % 2 == 1)
            code, said, gone = _end(process, how)
            wrong = _wrong_words(how, code, said, gone) or _wrong_files(victim.writer, folder, new, before, how, code)
            if not wrong and how is not signal.SIGKILL and any(elsewhere.iterdir()):
                wrong = f"{sorted(path.name for path in elsewhere.iterdir())} is left where temporary files are"
            yield Trial("wrong" if wrong else "had ended" if gone else "ended", f"{how.name}: {wrong}" if wrong else "")
            if k % 3 == 2 or k == number - 1:
                process = _start(victim, folder, elsewhere, real)
                said = process.communicate(timeout=10 * LAST)[1]
                _tidy(folder)
                wrong = (
                    f"exit code {process.returncode}: {said}"
                    if process.returncode
                    else is_new(victim.writer, folder, new)
                )
                yield Trial("wrong" if wrong else "gone on with", f"after {how.name}: {wrong}" if wrong else "")
                _lay(victim.writer, folder)


def _start(victim: Victim, folder: Path, elsewhere: Path, real: bool = True) -> subprocess.Popen[str] | Child:
    if not real:
        return Child(victim.words[2:], folder, elsewhere)
    environment = os.environ | {"TMPDIR": str(elsewhere), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *victim.words], cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def _tidy(folder: Path) -> None:
    """Remove what killed runs left, as a run on the next day would."""
    for one in folder.iterdir():
        if LEFT.fullmatch(one.name):
            shutil.rmtree(one) if one.is_dir() else one.unlink()


def _lay(writer: Writer, folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
    lay_old(writer, folder)


def _wait(
    rng: random.Random, process: subprocess.Popen[str] | Child, folder: Path, lasts: float, watched: bool
) -> None:
    """Until a random moment of its life; or until a little after it began to write."""
    if not watched:
        time.sleep(rng.uniform(0.0 if isinstance(process, subprocess.Popen) else 0.005, 1.05 * lasts))
        return
    there, end = _names(folder), time.monotonic() + 3 * lasts
    while process.poll() is None and time.monotonic() < end and _names(folder) <= there:
        time.sleep(0.002)
    time.sleep(rng.expovariate(5 / lasts))


def _names(folder: Path) -> set[str]:
    """All below it; what goes away meanwhile is passed over."""
    return {os.path.join(place, name) for place, folders, files in os.walk(folder) for name in (*folders, *files)}


def _end(process: subprocess.Popen[str] | Child, how: signal.Signals) -> tuple[int, str, bool]:
    gone = process.poll() is not None
    with suppress(ProcessLookupError):
        process.send_signal(how)
    try:
        said = process.communicate(timeout=LAST)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return 0, f"it has not ended after {LAST:.0f} s", False
    return process.returncode, said, gone


def _wrong_words(how: signal.Signals, code: int, said: str, gone: bool) -> str:
    """What is wrong with the exit code, or with what was said."""
    said = "".join(line for line in said.splitlines(keepends=True) if not line.startswith("No TREEBANK was passed."))
    if gone or code == 0:  # it was done by then
        return f"done, and it says {said!r}" if "Traceback" in said or "terminate" in said else ""
    codes = {signal.SIGKILL: (-9,), signal.SIGTERM: (143, -15), signal.SIGINT: (130,)}[how]
    if (
        how is signal.SIGINT
        and "Traceback" in said
        and "treelet" not in said.partition("Traceback")[2].replace("-m treelet", "")
    ):
        return ""  # the interpreter was starting, and nothing of ours had begun
    if code == -2 and "Traceback" not in said:
        return ""
    if code not in codes:
        return f"exit code {code}: {said!r}"
    if any(word in said for word in ("Traceback", "terminate called", "Exception ignored", "error")):
        return f"it says {said!r}"
    last = said.splitlines()[-1:]  # none, where the command had not begun
    return f"it says {said!r}" if how is signal.SIGINT and last not in ([], ["treelet: interrupted"]) else ""


def _wrong_files(writer: Writer, folder: Path, new: Snapshot, before: Snapshot, how: signal.Signals, code: int) -> str:
    """What is wrong with what lies there."""
    there = snapshot(folder)
    kept = (writer.output, *writer.beside, *writer.begun)
    loose = {name.partition("/")[0] for name in there} - set(kept)
    allowed = {name for name in loose if (found := LEFT.fullmatch(name)) and found["name"] in kept}
    allowed |= loose & {f".{writer.output}{end}.treelet-new" for end in (".part.json", ".json")}
    allowed |= loose & {f".{writer.output}.treelet-lock"}
    earlier = {name.partition("/")[0] for name in before}
    if how is not signal.SIGKILL and code in (130, 143):
        allowed &= earlier
    if loose - allowed:
        return f"{sorted(loose - allowed)} is left"
    output = {name: content for name, content in there.items() if name.partition("/")[0] == writer.output}
    old = {name: content for name, content in before.items() if name.partition("/")[0] == writer.output}
    if output == old:
        return ""
    if writer.output == "report":  # each of its files is the old or a whole new one
        ends = (b">", b"}", b".", b"|")
        bad = [n for n, content in output.items() if content != old.get(n) and content.rstrip()[-1:] not in ends]
        return f"{bad} is not whole" if bad else ""
    if writer.whole is not None:
        return "" if writer.whole(folder / writer.output) else "it is not whole"
    mine = {name: content for name, content in new.items() if name.partition("/")[0] == writer.output}
    return "" if output == mine else "it is neither the old one nor the new one"


# --- functions, in children that begin where they are called ------------------------------------------------------------


def saves(m: Material, number: int, seed: int = 0) -> Iterator[Trial]:
    """Two models that are saved under one name in turn, for ever; and then killed. It is always one of them."""
    rng = random.Random(seed)
    other = tl.KernelSVC(KERNEL).fit(bank()[:12], ["a", "b"] * 6)
    with TemporaryDirectory(prefix="treelet-faults-") as name:
        path = Path(name) / "m.treelet"

        def work() -> int:
            unblock()
            while True:
                tl.save(m.classifier, path)
                tl.save(other, path)

        tl.save(m.classifier, path)
        good = [path.read_bytes()]
        tl.save(other, path)
        good.append(path.read_bytes())
        for k in range(number):
            child = forked(work)
            time.sleep(rng.uniform(0.001, 0.03))
            os.kill(child, SIGNALS[k % 3])
            os.waitpid(child, 0)
            wrong = "" if path.read_bytes() in good else "it is neither of the two"
            wrong = wrong or ("" if tl.load(path) is not None else "it cannot be loaded")
            tl.save(m.classifier, path)
            _tidy(path.parent)
            if not wrong and len(os.listdir(name)) != 1:
                wrong = f"{os.listdir(name)} is there"
            yield Trial("wrong" if wrong else "ended", wrong)


def matrices(output: str, number: int, resume: bool, seed: int = 0) -> Iterator[Trial]:
    """A matrix that is killed again and again until it is there, and then is the one that it is without."""
    rng = random.Random(f"{output} {resume} {seed}")
    kernel, trees = tl.PartialTree(), bank(120)
    options: dict[str, Any] = {"resume": resume, "memory": "300kB", "n_jobs": 2}
    with TemporaryDirectory(prefix="treelet-faults-") as name:
        whole, path = Path(name) / f"whole{Path(output).suffix}", Path(name) / output
        begin = time.monotonic()
        wanted = np.array(tl.gram(kernel, trees, out=whole, **options)[:])
        lasts = time.monotonic() - begin
        beside = {whole.name, f"{whole.name}.json"} if resume else {whole.name}

        def work() -> int:
            unblock()
            tl.gram(kernel, trees, out=path, **options)
            return 0

        for k in range(number):
            child = forked(work)
            time.sleep(rng.uniform(0.0, lasts))
            os.kill(child, signal.SIGKILL if k % 4 else signal.SIGINT)
            os.waitpid(child, 0)
            wrong = ""
            if path.exists() and not np.array_equal(_read(path), wanted):
                wrong = "what has its name is not complete"
            yield Trial("wrong" if wrong else "ended", wrong)
            if path.exists() or k == number - 1 or rng.random() < 0.2:
                found = np.array(tl.gram(kernel, trees, out=path, **options)[:])
                _tidy(Path(name))
                left = set(os.listdir(name)) - beside - ({output, f"{output}.json"} if resume else {output})
                wrong = "" if np.array_equal(found, wanted) else "it is another"
                wrong = wrong or (f"{sorted(left)} is left" if left else "")
                yield Trial("wrong" if wrong else "gone on with", wrong)
                for one in (path, Path(f"{path}.json")):
                    shutil.rmtree(one) if one.is_dir() else one.unlink(missing_ok=True)


def _read(path: Path) -> Any:
    from treelet.matrices.stored import _NpyFile

    return np.array(_NpyFile.opened(path))


# --- the explorer -----------------------------------------------------------------------------------------------------


def explorers(m: Material, number: int, seed: int = 0) -> Iterator[Trial]:
    """Its port is free again, and nothing is left."""
    rng = random.Random(seed)
    with TemporaryDirectory(prefix="treelet-faults-") as name:
        folder = Path(name)
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        words = ("-m", "treelet", "explore", str(m.model), "--data", str(m.data), "--port", str(port), "--no-browser")
        victim = Victim(Writer("treelet explore", "", lambda folder: None), words)
        for k in range(number):
            how = SIGNALS[k % 3]
            process = _start(victim, folder, folder)
            assert isinstance(process, subprocess.Popen)
            assert process.stderr is not None
            said = ""
            if k % 4 != 3:
                said = process.stderr.readline()
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as line:
                    line.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                    line.recv(100)
            time.sleep(rng.uniform(0.0, 0.5 if said else 2.0))
            code, rest, gone = _end(process, how)
            rest = "".join(line for line in rest.splitlines(keepends=True) if not line.startswith("treelet explorer: "))
            wrong = ""
            if gone or (said and not said.startswith("treelet explorer: ")):
                wrong = f"it ended by itself, {code}: {said}{rest}"
            elif code == 0 and how is signal.SIGINT:  # Ctrl-C is how it is left
                wrong = "" if rest == "stopped\n" else f"it says {rest!r}"
            else:
                wrong = _wrong_words(how, code, rest, gone) if code else f"exit code 0 after {how.name}"
            if not wrong and snapshot(folder):
                wrong = f"{sorted(snapshot(folder))} is left"
            with socket.socket() as again:
                again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    again.bind(("127.0.0.1", port))
                except OSError as error:
                    wrong = wrong or f"its port is not free: {error}"
            yield Trial("wrong" if wrong else "ended", f"{how.name}: {wrong}" if wrong else "")


# --- workers elsewhere ------------------------------------------------------------------------------------------------

CLIENT = """
import sys
from distributed import Client
import treelet as tl
from treelet.datasets import flights
with Client(sys.argv[1]) as client:
    print("ready", file=sys.stderr, flush=True)
    tl.gram(tl.PartialTree(), flights(400, random_state=5), out=sys.argv[2], resume=True, client=client)
"""


def clusters(number: int, seed: int = 0) -> Iterator[tuple[str, Trial]]:
    """A Dask cluster of two workers: its clients are killed, and its workers; the matrix is the one that threads compute."""
    import dask
    from distributed import Client, LocalCluster

    rng = random.Random(seed)
    settings = {"distributed.comm.timeouts.connect": "5s", "distributed.deploy.lost-worker-timeout": "10 minutes"}
    settings["distributed.scheduler.allowed-failures"] = 20
    with (
        TemporaryDirectory(prefix="treelet-faults-") as name,
        dask.config.set(settings),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        folder, elsewhere = Path(name) / "here", Path(name) / "tmp"
        folder.mkdir(), elsewhere.mkdir()
        wanted = np.array(tl.gram(tl.PartialTree(), bank(400), out=Path(name) / "whole.npy", resume=True, n_jobs=2))
        path, address = folder / "K.npy", cluster.scheduler_address
        victim = Victim(Writer("client", "K.npy", lambda folder: None), ("-c", CLIENT, address, str(path)))
        for k in range(number):
            process = _start(victim, folder, elsewhere)
            assert isinstance(process, subprocess.Popen)
            assert process.stderr is not None
            process.stderr.readline()
            time.sleep(rng.uniform(0.0, 0.8))
            if k % 2:
                pids = list(client.run(os.getpid, on_error="ignore").values())
                if pids:
                    os.kill(rng.choice(pids), signal.SIGKILL)
                said = process.communicate(timeout=5 * LAST)[1]
                wrong = f"exit code {process.returncode}: {said}" if process.returncode else ""
                wrong = wrong or _wrong_matrix(path, wanted)
                yield "a Dask worker", Trial("wrong" if wrong else "ended", wrong)
                client.wait_for_workers(2, timeout=LAST)
            else:
                gone = process.poll() is not None
                process.kill()
                process.communicate()
                wrong = _wrong_matrix(path, wanted) if path.exists() else ""
                yield "a Dask client", Trial("wrong" if wrong else "had ended" if gone else "ended", wrong)
                tl.gram(tl.PartialTree(), bank(400), out=path, resume=True, client=client)
                wrong = _wrong_matrix(path, wanted)
                yield "a Dask client", Trial("wrong" if wrong else "gone on with", wrong)
            for one in folder.iterdir():
                one.unlink()


def _wrong_matrix(path: Path, wanted: Any) -> str:
    _tidy(path.parent)
    left = {file.name for file in path.parent.iterdir()} - {
        path.name,
        f"{path.name}.json",
        f".{path.name}.treelet-lock",
    }
    if not np.array_equal(np.load(path), wanted):
        return "it is another"
    return f"{sorted(left)} is left" if left - {f"{path.name}.part.json"} else ""
