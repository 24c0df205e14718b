"""The tagger: its k best are those of all tag sequences, scored one by one."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import ROOT, first_lines
from definitions.derivations import tag_score
from treelet.parsing import HMM
from treelet.testing import tagged

TEXTS = ["the/D dog/N barks/V", "the/D cat/N sleeps/V", "dogs/N bark/V", "a/D dog/N sleeps/V", "she/P barks/V"]


@settings(max_examples=60)
@given(
    st.lists(tagged(tags=("N", "V", "D"), words=("x", "y", "z")), min_size=1, max_size=6),
    st.lists(st.sampled_from(["x", "y", "z", "new"]), min_size=1, max_size=5),
    st.sampled_from([1, 2]),
    st.sampled_from([1, 4, 500]),
)
def test_k_best_are_the_best_of_all(bank: list[tl.Tagged], words: list[str], order: int, k: int) -> None:
    hmm = HMM.from_tagged(bank, order=order, min_count=1)
    every = {tags: tag_score(hmm, words, tags) for tags in product(hmm.tags, repeat=len(words))}
    expected = sorted((s for s in every.values() if s > -math.inf), reverse=True)[:k]
    found = hmm.tag(words, k=k)
    assert [logp for _, logp in found] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    for item, logp in found:
        assert item.words == tuple(words)
        assert every[item.tags] == pytest.approx(logp, rel=1e-9, abs=1e-9)
    assert len({item.tags for item, _ in found}) == len(found)


def test_equals_are_in_falling_order_to_the_last_bit() -> None:
    hmm = HMM.from_tagged(["x/F t/H u/C x/F"], order=1, min_count=2)
    logps = [logp for _, logp in hmm.tag(["v", "w", "y", "t"], k=1000)]
    assert logps == sorted(logps, reverse=True)


@pytest.mark.parametrize("order", [1, 2])
def test_transitions_are_probabilities(order: int) -> None:
    hmm = HMM.from_tagged(TEXTS, order=order)
    edge = len(hmm.tags)
    row = hmm._log[(edge,) * order]
    assert sum(math.exp(x) for x in row) == pytest.approx(1)
    assert sum(hmm.weights) == pytest.approx(1)
    assert all(math.isfinite(x) for x in row)  # nothing is impossible
    assert hmm.tag(["the", "dogs", "sleeps"])[0][0].tags == ("D", "N", "V")


def test_new_words_by_their_looks() -> None:
    bank = [f"{word}/VBG now/RB" for word in ("running", "eating", "singing")] + ["Paris/NNP now/RB", "Rome/NNP now/RB"]
    hmm = HMM.from_tagged(bank, order=1)
    assert hmm.tag(["jumping", "now"])[0][0].tags == ("VBG", "RB")
    assert hmm.tag(["Lima", "now"])[0][0].tags == ("NNP", "RB")
    with pytest.raises(tl.errors.TreeError, match="word 'jumping' does not occur"):
        HMM.from_tagged(bank, unknown=None).tag(["jumping"])


def test_refusals() -> None:
    hmm = HMM.from_tagged([*TEXTS, None])
    assert repr(hmm) == "<HMM of order 2: 4 tags, 9 words>"
    for wrong in ({"order": 3}, {"order": True}, {"unknown": "x"}, {"min_count": 0}):
        with pytest.raises(tl.errors.ParameterError, match="parameter of HMM"):
            HMM.from_tagged(TEXTS, **wrong)
    with pytest.raises(tl.errors.TreeError, match="training data is empty"):
        HMM.from_tagged([None])
    with pytest.raises(tl.errors.ParameterError, match="'k' parameter"):
        hmm.tag(["a"], k=0)
    with pytest.raises(tl.errors.TreeError, match="split it"):
        hmm.tag("the dog")
    with pytest.raises(tl.errors.TreeError, match="tagging needs at least one word"):
        hmm.tag([])
    with pytest.raises(tl.errors.TreeError, match="word 1: A word must be"):
        hmm.tag(["a", "b c"])


@pytest.mark.slow
def test_the_example_runs_quickly(data_dir: Path, tmp_path: Path) -> None:
    first_lines(data_dir, tmp_path, {"conll2000/train.txt.xz": 50_000, "conll2000/test.txt.xz": 6_000})
    files = [str(tmp_path / "conll2000" / f"{part}.txt") for part in ("train", "test")]
    command = [sys.executable, str(ROOT / "examples" / "rerank_tags.py"), *files, "--quick", "--k", "6"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"test: ([\d.]+)% .* -> ([\d.]+)% reranked -> ([\d.]+)% at best", run.stdout)
    assert found is not None, run.stdout
    first, reranked, oracle = map(float, found.groups())
    assert 85 < first < reranked < oracle < 100
