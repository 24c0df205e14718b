"""Files of forests, tagged sentences and dependency parses, with and without labels."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import treelet as tl
from treelet.errors import FormatError, ParameterError, TreeletWarning
from treelet.structures import Dependencies, DependencyBank, read_conllu, read_examples

LINKS = Dependencies(["dogs", "bark", "/"], ["n", "v", "_"], [(0, 1, "Sp"), (0, 2, "X")], lemmas=["dog", "bark", "_"])
HEADS = Dependencies.from_heads(["dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"])


def tagged(text: str, **options: object) -> tuple[list[str], list[str] | None]:
    X, y = read_examples(io.StringIO(text), "tagged", **options)
    return X.strings(), y


def test_a_parse_in_json() -> None:
    for parse in (LINKS, HEADS):
        assert Dependencies.from_json(parse.to_json()) == parse
        assert "\n" not in parse.to_json()
    assert Dependencies.from_json('{"words": ["a"], "links": [], "extra": 1}') == Dependencies(["a"])
    assert Dependencies.from_json('{"words": ["a", "b"], "heads": [2, null]}').relations == ("_", "root")
    for text in ("", "[]", "{", '{"words": ["a"]}', '{"links": []}', "3", "null"):
        with pytest.raises(FormatError, match=r"not a dependency parse in JSON .*Write \{\"words\""):
            Dependencies.from_json(text)


def test_a_bank_of_parses_in_json(tmp_path: Path) -> None:
    DependencyBank([LINKS, HEADS]).write(tmp_path / "p.jsonl.gz", "json")
    assert list(read_conllu(tmp_path / "p.jsonl.gz")) == [LINKS, HEADS]
    X, y = read_examples(tmp_path / "p.jsonl.gz", "parses")
    assert (list(X), y) == ([LINKS, HEADS], None)


def test_columns_are_found_or_named() -> None:
    assert tagged("x\ta/D b/N\ny\tc/D\n") == (["a/D b/N", "c/D"], ["x", "y"])
    assert tagged("label\ttext\n+1\ta/D b/N\n") == (["a/D b/N"], ["1"])
    assert tagged("id\tclass\ttext\n7\tx\ta/D\n8\ty\tb/D\n") == (["a/D", "b/D"], ["x", "y"])
    assert tagged("7\tx\ta/D\n", label_column=1, tree_column=2) == (["a/D"], ["x"])
    assert tagged("7\tx\ta/D\n", label_column=None, tree_column=-1) == (["a/D"], None)
    assert tagged("a/D b/N\n\nc/D\n") == (["a/D b/N", "", "c/D"], None)  # as read_tagged: the second is missing
    assert tagged("1/2 CD\nof IN\n\nit PRP\n") == (["1/2/CD of/IN", "it/PRP"], None)
    assert tagged("He X PRP\nis Y VBZ\n", tag=2) == (["He/PRP is/VBZ"], None)
    assert tagged("") == ([], None)


def test_a_table_with_commas_and_quotes(tmp_path: Path) -> None:
    forest = tl.Forest.from_trees([("(S (A x))", 0.5), ("(S (B x))", 0.5)])
    quoted = forest.to_json().replace('"', '""')
    (tmp_path / "f.csv").write_text(f'label,forest\nyes,"{quoted}"\nno,"{quoted}"\n', encoding="utf-8")
    X, y = read_examples(tmp_path / "f.csv", "forests")
    assert (list(X), y) == ([forest, forest], ["yes", "no"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\ta/D b\ny\tc/D d/N\n", r"<stream>:1:5?: ?.*'b' is not of the form word/tag"),
        (
            "x\ta/D b/N\ny\tc/D d/N\nz\te/D\nc/D\n",
            r"<stream>:4: this row has 1 tab-separated column but needs label<TAB>tagged sentence",
        ),
        ("x\ty\ta/D\tb/D\nx\ty\ta/D\tb/D\n", r"several columns contain tagged sentences. Choose"),
    ],
)
def test_malformed_lines(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        tagged(text)


def test_malformed_lines_can_be_skipped() -> None:
    with pytest.warns(TreeletWarning, match=r"1 of 2 tagged sentences"):
        assert tagged("x\ta/D b\ny\tc/D d/N\n", on_error="skip") == (["c/D d/N"], ["y"])


def test_several_files(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\ta/D\n", encoding="utf-8")
    (tmp_path / "b.tsv").write_text("y\tb/D\n", encoding="utf-8")
    X, y = read_examples([tmp_path / "a.tsv", tmp_path / "b.tsv"], "tagged")
    assert (X.strings(), y) == (["a/D", "b/D"], ["x", "y"])
    assert read_examples(tmp_path, "tagged")[1] == ["x", "y"]
    (tmp_path / "c.txt").write_text("c/D\n", encoding="utf-8")
    with pytest.raises(FormatError, match="Files with and without labels cannot be read together"):
        read_examples([tmp_path / "a.tsv", tmp_path / "c.txt"], "tagged")


def test_options_that_do_not_exist() -> None:
    with pytest.raises(ParameterError, match=r"Files of forests have no option 'tag'. The options are label_column, "):
        read_examples(io.StringIO(json.dumps({"nodes": [], "edges": [], "root": None})), "forests", tag=1)


def test_trees_are_not_columns_of_words() -> None:
    for text in ("(S (A a) (B b))\n", "( (S (NP\n  (A a))))\n"):
        with pytest.raises(FormatError, match="this looks like trees in brackets"):
            tagged(text)
    assert tagged("( (\nx N\n) )\n") == (["(/( x/N )/)"], None)
