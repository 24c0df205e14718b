"""The readers on altered inputs, by a fixed seed: a bounded part of what `make fuzz` does for hours."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from fuzz_mutations import mutated
from fuzz_readers import TARGETS, kept, once

RUNS = {"models": 60, "banks": 60, "manifests": 30, "grammar": 60, "guessed": 120}


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read(name: str) -> None:
    target = TARGETS[name]
    for data in target.seeds():
        assert once(target, data) is None
    try:
        target.read(target.seeds()[0])
    except Exception as error:
        raise AssertionError(f"the first seed is refused: {error}") from error


@pytest.mark.parametrize("name", TARGETS)
def test_altered_inputs(name: str) -> None:
    target = TARGETS[name]
    seeds = [*target.seeds(), *kept(name)]
    for data in seeds:
        assert once(target, data) is None, data
    rng = random.Random(name)
    for _ in range(RUNS.get(name, 150)):
        data = mutated(rng, seeds, target.words, target.limit)
        error = once(target, data)
        if error is not None:
            raise AssertionError(f"{type(error).__name__} for {data!r}") from error


def test_every_header_of_the_core_is_in_a_target() -> None:
    here = Path(__file__).parent
    native = here.parents[1] / "native"
    seen, waiting = set(), [*here.glob("native_*.cpp")]
    while waiting:
        for name in re.findall(r'^#include "(.+)"', waiting.pop().read_text(encoding="utf-8"), re.MULTILINE):
            if name not in seen:
                seen.add(name)
                waiting.append(next(folder / name for folder in (native, here) if (folder / name).exists()))
    headers = {path.name for path in native.glob("*.hpp") if not path.name.startswith("bindings")}
    assert headers <= seen, "without a use in tests/fuzz/native_*.cpp"
