"""Places of trees: kept by all operations on banks."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import treelet as tl
from treelet.formats import Places, SourcePlace

SOURCE = "class A:\n    def f(self):\n        return 1\n\n\ndef g():\n    return 2\n\n\ndef h():\n    if 1:\n        return 3\n"


@pytest.fixture
def bank(tmp_path: Path) -> tl.Treebank:
    (tmp_path / "a.py").write_text(SOURCE, encoding="utf-8")
    return tl.read_code(tmp_path / "a.py")


def names(bank: tl.Treebank) -> list[str]:
    assert bank.places is not None
    return [place.name for place in bank.places]


def test_places_follow_their_trees(bank: tl.Treebank, tmp_path: Path) -> None:
    assert names(bank) == ["A.f", "g", "h"]
    assert names(bank[1:]) == names(bank[[1, 2]]) == names(bank[np.array([False, True, True])]) == ["g", "h"]
    assert names(bank[::-1]) == ["h", "g", "A.f"]
    assert names(bank + bank[:1]) == names(tl.Treebank.concat([bank, bank[:1]])) == ["A.f", "g", "h", "A.f"]
    assert names(tl.Treebank(bank)) == names(bank.compact()) == names(bank.ordered()) == names(bank.with_cached_index())
    other = tl.read_code(tmp_path / "a.py", each="class")
    _, joined = bank.joined(other)
    assert names(joined) == ["A"]
    assert names(bank + other) == ["A.f", "g", "h", "A"]
    assert (bank + ["(A a)"]).places is None
    assert tl.Treebank(["(A a)"]).places is None
    assert bank[[]].places is not None
    assert len(bank[[]].places) == 0


def test_lines_of_nodes_follow_too(bank: tl.Treebank, tmp_path: Path) -> None:
    assert bank.places is not None
    for chosen in (bank[2:], bank[[2, 0]], bank + bank, pickle.loads(pickle.dumps(bank[1:]))):
        assert chosen.places is not None
        for row, place in enumerate(chosen.places):
            original = names(bank).index(place.name)
            assert chosen.places.node_lines(row).tolist() == bank.places.node_lines(original).tolist()
            assert min(chosen.places.node_lines(row)) == place.line
            assert max(chosen.places.node_lines(row)) == place.end_line
    (tmp_path / "b.py").write_text("\n" * 70_000 + SOURCE, encoding="utf-8")  # lines that do not fit two bytes
    both = bank + tl.read_code(tmp_path / "b.py")
    assert both.places is not None
    lines = [both.places.node_lines(row) for row in range(6)]
    assert [(line - 70_000).tolist() for line in lines[3:]] == [line.tolist() for line in lines[:3]]


def test_pickles_hold_only_what_they_need(bank: tl.Treebank) -> None:
    again = pickle.loads(pickle.dumps(bank))
    assert (again, again.places) == (bank, bank.places)
    assert len(pickle.dumps(bank[:1].places)) < len(pickle.dumps(bank.places))
    kernel = tl.SubsetTree()
    np.testing.assert_array_equal(kernel(again), kernel(bank))


def test_places_in_markup(tmp_path: Path) -> None:
    page = tmp_path / "a.xml"
    page.write_text("<a>\n<b/>\n<b>x</b></a>", encoding="utf-8")
    found = tl.read_trees(page, each="b").places
    assert found is not None
    assert list(found) == [SourcePlace(str(page), 2), SourcePlace(str(page), 3)]
    assert found.node_lines(0) is None
    assert str(found[1]) == f"{page}:3"
    assert isinstance(found[::-1], Places)
    assert found[::-1][0].line == 3
    assert Places.concat([found, found]) == Places.of_file(str(page), [2, 3, 2, 3])


def test_lines_of_code_follow_too(bank: tl.Treebank) -> None:
    assert bank.places is not None
    assert bank.places.code_lines().tolist() == [2, 2, 3]
    again = Places.from_arrays(bank.places.arrays(), 3)
    for places, counts in (
        (bank[::-1].places, [3, 2, 2]),
        ((bank + bank[2:]).places, [2, 2, 3, 3]),
        (again, [2, 2, 3]),
        (again.with_file_names(str.upper), [2, 2, 3]),
        (pickle.loads(pickle.dumps(bank[1:])).places, [2, 3]),
    ):
        assert places.code_lines().tolist() == counts


def test_lines_of_code_in_files_without_them(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f():\n    try:\n        g()\n    finally:\n        h()\n", encoding="utf-8")
    places = tl.read_code(tmp_path / "a.py").places
    arrays = {name: array for name, array in places.arrays().items() if name != "code_lines"}
    old = Places.from_arrays(arrays, 1)
    assert (places.code_lines().tolist(), old.code_lines().tolist()) == ([5], [4])
    assert Places.concat([places, old]).code_lines().tolist() == [5, 4]
    assert Places.of_file("a.xml", [1]).code_lines() is None


def test_lines_of_nested_functions_are_kept_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "def f():\n    def g():\n        return 1\n    return g\n\n\ndef h(): pass\n", encoding="utf-8"
    )
    bank = tl.read_code(tmp_path / "a.py")
    for places in (bank.places, bank[[2, 1]].places, bank[[1, 0]].places, bank[1:2].places, bank[:0].places):
        again = pickle.loads(pickle.dumps(places))
        assert again == places
        nodes = [places.node_lines(row).tolist() for row in range(len(places))]
        assert [again.node_lines(row).tolist() for row in range(len(places))] == nodes
    outer, inner, other = (len(bank.places.node_lines(row)) for row in range(3))
    assert len(bank.places.arrays()["node_line"]) == outer + other
    assert len(bank[1:2].places.arrays()["node_line"]) == inner
