"""``treelet nearest``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import treelet as tl
from conftest import fail, run
from treelet.datasets import flights


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    flights(40).write(tmp_path / "bank.mrg")
    return tmp_path / "bank.mrg"


def test_neighbors_of_a_tree(bank: Path) -> None:
    tree = "(S (NP (PRP i)) (VP (VBP need) (NP (DT a) (NN flight))))"
    found = json.loads(run("nearest", bank, "--query", tree, "--k", 3, "--kernel", "pt", "--lam", 0.5, "--json").stdout)
    values, rows = tl.nearest(tl.PartialTree(lam=0.5).normalized(), flights(40), [tree], 3)
    (query,) = found["queries"]
    assert (query["number"], query["tree"]) == (1, tree)
    assert [one["number"] for one in query["nearest"]] == (rows[0] + 1).tolist()
    assert [one["value"] for one in query["nearest"]] == values[0].tolist()
    assert [one["tree"] for one in query["nearest"]] == list(map(str, flights(40)[rows[0]]))


def test_neighbors_within_the_file_and_what_they_share(bank: Path) -> None:
    text = run("nearest", bank, "--k", 2, "--top", 2).stdout
    blocks = text.split("\n\n")
    rows = tl.nearest(tl.SubsetTree().normalized(), flights(40), k=2)[1]
    assert len(blocks) == 40
    first = blocks[0].splitlines()
    assert first[0] == "1. " + " ".join(flights(40)[0].words())
    places = [line.split()[1] for line in first if line[3:4].isdigit()]
    assert places == [f"{row + 1}." for row in rows[0]]
    shared = [line.strip() for line in first if line.strip().startswith("(")]
    known = {
        str(f.tree) for row in rows[0] for f in tl.shared_fragments(flights(40)[0], flights(40)[row], tl.SubsetTree())
    }
    assert len(shared) == 4
    assert set(shared) <= known


def test_only_those_that_are_near_enough(bank: Path) -> None:
    kernel = tl.SubsetTree().normalized()
    K = kernel(flights(40))
    found = json.loads(run("nearest", bank, "--threshold", 0.3, "--json").stdout)["queries"]
    for row, query in enumerate(found):
        wanted = [n for n in range(40) if n != row and K[row, n] >= 0.3]
        assert sorted(one["number"] - 1 for one in query["nearest"]) == wanted
        values = [one["value"] for one in query["nearest"]]
        assert values == sorted(values, reverse=True)
    few = json.loads(run("nearest", bank, "--threshold", 0.3, "--k", 1, "--json").stdout)["queries"]
    assert [one["nearest"] for one in few] == [one["nearest"][:1] for one in found]
    assert {len(one["nearest"]) for one in few} == {0, 1}
    result = run("nearest", bank, "--query", bank, "--threshold", 1, "--top", 0)
    assert result.stdout.count("   1.0000  ") == 40
    assert "no neighbor meets the threshold" in run("nearest", bank, "--query", "(X y)", "--threshold", 0.5).stdout


def test_from_the_standard_input(bank: Path) -> None:
    assert (
        run("nearest", bank, "--query", "-", "--k", 1, input=bank.read_text(encoding="utf-8")).stdout.count("1.0000  ")
        == 40
    )
    assert (
        run("nearest", "-", "--k", 1, input=bank.read_text(encoding="utf-8")).stdout
        == run("nearest", bank, "--k", 1).stdout
    )


def test_mistakes_are_said(bank: Path) -> None:
    assert "40 examples has only 39 others" in fail("nearest", bank, "--k", 40)
    assert "--query, column 1: " in fail("nearest", bank, "--query", "(S (A a)")
    assert "Pass a query with --query" in fail("nearest", bank, "(S (A a))")  # the query was once an argument
    assert "--top must be a whole number of at least" in fail("nearest", bank, "--top", -1)
    assert "BANK and --query are both standard input" in fail("nearest", "-", "--query", "-")
    assert "--kernel must be 'st', 'sst', 'pt', 'forest', 'tagging' or 'locality'" in fail(
        "nearest", bank, "--kernel", "rbf"
    )


def test_as_many_neighbors_as_there_are(tmp_path: Path) -> None:
    few = tmp_path / "few.mrg"
    few.write_text("(S (A a))\n(S (A a) (B b))\n(S (B b))\n", encoding="utf-8")
    assert len(json.loads(run("nearest", few, "--json").stdout)["queries"][0]["nearest"]) == 2
    assert len(json.loads(run("nearest", few, "--query", "(S (A c))", "--json").stdout)["queries"][0]["nearest"]) == 3
    few.write_text("(S (A a))\n", encoding="utf-8")
    assert "treelet nearest needs at least 2" in fail("nearest", few)
    few.write_text("", encoding="utf-8")
    assert "treelet nearest needs at least" in fail("nearest", few, "--query", "(S (A a))")


def test_trees_of_another_kind_are_said(bank: Path) -> None:
    result = run("nearest", bank, "--query", "(Module (body (Pass x)))", "--k", 1)
    assert result.exit_code == 0
    assert result.stderr.startswith("treelet: warning: 1 of 1 query has no fragment in common")
    assert run("nearest", bank, "--k", 1).stderr == ""


def test_source_code_is_led_back_to_its_lines(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text("import os\n\ndef f(x):\n    return x + 1\n\n@g\ndef h(y):\n    return y + 1\n", encoding="utf-8")
    options = ["--format", "python:each=function,identifiers=anonymous"]
    (first, second) = json.loads(run("nearest", source, *options, "--json").stdout)["queries"]
    assert (first["place"], first["nearest"][0]["place"]) == (f"{source}:3", f"{source}:7")
    assert second["nearest"][0]["place"] == f"{source}:3"
    assert run("nearest", source, *options).stdout.startswith(f"1. {source}:3 f: $0 $1")
    page = tmp_path / "a.html"
    page.write_text("<ul>\n<li>a b\n<li>a c\n</ul>", encoding="utf-8")
    assert f"2. {page}:3: a c" in run("nearest", page, "--format", "html:each=li").stdout
    (query,) = json.loads(run("nearest", source, "--query", "(FunctionDef (name f))", *options, "--json").stdout)[
        "queries"
    ]
    assert "place" not in query
    assert query["nearest"][0]["place"].startswith(f"{source}:")


def test_k_is_the_number_and_the_short_option_is_the_kernel(bank: Path) -> None:
    found = json.loads(run("nearest", bank, "-k", "st", "--k", 1, "--json").stdout)
    assert found["kernel"] == repr(tl.Subtree().normalized())
    assert {len(query["nearest"]) for query in found["queries"]} == {1}
    assert "Got '3' instead. Did you mean '--k 3'?" in fail("nearest", bank, "-k", 3)
    assert fail("gram", bank, "-o", "-", "-k", 3).endswith("Got '3' instead.\n")


@pytest.mark.parametrize(
    ("name", "measure"), [("edit", tl.EditDistance().similarity()), ("edit-distance", tl.EditDistance())]
)
def test_neighbors_by_edits(bank: Path, name: str, measure: tl.kernels.Pairwise) -> None:
    found = json.loads(run("nearest", bank, "--measure", name, "--k", 2, "--json").stdout)
    values, rows = tl.nearest(measure, flights(40), k=2)
    assert (found["measure"], found["kernel"]) == (name, None)
    for number, query in enumerate(found["queries"]):
        assert [one["number"] - 1 for one in query["nearest"]] == rows[number].tolist()
        assert [one["value"] for one in query["nearest"]] == values[number].tolist()
        assert "shared" not in query["nearest"][0]
    text = run("nearest", bank, "--query", str(flights(40)[3]), "--measure", name.upper(), "--k", 1).stdout
    words = " ".join(flights(40)[3].words())
    assert text == f"1. {words}\n   {float(not measure.is_distance):.4f}  4. {words}\n"
    assert json.loads(run("nearest", bank, "--k", 1, "--json").stdout)["measure"] == "kernel"


def test_the_threshold_is_a_smallest_similarity_or_a_largest_distance(bank: Path) -> None:
    d = tl.EditDistance()
    for name, wanted, threshold in (
        ("edit", d.similarity()(flights(40)) >= 0.5, 0.5),
        ("edit-distance", d(flights(40)) <= 12, 12),
    ):
        found = json.loads(run("nearest", bank, "--measure", name, "--threshold", threshold, "--json").stdout)
        for row, query in enumerate(found["queries"]):
            others = [n for n in wanted[row].nonzero()[0].tolist() if n != row]
            assert sorted(one["number"] - 1 for one in query["nearest"]) == others
    none = run("nearest", bank, "--query", "(X y)", "--measure", "edit-distance", "--threshold", 0)
    assert (none.stdout, none.stderr) == ("1. y\n   no neighbor meets the threshold\n", "")


def test_options_of_the_kernel_with_edits(bank: Path) -> None:
    assert "--lam applies to --measure kernel only" in fail("nearest", bank, "--measure", "edit", "--lam", 0.4)
    line = fail("nearest", bank, "--measure", "edit-distance", "-k", "sst", "--no-leaves", "--top", 1)
    assert "--kernel, --no-leaves and --top apply" in line
    assert "remove --measure edit-distance" in line
    assert "--normalize applies" in fail("gram", bank, "-o", "-", "--measure", "edit", "--normalize")
    line = fail("gram", bank, "-o", "-", "--measure", "edit", "--no-normalize", "--mu", 1, "-k", "pt")
    assert "--kernel, --mu and --no-normalize apply" in line
    assert "Got 'edits' instead. Did you" in (fail("nearest", bank, "--measure", "edits"))
