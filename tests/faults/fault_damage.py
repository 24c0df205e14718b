"""Files that are kept and come back damaged: bits flipped, cut short, blocks zeroed or swapped, gone.

What reads them must refuse, or compute again what was there; what it gives must be what it was, to the bit. Files of texts that people
write (trees, tables, rules) have no place for a checksum, and are not tried here.
"""

from __future__ import annotations

import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from fault_cases import KERNEL, Material, bank
from fault_places import Snapshot, Trial, snapshot

import treelet as tl
from treelet.errors import TreeletError
from treelet.matrices.stored import _NpyFile

FAST = Path("/dev/shm")
"""Where syncing costs nothing, if it is there."""


class Kept(NamedTuple):
    """Files in a folder, what reads them, and whether that is what it should be."""

    name: str
    make: Callable[[Path], object]
    use: Callable[[Path], object]
    same: Callable[[Any], bool]


# --- damage -----------------------------------------------------------------------------------------------------------


def damaged(rng: random.Random, data: bytes) -> bytes | None:
    """The same bytes, but for something; None for a file that is gone."""
    new = bytearray(data)
    what = rng.randrange(12)
    at = rng.randrange(len(new)) if new else 0
    if what < 5 and new:  # what disks, memory and cables do
        for _ in range(1 if what < 3 else rng.randrange(2, 5)):
            new[rng.randrange(len(new))] ^= 1 << rng.randrange(8)
    elif what == 5 and new:
        new[at] = (new[at] + rng.randrange(1, 256)) % 256
    elif what == 6:
        del new[at:]
    elif what == 7:
        new.clear()
    elif what == 8:
        size = rng.choice((8, 64, 512, 4096))
        new[at : at + size] = b"\0" * len(new[at : at + size])
    elif what == 9:  # two pieces in each other's place
        size = rng.choice((8, 64, 256))
        to = rng.randrange(len(new)) if new else 0
        first, second = bytes(new[at : at + size]), bytes(new[to : to + size])
        if len(first) == len(second) and abs(at - to) >= size:
            new[at : at + size], new[to : to + size] = second, first
    elif what == 10:
        new += bytes(rng.randrange(256) for _ in range(rng.randrange(1, 40)))
    else:
        return None
    return bytes(new)


def trials(kept: Kept, number: int, seed: int = 0) -> Iterator[Trial]:
    """So many damaged copies."""
    rng = random.Random(f"{kept.name} {seed}")
    with TemporaryDirectory(prefix="treelet-faults-", dir=FAST if FAST.is_dir() else None) as name:
        folder = Path(name) / "kept"
        folder.mkdir()
        kept.make(folder)
        whole = snapshot(folder)
        files = sorted(whole)
        yield _used(kept, folder, "whole")
        made = 0
        while made < number:
            victim = rng.choice(files)
            content = damaged(rng, whole[victim])
            if content == whole[victim]:
                continue
            made += 1
            _lay(folder, whole)
            if content is None:
                (folder / victim).unlink()
            else:
                (folder / victim).write_bytes(content)
            found = _used(kept, folder, victim)
            yield (
                found._replace(wrong=f"{found.wrong} ({victim}, copy {made} of seed {seed})") if found.wrong else found
            )


def _lay(folder: Path, whole: Snapshot) -> None:
    shutil.rmtree(folder)
    for name, content in whole.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _used(kept: Kept, folder: Path, victim: str) -> Trial:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = kept.use(folder)
        except TreeletError:
            return Trial(
                "refused" if victim != "whole" else "wrong", "" if victim != "whole" else "it is refused whole"
            )
        except Exception as error:
            return Trial("wrong", f"{type(error).__name__}: {error}")
        if not kept.same(found):
            return Trial("wrong", "another value, and nobody was told")
    return Trial("done again" if told else "no matter")


# --- what is kept -----------------------------------------------------------------------------------------------------


class _Ended(BaseException):
    """A run that is ended."""


@contextmanager
def ended_after(kind: type[_NpyFile], tiles: int, method: str = "write") -> Iterator[None]:
    """A run is ended when it has written, or mirrored, so many tiles; what is done by then is known to be."""
    left, whole = tiles, getattr(kind, method)

    def ending(self: Any, *arguments: Any) -> None:
        nonlocal left
        if left == 0:
            raise _Ended
        left -= 1
        whole(self, *arguments)

    with suppress(_Ended), mock.patch.object(kind, method, ending):
        yield


def all_kept(m: Material) -> list[Kept]:
    trees = bank()
    scores, expected = m.classifier.decision_function(trees), np.array(KERNEL(trees))
    options: dict[str, Any] = {"resume": True, "memory": "20kB"}
    stored = _matrix(trees, **options)

    def whole(name: str) -> Callable[[Path], object]:
        return lambda folder: tl.gram(KERNEL, trees, out=folder / name, **options)

    def begun(name: str, kind: type[_NpyFile], tiles: int) -> Callable[[Path], object]:
        def make(folder: Path) -> None:
            with ended_after(kind, tiles):
                tl.gram(KERNEL, trees, out=folder / name, **options)

        return make

    def is_stored(found: Any) -> bool:
        return np.array_equal(found, stored)

    return [
        Kept(
            "a model",
            lambda folder: tl.save(m.classifier, folder / "m.treelet"),
            lambda folder: tl.load(folder / "m.treelet").decision_function(trees),
            lambda found: np.array_equal(found, scores),
        ),
        Kept(
            "a bank",
            lambda folder: tl.save(trees, folder / "b.treelet"),
            lambda folder: tl.load(folder / "b.treelet"),
            lambda found: found == trees,
        ),
        Kept(
            "a grammar",
            lambda folder: m.pcfg.save(folder / "g.json"),
            lambda folder: tl.PCFG.load(folder / "g.json"),
            lambda found: found == m.pcfg,
        ),
        *(
            Kept(
                f"packed trees, {end}",
                lambda folder, end=end: trees.write(folder / f"b.mrg{end}"),
                lambda folder, end=end: tl.read_trees(folder / f"b.mrg{end}"),
                lambda found: found == trees,
            )
            for end in (".gz", ".xz", ".bz2")
        ),
        Kept("a matrix, .npy", whole("K.npy"), lambda f: np.array(whole("K.npy")(f)), is_stored),
        Kept(
            "a matrix that was begun, .npy",
            begun("K.npy", _NpyFile, 9),
            lambda f: np.array(whole("K.npy")(f)),
            is_stored,
        ),
        Kept(
            "a matrix that is mirrored",
            _half_mirrored(trees, options),
            lambda f: np.array(whole("K.npy")(f)),
            is_stored,
        ),
        Kept("an experiment that was interrupted", _experiment, _experiment_again, lambda found: found == RESULTS),
    ] + ([] if np.allclose(stored, expected) else [1 / 0])  # type: ignore[list-item]


def _matrix(trees: Any, **options: Any) -> Any:
    with TemporaryDirectory() as name:
        return np.array(tl.gram(KERNEL, trees, out=Path(name) / "K.npy", **options))


def _half_mirrored(trees: Any, options: dict[str, Any]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        with ended_after(_NpyFile, 4, "mirror"):
            tl.gram(KERNEL, trees, out=folder / "K.npy", **options)

    return make


RESULTS = {number: {"scores": [number / 7, 1 - number / 7], "name": "split"} for number in range(6)}


def _experiment(folder: Path) -> None:
    from experiments.writing import Checkpoint

    splits = Checkpoint(folder, "faults")
    for number in range(4):
        splits.add(number, RESULTS[number])


def _experiment_again(folder: Path) -> object:
    from experiments.writing import Checkpoint

    splits = Checkpoint(folder, "faults")
    for number, result in RESULTS.items():
        if number not in splits.done:
            splits.add(number, result)
    return splits.done
