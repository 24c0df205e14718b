"""An index that is changed by a process that is killed at random moments.

The process writes a line before each change and a line after it, when the change was acknowledged. After
each kill the index must open, in both modes, with exactly the ids after the last acknowledged change, or
after the change that had begun; its neighbors must be those of a new index over the same trees.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import treelet as tl
from cases import random_tree

KERNEL = tl.SubsetTree(lam=0.4).normalized()


def tree_of(name: int) -> str:
    """Return the tree with this id, always the same one."""
    return str(random_tree(np.random.default_rng(name), 12))


def change(search: tl.Nearest, dice: random.Random, next_id: int) -> tuple[Any, Any]:
    """Return a random change, as a description and a function."""
    ids = search.ids_.tolist()
    kind = dice.choice(["add", "add", "remove", "compact"])
    if kind == "add" or len(ids) < 20:
        new = list(range(next_id, next_id + dice.choice([1, 5, 40, 300])))
        return ["add", new], lambda: search.partial_fit([tree_of(name) for name in new], ids=new)
    if kind == "remove":
        gone = dice.sample(ids, dice.choice([1, 5, len(ids) // 4]))
        return ["remove", gone], lambda: search.remove(gone)
    return ["compact", []], search.compact


def child(folder: str, seed: int, next_id: int) -> None:
    """Change the index until killed."""
    dice = random.Random(seed)
    with tl.load(folder, mode="a") as search:
        while True:
            described, apply = change(search, dice, next_id)
            print(json.dumps(["begin", *described]), flush=True)
            apply()
            print(json.dumps(["done"]), flush=True)
            next_id = max(next_id, *described[1], 0) + 1


def changed(ids: list[int], kind: str, names: list[int]) -> list[int]:
    if kind == "add":
        return [*ids, *names]
    gone = set(names)
    return [name for name in ids if name not in gone] if kind == "remove" else ids


def kills(count: int, seed: int = 0, longest: float = 0.6) -> dict[str, int]:
    """Kill a process many times, and check the index after each kill. Return how often each state was found."""
    dice = random.Random(seed)
    found = {"kills": 0, "before": 0, "after": 0, "changes": 0, "add": 0, "remove": 0, "compact": 0}
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "index.treelet"
        ids, next_id = list(range(50)), 50
        tl.save(tl.Nearest(KERNEL, n_neighbors=3).fit([tree_of(name) for name in ids], ids=ids), folder)
        while found["kills"] < count:
            words = [sys.executable, __file__, str(folder), str(dice.randrange(10**9)), str(next_id)]
            process = subprocess.Popen(
                words, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
            )
            assert process.stdout is not None
            first = process.stdout.readline()  # so that the time does not end before the first change
            time.sleep(dice.random() * longest)
            process.send_signal(signal.SIGKILL)
            lines = [first, *process.stdout.read().splitlines(keepends=True)]
            process.wait()
            pending: tuple[str, list[int]] | None = None
            for line in lines:
                if not line.endswith("\n"):
                    break
                kind, *rest = json.loads(line)
                if kind == "begin":
                    pending = (rest[0], rest[1])
                    next_id = max(next_id, *rest[1], 0) + 1
                elif pending is not None:
                    ids, pending = changed(ids, *pending), None
                    found["changes"] += 1
            states = [ids] + ([changed(ids, *pending)] if pending is not None else [])
            for mode in ("r", None):
                opened = tl.load(folder, mode=mode)
                now = opened.ids_.tolist()
                assert now in states, (mode, len(now), [len(state) for state in states])
                queries = [tree_of(name) for name in dice.sample(range(next_id), 2)]
                fresh = tl.Nearest(KERNEL, n_neighbors=3).fit([tree_of(name) for name in now], ids=now)
                for ours, theirs in zip(opened.kneighbors(queries), fresh.kneighbors(queries), strict=True):
                    np.testing.assert_array_equal(ours, theirs)
            if pending is not None:
                found["before" if now == ids else "after"] += 1
                found[pending[0]] += 1
            ids = now
            found["kills"] += 1
            if found["kills"] % 25 == 0:
                print(found, flush=True)
            if len(ids) > 3000:  # keep the checks quick
                with tl.load(folder, mode="a") as search:
                    search.remove(ids[:2500])
                ids = ids[2500:]
        with tl.load(folder, mode="a") as search:
            search.compact()
        left = sorted(path.suffix for path in folder.iterdir())
        assert left == [".map", ".treelet", ".trees"], left  # no file of a killed process remains
    return found


if __name__ == "__main__":
    if len(sys.argv) > 2:
        child(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        print(kills(int(sys.argv[1]) if len(sys.argv) > 1 else 300, seed=os.getpid()))
